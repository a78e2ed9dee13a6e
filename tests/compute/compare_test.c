/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons of runs made of known parts: what must agree, the three errors, each clause of a contract, and
 * each thing that cannot be compared. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compute/compare.h"
#include "synthetic.h"

#define ENV 8
struct spec {
    double watts, seconds;        /* of a trial */
    int trials, requests, output; /* requests a trial, output tokens of each */
    double scatter;               /* of the tokens, share */
    int fail;                     /* requests a trial that fail, at its end */
    double ttft, quality;
    const char *uuid;
    bool wall;             /* a wall meter and no GPU */
    bool at_once, in_turn; /* slices long and short */
    double drift; /* the trials come in quads A B B A, and each takes so much more than the one before */
    double long_factor; /* in_turn: tokens of slice long, as a share */
    double per_token,
        residual; /* at_once: J allocated to a token of slice long (0.4 to one of short); 0: none */
    const char *env[ENV][2];
};

static struct spec base(void)
{
    return (struct spec){.watts = 400,
                         .seconds = 6,
                         .trials = 6,
                         .requests = 10,
                         .output = 600,
                         .scatter = 0.01,
                         .ttft = 0.1,
                         .quality = NAN,
                         .long_factor = 1,
                         .uuid = "GPU-1",
                         .env = {{"host.name", "n1"}, {"endpoint.model", "m"}, {"nvml.driver", "580.1"}}};
}

static void one(struct syn *s, double at, double ttft, int64_t out, double quality, const char *slice)
{
    struct jm_request q;
    struct jm_token_event ev[64];
    size_t n = 0;
    jm_request_init(&q);
    q.end = JM_END_OK;
    q.http_status = 200;
    q.prompt_tokens = 128;
    q.output_tokens = out;
    q.token_source = JM_TOK_USAGE;
    q.stream = 1;
    q.quality = quality;
    snprintf(q.slice, sizeof q.slice, "%s", slice);
    snprintf(q.finish, sizeof q.finish, "length");
    q.t[JM_T_SCHEDULED] = q.t[JM_T_SENT] = SYN_NS(at);
    q.t[JM_T_FIRST_TOKEN] = q.t[JM_T_FIRST_VISIBLE] = SYN_NS(at + ttft);
    q.t[JM_T_LAST_TOKEN] = SYN_NS(at + ttft + 0.1);
    q.t[JM_T_CLOSED] = q.t[JM_T_LAST_TOKEN] + 1000;
    for (int64_t k = 0; k < out && n < 64; k += 100, n++)
        ev[n] = (struct jm_token_event){SYN_NS(at + ttft + 0.1 * (double)k / (double)out),
                                        (uint16_t)(out - k < 100 ? out - k : 100), JM_TE_COUNT_KNOWN};
    syn_put(s, &q, ev, n);
}

/* which: so that no two runs scatter alike. */
static void make(struct syn *s, const char *name, const struct spec *p, int which)
{
    static const double pattern[3][6] = {
        {0.3, -1, 0.8, -0.5, 1, -0.6}, {-0.7, 0.9, -0.2, 1, -0.9, -0.1}, {0.5, 0.1, -0.9, 0.8, -1, 0.5}};
    int windows = 0;
    double length = p->seconds + 2;
    syn_begin(s, name);
    double all = length * p->trials * (p->in_turn || p->drift ? 2 : 1) + 2;
    if (p->wall)
        syn_wall(s, p->watts, -2, all);
    else
        syn_gpu(s, p->uuid, p->watts, -2, all);
    for (int i = 0; i < ENV && p->env[i][0]; i++)
        syn_env(s, p->env[i][0], p->env[i][1]);
    for (int t = 0; t < p->trials; t++)
        for (int part = 0; part < (p->in_turn ? 2 : 1); part++) {
            int slot = p->drift ? 4 * (t / 2) + (which ? 1 + t % 2 : 3 * (t % 2)) : windows;
            double from = length * slot;
            char key[32];
            snprintf(key, sizeof key, "window.%d.slice", windows);
            if (p->in_turn)
                syn_env(s, key, part ? "long" : "short");
            syn_window(s, JM_R_MEASURE, t, from, from + p->seconds);
            windows++;
            double out = p->output * (1 + p->scatter * pattern[which % 3][t % 6]) *
                         (part ? p->long_factor : 1) * exp(-p->drift * slot);
            for (int i = 0; i < p->requests; i++) {
                double at = from + 0.1 + (p->seconds - 2) * i / p->requests;
                const char *slice = p->in_turn    ? (part ? "long" : "short")
                                    : !p->at_once ? ""
                                    : i % 2       ? "long"
                                                  : "short";
                if (i < p->requests - p->fail)
                    one(s, at, p->ttft, llround(out), p->quality + 0.01 * (i % 3 - 1), slice);
                else
                    syn_failed(s, at, 0.5, JM_END_HTTP_SERVER);
            }
        }
}

