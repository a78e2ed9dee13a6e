/* SPDX-License-Identifier: Apache-2.0 */
/* What the simulated sensors answer, against values worked out by hand. Cycle: 4 s at 700 W, 11 s at 300 W.
 */
#include "client.h"
#include "simgpu_power.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define NEW "libnvidia-ml.so.1"
#define OLD "libnvidia-ml-old.so.1"

static unsigned long long energy(struct sim *m, int gpu, int64_t at)
{
    unsigned long long mj;
    sim_at(m, at);
    assert_int_equal(sim_energy(m, gpu, &mj), 0);
    return mj;
}

static unsigned power(struct sim *m, const char *name, int64_t at)
{
    unsigned mw;
    sim_at(m, at);
    assert_int_equal(sim_u32(m, name, 0, &mw), 0);
    return mw;
}

static unsigned field(struct sim *m, unsigned id, unsigned scope, int64_t at)
{
    nvmlFieldValue_t v;
    sim_at(m, at);
    assert_int_equal(sim_field(m, 0, id, scope, &v), 0);
    assert_int_equal(v.nvmlReturn, 0);
    assert_int_equal(v.valueType, NVML_VALUE_UINT);
    return v.value.uiVal;
}

static int entry(struct sim *m, int gpu, unsigned id, unsigned scope)
{
    nvmlFieldValue_t v;
    assert_int_equal(sim_field(m, gpu, id, scope, &v), 0);
    return v.nvmlReturn;
}

/* Refreshed at 30, 130, 230 ... ms: the counter stands still between. */
static void counter_refreshes(void **state)
{
    (void)state;
    struct sim m;
    sim_start(&m, "gpus", "1", "phase", "30ms", "base", "1000J", NULL);
    sim_load(&m, NEW);
    assert_int_equal(energy(&m, 0, 0), 1000000);
    assert_int_equal(energy(&m, 0, 30 * MS), 1000000 + 21000);
    assert_int_equal(energy(&m, 0, S), 1000000 + 651000); /* 0.93 s x 700 W */
    assert_int_equal(energy(&m, 0, S + 29 * MS), 1000000 + 651000);
    assert_int_equal(energy(&m, 0, S + 30 * MS), 1000000 + 721000);
    assert_int_equal(energy(&m, 0, 4 * S + 30 * MS), 1000000 + 2809000); /* 2800 J + 0.03 s x 300 W */
    nvmlFieldValue_t v;
    for (unsigned id = 83; id <= 191; id += 108) {
        assert_int_equal(sim_field(&m, 0, id, 0, &v), 0);
        assert_int_equal(v.nvmlReturn, 0);
        assert_int_equal(v.valueType, NVML_VALUE_ULONGLONG);
        assert_int_equal(v.value.ullVal, 1000000 + 2809000);
        assert_int_equal(v.timestamp, 1767225600000000 + 4030000);
    }
    sim_stop(&m);
}

static void phases_differ_and_jitter_stays(void **state)
{
    (void)state;
    struct sim m;
    sim_start(&m, "gpus", "8", "jitter", "20ms", "base", "0", "waveform", "const:1000W", NULL);
    sim_load(&m, NEW);
    int64_t phase[8], moved[8] = {0}, last[8] = {0};
    for (int i = 0; i < 8; i++) {
        phase[i] = m.s->g[i].phase_ns;
        for (int k = 0; k < i; k++)
            assert_true(phase[i] != phase[k]);
    }
    for (int64_t t = 0; t < 5 * S; t += MS)
        for (int i = 0; i < 8; i++) {
            unsigned long long e =
                energy(&m, i, t); /* 1 mJ is 1 us at 1000 W: the counter tells its refresh */
            int64_t tick = (int64_t)e * 1000;
            assert_true(tick >= last[i] && tick <= t);
            if (tick != last[i]) {
                int64_t off = (tick - phase[i] + 120 * MS) % (100 * MS);
                assert_true(off >= 0 && off <= 40 * MS);
                moved[i]++;
            }
            last[i] = tick;
        }
    for (int i = 0; i < 8; i++)
        assert_true(moved[i] >= 48 && moved[i] <= 51);
    sim_stop(&m);
}

