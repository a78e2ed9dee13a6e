/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to a host engine (or one inside this process), what it lists, and what it is asked to watch.
 * Only power and energy are watched: profiling fields keep a GPU awake (dcgm-exporter issue 464: twice the
 * idle power). */
#include "meter/dcgm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "meter/nvml.h"
#include "base/banned.h"

#define LOCAL    "localhost:5555"
#define EMBEDDED "embedded"

static const uint16_t asked[JM_DCGM_BATCHES][JM_DCGM_MAX_PER_PART] = {
    {156, 155, 157, 164}, {1130, 1132, 1133, 0}, {705, 706, 707, 0}};
static const uint32_t groups[JM_DCGM_BATCHES] = {JM_DCGM_FE_GPU, JM_DCGM_FE_CPU, JM_DCGM_FE_SWITCH};

static bool is_unix(const char *address)
{
    return strncmp(address, "unix:", 5) == 0 || address[0] == '/';
}

int jm_dcgm_address_check(const char *address, struct jm_err *err)
{
    struct jm_span s = jm_span_of(address);
    ptrdiff_t colon = jm_span_chr(s, ']');
    int64_t port;
    if (strncmp(address, "vsock:", 6) == 0)
        return jm_err_set(err, JM_EUSAGE, "vsock addresses are not read; say HOST:PORT or unix:PATH");
    if (!*address || strlen(address) >= 200 || strstr(address, "http"))
        return jm_err_set(err, JM_EUSAGE,
                          "\"%.60s\" is no address of a DCGM host engine; say HOST:5555, unix:PATH or "
                          "embedded (an exporter's URL belongs to `meter: dcgm-exporter`)",
                          address);
    if (is_unix(address) || strcmp(address, EMBEDDED) == 0)
        return 0;
    s = jm_span_sub(s, colon < 0 ? 0 : (size_t)colon + 1, s.n);
    colon = jm_span_chr(s, ':');
    if (colon >= 0 && (jm_num_i64(jm_span_sub(s, (size_t)colon + 1, s.n), &port) || port < 1 || port > 65535))
        return jm_err_set(err, JM_EUSAGE, "\"%.60s\" names no port; say HOST:5555", address);
    return 0;
}

/* Why it failed, as a state for the survey and as an error. */
static int refuse(const struct jm_dcgm_link *l, int ret, const char *what, struct jm_probe *p,
                  struct jm_err *err)
{
    struct jm_probe own;
    enum jm_probe_state state = JM_PROBE_ABSENT;
    const char *mend = "";
    p = p ? p : &own;
    if (ret == JM_DCGM_NO_PERMISSION || ret == JM_DCGM_REQUIRES_ROOT) {
        state = JM_PROBE_DENIED;
        mend = "sudo systemctl start nvidia-dcgm";
    } else if (ret == JM_DCGM_VER_MISMATCH) {
        state = JM_PROBE_UNSUPPORTED;
        mend = "--dcgm-lib with the libdcgm.so of the host engine's release";
    } else if (ret == JM_DCGM_CONNECTION_NOT_VALID || ret == JM_DCGM_TIMEOUT) {
        mend = l->embedded ? "" : "sudo systemctl start nvidia-dcgm";
    }
    jm_probe_set(p, state, mend, "%s: %s%.100s: %s (%d)", l->api.lib.file[0] ? l->api.lib.file : "libdcgm",
                 what, l->embedded ? "the embedded host engine" : l->address, jm_dcgm_error(ret), ret);
    return jm_err_set(err,
                      state == JM_PROBE_DENIED        ? JM_EDENIED
                      : state == JM_PROBE_UNSUPPORTED ? JM_EUNSUPPORTED
                                                      : JM_EABSENT,
                      "dcgm: %s%s%s", p->reason, mend[0] ? "; try " : "", mend);
}

static int connect_to(struct jm_dcgm_link *l, const char *address)
{
    struct jm_dcgm_connect c = {.version = JM_DCGM_CONNECT_V2,
                                .timeout_ms = (uint32_t)(l->timeout_ns / JM_NS_PER_MS),
                                .is_unix = is_unix(address)};
    if (strncmp(address, "unix:", 5) == 0)
        address += strncmp(address + 5, "//", 2) == 0 ? 7 : 5;
    int ret = l->api.connect(address, &c, &l->handle);
    l->up = ret == JM_DCGM_OK;
    return ret;
}

