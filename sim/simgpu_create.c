/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration becomes a state file. */
#include "simgpu_conf.h"
#include "simgpu_power.h"
#include "simgpu_text.h"
#include "simgpu_wave.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MS ((int64_t)1000000)

static int64_t clock_ns(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Slices and GiB of a MIG profile name: 3g.40gb. */
static bool mig_profile(const char *p, size_t n, uint32_t *slices, uint64_t *bytes)
{
    const char *dot = memchr(p, '.', n);
    static const struct simgpu_unit g[] = {{"g", 1}, {NULL, 0}}, gb[] = {{"gb", 1}, {NULL, 0}};
    int64_t a, b;
    if (!dot || !simgpu_quantity(p, (size_t)(dot - p), g, &a) ||
        !simgpu_quantity(dot + 1, n - (size_t)(dot + 1 - p), gb, &b) || a < 1 || a > 7 || b < 1 || b > 1000)
        return false;
    *slices = (uint32_t)a;
    *bytes = (uint64_t)b << 30;
    return true;
}

static int make_mig(struct simgpu_gpu *g, const char *list, uint64_t seed, int index, char *why, size_t n)
{
    size_t pn, i = 0;
    uint32_t slices = 0;
    if (!*list || strcmp(list, "off") == 0)
        return 0;
    if (!g->mig_capable) {
        snprintf(why, n, "gpu %d: the profile %s has no MIG.", index, g->profile);
        return -EINVAL;
    }
    g->mig_mode = g->mig_pending = 1;
    if (strcmp(list, "on") == 0)
        return 0;
    for (const char *p; (p = simgpu_item(&list, '+', &pn)); i++) {
        if (i == SIMGPU_MAX_MIG) {
            snprintf(why, n, "gpu %d: a GPU has at most 7 MIG instances.", index);
            return -EINVAL;
        }
        struct simgpu_mig *m = &g->mig[i];
        if (simgpu_is(p, pn, "-"))
            continue;
        if (!mig_profile(p, pn, &m->slices, &m->memory) || pn >= sizeof m->profile ||
            (slices += m->slices) > 7) {
            snprintf(why, n, "gpu %d: mig is a list such as 1g.10gb+-+3g.40gb with at most 7 slices.", index);
            return -EINVAL;
        }
        m->present = 1;
        m->gi = (uint32_t)i + 1;
        m->ci = 0;
        memcpy(m->profile, p, pn);
        snprintf(m->uuid, sizeof m->uuid, "MIG-51340000-%04x-5a00-8000-%08x%02x%02x",
                 (unsigned)(seed & 0xffff), (unsigned)(seed >> 16), (unsigned)index & 0xff, (unsigned)i + 1);
    }
    return 0;
}

static int64_t placed(const struct simgpu_conf *c, int64_t asked, int64_t period, int i, uint64_t salt)
{
    if (asked >= 0)
        return period > 0 ? asked % period : 0;
    if (period <= 0)
        return 0;
    if (asked == -2)
        return c->gpus ? (int64_t)((simgpu_fj)period * i / c->gpus) : 0;
    return (int64_t)(simgpu_hash((uint64_t)c->seed, (uint64_t)i, salt) % (uint64_t)period);
}

static uint32_t scoped(uint32_t scopes, int32_t asked)
{
    if (!asked || !scopes)
        return scopes;
    return asked == SIMGPU_SCOPE_GPU ? (scopes & ~(uint32_t)SIMGPU_SCOPE_MODULE) | SIMGPU_SCOPE_GPU
                                     : (uint32_t)SIMGPU_SCOPE_MODULE;
}

static int make_gpu(const struct simgpu_conf *c, int i, struct simgpu_gpu *g, char *why, size_t n)
{
    const struct simgpu_gpu_conf *q = &c->gpu[i];
    const struct simgpu_profile *p = q->profile;
    uint64_t seed = (uint64_t)c->seed;
    snprintf(g->name, sizeof g->name, "%s (SIMULATED)", q->name[0] ? q->name : p->name);
    if (q->uuid[0])
        memcpy(g->uuid, q->uuid, sizeof g->uuid);
    else
        snprintf(g->uuid, sizeof g->uuid, "GPU-51340000-%04x-4a00-8000-%08x00%02x", (unsigned)(seed & 0xffff),
                 (unsigned)(seed >> 16), (unsigned)i & 0xff);
    snprintf(g->serial, sizeof g->serial, "5134%09u", (unsigned)(seed % 10000000) * 100 + (unsigned)i);
    snprintf(g->profile, sizeof g->profile, "%s", p->id);
    g->architecture = p->architecture;
    g->cc_major = p->cc_major;
    g->cc_minor = p->cc_minor;
    g->pci_domain = q->pci_domain;
    g->pci_bus = q->pci_set ? q->pci_bus : 0x1b + 0x03u * (uint32_t)i;
    g->pci_device = q->pci_device;
    g->pci_device_id = p->device_id;
    g->pci_subsystem_id = 0x16C110DE;
    g->memory = p->memory_mib << 20;
    g->cores = p->cores;
    g->max_sm_mhz = p->sm_mhz;
    g->max_mem_mhz = p->mem_mhz;
    g->idle_sm_mhz = p->idle_sm_mhz;
    g->node = i < c->gpus / 2 ? 0 : 1;

    g->idle_uw = q->idle_uw >= 0 ? q->idle_uw : (int64_t)p->idle_w * 1000000;
    g->limit_min_uw = (int64_t)p->min_w * 1000000;
    g->limit_default_uw = (int64_t)p->default_w * 1000000;
    g->limit_max_uw = (int64_t)p->max_w * 1000000;
    g->module_extra_uw = (int64_t)p->module_extra_w * 1000000;
    g->memory_ppb = (int64_t)p->memory_pct * (SIMGPU_PPB / 100);

    g->counter = q->counter >= 0 ? q->counter : p->counter;
    g->counter_scope = q->scope ? (uint32_t)q->scope : p->scope;
    g->counter_period_ns = q->refresh_ns >= 0 ? q->refresh_ns : p->period_ms * MS;
    /* Up to 1 GJ: a GPU that has been counting for weeks. */
    g->counter_base_mj =
        q->base_mj >= 0 ? q->base_mj : (int64_t)(simgpu_hash(seed, (uint64_t)i, 0xBA5E) % 1000000000000u);
    g->counter_gain_ppb = q->counter_gain_ppb;
    g->gauge_gain_ppb = q->gauge_gain_ppb;
    int64_t shortest = g->counter_period_ns > 0 ? g->counter_period_ns : INT64_MAX,
            longest = g->counter_period_ns;
    for (int k = 0; k < SIMGPU_GAUGES; k++) {
        struct simgpu_gauge *x = &g->gauge[k];
        x->window_ns = q->window_ns[k] >= 0 ? q->window_ns[k] : p->gauge[k].window_ms * MS;
        x->period_ns = q->gauge_refresh_ns >= 0 ? q->gauge_refresh_ns
                       : q->refresh_ns >= 0     ? q->refresh_ns
                                                : p->gauge[k].period_ms * MS;
        uint32_t scopes = p->gauge[k].scopes;
        if (!scopes && q->window_ns[k] >= 0)
            scopes = g->counter_scope;
        x->scopes = q->gauge_off & (1 << k) ? 0 : scoped(scopes, q->scope);
        if (x->period_ns > 0 && x->period_ns < shortest)
            shortest = x->period_ns;
        if (x->period_ns > longest)
            longest = x->period_ns;
    }
    g->phase_ns = placed(c, q->phase_ns, longest, i, 0x9A5E);
    if (q->jitter_ns * 2 >= shortest) {
        snprintf(why, n, "gpu %d: a jitter must be shorter than half the shortest refresh period.", i);
        return -EINVAL;
    }
    g->jitter_ns = longest > 0 ? q->jitter_ns : 0;
    g->mig_capable = p->mig;
    atomic_store(&g->util_gpu, -1);
    atomic_store(&g->util_mem, -1);
    atomic_store(&g->sm_mhz, -1);
    atomic_store(&g->mem_mhz, -1);
    atomic_store(&g->temp_c, -1);
    return make_mig(g, q->mig, seed, i, why, n);
}

static int put(int fd, const void *p, size_t size, uint64_t at)
{
    const char *b = p;
    while (size) {
        ssize_t w = pwrite(fd, b, size, (off_t)at);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return w < 0 ? -errno : -EIO;
        b += w;
        size -= (size_t)w;
        at += (uint64_t)w;
    }
    return 0;
}

/* Waveform or ring of one GPU, behind what the file already holds. */
static int put_power(const struct simgpu_conf *c, int i, struct simgpu_gpu *g, int64_t start_ns, int fd,
                     uint64_t *end, char *why, size_t n)
{
    const struct simgpu_gpu_conf *q = &c->gpu[i];
    struct simgpu_wave w;
    int e = simgpu_wave_make(&w, q->waveform, (uint64_t)c->seed, (uint64_t)i, why, n);
    if (e)
        return e;
    snprintf(g->waveform, sizeof g->waveform, "%s", q->waveform);
    g->latency_ns = q->latency_ns >= 0 ? q->latency_ns : w.driven ? 2 * MS : 0;
    *end = (*end + 4095) & ~(uint64_t)4095;
    if (w.driven) {
        struct simgpu_step first = {.t_ns = start_ns, .uw = g->idle_uw};
        g->mode = SIMGPU_DRIVEN;
        g->ring_at = *end;
        g->ring_size = (uint64_t)c->ring;
        atomic_store(&g->ring_head, 1);
        e = put(fd, &first, sizeof first, g->ring_at);
        *end += g->ring_size * sizeof first;
    } else {
        const struct simgpu_seg *last = &w.seg[w.count - 1];
        int64_t begin = w.count > 1 ? w.seg[w.count - 2].end_ns : 0;
        g->mode = SIMGPU_WAVE;
        g->seg_at = *end;
        g->seg_count = w.count;
        g->cycle_ns = w.length_ns;
        g->cycle = simgpu_fj_put(simgpu_fj_get(last->before) + (simgpu_fj)last->uw * (last->end_ns - begin));
        g->offset_ns = placed(c, q->offset_ns, g->cycle_ns, i, 0x0FF5E7);
        e = put(fd, w.seg, w.count * sizeof *w.seg, g->seg_at);
        *end += w.count * sizeof *w.seg;
    }
    simgpu_wave_release(&w);
    if (e)
        snprintf(why, n, "cannot write the state file: %s.", strerror(-e));
    return e;
}

static void put_processes(const struct simgpu_conf *c, int i, struct simgpu_gpu *g)
{
    uint32_t at = 0;
    for (uint32_t k = 0; k < c->procs; k++)
        if ((c->proc[k].gpu == i || c->proc[k].gpu == -1) && !c->proc[k].child && at < SIMGPU_MAX_PROCS)
            g->proc[at++] = c->proc[k].p;
}

static int fill(const struct simgpu_conf *c, int fd, char *why, size_t n)
{
    struct simgpu_header *h = calloc(1, sizeof *h);
    struct simgpu_gpu *g = calloc(1, sizeof *g);
    int e = -ENOMEM;
    if (!h || !g) {
        snprintf(why, n, "no memory for the state file.");
        goto out;
    }
    h->version = SIMGPU_VERSION;
    h->header_size = sizeof *h;
    h->gpu_size = sizeof *g;
    h->gpu_count = (uint32_t)c->gpus;
    h->gpu_at = (sizeof *h + 4095) & ~(uint64_t)4095;
    h->seed = (uint64_t)c->seed;
    h->clock = c->virtual_clock ? SIMGPU_CLOCK_VIRTUAL : SIMGPU_CLOCK_REAL;
    h->call_cost_ns = c->call_cost_ns;
    h->fault_count = c->faults;
    memcpy(h->fault, c->fault, sizeof h->fault);
    memcpy(h->driver, c->driver, sizeof h->driver);
    memcpy(h->nvml, c->nvml, sizeof h->nvml);
    h->cuda = (int32_t)c->cuda;
    h->start_ns = c->virtual_clock ? c->start_ns : clock_ns(CLOCK_MONOTONIC);
    /* A virtual run has the same stamps each time: it starts on 2026-01-01. */
    h->start_real_ns = c->virtual_clock ? (int64_t)1767225600 * 1000000000 : clock_ns(CLOCK_REALTIME);
    atomic_store(&h->now_ns, h->start_ns);
    uint64_t end = h->gpu_at + (uint64_t)c->gpus * sizeof *g;
    for (int i = 0; i < c->gpus; i++) {
        memset((void *)g, 0, sizeof *g);
        e = make_gpu(c, i, g, why, n);
        if (!e)
            e = put_power(c, i, g, h->start_ns, fd, &end, why, n);
        if (e)
            goto out;
        put_processes(c, i, g);
        e = put(fd, g, sizeof *g, h->gpu_at + (uint64_t)i * sizeof *g);
        if (e)
            goto io;
    }
    end = (end + 4095) & ~(uint64_t)4095;
    h->file_size = end;
    if (ftruncate(fd, (off_t)end) != 0) {
        e = -errno;
        goto io;
    }
    static const char magic[8] = {'J', 'M', 'S', 'I', 'M', 'G', 'P', 'U'};
    memcpy(h->magic, magic, sizeof magic);
    e = put(fd, h, sizeof *h, 0);
io:
    if (e)
        snprintf(why, n, "cannot write the state file: %s.", strerror(-e));
out:
    free(h);
    free(g);
    return e;
}

int simgpu_create(const struct simgpu_conf *c, const char *path, char *why, size_t n)
{
    /* Written beside and renamed: a program that still has the old file mapped keeps it whole. */
    char *tmp = NULL;
    if (asprintf(&tmp, "%s.%ld.new", path, (long)getpid()) < 0) {
        snprintf(why, n, "no memory for the state file.");
        return -ENOMEM;
    }
    int e = 0, fd = open(tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        e = -errno;
        snprintf(why, n, "cannot create the state file %s: %s.", path, strerror(-e));
    } else {
        e = fill(c, fd, why, n);
        close(fd);
        if (!e && rename(tmp, path) != 0) {
            e = -errno;
            snprintf(why, n, "cannot create the state file %s: %s.", path, strerror(-e));
        }
        if (e)
            unlink(tmp);
    }
    free(tmp);
    return e;
}
