/* SPDX-License-Identifier: Apache-2.0 */
/* True power and energy of a simulated GPU, and what its sensors make of them. All exact integers. */
#ifndef SIMGPU_POWER_H
#define SIMGPU_POWER_H

#include "simgpu_open.h"

struct simgpu_capped;
void simgpu_capped_free(struct simgpu_capped *c);

/* The settings in force at t. */
struct simgpu_settings {
    int64_t limit_uw;
    bool limit_set;
    int64_t gpu_min_mhz, gpu_max_mhz, mem_min_mhz, mem_max_mhz;
    int persistence;
};
void simgpu_settings_at(const struct simgpu *s, int gpu, int64_t t_ns, struct simgpu_settings *out);

/* Energy of the GPU from the start of the simulation to t (negative before it). 0, or -ENODATA when a
 * driver's ring no longer reaches back to t. */
int simgpu_energy(struct simgpu *s, int gpu, int64_t t_ns, simgpu_fj *out);

/* The same for a scope: GPU, MODULE (with what the module draws besides) or MEMORY (its share). */
int simgpu_energy_scope(struct simgpu *s, int gpu, enum simgpu_scope scope, int64_t t_ns, simgpu_fj *out);

/* Power at t, uW. */
int simgpu_power(struct simgpu *s, int gpu, int64_t t_ns, int64_t *uw);
int simgpu_power_scope(struct simgpu *s, int gpu, enum simgpu_scope scope, int64_t t_ns, int64_t *uw);

/* How long the power was held down by a limit, from the start to t. */
int64_t simgpu_capped_time(struct simgpu *s, int gpu, int64_t t_ns);

/* The last refresh of a sensor with this period that a reader at t can see. */
int64_t simgpu_tick(const struct simgpu *s, int gpu, int64_t period_ns, int64_t t_ns);

/* What the counter stands at when read at t, mJ, before faults: base + gain x energy since from_ns at the
 * last refresh. */
int simgpu_counter_at(struct simgpu *s, int gpu, int64_t tick_ns, int64_t from_ns, int64_t base_mj,
                      uint64_t *mj);

/* What a gauge refreshed at tick_ns shows in this scope, mW. */
int simgpu_gauge_at(struct simgpu *s, int gpu, enum simgpu_gauge_id id, enum simgpu_scope scope,
                    int64_t tick_ns, uint32_t *mw);

/* Mean power of [t0, t1], uW; power at t1 when t0 == t1. */
int simgpu_mean_uw(struct simgpu *s, int gpu, enum simgpu_scope scope, int64_t t0_ns, int64_t t1_ns,
                   int64_t *uw);

/* Appends a setting made now; exact from that moment on. 0 or -ENOSPC. */
int simgpu_set(struct simgpu *s, int gpu, enum simgpu_set_kind kind, int64_t a, int64_t b);

/* A hash whose bits are all good; the only source of randomness. */
uint64_t simgpu_hash(uint64_t a, uint64_t b, uint64_t c);

#endif