/* An allocation as D2 would give it, of known parts. */
static void allocate(struct jm_report *r, const struct jm_run *run, const struct spec *p)
{
    size_t n;
    const struct jm_request *q = jm_run_requests(run, &n);
    if (r->phases)
        free(r->phases->request);
    struct jm_phases *o = r->phases = jm_report_alloc(r, sizeof *o);
    *o = (struct jm_phases){.boundary = JM_B_GPU, .method = JM_PHASE_D2, .residual = p->residual};
    o->request = calloc(n, sizeof *o->request); /* the report frees it */
    for (size_t i = 0; i < n; i++)
        for (size_t w = 0; w < r->n_windows; w++)
            if (q[i].t[JM_T_SCHEDULED] >= r->windows[w].t0 && q[i].t[JM_T_SCHEDULED] < r->windows[w].t1)
                o->request[o->n_requests++] = (struct jm_request_energy){
                    .request = (uint32_t)i,
                    .window = (int)w,
                    .decode_mj = llround(1e3 * (double)q[i].output_tokens *
                                         (strcmp(q[i].slice, "long") == 0 ? p->per_token : 0.4))};
}

struct sides {
    struct syn s[3];
    struct jm_compare_run run[3];
    struct jm_compare_side_in in[3];
    struct jm_comparison *c;
    struct jm_contract k;
    struct jm_err err;
    int rc;
};

/* Sides of the specs; contract: YAML, NULL for none. */
static void compare(struct sides *x, const struct spec *p, size_t n, const char *contract,
                    const char *differs)
{
    struct jm_compare_opts o = {.boundary = -1, .differs = &differs, .n_differs = differs ? 1 : 0};
    struct jm_compute_opts c;
    static const char *const name[] = {"a", "b", "c"};
    memset(x, 0, sizeof *x);
    jm_compute_defaults(&c);
    if (contract) {
#if !JM_HAVE_YAML
        skip();
#endif
        if (jm_contract_parse(jm_span_of(contract), "c.yaml", &x->k, &x->err))
            fail_msg("%s", x->err.text);
        o.contract = &x->k;
        jm_contract_objectives(&x->k, &c);
    }
    for (size_t i = 0; i < n; i++) {
        make(&x->s[i], name[i], &p[i], (int)i);
        syn_report(&x->s[i], &c);
        if (p[i].per_token > 0)
            allocate(x->s[i].r, x->s[i].run, &p[i]);
        x->run[i] = (struct jm_compare_run){x->s[i].run, x->s[i].r};
        x->in[i] = (struct jm_compare_side_in){.name = name[i], .run = &x->run[i], .n_run = 1};
    }
    x->rc = jm_compare(x->in, n, &o, &x->c, &x->err);
}

static void done(struct sides *x)
{
    jm_comparison_free(x->c);
    jm_contract_release(&x->k);
    for (size_t i = 0; i < 3; i++)
        if (x->s[i].r)
            syn_end(&x->s[i]);
}

