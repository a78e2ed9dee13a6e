/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison as one page: the verdict, the picture of the pairs, the tables. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/compare.h"
#include "show/html_script.h"
#include "show/html_style.h"
#include "show/svg.h"

#include "base/banned.h"

#define LEFT  150.0
#define WIDTH 860.0
#define ROW   26.0

static double at(double d, double lo, double hi)
{
    return LEFT + (d - lo) / (hi - lo) * (WIDTH - LEFT - 110);
}

/* Pairs as points, all of them as a point with its interval; lines where nothing changes and where the
 * contract begins; the detection floor shaded. */
static void picture(struct jm_str *s, const struct jm_comparison *c, const struct jm_candidate *k)
{
    double lo, hi, top = 34, bottom;
    char v[JM_FMT];
    size_t n = k->n_pair > 40 ? 40 : k->n_pair;
    const struct jm_decision *d = &k->decision;
    if (!k->n_pair)
        return;
    jm_compare_scale(c, k, &lo, &hi);
    bottom = top + ROW * (double)(n + 1) + 6;
    jm_str_addf(
        s,
        "<figure><svg viewBox='0 0 %.0f %.0f' role='img' aria-label='Change of the energy per unit of "
        "work, pair by pair'>",
        WIDTH, bottom + 44);
    if (d->floor_source)
        jm_str_addf(
            s,
            "<rect class='win' x='%.1f' y='%.1f' width='%.1f' height='%.1f'><title>detection floor, %.3g "
            "%%</title></rect>",
            at(-d->floor.log_floor, lo, hi), top - 8,
            at(d->floor.log_floor, lo, hi) - at(-d->floor.log_floor, lo, hi), bottom - top + 8,
            100 * d->floor.saving);
    double step = jm_svg_step(100 * (expm1(hi) - expm1(lo)), 8);
    for (double t = ceil(100 * expm1(lo) / step) * step; t <= 100 * expm1(hi); t += step) {
        double x = at(log1p(t / 100), lo, hi);
        jm_str_addf(s,
                    "<line class='grid' x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f'/><text x='%.1f' y='%.1f' "
                    "text-anchor='middle'>%s%.3g %%</text>",
                    x, top - 8, x, bottom, x, bottom + 18, t > 1e-9 ? "+" : "", fabs(t) < 1e-9 ? 0 : t);
    }
    jm_str_addf(s, "<line class='axis' x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f'/>", at(0, lo, hi), top - 8,
                at(0, lo, hi), bottom);
    if (c->decide.contract && c->decide.minimum > 0) {
        double x = at(jm_compare_asked(c), lo, hi);
        jm_str_addf(s,
                    "<line class='mark' x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f'/><text x='%.1f' y='%.1f' "
                    "text-anchor='middle'>asked for</text>",
                    x, top - 8, x, bottom, x, top - 14);
    }
    for (size_t i = 0; i < n; i++) {
        double y = top + ROW * ((double)i + 0.5);
        jm_str_addf(
            s,
            "<text x='12' y='%.1f'>pair %zu</text><g class='s0'><circle class='bar' cx='%.1f' cy='%.1f' "
            "r='5'/></g><text class='val' x='%.1f' y='%.1f' text-anchor='end'>%s</text>",
            y + 4, i + 1, at(k->pair[i].d, lo, hi), y, WIDTH - 12, y + 4,
            jm_compare_change(v, exp(k->pair[i].d)));
    }
    double y = top + ROW * ((double)n + 0.5);
    jm_str_addf(s, "<text class='lab' x='12' y='%.1f'>all</text><g class='s1'>", y + 4);
    if (isfinite(d->lo))
        jm_str_addf(s, "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke-width='3'/>",
                    at(log1p(-fmin(d->hi, 0.999)), lo, hi), y, at(log1p(-fmin(d->lo, 0.999)), lo, hi), y);
    jm_str_addf(
        s,
        "<circle class='bar' cx='%.1f' cy='%.1f' r='6'/></g><text class='val' x='%.1f' y='%.1f' "
        "text-anchor='end'>%s</text></svg><figcaption class='dim'>Change from A to %c, pair by pair, with "
        "the %.3g %% interval of all; shaded: what A against A shows.</figcaption></figure>",
        at(log(d->ratio), lo, hi), y, WIDTH - 12, y + 4, jm_compare_change(v, d->ratio),
        (char)('A' + k->side), 100 * c->decide.level);
}

static void cell(struct jm_str *s, const char *tag, const char *text)
{
    jm_str_addf(s, "<%s>", tag);
    jm_svg_escape(s, text);
    jm_str_addf(s, "</%s>", tag);
}

