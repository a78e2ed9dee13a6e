/* SPDX-License-Identifier: Apache-2.0 */
/* Energy of power samples that come one by one, weighted by time, in constant memory: as compute/gauge.c does
 * it for a mean over contiguous blocks of one second. A sample stands for the time since the one before it,
 * up to 1.6 times the usual distance; what is between that and the block of the next one is bridged by a
 * line. Samples further apart than 1.6 s as a rule are no contiguous blocks: a trapezoid over their centres.
 */
#include <math.h>

#include "base/stats.h"
#include "mlperf/parts.h"

#include "base/banned.h"

#define PERIOD      1.0 /* s, of a sample of PTDaemon at "Go,1000,..." */
#define CONTIGUOUS  1.6
#define GAP_PERIODS 5
#define GAP_SHARE   0.1  /* more of the window in gaps than this: no value */
#define BESIDE_S    60.0 /* samples further from the window than this do not matter */
#define EARLY       (sizeof((struct jm_mlperf_weigh *)0)->early / sizeof(struct jm_mlperf_observation))

void jm_mlperf_weigh_init(struct jm_mlperf_weigh *w, int64_t begin, int64_t end)
{
    *w = (struct jm_mlperf_weigh){.origin = begin, .len = (double)(end - begin) * 1e-9, .last_at = NAN};
}

/* Integral over the part of [a, b] inside the window of the line from (a, ya) to (b, yb). */
static double line(struct jm_mlperf_weigh *w, double a, double ya, double b, double yb, bool gap)
{
    double lo = a > 0 ? a : 0, hi = b < w->len ? b : w->len;
    if (!(b > a) || !(hi > lo))
        return 0;
    double slope = (yb - ya) / (b - a);
    w->joules += (hi - lo) * (ya + slope * (0.5 * (lo + hi) - a));
    *(gap ? &w->gap_s : &w->covered) += hi - lo;
    return hi - lo;
}

static void take(struct jm_mlperf_weigh *w, const struct jm_mlperf_observation *x)
{
    double at = w->blocks ? x->at : x->at - PERIOD / 2, dt = at - w->last, own;
    if (w->blocks) {
        double from = w->any && !x->after_gap && dt < CONTIGUOUS * w->spacing ? w->last : at - PERIOD;
        if (w->any && from > w->last)
            line(w, w->last, w->last_y, from, x->watts, true);
        else if (w->any && from < w->last)
            from = w->last;
        if (!w->any)
            w->first = from;
        own = line(w, from, x->watts, at, x->watts, false);
    } else if (w->any) {
        own = 0.5 * line(w, w->last, w->last_y, at, x->watts, x->after_gap || dt > w->gap_limit);
    } else {
        w->first = at;
        own = 0;
    }
    if (x->over)
        w->over_s += own;
    if (!w->any)
        w->first_y = x->watts;
    w->n_obs += at >= 0 && at <= w->len;
    w->any = true;
    w->last = at;
    w->last_y = x->watts;
}

/* The usual distance of samples is known, or no more will come. */
static void decide(struct jm_mlperf_weigh *w)
{
    double d[EARLY];
    size_t k = 0;
    for (size_t i = 1; i < w->n_early; i++)
        d[k++] = w->early[i].at - w->early[i - 1].at;
    jm_stats_sort(d, k);
    w->spacing = k ? jm_stats_quantile_sorted(d, k, 0.5) : 0;
    w->gap_limit = GAP_PERIODS * fmax(w->spacing, PERIOD);
    w->blocks = w->spacing < CONTIGUOUS * PERIOD;
    w->decided = true;
    for (size_t i = 0; i < w->n_early; i++)
        take(w, &w->early[i]);
}

void jm_mlperf_weigh_add(struct jm_mlperf_weigh *w, int64_t t, bool usable, int64_t uw, bool over)
{
    double at = (double)(t - w->origin) * 1e-9;
    if (at < -BESIDE_S || at > w->len + BESIDE_S)
        return;
    if (!usable) {
        w->bad = true;
        return;
    }
    if (at <= w->last_at)
        at = w->last_at + 1e-9;
    struct jm_mlperf_observation x = {
        .at = at, .watts = (double)uw * 1e-6, .after_gap = w->bad && !isnan(w->last_at), .over = over};
    w->last_at = at;
    w->bad = false;
    if (w->decided) {
        take(w, &x);
        return;
    }
    w->early[w->n_early++] = x;
    if (w->n_early == EARLY - 1)
        decide(w);
}

void jm_mlperf_weigh_end(struct jm_mlperf_weigh *w, struct jm_mlperf_power *out)
{
    if (!w->decided)
        decide(w);
    out->seconds = w->len;
    out->joules = out->bridged_s = out->over_s = NAN;
    out->covers_begin = w->any && w->first <= 0;
    out->covers_end = w->any && w->last >= w->len;
    if (!(w->spacing > 0))
        return;
    /* a log that begins or ends within a sample or two of the window still speaks for it */
    double reach = 1.5 * fmax(w->spacing, PERIOD) + PERIOD;
    double miss[2] = {w->first > 0 ? w->first : 0, w->last < w->len ? w->len - w->last : 0};
    double y[2] = {w->first_y, w->last_y};
    for (int e = 0; e < 2; e++) {
        if (miss[e] > reach || miss[e] > w->len)
            return;
        w->joules += y[e] * miss[e];
        w->gap_s += miss[e];
    }
    out->bridged_s = w->gap_s;
    out->over_s = w->over_s;
    if (w->gap_s > GAP_SHARE * w->len || w->n_obs < 2)
        return;
    out->joules = w->joules;
}
