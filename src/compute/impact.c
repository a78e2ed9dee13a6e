/* SPDX-License-Identifier: Apache-2.0 */
/* What the energies cost and emit: results of one boundary times a factor, so that interval, denominator,
 * validity and provenance go with them. Scope 2 of the GHG Protocol has two lines, by location and by market;
 * each takes generation factors, means of a grid, and no other. */
#include "compute/impact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define KWH    3.6e6
#define YEAR_H 8760.0

/* What one factor makes, by line. */
struct line {
    const char *total, *per_mtok, *per_request;
};
static const struct line location = {"carbon.location", "carbon.location.per_mtok",
                                     "carbon.location.per_request"},
                         market = {"carbon.market", "carbon.market.per_mtok", "carbon.market.per_request"},
                         lifecycle = {"carbon.lifecycle", "carbon.lifecycle.per_mtok",
                                      "carbon.lifecycle.per_request"},
                         marginal = {"carbon.marginal", "carbon.marginal.per_mtok",
                                     "carbon.marginal.per_request"},
                         unstated = {"carbon.unstated", "carbon.unstated.per_mtok",
                                     "carbon.unstated.per_request"},
                         cost = {"cost", "cost.per_mtok", "cost.per_request"},
                         source_water = {"water.source", "water.source.per_mtok", "water.source.per_request"},
                         site_water = {"water.site", "water.site.per_mtok", "water.site.per_request"};

struct work {
    struct jm_calc *c;
    enum jm_boundary at;
    const struct jm_factor *f;
    int factor;
    struct jm_spread *by_window; /* of f, by index of c->win */
    struct jm_spread over;       /* of all measure windows, for results over trials */
};

static int no_memory(struct jm_calc *c)
{
    return jm_err_set(c->err, JM_ENOMEM, "out of memory for cost and carbon");
}

static bool measured(const struct jm_calc *c, const struct jm_result *x)
{
    return x->window < 0 || c->r->windows[x->window].role == JM_R_MEASURE;
}

/* The widest boundary that has an energy in a measure window. */
static enum jm_boundary widest(const struct jm_calc *c)
{
    static const enum jm_boundary order[] = {JM_B_FACILITY, JM_B_WALL, JM_B_NODE, JM_B_DEVICE, JM_B_GPU};
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        for (size_t i = 0; i < c->r->n_results; i++) {
            const struct jm_result *x = &c->r->results[i];
            if (x->q.boundary == order[k] && x->q.have && strcmp(x->metric, "energy") == 0 &&
                measured(c, x) && x->q.provenance != JM_P_ESTIMATED)
                return order[k];
        }
    return JM_B_NONE;
}

static const struct jm_spread *spread_of(const struct work *k, int window)
{
    const struct jm_calc_window *w = window < 0 ? NULL : jm_windows_of(k->c, window);
    return w ? &k->by_window[w - k->c->win] : &k->over;
}

/* A new row that is x times `by` in the unit. */
static struct jm_impact *times(struct jm_calc *c, const struct jm_result *x, size_t base, const char *metric,
                               double by, const char *unit)
{
    struct jm_result copy = *x;
    struct jm_impact *m = jm_report_impact(c->r);
    const struct jm_metric *row = jm_metric_find(metric);
    if (!m || !row || !unit)
        return NULL;
    m->x = copy;
    m->base = base;
    m->x.metric = row->id;
    m->x.q.unit = unit;
    m->x.q.value *= by;
    if (by >= 0) {
        m->x.q.u.lo *= by;
        m->x.q.u.hi *= by;
    } else { /* a price below nothing */
        double lo = m->x.q.u.lo;
        m->x.q.u.lo = m->x.q.u.hi * by;
        m->x.q.u.hi = lo * by;
    }
    m->x.q.provenance = jm_provenance_worse(m->x.q.provenance, JM_P_DECLARED);
    return m;
}

static void not_had(struct jm_impact *m, const char *reason, const char *why)
{
    m->x.q.have = false;
    m->x.q.value = m->x.q.u.lo = m->x.q.u.hi = NAN;
    m->x.q.u.method = m->x.q.u.excludes = m->x.q.u.includes = NULL;
    m->x.q.reasons = reason;
    m->why = why;
}