/* Two sides; the verdict, and a part of the sentence. */
static void gives(const struct spec *a, const struct spec *b, const char *contract, const char *differs,
                  enum jm_verdict v, const char *part, const char *note)
{
    struct sides x;
    struct spec p[2] = {*a, *b};
    compare(&x, p, 2, contract, differs);
    if (x.rc)
        fail_msg("%s", x.err.text);
    if (x.c->verdict != v || !strstr(x.c->sentence, part))
        fail_msg("not %s with \"%s\": %s", jm_verdict_name((int)v), part, x.c->sentence);
    if (note) {
        const struct jm_candidate *k = &x.c->candidate[0];
        bool told = false;
        for (size_t i = 0; i < k->n_note; i++)
            told |= strcmp(k->note[i].id, note) == 0;
        if (!told)
            fail_msg("no note %s beside: %s", note, x.c->sentence);
    }
    done(&x);
}

#define CONTRACT "unit: output_token\nboundary: gpu\nminimum-saving: 3 %\n"

/* 400 W x 6 s / 6,000 tokens = 0.4 J/token; 6,400 tokens in the same time: 0.375, a saving of 6.25 %. */
static void a_saving(void **state)
{
    struct spec a = base(), b = base();
    struct sides x;
    (void)state;
    b.output = 640;
    struct spec p[2] = {a, b};
    compare(&x, p, 2, CONTRACT, "lengths");
    assert_int_equal(x.rc, 0);
    assert_int_equal(x.c->verdict, JM_VERDICT_ACCEPT);
    assert_int_equal(x.c->side[0].n_value, 6);
    assert_float_equal(x.c->side[0].trial[0].value, 2400 / (10 * round(600 * 1.003)), 1e-9);
    /* the mean of ln(tokens A / tokens B) over the six trials, by hand: */
    double d = 0;
    for (int i = 0; i < 6; i++)
        d += log(x.c->side[1].trial[i].value / x.c->side[0].trial[i].value) / 6;
    assert_float_equal(x.c->candidate[0].decision.ratio, exp(d), 1e-12);
    assert_float_equal(x.c->candidate[0].decision.saving, 0.0625, 0.004);
    assert_true(x.c->candidate[0].gain_cancels);
    assert_string_equal(x.c->candidate[0].order, "ABABABABABAB");
    done(&x);
    gives(&a, &b, NULL, "lengths", JM_VERDICT_LOWER, "less energy per output token", "gain");
    gives(&b, &a, NULL, "lengths", JM_VERDICT_HIGHER, "more energy per output token", NULL);
    gives(&b, &a, CONTRACT, "lengths", JM_VERDICT_REJECT, "nothing is saved", NULL);
    b.output = 604; /* 0.7 % */
    gives(&a, &b, CONTRACT, NULL, JM_VERDICT_REJECT, "less than the 3 % asked for", NULL);
    b.output = 620;
    gives(&a, &b, CONTRACT, "lengths", JM_VERDICT_UNRESOLVED, "leaves open", NULL);
    b = base(), a.scatter = b.scatter = 0.002;
    gives(&a, &b, NULL, NULL, JM_VERDICT_EQUIVALENT, "within the margin", "untold");
}

/* A session in which every trial takes 2 % more than the one before: in quads 6.25 % are found all the same.
 */
static void quads_on_a_machine_that_drifts(void **state)
{
    struct spec p[2] = {base(), base()};
    struct sides x;
    (void)state;
    p[1].output = 640;
    p[0].drift = p[1].drift = 0.02;
    compare(&x, p, 2, CONTRACT, "lengths");
    assert_int_equal(x.rc, 0);
    assert_string_equal(x.c->candidate[0].order, "ABBAABBAABBA");
    assert_int_equal(x.c->verdict, JM_VERDICT_ACCEPT);
    /* the scatter of A less that of B is 1, -1.9, 1, -1.5, 1.9, -0.5 %: +1.3 in one direction, -1.3 in the
     * other */
    assert_float_equal(x.c->candidate[0].decision.paired.drift, 0.02 + 0.013, 0.001);
    assert_float_equal(x.c->candidate[0].decision.saving, 0.0625, 0.01);
    done(&x);
    gives(&p[0], &p[1], CONTRACT, "lengths", JM_VERDICT_ACCEPT, "accept", "quads");
}

