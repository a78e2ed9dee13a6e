/* SPDX-License-Identifier: Apache-2.0 */
/* What a token costs against how fast it comes: one point a run, a slice or a measured window. A point that
 * no other one beats in both is on the frontier. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "show/pictures.h"
#include "show/svg.h"

#include "base/banned.h"

#define POINTS 200 /* drawn at most */
#define KEYS   16  /* named below at most */

enum { TPOT, TTFT, AXES };
static const char *const axis_metric[AXES] = {"tpot.excl_first", "ttft"}, *const axis_name[AXES] = {
                                                                              "p99 TPOT", "p99 TTFT"};

struct point {
    char name[96];
    const struct jm_result *y;
    double x[AXES], slo[AXES];  /* s; NAN */
    bool invalid, misses, held; /* held: there is an objective */
};

struct cloud {
    struct point *v;
    size_t n, cap, left; /* left: beyond POINTS */
    enum jm_boundary at;
    size_t elsewhere; /* results of runs without an energy at that boundary */
    enum jm_provenance worst;
};

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : !a && !b;
}

/* A result that stands for something of its own: not a trial that a row over trials stands for. */
static bool stands(const struct jm_report *r, const struct jm_result *x, enum jm_boundary b)
{
    return x->q.boundary == b && x->q.have && x->q.value > 0 && !jm_fmt_estimate(x) &&
           strcmp(x->metric, "j_per.output_token") == 0 && jm_fmt_in_summary(r, x);
}

static double latency(const struct jm_report *r, const struct jm_result *y, const char *metric)
{
    for (int k = 0; k < 2; k++) {
        const struct jm_result *all = k ? r->sliced : r->results;
        for (size_t i = 0, n = k ? r->n_sliced : r->n_results; i < n; i++) {
            const struct jm_result *x = &all[i];
            if (x->quantile == 0.99 && x->q.have && x->window == y->window && same(x->slice, y->slice) &&
                strcmp(x->metric, metric) == 0)
                return x->q.value;
        }
    }
    return NAN;
}

static double objective(const struct jm_report *r, const char *slice, const char *what, double all)
{
    char key[128];
    double v;
    if (r->slo_given || !slice)
        return all;
    snprintf(key, sizeof key, "contract.%s.%s", slice, what);
    for (size_t i = 0; i < r->n_env; i++)
        if (strcmp(r->env[i].key, key) == 0 && jm_num_double(jm_span_of(r->env[i].value), &v) == 0)
            return v;
    return all;
}

static void add(struct cloud *c, const struct jm_report *r, const struct jm_result *y, const char *run)
{
    if (c->n >= POINTS) {
        c->left++;
        return;
    }
    struct point *p = &c->v[c->n++];
    *p = (struct point){.y = y};
    p->x[TPOT] = latency(r, y, axis_metric[TPOT]);
    p->x[TTFT] = latency(r, y, axis_metric[TTFT]);
    p->slo[TPOT] = objective(r, y->slice, "tpot_s", r->slo_tpot);
    p->slo[TTFT] = objective(r, y->slice, "ttft_s", r->slo_ttft);
    p->invalid = y->q.validity == JM_V_INVALID;
    for (int k = 0; k < AXES; k++) {
        p->held |= isfinite(p->slo[k]);
        p->misses |= isfinite(p->slo[k]) && isfinite(p->x[k]) && p->x[k] > p->slo[k];
    }
    const char *part = y->slice && y->slice[0] ? y->slice
                       : y->window >= 0        ? r->windows[y->window].name
                                               : NULL;
    if (run && part && (y->slice || jm_fmt_many_windows(r)))
        snprintf(p->name, sizeof p->name, "%.44s: %.44s", run, part);
    else
        snprintf(p->name, sizeof p->name, "%.90s", run ? run : part ? part : "all trials");
    c->worst = jm_provenance_worse(c->worst, y->q.provenance);
}

/* The next result that is a point, from index *i on: of r->results, and behind them the means over trials of
 * slices, which stand for their windows. NULL: none. */
