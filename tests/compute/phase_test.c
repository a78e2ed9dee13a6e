/* SPDX-License-Identifier: Apache-2.0 */
/* Sharing energy out, by hand: cells of 1 s unless said otherwise. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "compute/phase.h"
#include "compute/phase_start.h"

#define NEAR(got, want, tol)                                                                                 \
    do {                                                                                                     \
        double g_ = (got), w_ = (want);                                                                      \
        if (!(fabs(g_ - w_) <= (tol)))                                                                       \
            fail_msg("%s is %.9g, not %.9g", #got, g_, w_);                                                  \
    } while (0)

static struct jm_err err;

static struct jm_phase *cells(const double *joules, size_t n)
{
    double *t = calloc(n + 1, sizeof *t);
    struct jm_phase *p;
    assert_non_null(t);
    for (size_t i = 0; i <= n; i++)
        t[i] = (double)i;
    assert_int_equal(jm_phase_new(t, joules, n, &p, &err), 0);
    free(t);
    return p;
}

static void add(struct jm_phase *p, double start, double first, double last, double prefill,
                const struct jm_phase_token *tok, size_t n)
{
    struct jm_phase_request q = {start, first, last, prefill, prefill, 1};
    assert_int_equal(jm_phase_add(p, &q, tok, n, &err), 0);
}

/* Two requests, 100 J a cell. A is active in [0, 2), B in [1, 3); each prefills for its first half second.
 * Cell 0: A alone, 100 J, half of it prefill. Cell 1: both, 50 J each, a quarter of it B's prefill (25 J).
 * Cell 2: B, 100 J. Cell 3: nobody. */
static void time_share(void **state)
{
    static const double j[] = {100, 100, 100, 40};
    struct jm_phase *p = cells(j, 4);
    struct jm_phase_opts o = {.idle_w = NAN, .only_time = true};
    struct jm_phase_fit f;
    struct jm_phase_part x;
    double idle, total;
    (void)state;
    add(p, 0, 0.5, 2, 10, NULL, 0);
    add(p, 1, 1.5, 3, 10, NULL, 0);
    assert_int_equal(jm_phase_solve(p, &o, &f, &err), 0);
    assert_int_equal(f.method, JM_PHASE_TIME_SHARE);
    jm_phase_of(p, 0, 0, 4, &x);
    NEAR(x.prefill, 50, 1e-12);
    NEAR(x.decode, 100, 1e-12);
    NEAR(x.marginal_prefill, 0, 0);
    jm_phase_of(p, 1, 0, 4, &x);
    NEAR(x.prefill, 25, 1e-12);
    NEAR(x.decode, 125, 1e-12);
    jm_phase_of(p, 1, 2, 4, &x); /* of a window that begins at 2 */
    NEAR(x.prefill + x.decode, 100, 1e-12);
    jm_phase_cells(p, 0, 4, &x, &idle, &total);
    NEAR(total, 340, 1e-12);
    NEAR(idle, 40, 1e-12);
    NEAR(x.prefill, 75, 1e-12);
    NEAR(x.decode, 225, 1e-12);
    jm_phase_free(p);
}

/* A cell that is half idle: with the idle power known, its idle half is nobody's. 100 J, 20 W: 10 J. */
static void half_a_cell(void **state)
{
    static const double j[] = {100, 20};
    struct jm_phase *p = cells(j, 2);
    struct jm_phase_opts o = {.idle_w = 20, .only_time = true};
    struct jm_phase_fit f;
    struct jm_phase_part x;
    double idle, total;
    (void)state;
    add(p, 0.5, 0.6, 1, 10, NULL, 0);
    assert_int_equal(jm_phase_solve(p, &o, &f, &err), 0);
    jm_phase_of(p, 0, 0, 2, &x);
    NEAR(x.prefill + x.decode, 90, 1e-12);
    NEAR(x.prefill, 18, 1e-9); /* a fifth of its time */
    jm_phase_cells(p, 0, 2, &x, &idle, &total);
    NEAR(idle, 30, 1e-12);
    jm_phase_free(p);
}

#define CELLS 1200 /* of 0.1 s */

/* Energies of the very form of the model, at coefficients that must come back: 2 J a step, 20 mJ a prompt
 * token, 50 mJ a decode token, 10 uJ a context token, 100 W idle. One request at a time, so that a step is a
 * token. */
