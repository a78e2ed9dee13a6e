/* SPDX-License-Identifier: Apache-2.0 */
/* One MLPerf session in full, and the findings of many. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "show/round_text.h"
#include "show/svg.h"

#include "base/banned.h"

/* Where a page goes: lines of text, or rows of HTML tables. */
struct page {
    struct jm_out *o; /* NULL: html */
    struct jm_str *html;
    bool open; /* a table */
};

static void part(struct page *p, const char *title)
{
    if (p->o) {
        jm_out_section(p->o, title);
        return;
    }
    jm_str_addf(p->html, "%s<section><h2>", p->open ? "</tbody></table></section>" : "");
    jm_svg_escape(p->html, title);
    jm_str_adds(p->html, "</h2><table class='facts'><tbody>");
    p->open = true;
}

static void name(struct jm_out *o, const char *text, int width)
{
    jm_str_adds(o->s, "  ");
    jm_out_cell(o, text, width, false);
    jm_str_adds(o->s, "  ");
}

static void fact(struct page *p, const char *key, const char *value)
{
    if (!value || !*value)
        return;
    if (p->o) {
        if (jm_out_columns(key, strlen(key)) > 16) {
            jm_str_adds(p->o->s, "  ");
            jm_out_wrap(p->o, key, 4, 2);
            jm_str_adds(p->o->s, "                    ");
        } else {
            name(p->o, key, 16);
        }
        jm_out_wrap(p->o, value, 20, 20);
        return;
    }
    jm_str_adds(p->html, "<tr><th scope='row'>");
    jm_svg_escape(p->html, key);
    jm_str_adds(p->html, "</th><td>");
    jm_svg_escape(p->html, value);
    jm_str_adds(p->html, "</td></tr>");
}

static void figure(struct page *p, const char *key, const struct jm_round_pair *x, const char *unit)
{
    char a[JM_FMT], b[JM_FMT], lo[JM_FMT], hi[JM_FMT], d[JM_FMT], range[2 * JM_FMT] = "";
    if (!isfinite(x->published) && !isfinite(x->proper))
        return;
    if (isfinite(x->lo) && isfinite(x->hi))
        snprintf(range, sizeof range, "%s to %s", jm_fmt_value(lo, x->lo, unit),
                 jm_fmt_value(hi, x->hi, unit));
    else if (isfinite(x->lo))
        snprintf(range, sizeof range, "at least %s", jm_fmt_value(lo, x->lo, unit));
    else if (isfinite(x->hi))
        snprintf(range, sizeof range, "at most %s", jm_fmt_value(hi, x->hi, unit));
    jm_fmt_value(a, x->published, unit);
    jm_fmt_value(b, x->proper, unit);
    jm_round_percent(d, x->published != 0 ? x->proper / x->published - 1 : NAN);
    if (!p->o) {
        jm_str_addf(
            p->html,
            "<tr><th scope='row'>%s</th><td class='n'>%s</td><td class='n'>%s</td><td class='n'>%s</td>"
            "<td class='n'>%s</td></tr>",
            key, a, b, d, range);
        return;
    }
    name(p->o, key, 16);
    jm_out_cell(p->o, a, 12, true);
    jm_str_adds(p->o->s, "  ");
    jm_out_cell(p->o, b, 12, true);
    jm_str_adds(p->o->s, "  ");
    jm_out_cell(p->o, d, 8, true);
    if (*range) {
        jm_str_adds(p->o->s, "  ");
        jm_out_add(p->o, range);
    }
    jm_str_addc(p->o->s, '\n');
}

static void plain(struct page *p, const char *key, double v, const char *unit)
{
    char a[JM_FMT];
    if (isfinite(v))
        fact(p, key, jm_fmt_value(a, v, unit));
}

