/* SPDX-License-Identifier: Apache-2.0 */
/* Plans from YAML, what is refused and where, and the constraints of MLPerf's benchmarks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "load/plan.h"

static bool no_yaml(void)
{
    const char *have = getenv("JM_HAVE_YAML");
    return have && strcmp(have, "0") == 0;
}

static struct jm_plan *read_plan(const char *text)
{
    struct jm_plan *p = NULL;
    struct jm_err err;
    if (jm_plan_yaml(jm_span_of(text), "dir/p.yaml", &p, &err) != 0)
        fail_msg("%s", err.text);
    return p;
}

static void every_key_reaches_the_plan(void **state)
{
    (void)state;
    if (no_yaml())
        skip();
    struct jm_plan *p =
        read_plan("name: all\n"
                  "sequential: true\n"
                  "slices:\n"
                  "  - name: a\n"
                  "    quality: best\n"
                  "    tenant: north\n"
                  "    replica: r0\n"
                  "    rate: 120/min\n"
                  "    arrivals: gamma\n"
                  "    burstiness: 0.5\n"
                  "    requests: 9\n"
                  "    start: 2s\n"
                  "    isl: 64..128\n"
                  "    osl: lognormal 100 0.5 10..400\n"
                  "    shared-prefix: 3 x 32\n"
                  "    turns: 2..4\n"
                  "    think-time: exponential 1s\n"
                  "    cancel: 25 % after 7 tokens\n"
                  "    slo-ttft: 300 ms\n"
                  "    slo-tpot: 20ms\n"
                  "    slo-e2e: 9s\n"
                  "  - name: b\n"
                  "    concurrency: 4\n"
                  "    prompts: p.jsonl\n"
                  "  - {name: c, trace: /t.csv, time-scale: 2.5, trace-from: 1h, trace-oversize: clip}\n"
                  "  - name: d\n"
                  "    same-prompt: yes\n"
                  "    isl: 5\n"
                  "    stages:\n"
                  "      - {rate: 1/s, rate-to: 9/s, duration: 8s, ramp: exponential}\n"
                  "      - rate: 9/s\n"
                  "        duration: 1min\n"
                  "  - {name: e, arrivals: burst, requests: 100, isl: 5}\n"
                  "  - {name: f, stages: [{concurrency: 1, concurrency-to: 8, duration: 1s}], isl: 5}\n"
                  "  - {name: g, rate: 1/s, arrivals: constant, isl: 5}\n");
    const struct jm_slice *s = p->slice;
    assert_true(p->slices == 7 && p->sequential);
    assert_string_equal(s[0].name, "a");
    assert_string_equal(s[0].tier, "best");
    assert_string_equal(s[0].tenant, "north");
    assert_string_equal(s[0].replica, "r0");
    assert_true(s[0].arrive == JM_ARRIVE_GAMMA && s[0].rate == 2 && s[0].burstiness == 0.5 &&
                s[0].count == 9);
    assert_true(s[0].start_ns == 2 * JM_NS_PER_S && s[0].isl.kind == JM_LEN_UNIFORM && s[0].isl.max == 128);
    assert_true(s[0].osl.kind == JM_LEN_LOGNORMAL && s[0].osl.median == 100 && s[0].osl.min == 10);
    assert_true(s[0].prefix_groups == 3 && s[0].prefix_tokens == 32 && s[0].turns.max == 4);
    assert_true(s[0].think_ns == JM_NS_PER_S && s[0].think_random && s[0].cancel_share == 0.25 &&
                s[0].cancel_tokens == 7);
    assert_true(s[0].ttft_s == 0.3 && s[0].tpot_s == 0.02 && s[0].e2e_s == 9);
    assert_true(s[1].arrive == JM_ARRIVE_CLOSED && s[1].users == 4 && isnan(s[1].ttft_s));
    assert_string_equal(s[1].prompts, "dir/p.jsonl"); /* seen from the plan */
    assert_true(s[2].arrive == JM_ARRIVE_TRACE && s[2].time_scale == 2.5 &&
                s[2].trace_from == 3600 * JM_NS_PER_S && s[2].oversize == JM_OVERSIZE_CLIP);
    assert_string_equal(s[2].trace, "/t.csv");
    assert_true(s[3].stages == 2 && s[3].stage[0].to == 9 && s[3].stage[0].ramp == JM_RAMP_EXPONENTIAL &&
                s[3].stage[1].duration == 60 * JM_NS_PER_S && s[3].same_prompt);
    assert_true(s[4].arrive == JM_ARRIVE_BURST && s[4].count == 100);
    assert_true(s[5].arrive == JM_ARRIVE_CLOSED && jm_slice_most_users(&s[5]) == 8);
    assert_true(s[6].arrive == JM_ARRIVE_CONSTANT);
    struct jm_plan *c = jm_plan_copy(p);
    jm_plan_free(p);
    assert_true(c && c->slices == 7 && c->slice[3].stage[1].from == 9);
    assert_string_equal(c->slice[1].prompts, "dir/p.jsonl");
    jm_plan_free(c);
}

