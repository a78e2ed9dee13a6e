/* SPDX-License-Identifier: Apache-2.0 */
/* Sums that the accuracy of an analyzer is computed from, one sample at a time. */
#ifndef JM_MLPERF_INPUTS_H
#define JM_MLPERF_INPUTS_H

#include "mlperf/session.h"
#include "wire/spl.h"

/* Adds a row to p->input (in_window) and p->doubt. */
void jm_mlperf_inputs_add(struct jm_mlperf_power *p, const struct jm_spl_row *row, bool in_window);

#endif
