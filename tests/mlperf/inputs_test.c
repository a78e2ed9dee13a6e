/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of a power analyzer's active power, by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "mlperf/inputs.h"
#include "model/analyzer.h"

static void near(double got, double want, double tol)
{
    if (!(fabs(got - want) <= tol))
        fail_msg("got %.12g, expected %.12g", got, want);
}

static void worked_examples(void **state)
{
    struct jm_analyzer m;
    (void)state;
    assert_true(jm_analyzer_find(JM_SPAN("YokogawaWT310E"), &m));
    assert_true(m.known);
    /* 600 W at power factor 1 on 300 V x 5 A: 0.1 % of 600 + 0.05 % of 1,500 = 0.6 + 0.75 */
    near(jm_analyzer_limits_w(&m, 300, 5, 3, 600, 1, 0), 1.35, 1e-12);
    /* the same load on 300 V x 20 A: 0.6 + 0.05 % of 6,000 */
    near(jm_analyzer_limits_w(&m, 300, 20, 3, 600, 1, 0), 3.6, 1e-12);
    /* crest factor 6: the term of the range twice, on ranges that are half as large */
    near(jm_analyzer_limits_w(&m, 300, 5, 6, 600, 1, 0), 0.6 + 1.5, 1e-12);
    /* 600 VA at power factor 0.6: P = 360, tan(phi) = 0.8 / 0.6, P tan(phi) = 480 W.
     * 0.1 % x 360 + 0.05 % x 1,500 x 0.6 + 0.2 % x 480 = 0.36 + 0.45 + 0.96 */
    near(jm_analyzer_limits_w(&m, 300, 5, 3, 360, 0.6, 480), 1.77, 1e-12);
    /* what PTDaemon says of the least and the greatest sample of v3.1 Krai eb6-kilt-snpe_dsp resnet50
     * SingleStream (300 V x 0.2 A): "Uncertainty,0.006168,0.006104,0.006627,..."; this row is 1 % below it */
    near(jm_analyzer_limits_w(&m, 300, 0.2, 3, 9.83, 0.4241, 9.83 * tan(acos(0.4241))) / 9.83, 0.006627,
         0.00007);
    near(jm_analyzer_limits_w(&m, 300, 0.2, 3, 12.944, 0.4461, 12.944 * tan(acos(0.4461))) / 12.944, 0.006104,
         0.00007);
    /* the WT210's term of the range stands whole: 0.15 % x 360 + 0.1 % x 1,500 + 0.2 % x 480 */
    assert_true(jm_analyzer_find(JM_SPAN("YokogawaWT210"), &m));
    near(jm_analyzer_limits_w(&m, 300, 5, 3, 360, 0.6, 480), 0.54 + 1.5 + 0.96, 1e-12);
}

static void unknown_stays_unknown(void **state)
{
    static const char *const names[] = {"YokogawaWT1800", "YokogawaWT5000", "YokogawaWT3000",
                                        "YokogawaWT210_DC"};
    struct jm_analyzer m;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_true(jm_analyzer_find(jm_span_of(names[i]), &m));
        assert_false(m.known);
        assert_true(isnan(jm_analyzer_limits_w(&m, 300, 5, 3, 600, 1, 0)));
        assert_true(m.source.n > 0);
    }
    assert_false(jm_analyzer_find(JM_SPAN("Dummy"), &m));
    assert_false(jm_analyzer_find(JM_SPAN(""), &m));
}

static void ranges(void **state)
{
    struct jm_analyzer m;
    (void)state;
    assert_true(jm_analyzer_find(JM_SPAN("YokogawaWT500_multichannel"), &m));
    /* as ptd_logs.txt of v5.1 Lenovo SR680a says: "Voltage range ... set to 300.000000A", "Amp range ... set
     * to 40.000000A" after SR,V,210.990000 and SR,A,20.948766300000003 */
    near(jm_analyzer_range(m.volts, 210.99, 3), 300, 0);
    near(jm_analyzer_range(m.amps, 20.948766300000003, 3), 40, 0);
    near(jm_analyzer_range(m.volts, 1000, 3), 1000, 0);
    assert_true(isnan(jm_analyzer_range(m.volts, 1000.5, 3)));
    assert_true(isnan(jm_analyzer_range((struct jm_span){0}, 1, 3)));
    assert_true(jm_analyzer_find(JM_SPAN("YokogawaWT210"), &m));
    /* v5.1 GATEOverflow: "Volt range set to 300.000000V", "Amp range set to 0.500000A" after 245.47 and
     * 0.330858 */
    near(jm_analyzer_range(m.volts, 245.47, 3), 300, 0);
    near(jm_analyzer_range(m.amps, 0.330858, 3), 0.5, 0);
    near(jm_analyzer_range(m.amps, 0.2, 6), 0.25, 0); /* halves at crest factor 6 */
}

