/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of what any instrument shows, by its own readings: a unit that is not the one it claims, a value
 * that is frozen or stale, steps too coarse for what is measured, values that nothing can draw, a clock of
 * its own that is wrong, and instruments of the configuration that gave nothing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/checks.h"
#include "audit/threshold.h"

#include "base/banned.h"

#define BLOCKS 10

/* What one channel showed over the measured windows. */
struct seen {
    size_t n, ok, changes, beyond;
    double span;          /* s from the first ok reading to the last */
    double joules;        /* of a counter, decreases undone where the modulus is known, else left out */
    double mean, lo, hi;  /* of a gauge; mean over time */
    double block[BLOCKS]; /* means of tenths of the windows */
    double step;          /* smallest difference of two values, in the unit; NAN: it never changed */
    double still;         /* longest time without a change, s */
    double offset;        /* middle reading (clock.offset, age) */
};

static double value_of(const struct jm_channel *c, const struct jm_reading *v)
{
    return jm_channel_value(c, v->value);
}

static bool within(const struct jm_channel *c, double w)
{
    return c->sane_min >= c->sane_max || (w >= c->sane_min && w <= c->sane_max);
}

static double counted(const struct jm_channel *c, const struct jm_reading *a, const struct jm_reading *b)
{
    double d = value_of(c, b) - value_of(c, a);
    if (d < 0 && c->modulus && !(c->flags & JM_CHF_DOUBLE))
        d += jm_channel_value(c, 1) * (double)c->modulus;
    return d > 0 ? d : 0;
}

static void scan(const struct jm_channel *c, const struct jm_reading *v, size_t n, int64_t from, int64_t to,
                 struct seen *s)
{
    const struct jm_reading *prev = NULL, *first = NULL, *changed = NULL;
    double area = 0, tenth = jm_seconds_apart(to, from) / BLOCKS, block_s[BLOCKS] = {0};
    *s = (struct seen){.lo = INFINITY, .hi = -INFINITY, .step = NAN, .mean = NAN, .offset = NAN};
    for (size_t i = 0; i < n; i++) {
        if (v[i].t0 < from || v[i].t1 > to)
            continue;
        s->n++;
        if (v[i].status == JM_S_IMPLAUSIBLE)
            s->beyond++;
        if (v[i].status != JM_S_OK)
            continue;
        double x = value_of(c, &v[i]);
        if (c->kind == JM_CH_GAUGE && !within(c, x)) {
            s->beyond++;
            continue;
        }
        s->ok++;
        if (!first)
            first = changed = &v[i];
        if (prev && v[i].t1 >= prev->t1) {
            double dt = jm_seconds_apart(v[i].t1, prev->t1), at = jm_seconds_apart(prev->t1, from) / tenth,
                   was = value_of(c, prev);
            int b = at < 0 ? 0 : at >= BLOCKS ? BLOCKS - 1 : (int)at;
            area += was * dt;
            s->block[b] += was * dt;
            block_s[b] += dt;
            if (v[i].value != prev->value) {
                double d = fabs(x - was);
                s->changes++;
                s->step = !(d >= s->step) && d > 0 ? d : s->step; /* also where there was none */
                s->still = fmax(s->still, jm_seconds_apart(v[i].t1, changed->t1));
                changed = &v[i];
            }
            if (c->kind == JM_CH_COUNTER)
                s->joules += counted(c, prev, &v[i]);
        }
        s->lo = fmin(s->lo, x);
        s->hi = fmax(s->hi, x);
        s->offset = x; /* the last one: it drifts slowly */
        prev = &v[i];
    }
    if (!prev)
        return;
    s->span = jm_seconds_apart(prev->t1, first->t1);
    s->still = fmax(s->still, jm_seconds_apart(prev->t1, changed->t1));
    s->mean = s->span > 0 ? area / s->span : s->offset;
    for (int b = 0; b < BLOCKS; b++)
        s->block[b] = block_s[b] > 0 ? s->block[b] / block_s[b] : NAN;
}

static const char *label(const struct jm_report *r, const struct jm_channel *c)
{
    return c->device[0]                                    ? c->device
           : c->domain >= 0 && c->domain < (int)r->tree->n ? r->tree->d[c->domain].label
                                                           : "the instrument";
}

