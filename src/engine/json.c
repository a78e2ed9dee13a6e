/* SPDX-License-Identifier: Apache-2.0 */
/* What engines say in JSON, as lines that are read like the rest. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "engine/telemetry.h"

#include "base/banned.h"

static void line(struct jm_str *out, const char *name, double v)
{
    char num[32];
    jm_json_fmt_double(num, v);
    jm_str_addf(out, "%s %s\n", name, num);
}

/* [{"id":0,"id_task":7,"is_processing":true,"prompt":...,"next_token":{"n_decoded":6}}]; newer servers write
 * next_token as a list of one. */
int jm_engine_slots(struct jm_span json, struct jm_str *out, struct jm_err *err)
{
    struct jm_json *doc = NULL;
    int rc = jm_json_parse(json, &doc, err);
    if (rc)
        return rc;
    if (!jm_json_is_array(doc)) {
        jm_json_free(doc);
        return jm_err_set(err, JM_EPARSE, "/slots is no list of slots");
    }
    jm_str_adds(out, "# joulemark: from /slots, its numbers only\n");
    line(out, "joulemark_slots", (double)jm_json_len(doc));
    for (size_t i = 0; i < jm_json_len(doc); i++) {
        const struct jm_json *s = jm_json_at(doc, i), *next = jm_json_get(s, "next_token");
        int64_t id = (int64_t)i, task = -1, n = 0, state = 0;
        bool on = false;
        jm_json_i64(jm_json_get(s, "id"), &id);
        jm_json_i64(jm_json_get(s, "id_task"), &task);
        if (!jm_json_bool(jm_json_get(s, "is_processing"), &on) &&
            jm_json_i64(jm_json_get(s, "state"), &state))
            on = state != 0; /* before is_processing there was a state */
        if (jm_json_is_array(next))
            next = jm_json_at(next, 0);
        if (!on || !jm_json_i64(jm_json_get(next, "n_decoded"), &n) || n < 0)
            continue;
        jm_str_addf(out, "joulemark_slot_n_decoded{id=\"%lld\",task=\"%lld\"} %lld\n", (long long)id,
                    (long long)task, (long long)n);
    }
    jm_json_free(doc);
    return jm_str_ok(out, "the slots", err);
}

bool jm_engine_same_tasks(struct jm_span a, struct jm_span b)
{
    struct jm_span x, y;
    for (;;) {
        bool more = jm_span_line(&a, &x), other = jm_span_line(&b, &y);
        if (more != other)
            return false;
        if (!more)
            return true;
        ptrdiff_t end = jm_span_chr(x, '}'), same = jm_span_chr(y, '}');
        if (end != same || (end > 0 && memcmp(x.p, y.p, (size_t)end) != 0))
            return false;
    }
}

/* {"a":{"b":1}} → trtllm_json_a_b 1 */
static void members(const struct jm_json *o, const char *prefix, int depth, struct jm_str *out)
{
    void *it = NULL;
    const char *key;
    const struct jm_json *v;
    while (depth < 4 && jm_json_next(o, &it, &key, &v)) {
        char name[160];
        size_t n = 0;
        double num;
        snprintf(name, sizeof name, "%s_%s", prefix, key);
        for (; name[n]; n++)
            if (!((name[n] >= 'a' && name[n] <= 'z') || (name[n] >= 'A' && name[n] <= 'Z') ||
                  (name[n] >= '0' && name[n] <= '9')))
                name[n] = '_';
        if (jm_json_is_object(v))
            members(v, name, depth + 1, out);
        else if (jm_json_num(v, &num))
            line(out, name, num);
    }
}

/* The cumulative joules of /energy_metrics, under whichever key. */
static bool energy(const struct jm_json *o, double *joules)
{
    void *it = NULL;
    const char *key;
    const struct jm_json *v;
    bool found = false;
    *joules = 0;
    while (jm_json_next(o, &it, &key, &v)) {
        struct jm_span k = jm_span_of(key);
        double num;
        if (jm_span_find(k, JM_SPAN("energy")) < 0 || !jm_json_num(v, &num))
            continue;
        bool mj = jm_span_ends(k, JM_SPAN("_mj"));
        if (!mj && !jm_span_ends(k, JM_SPAN("_j")) && !jm_span_ends(k, JM_SPAN("joules")) &&
            !jm_span_ends(k, JM_SPAN("_joule")))
            continue;
        *joules = num * (mj ? 1e-3 : 1);
        found = true;
    }
    return found;
}

int jm_engine_trtllm_json(struct jm_span json, struct jm_str *out, struct jm_err *err)
{
    struct jm_json *doc = NULL;
    double joules;
    int rc = jm_json_parse(json, &doc, err);
    if (rc)
        return rc;
    const struct jm_json *last = doc;
    if (jm_json_is_array(doc)) { /* a queue of iterations: the last one is now */
        size_t n = jm_json_len(doc);
        line(out, "trtllm_json_entries", (double)n);
        last = n ? jm_json_at(doc, n - 1) : NULL;
    }
    if (jm_json_is_object(last)) {
        if (energy(last, &joules))
            line(out, "trtllm_json_energy_joules", joules);
        else
            members(last, "trtllm_json", 0, out);
    }
    jm_json_free(doc);
    return jm_str_ok(out, "the engine's JSON", err);
}
