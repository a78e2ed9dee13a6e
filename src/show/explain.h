/* SPDX-License-Identifier: Apache-2.0 */
/* show --explain: what other tools would have printed, as text, JSON or Markdown. */
#ifndef JM_SHOW_EXPLAIN_H
#define JM_SHOW_EXPLAIN_H

#include "compute/explain.h"
#include "show/show.h"

/* format: "text", "json" or "markdown"; others are JM_EUSAGE. */
int jm_show_explain(const struct jm_report *r, const struct jm_explain *x, const char *format,
                    const struct jm_show_opts *o, struct jm_str *out, struct jm_err *err);

/* Shared by the renderers: is it a distribution (mean and quantiles) or one number; the difference from ours,
 * "+3.2 %", "x 2.4", "same", "" without one. */
bool jm_explain_spread(const struct jm_explain *x);
const char *jm_explain_relative(char buf[32], double relative);
/* How the requests ended: "19 ok, 3 not (2 aborted by plan, 1 unfinished)". */
#define JM_EXPLAIN_ENDS 200
const char *jm_explain_ends(char buf[JM_EXPLAIN_ENDS], const struct jm_explain *x);
int jm_explain_text(const struct jm_report *r, const struct jm_explain *x, const struct jm_show_opts *o,
                    struct jm_str *s, struct jm_err *err);
int jm_explain_json(const struct jm_report *r, const struct jm_explain *x, struct jm_str *s,
                    struct jm_err *err);
int jm_explain_markdown(const struct jm_report *r, const struct jm_explain *x, struct jm_str *s,
                        struct jm_err *err);

#endif
