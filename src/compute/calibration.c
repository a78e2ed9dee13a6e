/* SPDX-License-Identifier: Apache-2.0 */
/* The fit. Both variables err: each level weighs by 1 / (u² + k² u_gpu² + s²), its slope by the fit before
 * (effective variance), and s, the scatter beyond the stated uncertainties, is chosen so that the weighted
 * squares sum to the degrees of freedom (Paule and Mandel). So the curvature of supplies and fans, which a
 * line does not have, is in the interval and not hidden. */
#include "compute/calibration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "compute/compute.h"

#include "base/banned.h"

void jm_calibration_release(struct jm_calibration *c)
{
    free(c->machine.gpu);
    free(c->run);
    *c = (struct jm_calibration){0};
}

static int by_gpu(const void *a, const void *b)
{
    const struct jm_cal_point *x = a, *y = b;
    return (x->gpu_w > y->gpu_w) - (x->gpu_w < y->gpu_w);
}

/* Windows whose GPU power lies within 3 % of the whole span are one level: repeats do not add levels. */
static int levels(const struct jm_cal_point *p, size_t n, struct jm_cal_relation *r, struct jm_err *err)
{
    double span = n ? p[n - 1].gpu_w - p[0].gpu_w : 0;
    r->n_level = 0;
    for (size_t i = 0; i < n;) {
        double gpu = 0, w = 0, ug = 0, u = 0;
        size_t m = 0, from = i;
        bool idle = false;
        for (; i < n && p[i].gpu_w - p[from].gpu_w <= 0.03 * span; i++, m++) {
            gpu += p[i].gpu_w;
            w += p[i].w;
            ug += p[i].u_gpu * p[i].u_gpu;
            u += p[i].u * p[i].u;
            idle |= p[i].idle;
        }
        gpu /= (double)m;
        w /= (double)m;
        if (r->n_level == JM_CAL_LEVELS)
            return jm_err_set(err, JM_ELIMIT, "more than %d load levels; calibrate with fewer runs",
                              JM_CAL_LEVELS);
        r->level[r->n_level++] = (struct jm_cal_level){.gpu_w = gpu,
                                                       .u_gpu = sqrt(ug) / (double)m,
                                                       .w = w,
                                                       .u = sqrt(u) / (double)m,
                                                       .windows = (int)m,
                                                       .idle = idle,
                                                       .left_out = NAN,
                                                       .left_out_half = NAN};
    }
    return 0;
}

/* Inverse of a symmetric positive matrix of order p (2 or 3); false: singular. */
static bool invert(double a[3][3], int p, double out[3][3])
{
    double m[3][6] = {{0}};
    for (int i = 0; i < p; i++) {
        for (int j = 0; j < p; j++)
            m[i][j] = a[i][j];
        m[i][p + i] = 1;
    }
    for (int i = 0; i < p; i++) {
        int best = i;
        for (int k = i + 1; k < p; k++)
            if (fabs(m[k][i]) > fabs(m[best][i]))
                best = k;
        if (!(fabs(m[best][i]) > 0))
            return false;
        for (int j = 0; j < 2 * p; j++) {
            double t = m[i][j];
            m[i][j] = m[best][j];
            m[best][j] = t;
        }
        for (int k = 0; k < p; k++) {
            double f = k == i ? 0 : m[k][i] / m[i][i];
            for (int j = 0; j < 2 * p && k != i; j++)
                m[k][j] -= f * m[i][j];
        }
    }
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++)
            out[i][j] = m[i][p + j] / m[i][i];
    return true;
}

struct data {
    double x[JM_CAL_LEVELS], y[JM_CAL_LEVELS], ux[JM_CAL_LEVELS], uy[JM_CAL_LEVELS];
    size_t n;
};

struct fit {
    double beta[3], cov[3][3], scatter, knee;
    bool cube;
    int p;
};

static void basis(const struct fit *f, double x, double out[3])
{
    out[0] = 1;
    out[1] = x;
    out[2] = f->p < 3 ? 0 : f->cube ? x * x * x / (f->knee * f->knee) : x > f->knee ? x - f->knee : 0;
}

