/* SPDX-License-Identifier: Apache-2.0 */
/* Each check once firing and once, as near as can be, silent; and what its finding makes of the results. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "compute/synthetic.h"

/* A run that no check minds: a GPU of 100 W over [-3, 33] s, one request a second of 10 tokens. */
static void begin(struct syn *s, const char *name)
{
    syn_begin(s, name);
    syn_gpu(s, "GPU-0", 100, -3, 33);
}

static void load(struct syn *s, double from, double to)
{
    for (double t = from; t < to; t += 0.25)
        syn_request(s, t, 0.005, 0.001, 10, 10);
}

static void end(struct syn *s, enum jm_profile p)
{
    struct jm_compute_opts o;
    jm_compute_defaults(&o);
    o.profile = p;
    o.profile_given = true;
    syn_report(s, &o);
}

static enum jm_validity of(const struct syn *s, const char *metric, enum jm_boundary b, int window)
{
    const struct jm_result *x = jm_report_find(s->r, metric, b, window);
    if (!x)
        fail_msg("no result %s", metric);
    /* what is not valid says why */
    assert_true(x->q.validity == JM_V_VALID ? x->q.reasons == NULL : x->q.reasons && x->q.reasons[0]);
    return x->q.validity;
}

static void fires(const struct syn *s, const char *id, enum jm_severity sev)
{
    const struct jm_finding *f = syn_finding(s, id);
    if (!f)
        fail_msg("%s was not found", id);
    assert_int_equal(f->severity, sev);
    assert_true(f->text[0]);
}

static void silent(const struct syn *s, const char *id)
{
    const struct jm_finding *f = syn_finding(s, id);
    if (f)
        fail_msg("%s: %s", id, f->text);
}

/* Nothing but that the gain is unknown: valid. */
static void clean(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "clean");
    load(&s, 0, 10);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    end(&s, JM_PROFILE_SCREENING);
    for (size_t i = 0; i < s.r->n_findings; i++)
        if (s.r->findings[i].severity != JM_SEV_INFO)
            fail_msg("%s: %s", s.r->findings[i].id, s.r->findings[i].text);
    fires(&s, "gain.unknown", JM_SEV_INFO);
    assert_int_equal(s.r->validity, JM_V_VALID);
    assert_int_equal(of(&s, "j_per.output_token", JM_B_GPU, 0), JM_V_VALID);
    syn_end(&s);
}

static void window_short(void **state)
{
    (void)state;
    static const struct {
        enum jm_profile p;
        double s;
        bool bad;
    } t[] = {{JM_PROFILE_SCREENING, 4.9, true},
             {JM_PROFILE_SCREENING, 5, false},
             {JM_PROFILE_CLAIM, 30, true},
             {JM_PROFILE_PUBLICATION, 30, true}};
    for (size_t i = 0; i < 4; i++) {
        struct syn s;
        begin(&s, "short");
        load(&s, 0, t[i].s);
        syn_window(&s, JM_R_MEASURE, 0, 0, t[i].s);
        end(&s, t[i].p);
        if (t[i].bad) {
            fires(&s, "window.short", JM_SEV_ERROR);
            assert_int_equal(of(&s, "energy", JM_B_GPU, 0), JM_V_INVALID);
        } else {
            silent(&s, "window.short");
        }
        syn_end(&s);
    }
}

/* One short window makes its own results invalid and the means over trials, not those of its neighbour. */
static void one_window_does_not_poison_another(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "neighbours");
    load(&s, 0, 12);
    syn_window(&s, JM_R_MEASURE, 0, 0, 6);
    syn_window(&s, JM_R_MEASURE, 1, 7, 8);
    end(&s, JM_PROFILE_SCREENING);
    assert_int_equal(of(&s, "energy", JM_B_GPU, 0), JM_V_VALID);
    assert_int_equal(of(&s, "energy", JM_B_GPU, 1), JM_V_INVALID);
    assert_int_equal(of(&s, "energy", JM_B_GPU, -1), JM_V_INVALID);
    assert_int_equal(s.r->validity, JM_V_INVALID);
    syn_end(&s);
}

/* An idle window whose instrument fails concerns the idle and the net figures, and leaves the run valid with
 * findings; a run of idle windows only is about them. */
static void idle_is_aside(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "idle");
    load(&s, 0, 10);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    syn_window(&s, JM_R_IDLE, 0, 20, 40); /* the counter ends at 33 s */
    syn_env(&s, "idle.1.class", "loaded");
    end(&s, JM_PROFILE_SCREENING);
    assert_int_equal(of(&s, "j_per.output_token", JM_B_GPU, 0), JM_V_VALID);
    assert_int_equal(of(&s, "energy", JM_B_GPU, 1), JM_V_INVALID);
    assert_int_equal(s.r->validity, JM_V_FINDINGS);
    syn_end(&s);
    begin(&s, "idle_only");
    syn_window(&s, JM_R_IDLE, 0, 0, 10);
    end(&s, JM_PROFILE_SCREENING);
    silent(&s, "window.none");
    assert_int_equal(s.r->validity, JM_V_VALID);
    assert_int_equal(of(&s, "power.mean", JM_B_GPU, 0), JM_V_VALID);
    syn_end(&s);
    begin(&s, "nothing");
    end(&s, JM_PROFILE_SCREENING);
    fires(&s, "window.none", JM_SEV_ERROR);
    syn_end(&s);
}

