/* SPDX-License-Identifier: Apache-2.0 */
/* Had the machine settled when a window of a steady load began, and did it stay so? By the power of what is
 * counted, second by second, and by temperatures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audit/checks.h"
#include "audit/threshold.h"
#include "base/stats.h"
#include "compute/calc.h"
#include "compute/stat.h"

#include "base/banned.h"

#define SECONDS_MOST 100000

/* Mean power of each whole second, summed over the gauges of the devices that are counted. */
struct seconds {
    double *sum, *one; /* n each */
    int *seen;         /* readings of the gauge in each second */
    size_t n, gauges;
};

static bool steady_plan(const struct jm_run *run)
{
    static const char *const moving[] = {"trace", "ramp", "slices"};
    const char *shape = jm_run_env(run, "plan.shape");
    for (size_t i = 0; shape && i < sizeof moving / sizeof *moving; i++)
        if (strncmp(shape, moving[i], strlen(moving[i])) == 0)
            return false;
    return shape && jm_run_env(run, "plan.url") && !jm_run_env(run, "plan.stage.1");
}

static size_t second_of(const struct jm_window *w, int64_t t, size_t n)
{
    double s = jm_seconds_apart(t, w->t0);
    return s >= 0 && s < (double)n ? (size_t)s : SIZE_MAX;
}

/* Adds a gauge where it has a reading in every second; else it is left out. */
static int add(const struct jm_run *run, const struct jm_channel *c, const struct jm_window *w,
               struct seconds *x, struct jm_err *err)
{
    struct jm_readings v = {0};
    bool whole = true;
    int rc = jm_run_readings(run, c->id, w->t0, w->t1, &v, err);
    for (size_t i = 0; i < x->n; i++) {
        x->one[i] = 0;
        x->seen[i] = 0;
    }
    for (size_t i = 0; !rc && i < v.n; i++) {
        size_t s = second_of(w, v.v[i].t0, x->n);
        if (v.v[i].status != JM_S_OK || s == SIZE_MAX)
            continue;
        x->one[s] += jm_channel_value(c, v.v[i].value);
        x->seen[s]++;
    }
    jm_readings_release(&v);
    for (size_t i = 0; !rc && i < x->n; i++)
        whole &= x->seen[i] > 0;
    for (size_t i = 0; !rc && whole && i < x->n; i++)
        x->sum[i] += x->one[i] / x->seen[i];
    x->gauges += !rc && whole;
    return rc;
}

static int settled(struct jm_report *r, int window, const struct seconds *x, struct jm_err *err)
{
    const struct jm_batch_opts o = {.dt = 1};
    struct jm_batch_means rest;
    struct jm_drift d;
    size_t cut = 0;
    double minutes = (double)x->n / 60;
    int rc = 0;
    if (jm_stat_warmup(x->sum, x->n, &cut, NULL) == 0 && cut > 0 &&
        jm_stat_batch_means(x->sum + cut, x->n - cut, &o, &rest, NULL) == 0) {
        double first = jm_stats_mean(x->sum, cut), half = (rest.interval.hi - rest.interval.lo) / 2,
               off = first / rest.mean - 1;
        /* and by more than so few seconds scatter */
        if (fabs(off) >= JM_TH_WARM_REL &&
            fabs(first - rest.mean) > half * sqrt((double)(x->n - cut) / (double)cut))
            rc = jm_finding_at(
                r,
                jm_report_finding(
                    r, "warmup.short", JM_SEV_WARNING,
                    "the first %zu s of the window had not settled: their power was %.2g %% %s than "
                    "afterwards; give a longer --warmup",
                    cut, 100 * fabs(off), off < 0 ? "lower" : "higher"),
                window, err, "MSER-5, %.4g W and %.4g W", first, rest.mean);
    }
    if (!rc && jm_stat_drift(x->sum, x->n, &o, &d, NULL) == 0 &&
        fabs(d.relative) >= JM_TH_WARM_DRIFT * minutes && fabs(d.relative) >= JM_TH_WARM_REL &&
        d.p <= JM_TH_TRIALS_DRIFT_P)
        rc = jm_finding_at(
            r,
            jm_report_finding(r, "power.drift", JM_SEV_WARNING,
                              "the power %s by %.2g %% over the window, more than it scatters: the "
                              "machine was warming up, or the load was not steady",
                              d.relative < 0 ? "fell" : "rose", 100 * fabs(d.relative)),
            window, err, "%.2g %% a minute, p = %.2g", 100 * d.relative / minutes, d.p);
    return rc;
}

