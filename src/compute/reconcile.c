/* SPDX-License-Identifier: Apache-2.0 */
/* One table from the GPU to the wall: what each domain's instruments saw, what of it is measured inside, and
 * what is left. docs/reconciliation.md describes it. Addends are summed once, alternatives are compared and
 * never added. */
#include "compute/reconcile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/ratio.h"

#include "base/banned.h"

static int no_memory(struct jm_calc *c)
{
    return jm_err_set(c->err, JM_ENOMEM, "out of memory for the reconciliation");
}

static const struct jm_domain *at(const struct jm_calc *c, int i)
{
    return &c->r->tree->d[i];
}

static bool whole(const struct jm_tree_facts *f, int i)
{
    return f->parts[i] && f->said[i] == f->parts[i] && f->pick[i] >= 0;
}

/* Some of its supplies have a value and others none: what they say is no total. */
static bool partial(const struct jm_calc *c, int i)
{
    const struct jm_tree_facts *f = &c->tree;
    return f->row[i] < 0 && f->failed[i] < 0 && f->said[i] && f->said[i] < f->parts[i] &&
           !jm_domain_is_feeder(c->r->tree->d[i].kind);
}

/* Addends of another kind of instrument than the one that stands are an alternative. */
static bool is_part(const struct jm_calc *c, int up, int i)
{
    return at(c, i)->parent == up && jm_domain_is_addend(at(c, i)->kind) && c->tree.row[i] >= 0 &&
           c->tree.group[i] == c->tree.pick[up];
}

/* The energy of a domain, its own or that of its addends; false: there is none. */
static bool energy_of(const struct jm_calc *c, int i, struct jm_energy *part, struct jm_energy *out)
{
    const struct jm_tree_facts *f = &c->tree;
    size_t n = 0;
    if (f->row[i] >= 0) {
        *out = c->energy[f->row[i]];
        return jm_energy_has_value(out);
    }
    if (!whole(f, i))
        return false;
    for (size_t k = (size_t)i + 1; k < f->n; k++)
        if (is_part(c, i, (int)k))
            part[n++] = c->energy[f->row[k]];
    return jm_energy_sum(part, n, out) == n && n > 0;
}

/* A gain that nobody stated has a prior: published GPU boards read 0.87 to 1.15 of the truth; other power
 * meters of a server within 5 % (the accuracy that DCMI asks of a BMC is 5 %). */
static double gain_of(const struct jm_energy *e, bool board)
{
    return isfinite(e->gain_bound) ? e->gain_bound
                                   : (board ? JM_RECONCILE_GAIN_BOARD : JM_RECONCILE_GAIN) * fabs(e->joules);
}

struct work {
    struct jm_energy *part;
    struct jm_reconcile_child *child;
    struct jm_reconcile_other *other;
    unsigned char *covered;
};

static bool is_board(const struct jm_calc *c, int i)
{
    enum jm_domain_kind k = at(c, i)->kind;
    return k == JM_D_GPU || k == JM_D_APU || k == JM_D_MODULE;
}

/* The outermost measured domains inside i: no joule twice. gain: bound of their sum's, priors
 * included; stated: of those that somebody stated. SIZE_MAX: no memory. */
static size_t contents(struct jm_calc *c, int i, struct work *k, struct jm_energy *sum, double *gain,
                       double *stated)
{
    struct jm_tree_facts *f = &c->tree;
    struct jm_energy *e = calloc(f->n + 1, sizeof *e), one;
    size_t n = 0;
    *gain = *stated = 0;
    if (!e)
        return SIZE_MAX;
    memset(k->covered, 0, f->n);
    for (size_t j = (size_t)i + 1; j < f->n; j++) {
        int up = at(c, (int)j)->parent;
        enum jm_domain_kind kind = at(c, (int)j)->kind;
        k->covered[j] |= up >= 0 && k->covered[up];
        if (k->covered[j] || !jm_domain_contains(c->r->tree, i, (int)j) || jm_domain_is_addend(kind) ||
            (kind == JM_D_PSYS && f->below[j]) || !energy_of(c, (int)j, k->part, &one))
            continue;
        k->covered[j] = 1;
        k->child[n] = (struct jm_reconcile_child){(int)j, one.joules};
        *gain += gain_of(&one, is_board(c, (int)j));
        *stated += isfinite(one.gain_bound) ? one.gain_bound : 0;
        e[n++] = one;
    }
    jm_energy_sum(e, n, sum);
    free(e);
    return n;
}

