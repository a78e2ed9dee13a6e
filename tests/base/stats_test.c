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
#include "base/stats.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void near(double got, double want, double rel)
{
    if (!(fabs(got - want) <= rel * fabs(want)))
        fail_msg("got %.17g, want %.17g", got, want);
}

/* Made with mpmath 1.3 at 40 digits (roots of its own betainc); the first six are the values of every printed
 * table, e.g. NIST/SEMATECH e-Handbook 1.3.6.7.2: 12.706, 4.303, 3.182, 2.776, 2.571, 2.228. */
static void t_quantiles(void **state)
{
    static const struct {
        double p, nu, t;
    } row[] = {{0.975, 1, 12.706204736174705},     {0.975, 2, 4.3026527297494639},
               {0.975, 3, 3.1824463052837096},     {0.975, 4, 2.7764451051977944},
               {0.975, 5, 2.5705818356363155},     {0.975, 10, 2.2281388519862747},
               {0.975, 30.5, 2.0408694451863206},  {0.975, 0.5, 164.55767348048853},
               {0.995, 4, 4.6040948713499932},     {0.9995, 7, 5.4078825208617252},
               {0.95, 1.7, 3.3036151432379306},    {0.6, 3, 0.27667066233268991},
               {0.975, 20000, 1.9600826051581352}, {0.975, 9000, 1.9602276050814778},
               {0.999999, 6, 17.830314500655491}};
    (void)state;
    for (size_t i = 0; i < COUNT(row); i++) {
        near(jm_stats_t_quantile(row[i].p, row[i].nu), row[i].t, 1e-10);
        near(jm_stats_t_quantile(1 - row[i].p, row[i].nu), -row[i].t, 1e-9); /* 1 - p is rounded */
    }
    near(jm_stats_t_quantile(0.500001, 3), 2.7206990463558021e-6, 1e-9);
    near(jm_stats_t_quantile(0.975, INFINITY), 1.9599639845400542, 1e-14);
    assert_true(jm_stats_t_quantile(0.5, 3) == 0);
    assert_true(isnan(jm_stats_t_quantile(0, 3)) && isnan(jm_stats_t_quantile(0.9, 0)) &&
                isnan(jm_stats_t_quantile(NAN, 3)) && isnan(jm_stats_t_quantile(0.9, NAN)));
}

/* The expansion for many degrees of freedom and the exact root meet without a step. */
static void t_quantile_is_monotone(void **state)
{
    (void)state;
    double last = INFINITY;
    for (double nu = 9990; nu < 10010; nu += 0.25) {
        double t = jm_stats_t_quantile(0.975, nu);
        assert_true(t < last + 1e-11);
        last = t;
    }
    assert_true(jm_stats_t_quantile(0.975, 1e12) > 1.959963984);
}

static void normal_quantiles(void **state)
{
    (void)state;
    near(jm_stats_norm_quantile(0.975), 1.9599639845400542, 1e-14);
    near(jm_stats_norm_quantile(0.9), 1.2815515655446005, 1e-14);
    near(jm_stats_norm_quantile(0.5001), 0.0002506628300880351, 1e-11);
    near(jm_stats_norm_quantile(1e-10), -6.3613409024040562, 1e-14);
    near(jm_stats_norm_quantile(1e-100), -21.273453560965324, 1e-14);
    near(jm_stats_norm_quantile(1e-300), -37.047096299361199, 1e-13);
    assert_true(jm_stats_norm_quantile(0.5) == 0);
    assert_true(jm_stats_norm_quantile(0) == -INFINITY && jm_stats_norm_quantile(1) == INFINITY);
    assert_true(isnan(jm_stats_norm_quantile(-0.1)) && isnan(jm_stats_norm_quantile(NAN)));
}

static void chi2_quantiles(void **state)
{
    static const struct {
        double p, nu, x;
    } row[] = {{0.95, 1, 3.841458820694126},      {0.95, 2, 5.991464547107982},
               {0.975, 10, 20.483177350807397},   {0.025, 30, 16.790772265566625},
               {0.05, 100, 77.929465165017259},   {0.95, 2.5, 6.9280761134524251},
               {0.01, 0.5, 1.3499395859116935e-8}};
    (void)state;
    for (size_t i = 0; i < COUNT(row); i++)
        near(jm_stats_chi2_quantile(row[i].p, row[i].nu), row[i].x, 1e-11);
    near(jm_stats_chi2_quantile(0.5, 2), 2 * log(2), 1e-12); /* exponential of mean 2 */
}

