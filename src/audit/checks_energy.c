/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the instruments. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit/checks.h"
#include "audit/threshold.h"
#include "compute/compute.h"

#include "base/banned.h"

static const char *device(const struct jm_report *r, const struct jm_energy_row *e)
{
    return e->domain >= 0 ? r->tree->d[e->domain].label : r->channels[e->channel].device;
}

/* The rows of the same window. */
static void neighbours(const struct jm_report *r, size_t i, size_t *from, size_t *to)
{
    int w = r->energy[i].window;
    for (*from = i; *from > 0 && r->energy[*from - 1].window == w;)
        --*from;
    for (*to = i + 1; *to < r->n_energy && r->energy[*to].window == w;)
        ++*to;
}

/* Does another instrument of the same domain give a value in that window? Then the loss costs a cross-check
 * only. An estimate is no instrument, and what shows the joules of another is none either. */
static bool has_other(const struct jm_report *r, size_t i)
{
    size_t from, to;
    neighbours(r, i, &from, &to);
    for (size_t k = from; k < to; k++) {
        const struct jm_energy_row *x = &r->energy[k];
        const struct jm_channel *c = &r->channels[x->channel];
        if (k != i && x->domain == r->energy[i].domain && x->status == JM_S_OK &&
            c->provenance != JM_P_ESTIMATED && !(c->flags & (JM_CHF_MIRROR | JM_CHF_PARTOF)))
            return true;
    }
    return false;
}

/* Is the domain counted, or missed, by a boundary in that window? */
static bool wanted(const struct jm_report *r, size_t i)
{
    size_t from, to;
    neighbours(r, i, &from, &to);
    for (size_t k = from; k < to; k++)
        if (r->energy[k].domain == r->energy[i].domain && (r->energy[k].counted || r->energy[k].missed))
            return true;
    return false;
}

/* A finding about one device: results that do not count it are not concerned. */
static void about(struct jm_finding *f, int domain)
{
    if (f)
        f->domain = domain;
}

static const struct status_kind {
    enum jm_status s;
    const char *id, *what;
    bool with_other; /* said even where another instrument goes on */
    bool fatal;      /* an error even then */
} status_kinds[] = {
    {JM_S_RESET, "counter.reset",
     "started again inside the window (driver reload or device reset); repeat the run", true, true},
    {JM_S_SUSPENDED, "energy.suspended", "slept inside the window", true, true},
    {JM_S_WRAPPED, "counter.ambiguous",
     "could have wrapped more than once between two readings; read it more often", true, false},
    {JM_S_STALE, "counter.frozen", "did not move while it should have; it is frozen", true, false},
    {JM_S_LOST, "counter.lost", "vanished inside the window", true, false},
    {JM_S_IMPLAUSIBLE, "counter.implausible", "gave values outside what the device can draw", true, false},
    {JM_S_GAP, "energy.uncovered", "has no readings around an edge of the window", true, false},
    {JM_S_BELOW_RESOLUTION, "counter.resolution", "refreshes too slowly for a window this short", true,
     false},
    {JM_S_CONFLICT, "energy.status_conflict", "contradicts itself", true, false},
    {JM_S_DENIED, "energy.denied", "may not be read; \"joulemark meters\" says what mends that", false,
     false},
    {JM_S_UNSUPPORTED, "energy.unsupported", "is not supported by the device", false, false},
    {JM_S_ABSENT, "energy.absent", "was not there inside the window", false, false},
};

int jm_check_energy_status(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    for (size_t i = 0; i < r->n_energy; i++) {
        const struct jm_energy_row *e = &r->energy[i];
        const struct jm_channel *c = &r->channels[e->channel];
        const struct status_kind *k = NULL;
        if (e->status == JM_S_OK || (c->flags & (JM_CHF_MIRROR | JM_CHF_PARTOF)))
            continue;
        for (size_t n = 0; n < sizeof status_kinds / sizeof status_kinds[0]; n++)
            if (status_kinds[n].s == e->status)
                k = &status_kinds[n];
        bool other = k && has_other(r, i);
        if (!k || (other && !k->with_other))
            continue;
        enum jm_severity sev = !wanted(r, i)        ? JM_SEV_INFO
                               : other && !k->fatal ? JM_SEV_WARNING
                                                    : JM_SEV_ERROR;
        struct jm_finding *f =
            jm_report_finding(r, k->id, sev, "%s of %s %s", c->name, device(r, e), k->what);
        about(f, e->domain);
        int rc = isfinite(e->lower_bound) ? jm_finding_at(r, f, e->window, err, "%s; at least %.6g J passed",
                                                          c->source, e->lower_bound)
                                          : jm_finding_at(r, f, e->window, err, "%s%s%s", c->source,
                                                          e->note ? "; " : "", e->note ? e->note : "");
        if (rc)
            return rc;
    }
    return 0;
}

