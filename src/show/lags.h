/* SPDX-License-Identifier: Apache-2.0 */
/* How late each instrument is, by the steps of load that the run made. Nothing where it made none. */
#ifndef JM_SHOW_LAGS_H
#define JM_SHOW_LAGS_H

#include "base/json.h"
#include "show/text_out.h"

void jm_show_lags_text(struct jm_out *o);
void jm_show_lags_json(struct jm_jsonw *w, const struct jm_report *r);

#endif
