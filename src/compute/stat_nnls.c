/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/stat_nnls.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/banned.h"

enum { W = JM_LSQ_MAX + 1 };

void jm_lsq_init(struct jm_lsq *l, size_t cols)
{
    memset(l, 0, sizeof *l);
    l->cols = cols < JM_LSQ_MAX ? cols : JM_LSQ_MAX;
}

/* One row of w numbers turned into a triangle. */
static void rotate(double (*r)[W], double *row, size_t w)
{
    for (size_t i = 0; i < w; i++) {
        if (row[i] == 0)
            continue;
        double h = hypot(r[i][i], row[i]), c = r[i][i] / h, s = row[i] / h;
        r[i][i] = h;
        for (size_t j = i + 1; j < w; j++) {
            double a = r[i][j], b = row[j];
            r[i][j] = c * a + s * b;
            row[j] = c * b - s * a;
        }
    }
}

int jm_lsq_row(struct jm_lsq *l, const double *a, double y, double weight, struct jm_err *err)
{
    double row[W], root = sqrt(weight);
    bool finite = isfinite(y) && isfinite(root);
    for (size_t j = 0; j < l->cols; j++)
        finite = finite && isfinite(a[j]);
    if (!finite)
        return jm_err_set(
            err, JM_EINVAL,
            "row %zu of the fit holds a number that is not finite, or a weight below 0: leave it out",
            l->rows + 1);
    l->rows++;
    if (!(weight > 0))
        return 0;
    for (size_t j = 0; j < l->cols; j++) {
        row[j] = root * a[j];
        double d = a[j] - l->mean[j];
        l->n[j] += weight;
        l->mean[j] += d * weight / l->n[j];
        l->m2[j] += weight * d * (a[j] - l->mean[j]);
    }
    row[l->cols] = root * y;
    l->y_sum += weight * y;
    l->w_sum += weight;
    rotate(l->r, row, l->cols + 1);
    return 0;
}

void jm_lsq_add(struct jm_lsq *l, const struct jm_lsq *o)
{
    size_t w = l->cols + 1;
    for (size_t i = 0; i < w; i++) {
        double row[W];
        for (size_t j = 0; j < w; j++)
            row[j] = j < i ? 0 : o->r[i][j];
        rotate(l->r, row, w);
    }
    for (size_t j = 0; j < l->cols; j++) {
        double n = l->n[j] + o->n[j], d = o->mean[j] - l->mean[j];
        if (n > 0) {
            l->m2[j] += o->m2[j] + d * d * l->n[j] * o->n[j] / n;
            l->mean[j] += d * o->n[j] / n;
            l->n[j] = n;
        }
    }
    l->rows += o->rows;
    l->y_sum += o->y_sum;
    l->w_sum += o->w_sum;
}

/* The columns to fit, scaled, with what is left of y: rows 0 .. cols of R. */
struct problem {
    size_t p, rows;        /* columns, rows */
    size_t at[JM_LSQ_MAX]; /* which column of R */
    double scale[JM_LSQ_MAX];
    double a[W][JM_LSQ_MAX], y[W];
};

static void pose(const struct jm_lsq *l, const double *pin, struct problem *q)
{
    memset(q, 0, sizeof *q);
    q->rows = l->cols + 1;
    for (size_t i = 0; i < q->rows; i++)
        q->y[i] = l->r[i][l->cols];
    for (size_t j = 0; j < l->cols; j++) {
        double ss = 0;
        if (pin && !isnan(pin[j])) {
            for (size_t i = 0; i <= j; i++)
                q->y[i] -= l->r[i][j] * pin[j];
            continue;
        }
        for (size_t i = 0; i <= j; i++)
            ss = hypot(ss, l->r[i][j]);
        q->at[q->p] = j;
        q->scale[q->p] = ss;
        for (size_t i = 0; i <= j && ss > 0; i++)
            q->a[i][q->p] = l->r[i][j] / ss;
        q->p++;
    }
}

/* Least squares of the columns in `in`: rotated into a triangle, solved from the bottom; a column that adds
 * nothing to those before it gets 0. */
