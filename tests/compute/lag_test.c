/* SPDX-License-Identifier: Apache-2.0 */
/* Lags with a known truth: instruments made here, apart from src/, that refresh at their own period and
 * phase, show the mean of a known power over their window as it was `lag` ago, in steps of a quantum, with
 * noise, and are polled at a period of their own. Seeds are fixed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "compute/lag.h"

#define STEPS 400
#define POLLS 200000

struct truth {
    double t[STEPS], y[STEPS]; /* power from t[i] on */
    size_t n;
    double end;
};

/* Idle and full in turn, random dwells, with idle of `rest` at both ends. */
static struct truth pattern(uint64_t seed, int n, double shortest, double longest, double rest)
{
    struct truth p = {.n = 1};
    struct jm_rng rng;
    double t = rest;
    jm_rng_init(&rng, seed);
    p.y[0] = 100;
    for (int i = 0; i < n; i++) {
        p.t[p.n] = t;
        p.y[p.n++] = i % 2 ? 100 : 400;
        t += shortest + (longest - shortest) * jm_rng_unit(&rng);
    }
    p.t[p.n] = t;
    p.y[p.n++] = 100;
    p.end = t + rest;
    return p;
}

/* By plain summation over the pieces. */
static double mean_of(const struct truth *p, double from, double to)
{
    double sum = 0;
    if (!(to - from > 1e-9)) {
        for (size_t i = p->n; i-- > 0;)
            if (p->t[i] <= to || i == 0)
                return p->y[i];
    }
    for (size_t i = 0; i < p->n; i++) {
        double a = i ? p->t[i] : -1e9, b = i + 1 < p->n ? p->t[i + 1] : 1e9;
        a = a > from ? a : from;
        b = b < to ? b : to;
        sum += b > a ? (b - a) * p->y[i] : 0;
    }
    return sum / (to - from);
}

struct instrument {
    double period, window, lag, phase, gain, offset, noise, quantum, poll;
};

static size_t poll_it(const struct truth *p, const struct instrument *x, uint64_t seed, struct jm_reading *r)
{
    struct jm_rng rng;
    size_t n = 0;
    double last = NAN, value = 0;
    jm_rng_init(&rng, seed);
    for (double t = 0.003; t < p->end && n < POLLS; t += x->poll) {
        double tick = x->phase + floor((t - x->phase) / x->period) * x->period;
        if (tick != last) {
            double v = x->offset + x->gain * mean_of(p, tick - x->lag - x->window, tick - x->lag) +
                       x->noise * jm_rng_normal(&rng);
            value = x->quantum * floor(v / x->quantum + 0.5);
            last = tick;
        }
        r[n++] = (struct jm_reading){.t0 = (int64_t)(t * 1e9),
                                     .t1 = (int64_t)(t * 1e9) + 200000,
                                     .value = (int64_t)llround(value * 1000),
                                     .status = JM_S_OK};
    }
    return n;
}

static const struct jm_channel gauge = {
    .name = "power", .kind = JM_CH_GAUGE, .unit = JM_U_W, .scale10 = -3, .sem = JM_G_INSTANT};

static struct jm_lag find(const struct truth *p, const struct jm_reading *r, size_t n, double period,
                          const struct jm_lag_ask *ask)
{
    static struct jm_shown shown[POLLS];
    struct jm_lag out;
    struct jm_err err = {0};
    struct jm_course c = {p->t, p->y, p->n, p->end};
    size_t k = jm_lag_shown(&gauge, r, n, 0, 0, INT64_MAX, period, shown, POLLS);
    if (jm_lag_find(&c, 1, shown, k, ask, &out, &err))
        fail_msg("%s", err.text);
    return out;
}

static struct jm_reading *readings(void)
{
    struct jm_reading *r = malloc(POLLS * sizeof *r);
    assert_non_null(r);
    return r;
}

/* Board gauges, BMCs, PDUs: lags of 0 to 2 s found within max(50 ms, a quarter of the update period), and
 * within three of the stated standard uncertainties. The window is known, as a channel's documentation gives
 * it. */
