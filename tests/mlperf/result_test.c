/* SPDX-License-Identifier: Apache-2.0 */
/* A session's figures by the rules of every round, by hand. The load window is 600 s; in it lie five samples:
 * 100, 200 and 300 W, a missed one (-2) and one over range that stands as -13 and is 10 W. So the published
 * mean is 585 / 5 = 117 W where nothing is dropped and 600 / 3 = 200 W where what is not positive is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "mlperf/benchmark.h"
#include "mlperf/official.h"
#include "mlperf/result.h"
#include "mlperf/rule_metric.h"

#define FACTS 24

struct made {
    struct jm_mlperf_session s;
    struct jm_mlperf_fact facts[FACTS];
    struct jm_mlperf_message ptd[8], time[2];
    struct jm_mlperf_event event;
};

static void set(struct made *m, const char *key, double value)
{
    struct jm_mlperf_loadgen *lg = &m->s.loadgen[JM_MLPERF_TESTING];
    assert_true(lg->n_facts < FACTS);
    m->facts[lg->n_facts++] =
        (struct jm_mlperf_fact){.key = key, .text = "0", .is_number = true, .number = value};
}

static void set_text(struct made *m, const char *key, const char *value)
{
    struct jm_mlperf_loadgen *lg = &m->s.loadgen[JM_MLPERF_TESTING];
    m->facts[lg->n_facts++] = (struct jm_mlperf_fact){.key = key, .text = value, .number = NAN};
}

static struct made *session(const char *round, const char *path, const char *run, const char *claimed)
{
    struct made *m = calloc(1, sizeof *m);
    struct jm_err err;
    assert_non_null(m);
    assert_int_equal(jm_mlperf_round_named(round, &m->s.round, &err), 0);
    snprintf(m->s.root, sizeof m->s.root, "%s", path);
    snprintf(m->s.dir, sizeof m->s.dir, "%s", path);
    m->s.claimed_scenario = claimed;
    struct jm_mlperf_loadgen *lg = &m->s.loadgen[JM_MLPERF_TESTING];
    lg->present = true;
    lg->facts = m->facts;
    lg->begin = jm_time_unix(2025, 7, 28, 8, 0, 0) * JM_NS_PER_S;
    lg->end = lg->begin + 600 * JM_NS_PER_S;
    set_text(m, "effective_scenario", run);
    struct jm_mlperf_power *p = &m->s.power[JM_MLPERF_TESTING];
    p->present = true;
    p->window = (struct jm_mlperf_samples){.rows = 5,
                                           .good = 3,
                                           .missed = 1,
                                           .over = 1,
                                           .nonpositive = 2,
                                           .n_positive = 3,
                                           .plain_all_w = 585,
                                           .plain_positive_w = 600,
                                           .sum_decoded_uw = 610000000,
                                           .min_uw = 10000000,
                                           .max_uw = 300000000};
    p->file = p->window;
    p->joules = 600 * 150; /* by time: 150 W */
    p->seconds = 600;
    return m;
}

static struct jm_mlperf_result figures(struct made *m)
{
    struct jm_mlperf_result r;
    assert_int_equal(jm_mlperf_compute(&m->s, &r, NULL), 0);
    return r;
}

static void is(const char *what, const char *round, double got, double want)
{
    bool same = isnan(want) ? isnan(got) : fabs(got - want) <= 1e-12 * fabs(want);
    if (!same)
        fail_msg("%s of %s: got %.17g, expected %.17g", what, round, got, want);
}

static const struct {
    const char *name;
    bool legacy, mj, drop, efficiency, completed;
} rounds[] = {
    {"v1.0", true, false, false, false, false},  {"v1.1", true, false, false, false, false},
    {"v2.0", false, false, false, false, false}, {"v2.1", false, false, false, false, false},
    {"v3.0", false, true, false, false, false},  {"v3.1", false, true, true, true, false},
    {"v4.0", false, true, true, true, false},    {"v4.1", false, true, true, true, true},
    {"v5.0", false, true, true, true, true},     {"v5.1", false, true, true, true, true},
    {"v6.0", false, true, true, true, true},     {"v6.1", false, true, true, true, true},
};
#define ROUNDS (sizeof rounds / sizeof rounds[0])

static void offline(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROUNDS; i++) {
        struct made *m = session(rounds[i].name, "/s/results/x/resnet50/Offline", "Offline", "Offline");
        set(m, "result_samples_per_second", 500);
        struct jm_mlperf_result r = figures(m);
        double w = rounds[i].drop ? 200 : 117;
        is("power", rounds[i].name, r.power.published, w);
        is("proper", rounds[i].name, r.power.proper, 150);
        is("decoded", rounds[i].name, r.decoded_w, 152.5); /* (100 + 200 + 300 + 10) / 4 */
        is("energy", rounds[i].name, r.energy.published, 600 * w);
        is("metric", rounds[i].name, r.metric, w);
        assert_string_equal(r.metric_unit, "Watts");
        is("dropped", rounds[i].name, r.dropped, rounds[i].drop ? 2 : 0);
        is("performance", rounds[i].name, r.performance, 500);
        assert_string_equal(r.performance_unit, "Samples/s");
        is("samples/J", rounds[i].name, r.samples_per_j.published, 500 / w);
        is("samples/J proper", rounds[i].name, r.samples_per_j.proper, 500 / 150.0);
        is("efficiency", rounds[i].name, r.efficiency, rounds[i].efficiency ? 2.5 : NAN);
        is("mJ", rounds[i].name, r.mj_per_stream.published, NAN);
        assert_false(r.inferred);
        free(m);
    }
}

