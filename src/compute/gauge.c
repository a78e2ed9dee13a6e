/* SPDX-License-Identifier: Apache-2.0 */
/* Energy from a power gauge, by what one of its values means. */
#include "compute/compute.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/stats.h"
#include "compute/observe.h"
#include "compute/shape.h"

#include "base/banned.h"

#define GAP_PERIODS  5   /* readings further apart than this many of their usual distances leave a gap */
#define GAP_SHARE    0.1 /* more of the window in gaps than this: no value */
#define PARTS        7
#define MAX_SPACINGS 128
#define PHASES       16
#define BEATS        4

struct gauge {
    const struct jm_channel *c;
    const struct jm_reading *r;
    size_t n;
    int64_t origin;
    double len; /* of the window, s */
    enum jm_gauge_sem sem;
    double period, window, spacing, gap_limit;
    double lag; /* centre of a value lies this long before its refresh */
    struct jm_shape shape;
    double poll;                     /* median distance of readings, s */
    struct jm_local inside, near[2]; /* differences inside the window, near its edges */
    double slip[BEATS][PHASES]; /* s W: integral of lateness x dP for lateness that slips with the polls */
    double beats[BEATS];        /* s: the lengths of the beat that are tried */
    double at_edge[2], h_edge[2];
    bool has_edge[2];
};

static double median_spacing(const struct gauge *g)
{
    struct jm_observer o;
    struct jm_observation x;
    double d[MAX_SPACINGS], last = NAN;
    size_t k = 0;
    jm_observer_init(&o, g->c, g->r, g->n, g->origin, g->period, g->poll, INFINITY);
    while (k < MAX_SPACINGS && jm_observer_next(&o, &x)) {
        if (x.at > last && x.at - last > 0.1 * g->poll) /* closer ones are of the ends of a burst */
            d[k++] = x.at - last;
        last = x.at;
    }
    if (!k)
        return 0;
    jm_stats_sort(d, k);
    return jm_stats_quantile_sorted(d, k, 0.5);
}

/* The beat is known roughly where the period is not measured. */
static const double beat_factor[BEATS] = {0.6, 1, 2, 6};
/* Where in its turn: (k + 1/2) / PHASES. */
static const double phase[PHASES] = {0.03125, 0.09375, 0.15625, 0.21875, 0.28125, 0.34375, 0.40625, 0.46875,
                                     0.53125, 0.59375, 0.65625, 0.71875, 0.78125, 0.84375, 0.90625, 0.96875};

/* Time in which polls slip through the refresh once (or, polls being finer, the refresh through the polls).
 * Not measured: published cards refresh every 99 to 104 ms where 100 ms are documented. */
static double beat(const struct gauge *g)
{
    if (g->poll < 0.6 * g->period)
        return 8 * g->period;
    double slip = 0.02 * g->period;
    if (g->c->period_measured && fabs(g->period - g->poll) > 1e-4 * g->period)
        slip = fabs(g->period - g->poll);
    return g->period * g->poll / slip;
}

/* Between two values, clipped to the window: the power rises while the polls are late by d. */
static void slip(struct gauge *g, double a, double ya, double b, double yb)
{
    double lo = a > 0 ? a : 0, hi = b < g->len ? b : g->len;
    if (!(hi > lo) || !(g->period > 0))
        return;
    double rise = (yb - ya) * (hi - lo) / (b - a), at = 0.5 * (lo + hi), most = fmin(g->period, g->poll);
    if (rise == 0)
        return;
    for (int i = 0; i < BEATS; i++) {
        double turns = at / g->beats[i], *sum = g->slip[i];
        bool small = turns < 1e9; /* an int holds its whole part, which is that of what is not negative */
        for (int k = 0; small && k < PHASES; k++) {
            double x = turns + phase[k];
            sum[k] += most * (x - (int)x - 0.5) * rise;
        }
        for (int k = 0; !small && k < PHASES; k++) {
            double x = turns + phase[k];
            sum[k] += most * (x - floor(x) - 0.5) * rise;
        }
    }
}

/* Usual distance of readings. Those around an edge tell nothing of the pace: a slow instrument is read at
 * once and again there, and in a short window there may be more of them than others. Where there are no
 * others the longest distance is the best that is known. */
static double median_poll(const struct gauge *g)
{
    double d[MAX_SPACINGS], longest = 0;
    const struct jm_reading *last = NULL;
    size_t k = 0;
    for (size_t i = 0; i < g->n && k < MAX_SPACINGS; i++) {
        const struct jm_reading *r = &g->r[i];
        bool inside = jm_seconds_between(r->t0, g->origin) >= 0;
        if (i && inside)
            longest = fmax(longest, jm_seconds_between(r->t0, g->r[i - 1].t0));
        if (r->flags & JM_RF_EDGE)
            continue;
        double x = last ? jm_seconds_between(r->t0, last->t0) : 0;
        if (x > 0 && inside)
            d[k++] = x;
        last = r;
    }
    if (!k)
        return longest;
    jm_stats_sort(d, k);
    return jm_stats_quantile_sorted(d, k, 0.5);
}

