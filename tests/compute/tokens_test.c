/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens, latencies and requests of a window: each expected value by hand from the event log beside it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "compute/acc.h"
#include "synthetic.h"

#define NEAR(got, want)                                                                                      \
    assert_true(fabs((double)(got) - (double)(want)) <= 1e-9 + 1e-9 * fabs((double)(want)))

static struct jm_request ok(double sched, double sent, double first, double last, int64_t in, int64_t out)
{
    struct jm_request q;
    jm_request_init(&q);
    q.end = JM_END_OK;
    q.stream = 1;
    q.http_status = 200;
    q.token_source = JM_TOK_USAGE;
    q.prompt_tokens = in;
    q.output_tokens = out;
    q.t[JM_T_SCHEDULED] = SYN_NS(sched);
    q.t[JM_T_SENT] = SYN_NS(sent);
    q.t[JM_T_FIRST_TOKEN] = q.t[JM_T_FIRST_VISIBLE] = SYN_NS(first);
    q.t[JM_T_LAST_TOKEN] = SYN_NS(last);
    q.t[JM_T_CLOSED] = SYN_NS(last) + 1000000;
    return q;
}

static struct jm_token_event ev(double at, int tokens, int flags)
{
    return (struct jm_token_event){SYN_NS(at), (uint16_t)tokens,
                                   (uint16_t)(flags | (tokens ? JM_TE_COUNT_KNOWN : 0))};
}

static void begin(struct syn *s, const char *name)
{
    syn_begin(s, name);
    syn_gpu(s, "GPU-0", 100, -3, 33); /* 100 W x 10 s = 1000 J a window */
}

static void end(struct syn *s, const struct jm_compute_opts *o)
{
    syn_window(s, JM_R_MEASURE, 0, 0, 10);
    syn_report(s, o);
}

static double latency(const struct syn *s, const char *id, double q)
{
    for (size_t i = 0; i < s->r->n_results; i++) {
        const struct jm_result *x = &s->r->results[i];
        if (strcmp(x->metric, id) == 0 && x->window == 0 &&
            (isnan(q) ? isnan(x->quantile) : x->quantile == q))
            return x->q.have ? x->q.value : NAN;
    }
    return NAN;
}

/* One request: scheduled 1.0, sent 1.25, reasoning at 2.0, text at 2.5, 2.9 (two tokens) and 3.7; 5 tokens.
 *   ttft              2.0 - 1.0         = 1.0     (LoadGen: from the scheduled time; reasoning starts it,
 * AIPerf) ttfo              2.5 - 1.0         = 1.5     (AIPerf) tpot.excl_first   (3.7 - 2.0) / 4   = 0.425
 * (LoadGen, vLLM) tpot.incl_prefill (3.7 - 1.25) / 5  = 0.49    (guidellm) itl.token_mean    (3.7 - 2.0) / 4
 * = 0.425   (AIPerf's ITL, one value a request) itl.chunk         0.5, 0.4, 0.8     mean 0.5667 (vLLM's ITL)
 *   e2e               3.7 - 1.0         = 2.7
 *   queue             1.25 - 1.0        = 0.25 */
static void definitions(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "definitions");
    struct jm_request q = ok(1, 1.25, 2, 3.7, 10, 5);
    q.t[JM_T_FIRST_VISIBLE] = SYN_NS(2.5);
    struct jm_token_event e[] = {ev(2, 1, JM_TE_REASONING), ev(2.5, 1, 0), ev(2.9, 2, 0), ev(3.7, 1, 0)};
    syn_put(&s, &q, e, 4);
    end(&s, NULL);
    NEAR(latency(&s, "ttft", NAN), 1.0);
    NEAR(latency(&s, "ttfo", NAN), 1.5);
    NEAR(latency(&s, "tpot.excl_first", NAN), 0.425);
    NEAR(latency(&s, "tpot.incl_prefill", NAN), 0.49);
    NEAR(latency(&s, "itl.token_mean", NAN), 0.425);
    NEAR(latency(&s, "itl.chunk", NAN), 1.7 / 3);
    NEAR(latency(&s, "e2e", NAN), 2.7);
    NEAR(latency(&s, "queue", NAN), 0.25);
    assert_int_equal(s.r->tokens.output, 5);
    assert_int_equal(s.r->tokens.reasoning, 1);
    NEAR(jm_report_find(s.r, "j_per.visible_token", JM_B_GPU, 0)->denominator, 4);
    NEAR(jm_report_find(s.r, "j_per.reasoning_token", JM_B_GPU, 0)->denominator, 1);
    /* two tokens in one event: its gap is one chunk gap, no zero is made up */
    for (size_t i = 0; i < s.r->n_results; i++)
        if (strcmp(s.r->results[i].metric, "itl.chunk") == 0)
            assert_int_equal(s.r->results[i].n, 3);
    syn_end(&s);
}

