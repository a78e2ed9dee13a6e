/* SPDX-License-Identifier: Apache-2.0 */
/* The worst case of a window's energy, from the readings around its edges (model/bound.h). */
#include <math.h>
#include <stdlib.h>

#include "compute/calc.h"
#include "compute/observe.h"
#include "model/bound.h"

#include "base/banned.h"

static double seconds(int64_t ns)
{
    return ns > 0 ? (double)ns / 1e9 : 0;
}

/* Power between two readings, or at one; NAN: none. */
static double power(const struct jm_channel *c, const struct jm_reading *a, const struct jm_reading *b)
{
    if (c->kind == JM_CH_GAUGE)
        return jm_channel_value(c, b->value);
    double dt = jm_seconds_between(b->t0, a->t0),
           j = jm_channel_value(c, b->value) - jm_channel_value(c, a->value);
    return dt > 0 && j >= 0 ? j / dt : NAN;
}

/* What lies within reach of the edge, and the two readings on either side of it at least. Rates of a counter
 * are taken over a refresh or more: over less they are 0 or a jump. */
static void at_edge(const struct jm_channel *c, const struct jm_reading *r, size_t n, int64_t t,
                    double period, double clock_s, struct jm_bound_edge *out)
{
    size_t at = 0, from, to;
    while (at < n && r[at].t1 < t)
        at++;
    out->clock_s = 0;
    out->refresh_s = period;
    out->average_s = c->kind == JM_CH_GAUGE && c->sem != JM_G_INSTANT ? seconds(c->window_ns) : 0;
    size_t before = at > 0 ? at - 1 : 0, after = at < n ? at : n - 1;
    out->poll_s = fmax(0, jm_seconds_between(r[after].t0, r[before].t1));
    double trip =
        fmax(jm_seconds_between(r[before].t1, r[before].t0), jm_seconds_between(r[after].t1, r[after].t0));
    out->clock_s = ((c->flags & JM_CHF_STAMPED) ? 0 : trip / 2) + clock_s;
    double reach = 2 * (out->clock_s + out->refresh_s + out->average_s + out->poll_s), lo = INFINITY,
           hi = -INFINITY;
    for (from = before; from > 0 && jm_seconds_between(t, r[from].t1) < reach; from--)
        ;
    for (to = after; to + 1 < n && jm_seconds_between(r[to].t0, t) < reach; to++)
        ;
    from = from > 0 ? from - 1 : 0;
    to = to + 1 < n ? to + 1 : n - 1;
    size_t last = from;
    for (size_t i = from; i <= to; i++) {
        if (r[i].status != JM_S_OK)
            continue;
        if (r[last].status != JM_S_OK)
            last = i;
        if (c->kind == JM_CH_COUNTER) { /* from refresh to refresh, and not within one */
            if (jm_seconds_between(r[i].t0, r[last].t0) < fmax(2 * period, 1e-3))
                continue;
        }
        double w = power(c, &r[last], &r[i]);
        last = i;
        if (isnan(w))
            continue;
        lo = fmin(lo, w);
        hi = fmax(hi, w);
    }
    out->swing_w = hi >= lo ? hi - lo : NAN;
}

void jm_energy_bound(const struct jm_channel *c, const struct jm_reading *r, size_t n, int64_t t0, int64_t t1,
                     double clock_s, const struct jm_energy *e, struct jm_bound *out)
{
    struct jm_bound_edge edge[2];
    *out = (struct jm_bound){.total = NAN};
    if (n < 2 || !jm_energy_has_value(e))
        return;
    double period = seconds(c->period_ns),
           quantum = c->kind == JM_CH_COUNTER ? fabs(jm_channel_value(c, 1)) : 0;
    if (c->flags & JM_CHF_DOUBLE)
        quantum = 0;
    at_edge(c, r, n, t0, period, clock_s, &edge[0]);
    at_edge(c, r, n, t1, period, clock_s, &edge[1]);
    jm_bound_make(edge, quantum, e->gain_bound, out);
}