static void server(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROUNDS; i++) {
        struct made *m = session(rounds[i].name, "/s/results/x/bert-99.9/Server", "Server", "Server");
        set(m, "result_scheduled_samples_per_sec", 400);
        set(m, "result_completed_samples_per_sec", 390);
        struct jm_mlperf_result r = figures(m);
        double rate = rounds[i].completed ? 390 : 400;
        is("performance", rounds[i].name, r.performance, rate);
        assert_string_equal(r.performance_unit, "Queries/s");
        assert_string_equal(r.model, "bert");
        is("metric", rounds[i].name, r.metric, rounds[i].drop ? 200 : 117);
        is("samples/J", rounds[i].name, r.samples_per_j.published, rate / (rounds[i].drop ? 200 : 117));
        free(m);
    }
}

static void single_stream(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROUNDS; i++) {
        struct made *m =
            session(rounds[i].name, "/s/results/x/resnet50/SingleStream", "SingleStream", "SingleStream");
        set(m, "result_qps_with_loadgen_overhead", 50);
        set(m, "result_query_count", 12000);
        set(m, "early_stopping_latency_ss", 19e6);
        set(m, "result_90.00_percentile_latency_ns", 21e6);
        struct jm_mlperf_result r = figures(m);
        /* v1.x: 117 x 600 / (50 x 600) = 2.34 J; v2.x: 117 x 600 / 12000 = 5.85 J; v3.0: 5850 mJ; from v3.1:
         * 1000 x 200 x 600 / 12000 = 10000 mJ */
        double want = rounds[i].legacy ? 2.34 : !rounds[i].mj ? 5.85 : rounds[i].drop ? 10000 : 5850;
        is("metric", rounds[i].name, r.metric, want);
        assert_string_equal(r.metric_unit, rounds[i].mj ? "millijoules" : "Joules");
        is("mJ", rounds[i].name, r.mj_per_stream.published, rounds[i].mj ? want : 1000 * want);
        /* proper: 150 W */
        is("mJ proper", rounds[i].name, r.mj_per_stream.proper, rounds[i].legacy ? 3000 : 7500);
        is("samples/J", rounds[i].name, r.samples_per_j.published, rounds[i].mj ? 1000 / want : 1 / want);
        is("efficiency", rounds[i].name, r.efficiency, rounds[i].efficiency ? 0.1 : NAN);
        is("performance", rounds[i].name, r.performance, rounds[i].legacy ? 21 : 19);
        assert_string_equal(r.performance_unit, "Latency (ms)");
        free(m);
    }
}

static void multi_stream(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROUNDS; i++) {
        struct made *m =
            session(rounds[i].name, "/s/results/x/resnet50/multistream", "MultiStream", "MultiStream");
        set(m, "generated_query_count", 1000);
        set(m, "generated_samples_per_query", 8);
        set(m, "effective_samples_per_query", 8);
        set(m, "result_query_count", 12000);
        set(m, "early_stopping_latency_ms", 80e6);
        struct jm_mlperf_result r = figures(m);
        /* v1.x: 117 x 600 / 8000 = 8.775 J a sample; v2.x: 5.85 J a query of eight; from v3.1 10000 mJ */
        double want = rounds[i].legacy ? 8.775 : !rounds[i].mj ? 5.85 : rounds[i].drop ? 10000 : 5850;
        is("metric", rounds[i].name, r.metric, want);
        /* samples: 8000 / 70200 J; 8 x 12000 / 70200 J; 8 x 12000 / 120000 J */
        is("samples/J", rounds[i].name, r.samples_per_j.published,
           rounds[i].legacy ? 8000 / 70200.0
           : rounds[i].drop ? 0.8
                            : 96000 / 70200.0);
        is("efficiency", rounds[i].name, r.efficiency, rounds[i].efficiency ? 0.8 : NAN);
        is("performance", rounds[i].name, r.performance, rounds[i].legacy ? 8 : 80);
        assert_string_equal(r.performance_unit, rounds[i].legacy ? "Streams" : "Latency (ms)");
        free(m);
    }
}

/* A MultiStream result from a SingleStream run: eight times its query. */
static void multi_from_single(void **state)
{
    (void)state;
    for (size_t i = 2; i < ROUNDS; i++) {
        struct made *m =
            session(rounds[i].name, "/s/results/x/resnet50/MultiStream", "SingleStream", "MultiStream");
        set(m, "result_query_count", 12000);
        set(m, "result_qps_with_loadgen_overhead", 20);
        set(m, "early_stopping_latency_ms", 11e6);
        struct jm_mlperf_result r = figures(m);
        assert_true(r.inferred);
        is("metric", rounds[i].name, r.metric, !rounds[i].mj ? 46.8 : rounds[i].drop ? 80000 : 46800);
        is("queries", rounds[i].name, r.queries, 12000);
        is("samples/J", rounds[i].name, r.samples_per_j.published, rounds[i].drop ? 0.1 : 12000 / 70200.0);
        is("efficiency", rounds[i].name, r.efficiency, rounds[i].efficiency ? 0.1 : NAN);
        is("performance", rounds[i].name, r.performance, 88);
        free(m);
    }
}

