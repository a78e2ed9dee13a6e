/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of clocks, by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "model/clockerr.h"
#include "model/farclock.h"

#define S  INT64_C(1000000000)
#define MS INT64_C(1000000)

/* chronyc -c tracking of a host, as seen: offset -1.416 us, root delay 7.865 us, dispersion 2.225 us.
 * |-1.416| + 2.225 + 7.865 / 2 = 7.5735 us, rounded up to 7574 ns. */
static void chrony(void **state)
{
    (void)state;
    struct jm_tracking t = {.ref_id = 0x7f000001,
                            .address = "127.0.0.1",
                            .stratum = 9,
                            .correction_s = -0.000001416,
                            .root_delay_s = 0.000007865,
                            .root_dispersion_s = 0.000002225};
    struct jm_clock_error e;
    jm_clock_error_chrony(&e, &t);
    assert_int_equal(e.bound_ns, 7574);
    assert_int_equal(e.source, JM_CLOCK_CHRONY);
    assert_string_equal(e.why, "");
    struct jm_tracking bad = t;
    bad.leap = 3; /* Not synchronised */
    jm_clock_error_chrony(&e, &bad);
    assert_int_equal(e.bound_ns, -1);
    assert_true(strlen(e.why) > 0);
    bad = t;
    bad.ref_id = 0x7f7f0101; /* "local": all zero distances, and no truth */
    bad.correction_s = bad.root_delay_s = bad.root_dispersion_s = 0;
    jm_clock_error_chrony(&e, &bad);
    assert_int_equal(e.bound_ns, -1);
    bad = t;
    bad.root_delay_s = -1;
    jm_clock_error_chrony(&e, &bad);
    assert_int_equal(e.bound_ns, -1);
    bad.root_delay_s = 1e30;
    jm_clock_error_chrony(&e, &bad);
    assert_int_equal(e.bound_ns, -1);
}

static void kernel(void **state)
{
    (void)state;
    struct jm_clock_error e;
    struct jm_kernel_clock k = {.state = 5, .unsynchronised = true, .max_error_ns = 16 * S};
    jm_clock_error_kernel(&e, &k, false); /* TIME_ERROR, STA_UNSYNC, maxerror 16 s: not known, and not 16 s */
    assert_int_equal(e.bound_ns, -1);
    k = (struct jm_kernel_clock){.state = 0, .max_error_ns = 2500 * 1000};
    jm_clock_error_kernel(&e, &k, false);
    assert_int_equal(e.bound_ns, 2500000);
    jm_clock_error_kernel(&e, &k, true);
    assert_int_equal(e.bound_ns, -1);
    k.max_error_ns = 0; /* nobody is exact */
    jm_clock_error_kernel(&e, &k, false);
    assert_int_equal(e.bound_ns, -1);
    k.state = -1;
    jm_clock_error_kernel(&e, &k, false);
    assert_int_equal(e.bound_ns, -1);
    assert_int_equal(jm_clock_error_after(1000, 2 * S), 1000 + 1000000 + 500); /* 500 ppm of 2 s is 1 ms */
    assert_int_equal(jm_clock_error_after(-1, S), -1);
    assert_int_equal(jm_clock_error_run(5, -1), -1);
    assert_int_equal(jm_clock_error_run(5, 7), 7);
}

static void ptp(void **state)
{
    (void)state;
    struct jm_clock_error e;
    struct jm_ptp_status p = {.master_offset_ns = -73, .gm_present = true};
    jm_clock_error_ptp(&e, &p, 711.5);
    assert_true(e.bound_ns == 785 || e.bound_ns == 786); /* 784.5 ns up, and a last digit of a double */
    jm_clock_error_ptp(&e, &p, NAN);
    assert_int_equal(e.bound_ns, -1);
    p.gm_present = false;
    jm_clock_error_ptp(&e, &p, 711.5);
    assert_int_equal(e.bound_ns, -1);
}

/* A clock 3 s ahead that gains 40 ppm, asked once a second with round trips of 1 to 30 ms: wherever the
 * answer was taken within the trip, the offset lies in the bound. */
static void far(void **state)
{
    (void)state;
    struct jm_far_clock c;
    struct jm_far_offset o;
    struct jm_rng rng;
    jm_rng_init(&rng, 7);
    jm_far_clock_init(&c, 100);
    assert_false(jm_far_clock_at(&c, 0, &o));
    for (int i = 0; i < 1000; i++) {
        int64_t t0 = 1000 * S + i * S, trip = MS + (int64_t)(29e6 * jm_rng_unit(&rng)),
                at = t0 + (int64_t)((double)trip * jm_rng_unit(&rng));
        assert_true(jm_far_clock_look(&c, t0, t0 + trip, at + 3 * S + (at - 1000 * S) / 25000, 0));
    }
    for (int i = 0; i < 1000; i += 7) {
        int64_t at = 1000 * S + i * S, truth = 3 * S + (at - 1000 * S) / 25000;
        assert_true(jm_far_clock_at(&c, at, &o));
        assert_false(o.stepped);
        assert_true(llabs(o.offset - truth) <= o.bound + 1);
        assert_true(o.bound < 15 * MS);
    }
    assert_true(fabs(o.drift_ppm - 40) < 5);
}

/* Stamps in whole seconds: the offset is known to half a second and to half of the trip. */
static void coarse(void **state)
{
    (void)state;
    struct jm_far_clock c;
    struct jm_far_offset o;
    jm_far_clock_init(&c, 0);
    assert_true(jm_far_clock_look(&c, 10 * S, 10 * S + 20 * MS, 1700000000 * S, S));
    assert_true(jm_far_clock_at(&c, 10 * S + 10 * MS, &o));
    assert_int_equal(o.bound, 510 * MS);
    assert_int_equal(o.offset, 1700000000 * S + 500 * MS - 10 * S - 10 * MS);
    assert_true(isnan(o.drift_ppm));
    assert_false(jm_far_clock_look(&c, 10 * S, 9 * S, 0, 0));
}

/* A BMC whose clock is set by an hour in the middle. */
static void stepped(void **state)
{
    (void)state;
    struct jm_far_clock c;
    struct jm_far_offset o;
    jm_far_clock_init(&c, 0);
    for (int i = 0; i < 60; i++)
        jm_far_clock_look(&c, i * S, i * S + MS, i * S + (i < 30 ? 0 : 3600 * S), 0);
    assert_true(jm_far_clock_at(&c, 10 * S, &o));
    assert_true(o.stepped);
    assert_true(llabs(o.offset) <= o.bound);
    jm_far_clock_at(&c, 50 * S, &o);
    assert_true(llabs(o.offset - 3600 * S) <= o.bound);
    assert_true(isnan(o.drift_ppm));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chrony), cmocka_unit_test(kernel),
                                       cmocka_unit_test(ptp),    cmocka_unit_test(far),
                                       cmocka_unit_test(coarse), cmocka_unit_test(stepped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
