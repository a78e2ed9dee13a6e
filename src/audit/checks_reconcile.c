/* SPDX-License-Identifier: Apache-2.0 */
/* Checks over the table from the GPU to the wall. */
#include <math.h>
#include <string.h>

#include "audit/checks.h"
#include "audit/threshold.h"
#include "compute/reconcile.h"

#include "base/banned.h"

static const struct jm_domain *domain(const struct jm_report *r, int i)
{
    return &r->tree->d[i];
}

static int at(struct jm_report *r, struct jm_finding *f, const struct jm_reconcile_row *x, struct jm_err *err,
              double a, double b)
{
    if (f)
        f->domain = x->domain;
    return jm_finding_at(r, f, x->window, err, "%s; %.6g J against %.6g J", x->instrument, a, b);
}

/* Is a below b by what power supplies lose? */
static bool in_loss_band(double a, double b)
{
    double loss = 1 - a / b;
    return loss >= JM_TH_PSU_LOSS_LOW && loss <= JM_TH_PSU_LOSS_HIGH;
}

static bool outer(enum jm_domain_kind k)
{
    return jm_domain_is_inlet(k) || k == JM_D_NODE;
}

/* More inside than the domain: an error beyond what both instruments' errors allow; at inlet and node a
 * warning where only an error that nobody stated could explain it, since what holds boards and fans draws
 * more than the boards. */
int jm_check_reconcile_child(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    for (size_t i = 0; i < r->n_reconcile; i++) {
        const struct jm_reconcile_row *x = &r->reconcile[i];
        const struct jm_domain *d = domain(r, x->domain);
        bool beyond = x->unexplained < -x->bound, unlikely = outer(d->kind) && x->unexplained_hi < 0;
        if (!isfinite(x->unexplained) || d->kind == JM_D_PSYS || !(beyond || unlikely))
            continue;
        struct jm_finding *f =
            beyond ? jm_report_finding(
                         r, "reconcile.child_larger", outer(d->kind) ? JM_SEV_ERROR : JM_SEV_WARNING,
                         "%s %s: what is measured inside it (%.6g J) is more than it (%.6g J), by more than "
                         "both instruments' errors allow; one of them reads another quantity, another unit "
                         "or another time, or not all that feeds it is metered (one of two supplies)",
                         jm_domain_kind_name((int)d->kind), d->label, x->contained, x->joules)
                   : jm_report_finding(
                         r, "reconcile.child_larger", JM_SEV_WARNING,
                         "%s %s: what is measured inside it (%.6g J) is more than it (%.6g J); only a gain "
                         "that nobody stated could explain that. Likely not all that feeds it is metered "
                         "(one of two supplies), or it shows another time",
                         jm_domain_kind_name((int)d->kind), d->label, x->contained, x->joules);
        int rc = at(r, f, x, err, x->joules, x->contained);
        if (rc)
            return rc;
    }
    return 0;
}

/* Does a show a longer mean of what b shows? */
static bool averages(const struct jm_follow *f)
{
    return f->known && f->lag_s >= JM_TH_FOLLOW_LAG_S && f->like - f->like_0 > JM_TH_FOLLOW_GAIN &&
           f->swing_a < JM_TH_FOLLOW_SWING * f->swing_b;
}

/* One of the two averages the other: then they differ by what was before, and not by a supply's loss. */
static int one_averages(const struct jm_run *run, const struct jm_report *r, int window, int a, int b,
                        bool *yes, struct jm_err *err)
{
    const struct jm_window *w = &r->windows[window];
    struct jm_follow f;
    *yes = false;
    for (int turn = 0; a >= 0 && b >= 0 && turn < 2 && !*yes; turn++) {
        const struct jm_channel *x = &r->channels[r->energy[turn ? b : a].channel],
                                *y = &r->channels[r->energy[turn ? a : b].channel];
        int rc = jm_gauges_follow(run, x, y, w->t0, w->t1, &f, err);
        if (rc)
            return rc;
        *yes = averages(&f);
    }
    return 0;
}

