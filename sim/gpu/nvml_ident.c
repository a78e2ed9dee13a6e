/* SPDX-License-Identifier: Apache-2.0 */
/* What a device is and where it sits; MIG. */
#include "nvml_sim.h"

#include <stdio.h>
#include <string.h>

static nvmlReturn_t begin(struct sim_call *c, nvmlDevice_t dev, const void *out)
{
    nvmlReturn_t r = sim_enter(c, dev, SIMGPU_W_IDENT, SIM_WHOLE);
    return r ? r : out ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t dev, char *out, unsigned n);
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t dev, char *out, unsigned n);
nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t dev, char *out, unsigned n);
nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t dev, char *out, unsigned n);
nvmlReturn_t nvmlDeviceGetBoardPartNumber(nvmlDevice_t dev, char *out, unsigned n);
nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t dev, int *out);
nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t dev, unsigned *out);
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t dev, int *major, int *minor);
nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t dev, unsigned *out);
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t dev, unsigned *out);
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t dev, unsigned *out);
nvmlReturn_t nvmlDeviceGetModuleId(nvmlDevice_t dev, unsigned *out);
nvmlReturn_t nvmlDeviceGetBoardId(nvmlDevice_t dev, unsigned *out);
nvmlReturn_t nvmlDeviceGetMultiGpuBoard(nvmlDevice_t dev, unsigned *out);
nvmlReturn_t nvmlDeviceGetNumaNodeId(nvmlDevice_t dev, unsigned *out);
nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t dev, unsigned *out);
nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t dev, nvmlPciInfo_v2_t *out);
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t dev, nvmlPciInfo_v2_t *out);
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t dev, nvmlPciInfo_t *out);
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t dev, unsigned *out);
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t dev, unsigned *out);
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t dev, unsigned *out);
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t dev, unsigned *out);
nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t dev, int counter, unsigned *kbps);

NVML_API nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t dev, char *out, unsigned n)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter(&c, dev, SIMGPU_W_IDENT, SIM_MIG_TOO);
    char name[128];
    if (r)
        return r;
    if (c.mig >= 0)
        snprintf(name, sizeof name, "%s MIG %s", c.g->name, c.g->mig[c.mig].profile);
    return sim_text(c.mig >= 0 ? name : c.g->name, out, n);
}

NVML_API nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t dev, char *out, unsigned n)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter(&c, dev, SIMGPU_W_IDENT, SIM_MIG_TOO);
    return r ? r : sim_text(c.mig >= 0 ? c.g->mig[c.mig].uuid : c.g->uuid, out, n);
}

NVML_API nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t dev, char *out, unsigned n)
{
    struct sim_call c;
    nvmlReturn_t r = begin(&c, dev, out);
    return r ? r : sim_text(c.g->serial, out, n);
}

NVML_API nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t dev, char *out, unsigned n)
{
    struct sim_call c;
    nvmlReturn_t r = begin(&c, dev, out);
    return r ? r : sim_text("51.34.00.00.01", out, n);
}

NVML_API nvmlReturn_t nvmlDeviceGetBoardPartNumber(nvmlDevice_t dev, char *out, unsigned n)
{
    struct sim_call c;
    nvmlReturn_t r = begin(&c, dev, out);
    return r ? r : sim_text("SIMULATED-5134", out, n);
}

NVML_API nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t dev, int *out)
{
    struct sim_call c;
    nvmlReturn_t r = begin(&c, dev, out);
    if (!r) /* TESLA 2, GEFORCE 5, NVIDIA 14 */
        *out = c.g->architecture < 7 ? 2 : strstr(c.g->name, "GeForce") ? 5 : 14;
    return r;
}

NVML_NEW nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t dev, unsigned *out)
{
    struct sim_call c;
    nvmlReturn_t r = begin(&c, dev, out);
    if (!r)
        *out = c.g->architecture;
    return r;
}

