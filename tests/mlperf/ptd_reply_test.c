/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of PTDaemons in published sessions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mlperf/ptd.h"

static void ranges(void **state)
{
    static const struct {
        const char *reply, *amps, *volts;
    } row[] = {{"Ranges,0,40.000000,0,1000.000000", "40.000000", "1000.000000"},
               {"Ranges,1,5.000000,1,150.000000", "Auto", "Auto"},
               {"Ranges,0,0.500000,1,300.000000", "0.500000", "Auto"},
               {"Ranges,-1,-1.000000,-1,-1.000000", "Auto", "Auto"},
               {"Ranges,0,-1.000000,0,300.000000", "Auto", "300.000000"},
               {"Ranges,0,x,0", "Auto", "Auto"},
               {"Ranges,0,1.0\x01,0,nan", "Auto", "Auto"},
               {"", "Auto", "Auto"}};
    struct jm_mlperf_ranges r;
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        jm_mlperf_ptd_ranges(jm_span_of(row[i].reply), &r);
        assert_string_equal(r.amps, row[i].amps);
        assert_string_equal(r.volts, row[i].volts);
    }
}

static void samples(void **state)
{
    struct jm_err err = {0};
    int64_t n = 0;
    int first = 0;
    (void)state;
    assert_int_equal(jm_mlperf_ptd_last(jm_span_of("Last 832 samples"), &n, &first, &err), 0);
    assert_true(n == 832 && first == 1);
    assert_int_equal(jm_mlperf_ptd_last(jm_span_of("Last 2998 samples from sum channel and channels 1 - 3"),
                                        &n, &first, &err),
                     0);
    assert_true(n == 2998 && first == 1);
    assert_int_equal(jm_mlperf_ptd_last(jm_span_of("Last 5 samples from sum channel and channels 2 - 3"), &n,
                                        &first, &err),
                     0);
    assert_true(n == 5 && first == 2);
    assert_int_equal(jm_mlperf_ptd_last(jm_span_of("Last 0 samples"), &n, &first, &err), 0);
    static const char *const bad[] = {
        "Unknown command", "", "Last", "Last -1 samples", "Last 99999999999 samples", "Error: no samples"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(jm_mlperf_ptd_last(jm_span_of(bad[i]), &n, &first, &err), JM_EPARSE);
}

static void uncertainty(void **state)
{
    struct jm_mlperf_ptd_uncertainty u;
    (void)state;
    assert_true(
        jm_mlperf_ptd_uncertainty(jm_span_of("Uncertainty,0.005977,0.004648,0.014403,2991,309,2682,0"), &u));
    assert_true(u.samples == 2991 && u.above == 309 && u.within == 2682 && u.unknown == 0);
    assert_true(
        jm_mlperf_ptd_uncertainty(jm_span_of("Uncertainty,-1.0,10000000.000000,0.000000,312,0,0,312"), &u));
    assert_true(u.samples == 312 && u.unknown == 312);
    assert_false(jm_mlperf_ptd_uncertainty(jm_span_of("Uncertainty,1,2,3"), &u));
    assert_false(jm_mlperf_ptd_uncertainty(jm_span_of("Watts,1,2,3,4,5,6,7"), &u));
}

static void errors(void **state)
{
    (void)state;
    assert_true(jm_mlperf_ptd_is_error(JM_SPAN("Error: no measurement to stop")));
    assert_true(jm_mlperf_ptd_is_error(JM_SPAN("error, invalid range")));
    assert_false(jm_mlperf_ptd_is_error(JM_SPAN("Range A changed")));
    assert_false(jm_mlperf_ptd_is_error(JM_SPAN("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranges), cmocka_unit_test(samples),
                                       cmocka_unit_test(uncertainty), cmocka_unit_test(errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
