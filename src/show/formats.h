/* SPDX-License-Identifier: Apache-2.0 */
/* The renderers of show.c's table, one a file. */
#ifndef JM_SHOW_FORMATS_H
#define JM_SHOW_FORMATS_H

#include "show/show.h"

int jm_show_text(const struct jm_report *r, const struct jm_show_opts *o, struct jm_str *s,
                 struct jm_err *err);
int jm_show_json(const struct jm_report *r, const struct jm_show_opts *o, struct jm_str *s,
                 struct jm_err *err);
int jm_show_csv(const struct jm_report *r, const struct jm_show_opts *o, struct jm_str *s,
                struct jm_err *err);
int jm_show_markdown(const struct jm_report *r, const struct jm_show_opts *o, struct jm_str *s,
                     struct jm_err *err);
/* json.c: a member that is left out where there is no text; a numerator or denominator with its name, left
 * out without one. */
struct jm_jsonw;
/* m: of an impact, NULL of a plain result */
void jm_show_json_result(struct jm_jsonw *w, const struct jm_report *r, const struct jm_result *x,
                         const struct jm_impact *m);
void jm_show_json_text(struct jm_jsonw *w, const char *key, const char *s);
void jm_show_json_part(struct jm_jsonw *w, const char *key, const char *name, double v);
/* csv.c: a cell, quoted where it must be; nothing for NULL and NaN. */
void jm_csv_add_text(struct jm_str *s, const char *t);
void jm_csv_add_number(struct jm_str *s, double v);
/* Foreign text for a cell or a line of Markdown. */
void jm_markdown_escape(struct jm_str *s, const char *t);
int jm_show_html(const struct jm_report *r, const struct jm_show_opts *o, struct jm_str *s,
                 struct jm_err *err);

#endif
