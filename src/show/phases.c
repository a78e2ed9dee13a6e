/* SPDX-License-Identifier: Apache-2.0 */
#include "show/phases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/fmt.h"
#include "show/formats.h"

#include "base/banned.h"

bool jm_phase_lines(const struct jm_report *r, size_t split, struct jm_phase_line line[JM_PHASE_LINES])
{
    const struct jm_phases *p = r->phases;
    if (!p || p->why || split >= p->n_splits)
        return false;
    const struct jm_phase_split *s = &p->split[split];
    bool known = isfinite(s->share);
    double total = (double)s->total_mj / 1e3;
    line[0] = (struct jm_phase_line){.name = "prefill",
                                     .joules = known ? (double)s->prefill_mj / 1e3 : NAN,
                                     .marginal = s->marginal_prefill,
                                     .tokens = s->prefill_tokens,
                                     .token = "prompt token computed"};
    line[1] = (struct jm_phase_line){.name = "decode",
                                     .joules = known ? (double)s->decode_mj / 1e3 : NAN,
                                     .marginal = s->marginal_decode,
                                     .tokens = s->decode_tokens,
                                     .token = p->speculative ? "verified draft step" : "decode token"};
    line[2] = (struct jm_phase_line){
        .name = "no request", .joules = (double)s->idle_mj / 1e3, .marginal = NAN, .tokens = NAN};
    line[3] = (struct jm_phase_line){.name = "total", .joules = total, .marginal = NAN, .tokens = NAN};
    for (int i = 0; i < JM_PHASE_LINES; i++) {
        line[i].share = total > 0 ? line[i].joules / total : NAN;
        if (p->method != JM_PHASE_D2)
            line[i].marginal = NAN;
    }
    return true;
}

static const char *where(const struct jm_report *r)
{
    const struct jm_phases *p = r->phases;
    return p->set ? p->set : jm_boundary_name((int)p->boundary);
}

static void dim(struct jm_out *o, const char *text)
{
    jm_str_adds(o->s, "  ");
    jm_out_style(o, JM_OUT_DIM);
    jm_out_wrap(o, text, 4, 2);
    jm_out_style(o, JM_OUT_PLAIN);
}

static void trim(struct jm_out *o)
{
    while (o->s->len && o->s->buf[o->s->len - 1] == ' ')
        o->s->buf[--o->s->len] = '\0';
    jm_str_addc(o->s, '\n');
}

static const char *value(char b[JM_FMT], double v, const char *unit)
{
    return isfinite(v) ? jm_fmt_value(b, v, unit) : "–";
}

static const char *percent(char b[JM_FMT], double v)
{
    if (!isfinite(v))
        return "–";
    snprintf(b, JM_FMT, "%.1f %%", 100 * v);
    return b;
}

/* ---- text */

/* A bar as wide as the line: prefill, decode, no request. */
static void bar(struct jm_out *o, const struct jm_phase_line *l)
{
    static const char *const utf8[] = {"█", "▒", "░"}, *const ascii[] = {"#", "=", "."};
    int width = o->width - 4 > 76 ? 76 : o->width - 4, at = 0;
    double sum = 0;
    if (!isfinite(l[0].share))
        return;
    jm_str_adds(o->s, "  ");
    for (int i = 0; i < 3; i++) {
        sum += l[i].share;
        for (; at < (i == 2 ? width : (int)lround(sum * width)); at++)
            jm_str_adds(o->s, o->o->ascii ? ascii[i] : utf8[i]);
    }
    jm_str_addc(o->s, '\n');
}

static void split(struct jm_out *o, size_t k)
{
    struct jm_phase_line l[JM_PHASE_LINES];
    const struct jm_phase_split *s = &o->r->phases->split[k];
    char b[JM_FMT], line[160];
    bool marginal = o->r->phases->method == JM_PHASE_D2;
    if (!jm_phase_lines(o->r, k, l))
        return;
    jm_out_style(o, JM_OUT_DIM);
    jm_str_adds(o->s, "  ");
    jm_out_cell(o, "", 12, false);
    jm_out_cell(o, "fully loaded", 12, true);
    jm_out_cell(o, "share", 8, true);
    if (marginal) {
        jm_out_cell(o, "marginal", 11, true);
        jm_out_cell(o, "  one more token", 24, false);
    }
    trim(o);
    jm_out_style(o, JM_OUT_PLAIN);
    for (int i = 0; i < JM_PHASE_LINES; i++) {
        if (i < 2 && !isfinite(l[i].joules))
            continue;
        jm_str_adds(o->s, "  ");
        if (i == 3)
            jm_out_style(o, JM_OUT_BOLD);
        jm_out_cell(o, l[i].name, 12, false);
        jm_out_cell(o, value(b, l[i].joules, "J"), 12, true);
        jm_out_cell(o, percent(b, l[i].share), 8, true);
        if (marginal && i < 2) {
            jm_out_cell(o, value(b, l[i].marginal, "J"), 11, true);
            if (l[i].tokens > 0) {
                snprintf(line, sizeof line, "  %s a %s", value(b, l[i].marginal / l[i].tokens, "J"),
                         l[i].token);
                jm_out_add(o, line);
            }
        }
        if (i == 3)
            jm_out_style(o, JM_OUT_PLAIN);
        trim(o);
    }
    bar(o, l);
    if (isfinite(s->share)) {
        int n = snprintf(line, sizeof line, "prefill is %.1f %% of what requests got", 100 * s->share);
        if (isfinite(s->range.lo))
            snprintf(line + n, sizeof line - (size_t)n, " (%.1f to %.1f %%, block bootstrap)",
                     100 * s->range.lo, 100 * s->range.hi);
        jm_str_adds(o->s, "  ");
        jm_out_wrap(o, line, 4, 2);
    }
}

