/* SPDX-License-Identifier: Apache-2.0 */
#include "show/pictures_canvas.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/svg.h"

#include "base/banned.h"

#define TITLE 18.0
#define SMALL 13.0
#define LINE  18.0

void jm_pic_init(struct jm_pic *p, const char *id)
{
    *p = (struct jm_pic){.id = id};
    jm_str_init(&p->body);
    jm_str_init(&p->title);
    jm_str_init(&p->facts);
    jm_str_init(&p->desc);
    jm_str_init(&p->why);
}

void jm_pic_release(struct jm_pic *p)
{
    jm_str_release(&p->body);
    jm_str_release(&p->title);
    jm_str_release(&p->facts);
    jm_str_release(&p->desc);
    jm_str_release(&p->why);
}

void jm_pic_none(struct jm_pic *p, const char *fmt, ...)
{
    va_list ap;
    if (p->why.len)
        return;
    va_start(ap, fmt);
    jm_str_addv(&p->why, fmt, ap);
    va_end(ap);
}

void jm_pic_fact(struct jm_pic *p, const char *fmt, ...)
{
    va_list ap;
    if (p->facts.len)
        jm_str_adds(&p->facts, " · ");
    va_start(ap, fmt);
    jm_str_addv(&p->facts, fmt, ap);
    va_end(ap);
}

void jm_pic_provenance(struct jm_pic *p, const struct jm_report *r, enum jm_provenance worst)
{
    if (worst == JM_P_SIMULATED || r->simulated)
        p->mark = "SIMULATED";
    else if (worst == JM_P_ESTIMATED && !p->mark)
        p->mark = "ESTIMATE";
    jm_pic_fact(p, "%s", jm_provenance_name((int)worst));
}

/* --- text ----------------------------------------------------------------------------------------------- */

/* Advance widths of DejaVu Sans in units of its size, for the characters from a blank to ~. */
static const unsigned char advance[95] = {
    32, 40, 46, 84, 64, 95, 78, 27, 39,  39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79,
    60, 79, 69, 63, 61, 73, 68, 99, 69,  61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63,
    63, 28, 28, 58, 28, 97, 63, 61, 63,  63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84};

static double one_width(struct jm_span c)
{
    unsigned char a = (unsigned char)c.p[0];
    if (c.n == 1)
        return a >= 0x20 && a < 0x7f ? advance[a - 0x20] / 100.0 : 1;
    return a < 0xe1 || (a == 0xe2 && (unsigned char)c.p[1] < 0x84) ? 0.7 : 1.05;
}

double jm_pic_width(const char *text, double size)
{
    struct jm_span c;
    double w = 0;
    while (text && (text = jm_fmt_next(text, &c)))
        w += one_width(c);
    return w * size;
}

static void cut(struct jm_str *s, const char *text, double size, double most)
{
    struct jm_span c;
    struct jm_str t;
    if (!(most > 0) || jm_pic_width(text, size) <= most) {
        jm_svg_escape(s, text);
        return;
    }
    jm_str_init(&t);
    double w = size; /* of the ellipsis */
    while ((text = jm_fmt_next(text, &c)) && (w += one_width(c) * size) <= most)
        jm_str_addspan(&t, c);
    jm_str_adds(&t, "…");
    jm_svg_escape(s, t.buf);
    s->failed |= t.failed;
    jm_str_release(&t);
}

void jm_pic_text(struct jm_pic *p, double x, double y, const char *class, const char *anchor, double most,
                 const char *text)
{
    jm_str_addf(&p->body, "<text class='%s' x='%.1f' y='%.1f'", class, x, y);
    if (strcmp(anchor, "start") != 0)
        jm_str_addf(&p->body, " text-anchor='%s'", anchor);
    jm_str_addc(&p->body, '>');
    cut(&p->body, text ? text : "", SMALL, most);
    jm_str_adds(&p->body, "</text>");
}