static const struct jm_result *next(const struct jm_report *r, enum jm_boundary b, size_t *i)
{
    for (; *i < r->n_results + r->n_sliced; ++*i) {
        bool mean = *i >= r->n_results, replaced = false;
        const struct jm_result *x = mean ? &r->sliced[*i - r->n_results] : &r->results[*i];
        if (!stands(r, x, b) || (mean && x->window >= 0))
            continue;
        for (size_t k = 0; !mean && x->slice && k < r->n_sliced; k++)
            replaced |=
                r->sliced[k].window < 0 && same(r->sliced[k].slice, x->slice) && stands(r, &r->sliced[k], b);
        if (!replaced) {
            ++*i;
            return x;
        }
    }
    return NULL;
}

static size_t count(const struct jm_report *r, enum jm_boundary b)
{
    size_t n = 0, i = 0;
    while (next(r, b, &i))
        n++;
    return n;
}

/* The widest boundary that most of the runs have an energy at: joules of different boundaries never share an
 * axis. */
static enum jm_boundary boundary(const struct jm_picture_of *of)
{
    static const enum jm_boundary order[] = {JM_B_WALL, JM_B_NODE, JM_B_DEVICE, JM_B_GPU};
    enum jm_boundary best = JM_B_NONE;
    size_t most = 0;
    const struct jm_result *h = of->n == 1 ? jm_fmt_headline(of->report[0]) : NULL;
    if (h && count(of->report[0], h->q.boundary))
        return h->q.boundary;
    for (size_t b = 0; b < 4; b++) {
        size_t n = 0;
        for (size_t i = 0; i < of->n; i++)
            n += count(of->report[i], order[b]) > 0;
        /* of boards that serve alone, device and gpu are the same: the narrower name says what it is */
        const struct jm_result *x = jm_report_find(of->report[0], "j_per.output_token", order[b], -2);
        if (n > most || (n == most && x && order[b] == JM_B_GPU && best == JM_B_DEVICE)) {
            most = n;
            best = order[b];
        }
    }
    return best;
}

static int collect(const struct jm_picture_of *of, struct cloud *c)
{
    c->v = calloc(POINTS, sizeof *c->v);
    if (!c->v)
        return -1;
    c->at = boundary(of);
    for (size_t k = 0; k < of->n; k++) {
        const struct jm_report *r = of->report[k];
        const char *run = of->n > 1 ? of->name && of->name[k] ? of->name[k]
                                      : r->label              ? r->label
                                                              : r->id
                                    : NULL;
        if (!count(r, c->at)) {
            c->elsewhere++;
            continue;
        }
        const struct jm_result *x;
        for (size_t i = 0; (x = next(r, c->at, &i));)
            add(c, r, x, run);
    }
    return 0;
}

/* Lower left of all others; an invalid measurement beats nobody. */
static bool on_frontier(const struct cloud *c, size_t i, int axis)
{
    const struct point *p = &c->v[i];
    if (p->invalid || !isfinite(p->x[axis]))
        return false;
    for (size_t k = 0; k < c->n; k++) {
        const struct point *q = &c->v[k];
        if (k == i || q->invalid || !isfinite(q->x[axis]))
            continue;
        if (q->x[axis] <= p->x[axis] && q->y->q.value <= p->y->q.value &&
            (q->x[axis] < p->x[axis] || q->y->q.value < p->y->q.value || k < i))
            return false;
    }
    return true;
}

/* The one objective of all points; NAN: none, or they differ. */
static double common(const struct cloud *c, int axis, bool *differ)
{
    double v = c->v[0].slo[axis];
    for (size_t i = 1; i < c->n; i++)
        if (c->v[i].slo[axis] != v && !(isnan(v) && isnan(c->v[i].slo[axis]))) {
            *differ = true;
            return NAN;
        }
    return v;
}