/* Scheduled at 1 s, sent at 1.25 s; first token, first visible one: 2, 2; 3, 3; 2.5, 4; 5, none. Two
 * definitions measure the same until the third request, and three requests hold the last of them. ttft 1,
 * 2, 1.5, 4       mean 2.125      ttft.from_sent    0.75, 1.75, 1.25, 3.75   mean 1.875 ttfo            1, 2,
 * 3            mean 2          ttfo.from_sent    0.75, 1.75, 2.75         mean 1.75 */
static void definitions_that_part(void **state)
{
    static const double first[] = {2, 3, 2.5, 5}, visible[] = {2, 3, 4, NAN};
    struct syn s;
    (void)state;
    begin(&s, "definitions_that_part");
    for (int i = 0; i < 4; i++) {
        struct jm_request q = ok(1, 1.25, first[i], 6, 10, 5);
        q.t[JM_T_FIRST_VISIBLE] = isnan(visible[i]) ? -1 : SYN_NS(visible[i]);
        syn_put(&s, &q, NULL, 0);
    }
    end(&s, NULL);
    NEAR(latency(&s, "ttft", NAN), 2.125);
    NEAR(latency(&s, "ttft.from_sent", NAN), 1.875);
    NEAR(latency(&s, "ttfo", NAN), 2);
    NEAR(latency(&s, "ttfo.from_sent", NAN), 1.75);
    NEAR(latency(&s, "ttft", .5), 1.75);
    NEAR(latency(&s, "ttfo", .5), 2);
    NEAR(latency(&s, "e2e", NAN), 5);
    for (size_t i = 0; i < s.r->n_results; i++)
        if (strncmp(s.r->results[i].metric, "ttfo", 4) == 0)
            assert_int_equal(s.r->results[i].n, 3);
    syn_end(&s);
}

/* A value lies in the bucket whose edges it lies between, and many at once are what they are one by one, over
 * the bound beyond which they are counted in buckets. */
static void buckets(void **state)
{
    static struct jm_loghist h;
    struct jm_acc one = {.most = 256}, many = {.most = 256};
    double v[1000], ns = 1024;
    (void)state;
    for (int i = 0; i < 1000; i++, ns *= 1.019) /* to 0.15 s */
        v[i] = i % 100 ? ns * 1e-9 : i % 200 ? 0 : -1e-3;
    for (int i = 0; i < 1000; i++) {
        memset(&h, 0, sizeof h);
        jm_loghist_add(&h, v[i] * 1e9, 2);
        size_t at = 0;
        while (at < JM_LOGHIST_N && !h.count[at])
            at++;
        if (!(v[i] > 0))
            assert_true(at == JM_LOGHIST_N && h.zeros == 2 && h.total == 2);
        else
            assert_true(at < JM_LOGHIST_N && v[i] >= jm_loghist_edge(at) * (1 - 1e-12) &&
                        v[i] < jm_loghist_edge(at + 1) * (1 + 1e-12));
        assert_int_equal(jm_acc_add(&one, v[i], 1), 0);
    }
    memset(&h, 0, sizeof h);
    jm_loghist_add(&h, INFINITY, 1);
    jm_loghist_add(&h, 1023, 1);
    assert_true(h.count[JM_LOGHIST_N - 1] == 1 && h.count[0] == 1);
    for (int i = 0; i < 1000; i += 125)
        assert_int_equal(jm_acc_add_many(&many, v + i, 125), 0);
    assert_non_null(many.h);
    assert_true(one.sum == many.sum && one.weight == many.weight && many.weight == 1000);
    assert_memory_equal(one.h, many.h, sizeof h);
    jm_acc_release(&one);
    jm_acc_release(&many);
}

/* Quantiles of 1, 2, ... 100 s by linear interpolation between order statistics: p50 50.5, p90 90.1,
 * p99 99.01. */
