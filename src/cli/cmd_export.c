/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/file.h"
#include "cli/cmds.h"
#include "cli/path.h"
#include "cli/present.h"
#include "run/run.h"
#include "show/exports.h"

#include "base/banned.h"

enum { AS_CSV, AS_JSON, AS_FIGURES };

struct opts {
    struct jm_common common;
    struct jm_present present;
    struct jm_opt_list facts;
    int format;
    const char *output;
};

static void init(void *opts)
{
    jm_present_init(&((struct opts *)opts)->present);
}

/* Everything raw. */
static int raw(const struct opts *o, const char *run_path, int format, struct jm_str *path,
               struct jm_err *err)
{
    struct jm_run *run = NULL;
    (void)o;
    int rc = jm_run_open(run_path, &run, err);
    if (!rc)
        rc = jm_path_spare_run(path->buf, err);
    if (!rc)
        rc = jm_file_mkparents(path->buf, err);
    if (!rc)
        rc = jm_run_export(run, format == AS_CSV ? "csv" : "json", path->buf, err);
    jm_run_close(run);
    return rc;
}

/* Figures in the form of another tool or report; "-": on standard output. */
static int figures(struct jm_cli *cli, const struct opts *o, const char *run_path,
                   const struct jm_export_format *f, const char *path, struct jm_err *err)
{
    struct jm_run *run = NULL;
    struct jm_report *r = NULL;
    struct jm_str s;
    jm_str_init(&s);
    int rc = jm_run_open(run_path, &run, err);
    if (!rc)
        rc = jm_present_report(run, &o->present, &r, err);
    for (size_t i = 0; !rc && i < o->facts.n; i++)
        rc = jm_fact_declare(r, o->facts.item[i], err);
    if (!rc && (rc = f->render(run, r, &s, err)) == JM_EABSENT) {
        jm_cli_say(cli, "%s", err->text); /* the run has not what the form is of: no failure of the system */
        rc = JM_EXIT_CHECK;
    }
    if (!rc && strcmp(path, "-") == 0)
        jm_cli_out(cli, jm_str_span(&s));
    else if (!rc) {
        rc = jm_path_spare_run(path, err);
        if (!rc)
            rc = jm_file_mkparents(path, err);
        if (!rc)
            rc = jm_file_write(path, jm_str_span(&s), err);
    }
    jm_str_release(&s);
    jm_report_free(r);
    jm_run_close(run);
    return rc;
}

static int export(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    const struct opts *o = opts;
    struct jm_str path;
    int format = cli->common->json && o->format < AS_FIGURES ? AS_JSON : o->format;
    const struct jm_export_format *f = format >= AS_FIGURES ? &jm_export_formats[format - AS_FIGURES] : NULL;
    jm_str_init(&path);
    int rc = o->output ? (jm_str_adds(&path, o->output), jm_str_ok(&path, "a file name", err))
                       : jm_path_beside(cli->operand[0],
                                        f                  ? f->suffix
                                        : format == AS_CSV ? ".csv.d"
                                                           : ".json",
                                        &path, err);
    if (!rc)
        rc = f ? figures(cli, o, cli->operand[0], f, path.buf, err)
               : raw(o, cli->operand[0], format, &path, err);
    if (!rc && !(f && strcmp(path.buf, "-") == 0)) {
        jm_str_addc(&path, '\n');
        jm_cli_out(cli, jm_str_span(&path));
    }
    jm_str_release(&path);
    return rc;
}

static const struct jm_opt table[] = {
    {"format", 'f', JM_OPT_ENUM, offsetof(struct opts, format), .arg = "NAME",
     .choices = "csv|json|ai-energy-score|codecarbon|esrs|gpai|ml-energy|openmetrics|requests-energy",
     .help = "csv: a folder with one file a table and a channel; json: one file. The others are figures: AI "
             "Energy Score "
             "(CSV), CodeCarbon's emissions.csv, lines of ESRS E1-5 and E1-6 (CSRD), lines for the EU's GPAI "
             "model "
             "documentation form, ML.ENERGY's results.json, OpenMetrics, joules of each request (CSV).",
     .deflt = "csv"},
    JM_OPT_JSON,
    {"output", 'o', JM_OPT_STR, offsetof(struct opts, output), .arg = "PATH",
     .help = "Where to; - for standard output, of figures.",
     .deflt = "the run's name with .csv.d or .json, or as the form is called"},
    {"fact", 0, JM_OPT_LIST, offsetof(struct opts, facts), .arg = "KEY=VALUE",
     .help = "Declare what no instrument tells and a form asks for, such as active-parameters=70.6e9 or "
             "task=chat. "
             "Repeatable (docs/disclosure.md lists the keys)."},
    JM_OPTS_PRESENT(opts, present),
    JM_OPTS_SLO(opts, present),
    JM_OPTS_CALIBRATION(opts, present),
    JM_OPTS_FACTORS(opts, present),
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_export = {
    .name = "export",
    .group = "Keep and exchange runs",
    .summary = "Write everything raw of a run as CSV or JSON, or its figures in the form of others",
    .usage = "[OPTIONS] RUN",
    .description =
        "csv and json: readings, requests, windows, marks and environment as they were observed, for other "
        "tools. Results are not in them: joulemark show --format csv writes those.\n\n"
        "The other forms carry figures, computed as show does, each with its boundary and provenance. What "
        "is "
        "missing stays empty, and what an invalid result says is left out. The path is printed.",
    .examples = "joulemark export out/bench.jmr -o out/bench.csv.d\n"
                "joulemark export out/bench.jmr -f codecarbon --carbon FR -o - # emissions.csv\n"
                "joulemark export out/bench.jmr -f gpai --fact active-parameters=70.6e9",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = init,
    .min_operands = 1,
    .max_operands = 1,
    .fn = export,
};
