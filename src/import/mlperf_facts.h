/* SPDX-License-Identifier: Apache-2.0 */
/* What the descriptions beside an MLPerf session say, put into the environment of its run. Text that is no
 * JSON says nothing. */
#ifndef JM_IMPORT_MLPERF_FACTS_H
#define JM_IMPORT_MLPERF_FACTS_H

#include "base/err.h"
#include "base/span.h"
#include "import/mlperf_round.h"
#include "run/run.h"

/* system.json, each field as "sut.<field>". */
int jm_mlperf_system(struct jm_run_writer *w, struct jm_span text, struct jm_err *err);
/* The analyzer's reply to Identify in server.json, as "mlperf.analyzer". */
int jm_mlperf_analyzer(struct jm_run_writer *w, struct jm_span server_json, struct jm_err *err);
/* What the round counts by: "mlperf.stream_count" (log, legacy), "mlperf.server_rate" (completed, scheduled).
 */
int jm_mlperf_round_facts(struct jm_run_writer *w, const struct jm_mlperf_round *r, struct jm_err *err);

#endif
