/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the simulated library share. */
#ifndef SIM_NVML_SIM_H
#define SIM_NVML_SIM_H

#include "../simgpu_power.h"
#include "nvml_abi.h"

/* Every symbol of the current interface. The second build of this library, libnvidia-ml-old.so.1, stands for
 * a driver of the R340 to R390 time: what is NVML_NEW is not there, so that dlsym() finds nothing. */
#define SIM_PUBLIC __attribute__((visibility("default")))
/* Inside the simulated libraries of other makers (sim/accel) it is the engine below, and none of its names
 * shows. */
#ifdef SIM_NVML_INSIDE
#define NVML_API __attribute__((visibility("hidden")))
#else
#define NVML_API SIM_PUBLIC
#endif
#ifdef SIM_NVML_OLD
#define NVML_NEW __attribute__((visibility("hidden")))
#else
#define NVML_NEW NVML_API
#endif

/* One call that is being answered. */
struct sim_call {
    struct simgpu *s;
    struct simgpu_gpu *g;
    int gpu;
    int mig; /* -1: the whole GPU */
    int64_t now;
};

enum { SIM_WHOLE = 0, SIM_MIG_TOO = 1 }; /* which handles a call takes */

/* Begins a call about a device: is the library initialised, is the handle one of ours, does a fault concern
 * this group of calls now. Counts the call, lets it take its time. */
nvmlReturn_t sim_enter(struct sim_call *c, nvmlDevice_t dev, uint32_t what, int handles);

/* The same without a device. */
nvmlReturn_t sim_enter_system(struct sim_call *c);

/* Does a fault make this group of calls fail now? in_fields: as an entry of nvmlDeviceGetFieldValues. */
nvmlReturn_t sim_fault(const struct sim_call *c, uint32_t what, bool in_fields);

/* The fault of this kind that concerns the group now, or NULL. */
const struct simgpu_fault *sim_fault_find(const struct sim_call *c, int kind, uint32_t what);

nvmlDevice_t sim_handle(int gpu, int mig);

/* Copies text into a caller's buffer as NVML does. */
nvmlReturn_t sim_text(const char *text, char *out, unsigned n);

/* The counter and gauges with the faults of this moment. */
nvmlReturn_t sim_counter(const struct sim_call *c, unsigned long long *mj);
nvmlReturn_t sim_gauge(const struct sim_call *c, enum simgpu_gauge_id id, enum simgpu_scope scope,
                       unsigned *mw);

void sim_processes(const struct sim_call *c, struct simgpu_proc out[SIMGPU_MAX_PROCS]);

/* Where they do not follow a driver, these follow the power. */
unsigned sim_temperature(const struct sim_call *c);
void sim_utilization(const struct sim_call *c, int64_t t_ns, unsigned *gpu, unsigned *mem);
unsigned sim_clock(const struct sim_call *c, int type);
unsigned long long sim_reasons(const struct sim_call *c);
bool sim_is_idle(const struct sim_call *c);

#endif
