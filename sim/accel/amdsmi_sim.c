/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated libamd_smi.so: what amdsmi.h documents of it for power and energy. SIM_AMDSMI_YEAR says which
 * form of amdsmi_power_info_t it has: 26 (ROCm 7) or 24 (ROCm 6.1 to 6.3). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amd_sim.h"

#ifndef SIM_AMDSMI_YEAR
#define SIM_AMDSMI_YEAR 26
#endif

enum { OK = 0, INVAL = 1, NOT_SUPPORTED = 2, NO_PERM = 10, NOT_FOUND = 31, NOT_INIT = 32, NO_DRIVER = 34 };

static int code(nvmlReturn_t r)
{
    switch (r) {
    case NVML_SUCCESS: return OK;
    case NVML_ERROR_UNINITIALIZED: return NOT_INIT;
    case NVML_ERROR_NOT_SUPPORTED: return NOT_SUPPORTED;
    case NVML_ERROR_NO_PERMISSION: return NO_PERM;
    case NVML_ERROR_GPU_IS_LOST: return NOT_FOUND;
    case NVML_ERROR_DRIVER_NOT_LOADED: return NO_DRIVER;
    case NVML_ERROR_INVALID_ARGUMENT: return INVAL;
    default: return r;
    }
}

/* A board in `partitions` parts (XCP): a socket with so many processors, which differ by the PCI function. */
static int partitions(void)
{
    const char *s = getenv("JOULEMARK_SIM_PARTITIONS");
    return s && s[0] >= '1' && s[0] <= '8' && !s[1] ? s[0] - '0' : 1;
}

static int gpu_of(const void *h)
{
    return accel_index(h) / 8;
}

struct version {
#if SIM_AMDSMI_YEAR < 26
    uint32_t year;
#endif
    uint32_t major, minor, release;
    const char *build;
};

struct power_info {
#if SIM_AMDSMI_YEAR >= 25
    uint64_t socket;
    uint32_t current, average;
    uint64_t gfx, soc, mem;
    uint32_t limit, ubb;
    uint64_t reserved[18];
#else
    uint32_t current, average, gfx, soc, mem, limit, reserved[11];
#endif
};

struct power_cap {
    uint64_t cap, deflt, dpm, min, max, reserved[3];
};

int amdsmi_init(uint64_t flags);
int amdsmi_shut_down(void);
int amdsmi_get_lib_version(struct version *v);
int amdsmi_get_socket_handles(uint32_t *n, void **h);
int amdsmi_get_processor_handles(void *socket, uint32_t *n, void **h);
int amdsmi_get_processor_type(void *h, int *type);
int amdsmi_get_gpu_device_bdf(void *h, uint64_t *bdf);
int amdsmi_get_gpu_device_uuid(void *h, unsigned *n, char *uuid);
int amdsmi_get_gpu_asic_info(void *h, char *info);
int amdsmi_get_power_info(void *h, struct power_info *p);
int amdsmi_get_energy_count(void *h, uint64_t *counts, float *resolution, uint64_t *ns);
int amdsmi_get_power_cap_info(void *h, uint32_t sensor, struct power_cap *p);

SIM_PUBLIC int amdsmi_init(uint64_t flags)
{
    nvmlReturn_t r = flags & 2 ? accel_start(ACCEL_AMD) : NVML_ERROR_INVALID_ARGUMENT;
    return code(r);
}

SIM_PUBLIC int amdsmi_shut_down(void)
{
    return code(accel_stop());
}

SIM_PUBLIC int amdsmi_get_lib_version(struct version *v)
{
#if SIM_AMDSMI_YEAR < 26
    v->year = SIM_AMDSMI_YEAR;
    v->major = 7;
    v->minor = 1;
#else
    v->major = SIM_AMDSMI_YEAR;
    v->minor = 2;
#endif
    v->release = 0;
    v->build = "simulated";
    return OK;
}

static int give(uint32_t *n, void **h, uint32_t have, int first, int step)
{
    if (!n)
        return INVAL;
    uint32_t room = *n;
    *n = have;
    for (uint32_t i = 0; h && i < have && i < room; i++)
        h[i] = accel_handle(first + (int)i * step);
    return OK;
}

