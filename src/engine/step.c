/* SPDX-License-Identifier: Apache-2.0 */
/* From one text to the next: how far counters moved, what began again, what fell into which bucket. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/telemetry.h"

#include "base/banned.h"

int jm_engine_row(const struct jm_engine_reading *r, enum jm_eq q)
{
    int found = -1;
    const struct jm_engine_map *m = r->dialect ? r->dialect->map : NULL;
    for (size_t i = 0; m && i < r->n; i++) {
        int row = r->s[i].map;
        if (m[row].q == q && (found < 0 || m[row].rank < m[found].rank))
            found = row;
    }
    return found;
}

/* Series of the quantity that count: those of the chosen rank. */
static bool counts(const struct jm_engine_reading *r, size_t i, enum jm_eq q, int rank)
{
    const struct jm_engine_map *m = &r->dialect->map[r->s[i].map];
    return m->q == q && m->rank == rank;
}

static double gauge(const struct jm_engine_reading *r, enum jm_eq q, double *most, size_t *n)
{
    int row = jm_engine_row(r, q);
    double sum = 0;
    *n = 0;
    *most = NAN;
    for (size_t i = 0; row >= 0 && i < r->n; i++) {
        if (!counts(r, i, q, r->dialect->map[row].rank) || !isfinite(r->s[i].value))
            continue;
        sum += r->s[i].value;
        *most = !(*most >= r->s[i].value) ? r->s[i].value : *most;
        (*n)++;
    }
    return *n ? sum : NAN;
}

double jm_engine_gauge(const struct jm_engine_reading *r, enum jm_eq q, double *most)
{
    double top, v;
    size_t n;
    v = gauge(r, q, &top, &n);
    if (q == JM_EQ_KV_USE) {
        v /= (double)n;
        if (!n) {
            double ignore, used = gauge(r, JM_EQ_KV_USED, &ignore, &n),
                           all = gauge(r, JM_EQ_KV_MAX, &ignore, &n);
            v = top = all > 0 ? used / all : NAN;
        }
    }
    if (most)
        *most = top;
    return v;
}

static int order(const struct jm_engine_series *a, const struct jm_engine_series *b)
{
    if (a->map != b->map)
        return a->map < b->map ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->le < b->le ? -1 : a->le > b->le;
}

