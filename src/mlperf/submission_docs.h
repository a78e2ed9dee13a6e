/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of reading a submission; for submission.c. All give 0 or JM_ENOMEM. */
#ifndef JM_MLPERF_SUBMISSION_DOCS_H
#define JM_MLPERF_SUBMISSION_DOCS_H

#include "mlperf/submission.h"

bool jm_submission_dir(const char *path);
/* stray, missing, empty, runs, power_elsewhere */
int jm_submission_files(struct jm_mlperf_submission *m);
/* analyzer_table, power_settings and the files of measurements */
int jm_submission_docs(struct jm_mlperf_submission *m);

/* Fields of the system description that a round asks for. */
struct jm_submission_field {
    const char *name, *other; /* other: a spelling of one round; NULL */
    const char *from;         /* first round that asks for it */
    const char *filled_from;  /* first round that wants it filled; NULL: it may be empty */
    bool power;               /* of SYSTEM_DESC_REQUIRED_FIELDS_POWER */
};
extern const struct jm_submission_field jm_submission_fields[]; /* ends with a NULL name */

#endif
