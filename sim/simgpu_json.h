/* SPDX-License-Identifier: Apache-2.0 */
/* The truth as a JSON document (docs/sim.md, "Truth"). */
#ifndef SIMGPU_JSON_H
#define SIMGPU_JSON_H

#include "simgpu_open.h"

#include <stdio.h>

/* Energy of every GPU over [t0, t1] of the state's clock, with what its sensors were told to do and what was
 * set. 0, or -EIO when f did not take it. */
int simgpu_truth_json(struct simgpu *s, int64_t t0_ns, int64_t t1_ns, FILE *f);

#endif
