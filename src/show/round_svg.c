/* SPDX-License-Identifier: Apache-2.0 */
#include "show/round_svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/round_compare.h"
#include "show/fmt.h"
#include "show/round_text.h"
#include "show/svg.h"

#include "base/banned.h"

#define MOST_GROUPS 80
#define MOST_BARS   30

const char jm_round_style_sheet[] =
    "main{max-width:1240px}.facts "
    "th{width:190px}.cards{grid-template-columns:repeat(auto-fit,minmax(170px,1fr))}.weak{opacity:.42}.err{"
    "stroke:var(--ink);stroke-width:1.4}.dot{fill:var(--k);"
    "stroke:"
    "none}.ring{fill:var(--card);stroke:var(--k);stroke-width:1.6}.fail{fill:var(--bad)}svg "
    ".sub{font-size:11.5px}"
    "svg .no{fill:var(--bad)}.best{fill:none;stroke:var(--c0);stroke-width:1.6}"
    ".multi{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,380px),1fr));gap:14px}"
    ".multi figure svg{min-width:300px}.note{border:1px solid currentColor;border-radius:4px;padding:0 "
    "6px;font-"
    "size:12px}#rows td,#rows th{font-size:13px;padding-right:14px}#rows tbody th{font-weight:600}";

/* Rows of one benchmark and scenario with an efficiency in one unit. */
struct group {
    const struct jm_round_row **row;
    size_t n;
};

static bool tokens(const struct jm_round_row *r)
{
    return jm_round_efficiency(r) == &r->tokens_per_j;
}

static double value(const struct jm_round_row *r)
{
    const struct jm_round_pair *p = jm_round_efficiency(r);
    return isfinite(p->published) ? p->published : p->proper;
}

static bool same_group(const struct jm_round_row *a, const struct jm_round_row *b)
{
    return jm_round_key(a, b) == 0 && tokens(a) == tokens(b);
}

static int by_group(const void *x, const void *y)
{
    const struct jm_round_row *a = *(const struct jm_round_row *const *)x,
                              *b = *(const struct jm_round_row *const *)y;
    int c = jm_round_key(a, b);
    if (!c)
        c = tokens(b) - tokens(a);
    if (!c)
        c = (value(a) < value(b)) - (value(a) > value(b));
    return c ? c : jm_round_compare(a, b);
}

static const struct jm_round_row **sorted(const struct jm_round_table *t, size_t *n, bool *failed)
{
    const struct jm_round_row **v = calloc(t->n_row + 1, sizeof *v);
    *n = 0;
    *failed = !v;
    for (size_t i = 0; v && i < t->n_row; i++) {
        const struct jm_round_row *r = t->row[i];
        if (r->kind == JM_ROUND_SESSION && r->benchmark && jm_round_efficiency(r) && isfinite(value(r)) &&
            value(r) > 0)
            v[(*n)++] = r;
    }
    if (v && *n)
        qsort(v, *n, sizeof *v, by_group);
    return v;
}

static bool comparable(const struct jm_round_row *r)
{
    char why[JM_ROUND_WHY];
    return !jm_round_incomparable(r, why);
}

static void told(struct jm_str *s, const struct jm_round_row *r)
{
    char v[JM_FMT];
    const struct jm_round_pair *p = jm_round_efficiency(r);
    jm_str_adds(s, "<title>");
    jm_svg_escape(s, r->submitter ? r->submitter : "");
    jm_str_adds(s, " ");
    jm_svg_escape(s, jm_round_system(r));
    jm_str_addf(s, ", %s: %s %s/J", r->round ? r->round : "", jm_fmt_number(v, value(r)),
                tokens(r) ? "tokens" : "samples");
    if (isfinite(p->lo) && isfinite(p->hi)) {
        jm_str_addf(s, ", proper %s", jm_fmt_number(v, p->proper));
        jm_str_addf(s, " (%s", jm_fmt_number(v, p->lo));
        jm_str_addf(s, " to %s)", jm_fmt_number(v, p->hi));
    }
    if (r->checked)
        jm_str_addf(s, "; official %s, ours %s", jm_round_verdict_name(r->official),
                    jm_round_verdict_name(r->own));
    jm_str_adds(s, "</title>");
}

