/* SPDX-License-Identifier: Apache-2.0 */
/* Loading, starting, listing, asking. */
#include "meter/amdsmi.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/amdgpu_metrics.h"
#include "base/banned.h"

#define TICK_UJ (1e6 / 65536) /* 15.2588; the libraries say 15.3 */

static void find_symbols(struct jm_amdsmi_api *a)
{
#define LOAD(member, type, ...) JM_DYNLIB_LOAD(a, &a->lib, member, __VA_ARGS__)
    JM_AMDSMI_SYMBOLS(LOAD)
    JM_RSMI_SYMBOLS(LOAD)
#undef LOAD
    a->rsmi = !a->init && a->r_init;
}

static bool whole(const struct jm_amdsmi_api *a)
{
    return a->rsmi ? a->r_init && a->r_shut_down && a->r_count && a->r_pci
                   : a->init && a->shut_down && a->sockets && a->processors && a->bdf;
}

/* AMD SMI, else ROCm SMI; or the one file that was named. */
static int load(const struct jm_meter_env *env, struct jm_amdsmi_api *a, struct jm_err *err)
{
    static const char *const smi[] = {"libamd_smi.so",
                                      "libamd_smi.so.26",
                                      "libamd_smi.so.25",
                                      "libamd_smi.so.24",
                                      "libamd_smi.so.23",
                                      "/opt/rocm/lib/libamd_smi.so",
                                      NULL};
    static const char *const rsmi[] = {"librocm_smi64.so",
                                       "librocm_smi64.so.7",
                                       "librocm_smi64.so.6",
                                       "librocm_smi64.so.5",
                                       "librocm_smi64.so.1",
                                       "/opt/rocm/lib/librocm_smi64.so",
                                       NULL};
    *a = (struct jm_amdsmi_api){0};
    int rc =
        jm_dynlib_open(&a->lib, env->amdsmi_lib ? (const char *const[]){env->amdsmi_lib, NULL} : smi, err);
    if (rc == JM_EABSENT && !env->amdsmi_lib && jm_dynlib_open(&a->lib, rsmi, NULL) == 0)
        rc = 0;
    if (rc)
        return rc;
    find_symbols(a);
    if (whole(a))
        return 0;
    rc = jm_err_set(err, JM_EUNSUPPORTED,
                    "%s lacks what starts it or lists its GPUs: it is neither AMD SMI nor ROCm SMI",
                    a->lib.file);
    jm_dynlib_close(&a->lib);
    return rc;
}

static int no_library(const struct jm_meter_env *env, struct jm_probe *p, struct jm_err *err, const char *why)
{
    if (jm_sysfs_pci_has(env->sysfs_root, 0x1002, 0x03) || jm_sysfs_pci_has(env->sysfs_root, 0x1002, 0x12))
        jm_probe_set(p, JM_PROBE_ABSENT, "sudo apt install librocm-smi64-1",
                     "an AMD GPU is on the PCI bus, but neither AMD SMI nor ROCm SMI is: %s", why);
    else
        jm_probe_set(p, JM_PROBE_ABSENT, "", "%s; no AMD GPU on the PCI bus", why);
    return jm_err_set(err, JM_EABSENT, "amdsmi: %s", p->reason);
}

static int no_start(const struct jm_amdsmi *s, struct jm_probe *p, struct jm_err *err, int ret)
{
    bool old = s->api.rsmi, denied = jm_amdsmi_status(old, ret) == JM_S_DENIED;
    const char *mend = denied ? "sudo usermod -aG render,video $USER"
                       : ret == (old ? (int)JM_RSMI_INIT : (int)JM_AMDSMI_NO_DRIVER) ? "sudo modprobe amdgpu"
                                                                                     : "";
    jm_probe_set(p, denied ? JM_PROBE_DENIED : JM_PROBE_ABSENT, mend,
                 "%s is there, but does not start: %s (%d)", s->api.lib.file, jm_amdsmi_error(old, ret), ret);
    return jm_err_set(err, denied ? JM_EDENIED : JM_EABSENT, "amdsmi: %s", p->reason);
}

