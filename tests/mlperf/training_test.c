/* SPDX-License-Identifier: Apache-2.0 */
/* Power of MLPerf Training on results that are small enough to be worked out by hand. */
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
#include "mlperf/training.h"

static char dir[256];

static int fresh(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "training_test.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int gone(void **state)
{
    char cmd[300];
    (void)state;
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    return system(cmd);
}

static void put(const char *rel, const struct jm_str *text)
{
    char path[600];
    struct jm_err err = {0};
    snprintf(path, sizeof path, "%s/%s", dir, rel);
    if (jm_file_mkparents(path, &err) || jm_file_write(path, jm_str_span(text), &err))
        fail_msg("%s", err.text);
}

static void line(struct jm_str *s, int64_t ms, const char *key, const char *value)
{
    jm_str_addf(s,
                ":::MLLOG {\"namespace\": \"\", \"time_ms\": %lld, \"event_type\": \"POINT_IN_TIME\", "
                "\"key\": \"%s\", "
                "\"value\": %s, \"metadata\": {\"measurement_type\": \"AC\"}}\n",
                (long long)ms, key, value);
}

/* A run from a to b, seconds. */
static void run(const char *name, double a, double b, const char *status)
{
    struct jm_str s;
    char rel[300];
    jm_str_init(&s);
    jm_str_adds(&s, "some line of the framework\n");
    line(&s, (int64_t)(a * 1000) - 9000, "submission_benchmark", "\"bert\"");
    line(&s, (int64_t)(a * 1000), "run_start", "null");
    jm_str_addf(&s,
                "0: :::MLLOG {\"time_ms\": %lld, \"key\": \"run_stop\", \"value\": 0.7, \"metadata\": "
                "{\"status\": \"%s\"}}\n",
                (long long)(b * 1000), status);
    snprintf(rel, sizeof rel, "%s.txt", name);
    put(rel, &s);
    jm_str_release(&s);
}

struct log {
    double from, to, shift; /* one reading a second in (from, to], stamps moved by shift */
    double w1, until, w2;   /* w1 to that time, then w2 */
    const char *efficiency; /* NULL: none */
    double stop;            /* NaN: the end */
    bool no_start, no_stop;
};

static void power(const char *rel, const struct log *l)
{
    struct jm_str s;
    char text[64];
    jm_str_init(&s);
    if (!l->no_start)
        line(&s, (int64_t)((l->from + l->shift) * 1000), "power_measurement_start", "null");
    if (l->efficiency)
        line(&s, (int64_t)((l->from + l->shift) * 1000), "conversion_eff", l->efficiency);
    for (double t = l->from + 1; t <= l->to; t += 1) {
        snprintf(text, sizeof text, "%g", t <= l->until ? l->w1 : l->w2);
        line(&s, (int64_t)((t + l->shift) * 1000), "power_reading", text);
    }
    if (!l->no_stop)
        line(&s, (int64_t)(((isnan(l->stop) ? l->to : l->stop) + l->shift) * 1000), "power_measurement_stop",
             "null");
    put(rel, &s);
    jm_str_release(&s);
}

static struct jm_training_result *read_it(void)
{
    struct jm_training_result *t = NULL;
    struct jm_err err = {0};
    assert_true(jm_training_at(dir));
    if (jm_training_read(dir, &t, &err))
        fail_msg("%s", err.text);
    return t;
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want)))
        print_error("got %.12g, expected %.12g\n", got, want);
    assert_true(fabs(got - want) <= 1e-9 * fabs(want));
}

