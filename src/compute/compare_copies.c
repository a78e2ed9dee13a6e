/* SPDX-License-Identifier: Apache-2.0 */
/* The same measurement under two names: run ids and labels can be edited, and a window can be cut, but no two
 * measurements take the same times to the nanosecond or read the same noise. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/compare_impl.h"
#include "compute/defs.h"

#include "base/banned.h"

#define GRAM   16                /* steps of readings in a row that make one mark */
#define BITS   64.0              /* least information in it, by how often its steps are in the window */
#define LEAST  8                 /* marks in common that are no chance */
#define SHARE  10                /* and one in so many of those of the run that has fewer */
#define MOST   ((size_t)1 << 20) /* marks kept; beyond it those of every second hash, and so on */
#define COARSE 1000              /* ns: times that are whole microseconds may agree by rounding */

enum kind { M_REQUEST, M_READINGS, M_KINDS };

struct mark {
    uint64_t hash;
    uint32_t run, window;
    uint8_t kind;
};

struct one {
    const struct jm_compare_run *run;
    int side; /* -1: --aa */
};

struct marks {
    struct jm_cmp *x;
    struct mark *v;
    size_t n, cap;
    uint64_t mask;
    struct one *run;
    size_t n_run;
};

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    return h ^ h >> 32;
}

static int put(struct marks *m, uint64_t hash, size_t run, size_t window, enum kind kind)
{
    if (hash & m->mask)
        return 0;
    if (m->n == MOST) {
        size_t kept = 0;
        m->mask = m->mask << 1 | 1;
        for (size_t i = 0; i < m->n; i++)
            if (!(m->v[i].hash & m->mask))
                m->v[kept++] = m->v[i];
        m->n = kept;
        if (hash & m->mask)
            return 0;
    }
    if (m->n == m->cap) {
        size_t cap = m->cap ? 2 * m->cap : 1024;
        struct mark *v = realloc(m->v, cap * sizeof *v);
        if (!v)
            return jm_cmp_memory(m->x);
        m->v = v;
        m->cap = cap;
    }
    m->v[m->n++] = (struct mark){hash, (uint32_t)run, (uint32_t)window, (uint8_t)kind};
    return 0;
}

/* Time to the first token and to the end of each request of the window. */
static int requests(struct marks *m, size_t run, size_t window)
{
    const struct jm_compare_run *r = m->run[run].run;
    const struct jm_window *w = &r->report->windows[window];
    size_t n;
    int rc = 0;
    const struct jm_request *q = jm_run_requests(r->run, &n);
    for (size_t i = 0; !rc && i < n; i++) {
        int64_t at = jm_request_start(&q[i]), first = q[i].t[JM_T_FIRST_TOKEN],
                last = q[i].t[JM_T_LAST_TOKEN];
        if (q[i].end != JM_END_OK || at < w->t0 || at >= w->t1 || first < at || last <= first)
            continue;
        uint64_t a = (uint64_t)first - (uint64_t)at, b = (uint64_t)last - (uint64_t)first;
        if (a % COARSE && b % COARSE)
            rc = put(m, mix(mix(M_REQUEST, a), b), run, window, M_REQUEST);
    }
    return rc;
}

static int by_value(const void *a, const void *b)
{
    uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;
    return (p > q) - (p < q);
}

/* How many are below v, or v itself. */
static size_t below(uint64_t v, bool or_same, const uint64_t *sorted, size_t n)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (sorted[mid] < v || (or_same && sorted[mid] == v))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* How much seeing v tells, bits: v is one of n steps, sorted. */
static double bits(uint64_t v, const uint64_t *sorted, size_t n)
{
    size_t same = below(v, true, sorted, n) - below(v, false, sorted, n);
    return log2((double)n / (double)same);
}

/* Steps of time and value of a channel, so many in a row. A power that is constant, or known to a watt every
 * second, has the same steps again by chance; noise in nanoseconds and millijoules has not. */
static int steps(struct marks *m, size_t run, size_t window, uint64_t *step, size_t n)
{
    uint64_t *sorted = step + n;
    double all = 0;
    int rc = 0;
    memcpy(sorted, step, n * sizeof *step);
    qsort(sorted, n, sizeof *sorted, by_value);
    for (size_t i = 0; !rc && i < n; i++) {
        all += bits(step[i], sorted, n);
        if (i + 1 < GRAM)
            continue;
        uint64_t h = M_READINGS;
        for (size_t k = i + 1 - GRAM; k <= i; k++)
            h = mix(h, step[k]);
        if (all >= BITS)
            rc = put(m, h, run, window, M_READINGS);
        all -= bits(step[i + 1 - GRAM], sorted, n);
    }
    return rc;
}

static int readings(struct marks *m, size_t run, size_t window, struct jm_readings *buf)
{
    const struct jm_compare_run *r = m->run[run].run;
    const struct jm_window *w = &r->report->windows[window];
    int rc = 0;
    for (size_t e = 0; !rc && e < r->report->n_energy; e++) {
        const struct jm_energy_row *row = &r->report->energy[e];
        const struct jm_reading *last = NULL;
        size_t n = 0;
        if (row->window != (int)window || !row->counted)
            continue;
        buf->n = 0;
        if ((rc = jm_run_readings(r->run, row->channel, w->t0, w->t1, buf, m->x->err)) || !buf->n)
            continue;
        uint64_t *step = malloc(2 * buf->n * sizeof *step);
        if (!step)
            return jm_cmp_memory(m->x);
        for (size_t i = 0; i < buf->n; i++) {
            const struct jm_reading *now = &buf->v[i];
            if (now->status != JM_S_OK || now->t0 < w->t0 || now->t1 > w->t1)
                continue;
            if (last)
                step[n++] =
                    mix((uint64_t)now->t1 - (uint64_t)last->t1, (uint64_t)now->value - (uint64_t)last->value);
            last = now;
        }
        rc = n >= GRAM ? steps(m, run, window, step, n) : 0;
        free(step);
    }
    return rc;
}

