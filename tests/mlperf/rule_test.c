/* SPDX-License-Identifier: Apache-2.0 */
/* The table of rules and what is collected about a session. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "mlperf/official.h"
#include "mlperf/pytext.h"

static void table(void **state)
{
    (void)state;
    for (const struct jm_mlperf_rule *r = jm_mlperf_rule_table; r->id; r++) {
        assert_ptr_equal(jm_mlperf_rule_find(r->id), r); /* ids are unique */
        assert_true(r->severity == JM_MLPERF_NOTE || r->severity == JM_MLPERF_WARN ||
                    r->severity == JM_MLPERF_FAIL);
        assert_true(r->title && *r->title && r->text && *r->text && r->source && *r->source && r->rounds);
        assert_true(r->official >= 0 && r->official <= 11);
        assert_null(strchr(r->id, ' '));
        assert_int_not_equal(r->title[strlen(r->title) - 1], '.');
    }
    assert_null(jm_mlperf_rule_find("no.such.rule"));
}

static void rounds(void **state)
{
    (void)state;
    struct jm_mlperf_rule r = {.id = "x", .rounds = "v3.1-"};
    assert_true(jm_mlperf_rule_applies(&r, "v3.1"));
    assert_true(jm_mlperf_rule_applies(&r, "v5.1"));
    assert_false(jm_mlperf_rule_applies(&r, "v3.0"));
    assert_true(jm_mlperf_rule_applies(&r, ""));
    r.rounds = "v1.0-v2.1";
    assert_true(jm_mlperf_rule_applies(&r, "v2.1"));
    assert_false(jm_mlperf_rule_applies(&r, "v3.0"));
    r.rounds = "v1.0";
    assert_true(jm_mlperf_rule_applies(&r, "v1.0"));
    assert_false(jm_mlperf_rule_applies(&r, "v1.1"));
}

static void revisions(void **state)
{
    (void)state;
    static const char *const same[][2] = {
        {"HEAD", "c4b3ad8"}, {"v3.1", "f59033d"},       {"r3.1", "f59033d"},  {"inf_v3.1", "f59033d"},
        {"v1.0", "r1.0"},    {"inf_v5.1", "inf_v5.1"},  {"v5.1", "inf_v5.1"}, {"r5.0", "inf_v5.0"},
        {"v6.0", "c4b3ad8"}, {"c4b3ad8123", "c4b3ad8"},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const struct jm_mlperf_revision *r = jm_mlperf_revision_find(same[i][0]);
        assert_non_null(r);
        assert_string_equal(r->name, same[i][1]);
    }
    static const char *const none[] = {"", "v", "r9.9", "xinf_v5.1", "c4b3ad", "c4b3ad8x", "5.1", "v.51"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_null(jm_mlperf_revision_find(none[i]));
    assert_string_equal(jm_mlperf_revision_of("v3.1")->name, "f59033d");
    assert_string_equal(jm_mlperf_revision_of("v6.1")->name, "c4b3ad8");
    assert_string_equal(jm_mlperf_revision_of("")->name, "c4b3ad8");
}

/* What the public checker's language makes of numbers and stamps: results of CPython 3.11. */
static void python(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *text;
    } repr[] = {{0.1, "0.1"},        {240, "240.0"},
                {-5, "-5.0"},        {854.4766902923584, "854.4766902923584"},
                {1e16, "1e+16"},     {1e-5, "1e-05"},
                {1.5e-7, "1.5e-07"}, {123456789012345680.0, "1.2345678901234568e+17"},
                {0.0001, "0.0001"},  {1753687116.83205, "1753687116.83205"}};
    for (size_t i = 0; i < sizeof repr / sizeof *repr; i++) {
        struct jm_str s;
        jm_str_init(&s);
        jm_py_repr(&s, repr[i].v);
        assert_string_equal(s.buf, repr[i].text);
        jm_str_release(&s);
    }
    assert_true(jm_py_round(2.675, 2) == 2.67 && jm_py_round(0.125, 2) == 0.12 &&
                jm_py_round(-4.995, 2) == -5.0);
    double v;
    assert_true(jm_py_float(JM_SPAN(" 1_000.5\n"), &v) && v == 1000.5);
    assert_true(jm_py_float(JM_SPAN("-Infinity"), &v) && v < 0);
    assert_false(jm_py_float(JM_SPAN("1__0"), &v) || jm_py_float(JM_SPAN(""), &v) ||
                 jm_py_float(JM_SPAN("0x1"), &v));
    assert_true(jm_py_time(JM_SPAN("07-28-2025 08:14:05.414"), &v) && v == 1753690445.414);
    assert_true(jm_py_time(JM_SPAN("2-29-2024 8:1:5.4"), &v) && v == 1709193665.4);
    assert_false(jm_py_time(JM_SPAN("02-29-2023 08:14:05.414"), &v) ||
                 jm_py_time(JM_SPAN("28-07-2025 08:14:05.414"), &v) ||
                 jm_py_time(JM_SPAN("07-28-2025 08:14:05.4141234"), &v) ||
                 jm_py_time(JM_SPAN("07-28-25 08:14:05.414"), &v));
    struct jm_span at;
    assert_true(jm_py_find_stamp(JM_SPAN("x-1 12-3 07-28-2025 08:14:05.414Z"), &at));
    assert_true(jm_span_is(at, "07-28-2025 08:14:05.414"));
    assert_true(jm_py_find_stamp(JM_SPAN("a -- ::. b"), &at) && jm_span_is(at, "-- ::."));
    assert_false(jm_py_find_stamp(JM_SPAN("07-28-2025 08:14:05"), &at));
}

static void outcomes(void **state)
{
    (void)state;
    struct jm_mlperf_checked c = {0};
    struct jm_err err = {0};
    for (int i = 0; i < 20; i++)
        assert_int_equal(jm_mlperf_outcome_add(&c, "samples.bad", i % 2 ? JM_MLPERF_WARN : JM_MLPERF_ABSENT,
                                               i % 3 ? "line\tone" : NULL, &err, "%d samples\x1b[2J", i),
                         0);
    assert_int_equal(c.n_outcomes, 20);
    assert_int_equal(c.verdict, JM_MLPERF_WARN); /* what is absent says nothing of the whole */
    assert_string_equal(c.outcomes[7].text, "7 samples?[2J");
    assert_string_equal(c.outcomes[7].evidence, "line one");
    assert_null(c.outcomes[3].evidence);
    assert_int_equal(jm_mlperf_outcome_add(&c, "no.such.rule", JM_MLPERF_FAIL, NULL, &err, "x"), JM_EINVAL);
    assert_int_equal(c.n_outcomes, 20);
    jm_mlperf_checked_release(&c);
    assert_int_equal(c.n_outcomes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(table), cmocka_unit_test(rounds),
                                       cmocka_unit_test(outcomes), cmocka_unit_test(revisions),
                                       cmocka_unit_test(python)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