static void watts_for_joules(void **state)
{
    struct spec a = base(), b = base();
    (void)state;
    b.watts = 360; /* 10 % less power, and 7 s instead of 6: 5 % more energy */
    b.seconds = 7;
    gives(&a, &b, CONTRACT, NULL, JM_VERDICT_REJECT, "nothing is saved", "watts");
}

static void failures_are_not_saved(void **state)
{
    struct spec a = base(), b = base();
    (void)state;
    a.requests = b.requests = 40;
    b.watts =
        340; /* 15 % less, but 4 of 40 requests fail: their joules stay, so 0.85 / 0.9 = 5.6 % are saved */
    b.fail = 4;
    gives(&a, &b, NULL, NULL, JM_VERDICT_LOWER, "5.5", "failures");
    gives(&a, &b, CONTRACT, NULL, JM_VERDICT_REJECT, "leaving work undone", "failures");
    gives(&a, &b, CONTRACT "errors: {budget: 2 %}\n", NULL, JM_VERDICT_REJECT, "the budget is 2 %", NULL);
    gives(&a, &b, CONTRACT "errors: {budget: 11 %}\n", NULL, JM_VERDICT_UNRESOLVED, "more requests", NULL);
    gives(&a, &b, CONTRACT "errors: {budget: 20 %}\n", NULL, JM_VERDICT_ACCEPT, "accept", NULL);
    b = base(), b.fail = b.requests;
    gives(&a, &b, CONTRACT, NULL, JM_VERDICT_REJECT, "all 60 requests of B failed", NULL);
    gives(&a, &b, NULL, NULL, JM_VERDICT_UNRESOLVED, "did no useful work", NULL);
    b = base(), b.requests = 0;
    gives(&a, &b, CONTRACT, NULL, JM_VERDICT_UNRESOLVED, "B did no work that counts", NULL);
}

static void up_to_from_elsewhere(void **state)
{
    static const char expected[] = CONTRACT "expected: {saving: 49 %, source: a paper, accelerator: A800}\n";
    struct spec a = base(), b = base();
    (void)state;
    b.output = 640;
    a.env[3][0] = b.env[3][0] = "gpu.0.name";
    a.env[3][1] = b.env[3][1] = "H100";
    gives(&a, &b, expected, "lengths", JM_VERDICT_ACCEPT, "accept", "up-to");
    b.output = 606; /* the paper does not make it one */
    gives(&a, &b, expected, NULL, JM_VERDICT_REJECT, "less than the 3 %", "up-to");
    b.trials = 0;
    gives(&a, &b, expected, NULL, JM_VERDICT_UNRESOLVED, "no measurement of this system", NULL);
    /* the best slice is not the whole */
    a = base(), b = base();
    a.in_turn = b.in_turn = true;
    b.long_factor = 1.2;
    gives(&a, &b, NULL, "lengths", JM_VERDICT_LOWER, "less energy", "up-to.slice");
}

static void slices_are_held(void **state)
{
    static const char held[] = "unit: output_token\nboundary: gpu\nminimum-saving: 0 %\n"
                               "slices: {maximum-regression: 2 %}\n";
    struct spec a = base(), b = base();
    (void)state;
    a.in_turn = b.in_turn = true;
    a.output = 700;
    b.output = 650; /* short: 7.7 % more; long: saves a lot */
    b.long_factor = 1.4;
    gives(&a, &b, held, "lengths", JM_VERDICT_REJECT, "slice short takes", NULL);
    b.output = 720;
    gives(&a, &b, held, "lengths", JM_VERDICT_ACCEPT, "accept", NULL);
    a.in_turn = b.in_turn = false;
    a.at_once = b.at_once = true;
    gives(&a, &b, held, "lengths", JM_VERDICT_UNRESOLVED, "nor is there an allocation", NULL);
    /* what is allocated decides only where the contract says so, and is widened by the residuals of its fits
     */
    static const char agreed[] = "unit: output_token\nboundary: gpu\nminimum-saving: 0 %\n"
                                 "slices: {maximum-regression: 2 %, allocated: true}\n";
    a.per_token = 0.5;
    b.per_token = 0.55;
    gives(&a, &b, held, "lengths", JM_VERDICT_UNRESOLVED, "by allocation (D2) it takes", NULL);
    gives(&a, &b, agreed, "lengths", JM_VERDICT_REJECT, "slice long takes 10 % more by allocation", NULL);
    b.per_token = 0.5;
    gives(&a, &b, agreed, "lengths", JM_VERDICT_ACCEPT, "accept", NULL);
    a.residual = b.residual = 0.03; /* 1.03 x 1.03 = 1.0609 */
    gives(&a, &b, agreed, "lengths", JM_VERDICT_UNRESOLVED, "as much as 6.09 % more by allocation", NULL);
}

