/* SPDX-License-Identifier: Apache-2.0 */
/* Rules latency.*: limits of token latencies by benchmark, scenario and round (model/mlperf_limits.tsv). */
#ifndef JM_MLPERF_RULE_METRIC_H
#define JM_MLPERF_RULE_METRIC_H

#include "mlperf/rule.h"

/* Adds an outcome for each rule that applies; nothing for benchmarks without such a limit. */
int jm_mlperf_rules_of_latency(const struct jm_mlperf_session *s, const struct jm_mlperf_result *r,
                               struct jm_mlperf_checked *out, struct jm_err *err);

#endif