static void trials(void **state)
{
    struct syn s;
    (void)state;
    for (int n = 2; n <= 3; n++) {
        begin(&s, "trials");
        for (int i = 0; i < n; i++)
            syn_window(&s, JM_R_MEASURE, i, 8 * i, 8 * i + 6);
        end(&s, JM_PROFILE_CLAIM);
        if (n < 3)
            fires(&s, "trials.few", JM_SEV_ERROR);
        else
            silent(&s, "trials.few");
        syn_end(&s);
    }
}

/* Five trials of a constant 100 W with 100, 102, 104, 106, 108 tokens a request: 1 / 108 is 7.4 % below 1 /
 * 100, a straight line through the five makes 7.7 % of their mean. Out of order the same figures have no
 * slope. */
static void trials_that_drift(void **state)
{
    static const int up[] = {100, 102, 104, 106, 108}, mixed[] = {104, 100, 108, 102, 106};
    (void)state;
    for (int k = 0; k < 3; k++) {
        struct syn s;
        int n = k == 2 ? 3 : 5;
        begin(&s, "drift");
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < 20; j++)
                syn_request(&s, 6 * i + 0.25 * j, 0.005, 0.001, 10, (k == 1 ? mixed : up)[i]);
            syn_window(&s, JM_R_MEASURE, i, 6 * i, 6 * i + 5.5);
        }
        end(&s, JM_PROFILE_SCREENING);
        if (k == 0) {
            fires(&s, "trials.drift", JM_SEV_WARNING);
            assert_non_null(strstr(syn_finding(&s, "trials.drift")->text, "fell by 7.7 %"));
        } else {
            silent(&s, "trials.drift");
        }
        syn_end(&s);
    }
}

/* Two minutes of a GPU that alternates by 1 W around what `at` says, once a second, 50 requests a minute. */
static void two_minutes(struct syn *s, const char *name, double (*at)(double t), double degrees_a_minute)
{
    syn_begin(s, name);
    int gpu = syn_domain(s, s->node, JM_D_GPU, "GPU-0"), power = syn_gauge(s, gpu, "power", 0, 1, 0);
    struct jm_channel c = {.kind = JM_CH_GAUGE, .unit = JM_U_CELSIUS, .domain = gpu};
    snprintf(c.name, sizeof c.name, "temperature");
    snprintf(c.device, sizeof c.device, "GPU-0");
    int warm = syn_channel(s, &c);
    for (int t = -3; t < 124; t++) {
        syn_reading(s, power, t + 0.5, llround(1000 * (at(t) + (t % 2 ? 1 : -1))), JM_S_OK);
        syn_reading(s, warm, t + 0.5, llround(50 + degrees_a_minute * t / 60), JM_S_OK);
    }
    for (int i = 0; i < 100; i++)
        syn_request(s, 0.1 + 1.2 * i, 0.005, 0.001, 10, 10);
    syn_window(s, JM_R_MEASURE, 0, 0, 120);
    syn_env(s, "plan.url", "http://127.0.0.1:1");
    syn_env(s, "plan.shape", "closed loop, 4 users");
    end(s, JM_PROFILE_SCREENING);
}

static double level(double t)
{
    (void)t;
    return 100;
}

static double late(double t)
{
    return t < 20 ? 90 : 100;
}

static double rising(double t)
{
    return 100 + 6 * t / 120;
}

/* 20 s at 90 W are 10 % below the 100 W afterwards; 6 W over 103 W are 5.8 %. */
static void machines_that_have_not_settled(void **state)
{
    struct syn s;
    (void)state;
    two_minutes(&s, "settled", level, 0);
    silent(&s, "warmup.short");
    silent(&s, "power.drift");
    silent(&s, "temperature.rising");
    syn_end(&s);
    two_minutes(&s, "late", late, 3);
    fires(&s, "warmup.short", JM_SEV_WARNING);
    assert_non_null(strstr(syn_finding(&s, "warmup.short")->text, "the first 20 s"));
    assert_non_null(strstr(syn_finding(&s, "warmup.short")->text, "10 % lower"));
    fires(&s, "temperature.rising", JM_SEV_INFO);
    syn_end(&s);
    two_minutes(&s, "rising", rising, 0);
    fires(&s, "power.drift", JM_SEV_WARNING);
    assert_non_null(strstr(syn_finding(&s, "power.drift")->text, "rose by 5.8 %"));
    syn_end(&s);
}

