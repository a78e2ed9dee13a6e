/* SPDX-License-Identifier: Apache-2.0 */
/* Levels of load: windows that say which share of the capacity was offered in them ("window.N.level"), and
 * the figures of each level, over its trials where there are several. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/stats.h"
#include "compute/calc.h"
#include "compute/observe.h"
#include "compute/ratio.h"

#include "base/banned.h"

static const struct {
    const char *metric;
    double quantile;
    bool energy;
} figures[JM_LF_COUNT] = {{"requests_per_s", NAN, false},
                          {"tokens_per_s", NAN, false},
                          {"power.mean", NAN, true},
                          {"j_per.output_token", NAN, true},
                          {"j_per.qualified_token", NAN, true},
                          {"attainment", NAN, false},
                          {"ttft", 0.99, false},
                          {"tpot.excl_first", 0.99, false}};

static int no_memory(struct jm_calc *c)
{
    return jm_err_set(c->err, JM_ENOMEM, "out of memory for the ladder");
}

static double fact(const struct jm_calc *c, int id, const char *what)
{
    char key[64];
    snprintf(key, sizeof key, "window.%d.%s", id, what);
    return jm_run_number(c->run, key);
}

static int highest_first(const void *a, const void *b)
{
    double x = ((const struct jm_ladder_level *)a)->percent, y = ((const struct jm_ladder_level *)b)->percent;
    return (x < y) - (x > y);
}

/* Which windows are of which level. */
static int levels(struct jm_calc *c, struct jm_ladder *l)
{
    struct jm_report *r = c->r;
    l->level = jm_report_alloc(r, (c->n_win + 1) * sizeof *l->level);
    l->of_window = jm_report_alloc(r, (r->n_windows + 1) * sizeof *l->of_window);
    double *percent = malloc((r->n_windows + 1) * sizeof *percent);
    if (!l->level || !l->of_window || !percent) {
        free(percent);
        return no_memory(c);
    }
    for (size_t i = 0; i < r->n_windows; i++) {
        l->of_window[i] = -1;
        percent[i] = NAN;
    }
    for (size_t i = 0; i < c->n_win; i++) {
        const struct jm_window *w = c->win[i].w;
        double p = fact(c, w->id, "level");
        size_t k = 0;
        if (!(p >= 0) || (p > 0) != (w->role == JM_R_MEASURE))
            continue;
        percent[c->win[i].index] = p;
        while (k < l->n && l->level[k].percent != p)
            k++;
        if (k == l->n)
            l->level[l->n++] = (struct jm_ladder_level){
                .percent = p, .offered = p > 0 ? fact(c, w->id, "offered") : 0, .window = c->win[i].index};
        l->level[k].windows++;
    }
    if (l->n)
        qsort(l->level, l->n, sizeof *l->level, highest_first);
    for (size_t i = 0; i < r->n_windows; i++)
        for (size_t k = 0; k < l->n; k++)
            if (percent[i] == l->level[k].percent)
                l->of_window[i] = (int)k;
    free(percent);
    return 0;
}

static bool is(const struct jm_result *x, const char *metric, double quantile)
{
    return strcmp(x->metric, metric) == 0 && (isnan(quantile) ? isnan(x->quantile) : x->quantile == quantile);
}

static bool whole(const struct jm_result *x)
{
    return x->q.have && isfinite(x->q.value) && x->have_of == x->of && x->q.provenance != JM_P_ESTIMATED;
}

/* The widest boundary whose power is known at the most levels. A device that holds GPUs of others is none. */
static void choose(struct jm_calc *c, struct jm_ladder *l)
{
    static const enum jm_boundary widest[] = {JM_B_WALL, JM_B_NODE, JM_B_DEVICE, JM_B_GPU};
    const struct jm_report *r = c->r;
    bool others = jm_report_find(r, "energy.other_gpus", JM_B_GPU, -2) != NULL;
    size_t most = 0;
    for (size_t b = 0; b < 4; b++) {
        size_t n = 0;
        const char *set = NULL;
        for (size_t i = 0; i < r->n_results; i++) {
            const struct jm_result *x = &r->results[i];
            if (x->window < 0 || l->of_window[x->window] < 0 || x->q.boundary != widest[b] ||
                !is(x, "power.mean", NAN) || !whole(x))
                continue;
            set = x->set;
            n++;
        }
        if (n > most && !(others && widest[b] == JM_B_DEVICE)) {
            most = n;
            l->boundary = widest[b];
            l->set = set;
        }
    }
}

