/* SPDX-License-Identifier: Apache-2.0 */
/* Energy of MLPerf Tiny: the folder of a run of the EEMBC runner in energy mode, with trace<k>-energy.bin
 * (energy per sample), trace<k>-timestamps.json (edges of the device's pin), log.txt and results.txt; or that
 * of MLCommons' own runner (v1.3), with results.txt, log.txt and, where it was submitted, results.json.
 *
 * Each window is given twice: as the runner has it (whole samples, by its own running sum of time), and with
 * the samples at both edges in proportion. NaN: there is none. */
#ifndef JM_MLPERF_TINY_H
#define JM_MLPERF_TINY_H

#include <stdbool.h>
#include <stdint.h>

#include "mlperf/rule.h"

struct jm_tiny_window {
    char trace[64];        /* "trace1" */
    int number;            /* as the runner counts them: 2, 4, 6, ... */
    double start_s, end_s; /* in the trace */
    double published_uj, proper_uj;
    double inferences;                /* of the log; NaN */
    double published_per, proper_per; /* uJ per inference */
    double claimed_uj, claimed_per;   /* what results.txt says; NaN */
    int64_t samples, dropped;         /* dropped: no number */
};

struct jm_tiny_result {
    char dir[4096];
    char model[64], device[128], instrument[32], submitter[128], system[128], benchmark[64], round[8];
    bool has_log, has_results, energy_mode; /* energy_mode: the device said so */
    bool trials,
        has_samples;   /* trials: of MLCommons' runner, each of its own; has_samples: in results.json */
    bool lost_edge;    /* the counters of a trial's edges do not follow each other */
    int64_t errors;    /* of the runner */
    char error[160];   /* the first */
    size_t n_edges;    /* of all traces */
    size_t n_commands; /* inference commands of the log */
    int64_t volts_mv;  /* supply; -1: not known */
    struct jm_tiny_window *window;
    size_t n_window;
    double rate_hz; /* of the first trace */
    int64_t samples, dropped;
    double median_published, median_proper; /* uJ per inference */
    double claimed_median;                  /* of results.txt; NaN */
    double throughput;                      /* inferences per second, median */
    double drop_limit;                      /* m-dropthresh, %; NaN */
    double bad_percent;                     /* what the driver itself counted, %; NaN */
    char why[256];                          /* of a NaN; "" */
};

bool jm_tiny_at(const char *path);
int jm_tiny_read(const char *path, struct jm_tiny_result **out, struct jm_err *err);
void jm_tiny_free(struct jm_tiny_result *t);
int jm_tiny_check(const struct jm_tiny_result *t, struct jm_mlperf_checked *c, struct jm_err *err);

#endif
