/* SPDX-License-Identifier: Apache-2.0 */
/* Each trial as a point with its own interval, the mean of them with its t interval, and the straight line
 * through them in their order. Points, not bars: their axis need not begin at 0. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "show/pictures.h"

#include "base/banned.h"

#define MOST 400

struct trial {
    const struct jm_result *x;
    int number;
};

struct series {
    struct trial *v;
    size_t n, left;
    const struct jm_result *over; /* mean over trials; NULL: none */
    enum jm_provenance worst;
    bool invalid;
};

static int by_number(const void *a, const void *b)
{
    return ((const struct trial *)a)->number - ((const struct trial *)b)->number;
}

static void collect(const struct jm_report *r, const struct jm_result *head, struct series *s)
{
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (x->q.boundary != head->q.boundary || x->slice || !x->q.have ||
            strcmp(x->metric, head->metric) != 0 || x->q.provenance != head->q.provenance)
            continue;
        if (x->window < 0) {
            s->over = x;
            continue;
        }
        if (r->windows[x->window].role != JM_R_MEASURE)
            continue;
        if (s->n == MOST) {
            s->left++;
            continue;
        }
        s->v[s->n++] = (struct trial){x, r->windows[x->window].trial + 1};
        s->worst = jm_provenance_worse(s->worst, x->q.provenance);
        s->invalid |= x->q.validity == JM_V_INVALID;
    }
    qsort(s->v, s->n, sizeof *s->v, by_number);
}

static double at_trial(double left, double each, size_t i)
{
    return left + each * ((double)i + .5);
}

static void points(struct jm_pic *p, const struct series *s, const struct jm_axis *y, double left,
                   double each)
{
    char b[JM_FMT], pm[JM_FMT], tip[160];
    double last = -1e9;
    for (size_t i = 0; i < s->n; i++) {
        const struct jm_quantity *q = &s->v[i].x->q;
        double x = at_trial(left, each, i), py = jm_axis_at(y, q->value);
        if (q->u.method && isfinite(q->u.hi - q->u.lo))
            jm_pic_whisker(p, x, jm_axis_at(y, fmax(q->u.lo, y->lo)), jm_axis_at(y, fmin(q->u.hi, y->hi)),
                           true);
        snprintf(tip, sizeof tip, "trial %d: %s %s", s->v[i].number, jm_fmt_value(b, q->value, q->unit),
                 jm_fmt_pm(pm, q));
        jm_str_addf(&p->body, "<circle class='%s' cx='%.1f' cy='%.1f' r='%g'><title>%s</title></circle>",
                    q->validity == JM_V_INVALID ? "o7" : "f0", x, py, each > 16 ? 6.0 : 3.0, tip);
        if (x - last > 30) {
            snprintf(b, sizeof b, "%d", s->v[i].number);
            jm_pic_text(p, x, y->from + 20, "tk", "middle", 0, b);
            last = x;
        }
    }
}

static void mean(struct jm_pic *p, const struct series *s, const struct jm_axis *y, double left, double right)
{
    const struct jm_quantity *q = &s->over->q;
    char b[JM_FMT], t[JM_FMT * 2];
    double at = jm_axis_at(y, q->value);
    if (q->u.method && isfinite(q->u.hi - q->u.lo)) {
        double hi = jm_axis_at(y, fmin(q->u.hi, y->hi)), lo = jm_axis_at(y, fmax(q->u.lo, y->lo));
        jm_pic_rect(p, "band", left, hi, right - left, lo - hi, "interval of the mean");
    }
    jm_pic_line(p, "mean", left, at, right, at);
    jm_pic_text(p, right + 8, at - 4, "vl", "start", 0, jm_fmt_number(b, q->value));
    snprintf(t, sizeof t, "%s", jm_fmt_pm(b, q));
    jm_pic_text(p, right + 8, at + 13, "nt", "start", 0, t);
}