static void gains(void **state)
{
    (void)state;
    struct sim m;
    sim_start(&m, "gpus", "1", "phase", "0ms", "base", "0", "counter-gain", "0.945", "gauge-gain", "1.11",
              "waveform", "const:400W", NULL);
    sim_load(&m, NEW);
    assert_int_equal(energy(&m, 0, 10 * S), 3780000);
    assert_int_equal(power(&m, "nvmlDeviceGetPowerUsage", 10 * S), 444000);
    assert_int_equal(field(&m, 186, 0, 10 * S), 444000);
    assert_true(simgpu_true_energy_j(m.s, 0, m.t0, m.t0 + 10 * S) == 4000);
    sim_stop(&m);
}

/* H100: usage and 185 are 1 s means, 186 sees 25 of 100 ms. */
static void windows_of_h100(void **state)
{
    (void)state;
    struct sim m;
    sim_start(&m, "gpus", "1", "phase", "10ms", NULL);
    sim_load(&m, NEW);
    /* 4.51 s: (3.51, 4.51] = 0.49 s x 700 + 0.51 s x 300 = 496 W */
    assert_int_equal(power(&m, "nvmlDeviceGetPowerUsage", 4 * S + 600 * MS), 496000);
    assert_int_equal(field(&m, 185, 0, 4 * S + 600 * MS), 496000);
    assert_int_equal(field(&m, 186, 0, 4 * S + 600 * MS), 300000);
    sim_stop(&m);
    sim_start(&m, "gpus", "1", "phase", "10ms", NULL);
    sim_load(&m, NEW);
    /* 4.01 s: (3.985, 4.01] = 15 ms x 700 + 10 ms x 300 over 25 ms = 540 W, until 4.11 s */
    assert_int_equal(field(&m, 186, 0, 4 * S + 9 * MS), 700000);
    assert_int_equal(field(&m, 186, 0, 4 * S + 10 * MS), 540000);
    assert_int_equal(field(&m, 186, 0, 4 * S + 109 * MS), 540000);
    assert_int_equal(field(&m, 186, 0, 4 * S + 110 * MS), 300000);
    /* 15 % of it is the memory's, told by 185 alone */
    assert_int_equal(field(&m, 185, 2, 10 * S), 45000);
    assert_int_equal(entry(&m, 0, 186, 2), NVML_ERROR_NOT_SUPPORTED);
    assert_int_equal(entry(&m, 0, 185, 1), NVML_ERROR_NOT_SUPPORTED);
    assert_int_equal(entry(&m, 0, 185, 3), NVML_ERROR_NOT_SUPPORTED);
    sim_stop(&m);
}

static void windows_of_others(void **state)
{
    (void)state;
    struct sim m;
    sim_start(&m, "gpus", "1", "phase", "10ms", "profile", "a100", NULL);
    sim_load(&m, NEW);
    assert_int_equal(power(&m, "nvmlDeviceGetPowerUsage", 4 * S + 50 * MS), 540000);
    assert_int_equal(entry(&m, 0, 185, 0), NVML_ERROR_NOT_SUPPORTED);
    sim_stop(&m);
    /* L40S instant: (3.91, 4.01] = 90 x 700 + 10 x 300 over 100 = 660 W */
    sim_start(&m, "gpus", "1", "phase", "10ms", "profile", "l40s", NULL);
    sim_load(&m, NEW);
    assert_int_equal(field(&m, 186, 0, 4 * S + 50 * MS), 660000);
    sim_stop(&m);
    /* P100: 10 of 20 ms, refreshed at 4.01 s: all 300 W; at 3.99 + 20 */
    sim_start(&m, "gpus", "1", "phase", "5ms", "profile", "p100", NULL);
    sim_load(&m, NEW);
    assert_int_equal(power(&m, "nvmlDeviceGetPowerUsage", 4 * S + 6 * MS), 500000); /* (3.995, 4.005] */
    unsigned long long mj;
    assert_int_equal(sim_energy(&m, 0, &mj), NVML_ERROR_NOT_SUPPORTED);
    assert_int_equal(entry(&m, 0, 83, 0), NVML_ERROR_NOT_SUPPORTED);
    sim_stop(&m);
    /* ideal: right at every read */
    sim_start(&m, "gpus", "1", "profile", "ideal", "base", "0", NULL);
    sim_load(&m, NEW);
    assert_int_equal(energy(&m, 0, 4 * S - 7), 2799999); /* 2799.9999951 J */
    assert_int_equal(power(&m, "nvmlDeviceGetPowerUsage", 4 * S - 1), 700000);
    assert_int_equal(power(&m, "nvmlDeviceGetPowerUsage", 4 * S), 300000);
    sim_stop(&m);
    /* own windows */
    sim_start(&m, "gpus", "1", "usage", "500ms", "average", "off", "refresh", "50ms", "phase", "0ms", NULL);
    sim_load(&m, NEW);
    assert_int_equal(power(&m, "nvmlDeviceGetPowerUsage", 4 * S + 250 * MS), 500000);
    assert_int_equal(entry(&m, 0, 185, 0), NVML_ERROR_NOT_SUPPORTED);
    sim_stop(&m);
}