static bool is_power(const struct jm_channel *c)
{
    return c->kind == JM_CH_GAUGE && c->unit == JM_U_W && !strstr(c->name, "limit") &&
           !strstr(c->name, "cap");
}

static bool is_energy(const struct jm_channel *c)
{
    return c->kind == JM_CH_COUNTER && c->unit == JM_U_J;
}

static int add(struct jm_report *r, const struct jm_channel *c, const char *id, enum jm_severity sev,
               struct jm_err *err, const char *text)
{
    struct jm_finding *f = jm_report_finding(r, id, sev, "%s", text);
    if (f)
        f->domain = c->domain;
    return jm_finding_at(r, f, -1, err, "%s", c->source[0] ? c->source : c->name);
}

/* ---- unit */

/* Ratios of a counter's joules to the joules of the power beside it that a wrong unit gives, and what then
 * fits. */
static const struct {
    double ratio;
    const char *counter, *power;
} units[] = {
    {1e3, "counts a thousandth of its unit (mJ for J, Wh for kWh)", "is in kW"},
    {1e-3, "counts a thousand of its unit (kJ for J, kWh for Wh)", "is in mW"},
    {1e6, "counts a millionth of its unit (uJ for J)", "is in MW"},
    {1e-6, "counts a million of its unit (MJ for J)", "is in uW"},
    {3.6e3, "counts J where Wh are taken", NULL},
    {1 / 3.6e3, "counts Wh where J are taken", NULL},
    {3.6e6, "counts J where kWh are taken", NULL},
    {1 / 3.6e6, "counts kWh where J are taken", NULL},
    {10, "counts a tenth of its unit", "is in tens of W"},
    {0.1, "counts tens of its unit", "is in tenths of a W"},
    {100, "counts a hundredth of its unit", "is in hundreds of W"},
    {0.01, "counts hundreds of its unit", "is in hundredths of a W"},
};

static int check_unit(struct jm_report *r, size_t a, size_t b, const struct seen *s, struct jm_err *err)
{
    const struct jm_channel *e = &r->channels[a], *p = &r->channels[b];
    double by_power = s[b].mean * s[a].span;
    /* what one count more or less would change is no evidence */
    if (s[a].ok < 2 || s[b].ok < 2 || !(s[a].changes >= JM_TH_UNIT_COUNTS) || !(by_power > 0) ||
        !(s[b].span >= 0.5 * s[a].span))
        return 0;
    double ratio = s[a].joules / by_power;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        char text[400];
        if (!(fabs(ratio / units[i].ratio - 1) <= JM_TH_UNIT_REL))
            continue;
        snprintf(
            text, sizeof text,
            "%.90s: its counter moved %.4g J while its power says %.4g J, %.6g times as much: the counter "
            "%s%s%s; its energy is not to be used",
            label(r, e), s[a].joules, by_power, ratio, units[i].counter,
            units[i].power ? ", or the power " : "", units[i].power ? units[i].power : "");
        (void)p;
        return add(r, e, "instrument.unit", JM_SEV_ERROR, err, text);
    }
    return 0;
}

/* ---- frozen, stale, coarse, beyond */

/* How much the contents of a domain moved, by means of tenths. */
static double moved_inside(const struct jm_report *r, const struct seen *s, int domain, size_t *which)
{
    double most = 0;
    for (size_t i = 0; i < r->n_channels; i++) {
        const struct jm_channel *c = &r->channels[i];
        double lo = INFINITY, hi = -INFINITY;
        if (!is_power(c) || c->domain < 0 || c->domain == domain ||
            !jm_domain_contains(r->tree, domain, c->domain))
            continue;
        for (int b = 0; b < BLOCKS; b++)
            if (isfinite(s[i].block[b])) {
                lo = fmin(lo, s[i].block[b]);
                hi = fmax(hi, s[i].block[b]);
            }
        if (hi - lo > most) {
            most = hi - lo;
            *which = i;
        }
    }
    return most;
}

/* Steps of the instrument and not of the load: its values are multiples of them. A load of two powers, or the
 * ramp that a mean makes of it, comes in steps too, and says nothing of the instrument. */
static bool is_grid(const struct seen *s)
{
    double lo = s->lo / s->step, hi = s->hi / s->step;
    return fabs(lo - floor(lo + 0.5)) <= 0.02 && fabs(hi - floor(hi + 0.5)) <= 0.02;
}