/* "EUR" + "/Mtok" */
static const char *unit_of(struct work *k, const char *per)
{
    const char *u = k->f->unit;
    return jm_report_text(k->c->r, "%.*s%s", (int)strcspn(u, "/"), u, per);
}

static const char *hole(struct work *k, const struct jm_spread *s)
{
    char when[JM_RFC3339_SIZE];
    return jm_report_text(k->c->r,
                          "no %s of %s from %.16sZ on: the factor covers %.0f %% of the window, and what is "
                          "missing is not guessed",
                          jm_factor_what_name((int)k->f->what), k->f->zone, jm_time_rfc3339(s->missing, when),
                          100 * s->covered);
}

static int one(struct work *k, const struct jm_result *x, size_t base, const char *metric, double scale,
               const char *per)
{
    const struct jm_spread *s = spread_of(k, x->window);
    struct jm_impact *m =
        times(k->c, x, base, metric, isfinite(s->value) ? scale * s->value : 1, unit_of(k, per));
    if (!m)
        return no_memory(k->c);
    m->factor = k->factor;
    m->zone = k->c->r->factors[k->factor].zone;
    m->mean = s->value;
    m->estimated = s->estimated;
    m->even = s->even;
    if (!isfinite(s->value)) {
        not_had(m, "factor-missing", hole(k, s));
    } else if (m->x.q.have) {
        m->x.q.u.excludes =
            jm_report_text(k->c->r, "%s%serror of the factor (unknown)",
                           x->q.u.excludes ? x->q.u.excludes : "", x->q.u.excludes ? ", " : "");
        if (!m->x.q.u.excludes)
            return no_memory(k->c);
    }
    return 0;
}

/* Result i as it is at the boundary. Where a ratio is known at the wall alone (a session that was published
 * has it so), PUE times it is the facility's. */
static bool at_boundary(const struct work *k, size_t i, struct jm_result *out)
{
    const struct jm_report *r = k->c->r;
    const struct jm_result *x = &r->results[i], *energy = NULL;
    double pue = k->c->o->pue.value;
    *out = *x;
    if (!measured(k->c, x) || x->q.provenance == JM_P_ESTIMATED || x->slice)
        return false;
    if (x->q.boundary == k->at)
        return true;
    if (k->at != JM_B_FACILITY || x->q.boundary != JM_B_WALL || strncmp(x->metric, "j_per.", 6) != 0)
        return false;
    for (size_t q = 0; q < r->n_results; q++) {
        const struct jm_result *f = &r->results[q];
        if (f->q.boundary != JM_B_FACILITY || f->window != x->window)
            continue;
        if (strcmp(f->metric, x->metric) == 0)
            return false;
        if (strcmp(f->metric, "energy") == 0)
            energy = f;
    }
    if (!energy)
        return false;
    out->q.boundary = JM_B_FACILITY;
    out->set = energy->set;
    out->q.provenance = jm_provenance_worse(x->q.provenance, JM_P_DECLARED);
    out->q.value *= pue;
    out->q.u.lo *= pue;
    out->q.u.hi *= pue;
    return true;
}

/* The energy itself, a million tokens and a request. */
static int energies(struct work *k)
{
    for (size_t i = 0; i < k->c->r->n_results; i++) {
        struct jm_result x;
        bool token = strcmp(k->c->r->results[i].metric, "j_per.output_token") == 0;
        if ((!token && strcmp(k->c->r->results[i].metric, "j_per.request_ok") != 0) || !at_boundary(k, i, &x))
            continue;
        enum jm_provenance p = x.q.provenance;
        struct jm_impact *m = times(k->c, &x, i, token ? "kwh_per_mtok" : "wh_per.request",
                                    token ? 1 / 3.6 : 1 / 3600.0, token ? "kWh/Mtok" : "Wh/request");
        if (!m)
            return no_memory(k->c);
        m->x.q.provenance = p; /* no factor is in it */
    }
    return 0;
}

static int lines(struct work *k, const struct line *l)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < k->c->r->n_results; i++) {
        struct jm_result x;
        if (!at_boundary(k, i, &x))
            continue;
        if (strcmp(x.metric, "energy") == 0)
            rc = one(k, &x, i, l->total, 1 / KWH, "");
        else if (strcmp(x.metric, "j_per.output_token") == 0)
            rc = one(k, &x, i, l->per_mtok, 1e6 / KWH, "/Mtok");
        else if (strcmp(x.metric, "j_per.request_ok") == 0)
            rc = one(k, &x, i, l->per_request, 1 / KWH, "/request");
    }
    return rc;
}