static void mistakes_are_refused_where_they_stand(void **state)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"", "has no slices"},
        {"slices: []\n", "has no slices"},
        {"slice:\n", "line 1, column 1: unknown key \"slice\"; did you mean \"slices\"?"},
        {"slices: 5\n", "line 1, column 9: slices takes a list of mappings"},
        {"slices:\n  - 5\n", "line 2, column 5: the items of slices must be mappings"},
        {"slices:\n  - name: a\n    rtae: 1/s\n",
         "line 3, column 5: unknown key \"rtae\"; did you mean \"rate\"?"},
        {"slices:\n  - name: a\n    rate: 10\n", "line 3, column 11: rate: "},
        {"slices:\n  - name: a\n    rate: 10 W\n", "line 3, column 11: rate: "},
        {"slices:\n  - name: a\n    rate: -1/s\n", "line 3, column 11: rate: "},
        {"slices:\n  - name: a\n    isl: twelve\n", "line 3, column 10: isl: \"twelve\" is no length"},
        {"slices:\n  - {name: a, cancel: 10 after 1s}\n", "line 2, column 23: cancel: "},
        {"slices:\n  - {name: a, slo-ttft: 300}\n", "line 2, column 25: slo-ttft: "},
        {"slices:\n  - {name: a, name: b}\n", "the key \"name\" is there twice"},
        {"slices:\n  - {name: a, arrivals: sometimes}\n", "is not one of poisson|constant|gamma|burst"},
        {"slices:\n  - {name: a, isl: 5}\n", "line 2: slice a: nothing says how much is sent"},
        {"slices:\n  - {name: a, rate: 1/s}\n", "line 2: slice a: nothing to send"},
        {"slices:\n  - {name: a, rate: 1/s, concurrency: 2, isl: 5}\n",
         "give a rate (open loop) or a concurrency"},
        {"slices:\n  - {name: a, concurrency: 2, arrivals: gamma, isl: 5}\n", "no arrivals there"},
        {"slices:\n  - {name: a, rate: 1/s, arrivals: gamma, isl: 5}\n",
         "gamma arrivals need their burstiness"},
        {"slices:\n  - {name: a, rate: 1/s, arrivals: constant, burstiness: 2, isl: 5}\n",
         "burstiness belongs to"},
        {"slices:\n  - {name: a, arrivals: burst, isl: 5}\n", "a burst needs requests"},
        {"slices:\n  - {name: a b, rate: 1/s, isl: 5}\n", "no blanks and no dots"},
        {"slices:\n  - {name: a.b, rate: 1/s, isl: 5}\n", "no blanks and no dots"},
        {"slices:\n  - {name: abcdefghijklmnopqrstuvwxyzabcdefgh, rate: 1/s, isl: 5}\n", "longer than 31"},
        {"slices:\n  - {name: a, rate: 1/s, isl: 5}\n  - {name: a, rate: 1/s, isl: 5}\n",
         "two slices are named a"},
        {"slices:\n  - {rate: 1/s, isl: 5}\n  - {name: a, rate: 1/s, isl: 5}\n", "slice 1 has no name"},
        {"slices:\n  - {name: a, stages: [{rate: 1/s}], isl: 5}\n", "each stage has a duration"},
        {"slices:\n  - {name: a, stages: [{duration: 1s}], isl: 5}\n", "either a rate or a concurrency"},
        {"slices:\n  - {name: a, stages: [{rate: 1/s, concurrency: 1, duration: 1s}], isl: 5}\n",
         "either a rate"},
        {"slices:\n  - {name: a, stages: [{rate: 0/s, rate-to: 5/s, duration: 1s, ramp: exponential}], isl: "
         "5}\n",
         "neither begins nor ends at 0"},
        {"slices:\n  - {name: a, stages: [{rate: 0/s, duration: 1s}], isl: 5}\n", "its stages send nothing"},
        {"slices:\n  - {name: a, stages: [{rate: 1/s, duration: 1s}, {concurrency: 1, duration: 1s}], isl: "
         "5}\n",
         "either open or closed"},
        {"slices:\n  - {name: a, rate: 1/s, isl: 100, shared-prefix: 2 x 100}\n",
         "leaves nothing of a prompt"},
        {"slices:\n  - {name: a, rate: 1/s, isl: 5, prompts: x}\n",
         "prompts of a file have their own lengths"},
        {"trials: 0\nslices:\n  - {name: a, rate: 1/s, isl: 5}\n", "line 1, column 9"},
        {"ladder: 100,100\nslices:\n  - {name: a, rate: 1/s, isl: 5}\n", "twice"},
        {"name: x\nladder: 0\nslices:\n  - {name: a, rate: 1/s, isl: 5}\n", "line 2, column 9"},
        {"until: 2\nslices:\n  - {name: a, rate: 1/s, isl: 5}\n", "no half width"},
        {"order: backwards\nslices:\n  - {name: a, rate: 1/s, isl: 5}\n", "as-written"},
        {"slices: &a\n  - {name: a}\nname: *a\n", "line 3"},
        {"slices:\n\t- x\n", "not valid YAML"},
    };
    (void)state;
    if (no_yaml())
        skip();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct jm_plan *p = NULL;
        struct jm_err err = {0};
        int rc = jm_plan_yaml(jm_span_of(bad[i].text), "p.yaml", &p, &err);
        if (rc != JM_EUSAGE || !strstr(err.text, bad[i].words) || !strstr(err.text, "p.yaml"))
            fail_msg("%s: %d %s", bad[i].text, rc, err.text);
    }
}

