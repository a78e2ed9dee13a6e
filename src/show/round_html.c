/* SPDX-License-Identifier: Apache-2.0 */
/* One self-contained page about MLPerf results: pictures, table, findings. No script, nothing fetched. */
#include <math.h>
#include <string.h>

#include "show/html_script.h"
#include "show/html_style.h"
#include "show/round_svg.h"
#include "show/round_text.h"
#include "show/svg.h"

#include "base/banned.h"

#define ROWS_MAX 4000

static void card(struct jm_str *s, const char *id, int64_t n, const char *what, const char *class)
{
    char v[JM_FMT];
    jm_str_addf(s, "<li><b class='%s' id='%s' data-value='%lld'>%s</b><span class='dim'>%s</span></li>",
                class, id, (long long)n, jm_fmt_count(v, n), what);
}

/* Names that differ among the rows. */
static int64_t kinds_of(const struct jm_round_table *t, const char *(*of)(const struct jm_round_row *))
{
    int64_t n = 0;
    for (size_t i = 0; i < t->n_row; i++) {
        bool again = t->row[i]->kind != JM_ROUND_SESSION || !of(t->row[i]);
        /* rows of one system mostly lie side by side: looking back a little is enough for most */
        for (size_t k = i; k-- > 0 && !again;)
            again = of(t->row[k]) && strcmp(of(t->row[k]), of(t->row[i])) == 0;
        n += !again;
    }
    return n;
}

static const char *round_of(const struct jm_round_row *r)
{
    return r->round;
}

static void header(struct jm_str *s, const struct jm_round_table *t)
{
    int64_t sessions = 0, passed = 0, failed = 0, sound = 0, differ = 0;
    for (size_t i = 0; i < t->n_row; i++) {
        const struct jm_round_row *r = t->row[i];
        if (r->kind != JM_ROUND_SESSION)
            continue;
        sessions++;
        passed += r->checked && r->official != JM_RV_FAIL;
        failed += r->checked && r->own == JM_RV_FAIL;
        sound += r->checked && r->own != JM_RV_FAIL;
        differ += isfinite(r->reported) && !r->reported_agrees;
    }
    jm_str_adds(s, "<header><h1>MLPerf Power results</h1><p>");
    for (size_t i = 0; i < t->n_asked && i < 12; i++) {
        jm_str_adds(s, i ? ", " : "");
        jm_svg_escape(s, t->asked[i]);
    }
    jm_str_adds(s, "</p></header><ul class='cards'>");
    card(s, "sessions", sessions, sessions == 1 ? "session with power" : "sessions with power", "");
    int64_t rounds = kinds_of(t, round_of);
    card(s, "rounds", rounds, rounds == 1 ? "round" : "rounds", "");
    if (passed + failed + sound) {
        card(s, "official", passed, "pass the official checker of their round", "valid");
        card(s, "sound", sound, "keep our rules", "valid");
        card(s, "broken", failed, "break one of our rules", failed ? "invalid" : "");
    }
    if (differ)
        card(s, "differ", differ, "differ from the results table beside them", "invalid");
    jm_str_adds(s, "</ul>");
    if (t->interrupted)
        jm_str_adds(
            s, "<p class='error'><b>Interrupted: these are the results that were read until then.</b></p>");
}

static void fact_card(struct jm_str *s, const char *class, const char *value, const char *what)
{
    jm_str_addf(s, "<li><b class='%s'>", class);
    jm_svg_escape(s, value);
    jm_str_addf(s, "</b><span class='dim'>%s</span></li>", what);
}

static const char *class_of(enum jm_round_verdict v)
{
    return v == JM_RV_FAIL ? "invalid" : v == JM_RV_WARN ? "findings" : v == JM_RV_NONE ? "" : "valid";
}

