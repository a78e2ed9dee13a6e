/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "mlperf/splw.h"

#define SUM "Time,07-28-2025 08:59:01.506,Watts,2888.000000,Volts,210.726667,Amps,4.653000,PF,0.981968"
#define ONE "Watts,977.000000,Volts,210.110000,Amps,4.727000,PF,0.983800"
#define TWO "Watts,958.000000,Volts,211.060000,Amps,4.630000,PF,0.980700"

/* The layouts of spl.txt in published sessions, from what RL gave for them. */
static void marks_and_channels(void **state)
{
    static const struct {
        const char *rl, *spl;
        int first;
    } row[] = {{SUM, SUM ",Mark,2025_testing", 1},
               {SUM "," ONE "," TWO, SUM ",Mark,2025_testing,Ch1," ONE ",Ch2," TWO, 1},
               {SUM "," ONE, SUM ",Mark,2025_testing,Ch3," ONE, 3}};
    struct jm_str out;
    struct jm_spl_row r;
    struct jm_err err = {0};
    (void)state;
    jm_str_init(&out);
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        jm_str_reset(&out);
        assert_int_equal(
            jm_mlperf_spl_line(jm_span_of(row[i].rl), "2025_testing", row[i].first, &out, &r, &err), 0);
        assert_string_equal(out.buf, row[i].spl);
        assert_int_equal(r.sum.watts, INT64_C(2888000000));
    }
    static const char *const bad[] = {"",
                                      "Last 4 samples",
                                      "Time,07-28-2025 08:59:01.506,Watts,1,Volts,2,Amps,3",
                                      SUM ",",
                                      SUM "," ONE ",Watts",
                                      "Time,28-07-2025 08:59:01.506,Watts,1,Volts,2,Amps,3,PF,1,,,,,,,",
                                      "Time,07-28-2025 08:59:01.506,Watts,x,Volts,2,Amps,3,PF,1"};
    jm_str_reset(&out);
    jm_str_adds(&out, "kept");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(jm_mlperf_spl_line(jm_span_of(bad[i]), "m", 1, &out, &r, &err), JM_EPARSE);
        assert_string_equal(out.buf, "kept");
    }
    jm_str_release(&out);
}

static void add(struct jm_mlperf_peaks *p, const char *line)
{
    struct jm_str out;
    struct jm_spl_row row;
    struct jm_err err = {0};
    jm_str_init(&out);
    assert_int_equal(jm_mlperf_spl_line(jm_span_of(line), "m", 1, &out, &row, &err), 0);
    jm_mlperf_peaks_add(p, jm_span_of(line), 1, &row);
    jm_str_release(&out);
}

/* The ranges of v5.1 Lenovo SR680a llama2-70b-99 Offline: channel 1 of three counts beside the sum;
 * server.json has SR,V,210.990000 and SR,A,20.948766300000003. */
static void ranges(void **state)
{
    struct jm_mlperf_peaks p;
    struct jm_mlperf_ranges r;
    struct jm_err err = {0};
    (void)state;
    jm_mlperf_peaks_init(&p, 1, 1);
    assert_int_equal(jm_mlperf_peaks_ranges(&p, &r, &err), JM_EABSENT);
    add(&p,
        "Time,07-28-2025 08:00:00.000,Watts,1.0,Volts,210.990000,Amps,18.000000,PF,1.0,"
        "Watts,1.0,Volts,210.370000,Amps,19.042000,PF,1.0,Watts,1.0,Volts,211.330000,Amps,19.117000,PF,1.0");
    add(&p, "Time,07-28-2025 08:00:01.000,Watts,1.0,Volts,-1.000000,Amps,19.044333,PF,1.0");
    add(&p, "Time,07-28-2025 08:00:02.000,Watts,-11.112000,Volts,243.470000,Amps,-23.081500,PF,0.4");
    add(&p, "Time,07-28-2025 08:00:03.000,Watts,-2.000000,Volts,-2.000000,Amps,-2.000000,PF,-2.0");
    add(&p, "Time,07-28-2025 08:00:04.000,Watts,-1.000000,Volts,2.0,Amps,-1.000000,PF,-1.0");
    add(&p, "Time,07-28-2025 08:00:05.000,Watts,-500.000000,Volts,2.0,Amps,2.000000,PF,-0.9");
    assert_int_equal(jm_mlperf_peaks_ranges(&p, &r, &err), 0);
    assert_string_equal(r.amps, "20.948766300000003");
    /* the public tool takes the voltage of an over-range sample as it stands */
    assert_string_equal(r.volts, "243.470000");
    assert_int_equal(p.rows, 6);
    assert_int_equal(p.over, 1);
    assert_int_equal(p.over_amps, 20081500); /* -(3 + 20.0815) */
    assert_int_equal(p.missed, 1);
    assert_int_equal(p.bad, 2);
    assert_int_equal(p.reversed, 1);
    assert_int_equal(p.other_amps, 19117000);
}

