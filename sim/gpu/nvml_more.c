/* SPDX-License-Identifier: Apache-2.0 */
/* What monitoring programs ask beside the rest, mostly to hear that it is not there. */
#include "nvml_sim.h"

#include <string.h>

static nvmlReturn_t begin(struct sim_call *c, nvmlDevice_t dev, const void *out)
{
    nvmlReturn_t r = sim_enter(c, dev, SIMGPU_W_IDENT, SIM_WHOLE);
    return r ? r : out ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

static nvmlReturn_t absent(nvmlDevice_t dev, const void *out)
{
    struct sim_call c;
    nvmlReturn_t r = begin(&c, dev, out);
    return r ? r : NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t number(nvmlDevice_t dev, unsigned *out, unsigned value)
{
    struct sim_call c;
    nvmlReturn_t r = begin(&c, dev, out);
    if (!r)
        *out = value;
    return r;
}

nvmlReturn_t nvmlDeviceGetDriverModel(nvmlDevice_t dev, int *current, int *pending);
nvmlReturn_t nvmlDeviceGetDriverModel_v2(nvmlDevice_t dev, int *current, int *pending);
nvmlReturn_t nvmlDeviceGetGpuOperationMode(nvmlDevice_t dev, int *current, int *pending);
nvmlReturn_t nvmlDeviceGetNumFans(nvmlDevice_t dev, unsigned *out);
nvmlReturn_t nvmlDeviceGetFanSpeed_v2(nvmlDevice_t dev, unsigned fan, unsigned *out);
nvmlReturn_t nvmlDeviceGetPcieReplayCounter(nvmlDevice_t dev, unsigned *out);
nvmlReturn_t nvmlDeviceGetPowerSource(nvmlDevice_t dev, unsigned *out);
nvmlReturn_t nvmlDeviceGetAccountingMode(nvmlDevice_t dev, int *out);
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t dev, unsigned link, int *out);
nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t dev, unsigned n, unsigned long *set);
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b, int *level);
nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t a, nvmlDevice_t b, int *same);

NVML_API nvmlReturn_t nvmlDeviceGetDriverModel(nvmlDevice_t dev, int *current, int *pending)
{
    return absent(dev, pending ? current : NULL); /* Windows only */
}

NVML_NEW nvmlReturn_t nvmlDeviceGetDriverModel_v2(nvmlDevice_t dev, int *current, int *pending)
{
    return absent(dev, pending ? current : NULL);
}

NVML_API nvmlReturn_t nvmlDeviceGetGpuOperationMode(nvmlDevice_t dev, int *current, int *pending)
{
    return absent(dev, pending ? current : NULL);
}

NVML_NEW nvmlReturn_t nvmlDeviceGetNumFans(nvmlDevice_t dev, unsigned *out)
{
    return number(dev, out, 0);
}

NVML_NEW nvmlReturn_t nvmlDeviceGetFanSpeed_v2(nvmlDevice_t dev, unsigned fan, unsigned *out)
{
    (void)fan;
    return absent(dev, out);
}

NVML_API nvmlReturn_t nvmlDeviceGetPcieReplayCounter(nvmlDevice_t dev, unsigned *out)
{
    return number(dev, out, 0);
}

NVML_NEW nvmlReturn_t nvmlDeviceGetPowerSource(nvmlDevice_t dev, unsigned *out)
{
    return number(dev, out, 0); /* AC */
}

NVML_API nvmlReturn_t nvmlDeviceGetAccountingMode(nvmlDevice_t dev, int *out)
{
    return absent(dev, out);
}

NVML_API nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t dev, unsigned link, int *out)
{
    (void)link;
    return absent(dev, out);
}

NVML_API nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t dev, unsigned n, unsigned long *set)
{
    struct sim_call c;
    nvmlReturn_t r = begin(&c, dev, set);
    if (r || n == 0)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    memset(set, 0xff, n * sizeof *set);
    return NVML_SUCCESS;
}

/* The first half of the GPUs sits at one socket, the second at the other. */
NVML_API nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b, int *level)
{
    struct sim_call x, y;
    nvmlReturn_t r = begin(&x, a, level);
    if (!r)
        r = begin(&y, b, level);
    if (!r)
        *level = x.gpu == y.gpu ? 0 : x.g->node == y.g->node ? 40 : 50; /* INTERNAL, NODE, SYSTEM */
    return r;
}

NVML_API nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t a, nvmlDevice_t b, int *same)
{
    struct sim_call x, y;
    nvmlReturn_t r = begin(&x, a, same);
    if (!r)
        r = begin(&y, b, same);
    if (!r)
        *same = x.gpu == y.gpu;
    return r;
}
