/* SPDX-License-Identifier: Apache-2.0 */
/* Energy of MLPerf Tiny on traces that are small enough to be worked out by hand. */
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
#include "mlperf/tiny.h"

static char dir[256];

static int fresh(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "tiny_test.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int gone(void **state)
{
    char cmd[300];
    (void)state;
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    return system(cmd);
}

static void put(const char *name, struct jm_span text)
{
    char path[600];
    struct jm_err err = {0};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (jm_file_write(path, text, &err))
        fail_msg("%s", err.text);
}

/* n samples of value(i) uJ at rate. */
static void trace(const char *name, float rate, int n, float (*value)(int))
{
    struct jm_str s;
    jm_str_init(&s);
    jm_str_addc(&s, (char)0xf1);
    for (int i = -1; i < n; i++) {
        float f = i < 0 ? rate : value(i);
        uint32_t u;
        memcpy(&u, &f, 4);
        for (int k = 0; k < 4; k++)
            jm_str_addc(&s, (char)(u >> (8 * k)));
    }
    put(name, jm_str_span(&s));
    jm_str_release(&s);
}

static float flat(int i)
{
    (void)i;
    return 2;
}
static float ramp(int i)
{
    return (float)(i % 8);
}
static float holes(int i)
{
    return i == 20 ? NAN : 2;
}

static struct jm_tiny_result *read_it(void)
{
    struct jm_tiny_result *t = NULL;
    struct jm_err err = {0};
    if (jm_tiny_read(dir, &t, &err))
        fail_msg("%s", err.text);
    return t;
}

static enum jm_mlperf_verdict says(const struct jm_tiny_result *t, const char *id)
{
    struct jm_mlperf_checked c = {0};
    struct jm_err err = {0};
    enum jm_mlperf_verdict v = JM_MLPERF_ABSENT;
    if (jm_tiny_check(t, &c, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < c.n_outcomes; i++)
        if (strcmp(c.outcomes[i].rule->id, id) == 0)
            v = c.outcomes[i].verdict;
    jm_mlperf_checked_release(&c);
    return v;
}

/* 8 samples a second (their sum of time is exact). Edges at 0.5 s (start), 1.0 to 3.0 s and 4.0625 to 5.0 s.
 *   window 2: samples 8 to 23, 16 of them: of the ramp 0 to 7 twice, 56 uJ; both figures
 *   window 4: whole samples 33 to 39 (a sample that begins at 4.0625 s or later): 1+2+...+7 = 28 uJ; in
 *             proportion also half of sample 32, which is 0: 28 uJ */
static void windows(void **state)
{
    (void)state;
    trace("trace1-energy.bin", 8, 48, ramp);
    put("trace1-timestamps.json", JM_SPAN("[0.5, 1.0, 3.0, 4.0625, 5.0]"));
    put("log.txt", JM_SPAN("00000.1 io: [dut]: m-timestamp-mode-energy\n00001.0 io: [dut]: m-infer-start-4\n"
                           "00003.0 io: [dut]: m-infer-done\n00004.0 io: [dut]: m-infer-start-7\r\n"
                           "00006.0 emon: m-regfile-fn[trace1-energy.bin]-type[emon]-name[js110]\n"));
    struct jm_tiny_result *t = read_it();
    assert_int_equal(t->n_window, 2);
    assert_true(t->window[0].published_uj == 56 && t->window[0].proper_uj == 56 &&
                t->window[0].samples == 16);
    assert_true(t->window[1].published_uj == 28 && t->window[1].proper_uj == 28 && t->window[1].samples == 7);
    assert_true(t->window[0].published_per == 14 && t->window[1].published_per == 4);
    assert_true(t->median_published == 9); /* of two: their middle */
    assert_true(t->rate_hz == 8 && t->samples == 48);
    assert_string_equal(t->instrument, "js110");
    assert_int_equal(says(t, "tiny.windows"), JM_MLPERF_FAIL); /* two, and five are asked for */
    assert_int_equal(says(t, "tiny.duration"), JM_MLPERF_FAIL);
    assert_int_equal(says(t, "tiny.inferences"), JM_MLPERF_FAIL);
    assert_int_equal(says(t, "tiny.edges"), JM_MLPERF_PASS);
    assert_int_equal(says(t, "tiny.mode"), JM_MLPERF_PASS);
    assert_int_equal(says(t, "tiny.agrees"), JM_MLPERF_NOTE); /* no results.txt */
    jm_tiny_free(t);
}

/* Flat 2 uJ; the window 1.0625 to 2.9375 s covers 15 sample times: whole ones 9 to 23 are 15 (30 uJ), in
 * proportion half of 8, 9 to 22, half of 23 = 15 x 2 = 30 uJ as well. Sample 20 is lost: 28 uJ in whole
 * samples, 30 uJ with its neighbour's value. One of 48 is 2 %. */
static void lost_samples(void **state)
{
    (void)state;
    trace("trace1-energy.bin", 8, 48, holes);
    put("trace1-timestamps.json", JM_SPAN("[0.5, 1.0625, 2.9375]"));
    put("log.txt",
        JM_SPAN("1 m-infer-start-10\n2 js110: m-dropthresh[5]\n3 e-[Bad sample percentage exceeded 0.1%\n"));
    struct jm_tiny_result *t = read_it();
    assert_true(t->window[0].published_uj == 28 && t->window[0].proper_uj == 30);
    assert_int_equal(t->window[0].dropped, 1);
    assert_int_equal(says(t, "tiny.dropped"), JM_MLPERF_FAIL);
    assert_int_equal(says(t, "tiny.limit"), JM_MLPERF_FAIL);
    assert_int_equal(says(t, "tiny.errors"), JM_MLPERF_FAIL);
    jm_tiny_free(t);
}

static void claims(void **state)
{
    (void)state;
    trace("trace1-energy.bin", 8, 48, flat);
    put("trace1-timestamps.json", JM_SPAN("[0.5, 1, 3]"));
    static const char ok[] = "00126.062 ulp-ml: Energy data for window 2 at time 1.00 for 2.00 sec.:\n"
                             "00126.062 ulp-ml:   Energy       :       32.000 uJ\n"
                             "00126.062 ulp-ml:   Power        :       16.000 uW\n"
                             "00126.062 ulp-ml:   Energy/Inf.  :        3.200 uJ/inf.\n"
                             "00126.103 ulp-ml: Median energy cost is 3.200 uJ/inf.\n"
                             "00126.105 ulp-ml: Performance results for window 2:\n"
                             "00126.105 ulp-ml:   # Inferences :           10\n";
    put("results.txt", jm_span_of(ok));
    struct jm_tiny_result *t = read_it();
    assert_true(t->window[0].claimed_uj == 32 && t->window[0].published_per == 3.2);
    assert_int_equal(says(t, "tiny.agrees"), JM_MLPERF_PASS);
    jm_tiny_free(t);
    char wrong[sizeof ok];
    memcpy(wrong, ok, sizeof ok);
    memcpy(strstr(wrong, "32.000"), "31.998", 6);
    put("results.txt", jm_span_of(wrong));
    t = read_it();
    assert_int_equal(says(t, "tiny.agrees"), JM_MLPERF_FAIL);
    jm_tiny_free(t);
    memcpy(wrong, ok, sizeof ok);
    memcpy(strstr(wrong, "cost is 3.2"), "cost is 3.1", 11);
    put("results.txt", jm_span_of(wrong));
    t = read_it();
    assert_int_equal(says(t, "tiny.agrees"), JM_MLPERF_FAIL);
    jm_tiny_free(t);
}

/* MLCommons' runner: a thousand samples a second in joules, the load between the last two edges. Trial k
 * draws 2 + k uJ a millisecond for 12 s: (2 + k) x 12,000 uJ, of 250 inferences 96, 144, ... 288 uJ; the
 * middle one 192. */
static void trials(void **state)
{
    (void)state;
    struct jm_str json, log, txt;
    jm_str_init(&json);
    jm_str_init(&log);
    jm_str_init(&txt);
    jm_str_adds(&log, "Logging initialized. Writing output to sessions\\20250725_190327\\log.txt\n"
                      "Device profile retrieved: Firmware V0.0.1\nDevice model retrieved: kws01\n");
    jm_str_adds(&txt, "Power Edition Output\n");
    for (int k = 0; k < 5; k++) {
        jm_str_addf(&json,
                    "%s{\"file\": \"a.bin\", \"infer\": {\"results\": [0.1, 0.9], \"iterations\": 250}, "
                    "\"power\": {\"samples\": [",
                    k ? ", " : "[");
        for (int i = 0; i < 12100; i++)
            jm_str_addf(&json, "%s%de-06", i ? ", " : "", i < 50 || i >= 12050 ? 1 : 2 + k);
        jm_str_adds(&json, "], \"timestamps\": [[\"00\", 7], [\"01\", 50], [\"02\", 12050]], \"voltage\": "
                           "1.8}, \"mode\": \"e\"}");
        jm_str_adds(&log, "0725.190332 ulp-mlperf: Loading file a.bin segment 0\n"
                          "Running inference with 1/250 (warmup/measured) iterations ...\n");
        jm_str_addf(&txt,
                    "Energy data for trial %d\n  Elapsed time  : 12.0\n  Inferences    : 250\n  Power        "
                    " : %d.0 mW.\n"
                    "  Total Energy  : %d.000 uJ\n  Energy/Inf    : %d.000 uJ/inf\n",
                    k, 2 + k, (2 + k) * 12000, (2 + k) * 48);
    }
    jm_str_adds(&json, "]");
    jm_str_adds(&txt, "-----\nMedian energy cost is 192.0000 uJ/inf.\n-----\n");
    put("results.json", jm_str_span(&json));
    put("results.txt", jm_str_span(&txt));
    put("log.txt", jm_str_span(&log));
    assert_true(jm_tiny_at(dir));
    struct jm_tiny_result *t = read_it();
    assert_int_equal(t->n_window, 5);
    for (int k = 0; k < 5; k++) {
        assert_float_equal(t->window[k].published_uj, (2 + k) * 12000, 1e-6);
        assert_true(t->window[k].samples == 12000 && t->window[k].inferences == 250);
        assert_true(t->window[k].claimed_uj == (2 + k) * 12000);
    }
    assert_float_equal(t->median_published, 192, 1e-9);
    assert_float_equal(t->median_proper, 192, 1e-9); /* whole samples are all there is */
    assert_true(t->claimed_median == 192 && t->volts_mv == 1800 && t->energy_mode);
    assert_string_equal(t->model, "kws01");
    assert_string_equal(t->device, "Firmware V0.0.1");
    static const char *const holds[] = {"tiny.windows", "tiny.duration", "tiny.inferences", "tiny.edges",
                                        "tiny.dropped", "tiny.agrees",   "tiny.mode",       "tiny.errors"};
    for (size_t i = 0; i < sizeof holds / sizeof holds[0]; i++)
        if (says(t, holds[i]) != JM_MLPERF_PASS)
            fail_msg("%s", holds[i]);
    jm_tiny_free(t);
    /* a sample of 3 uJ was lost: 3 uJ less in whole samples, none less with the value before it. An edge was
     * lost, another claim, a cut file. */
    memcpy(strstr(strstr(json.buf, "3e-06") + 1, "3e-06"), "null ", 5);
    memcpy(strstr(json.buf, "[\"01\", 50]"), "[\"05\", 50]", 10);
    memcpy(strstr(txt.buf, "24000.000"), "24000.002", 9);
    put("results.json", jm_str_span(&json));
    put("results.txt", jm_str_span(&txt));
    t = read_it();
    assert_int_equal(says(t, "tiny.edges"), JM_MLPERF_FAIL);
    assert_int_equal(says(t, "tiny.agrees"), JM_MLPERF_FAIL);
    assert_float_equal(t->window[1].published_uj, 35997, 1e-6);
    assert_float_equal(t->window[1].proper_uj, 36000, 1e-6);
    assert_true(t->window[1].dropped == 1);
    jm_tiny_free(t);
    for (size_t n = json.len; n > 2; n = n / 3) {
        put("results.json", jm_span_sub(jm_str_span(&json), 0, n - 1));
        t = read_it();
        assert_true(t->why[0]);
        jm_tiny_free(t);
    }
    /* no samples: nothing but the claim */
    char path[600];
    snprintf(path, sizeof path, "%s/results.json", dir);
    unlink(path);
    t = read_it();
    assert_true(isnan(t->median_published) && t->n_window == 5 && t->claimed_median == 192);
    assert_non_null(strstr(t->why, "192 uJ"));
    assert_int_equal(says(t, "tiny.agrees"), JM_MLPERF_NOTE);
    jm_tiny_free(t);
    jm_str_release(&json);
    jm_str_release(&log);
    jm_str_release(&txt);
}

static void cut_and_odd_files(void **state)
{
    (void)state;
    struct jm_tiny_result *t;
    struct jm_err err = {0};
    assert_false(jm_tiny_at(dir));
    assert_int_equal(jm_tiny_read(dir, &t, &err), JM_EABSENT);
    put("trace1-energy.bin", JM_SPAN("\xf1\x00\x00"));
    put("trace1-timestamps.json", JM_SPAN("[0.5, 1, 3]"));
    put("log.txt", JM_SPAN("1 m-infer-start-10\n"));
    assert_true(jm_tiny_at(dir));
    t = read_it();
    assert_non_null(strstr(t->why, "at least 5 bytes"));
    assert_true(isnan(t->median_published) || t->median_published == 0);
    jm_tiny_free(t);
    trace("trace1-energy.bin", 8, 20, flat); /* ends at 2.5 s, inside the window */
    t = read_it();
    assert_true(isnan(t->median_published));
    assert_non_null(strstr(t->why, "before window 2"));
    jm_tiny_free(t);
    trace("trace1-energy.bin", NAN, 20, flat);
    t = read_it();
    assert_non_null(strstr(t->why, "sample rate"));
    jm_tiny_free(t);
    trace("trace1-energy.bin", 8, 48, flat);
    static const char *const bad[] = {"",        "{}",    "[1, 2",   "[3, 1]", "[-1]",
                                      "[\"a\"]", "[1] 2", "[1e999]", "[NaN]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put("trace1-timestamps.json", jm_span_of(bad[i]));
        t = read_it();
        assert_true(t->why[0] && t->n_window == 0);
        assert_int_equal(says(t, "tiny.windows"), JM_MLPERF_FAIL);
        jm_tiny_free(t);
    }
    put("trace1-timestamps.json", JM_SPAN("[1, 3]")); /* the start was not seen: the windows are still told */
    t = read_it();
    assert_true(t->n_window == 1 && t->window[0].published_uj == 32);
    assert_int_equal(says(t, "tiny.edges"), JM_MLPERF_WARN);
    jm_tiny_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(windows, fresh, gone),
        cmocka_unit_test_setup_teardown(lost_samples, fresh, gone),
        cmocka_unit_test_setup_teardown(claims, fresh, gone),
        cmocka_unit_test_setup_teardown(trials, fresh, gone),
        cmocka_unit_test_setup_teardown(cut_and_odd_files, fresh, gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