static void figures(struct page *p, const struct jm_round_row *r, const struct jm_round_show *show)
{
    char a[JM_FMT], b[JM_FMT];
    part(p, "Figures");
    if (p->o) {
        jm_out_style(p->o, JM_OUT_DIM);
        name(p->o, "", 16);
        jm_str_adds(p->o->s, "   published        proper   differs  95 % interval of it\n");
        jm_out_style(p->o, JM_OUT_PLAIN);
    } else {
        jm_str_adds(p->html,
                    "<tr><th></th><th class='n' scope='col'>published</th><th class='n' scope='col'>proper"
                    "</th><th class='n' scope='col'>differs</th><th class='n' scope='col'>95 % interval of "
                    "proper</th></tr>");
    }
    figure(p, "power", &r->power, "W");
    figure(p, "energy", &r->energy, "J");
    figure(p, "energy a query",
           &(struct jm_round_pair){r->mj_per_stream.published / 1000, r->mj_per_stream.proper / 1000,
                                   r->mj_per_stream.lo / 1000, r->mj_per_stream.hi / 1000, ""},
           "J");
    figure(p, "samples/J", &r->samples_per_j, "");
    figure(p, "tokens/J", &r->tokens_per_j, "");
    figure(p, "J/token", &r->j_per_token, "");
    if (!p->o)
        jm_str_adds(p->html, "</tbody></table><table class='facts'><tbody>");
    plain(p, "performance", r->performance, r->performance_unit);
    if (isfinite(r->metric)) {
        char text[256], exact[32];
        jm_json_fmt_double(exact, r->metric);
        snprintf(text, sizeof text, "%s %s by the rule of %s", exact, r->metric_unit,
                 r->round ? r->round : "its round");
        fact(p, "published metric", text);
    }
    if (isfinite(r->reported)) {
        struct jm_str s;
        char exact[32];
        jm_json_fmt_double(exact, r->reported);
        jm_str_init(&s);
        jm_str_addf(&s, "%s %s in %s: %s", exact, r->reported_unit, r->reported_from,
                    r->reported_agrees ? "the same" : "NOT the same");
        if (!r->reported_agrees && isfinite(r->reported_off))
            jm_str_addf(&s, ", ours differs by %s", jm_round_percent(a, r->reported_off));
        fact(p, "table says", s.buf);
        (p->o ? p->o->s : p->html)->failed |= s.failed;
        jm_str_release(&s);
    }
    fact(p, "interval", r->accuracy);
    fact(p, "leaves out", r->excludes);
    if (show->pue.value > 0 && isfinite(r->energy.proper)) {
        char text[300];
        snprintf(text, sizeof text,
                 "%s%s%s, estimated: the energy at the wall times a PUE of %.4g%s%s; not part of a "
                 "comparison of hardware",
                 jm_fmt_value(a, show->pue.value * r->energy.proper, "J"),
                 isfinite(r->j_per_token.proper) ? ", " : "",
                 isfinite(r->j_per_token.proper)
                     ? jm_fmt_value(b, show->pue.value * r->j_per_token.proper, "J/token")
                     : "",
                 show->pue.value, show->pue.category[0] ? " of category " : "", show->pue.category);
        fact(p, "facility", text);
    }
    if (isfinite(r->design_power_w)) {
        char text[128];
        snprintf(text, sizeof text, "%s, declared by its makers, not measured",
                 jm_fmt_value(a, r->design_power_w, "W"));
        fact(p, "nameplate", text);
    }
}

static void measured(struct page *p, const struct jm_round_row *r)
{
    char text[512], a[JM_FMT], b[JM_FMT], c[JM_FMT], t[2][JM_RFC3339_SIZE];
    part(p, "Measurement");
    if (r->t0 >= 0) {
        snprintf(text, sizeof text, "%s, %.19s to %.19s UTC",
                 jm_fmt_duration(a, (double)(r->t1 - r->t0) / 1e9), jm_time_rfc3339(r->t0, t[0]),
                 jm_time_rfc3339(r->t1, t[1]));
        fact(p, "load window", text);
    }
    if (r->window.rows >= 0) {
        snprintf(text, sizeof text, "%s in the window of %s in the log", jm_fmt_count(a, r->window.rows),
                 jm_fmt_count(b, r->file.rows));
        fact(p, "samples", text);
        if (r->window.rows == 0)
            snprintf(text, sizeof text, "none: there is no sample in the window");
        else if (r->window.bad + r->window.missed + r->window.over == 0)
            snprintf(text, sizeof text, "every sample in the window is good");
        else
            snprintf(text, sizeof text,
                     "%s over range, %s missed, %s without a reading in the window; the published mean "
                     "leaves out %.0f",
                     jm_fmt_count(a, r->window.over), jm_fmt_count(b, r->window.missed),
                     jm_fmt_count(c, r->window.bad), isfinite(r->dropped) ? r->dropped : 0);
        fact(p, "sentinels", text);
    }
    if (isfinite(r->max_gap_s) && r->window.rows != 0) {
        snprintf(text, sizeof text, "longest %s between samples; bridged %s, decoded from over range %s",
                 jm_fmt_duration(a, r->max_gap_s),
                 jm_fmt_duration(b, isfinite(r->bridged_s) ? r->bridged_s : 0),
                 jm_fmt_duration(c, isfinite(r->over_s) ? r->over_s : 0));
        fact(p, "gaps", text);
    }
    if (r->broken > 0 || r->out_of_order > 0 || r->duplicate_stamps > 0) {
        snprintf(text, sizeof text, "%lld broken, %lld out of order, %lld with a stamp used twice",
                 (long long)r->broken, (long long)r->out_of_order, (long long)r->duplicate_stamps);
        fact(p, "lines", text);
    }
    fact(p, "analyzer", r->analyzer);
    fact(p, "PTDaemon", r->ptd);
    fact(p, "ranges set", r->ranges);
    if (isfinite(r->max_volts)) {
        snprintf(text, sizeof text, "up to %s V and %s A, mean power factor %s",
                 jm_fmt_number(a, r->max_volts), jm_fmt_number(b, r->max_amps),
                 jm_fmt_number(c, r->power_factor));
        fact(p, "input", text);
    }
    if (r->analyzers > 1 || r->channels > 1) {
        if (r->analyzers > 1)
            snprintf(text, sizeof text, "%d analyzers", r->analyzers);
        else
            snprintf(text, sizeof text, "%d channels of one analyzer", r->channels);
        fact(p, "sum of", text);
    }
    if (isfinite(r->director_clock_s)) {
        snprintf(text, sizeof text, "client and server differ by up to %s at the phases",
                 jm_fmt_value(a, r->director_clock_s, "s"));
        fact(p, "clocks", text);
    }
}