/* The head of a page about one result. */
static void one(struct jm_str *s, const struct jm_round_row *r)
{
    char v[JM_FMT];
    jm_str_adds(s, "<header><h1>");
    jm_svg_escape(s, r->benchmark ? r->benchmark : "MLPerf Power result");
    jm_str_adds(s, " ");
    jm_svg_escape(s, r->scenario ? r->scenario : "");
    if (r->unofficial)
        jm_str_adds(s, " <span class='tag invalid'>NOT OFFICIAL</span>");
    jm_str_adds(s, "</h1><p>");
    jm_svg_escape(s, r->path);
    jm_str_adds(s, "</p></header><ul class='cards'>");
    if (r->kind == JM_ROUND_SESSION) {
        fact_card(s, "", jm_round_metric(v, r->metric, r->metric_unit), "published power metric");
        fact_card(s, "", jm_round_metric(v, r->metric_proper, r->metric_unit), "as it should be");
        if (jm_round_efficiency(r))
            fact_card(s, "", jm_fmt_number(v, jm_round_efficiency(r)->published),
                      jm_round_efficiency(r) == &r->tokens_per_j ? "tokens per joule" : "samples per joule");
        if (isfinite(r->j_per_token.published))
            fact_card(s, "", jm_fmt_number(v, r->j_per_token.published), "J per output token");
        fact_card(s, class_of(r->official), jm_round_verdict_name(r->official), "official checker");
    }
    fact_card(s, class_of(r->own), jm_round_verdict_name(r->own), "our rules");
    jm_str_adds(s, "</ul>");
}

static void table(struct jm_str *s, const struct jm_round_table *t, const struct jm_round_show *o)
{
    static const char names[] =
        "round,submitter,system_name,benchmark,scenario,metric,metric_proper,per_joule,"
        "j_per_token,difference,check";
    const struct jm_round_column *c[JM_ROUND_COLUMNS];
    struct jm_err ignored;
    char buf[JM_FMT];
    int n = jm_round_column_list(o->columns ? o->columns : names, c, &ignored);
    size_t shown = 0, all = 0;
    jm_str_adds(s, "<section><h2>Results</h2><div class='scroll'><table id='rows'><thead><tr>");
    for (int k = 0; k < n; k++) {
        jm_str_addf(s, "<th scope='col'%s title='", c[k]->right ? " class='n'" : "");
        jm_svg_escape(s, c[k]->help);
        jm_str_addf(s, "'>%s</th>", c[k]->title ? c[k]->title : c[k]->name);
    }
    jm_str_adds(s, "</tr></thead><tbody>");
    for (size_t i = 0; i < t->n_row; i++) {
        const struct jm_round_row *r = t->row[i];
        if (r->kind != JM_ROUND_SESSION || ++all > ROWS_MAX)
            continue;
        shown++;
        jm_str_adds(s, "<tr data-path='");
        jm_svg_escape(s, r->path);
        jm_str_adds(s, "'>");
        for (int k = 0; k < n; k++) {
            bool verdict = strcmp(c[k]->name, "check") == 0 || strcmp(c[k]->name, "ours") == 0;
            const char *class = verdict && r->own == JM_RV_FAIL   ? "invalid"
                                : verdict && r->own == JM_RV_WARN ? "findings"
                                : verdict && r->checked           ? "valid"
                                                                  : "";
            jm_str_addf(s, "<td class='%s%s'", c[k]->right ? "n " : "", class);
            if (c[k]->number && isfinite(c[k]->number(r)))
                jm_str_addf(s, " data-value='%.17g'", c[k]->number(r));
            jm_str_adds(s, ">");
            jm_svg_escape(s, jm_round_cell(c[k], r, buf));
            jm_str_adds(s, "</td>");
        }
        jm_str_adds(s, "</tr>");
    }
    jm_str_adds(s, "</tbody></table></div>");
    if (all > shown)
        jm_str_addf(s,
                    "<p class='dim'>and %zu more: <code>joulemark mlperf show --csv</code> has them all.</p>",
                    all - shown);
    jm_str_adds(s, "<p class='dim'>Published: the power metric by the rule of its round. Proper: "
                   "time-weighted, over-range samples decoded, missed ones bridged. Check: the official "
                   "checker of the round / our rules. *: inferred from the run of another scenario.");
    if (o->pue.value > 0)
        jm_str_addf(s,
                    " A PUE of %.4g%s%s was given: facility figures are estimates and stand in the JSON and "
                    "on the page of a result, never in a comparison of hardware.",
                    o->pue.value, o->pue.category[0] ? " of category " : "", o->pue.category);
    jm_str_adds(s, "</p></section>");
}

