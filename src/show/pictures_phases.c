/* SPDX-License-Identifier: Apache-2.0 */
/* Where the energy of the measured windows went: prefill, decode, and times without a request. The shares are
 * an allocation by a stated rule, and the picture says so. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/phases.h"
#include "show/pictures.h"

#include "base/banned.h"

#define ROWS 13 /* bars at most: all windows and a dozen of them */

static const char *const class_of[] = {"f0", "f5", "hole"};

static void bar(struct jm_pic *p, const struct jm_report *r, size_t k, double x0, double x1, double y,
                double h, bool named)
{
    struct jm_phase_line l[JM_PHASE_LINES];
    const struct jm_phase_split *s = &r->phases->split[k];
    double at = x0, told = -1e9;
    char tip[200], b[JM_FMT];
    if (!jm_phase_lines(r, k, l))
        return;
    for (int i = 0; i < 3; i++) {
        double w = isfinite(l[i].share) ? l[i].share * (x1 - x0) : 0;
        snprintf(tip, sizeof tip, "%s: %s, %.1f %%", l[i].name, jm_fmt_value(b, l[i].joules, "J"),
                 100 * l[i].share);
        jm_pic_rect(p, class_of[i], at, y, w, h, tip);
        snprintf(tip, sizeof tip, "%s %.1f %%", l[i].name, 100 * l[i].share);
        double need = jm_pic_width(tip, 13);
        if (named && w > 0.5) {
            double from = fmin(fmax(at, told), x1 - need);
            if (from >= told && from < at + w + 40) {
                jm_pic_text(p, from, y - 7, "lb", "start", 0, tip);
                told = from + need + 14;
            }
        }
        at += w;
    }
    double requests = 1 - l[2].share;
    if (isfinite(s->range.lo) && isfinite(s->range.hi))
        jm_pic_whisker(p, y + h / 2, x0 + s->range.lo * requests * (x1 - x0),
                       x0 + s->range.hi * requests * (x1 - x0), false);
}

static void table(struct jm_pic *p, const struct jm_report *r)
{
    static const double column[] = {300, 390, 520, 690, 856};
    static const char *const head[] = {"fully loaded", "share", "marginal", "J/token, loaded",
                                       "J/token, marginal"};
    struct jm_phase_line l[JM_PHASE_LINES];
    char b[JM_FMT], t[120];
    bool marginal = false;
    if (!jm_phase_lines(r, 0, l))
        return;
    for (int i = 0; i < JM_PHASE_LINES; i++)
        marginal |= isfinite(l[i].marginal);
    for (int k = 0; k < 5; k++)
        if (marginal || (k != 2 && k != 4))
            jm_pic_text(p, column[k], p->y, "nt", "end", 0, head[k]);
    p->y += 22;
    for (int i = 0; i < JM_PHASE_LINES; i++, p->y += 21) {
        const char *ink = i == 3 ? "vl" : "lb";
        if (i < 3)
            jm_pic_rect(p, class_of[i], JM_PIC_EDGE, p->y - 11, 14, 13, NULL);
        if (l[i].token)
            snprintf(t, sizeof t, "%s", l[i].name);
        jm_pic_text(p, JM_PIC_EDGE + 24, p->y, ink, "start", 150, l[i].name);
        jm_pic_text(p, column[0], p->y, ink, "end", 0, jm_fmt_value(b, l[i].joules, "J"));
        snprintf(t, sizeof t, "%.1f %%", 100 * l[i].share);
        jm_pic_text(p, column[1], p->y, ink, "end", 0, isfinite(l[i].share) ? t : "–");
        if (isfinite(l[i].marginal))
            jm_pic_text(p, column[2], p->y, ink, "end", 0, jm_fmt_value(b, l[i].marginal, "J"));
        if (l[i].tokens > 0)
            jm_pic_text(p, column[3], p->y, ink, "end", 0, jm_fmt_number(b, l[i].joules / l[i].tokens));
        if (l[i].tokens > 0 && isfinite(l[i].marginal))
            jm_pic_text(p, column[4], p->y, ink, "end", 0, jm_fmt_number(b, l[i].marginal / l[i].tokens));
        jm_str_addf(&p->desc, "%s%s %s", i ? "; " : "", l[i].name, jm_fmt_value(b, l[i].joules, "J"));
    }
    jm_str_addc(&p->desc, '.');
    p->y += 6;
    jm_pic_note(p, "J/token: per %s, and per %s.", l[0].token, l[1].token);
}

void jm_picture_phases(const struct jm_picture_of *of, struct jm_pic *p)
{
    const struct jm_report *r = of->report[0];
    const struct jm_phases *ph = r->phases;
    struct jm_phase_line l[JM_PHASE_LINES];
    if (!ph || ph->why) {
        jm_pic_none(p, "%s", ph ? ph->why : "the run has no requests that its energy could be allocated to");
        return;
    }
    if (!jm_phase_lines(r, 0, l) || !isfinite(l[0].joules)) {
        jm_pic_none(p, "%s",
                    ph->n_units && ph->unit[0].fit.why[0] ? ph->unit[0].fit.why
                                                          : "the method that could be used knows no phases");
        return;
    }
    jm_str_adds(&p->title, "Energy of prefill, decode and no request");
    jm_pic_fact(p, "boundary %s", ph->set ? ph->set : jm_boundary_name((int)ph->boundary));
    jm_pic_fact(p, "method %s", jm_phase_method_name((int)ph->method));
    if (isfinite(ph->residual))
        jm_pic_fact(p, "residual %.1f %%", 100 * ph->residual);
    jm_pic_provenance(p, r, jm_provenance_worse(ph->provenance, JM_P_ALLOCATED));
    jm_pic_begin(p);
    size_t rows = ph->n_splits < ROWS ? ph->n_splits : ROWS;
    double left = rows > 1 ? 190 : JM_PIC_EDGE, right = JM_PIC_W - JM_PIC_EDGE, y = p->y + 28;
    for (size_t k = 0; k < rows; k++) {
        double h = k ? 16 : 32;
        int window = ph->split[k].window;
        if (rows > 1)
            jm_pic_text(p, left - 10, y + h / 2 + 4.5, k ? "lb" : "vl", "end", left - 34,
                        window < 0 ? "all measured" : r->windows[window].name);
        bar(p, r, k, left, right, y, h, k == 0);
        y += h + (k ? 6 : 12);
    }
    p->y = y + 20;
    table(p, r);
    bool whisker = false;
    for (size_t k = 0; k < rows; k++)
        whisker |= isfinite(ph->split[k].range.lo) && isfinite(ph->split[k].range.hi);
    jm_pic_note(p,
                "An allocation by a stated rule, not a measurement: only the total is measured. Fully "
                "loaded: with its "
                "share of the idle power. %s",
                whisker ? "Whisker: interval of the share of prefill, by block bootstrap."
                        : "The share of prefill has no interval here.");
    if (ph->n_splits > rows)
        jm_pic_note(p, "%zu more windows are not drawn.", ph->n_splits - rows);
    if (ph->note)
        jm_pic_note(p, "%s", ph->note);
}
