/* SPDX-License-Identifier: Apache-2.0 */
/* A scripted meter: counters and a gauge with a known power, and ways to misbehave. */
#ifndef TESTS_RECORD_FAKE_H
#define TESTS_RECORD_FAKE_H

#include <stdatomic.h>

#include "meter/meter.h"

#define FAKE_MOST 8

struct fake {
    const char *name;
    int counters;                            /* each a device of its own, mJ */
    int64_t refresh_ns;                      /* of the counters */
    double (*watts)(int counter, int64_t t); /* piecewise constant below 1 ms; NULL: 300 + 100 x counter */
    double distort;           /* J that every read costs every device, as its next refresh shows */
    int64_t read_ns;          /* time that a read takes (virtual: the clock is moved) */
    _Atomic int64_t dies_at;  /* mono; 0: never */
    _Atomic int64_t hangs_at; /* mono; 0: never. A read then comes back only after release */
    bool no_gauge;
    enum jm_probe_state state; /* what probe says */
    int open_rc;
    _Atomic int64_t uses_pid; /* find_process: device 1 is used by it */
    int find_rc;
    /* what happened */
    atomic_int reads, fast_reads, opened, closed;
    atomic_bool release;
    /* its own */
    double joules[FAKE_MOST];
    int64_t at[FAKE_MOST]; /* time of the last refresh */
    double extra, had[FAKE_MOST];
};

/* Slots 0 and 1 are the meters of fake_registry; set them up before the recorder opens them. */
extern struct fake fake_slot[2];
extern const struct jm_meter_ops *const fake_registry[]; /* "fake0", "fake1" */
/* Exact energy of a counter's device over [t0, t1], by the power it was given. */
double fake_truth(const struct fake *f, int counter, int64_t t0, int64_t t1);

#endif
