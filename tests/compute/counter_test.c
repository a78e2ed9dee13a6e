/* SPDX-License-Identifier: Apache-2.0 */
/* Energy counters, status by status. Expected values are worked out by hand beside each case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "compute/compute.h"

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

static struct jm_reading r[4000];
static size_t n;

static struct jm_channel channel(void)
{
    struct jm_channel c = {.kind = JM_CH_COUNTER, .unit = JM_U_J, .scale10 = -3, .period_ns = 100 * MS};
    c.gain_tol = c.offset_tol = NAN;
    return c;
}

static void put(int64_t t, uint64_t value)
{
    r[n++] = (struct jm_reading){.t0 = t, .t1 = t, .value = (int64_t)value};
}

static void bad(int64_t t, enum jm_status st)
{
    r[n++] = (struct jm_reading){.t0 = t, .t1 = t, .status = (uint8_t)st};
}

/* `watts` from t on, one reading a refresh (100 ms) over `seconds`; returns the last value. */
static uint64_t steady(int64_t t, double seconds, uint64_t value, unsigned watts)
{
    int k = (int)lround(seconds * 10);
    for (int i = 0; i < k; i++) {
        value += watts * 100; /* mJ in 0.1 s */
        put(t + (i + 1) * 100 * MS, value);
    }
    return value;
}

static struct jm_energy energy(const struct jm_channel *c, int64_t t0, int64_t t1)
{
    struct jm_energy e;
    assert_int_equal(jm_energy_counter(c, r, n, t0, t1, &e), 0);
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
    if (st != JM_S_OK && st != JM_S_WRAPPED)
        assert_true(isnan(e->joules) && isnan(e->u));
}

/* 400 W for 20 s, window 5 to 15 s: 4000 J. Polls at the refresh period leave the refresh unknown by 100 ms:
 * u = 400 W x 0.1 s / sqrt 12 at each edge = 11.5 J, sqrt 2 x that for both = 16.3 J. */
static void plain(void **state)
{
    (void)state;
    struct jm_channel c = channel();
    n = 0;
    put(0, 77);
    steady(0, 20, 77, 400);
    struct jm_energy e = energy(&c, 5 * S, 15 * S);
    is(&e, JM_S_OK);
    near(e.joules, 4000, 1e-9);
    near(e.u_timing, 400 * 0.1 * sqrt(2.0 / 12), 0.2);
    assert_int_equal(e.n_gaps, 0);
    assert_false(e.wrapped);
    assert_true(isnan(e.gain_bound));
    c.gain_tol = 0.05;
    e = energy(&c, 5 * S, 15 * S);
    near(e.gain_bound, 200, 1e-9);
}

/* RAPL, unit 2^-16 J, range 2^32 counts = 65536 J. It stands 1000 J below the wrap at the start; 300 W for
 * 10 s is 3000 J, so it wraps once. */
static void wrap(void **state)
{
    (void)state;
    struct jm_channel c = channel();
    c.scale10 = 0;
    c.scale2 = -16;
    c.modulus = UINT64_C(1) << 32;
    c.sane_max = 1000;
    n = 0;
    uint64_t v = c.modulus - 1000 * 65536 - 5 * 300 * 65536;
    for (int i = 0; i <= 200; i++)
        put(i * 100 * MS, (v + (uint64_t)i * 30 * 65536) % c.modulus);
    struct jm_energy e = energy(&c, 5 * S, 15 * S);
    is(&e, JM_S_WRAPPED);
    assert_true(e.wrapped);
    near(e.joules, 3000, 1e-9);
    /* the same decrease where nothing says that the counter wraps is a reset */
    c.modulus = 0;
    e = energy(&c, 5 * S, 15 * S);
    is(&e, JM_S_RESET);
    /* before the wrap: 5 s + 3.3 s of 300 W lie between whole readings: lower bound 30 J x 99 steps at most
     */
    assert_true(e.lower_bound > 2900 && e.lower_bound <= 2970 + 1e-9);
}

/* The counter falls from 2^31 to 10 in 0.1 s: undone as a wrap that would be 32 kJ in 0.1 s, which 1000 W
 * cannot do: a reset. */
static void implausible_wrap(void **state)
{
    (void)state;
    struct jm_channel c = channel();
    c.scale10 = 0;
    c.scale2 = -16;
    c.modulus = UINT64_C(1) << 32;
    c.sane_max = 1000;
    n = 0;
    for (int i = 0; i <= 100; i++)
        put(i * 100 * MS, (i < 50 ? UINT64_C(1) << 31 : 0) + (uint64_t)i * 30 * 65536);
    struct jm_energy e = energy(&c, 2 * S, 8 * S);
    is(&e, JM_S_RESET);
    near(e.lower_bound, 30 * 59, 1e-9); /* 60 steps of 30 J in the window, one of them the reset */
}

