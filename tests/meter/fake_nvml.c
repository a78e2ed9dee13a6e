/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_nvml.h"

#include <stdio.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

API struct fake_nvml fake;

struct pci {
    char legacy[16];
    uint32_t domain, bus, device, device_id, subsystem;
    char id[32];
};

struct field {
    uint32_t id, scope;
    int64_t ts, latency;
    int32_t type, ret;
    uint64_t value;
};

static struct fake_gpu *at(void *dev)
{
    fake.calls++;
    return dev;
}

API int nvmlInit_v2(void)
{
    fake.inits += fake.init == 0;
    return fake.init;
}

API int nvmlShutdown(void)
{
    fake.inits--;
    return 0;
}

API int nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = fake.count;
    return 0;
}

API int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **dev)
{
    *dev = &fake.gpu[i];
    return fake.gpu[i].handle;
}

API int nvmlDeviceGetPowerUsage(void *dev, unsigned *mw)
{
    *mw = at(dev)->power;
    return at(dev)->power_ret;
}

#ifndef FAKE_BARE
API int nvmlSystemGetDriverVersion(char *out, unsigned n)
{
    snprintf(out, n, "%s", fake.driver);
    return 0;
}

API int nvmlDeviceGetUUID(void *dev, char *out, unsigned n)
{
    uintptr_t p = (uintptr_t)dev, a = (uintptr_t)fake.gpu, z = a + sizeof fake.gpu;
    int whole = (p - a) % sizeof *fake.gpu == 0;
    snprintf(out, n, "%s", p >= a && p < z && whole ? at(dev)->uuid : (const char *)dev);
    return 0;
}

API int nvmlDeviceGetName(void *dev, char *out, unsigned n)
{
    snprintf(out, n, "%s", at(dev)->name);
    return 0;
}

API int nvmlDeviceGetPciInfo_v3(void *dev, struct pci *out)
{
    const struct fake_gpu *g = at(dev);
    *out = (struct pci){.domain = g->domain, .bus = g->bus, .device = g->device, .device_id = g->device_id};
    return 0;
}

API int nvmlDeviceGetArchitecture(void *dev, unsigned *out)
{
    *out = at(dev)->arch;
    return 0;
}

API int nvmlDeviceGetTotalEnergyConsumption(void *dev, unsigned long long *mj)
{
    *mj = at(dev)->energy;
    return at(dev)->energy_ret;
}

API int nvmlDeviceGetPowerManagementLimitConstraints(void *dev, unsigned *lo, unsigned *hi)
{
    *lo = at(dev)->limit / 2;
    *hi = at(dev)->limit;
    return *hi ? 0 : 3;
}

API int nvmlDeviceGetEnforcedPowerLimit(void *dev, unsigned *mw)
{
    *mw = at(dev)->limit;
    return *mw ? 0 : 3;
}

API int nvmlDeviceGetUtilizationRates(void *dev, unsigned *pct)
{
    pct[0] = 97;
    pct[1] = 41;
    return at(dev)->mig == 1 ? 3 : 0;
}

API int nvmlDeviceGetFieldValues(void *dev, int n, struct field *f)
{
    const struct fake_gpu *g = at(dev);
    for (int i = 0; i < n && g->fields_ret == 0; i++) {
        const struct fake_field *found = NULL;
        for (int k = 0; k < 12; k++)
            if (g->field[k].id == f[i].id && g->field[k].scope == f[i].scope)
                found = &g->field[k];
        if (found && found->unfilled)
            continue;
        f[i].ret = found ? found->ret : 3;
        f[i].type = found ? found->type : 1;
        f[i].value = found ? found->value : 0;
    }
    return g->fields_ret;
}

API int nvmlDeviceGetMigMode(void *dev, unsigned *now, unsigned *pending)
{
    *now = *pending = (unsigned)at(dev)->mig;
    return at(dev)->mig < 0 ? 3 : 0;
}

API int nvmlDeviceGetMaxMigDeviceCount(void *dev, unsigned *n)
{
    (void)dev;
    *n = 7;
    return 0;
}

API int nvmlDeviceGetMigDeviceHandleByIndex(void *dev, unsigned i, void **mig)
{
    /* the index has a hole at 0 */
    *mig = i == 1 || i == 3 ? at(dev)->mig_uuid[i / 2] : NULL;
    return *mig && **(char **)mig ? 0 : 6;
}

API int nvmlDeviceGetComputeRunningProcesses_v3(void *dev, unsigned *n, unsigned char *out)
{
    const struct fake_gpu *g = at(dev);
    unsigned room = *n;
    *n = (unsigned)g->n_pid;
    if (room < *n)
        return 7;
    for (unsigned i = 0; i < *n; i++) {
        memset(out + i * fake.stride, 0, fake.stride);
        memcpy(out + i * fake.stride, &g->pid[i], 4);
    }
    return 0;
}
#endif
