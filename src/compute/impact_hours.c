/* SPDX-License-Identifier: Apache-2.0 */
/* Emissions by the hour: the energy of the measured windows, cut at the hours of UTC, each part times the
 * mean of the factor over it. Parts of a window sum to its energy to the last digit; an hour that the factor
 * does not cover whole has energy and no emissions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/impact.h"
#include "compute/observe.h"

#include "base/banned.h"

#define HOUR (3600 * JM_NS_PER_S)
#define KWH  3.6e6

static int64_t hour_of(int64_t t)
{
    return t / HOUR - (t % HOUR < 0);
}

static const struct jm_result *energy_of(const struct jm_report *r, enum jm_boundary at, int window)
{
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (x->window == window && x->q.boundary == at && !x->slice && strcmp(x->metric, "energy") == 0)
            return x;
    }
    return NULL;
}

/* Parts of [t0, t1) between hours and between steps of the factor; only their number where p is NULL. */
static size_t parts(const struct jm_factor *f, int64_t t0, int64_t t1, int64_t off, struct jm_spread_part *p)
{
    size_t n = 0, step = jm_factor_at(f, t0);
    for (int64_t t = t0, to; t < t1; t = to) {
        to = (hour_of(t) + 1) * HOUR;
        while (step < f->n && f->step[step].t1 <= t)
            step++;
        if (step < f->n && f->step[step].t0 > t)
            to = f->step[step].t0 < to ? f->step[step].t0 : to;
        else if (step < f->n)
            to = f->step[step].t1 < to ? f->step[step].t1 : to;
        to = to < t1 ? to : t1;
        if (p) {
            p[n].t0 = t - off;
            p[n].t1 = to - off;
        }
        n++;
    }
    return n;
}

/* One window: its hours are rows hour - h0. */
static int add(struct jm_calc *c, const struct jm_calc_window *w, enum jm_boundary at,
               const struct jm_factor *f, struct jm_hour *row, int64_t h0)
{
    const struct jm_result *e = energy_of(c->r, at, w->index);
    int64_t off = c->r->real_offset, t0 = w->w->t0 + off, t1 = w->w->t1 + off;
    size_t n = parts(f, t0, t1, off, NULL);
    bool even = !e || !e->q.have;
    struct jm_spread_part *p = calloc(n, sizeof *p);
    if (!p)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the hours");
    parts(f, t0, t1, off, p);
    int rc = even || n == 1 ? 0 : jm_spread_weigh(c, w, e->domain, e->n_domain, p, n, &even);
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += p[i].joules;
    even |= n > 1 && !(sum > 0);
    for (size_t i = 0; !rc && i < n; i++) {
        struct jm_hour *h = &row[hour_of(p[i].t0 + off) - h0];
        struct jm_factor_mean m;
        double s = jm_seconds_between(p[i].t1, p[i].t0),
               share = n == 1 ? 1
                       : even ? s / w->seconds
                              : p[i].joules / sum,
               joules = e && e->q.have ? e->q.value * share : NAN;
        jm_factor_mean(f, p[i].t0 + off, p[i].t1 + off, &m);
        bool first = !(h->seconds > 0);
        h->seconds += s;
        h->joules = first ? joules : h->joules + joules;
        h->grams = first ? joules / KWH * m.value : h->grams + joules / KWH * m.value;
        h->value = first ? m.value : h->value + (m.value - h->value) * s / h->seconds;
        h->estimated |= m.estimated > 0;
        h->even |= even && n > 1;
    }
    free(p);
    return rc;
}

int jm_impact_hours(struct jm_calc *c, enum jm_boundary at, int factor)
{
    const struct jm_factor *f = &c->o->factors->f[factor];
    int64_t h0 = INT64_MAX, h1 = INT64_MIN, off = c->r->real_offset, edge;
    int rc = 0;
    if (f->what != JM_FACTOR_CARBON || !f->n || isfinite(f->constant))
        return 0;
    for (size_t i = 0; i < c->n_win; i++) {
        const struct jm_window *w = c->win[i].w;
        if (w->role != JM_R_MEASURE || w->t1 <= w->t0 || !(c->win[i].seconds > 0))
            continue;
        if (__builtin_add_overflow(w->t0, off, &edge) || __builtin_add_overflow(w->t1, off, &edge))
            return 0; /* times that are none */
        int64_t a = hour_of(w->t0 + off), b = hour_of(w->t1 + off - 1);
        h0 = a < h0 ? a : h0;
        h1 = b > h1 ? b : h1;
    }
    if (h1 < h0 || h1 - h0 >= JM_HOURS)
        return 0;
    struct jm_hour *row = calloc((size_t)(h1 - h0 + 1), sizeof *row);
    if (!row)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the hours");
    for (size_t i = 0; !rc && i < c->n_win; i++) {
        const struct jm_window *w = c->win[i].w;
        if (w->role == JM_R_MEASURE && w->t1 > w->t0 && c->win[i].seconds > 0)
            rc = add(c, &c->win[i], at, f, row, h0);
    }
    for (int64_t h = h0; !rc && h <= h1; h++) {
        struct jm_hour *x, *from = &row[h - h0];
        if (!(from->seconds > 0))
            continue;
        if (!(x = jm_report_hour(c->r)))
            rc = jm_err_set(c->err, JM_ENOMEM, "out of memory for the hours");
        else {
            *x = *from;
            x->factor = factor;
            x->at = at;
            x->t0 = h * HOUR;
            if (x->joules > 0)
                x->value = x->grams / x->joules * KWH; /* of several windows: by their energy */
        }
    }
    free(row);
    return rc;
}
