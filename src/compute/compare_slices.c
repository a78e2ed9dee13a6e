/* SPDX-License-Identifier: Apache-2.0 */
/* No part of the workload may pay for the others: the energy of each slice, measured where it ran alone. Of
 * slices that ran at the same time no meter tells the energies apart; what the allocation to their requests
 * says (D2, docs/phases.md) is told as that, and decides only where the contract agreed to it beforehand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "compute/compare_impl.h"

#include "base/banned.h"

static const char *slice_name(const struct jm_compare_run *r, size_t i)
{
    return r->report->slices[i].name;
}

/* Work of a slice in a window by the unit that is compared; NAN: not counted by slice. */
static double work_of(const struct jm_cmp *x, const struct jm_slice_total *s)
{
    const char *unit = x->c->unit;
    return strcmp(unit, "j_per.output_token") == 0  ? s->output
           : strcmp(unit, "j_per.input_token") == 0 ? s->input
           : strcmp(unit, "j_per.total_token") == 0 ? s->output + s->input
           : strcmp(unit, "j_per.request_ok") == 0  ? (double)s->ok
                                                    : NAN;
}

/* Joules allocated to the slice's requests in a trial, over its work there. */
static double allocated(const struct jm_cmp *x, const struct jm_compare_run *run, int trial, const char *name)
{
    const struct jm_report *r = run->report;
    double joules = 0, work = 0;
    size_t n;
    const struct jm_request *q = jm_run_requests(run->run, &n);
    for (size_t i = 0; i < r->phases->n_requests; i++) {
        const struct jm_request_energy *e = &r->phases->request[i];
        const struct jm_window *w = &r->windows[e->window];
        if (w->trial == trial && w->role == JM_R_MEASURE && e->request < n &&
            strcmp(q[e->request].slice, name) == 0)
            joules += (double)(e->prefill_mj + e->decode_mj) / 1e3;
    }
    for (size_t i = 0; i < r->n_slices; i++)
        if (r->windows[r->slices[i].window].trial == trial && strcmp(r->slices[i].name, name) == 0)
            work += work_of(x, &r->slices[i]);
    return work > 0 ? joules / work : NAN;
}

/* Why a side has no allocation that could be held against another one; NULL: it has. *residual: the largest.
 */
static const char *unallocated(struct jm_cmp *x, size_t side, double *residual)
{
    for (size_t i = 0; i < x->in[side].n_run; i++) {
        const struct jm_phases *p = x->in[side].run[i].report->phases;
        if (!p || p->why)
            return p ? p->why : "there is no allocation of energy to requests";
        if (p->boundary != x->c->boundary)
            return JM_CMP_TEXT(x, "energy was allocated at the boundary %s and not at %s",
                               jm_boundary_name((int)p->boundary), jm_boundary_name((int)x->c->boundary));
        if (p->method != JM_PHASE_D2)
            return JM_CMP_TEXT(x, "energy was allocated by %s and not by D2",
                               jm_phase_method_name((int)p->method));
        *residual = fmax(*residual, isfinite(p->residual) ? p->residual : 0);
    }
    return NULL;
}

struct told {
    struct jm_paired p;
    size_t n;
    bool allocated;
    double doubt;    /* of an allocation, log half-width beside the interval */
    const char *why; /* there is none; NULL */
};

static int tell(struct jm_cmp *x, const struct jm_candidate *k, const char *name, struct told *t)
{
    const struct jm_compare_side *a = &x->c->side[0], *b = &x->c->side[k->side];
    double *d = jm_report_alloc(x->mem, (k->n_pair + 1) * sizeof *d);
    double residual[2] = {0, 0};
    if (!d)
        return jm_cmp_memory(x);
    if (t->allocated) {
        t->why = unallocated(x, 0, &residual[0]);
        if (!t->why)
            t->why = unallocated(x, k->side, &residual[1]);
        t->doubt = log1p(residual[0]) + log1p(residual[1]);
    }
    for (size_t i = 0; !t->why && i < k->n_pair; i++) {
        const struct jm_compare_trial *p = &a->trial[k->pair[i].a], *q = &b->trial[k->pair[i].b];
        const struct jm_compare_run *ra = &x->in[0].run[p->run], *rb = &x->in[k->side].run[q->run];
        double va = t->allocated
                        ? allocated(x, ra, p->trial, name)
                        : jm_cmp_value(ra, p->trial, x->c->unit, x->c->boundary, NAN, name, NULL, NULL),
               vb = t->allocated
                        ? allocated(x, rb, q->trial, name)
                        : jm_cmp_value(rb, q->trial, x->c->unit, x->c->boundary, NAN, name, NULL, NULL);
        if (va > 0 && vb > 0 && isfinite(va) && isfinite(vb))
            d[t->n++] = log(vb / va);
    }
    if (t->n >= 2)
        return jm_stat_paired(d, t->n, x->c->decide.level, &t->p, x->err);
    t->why = t->why ? t->why : "it has too few pairs";
    return 0;
}

