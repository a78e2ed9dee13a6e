/* SPDX-License-Identifier: Apache-2.0 */
/* The clock error of this host, asked from who keeps the clock. */
#ifndef JM_METER_CLOCKASK_H
#define JM_METER_CLOCKASK_H

#include "base/clock.h"
#include "model/clockerr.h"

/* Takes 0.2 s at most where chronyd or nobody answers, 3 s where ptp4l runs. chrony_port: 0 takes 323. Never
 * fails: what nobody tells is unknown. */
void jm_clock_error_ask(const struct jm_clock *clock, int chrony_port, struct jm_clock_error *out);

#endif