/* GH200: what there is, is of the module: 350 W + 150 W beside it. */
static void module_scope(void **state)
{
    (void)state;
    struct sim m;
    sim_start(&m, "gpus", "1", "profile", "gh200", "waveform", "const:350W", "base", "0", "phase", "0ms",
              NULL);
    sim_load(&m, NEW);
    assert_int_equal(energy(&m, 0, 10 * S), 5000000);
    for (unsigned id = 185; id <= 186; id++) {
        assert_int_equal(entry(&m, 0, id, 0), NVML_ERROR_NOT_SUPPORTED);
        assert_int_equal(field(&m, id, 1, 10 * S), 500000);
    }
    assert_true(simgpu_true_energy_j(m.s, 0, m.t0, m.t0 + 10 * S) == 3500);
    assert_true(simgpu_true_module_energy_j(m.s, 0, m.t0, m.t0 + 10 * S) == 5000);
    sim_stop(&m);
    sim_start(&m, "gpus", "1", "profile", "gb10", "waveform", "const:60W", NULL);
    sim_load(&m, NEW);
    assert_int_equal(field(&m, 186, 0, 10 * S), 60000);
    assert_int_equal(entry(&m, 0, 186, 1), NVML_ERROR_NOT_SUPPORTED);
    nvmlMemory_t mem;
    assert_int_equal(
        ((int (*)(nvmlDevice_t, nvmlMemory_t *))sim_fn(&m, "nvmlDeviceGetMemoryInfo"))(m.dev[0], &mem),
        NVML_ERROR_NOT_SUPPORTED);
    sim_stop(&m);
}

/* Jetson and laptop: NVML starts, no power, no energy, no limit. */
static void nothing_to_measure(void **state)
{
    (void)state;
    static const char *const profile[] = {"jetson", "laptop"};
    for (int i = 0; i < 2; i++) {
        struct sim m;
        unsigned u;
        unsigned long long mj;
        sim_start(&m, "gpus", "1", "profile", profile[i], NULL);
        sim_load(&m, NEW);
        assert_int_equal(sim_energy(&m, 0, &mj), NVML_ERROR_NOT_SUPPORTED);
        assert_int_equal(sim_u32(&m, "nvmlDeviceGetPowerUsage", 0, &u), NVML_ERROR_NOT_SUPPORTED);
        assert_int_equal(sim_u32(&m, "nvmlDeviceGetEnforcedPowerLimit", 0, &u), NVML_ERROR_NOT_SUPPORTED);
        static const unsigned ids[] = {83, 185, 186, 187, 190, 191, 192};
        for (size_t k = 0; k < sizeof ids / sizeof *ids; k++)
            assert_int_equal(entry(&m, 0, ids[k], 0), NVML_ERROR_NOT_SUPPORTED);
        sim_stop(&m);
    }
}

