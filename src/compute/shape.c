/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/shape.h"

#include <math.h>
#include <string.h>

#include "base/banned.h"

/* tau in units of the spacing. Below a quarter of it nothing can be told apart from white noise. */
static const double tau_grid[JM_SHAPE_TERMS] = {0.25, 0.6, 1.5, 4, 12, 40, 200};

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
static double semi(double h, double w, double tau)
{
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

/* Non-negative least squares by coordinate descent: few unknowns, well scaled, a fixed number of sweeps. */
static void nnls(const double *m, const double *y, const double *w, size_t rows, double *a)
{
    for (int sweep = 0; sweep < 400; sweep++) {
        double moved = 0;
        for (size_t j = 0; j < JM_SHAPE_TERMS; j++) {
            double num = 0, den = 0;
            for (size_t i = 0; i < rows; i++) {
                double r = y[i];
                for (size_t k = 0; k < JM_SHAPE_TERMS; k++)
                    if (k != j)
                        r -= a[k] * m[i * JM_SHAPE_TERMS + k];
                num += w[i] * m[i * JM_SHAPE_TERMS + j] * r;
                den += w[i] * m[i * JM_SHAPE_TERMS + j] * m[i * JM_SHAPE_TERMS + j];
            }
            double next = den > 0 && num > 0 ? num / den : 0;
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
    for (size_t j = 0; j < JM_SHAPE_TERMS; j++)
        out->tau[j] = tau_grid[j] * spacing;
    if (!(spacing > 0) || v->n[0] < 1)
        return;
    double noise = v->noise2 / v->n[0];
    double d2 = v->sum[0] / v->n[0] - noise;
    out->n = v->n[0];
    out->d2 = d2 > 0 ? d2 : 0;
    if (v->n[0] < 4) {
        out->a[5] = out->d2 / 2 / semi(spacing, window, out->tau[5]);
        out->excess = 30;
        return;
    }
    double m2 = v->sum[0] / v->n[0], m4 = v->sum4 / v->n[0];
    out->excess = m2 > 0 ? m4 / (m2 * m2) - 3 : 0;
    if (out->excess < 0)
        out->excess = 0;
    double m[JM_SHAPE_LAGS * JM_SHAPE_TERMS], y[JM_SHAPE_LAGS], w[JM_SHAPE_LAGS];
    size_t rows = 0;
    for (size_t i = 0; i < JM_SHAPE_LAGS && v->n[i] >= 3; i++) {
        double g = (v->sum[i] / v->n[i] - noise) / 2;
        y[rows] = g > 0 ? g : 0;
        double scale = y[rows] + 0.05 * m2 + 1e-12;
        w[rows] = v->n[i] / (scale * scale) / (double)(i + 1);
        for (size_t j = 0; j < JM_SHAPE_TERMS; j++)
            m[rows * JM_SHAPE_TERMS + j] = semi((double)(i + 1) * spacing, window, out->tau[j]);
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

double jm_shape_var(const struct jm_shape *s, const double *t, const double *d, size_t k)
{
    double total = 0;
    for (size_t j = 0; j < JM_SHAPE_TERMS; j++) {
        if (!(s->a[j] > 0))
            continue;
        double tau = s->tau[j], v = 0;
        for (size_t i = 0; i < k; i++) {
            double len = t[i + 1] - t[i];
            v += d[i] * d[i] * self_var(len, tau);
            double fade = -expm1(-len / tau);
            for (size_t q = i + 1; q < k; q++)
                v += 2 * d[i] * d[q] * tau * tau * fade * -expm1(-(t[q + 1] - t[q]) / tau) *
                     exp(-(t[q] - t[i + 1]) / tau);
        }
        if (v > 0)
            total += s->a[j] * v;
    }
    return total;
}

double jm_shape_cell(const struct jm_shape *s, double spacing, double window)
{
    double total = 0;
    for (size_t j = 0; j < JM_SHAPE_TERMS; j++) {
        if (!(s->a[j] > 0))
            continue;
        double tau = s->tau[j], z = exp(-spacing / tau), seen;
        if (window <= 0) {
            seen = spacing * spacing * (1 + z) / -expm1(-spacing / tau);
        } else {
            double t2 = tau * tau / (window * window);
            double w = window < spacing ? window : spacing;
            double cross = exp((w - spacing) / tau) + exp(-(spacing + w) / tau) - 2 * z;
            seen = spacing * spacing * t2 * (2 * bow(w / tau) + 2 * cross / -expm1(-spacing / tau));
        }
        double v = seen - 2 * tau * spacing;
        if (v > 0)
            total += s->a[j] * v;
    }
    return total;
}

double jm_shape_gap(const struct jm_shape *s, double gap)
{
    double total = 0;
    for (size_t j = 0; j < JM_SHAPE_TERMS; j++) {
        if (!(s->a[j] > 0))
            continue;
        double tau = s->tau[j], x = gap / tau;
        /* Var(I) - 2 Cov(I, T) + Var(T), T = gap (P0 + P1) / 2 */
        double vi = self_var(gap, tau), c = gap * tau * -expm1(-x), vt = gap * gap * (1 + exp(-x)) / 2;
        double v = x < 0.02 ? gap * gap * x / 6 : vi - 2 * c + vt;
        if (v > 0)
            total += s->a[j] * v;
    }
    return total;
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

double jm_shape_local(const struct jm_shape *s, double local_d2, double n_local, double *dof)
{
    /* A process whose variance itself varies (inverse gamma, nu degrees of freedom) has differences with
     * excess kurtosis 6 / (nu - 4); rare steps have far more, and then only what is seen here counts. */
    double prior = s->excess > 0.05 ? 12 / s->excess : 240;
    if (prior > s->n)
        prior = s->n;
    if (!(s->d2 > 0) || prior + n_local <= 0) {
        *dof = n_local > 1 ? n_local : 1;
        return s->d2 > 0 ? 1 : 0;
    }
    *dof = prior + n_local;
    if (*dof < 1)
        *dof = 1;
    return (prior + n_local * local_d2 / s->d2) / (prior + n_local);
}
