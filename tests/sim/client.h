/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses the simulated NVML library: state file, dlopen, calls by name. */
#ifndef TEST_SIM_CLIENT_H
#define TEST_SIM_CLIENT_H

#include "gpu/nvml_abi.h"
#include "simgpu_drive.h"
#include "simgpu_truth.h"

#define S  ((int64_t)1000000000)
#define MS ((int64_t)1000000)

/* A state file made from words ("gpus", "2", "waveform", "const:350W", NULL); flags take "". Virtual clock.
 */
struct sim {
    struct simgpu *s;
    int64_t t0; /* the clock at the start */
    char path[64];
    void *lib;
    nvmlDevice_t dev[64];
};
void sim_start(struct sim *m, ...);
void sim_stop(struct sim *m);
int sim_create_only(struct sim *m, char *why, size_t n,
                    ...); /* what simgpu_conf_* and simgpu_create() return */

/* Loads libnvidia-ml.so.1 (or its old form), initialises it, takes all handles that it gives. */
void sim_load(struct sim *m, const char *file);
void sim_unload(struct sim *m);

/* Moves the clock to this time after the start. */
void sim_at(struct sim *m, int64_t t);

/* A function of the library; the test fails when it is not there. */
typedef int (*fn_dev_u)(nvmlDevice_t, unsigned *);
typedef void (*sim_any)(void);
sim_any sim_fn(const struct sim *m, const char *name);
int sim_u32(const struct sim *m, const char *name, int gpu, unsigned *out);
int sim_energy(const struct sim *m, int gpu, unsigned long long *mj);
int sim_field(const struct sim *m, int gpu, unsigned id, unsigned scope, nvmlFieldValue_t *out);

#endif
