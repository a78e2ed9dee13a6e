/* SPDX-License-Identifier: Apache-2.0 */
/* Files of an MLPerf Training result with power (mlperf/training.h has the layout): which there are, and the
 * points of one log in order of time, in bounded memory whatever its size. */
#ifndef JM_IMPORT_MLPERF_TRAINING_H
#define JM_IMPORT_MLPERF_TRAINING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/mllog.h"

#define JM_TRAINING_RUNS  1024
#define JM_TRAINING_PARTS 16384
/* More lines than these in one power log are read only where they are in order of time. */
#define JM_TRAINING_SORT ((size_t)1 << 20)

struct jm_training_file {
    char *path;
    char name[64]; /* "node_0" */
    bool is_switch;
    int index; /* -1: the name has no plain number */
};

struct jm_training_files {
    char name[256]; /* "result_0" */
    char *log;      /* result_0.txt; NULL: there is a power folder only */
    char *power;    /* its folder; NULL: none */
    bool file_name; /* the power folder is called "result_0.txt", where the public code does not find it */
    struct jm_training_file *file; /* nodes by index, then switches */
    size_t n;
    size_t others; /* files in the folder that are neither */
};

struct jm_training_dir {
    char dir[4096];
    struct jm_training_files *run; /* by name, numbers as numbers */
    size_t n, left_out;            /* left_out: beyond the limits */
};

/* Has path result_*.txt and a folder power/ with folders in it? */
bool jm_training_dir_at(const char *path);
/* JM_EABSENT: no such result; JM_ENOMEM. */
int jm_training_list(const char *path, struct jm_training_dir *out, struct jm_err *err);
void jm_training_list_release(struct jm_training_dir *d);

/* Calls fn for each log line of a file, with its number; fn returns non-zero to stop (passed on). *broken
 * counts lines that begin as log lines but are none, and lines of more than 1 MiB. */
typedef int (*jm_training_fn)(void *self, const struct jm_mllog *e, int64_t line);
int jm_training_scan(const char *path, jm_training_fn fn, void *self, int64_t *broken, struct jm_err *err);

/* When a run began and ended, and what its log says of itself. */
struct jm_training_log {
    bool has_start, has_stop, success;
    int64_t start_us, stop_us;
    char benchmark[64], submitter[64], division[16], status[16], platform[128];
    double nodes; /* number_of_nodes; NaN */
    int64_t broken;
};
int jm_training_read_log(const char *path, struct jm_training_log *out, struct jm_err *err);

/* The points of a power log in order of time, those of one time in order of the file. */
enum jm_training_point_kind { JM_TP_START, JM_TP_READING, JM_TP_STOP, JM_TP_EFFICIENCY, JM_TP_ESTIMATE };
struct jm_training_point {
    int64_t t_us;
    double value; /* of a reading as written, also below 0; NaN: none */
    uint32_t order;
    uint8_t kind; /* enum jm_training_point_kind */
};
struct jm_training_look { /* what one pass says of a file */
    int64_t points, readings, broken;
    int64_t bad; /* readings without a number or time, or below 0 */
    bool ordered, has_start, has_stop;
    int64_t start_us, stop_us; /* last ones written */
    int64_t first_us, last_us; /* of the readings */
    double efficiency;         /* conversion_eff written last; NaN */
    double estimate_w;         /* interconnect_power_est written first; NaN */
    char type[16];             /* measurement_type of conversion_eff: "AC", "DC"; "" */
};
typedef int (*jm_training_point_fn)(void *self, const struct jm_training_point *p);
int jm_training_look(const char *path, struct jm_training_look *out, struct jm_err *err);
/* look: what jm_training_look said. JM_ELIMIT: out of order, and too long to be put in order. */
int jm_training_points(const char *path, const struct jm_training_look *look, jm_training_point_fn fn,
                       void *self, struct jm_err *err);

/* What to add to the stamps of a log that shows no reading near the run: its clock is hours off. Quarter
 * hours are taken for a time zone (*zone); else its start is laid on that of a log that does overlap the run
 * (reference), if there is one. 0: nothing. */
int64_t jm_training_shift(const struct jm_training_look *l, int64_t run_a_us, int64_t run_b_us,
                          bool has_reference, int64_t reference_us, bool *zone);

/* "v4.1" of a path that names a round, "" where none does. */
void jm_training_round(const char *path, char round[8]);

#endif
