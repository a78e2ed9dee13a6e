/* SPDX-License-Identifier: Apache-2.0 */
/* The table behind every boundary: each channel that has energy or power, integrated over each window. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/calc.h"
#include "compute/correct.h"
#include "compute/observe.h"
#include "compute/ratio.h"
#include "model/bound.h"

#include "base/banned.h"

#define MARGIN_MAX (600 * JM_NS_PER_S) /* no instrument is slower; a file that says so is not believed */

/* Channels that are integrated: energy counters, and gauges of power drawn (not of limits). */
bool jm_energy_channel(const struct jm_channel *ch)
{
    if (ch->kind == JM_CH_COUNTER)
        return ch->unit == JM_U_J;
    return ch->kind == JM_CH_GAUGE && ch->unit == JM_U_W && strncmp(ch->name, "power", 5) == 0 &&
           !strstr(ch->name, "limit");
}

/* Boot time goes on while the machine sleeps, the monotonic clock does not: a window with a suspend inside is
 * none. */
static bool suspended(const struct jm_run *run, int64_t t0, int64_t t1)
{
    size_t n;
    const struct jm_clock_pair *p = jm_run_clock_pairs(run, &n);
    for (size_t i = 1; i < n; i++) {
        double slept =
            jm_seconds_between(p[i].boot, p[i - 1].boot) - jm_seconds_between(p[i].mono0, p[i - 1].mono0);
        if (p[i].mono1 >= t0 && p[i - 1].mono0 <= t1 && slept > 0.1 && p[i - 1].boot && p[i].boot)
            return true;
    }
    return false;
}

/* Readings around a window beyond its margin: a slow or rarely read instrument still needs some on either
 * side. */
#define BESIDE 32

