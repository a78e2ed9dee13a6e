/* SPDX-License-Identifier: Apache-2.0 */
/* Output tokens outside the measured windows (warm-up, bursts, pauses, drain), for the picture alone: no
 * figure is made of them. */
#include <math.h>
#include <stdlib.h>

#include "compute/calc.h"
#include "compute/observe.h"

#include "base/banned.h"

#define STRETCHES   256  /* beyond that many windows the picture has no room for what lies between */
#define BUCKETS_MAX 7200 /* of one stretch */

bool jm_series_extent(const struct jm_calc *c, int64_t *t0, int64_t *t1)
{
    int64_t first, last, count;
    *t0 = INT64_MAX;
    *t1 = INT64_MIN;
    for (size_t i = 0; i < c->r->n_channels; i++)
        if (jm_run_channel_span(c->run, (int)i, &first, &last, &count)) {
            *t0 = first < *t0 ? first : *t0;
            *t1 = last > *t1 ? last : *t1;
        }
    for (size_t i = 0; i < c->r->n_windows; i++) {
        *t0 = c->r->windows[i].t0 < *t0 ? c->r->windows[i].t0 : *t0;
        *t1 = c->r->windows[i].t1 > *t1 ? c->r->windows[i].t1 : *t1;
    }
    return *t1 > *t0;
}

static int by_begin(const void *a, const void *b)
{
    const struct jm_window *const *x = a, *const *y = b;
    return ((*x)->t0 > (*y)->t0) - ((*x)->t0 < (*y)->t0);
}

static bool add(struct jm_calc *c, int64_t t0, int64_t t1)
{
    double seconds = jm_seconds_between(t1, t0), each = ceil(ceil(seconds) / BUCKETS_MAX);
    if (t1 <= t0)
        return true;
    struct jm_outside *o = &c->outside[c->n_outside++];
    *o = (struct jm_outside){
        .t0 = t0, .t1 = t1, .bucket_ns = (int64_t)each * JM_NS_PER_S, .n = (size_t)ceil(seconds / each)};
    return (o->v = jm_report_alloc(c->r, o->n * sizeof *o->v)) != NULL;
}

int jm_outside_init(struct jm_calc *c)
{
    int64_t from, to;
    size_t n = 0;
    bool ok = true;
    if (!jm_series_extent(c, &from, &to))
        return 0;
    const struct jm_window **w = malloc((c->r->n_windows + 1) * sizeof *w);
    for (size_t i = 0; w && i < c->r->n_windows; i++)
        if (c->r->windows[i].role == JM_R_MEASURE)
            w[n++] = &c->r->windows[i];
    if (w && n && n < STRETCHES) {
        qsort(w, n, sizeof *w, by_begin);
        ok = (c->outside = jm_report_alloc(c->r, (n + 1) * sizeof *c->outside)) != NULL;
        for (size_t i = 0; ok && i < n; i++) {
            ok = add(c, from, w[i]->t0);
            from = w[i]->t1 > from ? w[i]->t1 : from;
        }
        ok = ok && add(c, from, to);
    }
    ok = ok && w;
    free(w);
    return ok ? 0 : jm_err_set(c->err, JM_ENOMEM, "out of memory for the token rate");
}

/* The first stretch that ends after t; n_outside: none. */
static size_t upto(const struct jm_calc *c, int64_t t)
{
    size_t lo = 0, hi = c->n_outside;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (c->outside[mid].t1 <= t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

bool jm_outside_touches(const struct jm_calc *c, int64_t from, int64_t to)
{
    size_t i = upto(c, from);
    return i < c->n_outside && c->outside[i].t0 <= to;
}

void jm_outside_put(struct jm_calc *c, int64_t t, double tokens)
{
    size_t i = upto(c, t);
    if (i == c->n_outside || t < c->outside[i].t0)
        return;
    struct jm_outside *o = &c->outside[i];
    size_t k = (size_t)(((uint64_t)t - (uint64_t)o->t0) / (uint64_t)o->bucket_ns);
    o->v[k < o->n ? k : o->n - 1] += tokens;
    o->sum += tokens;
}
