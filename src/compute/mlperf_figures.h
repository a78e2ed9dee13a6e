/* SPDX-License-Identifier: Apache-2.0 */
/* What mean power, seconds and LoadGen's log give by the rules of MLPerf Inference; the one place of these
 * formulas, for imported runs and for sessions read where they lie. Source: MLCommons inference,
 * tools/submission, get_power_metric and get_inferred_result, v1.0 to v6.0. */
#ifndef JM_COMPUTE_MLPERF_FIGURES_H
#define JM_COMPUTE_MLPERF_FIGURES_H

#include <stdbool.h>

/* A session's log and what the round makes of it. */
struct jm_mlperf_log {
    double (*number)(const void *self, const char *key); /* value of a key of the detail log; NaN: none */
    const void *self;
    const char *scenario; /* effective_scenario; NULL: not known */
    const char *claimed;  /* that of the submission's folder; NULL: the same */
    bool legacy_count;    /* before v2.0: no result_query_count, MultiStream in streams, nothing inferred */
    bool completed;       /* Server counts completed samples (v4.1 on), else scheduled ones */
};

struct jm_mlperf_counts {
    bool stream;   /* the run is SingleStream or MultiStream */
    bool by_rate;  /* what is claimed is Offline, Server or Interactive: watts, and a rate */
    bool inferred; /* the claimed scenario is not that of the run */
    /* what a stream's energy is divided by: queries of one sample (SingleStream), of eight (MultiStream, also
     * inferred from SingleStream: result_query_count / 8), before v2.0 samples; NaN: not a stream, or not in
     * the log */
    double queries;
    double samples;                         /* of one of them: 1 or 8 */
    double samples_per_s;                   /* NaN: not in the log */
    double tokens_per_s;                    /* NaN: no LLM */
    const char *samples_from, *tokens_from; /* the keys; NULL: none */
};

struct jm_mlperf_ratios {
    double mj_per_stream; /* 1000 x W x s / queries; NaN: no stream */
    double samples_per_j; /* samples/s over W; of streams: samples x queries over W x s */
    double j_per_sample, j_per_token, tokens_per_j; /* W over samples/s, W over tokens/s, tokens/s over W */
};

void jm_mlperf_count(const struct jm_mlperf_log *log, double seconds, struct jm_mlperf_counts *out);
/* watts or seconds NaN or not positive: all ratios are NaN. */
void jm_mlperf_divide(double watts, double seconds, const struct jm_mlperf_counts *c,
                      struct jm_mlperf_ratios *out);

#endif
