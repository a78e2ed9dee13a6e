/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "synthetic.h"

#define NEAR(got, want, rel) assert_true(fabs((double)(got) - (double)(want)) <= (rel)*fabs((double)(want)))

/* The worked example of the published guide to energy per token: one eight-GPU server, 600 s, 12,000,000
 * output and 30,000,000 input tokens; 390,000 J a GPU (650 W); 4,680,000 J at the wall (7,800 W); idle 2,400
 * W; 6 % of the output tokens outside the objective; PUE 1.3. 1,200 requests of 10,000 output and 25,000
 * input tokens, 72 of them (6 %) late. */
static void worked_example(void **state)
{
    struct syn s;
    struct jm_compute_opts o;
    (void)state;
    jm_compute_defaults(&o);
    o.slo.ttft_s = 0.2;
    o.slo.tpot_s = 0.001;
    o.pue.value = 1.3;
    o.idle_w = 2400;
    syn_begin(&s, "worked_example");
    for (int g = 0; g < 8; g++) {
        char uuid[16];
        snprintf(uuid, sizeof uuid, "GPU-%d", g);
        syn_gpu(&s, uuid, 650, -2, 602);
    }
    syn_wall(&s, 7800, -5, 605);
    syn_window(&s, JM_R_MEASURE, 0, 0, 600);
    for (int i = 0; i < 1200; i++)
        syn_request(&s, i * 0.5, i % 16 == 0 && i < 72 * 16 ? 0.3 : 0.1, 1e-5, 25000, 10000);
    syn_report(&s, &o);
    NEAR(syn_value(&s, "energy", JM_B_GPU, 0), 3120000, 1e-6);          /* 8 x 390,000 */
    NEAR(syn_value(&s, "j_per.output_token", JM_B_GPU, 0), 0.26, 1e-6); /* 3,120,000 / 12,000,000 */
    NEAR(syn_value(&s, "energy", JM_B_WALL, 0), 4680000, 1e-6);
    NEAR(syn_value(&s, "j_per.output_token", JM_B_WALL, 0), 0.39, 1e-6);
    NEAR(syn_value(&s, "wall_to_gpu", JM_B_WALL, 0), 1.5, 1e-6);
    NEAR(syn_value(&s, "energy.unexplained", JM_B_WALL, 0), 1560000, 1e-6);       /* 4,680,000 - 3,120,000 */
    NEAR(syn_value(&s, "j_per.total_token", JM_B_WALL, 0), 4680000 / 42e6, 1e-6); /* 0.111 */
    NEAR(syn_value(&s, "net.loaded_idle.j_per.output_token", JM_B_WALL, 0), 0.27, 1e-6);
    NEAR(syn_value(&s, "j_per.qualified_token", JM_B_WALL, 0), 4680000 / 11280000.0, 1e-6); /* 0.415 */
    NEAR(syn_value(&s, "j_per.output_token", JM_B_FACILITY, 0), 0.507, 1e-6);
    NEAR(syn_value(&s, "kwh_per_mtok", JM_B_WALL, 0), 0.39 / 3.6, 1e-6); /* 0.108 */
    NEAR(syn_value(&s, "tokens_per_s", JM_B_NONE, 0), 20000, 1e-9);
    NEAR(syn_value(&s, "j_per.request_ok", JM_B_WALL, 0), 3900, 1e-6); /* 4,680,000 / 1,200 */
    NEAR(syn_value(&s, "requests_per_kwh", JM_B_WALL, 0), 3.6e6 / 3900, 1e-6);
    NEAR(syn_value(&s, "attainment", JM_B_NONE, 0), 1 - 72 / 1200.0, 1e-9);
    assert_int_equal(s.r->requests.ok, 1200);
    assert_int_equal(s.r->requests.qualified, 1128);
    assert_int_equal(s.r->tokens.output, 12000000);
    assert_int_equal(s.r->tokens.input, 30000000);
    assert_int_equal(s.r->profile, JM_PROFILE_PUBLICATION);
    assert_int_equal(s.r->validity, JM_V_VALID);
    const struct jm_result *gpu = jm_report_find(s.r, "energy", JM_B_GPU, 0);
    assert_string_equal(gpu->set, "gpu{gpu x 8}");
    assert_int_equal(gpu->have_of, 8);
    assert_true(gpu->q.u.lo <= 3120000 && gpu->q.u.hi >= 3120000);
    syn_end(&s);
}

/* Failures keep their joules: 100 W x 10 s over one good request of 100 tokens and one that timed out. */
static void failures_keep_joules(void **state)
{
    struct syn s;
    (void)state;
    syn_begin(&s, "failures");
    syn_gpu(&s, "GPU-0", 100, -2, 12);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    syn_request(&s, 1, 0.1, 0.01, 10, 100);
    syn_failed(&s, 3, 5, JM_END_TIMEOUT);
    syn_report(&s, NULL);
    NEAR(syn_value(&s, "j_per.output_token", JM_B_GPU, 0), 10, 1e-6);
    NEAR(syn_value(&s, "j_per.request_ok", JM_B_GPU, 0), 1000, 1e-6);
    NEAR(syn_value(&s, "j_per.request_any", JM_B_GPU, 0), 500, 1e-6);
    assert_int_equal(s.r->requests.by_end[JM_END_TIMEOUT], 1);
    assert_non_null(syn_finding(&s, "requests.failed"));
    syn_end(&s);
}

