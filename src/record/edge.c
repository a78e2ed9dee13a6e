/* SPDX-License-Identifier: Apache-2.0 */
/* Window edges. Counters refresh at their own phases (about 100 ms on today's GPUs), so a plain read is up to
 * a refresh old. All meters are polled in a burst until every counter has moved three times; then the edge is
 * set, for all at once; then polling goes on until every one has moved three times more. Its energy at the
 * common edge can then be interpolated between refreshes that are known to a millisecond. A window begins at
 * once when its edge is set, while the readers still see the refreshes after it. */
#include <stdlib.h>
#include <string.h>

#include "record/internal.h"

#include "base/banned.h"

#define SHARE_NS (5 * JM_NS_PER_MS) /* a window that begins this soon after an edge begins at it */

/* How long one side may take: four refreshes of the slowest counter, at most JM_EDGE_MAX_NS. */
static int64_t side_limit(const struct jm_recorder *r)
{
    int64_t most = 0;
    if (r->cfg.no_edge)
        return 0;
    if (r->cfg.edge_ns > 0)
        return r->cfg.edge_ns;
    for (size_t i = 0; i < r->n_reader; i++)
        for (size_t k = 0; k < r->reader[i]->n_watch; k++) {
            int64_t period = atomic_load(&r->reader[i]->watch[k].period),
                    want =
                        period > 0 && period < JM_EDGE_MAX_NS ? (JM_EDGE_MOVES + 1) * period : JM_EDGE_MAX_NS;
            most = want > most ? want : most;
        }
    return most < JM_EDGE_MAX_NS ? most : JM_EDGE_MAX_NS;
}

static bool polls_fast(const struct jm_reader *r)
{
    return r->n_watch && atomic_load(&r->fast_ok) && atomic_load(&r->alive);
}

struct before { /* how far each reader was when the edge was asked for */
    unsigned polls, *moves;
};
struct begun {
    size_t n; /* readers; one that joins later is not waited for */
    struct before v[];
};

/* Has every reader polled, and every counter moved need times since? A meter that hangs or is lost is not
 * waited for. */
static bool moved(const struct jm_recorder *r, const struct begun *from, unsigned need, int64_t now)
{
    for (size_t i = 0; i < from->n; i++) {
        const struct jm_reader *d = r->reader[i];
        int64_t busy = atomic_load(&d->busy_since);
        if (!jm_reader_healthy(d, now) || (d->m->conf && busy && now - busy > JM_WIRE_NS))
            continue;
        if (atomic_load(&d->polls) == from->v[i].polls)
            return false;
        for (size_t k = 0; k < d->n_watch; k++)
            if (polls_fast(d) && atomic_load(&d->watch[k].moves) - from->v[i].moves[k] < need)
                return false;
    }
    return true;
}

static void pass(struct jm_recorder *r, int64_t t)
{
    if (r->inline_mode)
        jm_record_advance(r, t);
    else
        jm_clock_sleep_until(&r->clock, t, NULL);
}

static void wait_moved(struct jm_recorder *r, const struct begun *from, unsigned need, int64_t limit)
{
    int64_t now = jm_clock_mono(&r->clock), end = now + limit, last = now + JM_NS_PER_S;
    for (;;) {
        now = jm_clock_mono(&r->clock);
        if (moved(r, from, need, now))
            return;
        /* the limit counts from when all have begun, which a busy machine may delay a little */
        if (now >= end && (moved(r, from, 0, now) || now >= last))
            return;
        pass(r, now + JM_POLL_NS);
    }
}

static struct begun *snapshot(const struct jm_recorder *r)
{
    size_t n = 0, m = r->n_reader;
    for (size_t i = 0; i < m; i++)
        n += r->reader[i]->n_watch;
    struct begun *b = calloc(1, sizeof *b + m * sizeof b->v[0] + n * sizeof(unsigned) + 1);
    unsigned *moves = b ? (unsigned *)(void *)(b->v + m) : NULL;
    if (b)
        b->n = m;
    for (size_t i = 0; b && i < m; i++) {
        struct jm_reader *d = r->reader[i];
        b->v[i].polls = atomic_load(&d->polls);
        b->v[i].moves = moves;
        for (size_t k = 0; k < d->n_watch; k++)
            *moves++ = atomic_load(&d->watch[k].moves);
    }
    return b;
}

