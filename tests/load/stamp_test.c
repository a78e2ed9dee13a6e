/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/rng.h"
#include "load/hist.h"
#include "load/stamp.h"

/* A virtual clock whose wall clock is stepped: stamps must never leave [earliest, now]. */
static void a_stepped_wall_clock_is_seen(void **state)
{
    struct jm_vclock vc = {0};
    struct jm_clock clock = jm_clock_virtual(&vc, NULL);
    struct jm_stamps s;
    (void)state;
    *vc.now = 1000 * JM_NS_PER_S;
    vc.real_offset = 5000 * JM_NS_PER_S;
    jm_stamps_init(&s, clock);
    int64_t now = *vc.now, t = now - 3 * JM_NS_PER_MS;
    assert_true(jm_stamps_convert(&s, t + vc.real_offset, now, now - JM_NS_PER_S) == t);
    /* stamped before the step, read after it: nothing can tell, the time of reading is taken */
    int64_t stamped = t + vc.real_offset;
    vc.real_offset += 3600 * JM_NS_PER_S;
    *vc.now += 10 * JM_NS_PER_MS;
    now = *vc.now;
    assert_true(jm_stamps_convert(&s, stamped, now, now - JM_NS_PER_S) == t); /* the old pair still fits */
    /* stamped and read after the step: a new pair is taken at once */
    t = now - JM_NS_PER_MS;
    assert_true(jm_stamps_convert(&s, t + vc.real_offset, now, now - JM_NS_PER_S) == t);
    assert_int_equal(s.stepped, 0);
    /* and a stamp from before the step is now impossible */
    assert_true(jm_stamps_convert(&s, stamped, now, now - JM_NS_PER_S) == now);
    assert_int_equal(s.stepped, 1);
    assert_int_equal(s.kernel, 3);
    /* none given */
    assert_true(jm_stamps_convert(&s, -1, now, 0) == now);
    assert_int_equal(s.user, 1);
    /* a hair outside is rounded, not refused */
    assert_true(jm_stamps_convert(&s, now + 10000 + vc.real_offset, now, 0) == now);
    assert_true(jm_stamps_convert(&s, now - 10000 + vc.real_offset, now, now) == now);
    assert_int_equal(s.stepped, 1);
}

/* Bytes that waited behind a lost packet have a stamp of before they could be read; a wall clock that was set
 * back looks the same, and is told apart by a new pair. */
static void bytes_that_waited(void **state)
{
    struct jm_vclock vc = {0};
    struct jm_clock clock = jm_clock_virtual(&vc, NULL);
    struct jm_stamps s;
    (void)state;
    *vc.now = 1000 * JM_NS_PER_S;
    vc.real_offset = 5000 * JM_NS_PER_S;
    jm_stamps_init(&s, clock);
    int64_t now = *vc.now, floor = now - 2 * JM_NS_PER_MS, t;
    t = jm_stamps_convert(&s, now - JM_NS_PER_MS + vc.real_offset, now, 0);
    assert_true(jm_stamps_readable(&s, t, now, floor) == now - JM_NS_PER_MS); /* after the floor: as it is */
    assert_int_equal(s.held, 0);
    t = jm_stamps_convert(&s, now - 200 * JM_NS_PER_MS + vc.real_offset, now, 0);
    assert_true(jm_stamps_readable(&s, t, now, floor) == floor);
    assert_int_equal(s.held, 1);
    assert_true(jm_stamps_readable(&s, t, now, 0) == t); /* nothing known */
    assert_int_equal(s.kernel, 2);
    /* set back by 1 s, in the middle of a wait of 5 s for the first token: `earliest` alone cannot see it */
    vc.real_offset -= JM_NS_PER_S;
    *vc.now += 100 * JM_NS_PER_MS;
    now = *vc.now;
    floor = now - 2 * JM_NS_PER_MS;
    t = jm_stamps_convert(&s, now - JM_NS_PER_MS + vc.real_offset, now, now - 5 * JM_NS_PER_S);
    assert_true(t == now - JM_NS_PER_MS - JM_NS_PER_S);
    assert_true(jm_stamps_readable(&s, t, now, floor) == now - JM_NS_PER_MS);
    assert_int_equal(s.held, 1);
    assert_int_equal(s.stepped, 0);
    /* stamped before a step back and read after it, late: it fits no pair any more */
    int64_t stamped = now + vc.real_offset;
    vc.real_offset -= 10 * JM_NS_PER_S;
    *vc.now += 100 * JM_NS_PER_MS;
    now = *vc.now;
    t = jm_stamps_convert(&s, stamped - 200 * JM_NS_PER_MS, now, now - 5 * JM_NS_PER_S);
    assert_true(jm_stamps_readable(&s, t, now, now - JM_NS_PER_MS) == now);
    assert_int_equal(s.stepped, 1);
}

static void this_kernel_stamps(void **state)
{
    struct jm_clock clock = jm_clock_system();
    int keep[2];
    (void)state;
    bool yes = jm_stamps_warm(&clock, keep);
    assert_true(keep[0] >= 0 && keep[1] >= 0);
    close(keep[0]);
    close(keep[1]);
    if (!yes)
        skip();
}

/* Quantiles against sorted values: bins are 1/8 of a power of two wide, their middle is at most 6.7 % off. */
static void quantiles_are_near(void **state)
{
    static struct jm_hist h;
    uint64_t sum[JM_HIST_BINS] = {0};
    struct jm_rng r;
    (void)state;
    assert_true(isnan(jm_hist_quantile(sum, 0.5)));
    jm_rng_init(&r, 3);
    for (int i = 0; i < 100000; i++)
        jm_hist_add(&h, (int64_t)(jm_rng_exp(&r, 5000)));
    jm_hist_sum(&h, sum);
    for (double q = 0.1; q < 1; q += 0.2) {
        double want = -5000 * log(1 - q), got = jm_hist_quantile(sum, q);
        if (fabs(got / want - 1) > 0.08)
            fail_msg("quantile %g: %g, expected %g", q, got, want);
    }
    jm_hist_add(&h, INT64_MAX);
    jm_hist_add(&h, -5);
}

static void old_seconds_are_forgotten(void **state)
{
    static struct jm_recent r;
    (void)state;
    for (int64_t s = 100; s < 130; s++)
        jm_recent_add(&r, s * JM_NS_PER_S, s);
    uint64_t sum[JM_HIST_BINS] = {0}, n = 0;
    jm_recent_sum(&r, 129 * JM_NS_PER_S + 5, sum);
    for (int i = 0; i < JM_HIST_BINS; i++)
        n += sum[i];
    assert_int_equal(n, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stepped_wall_clock_is_seen), cmocka_unit_test(bytes_that_waited),
        cmocka_unit_test(this_kernel_stamps),           cmocka_unit_test(quantiles_are_near),
        cmocka_unit_test(old_seconds_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
