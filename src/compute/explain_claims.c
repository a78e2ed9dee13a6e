/* SPDX-License-Identifier: Apache-2.0 */
/* What an imported file states itself, beside what each tool would have printed of its requests. */
#include <math.h>
#include <string.h>

#include "compute/explain.h"

#include "base/banned.h"

static bool belongs(const struct jm_claim *k, const char *family)
{
    const struct jm_family *f = k->metric && k->metric[0] ? jm_family_of(k->metric) : NULL;
    return f && strcmp(f->name, family) == 0 && isfinite(k->claimed);
}

size_t jm_explain_claimed(const struct jm_report *r, const char *family)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_claims; i++)
        n += belongs(&r->claims[i], family);
    return n;
}

/* Where a statistic of a claim belongs; NULL: nowhere in a row. */
static double *place(struct jm_explain_row *x, const char *stat)
{
    if (!stat[0] || strcmp(stat, "mean") == 0 || strcmp(stat, "sum") == 0)
        return &x->mean;
    if (strcmp(stat, "p50") == 0 || strcmp(stat, "median") == 0)
        return &x->p50;
    return strcmp(stat, "p90") == 0   ? &x->p90
           : strcmp(stat, "p95") == 0 ? &x->p95
           : strcmp(stat, "p99") == 0 ? &x->p99
                                      : NULL;
}

/* "mean_ttft_ms" and "p99_ttft_ms" are of one row: same metric, window, boundary, and source. */
static bool same(const struct jm_claim *a, const struct jm_claim *b)
{
    return a->window == b->window && a->boundary == b->boundary && strcmp(a->metric, b->metric) == 0 &&
           strcmp(a->source, b->source) == 0 && strcmp(a->unit, b->unit) == 0;
}

void jm_explain_claims(const struct jm_report *r, struct jm_explain *x, size_t cap)
{
    for (size_t i = 0; i < r->n_claims && x->n < cap; i++) {
        const struct jm_claim *k = &r->claims[i];
        bool before = false;
        if (!belongs(k, x->family) || (k->metric[0] && jm_metric_find(k->metric) &&
                                       strcmp(jm_metric_find(k->metric)->unit, x->unit) != 0))
            continue;
        size_t first, n = jm_report_claims(r, k->window, &first); /* the same are of one window */
        const size_t *of = r->claim_order + first;
        for (size_t j = 0; j < n && of[j] < i && !before; j++)
            before = belongs(&r->claims[of[j]], x->family) && same(&r->claims[of[j]], k);
        if (before)
            continue;
        struct jm_explain_row row = {.tool = "the file itself",
                                     .version = r->source,
                                     .key = k->key,
                                     .metric = k->metric,
                                     .why = "As the file states it.",
                                     .claimed = true,
                                     JM_EXPLAIN_NO_VALUE};
        if (k->source[0])
            row.why = k->source;
        for (size_t j = 0; j < n; j++) {
            const struct jm_claim *o = &r->claims[of[j]];
            double *at = of[j] >= i && same(o, k) ? place(&row, o->stat) : NULL;
            if (at && isnan(*at) && isfinite(o->claimed))
                *at = o->claimed;
        }
        row.have = !isnan(row.mean) || !isnan(row.p50) || !isnan(row.p99);
        if (row.have)
            x->rows[x->n++] = row;
    }
}