static void offline_inferred(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROUNDS; i++) {
        struct made *m = session(rounds[i].name, "/s/results/x/resnet50/offline", "SingleStream", "Offline");
        set(m, "result_query_count", 12000);
        set(m, "result_qps_with_loadgen_overhead", 20);
        set(m, "result_qps_without_loadgen_overhead", 20.5);
        struct jm_mlperf_result r = figures(m);
        double w = rounds[i].drop ? 200 : 117;
        assert_true(r.inferred);
        is("metric", rounds[i].name, r.metric, w);
        assert_string_equal(r.metric_unit, "Watts");
        is("performance", rounds[i].name, r.performance, 20.5);
        is("samples/J", rounds[i].name, r.samples_per_j.published, 20.5 / w);
        is("efficiency", rounds[i].name, r.efficiency, rounds[i].efficiency ? 20.5 / 200 : NAN);
        free(m);
        if (rounds[i].legacy)
            continue;
        m = session(rounds[i].name, "/s/results/x/resnet50/offline", "MultiStream", "Offline");
        set(m, "result_query_count", 12000);
        set(m, "effective_samples_per_query", 8);
        set(m, "result_mean_query_latency_ns", 40e6);
        r = figures(m);
        is("metric", rounds[i].name, r.metric, w);
        is("performance", rounds[i].name, r.performance, 200); /* 8 x 1000 / 40 ms */
        is("samples/J", rounds[i].name, r.samples_per_j.published, 200 / w);
        free(m);
    }
}

