/* SPDX-License-Identifier: Apache-2.0 */
/* A meter and the thread that reads it: absolute timer, own rate, own deadline. Nobody waits for a read: a
 * meter that hangs delays only itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "record/internal.h"

#include "base/banned.h"

#define FINE_SHARE  5                    /* readings in a refresh period */
#define FINE_REMOTE (200 * JM_NS_PER_MS) /* least distance of what goes over a network */

/* When an instrument refreshed is known to the distance of its readings: at its usual pace that is a period,
 * beside steps of load it must be a part of one. A BMC's IPMI does not bear it (sentinels, refusals). */
static int64_t fine_period(const struct jm_reader *r)
{
    const struct jm_meter *m = r->m;
    int64_t least = 0;
    for (size_t i = 0; i < m->n_chan; i++)
        if ((m->chan[i].unit == JM_U_W || m->chan[i].unit == JM_U_J) && m->chan[i].period_ns > 0 &&
            (!least || m->chan[i].period_ns < least))
            least = m->chan[i].period_ns;
    if (!least || strcmp(m->ops->name, "ipmi") == 0)
        return 0;
    least /= FINE_SHARE;
    if (m->conf && least < FINE_REMOTE)
        least = FINE_REMOTE;
    return least < r->period ? least : 0;
}

int jm_reader_new(struct jm_recorder *rec, struct jm_meter *m, int meter, uint32_t base,
                  struct jm_replies *replies, struct jm_reader **out, struct jm_err *err)
{
    struct jm_reader *r = calloc(1, sizeof *r);
    if (!r)
        goto none;
    *r = (struct jm_reader){.rec = rec, .m = m, .clock = rec->clock, .meter = meter, .base = base};
    /* a rate asked for is meant for the sensors of this host; an instrument at the end of a wire has its own
     */
    r->period = rec->cfg.period_ns > 0 && !m->conf ? rec->cfg.period_ns
                : m->period_ns > 0                 ? m->period_ns
                                                   : 100 * JM_NS_PER_MS;
    if (m->max_period_ns > 0 && r->period > m->max_period_ns) /* a slower one could miss a wrap */
        r->period = m->max_period_ns;
    r->fine_period = fine_period(r);
    r->deadline = m->deadline_ns > 0 ? m->deadline_ns : JM_NS_PER_S;
    snprintf(r->name, sizeof r->name, "%s", m->conf ? m->conf->name : m->ops->name);
    atomic_init(&r->refs, 1);
    atomic_init(&r->alive, true);
    atomic_init(&r->fast_ok, true);
    r->buf = calloc(m->n_chan ? m->n_chan : 1, sizeof *r->buf);
    for (size_t i = 0; i < m->n_chan && !m->conf; i++) /* nor is it polled in bursts */
        r->n_watch += m->chan[i].kind == JM_CH_COUNTER && (m->chan[i].flags & JM_CHF_EDGE);
    r->watch = calloc(r->n_watch ? r->n_watch : 1, sizeof *r->watch);
    if (!r->buf || !r->watch)
        goto none;
    size_t k = 0;
    for (size_t i = 0; i < m->n_chan && !m->conf; i++)
        if (m->chan[i].kind == JM_CH_COUNTER && (m->chan[i].flags & JM_CHF_EDGE)) {
            r->watch[k].chan = i;
            atomic_init(&r->watch[k++].period, m->chan[i].period_ns);
        }
    /* two seconds of a burst, and a minute of waiting for a slow disk at 10 Hz would be more than is kept */
    if (!rec->inline_mode && !jm_ring_init(&r->ring, 2000 * r->n_watch + 64 * m->n_chan))
        goto none;
    pthread_condattr_t mono;
    pthread_condattr_init(&mono);
    pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->wake, &mono);
    pthread_cond_init(&r->done, &mono);
    pthread_condattr_destroy(&mono);
    if (replies) {
        r->replies = jm_replies_ref(replies);
        m->raw = &r->replies->sink;
    }
    if (m->conf) {
        r->env = rec->cfg.env;
        r->retry = JM_RETRY_NS;
    }
    *out = r;
    return 0;
none:
    if (r) {
        free(r->buf);
        free(r->watch);
        free(r);
    }
    return jm_err_set(err, JM_ENOMEM, "out of memory for the meter %s", m->ops->name);
}

const char *jm_reader_name(const struct jm_reader *r)
{
    return r->name;
}

void jm_reader_unref(struct jm_reader *r)
{
    if (!r || atomic_fetch_sub(&r->refs, 1) > 1)
        return;
    if (r->m)
        r->m->ops->close(r->m);
    jm_replies_unref(r->replies);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->wake);
    pthread_cond_destroy(&r->done);
    free(r->ring.v);
    free(r->buf);
    free(r->watch);
    free(r);
}

