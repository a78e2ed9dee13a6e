/* SPDX-License-Identifier: Apache-2.0 */
/* What instruments make of a plant. An instrument refreshes at its own times, which its own clock sets; a
 * refresh holds the mean over a window that ended then (or the energy since the start), times a gain, cut to
 * a quantum; it can be read a lag later. A reader polls it and stamps before and after.
 *
 *   refresh k:  T(k) = phase + k period (1 + drift) + jitter(k)       true time
 *   gauge:      gain x mean of the power over [T(k) - window, T(k)], rounded to the quantum
 *   counter:    gain x energy over [0, T(k)], whole quanta; a reset makes it begin again
 *   a read at t sees the last k with T(k) + lag <= t
 *   an instrument with stamps of its own says T(k) + offset + drift T(k) beside each value */
#ifndef SIM_NODE_INSTRUMENT_H
#define SIM_NODE_INSTRUMENT_H

#include "plant.h"

struct inst_conf {
    double period_s, window_s; /* window 0: the instant; equal to the period: blocks without a gap */
    double lag_s, jitter_s;
    double offset_s, drift_ppm; /* of its own clock */
    double quantum;             /* J or W */
    double gain;                /* NAN: drawn within tol */
    double tol;                 /* the accuracy that it states */
    double poll_s, cost_s;      /* how it is read: every, and how long one read takes */
    double reset_s;             /* counter: starts again so long after the window began; NAN: never */
    double off;                 /* 1: it is not there */
};

struct inst_kind {
    const char *name;  /* "bmc.power" */
    const char *meter; /* as joulemark calls the meter that would read it */
    const char *part;  /* kind of the part; each of that kind has one */
    const char *channel, *source, *help;
    bool counter, partial, stamped, burst, clock; /* clock: tells its own time when read */
    int scale10, scale2;                          /* of a native count */
    double native;                                /* the same as a number */
    uint64_t modulus;
    struct inst_conf conf; /* defaults */
};
extern const struct inst_kind inst_kinds[]; /* ends with name NULL */
#define INST_KINDS 9

/* One key of an instrument, "lag=1.5" (s, ppm, W or J). 0, or -1 with one sentence in why. */
int inst_set(struct inst_conf *c, const char *name, const char *key, const char *value, char *why, size_t n);
const char *inst_key_help(int i, const char **key); /* NULL past the last */

struct inst {
    const struct inst_kind *kind;
    struct inst_conf c;
    const struct plant *pl;
    int part;   /* in the plant */
    int number; /* among those of its kind */
    double phase_s, gain;
    uint64_t seed;
};
struct inst_reading {
    int64_t t0, t1; /* ns since the start, of the reader's clock, or as the instrument stamps */
    int64_t value;  /* native counts */
};

void inst_init(struct inst *in, const struct inst_kind *k, const struct inst_conf *c, const struct plant *pl,
               int part, int number, uint64_t seed);
/* True time of its refresh k, ns. */
int64_t inst_refresh(const struct inst *in, int64_t k);
int64_t inst_value(const struct inst *in, int64_t k);
/* Readings from the start to the end, in order; calls put for each. put returns non-zero to stop. */
int inst_read(const struct inst *in, int (*put)(void *self, const struct inst_reading *r), void *self);
/* Its own clock minus true time at t, ns. */
int64_t inst_clock(const struct inst *in, int64_t t);

#endif
