/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated libze_loader.so.1: what zes_api.h documents of Sysman for energy counters. A card contains its
 * package and draws module_extra_w beside it; the package has two tiles, of 60 and 40 percent. SIM_ZE_OLD
 * stands for a loader before 1.9: no zesInit, no kinds of domains, and no power without ZES_ENABLE_SYSMAN=1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accel_sim.h"

enum {
    OK = 0,
    LOST = 0x70000001,
    NO_PERMISSION = 0x70010000,
    NOT_AVAILABLE = 0x70010001,
    UNINITIALIZED = 0x78000001,
    UNSUPPORTED = 0x78000003,
    INVALID = 0x78000004
};
enum { CARD, PACKAGE, TILE_0, TILE_1, DOMAINS };

static int code(nvmlReturn_t r)
{
    switch (r) {
    case NVML_SUCCESS: return OK;
    case NVML_ERROR_UNINITIALIZED:
    case NVML_ERROR_DRIVER_NOT_LOADED: return UNINITIALIZED;
    case NVML_ERROR_NOT_SUPPORTED: return UNSUPPORTED;
    case NVML_ERROR_NO_PERMISSION: return NO_PERMISSION;
    case NVML_ERROR_GPU_IS_LOST: return LOST;
    case NVML_ERROR_INVALID_ARGUMENT: return INVALID;
    default: return NOT_AVAILABLE;
    }
}

struct device_properties {
    uint32_t stype;
    void *next;
    struct {
        uint32_t stype;
        void *next;
        uint32_t type, vendor, device, flags, subdevice, clock;
        uint64_t max_alloc;
        uint32_t counts[7];
        uint64_t timer;
        uint32_t bits[2];
        uint8_t uuid[16];
        char name[256];
    } core;
    uint32_t subdevices;
    char text[6][64];
};
struct pci_properties {
    uint32_t stype;
    void *next;
    uint32_t domain, bus, device, function;
    int32_t gen, width;
    int64_t bandwidth;
    uint8_t have[3];
};
struct power_properties {
    uint32_t stype;
    void *next;
    uint8_t on_subdevice;
    uint32_t subdevice;
    uint8_t can_control, threshold;
    int32_t limit_default, limit_min, limit_max;
};
struct power_ext_properties {
    uint32_t stype;
    void *next;
    uint32_t domain;
    void *limit;
};
struct energy_counter {
    uint64_t uj, us;
};
struct sustained_limit {
    uint8_t enabled;
    int32_t mw, interval;
};

/* 4 bits of a handle say which domain; 0 is the device itself. */
static void *domain_handle(int gpu, int domain)
{
    return accel_handle(gpu * 8 + domain + 1);
}
static int gpu_of(const void *h)
{
    return accel_index(h) / 8;
}
static int domain_of(const void *h)
{
    return accel_index(h) % 8 - 1;
}

static int start(uint32_t flags)
{
    nvmlReturn_t r = flags ? NVML_ERROR_INVALID_ARGUMENT : accel_start(ACCEL_INTEL);
    return code(r);
}

/* Sysman has no end of its own: what was opened is closed with the library. */
static void end(void) __attribute__((destructor));
static void end(void)
{
    while (accel_stop() == NVML_SUCCESS)
        ;
}

#ifdef SIM_ZE_OLD
#define DRIVERS zeDriverGet
#define DEVICES zeDeviceGet
int zeInit(uint32_t flags);
SIM_PUBLIC int zeInit(uint32_t flags)
{
    return start(flags);
}
static int sysman(void)
{
    const char *s = getenv("ZES_ENABLE_SYSMAN");
    return s && strcmp(s, "1") == 0;
}
#else
#define DRIVERS zesDriverGet
#define DEVICES zesDeviceGet
int zesInit(uint32_t flags);
SIM_PUBLIC int zesInit(uint32_t flags)
{
    return start(flags);
}
static int sysman(void)
{
    return 1;
}
#endif

int DRIVERS(uint32_t *n, void **h);
int DEVICES(void *driver, uint32_t *n, void **h);
int zesDeviceGetProperties(void *h, struct device_properties *p);
int zesDevicePciGetProperties(void *h, struct pci_properties *p);
int zesDeviceEnumPowerDomains(void *h, uint32_t *n, void **d);
int zesDeviceGetCardPowerDomain(void *h, void **d);
int zesPowerGetProperties(void *d, struct power_properties *p);
int zesPowerGetEnergyCounter(void *d, struct energy_counter *e);
int zesPowerGetLimits(void *d, struct sustained_limit *s, void *burst, void *peak);

