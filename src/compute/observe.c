/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/observe.h"

#include <math.h>
#include <string.h>

#include "base/banned.h"

int64_t jm_add_ns(int64_t a, int64_t b)
{
    int64_t s;
    return __builtin_add_overflow(a, b, &s) ? (b < 0 ? INT64_MIN : INT64_MAX) : s;
}

void jm_observer_init(struct jm_observer *o, const struct jm_channel *c, const struct jm_reading *r, size_t n,
                      int64_t origin, double period, double poll, double gap_limit)
{
    memset(o, 0, sizeof *o);
    o->c = c;
    o->r = r;
    o->n = n;
    o->origin = origin;
    o->period = period;
    o->step = period > poll ? period : poll;
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

/* Repeats between the last observation and `until`, evenly: where in its constant stretch a value was
 * refreshed does not matter, but the last of them must be one step before the change. */
static void plan_holds(struct jm_observer *o, double until)
{
    double n = o->step > 0 ? round((until - o->prev_at) / o->step) : 0;
    o->holds = n > 1 && n < 1e9 ? (size_t)n - 1 : 0;
    o->hold_step = (until - o->prev_at) / (n > 1 ? n : 1);
}

static void give(struct jm_observer *o, struct jm_observation *out, double at, double h, double value,
                 bool gap)
{
    if (o->has_prev && at <= o->prev_at)
        at = o->prev_at + 1e-9;
    *out = (struct jm_observation){.at = at, .h = h, .value = value, .after_gap = gap};
    o->prev_at = at;
    o->prev_value = value;
    o->has_prev = true;
}

bool jm_observer_next(struct jm_observer *o, struct jm_observation *out)
{
    bool stamped = (o->c->flags & JM_CHF_STAMPED) || !(o->period > 0);
    for (;;) {
        if (o->holds > 0) {
            o->holds--;
            give(o, out, o->prev_at + o->hold_step, 0, o->prev_value, false);
            return true;
        }
        if (o->has_next) {
            o->has_next = false;
            give(o, out, o->next.at, o->next.h, o->next.value, o->next.after_gap);
            return true;
        }
        if (o->i >= o->n)
            return false;
        const struct jm_reading *r = &o->r[o->i++];
        double t0 = jm_seconds_between(r->t0, o->origin), t1 = jm_seconds_between(r->t1, o->origin),
               value = 0;
        bool first = !o->has_prev, last = o->i == o->n;
        if (t1 >= t0 && (first || t0 >= o->prev_t0)) {
            if (usable(o, r, &value)) {
                bool late = !first && (o->bad || t0 - o->prev_t1 > o->gap_limit);
                bool changed = first || late || stamped || r->value != o->prev_native;
                if (changed) {
                    double lo = stamped ? t0 : t0 - o->period;
                    if (!stamped && !first && !late && o->prev_t0 > lo)
                        lo = o->prev_t0;
                    o->next = (struct jm_observation){0.5 * (lo + t1), t1 - lo, value, late};
                    o->has_next = true;
                    if (!first && !stamped) {
                        /* a gap leaves what stood before it standing until its last reading only */
                        double until = late ? o->prev_t1 - 0.5 * o->period : o->next.at;
                        plan_holds(o, until);
                    }
                    o->prev_native = r->value;
                }
                o->prev_t0 = t0;
                o->prev_t1 = t1;
                o->bad = false;
                o->last_bad = 0;
                if (!changed && last)
                    plan_holds(o, t1 - 0.5 * o->period + o->step);
                continue;
            }
            int st = r->status == JM_S_OK ? JM_S_IMPLAUSIBLE : r->status < JM_S_COUNT ? r->status : JM_S_GAP;
            if (first)
                o->first_bad = st;
            o->last_bad = st;
            o->bad = true;
        }
        if (last && !stamped && !first) /* the data end with something else than a usable reading */
            plan_holds(o, o->prev_t1 - 0.5 * o->period + o->step);
    }
}
