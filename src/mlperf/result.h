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
    double lo, hi;    /* of proper, 95 %: the analyzer's accuracy and the bridged time; NaN: not known */
    const char *unit;
};

struct jm_mlperf_result {
    char benchmark[64], scenario[24], model[64]; /* benchmark as the submission names it, "llama2-70b-99" */
    bool inferred;                               /* claimed scenario is not that of the run */
    double seconds, queries;
    struct jm_mlperf_pair power, energy; /* W; J over the load window */
    double metric;                       /* power_metric as published: W, J or mJ, see metric_unit */
    const char *metric_unit;             /* "Watts", "Joules", "millijoules" */
    struct jm_mlperf_pair mj_per_stream;
    double performance; /* the round's performance metric */
    const char *performance_unit;
    double samples_per_s, tokens_per_s;
    struct jm_mlperf_pair samples_per_j, j_per_token, tokens_per_j;
    double dropped;       /* samples that the published mean leaves out */
    const char *accuracy; /* what the uncertainty rests on, or why there is none */
};

/* Pure: the same session gives the same digits. benchmark and scenario come from the path where the layout
 * has them (…/results/<system>/<benchmark>/<scenario>/), else from the logs. */
int jm_mlperf_compute(const struct jm_mlperf_session *s, struct jm_mlperf_result *out, struct jm_err *err);

#endif
