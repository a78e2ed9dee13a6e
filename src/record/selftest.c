/* SPDX-License-Identifier: Apache-2.0 */
/* Does reading fast change what is read? Blocks of fast polling and of silence alternate; a counter whose
 * rate differs between them each time, beyond what the load does, is not polled fast. Fast blocks also give
 * the refresh period.
 *
 * Energy in silence is bracketed by the refreshes that the fast blocks around it saw, so both rates are known
 * to about one poll in a refresh period. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/internal.h"

#include "base/banned.h"

enum { FAST = 3, SLOW = FAST - 1 };
#define RATE_TOL   0.10 /* fast and slow rates that differ by less are the same */
#define UNSTEADY   0.25 /* spread of rates of one kind above which nothing can be said from one round */
#define SPAN_NS    (50 * JM_NS_PER_MS)  /* least length of a fast block: one poll is 2 % of it */
#define REFRESHES  3                    /* in a fast block */
#define PERIOD_MAX (250 * JM_NS_PER_MS) /* slower counters are not worth bursts of half a second */

struct seen { /* of one counter in one fast block */
    int64_t first_t, last_t;
    double first_j, last_j;
    unsigned n;
};

struct trace {
    struct seen block[FAST];
    int64_t last_refresh, gap[64]; /* between refreshes, ns */
    unsigned n_gap;
    int64_t value, before_t;
    bool has;
};

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void look(struct trace *t, int block, const struct jm_channel *c, const struct jm_reading *v)
{
    int64_t mid = v->t0 / 2 + v->t1 / 2;
    if (v->status != JM_S_OK)
        return;
    if (t->has && v->value != t->value) {
        struct seen *s = &t->block[block];
        int64_t when = t->before_t / 2 + mid / 2; /* between the last poll with the old value and this one */
        double j = jm_channel_value(c, v->value);
        if (!s->n++) {
            s->first_t = when;
            s->first_j = j;
        } else if (t->n_gap < 64) {
            t->gap[t->n_gap++] = when - t->last_refresh;
        }
        s->last_t = t->last_refresh = when;
        s->last_j = j;
    }
    t->has = true;
    t->value = v->value;
    t->before_t = mid;
}

static bool fast_block(struct jm_reader *r, struct trace *t, int block, int64_t limit)
{
    int64_t due = jm_clock_mono(&r->clock), end = due + limit;
    for (size_t k = 0; k < r->n_watch; k++)
        t[k].has = false;
    for (;;) {
        int64_t begin = jm_clock_mono(&r->clock);
        size_t n = jm_reader_read(r, JM_READ_COUNTER, JM_RF_PROBE), k = 0;
        for (size_t i = 0; i < n; i++) {
            while (k < r->n_watch && r->watch[k].chan < r->buf[i].channel)
                k++;
            if (k < r->n_watch && r->watch[k].chan == r->buf[i].channel)
                look(&t[k], block, &r->m->chan[r->watch[k].chan], &r->buf[i]);
        }
        int64_t now = jm_clock_mono(&r->clock);
        bool done = true;
        for (k = 0; k < r->n_watch; k++)
            done = done && t[k].block[block].n >= REFRESHES &&
                   t[k].block[block].last_t - t[k].block[block].first_t >= SPAN_NS;
        pthread_mutex_lock(&r->lock);
        bool stop = r->stop;
        pthread_mutex_unlock(&r->lock);
        if (stop)
            return false;
        if (done || now >= end)
            return true;
        due += JM_POLL_NS > 2 * (now - begin) ? JM_POLL_NS : 2 * (now - begin);
        due = due > now ? due : now + JM_POLL_NS;
        jm_clock_sleep_until(&r->clock, due, NULL);
    }
}

enum verdict { SAME, DIFFERENT, NO_MOVEMENT };

static double rate(double j0, double j1, int64_t t0, int64_t t1)
{
    return t1 > t0 ? (j1 - j0) / ((double)(t1 - t0) / 1e9) : NAN;
}