static void fit(struct jm_axis *a, const double *v, size_t n, double also, bool zero, const char *unit)
{
    double lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i < n; i++)
        if (isfinite(v[i])) {
            lo = fmin(lo, v[i]);
            hi = fmax(hi, v[i]);
        }
    if (isfinite(also) && also > 0) {
        lo = fmin(lo, also);
        hi = fmax(hi, also * 1.03);
    }
    if (lo > 0 && hi / lo > 15)
        jm_axis_fit_log(a, lo * 0.93, hi * 1.07, unit);
    else
        jm_axis_fit(a, lo, hi * 1.02, zero, 4, unit);
}

static void frontier(struct jm_pic *p, const struct cloud *c, int axis, const struct jm_axis *x,
                     const struct jm_axis *y)
{
    size_t order[POINTS], n = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (!on_frontier(c, i, axis))
            continue;
        size_t at = n++;
        while (at && c->v[order[at - 1]].x[axis] > c->v[i].x[axis]) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
    if (n < 2)
        return;
    jm_str_adds(&p->body, "<path class='fr' d='");
    for (size_t i = 0; i < n; i++) {
        const struct point *q = &c->v[order[i]];
        double px = jm_axis_at(x, q->x[axis]), py = jm_axis_at(y, q->y->q.value);
        if (i)
            jm_str_addf(&p->body, "H%.1fV%.1f", px, py);
        else
            jm_str_addf(&p->body, "M%.1f %.1f", px, py);
    }
    jm_str_adds(&p->body, "'/>");
}

static void slo(struct jm_pic *p, const struct jm_axis *x, double v, double y0, double y1)
{
    char b[JM_FMT], t[96];
    double at = jm_axis_at(x, v);
    jm_pic_rect(p, "bad", at, y0, x->to - at, y1 - y0, NULL);
    jm_pic_line(p, "slo", at, y0 - 4, at, y1);
    snprintf(t, sizeof t, "SLO %s", jm_fmt_tick(b, v, "s"));
    double half = jm_pic_width(t, 13) / 2;
    jm_pic_text(p, fmin(fmax(at, x->from + half), x->to - half), y0 - 10, "no", "middle", 0, t);
}

static void mark(struct jm_pic *p, const struct point *q, size_t number, double x, double y, bool best)
{
    char b[JM_FMT], tip[300];
    snprintf(tip, sizeof tip, "%s: %s", q->name, jm_fmt_value(b, q->y->q.value, "J/token"));
    const char *class = q->invalid ? "o7" : q->misses ? "o1" : best ? "f0" : "o0";
    if (q->misses && !q->invalid)
        jm_str_addf(&p->body, "<path class='%s' d='M%.1f %.1fL%.1f %.1fL%.1f %.1fL%.1f %.1fZ'><title>", class,
                    x, y - 13, x + 13, y, x, y + 13, x - 13, y);
    else
        jm_str_addf(&p->body, "<circle class='%s' cx='%.1f' cy='%.1f' r='10'><title>", class, x, y);
    jm_svg_escape(&p->body, tip);
    jm_str_addf(&p->body, "</title></%s>", q->misses && !q->invalid ? "path" : "circle");
    snprintf(b, sizeof b, "%zu", number);
    jm_pic_text(p, x, y + 4.5, class[0] == 'f' ? "in" : "vl", "middle", 0, b);
}

