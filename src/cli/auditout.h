/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks of a report came to, and the JSON of joulemark audit. */
#ifndef JM_CLI_AUDITOUT_H
#define JM_CLI_AUDITOUT_H

#include "base/str.h"
#include "show/levels.h"

enum { JM_AUDIT_PASSED, JM_AUDIT_NOTED, JM_AUDIT_FAILED };

const struct jm_check *const *jm_audit_tables(void); /* ends with NULL */
int jm_audit_outcome(const struct jm_report *r, const struct jm_check *c);
const char *jm_audit_why(const char *finding);
bool jm_audit_imported(const struct jm_report *r);
/* Checks that ran: those of other tools' files only over imported ones. */
int jm_audit_count(const struct jm_report *r, int *failed);
void jm_audit_json(struct jm_str *s, const struct jm_report *r, const struct jm_evidence *e, const char *path,
                   const char *importer);

#endif
