/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between the rounds of MLPerf Inference when power is read, computed and checked: one row a
 * round in mlperf_rounds.tsv, which names its sources (the submission checkers of mlcommons/inference and the
 * power checkers of mlcommons/power-dev). docs/mlperf-rounds.md is made from it. */
#ifndef JM_IMPORT_MLPERF_ROUND_H
#define JM_IMPORT_MLPERF_ROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

struct jm_mlperf_round {
    char name[8];          /* "v4.1" */
    const char *from;      /* how it was found: "path", "given", "date of the run", "newest known", "table" */
    bool local_time;       /* v1.0: logs are in local time; add "timezone" of client.json and server.json */
    bool drop_nonpositive; /* from v3.1: samples <= 0 are left out of the mean */
    int64_t published_s;   /* day of its results, Unix seconds; INT64_MAX: still open */
    bool millijoules;      /* power_metric of SingleStream and MultiStream: mJ, before v3.0 J */
    bool legacy_count;     /* before v2.0: no result_query_count, see the table */
    bool legacy_multistream;   /* before v2.0: MultiStream is not queries of 8, nothing is inferred from or to
                                  it */
    bool efficiency;           /* the round's checker computes samples/J */
    bool completed;            /* Server counts completed samples, before v4.1 scheduled ones */
    bool early_stopping;       /* latency is the early-stopping estimate, before v2.0 the percentile */
    bool uncertainty_is_error; /* a sample above 1.00 % fails, before v3.1 it warns */
    int64_t tolerance_ms;      /* of client and server at a phase */
    int64_t min_duration_ms;
    char checker[16]; /* revision of the power checker: "r3.0", "f59033d", "inf_v5.1", "c4b3ad8" */
    /* lists parted by commas, of the built-in table */
    struct jm_span ptd, devices, run_files, power_files;
    struct jm_span source;
};

/* By a path component that names the round ("inference_results_v4.1", "v4.1_..."), else by the date of the
 * run (a session belongs to the first round that was published after it); t < 0: not known. */
void jm_mlperf_round_find(const char *path, int64_t t_ns, struct jm_mlperf_round *out);
/* By its name, "v4.1" or "4.1". JM_EUSAGE: no such round, with the list of those known. */
int jm_mlperf_round_named(const char *name, struct jm_mlperf_round *out, struct jm_err *err);
/* The i-th row of the table, oldest first; false: there are not so many. */
bool jm_mlperf_round_at(size_t i, struct jm_mlperf_round *out);

/* Is item ("1.10.0", "49") in a list of the row? */
bool jm_mlperf_round_lists(struct jm_span list, struct jm_span item);
bool jm_mlperf_round_takes_device(const struct jm_mlperf_round *r, int64_t device_type);

/* The scenario that the submission claims: the folder that names one. It is not the log's where a result was
 * inferred from another scenario's run. NULL: none does. */
const char *jm_mlperf_claimed(const char *path);
/* The same for a run of the scenario ran (NULL: not known): a name that only stands somewhere in the path
 * ("/srv/gpu-server/") is no claim where a run of that scenario cannot give such a result. The folder of the
 * session itself counts always. */
const char *jm_mlperf_claimed_of_run(const char *path, const char *ran);
/* Policy: MultiStream and Offline may be inferred from SingleStream, Offline from MultiStream. */
bool jm_mlperf_may_infer(const char *ran, const char *claimed);

#endif
