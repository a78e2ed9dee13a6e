/* SPDX-License-Identifier: Apache-2.0 */
/* Results by slice of the workload. Slices that run at the same time share the engine's energy, and no meter
 * can tell their joules apart: they get latencies, tokens and their own contract, and no energy. A window
 * that held one slice alone (env window.N.slice) has that slice's energy in its own results. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/calc.h"
#include "compute/observe.h"
#include "compute/ratio.h"

#include "base/banned.h"

#define MOST 64

struct jm_slices {
    size_t n, last; /* last: the one that was asked for before */
    char name[MOST][32];
    struct jm_slo slo[MOST];
    bool any_slo;
    struct jm_calc_window *part; /* window k, slice s: part[k * n + s] */
    size_t windows;
};

static int find(struct jm_slices *s, const char *name)
{
    if (s->n && strcmp(s->name[s->last], name) == 0)
        return (int)s->last;
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->name[i], name) == 0) {
            s->last = i;
            return (int)i;
        }
    return -1;
}

static double contract(const struct jm_run *run, const char *slice, const char *what)
{
    char key[96];
    snprintf(key, sizeof key, "contract.%s.%s", slice, what);
    return jm_run_number(run, key);
}

int jm_slices_init(struct jm_calc *c)
{
    size_t n;
    const struct jm_request *q = jm_run_requests(c->run, &n);
    struct jm_slices *s = calloc(1, sizeof *s);
    if (!s)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the slices");
    for (size_t i = 0; i < n; i++)
        if (find(s, q[i].slice) < 0) {
            if (s->n == MOST) { /* names of a foreign file: too many to be slices */
                s->n = 0;
                break;
            }
            memcpy(s->name[s->n++], q[i].slice, sizeof s->name[0]);
        }
    if (s->n < 2) {
        free(s);
        return 0;
    }
    for (size_t i = 0; i < s->n; i++) {
        struct jm_slo own = {contract(c->run, s->name[i], "ttft_s"), contract(c->run, s->name[i], "tpot_s"),
                             contract(c->run, s->name[i], "e2e_s")};
        s->slo[i] = c->o->slo_given || !jm_slo_given(&own) ? c->o->slo : own;
        for (size_t k = 0; k < c->o->n_slice_slo; k++)
            if (strcmp(c->o->slice_slo[k].slice, s->name[i]) == 0)
                s->slo[i] = c->o->slice_slo[k].slo;
        s->any_slo |= jm_slo_given(&s->slo[i]);
    }
    s->windows = c->n_win;
    s->part = calloc(c->n_win * s->n + 1, sizeof *s->part);
    for (size_t k = 0; s->part && k < c->n_win; k++)
        for (size_t i = 0; i < s->n; i++) {
            struct jm_calc_window *w = &s->part[k * s->n + i];
            w->index = c->win[k].index;
            w->w = c->win[k].w;
            w->seconds = c->win[k].seconds;
        }
    c->slices = s;
    return s->part ? 0 : jm_err_set(c->err, JM_ENOMEM, "out of memory for the slices");
}

void jm_slices_release(struct jm_calc *c)
{
    struct jm_slices *s = c->slices;
    if (!s)
        return;
    for (size_t i = 0; s->part && i < s->windows * s->n; i++)
        jm_tally_release(&s->part[i]);
    free(s->part);
    free(s);
    c->slices = NULL;
}

const struct jm_slo *jm_slices_slo(const struct jm_calc *c, const struct jm_request *q)
{
    int i = c->slices ? find(c->slices, q->slice) : -1;
    return i < 0 ? &c->o->slo : &c->slices->slo[i];
}

bool jm_slices_slo_given(const struct jm_calc *c)
{
    return jm_slo_given(c->slo_now ? c->slo_now : &c->o->slo) ||
           (!c->slo_now && c->slices && c->slices->any_slo);
}

struct jm_calc_window *jm_slices_part(const struct jm_calc *c, const struct jm_calc_window *w,
                                      const struct jm_request *q)
{
    struct jm_slices *s = c->slices;
    size_t k = (size_t)(w - c->win);
    if (!s || w < c->win || k >= s->windows)
        return NULL;
    int i = find(s, q->slice);
    return i < 0 ? NULL : &s->part[k * s->n + (size_t)i];
}

int jm_slices_done(struct jm_calc *c)
{
    struct jm_slices *s = c->slices;
    int rc = 0;
    for (size_t i = 0; !rc && s && i < s->windows * s->n; i++)
        rc = jm_tally_done(&s->part[i]);
    return rc;
}

static const char *only_slice(const struct jm_calc *c, const struct jm_calc_window *w)
{
    char key[64];
    snprintf(key, sizeof key, "window.%d.slice", w->w->id);
    return jm_run_env(c->run, key);
}

