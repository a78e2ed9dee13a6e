/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "wire/spl.h"

/* Lines as they stand in published sessions: one channel, three channels, and the several-analyzer form of
 * the public tracker (mlcommons/power-dev issue 329). */
static void single_channel(void **state)
{
    struct jm_spl_row r;
    struct jm_err e;
    (void)state;
    assert_int_equal(
        jm_spl_parse(JM_SPAN("Time,03-18-2021 23:20:47.663,Watts,507.500000,Volts,121.800000,Amps,4.176000,"
                             "PF,0.997800,Mark,2021-03-18_testing\r\n"),
                     &r, &e),
        0);
    /* 2021-03-18 is day 18704 of the epoch: 18704 * 86400 + 23*3600 + 20*60 + 47 = 1616109647 */
    assert_int_equal(r.time_ns, INT64_C(1616109647663000000));
    assert_int_equal(r.sum.watts, 507500000);
    assert_int_equal(r.sum.volts, 121800000);
    assert_int_equal(r.sum.pf, 997800);
    assert_int_equal(r.n_channels, 0);
    assert_true(jm_span_is(r.mark, "2021-03-18_testing"));
}

static void three_channels(void **state)
{
    struct jm_spl_row r;
    (void)state;
    assert_int_equal(
        jm_spl_parse(
            JM_SPAN("Time,07-17-2024 20:49:56.945,Watts,2511.100000,Volts,239.156667,Amps,3.624000,PF,"
                    "0.965825,Mark,m_testing,Ch1,Watts,849.200000,Volts,239.370000,Amps,3.672000,PF,"
                    "0.966200,Ch2,Watts,862.100000,Volts,238.680000,Amps,3.731000,PF,0.967900,Ch3,"
                    "Watts,799.800000,Volts,239.420000,Amps,3.469000,PF,0.963100"),
            &r, NULL),
        0);
    assert_int_equal(r.n_channels, 3);
    /* the sum line is the exact sum of the channels: 849.2 + 862.1 + 799.8 = 2511.1 */
    assert_int_equal(r.channel[0].watts + r.channel[1].watts + r.channel[2].watts, r.sum.watts);
    assert_false(r.analyzers);
}

static void analyzers(void **state)
{
    struct jm_spl_row r;
    (void)state;
    assert_int_equal(
        jm_spl_parse(
            JM_SPAN(
                "Time,07-17-2024 "
                "20:49:56.945,Watts,300.000000,Volts,-1.000000,Amps,-1.000000,PF,-1.000000,Mark,m,"
                "Analyzer1,Time,07-17-2024 20:49:56.945,Watts,100.000000,Volts,230.000000,Amps,0.500000,PF,"
                "0.900000,Mark,m,Analyzer2,Time,07-17-2024 "
                "20:49:57.001,Watts,200.000000,Volts,230.000000,Amps,"
                "1.000000,PF,0.900000,Mark,m"),
            &r, NULL),
        0);
    assert_true(r.analyzers);
    assert_int_equal(r.n_channels, 2);
    assert_int_equal(r.channel[1].watts, 200000000);
}

static void sentinels(void **state)
{
    /* -11.112 W at 243.47 V, -3.0815 A is 8.112 W over range (power-dev issue 329): 11.112 - 3 = 8.112 */
    struct jm_spl_values over = {-11112000, 243470000, -3081500, 408900},
                         missed = {-2000000, -2000000, -2000000, -2000000},
                         bad = {-1000000, 230000000, -1000000, -1000000},
                         good = {8112000, 243470000, 81500, 408900};
    int64_t uw = 7;
    (void)state;
    assert_int_equal(jm_spl_kind_of(&over), JM_SPL_OVER_RANGE);
    assert_true(jm_spl_decode_watts(&over, &uw));
    assert_int_equal(uw, 8112000);
    assert_int_equal(jm_spl_kind_of(&missed), JM_SPL_MISSED);
    assert_false(jm_spl_decode_watts(&missed, &uw));
    assert_int_equal(jm_spl_kind_of(&bad), JM_SPL_BAD);
    assert_false(jm_spl_decode_watts(&bad, &uw));
    assert_int_equal(jm_spl_kind_of(&good), JM_SPL_GOOD);
}

