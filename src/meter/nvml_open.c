/* SPDX-License-Identifier: Apache-2.0 */
/* Loading, starting, listing. */
#include "meter/nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "meter/sysfs.h"
#include "base/banned.h"

#define DEFAULT_LIB "libnvidia-ml.so.1"

static int no_library(const struct jm_meter_env *env, struct jm_probe *p, struct jm_err *err, const char *why)
{
    struct jm_probe own;
    p = p ? p : &own;
    if (jm_sysfs_pci_has(env->sysfs_root, 0x10de, 0x03)) /* a display device */
        jm_probe_set(p, JM_PROBE_ABSENT, "sudo ubuntu-drivers install --gpgpu",
                     "an NVIDIA GPU is on the PCI bus, but its driver's library is not: %s", why);
    else
        jm_probe_set(p, JM_PROBE_ABSENT, "", "%s; no NVIDIA GPU on the PCI bus", why);
    return jm_err_set(err, JM_EABSENT, "nvml: %s", p->reason);
}

static int no_start(struct jm_nvml_session *s, struct jm_probe *p, struct jm_err *err, int ret)
{
    struct jm_probe own;
    p = p ? p : &own;
    enum jm_probe_state state = ret == JM_NVML_NO_PERMISSION ? JM_PROBE_DENIED : JM_PROBE_ABSENT;
    const char *mend = ret == JM_NVML_NO_PERMISSION       ? "sudo chmod a+rw /dev/nvidiactl /dev/nvidia[0-9]*"
                       : ret == JM_NVML_DRIVER_NOT_LOADED ? "sudo modprobe nvidia"
                       : ret == JM_NVML_LIB_RM_VERSION_MISMATCH ? "sudo reboot"
                                                                : "";
    jm_probe_set(p, state, mend, "%s is there, but does not start: %s (%d)", s->lib, jm_nvml_error(ret), ret);
    return jm_err_set(err, state == JM_PROBE_DENIED ? JM_EDENIED : JM_EABSENT, "nvml: %s", p->reason);
}

/* Drivers before 450 do not tell the architecture; its compute capability does (CUDA C Programming Guide,
 * "Compute Capabilities"). 0: unknown. */
static unsigned architecture(const struct jm_nvml_api *a, jm_nvml_dev dev)
{
    unsigned arch = 0;
    int major = 0, minor = 0;
    if (a->arch && a->arch(dev, &arch) == JM_NVML_OK)
        return arch;
    if (!a->capability || a->capability(dev, &major, &minor) != JM_NVML_OK)
        return 0;
    return major == 3   ? 2
           : major == 5 ? 3
           : major == 6 ? 4
           : major == 7 ? (minor < 5 ? 5 : 6)
           : major == 8 ? (minor < 9 ? 7 : 8)
           : major == 9 ? 9
           : major > 9  ? 10
                        : 0;
}

static void identify(const struct jm_nvml_api *a, struct jm_nvml_gpu *g)
{
    struct jm_nvml_pci pci = {0};
    unsigned pending = 0;
    if (!a->uuid || a->uuid(g->dev, g->uuid, sizeof g->uuid) != JM_NVML_OK)
        snprintf(g->uuid, sizeof g->uuid, "nvml-index-%u", g->index);
    if (!a->name || a->name(g->dev, g->name, sizeof g->name) != JM_NVML_OK)
        snprintf(g->name, sizeof g->name, "NVIDIA GPU");
    g->uuid[sizeof g->uuid - 1] = g->name[sizeof g->name - 1] = '\0';
    if (a->pci && a->pci(g->dev, &pci) == JM_NVML_OK) {
        g->pci_domain = pci.domain;
        g->pci_bus = pci.bus;
        g->pci_device = pci.device;
        g->device_id = pci.device_id;
        /* sysfs writes four digits of the domain, lower case; NVML eight, upper case */
        snprintf(g->bus_id, sizeof g->bus_id, "%04x:%02x:%02x.0", pci.domain, pci.bus & 0xff,
                 pci.device & 0x1f);
    }
    g->arch = architecture(a, g->dev);
    if (!a->mig_mode || a->mig_mode(g->dev, &g->mig, &pending) != JM_NVML_OK)
        g->mig = 0;
}

