/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "show/explain.h"
#include "show/fmt.h"
#include "show/formats.h"

#include "base/banned.h"

static void cell(struct jm_str *s, const char *t)
{
    jm_str_adds(s, " ");
    jm_markdown_escape(s, t);
    jm_str_adds(s, " |");
}

static void value(struct jm_str *s, const char *unit, double v, bool approximate)
{
    char text[JM_FMT];
    jm_str_addf(s, " %s%s |", approximate && isfinite(v) ? "≈ " : "",
                strcmp(unit, "tokens") == 0 && isfinite(v) ? jm_fmt_count(text, (int64_t)llround(v))
                                                           : jm_fmt_value(text, v, unit));
}

int jm_explain_markdown(const struct jm_report *r, const struct jm_explain *x, struct jm_str *s,
                        struct jm_err *err)
{
    bool spread = jm_explain_spread(x);
    char a[JM_FMT], b[JM_FMT], ends[JM_EXPLAIN_ENDS];
    jm_str_addf(s, "# %s: %s\n\nAs each tool would have printed it of run `%s`", x->asked, x->title, r->id);
    jm_str_addf(s, " (%s requests: %s).\n\n", jm_fmt_count(a, x->scheduled), jm_explain_ends(ends, x));
    if (x->note)
        jm_str_addf(s, "%s\n\n", x->note);
    jm_str_adds(
        s, spread ? "| tool | name | mean | p50 | p99 | n | to ours | clock | requests | tokens | why |\n"
                    "|---|---|---:|---:|---:|---:|---:|---|---|---|---|\n"
                  : "| tool | name | value | of | to ours | clock | requests | tokens | why |\n"
                    "|---|---|---:|---|---:|---|---|---|---|\n");
    for (size_t i = 0; i < x->n; i++) {
        const struct jm_explain_row *e = &x->rows[i];
        char rel[32];
        jm_str_adds(s, e->ours ? "| **" : "| ");
        jm_str_addf(s, "%s%s%s%s |", e->tool, e->version ? " (" : "", e->version ? e->version : "",
                    e->version ? ")" : "**");
        cell(s, e->key);
        value(s, e->unit ? e->unit : x->unit, e->have ? e->mean : NAN, e->approximate);
        if (spread) {
            value(s, x->unit, e->have ? e->p50 : NAN, false);
            value(s, x->unit, e->have ? e->p99 : NAN, false);
            jm_str_addf(s, " %s |", e->n >= 0 ? jm_fmt_count(a, e->n) : "");
        } else {
            jm_str_adds(s, " ");
            if (e->numerator_name && isfinite(e->numerator))
                jm_str_addf(s, "%s / %s", jm_fmt_part(a, e->numerator_name, e->numerator),
                            isfinite(e->denominator) ? jm_fmt_part(b, e->denominator_name, e->denominator)
                                                     : "?");
            else if (e->n >= 0)
                jm_str_addf(s, "%s requests", jm_fmt_count(a, e->n));
            jm_str_adds(s, " |");
        }
        jm_str_addf(s, " %s |", jm_explain_relative(rel, e->relative));
        jm_str_adds(s, " ");
        if (e->from && e->to) {
            jm_markdown_escape(s, e->from);
            jm_str_adds(s, " → ");
            jm_markdown_escape(s, e->to);
        }
        jm_str_adds(s, " |");
        cell(s, e->requests ? e->requests : "");
        cell(s, e->tokens ? e->tokens : "");
        jm_str_adds(s, " ");
        if (e->reason) {
            jm_markdown_escape(s, e->reason);
            jm_str_adds(s, ". ");
        }
        jm_markdown_escape(s, e->why);
        jm_str_adds(s, " |\n");
    }
    return jm_str_ok(s, "the Markdown of the explanation", err);
}