static bool has_value(const struct jm_report *r, int window, int domain)
{
    for (size_t i = 0; i < r->n_energy; i++)
        if (r->energy[i].window == window && r->energy[i].domain == domain && r->energy[i].status == JM_S_OK)
            return true;
    return false;
}

static bool out_of_calibration(const struct jm_report *r, const struct jm_result *x)
{
    for (size_t i = 0; i < r->n_findings; i++)
        if (strcmp(r->findings[i].id, "calibration.range") == 0 && r->findings[i].window == x->window &&
            (r->findings[i].boundary == x->q.boundary ||
             (r->findings[i].boundary == JM_B_WALL && x->q.boundary == JM_B_FACILITY)) &&
            r->findings[i].severity == JM_SEV_ERROR)
            return true;
    return false;
}

int jm_check_partial(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        char names[400] = "";
        size_t n = 0;
        if (strcmp(x->metric, "energy") != 0 || x->window < 0 || x->have_of >= x->of ||
            out_of_calibration(r, x)) /* said by its own finding */
            continue;
        for (size_t k = 0; k < x->n_domain; k++) {
            int d = x->domain[k];
            if (has_value(r, x->window, d))
                continue;
            if (n++ < 4)
                snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", n > 1 ? ", " : "",
                         r->tree->d[d].label);
        }
        if (n > 4)
            snprintf(names + strlen(names), sizeof names - strlen(names), " and %zu more", n - 4);
        int absent = x->of - x->have_of - (int)n;
        if (absent > 0)
            snprintf(names + strlen(names), sizeof names - strlen(names),
                     "%s%d that serve and that no meter of this run reads", n ? ", and " : "", absent);
        enum jm_boundary b = x->q.boundary;
        int window = x->window;
        struct jm_finding *f = jm_report_finding(r, "boundary.partial", JM_SEV_ERROR,
                                                 "boundary %s: %d of %d devices have an energy; without: %s",
                                                 jm_boundary_name((int)b), x->have_of, x->of, names);
        if (f)
            f->boundary = b;
        int rc = jm_finding_at(r, f, window, err, NULL);
        if (rc)
            return rc;
    }
    return 0;
}

/* What a row comes from, for the evidence: imports do not always say it. */
static const char *seen_by(const struct jm_report *r, const struct jm_energy_row *e)
{
    const struct jm_channel *c = &r->channels[e->channel];
    return c->source[0] ? c->source : c->name;
}

int jm_check_counter_gauge(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    for (size_t i = 0; i < r->n_energy; i++) {
        const struct jm_energy_row *a = &r->energy[i];
        if (a->status != JM_S_OK || r->channels[a->channel].kind != JM_CH_COUNTER ||
            (r->channels[a->channel].flags & (JM_CHF_MIRROR | JM_CHF_PARTOF)))
            continue;
        const struct jm_energy_row *b = NULL;
        size_t from, to;
        neighbours(r, i, &from, &to);
        for (size_t k = from; k < to; k++) {
            const struct jm_energy_row *g = &r->energy[k];
            if (g->domain == a->domain && g->status == JM_S_OK &&
                r->channels[g->channel].kind == JM_CH_GAUGE &&
                r->channels[g->channel].provenance == r->channels[a->channel].provenance &&
                !(r->channels[g->channel].flags & (JM_CHF_MIRROR | JM_CHF_PARTOF)) && (!b || g->u < b->u))
                b = g;
        }
        if (!b)
            continue;
        double diff = a->joules - b->joules, u = sqrt(a->u * a->u + b->u * b->u),
               mid = (fabs(a->joules) + fabs(b->joules)) / 2;
        if (!(mid > 0) || fabs(diff) <= 3 * u + JM_TH_COUNTER_GAUGE_REL * mid)
            continue;
        struct jm_finding *f =
            jm_report_finding(r, "energy.conflict", JM_SEV_WARNING,
                              "%s: the counter says %.6g J, the gauge %.6g J (%+.1f %% of their mean); both "
                              "are shown, neither is "
                              "silently taken",
                              device(r, a), a->joules, b->joules, 100 * (a->joules - b->joules) / mid);
        about(f, a->domain);
        int rc = jm_finding_at(r, f, a->window, err, "%s against %s", seen_by(r, a), seen_by(r, b));
        if (rc)
            return rc;
    }
    return 0;
}

