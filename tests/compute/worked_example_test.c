/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of the published guide on energy per token (an eight-GPU server, a steady window of 600 s,
 * 12,000,000 output and 30,000,000 input tokens), through the functions that the program uses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "compute/compute.h"
#include "compute/convert.h"
#include "compute/mlperf_mean.h"

#define S      INT64_C(1000000000)
#define OUTPUT 12e6
#define INPUT  30e6

static void near(double got, double want, double abs)
{
    if (!(fabs(got - want) <= abs))
        fail_msg("got %.12g, want %.12g", got, want);
}

static struct jm_channel counter_mj(void)
{
    struct jm_channel c = {.kind = JM_CH_COUNTER, .unit = JM_U_J, .scale10 = -3, .period_ns = S / 10};
    c.gain_tol = c.offset_tol = NAN;
    return c;
}

static struct jm_channel gauge_w(enum jm_gauge_sem sem, int64_t period)
{
    struct jm_channel c = {.kind = JM_CH_GAUGE, .unit = JM_U_W, .sem = sem, .period_ns = period};
    c.gain_tol = c.offset_tol = NAN;
    return c;
}

/* One GPU at a constant 650 W, read every 0.1 s as its counter refreshes; the counter starts at `base` mJ. */
static double gpu_joules(uint64_t base)
{
    static struct jm_reading r[6100];
    struct jm_channel c = counter_mj();
    struct jm_energy e;
    for (int i = 0; i < 6100; i++)
        r[i] = (struct jm_reading){
            .t0 = i * (S / 10), .t1 = i * (S / 10), .value = (int64_t)(base + 65000u * (uint64_t)i)};
    assert_int_equal(jm_energy_counter(&c, r, 6100, 5 * S, 605 * S, &e), 0);
    assert_int_equal(e.status, JM_S_OK);
    return e.joules;
}

/* The server's meter: one reading a second, each the mean of the second that ended. */
static double wall_joules(void)
{
    static struct jm_reading r[700];
    struct jm_channel c = gauge_w(JM_G_BLOCK_MEAN, S);
    struct jm_energy e;
    c.flags = JM_CHF_STAMPED;
    for (int i = 0; i < 700; i++)
        r[i] = (struct jm_reading){.t0 = i * S, .t1 = i * S, .value = i % 2 ? 7700 : 7900};
    assert_int_equal(jm_energy_gauge(&c, r, 700, 50 * S, 650 * S, &e), 0);
    assert_int_equal(e.status, JM_S_OK);
    return e.joules;
}

static void boundaries(void **state)
{
    (void)state;
    double gpu = 0, wall = wall_joules();
    for (int i = 0; i < 8; i++)
        gpu += gpu_joules((uint64_t)i * 1000003u);
    near(gpu / 8, 390000, 1e-6);
    near(gpu, 3120000, 1e-5);
    near(jm_j_per_token(gpu, OUTPUT), 0.26, 1e-12);
    near(wall, 4680000, 1e-6);
    near(jm_j_per_token(wall, OUTPUT), 0.39, 1e-12);
    near(wall / gpu, 1.5, 1e-12);
    near(jm_j_per_token(wall, OUTPUT + INPUT), 0.111, 0.0005);
    near(jm_j_per_token(jm_net_of_idle(wall, 2400, 600), OUTPUT), 0.27, 1e-12);
    near(jm_j_per_token(wall, OUTPUT * 0.94), 0.415, 0.0005);
    near(jm_j_per_token(jm_facility(wall, 1.3), OUTPUT), 0.507, 1e-12);
}

static void conversions(void **state)
{
    (void)state;
    near(jm_kwh_per_mtok(0.39), 0.108, 0.0005);
    near(jm_kwh_per_mtok(1), 0.278, 0.0005);
    near(jm_kwh_per_mtok(1), 1 / 3.6, 1e-15);
    near(jm_j_per_token_from_kwh_per_mtok(jm_kwh_per_mtok(0.39)), 0.39, 1e-15);
    near(jm_tokens_per_j(0.39), 2.5641025641, 1e-9);
    near(jm_requests_per_kwh(3600), 1000, 1e-9);
    near(jm_kwh(3.6e6), 1, 0);
    near(jm_joules_from_wh(0.24), 864, 1e-12);
    near(jm_j_per_token_from_sample(111.4, 292), 0.38, 0.002); /* Llama2-70B at the wall */
    /* eight boards of 700 W at 2,800 tokens/s, PUE 1.4; 4,200 tokens/s in FP8 (lo0, "Energy benchmarking in
     * AI") */
    near(jm_j_per_token(8 * 700, 2800), 2.0, 1e-12);
    near(jm_facility(2.0, 1.4), 2.8, 1e-12);
    near(jm_kwh_per_mtok(2.0), 0.56, 0.005);
    near(jm_kwh_per_mtok(2.8), 0.78, 0.005);
    near(jm_j_per_token(8 * 700, 4200), 1.33, 0.005);
    assert_true(isnan(jm_j_per_token(1, 0)));
    assert_true(isnan(jm_facility(1, 0.9)));
    assert_true(isnan(jm_facility(1, NAN)));
    assert_true(isnan(jm_net_of_idle(1, 1, 0)));
}

