/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const wave_names[WAVE_KINDS] = {"cycle", "telegraph", "bursts", "ou", "ramps", "mixed"};

static void piece(struct wave *w, double len, double p, double q)
{
    if (w->n + 2 > w->cap) {
        w->cap = w->cap ? 2 * w->cap : 1024;
        w->t = realloc(w->t, w->cap * sizeof(double));
        w->p = realloc(w->p, w->cap * sizeof(double));
        w->q = realloc(w->q, w->cap * sizeof(double));
        w->e = realloc(w->e, w->cap * sizeof(double));
        if (!w->hint)
            w->hint = calloc(1, sizeof *w->hint);
        if (!w->t || !w->p || !w->q || !w->e || !w->hint)
            abort();
    }
    if (w->n == 0)
        w->t[0] = w->e[0] = 0;
    size_t i = w->n++;
    w->p[i] = p;
    w->q[i] = q;
    w->t[i + 1] = w->t[i] + len;
    w->e[i + 1] = w->e[i] + len * (p + q) / 2;
    w->end = w->t[i + 1];
}

static size_t find(const struct wave *w, double t)
{
    size_t *hint = w->hint; /* readers go forward: mostly the same piece or the next */
    for (size_t i = *hint; i < w->n && i <= *hint + 2; i++)
        if (w->t[i] <= t && t < w->t[i + 1])
            return *hint = i;
    size_t lo = 0, hi = w->n;
    while (hi - lo > 1) {
        size_t m = (lo + hi) / 2;
        if (w->t[m] <= t)
            lo = m;
        else
            hi = m;
    }
    return *hint = lo;
}

double wave_power(const struct wave *w, double t)
{
    size_t i = find(w, t);
    double len = w->t[i + 1] - w->t[i], x = len > 0 ? (t - w->t[i]) / len : 0;
    return w->p[i] + (w->q[i] - w->p[i]) * (x < 0 ? 0 : x > 1 ? 1 : x);
}

double wave_energy(const struct wave *w, double t)
{
    size_t i = find(w, t);
    double len = w->t[i + 1] - w->t[i], dt = t - w->t[i];
    if (dt < 0)
        return w->p[i] * dt;
    if (dt > len)
        return w->e[i + 1] + w->q[i] * (dt - len);
    return w->e[i] + dt * (w->p[i] + (len > 0 ? (w->q[i] - w->p[i]) * dt / len / 2 : 0));
}

void wave_free(struct wave *w)
{
    free(w->t);
    free(w->p);
    free(w->q);
    free(w->e);
    free(w->hint);
    memset(w, 0, sizeof *w);
}

static double uniform(struct jm_rng *r, double a, double b)
{
    return a + (b - a) * jm_rng_unit(r);
}

static double log_uniform(struct jm_rng *r, double a, double b)
{
    return a * pow(b / a, jm_rng_unit(r));
}

void wave_cycle(struct wave *w, double len, double phase)
{
    memset(w, 0, sizeof *w);
    for (double at = -phase; at < len; at += 15) {
        double hi = at + 4, end = at + 15;
        if (hi > 0)
            piece(w, hi - fmax(at, 0), 700, 700);
        if (end > 0)
            piece(w, end - fmax(hi, 0), 300, 300);
    }
}

static void telegraph(struct wave *w, double len, struct jm_rng *r)
{
    double lo = uniform(r, 100, 350), hi = uniform(r, 400, 700);
    double up = log_uniform(r, 0.1, 3), down = log_uniform(r, 0.1, 3);
    bool on = jm_rng_unit(r) < 0.5;
    while (w->end < len) {
        piece(w, jm_rng_exp(r, on ? up : down), on ? hi : lo, on ? hi : lo);
        on = !on;
    }
}

/* Decode at 300 or 420 W, prefills of 20 to 60 ms at 650 W at random. */
static void bursts(struct wave *w, double len, struct jm_rng *r)
{
    double rate = log_uniform(r, 0.5, 10), dwell = log_uniform(r, 0.5, 5);
    double base = jm_rng_unit(r) < 0.5 ? 300 : 420, next = jm_rng_exp(r, dwell);
    while (w->end < len) {
        double gap = jm_rng_exp(r, 1 / rate);
        while (w->end + gap > next) {
            if (next > w->end) {
                gap -= next - w->end;
                piece(w, next - w->end, base, base);
            }
            base = base < 400 ? 420 : 300;
            next += jm_rng_exp(r, dwell);
        }
        piece(w, gap, base, base);
        piece(w, uniform(r, 0.02, 0.06), 650, 650);
    }
}

static void ou_pieces(struct wave *w, double len, double mean, double sd, double tau, struct jm_rng *r)
{
    double step = 0.004, a = exp(-step / tau), b = sd * sqrt(1 - a * a), x = sd * jm_rng_normal(r);
    while (w->end < len) {
        double y = a * x + b * jm_rng_normal(r);
        piece(w, step, fmax(mean + x, 40), fmax(mean + y, 40));
        x = y;
    }
}

void wave_ou(struct wave *w, double len, double mean, double sd, double tau, struct jm_rng *rng)
{
    memset(w, 0, sizeof *w);
    ou_pieces(w, len, mean, sd, tau, rng);
}

static void ou(struct wave *w, double len, struct jm_rng *r)
{
    double mean = uniform(r, 350, 550), sd = uniform(r, 10, 100);
    ou_pieces(w, len, mean, sd, log_uniform(r, 0.05, 5), r);
}

