/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "compute/stat.h"
#include "compute/stat_compare.h"
#include "compute/stat_nnls.h"
#include "compute/stat_stop.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void near(double got, double want, double tol)
{
    if (!(fabs(got - want) <= tol))
        fail_msg("got %.17g, want %.17g", got, want);
}

/* NIST/SEMATECH e-Handbook 7.2.4: 4 of 20, 90 %: 0.071354 to 0.401029. By hand: none of n, the upper end is
 * 1 - (a/2)^(1/n). */
static void clopper_pearson(void **state)
{
    struct jm_interval in;
    (void)state;
    jm_stats_clopper_pearson(4, 20, 0.90, &in);
    near(in.lo, 0.071354, 5e-7);
    near(in.hi, 0.401029, 1e-6); /* a spreadsheet's goal seek found theirs */
    jm_stats_clopper_pearson(0, 10, 0.95, &in);
    near(in.hi, 1 - pow(0.025, 0.1), 1e-13);
    assert_true(in.lo == 0);
    jm_stats_clopper_pearson(10, 10, 0.95, &in);
    near(in.lo, pow(0.025, 0.1), 1e-13);
    assert_true(in.hi == 1);
    jm_stats_clopper_pearson(11, 10, 0.95, &in);
    assert_true(isnan(in.lo) && isnan(in.hi));
    jm_stats_clopper_pearson(0, 0, 0.95, &in);
    assert_true(isnan(in.lo) && isnan(in.hi));
    /* Beta(1, b) has the distribution 1 - (1 - x)^b, Beta(a, 1) has x^a */
    near(jm_stats_beta_quantile(1e-9, 1, 4), -expm1(log1p(-1e-9) / 4), 1e-24);
    near(jm_stats_beta_quantile(0.3, 7, 1), pow(0.3, 1.0 / 7), 1e-14);
    assert_true(isnan(jm_stats_beta_quantile(0.5, 0, 1)) && isnan(jm_stats_beta_quantile(NAN, 1, 1)));
    assert_true(jm_stats_beta_quantile(0, 2, 3) == 0 && jm_stats_beta_quantile(1, 2, 3) == 1);
}

/* Hours of additional sleep, Student 1908 (Biometrika 6, 20): difference of two drugs in ten patients.
 * Printed in R's help of t.test: t = 4.0621, df = 9, p = 0.002833, 0.7001142 to 2.4598858, mean 1.58. */
static void students_sleep(void **state)
{
    static const double d[] = {1.2, 2.4, 1.3, 1.3, 0, 1.0, 1.8, 0.8, 4.6, 1.4};
    struct jm_paired p;
    struct jm_tost e;
    (void)state;
    assert_int_equal(jm_stat_paired(d, COUNT(d), 0.95, &p, NULL), 0);
    near(p.mean, 1.58, 1e-14);
    near(p.t, 4.0621, 5e-5);
    near(p.p, 0.002833, 5e-7);
    near(p.p_less, 1 - 0.002833 / 2, 5e-7);
    near(log(p.interval.lo), 0.7001142, 5e-8);
    near(log(p.interval.hi), 2.4598858, 5e-8);
    assert_false(p.identical);
    /* se = 1.58 / 4.0621 = 0.38896; the 90 % interval is 1.58 ± 1.8331 × 0.38896 = 0.8670 to 2.2930, so that
     * a margin of exp(2.3) is kept and one of exp(2.28) is not */
    assert_int_equal(jm_stat_tost(d, COUNT(d), expm1(2.3), 0.05, &e, NULL), 0);
    assert_true(e.equivalent);
    near(log(e.interval.lo), 0.8670, 5e-5);
    near(log(e.interval.hi), 2.2930, 5e-5);
    assert_int_equal(jm_stat_tost(d, COUNT(d), expm1(2.28), 0.05, &e, NULL), 0);
    assert_false(e.equivalent);
}

