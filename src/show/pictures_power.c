/* SPDX-License-Identifier: Apache-2.0 */
/* Power over time. Each column of pixels holds the least and the most of its readings, so that an hour at
 * 10 Hz hides no peak and needs no more room than a minute; a stretch without readings is a gap. Many devices
 * of one kind are one band, from the least to the most of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/pictures.h"
#include "show/svg.h"

#include "base/banned.h"

#define LINES   8
#define ALIKE   3 /* devices of a kind that are drawn one by one */
#define COLUMNS 800
#define WINDOWS 60 /* shaded at most */

struct trace {
    const struct jm_series *d; /* the first of them */
    enum jm_domain_kind kind;
    size_t members;
    double min[COLUMNS], max[COLUMNS];
    char label[200];
};

struct lines {
    const struct jm_report *r;
    struct trace v[LINES];
    size_t n, more;
    double top;
    int64_t t0, t1, origin;
    size_t gaps;
    double longest;
    enum jm_provenance worst;
};

static double seconds(const struct lines *l, int64_t t)
{
    return jm_fmt_seconds(t, l->origin);
}

static enum jm_domain_kind kind_of(const struct jm_report *r, const struct jm_series *d)
{
    int domain = d->channel >= 0 && (size_t)d->channel < r->n_channels ? r->channels[d->channel].domain : -1;
    return domain >= 0 ? r->tree->d[domain].kind : JM_D_COUNT;
}

static bool usable(const struct jm_series *d)
{
    return strcmp(d->unit, "W") == 0 && d->n && d->t1 > d->t0;
}

static size_t alike(const struct jm_report *r, enum jm_domain_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_series; i++)
        n += usable(&r->series[i]) && kind_of(r, &r->series[i]) == kind;
    return n;
}

/* Series of a report share their columns; more of them than COLUMNS are put together. */
static void take(struct trace *t, const struct jm_series *d)
{
    for (size_t k = 0; k < d->n; k++) {
        size_t at = d->n > COLUMNS ? k * COLUMNS / d->n : k;
        if (isnan(d->max[k]))
            continue;
        t->min[at] = isnan(t->min[at]) ? d->min[k] : fmin(t->min[at], d->min[k]);
        t->max[at] = isnan(t->max[at]) ? d->max[k] : fmax(t->max[at], d->max[k]);
    }
    t->members++;
}

static size_t columns(const struct trace *t)
{
    return t->d->n < COLUMNS ? t->d->n : COLUMNS;
}

static struct trace *trace_for(struct lines *l, const struct jm_series *d)
{
    enum jm_domain_kind kind = kind_of(l->r, d);
    bool band = kind != JM_D_COUNT && alike(l->r, kind) > ALIKE;
    for (size_t i = 0; band && i < l->n; i++)
        if (l->v[i].kind == kind && l->v[i].d->n == d->n)
            return &l->v[i];
    if (l->n == LINES) {
        l->more++;
        return NULL;
    }
    struct trace *t = &l->v[l->n++];
    *t = (struct trace){.d = d, .kind = band ? kind : JM_D_COUNT};
    for (size_t k = 0; k < COLUMNS; k++)
        t->min[k] = t->max[k] = NAN;
    return t;
}

static void collect(const struct jm_report *r, struct lines *l)
{
    *l = (struct lines){.r = r, .t0 = INT64_MAX, .t1 = INT64_MIN};
    for (size_t i = 0; i < r->n_series; i++) {
        const struct jm_series *d = &r->series[i];
        struct trace *t = usable(d) ? trace_for(l, d) : NULL;
        if (!t)
            continue;
        take(t, d);
        if (d->channel >= 0 && (size_t)d->channel < r->n_channels)
            l->worst = jm_provenance_worse(l->worst, r->channels[d->channel].provenance);
        l->t0 = d->t0 < l->t0 ? d->t0 : l->t0;
        l->t1 = d->t1 > l->t1 ? d->t1 : l->t1;
        for (size_t k = 0; k < d->n; k++)
            if (d->max[k] > l->top)
                l->top = d->max[k];
    }
    for (size_t i = 0; i < l->n; i++) {
        struct trace *t = &l->v[i];
        if (t->members > 1)
            snprintf(t->label, sizeof t->label, "%zu × %s, the least to the most of them", t->members,
                     jm_domain_kind_name((int)t->kind));
        else
            snprintf(t->label, sizeof t->label, "%.190s", t->d->label);
    }
    l->origin = l->t0;
    for (size_t i = r->n_windows; i-- > 0;)
        if (r->windows[i].role == JM_R_MEASURE)
            l->origin = r->windows[i].t0;
}

