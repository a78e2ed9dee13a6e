/* SPDX-License-Identifier: Apache-2.0 */
/* Energy of single requests: from allocations to rows that add up, and how they are distributed. */
#ifndef JM_COMPUTE_REQUEST_H
#define JM_COMPUTE_REQUEST_H

#include "compute/calc.h"
#include "compute/phase.h"
#include "compute/phase_grid.h"

/* A replica, or a pool, of a run. */
struct jm_phase_of_run {
    const char *name, *role; /* of the group; NULL: everything */
    struct jm_grid grid;
    struct jm_phase *p;
    double late;  /* s, that its energies may lie beside the tokens in time */
    uint32_t *of; /* by request of the run: its number in p + 1; 0: none */
    size_t *cell; /* by window of calc: first cell, one past the last */
    struct jm_phase_fit fit;
};

/* Rows, splits and distributions into c->r->phases. prompt: cached tokens and the like have been counted. */
int jm_request_energies(struct jm_calc *c, struct jm_phase_of_run *u, size_t n_units, bool phases_known);
/* The fallback without times: each window's joules per output token. total: J by window of calc, NAN none. */
int jm_request_per_token(struct jm_calc *c, const double *total);
/* Index of the request with this id, at or near `near`; n: none. q is sorted by id. */
size_t jm_request_find(const struct jm_request *q, size_t n, int64_t id, size_t near);

#endif
