/* SPDX-License-Identifier: Apache-2.0 */
#include "show/impact.h"

#include <math.h>
#include <string.h>

#include "show/fmt.h"
#include "show/svg.h"

#include "base/banned.h"

static void esc(struct jm_str *s, const char *t)
{
    jm_svg_escape(s, t ? t : "");
}

static void number(struct jm_str *s, double v, const char *unit)
{
    char b[JM_FMT];
    jm_str_adds(s, "<td class='n'>");
    if (isfinite(v)) {
        jm_str_addf(s, "%s %.*s", jm_fmt_number(b, v), (int)strcspn(unit, "/"), unit);
    } else {
        jm_str_adds(s, "–");
    }
    jm_str_adds(s, "</td>");
}

static double of(const struct jm_impact *m)
{
    return m && m->x.q.have && m->x.q.validity != JM_V_INVALID ? m->x.q.value : NAN;
}

static void on_line(void *self, const char *text, bool aside)
{
    struct jm_str *s = self;
    jm_str_adds(s, aside ? "<p class='dim'>" : "<p>");
    esc(s, text);
    jm_str_adds(s, "</p>");
}

void jm_show_impact_html(const struct jm_report *r, struct jm_str *s)
{
    struct jm_impact_zone z;
    int window = jm_impact_window(r);
    if (!r->n_impacts && !r->impact_note)
        return;
    jm_str_adds(s, "<section id='impact'><h2>Money and carbon</h2>");
    if (!r->n_impacts) {
        on_line(s, r->impact_note, true);
        jm_str_adds(s, "</section>");
        return;
    }
    jm_str_adds(s, "<p class='dim'>At the boundary ");
    esc(s, r->impacts[0].x.set);
    if (window >= 0 && r->n_windows > 1) {
        jm_str_adds(s, ", ");
        esc(s, r->windows[window].name);
    }
    jm_str_adds(s, ".</p>");
    jm_str_adds(
        s,
        "<div class='scroll'><table><thead><tr><th scope='col'>zone</th><th scope='col' class='n'>price, kWh"
        "</th><th scope='col' class='n'>Mtok</th><th scope='col' class='n'>request</th><th "
        "scope='col'>carbon "
        "factor</th><th scope='col' class='n'>kWh</th><th scope='col' class='n'>Mtok</th><th scope='col' "
        "class='n'>request</th></tr></thead><tbody>");
    for (size_t i = 0; i < 64 && jm_impact_zone(r, i, window, &z); i++) {
        const char *money = z.price ? z.price->unit : "", *gas = z.carbon ? z.carbon->unit : "";
        jm_str_adds(s, "<tr><td>");
        esc(s, z.zone);
        jm_str_adds(s, " <span class='dim'>");
        esc(s, z.name);
        jm_str_adds(s, "</span></td>");
        number(s, z.price_mean, money);
        number(s, of(z.cost_mtok), money);
        number(s, of(z.cost_request), money);
        jm_str_addf(s, "<td>%s", z.carbon ? jm_factor_kind_name((int)z.carbon->kind) : "");
        if (z.carbon) {
            jm_str_addf(s, "%s, %s, ", z.carbon->marginal ? ", marginal" : "",
                        jm_factor_basis_name((int)z.carbon->basis));
            esc(s, z.carbon->vintage);
        }
        jm_str_adds(s, "</td>");
        number(s, z.carbon_mean, gas);
        number(s, of(z.carbon_mtok), gas);
        number(s, of(z.carbon_request), gas);
        jm_str_adds(s, "</tr>");
    }
    jm_str_adds(s, "</tbody></table></div>");
    jm_impact_lines(r, window, on_line, s); /* a year, SCI, water, what has no value, sources */
    jm_str_adds(s, "</section>");
}
