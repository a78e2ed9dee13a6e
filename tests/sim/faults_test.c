/* SPDX-License-Identifier: Apache-2.0 */
/* Each fault as its reader sees it, and that the truth goes on. const:100W, refreshed at whole 100 ms. */
#include "client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NEW "libnvidia-ml.so.1"

static void start(struct sim *m, const char *fault)
{
    sim_start(m, "gpus", "2", "waveform", "const:100W", "base", "1000J", "phase", "0ms", "fault", fault,
              NULL);
    sim_load(m, NEW);
}

static void stop(struct sim *m)
{
    for (int i = 0; i < 2; i++)
        assert_true(simgpu_true_energy_j(m->s, i, m->t0, m->t0 + 100 * S) == 10000);
    sim_stop(m);
}

static int energy_is(struct sim *m, int gpu, int64_t at, unsigned long long mj)
{
    unsigned long long v = 0;
    sim_at(m, at);
    int r = sim_energy(m, gpu, &v);
    if (!r && v != mj)
        fail_msg("%llu mJ, not %llu", v, mj);
    return r;
}

static int usage(struct sim *m, int gpu, unsigned *mw)
{
    return sim_u32(m, "nvmlDeviceGetPowerUsage", gpu, mw);
}

static void reset(void **state)
{
    (void)state;
    struct sim m;
    start(&m, "kind=reset,gpu=1,at=10.03s");
    assert_int_equal(energy_is(&m, 1, 10 * S, 2000000), 0);
    assert_int_equal(energy_is(&m, 1, 10 * S + 30 * MS, 0), 0);
    assert_int_equal(energy_is(&m, 1, 10 * S + 100 * MS, 7000), 0);
    assert_int_equal(energy_is(&m, 1, 20 * S, 997000), 0);
    assert_int_equal(energy_is(&m, 0, 20 * S, 3000000), 0);
    stop(&m);
}

static void frozen(void **state)
{
    (void)state;
    struct sim m;
    unsigned mw;
    sim_start(&m, "gpus", "2", "waveform", "cycle:100W@5s,200W@5s", "base", "1000J", "phase", "0ms", "fault",
              "kind=frozen,gpu=0,at=4.95s,for=3s,what=energy", "fault",
              "kind=frozen,gpu=1,at=4.95s,what=usage", NULL);
    sim_load(&m, NEW);
    assert_int_equal(energy_is(&m, 0, 5 * S, 1490000), 0);
    assert_int_equal(energy_is(&m, 0, 7 * S + 900 * MS, 1490000), 0);
    assert_int_equal(usage(&m, 0, &mw), 0);
    assert_int_equal(mw, 200000);
    assert_int_equal(usage(&m, 1, &mw), 0);
    assert_int_equal(mw, 100000);
    assert_int_equal(energy_is(&m, 1, 7 * S + 900 * MS, 2080000), 0);
    assert_int_equal(energy_is(&m, 0, 8 * S, 2100000), 0); /* thawed: 5 x 100 + 3 x 200 */
    sim_stop(&m);
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *fault;
        int code;
    } rows[] = {{"kind=not_supported,gpu=1,at=2s,for=2s", NVML_ERROR_NOT_SUPPORTED},
                {"kind=lost,gpu=1,at=2s,for=2s", NVML_ERROR_GPU_IS_LOST},
                {"kind=no_permission,gpu=1,at=2s,for=2s", NVML_ERROR_NO_PERMISSION},
                {"kind=error,code=UNKNOWN,what=energy+usage,gpu=1,at=2s,for=2s", NVML_ERROR_UNKNOWN}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sim m;
        unsigned mw;
        start(&m, rows[i].fault);
        assert_int_equal(energy_is(&m, 1, 2 * S - 1, 1190000), 0);
        assert_int_equal(energy_is(&m, 1, 2 * S, 0), rows[i].code);
        assert_int_equal(usage(&m, 1, &mw), rows[i].code);
        assert_int_equal(usage(&m, 0, &mw), 0);
        assert_int_equal(energy_is(&m, 1, 4 * S, 1400000), 0);
        stop(&m);
    }
}

static void lost_takes_everything(void **state)
{
    (void)state;
    struct sim m;
    nvmlDevice_t d;
    nvmlFieldValue_t v;
    unsigned u;
    start(&m, "kind=lost,gpu=1,at=2s");
    sim_at(&m, 2 * S);
    assert_int_equal(((int (*)(unsigned, nvmlDevice_t *))sim_fn(&m, "nvmlDeviceGetHandleByIndex_v2"))(1, &d),
                     NVML_ERROR_GPU_IS_LOST);
    assert_int_equal(((int (*)(unsigned, nvmlDevice_t *))sim_fn(&m, "nvmlDeviceGetHandleByIndex_v2"))(0, &d),
                     0);
    assert_int_equal(sim_field(&m, 1, 83, 0, &v), NVML_ERROR_GPU_IS_LOST);
    assert_int_equal(((int (*)(unsigned *))sim_fn(&m, "nvmlDeviceGetCount_v2"))(&u), 0);
    assert_int_equal(u, 2); /* still counted */
    stop(&m);
}

