/* SPDX-License-Identifier: Apache-2.0 */
/* Energy of a cumulative counter over a window whose edges are not its own refreshes. */
#include "compute/compute.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/stats.h"
#include "compute/observe.h"
#include "compute/refresh.h"

#include "base/banned.h"

/* No single device that a counter belongs to draws more (an 8-GPU tray stays below it). */
#define SANE_WATTS 20000.0
/* A counter that stands still this long, and that many periods, is frozen, unless one count is so much energy
 * (a kWh register) that this many watts would not have moved it. */
#define STALE_S       2.0
#define STALE_PERIODS 20
#define STALE_WATTS   1.0
/* A register that moves by many counts at once (0.1 kWh) tells too little before it has moved this often. */
#define COARSE_STEPS 10
#define MAX_SPACINGS 128
#define MIN_RUN      4
/* Two refresh intervals of unknown phase around the same edge share a part of their errors: by derivation 0.6
 * for a straight line through white noise, less for a cubic; 0.3 is what sums over counters show. */
#define ALIKE 0.3

struct scan {
    const struct jm_channel *c;
    int64_t origin; /* seconds are relative to it */
    double t0, t1;
    double period; /* s, 0: not known */
    double per_count;
    double step; /* J by which the register moves at once: one count, or many of a coarse one */
    double max_watts;
    struct jm_edge edge[2];
    struct jm_variogram fine, coarse;
    struct jm_interval_feed feed;
    struct jm_refresh far_last; /* the last refresh that went into coarse */
    bool has_far;
    double far_sum, far_n; /* spacings of those */
    /* since the last start */
    uint64_t cum;
    double cum_double;
    int64_t n_inside;
    double first_in, last_in; /* joules of the first and last refresh inside the window */
    double first_in_t, last_in_t;
    double still_since;   /* time of the last refresh */
    double longest_still; /* inside the window */
};

static double seconds(const struct scan *s, int64_t t)
{
    return jm_seconds_between(t, s->origin);
}

static double joules(const struct scan *s)
{
    if (s->c->flags & JM_CHF_DOUBLE)
        return s->cum_double * s->per_count;
    return jm_channel_value(s->c, (int64_t)s->cum);
}

