/* SPDX-License-Identifier: Apache-2.0 */
/* What a contract may say, and what is refused, with the place where it stands. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compute/contract.h"
#include "wire/scores.h"

#define HEAD "unit: output_token\nboundary: gpu\nminimum-saving: 3 %\n"

#if JM_HAVE_YAML
static void whole(void **state)
{
    static const char text[] =
        "name: chat\nunit: j_per.qualified_token\nboundary: wall\nminimum-saving: 2.5 %\nconfidence: 90 %\n"
        "power: 90 %\nequivalence-margin: 1 %\npairs: 8\n"
        "slos:\n  - {slice: all, ttft: 500 ms, tpot: 50ms, attainment: 99 %}\n  - {slice: long, e2e: 30 s}\n"
        "errors: {budget: 0.5 %}\nquality: {allowed-loss: 1%, minimum: 0.7}\n"
        "slices: {maximum-regression: 2 %}\ndiffers: [clocks, engine.version]\nknown: [precision]\n"
        "expected: {saving: 49 %, source: AFlex, accelerator: A800, slice: long}\n";
    struct jm_contract c;
    struct jm_err err = {0};
    (void)state;
    if (jm_contract_parse(jm_span_of(text), "c.yaml", &c, &err))
        fail_msg("%s", err.text);
    assert_string_equal(c.unit, "j_per.qualified_token");
    assert_int_equal(c.boundary, JM_B_WALL);
    assert_float_equal(c.minimum_saving, 0.025, 1e-15);
    assert_float_equal(c.level, 0.9, 1e-15);
    assert_float_equal(c.power, 0.9, 1e-15);
    assert_float_equal(c.margin, 0.01, 1e-15);
    assert_int_equal(c.pairs, 8);
    assert_int_equal(c.n_slo, 2);
    assert_null(c.slo[0].slice);
    assert_int_equal(c.slo[0].ttft, 500000000);
    assert_int_equal(c.slo[0].tpot, 50000000);
    assert_float_equal(c.slo[0].attainment, 0.99, 1e-15);
    assert_string_equal(c.slo[1].slice, "long");
    assert_int_equal(c.slo[1].e2e, 30000000000);
    assert_true(isnan(c.slo[1].attainment));
    assert_float_equal(c.error_budget, 0.005, 1e-15);
    assert_true(c.quality && c.expected);
    assert_float_equal(c.quality_loss, 0.01, 1e-15);
    assert_float_equal(c.quality_minimum, 0.7, 1e-15);
    assert_float_equal(c.slice_regression, 0.02, 1e-15);
    assert_int_equal(c.differs.n, 2);
    assert_string_equal(c.known.item[0], "precision");
    assert_float_equal(c.expected_saving, 0.49, 1e-15);
    assert_string_equal(c.expected_slice, "long");
    jm_contract_release(&c);
    if (jm_contract_parse(JM_SPAN(HEAD), "c.yaml", &c, &err))
        fail_msg("%s", err.text);
    assert_true(isnan(c.error_budget) && isnan(c.slice_regression) && isnan(c.level) && !c.quality);
    jm_contract_release(&c);
}

static void refused(void **state)
{
    static const struct {
        const char *text, *part, *where;
    } row[] = {
        {"", "\"unit\" is missing", "c.yaml: line 1, column 1:"},
        {"unit: output_token\nboundary: gpu\n", "\"minimum-saving\" is missing", "line 1, column 1:"},
        {"# why\nunit: output_token\nminimum-saving: 3 %\n", "\"boundary\" is missing", "line 2, column 1:"},
        {"unit: watts\n", "a lower power can take longer", "line 1, column 7"},
        {"unit: power.mean\n", "no unit of useful work", "line 1, column 7"},
        {"unit: energy\n", "no unit of useful work", "line 1, column 7"},
        {"unit: request_any\n", "counts what failed as work", "line 1, column 7"},
        {"unit: engine_token\n", "counts what failed as work", "line 1, column 7"},
        {"unit: apples\n", "one of output_token", "line 1, column 7"},
        {"boundary: facility\n", "PUE is of the site", "line 1, column 11"},
        {"boundary: design\n", "not measured", "line 1, column 11"},
        {"boundary: moon\n", "not one of gpu, device, node, wall", "line 1, column 11"},
        {"minimum-saving: 3\n", "write it with its sign", "line 1, column 17"},
        {"minimum-saving: -3 %\n", "not from 0 to 100", "line 1, column 17"},
        {"minimum-saving: 101 %\n", "not from 0 to 100", "line 1, column 17"},
        {"unit: output_token\nboundary: gpu\nminimum-saving: 100 %\n", "nothing saves 100 %",
         "line 3, column 17:"},
        {HEAD "minimum-savings: 3 %\n", "did you mean \"minimum-saving\"", "line 4, column 1"},
        {HEAD "unit: output_token\n", "is there twice", "line 4, column 1"},
        {HEAD "pairs: 1\n", "pairs", "line 4, column 8"},
        {HEAD "confidence: 40 %\n", "not between 50 and 100 %", "line 4, column 13:"},
        {HEAD "equivalence-margin: 0 %\n", "without the ends", "line 4, column 21:"},
        {HEAD "slos: 99 %\n", "slos", "line 4, column 7"},
        {HEAD "slos:\n  - {slice: a, attainment: 99 %}\n", "without a limit", "line 5, column 5"},
        {HEAD "slos:\n  - {ttft: 500}\n", "ttft", "line 5, column 12"},
        {HEAD "slos:\n  - {ttft: 5 s, e2e: 2 s}\n", "contradictory limits", "line 5, column 5"},
        {HEAD "slos:\n  - {tpot: 5 s, e2e: 2 s}\n", "contradictory limits", "line 5, column 5"},
        {HEAD "slos:\n  - {ttft: 1 s, attainment: 100 %}\n", "by no number of requests", "line 5, column 5"},
        {HEAD "slos:\n  - {ttft: 1 s, attainment: 0 %}\n", "asks for nothing", "line 5, column 5"},
        {HEAD "slos:\n  - {ttft: 1 s}\n", "has no attainment, so nothing is held by it", "line 5, column 5:"},
        {HEAD "differs: [engine.vers]\n", "did you mean \"engine.version\"", "line 4, column 11: differs"},
        {HEAD "slos:\n  - {ttft: 1 s}\n  - {slice: all, ttft: 2 s}\n",
         "two objectives for all requests, the other in line 5", "line 6, column 13:"},
        {HEAD "slos:\n  - {slice: x, ttft: 1 s}\n  - {slice: x, e2e: 2 s}\n",
         "two objectives for the slice x, the other in line 5", "line 6, column 13:"},
        {"unit: qualified_token\nboundary: gpu\nminimum-saving: 3 %\n", "no objective that could qualify",
         "line 1, column 7:"},
        {HEAD "errors: {budget: 1}\n", "no share", "line 4, column 18"},
        {HEAD "errors: {}\n", "asks for nothing", "line 4, column 9"},
        {HEAD "errors: {budget: 0 %}\n", "by no number of requests", "line 4, column 9"},
        {HEAD "errors: {budget: 100 %}\n", "asks for nothing", "line 4, column 9"},
        {HEAD "slices: {}\n", "asks for nothing", "line 4, column 9"},
        {HEAD "differs: [clocks, boundary]\n", "no declaration makes joules", "line 4, column 19: differs"},
        {HEAD "known:\n  - model\n  - moon\n", "nothing that is compared", "line 6, column 5: known"},
        {HEAD "power: 100 %\n", "without the ends", "line 4, column 8:"},
        {HEAD "quality: {}\n", "asks for nothing", "line 4, column 10"},
        {HEAD "quality: {minimum: good}\n", "no number", "line 4, column 20"},
        {HEAD "expected: {saving: 49 %}\n", "who found it, and where", "line 4, column 11"},
        {HEAD "expected: {source: x}\n", "who found it, and where", "line 4, column 11"},
        {HEAD "expected: {saving: 1 %, source: x}\n", "contradictory limits", "line 4, column 20:"},
        {HEAD "differs: {clocks: yes}\n", "differs", "line 4, column 10"},
        {"- unit\n", "mapping", "line 1, column 1"},
        {"unit: &x output_token\nboundary: *x\n", "aliases", "line 2, column 11"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct jm_contract c;
        struct jm_err err = {0};
        assert_int_equal(jm_contract_parse(jm_span_of(row[i].text), "c.yaml", &c, &err), JM_EUSAGE);
        if (!strstr(err.text, row[i].part) || !strstr(err.text, row[i].where))
            fail_msg("%s\nsays: %s", row[i].text, err.text);
        assert_null(strchr(err.text, '\n'));
        jm_contract_release(&c);
    }
}
#endif

static void scores(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        double first, last;
    } good[] = {{"0.5\n1\n0\n", 3, 0.5, 0},
                {"request,score\n1,0.25\n2,\"0.75\"\n", 2, 0.25, 0.75},
                {"\xef\xbb\xbfscore\r\n-1e-3\r\n", 1, -0.001, -0.001}};
    static const char *const bad[] = {"",         "score\n",      "name,value\n1,2\n", "score\nnan\n",
                                      "0.5\nx\n", "a,score\n1\n", "\"open\n"};
    struct jm_scores s;
    struct jm_err err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (jm_scores_parse(jm_span_of(good[i].text), &s, &err))
            fail_msg("%s", err.text);
        assert_int_equal(s.n, good[i].n);
        assert_float_equal(s.v[0], good[i].first, 1e-15);
        assert_float_equal(s.v[s.n - 1], good[i].last, 1e-15);
        jm_scores_release(&s);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_true(jm_scores_parse(jm_span_of(bad[i]), &s, &err) < 0);
        assert_true(err.text[0]);
        jm_scores_release(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#if JM_HAVE_YAML
        cmocka_unit_test(whole),
        cmocka_unit_test(refused),
#endif
        cmocka_unit_test(scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