static void clock_pairs(void **state)
{
    (void)state;
    /* real ahead by 30 ms: none; by 80 ms: a step; boot ahead by 5 s: slept; all of it outside the window:
     * none */
    static const struct {
        double at, real, boot;
        const char *id;
    } t[] = {{5, .03, 0, NULL}, {5, .08, 0, "clock.step"}, {5, 0, 5, "clock.suspend"}, {30, 9, 0, NULL}};
    for (size_t i = 0; i < 4; i++) {
        struct syn s;
        struct jm_err err;
        begin(&s, "clock");
        load(&s, 0, 10);
        for (int k = 0; k < 2; k++) {
            double at =
                t[i].at - (k ? 0 : 4); /* the one before lies inside the window unless both are behind it */
            if (t[i].at > 10)
                at = t[i].at - (k ? 0 : 10);
            struct jm_clock_pair p = {SYN_NS(at), SYN_NS(at) + 500,
                                      INT64_C(1700000000000000000) +
                                          (int64_t)((at + (k ? t[i].real : 0)) * 1e9),
                                      SYN_NS(at) + (int64_t)((k ? t[i].boot : 0) * 1e9)};
            assert_int_equal(jm_run_put_clock_pair(s.w, &p, &err), 0);
        }
        syn_window(&s, JM_R_MEASURE, 0, 0, 10);
        end(&s, JM_PROFILE_SCREENING);
        if (t[i].id) {
            fires(&s, t[i].id, i == 2 ? JM_SEV_ERROR : JM_SEV_WARNING);
        } else {
            silent(&s, "clock.step");
            silent(&s, "clock.suspend");
        }
        if (i == 2) {
            fires(&s, "energy.suspended", JM_SEV_ERROR);
            assert_false(jm_report_find(s.r, "j_per.output_token", JM_B_GPU, 0)->q.have);
        }
        syn_end(&s);
    }
}

/* A counter that begins again at 5 s. The package beside it is not concerned. */
static void counter_reset(void **state)
{
    struct syn s;
    (void)state;
    syn_begin(&s, "reset");
    int d = syn_domain(&s, s.node, JM_D_GPU, "GPU-0"), c = syn_counter(&s, d, "GPU-0", 100, -3, 5);
    for (int k = 0; k < 80; k++)
        syn_reading(&s, c, 5.1 + k * 0.1, 1000 + k * 10000, JM_S_OK);
    syn_counter(&s, syn_domain(&s, s.inlet, JM_D_PACKAGE, "package-0"), "package-0", 50, -3, 13);
    load(&s, 0, 10);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    end(&s, JM_PROFILE_SCREENING);
    fires(&s, "counter.reset", JM_SEV_ERROR);
    assert_int_equal(of(&s, "energy", JM_B_GPU, 0), JM_V_INVALID);
    assert_int_equal(of(&s, "j_per.output_token", JM_B_GPU, 0), JM_V_INVALID);
    assert_int_equal(of(&s, "ttft", JM_B_NONE, 0), JM_V_VALID); /* a latency is not an energy */
    assert_int_equal(s.r->validity, JM_V_INVALID);
    syn_end(&s);
}

/* A lost package spoils the device boundary and not that of the GPUs. A counter that is lost beside a gauge
 * that goes on costs a cross-check. A lost core inside a measured package costs nothing. */
static void lost(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "lost_package");
    int p = syn_domain(&s, s.node, JM_D_PACKAGE, "package-0"), c = syn_counter(&s, p, "package-0", 50, -3, 4);
    for (int k = 0; k < 60; k++)
        syn_reading(&s, c, 4.1 + k * 0.1, 0, JM_S_LOST);
    load(&s, 0, 10);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    end(&s, JM_PROFILE_SCREENING);
    fires(&s, "counter.lost", JM_SEV_ERROR);
    fires(&s, "boundary.partial", JM_SEV_ERROR);
    assert_int_equal(of(&s, "energy", JM_B_DEVICE, 0), JM_V_INVALID);
    assert_non_null(strstr(jm_report_find(s.r, "energy", JM_B_DEVICE, 0)->q.reasons, "1 of 2"));
    assert_int_equal(of(&s, "energy", JM_B_GPU, 0), JM_V_VALID);
    assert_int_equal(of(&s, "j_per.output_token", JM_B_GPU, 0), JM_V_VALID);
    syn_end(&s);

    syn_begin(&s, "gauge_goes_on");
    int g = syn_domain(&s, s.node, JM_D_GPU, "GPU-0");
    c = syn_counter(&s, g, "GPU-0", 100, -3, 4);
    for (int k = 0; k < 60; k++)
        syn_reading(&s, c, 4.1 + k * 0.1, 0, JM_S_LOST);
    syn_gauge(&s, g, "power.average", 100, -3, 13);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    end(&s, JM_PROFILE_SCREENING);
    fires(&s, "counter.lost", JM_SEV_WARNING);
    assert_int_equal(of(&s, "energy", JM_B_GPU, 0), JM_V_FINDINGS);
    syn_end(&s);

    begin(&s, "lost_core");
    p = syn_domain(&s, s.node, JM_D_PACKAGE, "package-0");
    syn_counter(&s, p, "package-0", 50, -3, 13);
    c = syn_counter(&s, syn_domain(&s, p, JM_D_CORE, "core"), "core", 30, -3, 4);
    for (int k = 0; k < 60; k++)
        syn_reading(&s, c, 4.1 + k * 0.1, 0, JM_S_LOST);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    end(&s, JM_PROFILE_SCREENING);
    fires(&s, "counter.lost", JM_SEV_INFO);
    assert_int_equal(of(&s, "energy", JM_B_DEVICE, 0), JM_V_VALID);
    assert_int_equal(s.r->validity, JM_V_VALID);
    syn_end(&s);
}