/* A line of scope 2 that a zone does not get, and why. */
static int refused(struct jm_calc *c, enum jm_boundary at, const char *metric, int factor, const char *reason,
                   const char *why)
{
    for (size_t i = 0; i < c->r->n_results; i++) {
        struct jm_result x = c->r->results[i];
        if (x.q.boundary != at || !measured(c, &x) || strcmp(x.metric, "energy") != 0)
            continue;
        struct jm_impact *m = times(c, &x, i, metric, 1, "gCO2e");
        if (!m || !why)
            return no_memory(c);
        m->factor = factor;
        m->zone = c->r->factors[factor].zone;
        not_had(m, reason, why);
    }
    return 0;
}

static bool zone_has(const struct jm_factor_set *s, const char *zone, bool by_market)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->f[i].what == JM_FACTOR_CARBON && strcmp(s->f[i].zone, zone) == 0 &&
            (s->f[i].basis != JM_FACTOR_LOCATION) == by_market && !jm_factor_scope2(&s->f[i]))
            return true;
    return false;
}

static bool first_of_zone(const struct jm_factor_set *s, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (s->f[k].what == JM_FACTOR_CARBON && strcmp(s->f[k].zone, s->f[i].zone) == 0)
            return false;
    return true;
}

static int carbon(struct work *k, size_t i)
{
    const struct jm_factor *f = k->f;
    const struct jm_factor_set *set = k->c->o->factors;
    const char *no = jm_factor_scope2(f);
    int rc;
    if (f->basis != JM_FACTOR_LOCATION)
        rc = no ? refused(k->c, k->at, market.total, (int)i, "factor-kind",
                          jm_report_text(k->c->r, "%s; no market-based figure is made of it", no))
                : lines(k, &market);
    else if (f->marginal)
        rc = lines(k, &marginal);
    else if (f->kind == JM_FACTOR_GENERATION)
        rc = lines(k, &location);
    else
        rc = lines(k, f->kind == JM_FACTOR_LIFECYCLE ? &lifecycle : &unstated);
    if (rc || !first_of_zone(set, i))
        return rc;
    if (!zone_has(set, f->zone, false))
        rc = refused(k->c, k->at, location.total, (int)i, "factor-kind",
                     jm_report_text(k->c->r, "%s", no ? no : "no mean of the grid was given"));
    if (!rc && !zone_has(set, f->zone, true))
        rc = refused(k->c, k->at, market.total, (int)i, "no-contract",
                     "no contract and no residual mix was given; the mean of the grid does not stand in");
    return rc;
}

/* A year at this mean power: an extrapolation, and called so. */
static int year(struct work *k, const char *metric)
{
    const struct jm_factor *f = k->f;
    double mean = !f ? 1 : isfinite(f->constant) ? f->constant : f->year_mean;
    for (size_t i = 0; i < k->c->r->n_results; i++) {
        struct jm_result x = k->c->r->results[i];
        if (x.q.boundary != k->at || strcmp(x.metric, "power.mean") != 0 || !measured(k->c, &x))
            continue;
        struct jm_impact *m = times(k->c, &x, i, metric, isfinite(mean) ? mean * YEAR_H / 1000 : 1,
                                    f ? unit_of(k, "/year") : "kWh/year");
        if (!m)
            return no_memory(k->c);
        m->x.numerator_name = m->x.denominator_name = NULL;
        m->x.q.u.excludes =
            jm_report_text(k->c->r, "%s%sother hours of the year (taken to be like this window)",
                           x.q.u.excludes ? x.q.u.excludes : "", x.q.u.excludes ? ", " : "");
        m->factor = f ? k->factor : -1;
        m->zone = f ? k->c->r->factors[k->factor].zone : NULL;
        m->mean = mean;
        if (!isfinite(mean))
            not_had(
                m, "factor-missing",
                "the factor does not cover a year; what is known of some hours is not carried to the others");
    }
    return 0;
}

static const struct jm_result *energy_of(const struct work *k, int window)
{
    for (size_t i = 0; i < k->c->r->n_results; i++) {
        const struct jm_result *x = &k->c->r->results[i];
        if (x->window == window && x->q.boundary == k->at && strcmp(x->metric, "energy") == 0 && !x->slice)
            return x;
    }
    return NULL;
}

