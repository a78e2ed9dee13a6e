/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of devices that other tools wrote: what their readings can be, and what was put together wrongly. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/foreign.h"
#include "audit/threshold.h"
#include "base/stats.h"

#include "base/banned.h"

#define LOOKED_AT 200000 /* readings of one channel */

static bool device_log(const struct jm_run *run)
{
    return jm_run_env(run, "import.devlog") != NULL;
}

static const char *name_of(const struct jm_report *r, const struct jm_channel *c)
{
    return c->domain >= 0 ? r->tree->d[c->domain].label : c->device;
}

/* What a gauge did in a window. */
struct look {
    size_t n, same;        /* values, and those equal to the one before */
    double step;           /* median distance, s */
    double high, low_s, s; /* 95th percentile, time below a share of it, all time */
};

static int look_at(const struct jm_run *run, const struct jm_report *r, const struct jm_energy_row *e,
                   struct look *l, struct jm_err *err)
{
    const struct jm_window *w = &r->windows[e->window];
    const struct jm_channel *c = &r->channels[e->channel];
    struct jm_readings a = {0};
    *l = (struct look){.high = NAN};
    int rc = jm_run_readings(run, c->id, w->t0, w->t1, &a, err);
    size_t cap = a.n < LOOKED_AT ? a.n : LOOKED_AT, k = 0, m = 0;
    double *v = rc || !cap ? NULL : malloc(cap * sizeof *v), *d = v ? malloc(cap * sizeof *d) : NULL;
    if (!rc && cap && !d)
        rc = jm_err_set(err, JM_ENOMEM, "out of memory for the readings of %s", c->name);
    const struct jm_reading *last = NULL;
    for (size_t i = 0; !rc && i < a.n && k < cap; i++) {
        const struct jm_reading *x = &a.v[i];
        if (x->status != JM_S_OK || x->t0 < w->t0 || x->t0 > w->t1)
            continue;
        v[k++] = jm_channel_value(c, x->value);
        if (last) {
            d[m++] = jm_seconds_apart(x->t0, last->t0);
            l->same += x->value == last->value;
        }
        last = x;
    }
    l->n = k;
    if (!rc && m) {
        double *sorted = malloc(k * sizeof *sorted);
        if (sorted) {
            memcpy(sorted, v, k * sizeof *v);
            jm_stats_sort(sorted, k);
            l->high = jm_stats_quantile_sorted(sorted, k, 0.95);
            free(sorted);
        }
        for (size_t i = 0; i < m; i++) {
            l->s += d[i];
            l->low_s += v[i] < JM_TH_LOG_IDLE_LEVEL * l->high ? d[i] : 0;
        }
        jm_stats_sort(d, m);
        l->step = jm_stats_quantile_sorted(d, m, 0.5);
    }
    free(v);
    free(d);
    jm_readings_release(&a);
    return rc;
}

static bool gauge_row(const struct jm_report *r, const struct jm_energy_row *e)
{
    const struct jm_channel *c = &r->channels[e->channel];
    return c->kind == JM_CH_GAUGE && c->unit == JM_U_W && !(c->flags & (JM_CHF_MIRROR | JM_CHF_PARTOF));
}

static bool has_counter(const struct jm_report *r, const struct jm_energy_row *e)
{
    for (size_t i = 0; i < r->n_energy; i++)
        if (r->energy[i].window == e->window && r->energy[i].domain == e->domain &&
            r->channels[r->energy[i].channel].kind == JM_CH_COUNTER && r->energy[i].status == JM_S_OK)
            return true;
    return false;
}

int jm_foreign_log_idle(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    struct look l, worst = {.n = 0};
    const struct jm_channel *of = NULL;
    int window = -1, rc = 0;
    if (!device_log(run))
        return 0;
    for (size_t i = 0; !rc && i < r->n_energy; i++) {
        if (!gauge_row(r, &r->energy[i]))
            continue;
        rc = look_at(run, r, &r->energy[i], &l, err);
        if (!rc && l.n >= 20 && l.s > 0 && l.low_s / l.s > JM_TH_LOG_IDLE &&
            (!of || l.low_s / l.s > worst.low_s / worst.s)) {
            worst = l;
            of = &r->channels[r->energy[i].channel];
            window = r->energy[i].window;
        }
    }
    if (rc || !of)
        return rc;
    char evidence[200];
    snprintf(evidence, sizeof evidence,
             "%s: %.4g s of %.4g s below %.4g W, 95 %% of its values are below %.4g W", name_of(r, of),
             worst.low_s, worst.s, JM_TH_LOG_IDLE_LEVEL * worst.high, worst.high);
    return jm_foreign_say(
        r, err, "log.idle", JM_SEV_WARNING, window, evidence,
        "%.0f %% of the window are near idle: the log holds more than the load, and its mean is not "
        "that of the load; take a part with import --since and --until",
        100 * worst.low_s / worst.s);
}