static int by_bus(const void *x, const void *y)
{
    const struct jm_nvml_gpu *a = x, *b = y;
    bool na = a->ret != JM_NVML_OK, nb = b->ret != JM_NVML_OK;
    if (na != nb)
        return na - nb; /* those without a handle have no address: last */
#define CMP(f)                                                                                               \
    if (a->f != b->f)                                                                                        \
    return a->f < b->f ? -1 : 1
    CMP(pci_domain);
    CMP(pci_bus);
    CMP(pci_device);
    CMP(index);
#undef CMP
    return 0;
}

static int list(struct jm_nvml_session *s, struct jm_err *err, struct jm_probe *probe)
{
    unsigned n = 0;
    int ret = s->api.count(&n);
    if (ret != JM_NVML_OK)
        return no_start(s, probe, err, ret);
    if (n > JM_NVML_MAX_GPUS)
        n = JM_NVML_MAX_GPUS;
    s->gpu = calloc(n + 1, sizeof *s->gpu);
    if (!s->gpu)
        return jm_err_set(err, JM_ENOMEM, "out of memory for %u GPUs", n);
    for (s->n = 0; s->n < n; s->n++) {
        struct jm_nvml_gpu *g = &s->gpu[s->n];
        g->index = (unsigned)s->n;
        g->domain = -1;
        g->ret = s->api.by_index(g->index, &g->dev);
        if (g->ret == JM_NVML_OK)
            identify(&s->api, g);
    }
    qsort(s->gpu, s->n, sizeof *s->gpu, by_bus);
    for (size_t i = 0; i < s->n; i++)
        s->gpu[i].ordinal = s->gpu[i].ret == JM_NVML_OK ? (int)i : -1;
    return 0;
}

static void versions(struct jm_nvml_session *s)
{
    const struct jm_nvml_api *a = &s->api;
    int64_t major = 0;
    if (a->driver_version && a->driver_version(s->driver, sizeof s->driver) == JM_NVML_OK) {
        s->driver[sizeof s->driver - 1] = '\0';
        struct jm_span rest = jm_span_of(s->driver), first;
        if (jm_span_field(&rest, '.', &first) && jm_num_i64(first, &major) == 0 && major > 0 && major < 10000)
            s->driver_major = (int)major;
    }
    if (a->nvml_version && a->nvml_version(s->version, sizeof s->version) == JM_NVML_OK)
        s->version[sizeof s->version - 1] = '\0';
    if (!a->cuda_version || a->cuda_version(&s->cuda) != JM_NVML_OK)
        s->cuda = 0;
}

int jm_nvml_session_open(const struct jm_meter_env *env, struct jm_nvml_session *s, struct jm_probe *probe,
                         struct jm_err *err)
{
    struct jm_err why = {0};
    struct jm_probe own;
    *s = (struct jm_nvml_session){0};
    snprintf(s->lib, sizeof s->lib, "%s", env->nvml_lib ? env->nvml_lib : DEFAULT_LIB);
    snprintf(s->proc_root, sizeof s->proc_root, "%s", env->proc_root ? env->proc_root : "/proc");
    probe = probe ? probe : &own;
    int rc = jm_nvml_load(&s->api, s->lib, &why);
    if (rc == JM_EABSENT)
        return no_library(env, probe, err, why.text);
    if (rc) {
        jm_probe_set(probe, JM_PROBE_UNSUPPORTED, "", "%s", why.text);
        return jm_err_set(err, rc, "nvml: %s", why.text);
    }
    int ret = s->api.init();
    if (ret != JM_NVML_OK) {
        rc = no_start(s, probe, err, ret);
        jm_nvml_unload(&s->api);
        return rc;
    }
    s->up = true;
    versions(s);
    rc = list(s, err, probe);
    if (rc) {
        jm_nvml_session_close(s);
        return rc;
    }
    jm_nvml_select(s, env->devices);
    return 0;
}

void jm_nvml_session_close(struct jm_nvml_session *s)
{
    if (s->up)
        s->api.shutdown();
    free(s->gpu);
    free(s->src);
    jm_nvml_unload(&s->api);
    *s = (struct jm_nvml_session){0};
}
