/* SPDX-License-Identifier: Apache-2.0 */
/* A load ladder: joules per token and power against the load, loaded idle at 0. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/pictures.h"
#include "show/svg.h"

#include "base/banned.h"

#define LEVELS 40 /* drawn at most */

static bool has(const struct jm_result *x)
{
    return x->metric && x->q.have && isfinite(x->q.value);
}

static size_t levels(const struct jm_ladder *l)
{
    return l->n < LEVELS ? l->n : LEVELS;
}

static double top_of(const struct jm_ladder *l, enum jm_ladder_figure f, double *least)
{
    double top = 0;
    *least = INFINITY;
    for (size_t i = 0; i < levels(l); i++) {
        const struct jm_result *x = &l->level[i].x[f];
        if (!has(x))
            continue;
        bool near = x->q.u.method && x->q.u.hi < 3 * x->q.value;
        top = fmax(top, near ? x->q.u.hi : x->q.value);
        *least = fmin(*least, x->q.value);
    }
    return top;
}

/* One figure over the levels, from little load to much; a level without it breaks the line. */
static void curve(struct jm_pic *p, const struct jm_ladder *l, enum jm_ladder_figure f,
                  const struct jm_axis *x, const struct jm_axis *y, const char *line, const char *dot)
{
    bool open = false;
    char b[JM_FMT], c[JM_FMT], tip[200];
    jm_str_addf(&p->body, "<path class='%s' d='", line);
    for (size_t i = levels(l); i-- > 0;) {
        const struct jm_ladder_level *v = &l->level[i];
        bool at = has(&v->x[f]) && (!y->log || v->x[f].q.value > 0);
        if (at)
            jm_str_addf(&p->body, "%s%.1f %.1f", open ? "L" : "M", jm_axis_at(x, v->percent),
                        jm_axis_at(y, v->x[f].q.value));
        open = at;
    }
    jm_str_adds(&p->body, "'/>");
    for (size_t i = 0; i < levels(l); i++) {
        const struct jm_ladder_level *v = &l->level[i];
        const struct jm_quantity *q = &v->x[f].q;
        if (!has(&v->x[f]) || (y->log && !(q->value > 0)))
            continue;
        double px = jm_axis_at(x, v->percent);
        if (q->u.method && isfinite(q->u.hi - q->u.lo))
            jm_pic_whisker(p, px, jm_axis_at(y, fmax(q->u.lo, y->lo)), jm_axis_at(y, fmin(q->u.hi, y->hi)),
                           true);
        snprintf(tip, sizeof tip, "%.4g %% of capacity: %s %s", v->percent,
                 jm_fmt_value(b, q->value, q->unit), jm_fmt_pm(c, q));
        jm_str_addf(&p->body, "<circle class='%s' cx='%.1f' cy='%.1f' r='5.5'><title>",
                    q->validity == JM_V_INVALID ? "o7" : dot, px, jm_axis_at(y, q->value));
        jm_svg_escape(&p->body, tip);
        jm_str_adds(&p->body, "</title></circle>");
    }
}

static void joules(struct jm_pic *p, const struct jm_ladder *l, const struct jm_axis *x, double y0, double y1)
{
    double lo, lo_q, top = top_of(l, JM_LF_OUTPUT, &lo), top_q = top_of(l, JM_LF_QUALIFIED, &lo_q);
    struct jm_axis y = {.from = y1, .to = y0};
    top = fmax(top, top_q);
    lo = fmin(lo, lo_q);
    if (lo > 0 && top / lo > 15)
        jm_axis_fit_log(&y, lo * 0.93, top * 1.07, "J/token");
    else
        jm_axis_fit(&y, 0, top, true, 4, "J/token");
    jm_pic_axis_y(p, &y, x->from, x->to, NULL);
    jm_pic_text(p, x->from - 60, y0 - 14, "nt", "start", 0,
                y.log ? "energy, J/token, logarithmic" : "energy, J/token");
    jm_pic_axis_x(p, x, y0, y1, "load, % of capacity");
    if (l->contract)
        curve(p, l, JM_LF_QUALIFIED, x, &y, "s1 wide dash", "o1");
    curve(p, l, JM_LF_OUTPUT, x, &y, "s0 wide", "f0");
}

static void power(struct jm_pic *p, const struct jm_ladder *l, const struct jm_axis *x, double y0, double y1)
{
    double lo, top = top_of(l, JM_LF_POWER, &lo);
    struct jm_axis y = {.from = y1, .to = y0};
    const struct jm_ladder_level *most = &l->level[0];
    if (!(top > 0))
        return;
    jm_axis_fit(&y, 0, top, true, 4, "W");
    jm_pic_axis_y(p, &y, x->from, x->to, "mean power");
    jm_pic_axis_x(p, x, y0, y1, "load, % of capacity; loaded idle at 0");
    if (most->percent > 0 && has(&most->x[JM_LF_POWER]))
        jm_pic_line(p, "edge", jm_axis_at(x, 0), jm_axis_at(&y, 0), jm_axis_at(x, most->percent),
                    jm_axis_at(&y, most->x[JM_LF_POWER].q.value));
    curve(p, l, JM_LF_POWER, x, &y, "s6 wide", "f6");
}