SIM_PUBLIC int amdsmi_get_socket_handles(uint32_t *n, void **h)
{
    return give(n, h, (uint32_t)accel_count(), 0, 8);
}

SIM_PUBLIC int amdsmi_get_processor_handles(void *socket, uint32_t *n, void **h)
{
    int r = code(accel_open(gpu_of(socket)));
    return r ? r : give(n, h, (uint32_t)partitions(), gpu_of(socket) * 8, 1);
}

SIM_PUBLIC int amdsmi_get_processor_type(void *h, int *type)
{
    (void)h;
    *type = 1;
    return OK;
}

SIM_PUBLIC int amdsmi_get_gpu_device_bdf(void *h, uint64_t *bdf)
{
    const struct simgpu_gpu *g = accel_gpu(gpu_of(h));
    if (!g)
        return INVAL;
    *bdf = (uint64_t)g->pci_domain << 16 | (uint64_t)(g->pci_bus & 255) << 8 | (g->pci_device & 31) << 3 |
           (unsigned)(accel_index(h) % 8);
    return OK;
}

SIM_PUBLIC int amdsmi_get_gpu_device_uuid(void *h, unsigned *n, char *uuid)
{
    const struct simgpu_gpu *g = accel_gpu(gpu_of(h));
    if (!g || !n || *n < 38)
        return INVAL;
    snprintf(uuid, *n, "%.36s", strncmp(g->uuid, "GPU-", 4) == 0 ? g->uuid + 4 : g->uuid);
    return OK;
}

SIM_PUBLIC int amdsmi_get_gpu_asic_info(void *h, char *info)
{
    const struct simgpu_gpu *g = accel_gpu(gpu_of(h));
    if (!g)
        return INVAL;
    snprintf(info, 64, "%.63s", g->name);
    return OK;
}

/* What a device does not have is all ones in the newer form, 0xffff in the older. */
static int watts(int i, enum simgpu_gauge_id id, uint32_t *w)
{
    unsigned mw = 0;
    nvmlReturn_t r = amd_gauge(i, id, &mw);
    *w = SIM_AMDSMI_YEAR >= 25 ? UINT32_MAX : 0xffff;
    if (r == NVML_ERROR_NOT_SUPPORTED)
        return OK;
    if (!r)
        *w = (mw + 500) / 1000;
    return code(r);
}

SIM_PUBLIC int amdsmi_get_power_info(void *h, struct power_info *p)
{
    unsigned limit = 0;
    int i = gpu_of(h), r;
    memset(p, 0, sizeof *p);
    if ((r = watts(i, SIMGPU_INSTANT, &p->current)) || (r = watts(i, SIMGPU_AVERAGE, &p->average)))
        return r;
#if SIM_AMDSMI_YEAR >= 25
    p->socket = p->current != UINT32_MAX ? p->current : p->average;
    p->gfx = p->soc = p->mem = p->ubb = UINT32_MAX;
#else
    p->gfx = 750;
    p->soc = p->mem = 0xffff;
#endif
    if (accel_limit(i, &limit) == NVML_SUCCESS)
        p->limit = limit * 1000; /* uW, whatever the header says */
    return OK;
}

SIM_PUBLIC int amdsmi_get_energy_count(void *h, uint64_t *counts, float *resolution, uint64_t *ns)
{
    if (!counts || !resolution || !ns)
        return INVAL;
    *resolution = AMD_RESOLUTION;
    *ns = (uint64_t)accel_now();
    return code(amd_energy(gpu_of(h), counts));
}

SIM_PUBLIC int amdsmi_get_power_cap_info(void *h, uint32_t sensor, struct power_cap *p)
{
    const struct simgpu_gpu *g = accel_gpu(gpu_of(h));
    unsigned mw = 0;
    if (!g || sensor != 0)
        return INVAL;
    nvmlReturn_t r = accel_limit(gpu_of(h), &mw);
    *p = (struct power_cap){.cap = (uint64_t)mw * 1000,
                            .deflt = (uint64_t)g->limit_default_uw,
                            .min = (uint64_t)g->limit_min_uw,
                            .max = (uint64_t)g->limit_max_uw};
    return code(r);
}
