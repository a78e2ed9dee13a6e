/* SPDX-License-Identifier: Apache-2.0 */
/* Processes on a device. */
#include "nvml_sim.h"

#include <string.h>
#include <time.h>

/* The processes of one kind that this handle shows. */
static unsigned copy(const struct sim_call *c, uint32_t kind, struct simgpu_proc out[SIMGPU_MAX_PROCS])
{
    unsigned n = 0;
    sim_processes(c, out);
    for (int i = 0; i < SIMGPU_MAX_PROCS; i++)
        if (out[i].pid && out[i].kind == kind && (c->mig < 0 || out[i].gi == c->g->mig[c->mig].gi))
            out[n++] = out[i];
    return n;
}

/* A consistent copy of the list, whatever the driver of the load is doing to it. It may have lost its
 * processor in the middle of writing (then it is waited for) or have died there (then the list is empty). */
void sim_processes(const struct sim_call *c, struct simgpu_proc out[SIMGPU_MAX_PROCS])
{
    const struct simgpu_gpu *g = c->g;
    for (int tries = 0; tries < 10000; tries++) {
        uint32_t seq = atomic_load_explicit(&g->proc_seq, memory_order_acquire);
        simgpu_copy_shared(out, g->proc, sizeof g->proc);
        atomic_thread_fence(memory_order_acquire);
        if (!(seq & 1) && atomic_load_explicit(&g->proc_seq, memory_order_relaxed) == seq)
            return;
        if (tries >= 100)
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
    memset(out, 0, SIMGPU_MAX_PROCS * sizeof *out);
}

enum { V1 = 16, V3 = 24, WIDE = 32 };

static nvmlReturn_t list(nvmlDevice_t dev, uint32_t kind, unsigned *count, void *out, int row)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter(&c, dev, SIMGPU_W_PROCS, SIM_MIG_TOO);
    if (r)
        return r;
    if (!count || (*count && !out))
        return NVML_ERROR_INVALID_ARGUMENT;
    struct simgpu_proc p[SIMGPU_MAX_PROCS];
    unsigned n = copy(&c, kind, p);
    bool wide = row == V3 && sim_fault_find(&c, SIMGPU_FAULT_STRIDE, SIMGPU_W_PROCS);
    /* The drivers with 32-byte rows wrote past the buffer of a caller who expected 24; here they fill it at
     * most. */
    unsigned need = wide ? (n * WIDE + V3 - 1) / V3 : n;
    if (*count < need) {
        *count = need;
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    char *at = out;
    for (unsigned i = 0; i < n; i++) {
        nvmlProcessInfo_wide_t w = {.info = {.pid = p[i].pid,
                                             .usedGpuMemory = p[i].memory,
                                             .gpuInstanceId = p[i].gi,
                                             .computeInstanceId = p[i].ci}};
        int bytes = wide ? WIDE : row;
        memcpy(at, &w, (size_t)bytes);
        at += bytes;
    }
    *count = n;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t dev, unsigned *count,
                                                  nvmlProcessInfo_v1_t *out);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t dev, unsigned *count,
                                                     nvmlProcessInfo_t *out);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t dev, unsigned *count,
                                                     nvmlProcessInfo_t *out);
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t dev, unsigned *count,
                                                   nvmlProcessInfo_v1_t *out);
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t dev, unsigned *count,
                                                      nvmlProcessInfo_t *out);
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t dev, unsigned *count,
                                                      nvmlProcessInfo_t *out);
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t dev, unsigned *count,
                                                        nvmlProcessInfo_t *out);
nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t dev, nvmlProcessUtilizationSample_t *out,
                                             unsigned *count, unsigned long long last_seen);

NVML_API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t dev, unsigned *count,
                                                           nvmlProcessInfo_v1_t *out)
{
    return list(dev, 0, count, out, V1);
}

NVML_NEW nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t dev, unsigned *count,
                                                              nvmlProcessInfo_t *out)
{
    return list(dev, 0, count, out, V3);
}

NVML_NEW nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t dev, unsigned *count,
                                                              nvmlProcessInfo_t *out)
{
    return list(dev, 0, count, out, V3);
}

NVML_API nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t dev, unsigned *count,
                                                            nvmlProcessInfo_v1_t *out)
{
    return list(dev, 1, count, out, V1);
}

NVML_NEW nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t dev, unsigned *count,
                                                               nvmlProcessInfo_t *out)
{
    return list(dev, 1, count, out, V3);
}

NVML_NEW nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t dev, unsigned *count,
                                                               nvmlProcessInfo_t *out)
{
    return list(dev, 1, count, out, V3);
}

NVML_NEW nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t dev, unsigned *count,
                                                                 nvmlProcessInfo_t *out)
{
    return list(dev, 2, count, out, V3);
}

/* One sample a process and second. */
NVML_NEW nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t dev, nvmlProcessUtilizationSample_t *out,
                                                      unsigned *count, unsigned long long last_seen)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter(&c, dev, SIMGPU_W_PROCS, SIM_WHOLE);
    if (r)
        return r;
    if (!count)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (c.g->mig_mode)
        return NVML_ERROR_NOT_SUPPORTED;
    struct simgpu_proc p[SIMGPU_MAX_PROCS];
    unsigned n = copy(&c, 0, p), k = 0, room = *count;
    bool garbage = sim_fault_find(&c, SIMGPU_FAULT_GARBAGE, SIMGPU_W_PROCS) != NULL;
    unsigned long long at =
        (unsigned long long)(simgpu_realtime(c.s, simgpu_tick(c.s, c.gpu, 1000000000, c.now)) / 1000);
    if (n == 0 || at <= last_seen) {
        *count = 0;
        return NVML_ERROR_NOT_FOUND;
    }
    *count = n + garbage;
    if (room < n + garbage || !out)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    for (; k < n; k++)
        out[k] = (nvmlProcessUtilizationSample_t){
            .pid = p[k].pid, .timeStamp = at, .smUtil = p[k].sm_pct, .memUtil = p[k].mem_pct};
    if (garbage)
        out[k] = (nvmlProcessUtilizationSample_t){.pid = 4026531840u,
                                                  .timeStamp = 17,
                                                  .smUtil = 3452816845u,
                                                  .memUtil = 130,
                                                  .encUtil = 255,
                                                  .decUtil = 255};
    return NVML_SUCCESS;
}
