/* SPDX-License-Identifier: Apache-2.0 */
/* How rough is the power between two looks at it? A second-order model, fitted to a channel's own readings:
 * covariance sum_j a_j c_j(h), where c_j is exp(-|h| / tau_j) (steps and noise) or, smooth, the mean of
 * (1 + |h| / tau) exp(-|h| / tau) over a range of tau (ramps), on a fixed grid. Every error made by a reading
 * that is too coarse (an edge inside a refresh interval, the unseen 75 of 100 ms, a trailing mean) is a
 * linear functional of the power whose kernel integrates to 0, so its variance is a sum over j of closed
 * forms. Derivations: docs/uncertainty.md. Times are seconds, power is W. */
#ifndef JM_COMPUTE_SHAPE_H
#define JM_COMPUTE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#define JM_SHAPE_TERMS 8
#define JM_SHAPE_LAGS  10

/* Empirical variogram of equally spaced values, fed one by one; constant memory. */
struct jm_variogram {
    double sum[JM_SHAPE_LAGS]; /* of squared differences at lag i + 1 */
    double n[JM_SHAPE_LAGS];
    double sum4;   /* of fourth powers at lag 1 */
    double noise2; /* sum over lag 1 of the variance that the timing of the looks alone adds */
    double last[JM_SHAPE_LAGS];
    size_t have;
};
void jm_variogram_add(struct jm_variogram *v, double y, double noise_var);
void jm_variogram_break(struct jm_variogram *v); /* the next value does not follow the one before */

struct jm_shape {
    double spacing, window; /* of the values it was fitted to */
    double a[JM_SHAPE_TERMS];
    double d2;     /* mean squared difference at lag 1, noise taken off */
    double n;      /* differences it rests on */
    double excess; /* excess kurtosis of the differences: 0 for a Gaussian process, large for rare steps */
};
/* Fits to values that are means over `window` (0: instantaneous), `spacing` apart. With fewer than 4
 * differences the model is a slow one (steps are rare) of the amplitude that was seen; n says so. */
void jm_shape_fit(const struct jm_variogram *v, double spacing, double window, struct jm_shape *out);

/* Degrees of freedom of the pooled amplitude: a mean of n squares whose kurtosis was seen. */
double jm_shape_dof(const struct jm_shape *s);
/* Only what is faster, or slower, than the spacing. */
struct jm_shape jm_shape_part(const struct jm_shape *s, bool fast);
/* Variance of the integral of d(t) P(t), d = d[i] on [t[i], t[i + 1]], i < k; d must integrate to 0. */
double jm_shape_var(const struct jm_shape *s, const double *t, const double *d, size_t k);
/* Variance, for each of many cells of length `spacing`, of spacing x (mean over `window`) minus the integral
 * over the cell (long-run value: neighbouring cells included). 0 when window == spacing. */
double jm_shape_cell(const struct jm_shape *s, double spacing, double window);
/* Variance of the trapezoid between two instantaneous values `gap` apart minus the integral between them. */
double jm_shape_gap(const struct jm_shape *s, double gap);
/* Variance of the edge error of a trailing mean shifted by half its window. */
double jm_shape_ramp(const struct jm_shape *s, double window);

/* Squared differences near one place: those that touch it, and those a little further out. */
struct jm_local {
    double inner2, n_inner;
    double outer2, n_outer;
};
/* How much of the pooled amplitude (variance) holds here: the local mean squared difference, shrunk towards
 * the pooled one by as much as the differences are Gaussian. *dof gets the degrees of freedom. */
double jm_shape_local(const struct jm_shape *s, const struct jm_local *l, double *dof);
/* jm_shape_var() at this place. */
double jm_shape_local_var(const struct jm_shape *s, const struct jm_local *l, const double *t,
                          const double *d, size_t k, double *dof);

#endif
