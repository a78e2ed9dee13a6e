/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's texts in a window: each expected value by hand from the texts beside it, and of each check one
 * run in which it speaks and one, as near to it as can be, in which it is silent. The window is 0 to 10 s,
 * the GPU draws 100 W: 1000 J. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "synthetic.h"

static void near(double got, double want, double tol, const char *what)
{
    if (!(fabs(got - want) <= tol))
        fail_msg("%s: %.9g, wanted %.9g", what, got, want);
}
#define NEAR(got, want) near(got, want, 1e-6 * (fabs((double)(want)) + 1e-3), #got)

static void text(struct syn *s, const char *url, double at, double took, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

static void text(struct syn *s, const char *url, double at, double took, const char *fmt, ...)
{
    char buf[4096];
    struct jm_err err = {0};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf, sizeof buf, fmt, ap);
    va_end(ap);
    if (jm_run_put_scrape(s->w, url, SYN_NS(at), SYN_NS(at + took), jm_span_of(buf), &err))
        fail_msg("%s", err.text);
}

static void begin(struct syn *s, const char *name)
{
    syn_begin(s, name);
    syn_gpu(s, "GPU-0", 100, -8, 18);
}

static void end(struct syn *s)
{
    syn_window(s, JM_R_MEASURE, 0, 0, 10);
    syn_report(s, NULL);
}

static const struct jm_result *find(const struct syn *s, const char *metric, double q)
{
    for (size_t i = 0; i < s->r->n_results; i++) {
        const struct jm_result *x = &s->r->results[i];
        if (strcmp(x->metric, metric) == 0 && (isnan(q) ? isnan(x->quantile) : x->quantile == q))
            return x;
    }
    return NULL;
}

static double value(const struct syn *s, const char *metric)
{
    const struct jm_result *x = find(s, metric, NAN);
    return x && x->q.have ? x->q.value : NAN;
}

#define VLLM(tokens, more)                                                                                   \
    "vllm:generation_tokens_total{engine=\"0\"} " tokens "\nvllm:num_requests_running{engine=\"0\"} "        \
    "2\n" more

/* Texts at -0.5, 0.5, 9.5 and 10.5, each over 0.2 s: at its middle -0.4 there are 100 tokens, at 0.6 200, at
 * 9.6 1100, at 10.6 1200.
 *   at 0:  100 + 100 x 0.4/1.0 = 140, between 100 and 200
 *   at 10: 1100 + 100 x 0.4/1.0 = 1140, between 1100 and 1200
 *   moved: 1000, at least 1100 - 200 = 900, at most 1200 - 100 = 1100
 * 1000 J over 1000 tokens: 1 J/token. */
static void interpolation(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "interpolation");
    text(&s, "u", -0.5, 0.2, VLLM("100", ""));
    text(&s, "u", 0.5, 0.2, VLLM("200", ""));
    text(&s, "u", 9.5, 0.2, VLLM("1100", ""));
    text(&s, "u", 10.5, 0.2, VLLM("1200", ""));
    syn_request(&s, 1, 0.1, 0.01, 10, 100);
    end(&s);
    const struct jm_result *x = find(&s, "engine.generated_tokens", NAN);
    assert_non_null(x);
    NEAR(x->q.value, 1000);
    NEAR(x->q.u.lo, 900);
    NEAR(x->q.u.hi, 1100);
    NEAR(value(&s, "engine.tokens_per_s"), 100);
    NEAR(syn_value(&s, "j_per.engine_token", JM_B_GPU, 0), 1);
    /* 100 of them reached a request that succeeded; the edges can explain 100 */
    NEAR(value(&s, "engine.aborted_tokens"), 900);
    NEAR(value(&s, "engine.client_ratio"), 10);
    assert_int_equal(syn_findings(&s, "engine.tokens_more"), 1);
    assert_int_equal(syn_finding(&s, "engine.tokens_more")->severity, JM_SEV_WARNING);
    syn_end(&s);
    /* without a text before the window there is no value, and no guess */
    begin(&s, "late");
    text(&s, "u", 0.5, 0.1, VLLM("200", ""));
    text(&s, "u", 9.5, 0.1, VLLM("1100", ""));
    text(&s, "u", 10.5, 0.1, VLLM("1200", ""));
    end(&s);
    assert_null(find(&s, "engine.generated_tokens", NAN));
    assert_null(find(&s, "j_per.engine_token", NAN));
    syn_end(&s);
}

