/* SPDX-License-Identifier: Apache-2.0 */
/* The truth of a simulated GPU: what it drew, exactly, whatever its sensors said. No sensor of this
 * simulation is asked here: gain, refresh, averaging and faults do not touch it. Times are of the state's
 * clock. */
#ifndef SIMGPU_TRUTH_H
#define SIMGPU_TRUTH_H

#include "simgpu_open.h"

/* Energy over [t0, t1], J, correct to double rounding. NaN where it cannot be told: no such GPU, t1 < t0, or
 * steps of a driver that its ring no longer holds. */
double simgpu_true_energy_j(struct simgpu *s, int gpu, int64_t t0_ns, int64_t t1_ns);

/* The same of the GPU's module (GH200: with the Grace CPU). */
double simgpu_true_module_energy_j(struct simgpu *s, int gpu, int64_t t0_ns, int64_t t1_ns);

/* Power at t, W, or NaN. */
double simgpu_true_power_w(struct simgpu *s, int gpu, int64_t t_ns);

/* Sum over all GPUs, NaN when one of them is unknown. */
double simgpu_true_total_j(struct simgpu *s, int64_t t0_ns, int64_t t1_ns);

#endif
