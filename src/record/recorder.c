/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "record/internal.h"

#include "base/banned.h"

static void free_recorder(struct jm_recorder *r)
{
    jm_scrape_free(r);
    for (size_t i = 0; i < r->n_reader; i++)
        jm_reader_unref(r->reader[i]);
    free(r->reader);
    jm_record_free_wires(r);
    free(r->chan);
    free(r->live);
    for (struct jm_item *it = r->head, *next; it; it = next) {
        next = it->next;
        free(it);
    }
    if (r->wake_fd >= 0)
        close(r->wake_fd);
    jm_domain_tree_release(&r->tree);
    jm_str_release(&r->why);
    pthread_mutex_destroy(&r->lock);
    pthread_mutex_destroy(&r->edge_lock);
    pthread_mutex_destroy(&r->live_lock);
    pthread_mutex_destroy(&r->late_lock);
    pthread_cond_destroy(&r->room);
    free(r);
}

int jm_recorder_new(const struct jm_record_cfg *cfg, struct jm_recorder **out, struct jm_err *err)
{
    struct jm_recorder *r = calloc(1, sizeof *r);
    if (!r)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the recorder");
    r->cfg = *cfg;
    r->clock = cfg->clock.ops ? cfg->clock : jm_clock_system();
    r->inline_mode = cfg->inline_threads || r->clock.ops != jm_clock_system().ops;
    r->cfg.env.clock = r->clock;
    if (!r->cfg.pair_ns)
        r->cfg.pair_ns = JM_NS_PER_S;
    r->tail = &r->head;
    r->wake_fd = r->mark_fd = -1;
    jm_domain_tree_init(&r->tree);
    jm_str_init(&r->why);
    pthread_mutex_init(&r->lock, NULL);
    pthread_mutex_init(&r->edge_lock, NULL);
    pthread_mutex_init(&r->live_lock, NULL);
    pthread_mutex_init(&r->late_lock, NULL);
    pthread_cond_init(&r->room, NULL);
    struct jm_run_create c = cfg->create;
    if (!c.kind)
        c.kind = "recorded";
    int rc = jm_run_create(cfg->path, &c, &r->w, err);
    if (!rc)
        rc = jm_record_open_meters(r, err);
    if (!rc) {
        r->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (r->wake_fd < 0)
            rc = jm_err_set(err, JM_ENOMEM, "out of memory for the recorder");
    }
    if (!rc && cfg->mark_socket)
        rc = jm_record_marks_open(r, err);
    if (!rc) {
        jm_record_host(r);
        jm_record_pairs(r, jm_clock_mono(&r->clock));
        rc = jm_run_flush(r->w, jm_clock_mono(&r->clock), true, err);
    }
    if (rc) {
        bool made = r->w;
        jm_run_abandon(r->w);
        if (made) /* nothing is in it, and its name is wanted for the next try */
            jm_run_remove(cfg->path, NULL);
        jm_record_marks_close(r);
        free_recorder(r);
        return rc;
    }
    *out = r;
    return 0;
}

size_t jm_recorder_channels(struct jm_recorder *r)
{
    pthread_mutex_lock(&r->live_lock);
    size_t n = r->n_chan;
    pthread_mutex_unlock(&r->live_lock);
    return n;
}

void jm_recorder_fine(struct jm_recorder *r, bool on)
{
    pthread_mutex_lock(&r->live_lock); /* one that is opened late may be added meanwhile */
    for (size_t i = 0; i < r->n_reader; i++)
        atomic_store(&r->reader[i]->fine, on);
    pthread_mutex_unlock(&r->live_lock);
}

const struct jm_channel *jm_recorder_channel_list(const struct jm_recorder *r)
{
    return r->chan;
}

int64_t jm_recorder_slowest(struct jm_recorder *r)
{
    int64_t slow = 0;
    pthread_mutex_lock(&r->live_lock);
    for (size_t i = 0; i < r->n_chan; i++) {
        const struct jm_channel *c = &r->chan[i];
        if (c->unit != JM_U_J && (c->unit != JM_U_W || strstr(c->name, "limit")))
            continue;
        slow = c->period_ns > slow ? c->period_ns : slow;
        slow = c->window_ns > slow ? c->window_ns : slow;
    }
    pthread_mutex_unlock(&r->live_lock);
    return slow;
}

const char *jm_recorder_why(const struct jm_recorder *r)
{
    return r->why.buf;
}

void jm_record_wake(struct jm_recorder *r)
{
    uint64_t one = 1;
    if (r->wake_fd >= 0 && write(r->wake_fd, &one, sizeof one) != (ssize_t)sizeof one)
        return; /* full: it will wake anyway */
}

