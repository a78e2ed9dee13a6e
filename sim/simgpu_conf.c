/* SPDX-License-Identifier: Apache-2.0 */
#include "simgpu_conf.h"
#include "simgpu_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int bad(char *why, size_t n, const char *want)
{
    snprintf(why, n, "expected %s", want);
    return -EINVAL;
}

static int whole(const char *v, int64_t lo, int64_t hi, int64_t *out, char *why, size_t n)
{
    if (strchr(v, '.') || !simgpu_quantity_z(v, simgpu_units_plain, out) || *out < lo || *out > hi) {
        snprintf(why, n, "expected a whole number from %lld to %lld", (long long)lo, (long long)hi);
        return -EINVAL;
    }
    return 0;
}

static int quantity(const char *v, const struct simgpu_unit *u, int64_t lo, int64_t hi, int64_t *out,
                    char *why, size_t n)
{
    if (!simgpu_quantity_z(v, u, out) || *out < lo || *out > hi)
        return bad(why, n, simgpu_units_help(u));
    return 0;
}

static int text(const char *v, char *out, size_t room, char *why, size_t n)
{
    if (strlen(v) >= room || !*v) {
        snprintf(why, n, "expected a text of 1 to %zu characters", room - 1);
        return -EINVAL;
    }
    memcpy(out, v, strlen(v) + 1);
    return 0;
}

#define HOUR ((int64_t)3600 * 1000000000)
#define SET(name)                                                                                            \
    static int name(struct simgpu_conf *c, struct simgpu_gpu_conf *g, const char *v, char *why, size_t n)
#define UNUSED (void)c, (void)g, (void)v, (void)why, (void)n

SET(set_gpus)
{
    UNUSED;
    return whole(v, 0, SIMGPU_MAX_GPUS, &c->gpus, why, n);
}
SET(set_seed)
{
    UNUSED;
    return whole(v, 0, INT64_MAX, &c->seed, why, n);
}
SET(set_virtual)
{
    UNUSED;
    c->virtual_clock = true;
    return 0;
}
SET(set_start)
{
    UNUSED;
    return quantity(v, simgpu_units_time, 0, INT64_MAX / 4, &c->start_ns, why, n);
}
SET(set_cost)
{
    UNUSED;
    return quantity(v, simgpu_units_time, 0, 10000000000, &c->call_cost_ns, why, n);
}
SET(set_ring)
{
    UNUSED;
    int e = whole(v, 2, 1 << 24, &c->ring, why, n);
    return !e && (c->ring & (c->ring - 1)) ? bad(why, n, "a power of two") : e;
}
SET(set_driver)
{
    UNUSED;
    return text(v, c->driver, sizeof c->driver, why, n);
}
SET(set_nvml)
{
    UNUSED;
    return text(v, c->nvml, sizeof c->nvml, why, n);
}
SET(set_cuda)
{
    UNUSED;
    int64_t major, minor = 0;
    const char *dot = strchr(v, '.');
    if (!simgpu_quantity(v, dot ? (size_t)(dot - v) : strlen(v), simgpu_units_plain, &major) ||
        (dot && !simgpu_quantity_z(dot + 1, simgpu_units_plain, &minor)) || major < 1 || major > 99 ||
        minor < 0 || minor > 99)
        return bad(why, n, "a version such as 13.0");
    c->cuda = 1000 * major + 10 * minor;
    return 0;
}
SET(set_fault)
{
    UNUSED;
    return simgpu_conf_fault(c, v, why, n);
}
SET(set_process)
{
    UNUSED;
    return simgpu_conf_process(c, v, why, n);
}
SET(set_profile)
{
    UNUSED;
    const struct simgpu_profile *p = simgpu_profile_find(v, strlen(v));
    if (!p)
        return bad(why, n, "a profile; see joulemark-sim gpu --help");
    g->profile = p;
    return 0;
}
SET(set_waveform)
{
    UNUSED;
    return text(v, g->waveform, sizeof g->waveform, why, n);
}
SET(set_name)
{
    UNUSED;
    return text(v, g->name, sizeof g->name - 12, why, n);
}
SET(set_uuid)
{
    UNUSED;
    if (strncmp(v, "GPU-", 4) != 0)
        return bad(why, n, "an id that begins with GPU-");
    return text(v, g->uuid, sizeof g->uuid, why, n);
}
SET(set_pci)
{
    UNUSED;
    uint32_t d, b, dev;
    if (!simgpu_pci(v, &d, &b, &dev) || dev > 31)
        return bad(why, n, "a PCI address such as 0000:1b:00.0");
    g->pci_domain = d;
    g->pci_bus = b;
    g->pci_device = dev;
    g->pci_set = true;
    return 0;
}
SET(set_mig)
{
    UNUSED;
    return text(v, g->mig, sizeof g->mig, why, n);
}

