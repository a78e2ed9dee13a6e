/* SPDX-License-Identifier: Apache-2.0 */
/* What each selected GPU can tell: asked once, channel by channel. */
#include "meter/nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/sysfs.h"
#include "base/banned.h"

#define SANE_W 20000.0 /* no device of this kind draws more */

/* Energy and power of one GPU. Scopes: -1 none. */
struct caps {
    int average, instant;                                /* power scope in which the field answers */
    bool average_module, instant_module, average_memory; /* answers there too, beside the GPU scope */
    bool energy_field, energy_call, usage;
    bool module_only; /* what has no scope of its own (energy, usage) is of the whole module */
    int ret;          /* of the last query that failed */
};

int jm_nvml_field_get(const struct jm_nvml_api *a, jm_nvml_dev dev, uint32_t id, uint32_t scope, int64_t *out)
{
    struct jm_nvml_field f = {.id = id, .scope = scope};
    if (!a->fields)
        return JM_NVML_FUNCTION_NOT_FOUND;
    int ret = a->fields(dev, 1, &f);
    if (ret == JM_NVML_OK)
        ret = f.ret;
    if (ret == JM_NVML_OK && !jm_nvml_field_value(&f, out))
        ret = JM_NVML_NOT_SUPPORTED;
    return ret;
}

static bool ask(const struct jm_nvml_session *s, const struct jm_nvml_gpu *g, uint32_t id, uint32_t scope,
                int *why)
{
    int64_t v = 0;
    int ret = jm_nvml_field_get(&s->api, g->dev, id, scope, &v);
    if (ret != JM_NVML_OK && why)
        *why = ret;
    return ret == JM_NVML_OK && v > 0;
}

/* GPU first, then module: GH200 answers only the second, GB10 only the first. */
static int scope_of(const struct jm_nvml_session *s, const struct jm_nvml_gpu *g, uint32_t id, int *why)
{
    return ask(s, g, id, JM_NVML_SCOPE_GPU, why)      ? JM_NVML_SCOPE_GPU
           : ask(s, g, id, JM_NVML_SCOPE_MODULE, why) ? JM_NVML_SCOPE_MODULE
                                                      : -1;
}

/* The field must lie between two calls of the function; then both are the same counter, and the field saves a
 * call. */
static void look_energy(const struct jm_nvml_session *s, const struct jm_nvml_gpu *g, struct caps *c)
{
    const struct jm_nvml_api *a = &s->api;
    unsigned long long e0 = 0, e1 = 0;
    int64_t f = 0;
    int r0 = a->energy ? a->energy(g->dev, &e0) : JM_NVML_FUNCTION_NOT_FOUND;
    int rf = jm_nvml_field_get(a, g->dev, JM_NVML_FI_ENERGY, JM_NVML_SCOPE_GPU, &f);
    int r1 = a->energy ? a->energy(g->dev, &e1) : JM_NVML_FUNCTION_NOT_FOUND;
    c->energy_call = r0 == JM_NVML_OK && r1 == JM_NVML_OK;
    c->energy_field = rf == JM_NVML_OK && f >= 0 &&
                      (!c->energy_call || ((unsigned long long)f >= e0 && (unsigned long long)f <= e1));
    if (!c->energy_call && !c->energy_field)
        c->ret = r0 != JM_NVML_OK ? r0 : rf;
}

static struct caps look(const struct jm_nvml_session *s, const struct jm_nvml_gpu *g)
{
    struct caps c = {.ret = JM_NVML_OK};
    unsigned mw = 0;
    look_energy(s, g, &c);
    c.average = scope_of(s, g, JM_NVML_FI_POWER_AVERAGE, &c.ret);
    c.instant = scope_of(s, g, JM_NVML_FI_POWER_INSTANT, &c.ret);
    c.average_module =
        c.average == JM_NVML_SCOPE_GPU && ask(s, g, JM_NVML_FI_POWER_AVERAGE, JM_NVML_SCOPE_MODULE, NULL);
    c.instant_module =
        c.instant == JM_NVML_SCOPE_GPU && ask(s, g, JM_NVML_FI_POWER_INSTANT, JM_NVML_SCOPE_MODULE, NULL);
    c.average_memory = ask(s, g, JM_NVML_FI_POWER_AVERAGE, JM_NVML_SCOPE_MEMORY, NULL);
    int ret = s->api.power ? s->api.power(g->dev, &mw) : JM_NVML_FUNCTION_NOT_FOUND;
    c.usage = ret == JM_NVML_OK && mw > 0;
    if (ret != JM_NVML_OK)
        c.ret = ret;
    c.module_only = c.average == JM_NVML_SCOPE_MODULE || c.instant == JM_NVML_SCOPE_MODULE ||
                    (c.average < 0 && c.instant < 0 && strstr(g->name, "GH200"));
    return c;
}

