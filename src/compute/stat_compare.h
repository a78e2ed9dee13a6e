/* SPDX-License-Identifier: Apache-2.0 */
/* Two configurations, measured in pairs: how much one takes of the other, whether they are the same, what
 * cannot be told, and what is left of the best of several. Pure.
 *
 * Everything is of d_i = ln(b_i / a_i), one value a pair: a ratio of 0.95 and one of 1/0.95 are equally far
 * from 1, and a gain that both share cancels. exp(mean d) - 1 is the saving, negative is less energy.
 *
 * Sources: [Schuirmann] A comparison of the two one-sided tests procedure and the power approach, J
 * Pharmacokin Biopharm 15 (1987) 657. [Hahn] Hahn and Meeker, Statistical Intervals (1991) §4.7: prediction
 * interval of the mean of m future values. [AKM] Andrews, Kitagawa, McCloskey, Inference on winners,
 * Quarterly Journal of Economics 139 (2024) 305. [Sidak] JASA 62 (1967) 626. [Holm] Scandinavian Journal of
 * Statistics 6 (1979) 65. */
#ifndef JM_COMPUTE_STAT_COMPARE_H
#define JM_COMPUTE_STAT_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/stats.h"

/* d[i] = ln(b[i] / a[i]). JM_EINVAL: a value is not above 0 (an energy of 0 is a missing one). */
int jm_stat_log_ratios(const double *a, const double *b, size_t n, double *d, struct jm_err *err);
/* Quads A B B A: d of pair 1 is (A1, B1), of pair 2 (A2, B2); a linear drift raises one as much as it lowers
 * the other, so that their mean is free of it, and the quad, not the pair, is the unit. n pairs, even; in
 * place, n / 2 values come out. */
int jm_stat_quads(double *d, size_t n, struct jm_err *err);

/* Paired t test on log ratios: mean ± t(n - 1) s / √n. */
struct jm_paired {
    size_t n;
    double mean, sd, se, dof;    /* of d */
    double drift;                /* jm_stat_abba: what lies between two trials in a row, of ln; NAN */
    double ratio;                /* exp(mean): b / a */
    struct jm_interval interval; /* of the ratio */
    double t, p;                 /* of "no difference", two-sided; NAN when every d is the same */
    double p_less;               /* one-sided, for "b takes less" */
    bool identical;              /* every d is 0: the very same numbers, which no two measurements give */
};
/* JM_EAGAIN: fewer than 2 pairs. */
int jm_stat_paired(const double *d, size_t n, double level, struct jm_paired *out, struct jm_err *err);

/* The same of n pairs in quads A B B A or B A A B: turned[i]: B came first in pair i, which is so in half of
 * them. A linear drift of v a trial is in d as +v and -v, so that it is not in the mean, which is that of the
 * quads (jm_stat_quads); nor is it in the scatter when that is taken about the mean of each direction, with
 * n - 2 degrees of freedom: the least squares fit of d = mean ± drift. The quads' own scatter would leave n/2
 * - 1. A drift that bends is in the scatter, on the safe side. n = 4 or more. */
int jm_stat_abba(const double *d, const bool *turned, size_t n, double level, struct jm_paired *out,
                 struct jm_err *err);

/* Equivalence: two one-sided tests at alpha against ±ln(1 + margin) [Schuirmann]; the same as the interval of
 * level 1 - 2 alpha lying inside. */
struct jm_tost {
    double margin, alpha;
    double p;                    /* the larger of the two */
    struct jm_interval interval; /* of the ratio, level 1 - 2 alpha */
    bool equivalent;
};
int jm_stat_tost(const double *d, size_t n, double margin, double alpha, struct jm_tost *out,
                 struct jm_err *err);
/* The same of what jm_stat_paired or jm_stat_abba gave. */
int jm_stat_tost_of(const struct jm_paired *p, double margin, double alpha, struct jm_tost *out,
                    struct jm_err *err);

/* Pairs that a comparison takes so that, with a standard deviation sd of d, a true difference of `effect` in
 * d comes out with probability `power` at the two-sided level alpha (jm_stat_paired), or, where nothing
 * differs, equivalence within ±effect at alpha (jm_stat_tost). The power of n pairs is the mean over the
 * scatter that may be found, E[ Φ(e - t c) + Φ(-e - t c) ]   and   E[ max(0, 2 Φ(e - t c) - 1) ],   e =
 * effect √n / sd, c = √(V / (n - 1)), V chi-square of n - 1. 2 to 10,000; JM_ELIMIT: not even those. */
int jm_stat_pairs_for(double sd, double effect, bool equivalence, double alpha, double power, size_t *pairs,
                      struct jm_err *err);

/* Detection floor: what a comparison of m pairs shows though nothing was changed. From n pairs of A against
 * A: the end, farther from 0, of the prediction interval of the mean of m future ones [Hahn], floor = |mean|
 * + t(1 - (1 - level)/2; n - 1) s √(1/m + 1/n). A mean of A/A that differs from 0 (order, warm-up) stays in
 * it: it cannot be told from a saving. */
struct jm_floor {
    double log_floor; /* of |mean d| */
    double saving;    /* 1 - exp(-log_floor): the smallest saving that can be told */
    double rise;      /* exp(log_floor) - 1 */
    double mean, sd;  /* of the A/A pairs */
    size_t n, m;
    bool biased; /* their own interval excludes 0 */
};
/* JM_EAGAIN: fewer than 3 A/A pairs. */
int jm_stat_floor(const double *aa, size_t n, size_t m, double level, struct jm_floor *out,
                  struct jm_err *err);

/* The best of k: estimates x (larger is better, e.g. -d) with standard errors se. The largest is too large on
 * average, because it was chosen for being so. Its median-unbiased estimate and interval given the choice, by
 * the hybrid method of [AKM]: x_w ~ N(mu, se²) cut to the values at which w is still chosen, and to
 * |x_w - mu| <= c se with c of a simultaneous interval of level 1 - beta, beta = (1 - level)/10 [Sidak].
 * rho: correlation between any two estimates: 0 when each candidate has a baseline of its own, 1/2 when all
 * were compared with the same one and scatter alike. dof (INFINITY: known): for the interval, se of few runs
 * is stretched by t / z at the level, so that without a choice the t interval comes out (best of five with
 * six pairs each: it covers 93 %). Fresh runs of the winner are better than any correction. */
struct jm_winner {
    size_t index;
    double naive;                /* x of the winner */
    double value;                /* median-unbiased */
    struct jm_interval interval; /* of value, given the choice */
    size_t k;
};
int jm_stat_winner(const double *x, const double *se, size_t k, double rho, double dof, double level,
                   struct jm_winner *out, struct jm_err *err);

/* Adjusted p values of k tests [Holm]; reject those <= alpha and the chance of one wrong rejection is at most
 * alpha. In the order given. adjusted may not be p. JM_EINVAL: a p outside [0, 1]. */
int jm_stat_holm(const double *p, size_t k, double *adjusted, struct jm_err *err);

#endif
