/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "cli/cmds.h"
#include "run/run.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
};

struct outcome {
    bool was_sealed, known;
    char last[JM_RFC3339_SIZE]; /* last time with data, UTC */
};

static int recover_one(const char *path, struct outcome *o, struct jm_err *err)
{
    int64_t last = 0, real;
    struct jm_run *run = NULL;
    int rc = jm_run_recover(path, &last, err);
    *o = (struct outcome){.was_sealed = rc == 1};
    if (rc < 0 || rc == 1)
        return rc < 0 ? rc : 0;
    rc = jm_run_open(path, &run, err);
    if (rc)
        return jm_err_prefix(err, "recovered, but it cannot be opened");
    o->known = jm_run_to_real(run, last, &real);
    if (o->known)
        jm_time_rfc3339(real, o->last);
    jm_run_close(run);
    return 0;
}

static int recover(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    struct jm_str s;
    struct jm_jsonw w;
    bool json = cli->common->json;
    int bad = 0;
    (void)opts;
    jm_str_init(&s);
    jm_jsonw_init(&w, &s, 2);
    if (json) {
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "schema", "joulemark.recover/1");
        jm_jsonw_key(&w, "runs");
        jm_jsonw_array(&w);
    }
    for (size_t i = 0; i < cli->n_operands; i++) {
        struct outcome o;
        struct jm_err why = {0};
        const char *path = cli->operand[i];
        int rc = recover_one(path, &o, &why);
        if (rc && !bad)
            bad = rc;
        if (rc)
            jm_cli_say(cli, "%s", why.text);
        const char *state = rc ? "failed" : o.was_sealed ? "sealed" : "recovered";
        if (json) {
            jm_jsonw_object(&w);
            jm_jsonw_kstr(&w, "run", path);
            jm_jsonw_kstr(&w, "state", state);
            if (rc)
                jm_jsonw_kstr(&w, "error", why.text);
            if (!rc && o.known)
                jm_jsonw_kstr(&w, "last_data", o.last);
            jm_jsonw_end(&w);
        } else if (!rc) {
            if (o.was_sealed)
                jm_str_addf(&s, "%s: was sealed already, nothing to do\n", path);
            else
                jm_str_addf(&s, "%s: recovered; it says that it was cut%s%s\n", path,
                            o.known ? ", last data at " : "", o.known ? o.last : "");
        }
    }
    if (json) {
        jm_jsonw_end(&w);
        jm_jsonw_end(&w);
    }
    int rc = jm_str_ok(&s, "the answer", err);
    if (!rc)
        jm_cli_out(cli, jm_str_span(&s));
    jm_str_release(&s);
    return rc ? rc : bad ? JM_EXIT_SYSTEM : JM_EXIT_OK;
}

static const struct jm_opt table[] = {JM_OPT_JSON, JM_OPTS_COMMON, {NULL}};

const struct jm_cmd jm_cmd_recover = {
    .name = "recover",
    .group = "Keep and exchange runs",
    .summary = "Finish run files whose recorder was killed",
    .usage = "RUN...",
    .description = "Folds the journal beside the file (-wal) into it and seals it. At most the last 10 s "
                   "before the end are "
                   "lost; the file says that it was cut, and so does everything that is computed from it.",
    .examples = "joulemark recover out/night.jmr",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .min_operands = 1,
    .max_operands = 1000000,
    .fn = recover,
};