/* 65536 J of range at up to 3000 W go round in 21.8 s. A hole of 25 s may hide a second wrap; one of 15 s may
 * not. */
static void ambiguous(void **state)
{
    (void)state;
    struct jm_channel c = channel();
    c.scale10 = 0;
    c.scale2 = -16;
    c.modulus = UINT64_C(1) << 32;
    c.sane_max = 3000;
    for (int hole = 15; hole <= 25; hole += 10) {
        n = 0;
        for (int i = 0; i <= 600; i++)
            if (i < 200 || i > 200 + 10 * hole)
                put(i * 100 * MS, (uint64_t)i * 30 * 65536);
        struct jm_energy e = energy(&c, 5 * S, 55 * S);
        if (hole == 15) {
            is(&e, JM_S_OK);
            near(e.joules, 15000, 1e-6);
        } else {
            is(&e, JM_S_WRAPPED);
            assert_true(isnan(e.joules));
            assert_false(jm_energy_has_value(&e));
            assert_true(isnan(jm_energy_halfwidth(&e, 0.95, true)));
            assert_true(e.lower_bound > 0 && e.lower_bound <= 15000);
        }
    }
}

/* A 64-bit counter of mJ that passes 2^63: nothing happens. */
static void unsigned_safe(void **state)
{
    (void)state;
    struct jm_channel c = channel();
    n = 0;
    uint64_t v = (UINT64_C(1) << 63) - 700 * 1000 * 3;
    put(0, v);
    steady(0, 20, v, 700);
    struct jm_energy e = energy(&c, 2 * S, 12 * S);
    is(&e, JM_S_OK);
    near(e.joules, 7000, 1e-9);
    /* and one that passes 2^64 wraps there when its modulus cannot be named (2^64 does not fit): a reset */
    n = 0;
    v = UINT64_MAX - 700 * 1000 * 5;
    put(0, v);
    steady(0, 20, v, 700);
    e = energy(&c, 2 * S, 12 * S);
    is(&e, JM_S_RESET);
}

/* Driver reload at 8 s: the counter starts again at 0. 300 W: 3 s before (from 5 s) and 7 s after are known;
 * the step over the reset is not. Lower bound 300 W x 9.9 s = 2970 J. */
static void reset(void **state)
{
    (void)state;
    struct jm_channel c = channel();
    n = 0;
    put(0, 1000000);
    steady(0, 8, 1000000, 300);
    put(8 * S + 100 * MS, 0);
    steady(8 * S + 100 * MS, 12, 0, 300);
    struct jm_energy e = energy(&c, 5 * S, 15 * S);
    is(&e, JM_S_RESET);
    near(e.lower_bound, 2970, 1e-6);
    /* beside the window it does no harm */
    e = energy(&c, 9 * S, 15 * S);
    is(&e, JM_S_OK);
    near(e.joules, 1800, 1e-6);
    e = energy(&c, 1 * S, 7 * S);
    is(&e, JM_S_OK);
    near(e.joules, 1800, 1e-6);
}

static void frozen(void **state)
{
    (void)state;
    struct jm_channel c = channel();
    n = 0;
    put(0, 5);
    uint64_t v = steady(0, 6, 5, 300);
    for (int i = 1; i <= 140; i++)
        put(6 * S + i * 100 * MS, v);
    struct jm_energy e = energy(&c, 2 * S, 15 * S);
    is(&e, JM_S_STALE);
    near(e.lower_bound, 1200, 1e-6); /* 2 to 6 s at 300 W */
    /* frozen only after the window */
    e = energy(&c, S, 5 * S);
    is(&e, JM_S_OK);
    near(e.joules, 1200, 1e-6);
    /* never moved: a virtual machine's RAPL */
    n = 0;
    for (int i = 0; i <= 200; i++)
        put(i * 100 * MS, 0);
    e = energy(&c, 2 * S, 15 * S);
    is(&e, JM_S_ABSENT);
}

/* A kWh register (one count 3600 J at 0.001 kWh) does not move during 10 s of 300 W: too coarse, not frozen.
 */
static void coarse(void **state)
{
    (void)state;
    struct jm_channel c = channel();
    c.scale10 = 2;
    c.period_ns = S;
    n = 0;
    for (int i = 0; i <= 40; i++)
        put(i * S, 36000);
    struct jm_energy e = energy(&c, 10 * S, 30 * S);
    is(&e, JM_S_BELOW_RESOLUTION);
}

/* An outlet's register in steps of 0.1 kWh, kept as multiples of 100 J, at 3 kW: a step of 360 kJ each 120 s.
 * Still for two minutes it is not frozen; 600 s (5 steps) tell too little; 3600 s are 10.8 MJ, each end
 * somewhere in its step: a standard uncertainty of 360 kJ / sqrt(6). */
