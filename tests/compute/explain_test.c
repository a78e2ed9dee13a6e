/* SPDX-License-Identifier: Apache-2.0 */
/* Five requests whose numbers by every tool are worked out by hand here, from the formulas that the tools
 * publish (docs/definitions.md). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compute/explain.h"
#include "compute/synthetic.h"
#include "show/explain.h"

static int64_t at(double s)
{
    return SYN_NS(s);
}

struct made {
    double scheduled, admitted, sent, first_chunk, last_chunk, usage, done, closed; /* -1: does not exist */
    double ev[6];
    int tokens[6]; /* of each event, 0: nobody says */
    unsigned flags[6];
    int n, output, asked;
    enum jm_end end;
};

static void put(struct syn *s, const struct made *m)
{
    struct jm_request q;
    struct jm_token_event ev[6];
    jm_request_init(&q);
    q.end = m->end;
    q.http_status = 200;
    q.stream = 1;
    q.prompt_tokens = 100;
    q.output_tokens = m->output;
    q.asked_osl = m->asked;
    q.token_source = m->output >= 0 ? JM_TOK_USAGE : JM_TOK_UNKNOWN;
    q.events = m->n;
    q.t[JM_T_SCHEDULED] = at(m->scheduled);
    q.t[JM_T_ADMITTED] = at(m->admitted);
    q.t[JM_T_SENT] = at(m->sent);
    q.t[JM_T_FIRST_EVENT] = q.t[JM_T_FIRST_CHUNK] = at(m->first_chunk);
    q.t[JM_T_LAST_CHUNK] = at(m->last_chunk);
    q.t[JM_T_USAGE] = m->usage < 0 ? -1 : at(m->usage);
    q.t[JM_T_DONE] = m->done < 0 ? -1 : at(m->done);
    q.t[JM_T_CLOSED] = at(m->closed);
    q.t[JM_T_FIRST_TOKEN] = at(m->ev[0]);
    q.t[JM_T_LAST_TOKEN] = at(m->ev[m->n - 1]);
    for (int i = 0; i < m->n; i++) {
        ev[i] = (struct jm_token_event){.t = at(m->ev[i]),
                                        .tokens = (uint16_t)m->tokens[i],
                                        .flags =
                                            (uint16_t)(m->flags[i] | (m->tokens[i] ? JM_TE_COUNT_KNOWN : 0))};
        if (q.t[JM_T_FIRST_VISIBLE] < 0 && !(m->flags[i] & JM_TE_REASONING))
            q.t[JM_T_FIRST_VISIBLE] = ev[i].t;
    }
    syn_put(s, &q, ev, (size_t)m->n);
}

/* 1: a role chunk before and a finish chunk after four tokens. 2: waited 150 ms in the client, six tokens in
 * three chunks, eight asked for. 3: two reasoning tokens before two visible ones. 4: an error inside the
 * stream after two tokens. 5: one token. */
static const struct made five[] = {
    {1, 1, 1, 1.1, 1.36, 1.37, 1.38, 1.39, {1.2, 1.25, 1.3, 1.35}, {0}, {0}, 4, 4, 4, JM_END_OK},
    {2, 2.1, 2.15, 2.4, 2.6, 2.62, 2.64, 2.65, {2.4, 2.5, 2.6}, {1, 3, 2}, {0}, 3, 6, 8, JM_END_OK},
    {3,
     3,
     3,
     3.1,
     3.22,
     3.23,
     3.24,
     3.25,
     {3.1, 3.14, 3.18, 3.22},
     {1, 1, 1, 1},
     {JM_TE_REASONING, JM_TE_REASONING, 0, 0},
     4,
     4,
     4,
     JM_END_OK},
    {4, 4, 4, 4.05, 4.09, -1, -1, 4.1, {4.05, 4.09}, {0}, {0}, 2, -1, 4, JM_END_ERROR_EVENT},
    {5, 5, 5, 5.2, 5.2, 5.21, 5.22, 5.23, {5.2}, {0}, {0}, 1, 1, 4, JM_END_OK},
};

static struct jm_compute_opts opts;

