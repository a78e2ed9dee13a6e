/* SPDX-License-Identifier: Apache-2.0 */
#include "show/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/fmt.h"

#include "base/banned.h"

#define W     1000.0
#define LEFT  64.0
#define RIGHT 16.0

void jm_svg_escape(struct jm_str *s, const char *t)
{
    struct jm_span c;
    while (t && (t = jm_fmt_next(t, &c))) {
        if (c.n > 1)
            jm_str_addspan(s, c);
        else if (*c.p == '&')
            jm_str_adds(s, "&amp;");
        else if (*c.p == '<')
            jm_str_adds(s, "&lt;");
        else if (*c.p == '>')
            jm_str_adds(s, "&gt;");
        else if (*c.p == '"')
            jm_str_adds(s, "&quot;");
        else if (*c.p == '\'')
            jm_str_adds(s, "&#39;");
        else
            jm_str_addspan(s, c);
    }
}

double jm_svg_step(double range, int n)
{
    if (!(range > 0) || !isfinite(range))
        return 1;
    double raw = range / n, p = pow(10, floor(log10(raw))), m = raw / p;
    return p * (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10);
}

struct plot {
    double x0, x1, y0, y1; /* data */
    double px, py, pw, ph; /* box */
};

static double px(const struct plot *p, double x)
{
    return p->px + (x - p->x0) / (p->x1 - p->x0) * p->pw;
}

static double py(const struct plot *p, double y)
{
    return p->py + p->ph - (y - p->y0) / (p->y1 - p->y0) * p->ph;
}

static void y_axis(struct jm_str *s, const struct plot *p, const char *unit)
{
    double step = jm_svg_step(p->y1 - p->y0, 4);
    char v[JM_FMT];
    for (double y = ceil(p->y0 / step) * step; y <= p->y1 + step * 1e-9; y += step)
        jm_str_addf(s,
                    "<line class='grid' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/><text class='tick' x='%.1f' "
                    "y='%.1f' "
                    "text-anchor='end'>%s</text>",
                    p->px, p->px + p->pw, py(p, y), py(p, y), p->px - 8, py(p, y) + 4,
                    jm_fmt_tick(v, y, y > 0 ? unit : ""));
}

static void x_axis(struct jm_str *s, const struct plot *p)
{
    double range = p->x1 - p->x0, step = jm_svg_step(range, 8);
    for (double x = ceil(p->x0 / step) * step; x <= p->x1 + step * 1e-9; x += step)
        jm_str_addf(s,
                    "<line class='axis' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/><text class='tick' x='%.1f' "
                    "y='%.1f' "
                    "text-anchor='middle'>%g</text>",
                    px(p, x), px(p, x), p->py + p->ph, p->py + p->ph + 5, px(p, x), p->py + p->ph + 20,
                    fabs(x) < step / 2 ? 0 : x);
    jm_str_addf(s, "<line class='axis' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>", p->px, p->px + p->pw,
                p->py + p->ph, p->py + p->ph);
}

/* One series: a band from minimum to maximum of each column; a gap breaks it. */
static void series(struct jm_str *s, const struct plot *p, const struct jm_series *d, int64_t origin,
                   int class)
{
    double dx = jm_fmt_seconds(d->t1, d->t0) / (double)d->n, x = jm_fmt_seconds(d->t0, origin) + dx / 2;
    /* columns that a slow gauge left empty between two of its readings are no gap */
    size_t reach = d->n / 60 + 1, last = (size_t)-1;
    bool open = false;
    jm_str_addf(s, "<path class='line s%d%s' d='", class % 8, class >= 8 ? " dash" : "");
    for (size_t i = 0; i < d->n; i++) {
        if (isnan(d->max[i]))
            continue;
        if (last != (size_t)-1 && i - last > reach)
            open = false;
        jm_str_addf(s, "%s%.1f %.1f", open ? "L" : "M", px(p, x + dx * (double)i), py(p, d->min[i]));
        if (d->max[i] - d->min[i] > (p->y1 - p->y0) / 400)
            jm_str_addf(s, "L%.1f %.1f", px(p, x + dx * (double)i), py(p, d->max[i]));
        open = true;
        last = i;
    }
    jm_str_adds(s, "'/>");
}

