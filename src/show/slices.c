/* SPDX-License-Identifier: Apache-2.0 */
#include "show/slices.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

const char *const jm_slice_titles[JM_SC_COUNT] = {"slice",       "ok",       "failed",   "cancelled",
                                                  "tokens/s",    "ttft p50", "ttft p99", "tpot p99",
                                                  "in contract", "J/token"};

static const struct jm_result *of_slice(const struct jm_report *r, const struct jm_slice_total *t,
                                        const char *metric, double quantile)
{
    for (size_t i = 0; i < r->n_sliced; i++) {
        const struct jm_result *x = &r->sliced[i];
        if (x->window == t->window && strcmp(x->slice, t->name) == 0 && strcmp(x->metric, metric) == 0 &&
            (isnan(quantile) ? isnan(x->quantile) : x->quantile == quantile))
            return x;
    }
    return NULL;
}

/* The window's J/token, as the slice was alone in it: at the boundary that heads the report, where boards
 * that serve somebody else are no part of it, else at the widest one. */
static const struct jm_result *joules(const struct jm_report *r, const struct jm_slice_total *t)
{
    const struct jm_result *best = NULL, *head = t->alone ? jm_fmt_headline(r) : NULL;
    for (size_t i = 0; t->alone && i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (x->window == t->window && strcmp(x->metric, "j_per.output_token") == 0 && !jm_fmt_estimate(x) &&
            x->q.have && (!best || x->q.boundary > best->q.boundary)) {
            best = x;
            if (head && x->q.boundary == head->q.boundary)
                break;
        }
    }
    return best;
}

static void latency(const struct jm_report *r, const struct jm_slice_total *t, const char *metric, double q,
                    char out[JM_FMT])
{
    const struct jm_result *x = of_slice(r, t, metric, q);
    if (x && x->q.have)
        jm_fmt_value(out, x->q.value, "s");
    else
        snprintf(out, JM_FMT, "–");
}

void jm_slice_cells(const struct jm_report *r, size_t slice, struct jm_slice_cells *out)
{
    const struct jm_slice_total *t = &r->slices[slice];
    const struct jm_result *x;
    snprintf(out->cell[JM_SC_NAME], JM_FMT, "%s", t->name[0] ? t->name : "(no name)");
    jm_fmt_count(out->cell[JM_SC_OK], t->ok);
    jm_fmt_count(out->cell[JM_SC_BAD], t->failed + t->aborted - t->cancelled);
    jm_fmt_count(out->cell[JM_SC_CANCELLED], t->cancelled);
    x = of_slice(r, t, "tokens_per_s", NAN);
    if (x && x->q.have)
        jm_fmt_number(out->cell[JM_SC_RATE], x->q.value);
    else
        snprintf(out->cell[JM_SC_RATE], JM_FMT, "–");
    latency(r, t, "ttft", 0.5, out->cell[JM_SC_TTFT_P50]);
    latency(r, t, "ttft", 0.99, out->cell[JM_SC_TTFT_P99]);
    latency(r, t, "tpot.excl_first", 0.99, out->cell[JM_SC_TPOT_P99]);
    x = of_slice(r, t, "attainment", NAN);
    if (x && x->q.have)
        snprintf(out->cell[JM_SC_CONTRACT], JM_FMT, "%.4g %%", 100 * x->q.value);
    else
        snprintf(out->cell[JM_SC_CONTRACT], JM_FMT, "–");
    x = joules(r, t);
    if (x)
        jm_fmt_number(out->cell[JM_SC_ENERGY], x->q.value);
    else
        snprintf(out->cell[JM_SC_ENERGY], JM_FMT, "–");
}

bool jm_slice_column_used(const struct jm_report *r, enum jm_slice_column c)
{
    bool cancelled = false, contract = false, alone = false;
    for (size_t i = 0; i < r->n_slices; i++) {
        cancelled |= r->slices[i].cancelled > 0;
        contract |= r->slices[i].qualified >= 0;
        alone |= joules(r, &r->slices[i]) != NULL;
    }
    switch (c) {
    case JM_SC_CANCELLED: return cancelled;
    case JM_SC_CONTRACT: return contract;
    case JM_SC_ENERGY: return alone;
    default: return r->n_slices > 0;
    }
}

const char *jm_slice_note(const struct jm_report *r)
{
    static const char *const at[JM_B_COUNT] = {[JM_B_GPU] = "J/token at the boundary gpu.",
                                               [JM_B_DEVICE] = "J/token at the boundary device.",
                                               [JM_B_NODE] = "J/token at the boundary node.",
                                               [JM_B_WALL] = "J/token at the boundary wall.",
                                               [JM_B_FACILITY] = "J/token at the boundary facility."};
    const char *where = NULL;
    bool together = false;
    for (size_t i = 0; i < r->n_slices; i++) {
        const struct jm_result *x = joules(r, &r->slices[i]);
        together |= !r->slices[i].alone;
        where = where || !x ? where : at[x->q.boundary];
    }
    return !together || !r->n_energy
               ? where
               : "Slices that ran at the same time shared the energy: no meter tells their "
                 "joules apart, so none has a J/token of its own (sequential: true gives "
                 "each a window).";
}
