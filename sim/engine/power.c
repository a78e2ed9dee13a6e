/* SPDX-License-Identifier: Apache-2.0 */
#include "power.h"

#include "simgpu_drive.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int sim_power_open(struct sim_power *p, const struct sim_model *m, const char *state, const int *gpu,
                   int gpus, const int *pids, int64_t now, char *why, size_t whylen)
{
    memset(p, 0, sizeof *p);
    p->model = m;
    p->t_start = now;
    p->idle_uw = llround(sim_model_loaded_idle_w(m) * 1e6);
    p->util = p->mem = p->clock = -2;
    if (gpus && gpus != m->gpus) {
        snprintf(why, whylen, "The model %s runs on %d boards, but %d are named.", m->name, m->gpus, gpus);
        return -1;
    }
    p->board = calloc((size_t)m->gpus, sizeof *p->board);
    if (!p->board) {
        snprintf(why, whylen, "There is no memory for the boards.");
        return -1;
    }
    p->n = m->gpus;
    for (int i = 0; i < p->n; i++)
        p->board[i] = (struct sim_board_state){.index = gpus ? gpu[i] : i,
                                               .pid = pids ? pids[i] : getpid(),
                                               .t = now,
                                               .uw = p->idle_uw,
                                               .until = INT64_MAX};
    if (!state)
        return 0;
    if (simgpu_open(&p->gpu, state, why, whylen) < 0)
        return -1;
    uint64_t kv = sim_model_kv_tokens(m);
    double memory =
        ((double)m->params * m->weight_bytes + (double)kv * m->kv_bytes) / m->gpus + m->activation_bytes;
    for (int i = 0; i < p->n; i++) {
        int g = p->board[i].index;
        struct simgpu_setting set;
        if (simgpu_drive_setting(p->gpu, g, &set) < 0 || !set.driven) {
            snprintf(why, whylen,
                     "GPU %d of %s is not there or follows a waveform of its own, so it cannot be driven.", g,
                     state);
            return -1;
        }
        if (simgpu_drive_power(p->gpu, g, now, (double)p->idle_uw / 1e6) < 0 ||
            simgpu_drive_process(p->gpu, g, (uint32_t)p->board[i].pid, (uint64_t)memory, 0, 0) < 0) {
            snprintf(why, whylen, "GPU %d of %s is driven by somebody else or its process list is full.", g,
                     state);
            return -1;
        }
    }
    sim_power_idle(p);
    return 0;
}

void sim_power_close(struct sim_power *p, int64_t now)
{
    for (int i = 0; p->gpu && i < p->n; i++) {
        struct sim_board_state *b = &p->board[i];
        int64_t t = b->until != INT64_MAX && b->until > now ? b->until : now;
        simgpu_drive_power(p->gpu, b->index, t, p->model->board.idle_w);
        simgpu_drive_process_remove(p->gpu, b->index, (uint32_t)b->pid);
        simgpu_drive_util(p->gpu, b->index, 0, 0);
        simgpu_drive_clocks(p->gpu, b->index, (int)p->model->board.clock_idle,
                            (int)p->model->board.clock_mem);
    }
    if (p->gpu)
        simgpu_close(p->gpu);
    free(p->board);
    memset(p, 0, sizeof *p);
}

void sim_power_limits(const struct sim_power *p, struct sim_limits *out)
{
    *out = (struct sim_limits){0};
    for (int i = 0; p->gpu && i < p->n; i++) {
        struct simgpu_setting s;
        if (simgpu_drive_setting(p->gpu, p->board[i].index, &s) < 0)
            continue;
        if (s.limit_w > 0 && (out->limit_w <= 0 || s.limit_w < out->limit_w))
            out->limit_w = s.limit_w;
        if (s.sm_max_mhz > 0 && (out->clock_mhz <= 0 || s.sm_max_mhz < out->clock_mhz))
            out->clock_mhz = s.sm_max_mhz;
    }
}

sim_fj sim_power_energy(const struct sim_power *p, int board, int64_t t)
{
    const struct sim_board_state *b = &p->board[board];
    if (t <= b->until)
        return b->energy + (sim_fj)b->uw * (t - b->t);
    return b->energy + (sim_fj)b->uw * (b->until - b->t) + (sim_fj)p->idle_uw * (t - b->until);
}

static void tell(struct sim_power *p, int util, int mem, int clock)
{
    if (!p->gpu || (util == p->util && mem == p->mem && clock == p->clock))
        return;
    p->util = util;
    p->mem = mem;
    p->clock = clock;
    for (int i = 0; i < p->n; i++) {
        simgpu_drive_util(p->gpu, p->board[i].index, util, mem);
        simgpu_drive_clocks(p->gpu, p->board[i].index, clock, (int)p->model->board.clock_mem);
    }
}

void sim_power_step(struct sim_power *p, int64_t t0, int64_t t1, const struct sim_cost *cost)
{
    int64_t uw = llround(cost->watts * 1e6);
    for (int i = 0; i < p->n; i++) {
        struct sim_board_state *b = &p->board[i];
        b->energy = sim_power_energy(p, i, t0);
        b->t = t0;
        b->uw = uw;
        b->until = t1;
        if (p->gpu) {
            p->refused += simgpu_drive_power(p->gpu, b->index, t0, (double)uw / 1e6) < 0;
            p->refused += simgpu_drive_power(p->gpu, b->index, t1, (double)p->idle_uw / 1e6) < 0;
        }
    }
    tell(p, 100, (int)lround(cost->memory_busy * 100), (int)lround(cost->clock_mhz));
}

void sim_power_idle(struct sim_power *p)
{
    struct sim_limits lim;
    sim_power_limits(p, &lim);
    double top = p->model->board.clock_max; /* a live context keeps the boards at P0 */
    tell(p, 0, 0, (int)(lim.clock_mhz > 0 && lim.clock_mhz < top ? lim.clock_mhz : top));
}
