/* SPDX-License-Identifier: Apache-2.0 */
/* RAPL through the perf PMU "power" (Linux arch/x86/events/rapl.c), where the powercap files are closed: it
 * asks for CAP_PERFMON or kernel.perf_event_paranoid <= 0, not for root. The kernel undoes the wraps of the
 * hardware itself. Where powercap can be read, both show the same registers, and this meter is for who asks
 * for it by name. */
#include "meter/registry.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "meter/sysfs.h"
#include "meter/text.h"
#include "base/banned.h"

#define MAX_CPUS     64
#define ZERO_WAIT_NS (20 * JM_NS_PER_MS)
#define MEND         "sudo setcap cap_perfmon+ep \"$(command -v joulemark)\""

static const struct event {
    const char *file, *label;
    enum jm_domain_kind kind;
} events[] = {
    {"energy-pkg", "package", JM_D_PACKAGE}, {"energy-ram", "dram", JM_D_DRAM},
    {"energy-cores", "core", JM_D_CORE},     {"energy-gpu", "uncore", JM_D_UNCORE},
    {"energy-psys", "psys", JM_D_PSYS},
};
#define N_EVENTS (sizeof events / sizeof *events)

struct source {
    int fd;
    bool seek; /* a plain file in the place of an event */
};

struct pmu {
    char dir[JM_SYSFS_PATH];
    uint32_t type;
    int cpu[MAX_CPUS];
    int n_cpu;
    bool present;
};

static void add_cpu(void *self, int v)
{
    struct pmu *p = self;
    if (p->n_cpu < MAX_CPUS)
        p->cpu[p->n_cpu++] = v;
}

static bool find_pmu(const struct jm_meter_env *env, struct pmu *p)
{
    char path[JM_SYSFS_PATH], text[JM_SYSFS_TEXT];
    int64_t type;
    *p = (struct pmu){0};
    if (!jm_sysfs_path(p->dir, env->sysfs_root, "/sys", "bus/event_source/devices/power") ||
        !jm_sysfs_path(path, p->dir, "", "type") || jm_sysfs_i64(path, &type) || type < 0 ||
        type > UINT32_MAX)
        return false;
    p->type = (uint32_t)type;
    if (jm_sysfs_path(path, p->dir, "", "cpumask") && jm_sysfs_text(path, text, sizeof text) > 0)
        jm_sysfs_list_each(jm_span_of(text), add_cpu, p);
    p->present = p->n_cpu > 0;
    return p->present;
}

/* 0: there, -1: this processor has no such event, -2: it is described in a way that is not understood */
static int describe(const struct pmu *p, const struct event *e, uint64_t *config, int *scale2)
{
    char path[JM_SYSFS_PATH], text[JM_SYSFS_TEXT];
    if (!jm_sysfs_path(path, p->dir, "", "events/%s", e->file) || jm_sysfs_text(path, text, sizeof text) <= 0)
        return -1;
    if (!jm_text_event(jm_span_of(text), config) ||
        !jm_sysfs_path(path, p->dir, "", "events/%s.scale", e->file) ||
        jm_sysfs_text(path, text, sizeof text) <= 0 || !jm_text_scale(jm_span_of(text), scale2))
        return -2;
    return 0;
}

