/* SPDX-License-Identifier: Apache-2.0 */
/* Power gauges, by what a value means. Expected values are worked out by hand beside each case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "compute/compute.h"
#include "compute/observe.h"

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

static struct jm_reading r[4000];
static size_t n;

static struct jm_channel channel(enum jm_gauge_sem sem, int64_t period, int64_t window)
{
    struct jm_channel c = {
        .kind = JM_CH_GAUGE, .unit = JM_U_W, .sem = sem, .period_ns = period, .window_ns = window};
    c.scale10 = -3;
    c.gain_tol = c.offset_tol = NAN;
    return c;
}

static void put(int64_t t, double watts)
{
    r[n++] = (struct jm_reading){.t0 = t, .t1 = t, .value = llround(watts * 1000)};
}

static struct jm_energy energy(const struct jm_channel *c, int64_t t0, int64_t t1)
{
    struct jm_energy e;
    assert_int_equal(jm_energy_gauge(c, r, n, t0, t1, &e), 0);
    return e;
}

static void near(double got, double want, double tol)
{
    if (!(fabs(got - want) <= tol))
        fail_msg("got %.9g, want %.9g", got, want);
}

static void is(const struct jm_energy *e, enum jm_status st)
{
    if (e->status != st)
        fail_msg("status %s (%s), want %s", jm_status_name((int)e->status), e->note, jm_status_name(st));
    if (st != JM_S_OK)
        assert_true(isnan(e->joules) && isnan(e->u));
}

/* Values at their own stamps, 1 s apart, P = 100 W + 10 W/s x t. From 2.5 to 7.5 s the mean is 150 W: 750 J.
 */
static void instant(void **state)
{
    (void)state;
    struct jm_channel c = channel(JM_G_INSTANT, 0, 0);
    n = 0;
    for (int i = 0; i <= 12; i++)
        put(i * S, 100 + 10 * i);
    struct jm_energy e = energy(&c, 2500 * MS, 7500 * MS);
    is(&e, JM_S_OK);
    near(e.joules, 750, 1e-9);
    assert_string_equal(e.method, "trapezoid");
    assert_int_equal(e.n_gaps, 0);
    near(e.covered_s, 5, 1e-9);
    /* uneven stamps: 0 s 100 W, 1 s 300 W, 3 s 100 W, 4 s 100 W: 0.5 to 3.5 s is
     * 0.5 x (200 + 300) / 2 + 2 x 200 + 0.5 x 100 = 125 + 400 + 50 = 575 J */
    n = 0;
    put(0, 100);
    put(S, 300);
    put(3 * S, 100);
    put(4 * S, 100);
    e = energy(&c, 500 * MS, 3500 * MS);
    is(&e, JM_S_OK);
    near(e.joules, 575, 1e-9);
}

/* A power analyzer: each line is the mean of the second that ended. Blocks 100, 200, 300, ... W end at 1, 2,
 * 3 s
 * ...; from 1.5 to 4 s: 0.5 x 200 + 300 + 400 = 800 J. */
static void blocks(void **state)
{
    (void)state;
    struct jm_channel c = channel(JM_G_BLOCK_MEAN, S, 0);
    c.flags = JM_CHF_STAMPED;
    n = 0;
    for (int i = 1; i <= 12; i++)
        put(i * S, 100 * i);
    struct jm_energy e = energy(&c, 1500 * MS, 4 * S);
    is(&e, JM_S_OK);
    near(e.joules, 800, 1e-9);
    near(e.u_timing, 0, 0);
    /* the line at 3 s is missing: its block is a gap, for which the mean of both sides stands: 100 + 300 +
     * 400 */
    memmove(r + 2, r + 3, 9 * sizeof r[0]);
    n--;
    e = energy(&c, 1500 * MS, 12 * S);
    is(&e, JM_S_OK);
    near(e.joules, 100 + 300 + 100 * (4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12), 1e-9);
    assert_int_equal(e.n_gaps, 1);
    near(e.gap_s, 1, 1e-9);
    assert_true(e.u_gap > 0);
}

