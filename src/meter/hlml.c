/* SPDX-License-Identifier: Apache-2.0 */
/* Intel Gaudi by Habana's management library (libhlml.so): own declarations of its documented ABI (hlml.h of
 * HabanaAI/habana-container-runtime and gohlml), each symbol optional. NVML-shaped; power mW, energy mJ since
 * the driver was loaded. It reads only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/accel.h"
#include "meter/dynlib.h"
#include "meter/registry.h"
#include "meter/sysfs.h"
#include "base/banned.h"

#define MAX_DEVICES 64
#define SANE_W      3000.0

enum { /* hlml_return_t */
       OK = 0,
       NOT_SUPPORTED = 3,
       NOT_FOUND = 6,
       DRIVER_NOT_LOADED = 9,
       LOST = 15
};
enum what { W_ENERGY, W_POWER, W_LIMIT };

/* hlml_pci_info_t: u32 bus, then "0000:33:00.0"; what follows is not used and has changed. */
struct pci {
    uint32_t bus;
    char bus_id[252];
};

#define SYMBOLS(X)                                                                                           \
    X(init, int (*)(void), "hlml_init")                                                                      \
    X(shutdown, int (*)(void), "hlml_shutdown")                                                              \
    X(count, int (*)(unsigned *), "hlml_device_get_count")                                                   \
    X(by_index, int (*)(unsigned, void **), "hlml_device_get_handle_by_index")                               \
    X(name, int (*)(void *, char *, unsigned), "hlml_device_get_name")                                       \
    X(uuid, int (*)(void *, char *, unsigned), "hlml_device_get_uuid")                                       \
    X(serial, int (*)(void *, char *, unsigned), "hlml_device_get_serial", "hlml_get_serial_number")         \
    X(pci, int (*)(void *, struct pci *), "hlml_device_get_pci_info")                                        \
    X(power, int (*)(void *, unsigned *), "hlml_device_get_power_usage")                                     \
    X(energy, int (*)(void *, unsigned long long *), "hlml_device_get_total_energy_consumption")             \
    X(limit, int (*)(void *, unsigned *), "hlml_device_get_power_management_default_limit")                  \
    X(driver, int (*)(char *, unsigned), "hlml_get_driver_version")                                          \
    X(version, int (*)(char *, unsigned), "hlml_get_hlml_version")

struct api {
    struct jm_dynlib lib;
    SYMBOLS(JM_DYNLIB_MEMBER)
};

struct device {
    void *handle;
    int ret; /* why there is no handle */
    char uuid[96], name[64], serial[64], bdf[32];
};

struct hlml {
    struct api api;
    bool up;
    char driver[64], version[64];
    struct device dev[MAX_DEVICES];
    size_t n;
};

static const struct jm_accel_row rows[] = {
    {W_ENERGY, JM_CH_COUNTER, JM_U_J, -3, 0, 0, true, "energy", "HLML total_energy_consumption"},
    {W_POWER, JM_CH_GAUGE, JM_U_W, -3, 0, 0, true, "power", "HLML power_usage (window unknown)"},
    {W_LIMIT, JM_CH_GAUGE, JM_U_W, -3, 0, 10 * JM_NS_PER_S, false, "power.limit", "HLML default_limit"},
};

static const char *error_text(int ret)
{
    static const struct {
        int ret;
        const char *text;
    } table[] = {
        {0, "success"},
        {1, "not initialised"},
        {2, "invalid argument"},
        {3, "not supported"},
        {5, "already initialised"},
        {6, "not found"},
        {7, "insufficient size"},
        {9, "the driver is not loaded"},
        {10, "timed out"},
        {15, "the accelerator is lost"},
        {20, "out of memory"},
        {21, "no data"},
        {49, "unknown error of the driver"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].ret == ret)
            return table[i].text;
    return "an error that this program does not know";
}