/* ratio: fast over slow. */
static enum verdict judge(const struct trace *t, double *ratio, bool *unsteady)
{
    double fast[FAST], slow[SLOW], sum_f = 0, sum_s = 0;
    double lo_f = INFINITY, hi_f = -INFINITY, lo_s = INFINITY, hi_s = -INFINITY;
    for (int i = 0; i < FAST; i++) {
        const struct seen *s = &t->block[i];
        if (s->n < 2)
            return NO_MOVEMENT;
        fast[i] = rate(s->first_j, s->last_j, s->first_t, s->last_t);
        sum_f += fast[i];
        lo_f = fmin(lo_f, fast[i]);
        hi_f = fmax(hi_f, fast[i]);
    }
    for (int i = 0; i < SLOW; i++) {
        slow[i] =
            rate(t->block[i].last_j, t->block[i + 1].first_j, t->block[i].last_t, t->block[i + 1].first_t);
        sum_s += slow[i];
        lo_s = fmin(lo_s, slow[i]);
        hi_s = fmax(hi_s, slow[i]);
    }
    double f = sum_f / FAST, s = sum_s / SLOW;
    if (!(f >= 0) || !(s >= 0) || (f == 0 && s == 0))
        return NO_MOVEMENT; /* a reset inside: the window's own checks see it */
    *ratio = s > 0 ? f / s : INFINITY;
    *unsteady = hi_f - lo_f > UNSTEADY * f || hi_s - lo_s > UNSTEADY * s;
    bool apart = lo_f > hi_s || hi_f < lo_s;
    return apart && fabs(*ratio - 1) > RATE_TOL ? DIFFERENT : SAME;
}

static void keep_period(struct jm_reader *r, size_t k, struct trace *t)
{
    if (t->n_gap < 2)
        return;
    qsort(t->gap, t->n_gap, sizeof *t->gap, by_size);
    int64_t period = t->gap[t->n_gap / 2];
    if (period < 4 * JM_POLL_NS)
        return; /* as fast as the polling: not resolved */
    atomic_store(&r->watch[k].period, period);
    r->watch[k].found = true;
}

/* Returns how many counters differ; worst: the one that does most. */
static size_t round_of(struct jm_reader *r, struct trace *t, int64_t period, double *worst, bool *unsteady,
                       size_t *moved)
{
    memset(t, 0, r->n_watch * sizeof *t);
    for (int i = 0; i < FAST; i++) {
        if (i)
            jm_clock_sleep_until(&r->clock, jm_clock_mono(&r->clock) + 2 * period, NULL);
        if (!fast_block(r, t, i, (REFRESHES + 1) * period + 5 * JM_NS_PER_MS))
            return 0;
    }
    size_t bad = 0;
    *worst = 1;
    *moved = 0;
    for (size_t k = 0; k < r->n_watch; k++) {
        double ratio = 1;
        enum verdict v = judge(&t[k], &ratio, unsteady);
        *moved += v != NO_MOVEMENT;
        if (v == DIFFERENT) {
            bad++;
            if (fabs(ratio - 1) > fabs(*worst - 1))
                *worst = ratio;
        }
        keep_period(r, k, &t[k]);
    }
    return bad;
}

void jm_selftest(struct jm_reader *r)
{
    if (!r->n_watch || r->tested || r->rec->cfg.no_edge)
        return;
    if (r->rec->cfg.no_selftest) {
        snprintf(r->selftest, sizeof r->selftest, "not run");
        return;
    }
    int64_t period = 0;
    for (size_t k = 0; k < r->n_watch; k++) {
        int64_t p = atomic_load(&r->watch[k].period);
        p = p > 0 ? p : 100 * JM_NS_PER_MS;
        period = p > period ? p : period;
    }
    if (period > PERIOD_MAX) {
        snprintf(r->selftest, sizeof r->selftest, "not run: refreshes only every %.3g s",
                 (double)period / 1e9);
        return;
    }
    if (period < 20 * JM_NS_PER_MS)
        period = 20 * JM_NS_PER_MS;
    struct trace *t = calloc(r->n_watch, sizeof *t);
    if (!t)
        return;
    double worst = 1;
    bool unsteady = false;
    size_t moved = 0, bad = round_of(r, t, period, &worst, &unsteady, &moved);
    if (bad) /* the load can look like this once; twice in the same direction it does not */
    {
        double again = 1;
        size_t bad2 = round_of(r, t, period, &again, &unsteady, &moved);
        bad = bad2 && (again > 1) == (worst > 1) ? bad2 : 0;
        worst = again;
    }
    free(t);
    atomic_store(&r->fast_ok, !bad);
    r->lasting = !bad && moved == r->n_watch && !unsteady; /* what failed gets another chance next time */
    if (bad)
        snprintf(
            r->selftest, sizeof r->selftest,
            "failed: polled fast, %zu of %zu counters run %.3g times as fast; their edges are plain reads",
            bad, r->n_watch, worst);
    else if (!moved)
        snprintf(r->selftest, sizeof r->selftest, "no counter moved");
    else
        snprintf(r->selftest, sizeof r->selftest, "passed: %zu of %zu counters moved%s", moved, r->n_watch,
                 unsteady ? ", the load was unsteady" : "");
}