static void coefficients(struct jm_out *o)
{
    const struct jm_phases *p = o->r->phases;
    char a[JM_FMT], b[JM_FMT], c[JM_FMT], line[300];
    for (size_t i = 0; i < p->n_units; i++) {
        const struct jm_phase_fit *f = &p->unit[i].fit;
        if (f->method != JM_PHASE_D2)
            continue;
        snprintf(line, sizeof line, "%s%sidle pinned at %s (%s), %zu windows of %.3g s, condition %.0f",
                 p->unit[i].name ? p->unit[i].name : "", p->unit[i].name ? ": " : "",
                 value(a, f->idle_w, "W"), p->unit[i].idle_from ? p->unit[i].idle_from : "?", f->windows,
                 f->window_s, f->condition);
        dim(o, line);
        for (int k = 0; k < JM_PW_COUNT; k++) {
            if (!f->fitted[k])
                continue;
            jm_str_adds(o->s, "    ");
            jm_out_cell(o, jm_phase_weight_name(k), 22, false);
            jm_out_cell(o, value(a, f->w[k], "J"), 12, true);
            if (isfinite(f->w_interval[k].lo)) {
                snprintf(line, sizeof line, "   %s to %s", value(b, f->w_interval[k].lo, "J"),
                         value(c, f->w_interval[k].hi, "J"));
                jm_out_add(o, line);
            }
            trim(o);
        }
        if (f->no_interval[0])
            dim(o, f->no_interval);
    }
}

static void distributions(struct jm_out *o)
{
    const struct jm_phases *p = o->r->phases;
    char b[JM_FMT], line[200];
    static const char *const head[] = {"requests", "mean", "p50", "p90", "p99"};
    if (!p->n_dists || !p->dist[0].n)
        return;
    jm_out_style(o, JM_OUT_DIM);
    jm_str_adds(o->s, "  ");
    jm_out_cell(o, "energy a request", 24, false);
    for (int i = 0; i < 5; i++)
        jm_out_cell(o, head[i], i ? 11 : 9, true);
    trim(o);
    jm_out_style(o, JM_OUT_PLAIN);
    for (size_t i = 0; i < p->n_dists; i++) {
        const struct jm_request_dist *d = &p->dist[i];
        snprintf(line, sizeof line, "%s%s",
                 d->slice    ? "slice "
                 : d->tenant ? "tenant "
                             : "",
                 d->slice    ? (d->slice[0] ? d->slice : "(none)")
                 : d->tenant ? d->tenant
                             : "all");
        jm_str_adds(o->s, "  ");
        jm_out_cell(o, line, 24, false);
        jm_out_cell(o, jm_fmt_count(b, d->n), 9, true);
        jm_out_cell(o, value(b, d->mean, "J"), 11, true);
        jm_out_cell(o, value(b, d->p50, "J"), 11, true);
        jm_out_cell(o, value(b, d->p90, "J"), 11, true);
        jm_out_cell(o, value(b, d->p99, "J"), 11, true);
        trim(o);
    }
    if (p->dist[0].failed > 0) {
        snprintf(line, sizeof line, "requests that did not succeed got %s of it, for nothing",
                 value(b, p->dist[0].failed, "J"));
        dim(o, line);
    }
    if (p->dist[0].left_out) {
        char n[JM_FMT];
        snprintf(line, sizeof line, "%s more began before the readings or ended after them, and are left out",
                 jm_fmt_count(n, p->dist[0].left_out));
        dim(o, line);
    }
}

#define CACHED 0.02 /* a chat template alone is often cached */