/* Statuses of devices that never gave a value. */
static void never(void **state)
{
    static const struct {
        enum jm_status s;
        const char *id;
    } t[] = {{JM_S_DENIED, "energy.denied"},
             {JM_S_UNSUPPORTED, "energy.unsupported"},
             {JM_S_ABSENT, "energy.absent"}};
    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (int other = 0; other < 2; other++) {
            struct syn s;
            syn_begin(&s, "never");
            int g = syn_domain(&s, s.node, JM_D_GPU, "GPU-0"), c = syn_counter(&s, g, "GPU-0", 1, 1, 0);
            for (int k = 0; k < 160; k++)
                syn_reading(&s, c, -3 + k * 0.1, 0, t[i].s);
            if (other)
                syn_gauge(&s, g, "power.average", 100, -3, 13);
            syn_window(&s, JM_R_MEASURE, 0, 0, 10);
            end(&s, JM_PROFILE_SCREENING);
            if (other) {
                silent(&s, t[i].id); /* the gauge is all that this device has */
                assert_int_equal(of(&s, "energy", JM_B_GPU, 0), JM_V_VALID);
            } else {
                fires(&s, t[i].id, JM_SEV_ERROR);
                assert_false(jm_report_find(s.r, "energy", JM_B_GPU, 0)->q.have);
            }
            syn_end(&s);
        }
}

/* Counter 100 W; gauge 104 W: within 5 %; 120 W: a conflict, of that device only. */
static void conflict(void **state)
{
    (void)state;
    for (int bad = 0; bad < 2; bad++) {
        struct syn s;
        begin(&s, "conflict");
        syn_gauge(&s, jm_domain_next(&s.tree, JM_D_GPU, -1), "power.average", bad ? 120 : 104, -3, 13);
        syn_counter(&s, syn_domain(&s, s.inlet, JM_D_PACKAGE, "p"), "p", 10, -3, 13);
        syn_wall(&s, 200, -3, 13);
        syn_window(&s, JM_R_MEASURE, 0, 0, 10);
        end(&s, JM_PROFILE_SCREENING);
        if (bad) {
            fires(&s, "energy.conflict", JM_SEV_WARNING); /* the channels name no source */
            assert_string_equal(syn_finding(&s, "energy.conflict")->evidence, "energy against power.average");
        } else {
            silent(&s, "energy.conflict");
        }
        assert_int_equal(of(&s, "energy", JM_B_GPU, 0), bad ? JM_V_FINDINGS : JM_V_VALID);
        assert_int_equal(of(&s, "energy", JM_B_WALL, 0), JM_V_VALID);
        assert_true(fabs(syn_value(&s, "energy.by_gauge", JM_B_GPU, 0) - (bad ? 1200 : 1040)) < 0.1);
        syn_end(&s);
    }
}

/* A BMC's counter that moves every 5 s, by 400 W each time, shows no swing, which is no proof that there was
 * none: what is refused is never more than what the interval calls likely. */
static void tolerance(void **state)
{
    (void)state;
    double half = 0;
    for (int k = 0; k < 3; k++) { /* its interval first, then just above and below it */
        struct syn s;
        char percent[32];
        syn_begin(&s, "tolerance");
        struct jm_channel c = {.name = "energy",
                               .device = "bmc",
                               .kind = JM_CH_COUNTER,
                               .unit = JM_U_J,
                               .domain = s.node,
                               .period_ns = INT64_C(5000000000),
                               .provenance = JM_P_MEASURED};
        int bmc = syn_channel(&s, &c);
        for (int i = 0; i < 6; i++)
            syn_reading(&s, bmc, 5 * i - 9, 2000 * i, JM_S_OK);
        syn_window(&s, JM_R_MEASURE, 0, 0, 12);
        snprintf(percent, sizeof percent, "%.9g", (k == 2 ? 99 : 101) * half / 4800);
        if (k)
            syn_env(&s, "plan.tolerance_percent", percent);
        end(&s, JM_PROFILE_SCREENING);
        const struct jm_energy_row *e = NULL;
        for (size_t i = 0; i < s.r->n_energy; i++)
            if (s.r->energy[i].channel == bmc)
                e = &s.r->energy[i];
        assert_non_null(e);
        assert_true(fabs(e->joules - 4800) < 1e-6);
        half = (e->hi - e->lo) / 2;
        assert_true(half > 48);
        if (k == 2)
            fires(&s, "window.tolerance", JM_SEV_ERROR);
        else
            silent(&s, "window.tolerance");
        syn_end(&s);
    }
}

