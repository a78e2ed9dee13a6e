/* SPDX-License-Identifier: Apache-2.0 */
/* From a run to an allocation of its energy: which instruments, which requests, which idle. */
#ifndef JM_COMPUTE_PHASE_RUN_H
#define JM_COMPUTE_PHASE_RUN_H

#include "compute/phase_start.h"
#include "compute/request.h"

/* Fills c->r->phases where there are requests and a measure window. In three steps, because decoding token
 * events is most of the work and all that need them take them in one pass: after the energy rows and the
 * engine's texts; the events of a request, by its index (n > 0); the rest, once the windows of the engine are
 * there. What was begun is released, whatever comes between. */
struct jm_phase_work;
int jm_phases_begin(struct jm_calc *c, struct jm_phase_work *w);
int jm_phases_event(struct jm_phase_work *w, size_t k, const struct jm_token_event *ev, size_t n,
                    const struct jm_event_sums *sums);
int jm_phases_end(struct jm_phase_work *w);
void jm_phases_release(struct jm_phase_work *w);

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
    unsigned char *had; /* by index of the request: its events have come. NULL: nothing is taken */
    struct jm_phase_token *tok;
    size_t cap;
};
/* The replica that serves a slice: as its plan says (plan.SLICE.replica), else the one of its name. */
const char *jm_phase_replica(const struct jm_run *run, const char *slice);
/* phase_requests.c: all requests with tokens into their units. */
int jm_phase_take_begin(struct jm_phase_work *w);
int jm_phase_take_rest(struct jm_phase_work *w); /* those without events */

#endif