/* Word by word; a word that is wider than a line is cut between characters. */
static void wrapped(struct jm_pic *p, const char *class, double x, double most, double line, const char *text)
{
    struct jm_str s;
    struct jm_span c;
    double w = 0;
    size_t blank = 0; /* where the last blank of the line is; 0: none */
    jm_str_init(&s);
    for (const char *t = text; (t = jm_fmt_next(t, &c));) {
        double cw = one_width(c) * SMALL;
        if (w + cw > most && s.len) {
            char rest[600] = "";
            if (blank) {
                snprintf(rest, sizeof rest, "%s", s.buf + blank + 1);
                s.buf[s.len = blank] = '\0';
            }
            jm_pic_text(p, x, p->y, class, "start", 0, s.buf);
            p->y += line;
            jm_str_reset(&s);
            jm_str_adds(&s, rest);
            w = jm_pic_width(rest, SMALL);
            blank = 0;
            if (!s.len && *c.p == ' ')
                continue;
        }
        if (c.n == 1 && *c.p == ' ' && s.len)
            blank = s.len;
        jm_str_addspan(&s, c);
        w += cw;
    }
    if (s.len) {
        jm_pic_text(p, x, p->y, class, "start", 0, s.buf);
        p->y += line;
    }
    p->body.failed |= s.failed;
    jm_str_release(&s);
}

void jm_pic_begin(struct jm_pic *p)
{
    double right = JM_PIC_W - JM_PIC_EDGE;
    if (p->mark) { /* beside the title, so that a narrow screen shows it too */
        double w = jm_pic_width(p->mark, 12) + 18,
               x = fmin(JM_PIC_EDGE + 1.12 * jm_pic_width(p->title.buf, TITLE) + 16, right - w);
        jm_str_addf(&p->body,
                    "<rect class='mk' x='%.1f' y='17' width='%.1f' height='21' rx='4'/><text class='mt' "
                    "x='%.1f' y='32' text-anchor='middle'>%s</text>",
                    x, w, x + w / 2, p->mark);
        right = x - 12;
    }
    jm_str_addf(&p->body, "<text class='t1' x='%.1f' y='35'>", JM_PIC_EDGE);
    cut(&p->body, p->title.buf, TITLE, right - JM_PIC_EDGE);
    jm_str_adds(&p->body, "</text>");
    p->y = 59;
    if (p->facts.len)
        wrapped(p, "nt", JM_PIC_EDGE, JM_PIC_W - 2 * JM_PIC_EDGE, LINE, p->facts.buf);
    p->y += 6;
}

void jm_pic_note(struct jm_pic *p, const char *fmt, ...)
{
    struct jm_str t;
    va_list ap;
    jm_str_init(&t);
    va_start(ap, fmt);
    jm_str_addv(&t, fmt, ap);
    va_end(ap);
    wrapped(p, "nt", JM_PIC_EDGE, JM_PIC_W - 2 * JM_PIC_EDGE, LINE, t.buf);
    p->body.failed |= t.failed;
    jm_str_release(&t);
}

/* --- shapes --------------------------------------------------------------------------------------------- */

void jm_pic_line(struct jm_pic *p, const char *class, double x1, double y1, double x2, double y2)
{
    jm_str_addf(&p->body, "<line class='%s' x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f'/>", class, x1, y1, x2,
                y2);
}

void jm_pic_rect(struct jm_pic *p, const char *class, double x, double y, double w, double h, const char *tip)
{
    jm_str_addf(&p->body, "<rect class='%s' x='%.2f' y='%.2f' width='%.2f' height='%.2f'", class, x, y,
                w > 0 ? w : 0, h > 0 ? h : 0);
    if (tip) {
        jm_str_adds(&p->body, "><title>");
        jm_svg_escape(&p->body, tip);
        jm_str_adds(&p->body, "</title></rect>");
    } else {
        jm_str_adds(&p->body, "/>");
    }
}

void jm_pic_whisker(struct jm_pic *p, double at, double lo, double hi, bool upright)
{
    enum { CAP = 5 };
    /* a light edge below, so that it shows on a dark bar too */
    for (int top = 0; top < 2; top++) {
        const char *class = top ? "wh" : "wo";
        if (upright)
            jm_str_addf(&p->body, "<path class='%s' d='M%.1f %.1fh%dM%.1f %.1fV%.1fM%.1f %.1fh%d'/>", class,
                        at - CAP, lo, 2 * CAP, at, lo, hi, at - CAP, hi, 2 * CAP);
        else
            jm_str_addf(&p->body, "<path class='%s' d='M%.1f %.1fv%dM%.1f %.1fH%.1fM%.1f %.1fv%d'/>", class,
                        lo, at - CAP, 2 * CAP, lo, at, hi, hi, at - CAP, 2 * CAP);
    }
}

