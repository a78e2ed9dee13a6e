/* SPDX-License-Identifier: Apache-2.0 */
/* Order, efficiency and comparison of MLPerf results, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/round_compare.h"

static struct jm_round_row *row(const char *system, const char *benchmark, const char *scenario,
                                double tokens, double samples)
{
    struct jm_round_row *r = jm_round_row_new();
    assert_non_null(r);
    assert_true(jm_round_set(&r->system, system) && jm_round_set(&r->submitter, "S") &&
                jm_round_set(&r->benchmark, benchmark) && jm_round_set(&r->scenario, scenario) &&
                jm_round_set(&r->division, "closed") && jm_round_set(&r->availability, "available"));
    r->tokens_per_j.published = r->tokens_per_j.proper = tokens;
    r->samples_per_j.published = r->samples_per_j.proper = samples;
    return r;
}

static void natural_order(void **state)
{
    static const char *const up[] = {"a",
                                     "A2",
                                     "a2b",
                                     "a10",
                                     "a010b",
                                     "v4.0",
                                     "v4.1",
                                     "v5.1",
                                     "v10.0",
                                     "x9999999999999999999999",
                                     "x10000000000000000000000"};
    (void)state;
    size_t n = sizeof up / sizeof up[0];
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            int c = jm_round_natural(up[i], up[k]);
            assert_int_equal((c > 0) - (c < 0), (i > k) - (i < k));
        }
        assert_true(jm_round_natural(up[i], NULL) < 0 && jm_round_natural(NULL, up[i]) > 0);
    }
    assert_int_equal(jm_round_natural(NULL, NULL), 0);
    assert_true(jm_round_natural("a1", "a01") != 0); /* another name, if of the same number */
}

static void efficiency(void **state)
{
    struct jm_round_row *r = row("s", "b", "Offline", 4, 2);
    (void)state;
    assert_ptr_equal(jm_round_efficiency(r), &r->tokens_per_j);
    r->tokens_per_j.published = r->tokens_per_j.proper = NAN;
    assert_ptr_equal(jm_round_efficiency(r), &r->samples_per_j);
    r->samples_per_j.published = r->samples_per_j.proper = NAN;
    assert_null(jm_round_efficiency(r));
    assert_true(isnan(jm_round_accelerators(r)) && isnan(jm_round_difference(r)));
    r->accelerators = 8;
    assert_true(jm_round_accelerators(r) == 8);
    r->nodes = 4;
    assert_true(jm_round_accelerators(r) == 32);
    jm_round_row_free(r);
}

static void worst_first(void **state)
{
    struct jm_round_row *r = jm_round_row_new();
    (void)state;
    assert_true(jm_round_finding_add(r, JM_RV_NOTE, "n", "", NULL) &&
                jm_round_finding_add(r, JM_RV_FAIL, "f1", "", NULL) &&
                jm_round_finding_add(r, JM_RV_WARN, "w", "", NULL) &&
                jm_round_finding_add(r, JM_RV_FAIL, "f2", "", NULL));
    assert_string_equal(r->finding[0].id, "f1");
    assert_string_equal(r->finding[1].id, "f2");
    assert_string_equal(r->finding[2].id, "w");
    assert_string_equal(r->finding[3].id, "n");
    jm_round_row_free(r);
}

/* What is left out, and why. */
static void reasons(void **state)
{
    struct jm_round_row *r = row("s", "b", "Offline", NAN, 2);
    char why[JM_ROUND_WHY];
    (void)state;
    assert_null(jm_round_incomparable(r, why));
    r->checked = true;
    r->official = JM_RV_WARN;
    r->own = JM_RV_FAIL; /* shown beside the ratio, no reason to leave it out */
    assert_null(jm_round_incomparable(r, why));
    assert_true(jm_round_set(&r->availability, "preview"));
    assert_string_equal(jm_round_incomparable(r, why), "preview, not available");
    assert_true(jm_round_set(&r->availability, NULL));
    assert_string_equal(jm_round_incomparable(r, why), "availability unknown");
    assert_true(jm_round_set(&r->division, "open"));
    assert_string_equal(jm_round_incomparable(r, why), "open division");
    r->official = JM_RV_FAIL;
    assert_string_equal(jm_round_incomparable(r, why), "fails the official checker");
    assert_true(jm_round_set(&r->unofficial, "simulated"));
    assert_string_equal(jm_round_incomparable(r, why), "not official: simulated");
    r->samples_per_j.published = r->samples_per_j.proper = NAN;
    assert_string_equal(jm_round_incomparable(r, why), "no performance result to divide by");
    jm_round_row_free(r);
}

static void comparison(void **state)
{
    struct jm_round_row *a[] = {row("box", "llama", "Offline", 4, 1), row("crate", "llama", "Offline", 5, 1),
                                row("box", "gptj", "Server", NAN, 3), row("box", "only-a", "Offline", 1, 1)};
    struct jm_round_row *b[] = {row("box", "llama", "offline", 10, 2), row("new", "llama", "Offline", 8, 2),
                                row("box", "gptj", "Server", 7, 6), row("box", "gptj", "Offline", 7, 6)};
    struct jm_round_comparison c;
    (void)state;
    a[1]->tokens_per_j.lo = 4.9;
    a[1]->tokens_per_j.hi = 5.1;
    b[0]->tokens_per_j.lo = 9.8;
    b[0]->tokens_per_j.hi = 10.2;
    assert_int_equal(jm_round_compare_sets((const struct jm_round_row *const *)a, 4,
                                           (const struct jm_round_row *const *)b, 4, false, &c, NULL),
                     0);
    assert_int_equal(c.n_match, 3);
    /* gptj Server: tokens on one side only, so samples on both: 6 / 3 */
    assert_true(!c.match[0].tokens && c.match[0].ratio == 2 && c.match[0].same_system);
    /* the best of llama: crate's 5 against box's 10, limits added as they stand: 9.8/5.1 to 10.2/4.9 */
    assert_true(c.match[1].tokens && c.match[1].ratio == 2 && !c.match[1].same_system);
    assert_true(c.match[1].of_a == 2 && c.match[1].of_b == 2);
    assert_true(fabs(c.match[1].lo - 9.8 / 5.1) < 1e-12 && fabs(c.match[1].hi - 10.2 / 4.9) < 1e-12);
    /* box against itself: 10 / 4; its interval is not known */
    assert_true(c.match[2].same_system && c.match[2].ratio == 2.5 && isnan(c.match[2].lo));
    assert_int_equal(c.n_left, 2);
    for (size_t i = 0; i < c.n_left; i++)
        assert_non_null(strstr(c.left[i].why, "no comparable result"));
    jm_round_comparison_release(&c);
    for (int i = 0; i < 4; i++) {
        jm_round_row_free(a[i]);
        jm_round_row_free(b[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(natural_order), cmocka_unit_test(efficiency),
                                       cmocka_unit_test(worst_first), cmocka_unit_test(reasons),
                                       cmocka_unit_test(comparison)};
    return cmocka_run_group_tests_name("model/round", tests, NULL, NULL);
}
