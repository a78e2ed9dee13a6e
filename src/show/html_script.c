/* SPDX-License-Identifier: Apache-2.0 */
#include "show/html_script.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "show/assets.h"
#include "show/fmt.h"
#include "show/html_style.h"
#include "show/svg.h"

#include "base/banned.h"

static int nibble(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* 'sha256-<base64>' of a script, as CSP wants it. */
static void hash(struct jm_str *s, struct jm_span text)
{
    static const char b64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char hex[JM_SHA256_HEX];
    unsigned char d[33] = {0};
    jm_sha256_hex(text, hex);
    for (int i = 0; i < 32; i++)
        d[i] = (unsigned char)(nibble(hex[2 * i]) << 4 | nibble(hex[2 * i + 1]));
    jm_str_adds(s, " 'sha256-");
    for (int i = 0; i < 33; i += 3) {
        unsigned v = (unsigned)d[i] << 16 | (unsigned)d[i + 1] << 8 | d[i + 2];
        jm_str_addc(s, b64[v >> 18 & 63]);
        jm_str_addc(s, b64[v >> 12 & 63]);
        jm_str_addc(s, b64[v >> 6 & 63]);
        if (i < 30)
            jm_str_addc(s, b64[v & 63]);
    }
    jm_str_adds(s, "='"); /* 32 bytes leave one padding sign */
}

void jm_html_csp(struct jm_str *s, bool script)
{
    jm_str_adds(
        s,
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'");
    if (!script)
        return;
    jm_str_adds(s, "; script-src");
    hash(s, (struct jm_span){(const char *)jm_asset_uplot_js, jm_asset_uplot_js_len});
    hash(s, jm_span_of(jm_html_script));
}

void jm_html_styles_of_chart(struct jm_str *s)
{
    jm_str_adds(s, "<style>");
    jm_str_add(s, jm_asset_uplot_css, jm_asset_uplot_css_len);
    jm_str_adds(s, "</style>");
}

/* "</" must not appear inside a script element. */
static void add_json(struct jm_str *s, const struct jm_str *json)
{
    for (size_t i = 0; i < json->len; i++) {
        if (json->buf[i] == '<')
            jm_str_adds(s, "\\u003c");
        else
            jm_str_addc(s, json->buf[i]);
    }
}

/* The value of a series of tokens a second at a time, NAN outside it. */
static double at(const struct jm_series *d, double seconds)
{
    double k = seconds / jm_svg_bucket(d);
    return k >= 0 && seconds < jm_fmt_seconds(d->t1, d->t0) && k < (double)d->n ? d->max[(size_t)k] : NAN;
}

static void rates(const struct jm_report *r, struct jm_jsonw *w, const char *key, bool outside,
                  const struct jm_series *first, double each)
{
    jm_jsonw_key(w, key);
    jm_jsonw_array(w);
    for (size_t k = 0; k < first->n; k++) {
        double v = NAN;
        for (size_t i = 0; i < r->n_series && isnan(v); i++)
            if (strcmp(r->series[i].unit, "tokens/s") == 0 && (r->series[i].window < 0) == outside)
                v = at(&r->series[i], jm_fmt_seconds(first->t0, r->series[i].t0) + ((double)k + .5) * each);
        jm_jsonw_num(w, round(v * 10) / 10);
    }
    jm_jsonw_end(w);
}

/* Tokens/s and requests under way, on the columns of the latter. */
static void load_data(const struct jm_report *r, struct jm_jsonw *w, int64_t origin)
{
    const struct jm_series *first = NULL;
    for (size_t i = 0; i < r->n_series && !first; i++)
        if (strcmp(r->series[i].unit, "in flight") == 0)
            first = &r->series[i];
    if (!first)
        return;
    double each = jm_fmt_seconds(first->t1, first->t0) / (double)first->n;
    jm_jsonw_key(w, "lx");
    jm_jsonw_array(w);
    for (size_t k = 0; k < first->n; k++)
        jm_jsonw_num(w, round(1e3 * (jm_fmt_seconds(first->t0, origin) + ((double)k + .5) * each)) / 1e3);
    jm_jsonw_end(w);
    rates(r, w, "tokens", false, first, each);
    rates(r, w, "outside", true, first, each);
    jm_jsonw_key(w, "flight");
    jm_jsonw_array(w);
    for (size_t i = 0; i < r->n_series; i++) {
        if (strcmp(r->series[i].unit, "in flight") != 0)
            continue;
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "label", r->series[i].label);
        jm_jsonw_key(w, "y");
        jm_jsonw_array(w);
        for (size_t k = 0; k < r->series[i].n; k++)
            jm_jsonw_num(w, r->series[i].max[k]);
        jm_jsonw_end(w);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
}

static void data(const struct jm_report *r, struct jm_str *s)
{
    struct jm_str json;
    struct jm_jsonw w;
    const struct jm_series *first = NULL;
    int n = 0;
    int64_t origin = 0;
    jm_str_init(&json);
    jm_jsonw_init(&w, &json, 0);
    jm_jsonw_object(&w);
    for (size_t i = 0; i < r->n_series && !first; i++)
        if (strcmp(r->series[i].unit, "W") == 0)
            first = &r->series[i];
    if (first)
        origin = first->t0;
    for (size_t i = 0; i < r->n_windows; i++)
        if (r->windows[i].role == JM_R_MEASURE) {
            origin = r->windows[i].t0;
            break;
        }
    jm_jsonw_key(&w, "labels");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < r->n_series && n < JM_SVG_SERIES; i++)
        if (strcmp(r->series[i].unit, "W") == 0) {
            jm_jsonw_str(&w, r->series[i].label);
            n++;
        }
    jm_jsonw_end(&w);
    jm_jsonw_key(&w, "x");
    jm_jsonw_array(&w);
    for (size_t k = 0; first && k < first->n; k++)
        jm_jsonw_num(&w, round(((double)(first->t0 - origin) +
                                ((double)k + .5) * (double)(first->t1 - first->t0) / (double)first->n) /
                               1e6) /
                             1e3);
    jm_jsonw_end(&w);
    jm_jsonw_key(&w, "y");
    jm_jsonw_array(&w);
    n = 0;
    for (size_t i = 0; i < r->n_series && n < JM_SVG_SERIES; i++) {
        const struct jm_series *d = &r->series[i];
        if (strcmp(d->unit, "W") != 0)
            continue;
        n++;
        jm_jsonw_array(&w);
        for (size_t k = 0; k < d->n; k++)
            jm_jsonw_num(&w, round((d->min[k] + d->max[k]) * 5) / 10); /* middle of the column, to 0.1 W */
        jm_jsonw_end(&w);
    }
    jm_jsonw_end(&w);
    load_data(r, &w, origin);
    jm_jsonw_key(&w, "windows");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < r->n_windows; i++) {
        if (r->windows[i].role != JM_R_MEASURE)
            continue;
        jm_jsonw_array(&w);
        jm_jsonw_num(&w, jm_fmt_seconds(r->windows[i].t0, origin));
        jm_jsonw_num(&w, jm_fmt_seconds(r->windows[i].t1, origin));
        jm_jsonw_end(&w);
    }
    jm_jsonw_end(&w);
    jm_jsonw_end(&w);
    add_json(s, &json);
    s->failed |= json.failed;
    jm_str_release(&json);
}

void jm_html_chart(const struct jm_report *r, struct jm_str *s)
{
    jm_str_adds(s, "<script type='application/json' id='power-data'>");
    data(r, s);
    jm_str_adds(s, "</script><!--\n");
    for (size_t i = 0; i < jm_asset_uplot_license_len; i++) /* a comment must not hold "--" */
        if (jm_asset_uplot_license[i] != '-')
            jm_str_addc(s, (char)jm_asset_uplot_license[i]);
    jm_str_adds(s, "\n--><script>");
    jm_str_add(s, jm_asset_uplot_js, jm_asset_uplot_js_len);
    jm_str_addf(s, "</script><script>%s</script>", jm_html_script);
}
