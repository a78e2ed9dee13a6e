/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison for people and programs: text, JSON (joulemark.compare/1, docs/schema/compare.schema.json),
 * Markdown for a comment on a pull request, one self-contained HTML page. */
#ifndef JM_SHOW_COMPARE_H
#define JM_SHOW_COMPARE_H

#include "compute/compare.h"
#include "show/fmt.h"
#include "show/show.h"

struct jm_compare_format {
    const char *name;
    int (*render)(const struct jm_comparison *c, const struct jm_show_opts *o, struct jm_str *s,
                  struct jm_err *err);
};
extern const struct jm_compare_format jm_compare_formats[]; /* ends with name == NULL */

int jm_compare_text(const struct jm_comparison *c, const struct jm_show_opts *o, struct jm_str *s,
                    struct jm_err *err);
int jm_compare_json(const struct jm_comparison *c, const struct jm_show_opts *o, struct jm_str *s,
                    struct jm_err *err);
int jm_compare_markdown(const struct jm_comparison *c, const struct jm_show_opts *o, struct jm_str *s,
                        struct jm_err *err);
int jm_compare_html(const struct jm_comparison *c, const struct jm_show_opts *o, struct jm_str *s,
                    struct jm_err *err);

/* Shared: "+5.1 %" of a ratio, and the interval "4.2 to 6.0". */
const char *jm_compare_change(char buf[JM_FMT], double ratio);
/* A mean of a figure, and what the figure is called: "J per output token", "TTFT, p99". */
void jm_compare_value(char buf[JM_FMT], double v, const char *unit);
const char *jm_compare_title(char buf[JM_FMT], const struct jm_compare_metric *m);
/* Facts worth a line unless all are asked for. */
bool jm_compare_telling(const struct jm_compare_fact *f);
/* Ends of the scale of a picture of pairs, as log ratios, symmetric about 0 where that fits. */
void jm_compare_scale(const struct jm_comparison *c, const struct jm_candidate *k, double *lo, double *hi);
/* The baseline of the scale: the minimum saving as a log ratio; 0 without a contract. */
double jm_compare_asked(const struct jm_comparison *c);

#endif
