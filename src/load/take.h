/* SPDX-License-Identifier: Apache-2.0 */
/* What an event or an answer says becomes part of the request's record: text, tokens with their stamps,
 * counts, the finish. A part of call.c. */
#ifndef JM_LOAD_TAKE_H
#define JM_LOAD_TAKE_H

#include "load/call.h"

/* One event, read at t. Leaves in said what is new, where the event repeats all text. */
void jm_take(struct jm_call *c, struct jm_said *said, int64_t t);
/* A whole answer: nothing in it has a time of its own, so there are no token stamps and no token events. */
void jm_take_whole(struct jm_call *c, const struct jm_said *said, int64_t t);
/* Whether the first token event stands for what was generated long before it. */
bool jm_take_bundled(const struct jm_call *c);
/* The request's error. */
void jm_take_words(struct jm_call *c, const char *words);

#endif