static void rules(struct jm_out *o, const struct jm_round_row *r)
{
    char text[128];
    jm_out_section(o, "Rules");
    if (!r->checked) {
        jm_str_adds(o->s, "  not checked\n");
        return;
    }
    if (r->kind == JM_ROUND_SESSION) {
        name(o, "official", 16);
        jm_out_style(o, jm_round_style(r->official));
        jm_str_adds(o->s, jm_round_verdict_name(r->official));
        jm_out_style(o, JM_OUT_PLAIN);
        snprintf(text, sizeof text, " by the checker of %s%s%s", r->round ? r->round : "the round",
                 r->revision ? ", revision " : "", r->revision ? r->revision : "");
        jm_out_add(o, text);
        jm_str_addc(o->s, '\n');
        for (size_t i = 0; i < sizeof r->check / sizeof r->check[0]; i++) {
            if (r->check[i].verdict <= JM_RV_PASS)
                continue;
            jm_str_adds(o->s, "                    ");
            jm_out_wrap(o, r->check[i].title ? r->check[i].title : "", 22, 20);
            jm_str_adds(o->s, "                      ");
            jm_out_wrap(o, r->check[i].text ? r->check[i].text : "", 22, 22);
        }
    }
    name(o, "ours", 16);
    jm_out_style(o, jm_round_style(r->own));
    jm_str_adds(o->s, jm_round_verdict_name(r->own));
    jm_out_style(o, JM_OUT_PLAIN);
    jm_str_adds(o->s, "\n");
    for (size_t i = 0; i < r->n_finding; i++) {
        const struct jm_round_finding *f = &r->finding[i];
        jm_str_adds(o->s, "  ");
        jm_out_style(o, jm_round_style(f->verdict));
        jm_out_cell(o, f->verdict == JM_RV_FAIL ? "FAIL" : jm_round_verdict_name(f->verdict), 5, false);
        jm_out_style(o, JM_OUT_BOLD);
        jm_out_add(o, f->id);
        jm_out_style(o, JM_OUT_PLAIN);
        jm_str_adds(o->s, "\n       ");
        jm_out_wrap(o, f->text ? f->text : "", 7, 7);
        if (f->evidence && *f->evidence) {
            jm_out_style(o, JM_OUT_DIM);
            jm_str_adds(o->s, "       ");
            jm_out_wrap(o, f->evidence, 7, 7);
            jm_out_style(o, JM_OUT_PLAIN);
        }
    }
}

static void who(struct page *p, const struct jm_round_row *r)
{
    struct jm_str s;
    char n[JM_FMT];
    jm_str_init(&s);
    if (r->benchmark)
        jm_str_addf(&s, "%s ", r->benchmark);
    if (r->scenario)
        jm_str_addf(&s, "%s", r->scenario);
    if (r->inferred)
        jm_str_addf(&s, " (inferred from the run of %s)",
                    r->run_scenario ? r->run_scenario : "another scenario");
    fact(p, "result", s.buf);
    fact(p, "submitter", r->submitter);
    fact(p, "system", jm_round_system(r));
    if (r->accelerator) {
        jm_str_reset(&s);
        if (isfinite(jm_round_accelerators(r)))
            jm_str_addf(&s, "%s x ", jm_fmt_count(n, (int64_t)jm_round_accelerators(r)));
        jm_str_adds(&s, r->accelerator);
        fact(p, "accelerator", s.buf);
    }
    jm_str_reset(&s);
    jm_str_addf(&s, "%s, %s division, %s", r->round ? r->round : "not known",
                r->division ? r->division : "unknown",
                r->availability ? r->availability : "availability unknown");
    if (r->round_from)
        jm_str_addf(&s, " (the round by: %s)", r->round_from);
    fact(p, "round", s.buf);
    fact(p, "NOT OFFICIAL", r->unofficial);
    fact(p, "no figures", r->error);
    (p->o ? p->o->s : p->html)->failed |= s.failed;
    jm_str_release(&s);
}