static void how_a_plan_is_measured(void **state)
{
    static const double tens[] = {100, 90, 80, 70, 60, 50, 40, 30, 20, 10, 0};
    struct jm_plan_run r;
    double half;
    struct jm_err err;
    (void)state;
    jm_plan_run_init(&r);
    assert_int_equal(jm_levels_parse(&r, "default", &err), 0);
    assert_int_equal(r.levels, 11);
    assert_memory_equal(r.level, tens, sizeof tens);
    assert_int_equal(jm_levels_parse(&r, " 120, 50 % ,0", &err), 0);
    assert_true(r.levels == 3 && r.level[0] == 120 && r.level[1] == 50 && r.level[2] == 0);
    assert_int_equal(jm_until_parse(&half, "2 %", &err), 0);
    assert_true(half == 0.02);
    if (no_yaml())
        return;
    struct jm_plan *p =
        read_plan("trials: 3\norder: abba\ncool-down: 5s\ncool-to: 45\nuntil: 1.5%\nduration: 30s\n"
                  "warmup: 2s\nladder: 100,50,0\ncapacity: 6/min\nprobe: 4s\n"
                  "slices:\n  - {name: a, rate: 1/s, isl: 5}\n");
    const struct jm_plan_run *o = &p->run;
    assert_true(o->trials == 3 && o->order == JM_ORDER_ABBA && o->cool_down == 5 * JM_NS_PER_S &&
                o->cool_to == 45);
    assert_true(o->until == 0.015 && o->duration == 30 * JM_NS_PER_S && o->warmup == 2 * JM_NS_PER_S);
    assert_true(o->levels == 3 && o->level[1] == 50 && fabs(o->capacity - 0.1) < 1e-12 &&
                o->probe == 4 * JM_NS_PER_S);
    jm_plan_free(p);
    p = read_plan("slices:\n  - {name: a, rate: 1/s, isl: 5}\n");
    assert_true(!p->run.trials && p->run.order == -1 && p->run.cool_down == -1 && isnan(p->run.until) &&
                !p->run.levels);
    jm_plan_free(p);
}

