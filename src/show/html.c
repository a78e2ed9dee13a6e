/* SPDX-License-Identifier: Apache-2.0 */
/* show, as one self-contained HTML file: no request to anywhere, works without script, prints, dark and
 * light. Every chart has its table, so that a screen reader misses nothing. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "show/assets.h"
#include "show/claims.h"
#include "show/engine.h"
#include "show/fmt.h"
#include "show/groups.h"
#include "show/html_script.h"
#include "show/html_style.h"
#include "show/impact.h"
#include "show/ladder.h"
#include "show/load.h"
#include "show/formats.h"
#include "show/phases.h"
#include "show/slices.h"
#include "show/passports.h"
#include "show/pictures.h"
#include "show/reconcile.h"
#include "show/svg.h"

#include "base/banned.h"

static const char *pill(enum jm_validity v)
{
    return v == JM_V_VALID ? "valid" : v == JM_V_FINDINGS ? "findings" : "invalid";
}

static void esc(struct jm_str *s, const char *t)
{
    jm_svg_escape(s, t);
}

static void header(struct jm_str *s, const struct jm_report *r)
{
    jm_str_adds(s, "<header><h1>");
    esc(s, r->label ? r->label : "joulemark run");
    if (r->simulated)
        jm_str_adds(s, " <span class='tag sim'>SIMULATED</span>");
    jm_str_adds(s, "</h1><p>");
    esc(s, r->kind);
    jm_str_adds(s, " · ");
    esc(s, r->source);
    jm_str_addf(s, "</p><p>%.10s %.8s UTC · run <code>", r->created,
                strlen(r->created) > 19 ? r->created + 11 : "");
    esc(s, r->id);
    jm_str_adds(s, "</code></p></header>");
    if (r->simulated)
        jm_str_adds(s, "<p class='sim'><b>The devices or the endpoint of this run are simulated. Its numbers "
                       "describe no hardware.</b></p>");
}

static void hero(struct jm_str *s, const struct jm_report *r)
{
    const struct jm_result *x = jm_fmt_headline(r);
    char v[JM_FMT], pm[JM_FMT], a[JM_FMT], b[JM_FMT];
    jm_str_addf(s,
                "<section class='hero' aria-label='Headline'><span class='tag %s' style='margin:0'>%s for "
                "profile %s</span>",
                pill(r->validity), jm_fmt_validity(r->validity), jm_profile_name((int)r->profile));
    if (x) {
        jm_str_adds(s, "<p class='num' id='headline'");
        if (x->q.have)
            jm_str_addf(s,
                        " data-value='"
                        "%.17g"
                        "'",
                        x->q.value);
        jm_str_addf(s, ">%s <span class='pm'>%s</span></p><p><b>%s</b> at the boundary <code>",
                    x->q.have ? jm_fmt_value(v, x->q.value, x->q.unit) : "no value", jm_fmt_pm(pm, &x->q),
                    jm_fmt_metric(x->metric));
        esc(s, x->set ? x->set : "?");
        jm_str_adds(s, "</code>");
        if (x->slice || (r->ladder && x->window >= 0)) { /* as the text names it */
            jm_str_adds(s, x->slice ? ", slice " : ", ");
            esc(s, x->slice ? x->slice : r->windows[x->window].name);
        }
        if (x->denominator_name) {
            jm_str_addf(s, " = %s / ", jm_fmt_part(a, x->numerator_name, x->numerator));
            jm_str_adds(s, jm_fmt_part(b, x->denominator_name, x->denominator));
        }
        jm_str_adds(s, "</p><p class='dim'>");
        if (!x->q.have && x->q.reasons) {
            jm_str_adds(s, "No value because: ");
            esc(s, x->q.reasons);
            jm_str_adds(s, ". ");
        }
        if (x->q.u.method) {
            jm_str_addf(s, "%g %% interval; includes ", x->q.u.level * 100);
            esc(s, x->q.u.includes);
            jm_str_adds(s, ". ");
        }
        if (x->q.u.excludes && x->q.u.excludes[0]) {
            jm_str_adds(s, "Not included: ");
            esc(s, x->q.u.excludes);
            jm_str_adds(s, ". ");
        }
        jm_str_adds(s, "Instrument: ");
        esc(s, x->instrument ? x->instrument : "none");
        jm_str_addf(s, ". Provenance: %s.</p>", jm_provenance_name((int)x->q.provenance));
    }
    jm_str_adds(s, "</section>");
}

/* A page stays readable, and below 1.5 MB, however many windows a run has. */
#define ROWS_MAX 400

