/* SPDX-License-Identifier: Apache-2.0 */
/* The load ladder: a row a level, what all of them say together, and a day of an operator's load. */
#ifndef JM_SHOW_LADDER_H
#define JM_SHOW_LADDER_H

#include "base/json.h"
#include "show/text_out.h"

void jm_show_ladder_text(struct jm_out *o);
void jm_show_ladder_markdown(const struct jm_report *r, struct jm_str *s);
void jm_show_ladder_html(const struct jm_report *r, struct jm_str *s);   /* a section */
void jm_show_ladder_json(struct jm_jsonw *w, const struct jm_report *r); /* "ladder" */

#endif