static void limits(void **state)
{
    (void)state;
    struct sim m;
    unsigned u, lo, hi;
    sim_start(&m, "gpus", "1", "phase", "0ms", "base", "0", NULL);
    sim_load(&m, NEW);
    int (*set)(nvmlDevice_t, unsigned) =
        (int (*)(nvmlDevice_t, unsigned))sim_fn(&m, "nvmlDeviceSetPowerManagementLimit");
    assert_int_equal(((int (*)(nvmlDevice_t, unsigned *, unsigned *))sim_fn(
                         &m, "nvmlDeviceGetPowerManagementLimitConstraints"))(m.dev[0], &lo, &hi),
                     0);
    assert_int_equal(lo, 200000);
    assert_int_equal(hi, 700000);
    assert_int_equal(set(m.dev[0], 199999), NVML_ERROR_INVALID_ARGUMENT);
    assert_int_equal(set(m.dev[0], 700001), NVML_ERROR_INVALID_ARGUMENT);
    sim_at(&m, 2 * S);
    assert_int_equal(set(m.dev[0], 400000), 0);
    assert_int_equal(sim_u32(&m, "nvmlDeviceGetEnforcedPowerLimit", 0, &u), 0);
    assert_int_equal(u, 400000);
    assert_int_equal(field(&m, 190, 0, 2 * S), 400000);
    assert_int_equal(field(&m, 189, 0, 2 * S), 700000);
    assert_int_equal(energy(&m, 0, 15 * S), 5500000);
    unsigned long long bits;
    int (*reasons)(nvmlDevice_t, unsigned long long *) =
        (int (*)(nvmlDevice_t, unsigned long long *))sim_fn(&m, "nvmlDeviceGetCurrentClocksEventReasons");
    sim_at(&m, 16 * S);
    assert_int_equal(reasons(m.dev[0], &bits), 0);
    assert_int_equal(bits, 4);
    nvmlFieldValue_t v;
    assert_int_equal(sim_field(&m, 0, 74, 0, &v), 0);
    assert_int_equal(v.value.ullVal, 3 * S);
    /* locked clocks */
    int (*lock)(nvmlDevice_t, unsigned, unsigned) =
        (int (*)(nvmlDevice_t, unsigned, unsigned))sim_fn(&m, "nvmlDeviceSetGpuLockedClocks");
    int (*clock)(nvmlDevice_t, int, unsigned *) =
        (int (*)(nvmlDevice_t, int, unsigned *))sim_fn(&m, "nvmlDeviceGetClockInfo");
    assert_int_equal(lock(m.dev[0], 1200, 900), NVML_ERROR_INVALID_ARGUMENT);
    assert_int_equal(lock(m.dev[0], 900, 1200), 0);
    assert_int_equal(clock(m.dev[0], 1, &u), 0);
    assert_int_equal(u, 1200);
    struct simgpu_setting st;
    assert_int_equal(simgpu_drive_setting(m.s, 0, &st), 0);
    assert_int_equal(st.sm_max_mhz, 1200);
    assert_int_equal(((int (*)(nvmlDevice_t))sim_fn(&m, "nvmlDeviceResetGpuLockedClocks"))(m.dev[0]), 0);
    assert_int_equal(clock(m.dev[0], 1, &u), 0);
    assert_int_equal(u, 1643); /* 1980 x cbrt(400 / 700) = 1643.1 */
    sim_stop(&m);
}

static unsigned samples(struct sim *m, int type, unsigned long long seen, nvmlSample_t *out, unsigned room,
                        int want)
{
    int vt;
    unsigned n = room;
    assert_int_equal(((int (*)(nvmlDevice_t, int, unsigned long long, int *, unsigned *, nvmlSample_t *))
                          sim_fn(m, "nvmlDeviceGetSamples"))(m->dev[0], type, seen, &vt, &n, out),
                     want);
    return n;
}

