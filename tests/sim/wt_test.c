/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated analyzer's arithmetic against samples of public MLPerf sessions: what PTDaemon said of their
 * uncertainty ("WARNING: Uncertainty 1.57%", "Uncertainty,avg,min,max,..."), with ranges as set there. */
#include <math.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wall/wt.h"

static double sum3(const char *model, const double w[3], const double pf[3], double v, double a)
{
    const struct simwt_model *m = simwt_find(model);
    double u = 0, p = 0;
    for (int i = 0; i < 3; i++) {
        struct simwt_value x = {.w = w[i], .v = 1, .a = 1, .pf = pf[i]};
        u += simwt_uncertainty(m, &x, v, a) * w[i];
        p += w[i];
    }
    return u / p;
}

static void published_uncertainty(void **state)
{
    static const struct {
        const char *model;
        double w, pf, volts, amps, percent, digit;
    } t[] = {
        /* inference_results_v5.1, GATEOverflow, mobilenet-1.0-160: WT210, 300 V, 0.5 A */
        {"WT210", 14.91, .4333, 300, .5, 1.57, .005},
        {"WT210", 26.65, .4693, 300, .5, 1.09, .005},
        {"WT210", 30.09, .4765, 300, .5, 1.02, .005},
        {"WT210", 29.70, .4747, 300, .5, 1.03, .005},
        {"WT210", 17.05, .4444, 300, .5, 1.43, .005},
        {"WT210", 14.77, .4383, 300, .5, 1.58, .005},
        /* inference_results_v4.1, UntetherAI h13 resnet50 SingleStream: WT210, 150 V, 5 A; largest */
        {"WT210", 172.0, .876, 150, 5, .6962, .0001},
        /* inference_results_v3.0, SiMa davinci resnet50 SingleStream: WT310, 150 V, 0.5 A */
        {"WT310", 5.895, .4288, 150, .5, 1.07, .005},
        {"WT310", 5.914, .4294, 150, .5, 1.07, .005},
        /* inference_results_v5.1, Lenovo SR680a llama2-70b-99 Offline: WT500, 300 V, 40 A, channels 1 to 3 */
        {"WT500_multichannel", 976, .9842, 300, 40, 1.42, .005},
        {"WT500_multichannel", 956, .9809, 300, 40, 1.44, .005},
        {"WT500_multichannel", 952, .9811, 300, 40, 1.45, .005},
        {"WT500_multichannel", 990, .9839, 300, 40, 1.40, .005},
    };
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct simwt_value x = {.w = t[i].w, .v = 1, .a = 1, .pf = t[i].pf};
        double u = simwt_uncertainty(simwt_find(t[i].model), &x, t[i].volts, t[i].amps);
        if (!(fabs(u - t[i].percent) <= t[i].digit + 1e-3))
            fail_msg("%s at %g W: %.4f %%, published %.4f %%", t[i].model, t[i].w, u, t[i].percent);
    }
    /* Sums. Lenovo SR680a: 1.44 % of 2884 W. v4.1 NVIDIA H200 gptj-99 Offline, WT333E, 300 V, 10 A: the
     * largest power, 4807.8 W, has the least uncertainty of its session, 0.002309. */
    assert_true(
        fabs(sum3("WT500_multichannel", (double[]){976, 956, 952}, (double[]){.9842, .9809, .9811}, 300, 40) -
             1.44) <= .006);
    assert_true(fabs(sum3("WT330_multichannel", (double[]){1642.5, 1586.7, 1578.6},
                          (double[]){.9818, .9811, .9815}, 300, 10) -
                     .2309) <= .0002);
}

static void no_uncertainty(void **state)
{
    const struct simwt_model *m = simwt_find("wt310e");
    struct simwt_value x = {.w = 100, .v = 230, .a = .5, .pf = .9};
    (void)state;
    assert_non_null(m);
    assert_true(isfinite(simwt_uncertainty(m, &x, 300, 1)));
    x.flags = SIMWT_PEAK;
    assert_true(isnan(simwt_uncertainty(m, &x, 300, 1)));
    x = (struct simwt_value){0};
    assert_true(isnan(simwt_uncertainty(m, &x, 300, 1)));
    assert_null(simwt_find("WT999"));
}

