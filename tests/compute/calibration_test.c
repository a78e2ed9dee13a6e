/* SPDX-License-Identifier: Apache-2.0 */
/* The relation of wall and GPU against machines whose truth is a formula. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "compute/calibrated.h"
#include "synthetic.h"

#define NEAR(got, want, rel) assert_true(fabs((double)(got) - (double)(want)) <= (rel)*fabs((double)(want)))

/* Eight boards of 700 W; 400 W of boards and memory, 100 W of CPU and 2 % more with load, fans by the cube of
 * the load (40 to 300 W), supplies of 12 kW together that give 95.5 % at half load and 92.5 % at none and
 * all. */
static double wall_of(double gpu)
{
    double load = gpu / 5600, dc = gpu + 400 + 100 + 0.02 * gpu + 40 + 260 * load * load * load,
           at = dc / 12000 - 0.5;
    return dc / (0.955 - 0.03 * at * at / 0.25);
}

static size_t truth(struct jm_cal_point *p, const double *share, size_t n, uint64_t seed)
{
    struct jm_rng rng;
    jm_rng_init(&rng, seed);
    for (size_t i = 0; i < n; i++) {
        double gpu = 5600 * share[i], u = 2, ug = 1.5;
        p[i] = (struct jm_cal_point){.gpu_w = gpu + ug * jm_rng_normal(&rng),
                                     .u_gpu = ug,
                                     .w = wall_of(gpu) + u * jm_rng_normal(&rng),
                                     .u = u,
                                     .idle = i == 0};
    }
    return n;
}

static void one_level_left_out(void **state)
{
    static const double share[] = {0.1, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9, 1.0};
    struct jm_err e = {0};
    int trials = 0, inside = 0;
    double widest = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        for (size_t out = 1; out < 7; out++) {
            struct jm_cal_point p[8], left;
            struct jm_cal_relation r = {.boundary = JM_B_WALL, .gain = NAN};
            struct jm_cal_power y;
            size_t n = truth(p, share, 8, seed);
            left = p[out];
            memmove(&p[out], &p[out + 1], (n - out - 1) * sizeof *p);
            assert_int_equal(jm_cal_fit(p, n - 1, &r, &e), 0);
            assert_int_equal(jm_cal_predict(&r, left.gpu_w, left.u_gpu, 0.95, &y, &e), 0);
            double true_w = wall_of(5600 * share[out]);
            trials++;
            inside += fabs(y.w - true_w) <= y.half;
            widest = fmax(widest, y.half / y.w);
        }
    if (inside < 0.95 * trials || widest > 0.02)
        fail_msg("%d of %d inside, half-width up to %.2f %%", inside, trials, 100 * widest);
}

/* A host whose processors have a load of their own, 20 W (one sigma) from window to window: with six windows
 * at each of six levels the mean of a level is off by 8 W, and a window that is predicted by 20 W all the
 * same. */
static void windows_of_one_level(void **state)
{
    struct jm_err e = {0};
    struct jm_rng rng;
    int trials = 0, inside = 0;
    (void)state;
    jm_rng_init(&rng, 7);
    for (int turn = 0; turn < 60; turn++) {
        struct jm_cal_point p[36];
        struct jm_cal_relation r = {.boundary = JM_B_WALL, .gain = NAN};
        for (int i = 0; i < 36; i++) {
            double gpu = 100 + 180 * (i % 6);
            p[i] = (struct jm_cal_point){.gpu_w = gpu,
                                         .u_gpu = 0.1,
                                         .w = 500 + 1.25 * gpu + 20 * jm_rng_normal(&rng),
                                         .u = 0.1,
                                         .idle = i % 6 == 0};
        }
        assert_int_equal(jm_cal_fit(p, 36, &r, &e), 0);
        assert_int_equal(r.n_level, 6);
        for (int k = 0; k < 20; k++, trials++) {
            double gpu = 150 + 40 * k;
            struct jm_cal_power y;
            assert_int_equal(jm_cal_predict(&r, gpu, 0.1, 0.95, &y, &e), 0);
            inside += fabs(y.w - (500 + 1.25 * gpu + 20 * jm_rng_normal(&rng))) <= y.half;
            assert_true(y.half < 150); /* 20 W x t(4) = 56 W, and what widens for a level left out */
        }
    }
    if (inside < 0.93 * trials)
        fail_msg("%d of %d inside", inside, trials);
}