/* How it came about, in a few sentences. */
static void notes(const struct jm_phases *p, void (*say)(void *self, const char *text), void *self)
{
    char line[500], b[JM_FMT];
    for (size_t i = 0; i < p->n_units; i++)
        if (p->unit[i].fit.why[0]) {
            snprintf(line, sizeof line, "%s%sno regression: %s", p->unit[i].name ? p->unit[i].name : "",
                     p->unit[i].name ? ": " : "", p->unit[i].fit.why);
            say(self, line);
        }
    if (p->cached_tokens > 0) {
        snprintf(line, sizeof line, "%s prompt tokens came from a cache and were not computed",
                 jm_fmt_count(b, llround(p->cached_tokens)));
        say(self, line);
    }
    if (!p->cached_known && p->engine_cached > CACHED) {
        snprintf(line, sizeof line,
                 "the engine had %.1f %% of the prompt tokens in a cache, and no answer says whose: all of "
                 "them count as computed here, and a token that was computed took more than is shown",
                 100 * p->engine_cached);
        say(self, line);
    }
    if (p->speculative)
        say(self, "speculative decoding: decode is counted in verified draft steps, not in tokens");
    if (p->guessed_prompts) {
        snprintf(line, sizeof line,
                 "the prompt tokens of %s requests nobody counted; they are as asked for, or by their bytes",
                 jm_fmt_count(b, p->guessed_prompts));
        say(self, line);
    }
    if (p->no_tokens) {
        snprintf(
            line, sizeof line,
            "%s requests never gave a token; nothing tells whether they were computed, and they get nothing",
            jm_fmt_count(b, p->no_tokens));
        say(self, line);
    }
    if (p->note)
        say(self, p->note);
    if (p->closure_mj) {
        snprintf(line, sizeof line, "THE PARTS DO NOT ADD UP: %lld mJ are left over",
                 (long long)p->closure_mj);
        say(self, line);
    }
}

static void say_text(void *self, const char *text)
{
    dim(self, text);
}

void jm_show_phases_text(struct jm_out *o)
{
    const struct jm_phases *p = o->r->phases;
    char line[400];
    if (!p || !o->o->phases)
        return;
    jm_out_section(o, "Prefill, decode, requests");
    if (p->why) {
        snprintf(line, sizeof line, "not told: %s", p->why);
        dim(o, line);
        return;
    }
    dim(o, p->label);
    snprintf(line, sizeof line, "at the boundary %s%s; %s", where(o->r),
             p->n_splits > 2 ? ", all measure windows" : "", jm_provenance_name((int)p->provenance));
    dim(o, line);
    split(o, 0);
    for (size_t i = 1; i < p->n_splits && p->n_splits > 2 && i <= 8; i++) {
        const struct jm_phase_split *s = &p->split[i];
        char b[JM_FMT];
        if (!isfinite(s->share))
            continue;
        jm_str_adds(o->s, "  ");
        jm_out_cell(o, s->window >= 0 ? o->r->windows[s->window].name : "", 22, false);
        snprintf(line, sizeof line, " prefill %.1f %% of %s", 100 * s->share,
                 value(b, (double)(s->prefill_mj + s->decode_mj) / 1e3, "J"));
        jm_out_add(o, line);
        trim(o);
    }
    coefficients(o);
    distributions(o);
    notes(p, say_text, o);
}

/* ---- Markdown */

static void say_markdown(void *self, const char *text)
{
    jm_str_adds(self, "\n- ");
    jm_markdown_escape(self, text);
}

void jm_show_phases_markdown(const struct jm_report *r, struct jm_str *s)
{
    const struct jm_phases *p = r->phases;
    struct jm_phase_line l[JM_PHASE_LINES];
    char b[JM_FMT];
    if (!p || !jm_phase_lines(r, 0, l))
        return;
    jm_str_adds(s, "\n## Prefill, decode, requests\n\n*");
    jm_markdown_escape(s, p->label);
    jm_str_adds(s,
                "*\n\n| | fully loaded | share | marginal | one more token |\n|---|---:|---:|---:|---:|\n");
    for (int i = 0; i < JM_PHASE_LINES; i++) {
        if (i < 2 && !isfinite(l[i].joules))
            continue;
        jm_str_addf(s, "| %s | %s", l[i].name, value(b, l[i].joules, "J"));
        jm_str_addf(s, " | %s", percent(b, l[i].share));
        jm_str_addf(s, " | %s", isfinite(l[i].marginal) ? value(b, l[i].marginal, "J") : "");
        jm_str_addf(s, " | %s |\n",
                    l[i].tokens > 0 && isfinite(l[i].marginal) ? value(b, l[i].marginal / l[i].tokens, "J")
                                                               : "");
    }
    if (p->n_dists && p->dist[0].n) {
        jm_str_adds(s,
                    "\n| energy a request | n | mean | p50 | p90 | p99 |\n|---|---:|---:|---:|---:|---:|\n");
        for (size_t i = 0; i < p->n_dists; i++) {
            const struct jm_request_dist *d = &p->dist[i];
            const double v[] = {d->mean, d->p50, d->p90, d->p99};
            jm_str_adds(s, d->slice ? "| slice " : d->tenant ? "| tenant " : "| all");
            jm_markdown_escape(s, d->slice ? d->slice : d->tenant ? d->tenant : "");
            jm_str_addf(s, " | %s", jm_fmt_count(b, d->n));
            for (int k = 0; k < 4; k++)
                jm_str_addf(s, " | %s", value(b, v[k], "J"));
            jm_str_adds(s, " |\n");
        }
    }
    notes(p, say_markdown, s);
    jm_str_addc(s, '\n');
}
