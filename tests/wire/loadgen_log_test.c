/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "wire/loadgen_log.h"

struct seen {
    int n, errors;
    char first[64];
    int64_t big;
};

static int collect(void *self, const struct jm_loadgen_entry *e)
{
    struct seen *s = self;
    if (!s->n++)
        memcpy(s->first, e->text.p, e->text.n);
    s->errors += e->is_error;
    if (jm_span_is(e->key, "result_max_latency_ns") && e->has_integer)
        s->big = e->integer;
    return 0;
}

static void detail(void **state)
{
    struct seen s = {0};
    int64_t broken;
    (void)state;
    static const char text[] = ":::MLLOG {\"key\": \"power_begin\", \"value\": \"07-28-2025 08:14:05.414\", "
                               "\"time_ms\": 1.5, \"metadata\": "
                               "{\"is_error\": false}}\r\n"
                               "not a log line\n"
                               ":::MLLOG {\"key\": \"result_max_latency_ns\", \"value\": 2676183786254, "
                               "\"metadata\": {\"is_error\": true}}\n"
                               ":::MLLOG {\"key\": \"cut\n"
                               ":::MLLOG nothing\n"
                               ":::MLLOG {\"key\": \"result_validity\", \"value\": \"VALID\"}";
    assert_int_equal(jm_loadgen_detail(JM_SPAN(text), collect, &s, &broken, NULL), 0);
    assert_int_equal(s.n, 3);
    assert_int_equal(broken, 2);
    assert_int_equal(s.errors, 1);
    assert_string_equal(s.first, "07-28-2025 08:14:05.414");
    assert_int_equal(s.big, INT64_C(2676183786254)); /* beyond 32 bits and exact */
}

static void summary(void **state)
{
    struct jm_span v;
    (void)state;
    struct jm_span text = JM_SPAN("SUT name : x\nSamples per second: 100077\r\nResult is : VALID\n");
    assert_true(jm_loadgen_summary(text, "Samples per second", &v));
    assert_true(jm_span_is(v, "100077"));
    assert_true(jm_loadgen_summary(text, "Result is", &v));
    assert_true(jm_span_is(v, "VALID"));
    assert_false(jm_loadgen_summary(text, "Result", &v));
}

#define TAIL                                                                                                 \
    ", \"time_ms\": 1.5, \"namespace\": \"mlperf::logging\", \"event_type\": \"POINT_IN_TIME\", "            \
    "\"metadata\": "                                                                                         \
    "{\"is_error\": false, \"is_warning\": false, \"file\": \"loadgen.cc\", \"line_no\": 1, \"pid\": 2, "    \
    "\"tid\": 3}}"

/* One line to "key=text" with flags: s string, n number, b truth value, E error, W warning, T text form; "?"
 * no entry, "!" broken. */
static const char *one(const char *line, char out[256])
{
    struct jm_loadgen_entry e;
    struct jm_str scratch, text;
    jm_str_init(&scratch);
    jm_str_init(&text);
    int rc = jm_loadgen_line(jm_span_of(line), &scratch, &e);
    if (!rc)
        jm_loadgen_text(&e, &text);
    if (rc)
        snprintf(out, 256, "%s", rc == JM_EAGAIN ? "?" : "!");
    else
        snprintf(out, 256, "%s%s%s%s%s%s %.*s=%s", e.is_string ? "s" : "", e.is_number ? "n" : "",
                 e.is_bool ? "b" : "", e.is_error ? "E" : "", e.is_warning ? "W" : "", e.json ? "" : "T",
                 (int)e.key.n, e.key.p, text.buf);
    jm_str_release(&scratch);
    jm_str_release(&text);
    return out;
}

