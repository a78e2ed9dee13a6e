/* SPDX-License-Identifier: Apache-2.0 */
#include "show/passports.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/fmt.h"
#include "show/svg.h"

#include "base/banned.h"

static bool in_summary(const struct jm_report *r, const struct jm_energy_row *e)
{
    return e->passport && (r->windows[e->window].role == JM_R_MEASURE || r->n_windows == 1);
}

static void head_of(const struct jm_passport_used *u, char *out, size_t n)
{
    snprintf(out, n, "%.60s (%.8s), made %.10s on %.40s%s%.40s: %d of its %d instruments are in this run%s",
             u->name, u->sha256, u->date, u->host, u->driver[0] ? " under driver " : "", u->driver,
             u->channels, u->rows, u->any_driver ? "; another driver was accepted" : "");
}

static void change(const struct jm_energy_row *e, char *out, size_t n)
{
    char raw[JM_FMT], now[JM_FMT];
    if (isfinite(e->raw) && isfinite(e->joules))
        snprintf(out, n, "%s as shown, %s corrected (%+.2f %%): %s", jm_fmt_value(raw, e->raw, "J"),
                 jm_fmt_value(now, e->joules, "J"), 100 * (e->joules / e->raw - 1), e->correction);
    else
        snprintf(out, n, "%s", e->correction);
}

void jm_show_passports_text(struct jm_out *o)
{
    const struct jm_report *r = o->r;
    char text[480], name[160];
    if (!r->n_passports)
        return;
    jm_out_section(o, "Corrected by passports of the instruments");
    for (size_t i = 0; i < r->n_passports; i++) {
        head_of(&r->passports[i], text, sizeof text);
        jm_out_add(o, "  ");
        jm_out_wrap(o, text, 4, 2);
    }
    for (size_t i = 0; i < r->n_energy; i++) {
        const struct jm_energy_row *e = &r->energy[i];
        if (!in_summary(r, e) || (!e->counted && !o->o->all))
            continue;
        const struct jm_channel *c = &r->channels[e->channel];
        snprintf(name, sizeof name, "%.40s of %.60s, %.40s:", c->name, c->device, r->windows[e->window].name);
        jm_out_add(o, "  ");
        jm_out_wrap(o, name, 4, 2);
        change(e, text, sizeof text);
        jm_out_add(o, "    ");
        jm_out_wrap(o, text, 4, 4);
    }
}

void jm_show_passports_json(struct jm_jsonw *w, const struct jm_report *r)
{
    if (!r->n_passports)
        return;
    jm_jsonw_key(w, "passports");
    jm_jsonw_array(w);
    for (size_t i = 0; i < r->n_passports; i++) {
        const struct jm_passport_used *u = &r->passports[i];
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "name", u->name);
        jm_jsonw_kstr(w, "sha256", u->sha256);
        jm_jsonw_kstr(w, "date", u->date);
        jm_jsonw_kstr(w, "host", u->host);
        jm_jsonw_kstr(w, "driver", u->driver);
        jm_jsonw_kstr(w, "run_sha256", u->run_sha256);
        jm_jsonw_kbool(w, "in_run", u->stored);
        jm_jsonw_kbool(w, "any_driver", u->any_driver);
        jm_jsonw_ki64(w, "instruments", u->rows);
        jm_jsonw_ki64(w, "channels", u->channels);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
}

void jm_show_passports_html(const struct jm_report *r, struct jm_str *s)
{
    char text[480];
    if (!r->n_passports)
        return;
    jm_str_adds(s, "<section><h2>Corrected by passports of the instruments</h2><ul>");
    for (size_t i = 0; i < r->n_passports; i++) {
        head_of(&r->passports[i], text, sizeof text);
        jm_str_adds(s, "<li>");
        jm_svg_escape(s, text);
        jm_str_adds(s, "</li>");
    }
    jm_str_adds(s,
                "</ul><div class='scroll'><table><thead><tr><th>instrument</th><th>window</th><th>as shown, "
                "and corrected</th></tr></thead><tbody>");
    for (size_t i = 0; i < r->n_energy; i++) {
        const struct jm_energy_row *e = &r->energy[i];
        if (!in_summary(r, e))
            continue;
        snprintf(text, sizeof text, "%.40s of %.80s", r->channels[e->channel].name,
                 r->channels[e->channel].device);
        jm_str_adds(s, "<tr><td>");
        jm_svg_escape(s, text);
        jm_str_adds(s, "</td><td>");
        jm_svg_escape(s, r->windows[e->window].name);
        jm_str_adds(s, "</td><td>");
        change(e, text, sizeof text);
        jm_svg_escape(s, text);
        jm_str_adds(s, "</td></tr>");
    }
    jm_str_adds(s, "</tbody></table></div></section>");
}
