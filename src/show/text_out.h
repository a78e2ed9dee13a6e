/* SPDX-License-Identifier: Apache-2.0 */
/* Cells, wrapped lines and colours of the text renderer. Everything that goes through here is made harmless
 * for a terminal (jm_fmt_next), and becomes ASCII where that was asked for. */
#ifndef JM_SHOW_TEXT_OUT_H
#define JM_SHOW_TEXT_OUT_H

#include "base/str.h"
#include "model/report.h"
#include "show/show.h"

struct jm_out {
    struct jm_str *s;
    const struct jm_report *r;
    const struct jm_show_opts *o;
    int width;
};

enum jm_out_style_of { JM_OUT_PLAIN, JM_OUT_BOLD, JM_OUT_DIM, JM_OUT_GREEN, JM_OUT_YELLOW, JM_OUT_RED };

void jm_out_style(struct jm_out *o, enum jm_out_style_of st);
/* Columns that the first n bytes of a text take. */
int jm_out_columns(const char *s, size_t n);
void jm_out_add(struct jm_out *o, const char *s);
/* Left-aligned in width columns (cut with ".." when longer), or right-aligned. */
void jm_out_cell(struct jm_out *o, const char *s, int width, bool right);
/* Words of s wrapped behind an indent; the first line continues at column at. */
void jm_out_wrap(struct jm_out *o, const char *s, int indent, int at);
void jm_out_section(struct jm_out *o, const char *title);

#endif
