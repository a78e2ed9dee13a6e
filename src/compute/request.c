/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/request.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "compute/observe.h"

#include "base/banned.h"

#define GROUPS_MAX 64

size_t jm_request_find(const struct jm_request *q, size_t n, int64_t id, size_t near)
{
    size_t lo = 0, hi = n;
    for (size_t i = near; i < n && i < near + 2; i++)
        if (q[i].id == id)
            return i;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (q[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && q[lo].id == id ? lo : n;
}

/* Parts of a sum as whole millijoules that add up to the sum's own. */
struct whole {
    double sum;
    int64_t shown;
};

static int64_t next(struct whole *w, double joules)
{
    int64_t before = w->shown;
    w->sum += joules;
    w->shown = fabs(w->sum) < 9e15 ? llround(w->sum * 1e3) : before;
    return w->shown - before;
}

struct rows {
    struct jm_calc *c;
    struct jm_phases *out;
    struct whole *sum; /* by window of calc */
    size_t cap;
};

static struct jm_request_energy *row(struct rows *r)
{
    if (r->out->n_requests == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 1024;
        struct jm_request_energy *v = realloc(r->out->request, cap * sizeof *v);
        if (!v)
            return NULL;
        r->out->request = v;
        r->cap = cap;
    }
    return &r->out->request[r->out->n_requests++];
}

static bool within(const struct jm_window *w, int64_t t)
{
    return t >= 0 && t >= w->t0 && t < w->t1;
}

static int no_memory(struct jm_calc *c)
{
    return jm_err_set(c->err, JM_ENOMEM, "out of memory for the energy of the requests");
}

/* ---- rows of an allocation */

static int of_window(struct rows *r, struct jm_phase_of_run *u, size_t n, const struct jm_request *q,
                     size_t k, size_t window, const struct jm_phase_part *life, bool whole, bool phases)
{
    const struct jm_calc_window *w = &r->c->win[window];
    struct jm_phase_part sum = {0}, x;
    bool any = false;
    for (size_t i = 0; i < n; i++)
        if (u[i].of[k]) {
            size_t from = u[i].cell[2 * window], to = u[i].cell[2 * window + 1];
            if (n == 1 && jm_phase_within(u[i].p, u[i].of[k] - 1, from, to))
                x = *life;
            else
                jm_phase_of(u[i].p, u[i].of[k] - 1, from, to, &x);
            sum.prefill += x.prefill;
            sum.decode += x.decode;
            any = true;
        }
    struct jm_request_energy *e = any ? row(r) : NULL;
    if (!e)
        return any ? no_memory(r->c) : 0;
    *e = (struct jm_request_energy){.id = q->id,
                                    .request = (uint32_t)k,
                                    .window = w->index,
                                    .joules = whole ? life->prefill + life->decode : NAN,
                                    .prefill = whole && phases ? life->prefill : NAN,
                                    .marginal = whole ? life->marginal_prefill + life->marginal_decode : NAN,
                                    .ended = within(w->w, jm_request_end(q))};
    e->prefill_mj = phases ? next(&r->sum[window], sum.prefill) : 0;
    e->decode_mj = next(&r->sum[window], phases ? sum.decode : sum.prefill + sum.decode);
    return 0;
}

static int of_request(struct rows *r, struct jm_phase_of_run *u, size_t n, const struct jm_request *q,
                      size_t k, bool phases)
{
    int64_t from = INT64_MAX, to = INT64_MIN;
    struct jm_phase_part life = {0}, x;
    struct jm_calc_window *w;
    bool whole = true, any = false;
    for (size_t i = 0; i < n; i++) {
        if (!u[i].of[k])
            continue;
        any = true;
        whole &= jm_phase_inside(u[i].p, u[i].of[k] - 1);
        jm_phase_of(u[i].p, u[i].of[k] - 1, 0, u[i].grid.n, &x);
        life.prefill += x.prefill;
        life.decode += x.decode;
        life.marginal_prefill += x.marginal_prefill;
        life.marginal_decode += x.marginal_decode;
    }
    if (!any)
        return 0;
    for (int s = 0; s < JM_T_COUNT; s++)
        if (q->t[s] >= 0) {
            from = q->t[s] < from ? q->t[s] : from;
            to = q->t[s] > to ? q->t[s] : to;
        }
    int rc = 0;
    size_t at = jm_windows_upto(r->c, to);
    while (!rc && to >= from && (w = jm_windows_next(r->c, &at, from)))
        if (w->index >= 0 && w->w->role == JM_R_MEASURE && to >= w->w->t0 && from < w->w->t1)
            rc = of_window(r, u, n, q, k, (size_t)(w - r->c->win), &life, whole, phases);
    return rc;
}

/* ---- splits */

static struct jm_phase_split none(int window)
{
    return (struct jm_phase_split){.window = window,
                                   .marginal_prefill = NAN,
                                   .marginal_decode = NAN,
                                   .prefill_tokens = NAN,
                                   .decode_tokens = NAN,
                                   .share = NAN,
                                   .range = {NAN, NAN}};
}

static void share(const struct jm_phase_of_run *u, size_t n, struct jm_phase_split *s, bool phases)
{
    double got = (double)(s->prefill_mj + s->decode_mj);
    if (!phases) {
        s->marginal_prefill = s->marginal_decode = NAN;
        return;
    }
    s->share = got > 0 ? (double)s->prefill_mj / got : NAN;
    if (n == 1 && isfinite(u->fit.share_offset.lo)) /* of pools it is measured */
        s->range = (struct jm_phase_interval){fmax(0, s->share + u->fit.share_offset.lo),
                                              fmin(1, s->share + u->fit.share_offset.hi)};
}

/* Totals of a window, once its rows are there. */
static void close_window(struct rows *r, struct jm_phase_of_run *u, size_t n, size_t window,
                         struct jm_phase_split *s)
{
    struct jm_phase_part x;
    double idle = 0, total = 0, i_j, t_j;
    *s = none(r->c->win[window].index);
    s->marginal_prefill = s->marginal_decode = s->prefill_tokens = s->decode_tokens = 0;
    for (size_t i = 0; i < n; i++) {
        jm_phase_cells(u[i].p, u[i].cell[2 * window], u[i].cell[2 * window + 1], &x, &i_j, &t_j);
        idle += i_j;
        total += t_j;
        s->marginal_prefill += x.marginal_prefill;
        s->marginal_decode += x.marginal_decode;
        s->prefill_tokens += x.prefill_tokens;
        s->decode_tokens += x.decode_tokens;
    }
    s->total_mj = llround(total * 1e3);
    s->idle_mj = next(&r->sum[window], idle);
    r->out->closure_mj += s->total_mj - r->sum[window].shown;
}

/* Windows of calc are in the order of the report's. */
static size_t window_at(const struct jm_calc *c, int index)
{
    size_t lo = 0, hi = c->n_win;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (c->win[mid].index <= index)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static int splits(struct rows *r, struct jm_phase_of_run *u, size_t n, bool phases)
{
    struct jm_calc *c = r->c;
    struct jm_phases *o = r->out;
    struct jm_phase_split *of = calloc(c->n_win + 1, sizeof *of), *sum;
    o->split = jm_report_alloc(c->r, (c->n_win + 1) * sizeof *o->split);
    if (!of || !o->split) {
        free(of);
        return no_memory(c);
    }
    for (size_t k = 0; k < c->n_win; k++)
        if (c->win[k].w->role == JM_R_MEASURE)
            close_window(r, u, n, k, &of[k]);
    for (size_t i = 0; i < o->n_requests; i++) {
        const struct jm_request_energy *e = &o->request[i];
        struct jm_phase_split *s = &of[window_at(c, e->window)];
        s->prefill_mj += e->prefill_mj;
        s->decode_mj += e->decode_mj;
    }
    sum = &o->split[o->n_splits++];
    *sum = none(-1);
    sum->marginal_prefill = sum->marginal_decode = sum->prefill_tokens = sum->decode_tokens = 0;
    for (size_t k = 0; k < c->n_win; k++) {
        if (c->win[k].w->role != JM_R_MEASURE)
            continue;
        share(u, n, &of[k], phases);
        sum->total_mj += of[k].total_mj;
        sum->prefill_mj += of[k].prefill_mj;
        sum->decode_mj += of[k].decode_mj;
        sum->idle_mj += of[k].idle_mj;
        sum->marginal_prefill += phases ? of[k].marginal_prefill : 0;
        sum->marginal_decode += phases ? of[k].marginal_decode : 0;
        sum->prefill_tokens += of[k].prefill_tokens;
        sum->decode_tokens += of[k].decode_tokens;
        o->split[o->n_splits++] = of[k];
    }
    share(u, n, sum, phases);
    free(of);
    return 0;
}

/* ---- distributions */

static const char *tenant_of(const struct jm_calc *c, const char *slice)
{
    char key[96];
    snprintf(key, sizeof key, "plan.%s.tenant", slice);
    return jm_run_env(c->run, key);
}

struct group {
    const char *slice, *tenant;
    struct jm_samples s;
    struct jm_request_dist d;
};

static struct group *group_of(const struct jm_calc *c, struct group *g, size_t *n, const char *slice,
                              const char *tenant)
{
    for (size_t i = 1; i < *n; i++)
        if (slice ? g[i].slice && strcmp(g[i].slice, slice) == 0
                  : g[i].tenant && !g[i].slice && strcmp(g[i].tenant, tenant) == 0)
            return &g[i];
    if (*n == GROUPS_MAX)
        return NULL;
    g[*n].slice = slice;
    g[*n].tenant = slice ? tenant_of(c, slice) : tenant;
    return &g[(*n)++];
}

static int count(struct group *g, const struct jm_request *q, const struct jm_request_energy *e)
{
    double j = (double)(e->prefill_mj + e->decode_mj) / 1e3;
    g->d.joules += j;
    if (q->end != JM_END_OK) {
        g->d.failed += j;
        return 0;
    }
    if (!e->ended)
        return 0;
    g->d.left_out += !isfinite(e->joules);
    return isfinite(e->joules) ? jm_samples_add(&g->s, e->joules) : 0;
}

static void finish(struct group *g)
{
    struct jm_dist d = jm_samples_dist(&g->s);
    g->d.slice = g->slice;
    g->d.tenant = g->tenant;
    g->d.n = d.n;
    g->d.mean = d.mean;
    g->d.p50 = d.p50;
    g->d.p90 = d.p90;
    g->d.p99 = d.p99;
}

/* All, then slices, then tenants; the latter two where there is more than one. */
static int distributions(struct jm_calc *c, struct jm_phases *o)
{
    struct group *g = calloc(GROUPS_MAX, sizeof *g);
    size_t n = 1, n_q, slices = 0, tenants = 0;
    const struct jm_request *q = jm_run_requests(c->run, &n_q);
    int rc = g ? 0 : no_memory(c);
    for (size_t i = 0; !rc && i < o->n_requests; i++) {
        const struct jm_request_energy *e = &o->request[i];
        const struct jm_request *x = &q[e->request];
        struct group *s = group_of(c, g, &n, x->slice, NULL);
        const char *tenant = s ? s->tenant : tenant_of(c, x->slice);
        struct group *t = tenant ? group_of(c, g, &n, NULL, tenant) : NULL;
        if (count(&g[0], x, e) || (s && count(s, x, e)) || (t && count(t, x, e)))
            rc = no_memory(c);
    }
    for (size_t i = 1; i < n; i++) {
        slices += g[i].slice != NULL;
        tenants += !g[i].slice;
    }
    if (!rc && !(o->dist = jm_report_alloc(c->r, n * sizeof *o->dist)))
        rc = no_memory(c);
    for (int pass = 0; pass < 2; pass++) /* slices, then tenants */
        for (size_t i = pass; !rc && i < n; i++)
            if (i == 0 || (pass ? !g[i].slice && tenants > 1 : g[i].slice && slices > 1)) {
                finish(&g[i]);
                o->dist[o->n_dists++] = g[i].d;
            }
    for (size_t i = 0; g && i < n; i++)
        free(g[i].s.v);
    free(g);
    return rc;
}

int jm_request_energies(struct jm_calc *c, struct jm_phase_of_run *u, size_t n_units, bool phases)
{
    struct rows r = {.c = c, .out = c->r->phases, .sum = calloc(c->n_win + 1, sizeof *r.sum)};
    size_t n;
    const struct jm_request *q = jm_run_requests(c->run, &n);
    int rc = r.sum ? 0 : no_memory(c);
    for (size_t k = 0; !rc && k < n; k++)
        rc = of_request(&r, u, n_units, &q[k], k, phases);
    if (!rc)
        rc = splits(&r, u, n_units, phases);
    if (!rc)
        rc = distributions(c, r.out);
    free(r.sum);
    return rc;
}

/* ---- without times */

int jm_request_per_token(struct jm_calc *c, const double *total)
{
    struct jm_phases *o = c->r->phases;
    struct rows r = {.c = c, .out = o, .sum = calloc(c->n_win + 1, sizeof *r.sum)};
    size_t n;
    const struct jm_request *q = jm_run_requests(c->run, &n);
    double *tokens = calloc(c->n_win + 1, sizeof *tokens);
    struct jm_calc_window *w;
    int rc = r.sum && tokens ? 0 : no_memory(c);
    for (int pass = 0; !rc && pass < 2; pass++)
        for (size_t k = 0; !rc && k < n; k++) {
            int64_t end = jm_request_end(&q[k]);
            size_t at = jm_windows_upto(c, end);
            while (!rc && q[k].output_tokens > 0 && (w = jm_windows_next(c, &at, end))) {
                size_t i = (size_t)(w - c->win);
                if (w->index < 0 || w->w->role != JM_R_MEASURE || !within(w->w, end) || !isfinite(total[i]))
                    continue;
                if (!pass) {
                    tokens[i] += (double)q[k].output_tokens;
                    continue;
                }
                double j = total[i] * (double)q[k].output_tokens / tokens[i];
                struct jm_request_energy *e = row(&r);
                if (!e) {
                    rc = no_memory(c);
                    break;
                }
                *e = (struct jm_request_energy){.id = q[k].id,
                                                .request = (uint32_t)k,
                                                .window = w->index,
                                                .decode_mj = next(&r.sum[i], j),
                                                .joules = j,
                                                .prefill = NAN,
                                                .marginal = NAN,
                                                .ended = true};
            }
        }
    if (!rc && !(o->split = jm_report_alloc(c->r, (c->n_win + 1) * sizeof *o->split)))
        rc = no_memory(c);
    if (!rc)
        o->split[o->n_splits++] = none(-1);
    for (size_t i = 0; !rc && i < c->n_win; i++) {
        if (c->win[i].w->role != JM_R_MEASURE || !isfinite(total[i]))
            continue;
        struct jm_phase_split *s = &o->split[o->n_splits++];
        *s = none(c->win[i].index);
        s->total_mj = llround(total[i] * 1e3);
        s->decode_mj = r.sum[i].shown;
        s->idle_mj = s->total_mj - s->decode_mj; /* none of it, unless there were no tokens */
        s->decode_tokens = tokens[i];
        o->split[0].total_mj += s->total_mj;
        o->split[0].decode_mj += s->decode_mj;
        o->split[0].idle_mj += s->idle_mj;
    }
    if (!rc)
        rc = distributions(c, o);
    free(r.sum);
    free(tokens);
    return rc;
}