static struct jm_phase *known(double idle_w, bool vary, size_t n_cells)
{
    double *t = calloc(n_cells + 1, sizeof *t), *j = calloc(n_cells, sizeof *j),
           *steps = calloc(n_cells + 1, sizeof *j);
    static struct jm_phase_token tok[64];
    struct jm_phase *p;
    uint32_t seed = 7;
    assert_true(t && j && steps);
    for (size_t i = 0; i <= n_cells; i++)
        t[i] = 0.1 * (double)i;
    for (size_t i = 0; i < n_cells; i++)
        j[i] = idle_w * 0.1;
    for (int pass = 0; pass < 2; pass++) {
        if (pass) {
            assert_int_equal(jm_phase_new(t, j, n_cells, &p, &err), 0);
            assert_int_equal(jm_phase_steps(p, t, steps, n_cells + 1, &err), 0);
        }
        seed = 7;
        for (size_t at = 2; at + 40 < n_cells;) { /* a prefill of one cell, then a token in each */
            seed = seed * 1664525u + 1013904223u;
            size_t n = vary ? 3 + (seed >> 16) % 30 : 9;
            double prompt = vary ? 50 + (seed >> 8) % 1500 : 400;
            if (!pass) {
                j[at] += 2 + 0.02 * prompt;
                steps[at + 1]++;
                for (size_t k = 1; k <= n; k++) {
                    j[at + k] += 2 + 0.05 + 1e-5 * (prompt + (double)k);
                    steps[at + k + 1]++;
                }
            } else {
                for (size_t k = 1; k <= n; k++)
                    tok[k - 1] = (struct jm_phase_token){t[at + k] + 0.05, 1};
                add(p, t[at], t[at + 1], t[at + n + 1], prompt, tok, n);
            }
            at += n + 1 + (vary ? (seed >> 4) % 5 : 0);
        }
        for (size_t i = 0; !pass && i < n_cells; i++)
            steps[i + 1] += steps[i];
    }
    free(t);
    free(j);
    free(steps);
    return p;
}

static void coefficients(void **state)
{
    struct jm_phase *p = known(100, true, CELLS);
    struct jm_phase_opts o = {.idle_w = 100};
    struct jm_phase_fit f;
    struct jm_phase_part x, sum = {0};
    double idle, total;
    (void)state;
    assert_int_equal(jm_phase_solve(p, &o, &f, &err), 0);
    assert_string_equal(f.why, "");
    assert_int_equal(f.method, JM_PHASE_D2);
    NEAR(f.w[JM_PW_STEP], 2, 0.01);
    NEAR(f.w[JM_PW_PREFILL], 0.02, 2e-4);
    NEAR(f.w[JM_PW_DECODE] + 900 * f.w[JM_PW_CONTEXT], 0.059, 0.02); /* tokens and steps hardly differ here */
    assert_true(f.residual < 1e-3);
    for (size_t k = 0; k < jm_phase_requests(p); k++) {
        jm_phase_of(p, k, 0, CELLS, &x);
        sum.prefill += x.prefill;
        sum.decode += x.decode;
    }
    jm_phase_cells(p, 0, CELLS, &x, &idle, &total);
    NEAR(sum.prefill, x.prefill, 1e-6);
    NEAR(sum.prefill + sum.decode + idle, total, 1e-6);
    jm_phase_free(p);
}

static void refused(struct jm_phase *p, const struct jm_phase_opts *o, const char *says)
{
    struct jm_phase_fit f;
    assert_int_equal(jm_phase_solve(p, o, &f, &err), 0);
    assert_int_equal(f.method, JM_PHASE_TIME_SHARE);
    if (!strstr(f.why, says))
        fail_msg("\"%s\" does not say \"%s\"", f.why, says);
    jm_phase_free(p);
}

static void fall_backs(void **state)
{
    struct jm_phase_opts o = {.idle_w = 100}, no_idle = {.idle_w = NAN};
    (void)state;
    refused(known(100, true, CELLS), &no_idle, "no loaded idle power");
    unsigned char use[CELLS] = {0};
    struct jm_phase_opts alike = {.idle_w = 100, .use = use};
    memset(use + 12, 1, CELLS - 112);
    refused(known(100, false, CELLS), &alike, "burst"); /* every window holds the same */
    refused(known(100, true, 80), &o, "too short");
    /* something else that comes and goes */
    struct jm_phase *p = known(100, true, CELLS);
    double t[41], j[40];
    jm_phase_free(p);
    for (int i = 0; i <= 40; i++)
        t[i] = i;
    for (int i = 0; i < 40; i++)
        j[i] = 100 + 300 * (i % 3 == 0);
    assert_int_equal(jm_phase_new(t, j, 40, &p, &err), 0);
    for (int i = 0; i < 20; i++) {
        struct jm_phase_token tok[8];
        for (int k = 0; k < 8; k++)
            tok[k] = (struct jm_phase_token){2 * i + 0.2 + 0.1 * k, (uint32_t)(1 + (i * 7) % 5)};
        add(p, 2 * i, 2 * i + 0.1, 2 * i + 1, 100 + (i * 37) % 91, tok, 8);
    }
    refused(p, &o, "unexplained");
}

