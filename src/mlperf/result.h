/* SPDX-License-Identifier: Apache-2.0 */
/* What a session's files give: the published figures by the rules of their round, and beside them what they
 * should be. */
#ifndef JM_MLPERF_RESULT_H
#define JM_MLPERF_RESULT_H

#include "mlperf/session.h"

/* One figure twice. NaN: there is none (never 0). */
struct jm_mlperf_pair {
    double published; /* by the round's rule */
    double proper;    /* time-weighted, decoded, bridged */
    double lo, hi;    /* of proper, at least 95 %: sum of the limits below; NaN: not known on that side */
    const char *unit;
};

/* What the interval of the mean power is made of: half-widths in W, added up as they stand, since each is a
 * limit. NaN: not known. */
struct jm_mlperf_limits_of {
    double accuracy; /* of the analyzer, at its ranges and the power factor of each sample */
    double bridged;  /* time without a good sample x the swing of the power in the window */
    double edges;    /* samples of one second across both edges: a quarter of a second x the swing, twice */
    double clock;    /* clocks of the system and the analyzer apart x the swing */
    double clock_s;  /* seconds apart at most, as the session's own checks of the time say, else 0.4 */
};

/* What PTDaemon itself said at the end of the testing phase, and what the same samples give here. */
struct jm_mlperf_ptd_said {
    double watts, our_watts;             /* mean over the valid samples of the whole file; NaN: not asked */
    double uncertainty, our_uncertainty; /* mean share of a sample */
    bool same_formula;                   /* ours is seen to be PTDaemon's for this model */
};

struct jm_mlperf_token_latency {
    bool llm;                     /* the round limits token latencies (or the latency) of this benchmark */
    bool tokens;                  /* by its tokens, so LoadGen must keep their latencies in every scenario */
    bool limited;                 /* and this scenario has a limit */
    double ttft_s, tpot_s, e2e_s; /* at the percentile; NaN: not in the log */
    double ttft_limit_s, tpot_limit_s, e2e_limit_s; /* NaN: none */
    double percentile;
    int token_latencies; /* requested_use_token_latencies (or inferred): 1, 0; -1: not in the log */
    int early_stopping;  /* early_stopping_met: 1, 0; -1: not in the log */
};

struct jm_mlperf_result {
    /* benchmark as the submission names it, "llama2-70b-99", "resnet"; model without its accuracy target and
     * by its public name, "llama2-70b", "resnet50"; "": not known */
    char benchmark[64], scenario[24], model[64];
    const char *named_by; /* "path", "log": what the benchmark is known by; "": not known */
    bool interactive;
    bool inferred;           /* claimed scenario is not that of the run */
    double seconds, queries; /* queries of the run, of v1.x samples or an estimate; NaN: no stream */
    struct jm_mlperf_pair power, energy; /* W; J over the load window */
    double decoded_w;                    /* plain mean, over-range samples decoded, bad and missed left out */
    double metric;                       /* power_metric as published: W, J or mJ, see metric_unit */
    const char *metric_unit;             /* "Watts", "Joules", "millijoules" */
    struct jm_mlperf_pair mj_per_stream;
    double performance;          /* the round's performance metric */
    char performance_unit[16];   /* Samples/s, Queries/s, Tokens/s, Latency (ms), Latency (s), Streams */
    char performance_from[64];   /* key of the log; "": none */
    double efficiency;           /* as the round's checker prints it, NaN: it does not */
    const char *efficiency_unit; /* "samples/J", "tokens/J" */
    double samples_per_s, tokens_per_s;
    struct jm_mlperf_pair samples_per_j, j_per_token, tokens_per_j;
    double dropped; /* samples that the published mean leaves out */

    char accuracy[512]; /* what the interval rests on, or why there is none */
    char excludes[512]; /* what the interval leaves out, in words */
    struct jm_mlperf_limits_of limits;
    char analyzer[48];       /* as PTDaemon names it; "": not known */
    double v_range, a_range; /* of the testing phase; NaN: not known */
    int crest;               /* 3, 6; 0: not known (3 is taken) */
    struct jm_mlperf_ptd_said ptd;
    struct jm_mlperf_token_latency latency;
};

/* Pure: the same session gives the same digits. benchmark and scenario come from the path where the layout
 * has them (…/results/<system>/<benchmark>/<scenario>/), else from the logs. */
int jm_mlperf_compute(const struct jm_mlperf_session *s, struct jm_mlperf_result *out, struct jm_err *err);

#endif
