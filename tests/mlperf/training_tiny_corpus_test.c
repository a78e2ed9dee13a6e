/* SPDX-License-Identifier: Apache-2.0 */
/* The published Training power results and the Tiny energy trace of the public test data. Energies of the
 * training runs are from an independent reading of the logs (Python, by the text of the rules and by the
 * arithmetic of mlcommons/logging); windows of the Tiny trace are what its results.txt says. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "mlperf/tiny.h"
#include "mlperf/training.h"

static char corpus[4096];

static void near(double got, double want, double rel)
{
    if (!(fabs(got - want) <= rel * fabs(want)))
        print_error("got %.12g, expected %.12g\n", got, want);
    assert_true(fabs(got - want) <= rel * fabs(want));
}

static const struct jm_mlperf_outcome *outcome(const struct jm_mlperf_checked *c, const char *id)
{
    for (size_t i = 0; i < c->n_outcomes; i++)
        if (strcmp(c->outcomes[i].rule->id, id) == 0)
            return &c->outcomes[i];
    fail_msg("no outcome of %s", id);
    return NULL;
}

static void dell(void **state)
{
    (void)state;
    char path[4200];
    struct jm_training_result *t;
    struct jm_mlperf_checked c = {0};
    struct jm_err err = {0};
    snprintf(path, sizeof path, "%s/train_v4.1_Dell_8xXE9680_llama2_70b_lora", corpus);
    assert_int_equal(jm_training_read(path, &t, &err), 0);
    assert_string_equal(t->submitter, "Dell");
    assert_string_equal(t->round, "v4.1");
    assert_int_equal(t->n_run, 10);
    assert_int_equal(t->n_power, 2); /* the public snapshot has two */
    const struct jm_training_run *r = t->run;
    assert_int_equal(r[0].nodes, 8);
    assert_int_equal(r[0].switches, 1);
    near(r[0].published_j, 16143281.6436, 1e-11);
    near(r[0].nodes_j, 16210666.1712, 1e-11);
    near(r[0].switches_j, 195187.26528, 1e-11);
    near(r[1].published_j, 17838302.2709, 1e-11);
    near(r[1].proper_j, 18204436.8019, 1e-11);
    /* node_0 of the first run: 286 readings, 55 of them with the stamp before; the switch's clock is 5 h off
     */
    assert_int_equal(r[0].part[0].readings, 286);
    assert_int_equal(r[0].part[0].repeats, 55);
    assert_true(r[0].part[0].efficiency == 0.96);
    assert_true(r[0].part[8].is_switch && r[0].part[8].offset_s == 18000 && r[0].part[8].offset_is_zone);
    assert_true(r[0].part[8].published_j == 0);
    assert_int_equal(jm_training_check(t, &c, &err), 0);
    assert_int_equal(outcome(&c, "training.runs")->verdict, JM_MLPERF_FAIL);
    assert_int_equal(outcome(&c, "training.names")->verdict, JM_MLPERF_PASS);
    assert_int_equal(outcome(&c, "training.interconnect")->verdict, JM_MLPERF_PASS);
    assert_int_equal(outcome(&c, "training.switches")->verdict, JM_MLPERF_WARN);
    assert_int_equal(outcome(&c, "training.clock")->verdict, JM_MLPERF_WARN);
    assert_int_equal(outcome(&c, "training.samples")->verdict, JM_MLPERF_PASS);
    assert_int_equal(outcome(&c, "training.stop")->verdict, JM_MLPERF_PASS);
    jm_mlperf_checked_release(&c);
    jm_training_free(t);
}

static void smc(void **state)
{
    (void)state;
    char path[4200];
    struct jm_training_result *t;
    struct jm_mlperf_checked c = {0};
    struct jm_err err = {0};
    snprintf(path, sizeof path, "%s/train_v4.0_SMC-ac_1xH100_llama2_70b_lora", corpus);
    assert_int_equal(jm_training_read(path, &t, &err), 0);
    assert_true(isnan(t->run[0].published_j)); /* 0 / 0 in the public code */
    near(t->run[0].proper_j, 12115826.958, 1e-11);
    assert_true(t->run[0].part[0].max_gap_s > 19 && t->run[0].part[0].max_gap_s < 21);
    assert_int_equal(jm_training_check(t, &c, &err), 0);
    assert_int_equal(outcome(&c, "training.stop")->verdict, JM_MLPERF_FAIL);
    assert_int_equal(outcome(&c, "training.rate")->verdict, JM_MLPERF_FAIL); /* one reading in 2 s */
    assert_int_equal(outcome(&c, "training.interconnect")->verdict, JM_MLPERF_ABSENT);
    jm_mlperf_checked_release(&c);
    jm_training_free(t);
}

static void stm(void **state)
{
    (void)state;
    char path[4200];
    struct jm_tiny_result *t;
    struct jm_mlperf_checked c = {0};
    struct jm_err err = {0};
    static const double uj[] = {708284.510, 708133.600, 708036.600, 708382.710, 708447.790};
    static const double per[] = {2833.138, 2832.534, 2832.146, 2833.531, 2833.791};
    snprintf(path, sizeof path, "%s/tiny_v1.1_STM_L4R5ZI_kws", corpus);
    assert_true(jm_tiny_at(path));
    assert_int_equal(jm_tiny_read(path, &t, &err), 0);
    assert_int_equal(t->n_window, 5);
    for (int i = 0; i < 5; i++) {
        const struct jm_tiny_window *w = &t->window[i];
        assert_int_equal(w->number, 2 * i + 2);
        assert_true(fabs(w->published_uj - uj[i]) < 0.001 && fabs(w->published_per - per[i]) <= 0.0005);
        assert_true(w->claimed_uj == uj[i] && w->claimed_per == per[i] && w->inferences == 250);
        near(w->proper_uj, uj[i], 1e-4); /* a sample at each end, of 15,740 */
    }
    assert_true(fabs(t->median_published - 2833.138) < 0.0005);
    assert_string_equal(t->model, "kws01");
    assert_string_equal(t->instrument, "lpm01a");
    assert_int_equal(t->volts_mv, 1800);
    near(t->throughput, 15.884, 1e-4);
    assert_int_equal(jm_tiny_check(t, &c, &err), 0);
    assert_int_equal(c.verdict, JM_MLPERF_NOTE); /* nothing but what cannot be decided */
    assert_int_equal(outcome(&c, "tiny.agrees")->verdict, JM_MLPERF_PASS);
    jm_mlperf_checked_release(&c);
    jm_tiny_free(t);
}

int main(void)
{
    const char *build = getenv("JM_BUILD");
    struct stat st;
    snprintf(corpus, sizeof corpus, "%s/corpus/mlperf", build ? build : ".");
    if (stat(corpus, &st)) {
        printf("1..0 # SKIP the public test data is not unpacked (make corpus)\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(dell), cmocka_unit_test(smc), cmocka_unit_test(stm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