static void panel(struct jm_pic *p, const struct cloud *c, int axis, double left, double right,
                  const struct jm_axis *y, bool first)
{
    struct jm_axis x = {.from = left, .to = right};
    double v[POINTS], y0 = y->to, y1 = y->from;
    char title[80];
    bool differ = false, any = false;
    for (size_t i = 0; i < c->n; i++) {
        v[i] = c->v[i].x[axis];
        any |= isfinite(v[i]);
    }
    double line = common(c, axis, &differ);
    if (!any) {
        jm_pic_text(p, (left + right) / 2, (y0 + y1) / 2, "nt", "middle", right - left,
                    axis == TPOT ? "no request of more than one token" : "nobody saw a first token");
        return;
    }
    fit(&x, v, c->n, line, true, "s");
    struct jm_axis grid = *y;
    jm_pic_axis_y(p, &grid, left, right, NULL);
    if (first) {
        snprintf(title, sizeof title, "energy per output token, %s%s", y->scale.unit,
                 y->log ? ", logarithmic" : "");
        jm_pic_text(p, JM_PIC_EDGE, y0 - 32, "nt", "start", 0, title);
    }
    jm_pic_axis_x(p, &x, y0, y1, axis_name[axis]);
    if (isfinite(line) && line >= x.lo)
        slo(p, &x, line, y0, y1);
    for (size_t i = 0; i < c->n; i++) {
        const struct jm_quantity *q = &c->v[i].y->q;
        if (isfinite(v[i]) && q->u.method && isfinite(q->u.hi - q->u.lo))
            jm_pic_whisker(p, jm_axis_at(&x, v[i]), jm_axis_at(y, fmax(q->u.lo, y->lo)),
                           jm_axis_at(y, fmin(q->u.hi, y->hi)), true);
    }
    frontier(p, c, axis, &x, y);
    for (size_t i = c->n; i-- > 0;)
        if (isfinite(v[i]))
            mark(p, &c->v[i], i + 1, jm_axis_at(&x, v[i]), jm_axis_at(y, c->v[i].y->q.value),
                 on_frontier(c, i, axis));
}

static void table(struct jm_pic *p, const struct cloud *c)
{
    static const double column[] = {430, 560, 690, 856};
    static const char *const head[] = {"J/token", "p99 TPOT", "p99 TTFT", "SLO"};
    char b[JM_FMT], pm[JM_FMT], t[JM_FMT * 3];
    bool held = false;
    for (size_t i = 0; i < c->n; i++)
        held |= c->v[i].held;
    for (int k = 0; k < 3 + held; k++)
        jm_pic_text(p, column[k], p->y, "nt", "end", 0, head[k]);
    p->y += 20;
    for (size_t i = 0; i < c->n && i < KEYS; i++, p->y += 20) {
        const struct point *q = &c->v[i];
        snprintf(t, sizeof t, "%zu", i + 1);
        jm_pic_text(p, JM_PIC_EDGE + 22, p->y, "vl", "end", 0, t);
        jm_pic_text(p, JM_PIC_EDGE + 32, p->y, "lb", "start", 230, q->name);
        snprintf(t, sizeof t, "%s %s", jm_fmt_number(b, q->y->q.value), jm_fmt_pm(pm, &q->y->q));
        jm_pic_text(p, column[0], p->y, "lb", "end", 0, t);
        for (int k = 0; k < AXES; k++)
            jm_pic_text(p, column[1 + k], p->y, "lb", "end", 0, jm_fmt_value(b, q->x[k], "s"));
        if (held)
            jm_pic_text(p, column[3], p->y, q->misses || q->invalid ? "no" : "lb", "end", 0,
                        q->invalid  ? "invalid"
                        : !q->held  ? "none"
                        : q->misses ? "missed"
                                    : "met");
        jm_str_addf(&p->desc, "%s%zu %s: %s", i ? "; " : "", i + 1, q->name,
                    jm_fmt_value(b, q->y->q.value, "J/token"));
        jm_str_addf(&p->desc, ", p99 TPOT %s", jm_fmt_value(b, q->x[TPOT], "s"));
        jm_str_addf(&p->desc, ", p99 TTFT %s%s", jm_fmt_value(b, q->x[TTFT], "s"),
                    q->misses ? ", misses its SLO" : "");
    }
    jm_str_adds(&p->desc, ".");
    if (c->n + c->left > KEYS)
        jm_pic_note(p, "and %zu more points that are not named here%s", c->n + c->left - KEYS,
                    c->left ? ", some of them not drawn" : "");
    p->y += 4;
}