static double value(const struct fit *f, double x)
{
    double b[3];
    basis(f, x, b);
    return f->beta[0] + f->beta[1] * x + (f->p > 2 ? f->beta[2] * b[2] : 0);
}

static double slope(const struct fit *f, double x)
{
    double more = f->cube ? 3 * x * x / (f->knee * f->knee) : x > f->knee ? 1 : 0;
    return f->beta[1] + (f->p > 2 ? f->beta[2] * more : 0);
}

/* Weighted squares with scatter s; the fit and its covariance in f. NAN: singular. */
static double solve(const struct data *d, double s, struct fit *f)
{
    double chi = NAN;
    for (int turn = 0; turn < 6; turn++) {
        double a[3][3] = {{0}}, v[3] = {0};
        for (size_t i = 0; i < d->n; i++) {
            double b[3], k = turn ? slope(f, d->x[i]) : 1,
                         w = 1 / (d->uy[i] * d->uy[i] + k * k * d->ux[i] * d->ux[i] + s * s);
            basis(f, d->x[i], b);
            for (int j = 0; j < f->p; j++) {
                v[j] += w * b[j] * d->y[i];
                for (int l = 0; l < f->p; l++)
                    a[j][l] += w * b[j] * b[l];
            }
        }
        if (!invert(a, f->p, f->cov))
            return NAN;
        for (int j = 0; j < f->p; j++) {
            f->beta[j] = 0;
            for (int l = 0; l < f->p; l++)
                f->beta[j] += f->cov[j][l] * v[l];
        }
    }
    chi = 0;
    for (size_t i = 0; i < d->n; i++) {
        double k = slope(f, d->x[i]), e = d->y[i] - value(f, d->x[i]);
        chi += e * e / (d->uy[i] * d->uy[i] + k * k * d->ux[i] * d->ux[i] + s * s);
    }
    return chi;
}

/* False: the data do not carry it. */
static bool fit(const struct data *d, int p, double knee, bool cube, struct fit *f)
{
    double floor = 1e-9, hi = 1, dof = (double)d->n - p;
    *f = (struct fit){.p = p, .knee = knee, .cube = cube};
    if (dof < 1)
        return false;
    for (size_t i = 0; i < d->n; i++) {
        floor = fmax(floor, 1e-6 * fabs(d->y[i])); /* instruments are not better than a millionth */
        hi = fmax(hi, fabs(d->y[i]));
    }
    double lo = floor, chi = solve(d, lo, f);
    if (isnan(chi))
        return false;
    for (int i = 0; i < 60 && chi > dof; i++) {
        double mid = sqrt(lo * hi), c = solve(d, mid, f);
        if (!(c > dof))
            hi = mid;
        else
            lo = mid;
        if (hi / lo < 1.001)
            break;
    }
    f->scatter = chi > dof ? hi : floor;
    return !isnan(solve(d, f->scatter, f));
}

static double variance(const struct fit *f, double x, double u_x)
{
    double b[3], v = f->scatter * f->scatter, k = slope(f, x) * u_x;
    basis(f, x, b);
    for (int i = 0; i < f->p; i++)
        for (int j = 0; j < f->p; j++)
            v += b[i] * b[j] * f->cov[i][j];
    return v + k * k;
}

static void data_of(const struct jm_cal_relation *r, size_t without, struct data *d)
{
    d->n = 0;
    for (size_t i = 0; i < r->n_level; i++) {
        if (i == without)
            continue;
        d->x[d->n] = r->level[i].gpu_w;
        d->y[d->n] = r->level[i].w;
        d->ux[d->n] = r->level[i].u_gpu;
        d->uy[d->n++] = r->level[i].u;
    }
}

/* Root mean square of what the levels between the ends, left out one by one, lie off; NAN: cannot be. */
static double left_out_rms(const struct jm_cal_relation *r, int p, double knee, bool cube)
{
    double q = 0;
    for (size_t i = 1; i + 1 < r->n_level; i++) {
        struct data d;
        struct fit f;
        data_of(r, i, &d);
        if (!fit(&d, p, knee, cube, &f))
            return NAN;
        q += (value(&f, r->level[i].gpu_w) - r->level[i].w) * (value(&f, r->level[i].gpu_w) - r->level[i].w);
    }
    return sqrt(q / (double)(r->n_level - 2));
}