void jm_record_take(struct jm_recorder *r, const struct jm_reading *v, size_t n)
{
    pthread_mutex_lock(&r->live_lock);
    for (size_t i = 0; i < n; i++) {
        struct jm_live_channel *l = &r->live[v[i].channel];
        if (l->has_last && l->last.status == JM_S_OK &&
            (!l->has_before || v[i].t0 - l->before.t0 > 2 * JM_NS_PER_S)) {
            l->before = l->last;
            l->has_before = true;
        }
        l->last = v[i];
        l->has_last = true;
    }
    pthread_mutex_unlock(&r->live_lock);
    if (r->cfg.tap)
        r->cfg.tap(r->cfg.tap_self, v, n);
    struct jm_err e = {0};
    if (jm_record_error(r, NULL))
        return;
    if (jm_run_put_readings(r->w, v, n, &e))
        jm_record_fail(r, &e);
}

static void flush(struct jm_recorder *r, int64_t now)
{
    struct jm_err e = {0};
    if (now < r->flush_next || jm_record_error(r, NULL))
        return;
    r->flush_next = now + JM_NS_PER_S;
    if (jm_run_flush(r->w, now, false, &e))
        jm_record_fail(r, &e);
}

/* A meter that hangs or vanishes is said once, and again when it comes back. */
static void watch_meters(struct jm_recorder *r, int64_t now)
{
    for (size_t i = 0; i < r->n_reader; i++) {
        struct jm_reader *d = r->reader[i];
        bool hung = !jm_reader_healthy(d, now) || !atomic_load(&d->alive);
        if (hung == d->hung)
            continue;
        d->hung = hung;
        struct jm_err e = {0};
        char why[160] = "";
        if (hung && atomic_load(&d->alive))
            snprintf(why, sizeof why, "a read has not come back for more than %.3g s",
                     (double)d->deadline / 1e9);
        else if (hung)
            snprintf(why, sizeof why, "the device vanished while it was being read");
        if (jm_record_error(r, NULL) == 0 &&
            jm_run_set_meter_state(r->w, d->meter, hung ? "lost" : "ok", why, &e))
            jm_record_fail(r, &e);
        jm_logf(r->cfg.log, JM_LOG_WARN, "record", "meter %s: %s", jm_reader_name(d),
                hung ? why : "it answers again");
    }
}

static void *recorder_main(void *self)
{
    struct jm_recorder *r = self;
    while (!atomic_load(&r->quit)) {
        struct pollfd fd[2] = {{r->wake_fd, POLLIN, 0}, {r->mark_fd, POLLIN, 0}};
        if (poll(fd, r->mark_fd >= 0 ? 2 : 1, (int)(JM_DRAIN_NS / JM_NS_PER_MS)) > 0) {
            uint64_t count;
            if (fd[1].revents)
                jm_record_marks_read(r);
            if (fd[0].revents && read(r->wake_fd, &count, sizeof count) < 0)
                continue;
        }
        int64_t now = jm_clock_mono(&r->clock);
        jm_record_drain(r);
        jm_record_latecomers(r);
        jm_record_replies(r, now, false);
        jm_record_pairs(r, now);
        watch_meters(r, now);
        flush(r, now);
    }
    return NULL;
}

void jm_record_advance(struct jm_recorder *r, int64_t t)
{
    for (;;) {
        int64_t now = jm_clock_mono(&r->clock), due = t > now ? t : now;
        for (size_t i = 0; r->started && i < r->n_reader; i++) {
            int64_t d = jm_reader_due(r->reader[i]);
            due = d < due ? d : due;
        }
        due = r->pairs.next < due ? r->pairs.next : due;
        if (due > now) {
            jm_clock_sleep_until(&r->clock, due, NULL);
            now = jm_clock_mono(&r->clock);
        }
        bool did = false;
        for (size_t i = 0; r->started && i < r->n_reader; i++)
            if (jm_reader_due(r->reader[i]) <= now) {
                jm_reader_step(r->reader[i], now);
                did = true;
            }
        if (r->pairs.next <= now) {
            jm_record_pairs(r, now);
            jm_record_latecomers(r);
            jm_record_replies(r, now, false);
            watch_meters(r, now);
            flush(r, now);
            did = true;
        }
        if (!did && now >= t)
            return;
    }
}

int jm_recorder_run_until(struct jm_recorder *r, int64_t t, struct jm_err *err)
{
    if (r->inline_mode)
        jm_record_advance(r, t);
    else
        jm_clock_sleep_until(&r->clock, t, NULL);
    return jm_record_error(r, err);
}

