/* SPDX-License-Identifier: Apache-2.0 */
/* A channel is one quantity of a meter; a reading is one look at it. */
#ifndef JM_MODEL_CHANNEL_H
#define JM_MODEL_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "model/domain.h"
#include "model/words.h"

enum jm_channel_kind {
    JM_CH_COUNTER, /* cumulative energy */
    JM_CH_GAUGE,   /* power, temperature, clock, ... */
    JM_CH_STATE    /* bits or an enumeration: event reasons, MIG mode */
};

/* What one value of a power gauge means; decides how it is integrated. */
enum jm_gauge_sem {
    JM_G_INSTANT,       /* at the time of the refresh */
    JM_G_BLOCK_MEAN,    /* mean over the period that ended with the refresh; blocks are contiguous */
    JM_G_TRAILING_MEAN, /* mean over the last window_ns before the refresh, longer than the period */
    JM_G_PARTIAL        /* mean over the last window_ns of each longer period (25 of 100 ms) */
};

enum jm_channel_flag {
    JM_CHF_EDGE = 1 << 0,   /* worth reading in the bursts around window edges (energy counters, power) */
    JM_CHF_DOUBLE = 1 << 1, /* values are doubles by their bits: they did not fit an integer */
    JM_CHF_MIRROR =
        1 << 2, /* shows the same joules as another channel: never added (mmio RAPL, odd dies, MIG) */
    JM_CHF_PARTOF = 1 << 3,     /* sums rows of others by definition (psys) */
    JM_CHF_ON_REQUEST = 1 << 4, /* an estimate: exists only because it was asked for */
    JM_CHF_STAMPED = 1 << 5 /* stamps are the instrument's own: each reading is a refresh (PTDaemon logs) */
};

struct jm_channel {
    int id;          /* index in the run */
    int meter;       /* index of the meter in the run */
    char name[64];   /* "energy", "power.average", "power.instant", "power.limit", "clock.sm", "temp", ... */
    char device[96]; /* UUID, zone path, hwmon label: what the value belongs to */
    enum jm_channel_kind kind;
    enum jm_unit unit;
    int scale10,
        scale2;        /* value x 10^scale10 x 2^scale2 is in the unit: mJ is (-3, 0), 2^-16 J is (0, -16) */
    uint64_t modulus;  /* a counter wraps to 0 after modulus native counts; 0: not known to wrap */
    int64_t period_ns; /* refresh period; 0: not known (measured ones replace the documented ones) */
    bool period_measured;
    enum jm_gauge_sem sem;
    int64_t window_ns; /* averaging window of TRAILING_MEAN and PARTIAL; 0: not known */
    double gain_tol;   /* relative accuracy bound as published or calibrated (0.05 = 5 %); NAN: unknown */
    double offset_tol; /* absolute part in the unit; NAN: unknown */
    double sane_min, sane_max; /* sanity bound in the unit (power implied, for counters: W); both 0: none */
    enum jm_provenance provenance;
    int domain; /* id in the domain tree of the run */
    unsigned flags;
    char scope[16];  /* "gpu", "module", ... as the source names it; "" where it has none */
    char source[64]; /* call, file or field it comes from: "NVML field 186" */
};

/* Value of a native integer in the channel's unit. */
double jm_channel_value(const struct jm_channel *c, int64_t native);
/* Short text of kind and semantics for people: "counter", "gauge, 1 s trailing mean", ... */
const char *jm_channel_kind_name(int kind);
const char *jm_gauge_sem_name(int sem); /* "instant", "block-mean", "trailing-mean", "partial" */
int jm_channel_kind_parse(struct jm_span s);
int jm_gauge_sem_parse(struct jm_span s);

enum jm_reading_flag {
    JM_RF_EDGE = 1, /* taken in a burst around a window edge */
    JM_RF_PROBE = 2 /* taken in a self-test */
};

struct jm_reading {
    int64_t t0, t1; /* CLOCK_MONOTONIC ns before and after the read */
    int64_t value; /* native integer, or the bits of a double with JM_CHF_DOUBLE; meaningless unless status is
                      ok */
    uint32_t channel;
    uint8_t status; /* enum jm_status */
    uint8_t flags;  /* enum jm_reading_flag */
};

#endif