static void power_samples(void **state)
{
    (void)state;
    struct sim m;
    nvmlSample_t x[120];
    sim_start(&m, "gpus", "1", "phase", "10ms", NULL);
    sim_load(&m, NEW);
    sim_at(&m, 4 * S + 55 * MS);
    assert_int_equal(samples(&m, 0, 0, NULL, 0, 0), 120);
    assert_int_equal(samples(&m, 0, 0, x, 120, 0), 41); /* 10, 110 ... 4010 ms */
    assert_int_equal(x[0].timeStamp, 1767225600010000);
    assert_int_equal(x[40].timeStamp, 1767225604010000);
    assert_int_equal(x[39].sampleValue.uiVal, 700000);
    assert_int_equal(x[40].sampleValue.uiVal, 540000);
    assert_int_equal(samples(&m, 0, x[40].timeStamp, x, 120, NVML_ERROR_NOT_FOUND), 120);
    assert_int_equal(samples(&m, 0, 1767225603900000, x, 120, 0), 2);
    assert_int_equal(samples(&m, 0, 0, x, 5, 0), 5);
    assert_int_equal(x[0].timeStamp, 1767225600010000);
    samples(&m, 7, 0, x, 5, NVML_ERROR_NOT_SUPPORTED);
    sim_at(&m, 60 * S);
    assert_int_equal(samples(&m, 0, 0, x, 120, 0), 120);
    sim_stop(&m);
}

/* Each call takes 10 us of the virtual clock. */
static void calls_take_time(void **state)
{
    (void)state;
    struct sim m;
    unsigned u;
    sim_start(&m, "gpus", "1", "call-cost", "10us", NULL);
    sim_load(&m, NEW);
    int64_t t = simgpu_now(m.s);
    for (int i = 0; i < 100; i++)
        sim_u32(&m, "nvmlDeviceGetPowerUsage", 0, &u);
    assert_int_equal(simgpu_now(m.s) - t, MS);
    sim_stop(&m);
}

/* A driven GPU: seen through its latency of 2 ms, exact once it is there. */
static void driven(void **state)
{
    (void)state;
    struct sim m;
    unsigned u;
    nvmlUtilization_t util;
    sim_start(&m, "gpus", "1", "waveform", "drive", "idle", "70W", "base", "0", "phase", "0ms", NULL);
    sim_load(&m, NEW);
    assert_int_equal(energy(&m, 0, S + 2 * MS), 70000);
    assert_int_equal(simgpu_drive_power(m.s, 0, m.t0 + S, 500), 0);
    assert_int_equal(energy(&m, 0, 2 * S + 1 * MS), 70000 + 450000); /* the refresh of 1.9 s */
    assert_int_equal(energy(&m, 0, 2 * S + 2 * MS), 70000 + 500000);
    assert_int_equal(simgpu_drive_util(m.s, 0, 93, 41), 0);
    assert_int_equal(simgpu_drive_clocks(m.s, 0, 1755, 2619), 0);
    assert_int_equal(simgpu_drive_temp(m.s, 0, 64), 0);
    assert_int_equal(((int (*)(nvmlDevice_t, nvmlUtilization_t *))sim_fn(
                         &m, "nvmlDeviceGetUtilizationRates"))(m.dev[0], &util),
                     0);
    assert_int_equal(util.gpu, 93);
    assert_int_equal(util.memory, 41);
    assert_int_equal(
        ((int (*)(nvmlDevice_t, int, unsigned *))sim_fn(&m, "nvmlDeviceGetClockInfo"))(m.dev[0], 1, &u), 0);
    assert_int_equal(u, 1755);
    assert_int_equal(
        ((int (*)(nvmlDevice_t, int, unsigned *))sim_fn(&m, "nvmlDeviceGetTemperature"))(m.dev[0], 0, &u), 0);
    assert_int_equal(u, 64);
    assert_int_equal(simgpu_drive_util(m.s, 0, 101, 0), -22);
    sim_stop(&m);
}

struct churn {
    struct sim *m;
    _Atomic int stop;
};

static void *churn(void *arg)
{
    struct churn *x = arg;
    for (uint32_t i = 1; !atomic_load(&x->stop); i++) {
        uint32_t pid = 1 + i % 3;
        simgpu_drive_process(x->m->s, 0, pid, (uint64_t)pid << 32 | pid, (int)pid, (int)pid);
        simgpu_drive_power(x->m->s, 0, x->m->t0 + (int64_t)i * 1000, 100 + pid);
        if (i % 5 == 0)
            simgpu_drive_process_remove(x->m->s, 0, pid);
        /* a real driver steps every few milliseconds; without a breath the ring would outrun a slow reader
         * for good */
        if (i % 256 == 0)
            nanosleep(&(struct timespec){0, 20000}, NULL);
    }
    return NULL;
}

