/* SPDX-License-Identifier: Apache-2.0 */
/* One entry of the configuration on its way to a meter: opened in a thread of its own, and tried again until
 * it answers where its owner wants that. With a virtual clock there is no thread: it is tried when its owner
 * asks. */
#ifndef JM_METER_OPENING_H
#define JM_METER_OPENING_H

#include "meter/early.h"
#include "meter/instrument.h"

struct jm_opening;

/* keep: go on trying after a failure that may pass. tree is copied: what the entry adds comes into the common
 * one when it is taken. Starts at once. */
int jm_opening_new(const struct jm_meter_env *env, const struct jm_instrument *in,
                   const struct jm_domain_tree *tree, bool keep, struct jm_opening **out, struct jm_err *err);
/* Waits until something has come of a try, or until the time (CLOCK_MONOTONIC). */
void jm_opening_wait(struct jm_opening *o, int64_t until);
/* Replies that have come while it is opened: one that still tells something is slow, not dead. */
unsigned jm_opening_heard(struct jm_opening *o);
bool jm_opening_waits(struct jm_opening *o); /* nothing has come of a try yet */
/* What came of the last try that was not taken yet, into out (release it with jm_opened_release): 1, or 0
 * where nothing has come. out->later is o while it goes on, else o is gone. Negative: the tree could not take
 * the domains, and o is gone. */
int jm_opening_take(struct jm_opening *o, struct jm_domain_tree *tree, struct jm_opened *out,
                    struct jm_err *err);
/* Nobody wants it any more. Does not wait: what hangs in a try ends by itself. */
void jm_opening_drop(struct jm_opening *o);
unsigned jm_opening_tries(struct jm_opening *o);

#endif