/* What the self-tests found goes into the file: periods and verdicts. */
static void note_selftests(struct jm_recorder *r)
{
    for (size_t i = 0; i < r->n_reader; i++) {
        struct jm_reader *d = r->reader[i];
        char key[64];
        if (!atomic_load(&d->ready))
            continue;
        snprintf(key, sizeof key, "selftest.%s.result", jm_reader_name(d));
        if (d->selftest[0])
            jm_record_put_env(r, key, "%s", d->selftest);
        for (size_t k = 0; k < d->n_watch; k++) {
            if (!d->watch[k].found)
                continue;
            struct jm_item *it = jm_item_new(JM_I_CHANNEL, NULL, 0, NULL, 0);
            if (!it)
                continue;
            pthread_mutex_lock(&r->live_lock);
            it->channel = r->chan[d->base + d->watch[k].chan];
            pthread_mutex_unlock(&r->live_lock);
            it->channel.period_ns = atomic_load(&d->watch[k].period);
            it->channel.period_measured = true;
            jm_record_push(r, it);
        }
    }
}

static int start_threads(struct jm_recorder *r, struct jm_err *err)
{
    size_t n = r->n_reader; /* those that come later are the recorder thread's to start */
    atomic_store(&r->quit, false);
    int e = pthread_create(&r->thread, NULL, recorder_main, r);
    if (e)
        return jm_err_sys(err, e, "cannot start the recorder's thread");
    pthread_mutex_lock(&r->lock);
    r->thread_up = true;
    pthread_mutex_unlock(&r->lock);
    for (size_t i = 0; i < n; i++) {
        int rc = jm_reader_spawn(r->reader[i], err);
        if (rc)
            return rc;
    }
    /* the self-tests run side by side; one that hangs is left behind */
    for (;;) {
        int64_t now = jm_clock_mono(&r->clock);
        bool all = true;
        for (size_t i = 0; i < n; i++)
            all = all && (atomic_load(&r->reader[i]->ready) || !jm_reader_healthy(r->reader[i], now));
        if (all)
            return 0;
        jm_clock_sleep_until(&r->clock, now + JM_POLL_NS, NULL);
    }
}

int jm_recorder_start(struct jm_recorder *r, struct jm_err *err)
{
    if (r->started)
        return jm_err_set(err, JM_ESTATE, "the recorder runs already");
    int rc = jm_record_error(r, err);
    if (rc)
        return rc;
    jm_selfcache_load(r);
    if (r->inline_mode) {
        for (size_t i = 0; i < r->n_reader; i++) {
            jm_selftest(r->reader[i]);
            atomic_store(&r->reader[i]->ready, true);
        }
    } else {
        rc = start_threads(r, err);
        if (rc)
            return rc;
    }
    pthread_mutex_lock(&r->late_lock); /* from now on instruments may join */
    r->t_start = jm_clock_mono(&r->clock);
    for (size_t i = 0; r->inline_mode && i < r->n_reader; i++)
        r->reader[i]->next = r->t_start;
    r->started = true;
    pthread_mutex_unlock(&r->late_lock);
    note_selftests(r);
    jm_selfcache_save(r);
    if (r->inline_mode)
        jm_record_advance(r, r->t_start);
    return jm_record_error(r, err);
}

int jm_recorder_finish(struct jm_recorder *r, struct jm_err *err)
{
    jm_scrape_stop(r);
    jm_scrape_end(r);
    jm_record_end_wires(r);
    jm_record_stop_readers(r);
    if (r->thread_up) {
        atomic_store(&r->quit, true);
        jm_record_wake(r);
        pthread_join(r->thread, NULL);
    }
    if (r->mark_fd >= 0)
        jm_record_marks_read(r);
    pthread_mutex_lock(&r->lock);
    r->closed = true;
    r->thread_up = false;
    pthread_cond_broadcast(&r->room);
    pthread_mutex_unlock(&r->lock);
    jm_record_drain(r);
    int64_t now = jm_clock_mono(&r->clock);
    jm_record_replies(r, now, true);
    r->pairs.next = now;
    jm_record_pairs(r, now);
    watch_meters(r, now);
    jm_record_never_came(r);
    jm_record_end_facts(r);
    jm_record_marks_close(r);
    int64_t until = jm_record_let_close(r);
    int rc = jm_record_error(r, err);
    if (rc)
        jm_run_abandon(r->w);
    else
        rc = jm_run_seal(r->w, err);
    jm_record_farewell(r, until);
    free_recorder(r);
    return rc;
}