static enum jm_status status_of(int ret)
{
    return ret == OK                                 ? JM_S_OK
           : ret == NOT_SUPPORTED                    ? JM_S_UNSUPPORTED
           : ret == NOT_FOUND                        ? JM_S_ABSENT
           : ret == LOST || ret == DRIVER_NOT_LOADED ? JM_S_LOST
                                                     : JM_S_GAP;
}

static enum jm_status get(void *vendor, size_t device, int what, int64_t *value)
{
    const struct hlml *s = vendor;
    void *h = s->dev[device].handle;
    unsigned mw = 0;
    unsigned long long mj = 0;
    int ret = NOT_SUPPORTED;
    if (s->dev[device].ret != OK)
        return status_of(s->dev[device].ret);
    if (what == W_ENERGY && s->api.energy)
        ret = s->api.energy(h, &mj);
    else if (what == W_POWER && s->api.power)
        ret = s->api.power(h, &mw);
    else if (what == W_LIMIT && s->api.limit)
        ret = s->api.limit(h, &mw);
    *value = what == W_ENERGY ? (int64_t)mj : (int64_t)mw;
    return ret == OK && mj > INT64_MAX ? JM_S_IMPLAUSIBLE : status_of(ret);
}

static int load(const struct jm_meter_env *env, struct api *a, struct jm_err *err)
{
    static const char *const names[] = {"libhlml.so", "/usr/lib/habanalabs/libhlml.so", NULL};
    *a = (struct api){0};
    int rc = jm_dynlib_open(&a->lib, env->hlml_lib ? (const char *const[]){env->hlml_lib, NULL} : names, err);
    if (rc)
        return rc;
#define LOAD(member, type, ...) JM_DYNLIB_LOAD(a, &a->lib, member, __VA_ARGS__)
    SYMBOLS(LOAD)
#undef LOAD
    if (a->init && a->shutdown && a->count && a->by_index)
        return 0;
    rc =
        jm_err_set(err, JM_EUNSUPPORTED,
                   "%s lacks hlml_init, hlml_shutdown or what lists the devices: it is no HLML", a->lib.file);
    jm_dynlib_close(&a->lib);
    return rc;
}

static void text_of(int (*fn)(void *, char *, unsigned), void *h, char *out, size_t n)
{
    if (!fn || fn(h, out, (unsigned)n) != OK)
        out[0] = '\0';
    out[n - 1] = '\0';
}

static void identify(const struct api *a, struct device *d, size_t i)
{
    struct pci pci = {0};
    text_of(a->uuid, d->handle, d->uuid, sizeof d->uuid);
    text_of(a->name, d->handle, d->name, sizeof d->name);
    text_of(a->serial, d->handle, d->serial, sizeof d->serial);
    if (a->pci && a->pci(d->handle, &pci) == OK) {
        pci.bus_id[sizeof pci.bus_id - 1] = '\0';
        snprintf(d->bdf, sizeof d->bdf, "%.31s", pci.bus_id);
    }
    if (!d->uuid[0])
        snprintf(d->uuid, sizeof d->uuid, "%.63s", d->serial[0] ? d->serial : d->bdf);
    if (!d->uuid[0])
        snprintf(d->uuid, sizeof d->uuid, "gaudi-%zu", i);
    if (!d->name[0])
        snprintf(d->name, sizeof d->name, "Gaudi");
}

static void shut(struct hlml *s)
{
    if (s->up)
        s->api.shutdown();
    jm_dynlib_close(&s->api.lib);
}

static int fail(struct jm_probe *p, struct jm_err *err, enum jm_probe_state state, const char *mend,
                const char *text)
{
    jm_probe_set(p, state, mend, "%s", text);
    return jm_err_set(err, state == JM_PROBE_UNSUPPORTED ? JM_EUNSUPPORTED : JM_EABSENT, "hlml: %s", text);
}

