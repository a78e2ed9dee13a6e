/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "cli/cmds.h"
#include "cli/path.h"
#include "cli/pictures.h"
#include "cli/present.h"
#include "show/show.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    struct jm_present present;
    const char *output, *pictures;
    int theme;
};

/* The page of the first run; pictures that compare take them all. */
static int page(const struct jm_cli_runs *runs, const struct jm_present *p, struct jm_str *html,
                struct jm_err *err)
{
    struct jm_show_opts o = {.no_script = p->no_script, .all = p->all, .pictures = &runs->of};
    int rc = jm_disclosure(runs->run[0], runs->report[0], &o.disclosure, &o.n_disclosure, err);
    return rc ? rc : jm_show_find("html")->render(runs->seen[0], &o, html, err);
}

static int pictures(struct jm_cli *cli, const struct opts *o, const struct jm_cli_runs *runs,
                    struct jm_err *err)
{
    struct jm_str done, left;
    struct jm_span rest, line;
    jm_str_init(&done);
    jm_str_init(&left);
    int rc = jm_cli_pictures(&runs->of, (enum jm_theme)o->theme, o->pictures, &done, &left, err);
    jm_cli_out(cli, jm_str_span(&done));
    rest = jm_str_span(&left);
    while (!cli->common->quiet && jm_span_line(&rest, &line))
        jm_cli_say(cli, "%.*s", (int)line.n, line.p);
    jm_str_release(&done);
    jm_str_release(&left);
    return rc;
}

static void init(void *opts)
{
    jm_present_init(&((struct opts *)opts)->present);
}

static int report(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    struct opts *o = opts;
    struct jm_str html, path;
    struct jm_cli_runs runs = {0};
    jm_str_init(&html);
    jm_str_init(&path);
    int rc = o->output ? (jm_str_adds(&path, o->output), jm_str_ok(&path, "a file name", err))
                       : jm_path_beside(cli->operand[0], ".html", &path, err);
    if (!rc)
        rc = jm_cli_runs_open(cli->operand, cli->n_operands, &o->present, &runs, err);
    if (!rc)
        rc = page(&runs, &o->present, &html, err);
    if (!rc)
        rc = jm_path_spare_run(path.buf, err);
    if (!rc)
        rc = jm_file_mkparents(path.buf, err);
    if (!rc)
        rc = jm_file_write(path.buf, jm_str_span(&html), err);
    if (!rc) {
        jm_str_addc(&path, '\n');
        jm_cli_out(cli, jm_str_span(&path));
    }
    if (!rc && o->pictures)
        rc = pictures(cli, o, &runs, err);
    if (!rc)
        rc = jm_present_exit(runs.report[0]->validity);
    jm_cli_runs_release(&runs);
    jm_str_release(&html);
    jm_str_release(&path);
    return rc;
}

static const struct jm_opt table[] = {
    {"output", 'o', JM_OPT_STR, offsetof(struct opts, output), .arg = "FILE", .help = "Write to FILE.",
     .deflt = "the run's name with .html"},
    {"pictures", 0, JM_OPT_STR, offsetof(struct opts, pictures), .arg = "DIR",
     .help =
         "Also write each picture there as a file: NAME.svg, and NAME.png where librsvg or rsvg-convert is."},
    {"theme", 0, JM_OPT_ENUM, offsetof(struct opts, theme), .choices = JM_THEME_CHOICES,
     .help = "Of these files. auto is light, and an SVG dark where its reader wants that.", .deflt = "auto"},
    {"diurnal", 0, JM_OPT_STR, offsetof(struct opts, present.diurnal), .arg = "FILE",
     .help = "Of a load ladder: a day of your own load, as CSV with hour and load (part of the capacity) or "
             "requests_per_s: its energy and joules a token beside the levels."},
    {"no-script", 0, JM_OPT_FLAG, offsetof(struct opts, present.no_script),
     .help = "Leave the interactive chart out; the pictures are there anyway."},
    JM_OPTS_CALIBRATION(opts, present),
    JM_OPTS_PRESENT(opts, present),
    JM_OPTS_SLO(opts, present),
    JM_OPTS_FACTORS(opts, present),
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_report = {
    .name = "report",
    .group = "Look at a run",
    .summary = "Write one self-contained HTML file about a run, and its pictures",
    .usage = "[OPTIONS] RUN...",
    .description =
        "The file needs no network and works without script. Its path is printed. Ends with 3 when the "
        "measurement is invalid; the report is written all the same and says why.\n\n"
        "With several runs the page is of the first; pictures that compare (energy a token against latency) "
        "take them all.",
    .examples = "joulemark report out/bench.jmr # writes out/bench.html\n"
                "joulemark report run.jmr --pictures out/pictures # and each picture as SVG and PNG\n"
                "joulemark report c1.jmr c8.jmr c64.jmr --slo-tpot 30ms # three settings on one frontier\n"
                "joulemark report ladder.jmr --diurnal day.csv # a day of your load beside the levels\n"
                "joulemark report fleet.jmr --calibration node.jmcal # with the wall that was not measured",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = init,
    .min_operands = 1,
    .max_operands = JM_CLI_RUNS,
    .fn = report,
};