/* What the client got is what the engine made: 1,000 tokens of ten requests; nothing is said. */
static void agreement(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "agreement");
    for (int i = -1; i <= 11; i++) {
        text(&s, "u", i - 0.001, 0.0005,
             VLLM("%d", "vllm:request_success_total{finished_reason=\"length\"} %d\n"),
             i < 0    ? 0
             : i > 10 ? 1000
                      : 100 * i,
             i < 0    ? 0
             : i > 10 ? 10
                      : i);
        if (i >= 0 && i < 10)
            syn_request(&s, i + 0.01, 0.1, 0.005, 10, 100); /* over before the next text */
    }
    end(&s);
    /* the text before the edge is 0.75 ms old, in which a line to the next one rises by 0.075 */
    near(value(&s, "engine.generated_tokens"), 1000, 0.1, "tokens");
    near(value(&s, "engine.client_ratio"), 1, 1e-3, "ratio");
    assert_null(find(&s, "engine.aborted_tokens", NAN));
    NEAR(value(&s, "engine.requests_running"), 2);
    near(value(&s, "engine.requests"), 10, 0.01, "requests");
    for (size_t i = 0; i < s.r->n_findings; i++)
        if (strncmp(s.r->findings[i].id, "engine.", 7) == 0 &&
            strcmp(s.r->findings[i].id, "engine.cotenant") != 0)
            fail_msg("%s: %s", s.r->findings[i].id, s.r->findings[i].text);
    /* but it held two requests all the time, of which one at most was ours */
    assert_int_equal(syn_findings(&s, "engine.cotenant"), 1);
    syn_end(&s);
}

/* A gateway that sends a request twice: 20 ended where 10 were sent. */
static void retries(void **state)
{
    struct syn s;
    (void)state;
    for (int twice = 0; twice < 2; twice++) {
        begin(&s, "retries");
        for (int i = -1; i <= 11; i++) {
            int n = i < 0 ? 0 : i > 10 ? 10 : i;
            text(&s, "u", i - 0.001, 0.0005,
                 VLLM("%d", "vllm:request_success_total{finished_reason=\"stop\"} %d\n"), 100 * n,
                 (1 + twice) * n);
            if (i >= 0 && i < 10)
                syn_request(&s, i + 0.01, 0.1, 0.005, 10, 100);
        }
        end(&s);
        assert_int_equal(syn_findings(&s, "engine.requests_more"), twice);
        syn_end(&s);
    }
}

/* Aborted tokens that the client saw explain the difference: 1,000 made, 800 delivered, 200 given up. */
static void aborted(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "aborted");
    for (int i = -1; i <= 11; i++)
        text(&s, "u", i - 0.001, 0.0005, VLLM("%d", ""), i < 0 ? 0 : i > 10 ? 1000 : 100 * i);
    for (int i = 0; i < 8; i++)
        syn_request(&s, i + 0.01, 0.1, 0.005, 10, 100);
    struct jm_request q;
    jm_request_init(&q);
    q.end = JM_END_ABORTED;
    q.t[JM_T_SCHEDULED] = q.t[JM_T_SENT] = SYN_NS(8.1);
    q.t[JM_T_CLOSED] = SYN_NS(9.9);
    q.events = 200;
    syn_put(&s, &q, NULL, 0);
    end(&s);
    near(value(&s, "engine.aborted_tokens"), 200, 0.1, "aborted tokens");
    near(value(&s, "engine.client_ratio"), 1.25, 1e-3, "ratio");
    assert_non_null(strstr(syn_finding(&s, "engine.tokens_more")->text, "aborted or failed"));
    syn_end(&s);
}

/* Counted when a request ends: what ended in the window is compared, and no energy is divided by it. */
static void at_the_end(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "at-the-end");
    for (int i = -1; i <= 11; i++) /* a request a second, counted at its end */
        text(&s, "u", i - 0.001, 0.0005, "tgi_request_generated_tokens_sum %d\ntgi_queue_size 0\n",
             i < 0    ? 0
             : i > 10 ? 1000
                      : 100 * i);
    for (int i = 0; i < 10; i++)
        syn_request(&s, i + 0.01, 0.1, 0.005, 10, 100);
    end(&s);
    near(value(&s, "engine.generated_tokens"), 1000, 0.1, "tokens");
    near(value(&s, "engine.client_ratio"), 1, 1e-3, "ratio");
    assert_null(find(&s, "j_per.engine_token", NAN));
    assert_int_equal(syn_findings(&s, "engine.tokens_more"), 0);
    syn_end(&s);
}

