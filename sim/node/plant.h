/* SPDX-License-Identifier: Apache-2.0 */
/* A whole node in virtual time: what every part of it truly draws, and so the exact energy of each between
 * any two times. Power is constant over steps of PLANT_STEP_NS; everything else (the inlet, the losses)
 * follows from the parts step by step, so that inlet = node + losses and node = the sum of its parts, always.
 *
 * GPUs: requests arrive at random and are served by the batching and the power law of the simulated engine.
 * CPU: a floor, a share that follows the engine, and a load of its own (a random walk that returns to its
 * mean). Fans: the heat of the others asks for a speed, which the real one follows with a first-order lag;
 * power goes with its cube. Power supplies: an 80 PLUS table of efficiency at 10, 20, 50 and 100 % of the
 * rated output; between them the loss is interpolated. */
#ifndef SIM_NODE_PLANT_H
#define SIM_NODE_PLANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLANT_STEP_NS INT64_C(10000000)
#define PLANT_GPUS    64
#define PLANT_PSUS    8

struct plant_conf {
    double minutes, lead_s; /* length of the window; what is simulated before and after it */
    double seed, course;    /* course: of what is random in time; the machine is the seed's alone */
    double gpus, load;      /* share of the throughput that the engines can reach, 0: idle */
    double isl, osl;        /* mean tokens of a request */
    double sockets, cpu_idle_w, cpu_busy_w, cpu_own_w; /* a socket; own: deviation of its own load */
    double dram_w, nic_w, storage_w, switch_w, board_w;
    double fans_w, fans_least, fans_lag_s; /* power at full speed, least speed (share), time constant */
    double psus, psu_rated_w, psu_share;   /* psu_share: of the first of two or more */
    int psu_grade;                         /* row of plant_grades */
};

struct plant_grade {
    const char *name;
    double efficiency[4]; /* at 10, 20, 50, 100 % of the rated output */
    double idle;          /* loss at no load, of the rated output */
};
extern const struct plant_grade plant_grades[]; /* ends with NULL */

struct plant_part {
    char kind[16]; /* as domains are called: "gpu", "package", "inlet_ac", ... */
    char key[48], label[48];
    int parent; /* index, -1: root */
    double *p;  /* W of each step */
    double *e;  /* J from the start to the start of each step, n + 1 values */
};

struct plant_request {
    int64_t arrive, first, last; /* ns since the start */
    uint32_t prompt, output;
    int engine;
};

struct plant {
    struct plant_conf conf;
    size_t n;       /* steps */
    int64_t t0, t1; /* the window, ns since the start */
    struct plant_part *part;
    int parts, inlet, node, first_gpu, first_package, dram, first_psu; /* first_psu -1: the inlet is one */
    struct plant_request *req;
    size_t reqs, req_room;
    double capacity; /* requests a second at full load, all engines */
};

void plant_defaults(struct plant_conf *c);
/* 0, or -1 with one sentence in why. */
int plant_make(struct plant *pl, const struct plant_conf *c, char *why, size_t n);
void plant_free(struct plant *pl);
/* J of a part between two times (ns since the start), exact; before the start and after the end the power
 * stands as it was. */
double plant_energy(const struct plant *pl, int part, int64_t t0, int64_t t1);
double plant_loss(const struct plant_grade *g, double rated_w, double out_w);

/* Randomness: uniform in (0, 1], and normal, from a state of one word. */
double plant_uniform(uint64_t *s);
double plant_normal(uint64_t *s);

#endif
