/* SPDX-License-Identifier: Apache-2.0 */
/* Forming a result from a cut, shared by the metric files. */
#ifndef JM_COMPUTE_RATIO_H
#define JM_COMPUTE_RATIO_H

#include "compute/calc.h"

/* compute/trials.c: of intervals over trials, sequential where their number followed their scatter. */
const char *jm_trials_method(const struct jm_calc *c);
double jm_calc_level(const struct jm_calc *c);
/* A result row of the metric in the window (w NULL: whole run) at the cut's boundary (cut NULL: none). NULL:
 * no memory. */
struct jm_result *jm_calc_result(struct jm_calc *c, const struct jm_calc_window *w, const char *metric,
                                 const struct jm_cut *cut);
/* Interval of a value that is factor x the cut's energy; rel_extra: relative standard uncertainty of the
 * rest. */
void jm_calc_interval(const struct jm_calc *c, struct jm_quantity *q, const struct jm_cut *cut, double factor,
                      double rel_extra);
#define JM_EXCL_REPEATS "repeats (one trial)"
#define JM_EXCL_GAIN    "board gain (no calibration; published cards 0.87 to 1.15)"
#define JM_EXCL_OTHER   "instrument gain (no calibration)"

#endif
