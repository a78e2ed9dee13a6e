/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the instruments by their own readings. Every number is by hand: energies are watts times seconds.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "compute/synthetic.h"

#define SECONDS 120

static int channel(struct syn *s, int domain, const char *device, const char *name, enum jm_channel_kind kind,
                   enum jm_unit unit, int scale10)
{
    struct jm_channel c = {.domain = domain,
                           .kind = kind,
                           .unit = unit,
                           .scale10 = scale10,
                           .gain_tol = NAN,
                           .offset_tol = NAN,
                           .sane_max = unit == JM_U_S ? 0 : 1e9,
                           .provenance = JM_P_MEASURED};
    snprintf(c.name, sizeof c.name, "%s", name);
    snprintf(c.device, sizeof c.device, "%s", device);
    snprintf(c.source, sizeof c.source, "test");
    return syn_channel(s, &c);
}

static void end(struct syn *s)
{
    struct jm_compute_opts o;
    jm_compute_defaults(&o);
    syn_window(s, JM_R_MEASURE, 0, 0, SECONDS);
    syn_report(s, &o);
}

static const char *text_of(const struct syn *s, const char *id)
{
    const struct jm_finding *f = syn_finding(s, id);
    return f ? f->text : "";
}

/* A counter that says J and moves by `per_s` a second beside a power of 250 W. */
static void one_unit(double per_s, const char *expected)
{
    struct syn s;
    syn_begin(&s, "unit");
    int gpu = syn_domain(&s, s.node, JM_D_GPU, "GPU-0");
    int e = channel(&s, gpu, "bmc/GPU_0", "energy", JM_CH_COUNTER, JM_U_J, -6),
        p = channel(&s, gpu, "bmc/GPU_0", "power", JM_CH_GAUGE, JM_U_W, -3);
    for (int t = -2; t <= SECONDS + 2; t++) {
        syn_reading(&s, e, t, llround((1000 + per_s * (t + 2)) * 1e6), JM_S_OK);
        syn_reading(&s, p, t, 250000, JM_S_OK);
    }
    end(&s);
    const char *text = text_of(&s, "instrument.unit");
    if ((expected == NULL) != (text[0] == '\0') || (expected && !strstr(text, expected)))
        fail_msg("%g J/s beside 250 W: \"%s\"", per_s, text);
    if (expected)
        assert_int_equal(syn_finding(&s, "instrument.unit")->severity, JM_SEV_ERROR);
    syn_end(&s);
}

static void units(void **state)
{
    (void)state;
    one_unit(250, NULL);
    one_unit(250 * 1.12, NULL);   /* a gain, no unit */
    one_unit(250 * 3, NULL);      /* a conflict, which no unit explains */
    one_unit(250e3, "(mJ for J"); /* GH200, GB200: mJ where J are said */
    one_unit(250e3 * 1.05, "(mJ for J");
    one_unit(0.25, "(kJ for J");
    one_unit(250 / 3600.0, "counts Wh where J are taken");
    one_unit(250 * 3600.0, "counts J where Wh are taken");
    one_unit(2500, "a tenth of its unit"); /* APC and CyberPower: ten times */
}

/* An inlet of which nothing moves, while the GPU behind it goes from 100 to 500 W and back every 40 s. */
static void frozen(void **state)
{
    (void)state;
    for (int moves = 0; moves < 2; moves++) {
        struct syn s;
        syn_begin(&s, "frozen");
        int gpu = syn_domain(&s, s.node, JM_D_GPU, "GPU-0");
        int wall = channel(&s, s.inlet, "bmc", "power", JM_CH_GAUGE, JM_U_W, 0),
            p = channel(&s, gpu, "GPU-0", "power", JM_CH_GAUGE, JM_U_W, 0);
        for (int t = -2; t <= SECONDS + 2; t++) {
            int load = (t + 40) / 20 % 2 ? 500 : 100;
            syn_reading(&s, wall, t, moves ? 300 + load : 600, JM_S_OK);
            syn_reading(&s, p, t, load, JM_S_OK);
        }
        end(&s);
        assert_int_equal(syn_findings(&s, "instrument.frozen"), !moves);
        if (!moves)
            assert_non_null(strstr(text_of(&s, "instrument.frozen"), "stood at 600 W"));
        syn_end(&s);
    }
}

/* Changes every second, but for 70 s in the middle. */
static void stale(void **state)
{
    struct syn s;
    (void)state;
    syn_begin(&s, "stale");
    int p = channel(&s, s.inlet, "pdu", "power", JM_CH_GAUGE, JM_U_W, 0);
    for (int t = -2; t <= SECONDS + 2; t++)
        syn_reading(&s, p, t, t >= 25 && t < 95 ? 500 : 500 + t % 7, JM_S_OK);
    end(&s);
    assert_int_equal(syn_findings(&s, "instrument.stale"), 1);
    assert_int_equal(syn_findings(&s, "instrument.quantum"), 0);
    syn_end(&s);
}

