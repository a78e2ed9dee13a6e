/* SPDX-License-Identifier: Apache-2.0 */
/* Loading, starting, listing, asking. */
#include "meter/level_zero.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/sysfs.h"
#include "base/banned.h"

const char *jm_ze_error(int ret)
{
    switch (ret) {
    case JM_ZE_OK: return "success";
    case JM_ZE_DEVICE_LOST: return "the device is lost";
    case JM_ZE_REQUIRES_RESET: return "the device must be reset";
    case JM_ZE_LOW_POWER: return "the device is in a low-power state";
    case JM_ZE_NO_PERMISSION: return "no permission";
    case JM_ZE_NOT_AVAILABLE: return "not available now";
    case JM_ZE_DEPENDENCY: return "something that it needs is missing";
    case JM_ZE_UNINITIALIZED: return "not initialised, or no driver for it";
    case JM_ZE_VERSION: return "a version that is not supported";
    case JM_ZE_FEATURE: return "not supported";
    default: return "an error that this program does not know";
    }
}

enum jm_status jm_ze_status(int ret)
{
    switch (ret) {
    case JM_ZE_OK: return JM_S_OK;
    case JM_ZE_DEVICE_LOST:
    case JM_ZE_REQUIRES_RESET: return JM_S_LOST;
    case JM_ZE_LOW_POWER: return JM_S_SUSPENDED;
    case JM_ZE_NO_PERMISSION: return JM_S_DENIED;
    case JM_ZE_VERSION:
    case JM_ZE_FEATURE:
    case JM_ZE_DEPENDENCY: return JM_S_UNSUPPORTED;
    default: return JM_S_GAP;
    }
}

static int load(const struct jm_meter_env *env, struct jm_ze_api *a, struct jm_err *err)
{
    const char *names[] = {env->level_zero_lib ? env->level_zero_lib : "libze_loader.so.1", NULL};
    *a = (struct jm_ze_api){0};
    int rc = jm_dynlib_open(&a->lib, names, err);
    if (rc)
        return rc;
#define LOAD(member, type, ...) JM_DYNLIB_LOAD(a, &a->lib, member, __VA_ARGS__)
    JM_ZE_SYMBOLS(LOAD)
#undef LOAD
    if ((a->init ? a->drivers && a->devices : a->old_init && a->old_drivers && a->old_devices) &&
        a->domains && a->energy)
        return 0;
    rc = jm_err_set(
        err, JM_EUNSUPPORTED,
        "%s lacks what starts it, lists devices or reads an energy counter: it is no Level Zero loader",
        a->lib.file);
    jm_dynlib_close(&a->lib);
    return rc;
}

static void identify(const struct jm_ze_api *a, struct jm_ze_gpu *g, size_t i)
{
    struct jm_ze_device d = {.stype = JM_ZES_DEVICE_PROPERTIES, .core.stype = 0x3};
    struct jm_ze_pci p = {.stype = JM_ZES_PCI_PROPERTIES};
    if (a->pci && a->pci(g->handle, &p) == JM_ZE_OK)
        snprintf(g->bdf, sizeof g->bdf, "%04x:%02x:%02x.%x", p.domain & 0xffff, p.bus & 0xff, p.device & 0x1f,
                 p.function & 7);
    memcpy(g->uuid, g->bdf, sizeof g->bdf);
    if (!g->uuid[0])
        snprintf(g->uuid, sizeof g->uuid, "level-zero-%zu", i);
    snprintf(g->name, sizeof g->name, "Intel GPU");
    if (!a->properties || a->properties(g->handle, &d) != JM_ZE_OK)
        return;
    d.core.name[sizeof d.core.name - 1] = d.model[sizeof d.model - 1] = '\0';
    if (d.core.name[0] || d.model[0])
        snprintf(g->name, sizeof g->name, "%.127s", d.core.name[0] ? d.core.name : d.model);
    g->integrated = d.core.flags & JM_ZE_INTEGRATED;
    for (size_t k = 0, n = 0; k < 16; k++)
        n += (size_t)snprintf(g->uuid + n, sizeof g->uuid - n,
                              k == 4 || k == 6 || k == 8 || k == 10 ? "-%02x" : "%02x", d.core.uuid[k]);
}

