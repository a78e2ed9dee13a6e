/* SPDX-License-Identifier: Apache-2.0 */
/* Do the stated 95 % intervals hold the truth? Random windows of 2 to 60 s on random waveforms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "compute/compute.h"
#include "source.h"

#define WAVES  1000
#define PER    10
#define MARGIN 12.0
#define CAP    16384
#define GAIN   0.02

enum instrument { I_COUNTER, I_COUNTER_PLAIN, I_INSTANT, I_BLOCK, I_TRAILING, I_PARTIAL, I_COUNT };
static const char *const names[I_COUNT] = {"counter, bursts",   "counter, 10 Hz",      "gauge, instant",
                                           "gauge, block mean", "gauge, trailing 1 s", "gauge, 25 of 100 ms"};

struct tally {
    size_t n, in, none;
    double z2, half30, err30;
    size_t n30;
    double u[5];
};

static void setup(struct device *d, enum instrument i)
{
    d->counter = i <= I_COUNTER_PLAIN;
    d->sem = i == I_BLOCK      ? JM_G_BLOCK_MEAN
             : i == I_TRAILING ? JM_G_TRAILING_MEAN
             : i == I_PARTIAL  ? JM_G_PARTIAL
                               : JM_G_INSTANT;
    d->window = i == I_TRAILING ? 1.0 : i == I_PARTIAL ? 0.025 : 0;
}

static void add(struct tally *t, double err, double half, const struct jm_energy *e, double truth, double len)
{
    t->n++;
    t->in += fabs(err) <= half;
    t->z2 += err * err / (e->u * e->u);
    if (len > 25 && len < 35) {
        t->half30 += half / truth;
        t->err30 += err * err / truth / truth;
        t->n30++;
    }
}

static void show(const char *what, const char *wave, const struct tally *t)
{
    printf("# %-20s %-10s n %6zu  none %4zu  coverage %.4f  rms z %.2f  at 30 s: half-width %.4f %%, rms "
           "error %.4f %%\n",
           what, wave, t->n, t->none, t->n ? (double)t->in / (double)t->n : 0, sqrt(t->z2 / (double)t->n),
           100 * t->half30 / (double)t->n30, 100 * sqrt(t->err30 / (double)t->n30));
}

static struct jm_reading buf[CAP];

static void coverage(enum instrument which, bool gain, size_t waves, struct tally *total,
                     struct tally per[WAVE_KINDS])
{
    memset(total, 0, sizeof *total);
    memset(per, 0, WAVE_KINDS * sizeof per[0]);
    for (size_t i = 0; i < waves; i++) {
        struct jm_rng rng;
        jm_rng_init_stream(&rng, 20260101 + (uint64_t)which * 2 + gain, i);
        struct wave w;
        enum wave_kind kind = (enum wave_kind)(i % WAVE_KINDS);
        wave_make(&w, kind, 60 + 2 * MARGIN + 4, &rng);
        for (int k = 0; k < PER; k++) {
            struct device d;
            struct jm_channel c;
            struct jm_energy e;
            device_random(&d, &w, &rng);
            setup(&d, which);
            double g = gain ? (2 * jm_rng_unit(&rng) - 1) * GAIN : 0;
            d.gain = 1 + g;
            device_channel(&d, &c);
            if (gain)
                c.gain_tol = GAIN;
            double len = 2 + 58 * jm_rng_unit(&rng), at = MARGIN + 1 + (60 - len) * jm_rng_unit(&rng);
            struct reader r = {.from = at - MARGIN,
                               .to = at + len + MARGIN,
                               .every = 0.1,
                               .late = 0.001,
                               .cost = 5e-5,
                               .edge = {at, at + len}};
            if (which == I_COUNTER) {
                r.burst = 0.001;
                r.reach = getenv("TRUTH_REACH") ? strtod(getenv("TRUTH_REACH"), NULL) : 0.32;
            }
            size_t n = reader_run(&r, &d, &rng, buf, CAP);
            int rc = d.counter ? jm_energy_counter(&c, buf, n, stamp(at), stamp(at + len), &e)
                               : jm_energy_gauge(&c, buf, n, stamp(at), stamp(at + len), &e);
            assert_int_equal(rc, 0);
            if (!jm_energy_has_value(&e)) {
                total->none++;
                per[kind].none++;
                continue;
            }
            double truth = wave_energy(&w, at + len) - wave_energy(&w, at),
                   half = jm_energy_halfwidth(&e, 0.95, true);
            if (getenv("TRUTH_DEBUG"))
                printf("D %s %d z %.2f q %.2f %s ut %.3f us %.3f dof %.1f err %.3f\n", wave_names[kind],
                       which, (e.joules - truth) / e.u, (e.joules - truth) / half, e.note, e.u_timing,
                       e.u_shape, e.dof, e.joules - truth);
            add(total, e.joules - truth, half, &e, truth, len);
            add(&per[kind], e.joules - truth, half, &e, truth, len);
        }
        wave_free(&w);
    }
}

static void report(void **state)
{
    (void)state;
    size_t waves = getenv("TRUTH_WAVES") ? (size_t)strtoul(getenv("TRUTH_WAVES"), NULL, 10) : WAVES;
    int only = getenv("TRUTH_ONLY") ? (int)strtol(getenv("TRUTH_ONLY"), NULL, 10) : -1;
    for (int i = 0; i < I_COUNT; i++) {
        if (only >= 0 && i != only)
            continue;
        for (int gain = 0; gain < 2; gain++) {
            struct tally total, per[WAVE_KINDS];
            coverage((enum instrument)i, gain, waves, &total, per);
            for (int k = 0; k < WAVE_KINDS && !gain; k++)
                show(names[i], wave_names[k], &per[k]);
            show(names[i], gain ? "ALL, gain" : "ALL", &total);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(report)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