static void version(struct jm_amdsmi *s)
{
    /* 23 to 25: {year, major, minor, release, build}; from 26: {major, minor, release, build}; ROCm SMI the
     * latter */
    struct {
        uint32_t n[4];
        char rest[240];
    } v = {0};
    int (*get)(void *) = s->api.rsmi ? s->api.r_version : s->api.version;
    if (!get || get(&v) != JM_AMDSMI_OK)
        return;
    s->layout = s->api.rsmi ? JM_AMDSMI_UNKNOWN : jm_amdsmi_layout(v.n[0]);
    if (!s->api.rsmi && v.n[0] < 25)
        snprintf(s->version, sizeof s->version, "%u.%u.%u.%u", v.n[0], v.n[1], v.n[2], v.n[3]);
    else
        snprintf(s->version, sizeof s->version, "%u.%u.%u", v.n[0], v.n[1], v.n[2]);
}

static void address(struct jm_amdsmi *s, struct jm_amdsmi_gpu *g)
{
    uint64_t v = 0;
    int ret = s->api.rsmi ? s->api.r_pci(g->index, &v) : s->api.bdf(g->handle, &v);
    if (ret != JM_AMDSMI_OK)
        return;
    g->function = v & 7;
    g->device = v >> 3 & 31;
    g->bus = v >> 8 & 255;
    /* ROCm SMI has the number of the partition in bits 28 to 31 and the domain above 32 */
    g->domain = (uint32_t)(s->api.rsmi ? v >> 32 : v >> 16);
    snprintf(g->bdf, sizeof g->bdf, "%04x:%02x:%02x.0", g->domain, g->bus, g->device);
    for (size_t i = 0; i < s->n; i++)
        g->repeat = g->repeat || strcmp(s->gpu[i].bdf, g->bdf) == 0;
}

static void identify(struct jm_amdsmi *s, struct jm_amdsmi_gpu *g, const struct jm_meter_env *env)
{
    char path[JM_SYSFS_PATH], asic[4096] = "";
    unsigned n = sizeof g->uuid;
    uint64_t id = 0;
    address(s, g);
    if (s->api.rsmi) {
        if (s->api.r_unique && s->api.r_unique(g->index, &id) == JM_AMDSMI_OK && id)
            snprintf(g->uuid, sizeof g->uuid, "%016llx", (unsigned long long)id);
        if (s->api.r_name && s->api.r_name(g->index, asic, sizeof asic) != JM_AMDSMI_OK)
            asic[0] = '\0';
    } else {
        if (!s->api.uuid || s->api.uuid(g->handle, &n, g->uuid) != JM_AMDSMI_OK)
            g->uuid[0] = '\0';
        /* amdsmi_asic_info_t begins with the name, whatever its version; none is longer than this buffer */
        if (!s->api.asic || s->api.asic(g->handle, asic) != JM_AMDSMI_OK)
            asic[0] = '\0';
    }
    g->uuid[sizeof g->uuid - 1] = asic[sizeof asic - 1] = '\0';
    snprintf(g->name, sizeof g->name, "%.127s", asic[0] ? asic : "AMD GPU");
    if (!g->uuid[0])
        snprintf(g->uuid, sizeof g->uuid, "%s", g->bdf[0] ? g->bdf : "amd-gpu");
    id = 0;
    if (jm_sysfs_path(path, env->sysfs_root, "/sys", "bus/pci/devices/%s/device", g->bdf) &&
        jm_sysfs_hex(path, &id) == 0)
        g->joules = jm_amdgpu_joules(id);
    else
        g->joules = strstr(g->name, "Instinct MI2") || strstr(g->name, "Instinct MI3");
}

static int add_gpu(struct jm_amdsmi *s, struct jm_amdsmi_gpu g, const struct jm_meter_env *env)
{
    if (s->n >= JM_AMDSMI_MAX)
        return 0;
    identify(s, &g, env);
    s->gpu[s->n++] = g;
    return 0;
}