static int check_gauge(struct jm_report *r, size_t i, const struct seen *all, struct jm_err *err)
{
    const struct jm_channel *c = &r->channels[i];
    const struct seen *s = &all[i];
    char text[400];
    int rc = 0;
    if (s->beyond) {
        snprintf(text, sizeof text,
                 "%zu of %zu readings of %s of %.90s lie beyond what it can show (%.4g to %.4g W) and are "
                 "not used",
                 s->beyond, s->n, c->name, label(r, c), c->sane_min, c->sane_max);
        rc = add(r, c, "instrument.beyond", JM_SEV_WARNING, err, text);
    }
    size_t which = i;
    if (!rc && !s->changes && s->ok >= JM_TH_FROZEN_READINGS && s->span >= JM_TH_FROZEN_S && c->domain >= 0 &&
        moved_inside(r, all, c->domain, &which) > fmax(JM_TH_FROZEN_W, JM_TH_FROZEN_REL * fabs(s->mean))) {
        snprintf(
            text, sizeof text,
            "%s of %.90s stood at %.4g W for %.3g s while %.90s inside it changed by %.3g W: it is frozen",
            c->name, label(r, c), s->mean, s->span, label(r, &r->channels[which]),
            moved_inside(r, all, c->domain, &which));
        rc = add(r, c, "instrument.frozen", JM_SEV_ERROR, err, text);
    }
    if (!rc && s->changes >= JM_TH_STALE_CHANGES && s->still > JM_TH_STALE_S &&
        s->still > JM_TH_STALE_TIMES * (s->span - s->still) / (double)s->changes) {
        snprintf(
            text, sizeof text,
            "%s of %.90s kept one value for %.3g s, while it changes every %.3g s else: what it showed then "
            "was old",
            c->name, label(r, c), s->still, (s->span - s->still) / (double)s->changes);
        rc = add(r, c, "instrument.stale", JM_SEV_WARNING, err, text);
    }
    if (!rc && s->changes >= 3 && s->step / 2 > JM_TH_QUANTUM_REL * fabs(s->mean) && is_grid(s)) {
        snprintf(text, sizeof text, "%s of %.90s comes in steps of %.4g W, %.3g %% of its mean", c->name,
                 label(r, c), s->step, 100 * s->step / fabs(s->mean));
        rc = add(r, c, "instrument.quantum", JM_SEV_INFO, err, text);
    }
    return rc;
}

static int check_seconds(struct jm_report *r, size_t i, const struct seen *s, struct jm_err *err)
{
    const struct jm_channel *c = &r->channels[i];
    double x = s->offset, a = fabs(x);
    char text[300];
    if (!isfinite(x))
        return 0;
    if (strcmp(c->name, "clock.offset") == 0 && a > JM_TH_FOREIGN_CLOCK_S) {
        snprintf(text, sizeof text,
                 "the clock of %.90s is %.4g %s %s this host's; its own times are not used for anything",
                 label(r, c), a > 172800 ? a / 86400 : a, a > 172800 ? "days" : "s",
                 x > 0 ? "ahead of" : "behind");
        return add(r, c, "instrument.clock", JM_SEV_INFO, err, text);
    }
    if (strcmp(c->name, "age") == 0 && s->hi > JM_TH_STALE_S) {
        snprintf(text, sizeof text,
                 "values of %.90s were up to %.3g s old when they were read, by its own account", label(r, c),
                 s->hi);
        return add(r, c, "instrument.stale", JM_SEV_WARNING, err, text);
    }
    return 0;
}

static int scan_all(const struct jm_run *run, struct jm_report *r, struct seen *s, struct jm_err *err)
{
    int64_t from = INT64_MAX, to = INT64_MIN;
    for (size_t w = 0; w < r->n_windows; w++)
        if (r->windows[w].role == jm_main_role(r)) {
            from = r->windows[w].t0 < from ? r->windows[w].t0 : from;
            to = r->windows[w].t1 > to ? r->windows[w].t1 : to;
        }
    int rc = 0;
    for (size_t i = 0; !rc && from < to && i < r->n_channels; i++) {
        const struct jm_channel *c = &r->channels[i];
        struct jm_readings v = {0};
        if (!is_power(c) && !is_energy(c) && !(c->kind == JM_CH_GAUGE && c->unit == JM_U_S))
            continue;
        rc = jm_run_readings(run, c->id, from, to, &v, err);
        if (!rc)
            scan(c, v.v, v.n, from, to, &s[i]);
        jm_readings_release(&v);
    }
    return rc;
}