/* Two packages: 100 and 101 W are two; 100 and 100 W from another base, step by step, are one register. */
static void mirrored(void **state)
{
    (void)state;
    for (int bad = 0; bad < 2; bad++) {
        struct syn s;
        syn_begin(&s, "mirrored");
        syn_counter(&s, syn_domain(&s, s.node, JM_D_PACKAGE, "package-0"), "package-0", 100, -3, 13);
        syn_counter(&s, syn_domain(&s, s.node, JM_D_PACKAGE, "package-1"), "package-1", bad ? 100 : 101, -3,
                    13);
        syn_window(&s, JM_R_MEASURE, 0, 0, 10);
        end(&s, JM_PROFILE_SCREENING);
        if (bad)
            fires(&s, "energy.mirrored", JM_SEV_WARNING);
        else
            silent(&s, "energy.mirrored");
        syn_end(&s);
    }
}

/* A gauge that pauses for 1.9 of 30 s: 6 %, an error from 5 % on. */
static void gap(void **state)
{
    (void)state;
    for (int bad = 0; bad < 2; bad++) {
        struct syn s;
        syn_begin(&s, "gap");
        int c = syn_gauge(&s, syn_domain(&s, s.node, JM_D_GPU, "GPU-0"), "power.average", 1, 1, 0);
        for (int k = 0; k < 360; k++) {
            double t = -3 + k * 0.1;
            bool there = !bad || t < 10.05 || t > 11.85;
            syn_reading(&s, c, t, there ? 100000 : 0, there ? JM_S_OK : JM_S_GAP);
        }
        syn_window(&s, JM_R_MEASURE, 0, 0, 30);
        end(&s, JM_PROFILE_SCREENING);
        if (bad)
            fires(&s, "energy.gap", JM_SEV_ERROR);
        else
            silent(&s, "energy.gap");
        syn_end(&s);
    }
}

static int state_channel(struct syn *s, const char *name, enum jm_channel_kind kind, enum jm_unit unit)
{
    struct jm_channel c = {.kind = kind,
                           .unit = unit,
                           .scale10 = unit == JM_U_W ? -3 : 0,
                           .gain_tol = NAN,
                           .offset_tol = NAN,
                           .domain = jm_domain_next(&s->tree, JM_D_GPU, -1),
                           .period_ns = 1000000000};
    snprintf(c.name, sizeof c.name, "%s", name);
    snprintf(c.device, sizeof c.device, "GPU-0");
    snprintf(c.source, sizeof c.source, "test");
    return syn_channel(s, &c);
}

/* Event reasons: idle (bit 0) and applications clocks (bit 1) are none; thermal slowdown (0x40) is one; a
 * power cap (0x04) is what operators set. */
static void throttle(void **state)
{
    static const struct {
        int64_t bits;
        int sev;
    } t[] = {{0x1 | 0x2, -1}, {0x04, JM_SEV_INFO}, {0x40, JM_SEV_WARNING}, {0x08, JM_SEV_WARNING}};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct syn s;
        begin(&s, "throttle");
        int c = state_channel(&s, "clock.event_reasons", JM_CH_STATE, JM_U_NONE);
        for (int k = -2; k < 12; k++)
            syn_reading(&s, c, k, k >= 0 ? t[i].bits : 0, JM_S_OK);
        syn_window(&s, JM_R_MEASURE, 0, 0, 10);
        end(&s, JM_PROFILE_SCREENING);
        if (t[i].sev < 0)
            silent(&s, "gpu.throttle");
        else
            fires(&s, "gpu.throttle", (enum jm_severity)t[i].sev);
        syn_end(&s);
    }
}

static void limits(void **state)
{
    (void)state;
    for (int bad = 0; bad < 2; bad++) {
        struct syn s;
        begin(&s, "limit");
        int c = state_channel(&s, "power.limit", JM_CH_GAUGE, JM_U_W);
        for (int k = -2; k < 14; k++)
            syn_reading(&s, c, k, k < (bad ? 5 : 11) ? 700000 : 500000, JM_S_OK);
        syn_window(&s, JM_R_MEASURE, 0, 0, 10);
        end(&s, JM_PROFILE_SCREENING);
        if (bad)
            fires(&s, "limit.changed", JM_SEV_WARNING);
        else
            silent(&s, "limit.changed"); /* it moved after the window */
        syn_end(&s);
    }
}

/* 2 of 16 CPUs used by the client, a package of 80 W for 10 s: 2/16 x 800 J = 100 J. Without a metered
 * package, or without a count of CPUs, nothing is said. */
static void energy_of_the_client(void **state)
{
    (void)state;
    for (int what = 0; what < 3; what++) {
        struct syn s;
        begin(&s, "client_energy");
        load(&s, 0, 10);
        if (what != 1)
            syn_counter(&s, syn_domain(&s, s.node, JM_D_PACKAGE, "package-0"), "package-0", 80, -3, 13);
        syn_env(&s, "load.cpu", "2");
        if (what != 2)
            syn_env(&s, "host.cpus", "16");
        syn_window(&s, JM_R_MEASURE, 0, 0, 10);
        end(&s, JM_PROFILE_SCREENING);
        if (what == 0) {
            fires(&s, "client.energy", JM_SEV_INFO);
            const struct jm_finding *f = syn_finding(&s, "client.energy");
            assert_non_null(strstr(f->text, "100 J of the 800"));
            assert_non_null(strstr(f->text, "allocated: 12 %"));
        } else {
            silent(&s, "client.energy");
        }
        syn_end(&s);
    }
}

