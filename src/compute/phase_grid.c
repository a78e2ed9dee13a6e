/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/phase_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/observe.h"

#include "base/banned.h"

#define LEAST_S   0.05 /* a cell */
#define CELLS_MAX ((size_t)1 << 20)
#define BEYOND_S  1.0 /* that an edge may lie outside the readings, or two cells */

/* Energy since the first point, at its refreshes. */
struct line {
    double *t, *j;
    size_t n;
};

static void release(struct line *l)
{
    free(l->t);
    free(l->j);
}

/* A value that differs from the one before was written between the two reads, and not longer ago than a
 * refresh period. */
static double refreshed(const struct jm_channel *ch, const struct jm_reading *before,
                        const struct jm_reading *now, int64_t origin)
{
    double hi = jm_seconds_between(now->t1, origin), lo = jm_seconds_between(before->t0, origin);
    if (ch->period_ns > 0)
        lo = fmax(lo, hi - (double)ch->period_ns / 1e9);
    return ch->flags & JM_CHF_STAMPED ? hi : lo + (hi - lo) / 2;
}

static double moved(const struct jm_channel *ch, int64_t from, int64_t to)
{
    if (ch->flags & JM_CHF_DOUBLE) {
        double d = jm_channel_value(ch, to) - jm_channel_value(ch, from);
        return d > 0 ? d : 0;
    }
    uint64_t a = (uint64_t)from, b = (uint64_t)to, d = b - a;
    if (b < a) /* a wrap, or a reset, in whose window there is no energy anyway */
        d = ch->modulus > a ? ch->modulus - a + b : 0;
    double v = jm_channel_value(ch, (int64_t)d);
    return isfinite(v) ? v : 0;
}

static void point(struct line *l, double t, double joules)
{
    if (l->n && !(t > l->t[l->n - 1])) {
        l->j[l->n - 1] += joules;
        return;
    }
    l->t[l->n] = t;
    l->j[l->n] = (l->n ? l->j[l->n - 1] : 0) + joules;
    l->n++;
}

static void counter(const struct jm_channel *ch, const struct jm_readings *r, int64_t origin, struct line *l)
{
    const struct jm_reading *last = NULL;
    for (size_t i = 0; i < r->n; i++) {
        const struct jm_reading *x = &r->v[i];
        if (x->status != JM_S_OK)
            continue;
        if (!last)
            point(l, jm_seconds_between(x->t1, origin), 0);
        else if (x->value != last->value)
            point(l, refreshed(ch, last, x, origin), moved(ch, last->value, x->value));
        last = x;
    }
}

static void gauge(const struct jm_channel *ch, const struct jm_readings *r, int64_t origin, struct line *l)
{
    double late = ch->sem == JM_G_TRAILING_MEAN || ch->sem == JM_G_PARTIAL ? (double)ch->window_ns / 2e9 : 0,
           last_t = NAN, last_w = NAN;
    for (size_t i = 0; i < r->n; i++) {
        if (r->v[i].status != JM_S_OK)
            continue;
        double t = jm_seconds_between(r->v[i].t1, origin) - late, w = jm_channel_value(ch, r->v[i].value);
        if (!isfinite(w) || t <= last_t)
            continue;
        point(l, t, isnan(last_t) ? 0 : (t - last_t) * (ch->sem == JM_G_BLOCK_MEAN ? w : (w + last_w) / 2));
        last_t = t;
        last_w = w;
    }
}

