/* SPDX-License-Identifier: Apache-2.0 */
/* JSON and HTML of judged sessions. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/mlperf_check.h"
#include "mlperf/official.h"
#include "show/fmt.h"
#include "show/html_script.h"
#include "show/html_style.h"
#include "show/svg.h"

#include "base/banned.h"

static const enum jm_mlperf_verdict order[] = {JM_MLPERF_FAIL, JM_MLPERF_WARN, JM_MLPERF_NOTE, JM_MLPERF_PASS,
                                               JM_MLPERF_ABSENT};

static void pair(struct jm_jsonw *w, const char *key, const struct jm_mlperf_pair *p)
{
    jm_jsonw_key(w, key);
    jm_jsonw_object(w);
    jm_jsonw_knum(w, "published", p->published);
    jm_jsonw_knum(w, "proper", p->proper);
    jm_jsonw_knum(w, "lo", p->lo);
    jm_jsonw_knum(w, "hi", p->hi);
    jm_jsonw_kstr(w, "unit", p->unit);
    jm_jsonw_end(w);
}

static void official_json(const struct jm_mlperf_official *f, struct jm_jsonw *w)
{
    const struct jm_mlperf_revision *r = jm_mlperf_revision_find(f->revision);
    int64_t warnings = 0;
    for (int i = 0; i < 11; i++)
        warnings += f->check[i].verdict == JM_MLPERF_WARN;
    jm_jsonw_key(w, "official");
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "revision", f->revision);
    if (r)
        jm_jsonw_kstr(w, "source", r->source);
    jm_jsonw_kstr(w, "verdict", f->verdict == JM_MLPERF_FAIL ? "fail" : "pass"); /* its exit status */
    jm_jsonw_ki64(w, "warnings", warnings);
    jm_jsonw_key(w, "checks");
    jm_jsonw_array(w);
    for (int i = 0; i < 11; i++) {
        jm_jsonw_object(w);
        jm_jsonw_ki64(w, "number", i + 1);
        jm_jsonw_kstr(w, "title", f->check[i].title);
        jm_jsonw_kstr(w, "verdict", jm_mlperf_verdict_name(f->check[i].verdict));
        if (f->check[i].text)
            jm_jsonw_kstr(w, "text", f->check[i].text);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_end(w);
}

void jm_check_json(const struct jm_judged *j, struct jm_jsonw *w)
{
    const struct jm_mlperf_official *f = &j->c.official;
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "path", j->path);
    if (j->error) {
        jm_jsonw_kstr(w, "error", j->error);
        jm_jsonw_end(w);
        return;
    }
    if (*j->round) {
        jm_jsonw_kstr(w, "round", j->round);
        jm_jsonw_kstr(w, "round_from", j->round_from);
    }
    if (!j->no_figures) {
        if (*j->r.benchmark)
            jm_jsonw_kstr(w, "benchmark", j->r.benchmark);
        if (*j->r.scenario)
            jm_jsonw_kstr(w, "scenario", j->r.scenario);
        jm_jsonw_kbool(w, "inferred", j->r.inferred);
        pair(w, "power", &j->r.power);
    }
    if (!j->no_official)
        official_json(f, w);
    jm_jsonw_kstr(w, "verdict", jm_mlperf_verdict_name(j->c.verdict));
    jm_jsonw_key(w, "counts");
    jm_jsonw_object(w);
    for (size_t k = 0; k < 5; k++)
        jm_jsonw_ki64(w, jm_mlperf_verdict_name(order[k]), (int64_t)j->n[order[k]]);
    jm_jsonw_end(w);
    jm_jsonw_key(w, "rules");
    jm_jsonw_array(w);
    for (size_t k = 0; k < 5; k++)
        for (size_t i = 0; i < j->c.n_outcomes; i++) {
            const struct jm_mlperf_outcome *o = &j->c.outcomes[i];
            if (o->verdict != order[k])
                continue;
            jm_jsonw_object(w);
            jm_jsonw_kstr(w, "id", o->rule->id);
            jm_jsonw_kstr(w, "verdict", jm_mlperf_verdict_name(o->verdict));
            if (o->rule->official)
                jm_jsonw_ki64(w, "official", o->rule->official);
            jm_jsonw_kstr(w, "title", o->rule->title);
            jm_jsonw_kstr(w, "text", o->text);
            if (o->evidence)
                jm_jsonw_kstr(w, "evidence", o->evidence);
            jm_jsonw_kstr(w, "source", o->rule->source);
            jm_jsonw_end(w);
        }
    jm_jsonw_end(w);
    jm_jsonw_end(w);
}