static void make(struct syn *s, const char *name)
{
    syn_begin(s, name);
    syn_gpu(s, "GPU-1", 100, -5, 20); /* 100 W */
    syn_window(s, JM_R_MEASURE, 0, 0, 10);
    for (size_t i = 0; i < sizeof five / sizeof five[0]; i++)
        put(s, &five[i]);
    jm_compute_defaults(&opts);
    opts.slo.ttft_s = 0.3;
    opts.slo.tpot_s = 0.055;
    syn_report(s, &opts);
}

struct want {
    const char *tool, *key;
    double mean, p50, p99; /* NAN: not looked at */
    int64_t n;             /* -2: not looked at */
};

static void check(struct syn *s, const char *what, const struct want *w, size_t n)
{
    struct jm_explain *x = NULL;
    struct jm_err err = {0};
    if (jm_explain(s->run, s->r, &opts, what, &x, &err) != 0)
        fail_msg("%s: %s", what, err.text);
    assert_int_equal(x->scheduled, 5);
    assert_int_equal(x->ok, 4);
    assert_int_equal(x->failed, 1);
    assert_true(x->rows[0].ours);
    for (size_t i = 0; i < n; i++) {
        const struct jm_explain_row *r = NULL;
        for (size_t k = 0; k < x->n; k++)
            if (strcmp(x->rows[k].tool, w[i].tool) == 0 &&
                (!w[i].key || strcmp(x->rows[k].key, w[i].key) == 0))
                r = r ? r : &x->rows[k];
        if (!r)
            fail_msg("%s: no row of %s", what, w[i].tool);
        if (!r->have)
            fail_msg("%s by %s has no value: %s", what, w[i].tool, r->reason);
        if (fabs(r->mean - w[i].mean) > 1e-9 * fabs(w[i].mean) + 1e-12)
            fail_msg("%s by %s (%s): %.12g, expected %.12g", what, w[i].tool, r->key, r->mean, w[i].mean);
        if (!isnan(w[i].p50) && fabs(r->p50 - w[i].p50) > 1e-9)
            fail_msg("p50 of %s by %s: %.12g, expected %.12g", what, w[i].tool, r->p50, w[i].p50);
        if (!isnan(w[i].p99) && fabs(r->p99 - w[i].p99) > 1e-9)
            fail_msg("p99 of %s by %s: %.12g, expected %.12g", what, w[i].tool, r->p99, w[i].p99);
        if (w[i].n != -2 && r->n != w[i].n)
            fail_msg("n of %s by %s: %lld, expected %lld", what, w[i].tool, (long long)r->n,
                     (long long)w[i].n);
    }
}
#define CHECK(s, what, ...)                                                                                  \
    check(s, what, (const struct want[]){__VA_ARGS__},                                                       \
          sizeof((const struct want[]){__VA_ARGS__}) / sizeof(struct want))

static void first_token(void **state)
{
    (void)state;
    struct syn s;
    make(&s, "explain-ttft");
    CHECK(&s, "ttft",
          /* 1, 2, 3, 5 from scheduled: 200, 400, 100, 200 ms; p99 between the last two at 2.97 */
          {"joulemark", NULL, .225, .2, .2 + .97 * .2, 4},
          /* role chunk, from sent, the failed one too: 100, 250, 100, 50, 200 */
          {"vLLM", NULL, .14, .1, NAN, 5}, {"vLLM 2025-08", NULL, .14, .1, NAN, 5},
          {"EvalScope", NULL, .14, .1, NAN, 5},
          /* text or reasoning, any HTTP 200: 200, 250, 100, 50, 200 */
          {"SGLang", NULL, .16, .2, NAN, 5},
          /* from sent: 200, 250, 100, 200 */
          {"AIPerf", "time_to_first_token", .1875, .2, NAN, 4}, {"GenAI-Perf", NULL, .1875, .2, NAN, 4},
          /* no interpolation: the first value whose share reaches q */
          {"guidellm", NULL, .1875, .2, .25, 4},
          /* visible text: 200, 250, 180, 200 */
          {"AIPerf", "time_to_first_output_token", .2075, .2, NAN, 4}, {"llmperf", NULL, .2075, .2, NAN, 4},
          /* and not of the one with a single token */
          {"inference-perf", NULL, .21, .2, NAN, 3},
          /* index floor(q n) of 100, 200, 200, 400 */
          {"MLPerf", NULL, .225, .2, .4, 4});
    /* one of ours that no tool has under that name: 1.25 - 1.2, 2.5 - 2.4, 3.14 - 3.1 */
    CHECK(&s, "ttst", {"joulemark", "ttst", (.05 + .1 + .04) / 3, .05, NAN, 3});
    syn_end(&s);
}