static void solve(const struct problem *q, const bool *in, double *z)
{
    double r[W][W] = {{0}};
    size_t list[JM_LSQ_MAX], k = 0;
    for (size_t j = 0; j < q->p; j++) {
        z[j] = 0;
        if (in[j])
            list[k++] = j;
    }
    for (size_t i = 0; i < q->rows; i++) {
        double row[W];
        for (size_t j = 0; j < k; j++)
            row[j] = q->a[i][list[j]];
        row[k] = q->y[i];
        rotate(r, row, k + 1);
    }
    for (size_t i = k; i-- > 0;) {
        double v = r[i][k];
        for (size_t j = i + 1; j < k; j++)
            v -= r[i][j] * z[list[j]];
        z[list[i]] = fabs(r[i][i]) > 1e-13 ? v / r[i][i] : 0;
    }
}

static double residual(const struct problem *q, const double *x, double *r)
{
    double ss = 0;
    for (size_t i = 0; i < q->rows; i++) {
        r[i] = q->y[i];
        for (size_t j = 0; j < q->p; j++)
            r[i] -= q->a[i][j] * x[j];
        ss += r[i] * r[i];
    }
    return ss;
}

/* Column, not yet in, whose coefficient wants to grow the most; p when none does. */
static size_t grows(const struct problem *q, const bool *in, const bool *barred, const double *r)
{
    double most = 0, norm = 0;
    size_t best = q->p;
    for (size_t i = 0; i < q->rows; i++)
        norm = hypot(norm, q->y[i]);
    for (size_t j = 0; j < q->p; j++) {
        double g = 0;
        for (size_t i = 0; i < q->rows; i++)
            g += q->a[i][j] * r[i];
        if (!in[j] && !barred[j] && g > most && g > 1e-14 * norm) {
            most = g;
            best = j;
        }
    }
    return best;
}

/* Back from z, where some are negative, to the nearest x on the way that is not; those at 0 go out. */
static bool step_back(const struct problem *q, bool *in, double *x, const double *z)
{
    double part = 2;
    size_t at = q->p;
    for (size_t j = 0; j < q->p; j++)
        if (in[j] && z[j] <= 0) {
            double a = x[j] > z[j] ? x[j] / (x[j] - z[j]) : 0;
            if (a < part) {
                part = a;
                at = j;
            }
        }
    if (at == q->p)
        return false;
    for (size_t j = 0; j < q->p; j++)
        if (in[j])
            x[j] += part * (z[j] - x[j]);
    for (size_t j = 0; j < q->p; j++)
        if (in[j] && (j == at || x[j] <= 0)) {
            in[j] = false;
            x[j] = 0;
        }
    return true;
}

int jm_lsq_nnls(const struct jm_lsq *l, const double *pin, struct jm_nnls *out, struct jm_err *err)
{
    struct problem q;
    bool in[JM_LSQ_MAX] = {false}, barred[JM_LSQ_MAX] = {false};
    double x[JM_LSQ_MAX] = {0}, z[JM_LSQ_MAX], r[W];
    pose(l, pin, &q);
    if (l->rows < q.p || !l->rows)
        return jm_err_set(err, JM_EAGAIN, "%zu windows are too few to fit %zu coefficients: measure longer",
                          l->rows, q.p);
    residual(&q, x, r);
    for (size_t turn = 0; turn < 8 * JM_LSQ_MAX; turn++) {
        size_t j = grows(&q, in, barred, r);
        if (j == q.p)
            break;
        in[j] = true;
        solve(&q, in, z);
        if (z[j] <= 0) { /* rounding only: it would go out again at once, for ever */
            in[j] = false;
            barred[j] = true;
            continue;
        }
        memset(barred, 0, sizeof barred);
        while (step_back(&q, in, x, z))
            solve(&q, in, z);
        for (size_t k = 0; k < q.p; k++)
            x[k] = in[k] ? z[k] : 0;
        residual(&q, x, r);
    }
    *out = (struct jm_nnls){.rss = residual(&q, x, r)};
    out->rmse = l->w_sum > 0 ? sqrt(out->rss / l->w_sum) : NAN;
    out->relative = l->y_sum != 0 ? out->rmse / fabs(l->y_sum / l->w_sum) : NAN;
    for (size_t j = 0; j < l->cols; j++)
        if (pin && !isnan(pin[j]))
            out->x[j] = pin[j];
    for (size_t j = 0; j < q.p; j++) {
        out->x[q.at[j]] = q.scale[j] > 0 ? x[j] / q.scale[j] : 0;
        out->at_zero[q.at[j]] = !in[j];
        out->free += in[j];
    }
    return 0;
}

