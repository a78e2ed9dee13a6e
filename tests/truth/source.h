/* SPDX-License-Identifier: Apache-2.0 */
/* Instruments with a known truth, in virtual time: a waveform with exact integral, a counter or gauge that
 * refreshes at its own times, a reader that polls it. Shares no line with src/compute or sim/. */
#ifndef TRUTH_SOURCE_H
#define TRUTH_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "model/channel.h"

/* Piecewise linear power with its running integral. */
struct wave {
    double *t, *p, *q, *e; /* start of piece, power at its start and end, energy up to its start */
    size_t n, cap;
    size_t *hint;
    double end;
};

enum wave_kind { WAVE_CYCLE, WAVE_TELEGRAPH, WAVE_BURSTS, WAVE_OU, WAVE_RAMPS, WAVE_MIXED, WAVE_KINDS };
extern const char *const wave_names[WAVE_KINDS];

/* A random waveform of a kind over [0, len] s. */
void wave_make(struct wave *w, enum wave_kind kind, double len, struct jm_rng *rng);
/* 4 s at 700 W, 11 s at 300 W, which stands at `phase` s of its cycle at t = 0. */
void wave_cycle(struct wave *w, double len, double phase);
/* Ornstein-Uhlenbeck of known standard deviation and time constant. */
void wave_ou(struct wave *w, double len, double mean, double sd, double tau, struct jm_rng *rng);
void wave_free(struct wave *w);
double wave_energy(const struct wave *w, double t); /* from 0 to t */
double wave_power(const struct wave *w, double t);

/* What a device's register shows: mean over the last window before each of its refreshes, or the energy. */
struct device {
    const struct wave *w;
    bool counter;
    enum jm_gauge_sem sem;
    double period, jitter, phase, window;
    double base; /* counter: J at t = 0 */
    double unit; /* of a native count: J or W */
    uint64_t seed;
};
void device_random(struct device *d, const struct wave *w, struct jm_rng *rng);
double device_refresh(const struct device *d, int64_t k); /* time of its k-th refresh */
double device_value(const struct device *d, double t);    /* value that a read at t gets, in the unit */
int64_t device_native(const struct device *d, double value, double gain); /* as the register rounds it */
/* The channel as a meter would declare it. */
void device_channel(const struct device *d, struct jm_channel *c);

/* How it is read: every `every` s with a scheduling jitter, and every `burst` s within `reach` of an edge. */
struct reader {
    double from, to, every, late;
    double burst, reach; /* burst 0: no bursts */
    double edge[2];
    double cost; /* duration of one read */
};
#define EPOCH INT64_C(1000000000000) /* ns of the clock at t = 0 */
/* Values go to raw[] in the unit; out[].value is filled by reader_gain(). */
size_t reader_run(const struct reader *r, const struct device *d, struct jm_rng *rng, struct jm_reading *out,
                  double *raw, size_t cap);
void reader_gain(const struct device *d, const double *raw, size_t n, double gain, struct jm_reading *out);
int64_t stamp(double t);

#endif
