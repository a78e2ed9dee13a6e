/* SPDX-License-Identifier: Apache-2.0 */
/* Random windows on random waveforms: does the stated interval hold the truth, and how wide is it? */
#ifndef TRUTH_COVERAGE_H
#define TRUTH_COVERAGE_H

#include "compute/compute.h"
#include "source.h"

/* 1,000 waveforms, 10 windows each: 10,000 windows of 2 to 60 s an instrument. JM_TRUTH_WAVES sets another
 * number for a quick look; what is asserted holds for the whole. */
#define WAVES     1000
#define PER_WAVE  10
#define RECORD    12.0 /* s of readings on each side of the window */
#define GAIN_TOL  0.02 /* the gain error is uniform within this */
#define MAX_POLLS 16384

struct instrument {
    const char *name;
    bool counter;
    enum jm_gauge_sem sem;
    double window; /* s, of the gauge */
    double every;  /* s between polls */
    double burst;  /* s between polls of the bursts around the edges; 0: none */
    double reach;  /* s of burst on each side of an edge */
    bool stamped;  /* each refresh is delivered with its stamp, period 1 s (a power analyzer) */
    int every_nth; /* only every n-th waveform; 0: all */
    int devices;   /* energy is the sum over that many devices that see the same power */
};

struct tally {
    size_t n, in, none;
    double z2, half2, err2,
        ref2;              /* squares of: error / u, half-width, error and reference's error (relative) */
    double half30, most30; /* half-width for windows near 30 s, relative: sum, largest */
    size_t n30;
};

struct outcome {
    struct tally all, wave[WAVE_KINDS]; /* without gain error */
    struct tally gain;                  /* with a gain error within the channel's tolerance */
    struct tally unknown; /* the same error, tolerance not known: the interval is about gain x energy */
};

void coverage(const struct instrument *list, size_t n, uint64_t seed, struct outcome *out);
void coverage_print(const char *name, const struct outcome *o);
/* Fails the test unless coverage is within [0.94, 0.97] for all three. */
void coverage_assert(const char *name, const struct outcome *o);

#endif