static int start(const struct jm_meter_env *env, struct hlml *s, struct jm_probe *p, struct jm_err *err)
{
    struct jm_err why = {0};
    char text[256];
    unsigned n = 0;
    memset(s, 0, sizeof *s);
    int rc = load(env, &s->api, &why);
    if (rc == JM_EABSENT && jm_sysfs_pci_has(env->sysfs_root, 0x1da3, -1)) {
        snprintf(text, sizeof text,
                 "a Gaudi is on the PCI bus, but the library of Intel's Gaudi software is not: %.150s",
                 why.text);
        return fail(p, err, JM_PROBE_ABSENT, "", text);
    }
    if (rc == JM_EABSENT) {
        snprintf(text, sizeof text, "%.200s; no Gaudi on the PCI bus", why.text);
        return fail(p, err, JM_PROBE_ABSENT, "", text);
    }
    if (rc)
        return fail(p, err, JM_PROBE_UNSUPPORTED, "", why.text);
    int ret = s->api.init();
    s->up = ret == OK;
    if (s->up)
        ret = s->api.count(&n);
    if (ret != OK) {
        snprintf(text, sizeof text, "%.120s is there, but does not start: %s (%d)", s->api.lib.file,
                 error_text(ret), ret);
        shut(s);
        return fail(p, err, JM_PROBE_ABSENT, ret == DRIVER_NOT_LOADED ? "sudo modprobe habanalabs" : "",
                    text);
    }
    for (unsigned i = 0; i < n && i < MAX_DEVICES; i++) {
        struct device *d = &s->dev[s->n++];
        d->ret = s->api.by_index(i, &d->handle);
        if (d->ret == OK)
            identify(&s->api, d, i);
    }
    if (!s->api.driver || s->api.driver(s->driver, sizeof s->driver) != OK)
        s->driver[0] = '\0';
    if (!s->api.version || s->api.version(s->version, sizeof s->version) != OK)
        s->version[0] = '\0';
    s->driver[sizeof s->driver - 1] = s->version[sizeof s->version - 1] = '\0';
    return 0;
}

/* Usable is what answers a reading. */
static void judge(struct hlml *s, struct jm_probe *out)
{
    size_t ok = 0;
    enum jm_status why = JM_S_ABSENT;
    for (size_t i = 0; i < s->n; i++) {
        int64_t e = 0, p = 0;
        enum jm_status se = get(s, i, W_ENERGY, &e), sp = get(s, i, W_POWER, &p);
        bool has = (se == JM_S_OK && e > 0) || (sp == JM_S_OK && p > 0);
        ok += has;
        if (!has)
            why = sp;
    }
    if (ok)
        jm_probe_set(out, JM_PROBE_OK, "", "%zu of %zu Gaudi, driver %s%s", ok, s->n,
                     s->driver[0] ? s->driver : "unknown", s->api.lib.simulated ? ", SIMULATED" : "");
    else if (s->n == 0)
        jm_probe_set(out, JM_PROBE_ABSENT, "", "%.120s starts, but it finds no Gaudi", s->api.lib.file);
    else
        jm_probe_set(out, JM_PROBE_UNSUPPORTED, "",
                     "%.120s starts, but no device (%s) answers an energy or power query: %s",
                     s->api.lib.file, s->dev[0].name, jm_status_name(why));
}

static int hlml_probe(const struct jm_meter_env *env, struct jm_probe *out)
{
    struct hlml s;
    *out = (struct jm_probe){.state = JM_PROBE_UNSUPPORTED};
    if (start(env, &s, out, NULL))
        return 0;
    judge(&s, out);
    shut(&s);
    return 0;
}

static void done(void *vendor)
{
    shut(vendor);
    free(vendor);
}

static int fact(struct jm_meter *m, struct jm_err *err, size_t i, const char *what, const char *text)
{
    char key[64];
    snprintf(key, sizeof key, "gpu.gaudi%zu.%s", i, what);
    return text[0] ? jm_meter_add_fact(m, err, key, "%s", text) : 0;
}

static int left_out(struct jm_meter *m, struct jm_err *err, size_t i, const char *why)
{
    char key[64];
    snprintf(key, sizeof key, "hlml.left_out.%zu", i);
    return jm_meter_add_fact(m, err, key, "%s", why);
}