static bool any(const struct caps *c)
{
    return c->energy_field || c->energy_call || c->usage || c->average >= 0 || c->instant >= 0;
}

size_t jm_nvml_readable(struct jm_nvml_session *s, int *why)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->gpu[i].selected)
            continue;
        struct caps c = look(s, &s->gpu[i]);
        if (any(&c))
            n++;
        else
            *why = c.ret;
    }
    return n;
}

struct builder {
    struct jm_meter *m;
    struct jm_nvml_session *s;
    struct jm_nvml_gpu *g;
    int gpu; /* index of g */
    int domain_module, domain_hbm;
    double sane_w;
    struct jm_err *err;
};

static struct jm_channel *add(struct builder *b, const struct jm_nvml_src *src, enum jm_channel_kind kind,
                              enum jm_unit unit, int scale10, const char *name, const char *source)
{
    struct jm_channel *c = jm_meter_add_channel(b->m, b->err);
    if (!c)
        return NULL;
    struct jm_nvml_src *v = realloc(b->s->src, b->m->n_chan * sizeof *v);
    if (!v) {
        jm_err_set(b->err, JM_ENOMEM, "out of memory for the channels of the meter nvml");
        return NULL;
    }
    b->s->src = v;
    v[b->m->n_chan - 1] = *src;
    v[b->m->n_chan - 1].gpu = (uint16_t)b->gpu;
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->device, sizeof c->device, "%s", b->g->uuid);
    snprintf(c->source, sizeof c->source, "%s", source);
    c->kind = kind;
    c->unit = unit;
    c->scale10 = scale10;
    c->domain = b->g->domain;
    c->provenance = b->s->api.lib.simulated ? JM_P_SIMULATED : JM_P_MEASURED;
    return c;
}

static struct jm_channel *add_field(struct builder *b, uint32_t id, uint32_t scope, enum jm_channel_kind kind,
                                    enum jm_unit unit, const char *name, const char *source)
{
    struct jm_nvml_gpu *g = b->g;
    struct jm_nvml_src src = {.how = JM_NVML_FIELD, .entry = (uint8_t)g->n_field};
    g->field[g->n_field++] = (struct jm_nvml_field){.id = id, .scope = scope};
    g->n_counter += kind == JM_CH_COUNTER;
    return add(b, &src, kind, unit, -3, name, source);
}

static void scope_text(struct jm_channel *c, struct builder *b, int scope)
{
    static const char *const names[] = {"gpu", "module", "memory"};
    snprintf(c->scope, sizeof c->scope, "%s", names[scope]);
    c->domain = scope == JM_NVML_SCOPE_MODULE   ? b->domain_module
                : scope == JM_NVML_SCOPE_MEMORY ? b->domain_hbm
                                                : b->g->domain;
    c->sane_max = scope == JM_NVML_SCOPE_MODULE ? SANE_W : b->sane_w;
    c->flags = JM_CHF_EDGE;
}

static int add_energy(struct builder *b, const struct caps *c)
{
    struct jm_channel *ch;
    if (c->energy_field)
        ch = add_field(b, JM_NVML_FI_ENERGY, JM_NVML_SCOPE_GPU, JM_CH_COUNTER, JM_U_J, "energy",
                       "NVML field 83");
    else if (c->energy_call)
        ch = add(b, &(struct jm_nvml_src){.how = JM_NVML_ENERGY}, JM_CH_COUNTER, JM_U_J, -3, "energy",
                 "NVML GetTotalEnergyConsumption");
    else
        return 0;
    if (!ch)
        return JM_ENOMEM;
    scope_text(ch, b, c->module_only ? JM_NVML_SCOPE_MODULE : JM_NVML_SCOPE_GPU);
    ch->period_ns = 100 * JM_NS_PER_MS;
    return 0;
}

static void meaning(struct jm_channel *ch, const struct builder *b, enum jm_nvml_query q)
{
    struct jm_nvml_meaning m = jm_nvml_meaning(q, b->g->arch, b->g->device_id, b->s->driver_major);
    ch->sem = m.sem;
    ch->window_ns = m.window_ns;
    ch->period_ns = m.period_ns;
    if (strcmp(m.basis, "assumed") == 0) {
        size_t n = strlen(ch->source);
        snprintf(ch->source + n, sizeof ch->source - n, " (window assumed)");
    }
}