static void windows(struct jm_pic *p, const struct lines *l, const struct jm_axis *x, double y0, double y1)
{
    double last = -1e9;
    size_t drawn = 0;
    for (size_t i = 0; i < l->r->n_windows && drawn < WINDOWS; i++) {
        const struct jm_window *w = &l->r->windows[i];
        double a = fmax(seconds(l, w->t0), x->lo), b = fmin(seconds(l, w->t1), x->hi);
        if (b <= a || w->t1 <= w->t0)
            continue;
        drawn++;
        char tip[200];
        snprintf(tip, sizeof tip, "%s: %.100s", jm_role_name((int)w->role), w->name);
        double pa = jm_axis_at(x, a), pb = jm_axis_at(x, b);
        jm_pic_rect(p, w->role == JM_R_MEASURE ? "win" : "idle", pa, y0, pb - pa, y1 - y0, tip);
        jm_pic_line(p, "edge", pa, y0, pa, y1);
        jm_pic_line(p, "edge", pb, y0, pb, y1);
        const char *label = w->name[0] ? w->name : jm_role_name((int)w->role);
        if (pb - pa > 34 && pa > last) {
            jm_pic_text(p, pa + 4, y0 - 6, "nt", "start", pb - pa - 6, label);
            last = pa + 4;
        }
    }
}

/* A run of columns that hang together: [*i, end). Empty columns inside the reach of a slow instrument are no
 * gap. */
static bool stretch(const struct trace *t, size_t *i, size_t *end)
{
    size_t n = columns(t), reach = n / 60 + 1, last;
    while (*i < n && isnan(t->max[*i]))
        ++*i;
    if (*i == n)
        return false;
    last = *i;
    for (size_t k = *i + 1; k < n && k - last <= reach; k++)
        if (!isnan(t->max[k]))
            last = k;
    *end = last + 1;
    return true;
}

static double column_at(const struct lines *l, const struct trace *t, const struct jm_axis *x, size_t i)
{
    double each = jm_fmt_seconds(t->d->t1, t->d->t0) / (double)columns(t);
    return jm_axis_at(x, seconds(l, t->d->t0) + each * ((double)i + .5));
}

static void draw_line(struct jm_pic *p, const struct lines *l, const struct trace *t, const struct jm_axis *x,
                      const struct jm_axis *y, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++) {
        if (isnan(t->max[i]))
            continue;
        double lo = jm_axis_at(y, t->min[i]), hi = jm_axis_at(y, t->max[i]);
        jm_str_addf(&p->body, "%c%.1f %.1f", i == from ? 'M' : 'L', column_at(l, t, x, i), lo);
        if (lo - hi > 0.5)
            jm_str_addf(&p->body, "V%.1f", hi);
        else if (end == from + 1)
            jm_str_adds(&p->body, "h.5"); /* a reading alone is still seen */
    }
}

static void draw_band(struct jm_pic *p, const struct lines *l, const struct trace *t, const struct jm_axis *x,
                      const struct jm_axis *y, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++)
        if (!isnan(t->max[i]))
            jm_str_addf(&p->body, "%c%.1f %.1f", i == from ? 'M' : 'L', column_at(l, t, x, i),
                        jm_axis_at(y, t->max[i]));
    for (size_t i = end; i-- > from;)
        if (!isnan(t->max[i]))
            jm_str_addf(&p->body, "L%.1f %.1f", column_at(l, t, x, i), jm_axis_at(y, t->min[i]));
    jm_str_adds(&p->body, "Z");
}