static double top_of(const struct jm_report *r, const char *unit, int *count)
{
    double max = 0;
    *count = 0;
    for (size_t i = 0; i < r->n_series; i++) {
        if (strcmp(r->series[i].unit, unit) != 0)
            continue;
        ++*count;
        for (size_t k = 0; k < r->series[i].n; k++)
            if (r->series[i].max[k] > max)
                max = r->series[i].max[k];
    }
    return max;
}

#define WINDOWS_DRAWN 200

static void shade(struct jm_str *s, const struct jm_report *r, const struct plot *p, int64_t origin)
{
    size_t drawn = 0;
    for (size_t i = 0; i < r->n_windows && drawn < WINDOWS_DRAWN; i++) {
        const struct jm_window *w = &r->windows[i];
        double a = fmax(jm_fmt_seconds(w->t0, origin), p->x0), b = fmin(jm_fmt_seconds(w->t1, origin), p->x1);
        if (b <= a || (w->role != JM_R_MEASURE && w->role != JM_R_IDLE))
            continue;
        drawn++;
        jm_str_addf(s, "<rect class='win %s' x='%.1f' y='%.1f' width='%.1f' height='%.1f'><title>window ",
                    jm_role_name((int)w->role), px(p, a), p->py, px(p, b) - px(p, a), p->ph);
        jm_svg_escape(s, w->name);
        jm_str_adds(s, "</title></rect>");
    }
}

double jm_svg_bucket(const struct jm_series *d)
{
    return fmax(1, ceil(jm_fmt_seconds(d->t1, d->t0) / (double)d->n - 1e-9));
}

/* Stairs filled down to 0, each of whole seconds; the last is what is left. */
static void area(struct jm_str *s, const struct plot *q, const struct jm_series *d, int64_t origin)
{
    double begin = jm_fmt_seconds(d->t0, origin), all = jm_fmt_seconds(d->t1, d->t0), each = jm_svg_bucket(d),
           y0 = py(q, 0);
    jm_str_addf(s, "<path class='area%s' d='M%.1f %.1f", d->window < 0 ? " out" : "", px(q, begin), y0);
    for (size_t k = 0; k < d->n; k++) {
        double a = fmin(each * (double)k, all), b = fmin(each * (double)(k + 1), all),
               y = isnan(d->max[k]) ? 0 : d->max[k];
        jm_str_addf(s, "L%.1f %.1fL%.1f %.1f", px(q, begin + a), py(q, y), px(q, begin + b), py(q, y));
    }
    jm_str_addf(s, "L%.1f %.1fZ'/>", px(q, begin + all), y0);
}

static void stairs(struct jm_str *s, const struct plot *q, const struct jm_series *d, int64_t origin,
                   int class, bool dash)
{
    double dx = jm_fmt_seconds(d->t1, d->t0) / (double)d->n, last = NAN;
    jm_str_addf(s, "<path class='line s%d%s' d='", class, dash ? " dash" : "");
    for (size_t k = 0; k < d->n; k++) {
        double x = px(q, jm_fmt_seconds(d->t0, origin) + dx * (double)k), y = d->max[k];
        if (k == 0)
            jm_str_addf(s, "M%.1f %.1f", x, py(q, y));
        else if (y != last)
            jm_str_addf(s, "H%.1fV%.1f", x, py(q, y));
        last = y;
    }
    jm_str_addf(s, "H%.1f'/>", px(q, jm_fmt_seconds(d->t1, origin)));
}

static void legend(struct jm_str *s, const char *class, const char *label)
{
    jm_str_addf(s, "<li><span class='key %s'></span>", class);
    jm_svg_escape(s, label);
    jm_str_adds(s, "</li>");
}

enum { POWER, TOKENS, FLIGHT, PANELS };

/* Where the time axis has its 0: the first measured window. */
static int64_t origin_of(const struct jm_report *r, int64_t otherwise)
{
    for (size_t i = 0; i < r->n_windows; i++)
        if (r->windows[i].role == JM_R_MEASURE)
            return r->windows[i].t0;
    return otherwise;
}

