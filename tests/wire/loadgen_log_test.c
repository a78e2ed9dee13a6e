/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(detail), cmocka_unit_test(summary)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
