/* SPDX-License-Identifier: Apache-2.0 */
/* Known steps of load: idle and full in turn, of random lengths, so that no lag fits but the right one. Each
 * change is a mark of the run (model/steps.h), at the moment when it was made. */
#ifndef JM_RECORD_STEP_H
#define JM_RECORD_STEP_H

#include "record/record.h"

/* What makes the load. set is called at each change: on or off; it returns 0 or a negative JM_E*. */
struct jm_step_load {
    int (*set)(void *self, bool on, struct jm_err *err);
    void *self;
};

struct jm_step_plan {
    int steps;                 /* changes to full; 0: 8 */
    int64_t shortest, longest; /* dwells, ns; 0: 150 ms and 900 ms */
    int64_t rest;              /* idle before and after, ns; 0: 2 s */
    uint64_t seed;
};

/* How long all of it takes at most, ns. */
int64_t jm_step_length(const struct jm_step_plan *p);
/* Blocks until the pattern is over, or *cancel becomes true (then the load is off and JM_ESTATE comes back).
 */
int jm_step_play(struct jm_recorder *r, const struct jm_clock *clock, const struct jm_step_plan *plan,
                 const struct jm_step_load *load, const volatile bool *cancel, struct jm_err *err);

/* A load of this host's CPUs: one thread a CPU that this process may use, which computes while it is on. */
struct jm_burner;
int jm_burner_new(struct jm_burner **out, struct jm_err *err);
struct jm_step_load jm_burner_load(struct jm_burner *b);
void jm_burner_free(struct jm_burner *b); /* b may be NULL */

#endif