/* 1 s trailing mean, refreshed and read every 100 ms. Power steps from 300 to 700 W at 10 s, so the mean
 * climbs from 10 to 11 s; its middle is half a second late. Read as it comes, 5 to 15 s would give 4800 J;
 * the truth is 5 x 300 + 5 x 700 = 5000 J. A poll can be up to 100 ms older, taken as 50: 0.05 s x (700 -
 * 300) W = 20 J where the polls meet each refresh at once. */
static void trailing(void **state)
{
    (void)state;
    struct jm_channel c = channel(JM_G_TRAILING_MEAN, 100 * MS, S);
    n = 0;
    for (int i = 0; i <= 200; i++) {
        double t = 0.1 * i, share = t <= 10 ? 0 : t >= 11 ? 1 : t - 10;
        put(i * 100 * MS, 300 + 400 * share);
    }
    struct jm_energy e = energy(&c, 5 * S, 15 * S);
    is(&e, JM_S_OK);
    near(e.joules, 5000 + 20, 1e-6);
    near(e.u_timing, 400 * 0.1 / sqrt(12), 2); /* a little less: the climb takes part of a beat */
    assert_string_equal(e.method, "trailing-shifted");
    /* the readings stop at the end of the window: the last half second is held, and declared */
    n = 151;
    e = energy(&c, 5 * S, 15 * S);
    is(&e, JM_S_OK);
    assert_int_equal(e.n_gaps, 1);
    near(e.gap_s, 0.55, 1e-6);
    near(e.joules, 5000 + 20, 1e-6);
}

/* 25 of 100 ms at a constant 400 W: 4000 J in 10 s, and nothing unseen that could matter. With bursts it
 * does. */
static void partial(void **state)
{
    (void)state;
    struct jm_channel c = channel(JM_G_PARTIAL, 100 * MS, 25 * MS);
    n = 0;
    for (int i = 0; i <= 200; i++)
        put(i * 100 * MS, 400);
    struct jm_energy e = energy(&c, 5 * S, 15 * S);
    is(&e, JM_S_OK);
    near(e.joules, 4000, 1e-9);
    near(e.u_sampling, 0, 0);
    n = 0;
    for (int i = 0; i <= 200; i++)
        put(i * 100 * MS, (unsigned)i * 2654435761u >> 31 ? 600 : 300);
    e = energy(&c, 5 * S, 15 * S);
    is(&e, JM_S_OK);
    /* independent values, sd 150 W: 100 cells of 0.1 s. What 25 ms say about 100 ms of noise with a
     * correlation time of 15 ms: seen sd 150 = sigma sqrt(2 (x - 1 + e^-x)) / x, x = 25/15; the whole 100 ms
     * average out more. Var = 100 x (0.1 s)^2 x (150^2 - what the cell's own mean keeps), about 0.1 x 150 x
     * 10 x 0.76 = 114 J. */
    near(e.u_sampling, 114, 25);
}

/* Repeats are data; a value that cannot be read is not held. */
static void gaps(void **state)
{
    (void)state;
    struct jm_channel c = channel(JM_G_BLOCK_MEAN, 100 * MS, 0);
    n = 0;
    for (int i = 0; i <= 300; i++) {
        put(i * 100 * MS, 250);
        if (i >= 100 && i < 105)
            r[n - 1].status = JM_S_GAP;
    }
    struct jm_energy e = energy(&c, 5 * S, 25 * S);
    is(&e, JM_S_OK);
    near(e.joules, 5000, 1e-6);
    assert_int_equal(e.n_gaps, 1);
    near(e.gap_s, 0.5, 0.11);
    near(e.u_gap, 0, 1e-9); /* nothing ever moved */
    for (int i = 100; i < 160; i++)
        r[i].status = JM_S_LOST;
    e = energy(&c, 5 * S, 25 * S);
    is(&e, JM_S_GAP);
    near(e.lower_bound, 5000, 1);
    for (int i = 160; i <= 300; i++)
        r[i].status = JM_S_LOST;
    e = energy(&c, 5 * S, 25 * S);
    is(&e, JM_S_LOST);
    near(e.lower_bound, 250 * 4.9, 30);
    for (size_t i = 0; i < n; i++)
        r[i].status = JM_S_DENIED;
    e = energy(&c, 5 * S, 25 * S);
    is(&e, JM_S_DENIED);
    n = 0;
    e = energy(&c, 5 * S, 25 * S);
    is(&e, JM_S_ABSENT);
}