/* A machine that is a line, P = 500 + 1.25 P_gpu, comes back as it, from four levels of two windows each. */
static void a_line(void **state)
{
    static const double gpu[] = {100, 101, 300, 300.5, 600, 602, 1000, 999};
    struct jm_cal_point p[8];
    struct jm_cal_relation r = {.boundary = JM_B_WALL, .gain = 0.01};
    struct jm_cal_power y;
    struct jm_err e = {0};
    (void)state;
    for (int i = 0; i < 8; i++)
        p[i] = (struct jm_cal_point){.gpu_w = gpu[i], .u_gpu = 0.1, .w = 500 + 1.25 * gpu[i], .u = 0.1};
    assert_int_equal(jm_cal_fit(p, 8, &r, &e), 0);
    assert_int_equal(r.n_level, 4);
    assert_int_equal(r.level[0].windows, 2);
    assert_false(r.bend);
    NEAR(r.beta[0], 500, 1e-6);
    NEAR(r.beta[1], 1.25, 1e-6);
    assert_int_equal(jm_cal_predict(&r, 500, 0, 0.95, &y, &e), 0);
    NEAR(y.w, 1125, 1e-6);
    NEAR(y.gain, 11.25, 1e-6); /* 1 % of it, as a bound */
    assert_true(y.half > 0.95 * 11.25 && y.half < 12);
    /* range 100.5 to 999.5 W and 2 % of 899 W beyond */
    assert_int_equal(jm_cal_predict(&r, 1015, 0, 0.95, &y, &e), 0);
    assert_int_equal(jm_cal_predict(&r, 1020, 0, 0.95, &y, &e), JM_EUNSUPPORTED);
    assert_int_equal(jm_cal_predict(&r, 80, 0, 0.95, &y, &e), JM_EUNSUPPORTED);
    assert_int_equal(jm_cal_predict(&r, NAN, 0, 0.95, &y, &e), JM_EUNSUPPORTED);
}

/* Engines at any load draw far more than at idle: 100 W, then 800 to 1000 W. Nothing is said of 450 W. */
static void a_hole(void **state)
{
    static const double gpu[] = {100, 800, 850, 900, 1000};
    struct jm_cal_point p[5];
    struct jm_cal_relation r = {.boundary = JM_B_WALL, .gain = NAN};
    struct jm_cal_power y;
    struct jm_err e = {0};
    (void)state;
    for (int i = 0; i < 5; i++)
        p[i] = (struct jm_cal_point){.gpu_w = gpu[i], .u_gpu = 0.1, .w = 500 + 1.25 * gpu[i], .u = 0.1};
    assert_int_equal(jm_cal_fit(p, 5, &r, &e), 0);
    assert_int_equal(jm_cal_predict(&r, 450, 0, 0.95, &y, &e), JM_EUNSUPPORTED);
    assert_non_null(strstr(e.text, "hole"));
    assert_int_equal(jm_cal_predict(&r, 825, 0, 0.95, &y, &e), 0);
    assert_int_equal(jm_cal_predict(&r, 105, 0, 0.95, &y, &e), 0);
}

/* Fans that start at 500 W of GPU power: slope 1.1 below, 1.4 above. */
static void a_bend(void **state)
{
    struct jm_cal_point p[9];
    struct jm_cal_relation r = {.boundary = JM_B_WALL, .gain = NAN};
    struct jm_err e = {0};
    (void)state;
    for (int i = 0; i < 9; i++) {
        double x = 100 * (i + 1);
        p[i] = (struct jm_cal_point){
            .gpu_w = x, .u_gpu = 0.1, .w = 300 + 1.1 * x + (x > 500 ? 0.3 * (x - 500) : 0), .u = 0.1};
    }
    assert_int_equal(jm_cal_fit(p, 9, &r, &e), 0);
    assert_true(r.bend);
    NEAR(r.knee, 500, 1e-9);
    NEAR(r.beta[1], 1.1, 1e-6);
    NEAR(r.beta[2], 0.3, 1e-6);
}

