/* SPDX-License-Identifier: Apache-2.0 */
#include "amd_sim.h"

#include <stdbool.h>
#include <string.h>

static bool pair(int i)
{
    const struct simgpu_gpu *g = accel_gpu(i);
    return g && strcmp(g->profile, "mi250x") == 0;
}

nvmlReturn_t amd_energy(int i, uint64_t *counts)
{
    unsigned long long mj = 0, other = 0;
    nvmlReturn_t r = accel_energy(i, &mj);
    *counts = 0;
    if (r)
        return r;
    if (pair(i) && i % 2)
        return NVML_SUCCESS;
    if (pair(i) && i + 1 < accel_count() && (r = accel_energy(i + 1, &other)))
        return r;
    *counts = (uint64_t)((simgpu_fj)(mj + other) * 65536 / 1000);
    if (strstr(accel_gpu(i)->name, "Radeon"))
        *counts &= UINT32_MAX;
    return NVML_SUCCESS;
}

nvmlReturn_t amd_gauge(int i, enum simgpu_gauge_id id, unsigned *mw)
{
    unsigned other = 0;
    nvmlReturn_t r = accel_gauge(i, id, mw);
    if (r || !pair(i))
        return r;
    if (i % 2) {
        *mw = 0;
        return NVML_SUCCESS;
    }
    r = i + 1 < accel_count() ? accel_gauge(i + 1, id, &other) : NVML_SUCCESS;
    *mw += other;
    return r;
}
