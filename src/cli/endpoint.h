/* SPDX-License-Identifier: Apache-2.0 */
/* What is known about an endpoint, put into the run; its GPUs are found by its processes. */
#ifndef JM_CLI_ENDPOINT_H
#define JM_CLI_ENDPOINT_H

#include "cli/session.h"
#include "load/load.h"

/* Writes endpoint.* and, through the recorder, sut.*. An endpoint that is not on this machine makes
 * conflict.sut: no ratio is formed then. */
int jm_endpoint_note(struct jm_session *s, const struct jm_endpoint *ep, struct jm_err *err);

#endif