/* Waits until the refreshes after the edge have been seen. */
static void wait_end(struct jm_recorder *r, int64_t end)
{
    for (;;) {
        int64_t now = jm_clock_mono(&r->clock);
        bool on = false;
        for (size_t i = 0; i < r->n_reader; i++)
            on = on || (jm_reader_healthy(r->reader[i], now) && jm_reader_in_burst(r->reader[i]));
        if (!on || now > end + JM_NS_PER_S) /* each ends by itself; a second more is for a busy machine */
            break;
        pass(r, now + JM_POLL_NS);
    }
    if (r->inline_mode)
        jm_record_advance(r, jm_clock_mono(&r->clock));
}

/* Sets *t to the time of the edge. Under edge_lock. wait: until the burst is over. */
static int edge(struct jm_recorder *r, bool wait, int64_t *t, struct jm_err *err)
{
    struct begun *from = snapshot(r);
    if (!from)
        return jm_err_set(err, JM_ENOMEM, "out of memory for a window edge");
    int64_t limit = side_limit(r);
    unsigned need = limit ? JM_EDGE_MOVES : 0;
    for (size_t i = 0; r->started && i < r->n_reader; i++)
        jm_reader_burst(r->reader[i]);
    if (r->started)
        wait_moved(r, from, need, limit);
    if (r->started)
        jm_scrape_edge(r, true);
    *t = jm_clock_mono(&r->clock);
    if (r->started)
        jm_scrape_edge(r, false);
    for (size_t i = 0; r->started && i < r->n_reader; i++)
        jm_reader_edge(r->reader[i], need, *t + limit);
    if (r->started && wait)
        wait_end(r, *t + limit);
    free(from);
    r->last_edge = *t;
    r->last_edge_end = jm_clock_mono(&r->clock);
    return 0;
}

int jm_recorder_window_begin(struct jm_recorder *r, enum jm_role role, const char *name, int trial,
                             int64_t *t0, struct jm_err *err)
{
    int rc = jm_record_error(r, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&r->edge_lock);
    int64_t t = r->last_edge;
    /* windows that follow each other share their edge: no joule and no token falls between them */
    if (!t || jm_clock_mono(&r->clock) - r->last_edge_end > SHARE_NS)
        rc = edge(r, false, &t, err);
    int id = r->n_window;
    struct jm_item *it = rc ? NULL : jm_item_new(JM_I_WINDOW_OPEN, NULL, 0, NULL, 0);
    if (it) {
        it->window = (struct jm_window){.id = id, .trial = trial, .role = role, .t0 = t};
        size_t len = name ? strnlen(name, sizeof it->window.name - 1) : 0;
        if (len)
            memcpy(it->window.name, name, len);
        rc = jm_record_push(r, it);
        if (rc)
            jm_err_set(err, rc, "the window %s cannot be recorded: the recorder has ended", name ? name : "");
    } else if (!rc) {
        rc = jm_err_set(err, JM_ENOMEM, "out of memory for a window");
    }
    if (!rc) {
        r->n_window++;
        if (t0)
            *t0 = t;
    }
    pthread_mutex_unlock(&r->edge_lock);
    return rc ? rc : id;
}

int jm_recorder_window_end(struct jm_recorder *r, int id, int64_t *t1, struct jm_err *err)
{
    pthread_mutex_lock(&r->edge_lock);
    int64_t t = 0;
    int rc = id >= 0 && id < r->n_window ? 0 : jm_err_set(err, JM_EINVAL, "there is no window %d to end", id);
    if (!rc)
        rc = edge(r, true, &t, err);
    struct jm_item *it = rc ? NULL : jm_item_new(JM_I_WINDOW_CLOSE, NULL, 0, NULL, 0);
    if (it) {
        it->id = id;
        it->t1 = t;
        rc = jm_record_push(r, it);
        if (rc && !jm_record_error(r, err))
            jm_err_set(err, rc, "the end of window %d cannot be recorded: the recorder has ended", id);
    } else if (!rc) {
        rc = jm_err_set(err, JM_ENOMEM, "out of memory for a window");
    }
    if (!rc && t1)
        *t1 = t;
    pthread_mutex_unlock(&r->edge_lock);
    return rc;
}