int jm_check_reconcile_ac_dc(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    for (size_t i = 0; i < r->n_reconcile; i++) {
        const struct jm_reconcile_row *x = &r->reconcile[i];
        const struct jm_domain *d = domain(r, x->domain);
        struct jm_finding *f;
        int rc = 0;
        for (size_t k = 0; outer(d->kind) && k < x->n_others && !rc; k++) {
            const struct jm_reconcile_other *o = &x->others[k];
            double low = fmin(o->joules, x->joules), high = fmax(o->joules, x->joules);
            bool late;
            if (!o->comparable || !in_loss_band(low, high))
                continue;
            rc = one_averages(run, r, x->window, x->row, o->row, &late, err);
            if (rc || late)
                continue;
            f = jm_report_finding(
                r, "reconcile.ac_dc", JM_SEV_WARNING,
                "%s %s: %s says %.1f %% less than %s; supplies lose 4 to 12 %%, so that one "
                "is likely the DC output and the other the AC input: put each at its place",
                jm_domain_kind_name((int)d->kind), d->label,
                o->joules < x->joules ? o->instrument : x->instrument, 100 * (1 - low / high),
                o->joules < x->joules ? x->instrument : o->instrument);
            rc = at(r, f, x, err, x->joules, o->joules);
        }
        if (!rc && d->kind == JM_D_INLET_AC && x->efficiency > JM_TH_PSU_BEST && x->efficiency < 1.05) {
            f = jm_report_finding(r, "reconcile.ac_dc", JM_SEV_WARNING,
                                  "%s: node and AC inlet are the same to %.1f %%, and no supply is without a "
                                  "loss; the node's instrument likely reads the AC input",
                                  d->label, 100 * fabs(1 - x->efficiency));
            rc = at(r, f, x, err, x->joules, x->efficiency * x->joules);
        }
        if (rc)
            return rc;
    }
    return 0;
}

int jm_check_reconcile_disagree(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    for (size_t i = 0; i < r->n_reconcile; i++) {
        const struct jm_reconcile_row *x = &r->reconcile[i];
        const struct jm_domain *d = domain(r, x->domain);
        for (size_t k = 0; k < x->n_others; k++) {
            const struct jm_reconcile_other *o = &x->others[k];
            const struct jm_channel *a = x->row >= 0 ? &r->channels[r->energy[x->row].channel] : NULL,
                                    *b = o->row >= 0 ? &r->channels[r->energy[o->row].channel] : NULL;
            /* counter and gauge of one device are energy.conflict's */
            if (!o->comparable || o->agree || (a && b && a->meter == b->meter && a->kind != b->kind) ||
                (outer(d->kind) && in_loss_band(fmin(o->joules, x->joules), fmax(o->joules, x->joules))))
                continue;
            struct jm_finding *f = jm_report_finding(
                r, "reconcile.disagree", JM_SEV_WARNING,
                "%s %s: %s and %s differ by %.1f %%, beyond the bounds of both; neither is taken silently",
                jm_domain_kind_name((int)d->kind), d->label, x->instrument, o->instrument,
                100 * fabs(o->difference) / x->joules);
            int rc = at(r, f, x, err, x->joules, o->joules);
            if (rc)
                return rc;
        }
    }
    return 0;
}

static bool holds(const struct jm_report *r, const struct jm_reconcile_row *x, enum jm_domain_kind kind)
{
    for (size_t i = 0; i < x->n_contains; i++)
        if (domain(r, x->contains[i].domain)->kind == kind)
            return true;
    return false;
}

static bool holds_inlets(const struct jm_report *r, const struct jm_reconcile_row *x)
{
    for (size_t i = 0; i < x->n_contains; i++)
        if (!jm_domain_is_inlet(domain(r, x->contains[i].domain)->kind))
            return false;
    return x->n_contains > 0;
}

int jm_check_reconcile_unexplained(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    for (size_t i = 0; i < r->n_reconcile; i++) {
        const struct jm_reconcile_row *x = &r->reconcile[i];
        const struct jm_domain *d = domain(r, x->domain);
        bool node = holds(r, x, JM_D_NODE),
             parts = (holds(r, x, JM_D_GPU) && holds(r, x, JM_D_PACKAGE)) || holds(r, x, JM_D_MODULE);
        bool losses = d->kind == JM_D_INLET_AC && node;
        double most = losses                          ? JM_TH_UNEXPLAINED_PSU
                      : d->kind == JM_D_NODE && parts ? JM_TH_UNEXPLAINED_NODE
                      : jm_domain_is_inlet(d->kind) && !node && parts
                          ? 1 - (1 - JM_TH_UNEXPLAINED_PSU) * (1 - JM_TH_UNEXPLAINED_NODE)
                      : jm_domain_is_feeder(d->kind) && holds_inlets(r, x) ? JM_TH_UNEXPLAINED_PSU
                      : d->kind == JM_D_SITE                               ? JM_TH_UNEXPLAINED_SITE
                                                                           : INFINITY;
        if (!isfinite(x->unexplained) || !(x->joules > 0) || !(x->unexplained - x->bound > most * x->joules))
            continue;
        struct jm_finding *f = jm_report_finding(
            r, "reconcile.unexplained", JM_SEV_WARNING,
            "%s %s: %.0f %% of its energy is in nothing that is measured inside, more than %s (%.0f %%); a "
            "device is not read, or the meter feeds something else too",
            jm_domain_kind_name((int)d->kind), d->label, 100 * x->unexplained / x->joules,
            losses || jm_domain_is_feeder(d->kind) ? "supplies lose"
            : d->kind == JM_D_SITE                 ? "cooling and distribution take"
                                                   : "supplies, fans and boards take",
            100 * most);
        if (f && d->kind == JM_D_SITE)
            f->boundary = JM_B_FACILITY;
        int rc = at(r, f, x, err, x->joules, x->contained);
        if (rc)
            return rc;
    }
    return 0;
}

