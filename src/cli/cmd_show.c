/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/file.h"
#include "base/span.h"
#include "cli/cmds.h"
#include "cli/path.h"
#include "cli/pictures.h"
#include "cli/present.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    struct jm_present present;
    const char *format, *output, *picture;
    int theme;
};

static void init(void *opts)
{
    struct opts *o = opts;
    jm_present_init(&o->present);
    o->format = "text";
}

static int name_of(const char *name, const struct jm_picture **out, struct jm_err *err)
{
    struct jm_str names;
    *out = jm_picture_find(name);
    if (*out)
        return 0;
    jm_str_init(&names);
    for (const struct jm_picture *k = jm_picture_table; k->name; k++)
        jm_str_addf(&names, "%s%s", names.len ? ", " : "", k->name);
    jm_err_set(err, JM_EUSAGE, "--picture: \"%.40s\" is not one of %s", name, names.buf);
    jm_str_release(&names);
    return JM_EUSAGE;
}

/* What another program would open as something else is not written. */
static int ending(const char *path, struct jm_err *err)
{
    static const char *const other[] = {".pdf", ".gif", ".jpg", ".jpeg", ".webp", ".eps", ".html"};
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        size_t m = strlen(other[i]);
        if (n > m && jm_span_ieq(jm_span_of(path + n - m), jm_span_of(other[i])))
            return jm_err_set(
                err, JM_EUSAGE,
                "--output: a picture is SVG, or PNG where the name ends in .png; \"%s\" is neither", path);
    }
    return 0;
}

/* Ends with 1 where the runs have not what the picture shows. */
static int picture(struct jm_cli *cli, const struct opts *o, struct jm_err *err)
{
    const struct jm_picture *k;
    struct jm_cli_runs runs = {0};
    struct jm_err why = {0};
    struct jm_str svg;
    jm_str_init(&svg);
    int rc = name_of(o->picture, &k, err), drawn = 0;
    if (!rc && cli->n_operands > 1 && !k->compares)
        rc = jm_err_set(err, JM_EUSAGE,
                        "--picture %s is of one run, and %zu are given; several belong to --picture frontier",
                        k->name, cli->n_operands);
    if (!rc && o->output)
        rc = ending(o->output, err);
    if (!rc)
        rc = jm_cli_runs_open(cli->operand, cli->n_operands, &o->present, &runs, err);
    if (!rc && o->output)
        drawn = jm_cli_picture_file(k, &runs.of, (enum jm_theme)o->theme, o->output, &why);
    else if (!rc)
        drawn = jm_picture_svg(k, &runs.of, (enum jm_theme)o->theme, &svg, &why);
    if (drawn == JM_EABSENT) {
        jm_cli_say(cli, "%s", why.text);
        rc = JM_EXIT_CHECK;
    } else if (drawn) {
        rc = jm_err_set(err, drawn, "%s", why.text);
    }
    if (!rc && !o->output)
        jm_cli_out(cli, jm_str_span(&svg));
    if (!rc)
        rc = jm_present_exit(runs.report[0]->validity);
    jm_cli_runs_release(&runs);
    jm_str_release(&svg);
    return rc;
}

static int show(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    struct opts *o = opts;
    if (o->picture)
        return picture(cli, o, err);
    if (cli->n_operands > 1)
        return jm_err_set(err, JM_EUSAGE, "one run is shown at a time; several belong to --picture frontier");
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
    {"picture", 0, JM_OPT_STR, offsetof(struct opts, picture), .arg = "NAME",
     .help = "One picture as SVG, or as PNG where -o ends in .png: frontier, waterfall, phases, lengths, "
             "ladder, trials, power, carbon "
             "(docs/pictures.md). Several runs give the frontier a point each."},
    {"theme", 0, JM_OPT_ENUM, offsetof(struct opts, theme), .choices = JM_THEME_CHOICES,
     .help = "Of the picture. auto is light, and an SVG dark where its reader wants that.", .deflt = "auto"},
    {"explain", 'x', JM_OPT_STR, offsetof(struct opts, present.explain), .arg = "METRIC",
     .help = "What other tools would have printed of this very run under "
             "that name, and why: ttft, tpot, itl, e2e, queue, throughput, "
             "requests, goodput, tokens, j_per.output_token or any id of "
             "docs/metrics.md."},
    {"reconcile", 0, JM_OPT_FLAG, offsetof(struct opts, present.reconcile),
     .help = "Add the table from the wall to the GPU: what each instrument saw, what it holds, what is "
             "unexplained, and whether instruments of one domain agree."},
    {"phases", 0, JM_OPT_FLAG, offsetof(struct opts, present.phases),
     .help = "Add where the joules went: to prefill, decode and single requests. An allocation of measured "
             "energy "
             "by a stated method, with its residual; not a measurement."},
    {"diurnal", 0, JM_OPT_STR, offsetof(struct opts, present.diurnal), .arg = "FILE",
     .help = "Of a load ladder: a day of your own load, as CSV with hour and load (part of the capacity) or "
             "requests_per_s: its energy and joules a token."},
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
        "joulemark show run.jmr --phases # prefill, decode, energy a request\n"
        "joulemark show run.jmr --calibration node.jmcal # the wall of a run that knows only its GPUs\n"
        "joulemark show run.jmr --carbon FR,DE,ES --price FR=0.058,DE=0.091 --pue 1.4 # money and carbon\n"
        "joulemark show run.jmr --picture waterfall -o waterfall.png # one picture\n"
        "joulemark show ladder.jmr --diurnal day.csv # a day of your load, from the levels of bench "
        "--ladder\n"
        "joulemark show run.jmr --format csv -o run.csv # every result, one a line",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = init,
    .min_operands = 1,
    .max_operands = JM_CLI_RUNS,
    .fn = show,
};
