/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/refresh.h"

#include <math.h>
#include <string.h>

#include "base/banned.h"

static double mid(const struct jm_refresh *r)
{
    return 0.5 * (r->lo + r->hi);
}

static double width(const struct jm_refresh *r)
{
    return r->hi - r->lo;
}

const char *jm_edge_rule_name(int rule)
{
    static const char *const names[] = {"linear", "cubic", "step", "extrapolated"};
    return rule >= 0 && rule < 4 ? names[rule] : NULL;
}

void jm_edge_push(struct jm_edge *e, const struct jm_refresh *r)
{
    if (mid(r) <= e->t) {
        memmove(e->before + 1, e->before, (JM_EDGE_SIDE - 1) * sizeof e->before[0]);
        e->before[0] = *r;
        if (e->n_before < JM_EDGE_SIDE)
            e->n_before++;
    } else if (e->n_after < JM_EDGE_SIDE) {
        e->after[e->n_after++] = *r;
    }
}

void jm_interval_feed_push(struct jm_interval_feed *f, struct jm_variogram *v, const struct jm_refresh *r,
                           double period, double quantum)
{
    double dt = f->has_last ? mid(r) - mid(&f->last) : 0;
    bool narrow = f->has_last && period > 0 && width(r) <= JM_NARROW * period &&
                  width(&f->last) <= JM_NARROW * period && dt > 0.5 * period && dt < 1.5 * period;
    if (narrow) {
        double watts = (r->joules - f->last.joules) / dt, h = width(r) / dt;
        jm_variogram_add(v, watts, watts * watts * h * h / 2 + quantum * quantum / (2 * dt * dt));
    } else {
        jm_variogram_break(v);
    }
    f->last = *r;
    f->has_last = true;
}

/* Mean power between two refreshes that are neighbours by the yardstick dt; false: they are not. */
static bool neighbour(const struct jm_refresh *a, const struct jm_refresh *b, double dt, double *len,
                      double *watts)
{
    double d = mid(b) - mid(a), limit = JM_NARROW * dt;
    if (!(d > 0.5 * dt) || !(d < 1.6 * dt) || width(a) > limit || width(b) > limit)
        return false;
    *len = d;
    *watts = (b->joules - a->joules) / d;
    return true;
}

/* The refresh interval that holds the edge, with what is known left and right of it. */
struct around {
    double t0, len, watts;   /* the interval itself */
    double len_l, len_r;     /* 0: not known */
    double watts_l, watts_r; /* its neighbours */
    double outer2;           /* sum of squared differences further out */
    double n_outer, rough2;  /* rough2: the largest of them */
    double inner2, n_inner;
    double noise; /* variance of a difference that comes from brackets and quantum */
};

static double beyond(double d, double noise)
{
    double v = d * d - noise;
    return v > 0 ? v : 0;
}

static void further_out(struct around *a, double d)
{
    double d2 = beyond(d, a->noise);
    a->outer2 += d2;
    a->n_outer++;
    if (d2 > a->rough2)
        a->rough2 = d2;
}

static void look_around(const struct jm_edge *e, double quantum, struct around *a)
{
    const struct jm_refresh *b = &e->before[0], *f = &e->after[0];
    memset(a, 0, sizeof *a);
    a->t0 = mid(b);
    a->len = mid(f) - mid(b);
    a->watts = (f->joules - b->joules) / a->len;
    double h = 0.5 * (width(b) + width(f)) / a->len;
    a->noise = a->watts * a->watts * h * h / 2 + quantum * quantum / (2 * a->len * a->len);
    if (width(b) > JM_NARROW * a->len || width(f) > JM_NARROW * a->len)
        return;
    double len, watts, prev;
    if (e->n_before > 1 && neighbour(&e->before[1], b, a->len, &a->len_l, &a->watts_l)) {
        a->inner2 += beyond(a->watts - a->watts_l, a->noise);
        a->n_inner++;
        prev = a->watts_l;
        for (int i = 1; i + 1 < e->n_before; i++) {
            if (!neighbour(&e->before[i + 1], &e->before[i], a->len, &len, &watts))
                break;
            further_out(a, prev - watts);
            prev = watts;
        }
    }
    if (e->n_after > 1 && neighbour(f, &e->after[1], a->len, &a->len_r, &a->watts_r)) {
        a->inner2 += beyond(a->watts_r - a->watts, a->noise);
        a->n_inner++;
        prev = a->watts_r;
        for (int i = 1; i + 1 < e->n_after; i++) {
            if (!neighbour(&e->after[i], &e->after[i + 1], a->len, &len, &watts))
                break;
            further_out(a, watts - prev);
            prev = watts;
        }
    }
}

/* A step must stand out this far from the differences outside it. */
#define STEP_OVER_ROUGH 6
#define STEP_DOUBT      0.2

/* One step inside the interval: its power lies between those of its neighbours, and what lies further out is
 * flat compared with the step. */
static bool is_step(const struct around *a)
{
    if (!(a->len_l > 0) || !(a->len_r > 0))
        return false;
    double lo = fmin(a->watts_l, a->watts_r), hi = fmax(a->watts_l, a->watts_r), jump = hi - lo;
    double slack = 2 * sqrt(a->noise);
    if (!(jump > 4 * slack) || a->watts < lo - slack || a->watts > hi + slack)
        return false;
    return jump * jump >= STEP_OVER_ROUGH * STEP_OVER_ROUGH * a->rough2;
}