static void pairs_that_say_nothing(void **state)
{
    double same[] = {0.385, 0.392, 0.396}, half[] = {0.1925, 0.196, 0.198}, none[] = {0.385, 0, 0.396}, d[3];
    struct jm_paired p;
    struct jm_tost e;
    struct jm_err err;
    (void)state;
    assert_int_equal(jm_stat_log_ratios(same, same, 3, d, &err), 0);
    assert_int_equal(jm_stat_paired(d, 3, 0.95, &p, &err), 0);
    assert_true(p.identical && p.ratio == 1 && isnan(p.p) && p.interval.lo == 1);
    assert_int_equal(jm_stat_log_ratios(same, half, 3, d, &err), 0);
    assert_int_equal(jm_stat_paired(d, 3, 0.95, &p, &err), 0);
    near(p.ratio, 0.5, 1e-15);
    assert_true(p.sd == 0 && isnan(p.p) && !p.identical); /* rounding is no scatter */
    assert_int_equal(jm_stat_tost(d, 3, 0.02, 0.05, &e, &err), 0);
    assert_false(e.equivalent);
    assert_int_equal(jm_stat_log_ratios(same, none, 3, d, &err), JM_EINVAL);
    assert_non_null(strstr(err.text, "pair 2"));
    assert_int_equal(jm_stat_paired(d, 1, 0.95, &p, &err), JM_EAGAIN);
    assert_int_equal(jm_stat_paired(d, 3, 1, &p, &err), JM_EINVAL);
    assert_int_equal(jm_stat_tost(d, 3, 0, 0.05, &e, &err), JM_EINVAL);
}

/* A drifts up by 1 % a run: in A B B A the pairs say +1 % and -1 % of the same B, the quads +0. */
static void quads_free_of_drift(void **state)
{
    double a[] = {100, 103, 104, 107}, b[] = {101 * .95, 102 * .95, 105 * .95, 106 * .95}, d[4];
    (void)state;
    assert_int_equal(jm_stat_log_ratios(a, b, 4, d, NULL), 0);
    assert_true(d[0] - log(.95) > 0.009 && d[1] - log(.95) < -0.009);
    assert_int_equal(jm_stat_quads(d, 4, NULL), 0);
    near(d[0], log(.95), 2e-4);
    near(d[1], log(.95), 2e-4);
    assert_int_equal(jm_stat_quads(d, 3, NULL), JM_EINVAL);
    /* by hand: +1.1, -0.9, +1.3, -0.7 % about -5 %: mean of the quads -4.8 %, drift 1 %, and 0.1 % about
     * either direction: s² = 4 x 0.001² / 2, se = s / 2 = 0.00070711; t(0.975; 2) = 4.302653 */
    static const double e[] = {-0.039, -0.059, -0.037, -0.057};
    static const bool turned[] = {false, true, false, true}, none[4] = {false};
    struct jm_paired p;
    assert_int_equal(jm_stat_abba(e, turned, 4, 0.95, &p, NULL), 0);
    near(p.mean, -0.048, 1e-12);
    near(p.drift, 0.01, 1e-12);
    near(p.se, 0.00070711, 1e-7);
    near(log(p.interval.hi), -0.048 + 4.302653 * 0.00070711, 1e-7);
    /* nothing but drift: what is left of it is the rounding of 0.3 + 0.1 */
    static const double drift[] = {-0.3 + 0.1, -0.3 - 0.1, -0.3 + 0.1, -0.3 - 0.1};
    assert_int_equal(jm_stat_abba(drift, turned, 4, 0.95, &p, NULL), 0);
    assert_true(p.se == 0);
    near(p.mean, -0.3, 1e-15);
    near(p.drift, 0.1, 1e-15);
    assert_int_equal(jm_stat_abba(e, none, 4, 0.95, &p, NULL), JM_EINVAL);
    assert_int_equal(jm_stat_abba(e, turned, 3, 0.95, &p, NULL), JM_EAGAIN);
}

/* By hand: A/A of -1, 0, +1 %: mean 0, s = 1 %, t(0.975; 2) = 4.302653; six pairs: 0.04302653 × √(1/6 + 1/3).
 */
static void detection_floor(void **state)
{
    static const double aa[] = {-0.01, 0, 0.01}, off[] = {0.03, 0.031, 0.029};
    struct jm_floor f;
    struct jm_err err;
    (void)state;
    assert_int_equal(jm_stat_floor(aa, 3, 6, 0.95, &f, NULL), 0);
    near(f.log_floor, 0.0430265273 * sqrt(0.5), 1e-11);
    near(f.saving, 1 - exp(-f.log_floor), 1e-15);
    assert_false(f.biased);
    assert_int_equal(jm_stat_floor(off, 3, 6, 0.95, &f, NULL), 0);
    assert_true(f.biased);
    near(f.log_floor, 0.03 + 0.00430265273 * sqrt(0.5), 1e-11);
    assert_int_equal(jm_stat_floor(aa, 2, 6, 0.95, &f, &err), JM_EAGAIN);
    assert_int_equal(jm_stat_floor(aa, 3, 0, 0.95, &f, &err), JM_EINVAL);
}