int jm_foreign_log_sampling(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    bool repeats = false, alias = false;
    int rc = 0;
    if (!device_log(run))
        return 0;
    for (size_t i = 0; !rc && i < r->n_energy && !(repeats && alias); i++) {
        const struct jm_energy_row *e = &r->energy[i];
        const struct jm_channel *c = &r->channels[e->channel];
        struct look l;
        char evidence[200];
        if (!gauge_row(r, e))
            continue;
        rc = look_at(run, r, e, &l, err);
        if (rc || l.n < 10 || !(l.step > 0))
            continue;
        double period = (double)c->period_ns / 1e9, window = (double)c->window_ns / 1e9;
        if (!repeats && period > 0 && l.step < JM_TH_LOG_FAST * period) {
            repeats = true;
            snprintf(evidence, sizeof evidence, "%s: read every %.3g ms, %zu of %zu values are those before",
                     name_of(r, c), l.step * 1e3, l.same, l.n);
            rc = jm_foreign_say(
                r, err, "log.repeats", JM_SEV_INFO, e->window, evidence,
                "%s was read faster than it refreshes (%.3g ms): the repeats are no data, and polling costs "
                "power of its own",
                c->name, period * 1e3);
        }
        if (!rc && !alias && window > 0 && l.step > JM_TH_LOG_ALIAS * window) {
            alias = true;
            snprintf(evidence, sizeof evidence, "%s: a value of %.3g s every %.4g s", name_of(r, c), window,
                     l.step);
            rc = jm_foreign_say(
                r, err, "log.aliasing", has_counter(r, e) ? JM_SEV_INFO : JM_SEV_WARNING, e->window, evidence,
                "%s shows %.2g %% of the time: a load that goes up and down in step with the readings is "
                "measured wrongly, and no interval can tell; prefer the energy counter, or read faster",
                c->name, 100 * window / l.step);
        }
    }
    return rc;
}

/* Factors that come of a unit taken for another. */
static const struct {
    double f;
    const char *what;
} slips[] = {
    {1e3, "mJ taken for J"},    {1e6, "uJ taken for J"},           {1e-3, "J taken for mJ, or mW for W"},
    {1e-6, "uW taken for W"},   {3600, "Wh taken for J"},          {1 / 3600.0, "J taken for Wh"},
    {3.6e6, "kWh taken for J"}, {10, "power in 10 W taken for W"}, {0.1, "a step of 10 W or 0.1 kWh"}};

int jm_foreign_log_units(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int rc = 0;
    if (!device_log(run))
        return 0;
    for (size_t i = 0; !rc && i < r->n_energy; i++) {
        const struct jm_energy_row *a = &r->energy[i];
        double s = jm_seconds_apart(r->windows[a->window].t1, r->windows[a->window].t0);
        char evidence[200];
        if (a->status != JM_S_OK || r->channels[a->channel].kind != JM_CH_COUNTER || !(s > 0))
            continue;
        for (size_t k = 0; !rc && k < r->n_energy; k++) {
            const struct jm_energy_row *g = &r->energy[k];
            if (g->window != a->window || g->domain != a->domain || g->status != JM_S_OK ||
                !gauge_row(r, g) || !(g->joules > 0))
                continue;
            for (size_t f = 0; !rc && f < sizeof slips / sizeof slips[0]; f++) {
                if (!(fabs(a->joules / g->joules / slips[f].f - 1) < JM_TH_LOG_UNIT))
                    continue;
                snprintf(evidence, sizeof evidence, "%s: counter %.6g W on average, power %.6g W",
                         name_of(r, &r->channels[a->channel]), a->joules / s, g->joules / s);
                rc = jm_foreign_say(
                    r, err, "log.units", JM_SEV_ERROR, a->window, evidence,
                    "counter and power of one device are a factor of %.4g apart: %s in the log, or in "
                    "what wrote it",
                    slips[f].f, slips[f].what);
            }
            break;
        }
        if (!rc && a->domain >= 0 && r->tree->d[a->domain].kind == JM_D_GPU &&
            a->joules / s > 2 * JM_TH_FOREIGN_GPU_W) {
            snprintf(evidence, sizeof evidence, "%s: %.6g J in %.6g s", name_of(r, &r->channels[a->channel]),
                     a->joules, s);
            rc = jm_foreign_say(
                r, err, "log.units", JM_SEV_ERROR, a->window, evidence,
                "the counter moved by %.4g kW on average, more than a GPU can draw: it is in another unit",
                a->joules / s / 1e3);
        }
    }
    return rc;
}

