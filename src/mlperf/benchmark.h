/* SPDX-License-Identifier: Apache-2.0 */
/* Benchmarks by the names that submissions give them, and what the rounds report of their performance. Two
 * tables: benchmarks.tsv, performance.tsv. */
#ifndef JM_MLPERF_BENCHMARK_H
#define JM_MLPERF_BENCHMARK_H

#include <stdbool.h>
#include <stddef.h>

#include "import/mlperf_round.h"

struct jm_mlperf_benchmark {
    char name[64];    /* as written, "llama2-70b-interactive-99" */
    char model[64];   /* "llama2-70b" */
    bool interactive; /* by its name */
    bool guessed;     /* by a part of the name, as the submission checker guesses */
};

/* false: no such benchmark in that round (round NULL: in any). */
bool jm_mlperf_benchmark_named(const char *name, const char *round, struct jm_mlperf_benchmark *out);
/* From a path: the folder in .../results/<system>/<benchmark>/<scenario>/..., whatever it is called; else the
 * folder above one that names a scenario; else a known name inside a folder's, parted by "_". */
bool jm_mlperf_benchmark_of(const char *path, const char *round, struct jm_mlperf_benchmark *out);

/* From LoadGen's log, where no path names it: sut_name ("llama2-70b-Server-SUT"; NULL: none), else the size
 * of the data set where only one benchmark of the round has it (NaN: not known). */
bool jm_mlperf_benchmark_of_log(const char *sut_name, double samples, const char *round,
                                struct jm_mlperf_benchmark *out);

struct jm_mlperf_metric {
    char key[64];  /* of LoadGen's detail log */
    char unit[16]; /* "Tokens/s" */
    bool llm;      /* from performance.tsv: tokens */
    double per;    /* the log's value divided by this: 1e6 for ms of ns */
};
/* The performance metric of a model in a round; scenario is that of the run. */
void jm_mlperf_metric_of(const struct jm_mlperf_round *r, const char *model, const char *scenario,
                         struct jm_mlperf_metric *out);

#endif
