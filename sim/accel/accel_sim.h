/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated management libraries of other makers: faces of the one engine that answers for NVML,
 * on the same state file, with the same faults. */
#ifndef SIM_ACCEL_SIM_H
#define SIM_ACCEL_SIM_H

#include "../gpu/nvml_sim.h"

#define ACCEL_AMD    0x1002u
#define ACCEL_HABANA 0x1da3u
#define ACCEL_INTEL  0x8086u

/* All return NVML's codes, which each library turns into its own; a code that a fault names and that NVML
 * does not have goes through as it is. */
nvmlReturn_t accel_start(unsigned vendor);
nvmlReturn_t accel_stop(void);

/* Devices of the vendor, in the order of the state. NULL past the last, or before accel_start. */
const struct simgpu_gpu *accel_gpu(int i);
int accel_count(void);
/* May its handle be had now? */
nvmlReturn_t accel_open(int i);

nvmlReturn_t accel_energy(int i, unsigned long long *mj);
/* Of what contains the device: the card around its package. */
nvmlReturn_t accel_energy_around(int i, unsigned long long *mj);
nvmlReturn_t accel_gauge(int i, enum simgpu_gauge_id id, unsigned *mw);
nvmlReturn_t accel_limit(int i, unsigned *mw);
int64_t accel_now(void); /* of the state's clock, ns */

/* A handle is the number of a device, plus one. */
static inline void *accel_handle(int i)
{
    return (void *)(uintptr_t)(i + 1);
}
static inline int accel_index(const void *handle)
{
    return (int)(uintptr_t)handle - 1;
}

#endif
