/* SPDX-License-Identifier: Apache-2.0 */
/* The meters of a source: which channels count, and their 1 s means. */
#ifndef JM_MLPERF_MSOURCE_TAKE_H
#define JM_MLPERF_MSOURCE_TAKE_H

#include <pthread.h>
#include <stdatomic.h>

#include "meter/meter.h"
#include "mlperf/source.h"

#define JM_TAKE_METERS   24
#define JM_TAKE_CHANNELS 64
#define JM_TAKE_SECONDS  (14 * 24 * 3600)

/* One channel that counts: its cumulative energy from reading to reading. */
struct jm_take_channel {
    int meter, channel, domain;
    bool counter;
    bool begun;     /* there was a good reading */
    int64_t t;      /* of the last good reading, mono ns */
    double joules;  /* up to then */
    int64_t native; /* counter: its last value */
    double watts;   /* gauge: its last value */
    int64_t next;   /* boundary that comes next, in seconds from go */
    double at_next; /* joules at the boundary before it; NAN: not known */
};

struct jm_take {
    struct jm_clock clock;
    struct jm_domain_tree tree;
    struct jm_meter *m[JM_TAKE_METERS];
    int n_m;
    struct jm_take_channel c[JM_TAKE_CHANNELS];
    int n;
    int volts[2], amps[2], pf[2]; /* meter and channel, -1: none */
    bool simulated;
    enum jm_provenance provenance;
    /* between go and stop */
    struct jm_reading *buf; /* room for the meter with most channels */
    int64_t go, step;
    atomic_bool stop, lost;
    pthread_t thread;
    bool running;
    int64_t seconds, room; /* boundaries that some channel has passed */
    double *w;             /* [second][channel], NAN: not known */
    double (*vap)[3];      /* [second]: volts, amps, power factor */
    double sum[3];
    int64_t count[3], vap_next;
    struct jm_clock_pair pair;
};

/* meters: names to open, ends with NULL; NULL: all that can be read without being named. */
int jm_take_open(struct jm_take *t, const struct jm_meter_env *env, const char *const *meters,
                 struct jm_err *err);
void jm_take_close(struct jm_take *t);
/* "wall", "node", "device{gpu,package,dram}" and the like. */
void jm_take_boundary(const struct jm_take *t, char out[128]);

int jm_take_go(struct jm_take *t, struct jm_err *err);
void jm_take_stop(struct jm_take *t);
/* After stop: second k, 0 to jm_take_seconds - 1. */
int64_t jm_take_seconds(const struct jm_take *t);
void jm_take_sample(const struct jm_take *t, int64_t k, struct jm_mlperf_sample *out);

/* For tests: one round of readings, as the thread does. */
void jm_take_step(struct jm_take *t);
/* For tests: as jm_take_go without a thread. */
int jm_take_begin(struct jm_take *t, struct jm_err *err);

#endif