static void others(struct jm_str *s, const struct jm_round_table *t)
{
    char v[JM_FMT];
    bool any = false;
    for (size_t i = 0; i < t->n_row; i++) {
        const struct jm_round_row *r = t->row[i];
        if (r->kind != JM_ROUND_TRAINING && r->kind != JM_ROUND_TINY)
            continue;
        if (!any)
            jm_str_adds(s,
                        "<section><h2>Training and Tiny</h2><table><thead><tr><th scope='col'>system</th><th "
                        "scope='col'>benchmark</th><th scope='col' class='n'>published</th><th scope='col' "
                        "class='n'>proper</th><th scope='col'>ours</th></tr></thead><tbody>");
        any = true;
        jm_str_adds(s, "<tr><th scope='row'>");
        jm_svg_escape(s, jm_round_system(r));
        jm_str_adds(s, "</th><td>");
        jm_svg_escape(s, r->benchmark ? r->benchmark : "");
        jm_str_addf(s, "</td><td class='n'>%s</td>", jm_fmt_value(v, r->metric, r->metric_unit));
        jm_str_addf(s, "<td class='n'>%s</td><td>%s</td></tr>",
                    jm_fmt_value(v, r->metric_proper, r->metric_unit), jm_round_verdict_name(r->own));
    }
    if (any)
        jm_str_adds(s, "</tbody></table></section>");
    any = false;
    for (size_t i = 0; i < t->n_row; i++) {
        const struct jm_round_row *r = t->row[i];
        if (r->kind != JM_ROUND_NAMEPLATE)
            continue;
        if (!any)
            jm_str_adds(
                s,
                "<section><h2>Nameplates</h2><p class='dim'>Declared, not measured; no efficiency is made of "
                "them.</p><table><tbody>");
        any = true;
        jm_str_adds(s, "<tr><th scope='row'>");
        jm_svg_escape(s, r->submitter ? r->submitter : "");
        jm_str_adds(s, " ");
        jm_svg_escape(s, jm_round_system(r));
        jm_str_addf(s, "</th><td class='n'>%s</td></tr>", jm_fmt_value(v, r->design_power_w, "W"));
    }
    if (any)
        jm_str_adds(s, "</tbody></table></section>");
}

static void one_findings(struct jm_str *s, const struct jm_round_row *r)
{
    jm_str_addf(s, "<section><h2>Rules</h2><p>Official: <b>%s</b>, ours: <b>%s</b>.</p><ul class='list'>",
                jm_round_verdict_name(r->official), jm_round_verdict_name(r->own));
    for (size_t i = 0; i < r->n_finding; i++) {
        const struct jm_round_finding *f = &r->finding[i];
        jm_str_addf(s, "<li><b class='%s'>%s</b> <code>",
                    f->verdict == JM_RV_FAIL   ? "error"
                    : f->verdict == JM_RV_WARN ? "warning"
                                               : "dim",
                    jm_round_verdict_name(f->verdict));
        jm_svg_escape(s, f->id);
        jm_str_adds(s, "</code> ");
        jm_svg_escape(s, f->text);
        if (f->evidence) {
            jm_str_adds(s, " <span class='dim'>[");
            jm_svg_escape(s, f->evidence);
            jm_str_adds(s, "]</span>");
        }
        jm_str_adds(s, "</li>");
    }
    jm_str_adds(s, "</ul></section>");
}