static void samples_of_other_sources(void **state)
{
    struct jm_mlperf_sample s = {.real_ns = INT64_C(1753693141506999999),
                                 .sum = {2888, 210.7266666666, NAN, -0.5},
                                 .channel = {{977, 210.11, 4.727, 0.9838}},
                                 .n_channels = 1};
    struct jm_str out;
    (void)state;
    jm_str_init(&out);
    jm_mlperf_sample_line(&s, &out);
    assert_string_equal(
        out.buf,
        "Time,07-28-2025 08:59:01.506,Watts,2888.000000,Volts,210.726667,Amps,-1.000000,PF,-1.000000,"
        "Watts,977.000000,Volts,210.110000,Amps,4.727000,PF,0.983800");
    jm_str_release(&out);
}

static char dir[64];

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "splw_test.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    char cmd[128];
    (void)state;
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", dir);
    return system(cmd);
}

static void put(const char *path, const char *const *watts_at)
{
    struct jm_str s;
    struct jm_err err = {0};
    jm_str_init(&s);
    for (; watts_at[0]; watts_at += 2)
        jm_str_addf(&s, "Time,07-28-2025 08:00:%s,Watts,%s,PF,0.500000,Mark,m\n", watts_at[0], watts_at[1]);
    jm_str_addc(&s, '\n');
    assert_int_equal(jm_file_write(path, jm_str_span(&s), &err), 0);
    jm_str_release(&s);
}

#define W(w) w ",Volts,230.000000,Amps,1.000000"

/* By hand. The second analyzer starts a sample earlier, misses one, and ends early; its seconds end 0.4 s
 * later. Line by line, as the public tool adds, every sum would be of two different seconds. */
static void merged_by_time(void **state)
{
    static const char *const one[] = {"02.000", W("100.000000"),
                                      "03.000", W("101.000000"),
                                      "04.000", "-2.000000,Volts,-2.000000,Amps,-2.000000",
                                      "05.000", W("103.000000"),
                                      "06.000", "-11.112000,Volts,243.470000,Amps,-3.081500",
                                      "07.000", W("105.000000"),
                                      "08.000", W("106.000000"),
                                      NULL};
    static const char *const two[] = {
        "01.400", W("10.000000"), "02.400", W("20.500000"),
        "03.400", W("30.000000"), "04.400", W("40.000000"),
        "06.400", W("60.000000"), "07.400", "-1.000000,Volts,230.000000,Amps,-1.000000",
        NULL};
    /* 06.000: over range, -(3 + 8.112), as in power-dev #329, is 8.112 W */
    static const char *const sum[] = {"02.000",    "120.500000", "03.000",    "131.000000", "04.000",
                                      "-1.000000", "05.000",     "-1.000000", "06.000",     "68.112000",
                                      "07.000",    "-1.000000",  "08.000",    "-1.000000"};
    char a[128], b[128], out[128];
    const char *in[] = {a, b};
    struct jm_mlperf_merged done;
    struct jm_err err = {0};
    struct jm_str text;
    (void)state;
    snprintf(a, sizeof a, "%s/a", dir);
    snprintf(b, sizeof b, "%s/b", dir);
    snprintf(out, sizeof out, "%s/out", dir);
    put(a, one);
    put(b, two);
    assert_int_equal(jm_mlperf_spl_merge(in, 2, "m", out, &done, &err), 0);
    assert_int_equal(done.rows, 7);
    assert_int_equal(done.unknown, 4);
    assert_int_equal(done.unmatched, 2); /* 05.000 and 08.000 have no second part within 0.5 s */
    jm_str_init(&text);
    assert_int_equal(jm_file_read(out, 1 << 20, &text, &err), 0);
    struct jm_span rest = jm_str_span(&text), line;
    for (int i = 0; i < 7; i++) {
        char want[200];
        struct jm_spl_row row;
        assert_true(jm_span_line(&rest, &line));
        snprintf(want, sizeof want,
                 "Time,07-28-2025 08:00:%s,Watts,%s,Volts,-1.000000,Amps,-1.000000,PF,-1.000000,Mark,m,"
                 "Analyzer1,Time,07-28-2025 08:00:%s,Watts,",
                 sum[2 * i], sum[2 * i + 1], sum[2 * i]);
        assert_memory_equal(line.p, want, strlen(want));
        assert_int_equal(jm_spl_parse(line, &row, &err), 0);
        assert_true(row.analyzers);
        assert_int_equal(row.n_channels, 2);
    }
    assert_false(jm_span_line(&rest, &line));
    jm_str_release(&text);
    in[1] = "/nonexistent/file";
    assert_int_equal(jm_mlperf_spl_merge(in, 2, "m", out, &done, &err), JM_EABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(marks_and_channels), cmocka_unit_test(ranges),
                                       cmocka_unit_test(samples_of_other_sources),
                                       cmocka_unit_test(merged_by_time)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