/* 60 of 60: the lower end of the two-sided 95 % interval is 0.025^(1/60) = 94.04 %. */
static void objectives(void **state)
{
    struct spec a = base(), b = base();
    (void)state;
    b.watts = 360;
#define SLO CONTRACT "slos:\n  - {ttft: 200 ms, attainment: "
    gives(&a, &b, SLO "94 %}\n", NULL, JM_VERDICT_ACCEPT, "accept", NULL);
    gives(&a, &b, SLO "94.1 %}\n", NULL, JM_VERDICT_UNRESOLVED, "more requests are needed", NULL);
    b.ttft = 0.3;
    gives(&a, &b, SLO "94 %}\n", NULL, JM_VERDICT_REJECT, "met their objective, and 94 % must", NULL);
    gives(&a, &b, CONTRACT "slos:\n  - {slice: x, ttft: 1 s, attainment: 90 %}\n", NULL,
          JM_VERDICT_UNRESOLVED, "no request of slice x", NULL);
}

static void quality(void **state)
{
    struct spec a = base(), b = base();
    (void)state;
    b.watts = 360;
#define LOSS CONTRACT "quality: {allowed-loss: 2 %}\n"
    gives(&a, &b, LOSS, NULL, JM_VERDICT_UNRESOLVED, "not both sides have scores", NULL);
    a.quality = b.quality = 0.8;
    gives(&a, &b, LOSS, NULL, JM_VERDICT_ACCEPT, "accept", NULL);
    b.quality = 0.7;
    gives(&a, &b, LOSS, NULL, JM_VERDICT_REJECT, "B loses 12.5 % of the quality", NULL);
    gives(&a, &b, CONTRACT "quality: {minimum: 0.75}\n", NULL, JM_VERDICT_REJECT, "0.75 is asked for", NULL);
    b.quality = 0.785;
    gives(&a, &b, LOSS, NULL, JM_VERDICT_UNRESOLVED, "more scored answers", NULL);
}

static void what_must_agree(void **state)
{
    struct spec a = base(), b = base();
    (void)state;
    b.watts = 300;
    b.env[2][1] = "590.2";
    gives(&a, &b, NULL, NULL, JM_VERDICT_INCOMPARABLE, "driver (580.1, 590.2)", NULL);
    gives(&a, &b, NULL, "driver", JM_VERDICT_LOWER, "less energy", "gain");
    b = base(), b.watts = 300, b.output = 700;
    gives(&a, &b, NULL, NULL, JM_VERDICT_INCOMPARABLE, "OSL", NULL);
    b = base(), b.watts = 300, b.env[1][1] = "other";
    gives(&a, &b, CONTRACT "differs: [model]\n", NULL, JM_VERDICT_ACCEPT, "accept", NULL);
    b = base(), b.watts = 300;
    gives(&a, &b, CONTRACT "known: [model]\n", NULL, JM_VERDICT_ACCEPT, "accept", NULL);
    gives(&a, &b, CONTRACT "known: [precision]\n", NULL, JM_VERDICT_UNRESOLVED, "wants to know the precision",
          NULL);
    gives(&a, &b, NULL, "engine", JM_VERDICT_LOWER, "less", NULL);
    b.wall = true; /* never across boundaries, declared or not */
    gives(&a, &b, NULL, "boundary", JM_VERDICT_INCOMPARABLE, "never compared across boundaries", NULL);
    gives(&a, &b, CONTRACT, "boundary", JM_VERDICT_INCOMPARABLE, "wanted at gpu", NULL);
}

