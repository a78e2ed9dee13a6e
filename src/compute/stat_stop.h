/* SPDX-License-Identifier: Apache-2.0 */
/* When enough trials were made. Never by significance: stopping as soon as a difference is significant makes
 * false ones (Armitage, McPherson and Rowe, JRSS A 132 (1969) 235: with ten looks at 5 %, in 19 % of the
 * cases). What ends the trials is the width of the interval, or their number.
 *
 * JM_STOP_TWO_STAGE, Stein's (Annals of Mathematical Statistics 16 (1945) 243): `pilot` trials give s; their
 * number is then fixed at N = max(pilot, ceil(t² s² / h²)), t = t(1 - (1 - level)/2; pilot - 1), and the
 * interval is mean of all N ± t s / √N with s and degrees of freedom of the pilot alone. For normal trials it
 * covers at least `level` exactly, whatever the scatter: the mean of all is independent of s, and so of N.
 * More than `most` are not made: the interval then is wider than wanted, and covers all the same.
 *
 * JM_STOP_FIXED_WIDTH, Chow's and Robbins' (Annals of Mathematical Statistics 36 (1965) 457): after each
 * trial from `pilot` on, stop at the first n with t(n - 1) s_n / √n <= h. Fewer trials; it covers `level`
 * only as h -> 0, some points less at few trials (it stops more readily where s happens to be small), so that
 * it aims at 0.9 h; its result is called sequential. */
#ifndef JM_COMPUTE_STAT_STOP_H
#define JM_COMPUTE_STAT_STOP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/stats.h"

enum jm_stop_rule { JM_STOP_TWO_STAGE, JM_STOP_FIXED_WIDTH };

struct jm_stop_opts {
    enum jm_stop_rule rule;
    double half_width; /* wanted, in the unit of the trials, or as a part of the mean of the pilot */
    bool relative;
    size_t pilot; /* 0: 5; at least 2, for fixed width at least 3 */
    size_t most;  /* 0: 30 */
    double level; /* 0: 0.95 */
};
struct jm_stop {
    bool stop;
    bool reached; /* the interval is as narrow as was wanted */
    size_t total; /* trials there will be, as far as is known: two-stage from the pilot on; fixed width: a
                     guess */
    double mean;
    struct jm_interval interval; /* NAN before there are two trials */
    const char *method;          /* for the result: "t over trials, two-stage (Stein)" */
};
/* After each trial; x: all so far. */
int jm_stat_stop(const struct jm_stop_opts *o, const double *x, size_t n, struct jm_stop *out,
                 struct jm_err *err);

#endif