/* Output tokens count at their stamps: a request of 1,000 tokens, 1 ms apart in events of 100, starts 450 ms
 * before the end; events at 0, 100, .. 400 ms are inside (500 tokens), those from 500 ms on are not. */
static void tokens_at_their_stamps(void **state)
{
    struct syn s;
    (void)state;
    syn_begin(&s, "stamps");
    syn_gpu(&s, "GPU-0", 100, -2, 22);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    syn_request(&s, 9.45, 0.1, 0.001, 7, 1000);
    syn_report(&s, NULL);
    const struct jm_result *x = jm_report_find(s.r, "j_per.output_token", JM_B_GPU, 0);
    assert_non_null(x);
    NEAR(x->denominator, 500, 1e-12);
    NEAR(syn_value(&s, "j_per.input_token", JM_B_GPU, 0), 1000 / 7.0, 1e-6); /* prefilled inside */
    assert_int_equal(s.r->requests.ok, 0);                                   /* it ended outside */
    syn_end(&s);
}

static void unknown_tokens_make_no_ratio(void **state)
{
    struct syn s;
    (void)state;
    syn_begin(&s, "unknown");
    syn_gpu(&s, "GPU-0", 100, -2, 12);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    syn_request(&s, 1, 0.1, 0.01, 10, 100);
    syn_request(&s, 2, 0.1, 0.01, -1, -1);
    syn_report(&s, NULL);
    const struct jm_result *x = jm_report_find(s.r, "j_per.output_token", JM_B_GPU, 0);
    assert_true(x && !x->q.have && x->q.validity == JM_V_INVALID);
    assert_non_null(syn_finding(&s, "tokens.unknown"));
    assert_true(s.r->tokens.output < 0);
    syn_value(&s, "energy", JM_B_GPU, 0); /* the energy is known all the same */
    syn_end(&s);
}

static void another_host_makes_no_ratio(void **state)
{
    struct syn s;
    (void)state;
    syn_begin(&s, "other_host");
    syn_gpu(&s, "GPU-0", 100, -2, 12);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    syn_request(&s, 1, 0.1, 0.01, 10, 100);
    syn_env(&s, "conflict.sut", "the endpoint 192.0.2.1 is not this host");
    syn_report(&s, NULL);
    const struct jm_result *x = jm_report_find(s.r, "j_per.output_token", JM_B_GPU, 0);
    assert_true(x && !x->q.have);
    assert_non_null(strstr(x->q.reasons, "conflict"));
    assert_int_equal(s.r->validity, JM_V_INVALID);
    syn_end(&s);
}

/* Three of four: the fourth counter ends in the middle. The total says so and is no valid number. */
static void partial(void **state)
{
    struct syn s;
    (void)state;
    syn_begin(&s, "partial");
    syn_gpu(&s, "GPU-0", 100, -2, 12);
    syn_gpu(&s, "GPU-1", 100, -2, 12);
    syn_gpu(&s, "GPU-2", 100, -2, 12);
    syn_gpu(&s, "GPU-3", 100, -2, 5);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    syn_request(&s, 1, 0.1, 0.01, 10, 100);
    syn_report(&s, NULL);
    const struct jm_result *e = jm_report_find(s.r, "energy", JM_B_GPU, 0),
                           *x = jm_report_find(s.r, "j_per.output_token", JM_B_GPU, 0);
    assert_int_equal(e->of, 4);
    assert_int_equal(e->have_of, 3);
    assert_int_equal(e->q.validity, JM_V_INVALID);
    assert_non_null(strstr(e->q.reasons, "3 of 4"));
    assert_false(x->q.have);
    assert_int_equal(s.r->validity, JM_V_INVALID);
    syn_end(&s);
}

/* 0.385, 0.392 and 0.396 J/token: mean 0.391, t(0.975, 2) = 4.303, half-width 0.014 (the published repeat
 * example). */
static void three_trials(void **state)
{
    static const double w[] = {385, 392, 396};
    struct syn s;
    (void)state;
    syn_begin(&s, "trials");
    for (int i = 0; i < 3; i++) {
        /* 385 W x 60 s over 60,000 tokens */
        syn_wall(&s, w[i], 100.0 * i - 5, 100.0 * i + 65);
        syn_window(&s, JM_R_MEASURE, i, 100.0 * i, 100.0 * i + 60);
        syn_request(&s, 100.0 * i + 1, 0.1, 1e-4, 10, 60000);
    }
    syn_report(&s, NULL);
    const struct jm_result *x = NULL;
    for (size_t i = 0; i < s.r->n_results; i++)
        if (s.r->results[i].window < 0 && strcmp(s.r->results[i].metric, "j_per.output_token") == 0)
            x = &s.r->results[i];
    assert_non_null(x);
    NEAR(x->q.value, 0.391, 1e-6);
    NEAR(x->q.u.hi - x->q.value, 4.302653 * 0.005567764 / sqrt(3), 1e-3); /* t s / sqrt(n) = 0.0138 */
    assert_true(x->q.u.dof == 2);
    assert_int_equal(s.r->profile, JM_PROFILE_CLAIM);
    syn_end(&s);
}