void jm_check_json_sum(const struct jm_judged *j, size_t n, struct jm_jsonw *w)
{
    size_t own[5] = {0}, pub[2] = {0}, errors = 0;
    for (size_t i = 0; i < n; i++) {
        if (j[i].error) {
            errors++;
            continue;
        }
        own[j[i].c.verdict]++;
        if (!j[i].no_official)
            pub[j[i].c.official.verdict == JM_MLPERF_FAIL]++;
    }
    jm_jsonw_key(w, "summary");
    jm_jsonw_object(w);
    jm_jsonw_ki64(w, "sessions", (int64_t)n);
    jm_jsonw_ki64(w, "errors", (int64_t)errors);
    jm_jsonw_key(w, "official");
    jm_jsonw_object(w);
    jm_jsonw_ki64(w, "fail", (int64_t)pub[1]);
    jm_jsonw_ki64(w, "pass", (int64_t)pub[0]);
    jm_jsonw_end(w);
    jm_jsonw_key(w, "verdict");
    jm_jsonw_object(w);
    for (size_t v = 0; v < 4; v++)
        jm_jsonw_ki64(w, jm_mlperf_verdict_name(order[v]), (int64_t)own[order[v]]);
    jm_jsonw_end(w);
    jm_jsonw_end(w);
}

/* --- page
 * ---------------------------------------------------------------------------------------------------- */

static const char *css(enum jm_mlperf_verdict v)
{
    return v == JM_MLPERF_FAIL   ? "invalid"
           : v == JM_MLPERF_WARN ? "findings"
           : v == JM_MLPERF_PASS ? "valid"
                                 : "dim";
}

static void tag(struct jm_str *s, enum jm_mlperf_verdict v)
{
    jm_str_addf(s, "<span class='tag %s' style='margin:0'>%s</span>", css(v), jm_mlperf_verdict_name(v));
}

static void escaped(struct jm_str *s, const char *before, const char *text, const char *after)
{
    jm_str_adds(s, before);
    jm_svg_escape(s, text ? text : "");
    jm_str_adds(s, after);
}

/* The public checker's exit status, and whether it warned. */
static void said(struct jm_str *s, const struct jm_judged *j)
{
    enum jm_mlperf_verdict v = j->error || j->no_official ? JM_MLPERF_ABSENT : j->c.official.verdict;
    tag(s, v == JM_MLPERF_WARN ? JM_MLPERF_PASS : v);
    jm_str_adds(s, v == JM_MLPERF_WARN ? " <span class='findings'>with warnings</span>" : "");
}

static void official(struct jm_str *s, const struct jm_mlperf_official *f)
{
    const struct jm_mlperf_revision *r = jm_mlperf_revision_find(f->revision);
    jm_str_addf(s, "<h3>The official checker, revision %s</h3>", f->revision);
    if (r)
        escaped(s, "<p class='dim'>", r->source, "</p>");
    jm_str_adds(s, "<div class='scroll'><table class='rules'><thead><tr><th scope='col'>Check</th><th "
                   "class='verdict' scope='col'>Verdict</th>"
                   "<th scope='col'>What it says</th></tr></thead><tbody>");
    for (int i = 0; i < 11; i++) {
        escaped(s, "<tr><th scope='row'>", f->check[i].title, "</th><td>");
        tag(s, f->check[i].verdict);
        escaped(s, "</td><td>", f->check[i].text, "</td></tr>");
    }
    jm_str_adds(s, "</tbody></table></div>");
}

static void rules(struct jm_str *s, const struct jm_judged *j)
{
    static const char *const sections[] = {"Fails", "Warnings", "Notes", "Passes", "Not looked at"};
    jm_str_adds(s, "<h3>Our rules</h3>");
    for (size_t k = 0; k < 5; k++) {
        enum jm_mlperf_verdict v = order[k];
        bool folded = v == JM_MLPERF_PASS || v == JM_MLPERF_ABSENT;
        if (!j->n[v])
            continue;
        jm_str_addf(s, folded ? "<details><summary>%s (%zu)</summary>" : "<h4>%s (%zu)</h4>", sections[k],
                    j->n[v]);
        jm_str_adds(s, "<div class='scroll'><table class='rules'><thead><tr><th scope='col'>Rule</th><th "
                       "scope='col'>What is so"
                       "</th><th class='src' scope='col'>Source</th></tr></thead><tbody>");
        for (size_t i = 0; i < j->c.n_outcomes; i++) {
            const struct jm_mlperf_outcome *o = &j->c.outcomes[i];
            if (o->verdict != v)
                continue;
            escaped(s, "<tr><th scope='row'><code>", o->rule->id, "</code><br>");
            escaped(s, "<span class='dim'>", o->rule->title, "</span></th><td>");
            escaped(s, "", o->text, "");
            if (o->evidence)
                escaped(s, "<br><span class='dim'>", o->evidence, "</span>");
            escaped(s, "</td><td class='dim src'>", o->rule->source, "</td></tr>");
        }
        jm_str_addf(s, "</tbody></table></div>%s", folded ? "</details>" : "");
    }
}