/* Reading beside a driver: no half-written process, a counter that never goes back. */
static void read_while_driven(void **state)
{
    (void)state;
    struct sim m;
    sim_start(&m, "gpus", "1", "waveform", "drive", "refresh", "1us", "latency", "0s", "ring", "1024", "base",
              "0J", NULL);
    sim_load(&m, NEW);
    struct churn x = {.m = &m};
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, churn, &x), 0);
    int (*list)(nvmlDevice_t, unsigned *, nvmlProcessInfo_t *) = (int (*)(
        nvmlDevice_t, unsigned *, nvmlProcessInfo_t *))sim_fn(&m, "nvmlDeviceGetComputeRunningProcesses_v3");
    unsigned long long last = 0, mj;
    while (atomic_load(&m.s->g[0].ring_head) < 64) /* a busy machine may not have begun the writer yet */
        nanosleep(&(struct timespec){0, 100000}, NULL);
    for (int i = 0; i < 20000; i++) {
        nvmlProcessInfo_t p[8];
        unsigned n = 8;
        assert_int_equal(list(m.dev[0], &n, p), 0);
        for (unsigned k = 0; k < n; k++)
            assert_true(p[k].usedGpuMemory == ((uint64_t)p[k].pid << 32 | p[k].pid));
        uint64_t head = atomic_load(&m.s->g[0].ring_head);
        simgpu_advance_to(m.s, m.t0 + (int64_t)(head > 2 ? head - 2 : 0) * 1000);
        if (sim_energy(&m, 0, &mj) == 0) { /* UNKNOWN when the ring ran past it */
            assert_true(mj >= last);
            last = mj;
        }
    }
    atomic_store(&x.stop, 1);
    pthread_join(t, NULL);
    /* all of the readings above may have come too late on a busy machine; this one cannot */
    simgpu_advance_to(m.s, m.t0 + (int64_t)(atomic_load(&m.s->g[0].ring_head) - 2) * 1000);
    assert_int_equal(sim_energy(&m, 0, &mj), 0);
    assert_true(mj >= last && mj >= 6); /* 64 steps of 100 W and 1 us are 6.4 mJ */
    sim_stop(&m);
}

/* The library of an old driver: what it lacks does not resolve, what it has works. */
static void old_driver(void **state)
{
    (void)state;
    static const char *const gone[] = {"nvmlDeviceGetTotalEnergyConsumption",
                                       "nvmlDeviceGetPciInfo_v3",
                                       "nvmlDeviceGetComputeRunningProcesses_v3",
                                       "nvmlDeviceGetMemoryInfo_v2",
                                       "nvmlSystemGetCudaDriverVersion_v2",
                                       "nvmlDeviceGetMigMode",
                                       "nvmlDeviceGetCurrentClocksEventReasons",
                                       "nvmlDeviceGetArchitecture",
                                       "nvmlInitWithFlags",
                                       "nvmlDeviceSetGpuLockedClocks"};
    struct sim m;
    sim_start(&m, "gpus", "1", "profile", "a100", NULL);
    sim_load(&m, NEW);
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        assert_non_null(dlsym(m.lib, gone[i]));
    assert_non_null(dlsym(m.lib, "joulemark_sim_gpu_version"));
    sim_unload(&m);
    sim_load(&m, OLD);
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        assert_null(dlsym(m.lib, gone[i]));
    assert_non_null(dlsym(m.lib, "joulemark_sim_gpu_version"));
    assert_int_equal(power(&m, "nvmlDeviceGetPowerUsage", S), 700000);
    assert_int_equal(entry(&m, 0, 83, 0), NVML_ERROR_NOT_SUPPORTED);
    assert_int_equal(entry(&m, 0, 186, 0), NVML_ERROR_NOT_SUPPORTED);
    sim_stop(&m);
}