static void draw(struct jm_pic *p, struct lines *l, size_t which, const struct jm_axis *x,
                 const struct jm_axis *y)
{
    const struct trace *t = &l->v[which];
    size_t i = 0, end = 0, before = 0;
    double each = jm_fmt_seconds(t->d->t1, t->d->t0) / (double)columns(t);
    bool band = t->members > 1;
    jm_str_addf(&p->body, "<path class='%c%zu' d='", band ? 'f' : 's', which);
    for (; stretch(t, &i, &end); i = before = end) {
        if (before) {
            l->gaps++;
            l->longest = fmax(l->longest, each * (double)(i - before));
        }
        if (band)
            draw_band(p, l, t, x, y, i, end);
        else
            draw_line(p, l, t, x, y, i, end);
    }
    jm_str_adds(&p->body, "'/>");
}

static void time_axis(struct jm_pic *p, const struct jm_axis *x, double y)
{
    double length = x->hi - x->lo,
           f = length > 7200  ? 3600
               : length > 300 ? 60
                              : 1,
           step = jm_svg_step(length / f, 8) * f;
    char b[JM_FMT];
    for (double t = ceil(x->lo / step) * step; t <= x->hi + step * 1e-9; t += step) {
        double at = jm_axis_at(x, t);
        jm_pic_line(p, "ax", at, y, at, y + 5);
        snprintf(b, sizeof b, "%s%g", t < -step / 2 ? "−" : "", fabs(t) < step / 2 ? 0 : fabs(t) / f);
        jm_pic_text(p, at, y + 20, "tk", "middle", 0, b);
    }
    jm_pic_line(p, "ax", x->from, y, x->to, y);
    snprintf(b, sizeof b, "%s from the start of the first measured window",
             f > 60  ? "hours"
             : f > 1 ? "minutes"
                     : "seconds");
    jm_pic_text(p, (x->from + x->to) / 2, y + 40, "nt", "middle", 0, b);
}

void jm_picture_power(const struct jm_picture_of *of, struct jm_pic *p)
{
    struct lines l;
    char b[JM_FMT];
    collect(of->report[0], &l);
    if (!l.n) {
        jm_pic_none(p, "no instrument of the run has power over time");
        return;
    }
    jm_str_adds(&p->title, "Power over time");
    jm_pic_fact(p, "each line one instrument, not added up");
    jm_pic_provenance(p, l.r, l.worst);
    jm_pic_begin(p);
    struct jm_axis x = {.lo = seconds(&l, l.t0),
                        .hi = seconds(&l, l.t1),
                        .from = 84,
                        .to = JM_PIC_W - JM_PIC_EDGE},
                   y = {.to = p->y + 42, .from = p->y + 322};
    jm_axis_fit(&y, 0, l.top, true, 5, "W");
    jm_pic_axis_y(p, &y, x.from, x.to, NULL);
    snprintf(b, sizeof b, "power, %s", y.scale.unit);
    jm_pic_text(p, JM_PIC_EDGE, y.to - 28, "nt", "start", 0, b);
    windows(p, &l, &x, y.to, y.from);
    time_axis(p, &x, y.from);
    for (size_t i = l.n; i-- > 0;)
        draw(p, &l, i, &x, &y);
    p->y = y.from + 70;
    double kx = JM_PIC_EDGE;
    for (size_t i = 0; i < l.n; i++) {
        char class[16];
        snprintf(class, sizeof class, l.v[i].members > 1 ? "f%zu" : "s%zu wide", i);
        jm_pic_key(p, class, l.v[i].members > 1 ? "box" : "line", &kx, l.v[i].label);
        jm_str_addf(&p->desc, "%s%s", i ? ", " : "Power of ", l.v[i].label);
    }
    p->y += 22;
    jm_str_addf(&p->desc, " over %s", jm_fmt_duration(b, x.hi - x.lo));
    jm_str_addf(&p->desc, ", at most %s.", jm_fmt_value(b, l.top, "W"));
    jm_pic_note(p, "Each column of the picture shows the least and the most of its readings.%s",
                l.r->n_windows ? " Shaded: the windows." : "");
    if (l.gaps)
        jm_pic_note(p, "%zu gap%s without readings, %s the longest: nothing is drawn there.", l.gaps,
                    l.gaps == 1 ? "" : "s", jm_fmt_duration(b, l.longest));
    if (l.more)
        jm_pic_note(p, "%zu more instrument%s not drawn.", l.more, l.more == 1 ? " is" : "s are");
}