static int read_line(struct jm_calc *c, int channel, int64_t from, int64_t to, int64_t origin, struct line *l)
{
    const struct jm_channel *ch = &c->r->channels[channel];
    struct jm_readings r = {0};
    int rc = jm_run_readings(c->run, channel, from, to, &r, c->err);
    *l = (struct line){0};
    if (!rc && r.n) {
        l->t = malloc(r.n * sizeof *l->t);
        l->j = malloc(r.n * sizeof *l->j);
        if (!l->t || !l->j)
            rc = jm_err_set(c->err, JM_ENOMEM, "out of memory for the energy of the phases");
        else if (ch->kind == JM_CH_COUNTER)
            counter(ch, &r, origin, l);
        else
            gauge(ch, &r, origin, l);
    }
    jm_readings_release(&r);
    return rc;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Times of the cells: refreshes, not closer than may be, and the edges. */
static size_t times(const struct line *l, double from, double to, const double *edge, size_t n_edges,
                    double *t)
{
    size_t n = 0, k = 0, m = 0;
    double least = fmax(LEAST_S, (to - from) / (double)CELLS_MAX);
    for (size_t i = 0; i <= l->n; i++) {
        double now = i < l->n ? l->t[i] : INFINITY;
        for (; k < n_edges && edge[k] <= now; k++)
            if (edge[k] >= from && edge[k] <= to && (!n || edge[k] > t[n - 1]))
                t[n++] = edge[k];
        if (now >= from && now <= to && (!n || now - t[n - 1] >= least * (1 - 1e-6)))
            t[n++] = now;
    }
    for (size_t i = 0; i < n; i++) /* times that clocks of other orders make alike */
        if (!m || t[i] > t[m - 1])
            t[m++] = t[i];
    return m;
}

/* Joules at rising times; beyond the ends with the power there. */
static void add(const struct line *l, const double *t, size_t n, double *sum)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        while (at + 2 < l->n && l->t[at + 1] <= t[i])
            at++;
        sum[i] += l->j[at] + (l->j[at + 1] - l->j[at]) * (t[i] - l->t[at]) / (l->t[at + 1] - l->t[at]);
    }
}

static double usual(const double *t, size_t n)
{
    double v[1001];
    size_t m = 0;
    for (size_t i = 0, step = n / 1000 + 1; i + 1 < n && m < 1000; i += step)
        v[m++] = t[i + 1] - t[i];
    qsort(v, m, sizeof *v, by_value);
    return m ? v[m / 2] : NAN;
}

static int fill(struct jm_calc *c, struct line *l, size_t n, double from, double to, const double *edge,
                size_t n_edges, struct jm_grid *g)
{
    const struct line *fast = &l[0];
    for (size_t i = 0; i < n; i++) {
        if (l[i].n < 3)
            return JM_EABSENT;
        double beyond = fmax(BEYOND_S, 2 * usual(l[i].t, l[i].n));
        from = fmax(from, l[i].t[0] - beyond);
        to = fmin(to, l[i].t[l[i].n - 1] + beyond);
        fast = l[i].n > fast->n ? &l[i] : fast;
    }
    size_t room = fast->n + n_edges + 2;
    g->t = malloc(room * sizeof *g->t);
    g->joules = calloc(room, sizeof *g->joules);
    if (!g->t || !g->joules)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the energy of the phases");
    size_t points = to > from ? times(fast, from, to, edge, n_edges, g->t) : 0;
    if (points < 3)
        return JM_EABSENT;
    for (size_t i = 0; i < n; i++)
        add(&l[i], g->t, points, g->joules);
    g->n = points - 1;
    for (size_t i = 0; i < g->n; i++)
        g->joules[i] = g->joules[i + 1] - g->joules[i];
    g->cell = usual(g->t, points);
    return 0;
}

int jm_grid_make(struct jm_calc *c, const int *channel, size_t n_channels, int64_t from, int64_t to,
                 const int64_t *edge, size_t n_edges, struct jm_grid *g)
{
    struct line *l = calloc(n_channels + 1, sizeof *l);
    double *e = malloc((n_edges + 1) * sizeof *e);
    int rc = l && e ? 0 : jm_err_set(c->err, JM_ENOMEM, "out of memory for the energy of the phases");
    *g = (struct jm_grid){.origin = from};
    for (size_t i = 0; !rc && i < n_channels; i++)
        rc = read_line(c, channel[i], from, to, from, &l[i]);
    for (size_t i = 0; !rc && i < n_edges; i++)
        e[i] = jm_seconds_between(edge[i], from);
    if (!rc) {
        qsort(e, n_edges, sizeof *e, by_value);
        rc = n_channels ? fill(c, l, n_channels, 0, jm_seconds_between(to, from), e, n_edges, g) : JM_EABSENT;
    }
    for (size_t i = 0; l && i < n_channels; i++)
        release(&l[i]);
    free(l);
    free(e);
    if (rc)
        jm_grid_release(g);
    return rc;
}

void jm_grid_release(struct jm_grid *g)
{
    free(g->t);
    free(g->joules);
    *g = (struct jm_grid){0};
}

size_t jm_grid_at(const struct jm_grid *g, double t)
{
    size_t lo = 0, hi = g->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (g->t[mid] < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}