static void lags(void **state)
{
    (void)state;
    static const struct instrument kind[] = {
        {0.1, 0.025, 0.03, 0.017, 1, 0, 0, 0.001, 0.02},
        {0.1, 1, 0.25, 0.044, 1.05, 3, 1, 0.001, 0.02},
        {1, 1, 0.4, 0.3, 0.97, 20, 2, 1, 0.2},
        {1, 0, 1.3, 0.71, 1, 50, 0, 10, 0.25},
        {5, 0, 0.9, 2.2, 1, 0, 5, 1, 1},
        {0.25, 0.25, 0.6, 0.1, 1, 0, 20, 13, 0.1},
        {1, 1, 2, 0.5, 1.1, 0, 3, 78, 0.2},
        {0.02, 0.01, 0, 0.005, 1, 0, 0, 0.001, 0.005},
    };
    struct jm_reading *r = readings();
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            const struct instrument *x = &kind[i];
            double slow = fmax(x->period, x->window);
            struct truth p = pattern(seed, 24, fmax(0.3, 0.7 * slow), fmax(1.2, 3 * slow), 4 + 3 * slow);
            struct instrument y = *x;
            y.phase = fmod(x->phase * (double)seed * 1.7, x->period);
            size_t n = poll_it(&p, &y, seed, r);
            struct jm_lag_ask ask = {.window = x->window, .lag_min = -0.5, .lag_max = 3};
            struct jm_lag l = find(&p, r, n, x->period, &ask);
            if (l.verdict != JM_LAG_OK)
                fail_msg("kind %zu, seed %d: %s (r %.4f, next %.4f)", i, (int)seed, l.why, l.r, l.next_r);
            double limit = fmax(0.05, x->period / 4);
            if (!(fabs(l.lag - x->lag) <= limit) || !(fabs(l.lag - x->lag) <= 3 * l.u_lag + 1e-3))
                fail_msg("kind %zu, seed %d: lag %.4f +- %.4f s, truth %.4f s", i, (int)seed, l.lag, l.u_lag,
                         x->lag);
            if (!(l.u_lag < limit))
                fail_msg("kind %zu, seed %d: u %.4f s of %.4f s, gain %.3f", i, (int)seed, l.u_lag, limit,
                         l.gain);
            if (!(fabs(l.gain - x->gain) < fmax(0.03 * x->gain, 4 * l.u_gain) + x->quantum / 300))
                fail_msg("kind %zu, seed %d: gain %.4f +- %.4f of %.4f", i, (int)seed, l.gain, l.u_gain,
                         x->gain);
        }
    free(r);
}

/* Nothing known of the instrument but what it shows: period, window and lag within 10 %. */
static void windows(void **state)
{
    (void)state;
    static const struct instrument kind[] = {
        {0.1, 0.025, 0.05, 0.017, 1, 0, 0, 0.001, 0.002},
        {0.1, 0.1, 0.02, 0.044, 1, 0, 0, 0.001, 0.002},
        {0.1, 1, 0.1, 0.077, 0.9, 10, 0.5, 0.001, 0.005},
        {0.02, 0.01, 0.01, 0.003, 1, 0, 0, 0.001, 0.001},
    };
    struct jm_reading *r = readings();
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            const struct instrument *x = &kind[i];
            struct truth p = pattern(seed + 10, 120, 0.05, 0.4, 3);
            size_t n = poll_it(&p, x, seed, r);
            struct jm_period period;
            assert_true(jm_period_find(r, n, &period));
            if (!(fabs(period.period - x->period) < 0.02 * x->period))
                fail_msg("kind %zu: period %.5f of %.5f s, score %.3f of %zu", i, period.period, x->period,
                         period.score, period.n);
            struct jm_lag_ask ask = {.window = NAN, .window_max = 1.5, .lag_min = -0.2, .lag_max = 0.8};
            struct jm_lag l = find(&p, r, n, period.period, &ask);
            if (l.verdict != JM_LAG_OK)
                fail_msg("kind %zu: %s (r %.4f, next %.4f)", i, l.why, l.r, l.next_r);
            if (!(fabs(l.window - x->window) <= fmax(0.1 * x->window, 0.0005)) ||
                !(fabs(l.lag - x->lag) <= fmax(0.1 * x->lag, 0.002)))
                fail_msg("kind %zu, seed %d: window %.4f of %.4f s, lag %.4f of %.4f s", i, (int)seed,
                         l.window, x->window, l.lag, x->lag);
        }
    free(r);
}

/* A square wave repeats itself: a lag of one cycle more fits as well, and is refused. */
static void ambiguous(void **state)
{
    (void)state;
    struct jm_reading *r = readings();
    struct truth p = {.n = 0, .end = 44};
    for (int i = 0; i < 44; i++) {
        p.t[p.n] = i;
        p.y[p.n++] = i % 2 ? 400 : 100;
    }
    struct instrument x = {0.1, 0.025, 0.3, 0.017, 1, 0, 4, 0.001, 0.02};
    size_t n = poll_it(&p, &x, 1, r);
    struct jm_lag_ask ask = {.window = 0.025, .lag_min = -0.5, .lag_max = 3};
    assert_int_equal(find(&p, r, n, 0.1, &ask).verdict, JM_LAG_AMBIGUOUS);
    ask.lag_max = 1.2; /* less than a cycle away there is one */
    struct jm_lag l = find(&p, r, n, 0.1, &ask);
    assert_int_equal(l.verdict, JM_LAG_OK);
    assert_true(fabs(l.lag - 0.3) < 0.05);
    free(r);
}

