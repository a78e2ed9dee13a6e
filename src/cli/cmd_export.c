/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "cli/cmds.h"
#include "cli/path.h"
#include "run/run.h"

#include "base/banned.h"

enum { AS_CSV, AS_JSON };

struct opts {
    struct jm_common common;
    int format;
    const char *output;
};

static int export(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    const struct opts *o = opts;
    struct jm_run *run = NULL;
    struct jm_str path;
    int format = cli->common->json ? AS_JSON : o->format;
    jm_str_init(&path);
    int rc = o->output ? (jm_str_adds(&path, o->output), jm_str_ok(&path, "a file name", err))
                       : jm_path_beside(cli->operand[0], format == AS_CSV ? ".csv.d" : ".json", &path, err);
    if (!rc)
        rc = jm_run_open(cli->operand[0], &run, err);
    if (!rc)
        rc = jm_path_spare_run(path.buf, err);
    if (!rc)
        rc = jm_file_mkparents(path.buf, err);
    if (!rc)
        rc = jm_run_export(run, format == AS_CSV ? "csv" : "json", path.buf, err);
    jm_run_close(run);
    if (!rc) {
        jm_str_addc(&path, '\n');
        jm_cli_out(cli, jm_str_span(&path));
    }
    jm_str_release(&path);
    return rc;
}

static const struct jm_opt table[] = {
    {"format", 'f', JM_OPT_ENUM, offsetof(struct opts, format), .choices = "csv|json",
     .help = "csv: a folder with one file a table and a channel; json: one file.", .deflt = "csv"},
    JM_OPT_JSON,
    {"output", 'o', JM_OPT_STR, offsetof(struct opts, output), .arg = "PATH", .help = "Where to.",
     .deflt = "the run's name with .csv.d or .json"},
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_export = {
    .name = "export",
    .group = "Keep and exchange runs",
    .summary = "Write everything raw of a run as CSV or JSON",
    .usage = "[OPTIONS] RUN",
    .description = "Readings, requests, windows, marks and environment as they were observed, for other "
                   "tools. Results are "
                   "not in it: joulemark show --format csv writes those. The path is printed.",
    .examples = "joulemark export out/bench.jmr -o out/bench.csv.d",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .min_operands = 1,
    .max_operands = 1,
    .fn = export,
};
