/* SPDX-License-Identifier: Apache-2.0 */
/* Start and end, handles, texts of errors. */
#include "../simgpu_text.h"
#include "nvml_sim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct nvmlDevice_st {
    int gpu, mig;
};

/* A library that is told nothing but handles has its state in the library. */
static struct {
    pthread_mutex_t lock;
    unsigned users;
    _Atomic unsigned calls; /* of this process */
    _Atomic(struct simgpu *) state;
    char why[256];
    struct nvmlDevice_st dev[SIMGPU_MAX_GPUS][1 + SIMGPU_MAX_MIG];
} lib = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Whoever finds this symbol knows that nothing in this library is a measurement. */
extern const char joulemark_sim_gpu_version[];
SIM_PUBLIC const char joulemark_sim_gpu_version[] = JM_VERSION;

const char *joulemark_sim_gpu_error(void);
/* Why the last nvmlInit failed, one sentence; empty when it did not. */
NVML_API const char *joulemark_sim_gpu_error(void)
{
    return lib.why;
}

nvmlDevice_t sim_handle(int gpu, int mig)
{
    return &lib.dev[gpu][1 + mig];
}

static void spend(struct sim_call *c, int64_t ns)
{
    if (ns <= 0)
        return;
    if (c->s->h->clock == SIMGPU_CLOCK_VIRTUAL) {
        /* What is read is read half-way through the call. */
        c->now = simgpu_advance(c->s, ns) - ns / 2;
        return;
    }
    struct timespec ts = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    nanosleep(&ts, NULL);
    c->now = simgpu_now(c->s);
}

static bool concerns(const struct sim_call *c, const struct simgpu_fault *f, uint32_t what)
{
    int64_t t = c->now - c->s->h->start_ns;
    return (f->gpu < 0 || f->gpu == c->gpu) && (f->what & what) && t >= f->from_ns && t < f->until_ns;
}

const struct simgpu_fault *sim_fault_find(const struct sim_call *c, int kind, uint32_t what)
{
    const struct simgpu_header *h = c->s->h;
    for (uint32_t i = 0; i < h->fault_count; i++)
        if (h->fault[i].kind == kind && concerns(c, &h->fault[i], what))
            return &h->fault[i];
    return NULL;
}

nvmlReturn_t sim_fault(const struct sim_call *c, uint32_t what, bool in_fields)
{
    const struct simgpu_header *h = c->s->h;
    for (uint32_t i = 0; i < h->fault_count; i++) {
        const struct simgpu_fault *f = &h->fault[i];
        if (!concerns(c, f, what))
            continue;
        if (f->kind == SIMGPU_FAULT_NOT_SUPPORTED || f->kind == SIMGPU_FAULT_LOST ||
            f->kind == SIMGPU_FAULT_NO_PERMISSION || f->kind == SIMGPU_FAULT_ERROR ||
            (f->kind == SIMGPU_FAULT_ENTRY && in_fields))
            return f->code;
    }
    return NVML_SUCCESS;
}

nvmlReturn_t sim_enter_system(struct sim_call *c)
{
    struct simgpu *s = atomic_load(&lib.state);
    if (!s)
        return NVML_ERROR_UNINITIALIZED;
    *c = (struct sim_call){.s = s, .gpu = -1, .mig = -1};
    c->now = simgpu_now(s);
    atomic_fetch_add_explicit(&s->h->calls, 1, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&lib.calls, 1, memory_order_relaxed) % 2048 == 2047)
        simgpu_trim(s);
    spend(c, s->h->call_cost_ns);
    return NVML_SUCCESS;
}

