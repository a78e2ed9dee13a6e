/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine does to its boards. Power is told ahead of time: at the start of a step its power and, at
 * its planned end, that of idling, which the next step replaces; so readers see exactly what the truth holds,
 * and a board whose engine died idles. Without a state file everything is only counted.
 */
#ifndef SIM_ENGINE_POWER_H
#define SIM_ENGINE_POWER_H

#include "model.h"

struct simgpu;

__extension__ typedef __int128 sim_fj; /* uW x ns = 1e-15 J: exact sums */

struct sim_board_state {
    int index;     /* in the state file */
    int pid;       /* in its process list */
    int64_t t;     /* of the last change */
    int64_t uw;    /* from then on */
    int64_t until; /* from then on idle_uw again; INT64_MAX: no change planned */
    sim_fj energy; /* up to t */
};

struct sim_power {
    struct simgpu *gpu; /* NULL: only counted */
    const struct sim_model *model;
    struct sim_board_state *board;
    int n;
    int64_t idle_uw;
    int64_t t_start;
    int util, mem, clock; /* as last told */
    uint64_t refused;     /* changes that sim gpu did not take: somebody else drives */
};

/* pids: the process on each board; NULL: this one. */
int sim_power_open(struct sim_power *p, const struct sim_model *m, const char *state, const int *gpu,
                   int gpus, const int *pids, int64_t now, char *why, size_t whylen);
void sim_power_close(struct sim_power *p, int64_t now);
/* The limits of the boards, the lowest of each where they differ. */
void sim_power_limits(const struct sim_power *p, struct sim_limits *out);
/* A step from t0 (not before the end of the one before) to t1. */
void sim_power_step(struct sim_power *p, int64_t t0, int64_t t1, const struct sim_cost *cost);
void sim_power_idle(struct sim_power *p); /* no step follows: utilisation falls to 0 */
sim_fj sim_power_energy(const struct sim_power *p, int board, int64_t t);

#endif