static int add_power_field(struct builder *b, enum jm_nvml_query q, int scope, const char *name)
{
    uint32_t id = q == JM_NVML_Q_AVERAGE ? JM_NVML_FI_POWER_AVERAGE : JM_NVML_FI_POWER_INSTANT;
    char source[64];
    snprintf(source, sizeof source, "NVML field %u", (unsigned)id);
    struct jm_channel *ch = add_field(b, id, (uint32_t)scope, JM_CH_GAUGE, JM_U_W, name, source);
    if (!ch)
        return JM_ENOMEM;
    scope_text(ch, b, scope);
    meaning(ch, b, q);
    return 0;
}

/* GetPowerUsage is what nvidia-smi prints; a channel of its own where no field means the same. */
static int add_usage(struct builder *b, const struct caps *c)
{
    struct jm_nvml_meaning u =
        jm_nvml_meaning(JM_NVML_Q_USAGE, b->g->arch, b->g->device_id, b->s->driver_major);
    struct jm_nvml_meaning i =
        jm_nvml_meaning(JM_NVML_Q_INSTANT, b->g->arch, b->g->device_id, b->s->driver_major);
    bool as_average = c->average >= 0 && u.sem == JM_G_TRAILING_MEAN && u.window_ns == JM_NS_PER_S;
    bool as_instant = c->instant >= 0 && u.sem == i.sem && u.window_ns == i.window_ns;
    if (!c->usage || as_average || as_instant)
        return 0;
    struct jm_channel *ch = add(b, &(struct jm_nvml_src){.how = JM_NVML_POWER}, JM_CH_GAUGE, JM_U_W, -3,
                                "power.usage", "NVML GetPowerUsage");
    if (!ch)
        return JM_ENOMEM;
    scope_text(ch, b, c->module_only ? JM_NVML_SCOPE_MODULE : JM_NVML_SCOPE_GPU);
    meaning(ch, b, JM_NVML_Q_USAGE);
    return 0;
}

static const struct {
    enum jm_nvml_how how;
    enum jm_channel_kind kind;
    enum jm_unit unit;
    int scale10;
    int64_t every_ms; /* how often it is read at most; 0: each time */
    const char *name, *source;
    bool no_mig;
} rest[] = {
    {JM_NVML_CLOCK_SM, JM_CH_GAUGE, JM_U_HZ, 6, 0, "clock.sm", "NVML GetClockInfo SM", false},
    {JM_NVML_REASONS, JM_CH_STATE, JM_U_NONE, 0, 0, "clock.event_reasons",
     "NVML GetCurrentClocksEventReasons", false},
    {JM_NVML_UTIL_GPU, JM_CH_GAUGE, JM_U_RATIO, -2, 200, "util.gpu", "NVML GetUtilizationRates", true},
    {JM_NVML_UTIL_MEM, JM_CH_GAUGE, JM_U_RATIO, -2, 200, "util.mem", "NVML GetUtilizationRates", true},
    {JM_NVML_CLOCK_MEM, JM_CH_GAUGE, JM_U_HZ, 6, 1000, "clock.mem", "NVML GetClockInfo MEM", false},
    {JM_NVML_TEMP, JM_CH_GAUGE, JM_U_CELSIUS, 0, 1000, "temp", "NVML GetTemperature", false},
    {JM_NVML_PSTATE, JM_CH_STATE, JM_U_NONE, 0, 1000, "pstate", "NVML GetPerformanceState", false},
    {JM_NVML_LIMIT_ENFORCED, JM_CH_GAUGE, JM_U_W, -3, 1000, "power.limit", "NVML GetEnforcedPowerLimit",
     false},
    {JM_NVML_LIMIT_REQUESTED, JM_CH_GAUGE, JM_U_W, -3, 5000, "power.limit.requested",
     "NVML GetPowerManagementLimit", false},
    {JM_NVML_PERSISTENCE, JM_CH_STATE, JM_U_NONE, 0, 10000, "persistence", "NVML GetPersistenceMode", false},
    {JM_NVML_MIG_MODE, JM_CH_STATE, JM_U_NONE, 0, 10000, "mig", "NVML GetMigMode", false},
};