static int open_event(const struct jm_meter_env *env, uint32_t type, uint64_t config, int cpu)
{
    if (env->perf_open)
        return env->perf_open(env->perf_self, type, config, cpu);
    struct perf_event_attr a = {.type = type, .size = sizeof a, .config = config};
    long fd = syscall(SYS_perf_event_open, &a, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

static int look(const struct source *s, int64_t *out)
{
    uint64_t v;
    ssize_t n = s->seek ? pread(s->fd, &v, sizeof v, 0) : read(s->fd, &v, sizeof v);
    if (n != (ssize_t)sizeof v)
        return n < 0 ? -errno : -ENODATA;
    *out = (int64_t)v;
    return v > INT64_MAX ? -ERANGE : 0;
}

/* Opens every event once; returns how many count, *why gets the last error. */
static int try_all(const struct jm_meter_env *env, const struct pmu *p, int *why)
{
    struct jm_clock clock = jm_meter_clock(env);
    struct source s[N_EVENTS];
    int n = 0, ok = 0;
    *why = 0;
    for (size_t i = 0; i < N_EVENTS; i++) {
        uint64_t config;
        int scale2, fd;
        if (describe(p, &events[i], &config, &scale2))
            continue;
        fd = open_event(env, p->type, config, p->cpu[0]);
        if (fd < 0)
            *why = fd;
        else
            s[n++] = (struct source){fd, lseek(fd, 0, SEEK_SET) == 0};
    }
    if (n > 0) /* an event counts from its opening; one that still says 0 is not wired */
        jm_clock_sleep_until(&clock, jm_clock_mono(&clock) + ZERO_WAIT_NS, NULL);
    for (int i = 0; i < n; i++) {
        int64_t v = 0;
        ok += look(&s[i], &v) == 0 && v > 0;
        close(s[i].fd);
    }
    return ok;
}

static int perf_probe(const struct jm_meter_env *env, struct jm_probe *out)
{
    struct pmu p;
    struct jm_probe rapl;
    char why[128];
    int e = 0;
    if (!find_pmu(env, &p)) {
        jm_probe_set(out, JM_PROBE_ABSENT, "",
                     "no PMU \"power\" below %s: no RAPL here, or a virtual machine hides it", p.dir);
        return 0;
    }
    int ok = try_all(env, &p, &e);
    jm_meter_rapl.probe(env, &rapl);
    if (ok == 0 && (e == -EACCES || e == -EPERM))
        jm_probe_set(
            out, JM_PROBE_DENIED, MEND,
            "the PMU \"power\" is there, but it takes CAP_PERFMON or kernel.perf_event_paranoid <= 0");
    else if (ok == 0)
        jm_probe_set(out, JM_PROBE_ABSENT, "", "the PMU \"power\" is there, but %s",
                     e ? jm_sysfs_why(e, why) : "every event stays at 0: a virtual machine");
    else if (rapl.state == JM_PROBE_OK)
        jm_probe_set(out, JM_PROBE_OFF, "", "the meter rapl reads the same registers; opened only by name");
    else
        jm_probe_set(out, JM_PROBE_OK, "", "PMU \"power\" on %d package%s", p.n_cpu, p.n_cpu == 1 ? "" : "s");
    return 0;
}

static int64_t topology(const struct jm_meter_env *env, int cpu, const char *what)
{
    char path[JM_SYSFS_PATH];
    int64_t v;
    return jm_sysfs_path(path, env->sysfs_root, "/sys", "devices/system/cpu/cpu%d/topology/%s", cpu, what) &&
                   jm_sysfs_i64(path, &v) == 0
               ? v
               : -1;
}

/* The same key as powercap's zone: "package-0", "package-0-die-1" where a package has several in the mask. */
static void package_key(const struct jm_meter_env *env, const struct pmu *p, int i, char key[64])
{
    int64_t id = topology(env, p->cpu[i], "physical_package_id");
    int dies = 0;
    for (int k = 0; k < p->n_cpu; k++)
        dies += topology(env, p->cpu[k], "physical_package_id") == id;
    if (id < 0)
        snprintf(key, 64, "package of CPU %d", p->cpu[i]);
    else if (dies > 1)
        snprintf(key, 64, "package-%d-die-%d", (int)id, (int)topology(env, p->cpu[i], "die_id"));
    else
        snprintf(key, 64, "package-%d", (int)id);
}

struct building {
    struct jm_meter *m;
    struct source *src;
    int node, package, psys;
    const char *key;
    int failed; /* -errno of the last event that could not be opened */
};

static int domain_of(struct building *b, const struct event *e, struct jm_domain_tree *tree,
                     struct jm_err *err)
{
    char key[96], label[96];
    if (e->kind == JM_D_PSYS)
        return b->psys = jm_domain_add(tree, b->node, JM_D_PSYS, "psys", "psys", err);
    if (b->package < 0)
        b->package = jm_domain_add(tree, b->node, JM_D_PACKAGE, b->key, b->key, err);
    if (b->package < 0 || e->kind == JM_D_PACKAGE)
        return b->package;
    snprintf(key, sizeof key, "%s/%s", b->key, e->label);
    snprintf(label, sizeof label, "%s of %s", e->label, b->key);
    return jm_domain_add(tree, e->kind == JM_D_DRAM ? b->node : b->package, e->kind, key, label, err);
}

static int add_event(const struct jm_meter_env *env, const struct pmu *p, int cpu, const struct event *e,
                     struct building *b, struct jm_domain_tree *tree, struct jm_err *err)
{
    uint64_t config;
    int scale2;
    if (describe(p, e, &config, &scale2))
        return 0;
    int fd = open_event(env, p->type, config, cpu);
    if (fd < 0) {
        b->failed = fd;
        return 0;
    }
    b->src[b->m->n_chan] = (struct source){fd, lseek(fd, 0, SEEK_SET) == 0};
    struct jm_channel *c = jm_meter_add_channel(b->m, err);
    if (!c) {
        close(fd);
        return JM_ENOMEM;
    }
    snprintf(c->name, sizeof c->name, "energy");
    snprintf(c->device, sizeof c->device, "%s of %s", e->file, b->key);
    snprintf(c->source, sizeof c->source, "perf PMU power, event %s", e->file);
    c->kind = JM_CH_COUNTER;
    c->unit = JM_U_J;
    c->scale2 = scale2;
    c->period_ns = JM_NS_PER_MS;
    c->sane_max = e->kind == JM_D_PSYS ? 20000 : 3000;
    c->flags = JM_CHF_EDGE | (e->kind == JM_D_PSYS ? JM_CHF_PARTOF : 0);
    c->domain = domain_of(b, e, tree, err);
    return c->domain < 0 ? c->domain : 0;
}

static void perf_close(struct jm_meter *m)
{
    if (!m)
        return;
    struct source *s = m->priv;
    for (size_t i = 0; s && i < m->n_chan; i++)
        if (s[i].fd >= 0)
            close(s[i].fd);
    free(s);
    jm_meter_dispose(m);
}

static int perf_open(const struct jm_meter_env *env, struct jm_domain_tree *tree, struct jm_meter **out,
                     struct jm_err *err)
{
    struct pmu p;
    if (!find_pmu(env, &p))
        return jm_err_set(err, JM_EABSENT, "perf: no PMU \"power\" below %s", p.dir);
    struct jm_meter *m = jm_meter_alloc(&jm_meter_perf, err);
    struct source *src = calloc((size_t)p.n_cpu * N_EVENTS, sizeof *src);
    if (!m || !src) {
        free(src);
        jm_meter_dispose(m);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the meter perf");
    }
    for (size_t i = 0; i < (size_t)p.n_cpu * N_EVENTS; i++)
        src[i].fd = -1;
    m->priv = src;
    snprintf(m->instance, sizeof m->instance, "%.95s", p.dir);
    struct building b = {.m = m, .src = src, .psys = -1, .node = jm_meter_host(env, tree, err)};
    int rc = b.node < 0 ? b.node : 0;
    for (int i = 0; i < p.n_cpu && rc == 0; i++) {
        char key[64];
        package_key(env, &p, i, key);
        b.key = key;
        b.package = -1;
        for (size_t e = 0; e < N_EVENTS && rc == 0; e++)
            if (events[e].kind != JM_D_PSYS || i == 0) /* psys counts on the first package only */
                rc = add_event(env, &p, p.cpu[i], &events[e], &b, tree, err);
    }
    if (rc == 0 && m->n_chan == 0)
        rc = jm_err_sys(err, b.failed ? -b.failed : ENOENT,
                        "perf: no event of the PMU \"power\" can be opened");
    if (rc) {
        perf_close(m);
        return rc;
    }
    *out = m;
    return 0;
}

static size_t perf_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                        struct jm_reading *out)
{
    const struct source *s = m->priv;
    (void)set; /* every channel is a counter of the edge set */
    for (size_t i = 0; i < m->n_chan; i++) {
        struct jm_reading *r = &out[i];
        *r = (struct jm_reading){.channel = (uint32_t)i};
        r->t0 = jm_clock_mono(clock);
        r->status = (uint8_t)jm_sysfs_status(look(&s[i], &r->value));
        r->t1 = jm_clock_mono(clock);
    }
    return m->n_chan;
}

const struct jm_meter_ops jm_meter_perf = {
    .version = JM_METER_OPS_VERSION,
    .name = "perf",
    .summary = "processor packages by the perf PMU \"power\", where powercap is closed",
    .boundary = "device",
    .needs = "CAP_PERFMON, or kernel.perf_event_paranoid <= 0",
    .traps = "The same registers as rapl; where powercap can be read, this meter is opened only by name.\n"
             "Counts begin at 0 when the event is opened, and the kernel undoes the hardware's wraps.\n"
             "An event that stays 0 (virtual machines show energy-psys so) is absent.",
    .probe = perf_probe,
    .open = perf_open,
    .read = perf_read,
    .close = perf_close,
};