static void findings(struct jm_str *s, const struct jm_round_table *t)
{
    struct jm_round_kind_count k[JM_ROUND_KINDS];
    size_t n = jm_round_findings_count(t, k);
    if (!n)
        return;
    jm_str_adds(s, "<section><h2>Findings</h2><ul class='list'>");
    for (size_t i = 0; i < n; i++) {
        bool fail = k[i].first->verdict == JM_RV_FAIL;
        jm_str_addf(s, "<li><b class='%s'>%s</b> <code>", fail ? "error" : "warning", fail ? "fail" : "warn");
        jm_svg_escape(s, k[i].first->id);
        jm_str_addf(s, "</code> in %zu %s: ", k[i].rows, k[i].rows == 1 ? "result" : "results, e.g.");
        jm_svg_escape(s, k[i].first->text);
        jm_str_adds(s, "</li>");
    }
    jm_str_adds(s, "</ul></section>");
}

static void unread(struct jm_str *s, const struct jm_round_table *t)
{
    enum { MOST = 200 };
    size_t n = 0;
    for (size_t i = 0; i < t->n_row + t->n_trouble; i++) {
        const struct jm_round_row *r = i < t->n_row ? t->row[i] : NULL;
        if ((r && !r->error) || ++n > MOST)
            continue;
        jm_str_adds(s, n == 1 ? "<section><h2>Not read</h2><ul class='list'><li><code>" : "<li><code>");
        jm_svg_escape(s, r ? r->path : t->trouble[i - t->n_row].path);
        jm_str_adds(s, "</code> ");
        jm_svg_escape(s, r ? r->error : t->trouble[i - t->n_row].why);
        jm_str_adds(s, "</li>");
    }
    if (n)
        jm_str_addf(s, "</ul>%s</section>",
                    n > MOST ? "<p class='dim'>and more: --json has them all.</p>" : "");
}

int jm_round_html(const struct jm_round_table *t, const struct jm_round_show *o, struct jm_str *s,
                  struct jm_err *err)
{
    jm_str_adds(s, "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
                   "content='width=device-width,initial-scale=1'><meta name='color-scheme' content='light "
                   "dark'><meta http-equiv='Content-Security-Policy' content=\"");
    jm_html_csp(s, false);
    jm_str_addf(s,
                "\"><title>MLPerf Power results</title><link rel='icon' "
                "href='data:,'><style>%s%s%s</style></head><body><main>",
                jm_html_style, jm_html_style_parts, jm_round_style_sheet);
    const struct jm_round_row *only = jm_round_only(t);
    if (only) {
        one(s, only);
        jm_round_page_html(s, only, o);
        if (only->checked)
            one_findings(s, only);
    } else {
        header(s, t);
        struct jm_str picture;
        jm_str_init(&picture);
        if (jm_round_svg_trend(t, &picture)) {
            jm_str_adds(
                s,
                "<section><h2>Trend over the rounds</h2><p class='dim'>A dot a result; filled where it "
                "may be compared: closed, available, officially measured, passed by its round's checker. The "
                "line joins the best "
                "of these. Power is of the whole system at the wall, as published.</p><div class='multi'>");
            jm_str_addspan(s, jm_str_span(&picture));
            jm_str_adds(s, "</div></section>");
        }
        s->failed |= picture.failed;
        jm_str_reset(&picture);
        if (jm_round_svg_bars(t, &picture)) {
            jm_str_adds(
                s, "<section><h2>Efficiency by system</h2><p class='dim'>At the wall of the whole system, as "
                   "published; the whisker is the 95 % interval of the proper figure where the analyzer's "
                   "accuracy is known. Pale: not to be compared with the others, and why.</p>");
            jm_str_addspan(s, jm_str_span(&picture));
            jm_str_adds(s, "</section>");
        }
        s->failed |= picture.failed;
        jm_str_release(&picture);
        table(s, t, o);
        others(s, t);
        findings(s, t);
    }
    unread(s, t);
    jm_str_adds(s, "<footer class='dim'><p>Made by joulemark " JM_VERSION
                   ".</p></footer></main></body></html>\n");
    return jm_str_ok(s, "the page of the results", err);
}
