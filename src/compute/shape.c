/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/shape.h"

#include <math.h>
#include <string.h>

#include "base/banned.h"

/* Terms in units of the spacing. What is faster than the spacing cannot be told apart by its looks; 0.15 (15
 * ms at 100 ms) stands for prefill bursts of some ten milliseconds and for noise. A smooth term is d(tau c)/d
 * tau of the exponential one, averaged over [tau, tau2]: every variance is linear in c, so it follows from
 * the closed form for the exponential at both ends. */
static const struct term {
    double tau, tau2; /* tau2 0: exponential */
} grid[JM_SHAPE_TERMS] = {{0.15, 0}, {1.2, 0}, {4, 0}, {12, 0}, {40, 0}, {200, 0}, {5, 8}, {16, 26}};
#define SLOW_STEPS 4 /* the term that stands for rare steps where nothing can be fitted */

/* Value of a functional for one term. */
typedef double (*functional)(double tau, const void *arg);

static double term_value(const struct term *g, double unit, functional f, const void *arg)
{
    if (g->tau2 <= 0)
        return f(g->tau * unit, arg);
    double t1 = g->tau * unit, t2 = g->tau2 * unit;
    double v = (t2 * f(t2, arg) - t1 * f(t1, arg)) / (t2 - t1);
    return v > 0 ? v : 0;
}

static double total(const struct jm_shape *s, functional f, const void *arg)
{
    double sum = 0;
    for (size_t j = 0; j < JM_SHAPE_TERMS; j++)
        if (s->a[j] > 0)
            sum += s->a[j] * term_value(&grid[j], s->spacing, f, arg);
    return sum > 0 ? sum : 0;
}

#define PRIOR_N      10
#define PRIOR_EXCESS 6

void jm_variogram_add(struct jm_variogram *v, double y, double noise_var)
{
    size_t have = v->have < JM_SHAPE_LAGS ? v->have : JM_SHAPE_LAGS;
    for (size_t i = 0; i < have; i++) {
        double d = y - v->last[i], d2 = d * d;
        v->sum[i] += d2;
        v->n[i] += 1;
        if (i == 0) {
            v->sum4 += d2 * d2;
            v->noise2 += noise_var;
        }
    }
    if (v->have < JM_SHAPE_LAGS)
        v->have++;
    memmove(v->last + 1, v->last, (JM_SHAPE_LAGS - 1) * sizeof v->last[0]);
    v->last[0] = y;
}

void jm_variogram_break(struct jm_variogram *v)
{
    v->have = 0;
}

/* x - 1 + exp(-x) without cancellation. */
static double bow(double x)
{
    if (x < 1e-3)
        return x * x * (0.5 - x * (1.0 / 6 - x / 24));
    return x + expm1(-x);
}

/* Variance of the integral of unit-variance exp-correlated noise over a length. */
static double self_var(double len, double tau)
{
    return 2 * tau * tau * bow(len / tau);
}

/* Semivariogram at lag h of means over w. */
struct lag {
    double h, w;
};

static double semi(double tau, const void *arg)
{
    const struct lag *l = arg;
    double h = l->h, w = l->w;
    if (w <= 0)
        return -expm1(-h / tau);
    double t2 = tau * tau / (w * w);
    if (h < w) {
        double cross = exp((h - w) / tau) + exp(-(h + w) / tau) - 2 * exp(-w / tau);
        return t2 * (2 * bow(h / tau) - cross);
    }
    double cross = exp((w - h) / tau) + exp(-(h + w) / tau) - 2 * exp(-h / tau);
    return t2 * (2 * bow(w / tau) - cross);
}

/* Non-negative least squares by coordinate descent on the normal equations: few unknowns, well scaled. */
static void nnls(const double *m, const double *y, const double *w, size_t rows, double *a)
{
    double g[JM_SHAPE_TERMS][JM_SHAPE_TERMS] = {{0}}, b[JM_SHAPE_TERMS] = {0};
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < JM_SHAPE_TERMS; j++) {
            const double *row = m + i * JM_SHAPE_TERMS;
            b[j] += w[i] * row[j] * y[i];
            for (size_t k = 0; k < JM_SHAPE_TERMS; k++)
                g[j][k] += w[i] * row[j] * row[k];
        }
    for (int sweep = 0; sweep < 400; sweep++) {
        double moved = 0;
        for (size_t j = 0; j < JM_SHAPE_TERMS; j++) {
            double r = b[j] + g[j][j] * a[j];
            for (size_t k = 0; k < JM_SHAPE_TERMS; k++)
                r -= g[j][k] * a[k];
            double next = g[j][j] > 0 && r > 0 ? r / g[j][j] : 0;
            moved += fabs(next - a[j]) / (fabs(next) + fabs(a[j]) + 1e-300);
            a[j] = next;
        }
        if (moved < 1e-4)
            break;
    }
}