static void table(struct jm_pic *p, const struct jm_ladder *l)
{
    static const double column[] = {80, 150, 308, 466, 560, 650, 755, 856};
    static const char *const head[] = {"load",  "req/s",  "J/token",  "J/qualified",
                                       "power", "in SLO", "p99 TTFT", "p99 TPOT"};
    static const enum jm_ladder_figure figure[] = {JM_LF_RATE,      JM_LF_RATE,  JM_LF_OUTPUT,
                                                   JM_LF_QUALIFIED, JM_LF_POWER, JM_LF_ATTAINMENT,
                                                   JM_LF_TTFT,      JM_LF_TPOT};
    char b[JM_FMT], pm[JM_FMT], t[JM_FMT * 3];
    for (int k = 0; k < 8; k++)
        if (l->contract || (k != 3 && k != 5))
            jm_pic_text(p, column[k], p->y, "nt", "end", 0, head[k]);
    p->y += 21;
    for (size_t i = 0; i < levels(l) && i < 16; i++, p->y += 20) {
        const struct jm_ladder_level *v = &l->level[i];
        snprintf(t, sizeof t, v->percent > 0 ? "%.4g %%" : "idle", v->percent);
        jm_pic_text(p, column[0], p->y, "vl", "end", 0, t);
        jm_str_addf(&p->desc, "%s%s", i ? "; " : "", t);
        for (int k = 1; k < 8; k++) {
            const struct jm_result *x = &v->x[figure[k]];
            bool told = k == 1 ? isfinite(v->offered) : has(x);
            if (!told || (!l->contract && (k == 3 || k == 5)) || (v->percent == 0 && k != 4))
                continue;
            if (k == 1)
                jm_fmt_number(t, v->offered);
            else if (k == 5)
                snprintf(t, sizeof t, "%.4g %%", 100 * x->q.value);
            else if (k == 2 || k == 3)
                snprintf(t, sizeof t, "%s %s", jm_fmt_number(b, x->q.value), jm_fmt_pm(pm, &x->q));
            else
                jm_fmt_value(t, x->q.value, x->q.unit);
            jm_pic_text(p, column[k], p->y, k > 1 && x->q.validity == JM_V_INVALID ? "no" : "lb", "end", 0,
                        t);
            if (k == 2 || k == 4)
                jm_str_addf(&p->desc, ", %s", jm_fmt_value(b, x->q.value, x->q.unit));
        }
    }
    jm_str_addc(&p->desc, '.');
    p->y += 4;
}

void jm_picture_ladder(const struct jm_picture_of *of, struct jm_pic *p)
{
    const struct jm_report *r = of->report[0];
    const struct jm_ladder *l = r->ladder;
    enum jm_provenance worst = JM_P_MEASURED;
    double most = 0, lo;
    char b[JM_FMT];
    if (!l || !l->n) {
        jm_pic_none(p, "the run has no levels of load (bench --ladder)");
        return;
    }
    for (size_t i = 0; i < levels(l); i++) {
        most = fmax(most, l->level[i].percent);
        for (int f = JM_LF_POWER; f <= JM_LF_QUALIFIED; f++)
            if (has(&l->level[i].x[f]))
                worst = jm_provenance_worse(worst, l->level[i].x[f].q.provenance);
    }
    if (!(top_of(l, JM_LF_OUTPUT, &lo) > 0) || !(most > 0)) {
        jm_pic_none(p, "no level of the ladder has an energy per token");
        return;
    }
    jm_str_adds(&p->title, "Energy per token and power against load");
    jm_pic_fact(p, "boundary %s", l->set ? l->set : jm_boundary_name((int)l->boundary));
    jm_pic_fact(p, "J / output tokens of the same windows");
    if (isfinite(l->capacity))
        jm_pic_fact(p, "capacity %s requests/s%s%s%s", jm_fmt_number(b, l->capacity), l->by ? " (" : "",
                    l->by ? l->by : "", l->by ? ")" : "");
    jm_pic_provenance(p, r, worst);
    jm_pic_begin(p);
    struct jm_axis x = {.from = 84, .to = 436};
    double y0 = p->y + 28, y1 = y0 + 240;
    jm_axis_fit(&x, 0, fmax(most, 100), true, 5, "");
    joules(p, l, &x, y0, y1);
    x.from = 512;
    x.to = 846;
    power(p, l, &x, y0, y1);
    p->y = y1 + 72;
    double kx = JM_PIC_EDGE;
    jm_pic_key(p, "s0 wide", "line", &kx, "J per output token");
    if (l->contract)
        jm_pic_key(p, "s1 wide dash", "line", &kx, "J per qualified token");
    jm_pic_key(p, "s6 wide", "line", &kx, "mean power");
    jm_pic_key(p, "edge", "line", &kx, "power in proportion to load");
    p->y += 28;
    table(p, l);
    if (isfinite(l->idle_share))
        jm_pic_note(p, "Loaded idle takes %.0f %% of the power of the highest level.", 100 * l->idle_share);
    jm_pic_note(p, "Lines join what was measured and say nothing of loads between.%s",
                l->contract ? " Qualified tokens are those of requests inside the contract." : "");
    bool invalid = false;
    for (size_t i = 0; i < levels(l); i++)
        for (int f = JM_LF_POWER; f <= JM_LF_QUALIFIED; f++)
            invalid |= has(&l->level[i].x[f]) && l->level[i].x[f].q.validity == JM_V_INVALID;
    if (invalid)
        jm_pic_note(p, "Dashed rings, and red in the table: invalid for this profile; show says why.");
    if (l->n > levels(l))
        jm_pic_note(p, "%zu more levels are not drawn.", l->n - levels(l));
}
