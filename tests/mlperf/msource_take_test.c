/* SPDX-License-Identifier: Apache-2.0 */
/* 1 s means of a meter, in virtual time: what is expected is worked out by hand beside each case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "mlperf/msource.h"
#include "mlperf/msource_take.h"

/* One meter of one channel, whose value is set by the test. */
static int64_t value;
static uint8_t status;

static size_t fake_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                        struct jm_reading *out)
{
    (void)set;
    int64_t now = jm_clock_mono(clock);
    for (size_t i = 0; i < m->n_chan; i++)
        out[i] = (struct jm_reading){
            .t0 = now, .t1 = now, .value = value, .channel = (uint32_t)i, .status = status};
    return m->n_chan;
}

static const struct jm_meter_ops fake = {.name = "fake", .read = fake_read};

struct fix {
    struct jm_vclock vc;
    struct jm_channel chan;
    struct jm_meter m;
    struct jm_reading buf[4];
    struct jm_take t;
};

static void setup(struct fix *f, enum jm_channel_kind kind, enum jm_gauge_sem sem, uint64_t modulus)
{
    memset(f, 0, sizeof *f);
    f->t.clock = jm_clock_virtual(&f->vc, NULL);
    f->vc.real_offset = 1000 * JM_NS_PER_S;
    f->chan = (struct jm_channel){.kind = kind,
                                  .unit = kind == JM_CH_COUNTER ? JM_U_J : JM_U_W,
                                  .scale10 = -3,
                                  .sem = sem,
                                  .modulus = modulus};
    f->m = (struct jm_meter){.ops = &fake, .chan = &f->chan, .n_chan = 1, .alive = true};
    f->t.m[0] = &f->m;
    f->t.n_m = 1;
    f->t.n = 1;
    f->t.c[0] = (struct jm_take_channel){.counter = kind == JM_CH_COUNTER};
    f->t.buf = f->buf;
    f->t.volts[0] = f->t.amps[0] = f->t.pf[0] = -1;
    value = 0;
    status = JM_S_OK;
    struct jm_err err = {0};
    assert_int_equal(jm_take_begin(&f->t, &err), 0);
}

static void at(struct fix *f, double seconds, int64_t v)
{
    f->vc.own = (int64_t)(seconds * 1e9);
    value = v;
    jm_take_step(&f->t);
}

static double watts(struct fix *f, int64_t k)
{
    struct jm_mlperf_sample s;
    jm_take_sample(&f->t, k, &s);
    /* it ends k + 1 s after go, which was at 1000 s of real time */
    assert_true(s.real_ns == (1000 + k + 1) * JM_NS_PER_S);
    assert_true(isnan(s.sum.volts) && isnan(s.sum.pf) && s.n_channels == 0);
    return s.sum.watts;
}

static void done(struct fix *f)
{
    f->t.buf = NULL;
    f->t.n_m = 0;
    jm_take_close(&f->t);
}

/* 0, 300, 700, 1900 J at 0, 0.6, 1.2, 2.4 s. At 1 s: 300 + 400 x 0.4/0.6 = 566.667; at 2 s: 700 + 1200 x
 * 0.8/1.2 = 1500. */
static void counter(void **state)
{
    struct fix f;
    (void)state;
    setup(&f, JM_CH_COUNTER, JM_G_INSTANT, 0);
    at(&f, .6, 300000);
    at(&f, 1.2, 700000);
    at(&f, 2.4, 1900000);
    assert_int_equal(jm_take_seconds(&f.t), 2);
    assert_true(fabs(watts(&f, 0) - 566.6666667) < 1e-6);
    assert_true(fabs(watts(&f, 1) - 933.3333333) < 1e-6);
    done(&f);
}

/* Wraps at 1000 J: 900 J, then 100 J at 1.2 s are 200 J more: 900 + 200 x 0.5 = 1000 J in the first second.
 */
static void wraps(void **state)
{
    struct fix f;
    (void)state;
    setup(&f, JM_CH_COUNTER, JM_G_INSTANT, 1000000);
    at(&f, .8, 900000);
    at(&f, 1.2, 100000);
    at(&f, 2.2, 300000);
    assert_true(fabs(watts(&f, 0) - 1000) < 1e-6);
    done(&f);
    /* one that is not known to wrap has started again: its second is not known, and so is not the next */
    setup(&f, JM_CH_COUNTER, JM_G_INSTANT, 0);
    at(&f, .8, 900000);
    at(&f, 1.2, 100000);
    at(&f, 2.2, 300000);
    at(&f, 3.2, 600000);
    assert_true(isnan(watts(&f, 0)));
    assert_true(isnan(watts(&f, 1)));
    assert_true(fabs(watts(&f, 2) - 280) < 1e-6); /* 200 x 0.2 + 300 x 0.8 */
    done(&f);
}