/* Multi-die parts mirror one register under two names; a meter that does not know would count it twice. The
 * two are read some 100 us apart, so that equal movement to 0.02 % over each of five stretches is no
 * coincidence. */
static int mirrored(const struct jm_run *run, struct jm_report *r, const struct jm_energy_row *a,
                    const struct jm_energy_row *b, struct jm_err *err)
{
    const struct jm_window *w = &r->windows[a->window];
    const struct jm_channel *ca = &r->channels[a->channel], *cb = &r->channels[b->channel];
    struct jm_readings x = {0}, y = {0};
    int rc = jm_run_readings(run, ca->id, w->t0, w->t1, &x, err);
    if (!rc)
        rc = jm_run_readings(run, cb->id, w->t0, w->t1, &y, err);
    bool same = !rc && jm_counter_mirrored(ca, x.v, x.n, cb, y.v, y.n, 5, JM_TH_MIRROR_REL);
    jm_readings_release(&x);
    jm_readings_release(&y);
    if (!same)
        return rc;
    struct jm_finding *f = jm_report_finding(
        r, "energy.mirrored", JM_SEV_WARNING,
        "%s and %s moved by the same joules all the time: if they show one register, it is counted twice",
        device(r, a), device(r, b));
    about(f, b->domain);
    return jm_finding_at(r, f, a->window, err, "%s, %s", ca->source, cb->source);
}

int jm_check_mirrored(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < r->n_energy; i++) {
        const struct jm_energy_row *a = &r->energy[i];
        size_t from, to;
        if (!a->counted || a->domain < 0 || r->tree->d[a->domain].kind != JM_D_PACKAGE ||
            r->channels[a->channel].kind != JM_CH_COUNTER)
            continue;
        neighbours(r, i, &from, &to);
        for (size_t k = i + 1; !rc && k < to; k++) {
            const struct jm_energy_row *b = &r->energy[k];
            if (b->counted && b->domain >= 0 && r->tree->d[b->domain].kind == JM_D_PACKAGE &&
                r->channels[b->channel].kind == JM_CH_COUNTER &&
                fabs(a->joules - b->joules) <= JM_TH_MIRROR_REL * fabs(a->joules))
                rc = mirrored(run, r, a, b, err);
        }
    }
    return rc;
}

int jm_check_gaps(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    for (size_t i = 0; i < r->n_energy; i++) {
        const struct jm_energy_row *e = &r->energy[i];
        double s = jm_seconds_apart(r->windows[e->window].t1, r->windows[e->window].t0);
        if (!e->counted || !(e->gap_s > JM_TH_GAP_WARN * s))
            continue;
        bool bad = e->gap_s > JM_TH_GAP_ERROR * s;
        struct jm_finding *f = jm_report_finding(r, "energy.gap", bad ? JM_SEV_ERROR : JM_SEV_WARNING,
                                                 "%s of %s has no data for %.3g s of %.3g s",
                                                 r->channels[e->channel].name, device(r, e), e->gap_s, s);
        about(f, e->domain);
        int rc = jm_finding_at(r, f, e->window, err, "%s", seen_by(r, e));
        if (rc)
            return rc;
    }
    return 0;
}

int jm_check_gain(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    for (size_t i = 0; i < r->n_energy; i++) {
        const struct jm_energy_row *e = &r->energy[i];
        if (!e->counted || !isnan(r->channels[e->channel].gain_tol))
            continue;
        return jm_finding_at(
            r,
            jm_report_finding(r, "gain.unknown", JM_SEV_INFO,
                              "the gain of the instruments is not known: intervals leave it out%s",
                              e->domain >= 0 && r->tree->d[e->domain].kind == JM_D_GPU
                                  ? " (published GPU boards read 0.87 to 1.15 of the true power)"
                                  : ""),
            -1, err, "%s", seen_by(r, e));
    }
    return 0;
}

/* Bits of NVML's clock event reasons that hold a GPU below what it was asked for. */
static const struct {
    int64_t bit;
    const char *name;
} reasons[] = {{0x04, "software power cap"},
               {0x08, "hardware slowdown"},
               {0x20, "software thermal slowdown"},
               {0x40, "hardware thermal slowdown"},
               {0x80, "hardware power brake"}};

/* Every measured window over the readings of one channel, which are decoded once. */
typedef int (*look_fn)(struct jm_report *r, const struct jm_channel *c, int window,
                       const struct jm_reading *v, size_t n, struct jm_err *err);