static void per_token(void **state)
{
    (void)state;
    struct syn s;
    make(&s, "explain-tpot");
    CHECK(&s, "tpot",
          /* 150 / 3, 200 / 5, 120 / 3 ms */
          {"joulemark", NULL, (.05 + .04 + .04) / 3, .04, NAN, 3},
          /* 260 / 3, 200 / 5, 120 / 3: from the role to the finish_reason */
          {"vLLM", NULL, (.26 / 3 + .04 + .04) / 3, .04, NAN, 3},
          /* to the usage */
          {"vLLM 2025-08", NULL, (.27 / 3 + .22 / 5 + .13 / 3) / 3, NAN, NAN, 3},
          /* the same, but the mean is over its five successes */
          {"EvalScope", NULL, (.27 / 3 + .22 / 5 + .13 / 3) / 5, NAN, NAN, 3},
          /* first text to [DONE] (closed where there is none) over the length asked for, less one */
          {"SGLang", NULL, (.18 / 3 + .24 / 7 + .14 / 3 + .05 / 3 + .02 / 3) / 5, NAN, NAN, 5},
          {"AIPerf", NULL, (.05 + .04 + .04) / 3, .04, NAN, 3},
          {"GenAI-Perf", NULL, (.05 + .04 + .04) / 3, .04, NAN, 3},
          /* 350 / 4, 450 / 6, 220 / 4, 200 / 1, each as often as it has tokens; shares 4, 6, 4, 1 of 15 */
          {"guidellm", "time_per_output_token_ms", 1.22 / 15, .075, .2, 15},
          {"guidellm", "inter_token_latency_ms", .47 / 11, .04, .05, 11},
          /* visible text alone: 150 / 3, 200 / 5, 40 / 3 */
          {"inference-perf", "time_per_output_token", (.05 + .04 + .04 / 3) / 3, .04, NAN, 3},
          {"inference-perf", "normalized_time_per_output_token", (.39 / 4 + .5 / 6 + .25 / 4 + .23) / 4, NAN,
           NAN, 4},
          {"MLPerf", NULL, (.05 + .04 + .04) / 3, .04, .05, 3});
    syn_end(&s);
}

static void gaps(void **state)
{
    (void)state;
    struct syn s;
    make(&s, "explain-itl");
    CHECK(&s, "itl",
          /* 3 x 50, 2 x 100, 3 x 40 ms */
          {"joulemark", NULL, .47 / 8, .05, NAN, 8},
          /* and 100 after the role, 10 before the finish_reason, 40 of the failed one */
          {"vLLM", NULL, .62 / 11, .05, NAN, 11}, {"EvalScope", NULL, .62 / 11, .05, NAN, 11},
          {"SGLang", NULL, .51 / 9, .05, NAN, 9}, {"AIPerf", "inter_token_latency", .13 / 3, .04, NAN, 3},
          {"AIPerf", "inter_chunk_latency", .47 / 8, .05, NAN, 8}, {"guidellm", NULL, .47 / 11, .04, .05, 11},
          /* 50, 50, 50; 100, 0, 0, 100, 0; 40 */
          {"inference-perf", NULL, .39 / 9, .05, .1, 9},
          /* (last visible text - sent) / tokens */
          {"llmperf", NULL, (.35 / 4 + .45 / 6 + .22 / 4 + .2) / 4, NAN, NAN, 4});
    /* evenly spread: 3 x 50, 5 x 40, 3 x 40 */
    CHECK(&s, "itl.token_interpolated", {"joulemark", "itl.token_interpolated", .47 / 11, .04, .05, 11});
    syn_end(&s);
}