static void page(struct page *p, const struct jm_round_row *r, const struct jm_round_show *show)
{
    const char *group = NULL;
    if (!p->o) {
        jm_str_adds(p->html, "<section><table class='facts'><tbody>");
        p->open = true;
    }
    who(p, r);
    if (r->kind == JM_ROUND_SESSION) {
        if (!r->error)
            figures(p, r, show);
        measured(p, r);
    } else {
        part(p, "Figures");
        plain(p, "published", r->metric, r->metric_unit);
        plain(p, "proper", r->metric_proper, r->metric_unit);
        fact(p, "no mean", r->accuracy);
    }
    for (size_t i = 0; i < r->n_fact; i++) {
        if (!group || strcmp(group, r->fact[i].group) != 0)
            part(p, r->fact[i].group);
        group = r->fact[i].group;
        fact(p, r->fact[i].name, r->fact[i].value);
    }
}

void jm_round_page(struct jm_out *o, const struct jm_round_row *r, const struct jm_round_show *show)
{
    struct page p = {.o = o};
    jm_out_style(o, JM_OUT_BOLD);
    jm_out_wrap(o, r->path ? r->path : "?", 2, 0);
    jm_out_style(o, JM_OUT_PLAIN);
    page(&p, r, show);
    rules(o, r);
}

void jm_round_page_html(struct jm_str *s, const struct jm_round_row *r, const struct jm_round_show *show)
{
    struct page p = {.html = s};
    page(&p, r, show);
    jm_str_adds(s, "</tbody></table></section>");
}

/* --- findings of many rows ------------------------------------------------------------------------------ */

static int worst_first(const void *a, const void *b)
{
    const struct jm_round_kind_count *x = a, *y = b;
    if (x->first->verdict != y->first->verdict)
        return x->first->verdict < y->first->verdict ? 1 : -1;
    if (x->rows != y->rows)
        return x->rows < y->rows ? 1 : -1;
    return strcmp(x->first->id, y->first->id);
}

size_t jm_round_findings_count(const struct jm_round_table *t, struct jm_round_kind_count k[JM_ROUND_KINDS])
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_row; i++)
        for (size_t f = 0; f < t->row[i]->n_finding; f++) {
            const struct jm_round_finding *x = &t->row[i]->finding[f];
            size_t at = 0;
            bool again = false;
            for (size_t g = 0; g < f && !again; g++) /* once a row */
                again = strcmp(t->row[i]->finding[g].id, x->id) == 0 &&
                        t->row[i]->finding[g].verdict == x->verdict;
            if (again || x->verdict < JM_RV_WARN)
                continue;
            while (at < n && (strcmp(k[at].first->id, x->id) != 0 || k[at].first->verdict != x->verdict))
                at++;
            if (at == n && n < JM_ROUND_KINDS)
                k[n++] = (struct jm_round_kind_count){x, 0};
            if (at < n)
                k[at].rows++;
        }
    if (n)
        qsort(k, n, sizeof *k, worst_first);
    return n;
}

void jm_round_findings(struct jm_out *o, const struct jm_round_table *t)
{
    enum { SHOWN = 12 };
    struct jm_round_kind_count k[JM_ROUND_KINDS];
    size_t n = jm_round_findings_count(t, k);
    char count[JM_FMT];
    if (!n)
        return;
    jm_out_section(o, "Findings");
    for (size_t i = 0; i < n && i < SHOWN; i++) {
        jm_str_adds(o->s, "  ");
        jm_out_style(o, jm_round_style(k[i].first->verdict));
        jm_out_cell(o, k[i].first->verdict == JM_RV_FAIL ? "FAIL" : "warn", 6, false);
        jm_out_style(o, JM_OUT_PLAIN);
        jm_out_add(o, k[i].first->id);
        jm_str_addf(o->s, " in %s %s\n", jm_fmt_count(count, (int64_t)k[i].rows),
                    k[i].rows == 1 ? "result" : "results");
        jm_out_style(o, JM_OUT_DIM);
        jm_str_addf(o->s, "        %s", k[i].rows > 1 ? "e.g. " : "");
        jm_out_wrap(o, k[i].first->text ? k[i].first->text : "", 8, k[i].rows > 1 ? 13 : 8);
        jm_out_style(o, JM_OUT_PLAIN);
    }
    if (n > SHOWN)
        jm_str_addf(o->s, "  and %zu more kinds; --json has every one\n", n - SHOWN);
}
