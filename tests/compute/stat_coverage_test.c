/* SPDX-License-Identifier: Apache-2.0 */
/* How often the intervals hold the truth, in 2,000 synthetic studies each, seeds fixed. Standard error of a
 * share near 95 %: 0.5 points. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "compute/stat.h"
#include "compute/stat_compare.h"
#include "compute/stat_nnls.h"
#include "compute/stat_stop.h"

#define STUDIES 2000

static bool holds(const struct jm_interval *in, double truth)
{
    return in->lo <= truth && truth <= in->hi;
}

static void share(const char *what, size_t k, double lo, double hi)
{
    double p = 100.0 * (double)k / STUDIES;
    printf("# %-58s %6.2f %%\n", what, p);
    if (!(p >= lo && p <= hi))
        fail_msg("%s: %.2f %%, not within %g to %g %%", what, p, lo, hi);
}

static void normals(struct jm_rng *r, double *x, size_t n, double mean, double sd)
{
    for (size_t i = 0; i < n; i++)
        x[i] = mean + sd * jm_rng_normal(r);
}

/* Correlated as the power of a run is; sd 1, independent of each other 1 + 2 / (1/a - 1) samples apart. */
static void correlated(struct jm_rng *r, double *x, size_t n, double a)
{
    x[0] = jm_rng_normal(r);
    for (size_t i = 1; i < n; i++)
        x[i] = a * x[i - 1] + sqrt(1 - a * a) * jm_rng_normal(r);
}

static void t_over_trials(void **state)
{
    static const size_t sizes[] = {3, 5, 10, 30};
    double x[30], mean;
    char what[80];
    (void)state;
    for (size_t s = 0; s < 4; s++) {
        size_t k = 0;
        for (uint64_t i = 0; i < STUDIES; i++) {
            struct jm_rng r;
            struct jm_interval in;
            jm_rng_init_stream(&r, 101, i);
            normals(&r, x, sizes[s], 0.391, 0.006);
            assert_int_equal(jm_stats_t_interval(x, sizes[s], 0.95, &mean, &in), 0);
            k += holds(&in, 0.391);
        }
        snprintf(what, sizeof what, "t over %zu trials", sizes[s]);
        share(what, k, 94, 96);
    }
}

/* Paired log ratios on six pairs of sd 1 %: without a difference, with one of 5 %, and equivalence at its
 * very margin. */
static void pairs(void **state)
{
    size_t held = 0, less = 0, either = 0, saved = 0, same = 0, wrongly = 0;
    double a[6], b[6], d[6];
    (void)state;
    for (uint64_t i = 0; i < STUDIES; i++) {
        static const double truth[3] = {1, 0.95, 1.02};
        struct jm_rng r;
        struct jm_paired p[3];
        struct jm_tost e[3];
        jm_rng_init_stream(&r, 202, i);
        for (size_t k = 0; k < 3; k++) {
            for (size_t j = 0; j < 6; j++) {
                a[j] = exp(0.05 * jm_rng_normal(&r)); /* what a pair shares drops out */
                b[j] = a[j] * truth[k] * exp(0.01 * jm_rng_normal(&r));
            }
            assert_int_equal(jm_stat_log_ratios(a, b, 6, d, NULL), 0);
            assert_int_equal(jm_stat_paired(d, 6, 0.95, &p[k], NULL), 0);
            assert_int_equal(jm_stat_tost(d, 6, 0.02, 0.05, &e[k], NULL), 0);
        }
        held += holds(&p[1].interval, 0.95);
        less += p[0].p_less <= 0.025;
        either += p[0].p <= 0.05;
        saved += p[1].interval.hi < 1;
        same += e[0].equivalent;
        wrongly += e[2].equivalent;
    }
    share("interval of a ratio, 6 pairs", held, 94, 96);
    share("A/A: a saving is claimed", less, 1.5, 3.5);
    share("A/A: a difference is claimed", either, 4, 6);
    share("a true saving of 5 % is found", saved, 99, 100);
    share("A/A: equivalent within 2 %", same, 95, 100);
    share("2 % apart: called equivalent within 2 %", wrongly, 3.5, 6.5);
}

/* A/A pairs alone decide the floor, then a comparison without a change: how often it is above it. */
static void floors(void **state)
{
    size_t above = 0, found = 0;
    (void)state;
    for (uint64_t i = 0; i < STUDIES; i++) {
        double aa[6], d[6];
        struct jm_rng r;
        struct jm_floor f;
        jm_rng_init_stream(&r, 303, i);
        normals(&r, aa, 6, 0, 0.01);
        assert_int_equal(jm_stat_floor(aa, 6, 6, 0.95, &f, NULL), 0);
        normals(&r, d, 6, 0, 0.01);
        double m = jm_stats_mean(d, 6);
        above += fabs(m) > f.log_floor;
        found += -(m + log(0.95)) > f.log_floor;
    }
    share("A/A: above the detection floor", above, 0.5, 5);
    share("a true saving of 5 %: above the floor", found, 97, 100);
}

