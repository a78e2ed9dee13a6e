/* SPDX-License-Identifier: Apache-2.0 */
#include "show/pictures.h"

#include <string.h>

#include "show/svg.h"

#include "base/banned.h"

const struct jm_picture jm_picture_table[] = {
    {"frontier", "J/token against p99 TPOT and TTFT, with the SLO and the frontier", true, true,
     jm_picture_frontier},
    {"waterfall", "energy from the boards to the facility", false, true, jm_picture_waterfall},
    {"phases", "energy of prefill, decode and no request", false, true, jm_picture_phases},
    {"lengths", "J/token by input and output length, with the requests in each bin", false, true,
     jm_picture_lengths},
    {"ladder", "J/token and power against load", false, true, jm_picture_ladder},
    {"trials", "each trial with its interval, the mean over trials, and the drift", false, true,
     jm_picture_trials},
    {"power", "power over time, with windows and gaps", false, false, jm_picture_power},
    {"carbon", "grid carbon intensity and emissions by the hour", false, true, jm_picture_carbon},
    {NULL, NULL, false, false, NULL},
};

const struct jm_picture *jm_picture_find(const char *name)
{
    for (const struct jm_picture *k = jm_picture_table; k->name; k++)
        if (strcmp(k->name, name) == 0)
            return k;
    return NULL;
}

int jm_picture_svg(const struct jm_picture *k, const struct jm_picture_of *of, enum jm_theme theme,
                   struct jm_str *out, struct jm_err *err)
{
    struct jm_pic p;
    int rc = 0;
    jm_pic_init(&p, k->name);
    k->draw(of, &p);
    out->failed |= p.body.failed || p.why.failed;
    if (out->failed)
        rc = jm_str_ok(out, "the picture", err);
    else if (p.why.len)
        rc = jm_err_set(err, JM_EABSENT, "no picture %s: %s", k->name, p.why.buf);
    else
        jm_pic_finish(&p, true, theme, out);
    if (!rc)
        rc = jm_str_ok(out, "the picture", err);
    jm_pic_release(&p);
    return rc;
}

void jm_pictures_html_style(struct jm_str *s)
{
    jm_str_adds(s, ".pics figure{margin:0 0 16px}");
    jm_pic_style(s, ".pic ", JM_THEME_AUTO);
}

void jm_pictures_html(const struct jm_report *r, const struct jm_picture_of *of, struct jm_str *s)
{
    struct jm_picture_of alone = {.report = &r, .n = 1};
    struct jm_str left;
    size_t drawn = 0;
    jm_str_init(&left);
    for (const struct jm_picture *k = jm_picture_table; k->name; k++) {
        struct jm_pic p;
        if (!k->on_page)
            continue;
        jm_pic_init(&p, k->name);
        k->draw(k->compares && of ? of : &alone, &p);
        s->failed |= p.body.failed || p.why.failed;
        if (p.why.len) {
            jm_str_addf(&left, "<li><code>%s</code> ", k->name);
            jm_svg_escape(&left, p.why.buf);
            jm_str_adds(&left, ".</li>");
        } else {
            if (!drawn++)
                jm_str_adds(s, "<section id='pictures' class='pics'><h2>Pictures</h2>");
            jm_str_adds(s, "<figure>");
            jm_pic_finish(&p, false, JM_THEME_AUTO, s);
            jm_str_adds(s, "</figure>");
        }
        jm_pic_release(&p);
    }
    if (drawn && left.len) {
        jm_str_adds(s, "<details><summary>Pictures that this run has no data for</summary><ul class='list'>");
        jm_str_addspan(s, jm_str_span(&left));
        jm_str_adds(s, "</ul></details>");
    }
    if (drawn)
        jm_str_adds(s, "</section>");
    s->failed |= left.failed;
    jm_str_release(&left);
}
