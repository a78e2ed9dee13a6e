/* SPDX-License-Identifier: Apache-2.0 */
/* Gauges: coverage and width of the intervals over 10,000 random windows, one semantics after another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "coverage.h"

static const struct instrument list[] = {
    {.name = "instant", .sem = JM_G_INSTANT, .every = 0.1},
    {.name = "block mean", .sem = JM_G_BLOCK_MEAN, .every = 0.1},
    {.name = "trailing mean 1 s", .sem = JM_G_TRAILING_MEAN, .window = 1, .every = 0.1},
    {.name = "25 of 100 ms", .sem = JM_G_PARTIAL, .window = 0.025, .every = 0.1},
    {.name = "analyzer, 1 s blocks", .sem = JM_G_BLOCK_MEAN, .every = 1, .stamped = true, .every_nth = 4},
    {.name = "block mean, 20 ms polls", .sem = JM_G_BLOCK_MEAN, .every = 0.02, .every_nth = 4},
    {.name = "instant, 1 s polls", .sem = JM_G_INSTANT, .every = 1, .every_nth = 4},
};
#define KINDS (sizeof list / sizeof list[0])

static void gauges(void **state)
{
    (void)state;
    static struct outcome o[KINDS];
    coverage(list, KINDS, 20261130, o);
    for (size_t i = 0; i < KINDS; i++)
        coverage_print(list[i].name, &o[i]);
    for (size_t i = 0; i < 4; i++) {
        coverage_assert(list[i].name, &o[i]);
        double ratio = sqrt(o[i].all.half2 / o[i].all.ref2) / 1.96;
        if (!(ratio <= 1.5))
            fail_msg("%s: half-width is %.2f times what its known errors imply", list[i].name, ratio);
    }
}

/* Variance of the integral of d(t) P(t) for covariance sd^2 exp(-|h| / tau): double sum on a grid of 5 ms. */
static double by_covariance(const double *d, size_t n, double step, double sd, double tau)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            sum += d[i] * d[j] * exp(-fabs((double)i - (double)j) * step / tau);
    return sum * step * step * sd * sd;
}

/* What the known errors imply, by the covariance of a known process and the weight that each moment gets,
 * when the stamps are exact: weight of the estimate minus 1 inside the window. */
static double implied(enum jm_gauge_sem sem, double sd, double tau)
{
    enum { STEP_MS = 5, CELLS = 40 };
    static double d[CELLS * 100 / STEP_MS];
    size_t per = 100 / STEP_MS, n = CELLS * per;
    double step = STEP_MS * 1e-3;
    if (sem == JM_G_TRAILING_MEAN) { /* two edges, each a ramp of 1 s instead of a jump */
        size_t w = 1000 / STEP_MS;
        for (size_t i = 0; i < w; i++)
            d[i] = ((double)i + 0.5) / (double)w - (i >= w / 2 ? 1 : 0);
        return sqrt(2 * by_covariance(d, w, step, sd, tau));
    }
    /* 4 s of cells: the seen 25 ms (or the one moment) stand for 100 ms */
    size_t seen = sem == JM_G_PARTIAL ? 25 / STEP_MS : 1;
    for (size_t i = 0; i < n; i++)
        d[i] = (i % per < seen ? (double)per / (double)seen : 0) - 1;
    return sqrt(by_covariance(d, n, step, sd, tau) * 30 / (CELLS * 0.1));
}

/* 30 s of an Ornstein-Uhlenbeck power (50 W, 0.2 s), each refresh read with its own stamp. */
static void known_process(void **state)
{
    (void)state;
    static const enum jm_gauge_sem sems[] = {JM_G_INSTANT, JM_G_PARTIAL, JM_G_TRAILING_MEAN};
    static struct jm_reading r[600];
    const double sd = 50, tau = 0.2;
    for (int k = 0; k < 3; k++) {
        double want = implied(sems[k], sd, tau), u = 0, e2 = 0;
        int windows = 300, in = 0;
        for (int i = 0; i < windows; i++) {
            struct jm_rng rng;
            struct wave w;
            struct jm_energy e;
            jm_rng_init_stream(&rng, 77, (uint64_t)i);
            wave_ou(&w, 60, 450, sd, tau, &rng);
            struct device d = {.w = &w,
                               .sem = sems[k],
                               .period = 0,
                               .unit = 1e-3,
                               .window = sems[k] == JM_G_PARTIAL         ? 0.025
                                         : sems[k] == JM_G_TRAILING_MEAN ? 1
                                                                         : 0};
            struct jm_channel c;
            device_channel(&d, &c);
            c.flags = JM_CHF_STAMPED;
            c.period_ns = 100000000;
            double phase = 2 + 0.1 * jm_rng_unit(&rng);
            for (int q = 0; q < 550; q++) {
                double t = phase + 0.1 * q;
                r[q] = (struct jm_reading){
                    .t0 = stamp(t), .t1 = stamp(t), .value = device_native(&d, device_value(&d, t), 1)};
            }
            double at = 10 + jm_rng_unit(&rng);
            assert_int_equal(jm_energy_gauge(&c, r, 550, stamp(at), stamp(at + 30), &e), 0);
            assert_int_equal(e.status, JM_S_OK);
            double err = e.joules - (wave_energy(&w, at + 30) - wave_energy(&w, at));
            u += e.u;
            e2 += err * err;
            in += fabs(err) <= jm_energy_halfwidth(&e, 0.95, true);
            wave_free(&w);
        }
        printf(
            "# %-14s known process: implied u %.2f J, stated %.2f J, true rms error %.2f J, coverage %.3f\n",
            jm_gauge_sem_name((int)sems[k]), want, u / windows, sqrt(e2 / windows), (double)in / windows);
        assert_true(u / windows <= 1.5 * want && u / windows >= 0.8 * want);
        assert_true(sqrt(e2 / windows) <= 1.2 * want && sqrt(e2 / windows) >= 0.8 * want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_process), cmocka_unit_test(gauges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