nvmlReturn_t sim_enter(struct sim_call *c, nvmlDevice_t dev, uint32_t what, int handles)
{
    nvmlReturn_t r = sim_enter_system(c);
    if (r)
        return r;
    uintptr_t at = (uintptr_t)dev - (uintptr_t)lib.dev;
    if (at >= sizeof lib.dev || at % sizeof(struct nvmlDevice_st) != 0 ||
        (uint32_t)dev->gpu >= c->s->h->gpu_count)
        return NVML_ERROR_INVALID_ARGUMENT;
    c->gpu = dev->gpu;
    c->mig = dev->mig;
    c->g = &c->s->g[c->gpu];
    if (c->mig >= 0 && (c->mig >= SIMGPU_MAX_MIG || !c->g->mig[c->mig].present))
        return NVML_ERROR_INVALID_ARGUMENT;
    if (c->s->h->fault_count) {
        const struct simgpu_fault *slow = sim_fault_find(c, SIMGPU_FAULT_SLOW, what);
        if (slow)
            spend(c, slow->value);
        r = sim_fault(c, what, false);
        if (r)
            return r;
    }
    return c->mig >= 0 && handles == SIM_WHOLE ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

nvmlReturn_t sim_text(const char *text, char *out, unsigned n)
{
    size_t len = strlen(text);
    if (!out || n == 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (len >= n)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(out, text, len + 1);
    return NVML_SUCCESS;
}

/* ---- start and end ---- */

static nvmlReturn_t start(void)
{
    nvmlReturn_t r = NVML_SUCCESS;
    pthread_mutex_lock(&lib.lock);
    if (lib.users == 0) {
        const char *path = getenv(SIMGPU_ENV);
        struct simgpu *s = NULL;
        lib.why[0] = 0;
        if (!path || !*path) {
            snprintf(lib.why, sizeof lib.why, "%s is not set: start the program under joulemark-sim gpu.",
                     SIMGPU_ENV);
            r = NVML_ERROR_DRIVER_NOT_LOADED;
        } else if (simgpu_open(&s, path, lib.why, sizeof lib.why) != 0) {
            r = NVML_ERROR_OPERATING_SYSTEM;
        }
#ifndef SIM_NVML_INSIDE
        if (!r && !simgpu_has_vendor(s, 0x10de)) {
            snprintf(lib.why, sizeof lib.why, "none of the simulated devices is NVIDIA's.");
            r = NVML_ERROR_DRIVER_NOT_LOADED;
            simgpu_close(s);
        }
#endif
        if (!r) {
            struct sim_call c = {.s = s, .gpu = -1, .now = simgpu_now(s)};
            const struct simgpu_fault *f = sim_fault_find(&c, SIMGPU_FAULT_INIT, SIMGPU_W_ALL);
            if (f) {
                snprintf(lib.why, sizeof lib.why, "a fault of the simulation says so.");
                r = f->code;
                simgpu_close(s);
            }
        }
        if (!r) {
            for (int i = 0; i < SIMGPU_MAX_GPUS; i++)
                for (int k = 0; k <= SIMGPU_MAX_MIG; k++)
                    lib.dev[i][k] = (struct nvmlDevice_st){.gpu = i, .mig = k - 1};
            atomic_store(&lib.state, s);
        }
    }
    if (!r)
        lib.users++;
    pthread_mutex_unlock(&lib.lock);
    return r;
}

nvmlReturn_t nvmlInit(void);
nvmlReturn_t nvmlInit_v2(void);
nvmlReturn_t nvmlInitWithFlags(unsigned flags);
nvmlReturn_t nvmlShutdown(void);

NVML_API nvmlReturn_t nvmlInit(void)
{
    return start();
}

NVML_API nvmlReturn_t nvmlInit_v2(void)
{
    return start();
}

NVML_NEW nvmlReturn_t nvmlInitWithFlags(unsigned flags)
{
    return flags & ~7u ? NVML_ERROR_INVALID_ARGUMENT : start();
}

NVML_API nvmlReturn_t nvmlShutdown(void)
{
    nvmlReturn_t r = NVML_SUCCESS;
    pthread_mutex_lock(&lib.lock);
    if (lib.users == 0) {
        r = NVML_ERROR_UNINITIALIZED;
    } else if (--lib.users == 0) {
        simgpu_close(atomic_exchange(&lib.state, NULL));
    }
    pthread_mutex_unlock(&lib.lock);
    return r;
}

const char *nvmlErrorString(nvmlReturn_t r);
NVML_API const char *nvmlErrorString(nvmlReturn_t r)
{
    static const char *const text[] = {
        [0] = "Success",
        [1] = "Uninitialized",
        [2] = "Invalid Argument",
        [3] = "Not Supported",
        [4] = "Insufficient Permissions",
        [5] = "Already Initialized",
        [6] = "Not Found",
        [7] = "Insufficient Size",
        [8] = "Insufficient External Power",
        [9] = "Driver Not Loaded",
        [10] = "Timeout",
        [11] = "Interrupt Request Issue",
        [12] = "NVML Shared Library Not Found",
        [13] = "Function Not Found",
        [14] = "Corrupted infoROM",
        [15] = "GPU is lost",
        [16] = "GPU requires reset",
        [17] = "GPU access blocked by the operating system",
        [18] = "Driver/library version mismatch",
        [19] = "In use by another client",
        [20] = "Insufficient Memory",
        [21] = "No Data",
        [25] = "Argument version mismatch",
        [26] = "Deprecated",
        [27] = "Not Ready",
        [28] = "GPU Not Found",
        [29] = "Invalid State",
    };
    if (r >= 0 && (size_t)r < sizeof text / sizeof *text && text[r])
        return text[r];
    return "Unknown Error";
}

/* ---- the system ---- */

nvmlReturn_t nvmlSystemGetDriverVersion(char *out, unsigned n);
nvmlReturn_t nvmlSystemGetNVMLVersion(char *out, unsigned n);
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *out);
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *out);
nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char *out, unsigned n);
nvmlReturn_t nvmlUnitGetCount(unsigned *out);