/* Two handles of the same part: the first counts. */
static bool seen(const struct jm_level_zero *s, const struct jm_ze_counter *c)
{
    for (size_t i = 0; i < s->n_counter; i++)
        if (s->counter[i].device == c->device && s->counter[i].kind == c->kind &&
            s->counter[i].tile == c->tile && s->counter[i].subdevice == c->subdevice &&
            c->kind != JM_ZE_UNKNOWN)
            return true;
    return false;
}

static void add_counter(struct jm_level_zero *s, size_t device, void *handle, void *card)
{
    struct jm_ze_power_ext ext = {.stype = JM_ZES_POWER_EXT_PROPERTIES};
    struct jm_ze_power p = {.stype = JM_ZES_POWER_PROPERTIES, .next = &ext};
    struct jm_ze_gpu *g = &s->gpu[device];
    if (s->n_counter >= JM_ZE_MAX_DOMAINS)
        return;
    if (s->api.power && s->api.power(handle, &p) != JM_ZE_OK) {
        p = (struct jm_ze_power){.stype =
                                     JM_ZES_POWER_PROPERTIES}; /* an older driver: without the extension */
        if (s->api.power(handle, &p) != JM_ZE_OK)
            p.on_subdevice = 0;
        ext.domain = JM_ZE_UNKNOWN;
    }
    struct jm_ze_counter c = {.handle = handle,
                              .device = device,
                              .kind = ext.domain <= JM_ZE_GPU ? (enum jm_ze_domain)ext.domain : JM_ZE_UNKNOWN,
                              .tile = p.on_subdevice,
                              .subdevice = p.on_subdevice ? p.subdevice : 0};
    if (c.kind == JM_ZE_UNKNOWN) /* said before the extension: by where it sits */
        c.kind = c.tile ? JM_ZE_STACK : handle == card ? JM_ZE_CARD : JM_ZE_PACKAGE;
    c.repeat = seen(s, &c);
    if (!c.tile && p.limit_max > g->limit_max)
        g->limit_max = p.limit_max;
    if (!c.tile && p.limit_default > g->limit_default)
        g->limit_default = p.limit_default;
    s->counter[s->n_counter++] = c;
}

static void list_counters(struct jm_level_zero *s, size_t device)
{
    void *h[64], *card = NULL;
    uint32_t n = 0;
    struct jm_ze_gpu *g = &s->gpu[device];
    if (s->api.card && s->api.card(g->handle, &card) != JM_ZE_OK)
        card = NULL;
    g->ret = s->api.domains(g->handle, &n, NULL);
    if (g->ret == JM_ZE_OK) {
        n = n < 64 ? n : 64;
        g->ret = s->api.domains(g->handle, &n, h);
    }
    for (uint32_t i = 0; g->ret == JM_ZE_OK && i < n && i < 64; i++)
        add_counter(s, device, h[i], card);
    if (g->ret != JM_ZE_OK)
        s->ret = g->ret;
}

static int list(struct jm_level_zero *s)
{
    void *drv[8], *dev[JM_ZE_MAX_DEVICES];
    uint32_t n = 8, k;
    int ret = (s->old ? s->api.old_drivers : s->api.drivers)(&n, drv);
    for (uint32_t i = 0; ret == JM_ZE_OK && i < n && i < 8; i++) {
        k = JM_ZE_MAX_DEVICES;
        if ((s->old ? s->api.old_devices : s->api.devices)(drv[i], &k, dev) != JM_ZE_OK)
            continue;
        for (uint32_t j = 0; j < k && s->n < JM_ZE_MAX_DEVICES; j++) {
            s->gpu[s->n].handle = dev[j];
            identify(&s->api, &s->gpu[s->n], s->n);
            list_counters(s, s->n++);
        }
    }
    return ret;
}

