/* SPDX-License-Identifier: Apache-2.0 */
#include "show/impact.h"

#include <math.h>
#include <string.h>

#include "show/fmt.h"
#include "show/formats.h"

#include "base/banned.h"

static void number(struct jm_str *s, double v, const char *unit)
{
    char b[JM_FMT];
    if (isfinite(v))
        jm_str_addf(s, " %s %.*s |", jm_fmt_number(b, v), (int)strcspn(unit, "/"), unit);
    else
        jm_str_adds(s, " – |");
}

static double of(const struct jm_impact *m)
{
    return m && m->x.q.have && m->x.q.validity != JM_V_INVALID ? m->x.q.value : NAN;
}

static void on_line(void *self, const char *text, bool aside)
{
    struct jm_str *s = self;
    (void)aside;
    jm_str_adds(s, "- ");
    jm_markdown_escape(s, text);
    jm_str_addc(s, '\n');
}

void jm_show_impact_markdown(const struct jm_report *r, struct jm_str *s)
{
    struct jm_impact_zone z;
    int window = jm_impact_window(r);
    if (!r->n_impacts && !r->impact_note)
        return;
    jm_str_adds(s, "\n## Money and carbon\n\n");
    if (!r->n_impacts) {
        jm_markdown_escape(s, r->impact_note);
        jm_str_addc(s, '\n');
        return;
    }
    jm_str_adds(s, "At the boundary ");
    jm_markdown_escape(s, r->impacts[0].x.set ? r->impacts[0].x.set : "?");
    if (r->n_windows > 1) {
        jm_str_adds(s, ", ");
        jm_markdown_escape(s, window < 0 ? "over trials" : r->windows[window].name);
    }
    jm_str_addf(s, "; %s.\n\n", jm_provenance_name((int)r->impacts[0].x.q.provenance));
    if (r->n_factors)
        jm_str_adds(s, "| zone | price, kWh | Mtok | request | carbon factor | kWh | Mtok | request |\n"
                       "|---|---:|---:|---:|---|---:|---:|---:|\n");
    for (size_t i = 0; jm_impact_zone(r, i, window, &z); i++) {
        const char *money = z.price ? z.price->unit : "", *gas = z.carbon ? z.carbon->unit : "";
        jm_str_adds(s, "| ");
        jm_markdown_escape(s, z.zone);
        jm_str_adds(s, " |");
        number(s, z.price_mean, money);
        number(s, of(z.cost_mtok), money);
        number(s, of(z.cost_request), money);
        jm_str_addf(s, " %s", jm_impact_kind(z.carbon));
        if (z.carbon) {
            jm_str_adds(s, ", ");
            jm_markdown_escape(s, z.carbon->vintage[0] ? z.carbon->vintage : "year not given");
        }
        jm_str_adds(s, " |");
        number(s, z.carbon_mean, gas);
        number(s, of(z.carbon_mtok), gas);
        number(s, of(z.carbon_request), gas);
        jm_str_addc(s, '\n');
    }
    jm_str_addc(s, '\n');
    jm_impact_lines(r, window, on_line, s);
}