static void steps_of_many_counts(void **state)
{
    (void)state;
    struct jm_channel c = channel();
    c.scale10 = 2;
    c.period_ns = S;
    c.offset_tol = 360e3;
    n = 0;
    for (int t = 0; t < 3900; t++)
        put(t * S, 3600 * (uint64_t)((3000 * (int64_t)t + 77777) / 360000));
    struct jm_energy e = energy(&c, 100 * S, 700 * S);
    is(&e, JM_S_BELOW_RESOLUTION);
    e = energy(&c, 100 * S, 3700 * S);
    is(&e, JM_S_OK);
    near(e.joules, 10.8e6, 360e3);
    assert_true(e.u >= 360e3 / sqrt(6) && e.u <= 360e3);
}

/* PAPI#525, pyJoules#17: two reads within a refresh period show no energy. That is not 0 J. */
static void below_resolution(void **state)
{
    (void)state;
    struct jm_channel c = channel();
    n = 0;
    put(0, 5);
    steady(0, 10, 5, 300);
    struct jm_energy e = energy(&c, 5 * S + 10 * MS, 5 * S + 90 * MS);
    is(&e, JM_S_BELOW_RESOLUTION);
    e = energy(&c, 5 * S, 5 * S + 300 * MS);
    is(&e, JM_S_OK);
    near(e.joules, 90, 1e-6);
}

static void gaps(void **state)
{
    (void)state;
    struct jm_channel c = channel();
    n = 0;
    put(0, 0);
    uint64_t v = steady(0, 8, 0, 300);
    bad(8 * S + 100 * MS, JM_S_GAP);
    bad(8 * S + 200 * MS, JM_S_GAP);
    v += 300 * 300;
    put(8 * S + 300 * MS, v);
    steady(8 * S + 300 * MS, 12, v, 300);
    struct jm_energy e = energy(&c, 5 * S, 15 * S);
    is(&e, JM_S_OK); /* a counter goes on counting: the gap is declared and costs nothing */
    near(e.joules, 3000, 1e-6);
    assert_int_equal(e.n_gaps, 1);
    near(e.gap_s, 0.3, 1e-9);
    /* readings end before the window does */
    e = energy(&c, 5 * S, 25 * S);
    is(&e, JM_S_GAP);
    assert_true(e.lower_bound > 4500 && e.lower_bound <= 4600);
    e = energy(&c, -5 * S, 5 * S);
    is(&e, JM_S_GAP);
    n = 0;
    e = energy(&c, 0, S);
    is(&e, JM_S_ABSENT);
    assert_true(isnan(e.lower_bound));
}

static void lost(void **state)
{
    (void)state;
    struct jm_channel c = channel();
    n = 0;
    put(0, 0);
    steady(0, 8, 0, 300);
    for (int i = 1; i < 80; i++)
        bad(8 * S + i * 100 * MS, JM_S_LOST);
    struct jm_energy e = energy(&c, 5 * S, 15 * S);
    is(&e, JM_S_LOST);
    near(e.lower_bound, 900, 1e-6);
    n = 0;
    for (int i = 0; i < 80; i++)
        bad(i * 100 * MS, JM_S_DENIED);
    e = energy(&c, S, 5 * S);
    is(&e, JM_S_DENIED);
    n = 0;
    for (int i = 0; i < 20; i++)
        bad(i * 100 * MS, JM_S_UNSUPPORTED);
    steady(2 * S, 10, 0, 300);
    e = energy(&c, S, 5 * S);
    is(&e, JM_S_UNSUPPORTED);
}

static void suspended(void **state)
{
    (void)state;
    struct jm_channel c = channel();
    n = 0;
    put(0, 0);
    uint64_t v = steady(0, 8, 0, 300);
    bad(8 * S + 100 * MS, JM_S_SUSPENDED);
    steady(8 * S + 100 * MS, 12, v, 300);
    struct jm_energy e = energy(&c, 5 * S, 15 * S);
    is(&e, JM_S_SUSPENDED);
    assert_true(e.lower_bound > 2900 && e.lower_bound < 3000);
    e = energy(&c, 9 * S, 15 * S);
    is(&e, JM_S_OK);
}

/* A count that no device can have made: 1 MJ within 0.1 s on a channel that allows 1000 W. */
static void jump(void **state)
{
    (void)state;
    struct jm_channel c = channel();
    c.sane_max = 1000;
    n = 0;
    put(0, 0);
    uint64_t v = steady(0, 8, 0, 300);
    steady(8 * S, 12, v + 1000000000, 300);
    struct jm_energy e = energy(&c, 5 * S, 15 * S);
    is(&e, JM_S_IMPLAUSIBLE);
    near(e.lower_bound, 2970, 1e-6);
}