/* First reading at or after t. */
static size_t at_or_after(const struct jm_readings *r, int64_t t)
{
    size_t lo = 0, hi = r->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (r->v[mid].t1 < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The lag that a channel was found to have, where it is worth moving its readings by it: a gauge, and more
 * than three of its standard uncertainties. Counters are fast, and their refreshes have been found already.
 */
static const struct jm_lag_row *lag_of(const struct jm_calc *c, const struct jm_channel *ch)
{
    for (size_t i = 0; i < c->r->n_lags; i++)
        if (c->r->lags[i].channel == ch->id && c->r->lags[i].used)
            return &c->r->lags[i];
    return NULL;
}

static int integrate(const struct jm_channel *ch, const struct jm_reading *r, size_t n, int64_t t0,
                     int64_t t1, struct jm_energy *e)
{
    return ch->kind == JM_CH_COUNTER ? jm_energy_counter(ch, r, n, t0, t1, e)
                                     : jm_energy_gauge(ch, r, n, t0, t1, e);
}

/* By how much later than it was drawn something is shown: a lag, and a clock of the instrument's own that is
 * ahead. */
struct late {
    double s, u;
    const char *why; /* NULL: not at all */
};

/* What was drawn in the window was shown later. How far that is not known moves both edges alike: half of the
 * difference that one standard deviation to either side makes. */
static int integrate_late(const struct jm_channel *ch, const struct late *l, const struct jm_reading *r,
                          size_t n, int64_t t0, int64_t t1, struct jm_energy *e)
{
    int64_t by = (int64_t)(l->s * 1e9), u = (int64_t)(l->u * 1e9);
    struct jm_energy early, late;
    int rc = integrate(ch, r, n, jm_add_ns(t0, by), jm_add_ns(t1, by), e);
    if (rc || !l->why || !jm_energy_has_value(e))
        return rc;
    if (integrate(ch, r, n, jm_add_ns(t0, by - u), jm_add_ns(t1, by - u), &early) ||
        !jm_energy_has_value(&early) ||
        integrate(ch, r, n, jm_add_ns(t0, by + u), jm_add_ns(t1, by + u), &late) ||
        !jm_energy_has_value(&late))
        return 0;
    double d = (late.joules - early.joules) / 2;
    e->u_timing = hypot(e->u_timing, d);
    e->u = hypot(e->u, d);
    if (!e->note[0])
        snprintf(e->note, sizeof e->note, "moved by %s of %.0f ms", l->why, 1e3 * l->s);
    return 0;
}

static int measure(struct jm_calc *c, const struct jm_channel *ch, const struct late *l,
                   const struct jm_reading *r, size_t n, const struct jm_window *w, double clock_s,
                   struct jm_energy *e, struct jm_bound *b)
{
    int64_t by = (int64_t)(l->s * 1e9);
    int rc = integrate_late(ch, l, r, n, w->t0, w->t1, e);
    if (rc)
        return jm_err_set(c->err, rc, "channel %s of %s cannot be integrated over window %s", ch->name,
                          ch->device, w->name);
    jm_energy_bound(ch, r, n, jm_add_ns(w->t0, by), jm_add_ns(w->t1, by), clock_s + 3 * l->u, e, b);
    return 0;
}

static int one(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_channel *ch, int64_t margin,
               const struct jm_readings *all, struct jm_energy *e)
{
    *e = (struct jm_energy){.status = JM_S_GAP,
                            .joules = NAN,
                            .u = NAN,
                            .dof = NAN,
                            .lower_bound = NAN,
                            .gain_bound = NAN,
                            .bound = NAN,
                            .raw = NAN,
                            .needs_s = NAN};
    size_t from = at_or_after(all, jm_add_ns(w->w->t0, -margin)),
           to = at_or_after(all, jm_add_ns(w->w->t1, margin));
    from = from > BESIDE ? from - BESIDE : 0;
    to = to + BESIDE < all->n ? to + BESIDE : all->n;
    if (to <= from) {
        /* a device that fell silent before the window is missing from it, not absent from the count */
        snprintf(e->method, sizeof e->method, "none");
        snprintf(e->note, sizeof e->note, "no readings in this window");
        return 0;
    }
    const struct jm_reading *r = all->v + from;
    size_t n = to - from;
    const struct jm_lag_row *own = lag_of(c, ch);
    const struct jm_correction *k = jm_correction_of(c, ch->id);
    struct jm_clock_doubt clock;
    int rc = jm_clock_doubt(c, ch, w->w->t0 / 2 + w->w->t1 / 2, &clock);
    struct late late = {clock.offset_s, 0, clock.offset_s != 0 ? "the instrument's own clock" : NULL};
    struct jm_bound b = {0};
    if (own)
        late = (struct late){late.s + own->lag, own->u, "its lag"};
    if (!rc)
        rc = measure(c, ch, &late, r, n, w->w, clock.bound_s, e, &b);
    if (!rc && k) {
        double plain = e->joules;
        bool lag = !own && isfinite(k->lag);
        if (lag)
            late = (struct late){late.s + k->lag, k->u_lag, "its lag"};
        rc = measure(c, &k->channel, &late, r, n, w->w, clock.bound_s, e, &b);
        if (!rc)
            jm_correct(k, lag, w->seconds, e, &b);
        e->raw = plain;
    }
    double half = jm_energy_halfwidth(e, jm_calc_level(c), false);
    /* a few equal values show no swing: what is certain is never less than what is likely */
    if (half > b.total) {
        b.edges += half - b.total;
        b.total = half;
    }
    e->bound = b.total;
    e->needs_s = c->r->tolerance > 0 ? jm_bound_needs(&b, e->joules, w->seconds, c->r->tolerance) : NAN;
    return rc;
}

/* All windows of one channel: its readings are decoded once. e[k * stride] is that of window k. */
static int channel(struct jm_calc *c, const struct jm_channel *ch, struct jm_readings *all,
                   struct jm_energy *e, size_t stride)
{
    /* a margin beside the window: edges are interpolated between refreshes on both sides, and how rough the
     * power is shows in some seconds of it */
    int64_t period = ch->period_ns > 0 && ch->period_ns < MARGIN_MAX ? ch->period_ns : JM_NS_PER_S,
            mean = ch->window_ns < MARGIN_MAX ? ch->window_ns : MARGIN_MAX,
            margin = 4 * period + 2 * mean + 10 * JM_NS_PER_S, from = INT64_MAX, to = INT64_MIN;
    for (size_t k = 0; k < c->n_win; k++) {
        from = c->win[k].w->t0 < from ? c->win[k].w->t0 : from;
        to = c->win[k].w->t1 > to ? c->win[k].w->t1 : to;
    }
    all->n = 0;
    int rc = jm_run_readings(c->run, ch->id, jm_add_ns(from, -margin), jm_add_ns(to, margin), all, c->err);
    for (size_t k = 0; !rc && k < c->n_win; k++)
        rc = one(c, &c->win[k], ch, margin, all, e + k * stride);
    return rc;
}

static int row(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_channel *ch, bool slept,
               struct jm_energy *e)
{
    struct jm_energy_row *x = jm_report_energy(c->r);
    if (!x)
        return JM_ENOMEM;
    if (slept)
        e->status = JM_S_SUSPENDED;
    x->window = w->index;
    x->channel = ch->id;
    x->domain = ch->domain;
    x->status = e->status;
    x->method = jm_report_text(c->r, "%s", e->method);
    x->note = e->note[0] ? jm_report_text(c->r, "%s", e->note) : NULL;
    x->covered_s = e->covered_s;
    x->u = e->u;
    x->dof = e->dof > 0 ? e->dof : INFINITY;
    x->gap_s = e->gap_s;
    x->refreshes = e->n_refreshes;
    x->bound = e->bound;
    x->raw = e->raw;
    const struct jm_correction *k = jm_correction_of(c, ch->id);
    if (k) {
        x->correction = jm_report_text(c->r, "%s", e->correction);
        x->passport = jm_report_text(c->r, "%s", k->file->sha256);
        if (!x->correction || !x->passport)
            return JM_ENOMEM;
    }
    x->needs_s = e->needs_s;
    /* wrapped with a value: the wrap was undone */
    if (jm_energy_has_value(e)) {
        double half = jm_energy_halfwidth(e, jm_calc_level(c), true);
        x->status = JM_S_OK;
        x->joules = e->joules;
        x->lo = e->joules - half;
        x->hi = e->joules + half;
    } else {
        x->lower_bound = e->lower_bound;
    }
    return x->method && (x->note || !e->note[0]) ? 0 : JM_ENOMEM;
}

int jm_energy_rows(struct jm_calc *c)
{
    size_t n, stride = 0, at = 0;
    const struct jm_channel *ch = jm_run_channels(c->run, &n);
    struct jm_readings all = {0};
    int rc = 0;
    for (size_t i = 0; i < n; i++)
        stride += jm_energy_channel(&ch[i]);
    if (!stride || !c->n_win)
        return 0;
    c->energy = calloc(c->n_win, stride * sizeof *c->energy);
    if (!c->energy)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the energy table");
    for (size_t i = 0; !rc && i < n; i++)
        if (jm_energy_channel(&ch[i]))
            rc = channel(c, &ch[i], &all, c->energy + at++, stride);
    jm_readings_release(&all);
    for (size_t k = 0; !rc && k < c->n_win; k++) {
        struct jm_calc_window *w = &c->win[k];
        bool slept = suspended(c->run, w->w->t0, w->w->t1);
        w->row0 = c->r->n_energy;
        for (size_t i = 0; !rc && i < n; i++)
            if (jm_energy_channel(&ch[i]) && row(c, w, &ch[i], slept, &c->energy[c->r->n_energy]))
                rc = jm_err_set(c->err, JM_ENOMEM, "out of memory for the energy table");
        w->row1 = c->r->n_energy;
    }
    return rc;
}
