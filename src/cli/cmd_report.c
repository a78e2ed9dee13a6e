/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "cli/cmds.h"
#include "cli/path.h"
#include "cli/present.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    struct jm_present present;
    const char *output;
};

static void init(void *opts)
{
    jm_present_init(&((struct opts *)opts)->present);
}

static int report(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    struct opts *o = opts;
    struct jm_str html, path;
    enum jm_validity v = JM_V_VALID;
    jm_str_init(&html);
    jm_str_init(&path);
    int rc = o->output ? (jm_str_adds(&path, o->output), jm_str_ok(&path, "a file name", err))
                       : jm_path_beside(cli->operand[0], ".html", &path, err);
    if (!rc)
        rc = jm_present_file(cli, cli->operand[0], &o->present, "html", &html, &v, err);
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
    jm_str_release(&html);
    jm_str_release(&path);
    return rc ? rc : jm_present_exit(v);
}

static const struct jm_opt table[] = {
    {"output", 'o', JM_OPT_STR, offsetof(struct opts, output), .arg = "FILE", .help = "Write to FILE.",
     .deflt = "the run's name with .html"},
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
    .summary = "Write one self-contained HTML file about a run",
    .usage = "[OPTIONS] RUN",
    .description =
        "The file needs no network and works without script. Its path is printed. Ends with 3 when the "
        "measurement is invalid; the report is written all the same and says why.",
    .examples = "joulemark report out/bench.jmr # writes out/bench.html\n"
                "joulemark report fleet.jmr --calibration node.jmcal # with the wall that was not measured",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = init,
    .min_operands = 1,
    .max_operands = 1,
    .fn = report,
};