static void beta_function(void **state)
{
    (void)state;
    near(jm_stats_beta_inc(1, 1, 0.3), 0.3, 1e-14);
    /* I_x(2,3) = 6x² - 8x³ + 3x⁴ at 0.4 */
    near(jm_stats_beta_inc(2, 3, 0.4), 0.5248, 1e-14);
    near(jm_stats_beta_inc(100, 200, 0.35), 0.73257146495754433, 1e-12); /* mpmath */
    near(jm_stats_beta_inc(50, 3, 0.99), 0.9846473742663409, 1e-13);
    near(jm_stats_beta_inc(0.5, 0.5, 0.1), 2 / M_PI * asin(sqrt(0.1)), 1e-13);
    assert_true(jm_stats_beta_inc(2, 3, 0) == 0 && jm_stats_beta_inc(2, 3, 1) == 1);
    assert_true(isnan(jm_stats_beta_inc(0, 1, 0.5)) && isnan(jm_stats_beta_inc(1, 1, 1.5)));
}

/* Three trials 0.385, 0.392, 0.396: mean 0.391; deviations -6, +1, +5 in 1e-3, sum of squares 62e-6, s
 * = 5.568e-3, half-width 4.303 × 5.568e-3 / √3 = 0.01383. */
static void interval_of_three_trials(void **state)
{
    static const double x[] = {0.385, 0.392, 0.396};
    struct jm_interval in;
    double mean;
    (void)state;
    assert_int_equal(jm_stats_t_interval(x, 3, 0.95, &mean, &in), 0);
    near(mean, 0.391, 1e-14);
    near(jm_stats_sd(x, 3), 0.0055677643628300, 1e-12);
    near((in.hi - in.lo) / 2, 0.013831, 5e-5);
    assert_true(round((in.hi - in.lo) / 2 * 1000) == 14);
    assert_true(in.dof == 2 && in.level == 0.95);
    assert_int_equal(jm_stats_t_interval(x, 1, 0.95, &mean, &in), JM_EINVAL);
    assert_int_equal(jm_stats_t_interval(x, 3, 1, &mean, &in), JM_EINVAL);
}

static void sums(void **state)
{
    static const double hard[] = {1, 1e100, 1, -1e100};                     /* Neumaier's own example: 2 */
    static const double shifted[] = {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}; /* variance 30 */
    (void)state;
    assert_true(jm_stats_sum(hard, 4) == 2);
    assert_true(jm_stats_sum(NULL, 0) == 0);
    near(jm_stats_sd(shifted, 4), sqrt(30), 1e-12);
    assert_true(isnan(jm_stats_mean(NULL, 0)) && isnan(jm_stats_sd(hard, 1)));
}

/* R: quantile(c(15, 20, 35, 40, 50), type = 7) gives 15 20 35 40 50, at 0.4: 29. */
static void quantiles_of_samples(void **state)
{
    double x[] = {40, 15, 50, 35, 20};
    (void)state;
    jm_stats_sort(x, 5);
    near(jm_stats_quantile_sorted(x, 5, 0.4), 29, 1e-15);
    near(jm_stats_quantile_sorted(x, 5, 0.25), 20, 1e-15);
    near(jm_stats_quantile_sorted(x, 5, 0), 15, 0);
    near(jm_stats_quantile_sorted(x, 5, 1), 50, 0);
    assert_true(isnan(jm_stats_quantile_sorted(x, 0, 0.5)) && isnan(jm_stats_quantile_sorted(x, 5, 1.1)));
    double with_nan[] = {NAN, 2, 1};
    jm_stats_sort(with_nan, 3);
    assert_true(with_nan[0] == 1 && with_nan[1] == 2 && isnan(with_nan[2]));
}

/* Median of 10: P(B <= 1) = 11/1024 = 0.0107 <= 0.025 < P(B <= 2) = 56/1024: x(2) to x(9), coverage 0.9785
 * (Conover, Practical Nonparametric Statistics, table of the binomial). Five values cannot hold 95 %: 2/32
 * outside. */
