/* SPDX-License-Identifier: Apache-2.0 */
/* The table of rules and what is collected about a session. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "mlperf/rule.h"

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
                                       cmocka_unit_test(outcomes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