static void survey(struct gauge *g)
{
    struct jm_observer o;
    struct jm_observation x;
    struct jm_variogram v;
    memset(&v, 0, sizeof v);
    for (int i = 0; i < BEATS; i++)
        g->beats[i] = beat(g) * beat_factor[i];
    double last = NAN, last_y = 0, last_h = 0;
    double reach = g->sem == JM_G_TRAILING_MEAN ? g->window / 2 : 2 * g->spacing;
    jm_observer_init(&o, g->c, g->r, g->n, g->origin, g->period, g->poll, g->gap_limit);
    while (jm_observer_next(&o, &x)) {
        double at = x.at - g->lag, dt = at - last;
        if (x.after_gap || !(dt > 0.4 * g->spacing && dt < 1.8 * g->spacing))
            jm_variogram_break(&v);
        jm_variogram_add(&v, x.value, 0);
        if (dt > 0 && !x.after_gap) {
            slip(g, last, last_y, at, x.value);
            double mid = 0.5 * (at + last), d2 = (x.value - last_y) * (x.value - last_y);
            if (mid >= 0 && mid <= g->len) {
                g->inside.inner2 += d2;
                g->inside.n_inner++;
            }
            for (int e = 0; e < 2; e++)
                if (fabs(mid - (e ? g->len : 0)) <= reach) {
                    g->near[e].inner2 += d2;
                    g->near[e].n_inner++;
                }
        }
        for (int e = 0; e < 2; e++) {
            double t = e ? g->len : 0;
            if (last <= t && at >= t && dt > 0) {
                g->at_edge[e] = last_y + (x.value - last_y) * (t - last) / dt;
                g->h_edge[e] = fmax(x.h, last_h);
                g->has_edge[e] = true;
            }
        }
        last = at;
        last_y = x.value;
        if (x.h > 0 || isnan(last_h))
            last_h = x.h;
    }
    jm_shape_fit(&v, g->spacing, g->window, &g->shape);
}

/* Integral over the part of [a, b] inside the window of the line from (a, ya) to (b, yb). */
static double line_part(double a, double ya, double b, double yb, double len, double *overlap)
{
    double lo = a > 0 ? a : 0, hi = b < len ? b : len;
    *overlap = hi > lo ? hi - lo : 0;
    if (!(hi > lo))
        return 0;
    double slope = (yb - ya) / (b - a);
    return (hi - lo) * (ya + slope * (0.5 * (lo + hi) - a));
}

struct sums {
    double joules, covered, gap_s, gap_var;
    int64_t n_obs, n_gaps, changes;
    double first, last, first_y, last_y;
    bool any;
};

/* Adds the line from (a, ya) to (b, yb). What nobody looked at is a gap: the line stands in for it, with the
 * doubt that it deserves. */
static void add_line(const struct gauge *g, struct sums *s, double a, double ya, double b, double yb,
                     bool gap)
{
    double overlap = 0, part = b > a ? line_part(a, ya, b, yb, g->len, &overlap) : 0;
    if (!(overlap > 0))
        return;
    s->joules += part;
    if (gap) {
        s->n_gaps++;
        s->gap_s += overlap;
        s->gap_var += jm_shape_gap(&g->shape, b - a) * overlap * overlap / ((b - a) * (b - a));
    } else {
        s->covered += overlap;
    }
}

/* Trapezoid over the centres of the values; for contiguous blocks each value over its own block. o: then at
 * its end, where it knows what failed before and after. */
static void integrate(const struct gauge *g, bool blocks, struct sums *s, struct jm_observer *o)
{
    struct jm_observation x;
    double last = 0, last_y = 0;
    jm_observer_init(o, g->c, g->r, g->n, g->origin, g->period, g->poll, g->gap_limit);
    while (jm_observer_next(o, &x)) {
        double at = blocks ? x.at : x.at - g->lag, dt = at - last;
        if (blocks) {
            double from = s->any && !x.after_gap && dt < 1.6 * g->spacing ? last : at - g->period;
            if (s->any && from > last)
                add_line(g, s, last, last_y, from, x.value, true);
            else if (s->any && from < last)
                from = last;
            if (!s->any)
                s->first = from;
            add_line(g, s, from, x.value, at, x.value, false);
        } else if (s->any) {
            add_line(g, s, last, last_y, at, x.value, x.after_gap || dt > g->gap_limit);
        } else {
            s->first = at;
        }
        if (!s->any)
            s->first_y = x.value;
        else if (x.value != last_y && at >= 0 && last <= g->len)
            s->changes++;
        s->n_obs += at >= 0 && at <= g->len;
        s->any = true;
        s->last = last = at;
        s->last_y = last_y = x.value;
    }
}