static int embed(struct jm_dcgm_link *l)
{
    int ret = l->api.start ? l->api.start(JM_DCGM_MODE_AUTO, &l->handle) : JM_DCGM_NOT_SUPPORTED;
    l->up = l->embedded = ret == JM_DCGM_OK;
    return ret;
}

static int reach(struct jm_dcgm_link *l, const char *address, struct jm_probe *p, struct jm_err *err)
{
    snprintf(l->address, sizeof l->address, "%s", address ? address : LOCAL);
    int ret = l->api.init();
    if (ret != JM_DCGM_OK)
        return refuse(l, ret, "it does not start, to ask ", p, err);
    l->started = true;
    if (address && strcmp(address, EMBEDDED) == 0)
        ret = embed(l);
    else
        ret = connect_to(l, l->address);
    if (ret == JM_DCGM_CONNECTION_NOT_VALID && !address && embed(l) == JM_DCGM_OK) {
        snprintf(l->address, sizeof l->address, EMBEDDED);
        ret = JM_DCGM_OK;
    }
    return ret == JM_DCGM_OK ? 0 : refuse(l, ret, "no connection to ", p, err);
}

int jm_dcgm_ask(struct jm_dcgm_link *l, struct jm_dcgm_batch *b, bool live)
{
    unsigned n = b->n_e * b->n_f;
    for (unsigned i = 0; i < n; i++) { /* what the call does not fill has no value */
        b->value[i].version = 0;
        b->value[i].status = JM_DCGM_NO_DATA;
        b->value[i].ts = 0;
        b->value[i].type = 0;
        b->value[i].field = b->field[i % b->n_f];
    }
    return l->api.latest(l->handle, b->e, b->n_e, b->field, b->n_f, live ? JM_DCGM_FV_LIVE : 0, b->value);
}

static size_t list(struct jm_dcgm_link *l, uint32_t group, uint32_t *id)
{
    int n = JM_DCGM_MAX_ENTITIES;
    int ret = l->api.entities(l->handle, (int)group, id, &n, 0);
    if (ret == JM_DCGM_INSUFFICIENT_SIZE)
        return JM_DCGM_MAX_ENTITIES;
    return ret == JM_DCGM_OK && n > 0 && n <= JM_DCGM_MAX_ENTITIES ? (size_t)n : 0;
}

static int by_bus(const void *x, const void *y)
{
    const struct jm_dcgm_part *a = x, *b = y;
    int c = strcmp(a->bus_id, b->bus_id);
    return c ? c : a->e.id < b->e.id ? -1 : a->e.id > b->e.id;
}

/* UUID, name, bus address and driver: asked live, for nobody watches them. */
static int identify(struct jm_dcgm_link *l, struct jm_err *err)
{
    struct jm_dcgm_batch b = {
        .n_e = (unsigned)l->n_gpu,
        .n_f = 4,
        .field = {JM_DCGM_FI_UUID, JM_DCGM_FI_NAME, JM_DCGM_FI_PCI_BUSID, JM_DCGM_FI_DRIVER_VERSION}};
    b.value = calloc(b.n_e * b.n_f + 1, sizeof *b.value);
    if (!b.value)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the GPUs of the meter dcgm");
    for (size_t i = 0; i < l->n_gpu; i++)
        b.e[i] = l->part[i].e;
    int ret = l->n_gpu ? jm_dcgm_ask(l, &b, true) : JM_DCGM_OK;
    for (size_t i = 0; i < l->n_gpu; i++) {
        struct jm_dcgm_part *p = &l->part[i];
        jm_dcgm_text(&b.value[4 * i], p->uuid, sizeof p->uuid);
        jm_dcgm_text(&b.value[4 * i + 1], p->name, sizeof p->name);
        jm_dcgm_text(&b.value[4 * i + 2], p->bus_id, sizeof p->bus_id);
        if (!p->uuid[0])
            snprintf(p->uuid, sizeof p->uuid, "dcgm-gpu-%u", p->e.id);
        if (!l->driver[0])
            jm_dcgm_text(&b.value[4 * i + 3], l->driver, sizeof l->driver);
    }
    free(b.value);
    (void)ret; /* a GPU that does not say its UUID has one by its number */
    struct jm_span rest = jm_span_of(l->driver), first;
    int64_t major;
    if (jm_span_field(&rest, '.', &first) && jm_num_i64(first, &major) == 0 && major > 0 && major < 10000)
        l->driver_major = (int)major;
    return 0;
}

