/* SPDX-License-Identifier: Apache-2.0 */
#include "show/groups.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/fmt.h"
#include "show/svg.h"

#include "base/banned.h"

void jm_groups_text(struct jm_out *o)
{
    const struct jm_report *r = o->r;
    char v[JM_FMT], p[JM_FMT], line[320];
    int window = -1;
    double total = 0;
    int have = 0, of = 0;
    if (!r->n_groups)
        return;
    for (size_t i = 0; i < r->n_groups; i++) {
        const struct jm_group_energy *g = &r->groups[i];
        if (r->windows[g->window].role != JM_R_MEASURE && !o->o->all)
            continue;
        if (g->window != window) {
            total = 0;
            have = of = 0;
            if (jm_fmt_many_windows(r) || o->o->all)
                snprintf(line, sizeof line, "Groups in the window %s", r->windows[g->window].name);
            else
                snprintf(line, sizeof line, "Groups");
            jm_out_section(o, line);
            window = g->window;
        }
        jm_str_adds(o->s, "  ");
        jm_out_cell(o, g->name, 18, false);
        jm_str_addc(o->s, ' ');
        jm_out_cell(o, g->role, 8, false);
        snprintf(line, sizeof line, "%d GPU%s", g->of, g->of == 1 ? "" : "s");
        jm_out_cell(o, line, 8, true);
        if (isfinite(g->joules)) {
            jm_out_cell(o, jm_fmt_value(v, g->joules, "J"), 12, true);
            jm_out_cell(o, jm_fmt_value(p, g->joules / g->seconds, "W"), 12, true);
            if (g->per)
                jm_str_addf(o->s, "  %.4g J/%s", g->joules / g->tokens, g->per);
        } else {
            jm_str_addf(o->s, "  no value: %d of %d", g->have, g->of);
        }
        jm_str_addc(o->s, '\n');
        total += g->joules;
        have += g->have;
        of += g->of;
        if (i + 1 == r->n_groups || r->groups[i + 1].window != window) {
            jm_str_adds(o->s, "  ");
            jm_out_cell(o, "total", 27, false);
            snprintf(line, sizeof line, "%d GPU%s", of, of == 1 ? "" : "s");
            jm_out_cell(o, line, 8, true);
            if (isfinite(total)) {
                jm_out_cell(o, jm_fmt_value(v, total, "J"), 12, true);
                jm_out_cell(o, jm_fmt_value(p, total / g->seconds, "W"), 12, true);
            } else {
                jm_str_addf(o->s, "  no value: %d of %d", have, of);
            }
            jm_str_addc(o->s, '\n');
        }
    }
}

void jm_groups_html(const struct jm_report *r, struct jm_str *s)
{
    char v[JM_FMT], p[JM_FMT];
    bool begun = false;
    for (size_t i = 0; i < r->n_groups; i++) {
        const struct jm_group_energy *g = &r->groups[i];
        if (r->windows[g->window].role != JM_R_MEASURE)
            continue;
        if (!begun)
            jm_str_adds(
                s, "<section id='groups'><h2>Groups</h2><p class='dim'>Replicas and pools: the energy of "
                   "all GPUs of each. Of a pool for prefill per input token, of one for decode per token "
                   "after the first.</p><div class='scroll'><table><thead><tr><th scope='col'>window</th>"
                   "<th scope='col'>group</th><th scope='col'>role</th><th scope='col' class='n'>GPUs</th>"
                   "<th scope='col' class='n'>energy</th><th scope='col' class='n'>mean power</th><th "
                   "scope='col' class='n'>per token</th></tr></thead><tbody>");
        begun = true;
        jm_str_adds(s, "<tr><td>");
        jm_svg_escape(s, r->windows[g->window].name);
        jm_str_adds(s, "</td><td>");
        jm_svg_escape(s, g->name);
        jm_str_addf(s, "</td><td>%s</td><td class='n'>%d</td>", g->role, g->of);
        if (!isfinite(g->joules)) {
            jm_str_addf(s, "<td colspan='3' class='error'>no value: %d of %d</td></tr>", g->have, g->of);
            continue;
        }
        jm_str_addf(s, "<td class='n'>%s</td><td class='n'>%s</td><td class='n'>",
                    jm_fmt_value(v, g->joules, "J"), jm_fmt_value(p, g->joules / g->seconds, "W"));
        if (g->per)
            jm_str_addf(s, "%.4g J/%s", g->joules / g->tokens, g->per);
        jm_str_adds(s, "</td></tr>");
    }
    if (begun)
        jm_str_adds(s, "</tbody></table></div></section>");
}

static void number(struct jm_jsonw *w, const char *key, double v)
{
    if (isfinite(v)) {
        jm_jsonw_knum(w, key, v);
    } else {
        jm_jsonw_key(w, key);
        jm_jsonw_null(w);
    }
}

void jm_groups_json(struct jm_jsonw *w, const struct jm_report *r)
{
    if (!r->n_groups)
        return;
    jm_jsonw_key(w, "groups");
    jm_jsonw_array(w);
    for (size_t i = 0; i < r->n_groups; i++) {
        const struct jm_group_energy *g = &r->groups[i];
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "name", g->name);
        jm_jsonw_kstr(w, "role", g->role);
        jm_jsonw_kstr(w, "window", r->windows[g->window].name);
        jm_jsonw_ki64(w, "have", g->have);
        jm_jsonw_ki64(w, "of", g->of);
        number(w, "joules", g->joules);
        number(w, "lo", g->lo);
        number(w, "hi", g->hi);
        number(w, "mean_w", g->joules / g->seconds);
        if (g->gain_unknown)
            jm_jsonw_kstr(w, "excludes", "gain of the boards");
        if (g->per) {
            jm_jsonw_kstr(w, "per", g->per);
            number(w, "tokens", g->tokens);
            number(w, "j_per_token", g->joules / g->tokens);
        }
        jm_jsonw_kstr(w, "provenance", jm_provenance_name((int)g->provenance));
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
}
