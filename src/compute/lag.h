/* SPDX-License-Identifier: Apache-2.0 */
/* How far behind is an instrument? A known course of power (the schedule of a load, or a faster instrument)
 * is laid over what the instrument showed, at every lag, and the best fit counts: cross-correlation by the
 * model
 *
 *     value at refresh t  =  offset + gain x mean of the course over [t - lag - window, t - lag]
 *
 * which knows when the instrument refreshed (to a bracket) and how long it averages, so that the lag is what
 * is left: neither half of the averaging window nor the age of a value is in it. Pure; times are seconds. */
#ifndef JM_COMPUTE_LAG_H
#define JM_COMPUTE_LAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/channel.h"

/* A stretch of the course that is known: y[i] from t[i] to t[i + 1], the last one to end. t ascends. */
struct jm_course {
    const double *t, *y;
    size_t n;
    double end;
};

struct jm_shown {
    double at, h; /* middle and width of the bracket in which the instrument refreshed */
    double mean; /* the value is a mean over this time before (a counter's own interval); NAN: the window's */
    double y;
};

enum jm_lag_verdict {
    JM_LAG_OK,
    JM_LAG_FEW,       /* too few values to tell */
    JM_LAG_CONSTANT,  /* the instrument showed one value, or the course has no step */
    JM_LAG_UNSEEN,    /* what it shows does not follow the course */
    JM_LAG_AMBIGUOUS, /* another lag fits as well: a course that repeats itself */
    JM_LAG_BEYOND     /* the best fit is at the end of what was searched */
};
const char *jm_lag_verdict_name(int v); /* "ok", "few", "constant", "unseen", "ambiguous", "beyond" */

struct jm_lag_ask {
    double window;           /* averaging window, s; NAN: to be found too */
    double window_max;       /* then at most */
    double lag_min, lag_max; /* searched; a faster reference may itself be late: below 0 */
};

struct jm_lag {
    enum jm_lag_verdict verdict;
    double lag, u_lag;                     /* s, and its standard uncertainty; NAN unless ok */
    double window, u_window;               /* as asked (then u is 0) or found */
    double gain, u_gain, offset, u_offset; /* value = offset + gain x course */
    double r;                              /* correlation at the best lag; NAN where none */
    double next_r;                         /* of the best lag that is another one; NAN: there is none */
    double confidence;                     /* 1 - likelihood of that one over the best one */
    double rms;                            /* of what is left, in the unit of the values */
    size_t n;                              /* values that took part */
    char why[160];                         /* unless ok: one sentence */
};

/* JM_EINVAL: the question makes no sense. JM_ENOMEM. All that the values do wrong is a verdict. */
int jm_lag_find(const struct jm_course *course, size_t n_course, const struct jm_shown *shown, size_t n,
                const struct jm_lag_ask *ask, struct jm_lag *out, struct jm_err *err);

/* What a channel showed between two moments, as refreshes. period: s, 0: not known. out has room for cap;
 * returns how many. Origin of the seconds: origin, ns. */
size_t jm_lag_shown(const struct jm_channel *c, const struct jm_reading *r, size_t n, int64_t origin,
                    int64_t t0, int64_t t1, double period, struct jm_shown *out, size_t cap);

/* The refresh period from the times at which the value changed: the longest period of which all distances are
 * multiples. poll: typical distance of the readings. False: too few changes, or no common period. */
struct jm_period {
    double period, u; /* s */
    double poll;      /* distance of the readings; a period below three of them cannot be told */
    double score;     /* 1: every distance is a multiple */
    size_t n;
    bool below; /* it changes with (nearly) every reading: the period is at most `period` */
};
bool jm_period_find(const struct jm_reading *r, size_t n, struct jm_period *out);

#endif
