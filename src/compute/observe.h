/* SPDX-License-Identifier: Apache-2.0 */
/* From polled readings of a gauge to observations: what value, taken when. A poll sees the last refresh; how
 * old that is lies between 0 and the refresh period, and a change of value brackets it. Repeats are data: a
 * value that stands for longer than a period was refreshed with the same value. */
#ifndef JM_COMPUTE_OBSERVE_H
#define JM_COMPUTE_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/channel.h"

struct jm_observation {
    double at;      /* s from the origin: the refresh that the value comes from (middle of its bracket) */
    double h;       /* width of that bracket, s */
    double value;   /* in the channel's unit */
    bool after_gap; /* readings failed, or came too late, since the one before */
};

struct jm_observer {
    const struct jm_channel *c;
    const struct jm_reading *r;
    size_t n, i;
    int64_t origin;
    double period;    /* refresh period, s; 0: not known */
    double step;      /* s: a value that stands longer was refreshed, or polled, again: max(period, poll) */
    double gap_limit; /* s: readings further apart than this leave a gap */
    /* state */
    bool has_prev, bad;
    double prev_t0, prev_t1, prev_at, prev_value;
    int64_t prev_native;
    size_t holds; /* repeats still to be given before `next` */
    double hold_step;
    bool has_next;
    struct jm_observation next;
    int first_bad,
        last_bad; /* enum jm_status of readings that failed before the first, after the last ok one */
};

void jm_observer_init(struct jm_observer *o, const struct jm_channel *c, const struct jm_reading *r, size_t n,
                      int64_t origin, double period, double poll, double gap_limit);
bool jm_observer_next(struct jm_observer *o, struct jm_observation *out);

/* a - b in seconds, without overflow. */
static inline double jm_seconds_between(int64_t a, int64_t b)
{
    int64_t d;
    if (__builtin_sub_overflow(a, b, &d))
        return (double)a * 1e-9 - (double)b * 1e-9;
    return (double)d * 1e-9;
}
/* a + b in ns; the end of time where that is beyond it. */
int64_t jm_add_ns(int64_t a, int64_t b);

#endif
