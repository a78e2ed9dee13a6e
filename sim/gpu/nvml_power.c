/* SPDX-License-Identifier: Apache-2.0 */
/* Energy, power, limits, fields, samples. */
#include "nvml_sim.h"

#include <errno.h>
#include <pthread.h>

static nvmlReturn_t status(int e)
{
    return !e ? NVML_SUCCESS : e == -ENOMEM ? NVML_ERROR_MEMORY : NVML_ERROR_UNKNOWN;
}

/* The refresh that a reader sees now, or saw when a freeze began. */
static int64_t refresh(const struct sim_call *c, uint32_t what, int64_t period_ns)
{
    const struct simgpu_fault *f = sim_fault_find(c, SIMGPU_FAULT_FROZEN, what);
    return simgpu_tick(c->s, c->gpu, period_ns, f ? c->s->h->start_ns + f->from_ns : c->now);
}

nvmlReturn_t sim_counter(const struct sim_call *c, unsigned long long *mj)
{
    const struct simgpu_header *h = c->s->h;
    if (!c->g->counter)
        return NVML_ERROR_NOT_SUPPORTED;
    int64_t tick = refresh(c, SIMGPU_W_ENERGY, c->g->counter_period_ns), from = h->start_ns,
            base = c->g->counter_base_mj;
    bool frozen = sim_fault_find(c, SIMGPU_FAULT_FROZEN, SIMGPU_W_ENERGY) != NULL;
    for (uint32_t i = 0; i < h->fault_count; i++) {
        const struct simgpu_fault *f = &h->fault[i];
        int64_t at = h->start_ns + f->from_ns;
        if (f->kind == SIMGPU_FAULT_RESET && (f->gpu < 0 || f->gpu == c->gpu) && at >= from &&
            at <= (frozen ? tick : c->now)) {
            from = at;
            base = 0;
        }
    }
    for (uint32_t i = 0; i < h->fault_count; i++) {
        const struct simgpu_fault *f = &h->fault[i];
        int64_t at = h->start_ns + f->from_ns;
        if (f->kind == SIMGPU_FAULT_JUMP && (f->gpu < 0 || f->gpu == c->gpu) && at >= from && at <= tick)
            base += f->value;
    }
    uint64_t v = 0;
    int e = simgpu_counter_at(c->s, c->gpu, tick, from, base, &v);
    if (!e)
        *mj = v;
    return status(e);
}

nvmlReturn_t sim_gauge(const struct sim_call *c, enum simgpu_gauge_id id, enum simgpu_scope scope,
                       unsigned *mw)
{
    static const uint32_t whats[] = {SIMGPU_W_USAGE, SIMGPU_W_AVERAGE, SIMGPU_W_INSTANT};
    const struct simgpu_gauge *x = &c->g->gauge[id];
    if (!(x->scopes & scope))
        return NVML_ERROR_NOT_SUPPORTED;
    const struct simgpu_fault *f = sim_fault_find(c, SIMGPU_FAULT_VALUE, whats[id]);
    uint32_t v = 0;
    int e = f ? 0 : simgpu_gauge_at(c->s, c->gpu, id, scope, refresh(c, whats[id], x->period_ns), &v);
    if (!e)
        *mw = f ? (unsigned)f->value : v;
    return status(e);
}

static bool has_limit(const struct sim_call *c)
{
    return c->g->limit_max_uw > 0;
}

static int64_t limit_mw(const struct sim_call *c)
{
    struct simgpu_settings set;
    simgpu_settings_at(c->s, c->gpu, c->now, &set);
    return set.limit_uw / 1000;
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t dev, unsigned long long *mj);
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t dev, unsigned *mw);
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t dev, unsigned *mw);
nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t dev, unsigned *mw);
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t dev, unsigned *mw);
nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t dev, unsigned *min, unsigned *max);
nvmlReturn_t nvmlDeviceGetPowerManagementMode(nvmlDevice_t dev, int *mode);
nvmlReturn_t nvmlDeviceSetPowerManagementLimit(nvmlDevice_t dev, unsigned mw);
nvmlReturn_t nvmlDeviceSetPowerManagementLimit_v2(nvmlDevice_t dev, nvmlPowerValue_v2_t *value);
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t dev, int count, nvmlFieldValue_t *values);
nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t dev, int type, unsigned long long last_seen, int *value_type,
                                  unsigned *count, nvmlSample_t *samples);
nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t dev, int policy, nvmlViolationTime_t *out);

NVML_NEW nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t dev, unsigned long long *mj)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter(&c, dev, SIMGPU_W_ENERGY, SIM_WHOLE);
    if (r || !mj)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    return sim_counter(&c, mj);
}

NVML_API nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t dev, unsigned *mw)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter(&c, dev, SIMGPU_W_USAGE, SIM_WHOLE);
    if (r || !mw)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    bool module = c.g->gauge[SIMGPU_USAGE].scopes & SIMGPU_SCOPE_MODULE;
    return sim_gauge(&c, SIMGPU_USAGE, module ? SIMGPU_SCOPE_MODULE : SIMGPU_SCOPE_GPU, mw);
}

static nvmlReturn_t get_limit(nvmlDevice_t dev, unsigned *mw, bool deflt)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter(&c, dev, SIMGPU_W_LIMIT, SIM_WHOLE);
    if (r || !mw)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    if (!has_limit(&c))
        return NVML_ERROR_NOT_SUPPORTED;
    *mw = (unsigned)(deflt ? c.g->limit_default_uw / 1000 : limit_mw(&c));
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t dev, unsigned *mw)
{
    return get_limit(dev, mw, false);
}

NVML_API nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t dev, unsigned *mw)
{
    return get_limit(dev, mw, false);
}

NVML_API nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t dev, unsigned *mw)
{
    return get_limit(dev, mw, true);
}

NVML_API nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t dev, unsigned *min,
                                                                   unsigned *max)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter(&c, dev, SIMGPU_W_LIMIT, SIM_WHOLE);
    if (r || !min || !max)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    if (!has_limit(&c))
        return NVML_ERROR_NOT_SUPPORTED;
    *min = (unsigned)(c.g->limit_min_uw / 1000);
    *max = (unsigned)(c.g->limit_max_uw / 1000);
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetPowerManagementMode(nvmlDevice_t dev, int *mode)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter(&c, dev, SIMGPU_W_LIMIT, SIM_WHOLE);
    if (r || !mode)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    if (!has_limit(&c))
        return NVML_ERROR_NOT_SUPPORTED;
    *mode = 1;
    return NVML_SUCCESS;
}

static nvmlReturn_t set_limit(nvmlDevice_t dev, unsigned mw)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct sim_call c;
    nvmlReturn_t r = sim_enter(&c, dev, SIMGPU_W_SET, SIM_WHOLE);
    if (r)
        return r;
    if (!has_limit(&c))
        return NVML_ERROR_NOT_SUPPORTED;
    int64_t uw = (int64_t)mw * 1000;
    if (uw < c.g->limit_min_uw || uw > c.g->limit_max_uw)
        return NVML_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    int e = simgpu_set(c.s, c.gpu, SIMGPU_SET_LIMIT, uw, 0);
    pthread_mutex_unlock(&lock);
    return e == -ENOSPC ? NVML_ERROR_MEMORY : status(e);
}

NVML_API nvmlReturn_t nvmlDeviceSetPowerManagementLimit(nvmlDevice_t dev, unsigned mw)
{
    return set_limit(dev, mw);
}

NVML_NEW nvmlReturn_t nvmlDeviceSetPowerManagementLimit_v2(nvmlDevice_t dev, nvmlPowerValue_v2_t *value)
{
    if (!value)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (value->version != (sizeof *value | 2u << 24))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    return value->powerScope == 0 ? set_limit(dev, value->powerValueMw) : NVML_ERROR_NOT_SUPPORTED;
}

/* ---- fields ---- */

static enum simgpu_scope scope_of(unsigned id)
{
    /* The macros: GPU 0, MODULE 1, MEMORY 2. (The header's comment says otherwise for 2.) */
    return id == 0   ? SIMGPU_SCOPE_GPU
           : id == 1 ? SIMGPU_SCOPE_MODULE
           : id == 2 ? SIMGPU_SCOPE_MEMORY
                     : (enum simgpu_scope)0;
}

