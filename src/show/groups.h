/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of a merged run: replicas, pools of prefill and decode. */
#ifndef JM_SHOW_GROUPS_H
#define JM_SHOW_GROUPS_H

#include "base/json.h"
#include "show/text_out.h"

void jm_groups_text(struct jm_out *o);
/* "groups": [...]; nothing where there are none. */
void jm_groups_html(const struct jm_report *r, struct jm_str *s);
void jm_groups_json(struct jm_jsonw *w, const struct jm_report *r);

#endif
