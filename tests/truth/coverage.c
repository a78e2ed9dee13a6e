/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coverage.h"

static struct jm_reading polls[MAX_POLLS];
static double raw[MAX_POLLS];

/* What the textbook makes of the same readings, written without looking at src/compute: for a gauge the
 * trapezoid over the middle of what a value can stand for (half a documented refresh period and half its
 * averaging window before the poll); for a counter last value minus first value at the edges. Its error is
 * what the known errors of the instrument imply. */
static double textbook(const struct device *d, const struct instrument *in, size_t n, double from, double to)
{
    if (d->counter) {
        double a = NAN, b = NAN;
        for (size_t i = 0; i < n; i++) {
            double t = (double)(polls[i].t1 - EPOCH) * 1e-9;
            if (t <= from || isnan(a))
                a = raw[i];
            if (t <= to)
                b = raw[i];
        }
        return b - a;
    }
    double sum = 0, last = NAN, value = 0, lag = d->window / 2 + (in->stamped ? 0 : 0.05);
    if (d->sem == JM_G_BLOCK_MEAN)
        lag += in->stamped ? 0.5 : 0.05;
    for (size_t i = 0; i < n; i++) {
        double t = (double)(polls[i].t0 - EPOCH) * 1e-9 - lag, lo = fmax(last, from), hi = fmin(t, to);
        if (i > 0 && hi > lo) {
            double slope = (raw[i] - value) / (t - last);
            sum += (hi - lo) * (value + slope * ((hi + lo) / 2 - last));
        }
        last = t;
        value = raw[i];
    }
    return sum;
}

static void add(struct tally *t, const struct jm_energy *e, double half, double truth, double reference,
                double len)
{
    if (!jm_energy_has_value(e)) {
        t->none++;
        return;
    }
    double err = e->joules - truth, rel = half / truth;
    t->n++;
    t->in += fabs(err) <= half;
    t->z2 += err * err / (e->u * e->u);
    t->half2 += rel * rel;
    t->err2 += err * err / truth / truth;
    t->ref2 += reference * reference / truth / truth;
    if (len > 25 && len < 35) {
        t->half30 += rel;
        t->most30 = fmax(t->most30, rel);
        t->n30++;
    }
}

static void one_window(const struct instrument *in, const struct wave *w, enum wave_kind kind, double at,
                       double len, struct jm_rng *rng, struct outcome *o)
{
    struct jm_energy e[16], g[16], u[16], sum;
    double gain = 1 + (2 * jm_rng_unit(rng) - 1) * GAIN_TOL, reference = 0;
    int devices = in->devices > 1 ? in->devices : 1;
    double truth = wave_energy(w, at + len) - wave_energy(w, at);
    for (int i = 0; i < devices; i++) {
        struct device d;
        struct jm_channel c;
        device_random(&d, w, rng);
        d.counter = in->counter;
        d.sem = in->sem;
        d.window = in->window;
        if (in->stamped) {
            d.period = 0;
            d.window = 1;
        }
        device_channel(&d, &c);
        struct reader r = {.from = at - RECORD,
                           .to = at + len + RECORD,
                           .every = in->every,
                           .late = in->stamped ? 0 : 0.001,
                           .burst = in->burst,
                           .reach = in->reach,
                           .edge = {at, at + len},
                           .cost = in->stamped ? 0 : 5e-5};
        if (in->stamped) {
            r.from += jm_rng_unit(rng) - 1;
            c.flags = JM_CHF_STAMPED;
            c.period_ns = 1000000000;
            c.window_ns = 0;
        }
        size_t n = reader_run(&r, &d, rng, polls, raw, MAX_POLLS);
        assert_true(n < MAX_POLLS);
        if (in->stamped)
            d.window = 0;
        reference += textbook(&d, in, n, at, at + len) - truth;
        int (*energy)(const struct jm_channel *, const struct jm_reading *, size_t, int64_t, int64_t,
                      struct jm_energy *) = in->counter ? jm_energy_counter : jm_energy_gauge;
        reader_gain(&d, raw, n, 1, polls);
        assert_int_equal(energy(&c, polls, n, stamp(at), stamp(at + len), &e[i]), 0);
        reader_gain(&d, raw, n, gain, polls);
        assert_int_equal(energy(&c, polls, n, stamp(at), stamp(at + len), &u[i]), 0);
        g[i] = u[i];
        g[i].gain_bound =
            GAIN_TOL * fabs(g[i].joules); /* = what c.gain_tol = GAIN_TOL makes of it, checked below */
        if (o->all.n < 20) {
            struct jm_energy again;
            c.gain_tol = GAIN_TOL;
            assert_int_equal(energy(&c, polls, n, stamp(at), stamp(at + len), &again), 0);
            if (jm_energy_has_value(&again))
                assert_true(fabs(again.gain_bound - g[i].gain_bound) <= 1e-9 * g[i].gain_bound);
        }
    }
    truth *= devices;
    jm_energy_sum(e, (size_t)devices, &sum);
    double half = jm_energy_halfwidth(&sum, 0.95, true);
    add(&o->all, &sum, half, truth, reference, len);
    add(&o->wave[kind], &sum, half, truth, reference, len);
    jm_energy_sum(g, (size_t)devices, &sum);
    add(&o->gain, &sum, jm_energy_halfwidth(&sum, 0.95, true), truth, reference, len);
    jm_energy_sum(u, (size_t)devices, &sum);
    add(&o->unknown, &sum, jm_energy_halfwidth(&sum, 0.95, true), truth * gain, reference, len);
}