static void quantile_intervals(void **state)
{
    static const double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    struct jm_interval in;
    (void)state;
    assert_int_equal(jm_stats_quantile_interval(x, 10, 0.5, 0.95, &in), 0);
    assert_true(in.lo == 2 && in.hi == 9);
    assert_int_equal(jm_stats_quantile_interval(x, 5, 0.5, 0.95, &in), JM_EAGAIN);
    assert_int_equal(jm_stats_quantile_interval(x, 6, 0.5, 0.95, &in), 0); /* 2/64 outside */
    assert_true(in.lo == 1 && in.hi == 6);
    assert_int_equal(jm_stats_quantile_interval(x, 10, 0.99, 0.95, &in), JM_EAGAIN);
    assert_int_equal(jm_stats_quantile_interval(NULL, 0, 0.5, 0.95, &in), JM_EAGAIN);
    assert_int_equal(jm_stats_quantile_interval(x, 10, 0, 0.95, &in), JM_EINVAL);
    /* the same by adding binomial terms up, for many n and q */
    for (size_t n = 1; n < 60; n += 3) {
        for (double q = 0.05; q < 1; q += 0.15) {
            double big[60], cdf = 0;
            long l = 0, u = 0;
            for (size_t k = 0; k <= n; k++) {
                double below = cdf; /* P(B < k) */
                cdf += exp(lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) +
                           (double)k * log(q) + (double)(n - k) * log(1 - q));
                if (below <= 0.05 && k >= 1)
                    l = (long)k;
                if (!u && cdf >= 0.95)
                    u = (long)k + 1;
            }
            for (size_t k = 0; k < n; k++)
                big[k] = (double)k + 1;
            int rc = jm_stats_quantile_interval(big, n, q, 0.9, &in);
            /* l as found above may be 1 only because the loop starts there: x(1) needs P(B < 1) <= 0.05 */
            if (pow(1 - q, (double)n) > 0.05)
                l = 0;
            assert_int_equal(rc, l < 1 || u > (long)n ? JM_EAGAIN : 0);
            if (!rc)
                assert_true(in.lo == (double)l && in.hi == (double)u);
        }
    }
}

/* Newcombe (1998), Statistics in Medicine 17, table I, method 3: 81/263 → 0.2553 to 0.3662; 15/148 → 0.0624
 * to 0.1605; 0/20 → 0 to 0.1611; 1/29 → 0.0061 to 0.1718. */
static void wilson(void **state)
{
    static const struct {
        uint64_t k, n;
        double lo, hi;
    } row[] = {
        {81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}};
    struct jm_interval in;
    (void)state;
    for (size_t i = 0; i < COUNT(row); i++) {
        jm_stats_wilson(row[i].k, row[i].n, 0.95, &in);
        assert_true(fabs(in.lo - row[i].lo) < 6e-5 && fabs(in.hi - row[i].hi) < 6e-5);
    }
    jm_stats_wilson(20, 20, 0.95, &in);
    assert_true(in.hi == 1);
    jm_stats_wilson(1, 0, 0.95, &in);
    assert_true(isnan(in.lo) && isnan(in.hi));
}

/* NIST StRD Norris: B0 -0.262323073774029 (se 0.232818234301152), B1 1.00211681802045 (se
 * 0.429796848199937E-03), residual standard deviation 0.884796396144373, R² 0.999993745883712. */
static void line_of_norris(void **state)
{
    static const double y[] = {0.1,   338.8, 118.1, 888.0, 9.2,   228.1, 668.5, 998.5, 449.1,
                               778.9, 559.2, 0.3,   0.1,   778.1, 668.8, 339.3, 448.9, 10.8,
                               557.7, 228.3, 998.0, 888.8, 119.6, 0.3,   0.6,   557.6, 339.3,
                               888.0, 998.5, 778.9, 10.2,  117.6, 228.9, 668.4, 449.2, 0.2};
    static const double x[] = {0.2,   337.4, 118.2, 884.6, 10.1,  226.5, 666.3, 996.3, 448.6,
                               777.0, 558.2, 0.4,   0.6,   775.5, 666.9, 338.0, 447.5, 11.6,
                               556.0, 228.1, 995.8, 887.6, 120.2, 0.3,   0.3,   556.8, 339.1,
                               887.2, 999.0, 779.0, 11.1,  118.3, 229.2, 669.1, 448.9, 0.5};
    struct jm_fit f;
    struct jm_err err = {0};
    (void)state;
    assert_int_equal(jm_stats_line(x, y, NULL, 36, &f, &err), 0);
    near(f.b, 1.00211681802045, 1e-13);
    near(f.a, -0.262323073774029, 1e-11);
    near(f.se_a, 0.232818234301152, 1e-11);
    near(f.se_b, 0.429796848199937E-03, 1e-11);
    near(f.resid_sd, 0.884796396144373, 1e-11);
    near(f.r2, 0.999993745883712, 1e-13);
    assert_true(f.dof == 34);
}

