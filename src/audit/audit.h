/* SPDX-License-Identifier: Apache-2.0 */
/* Audit: checks over a run and its report, one const table. Each check adds findings; afterwards every result
 * has its validity against the profile. */
#ifndef JM_AUDIT_AUDIT_H
#define JM_AUDIT_AUDIT_H

#include "base/err.h"
#include "model/report.h"
#include "run/run.h"

struct jm_check {
    const char *id;    /* "counter.reset" */
    const char *title; /* one line */
    const char *why;   /* why it matters, with the public source of threshold or report */
    int (*run)(const struct jm_run *run, struct jm_report *report, struct jm_err *err);
};
extern const struct jm_check jm_check_table[]; /* ends with id == NULL */

/* Runs every check and sets the validity of the report and of each result. */
int jm_audit(const struct jm_run *run, struct jm_report *report, struct jm_err *err);

/* The disclosure: what must be published beside the number, as key/value rows with "not known" where the run
 * does not say. rows are allocated in the report's arena. */
struct jm_disclosure_row {
    const char *key, *value;
    bool known;
};
int jm_disclosure(const struct jm_run *run, struct jm_report *report, const struct jm_disclosure_row **rows,
                  size_t *n, struct jm_err *err);

#endif