static void whole_requests(void **state)
{
    (void)state;
    struct syn s;
    make(&s, "explain-e2e");
    CHECK(&s, "e2e", {"joulemark", NULL, (.35 + .6 + .22 + .2) / 4, NAN, .6 - .03 * .25, 4},
          {"vLLM", NULL, (.36 + .45 + .22 + .09 + .2) / 5, .22, NAN, 5},
          {"vLLM 2025-08", NULL, (.37 + .47 + .23 + .09 + .21) / 5, .23, NAN, 5},
          {"EvalScope", NULL, (.37 + .47 + .23 + .09 + .21) / 5, .23, NAN, 5},
          {"SGLang", NULL, (.38 + .49 + .24 + .1 + .22) / 5, .24, NAN, 5},
          {"AIPerf", NULL, (.35 + .45 + .22 + .2) / 4, NAN, NAN, 4},
          {"guidellm", NULL, (.39 + .5 + .25 + .23) / 4, .25, .5, 4},
          {"inference-perf", NULL, (.39 + .5 + .25 + .23) / 4, NAN, NAN, 4},
          {"MLPerf", NULL, (.35 + .6 + .22 + .2) / 4, .35, .6, 4});
    /* 150 ms of one in four; the wait for a slot alone, 100 ms of one in five */
    CHECK(&s, "queue", {"joulemark", NULL, .15 / 4, 0, NAN, 4}, {"vLLM", NULL, .1 / 5, 0, NAN, 5},
          {"inference-perf", NULL, .15 / 5, 0, NAN, 5});
    syn_end(&s);
}

/* 15 tokens of four successes in a window of 10 s; first scheduled and sent at 1, last token at 5.2, last
 * end at 5.23. */
static void rates(void **state)
{
    (void)state;
    struct syn s;
    make(&s, "explain-rates");
    CHECK(&s, "throughput", {"joulemark", NULL, 1.5, NAN, NAN, -2}, {"vLLM", NULL, 15 / 4.23, NAN, NAN, -2},
          {"SGLang", NULL, 24 / 4.23, NAN, NAN, -2}, {"AIPerf", NULL, 15 / 4.2, NAN, NAN, -2},
          {"guidellm", NULL, 1.5, NAN, NAN, -2}, {"inference-perf", NULL, 15 / 4.23, NAN, NAN, -2},
          {"MLPerf", NULL, 15 / 4.23, NAN, NAN, -2});
    CHECK(&s, "requests", {"joulemark", NULL, .4, NAN, NAN, -2}, {"vLLM", NULL, 5 / 4.23, NAN, NAN, -2},
          {"AIPerf", NULL, 4 / 4.2, NAN, NAN, -2}, {"GenAI-Perf", NULL, 5 / 4.23, NAN, NAN, -2},
          {"llmperf", NULL, 4 / 4.23, NAN, NAN, -2});
    CHECK(&s, "tokens", {"joulemark", NULL, 15, NAN, NAN, 4}, {"SGLang", NULL, 24, NAN, NAN, 5},
          {"vLLM", NULL, 15, NAN, NAN, 5});
    CHECK(&s, "goodput",
          /* 1, 3, 5: the second one waited too long */
          {"joulemark", NULL, .3, NAN, NAN, -2},
          /* 2, 3, 5: from sent the second is in time, but the first pays for its role and finish_reason; the
           * failed one has no TPOT */
          {"vLLM", NULL, 3 / 4.23, NAN, NAN, -2},
          /* 1, 2, 3: one token has no ITL, and what is missing is not good */
          {"AIPerf", NULL, 3 / 4.2, NAN, NAN, -2},
          {"inference-perf", "request_goodput", 3 / 4.2, NAN, NAN, -2},
          {"inference-perf", "goodput_percentage", .75, NAN, NAN, -2});
    syn_end(&s);
}

/* 100 W. The counter of the simulated board moves every 100 ms, so that energies are right to some joules. */
static void joules(void **state)
{
    (void)state;
    struct syn s;
    struct jm_explain *x = NULL;
    make(&s, "explain-energy");
    assert_int_equal(jm_explain(s.run, s.r, &opts, "j_per.output_token", &x, NULL), 0);
    static const struct {
        const char *tool;
        double joules;
    } want[] = {{"joulemark", 1000}, {"AIPerf", 486.6}, {"vLLM", 423}, {"CodeCarbon", 2500}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        const struct jm_explain_row *r = x->rows;
        while (r < x->rows + x->n && strcmp(r->tool, want[i].tool) != 0)
            r++;
        assert_true(r < x->rows + x->n && r->have);
        if (fabs(r->mean * 15 - want[i].joules) > 1e-3 * want[i].joules)
            fail_msg("%s: %.6g J, expected %.6g", want[i].tool, r->mean * 15, want[i].joules);
    }
    for (size_t i = 0; i < x->n; i++)
        if (strcmp(x->rows[i].tool, "GenAI-Perf") == 0 || strcmp(x->rows[i].tool, "MLPerf") == 0)
            assert_true(!x->rows[i].have && x->rows[i].reason);
    syn_end(&s);
}

