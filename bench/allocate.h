/* SPDX-License-Identifier: Apache-2.0 */
/* Methods of allocation on a simulated run, held against its truth. */
#ifndef BENCH_ALLOCATE_H
#define BENCH_ALLOCATE_H

#include "compute/phase.h"

#include "batching.h"

enum allocate_method {
    ALLOCATE_TOKEN,
    ALLOCATE_TIME,
    ALLOCATE_EQUAL,
    ALLOCATE_FREE,
    ALLOCATE_D2,
    ALLOCATE_METHODS
};

struct allocate_opts {
    bool no_steps; /* the engine's iteration counter is not known */
    bool no_queue; /* nor are its queue and prefill times: a prefill begins when the request was sent */
    double idle;   /* error of the pinned idle power: 0.5 is half of it; 0: 1 */
    bool summed;   /* pools: the counters of both are added, and nobody knows of the pools */
};

struct allocate_result {
    double share, truth;   /* of prefill */
    double net, net_truth; /* the same of what is above idle power and steps: marginal */
    double median, p90;    /* of the absolute relative error a request */
    double *error;         /* of each request, n of them; free */
    size_t n;
    int64_t closure_mj; /* sum of all parts, rounded as shown, minus what the counters say */
    struct jm_phase_fit fit[2];
};

int allocate(const struct batching *b, const struct allocate_opts *o, enum allocate_method m,
             struct allocate_result *out);
double allocate_quantile(double *v, size_t n, double q); /* sorts */

#endif
