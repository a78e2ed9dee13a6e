/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/cmds.h"
#include "cli/groups.h"
#include "run/run.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    const char *output, *label;
    int64_t tolerance_ns; /* below 0: none asked for */
    struct jm_opt_list group, role;
    bool force;
};

static void defaults(void *o)
{
    ((struct opts *)o)->tolerance_ns = -1;
}

static int answer(struct jm_cli *cli, const char *out, size_t n, struct jm_err *err)
{
    struct jm_str s;
    jm_str_init(&s);
    if (cli->common->json) {
        struct jm_jsonw w;
        jm_jsonw_init(&w, &s, 2);
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "schema", "joulemark.merge/1");
        jm_jsonw_kstr(&w, "joulemark", JM_VERSION);
        jm_jsonw_kstr(&w, "run", out);
        jm_jsonw_ki64(&w, "runs", (int64_t)n);
        jm_jsonw_end(&w);
    } else {
        jm_str_addf(&s, "%s\n", out);
    }
    int rc = jm_str_ok(&s, "the answer", err);
    if (!rc)
        jm_cli_out(cli, jm_str_span(&s));
    jm_str_release(&s);
    return rc;
}

static int merge(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    const struct opts *o = opts;
    if (!o->output)
        return jm_err_set(err, JM_EUSAGE, "-o is missing: the name of the run file to write");
    struct jm_groups *g = NULL;
    int rc = jm_groups_read(&o->group, &o->role, &g, err);
    if (rc)
        return rc;
    const struct jm_run_merge_opts m = {.label = o->label,
                                        .tolerance_s =
                                            o->tolerance_ns < 0 ? NAN : (double)o->tolerance_ns * 1e-9,
                                        .group = g->group,
                                        .n_group = g->n,
                                        .overwrite = o->force};
    rc = jm_file_mkparents(o->output, err);
    if (!rc)
        rc = jm_run_merge(cli->operand, cli->n_operands, o->output, &m, err);
    jm_groups_free(g);
    return rc ? rc : answer(cli, o->output, cli->n_operands, err);
}

static const struct jm_opt table[] = {
    {"output", 'o', JM_OPT_STR, offsetof(struct opts, output), .arg = "FILE", .help = "Run file to write."},
    JM_OPTS_GROUP(opts, group, role),
    {"tolerance", 0, JM_OPT_DURATION, offsetof(struct opts, tolerance_ns), 0, 3600e9, .arg = "TIME",
     .help = "The error of a host's clock that is accepted; a larger one makes the result invalid.",
     .deflt = "400 ms, and then a warning"},
    {"label", 0, JM_OPT_STR, offsetof(struct opts, label), .help = "Name of the run for people."},
    {"force", 0, JM_OPT_FLAG, offsetof(struct opts, force), .help = "Write over an existing file."},
    JM_OPT_JSON,
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_merge = {
    .name = "merge",
    .group = "Keep and exchange runs",
    .summary = "Make one run of those of several hosts",
    .usage = "[OPTIONS] -o FILE RUN...",
    .description =
        "Brings the recordings of several hosts to the clock of the first one. Windows and requests are "
        "those of the "
        "run that has requests (bench), or of the first; the others give their instruments. An instrument "
        "that "
        "two hosts read counts once. How far each host's clock may be off is kept with the run.\n\n"
        "With --group the GPUs of each replica are told apart, of a pool for prefill its joules per prompt "
        "token, of "
        "a pool for decode those per token after the first. Only GPUs of a group are at the boundary gpu "
        "then.",
    .examples = "joulemark merge client.jmr nodea.jmr nodeb.jmr -o both.jmr # a bench, and two recordings\n"
                "joulemark merge a.jmr b.jmr -o pd.jmr -g pre=nodea --role pre=prefill",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = defaults,
    .min_operands = 1,
    .max_operands = 256,
    .fn = merge,
};
