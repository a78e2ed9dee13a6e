/* SPDX-License-Identifier: Apache-2.0 */
/* How a load drives the simulated GPUs (created with the waveform "drive").
 *
 * One thread of one process drives a GPU at a time. Readers are never blocked. All functions return 0 or a
 * negative errno: -EINVAL for a GPU or value out of range, -ENOTSUP for a GPU that follows a waveform. */
#ifndef SIMGPU_DRIVE_H
#define SIMGPU_DRIVE_H

#include "simgpu_open.h"

/* From t_ns (state clock, see simgpu_now()) on the GPU draws `watts` until the next segment begins. t_ns must
 * not lie before the segment appended last, may equal it (which replaces it), and may lie in the future,
 * which is the exact way: what readers have seen is not changed afterwards. A segment that begins in the past
 * is right in the truth, and invisible to readers as long as it is appended within the GPU's latency (2 ms by
 * default when driven). A power limit that was set through NVML holds the power down. */
int simgpu_drive_power(struct simgpu *s, int gpu, int64_t t_ns, double watts);

/* Percent 0 to 100; -1: follow the power. */
int simgpu_drive_util(struct simgpu *s, int gpu, int gpu_pct, int mem_pct);

/* MHz; -1: follow the power. */
int simgpu_drive_clocks(struct simgpu *s, int gpu, int sm_mhz, int mem_mhz);

/* Degrees C; -1: follow the power. */
int simgpu_drive_temp(struct simgpu *s, int gpu, int temp_c);

/* Adds a compute process or updates the one with that pid. memory in bytes. -ENOSPC when the list (64) is
 * full. */
int simgpu_drive_process(struct simgpu *s, int gpu, uint32_t pid, uint64_t memory, int sm_pct, int mem_pct);
int simgpu_drive_process_remove(struct simgpu *s, int gpu, uint32_t pid);

/* What the user of the GPU has set, and what the GPU is; a model of the load slows down by it. */
struct simgpu_setting {
    double limit_w; /* enforced power limit */
    double limit_default_w, idle_w;
    bool limit_set;             /* somebody has set it */
    int sm_min_mhz, sm_max_mhz; /* locked clocks, 0, 0 when not locked */
    int mem_min_mhz, mem_max_mhz;
    int max_sm_mhz, max_mem_mhz; /* the GPU's own maximum */
    uint64_t memory;             /* bytes */
    bool driven;
};
int simgpu_drive_setting(const struct simgpu *s, int gpu, struct simgpu_setting *out);

#endif