static double as_double(int64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Scale of one count. */
static double per_count(const struct jm_channel *c)
{
    struct jm_channel plain = *c;
    plain.flags &= ~(unsigned)JM_CHF_DOUBLE;
    return jm_channel_value(&plain, 1);
}

/* Refresh period, s: median spacing of refreshes with narrow brackets; else what the channel says; else,
 * where every poll of a stretch saw a new value, the spacing of those polls (it is no longer than that). */
static double find_period(const struct jm_channel *c, const struct jm_reading *r, size_t n)
{
    double x[MAX_SPACINGS], every = INFINITY, run_from = 0;
    size_t k = 0, run = 0;
    const struct jm_reading *prev = NULL;
    double last = NAN, last_h = 0;
    for (size_t i = 0; i < n && k < MAX_SPACINGS; i++) {
        if (r[i].status != JM_S_OK) {
            prev = NULL;
            last = NAN;
            run = 0;
            continue;
        }
        if (prev && r[i].value != prev->value && r[i].t0 >= prev->t0) {
            double h = jm_seconds_between(r[i].t1, prev->t0),
                   t = jm_seconds_between(r[i].t1, r[0].t0) - h / 2;
            double d = t - last;
            if (d > 0 && h <= JM_NARROW * d && last_h <= JM_NARROW * d)
                x[k++] = d;
            last = t;
            last_h = h;
            if (run == 0)
                run_from = t;
            run++;
            if (run > MIN_RUN && (t - run_from) / (double)(run - 1) < every)
                every = (t - run_from) / (double)(run - 1);
        } else {
            run = 0;
        }
        prev = &r[i];
    }
    if (k >= 4) {
        jm_stats_sort(x, k);
        return jm_stats_quantile_sorted(x, k, 0.4);
    }
    if (c->period_ns > 0)
        return (double)c->period_ns * 1e-9;
    return isfinite(every) ? every : 0;
}

static void start(struct scan *s, double t)
{
    for (int i = 0; i < 2; i++)
        s->edge[i].n_before = s->edge[i].n_after = 0;
    s->cum = 0;
    s->cum_double = 0;
    memset(&s->feed, 0, sizeof s->feed);
    s->has_far = false;
    jm_variogram_break(&s->fine);
    jm_variogram_break(&s->coarse);
    s->still_since = t;
}

static void push(struct scan *s, const struct jm_refresh *r)
{
    for (int i = 0; i < 2; i++)
        jm_edge_push(&s->edge[i], r);
    jm_interval_feed_push(&s->feed, &s->fine, r, s->period, s->per_count);
    double mid = (r->lo + r->hi) / 2, h = r->hi - r->lo, far = 5 * (s->period > h ? s->period : h);
    double dt = s->has_far ? mid - (s->far_last.lo + s->far_last.hi) / 2 : 0;
    if (s->has_far && dt >= far && dt > 0) {
        double p = (r->joules - s->far_last.joules) / dt;
        if (s->far_n > 0 && dt > 1.5 * s->far_sum / s->far_n)
            jm_variogram_break(&s->coarse);
        jm_variogram_add(&s->coarse, p, p * p * h * h / (2 * dt * dt));
        s->far_sum += dt;
        s->far_n++;
    }
    if (!s->has_far || dt >= far) {
        s->far_last = *r;
        s->has_far = true;
    }
    if (mid >= s->t0 && mid <= s->t1) {
        if (s->n_inside == 0) {
            s->first_in = r->joules;
            s->first_in_t = mid;
        }
        s->last_in = r->joules;
        s->last_in_t = mid;
        s->n_inside++;
    }
    s->still_since = r->hi;
}

enum step { STEP_FORWARD, STEP_WRAP, STEP_RESET, STEP_AMBIGUOUS, STEP_JUMP };

/* From one reading to the next: how far did the counter move? Also what a decrease means. */
static enum step advance(struct scan *s, const struct jm_reading *a, const struct jm_reading *b)
{
    const struct jm_channel *c = s->c;
    double dt = jm_seconds_between(b->t1, a->t0) + 2 * s->period;
    double most = s->max_watts * dt;
    double seen = most + s->step; /* two readings of a moment may have a whole step between them */
    if (c->flags & JM_CHF_DOUBLE) {
        double d = as_double(b->value) - as_double(a->value);
        if (!isfinite(d) || d < 0)
            return STEP_RESET;
        if (c->sane_max > 0 && d * s->per_count > seen)
            return STEP_JUMP;
        s->cum_double += d;
        return STEP_FORWARD;
    }
    uint64_t from = (uint64_t)a->value, to = (uint64_t)b->value, m = c->modulus;
    bool wrap = to < from;
    if (m > 0 && (from >= m || to >= m) && wrap)
        return STEP_RESET; /* not a value of a counter with this modulus */
    if (m > 0 && most > (double)m * s->per_count)
        return STEP_AMBIGUOUS;
    if (wrap && m == 0)
        return STEP_RESET;
    uint64_t d = wrap ? m - from + to : to - from;
    if ((double)d * s->per_count > seen && (wrap || c->sane_max > 0))
        return wrap ? STEP_RESET : STEP_JUMP;
    s->cum += d;
    return wrap ? STEP_WRAP : STEP_FORWARD;
}

static void fail(struct jm_energy *out, enum jm_status status, double bound, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static void fail(struct jm_energy *out, enum jm_status status, double bound, const char *fmt, ...)
{
    va_list ap;
    out->status = status;
    out->joules = out->u = out->dof = out->gain_bound = NAN;
    out->lower_bound = bound;
    va_start(ap, fmt);
    vsnprintf(out->note, sizeof out->note, fmt, ap);
    va_end(ap);
}

static void finish(struct scan *s, struct jm_energy *out)
{
    struct jm_shape shape;
    if (s->fine.n[0] >= 4 || s->coarse.n[0] < 2)
        jm_shape_fit(&s->fine, s->period, s->period, &shape);
    else
        jm_shape_fit(&s->coarse, s->far_sum / s->far_n, s->far_sum / s->far_n, &shape);
    struct jm_edge_value v[2];
    for (int i = 0; i < 2; i++) {
        if (!jm_edge_estimate(&s->edge[i], s->period, s->per_count, &shape, &v[i])) {
            fail(out, i ? JM_S_STALE : JM_S_GAP, s->last_in - s->first_in,
                 "The counter was not seen to refresh around the %s of the window.", i ? "end" : "start");
            return;
        }
    }
    out->joules = v[1].joules - v[0].joules;
    out->u_timing = hypot(v[0].u_timing, v[1].u_timing);
    out->u_quantum = hypot(v[0].u_quantum, v[1].u_quantum);
    out->u_shape = hypot(v[0].u_shape, v[1].u_shape);
    double parts[4] = {v[0].u_shape, v[1].u_shape, out->u_timing, out->u_quantum};
    double dofs[4] = {v[0].dof_shape, v[1].dof_shape, INFINITY, INFINITY};
    out->u = hypot(hypot(out->u_timing, out->u_quantum), out->u_shape);
    out->dof = out->u > 0 ? jm_stats_welch_dof(parts, dofs, 4) : INFINITY;
    if (!isnan(s->c->gain_tol))
        out->gain_bound = s->c->gain_tol * fabs(out->joules);
    out->alike = ALIKE;
    out->status = out->wrapped ? JM_S_WRAPPED : JM_S_OK;
    bool narrow =
        s->period > 0 && v[0].bracket <= JM_NARROW * s->period && v[1].bracket <= JM_NARROW * s->period;
    snprintf(out->method, sizeof out->method, "%s", narrow ? "counter-burst" : "counter-plain");
    snprintf(out->note, sizeof out->note, "edges %s and %s, refresh known to %.1f ms and %.1f ms",
             jm_edge_rule_name(v[0].rule), jm_edge_rule_name(v[1].rule), v[0].bracket * 1e3,
             v[1].bracket * 1e3);
}

/* What readings tell besides the counter itself. */
struct seen {
    const struct jm_reading *prev;   /* last ok reading */
    enum jm_status bad;              /* of the readings since then */
    enum jm_status first_bad;        /* of what failed before the first ok reading */
    bool before, after, zero, slept; /* ok readings beyond both edges; all of them 0; suspended inside */
    double lower;                    /* what surely went through inside the window */
};

/* The counter stood still over [from, to]: how much of that lies inside the window? */
static void stood(struct scan *s, double from, double to)
{
    double lo = from > s->t0 ? from : s->t0, hi = to < s->t1 ? to : s->t1;
    if (hi - lo > s->longest_still)
        s->longest_still = hi - lo;
}

/* Increments after reading i that lie inside the window, for the lower bound. */
static double rest_of_window(const struct scan *s, const struct jm_reading *r, size_t n, size_t i, int64_t t1)
{
    double sum = 0;
    for (size_t k = i + 1; k < n && r[k].t1 <= t1; k++) {
        struct scan one = {.c = s->c,
                           .period = s->period,
                           .per_count = s->per_count,
                           .step = s->step,
                           .max_watts = s->max_watts};
        if (r[k].status != JM_S_OK || r[k - 1].status != JM_S_OK || r[k].t0 < r[k - 1].t0)
            continue;
        enum step st = advance(&one, &r[k - 1], &r[k]);
        if (st == STEP_FORWARD || st == STEP_WRAP)
            sum += joules(&one);
    }
    return sum;
}

static void broken(const struct scan *s, enum step st, double bound, double gap, double at,
                   struct jm_energy *out)
{
    if (st == STEP_AMBIGUOUS)
        fail(out, JM_S_WRAPPED, bound,
             "More than one wrap could hide in the %.3f s between two readings (at up to %.0f W).", gap,
             s->max_watts);
    else if (st == STEP_JUMP)
        fail(out, JM_S_IMPLAUSIBLE, bound,
             "The counter moved by more than %.0f W allow, %.3f s into the window.", s->max_watts, at);
    else
        fail(out, JM_S_RESET, bound, "The counter started again %.3f s into the window.", at);
}

/* The counter between two ok readings. False: out says why there is no value. */
static bool follow(struct scan *s, struct seen *w, const struct jm_reading *r, size_t n, size_t i, int64_t t0,
                   int64_t t1, struct jm_energy *out)
{
    const struct jm_reading *a = w->prev, *b = &r[i];
    double was = joules(s), from = seconds(s, a->t0), at0 = seconds(s, b->t0), at1 = seconds(s, b->t1);
    bool overlap = a->t0 <= t1 && b->t1 >= t0;
    enum step st = advance(s, a, b);
    if (w->bad == JM_S_RESET) /* the instrument itself told so: its time of reset, its restart */
        st = STEP_RESET;
    if (st != STEP_FORWARD && st != STEP_WRAP) {
        if (overlap) {
            broken(s, st, w->lower + rest_of_window(s, r, n, i, t1), at1 - from, at1, out);
            return false;
        }
        start(s, at1); /* before the window: begin anew */
        return true;
    }
    double now = joules(s);
    if (a->t0 >= t0 && b->t1 <= t1)
        w->lower += now - was;
    if (overlap && st == STEP_WRAP)
        out->wrapped = true;
    if (overlap && w->bad != JM_S_OK)
        out->gap_s += seconds(s, b->t0) - seconds(s, a->t1);
    if (b->value != a->value) {
        if (w->bad == JM_S_OK)
            stood(s, s->still_since, from);
        struct jm_refresh e = {from, at1, now};
        if (s->period > 0 && at0 - s->period > e.lo)
            e.lo = at0 - s->period;
        push(s, &e);
    } else {
        stood(s, s->still_since, at0);
    }
    return true;
}

static void look(struct scan *s, struct seen *w, const struct jm_reading *r, size_t n, int64_t t0, int64_t t1,
                 struct jm_energy *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct jm_reading *b = &r[i];
        bool inside = b->t1 >= t0 && b->t0 <= t1;
        out->n_readings += inside;
        if (b->t1 < b->t0 || (w->prev && b->t0 < w->prev->t0))
            continue; /* out of order: no reading */
        if (b->status != JM_S_OK || ((s->c->flags & JM_CHF_DOUBLE) && !isfinite(as_double(b->value)))) {
            out->n_gaps += inside && w->bad == JM_S_OK;
            if (w->bad != JM_S_RESET)
                w->bad =
                    b->status < JM_S_COUNT && b->status != JM_S_OK ? (enum jm_status)b->status : JM_S_GAP;
            if (!w->prev)
                w->first_bad = w->bad;
            if (inside && w->bad == JM_S_SUSPENDED)
                w->slept = true;
            continue;
        }
        if (!w->prev) {
            double at0 = seconds(s, b->t0), at1 = seconds(s, b->t1);
            start(s, at1);
            if (s->period > 0) { /* it books nothing, but says where the counter stood */
                struct jm_refresh first = {at0 - s->period, at1, 0};
                push(s, &first);
            }
        } else if (w->prev->t0 > t1 && w->after) {
            struct scan past = *s; /* what breaks after the window ends the context, and nothing else */
            enum step st = advance(&past, w->prev, b);
            if (st != STEP_FORWARD && st != STEP_WRAP)
                return;
            follow(s, w, r, n, i, t0, t1, out);
        } else if (!follow(s, w, r, n, i, t0, t1, out)) {
            return;
        }
        w->bad = JM_S_OK;
        w->zero = w->zero && b->value == 0;
        w->before = w->before || b->t0 <= t0;
        w->after = w->after || b->t1 >= t1;
        w->prev = b;
    }
}

int jm_energy_counter(const struct jm_channel *c, const struct jm_reading *r, size_t n, int64_t t0,
                      int64_t t1, struct jm_energy *out)
{
    memset(out, 0, sizeof *out);
    out->joules = out->u = out->dof = out->lower_bound = out->gain_bound = NAN;
    if (!c || (n && !r) || t1 <= t0 || c->kind != JM_CH_COUNTER || c->unit != JM_U_J)
        return JM_EINVAL;
    snprintf(out->method, sizeof out->method, "counter");
    struct scan s = {.c = c, .origin = t0, .t1 = jm_seconds_between(t1, t0), .per_count = per_count(c)};
    struct seen w = {.zero = true};
    s.max_watts = c->sane_max > 0 ? c->sane_max : SANE_WATTS;
    /* a register of 0.1 kWh moves by many counts of its channel at once */
    s.step = isfinite(c->offset_tol) && c->offset_tol > s.per_count ? c->offset_tol : s.per_count;
    s.period = find_period(c, r, n);
    s.edge[1].t = s.t1;
    look(&s, &w, r, n, t0, t1, out);
    out->n_refreshes = s.n_inside;
    out->covered_s = s.n_inside > 1 ? s.last_in_t - s.first_in_t : 0;
    if (out->status != JM_S_OK)
        return 0;
    double stale = STALE_PERIODS * s.period > STALE_S ? STALE_PERIODS * s.period : STALE_S;
    if (!w.prev)
        fail(out, w.bad != JM_S_OK ? w.bad : JM_S_ABSENT, NAN, "The counter was never read.");
    else if (w.slept)
        fail(out, JM_S_SUSPENDED, w.lower, "The machine slept inside the window.");
    else if (!w.before)
        fail(out, w.first_bad != JM_S_OK ? w.first_bad : JM_S_GAP, w.lower,
             "There is no reading before the start of the window.");
    else if (!w.after)
        fail(out, w.bad != JM_S_OK ? w.bad : JM_S_GAP, w.lower,
             "There is no reading after the end of the window.");
    else if (s.longest_still > stale && w.zero)
        fail(out, JM_S_ABSENT, NAN, "The counter stood at 0 throughout: nothing is behind it.");
    else if (s.longest_still > stale && s.step < s.longest_still * STALE_WATTS)
        fail(out, JM_S_STALE, w.lower, "The counter did not move for %.1f s of a window of %.1f s.",
             s.longest_still, s.t1);
    else if (s.step > s.per_count && !(w.lower >= COARSE_STEPS * s.step))
        fail(out, JM_S_BELOW_RESOLUTION, w.lower,
             "The counter comes in steps of %.6g J and passed fewer than %d of them in %.3f s.", s.step,
             COARSE_STEPS, s.t1);
    else if (s.n_inside < 2)
        fail(out, JM_S_BELOW_RESOLUTION, w.lower,
             "The counter refreshed %lld times inside a window of %.3f s; two are needed.",
             (long long)s.n_inside, s.t1);
    else {
        finish(&s, out);
        if (s.step > s.per_count) /* each end is somewhere in its step */
            out->u = hypot(out->u, s.step / sqrt(6));
    }
    return 0;
}
