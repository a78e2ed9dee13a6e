/* SPDX-License-Identifier: Apache-2.0 */
/* Renderers: a report → bytes. Pure; nothing is printed here. */
#ifndef JM_SHOW_SHOW_H
#define JM_SHOW_SHOW_H

#include <stdbool.h>

#include "audit/audit.h"
#include "base/err.h"
#include "base/str.h"
#include "model/report.h"

struct jm_picture_of;

struct jm_show_opts {
    int width;      /* text: columns, 80 */
    bool color;     /* text: ANSI colours */
    bool ascii;     /* text: no line-drawing characters */
    bool reconcile; /* text: the table from the GPU to the wall */
    bool phases;    /* text: energy by phase and request */
    bool all;       /* every result, not only the headline ones */
    bool no_script; /* html: SVG only */
    const struct jm_picture_of
        *pictures; /* html: this report first, and runs to draw beside it; NULL: it alone */
    const struct jm_disclosure_row *disclosure;
    size_t n_disclosure;
};

struct jm_show_format {
    const char *name; /* "text", "json", "csv", "markdown", "html" */
    const char *summary;
    int (*render)(const struct jm_report *r, const struct jm_show_opts *o, struct jm_str *out,
                  struct jm_err *err);
};
extern const struct jm_show_format jm_show_formats[]; /* ends with name == NULL */
const struct jm_show_format *jm_show_find(const char *name);

#endif
