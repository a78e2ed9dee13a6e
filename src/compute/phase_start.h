/* SPDX-License-Identifier: Apache-2.0 */
/* When does a prefill begin? A client sees when it sent and when the first token came; between them a request
 * may have waited. An engine tells seconds of queue and of prefill, added up over requests. */
#ifndef JM_COMPUTE_PHASE_START_H
#define JM_COMPUTE_PHASE_START_H

#include <stddef.h>

struct jm_phase_engine { /* counters at times t (s), rising; NULL: not known */
    const double *t, *prefill_s, *queue_s, *prompt;
    size_t n;
};

/* s. sent, first: of the request; tokens: prompt tokens that were computed.
 * Never before sent, never after first. */
double jm_phase_start(const struct jm_phase_engine *e, double sent, double first, double tokens);

#endif