static void tokens(void **state)
{
    static const struct {
        const char *round, *benchmark, *run, *claimed, *key, *unit;
        bool per_token;
    } cases[] = {
        {"v4.0", "gptj-99", "Offline", "Offline", "result_samples_per_second", "Samples/s", false},
        {"v4.0", "llama2-70b-99", "Offline", "Offline", "result_tokens_per_second", "Tokens/s", true},
        {"v4.1", "gptj-99", "Offline", "Offline", "result_inferred_tokens_per_second", "Tokens/s", true},
        {"v4.1", "gptj-99.9", "Server", "Server", "result_inferred_completed_tokens_per_second", "Tokens/s",
         true},
        {"v4.1", "llama2-70b-99.9", "Server", "Server", "result_completed_tokens_per_second", "Tokens/s",
         true},
        {"v5.0", "llama2-70b-interactive-99", "Server", "Server", "result_completed_tokens_per_second",
         "Tokens/s", true},
        {"v5.1", "llama3_1-8b", "Offline", "Offline", "result_tokens_per_second", "Tokens/s", true},
        {"v5.1", "deepseek-r1", "Server", "Interactive", "result_completed_tokens_per_second", "Tokens/s",
         true},
        {"v6.0", "gpt-oss-120b", "Server", "Interactive", "result_completed_tokens_per_second", "Tokens/s",
         true},
        {"v5.1", "whisper", "Offline", "Offline", "result_tokens_per_second", "Tokens/s", true},
        {"v6.1", "resnet50", "Server", "Server", "result_completed_samples_per_sec", "Queries/s", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[256];
        snprintf(path, sizeof path, "/s/results/x/%s/%s", cases[i].benchmark, cases[i].claimed);
        struct made *m = session(cases[i].round, path, cases[i].run, cases[i].claimed);
        set(m, cases[i].key, 4000);
        struct jm_mlperf_result r = figures(m);
        assert_string_equal(r.benchmark, cases[i].benchmark);
        assert_string_equal(r.performance_from, cases[i].key);
        assert_string_equal(r.performance_unit, cases[i].unit);
        is("performance", cases[i].benchmark, r.performance, 4000);
        is("metric", cases[i].benchmark, r.metric, 200);
        is("efficiency", cases[i].benchmark, r.efficiency, 20);
        assert_string_equal(r.efficiency_unit, cases[i].per_token ? "tokens/J" : "samples/J");
        is("J/token", cases[i].benchmark, r.j_per_token.published, cases[i].per_token ? 0.05 : NAN);
        is("J/token proper", cases[i].benchmark, r.j_per_token.proper, cases[i].per_token ? 0.0375 : NAN);
        assert_false(r.inferred);
        free(m);
    }
}

/* Missing is never 0. */
static void missing(void **state)
{
    (void)state;
    struct made *m = session("v5.1", "/s/plain", "Offline", NULL);
    struct jm_mlperf_result r = figures(m);
    is("performance", "no key", r.performance, NAN);
    is("samples/J", "no key", r.samples_per_j.published, NAN);
    assert_string_equal(r.benchmark, "");
    m->s.power[JM_MLPERF_TESTING].window = (struct jm_mlperf_samples){0};
    m->s.power[JM_MLPERF_TESTING].joules = NAN;
    r = figures(m);
    is("power", "no samples", r.power.published, NAN);
    is("metric", "no samples", r.metric, NAN);
    is("energy", "no samples", r.energy.proper, NAN);
    m->s.power[JM_MLPERF_TESTING].present = false;
    m->s.loadgen[JM_MLPERF_TESTING].end = -1;
    m->s.loadgen[JM_MLPERF_TESTING].checker_begin = m->s.loadgen[JM_MLPERF_TESTING].checker_end = -1;
    r = figures(m);
    is("seconds", "no window", r.seconds, NAN);
    is("dropped", "no log", r.dropped, NAN);
    assert_non_null(strstr(r.accuracy, "no power log"));
    free(m);
    m = session("v5.1", "/s/results/x/resnet50/SingleStream", "SingleStream", "SingleStream");
    r = figures(m);
    is("metric", "no query count", r.metric, NAN);
    set(m, "result_query_count", 0);
    r = figures(m);
    is("metric", "no queries", r.metric, NAN);
    is("samples/J", "no queries", r.samples_per_j.published, NAN);
    free(m);
}

/* ---- what the rules say */

static const struct jm_mlperf_outcome *outcome(const struct jm_mlperf_checked *c, const char *id)
{
    for (size_t i = 0; i < c->n_outcomes; i++)
        if (strcmp(c->outcomes[i].rule->id, id) == 0)
            return &c->outcomes[i];
    return NULL;
}

static int verdict(const struct jm_mlperf_checked *c, const char *id)
{
    const struct jm_mlperf_outcome *o = outcome(c, id);
    return o ? (int)o->verdict : -1;
}

static struct jm_mlperf_checked judged(struct made *m)
{
    struct jm_mlperf_checked c;
    struct jm_err err = {0};
    struct jm_mlperf_result r = figures(m);
    memset(&c, 0, sizeof c);
    if (jm_mlperf_rules_of_metric(&m->s, &r, &c, &err))
        fail_msg("%s", err.text);
    return c;
}

/* ---- the interval */

static void said(struct made *m, const char *model, const char *volts, const char *amps)
{
    static char identify[128], v[64], a[64];
    snprintf(identify, sizeof identify, "%s,1000,1,1,1,1,0,0,1,version=1.11.1-462c978e-20240907", model);
    snprintf(v, sizeof v, "SR,V,%s", volts);
    snprintf(a, sizeof a, "SR,A,%s", amps);
    struct jm_mlperf_message list[] = {
        {"Identify", identify, NAN, NAN},
        {"SR,V,Auto", "Range V changed", NAN, NAN},
        {"SR,A,Auto", "Range A changed", NAN, NAN},
        {"Go,1000,0,s_ranging", "Starting untimed measurement", NAN, NAN},
        {v, "Range V changed", NAN, NAN},
        {a, "Range A changed", NAN, NAN},
        {"Go,1000,0,s_testing", "Starting untimed measurement", NAN, NAN},
        {"SR,V,1000.000000", "Range V changed", NAN, NAN}, /* set back afterwards */
    };
    memcpy(m->ptd, list, sizeof list);
    m->s.server.present = true;
    m->s.server.ptd = m->ptd;
    m->s.server.n_ptd = sizeof list / sizeof list[0];
}

/* 600 W at power factor 1, as in the maker's example: 1.35 W on 300 V x 5 A, 3.6 W on 300 V x 20 A. The
 * file's power lies between 100 and 700 W, the window's between 590 and 620; 3 s are bridged; the clocks are
 * at most 0.1 s apart. So the limits are bridged 3 / 600 x 30 = 0.15; edges 2 x 0.25 x 600 / 600 = 0.5; clock
 * 0.1 x 600 / 600 = 0.1 */
static struct made *of_600_w(void)
{
    struct made *m = session("v5.1", "/s/results/x/resnet50/Offline", "Offline", "Offline");
    struct jm_mlperf_power *p = &m->s.power[JM_MLPERF_TESTING];
    p->file = (struct jm_mlperf_samples){.rows = 700,
                                         .good = 700,
                                         .n_positive = 700,
                                         .plain_positive_w = 350000,
                                         .min_uw = 100000000,
                                         .max_uw = 700000000};
    p->window = (struct jm_mlperf_samples){.rows = 600,
                                           .good = 600,
                                           .n_positive = 600,
                                           .plain_positive_w = 360000,
                                           .min_uw = 590000000,
                                           .max_uw = 620000000};
    p->joules = 360000;
    p->bridged_s = 3;
    p->input[0] = (struct jm_mlperf_input){
        .n = 600, .n_known = 600, .watts = 360000, .known_watts = 360000, .ratio = 600, .tangent = 0};
    m->time[0] = (struct jm_mlperf_message){"time", "1000.05", 1000.0, 1000.15};
    m->time[1] = (struct jm_mlperf_message){"session,s,start,testing", "OK", 2000.0, 2010.0};
    m->s.client.messages = m->time;
    m->s.client.n_messages = 2;
    set(m, "result_samples_per_second", 1200);
    return m;
}

static void interval(void **state)
{
    (void)state;
    struct made *m = of_600_w();
    said(m, "YokogawaWT310E", "245.470000", "3.300000");
    struct jm_mlperf_result r = figures(m);
    is("V range", "WT310E", r.v_range, 300);
    is("A range", "WT310E", r.a_range, 5);
    is("accuracy", "WT310E", r.limits.accuracy, 1.35);
    is("bridged", "WT310E", r.limits.bridged, 0.15);
    is("edges", "WT310E", r.limits.edges, 0.5);
    assert_float_equal(r.limits.clock_s, 0.1, 1e-9);
    assert_float_equal(r.limits.clock, 0.1, 1e-9);
    assert_float_equal(r.power.lo, 600 - 2.1, 1e-9);
    assert_float_equal(r.power.hi, 600 + 2.1, 1e-9);
    assert_float_equal(r.energy.hi, 600 * 602.1, 1e-6);
    assert_float_equal(r.samples_per_j.lo, 1200 / 602.1, 1e-9);
    assert_float_equal(r.samples_per_j.hi, 1200 / 597.9, 1e-9);
    assert_non_null(strstr(r.accuracy, "300 V x 5 A"));
    assert_non_null(strstr(r.accuracy, "IM WT310E-02EN"));
    said(m, "YokogawaWT310E", "245.470000", "12.000000");
    r = figures(m);
    is("accuracy", "20 A", r.limits.accuracy, 3.6);
    /* no "time" command: what the NTP rule allows */
    m->s.client.n_messages = 0;
    r = figures(m);
    is("clock", "rule", r.limits.clock, 0.4);
    free(m);
}

static void channels(void **state)
{
    (void)state;
    struct made *m = of_600_w();
    struct jm_mlperf_power *p = &m->s.power[JM_MLPERF_TESTING];
    said(m, "YokogawaWT330_multichannel", "245.470000", "3.300000");
    p->channels = 3;
    p->input[0] = (struct jm_mlperf_input){.n = 600, .watts = 360000}; /* the sum has no volts and amps */
    p->input[1] = (struct jm_mlperf_input){.n = 600,
                                           .n_known = 600,
                                           .watts = 240000,
                                           .known_watts = 240000,
                                           .ratio = 600 * 0.8,
                                           .tangent = 180000};
    p->input[2] = (struct jm_mlperf_input){
        .n = 600, .n_known = 600, .watts = 120000, .known_watts = 120000, .ratio = 600, .tangent = 0};
    p->input[3] = (struct jm_mlperf_input){.n = 600}; /* not connected */
    struct jm_mlperf_result r = figures(m);
    /* channel 1: 400 W at power factor 0.8, P tan(phi) = 300: 0.4 + 0.05 % x 1500 x 0.8 + 0.2 % x 300 = 1.6;
     * channel 2: 200 W at 1: 0.2 + 0.75 = 0.95 */
    is("accuracy", "channels", r.limits.accuracy, 2.55);
    p->input[2].n_known = 0;
    r = figures(m);
    is("accuracy", "a channel without factors", r.limits.accuracy, NAN);
    is("lo", "a channel without factors", r.power.lo, NAN);
    assert_non_null(strstr(r.accuracy, "neither volts and amps"));
    free(m);
}

/* PTDaemon's log says which ranges it set; those count, input by input, up to the mark of testing. */
static void ranges_from_the_log(void **state)
{
    static const char *const texts[] = {"Volt range set to Auto",
                                        "Ampere range set to Auto",
                                        "Go with mark 's_ranging'",
                                        "Voltage range for channel 1, physical channel 1, set to 300.000000A",
                                        "Voltage range for channel 2, physical channel 2, set to 300.000000A",
                                        "Amp range for channel 1, physical channel 1, set to 5.000000A",
                                        "Amp range for channel 2, physical channel 2, set to 20.000000A",
                                        "Go with mark 's_testing'",
                                        "Volt range set to 1000.000000V",
                                        "Amp range set to 40.000000A"};
    struct jm_mlperf_event events[sizeof texts / sizeof texts[0]];
    (void)state;
    memset(events, 0, sizeof events);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        events[i] = (struct jm_mlperf_event){.text = texts[i], .analyzer = 1};
    struct made *m = of_600_w();
    said(m, "YokogawaWT310E", "245.470000", "3.300000");
    m->s.ptd_log.events = events;
    m->s.ptd_log.n_events = sizeof texts / sizeof texts[0];
    struct jm_mlperf_result r = figures(m);
    is("accuracy", "input 1", r.limits.accuracy, 1.35);
    assert_non_null(strstr(r.accuracy, "as PTDaemon logged"));
    m->s.power[JM_MLPERF_TESTING].channels = 2;
    m->s.power[JM_MLPERF_TESTING].input[1] = m->s.power[JM_MLPERF_TESTING].input[0];
    m->s.power[JM_MLPERF_TESTING].input[2] = m->s.power[JM_MLPERF_TESTING].input[0];
    r = figures(m);
    is("accuracy", "both", r.limits.accuracy, 1.35 + 3.6);
    assert_non_null(strstr(r.accuracy, "and others"));
    is("our uncertainty", "unlike ranges", r.ptd.our_uncertainty, NAN);
    /* the log was not asked for, or is cut before the mark: server.json */
    m->s.ptd_log.n_events = 7;
    r = figures(m);
    is("accuracy", "server.json", r.limits.accuracy, 2 * 1.35);
    assert_non_null(strstr(r.accuracy, "next larger than asked"));
    free(m);
}

/* Two analyzers, as power-dev issue 330 has them: a section of ptd_logs.txt each. */
static void several_analyzers(void **state)
{
    static const struct {
        int analyzer;
        const char *text;
    } lines[] = {{1, "Uncertainty checking for YokogawaWT210 is activated"},
                 {1, "Volt range set to 300.000000V"},
                 {1, "Amp range set to 0.500000A"},
                 {1, "Go with mark 's_testing'"},
                 {2, "Uncertainty checking for YokogawaWT310E is activated"},
                 {2, "Volt range set to 300.000000V"},
                 {2, "Amp range set to 5.000000A"},
                 {2, "Go with mark 's_testing'"}};
    struct jm_mlperf_event events[sizeof lines / sizeof lines[0]];
    (void)state;
    memset(events, 0, sizeof events);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        events[i].text = lines[i].text;
        events[i].analyzer = (uint8_t)lines[i].analyzer;
    }
    struct made *m = of_600_w();
    struct jm_mlperf_power *p = &m->s.power[JM_MLPERF_TESTING];
    said(m, "YokogawaWT210", "245.470000", "0.300000");
    m->s.ptd_log.events = events;
    m->s.ptd_log.n_events = sizeof lines / sizeof lines[0];
    p->analyzers = 2;
    /* 20 W at power factor 0.8 (P tan(phi) = 15) and 580 W at 1:
     * 0.15 % x 20 + 0.1 % x 150 + 0.2 % x 15 = 0.21; 0.1 % x 580 + 0.05 % x 1500 = 1.33 */
    p->input[1] = (struct jm_mlperf_input){
        .n = 600, .n_known = 600, .watts = 12000, .known_watts = 12000, .ratio = 480, .tangent = 9000};
    p->input[2] = (struct jm_mlperf_input){
        .n = 600, .n_known = 600, .watts = 348000, .known_watts = 348000, .ratio = 600, .tangent = 0};
    struct jm_mlperf_result r = figures(m);
    is("accuracy", "two analyzers", r.limits.accuracy, 0.21 + 1.33);
    assert_non_null(
        strstr(r.accuracy, "2 analyzers: YokogawaWT210 on 300 V x 0.5 A, YokogawaWT310E on 300 V x 5 A"));
    assert_false(isnan(r.power.lo) || isnan(r.power.hi));
    events[4].text = "Uncertainty checking for YokogawaWT500_multichannel is activated";
    r = figures(m);
    is("lo", "a multichannel one among them", r.power.lo, NAN);
    assert_non_null(strstr(r.accuracy, "several analyzers"));
    m->s.ptd_log.n_events = 4; /* nothing of the second */
    r = figures(m);
    is("lo", "one unknown", r.power.lo, NAN);
    free(m);
}