/* Block means: 100 W up to 0.5 s, 300 W up to 1.5 s, 200 W up to 2.5 s: 50 + 150 = 200 W, then 150 + 100 =
 * 250 W. */
static void block_means(void **state)
{
    struct fix f;
    (void)state;
    setup(&f, JM_CH_GAUGE, JM_G_BLOCK_MEAN, 0);
    at(&f, .5, 100000);
    at(&f, 1.5, 300000);
    at(&f, 2.5, 200000);
    assert_true(fabs(watts(&f, 0) - 200) < 1e-6);
    assert_true(fabs(watts(&f, 1) - 250) < 1e-6);
    done(&f);
}

/* Instants at 0, 1, 2 s of 0, 200, 400 W: straight lines between: 100 W, then 300 W. */
static void instants(void **state)
{
    struct fix f;
    (void)state;
    setup(&f, JM_CH_GAUGE, JM_G_INSTANT, 0);
    at(&f, 1, 200000);
    at(&f, 2, 400000);
    assert_int_equal(jm_take_seconds(&f.t), 2);
    assert_true(fabs(watts(&f, 0) - 100) < 1e-6);
    assert_true(fabs(watts(&f, 1) - 300) < 1e-6);
    done(&f);
}

/* Nothing good from 1.2 to 4.2 s: seconds 2 to 5 are not known, never 0; a short gap is bridged. */
static void gaps(void **state)
{
    struct fix f;
    (void)state;
    setup(&f, JM_CH_GAUGE, JM_G_BLOCK_MEAN, 0);
    at(&f, .6, 100000);
    status = JM_S_GAP;
    at(&f, .9, 0);
    status = JM_S_OK;
    at(&f, 1.2, 100000);
    status = JM_S_IMPLAUSIBLE;
    for (double t = 1.5; t < 4; t += .3)
        at(&f, t, 999999999);
    status = JM_S_OK;
    at(&f, 4.2, 100000);
    at(&f, 5.2, 100000);
    at(&f, 6.2, 100000);
    assert_int_equal(jm_take_seconds(&f.t), 6);
    assert_true(fabs(watts(&f, 0) - 100) < 1e-6);
    for (int64_t k = 1; k <= 4; k++)
        assert_true(isnan(watts(&f, k)));
    assert_true(fabs(watts(&f, 5) - 100) < 1e-6);
    assert_true(isnan(watts(&f, 6))); /* none taken */
    done(&f);
}

static void lost(void **state)
{
    struct fix f;
    (void)state;
    setup(&f, JM_CH_GAUGE, JM_G_INSTANT, 0);
    f.m.alive = false;
    status = JM_S_LOST;
    at(&f, 1, 0);
    assert_true(atomic_load(&f.t.lost));
    assert_int_equal(jm_take_seconds(&f.t), 0);
    done(&f);
}

static void names(void **state)
{
    static const char *const bad[] = {"",          "ptd",   "nonsense",       "yokogawa",
                                      "yokogawa:", "meter", "meter:nonsense", "software:nvml"};
    struct jm_meter_env env = {0};
    struct jm_mlperf_source s;
    (void)state;
    assert_true(jm_mlperf_msource_is("software") && jm_mlperf_msource_is("yokogawa:tcp://h:1"));
    assert_false(jm_mlperf_msource_is("ptd") || jm_mlperf_msource_is("soft") ||
                 jm_mlperf_msource_is("meters:x"));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct jm_err err = {0};
        assert_int_equal(jm_mlperf_msource_new(bad[i], "", &env, &s, &err), JM_EUSAGE);
        assert_true(err.text[0] && !s.self);
    }
    struct jm_err err = {0};
    assert_int_equal(jm_mlperf_msource_new("meter", "nvml", &env, &s, &err), 0);
    assert_false(s.ops->official);
    assert_non_null(strstr(s.ops->notice, "not an official measurement"));
    jm_mlperf_msource_free(&s);
    jm_mlperf_msource_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counter),     cmocka_unit_test(wraps),
                                       cmocka_unit_test(block_means), cmocka_unit_test(instants),
                                       cmocka_unit_test(gaps),        cmocka_unit_test(lost),
                                       cmocka_unit_test(names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