static void watch(struct jm_reader *r, const struct jm_reading *v, size_t n)
{
    size_t k = 0; /* readings come in order of channels, and so do the watched */
    for (size_t i = 0; i < n; i++) {
        while (k < r->n_watch && r->watch[k].chan < v[i].channel)
            k++;
        if (k == r->n_watch)
            return;
        struct jm_counter_watch *w = &r->watch[k];
        if (w->chan != v[i].channel || v[i].status != JM_S_OK)
            continue;
        if (w->seen && w->value != v[i].value)
            atomic_fetch_add(&w->moves, 1);
        w->seen = true;
        w->value = v[i].value;
    }
}

static void mark_anew(struct jm_reader *r, struct jm_reading *v, size_t n)
{
    if (!r->anew || !r->m->alive)
        return;
    for (size_t i = 0; i < n; i++)
        if (r->m->chan[v[i].channel].kind == JM_CH_COUNTER && v[i].status == JM_S_OK)
            v[i].status = JM_S_RESET;
    r->anew = false;
}

size_t jm_reader_read(struct jm_reader *r, enum jm_read_set set, uint8_t flag)
{
    int64_t begin = jm_clock_mono(&r->clock);
    atomic_store(&r->busy_since, begin > 0 ? begin : 1);
    size_t n = r->m->ops->read(r->m, &r->clock, set, r->buf);
    int64_t end = jm_clock_mono(&r->clock);
    atomic_store(&r->busy_since, 0);
    atomic_store(&r->last_read, end);
    atomic_store(&r->alive, r->m->alive);
    if (end - begin > r->deadline)
        atomic_fetch_add(&r->late, 1);
    if (end - begin > r->slowest)
        r->slowest = end - begin;
    if (n > r->m->n_chan)
        n = r->m->n_chan;
    mark_anew(r, r->buf, n);
    if (r->in_burst || flag & JM_RF_PROBE)
        watch(r, r->buf, n);
    for (size_t i = 0; i < n; i++) {
        r->buf[i].channel += r->base;
        r->buf[i].flags |= flag;
    }
    atomic_fetch_add(&r->readings, n);
    /* under the lock, because the recorder goes away once it has given a hanging meter up */
    pthread_mutex_lock(&r->lock);
    if (!r->abandoned && !r->threaded) {
        jm_record_take(r->rec, r->buf, n);
    } else if (!r->abandoned) {
        size_t k = jm_ring_push(&r->ring, r->buf, n);
        atomic_fetch_add(&r->dropped, n - k);
        if (jm_ring_used(&r->ring) > r->ring.mask / 2)
            jm_record_wake(r->rec);
    }
    pthread_mutex_unlock(&r->lock);
    for (size_t i = 0; i < n; i++) /* as the meter gave it: callers look at it */
        r->buf[i].channel -= r->base;
    return n;
}

/* A configured instrument that was lost is opened again, more rarely the longer it is away. Its counters may
 * have begun anew: their first readings say so. */
static void revive(struct jm_reader *r, int64_t now)
{
    struct jm_err why = {0};
    if (!r->m->conf || r->m->alive || now < r->retry_at)
        return;
    if (r->retry_at) {
        atomic_store(&r->busy_since, now > 0 ? now : 1);
        r->env.opening = &r->replies->sink;
        int rc = jm_instrument_reopen(&r->env, r->m, &why);
        atomic_store(&r->busy_since, 0);
        now = jm_clock_mono(&r->clock);
        r->anew = !rc;
        if (rc == JM_EDENIED || rc == JM_ECONFLICT) { /* asking again would not change that */
            jm_logf(r->env.log, JM_LOG_WARN, "record", "%s", why.text);
            r->retry_at = INT64_MAX;
            return;
        }
        r->retry = rc ? 2 * r->retry : JM_RETRY_NS;
        r->retry = r->retry < JM_RETRY_MOST ? r->retry : JM_RETRY_MOST;
        if (!rc) {
            r->retry_at = 0;
            return;
        }
    }
    r->retry_at = now + r->retry;
}

static void poll_burst(struct jm_reader *r, int64_t now)
{
    int64_t begin = now;
    if (r->n_watch && atomic_load(&r->fast_ok))
        jm_reader_read(r, JM_READ_COUNTER, JM_RF_EDGE);
    atomic_fetch_add(&r->polls, 1);
    int64_t end = jm_clock_mono(&r->clock), spacing = JM_POLL_NS;
    /* never more than half the time in reads: a slow meter is polled more coarsely */
    if (2 * (end - begin) > spacing)
        spacing = 2 * (end - begin);
    r->next_poll = r->next_poll + spacing > end ? r->next_poll + spacing : end + spacing / 2;
}

/* After the edge a reader ends the burst by itself: nobody has to wait for the last refreshes. */
static void end_burst(struct jm_reader *r, int64_t now)
{
    pthread_mutex_lock(&r->lock);
    bool done = r->after;
    for (size_t i = 0;
         done && i < r->n_watch && now < r->burst_end && atomic_load(&r->fast_ok) && r->m->alive; i++)
        done = atomic_load(&r->watch[i].moves) - r->watch[i].at_edge >= r->need;
    if (done)
        r->burst = r->after = false;
    pthread_mutex_unlock(&r->lock);
}