static void the_example_is_a_plan(void **state)
{
    const char *root = getenv("JM_SOURCE");
    char path[512];
    struct jm_str text;
    struct jm_err err;
    struct jm_plan *p = NULL;
    (void)state;
    if (!root || no_yaml())
        skip();
    snprintf(path, sizeof path, "%s/examples/slices.yaml", root);
    jm_str_init(&text);
    assert_int_equal(jm_file_read(path, 1 << 20, &text, &err), 0);
    if (jm_plan_yaml(jm_str_span(&text), path, &p, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(p->slices, 4);
    jm_plan_free(p);
    jm_str_release(&text);
}

/* loadgen/mlperf.conf of mlcommons/inference, by hand: ms. */
static void constraints_are_those_of_mlperf_conf(void **state)
{
    static const struct {
        const char *name;
        double ttft, tpot, e2e;
        int64_t offline;
    } want[] = {
        {"llama2-70b-99", 2, .2, NAN, 24576},
        {"llama2-70b-99.9", 2, .2, NAN, 24576},
        {"llama2-70b-interactive", .45, .04, NAN, 24576},
        {"mixtral-8x7b", 2, .2, NAN, 15000},
        {"llama3_1-405b", 6, .175, NAN, 8313},
        {"llama3.1-405b-interactive", 4.5, .08, NAN, 8313},
        {"llama3.1-8b", 2, .1, NAN, 13368},
        {"llama3_1-8b-interactive-99", .5, .03, NAN, 13368},
        {"deepseek-r1", 2, .08, NAN, 4388},
        {"deepseek-r1-interactive", 1.5, .015, NAN, 4388},
        {"gptj-99", NAN, NAN, 20, 13368},
    };
    struct jm_mlperf m;
    struct jm_err err;
    (void)state;
#define SAME(a, b) assert_true(isnan(b) ? isnan(a) : (a) == (b))
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_int_equal(jm_mlperf_find(want[i].name, "mlperf-server", &m, &err), 0);
        SAME(m.ttft_s, want[i].ttft);
        SAME(m.tpot_s, want[i].tpot);
        SAME(m.e2e_s, want[i].e2e);
        assert_true(m.percentile == 99 && m.min_ns == 600 * JM_NS_PER_S && strstr(m.source, "mlperf.conf"));
        assert_int_equal(jm_mlperf_find(want[i].name, "mlperf-offline", &m, &err), 0);
        assert_true(m.samples == want[i].offline && isnan(m.ttft_s));
    }
    assert_int_equal(jm_mlperf_find("resnet50", "mlperf-server", &m, &err), JM_EUSAGE);
    assert_non_null(strstr(err.text, "llama2-70b"));
}

static void scenarios_become_plans(void **state)
{
    struct jm_plan *p = NULL;
    struct jm_err err;
    (void)state;
    assert_int_equal(jm_mlperf_plan("mlperf-server", "llama2-70b-99", 12, 0, &p, &err), 0);
    assert_true(p->slices == 1 && p->slice->arrive == JM_ARRIVE_POISSON && p->slice->rate == 12);
    assert_true(p->slice->min_ns == 600 * JM_NS_PER_S && p->slice->ttft_s == 2);
    assert_string_equal(p->label, "MLPerf-like scenario, unofficial");
    jm_plan_free(p);
    assert_int_equal(jm_mlperf_plan("mlperf-server", "llama2-70b-99", 0, 0, &p, &err), JM_EUSAGE);
    assert_int_equal(jm_mlperf_plan("mlperf-offline", "llama2-70b-99", 0, 0, &p, &err), 0);
    assert_true(p->slice->arrive == JM_ARRIVE_BURST && p->slice->count == 24576 && isnan(p->slice->ttft_s));
    jm_plan_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_reaches_the_plan),
        cmocka_unit_test(mistakes_are_refused_where_they_stand),
        cmocka_unit_test(how_a_plan_is_measured),
        cmocka_unit_test(the_example_is_a_plan),
        cmocka_unit_test(constraints_are_those_of_mlperf_conf),
        cmocka_unit_test(scenarios_become_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
