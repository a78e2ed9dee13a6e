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
/* Foreign text for a cell or a line of Markdown. */
void jm_markdown_escape(struct jm_str *s, const char *t);
int jm_show_html(const struct jm_report *r, const struct jm_show_opts *o, struct jm_str *s,
                 struct jm_err *err);

#endif
