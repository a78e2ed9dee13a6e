/* SPDX-License-Identifier: Apache-2.0 */
/* The model of roughness against integrals done another way, and what is done with uncertainties. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "compute/compute.h"
#include "compute/refresh.h"
#include "compute/shape.h"

static void near(double got, double want, double rel)
{
    if (!(fabs(got - want) <= rel * fabs(want)))
        fail_msg("got %.12g, want %.12g", got, want);
}

/* Ornstein-Uhlenbeck of variance 1 and time constant tau: integral of d(t) d(s) exp(-|t - s| / tau), midpoint
 * rule on a fine grid. */
static double brute(const double *t, const double *d, size_t k, double tau)
{
    enum { N = 3000 };
    static double v[N];
    double h = (t[k] - t[0]) / N, sum = 0;
    for (int i = 0; i < N; i++) {
        double x = t[0] + (i + 0.5) * h;
        size_t q = 0;
        while (q + 1 < k && x >= t[q + 1])
            q++;
        v[i] = d[q];
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            sum += v[i] * v[j] * exp(-fabs((double)(i - j)) * h / tau);
    return sum * h * h;
}

/* A shape that is one exponential of the fitted grid: feed the exact variogram of it. tau = 4 x spacing is on
 * the grid. */
static struct jm_shape exponential(double spacing, double factor)
{
    struct jm_variogram v;
    struct jm_shape s;
    memset(&v, 0, sizeof v);
    for (int i = 0; i < JM_SHAPE_LAGS; i++) {
        v.n[i] = 1000;
        v.sum[i] = 1000 * 2 * (1 - exp(-(i + 1) / factor));
    }
    v.sum4 = 3 * v.sum[0] * v.sum[0] / v.n[0];
    jm_shape_fit(&v, spacing, 0, &s);
    return s;
}

static void closed_forms(void **state)
{
    (void)state;
    struct jm_shape s = exponential(0.1, 4);
    double t[4] = {0, 0.03, 0.1, 0.16}, d[3] = {0.7, -0.45, 0.175}; /* 0.021 - 0.0315 + 0.0105 = 0 */
    near(jm_shape_var(&s, t, d, 3), brute(t, d, 3, 0.4), 0.02);
    /* trapezoid between two values 0.25 s apart: Var(I) - 2 Cov + Var(T), each by hand */
    double tau = 0.4, g = 0.25, x = g / tau;
    double vi = 2 * tau * tau * (x - 1 + exp(-x)), cov = g * tau * (1 - exp(-x)),
           vt = g * g * (1 + exp(-x)) / 2;
    near(jm_shape_gap(&s, g), vi - 2 * cov + vt, 0.02);
    /* values every 0.1 s: per cell S^2 coth(S / 2 tau) - 2 tau S (long run) */
    near(jm_shape_cell(&s, 0.1, 0), 0.01 / tanh(0.1 / 0.8) - 2 * 0.4 * 0.1, 0.03);
    near(jm_shape_cell(&s, 0.1, 0.1), 0, 0);
    assert_true(jm_shape_cell(&s, 0.1, 0.025) < jm_shape_cell(&s, 0.1, 0));
    /* the ramp of a 1 s mean, against the same kernel by brute force */
    double rt[41], rd[40];
    for (int i = 0; i <= 40; i++)
        rt[i] = -0.5 + i / 40.0;
    for (int i = 0; i < 40; i++)
        rd[i] = (rt[i] + rt[i + 1]) / 2 + 0.5 - (i >= 20);
    near(jm_shape_ramp(&s, 1), brute(rt, rd, 40, 0.4), 0.03);
}

/* White noise on top: what is flat in the variogram must not look slow. */
static void fits(void **state)
{
    (void)state;
    struct jm_rng rng;
    struct jm_variogram v;
    struct jm_shape s;
    jm_rng_init(&rng, 3);
    memset(&v, 0, sizeof v);
    for (int i = 0; i < 5000; i++)
        jm_variogram_add(&v, 10 * jm_rng_normal(&rng), 0);
    jm_shape_fit(&v, 0.1, 0, &s);
    near(s.d2, 200, 0.05);
    assert_true(s.excess < 0.3);
    /* independent instants of noise faster than the spacing: nearly the whole variance is sampling error */
    double cell = jm_shape_cell(&s, 0.1, 0);
    assert_true(cell > 0.6 * 100 * 0.01 && cell <= 1.05 * 100 * 0.01);
    /* rare steps: heavy tails, and what is far away says nothing */
    memset(&v, 0, sizeof v);
    for (int i = 0; i < 500; i++)
        jm_variogram_add(&v, i / 100 % 2 ? 700 : 300, 0);
    jm_shape_fit(&v, 0.1, 0.1, &s);
    assert_true(s.excess > 50);
    double dof;
    struct jm_local quiet = {0, 2, 0, 6};
    assert_true(jm_shape_local(&s, &quiet, &dof) < 0.1);
    memset(&v, 0, sizeof v);
    jm_shape_fit(&v, 0.1, 0.1, &s);
    assert_true(s.d2 == 0 && s.n == 0);
}

static struct jm_refresh refresh(double t, double joules)
{
    return (struct jm_refresh){t - 0.0005, t + 0.0005, joules};
}

static struct jm_edge_value at(double t, const double *watts, int before, int after)
{
    struct jm_edge e = {.t = t};
    struct jm_edge_value v;
    struct jm_shape s;
    double j = 0;
    memset(&s, 0, sizeof s);
    for (int i = -before; i <= after; i++) { /* refreshes at 0.1 i; watts[i + before] is the power after it */
        struct jm_refresh x = refresh(0.1 * i, j);
        jm_edge_push(&e, &x);
        j += 0.1 * watts[i + before];
    }
    assert_true(jm_edge_estimate(&e, 0.1, 0.001, &s, &v));
    return v;
}

/* The interval [0, 0.1] holds the edge at 0.08 s; refreshes at -0.3 ... 0.4 s. */
static void edge_rules(void **state)
{
    (void)state;
    /* one step at 0.06 s from 700 to 300 W: mean 540 W; 700 x 0.06 + 300 x 0.02 = 48 J after the refresh at 0
     */
    double step[] = {700, 700, 700, 540, 300, 300, 300, 300};
    struct jm_edge_value v = at(0.08, step, 3, 4);
    assert_int_equal(v.rule, JM_EDGE_STEP);
    near(v.joules, 210 + 48, 1e-9);
    /* the step is in the next interval: this one is flat */
    double flat[] = {700, 700, 700, 700, 420, 300, 300, 300};
    v = at(0.08, flat, 3, 4);
    assert_int_equal(v.rule, JM_EDGE_FLAT);
    near(v.joules, 210 + 56, 1e-9);
    double flat_left[] = {700, 700, 420, 300, 300, 300, 300, 300};
    v = at(0.02, flat_left, 3, 4);
    assert_int_equal(v.rule, JM_EDGE_FLAT);
    near(v.joules, 182 + 6, 1e-9);
    /* a ramp of 1000 W/s: 400 W at 0, 480 W at 0.08: 35.2 J; a straight line says 36 J */
    double ramp[] = {150, 250, 350, 450, 550, 650, 750, 850};
    v = at(0.08, ramp, 3, 4);
    assert_int_equal(v.rule, JM_EDGE_CUBIC);
    near(v.joules, 75 + 35.2, 1e-9);
    /* a peak is no step */
    double peak[] = {300, 300, 300, 500, 300, 300, 300, 300};
    v = at(0.08, peak, 3, 4);
    assert_int_equal(v.rule, JM_EDGE_CUBIC);
}

static struct jm_energy made(double joules, double u, double dof, double gain)
{
    struct jm_energy e;
    memset(&e, 0, sizeof e);
    e.joules = joules;
    e.u = u;
    e.u_timing = u;
    e.dof = dof;
    e.gain_bound = gain;
    e.lower_bound = NAN;
    e.covered_s = 10;
    snprintf(e.method, sizeof e.method, "counter-burst");
    return e;
}

static void intervals(void **state)
{
    (void)state;
    struct jm_energy e = made(1000, 2, INFINITY, NAN);
    near(jm_energy_halfwidth(&e, 0.95, true), 1.959964 * 2, 1e-6);
    e.dof = 2;
    near(jm_energy_halfwidth(&e, 0.95, true), 4.302653 * 2, 1e-6);
    /* a rectangle alone: 95 % of its half-width */
    e = made(1000, 1e-9, INFINITY, 50);
    near(jm_energy_halfwidth(&e, 0.95, true), 47.5, 1e-6);
    near(jm_energy_halfwidth(&e, 0.95, false), 1.96e-9, 1e-3);
    /* both alike: against 2 million draws */
    e = made(1000, 10, INFINITY, 20);
    double h = jm_energy_halfwidth(&e, 0.95, true);
    struct jm_rng rng;
    int in = 0, n = 2000000;
    jm_rng_init(&rng, 9);
    for (int i = 0; i < n; i++)
        in += fabs(10 * jm_rng_normal(&rng) + 20 * (2 * jm_rng_unit(&rng) - 1)) <= h;
    near((double)in / n, 0.95, 0.001);
    assert_true(isnan(jm_energy_halfwidth(&e, 1, true)));
}

/* 3 of 4 devices: 100, 200, 300 J with u 3, 4, 12 J: 600 J with 13 J; gains of one make are alike and add up:
 * 5 + 10
 * + 15 J. */
static void sums(void **state)
{
    (void)state;
    struct jm_energy e[4] = {made(100, 3, INFINITY, 5), made(200, 4, INFINITY, 10), made(300, 12, 8, 15),
                             made(0, 0, 0, 0)},
                     s;
    e[3].status = JM_S_RESET;
    e[3].joules = NAN;
    assert_int_equal(jm_energy_sum(e, 4, &s), 3);
    near(s.joules, 600, 1e-12);
    near(s.u, 13, 1e-12);
    near(s.gain_bound, 30, 1e-12);
    near(s.dof, 13.0 * 13 * 13 * 13 / (12.0 * 12 * 12 * 12 / 8), 1e-9); /* Welch-Satterthwaite */
    assert_int_equal(s.status, JM_S_OK);
    /* shape errors of the same make on the same power, fully alike: 3 + 4 + 12 */
    for (int i = 0; i < 3; i++) {
        e[i].u_shape = e[i].u;
        e[i].u_timing = 0;
        e[i].alike = 1;
    }
    jm_energy_sum(e, 3, &s);
    near(s.u, 19, 1e-12);
    e[1].gain_bound = NAN;
    jm_energy_sum(e, 3, &s);
    assert_true(isnan(s.gain_bound));
    assert_int_equal(jm_energy_sum(e + 3, 1, &s), 0);
    assert_int_equal(s.status, JM_S_RESET);
    assert_true(isnan(s.joules));
}

/* ml-energy/zeus#181: counter 187 J, integrated gauge 327 J over 5 s of an idle GPU: a conflict. Within 1 %
 * on a busy one (zeus#12): none, with 5 % of unknown gain on each side. */
static void agreement(void **state)
{
    (void)state;
    struct jm_energy a = made(187, 1, INFINITY, NAN), b = made(327, 3, INFINITY, NAN);
    struct jm_agree g;
    jm_energy_agree(&a, &b, 0.95, 0.05, &g);
    assert_true(g.comparable && !g.agree);
    near(g.difference, -140, 1e-12);
    near(g.bound, 1.959964 * sqrt(10) + 0.05 * (187 + 327), 1e-6);
    a = made(30000, 10, INFINITY, NAN);
    b = made(30300, 30, INFINITY, NAN);
    jm_energy_agree(&a, &b, 0.95, 0.05, &g);
    assert_true(g.comparable && g.agree);
    b.status = JM_S_GAP;
    b.joules = NAN;
    jm_energy_agree(&a, &b, 0.95, 0.05, &g);
    assert_false(g.comparable);
    assert_true(isnan(g.bound));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_forms), cmocka_unit_test(fits), cmocka_unit_test(edge_rules),
        cmocka_unit_test(intervals),    cmocka_unit_test(sums), cmocka_unit_test(agreement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
