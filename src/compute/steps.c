/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "compute/calc.h"
#include "compute/observe.h"
#include "model/steps.h"

#include "base/banned.h"

#define LAG_MIN    (-0.3)
#define LAG_MAX    1.8 /* below the rest of 2 s, less what a window takes */
#define WINDOW_MAX 1.5
#define SHOWN_MAX  60000
#define SHOWN_USED 4000
#define FOLLOWS    0.8 /* correlation of an instrument that others are compared with */
#define BESIDE_NS  (12 * JM_NS_PER_S)
#define FAR        (INT64_MAX / 4) /* no time of a real mark; sums and differences of the rest fit */

void jm_steps_release(struct jm_steps *s)
{
    free(s->course);
    free(s->room);
    *s = (struct jm_steps){0};
}

int jm_steps_of(const struct jm_run *run, struct jm_steps *out, struct jm_err *err)
{
    size_t n, k = 0;
    const struct jm_mark *m = jm_run_marks(run, &n);
    struct jm_course *c = NULL;
    *out = (struct jm_steps){.reference = -1};
    out->course = calloc(n + 1, sizeof *out->course);
    out->room = calloc(2 * n + 2, sizeof *out->room);
    if (!out->course || !out->room) {
        jm_steps_release(out);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the steps of load");
    }
    double *t = out->room, *y = out->room + n + 1;
    for (size_t i = 0; i < n; i++) {
        bool on = strcmp(m[i].name, JM_STEP_ON) == 0, off = strcmp(m[i].name, JM_STEP_OFF) == 0,
             end = strcmp(m[i].name, JM_STEP_END) == 0;
        if ((!on && !off && !end) || m[i].t > FAR || m[i].t < -FAR)
            continue;
        if (!out->n && !c)
            out->origin = out->first = m[i].t;
        double at = jm_seconds_between(m[i].t, out->origin);
        out->last = m[i].t;
        if (end && c) {
            c->end = at;
            c = NULL;
            continue;
        }
        if (end)
            continue;
        if (!c) {
            c = &out->course[out->n++];
            *c = (struct jm_course){.t = t + k, .y = y + k};
        }
        t[k] = at;
        y[k++] = on;
        c->n++;
        c->end = at;
    }
    return 0;
}

/* As a channel states it; NAN: it is to be found. */
static double window_of(const struct jm_channel *c)
{
    if (c->kind == JM_CH_COUNTER)
        return 0;
    switch (c->sem) {
    case JM_G_TRAILING_MEAN:
    case JM_G_PARTIAL: return c->window_ns > 0 ? (double)c->window_ns / 1e9 : NAN;
    case JM_G_BLOCK_MEAN: return c->period_ns > 0 ? (double)c->period_ns / 1e9 : NAN;
    case JM_G_INSTANT: break;
    }
    return 0;
}

int jm_steps_lag(const struct jm_run *run, const struct jm_steps *s, const struct jm_channel *c,
                 bool free_window, struct jm_lag *out, struct jm_period *period, struct jm_err *err)
{
    struct jm_readings r = {0};
    struct jm_shown *shown = NULL;
    size_t n = 0;
    if (!s->n || !jm_energy_channel(c))
        return jm_err_set(err, JM_EABSENT, "%s",
                          s->n ? "the channel is no energy or power" : "the run has no steps of load");
    int rc = jm_run_readings(run, c->id, s->first - BESIDE_NS, s->last + BESIDE_NS, &r, err);
    if (!rc && !(shown = calloc(SHOWN_MAX, sizeof *shown)))
        rc = jm_err_set(err, JM_ENOMEM, "out of memory for the lag of %s", c->name);
    if (!rc) {
        /* within the patterns it is polled and moves as nowhere else: what is between them counts little */
        if (!jm_period_find(r.v, r.n, period) || period->below)
            period->u = NAN;
        double p = free_window ? (isfinite(period->u) ? period->period : 0) : (double)c->period_ns / 1e9;
        for (size_t k = 0; k < s->n; k++) {
            int64_t from = s->origin + (int64_t)(s->course[k].t[0] * 1e9),
                    to = s->origin + (int64_t)(s->course[k].end * 1e9);
            n += jm_lag_shown(c, r.v, r.n, s->origin, from, to, p, shown + n, SHOWN_MAX - n);
        }
        /* an instrument that shows something new at each look: more looks than steps can tell apart */
        size_t every = n / SHOWN_USED + 1, kept = 0;
        for (size_t i = 0; every > 1 && i < n; i += every)
            shown[kept++] = shown[i];
        n = every > 1 ? kept : n;
        struct jm_lag_ask ask = {.window = free_window && c->kind != JM_CH_COUNTER ? NAN : window_of(c),
                                 .window_max = WINDOW_MAX,
                                 .lag_min = LAG_MIN,
                                 .lag_max = LAG_MAX};
        rc = jm_lag_find(s->course, s->n, shown, n, &ask, out, err);
    }
    free(shown);
    jm_readings_release(&r);
    return rc;
}