/* Panels under each other on one time axis: power, output tokens/s, requests under way. */
void jm_svg_timeline(const struct jm_report *r, struct jm_str *s)
{
    static const char *const unit[] = {"W", "tokens/s", "in flight"},
                             *const cap[] = {"power", "output tokens/s",
                                             "requests under way, and held back by the client (dashed)"};
    static const double tall[] = {220, 92, 72};
    int n[PANELS], drawn = 0, panels = 0;
    bool outside = false;
    double top[PANELS], y = 24, h = 36;
    int64_t t0 = INT64_MAX, t1 = INT64_MIN;
    for (size_t i = 0; i < r->n_series; i++) {
        t0 = r->series[i].t0 < t0 ? r->series[i].t0 : t0;
        t1 = r->series[i].t1 > t1 ? r->series[i].t1 : t1;
    }
    if (t1 <= t0)
        return;
    int64_t origin = origin_of(r, t0);
    for (int k = 0; k < PANELS; k++) {
        top[k] = top_of(r, unit[k], &n[k]);
        h += n[k] ? tall[k] + 48 : 0;
        panels += n[k] > 0;
    }
    if (!panels)
        return;
    jm_str_addf(s,
                "<svg viewBox='0 0 %g %g' role='img' aria-label='%s%s%s over time; the measured window is "
                "shaded'>",
                W, h, n[POWER] ? "Power" : "Load", n[TOKENS] ? ", output tokens per second" : "",
                n[FLIGHT] ? ", requests under way" : "");
    for (int k = 0; k < PANELS; k++) {
        if (!n[k])
            continue;
        struct plot p = {jm_fmt_seconds(t0, origin),
                         jm_fmt_seconds(t1, origin),
                         0,
                         top[k] > 0 ? top[k] * 1.08 : 1,
                         LEFT,
                         y,
                         W - LEFT - RIGHT,
                         tall[k]};
        int lines = 0;
        shade(s, r, &p, origin);
        y_axis(s, &p, k == POWER ? "W" : "");
        for (size_t i = 0; i < r->n_series; i++) {
            const struct jm_series *d = &r->series[i];
            if (strcmp(d->unit, unit[k]) != 0 || (k == POWER && lines >= JM_SVG_SERIES))
                continue;
            if (k == POWER)
                series(s, &p, d, origin, lines);
            else if (k == TOKENS) {
                area(s, &p, d, origin);
                outside |= d->window < 0;
            } else
                stairs(s, &p, d, origin, lines ? 1 : 0, lines > 0);
            lines++;
        }
        x_axis(s, &p);
        jm_str_addf(s, "<text class='cap' x='%g' y='%g'>%s</text>", LEFT, y - 10, cap[k]);
        y += tall[k] + 48;
        if (k == POWER)
            drawn = lines;
    }
    jm_str_addf(s,
                "<text class='cap' x='%g' y='%g' text-anchor='end'>seconds from the start of the first "
                "window</text></svg><ul class='legend'>",
                W - RIGHT, h - 8);
    for (size_t i = 0, k = 0; i < r->n_series && (int)k < drawn; i++)
        if (strcmp(r->series[i].unit, "W") == 0) {
            char class[16];
            snprintf(class, sizeof class, "s%d%s", (int)k % 8, k >= 8 ? " dash" : "");
            legend(s, class, r->series[i].label);
            k++;
        }
    if (n[POWER] > drawn)
        jm_str_addf(s, "<li>and %d more</li>", n[POWER] - drawn);
    if (outside) {
        legend(s, "area", "output tokens in the measured windows");
        legend(s, "area out", "outside them (warm-up, bursts, pauses): in no figure");
    }
    jm_str_adds(s, "</ul>");
}