static void refusals(void **state)
{
    (void)state;
    struct jm_reading *r = readings();
    struct truth p = pattern(3, 24, 0.3, 1.2, 5);
    struct instrument still = {0.1, 0.1, 0, 0, 0, 250, 0, 0.001, 0.02};
    struct jm_lag_ask ask = {.window = 0.1, .lag_min = -0.5, .lag_max = 3};
    size_t n = poll_it(&p, &still, 1, r);
    struct jm_lag l = find(&p, r, n, 0.1, &ask);
    assert_int_equal(l.verdict, JM_LAG_CONSTANT);
    assert_true(isnan(l.lag) && l.why[0]);
    struct instrument noise = {0.1, 0.1, 0, 0, 0, 250, 30, 0.001, 0.02}; /* no step of ours in it */
    n = poll_it(&p, &noise, 1, r);
    l = find(&p, r, n, 0.1, &ask);
    assert_true(l.verdict == JM_LAG_UNSEEN || l.verdict == JM_LAG_AMBIGUOUS);
    assert_true(isnan(l.lag));
    struct instrument late = {0.1, 0.1, 5, 0, 1, 0, 0, 0.001, 0.02}; /* later than what is searched */
    n = poll_it(&p, &late, 1, r);
    l = find(&p, r, n, 0.1, &ask);
    assert_true(l.verdict != JM_LAG_OK);
    struct instrument good = {0.1, 0.1, 0.2, 0, 1, 0, 0, 0.001, 0.02};
    n = poll_it(&p, &good, 1, r);
    for (size_t i = 200; i < n; i++)
        r[i].status = JM_S_LOST; /* it died at 4 s, before the first step was seen */
    l = find(&p, r, n, 0.1, &ask);
    assert_true(l.verdict != JM_LAG_OK);
    /* a dozen changes at random times have no period, though some number always divides them nearly */
    struct jm_period period;
    struct truth few = pattern(8, 12, 0.5, 9, 5);
    struct instrument slow = {0.05, 0, 0, 0, 1, 0, 0, 0.001, 0.1};
    n = poll_it(&few, &slow, 1, r);
    assert_false(jm_period_find(r, n, &period));
    struct jm_course c = {p.t, p.y, p.n, p.end};
    ask.lag_max = ask.lag_min;
    assert_int_equal(jm_lag_find(&c, 1, NULL, 0, &ask, &l, NULL), JM_EINVAL);
    free(r);
}

/* A counter's own intervals are its windows: 1 mJ steps of energy, refreshed every 100 ms. */
static void counter(void **state)
{
    (void)state;
    static struct jm_shown shown[POLLS];
    struct jm_channel c = {.name = "energy", .kind = JM_CH_COUNTER, .unit = JM_U_J, .scale10 = -3};
    struct jm_reading *r = readings();
    struct truth p = pattern(5, 30, 0.2, 0.9, 4);
    size_t n = 0;
    for (double t = 0.003; t < p.end; t += 0.005) {
        double tick = 0.037 + floor((t - 0.037) / 0.1) * 0.1, lag = 0.06;
        r[n++] =
            (struct jm_reading){.t0 = (int64_t)(t * 1e9),
                                .t1 = (int64_t)(t * 1e9) + 200000,
                                .value = (int64_t)(1000 * mean_of(&p, -10, tick - lag) * (tick - lag + 10)),
                                .status = JM_S_OK};
    }
    size_t k = jm_lag_shown(&c, r, n, 0, 0, INT64_MAX, 0.1, shown, POLLS);
    struct jm_course course = {p.t, p.y, p.n, p.end};
    struct jm_lag_ask ask = {.window = 0, .lag_min = -0.5, .lag_max = 2};
    struct jm_lag l;
    assert_int_equal(jm_lag_find(&course, 1, shown, k, &ask, &l, NULL), 0);
    assert_int_equal(l.verdict, JM_LAG_OK);
    assert_true(fabs(l.lag - 0.06) < 0.006);
    assert_true(fabs(l.gain - 1) < 0.01);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lags), cmocka_unit_test(windows),
                                       cmocka_unit_test(ambiguous), cmocka_unit_test(refusals),
                                       cmocka_unit_test(counter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
