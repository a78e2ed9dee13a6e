/* SPDX-License-Identifier: Apache-2.0 */
/* Refresh periods by observation: counters and power gauges are polled until they have moved a few times. */
#include <stdlib.h>
#include <string.h>

#include "meter/meter.h"
#include "base/banned.h"

enum { GAPS = 8, ENOUGH = 4 };

struct watch {
    bool have, moved;
    int64_t value, changed; /* last value, middle between the reads around its last change */
    int64_t seen;           /* end of the last read */
    int64_t gap[GAPS];
    size_t n;
};

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void see(struct watch *w, const struct jm_reading *r)
{
    if (r->status != JM_S_OK)
        return;
    if (w->have && r->value != w->value) {
        int64_t at = w->seen + (r->t0 - w->seen) / 2;
        if (w->moved && w->n < GAPS)
            w->gap[w->n++] = at - w->changed;
        w->moved = true;
        w->changed = at;
    }
    w->have = true;
    w->value = r->value;
    w->seen = r->t1;
}

/* Mean of the gaps near the median: two refreshes with the same value look like one long gap, and a gap that
 * polling cut short is made good by its neighbour. */
static int64_t period_of(struct watch *w)
{
    int64_t sum = 0, n = 0;
    qsort(w->gap, w->n, sizeof *w->gap, by_size);
    int64_t median = w->gap[(w->n - 1) / 2];
    for (size_t i = 0; i < w->n; i++)
        if (w->gap[i] >= median / 2 && w->gap[i] <= median + median / 2) {
            sum += w->gap[i];
            n++;
        }
    return n ? sum / n : 0;
}

static bool wanted(const struct jm_channel *c)
{
    return (c->flags & JM_CHF_EDGE) &&
           (c->kind == JM_CH_COUNTER || (c->kind == JM_CH_GAUGE && c->unit == JM_U_W));
}

/* A fast look for sources that refresh every millisecond, then a millisecond, then slower for the slow ones.
 */
static int64_t pause_after(int64_t elapsed)
{
    return elapsed < 20 * JM_NS_PER_MS     ? 200 * JM_NS_PER_US
           : elapsed < 1000 * JM_NS_PER_MS ? JM_NS_PER_MS
                                           : 10 * JM_NS_PER_MS;
}

int jm_meter_measure_periods(struct jm_meter *m, const struct jm_clock *clock, int64_t budget_ns,
                             size_t *n_moved, struct jm_err *err)
{
    size_t want = 0;
    *n_moved = 0;
    for (size_t i = 0; i < m->n_chan; i++)
        want += wanted(&m->chan[i]);
    if (want == 0 || budget_ns <= 0)
        return 0;
    struct watch *w = calloc(m->n_chan, sizeof *w);
    struct jm_reading *r = calloc(m->n_chan, sizeof *r);
    if (!w || !r) {
        free(w);
        free(r);
        return jm_err_set(err, JM_ENOMEM, "out of memory to measure the refresh periods of %s", m->ops->name);
    }
    int64_t start = jm_clock_mono(clock), now = start;
    for (size_t done = 0; done < want && now - start < budget_ns;) {
        size_t n = m->ops->read(m, clock, JM_READ_EDGE, r);
        for (size_t i = 0; i < n; i++)
            see(&w[r[i].channel], &r[i]);
        done = 0;
        for (size_t i = 0; i < m->n_chan; i++)
            done += wanted(&m->chan[i]) && w[i].n >= ENOUGH;
        now = jm_clock_mono(clock);
        jm_clock_sleep_until(clock, now + pause_after(now - start), NULL);
        now = jm_clock_mono(clock);
    }
    for (size_t i = 0; i < m->n_chan; i++) {
        struct jm_channel *c = &m->chan[i];
        /* a gauge that rests may change its last digit now and then: two gaps are the least */
        if (!wanted(c) || w[i].n < (c->kind == JM_CH_COUNTER ? 1u : 2u))
            continue;
        c->period_ns = period_of(&w[i]);
        c->period_measured = true;
        ++*n_moved;
    }
    free(w);
    free(r);
    return 0;
}