/* What the report says of a definition is what the explanation says of it. */
static void report_and_explanation_agree(void **state)
{
    (void)state;
    struct syn s;
    make(&s, "explain-agree");
    for (int l = 0; l < JM_LAT_COUNT; l++) {
        struct jm_explain *x = NULL;
        struct jm_err err = {0};
        if (jm_explain(s.run, s.r, &opts, jm_lat_ids[l], &x, &err) != 0)
            fail_msg("%s: %s", jm_lat_ids[l], err.text);
        const struct jm_explain_row *r = x->rows;
        while (r < x->rows + x->n && !(r->ours && strcmp(r->key, jm_lat_ids[l]) == 0))
            r++;
        assert_true(r < x->rows + x->n && r->have);
        if (fabs(syn_value(&s, jm_lat_ids[l], JM_B_NONE, 0) - r->mean) > 1e-12 * fabs(r->mean))
            fail_msg("%s: %.12g in the report, %.12g explained", jm_lat_ids[l],
                     syn_value(&s, jm_lat_ids[l], JM_B_NONE, 0), r->mean);
    }
    /* the zeros of a histogram are zeros: 0 0 0 40 40 40 50 50 50 100 100 */
    const struct jm_result *zero = jm_report_find(s.r, "itl.token_zero", JM_B_NONE, 0);
    assert_true(zero && zero->q.have && fabs(zero->q.value - .47 / 11) < 1e-12);
    syn_end(&s);
}

static void names(void **state)
{
    (void)state;
    struct syn s;
    struct jm_explain *x = NULL;
    struct jm_err err = {0};
    make(&s, "explain-names");
    assert_int_equal(jm_explain(s.run, s.r, &opts, "tpott", &x, &err), JM_EUSAGE);
    assert_non_null(strstr(err.text, "did you mean tpot?"));
    assert_int_equal(jm_explain(s.run, s.r, &opts, "bias.in_flight", &x, &err), JM_EUSAGE);
    assert_int_equal(jm_explain(s.run, s.r, &opts, "", &x, &err), JM_EUSAGE);
    /* every row stands in a family, names an id of the catalogue, and says why */
    for (const struct jm_peer_row *p = jm_peer_table; p->tool; p++) {
        assert_non_null(jm_family_of(p->family));
        assert_true(!p->metric || jm_metric_find(p->metric));
        assert_true(p->why && p->why[strlen(p->why) - 1] == '.');
    }
    for (int g = 0; g < JM_GAP_COUNT; g++)
        assert_non_null(jm_metric_find(jm_gap_ids[g]));
    for (int l = 0; l < JM_LAT_COUNT; l++)
        assert_non_null(jm_metric_find(jm_lat_ids[l]));
    syn_end(&s);
}