void jm_pic_key(struct jm_pic *p, const char *class, const char *shape, double *x, const char *text)
{
    double w = jm_pic_width(text, SMALL);
    if (*x > JM_PIC_EDGE && *x + 26 + w > JM_PIC_W - JM_PIC_EDGE) {
        *x = JM_PIC_EDGE;
        p->y += 20;
    }
    if (strcmp(shape, "line") == 0)
        jm_pic_line(p, class, *x, p->y - 4.5, *x + 18, p->y - 4.5);
    else if (strcmp(shape, "dot") == 0)
        jm_str_addf(&p->body, "<circle class='%s' cx='%.1f' cy='%.1f' r='6'/>", class, *x + 9, p->y - 4.5);
    else
        jm_pic_rect(p, class, *x + 1, p->y - 11, 16, 13, NULL);
    jm_pic_text(p, *x + 25, p->y, "nt", "start", JM_PIC_W - 2 * JM_PIC_EDGE - 26, text);
    *x += 25 + w + 22;
}

/* --- axes ----------------------------------------------------------------------------------------------- */

struct jm_scale jm_pic_scale(double max, const char *unit)
{
    static const struct {
        double f;
        const char *prefix;
    } up[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}, down[] = {{1, ""}, {1e-3, "m"}, {1e-6, "µ"}};
    struct jm_scale s = {.f = 1};
    const char *prefix = "";
    bool energy = strcmp(unit, "J") == 0 || strcmp(unit, "W") == 0, mass = strncmp(unit, "gCO2", 4) == 0,
         time = strcmp(unit, "s") == 0;
    max = fabs(max);
    if (energy || mass)
        for (int i = mass ? 2 : 0; i < 3 && !*prefix; i++)
            if (max >= up[i].f) {
                s.f = up[i].f;
                prefix = up[i].prefix;
            }
    if ((energy || mass || time) && !*prefix && max > 0 && max < 1)
        for (int i = 1; i < 3; i++)
            if (max >= down[i].f || i == 2) {
                s.f = down[i].f;
                prefix = down[i].prefix;
                break;
            }
    snprintf(s.unit, sizeof s.unit, "%s%s", prefix, unit);
    return s;
}

void jm_axis_fit(struct jm_axis *a, double lo, double hi, bool zero, int ticks, const char *unit)
{
    if (!(hi >= lo) || !isfinite(hi - lo))
        lo = 0, hi = 1;
    if (zero) {
        lo = fmin(lo, 0);
        hi = fmax(hi, 0);
    }
    if (hi - lo <= 1e-9 * fmax(fabs(hi), fabs(lo))) { /* one value: it stands in the middle */
        double by = zero ? fabs(hi) : 0.05 * fabs(hi);
        by = by > 0 ? by : 1;
        hi += by;
        lo -= zero ? 0 : by;
    }
    a->log = false;
    a->step = jm_svg_step(hi - lo, ticks);
    a->lo = floor(lo / a->step + 1e-9) * a->step;
    a->hi = ceil(hi / a->step - 1e-9) * a->step;
    a->scale = jm_pic_scale(fmax(fabs(a->lo), fabs(a->hi)), unit);
}

/* The largest of 1, 2 and 5 times a power of ten that is not above v; up: the smallest not below. */
static double round_of(double v, bool up)
{
    static const double m[] = {1, 2, 5, 10};
    double e = pow(10, floor(log10(v))), best = up ? 10 * e : e;
    for (int i = 0; i < 4; i++)
        if (up ? m[i] * e >= v * (1 - 1e-9) : m[i] * e <= v * (1 + 1e-9)) {
            best = m[i] * e;
            if (up)
                break;
        }
    return best;
}

void jm_axis_fit_log(struct jm_axis *a, double lo, double hi, const char *unit)
{
    a->log = true;
    a->step = 0;
    a->lo = round_of(lo, false);
    a->hi = round_of(hi, true);
    if (a->hi <= a->lo) {
        a->lo = round_of(a->lo * 0.6, false);
        a->hi = round_of(a->hi * 1.6, true);
    }
    a->scale = jm_pic_scale(a->hi, unit);
}

double jm_axis_at(const struct jm_axis *a, double v)
{
    double t = a->log ? log(v / a->lo) / log(a->hi / a->lo) : (v - a->lo) / (a->hi - a->lo);
    return a->from + t * (a->to - a->from);
}

/* The tick behind v, NAN at the end; start with NAN. */
static double next_tick(const struct jm_axis *a, double v)
{
    if (!a->log) {
        double k = isnan(v) ? round(a->lo / a->step) : round(v / a->step) + 1, t = k * a->step;
        return t <= a->hi + a->step * 1e-6 ? t : NAN;
    }
    double t = isnan(v) ? a->lo : round_of(v * 1.01, true);
    return t <= a->hi * (1 + 1e-9) ? t : NAN;
}

