/* SPDX-License-Identifier: Apache-2.0 */
/* Trials until the interval is narrow: after each one the figures of all trials so far are computed, from a
 * copy of the run file by what shows it afterwards, and compute/stat_stop.h says whether to go on. What is
 * looked at is the width alone, never a difference or its significance. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/bench_impl.h"
#include "cli/signals.h"
#include "compute/compute.h"
#include "compute/stat_stop.h"
#include "show/fmt.h"

#include "base/banned.h"

/* The tokens of what was under way at the end of a trial are known when it ends: until then the load goes on.
 */
static void settle(struct jm_bench_run *b)
{
    struct jm_clock clock = jm_clock_system();
    struct jm_load_live l;
    if (b->in_turn)
        return; /* drained already */
    jm_load_live(b->load, &l);
    int64_t began = l.started, end = jm_clock_mono(&clock) + b->o->drain;
    while (l.finished < began && jm_clock_mono(&clock) < end &&
           !jm_signals_sleep_until(jm_clock_mono(&clock) + 50 * JM_NS_PER_MS))
        jm_load_live(b->load, &l);
}

static const char *level_of(const struct jm_report *r, int window)
{
    char key[64];
    snprintf(key, sizeof key, "window.%d.level", r->windows[window].id);
    for (size_t i = 0; i < r->n_env; i++)
        if (strcmp(r->env[i].key, key) == 0)
            return r->env[i].value;
    return "";
}

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Are the trials of what result i is of narrow enough? Sets *half to the worst half width, as a part. */
static bool narrow(const struct jm_report *r, size_t i, const struct jm_stop_opts *o, double *v, double *half,
                   bool *missing)
{
    const struct jm_result *first = &r->results[i];
    struct jm_stop s;
    size_t n = 0;
    for (size_t k = i; k < r->n_results && n < JM_BENCH_TRIALS; k++) {
        const struct jm_result *x = &r->results[k];
        if (x->window < 0 || x->q.boundary != first->q.boundary || strcmp(x->metric, first->metric) != 0 ||
            !same(x->slice, first->slice) || strcmp(level_of(r, x->window), level_of(r, first->window)) != 0)
            continue;
        if (!x->q.have || x->have_of < x->of)
            *missing = true;
        else
            v[n++] = x->q.value;
    }
    if (*missing || jm_stat_stop(o, v, n, &s, NULL))
        return false;
    double wide = (s.interval.hi - s.interval.lo) / 2 / fabs(s.mean);
    *half = wide > *half ? wide : *half;
    return s.stop;
}

/* 1: all are narrow enough, or there are as many as allowed; 0: not yet; -1: there is nothing to look at. */
static int judge(const struct jm_bench_run *b, const struct jm_report *r, double *half)
{
    const struct jm_stop_opts o = {.rule = JM_STOP_FIXED_WIDTH,
                                   .half_width = b->how.until,
                                   .relative = true,
                                   .pilot = JM_BENCH_PILOT,
                                   .most = (size_t)b->how.trials};
    const struct jm_result *head = jm_fmt_headline(r);
    double v[JM_BENCH_TRIALS];
    bool all = true, missing = false;
    *half = 0;
    if (!head || strcmp(head->metric, "j_per.output_token") != 0)
        return -1;
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (x->window < 0 || r->windows[x->window].role != JM_R_MEASURE || jm_fmt_estimate(x) ||
            x->q.boundary != head->q.boundary || strcmp(x->metric, head->metric) != 0 ||
            r->windows[x->window].trial != 0)
            continue;
        all &= narrow(r, i, &o, v, half, &missing);
    }
    return missing ? -1 : all;
}

int jm_bench_enough(struct jm_bench_run *b, int trials, bool *stop, struct jm_err *err)
{
    struct jm_str copy;
    struct jm_run *run = NULL;
    struct jm_report *r = NULL;
    struct jm_compute_opts o;
    double half = NAN;
    *stop = false;
    if (isnan(b->how.until) || trials < JM_BENCH_PILOT || jm_signals_stop)
        return 0;
    settle(b);
    jm_str_init(&copy);
    jm_str_addf(&copy, "%s.trials", b->s->path.buf);
    int rc = jm_str_ok(&copy, "a file name", err);
    if (!rc)
        rc = jm_recorder_copy(b->s->rec, copy.buf, err);
    if (!rc)
        rc = jm_run_open(copy.buf, &run, err);
    jm_compute_defaults(&o);
    o.no_phases = true;
    if (!rc)
        rc = jm_compute(run, &o, &r, err);
    int enough = rc ? 0 : judge(b, r, &half);
    jm_report_free(r);
    jm_run_close(run);
    if (copy.buf && !copy.failed)
        jm_run_remove(copy.buf, NULL);
    jm_str_release(&copy);
    if (rc)
        return rc;
    *stop = enough != 0;
    if (enough < 0)
        jm_cli_say(b->s->cli, "--until: not every trial has a J/token, so no more than %d are made", trials);
    else if (!b->s->cli->common->quiet)
        jm_cli_say(b->s->cli, "after %d trials the half width is %.2g %% of J/token%s", trials, 100 * half,
                   *stop ? "" : ": another one");
    jm_bench_fact_number(b, "plan.until.trials", trials);
    return 0;
}