/* A restart between two texts: 500 before it are lost, 300 since are known. Its neighbour, without one, says
 * nothing. */
static void restart(void **state)
{
    struct syn s;
    (void)state;
    for (int again = 0; again < 2; again++) {
        begin(&s, "restart");
        for (int i = -1; i <= 11; i++)
            text(&s, "u", i - 0.001, 0.0005, VLLM("%d", ""), again && i > 5 ? 50 * (i - 5) : 100 * (i + 1));
        end(&s);
        assert_int_equal(syn_findings(&s, "engine.reset"), again);
        const struct jm_result *x = find(&s, "engine.generated_tokens", NAN);
        assert_int_equal(x->q.validity, again ? JM_V_INVALID : JM_V_VALID);
        if (again) /* 500 up to the text at 5 s, and 250 since: at least */
            near(x->q.value, 750, 1, "since the restart");
        syn_end(&s);
    }
    /* two processes behind one address */
    begin(&s, "flapping");
    for (int i = -1; i <= 11; i++)
        text(&s, "u", i - 0.001, 0.0005, VLLM("%d", ""), i % 2 ? 1000 + i : 5 + i);
    end(&s);
    assert_non_null(strstr(syn_finding(&s, "engine.reset")->text, "more than one process"));
    syn_end(&s);
}

/* The engine comes up at 5 s (mono T0 is 1.7e9 in Unix time): loading the model is in the window's energy. */
static void started(void **state)
{
    struct syn s;
    (void)state;
    for (int inside = 0; inside < 2; inside++) {
        begin(&s, "started");
        syn_env(&s, "engine.metrics", "given");
        for (int i = -1; i <= 11; i++)
            if (inside && i < 6)
                text(&s, "u", i - 0.001, 0.0005, "# joulemark: no answer: connection refused\n");
            else
                text(&s, "u", i - 0.001, 0.0005, VLLM("%d", "process_start_time_seconds %.1f\n"),
                     100 * (i + 1), inside ? 1700000005.0 : 1699999000.0);
        end(&s);
        assert_int_equal(syn_findings(&s, "engine.started"), inside);
        assert_int_equal(syn_findings(&s, "engine.partial"), inside);
        assert_int_equal(syn_findings(&s, "engine.reset"), 0);
        if (inside)
            assert_null(find(&s, "engine.generated_tokens", NAN));
        syn_end(&s);
    }
}

/* Two replicas at two addresses; then one of them is silent over the end. */
static void replicas(void **state)
{
    struct syn s;
    (void)state;
    for (int silent = 0; silent < 2; silent++) {
        begin(&s, "replicas");
        syn_env(&s, "engine.metrics", "given");
        for (int i = -1; i <= 11; i++) {
            text(&s, "a", i - 0.001, 0.0005, VLLM("%d", ""), 100 * (i + 1));
            if (silent && i > 4)
                text(&s, "b", i - 0.001, 0.0005, "# joulemark: no answer: refused\n");
            else
                text(&s, "b", i - 0.001, 0.0005, VLLM("%d", ""), 30 * (i + 1));
        }
        end(&s);
        assert_int_equal(syn_findings(&s, "engine.partial"), silent);
        if (silent) {
            assert_null(find(&s, "engine.generated_tokens", NAN));
        } else {
            near(value(&s, "engine.generated_tokens"), 1300, 0.5, "both replicas");
            NEAR(value(&s, "engine.requests_running"), 4);
        }
        syn_end(&s);
    }
}

/* 10 preemptions; a full cache; a queue that is never empty. */
static void load(void **state)
{
    struct syn s;
    (void)state;
    for (int bad = 0; bad < 2; bad++) {
        begin(&s, "load");
        if (bad)
            syn_env(&s, "plan.rate_per_s", "4");
        for (int i = -1; i <= 11; i++)
            text(&s, "u", i - 0.001, 0.0005,
                 VLLM("%d", "vllm:num_preemptions_total %d\nvllm:num_requests_waiting "
                            "%d\nvllm:kv_cache_usage_perc %s\n"
                            "vllm:prefix_cache_queries_total %d\nvllm:prefix_cache_hits_total %d\n"),
                 100 * i + 100, bad ? i + 1 : 3,
                 bad     ? 5 + i
                 : i % 2 ? 1
                         : 0,
                 bad ? "0.98" : "0.5", 1000 * (i + 1), bad ? 100 * (i + 1) : 10 * (i + 1));
        syn_env(&s, "load.synthetic", "yes");
        /* levels of a ladder have their own */
        syn_env(&s, bad ? "slice.level-0.load.prompts.shared" : "load.prompts.shared", "no");
        end(&s);
        assert_int_equal(syn_findings(&s, "engine.preempted"), bad);
        assert_int_equal(syn_findings(&s, "engine.saturated"), bad);
        assert_int_equal(syn_findings(&s, "engine.prefix_hits"), bad);
        if (bad)
            assert_int_equal(syn_finding(&s, "engine.saturated")->severity, JM_SEV_WARNING);
        near(value(&s, "engine.preemptions"), bad ? 10 : 0, 1e-6, "preemptions");
        NEAR(value(&s, "engine.prefix_cache_hit_rate"), bad ? 0.1 : 0.01);
        NEAR(value(&s, "engine.kv_cache_use.max"), bad ? 0.98 : 0.5);
        if (bad) /* from 5 to 15 over the window, by the trapezoid */
            near(value(&s, "engine.queue_depth"), 10, 0.01, "queue");
        syn_end(&s);
    }
}