/* The series of r that is the same as s, by binary search; NULL. */
static const struct jm_engine_series *same(const struct jm_engine_reading *r,
                                           const struct jm_engine_series *s)
{
    size_t lo = 0, hi = r->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = order(&r->s[mid], s);
        if (!c)
            return &r->s[mid];
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

static bool began_again(const struct jm_engine_series *a, const struct jm_engine_series *b)
{
    return b->value < a->value - 1e-9 * fabs(a->value) || b->created > a->created + 0.5;
}

static bool restarted(const struct jm_engine_reading *a, const struct jm_engine_reading *b)
{
    return b->start_time > a->start_time + 1; /* NAN on either side: not known */
}

static void counter(const struct jm_engine_reading *a, const struct jm_engine_reading *b, enum jm_eq q,
                    struct jm_engine_step *out)
{
    int row = jm_engine_row(b, q);
    if (row < 0)
        return;
    int rank = b->dialect->map[row].rank;
    out->have[q] = true;
    for (size_t i = 0; i < b->n; i++) {
        if (!counts(b, i, q, rank))
            continue;
        const struct jm_engine_series *before = same(a, &b->s[i]);
        double v = b->s[i].value;
        if (!isfinite(v))
            continue;
        if (before && !isfinite(before->value)) { /* what came while it said no number is not known */
            out->resets++;
            continue;
        }
        /* a series that is new began at 0: labels appear with their first event */
        if (before && !out->restart && began_again(before, &b->s[i]))
            out->resets++;
        else if (before && !out->restart)
            v -= before->value;
        v = v > 0 ? v : 0;
        out->d[q] = q == JM_EQ_PROCESS ? (v > out->d[q] ? v : out->d[q]) : out->d[q] + v;
    }
    for (size_t i = 0; i < a->n; i++)
        out->vanished += a->dialect == b->dialect && counts(a, i, q, rank) && !same(b, &a->s[i]);
}

/* What running tasks have, beside what ended ones had: a count per step. A task that is gone without having
 * been counted was aborted, and its tokens are lost for the engine's counter. */
static void slots(const struct jm_engine_reading *a, const struct jm_engine_reading *b,
                  struct jm_engine_step *out)
{
    double seen = 0, before = 0, now = 0, largest = 0, ignore;
    size_t n = 0;
    if (jm_engine_row(a, JM_EQ_SLOTS) < 0 || jm_engine_row(b, JM_EQ_SLOTS) < 0 || !out->have[JM_EQ_GEN_END])
        return;
    for (size_t i = 0; i < a->n; i++)
        if (a->dialect->map[a->s[i].map].q == JM_EQ_SLOT)
            before += a->s[i].value;
    for (size_t i = 0; i < b->n; i++) {
        if (b->dialect->map[b->s[i].map].q != JM_EQ_SLOT)
            continue;
        const struct jm_engine_series *old = out->restart ? NULL : same(a, &b->s[i]);
        double gain = b->s[i].value - (old ? old->value : 0);
        seen += gain > 0 ? gain : 0;
        now += b->s[i].value;
        largest = b->s[i].value > largest ? b->s[i].value : largest;
        n++;
    }
    double moved = out->d[JM_EQ_GEN_END] + now - (out->restart ? 0 : before);
    out->have[JM_EQ_GEN_STEP] = true;
    out->d[JM_EQ_GEN_STEP] = moved > seen ? moved : seen;
    out->lost = out->d[JM_EQ_GEN_STEP] - moved;
    double running = jm_engine_gauge(b, JM_EQ_RUNNING, &ignore);
    if (running != (double)n && !isnan(running)) /* one ended between the two requests */
        out->doubt = largest * fabs(running - (double)n);
}

void jm_engine_step(const struct jm_engine_reading *a, const struct jm_engine_reading *b,
                    struct jm_engine_step *out)
{
    *out = (struct jm_engine_step){0};
    if (!a->dialect || a->dialect != b->dialect)
        return;
    out->restart = restarted(a, b);
    for (int q = 0; q < JM_EQ_COUNTERS; q++)
        counter(a, b, (enum jm_eq)q, out);
    out->resets += out->restart;
    if (b->dialect->slots)
        slots(a, b, out);
    if (out->have[JM_EQ_GEN_STEP] && out->have[JM_EQ_GEN_FIRST])
        out->d[JM_EQ_GEN_STEP] += out->d[JM_EQ_GEN_FIRST];
}

/* ---- histograms */

static int by_le(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The upper edges that every series has; those of others cannot be added up. */
static size_t edges(const struct jm_engine_reading *b, enum jm_eq q, int rank, double *le)
{
    size_t n = 0, most = 0, kept = 0;
    double all[4 * JM_ENGINE_BUCKETS];
    for (size_t i = 0; i < b->n; i++)
        if (counts(b, i, q, rank) && b->s[i].le != -INFINITY && n < sizeof all / sizeof all[0])
            all[n++] = b->s[i].le;
    if (n)
        qsort(all, n, sizeof *all, by_le);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0, k; i < n; i = k) {
            for (k = i; k < n && all[k] == all[i]; k++)
                ;
            if (pass == 0)
                most = k - i > most ? k - i : most;
            else if (k - i == most && kept < JM_ENGINE_BUCKETS)
                le[kept++] = all[i];
        }
    return kept;
}

bool jm_engine_hist(const struct jm_engine_reading *a, const struct jm_engine_reading *b, enum jm_eq q,
                    struct jm_engine_hist *out)
{
    int row = b->dialect && a->dialect == b->dialect && !b->excerpt && !a->excerpt ? jm_engine_row(b, q) : -1;
    *out = (struct jm_engine_hist){.sum = NAN};
    if (row < 0 || restarted(a, b))
        return false;
    int rank = b->dialect->map[row].rank;
    out->n = edges(b, q, rank, out->le);
    if (!out->n || out->le[out->n - 1] != INFINITY)
        return false;
    for (size_t i = 0; i < b->n; i++) {
        const struct jm_engine_series *s = &b->s[i];
        if (!counts(b, i, q, rank))
            continue;
        const struct jm_engine_series *before = same(a, s);
        if (before && s->le != -INFINITY && began_again(before, s))
            return false;
        double d = s->value - (before ? before->value : 0);
        if (s->le == -INFINITY) {
            out->sum = (isnan(out->sum) ? 0 : out->sum) + d;
            continue;
        }
        for (size_t k = 0; k < out->n; k++)
            if (out->le[k] == s->le)
                out->count[k] += d;
    }
    out->total = out->count[out->n - 1];
    for (size_t k = out->n; k-- > 1;) {
        out->count[k] -= out->count[k - 1];
        out->count[k] = out->count[k] > 0 ? out->count[k] : 0;
    }
    return true;
}

double jm_engine_hist_quantile(const struct jm_engine_hist *h, double q, double *lo, double *hi)
{
    double rank = q * h->total, below = 0;
    *lo = *hi = NAN;
    for (size_t k = 0; h->total > 0 && k < h->n; k++) {
        if (below + h->count[k] < rank || h->count[k] <= 0) {
            below += h->count[k];
            continue;
        }
        *lo = k ? h->le[k - 1] : h->le[0] > 0 ? 0 : NAN;
        *hi = h->le[k];
        if (!isfinite(*hi) || isnan(*lo))
            return NAN;
        return *lo + (*hi - *lo) * (rank - below) / h->count[k];
    }
    return NAN;
}
