/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics. Sources: t quantile by the regularised incomplete beta function (Lentz continued fraction;
 * DLMF 8.17.22) and safeguarded Newton; quantiles of samples by linear interpolation between order statistics
 * (Hyndman and Fan type 7). */
#ifndef JM_BASE_STATS_H
#define JM_BASE_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

double jm_stats_norm_quantile(double p); /* p in (0,1) */
double jm_stats_t_quantile(double p,
                           double nu); /* nu > 0, non-integer allowed; nu = INFINITY is the normal */
double jm_stats_chi2_quantile(double p, double nu);
double jm_stats_beta_inc(double a, double b, double x);      /* regularised I_x(a, b) */
double jm_stats_beta_quantile(double p, double a, double b); /* x with I_x(a, b) = p */
double jm_stats_norm_cdf(double z);
double jm_stats_t_tail(double t, double nu); /* P(T > t); nu = INFINITY is the normal */

double jm_stats_mean(const double *x, size_t n); /* compensated; NAN when n == 0 */
double jm_stats_sd(const double *x, size_t n);   /* sample standard deviation (n - 1); NAN when n < 2 */
double jm_stats_sum(const double *x, size_t n);  /* Neumaier compensated */
/* Sorts x. */
void jm_stats_sort(double *x, size_t n);
/* Quantile q in [0,1] of sorted x (type 7); NAN when n == 0. */
double jm_stats_quantile_sorted(const double *x, size_t n, double q);

struct jm_interval {
    double lo, hi;
    double level; /* 0.95 */
    double dof;   /* degrees of freedom, INFINITY where a normal was used, NAN where it does not apply */
};
/* Mean ± t(level, n-1) · sd/√n. n >= 2, else JM_EINVAL. */
int jm_stats_t_interval(const double *x, size_t n, double level, double *mean, struct jm_interval *out);
/* Order-statistic (binomial, distribution-free) interval of a quantile of sorted x. JM_EAGAIN when n is too
 * small for it. */
int jm_stats_quantile_interval(const double *sorted, size_t n, double q, double level,
                               struct jm_interval *out);

/* Clopper and Pearson's interval of a proportion k of n (Biometrika 26, 1934, 404): lo is the a/2 quantile of
 * Beta(k, n - k + 1), hi the 1 - a/2 quantile of Beta(k + 1, n - k), a = 1 - level; 0 and 1 at the ends. It
 * covers at least `level` whatever the truth. NAN unless k <= n, n >= 1. A one-sided bound of confidence c is
 * an end of the interval of level 2c - 1 (c > 1/2). */
void jm_stats_clopper_pearson(uint64_t k, uint64_t n, double level, struct jm_interval *out);

/* Wilson score interval of a proportion k of n (n >= 1). */
void jm_stats_wilson(uint64_t k, uint64_t n, double level, struct jm_interval *out);

/* Straight line y = a + b x by (weighted, w may be NULL) least squares with standard errors. n >= 3. */
struct jm_fit {
    double a, b, se_a, se_b, r2, resid_sd;
    double dof;
};
int jm_stats_line(const double *x, const double *y, const double *w, size_t n, struct jm_fit *out,
                  struct jm_err *err);

/* Theil-Sen slope (median of pairwise slopes; n <= 2000, larger inputs are thinned evenly). NAN when n < 2.
 */
double jm_stats_theil_sen(const double *x, const double *y, size_t n);

/* Effective degrees of freedom of a sum of variances (Welch-Satterthwaite; GUM G.4.1). u[i] standard
 * uncertainties, nu[i] their degrees of freedom (INFINITY allowed). */
double jm_stats_welch_dof(const double *u, const double *nu, size_t n);

#endif