static void quantiles(void **state)
{
    struct syn s;
    (void)state;
    syn_begin(&s, "quantiles");
    for (int i = 1; i <= 100; i++) {
        struct jm_request q = ok(0.01 * i, 0.01 * i, 0.01 * i + i, 0.01 * i + i, 1, 1);
        syn_put(&s, &q, NULL, 0);
    }
    end(&s, NULL);
    NEAR(latency(&s, "ttft", .5), 50.5);
    NEAR(latency(&s, "ttft", .9), 90.1);
    NEAR(latency(&s, "ttft", .99), 99.01);
    /* one-token answers have no time per output token after the first */
    assert_true(isnan(latency(&s, "tpot.excl_first", .5)));
    syn_end(&s);
}

/* The objective: ttft 1 s, tpot 0.1 s. Of five: in time; late first token; slow tokens; one token in time (no
 * tpot: ttft alone decides); not streamed, so ttft cannot be checked and is not met. */
static void qualified(void **state)
{
    struct syn s;
    struct jm_compute_opts o;
    (void)state;
    jm_compute_defaults(&o);
    o.slo.ttft_s = 1;
    o.slo.tpot_s = 0.1;
    begin(&s, "qualified");
    struct jm_request q[] = {ok(1, 1, 1.5, 2.0, 1, 11), ok(1, 1, 2.5, 3, 1, 11), ok(1, 1, 1.5, 4, 1, 11),
                             ok(1, 1, 1.9, 1.9, 1, 1), ok(1, 1, 1.5, 2, 1, 11)};
    q[4].t[JM_T_FIRST_TOKEN] = q[4].t[JM_T_FIRST_VISIBLE] = -1;
    q[4].stream = 0;
    for (int i = 0; i < 5; i++)
        syn_put(&s, &q[i], NULL, 0);
    end(&s, &o);
    assert_int_equal(s.r->requests.ok, 5);
    assert_int_equal(s.r->requests.qualified, 2);
    NEAR(syn_value(&s, "goodput", JM_B_NONE, 0), 0.2);
    NEAR(syn_value(&s, "attainment", JM_B_NONE, 0), 0.4);
    NEAR(jm_report_find(s.r, "j_per.qualified_token", JM_B_GPU, 0)->denominator, 12);
    /* the prompt of an answer that came whole was prefilled all the same */
    assert_int_equal(s.r->tokens.input, 5);
    syn_end(&s);
}

/* A request decides by what happens after the window: scheduled inside, its last token outside and late.
 * Tokens inside: at 8, 9 (2 of 4); the window ends at 10 and does not hold its own end. */
static void followed_to_its_end(void **state)
{
    struct syn s;
    struct jm_compute_opts o;
    (void)state;
    jm_compute_defaults(&o);
    o.slo.tpot_s = 1.5;
    begin(&s, "followed");
    struct jm_request q = ok(7, 7, 8, 15, 100, 4); /* tpot 7 / 3 > 1.5 */
    struct jm_token_event e[] = {ev(8, 1, 0), ev(9, 1, 0), ev(10, 1, 0), ev(15, 1, 0)};
    syn_put(&s, &q, e, 4);
    end(&s, &o);
    NEAR(jm_report_find(s.r, "j_per.output_token", JM_B_GPU, 0)->denominator, 2);
    NEAR(jm_report_find(s.r, "j_per.input_token", JM_B_GPU, 0)->denominator, 100);
    assert_int_equal(s.r->requests.ok, 0);
    NEAR(syn_value(&s, "attainment", JM_B_NONE, 0), 0);
    syn_end(&s);
}

/* Tokens of a stream that broke are no work done; their joules stay. The window has 1000 J. */
static void failures_after_tokens(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "failures");
    struct jm_request good = ok(1, 1, 2, 3, 10, 2), cut = ok(1, 1, 2, 4, 10, 50),
                      aborted = ok(1, 1, 2, 4, 10, 9);
    struct jm_token_event e[] = {ev(2, 1, 0), ev(3, 1, 0)};
    cut.end = JM_END_CUT;
    aborted.end = JM_END_ABORTED;
    syn_put(&s, &good, e, 2);
    syn_put(&s, &cut, e, 2);
    syn_put(&s, &aborted, e, 2);
    end(&s, NULL);
    NEAR(jm_report_find(s.r, "j_per.output_token", JM_B_GPU, 0)->denominator, 2);
    assert_true(fabs(syn_value(&s, "j_per.request_any", JM_B_GPU, 0) - 1000.0 / 3) < 1e-3);
    assert_int_equal(s.r->requests.failed, 1);
    assert_int_equal(s.r->requests.aborted, 1);
    assert_int_equal(s.r->requests.by_end[JM_END_CUT], 1);
    syn_end(&s);
}