/* As tables of the paired t test have it for 80 % at 5 %: 10 pairs where the effect is one standard
 * deviation, 34 where it is half of one. Where no number of pairs would do, that is said. */
static void pairs_to_plan(void **state)
{
    size_t n = 0;
    struct jm_err err;
    (void)state;
    assert_int_equal(jm_stat_pairs_for(0.01, 0.01, false, 0.05, 0.8, &n, &err), 0);
    assert_int_equal(n, 10);
    assert_int_equal(jm_stat_pairs_for(0.02, 0.01, false, 0.05, 0.8, &n, &err), 0);
    assert_int_equal(n, 34);
    assert_int_equal(jm_stat_pairs_for(0.01, 0.01, true, 0.05, 0.8, &n, &err), 0);
    assert_int_equal(n, 11);
    assert_int_equal(jm_stat_pairs_for(0, 0.01, false, 0.05, 0.8, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_int_equal(jm_stat_pairs_for(1, 0.001, false, 0.05, 0.8, &n, &err), JM_ELIMIT);
    assert_int_equal(jm_stat_pairs_for(0.01, 0, false, 0.05, 0.8, &n, &err), JM_EINVAL);
    assert_int_equal(jm_stat_pairs_for(0.01, 0.01, false, 0.05, 1, &n, &err), JM_EINVAL);
}

/* Holm by hand: 0.01 × 4; 0.02 × 3; then 0.03 × 2 = 0.06 is not below the 0.06 before it; 0.9 × 1. */
static void holm(void **state)
{
    static const double p[] = {0.03, 0.01, 0.9, 0.02};
    double a[4];
    (void)state;
    assert_int_equal(jm_stat_holm(p, 4, a, NULL), 0);
    near(a[0], 0.06, 1e-15);
    near(a[1], 0.04, 1e-15);
    near(a[2], 0.9, 1e-15);
    near(a[3], 0.06, 1e-15);
    assert_int_equal(jm_stat_holm((const double[]){NAN}, 1, a, NULL), JM_EINVAL);
}

static void winner(void **state)
{
    static const double se[] = {1, 1, 1}, far[] = {0, 20, 1}, close[] = {2.0, 2.1, 2.05};
    struct jm_winner w, one;
    struct jm_err err;
    (void)state;
    /* one candidate, or one far ahead: nothing to correct, and nearly the plain interval */
    assert_int_equal(jm_stat_winner(far, se, 3, 0, INFINITY, 0.95, &w, NULL), 0);
    assert_int_equal(w.index, 1);
    near(w.value, 20, 1e-6);
    near(w.interval.hi, 20 + 1.96, 0.07);
    assert_int_equal(jm_stat_winner(far, se, 1, 0, INFINITY, 0.95, &one, NULL), 0);
    near(one.value, 0, 1e-9);
    near(one.interval.lo, -1.96, 0.07);
    /* three alike: what is left of the best is well below it */
    assert_int_equal(jm_stat_winner(close, se, 3, 0, INFINITY, 0.95, &w, NULL), 0);
    assert_true(w.index == 1 && w.value < 1.5 && w.interval.lo < w.value && w.value < w.interval.hi);
    /* a common baseline was chosen from as well, but does not decide between them: less is taken off */
    assert_int_equal(jm_stat_winner(close, se, 3, 0.5, INFINITY, 0.95, &one, NULL), 0);
    assert_true(one.value > w.value);
    assert_int_equal(jm_stat_winner(close, (const double[]){1, 0, 1}, 3, 0, 5, 0.95, &w, &err), JM_EINVAL);
    assert_int_equal(jm_stat_winner(close, se, 0, 0, 5, 0.95, &w, &err), JM_EINVAL);
    assert_int_equal(jm_stat_winner(close, se, 3, 1, 5, 0.95, &w, &err), JM_EINVAL);
}

/* By hand: five trials 98, 99, 100, 101, 102 have s = √2.5, t(0.975; 4) = 2.776445, (t s)² = 19.271. A
 * half-width of 1 takes 20 trials, of 0.5 all of 78: 30 are made. */
static void stopping(void **state)
{
    double x[30] = {98, 99, 100, 101, 102};
    struct jm_stop_opts o = {.half_width = 1};
    struct jm_stop s;
    struct jm_err err;
    (void)state;
    for (size_t i = 5; i < 30; i++)
        x[i] = 100;
    assert_int_equal(jm_stat_stop(&o, x, 1, &s, NULL), 0);
    assert_true(!s.stop && s.total == 5 && isnan(s.interval.lo));
    assert_int_equal(jm_stat_stop(&o, x, 5, &s, NULL), 0);
    assert_true(!s.stop && s.total == 20);
    assert_int_equal(jm_stat_stop(&o, x, 19, &s, NULL), 0);
    assert_true(!s.stop && s.total == 20); /* what came later changes nothing */
    assert_int_equal(jm_stat_stop(&o, x, 20, &s, NULL), 0);
    assert_true(s.stop && s.reached && s.interval.dof == 4);
    near(s.interval.hi - s.mean, sqrt(19.2716 / 20), 1e-4);
    o.half_width = 0.005;
    o.relative = true;
    assert_int_equal(jm_stat_stop(&o, x, 30, &s, NULL), 0);
    assert_true(s.stop && !s.reached && s.total == 30);
    /* fixed width: 2.776445 × √2.5 / √5 = 1.963 > 0.9 × 2, and < 0.9 × 2.2 */
    o = (struct jm_stop_opts){.rule = JM_STOP_FIXED_WIDTH, .half_width = 2};
    assert_int_equal(jm_stat_stop(&o, x, 5, &s, NULL), 0);
    assert_true(!s.stop && s.total == 6);
    o.half_width = 2.2;
    assert_int_equal(jm_stat_stop(&o, x, 5, &s, NULL), 0);
    assert_true(s.stop && s.reached);
    assert_int_equal(jm_stat_stop(&(struct jm_stop_opts){.half_width = 0}, x, 5, &s, &err), JM_EINVAL);
    assert_int_equal(jm_stat_stop(&(struct jm_stop_opts){.half_width = 1, .most = 3}, x, 3, &s, &err),
                     JM_EINVAL);
    x[2] = NAN;
    assert_int_equal(jm_stat_stop(&o, x, 5, &s, &err), JM_EINVAL);
}

/* The examples of SciPy's page on nnls: A = [1 0; 1 0; 0 1]; b = 2, 1, 1 gives 1.5, 1, and a residual of
 * √0.5; b = -1, -1, -1 gives 0, 0 and √3. */
static void nnls_published(void **state)
{
    static const double a[3][2] = {{1, 0}, {1, 0}, {0, 1}}, b[2][3] = {{2, 1, 1}, {-1, -1, -1}};
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct jm_lsq l;
        struct jm_nnls f;
        jm_lsq_init(&l, 2);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(jm_lsq_row(&l, a[i], b[k][i], 1, NULL), 0);
        assert_int_equal(jm_lsq_nnls(&l, NULL, &f, NULL), 0);
        near(f.x[0], k ? 0 : 1.5, 1e-14);
        near(f.x[1], k ? 0 : 1, 1e-14);
        near(f.rss, k ? 3 : 0.5, 1e-14);
        assert_true(f.at_zero[0] == (k == 1) && f.free == (k ? 0 : 2));
    }
}

/* Idle power pinned: E = 120 W × t + 0.5 J × steps + 0.02 J × tokens, exactly, whatever the pinned one's
 * sign. */
static void nnls_pinned(void **state)
{
    struct jm_lsq l, half[2];
    struct jm_nnls f, g;
    struct jm_err err;
    double pin[3] = {120, NAN, NAN};
    (void)state;
    jm_lsq_init(&l, 3);
    jm_lsq_init(&half[0], 3);
    jm_lsq_init(&half[1], 3);
    assert_int_equal(jm_lsq_nnls(&l, pin, &f, &err), JM_EAGAIN);
    for (size_t i = 0; i < 40; i++) {
        double a[3] = {1, 10 + (double)(i * 7 % 13), (double)(i * i % 101)};
        double y = 120 * a[0] + 0.5 * a[1] + 0.02 * a[2];
        assert_int_equal(jm_lsq_row(&l, a, y, 1, NULL), 0);
        assert_int_equal(jm_lsq_row(&half[i > 17], a, y, 1, NULL), 0);
    }
    assert_int_equal(jm_lsq_nnls(&l, pin, &f, NULL), 0);
    assert_true(f.x[0] == 120);
    near(f.x[1], 0.5, 1e-12);
    near(f.x[2], 0.02, 1e-13);
    assert_true(f.relative < 1e-12);
    /* too high an idle power: the others make up for it as far as they may */
    pin[0] = 140;
    assert_int_equal(jm_lsq_nnls(&l, pin, &g, NULL), 0);
    assert_true(g.x[1] == 0 && g.at_zero[1] && g.rss > 1);
    /* halves added up are the whole */
    pin[0] = 100;
    jm_lsq_add(&half[0], &half[1]);
    assert_int_equal(jm_lsq_nnls(&l, pin, &f, NULL), 0);
    assert_int_equal(jm_lsq_nnls(&half[0], pin, &g, NULL), 0);
    near(g.x[1], f.x[1], 1e-11);
    near(g.x[2], f.x[2], 1e-12);
    near(g.rss / f.rss, 1, 1e-9);
    assert_int_equal(jm_lsq_row(&l, (const double[]){1, NAN, 0}, 1, 1, &err), JM_EINVAL);
    assert_int_equal(jm_lsq_row(&l, (const double[]){1, 1, 0}, 1, -1, &err), JM_EINVAL);
}

/* By hand: two columns of length 1 at an angle w have singular values √(1 ± cos w): condition
 * √((1 + cos w)/(1 - cos w)), 10.0 at cos w = 99/101. Scaling a column changes nothing. */
static void identifiable(void **state)
{
    double c = 99.0 / 101, s = sqrt(1 - c * c);
    struct jm_lsq l;
    struct jm_identify id;
    (void)state;
    jm_lsq_init(&l, 2);
    jm_lsq_row(&l, (const double[]){1e6, 1e-3 * c}, 1, 1, NULL);
    jm_lsq_row(&l, (const double[]){0, 1e-3 * s}, 1, 1, NULL);
    jm_lsq_identify(&l, NULL, NULL, &id);
    near(id.condition, 10, 1e-12);
    assert_true(id.ok && id.reason[0] == '\0');
    /* a column that is the sum of two others: not to be told apart, the third one is */
    jm_lsq_init(&l, 4);
    for (size_t i = 0; i < 30; i++) {
        double u = (double)(i % 7) + 1, v = (double)(i * i % 11) + 1;
        jm_lsq_row(&l, (const double[]){u, v, u + v, (double)(i % 3)}, u, 1, NULL);
    }
    jm_lsq_identify(&l, NULL, NULL, &id);
    assert_true(!id.ok && id.condition > 1e10 && strcmp(id.reason, "condition") == 0 && id.weakest != 3);
    assert_true(fabs(id.direction[3]) < 1e-9);
    jm_lsq_identify(&l, (const double[]){NAN, NAN, 1, NAN}, NULL,
                    &id); /* one of them known: the others can */
    assert_true(id.ok && id.direction[2] == 0);
    /* always the same load: what hardly varies */
    jm_lsq_init(&l, 2);
    for (size_t i = 0; i < 30; i++)
        jm_lsq_row(&l, (const double[]){(double)(i % 5), 100 + (double)(i % 2)}, 1, 1, NULL);
    jm_lsq_identify(&l, NULL, NULL, &id);
    assert_true(!id.ok && strcmp(id.reason, "variation") == 0 && id.weakest == 1);
    near(id.cv[1], 0.5 / 100.5, 1e-12);
    jm_lsq_identify(&l, NULL, (const bool[]){true, false}, &id);
    assert_true(id.ok);
    jm_lsq_init(&l, 1);
    jm_lsq_row(&l, (const double[]){0}, 1, 1, NULL);
    jm_lsq_identify(&l, NULL, NULL, &id);
    assert_true(!id.ok && isinf(id.condition));
}

/* By hand: residuals y - R x of 10 batches of one value are 0 except +1 and -1: R = 20/10 = 2, s² = 2/9,
 * half-width t(0.975; 9) √(2/9/10) / 1 with t = 2.262157. Batches of 10 alike samples keep that; a warm-up of
 * 3 is dropped. */
static void batches(void **state)
{
    double x[1003], y[1003];
    struct jm_batch_means b;
    struct jm_err err;
    struct jm_rng rng;
    (void)state;
    for (size_t i = 0; i < 103; i++) {
        size_t k = i < 3 ? 0 : (i - 3) / 10;
        x[i] = 1;
        y[i] = i % 2 ? 2.5 : 1.5; /* alternating, so that neighbours are no more alike than chance */
        if (i < 3)
            y[i] = 2;
        y[i] += k == 4 && i >= 3 ? 1 : k == 7 ? -1 : 0;
    }
    int rc = jm_stat_batch_ratio(y, x, 103, &(struct jm_batch_opts){.min_seconds = 1}, &b, &err);
    if (rc == JM_EAGAIN) /* ten alike samples in a row are correlated: then it must say so */
        assert_true(b.needs_n > 103 && b.tau > 1);
    else
        assert_int_equal(b.batches, 10);
    jm_rng_init(&rng, 5);
    for (size_t i = 0; i < 1000; i++)
        x[i] = 10 + jm_rng_normal(&rng);
    assert_int_equal(jm_stat_batch_means(x, 1000, &(struct jm_batch_opts){.dt = 0.1}, &b, &err), 0);
    assert_int_equal(b.batches, 20); /* 5 s are 50 samples */
    assert_int_equal(b.length, 50);
    assert_true(b.tau < 1.5 && fabs(b.lag1) < 0.6 && b.interval.dof == 19);
    /* against the formula itself */
    double m[20], want;
    for (size_t k = 0; k < 20; k++)
        m[k] = jm_stats_mean(x + 50 * k, 50);
    struct jm_interval in;
    assert_int_equal(jm_stats_t_interval(m, 20, 0.95, &want, &in), 0);
    near(b.mean, want, 1e-12);
    near(b.interval.hi, in.hi, 1e-12);
    assert_int_equal(jm_stat_batch_means(x, 400, &(struct jm_batch_opts){.dt = 0.1}, &b, &err), JM_EAGAIN);
    near(b.needs_n, 500, 0);
    x[7] = NAN;
    assert_int_equal(jm_stat_batch_means(x, 1000, NULL, &b, &err), JM_EINVAL);
    assert_int_equal(jm_stat_batch_ratio(y, (const double[3]){0}, 3, NULL, &b, &err), JM_EINVAL);
}

/* AR(1) of coefficient a has (1 + a)/(1 - a). */
static void autocorrelation_time(void **state)
{
    static double x[60000];
    struct jm_rng rng;
    (void)state;
    jm_rng_init(&rng, 11);
    for (int k = 0; k < 3; k++) {
        double a = k * 0.4;
        x[0] = 0;
        for (size_t i = 1; i < COUNT(x); i++)
            x[i] = a * x[i - 1] + jm_rng_normal(&rng);
        near(jm_stat_autocorr_time(x, COUNT(x)), (1 + a) / (1 - a), 0.1 * (1 + a) / (1 - a));
    }
    assert_true(isnan(jm_stat_autocorr_time(x, 7)));
    assert_true(isnan(jm_stat_autocorr_time((const double[9]){0}, 9)));
}

static void warm_up_and_drift(void **state)
{
    double x[400];
    size_t cut;
    struct jm_drift d;
    struct jm_err err;
    struct jm_rng rng;
    (void)state;
    jm_rng_init(&rng, 3);
    for (size_t i = 0; i < 400; i++) /* 60 samples from 300 up to 700 W, then 700 ± 5 */
        x[i] = (i < 60 ? 300 + 400.0 * (double)i / 60 : 700) + 5 * jm_rng_normal(&rng);
    assert_int_equal(jm_stat_warmup(x, 400, &cut, &err), 0);
    assert_in_range(cut, 55, 80);
    assert_int_equal(jm_stat_drift(x + 80, 320, &(struct jm_batch_opts){.dt = 1}, &d, &err), 0);
    assert_true(fabs(d.relative) < 0.01 && d.interval.lo < d.relative && d.relative < d.interval.hi);
    for (size_t i = 0; i < 400; i++) /* 1 W a second on 700 W, 40 s: 40/720 of it */
        x[i] = 700 + 0.1 * (double)i + jm_rng_normal(&rng);
    assert_int_equal(jm_stat_drift(x, 400, &(struct jm_batch_opts){.dt = 0.1, .min_seconds = 1}, &d, &err),
                     0);
    near(d.per_second, 1, 0.02);
    near(d.relative, 40.0 / 720, 0.001);
    assert_true(d.p < 1e-9 && d.interval.lo > 0);
    assert_int_equal(jm_stat_drift(x, 90, &(struct jm_batch_opts){.dt = 0.1, .min_seconds = 1}, &d, &err),
                     JM_EAGAIN);
    for (size_t i = 0; i < 400; i++)
        x[i] = 100 + 0.05 * (double)i; /* never settles */
    assert_int_equal(jm_stat_warmup(x, 400, &cut, &err), JM_EAGAIN);
    assert_int_equal(jm_stat_warmup(x, 40, &cut, &err), JM_EAGAIN);
}

static double never(const size_t *index, size_t n, void *arg)
{
    (void)arg;
    return index[0] == 0 && index[n - 1] == n - 1 ? 1 : NAN; /* of the series itself only */
}

static void mean_and_never(const size_t *index, size_t n, double *value, void *arg)
{
    value[0] = jm_stat_mean_of(index, n, arg);
    value[1] = never(index, n, arg);
}

static void bootstrap(void **state)
{
    double x[400];
    struct jm_bootstrap a, b;
    struct jm_bootstrap_opts o = {.block = 10, .reps = 999, .seed = 7};
    struct jm_err err;
    struct jm_rng rng;
    (void)state;
    jm_rng_init(&rng, 2);
    for (size_t i = 0; i < 400; i++)
        x[i] = 5 + jm_rng_normal(&rng);
    assert_int_equal(jm_stat_bootstrap(400, jm_stat_mean_of, x, &o, &a, &err), 0);
    assert_int_equal(jm_stat_bootstrap(400, jm_stat_mean_of, x, &o, &b, &err), 0);
    assert_memory_equal(&a, &b, sizeof a); /* the same seed, the same digits */
    near(a.value, jm_stats_mean(x, 400), 1e-12);
    near(a.sd, 1 / sqrt(400.0), 0.012); /* independent samples: s / √n */
    assert_int_equal(a.blocks, 40);
    o.seed = 8;
    assert_int_equal(jm_stat_bootstrap(400, jm_stat_mean_of, x, &o, &b, &err), 0);
    assert_true(a.interval.lo != b.interval.lo);
    o.block = 21;
    assert_int_equal(jm_stat_bootstrap(400, jm_stat_mean_of, x, &o, &b, &err), JM_EAGAIN);
    o.block = 0;
    assert_int_equal(jm_stat_bootstrap(400, jm_stat_mean_of, x, &o, &b, &err), JM_EINVAL);
    o.block = 10;
    assert_int_equal(jm_stat_bootstrap(400, never, x, &o, &b, &err), JM_EAGAIN);
    assert_int_equal(b.failed, 999);
    /* two at once: the same digits, and one that fails leaves the other whole */
    struct jm_bootstrap two[2];
    o.seed = 7;
    assert_int_equal(jm_stat_bootstrap_many(400, 2, mean_and_never, x, &o, two, &err), JM_EAGAIN);
    assert_memory_equal(&two[0], &a, sizeof a);
    assert_true(two[1].value == 1 && isnan(two[1].interval.lo));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clopper_pearson),
        cmocka_unit_test(students_sleep),
        cmocka_unit_test(pairs_that_say_nothing),
        cmocka_unit_test(quads_free_of_drift),
        cmocka_unit_test(detection_floor),
        cmocka_unit_test(holm),
        cmocka_unit_test(pairs_to_plan),
        cmocka_unit_test(winner),
        cmocka_unit_test(stopping),
        cmocka_unit_test(nnls_published),
        cmocka_unit_test(nnls_pinned),
        cmocka_unit_test(identifiable),
        cmocka_unit_test(batches),
        cmocka_unit_test(autocorrelation_time),
        cmocka_unit_test(warm_up_and_drift),
        cmocka_unit_test(bootstrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