/* How long ago is, in the mean, what a value of it tells: the shorter the better a reference. */
static double slowness(const struct jm_channel *c, const struct jm_period *p)
{
    double period = p->score > 0 && isfinite(p->u) ? p->period
                    : c->period_ns > 0             ? (double)c->period_ns / 1e9
                                                   : p->poll,
           w = window_of(c);
    return c->kind == JM_CH_COUNTER ? 2 * period : period + (isfinite(w) ? w : 0);
}

/* Two instruments that are equally fast: the one whose accuracy is known to be better, then the clearer one.
 */
static bool preferred(const struct jm_channel *a, double slow_a, double r_a, const struct jm_channel *b,
                      double slow_b, double r_b)
{
    if (slow_a < 0.8 * slow_b || slow_b < 0.8 * slow_a)
        return slow_a < slow_b;
    double ga = isnan(a->gain_tol) ? INFINITY : a->gain_tol, gb = isnan(b->gain_tol) ? INFINITY : b->gain_tol;
    return ga != gb ? ga < gb : r_a > r_b;
}

/* Each value stands for the time around the middle of what it is a mean of, half-way to its neighbours. */
static int course_of(const struct jm_run *run, struct jm_steps *s, const struct jm_channel *c,
                     const struct jm_lag *l, const struct jm_period *p, struct jm_err *err)
{
    struct jm_readings r = {0};
    struct jm_shown *shown = calloc(SHOWN_MAX, sizeof *shown);
    struct jm_course *course = calloc(s->n + 1, sizeof *course);
    double *room = calloc(2 * SHOWN_MAX, sizeof *room), *t = room, *y = room ? room + SHOWN_MAX : NULL;
    size_t n = 0, made = 0;
    int rc = shown && course && room
                 ? jm_run_readings(run, c->id, s->first - BESIDE_NS, s->last + BESIDE_NS, &r, err)
                 : jm_err_set(err, JM_ENOMEM, "out of memory for the course of %s", c->name);
    double period = isfinite(p->u) ? p->period : (double)c->period_ns / 1e9, w = window_of(c);
    w = isfinite(w) && w > 0 ? w : 0;
    for (size_t k = 0; !rc && k < s->n; k++) {
        int64_t from = s->origin + (int64_t)(s->course[k].t[0] * 1e9),
                to = s->origin + (int64_t)(s->course[k].end * 1e9);
        size_t m = jm_lag_shown(c, r.v, r.n, s->origin, from, to, period, shown, SHOWN_MAX - n);
        struct jm_course *x = &course[made];
        double before = 0;
        *x = (struct jm_course){.t = t + n, .y = y + n};
        for (size_t i = 0; i < m; i++) {
            /* its middle; from half-way to the one before */
            double mid = shown[i].at - 0.5 * (isfinite(shown[i].mean) ? shown[i].mean : w), at = mid;
            if (i)
                at = 0.5 * (mid + before);
            else
                at = mid - 0.5 * fmax(isfinite(shown[i].mean) ? shown[i].mean : period, w);
            before = mid;
            if (x->n && at < x->t[x->n - 1])
                at = x->t[x->n - 1];
            t[n] = at;
            y[n++] = (shown[i].y - l->offset) / l->gain;
            x->n++;
            x->end = fmax(at, mid);
        }
        made += x->n > 0;
    }
    jm_readings_release(&r);
    free(shown);
    if (!rc && !made)
        rc = jm_err_set(err, JM_EABSENT, "%s shows nothing beside the steps of load", c->name);
    if (rc) {
        free(course);
        free(room);
        return rc;
    }
    free(s->course);
    free(s->room);
    s->course = course;
    s->room = room;
    s->n = made;
    s->reference = c->id;
    return 0;
}

