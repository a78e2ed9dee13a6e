/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of the engine → a timeline a source. */
#include "compute/engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

#define LINES_MAX 64
#define FULL_MAX  4096

static int no_memory(struct jm_calc *c)
{
    return jm_err_set(c->err, JM_ENOMEM, "out of memory for the engine's metrics");
}

void jm_engine_release(struct jm_calc *c)
{
    struct jm_engine_run *e = c->engine;
    for (size_t i = 0; e && i < e->n; i++) {
        struct jm_engine_line *l = &e->line[i];
        for (size_t k = 0; k < l->n_full; k++)
            jm_engine_reading_release(&l->full[k].r);
        free(l->full);
        free(l->p);
        jm_engine_reading_release(&l->last);
    }
    if (e) {
        free(e->line);
        free(e->sent);
        free(e->closed);
    }
    free(e);
    c->engine = NULL;
}

static struct jm_engine_line *line_of(struct jm_calc *c, const char *url)
{
    struct jm_engine_run *e = c->engine;
    for (size_t i = 0; i < e->n; i++)
        if (strcmp(e->line[i].url, url) == 0)
            return &e->line[i];
    if (e->n == LINES_MAX)
        return NULL;
    struct jm_engine_line *v = realloc(e->line, (e->n + 1) * sizeof *v);
    if (!v)
        return NULL;
    e->line = v;
    struct jm_engine_line *l = &v[e->n];
    *l = (struct jm_engine_line){.url = jm_report_text(c->r, "%s", url)};
    jm_engine_reading_init(&l->last);
    if (!l->url)
        return NULL;
    e->n++;
    return l;
}

/* A copy of the buckets of a whole text. */
static bool keep_full(struct jm_engine_line *l, const struct jm_engine_reading *r, size_t point)
{
    size_t n = 0;
    for (size_t i = 0; r->dialect && i < r->n; i++)
        n += r->dialect->map[r->s[i].map].part == JM_EM_BUCKETS;
    if (r->excerpt || !n || l->n_full == FULL_MAX)
        return true;
    if (l->n_full == l->cap_full) {
        size_t cap = l->cap_full ? 2 * l->cap_full : 16;
        struct jm_engine_full *v = realloc(l->full, cap * sizeof *v);
        if (!v)
            return false;
        l->full = v;
        l->cap_full = cap;
    }
    struct jm_engine_full *f = &l->full[l->n_full];
    f->point = point;
    f->r = *r;
    f->r.n = 0;
    f->r.cap = n;
    if (!(f->r.s = malloc(n * sizeof *f->r.s)))
        return false;
    for (size_t i = 0; i < r->n; i++)
        if (r->dialect->map[r->s[i].map].part == JM_EM_BUCKETS)
            f->r.s[f->r.n++] = r->s[i];
    l->n_full++;
    return true;
}

static struct jm_engine_point *new_point(struct jm_engine_line *l, int64_t t0, int64_t t1)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 64;
        struct jm_engine_point *v = realloc(l->p, cap * sizeof *v);
        if (!v)
            return NULL;
        l->p = v;
        l->cap = cap;
    }
    struct jm_engine_point *p = &l->p[l->n++];
    memset(p, 0, sizeof *p);
    p->t0 = t0;
    p->t1 = t1;
    for (int q = 0; q < JM_EQ_COUNTERS; q++)
        p->sum[q] = NAN;
    p->running = p->waiting = p->kv = p->kv_most = p->batch = p->start = NAN;
    return p;
}

static void gauges(struct jm_engine_point *p, const struct jm_engine_reading *r)
{
    p->running = jm_engine_gauge(r, JM_EQ_RUNNING, NULL);
    p->waiting = jm_engine_gauge(r, JM_EQ_WAITING, NULL);
    p->kv = jm_engine_gauge(r, JM_EQ_KV_USE, &p->kv_most);
    p->batch = jm_engine_gauge(r, JM_EQ_BATCH, NULL);
    p->start = r->start_time;
}

/* Does the text say a number for q? NaN and Inf are none. */
static bool number(const struct jm_engine_reading *r, enum jm_eq q)
{
    bool any = false;
    for (size_t i = 0; i < r->n; i++) {
        if (r->dialect->map[r->s[i].map].q != q)
            continue;
        if (isfinite(r->s[i].value))
            return true;
        any = true;
    }
    return !any;
}

/* Counters go on from the last text that there was; a quantity that a text lacks stays where it was. */
static void counters(struct jm_engine_line *l, struct jm_engine_point *p,
                     const struct jm_engine_point *before, const struct jm_engine_reading *r)
{
    struct jm_engine_step s = {0};
    if (before)
        jm_engine_step(&l->last, r, &s);
    for (int q = 0; q < JM_EQ_COUNTERS; q++) {
        double old = before ? before->sum[q] : NAN;
        bool here = jm_engine_row(r, (enum jm_eq)q) >= 0 ||
                    (q == JM_EQ_GEN_STEP && jm_engine_row(r, JM_EQ_SLOTS) >= 0);
        p->sum[q] =
            !here || !number(r, (enum jm_eq)q) ? old : (isnan(old) ? 0 : old) + (s.have[q] ? s.d[q] : 0);
    }
    p->resets = s.resets;
    p->vanished = s.vanished;
    p->lost = (before ? before->lost : 0) + s.lost;
    p->doubt = s.doubt;
}