/* GPUs of the node that are known to serve, or not: false where it has GPUs and none of them does. */
static bool may_serve(const struct jm_run *run, const struct jm_report *r, int node)
{
    struct jm_span list = jm_span_trim(jm_span_of(jm_run_env(run, "sut.gpus")));
    bool gpus = false;
    for (size_t i = (size_t)node + 1; list.n && i < r->tree->n; i++) {
        const struct jm_domain *d = domain(r, (int)i);
        struct jm_span rest = list, key;
        if ((d->kind != JM_D_GPU && d->kind != JM_D_APU) || !jm_domain_contains(r->tree, node, (int)i))
            continue;
        gpus = true;
        while (jm_span_field(&rest, ',', &key))
            if (jm_span_is(jm_span_trim(key), d->key))
                return true;
    }
    return !gpus;
}

/* Nodes below a counted domain that the run knows nothing of, or that do not serve. */
int jm_check_reconcile_shared(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    for (size_t i = 0; i < r->n_reconcile; i++) {
        const struct jm_reconcile_row *x = &r->reconcile[i];
        int nodes = 0, known = 0, idle = 0;
        if (x->row < 0 || !r->energy[x->row].counted ||
            !(jm_domain_is_inlet(domain(r, x->domain)->kind) ||
              jm_domain_is_feeder(domain(r, x->domain)->kind)))
            continue;
        for (int n = jm_domain_next(r->tree, JM_D_NODE, -1); n >= 0;
             n = jm_domain_next(r->tree, JM_D_NODE, n)) {
            bool seen = false;
            if (!jm_domain_contains(r->tree, x->domain, n))
                continue;
            for (size_t c = 0; c < r->n_channels && !seen; c++)
                seen = r->channels[c].domain >= 0 && jm_domain_contains(r->tree, n, r->channels[c].domain);
            nodes++;
            known += seen;
            idle += seen && !may_serve(run, r, n);
        }
        if (nodes < 2 || !known || (known == nodes && (!idle || idle == nodes)))
            continue;
        const char *kind = jm_domain_kind_name((int)domain(r, x->domain)->kind),
                   *label = domain(r, x->domain)->label;
        struct jm_finding *f =
            known == nodes
                ? jm_report_finding(
                      r, "reconcile.shared", JM_SEV_ERROR,
                      "%s %s feeds %d nodes, and the GPUs of %d of them serve nothing here: its energy is "
                      "not that of "
                      "what serves; meter the nodes apart, or calibrate one against a meter of its own",
                      kind, label, nodes, idle)
                : jm_report_finding(r, "reconcile.shared", JM_SEV_ERROR,
                                    "%s %s feeds %d nodes and this run measures %d of them: its energy is "
                                    "not that of this system; "
                                    "read the others too, or calibrate the node against a meter of its own",
                                    kind, label, nodes, known);
        if (f)
            f->boundary = JM_B_WALL;
        int rc = at(r, f, x, err, x->joules, x->contained);
        if (rc)
            return rc;
    }
    return 0;
}

/* Does something inside the domain move, as seen by a gauge? known: there is one. */
static int moves_inside(const struct jm_run *run, const struct jm_report *r, const struct jm_reconcile_row *x,
                        const struct jm_channel *with, double swing, bool *known, bool *moves,
                        struct jm_err *err)
{
    const struct jm_window *w = &r->windows[x->window];
    *known = *moves = false;
    for (size_t i = 0; i < r->n_energy; i++) {
        const struct jm_energy_row *e = &r->energy[i];
        const struct jm_channel *c = &r->channels[e->channel];
        struct jm_follow f;
        if (e->window != x->window || e->status != JM_S_OK || c->kind != JM_CH_GAUGE || e->domain < 0 ||
            e->domain == x->domain || !jm_domain_contains(r->tree, x->domain, e->domain) ||
            outer(domain(r, e->domain)->kind) || domain(r, e->domain)->kind == JM_D_PSU ||
            domain(r, e->domain)->kind == JM_D_PSU_OUTPUT)
            continue;
        int rc = jm_gauges_follow(run, c, with, w->t0, w->t1, &f, err);
        if (rc)
            return rc;
        *known |= f.known;
        *moves |= f.known && f.swing_a > 0.2 * swing;
    }
    return 0;
}