/* Do the medians of the lengths of runs lie further apart than a tenth? */
static bool other_lengths(const struct jm_picture_of *of, char *said, size_t size)
{
    double lo[2] = {INFINITY, INFINITY}, hi[2] = {0, 0};
    for (size_t i = 0; i < of->n; i++) {
        const struct jm_dist *d[2] = {&of->report[i]->tokens.isl, &of->report[i]->tokens.osl};
        for (int k = 0; k < 2; k++)
            if (d[k]->n > 0 && d[k]->p50 > 0) {
                lo[k] = fmin(lo[k], d[k]->p50);
                hi[k] = fmax(hi[k], d[k]->p50);
            }
    }
    snprintf(said, size, "median ISL %.0f to %.0f, OSL %.0f to %.0f", lo[0], hi[0], lo[1], hi[1]);
    return hi[0] > 1.1 * lo[0] || hi[1] > 1.1 * lo[1];
}

static void notes(struct jm_pic *p, const struct jm_picture_of *of, const struct cloud *c)
{
    bool differ = false, sets = false, held = false, invalid = false;
    for (int k = 0; k < AXES; k++)
        common(c, k, &differ);
    for (size_t i = 0; i < c->n; i++) {
        sets |= !same(c->v[i].y->set, c->v[0].y->set);
        held |= c->v[i].held;
        invalid |= c->v[i].invalid;
    }
    jm_pic_note(
        p,
        "Down and left is better. Filled: no other point is better in both (the line is this frontier)."
        "%s%s",
        held ? " Diamonds miss their SLO at p99."
             : " No SLO of the whole load was given (--slo-tpot, --slo-ttft).",
        invalid ? " Dashed: an invalid measurement, never on the frontier." : "");
    if (differ)
        jm_pic_note(p, "Points are held to SLOs of their own, so that no line is drawn for all.");
    char said[160];
    if (of->n > 1 && other_lengths(of, said, sizeof said))
        jm_pic_note(p, "The runs differ in their requests (%s): a part of what is seen here is the load.",
                    said);
    if (sets)
        jm_pic_note(p, "The points count different devices: compare them only where that is what changed.");
    if (c->elsewhere)
        jm_pic_note(p, "%zu of %zu runs have no energy at this boundary and are left out.", c->elsewhere,
                    of->n);
}

void jm_picture_frontier(const struct jm_picture_of *of, struct jm_pic *p)
{
    struct cloud c = {0};
    double v[POINTS], top = 0;
    size_t known = 0;
    if (collect(of, &c)) {
        p->body.failed = true;
        return;
    }
    for (size_t i = 0; i < c.n; i++) {
        v[i] = c.v[i].y->q.value;
        const struct jm_uncertainty *u = &c.v[i].y->q.u;
        top = fmax(top, u->method && isfinite(u->hi) && u->hi < 3 * v[i] ? u->hi : v[i]);
        known += isfinite(c.v[i].x[TPOT]) || isfinite(c.v[i].x[TTFT]);
    }
    if (!c.n || !known) {
        jm_pic_none(p, c.n ? "no request has a time of its tokens"
                           : "there is no energy a token at any boundary");
        free(c.v);
        return;
    }
    if (c.n == 1 && !c.v[0].held) {
        jm_pic_none(p,
                    "there is one point and no SLO: several runs, slices in turn or a load ladder give more");
        free(c.v);
        return;
    }
    jm_str_adds(&p->title, "Energy per token against latency");
    jm_pic_fact(p, "boundary %s", c.v[0].y->set ? c.v[0].y->set : jm_boundary_name((int)c.at));
    jm_pic_fact(p, "J / output tokens of the same window");
    jm_pic_provenance(p, of->report[0], c.worst);
    jm_pic_begin(p);
    struct jm_axis y = {.to = p->y + 48, .from = p->y + 328};
    fit(&y, v, c.n, top, true, "J/token");
    panel(p, &c, TPOT, 84, 436, &y, true);
    panel(p, &c, TTFT, 500, 852, &y, false);
    p->y = y.from + 76;
    table(p, &c);
    notes(p, of, &c);
    free(c.v);
}
