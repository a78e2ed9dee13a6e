/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmds.h"
#include "cli/mlperf_rounds.h"
#include "cli/present.h"
#include "show/round_compare.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    struct jm_mlperf_cli rounds;
    const char *a, *b;
    struct jm_pue pue;
    bool all, ascii;
};

static void init(void *opts)
{
    jm_mlperf_cli_init(&((struct opts *)opts)->rounds);
}

static const struct jm_round_filter none;

/* Is there a row that has the name in that field as it stands? Then the name means that field alone: NVIDIA
 * is the submitter and not every system with a card of theirs. */
static bool exact(const struct jm_round_table *t, const char *list, size_t field)
{
    for (size_t i = 0; i < t->n_row; i++) {
        const struct jm_round_row *r = t->row[i];
        const char *name[] = {r->round, r->submitter, r->system, r->system_name};
        if (name[field] && strcasecmp(name[field], list) == 0)
            return true;
    }
    return false;
}

/* --a and --b: which fields a list of names is looked for in. */
static size_t filters(const struct jm_round_table *t, const char *list, struct jm_round_filter by[4])
{
    for (int i = 0; i < 4; i++)
        by[i] = none;
    by[0].round = by[1].submitter = by[2].system = by[3].accelerator = list;
    for (size_t field = 0; field < 4; field++)
        if (exact(t, list, field)) {
            by[0] = by[field < 2 ? field : 2];
            return 1;
        }
    return 4;
}

static int pick(const struct jm_round_table *t, const char *list, const struct jm_round_row ***out, size_t *n,
                struct jm_err *err)
{
    *n = 0;
    *out = calloc(t->n_row + 1, sizeof **out);
    if (!*out)
        return jm_err_set(err, JM_ENOMEM, "out of memory for %zu results", t->n_row);
    struct jm_round_filter by[4] = {none};
    size_t fields = list ? filters(t, list, by) : 1;
    for (size_t i = 0; i < t->n_row; i++)
        for (size_t k = 0; k < fields; k++)
            if (jm_round_passes(&by[k], t->row[i], false)) {
                (*out)[(*n)++] = t->row[i];
                break;
            }
    return 0;
}

static int compare(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    const struct opts *o = opts;
    struct jm_round_table t[2] = {0};
    struct jm_round_comparison c = {0};
    const struct jm_round_row **v[2] = {NULL, NULL};
    const char *list[2] = {o->a, o->b};
    char name[2][512];
    const char *const names[2] = {name[0], name[1]};
    size_t n[2] = {0, 0}, sides = cli->n_operands;
    struct jm_round_show show = {
        .width = cli->term.width, .color = cli->term.out_color, .ascii = o->ascii, .pue = o->pue};
    int rc = 0;
    if (sides == 1 && (!o->a || !o->b))
        rc =
            jm_err_set(err, JM_EUSAGE,
                       "one folder has two sides only with --a and --b; usage: joulemark mlperf compare A B");
    for (size_t i = 0; i < sides && !rc; i++)
        rc = jm_mlperf_cli_read(cli, &o->rounds, &cli->operand[i], 1, &t[i], err);
    for (size_t i = 0; i < 2 && !rc; i++) {
        rc = pick(&t[sides == 1 ? 0 : i], list[i], &v[i], &n[i], err);
        snprintf(name[i], sizeof name[i], "%.240s%s%.240s", cli->operand[sides == 1 ? 0 : i],
                 list[i] ? ": " : "", list[i] ? list[i] : "");
    }
    if (!rc)
        rc = jm_round_compare_sets(v[0], n[0], v[1], n[1], o->all, &c, err);
    if (!rc) {
        struct jm_str s;
        jm_str_init(&s);
        rc = cli->common->json ? jm_round_compare_json(&c, names, &show, &s, err)
                               : jm_round_compare_text(&c, names, &show, &s, err);
        if (!rc)
            jm_cli_out(cli, jm_str_span(&s));
        jm_str_release(&s);
    }
    bool cut = t[0].interrupted || t[1].interrupted, nothing = !c.n_match;
    jm_round_comparison_release(&c);
    for (int i = 0; i < 2; i++) {
        free(v[i]);
        jm_round_table_release(&t[i]);
    }
    return rc ? rc : cut ? JM_EXIT_SYSTEM : nothing ? JM_EXIT_CHECK : JM_EXIT_OK;
}

static const struct jm_opt table[] = {
    {"all", 0, JM_OPT_FLAG, offsetof(struct opts, all),
     .help =
         "Compare whatever has the same benchmark, scenario and unit: open, preview and unofficial results "
         "too.",
     .group = "Comparison"},
    {"a", 0, JM_OPT_STR, offsetof(struct opts, a), .arg = "LIST",
     .help = "Of A only what has this in its system, submitter, accelerator or round."},
    {"b", 0, JM_OPT_STR, offsetof(struct opts, b), .arg = "LIST", .help = "The same of B."},
    {"pue", 0, JM_OPT_PARSE, offsetof(struct opts, pue), .parse = jm_present_pue, .arg = "VALUE",
     .help = "Give facility figures in the JSON, labelled so; no ratio uses it."},
    JM_OPT_JSON,
    {"ascii", 0, JM_OPT_FLAG, offsetof(struct opts, ascii),
     .help = "No characters beyond ASCII in the text."},
    JM_OPTS_ROUNDS(opts, rounds),
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_mlperf_compare = {
    .name = "mlperf compare",
    .group = "MLPerf Power",
    .summary = "Compare two rounds, submissions or systems, like with like",
    .usage = "[OPTIONS] A [B]",
    .description =
        "A and B are folders as for mlperf show: rounds, submissions, systems or sessions. Of each benchmark "
        "and "
        "scenario that both have, the best of A stands against the best of B, and every system that is in "
        "both "
        "against itself: output tokens per joule where both have tokens, else samples per joule, at the "
        "wall. "
        "Compared are results of the closed division, available, officially measured, that the checker of "
        "their round passes; what was left out is named with its reason. Nameplate and TDP are never part of "
        "a comparison, and neither is a PUE.\n\n"
        "Ends with 1 where nothing may be compared.",
    .examples = "joulemark mlperf compare v4.1 v5.1 --model=llama2-70b # two rounds\n"
                "joulemark mlperf compare v5.1 --a=H200 --b=B200 # two accelerators of one round",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = init,
    .min_operands = 1,
    .max_operands = 2,
    .fn = compare,
};