static void cut(struct jm_str *s, const char *text, size_t most)
{
    struct jm_span c;
    char buf[512];
    size_t n = 0, at = 0;
    for (const char *p = text; (p = jm_fmt_next(p, &c)) && at + c.n + 4 < sizeof buf;) {
        if (++n > most) {
            memcpy(buf + at, "…", 3);
            at += 3;
            break;
        }
        memcpy(buf + at, c.p, c.n);
        at += c.n;
    }
    buf[at] = '\0';
    jm_svg_escape(s, buf);
}

static void bars(struct jm_str *s, const struct group *g)
{
    enum { LABEL = 430, WIDE = 1000, TALL = 34 };
    size_t n = g->n < MOST_BARS ? g->n : MOST_BARS;
    double top = 0;
    char v[JM_FMT];
    for (size_t i = 0; i < n; i++) {
        const struct jm_round_pair *p = jm_round_efficiency(g->row[i]);
        top = fmax(top, fmax(value(g->row[i]), isfinite(p->hi) ? p->hi : 0));
    }
    jm_str_adds(s, "<figure><svg viewBox='0 0 ");
    jm_str_addf(s, "%d %zu' role='img' aria-label='", WIDE, n * TALL + 12);
    jm_svg_escape(s, g->row[0]->benchmark);
    jm_str_addf(s, " %s: %s per joule, the most efficient first'>",
                g->row[0]->scenario ? g->row[0]->scenario : "", tokens(g->row[0]) ? "tokens" : "samples");
    for (size_t i = 0; i < n; i++) {
        const struct jm_round_row *r = g->row[i];
        const struct jm_round_pair *p = jm_round_efficiency(r);
        double scale = (WIDE - LABEL - 110) / top, y = 6 + TALL * (double)i, w = fmax(value(r) * scale, 1);
        jm_str_addf(s, "<g data-path='");
        jm_svg_escape(s, r->path);
        jm_str_addf(s, "'><text class='lab' x='%d' y='%.1f' text-anchor='end'>", LABEL - 12, y + 13);
        cut(s, jm_round_system(r), 58);
        jm_str_addf(s, "</text><text class='sub' x='%d' y='%.1f' text-anchor='end'>", LABEL - 12, y + 27);
        jm_svg_escape(s, r->round ? r->round : "");
        jm_str_adds(s, " ");
        cut(s, r->submitter ? r->submitter : "", 24);
        char why[JM_ROUND_WHY];
        const char *no = jm_round_incomparable(r, why);
        if (no || (r->checked && r->own == JM_RV_FAIL)) {
            jm_str_adds(s, "<tspan class='no'> ");
            jm_svg_escape(s, no ? no : "breaks a rule of ours");
            jm_str_adds(s, "</tspan>");
        }
        if (r->inferred)
            jm_str_adds(s, " (inferred)");
        jm_str_addf(s, "</text><rect class='bar s%d%s' x='%d' y='%.1f' width='%.1f' height='18' rx='2'>",
                    tokens(r) ? 0 : 2, no ? " weak" : "", LABEL, y + 6, w);
        told(s, r);
        jm_str_adds(s, "</rect>");
        if (isfinite(p->lo) && isfinite(p->hi))
            jm_str_addf(s, "<path class='err' d='M%.1f %.1fV%.1fM%.1f %.1fH%.1fM%.1f %.1fV%.1f'/>",
                        LABEL + p->lo * scale, y + 10, y + 20, LABEL + p->lo * scale, y + 15,
                        LABEL + p->hi * scale, LABEL + p->hi * scale, y + 10, y + 20);
        double end = LABEL + fmax(w, isfinite(p->hi) ? p->hi * scale : 0);
        jm_str_addf(s, "<text class='val' x='%.1f' y='%.1f'>%s</text></g>", end + 8, y + 20,
                    jm_fmt_number(v, value(r)));
    }
    jm_str_adds(s, "</svg>");
    if (g->n > n)
        jm_str_addf(s, "<figcaption class='dim'>and %zu more in the table</figcaption>", g->n - n);
    jm_str_adds(s, "</figure>");
}

static void heading(struct jm_str *s, const struct jm_round_row *r)
{
    jm_str_adds(s, "<h3>");
    jm_svg_escape(s, r->benchmark);
    jm_str_adds(s, " ");
    jm_svg_escape(s, r->scenario ? r->scenario : "");
    jm_str_addf(s, " <span class='dim'>%s per joule</span></h3>", tokens(r) ? "tokens" : "samples");
}