/* The best of five: naive value and interval against those given the choice. */
static void winners(void **state)
{
    static const struct {
        const char *name;
        double step, rho;
        size_t n;
        double lo, hi;
    } row[] = {{"alike", 0, 0, 0, 94, 96.5},
               {"half a standard error apart", 0.5, 0, 0, 94, 96.5},
               {"alike, one baseline", 0, 0.5, 0, 94, 96.5},
               {"alike, se of 6 pairs", 0, 0, 6, 93, 97}};
    (void)state;
    for (size_t c = 0; c < 4; c++) {
        size_t held = 0, below = 0, naive = 0;
        char what[80];
        for (uint64_t i = 0; i < STUDIES; i++) {
            double x[5], se[5], shared, z = jm_stats_norm_quantile(0.975);
            struct jm_rng r;
            struct jm_winner w;
            jm_rng_init_stream(&r, 404 + c, i);
            shared = jm_rng_normal(&r);
            for (size_t k = 0; k < 5; k++) {
                x[k] = row[c].step * (double)k + sqrt(row[c].rho) * shared +
                       sqrt(1 - row[c].rho) * jm_rng_normal(&r);
                se[k] = 1;
                if (row[c].n) { /* each se by its own pairs: chi-square of n - 1 */
                    double g[8];
                    normals(&r, g, row[c].n, 0, 1);
                    se[k] = jm_stats_sd(g, row[c].n);
                }
            }
            double dof = row[c].n ? (double)(row[c].n - 1) : INFINITY;
            assert_int_equal(jm_stat_winner(x, se, 5, row[c].rho, dof, 0.95, &w, NULL), 0);
            double truth = row[c].step * (double)w.index;
            held += holds(&w.interval, truth);
            below += w.value <= truth;
            naive += fabs(w.naive - truth) <= z;
        }
        snprintf(what, sizeof what, "best of 5, %s: given the choice", row[c].name);
        share(what, held, row[c].lo, row[c].hi);
        snprintf(what, sizeof what, "best of 5, %s: value too low", row[c].name);
        share(what, below, 46, 54);
        if (!row[c].n && row[c].rho == 0 && row[c].step == 0)
            share("best of 5, alike: the naive interval", naive, 80, 91);
    }
}

static void stopping(void **state)
{
    static const struct {
        enum jm_stop_rule rule;
        bool relative;
        double cv, lo, hi;
        const char *name;
    } row[] = {{JM_STOP_TWO_STAGE, false, 0.02, 94, 96, "two-stage, absolute"},
               {JM_STOP_TWO_STAGE, true, 0.02, 94, 96.5, "two-stage, ±1 %, sd 2 %"},
               {JM_STOP_FIXED_WIDTH, true, 0.02, 91, 96, "fixed width, ±1 %, sd 2 %"}};
    (void)state;
    for (size_t c = 0; c < 3; c++) {
        size_t k = 0, trials = 0;
        char what[80];
        for (uint64_t i = 0; i < STUDIES; i++) {
            double x[200];
            struct jm_rng r;
            struct jm_stop s = {0};
            struct jm_stop_opts o = {row[c].rule, row[c].relative ? 0.01 : 0.5, row[c].relative, 5, 200,
                                     0.95};
            size_t n = 0;
            jm_rng_init_stream(&r, 505, i);
            while (n < 200 && !s.stop) {
                x[n++] = 50 + 50 * row[c].cv * jm_rng_normal(&r);
                assert_int_equal(jm_stat_stop(&o, x, n, &s, NULL), 0);
            }
            k += holds(&s.interval, 50);
            trials += n;
        }
        snprintf(what, sizeof what, "%s (%.1f trials)", row[c].name, (double)trials / STUDIES);
        share(what, k, row[c].lo, row[c].hi);
    }
}

/* Power of 0.4 J/token and noise, both correlated over an autocorrelation time of 2 samples. */
static void series(struct jm_rng *r, double *x, double *e, double *tok, size_t n)
{
    double noise[1200];
    correlated(r, x, n, 1.0 / 3);
    correlated(r, noise, n, 1.0 / 3);
    for (size_t k = 0; k < n; k++) {
        tok[k] = 100 + 30 * x[k];
        e[k] = 0.4 * tok[k] + 5 * noise[k];
    }
}