/* As many decimals as the step needs, the same for all ticks of an axis. */
static const char *tick(char b[JM_FMT], const struct jm_axis *a, double v)
{
    v /= a->scale.f;
    double step = a->step / a->scale.f;
    int digits = a->log || !(step > 0) ? -1 : (int)fmax(0, -floor(log10(step) + 1e-9));
    if (fabs(v) >= 10000 && fabs(v) < 1e15)
        return jm_fmt_count(b, llround(v));
    if (digits < 0 || digits > 6)
        snprintf(b, JM_FMT, "%.6g", v);
    else
        snprintf(b, JM_FMT, "%.*f", digits, v == 0 ? 0 : v);
    return b;
}

static void axis_title(char t[200], const struct jm_axis *a, const char *title)
{
    snprintf(t, 200, "%s%s%s%s", title, a->scale.unit[0] ? ", " : "", a->scale.unit,
             a->log ? ", logarithmic" : "");
}

void jm_pic_axis_y(struct jm_pic *p, const struct jm_axis *a, double x0, double x1, const char *title)
{
    char b[JM_FMT];
    for (double v = NAN; !isnan(v = next_tick(a, v));) {
        double y = jm_axis_at(a, v);
        jm_pic_line(p, v == 0 || (v == a->lo && !a->log) ? "ax" : "gr", x0, y, x1, y);
        jm_pic_text(p, x0 - 8, y + 4.5, "tk", "end", 0, tick(b, a, v));
    }
    if (title) {
        char t[200];
        axis_title(t, a, title);
        jm_pic_text(p, JM_PIC_EDGE < x0 - 60 ? x0 - 60 : JM_PIC_EDGE, fmin(a->from, a->to) - 14, "nt",
                    "start", x1 - x0 + 60, t);
    }
}

void jm_pic_axis_x(struct jm_pic *p, const struct jm_axis *a, double y0, double y1, const char *title)
{
    char b[JM_FMT];
    double last = -1e9;
    for (double v = NAN; !isnan(v = next_tick(a, v));) {
        double x = jm_axis_at(a, v), half = jm_pic_width(tick(b, a, v), SMALL) / 2;
        jm_pic_line(p, "gr", x, y0, x, y1 + 5);
        if (x - half < last + 8)
            continue;
        jm_pic_text(p, x, y1 + 20, "tk", "middle", 0, b);
        last = x + half;
    }
    jm_pic_line(p, "ax", fmin(a->from, a->to), y1, fmax(a->from, a->to), y1);
    if (title) {
        char t[200];
        axis_title(t, a, title);
        jm_pic_text(p, (a->from + a->to) / 2, y1 + 40, "nt", "middle", fabs(a->to - a->from) + 60, t);
    }
}

/* --- the whole -------------------------------------------------------------------------------------------
 */

void jm_pic_finish(struct jm_pic *p, bool file, enum jm_theme theme, struct jm_str *out)
{
    double h = ceil(p->y + JM_PIC_EDGE - 12);
    jm_str_addf(out, "<svg class='pic' id='pic-%s' ", p->id);
    if (file)
        jm_str_addf(out, "xmlns='http://www.w3.org/2000/svg' width='%g' height='%g' ", JM_PIC_W, h);
    jm_str_addf(out,
                "viewBox='0 0 %g %g' role='img' aria-labelledby='pic-%s-t pic-%s-d'><title id='pic-%s-t'>",
                JM_PIC_W, h, p->id, p->id, p->id);
    jm_svg_escape(out, p->title.buf);
    if (p->mark)
        jm_str_addf(out, " (%s)", p->mark);
    jm_str_addf(out, "</title><desc id='pic-%s-d'>", p->id);
    jm_svg_escape(out, p->desc.buf);
    if (p->facts.len) {
        jm_str_adds(out, p->desc.len ? " " : "");
        jm_svg_escape(out, p->facts.buf);
        jm_str_addc(out, '.');
    }
    jm_str_adds(out, "</desc>");
    if (file) {
        jm_str_adds(out, "<style>");
        jm_pic_style(out, "", theme);
        jm_str_adds(out, "</style>");
    }
    jm_str_addf(out, "<rect class='bg' width='%g' height='%g'/>", JM_PIC_W, h);
    jm_str_addspan(out, jm_str_span(&p->body));
    jm_str_adds(out, "</svg>");
    out->failed |= p->body.failed || p->title.failed || p->facts.failed || p->desc.failed;
    if (file)
        jm_str_addc(out, '\n');
}