/* A line has the sentinel of its channels, and its power is the sum of what they decode to. */
static void sentinels_of_parts(void **state)
{
    static const struct {
        const char *line;
        enum jm_spl_kind kind;
        int64_t uw;
    } row[] = {
        /* 900 and -(3 + 850): the sum says 47, and 900 + 850 = 1750 is meant */
        {"Time,07-17-2024 "
         "20:49:56.945,Watts,47,Volts,230,Amps,-1,PF,-1,Mark,m,Ch1,Watts,900,Volts,230,Amps,4,PF,"
         "0.9,Ch2,Watts,-853,Volts,230,Amps,-6.7,PF,0.9",
         JM_SPL_OVER_RANGE, INT64_C(1750000000)},
        /* power-dev issue 329: 606.412 as merged; 11.112 - 3 + 595.3 = 603.412 */
        {"Time,11-28-2024 14:31:12.622,Watts,606.412,Volts,-1,Amps,-1,PF,-1,Mark,m,Analyzer1,Time,11-28-2024 "
         "14:31:12.622,Watts,-11.112,Volts,243.47,Amps,-3.0815,PF,0.4089,Mark,m,Analyzer2,Time,11-28-2024 "
         "14:31:12.354,Watts,595.3,Volts,246,Amps,2.5,PF,0.98,Mark,m",
         JM_SPL_OVER_RANGE, INT64_C(603412000)},
        /* a missed sample of one analyzer is no 2 W */
        {"Time,11-28-2024 14:31:12.622,Watts,597.3,Volts,-1,Amps,-1,PF,-1,Mark,m,Analyzer1,Time,11-28-2024 "
         "14:31:12.622,Watts,-2,Volts,-2,Amps,-2,PF,-2,Mark,m,Analyzer2,Time,11-28-2024 "
         "14:31:12.354,Watts,595.3,"
         "Volts,246,Amps,2.5,PF,0.98,Mark,m",
         JM_SPL_MISSED, 0},
        /* channels below an analyzer: 100 + (20 - 3) = 117 */
        {"Time,11-28-2024 14:31:12.622,Watts,80,Volts,-1,Amps,-1,PF,-1,Mark,m,Analyzer1,Time,11-28-2024 "
         "14:31:12.622,Watts,80,Volts,230,Amps,1,PF,1,Mark,m,Ch1,Watts,100,Volts,230,Amps,1,PF,1,Ch2,Watts,-"
         "20,Volts,"
         "230,Amps,-4,PF,1",
         JM_SPL_OVER_RANGE, INT64_C(117000000)},
        /* a channel without a reading: the sum is no reading, unless the instrument left it out */
        {"Time,07-17-2024 "
         "20:49:56.945,Watts,899,Volts,230,Amps,-1,PF,-1,Mark,m,Ch1,Watts,900,Volts,230,Amps,4,PF,"
         "0.9,Ch2,Watts,-1,Volts,230,Amps,-1,PF,-1",
         JM_SPL_BAD, 0},
        {"Time,07-17-2024 "
         "20:49:56.945,Watts,900,Volts,230,Amps,-1,PF,-1,Mark,m,Ch1,Watts,900,Volts,230,Amps,4,PF,"
         "0.9,Ch2,Watts,-1,Volts,-1,Amps,-1,PF,-1",
         JM_SPL_GOOD, INT64_C(900000000)},
        /* noise of an input without a load, alone and beside one that is over range: 900 + 850 - 0.02 */
        {"Time,07-17-2024 "
         "20:49:56.945,Watts,899.98,Volts,230,Amps,2,PF,0.9,Mark,m,Ch1,Watts,900,Volts,230,Amps,4,PF,"
         "0.9,Ch2,Watts,-0.02,Volts,230,Amps,0.001,PF,-0.1",
         JM_SPL_GOOD, INT64_C(899980000)},
        {"Time,07-17-2024 "
         "20:49:56.945,Watts,46.98,Volts,230,Amps,2,PF,0.9,Mark,m,Ch1,Watts,900,Volts,230,Amps,4,PF,"
         "0.9,Ch2,Watts,-0.02,Volts,230,Amps,0.001,PF,-0.1,Ch3,Watts,-853,Volts,230,Amps,-7,PF,0.9",
         JM_SPL_OVER_RANGE, INT64_C(1749980000)},
        /* GATEOverflow, v5.1 */
        {"Time,07-12-2025 23:27:07.793,Watts,-37.480000,Volts,245.200000,Amps,-3.286600,PF,0.490700,Mark,m",
         JM_SPL_OVER_RANGE, INT64_C(34480000)},
        /* other forms of numbers, blanks */
        {" Time , 07-12-2025 23:27:07.793 , Watts , 1.5e2 , Volts , 1.0000004 , Amps,1,PF,1", JM_SPL_GOOD,
         INT64_C(150000000)},
    };
    struct jm_spl_row r;
    struct jm_err e;
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        assert_int_equal(jm_spl_parse(jm_span_of(row[i].line), &r, &e), 0);
        assert_int_equal(r.kind, row[i].kind);
        if (row[i].uw)
            assert_int_equal(r.decoded_uw, row[i].uw);
    }
}

