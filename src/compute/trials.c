/* SPDX-License-Identifier: Apache-2.0 */
/* Over trials: the mean of the trials' values and its t interval. With one trial there is nothing to say, and
 * the results of that trial say so. Slices one after the other each have trials of their own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "compute/calc.h"
#include "compute/ratio.h"

#include "base/banned.h"

const char *jm_trials_method(const struct jm_calc *c)
{
    return jm_run_env(c->run, "plan.until_percent") ? "t over trials, sequential" : "t over trials";
}

static int order(double a, double b)
{
    return isnan(a) || isnan(b) ? isnan(b) - isnan(a) : (a > b) - (a < b);
}

/* Results are repetitions of each other when metric, boundary, set of devices, quantile and slice are the
 * same. */
static int compare(const struct jm_result *a, const struct jm_result *b)
{
    int d = strcmp(a->metric, b->metric);
    if (!d)
        d = (int)a->q.boundary - (int)b->q.boundary;
    if (!d)
        d = strcmp(a->set ? a->set : "", b->set ? b->set : "");
    if (!d)
        d = order(a->quantile, b->quantile);
    if (!d)
        d = strcmp(a->slice ? a->slice : "", b->slice ? b->slice : "");
    return d;
}

struct entry {
    const struct jm_result *x;
    size_t index;
};

static int by_kind(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int d = compare(x->x, y->x);
    return d ? d : (x->index > y->index) - (x->index < y->index);
}

struct group {
    size_t from, to; /* entries */
    size_t first;    /* index of its first result: groups are shown in that order */
};

static int by_first(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

static bool counts(const struct jm_result *x)
{
    return x->q.have && isfinite(x->q.value) && x->have_of == x->of; /* partial totals are no repetition */
}

/* Two windows of one trial are parts of it, not repetitions. */
static bool repeats(const struct jm_report *r, const struct entry *e, const struct group *g)
{
    for (size_t i = g->from; i < g->to; i++) /* by trial, as they were measured */
        for (size_t k = g->from; k < i; k++)
            if (r->windows[e[i].x->window].trial == r->windows[e[k].x->window].trial)
                return false;
    return true;
}

static int one(struct jm_calc *c, const struct entry *e, const struct group *g, double *v)
{
    size_t n = g->to - g->from, k = 0;
    struct jm_interval in;
    double mean;
    for (size_t i = g->from; i < g->to; i++) {
        const struct jm_result *x = &c->r->results[e[i].index];
        if (counts(x))
            v[k++] = x->q.value;
    }
    if (k < 2 || (!c->repeats && !repeats(c->r, e, g)) ||
        jm_stats_t_interval(v, k, jm_calc_level(c), &mean, &in))
        return 0;
    struct jm_result *x = jm_report_result(c->r, c->r->results[g->first].metric);
    if (!x)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the results");
    const struct jm_result first = c->r->results[g->first];
    x->q.unit = first.q.unit;
    x->q.boundary = first.q.boundary;
    x->q.have = true;
    x->q.value = mean;
    x->q.u = (struct jm_uncertainty){in.lo, in.hi, in.level, in.dof, jm_trials_method(c), "repeats", ""};
    x->set = first.set;
    x->quantile = first.quantile;
    x->instrument = first.instrument;
    x->domain = first.domain;
    x->n_domain = first.n_domain;
    x->n = (int64_t)k;
    bool gain = false, buckets = false;
    double lo = 0, hi = 0;
    for (size_t i = g->from; i < g->to; i++) {
        struct jm_result *t = &c->r->results[e[i].index];
        t->summarised = c->repeats; /* a slice's windows are shown as they came */
        x->q.provenance = jm_provenance_worse(x->q.provenance, t->q.provenance);
        x->of = t->of > x->of ? t->of : x->of;
        gain |= t->q.u.includes && strstr(t->q.u.includes, "gain");
        if (counts(t) && t->q.u.includes && strcmp(t->q.u.includes, "buckets") == 0) {
            buckets = true;
            lo += t->q.u.lo;
            hi += t->q.u.hi;
        }
    }
    /* A quantile that is known by the bucket it fell into: however alike the places inside the buckets are,
     * no trial says more than its edges, and their mean no more than the means of these. */
    if (buckets)
        x->q.u = (struct jm_uncertainty){
            lo / (double)k, hi / (double)k, 1, NAN, "edges of the buckets, means over the trials",
            "buckets",      "repeats"};
    x->have_of = x->of;
    if (x->q.provenance == JM_P_ESTIMATED)
        x->q.u.excludes = "error of the estimate (unknown)";
    else if (x->q.boundary != JM_B_NONE)
        x->q.u.excludes = gain ? "gain of the instruments (it is alike in every trial)"
                          : first.q.u.excludes && strstr(first.q.u.excludes, "board gain") ? JM_EXCL_GAIN
                                                                                           : JM_EXCL_OTHER;
    if (k < n && !(x->q.reasons = jm_report_text(c->r, "%zu of %zu trials", k, n)))
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the results");
    return 0;
}

int jm_results_trials(struct jm_calc *c)
{
    struct jm_report *r = c->r;
    size_t n = 0, groups = 0, widest = 1;
    int rc = 0;
    if (!c->repeats && !c->slices)
        return 0;
    struct entry *e = malloc((r->n_results + 1) * sizeof *e);
    struct jm_result *copy = malloc((r->n_results + 1) * sizeof *copy);
    struct group *g = malloc((r->n_results + 1) * sizeof *g);
    double *v = NULL;
    if (!e || !g || !copy)
        rc = jm_err_set(c->err, JM_ENOMEM, "out of memory for the trials");
    if (!rc && r->n_results)
        memcpy(copy, r->results, r->n_results * sizeof *copy);
    for (size_t i = 0; !rc && i < r->n_results; i++)
        if (copy[i].window >= 0 && r->windows[copy[i].window].role == JM_R_MEASURE &&
            (c->repeats || copy[i].slice))
            e[n++] = (struct entry){&copy[i], i};
    if (!rc && n)
        qsort(e, n, sizeof *e, by_kind);
    for (size_t i = 0; !rc && i < n; i++) {
        if (i && compare(e[i].x, e[i - 1].x) == 0) {
            g[groups - 1].to = i + 1;
        } else {
            g[groups++] = (struct group){i, i + 1, e[i].index};
        }
        size_t width = g[groups - 1].to - g[groups - 1].from;
        widest = width > widest ? width : widest;
    }
    if (!rc && !(v = malloc(widest * sizeof *v)))
        rc = jm_err_set(c->err, JM_ENOMEM, "out of memory for the trials");
    if (!rc && groups)
        qsort(g, groups, sizeof *g, by_first);
    for (size_t i = 0; !rc && i < groups; i++) {
        size_t from = r->n_results;
        const char *slice = e[g[i].from].x->slice;
        rc = one(c, e, &g[i], v);
        if (!rc && !c->repeats && r->n_results > from)
            rc = jm_slices_take(c, from, slice);
    }
    free(e);
    free(copy);
    free(g);
    free(v);
    return rc;
}