struct pass {
    struct jm_calc *c;
    struct jm_engine_reading r;
};

static int on_scrape(void *self, const char *url, int64_t t0, int64_t t1, struct jm_span text)
{
    struct pass *p = self;
    struct jm_calc *c = p->c;
    struct jm_engine_line *l = line_of(c, url);
    if (!l)
        return c->engine->n == LINES_MAX ? 0 : no_memory(c);
    /* a file may say anything: only times that can be subtracted from each other */
    if (t0 < -INT64_MAX / 4 || t1 > INT64_MAX / 4 || t1 < t0 || (l->n && t0 < l->p[l->n - 1].t0))
        return 0;
    struct jm_err why = {0};
    int rc = jm_engine_read(&p->r, l->dialect, text, &why);
    if (rc == JM_ENOMEM)
        return no_memory(c);
    if (rc) /* longer than can be: as if it had not come */
        p->r.n = 0;
    if (!l->dialect && p->r.dialect)
        l->dialect = p->r.dialect;
    const struct jm_engine_point *before = NULL;
    for (size_t i = l->n; l->has_last && i-- > 0 && !before;)
        before = l->p[i].ok ? &l->p[i] : NULL;
    size_t at = before ? (size_t)(before - l->p) : 0;
    bool had = before != NULL;
    struct jm_engine_point *pt = new_point(l, t0, t1);
    if (!pt)
        return no_memory(c);
    before = had ? &l->p[at] : NULL;
    pt->ok = !rc && !p->r.absent[0] && p->r.dialect && p->r.n;
    if (!pt->ok)
        return 0;
    gauges(pt, &p->r);
    counters(l, pt, before, &p->r);
    if (!keep_full(l, &p->r, l->n - 1))
        return no_memory(c);
    struct jm_engine_reading swap = l->last;
    l->last = p->r;
    p->r = swap;
    l->has_last = true;
    return 0;
}

/* What the recorder says of each source: also of those that never answered. */
static int source(struct jm_calc *c, struct jm_engine_source *s, const char *prefix, struct jm_engine_line *l)
{
    char key[64];
    const char *name;
    snprintf(key, sizeof key, "%sreason", prefix);
    s->reason = *prefix ? jm_run_env(c->run, key) : NULL;
    snprintf(key, sizeof key, "%sdialect", prefix);
    name = *prefix ? jm_run_env(c->run, key) : NULL;
    const struct jm_engine_dialect *d = l && l->dialect ? l->dialect : jm_engine_dialect_find(name);
    s->dialect = d ? d->name : NULL;
    s->title = d ? d->title : NULL;
    s->host = d && strcmp(d->name, "host") == 0;
    s->prompt_has_cached = d && d->prompt_has_cached;
    c->r->simulated |= d && strcmp(d->name, "joulemark-sim") == 0; /* never passes for a measurement */
    s->longest_s = NAN;
    if (!l)
        return 0;
    l->source = s;
    const struct jm_engine_point *last = NULL;
    for (size_t i = 0; i < l->n; i++) {
        const struct jm_engine_point *p = &l->p[i];
        s->silent += !p->ok;
        s->scrapes += p->ok;
        if (!p->ok)
            continue;
        s->per_step |= !isnan(p->sum[JM_EQ_GEN_STEP]);
        if (last) {
            double gap = (double)(p->t0 - last->t1) / 1e9;
            s->longest_s = !(s->longest_s >= gap) ? gap : s->longest_s;
        }
        last = p;
    }
    return 0;
}