int jm_steps_by_instrument(const struct jm_run *run, struct jm_steps *s, struct jm_err *err)
{
    const char *kind = jm_run_env(run, "steps.load");
    size_t n;
    const struct jm_channel *c = jm_run_channels(run, &n), *best = NULL;
    struct jm_lag lag = {0};
    struct jm_period period = {0};
    if (!s->n || !kind || strcmp(kind, "engine") != 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        struct jm_lag l;
        struct jm_period p = {0};
        if (!jm_energy_channel(&c[i]) || c[i].provenance == JM_P_ESTIMATED)
            continue;
        int rc = jm_steps_lag(run, s, &c[i], false, &l, &p, err);
        if (rc)
            return rc;
        if (l.verdict != JM_LAG_OK || !(l.r >= FOLLOWS) || !(l.gain > 0))
            continue;
        if (!best || preferred(&c[i], slowness(&c[i], &p), l.r, best, slowness(best, &period), lag.r)) {
            best = &c[i];
            lag = l;
            period = p;
        }
    }
    if (!best)
        return jm_err_set(err, JM_EABSENT,
                          "no instrument followed the load, so that none can be the measure of the others");
    return course_of(run, s, best, &lag, &period, err);
}

/* A gauge is moved by a lag that is surely there and more than what its edges are known to. */
#define WORTH_S 0.02

int jm_lags_make(struct jm_calc *c)
{
    struct jm_report *r = c->r;
    struct jm_steps s;
    double percent;
    const char *text = jm_run_env(c->run, "plan.tolerance_percent");
    r->tolerance = text && !jm_num_double(jm_span_of(text), &percent) && percent > 0 ? percent / 100 : 0;
    int rc = jm_steps_of(c->run, &s, c->err);
    if (!rc && s.n) {
        struct jm_err why = {0};
        rc = jm_steps_by_instrument(c->run, &s, &why);
        if (rc == JM_EABSENT)
            rc = 0; /* said channel by channel: none follows */
        else if (rc)
            *c->err = why;
    }
    r->lag_reference = s.reference;
    if (!rc && s.n) {
        r->lags = jm_report_alloc(r, (r->n_channels ? r->n_channels : 1) * sizeof *r->lags);
        rc = r->lags ? 0 : jm_err_set(c->err, JM_ENOMEM, "out of memory for the lags");
    }
    for (size_t i = 0; !rc && s.n && i < r->n_channels; i++) {
        const struct jm_channel *ch = &r->channels[i];
        struct jm_lag l;
        struct jm_period p;
        if (!jm_energy_channel(ch))
            continue;
        rc = jm_steps_lag(c->run, &s, ch, false, &l, &p, c->err);
        if (rc)
            break;
        const char *why = jm_report_text(r, "%s", l.why);
        if (!why)
            rc = jm_err_set(c->err, JM_ENOMEM, "out of memory for the lags");
        r->lags[r->n_lags++] =
            (struct jm_lag_row){.channel = ch->id,
                                .verdict = jm_lag_verdict_name((int)l.verdict),
                                .lag = l.lag,
                                .u = l.u_lag,
                                .r = l.r,
                                .confidence = isnan(l.r) ? NAN : l.confidence,
                                .used = l.verdict == JM_LAG_OK && ch->kind == JM_CH_GAUGE &&
                                        ch->id != s.reference && l.lag > 3 * l.u_lag && l.lag >= WORTH_S,
                                .why = why};
    }
    jm_steps_release(&s);
    return rc;
}