static bool of_figure(const struct jm_ladder *l, const struct jm_result *x, size_t level, int f)
{
    return x->window >= 0 && l->of_window[x->window] == (int)level &&
           is(x, figures[f].metric, figures[f].quantile) && !x->slice &&
           (!figures[f].energy ||
            (l->set && x->q.boundary == l->boundary && x->q.provenance != JM_P_ESTIMATED));
}

/* One figure of a level: as its window has it, or the mean over its trials. */
static void figure(struct jm_calc *c, struct jm_ladder *l, size_t level, int f, double *v)
{
    struct jm_report *r = c->r;
    struct jm_ladder_level *at = &l->level[level];
    struct jm_result *out = &at->x[f];
    size_t n = 0, rows = 0;
    double mean;
    struct jm_interval in;
    enum jm_provenance p = JM_P_MEASURED;
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (!of_figure(l, x, level, f))
            continue;
        if (!rows++)
            *out = *x;
        p = jm_provenance_worse(p, x->q.provenance);
        if (whole(x) && n < (size_t)at->windows)
            v[n++] = x->q.value;
    }
    if (at->windows < 2 || !rows)
        return;
    out->window = -1;
    out->trial = -1;
    out->n = (int64_t)n;
    out->numerator_name = out->denominator_name = NULL;
    out->q.provenance = p;
    out->q.have = n == (size_t)at->windows;
    out->q.value = jm_stats_mean(v, n);
    out->q.u =
        (struct jm_uncertainty){.lo = NAN, .hi = NAN, .excludes = "everything: not every trial has a value"};
    if (out->q.have && n > 1 && !jm_stats_t_interval(v, n, jm_calc_level(c), &mean, &in))
        out->q.u = (struct jm_uncertainty){in.lo,
                                           in.hi,
                                           in.level,
                                           in.dof,
                                           jm_trials_method(c),
                                           "repeats",
                                           figures[f].energy ? JM_EXCL_OTHER : ""};
    if (!out->q.have)
        out->q.reasons = jm_report_text(r, "%zu of %d trials", n, at->windows);
}

/* Power and tokens a second of each level in each trial. NULL: the trials are not all alike. */
static struct jm_ladder_cell *cells(struct jm_calc *c, const struct jm_ladder *l, size_t *trials)
{
    const struct jm_report *r = c->r;
    size_t t = l->n ? (size_t)l->level[0].windows : 0, *seen = calloc(l->n + 1, sizeof *seen);
    int *row = malloc((r->n_windows + 1) * sizeof *row);
    for (size_t i = 0; i < l->n; i++)
        t = (size_t)l->level[i].windows < t ? (size_t)l->level[i].windows : t;
    struct jm_ladder_cell *v = malloc((t * l->n + 1) * sizeof *v);
    *trials = t;
    if (!v || !seen || !row) {
        free(v);
        free(seen);
        free(row);
        return NULL;
    }
    for (size_t i = 0; i < t * l->n; i++) {
        bool idle = l->level[i % l->n].percent == 0;
        v[i] = (struct jm_ladder_cell){NAN, NAN, idle ? 0 : NAN, idle ? 0 : NAN};
    }
    for (size_t i = 0; i < r->n_windows; i++) {
        int k = l->of_window[i];
        row[i] = k < 0 || seen[k] >= t ? -1 : (int)(seen[k]++ * l->n) + k;
    }
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        int k = x->window < 0 ? -1 : row[x->window];
        bool energy = l->set && x->q.boundary == l->boundary && whole(x);
        double s =
            x->window < 0 ? NAN : jm_seconds_between(r->windows[x->window].t1, r->windows[x->window].t0);
        if (k < 0 || x->slice)
            continue;
        if (is(x, "power.mean", NAN) && energy) {
            v[k].power = x->q.value;
            v[k].half = x->q.u.method ? (x->q.u.hi - x->q.u.lo) / 2 : NAN;
        } else if (is(x, "tokens_per_s", NAN) && x->q.have) {
            v[k].tokens = x->q.value;
        } else if (is(x, "j_per.qualified_token", NAN) && energy && x->denominator >= 0 && s > 0) {
            v[k].qualified = x->denominator / s;
        } else if (is(x, "j_per.qualified_token", NAN) && l->set && x->q.boundary == l->boundary && s > 0 &&
                   x->denominator == 0) {
            v[k].qualified = 0; /* all missed the contract: no ratio, but a number of tokens */
        }
    }
    free(seen);
    free(row);
    return v;
}