/* "SR,A,7.6956" ends in 10 A on a WT330, "SR,A,20.9487663" in 40 A on a WT500, "SR,V,239.45" in 300 V. */
static void ranges(void **state)
{
    const struct simwt_model *wt330 = simwt_find("WT330_multichannel"),
                             *wt500 = simwt_find("WT500_multichannel");
    (void)state;
    assert_true(simwt_range(wt330->amps, 7.695600000000001) == 10);
    assert_true(simwt_range(wt330->amps, 10.0463) == 20);
    assert_true(simwt_range(wt330->amps, 10) == 10);
    assert_true(simwt_range(wt500->amps, 20.948766300000003) == 40);
    assert_true(simwt_range(wt500->volts, 239.45) == 300);
    assert_true(simwt_range(wt330->amps, 20.1) == 0);
    assert_true(simwt_range(wt330->amps, -1) == 0);
    assert_true(simwt_range(wt330->amps, NAN) == 0);
    /* the display's steps in those sessions: 2884.000000 at 300 V x 40 A, 964.8 at 20 A, 14.62 at 300 V x 0.5
     * A */
    assert_true(fabs(simwt_step(12000) - 1) < 1e-12);
    assert_true(fabs(simwt_step(6000) - .1) < 1e-12);
    assert_true(fabs(simwt_step(150) - .01) < 1e-12);
    assert_true(fabs(simwt_step(40) - .001) < 1e-12);
}

static void auto_ranges(void **state)
{
    const double *a = simwt_find("WT310E")->amps;
    (void)state;
    assert_true(simwt_auto(a, 1, 1.29) == 1);
    assert_true(simwt_auto(a, 1, 1.31) == 2);
    assert_true(simwt_auto(a, 1, 300) == 20);
    assert_true(simwt_auto(a, 1, .31) == 1);
    assert_true(simwt_auto(a, 1, .29) == .5);
    assert_true(simwt_auto(a, 20, 0) == .005);
    assert_true(simwt_auto(a, 99, 19) == 20);
    for (const double *r = a; *r; r++) /* no range that it comes to sends it back at once */
        for (double x = .004; x < 30; x *= 1.03) {
            double one = simwt_auto(a, *r, x);
            assert_true(simwt_auto(a, one, x) == one);
        }
}

/* What is shown is true to half a step of the display, and P = V A PF. */
static void readings(void **state)
{
    const struct simwt_model *m = simwt_find("WT310E");
    struct simwt_load l = {.volts = 230, .pf = .95, .crest = 1.6, .split = {1}};
    struct simwt_value v;
    (void)state;
    simwt_read(m, &l, 612.3456, 0, 300, 5, &v);
    assert_true(v.flags == 0 && fabs(v.w - 612.3456) <= .05 + 1e-9);
    assert_true(fabs(v.a - 612.3456 / (230 * .95)) <= .0005);
    assert_true(fabs(v.w - v.v * v.a * v.pf) <= v.v * v.a * .00005 + 1e-9);
    simwt_read(m, &l, 612, 0, 300, 1, &v); /* 2.8 A in a range of 1 A */
    assert_true(v.flags == SIMWT_OVER);
    l.crest = 6; /* 2.8 A x 6 = 16.8 A, allowed are 3 x 5 A */
    simwt_read(m, &l, 612, 0, 300, 5, &v);
    assert_true(v.flags == SIMWT_PEAK && v.w == 612);
    simwt_read(m, &l, NAN, 0, 300, 5, &v);
    assert_true(v.flags == SIMWT_NONE);
    l.split[0] = 0;
    simwt_read(m, &l, 612, 0, 300, 5, &v); /* an element with nothing on it: plain zeros */
    assert_true(v.flags == 0 && v.w == 0 && v.v == 0 && v.pf == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(published_uncertainty),
                                       cmocka_unit_test(no_uncertainty), cmocka_unit_test(ranges),
                                       cmocka_unit_test(auto_ranges), cmocka_unit_test(readings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
