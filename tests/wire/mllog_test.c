/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire/mllog.h"

static void reads_what_training_writes(void **state)
{
    (void)state;
    struct jm_mllog e;
    struct jm_err err;
    /* the line of a node of Dell's v4.1 result */
    struct jm_span l = JM_SPAN(
        ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1728509261000, \"event_type\": \"POINT_IN_TIME\", "
        "\"key\": \"power_reading\", \"value\": 3418.0, \"metadata\": {\"file\": \"p.py\", \"lineno\": 88, "
        "\"host\": "
        "\"0\"}}");
    assert_int_equal(jm_mllog_parse(l, &e, &err), 0);
    assert_true(jm_span_is(e.key, "power_reading"));
    assert_true(jm_span_is(e.event, "POINT_IN_TIME"));
    assert_true(e.has_time && e.is_number);
    assert_int_equal(e.time_us, INT64_C(1728509261000000));
    assert_true(e.number == 3418.0);
    assert_true(jm_span_is(jm_mllog_meta(&e, "host"), "0"));
    assert_true(jm_span_is(jm_mllog_meta(&e, "lineno"), "88"));
    assert_int_equal(jm_mllog_meta(&e, "none").n, 0);
    /* a rank before it, and metadata that is no object (SMC v4.0) */
    l = JM_SPAN("0: :::MLLOG {\"namespace\":\"\",\"time_ms\":1715257320207,\"event_type\":\"INTERVAL_START\","
                "\"key\":\"power_measurement_start\",\"value\":\"null\",\"metadata\":\"\"}\r");
    assert_int_equal(jm_mllog_parse(l, &e, &err), 0);
    assert_true(e.is_string && jm_span_is(e.text, "null") && isnan(e.number));
    assert_int_equal(jm_mllog_meta(&e, "host").n, 0);
    l = JM_SPAN(":::MLLOG {\"key\": \"run_stop\", \"value\": null, \"time_ms\": 12.5, \"metadata\": "
                "{\"status\": \"success\"}}");
    assert_int_equal(jm_mllog_parse(l, &e, &err), 0);
    assert_int_equal(e.text.n, 0);
    assert_int_equal(e.time_us, 12500);
    assert_true(jm_span_is(jm_mllog_meta(&e, "status"), "success"));
}

static void refuses_what_is_broken(void **state)
{
    (void)state;
    struct jm_mllog e;
    struct jm_err err;
    assert_int_equal(jm_mllog_parse(JM_SPAN("W0509 13:24 some warning {}"), &e, &err), JM_EAGAIN);
    assert_int_equal(jm_mllog_parse(JM_SPAN(""), &e, &err), JM_EAGAIN);
    static const char *const bad[] = {":::MLLOG",
                                      ":::MLLOG []",
                                      ":::MLLOG {\"key\": \"a\"",
                                      ":::MLLOG {\"key\": \"a\"} {}",
                                      ":::MLLOG {\"value\": 1}",
                                      ":::MLLOG {\"key\": 7}",
                                      ":::MLLOG {\"key\": \"a\", \"value\": }"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        err.text[0] = 0;
        assert_int_equal(jm_mllog_parse(jm_span_of(bad[i]), &e, &err), JM_EPARSE);
        assert_true(err.text[0]);
    }
    /* NaN and numbers beyond any clock are no readings and no times */
    assert_int_equal(
        jm_mllog_parse(JM_SPAN(":::MLLOG {\"key\": \"power_reading\", \"value\": NaN, \"time_ms\": 1e300}"),
                       &e, &err),
        0);
    assert_false(e.is_number);
    assert_false(e.has_time);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_training_writes),
        cmocka_unit_test(refuses_what_is_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