static struct jm_spl_row parsed(const char *line)
{
    struct jm_spl_row r;
    struct jm_err e;
    assert_int_equal(jm_spl_parse(jm_span_of(line), &r, &e), 0);
    return r;
}

static void sums(void **state)
{
    struct jm_mlperf_power p;
    struct jm_spl_row r;
    (void)state;
    memset(&p, 0, sizeof p);
    /* S = 250 x 4 = 1,000 VA, P = 600: ratio 0.6; PF 0.8 of the log: tan(phi) = 0.75, P tan(phi) = 450 */
    r = parsed(
        "Time,01-02-2025 03:04:05.000,Watts,600.000000,Volts,250.000000,Amps,4.000000,PF,0.800000,Mark,m");
    jm_mlperf_inputs_add(&p, &r, true);
    near(p.input[0].watts, 600, 1e-9);
    near(p.input[0].ratio, 0.6, 1e-12);
    near(p.input[0].tangent, 450, 1e-9);
    near(p.doubt.ratio, 0.6 / 600, 1e-15);
    near(p.doubt.inputs, 1.0 / 600, 1e-15);
    near(p.doubt.tangent, 0.75, 1e-12);
    /* no PF: phi of the ratio; P tan(phi) = sqrt(1000^2 - 600^2) = 800 */
    r = parsed(
        "Time,01-02-2025 03:04:06.000,Watts,600.000000,Volts,250.000000,Amps,4.000000,PF,-1.000000,Mark,m");
    jm_mlperf_inputs_add(&p, &r, true);
    near(p.input[0].tangent, 450 + 800, 1e-9);
    /* neither: counted alone; outside the window, missed and over range: not at all */
    r = parsed(
        "Time,01-02-2025 03:04:07.000,Watts,500.000000,Volts,-1.000000,Amps,-1.000000,PF,-1.000000,Mark,m");
    jm_mlperf_inputs_add(&p, &r, true);
    assert_int_equal(p.input[0].n, 3);
    assert_int_equal(p.input[0].n_known, 2);
    assert_int_equal(p.doubt.n, 2);
    r = parsed(
        "Time,01-02-2025 03:04:08.000,Watts,-2.000000,Volts,-2.000000,Amps,-2.000000,PF,-2.000000,Mark,m");
    jm_mlperf_inputs_add(&p, &r, true);
    r = parsed(
        "Time,01-02-2025 03:04:09.000,Watts,-11.112000,Volts,243.470000,Amps,-3.081500,PF,0.408900,Mark,m");
    jm_mlperf_inputs_add(&p, &r, true);
    assert_int_equal(p.input[0].n, 3);
    assert_int_equal(p.doubt.n, 2);
    /* the sum line of several channels has no S; each channel has, and one that is not connected is none */
    memset(&p, 0, sizeof p);
    r = parsed(
        "Time,01-02-2025 03:04:05.000,Watts,900.000000,Volts,-1.000000,Amps,-1.000000,PF,-1.000000,Mark,m,"
        "Ch1,Watts,600.000000,Volts,250.000000,Amps,4.000000,PF,0.600000,"
        "Ch2,Watts,300.000000,Volts,250.000000,Amps,2.000000,PF,0.600000,"
        "Ch3,Watts,0.000000,Volts,0.000000,Amps,0.000000,PF,0.000000");
    jm_mlperf_inputs_add(&p, &r, true);
    assert_int_equal(p.input[0].n, 1);
    assert_int_equal(p.input[0].n_known, 0);
    near(p.input[1].tangent, 800, 1e-9);
    near(p.input[2].tangent, 400, 1e-9);
    assert_int_equal(p.input[3].n_known, 0);
    near(p.doubt.inputs, 2.0 / 900, 1e-15);
    near(p.doubt.ratio, 1.2 / 900, 1e-15);
    near(p.doubt.tangent, 1200.0 / 900, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(worked_examples),
                                       cmocka_unit_test(unknown_stays_unknown), cmocka_unit_test(ranges),
                                       cmocka_unit_test(sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
