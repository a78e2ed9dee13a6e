/* SPDX-License-Identifier: Apache-2.0 */
/* Every instrument of the simulated node (GPUs, CPUs, BMC, PDU, analyzer) beside a pattern of load steps of
 * known times, in virtual time: its lag is found within max(50 ms, a quarter of its update period), over
 * several seeds of pattern, phase, noise of its refreshes and lag. An instrument with stamps of its own is
 * "late" by what its clock is ahead. One whose counter moves in steps that are too coarse must say so. */
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
#include "compute/lag.h"
#include "instrument.h"

#define NS    1e9
#define STEPS 14

struct book {
    struct jm_reading *r;
    size_t n, room;
};

static int put(void *self, const struct inst_reading *x)
{
    struct book *b = self;
    if (b->n == b->room) {
        b->room = b->room ? 2 * b->room : 16384;
        b->r = realloc(b->r, b->room * sizeof *b->r);
        assert_non_null(b->r);
    }
    b->r[b->n++] = (struct jm_reading){.t0 = x->t0, .t1 = x->t1, .value = x->value, .status = JM_S_OK};
    return 0;
}

/* Idle and full in turn, of random lengths; the first and last stretch are idle. Power of every part is what
 * it was in the mean, times 0.4 or 1.6. */
static void pattern(struct plant *pl, double slow, struct jm_rng *rng, struct jm_course *c)
{
    double *t = calloc(2 * STEPS + 2, sizeof *t), *y = calloc(2 * STEPS + 2, sizeof *y);
    assert_true(t && y);
    double at = 4 + 4 * slow, shortest = fmax(0.3, 0.7 * slow), longest = fmax(1.2, 3 * slow);
    size_t n = 1, total = pl->n;
    for (int i = 0; i < 2 * STEPS && at + longest + 4 + 4 * slow < (double)total * PLANT_STEP_NS / NS; i++) {
        t[n] = round(at * NS / PLANT_STEP_NS) * PLANT_STEP_NS / NS;
        y[n++] = i % 2 == 0;
        at += shortest + (longest - shortest) * jm_rng_unit(rng);
    }
    assert_true(n > 12);
    *c = (struct jm_course){t, y, n, (double)total * PLANT_STEP_NS / NS};
    for (int p = 0; p < pl->parts; p++) {
        struct plant_part *x = &pl->part[p];
        double mean = x->e[total] / c->end, e = 0;
        size_t k = 0;
        for (size_t i = 0; i < total; i++) {
            while (k + 1 < n && t[k + 1] <= ((double)i + 0.5) * PLANT_STEP_NS / NS)
                k++;
            x->p[i] = mean * (y[k] > 0 ? 1.6 : 0.4);
            x->e[i] = e;
            e += x->p[i] * PLANT_STEP_NS / NS;
        }
        x->e[total] = e;
    }
}

static struct jm_channel channel(const struct inst *in)
{
    struct jm_channel c = {.kind = in->kind->counter ? JM_CH_COUNTER : JM_CH_GAUGE,
                           .unit = in->kind->counter ? JM_U_J : JM_U_W,
                           .scale10 = in->kind->scale10,
                           .scale2 = in->kind->scale2,
                           .modulus = in->kind->modulus,
                           .period_ns = llround(in->c.period_s * NS),
                           .window_ns = llround(in->c.window_s * NS),
                           .flags = in->kind->stamped ? JM_CHF_STAMPED : 0};
    c.sem = !(in->c.window_s > 0) ? JM_G_INSTANT : JM_G_TRAILING_MEAN;
    return c;
}

static bool one(struct inst *in, const struct jm_course *course, struct book *b)
{
    struct jm_channel c = channel(in);
    double period = in->c.period_s, limit = fmax(0.05, period / 4);
    double truth =
        in->kind->stamped ? (double)inst_clock(in, llround(course->end / 2 * NS)) / NS : in->c.lag_s;
    struct jm_lag l;
    struct jm_err err = {0};
    b->n = 0;
    assert_int_equal(inst_read(in, put, b), 0);
    struct jm_shown *shown = calloc(b->n + 1, sizeof *shown);
    assert_non_null(shown);
    size_t n = jm_lag_shown(&c, b->r, b->n, 0, 0, INT64_MAX, period, shown, b->n);
    struct jm_lag_ask ask = {.window = in->kind->counter ? 0 : in->c.window_s,
                             .lag_min = fmin(-0.3, truth - 1),
                             .lag_max = fmax(1.8, 2 * truth + period)};
    assert_int_equal(jm_lag_find(course, 1, shown, n, &ask, &l, &err), 0);
    free(shown);
    double step = in->c.quantum / (in->kind->counter ? 1 : 1e9);
    if (in->kind->counter && step > 1000) {
        if (l.verdict == JM_LAG_OK && !(fabs(l.lag - truth) < 3 * l.u_lag))
            fail_msg("%s: counts %.0f J a step, and claims a lag of %.3f s", in->kind->name, step, l.lag);
        return false;
    }
    if (l.verdict != JM_LAG_OK)
        fail_msg("%s %d: %s (r %.3f, n %zu)", in->kind->name, in->number, l.why, l.r, l.n);
    if (!(fabs(l.lag - truth) <= limit))
        fail_msg("%s %d: lag %.4f s +- %.4f, truth %.4f s, limit %.3f s", in->kind->name, in->number, l.lag,
                 l.u_lag, truth, limit);
    return true;
}

static void every_instrument(void **state)
{
    (void)state;
    struct book b = {0};
    for (int k = 0; k < INST_KINDS; k++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct inst_conf c = inst_kinds[k].conf;
            struct plant pl;
            struct plant_conf pc;
            struct jm_rng rng;
            struct jm_course course;
            char why[200];
            int judged = 0, number = 0;
            double slow = fmax(c.period_s, c.window_s);
            jm_rng_init_stream(&rng, seed, (uint64_t)k);
            c.lag_s = fmax(c.lag_s, 1e-3) * (0.5 + 2 * jm_rng_unit(&rng));
            c.poll_s = fmin(c.poll_s, fmax(c.period_s / 5, 0.02)); /* as it is read beside steps of load */
            c.jitter_s = fmin(c.jitter_s, 0.1 * c.period_s);
            plant_defaults(&pc);
            pc.gpus = 2;
            pc.seed = (double)seed;
            pc.minutes = fmin(10, fmax(0.7, (2 * STEPS * 2.2 * fmax(0.6, slow)) / 60));
            if (plant_make(&pl, &pc, why, sizeof why))
                fail_msg("%s", why);
            pattern(&pl, slow, &rng, &course);
            for (int i = 0; i < pl.parts && !judged; i++) {
                struct inst in;
                if (strcmp(pl.part[i].kind, inst_kinds[k].part) != 0)
                    continue;
                inst_init(&in, &inst_kinds[k], &c, &pl, i, number++, seed);
                one(&in, &course, &b);
                judged++;
            }
            assert_int_equal(judged, 1);
            free((void *)course.t);
            free((void *)course.y);
            plant_free(&pl);
        }
    free(b.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_instrument)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