/* A quarter of 40 answers in each of four buckets of the window; before it there were 8 in the first. */
static void histograms(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "histograms");
#define H(a, b, c, d, sum)                                                                                   \
    VLLM("1", "# TYPE vllm:e2e_request_latency_seconds histogram\n"                                          \
              "vllm:e2e_request_latency_seconds_bucket{le=\"1\"} " #a "\n"                                   \
              "vllm:e2e_request_latency_seconds_bucket{le=\"2\"} " #b "\n"                                   \
              "vllm:e2e_request_latency_seconds_bucket{le=\"4\"} " #c "\n"                                   \
              "vllm:e2e_request_latency_seconds_bucket{le=\"+Inf\"} " #d "\n"                                \
              "vllm:e2e_request_latency_seconds_sum " #sum "\n")
    text(&s, "u", -0.01, 0.005, H(8, 8, 8, 8, 4));
    text(&s, "u", 0.01, 0.005, H(8, 8, 8, 8, 4));
    text(&s, "u", 9.99, 0.005, H(18, 28, 38, 48, 104));
    text(&s, "u", 10.01, 0.005, H(18, 28, 38, 48, 104));
    end(&s);
    NEAR(value(&s, "engine.e2e"), 2.5); /* 100 s / 40 */
    const struct jm_result *x = find(&s, "engine.e2e", 0.5);
    NEAR(x->q.value, 2); /* rank 20 is the last one of (1, 2] */
    NEAR(x->q.u.lo, 1);
    NEAR(x->q.u.hi, 2);
    assert_int_equal(x->n, 40);
    x = find(&s, "engine.e2e", 0.9); /* above 4 s: nothing more is known */
    assert_false(x->q.have);
    assert_non_null(strstr(x->q.reasons, "above-last-bucket"));
    syn_end(&s);

    /* Two trials: 20 answers in (1, 2] and then 20 in (2, 4]. Their medians by interpolation, 1.5 and 3, have
     * the mean 2.25; what is known of it is (1 + 2)/2 to (2 + 4)/2, and no scatter of the two makes it less
     * or more. */
    begin(&s, "histograms of trials");
    text(&s, "u", -0.01, 0.005, H(0, 0, 0, 0, 0));
    text(&s, "u", 0.01, 0.005, H(0, 0, 0, 0, 0));
    text(&s, "u", 3.99, 0.005, H(0, 20, 20, 20, 30));
    text(&s, "u", 4.01, 0.005, H(0, 20, 20, 20, 30));
    text(&s, "u", 5.99, 0.005, H(0, 20, 20, 20, 30));
    text(&s, "u", 6.01, 0.005, H(0, 20, 20, 20, 30));
    text(&s, "u", 9.99, 0.005, H(0, 20, 40, 40, 90));
    text(&s, "u", 10.01, 0.005, H(0, 20, 40, 40, 90));
    syn_window(&s, JM_R_MEASURE, 0, 0, 4);
    syn_window(&s, JM_R_MEASURE, 1, 6, 10);
    syn_report(&s, NULL);
    const struct jm_result *over = NULL;
    for (size_t i = 0; i < s.r->n_results; i++)
        if (strcmp(s.r->results[i].metric, "engine.e2e") == 0 && s.r->results[i].quantile == 0.5 &&
            s.r->results[i].window < 0)
            over = &s.r->results[i];
    assert_non_null(over);
    NEAR(over->q.value, 2.25);
    NEAR(over->q.u.lo, 1.5);
    NEAR(over->q.u.hi, 3);
    assert_string_equal(over->q.u.includes, "buckets");
    syn_end(&s);
}

