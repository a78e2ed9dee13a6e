/* SPDX-License-Identifier: Apache-2.0 */
/* What both simulated libraries of AMD say of a device. */
#ifndef SIM_AMD_SIM_H
#define SIM_AMD_SIM_H

#include "accel_sim.h"

#define AMD_RESOLUTION 15.3f /* as both libraries say, though the counts are of 2^-16 J */

/* energy_accumulator: of both dies on the even one of a pair, none on the odd one, of 32 bits on a Radeon. */
nvmlReturn_t amd_energy(int i, uint64_t *counts);
nvmlReturn_t amd_gauge(int i, enum simgpu_gauge_id id, unsigned *mw);

#endif