static void fail(struct jm_energy *out, enum jm_status status, double bound, const char *why)
{
    out->status = status;
    out->joules = out->u = out->dof = out->gain_bound = NAN;
    out->lower_bound = bound;
    snprintf(out->note, sizeof out->note, "%s", why);
}

/* Mean over the unknown position of the edge in its block. */
static double block_edge_var(const struct gauge *g)
{
    double sum = 0;
    for (int i = 0; i < 5; i++) {
        double x = 0.1 + 0.2 * i, t[3] = {0, x * g->spacing, g->spacing}, d[2] = {x - 1, x};
        sum += jm_shape_var(&g->shape, t, d, 2);
    }
    return sum / 5;
}

static const char *method_of(enum jm_gauge_sem sem)
{
    switch (sem) {
    case JM_G_BLOCK_MEAN: return "blocks";
    case JM_G_TRAILING_MEAN: return "trailing-shifted";
    case JM_G_PARTIAL: return "partial-trapezoid";
    default: return "trapezoid";
    }
}

/* A poll is late by something between 0 and the bracket, d(t), and the integral of P(t + d) misses by the
 * integral of d dP. Polls much slower than the refresh are late independently each time; else polls and
 * refreshes slip through each other once a beat: d is a sawtooth of unknown phase. */
static double timing(const struct gauge *g, double *dof)
{
    double h = fmax(g->h_edge[0], g->h_edge[1]), rise = g->at_edge[1] - g->at_edge[0], sum = 0, sum2 = 0;
    *dof = INFINITY;
    if (g->c->flags & JM_CHF_STAMPED || !(g->period > 0))
        return h / sqrt(12) * fabs(rise);
    if (g->poll > 1.6 * g->period)
        return h / sqrt(12) * sqrt(g->inside.inner2);
    for (int i = 0; i < BEATS; i++)
        for (int k = 0; k < PHASES; k++) {
            double e2 = g->slip[i][k] * g->slip[i][k];
            sum += e2;
            sum2 += e2 * e2;
        }
    /* what the error would be for each beat and phase is a distribution: its variance, and the t distribution
     * of its kurtosis */
    double n = BEATS * PHASES, excess = sum > 0 ? n * sum2 / (sum * sum) - 3 : 0;
    if (excess > 0)
        *dof = 4 + 6 / excess;
    return sqrt(sum / n);
}

static void uncertainty(struct gauge *g, const struct sums *s, bool blocks, struct jm_energy *out)
{
    double part[PARTS] = {0}, dof[PARTS];
    for (int i = 0; i < PARTS; i++)
        dof[i] = INFINITY;
    out->u_timing = timing(g, &dof[3]);
    out->u_quantum = fabs(jm_channel_value(g->c, 1)) * g->len / sqrt(12.0 * (double)(s->changes + 1));
    if (g->c->flags & JM_CHF_DOUBLE)
        out->u_quantum = 0;
    out->u_gap = sqrt(s->gap_var);
    bool trailing = g->window > g->spacing;
    if (!blocks && !trailing) {
        double a = jm_shape_local(&g->shape, &g->inside, &dof[0]);
        double cells = g->len / g->spacing + 1;
        /* what is faster than the refresh can hide from the samples here: the whole record speaks for it */
        struct jm_shape fast = jm_shape_part(&g->shape, true), slow = jm_shape_part(&g->shape, false);
        part[0] = sqrt(cells * a * jm_shape_cell(&slow, g->spacing, g->window));
        part[6] = sqrt(cells * jm_shape_cell(&fast, g->spacing, g->window));
        dof[6] = jm_shape_dof(&g->shape);
        out->u_sampling = hypot(part[0], part[6]);
    } else {
        double var = blocks ? block_edge_var(g) : jm_shape_ramp(&g->shape, g->window);
        double scale = blocks ? 1 : g->spacing / g->window * 3;
        for (int e = 0; e < 2; e++) {
            g->near[e].n_inner *= scale;
            g->near[e].inner2 *= scale;
            part[1 + e] = sqrt(jm_shape_local(&g->shape, &g->near[e], &dof[1 + e]) * var);
        }
        out->u_shape = hypot(part[1], part[2]);
        out->alike = blocks ? 0.6 : 1; /* the same ramp for all; blocks of unknown phase share less */
    }
    part[3] = out->u_timing;
    part[4] = out->u_quantum;
    part[5] = out->u_gap;
    double var = 0;
    for (int i = 0; i < PARTS; i++)
        var += part[i] * part[i];
    out->u = sqrt(var);
    out->dof = var > 0 ? jm_stats_welch_dof(part, dof, PARTS) : INFINITY;
}