/* Events that do not say their counts share the server's total: 12 tokens over 4 events, 3 each; two are
 * inside. With as many tokens as events each has exactly one, and there is no doubt. */
static void shares(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "shares");
    struct jm_request q = ok(8, 8, 8.5, 11.5, 10, 12), r = ok(8, 8, 8.5, 11.5, 10, 4);
    struct jm_token_event e[] = {ev(8.5, 0, 0), ev(9.5, 0, 0), ev(10.5, 0, 0), ev(11.5, 0, 0)};
    syn_put(&s, &q, e, 4);
    syn_put(&s, &r, e, 4);
    end(&s, NULL);
    const struct jm_result *x = jm_report_find(s.r, "j_per.output_token", JM_B_GPU, 0);
    NEAR(x->denominator, 2 * 3 + 2 * 1);
    assert_non_null(strstr(x->q.u.includes, "token doubt"));
    /* of the first: mean 3, k = 2 of n = 4: u2 = 3 x 2 x 2 x 2 / 4 = 6; of the second: 0. Relative: sqrt(6) /
     * 8, and the energy adds little: half-width 1.96 x 0.306 of the value */
    double half = (x->q.u.hi - x->q.u.lo) / 2 / x->q.value;
    assert_true(fabs(half - 1.96 * sqrt(6) / 8) < 0.01);
    syn_end(&s);
    begin(&s, "no_doubt");
    syn_put(&s, &r, e, 4);
    end(&s, NULL);
    x = jm_report_find(s.r, "j_per.output_token", JM_B_GPU, 0);
    assert_null(strstr(x->q.u.includes, "token doubt"));
    syn_end(&s);
}

/* Reasoning that the stream hides: usage says 10 tokens, 6 of them reasoning; 2 events. The hidden ones stand
 * at the first event. Shown reasoning with a known total: 3 events of it share 6, 2 of text share 4. */
static void reasoning(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "hidden");
    struct jm_request q = ok(1, 1, 5, 6, 10, 10);
    struct jm_token_event e[] = {ev(5, 0, 0), ev(6, 0, 0)};
    q.reasoning_tokens = 6;
    syn_put(&s, &q, e, 2);
    end(&s, NULL);
    assert_int_equal(s.r->tokens.output, 10);
    assert_int_equal(s.r->tokens.reasoning, 6);
    NEAR(jm_report_find(s.r, "j_per.visible_token", JM_B_GPU, 0)->denominator, 4);
    syn_end(&s);
    begin(&s, "shown");
    struct jm_token_event f[] = {ev(7, 0, JM_TE_REASONING), ev(8, 0, JM_TE_REASONING),
                                 ev(9.5, 0, JM_TE_REASONING), ev(10.5, 0, 0), ev(11, 0, 0)};
    q = ok(6, 6, 7, 11, 10, 10);
    q.reasoning_tokens = 6;
    syn_put(&s, &q, f, 5);
    end(&s, NULL);
    NEAR(jm_report_find(s.r, "j_per.output_token", JM_B_GPU, 0)->denominator, 6); /* 3 events of 2 */
    assert_int_equal(s.r->tokens.reasoning, 6);
    syn_end(&s);
    /* nobody said anything about reasoning: not known, not 0 */
    begin(&s, "silent");
    q = ok(1, 1, 5, 6, 10, 2);
    syn_put(&s, &q, e, 2);
    end(&s, NULL);
    assert_int_equal(s.r->tokens.reasoning, -1);
    assert_int_equal(s.r->tokens.cached, -1);
    syn_end(&s);
}

/* An answer that came whole is booked at its end; when an edge lies inside it, any part may belong outside.
 */
