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
#define BESIDE_NS  (12 * JM_NS_PER_S)

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
    *out = (struct jm_steps){0};
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
        if (!on && !off && !end)
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
                                        l.lag > 3 * l.u_lag && l.lag >= WORTH_S,
                                .why = why};
    }
    jm_steps_release(&s);
    return rc;
}