/* The client says itself why it was the limit. */
static void why_the_client_was_the_limit(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "client_why");
    load(&s, 0, 10);
    syn_env(&s, "load.client", "client-limited");
    syn_env(&s, "load.client.why", "a load thread used 97 % of its core");
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    end(&s, JM_PROFILE_SCREENING);
    const struct jm_finding *f = syn_finding(&s, "client.limit");
    assert_non_null(f);
    assert_non_null(strstr(f->text, "(a load thread used 97 % of its core)"));
    syn_end(&s);
}

/* What the recorder and the load write under these keys. */
static void environment(void **state)
{
    static const struct {
        const char *key, *good, *bad, *id;
    } t[] = {
        {"selftest.nvml", "passed: 8 of 8 counters moved",
         "failed: polled fast, 8 of 8 counters run 1.2 times as fast; their edges are plain reads",
         "poll.disturbs"},
        {"end.nvml.driver", "570.1", "570.2", "record.changed"},
        {"load.client", "ok", "client-limited", "client.limit"},
        {"sut.gpus", "GPU-0", NULL, NULL},
        {"record.dropped.nvml", NULL, "12", "record.dropped"},
        {"sut.unknown", NULL, "the driver names no processes", "sut.unknown"},
        {"endpoint.pid_unknown", NULL, "no permission", "sut.unknown"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++)
        for (int bad = 0; bad < 2; bad++) {
            struct syn s;
            const char *v = bad ? t[i].bad : t[i].good;
            if (!v)
                continue;
            begin(&s, "env");
            load(&s, 0, 10);
            syn_env(&s, "nvml.driver", "570.1");
            syn_env(&s, t[i].key, v);
            syn_window(&s, JM_R_MEASURE, 0, 0, 10);
            end(&s, JM_PROFILE_SCREENING);
            if (bad)
                fires(&s, t[i].id, JM_SEV_WARNING);
            assert_int_equal(s.r->validity, bad ? JM_V_FINDINGS : JM_V_VALID);
            syn_end(&s);
        }
}

/* The energy of this host is right, its ratios do not exist, the latencies of the far endpoint are right. */
static void sut_conflict(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "sut");
    load(&s, 0, 10);
    syn_env(&s, "conflict.sut", "the endpoint is not on this machine");
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    end(&s, JM_PROFILE_SCREENING);
    fires(&s, "sut.conflict", JM_SEV_ERROR);
    assert_int_equal(s.r->validity, JM_V_INVALID);
    assert_int_equal(of(&s, "energy", JM_B_GPU, 0), JM_V_VALID);
    assert_int_equal(of(&s, "ttft", JM_B_NONE, 0), JM_V_VALID);
    assert_int_equal(of(&s, "j_per.output_token", JM_B_GPU, 0), JM_V_INVALID);
    assert_false(jm_report_find(s.r, "j_per.output_token", JM_B_GPU, 0)->q.have);
    assert_false(jm_report_find(s.r, "j_per.request_ok", JM_B_GPU, 0)->q.have);
    syn_end(&s);
}

static void tokens_unknown(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "unknown");
    load(&s, 0, 10);
    syn_request(&s, 1, 0.1, 0.01, -1, -1);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    end(&s, JM_PROFILE_SCREENING);
    fires(&s, "tokens.unknown", JM_SEV_ERROR);
    assert_int_equal(of(&s, "energy", JM_B_GPU, 0), JM_V_VALID);
    assert_int_equal(of(&s, "ttft", JM_B_NONE, 0), JM_V_VALID);
    assert_int_equal(of(&s, "j_per.request_ok", JM_B_GPU, 0), JM_V_VALID);
    assert_int_equal(of(&s, "j_per.output_token", JM_B_GPU, 0), JM_V_INVALID);
    syn_end(&s);
}

static void failures(void **state)
{
    static const struct {
        int bad, sev;
    } t[] = {{0, -1}, {1, JM_SEV_WARNING}, {40, JM_SEV_ERROR}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct syn s;
        begin(&s, "failed");
        load(&s, 0, 10);
        for (int k = 0; k < t[i].bad; k++)
            syn_failed(&s, 1, 1, JM_END_HTTP_SERVER);
        syn_window(&s, JM_R_MEASURE, 0, 0, 10);
        end(&s, JM_PROFILE_SCREENING);
        if (t[i].sev < 0)
            silent(&s, "requests.failed");
        else
            fires(&s, "requests.failed", (enum jm_severity)t[i].sev);
        if (t[i].bad == 40)
            assert_string_equal(syn_finding(&s, "requests.failed")->evidence, "http-5xx 40");
        assert_int_equal(of(&s, "energy", JM_B_GPU, 0), JM_V_VALID);
        syn_end(&s);
    }
    struct syn s;
    begin(&s, "none_ended");
    syn_request(&s, 9.9, 5, 0.1, 10, 10);
    syn_window(&s, JM_R_MEASURE, 0, 0, 9);
    end(&s, JM_PROFILE_SCREENING);
    fires(&s, "requests.none", JM_SEV_ERROR);
    syn_end(&s);
}