/* An imported run: no stamps of chunks, no events, no lengths asked for. Nothing becomes 0. */
static void what_is_not_known(void **state)
{
    (void)state;
    struct syn s;
    struct jm_explain *x = NULL;
    syn_begin(&s, "explain-imported");
    for (int i = 0; i < 3; i++) {
        struct jm_request q;
        jm_request_init(&q);
        q.end = JM_END_OK;
        q.output_tokens = i ? 10 : -1;
        q.token_source = i ? JM_TOK_IMPORTED : JM_TOK_UNKNOWN;
        q.t[JM_T_SENT] = SYN_NS(i);
        q.t[JM_T_FIRST_TOKEN] = SYN_NS(i + .1);
        q.t[JM_T_LAST_TOKEN] = SYN_NS(i + 1);
        syn_put(&s, &q, NULL, 0);
    }
    static const struct jm_run_claim claims[] = {
        {.key = "mean_tpot_ms",
         .metric = "tpot.excl_first",
         .stat = "mean",
         .value = 100,
         .unit = "ms",
         .window = -1},
        {.key = "p99_tpot_ms",
         .metric = "tpot.excl_first",
         .stat = "p99",
         .value = 101,
         .unit = "ms",
         .window = -1},
        {.key = "mean_ttft_ms", .metric = "ttft", .stat = "mean", .value = 7, .unit = "ms", .window = -1}};
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++)
        assert_int_equal(jm_run_put_claim(s.w, &claims[i], NULL), 0);
    jm_compute_defaults(&opts);
    syn_report(&s, &opts);
    assert_int_equal(jm_explain(s.run, s.r, &opts, "tpot", &x, NULL), 0);
    assert_int_equal(x->windows, 0);
    const struct jm_explain_row *file = &x->rows[x->n - 1]; /* both claims about TPOT, and no other */
    assert_true(file->claimed && !file->ours && file->have && strcmp(file->key, "mean_tpot_ms") == 0);
    assert_float_equal(file->mean, .1, 1e-12);
    assert_float_equal(file->p99, .101, 1e-12);
    assert_true(isnan(file->p50) && !x->rows[x->n - 2].claimed);
    assert_non_null(x->note);
    for (size_t i = 0; i < x->n; i++) {
        const struct jm_explain_row *r = &x->rows[i];
        if (strcmp(r->tool, "SGLang") == 0 || strcmp(r->key, "time_per_output_token") == 0 ||
            strcmp(r->key, "normalized_time_per_output_token") == 0 || strcmp(r->tool, "llmperf") == 0)
            assert_true(!r->have && r->reason);
        else if (strcmp(r->key, "time_per_output_token_ms") == 0)
            assert_float_equal(r->mean, .1, 1e-9);
        else if (r->have && strcmp(r->tool, "EvalScope") != 0)
            assert_float_equal(r->mean, .1, 1e-9); /* .9 / 9 */
    }
    assert_int_equal(jm_explain(s.run, s.r, &opts, "tokens", &x, NULL), 0);
    assert_true(!x->rows[0].have && isnan(x->rows[0].mean));
    assert_int_equal(jm_explain(s.run, s.r, &opts, "energy", &x, NULL), 0);
    for (size_t i = 0; i < x->n; i++)
        assert_true(!x->rows[i].have && x->rows[i].reason);
    syn_end(&s);
}

/* What the plan gave up is no failure of the server, and the header says so. */
static void what_the_plan_gave_up(void **state)
{
    struct syn s;
    struct jm_explain *x = NULL;
    struct jm_str text;
    struct jm_show_opts show = {.width = 80};
    struct jm_request q;
    (void)state;
    syn_begin(&s, "given_up");
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    syn_request(&s, 1, 0.1, 0.01, 10, 10);
    syn_failed(&s, 2, 1, JM_END_HTTP_SERVER);
    for (int i = 0; i < 2; i++) {
        jm_request_init(&q);
        q.t[JM_T_SCHEDULED] = q.t[JM_T_SENT] = SYN_NS(3 + i);
        q.t[JM_T_CLOSED] = SYN_NS(4 + i);
        q.end = JM_END_ABORTED;
        q.planned_abort = 1;
        syn_put(&s, &q, NULL, 0);
    }
    jm_compute_defaults(&opts);
    syn_report(&s, &opts);
    assert_int_equal(jm_explain(s.run, s.r, &opts, "e2e", &x, NULL), 0);
    assert_int_equal(x->failed, 3);
    assert_int_equal(x->planned, 2);
    jm_str_init(&text);
    assert_int_equal(jm_show_explain(s.r, x, "text", &show, &text, NULL), 0);
    for (char *c = text.buf; *c; c++)
        *c = (char)(*c == '\n' ? ' ' : *c);
    assert_non_null(strstr(text.buf, "1 ok, 3 not (2 aborted by plan)"));
    jm_str_reset(&text);
    assert_int_equal(jm_show_explain(s.r, x, "markdown", &show, &text, NULL), 0);
    assert_non_null(strstr(text.buf, "(4 requests: 1 ok, 3 not (2 aborted by plan))"));
    jm_str_release(&text);
    syn_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_token),
        cmocka_unit_test(per_token),
        cmocka_unit_test(gaps),
        cmocka_unit_test(whole_requests),
        cmocka_unit_test(rates),
        cmocka_unit_test(joules),
        cmocka_unit_test(names),
        cmocka_unit_test(report_and_explanation_agree),
        cmocka_unit_test(what_is_not_known),
        cmocka_unit_test(what_the_plan_gave_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
