/* SPDX-License-Identifier: Apache-2.0 */
/* What the load got: latencies, rates, requests and tokens, as text and HTML. */
#ifndef JM_SHOW_LOAD_H
#define JM_SHOW_LOAD_H

#include "show/text_out.h"

void jm_load_text(struct jm_out *o);
void jm_load_html(const struct jm_report *r, struct jm_str *s);

#endif
