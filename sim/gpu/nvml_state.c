/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, temperature, utilisation, memory, states and modes. */
#include "nvml_sim.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>

#define BEGIN(group, handles)                                                                                \
    struct sim_call c;                                                                                       \
    nvmlReturn_t r = sim_enter(&c, dev, group, handles);                                                     \
    if (r)                                                                                                   \
    return r

#define NEED(x)                                                                                              \
    if (!(x))                                                                                                \
    return NVML_ERROR_INVALID_ARGUMENT

static int64_t mean_uw(const struct sim_call *c, int64_t t_ns, int64_t window_ns)
{
    int64_t uw;
    if (simgpu_mean_uw(c->s, c->gpu, SIMGPU_SCOPE_GPU, t_ns - window_ns, t_ns, &uw) &&
        simgpu_power(c->s, c->gpu, t_ns, &uw))
        return c->g->idle_uw;
    return uw;
}

/* How far the power stands between idle and the highest limit, 0 to 1. */
static double load(const struct sim_call *c, int64_t uw)
{
    double top = (double)(c->g->limit_max_uw > 0 ? c->g->limit_max_uw : 100000000),
           idle = (double)c->g->idle_uw;
    double x = top > idle ? ((double)uw - idle) / (top - idle) : 1;
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

bool sim_is_idle(const struct sim_call *c)
{
    int gpu = atomic_load(&c->g->util_gpu);
    return gpu >= 0 ? gpu == 0 : mean_uw(c, c->now, 100000000) <= c->g->idle_uw + c->g->idle_uw / 10;
}

unsigned sim_temperature(const struct sim_call *c)
{
    int t = atomic_load(&c->g->temp_c);
    /* A heat sink forgets within some ten seconds: 32 C at idle, 70 C at the limit. */
    return t >= 0 ? (unsigned)t
                  : (unsigned)lround(32 + 38 * load(c, mean_uw(c, c->now, (int64_t)10 * 1000000000)));
}

void sim_utilization(const struct sim_call *c, int64_t t_ns, unsigned *gpu, unsigned *mem)
{
    int g = atomic_load(&c->g->util_gpu), m = atomic_load(&c->g->util_mem);
    double x = load(c, mean_uw(c, t_ns, 500000000));
    /* "Busy" rises long before the power does: half the span of power is full utilisation. */
    *gpu = g >= 0 ? (unsigned)g : (unsigned)lround(100 * fmin(1, 2 * x));
    *mem = m >= 0 ? (unsigned)m : (unsigned)lround(70 * x);
}

static bool capped(const struct sim_call *c)
{
    struct simgpu_settings set;
    int64_t uw;
    simgpu_settings_at(c->s, c->gpu, c->now, &set);
    return set.limit_set && simgpu_power(c->s, c->gpu, c->now, &uw) == 0 && uw >= set.limit_uw;
}

static unsigned within(int64_t mhz, int64_t lo, int64_t hi)
{
    if (hi > 0 && mhz > hi)
        mhz = hi;
    return (unsigned)(mhz < lo ? lo : mhz);
}

unsigned sim_clock(const struct sim_call *c, int type)
{
    struct simgpu_settings set;
    simgpu_settings_at(c->s, c->gpu, c->now, &set);
    int sm = atomic_load(&c->g->sm_mhz), mem = atomic_load(&c->g->mem_mhz);
    if (type == 2)
        return mem >= 0 ? (unsigned)mem : within(c->g->max_mem_mhz, set.mem_min_mhz, set.mem_max_mhz);
    if (sm >= 0)
        return (unsigned)sm;
    int64_t mhz = sim_is_idle(c) ? c->g->idle_sm_mhz : c->g->max_sm_mhz;
    if (capped(c) && c->g->limit_max_uw > 0) /* power goes with about the cube of the clock */
        mhz = (int64_t)((double)mhz * cbrt((double)set.limit_uw / (double)c->g->limit_max_uw));
    mhz = within(mhz, set.gpu_min_mhz, set.gpu_max_mhz);
    return (unsigned)(type == 3 ? mhz * 4 / 5 : mhz);
}

unsigned long long sim_reasons(const struct sim_call *c)
{
    unsigned long long bits = 0;
    const struct simgpu_fault *f = sim_fault_find(c, SIMGPU_FAULT_REASONS, SIMGPU_W_REASONS);
    if (sim_is_idle(c))
        bits |= 1;
    if (capped(c))
        bits |= 4;
    if (f)
        bits |= (unsigned long long)f->value;
    return bits;
}

/* ---- clocks ---- */

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t dev, int type, unsigned *mhz);
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t dev, int type, unsigned *mhz);
nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t dev, int type, int id, unsigned *mhz);
nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t dev, int type, unsigned *mhz);
nvmlReturn_t nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t dev, int type, unsigned *mhz);
nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t dev, unsigned *count, unsigned *mhz);
nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t dev, unsigned mem, unsigned *count,
                                                  unsigned *mhz);