static void session(struct jm_str *s, const struct jm_judged *j, size_t i)
{
    struct jm_str what;
    char a[JM_FMT], b[JM_FMT];
    jm_str_init(&what);
    jm_judged_what(j, &what);
    jm_str_addf(s, "<section class='session' id='s%zu'><h2>", i + 1);
    jm_svg_escape(s, j->path);
    escaped(s, "</h2><p class='dim'>", what.buf, "</p>");
    jm_str_release(&what);
    if (j->error) {
        escaped(s, "<p class='invalid'>", j->error, "</p></section>");
        return;
    }
    jm_str_adds(s, "<div class='hero'><p>");
    if (!j->no_official) {
        jm_str_adds(s, "official ");
        said(s, j);
        jm_str_adds(s, " &nbsp; ");
    }
    jm_str_adds(s, "ours ");
    tag(s, j->c.verdict);
    jm_str_adds(s, "</p>");
    if (!j->no_figures && isfinite(j->r.power.published)) {
        escaped(s, "<p>", jm_fmt_value(a, j->r.power.published, "W"), " as published");
        if (isfinite(j->r.power.proper))
            escaped(s, ", ", jm_fmt_value(b, j->r.power.proper, "W"), " as it should be");
        jm_str_adds(s, "</p>");
    }
    jm_str_adds(s, "</div>");
    rules(s, j);
    if (!j->no_official)
        official(s, &j->c.official);
    jm_str_adds(s, "</section>");
}

void jm_check_html(const struct jm_judged *j, size_t n, struct jm_str *s)
{
    jm_str_adds(
        s,
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
        "content='width=device-width,initial-scale=1'><meta http-equiv='Content-Security-Policy' content=\"");
    jm_html_csp(s, false);
    jm_str_addf(
        s,
        "\"><title>MLPerf Power check</title><link rel='icon' href='data:,'><style>%s%s"
        "summary{cursor:pointer;margin:14px 0 6px;font-weight:600}h2{overflow-wrap:anywhere}"
        "a{color:var(--c0)}.scroll .rules,.scroll .many{min-width:0}.rules{table-layout:fixed}"
        ".rules th:first-child{width:30%%}.rules .src{width:27%%}.rules .verdict{width:90px}"
        ".rules code,.many a{overflow-wrap:anywhere}"
        "@media(max-width:700px){.rules .src{display:none}.rules th:first-child{width:42%%}}"
        "h4{margin:14px 0 4px}"
        ".session{border-top:2px solid var(--line);margin-top:36px}</style></head><body><main><header>"
        "<h1>MLPerf Power check</h1><p>joulemark " JM_VERSION ", %zu session%s</p></header>",
        jm_html_style, jm_html_style_parts, n, n == 1 ? "" : "s");
    if (n > 1) {
        jm_str_adds(
            s,
            "<div class='scroll'><table class='many'><thead><tr><th scope='col'>Session</th><th "
            "scope='col'>Official</th>"
            "<th scope='col'>Ours</th><th class='n' scope='col'>Fails</th><th class='n' scope='col'>Warnings"
            "</th></tr></thead><tbody>");
        for (size_t i = 0; i < n; i++) {
            jm_str_addf(s, "<tr><th scope='row'><a href='#s%zu'>", i + 1);
            jm_svg_escape(s, j[i].path);
            jm_str_adds(s, "</a></th><td>");
            said(s, &j[i]);
            jm_str_adds(s, "</td><td>");
            tag(s, j[i].error ? JM_MLPERF_FAIL : j[i].c.verdict);
            jm_str_addf(s, "</td><td class='n'>%zu</td><td class='n'>%zu</td></tr>", j[i].n[JM_MLPERF_FAIL],
                        j[i].n[JM_MLPERF_WARN]);
        }
        jm_str_adds(s, "</tbody></table></div>");
    }
    for (size_t i = 0; i < n; i++)
        session(s, &j[i], i);
    jm_str_adds(s, "</main></body></html>\n");
}