/* A node of 8 x 700 W at 2,800 tokens/s: 5,600 W / 2,800 = 2.0 J/token, x PUE 1.4 = 2.8, 0.56 and 0.78 kWh
 * per million; at 4,200 tokens/s 1.33 J/token. */
static void identities(void **state)
{
    (void)state;
    double watts = 8 * 700, second = 1;
    near(jm_j_per_token(watts * second, 2800), 2.0, 1e-12);
    near(jm_facility(jm_j_per_token(watts, 2800), 1.4), 2.8, 1e-12);
    near(jm_kwh_per_mtok(2.0), 0.56, 0.005);
    near(jm_kwh_per_mtok(2.8), 0.78, 0.005);
    near(jm_j_per_token(watts, 4200), 1.33, 0.005);
}

/* Three repeats: 0.385, 0.392, 0.396 J/token: 0.391 +- 0.014 with t = 4.303. */
static void repeats(void **state)
{
    (void)state;
    double x[3] = {0.385, 0.392, 0.396}, mean;
    struct jm_interval iv;
    assert_int_equal(jm_stats_t_interval(x, 3, 0.95, &mean, &iv), 0);
    near(mean, 0.391, 0.0005);
    near(jm_stats_sd(x, 3), 0.0056, 0.00005);
    near((iv.hi - iv.lo) / 2, 0.014, 0.0005);
    near(jm_stats_t_quantile(0.975, 2), 4.303, 0.0005);
}

/* 4 s at 700 W, 11 s at 300 W, mean 406.7 W. A scrape every 15 s sees only one of the two: +72 % or -26 %;
 * the counter does not care. */
static void scrape(void **state)
{
    (void)state;
    enum { CYCLES = 40 };
    struct jm_channel c = gauge_w(JM_G_INSTANT, 0), k = counter_mj();
    double truth = 6100.0 / 15, mean[2];
    for (int lull = 0; lull < 2; lull++) {
        struct jm_reading r[CYCLES];
        for (int i = 0; i < CYCLES; i++) {
            int64_t t = i * 15 * S + (lull ? 9 : 2) * S;
            r[i] = (struct jm_reading){.t0 = t, .t1 = t, .value = lull ? 300 : 700};
        }
        struct jm_mlperf_mean m;
        jm_mlperf_mean(&c, r, CYCLES, -1, CYCLES * 15 * S, true, &m);
        assert_int_equal(m.n, CYCLES);
        mean[lull] = m.watts;
    }
    near(mean[0] / truth - 1, 0.72, 0.005);
    near(mean[1] / truth - 1, -0.26, 0.005);
    static struct jm_reading r[CYCLES * 150 + 40];
    size_t n = sizeof r / sizeof r[0];
    uint64_t mj = 7;
    for (size_t i = 0; i < n; i++) {
        r[i] = (struct jm_reading){
            .t0 = (int64_t)i * (S / 10), .t1 = (int64_t)i * (S / 10), .value = (int64_t)mj};
        mj += (i % 150) < 40 ? 70000 : 30000;
    }
    struct jm_energy e;
    assert_int_equal(jm_energy_counter(&k, r, n, S, S + CYCLES * 15 * S, &e), 0);
    assert_int_equal(e.status, JM_S_OK);
    near(e.joules, CYCLES * 6100, 1e-6);
}

/* v1.0 to v3.0 averaged everything in the window in, from v3.1 on values <= 0 are left out; both edges are
 * outside. (Xavier NX, v2.0: five samples of -2 pulled 13.60520 W down to 13.59997 W.) */
static void mlperf_mean(void **state)
{
    (void)state;
    struct jm_channel c = gauge_w(JM_G_BLOCK_MEAN, S);
    c.scale10 = -2;
    int64_t v[6] = {99999, 1000, -200, 3000, 2000, 99999};
    struct jm_reading r[6];
    for (int i = 0; i < 6; i++)
        r[i] = (struct jm_reading){.t0 = i * S, .t1 = i * S, .value = v[i]};
    struct jm_mlperf_mean m;
    jm_mlperf_mean(&c, r, 6, 0, 5 * S, false, &m);
    near(m.watts, (10 - 2 + 30 + 20) / 4.0, 1e-12);
    assert_int_equal(m.n, 4);
    jm_mlperf_mean(&c, r, 6, 0, 5 * S, true, &m);
    near(m.watts, 20, 1e-12);
    assert_int_equal(m.n, 3);
    assert_int_equal(m.dropped, 1);
    jm_mlperf_mean(&c, r, 6, 0, 1, true, &m);
    assert_true(isnan(m.watts));
    assert_int_equal(m.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boundaries), cmocka_unit_test(conversions), cmocka_unit_test(identities),
        cmocka_unit_test(repeats),    cmocka_unit_test(scrape),      cmocka_unit_test(mlperf_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