static int placed(const char *v, int64_t *out, char *why, size_t n)
{
    if (strcmp(v, "random") == 0) {
        *out = -1;
        return 0;
    }
    if (strcmp(v, "spread") == 0) {
        *out = -2;
        return 0;
    }
    if (!simgpu_quantity_z(v, simgpu_units_time, out) || *out < 0)
        return bad(why, n, "a time (20ms), random or spread");
    return 0;
}

SET(set_offset)
{
    UNUSED;
    return placed(v, &g->offset_ns, why, n);
}
SET(set_phase)
{
    UNUSED;
    return placed(v, &g->phase_ns, why, n);
}
SET(set_refresh)
{
    UNUSED;
    return quantity(v, simgpu_units_time, 0, HOUR, &g->refresh_ns, why, n);
}
SET(set_gauge_refresh)
{
    UNUSED;
    return quantity(v, simgpu_units_time, 0, HOUR, &g->gauge_refresh_ns, why, n);
}
SET(set_jitter)
{
    UNUSED;
    return quantity(v, simgpu_units_time, 0, HOUR, &g->jitter_ns, why, n);
}
SET(set_latency)
{
    UNUSED;
    return quantity(v, simgpu_units_time, 0, HOUR, &g->latency_ns, why, n);
}

static int gain(const char *v, int64_t *out, char *why, size_t n)
{
    return quantity(v, simgpu_units_gain, 1000, (int64_t)10 * SIMGPU_PPB, out, why, n);
}

SET(set_gain)
{
    UNUSED;
    int e = gain(v, &g->counter_gain_ppb, why, n);
    g->gauge_gain_ppb = g->counter_gain_ppb;
    return e;
}
SET(set_counter_gain)
{
    UNUSED;
    return gain(v, &g->counter_gain_ppb, why, n);
}
SET(set_gauge_gain)
{
    UNUSED;
    return gain(v, &g->gauge_gain_ppb, why, n);
}

static int window(struct simgpu_gpu_conf *g, int id, const char *v, char *why, size_t n)
{
    if (strcmp(v, "off") == 0) {
        g->gauge_off |= 1 << id;
        return 0;
    }
    if (!simgpu_quantity_z(v, simgpu_units_time, &g->window_ns[id]) || g->window_ns[id] < 0 ||
        g->window_ns[id] > HOUR)
        return bad(why, n, "a window (1s, 25ms; 0 is the instant) or off");
    g->gauge_off &= ~(1 << id);
    return 0;
}

SET(set_usage)
{
    UNUSED;
    return window(g, SIMGPU_USAGE, v, why, n);
}
SET(set_average)
{
    UNUSED;
    return window(g, SIMGPU_AVERAGE, v, why, n);
}
SET(set_instant)
{
    UNUSED;
    return window(g, SIMGPU_INSTANT, v, why, n);
}
SET(set_counter)
{
    UNUSED;
    if (strcmp(v, "on") != 0 && strcmp(v, "off") != 0)
        return bad(why, n, "on or off");
    g->counter = v[1] == 'n';
    return 0;
}
SET(set_scope)
{
    UNUSED;
    if (strcmp(v, "gpu") != 0 && strcmp(v, "module") != 0)
        return bad(why, n, "gpu or module");
    g->scope = v[0] == 'g' ? SIMGPU_SCOPE_GPU : SIMGPU_SCOPE_MODULE;
    return 0;
}
SET(set_base)
{
    UNUSED;
    return quantity(v, simgpu_units_energy, 0, INT64_MAX / 4, &g->base_mj, why, n);
}
SET(set_idle)
{
    UNUSED;
    return quantity(v, simgpu_units_power, 0, (int64_t)100000 * 1000000, &g->idle_uw, why, n);
}

