/* SPDX-License-Identifier: Apache-2.0 */
/* One block a tool: its numbers, its clock, its requests and tokens, and why they are not ours. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/explain.h"
#include "show/fmt.h"
#include "show/text_out.h"

#include "base/banned.h"

enum { MARK = 4, TOOL = 15, CELL = 11, WIDE = 20, COUNT = 11, REL = 9 };

static void line(struct jm_out *o, const char *text, enum jm_out_style_of st)
{
    jm_str_adds(o->s, "    ");
    jm_out_style(o, st);
    jm_out_wrap(o, text, 4, 4);
    jm_out_style(o, JM_OUT_PLAIN);
}

static void trim_end(struct jm_out *o)
{
    while (o->s->len && o->s->buf[o->s->len - 1] == ' ')
        o->s->buf[--o->s->len] = '\0';
    jm_str_addc(o->s, '\n');
}

static void value(struct jm_out *o, const char *unit, double v, bool approximate, int width)
{
    char text[JM_FMT], cell[JM_FMT + 8];
    if (strcmp(unit, "tokens") == 0 && isfinite(v))
        jm_fmt_count(text, (int64_t)llround(v));
    else if (strcmp(unit, "ratio") == 0 && isfinite(v))
        snprintf(text, sizeof text, "%.4g %%", 100 * v);
    else
        jm_fmt_value(text, v, unit);
    snprintf(cell, sizeof cell, "%s%s", approximate && isfinite(v) ? "≈ " : "", text);
    int needs = jm_out_columns(cell, strlen(cell));
    jm_out_cell(o, cell, needs > width ? needs : width, true);
}

static void mark(struct jm_out *o, size_t i)
{
    char text[16];
    snprintf(text, sizeof text, "%zu", i + 1);
    jm_out_cell(o, text, MARK - 1, true);
    jm_str_addc(o->s, ' ');
}

static void numbers(struct jm_out *o, const struct jm_explain *x, size_t i)
{
    const struct jm_explain_row *e = &x->rows[i];
    char v[JM_FMT], rel[32];
    bool spread = jm_explain_spread(x);
    jm_out_style(o, e->ours ? JM_OUT_BOLD : e->have ? JM_OUT_PLAIN : JM_OUT_DIM);
    mark(o, i);
    jm_out_cell(o, e->tool, TOOL, false);
    if (!e->have) {
        jm_out_cell(o, "–", spread ? CELL : WIDE, true);
        jm_str_adds(o->s, "  ");
        int at = MARK + TOOL + (spread ? CELL : WIDE) + 2;
        jm_out_wrap(o, e->reason ? e->reason : "no value", at, at);
        jm_out_style(o, JM_OUT_PLAIN);
        return;
    }
    value(o, e->unit ? e->unit : x->unit, e->mean, e->approximate, spread ? CELL : WIDE);
    if (spread) {
        value(o, x->unit, e->p50, false, CELL);
        value(o, x->unit, e->p99, false, CELL);
    }
    if (spread || e->n >= 0)
        jm_out_cell(o, e->n >= 0 ? jm_fmt_count(v, e->n) : "", COUNT, true);
    jm_out_style(o, JM_OUT_PLAIN);
    jm_out_cell(o, jm_explain_relative(rel, e->relative), REL, true);
    trim_end(o);
}

static void table(struct jm_out *o, const struct jm_explain *x)
{
    bool spread = jm_explain_spread(x);
    jm_str_addc(o->s, '\n');
    jm_out_style(o, JM_OUT_DIM);
    jm_out_cell(o, "", MARK + TOOL, false);
    jm_out_cell(o, spread ? "mean" : "value", spread ? CELL : WIDE, true);
    if (spread) {
        jm_out_cell(o, "p50", CELL, true);
        jm_out_cell(o, "p99", CELL, true);
    }
    if (spread || strcmp(x->unit, "tokens") == 0)
        jm_out_cell(o, spread ? "n" : "requests", COUNT, true);
    jm_out_cell(o, "to ours", REL, true);
    trim_end(o);
    jm_out_style(o, JM_OUT_PLAIN);
    for (size_t i = 0; i < x->n; i++)
        numbers(o, x, i);
}

/* "15.30 s, first scheduled to last end" and "16,384 output tokens" */
static const char *amount(char buf[160], const char *name, double v)
{
    char part[JM_FMT];
    if (strncmp(name, "seconds", 7) == 0)
        snprintf(buf, 160, "%s%s", jm_fmt_value(part, v, "s"), name + 7);
    else if (v == floor(v) && v < 1e15 && strncmp(name, "energy", 6) != 0)
        snprintf(buf, 160, "%s %.90s", jm_fmt_count(part, (int64_t)v), name);
    else
        snprintf(buf, 160, "%s %.90s",
                 strncmp(name, "energy", 6) == 0 ? jm_fmt_value(part, v, "J") : jm_fmt_number(part, v), name);
    return buf;
}

