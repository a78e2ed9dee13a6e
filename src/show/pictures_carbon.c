/* SPDX-License-Identifier: Apache-2.0 */
/* The carbon intensity of the grid by the hour, and under it what the run emitted in each. An hour without a
 * factor is a hole, not 0. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "show/pictures.h"

#include "base/banned.h"

#define HOUR  (3600 * INT64_C(1000000000))
#define ZONES 4

struct grid {
    const struct jm_report *r;
    int zone[ZONES]; /* of report->factors */
    size_t n, more;
    int64_t first, last; /* hours */
    double top, most;    /* g/kWh, g */
    size_t holes;
    bool estimated, even;
    char unit[24]; /* "gCO2e" */
};

static int64_t hour(const struct jm_hour *h)
{
    return h->t0 / HOUR;
}

static int zone_of(const struct grid *g, int factor)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->zone[i] == factor)
            return (int)i;
    return -1;
}

static void collect(const struct jm_report *r, struct grid *g)
{
    *g = (struct grid){.r = r, .first = INT64_MAX, .last = INT64_MIN};
    for (size_t i = 0; i < r->n_hours; i++) {
        const struct jm_hour *h = &r->hours[i];
        if (zone_of(g, h->factor) < 0) {
            if (g->n == ZONES) {
                g->more += i == 0 || r->hours[i - 1].factor != h->factor;
                continue;
            }
            g->zone[g->n++] = h->factor;
        }
        g->first = hour(h) < g->first ? hour(h) : g->first;
        g->last = hour(h) > g->last ? hour(h) : g->last;
        g->holes += !isfinite(h->value);
        g->estimated |= h->estimated;
        g->even |= h->even;
        if (isfinite(h->value))
            g->top = fmax(g->top, h->value);
        if (isfinite(h->grams))
            g->most = fmax(g->most, h->grams);
    }
}

/* As the factors have it: gCO2 and gCO2e are not the same; where they differ the wider word stands. */
static void unit_of(struct grid *g)
{
    for (size_t i = 0; i < g->n; i++) {
        const char *u = g->r->factors[g->zone[i]].unit;
        char one[sizeof g->unit];
        snprintf(one, sizeof one, "%.*s", (int)strcspn(u, "/"), u);
        snprintf(g->unit, sizeof g->unit, "%s", i == 0 || strcmp(one, g->unit) == 0 ? one : "gCO2e");
    }
}

static double left_of(const struct jm_axis *x, int64_t h)
{
    return jm_axis_at(x, (double)h);
}

static void hours_axis(struct jm_pic *p, const struct grid *g, const struct jm_axis *x, double y)
{
    static const int every[] = {1, 2, 3, 6, 12, 24, 48, 168, 336};
    int64_t n = g->last - g->first + 1;
    int step = 336;
    for (size_t i = 0; i < sizeof every / sizeof *every; i++)
        if (n / every[i] <= 13) {
            step = every[i];
            break;
        }
    char b[JM_RFC3339_SIZE], t[24];
    double said = -1e9;
    int64_t day = -1;
    for (int64_t h = g->first; h <= g->last + 1; h++) {
        if (h % step)
            continue;
        double at = left_of(x, h);
        jm_time_rfc3339(h * HOUR, b);
        jm_pic_line(p, "ax", at, y, at, y + 5);
        snprintf(t, sizeof t, "%.5s", b + 11);
        jm_pic_text(p, at, y + 20, "tk", "middle", 0, t);
        if (h / 24 != day && at > said + 84) {
            snprintf(t, sizeof t, "%.10s", b);
            jm_pic_text(p, at, y + 37, "tk",
                        at > x->to - 40     ? "end"
                        : at < x->from + 40 ? "start"
                                            : "middle",
                        0, t);
            day = h / 24;
            said = at;
        }
    }
    jm_pic_line(p, "ax", x->from, y, x->to, y);
    jm_pic_text(p, x->to, y + 37, "nt", "end", 0, "UTC");
}

static void intensity(struct jm_pic *p, const struct grid *g, const struct jm_axis *x,
                      const struct jm_axis *y)
{
    for (size_t z = g->n; z-- > 0;) {
        int64_t last = INT64_MIN;
        jm_str_addf(&p->body, "<path class='s%zu wide%s' d='", z, z ? " dash" : "");
        for (size_t i = 0; i < g->r->n_hours; i++) {
            const struct jm_hour *h = &g->r->hours[i];
            if (h->factor != g->zone[z] || !isfinite(h->value))
                continue;
            double v = jm_axis_at(y, h->value);
            if (last == hour(h) - 1)
                jm_str_addf(&p->body, "V%.1fH%.1f", v, left_of(x, hour(h) + 1));
            else
                jm_str_addf(&p->body, "M%.1f %.1fH%.1f", left_of(x, hour(h)), v, left_of(x, hour(h) + 1));
            last = hour(h);
        }
        jm_str_adds(&p->body, "'/>");
    }
}

