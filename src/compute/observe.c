/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/observe.h"

#include <math.h>
#include <string.h>

#include "base/banned.h"

double jm_seconds_between(int64_t a, int64_t b)
{
    int64_t d;
    if (__builtin_sub_overflow(a, b, &d))
        return (double)a * 1e-9 - (double)b * 1e-9;
    return (double)d * 1e-9;
}

void jm_observer_init(struct jm_observer *o, const struct jm_channel *c, const struct jm_reading *r, size_t n,
                      int64_t origin, double period, double gap_limit)
{
    memset(o, 0, sizeof *o);
    o->c = c;
    o->r = r;
    o->n = n;
    o->origin = origin;
    o->period = period;
    o->gap_limit = gap_limit;
}

static bool usable(const struct jm_observer *o, const struct jm_reading *r, double *value)
{
    if (r->status != JM_S_OK)
        return false;
    *value = jm_channel_value(o->c, r->value);
    if (!isfinite(*value))
        return false;
    return !(o->c->sane_min < o->c->sane_max) || (*value >= o->c->sane_min && *value <= o->c->sane_max);
}

static void emit(struct jm_observer *o, struct jm_observation *out, double at, double h, double value)
{
    if (o->has_prev && at <= o->prev_at)
        at = o->prev_at + 1e-9;
    out->at = at;
    out->h = h;
    out->value = value;
    out->after_gap = o->pending_gap;
    o->pending_gap = false;
    o->prev_at = at;
}

bool jm_observer_next(struct jm_observer *o, struct jm_observation *out)
{
    bool stamped = o->c->flags & JM_CHF_STAMPED;
    for (; o->i < o->n; o->i++) {
        const struct jm_reading *r = &o->r[o->i];
        double t0 = jm_seconds_between(r->t0, o->origin), t1 = jm_seconds_between(r->t1, o->origin),
               value = 0;
        if (t1 < t0 || (o->has_prev && t0 < o->prev_t0))
            continue;
        if (!usable(o, r, &value)) {
            int st = r->status == JM_S_OK ? JM_S_IMPLAUSIBLE : r->status < JM_S_COUNT ? r->status : JM_S_GAP;
            if (!o->has_prev)
                o->first_bad = st;
            o->last_bad = st;
            o->bad = true;
            continue;
        }
        bool first = !o->has_prev, late = !first && (o->bad || t0 - o->prev_t1 > o->gap_limit);
        bool changed = first || late || r->value != o->prev_native;
        double at = 0.5 * (t0 + t1), h = t1 - t0;
        if (!stamped && o->period > 0) {
            double lo = t0 - o->period;
            if (!first && !late && changed && o->prev_t0 > lo)
                lo = o->prev_t0;
            at = 0.5 * (lo + t1);
            h = t1 - lo;
            if (!changed && at - o->prev_at < 0.9 * o->period) {
                o->prev_t0 = t0;
                o->prev_t1 = t1;
                o->bad = false;
                o->last_bad = 0;
                continue;
            }
            if (!changed) { /* refreshed with the same value: when, within its constant stretch, does not
                               matter */
                at = o->prev_at + o->period;
                h = 0;
            }
        }
        if (late)
            o->pending_gap = true;
        emit(o, out, at, h, value);
        o->has_prev = true;
        o->bad = false;
        o->last_bad = 0;
        o->prev_native = r->value;
        o->prev_value = value;
        o->prev_t0 = t0;
        o->prev_t1 = t1;
        /* a long constant stretch gives one observation a period: stay at this reading until it is used up */
        if (!changed && !stamped && o->period > 0 &&
            0.5 * (t0 - o->period + t1) - o->prev_at >= 0.9 * o->period)
            return true;
        o->i++;
        return true;
    }
    return false;
}
