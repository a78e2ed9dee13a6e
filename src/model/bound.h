/* SPDX-License-Identifier: Apache-2.0 */
/* How far can the energy of a window be off, at the very most? At each edge it is not known when exactly what
 * an instrument shows was drawn; that much time, times how much the power moved near the edge, is the most
 * that may have been put on the wrong side of it:
 *
 *     |dE| <= sum over both edges of  delta x (P_max - P_min near it)  +  quantum at each edge  +  accuracy
 *     delta = clocks (or half of the read's round trip) + refresh period + averaging window + poll interval
 *
 * A worst case, not an interval: the interval of a result (docs/uncertainty.md) says what is likely. */
#ifndef JM_MODEL_BOUND_H
#define JM_MODEL_BOUND_H

#include <stdbool.h>

struct jm_bound_edge {
    double clock_s; /* of stamps that another clock made, NAN: not known; else half of the round trip */
    double refresh_s, average_s; /* of the instrument */
    double poll_s;               /* distance of the readings there */
    double swing_w;              /* P_max - P_min near the edge */
};

struct jm_bound {
    double delta_s[2];
    double edges, quantum, accuracy, total; /* J; total is NAN when something is not known */
    bool no_accuracy;                       /* the instrument's accuracy is not known and not in it */
};

/* accuracy: J, NAN: not known (then it is left out, and no_accuracy says so). */
void jm_bound_make(const struct jm_bound_edge e[2], double quantum, double accuracy, struct jm_bound *out);
/* The length of a window that would keep the bound within tolerance (0.01: 1 %) at the same power and edges,
 * s; INFINITY where the accuracy alone is beyond it; NAN where nothing can be said. */
double jm_bound_needs(const struct jm_bound *b, double joules, double seconds, double tolerance);

#endif