void jm_shape_fit(const struct jm_variogram *v, double spacing, double window, struct jm_shape *out)
{
    memset(out, 0, sizeof *out);
    out->spacing = spacing;
    out->window = window;
    if (!(spacing > 0) || v->n[0] < 1)
        return;
    double noise = v->noise2 / v->n[0];
    double d2 = v->sum[0] / v->n[0] - noise;
    out->n = v->n[0];
    out->d2 = d2 > 0 ? d2 : 0;
    if (v->n[0] < 4) {
        struct lag l = {spacing, window};
        out->a[SLOW_STEPS] = out->d2 / 2 / term_value(&grid[SLOW_STEPS], spacing, semi, &l);
        out->excess = 30;
        return;
    }
    double m2 = v->sum[0] / v->n[0], m4 = v->sum4 / v->n[0];
    double seen = m2 > 0 ? m4 / (m2 * m2) - 3 : 0;
    /* few values cannot show a large kurtosis: start from that of power that moves in steps */
    out->excess = (v->n[0] * (seen > 0 ? seen : 0) + PRIOR_N * PRIOR_EXCESS) / (v->n[0] + PRIOR_N);
    double m[JM_SHAPE_LAGS * JM_SHAPE_TERMS], y[JM_SHAPE_LAGS], w[JM_SHAPE_LAGS];
    size_t rows = 0;
    for (size_t i = 0; i < JM_SHAPE_LAGS && v->n[i] >= 3; i++) {
        double g = (v->sum[i] / v->n[i] - noise) / 2;
        y[rows] = g > 0 ? g : 0;
        double scale = y[rows] + 0.05 * m2 + 1e-12;
        w[rows] = v->n[i] / (scale * scale) / (double)(i + 1);
        struct lag l = {(double)(i + 1) * spacing, window};
        for (size_t j = 0; j < JM_SHAPE_TERMS; j++)
            m[rows * JM_SHAPE_TERMS + j] = term_value(&grid[j], spacing, semi, &l);
        rows++;
    }
    nnls(m, y, w, rows, out->a);
    /* the fit must give the first lag: it is what the local amplitude is compared with */
    double fit = 0;
    for (size_t j = 0; j < JM_SHAPE_TERMS; j++)
        fit += out->a[j] * m[j];
    if (fit > 0)
        for (size_t j = 0; j < JM_SHAPE_TERMS; j++)
            out->a[j] *= out->d2 / 2 / fit;
}

/* Neighbouring differences share a value: n of them are worth this part of n. */
#define DIFF_DOF 0.6

double jm_shape_dof(const struct jm_shape *s)
{
    double dof = DIFF_DOF * 2 * s->n / (2 + s->excess);
    return dof > 1 ? dof : 1;
}

struct jm_shape jm_shape_part(const struct jm_shape *s, bool fast)
{
    struct jm_shape out = *s;
    for (size_t j = 0; j < JM_SHAPE_TERMS; j++)
        if ((grid[j].tau < 1) != fast)
            out.a[j] = 0;
    return out;
}

struct pieces {
    const double *t, *d;
    size_t k;
};

static double pieces_var(double tau, const void *arg)
{
    const struct pieces *p = arg;
    double v = 0;
    for (size_t i = 0; i < p->k; i++) {
        double len = p->t[i + 1] - p->t[i], fade = -expm1(-len / tau);
        v += p->d[i] * p->d[i] * self_var(len, tau);
        for (size_t q = i + 1; q < p->k; q++)
            v += 2 * p->d[i] * p->d[q] * tau * tau * fade * -expm1(-(p->t[q + 1] - p->t[q]) / tau) *
                 exp(-(p->t[q] - p->t[i + 1]) / tau);
    }
    return v;
}