/* Every other instrument that saw the domain, or the whole of it by addends, beside the chosen one. */
static size_t others(struct jm_calc *c, const struct jm_calc_window *w, int i, const struct jm_energy *chosen,
                     struct work *k)
{
    const struct jm_tree_facts *f = &c->tree;
    size_t n = 0;
    for (size_t x = w->row0; x < w->row1; x++) {
        const struct jm_energy_row *e = &c->r->energy[x];
        const struct jm_channel *ch = &c->r->channels[e->channel];
        if (e->domain != i || (int)x == f->row[i] || ch->provenance == JM_P_ESTIMATED ||
            (ch->flags & (JM_CHF_MIRROR | JM_CHF_PARTOF)))
            continue;
        struct jm_reconcile_other *o = &k->other[n++];
        struct jm_energy a = *chosen, b = c->energy[x];
        struct jm_agree g;
        a.gain_bound = gain_of(&a, is_board(c, i));
        b.gain_bound = gain_of(&b, is_board(c, i));
        jm_energy_agree(&b, &a, jm_calc_level(c), 0, &g);
        *o = (struct jm_reconcile_other){.row = (int)x,
                                         .comparable = g.comparable,
                                         .agree = g.agree,
                                         .joules = e->joules,
                                         .difference = g.difference,
                                         .bound = g.bound};
        o->instrument = jm_reconcile_instrument(c->run, c->r, (int)x);
        if (!o->instrument)
            return SIZE_MAX;
    }
    if (f->row[i] >= 0 && whole(f, i)) { /* the addends, where the domain has an instrument of its own too */
        struct jm_energy b, a = *chosen;
        struct jm_agree g;
        size_t m = 0;
        for (size_t j = (size_t)i + 1; j < f->n; j++)
            if (is_part(c, i, (int)j))
                k->part[m++] = c->energy[f->row[j]];
        if (!m) /* inlets that a feeder holds are rows of their own */
            return n;
        jm_energy_sum(k->part, m, &b);
        a.gain_bound = gain_of(&a, false);
        b.gain_bound = gain_of(&b, false);
        jm_energy_agree(&b, &a, jm_calc_level(c), 0, &g);
        k->other[n] = (struct jm_reconcile_other){.row = -1,
                                                  .comparable = g.comparable,
                                                  .agree = g.agree,
                                                  .joules = b.joules,
                                                  .difference = g.difference,
                                                  .bound = g.bound};
        k->other[n].instrument = jm_report_text(c->r, "its %zu suppl%s", m, m == 1 ? "y" : "ies");
        if (!k->other[n++].instrument)
            return SIZE_MAX;
    }
    return n;
}

const char *jm_reconcile_instrument(const struct jm_run *run, struct jm_report *r, int row)
{
    size_t n;
    const struct jm_run_meter *m = jm_run_meters(run, &n);
    const struct jm_channel *ch = &r->channels[r->energy[row].channel];
    const char *name = ch->meter >= 0 && (size_t)ch->meter < n ? m[ch->meter].name : "?",
               *instance = ch->meter >= 0 && (size_t)ch->meter < n ? m[ch->meter].instance : "";
    /* the device where it says more than the domain does; one entry of a configuration reads several */
    int d = r->energy[row].domain;
    const char *device = ch->device;
    size_t n_inst = strlen(instance);
    if (d >= 0 && (strcmp(device, r->tree->d[d].key) == 0 || strcmp(device, r->tree->d[d].label) == 0))
        device = "";
    if ((n_inst && strncmp(device, instance, n_inst) == 0) || instance[0] == '/')
        instance = ""; /* said by the device; the path of a library says nothing here */
    return jm_report_text(r, "%s%s%.40s%s%.60s %s", name, instance[0] ? " " : "", instance,
                          device[0] ? " " : "", device, ch->name);
}

static int depth_of(const struct jm_calc *c, int i)
{
    int depth = 0; /* by what has a row or holds one */
    for (int up = at(c, i)->parent; up >= 0; up = at(c, up)->parent)
        depth += c->tree.row[up] >= 0 || c->tree.failed[up] >= 0 || whole(&c->tree, up) || partial(c, up);
    return depth;
}

static void interval(const struct jm_calc *c, const struct jm_energy *e, double *lo, double *hi)
{
    double half = jm_energy_halfwidth(e, jm_calc_level(c), isfinite(e->gain_bound));
    *lo = e->joules - half;
    *hi = e->joules + half;
}

/* Output over input of the supplies: node over its inlet, where nothing else hangs on the inlet. */
static void efficiency(struct jm_calc *c, int i, const struct jm_energy *in, struct work *k,
                       struct jm_reconcile_row *x)
{
    struct jm_energy out;
    int node = -1;
    for (int j = i + 1; (size_t)j < c->tree.n; j++)
        if (at(c, j)->parent == i && at(c, j)->kind == JM_D_NODE) {
            if (node >= 0)
                return;
            node = j;
        }
    if (!jm_domain_is_inlet(at(c, i)->kind) || node < 0 || !(in->joules > 0) ||
        !energy_of(c, node, k->part, &out))
        return;
    double rel = hypot(in->u / in->joules, out.u / fabs(out.joules)),
           gain = gain_of(in, false) / in->joules + gain_of(&out, false) / fabs(out.joules);
    x->efficiency = out.joules / in->joules;
    x->efficiency_half = fabs(x->efficiency) * (2 * rel + gain);
}