/* SCI (ISO/IEC 21031): operation by location plus the embodied share, over a functional unit. */
static int sci(struct work *k)
{
    const struct jm_embodied *b = &k->c->o->embodied;
    for (size_t i = 0; i < k->c->r->n_results; i++) {
        struct jm_result x;
        if (!at_boundary(k, i, &x))
            continue;
        bool token = strcmp(x.metric, "j_per.output_token") == 0,
             request = strcmp(x.metric, "j_per.request_ok") == 0;
        const struct jm_calc_window *w = jm_windows_of(k->c, x.window);
        if ((!token && !request) || !w)
            continue;
        const struct jm_result *e = energy_of(k, x.window);
        if (!e || !e->q.have || !(e->q.value > 0))
            continue;
        const struct jm_spread *s = spread_of(k, x.window);
        /* the embodied share of the window is dealt out as its energy is */
        double per = token ? 1e6 : 1, m_g = jm_embodied_grams(b, w->seconds) * x.q.value / e->q.value * per;
        struct jm_impact *m =
            times(k->c, &x, i, token ? "sci.per_mtok" : "sci.per_request",
                  isfinite(s->value) ? per / KWH * s->value : 1, token ? "gCO2e/Mtok" : "gCO2e/request");
        if (!m)
            return no_memory(k->c);
        m->factor = k->factor;
        m->zone = k->c->r->factors[k->factor].zone;
        m->mean = s->value;
        m->estimated = s->estimated;
        if (!isfinite(s->value)) {
            not_had(m, "factor-missing", hole(k, s));
        } else if (m->x.q.have) {
            m->x.q.value += m_g;
            m->x.q.u.lo += m_g;
            m->x.q.u.hi += m_g;
            m->why = jm_report_text(
                k->c->r, "operation %.4g + embodied %.4g (%.6g kg over %.4g years, share %.3g%s%s)",
                m->x.q.value - m_g, m_g, b->grams / 1e3, b->life_s / (365.25 * 86400), b->share,
                b->source[0] ? ", " : "", b->source);
        }
    }
    return 0;
}

static void remark(struct jm_calc *c, const char *text)
{
    const char *old = c->r->impact_note;
    c->r->impact_note = jm_report_text(c->r, "%s%s%s", text, old ? "; " : "", old ? old : "");
}

static const char *made_with(struct jm_calc *c, const char *instrument)
{
    struct jm_str s;
    jm_str_init(&s);
    jm_str_addf(&s, "%s, times ", instrument ? instrument : "no instrument");
    jm_wue_say(&c->o->wue, &s);
    jm_str_adds(&s, ", declared");
    const char *text = s.failed ? NULL : jm_report_text(c->r, "%s", s.buf);
    jm_str_release(&s);
    return text;
}

/* Water of the site: by the IT energy, which the wall is. */
static int site(struct jm_calc *c)
{
    int rc = 0;
    bool any = false;
    for (size_t i = 0; !rc && i < c->r->n_results; i++) {
        struct jm_result x = c->r->results[i];
        const char *metric = strcmp(x.metric, "energy") == 0               ? site_water.total
                             : strcmp(x.metric, "j_per.output_token") == 0 ? site_water.per_mtok
                             : strcmp(x.metric, "j_per.request_ok") == 0   ? site_water.per_request
                                                                           : NULL;
        if (!metric || x.q.boundary != JM_B_WALL || !measured(c, &x) || x.slice)
            continue;
        double per = metric == site_water.per_mtok ? 1e6 : 1;
        struct jm_impact *m = times(c, &x, i, metric, c->o->wue.value * per / KWH,
                                    metric == site_water.total      ? "L"
                                    : metric == site_water.per_mtok ? "L/Mtok"
                                                                    : "L/request");
        if (m)
            m->mean = c->o->wue.value;
        if (!m || !(m->x.instrument = made_with(c, x.instrument)))
            rc = no_memory(c);
        any = true;
    }
    if (!rc && !any)
        remark(c,
               "water.site has no value: --wue is of a kilowatt-hour at the wall, and no wall was measured");
    return rc;
}