static void refused(void **state)
{
    static const struct {
        size_t n;
        double gpu[6], slope;
        const char *says;
    } c[] = {
        {0, {0}, 1.2, "0 load levels"},
        {3, {100, 500, 1000}, 1.2, "3 load levels"},
        {6, {100, 101, 500, 501, 1000, 1001}, 1.2, "3 load levels"},
        {4, {600, 700, 800, 1000}, 1.2, "twice"},
        {4, {100, 300, 600, 1000}, -0.2, "falls"},
        {4, {100, 300, 600, 1000}, 0.6, "not metered"},    /* one of two supplies */
        {4, {1000, 1200, 1600, 2100}, 0.9, "not metered"}, /* 900 - 190 W of a GPU's 1000 */
    };
    (void)state;
    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
        struct jm_cal_point p[6];
        struct jm_cal_relation r = {.boundary = JM_B_WALL, .gain = NAN};
        struct jm_err e = {0};
        for (size_t k = 0; k < c[i].n; k++)
            p[k] = (struct jm_cal_point){.gpu_w = c[i].gpu[k],
                                         .u_gpu = 0.1,
                                         .w = (c[i].gpu[0] < 1000 ? 900 : -190) + c[i].slope * c[i].gpu[k],
                                         .u = 0.1};
        if (jm_cal_fit(p, c[i].n, &r, &e) != JM_EUNSUPPORTED || !strstr(e.text, c[i].says))
            fail_msg("case %zu: %s", i, e.text);
    }
}

/* A calibration of the test's host: 8 levels, P = 500 + 1.25 P_gpu. */
static void make(struct jm_calibration *c, const char *gpu)
{
    struct jm_cal_point p[8];
    struct jm_err e = {0};
    *c = (struct jm_calibration){
        .created = "2026-01-02T03:04:05Z", .joulemark = "test", .n_run = 1, .n_relation = 1};
    c->machine.gpu = calloc(1, sizeof *c->machine.gpu);
    c->run = calloc(1, sizeof *c->run);
    snprintf(c->machine.gpu[0], sizeof c->machine.gpu[0], "%s", gpu);
    snprintf(c->machine.driver, sizeof c->machine.driver, "550.1");
    snprintf(c->machine.host, sizeof c->machine.host, "h1");
    snprintf(c->run[0].file, sizeof c->run[0].file, "level.jmr");
    c->machine.n_gpu = 1;
    for (int i = 0; i < 8; i++)
        p[i] = (struct jm_cal_point){
            .gpu_w = 100 * (i + 1), .u_gpu = 0.1, .w = 500 + 125 * (i + 1), .u = 0.5, .idle = i == 0};
    c->relation[0] = (struct jm_cal_relation){
        .boundary = JM_B_WALL, .gain = 0.002, .set = "wall{inlet_ac}", .instrument = "yokogawa power"};
    assert_int_equal(jm_cal_fit(p, 8, &c->relation[0], &e), 0);
}

static void the_file(void **state)
{
    struct jm_calibration c, d;
    struct jm_str s, again;
    struct jm_err e = {0};
    (void)state;
    make(&c, "GPU-a");
    jm_str_init(&s);
    jm_str_init(&again);
    assert_int_equal(jm_calibration_write(&c, &s, &e), 0);
    assert_int_equal(jm_calibration_read(jm_str_span(&s), &d, &e), 0);
    assert_int_equal(jm_calibration_write(&d, &again, &e), 0);
    assert_string_equal(s.buf, again.buf);
    jm_calibration_release(&d);
    /* cut anywhere it is refused, and nothing leaks */
    for (size_t n = 0; n + 2 < s.len; n += 7) {
        struct jm_span part = {s.buf, n};
        assert_true(jm_calibration_read(part, &d, &e) < 0);
    }
    static const char *const change[][2] = {{"calibration/1", "calibration/2"},
                                            {"\"slope\": 1", "\"slope\": -"},
                                            {"\"widen\": 1", "\"widen\": 0"},
                                            {"\"boundary\": \"wall\"", "\"boundary\": \"gpu\""},
                                            {"\"gpus\": [", "\"gpux\": ["}};
    for (size_t i = 0; i < sizeof change / sizeof change[0]; i++) {
        char *at = strstr(s.buf, change[i][0]);
        struct jm_str t;
        if (!at)
            fail_msg("%s is not in the file", change[i][0]);
        jm_str_init(&t);
        jm_str_add(&t, s.buf, (size_t)(at - s.buf));
        jm_str_adds(&t, change[i][1]);
        jm_str_adds(&t, at + strlen(change[i][0]));
        if (jm_calibration_read(jm_str_span(&t), &d, &e) >= 0)
            fail_msg("%s was taken", change[i][1]);
        jm_str_release(&t);
    }
    jm_str_release(&s);
    jm_str_release(&again);
    jm_calibration_release(&c);
}

/* A GPU of 400 W for 100 s, no meter at the wall: 100 kJ there (1000 W) by the relation, named calibrated.
 * At 5 kW it does not reach; with a meter at the wall that one counts, and the relation is a check. */