static void whole_answers(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "whole");
    struct jm_request q = ok(-1, -1, 2, 2, 10, 100), r = ok(9, 9, 12, 12, 10, 100),
                      in = ok(3, 3, 5, 5, 10, 1000);
    q.t[JM_T_FIRST_TOKEN] = r.t[JM_T_FIRST_TOKEN] = in.t[JM_T_FIRST_TOKEN] = -1;
    syn_put(&s, &q, NULL, 0);
    syn_put(&s, &r, NULL, 0);
    syn_put(&s, &in, NULL, 0);
    end(&s, NULL);
    const struct jm_result *x = jm_report_find(s.r, "j_per.output_token", JM_B_GPU, 0);
    NEAR(x->denominator, 1100);
    /* u = 100 / sqrt(3) for each of the two that an edge cuts */
    double half = (x->q.u.hi - x->q.u.lo) / 2 / x->q.value;
    assert_true(fabs(half - 1.96 * 100 * sqrt(2.0 / 3) / 1100) < 0.002);
    syn_end(&s);
}

/* Cached input: known of all, or the uncached figure is not formed. */
static void cached(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "cached");
    struct jm_request q = ok(1, 1, 2, 3, 100, 2);
    q.cached_tokens = 60;
    syn_put(&s, &q, NULL, 0);
    end(&s, NULL);
    NEAR(jm_report_find(s.r, "j_per.input_token_uncached", JM_B_GPU, 0)->denominator, 40);
    assert_int_equal(s.r->tokens.cached, 60);
    syn_end(&s);
    begin(&s, "cached_unknown");
    syn_put(&s, &q, NULL, 0);
    q.cached_tokens = -1;
    syn_put(&s, &q, NULL, 0);
    end(&s, NULL);
    assert_null(jm_report_find(s.r, "j_per.input_token_uncached", JM_B_GPU, 0));
    assert_int_equal(s.r->tokens.cached, -1);
    syn_end(&s);
}

/* Windows that overlap: each has its own figures, the totals count every token and request once. */
static void overlapping(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "overlap");
    for (int i = 0; i < 20; i++) {
        struct jm_request q = ok(i, i, i + .25, i + .5, 7, 10);
        syn_put(&s, &q, NULL, 0);
    }
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    syn_window(&s, JM_R_MEASURE, 0, 5, 15);
    syn_report(&s, NULL);
    NEAR(jm_report_find(s.r, "j_per.output_token", JM_B_GPU, 0)->denominator, 100);
    NEAR(jm_report_find(s.r, "j_per.output_token", JM_B_GPU, 1)->denominator, 100);
    assert_int_equal(s.r->tokens.output, 150);
    assert_int_equal(s.r->tokens.input, 15 * 7);
    assert_int_equal(s.r->requests.ok, 15);
    assert_int_equal(s.r->tokens.osl.n, 15);
    /* they share a trial number: parts of one repetition, so no mean over trials */
    assert_int_equal(s.r->trials, 1);
    assert_null(jm_report_find(s.r, "energy", JM_B_GPU, -1));
    syn_end(&s);
}

/* In flight at the edges: one sends before 0 and gets its first token inside (prefill cut), one is decoding
 * at 0, one is in prefill at 10, one fails without a token (never prefilled). 2 of 3 prefilled inside + cut
 * ones. */
static void edges(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "edges");
    struct jm_request a = ok(-1, -1, 1, 2, 10, 2), b = ok(-2, -2, -1, 3, 10, 2), c = ok(9, 9, 11, 12, 10, 2),
                      d = ok(5, 5, 6, 7, 10, 2), f = ok(8, 8, 9, 12, 10, 2);
    f.end = JM_END_TIMEOUT;
    f.t[JM_T_FIRST_TOKEN] = f.t[JM_T_FIRST_VISIBLE] = f.t[JM_T_LAST_TOKEN] = -1;
    syn_put(&s, &a, NULL, 0);
    syn_put(&s, &b, NULL, 0);
    syn_put(&s, &c, NULL, 0);
    syn_put(&s, &d, NULL, 0);
    syn_put(&s, &f, NULL, 0);
    end(&s, NULL);
    const struct jm_result *x = jm_report_find(s.r, "bias.in_flight", JM_B_NONE, 0);
    NEAR(x->numerator, 2);   /* a and c */
    NEAR(x->denominator, 2); /* a and d have their first token inside */
    syn_end(&s);
}