static const struct simgpu_key keys[] = {
    {"gpus", SIMGPU_KEY_ALL, false, "N", "how many, 0 to 64 [8]", set_gpus},
    {"seed", SIMGPU_KEY_ALL, false, "N", "of everything random [1]", set_seed},
    {"virtual", SIMGPU_KEY_ALL, true, NULL, "a clock that only programs move (for tests)", set_virtual},
    {"start", SIMGPU_KEY_ALL, false, "TIME", "virtual clock at the start [1000s]", set_start},
    {"call-cost", SIMGPU_KEY_ALL, false, "TIME", "each library call moves the virtual clock [0]", set_cost},
    {"ring", SIMGPU_KEY_ALL, false, "N", "power steps kept of a driven GPU [1048576]", set_ring},
    {"driver", SIMGPU_KEY_ALL, false, "TEXT", "driver version [580.95.05]", set_driver},
    {"nvml", SIMGPU_KEY_ALL, false, "TEXT", "NVML version [13.580.95.05]", set_nvml},
    {"cuda", SIMGPU_KEY_ALL, false, "X.Y", "CUDA version of the driver [13.0]", set_cuda},
    {"fault", SIMGPU_KEY_LIST, false, "LIST", "kind=K[,gpu=N][,at=T][,for=T][,what=W][,...]", set_fault},
    {"process", SIMGPU_KEY_LIST, false, "LIST", "pid=N|child[,gpu=N][,mem=SIZE][,sm=%][,...]", set_process},
    {"profile", SIMGPU_KEY_GPU, false, "NAME", "what the GPU is [h100]", set_profile},
    {"waveform", SIMGPU_KEY_GPU, false, "FORM", "its true power [cycle]", set_waveform},
    {"offset", SIMGPU_KEY_GPU, false, "TIME", "into the waveform at the start; random, spread [0]",
     set_offset},
    {"refresh", SIMGPU_KEY_GPU, false, "TIME", "period of counter and gauges; 0: at each read", set_refresh},
    {"gauge-refresh", SIMGPU_KEY_GPU, false, "TIME", "period of the gauges alone", set_gauge_refresh},
    {"phase", SIMGPU_KEY_GPU, false, "TIME", "of the refreshes; random, spread [random]", set_phase},
    {"jitter", SIMGPU_KEY_GPU, false, "TIME", "each refresh up to this early or late [0]", set_jitter},
    {"latency", SIMGPU_KEY_GPU, false, "TIME", "refresh to visible [0; 2ms when driven]", set_latency},
    {"gain", SIMGPU_KEY_GPU, false, "FACTOR", "shown over true, counter and gauges [1.0]", set_gain},
    {"counter-gain", SIMGPU_KEY_GPU, false, "FACTOR", "shown over true, counter", set_counter_gain},
    {"gauge-gain", SIMGPU_KEY_GPU, false, "FACTOR", "shown over true, gauges", set_gauge_gain},
    {"counter", SIMGPU_KEY_GPU, false, "on|off", "energy counter", set_counter},
    {"base", SIMGPU_KEY_GPU, false, "ENERGY", "counter at the start [by the seed]", set_base},
    {"usage", SIMGPU_KEY_GPU, false, "WINDOW", "nvmlDeviceGetPowerUsage: mean over this, or off", set_usage},
    {"average", SIMGPU_KEY_GPU, false, "WINDOW", "field 185, or off", set_average},
    {"instant", SIMGPU_KEY_GPU, false, "WINDOW", "field 186, or off", set_instant},
    {"scope", SIMGPU_KEY_GPU, false, "NAME", "of power and energy: gpu or module", set_scope},
    {"idle", SIMGPU_KEY_GPU, false, "POWER", "power before a driver drives", set_idle},
    {"mig", SIMGPU_KEY_GPU, false, "LIST", "instances: 1g.10gb+3g.40gb, - is a hole; on", set_mig},
    {"name", SIMGPU_KEY_GPU, false, "TEXT", "device name; (SIMULATED) is added", set_name},
    {"uuid", SIMGPU_KEY_GPU, false, "TEXT", "GPU-...", set_uuid},
    {"pci", SIMGPU_KEY_GPU, false, "ADDR", "0000:1b:00.0", set_pci},
};

