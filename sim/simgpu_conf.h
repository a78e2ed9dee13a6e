/* SPDX-License-Identifier: Apache-2.0 */
/* The options of joulemark-sim gpu: one table for command line, configuration file and help. */
#ifndef SIMGPU_CONF_H
#define SIMGPU_CONF_H

#include "simgpu_profile.h"
#include "simgpu_state.h"

#include <stdbool.h>
#include <stddef.h>

/* One GPU as configured; a negative time or gain 0 in the sensors means: as its profile has it. */
struct simgpu_gpu_conf {
    const struct simgpu_profile *profile;
    char name[96], uuid[80], waveform[256], mig[128];
    uint32_t pci_domain, pci_bus, pci_device;
    bool pci_set;
    int64_t offset_ns;                    /* -1: random in the cycle, -2: spread over it */
    int64_t phase_ns;                     /* -1: random in the period, -2: spread over it */
    int64_t refresh_ns, gauge_refresh_ns; /* -1: the profile's */
    int64_t window_ns[SIMGPU_GAUGES];     /* -1: the profile's */
    int32_t gauge_off;                    /* bits by gauge id */
    int64_t jitter_ns, latency_ns;        /* latency -1: 0, and 2 ms when driven */
    int64_t counter_gain_ppb, gauge_gain_ppb;
    int64_t base_mj; /* -1: by the seed */
    int64_t idle_uw; /* -1: the profile's */
    int32_t counter; /* -1: the profile's */
    int32_t scope;   /* 0: the profile's */
};

struct simgpu_conf {
    int64_t gpus, seed;
    bool virtual_clock;
    int64_t start_ns, real_ns, call_cost_ns, ring;
    char driver[80], nvml[80];
    int64_t cuda;
    struct simgpu_fault fault[SIMGPU_MAX_FAULTS];
    uint32_t faults;
    struct {
        int gpu;
        bool child; /* pid of the command that is run */
        struct simgpu_proc p;
    } proc[256];
    uint32_t procs;
    struct simgpu_gpu_conf gpu[SIMGPU_MAX_GPUS];

    /* What was said about single GPUs; applied after what was said about all. */
    struct simgpu_said {
        int gpu;
        char *key, *value, *where;
    } * said;
    uint32_t said_count, said_room;
};

enum simgpu_key_kind { SIMGPU_KEY_ALL, SIMGPU_KEY_GPU, SIMGPU_KEY_LIST };

struct simgpu_key {
    const char *name;
    enum simgpu_key_kind kind; /* of the simulation; of a GPU; repeatable */
    bool flag;                 /* takes no value */
    const char *value, *help;  /* as shown */
    int (*set)(struct simgpu_conf *c, struct simgpu_gpu_conf *g, const char *value, char *why, size_t n);
};

const struct simgpu_key *simgpu_key_at(int i); /* NULL past the last */
const struct simgpu_key *simgpu_key_find(const char *name, size_t n);

int simgpu_conf_init(struct simgpu_conf *c);
void simgpu_conf_release(struct simgpu_conf *c);

/* Says one thing: gpu -1 for all. where is for messages ("--refresh", "node.conf:3"). 0, -EINVAL or -ENOMEM
 * with one sentence in why[n]. */
int simgpu_conf_say(struct simgpu_conf *c, int gpu, const char *key, const char *value, const char *where,
                    char *why, size_t n);

/* "3:gain=0.95,refresh=20ms" */
int simgpu_conf_say_gpu(struct simgpu_conf *c, const char *text, const char *where, char *why, size_t n);

/* Lines "key value", "gpu N key value", "fault ..."; '#' starts a comment. */
int simgpu_conf_file(struct simgpu_conf *c, const char *path, char *why, size_t n);

/* One such line without its comment; cut up in place. */
int simgpu_conf_line(struct simgpu_conf *c, char *line, const char *where, char *why, size_t n);

/* Applies everything that was said; afterwards the configuration is complete. */
int simgpu_conf_apply(struct simgpu_conf *c, char *why, size_t n);

/* Parses one fault or process: the values of the keys "fault" and "process". */
int simgpu_conf_fault(struct simgpu_conf *c, const char *text, char *why, size_t n);
int simgpu_conf_process(struct simgpu_conf *c, const char *text, char *why, size_t n);

/* Rows of the fault table, for help; NULL past the last. */
struct simgpu_fault_help {
    const char *kind, *text;
};
const struct simgpu_fault_help *simgpu_fault_help(int i);

/* Names of the groups of calls a fault can concern, for help; NULL past the last. */
const char *simgpu_what_name(int i);

/* Makes the state file (replacing one of that name). 0 or a negative errno with one sentence in why[n]. */
int simgpu_create(const struct simgpu_conf *c, const char *path, char *why, size_t n);

#endif
