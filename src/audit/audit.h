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

/* What a finding says something about. */
enum jm_concerns {
    JM_CONCERNS_ALL,
    JM_CONCERNS_ENERGY, /* results at a boundary */
    JM_CONCERNS_RATIO,  /* results at a boundary that rest on tokens or requests */
    JM_CONCERNS_TOKENS, /* results that rest on token counts */
    JM_CONCERNS_LOAD,   /* everything but plain energy and power */
    JM_CONCERNS_ENGINE  /* what rests on the engine's own metrics */
};

/* Every finding that exists. Several may come from one check. */
struct jm_finding_kind {
    const char *id, *check; /* id of the finding, id of the check that makes it */
    enum jm_concerns concerns;
    const char *severity; /* "error", "error, warning": error first */
    const char *means;    /* what was found */
};
extern const struct jm_finding_kind jm_finding_table[]; /* ends with id == NULL */

/* Checks of what another tool wrote: they ask its claims and requests, and run over imported files only. */
extern const struct jm_check jm_foreign_check_table[];          /* ends with id == NULL */
extern const struct jm_finding_kind jm_foreign_finding_table[]; /* ends with id == NULL */

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