NVML_API nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t dev, int *major, int *minor)
{
    struct sim_call c;
    nvmlReturn_t r = begin(&c, dev, major);
    if (r || !minor)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    *major = (int)c.g->cc_major;
    *minor = (int)c.g->cc_minor;
    return NVML_SUCCESS;
}

NVML_NEW nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t dev, unsigned *out)
{
    struct sim_call c;
    nvmlReturn_t r = begin(&c, dev, out);
    if (!r)
        *out = c.g->cores;
    return r;
}

NVML_API nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t dev, unsigned *out)
{
    struct sim_call c;
    nvmlReturn_t r = begin(&c, dev, out);
    if (!r)
        *out = (unsigned)c.gpu;
    return r;
}

NVML_API nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t dev, unsigned *out)
{
    return nvmlDeviceGetIndex(dev, out);
}

NVML_NEW nvmlReturn_t nvmlDeviceGetModuleId(nvmlDevice_t dev, unsigned *out)
{
    return nvmlDeviceGetIndex(dev, out);
}

NVML_API nvmlReturn_t nvmlDeviceGetBoardId(nvmlDevice_t dev, unsigned *out)
{
    struct sim_call c;
    nvmlReturn_t r = begin(&c, dev, out);
    if (!r)
        *out = c.g->pci_bus << 8;
    return r;
}

NVML_API nvmlReturn_t nvmlDeviceGetMultiGpuBoard(nvmlDevice_t dev, unsigned *out)
{
    struct sim_call c;
    nvmlReturn_t r = begin(&c, dev, out);
    if (!r)
        *out = 0;
    return r;
}

NVML_NEW nvmlReturn_t nvmlDeviceGetNumaNodeId(nvmlDevice_t dev, unsigned *out)
{
    struct sim_call c;
    nvmlReturn_t r = begin(&c, dev, out);
    if (!r)
        *out = c.g->node;
    return r;
}

NVML_NEW nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t dev, unsigned *out)
{
    struct sim_call c;
    nvmlReturn_t r = begin(&c, dev, out);
    if (!r)
        *out = c.g->memory_ppb ? 5120 : 384;
    return r;
}

static void pci_v2(const struct simgpu_gpu *g, nvmlPciInfo_v2_t *out)
{
    *out = (nvmlPciInfo_v2_t){.domain = g->pci_domain,
                              .bus = g->pci_bus,
                              .device = g->pci_device,
                              .pciDeviceId = g->pci_device_id,
                              .pciSubSystemId = g->pci_subsystem_id};
    snprintf(out->busId, sizeof out->busId, "%04X:%02X:%02X.0", g->pci_domain & 0xffff, g->pci_bus & 0xff,
             g->pci_device & 0xff);
}

NVML_API nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t dev, nvmlPciInfo_v2_t *out)
{
    struct sim_call c;
    nvmlReturn_t r = begin(&c, dev, out);
    if (!r)
        pci_v2(c.g, out);
    return r;
}

NVML_API nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t dev, nvmlPciInfo_v2_t *out)
{
    return nvmlDeviceGetPciInfo(dev, out);
}

NVML_NEW nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t dev, nvmlPciInfo_t *out)
{
    struct sim_call c;
    nvmlReturn_t r = begin(&c, dev, out);
    if (r)
        return r;
    nvmlPciInfo_v2_t v2;
    pci_v2(c.g, &v2);
    memset(out, 0, sizeof *out);
    memcpy(out, &v2, 36); /* the first 36 bytes are the same */
    snprintf(out->busId, sizeof out->busId, "%08X:%02X:%02X.0", v2.domain, v2.bus & 0xff, v2.device & 0xff);
    return NVML_SUCCESS;
}

static nvmlReturn_t link(nvmlDevice_t dev, unsigned *out, bool width)
{
    struct sim_call c;
    nvmlReturn_t r = begin(&c, dev, out);
    if (!r)
        *out = width ? 16 : c.g->architecture >= 9 ? 5 : c.g->architecture >= 7 ? 4 : 3;
    return r;
}

NVML_API nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t dev, unsigned *out)
{
    return link(dev, out, false);
}

NVML_API nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t dev, unsigned *out)
{
    return link(dev, out, false);
}

