/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals inside one run, whose samples are not independent of each other. Pure: the same values, options
 * and seed give the same digits.
 *
 * The unit of replication for a claim is the run (jm_stats_t_interval over trials). What is here says how
 * sure a mean, a ratio or a fitted coefficient is within the run it was taken in; samples taken as
 * independent would make intervals far too narrow.
 *
 * Sources: [Schmeiser] Batch size effects in the analysis of simulation output, Operations Research 30 (1982)
 * 556: 10 to 30 batches. [Sokal] Monte Carlo methods in statistical mechanics, in Functional Integration
 * (1997) §3.3: automatic windowing. [Cochran] Sampling Techniques, 3rd ed. (1977) §6.3: variance of a ratio.
 * [Politis] Politis and Romano, A circular block-resampling procedure, in Exploring the Limits of Bootstrap
 * (1992). [Hesterberg] What teachers should know about the bootstrap, The American Statistician 69 (2015)
 * 371, §4.4: expanded percentile interval. [White] An effective truncation heuristic, Simulation 69 (1997)
 * 323: MSER-5. */
#ifndef JM_COMPUTE_STAT_H
#define JM_COMPUTE_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/stats.h"

/* Integrated autocorrelation time in samples, tau = 1 + 2 sum r(k), k = 1 .. M with the smallest M >= 5
 * tau(M) [Sokal]; at least 1. NAN when n < 8 or every value is the same. Independent samples: 1. AR(1) with
 * coefficient a: (1 + a)/(1 - a). */
double jm_stat_autocorr_time(const double *x, size_t n);

/* Batch means: the run is cut into b batches of m samples, m as large as 10 autocorrelation times and
 * min_seconds ask for, 10 <= b <= 30 [Schmeiser]; what does not fill a batch is dropped at the beginning.
 * Mean of the batch means ± t(b - 1) s / √b. */
struct jm_batch_opts {
    double level;       /* 0: 0.95 */
    double dt;          /* seconds between samples; 0: not known, min_seconds is not looked at */
    double min_seconds; /* of a batch; 0: 5 */
};
struct jm_batch_means {
    double mean; /* of what the batches hold */
    struct jm_interval interval;
    size_t batches, length, dropped;
    double tau;     /* autocorrelation time, samples */
    double lag1;    /* correlation of neighbouring batches: near 0, else the batches are too short */
    double needs_n; /* samples that would do, where there are too few; NAN */
};
/* JM_EAGAIN: too short for 10 batches (needs_n says how long it would have to be); JM_EINVAL: a value is no
 * finite number. */
int jm_stat_batch_means(const double *x, size_t n, const struct jm_batch_opts *o, struct jm_batch_means *out,
                        struct jm_err *err);
/* The same of the ratio R = sum of y / sum of x (joules / tokens): by batches, s² of y_k - R x_k over the
 * mean of x_k [Cochran]. */
int jm_stat_batch_ratio(const double *y, const double *x, size_t n, const struct jm_batch_opts *o,
                        struct jm_batch_means *out, struct jm_err *err);

/* Circular block bootstrap [Politis]: blocks of `block` samples drawn with replacement from the series closed
 * to a ring, laid end to end to n samples; `statistic` is computed of each of `reps` of them and of the
 * series itself. The interval is the expanded percentile one [Hesterberg]: with b = n / block blocks it takes
 * the quantiles a' = Φ(-√(b/(b - 1)) t(1 - a/2; b - 1)) and 1 - a', which makes up for the narrowness of
 * plain percentiles (which with 20 blocks would cover 93 %). At least 20 blocks. */
typedef double (*jm_statistic)(const size_t *index, size_t n,
                               void *arg); /* NAN: it has none of this sample */
struct jm_bootstrap_opts {
    size_t block;  /* samples a block; as long as 10 s and several autocorrelation times */
    size_t reps;   /* 0: 1,999 */
    uint64_t seed; /* kept with the run */
    double level;  /* 0: 0.95 */
};
struct jm_bootstrap {
    double value;
    struct jm_interval interval; /* dof: blocks - 1 */
    double sd;                   /* of the replicates */
    size_t blocks, reps,
        failed; /* failed: replicates without a statistic; more than one in twenty is JM_EAGAIN */
};
#define JM_BOOTSTRAP_BLOCKS 20 /* fewest */
int jm_stat_bootstrap(size_t n, jm_statistic statistic, void *arg, const struct jm_bootstrap_opts *o,
                      struct jm_bootstrap *out, struct jm_err *err);
/* Several values of the same resamples, such as the coefficients of a fit and a share: statistics fills k
 * values, out has k. The first error is returned; every value that could be had has its interval all the
 * same. */
typedef void (*jm_statistics)(const size_t *index, size_t n, double *value, void *arg);
int jm_stat_bootstrap_many(size_t n, size_t k, jm_statistics statistics, void *arg,
                           const struct jm_bootstrap_opts *o, struct jm_bootstrap *out, struct jm_err *err);
/* Statistics to hand to it. */
double jm_stat_mean_of(const size_t *index, size_t n, void *values); /* const double * */
struct jm_ratio_of {
    const double *y, *x;
};
double jm_stat_ratio_of(const size_t *index, size_t n, void *ratio); /* struct jm_ratio_of * */

/* Warm-up by MSER-5 [White]: over means of five samples, the number d of them to leave out that minimises
 * s²(d .. m) / (m - d). In samples. JM_EAGAIN: fewer than 50 samples, or the minimum lies in the second half
 * (the series never settles, or is too short). */
int jm_stat_warmup(const double *x, size_t n, size_t *samples, struct jm_err *err);

/* Drift of a series: slope by least squares over the means of batches, cut as jm_stat_batch_means does but by
 * the autocorrelation beside the slope, so that wandering does not pass for drift; with its t test. */
struct jm_drift {
    double per_second;           /* slope */
    double relative;             /* change over the whole series / mean */
    double p;                    /* two-sided, of no drift */
    struct jm_interval interval; /* of relative */
};
int jm_stat_drift(const double *x, size_t n, const struct jm_batch_opts *o, struct jm_drift *out,
                  struct jm_err *err);

#endif