static enum jm_mlperf_verdict says(const struct jm_training_result *t, const char *id, const char **text)
{
    static struct jm_mlperf_checked c;
    struct jm_err err = {0};
    jm_mlperf_checked_release(&c);
    if (jm_training_check(t, &c, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < c.n_outcomes; i++)
        if (strcmp(c.outcomes[i].rule->id, id) == 0) {
            if (text)
                *text = c.outcomes[i].text;
            enum jm_mlperf_verdict v = c.outcomes[i].verdict;
            static char keep[1000];
            snprintf(keep, sizeof keep, "%s", c.outcomes[i].text);
            if (text)
                *text = keep;
            jm_mlperf_checked_release(&c);
            return v;
        }
    jm_mlperf_checked_release(&c);
    return JM_MLPERF_ABSENT;
}

/* Run 10 s to 110 s. The node is measured 0 s to 115 s: 60 readings of 1000 W, then 55 of 2000 W.
 *   the public code: (60 x 1000 + 55 x 2000) J / 115 s x 100 s x 0.9 = 133043.478 J
 *   the rules:       (50 x 1000 + 50 x 2000) J x 0.9                 = 135000 J
 * sw_0 reads 500 W on a clock that is 18001 s behind: 0 J and 50000 J. sw_1 is an estimate of 200 W at 0.95:
 * 200 x 100 x 0.95 = 19000 J both ways. */
static void both_energies(void **state)
{
    (void)state;
    run("result_0", 10, 110, "success");
    power("power/result_0/node_0.txt", &(struct log){0, 115, 0, 1000, 60, 2000, "0.9", NAN, false, false});
    power("power/result_0/sw_0.txt", &(struct log){0, 115, -18001, 500, 999, 0, NULL, NAN, false, false});
    struct jm_str s;
    jm_str_init(&s);
    line(&s, 0, "conversion_eff", "0.95");
    line(&s, 0, "interconnect_power_est", "200");
    line(&s, 5, "interconnect_power_est", "777"); /* the first one counts */
    put("power/result_0/sw_1.txt", &s);
    jm_str_release(&s);
    struct jm_training_result *t = read_it();
    assert_int_equal(t->n_run, 1);
    const struct jm_training_run *r = &t->run[0];
    assert_int_equal(r->n_part, 3);
    assert_int_equal(r->nodes, 1);
    assert_int_equal(r->switches, 2);
    near(r->seconds, 100);
    near(r->part[0].published_j, 170000.0 / 115 * 100 * 0.9);
    near(r->part[0].proper_j, 135000);
    near(r->part[0].input_j, 150000);
    near(r->part[0].mean_w, 1500);
    assert_string_equal(r->part[0].type, "AC");
    assert_int_equal(r->part[0].in_run, 101); /* 10 s to 110 s, both ends */
    assert_true(r->part[0].offset_s == 0 && r->part[0].extended_s == 0);
    assert_true(r->part[1].published_j == 0);
    near(r->part[1].proper_j, 50000);
    assert_true(r->part[1].offset_s == 18000 && r->part[1].offset_is_zone);
    near(r->part[2].published_j, 19000);
    near(r->part[2].proper_j, 19000);
    near(r->published_j, 170000.0 / 115 * 100 * 0.9 + 19000);
    const char *text;
    assert_int_equal(says(t, "training.clock", &text), JM_MLPERF_WARN);
    assert_int_equal(says(t, "training.switches", &text), JM_MLPERF_WARN);
    assert_int_equal(says(t, "training.olympic", &text), JM_MLPERF_FAIL);
    assert_non_null(strstr(text, "too few"));
    assert_int_equal(says(t, "training.rate", &text), JM_MLPERF_PASS);
    assert_int_equal(says(t, "training.covers", &text), JM_MLPERF_PASS);
    jm_training_free(t);
}

/* Four runs of 100, 110, 120 and 130 s at 1000 W, one that did not converge: it counts as the slowest, so the
 * fastest is left out and the mean is (110 + 120 + 130) / 3 x 1000 W = 120000 J; 2 min. Without it the mean
 * is that of 110 s and 120 s: 115000 J. scaling.json multiplies. */
static void olympic(void **state)
{
    (void)state;
    static const int seconds[] = {130, 100, 120, 110, 90};
    for (int i = 0; i < 5; i++) {
        char name[64], rel[128];
        double a = 1000.0 * i;
        snprintf(name, sizeof name, "result_%d", i + 7); /* 7 to 11: numbers are put in order as numbers */
        snprintf(rel, sizeof rel, "power/%s/node_0.txt", name);
        run(name, a, a + seconds[i], i == 4 ? "aborted" : "success");
        power(rel, &(struct log){a - 5, a + seconds[i] + 5, 0, 1000, 1e9, 0, NULL, NAN, false, false});
    }
    struct jm_training_result *t = read_it();
    assert_int_equal(t->n_run, 5);
    assert_string_equal(t->run[4].name, "result_11");
    assert_false(t->run[4].success);
    near(t->published_j, 120000);
    near(t->proper_j, 120000);
    near(t->minutes, 2);
    assert_int_equal(says(t, "training.olympic", NULL), JM_MLPERF_PASS);
    assert_int_equal(says(t, "training.efficiency", NULL), JM_MLPERF_NOTE);
    jm_training_free(t);
    struct jm_str s;
    jm_str_init(&s);
    jm_str_adds(&s, "{\"scaling_factor\": 1.5}");
    put("scaling.json", &s);
    jm_str_release(&s);
    run("result_11", 4000, 4140, "success"); /* now the slowest of five */
    power("power/result_11/node_0.txt", &(struct log){3995, 4145, 0, 1000, 1e9, 0, NULL, NAN, false, false});
    t = read_it();
    near(t->published_j, 1.5 * 120000); /* 110, 120, 130 */
    jm_training_free(t);
}

/* SMC's v4.0 logs: the stop has the time of the start, so the public code divides by zero; one reading in 2
 * s. */
static void stop_that_is_the_start(void **state)
{
    (void)state;
    run("result_4951-1_1", 10, 110, "success");
    power("power/result_4951-1_1/node_0.txt", &(struct log){0, 120, 0, 1000, 1e9, 0, "1", 0, false, false});
    struct jm_training_result *t = read_it();
    assert_true(isnan(t->run[0].published_j));
    near(t->run[0].proper_j, 100000);
    assert_non_null(strstr(t->run[0].why, "divides by zero"));
    assert_int_equal(says(t, "training.stop", NULL), JM_MLPERF_FAIL);
    jm_training_free(t);
    /* no start, no stop */
    power("power/result_4951-1_1/node_0.txt", &(struct log){0, 120, 0, 1000, 1e9, 0, NULL, NAN, true, true});
    t = read_it();
    assert_true(isnan(t->run[0].published_j));
    near(t->run[0].proper_j, 100000);
    jm_training_free(t);
    /* without a stop the public code takes the last reading */
    power("power/result_4951-1_1/node_0.txt",
          &(struct log){0, 120, 0, 1000, 60, 2000, NULL, NAN, false, true});
    t = read_it();
    near(t->run[0].published_j, (60 * 1000.0 + 60 * 2000) / 120 * 100);
    jm_training_free(t);
}

static void what_is_not_known(void **state)
{
    (void)state;
    const char *text;
    run("result_0", 10, 110, "success");
    /* readings end half way: no energy over the run, though the public code gives one */
    power("power/result_0/node_0.txt", &(struct log){0, 60, 0, 1000, 1e9, 0, NULL, NAN, false, false});
    struct jm_training_result *t = read_it();
    near(t->run[0].published_j, 100000);
    assert_true(isnan(t->run[0].proper_j));
    assert_non_null(strstr(t->run[0].part[0].why, "50.0 s of the run's 100.0 s"));
    assert_int_equal(says(t, "training.covers", NULL), JM_MLPERF_FAIL);
    jm_training_free(t);
    /* an efficiency in percent is not guessed at */
    power("power/result_0/node_0.txt", &(struct log){0, 120, 0, 1000, 1e9, 0, "96", NAN, false, false});
    t = read_it();
    assert_true(isnan(t->run[0].proper_j));
    near(t->run[0].input_j, 100000);
    assert_int_equal(says(t, "training.efficiency", &text), JM_MLPERF_FAIL);
    jm_training_free(t);
    /* a folder called like the file, and a log that is none of the layout's names */
    char cmd[700];
    snprintf(cmd, sizeof cmd,
             "mv %s/power/result_0 %s/power/result_0.txt && touch %s/power/result_0.txt/README", dir, dir,
             dir);
    assert_int_equal(system(cmd), 0);
    t = read_it();
    assert_true(t->run[0].file_name);
    assert_int_equal(t->run[0].others, 1);
    assert_int_equal(says(t, "training.names", &text), JM_MLPERF_FAIL);
    jm_training_free(t);
    /* a run without power: no mean is made of the others */
    run("result_1", 210, 310, "success");
    run("result_2", 410, 510, "success");
    t = read_it();
    assert_int_equal(t->n_power, 1);
    assert_true(isnan(t->published_j));
    assert_non_null(strstr(t->why, "1 of 3"));
    assert_int_equal(says(t, "training.runs", &text), JM_MLPERF_FAIL);
    jm_training_free(t);
}

static void odd_lines(void **state)
{
    (void)state;
    struct jm_str s;
    run("result_0", 10, 110, "success");
    jm_str_init(&s);
    line(&s, 0, "power_measurement_start", "null");
    for (int t = 120; t > 0; t--) /* backwards: put in order of time, as the public code does */
        line(&s, t * 1000, "power_reading", t == 50 ? "-1" : t == 60 ? "\"n/a\"" : "1000");
    line(&s, 120000, "power_measurement_stop", "null");
    jm_str_adds(&s, ":::MLLOG {\"key\": \"power_reading\", \"val");
    put("power/result_0/node_0.txt", &s);
    jm_str_release(&s);
    struct jm_training_result *t = read_it();
    /* the reading that is no number and the one below 0 leave their second to the one after */
    near(t->run[0].proper_j, 100000);
    /* the public code takes -1 W for a second; it has no word for a text: that reading is left out here */
    near(t->run[0].published_j, (119 * 1000.0 - 1) / 120 * 100);
    assert_int_equal(t->run[0].part[0].bad, 2);
    assert_int_equal(t->run[0].broken, 1);
    assert_int_equal(t->run[0].part[0].late, 2);
    assert_int_equal(says(t, "training.readings", NULL), JM_MLPERF_WARN);
    assert_int_equal(says(t, "training.rate", NULL), JM_MLPERF_WARN);
    jm_training_free(t);
}

static void no_result(void **state)
{
    (void)state;
    struct jm_training_result *t;
    struct jm_err err = {0};
    assert_false(jm_training_at(dir));
    assert_int_equal(jm_training_read(dir, &t, &err), JM_EABSENT);
    assert_false(jm_training_at("/nonexistent"));
    run("result_0", 10, 110, "success");
    assert_false(jm_training_at(dir)); /* no power */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(both_energies, fresh, gone),
        cmocka_unit_test_setup_teardown(olympic, fresh, gone),
        cmocka_unit_test_setup_teardown(stop_that_is_the_start, fresh, gone),
        cmocka_unit_test_setup_teardown(what_is_not_known, fresh, gone),
        cmocka_unit_test_setup_teardown(odd_lines, fresh, gone),
        cmocka_unit_test_setup_teardown(no_result, fresh, gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