void jm_reader_answer(struct jm_reader *r)
{
    pthread_mutex_lock(&r->lock);
    struct jm_find *f = r->find;
    r->find = NULL;
    pthread_mutex_unlock(&r->lock);
    if (!f)
        return;
    f->rc = r->m->ops->find_process ? r->m->ops->find_process(r->m, f->pids, f->n_pids, f->used, f->n_devices)
                                    : JM_EUNSUPPORTED;
    pthread_mutex_lock(&r->lock);
    f->finished = true;
    bool given_up = f->given_up;
    pthread_cond_broadcast(&r->done);
    pthread_mutex_unlock(&r->lock);
    if (given_up)
        jm_find_free(f);
}

int64_t jm_reader_due(struct jm_reader *r)
{
    pthread_mutex_lock(&r->lock);
    bool at_once = r->burst != r->in_burst || r->find;
    pthread_mutex_unlock(&r->lock);
    if (at_once)
        return INT64_MIN;
    return r->in_burst && r->next_poll < r->next ? r->next_poll : r->next;
}

int64_t jm_reader_step(struct jm_reader *r, int64_t now)
{
    jm_reader_answer(r);
    pthread_mutex_lock(&r->lock);
    bool burst = r->burst;
    pthread_mutex_unlock(&r->lock);
    if (burst && !r->in_burst) {
        for (size_t i = 0; i < r->n_watch; i++)
            r->watch[i].seen = false; /* what changed since the last burst is no refresh seen in this one */
        r->in_burst = true;
        r->next_poll = now;
        jm_reader_read(r, JM_READ_EDGE, JM_RF_EDGE); /* gauges stand right at the burst's ends */
    } else if (!burst && r->in_burst) {
        jm_reader_read(r, JM_READ_EDGE, JM_RF_EDGE);
        r->in_burst = false;
    }
    now = jm_clock_mono(&r->clock);
    if (r->in_burst && now >= r->next_poll) {
        poll_burst(r, now);
        end_burst(r, jm_clock_mono(&r->clock));
    }
    if (now >= r->next) {
        revive(r, now);
        jm_reader_read(r, JM_READ_ALL, r->in_burst ? JM_RF_EDGE : 0);
        int64_t period = r->fine_period && atomic_load(&r->fine) ? r->fine_period : r->period;
        r->next += period;
        now = jm_clock_mono(&r->clock);
        if (r->next <= now) { /* slots that went by are not made up for: the next one on the same grid */
            int64_t missed = (now - r->next) / period + 1;
            atomic_fetch_add(&r->late, (unsigned long long)missed);
            r->next += missed * period;
        }
    }
    return jm_reader_due(r);
}

static void *reader_main(void *self)
{
    struct jm_reader *r = self;
    jm_selftest(r);
    atomic_store(&r->ready, true);
    int64_t due = r->next = jm_clock_mono(&r->clock);
    for (;;) {
        pthread_mutex_lock(&r->lock);
        while (!r->stop && r->burst == r->in_burst && !r->find && jm_clock_mono(&r->clock) < due) {
            struct timespec ts = {due / JM_NS_PER_S, due % JM_NS_PER_S};
            pthread_cond_timedwait(&r->wake, &r->lock, &ts);
        }
        bool stop = r->stop;
        pthread_mutex_unlock(&r->lock);
        if (stop)
            break;
        due = jm_reader_step(r, jm_clock_mono(&r->clock));
    }
    atomic_store(&r->ended, true);
    pthread_mutex_lock(&r->lock);
    while (!r->may_close)
        pthread_cond_wait(&r->wake, &r->lock);
    pthread_mutex_unlock(&r->lock);
    r->m->ops->close(r->m);
    r->m = NULL;
    atomic_store(&r->closed, true);
    jm_reader_unref(r);
    return NULL;
}

int jm_reader_spawn(struct jm_reader *r, struct jm_err *err)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 512 << 10);
    r->threaded = true;
    atomic_fetch_add(&r->refs, 1);
    int e = pthread_create(&r->thread, &attr, reader_main, r);
    pthread_attr_destroy(&attr);
    if (e) {
        r->threaded = false;
        atomic_fetch_sub(&r->refs, 1);
        return jm_err_sys(err, e, "cannot start the thread that reads %s", jm_reader_name(r));
    }
    r->started = true;
    return 0;
}

void jm_reader_burst(struct jm_reader *r)
{
    pthread_mutex_lock(&r->lock);
    r->burst = true;
    r->after = false;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
}

void jm_reader_edge(struct jm_reader *r, unsigned need, int64_t end)
{
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n_watch; i++)
        r->watch[i].at_edge = atomic_load(&r->watch[i].moves);
    r->after = true;
    r->need = need;
    r->burst_end = end;
    pthread_mutex_unlock(&r->lock);
}

bool jm_reader_in_burst(struct jm_reader *r)
{
    pthread_mutex_lock(&r->lock);
    bool on = r->burst;
    pthread_mutex_unlock(&r->lock);
    return on;
}

void jm_reader_stop(struct jm_reader *r)
{
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
}

bool jm_reader_healthy(const struct jm_reader *r, int64_t now)
{
    int64_t since = atomic_load(&r->busy_since);
    return !since || now - since <= r->deadline;
}