static uint32_t field_group(unsigned id)
{
    switch (id) {
    case 83:
    case 191: return SIMGPU_W_ENERGY;
    case 185: return SIMGPU_W_AVERAGE;
    case 186: return SIMGPU_W_INSTANT;
    case 187:
    case 188:
    case 189:
    case 190:
    case 192: return SIMGPU_W_LIMIT;
    case 82:
    case 193:
    case 194:
    case 195:
    case 196: return SIMGPU_W_TEMP;
    default: return SIMGPU_W_REASONS;
    }
}

static nvmlReturn_t limit_field(struct sim_call *c, nvmlFieldValue_t *v)
{
    enum simgpu_scope scope = scope_of(v->scopeId);
    bool module = c->g->counter_scope == SIMGPU_SCOPE_MODULE && scope == SIMGPU_SCOPE_MODULE;
    if (!has_limit(c) || (scope != SIMGPU_SCOPE_GPU && !module))
        return NVML_ERROR_NOT_SUPPORTED;
    int64_t uw = v->fieldId == 187   ? c->g->limit_min_uw
                 : v->fieldId == 188 ? c->g->limit_max_uw
                 : v->fieldId == 189 ? c->g->limit_default_uw
                                     : limit_mw(c) * 1000;
    v->valueType = NVML_VALUE_UINT;
    v->value.uiVal = (unsigned)(uw / 1000);
    return NVML_SUCCESS;
}

static nvmlReturn_t field(struct sim_call *c, nvmlFieldValue_t *v)
{
    nvmlReturn_t r = sim_fault(c, field_group(v->fieldId), true);
    if (r)
        return r;
#ifdef SIM_NVML_OLD
    if (v->fieldId > 82)
        return NVML_ERROR_NOT_SUPPORTED;
#endif
    switch (v->fieldId) {
    case 82:
        if (!c->g->memory_ppb)
            return NVML_ERROR_NOT_SUPPORTED;
        v->valueType = NVML_VALUE_UINT;
        v->value.uiVal = sim_temperature(c) + 8;
        return NVML_SUCCESS;
    case 191:
        if (v->scopeId != 0 && !(v->scopeId == 1 && c->g->counter_scope == SIMGPU_SCOPE_MODULE))
            return NVML_ERROR_NOT_SUPPORTED;
        /* fall through */
    case 83: v->valueType = NVML_VALUE_ULONGLONG; return sim_counter(c, &v->value.ullVal);
    case 185:
    case 186:
        v->valueType = NVML_VALUE_UINT;
        return sim_gauge(c, v->fieldId == 185 ? SIMGPU_AVERAGE : SIMGPU_INSTANT, scope_of(v->scopeId),
                         &v->value.uiVal);
    case 187:
    case 188:
    case 189:
    case 190:
    case 192: return limit_field(c, v);
    case 193: /* T.limit: degrees left to shutdown, slowdown, memory, operation */
    case 194:
    case 195:
    case 196:
        if (c->g->architecture < 9)
            return NVML_ERROR_NOT_SUPPORTED;
        v->valueType = NVML_VALUE_SINT;
        v->value.siVal = v->fieldId == 193 ? -8 : v->fieldId == 194 ? -2 : 0;
        return NVML_SUCCESS;
    case 74: /* ns held down by the power limit */
    case 75:
    case 76:
    case 77:
    case 269:
    case 270:
    case 271:
        v->valueType = NVML_VALUE_ULONGLONG;
        v->value.ullVal = v->fieldId == 74 ? (unsigned long long)simgpu_capped_time(c->s, c->gpu, c->now) : 0;
        return NVML_SUCCESS;
    default: return NVML_ERROR_NOT_SUPPORTED;
    }
}

