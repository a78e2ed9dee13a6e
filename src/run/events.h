/* SPDX-License-Identifier: Apache-2.0 */
/* Token events of several requests ↔ the bytes of a token chunk. Stamps are rounded to 1 us. docs/run-file.md
 * describes the layout. */
#ifndef JM_RUN_EVENTS_H
#define JM_RUN_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"
#include "model/request.h"

#define JM_EVENTS_MAX   (1u << 22) /* events in a block, and so of one request */
#define JM_EVENTS_BLOCK (1u << 17) /* the writer begins a new block above this */

/* Requests with their events one after another: what a block holds, before and after. */
struct jm_event_batch {
    int64_t *id;  /* n_req */
    size_t *from; /* n_req + 1: events of request i are ev[from[i]] .. ev[from[i + 1]] */
    size_t n_req, cap_req;
    struct jm_token_event *ev;
    size_t n_ev, cap_ev;
};

int jm_event_batch_new(struct jm_event_batch **out, struct jm_err *err);
void jm_event_batch_free(struct jm_event_batch *b);
void jm_event_batch_reset(struct jm_event_batch *b);
int jm_event_batch_add(struct jm_event_batch *b, int64_t request, const struct jm_token_event *ev, size_t n,
                       struct jm_err *err);
/* Appends the plain bytes; first and last stamp in ns as they will be read. The batch must not be empty. */
int jm_events_encode(const struct jm_event_batch *b, struct jm_str *out, int64_t *t_first, int64_t *t_last,
                     struct jm_err *err);
/* Replaces the contents of b. Any input is safe; bad bytes are JM_ECORRUPT. */
int jm_events_decode(struct jm_span plain, struct jm_event_batch *b, struct jm_err *err);

#endif
