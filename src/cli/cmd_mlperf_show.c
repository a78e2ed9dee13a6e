/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cmds.h"
#include "cli/mlperf_rounds.h"
#include "cli/path.h"
#include "cli/present.h"
#include "show/round.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    struct jm_mlperf_cli rounds;
    const char *columns, *sort, *html;
    struct jm_pue pue;
    bool csv, ascii;
};

static void init(void *opts)
{
    jm_mlperf_cli_init(&((struct opts *)opts)->rounds);
}

static void to_stdout(void *self, struct jm_str *s)
{
    jm_cli_out(self, jm_str_span(s));
    jm_str_reset(s);
}

static int page(const struct jm_round_table *t, const struct jm_round_show *show, const char *file,
                struct jm_err *err)
{
    struct jm_round_show whole = *show;
    struct jm_str s;
    whole.flush = NULL;
    jm_str_init(&s);
    int rc = jm_path_spare_run(file, err);
    if (!rc)
        rc = jm_round_html(t, &whole, &s, err);
    if (!rc)
        rc = jm_file_mkparents(file, err);
    if (!rc)
        rc = jm_file_write(file, jm_str_span(&s), err);
    jm_str_release(&s);
    return rc;
}

static int show(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    const struct opts *o = opts;
    struct jm_round_table t = {0};
    struct jm_round_show show = {.width = cli->term.width,
                                 .color = cli->term.out_color,
                                 .ascii = o->ascii,
                                 .columns = o->columns,
                                 .sort = o->sort,
                                 .pue = o->pue,
                                 .flush = to_stdout,
                                 .self = cli};
    int rc = 0;
    if (cli->common->json && o->csv)
        rc = jm_err_set(err, JM_EUSAGE, "--json and --csv cannot both go to standard output");
    if (!rc) /* a wrong name is told before hours of reading */
        rc = jm_round_columns_known(o->columns, o->sort, err);
    if (!rc)
        rc = jm_mlperf_cli_read(cli, &o->rounds, cli->operand, cli->n_operands, &t, err);
    if (!rc && o->sort)
        rc = jm_round_sort(&t, o->sort, err);
    if (!rc && o->html)
        rc = page(&t, &show, o->html, err);
    if (!rc) {
        struct jm_str s;
        jm_str_init(&s);
        show.detail = !o->columns;
        rc = cli->common->json ? jm_round_json(&t, &show, &s, err)
             : o->csv          ? jm_round_csv(&t, &show, &s, err)
                               : jm_round_text(&t, &show, &s, err);
        if (!rc)
            jm_cli_out(cli, jm_str_span(&s));
        jm_str_release(&s);
    }
    bool cut = t.interrupted;
    jm_round_table_release(&t);
    return rc ? rc : cut ? JM_EXIT_SYSTEM : JM_EXIT_OK;
}

static const struct jm_opt table[] = {
    {"columns", 0, JM_OPT_STR, offsetof(struct opts, columns), .arg = "LIST",
     .help = "Columns of the table, names parted by commas; docs/mlperf.md lists them.", .deflt = "what fits",
     .group = "Output"},
    {"sort", 0, JM_OPT_STR, offsetof(struct opts, sort), .arg = "LIST",
     .help = "Sort by these columns; a minus turns one round: --sort=-tokens_per_j.",
     .deflt = "round, submitter, system, benchmark, scenario"},
    JM_OPT_JSON,
    {"csv", 0, JM_OPT_FLAG, offsetof(struct opts, csv),
     .help = "Write CSV, every column a number or a name."},
    {"html", 0, JM_OPT_STR, offsetof(struct opts, html), .arg = "FILE",
     .help = "Also write one self-contained page with pictures."},
    {"pue", 0, JM_OPT_PARSE, offsetof(struct opts, pue), .parse = jm_present_pue, .arg = "VALUE",
     .help = "Add a facility figure: VALUE times the energy at the wall, labelled so; 1.12 or, with its "
             "category, 1.12,2 (as with show)."},
    {"ascii", 0, JM_OPT_FLAG, offsetof(struct opts, ascii),
     .help = "No characters beyond ASCII in the text."},
    JM_OPTS_ROUNDS(opts, rounds),
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_mlperf_show = {
    .name = "mlperf show",
    .group = "MLPerf Power",
    .summary = "Recompute published results: a session, a submission, whole rounds",
    .usage = "[OPTIONS] DIR...",
    .description =
        "DIR is a session (the folder with performance/), a submission, or the results repository of a whole "
        "round; everything below it that was measured with power is found and read in parallel. Each figure "
        "is computed by the rules of its round, to the digit that was published, and beside it as it should "
        "be: weighted by time, over-range samples decoded, missed ones bridged and declared. Their "
        "difference is shown, and whether the session keeps the rules, by the official checker of the round "
        "and by ours. Of one session alone everything is shown.\n\n"
        "A table of results beside the logs (summary.csv, summary_results.json) is compared with what the "
        "logs give. The JSON is described in docs/mlperf.md. Ends with 4 when it was interrupted; what was "
        "read until then is shown.",
    .examples =
        "joulemark mlperf show inference_results_v5.1 # a whole round\n"
        "joulemark mlperf show inference_results_v5.1/closed/Lenovo --model=llama2-70b # a submitter\n"
        "joulemark mlperf show v4.1 v5.0 v5.1 --html=rounds.html # with a trend over the rounds\n"
        "joulemark mlperf show v5.1 --scenario=Offline --sort=-tokens_per_j # the best first\n"
        "joulemark mlperf show v5.1 --csv # for a spreadsheet",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = init,
    .min_operands = 1,
    .max_operands = 4096,
    .fn = show,
};