/* The usual line and what is near it: the short way and the whole grammar must agree. */
static void forms(void **state)
{
    static const char *const row[][2] = {
        {":::MLLOG {\"key\": \"a\", \"value\": \"x y\"" TAIL, "s a=x y"},
        {":::MLLOG {\"key\": \"a\", \"value\": -1.5e3" TAIL "\r", "n a=-1.5e3"},
        {":::MLLOG {\"key\": \"a\", \"value\": true" TAIL, "b a=true"},
        {":::MLLOG {\"key\": \"a\", \"value\": [1, {\"key\": \"b\"}]" TAIL, " a="},
        {":::MLLOG {\"key\": \"a\", \"value\": \"q\\\"\\u00e9\"" TAIL, "s a=q\"\u00e9"},
        {":::MLLOG {\"key\": \"a\\u0062\", \"value\": 1" TAIL, "n ab=1"},
        {":::MLLOG {\"key\": \"a\", \"value\": 1" TAIL "x", "!"},
        {":::MLLOG {\"key\": \"a\", \"value\": 01" TAIL, "!"},
        {":::MLLOG {\"key\": \"a\", \"value\": nan" TAIL, "!"},
        {":::MLLOG {\"key\": \"a\", \"value\": \"cut", "!"},
        {":::MLLOG {\"value\": 2, \"key\": \"a\", \"metadata\": {\"is_warning\":true, \"is_error\" : true}}",
         "nEW a=2"},
        /* texts that look like flags are none; of two members the last one counts */
        {":::MLLOG {\"key\": \"a\", \"value\": {\"is_error\": true, \"metadata\": {\"is_error\": true}}}",
         " a="},
        {":::MLLOG {\"key\": \"a\", \"value\": \"\\\"is_error\\\": true\"" TAIL, "s a=\"is_error\": true"},
        {":::MLLOG {\"key\": \"a\", \"key\": \"b\", \"value\": 1, \"value\": 2}", "n b=2"},
        {":::MLLOG {\"key\": 7, \"value\": 1}", "?"},
        {":::mllog {\"key\": \"a\", \"value\": 1}", "n a=1"},
        {":::MLPv0.5.0 ncf 1541635560.12 (ncf.py:123) run_start: {\"value\": 3}", "nT run_start=3"},
        {":::MLPv0.5.0 ncf 1541635560.12 (ncf.py:123) quality: 0.6", "nT quality=0.6"},
        {":::MLPv0.5.0 ncf 1541635560.12 (ncf.py:123) run_stop", "T run_stop="},
        {"\"pid\": 6, \"tid\": 6, \"ts\": 600ns : POWER_BEGIN : 11-11-2020 10:00:00.123",
         "sT POWER_BEGIN=11-11-2020 10:00:00.123"},
        {"\"pid\": 6, \"tid\": 6, \"ts\": 600ns : ERROR : Something : 5", "nET Something=5"},
        {"\"pid\": 6, \"tid\": 6, \"ts\": 600ns : WARNING : Something", "WT Something="},
        {"\"pid\": 6, \"tid\": 6, \"ts\": 600ns : Requested Settings:", "T Requested Settings="},
        {"hello", "?"},
        {"", "?"},
    };
    char out[256];
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        assert_string_equal(one(row[i][0], out), row[i][1]);
}

/* As compliance/check.py of mlcommons/power-dev looks for it. */
static void window(void **state)
{
    static const struct {
        const char *line[4];
        int64_t begin, end; /* s of 1970-01-01 */
        bool timeless;
    } row[] = {
        {{"x POWER_BEGIN 01-01-1970 00:00:10.5", "Power_End: 01-01-1970 00:01:00.000"}, 10, 60, false},
        {{"power_begin 01-01-1970 00:00:10.5", "power_begin 01-01-1970 00:00:20.5",
          "power_end 01-01-1970 00:01:00.0", "power_begin 01-01-1970 00:00:30.5"},
         20,
         60,
         false},
        {{"power_begin 9 01-01-1970 00:00:10.5 01-01-1970 00:00:11.5"}, 10, -1, false},
        {{"power_begin at noon", "power_end 01-01-1970 00:01:00.0"}, -1, -1, true},
        {{"power_begin 13-01-1970 00:00:10.5"}, -1, -1, true},
        {{"ower_begin 01-01-1970 00:00:10.5", "power_ends"}, -1, -1, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct jm_loadgen_window w;
        jm_loadgen_window_init(&w);
        for (int k = 0; k < 4 && row[i].line[k]; k++)
            jm_loadgen_window_line(&w, jm_span_of(row[i].line[k]));
        assert_int_equal(w.begin < 0 ? -1 : w.begin / 1000000000, row[i].begin);
        assert_int_equal(w.end < 0 ? -1 : w.end / 1000000000, row[i].end);
        assert_int_equal(w.timeless, row[i].timeless);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(detail), cmocka_unit_test(summary),
                                       cmocka_unit_test(forms), cmocka_unit_test(window)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
