/* SPDX-License-Identifier: Apache-2.0 */
/* What time services say on the wire: chronyd's command protocol (version 6, the "tracking" report) and the
 * text of linuxptp's pmc. */
#ifndef JM_WIRE_TIMESYNC_H
#define JM_WIRE_TIMESYNC_H

#include <stdint.h>

#include "base/err.h"
#include "base/span.h"
#include "model/clockerr.h"

/* A request is as long as the reply to it, so that nobody can be flooded by a forged one. */
#define JM_CHRONY_TRACKING 104
void jm_chrony_ask_tracking(uint8_t out[JM_CHRONY_TRACKING], uint32_t sequence);
/* JM_EAGAIN: an answer to another request. JM_EDENIED: chronyd refuses to tell. */
int jm_chrony_tracking(struct jm_span reply, uint32_t sequence, struct jm_tracking *out, struct jm_err *err);

/* `pmc -u -b 0 'GET TIME_STATUS_NP'`, and of 'GET CURRENT_DATA_SET' the path's delay. JM_EABSENT: the text
 * has no such answer. */
int jm_pmc_time_status(struct jm_span text, struct jm_ptp_status *out, struct jm_err *err);
int jm_pmc_path_delay(struct jm_span text, double *ns, struct jm_err *err);

#endif