static int row(struct jm_calc *c, const struct jm_calc_window *w, int i, struct work *k)
{
    const struct jm_tree_facts *f = &c->tree;
    struct jm_energy own, sum;
    double gain, stated;
    bool have = energy_of(c, i, k->part, &own);
    if (!have && f->failed[i] < 0 && !partial(c, i))
        return 0;
    struct jm_reconcile_row *x = jm_report_reconcile(c->r);
    if (!x)
        return no_memory(c);
    x->window = w->index;
    x->domain = i;
    x->depth = depth_of(c, i);
    x->row = f->row[i] >= 0 ? f->row[i] : have ? -1 : f->failed[i];
    x->summed = x->row < 0;
    x->parts = f->parts[i];
    x->said = f->said[i];
    x->instrument =
        !x->summed ? jm_reconcile_instrument(c->run, c->r, x->row)
        : have     ? jm_report_text(c->r, "sum of %d", f->parts[i])
                   : jm_report_text(c->r, "%d of %d supplies, which is no total", f->said[i], f->parts[i]);
    x->status = have ? JM_S_OK : x->summed ? JM_S_ABSENT : c->r->energy[x->row].status;
    x->provenance = x->row >= 0 ? c->r->channels[c->r->energy[x->row].channel].provenance : JM_P_MEASURED;
    if (!x->instrument)
        return no_memory(c);
    if (!have)
        return 0;
    x->joules = own.joules;
    interval(c, &own, &x->lo, &x->hi);
    x->gain_known = isfinite(own.gain_bound);
    efficiency(c, i, &own, k, x);
    size_t n = others(c, w, i, &own, k);
    if (n == SIZE_MAX)
        return no_memory(c);
    struct jm_reconcile_other *o = jm_report_alloc(c->r, (n + 1) * sizeof *o);
    if (!o)
        return no_memory(c);
    memcpy(o, k->other, n * sizeof *o);
    x->others = o;
    x->n_others = n;
    n = contents(c, i, k, &sum, &gain, &stated);
    if (n == SIZE_MAX)
        return no_memory(c);
    if (!n)
        return 0;
    struct jm_reconcile_child *ch = jm_report_alloc(c->r, n * sizeof *ch);
    if (!ch)
        return no_memory(c);
    memcpy(ch, k->child, n * sizeof *ch);
    x->contains = ch;
    x->n_contains = n;
    x->contained = sum.joules;
    struct jm_energy left = own;
    left.joules = own.joules - sum.joules;
    if (fabs(left.joules) < 1e-12 * fabs(own.joules))
        left.joules = 0; /* rounding of equal sums */
    left.u = hypot(own.u, sum.u);
    left.dof = INFINITY;
    left.gain_bound = stated + (isfinite(own.gain_bound) ? own.gain_bound : 0);
    x->unexplained = left.joules;
    interval(c, &left, &x->unexplained_lo, &x->unexplained_hi);
    left.gain_bound = NAN;
    x->bound = jm_energy_halfwidth(&left, jm_calc_level(c), false) + gain + gain_of(&own, is_board(c, i));
    return 0;
}

/* Domains so that each stands before what is in it, and that before its next sibling; a parent's number is
 * always the smaller one. order: room for 3 x n, zeros. */
static void walk_order(const struct jm_calc *c, int *order)
{
    int n = (int)c->tree.n, *size = order + n, *next = size + n, root = 0;
    for (int i = n; i-- > 0;) { /* how many are at it and below */
        size[i]++;
        if (at(c, i)->parent >= 0)
            size[at(c, i)->parent] += size[i];
    }
    for (int i = 0; i < n; i++) {
        int up = at(c, i)->parent, *free_place = up >= 0 ? &next[up] : &root, place = *free_place;
        *free_place += size[i];
        next[i] = place + 1;
        order[place] = i;
    }
}

int jm_reconcile_window(struct jm_calc *c, const struct jm_calc_window *w)
{
    size_t n = c->tree.n;
    int rc = 0;
    if (!n)
        return 0;
    struct work k = {.part = calloc(n, sizeof *k.part),
                     .child = calloc(n, sizeof *k.child),
                     .other = calloc(w->row1 - w->row0 + 1, sizeof *k.other),
                     .covered = calloc(n, 1)};
    if (!k.part || !k.child || !k.other || !k.covered)
        rc = no_memory(c);
    if (!rc)
        jm_cut_rows(c, w);
    /* outermost first, each with what it holds behind it; a domain's parts are found after it, not always
     * next to it */
    int *order = rc ? NULL : calloc(3 * n, sizeof *order);
    if (!rc && !order)
        rc = no_memory(c);
    if (!rc)
        walk_order(c, order);
    for (size_t o = 0; !rc && o < n; o++) {
        int i = order[o];
        if (c->tree.row[i] >= 0 || c->tree.failed[i] >= 0 || whole(&c->tree, i) || partial(c, i))
            rc = row(c, w, i, &k);
    }
    free(order);
    free(k.part);
    free(k.child);
    free(k.other);
    free(k.covered);
    return rc;
}