/* DGX H100, PWR_SYSTEM: 8 bits of 78 W each. 1950 W is 25 of them; half a step is 2 % of it. */
static void quantum(void **state)
{
    struct syn s;
    (void)state;
    syn_begin(&s, "quantum");
    int p = channel(&s, s.node, "PWR_SYSTEM", "power", JM_CH_GAUGE, JM_U_W, 0);
    for (int t = -2; t <= SECONDS + 2; t++)
        syn_reading(&s, p, t, 78 * (25 + (t + 4) / 5 % 2), JM_S_OK);
    end(&s);
    assert_int_equal(syn_findings(&s, "instrument.quantum"), 1);
    assert_non_null(strstr(text_of(&s, "instrument.quantum"), "steps of 78 W"));
    assert_int_equal(syn_findings(&s, "instrument.frozen") + syn_findings(&s, "instrument.stale"), 0);
    syn_end(&s);
}

/* 65535 W, the largest of 16 bits, of something that can draw 3 kW. */
static void beyond(void **state)
{
    struct syn s;
    (void)state;
    syn_begin(&s, "beyond");
    struct jm_channel c = {.domain = s.inlet,
                           .name = "power",
                           .device = "bmc",
                           .kind = JM_CH_GAUGE,
                           .unit = JM_U_W,
                           .sane_max = 3000,
                           .gain_tol = NAN,
                           .offset_tol = NAN};
    int p = syn_channel(&s, &c);
    for (int t = -2; t <= SECONDS + 2; t++)
        syn_reading(&s, p, t, t == 50 || t == 51 ? 65535 : 500 + t % 3, JM_S_OK);
    end(&s);
    assert_non_null(strstr(text_of(&s, "instrument.beyond"), "2 of 120 readings"));
    syn_end(&s);
}

/* HGX H100: its clock said 2020-12-11 on 2024-07-10, 1307 days behind. */
static void clocks(void **state)
{
    struct syn s;
    (void)state;
    syn_begin(&s, "clocks");
    int a = channel(&s, -1, "hgx", "clock.offset", JM_CH_GAUGE, JM_U_S, -9),
        b = channel(&s, -1, "good", "clock.offset", JM_CH_GAUGE, JM_U_S, -9),
        c = channel(&s, -1, "old", "age", JM_CH_GAUGE, JM_U_S, -9);
    for (int t = 0; t <= SECONDS; t++) {
        syn_reading(&s, a, t, -INT64_C(1307) * 86400 * 1000000000, JM_S_OK);
        syn_reading(&s, b, t, 40000000, JM_S_OK);
        syn_reading(&s, c, t, t * INT64_C(1000000000), JM_S_OK);
    }
    end(&s);
    assert_int_equal(syn_findings(&s, "instrument.clock"), 1);
    assert_non_null(strstr(text_of(&s, "instrument.clock"), "hgx is 1307 days behind"));
    assert_int_equal(syn_findings(&s, "instrument.stale"), 1);
    syn_end(&s);
}

static void configured(void **state)
{
    struct syn s;
    struct jm_err err = {0};
    (void)state;
    syn_begin(&s, "configured");
    struct jm_run_meter bad = {.name = "redfish",
                               .instance = "bmc1",
                               .state = "denied",
                               .reason = "wrong password"},
                        ok = {.name = "redfish", .instance = "bmc2", .state = "ok"};
    assert_true(jm_run_put_meter(s.w, &bad, &err) >= 0);
    assert_true(jm_run_put_meter(s.w, &ok, &err) >= 0);
    syn_env(&s, "instrument.bmc2.tls", "not verified");
    syn_env(&s, "instrument.bmc2.replies.lost", "3");
    end(&s);
    assert_int_equal(syn_findings(&s, "instrument.absent"), 1);
    assert_non_null(strstr(text_of(&s, "instrument.absent"), "bmc1 gave nothing: wrong password"));
    assert_non_null(strstr(text_of(&s, "instrument.tls"), "bmc2"));
    assert_non_null(strstr(text_of(&s, "instrument.replies"), "3 raw replies of bmc2"));
    syn_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units),      cmocka_unit_test(frozen), cmocka_unit_test(stale),
        cmocka_unit_test(quantum),    cmocka_unit_test(beyond), cmocka_unit_test(clocks),
        cmocka_unit_test(configured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
