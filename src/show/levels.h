/* SPDX-License-Identifier: Apache-2.0 */
/* The disclosure and the levels of a claim, for people and machines (docs/disclosure.md). */
#ifndef JM_SHOW_LEVELS_H
#define JM_SHOW_LEVELS_H

#include "audit/audit.h"
#include "base/json.h"
#include "show/text_out.h"

struct jm_evidence {
    const struct jm_disclosure_row *row;
    size_t n_row;
    const struct jm_levels *levels;
};

void jm_show_evidence_brief(struct jm_out *o,
                            const struct jm_evidence *e); /* what audit says in some lines */
void jm_show_disclosure_text(struct jm_out *o, const struct jm_evidence *e);
void jm_show_levels_text(struct jm_out *o, const struct jm_evidence *e);
/* Members "disclosure" and "levels" (docs/schema/audit.schema.json). */
void jm_show_evidence_json(struct jm_jsonw *w, const struct jm_evidence *e);
/* Tables for a paper; levels: those of the claim too. */
void jm_show_evidence_markdown(struct jm_str *s, const struct jm_report *r, const struct jm_evidence *e,
                               bool levels);
int jm_show_evidence_html(struct jm_str *s, const struct jm_report *r, const struct jm_evidence *e,
                          struct jm_err *err);

#endif