/* Singular values of a by one-sided Jacobi rotations of its columns (Hestenes, J SIAM 6 (1958) 51); v takes
 * the same rotations. */
static void jacobi(struct problem *q, double (*v)[JM_LSQ_MAX])
{
    for (int sweep = 0; sweep < 60; sweep++) {
        bool turned = false;
        for (size_t i = 0; i + 1 < q->p; i++)
            for (size_t j = i + 1; j < q->p; j++) {
                double aa = 0, bb = 0, ab = 0;
                for (size_t k = 0; k < q->rows; k++) {
                    aa += q->a[k][i] * q->a[k][i];
                    bb += q->a[k][j] * q->a[k][j];
                    ab += q->a[k][i] * q->a[k][j];
                }
                if (fabs(ab) <= DBL_EPSILON * sqrt(aa) * sqrt(bb) || ab == 0)
                    continue;
                double tau = (bb - aa) / (2 * ab), t = (tau >= 0 ? 1 : -1) / (fabs(tau) + hypot(1, tau));
                double c = 1 / hypot(1, t), s = c * t;
                turned = true;
                for (size_t k = 0; k < q->rows; k++) {
                    double a = q->a[k][i], b = q->a[k][j];
                    q->a[k][i] = c * a - s * b;
                    q->a[k][j] = s * a + c * b;
                }
                for (size_t k = 0; k < q->p; k++) {
                    double a = v[k][i], b = v[k][j];
                    v[k][i] = c * a - s * b;
                    v[k][j] = s * a + c * b;
                }
            }
        if (!turned)
            break;
    }
}

void jm_lsq_identify(const struct jm_lsq *l, const double *pin, const bool *vary, struct jm_identify *out)
{
    struct problem q;
    double v[JM_LSQ_MAX][JM_LSQ_MAX] = {{0}}, big = 0, small = INFINITY, most = 0;
    size_t last = 0;
    *out = (struct jm_identify){.condition = 1, .weakest = -1, .reason = ""};
    for (size_t j = 0; j < l->cols; j++) {
        double var = l->n[j] > 0 && l->m2[j] > 0 ? l->m2[j] / l->n[j] : 0;
        out->cv[j] = l->mean[j] != 0 ? sqrt(var) / fabs(l->mean[j]) : NAN;
    }
    pose(l, pin, &q);
    for (size_t j = 0; j < q.p; j++)
        v[j][j] = 1;
    jacobi(&q, v);
    for (size_t j = 0; j < q.p; j++) {
        double s = 0;
        for (size_t i = 0; i < q.rows; i++)
            s = hypot(s, q.a[i][j]);
        big = fmax(big, s);
        if (s < small) {
            small = s;
            last = j;
        }
    }
    if (q.p)
        out->condition = small > 1e-15 * big && big > 0 ? big / small : INFINITY;
    for (size_t j = 0; j < q.p; j++) {
        out->direction[q.at[j]] = v[j][last];
        if (fabs(v[j][last]) > most) {
            most = fabs(v[j][last]);
            out->weakest = (int)q.at[j];
        }
    }
    out->ok = out->condition <= JM_LSQ_COND;
    if (!out->ok)
        out->reason = "condition";
    for (size_t k = 0; out->ok && k < q.p; k++) {
        size_t j = q.at[k];
        if ((!vary || vary[j]) && !(out->cv[j] >= JM_LSQ_CV)) {
            out->ok = false;
            out->reason = "variation";
            out->weakest = (int)j;
        }
    }
}
