/* SPDX-License-Identifier: Apache-2.0 */
#include "model/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* blocks of the arena, newest first */
struct block {
    struct block *next;
    size_t used, cap;
    max_align_t mem[];
};

int jm_report_new(struct jm_report **out, struct jm_err *err)
{
    struct jm_report *r = calloc(1, sizeof *r);
    if (!r)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the report");
    r->tokens.output = r->tokens.input = r->tokens.cached = r->tokens.reasoning = -1;
    r->requests.qualified = -1;
    struct jm_dist none = {.mean = NAN, .min = NAN, .p50 = NAN, .p90 = NAN, .p99 = NAN, .max = NAN};
    r->tokens.isl = r->tokens.osl = none;
    *out = r;
    return 0;
}

void jm_report_free(struct jm_report *r)
{
    if (!r)
        return;
    if (r->phases)
        free(r->phases->request);
    for (struct block *b = r->arena, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(r->results);
    free(r->sliced);
    free(r->slices);
    free(r->findings);
    free(r->energy);
    free(r->reconcile);
    free(r->impacts);
    free(r->hours);
    free(r->series);
    free(r->hist);
    free(r);
}

size_t jm_report_claims(const struct jm_report *r, int window, size_t *first)
{
    size_t at[2];
    for (int side = 0; side < 2; side++) {
        size_t lo = 0, hi = r->n_claims;
        while (lo < hi) {
            size_t mid = lo + (hi - lo) / 2;
            int w = r->claims[r->claim_order[mid]].window;
            if (side ? w <= window : w < window)
                lo = mid + 1;
            else
                hi = mid;
        }
        at[side] = lo;
    }
    *first = at[0];
    return at[1] - at[0];
}

void *jm_report_alloc(struct jm_report *r, size_t n)
{
    struct block *b = r->arena;
    n = (n + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (!n)
        n = sizeof(max_align_t);
    if (!b || b->cap - b->used < n) {
        size_t cap = n > 65536 ? n : 65536;
        if (!(b = calloc(1, sizeof *b + cap)))
            return NULL;
        b->cap = cap;
        b->next = r->arena;
        r->arena = b;
    }
    void *p = (char *)b->mem + b->used;
    b->used += n;
    return p;
}

__attribute__((format(printf, 2, 0))) static const char *text_v(struct jm_report *r, const char *fmt,
                                                                va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *p = n < 0 ? NULL : jm_report_alloc(r, (size_t)n + 1);
    if (p)
        vsnprintf(p, (size_t)n + 1, fmt, ap);
    return p;
}

const char *jm_report_text(struct jm_report *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *s = text_v(r, fmt, ap);
    va_end(ap);
    return s;
}

/* room for one more row of size in *rows; the new row is zeroed */
static void *grow(void **rows, size_t *n, size_t *cap, size_t size)
{
    if (*n == *cap) {
        size_t c = *cap ? *cap * 2 : 32;
        void *p = realloc(*rows, c * size);
        if (!p)
            return NULL;
        *rows = p;
        *cap = c;
    }
    return memset((char *)*rows + (*n)++ * size, 0, size);
}

struct jm_result *jm_report_result(struct jm_report *r, const char *metric)
{
    struct jm_result *x = grow((void **)&r->results, &r->n_results, &r->cap_results, sizeof *x);
    if (x) {
        x->metric = metric;
        x->window = x->trial = -1;
        x->n = -1;
        x->quantile = x->numerator = x->denominator = x->q.value = x->q.u.lo = x->q.u.hi = x->q.u.dof = NAN;
        x->q.unit = "";
    }
    return x;
}

struct jm_finding *jm_report_finding(struct jm_report *r, const char *id, enum jm_severity sev,
                                     const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *s = text_v(r, fmt, ap);
    va_end(ap);
    struct jm_finding *f =
        s ? grow((void **)&r->findings, &r->n_findings, &r->cap_findings, sizeof *f) : NULL;
    if (f) {
        f->id = id;
        f->severity = sev;
        f->text = s;
        f->window = f->domain = -1;
    }
    return f;
}

struct jm_energy_row *jm_report_energy(struct jm_report *r)
{
    struct jm_energy_row *e = grow((void **)&r->energy, &r->n_energy, &r->cap_energy, sizeof *e);
    if (e) {
        e->window = e->channel = e->domain = -1;
        e->joules = e->lo = e->hi = e->covered_s = e->u = e->dof = e->lower_bound = e->raw = NAN;
        e->status = JM_S_ABSENT;
    }
    return e;
}

struct jm_reconcile_row *jm_report_reconcile(struct jm_report *r)
{
    struct jm_reconcile_row *x = grow((void **)&r->reconcile, &r->n_reconcile, &r->cap_reconcile, sizeof *x);
    if (x) {
        x->window = x->domain = x->row = -1;
        x->joules = x->lo = x->hi = x->contained = x->bound = NAN;
        x->unexplained = x->unexplained_lo = x->unexplained_hi = NAN;
        x->efficiency = x->efficiency_half = NAN;
        x->status = JM_S_ABSENT;
    }
    return x;
}

struct jm_impact *jm_report_impact(struct jm_report *r)
{
    struct jm_impact *x = grow((void **)&r->impacts, &r->n_impacts, &r->cap_impacts, sizeof *x);
    if (x) {
        x->factor = -1;
        x->mean = NAN;
    }
    return x;
}

struct jm_hour *jm_report_hour(struct jm_report *r)
{
    struct jm_hour *x = grow((void **)&r->hours, &r->n_hours, &r->cap_hours, sizeof *x);
    if (x) {
        x->factor = -1;
        x->joules = x->value = x->grams = NAN;
    }
    return x;
}

struct jm_series *jm_report_series(struct jm_report *r, size_t n)
{
    double *v = jm_report_alloc(r, 2 * n * sizeof *v);
    struct jm_series *s = v ? grow((void **)&r->series, &r->n_series, &r->cap_series, sizeof *s) : NULL;
    if (s) {
        s->channel = s->window = -1;
        s->n = n;
        s->min = v;
        s->max = v + n;
        for (size_t i = 0; i < 2 * n; i++)
            v[i] = NAN;
    }
    return s;
}

struct jm_histogram *jm_report_hist(struct jm_report *r, size_t n)
{
    double *e = jm_report_alloc(r, (n + 1) * sizeof *e);
    uint64_t *c = jm_report_alloc(r, n * sizeof *c);
    struct jm_histogram *h = e && c ? grow((void **)&r->hist, &r->n_hist, &r->cap_hist, sizeof *h) : NULL;
    if (h) {
        h->n = n;
        h->edge = e;
        h->count = c;
    }
    return h;
}

const struct jm_result *jm_report_find(const struct jm_report *r, const char *metric, enum jm_boundary b,
                                       int window)
{
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (strcmp(x->metric, metric) == 0 && (b == JM_B_NONE || x->q.boundary == b) &&
            (window == -2 || x->window == window))
            return x;
    }
    return NULL;
}