/* Nobody answered: a note where it was looked for, a warning where it was given. */
static void absent(void **state)
{
    struct syn s;
    (void)state;
    for (int given = 0; given < 2; given++) {
        begin(&s, "absent");
        syn_env(&s, "engine.metrics", given ? "given" : "auto");
        syn_env(&s, "engine.targets", "1");
        syn_env(&s, "engine.0.url", "http://h/metrics");
        syn_env(&s, "engine.0.state", "absent");
        syn_env(&s, "engine.0.reason", "it answers HTTP 404");
        end(&s);
        assert_int_equal(syn_findings(&s, "engine.absent"), 1);
        assert_int_equal(syn_finding(&s, "engine.absent")->severity, given ? JM_SEV_WARNING : JM_SEV_INFO);
        assert_non_null(strstr(syn_finding(&s, "engine.absent")->text, "404"));
        syn_end(&s);
    }
    begin(&s, "off"); /* not asked for: nothing to say */
    syn_env(&s, "engine.metrics", "off");
    end(&s);
    assert_int_equal(syn_findings(&s, "engine.absent"), 0);
    syn_end(&s);
}

/* A silent stretch of 6 s inside, and one of 4 s. */
static void gap(void **state)
{
    struct syn s;
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        begin(&s, "gap");
        for (int i = -1; i <= 11; i++)
            if (i < 3 || i > (wide ? 8 : 6))
                text(&s, "u", i - 0.001, 0.0005, VLLM("%d", ""), 100 * (i + 1));
        end(&s);
        assert_int_equal(syn_findings(&s, "engine.gap"), wide);
        syn_end(&s);
    }
}

/* The GPU is busy for 40 % while one process uses a whole core; then for 90 %. */
static void host(void **state)
{
    struct syn s;
    (void)state;
    for (int busy = 0; busy < 2; busy++) {
        begin(&s, "host");
        struct jm_channel c = {.kind = JM_CH_GAUGE,
                               .unit = JM_U_RATIO,
                               .scale10 = -2,
                               .domain = -1,
                               .provenance = JM_P_MEASURED};
        snprintf(c.name, sizeof c.name, "util.gpu");
        int ch = syn_channel(&s, &c);
        for (int i = -1; i <= 11; i++) {
            syn_reading(&s, ch, i + 0.5, busy ? 90 : 40, JM_S_OK);
            text(&s, "u", i - 0.001, 0.0005, VLLM("%d", ""), 100 * (i + 1));
            text(&s, "host:/proc", i - 0.001, 0.0005,
                 "joulemark_host_busy_seconds_total %g\njoulemark_host_cpu_seconds_total %d\n"
                 "joulemark_engine_process_seconds_total{pid=\"7\"} "
                 "%g\njoulemark_engine_process_seconds_total{pid=\"8\"} %g\n",
                 100 + 1.5 * i, 1000 + 8 * i, 50 + 0.98 * i, 20 + 0.1 * i);
        }
        syn_env(&s, "engine.targets", "1");
        end(&s);
        near(value(&s, "engine.host_cpu"), 1.5 / 8, 1e-6, "host");
        near(value(&s, "engine.process_cpu"), 0.98, 1e-6, "process");
        assert_int_equal(syn_findings(&s, "engine.host_bound"), !busy);
        syn_end(&s);
    }
}

/* Work in the idle window is no idle. */
static void idle(void **state)
{
    struct syn s;
    (void)state;
    for (int busy = 0; busy < 2; busy++) {
        begin(&s, "idle");
        for (int i = -7; i <= 11; i++)
            text(&s, "u", i - 0.001, 0.0005, "vllm:generation_tokens_total %d\nvllm:num_requests_running 0\n",
                 busy || i > 0 ? 100 * (i + 8) : 800);
        syn_window(&s, JM_R_IDLE, 0, -6, -1);
        end(&s);
        assert_int_equal(syn_findings(&s, "engine.idle_busy"), busy);
        syn_end(&s);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(interpolation), cmocka_unit_test(agreement),  cmocka_unit_test(retries),
        cmocka_unit_test(aborted),       cmocka_unit_test(at_the_end), cmocka_unit_test(restart),
        cmocka_unit_test(started),       cmocka_unit_test(replicas),   cmocka_unit_test(load),
        cmocka_unit_test(histograms),    cmocka_unit_test(absent),     cmocka_unit_test(gap),
        cmocka_unit_test(host),          cmocka_unit_test(idle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