static const char *fact(const struct jm_calc *c, const char *slice, const char *what)
{
    char key[96];
    snprintf(key, sizeof key, "plan.%s.%s", slice, what);
    return jm_run_env(c->run, key);
}

int jm_slices_take(struct jm_calc *c, size_t from, const char *slice)
{
    struct jm_report *r = c->r;
    size_t more = r->n_results - from, cap = r->n_sliced + more;
    struct jm_result *v = realloc(r->sliced, (cap ? cap : 1) * sizeof *v);
    if (!v)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the slices");
    r->sliced = v;
    for (size_t i = from; i < r->n_results; i++) {
        v[r->n_sliced] = r->results[i];
        v[r->n_sliced++].slice = slice;
    }
    r->n_results = from;
    return 0;
}

static int no_energy(struct jm_calc *c, const struct jm_calc_window *w)
{
    static const enum jm_boundary order[] = {JM_B_WALL, JM_B_NODE, JM_B_DEVICE, JM_B_GPU};
    for (size_t i = 0; i < 4; i++) {
        struct jm_cut cut;
        int rc = jm_cut_make(c, w, order[i], JM_CUT_MEASURED, &cut);
        if (rc)
            return rc;
        if (!cut.usable)
            continue;
        struct jm_result *x = jm_calc_result(c, w, "j_per.output_token", &cut);
        if (!x)
            return jm_err_set(c->err, JM_ENOMEM, "out of memory for the slices");
        x->denominator = w->tally.output;
        x->denominator_name = "output tokens";
        x->numerator_name = "energy";
        x->q.reasons = "slices-at-once";
    }
    return 0;
}

static int total(struct jm_calc *c, const struct jm_calc_window *p, const char *slice, bool alone)
{
    struct jm_report *r = c->r;
    const struct jm_tally *t = &p->tally;
    struct jm_slice_total *v = realloc(r->slices, (r->n_slices + 1) * sizeof *v);
    if (!v)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the slices");
    r->slices = v;
    v[r->n_slices++] = (struct jm_slice_total){.name = slice,
                                               .quality = fact(c, slice, "quality"),
                                               .shape = fact(c, slice, "shape"),
                                               .window = p->index,
                                               .alone = alone,
                                               .ok = t->done_ok,
                                               .failed = t->done_failed,
                                               .aborted = t->done_aborted,
                                               .cancelled = t->cancelled,
                                               .qualified = c->slo_now ? t->qualified_done : -1,
                                               .output = t->unknown_output ? NAN : t->output,
                                               .input = t->unknown_input ? NAN : t->input};
    return 0;
}

static int of_window(struct jm_calc *c, size_t k)
{
    struct jm_slices *s = c->slices;
    const char *alone = only_slice(c, &c->win[k]);
    int rc = 0;
    for (size_t i = 0; !rc && i < s->n; i++) {
        struct jm_calc_window *p = &s->part[k * s->n + i];
        const struct jm_tally *t = &p->tally;
        size_t from = c->r->n_results;
        if (alone ? strcmp(alone, s->name[i]) != 0
                  : t->scheduled + t->done_ok + t->done_failed + t->done_aborted == 0 && !(t->output > 0))
            continue;
        const char *name = jm_report_text(c->r, "%s", s->name[i]);
        if (!name)
            return jm_err_set(c->err, JM_ENOMEM, "out of memory for the slices");
        c->slo_now = jm_slo_given(&s->slo[i]) ? &s->slo[i] : NULL;
        rc = total(c, p, name, alone != NULL);
        static const struct jm_slo none = {NAN, NAN, NAN};
        c->slo_now = c->slo_now ? c->slo_now : &none;
        bool picture = c->picture;
        c->picture = false;
        if (!rc && !alone)
            rc = no_energy(c, p);
        if (!rc)
            rc = jm_results_throughput(c, p);
        if (!rc)
            rc = jm_results_latency(c, p);
        c->picture = picture;
        c->slo_now = NULL;
        if (!rc)
            rc = jm_slices_take(c, from, name);
    }
    return rc;
}

int jm_results_slices(struct jm_calc *c)
{
    int rc = 0;
    for (size_t k = 0; !rc && c->slices && k < c->n_win; k++) {
        const char *alone = only_slice(c, &c->win[k]);
        if (c->win[k].w->role != JM_R_MEASURE)
            continue;
        for (size_t i = 0; alone && i < c->r->n_results; i++)
            if (c->r->results[i].window == c->win[k].index)
                c->r->results[i].slice = alone;
        rc = of_window(c, k);
    }
    return rc;
}
