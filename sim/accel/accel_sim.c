/* SPDX-License-Identifier: Apache-2.0 */
#include "accel_sim.h"

#include <stddef.h>

nvmlReturn_t nvmlInit_v2(void);
nvmlReturn_t nvmlShutdown(void);
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t dev, unsigned long long *mj);
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t dev, unsigned *mw);

static int map[SIMGPU_MAX_GPUS], count;

nvmlReturn_t accel_start(unsigned vendor)
{
    struct sim_call c;
    nvmlReturn_t r = nvmlInit_v2();
    if (!r && (r = sim_enter_system(&c)))
        nvmlShutdown();
    if (r)
        return r;
    count = 0;
    for (int i = 0; i < (int)c.s->h->gpu_count; i++)
        if ((c.s->g[i].pci_device_id & 0xffff) == vendor)
            map[count++] = i;
    return NVML_SUCCESS;
}

nvmlReturn_t accel_stop(void)
{
    count = 0;
    return nvmlShutdown();
}

int accel_count(void)
{
    return count;
}

const struct simgpu_gpu *accel_gpu(int i)
{
    struct sim_call c;
    return i >= 0 && i < count && sim_enter_system(&c) == NVML_SUCCESS ? &c.s->g[map[i]] : NULL;
}

nvmlReturn_t accel_open(int i)
{
    struct sim_call c;
    if (i < 0 || i >= count)
        return NVML_ERROR_INVALID_ARGUMENT;
    return sim_enter(&c, sim_handle(map[i], -1), SIMGPU_W_HANDLE, SIM_WHOLE);
}

nvmlReturn_t accel_energy(int i, unsigned long long *mj)
{
    if (i < 0 || i >= count)
        return NVML_ERROR_INVALID_ARGUMENT;
    return nvmlDeviceGetTotalEnergyConsumption(sim_handle(map[i], -1), mj);
}

nvmlReturn_t accel_energy_around(int i, unsigned long long *mj)
{
    struct sim_call c;
    nvmlReturn_t r = accel_energy(i, mj);
    if (r || (r = sim_enter_system(&c)))
        return r;
    /* what is around draws evenly, up to the counter's last refresh: uW x ns = fJ */
    int64_t tick = simgpu_tick(c.s, map[i], c.s->g[map[i]].counter_period_ns, c.now);
    simgpu_fj around = (simgpu_fj)c.s->g[map[i]].module_extra_uw * (tick - c.s->h->start_ns);
    *mj += (unsigned long long)(around / SIMGPU_FJ_PER_MJ);
    return NVML_SUCCESS;
}

nvmlReturn_t accel_gauge(int i, enum simgpu_gauge_id id, unsigned *mw)
{
    static const uint32_t whats[] = {SIMGPU_W_USAGE, SIMGPU_W_AVERAGE, SIMGPU_W_INSTANT};
    struct sim_call c;
    if (i < 0 || i >= count)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t r = sim_enter(&c, sim_handle(map[i], -1), whats[id], SIM_WHOLE);
    return r ? r : sim_gauge(&c, id, SIMGPU_SCOPE_GPU, mw);
}

nvmlReturn_t accel_limit(int i, unsigned *mw)
{
    if (i < 0 || i >= count)
        return NVML_ERROR_INVALID_ARGUMENT;
    return nvmlDeviceGetEnforcedPowerLimit(sim_handle(map[i], -1), mw);
}

int64_t accel_now(void)
{
    struct sim_call c;
    return sim_enter_system(&c) == NVML_SUCCESS ? c.now : 0;
}