static void ramps(struct wave *w, double len, struct jm_rng *r)
{
    double p = uniform(r, 100, 700), shortest = log_uniform(r, 0.1, 2),
           longest = shortest * uniform(r, 2, 10);
    while (w->end < len) {
        double q = uniform(r, 100, 700);
        piece(w, uniform(r, shortest, longest), p, q);
        if (jm_rng_unit(r) < 0.3)
            piece(w, uniform(r, shortest, longest), q, q);
        p = q;
    }
}

/* Steps, prefills and noise at once, on a grid of 4 ms. */
static void mixed(struct wave *w, double len, struct jm_rng *r)
{
    struct wave a = {0}, b = {0};
    telegraph(&a, len + 1, r);
    bursts(&b, len + 1, r);
    double share = uniform(r, 0.2, 0.8), sd = uniform(r, 2, 20), tau = log_uniform(r, 0.02, 1), step = 0.004;
    double k = exp(-step / tau), s = sd * sqrt(1 - k * k), x = sd * jm_rng_normal(r);
    double at = 0;
    while (w->end < len) {
        double y = k * x + s * jm_rng_normal(r), from = at;
        at += step;
        double base = (share * (wave_energy(&a, at) - wave_energy(&a, from)) +
                       (1 - share) * (wave_energy(&b, at) - wave_energy(&b, from))) /
                      step;
        piece(w, step, fmax(base + x, 40), fmax(base + y, 40));
        x = y;
    }
    wave_free(&a);
    wave_free(&b);
}

void wave_make(struct wave *w, enum wave_kind kind, double len, struct jm_rng *rng)
{
    memset(w, 0, sizeof *w);
    switch (kind) {
    case WAVE_CYCLE: wave_cycle(w, len, uniform(rng, 0, 15)); break;
    case WAVE_TELEGRAPH: telegraph(w, len, rng); break;
    case WAVE_BURSTS: bursts(w, len, rng); break;
    case WAVE_OU: ou(w, len, rng); break;
    case WAVE_RAMPS: ramps(w, len, rng); break;
    default: mixed(w, len, rng); break;
    }
}

void device_random(struct device *d, const struct wave *w, struct jm_rng *rng)
{
    memset(d, 0, sizeof *d);
    d->w = w;
    d->period = uniform(rng, 0.099, 0.104);
    d->jitter = uniform(rng, 0, 0.002);
    d->phase = uniform(rng, 0, d->period);
    d->base = uniform(rng, 0, 1e9);
    d->unit = 1e-3;
    d->seed = jm_rng_u64(rng);
}

static double hash_unit(uint64_t seed, int64_t k)
{
    uint64_t z = seed + (uint64_t)k * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return (double)(z >> 11) * 0x1p-53;
}

double device_refresh(const struct device *d, int64_t k)
{
    return d->phase + (double)k * d->period + d->jitter * (hash_unit(d->seed, k) - 0.5);
}

double device_value(const struct device *d, double t)
{
    double at = t;
    if (d->period > 0) {
        int64_t k = (int64_t)floor((t - d->phase) / d->period) + 1;
        while (device_refresh(d, k) > t)
            k--;
        at = device_refresh(d, k);
        if (!d->counter && d->sem == JM_G_BLOCK_MEAN) {
            double from = device_refresh(d, k - 1);
            double mean = (wave_energy(d->w, at) - wave_energy(d->w, from)) / (at - from);
            return mean;
        }
    }
    if (d->counter)
        return wave_energy(d->w, at);
    if (d->window > 0)
        return (wave_energy(d->w, at) - wave_energy(d->w, at - d->window)) / d->window;
    return wave_power(d->w, at);
}

int64_t device_native(const struct device *d, double value, double gain)
{
    if (d->counter)
        return (int64_t)floor((d->base + gain * value) / d->unit);
    return llround(gain * value / d->unit);
}

void device_channel(const struct device *d, struct jm_channel *c)
{
    memset(c, 0, sizeof *c);
    c->kind = d->counter ? JM_CH_COUNTER : JM_CH_GAUGE;
    c->unit = d->counter ? JM_U_J : JM_U_W;
    c->scale10 = (int)lround(log10(d->unit));
    c->period_ns = d->period > 0 ? 100000000 : 0; /* as documented: not what this one does */
    c->sem = d->sem;
    c->window_ns = llround(d->window * 1e9);
    c->gain_tol = c->offset_tol = NAN;
}

int64_t stamp(double t)
{
    return EPOCH + llround(t * 1e9);
}

size_t reader_run(const struct reader *r, const struct device *d, struct jm_rng *rng, struct jm_reading *out,
                  double *raw, size_t cap)
{
    size_t n = 0;
    double next = r->from, grid = r->from;
    while (next < r->to && n < cap) {
        double cost = r->cost * uniform(rng, 0.5, 1.5), seen = next + cost * jm_rng_unit(rng);
        raw[n] = device_value(d, seen);
        out[n++] = (struct jm_reading){.t0 = stamp(next), .t1 = stamp(next + cost)};
        double end = next + cost, edge = NAN;
        while (grid <= end)
            grid += r->every;
        double plain = grid + uniform(rng, 0, r->late);
        for (int i = 0; i < 2 && r->burst > 0; i++)
            if (plain > r->edge[i] - r->reach && end < r->edge[i] + r->reach)
                edge = r->edge[i];
        if (isnan(edge))
            next = plain;
        else if (end < edge - r->reach)
            next = edge - r->reach;
        else
            next = next + fmax(r->burst * uniform(rng, 0.95, 1.1), cost);
    }
    return n;
}

void reader_gain(const struct device *d, const double *raw, size_t n, double gain, struct jm_reading *out)
{
    for (size_t i = 0; i < n; i++)
        out[i].value = device_native(d, raw[i], gain);
}
