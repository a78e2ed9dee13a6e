/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of load that a run made on purpose, and how late each channel follows them. */
#ifndef JM_COMPUTE_STEPS_H
#define JM_COMPUTE_STEPS_H

#include "compute/lag.h"
#include "run/run.h"

/* The courses of all patterns, 0 idle and 1 full; seconds are relative to the first step's mark. */
struct jm_steps {
    struct jm_course *course;
    size_t n;
    int64_t origin;      /* mono ns */
    int64_t first, last; /* mono ns */
    double *room;
    int reference; /* channel whose readings are the course; -1: the steps themselves */
};
/* A run without steps has n == 0. JM_ENOMEM. */
int jm_steps_of(const struct jm_run *run, struct jm_steps *out, struct jm_err *err);
void jm_steps_release(struct jm_steps *s);

/* A load whose power does not follow its steps at once (an engine that is asked): the course is then that of
 * the fastest instrument that followed, of equally fast ones the better one; lags are behind that one. The
 * run says which kind of load it was (env steps.load: "cpu" or "engine"); nothing happens for "cpu".
 * JM_EABSENT: no instrument followed. */
int jm_steps_by_instrument(const struct jm_run *run, struct jm_steps *s, struct jm_err *err);

/* Lag of one channel by the steps; its window is taken as the channel states it, and found where it does not.
 * A run without steps, and a channel that is no energy or power, are JM_EABSENT. */
int jm_steps_lag(const struct jm_run *run, const struct jm_steps *s, const struct jm_channel *c,
                 bool free_window, struct jm_lag *out, struct jm_period *period, struct jm_err *err);

#endif
