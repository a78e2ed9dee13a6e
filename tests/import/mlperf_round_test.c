/* SPDX-License-Identifier: Apache-2.0 */
/* The table of rounds: its rows against the public record (dates of MLCommons' announcements, tolerances and
 * versions as quoted in mlcommons/power-dev issues 262 and 320 and mlcommons/inference issue 1338), and how a
 * session finds its round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "import/mlperf_round.h"

static int64_t at(int year, int month, int day)
{
    return jm_time_unix(year, month, day, 12, 0, 0) * JM_NS_PER_S;
}

static void rows(void **state)
{
    static const struct {
        const char *name, *ptd;
        int tolerance;
        bool local, drop, mj, legacy, efficiency, completed, error;
    } want[] = {
        {"v1.0", "1.9.1", 200, true, false, false, true, false, false, false},
        {"v1.1", "1.9.2", 200, false, false, false, true, false, false, false},
        {"v2.0", "1.9.2", 200, false, false, false, false, false, false, false},
        {"v2.1", "1.9.2", 500, false, false, false, false, false, false, false},
        {"v3.0", "1.10.0", 500, false, false, true, false, false, false, false},
        {"v3.1", "1.10.0", 500, false, true, true, false, true, false, true},
        {"v4.0", "1.10.0", 800, false, true, true, false, true, false, true},
        {"v4.1", "1.10.0", 800, false, true, true, false, true, true, true},
        {"v5.0", "1.11.1", 800, false, true, true, false, true, true, true},
        {"v5.1", "1.11.1", 800, false, true, true, false, true, true, true},
        {"v6.0", "1.11.1", 800, false, true, true, false, true, true, true},
        {"v6.1", "1.11.1", 800, false, true, true, false, true, true, true},
    };
    struct jm_mlperf_round r;
    (void)state;
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        assert_true(jm_mlperf_round_at(i, &r));
        assert_string_equal(r.name, want[i].name);
        assert_int_equal(r.tolerance_ms, want[i].tolerance);
        assert_int_equal(r.local_time, want[i].local);
        assert_int_equal(r.drop_nonpositive, want[i].drop);
        assert_int_equal(r.millijoules, want[i].mj);
        assert_int_equal(r.legacy_count, want[i].legacy);
        assert_int_equal(r.legacy_multistream, want[i].legacy);
        assert_int_equal(r.efficiency, want[i].efficiency);
        assert_int_equal(r.completed, want[i].completed);
        assert_int_equal(r.uncertainty_is_error, want[i].error);
        assert_int_equal(r.min_duration_ms, 600000);
        assert_true(jm_mlperf_round_lists(r.ptd, jm_span_of(want[i].ptd)));
        assert_true(jm_mlperf_round_takes_device(&r, 49));
        assert_false(jm_mlperf_round_takes_device(&r, 4));
        assert_false(jm_mlperf_round_takes_device(&r, 0));
        assert_true(r.source.n > 20 && r.checker[0]);
    }
    assert_false(jm_mlperf_round_at(sizeof want / sizeof want[0], &r));
}

static void found(void **state)
{
    static const struct {
        const char *path;
        int year, month, day;
        const char *round, *from;
    } want[] = {
        {"/d/inference_results_v4.1/closed/NVIDIA/results/H200/gptj-99/Offline", 2024, 7, 17, "v4.1", "path"},
        {"/d/v5.1_Lenovo_SR680a_llama2-70b-99_Offline", 2025, 7, 28, "v5.1", "path"},
        {"/d/mlperf_inference_submissions_v3.1/closed/CTuning/results/x/bert-99/offline", 2023, 7, 30, "v3.1",
         "path"},
        /* the version of a runtime in the name of the system is not the round */
        {"/d/inference_results_v2.0/closed/Krai/results/rpi4-tflite-v2.1/resnet50/singlestream", 2022, 2, 12,
         "v2.0", "path"},
        {"/d/logs/rpi4-tflite-v2.1/resnet50/singlestream", 2022, 2, 12, "v2.0", "date of the run"},
        {"/d/logs/rpi4-tflite-v2.1/resnet50/singlestream", 2022, 7, 26, "v2.1", "path"},
        {"/d/pytorch-v2.0.1/resnet50/offline", 2023, 7, 30, "v3.1", "date of the run"},
        {"/d/plain", 2021, 3, 18, "v1.0", "date of the run"},
        {"/d/plain", 2025, 4, 1, "v5.0", "date of the run"},
        {"/d/plain", 2025, 4, 2, "v5.1", "date of the run"},
        {"/d/plain", 2040, 1, 1, "v6.1", "date of the run"},
        /* younger than the round's results: the name means something else */
        {"/d/v1.0/session", 2025, 7, 28, "v5.1", "date of the run"},
    };
    struct jm_mlperf_round r;
    (void)state;
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        jm_mlperf_round_find(want[i].path, at(want[i].year, want[i].month, want[i].day), &r);
        assert_string_equal(r.name, want[i].round);
        assert_string_equal(r.from, want[i].from);
    }
    jm_mlperf_round_find("/d/plain", -1, &r);
    assert_string_equal(r.name, "v6.1");
    assert_string_equal(r.from, "newest known");
    jm_mlperf_round_find("/d/v3.0/plain", -1, &r);
    assert_string_equal(r.name, "v3.0");
}

static void named(void **state)
{
    struct jm_mlperf_round r;
    struct jm_err err = {0};
    (void)state;
    assert_int_equal(jm_mlperf_round_named("v3.0", &r, &err), 0);
    assert_string_equal(r.name, "v3.0");
    assert_string_equal(r.from, "given");
    assert_int_equal(jm_mlperf_round_named("5.1", &r, &err), 0);
    assert_string_equal(r.name, "v5.1");
    assert_int_equal(jm_mlperf_round_named("v0.7", &r, &err), JM_EUSAGE);
    assert_non_null(strstr(err.text, "v1.0, v1.1"));
    assert_int_equal(jm_mlperf_round_named("", &r, &err), JM_EUSAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows), cmocka_unit_test(found),
                                       cmocka_unit_test(named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
