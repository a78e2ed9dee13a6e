/* SPDX-License-Identifier: Apache-2.0 */
/* Passports that energies were corrected by: what each instrument showed beside what was made of it. */
#ifndef JM_SHOW_PASSPORTS_H
#define JM_SHOW_PASSPORTS_H

#include "base/json.h"
#include "show/text_out.h"

void jm_show_passports_text(struct jm_out *o);
void jm_show_passports_json(struct jm_jsonw *w, const struct jm_report *r);
void jm_show_passports_html(const struct jm_report *r, struct jm_str *s);

#endif