static int fail(struct jm_probe *p, struct jm_err *err, enum jm_probe_state state, const char *mend,
                const char *text)
{
    jm_probe_set(p, state, mend, "%s", text);
    return jm_err_set(err,
                      state == JM_PROBE_DENIED        ? JM_EDENIED
                      : state == JM_PROBE_UNSUPPORTED ? JM_EUNSUPPORTED
                                                      : JM_EABSENT,
                      "level-zero: %s", text);
}

static int no_start(const struct jm_level_zero *s, struct jm_probe *p, struct jm_err *err, int ret)
{
    char text[256];
    bool denied = ret == JM_ZE_NO_PERMISSION, driver = ret == JM_ZE_UNINITIALIZED;
    snprintf(text, sizeof text, "%.100s is there, but does not start: %s (0x%x)%s", s->api.lib.file,
             jm_ze_error(ret), (unsigned)ret, driver ? "; it needs libze_intel_gpu.so.1" : "");
    return fail(p, err, denied ? JM_PROBE_DENIED : JM_PROBE_ABSENT,
                denied   ? "sudo usermod -aG render $USER"
                : driver ? "sudo apt install libze-intel-gpu1"
                         : "",
                text);
}

int jm_ze_open(const struct jm_meter_env *env, struct jm_level_zero *s, struct jm_probe *p,
               struct jm_err *err)
{
    struct jm_err why = {0};
    char text[256];
    memset(s, 0, sizeof *s);
    int rc = load(env, &s->api, &why);
    if (rc == JM_EABSENT && jm_sysfs_pci_has(env->sysfs_root, 0x8086, 0x03)) {
        snprintf(text, sizeof text,
                 "an Intel GPU is on the PCI bus, but the Level Zero loader is not: %.160s", why.text);
        return fail(p, err, JM_PROBE_ABSENT, "sudo apt install libze1", text);
    }
    if (rc == JM_EABSENT) {
        snprintf(text, sizeof text, "%.200s; no Intel GPU on the PCI bus", why.text);
        return fail(p, err, JM_PROBE_ABSENT, "", text);
    }
    if (rc)
        return fail(p, err, JM_PROBE_UNSUPPORTED, "", why.text);
    s->old = !s->api.init;
    int ret = s->old ? s->api.old_init(0) : s->api.init(0);
    if (ret == JM_ZE_OK)
        ret = list(s);
    if (ret == JM_ZE_OK)
        return 0;
    rc = no_start(s, p, err, ret);
    jm_ze_close(s);
    return rc;
}

/* Sysman has no end of its own; the loader ends with its library. */
void jm_ze_close(struct jm_level_zero *s)
{
    jm_dynlib_close(&s->api.lib);
}

enum jm_status jm_ze_get(void *vendor, size_t device, int what, int64_t *value)
{
    const struct jm_level_zero *s = vendor;
    struct jm_ze_energy e = {0};
    struct jm_ze_sustained l = {0};
    (void)device;
    if (what >= JM_ZE_LIMIT) {
        if (!s->api.limits)
            return JM_S_UNSUPPORTED;
        int ret = s->api.limits(s->counter[what - JM_ZE_LIMIT].handle, &l, NULL, NULL);
        *value = l.mw;
        return ret == JM_ZE_OK && (!l.enabled || l.mw <= 0) ? JM_S_ABSENT : jm_ze_status(ret);
    }
    int ret = s->api.energy(s->counter[what].handle, &e);
    *value = (int64_t)e.uj;
    return ret == JM_ZE_OK && e.uj > INT64_MAX ? JM_S_IMPLAUSIBLE : jm_ze_status(ret);
}