/* Bursts tell what a load of one length does not. */
static void bursts(void **state)
{
    double t[101], j[100];
    unsigned char use[100];
    struct jm_phase_opts o = {.idle_w = 100, .window_s = 1, .use = use};
    struct jm_phase_fit f;
    struct jm_phase *p;
    (void)state;
    for (int i = 0; i <= 100; i++)
        t[i] = i;
    /* load in 0..59: 1000 prompt and 100 decode tokens each second; prefill alone in 60..79, decode in 80..99
     */
    for (int i = 0; i < 100; i++) {
        double np = i < 60   ? 1000
                    : i < 80 ? 500 + 40 * (i - 60)
                             : 0,
               nd = i < 60   ? 100
                    : i < 80 ? 0
                             : 50 + 5 * (i - 80);
        j[i] = 100 + 0.02 * np + 0.5 * nd;
        use[i] = i < 60 ? 1 : i < 80 ? JM_PHASE_BURST : JM_PHASE_BURST + 1;
    }
    for (int with = 0; with < 2; with++) {
        assert_int_equal(jm_phase_new(t, j, 100, &p, &err), 0);
        for (int i = 0; i < 100; i++) {
            double np = i < 60 ? 1000 : i < 80 ? 500 + 40 * (i - 60) : 0;
            struct jm_phase_token tok = {i + 0.75, i < 60 ? 100 : i < 80 ? 0 : (uint32_t)(50 + 5 * (i - 80))};
            struct jm_phase_request q = {i, i + 0.5, i + 1, np, 0, 1};
            assert_int_equal(jm_phase_add(p, &q, &tok, tok.units > 0, &err), 0);
        }
        for (int i = 60; i < 100 && !with; i++)
            use[i] = 0;
        if (with)
            for (int i = 60; i < 100; i++)
                use[i] = (unsigned char)(JM_PHASE_BURST + (i >= 80));
        if (!with) {
            refused(p, &o, "burst");
            continue;
        }
        assert_int_equal(jm_phase_solve(p, &o, &f, &err), 0);
        assert_string_equal(f.why, "");
        assert_true(f.bursts);
        NEAR(f.w[JM_PW_PREFILL], 0.02, 1e-6);
        jm_phase_free(p);
    }
}

static void bad(void **state)
{
    static const double t[] = {0, 1, 1}, up[] = {0, 1, 2}, j[] = {1, 1}, nan[] = {1, NAN};
    struct jm_phase *p = NULL;
    struct jm_phase_request back = {.start = 2, .first = 1, .last = 3, .each = 1},
                            none = {.start = 0, .first = 0, .last = 1, .prefill = NAN, .each = 1},
                            far = {.start = -1e18, .first = 1e17, .last = 1e18, .prefill = 1e9, .each = 1};
    struct jm_phase_token tok = {1e17, UINT32_MAX};
    struct jm_phase_opts o = {.idle_w = 1};
    struct jm_phase_fit f;
    struct jm_phase_part x;
    (void)state;
    assert_int_equal(jm_phase_new(t, j, 2, &p, &err), JM_EINVAL);
    assert_int_equal(jm_phase_new(up, nan, 2, &p, &err), JM_EINVAL);
    assert_int_equal(jm_phase_new(up, j, 0, &p, &err), JM_EINVAL);
    assert_int_equal(jm_phase_new(up, j, 2, &p, &err), 0);
    assert_int_equal(jm_phase_add(p, &back, NULL, 0, &err), JM_EINVAL);
    assert_int_equal(jm_phase_add(p, &none, NULL, 0, &err), JM_EINVAL);
    assert_int_equal(jm_phase_add(p, &far, &tok, 1, &err), 0);
    assert_int_equal(jm_phase_solve(p, &o, &f, &err), 0);
    jm_phase_of(p, 0, 0, 2, &x);
    NEAR(x.prefill + x.decode, 2, 1e-9);
    jm_phase_free(p);
}

/* 10 s of prefill over 20,000 prompt tokens: 0.5 ms each, but never before the request was sent. */
static void prefill_begins(void **state)
{
    static const double t[] = {0, 100}, s[] = {0, 10}, tokens[] = {0, 20000};
    struct jm_phase_engine e = {t, s, NULL, tokens, 2}, nothing = {0};
    (void)state;
    NEAR(jm_phase_start(&e, 40, 50, 1000), 49.5, 1e-12);
    NEAR(jm_phase_start(&e, 49.9, 50, 1000), 49.9, 1e-12);
    NEAR(jm_phase_start(&nothing, 40, 50, 1000), 40, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_share),     cmocka_unit_test(half_a_cell), cmocka_unit_test(coefficients),
        cmocka_unit_test(fall_backs),     cmocka_unit_test(bursts),      cmocka_unit_test(bad),
        cmocka_unit_test(prefill_begins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