static void emissions(struct jm_pic *p, const struct grid *g, const struct jm_axis *x,
                      const struct jm_axis *y)
{
    double each = left_of(x, g->first + 1) - left_of(x, g->first), pad = each > 8 ? each * 0.12 : 0,
           wide = (each - 2 * pad) / (double)g->n;
    for (size_t i = 0; i < g->r->n_hours; i++) {
        const struct jm_hour *h = &g->r->hours[i];
        char tip[300], class[24], b[JM_FMT], when[JM_RFC3339_SIZE];
        int z = zone_of(g, h->factor);
        if (z < 0)
            continue;
        double at = left_of(x, hour(h)) + pad + wide * z;
        jm_time_rfc3339(h->t0, when);
        if (!isfinite(h->grams)) {
            snprintf(tip, sizeof tip, "%.16sZ %s: %s", when, g->r->factors[h->factor].zone,
                     isfinite(h->value) ? "no energy" : "no factor");
            jm_pic_rect(p, "hole", at, y->to, wide, y->from - y->to, tip);
            if (wide > 70)
                jm_pic_text(p, at + wide / 2, (y->from + y->to) / 2 + 4, "nt", "middle", wide,
                            isfinite(h->value) ? "no energy" : "no factor");
            continue;
        }
        snprintf(tip, sizeof tip, "%.16sZ %s: %s", when, g->r->factors[h->factor].zone,
                 jm_fmt_value(b, h->grams, g->unit));
        snprintf(class, sizeof class, h->estimated ? "o%d" : "f%d", h->estimated ? z % 2 : z);
        double top = jm_axis_at(y, h->grams), zero = jm_axis_at(y, 0);
        jm_pic_rect(p, class, at, fmin(top, zero), fmax(wide - (each > 8 ? 1 : 0), .5), fabs(zero - top),
                    tip);
    }
}

static void keys(struct jm_pic *p, const struct grid *g)
{
    double x = JM_PIC_EDGE;
    for (size_t z = 0; z < g->n; z++) {
        const struct jm_factor *f = &g->r->factors[g->zone[z]];
        double joules = 0, grams = 0;
        size_t hours = 0, known = 0;
        char t[240], class[8], b[JM_FMT];
        for (size_t i = 0; i < g->r->n_hours; i++)
            if (g->r->hours[i].factor == g->zone[z]) {
                hours++;
                known += isfinite(g->r->hours[i].grams);
                joules += isfinite(g->r->hours[i].joules) ? g->r->hours[i].joules : 0;
                grams += isfinite(g->r->hours[i].grams) ? g->r->hours[i].grams : 0;
            }
        snprintf(t, sizeof t, "%s %s, %s%s, %s", f->zone, f->name, jm_factor_kind_name((int)f->kind),
                 f->marginal ? ", marginal" : "", jm_factor_basis_name((int)f->basis));
        snprintf(class, sizeof class, "f%zu", z);
        jm_pic_key(p, class, "box", &x, t);
        jm_str_addf(&p->desc, "%s: %zu of %zu hours have a factor", f->zone, known, hours);
        if (known)
            jm_str_addf(&p->desc, ", %s in these", jm_fmt_value(b, grams, g->unit));
        jm_str_addf(&p->desc, ", of %s. ", jm_fmt_value(b, joules, "J"));
    }
    p->y += 22;
}

static bool uniform(const struct grid *g)
{
    for (size_t i = 1; i < g->n; i++)
        if (strcmp(g->r->factors[g->zone[i]].source, g->r->factors[g->zone[0]].source) != 0)
            return false;
    return true;
}

void jm_picture_carbon(const struct jm_picture_of *of, struct jm_pic *p)
{
    const struct jm_report *r = of->report[0];
    struct grid g;
    const char *set = NULL;
    enum jm_provenance worst = JM_P_DECLARED;
    collect(r, &g);
    if (!g.n) {
        jm_pic_none(p, r->n_impacts ? "no carbon factor by the hour was given (--factors FILE)"
                                    : "no carbon factor was given (--factors FILE, joulemark factors)");
        return;
    }
    for (size_t i = 0; i < r->n_results && !set; i++)
        if (r->results[i].q.boundary == r->hours[0].at && strcmp(r->results[i].metric, "energy") == 0) {
            set = r->results[i].set;
            worst = jm_provenance_worse(worst, r->results[i].q.provenance);
        }
    unit_of(&g);
    if (!(g.most > 0) && !(g.top > 0)) {
        jm_pic_none(p, "the factors do not cover the hours of the run, and what is missing is not guessed");
        return;
    }
    jm_str_adds(&p->title, "Carbon by the hour");
    jm_pic_fact(p, "boundary %s", set ? set : "?");
    jm_pic_fact(p, "energy of the measured windows in each hour × factor");
    jm_pic_provenance(p, r, worst);
    if (uniform(&g))
        jm_pic_fact(p, "factor: %s", r->factors[g.zone[0]].source);
    jm_pic_begin(p);
    struct jm_axis x = {.lo = (double)g.first,
                        .hi = (double)(g.last + 1),
                        .from = 84,
                        .to = JM_PIC_W - JM_PIC_EDGE},
                   a = {.to = p->y + 26, .from = p->y + 156}, b = {.to = p->y + 204, .from = p->y + 344};
    double lo = 0;
    for (size_t i = 0; i < r->n_hours; i++)
        if (isfinite(r->hours[i].grams))
            lo = fmin(lo, r->hours[i].grams);
    jm_axis_fit(&a, 0, g.top, true, 3, "");
    snprintf(a.scale.unit, sizeof a.scale.unit, "%.16s/kWh", g.unit);
    jm_axis_fit(&b, lo, g.most, true, 4, g.unit);
    jm_pic_axis_y(p, &a, x.from, x.to, "intensity of the grid");
    intensity(p, &g, &x, &a);
    jm_pic_axis_y(p, &b, x.from, x.to, "emissions of the run");
    emissions(p, &g, &x, &b);
    hours_axis(p, &g, &x, b.from);
    p->y = b.from + 66;
    keys(p, &g);
    if (g.holes)
        jm_pic_note(p, "%zu hour%s without a factor: left open, not guessed, and in no sum.", g.holes,
                    g.holes == 1 ? "" : "s");
    if (g.estimated)
        jm_pic_note(p, "Open bars: the source calls the factor estimated or forecast.");
    if (g.even)
        jm_pic_note(p, "The readings do not say how much energy fell in each hour: it was spread evenly.");
    if (g.more)
        jm_pic_note(p, "%zu more zones are not drawn.", g.more);
}