static void rest(struct jm_str *s, size_t left)
{
    if (left)
        jm_str_addf(s,
                    "<p class='dim'>and %zu more: <code>joulemark show --format csv</code> or "
                    "<code>--json</code> has them all.</p>",
                    left);
}

static bool same_group(const struct jm_result *a, const struct jm_result *b)
{
    return a && a->q.boundary == b->q.boundary && a->window == b->window &&
           jm_fmt_estimate(a) == jm_fmt_estimate(b) &&
           (a->set ? b->set && strcmp(a->set, b->set) == 0 : !b->set);
}

static void group(struct jm_str *s, const struct jm_report *r, const struct jm_result *x, bool many)
{
    jm_str_adds(s, "<tr class='group'><th scope='rowgroup' colspan='5'><code>");
    esc(s, x->set ? x->set : jm_boundary_name((int)x->q.boundary));
    jm_str_adds(s, "</code>");
    if (jm_fmt_estimate(x))
        jm_str_adds(s, " <b class='warning'>ESTIMATE</b>");
    if (x->of && x->have_of < x->of)
        jm_str_addf(s, " <b class='error'>%d of %d</b>", x->have_of, x->of);
    if (many) {
        jm_str_adds(s, " · ");
        esc(s, x->window >= 0 ? r->windows[x->window].name : "over trials");
    } else if (x->window < 0 && x->n > 0) {
        jm_str_addf(s, " · mean of %lld trials, t interval", (long long)x->n);
    }
    jm_str_adds(s, "<span class='dim'> · by ");
    esc(s, x->instrument ? x->instrument : "nothing");
    jm_str_addf(s, " · %s</span></th></tr>", jm_provenance_name((int)x->q.provenance));
}

static void result_row(struct jm_str *s, const struct jm_result *x, const struct jm_result *first)
{
    char v[JM_FMT], pm[JM_FMT];
    jm_str_addf(s, "<tr data-metric='%s' data-boundary='%s'", x->metric,
                jm_boundary_name((int)x->q.boundary));
    if (x->q.have)
        jm_str_addf(s, " data-value='%.17g'", x->q.value);
    jm_str_addf(s, "><th scope='row'>%s", x->metric);
    if (x->instrument && first->instrument && strcmp(x->instrument, first->instrument) != 0) {
        jm_str_adds(s, "<br><span class='dim'>by ");
        esc(s, x->instrument);
        jm_str_adds(s, "</span>");
    }
    jm_str_addf(s, "</th><td class='n'>%s</td><td class='n'>%s</td><td>",
                x->q.have ? jm_fmt_value(v, x->q.value, x->q.unit) : "–", jm_fmt_pm(pm, &x->q));
    if (x->denominator_name) {
        esc(s, x->numerator_name);
        jm_str_adds(s, " / ");
        esc(s, x->denominator_name);
    }
    jm_str_addf(s, "</td><td class='%s'>%s", pill(x->q.validity), jm_fmt_validity(x->q.validity));
    if (x->q.reasons) {
        jm_str_adds(s, "<br><span class='dim'>");
        for (struct jm_span rest = jm_span_of(x->q.reasons), one; jm_span_field(&rest, ',', &one);) {
            char code[128];
            snprintf(code, sizeof code, "%.*s", (int)(one.n < 120 ? one.n : 120), one.p);
            esc(s, code);
            jm_str_adds(s, rest.n ? ", " : "");
        }
        jm_str_adds(s, "</span>");
    }
    jm_str_adds(s, "</td></tr>");
}

static void results(struct jm_str *s, const struct jm_report *r)
{
    const struct jm_result *first = NULL;
    bool many = jm_fmt_many_windows(r), repeat = false;
    size_t shown = 0, left = 0;
    jm_str_adds(s,
                "<section><h2>Energy at each boundary</h2><div class='scroll'><table id='results'><thead><tr>"
                "<th scope='col'>metric</th><th scope='col' class='n'>value</th><th scope='col' class='n'>"
                "interval</th><th scope='col'>numerator / denominator</th><th scope='col'>validity</th></tr>"
                "</thead><tbody>");
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (x->q.boundary == JM_B_NONE || !jm_fmt_in_summary(r, x))
            continue;
        if (++shown > ROWS_MAX) {
            left++;
            continue;
        }
        if (!same_group(first, x)) {
            first = x;
            group(s, r, x, many);
            if ((repeat = jm_fmt_same_as_gpu(r, x)))
                jm_str_adds(s,
                            "<tr><td colspan='5' class='dim'>The same devices, and the same joules, as the "
                            "boundary gpu.</td></tr>");
        }
        if (!repeat)
            result_row(s, x, first);
    }
    jm_str_adds(s, "</tbody></table></div>");
    rest(s, left);
    jm_str_adds(s, "</section>");
}

