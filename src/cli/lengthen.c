/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/lengthen.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/calc.h"
#include "compute/observe.h"
#include "model/bound.h"

#include "base/banned.h"

#define KEEP    768 /* readings at the beginning, and of the latest */
#define HEAD_NS (5 * JM_NS_PER_S)

struct watched {
    struct jm_channel c;
    struct jm_reading head[KEEP], ring[KEEP];
    size_t n_head, n_ring, at; /* at: where the next one goes */
    struct jm_reading first, last;
    bool has;      /* first and last are of the window */
    double joules; /* of a gauge, since the window began */
};

struct jm_lengthen {
    pthread_mutex_t lock;
    struct watched **by; /* of each channel, NULL: not watched */
    size_t n;
    int64_t t0; /* 0: no window */
};

int jm_lengthen_new(struct jm_lengthen **out, struct jm_err *err)
{
    struct jm_lengthen *l = calloc(1, sizeof *l);
    if (!l)
        return jm_err_set(err, JM_ENOMEM, "out of memory for --window-max");
    pthread_mutex_init(&l->lock, NULL);
    *out = l;
    return 0;
}

void jm_lengthen_free(struct jm_lengthen *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n; i++)
        free(l->by[i]);
    free(l->by);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

int jm_lengthen_channels(struct jm_lengthen *l, const struct jm_channel *c, size_t n, struct jm_err *err)
{
    struct watched **by = calloc(n + 1, sizeof(struct watched *));
    int rc = by ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory for --window-max");
    for (size_t i = 0; !rc && i < n; i++) {
        if (!jm_energy_channel(&c[i]) || (c[i].flags & (JM_CHF_MIRROR | JM_CHF_PARTOF | JM_CHF_ON_REQUEST)) ||
            c[i].domain < 0)
            continue;
        by[i] = calloc(1, sizeof *by[i]);
        if (by[i])
            by[i]->c = c[i];
        else
            rc = jm_err_set(err, JM_ENOMEM, "out of memory for --window-max");
    }
    pthread_mutex_lock(&l->lock);
    l->by = by;
    l->n = by ? n : 0;
    pthread_mutex_unlock(&l->lock);
    return rc;
}

static void count(struct watched *w, const struct jm_reading *r)
{
    if (r->status != JM_S_OK)
        return;
    if (!w->has)
        w->first = *r;
    else if (w->c.kind == JM_CH_GAUGE)
        w->joules += 0.5 * (jm_channel_value(&w->c, r->value) + jm_channel_value(&w->c, w->last.value)) *
                     jm_seconds_between(r->t0, w->last.t0);
    w->last = *r;
    w->has = true;
}

static void keep_head(struct watched *w, const struct jm_reading *r, int64_t t0)
{
    if (w->n_head < KEEP && r->t0 < t0 + HEAD_NS && (!w->n_head || r->t0 > w->head[w->n_head - 1].t0))
        w->head[w->n_head++] = *r;
}

void jm_lengthen_tap(void *self, const struct jm_reading *r, size_t n)
{
    struct jm_lengthen *l = self;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < n; i++) {
        struct watched *w = r[i].channel < l->n ? l->by[r[i].channel] : NULL;
        if (!w)
            continue;
        w->ring[w->at] = r[i];
        w->at = (w->at + 1) % KEEP;
        w->n_ring += w->n_ring < KEEP;
        if (l->t0 && r[i].t1 >= l->t0) {
            keep_head(w, &r[i], l->t0);
            count(w, &r[i]);
        }
    }
    pthread_mutex_unlock(&l->lock);
}

static const struct jm_reading *ring_at(const struct watched *w, size_t i)
{
    return &w->ring[(w->at + KEEP - w->n_ring + i) % KEEP];
}

void jm_lengthen_begin(struct jm_lengthen *l, int64_t t0)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->t0 = t0;
    for (size_t k = 0; k < l->n; k++) {
        struct watched *w = l->by[k];
        if (!w)
            continue;
        w->n_head = 0;
        w->has = false;
        w->joules = 0;
        size_t from = 0;
        while (from < w->n_ring && ring_at(w, from)->t1 < t0 - HEAD_NS)
            from++;
        /* room for as many after the edge */
        from = w->n_ring - from > KEEP / 2 ? w->n_ring - KEEP / 2 : from;
        for (; from < w->n_ring; from++) {
            keep_head(w, ring_at(w, from), t0);
            if (ring_at(w, from)->t1 >= t0)
                count(w, ring_at(w, from));
        }
    }
    pthread_mutex_unlock(&l->lock);
}

static double needs(const struct watched *w, int64_t t0, double tolerance, struct jm_reading *room)
{
    size_t n = w->n_head;
    memcpy(room, w->head, n * sizeof *room);
    for (size_t i = 0; i < w->n_ring; i++)
        if (!n || ring_at(w, i)->t0 > room[n - 1].t0)
            room[n++] = *ring_at(w, i);
    double s = w->has ? jm_seconds_between(w->last.t0, w->first.t0) : 0;
    if (n < 4 || !(s > 0))
        return NAN;
    double j = w->c.kind == JM_CH_GAUGE
                   ? w->joules
                   : jm_channel_value(&w->c, w->last.value) - jm_channel_value(&w->c, w->first.value);
    struct jm_energy e = {.status = JM_S_OK, .joules = j, .gain_bound = w->c.gain_tol * j};
    if (isfinite(w->c.offset_tol))
        e.gain_bound += w->c.offset_tol * s;
    struct jm_bound b, end;
    /* the end that would be made now, with what the power does there, but polled as the beginning was */
    int64_t t1 = room[n - 2].t1 + (room[n - 1].t0 - room[n - 2].t1) / 2;
    jm_energy_bound(&w->c, room, n, t0, t0, 0, &e, &b);
    jm_energy_bound(&w->c, room, n, t1, t1, 0, &e, &end);
    if (end.delta_s[0] > 0)
        b.edges = b.edges / 2 + b.delta_s[0] * end.edges / (2 * end.delta_s[0]);
    b.total = b.edges + b.quantum + b.accuracy;
    return jm_bound_needs(&b, j, s, tolerance);
}

double jm_lengthen_needs(struct jm_lengthen *l, double tolerance, char *who, size_t cap)
{
    struct jm_reading *room = malloc(2 * KEEP * sizeof *room);
    double most = NAN;
    who[0] = '\0';
    if (!room)
        return NAN;
    pthread_mutex_lock(&l->lock);
    double *each = calloc(l->n + 1, sizeof *each);
    for (size_t i = 0; each && l->t0 && i < l->n; i++)
        each[i] = l->by[i] ? needs(l->by[i], l->t0, tolerance, room) : NAN;
    for (size_t i = 0; each && l->t0 && i < l->n; i++) {
        const struct watched *w = l->by[i];
        double least = each[i];
        bool counter = w && w->c.kind == JM_CH_COUNTER, other = false;
        for (size_t k = 0; w && k < l->n; k++) {
            /* of instruments of one domain the counter is taken, of several gauges the best */
            if (!l->by[k] || l->by[k]->c.domain != w->c.domain || isnan(each[k]))
                continue;
            bool c = l->by[k]->c.kind == JM_CH_COUNTER;
            other = other || (c && !counter);
            least = c == counter ? fmin(least, each[k]) : least;
        }
        if (!w || other || isnan(least) || !(isnan(most) || least > most))
            continue;
        most = least;
        snprintf(who, cap, "%.40s of %.60s", w->c.name, w->c.device);
    }
    pthread_mutex_unlock(&l->lock);
    free(each);
    free(room);
    return most;
}
