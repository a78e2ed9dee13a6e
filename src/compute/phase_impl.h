/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of compute/phase share. */
#ifndef JM_COMPUTE_PHASE_IMPL_H
#define JM_COMPUTE_PHASE_IMPL_H

#include "base/str.h"
#include "compute/phase.h"

struct jm_phase_kept {
    double start, first, last, prefill, context, each;
    size_t at; /* in the packed units: (zigzag step of the cell, units) ... */
    uint32_t groups;
};

/* Spread evenly over time: what falls into a cell is add + what the changes of the rate up to it say. */
struct jm_phase_spread {
    double *add, *change;
};

struct jm_phase {
    size_t n;
    double *t, *e;                                   /* n + 1, n */
    struct jm_phase_spread prefill, active, pre_act; /* tokens, request-seconds, of them in prefill */
    struct jm_phase_spread alone;                    /* s without any request */
    double *nd, *ctx, *steps; /* decode tokens and their context by cell; iterations by cell */
    bool closed;
    double *step_t; /* the engine's counter: n_step times, then its values */
    size_t n_step;
    struct jm_phase_kept *q;
    size_t n_q, cap_q;
    struct jm_str packed;
    /* solved */
    double w[JM_PW_COUNT];
    double idle_w;   /* NAN: not known */
    double *s, *rho; /* share of the marginal energy; J per request-second of the rest */
    double *a, *g;   /* n + 1: integrals of rho and s over time */
    void *room;      /* of all arrays */
};

int jm_phase_close(struct jm_phase *p, struct jm_err *err);
/* J of cell i that no request was there for, of the rest that tokens leave. */
double jm_phase_idle(const struct jm_phase *p, size_t i, double rest);
/* Shares out by p->w. */
void jm_phase_share(struct jm_phase *p);

/* A row of the fit. */
struct jm_phase_row {
    double x[JM_PW_COUNT], e, dt;
    double t0, t1;
    double pre;   /* share of the request-seconds that are prefill */
    double e_act; /* J of time with a request */
    unsigned char use;
};
/* A bootstrap over blocks of rows; pin: as of jm_lsq_nnls. */
int jm_phase_bootstrap(const struct jm_phase_row *row, size_t n, const double *pin,
                       const struct jm_phase_opts *o, struct jm_phase_fit *fit, struct jm_err *err);

#endif