/* Day before month (the README of power-dev shows such a line), days that do not exist. */
static void dates(void **state)
{
    struct jm_spl_row r;
    struct jm_err e;
    int64_t ns;
    (void)state;
    assert_int_equal(
        jm_spl_parse(JM_SPAN("Time,28-07-2025 00:00:00.000,Watts,1,Volts,1,Amps,1,PF,1"), &r, &e), JM_EPARSE);
    assert_non_null(strstr(e.text, "day before the month"));
    assert_int_equal(
        jm_spl_parse(JM_SPAN("Time,02-29-2025 00:00:00.000,Watts,1,Volts,1,Amps,1,PF,1"), &r, &e), JM_EPARSE);
    assert_null(strstr(e.text, "day before the month"));
    assert_int_equal(jm_spl_time(JM_SPAN("02-29-2024 00:00:00.5"), &ns), 0);
    /* 2024-02-29 is day 19782 */
    assert_int_equal(ns, INT64_C(1709164800500000000));
    assert_int_equal(jm_spl_time(JM_SPAN("04-31-2024 00:00:00"), &ns), JM_EPARSE);
    assert_int_equal(jm_spl_time(JM_SPAN("02-29-2100 00:00:00"), &ns), JM_EPARSE);
}

static void broken(void **state)
{
    static const char *const lines[] = {
        "Time",
        "Time,",
        "Time,13-40-2024 00:00:00,Watts,1,Volts,1,Amps,1,PF,1",
        "Time,07-17-2024 20:49:56.945,Watts,abc,Volts,1,Amps,1,PF,1",
        "Time,07-17-2024 20:49:56.945,Watts,1,Volts,1,Amps,1",
        "Time,07-17-2024 20:49:56.945,Watts,1,Volts,1,Amps,1,PF,1,Mark,m,Ch1,Watts",
        "Time,07-17-2024 20:49:56.945,Watts,99999999999999999999,Volts,1,Amps,1,PF,1"};
    struct jm_spl_row r;
    struct jm_err e;
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_int_equal(jm_spl_parse(jm_span_of(lines[i]), &r, &e), JM_EPARSE);
    assert_int_equal(jm_spl_parse(JM_SPAN(""), &r, &e), JM_EAGAIN);
    assert_int_equal(jm_spl_parse(JM_SPAN("\r\n"), &r, &e), JM_EAGAIN);
    assert_int_equal(jm_spl_parse(JM_SPAN("hello"), &r, &e), JM_EAGAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_channel), cmocka_unit_test(three_channels),     cmocka_unit_test(analyzers),
        cmocka_unit_test(sentinels),      cmocka_unit_test(sentinels_of_parts), cmocka_unit_test(dates),
        cmocka_unit_test(broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