static double step_value(const struct around *a, double from, double x)
{
    double s = (a->watts_r - a->watts) / (a->watts_r - a->watts_l); /* part before the step */
    s = s < 0 ? 0 : s > 1 ? 1 : s;
    if (x <= s)
        return from + a->watts_l * x * a->len;
    return from + a->watts * a->len - a->watts_r * (1 - x) * a->len;
}

/* Cubic through the refreshes with three-point slopes, held monotone where the power cannot be negative. Its
 * weights are linear in the interval means, so its error is a piecewise constant functional: t, d. */
static double cubic_value(const struct around *a, double from, double x, double *t, double *d)
{
    double h10 = x * (1 - x) * (1 - x), h11 = -x * x * (1 - x), h01 = x * x * (3 - 2 * x);
    double al = a->len_l > 0 ? a->len / (a->len + a->len_l) : 0;
    double ar = a->len_r > 0 ? a->len / (a->len + a->len_r) : 0;
    double m0 = al * a->watts_l + (1 - al) * a->watts, m1 = ar * a->watts_r + (1 - ar) * a->watts;
    if (a->watts >= 0) {
        m0 = m0 > 3 * a->watts ? 3 * a->watts : m0 < 0 ? 0 : m0;
        m1 = m1 > 3 * a->watts ? 3 * a->watts : m1 < 0 ? 0 : m1;
    }
    double w = h01 + h10 * (1 - al) + h11 * (1 - ar);
    double len_l = a->len_l > 0 ? a->len_l : a->len, len_r = a->len_r > 0 ? a->len_r : a->len;
    t[0] = -len_l;
    t[1] = 0;
    t[2] = x * a->len;
    t[3] = a->len;
    t[4] = a->len + len_r;
    d[0] = a->len * h10 * al / len_l;
    d[1] = w - 1;
    d[2] = w;
    d[3] = a->len * h11 * ar / len_r;
    return from + a->len * (h01 * a->watts + h10 * m0 + h11 * m1);
}

/* No refresh after the edge: go on with the power of the last interval. */
static bool extrapolate(const struct jm_edge *e, double period, double quantum, const struct jm_shape *s,
                        struct jm_edge_value *out)
{
    const struct jm_refresh *b = &e->before[0];
    if (e->n_before < 2)
        return false;
    double len = mid(b) - mid(&e->before[1]), y = e->t - mid(b);
    if (!(len > 0) || y < 0 || y > 3 * fmax(period, len))
        return false; /* that long without a refresh is no steady power */
    double p = (b->joules - e->before[1].joules) / len, h = width(b);
    out->rule = JM_EDGE_EXTRAPOLATED;
    out->watts = p;
    out->joules = b->joules + p * y;
    out->bracket = h > period ? h : period;
    out->u_timing = fabs(p) * h / sqrt(12);
    out->u_quantum = quantum / sqrt(12);
    double t[3] = {-len, 0, y}, d[2] = {y / len, -1};
    out->u_shape = y > 0 ? sqrt(jm_shape_var(s, t, d, 2)) : 0;
    out->dof_shape = s->n > 1 ? s->n : 1;
    return true;
}

bool jm_edge_estimate(const struct jm_edge *e, double period, double quantum, const struct jm_shape *s,
                      struct jm_edge_value *out)
{
    memset(out, 0, sizeof *out);
    if (e->n_before < 1)
        return false;
    if (e->n_after < 1)
        return extrapolate(e, period, quantum, s, out);
    struct around a;
    look_around(e, quantum, &a);
    if (!(a.len > 0))
        return false;
    double from = e->before[0].joules, x = (e->t - a.t0) / a.len;
    x = x < 0 ? 0 : x > 1 ? 1 : x;
    double h0 = width(&e->before[0]), h1 = width(&e->after[0]);
    double t[5], d[4], dof = 1;
    double cubic = cubic_value(&a, from, x, t, d);
    out->watts = a.watts;
    out->bracket = h0 > h1 ? h0 : h1;
    out->u_quantum = quantum * sqrt(((1 - x) * (1 - x) + x * x) / 12);
    /* Polls much finer than the refresh meet it anew each time; polls of about its period stand at nearly the
     * same place of it at both ends of the interval, and the two errors are one. */
    bool wide = period > 0 && out->bracket > JM_NARROW * period;
    out->u_timing = fabs(a.watts) / sqrt(12) * (wide ? (1 - x) * h0 + x * h1 : hypot((1 - x) * h0, x * h1));
    if (is_step(&a)) {
        out->rule = JM_EDGE_STEP;
        out->joules = step_value(&a, from, x);
        struct jm_local l = {a.outer2, a.n_outer, 0, 0};
        double lt[3] = {0, x * a.len, a.len}, ld[2] = {x - 1, x};
        out->u_shape = sqrt(jm_shape_local_var(s, &l, lt, ld, 2, &dof));
        /* what looks like one step is not always one: more doubt where nothing further out speaks for it */
        out->u_shape = hypot(out->u_shape, fabs(cubic - out->joules) * (a.n_outer < 2 ? 0.6 : STEP_DOUBT));
    } else {
        bool linear = !(a.len_l > 0) && !(a.len_r > 0);
        out->rule = linear ? JM_EDGE_LINEAR : JM_EDGE_CUBIC;
        out->joules = cubic;
        struct jm_local l = {a.inner2, a.n_inner, a.outer2, a.n_outer};
        out->u_shape = sqrt(jm_shape_local_var(s, &l, t, d, 4, &dof));
    }
    out->dof_shape = dof;
    return true;
}
