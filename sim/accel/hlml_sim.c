/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated libhlml.so: what hlml.h documents of it for power and energy. Its codes are NVML's where both
 * have one. */
#include <stdio.h>
#include <string.h>

#include "accel_sim.h"

enum { NOT_SUPPORTED = 3, UNKNOWN = 49 };

static int code(nvmlReturn_t r)
{
    /* it has none for a missing permission */
    return r == NVML_ERROR_NO_PERMISSION || r == NVML_ERROR_UNKNOWN ? UNKNOWN : r;
}

struct pci_info {
    unsigned bus;
    char bus_id[15];
    unsigned device, domain, pci_device_id;
    char link_speed[10], link_width[10];
};

int hlml_init(void);
int hlml_shutdown(void);
int hlml_device_get_count(unsigned *n);
int hlml_device_get_handle_by_index(unsigned i, void **h);
int hlml_device_get_name(void *h, char *name, unsigned n);
int hlml_device_get_uuid(void *h, char *uuid, unsigned n);
int hlml_device_get_serial(void *h, char *serial, unsigned n);
int hlml_device_get_pci_info(void *h, struct pci_info *p);
int hlml_device_get_power_usage(void *h, unsigned *mw);
int hlml_device_get_total_energy_consumption(void *h, unsigned long long *mj);
int hlml_device_get_power_management_default_limit(void *h, unsigned *mw);
int hlml_get_driver_version(char *v, unsigned n);
int hlml_get_hlml_version(char *v, unsigned n);

SIM_PUBLIC int hlml_init(void)
{
    return code(accel_start(ACCEL_HABANA));
}

SIM_PUBLIC int hlml_shutdown(void)
{
    return code(accel_stop());
}

SIM_PUBLIC int hlml_device_get_count(unsigned *n)
{
    *n = (unsigned)accel_count();
    return 0;
}

SIM_PUBLIC int hlml_device_get_handle_by_index(unsigned i, void **h)
{
    int r = code(accel_open((int)i));
    if (!r)
        *h = accel_handle((int)i);
    return r;
}

SIM_PUBLIC int hlml_device_get_name(void *h, char *name, unsigned n)
{
    const struct simgpu_gpu *g = accel_gpu(accel_index(h));
    return g ? code(sim_text(g->name, name, n)) : NVML_ERROR_INVALID_ARGUMENT;
}

SIM_PUBLIC int hlml_device_get_uuid(void *h, char *uuid, unsigned n)
{
    const struct simgpu_gpu *g = accel_gpu(accel_index(h));
    return g ? code(sim_text(g->uuid, uuid, n)) : NVML_ERROR_INVALID_ARGUMENT;
}

SIM_PUBLIC int hlml_device_get_serial(void *h, char *serial, unsigned n)
{
    const struct simgpu_gpu *g = accel_gpu(accel_index(h));
    return g ? code(sim_text(g->serial, serial, n)) : NVML_ERROR_INVALID_ARGUMENT;
}

SIM_PUBLIC int hlml_device_get_pci_info(void *h, struct pci_info *p)
{
    const struct simgpu_gpu *g = accel_gpu(accel_index(h));
    if (!g)
        return NVML_ERROR_INVALID_ARGUMENT;
    memset(p, 0, sizeof *p);
    p->bus = g->pci_bus;
    p->device = g->pci_device;
    p->domain = g->pci_domain;
    p->pci_device_id = g->pci_device_id;
    snprintf(p->bus_id, sizeof p->bus_id, "%04x:%02x:%02x.0", g->pci_domain & 0xffff, g->pci_bus & 0xff,
             g->pci_device & 0x1f);
    return 0;
}

SIM_PUBLIC int hlml_device_get_power_usage(void *h, unsigned *mw)
{
    return code(accel_gauge(accel_index(h), SIMGPU_USAGE, mw));
}

SIM_PUBLIC int hlml_device_get_total_energy_consumption(void *h, unsigned long long *mj)
{
    return code(accel_energy(accel_index(h), mj));
}

SIM_PUBLIC int hlml_device_get_power_management_default_limit(void *h, unsigned *mw)
{
    const struct simgpu_gpu *g = accel_gpu(accel_index(h));
    if (!g || g->limit_default_uw <= 0)
        return g ? NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
    *mw = (unsigned)(g->limit_default_uw / 1000);
    return 0;
}

SIM_PUBLIC int hlml_get_driver_version(char *v, unsigned n)
{
    return code(sim_text("1.20.1-simulated", v, n));
}

SIM_PUBLIC int hlml_get_hlml_version(char *v, unsigned n)
{
    return code(sim_text("1.20.1-simulated", v, n));
}
