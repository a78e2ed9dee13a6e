/* SPDX-License-Identifier: Apache-2.0 */
/* How long must a window become for its energy to be within a tolerance? Asked while it goes on: readings
 * around its beginning and the latest ones are kept, and stand for both edges. What is refused in the end is
 * decided from the run file (window.tolerance). */
#ifndef JM_CLI_LENGTHEN_H
#define JM_CLI_LENGTHEN_H

#include "record/record.h"

struct jm_lengthen;

int jm_lengthen_new(struct jm_lengthen **out, struct jm_err *err);
void jm_lengthen_free(struct jm_lengthen *l); /* l may be NULL */
/* Sees every reading; any thread. */
void jm_lengthen_tap(void *self, const struct jm_reading *r, size_t n);
/* The channels, once they are known; before the recording starts. */
int jm_lengthen_channels(struct jm_lengthen *l, const struct jm_channel *c, size_t n, struct jm_err *err);
/* A window began at t0. */
void jm_lengthen_begin(struct jm_lengthen *l, int64_t t0);
/* The length, s, at which every counted domain would be within the tolerance (0.01: 1 %), as things are now;
 * INFINITY where no length would do, NAN while nothing is known. who: the channel that needs it. */
double jm_lengthen_needs(struct jm_lengthen *l, double tolerance, char *who, size_t cap);

#endif