static int list(struct jm_amdsmi *s, const struct jm_meter_env *env)
{
    void *sock[JM_AMDSMI_MAX], *proc[JM_AMDSMI_MAX];
    uint32_t n = JM_AMDSMI_MAX, k;
    if (s->api.rsmi) {
        int ret = s->api.r_count(&n);
        for (uint32_t i = 0; ret == JM_AMDSMI_OK && i < n && i < JM_AMDSMI_MAX; i++)
            add_gpu(s, (struct jm_amdsmi_gpu){.index = i}, env);
        return ret;
    }
    int ret = s->api.sockets(&n, sock);
    for (uint32_t i = 0; ret == JM_AMDSMI_OK && i < n && i < JM_AMDSMI_MAX; i++) {
        k = JM_AMDSMI_MAX;
        if (s->api.processors(sock[i], &k, proc) != JM_AMDSMI_OK)
            continue;
        for (uint32_t j = 0; j < k && j < JM_AMDSMI_MAX; j++) {
            int type = JM_AMDSMI_TYPE_GPU;
            if (!s->api.type || (s->api.type(proc[j], &type) == JM_AMDSMI_OK && type == JM_AMDSMI_TYPE_GPU))
                add_gpu(s, (struct jm_amdsmi_gpu){.handle = proc[j]}, env);
        }
    }
    return ret;
}

int jm_amdsmi_open(const struct jm_meter_env *env, struct jm_amdsmi *s, struct jm_probe *probe,
                   struct jm_err *err)
{
    struct jm_err why = {0};
    struct jm_probe own;
    *s = (struct jm_amdsmi){0};
    probe = probe ? probe : &own;
    int rc = load(env, &s->api, &why);
    if (rc == JM_EABSENT)
        return no_library(env, probe, err, why.text);
    if (rc) {
        jm_probe_set(probe, JM_PROBE_UNSUPPORTED, "", "%s", why.text);
        return jm_err_set(err, rc, "amdsmi: %s", why.text);
    }
    s->gpu = calloc(JM_AMDSMI_MAX, sizeof *s->gpu);
    int ret = !s->gpu ? 0 : s->api.rsmi ? s->api.r_init(0) : s->api.init(JM_AMDSMI_INIT_GPUS);
    s->up = s->gpu && ret == JM_AMDSMI_OK;
    if (s->up) {
        version(s);
        ret = list(s, env);
    }
    rc = !s->gpu               ? jm_err_set(err, JM_ENOMEM, "out of memory for the meter amdsmi")
         : ret != JM_AMDSMI_OK ? no_start(s, probe, err, ret)
                               : 0;
    if (rc)
        jm_amdsmi_close(s);
    return rc;
}

void jm_amdsmi_close(struct jm_amdsmi *s)
{
    if (s->up && s->api.rsmi)
        s->api.r_shut_down();
    else if (s->up)
        s->api.shut_down();
    free(s->gpu);
    jm_dynlib_close(&s->api.lib);
    *s = (struct jm_amdsmi){0};
}

/* ---- questions */

static enum jm_status energy(const struct jm_amdsmi *s, struct jm_amdsmi_gpu *g, int64_t *value)
{
    uint64_t acc = 0, when = 0;
    float res = 0;
    int (*by_index)(uint32_t, uint64_t *, float *, uint64_t *) = s->api.r_energy;
    if (s->api.rsmi ? !by_index : !s->api.energy)
        return JM_S_UNSUPPORTED;
    int ret =
        s->api.rsmi ? by_index(g->index, &acc, &res, &when) : s->api.energy(g->handle, &acc, &res, &when);
    if (ret != JM_AMDSMI_OK)
        return jm_amdsmi_status(s->api.rsmi, ret);
    if (acc == UINT64_MAX || (!g->joules && acc == UINT32_MAX))
        return JM_S_ABSENT; /* not there: firmware without the counter */
    /* the true unit is 2^-16 J; any other is taken as it is said, and never as an integer (amdsmi#115) */
    if ((double)res > 0.99 * TICK_UJ && (double)res < 1.01 * TICK_UJ)
        res = 0;
    else if (!isfinite(res) || res <= 0)
        return JM_S_IMPLAUSIBLE;
    if (g->resolution < 0)
        g->resolution = res; /* the first time */
    if (res < g->resolution || res > g->resolution)
        return JM_S_CONFLICT;
    double uj = res > 0 ? (double)acc * (double)res : (double)acc;
    if (!(uj < 9e18))
        return JM_S_IMPLAUSIBLE;
    *value = res > 0 ? (int64_t)llround(uj) : (int64_t)acc;
    return JM_S_OK;
}