SIM_PUBLIC int DRIVERS(uint32_t *n, void **h)
{
    if (h && *n)
        h[0] = accel_handle(0);
    *n = 1;
    return OK;
}

SIM_PUBLIC int DEVICES(void *driver, uint32_t *n, void **h)
{
    (void)driver;
    uint32_t have = (uint32_t)accel_count(), room = *n;
    for (uint32_t i = 0; h && i < have && i < room; i++)
        h[i] = accel_handle((int)i * 8);
    *n = have;
    return OK;
}

SIM_PUBLIC int zesDeviceGetProperties(void *h, struct device_properties *p)
{
    const struct simgpu_gpu *g = accel_gpu(gpu_of(h));
    if (!g || p->stype != 1)
        return INVALID;
    snprintf(p->core.name, sizeof p->core.name, "%s", g->name);
    p->core.vendor = ACCEL_INTEL;
    p->core.device = g->pci_device_id >> 16;
    p->core.flags = 0;
    p->subdevices = 2;
    memset(p->core.uuid, 0, sizeof p->core.uuid);
    p->core.uuid[0] = 0x51;
    p->core.uuid[1] = 0x34;
    p->core.uuid[15] = (uint8_t)g->pci_bus;
    return OK;
}

SIM_PUBLIC int zesDevicePciGetProperties(void *h, struct pci_properties *p)
{
    const struct simgpu_gpu *g = accel_gpu(gpu_of(h));
    if (!g || p->stype != 2)
        return INVALID;
    p->domain = g->pci_domain;
    p->bus = g->pci_bus;
    p->device = g->pci_device;
    p->function = 0;
    return OK;
}

SIM_PUBLIC int zesDeviceEnumPowerDomains(void *h, uint32_t *n, void **d)
{
    if (!sysman())
        return UNINITIALIZED;
    int r = code(accel_open(gpu_of(h)));
    uint32_t room = *n;
    *n = DOMAINS;
    for (uint32_t i = 0; !r && d && i < DOMAINS && i < room; i++)
        d[i] = domain_handle(gpu_of(h), (int)i);
    return r;
}

SIM_PUBLIC int zesDeviceGetCardPowerDomain(void *h, void **d)
{
    *d = domain_handle(gpu_of(h), CARD);
    return OK;
}

SIM_PUBLIC int zesPowerGetProperties(void *d, struct power_properties *p)
{
    const struct simgpu_gpu *g = accel_gpu(gpu_of(d));
    int domain = domain_of(d);
    if (!g || p->stype != 0xd)
        return INVALID;
    p->on_subdevice = domain >= TILE_0;
    p->subdevice = domain >= TILE_0 ? (uint32_t)(domain - TILE_0) : 0;
    p->can_control = domain == CARD;
    p->limit_default = (int32_t)(g->limit_default_uw / 1000);
    p->limit_min = (int32_t)(g->limit_min_uw / 1000);
    p->limit_max = (int32_t)(g->limit_max_uw / 1000);
#ifndef SIM_ZE_OLD
    struct power_ext_properties *x = p->next;
    if (x && x->stype == 0x28)
        x->domain = domain == CARD ? 1 : domain == PACKAGE ? 2 : 3;
#endif
    return OK;
}

SIM_PUBLIC int zesPowerGetEnergyCounter(void *d, struct energy_counter *e)
{
    unsigned long long mj = 0;
    int domain = domain_of(d), i = gpu_of(d);
    int r = code(domain == CARD ? accel_energy_around(i, &mj) : accel_energy(i, &mj));
    mj = domain == TILE_0 ? mj * 6 / 10 : domain == TILE_1 ? mj * 4 / 10 : mj;
    e->uj = mj * 1000;
    e->us = (uint64_t)accel_now() / 1000;
    return r;
}

SIM_PUBLIC int zesPowerGetLimits(void *d, struct sustained_limit *s, void *burst, void *peak)
{
    unsigned mw = 0;
    (void)burst;
    (void)peak;
    if (domain_of(d) != CARD)
        return UNSUPPORTED;
    int r = code(accel_limit(gpu_of(d), &mw));
    *s = (struct sustained_limit){.enabled = 1, .mw = (int32_t)mw, .interval = 28000};
    return r;
}
