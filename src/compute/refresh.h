/* SPDX-License-Identifier: Apache-2.0 */
/* When did the instrument itself refresh? Found from its readings: a value that differs from the one before
 * was written between the start of the earlier read and the end of this one. Bursts around an edge make that
 * bracket as narrow as the polling. Shared by counters and gauges. */
#ifndef JM_COMPUTE_REFRESH_H
#define JM_COMPUTE_REFRESH_H

#include "compute/shape.h"
#include "model/channel.h"

/* One refresh of a cumulative energy: when (a bracket) and what it stood at. Seconds are relative to an
 * origin that the owner chose, joules to the first reading. */
struct jm_refresh {
    double lo, hi;
    double joules;
};

#define JM_EDGE_SIDE 5
struct jm_edge {
    double t;                                                    /* s */
    struct jm_refresh before[JM_EDGE_SIDE], after[JM_EDGE_SIDE]; /* nearest first */
    int n_before, n_after;
};
/* Refreshes must come in order of time. */
void jm_edge_push(struct jm_edge *e, const struct jm_refresh *r);

enum jm_edge_rule { JM_EDGE_LINEAR, JM_EDGE_CUBIC, JM_EDGE_STEP, JM_EDGE_FLAT, JM_EDGE_EXTRAPOLATED };
const char *jm_edge_rule_name(int rule);

struct jm_edge_value {
    double joules; /* cumulative energy at the edge */
    double watts;  /* mean power of the refresh interval that holds it */
    double u_timing, u_shape, u_quantum, dof_shape;
    double bracket; /* wider of the two refresh brackets, s */
    enum jm_edge_rule rule;
};
/* Energy at an edge. period: refresh period, s (0: not known); quantum: J. False: no refresh on the side
 * before. */
bool jm_edge_estimate(const struct jm_edge *e, double period, double quantum, const struct jm_shape *s,
                      struct jm_edge_value *out);

/* A bracket is narrow when it is at most this part of the refresh period: then differences between
 * neighbouring intervals tell about the power and not about the polling. */
#define JM_NARROW 0.25

/* Feeds mean powers of successive refresh intervals into a variogram, as long as they are narrow and
 * contiguous. Start with {0}. */
struct jm_interval_feed {
    struct jm_refresh last;
    bool has_last;
};
void jm_interval_feed_push(struct jm_interval_feed *f, struct jm_variogram *v, const struct jm_refresh *r,
                           double period, double quantum);

#endif