static void tables(struct jm_str *s, const struct jm_candidate *k)
{
    static const char *const state[] = {"met", "open", "broken"}, *const class[] = {"valid", "findings",
                                                                                    "invalid"};
    char v[JM_FMT], w[JM_FMT];
    if (k->n_clause) {
        jm_str_adds(
            s,
            "<h2>Contract</h2><div class='scroll'><table><thead><tr><th scope='col'>Clause</th><th "
            "scope='col'>Asked for</th><th scope='col'>Found</th><th scope='col'></th></tr></thead><tbody>");
        for (size_t i = 0; i < k->n_clause; i++) {
            const struct jm_clause *q = &k->clause[i];
            jm_str_adds(s, "<tr><th scope='row'>");
            jm_svg_escape(s, q->id);
            jm_str_adds(s, " ");
            jm_svg_escape(s, q->slice ? q->slice : "");
            jm_str_adds(s, "</th>");
            cell(s, "td", q->asked);
            cell(s, "td", q->found);
            jm_str_addf(s, "<td class='%s'>%s</td></tr>", class[q->state], state[q->state]);
        }
        jm_str_adds(s, "</tbody></table></div>");
    }
    if (k->n_metric) {
        jm_str_addf(
            s,
            "<h2>Figures</h2><div class='scroll'><table><thead><tr><th scope='col'></th><th class='n' "
            "scope='col'>A</th><th class='n' scope='col'>%c</th><th class='n' scope='col'>change</th><th "
            "class='n' scope='col'>interval</th></tr></thead><tbody>",
            (char)('A' + k->side));
        for (size_t i = 0; i < k->n_metric; i++) {
            const struct jm_compare_metric *m = &k->metric[i];
            jm_str_adds(s, "<tr><th scope='row'>");
            jm_svg_escape(s, jm_compare_title(v, m));
            if (m->boundary != JM_B_NONE)
                jm_str_addf(s, " <span class='dim'>%s</span>", jm_boundary_name((int)m->boundary));
            jm_compare_value(v, m->a, m->unit);
            jm_compare_value(w, m->b, m->unit);
            jm_str_addf(s, "</th><td class='n'>%s</td><td class='n'>%s</td>", v, w);
            jm_str_addf(s, "<td class='n'>%s</td>", jm_compare_change(v, m->ratio));
            jm_str_addf(s, "<td class='n'>%s to %s</td></tr>", jm_compare_change(v, m->lo),
                        jm_compare_change(w, m->hi));
        }
        jm_str_adds(s, "</tbody></table></div>");
    }
    if (k->n_note) {
        jm_str_adds(s, "<h2>Notes</h2><ul>");
        for (size_t i = 0; i < k->n_note; i++) {
            jm_str_addf(s, "<li%s>", k->note[i].warning ? " class='warning'" : "");
            jm_svg_escape(s, k->note[i].text);
            jm_str_adds(s, "</li>");
        }
        jm_str_adds(s, "</ul>");
    }
}

static void facts(struct jm_str *s, const struct jm_comparison *c)
{
    if (!c->n_fact)
        return;
    jm_str_adds(s, "<h2>Comparability</h2><div class='scroll'><table><thead><tr><th scope='col'>What must "
                   "agree</th><th scope='col'></th>");
    for (size_t i = 0; i < c->n_side; i++)
        jm_str_addf(s, "<th scope='col'>%c</th>", (char)('A' + i));
    jm_str_adds(s, "</tr></thead><tbody>");
    for (size_t i = 0; i < c->n_fact; i++) {
        const struct jm_compare_fact *f = &c->fact[i];
        const char *class = f->state >= JM_CF_DIFFERS                              ? "invalid"
                            : f->state == JM_CF_PARTLY || f->state == JM_CF_IDLE   ? "findings"
                            : f->state == JM_CF_DECLARED || f->state == JM_CF_SAME ? "valid"
                                                                                   : "dim";
        jm_str_adds(s, "<tr><th scope='row'>");
        jm_svg_escape(s, f->title);
        jm_str_addf(s, " <code class='dim'>%s</code></th><td class='%s'>%s</td>", f->id, class,
                    jm_compare_state_name((int)f->state));
        for (size_t k = 0; k < c->n_side; k++)
            cell(s, "td", f->value[k] ? f->value[k] : "not known");
        jm_str_adds(s, "</tr>");
    }
    jm_str_adds(s, "</tbody></table></div>");
}

int jm_compare_html(const struct jm_comparison *c, const struct jm_show_opts *o, struct jm_str *s,
                    struct jm_err *err)
{
    const struct jm_candidate *k = &c->candidate[c->best];
    const char *class = c->verdict == JM_VERDICT_ACCEPT || c->verdict == JM_VERDICT_LOWER ||
                                c->verdict == JM_VERDICT_EQUIVALENT
                            ? "valid"
                        : c->verdict == JM_VERDICT_REJECT || c->verdict == JM_VERDICT_HIGHER ? "invalid"
                                                                                             : "findings";
    (void)o;
    jm_str_adds(s, "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
                   "content='width=device-width,initial-scale=1'><meta http-equiv='Content-Security-Policy' "
                   "content=\"");
    jm_html_csp(s, false);
    jm_str_addf(
        s,
        "\"><title>Comparison%s</title><link rel='icon' href='data:,'><style>%s%s figcaption{margin:6px 0}"
        "</style></head><body><main><header><h1>Comparison%s</h1><p>joulemark " JM_VERSION ", J per %s at "
        "the %s boundary</p></header><div class='hero'><p class='%s'><strong>",
        c->simulated ? " (SIMULATED)" : "", jm_html_style, jm_html_style_parts,
        c->simulated ? "<span class='tag sim'>SIMULATED</span>" : "", c->unit_title,
        jm_boundary_name((int)c->boundary) ? jm_boundary_name((int)c->boundary) : "(no common)", class);
    jm_svg_escape(s, c->sentence);
    jm_str_adds(s, ".</strong></p>");
    for (size_t i = 0; i < c->n_side; i++) {
        jm_str_addf(s, "<p class='dim'>%c: ", (char)('A' + i));
        jm_svg_escape(s, c->side[i].name);
        jm_str_addf(s, ", %zu trials, %llu requests, %llu failed</p>", c->side[i].n_trial,
                    (unsigned long long)c->side[i].requests, (unsigned long long)c->side[i].failed);
    }
    jm_str_adds(s, "</div>");
    for (size_t i = 0; i < c->n_candidate && c->n_candidate > 1; i++)
        cell(s, "p", c->candidate[i].sentence);
    picture(s, c, k);
    tables(s, k);
    facts(s, c);
    jm_str_adds(s, "</main></body></html>\n");
    return jm_str_ok(s, "the comparison", err);
}
