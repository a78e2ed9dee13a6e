/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated librocm_smi64.so: what rocm_smi.h documents of it for power and energy. */
#include <stdio.h>
#include <string.h>

#include "amd_sim.h"

enum { OK = 0, INVALID = 1, NOT_SUPPORTED = 2, PERMISSION = 4, INIT_ERROR = 8, NOT_FOUND = 10 };

static int code(nvmlReturn_t r)
{
    switch (r) {
    case NVML_SUCCESS: return OK;
    case NVML_ERROR_UNINITIALIZED:
    case NVML_ERROR_DRIVER_NOT_LOADED: return INIT_ERROR;
    case NVML_ERROR_NOT_SUPPORTED: return NOT_SUPPORTED;
    case NVML_ERROR_NO_PERMISSION: return PERMISSION;
    case NVML_ERROR_GPU_IS_LOST: return NOT_FOUND;
    case NVML_ERROR_INVALID_ARGUMENT: return INVALID;
    default: return r;
    }
}

struct version {
    uint32_t major, minor, patch;
    const char *build;
};

int rsmi_init(uint64_t flags);
int rsmi_shut_down(void);
int rsmi_version_get(struct version *v);
int rsmi_num_monitor_devices(uint32_t *n);
int rsmi_dev_pci_id_get(uint32_t i, uint64_t *bdf);
int rsmi_dev_unique_id_get(uint32_t i, uint64_t *id);
int rsmi_dev_name_get(uint32_t i, char *name, size_t n);
int rsmi_dev_power_ave_get(uint32_t i, uint32_t sensor, uint64_t *uw);
int rsmi_dev_current_socket_power_get(uint32_t i, uint64_t *uw);
int rsmi_dev_energy_count_get(uint32_t i, uint64_t *counts, float *resolution, uint64_t *ns);
int rsmi_dev_power_cap_get(uint32_t i, uint32_t sensor, uint64_t *uw);
int rsmi_dev_power_cap_range_get(uint32_t i, uint32_t sensor, uint64_t *max, uint64_t *min);

SIM_PUBLIC int rsmi_init(uint64_t flags)
{
    (void)flags;
    return code(accel_start(ACCEL_AMD));
}

SIM_PUBLIC int rsmi_shut_down(void)
{
    return code(accel_stop());
}

SIM_PUBLIC int rsmi_version_get(struct version *v)
{
    *v = (struct version){7, 5, 0, "simulated"};
    return OK;
}

SIM_PUBLIC int rsmi_num_monitor_devices(uint32_t *n)
{
    *n = (uint32_t)accel_count();
    return OK;
}

SIM_PUBLIC int rsmi_dev_pci_id_get(uint32_t i, uint64_t *bdf)
{
    const struct simgpu_gpu *g = accel_gpu((int)i);
    if (!g)
        return INVALID;
    *bdf = (uint64_t)g->pci_domain << 32 | (uint64_t)(g->pci_bus & 255) << 8 | (g->pci_device & 31) << 3;
    return OK;
}

SIM_PUBLIC int rsmi_dev_unique_id_get(uint32_t i, uint64_t *id)
{
    const struct simgpu_gpu *g = accel_gpu((int)i);
    if (!g)
        return INVALID;
    *id = 0x5134000000000000u | g->pci_bus;
    return OK;
}

SIM_PUBLIC int rsmi_dev_name_get(uint32_t i, char *name, size_t n)
{
    const struct simgpu_gpu *g = accel_gpu((int)i);
    if (!g)
        return INVALID;
    snprintf(name, n, "%s", g->name);
    return OK;
}

static int uw_of(uint32_t i, enum simgpu_gauge_id id, uint64_t *uw)
{
    unsigned mw = 0;
    int r = code(amd_gauge((int)i, id, &mw));
    *uw = (uint64_t)((mw + 500) / 1000) * 1000000; /* hwmon has whole watts here */
    return r;
}

SIM_PUBLIC int rsmi_dev_power_ave_get(uint32_t i, uint32_t sensor, uint64_t *uw)
{
    return sensor ? INVALID : uw_of(i, SIMGPU_AVERAGE, uw);
}

SIM_PUBLIC int rsmi_dev_current_socket_power_get(uint32_t i, uint64_t *uw)
{
    return uw_of(i, SIMGPU_INSTANT, uw);
}

SIM_PUBLIC int rsmi_dev_energy_count_get(uint32_t i, uint64_t *counts, float *resolution, uint64_t *ns)
{
    *resolution = AMD_RESOLUTION;
    *ns = (uint64_t)accel_now();
    return code(amd_energy((int)i, counts));
}

SIM_PUBLIC int rsmi_dev_power_cap_get(uint32_t i, uint32_t sensor, uint64_t *uw)
{
    unsigned mw = 0;
    int r = sensor ? INVALID : code(accel_limit((int)i, &mw));
    *uw = (uint64_t)mw * 1000;
    return r;
}

SIM_PUBLIC int rsmi_dev_power_cap_range_get(uint32_t i, uint32_t sensor, uint64_t *max, uint64_t *min)
{
    const struct simgpu_gpu *g = accel_gpu((int)i);
    if (!g || sensor)
        return INVALID;
    *max = (uint64_t)g->limit_max_uw;
    *min = (uint64_t)g->limit_min_uw;
    return OK;
}