/* Boards of unknown gain: published ones differ by 0.15 each way, so 25 % saved cannot be told, half can. */
static void other_devices(void **state)
{
    struct spec a = base(), b = base();
    (void)state;
    b.uuid = "GPU-2";
    b.watts = 300;
    gives(&a, &b, NULL, NULL, JM_VERDICT_INCOMPARABLE, "metered devices (GPU-1, GPU-2)", NULL);
    gives(&a, &b, NULL, "devices", JM_VERDICT_UNRESOLVED, "leaves open", "gain");
    b.watts = 200;
    gives(&a, &b, NULL, "devices", JM_VERDICT_LOWER, "50 %", "gain");
}

static void one_trial(void **state)
{
    struct spec a = base(), b = base();
    (void)state;
    a.trials = b.trials = 1;
    b.watts = 360;
    gives(&a, &b, NULL, NULL, JM_VERDICT_UNRESOLVED, "1 pair says too little; about", NULL);
    gives(&a, &b, CONTRACT, NULL, JM_VERDICT_UNRESOLVED, "assumed: one pair tells none", NULL);
}

static void the_same_twice(void **state)
{
    struct sides x;
    struct spec p[2] = {base(), base()};
    (void)state;
    p[0].scatter = p[1].scatter = 0; /* two files, the very same numbers */
    compare(&x, p, 2, NULL, NULL);
    assert_int_equal(x.rc, JM_EUSAGE);
    assert_non_null(strstr(x.err.text, "very same numbers"));
    done(&x);
    p[1].watts = 300;
    compare(&x, p, 2, NULL, NULL);
    x.in[1] = x.in[0];
    struct jm_compare_opts o = {.boundary = -1};
    struct jm_comparison *c = NULL;
    assert_int_equal(jm_compare(x.in, 2, &o, &c, &x.err), JM_EUSAGE);
    assert_non_null(strstr(x.err.text, "the same run"));
    static const char *const wrong = "clokcs";
    o.differs = &wrong;
    o.n_differs = 1;
    x.in[1] = (struct jm_compare_side_in){.name = "b", .run = &x.run[1], .n_run = 1};
    assert_int_equal(jm_compare(x.in, 2, &o, &c, &x.err), JM_EUSAGE);
    assert_non_null(strstr(x.err.text, "clokcs"));
    done(&x);
}

static void several_candidates(void **state)
{
    struct sides x;
    struct spec p[3] = {base(), base(), base()};
    (void)state;
    p[1].watts = 380;
    p[2].watts = 340;
    compare(&x, p, 3, CONTRACT, NULL);
    assert_int_equal(x.rc, 0);
    assert_int_equal(x.c->best, 1);
    assert_int_equal(x.c->verdict, JM_VERDICT_ACCEPT);
    assert_true(x.c->candidate[1].decision.winner);
    assert_non_null(strstr(x.c->sentence, "C takes"));
    assert_null(strchr(x.c->candidate[1].order, 'B')); /* each is called by its own letter */
    for (size_t i = 0; i < x.c->candidate[1].n_note; i++)
        if (strcmp(x.c->candidate[1].note[i].id, "untold") == 0)
            assert_non_null(strstr(x.c->candidate[1].note[i].text, "from A to C"));
    done(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_saving),
        cmocka_unit_test(quads_on_a_machine_that_drifts),
        cmocka_unit_test(watts_for_joules),
        cmocka_unit_test(failures_are_not_saved),
        cmocka_unit_test(up_to_from_elsewhere),
        cmocka_unit_test(slices_are_held),
        cmocka_unit_test(objectives),
        cmocka_unit_test(quality),
        cmocka_unit_test(what_must_agree),
        cmocka_unit_test(other_devices),
        cmocka_unit_test(one_trial),
        cmocka_unit_test(the_same_twice),
        cmocka_unit_test(several_candidates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
