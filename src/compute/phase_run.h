/* SPDX-License-Identifier: Apache-2.0 */
/* From a run to an allocation of its energy: which instruments, which requests, which idle. */
#ifndef JM_COMPUTE_PHASE_RUN_H
#define JM_COMPUTE_PHASE_RUN_H

#include "compute/phase_start.h"
#include "compute/request.h"

/* Fills c->r->phases where there are requests and a measure window; after energy rows and engine. */
int jm_phases_make(struct jm_calc *c);

/* ---- its parts */
struct jm_phase_work {
    struct jm_calc *c;
    struct jm_phases *out;
    struct jm_phase_of_run *unit;
    size_t n_units;
    const struct jm_request *q;
    size_t n_q;
    int64_t origin, from, to;
    struct jm_phase_engine engine;
    double *engine_room;
    double *step_t, *step_v;
    size_t n_steps;
    double tokens_an_event, tokens_a_byte; /* of requests that are counted; NAN */
    size_t taken, untimed, unknown_prompts, unknown_outputs;
};
/* The replica that serves a slice: as its plan says (plan.SLICE.replica), else the one of its name. */
const char *jm_phase_replica(const struct jm_run *run, const char *slice);
/* phase_requests.c: all requests with tokens into their units. */
int jm_phase_take(struct jm_phase_work *w);

#endif
