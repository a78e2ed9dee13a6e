/* SPDX-License-Identifier: Apache-2.0 */
/* The rules by which the rounds of MLPerf publish power, on sessions small enough to calculate by hand, and
 * what is made of repetitions. The samples are those of PTDaemon's log: "Watts" of each second. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/str.h"
#include "import/import.h"
#include "synthetic.h"

#define NEAR(got, want) assert_true(fabs((double)(got) - (double)(want)) <= 1e-9 * fabs((double)(want)))

static struct jm_run *run;
static struct jm_report *r;
static char root[128], out[160];

static void put(const char *dir, const char *name, struct jm_str *s)
{
    char path[512];
    struct jm_err err;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(jm_file_mkparents(path, &err), 0);
    assert_int_equal(jm_file_write(path, jm_str_span(s), &err), 0);
    jm_str_release(s);
}

/* A session of 12 samples from 12:00:00 on; the load runs from 12:00:01 to 12:00:11, so that the samples at 2
 * to 10 s lie strictly inside. extra: lines of the detail log after the two times. */
static void session(const char *folder, const char *round, const double watts[12], const char *extra)
{
    /* a day before each round was published: a path is not believed against the clock */
    static const struct {
        const char *round, *day;
    } days[] = {{"v1.0", "01-06-2021"}, {"v2.1", "06-01-2022"}, {"v3.0", "01-10-2023"},
                {"v3.1", "06-01-2023"}, {"v4.0", "01-10-2024"}, {"v4.1", "06-01-2024"},
                {"v5.1", "06-01-2025"}};
    const char *day = NULL;
    for (size_t i = 0; i < sizeof days / sizeof days[0]; i++)
        if (strcmp(days[i].round, round) == 0)
            day = days[i].day;
    assert_non_null(day);
    struct jm_str s;
    char dir[300], path[200];
    struct jm_err err = {0};
    snprintf(root, sizeof root, "session.%d", (int)getpid());
    snprintf(path, sizeof path, "%s/%s/%s", root, round, folder);
    snprintf(dir, sizeof dir, "%s/performance/run_1", path);
    jm_str_init(&s);
    for (int i = 0; i < 12; i++) {
        double w = watts[i];
        bool bad = w < 0;
        jm_str_addf(&s, "Time,%s 12:00:%02d.000,Watts,%.6f,Volts,%.6f,Amps,%.6f,PF,%.6f,Mark,m_testing\n",
                    day, i, w, w == -2 ? -2 : 243.47,
                    w == -2 ? -2
                    : bad   ? -3.0815
                            : w / 243.47,
                    w == -2 ? -2 : 0.4089);
    }
    put(dir, "spl.txt", &s);
    jm_str_init(&s);
    jm_str_addf(&s,
                ":::MLLOG {\"key\": \"power_begin\", \"value\": \"%s 12:00:01.000\", \"time_ms\": 0.0}\n"
                ":::MLLOG {\"key\": \"power_end\", \"value\": \"%s 12:00:11.000\", \"time_ms\": 1.0}\n%s",
                day, day, extra);
    put(dir, "mlperf_log_detail.txt", &s);
    snprintf(out, sizeof out, "%s.jmr", root);
    const struct jm_importer *imp = jm_importer_find("mlperf", path, &err);
    assert_non_null(imp);
    if (imp->import(path, out, &(struct jm_import_opts){.overwrite = true}, &err))
        fail_msg("%s", err.text);
    struct jm_compute_opts o;
    jm_compute_defaults(&o);
    assert_int_equal(jm_run_open(out, &run, &err), 0);
    assert_int_equal(jm_compute(run, &o, &r, &err), 0);
    assert_int_equal(jm_audit(run, r, &err), 0);
}

