/* SPDX-License-Identifier: Apache-2.0 */
#include "import/mlperf_facts.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"

#include "base/banned.h"

/* The system description, field by field: it is the disclosure of the SUT. */
int jm_mlperf_system(struct jm_run_writer *w, struct jm_span text, struct jm_err *err)
{
    struct jm_json *doc;
    void *it = NULL;
    const char *key;
    const struct jm_json *v;
    int rc = 0;
    if (!text.n || jm_json_parse(text, &doc, NULL))
        return 0;
    while (!rc && jm_json_next(doc, &it, &key, &v)) {
        struct jm_span s;
        char name[128], value[512];
        double num;
        if (strlen(key) > 100)
            continue;
        snprintf(name, sizeof name, "sut.%s", key);
        if (jm_json_str(v, &s) && s.n)
            snprintf(value, sizeof value, "%.*s", (int)(s.n > 500 ? 500 : s.n), s.p);
        else if (jm_json_num(v, &num))
            jm_json_fmt_double(value, num);
        else
            continue;
        rc = jm_run_put_env(w, name, value, err);
    }
    jm_json_free(doc);
    return rc;
}

/* The analyzer as PTDaemon identified it. */
int jm_mlperf_analyzer(struct jm_run_writer *w, struct jm_span server_json, struct jm_err *err)
{
    struct jm_json *doc;
    struct jm_span cmd, reply;
    int rc = 0;
    if (!server_json.n || jm_json_parse(server_json, &doc, NULL))
        return 0;
    const struct jm_json *list = jm_json_get(doc, "ptd_messages");
    for (size_t i = 0; !rc && i < jm_json_len(list); i++) {
        const struct jm_json *m = jm_json_at(list, i);
        if (!jm_json_str(jm_json_get(m, "cmd"), &cmd) || !jm_span_is(jm_span_trim(cmd), "Identify") ||
            !jm_json_str(jm_json_get(m, "reply"), &reply))
            continue;
        char value[512];
        snprintf(value, sizeof value, "%.*s", (int)(reply.n > 500 ? 500 : reply.n), reply.p);
        rc = jm_run_put_env(w, "mlperf.analyzer", value, err);
        break;
    }
    jm_json_free(doc);
    return rc;
}

int jm_mlperf_round_facts(struct jm_run_writer *w, const struct jm_mlperf_round *r, struct jm_err *err)
{
    int rc = jm_run_put_env(w, "mlperf.stream_count", r->legacy_count ? "legacy" : "log", err);
    return rc ? rc : jm_run_put_env(w, "mlperf.server_rate", r->completed ? "completed" : "scheduled", err);
}