double jm_shape_var(const struct jm_shape *s, const double *t, const double *d, size_t k)
{
    struct pieces p = {t, d, k};
    return total(s, pieces_var, &p);
}

static double cell_var(double tau, const void *arg)
{
    const struct lag *l = arg;
    double spacing = l->h, window = l->w, seen;
    if (window <= 0) {
        seen = spacing * spacing * (1 + exp(-spacing / tau)) / -expm1(-spacing / tau);
    } else {
        double cross =
            exp((window - spacing) / tau) + exp(-(spacing + window) / tau) - 2 * exp(-spacing / tau);
        seen = spacing * spacing * tau * tau / (window * window) *
               (2 * bow(window / tau) + 2 * cross / -expm1(-spacing / tau));
    }
    return seen - 2 * tau * spacing;
}

double jm_shape_cell(const struct jm_shape *s, double spacing, double window)
{
    struct lag l = {spacing, window};
    return window >= spacing ? 0 : total(s, cell_var, &l);
}

static double gap_var(double tau, const void *arg)
{
    double gap = *(const double *)arg, x = gap / tau;
    if (x < 0.02) /* the terms below cancel */
        return gap * gap * x / 6;
    /* Var(I) - 2 Cov(I, T) + Var(T), T = gap (P0 + P1) / 2 */
    return self_var(gap, tau) - 2 * gap * tau * -expm1(-x) + gap * gap * (1 + exp(-x)) / 2;
}

double jm_shape_gap(const struct jm_shape *s, double gap)
{
    return total(s, gap_var, &gap);
}

#define RAMP_PIECES 20

double jm_shape_ramp(const struct jm_shape *s, double window)
{
    double t[RAMP_PIECES + 1], d[RAMP_PIECES];
    for (int i = 0; i <= RAMP_PIECES; i++)
        t[i] = window * ((double)i / RAMP_PIECES - 0.5);
    for (int i = 0; i < RAMP_PIECES; i++) {
        double mid = (t[i] + t[i + 1]) / 2;
        d[i] = (mid + window / 2) / window - (mid > 0 ? 1 : 0);
    }
    return jm_shape_var(s, t, d, RAMP_PIECES);
}

/* Weight of the whole record, in differences. A process whose variance itself varies (inverse gamma, nu
 * degrees of freedom) has differences with excess kurtosis 6 / (nu - 4); rare steps have far more, and then
 * only what is seen here counts. */
static double prior_weight(const struct jm_shape *s)
{
    double prior = s->excess > 0.05 ? 12 / s->excess : 240, pooled = s->n > 0 ? jm_shape_dof(s) : 0;
    return prior < pooled ? prior : pooled;
}

/* What a difference further out says about this place: nothing where events are rare. */
static double outer_weight(double prior)
{
    return prior / (prior + 6);
}

double jm_shape_local(const struct jm_shape *s, const struct jm_local *l, double *dof)
{
    double prior = prior_weight(s), outer = outer_weight(prior);
    double n = l->n_inner + outer * l->n_outer, sum = l->inner2 + outer * l->outer2;
    /* where the record is short, the differences here are most of it: count them once */
    double most = DIFF_DOF * s->n > n ? DIFF_DOF * s->n : n;
    *dof = prior + n < most ? prior + n : most;
    if (*dof < 1)
        *dof = 1;
    if (!(s->d2 > 0) || prior + n <= 0)
        return s->d2 > 0 ? 1 : 0;
    return (prior + sum / s->d2) / (prior + n);
}

double jm_shape_local_var(const struct jm_shape *s, const struct jm_local *l, const double *t,
                          const double *d, size_t k, double *dof)
{
    struct jm_shape fast = jm_shape_part(s, true), slow = jm_shape_part(s, false);
    /* A difference has two ends. Where bursts are rare, a difference that is there comes from one of them
     * alone, and when it is this one its share is twice the mean. */
    struct jm_local own = *l;
    own.inner2 *= 2 - outer_weight(prior_weight(s));
    double ignore;
    return jm_shape_local(s, &own, &ignore) * jm_shape_var(&fast, t, d, k) +
           jm_shape_local(s, l, dof) * jm_shape_var(&slow, t, d, k);
}
