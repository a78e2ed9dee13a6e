/* SPDX-License-Identifier: Apache-2.0 */
/* Power of MLPerf Training. A result is a folder:
 *
 *   results/<system>/<benchmark>/result_<i>.txt                        one run each (:::MLLOG lines)
 *   results/<system>/<benchmark>/power/result_<i>/node_<j>.txt         power of the nodes in that run
 *   results/<system>/<benchmark>/power/result_<i>/sw_<k>.txt           of the switches, measured or estimated
 *
 * Every energy is given twice: as the public code has it (mlcommons/logging result_summarizer: the mean over
 * the measurement, scaled to the length of the run), and as the rules say it (mlcommons/training_policies
 * power_measurement.adoc: each reading times the time since the one before, over the timed part of the run,
 * switches included, clocks of the parts aligned). NaN: there is none; why says it. */
#ifndef JM_MLPERF_TRAINING_H
#define JM_MLPERF_TRAINING_H

#include <stdbool.h>
#include <stdint.h>

#include "mlperf/rule.h"

/* One file of a run: a node or a switch. */
struct jm_training_part {
    char name[64]; /* "node_0" */
    bool is_switch;
    double published_j, proper_j; /* J, times the conversion efficiency as both sources do */
    double input_j;    /* proper, before the efficiency: at the input of the supplies where that was
                          measured; equal to proper_j where there is none */
    double efficiency; /* conversion_eff, 1 where it is not given */
    double estimate_w; /* interconnect_power_est; NaN: none */
    double covered_s,
        extended_s; /* of the run: under readings; at its edges bridged by the nearest reading */
    int64_t readings, in_run, bad; /* bad: no number, no time, or below 0 */
    int64_t repeats;               /* readings with the stamp of the one before */
    int64_t late;                  /* gaps above 1.5 s inside the run */
    double max_gap_s, mean_gap_s;  /* inside the run; NaN: fewer than two readings there */
    double mean_w;                 /* of the readings inside the run, each times its time; NaN */
    char type[16];                 /* measurement_type: "AC", "DC"; "": not said */
    int index;                     /* of the name; -1: none */
    bool has_estimate, has_start, has_stop;
    double measured_s;     /* from power_measurement_start to its stop; NaN */
    double starts_apart_s; /* start after the median start of the run's parts, clocks aligned; NaN */
    double offset_s;       /* added to its stamps to get those of the run; 0: none needed */
    bool offset_is_zone;   /* a whole number of quarter hours: a time zone */
    char why[256];         /* of a NaN or of anything odd; "" */
};

struct jm_training_run {
    char name[256];          /* "result_0" */
    bool has_power, success; /* success: run_stop says so */
    double seconds;          /* run_stop - run_start; NaN */
    int64_t start_ms, stop_ms;
    double published_j, proper_j, input_j;
    double nodes_j, switches_j; /* parts of proper_j */
    struct jm_training_part *part;
    size_t n_part;
    int nodes, switches;
    size_t others;  /* files of the power folder that are neither */
    bool file_name; /* the power folder is named like the file, "result_0.txt" */
    int64_t broken; /* lines of all its logs that begin as log lines and are none */
    char why[256];
};

struct jm_training_result {
    char dir[4096];
    char system[128], benchmark[128], submitter[128], division[16], round[8]; /* "": not known */
    double nodes_declared;       /* of the logs or of systems/<system>.json; NaN */
    const char *nodes_source;    /* which; NULL */
    struct jm_training_run *run; /* in the order of their names */
    size_t n_run, n_power;       /* runs; runs with power */
    /* Olympic means: fastest and slowest run left out (3D U-Net: four of each), times scaling.json */
    int left_out; /* at each end */
    double published_j, proper_j, input_j, minutes;
    double scaling;
    char why[256]; /* why there is no Olympic mean; "" */
};

/* Is there such a result at path (folder with result_*.txt and power/)? Cheap. */
bool jm_training_at(const char *path);
int jm_training_read(const char *path, struct jm_training_result **out, struct jm_err *err);
void jm_training_free(struct jm_training_result *t);
/* Rules T1 to T9; outcomes are added to c and its verdict is raised. */
int jm_training_check(const struct jm_training_result *t, struct jm_mlperf_checked *c, struct jm_err *err);

#endif
