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
    static const char *const names[] = {"linear", "cubic", "step", "flat", "extrapolated"};
    return rule >= 0 && rule < 5 ? names[rule] : NULL;
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

/* The refresh interval that holds the edge, with what is known left and right of it, nearest first. */
struct around {
    double t0, len, watts;
    double len_l, len_r; /* of its neighbours; 0: not known */
    double left[JM_EDGE_SIDE], right[JM_EDGE_SIDE];
    int n_left, n_right;
    double noise; /* variance of a difference that comes from brackets and quantum */
};

static void look_around(const struct jm_edge *e, double quantum, struct around *a)
{
    const struct jm_refresh *b = e->before, *f = e->after;
    memset(a, 0, sizeof *a);
    a->t0 = mid(b);
    a->len = mid(f) - mid(b);
    a->watts = (f->joules - b->joules) / a->len;
    double h = 0.5 * (width(b) + width(f)) / a->len, len;
    a->noise = a->watts * a->watts * h * h / 2 + quantum * quantum / (2 * a->len * a->len);
    if (width(b) > JM_NARROW * a->len || width(f) > JM_NARROW * a->len)
        return;
    for (int i = 0; i + 1 < e->n_before; i++, a->n_left++) {
        if (!neighbour(&b[i + 1], &b[i], a->len, &len, &a->left[i]))
            break;
        if (i == 0)
            a->len_l = len;
    }
    for (int i = 0; i + 1 < e->n_after; i++, a->n_right++) {
        if (!neighbour(&f[i], &f[i + 1], a->len, &len, &a->right[i]))
            break;
        if (i == 0)
            a->len_r = len;
    }
}

/* A squared difference without what brackets and quantum add to it. */
static double beyond(double d, double noise)
{
    double v = d * d - noise;
    return v > 0 ? v : 0;
}

/* Differences that touch the interval, and those further out. */
static void differences(const struct around *a, struct jm_local *l)
{
    const double *side[2] = {a->left, a->right};
    int n[2] = {a->n_left, a->n_right};
    memset(l, 0, sizeof *l);
    for (int s = 0; s < 2; s++) {
        if (n[s] > 0) {
            l->inner2 += beyond(side[s][0] - a->watts, a->noise);
            l->n_inner++;
        }
        for (int i = 1; i < n[s]; i++) {
            l->outer2 += beyond(side[s][i] - side[s][i - 1], a->noise);
            l->n_outer++;
        }
    }
}

/* A step must stand out this far from what lies beside it, and be that far above what polling alone shows. */
#define STEP_OVER_ROUGH 6
#define STEP_OVER_NOISE 8
#define STEP_DOUBT      0.2

struct plateau {
    double lo, hi, d2; /* d2: sum of squared differences inside */
    int n;
};

static void plateau_of(const double *p, int n, double noise, struct plateau *out)
{
    *out = (struct plateau){.lo = INFINITY, .hi = -INFINITY, .n = n};
    for (int i = 0; i < n; i++) {
        out->lo = fmin(out->lo, p[i]);
        out->hi = fmax(out->hi, p[i]);
        if (i > 0)
            out->d2 += beyond(p[i] - p[i - 1], noise);
    }
}

/* Is there one step near the edge, with flat power on both sides of it? In the interval itself its moment
 * follows from the energy; in a neighbour, this interval is flat and a straight line is exact. */
static bool find_step(const struct around *a, enum jm_edge_rule *rule, struct jm_local *l)
{
    double p[2 * JM_EDGE_SIDE + 1], slack = sqrt(a->noise);
    int own = a->n_left, n = own + 1 + a->n_right;
    for (int i = 0; i < a->n_left; i++)
        p[own - 1 - i] = a->left[i];
    p[own] = a->watts;
    for (int i = 0; i < a->n_right; i++)
        p[own + 1 + i] = a->right[i];
    static const int where[] = {0, 1, -1};
    for (int k = 0; k < 3; k++) {
        int j = own + where[k];
        struct plateau left, right;
        if (j < 0 || j >= n)
            continue;
        plateau_of(p, j, a->noise, &left);
        plateau_of(p + j + 1, n - 1 - j, a->noise, &right);
        int least_l = where[k] > 0   ? 2
                      : where[k] < 0 ? 0
                                     : 1,
            least_r = where[k] < 0   ? 2
                      : where[k] > 0 ? 0
                                     : 1;
        if (left.n < least_l || right.n < least_r || left.n + right.n < 2)
            continue;
        double a0 = left.n ? (left.lo + left.hi) / 2 : p[j], b0 = right.n ? (right.lo + right.hi) / 2 : p[j];
        double jump = fabs(b0 - a0), flat = fmax(jump / STEP_OVER_ROUGH, 2 * slack);
        if (!(jump > STEP_OVER_NOISE * slack) || (left.n && left.hi - left.lo > flat) ||
            (right.n && right.hi - right.lo > flat) || p[j] < fmin(a0, b0) - 2 * slack ||
            p[j] > fmax(a0, b0) + 2 * slack)
            continue;
        *rule = where[k] ? JM_EDGE_FLAT : JM_EDGE_STEP;
        *l = (struct jm_local){.inner2 = left.d2 + right.d2,
                               .n_inner = (left.n ? left.n - 1 : 0) + (right.n ? right.n - 1 : 0)};
        return true;
    }
    return false;
}

static double step_value(const struct around *a, double from, double x)
{
    double s = (a->right[0] - a->watts) / (a->right[0] - a->left[0]); /* part before the step */
    s = s < 0 ? 0 : s > 1 ? 1 : s;
    if (x <= s)
        return from + a->left[0] * x * a->len;
    return from + a->watts * a->len - a->right[0] * (1 - x) * a->len;
}

/* Cubic through the refreshes with three-point slopes, held monotone where the power cannot be negative. Its
 * weights are linear in the interval means, so its error is a piecewise constant functional: t, d. */
static double cubic_value(const struct around *a, double from, double x, double *t, double *d)
{
    double h10 = x * (1 - x) * (1 - x), h11 = -x * x * (1 - x), h01 = x * x * (3 - 2 * x);
    double al = a->len_l > 0 ? a->len / (a->len + a->len_l) : 0;
    double ar = a->len_r > 0 ? a->len / (a->len + a->len_r) : 0;
    double m0 = al * a->left[0] + (1 - al) * a->watts, m1 = ar * a->right[0] + (1 - ar) * a->watts;
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
    struct jm_local l;
    if (find_step(&a, &out->rule, &l)) {
        out->joules = out->rule == JM_EDGE_STEP ? step_value(&a, from, x) : from + a.watts * x * a.len;
        double lt[3] = {0, x * a.len, a.len}, ld[2] = {x - 1, x};
        out->u_shape = sqrt(jm_shape_local_var(s, &l, lt, ld, 2, &dof));
        /* what looks like one step is not always one: more doubt where nothing further out speaks for it */
        out->u_shape = hypot(out->u_shape, fabs(cubic - out->joules) * (l.n_inner < 2 ? 0.6 : STEP_DOUBT));
    } else {
        differences(&a, &l);
        out->rule = a.n_left || a.n_right ? JM_EDGE_CUBIC : JM_EDGE_LINEAR;
        out->joules = cubic;
        out->u_shape = sqrt(jm_shape_local_var(s, &l, t, d, 4, &dof));
    }
    out->dof_shape = dof;
    return true;
}
