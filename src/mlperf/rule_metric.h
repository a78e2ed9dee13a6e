/* SPDX-License-Identifier: Apache-2.0 */
/* Rules latency.* (limits of token latencies by benchmark, scenario and round, model/mlperf_limits.tsv) and
 * ptd.uncertainty_value. */
#ifndef JM_MLPERF_RULE_METRIC_H
#define JM_MLPERF_RULE_METRIC_H

#include "mlperf/rule.h"

/* Adds an outcome for each rule that applies; nothing where there is nothing to decide. */
int jm_mlperf_rules_of_metric(const struct jm_mlperf_session *s, const struct jm_mlperf_result *r,
                              struct jm_mlperf_checked *out, struct jm_err *err);

#endif