static int slice(struct jm_cmp *x, struct jm_candidate *k, const char *name, bool alone)
{
    const struct jm_contract *c = x->o->contract;
    struct told t = {.allocated = !alone};
    const char *asked = JM_CMP_TEXT(x, "rises at most %.6g %%", 100 * c->slice_regression);
    int rc = tell(x, k, name, &t);
    if (rc)
        return rc;
    if (t.why && alone)
        return jm_cmp_clause(x, k, "slices", name, JM_CLAUSE_OPEN, asked, "not told",
                             JM_CMP_TEXT(x, "slice %s has too few pairs to tell its energy", name));
    if (t.why)
        return jm_cmp_clause(x, k, "slices", name, JM_CLAUSE_OPEN, asked, "not told",
                             JM_CMP_TEXT(x,
                                         "slice %s ran at the same time as others, and no meter tells their "
                                         "joules apart: run the slices one after the other (sequential: "
                                         "true); nor is there an allocation to go by: %.300s",
                                         name, t.why));
    double most = 1 + c->slice_regression, lo = t.p.interval.lo * exp(-t.doubt),
           hi = t.p.interval.hi * exp(t.doubt), rise = 100 * (t.p.ratio - 1);
    const char *found =
        JM_CMP_TEXT(x, hi < 10 ? "%s%+.3g %%, at most %+.3g %%" : "%s%+.3g %%, at most %+.0f %%",
                    t.allocated ? "allocated, not measured: " : "", rise, 100 * (hi - 1));
    const char *by = t.allocated ? " by allocation" : "";
    size_t at = k->n_clause;
    if (t.allocated && !c->slice_allocated)
        rc = jm_cmp_clause(x, k, "slices", name, JM_CLAUSE_OPEN, asked, found,
                           JM_CMP_TEXT(x,
                                       "slice %s ran at the same time as others, and no meter tells their "
                                       "joules apart: run the slices one after the other (sequential: true); "
                                       "by allocation (D2) it takes %.3g %% %s (%+.3g to %+.3g %%), which "
                                       "decides only under a contract that says allocated: true",
                                       name, fabs(rise), rise < 0 ? "less" : "more", 100 * (lo - 1),
                                       100 * (hi - 1)));
    else if (hi <= most)
        rc = jm_cmp_clause(x, k, "slices", name, JM_CLAUSE_MET, asked, found, NULL);
    else if (lo > most)
        rc = jm_cmp_clause(x, k, "slices", name, JM_CLAUSE_BROKEN, asked, found,
                           JM_CMP_TEXT(x, "slice %s takes %.3g %% more%s, and %.6g %% is allowed", name, rise,
                                       by, 100 * c->slice_regression));
    else
        rc = jm_cmp_clause(x, k, "slices", name, JM_CLAUSE_OPEN, asked, found,
                           JM_CMP_TEXT(x,
                                       "slice %s may take as much as %.3g %% more%s, and %.6g %% is allowed: "
                                       "more pairs are needed",
                                       name, 100 * (hi - 1), by, 100 * c->slice_regression));
    if (!rc && t.allocated)
        k->clause[at].provenance = jm_provenance_name(JM_P_ALLOCATED);
    return rc;
}

int jm_cmp_slices(struct jm_cmp *x, struct jm_candidate *k, size_t room)
{
    const char *asked = JM_CMP_TEXT(x, "rises at most %.6g %%", 100 * x->o->contract->slice_regression);
    size_t before = k->n_clause;
    int rc = 0;
    for (size_t r = 0; !rc && r < x->in[k->side].n_run; r++) {
        const struct jm_compare_run *run = &x->in[k->side].run[r];
        for (size_t i = 0; !rc && i < run->report->n_slices; i++) {
            bool seen = false;
            for (size_t q = before; q < k->n_clause; q++)
                seen |= k->clause[q].slice && strcmp(k->clause[q].slice, slice_name(run, i)) == 0;
            if (!seen && k->n_clause < room)
                rc = slice(x, k, slice_name(run, i), run->report->slices[i].alone);
        }
    }
    if (!rc && k->n_clause == before)
        rc = jm_cmp_clause(x, k, "slices", NULL, JM_CLAUSE_MET, asked, "the workload is one slice", NULL);
    return rc;
}