static void line_weights_and_errors(void **state)
{
    static const double x[] = {1, 2, 3, 50}, y[] = {3, 5, 7, 0}, w[] = {1, 2, 3, 0}, same[] = {2, 2, 2};
    struct jm_fit f;
    struct jm_err err = {0};
    (void)state;
    assert_int_equal(jm_stats_line(x, y, w, 4, &f, &err), 0); /* the outlier weighs nothing: y = 1 + 2x */
    near(f.a, 1, 1e-12);
    near(f.b, 2, 1e-12);
    assert_int_equal(jm_stats_line(x, y, NULL, 2, &f, &err), JM_EINVAL);
    assert_non_null(strstr(err.text, "3 points"));
    assert_int_equal(jm_stats_line(same, y, NULL, 3, &f, &err), JM_EINVAL);
    double bad[] = {1, NAN, 3};
    assert_int_equal(jm_stats_line(x, bad, NULL, 3, &f, &err), JM_EINVAL);
}

/* Slopes of (0,0) (1,2) (2,1) (3,9): 2, 0.5, 3, -1, 3.5, 8 → median of -1 0.5 2 3 3.5 8 is 2.5. */
static void theil_sen(void **state)
{
    static const double x[] = {0, 1, 2, 3}, y[] = {0, 2, 1, 9}, same[] = {1, 1};
    (void)state;
    near(jm_stats_theil_sen(x, y, 4), 2.5, 1e-15);
    near(jm_stats_theil_sen(x, y, 3), 0.5, 1e-15); /* 2, 0.5, -1 */
    assert_true(isnan(jm_stats_theil_sen(x, y, 1)) && isnan(jm_stats_theil_sen(same, y, 2)));
    enum { N = 5000 };
    double *bx = malloc(N * sizeof *bx), *by = malloc(N * sizeof *by);
    struct jm_rng rng;
    jm_rng_init(&rng, 7);
    for (int i = 0; i < N; i++) {
        bx[i] = i;
        by[i] = 3 - 0.25 * i + (i % 5 ? 0 : 1e6 * jm_rng_unit(&rng)); /* a fifth are outliers */
    }
    double s = jm_stats_theil_sen(bx, by, N);
    assert_true(fabs(s + 0.25) < 0.01 * 0.25 || s == -0.25);
    free(bx);
    free(by);
}

/* GUM H.1.6: u_c = 32 nm; 25 nm with 18, 9.7 nm with 25.6, 2.9 nm with 50, 16.6 nm with 2 degrees of
 * freedom: 16.7, truncated to 16 there (exactly 16.75 with these rounded terms, by hand: (625 + 94.09 + 8.41
 * + 275.56)² / (25⁴/18 + 9.7⁴/25.6 + 2.9⁴/50 + 16.6⁴/2) = 1006129 / 60015.3 = 16.76). */
static void welch(void **state)
{
    static const double u[] = {25, 9.7, 2.9, 16.6}, nu[] = {18, 25.6, 50, 2}, inf[] = {INFINITY, INFINITY};
    (void)state;
    near(jm_stats_welch_dof(u, nu, 4), 16.76, 1e-3);
    assert_true(jm_stats_welch_dof(u, inf, 2) == INFINITY);
    assert_true(jm_stats_welch_dof(u, nu, 0) == INFINITY);
    near(jm_stats_welch_dof((double[]){3e-90}, (double[]){7}, 1), 7, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(t_quantiles),
                                       cmocka_unit_test(t_quantile_is_monotone),
                                       cmocka_unit_test(normal_quantiles),
                                       cmocka_unit_test(chi2_quantiles),
                                       cmocka_unit_test(beta_function),
                                       cmocka_unit_test(interval_of_three_trials),
                                       cmocka_unit_test(sums),
                                       cmocka_unit_test(quantiles_of_samples),
                                       cmocka_unit_test(quantile_intervals),
                                       cmocka_unit_test(wilson),
                                       cmocka_unit_test(line_of_norris),
                                       cmocka_unit_test(line_weights_and_errors),
                                       cmocka_unit_test(theil_sen),
                                       cmocka_unit_test(welch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
