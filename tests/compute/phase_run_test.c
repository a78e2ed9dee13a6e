/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that there is little to say of: one sentence each, and parts that add up all the same. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "show/phases.h"
#include "show/show.h"
#include "synthetic.h"

static void look(struct syn *s)
{
    struct jm_compute_opts o;
    jm_compute_defaults(&o);
    syn_report(s, &o);
}

static void says(const struct syn *s, const char *what)
{
    assert_non_null(s->r->phases);
    assert_non_null(s->r->phases->why);
    if (!strstr(s->r->phases->why, what))
        fail_msg("\"%s\" does not say \"%s\"", s->r->phases->why, what);
    assert_int_equal(s->r->phases->n_requests, 0);
}

/* Everything that is shown can be made of it, and its lines add up. */
static void shown(const struct syn *s, const char *has)
{
    struct jm_err err = {0};
    for (const struct jm_show_format *f = jm_show_formats; f->name; f++) {
        struct jm_show_opts o = {.width = 80, .phases = true, .ascii = true};
        struct jm_str out;
        jm_str_init(&out);
        assert_int_equal(f->render(s->r, &o, &out, &err), 0);
        if (strcmp(f->name, "text") == 0 && !strstr(out.buf, has))
            fail_msg("the text does not say \"%s\":\n%s", has, out.buf);
        const char *own =
            strcmp(f->name, "text") == 0 ? strstr(out.buf, "\nPrefill, decode, requests") : NULL;
        for (const char *line = own ? own + 1 : ""; *line && *line != '\n'; line = strchr(line, '\n') + 1)
            if ((size_t)(strchr(line, '\n') - line) > 80)
                fail_msg("a line is longer than 80 columns: %.*s", (int)(strchr(line, '\n') - line), line);
        jm_str_release(&out);
    }
}

/* 10 s at 200 W, one request of 2 s: 400 J less what its half refreshes hold for nobody; 2000 J in all. */
static void one_request(void **state)
{
    struct syn s;
    (void)state;
    syn_begin(&s, "one");
    syn_gpu(&s, "GPU-0", 200, -5, 15);
    syn_request(&s, 2, 0.5, 0.015, 100, 101);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    look(&s);
    const struct jm_phases *p = s.r->phases;
    assert_null(p->why);
    assert_null(p->note);
    assert_int_equal(p->method, JM_PHASE_TIME_SHARE);
    assert_int_equal(p->n_requests, 1);
    assert_int_equal(p->closure_mj, 0);
    assert_true(p->split[0].total_mj == 2000000);
    int64_t got = p->request[0].prefill_mj + p->request[0].decode_mj;
    assert_true(got + p->split[0].idle_mj == 2000000);
    if (!(llabs(got - 400000) < 1000))
        fail_msg("the request got %lld mJ, not 400,000", (long long)got);
    if (!(llabs(p->request[0].prefill_mj - 100000) < 1000)) /* a quarter of its time */
        fail_msg("its prefill got %lld mJ, not 100,000", (long long)p->request[0].prefill_mj);
    assert_int_equal(p->dist[0].n, 1);
    shown(&s, "time-share");
    syn_end(&s);
}

static void nothing_to_share(void **state)
{
    struct syn s;
    (void)state;
    syn_begin(&s, "failed");
    syn_gpu(&s, "GPU-0", 200, -5, 15);
    for (int i = 0; i < 5; i++)
        syn_failed(&s, i, 0.5, JM_END_HTTP_SERVER);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    look(&s);
    says(&s, "no request got a token");
    assert_int_equal(s.r->phases->no_tokens, 5);
    shown(&s, "no request got a token");
    syn_end(&s);

    syn_begin(&s, "no energy");
    syn_request(&s, 2, 0.5, 0.01, 100, 101);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    look(&s);
    says(&s, "nothing to share out");
    syn_end(&s);

    syn_begin(&s, "elsewhere");
    syn_gpu(&s, "GPU-0", 200, -5, 15);
    syn_request(&s, 2, 0.5, 0.01, 100, 101);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    syn_env(&s, "conflict.sut", "another host serves");
    look(&s);
    says(&s, "another host serves");
    syn_end(&s);

    syn_begin(&s, "no requests");
    syn_gpu(&s, "GPU-0", 200, -5, 15);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    look(&s);
    assert_null(s.r->phases);
    syn_end(&s);
}

