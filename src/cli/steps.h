/* SPDX-License-Identifier: Apache-2.0 */
/* Known steps of load in a session (--sync-step, characterize). */
#ifndef JM_CLI_STEPS_H
#define JM_CLI_STEPS_H

#include "cli/session.h"
#include "record/step.h"

/* Plays the plan with a load; NULL: every CPU of this host. A signal ends it, with the load off. */
int jm_cli_steps(struct jm_session *s, const struct jm_step_plan *plan, const struct jm_step_load *load,
                 struct jm_err *err);
/* The steps of --sync-step at one end of a run: as slow as the slowest instrument needs. end: 0 start, 1 end.
 */
int jm_cli_sync_step(struct jm_session *s, int end, struct jm_err *err);

#endif