static int each_window(const struct jm_run *run, struct jm_report *r, const struct jm_channel *c,
                       look_fn look, struct jm_err *err)
{
    struct jm_readings all = {0};
    int64_t from = INT64_MAX, to = INT64_MIN;
    for (size_t w = 0; w < r->n_windows; w++)
        if (r->windows[w].role == JM_R_MEASURE) {
            from = r->windows[w].t0 < from ? r->windows[w].t0 : from;
            to = r->windows[w].t1 > to ? r->windows[w].t1 : to;
        }
    int rc = from < to ? jm_run_readings(run, c->id, from, to, &all, err) : 0;
    for (size_t w = 0; !rc && w < r->n_windows; w++) {
        const struct jm_window *x = &r->windows[w];
        size_t a = 0, b = all.n;
        if (x->role != JM_R_MEASURE)
            continue;
        while (a < b) { /* the first that begins in the window */
            size_t mid = (a + b) / 2;
            if (all.v[mid].t0 < x->t0)
                a = mid + 1;
            else
                b = mid;
        }
        for (b = a; b < all.n && all.v[b].t1 <= x->t1;)
            b++;
        if (b > a)
            rc = look(r, c, (int)w, all.v + a, b - a, err);
    }
    jm_readings_release(&all);
    return rc;
}

static int throttled(struct jm_report *r, const struct jm_channel *c, int window, const struct jm_reading *v,
                     size_t n, struct jm_err *err)
{
    int64_t count[5] = {0}, good = 0;
    int rc = 0;
    for (size_t i = 0; i < n; i++) {
        if (v[i].status != JM_S_OK)
            continue;
        good++;
        for (int k = 0; k < 5; k++)
            count[k] += (v[i].value & reasons[k].bit) != 0;
    }
    for (int k = 0; !rc && k < 5; k++) {
        if (!good || !count[k] || count[k] * 100 < good)
            continue;
        /* a power cap is what operators set; heat and brakes are what they do not want */
        struct jm_finding *f =
            jm_report_finding(r, "gpu.throttle", k == 0 ? JM_SEV_INFO : JM_SEV_WARNING,
                              "%s was held back by %s in %lld %% of the readings", c->device, reasons[k].name,
                              (long long)(count[k] * 100 / good));
        about(f, c->domain);
        rc = jm_finding_at(r, f, window, err, "%s", c->source);
    }
    return rc;
}

int jm_check_throttle(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int rc = 0;
    for (size_t c = 0; !rc && c < r->n_channels; c++)
        if (r->channels[c].kind == JM_CH_STATE && strcmp(r->channels[c].name, "clock.event_reasons") == 0)
            rc = each_window(run, r, &r->channels[c], throttled, err);
    return rc;
}

static int moved(struct jm_report *r, const struct jm_channel *c, int window, const struct jm_reading *v,
                 size_t n, struct jm_err *err)
{
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    for (size_t i = 0; i < n; i++)
        if (v[i].status == JM_S_OK) {
            lo = v[i].value < lo ? v[i].value : lo;
            hi = v[i].value > hi ? v[i].value : hi;
        }
    if (lo >= hi)
        return 0;
    struct jm_finding *f =
        jm_report_finding(r, "limit.changed", JM_SEV_WARNING,
                          "the power limit of %s moved between %.4g and %.4g W inside the window", c->device,
                          jm_channel_value(c, lo), jm_channel_value(c, hi));
    about(f, c->domain);
    return jm_finding_at(r, f, window, err, "%s", c->source);
}

int jm_check_limit_change(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int rc = 0;
    for (size_t c = 0; !rc && c < r->n_channels; c++)
        if (r->channels[c].kind == JM_CH_GAUGE && strncmp(r->channels[c].name, "power.limit", 11) == 0)
            rc = each_window(run, r, &r->channels[c], moved, err);
    return rc;
}

int jm_check_fast_polling(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    int rc = 0;
    for (size_t i = 0; !rc && i < r->n_env; i++)
        if (strncmp(r->env[i].key, "selftest.", 9) == 0 && strncmp(r->env[i].value, "failed", 6) == 0)
            rc = jm_finding_at(
                r,
                jm_report_finding(
                    r, "poll.disturbs", JM_SEV_WARNING,
                    "reading fast changed what meter %s counts, so its edges were read slowly: %s",
                    r->env[i].key + 9, r->env[i].value),
                -1, err, "%s", r->env[i].key);
    return rc;
}

int jm_check_estimate(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    for (size_t i = 0; i < r->n_channels; i++)
        if (r->channels[i].provenance == JM_P_ESTIMATED)
            return jm_finding_at(
                r,
                jm_report_finding(r, "estimate", JM_SEV_INFO,
                                  "%s of %s is an estimate; it is shown under its own name and is part of no "
                                  "measured total",
                                  r->channels[i].name, r->channels[i].device),
                -1, err, "%s", r->channels[i].source);
    return 0;
}