/* What PTDaemon says of its mean uncertainty is held against ours, for models whose formula is its own. */
static void uncertainty_rule(void **state)
{
    (void)state;
    struct made *m = of_600_w();
    said(m, "YokogawaWT210", "245.470000", "3.300000");
    m->ptd[7] =
        (struct jm_mlperf_message){"Uncertainty", "Uncertainty,0.004000,0.004,0.004,700,0,700,0", NAN, NAN};
    /* 0.15 % + 0.1 % x 1500 / 600 = 0.4 % */
    m->s.power[JM_MLPERF_TESTING].doubt =
        (struct jm_mlperf_doubt){.n = 700, .ratio = 700.0 / 600, .inputs = 700.0 / 600, .tangent = 0};
    struct jm_mlperf_result r = figures(m);
    assert_float_equal(r.ptd.our_uncertainty, 0.004, 1e-9);
    struct jm_mlperf_checked c = judged(m);
    assert_int_equal(verdict(&c, "ptd.uncertainty_value"), JM_MLPERF_PASS);
    jm_mlperf_checked_release(&c);
    m->ptd[7].reply = "Uncertainty,0.006500,0.004,0.004,700,0,700,0"; /* as on 300 V x 10 A */
    c = judged(m);
    assert_int_equal(verdict(&c, "ptd.uncertainty_value"), JM_MLPERF_WARN);
    jm_mlperf_checked_release(&c);
    m->ptd[7].reply = "Uncertainty,-1.0,10000000.000000,0.000000,700,0,0,700";
    c = judged(m);
    assert_int_equal(verdict(&c, "ptd.uncertainty_value"), -1);
    jm_mlperf_checked_release(&c);
    said(m, "YokogawaWT310E", "245.470000", "3.300000");
    m->ptd[7] =
        (struct jm_mlperf_message){"Uncertainty", "Uncertainty,0.009000,0.004,0.004,700,0,700,0", NAN, NAN};
    c = judged(m);
    assert_int_equal(verdict(&c, "ptd.uncertainty_value"),
                     -1); /* the maker's formula, not seen to be PTDaemon's */
    jm_mlperf_checked_release(&c);
    free(m);
}