static int by_hash(const void *a, const void *b)
{
    const struct mark *p = a, *q = b;
    if (p->hash != q->hash)
        return p->hash < q->hash ? -1 : 1;
    if (p->run != q->run)
        return p->run < q->run ? -1 : 1;
    return (p->window > q->window) - (p->window < q->window);
}

/* Marks that repeat themselves inside a window tell nothing: a constant power has the same steps always. */
static void drop_common(struct marks *m)
{
    size_t kept = 0;
    if (!m->n)
        return;
    qsort(m->v, m->n, sizeof *m->v, by_hash);
    for (size_t i = 0, k; i < m->n; i = k) {
        bool unique = true;
        for (k = i + 1; k < m->n && m->v[k].hash == m->v[i].hash; k++)
            unique &= m->v[k].run != m->v[k - 1].run || m->v[k].window != m->v[k - 1].window;
        for (size_t j = i; unique && j < k; j++)
            m->v[kept++] = m->v[j];
    }
    m->n = kept;
}

static const char *name_of(struct jm_cmp *x, const struct one *o)
{
    const char *path = jm_run_path(o->run->run);
    return o->side < 0 ? JM_CMP_TEXT(x, "--aa (%.200s)", path)
                       : JM_CMP_TEXT(x, "%c (%.200s)", (char)('A' + o->side), path);
}

static int copy(struct marks *m, size_t a, size_t b, enum kind kind, uint32_t same, uint32_t of)
{
    struct jm_cmp *x = m->x;
    const char *p = name_of(x, &m->run[a]), *q = name_of(x, &m->run[b]),
               *what = kind == M_REQUEST ? "requests took the same times to the nanosecond"
                                         : "stretches of readings are the same";
    if (!p || !q)
        return jm_cmp_memory(x);
    if (a == b)
        return jm_err_set(
            x->err, JM_EUSAGE,
            "%s holds a measurement twice: %u of its %u %s as in another of its windows, which no "
            "two measurements give",
            p, same, of, what);
    return jm_err_set(x->err, JM_EUSAGE,
                      "%s and %s hold the same measurement under two names: %u of %u %s, which no two "
                      "measurements give; give each measurement once",
                      p, q, same, of, what);
}

/* A's own runs may be those of --aa: they are then what A against A shows. */
static bool allowed(const struct one *a, const struct one *b)
{
    return (a->side < 0) != (b->side < 0) && (a->side == 0 || b->side == 0);
}

static int count(struct marks *m)
{
    size_t n = m->n_run;
    uint32_t *total = calloc(n * M_KINDS, sizeof *total), *same = calloc(n * n * M_KINDS, sizeof *same);
    int rc = total && same ? 0 : jm_cmp_memory(m->x);
    for (size_t i = 0, k; !rc && i < m->n; i = k) {
        for (k = i; k < m->n && m->v[k].hash == m->v[i].hash; k++) {
            const struct mark *q = &m->v[k];
            total[q->run * M_KINDS + q->kind]++;
            if (k == i)
                continue;
            const struct mark *p = &m->v[k - 1]; /* neighbours do: copies of copies are found one by one */
            same[(p->run * n + q->run) * M_KINDS + q->kind]++;
        }
    }
    for (size_t at = 0; !rc && at < n * n * M_KINDS; at++) {
        size_t kind = at % M_KINDS, b = at / M_KINDS % n, a = at / M_KINDS / n;
        uint32_t of = total[a * M_KINDS + kind];
        if (total[b * M_KINDS + kind] < of)
            of = total[b * M_KINDS + kind];
        if (same[at] >= LEAST && (uint64_t)same[at] * SHARE >= of && !allowed(&m->run[a], &m->run[b]))
            rc = copy(m, a, b, (enum kind)kind, same[at], of);
    }
    free(total);
    free(same);
    return rc;
}

int jm_cmp_copies(struct jm_cmp *x)
{
    size_t n = x->o->n_aa;
    for (size_t i = 0; i < x->c->n_side; i++)
        n += x->in[i].n_run;
    struct marks m = {.x = x, .run = calloc(n, sizeof *m.run)};
    struct jm_readings buf = {0};
    int rc = m.run ? 0 : jm_cmp_memory(x);
    for (size_t i = 0; !rc && i < x->c->n_side; i++)
        for (size_t k = 0; k < x->in[i].n_run; k++)
            m.run[m.n_run++] = (struct one){&x->in[i].run[k], (int)i};
    for (size_t i = 0; !rc && i < x->o->n_aa; i++)
        m.run[m.n_run++] = (struct one){&x->o->aa[i], -1};
    for (size_t i = 0; !rc && i < m.n_run; i++)
        for (size_t w = 0; !rc && w < m.run[i].run->report->n_windows; w++) {
            if (m.run[i].run->report->windows[w].role != JM_R_MEASURE)
                continue;
            rc = requests(&m, i, w);
            if (!rc)
                rc = readings(&m, i, w, &buf);
        }
    if (!rc) {
        drop_common(&m);
        rc = count(&m);
    }
    jm_readings_release(&buf);
    free(m.v);
    free(m.run);
    return rc;
}