/* NVML: SUCCESS means that the entries were filled; each has its own status. */
NVML_API nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t dev, int count, nvmlFieldValue_t *values)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter(&c, dev, SIMGPU_W_FIELDS, SIM_WHOLE);
    if (r || !values || count < 1)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    int64_t us = simgpu_realtime(c.s, c.now) / 1000;
    for (int i = 0; i < count; i++) {
        values[i].timestamp = us;
        values[i].latencyUsec = c.s->h->call_cost_ns / 1000;
        values[i].valueType = NVML_VALUE_UINT;
        values[i].value.ullVal = 0; /* what a reader that does not look at the status records */
        values[i].nvmlReturn = field(&c, &values[i]);
    }
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t dev, int policy, nvmlViolationTime_t *out)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter(&c, dev, SIMGPU_W_REASONS, SIM_WHOLE);
    if (r || !out || policy < 0 || policy > 11)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    out->referenceTime = (unsigned long long)(simgpu_realtime(c.s, c.now) / 1000);
    out->violationTime = policy == 0 ? (unsigned long long)simgpu_capped_time(c.s, c.gpu, c.now) : 0;
    return NVML_SUCCESS;
}

/* ---- samples ---- */

enum { SAMPLES = 120 };

static nvmlReturn_t sample(struct sim_call *c, int type, int64_t tick, nvmlSample_t *out)
{
    unsigned gpu, mem;
    uint32_t mw = 0;
    out->sampleValue.ullVal = 0;
    switch (type) {
    case 0:
    case 7: {
        enum simgpu_scope scope = type == 0 ? SIMGPU_SCOPE_GPU : SIMGPU_SCOPE_MODULE;
        int e = simgpu_gauge_at(c->s, c->gpu, SIMGPU_INSTANT, scope, tick, &mw);
        out->sampleValue.uiVal = mw;
        return status(e);
    }
    case 1:
    case 2:
        sim_utilization(c, tick, &gpu, &mem);
        out->sampleValue.uiVal = type == 1 ? gpu : mem;
        return NVML_SUCCESS;
    default: out->sampleValue.uiVal = sim_clock(c, type == 5 ? 1 : 2); return NVML_SUCCESS;
    }
}

NVML_API nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t dev, int type, unsigned long long last_seen,
                                           int *value_type, unsigned *count, nvmlSample_t *samples)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter(&c, dev, SIMGPU_W_SAMPLES, SIM_WHOLE);
    if (r)
        return r;
    if (!value_type || !count || type < 0 || type > 9)
        return NVML_ERROR_INVALID_ARGUMENT;
    const struct simgpu_gauge *x = &c.g->gauge[SIMGPU_INSTANT];
    bool power = type == 0 || type == 7, util = type == 1 || type == 2, clocks = type == 5 || type == 6;
    if ((power && !(x->scopes & (type == 0 ? SIMGPU_SCOPE_GPU : SIMGPU_SCOPE_MODULE))) ||
        (util && c.g->mig_mode) || (!power && !util && !clocks))
        return NVML_ERROR_NOT_SUPPORTED;
    *value_type = NVML_VALUE_UINT;
    if (!samples) {
        *count = SAMPLES;
        return NVML_SUCCESS;
    }
    if (*count == 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    /* The buffer holds the last refreshes of the gauge; the oldest that is newer than last_seen comes first.
     */
    int64_t period = x->period_ns > 0 ? x->period_ns : 20000000, tick[SAMPLES];
    int n = 0;
    int64_t t = refresh(&c, power ? SIMGPU_W_INSTANT : SIMGPU_W_UTIL, period);
    while (n < SAMPLES && t >= c.s->h->start_ns && simgpu_realtime(c.s, t) / 1000 > (int64_t)last_seen) {
        tick[n++] = t;
        t = simgpu_tick(c.s, c.gpu, period, t + c.g->latency_ns - 1);
    }
    if (n == 0)
        return NVML_ERROR_NOT_FOUND;
    unsigned k = 0;
    for (; k < *count && n > 0; k++) {
        int64_t at = tick[--n];
        samples[k].timeStamp = (unsigned long long)(simgpu_realtime(c.s, at) / 1000);
        r = sample(&c, type, at, &samples[k]);
        if (r)
            return r;
    }
    *count = k;
    return NVML_SUCCESS;
}
