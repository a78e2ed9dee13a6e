/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of GPU: what they are and what their sensors are like. */
#ifndef SIMGPU_PROFILE_H
#define SIMGPU_PROFILE_H

#include "simgpu_state.h"

#include <stddef.h>

struct simgpu_profile {
    const char *id;
    const char *name; /* as NVML tells it; " (SIMULATED)" is added */
    const char *text; /* one line of help */
    uint32_t architecture, cc_major, cc_minor, device_id;
    uint64_t memory_mib; /* 0: nvmlDeviceGetMemoryInfo is not supported */
    uint32_t cores, sm_mhz, mem_mhz, idle_sm_mhz;
    int32_t idle_w, min_w, default_w, max_w;
    int32_t module_extra_w; /* what the module draws besides */
    int32_t memory_pct;     /* share of the memory; 0: no memory scope */
    int32_t mig;
    int32_t counter;   /* 1: has an energy counter */
    uint32_t scope;    /* of counter and gauges */
    int32_t period_ms; /* of the counter */
    struct {
        int32_t window_ms, period_ms;
        uint32_t scopes;
    } gauge[SIMGPU_GAUGES];
};

const struct simgpu_profile *simgpu_profile_find(const char *id, size_t n);
const struct simgpu_profile *simgpu_profile_at(int i); /* NULL past the last */

#endif
