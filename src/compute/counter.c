/* SPDX-License-Identifier: Apache-2.0 */
/* Energy of a cumulative counter over a window whose edges are not its own refreshes. */
#include "compute/compute.h"

#include <inttypes.h>
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
/* A counter that stands still this long, and that many periods, is frozen. */
#define STALE_S       2.0
#define STALE_PERIODS 20
#define MAX_SPACINGS  128
/* Two refresh intervals of unknown phase around the same edge share a part of their errors: by derivation 0.6
 * for a straight line through white noise, less for a cubic; 0.3 is what sums over counters show. */
#define ALIKE 0.3

struct scan {
    const struct jm_channel *c;
    int64_t origin; /* seconds are relative to it */
    double t0, t1;
    double period; /* s, 0: not known */
    double per_count;
    double max_watts;
    struct jm_edge edge[2];
    struct jm_variogram fine, coarse;
    struct jm_interval_feed feed, coarse_feed;
    double narrow_spacing; /* running sum and count of the spacings that went into fine */
    /* since the last start */
    uint64_t cum;
    double cum_double;
    int64_t n_inside;
    double first_in, last_in; /* joules of the first and last refresh inside the window */
    double first_in_t, last_in_t;
    double still_since; /* time of the last refresh */
    double longest_still;
    double swing; /* energy over all readings, for the mean power */
    double begin, end;
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

/* Refresh period: median spacing of refreshes with narrow brackets; else what the channel says. */
static double find_period(const struct jm_channel *c, const struct jm_reading *r, size_t n)
{
    double x[MAX_SPACINGS];
    size_t k = 0;
    const struct jm_reading *prev = NULL;
    double last = NAN, last_h = 0;
    for (size_t i = 0; i < n && k < MAX_SPACINGS; i++) {
        if (r[i].status != JM_S_OK) {
            prev = NULL;
            last = NAN;
            continue;
        }
        if (prev && r[i].value != prev->value && r[i].t0 >= prev->t0) {
            double h = jm_seconds_between(r[i].t1, prev->t0);
            double t = jm_seconds_between(r[i].t1 / 2 + prev->t0 / 2, r[0].t0);
            double d = t - last;
            if (d > 0 && h <= JM_NARROW * d && last_h <= JM_NARROW * d)
                x[k++] = d;
            last = t;
            last_h = h;
        }
        prev = &r[i];
    }
    if (k >= 4) {
        jm_stats_sort(x, k);
        return jm_stats_quantile_sorted(x, k, 0.4);
    }
    return c->period_ns > 0 ? (double)c->period_ns * 1e-9 : 0;
}

static void start(struct scan *s, double t)
{
    for (int i = 0; i < 2; i++)
        s->edge[i].n_before = s->edge[i].n_after = 0;
    s->cum = 0;
    s->cum_double = 0;
    memset(&s->feed, 0, sizeof s->feed);
    memset(&s->coarse_feed, 0, sizeof s->coarse_feed);
    jm_variogram_break(&s->fine);
    jm_variogram_break(&s->coarse);
    s->still_since = t;
}

static void push(struct scan *s, const struct jm_refresh *r)
{
    for (int i = 0; i < 2; i++)
        jm_edge_push(&s->edge[i], r);
    jm_interval_feed_push(&s->feed, &s->fine, r, s->period, s->per_count);
    double mid = (r->lo + r->hi) / 2;
    double h = r->hi - r->lo, far = 5 * (s->period > h ? s->period : h);
    if (!s->coarse_feed.has_last) {
        s->coarse_feed.last = *r;
        s->coarse_feed.has_last = true;
    } else {
        double dt = mid - (s->coarse_feed.last.lo + s->coarse_feed.last.hi) / 2;
        if (dt >= far && dt > 0) {
            double p = (r->joules - s->coarse_feed.last.joules) / dt;
            jm_variogram_add(&s->coarse, p, p * p * h * h / (2 * dt * dt));
            s->coarse_feed.last = *r;
        }
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
    if (c->flags & JM_CHF_DOUBLE) {
        double d = as_double(b->value) - as_double(a->value);
        if (!isfinite(d) || d < 0)
            return STEP_RESET;
        if (c->sane_max > 0 && d * s->per_count > most)
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
    if ((double)d * s->per_count > most && (wrap || c->sane_max > 0))
        return wrap ? STEP_RESET : STEP_JUMP;
    s->cum += d;
    return wrap ? STEP_WRAP : STEP_FORWARD;
}

__attribute__((format(printf, 4, 5))) static void fail(struct jm_energy *out, enum jm_status status,
                                                       double bound, const char *fmt, ...)
{
    va_list ap;
    out->status = status;
    out->joules = out->u = out->dof = NAN;
    out->gain_bound = NAN;
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
        jm_shape_fit(&s->coarse, 5 * s->period, 5 * s->period, &shape);
    struct jm_edge_value v[2];
    for (int i = 0; i < 2; i++) {
        if (!jm_edge_estimate(&s->edge[i], s->period, s->per_count, &shape, &v[i])) {
            fail(out, JM_S_GAP, s->last_in - s->first_in,
                 "The counter was not seen to refresh before the edge at %.3f s of the window.",
                 i ? s->t1 - s->t0 : 0, 0);
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

static const char *const status_note[JM_S_COUNT] = {
    [JM_S_ABSENT] = "The counter was absent",
    [JM_S_DENIED] = "Reading the counter was denied",
    [JM_S_UNSUPPORTED] = "The device does not support the counter",
    [JM_S_LOST] = "The device was lost",
};

int jm_energy_counter(const struct jm_channel *c, const struct jm_reading *r, size_t n, int64_t t0,
                      int64_t t1, struct jm_energy *out)
{
    memset(out, 0, sizeof *out);
    out->joules = out->u = out->dof = out->lower_bound = out->gain_bound = NAN;
    if (!c || (n && !r) || t1 <= t0 || c->kind != JM_CH_COUNTER || c->unit != JM_U_J)
        return JM_EINVAL;
    snprintf(out->method, sizeof out->method, "counter");
    struct scan s = {.c = c, .origin = t0, .t1 = jm_seconds_between(t1, t0), .per_count = per_count(c)};
    s.max_watts = c->sane_max > 0 ? c->sane_max : SANE_WATTS;
    s.period = find_period(c, r, n);
    s.edge[0].t = 0;
    s.edge[1].t = s.t1;
    double stale = STALE_PERIODS * s.period > STALE_S ? STALE_PERIODS * s.period : STALE_S;

    const struct jm_reading *prev = NULL; /* last ok reading */
    enum jm_status bad_at[2] = {JM_S_OK, JM_S_OK}, bad = JM_S_OK;
    bool seen_before = false, seen_after = false, all_zero = true, suspended = false;
    double lower = 0;
    for (size_t i = 0; i < n; i++) {
        const struct jm_reading *b = &r[i];
        double at0 = seconds(&s, b->t0), at1 = seconds(&s, b->t1);
        bool inside = b->t1 >= t0 && b->t0 <= t1;
        if (inside)
            out->n_readings++;
        if (b->t1 < b->t0 || (prev && b->t0 < prev->t0))
            continue; /* out of order: no reading */
        if (b->status != JM_S_OK || ((c->flags & JM_CHF_DOUBLE) && !isfinite(as_double(b->value)))) {
            enum jm_status st =
                b->status < JM_S_COUNT && b->status != JM_S_OK ? (enum jm_status)b->status : JM_S_GAP;
            if (inside && bad == JM_S_OK)
                out->n_gaps++;
            if (st == JM_S_SUSPENDED && inside)
                suspended = true;
            bad = st;
            if (at1 <= 0)
                bad_at[0] = st;
            if (at0 >= s.t1 && !seen_after)
                bad_at[1] = bad_at[1] == JM_S_OK ? st : bad_at[1];
            continue;
        }
        if (!prev) {
            start(&s, at1);
            s.begin = at1;
            if (s.period > 0) {
                struct jm_refresh first = {at0 - s.period, at1, 0};
                push(&s, &first);
            }
        } else if (prev && b->t0 >= prev->t0) {
            double was = joules(&s), gap = at1 - seconds(&s, prev->t1);
            bool overlap = prev->t0 <= t1 && b->t1 >= t0;
            if (bad != JM_S_OK && overlap)
                out->gap_s += gap;
            enum step st = advance(&s, prev, b);
            if (st == STEP_FORWARD || st == STEP_WRAP) {
                double now = joules(&s);
                if (prev->t0 >= t0 && b->t1 <= t1)
                    lower += now - was;
                if (st == STEP_WRAP && overlap)
                    out->wrapped = true;
                if (b->value != prev->value) {
                    double lo = seconds(&s, prev->t0);
                    if (overlap && lo - s.still_since > s.longest_still && bad == JM_S_OK)
                        s.longest_still = lo - s.still_since;
                    if (s.period > 0 && at0 - s.period > lo)
                        lo = at0 - s.period;
                    struct jm_refresh e = {lo, at1, now};
                    push(&s, &e);
                } else if (overlap && at0 - s.still_since > s.longest_still && at0 <= s.t1 + stale) {
                    s.longest_still = at0 - s.still_since;
                }
            } else if (overlap) {
                double bound = lower;
                for (size_t k = i + 1; k < n && r[k].t1 <= t1; k++)
                    if (r[k].status == JM_S_OK && r[k - 1].status == JM_S_OK) {
                        struct scan rest = s;
                        rest.cum = 0;
                        rest.cum_double = 0;
                        enum step q = advance(&rest, &r[k - 1], &r[k]);
                        if (q == STEP_FORWARD || q == STEP_WRAP)
                            bound += joules(&rest);
                    }
                if (st == STEP_AMBIGUOUS) {
                    fail(out, JM_S_WRAPPED, bound,
                         "More than one wrap could hide in the %.3f s between two readings (%.0f W are "
                         "possible).",
                         gap, s.max_watts);
                } else if (st == STEP_JUMP) {
                    fail(out, JM_S_IMPLAUSIBLE, bound,
                         "The counter moved by more than %.0f W allow at %.3f s of the window.", s.max_watts,
                         at1);
                } else {
                    fail(out, JM_S_RESET, bound, "The counter started again at %.3f s of the window.", at1);
                }
                return 0;
            } else if (b->t0 > t1) {
                break; /* after the window: nothing that follows belongs to it */
            } else {
                start(&s, at1);
                out->wrapped = false;
                lower = 0;
            }
        }
        bad = JM_S_OK;
        if (b->value != 0)
            all_zero = false;
        if (b->t0 <= t0)
            seen_before = true;
        if (b->t0 <= t0)
            bad_at[0] = JM_S_OK;
        if (b->t1 >= t1)
            seen_after = true;
        prev = b;
        s.end = at1;
    }
    if (bad != JM_S_OK && !seen_after)
        bad_at[1] = bad;
    out->n_refreshes = s.n_inside;
    out->covered_s = s.n_inside > 1 ? s.last_in_t - s.first_in_t : 0;
    if (!prev) {
        enum jm_status why = bad != JM_S_OK ? bad : JM_S_ABSENT;
        fail(out, why, NAN, "The counter was never read.");
        return 0;
    }
    if (suspended) {
        fail(out, JM_S_SUSPENDED, lower, "The machine slept inside the window.");
        return 0;
    }
    if (!seen_before || !seen_after) {
        enum jm_status why = seen_before ? bad_at[1] : bad_at[0];
        double where = seen_before ? s.t1 : 0;
        if (!status_note[why])
            fail(out, why == JM_S_OK ? JM_S_GAP : why, lower,
                 "There is no reading beyond the edge at %.3f s of the window.", where);
        else
            fail(out, why, lower, "%s at the edge at %.3f s of the window.", status_note[why], where);
        return 0;
    }
    if (s.longest_still > stale) {
        if (all_zero)
            fail(out, JM_S_ABSENT, NAN, "The counter stood at 0 throughout: it is not connected.");
        else
            fail(out, JM_S_STALE, lower, "The counter did not move for %.1f s of a window of %.1f s.",
                 s.longest_still, s.t1);
        return 0;
    }
    if (s.n_inside < 2) {
        fail(out, JM_S_BELOW_RESOLUTION, lower,
             "The counter refreshed %.0f times inside a window of %.3f s; two are needed.",
             (double)s.n_inside, s.t1);
        return 0;
    }
    finish(&s, out);
    return 0;
}