static void sum(struct jm_out *o, const struct jm_explain_row *e)
{
    char a[160], b[160], text[400];
    if (!e->numerator_name || !isfinite(e->numerator))
        return;
    snprintf(text, sizeof text, "= %s / %s", amount(a, e->numerator_name, e->numerator),
             isfinite(e->denominator) ? amount(b, e->denominator_name, e->denominator) : "?");
    line(o, text, JM_OUT_DIM);
}

static void block(struct jm_out *o, const struct jm_explain *x, size_t i)
{
    const struct jm_explain_row *e = &x->rows[i];
    char text[700];
    jm_str_addc(o->s, '\n');
    mark(o, i);
    jm_out_style(o, JM_OUT_BOLD);
    jm_out_add(o, e->tool);
    jm_out_style(o, JM_OUT_PLAIN);
    int at = MARK + jm_out_columns(e->tool, strlen(e->tool));
    if (e->version) {
        snprintf(text, sizeof text, " %s (%s)%s%s", strcmp(e->key, "-") == 0 ? "" : e->key, e->version,
                 e->metric ? ": " : "", e->metric ? e->metric : "");
        jm_out_wrap(o, text + (strcmp(e->key, "-") == 0), 4, at);
    } else {
        snprintf(text, sizeof text, " %s%s%s", e->key, e->formula ? " = " : "", e->formula ? e->formula : "");
        jm_out_wrap(o, text, 4, at);
    }
    sum(o, e);
    if (e->from && e->to) {
        snprintf(text, sizeof text, "from %s to %s", e->from, e->to);
        line(o, text, JM_OUT_DIM);
    }
    if (e->boundary) {
        snprintf(text, sizeof text, "boundary: %s", e->boundary);
        line(o, text, JM_OUT_DIM);
    }
    if (e->requests || e->tokens) {
        snprintf(text, sizeof text, "%s%s%s%s", e->requests ? "requests: " : "",
                 e->requests ? e->requests : "", e->tokens ? (e->requests ? "; tokens: " : "tokens: ") : "",
                 e->tokens ? e->tokens : "");
        line(o, text, JM_OUT_DIM);
    }
    if (e->have && e->method && (isnan(e->p50) || strncmp(e->method, "interp", 6) != 0)) {
        snprintf(text, sizeof text, "quantiles: %s", e->method);
        line(o, text, JM_OUT_DIM);
    }
    line(o, e->why, JM_OUT_PLAIN);
}

static void head(struct jm_out *o, const struct jm_report *r, const struct jm_explain *x)
{
    char text[400], a[JM_FMT], b[JM_FMT], ends[JM_EXPLAIN_ENDS];
    jm_out_style(o, JM_OUT_BOLD);
    snprintf(text, sizeof text, "%s: %s of this very run, by every tool", x->asked, x->title);
    jm_out_wrap(o, text, 0, 0);
    jm_out_style(o, JM_OUT_DIM);
    snprintf(text, sizeof text, "%s%s%s %s · run %.8s", r->label ? r->label : "", r->label ? ", " : "",
             r->kind, r->source ? r->source : "", r->id);
    jm_out_wrap(o, text, 0, 0);
    jm_out_style(o, JM_OUT_PLAIN);
    if (x->scheduled && x->windows)
        snprintf(text, sizeof text,
                 "%s requests scheduled in the measured window%s (%s), followed to their end: %s",
                 jm_fmt_count(a, x->scheduled), x->windows == 1 ? "" : "s", jm_fmt_duration(b, x->seconds),
                 jm_explain_ends(ends, x));
    else if (x->scheduled)
        snprintf(text, sizeof text, "All %s requests, as the run has no measured window: %s",
                 jm_fmt_count(a, x->scheduled), jm_explain_ends(ends, x));
    else
        snprintf(text, sizeof text, "No request was scheduled in a measured window.");
    if (x->scheduled || !x->note)
        jm_out_wrap(o, text, 0, 0);
    if (x->note) {
        jm_out_style(o, JM_OUT_YELLOW);
        jm_out_wrap(o, x->note, 0, 0);
        jm_out_style(o, JM_OUT_PLAIN);
    }
}

int jm_explain_text(const struct jm_report *r, const struct jm_explain *x, const struct jm_show_opts *opts,
                    struct jm_str *s, struct jm_err *err)
{
    struct jm_out o = {s, r, opts, opts->width >= 40 ? opts->width : 80};
    bool approximate = false;
    head(&o, r, x);
    table(&o, x);
    for (size_t i = 0; i < x->n; i++) {
        block(&o, x, i);
        approximate |= x->rows[i].approximate && x->rows[i].have;
    }
    if (approximate) {
        jm_str_addc(s, '\n');
        jm_out_style(&o, JM_OUT_DIM);
        jm_out_wrap(&o,
                    strcmp(x->family, "energy") == 0
                        ? "≈: by the server's count where the tool has a tokenizer of its own, and without "
                          "what it estimates."
                        : "≈: by the server's count, where the tool's own tokenizer would have counted the "
                          "same text; without the text of requests that failed inside their stream.",
                    0, 0);
        jm_out_style(&o, JM_OUT_PLAIN);
    }
    return jm_str_ok(s, "the text of the explanation", err);
}