/* By the rules of CUDA_VISIBLE_DEVICES, as the meter nvml does it. */
static int choose(struct jm_dcgm_link *l, const char *devices, struct jm_err *err)
{
    struct jm_nvml_session s = {.n = l->n_gpu};
    qsort(l->part, l->n_gpu, sizeof *l->part, by_bus);
    s.gpu = calloc(l->n_gpu + 1, sizeof *s.gpu);
    if (!s.gpu)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the GPUs of the meter dcgm");
    for (size_t i = 0; i < l->n_gpu; i++) {
        l->part[i].ordinal = s.gpu[i].ordinal = (int)i;
        snprintf(s.gpu[i].uuid, sizeof s.gpu[i].uuid, "%s", l->part[i].uuid);
        snprintf(s.gpu[i].name, sizeof s.gpu[i].name, "%s", l->part[i].name);
    }
    jm_nvml_select(&s, devices);
    for (size_t i = 0; i < l->n_gpu; i++)
        l->part[i].selected = s.gpu[i].selected;
    snprintf(l->note, sizeof l->note, "%s", s.note);
    free(s.gpu);
    return 0;
}

static void versions(struct jm_dcgm_link *l)
{
    struct jm_dcgm_version v = {.version = JM_DCGM_VERSION_V2};
    if (!l->api.engine_version || l->api.engine_version(l->handle, &v) != JM_DCGM_OK)
        return;
    v.text[sizeof v.text - 1] = '\0';
    struct jm_span rest = jm_span_of(v.text), one; /* "version:4.6.0;arch:x86_64;..." */
    while (jm_span_field(&rest, ';', &one))
        if (jm_span_starts(one, JM_SPAN("version:")))
            snprintf(l->version, sizeof l->version, "%.*s", (int)(one.n - 8), one.p + 8);
    jm_text_plain(l->version, strlen(l->version), false);
}

static int fill(struct jm_dcgm_link *l, struct jm_err *err)
{
    uint32_t id[JM_DCGM_MAX_ENTITIES];
    l->n_gpu = list(l, JM_DCGM_FE_GPU, id);
    for (size_t i = 0; i < l->n_gpu; i++)
        l->part[i] = (struct jm_dcgm_part){.e = {JM_DCGM_FE_GPU, id[i]}, .ordinal = -1};
    l->n_part = l->n_gpu;
    l->n_mig = list(l, JM_DCGM_FE_GPU_I, id);
    for (size_t g = 1; g < JM_DCGM_BATCHES; g++) {
        size_t n = list(l, groups[g], id);
        for (size_t i = 0; i < n; i++) {
            struct jm_dcgm_part *p = &l->part[l->n_part++];
            *p = (struct jm_dcgm_part){.e = {groups[g], id[i]}, .ordinal = -1, .selected = true};
            snprintf(p->uuid, sizeof p->uuid, "%u", id[i]);
        }
    }
    return identify(l, err);
}

static int batches(struct jm_dcgm_link *l, struct jm_err *err)
{
    for (size_t g = 0; g < JM_DCGM_BATCHES; g++) {
        struct jm_dcgm_batch *b = &l->batch[g];
        for (size_t i = 0; i < l->n_part; i++)
            if (l->part[i].selected && l->part[i].e.group == groups[g] && b->n_e < JM_DCGM_MAX_ENTITIES)
                b->e[b->n_e++] = l->part[i].e;
        for (size_t i = 0; i < JM_DCGM_MAX_PER_PART && asked[g][i]; i++)
            b->field[b->n_f++] = asked[g][i];
        b->value = calloc(b->n_e * b->n_f + 1, sizeof *b->value);
        if (!b->value)
            return jm_err_set(err, JM_ENOMEM, "out of memory for the values of the meter dcgm");
    }
    return 0;
}