nvmlReturn_t nvmlDeviceSetGpuLockedClocks(nvmlDevice_t dev, unsigned min, unsigned max);
nvmlReturn_t nvmlDeviceResetGpuLockedClocks(nvmlDevice_t dev);
nvmlReturn_t nvmlDeviceSetMemoryLockedClocks(nvmlDevice_t dev, unsigned min, unsigned max);
nvmlReturn_t nvmlDeviceResetMemoryLockedClocks(nvmlDevice_t dev);

static unsigned max_clock(const struct sim_call *c, int type)
{
    return type == 2 ? c->g->max_mem_mhz : type == 3 ? c->g->max_sm_mhz * 4 / 5 : c->g->max_sm_mhz;
}

NVML_API nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t dev, int type, unsigned *mhz)
{
    BEGIN(SIMGPU_W_CLOCKS, SIM_WHOLE);
    NEED(mhz && type >= 0 && type <= 3);
    if (max_clock(&c, type) == 0)
        return NVML_ERROR_NOT_SUPPORTED;
    *mhz = sim_clock(&c, type);
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t dev, int type, unsigned *mhz)
{
    BEGIN(SIMGPU_W_CLOCKS, SIM_WHOLE);
    NEED(mhz && type >= 0 && type <= 3);
    *mhz = max_clock(&c, type);
    return *mhz ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

NVML_NEW nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t dev, int type, int id, unsigned *mhz)
{
    if (id == 0)
        return nvmlDeviceGetClockInfo(dev, type, mhz);
    return id >= 1 && id <= 3 ? nvmlDeviceGetMaxClockInfo(dev, type, mhz) : NVML_ERROR_INVALID_ARGUMENT;
}

NVML_API nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t dev, int type, unsigned *mhz)
{
    return nvmlDeviceGetMaxClockInfo(dev, type, mhz);
}

NVML_API nvmlReturn_t nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t dev, int type, unsigned *mhz)
{
    return nvmlDeviceGetMaxClockInfo(dev, type, mhz);
}

NVML_API nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t dev, unsigned *count, unsigned *mhz)
{
    BEGIN(SIMGPU_W_CLOCKS, SIM_WHOLE);
    NEED(count);
    if (!c.g->max_mem_mhz)
        return NVML_ERROR_NOT_SUPPORTED;
    unsigned room = *count;
    *count = 1;
    if (room < 1 || !mhz)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    mhz[0] = c.g->max_mem_mhz;
    return NVML_SUCCESS;
}

/* In steps of 15 MHz from the highest down, as on data-centre parts. */
NVML_API nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t dev, unsigned mem, unsigned *count,
                                                           unsigned *mhz)
{
    BEGIN(SIMGPU_W_CLOCKS, SIM_WHOLE);
    NEED(count);
    if (mem != c.g->max_mem_mhz)
        return NVML_ERROR_NOT_FOUND;
    unsigned room = *count, n = (c.g->max_sm_mhz - c.g->idle_sm_mhz) / 15 + 1;
    *count = n;
    if (room < n || !mhz)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < n; i++)
        mhz[i] = c.g->max_sm_mhz - 15 * i;
    return NVML_SUCCESS;
}

static nvmlReturn_t set(nvmlDevice_t dev, enum simgpu_set_kind kind, unsigned architecture, unsigned a,
                        unsigned b)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    BEGIN(SIMGPU_W_SET, SIM_WHOLE);
    if (c.g->architecture < architecture)
        return NVML_ERROR_NOT_SUPPORTED;
    if (a > b && kind != SIMGPU_SET_PERSISTENCE)
        return NVML_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    int e = simgpu_set(c.s, c.gpu, kind, a, b);
    pthread_mutex_unlock(&lock);
    return e == 0 ? NVML_SUCCESS : e == -ENOSPC ? NVML_ERROR_MEMORY : NVML_ERROR_UNKNOWN;
}

NVML_NEW nvmlReturn_t nvmlDeviceSetGpuLockedClocks(nvmlDevice_t dev, unsigned min, unsigned max)
{
    NEED(max > 0);
    return set(dev, SIMGPU_SET_GPU_CLOCKS, 5, min, max);
}

NVML_NEW nvmlReturn_t nvmlDeviceResetGpuLockedClocks(nvmlDevice_t dev)
{
    return set(dev, SIMGPU_SET_GPU_CLOCKS, 5, 0, 0);
}