static void energy_table(struct jm_str *s, const struct jm_report *r)
{
    char v[JM_FMT], lo[JM_FMT];
    if (!r->n_energy)
        return;
    jm_str_adds(s, "<section><h2>Energy by domain</h2><figure>");
    jm_svg_energy(r, s);
    jm_str_adds(s, "<figcaption class='dim'>Domains that are counted in a boundary, first measured "
                   "window.</figcaption></figure>"
                   "<details><summary>Every instrument in every window, counted or not</summary><div "
                   "class='scroll'><table><thead><tr>"
                   "<th scope='col'>window</th><th scope='col'>domain</th><th scope='col'>channel</th><th "
                   "scope='col' class='n'>energy</th>"
                   "<th scope='col' class='n'>± 95 %</th><th scope='col'>method</th><th "
                   "scope='col'>counted</th><th scope='col'>status</th>"
                   "</tr></thead><tbody>");
    for (size_t i = 0; i < r->n_energy && i < ROWS_MAX; i++) {
        const struct jm_energy_row *e = &r->energy[i];
        const struct jm_channel *c = &r->channels[e->channel];
        jm_str_adds(s, "<tr><td>");
        esc(s, r->windows[e->window].name);
        jm_str_adds(s, "</td><td>");
        char title[JM_DOMAIN_TITLE];
        esc(s, e->domain >= 0 ? jm_domain_title(&r->tree->d[e->domain], title) : c->device);
        jm_str_adds(s, "</td><td>");
        esc(s, c->name);
        jm_str_adds(s, "<br><span class='dim'>");
        esc(s, c->source);
        jm_str_addf(s, "</span></td><td class='n'>%s</td><td class='n'>%s</td><td>",
                    jm_fmt_value(v, e->joules, "J"),
                    isfinite(e->hi) ? jm_fmt_value(lo, (e->hi - e->lo) / 2, "J") : "–");
        esc(s, e->method);
        jm_str_addf(s, "</td><td>%s</td><td%s>%s", e->counted ? "yes" : "no",
                    e->status == JM_S_OK ? "" : " class='error'", jm_status_name((int)e->status));
        if (e->note) {
            jm_str_adds(s, "<br><span class='dim'>");
            esc(s, e->note);
            jm_str_adds(s, "</span>");
        }
        jm_str_adds(s, "</td></tr>");
    }
    jm_str_adds(s, "</tbody></table></div>");
    rest(s, r->n_energy > ROWS_MAX ? r->n_energy - ROWS_MAX : 0);
    jm_str_adds(s, "</details></section>");
}

static void slices(struct jm_str *s, const struct jm_report *r)
{
    struct jm_slice_cells c;
    if (!r->n_slices)
        return;
    jm_str_adds(s, "<section><h2>Slices of the load</h2><div class='scroll'><table id='slices'><thead><tr>");
    for (int k = 0; k < JM_SC_COUNT; k++)
        if (jm_slice_column_used(r, (enum jm_slice_column)k))
            jm_str_addf(s, "<th scope='col'%s>%s</th>", k ? " class='n'" : "", jm_slice_titles[k]);
    jm_str_adds(s, "</tr></thead><tbody>");
    for (size_t i = 0; i < r->n_slices && i < ROWS_MAX; i++) {
        jm_slice_cells(r, i, &c);
        jm_str_adds(s, "<tr>");
        for (int k = 0; k < JM_SC_COUNT; k++) {
            if (!jm_slice_column_used(r, (enum jm_slice_column)k))
                continue;
            jm_str_adds(s, k ? "<td class='n'>" : "<th scope='row'>");
            esc(s, c.cell[k]);
            if (k == 0 && (r->slices[i].shape || r->slices[i].quality)) {
                jm_str_adds(s, "<br><span class='dim'>");
                esc(s, r->slices[i].shape ? r->slices[i].shape : "");
                if (r->slices[i].quality) {
                    jm_str_adds(s, r->slices[i].shape ? "; quality " : "quality ");
                    esc(s, r->slices[i].quality);
                }
                jm_str_adds(s, "</span>");
            }
            jm_str_adds(s, k ? "</td>" : "</th>");
        }
        jm_str_adds(s, "</tr>");
    }
    jm_str_adds(s, "</tbody></table></div>");
    if (jm_slice_note(r))
        jm_str_addf(s, "<p class='dim'>%s</p>", jm_slice_note(r));
    jm_str_adds(s, "</section>");
}