/* Degrees a minute over the last minute of the window, by a straight line. */
static int warming(const struct jm_run *run, struct jm_report *r, const struct jm_channel *c, int window,
                   struct jm_err *err)
{
    const struct jm_window *w = &r->windows[window];
    struct jm_readings v = {0};
    struct jm_fit f;
    int64_t from = w->t1 - 60 * (int64_t)1000000000;
    int rc = jm_run_readings(run, c->id, from, w->t1, &v, err);
    double *t = rc ? NULL : malloc((2 * v.n + 1) * sizeof *t), *y = t ? t + v.n : NULL;
    size_t n = 0;
    for (size_t i = 0; t && i < v.n; i++)
        if (v.v[i].status == JM_S_OK && v.v[i].t0 >= from && v.v[i].t1 <= w->t1) {
            t[n] = jm_seconds_apart(v.v[i].t0, from) / 60;
            y[n++] = jm_channel_value(c, v.v[i].value);
        }
    if (!rc && !t)
        rc = jm_err_set(err, JM_ENOMEM, "out of memory for the temperatures");
    if (!rc && n >= 10 && jm_stats_line(t, y, NULL, n, &f, NULL) == 0 && f.b >= JM_TH_WARM_CELSIUS)
        rc = jm_finding_at(
            r,
            jm_report_finding(r, "temperature.rising", JM_SEV_INFO,
                              "%s still grew warmer at the end of the window, by %.2g degrees a "
                              "minute: leakage grows with it; give a longer --warmup",
                              c->device, f.b),
            window, err, NULL);
    free(t);
    jm_readings_release(&v);
    return rc;
}

int jm_check_warm(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int rc = 0;
    if (!r->has_requests || !steady_plan(run))
        return 0;
    for (size_t i = 0; !rc && i < r->n_windows; i++) {
        const struct jm_window *w = &r->windows[i];
        double s = jm_seconds_apart(w->t1, w->t0);
        struct seconds x = {.n = s >= JM_TH_CLAIM_S && s < SECONDS_MOST ? (size_t)s : 0};
        if (w->role != JM_R_MEASURE || !x.n)
            continue;
        x.sum = calloc(2 * x.n, sizeof *x.sum);
        x.seen = calloc(x.n, sizeof *x.seen);
        x.one = x.sum ? x.sum + x.n : NULL;
        if (!x.sum || !x.seen)
            rc = jm_err_set(err, JM_ENOMEM, "out of memory for the seconds of a window");
        for (size_t e = 0; !rc && e < r->n_channels; e++) {
            const struct jm_channel *c = &r->channels[e];
            if (c->kind == JM_CH_GAUGE && jm_energy_channel(c) && c->domain >= 0 &&
                r->tree->d[c->domain].kind == JM_D_GPU && !(c->flags & (JM_CHF_MIRROR | JM_CHF_PARTOF)))
                rc = add(run, c, w, &x, err);
            else if (c->kind == JM_CH_GAUGE && c->unit == JM_U_CELSIUS)
                rc = warming(run, r, c, (int)i, err);
        }
        if (!rc && x.gauges)
            rc = settled(r, (int)i, &x, err);
        free(x.sum);
        free(x.seen);
    }
    return rc;
}