/* Sum of tokens a second over sum of watts, all levels once; as SPECpower_ssj2008 sums operations. */
static int overall(struct jm_calc *c, struct jm_ladder *l, const struct jm_ladder_cell *v, size_t trials,
                   bool q, struct jm_result *out)
{
    const char *metric = q ? "ladder.qualified_tokens_per_j" : "ladder.tokens_per_j";
    double *ratio = calloc(trials + 1, sizeof *ratio), mean = NAN, top = 0, watts = 0;
    struct jm_interval in = {NAN, NAN, NAN, NAN};
    if (!ratio)
        return no_memory(c);
    for (size_t t = 0; t < trials; t++) {
        top = watts = 0;
        for (size_t k = 0; k < l->n; k++) {
            const struct jm_ladder_cell *x = &v[t * l->n + k];
            top += q ? x->qualified : x->tokens;
            watts += x->power;
        }
        ratio[t] = top / watts;
    }
    mean = jm_stats_mean(ratio, trials);
    bool have = trials && isfinite(mean);
    if (have) {
        struct jm_result *x = jm_report_result(c->r, metric);
        if (!x) {
            free(ratio);
            return no_memory(c);
        }
        *out = *x; /* initialised as every result */
        c->r->n_results--;
        const struct jm_result *power = &l->level[0].x[JM_LF_POWER];
        out->set = l->set;
        out->q.unit = jm_metric_find(metric)->unit;
        out->q.boundary = l->boundary;
        out->q.provenance = power->metric ? power->q.provenance : JM_P_MEASURED;
        out->q.have = true;
        out->q.value = mean;
        out->n = (int64_t)trials;
        out->q.u.excludes = JM_EXCL_REPEATS;
        if (trials > 1 && !jm_stats_t_interval(ratio, trials, jm_calc_level(c), &mean, &in))
            out->q.u = (struct jm_uncertainty){in.lo,     in.hi,        in.level, in.dof, jm_trials_method(c),
                                               "repeats", JM_EXCL_OTHER};
        else {
            out->numerator = top;
            out->numerator_name = q ? "qualified tokens/s of all levels" : "tokens/s of all levels";
            out->denominator = watts;
            out->denominator_name = "W of all levels";
        }
    }
    free(ratio);
    return 0;
}

int jm_ladder_make(struct jm_calc *c)
{
    struct jm_ladder *l = jm_report_alloc(c->r, sizeof *l);
    size_t trials = 0;
    if (!l)
        return no_memory(c);
    int rc = levels(c, l);
    if (rc)
        return rc;
    if (!l->n)
        return c->o->diurnal && c->o->diurnal->n
                   ? jm_err_set(
                         c->err, JM_EUSAGE,
                         "--diurnal: a load curve needs the power at several loads, and this run has no "
                         "levels; record them with joulemark bench --ladder")
                   : 0;
    double capacity;
    l->capacity =
        jm_num_double(jm_span_of(jm_run_env(c->run, "ladder.capacity")), &capacity) == 0 && capacity > 0
            ? capacity
            : NAN;
    l->by = jm_run_env(c->run, "ladder.capacity.by");
    l->planned = jm_run_env(c->run, "plan.ladder");
    l->contract = jm_slices_slo_given(c);
    choose(c, l);
    double *v = malloc((c->n_win + 1) * sizeof *v);
    if (!v)
        return no_memory(c);
    for (size_t k = 0; k < l->n; k++)
        for (int f = 0; f < JM_LF_COUNT; f++)
            if (l->level[k].percent > 0 || f == JM_LF_POWER)
                figure(c, l, k, f, v);
    free(v);
    const struct jm_result *full = &l->level[0].x[JM_LF_POWER], *idle = &l->level[l->n - 1].x[JM_LF_POWER];
    l->idle_share = l->n > 1 && l->level[l->n - 1].percent == 0 && full->metric && full->q.have &&
                            idle->metric && idle->q.have && full->q.value > 0
                        ? idle->q.value / full->q.value
                        : NAN;
    struct jm_ladder_cell *cell = cells(c, l, &trials);
    if (!cell)
        return no_memory(c);
    rc = overall(c, l, cell, trials, false, &l->overall);
    if (!rc && l->contract)
        rc = overall(c, l, cell, trials, true, &l->overall_q);
    if (!rc && c->o->diurnal && c->o->diurnal->n)
        rc = jm_ladder_day_make(c, l, cell, trials);
    free(cell);
    c->r->ladder = l;
    return rc;
}