static void claims(struct jm_str *s, const struct jm_report *r)
{
    char v[JM_CLAIMS_FMT];
    if (!r->n_claims)
        return;
    jm_str_adds(s, "<section><h2>What the file says of itself</h2><div class='scroll'><table><thead><tr><th "
                   "scope='col'>number</th><th scope='col' class='n'>in the file</th><th scope='col' "
                   "class='n'>computed again</th><th scope='col'></th></tr></thead><tbody>");
    const struct jm_claims_pick pick = jm_claims_pick(r, false);
    for (size_t i = 0; i < r->n_claims; i++) {
        const struct jm_claim *k = &r->claims[i];
        if (!jm_claims_shown(k, pick))
            continue;
        jm_str_adds(s, "<tr><th scope='row'><code>");
        esc(s, k->key);
        jm_str_adds(s, "</code></th><td class='n'>");
        esc(s, jm_claims_value(v, k, false));
        jm_str_adds(s, "</td><td class='n'>");
        esc(s, jm_claims_value(v, k, true));
        jm_str_adds(s, k->differs ? "</td><td><b>" : "</td><td>");
        esc(s, jm_claims_verdict(v, k));
        jm_str_adds(s, k->differs ? "</b></td></tr>" : "</td></tr>");
    }
    jm_str_adds(s, "</tbody></table></div></section>");
}

static void findings(struct jm_str *s, const struct jm_report *r)
{
    jm_str_adds(s, "<section><h2>Findings</h2>");
    if (!r->n_findings)
        jm_str_adds(s, "<p>None.</p>");
    jm_str_adds(s, "<ul class='list'>");
    for (int sev = JM_SEV_ERROR; sev >= JM_SEV_INFO; sev--)
        for (size_t i = 0; i < r->n_findings; i++) {
            const struct jm_finding *f = &r->findings[i];
            size_t more = (int)f->severity == sev ? jm_fmt_more(r, i) : 0;
            if ((int)f->severity != sev || jm_fmt_repeats(r, i))
                continue;
            jm_str_addf(s, "<li><b class='%s'>%s</b> <code>%s</code> ", jm_severity_name(sev),
                        sev == JM_SEV_INFO ? "note" : jm_severity_name(sev), f->id);
            esc(s, f->text);
            if (f->evidence && f->evidence[0]) {
                jm_str_adds(s, " <span class='dim'>[");
                esc(s, f->evidence);
                jm_str_adds(s, "]</span>");
            }
            if (more)
                jm_str_addf(s, " <b>and %zu more of this kind</b>", more);
            jm_str_adds(s, "</li>");
        }
    jm_str_adds(s, "</ul></section>");
}

static void disclosure(struct jm_str *s, const struct jm_show_opts *o)
{
    if (!o->n_disclosure)
        return;
    jm_str_adds(s, "<section><h2>Disclosure</h2><p class='dim'>What has to stand beside the number so that "
                   "somebody else can repeat it.</p>"
                   "<table><tbody>");
    for (size_t i = 0; i < o->n_disclosure; i++) {
        jm_str_adds(s, "<tr><th scope='row'>");
        esc(s, o->disclosure[i].key);
        jm_str_addf(s, "</th><td%s>", o->disclosure[i].known ? "" : " class='dim'");
        esc(s, o->disclosure[i].value);
        jm_str_adds(s, "</td></tr>");
    }
    jm_str_adds(s, "</tbody></table></section>");
}

static void kv(struct jm_str *s, const char *k, const char *v)
{
    jm_str_adds(s, "<tr><th scope='row'>");
    esc(s, k);
    jm_str_adds(s, "</th><td>");
    esc(s, v);
    jm_str_adds(s, "</td></tr>");
}

static void environment(struct jm_str *s, const struct jm_report *r)
{
    char a[JM_FMT], t[JM_FMT], line[512];
    jm_str_adds(s, "<section><h2>Windows</h2><table><tbody>");
    for (size_t i = 0; i < r->n_windows && i < ROWS_MAX; i++) {
        const struct jm_window *w = &r->windows[i];
        snprintf(line, sizeof line, "%s, %s from %s", jm_role_name((int)w->role),
                 jm_fmt_duration(a, jm_fmt_seconds(w->t1, w->t0)), jm_fmt_time(r, w->t0, t));
        kv(s, w->name, line);
    }
    jm_str_adds(s, "</tbody></table>");
    rest(s, r->n_windows > ROWS_MAX ? r->n_windows - ROWS_MAX : 0);
    jm_str_adds(s, "<h2>Instruments</h2><table><tbody>");
    for (size_t i = 0; i < r->n_meters; i++) {
        const struct jm_meter_info *m = &r->meters[i];
        snprintf(line, sizeof line, "%s, %d channels %s %s %s", m->state, m->channels,
                 m->instance ? m->instance : "", m->reason ? m->reason : "",
                 m->mend && m->mend[0] ? m->mend : "");
        kv(s, m->name, line);
    }
    jm_str_addf(s, "</tbody></table><h2>Environment</h2><details><summary>%zu facts</summary><table><tbody>",
                r->n_env);
    for (size_t i = 0; i < r->n_env; i++)
        kv(s, r->env[i].key, r->env[i].value);
    jm_str_adds(s, "</tbody></table></details></section>");
}