NVML_API nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t dev, unsigned *out)
{
    return link(dev, out, true);
}

NVML_API nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t dev, unsigned *out)
{
    return link(dev, out, true);
}

NVML_API nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t dev, int counter, unsigned *kbps)
{
    struct sim_call c;
    nvmlReturn_t r = begin(&c, dev, kbps);
    if (r || counter < 0 || counter > 1)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    *kbps = 0;
    return NVML_SUCCESS;
}

/* ---- MIG ---- */

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t dev, unsigned *current, unsigned *pending);
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t dev, unsigned *count);
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t dev, unsigned index, nvmlDevice_t *out);
nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t mig, nvmlDevice_t *out);
nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t dev, unsigned *is);
nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t dev, unsigned *id);
nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t dev, unsigned *id);
nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t dev, nvmlDeviceAttributes_t *out);

NVML_NEW nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t dev, unsigned *current, unsigned *pending)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter(&c, dev, SIMGPU_W_MIG, SIM_WHOLE);
    if (r)
        return r;
    if (!current || !pending)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!c.g->mig_capable)
        return NVML_ERROR_NOT_SUPPORTED;
    *current = (unsigned)c.g->mig_mode;
    *pending = (unsigned)c.g->mig_pending;
    return NVML_SUCCESS;
}

NVML_NEW nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t dev, unsigned *count)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter(&c, dev, SIMGPU_W_MIG, SIM_WHOLE);
    if (r || !count)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    *count = c.g->mig_mode ? SIMGPU_MAX_MIG : 0;
    return NVML_SUCCESS;
}

NVML_NEW nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t dev, unsigned index, nvmlDevice_t *out)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter(&c, dev, SIMGPU_W_MIG, SIM_WHOLE);
    if (r)
        return r;
    if (!out || index >= SIMGPU_MAX_MIG)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!c.g->mig_mode || !c.g->mig[index].present)
        return NVML_ERROR_NOT_FOUND; /* indices have holes */
    *out = sim_handle(c.gpu, (int)index);
    return NVML_SUCCESS;
}

NVML_NEW nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t mig, nvmlDevice_t *out)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter(&c, mig, SIMGPU_W_MIG, SIM_MIG_TOO);
    if (r)
        return r;
    if (!out || c.mig < 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = sim_handle(c.gpu, -1);
    return NVML_SUCCESS;
}

NVML_NEW nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t dev, unsigned *is)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter(&c, dev, SIMGPU_W_MIG, SIM_MIG_TOO);
    if (r || !is)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    *is = c.mig >= 0;
    return NVML_SUCCESS;
}

static nvmlReturn_t instance(nvmlDevice_t dev, unsigned *id, bool compute)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter(&c, dev, SIMGPU_W_MIG, SIM_MIG_TOO);
    if (r)
        return r;
    if (!id)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (c.mig < 0)
        return NVML_ERROR_NOT_SUPPORTED;
    *id = compute ? c.g->mig[c.mig].ci : c.g->mig[c.mig].gi;
    return NVML_SUCCESS;
}

NVML_NEW nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t dev, unsigned *id)
{
    return instance(dev, id, false);
}

NVML_NEW nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t dev, unsigned *id)
{
    return instance(dev, id, true);
}

NVML_NEW nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t dev, nvmlDeviceAttributes_t *out)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter(&c, dev, SIMGPU_W_MIG, SIM_MIG_TOO);
    if (r || !out)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    if (c.mig < 0)
        return NVML_ERROR_NOT_SUPPORTED;
    const struct simgpu_mig *m = &c.g->mig[c.mig];
    *out = (nvmlDeviceAttributes_t){.multiprocessorCount = c.g->cores / 128 * m->slices / 7,
                                    .sharedCopyEngineCount = m->slices,
                                    .gpuInstanceSliceCount = m->slices,
                                    .computeInstanceSliceCount = m->slices,
                                    .memorySizeMB = m->memory >> 20};
    return NVML_SUCCESS;
}