/* Two panels on one time axis. A stretch without a text is a gap, not a line. */
void jm_svg_engine(const struct jm_report *r, struct jm_str *s)
{
    static const char *const unit[] = {"requests", "share"}, *const title[] = {"requests in the engine",
                                                                               "KV cache in use"};
    int n[2], drawn = 0, panels = 0;
    double top[2] = {top_of(r, unit[0], &n[0]), top_of(r, unit[1], &n[1])};
    int64_t t0 = 0, t1 = 0;
    for (size_t i = 0; i < r->n_series; i++)
        if (strcmp(r->series[i].unit, unit[0]) == 0 || strcmp(r->series[i].unit, unit[1]) == 0) {
            t0 = r->series[i].t0;
            t1 = r->series[i].t1;
        }
    if (t1 <= t0)
        return;
    int64_t origin = origin_of(r, t0);
    panels = (n[0] > 0) + (n[1] > 0);
    double h = panels > 1 ? 350 : 200, y = 24;
    jm_str_addf(
        s,
        "<figure><svg viewBox='0 0 %g %g' role='img' aria-label='Requests running and waiting in the engine, "
        "and the use of its KV cache, over time'>",
        W, h);
    for (int k = 0; k < 2; k++) {
        if (!n[k])
            continue;
        struct plot p = {
            jm_fmt_seconds(t0, origin), jm_fmt_seconds(t1, origin), 0, 1, LEFT, y, W - LEFT - RIGHT, 120};
        p.y1 = k == 0 ? (top[k] > 0 ? top[k] * 1.1 : 1) : top[k] > 0.5 ? 1 : top[k] > 0 ? top[k] * 1.2 : 1;
        shade(s, r, &p, origin);
        y_axis(s, &p, "");
        for (size_t i = 0; i < r->n_series && drawn < JM_SVG_SERIES; i++)
            if (strcmp(r->series[i].unit, unit[k]) == 0)
                series(s, &p, &r->series[i], origin, drawn++);
        x_axis(s, &p);
        jm_str_addf(s, "<text class='cap' x='%g' y='%g'>%s</text>", LEFT, y - 10, title[k]);
        y += 172;
    }
    jm_str_addf(s, "</svg></figure><ul class='legend'>");
    drawn = 0;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < r->n_series && drawn < JM_SVG_SERIES; i++)
            if (strcmp(r->series[i].unit, unit[k]) == 0) {
                jm_str_addf(s, "<li><span class='key s%d%s'></span>", drawn % 8, drawn >= 8 ? " dash" : "");
                jm_svg_escape(s, r->series[i].label);
                jm_str_adds(s, "</li>");
                drawn++;
            }
    jm_str_adds(s, "</ul>");
}

void jm_svg_energy(const struct jm_report *r, struct jm_str *s)
{
    const struct jm_energy_row *row[24];
    size_t n = 0;
    double max = 0;
    int window = -1;
    for (size_t i = 0; i < r->n_windows && window < 0; i++)
        if (r->windows[i].role == JM_R_MEASURE)
            window = (int)i;
    for (size_t i = 0; i < r->n_energy && n < 24; i++)
        if (r->energy[i].window == window && r->energy[i].counted && isfinite(r->energy[i].joules)) {
            row[n++] = &r->energy[i];
            max = fmax(max, r->energy[i].joules);
        }
    if (!n || !(max > 0))
        return;
    double h = 8 + 26 * (double)n;
    jm_str_addf(
        s,
        "<svg viewBox='0 0 %g %g' role='img' aria-label='Energy by domain; the table below has the numbers'>",
        W, h);
    for (size_t i = 0; i < n; i++) {
        char v[JM_FMT];
        double y = 4 + 26 * (double)i, w = row[i]->joules / max * (W - 400);
        jm_str_addf(s, "<text class='lab' x='230' y='%.1f' text-anchor='end'>", y + 15);
        char title[JM_DOMAIN_TITLE];
        jm_svg_escape(s, row[i]->domain >= 0 ? jm_domain_title(&r->tree->d[row[i]->domain], title)
                                             : r->channels[row[i]->channel].device);
        jm_str_addf(s,
                    "</text><rect class='bar s%zu' x='240' y='%.1f' width='%.1f' height='18' rx='2'/><text "
                    "class='val' x='%.1f' "
                    "y='%.1f'>%s</text>",
                    i % 8, y, w > 1 ? w : 1, 248 + w, y + 14, jm_fmt_value(v, row[i]->joules, "J"));
    }
    jm_str_adds(s, "</svg>");
}