/* The call succeeds, the entry does not, and holds a 0 that is no measurement. */
static void entry_status(void **state)
{
    (void)state;
    struct sim m;
    nvmlFieldValue_t v[3] = {{.fieldId = 83}, {.fieldId = 186}, {.fieldId = 190}};
    start(&m, "kind=entry,gpu=1,code=UNKNOWN,what=instant");
    sim_at(&m, 2 * S);
    int (*get)(nvmlDevice_t, int, nvmlFieldValue_t *) =
        (int (*)(nvmlDevice_t, int, nvmlFieldValue_t *))sim_fn(&m, "nvmlDeviceGetFieldValues");
    assert_int_equal(get(m.dev[1], 3, v), 0);
    assert_int_equal(v[0].nvmlReturn, 0);
    assert_int_equal(v[0].value.ullVal, 1200000);
    assert_int_equal(v[1].nvmlReturn, NVML_ERROR_UNKNOWN);
    assert_int_equal(v[1].value.uiVal, 0);
    assert_int_equal(v[2].nvmlReturn, 0);
    assert_int_equal(get(m.dev[0], 3, v), 0);
    assert_int_equal(v[1].value.uiVal, 100000);
    assert_int_equal(get(m.dev[0], 0, v), NVML_ERROR_INVALID_ARGUMENT);
    unsigned mw;
    assert_int_equal(usage(&m, 1, &mw), 0); /* plain calls are not concerned */
    stop(&m);
}

static void values_and_jumps(void **state)
{
    (void)state;
    struct sim m;
    unsigned mw;
    start(&m, "kind=value,value=563212W,gpu=0,at=2s,for=1s"); /* MangoHud 1589 */
    sim_at(&m, 2 * S);
    assert_int_equal(usage(&m, 0, &mw), 0);
    assert_int_equal(mw, 563212000);
    sim_at(&m, 3 * S);
    assert_int_equal(usage(&m, 0, &mw), 0);
    assert_int_equal(mw, 100000);
    stop(&m);
    start(&m, "kind=jump,value=-213J,gpu=0,at=2s"); /* backwards, as in amdsmi 115 */
    assert_int_equal(energy_is(&m, 0, 1900 * MS, 1190000), 0);
    assert_int_equal(energy_is(&m, 0, 2 * S, 1200000 - 213000), 0);
    assert_int_equal(energy_is(&m, 0, 3 * S, 1300000 - 213000), 0);
    stop(&m);
}

static void slow_calls(void **state)
{
    (void)state;
    struct sim m;
    unsigned mw;
    start(&m, "kind=slow,value=3s,gpu=1,at=2s,what=usage");
    sim_at(&m, 2 * S);
    assert_int_equal(usage(&m, 0, &mw), 0);
    assert_int_equal(simgpu_now(m.s) - m.t0, 2 * S);
    assert_int_equal(usage(&m, 1, &mw), 0);
    assert_int_equal(simgpu_now(m.s) - m.t0, 5 * S);
    stop(&m);
}

static void init_fails(void **state)
{
    (void)state;
    struct sim m;
    start(&m, "kind=init,code=LIB_RM_VERSION_MISMATCH,at=5s");
    int (*init)(void) = (int (*)(void))sim_fn(&m, "nvmlInit_v2"),
        (*end)(void) = (int (*)(void))sim_fn(&m, "nvmlShutdown");
    sim_at(&m, 5 * S);
    assert_int_equal(init(), 0); /* who has it keeps it */
    assert_int_equal(end(), 0);
    assert_int_equal(end(), 0);
    assert_int_equal(init(), 18);
    m.s->h->fault_count = 0;
    assert_int_equal(init(), 0);
    stop(&m);
}

static void no_permission_to_set(void **state)
{
    (void)state;
    struct sim m;
    unsigned mw;
    start(&m, "kind=no_permission,what=set");
    assert_int_equal(
        ((int (*)(nvmlDevice_t, unsigned))sim_fn(&m, "nvmlDeviceSetPowerManagementLimit"))(m.dev[0], 300000),
        NVML_ERROR_NO_PERMISSION);
    assert_int_equal(((int (*)(nvmlDevice_t))sim_fn(&m, "nvmlDeviceResetGpuLockedClocks"))(m.dev[0]),
                     NVML_ERROR_NO_PERMISSION);
    assert_int_equal(usage(&m, 0, &mw), 0);
    stop(&m);
}