void coverage(const struct instrument *list, size_t n, uint64_t seed, struct outcome *out)
{
    const char *text = getenv("JM_TRUTH_WAVES");
    size_t waves = text ? (size_t)strtoul(text, NULL, 10) : WAVES;
    memset(out, 0, n * sizeof *out);
    for (size_t i = 0; i < waves; i++) {
        struct jm_rng rng;
        struct wave w;
        enum wave_kind kind = (enum wave_kind)(i % WAVE_KINDS);
        jm_rng_init_stream(&rng, seed, i);
        wave_make(&w, kind, 60 + 2 * RECORD + 4, &rng);
        for (int k = 0; k < PER_WAVE; k++) {
            double len = 2 + 58 * jm_rng_unit(&rng), at = RECORD + 2 + (60 - len) * jm_rng_unit(&rng);
            for (size_t j = 0; j < n; j++)
                if (list[j].every_nth < 2 || i / WAVE_KINDS % (size_t)list[j].every_nth == 0)
                    one_window(&list[j], &w, kind, at, len, &rng, &out[j]);
        }
        wave_free(&w);
    }
}

static double ratio(const struct tally *t)
{
    return sqrt(t->half2 / t->ref2) / 1.96;
}

static void row(const char *name, const char *what, const struct tally *t)
{
    double n = t->n ? (double)t->n : 1;
    printf("# %-22s %-12s n %5zu  none %3zu  coverage %.4f  rms z %5.2f  half-width: %.4f %% at 30 s, %.2f x "
           "implied\n",
           name, what, t->n, t->none, (double)t->in / n, sqrt(t->z2 / n),
           100 * t->half30 / (double)(t->n30 ? t->n30 : 1), ratio(t));
}

void coverage_print(const char *name, const struct outcome *o)
{
    for (int k = 0; k < WAVE_KINDS; k++)
        row(name, wave_names[k], &o->wave[k]);
    row(name, "all", &o->all);
    row(name, "gain known", &o->gain);
    row(name, "gain unknown", &o->unknown);
}

static void hold(const char *name, const char *what, const struct tally *t)
{
    double c = (double)t->in / (double)t->n;
    if (!(c >= 0.94 && c <= 0.97))
        fail_msg("%s, %s: the 95 %% interval holds the truth in %.2f %% of %zu windows", name, what, 100 * c,
                 t->n);
}

void coverage_assert(const char *name, const struct outcome *o)
{
    hold(name, "no gain error", &o->all);
    hold(name, "gain error within its tolerance", &o->gain);
    hold(name, "gain error not known", &o->unknown);
    assert_true(o->all.none == 0);
}