/* The gauge beside a counter: of the same device, else of the same domain. */
static size_t beside(const struct jm_report *r, size_t a)
{
    size_t found = r->n_channels;
    const struct jm_channel *c = &r->channels[a];
    for (size_t i = 0; i < r->n_channels; i++) {
        const struct jm_channel *p = &r->channels[i];
        if (!is_power(p) || p->meter != c->meter || p->domain != c->domain ||
            strcmp(p->device, c->device) != 0)
            continue;
        if (found == r->n_channels || strcmp(p->name, "power") == 0)
            found = i;
    }
    return found;
}

int jm_check_instruments(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    struct seen *s = calloc(r->n_channels + 1, sizeof *s);
    if (!s)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the checks of the instruments");
    for (size_t i = 0; i < r->n_channels; i++)
        scan(&r->channels[i], NULL, 0, 0, 1, &s[i]);
    int rc = scan_all(run, r, s, err);
    for (size_t i = 0; !rc && i < r->n_channels; i++) {
        const struct jm_channel *c = &r->channels[i];
        if (is_energy(c)) {
            size_t b = beside(r, i);
            rc = b < r->n_channels ? check_unit(r, i, b, s, err) : 0;
        } else if (is_power(c)) {
            rc = check_gauge(r, i, s, err);
        } else if (c->kind == JM_CH_GAUGE && c->unit == JM_U_S) {
            rc = check_seconds(r, i, &s[i], err);
        }
    }
    free(s);
    return rc;
}

/* ---- what the run says of its configured instruments */

int jm_check_configured(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    size_t n = 0;
    const struct jm_run_meter *m = jm_run_meters(run, &n);
    for (size_t i = 0; i < n; i++) {
        if (!m[i].instance[0] || strcmp(m[i].state, "ok") == 0 || strcmp(m[i].state, "lost") == 0)
            continue;
        struct jm_finding *f = jm_report_finding(r, "instrument.absent", JM_SEV_WARNING,
                                                 "the configured instrument %s gave nothing: %.250s",
                                                 m[i].instance, m[i].reason);
        int rc = jm_finding_at(r, f, -1, err, "%s", m[i].name);
        if (rc)
            return rc;
    }
    for (size_t i = 0; i < n; i++) {
        char key[128];
        snprintf(key, sizeof key, "instrument.%.40s.tls", m[i].instance);
        const char *tls = m[i].instance[0] ? jm_run_env(run, key) : NULL;
        if (tls && strcmp(tls, "not verified") == 0) {
            struct jm_finding *f = jm_report_finding(
                r, "instrument.tls", JM_SEV_WARNING,
                "who answered as %s is not known: its certificate was not verified", m[i].instance);
            int rc = jm_finding_at(r, f, -1, err, "tls: insecure");
            if (rc)
                return rc;
        }
        snprintf(key, sizeof key, "instrument.%.40s.late", m[i].instance);
        const char *late = m[i].instance[0] ? jm_run_env(run, key) : NULL;
        if (late) {
            struct jm_finding *f = jm_report_finding(
                r, "instrument.late", JM_SEV_WARNING,
                "the configured instrument %s did not answer at first: %.250s", m[i].instance, late);
            int rc = jm_finding_at(r, f, -1, err, "%s", m[i].name);
            if (rc)
                return rc;
        }
        snprintf(key, sizeof key, "instrument.%.40s.replies.lost", m[i].instance);
        const char *lost = m[i].instance[0] ? jm_run_env(run, key) : NULL;
        if (lost) {
            struct jm_finding *f =
                jm_report_finding(r, "instrument.replies", JM_SEV_INFO,
                                  "%s raw replies of %s are not in the run file", lost, m[i].instance);
            int rc = jm_finding_at(r, f, -1, err, "they came faster than they could be written");
            if (rc)
                return rc;
        }
    }
    return 0;
}
