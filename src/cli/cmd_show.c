/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "cli/cmds.h"
#include "cli/path.h"
#include "cli/present.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    struct jm_present present;
    const char *format, *output;
};

static void init(void *opts)
{
    struct opts *o = opts;
    jm_present_init(&o->present);
    o->format = "text";
}

static int show(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    struct opts *o = opts;
    struct jm_str s;
    enum jm_validity v = JM_V_VALID;
    if (o->output)
        cli->term.out_color = cli->common->color == JM_COLOR_ALWAYS;
    jm_str_init(&s);
    int rc = jm_present_file(cli, cli->operand[0], &o->present, cli->common->json ? "json" : o->format, &s,
                             &v, err);
    if (!rc && o->output) {
        rc = jm_path_spare_run(o->output, err);
        if (!rc)
            rc = jm_file_mkparents(o->output, err);
        if (!rc)
            rc = jm_file_write(o->output, jm_str_span(&s), err);
    } else if (!rc) {
        jm_cli_out(cli, jm_str_span(&s));
    }
    jm_str_release(&s);
    return rc ? rc : jm_present_exit(v);
}

static const struct jm_opt table[] = {
    {"format", 'f', JM_OPT_STR, offsetof(struct opts, format), .arg = "NAME",
     .help = "text, json, csv, markdown or html.", .deflt = "text"},
    JM_OPT_JSON,
    {"output", 'o', JM_OPT_STR, offsetof(struct opts, output), .arg = "FILE", .help = "Write to FILE.",
     .deflt = "standard output"},
    {"explain", 'x', JM_OPT_STR, offsetof(struct opts, present.explain), .arg = "METRIC",
     .help = "What other tools would have printed of this very run under "
             "that name, and why: ttft, tpot, itl, e2e, queue, throughput, "
             "requests, goodput, tokens, j_per.output_token or any id of "
             "docs/metrics.md."},
    {"reconcile", 0, JM_OPT_FLAG, offsetof(struct opts, present.reconcile),
     .help = "Add the table from the wall to the GPU: what each instrument saw, what it holds, what is "
             "unexplained, and whether instruments of one domain agree."},
    JM_OPTS_CALIBRATION(opts, present),
    JM_OPTS_PRESENT(opts, present),
    JM_OPTS_SLO(opts, present),
    JM_OPTS_FACTORS(opts, present),
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_show = {
    .name = "show",
    .group = "Look at a run",
    .summary = "Compute everything from a run file and show it",
    .usage = "[OPTIONS] RUN",
    .description = "Nothing that is shown is stored: the same run file and options give the same digits "
                   "again. Beside each number "
                   "stand its boundary, denominator, interval and provenance, and whether it is valid for "
                   "the profile.\n\n"
                   "Ends with 3 when the measurement is invalid; its numbers are shown only beside the "
                   "reasons. The JSON is a "
                   "contract, described in docs/show-json.md.",
    .examples =
        "joulemark show run.jmr # the summary\n"
        "joulemark show run.jmr --json --slo-ttft 500ms --slo-tpot 50ms # joules per qualified token\n"
        "joulemark show run.jmr --explain tpot # vLLM, SGLang, AIPerf, guidellm ... of the same run\n"
        "joulemark show run.jmr --reconcile # every instrument from the wall to the GPU\n"
        "joulemark show run.jmr --calibration node.jmcal # the wall of a run that knows only its GPUs\n"
        "joulemark show run.jmr --carbon FR,DE,ES --price FR=0.058,DE=0.091 --pue 1.4 # money and carbon\n"
        "joulemark show run.jmr --format csv -o run.csv # every result, one a line",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = init,
    .min_operands = 1,
    .max_operands = 1,
    .fn = show,
};
