/* SPDX-License-Identifier: Apache-2.0 */
/* What every picture is drawn with: a frame of title, facts and notes, axes with round ticks, text that is
 * measured and escaped. Lengths are user units of the SVG (CSS pixels at its natural size); y grows
 * downwards.
 */
#ifndef JM_SHOW_PICTURES_CANVAS_H
#define JM_SHOW_PICTURES_CANVAS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "model/report.h"
#include "show/fmt.h"

#define JM_PIC_W    880.0
#define JM_PIC_EDGE 24.0 /* free on every side */

enum jm_theme {
    JM_THEME_AUTO /* light, and dark where the reader wants it */,
    JM_THEME_LIGHT,
    JM_THEME_DARK
};

/* A picture while it is drawn. */
struct jm_pic {
    const char *id;      /* of its elements in a page: "waterfall" */
    struct jm_str body;  /* SVG */
    struct jm_str title; /* plain text */
    struct jm_str facts; /* plain text: boundary, denominator, provenance */
    struct jm_str desc;  /* plain text: what a reader who does not see it must know */
    struct jm_str why;   /* plain text: why there is no picture */
    const char *mark;    /* "SIMULATED", "ESTIMATE"; NULL: none */
    double y;            /* where the next thing may begin */
};

void jm_pic_init(struct jm_pic *p, const char *id);
void jm_pic_release(struct jm_pic *p);

/* Says why there is nothing to draw; the first sentence stays. */
void jm_pic_none(struct jm_pic *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* One more fact behind the others: "boundary wall{inlet_ac}". */
void jm_pic_fact(struct jm_pic *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Marks and provenance of what is drawn; the worst counts. */
void jm_pic_provenance(struct jm_pic *p, const struct jm_report *r, enum jm_provenance worst);
/* Title, mark and facts. y is below them. */
void jm_pic_begin(struct jm_pic *p);
/* A wrapped sentence at y, which moves down. */
void jm_pic_note(struct jm_pic *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Width of a text in a font of that size: that of DejaVu Sans, which is wider than most. */
double jm_pic_width(const char *text, double size);
/* Escaped, cut with … at `most` (0: never). anchor: "start", "middle", "end". class: tk tick, lb label, vl
 * value, nt note. */
void jm_pic_text(struct jm_pic *p, double x, double y, const char *class, const char *anchor, double most,
                 const char *text);
void jm_pic_line(struct jm_pic *p, const char *class, double x1, double y1, double x2, double y2);
/* tip: shown when pointed at, and read aloud; NULL: none. Widths below nothing are drawn as nothing. */
void jm_pic_rect(struct jm_pic *p, const char *class, double x, double y, double w, double h,
                 const char *tip);
/* I-shaped: an interval. upright: along y. */
void jm_pic_whisker(struct jm_pic *p, double at, double lo, double hi, bool upright);
/* A key: a swatch of the class and its text; *x moves on, and to the next line where it would not fit. */
void jm_pic_key(struct jm_pic *p, const char *class, const char *shape, double *x, const char *text);

/* A prefix for a whole axis: values are divided by f and stand in unit. unit: "J", "W", "s", "g" get an SI
 * prefix, others stay. */
struct jm_scale {
    double f;
    char unit[24];
};
struct jm_scale jm_pic_scale(double max, const char *unit);

struct jm_axis {
    double lo, hi;   /* data, its ends */
    double from, to; /* pixels of lo and hi */
    bool log;
    double step; /* of ticks, linear */
    struct jm_scale scale;
};
/* Ends at round ticks. zero: begins at 0 (needed wherever a length stands for a value). A range of nothing is
 * widened. */
void jm_axis_fit(struct jm_axis *a, double lo, double hi, bool zero, int ticks, const char *unit);
/* Logarithmic, ends at 1, 2 or 5 times a power of ten. 0 < lo <= hi */
void jm_axis_fit_log(struct jm_axis *a, double lo, double hi, const char *unit);
double jm_axis_at(const struct jm_axis *a, double v);
/* Ticks with grid lines over [x0, x1] and the title above; ticks below [y0, y1] and the title under them. */
void jm_pic_axis_y(struct jm_pic *p, const struct jm_axis *a, double x0, double x1, const char *title);
void jm_pic_axis_x(struct jm_pic *p, const struct jm_axis *a, double y0, double y1, const char *title);

/* The style sheet; prefix ".pic " keeps it to pictures. */
void jm_pic_style(struct jm_str *s, const char *prefix, enum jm_theme theme);
/* The whole <svg>; file: with its own style and namespace. */
void jm_pic_finish(struct jm_pic *p, bool file, enum jm_theme theme, struct jm_str *out);

#endif