static int sources(struct jm_calc *c)
{
    struct jm_engine_run *e = c->engine;
    double n_env = 0;
    bool known[LINES_MAX] = {false};
    const char *count = jm_run_env(c->run, "engine.targets");
    jm_num_double(jm_span_of(count), &n_env);
    size_t n = n_env > 0 && n_env < LINES_MAX ? (size_t)n_env + 1 : 1; /* and the host's */
    c->r->engine = jm_report_alloc(c->r, (n + e->n) * sizeof *c->r->engine);
    if (!c->r->engine)
        return no_memory(c);
    for (size_t i = 0; i < n; i++) {
        char prefix[32], key[48];
        snprintf(prefix, sizeof prefix, "engine.%zu.", i);
        snprintf(key, sizeof key, "%surl", prefix);
        const char *url = jm_run_env(c->run, key);
        bool again = false;
        for (size_t k = 0; url && k < c->r->n_engine; k++)
            again |= strcmp(c->r->engine[k].url, url) == 0;
        if (!url || again) /* one that was given and found is one source */
            continue;
        struct jm_engine_line *l = NULL;
        for (size_t k = 0; k < e->n; k++)
            if (strcmp(e->line[k].url, url) == 0 && !known[k]) {
                l = &e->line[k];
                known[k] = true;
                break;
            }
        struct jm_engine_source *s = &c->r->engine[c->r->n_engine++];
        s->url = url;
        source(c, s, prefix, l);
    }
    for (size_t k = 0; k < e->n; k++)
        if (!known[k]) { /* a run that was cut, or one that was merged */
            struct jm_engine_source *s = &c->r->engine[c->r->n_engine++];
            s->url = e->line[k].url;
            source(c, s, "", &e->line[k]);
        }
    return 0;
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int in_flight(struct jm_calc *c)
{
    struct jm_engine_run *e = c->engine;
    size_t n;
    const struct jm_request *q = jm_run_requests(c->run, &n);
    if (!n)
        return 0;
    e->sent = malloc(n * sizeof *e->sent);
    e->closed = malloc(n * sizeof *e->closed);
    if (!e->sent || !e->closed)
        return no_memory(c);
    for (size_t i = 0; i < n; i++) {
        int64_t sent = q[i].t[JM_T_SENT] >= 0 ? q[i].t[JM_T_SENT] : q[i].t[JM_T_SCHEDULED],
                end = jm_request_end(&q[i]);
        if (sent < 0)
            continue;
        e->sent[e->n_requests++] = sent;
        if (end >= sent)
            e->closed[e->n_closed++] = end;
    }
    if (e->n_requests)
        qsort(e->sent, e->n_requests, sizeof *e->sent, by_time);
    if (e->n_closed)
        qsort(e->closed, e->n_closed, sizeof *e->closed, by_time);
    return 0;
}

/* A family appears with its first event: before that it stood at 0. */
static void from_zero(struct jm_engine_line *l)
{
    for (int q = 0; q < JM_EQ_COUNTERS; q++) {
        size_t first = 0;
        while (first < l->n && !(l->p[first].ok && !isnan(l->p[first].sum[q])))
            first++;
        l->has[q] = first < l->n;
        for (size_t i = 0; first < l->n && i < first; i++)
            l->p[i].sum[q] = 0;
    }
}

int jm_engine_collect(struct jm_calc *c)
{
    struct pass p = {.c = c};
    c->r->engine_mode = jm_run_env(c->run, "engine.metrics");
    if (!(c->engine = calloc(1, sizeof *c->engine)))
        return no_memory(c);
    jm_engine_reading_init(&p.r);
    int rc = jm_run_scrapes(c->run, on_scrape, &p, c->err);
    jm_engine_reading_release(&p.r);
    for (size_t i = 0; !rc && i < c->engine->n; i++)
        from_zero(&c->engine->line[i]);
    if (!rc)
        rc = sources(c);
    if (!rc && c->engine->n)
        rc = in_flight(c);
    return rc;
}

/* ---- a counter between two edges */

struct at {
    double value, lo, hi;
    bool ok;
};

static struct at at_edge(const struct jm_engine_line *l, enum jm_eq q, int64_t t)
{
    size_t lo = 0, hi = l->n;
    struct at a = {NAN, NAN, NAN, false};
    const struct jm_engine_point *before = NULL, *after = NULL;
    while (lo < hi) { /* the first text that begins at or after t */
        size_t mid = lo + (hi - lo) / 2;
        if (l->p[mid].t0 < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (size_t i = lo; i < l->n && !after; i++)
        after = l->p[i].ok && !isnan(l->p[i].sum[q]) ? &l->p[i] : NULL;
    for (size_t i = lo; i-- > 0 && !before;)
        before = l->p[i].ok && l->p[i].t1 <= t && !isnan(l->p[i].sum[q]) ? &l->p[i] : NULL;
    if (!before || !after)
        return a;
    double t_b = (double)before->t0 / 2 + (double)before->t1 / 2,
           t_a = (double)after->t0 / 2 + (double)after->t1 / 2,
           part = t_a > t_b ? ((double)t - t_b) / (t_a - t_b) : 0.5;
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    a.lo = before->sum[q];
    a.hi = after->sum[q];
    a.value = a.lo + (a.hi - a.lo) * part;
    a.ok = true;
    return a;
}

bool jm_engine_moved(const struct jm_engine_line *l, enum jm_eq q, int64_t t0, int64_t t1,
                     struct jm_engine_moved *out)
{
    struct at a = at_edge(l, q, t0), b = at_edge(l, q, t1);
    if (!a.ok || !b.ok)
        return false;
    out->value = b.value - a.value;
    out->lo = b.lo - a.hi > 0 ? b.lo - a.hi : 0;
    out->hi = b.hi - a.lo;
    return true;
}