/* The rate doubles in the second half: an error for a claim, a warning for a screening. Random arrivals of
 * the same mean are steady. */
static void steady(void **state)
{
    (void)state;
    for (int p = 0; p < 2; p++)
        for (int bad = 0; bad < 2; bad++) {
            struct syn s;
            begin(&s, "steady");
            load(&s, 0, 30);
            if (bad)
                load(&s, 15, 30);
            syn_window(&s, JM_R_MEASURE, 0, 0, 30);
            end(&s, p ? JM_PROFILE_CLAIM : JM_PROFILE_SCREENING);
            if (bad)
                fires(&s, "load.unsteady", p ? JM_SEV_ERROR : JM_SEV_WARNING);
            else
                silent(&s, "load.unsteady");
            syn_end(&s);
        }
}

static void lengths(void **state)
{
    (void)state;
    for (int bad = 0; bad < 2; bad++) {
        struct syn s;
        begin(&s, "lengths");
        load(&s, 0, 10);
        syn_env(&s, "plan.isl", "10");
        syn_env(&s, "load.osl", bad ? "128" : "10");
        syn_window(&s, JM_R_MEASURE, 0, 0, 10);
        end(&s, JM_PROFILE_SCREENING);
        if (bad)
            fires(&s, "lengths.differ", JM_SEV_WARNING);
        else
            silent(&s, "lengths.differ");
        syn_end(&s);
    }
}