static void reasons(void **state)
{
    (void)state;
    struct sim m;
    unsigned long long bits;
    start(&m, "kind=reasons,value=64,gpu=0");
    int (*get)(nvmlDevice_t, unsigned long long *) =
        (int (*)(nvmlDevice_t, unsigned long long *))sim_fn(&m, "nvmlDeviceGetCurrentClocksThrottleReasons");
    assert_int_equal(get(m.dev[0], &bits), 0);
    assert_int_equal(bits, 64); /* HW thermal slowdown */
    assert_int_equal(get(m.dev[1], &bits), 0);
    assert_int_equal(bits, 0);
    stop(&m);
}

static int processes(struct sim *m, int gpu, unsigned *n, void *out)
{
    return ((int (*)(nvmlDevice_t, unsigned *, void *))sim_fn(m, "nvmlDeviceGetComputeRunningProcesses_v3"))(
        m->dev[gpu], n, out);
}

static void process_lists(void **state)
{
    (void)state;
    struct sim m;
    nvmlProcessInfo_t p[64];
    unsigned n = 0;
    sim_start(&m, "gpus", "2", "process", "pid=100,gpu=0,mem=20GiB,sm=80,memutil=30", "process",
              "pid=101,gpu=0", "process", "pid=7,gpu=0,kind=graphics,mem=1MiB", NULL);
    sim_load(&m, NEW);
    assert_int_equal(processes(&m, 0, &n, NULL), NVML_ERROR_INSUFFICIENT_SIZE);
    assert_int_equal(n, 2);
    n = 1;
    assert_int_equal(processes(&m, 0, &n, p), NVML_ERROR_INSUFFICIENT_SIZE);
    assert_int_equal(n, 2);
    n = 64;
    assert_int_equal(processes(&m, 0, &n, p), 0);
    assert_int_equal(n, 2);
    assert_int_equal(p[0].pid, 100);
    assert_int_equal(p[0].usedGpuMemory, 20ull << 30);
    assert_int_equal(p[0].gpuInstanceId, UINT32_MAX);
    assert_int_equal(p[1].pid, 101);
    assert_true(p[1].usedGpuMemory == UINT64_MAX); /* not available */
    n = 64;
    assert_int_equal(processes(&m, 1, &n, p), 0);
    assert_int_equal(n, 0);
    /* a driver adds and removes */
    for (uint32_t i = 1; i <= 64; i++)
        assert_int_equal(simgpu_drive_process(m.s, 1, i, 1, 0, 0), 0);
    assert_int_equal(simgpu_drive_process(m.s, 1, 65, 1, 0, 0), -28);
    assert_int_equal(simgpu_drive_process(m.s, 1, 64, 2, 0, 0), 0);
    assert_int_equal(simgpu_drive_process_remove(m.s, 1, 1), 0);
    n = 64;
    assert_int_equal(processes(&m, 1, &n, p), 0);
    assert_int_equal(n, 63);
    assert_int_equal(p[62].usedGpuMemory, 2);
    /* utilisation: one sample a second */
    nvmlProcessUtilizationSample_t u[4];
    int (*util)(nvmlDevice_t, nvmlProcessUtilizationSample_t *, unsigned *, unsigned long long) =
        (int (*)(nvmlDevice_t, nvmlProcessUtilizationSample_t *, unsigned *, unsigned long long))sim_fn(
            &m, "nvmlDeviceGetProcessUtilization");
    sim_at(&m, 5 * S);
    n = 4;
    assert_int_equal(util(m.dev[0], u, &n, 0), 0);
    assert_int_equal(n, 2);
    assert_int_equal(u[0].smUtil, 80);
    assert_int_equal(u[0].memUtil, 30);
    n = 4;
    assert_int_equal(util(m.dev[0], u, &n, u[0].timeStamp), NVML_ERROR_NOT_FOUND);
    sim_stop(&m);
}

/* Drivers 535.43 to 535.98: 32 bytes a row, found by what lies where (nvitop 79, 88). */
static void process_stride(void **state)
{
    (void)state;
    struct sim m;
    unsigned char buf[64 * 24];
    unsigned n = 2, pid;
    sim_start(&m, "gpus", "1", "fault", "kind=stride", "fault", "kind=garbage", "process", "pid=100,mem=1GiB",
              "process", "pid=101,mem=2GiB", NULL);
    sim_load(&m, NEW);
    assert_int_equal(processes(&m, 0, &n, buf), NVML_ERROR_INSUFFICIENT_SIZE);
    assert_int_equal(n, 3);
    n = 64;
    memset(buf, 0xa5, sizeof buf);
    assert_int_equal(processes(&m, 0, &n, buf), 0);
    assert_int_equal(n, 2);
    memcpy(&pid, buf + 32, sizeof pid);
    assert_int_equal(pid, 101);
    assert_int_equal(buf[64], 0xa5);
    nvmlProcessUtilizationSample_t u[4];
    n = 4;
    assert_int_equal(
        ((int (*)(nvmlDevice_t, nvmlProcessUtilizationSample_t *, unsigned *, unsigned long long))sim_fn(
            &m, "nvmlDeviceGetProcessUtilization"))(m.dev[0], u, &n, 0),
        0);
    assert_int_equal(n, 3);
    assert_true(u[2].smUtil > 100); /* nvtop 110 */
    sim_stop(&m);
}

