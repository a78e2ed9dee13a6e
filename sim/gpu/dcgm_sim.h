/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the simulated libdcgm share. */
#ifndef SIM_DCGM_SIM_H
#define SIM_DCGM_SIM_H

#include "dcgm_abi.h"
#include "nvml_sim.h"

#define SIM_DCGM_SWITCHES 4 /* of a board of eight GPUs or more */

/* The type of a field, 'i', 'd' or 's'; 0: there is no such field. */
int sim_dcgm_type(unsigned short field);
/* How many entities of a group, and the id of the i-th. */
int sim_dcgm_count(struct simgpu *s, uint32_t group);
uint32_t sim_dcgm_id(struct simgpu *s, uint32_t group, int i);
/* What the host engine finds when it reads the field of the entity at t (state clock). */
void sim_dcgm_value(struct simgpu *s, uint32_t group, uint32_t id, unsigned short field, int64_t t_ns,
                    dcgmFieldValue_v2 *out);
/* A fault of the host engine that concerns the entity now (gpu -1: none in particular), or NULL. */
const struct simgpu_fault *sim_dcgm_fault(struct simgpu *s, int kind, int gpu, int64_t now_ns);

#endif