/* Pairs of gauges of one host's inlet and node, or of one of them: does one lag, or stand still? */
static int pair(const struct jm_run *run, struct jm_report *r, const struct jm_reconcile_row *x, int a, int b,
                struct jm_err *err)
{
    const struct jm_energy_row *ea = &r->energy[a], *eb = &r->energy[b];
    const struct jm_channel *ca = &r->channels[ea->channel], *cb = &r->channels[eb->channel];
    const struct jm_window *w = &r->windows[x->window];
    struct jm_follow f;
    int rc = jm_gauges_follow(run, ca, cb, w->t0, w->t1, &f, err);
    if (rc || !f.known || ea->status != JM_S_OK || eb->status != JM_S_OK)
        return rc;
    const char *na = jm_reconcile_instrument(run, r, a), *nb = jm_reconcile_instrument(run, r, b);
    if (!na || !nb)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the findings");
    struct jm_finding *found = NULL;
    if (f.swing_a < JM_TH_FOLLOW_STILL * f.swing_b) {
        bool known, moves;
        if ((rc = moves_inside(run, r, x, cb, f.swing_b, &known, &moves, err)))
            return rc;
        found = moves || !known
                    ? jm_report_finding(r, "reconcile.stale", JM_SEV_WARNING,
                                        "%s stood still while %s moved by %.0f %%: it is frozen, or shows "
                                        "a mean over longer than the window%s",
                                        na, nb, 100 * f.swing_b,
                                        !known ? "; or the load is steady and the other one still "
                                                 "averages what lay before"
                                               : "")
                    : jm_report_finding(r, "reconcile.averages", JM_SEV_WARNING,
                                        "%s moved by %.0f %% while %s and what is measured inside stood "
                                        "still: it still averages what lay before the window, and its "
                                        "energy is not that of the window; wait longer before it begins",
                                        nb, 100 * f.swing_b, na);
    } else if (averages(&f)) {
        double off = fabs(ea->joules / eb->joules - 1);
        bool alike = domain(r, ea->domain)->kind == domain(r, eb->domain)->kind ? off < JM_TH_FOLLOW_ALIKE
                                                                                : off < 0.15;
        found = jm_report_finding(
            r, "reconcile.averages", alike ? JM_SEV_INFO : JM_SEV_WARNING,
            "%s follows %s by %.0f s with %.0f %% of its swing: it averages; %s", na, nb, f.lag_s,
            100 * f.swing_a / f.swing_b,
            alike ? "its energy agrees over the window, its power at a moment does not"
                  : "what lay before the window is in it, so that its energy over the window differs; take a "
                    "window much longer than the mean, or begin it later");
    } else
        return 0;
    return at(r, found, x, err, ea->joules, eb->joules);
}

int jm_check_reconcile_follow(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    size_t n = r->n_reconcile;
    for (size_t i = 0; i < n; i++) {
        const struct jm_reconcile_row *x = &r->reconcile[i];
        if (!outer(domain(r, x->domain)->kind) || x->row < 0 || x->status != JM_S_OK)
            continue;
        int rc = 0;
        for (size_t k = 0; !rc && k < x->n_others; k++)
            if (x->others[k].row >= 0 && x->others[k].comparable) {
                rc = pair(run, r, x, x->others[k].row, x->row, err);
                if (!rc)
                    rc = pair(run, r, x, x->row, x->others[k].row, err);
            }
        for (size_t k = i + 1; !rc && k < n; k++) {
            const struct jm_reconcile_row *y = &r->reconcile[k];
            if (y->window == x->window && y->row >= 0 && y->status == JM_S_OK &&
                domain(r, y->domain)->kind == JM_D_NODE && domain(r, y->domain)->parent == x->domain) {
                rc = pair(run, r, y, y->row, x->row, err);
                if (!rc)
                    rc = pair(run, r, x, x->row, y->row, err);
            }
        }
        if (rc)
            return rc;
    }
    return 0;
}
