/* SPDX-License-Identifier: Apache-2.0 */
/* The interactive part of the HTML report, and the policy that allows nothing but it. */
#ifndef JM_SHOW_HTML_SCRIPT_H
#define JM_SHOW_HTML_SCRIPT_H

#include <stdbool.h>

#include "base/str.h"
#include "model/report.h"

/* Content of the Content-Security-Policy: no request to anywhere; scripts by their hash. */
void jm_html_csp(struct jm_str *s, bool script);
void jm_html_styles_of_chart(struct jm_str *s);
/* Data, library, its licence, and the code that draws. */
void jm_html_chart(const struct jm_report *r, struct jm_str *s);

#endif
