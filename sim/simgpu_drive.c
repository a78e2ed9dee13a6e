/* SPDX-License-Identifier: Apache-2.0 */
#include "simgpu_drive.h"
#include "simgpu_power.h"

#include <errno.h>
#include <math.h>

static struct simgpu_gpu *gpu_of(const struct simgpu *s, int gpu)
{
    return gpu >= 0 && (uint32_t)gpu < s->h->gpu_count ? &s->g[gpu] : NULL;
}

static void step_store(struct simgpu_step *p, struct simgpu_step v)
{
    __atomic_store_n(&p->t_ns, v.t_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&p->uw, v.uw, __ATOMIC_RELAXED);
    __atomic_store_n(&p->before.lo, v.before.lo, __ATOMIC_RELAXED);
    __atomic_store_n(&p->before.hi, v.before.hi, __ATOMIC_RELAXED);
}

int simgpu_drive_power(struct simgpu *s, int gpu, int64_t t_ns, double watts)
{
    struct simgpu_gpu *g = gpu_of(s, gpu);
    if (!g || !(watts >= 0) || watts > 100000)
        return -EINVAL;
    if (g->mode != SIMGPU_DRIVEN)
        return -ENOTSUP;
    struct simgpu_step *ring = simgpu_ring(s, g);
    uint64_t head = atomic_load_explicit(&g->ring_head, memory_order_relaxed), mask = g->ring_size - 1;
    struct simgpu_step last = ring[(head - 1) & mask];
    if (t_ns < last.t_ns)
        return -EINVAL;
    struct simgpu_settings set;
    simgpu_settings_at(s, gpu, t_ns, &set);
    int64_t uw = llround(watts * 1e6);
    if (set.limit_set && uw > set.limit_uw)
        uw = set.limit_uw;
    if (set.limit_set && last.uw == set.limit_uw)
        atomic_fetch_add(&g->driven_capped_ns, t_ns - last.t_ns);
    struct simgpu_step v = {.t_ns = t_ns, .uw = uw};
    v.before = simgpu_fj_put(simgpu_fj_get(last.before) + (simgpu_fj)last.uw * (t_ns - last.t_ns));
    atomic_thread_fence(
        memory_order_release); /* a reader that sees part of this step sees the head of before */
    step_store(&ring[head & mask], v);
    atomic_store_explicit(&g->ring_head, head + 1, memory_order_release);
    return 0;
}

int simgpu_drive_util(struct simgpu *s, int gpu, int gpu_pct, int mem_pct)
{
    struct simgpu_gpu *g = gpu_of(s, gpu);
    if (!g || gpu_pct < -1 || gpu_pct > 100 || mem_pct < -1 || mem_pct > 100)
        return -EINVAL;
    atomic_store(&g->util_gpu, gpu_pct);
    atomic_store(&g->util_mem, mem_pct);
    return 0;
}

int simgpu_drive_clocks(struct simgpu *s, int gpu, int sm_mhz, int mem_mhz)
{
    struct simgpu_gpu *g = gpu_of(s, gpu);
    if (!g || sm_mhz < -1 || sm_mhz > 100000 || mem_mhz < -1 || mem_mhz > 100000)
        return -EINVAL;
    atomic_store(&g->sm_mhz, sm_mhz);
    atomic_store(&g->mem_mhz, mem_mhz);
    return 0;
}

int simgpu_drive_temp(struct simgpu *s, int gpu, int temp_c)
{
    struct simgpu_gpu *g = gpu_of(s, gpu);
    if (!g || temp_c < -1 || temp_c > 200)
        return -EINVAL;
    atomic_store(&g->temp_c, temp_c);
    return 0;
}

static int process_slot(const struct simgpu_gpu *g, uint32_t pid)
{
    for (int i = 0; i < SIMGPU_MAX_PROCS; i++)
        if (g->proc[i].pid == pid)
            return i;
    return -ENOSPC;
}

static void process_put(struct simgpu_gpu *g, int slot, struct simgpu_proc p)
{
    atomic_fetch_add_explicit(&g->proc_seq, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    simgpu_copy_shared(&g->proc[slot], &p, sizeof p);
    atomic_fetch_add_explicit(&g->proc_seq, 1, memory_order_release);
}

int simgpu_drive_process(struct simgpu *s, int gpu, uint32_t pid, uint64_t memory, int sm_pct, int mem_pct)
{
    struct simgpu_gpu *g = gpu_of(s, gpu);
    if (!g || pid == 0 || sm_pct < 0 || sm_pct > 100 || mem_pct < 0 || mem_pct > 100)
        return -EINVAL;
    int slot = process_slot(g, pid);
    if (slot < 0)
        slot = process_slot(g, 0);
    if (slot < 0)
        return slot;
    process_put(g, slot,
                (struct simgpu_proc){.pid = pid,
                                     .memory = memory,
                                     .gi = UINT32_MAX,
                                     .ci = UINT32_MAX,
                                     .sm_pct = (uint32_t)sm_pct,
                                     .mem_pct = (uint32_t)mem_pct});
    return 0;
}

int simgpu_drive_process_remove(struct simgpu *s, int gpu, uint32_t pid)
{
    struct simgpu_gpu *g = gpu_of(s, gpu);
    if (!g || pid == 0)
        return -EINVAL;
    int slot = process_slot(g, pid);
    if (slot >= 0)
        process_put(g, slot, (struct simgpu_proc){0});
    return 0;
}

int simgpu_drive_setting(const struct simgpu *s, int gpu, struct simgpu_setting *out)
{
    const struct simgpu_gpu *g = gpu_of(s, gpu);
    if (!g)
        return -EINVAL;
    struct simgpu_settings set;
    simgpu_settings_at(s, gpu, simgpu_now(s), &set);
    *out = (struct simgpu_setting){.limit_w = (double)set.limit_uw / 1e6,
                                   .limit_default_w = (double)g->limit_default_uw / 1e6,
                                   .idle_w = (double)g->idle_uw / 1e6,
                                   .limit_set = set.limit_set,
                                   .sm_min_mhz = (int)set.gpu_min_mhz,
                                   .sm_max_mhz = (int)set.gpu_max_mhz,
                                   .mem_min_mhz = (int)set.mem_min_mhz,
                                   .mem_max_mhz = (int)set.mem_max_mhz,
                                   .max_sm_mhz = (int)g->max_sm_mhz,
                                   .max_mem_mhz = (int)g->max_mem_mhz,
                                   .memory = g->memory,
                                   .driven = g->mode == SIMGPU_DRIVEN};
    return 0;
}