NVML_NEW nvmlReturn_t nvmlDeviceSetMemoryLockedClocks(nvmlDevice_t dev, unsigned min, unsigned max)
{
    NEED(max > 0);
    return set(dev, SIMGPU_SET_MEM_CLOCKS, 7, min, max);
}

NVML_NEW nvmlReturn_t nvmlDeviceResetMemoryLockedClocks(nvmlDevice_t dev)
{
    return set(dev, SIMGPU_SET_MEM_CLOCKS, 7, 0, 0);
}

/* ---- what it is doing ---- */

nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t dev, int *state);
nvmlReturn_t nvmlDeviceGetPowerState(nvmlDevice_t dev, int *state);
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t dev, unsigned long long *bits);
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t dev, unsigned long long *bits);
nvmlReturn_t nvmlDeviceGetSupportedClocksEventReasons(nvmlDevice_t dev, unsigned long long *bits);
nvmlReturn_t nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t dev, unsigned long long *bits);
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t dev, int sensor, unsigned *t);
nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t dev, nvmlTemperature_v1_t *t);
nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t dev, int type, unsigned *t);
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t dev, nvmlUtilization_t *u);
nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t dev, unsigned *u, unsigned *period_us);
nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t dev, unsigned *u, unsigned *period_us);
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t dev, nvmlMemory_t *m);
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t dev, nvmlMemory_v2_t *m);
nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t dev, nvmlMemory_t *m);
nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t dev, unsigned *pct);

/* Data-centre parts stay in P0; the others rest in P8. */
NVML_API nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t dev, int *state)
{
    BEGIN(SIMGPU_W_PSTATE, SIM_WHOLE);
    NEED(state);
    *state = c.g->architecture == 8 && sim_is_idle(&c) ? 8 : 0;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetPowerState(nvmlDevice_t dev, int *state)
{
    return nvmlDeviceGetPerformanceState(dev, state);
}

static nvmlReturn_t reasons(nvmlDevice_t dev, unsigned long long *bits, bool all)
{
    BEGIN(SIMGPU_W_REASONS, SIM_WHOLE);
    NEED(bits);
    *bits = all ? 0x1ff : sim_reasons(&c);
    return NVML_SUCCESS;
}

NVML_NEW nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t dev, unsigned long long *bits)
{
    return reasons(dev, bits, false);
}

NVML_API nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t dev, unsigned long long *bits)
{
    return reasons(dev, bits, false);
}

NVML_NEW nvmlReturn_t nvmlDeviceGetSupportedClocksEventReasons(nvmlDevice_t dev, unsigned long long *bits)
{
    return reasons(dev, bits, true);
}

NVML_API nvmlReturn_t nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t dev, unsigned long long *bits)
{
    return reasons(dev, bits, true);
}

NVML_API nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t dev, int sensor, unsigned *t)
{
    BEGIN(SIMGPU_W_TEMP, SIM_WHOLE);
    NEED(t && sensor == 0);
    *t = sim_temperature(&c);
    return NVML_SUCCESS;
}

NVML_NEW nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t dev, nvmlTemperature_v1_t *t)
{
    BEGIN(SIMGPU_W_TEMP, SIM_WHOLE);
    NEED(t);
    if (t->version != (sizeof *t | 1u << 24))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    NEED(t->sensorType == 0);
    t->temperature = (int)sim_temperature(&c);
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t dev, int type, unsigned *t)
{
    static const unsigned at[] = {95, 92, 95, 87};
    BEGIN(SIMGPU_W_TEMP, SIM_WHOLE);
    NEED(t && type >= 0);
    if (type > 3)
        return NVML_ERROR_NOT_SUPPORTED;
    *t = at[type];
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t dev, nvmlUtilization_t *u)
{
    BEGIN(SIMGPU_W_UTIL, SIM_WHOLE);
    NEED(u);
    if (c.g->mig_mode)
        return NVML_ERROR_NOT_SUPPORTED;
    sim_utilization(&c, c.now, &u->gpu, &u->memory);
    return NVML_SUCCESS;
}

static nvmlReturn_t codec(nvmlDevice_t dev, unsigned *u, unsigned *period_us)
{
    BEGIN(SIMGPU_W_UTIL, SIM_WHOLE);
    NEED(u && period_us);
    if (c.g->mig_mode)
        return NVML_ERROR_NOT_SUPPORTED;
    *u = 0;
    *period_us = 167000;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t dev, unsigned *u, unsigned *period_us)
{
    return codec(dev, u, period_us);
}

NVML_API nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t dev, unsigned *u, unsigned *period_us)
{
    return codec(dev, u, period_us);
}