static int add_rest(struct builder *b)
{
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        struct jm_nvml_src src = {
            .how = rest[i].how, .gpu = (uint16_t)b->gpu, .every_ns = rest[i].every_ms * JM_NS_PER_MS};
        int64_t v;
        int ret = rest[i].no_mig && b->g->mig == 1 ? JM_NVML_NOT_SUPPORTED : jm_nvml_call(b->s, &src, &v);
        enum jm_status st = jm_nvml_status(ret);
        if (st == JM_S_UNSUPPORTED || st == JM_S_DENIED || st == JM_S_ABSENT)
            continue;
        if (!add(b, &src, rest[i].kind, rest[i].unit, rest[i].scale10, rest[i].name, rest[i].source))
            return JM_ENOMEM;
    }
    return 0;
}

static int facts(struct builder *b)
{
    const struct jm_nvml_api *a = &b->s->api;
    const struct jm_nvml_gpu *g = b->g;
    char key[64];
    unsigned u, lo, hi;
    int v, rc = 0;
#define FACT(what, ...)                                                                                      \
    if (rc == 0) {                                                                                           \
        snprintf(key, sizeof key, "gpu.%d.%s", g->ordinal, what);                                            \
        rc = jm_meter_add_fact(b->m, b->err, key, __VA_ARGS__);                                              \
    }
    FACT("name", "%s", g->name)
    FACT("uuid", "%s", g->uuid)
    FACT("pci", "%s", g->bus_id)
    if (a->limit_default && a->limit_default(g->dev, &u) == JM_NVML_OK)
        FACT("limit.default", "%.0f W", u / 1000.0)
    if (a->limit_range && a->limit_range(g->dev, &lo, &hi) == JM_NVML_OK)
        FACT("limit.range", "%.0f to %.0f W", lo / 1000.0, hi / 1000.0)
    if (a->clock_max && a->clock_max(g->dev, 1, &u) == JM_NVML_OK)
        FACT("clock.sm.max", "%u MHz", u)
    if (a->persistence && a->persistence(g->dev, &v) == JM_NVML_OK)
        FACT("persistence", "%s", v ? "on" : "off")
    if (a->mig_mode && a->mig_mode(g->dev, &u, &hi) == JM_NVML_OK)
        FACT("mig", "%s", u ? "on" : "off")
    if (a->virtualization && a->virtualization(g->dev, &v) == JM_NVML_OK && v != 0)
        FACT("virtualization", "%s", v == 1 ? "passthrough" : v == 2 ? "vgpu guest" : "vgpu host")
#undef FACT
    return rc;
}

static int module_key(const struct jm_meter_env *env, const struct jm_nvml_gpu *g)
{
    char path[JM_SYSFS_PATH];
    int rank = -1;
    if (jm_sysfs_path(path, env->sysfs_root, "/sys", "bus/pci/devices/%s/local_cpulist", g->bus_id))
        rank = jm_sysfs_package_rank(env->sysfs_root, jm_sysfs_list_first(path));
    return rank >= 0 ? rank : g->ordinal;
}

static int domains(struct builder *b, const struct caps *c, int node, const struct jm_meter_env *env,
                   struct jm_domain_tree *tree)
{
    char key[96], label[128];
    int up = node;
    if (c->module_only || c->average_module || c->instant_module) {
        int k = module_key(env, b->g);
        snprintf(key, sizeof key, "module-%d", k);
        snprintf(label, sizeof label, "module %d", k);
        up = b->domain_module = jm_domain_add(tree, node, JM_D_MODULE, key, label, b->err);
        if (up < 0)
            return up;
    }
    snprintf(label, sizeof label, "GPU %d", b->g->ordinal);
    b->g->domain = jm_domain_add(tree, up, JM_D_GPU, b->g->uuid, label, b->err);
    if (b->g->domain >= 0 && c->average_memory) {
        snprintf(label, sizeof label, "memory of GPU %d", b->g->ordinal);
        b->domain_hbm = jm_domain_add(tree, b->g->domain, JM_D_HBM, b->g->uuid, label, b->err);
        return b->domain_hbm < 0 ? b->domain_hbm : 0;
    }
    return b->g->domain < 0 ? b->g->domain : 0;
}