int jm_dcgm_link_watch(struct jm_dcgm_link *l, struct jm_err *err)
{
    double keep_s = (double)l->watch_ns / 1e9 * 10 + 10;
    int ret = JM_DCGM_OK;
    for (size_t g = 0; g < JM_DCGM_BATCHES && ret == JM_DCGM_OK; g++) {
        struct jm_dcgm_batch *b = &l->batch[g];
        char name[64];
        if (!b->n_e)
            continue;
        snprintf(name, sizeof name, "joulemark-%ld-%p-%zu", (long)getpid(), (void *)l, g);
        ret = l->api.group_new(l->handle, JM_DCGM_GROUP_EMPTY, name, &l->group[g]);
        for (unsigned i = 0; i < b->n_e && ret == JM_DCGM_OK; i++)
            ret = l->api.group_add(l->handle, l->group[g], (int)b->e[i].group, b->e[i].id);
        if (ret == JM_DCGM_OK)
            ret = l->api.fields_new(l->handle, (int)b->n_f, b->field, name, &l->fields[g]);
        if (ret == JM_DCGM_OK)
            ret = l->api.watch(l->handle, l->group[g], l->fields[g], l->watch_ns / 1000, keep_s, 0);
        if (ret != JM_DCGM_OK && g > 0)
            ret = JM_DCGM_OK; /* switches and CPUs need modules that may be missing: their values say so */
    }
    if (ret == JM_DCGM_OK)
        ret = l->api.update(l->handle, 1); /* a value comes with the first update only */
    return ret == JM_DCGM_OK ? 0 : refuse(l, ret, "power and energy cannot be watched at ", NULL, err);
}

static void let_go(struct jm_dcgm_link *l)
{
    for (size_t g = 0; g < JM_DCGM_BATCHES && l->up; g++) {
        if (l->fields[g] && l->group[g] && l->api.unwatch)
            l->api.unwatch(l->handle, l->group[g], l->fields[g]);
        if (l->fields[g] && l->api.fields_free)
            l->api.fields_free(l->handle, l->fields[g]);
        if (l->group[g] && l->api.group_free)
            l->api.group_free(l->handle, l->group[g]);
    }
    memset(l->group, 0, sizeof l->group);
    memset(l->fields, 0, sizeof l->fields);
    if (l->up && l->embedded && l->api.stop)
        l->api.stop(l->handle);
    else if (l->up)
        l->api.disconnect(l->handle);
    l->up = false;
}

int jm_dcgm_link_again(struct jm_dcgm_link *l, struct jm_err *err)
{
    if (l->embedded)
        return jm_err_set(err, JM_EABSENT, "dcgm: the embedded host engine has stopped");
    let_go(l);
    int ret = connect_to(l, l->address);
    return ret == JM_DCGM_OK ? jm_dcgm_link_watch(l, err) : refuse(l, ret, "no connection to ", NULL, err);
}

int jm_dcgm_link_open(struct jm_dcgm_link *l, const struct jm_meter_env *env, const char *lib,
                      const char *address, int64_t timeout_ns, struct jm_probe *probe, struct jm_err *err)
{
    struct jm_err why = {0};
    *l = (struct jm_dcgm_link){.timeout_ns = timeout_ns, .watch_ns = JM_DCGM_WATCH_NS};
    int rc = jm_dcgm_load(&l->api, lib, &why);
    if (rc) {
        if (probe)
            jm_probe_set(probe, rc == JM_EABSENT ? JM_PROBE_ABSENT : JM_PROBE_UNSUPPORTED,
                         rc == JM_EABSENT ? "install datacenter-gpu-manager-4-core, or say --dcgm-lib FILE"
                                          : "",
                         "%.250s", why.text);
        return jm_err_set(err, rc, "dcgm: %s", why.text);
    }
    rc = reach(l, address, probe, err);
    if (!rc) {
        versions(l);
        rc = fill(l, err);
    }
    if (!rc)
        rc = choose(l, env->devices, err);
    if (!rc)
        rc = batches(l, err);
    if (!rc && !l->batch[JM_DCGM_GPUS].n_e && l->n_part == l->n_gpu) {
        struct jm_probe own;
        probe = probe ? probe : &own;
        jm_probe_set(probe, JM_PROBE_ABSENT, "", "%s answers, but %s%s", l->address,
                     l->n_gpu ? "no GPU is selected: " : "lists no GPU, NVSwitch or CPU", l->note);
        rc = jm_err_set(err, JM_EABSENT, "dcgm: %s", probe->reason);
    }
    if (rc)
        jm_dcgm_link_close(l);
    return rc;
}

void jm_dcgm_link_close(struct jm_dcgm_link *l)
{
    let_go(l);
    if (l->started)
        l->api.shutdown();
    l->started = false;
    for (size_t g = 0; g < JM_DCGM_BATCHES; g++)
        free(l->batch[g].value);
    jm_dcgm_unload(&l->api);
    *l = (struct jm_dcgm_link){.up = false};
}
