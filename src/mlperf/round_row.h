/* SPDX-License-Identifier: Apache-2.0 */
/* From a session to its row. */
#ifndef JM_MLPERF_ROUND_ROW_H
#define JM_MLPERF_ROUND_ROW_H

#include "base/err.h"
#include "mlperf/rule.h"
#include "mlperf/submission.h"
#include "mlperf/tiny.h"
#include "mlperf/training.h"
#include "model/round.h"

/* What the place and the description of the system say, without a look at the logs:
 * …/<division>/<submitter>/results/<system>/<benchmark>/<scenario>, systems/<system>.json there, or
 * system.json in the session's folder. Text that is no JSON says nothing. JM_ENOMEM alone is an error. */
int jm_mlperf_row_place(struct jm_round_row *r, const char *path, struct jm_err *err);

/* Figures, samples and clocks of the session, the nameplate of its submission; c NULL: nobody judged it. */
int jm_mlperf_row_fill(struct jm_round_row *r, const struct jm_mlperf_session *s,
                       const struct jm_mlperf_result *x, const struct jm_mlperf_submission *m,
                       const struct jm_mlperf_checked *c, struct jm_err *err);

/* Energy of the result as a mean over its runs, J; each run is a fact. */
int jm_mlperf_row_training(struct jm_round_row *r, const struct jm_training_result *x,
                           const struct jm_mlperf_checked *c, struct jm_err *err);
/* Nameplate power of systems/<system>_power.yaml: declared by whoever wrote it. */
int jm_mlperf_row_nameplate(struct jm_round_row *r, const char *path, struct jm_err *err);
/* Median energy of an inference, J. */
int jm_mlperf_row_tiny(struct jm_round_row *r, const struct jm_tiny_result *x,
                       const struct jm_mlperf_checked *c, struct jm_err *err);
/* What our rules say; the official verdict is left alone. */
bool jm_mlperf_row_judged(struct jm_round_row *r, const struct jm_mlperf_checked *c);

#endif
