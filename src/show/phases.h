/* SPDX-License-Identifier: Apache-2.0 */
/* Energy by phase and request, an allocation (docs/phases.md). Nothing where a run has no requests. */
#ifndef JM_SHOW_PHASES_H
#define JM_SHOW_PHASES_H

#include "base/json.h"
#include "show/text_out.h"

void jm_show_phases_text(struct jm_out *o);
void jm_show_phases_markdown(const struct jm_report *r, struct jm_str *s);
void jm_show_phases_html(const struct jm_report *r, struct jm_str *s);   /* a section */
void jm_show_phases_json(struct jm_jsonw *w, const struct jm_report *r); /* "phases" */

/* What the four of them show: the phases of the split, best known name first. */
struct jm_phase_line {
    const char *name;  /* "prefill", "decode", "no request", "total" */
    double joules;     /* fully loaded; NAN: the method knows no phases */
    double share;      /* of the total */
    double marginal;   /* J; NAN */
    double tokens;     /* NAN */
    const char *token; /* "prompt token computed"; NULL */
};
#define JM_PHASE_LINES 4
/* Lines of a split; false: there is none. */
bool jm_phase_lines(const struct jm_report *r, size_t split, struct jm_phase_line line[JM_PHASE_LINES]);

#endif