static int one(struct builder *b, int node, const struct jm_meter_env *env, struct jm_domain_tree *tree)
{
    struct caps c = look(b->s, b->g);
    unsigned lo = 0, hi = 0;
    b->domain_module = b->domain_hbm = -1;
    b->sane_w = SANE_W;
    if (b->s->api.limit_range && b->s->api.limit_range(b->g->dev, &lo, &hi) == JM_NVML_OK && hi > 0 &&
        2.0 * hi / 1000 < SANE_W)
        b->sane_w = 2.0 * hi / 1000;
    struct jm_nvml_temp tv = {.version = JM_NVML_TEMP_V1};
    b->g->temp_v = b->s->api.temperature_v && b->s->api.temperature_v(b->g->dev, &tv) == JM_NVML_OK;
    int rc = domains(b, &c, node, env, tree);
    if (rc == 0)
        rc = add_energy(b, &c);
    if (rc == 0 && c.average >= 0)
        rc = add_power_field(b, JM_NVML_Q_AVERAGE, c.average, "power.average");
    if (rc == 0 && c.instant >= 0)
        rc = add_power_field(b, JM_NVML_Q_INSTANT, c.instant, "power.instant");
    if (rc == 0 && c.average_module)
        rc = add_power_field(b, JM_NVML_Q_AVERAGE, JM_NVML_SCOPE_MODULE, "power.module.average");
    if (rc == 0 && c.instant_module)
        rc = add_power_field(b, JM_NVML_Q_INSTANT, JM_NVML_SCOPE_MODULE, "power.module.instant");
    if (rc == 0 && c.average_memory)
        rc = add_power_field(b, JM_NVML_Q_AVERAGE, JM_NVML_SCOPE_MEMORY, "power.memory.average");
    b->g->n_edge = b->g->n_field;
    if (rc == 0)
        rc = add_usage(b, &c);
    if (rc == 0)
        rc = add_rest(b);
    return rc ? rc : facts(b);
}

/* A device that has failed is one of those that a total is over: its energy is a channel without values. One
 * that may not be opened belongs to somebody else (a container's or a job's devices). */
static int dead(struct builder *b, int node, struct jm_domain_tree *tree, bool chosen)
{
    char key[64];
    snprintf(key, sizeof key, "nvml.left_out.%u", b->g->index);
    int rc = jm_meter_add_fact(b->m, b->err, key, "%s (%d)", jm_nvml_error(b->g->ret), b->g->ret);
    if (rc || chosen || b->g->ret == JM_NVML_NO_PERMISSION)
        return rc;
    snprintf(b->g->uuid, sizeof b->g->uuid, "nvml-index-%u", b->g->index);
    snprintf(key, sizeof key, "GPU at NVML index %u", b->g->index);
    b->g->domain = jm_domain_add(tree, node, JM_D_GPU, b->g->uuid, key, b->err);
    if (b->g->domain < 0)
        return b->g->domain;
    struct jm_nvml_src src = {.how = JM_NVML_DEAD, .status = (uint8_t)jm_nvml_status(b->g->ret)};
    struct jm_channel *c = add(b, &src, JM_CH_COUNTER, JM_U_J, -3, "energy", "NVML GetHandleByIndex failed");
    if (!c)
        return JM_ENOMEM;
    c->flags = JM_CHF_EDGE;
    return 0;
}

int jm_nvml_channels(struct jm_meter *m, struct jm_nvml_session *s, const struct jm_meter_env *env,
                     struct jm_domain_tree *tree, struct jm_err *err)
{
    struct builder b = {.m = m, .s = s, .err = err};
    int node = jm_meter_host(env, tree, err);
    int rc = node < 0 ? node : 0;
    for (size_t i = 0; i < s->n && rc == 0; i++) {
        struct jm_nvml_gpu *g = &s->gpu[i];
        b.g = g;
        b.gpu = (int)i;
        g->first = m->n_chan;
        if (g->selected)
            rc = one(&b, node, env, tree);
        else if (g->ret != JM_NVML_OK)
            rc = dead(&b, node, tree, env->devices != NULL);
        g->count = m->n_chan - g->first;
    }
    if (rc == 0)
        rc = jm_meter_add_fact(m, err, "nvml.driver", "%s", s->driver[0] ? s->driver : "unknown");
    if (rc == 0 && s->version[0])
        rc = jm_meter_add_fact(m, err, "nvml.version", "%s", s->version);
    if (rc == 0 && s->cuda > 0)
        rc = jm_meter_add_fact(m, err, "nvml.cuda", "%d.%d", s->cuda / 1000, s->cuda % 1000 / 10);
    if (rc == 0 && s->note[0])
        rc = jm_meter_add_fact(m, err, "nvml.selection", "%s", s->note);
    return rc;
}