/* A third term is taken where left-out levels then lie off by less than 0.7 of what they do by the line: a
 * knee (fans that start) at one of the levels, with two levels on either side, or the cube of the load (fans
 * by their speed, supplies beyond their best). */
static void choose_term(struct jm_cal_relation *r)
{
    double best = 0.7 * left_out_rms(r, 2, NAN, false), top = r->level[r->n_level - 1].gpu_w;
    r->knee = NAN;
    r->cube = r->bend = false;
    if (r->n_level < JM_CAL_BEND)
        return;
    for (size_t i = 2; i + 2 < r->n_level; i++) {
        double rms = left_out_rms(r, 3, r->level[i].gpu_w, false);
        if (rms < best) {
            best = rms;
            r->knee = r->level[i].gpu_w;
        }
    }
    if (left_out_rms(r, 3, top, true) < best) {
        r->knee = top;
        r->cube = true;
    }
    r->bend = isfinite(r->knee);
}

static int refuse(const struct jm_cal_relation *r, struct jm_err *err)
{
    const struct jm_cal_level *l = r->level;
    size_t n = r->n_level;
    const char *b = jm_boundary_name((int)r->boundary);
    if (n < JM_CAL_LEAST)
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "%s: %zu load level%s, and a relation takes %d at least, the lowest of them idle; "
                          "record more levels (repeats of one level do not count)",
                          b, n, n == 1 ? "" : "s", JM_CAL_LEAST);
    if (!(l[n - 1].gpu_w >= 2 * l[0].gpu_w))
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "%s: GPU power goes from %.4g to %.4g W only; the highest level must be twice the "
                          "lowest at least, or slope and fixed part cannot be told apart: add idle and full "
                          "load",
                          b, l[0].gpu_w, l[n - 1].gpu_w);
    return 0;
}

/* What windows of one level differ by, beyond their own uncertainties, and the mean of the level hides: of a
 * variance q of single windows, the mean of m has q / m, which the scatter of the levels holds already. */
static double within_levels(const struct jm_cal_point *v, size_t n, const struct jm_cal_relation *r,
                            const struct fit *f)
{
    double q = 0, u2 = 0, hidden = 0;
    size_t dof = 0, at = 0;
    for (size_t i = 0; i < r->n_level; i++) {
        size_t m = (size_t)r->level[i].windows;
        double mean = 0;
        for (size_t k = 0; k < m && at + k < n; k++)
            mean += (v[at + k].w - value(f, v[at + k].gpu_w)) / (double)m;
        for (size_t k = 0; m > 1 && k < m && at + k < n; k++) {
            double off = v[at + k].w - value(f, v[at + k].gpu_w) - mean,
                   by_gpu_u = slope(f, v[at + k].gpu_w) * v[at + k].u_gpu;
            q += off * off;
            u2 += (v[at + k].u * v[at + k].u + by_gpu_u * by_gpu_u) * (double)(m - 1) / (double)m;
        }
        dof += m > 1 ? m - 1 : 0;
        hidden += (1 - 1 / (double)m) / (double)r->n_level;
        at += m;
    }
    return dof && q > u2 ? sqrt((q - u2) / (double)dof * hidden) : 0;
}

