/* SPDX-License-Identifier: Apache-2.0 */
/* Levels of load: all there, reached, and in the order that physics gives them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit/checks.h"
#include "audit/threshold.h"
#include "base/num.h"

#include "base/banned.h"

static double half(const struct jm_result *x)
{
    return x->q.u.method ? (x->q.u.hi - x->q.u.lo) / 2 : 0;
}

static bool known(const struct jm_result *x)
{
    return x->metric && x->q.have && isfinite(x->q.value);
}

/* More load takes no less power, beyond what both intervals and JM_TH_LADDER_POWER allow. */
static int power(struct jm_report *r, const struct jm_ladder *l, struct jm_err *err)
{
    const struct jm_ladder_level *above = NULL;
    int rc = 0;
    for (size_t i = 0; !rc && i < l->n; i++) {
        const struct jm_ladder_level *x = &l->level[i];
        const struct jm_result *p = &x->x[JM_LF_POWER];
        if (!known(p))
            continue;
        const struct jm_result *q = above ? &above->x[JM_LF_POWER] : NULL;
        double more = q ? p->q.value - q->q.value : 0;
        if (q && more > JM_TH_LADDER_POWER * q->q.value && more > half(p) + half(q)) {
            struct jm_finding *f =
                x->percent > 0 ? jm_report_finding(
                                     r, "ladder.power", JM_SEV_WARNING,
                                     "at %g %% of the capacity more power was drawn (%.4g W) than at %g %% "
                                     "(%.4g W): something else than this load worked, or the machine was "
                                     "throttled or not settled",
                                     x->percent, p->q.value, above->percent, q->q.value)
                               : jm_report_finding(
                                     r, "ladder.power", JM_SEV_WARNING,
                                     "loaded idle drew more power (%.4g W) than %g %% of the capacity (%.4g "
                                     "W): it was not idle",
                                     p->q.value, above->percent, q->q.value);
            rc = jm_finding_at(r, f, x->window, err, "intervals +- %.3g W and +- %.3g W", half(p), half(q));
        }
        above = x;
    }
    return rc;
}

static int level(struct jm_report *r, const struct jm_ladder *l, const struct jm_ladder_level *x,
                 struct jm_err *err)
{
    const struct jm_result *rate = &x->x[JM_LF_RATE];
    (void)l;
    if (!known(rate) || !(x->offered > 0))
        return 0;
    if (rate->q.value == 0) /* an error of this level: the others stand */
        return jm_finding_at(
            r,
            jm_report_finding(r, "ladder.failed", JM_SEV_ERROR,
                              "at %g %% of the capacity (%.4g requests/s) no request succeeded", x->percent,
                              x->offered),
            x->window, err, NULL);
    if (rate->q.value >= (1 - JM_TH_LADDER_REACHED) * x->offered)
        return 0;
    double s = jm_seconds_apart(r->windows[x->window].t1, r->windows[x->window].t0) * x->windows;
    /* Poisson arrivals scatter by the root of their number; three of it are no chance */
    if (x->offered * s - rate->q.value * s < 3 * sqrt(x->offered * s))
        return 0;
    return jm_finding_at(
        r,
        jm_report_finding(r, "ladder.unreached", JM_SEV_WARNING,
                          "at %g %% of the capacity %.4g requests/s were offered and %.4g "
                          "answered: the level is beyond what the endpoint can do and its queue grew "
                          "all the time, or requests failed",
                          x->percent, x->offered, rate->q.value),
        x->window, err, NULL);
}

static int missing(struct jm_report *r, const struct jm_ladder *l, struct jm_err *err)
{
    struct jm_span rest = jm_span_of(l->planned), one;
    char list[200] = "";
    size_t n = 0;
    while (l->planned && jm_span_field(&rest, ',', &one)) {
        double p;
        bool there = jm_num_double(jm_span_trim(one), &p) != 0;
        for (size_t i = 0; !there && i < l->n; i++)
            there = l->level[i].percent == p;
        if (!there && n < sizeof list)
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%g %%", n ? ", " : "", p);
    }
    if (!n)
        return 0;
    return jm_finding_at(r,
                         jm_report_finding(r, "ladder.incomplete", JM_SEV_WARNING,
                                           "levels that were planned are not there: %s", list),
                         -1, err, NULL);
}

int jm_check_ladder(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const struct jm_ladder *l = r->ladder;
    (void)run;
    if (!l)
        return 0;
    int rc = missing(r, l, err);
    for (size_t i = 0; !rc && i < l->n; i++)
        rc = level(r, l, &l->level[i], err);
    return rc ? rc : power(r, l, err);
}