static void start_and_end(void **state)
{
    (void)state;
    struct sim m;
    unsigned u;
    sim_start(&m, "gpus", "2", NULL);
    sim_load(&m, NEW);
    int (*init)(void) = (int (*)(void))sim_fn(&m, "nvmlInit_v2"),
        (*end)(void) = (int (*)(void))sim_fn(&m, "nvmlShutdown");
    const char *(*why)(void) = (const char *(*)(void))sim_fn(&m, "joulemark_sim_gpu_error");
    int (*count)(unsigned *) = (int (*)(unsigned *))sim_fn(&m, "nvmlDeviceGetCount_v2");
    int (*byuuid)(const char *, nvmlDevice_t *) =
        (int (*)(const char *, nvmlDevice_t *))sim_fn(&m, "nvmlDeviceGetHandleByUUID");
    int (*bypci)(const char *, nvmlDevice_t *) =
        (int (*)(const char *, nvmlDevice_t *))sim_fn(&m, "nvmlDeviceGetHandleByPciBusId_v2");
    nvmlDevice_t d;
    assert_int_equal(init(), 0); /* counted */
    assert_int_equal(end(), 0);
    assert_int_equal(count(&u), 0);
    assert_int_equal(u, 2);
    assert_int_equal(byuuid("GPU-51340000-0001-4a00-8000-000000000001", &d), 0);
    assert_ptr_equal(d, m.dev[1]);
    assert_int_equal(byuuid("GPU-51340000", &d), NVML_ERROR_NOT_FOUND);
    assert_int_equal(bypci("0000:1e:00.0", &d), 0);
    assert_ptr_equal(d, m.dev[1]);
    assert_int_equal(bypci("00000000:1E:00.0", &d), 0);
    assert_int_equal(bypci("0000:1f:00.0", &d), NVML_ERROR_NOT_FOUND);
    assert_int_equal(sim_u32(&m, "nvmlDeviceGetPowerUsage", 0, NULL), NVML_ERROR_INVALID_ARGUMENT);
    assert_int_equal(((fn_dev_u)sim_fn(&m, "nvmlDeviceGetPowerUsage"))(NULL, &u),
                     NVML_ERROR_INVALID_ARGUMENT);
    assert_int_equal(((fn_dev_u)sim_fn(&m, "nvmlDeviceGetPowerUsage"))((nvmlDevice_t)(void *)&u, &u),
                     NVML_ERROR_INVALID_ARGUMENT);
    char name[96];
    int (*get)(nvmlDevice_t, char *, unsigned) =
        (int (*)(nvmlDevice_t, char *, unsigned))sim_fn(&m, "nvmlDeviceGetName");
    assert_int_equal(get(m.dev[0], name, sizeof name), 0);
    assert_non_null(strstr(name, "SIMULATED"));
    assert_int_equal(get(m.dev[0], name, 4), NVML_ERROR_INSUFFICIENT_SIZE);
    assert_int_equal(end(), 0);
    assert_int_equal(count(&u), NVML_ERROR_UNINITIALIZED);
    assert_int_equal(end(), NVML_ERROR_UNINITIALIZED);
    unsetenv(SIMGPU_ENV);
    assert_int_equal(init(), NVML_ERROR_DRIVER_NOT_LOADED);
    assert_non_null(strstr(why(), "is not set"));
    setenv(SIMGPU_ENV, "/nonexistent", 1);
    assert_int_equal(init(), NVML_ERROR_OPERATING_SYSTEM);
    assert_non_null(strstr(why(), "/nonexistent"));
    setenv(SIMGPU_ENV, m.path, 1);
    assert_int_equal(init(), 0);
    assert_string_equal(why(), "");
    sim_stop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counter_refreshes),
        cmocka_unit_test(phases_differ_and_jitter_stays),
        cmocka_unit_test(gains),
        cmocka_unit_test(windows_of_h100),
        cmocka_unit_test(windows_of_others),
        cmocka_unit_test(module_scope),
        cmocka_unit_test(nothing_to_measure),
        cmocka_unit_test(limits),
        cmocka_unit_test(power_samples),
        cmocka_unit_test(calls_take_time),
        cmocka_unit_test(driven),
        cmocka_unit_test(read_while_driven),
        cmocka_unit_test(old_driver),
        cmocka_unit_test(start_and_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