static void end(void)
{
    char command[256];
    jm_report_free(r);
    jm_run_close(run);
    unlink(out);
    snprintf(command, sizeof command, "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

static const struct jm_result *of(const char *metric)
{
    return jm_report_find(r, metric, JM_B_WALL, -2);
}

static const double plain[12] = {50, 60, 100, 110, 120, 130, 140, 150, 160, 170, 180, 60}; /* mean 140 */

#define SCENARIO(name) ":::MLLOG {\"key\": \"effective_scenario\", \"value\": \"" name "\"}\n"

/* Nine samples strictly inside the window: (100 + ... + 180) / 9 = 140 W. Tokens: 140 W / 70 tokens/s = 2 J.
 */
static void offline(void **state)
{
    (void)state;
    session("Offline", "v4.1", plain,
            SCENARIO("Offline") ":::MLLOG {\"key\": \"result_tokens_per_second\", \"value\": 70.0}\n"
                                ":::MLLOG {\"key\": \"result_samples_per_second\", \"value\": 7.0}\n");
    NEAR(of("power.mean.mlperf")->q.value, 140);
    assert_int_equal(of("power.mean.mlperf")->n, 9);
    NEAR(of("j_per.output_token")->q.value, 2);
    NEAR(of("kwh_per_mtok")->q.value, 2 / 3.6);
    NEAR(of("samples_per_j")->q.value, 0.05);
    NEAR(of("j_per.sample")->q.value, 20);
    assert_null(of("mj_per_stream"));
    end();
}

/* -2 is a missed sample. Up to v3.0 it is averaged in: (1260 - 110 - 2) / 9; from v3.1 on it is dropped:
 * (1260 - 110) / 8. */
static void missed_sample(void **state)
{
    double w[12];
    (void)state;
    memcpy(w, plain, sizeof w);
    w[3] = -2;
    session("Offline", "v3.0", w, SCENARIO("Offline"));
    NEAR(of("power.mean.mlperf")->q.value, 1148 / 9.0);
    end();
    session("Offline", "v3.1", w, SCENARIO("Offline"));
    NEAR(of("power.mean.mlperf")->q.value, 1150 / 8.0);
    bool found = false;
    for (size_t i = 0; i < r->n_findings; i++)
        found |= strcmp(r->findings[i].id, "mlperf.samples") == 0;
    assert_true(found);
    end();
}

/* An over-range sample is stored as -(3 + W): -11.112 W at 243.47 V, -3.0815 A and PF 0.4089 is 8.112 W
 * (243.47 x 0.0815 x 0.4089 = 8.11). The published mean drops it from v3.1 on, the weighted mean has its true
 * value. */
static void over_range(void **state)
{
    double w[12] = {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8};
    (void)state;
    w[5] = -11.112;
    session("Offline", "v5.1", w, SCENARIO("Offline"));
    NEAR(of("power.mean.mlperf")->q.value, 8);
    assert_int_equal(of("power.mean.mlperf")->n, 8);
    const struct jm_result *weighted = of("power.mean");
    assert_true(weighted->q.value > 8 + 0.112 * 0.5 / 10 && weighted->q.value < 8 + 0.112 * 1.5 / 10);
    end();
    session("Offline", "v2.1", w, SCENARIO("Offline"));
    NEAR(of("power.mean.mlperf")->q.value, (8 * 8 - 11.112) / 9);
    end();
}

/* 140 W x 10 s = 1400 J over 700 queries: 2,000 mJ a query; v1.0 has no query count: qps with overhead x
 * seconds. Efficiency: 1000 / mJ for SingleStream, 8000 / mJ for MultiStream queries of eight samples. */
static void streams(void **state)
{
    (void)state;
    session("SingleStream", "v4.0", plain,
            SCENARIO("SingleStream") ":::MLLOG {\"key\": \"result_query_count\", \"value\": 700}\n");
    NEAR(of("mj_per_stream")->q.value, 2000);
    NEAR(of("samples_per_j")->q.value, 0.5);
    end();
    session(
        "SingleStream", "v1.0", plain,
        SCENARIO(
            "SingleStream") ":::MLLOG {\"key\": \"result_qps_with_loadgen_overhead\", \"value\": 70.0}\n");
    NEAR(of("mj_per_stream")->q.value, 2000);
    end();
    session("MultiStream", "v4.0", plain,
            SCENARIO("MultiStream") ":::MLLOG {\"key\": \"result_query_count\", \"value\": 700}\n");
    NEAR(of("mj_per_stream")->q.value, 2000);
    NEAR(of("samples_per_j")->q.value, 4);
    end();
    session("MultiStream", "v1.0", plain,
            SCENARIO("MultiStream") ":::MLLOG {\"key\": \"generated_query_count\", \"value\": 100}\n"
                                    ":::MLLOG {\"key\": \"generated_samples_per_query\", \"value\": 7}\n");
    NEAR(of("mj_per_stream")->q.value, 2000); /* by the sample */
    end();
    /* no query count: no figure, and a reason */
    session("SingleStream", "v4.0", plain, SCENARIO("SingleStream"));
    assert_false(of("mj_per_stream")->q.have);
    assert_non_null(of("mj_per_stream")->q.reasons);
    end();
}

/* A MultiStream result made from a SingleStream run: eight times its query. */
static void inferred(void **state)
{
    (void)state;
    session("resnet50/MultiStream", "v3.0", plain,
            SCENARIO("SingleStream") ":::MLLOG {\"key\": \"result_query_count\", \"value\": 700}\n");
    NEAR(of("mj_per_stream")->q.value, 16000);
    NEAR(of("samples_per_j")->q.value, 0.5);
    assert_non_null(strstr(of("mj_per_stream")->denominator_name, "inferred"));
    end();
}

static void too_short(void **state)
{
    bool found = false;
    (void)state;
    session("Offline", "v4.1", plain,
            SCENARIO("Offline") ":::MLLOG {\"key\": \"result_validity\", \"value\": \"VALID\"}\n");
    assert_int_equal(r->profile, JM_PROFILE_MLPERF);
    for (size_t i = 0; i < r->n_findings; i++)
        found |= strcmp(r->findings[i].id, "mlperf.duration") == 0;
    assert_true(found);
    assert_int_equal(r->validity, JM_V_INVALID);
    end();
}

/* Three trials of 100, 110 and 120 W: mean 110, t(0.975, 2) x 10 / sqrt(3) = 24.84. A trial whose counter
 * began again gives none: two of three, and the mean over trials is not valid. */
static void trials(void **state)
{
    struct syn s;
    (void)state;
    for (int bad = 0; bad < 2; bad++) {
        syn_begin(&s, "trials");
        int d = syn_domain(&s, s.node, JM_D_GPU, "GPU-0"), c = syn_counter(&s, d, "GPU-0", 1, 1, 0);
        int64_t mj = 1000;
        for (int k = 0; k < 440; k++) {
            double t = -3 + 0.1 * k, w = t < 11 ? 100 : t < 24 ? 110 : 120;
            mj = bad && k == 180 ? 0 : mj + llround(w * 100);
            syn_reading(&s, c, t, mj, JM_S_OK);
        }
        for (int i = 0; i < 3; i++)
            syn_window(&s, JM_R_MEASURE, i, 13 * i, 13 * i + 10);
        syn_report(&s, NULL);
        const struct jm_result *x = jm_report_find(s.r, "power.mean", JM_B_GPU, -1);
        assert_non_null(x);
        assert_int_equal(s.r->trials, 3);
        if (bad) {
            assert_int_equal(x->n, 2);
            assert_true(fabs(x->q.value - 110) < 0.05); /* (100 + 120) / 2 */
            assert_int_equal(x->q.validity, JM_V_INVALID);
            assert_non_null(strstr(x->q.reasons, "2 of 3 trials"));
            assert_non_null(strstr(x->q.reasons, "counter.reset"));
        } else {
            assert_int_equal(x->n, 3);
            assert_true(fabs(x->q.value - 110) < 0.05);
            assert_true(fabs(x->q.u.hi - x->q.value - 4.302653 * 10 / sqrt(3)) < 0.1);
            assert_int_equal(x->q.validity, JM_V_VALID);
            assert_null(strstr(x->q.u.excludes, "repeats"));
        }
        syn_end(&s);
    }
}

/* Idle: 40 W loaded, 20 W deep, of the same GPU. Load 100 W x 10 s over 100 tokens: 10 J gross, 6 and 8 net.
 * An idle of other devices is not subtracted. */
static void net_of_idle(void **state)
{
    struct syn s;
    (void)state;
    syn_begin(&s, "net");
    int d = syn_domain(&s, s.node, JM_D_GPU, "GPU-0"), c = syn_counter(&s, d, "GPU-0", 1, 1, 0);
    int64_t mj = 1000;
    for (int k = 0; k < 440; k++) {
        double t = -3 + 0.1 * k;
        mj += llround((t < 11.5 ? 100 : t < 24.5 ? 40 : 20) * 100.0);
        syn_reading(&s, c, t, mj, JM_S_OK);
    }
    syn_request(&s, 1, 0.1, 0.01, 10, 100);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    syn_window(&s, JM_R_IDLE, 0, 13, 23);
    syn_window(&s, JM_R_IDLE, 0, 26, 36);
    syn_env(&s, "idle.1.class", "loaded");
    syn_env(&s, "idle.2.class", "deep");
    syn_report(&s, NULL);
    assert_true(fabs(syn_value(&s, "j_per.output_token", JM_B_GPU, 0) - 10) < 0.01);
    assert_true(fabs(syn_value(&s, "net.loaded_idle.j_per.output_token", JM_B_GPU, 0) - 6) < 0.01);
    assert_true(fabs(syn_value(&s, "net.deep_idle.j_per.output_token", JM_B_GPU, 0) - 8) < 0.01);
    syn_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offline), cmocka_unit_test(missed_sample), cmocka_unit_test(over_range),
        cmocka_unit_test(streams), cmocka_unit_test(inferred),      cmocka_unit_test(too_short),
        cmocka_unit_test(trials),  cmocka_unit_test(net_of_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