int jm_cal_fit(const struct jm_cal_point *p, size_t n, struct jm_cal_relation *r, struct jm_err *err)
{
    struct data d;
    struct fit f;
    struct jm_cal_point *v = malloc((n + 1) * sizeof *v);
    if (!v)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the calibration");
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(p[i].gpu_w) && isfinite(p[i].w) && p[i].u_gpu >= 0 && p[i].u >= 0 && p[i].gpu_w > 0)
            v[m++] = p[i];
    qsort(v, m, sizeof *v, by_gpu);
    int rc = levels(v, m, r, err);
    if (!rc)
        rc = refuse(r, err);
    if (rc) {
        free(v);
        return rc;
    }
    choose_term(r);
    data_of(r, SIZE_MAX, &d);
    bool made = fit(&d, r->bend ? 3 : 2, r->knee, r->cube, &f);
    double within = made ? within_levels(v, m, r, &f) : 0;
    free(v);
    if (!made)
        return jm_err_set(err, JM_EUNSUPPORTED, "%s: the levels do not determine a line",
                          jm_boundary_name((int)r->boundary));
    if (!(slope(&f, r->level[0].gpu_w) > 0) || !(slope(&f, r->level[r->n_level - 1].gpu_w) > 0))
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "%s: its power falls while that of the GPUs rises; the two are not of one machine, "
                          "or not of one time",
                          jm_boundary_name((int)r->boundary));
    double rise = (value(&f, r->level[r->n_level - 1].gpu_w) - value(&f, r->level[0].gpu_w)) /
                  (r->level[r->n_level - 1].gpu_w - r->level[0].gpu_w);
    for (size_t i = 0; i < r->n_level; i++)
        if (rise < JM_CAL_LEAST_SLOPE || r->level[i].w < JM_CAL_LEAST_SLOPE * r->level[i].gpu_w)
            return jm_err_set(err, JM_EUNSUPPORTED,
                              "%s: it rises by %.3g W for each W of the GPUs, and reads %.4g W where they "
                              "read %.4g W; what feeds them draws at least what they do. Likely one of "
                              "several supplies is not metered, or it is the meter of another machine",
                              jm_boundary_name((int)r->boundary), rise, r->level[i].w, r->level[i].gpu_w);
    memcpy(r->beta, f.beta, sizeof r->beta);
    memcpy(r->cov, f.cov, sizeof r->cov);
    r->scatter = hypot(f.scatter, within); /* of one window, not of a level's mean */
    /* where the knee is was chosen by the same levels */
    r->dof = fmax(1, (double)r->n_level - f.p - (r->bend && !r->cube));
    r->lo = r->level[0].gpu_w;
    r->hi = r->level[r->n_level - 1].gpu_w;
    r->widen = 1;
    for (size_t i = 0; i < r->n_level; i++) {
        struct jm_cal_level *l = &r->level[i];
        struct fit g;
        l->residual = value(&f, l->gpu_w) - l->w;
        data_of(r, i, &d);
        if (i == 0 || i + 1 == r->n_level || !fit(&d, f.p, r->knee, r->cube, &g))
            continue;
        l->left_out = value(&g, l->gpu_w);
        l->left_out_half = jm_stats_t_quantile(0.975, (double)d.n - f.p) *
                           sqrt(variance(&g, l->gpu_w, l->u_gpu) + l->u * l->u);
        r->widen = fmax(r->widen, fabs(l->left_out - l->w) / l->left_out_half);
    }
    return 0;
}

int jm_cal_predict(const struct jm_cal_relation *r, double gpu_w, double u_gpu, double level,
                   struct jm_cal_power *out, struct jm_err *err)
{
    struct fit f = {.p = r->bend ? 3 : 2, .knee = r->knee, .cube = r->cube, .scatter = r->scatter};
    double margin = JM_CAL_MARGIN * (r->hi - r->lo);
    memcpy(f.beta, r->beta, sizeof f.beta);
    memcpy(f.cov, r->cov, sizeof f.cov);
    if (!(gpu_w >= r->lo - margin && gpu_w <= r->hi + margin))
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "GPU power of %.4g W lies outside what was calibrated (%.4g to %.4g W)", gpu_w,
                          r->lo, r->hi);
    for (size_t i = 1; i < r->n_level; i++) {
        double from = r->level[i - 1].gpu_w, to = r->level[i].gpu_w;
        if (to - from > JM_CAL_HOLE * (r->hi - r->lo) && gpu_w > from + margin && gpu_w < to - margin)
            return jm_err_set(
                err, JM_EUNSUPPORTED,
                "GPU power of %.4g W lies in a hole of the calibration, which has no level between "
                "%.4g and %.4g W",
                gpu_w, from, to);
    }
    out->w = value(&f, gpu_w);
    out->u = r->widen * sqrt(variance(&f, gpu_w, u_gpu));
    out->dof = r->dof;
    out->gain = r->gain * out->w;
    struct jm_energy e = {
        .status = JM_S_OK, .joules = out->w, .u = out->u, .dof = out->dof, .gain_bound = out->gain};
    out->half = jm_energy_halfwidth(&e, level, isfinite(out->gain));
    return 0;
}