/* p50 and p99, with their labels beside each other: left or right of the line, one lower where both want the
 * same place. */
static void marks(const struct jm_report *r, const struct jm_histogram *h, const struct plot *p, double lo,
                  double hi, struct jm_str *s)
{
    static const double q[] = {0.5, 0.99};
    static const char *const name[] = {"p50", "p99"};
    enum { LABEL = 105 }; /* its width */
    double at[2], from[2];
    int n = 0;
    char v[JM_FMT];
    for (int i = 0; i < 2; i++) {
        const struct jm_result *x = jm_fmt_find(r, h->metric, JM_B_NONE, q[i]);
        if (!x || !x->q.have || !(x->q.value > 0))
            continue;
        at[n] = px(p, fmin(fmax(log10(x->q.value), lo), hi));
        bool left = i == 0 ? at[n] > LABEL + 5 : at[n] > p->px + p->pw - LABEL;
        from[n] = left ? at[n] - LABEL : at[n];
        bool low = n > 0 && from[n] < from[n - 1] + LABEL && from[n - 1] < from[n] + LABEL;
        jm_str_addf(s,
                    "<line class='mark' x1='%.1f' x2='%.1f' y1='%g' y2='%g'/><text class='tick' x='%.1f' "
                    "y='%d' text-anchor='%s'>%s %s</text>",
                    at[n], at[n], p->py - 4, p->py + p->ph, at[n] + (left ? -4 : 4), low ? 30 : 14,
                    left ? "end" : "start", name[i], jm_fmt_value(v, x->q.value, "s"));
        n++;
    }
}

void jm_svg_histogram(const struct jm_report *r, const struct jm_histogram *h, struct jm_str *s)
{
    uint64_t max = 0;
    char v[JM_FMT];
    if (!h->n || !(h->edge[0] > 0))
        return;
    for (size_t i = 0; i < h->n; i++)
        max = h->count[i] > max ? h->count[i] : max;
    double lo = log10(h->edge[0]), hi = log10(h->edge[h->n]);
    if (!(hi > lo))
        hi = lo + 1e-3;
    struct plot p = {lo, hi, 0, max ? (double)max : 1, 12, 22, 476, 120};
    jm_str_addf(s, "<svg viewBox='0 0 500 176' role='img' aria-label='Distribution of %s'>", h->metric);
    for (size_t i = 0; i < h->n; i++)
        if (h->count[i]) {
            double a = px(&p, log10(h->edge[i])), b = px(&p, log10(h->edge[i + 1])),
                   y = py(&p, (double)h->count[i]);
            jm_str_addf(s, "<rect class='bar s0' x='%.1f' y='%.1f' width='%.1f' height='%.1f'/>", a, y,
                        b - a > 1 ? b - a - .5 : 1, p.py + p.ph - y);
        }
    jm_str_addf(s, "<line class='axis' x1='%g' x2='%g' y1='%g' y2='%g'/>", p.px, p.px + p.pw, p.py + p.ph,
                p.py + p.ph);
    static const double ticks[] = {1, 2, 5};
    double prev = -1e9;
    int drawn = 0;
    for (int e = (int)floor(lo); e <= (int)ceil(hi); e++)
        for (int k = 0; k < 3; k++) {
            double t = log10(ticks[k]) + e;
            if (t < lo || t > hi || px(&p, t) - prev < 56)
                continue;
            prev = px(&p, t);
            drawn++;
            jm_str_addf(s, "<text class='tick' x='%.1f' y='%.1f' text-anchor='middle'>%s</text>", prev,
                        p.py + p.ph + 16, jm_fmt_tick(v, pow(10, t), "s"));
        }
    for (int k = 0; drawn < 2 && k < 2; k++) /* no two round values in it: its ends */
        jm_str_addf(s, "<text class='tick' x='%.1f' y='%.1f' text-anchor='%s'>%s</text>",
                    k ? p.px + p.pw : p.px, p.py + p.ph + 16, k ? "end" : "start",
                    jm_fmt_value(v, h->edge[k ? h->n : 0], "s"));
    marks(r, h, &p, lo, hi, s);
    jm_str_adds(s, "</svg>");
}
