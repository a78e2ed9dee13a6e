/* SPDX-License-Identifier: Apache-2.0 */
/* A load curve as CSV: a row a step of time, with the hour and the load in it.
 *
 *     hour,load            hour,requests_per_s
 *     0,0.22               0,3.1
 *     1,18 %               ...
 *
 * hour: 0, 0.25, 13:30 or an RFC 3339 time; steps are equally long and none is missing; 24 hours at least.
 * load: a part of the capacity (0.35, 35 %), or requests a second (3.1/s; without the unit in a column named
 * rate, requests_per_s or requests/s). Lines that begin with # are comments. */
#ifndef JM_WIRE_DIURNAL_H
#define JM_WIRE_DIURNAL_H

#include "base/err.h"
#include "base/span.h"
#include "model/diurnal.h"

/* JM_EPARSE, JM_EUSAGE, JM_ELIMIT with the line; out is empty then. Release it afterwards. */
int jm_diurnal_read(struct jm_span text, struct jm_diurnal *out, struct jm_err *err);
void jm_diurnal_release(struct jm_diurnal *d);

#endif