/* What the processes hold, on top of what the driver keeps for itself. */
static nvmlReturn_t memory(const struct sim_call *c, unsigned long long *total, unsigned long long *reserved,
                           unsigned long long *used)
{
    if (!c->g->memory)
        return NVML_ERROR_NOT_SUPPORTED;
    const struct simgpu_mig *m = c->mig >= 0 ? &c->g->mig[c->mig] : NULL;
    *total = m ? m->memory : c->g->memory;
    *reserved = *total / 128;
    *used = 0;
    struct simgpu_proc p[SIMGPU_MAX_PROCS];
    sim_processes(c, p);
    for (int i = 0; i < SIMGPU_MAX_PROCS; i++)
        if (p[i].pid && p[i].memory != UINT64_MAX && (!m || p[i].gi == m->gi))
            *used += p[i].memory;
    if (*used > *total - *reserved)
        *used = *total - *reserved;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t dev, nvmlMemory_t *m)
{
    BEGIN(SIMGPU_W_MEMORY, SIM_MIG_TOO);
    NEED(m);
    unsigned long long reserved = 0;
    r = memory(&c, &m->total, &reserved, &m->used);
    if (r)
        return r;
    m->used += reserved; /* the first version counts what is reserved as used */
    m->free = m->total - m->used;
    return NVML_SUCCESS;
}

NVML_NEW nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t dev, nvmlMemory_v2_t *m)
{
    BEGIN(SIMGPU_W_MEMORY, SIM_MIG_TOO);
    NEED(m);
    if (m->version != (sizeof *m | 2u << 24))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    r = memory(&c, &m->total, &m->reserved, &m->used);
    if (!r)
        m->free = m->total - m->used - m->reserved;
    return r;
}

NVML_API nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t dev, nvmlMemory_t *m)
{
    BEGIN(SIMGPU_W_MEMORY, SIM_MIG_TOO);
    NEED(m);
    if (!c.g->memory)
        return NVML_ERROR_NOT_SUPPORTED;
    *m = (nvmlMemory_t){.total = 128ull << 30, .free = (128ull << 30) - (2ull << 20), .used = 2ull << 20};
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t dev, unsigned *pct)
{
    BEGIN(SIMGPU_W_TEMP, SIM_WHOLE);
    NEED(pct);
    return NVML_ERROR_NOT_SUPPORTED; /* none of the profiles has a fan of its own that NVML sees */
}

/* ---- modes ---- */

nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t dev, int *mode);
nvmlReturn_t nvmlDeviceSetPersistenceMode(nvmlDevice_t dev, int mode);
nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t dev, int *mode);
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t dev, int *mode);
nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t dev, int *mode);
nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t dev, int *mode);
nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t dev, int *current, int *pending);
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t dev, int type, int counter, unsigned long long *n);
nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t dev, int type, int counter, int location,
                                             unsigned long long *n);

NVML_API nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t dev, int *mode)
{
    BEGIN(SIMGPU_W_MODES, SIM_WHOLE);
    NEED(mode);
    struct simgpu_settings s;
    simgpu_settings_at(c.s, c.gpu, c.now, &s);
    *mode = s.persistence;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceSetPersistenceMode(nvmlDevice_t dev, int mode)
{
    NEED(mode == 0 || mode == 1);
    return set(dev, SIMGPU_SET_PERSISTENCE, 0, (unsigned)mode, 0);
}

static nvmlReturn_t zero(nvmlDevice_t dev, int *out)
{
    BEGIN(SIMGPU_W_MODES, SIM_WHOLE);
    NEED(out);
    *out = 0;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t dev, int *mode)
{
    return zero(dev, mode);
}

NVML_API nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t dev, int *mode)
{
    return zero(dev, mode);
}

NVML_API nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t dev, int *mode)
{
    return zero(dev, mode);
}

NVML_API nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t dev, int *mode)
{
    return zero(dev, mode);
}

NVML_API nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t dev, int *current, int *pending)
{
    BEGIN(SIMGPU_W_MODES, SIM_WHOLE);
    NEED(current && pending);
    if (!c.g->memory || (c.g->architecture == 8 && c.g->limit_max_uw == 0))
        return NVML_ERROR_NOT_SUPPORTED;
    *current = *pending = 1;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t dev, int type, int counter,
                                                  unsigned long long *n)
{
    BEGIN(SIMGPU_W_MODES, SIM_WHOLE);
    NEED(n && type >= 0 && type <= 1 && counter >= 0 && counter <= 1);
    *n = 0;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t dev, int type, int counter, int location,
                                                      unsigned long long *n)
{
    NEED(location >= 0);
    return nvmlDeviceGetTotalEccErrors(dev, type, counter, n);
}