NVML_API nvmlReturn_t nvmlSystemGetDriverVersion(char *out, unsigned n)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter_system(&c);
    return r ? r : sim_text(c.s->h->driver, out, n);
}

NVML_API nvmlReturn_t nvmlSystemGetNVMLVersion(char *out, unsigned n)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter_system(&c);
    return r ? r : sim_text(c.s->h->nvml, out, n);
}

NVML_NEW nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *out)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter_system(&c);
    if (r || !out)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    *out = c.s->h->cuda;
    return NVML_SUCCESS;
}

NVML_NEW nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *out)
{
    return nvmlSystemGetCudaDriverVersion(out);
}

NVML_API nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char *out, unsigned n)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter_system(&c);
    if (r || !out || !n)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    char path[64], name[256];
    snprintf(path, sizeof path, "/proc/%u/comm", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return NVML_ERROR_NOT_FOUND;
    size_t len = fread(name, 1, sizeof name - 1, f);
    fclose(f);
    name[len] = 0;
    name[strcspn(name, "\n")] = 0;
    snprintf(out, n, "%s", name);
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlUnitGetCount(unsigned *out)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter_system(&c);
    if (r || !out)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    *out = 0;
    return NVML_SUCCESS;
}

/* ---- handles ---- */

nvmlReturn_t nvmlDeviceGetCount(unsigned *out);
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *out);
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t *out);
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *out);
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *out);
nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *out);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *id, nvmlDevice_t *out);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *out);

NVML_API nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *out)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter_system(&c);
    if (r || !out)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    *out = c.s->h->gpu_count; /* also counts devices that may not be opened */
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetCount(unsigned *out)
{
    return nvmlDeviceGetCount_v2(out);
}

static nvmlReturn_t give(struct sim_call *c, int gpu, int mig, nvmlDevice_t *out)
{
    c->gpu = gpu;
    nvmlReturn_t r = sim_fault(c, SIMGPU_W_HANDLE, false);
    if (!r)
        *out = sim_handle(gpu, mig);
    return r;
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *out)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter_system(&c);
    if (r)
        return r;
    if (!out || index >= c.s->h->gpu_count)
        return NVML_ERROR_INVALID_ARGUMENT;
    return give(&c, (int)index, -1, out);
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t *out)
{
    return nvmlDeviceGetHandleByIndex_v2(index, out);
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *out)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter_system(&c);
    if (r)
        return r;
    if (!uuid || !out)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < (int)c.s->h->gpu_count; i++) {
        const struct simgpu_gpu *g = &c.s->g[i];
        if (strcmp(uuid, g->uuid) == 0)
            return give(&c, i, -1, out);
        for (int k = 0; k < SIMGPU_MAX_MIG; k++)
            if (g->mig[k].present && strcmp(uuid, g->mig[k].uuid) == 0)
                return give(&c, i, k, out);
    }
    return NVML_ERROR_NOT_FOUND;
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *out)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter_system(&c);
    if (r)
        return r;
    if (!serial || !out)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < (int)c.s->h->gpu_count; i++)
        if (strcmp(serial, c.s->g[i].serial) == 0)
            return give(&c, i, -1, out);
    return NVML_ERROR_NOT_FOUND;
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *out)
{
    struct sim_call c;
    nvmlReturn_t r = sim_enter_system(&c);
    if (r)
        return r;
    uint32_t domain, bus, device;
    if (!id || !out || !simgpu_pci(id, &domain, &bus, &device))
        return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < (int)c.s->h->gpu_count; i++) {
        const struct simgpu_gpu *g = &c.s->g[i];
        if (g->pci_domain == domain && g->pci_bus == bus && g->pci_device == device)
            return give(&c, i, -1, out);
    }
    return NVML_ERROR_NOT_FOUND;
}

NVML_API nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *id, nvmlDevice_t *out)
{
    return nvmlDeviceGetHandleByPciBusId_v2(id, out);
}
