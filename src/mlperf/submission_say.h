/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the rules over a submission; for submission_rules.c. */
#ifndef JM_MLPERF_SUBMISSION_SAY_H
#define JM_MLPERF_SUBMISSION_SAY_H

#include "mlperf/submission.h"

struct jm_submission_work {
    const struct jm_mlperf_submission *m;
    const struct jm_mlperf_session *s, *base;
    const struct jm_mlperf_result *r;
    struct jm_mlperf_checked *c;
    struct jm_err *err;
    int rc;
    const char *round;
};

/* Is the round from or one after it? */
bool jm_submission_since(const char *round, const char *from);
/* The figures of the audit guidelines, and the nameplate. */
void jm_submission_figures(struct jm_submission_work *k);

#endif