/* 20 blocks, each of ten autocorrelation times: the mean of a series, and joules per token. */
static void blocks(void **state)
{
    enum { BLOCK = 20, N = 20 * BLOCK };
    size_t mean = 0, ratio = 0;
    (void)state;
    for (uint64_t i = 0; i < STUDIES; i++) {
        double x[N], e[N], tok[N];
        struct jm_rng r;
        struct jm_bootstrap b;
        struct jm_bootstrap_opts o = {.block = BLOCK, .reps = 299, .seed = i};
        jm_rng_init_stream(&r, 606, i);
        series(&r, x, e, tok, N);
        assert_int_equal(jm_stat_bootstrap(N, jm_stat_mean_of, x, &o, &b, NULL), 0);
        mean += holds(&b.interval, 0);
        assert_int_equal(jm_stat_bootstrap(N, jm_stat_ratio_of, &(struct jm_ratio_of){e, tok}, &o, &b, NULL),
                         0);
        ratio += holds(&b.interval, 0.4);
    }
    share("block bootstrap, 20 blocks, mean", mean, 92, 97);
    share("block bootstrap, 20 blocks, J/token", ratio, 92, 97);
}

static void batches(void **state)
{
    enum { N = 1000 };
    size_t mean = 0, ratio = 0, drift = 0;
    double x[N], e[N], tok[N];
    (void)state;
    for (uint64_t i = 0; i < STUDIES; i++) {
        struct jm_rng r;
        struct jm_batch_means m;
        struct jm_batch_opts o = {.dt = 0.1, .min_seconds = 2};
        struct jm_drift d;
        jm_rng_init_stream(&r, 616, i);
        series(&r, x, e, tok, N);
        assert_int_equal(jm_stat_batch_means(x, N, &o, &m, NULL), 0);
        mean += holds(&m.interval, 0);
        assert_int_equal(jm_stat_batch_ratio(e, tok, N, &o, &m, NULL), 0);
        ratio += holds(&m.interval, 0.4);
        assert_int_equal(jm_stat_drift(tok, N, &o, &d, NULL), 0);
        drift += d.p <= 0.05;
    }
    share("batch means, mean", mean, 93, 96.5);
    share("batch means, J/token", ratio, 93, 96.5);
    share("drift, where there is none", drift, 3.5, 6.5);
}

/* A coefficient of a fit with idle power pinned, over resamples of 24 blocks of five correlated windows. */
struct fit_of {
    double (*a)[3];
    double *y;
};

static double decode(const size_t *index, size_t n, void *arg)
{
    const struct fit_of *f = arg;
    static const double pin[3] = {120, NAN, NAN};
    struct jm_lsq l;
    struct jm_nnls out;
    jm_lsq_init(&l, 3);
    for (size_t i = 0; i < n; i++)
        if (jm_lsq_row(&l, f->a[index[i]], f->y[index[i]], 1, NULL))
            return NAN;
    return jm_lsq_nnls(&l, pin, &out, NULL) ? NAN : out.x[2];
}

static void coefficients(void **state)
{
    enum { N = 120 };
    size_t k = 0;
    (void)state;
    for (uint64_t i = 0; i < STUDIES; i++) {
        double a[N][3], y[N], noise[N];
        struct jm_rng r;
        struct jm_bootstrap b;
        jm_rng_init_stream(&r, 707, i);
        correlated(&r, noise, N, 0.3);
        for (size_t j = 0; j < N; j++) {
            a[j][0] = 1;
            a[j][1] = floor(400 * jm_rng_unit(&r));
            a[j][2] = floor(200 + 800 * jm_rng_unit(&r));
            y[j] = 120 + 0.05 * a[j][1] + 0.3 * a[j][2] + 10 * noise[j];
        }
        assert_int_equal(jm_stat_bootstrap(N, decode, &(struct fit_of){a, y},
                                           &(struct jm_bootstrap_opts){.block = 5, .reps = 199, .seed = i},
                                           &b, NULL),
                         0);
        k += holds(&b.interval, 0.3);
    }
    share("block bootstrap, 24 blocks, J/decode token by NNLS", k, 92, 97);
}

static void proportions(void **state)
{
    static const double p[] = {0.5, 0.9, 0.95, 0.99};
    (void)state;
    for (size_t c = 0; c < 4; c++) {
        size_t k = 0;
        char what[80];
        for (uint64_t i = 0; i < STUDIES; i++) {
            struct jm_rng r;
            struct jm_interval in;
            uint64_t ok = 0;
            jm_rng_init_stream(&r, 808, i);
            for (size_t j = 0; j < 200; j++)
                ok += jm_rng_unit(&r) < p[c];
            jm_stats_clopper_pearson(ok, 200, 0.95, &in);
            k += holds(&in, p[c]);
        }
        snprintf(what, sizeof what, "Clopper-Pearson, 200 requests, %g %% attained", 100 * p[c]);
        share(what, k, 94, 99.9); /* at least 95, less the scatter of 2,000 studies */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t_over_trials), cmocka_unit_test(pairs),        cmocka_unit_test(floors),
        cmocka_unit_test(winners),       cmocka_unit_test(stopping),     cmocka_unit_test(blocks),
        cmocka_unit_test(batches),       cmocka_unit_test(coefficients), cmocka_unit_test(proportions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