int jm_foreign_log_repeated(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const char *mig = jm_run_env(run, "import.repeats.mig"), *core = jm_run_env(run, "import.repeats.core"),
               *joined = jm_run_env(run, "import.series.joined");
    int rc = 0;
    if (mig)
        rc = jm_foreign_say(
            r, err, "log.mig", JM_SEV_INFO, -1, mig,
            "power and energy of a GPU stand there once for each of its MIG instances; they are counted "
            "once, and say nothing of a single instance (NVIDIA/dcgm-exporter issue 257)");
    if (!rc && core)
        rc = jm_foreign_say(
            r, err, "log.cores", JM_SEV_INFO, -1, core,
            "the power of a socket stands there once for each of its cores; it is counted once "
            "(NVIDIA/dcgm-exporter issue 243)");
    if (!rc && joined)
        rc = jm_foreign_say(
            r, err, "log.relabelled", JM_SEV_INFO, -1, joined,
            "one device has series under several sets of labels (a pod that was started anew, two "
            "scrapers): they are put behind each other, and where they overlap the first one counts");
    return rc;
}

int jm_foreign_log_stamps(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const char *times = jm_run_env(run, "import.times"), *back = jm_run_env(run, "import.log.back"),
               *same = jm_run_env(run, "import.log.same_stamp");
    int rc = 0;
    if (!device_log(run))
        return 0;
    if (back)
        rc = jm_foreign_say(
            r, err, "log.back", JM_SEV_WARNING, -1, back,
            "readings whose time lies before the one above them are left out: the clock was set back, or "
            "two logs were put together");
    if (!rc && same)
        rc = jm_foreign_say(
            r, err, "log.same_stamp", JM_SEV_INFO, -1, same,
            "readings with the time of the one before are left out: stamps are coarser than the readings, "
            "or something stands there twice");
    if (!rc && times && strncmp(times, "no stamps", 9) == 0)
        rc = jm_foreign_say(
            r, err, "log.no_stamps", JM_SEV_WARNING, -1, times,
            "the log has no times: its energy is as right as the assumed distance of its lines");
    return rc;
}

int jm_foreign_log_silent(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    size_t n, hits = 0;
    const struct jm_run_env_row *row = jm_run_env_rows(run, &n);
    char names[300] = "";
    if (!device_log(run))
        return 0;
    for (size_t i = 0; i < n; i++)
        if (strncmp(row[i].key, "import.missing.power of ", 24) == 0 && hits++ < 6)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%.60s (%.60s)",
                     hits > 1 ? ", " : "", row[i].key + 24, row[i].value);
    return hits ? jm_foreign_say(r, err, "log.silent", JM_SEV_WARNING, -1, names,
                                 "the log names %zu device%s without a power: the total is without %s", hits,
                                 hits > 1 ? "s" : "", hits > 1 ? "them" : "it")
                : 0;
}

int jm_foreign_dcgm(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const char *cache = jm_run_env(run, "import.dcgm.cache"),
               *running = jm_run_env(run, "import.dcgm.running");
    int rc = 0;
    if (cache)
        rc = jm_foreign_say(
            r, err, "dcgm.cache", JM_SEV_ERROR, -1, cache,
            "the energy is that of the last part of the job only: DCGM subtracts the first sample that it "
            "still keeps from the last one, and keeps them for 3600 s unless it is told otherwise");
    if (!rc && running)
        rc = jm_foreign_say(
            r, err, "dcgm.running", JM_SEV_WARNING, -1, running,
            "the job was still running when its statistics were printed: the energy is that up to then");
    return rc;
}