const struct simgpu_key *simgpu_key_at(int i)
{
    return i >= 0 && (size_t)i < sizeof keys / sizeof *keys ? &keys[i] : NULL;
}

const struct simgpu_key *simgpu_key_find(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (simgpu_is(name, n, keys[i].name))
            return &keys[i];
    return NULL;
}

int simgpu_conf_init(struct simgpu_conf *c)
{
    memset(c, 0, sizeof *c);
    c->gpus = 8;
    c->seed = 1;
    c->start_ns = (int64_t)1000 * 1000000000;
    c->ring = SIMGPU_RING;
    c->cuda = 13000;
    snprintf(c->driver, sizeof c->driver, "580.95.05");
    snprintf(c->nvml, sizeof c->nvml, "13.580.95.05");
    for (int i = 0; i < SIMGPU_MAX_GPUS; i++) {
        struct simgpu_gpu_conf *g = &c->gpu[i];
        *g = (struct simgpu_gpu_conf){.profile = simgpu_profile_at(0),
                                      .waveform = "cycle",
                                      .phase_ns = -1,
                                      .refresh_ns = -1,
                                      .gauge_refresh_ns = -1,
                                      .window_ns = {-1, -1, -1},
                                      .latency_ns = -1,
                                      .counter_gain_ppb = SIMGPU_PPB,
                                      .gauge_gain_ppb = SIMGPU_PPB,
                                      .base_mj = -1,
                                      .idle_uw = -1,
                                      .counter = -1};
    }
    return 0;
}

void simgpu_conf_release(struct simgpu_conf *c)
{
    for (uint32_t i = 0; i < c->said_count; i++) {
        free(c->said[i].key);
        free(c->said[i].value);
        free(c->said[i].where);
    }
    free(c->said);
    c->said = NULL;
    c->said_count = c->said_room = 0;
}

int simgpu_conf_say(struct simgpu_conf *c, int gpu, const char *key, const char *value, const char *where,
                    char *why, size_t n)
{
    const struct simgpu_key *k = simgpu_key_find(key, strlen(key));
    if (!k) {
        snprintf(why, n, "%s: there is no option \"%s\"; see joulemark-sim gpu --help.", where, key);
        return -EINVAL;
    }
    if (gpu >= 0 && k->kind != SIMGPU_KEY_GPU) {
        snprintf(why, n, "%s: \"%s\" is not an option of one GPU.", where, key);
        return -EINVAL;
    }
    if (c->said_count == c->said_room) {
        uint32_t room = c->said_room ? 2 * c->said_room : 32;
        struct simgpu_said *p = realloc(c->said, room * sizeof *p);
        if (!p)
            goto nomem;
        c->said = p;
        c->said_room = room;
    }
    struct simgpu_said x = {.gpu = gpu, .key = strdup(key), .value = strdup(value), .where = strdup(where)};
    if (!x.key || !x.value || !x.where) {
        free(x.key);
        free(x.value);
        free(x.where);
        goto nomem;
    }
    c->said[c->said_count++] = x;
    return 0;
nomem:
    snprintf(why, n, "%s: no memory.", where);
    return -ENOMEM;
}

int simgpu_conf_say_gpu(struct simgpu_conf *c, const char *arg, const char *where, char *why, size_t n)
{
    const char *colon = strchr(arg, ':');
    int64_t gpu;
    if (!colon || !simgpu_quantity(arg, (size_t)(colon - arg), simgpu_units_plain, &gpu) || gpu < 0 ||
        gpu >= SIMGPU_MAX_GPUS) {
        snprintf(why, n, "%s: expected N:key=value, as in 3:gain=0.95, not \"%s\".", where, arg);
        return -EINVAL;
    }
    /* A waveform has commas of its own: what follows one that is no key=value of a known key belongs to it.
     */
    char key[32], value[512];
    const char *p = colon + 1;
    while (*p) {
        size_t kn = strcspn(p, "=,");
        if (p[kn] != '=' || kn >= sizeof key || !simgpu_key_find(p, kn)) {
            snprintf(why, n, "%s: \"%.*s\" is no option of a GPU; see joulemark-sim gpu --help.", where,
                     (int)kn, p);
            return -EINVAL;
        }
        memcpy(key, p, kn);
        key[kn] = 0;
        p += kn + 1;
        size_t vn = 0;
        for (;;) {
            vn += strcspn(p + vn, ",");
            if (!p[vn])
                break;
            size_t next = strcspn(p + vn + 1, "=,");
            if (p[vn + 1 + next] == '=' && simgpu_key_find(p + vn + 1, next))
                break;
            vn++;
        }
        if (vn >= sizeof value) {
            snprintf(why, n, "%s: the value of \"%s\" is too long.", where, key);
            return -EINVAL;
        }
        memcpy(value, p, vn);
        value[vn] = 0;
        p += vn + (p[vn] == ',');
        int e = simgpu_conf_say(c, (int)gpu, key, value, where, why, n);
        if (e)
            return e;
    }
    return 0;
}