static int add_device(struct jm_meter *m, struct hlml *s, size_t i, struct jm_domain_tree *tree, int node,
                      struct jm_err *err)
{
    struct device *d = &s->dev[i];
    char label[64];
    int64_t limit = 0;
    size_t n = 0;
    if (d->ret != OK)
        return left_out(m, err, i, error_text(d->ret));
    int rc = fact(m, err, i, "name", d->name);
    rc = rc ? rc : fact(m, err, i, "uuid", d->uuid);
    rc = rc ? rc : fact(m, err, i, "serial", d->serial);
    rc = rc ? rc : fact(m, err, i, "pci", d->bdf);
    snprintf(label, sizeof label, "GPU gaudi%zu", i);
    int domain = rc ? rc : jm_accel_domain(tree, node, d->bdf[0] ? d->bdf : d->uuid, label, err);
    rc = domain < 0 ? domain : 0;
    double sane_w = get(s, i, W_LIMIT, &limit) == JM_S_OK && limit > 0 ? 2e-3 * (double)limit : SANE_W;
    for (size_t k = 0; rc == 0 && k < sizeof rows / sizeof *rows; k++) {
        struct jm_channel *c;
        enum jm_status why;
        rc = jm_accel_add(m, i, &rows[k], d->uuid, domain, &c, &why, err);
        if (rc || !c)
            continue;
        n += rows[k].edge;
        c->sane_max = rows[k].edge ? sane_w : 0;
        snprintf(c->scope, sizeof c->scope, "board");
    }
    return rc == 0 && n == 0 ? left_out(m, err, i, "it answers neither energy nor power") : rc;
}

static int hlml_open(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                     struct jm_err *err)
{
    struct jm_probe p = {0};
    struct hlml *s = malloc(sizeof *s);
    if (!s)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter hlml");
    int rc = start(env, s, &p, err);
    if (rc) {
        free(s);
        return rc;
    }
    judge(s, &p);
    struct jm_meter *m = jm_accel_new(&jm_meter_hlml, s, get, done, s->n, err);
    if (!m)
        return JM_ENOMEM;
    m->simulated = s->api.lib.simulated;
    snprintf(m->instance, sizeof m->instance, "%.95s", s->api.lib.file);
    int node = jm_meter_host(env, tree, err);
    rc = node < 0 ? node : p.state != JM_PROBE_OK ? jm_err_set(err, JM_EABSENT, "hlml: %s", p.reason) : 0;
    for (size_t i = 0; i < s->n && rc == 0; i++)
        rc = add_device(m, s, i, tree, node, err);
    if (rc == 0)
        rc = jm_meter_add_fact(m, err, "hlml.driver", "%s", s->driver[0] ? s->driver : "unknown");
    if (rc == 0 && s->version[0])
        rc = jm_meter_add_fact(m, err, "hlml.version", "%s", s->version);
    if (rc) {
        jm_accel_close(m);
        return rc;
    }
    *out = m;
    return 0;
}

const struct jm_meter_ops jm_meter_hlml = {
    .version = JM_METER_OPS_VERSION,
    .name = "hlml",
    .summary = "Intel Gaudi accelerators: energy and power, by Habana's management library",
    .boundary = "gpu",
    .needs = "any user that may open /dev/accel/accel*; libhlml.so of Intel's Gaudi software",
    .traps = "Its codes look like NVML's and are not: there is none for a missing permission, and an unknown "
             "error is 49.\n"
             "The counter is in mJ since the driver was loaded: a fall is a reset, never a wrap.\n"
             "Nobody says what time a value of power is the mean of; a board that answers no energy has "
             "power only.\n"
             "The limit is the board's default, not one that was set.\n"
             "The habanalabs driver shows the same power by hwmon: it is shown there and never added.\n"
             "A lost accelerator says so until the end, and never shows its last value.",
    .probe = hlml_probe,
    .open = hlml_open,
    .read = jm_accel_read,
    .close = jm_accel_close,
};
