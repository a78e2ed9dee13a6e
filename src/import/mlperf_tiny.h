/* SPDX-License-Identifier: Apache-2.0 */
/* Files of an MLPerf Tiny run in energy mode: which there are, what log and results say, and the samples of a
 * trace in bounded memory. mlperf/tiny.h has the layout. */
#ifndef JM_IMPORT_MLPERF_TINY_H
#define JM_IMPORT_MLPERF_TINY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/tiny_trace.h"

#define JM_TINY_TRACES  64
#define JM_TINY_WINDOWS 4096

struct jm_tiny_file { /* a trace */
    char name[64];    /* "trace1" */
    char *energy, *times;
};
struct jm_tiny_claim { /* of results.txt */
    int number;
    double at_s, seconds, uj, per_uj, inferences, runtime_s; /* NaN: not said */
};
struct jm_tiny_dir {
    char dir[4096];
    /* of MLCommons' runner (v1.3): results.txt begins with "Power Edition Output", no traces; the samples of
     * all trials in results.json, where it was submitted. NULL: it is not there. */
    bool trials;
    char *json;
    struct jm_tiny_file trace[JM_TINY_TRACES];
    size_t n, left_out;
    /* log.txt and results.txt */
    bool has_log, has_results, energy_mode, no_memory; /* no_memory: while it was read */
    char model[64], device[128], instrument[32], error[160];
    int64_t volts_mv, errors;
    double drop_limit, bad_percent, median_uj, median_speed;
    double *inferences; /* of each inference command of the log, in order */
    size_t n_inferences;
    struct jm_tiny_claim *claim;
    size_t n_claim;
};

/* Is there a *-energy.bin with its timestamps, or the results of MLCommons' runner? */
bool jm_tiny_dir_at(const char *path);
int jm_tiny_list(const char *path, struct jm_tiny_dir *out, struct jm_err *err);
void jm_tiny_list_release(struct jm_tiny_dir *d);

/* The windows between the edges in which inferences ran: edge[first], edge[first + 1] is one, and so on by
 * two. The first edge of a run is that of the device's start. */
size_t jm_tiny_first(const struct jm_tiny_dir *d, size_t n_edges);

/* All samples in order; fn returns non-zero to stop (passed on). *rest: bytes after the last whole sample. */
typedef int (*jm_tiny_fn)(void *self, int64_t i, double uj);
int jm_tiny_samples(const char *path, double *rate_hz, jm_tiny_fn fn, void *self, size_t *rest,
                    struct jm_err *err);
/* A trial of MLCommons' runner: its load lies between samples start and stop, of JM_TINY_TRIAL_HZ. */
#define JM_TINY_TRIAL_HZ 1000.0
struct jm_tiny_trial {
    int number;
    int64_t start, stop;
    size_t stamps;            /* edges of the device's pin; there may be more than two, the last two count */
    bool broken;              /* an edge was lost: their counters do not follow each other */
    double inferences, volts; /* NaN: not said */
};
typedef int (*jm_tiny_trial_fn)(void *self, const struct jm_tiny_trial *t, struct jm_err *err);
/* Each trial, then its samples (on_sample counts from 0 in each). Whatever its size, the file is not in
 * memory. Source: mlcommons/tiny benchmark/runner main.py print_energy_results. */
int jm_tiny_trials(const char *path, jm_tiny_trial_fn on_trial, jm_tiny_fn on_sample, void *self,
                   struct jm_err *err);
int jm_tiny_trials_in(struct jm_span text, jm_tiny_trial_fn on_trial, jm_tiny_fn on_sample, void *self,
                      struct jm_err *err);
/* Timestamps of a trace: *edge is to be freed. */
int jm_tiny_edges(const char *path, double **edge, size_t *n, struct jm_err *err);

#endif