int simgpu_conf_line(struct simgpu_conf *c, char *line, const char *where, char *why, size_t n)
{
    const char *rest = line;
    size_t len;
    char *p = line + (simgpu_item(&rest, '\0', &len) - line);
    p[len] = 0;
    if (len == 0)
        return 0;
    int64_t gpu = -1;
    char *key = p, *value = p + strcspn(p, " \t");
    for (int i = 0; i < 2; i++) {
        if (*value)
            *value++ = 0;
        value += strspn(value, " \t");
        if (i || strcmp(key, "gpu") != 0)
            break;
        char *num = value;
        key = value + strcspn(value, " \t");
        if (*key)
            *key++ = 0;
        key += strspn(key, " \t");
        if (whole(num, 0, SIMGPU_MAX_GPUS - 1, &gpu, why, n) || !*key) {
            snprintf(why, n, "%s: expected \"gpu N key value\".", where);
            return -EINVAL;
        }
        value = key + strcspn(key, " \t");
    }
    return simgpu_conf_say(c, (int)gpu, key, value, where, why, n);
}

int simgpu_conf_file(struct simgpu_conf *c, const char *path, char *why, size_t n)
{
    FILE *f = fopen(path, "re");
    if (!f) {
        int e = errno;
        snprintf(why, n, "cannot open the configuration file %s: %s.", path, strerror(e));
        return -e;
    }
    char line[1024], where[512];
    int e = 0;
    for (unsigned no = 1; !e && fgets(line, sizeof line, f); no++) {
        snprintf(where, sizeof where, "%s:%u", path, no);
        if (!strchr(line, '\n') && !feof(f)) {
            snprintf(why, n, "%s: the line is longer than %zu characters.", where, sizeof line - 2);
            e = -EINVAL;
            break;
        }
        line[strcspn(line, "#\r\n")] = 0;
        e = simgpu_conf_line(c, line, where, why, n);
    }
    if (!e && ferror(f)) {
        snprintf(why, n, "cannot read the configuration file %s.", path);
        e = -EIO;
    }
    fclose(f);
    return e;
}

static int apply_one(struct simgpu_conf *c, const struct simgpu_said *x, char *why, size_t n)
{
    const struct simgpu_key *k = simgpu_key_find(x->key, strlen(x->key));
    char reason[256] = "";
    int e = 0;
    if (k->flag && *x->value)
        e = bad(reason, sizeof reason, "no value");
    int first = x->gpu < 0 ? 0 : x->gpu, last = x->gpu < 0 ? SIMGPU_MAX_GPUS - 1 : x->gpu;
    if (!e && k->kind != SIMGPU_KEY_GPU)
        e = k->set(c, NULL, x->value, reason, sizeof reason);
    for (int i = first; !e && k->kind == SIMGPU_KEY_GPU && i <= last; i++)
        e = k->set(c, &c->gpu[i], x->value, reason, sizeof reason);
    if (e)
        snprintf(why, n, "%s: %s \"%s\": %s.", x->where, x->key, x->value, reason);
    return e;
}

int simgpu_conf_apply(struct simgpu_conf *c, char *why, size_t n)
{
    int e = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; !e && i < c->said_count; i++)
            if ((c->said[i].gpu >= 0) == pass)
                e = apply_one(c, &c->said[i], why, n);
    for (uint32_t i = 0; !e && i < c->said_count; i++)
        if (c->said[i].gpu >= c->gpus) {
            snprintf(why, n, "%s: there is no GPU %d among %lld.", c->said[i].where, c->said[i].gpu,
                     (long long)c->gpus);
            e = -EINVAL;
        }
    return e;
}