static enum jm_status given(bool has, uint32_t v, int64_t *value)
{
    *value = v;
    return has ? JM_S_OK : JM_S_ABSENT;
}

static enum jm_status power(const struct jm_amdsmi *s, const struct jm_amdsmi_gpu *g, int what,
                            int64_t *value)
{
    union {
        unsigned char bytes[256];
        uint64_t align;
    } b = {{0}};
    struct jm_amdsmi_power p;
    if (!s->api.power || s->layout == JM_AMDSMI_UNKNOWN)
        return JM_S_UNSUPPORTED;
    int ret = s->api.power(g->handle, b.bytes);
    if (ret != JM_AMDSMI_OK)
        return jm_amdsmi_status(false, ret);
    if (!jm_amdsmi_power(s->layout, b.bytes, &p))
        return JM_S_IMPLAUSIBLE;
    return what == JM_AMDSMI_W_CURRENT      ? given(p.has_current, p.current, value)
           : what == JM_AMDSMI_W_AVERAGE    ? given(p.has_average, p.average, value)
           : p.has_current || p.has_average ? JM_S_ABSENT /* the same again */
                                            : given(p.has_socket, p.socket, value);
}

/* uW; its sensors are 0 for all but some server boards. */
static enum jm_status rsmi_power(const struct jm_amdsmi *s, const struct jm_amdsmi_gpu *g, int what,
                                 int64_t *value)
{
    uint64_t uw = 0;
    int ret = JM_RSMI_NOT_SUPPORTED;
    if (what == JM_AMDSMI_W_CURRENT && s->api.r_current)
        ret = s->api.r_current(g->index, &uw);
    else if (what == JM_AMDSMI_W_AVERAGE && s->api.r_average)
        ret = s->api.r_average(g->index, 0, &uw);
    *value = (int64_t)(uw / 1000000);
    return ret == JM_AMDSMI_OK && uw >= 20000000000 ? JM_S_IMPLAUSIBLE : jm_amdsmi_status(true, ret);
}

static enum jm_status cap(const struct jm_amdsmi *s, const struct jm_amdsmi_gpu *g, int64_t *value)
{
    struct jm_amdsmi_cap c = {0};
    uint64_t uw = 0;
    if (s->api.rsmi ? !s->api.r_cap : !s->api.cap)
        return JM_S_UNSUPPORTED;
    int ret = s->api.rsmi ? s->api.r_cap(g->index, 0, &uw) : s->api.cap(g->handle, 0, &c);
    if (!s->api.rsmi)
        uw = c.cap && c.cap < 20000 ? c.cap * 1000000 : c.cap; /* W on a host: no board has a cap of 20 mW */
    *value = (int64_t)(uw / 1000);
    return ret == JM_AMDSMI_OK && uw > INT64_MAX ? JM_S_IMPLAUSIBLE : jm_amdsmi_status(s->api.rsmi, ret);
}

enum jm_status jm_amdsmi_get(void *vendor, size_t device, int what, int64_t *value)
{
    struct jm_amdsmi *s = vendor;
    struct jm_amdsmi_gpu *g = &s->gpu[device];
    switch (what) {
    case JM_AMDSMI_W_ENERGY: return energy(s, g, value);
    case JM_AMDSMI_W_CAP: return cap(s, g, value);
    default: return s->api.rsmi ? rsmi_power(s, g, what, value) : power(s, g, what, value);
    }
}

double jm_amdsmi_max_w(const struct jm_amdsmi *s, size_t device)
{
    struct jm_amdsmi_cap c = {0};
    uint64_t max = 0, min = 0;
    const struct jm_amdsmi_gpu *g = &s->gpu[device];
    if (s->api.rsmi && s->api.r_range && s->api.r_range(g->index, 0, &max, &min) == JM_AMDSMI_OK)
        return (double)max / 1e6;
    if (!s->api.rsmi && s->api.cap && s->api.cap(g->handle, 0, &c) == JM_AMDSMI_OK)
        return c.max < 20000 ? (double)c.max : (double)c.max / 1e6;
    return 0;
}