/* Stamps and windows at the ends of 64 bits, windows that end before they begin: no figure, and no crash. */
static void hostile(void **state)
{
    struct syn s;
    struct jm_err err;
    (void)state;
    begin(&s, "hostile");
    static const int64_t ends[] = {0, 1, INT64_MAX / 4, INT64_C(1) << 40, 7, 1000};
    for (int i = 0; i < 36; i++) {
        struct jm_request q = ok(1, 1, 2, 3, ends[i % 6], ends[i / 6]);
        struct jm_token_event e[] = {ev(2, 1, 0), ev(3, 0, JM_TE_REASONING)};
        q.t[JM_T_SCHEDULED] = ends[i % 6];
        q.t[JM_T_CLOSED] = ends[i / 6];
        q.cached_tokens = q.reasoning_tokens = ends[i % 6];
        if (i % 6 >= 4 || i / 6 >= 4)
            q.prompt_tokens = q.output_tokens = -1;
        syn_put(&s, &q, e, 2);
    }
    static const int64_t w[][2] = {{T0, T0 - 5},    {T0 + 9, T0 + 9}, {INT64_MIN + 1, INT64_MAX},
                                   {T0, INT64_MAX}, {1, T0},          {T0, T0 + 1}};
    for (int i = 0; i < 6; i++) {
        struct jm_window x = {.id = i, .trial = 1000000000 - i, .role = JM_R_MEASURE, .t0 = w[i][0]};
        snprintf(x.name, sizeof x.name, "w%d", i);
        if (jm_run_open_window(s.w, &x, &err) == 0)
            jm_run_close_window(s.w, i, w[i][1], &err);
    }
    syn_report(&s, NULL);
    assert_int_equal(s.r->validity, JM_V_INVALID);
    assert_non_null(syn_finding(&s, "window.empty"));
    syn_end(&s);
}

/* Tokens of the warm-up, of the pause and of the drain are drawn, each once, and are in no figure. Windows 1
 * to 3 s and 4.5 to 6 s; one event of 60 tokens each at 0.5, 2, 3.75, 5 and 6.25 s, and 60 at the very edge
 * of 3 s. */
static void outside_the_windows(void **state)
{
    static const double at[] = {0.5, 2, 3, 3.75, 5, 6.25};
    struct syn s;
    struct jm_compute_opts o;
    double inside = 0, outside = 0;
    (void)state;
    jm_compute_defaults(&o);
    syn_begin(&s, "outside");
    syn_gpu(&s, "GPU-0", 100, -1, 8);
    syn_window(&s, JM_R_WARMUP, 0, 0, 1);
    syn_window(&s, JM_R_MEASURE, 1, 1, 3);
    syn_window(&s, JM_R_MEASURE, 2, 4.5, 6);
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++)
        syn_request(&s, at[i] - 0.25, 0.25, 0.001, 10, 60);
    syn_report(&s, &o);
    for (size_t i = 0; i < s.r->n_series; i++) {
        const struct jm_series *d = &s.r->series[i];
        double rest = (double)(d->t1 - d->t0) / 1e9;
        if (strcmp(d->unit, "tokens/s") != 0)
            continue;
        for (size_t k = 0; k < d->n; k++, rest -= 1)
            *(d->window < 0 ? &outside : &inside) += d->max[k] * (rest < 1 ? rest : 1);
        for (size_t k = 0; d->window < 0 && k < s.r->n_windows;
             k++) /* beside the measured windows, not over them */
            assert_true(s.r->windows[k].role != JM_R_MEASURE || d->t1 <= s.r->windows[k].t0 ||
                        d->t0 >= s.r->windows[k].t1);
    }
    assert_true(fabs(inside - 120) < 1e-6);
    assert_true(fabs(outside - 240) < 1e-6);
    syn_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outside_the_windows),
        cmocka_unit_test(definitions),
        cmocka_unit_test(definitions_that_part),
        cmocka_unit_test(buckets),
        cmocka_unit_test(quantiles),
        cmocka_unit_test(qualified),
        cmocka_unit_test(followed_to_its_end),
        cmocka_unit_test(failures_after_tokens),
        cmocka_unit_test(shares),
        cmocka_unit_test(reasoning),
        cmocka_unit_test(whole_answers),
        cmocka_unit_test(cached),
        cmocka_unit_test(overlapping),
        cmocka_unit_test(edges),
        cmocka_unit_test(hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