static void carried(void **state)
{
    struct jm_calibration c;
    struct jm_compute_opts o;
    struct syn s;
    (void)state;
    make(&c, "GPU-a");
    jm_compute_defaults(&o);
    o.calibration = &c;
    o.pue.value = 1.5;
    syn_begin(&s, "carried");
    syn_gpu(&s, "GPU-a", 400, -3, 103);
    syn_window(&s, JM_R_MEASURE, 0, 0, 100);
    syn_report(&s, &o);
    const struct jm_result *w = jm_report_find(s.r, "energy", JM_B_WALL, 0),
                           *f = jm_report_find(s.r, "energy", JM_B_FACILITY, 0);
    assert_non_null(w);
    NEAR(w->q.value, 100000, 1e-4);
    assert_int_equal(w->q.provenance, JM_P_CALIBRATED);
    assert_true(w->q.u.lo < 100000 && w->q.u.hi > 100000 && w->q.u.hi - w->q.u.lo < 2000);
    assert_non_null(f);
    NEAR(f->q.value, 150000, 1e-4);
    assert_int_equal(f->q.provenance, JM_P_DECLARED);
    syn_end(&s);
    syn_begin(&s, "beyond");
    syn_gpu(&s, "GPU-a", 5000, -3, 103);
    syn_window(&s, JM_R_MEASURE, 0, 0, 100);
    syn_report(&s, &o);
    w = jm_report_find(s.r, "energy", JM_B_WALL, 0);
    assert_true(w && !w->q.have);
    assert_int_equal(syn_findings(&s, "calibration.range"), 1);
    assert_int_equal(syn_findings(&s, "boundary.partial"), 0); /* said once, and of the wall alone */
    assert_true(jm_report_find(s.r, "energy", JM_B_GPU, 0)->q.validity != JM_V_INVALID);
    syn_end(&s);
    for (int off = 0; off < 2; off++) {
        syn_begin(&s, "checked");
        syn_gpu(&s, "GPU-a", 400, -3, 103);
        syn_wall(&s, off ? 1100 : 1001, -3, 103);
        syn_window(&s, JM_R_MEASURE, 0, 0, 100);
        syn_report(&s, &o);
        w = jm_report_find(s.r, "energy", JM_B_WALL, 0);
        NEAR(w->q.value, off ? 110000 : 100100, 1e-5);
        assert_int_equal(w->q.provenance, JM_P_MEASURED);
        assert_int_equal(syn_finding(&s, "calibration.check")->severity, off ? JM_SEV_WARNING : JM_SEV_INFO);
        syn_end(&s);
    }
    jm_calibration_release(&c);
}

static void another_machine(void **state)
{
    static const struct {
        const char *gpu, *host, *driver, *says;
    } c[] = {{"GPU-a", "h1", "550.1", NULL},
             {"GPU-a", NULL, NULL, NULL}, /* an import knows neither */
             {"GPU-b", "h1", "550.1", "machine"},
             {"GPU-a", "h2", "550.1", "machine"},
             {"GPU-a", "h1", "570.2", "driver"}};
    struct jm_calibration cal;
    (void)state;
    make(&cal, "GPU-a");
    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
        struct syn s;
        struct jm_err e = {0};
        char note[JM_CAL_NOTE];
        syn_begin(&s, "machine");
        syn_gpu(&s, c[i].gpu, 400, -3, 13);
        if (c[i].host)
            syn_env(&s, "host.name", c[i].host);
        if (c[i].driver)
            syn_env(&s, "nvml.driver", c[i].driver);
        syn_window(&s, JM_R_MEASURE, 0, 0, 10);
        syn_report(&s, NULL);
        int rc = jm_calibration_fits(&cal, s.run, false, false, note, &e);
        if ((rc != 0) != (c[i].says != NULL) || (rc && !strstr(e.text, c[i].says)))
            fail_msg("case %zu: %s", i, e.text);
        assert_int_equal(jm_calibration_fits(&cal, s.run, true, true, note, &e), 0);
        assert_true((note[0] != '\0') == (c[i].says != NULL));
        syn_end(&s);
    }
    jm_calibration_release(&cal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_level_left_out),
        cmocka_unit_test(windows_of_one_level),
        cmocka_unit_test(a_line),
        cmocka_unit_test(a_bend),
        cmocka_unit_test(a_hole),
        cmocka_unit_test(refused),
        cmocka_unit_test(the_file),
        cmocka_unit_test(carried),
        cmocka_unit_test(another_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
