/* SPDX-License-Identifier: Apache-2.0 */
/* The style sheet and the script of the report. */
#ifndef JM_SHOW_HTML_STYLE_H
#define JM_SHOW_HTML_STYLE_H

extern const char jm_html_style[], jm_html_style_parts[];
/* Puts an interactive power chart (uPlot) above the drawn one; works on the JSON in #power-data. */
extern const char jm_html_script[];

#endif
