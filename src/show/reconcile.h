/* SPDX-License-Identifier: Apache-2.0 */
/* The table from the GPU to the wall, in each format. */
#ifndef JM_SHOW_RECONCILE_H
#define JM_SHOW_RECONCILE_H

#include "base/json.h"
#include "show/text_out.h"

void jm_reconcile_text(struct jm_out *o);
void jm_reconcile_html(const struct jm_report *r, struct jm_str *s);
void jm_reconcile_json(struct jm_jsonw *w, const struct jm_report *r);

#endif
