/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/acc.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/stats.h"

#include "base/banned.h"

#define EXACT_MOST ((size_t)1 << 21) /* samples of one number that are kept one by one */

void jm_acc_histogram(const struct jm_acc *a, struct jm_loghist *h)
{
    if (a->h)
        *h = *a->h;
    for (size_t i = 0; !a->h && i < a->n; i++)
        jm_loghist_add(h, a->v[i].v * 1e9, (uint64_t)a->v[i].w);
}

double jm_acc_mean(const struct jm_acc *a)
{
    return a->weight > 0 ? a->sum / a->weight : NAN;
}

static int to_histogram(struct jm_acc *a)
{
    struct jm_loghist *h = calloc(1, sizeof *h);
    if (!h)
        return JM_ENOMEM;
    jm_acc_histogram(a, h);
    free(a->v);
    a->v = NULL;
    a->n = a->cap = 0;
    a->h = h;
    return 0;
}

/* Room for one more value, here or, beyond the bound, in the histogram. */
static int make_room(struct jm_acc *a)
{
    size_t cap = a->cap ? 2 * a->cap : 256;
    if (cap > (a->most ? a->most : EXACT_MOST))
        return to_histogram(a);
    struct jm_pair *p = realloc(a->v, cap * sizeof *p);
    if (!p)
        return JM_ENOMEM;
    a->v = p;
    a->cap = cap;
    return 0;
}

int jm_acc_add(struct jm_acc *a, double v, double weight)
{
    if (isnan(v) || !(weight > 0))
        return 0;
    if (!a->h && a->n == a->cap && make_room(a))
        return JM_ENOMEM;
    weight = fmin(weight, 1e12); /* what a file says can be any number */
    a->sum += v * weight;
    a->weight += weight;
    if (a->h)
        jm_loghist_add(a->h, v * 1e9, (uint64_t)weight);
    else
        a->v[a->n++] = (struct jm_pair){v, weight};
    return 0;
}

int jm_acc_add_many(struct jm_acc *a, const double *v, size_t n)
{
    size_t i = 0;
    int rc = 0;
    for (; !rc && i < n && !a->h; i++) /* until there are too many */
        rc = jm_acc_add(a, v[i], 1);
    if (rc || i == n)
        return rc;
    struct jm_loghist *h = a->h;
    double sum = a->sum;
    a->weight += (double)(n - i);
    for (; i < n; i++) {
        sum += v[i];
        jm_loghist_add(h, v[i] * 1e9, 1);
    }
    a->sum = sum;
    return 0;
}

int jm_acc_merge(struct jm_acc *a, const struct jm_acc *b)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < b->n; i++)
        rc = jm_acc_add(a, b->v[i].v, b->v[i].w);
    if (rc || !b->h)
        return rc;
    if (!a->h && to_histogram(a))
        return JM_ENOMEM;
    for (size_t i = 0; i < JM_LOGHIST_N; i++)
        a->h->count[i] += b->h->count[i];
    a->h->zeros += b->h->zeros;
    a->h->total += b->h->total;
    a->sum += b->sum;
    a->weight += b->weight;
    return 0;
}

static int by_value(const void *a, const void *b)
{
    double x = ((const struct jm_pair *)a)->v, y = ((const struct jm_pair *)b)->v;
    return (x > y) - (x < y);
}

/* Values that all weigh the same need no pairs to be moved about. */
static bool sort_alike(struct jm_acc *a)
{
    size_t n = 1;
    while (n < a->n && a->v[n].w == a->v[0].w)
        n++;
    double *x = n == a->n ? malloc(n * sizeof *x) : NULL;
    if (!x)
        return false;
    for (size_t i = 0; i < n; i++)
        x[i] = a->v[i].v;
    jm_stats_sort(x, n);
    for (size_t i = 0; i < n; i++)
        a->v[i].v = x[i];
    free(x);
    return true;
}

void jm_acc_sort(struct jm_acc *a)
{
    if (a->n && !(a->n > 2000 && sort_alike(a)))
        qsort(a->v, a->n, sizeof *a->v, by_value);
}

void jm_acc_release(struct jm_acc *a)
{
    free(a->v);
    free(a->h);
}

/* The value number k of the sorted ones, where each stands weight times. */
static double nth(const struct jm_acc *a, double k)
{
    double seen = 0;
    for (size_t i = 0; i < a->n; i++)
        if ((seen += a->v[i].w) > k)
            return a->v[i].v;
    return a->n ? a->v[a->n - 1].v : NAN;
}

double jm_acc_quantile(const struct jm_acc *a, double q, enum jm_quantile_kind kind)
{
    if (a->h)
        return jm_loghist_quantile(a->h, q);
    if (!a->n)
        return NAN;
    if (kind == JM_Q_FLOOR)
        return nth(a, floor(a->weight * q));
    if (kind == JM_Q_SHARE) {
        double seen = 0;
        for (size_t i = 0; i < a->n; i++)
            if ((seen += a->v[i].w / a->weight) >= q - 1e-12)
                return a->v[i].v;
        return a->v[a->n - 1].v;
    }
    double at = q * (a->weight - 1), lo = floor(at), x = nth(a, lo);
    return x + (at - lo) * (nth(a, lo + 1) - x);
}