/* Times at the ends of what a clock can say, windows that overlap, none that is closed. */
static void hostile(void **state)
{
    static const int64_t t[] = {0, 1, T0, T0 + INT64_C(3000000000), INT64_MAX / 4};
    struct syn s;
    (void)state;
    syn_begin(&s, "hostile");
    syn_gpu(&s, "GPU-0", 200, -5, 15);
    for (int i = 0; i < 125; i++) {
        struct jm_request q;
        struct jm_token_event ev[3] = {{.t = t[i % 5], .tokens = UINT16_MAX, .flags = JM_TE_COUNT_KNOWN},
                                       {.t = t[i / 5 % 5], .tokens = 0, .flags = JM_TE_COUNT_KNOWN},
                                       {.t = t[i / 25]}};
        jm_request_init(&q);
        q.t[JM_T_SENT] = t[i % 5];
        q.t[JM_T_FIRST_TOKEN] = t[i / 5 % 5];
        q.t[JM_T_CLOSED] = t[i / 25];
        q.end = i % 3 ? JM_END_OK : JM_END_ABORTED;
        q.prompt_tokens = i % 2 ? INT64_MAX : 0;
        q.cached_tokens = i % 4 ? -1 : INT64_MAX;
        q.output_tokens = i % 7 ? INT64_MAX : 0;
        syn_put(&s, &q, ev, i % 4);
    }
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    syn_window(&s, JM_R_MEASURE, 1, 5, 12);
    syn_window(&s, JM_R_MEASURE, 2, -1e9, 9e9);
    syn_window(&s, JM_R_WARMUP, 0, -1e9, 1e9);
    look(&s);
    assert_non_null(s.r->phases->note); /* two windows hold the same time */
    assert_non_null(s.r->phases);
    shown(&s, "Prefill, decode, requests");
    syn_end(&s);
}

/* Answers that came whole: nothing parts prefill from decode, but requests have their energy. */
static void whole_answers(void **state)
{
    struct syn s;
    (void)state;
    syn_begin(&s, "whole");
    syn_gpu(&s, "GPU-0", 200, -5, 70);
    for (int i = 0; i < 30; i++) {
        struct jm_request q;
        jm_request_init(&q);
        q.t[JM_T_SCHEDULED] = q.t[JM_T_SENT] = SYN_NS(2 * i + 0.1);
        q.t[JM_T_DONE] = q.t[JM_T_CLOSED] = SYN_NS(2 * i + 1.1);
        q.end = JM_END_OK;
        q.prompt_tokens = 100;
        q.output_tokens = 50;
        syn_put(&s, &q, NULL, 0);
    }
    syn_window(&s, JM_R_MEASURE, 0, 0, 60);
    look(&s);
    const struct jm_phases *p = s.r->phases;
    assert_null(p->why);
    assert_int_equal(p->method, JM_PHASE_TIME_SHARE);
    assert_true(isnan(p->split[0].share));
    assert_int_equal(p->dist[0].n, 30);
    assert_true(fabs(p->dist[0].p50 - 200) < 2); /* 1 s at 200 W */
    assert_int_equal(p->closure_mj, 0);
    assert_int_equal(syn_findings(&s, "phases.fallback"), 1);
    shown(&s, "came whole");
    syn_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_request),
        cmocka_unit_test(nothing_to_share),
        cmocka_unit_test(hostile),
        cmocka_unit_test(whole_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