/* The line through the trials by their order, as audit's trials.drift has it. */
static void drift(struct jm_pic *p, const struct series *s, const struct jm_axis *y, double left, double each,
                  char *said, size_t size)
{
    double t[MOST], v[MOST];
    struct jm_fit f;
    size_t n = s->n;
    snprintf(said, size, "too few trials to see a drift");
    for (size_t i = 0; i < n; i++) {
        t[i] = (double)i;
        v[i] = s->v[i].x->q.value;
    }
    if (n < 3 || jm_stats_line(t, v, NULL, n, &f, NULL))
        return;
    double by = 100 * f.b * (double)(n - 1) / jm_stats_mean(v, n),
           half = 100 * f.se_b * jm_stats_t_quantile(0.975, f.dof) * (double)(n - 1) / jm_stats_mean(v, n);
    double a = fmin(fmax(f.a, y->lo), y->hi), e = fmin(fmax(f.a + f.b * (double)(n - 1), y->lo), y->hi);
    jm_pic_line(p, "trend", at_trial(left, each, 0), jm_axis_at(y, a), at_trial(left, each, n - 1),
                jm_axis_at(y, e));
    snprintf(said, size, "drift from first to last %s%.2g ± %.2g %%%s", by < 0 ? "−" : "+", fabs(by), half,
             fabs(by) > half ? ", more than their scatter explains" : ", not resolved");
}

void jm_picture_trials(const struct jm_picture_of *of, struct jm_pic *p)
{
    const struct jm_report *r = of->report[0];
    const struct jm_result *head = jm_fmt_headline(r);
    struct series s = {0};
    char said[160], t[200];
    if (r->trials < 2 || !head || !head->q.have) {
        jm_pic_none(p, r->trials < 2 ? "the run has one trial: how far another one would differ is not known"
                                     : "there is no energy figure in it");
        return;
    }
    s.v = calloc(MOST, sizeof *s.v);
    if (!s.v) {
        p->body.failed = true;
        return;
    }
    collect(r, head, &s);
    if (s.n < 2) {
        jm_pic_none(p, "fewer than two of the trials have a value of %s", head->metric);
        free(s.v);
        return;
    }
    double lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i <= s.n; i++) {
        const struct jm_quantity *q = i < s.n ? &s.v[i].x->q : s.over ? &s.over->q : NULL;
        bool known =
            q && q->u.method && isfinite(q->u.hi - q->u.lo) && q->u.hi - q->u.lo < 2 * fabs(q->value);
        if (!q)
            continue;
        lo = fmin(lo, known ? q->u.lo : q->value);
        hi = fmax(hi, known ? q->u.hi : q->value);
    }
    double left = 92, right = 750, each = (right - left) / (double)s.n;
    struct jm_axis y;
    jm_axis_fit(&y, lo, hi, false, 5, head->q.unit);
    jm_str_addf(&p->title, "%s in each trial", jm_fmt_metric(head->metric));
    jm_pic_fact(p, "boundary %s", head->set ? head->set : jm_boundary_name((int)head->q.boundary));
    if (head->denominator_name || s.v[0].x->denominator_name)
        jm_pic_fact(p, "%s / %s", s.v[0].x->numerator_name, s.v[0].x->denominator_name);
    jm_pic_fact(p, "%zu trials", s.n + s.left);
    jm_pic_provenance(p, r, s.worst);
    jm_pic_begin(p);
    y.to = p->y + 26;
    y.from = p->y + 286;
    snprintf(t, sizeof t, "%s%s", jm_fmt_metric(head->metric),
             y.lo > 0 ? " (the axis does not begin at 0)" : "");
    jm_pic_axis_y(p, &y, left, right, t);
    if (s.over && s.over->q.have)
        mean(p, &s, &y, left, right);
    drift(p, &s, &y, left, each, said, sizeof said);
    points(p, &s, &y, left, each);
    jm_pic_text(p, (left + right) / 2, y.from + 40, "nt", "middle", 0, "trial, in order");
    p->y = y.from + 72;
    double x = JM_PIC_EDGE;
    jm_pic_key(p, "f0", "dot", &x, "a trial and its interval without repeats");
    jm_pic_key(p, "mean", "line", &x, "mean over trials and its t interval");
    jm_pic_key(p, "trend", "line", &x, said);
    p->y += 22;
    if (s.invalid)
        jm_pic_note(p, "Dashed rings are trials that are invalid for this profile.");
    if (s.left)
        jm_pic_note(p, "%zu more trials are not drawn.", s.left);
    char b[JM_FMT];
    jm_str_addf(&p->desc, "%zu trials, %s", s.n, jm_fmt_value(b, s.v[0].x->q.value, head->q.unit));
    jm_str_addf(&p->desc, " in the first and %s in the last; ",
                jm_fmt_value(b, s.v[s.n - 1].x->q.value, head->q.unit));
    if (s.over && s.over->q.have) {
        jm_str_addf(&p->desc, "mean %s", jm_fmt_value(b, s.over->q.value, head->q.unit));
        jm_str_addf(&p->desc, " %s; ", jm_fmt_pm(b, &s.over->q));
    }
    jm_str_addf(&p->desc, "%s.", said);
    free(s.v);
}
