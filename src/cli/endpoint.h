/* SPDX-License-Identifier: Apache-2.0 */
/* What is known about an endpoint, put into the run; its GPUs are found by its processes. */
#ifndef JM_CLI_ENDPOINT_H
#define JM_CLI_ENDPOINT_H

#include "cli/session.h"
#include "load/load.h"

/* Writes endpoint.* and, through the recorder, sut.*. An endpoint that is not on this machine makes
 * conflict.sut: no ratio is formed then. */
int jm_endpoint_note(struct jm_session *s, const struct jm_endpoint *ep, struct jm_err *err);

/* pid and all its descendants by the parent column of proc_root/PID/stat (proc_root NULL: /proc); at most
 * max. */
size_t jm_procs_below(const char *proc_root, int64_t pid, int64_t *out, size_t max);

#endif