static void cut_answers(void **state)
{
    static const struct {
        const char *kept;
        bool bad;
    } rows[] = {{"100 of 100", false}, {"99 of 100", true}, {"0 of 100", true}, {"", false},
                {"x of 3", false},     {"3 of -1", false},  {"3 of", false},    {NULL, false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct syn s;
        begin(&s, "cut answers");
        load(&s, 0, 10);
        if (rows[i].kept)
            syn_env(&s, "load.osl.kept", rows[i].kept);
        syn_window(&s, JM_R_MEASURE, 0, 0, 10);
        end(&s, JM_PROFILE_SCREENING);
        if (rows[i].bad)
            fires(&s, "lengths.short", JM_SEV_WARNING);
        else
            silent(&s, "lengths.short");
        syn_end(&s);
    }
}

/* What the load noted of the server: bundles of tokens, a model that was loaded. */
static void server_notes(void **state)
{
    static const struct {
        const char *key, *value, *id;
        bool bad;
    } rows[] = {
        {"load.bundled", "3", "tokens.bundled", true},     {"load.bundled", "0", "tokens.bundled", false},
        {"load.bundled", "x", "tokens.bundled", false},    {"load.model_loads", "1", "model.loaded", true},
        {"load.model_loads", "0", "model.loaded", false},  {"load.bundled", "3", "model.loaded", false},
        {"load.model_loads", "1", "tokens.bundled", false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct syn s;
        begin(&s, "server notes");
        load(&s, 0, 10);
        syn_env(&s, rows[i].key, rows[i].value);
        syn_env(&s, "load.model_loads.max_ms", "6338");
        syn_window(&s, JM_R_MEASURE, 0, 0, 10);
        end(&s, JM_PROFILE_SCREENING);
        if (rows[i].bad)
            fires(&s, rows[i].id, JM_SEV_WARNING);
        else
            silent(&s, rows[i].id);
        syn_end(&s);
    }
}

/* Events that shared a read: 10 of 100 are none too many, 11 are. */
static void lumps(void **state)
{
    (void)state;
    for (int bad = 0; bad < 2; bad++) {
        struct syn s;
        begin(&s, "lumps");
        load(&s, 0, 10);
        syn_env(&s, "load.events", "100");
        syn_env(&s, "load.events.shared", bad ? "11" : "10");
        syn_window(&s, JM_R_MEASURE, 0, 0, 10);
        end(&s, JM_PROFILE_SCREENING);
        if (bad)
            fires(&s, "stamps.shared", JM_SEV_WARNING);
        else
            silent(&s, "stamps.shared");
        syn_end(&s);
    }
}

/* 5 of 40 requests with their prefill across an edge: 12.5 %. */
static void bias(void **state)
{
    (void)state;
    for (int bad = 0; bad < 2; bad++) {
        struct syn s;
        begin(&s, "bias");
        load(&s, 0, 9.9);
        for (int k = 0; bad && k < 5; k++)
            syn_request(&s, 9.8, 0.5, 0.001, 10, 10);
        syn_window(&s, JM_R_MEASURE, 0, 0, 10);
        end(&s, JM_PROFILE_SCREENING);
        if (bad)
            fires(&s, "edge.bias", JM_SEV_WARNING);
        if (bad)
            assert_non_null(strstr(syn_finding(&s, "edge.bias")->text, "up to 12.5 %"));
        else
            silent(&s, "edge.bias");
        syn_end(&s);
    }
}

/* More cut than prefilled: no percentage says anything. */
static void all_bias(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "all-bias");
    for (int k = 0; k < 5; k++)
        syn_request(&s, 4.9, 0.5, 0.001, 10, 10);
    syn_request(&s, 1, 0.5, 0.001, 10, 10);
    syn_window(&s, JM_R_MEASURE, 0, 0, 5);
    end(&s, JM_PROFILE_SCREENING);
    fires(&s, "edge.bias", JM_SEV_WARNING);
    assert_null(strchr(syn_finding(&s, "edge.bias")->text, '%'));
    syn_end(&s);
}

static void no_meters(void **state)
{
    struct syn s;
    (void)state;
    syn_begin(&s, "no_meters");
    struct jm_run_meter absent = {.name = "grace", .state = "absent", .reason = "no Grace here"},
                        denied = {
                            .name = "rapl", .state = "denied", .reason = "only root may", .mend = "chmod"};
    assert_true(jm_run_put_meter(s.w, &absent, NULL) >= 0 && jm_run_put_meter(s.w, &denied, NULL) >= 0);
    load(&s, 0, 10);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    end(&s, JM_PROFILE_SCREENING);
    fires(&s, "meters.none", JM_SEV_ERROR);
    /* the one that can be mended, though it comes later */
    assert_string_equal(syn_finding(&s, "meters.none")->evidence, "rapl: only root may (to mend it: chmod)");
    assert_int_equal(s.r->validity, JM_V_INVALID);
    assert_int_equal(of(&s, "ttft", JM_B_NONE, 0), JM_V_VALID);
    syn_end(&s);
}

static void estimate(void **state)
{
    struct syn s;
    (void)state;
    begin(&s, "estimate");
    s.provenance = JM_P_ESTIMATED;
    syn_counter(&s, syn_domain(&s, s.node, JM_D_PACKAGE, "estimate"), "cpu", 100, -3, 13);
    syn_window(&s, JM_R_MEASURE, 0, 0, 10);
    end(&s, JM_PROFILE_SCREENING);
    fires(&s, "estimate", JM_SEV_INFO);
    syn_end(&s);
}

/* A window that was never closed, in a file that was never sealed in order. */
static void cut(void **state)
{
    struct syn s;
    struct jm_err err;
    struct jm_window w = {.id = 0, .role = JM_R_MEASURE, .t0 = SYN_NS(0), .name = "measure"};
    (void)state;
    begin(&s, "cut");
    load(&s, 0, 10);
    assert_int_equal(jm_run_open_window(s.w, &w, &err), 0);
    end(&s, JM_PROFILE_SCREENING);
    fires(&s, "window.cut", JM_SEV_WARNING);
    assert_true(s.r->windows[0].t1 > s.r->windows[0].t0);
    assert_int_equal(s.r->validity >= JM_V_FINDINGS, 1);
    syn_end(&s);
}

/* Every finding has its row, and each row names a check. */
static void tables(void **state)
{
    (void)state;
    for (const struct jm_finding_kind *k = jm_finding_table; k->id; k++) {
        bool found = false;
        for (const struct jm_check *c = jm_check_table; c->id; c++)
            found |= strcmp(c->id, k->check) == 0;
        if (!found)
            fail_msg("%s is of check %s, which is none", k->id, k->check);
        for (const struct jm_finding_kind *j = k + 1; j->id; j++)
            assert_string_not_equal(j->id, k->id);
        assert_true(k->means[0] && k->severity[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clean),
        cmocka_unit_test(window_short),
        cmocka_unit_test(one_window_does_not_poison_another),
        cmocka_unit_test(idle_is_aside),
        cmocka_unit_test(trials),
        cmocka_unit_test(trials_that_drift),
        cmocka_unit_test(machines_that_have_not_settled),
        cmocka_unit_test(clock_pairs),
        cmocka_unit_test(counter_reset),
        cmocka_unit_test(lost),
        cmocka_unit_test(never),
        cmocka_unit_test(conflict),
        cmocka_unit_test(mirrored),
        cmocka_unit_test(gap),
        cmocka_unit_test(throttle),
        cmocka_unit_test(limits),
        cmocka_unit_test(energy_of_the_client),
        cmocka_unit_test(why_the_client_was_the_limit),
        cmocka_unit_test(environment),
        cmocka_unit_test(sut_conflict),
        cmocka_unit_test(tokens_unknown),
        cmocka_unit_test(failures),
        cmocka_unit_test(steady),
        cmocka_unit_test(lengths),
        cmocka_unit_test(cut_answers),
        cmocka_unit_test(server_notes),
        cmocka_unit_test(lumps),
        cmocka_unit_test(bias),
        cmocka_unit_test(all_bias),
        cmocka_unit_test(no_meters),
        cmocka_unit_test(estimate),
        cmocka_unit_test(tolerance),
        cmocka_unit_test(cut),
        cmocka_unit_test(tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