size_t jm_round_svg_bars(const struct jm_round_table *t, struct jm_str *s)
{
    size_t n, groups = 0;
    const struct jm_round_row **v = sorted(t, &n, &s->failed);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && same_group(v[i], v[k]); k++) {
        }
        if (++groups > MOST_GROUPS)
            continue;
        heading(s, v[i]);
        bars(s, &(struct group){v + i, k - i});
    }
    free(v);
    return groups;
}

/* --- the trend ------------------------------------------------------------------------------------------ */

#define ROUNDS 32

static size_t rounds_of(const struct group *g, const char *round[ROUNDS])
{
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++) {
        size_t at = 0;
        const char *name = g->row[i]->round;
        if (!name)
            continue;
        while (at < n && jm_round_natural(round[at], name) < 0)
            at++;
        if ((at < n && strcmp(round[at], name) == 0) || n == ROUNDS)
            continue;
        memmove(round + at + 1, round + at, (n - at) * sizeof *round);
        round[at] = name;
        n++;
    }
    return n;
}

static void trend(struct jm_str *s, const struct group *g, const char *const *round, size_t n)
{
    enum { LEFT = 62, WIDE = 440, TOP = 14, TALL = 190, RIGHT = 20 };
    double top = 0, each = (WIDE - LEFT - RIGHT) / (double)n;
    char v[JM_FMT];
    for (size_t i = 0; i < g->n; i++)
        top = fmax(top, value(g->row[i]));
    double step = jm_svg_step(top, 4), scale = (TALL - TOP) / (top * 1.06);
    jm_str_addf(s, "<figure><svg viewBox='0 0 %d %d' role='img' aria-label='", WIDE, TALL + 34);
    jm_svg_escape(s, g->row[0]->benchmark);
    jm_str_addf(s, " %s: %s per joule over the rounds; the line joins the best comparable result of each'>",
                g->row[0]->scenario ? g->row[0]->scenario : "", tokens(g->row[0]) ? "tokens" : "samples");
    for (double y = 0; y <= top * 1.06; y += step)
        jm_str_addf(s,
                    "<line class='grid' x1='%d' x2='%d' y1='%.1f' y2='%.1f'/><text class='tick' x='%d' "
                    "y='%.1f' text-anchor='end'>%s</text>",
                    LEFT, WIDE - RIGHT, TALL - y * scale, TALL - y * scale, LEFT - 8, TALL - y * scale + 4,
                    jm_fmt_tick(v, y, ""));
    struct jm_str line;
    jm_str_init(&line);
    for (size_t k = 0; k < n; k++) {
        double x = LEFT + each * ((double)k + .5), best = NAN;
        jm_str_addf(s, "<text class='tick' x='%.1f' y='%d' text-anchor='middle'>", x, TALL + 20);
        jm_svg_escape(s, round[k]);
        jm_str_adds(s, "</text>");
        for (size_t i = 0; i < g->n; i++) {
            const struct jm_round_row *r = g->row[i];
            if (!r->round || strcmp(r->round, round[k]) != 0)
                continue;
            if (comparable(r))
                best = fmax(best, value(r));
            jm_str_addf(s, "<circle class='%s s%d' cx='%.1f' cy='%.1f' r='4.2'>",
                        comparable(r) ? "dot" : "ring", tokens(r) ? 0 : 2, x, TALL - value(r) * scale);
            told(s, r);
            jm_str_adds(s, "</circle>");
        }
        if (isfinite(best))
            jm_str_addf(&line, "%s%.1f %.1f", line.len ? "L" : "M", x, TALL - best * scale);
    }
    if (line.len)
        jm_str_addf(s, "<path class='best' d='%s'/>", line.buf);
    jm_str_release(&line);
    jm_str_adds(s, "</svg></figure>");
}

size_t jm_round_svg_trend(const struct jm_round_table *t, struct jm_str *s)
{
    const char *round[ROUNDS];
    size_t n, groups = 0;
    const struct jm_round_row **v = sorted(t, &n, &s->failed);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && same_group(v[i], v[k]); k++) {
        }
        struct group g = {v + i, k - i};
        size_t r = rounds_of(&g, round);
        if (r < 2 || ++groups > MOST_GROUPS)
            continue;
        jm_str_adds(s, "<div>");
        heading(s, v[i]);
        trend(s, &g, round, r);
        jm_str_adds(s, "</div>");
    }
    free(v);
    return groups;
}