/* The factor over each measure window, and over all of them by their energy. */
static int spreads(struct work *k)
{
    struct jm_calc *c = k->c;
    double sum = 0, by = 0, est = 0;
    k->over = (struct jm_spread){.value = NAN, .covered = 1};
    bool all = true;
    for (size_t i = 0; i < c->n_win; i++) {
        if (c->win[i].w->role != JM_R_MEASURE)
            continue;
        const struct jm_result *e = energy_of(k, c->win[i].index);
        struct jm_spread *s = &k->by_window[i];
        int rc = jm_spread(c, &c->win[i], e ? e->domain : NULL, e ? e->n_domain : 0, k->f, s);
        if (rc)
            return rc;
        if (!isfinite(s->value)) {
            if (all)
                k->over.missing = s->missing;
            all = false;
            k->over.covered = fmin(k->over.covered, s->covered);
        }
        if (!e || !e->q.have || !isfinite(s->value))
            continue;
        sum += e->q.value;
        by += e->q.value * s->value;
        est += e->q.value * s->estimated;
        k->over.even |= s->even;
    }
    if (all && sum > 0) {
        k->over.value = by / sum;
        k->over.estimated = est / sum;
    }
    return 0;
}

static int factor(struct work *k, size_t i)
{
    k->f = &k->c->o->factors->f[i];
    k->factor = (int)i;
    int rc = spreads(k);
    if (rc)
        return rc;
    switch (k->f->what) {
    case JM_FACTOR_PRICE: rc = lines(k, &cost); return rc ? rc : year(k, "year.cost");
    case JM_FACTOR_WATER: return lines(k, &source_water);
    default:
        rc = carbon(k, i);
        if (!rc)
            rc = jm_impact_hours(k->c, k->at, (int)i);
        if (!rc && k->f->basis == JM_FACTOR_LOCATION && !k->f->marginal)
            rc = year(k, "year.carbon");
        if (!rc && k->c->o->embodied.grams > 0 && k->f->basis == JM_FACTOR_LOCATION && !k->f->marginal)
            rc = sci(k);
        return rc;
    }
}

int jm_impacts_make(struct jm_calc *c)
{
    const struct jm_factor_set *set = c->o->factors;
    struct work k = {.c = c};
    int rc = 0;
    bool any = (set && set->n) || c->o->wue.value > 0;
    k.at = widest(c);
    if (!any && !(c->o->pue.value >= 1))
        return 0;
    if (c->o->pue.value >= 1 && k.at != JM_B_FACILITY)
        c->r->impact_note =
            "the PUE was not used: it multiplies the energy at the wall, and no wall was measured. A "
            "calibration "
            "(--calibration) carries the GPUs to the wall. What stands here is less than the facility's";
    else if (any && (k.at == JM_B_GPU || k.at == JM_B_DEVICE))
        c->r->impact_note = "host, conversion losses and cooling are not in this energy: the bill and the "
                            "footprint are larger";
    if (!any) { /* of an estimate it is used */
        for (size_t i = 0; i < c->r->n_results; i++)
            if (c->r->results[i].q.boundary == JM_B_FACILITY && c->r->results[i].q.have)
                c->r->impact_note = NULL;
        return 0;
    }
    if (k.at == JM_B_NONE) {
        c->r->impact_note = "there is no energy that a factor could be multiplied by";
        return 0;
    }
    k.by_window = calloc(c->n_win + 1, sizeof *k.by_window);
    c->r->factors = jm_report_alloc(c->r, (set ? set->n : 0) * sizeof *c->r->factors + 1);
    if (!k.by_window || !c->r->factors)
        rc = no_memory(c);
    for (size_t i = 0; !rc && set && i < set->n; i++) {
        c->r->factors[i] = set->f[i];
        c->r->factors[i].step = NULL; /* the caller's */
        c->r->n_factors++;
    }
    if (!rc)
        rc = energies(&k);
    if (!rc)
        rc = year(&k, "year.energy");
    for (size_t i = 0; !rc && set && i < set->n; i++)
        rc = factor(&k, i);
    bool sci_had = !(c->o->embodied.grams > 0);
    for (size_t i = 0; i < c->r->n_impacts; i++)
        sci_had |= strncmp(c->r->impacts[i].x.metric, "sci.", 4) == 0;
    if (!rc && !sci_had)
        remark(c, "sci has no value: it takes the mean of the grid by location, and no factor here is one");
    if (!rc && c->o->wue.value > 0)
        rc = site(c);
    free(k.by_window);
    return rc;
}