/* No domain together with one that contains it: a package with its core, and a mirrored zone, give the
 * package alone. */
static void one_joule_once(void **state)
{
    struct syn s;
    struct jm_err err;
    (void)state;
    syn_begin(&s, "once");
    syn_gpu(&s, "GPU-0", 100, -2, 12);
    /* the GPU board's memory is inside the board */
    int gpu = jm_domain_next(&s.tree, JM_D_GPU, -1),
        hbm = jm_domain_add(&s.tree, gpu, JM_D_HBM, "hbm", "memory", &err);
    struct jm_channel c = {.meter = s.meter,
                           .kind = JM_CH_GAUGE,
                           .unit = JM_U_W,
                           .scale10 = -3,
                           .gain_tol = NAN,
                           .offset_tol = NAN,
                           .domain = hbm,
                           .period_ns = 1000000000};
    int id;
    snprintf(c.name, sizeof c.name, "power.memory");
    assert_int_equal(jm_run_put_domains(s.w, &s.tree, &err), 0);
    assert_int_equal(jm_run_put_channel(s.w, &c, &id, &err), 0);
    for (int t = -2; t <= 12; t++) {
        struct jm_reading r = {.t0 = T0 + t * INT64_C(1000000000),
                               .t1 = T0 + t * INT64_C(1000000000) + 1000,
                               .value = 30000,
                               .channel = (uint32_t)id};
        assert_int_equal(jm_run_put_readings(s.w, &r, 1, &err), 0);
    }
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    syn_report(&s, NULL);
    NEAR(syn_value(&s, "energy", JM_B_DEVICE, 0), 1000, 1e-6);
    assert_string_equal(jm_report_find(s.r, "energy", JM_B_DEVICE, 0)->set, "device{gpu}");
    syn_end(&s);
}

/* Results name their window, so no two have one name. */
static void windows_of_one_name(void **state)
{
    (void)state;
    struct syn s;
    syn_begin(&s, "names");
    syn_gpu(&s, "GPU-1", 100, -3, 33);
    for (int i = 0; i < 3; i++)
        syn_window(&s, JM_R_MEASURE, 0, 10 * i, 10 * i + 10);
    syn_report(&s, NULL);
    assert_string_equal(s.r->windows[0].name, "measure 0");
    assert_string_equal(s.r->windows[1].name, "measure 0 (2)");
    assert_string_equal(s.r->windows[2].name, "measure 0 (3)");
    syn_end(&s);
}

/* Bins of powers of two hold 10 and 100 input tokens: 8, 16, 32, 64, 128; 100 output tokens alone one bin. */
static void lengths(void **state)
{
    (void)state;
    struct syn s;
    double joules = 0;
    syn_begin(&s, "lengths");
    syn_gpu(&s, "GPU-1", 100, -3, 13);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    syn_request(&s, 1, 0.1, 0.01, 10, 100);
    syn_request(&s, 4, 0.1, 0.01, 100, 100);
    syn_request(&s, 6, 0.1, 0.01, 127, 100);
    syn_request(&s, 9.5, 0.1, 0.01, 64, 100); /* ends behind the window */
    syn_failed(&s, 2, 1, JM_END_HTTP_SERVER);
    syn_report(&s, NULL);
    const struct jm_length_map *m = s.r->lengths;
    assert_non_null(m);
    assert_int_equal(m->nx, 4);
    assert_int_equal(m->ny, 1);
    for (int i = 0; i < 5; i++)
        NEAR(m->isl[i], 8 << i, 1e-9);
    assert_true(m->osl[0] <= 100 && m->osl[1] > 100);
    static const int64_t n[] = {1, 0, 0, 2};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(m->cell[i].n, n[i]);
        assert_true(m->cell[i].n_energy <= n[i]);
        joules += m->cell[i].joules;
    }
    assert_true(joules >= 0 && joules <= 1000.1); /* no more than 100 W x 10 s */
    syn_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example),
        cmocka_unit_test(failures_keep_joules),
        cmocka_unit_test(tokens_at_their_stamps),
        cmocka_unit_test(unknown_tokens_make_no_ratio),
        cmocka_unit_test(another_host_makes_no_ratio),
        cmocka_unit_test(partial),
        cmocka_unit_test(three_trials),
        cmocka_unit_test(one_joule_once),
        cmocka_unit_test(windows_of_one_name),
        cmocka_unit_test(lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