static void clipped(void **state)
{
    (void)state;
    struct made *m = of_600_w();
    said(m, "YokogawaWT210", "245.470000", "3.300000");
    m->s.power[JM_MLPERF_TESTING].window.over = 7;
    m->event.kind = JM_MLPERF_EV_ERROR;
    m->event.text = "ERROR: Current exceeds peak value allowed for range 5.00A and CF 6.";
    m->s.ptd_log.events = &m->event;
    m->s.ptd_log.n_events = 1;
    struct jm_mlperf_result r = figures(m);
    /* crest factor 6: ranges are halves, 300 V x 5 A of 600 x 10; the term of the range twice:
     * 0.15 % x 600 + 2 x 0.1 % x 1500 = 3.9 */
    assert_int_equal(r.crest, 6);
    is("accuracy", "crest factor 6", r.limits.accuracy, 3.9);
    assert_false(isnan(r.power.lo));
    assert_true(isnan(r.power.hi) && isnan(r.energy.hi) && isnan(r.samples_per_j.lo));
    assert_non_null(strstr(r.excludes, "7 over-range"));
    free(m);
}

static void no_interval(void **state)
{
    static const struct {
        const char *model, *volts, *amps, *why;
    } cases[] = {
        {"YokogawaWT5000", "245", "3", "is not known"},
        {"YokogawaWT1800", "245", "3", "is not known"},
        {"Dummy", "245", "3", "is not in the table"},
        {"YokogawaWT310E", "Auto", "3", "automatic"},
        {"YokogawaWT310E", "245", "Auto", "automatic"},
        {"YokogawaWT310E", "245", "25", "as large as what was asked"},
    };
    (void)state;
    struct made *m = of_600_w();
    struct jm_mlperf_result r = figures(m); /* no server.json */
    assert_non_null(strstr(r.accuracy, "no analyzer is named"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        said(m, cases[i].model, cases[i].volts, cases[i].amps);
        r = figures(m);
        is("lo", cases[i].model, r.power.lo, NAN);
        is("hi", cases[i].model, r.power.hi, NAN);
        is("proper", cases[i].model, r.power.proper, 600);
        if (strncmp(r.accuracy, "none: ", 6) != 0 || !strstr(r.accuracy, cases[i].why))
            fail_msg("%s %s %s: %s", cases[i].model, cases[i].volts, cases[i].amps, r.accuracy);
    }
    said(m, "YokogawaWT310E", "245", "3");
    m->s.power[JM_MLPERF_TESTING].analyzers = 2;
    r = figures(m);
    assert_non_null(strstr(r.accuracy, "several analyzers"));
    m->s.power[JM_MLPERF_TESTING].analyzers = 0;
    m->ptd[4].reply = "Error";
    r = figures(m);
    is("lo", "range refused", r.power.lo, NAN);
    m->s.power[JM_MLPERF_TESTING].joules = NAN;
    r = figures(m);
    assert_non_null(strstr(r.accuracy, "does not cover"));
    free(m);
}

/* What the table of rounds says of the power checker is what the followed revision of that round does. */
static void rounds_and_revisions_agree(void **state)
{
    struct jm_mlperf_round r;
    (void)state;
    for (size_t i = 0; jm_mlperf_round_at(i, &r); i++) {
        const struct jm_mlperf_revision *v = jm_mlperf_revision_of(r.name);
        struct jm_span versions = jm_span_of(v->versions), one;
        assert_string_equal(v->name, r.checker);
        assert_true(v->tolerance_ms == (double)r.tolerance_ms);
        while (jm_span_field(&versions, ' ', &one))
            assert_true(jm_mlperf_round_lists(r.ptd, one));
        for (const struct jm_mlperf_model *m = jm_mlperf_models; m->name; m++) {
            bool taken = false; /* a type has several names, which came one by one */
            for (const struct jm_mlperf_model *k = jm_mlperf_models; k->name; k++)
                taken |= k->type == m->type && jm_mlperf_model_in(k, v->models);
            if (m->type < 500 && /* when direct current came is not known to the round */
                taken != jm_mlperf_round_takes_device(&r, m->type))
                fail_msg("%s: device type %d", r.name, (int)m->type);
        }
    }
}

/* ---- names */

static void names(void **state)
{
    static const struct {
        const char *path, *round, *benchmark, *model;
        bool interactive;
    } cases[] = {
        {"/r/closed/X/results/sys/resnet/Offline", "v5.1", "resnet", "resnet50", false},
        {"/r/closed/X/results/sys/resnet50/Offline/performance/run_1", "v1.0", "resnet50", "resnet50", false},
        {"/r/closed/X/results/sys/ssd-resnet34/Server", "v2.0", "ssd-resnet34", "ssd-resnet34", false},
        {"/r/closed/X/results/sys/ssd-resnet34/Server", "v3.0", "ssd-resnet34", "retinanet", false},
        {"/r/closed/X/results/sys/ssd-large/Server", "v1.0", "ssd-large", "ssd-resnet34", false},
        {"/r/closed/X/results/sys/3d-unet-99.9/Offline", "v3.1", "3d-unet-99.9", "3d-unet", false},
        {"/r/closed/X/results/sys/dlrm-v2-99/Server", "v4.0", "dlrm-v2-99", "dlrm-v2", false},
        {"/r/closed/X/results/sys/llama2-70b-interactive-99.9/Server", "v5.0", "llama2-70b-interactive-99.9",
         "llama2-70b", true},
        {"/r/closed/X/results/sys/llama3_1-405b/Server", "v5.1", "llama3_1-405b", "llama3.1-405b", false},
        {"/r/open/X/results/sys/mobilenet-v1-precision_float-1.0-160/offline", "v5.1",
         "mobilenet-v1-precision_float-1.0-160", "resnet50", false},
        {"/r/open/X/results/sys/bert-99_some-variant/offline", "v3.1", "bert-99_some-variant", "bert", false},
        {"/r/open/X/results/sys/falcon-40b/Offline", "v4.0", "falcon-40b", "", false},
        {"/r/closed/X/results/sys/gptj-99/Server", "v4.1", "gptj-99", "gptj", false},
        {"/data/results/2025/bert-99/SingleStream", "v3.0", "bert-99", "bert", false},
        {"/data/mixtral-8x7b/Server", "v5.1", "mixtral-8x7b", "mixtral-8x7b", false},
        {"/data/v5.1_Lenovo_SR780a_llama3.1-8b_Server", "v5.1", "llama3.1-8b", "llama3.1-8b", false},
        {"/data/v5.1_X_llama3_1-8b_Server", "v5.1", "llama3_1-8b", "llama3.1-8b", false},
        {"/data/plain", "v5.1", "", "", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct jm_mlperf_benchmark b = {0};
        jm_mlperf_benchmark_of(cases[i].path, cases[i].round, &b);
        if (strcmp(b.name, cases[i].benchmark) != 0 || strcmp(b.model, cases[i].model) != 0 ||
            b.interactive != cases[i].interactive)
            fail_msg("%s: \"%s\", \"%s\", %d", cases[i].path, b.name, b.model, b.interactive);
    }
    struct jm_mlperf_benchmark b;
    /* what the logs of public sessions have */
    static const struct {
        const char *sut, *round, *model;
        double samples;
    } logs[] = {
        {"llama2-70b-Server-SUT", "v4.1", "llama2-70b", 24576},
        {"gptj-Offline-SUT", "v4.1", "gptj", 13368},
        {"PySUT", "v5.1", "llama3.1-8b", 13368}, /* gptj's size too, which v5.1 has no more */
        {"PySUT", "v4.0", "gptj", 13368},
        {"PySUT", "v5.1", "llama3.1-405b", 8313},
        {"KILT_SERVER", "v4.1", "resnet50", 50000},
        {"LWIS_Server", "v1.0", "", 5000}, /* ssd-resnet34's and ssd-mobilenet's */
        {"", "v5.1", "", NAN},
        {NULL, "v5.1", "", 1},
        {"-SUT", "v5.1", "", NAN},
        {"llama2-70b-Server-SUT-a-name-that-is-longer-than-what-there-is-room-for-in-any-table-SUT", "v5.1",
         "", NAN},
    };
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        b = (struct jm_mlperf_benchmark){0};
        jm_mlperf_benchmark_of_log(logs[i].sut, logs[i].samples, logs[i].round, &b);
        assert_string_equal(b.model, logs[i].model);
    }
    assert_false(jm_mlperf_benchmark_named("", NULL, &b));
    assert_false(jm_mlperf_benchmark_named("nothing", NULL, &b));
    assert_false(jm_mlperf_benchmark_named("mixtral-8x7b", "v3.0", &b)); /* not yet */
}

static void latency_rules(void **state)
{
    static const struct {
        const char *round, *benchmark, *claimed;
        double ttft_ms, tpot_ms;
        int ttft, tpot;
    } cases[] = {
        {"v4.1", "llama2-70b-99", "Server", 1999, 199, JM_MLPERF_PASS, JM_MLPERF_PASS},
        {"v4.1", "llama2-70b-99", "Server", 2000, 201, JM_MLPERF_FAIL, JM_MLPERF_FAIL},
        /* within Server's limits, and not within those of Interactive */
        {"v5.1", "llama2-70b-99", "Interactive", 800, 39, JM_MLPERF_FAIL, JM_MLPERF_PASS},
        {"v5.0", "llama2-70b-interactive-99", "Server", 449, 41, JM_MLPERF_PASS, JM_MLPERF_FAIL},
        {"v5.1", "llama3.1-405b", "Server", 5999, 174, JM_MLPERF_PASS, JM_MLPERF_PASS},
        {"v5.1", "llama3.1-405b", "Interactive", 4501, 81, JM_MLPERF_FAIL, JM_MLPERF_FAIL},
        {"v5.1", "llama3_1-8b", "Interactive", 499, 29, JM_MLPERF_PASS, JM_MLPERF_PASS},
        {"v5.1", "deepseek-r1", "Server", 1999, 79, JM_MLPERF_PASS, JM_MLPERF_PASS},
        {"v6.0", "gpt-oss-120b", "Interactive", 1999, 16, JM_MLPERF_PASS, JM_MLPERF_FAIL},
        {"v5.1", "mixtral-8x7b", "Offline", 9999, 999, -1, -1}, /* Offline has no limit */
        {"v5.1", "resnet50", "Server", 9999, 999, -1, -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[256];
        snprintf(path, sizeof path, "/s/results/x/%s/%s", cases[i].benchmark, cases[i].claimed);
        struct made *m =
            session(cases[i].round, path, strcmp(cases[i].claimed, "Offline") == 0 ? "Offline" : "Server",
                    cases[i].claimed);
        set(m, "result_first_token_99.00_percentile_latency_ns", cases[i].ttft_ms * 1e6);
        set(m, "result_time_per_output_token_99.00_percentile_ns", cases[i].tpot_ms * 1e6);
        set_text(m, "requested_use_token_latencies", "true");
        set_text(m, "early_stopping_met", "true");
        struct jm_mlperf_checked c = judged(m);
        if (verdict(&c, "latency.ttft") != cases[i].ttft || verdict(&c, "latency.tpot") != cases[i].tpot)
            fail_msg("%s %s %s: %d %d", cases[i].round, cases[i].benchmark, cases[i].claimed,
                     verdict(&c, "latency.ttft"), verdict(&c, "latency.tpot"));
        jm_mlperf_checked_release(&c);
        free(m);
    }
    /* the log lacks them; token latencies were not kept; early stopping not met */
    struct made *m = session("v5.1", "/s/results/x/llama2-70b-99/Server", "Server", "Server");
    set_text(m, "requested_use_token_latencies", "false");
    set_text(m, "early_stopping_met", "false");
    struct jm_mlperf_checked c = judged(m);
    assert_int_equal(verdict(&c, "latency.ttft"), JM_MLPERF_FAIL);
    assert_int_equal(verdict(&c, "latency.tpot"), JM_MLPERF_FAIL);
    assert_int_equal(verdict(&c, "latency.token_latencies"), JM_MLPERF_FAIL);
    assert_int_equal(verdict(&c, "latency.early_stopping"), JM_MLPERF_FAIL);
    jm_mlperf_checked_release(&c);
    free(m);
    /* gptj is limited as a whole: 20 s */
    m = session("v4.0", "/s/results/x/gptj-99/Server", "Server", "Server");
    set(m, "result_99.00_percentile_latency_ns", 20e9);
    c = judged(m);
    assert_int_equal(verdict(&c, "latency.e2e"), JM_MLPERF_PASS);
    assert_int_equal(verdict(&c, "latency.ttft"), -1);
    assert_int_equal(verdict(&c, "latency.token_latencies"), -1);
    jm_mlperf_checked_release(&c);
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offline),
        cmocka_unit_test(server),
        cmocka_unit_test(single_stream),
        cmocka_unit_test(multi_stream),
        cmocka_unit_test(multi_from_single),
        cmocka_unit_test(offline_inferred),
        cmocka_unit_test(tokens),
        cmocka_unit_test(missing),
        cmocka_unit_test(interval),
        cmocka_unit_test(channels),
        cmocka_unit_test(ranges_from_the_log),
        cmocka_unit_test(several_analyzers),
        cmocka_unit_test(uncertainty_rule),
        cmocka_unit_test(clipped),
        cmocka_unit_test(no_interval),
        cmocka_unit_test(rounds_and_revisions_agree),
        cmocka_unit_test(names),
        cmocka_unit_test(latency_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
