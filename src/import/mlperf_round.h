/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between the rounds of MLPerf Inference when a published power value is computed. Source of the
 * rules: the submission checkers of the rounds (mlcommons/inference, tools/submission) and the power checker
 * (mlcommons/power-dev). */
#ifndef JM_IMPORT_MLPERF_ROUND_H
#define JM_IMPORT_MLPERF_ROUND_H

#include <stdbool.h>
#include <stdint.h>

struct jm_mlperf_round {
    char name[8];          /* "v4.1" */
    const char *from;      /* how it was found: "path", "date of the run" */
    bool local_time;       /* v1.0: logs are in local time; add "timezone" of client.json and server.json */
    bool drop_nonpositive; /* from v3.1: samples <= 0 are left out of the mean */
};

/* By a path component that names the round ("inference_results_v4.1", "v4.1_..."), else by the date of the
 * run (a session belongs to the first round that was published after it); t < 0: not known. */
void jm_mlperf_round_find(const char *path, int64_t t_ns, struct jm_mlperf_round *out);

/* The scenario that the submission claims: the folder that names one. It is not the log's where a result was
 * inferred from another scenario's run. NULL: none does. */
const char *jm_mlperf_claimed(const char *path);

#endif