/* A register of whole kWh (3.6 MJ, 36000 counts of 100 J) behind 20 kW: a step every 180 s, whose two
 * readings stand 1 s apart. 100 kW are allowed, which is 0.1 MJ in that second, and the step is no jump.
 * Three of them are too few for a value. Two kWh at once are one that nothing made. */
static void coarse_step(void **state)
{
    (void)state;
    struct jm_channel c = {.kind = JM_CH_COUNTER,
                           .unit = JM_U_J,
                           .scale10 = 2,
                           .gain_tol = NAN,
                           .offset_tol = 3.6e6,
                           .sane_max = 100e3};
    for (int step = 1; step <= 2; step++) {
        n = 0;
        for (int t = 0; t <= 720; t++)
            put(t * S, (uint64_t)(t / 180 * 36000 * step));
        struct jm_energy e = energy(&c, 60 * S, 600 * S);
        is(&e, step == 1 ? JM_S_BELOW_RESOLUTION : JM_S_IMPLAUSIBLE);
    }
}

static void arguments(void **state)
{
    (void)state;
    struct jm_channel c = channel();
    struct jm_energy e;
    assert_int_equal(jm_energy_counter(&c, r, 0, 5, 5, &e), JM_EINVAL);
    assert_int_equal(jm_energy_counter(&c, r, 0, 6, 5, &e), JM_EINVAL);
    assert_int_equal(jm_energy_counter(NULL, r, 0, 0, 5, &e), JM_EINVAL);
    c.kind = JM_CH_GAUGE;
    assert_int_equal(jm_energy_counter(&c, r, 0, 0, 5, &e), JM_EINVAL);
    c.unit = JM_U_CELSIUS;
    assert_int_equal(jm_energy_gauge(&c, r, 0, 0, 5, &e), JM_EINVAL);
    assert_true(isnan(e.joules));
}

/* 700 W until 10.05 s, then 300 W; refreshes at 9.9, 10.0, 10.1, 10.2 s, polled every millisecond around
 * them. The window ends at 10.08 s: from 5 s, 700 x 5.05 + 300 x 0.03 = 3544 J. A straight line in the
 * interval that holds the step would say 3500 + 0.8 x 50 J = 3540 J. */
static void step_in_the_edge(void **state)
{
    (void)state;
    struct jm_channel c = channel();
    n = 0;
    for (int64_t t = 0; t <= 12000;) {
        int64_t k = t / 100 * 100; /* the last refresh, ms */
        uint64_t mj = k <= 10050 ? (uint64_t)k * 700 : 10050u * 700 + (uint64_t)(k - 10050) * 300;
        put(t * MS, mj);
        bool edge = (t >= 4700 && t < 5400) || (t >= 9700 && t < 10500);
        t += edge ? 1 : 100;
    }
    struct jm_energy e = energy(&c, 5 * S, 10080 * MS);
    is(&e, JM_S_OK);
    assert_non_null(strstr(e.note, "step"));
    near(e.joules, 3544, 0.8); /* the polls know each refresh to 1 ms: 700 W x 1 ms */
    assert_string_equal(e.method, "counter-burst");
    near(e.u_timing, 700e-3 / sqrt(12), 0.15);
}

static void mirrored(void **state)
{
    (void)state;
    struct jm_channel c = channel();
    static struct jm_reading other[4000];
    n = 0;
    put(0, 5);
    steady(0, 20, 5, 300);
    for (size_t i = 0; i < n; i++) { /* the same register by another name, other base, read 3 ms later */
        other[i] = r[i];
        other[i].value += 12345678;
        other[i].t0 += 3 * MS;
        other[i].t1 += 3 * MS;
    }
    assert_true(jm_counter_mirrored(&c, r, n, &c, other, n, 5, 0.02));
    for (size_t i = 0; i < n; i++) /* another package that draws 10 % more */
        other[i].value = r[i].value * 11 / 10;
    assert_false(jm_counter_mirrored(&c, r, n, &c, other, n, 5, 0.02));
    assert_false(jm_counter_mirrored(&c, r, 1, &c, other, n, 5, 0.02));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),
        cmocka_unit_test(wrap),
        cmocka_unit_test(implausible_wrap),
        cmocka_unit_test(ambiguous),
        cmocka_unit_test(unsigned_safe),
        cmocka_unit_test(reset),
        cmocka_unit_test(frozen),
        cmocka_unit_test(coarse),
        cmocka_unit_test(below_resolution),
        cmocka_unit_test(gaps),
        cmocka_unit_test(lost),
        cmocka_unit_test(suspended),
        cmocka_unit_test(jump),
        cmocka_unit_test(coarse_step),
        cmocka_unit_test(arguments),
        cmocka_unit_test(step_in_the_edge),
        cmocka_unit_test(mirrored),
        cmocka_unit_test(steps_of_many_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