static void manifest(struct jm_str *s, const struct jm_report *r)
{
    jm_str_adds(s, "<section><h2>Raw data</h2><p>Every number above is computed again from the run file by "
                   "<code>joulemark show</code>.</p>"
                   "<table><tbody>");
    kv(s, "run file", r->file);
    kv(s, "SHA-256", r->sha256 ? r->sha256 : "not sealed");
    kv(s, "recorded by", r->joulemark ? r->joulemark : "?");
    jm_str_adds(s, "</tbody></table>");
    if (r->n_raw) {
        jm_str_adds(s, "<div class='scroll'><table><caption>Raw replies and files</caption><thead><tr><th "
                       "scope='col'>name</th>"
                       "<th scope='col' class='n'>bytes</th><th scope='col'>SHA-256</th><th "
                       "scope='col'>kept</th></tr></thead><tbody>");
        for (size_t i = 0; i < r->n_raw; i++) {
            char v[JM_FMT];
            jm_str_adds(s, "<tr><td>");
            esc(s, r->raw[i].name);
            jm_str_addf(s, "</td><td class='n'>%s</td><td><code>", jm_fmt_count(v, r->raw[i].bytes));
            esc(s, r->raw[i].sha256);
            jm_str_addf(s, "</code></td><td>%s</td></tr>", r->raw[i].kept ? "yes" : "by name and hash");
        }
        jm_str_adds(s, "</tbody></table></div>");
    }
    jm_str_adds(s, "</section>");
}

int jm_show_html(const struct jm_report *r, const struct jm_show_opts *o, struct jm_str *s,
                 struct jm_err *err)
{
    bool script = !o->no_script && jm_asset_uplot_js_len > 0;
    jm_str_adds(s, "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
                   "content='width=device-width,"
                   "initial-scale=1'><meta name='color-scheme' content='light dark'><meta "
                   "http-equiv='Content-Security-Policy' content=\"");
    jm_html_csp(s, script);
    jm_str_adds(s, "\"><title>");
    esc(s, r->label ? r->label : "joulemark run");
    jm_str_addf(s, "%s</title><link rel='icon' href='data:,'><style>%s%s</style>",
                r->simulated ? " (SIMULATED)" : "", jm_html_style, jm_html_style_parts);
    jm_str_adds(s, "<style>");
    jm_pictures_html_style(s);
    jm_str_adds(s, "</style>");
    if (script)
        jm_html_styles_of_chart(s);
    jm_str_adds(s, "</head><body><main>");
    header(s, r);
    hero(s, r);
    if (r->n_series) {
        jm_str_adds(s, "<section><h2>Power and load over time</h2><figure>");
        jm_svg_timeline(r, s);
        jm_str_adds(s, "</figure>");
        if (script)
            jm_str_adds(s, "<details class='live' id='power-zoom'><summary>Zoom in</summary><div "
                           "id='power-live'></div></details>");
        jm_str_adds(s, "</section>");
    }
    jm_pictures_html(r, o->pictures, s);
    results(s, r);
    energy_table(s, r);
    jm_groups_html(r, s);
    jm_show_ladder_html(r, s);
    jm_show_impact_html(r, s);
    jm_show_phases_html(r, s);
    jm_reconcile_html(r, s);
    jm_show_passports_html(r, s);
    slices(s, r);
    jm_load_html(r, s);
    jm_show_engine_html(r, s);
    claims(s, r);
    findings(s, r);
    disclosure(s, o);
    environment(s, r);
    manifest(s, r);
    jm_str_adds(s, "<footer class='dim'><p>Made by joulemark " JM_VERSION ".");
    if (script)
        jm_str_adds(s, " The interactive chart is uPlot (MIT).");
    jm_str_adds(s, "</p></footer></main>");
    if (script)
        jm_html_chart(r, s);
    jm_str_adds(s, "</body></html>\n");
    return jm_str_ok(s, "the HTML report", err);
}