static void mig(void **state)
{
    (void)state;
    struct sim m;
    nvmlDevice_t d, parent;
    unsigned u, v;
    unsigned long long mj;
    char text[96];
    sim_start(&m, "gpus", "2", "gpu", "1:mig=1g.10gb+-+3g.40gb", "process",
              "pid=100,gpu=1,gi=3,ci=0,mem=1GiB", NULL);
    sim_load(&m, NEW);
    int (*mode)(nvmlDevice_t, unsigned *, unsigned *) =
        (int (*)(nvmlDevice_t, unsigned *, unsigned *))sim_fn(&m, "nvmlDeviceGetMigMode");
    int (*child)(nvmlDevice_t, unsigned, nvmlDevice_t *) =
        (int (*)(nvmlDevice_t, unsigned, nvmlDevice_t *))sim_fn(&m, "nvmlDeviceGetMigDeviceHandleByIndex");
    assert_int_equal(mode(m.dev[0], &u, &v), 0);
    assert_int_equal(u, 0);
    assert_int_equal(mode(m.dev[1], &u, &v), 0);
    assert_int_equal(u, 1);
    assert_int_equal(sim_u32(&m, "nvmlDeviceGetMaxMigDeviceCount", 1, &u), 0);
    assert_int_equal(u, 7);
    assert_int_equal(child(m.dev[1], 1, &d), NVML_ERROR_NOT_FOUND); /* a hole: go on */
    assert_int_equal(child(m.dev[1], 2, &d), 0);
    assert_int_equal(((int (*)(nvmlDevice_t, nvmlDevice_t *))sim_fn(
                         &m, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle"))(d, &parent),
                     0);
    assert_ptr_equal(parent, m.dev[1]);
    assert_int_equal(
        ((int (*)(nvmlDevice_t, char *, unsigned))sim_fn(&m, "nvmlDeviceGetUUID"))(d, text, sizeof text), 0);
    assert_memory_equal(text, "MIG-51340000-", 13);
    assert_int_equal(
        ((int (*)(const char *, nvmlDevice_t *))sim_fn(&m, "nvmlDeviceGetHandleByUUID"))(text, &parent), 0);
    assert_ptr_equal(parent, d);
    /* Power and energy are of the whole GPU. */
    assert_int_equal(((int (*)(nvmlDevice_t, unsigned long long *))sim_fn(
                         &m, "nvmlDeviceGetTotalEnergyConsumption"))(d, &mj),
                     NVML_ERROR_NOT_SUPPORTED);
    assert_int_equal(sim_energy(&m, 1, &mj), 0);
    nvmlUtilization_t util;
    assert_int_equal(((int (*)(nvmlDevice_t, nvmlUtilization_t *))sim_fn(
                         &m, "nvmlDeviceGetUtilizationRates"))(m.dev[1], &util),
                     NVML_ERROR_NOT_SUPPORTED);
    nvmlProcessInfo_t p[4];
    unsigned n = 4;
    assert_int_equal(((int (*)(nvmlDevice_t, unsigned *, void *))sim_fn(
                         &m, "nvmlDeviceGetComputeRunningProcesses_v3"))(d, &n, p),
                     0);
    assert_int_equal(n, 1);
    assert_int_equal(p[0].gpuInstanceId, 3);
    assert_int_equal(child(m.dev[1], 0, &d), 0);
    n = 4;
    assert_int_equal(((int (*)(nvmlDevice_t, unsigned *, void *))sim_fn(
                         &m, "nvmlDeviceGetComputeRunningProcesses_v3"))(d, &n, p),
                     0);
    assert_int_equal(n, 0);
    sim_stop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reset),
        cmocka_unit_test(frozen),
        cmocka_unit_test(refusals),
        cmocka_unit_test(lost_takes_everything),
        cmocka_unit_test(entry_status),
        cmocka_unit_test(values_and_jumps),
        cmocka_unit_test(slow_calls),
        cmocka_unit_test(init_fails),
        cmocka_unit_test(no_permission_to_set),
        cmocka_unit_test(reasons),
        cmocka_unit_test(process_lists),
        cmocka_unit_test(process_stride),
        cmocka_unit_test(mig),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
