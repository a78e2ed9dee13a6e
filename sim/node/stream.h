/* SPDX-License-Identifier: Apache-2.0 */
/* What was read in a simulated node, as neutral lines of JSON that any program can take in, and the truth
 * beside it. docs/sim.md describes both. */
#ifndef SIM_NODE_STREAM_H
#define SIM_NODE_STREAM_H

#include <stdio.h>

#include "instrument.h"

#define STREAM_MONO INT64_C(1000000000000)       /* the reader's monotonic clock at the start */
#define STREAM_REAL INT64_C(1767225600000000000) /* and UTC: 2026-01-01T00:00:00Z */

struct sim_readings {
    const struct plant *pl;
    const struct inst_conf *conf; /* INST_KINDS of them */
    const char *host, *driver;
    double truth_step_s;                 /* of the energies in the truth */
    double clock_error_s, clock_bound_s; /* of the host: ahead of UTC, and as it says; below 0: it does not */
};

/* 0, or -1: f cannot be written. */
int stream_readings(const struct sim_readings *s, FILE *f);
int stream_truth(const struct sim_readings *s, FILE *f);
/* Energy of every part between two times, s from the begin of the window. */
int stream_between(const struct sim_readings *s, double from_s, double to_s, FILE *f);

#endif
