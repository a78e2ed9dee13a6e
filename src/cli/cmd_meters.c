/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "cli/cmds.h"
#include "cli/meters_show.h"
#include "cli/meterenv.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    int64_t measure;
    bool no_measure;
};

static void init(void *opts)
{
    ((struct opts *)opts)->measure = 2 * JM_NS_PER_S;
}

static void progress(void *self, const char *meter)
{
    struct jm_cli *cli = self;
    jm_term_progress(&cli->term, NAN, "watching how often %s refreshes", meter);
}

static int meters(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    const struct opts *o = opts;
    struct jm_meter_env env;
    struct jm_survey s;
    struct jm_str out;
    jm_cli_meter_env(cli, &env);
    struct jm_survey_options so = {.meters = o->common.meters,
                                   .budget_ns = o->no_measure ? 0 : o->measure,
                                   .progress = progress,
                                   .self = cli};
    int rc = jm_meter_survey(&env, &so, &s, err);
    jm_term_progress_end(&cli->term);
    if (rc)
        return rc;
    jm_str_init(&out);
    jm_instruments_warnings(&cli->common->instruments, &out);
    for (struct jm_span rest = jm_str_span(&out), line; jm_span_line(&rest, &line);)
        jm_cli_say(cli, "%.*s", (int)line.n, line.p);
    jm_str_reset(&out);
    if (cli->common->json)
        jm_meters_json(&s, env.host, &out);
    else
        jm_meters_text(&s, env.host, cli->term.out_color, &out);
    rc = jm_str_ok(&out, "the list of meters", err);
    if (!rc)
        jm_cli_out(cli, jm_str_span(&out));
    jm_str_release(&out);
    jm_meter_survey_release(&s);
    return rc;
}

static const struct jm_opt table[] = {
    {"measure", 0, JM_OPT_DURATION, offsetof(struct opts, measure), 1e7, 60e9,
     .help = "Watch each meter for so long at most to find its refresh periods.", .deflt = "2s"},
    {"no-measure", 0, JM_OPT_FLAG, offsetof(struct opts, no_measure),
     .help = "Show the documented periods only."},
    JM_OPT_JSON,
    JM_OPTS_METER,
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_meters = {
    .name = "meters",
    .group = "Measure",
    .summary = "Show what can be read here, and how to mend what cannot",
    .usage = "[OPTIONS]",
    .description =
        "For each meter: its channels, the boundary they lie in, what one value means, how often they "
        "really refresh, and what physically contains what. For one that cannot be read: why, and the one "
        "command that mends it. With --json also accuracy, wrap, source, provenance and the facts about "
        "driver and device. Ends with 0 even when nothing can be read.",
    .examples = "joulemark meters\n"
                "joulemark meters --config joulemark.yaml # BMCs, PDUs and analyzers too\n"
                "joulemark meters --meters nvml,rapl --json",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = init,
    .fn = meters,
};