int jm_energy_gauge(const struct jm_channel *c, const struct jm_reading *r, size_t n, int64_t t0, int64_t t1,
                    struct jm_energy *out)
{
    memset(out, 0, sizeof *out);
    out->joules = out->u = out->dof = out->lower_bound = out->gain_bound = NAN;
    if (!c || (n && !r) || t1 <= t0 || c->kind != JM_CH_GAUGE || c->unit != JM_U_W)
        return JM_EINVAL;
    struct gauge g = {.c = c, .r = r, .n = n, .origin = t0, .len = jm_seconds_between(t1, t0), .sem = c->sem};
    g.period = c->period_ns > 0 ? (double)c->period_ns * 1e-9 : 0;
    g.window = c->window_ns > 0 ? (double)c->window_ns * 1e-9 : 0;
    for (size_t i = 0; i < n; i++)
        if (r[i].t1 >= t0 && r[i].t0 <= t1)
            out->n_readings++;
    g.poll = median_poll(&g);
    g.spacing = median_spacing(&g);
    if (!(g.spacing > 0)) {
        enum jm_status why =
            n ? (enum jm_status)(r[0].status < JM_S_COUNT ? r[0].status : JM_S_GAP) : JM_S_ABSENT;
        fail(out, why == JM_S_OK ? JM_S_GAP : why, NAN, "The gauge has fewer than two readings.");
        return 0;
    }
    g.gap_limit = GAP_PERIODS * fmax(fmax(g.spacing, g.poll), g.period);
    if (g.sem == JM_G_INSTANT)
        g.window = 0;
    if (g.sem == JM_G_BLOCK_MEAN) {
        if (!(g.period > 0) && (c->flags & JM_CHF_STAMPED))
            g.period = g.spacing;
        g.window = g.period;
    }
    if (g.sem == JM_G_TRAILING_MEAN && !(g.window > 0))
        g.window = g.period;
    bool blocks = g.sem == JM_G_BLOCK_MEAN && g.period > 0 && g.spacing < 1.6 * g.period;
    g.lag = g.window / 2;
    survey(&g);
    struct sums s = {0};
    struct jm_observer o;
    integrate(&g, blocks, &s, &o);
    snprintf(out->method, sizeof out->method, "%s", method_of(g.sem));
    out->n_refreshes = s.n_obs;

    double reach = 1.5 * fmax(g.spacing, g.period) + g.window;
    double miss[2] = {s.first > 0 ? s.first : 0, s.last < g.len ? g.len - s.last : 0};
    double y[2] = {s.first_y, s.last_y};
    for (int e = 0; e < 2; e++) {
        if (!(miss[e] > 0))
            continue;
        int bad = e ? o.last_bad : o.first_bad;
        if (miss[e] > reach || miss[e] > g.len) {
            out->covered_s = s.covered;
            out->n_gaps = s.n_gaps + 1;
            out->gap_s = g.len - s.covered;
            fail(out, bad > 0 ? (enum jm_status)bad : JM_S_GAP, s.covered > 0 ? s.joules : NAN,
                 e ? "There is no reading beyond the end of the window."
                   : "There is no reading before the start of the window.");
            return 0;
        }
        s.joules += y[e] * miss[e];
        s.n_gaps++;
        s.gap_s += miss[e];
        s.gap_var += jm_shape_gap(&g.shape, 2 * miss[e]) / 2;
        if (!g.has_edge[e])
            g.at_edge[e] = y[e];
    }
    out->covered_s = s.covered;
    out->n_gaps = s.n_gaps;
    out->gap_s = s.gap_s;
    if (s.gap_s > GAP_SHARE * g.len) {
        fail(out, JM_S_GAP, s.joules, "More than a tenth of the window has no reading.");
        return 0;
    }
    if (s.n_obs < 2) {
        fail(out, JM_S_BELOW_RESOLUTION, NAN, "The gauge refreshed less than twice inside the window.");
        return 0;
    }
    out->joules = s.joules;
    uncertainty(&g, &s, blocks, out);
    if (!isnan(c->gain_tol))
        out->gain_bound =
            c->gain_tol * fabs(out->joules) + (isnan(c->offset_tol) ? 0 : c->offset_tol * g.len);
    out->status = JM_S_OK;
    snprintf(out->note, sizeof out->note, "%.0f ms apart, refresh known to %.1f ms", g.spacing * 1e3,
             fmax(g.h_edge[0], g.h_edge[1]) * 1e3);
    return 0;
}