/* A slow instrument in a short window: every 5 s by itself, and twice around each edge, which is most of what
 * there is of it. 250 W for 10 s. */
static void edges(void **state)
{
    (void)state;
    static const int64_t own[] = {0, 5000}, edge[] = {2, 60, 10055, 10065}; /* ms */
    struct jm_channel c = channel(JM_G_INSTANT, 0, 0);
    n = 0;
    for (int i = 0, k = 0; i + k < 6;) {
        bool at_edge = i == 2 || (k < 4 && edge[k] < own[i]);
        put((at_edge ? edge[k++] : own[i++]) * MS, 250);
        r[n - 1].flags = at_edge ? JM_RF_EDGE : 0;
    }
    struct jm_energy e = energy(&c, 50 * MS, 10050 * MS);
    is(&e, JM_S_OK);
    near(e.joules, 2500, 1e-6);
    assert_int_equal(e.n_gaps, 0);
    n = 0; /* and what is a gap at its pace stays one */
    for (int i = 0; i <= 60; i++)
        if (i < 20 || i >= 40)
            put(i * S, 250);
    e = energy(&c, 0, 60 * S);
    is(&e, JM_S_GAP);
}

/* lm-sensors#460: 0xffffffff mW is an error value, 4294967 W; nothing outside the sanity bound is counted. */
static void implausible(void **state)
{
    (void)state;
    struct jm_channel c = channel(JM_G_INSTANT, 0, 0);
    c.sane_max = 1000;
    n = 0;
    for (int i = 0; i <= 300; i++)
        put(i * 100 * MS, i == 150 ? 4294967.295 : 250);
    struct jm_energy e = energy(&c, 5 * S, 25 * S);
    is(&e, JM_S_OK);
    near(e.joules, 5000, 1e-6);
    assert_int_equal(e.n_gaps, 1);
}

/* Known accuracy: 1 % of the value and 2 W, over 10 s at 300 W: 30 + 20 J. */
static void gain(void **state)
{
    (void)state;
    struct jm_channel c = channel(JM_G_INSTANT, 0, 0);
    n = 0;
    for (int i = 0; i <= 300; i++)
        put(i * 100 * MS, 300);
    struct jm_energy e = energy(&c, 5 * S, 15 * S);
    assert_true(isnan(e.gain_bound));
    c.gain_tol = 0.01;
    c.offset_tol = 2;
    e = energy(&c, 5 * S, 15 * S);
    near(e.gain_bound, 50, 1e-9);
    near(jm_energy_halfwidth(&e, 0.95, true), 0.95 * 50, 0.01);
}

/* What polls make of a gauge: every change is one observation, its time bracketed by the poll before; a value
 * that stands for three periods gives three. */
static void observations(void **state)
{
    (void)state;
    struct jm_channel c = channel(JM_G_BLOCK_MEAN, 100 * MS, 0);
    n = 0;
    for (int i = 0; i <= 50; i++) /* polls every 20 ms; the value changes at 300 and 600 ms */
        put(i * 20 * MS, i < 15 ? 100 : i < 30 ? 200 : 300);
    struct jm_observer o;
    struct jm_observation x;
    double at[16], value[16];
    int k = 0;
    jm_observer_init(&o, &c, r, n, 0, 0.1, 0.02, 1);
    while (jm_observer_next(&o, &x) && k < 16) {
        at[k] = x.at;
        value[k++] = x.value;
        assert_false(x.after_gap);
    }
    /* -0.05 (first poll), holds, 0.29 = middle of (0.28, 0.30], two holds, 0.59, holds to the end */
    assert_true(k >= 10);
    int i200 = 0, i300 = 0;
    while (value[i200] < 200)
        i200++;
    while (value[i300] < 300)
        i300++;
    near(at[i200], 0.29, 1e-9);
    near(at[i300], 0.59, 1e-9);
    assert_int_equal(i300 - i200, 3);
    near(at[i200 - 1], 0.19, 0.03);
    near(at[i300 - 1], 0.49, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instant), cmocka_unit_test(blocks), cmocka_unit_test(trailing),
        cmocka_unit_test(partial), cmocka_unit_test(gaps),   cmocka_unit_test(implausible),
        cmocka_unit_test(gain),    cmocka_unit_test(edges),  cmocka_unit_test(observations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
