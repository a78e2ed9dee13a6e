/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of a run: SVG that needs no script, light and dark, each with its text alternative. The same
 * pictures stand in the HTML report and are written as files. docs/pictures.md says how to read them. */
#ifndef JM_SHOW_PICTURES_H
#define JM_SHOW_PICTURES_H

#include "base/str.h"
#include "model/report.h"
#include "show/pictures_canvas.h"

/* What is drawn: the first report, and where several runs can be compared, all of them. */
struct jm_picture_of {
    const struct jm_report *const *report;
    const char *const *name; /* of each; NULL: its label */
    size_t n;                /* at least 1 */
};

struct jm_picture {
    const char *name;    /* "waterfall": of its file too */
    const char *summary; /* one line for --help and docs/pictures.md */
    bool compares;       /* uses all reports */
    bool on_page;        /* part of the HTML report */
    void (*draw)(const struct jm_picture_of *of, struct jm_pic *p); /* jm_pic_none() where it cannot */
};
extern const struct jm_picture jm_picture_table[]; /* ends with name == NULL */
const struct jm_picture *jm_picture_find(const char *name);

/* A picture as a file of its own, appended to out. JM_EABSENT with a sentence: the run has not what it shows.
 */
int jm_picture_svg(const struct jm_picture *k, const struct jm_picture_of *of, enum jm_theme theme,
                   struct jm_str *out, struct jm_err *err);
/* The section of the report with every picture that the run has data for, and a line for the others; its
 * style sheet, for the page's head. of: r, and runs beside it; NULL: r alone. */
void jm_pictures_html(const struct jm_report *r, const struct jm_picture_of *of, struct jm_str *s);
void jm_pictures_html_style(struct jm_str *s);

/* The pictures, one a file. */
void jm_picture_frontier(const struct jm_picture_of *of, struct jm_pic *p);
void jm_picture_waterfall(const struct jm_picture_of *of, struct jm_pic *p);
void jm_picture_phases(const struct jm_picture_of *of, struct jm_pic *p);
void jm_picture_lengths(const struct jm_picture_of *of, struct jm_pic *p);
void jm_picture_ladder(const struct jm_picture_of *of, struct jm_pic *p);
void jm_picture_trials(const struct jm_picture_of *of, struct jm_pic *p);
void jm_picture_power(const struct jm_picture_of *of, struct jm_pic *p);
void jm_picture_carbon(const struct jm_picture_of *of, struct jm_pic *p);

#endif
