/* SPDX-License-Identifier: Apache-2.0 */
/* A passport from a run with known steps of load. */
#ifndef JM_COMPUTE_TRAITS_H
#define JM_COMPUTE_TRAITS_H

#include "model/passport.h"
#include "run/run.h"

/* A row a channel of energy or power. against: "METER" or "METER:CHANNEL" that gains and offsets are taken
 * against; NULL: none. JM_EABSENT: the run has no steps of load, or no such instrument. Release out in any
 * case. */
int jm_traits_find(const struct jm_run *run, const char *against, struct jm_passport *out,
                   struct jm_err *err);

#endif
