/* SPDX-License-Identifier: Apache-2.0 */
/* What MLPerf Inference asks of its LLM benchmarks, by round: latency constraints of Server and Interactive,
 * least sizes. One row a benchmark and span of rounds in mlperf_limits.tsv, each with its source. */
#ifndef JM_MODEL_MLPERF_LIMITS_H
#define JM_MODEL_MLPERF_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jm_mlperf_limits {
    char benchmark[48];           /* "llama2-70b", "llama2-70b-interactive" */
    char first[8], last[8];       /* rounds; last "": still */
    double ttft_s, tpot_s, e2e_s; /* longest at the percentile, NaN: none */
    double percentile;
    int64_t server_queries, offline_samples;
    int64_t min_ns;
    char source[256];
};

/* The i-th row; false: there are not so many. */
bool jm_mlperf_limits_at(size_t i, struct jm_mlperf_limits *out);
/* By a benchmark's name ("llama2-70b-99.9", "llama3_1-8b-interactive": accuracy targets do not change the
 * constraints) and a round, NULL: any, the newest row. */
bool jm_mlperf_limits_find(const char *benchmark, const char *round, struct jm_mlperf_limits *out);

/* -1, 0, 1 as round a ("v4.1") is before, is, is after b. */
int jm_mlperf_round_cmp(const char *a, const char *b);
/* Is round between first and last? "" or "-" for last: no end. */
bool jm_mlperf_round_in(const char *round, const char *first, const char *last);

#endif
