/* SPDX-License-Identifier: Apache-2.0 */
#include "load/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/banned.h"

#define SLOTS_A_TICK   256
#define TICK_TURNS     5
#define TICK_MS        20
#define EVENTS_AT_ONCE 256
#define READ_BYTES     ((size_t)256 << 10)
#define PAUSE_FIRST    (50 * JM_NS_PER_MS)
#define PAUSE_MOST     JM_NS_PER_S
#define OPEN_AT_ONCE                                                                                         \
    64 /* connections being opened: a burst overflows the server's queue, which costs a second */
#define AHEAD_OPEN 8 /* open loop: connections before the start */

static bool user_slot(const struct jm_slot *s)
{
    return s->lane >= 0;
}

/* Between two waits of the loop: one a round, so that bytes never wait long for it. */
static void on_prepare(uv_prepare_t *h)
{
    struct jm_worker *w = h->data;
    if (!w->stopped)
        jm_feed_top_up(w);
}

/* --- before the start
 * --------------------------------------------------------------------------------------------- */
static void now_warm(struct jm_worker *w)
{
    if (w->warm)
        return;
    w->warm = true;
    atomic_fetch_sub(&w->l->cold, 1);
    jm_load_changed(w->l);
}

void jm_worker_warm(struct jm_worker *w)
{
    while (w->warm_next < w->slots && w->opening < OPEN_AT_ONCE && !w->failed[0]) {
        struct jm_slot *s = w->slot[w->warm_next++];
        if (!s->link && !jm_slot_open(s))
            break;
    }
    if (w->opening == 0 && (w->failed[0] || w->warm_next == w->slots))
        now_warm(w);
}

/* --- going
 * -------------------------------------------------------------------------------------------------------- */
void jm_worker_idle(struct jm_worker *w, struct jm_slot *s)
{
    s->state = JM_SLOT_IDLE;
    if (user_slot(s))
        return;
    s->next_idle = w->idle;
    w->idle = s;
}

/* A slot without a connection needs one, and of those only so many are opened at a time: a burst of arrivals
 * would overflow the server's queue. */
bool jm_worker_has_room(const struct jm_worker *w)
{
    bool ready = w->idle && w->idle->open;
    return w->open_busy < w->open_most && (ready || w->opening < OPEN_AT_ONCE);
}

struct jm_slot *jm_worker_slot(struct jm_worker *w)
{
    struct jm_slot *s = w->idle;
    if (!jm_worker_has_room(w))
        return NULL;
    if (s) {
        w->idle = s->next_idle;
        return s;
    }
    if (w->slots == w->slots_cap) {
        size_t cap = w->slots_cap ? w->slots_cap * 2 : 64;
        struct jm_slot **p = realloc(w->slot, cap * sizeof(struct jm_slot *));
        if (!p)
            return NULL;
        w->slot = p;
        w->slots_cap = cap;
    }
    if ((s = jm_slot_new(w)) != NULL)
        w->slot[w->slots++] = s;
    return s;
}

void jm_worker_next(struct jm_worker *w, struct jm_slot *s, bool ok)
{
    if (w->stopped) {
        jm_worker_idle(w, s);
    } else if (!user_slot(s)) {
        jm_worker_idle(w, s);
        if (ok) /* after a failure the next tick takes the oldest one, so that failures at once do not nest */
            jm_feed_pump(w);
    } else if (!ok) { /* an endpoint that fails at once would be asked as fast as it can answer */
        int64_t pause = PAUSE_FIRST << (s->failures < 6 ? s->failures - 1 : 5);
        s->resume_at = jm_clock_mono(&w->env.clock) + (pause < PAUSE_MOST ? pause : PAUSE_MOST);
        s->state = JM_SLOT_PAUSED;
    } else {
        jm_feed_user(w, s);
    }
}

static void on_timer(uv_poll_t *h, int status, int events)
{
    struct jm_worker *w = h->data;
    uint64_t ticks;
    (void)status;
    (void)events;
    (void)!read(w->timer_fd, &ticks, sizeof ticks);
    jm_feed_alarms(w, jm_clock_mono(&w->env.clock));
    jm_feed_pump(w);
    jm_feed_arm(w);
}

static void go(struct jm_worker *w)
{
    w->going = w->env.going = true;
    now_warm(w);
    for (size_t i = w->slots; i > w->users; i--)
        jm_worker_idle(w, w->slot[i - 1]);
    for (size_t i = 0; i < w->users; i++)
        if (w->slot[i]->state == JM_SLOT_IDLE)
            jm_feed_user(w, w->slot[i]);
    jm_feed_pump(w);
}

static void halt(struct jm_worker *w)
{
    w->stopped = true;
    now_warm(w);
    if (w->going)
        jm_feed_give_up(w);
    for (size_t i = 0; i < w->slots; i++)
        if (w->slot[i]->state == JM_SLOT_PAUSED)
            jm_worker_idle(w, w->slot[i]);
    atomic_store(&w->halted, true);
    jm_load_changed(w->l);
}

static void measure_cpu(struct jm_worker *w, int64_t now)
{
    struct rusage u;
    if (now - w->cpu_at < JM_NS_PER_S / 2 || getrusage(RUSAGE_THREAD, &u) != 0)
        return;
    int64_t cpu = (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * JM_NS_PER_S +
                  (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * JM_NS_PER_US;
    if (w->cpu_at > 0)
        atomic_store(&w->cpu_recent_ppm, (cpu - w->cpu_was) * 1000 / ((now - w->cpu_at) / 1000));
    w->cpu_at = now;
    w->cpu_was = cpu;
    atomic_store(&w->cpu_ns, cpu);
}

static void close_all(struct jm_worker *w)
{
    for (size_t i = 0; i < w->slots; i++) {
        jm_slot_abandon(w->slot[i], "still running when the load was taken down");
        jm_slot_free(w->slot[i]);
    }
    w->slots = 0;
    w->idle = NULL;
    if (w->l->transport->end)
        w->l->transport->end(&w->env);
    uv_close((uv_handle_t *)&w->wake, NULL);
    uv_close((uv_handle_t *)&w->tick, NULL);
    uv_close((uv_handle_t *)&w->prepare, NULL);
    if (w->timer_fd >= 0)
        uv_close((uv_handle_t *)&w->timer_poll, NULL);
}

static void on_wake(uv_async_t *h)
{
    struct jm_worker *w = h->data;
    struct jm_load *l = w->l;
    if (atomic_load(&l->start) && !w->going && !w->stopped)
        go(w);
    if (atomic_load(&l->stop) && !w->stopped)
        halt(w);
    if (atomic_load(&l->abandon))
        for (size_t i = 0; i < w->slots; i++)
            jm_slot_abandon(w->slot[i], "still running when the run ended");
    if (atomic_load(&l->quit)) {
        w->stopped = true;
        close_all(w);
    }
}

void jm_worker_publish(struct jm_worker *w)
{
    atomic_store_explicit(&w->kernel, w->env.stamps.kernel, memory_order_relaxed);
    atomic_store_explicit(&w->user, w->env.stamps.user, memory_order_relaxed);
    atomic_store_explicit(&w->stepped, w->env.stamps.stepped, memory_order_relaxed);
    atomic_store_explicit(&w->held, w->env.stamps.held, memory_order_relaxed);
    atomic_store_explicit(&w->read_most, w->env.read_most, memory_order_relaxed);
    atomic_store_explicit(&w->rcvbuf, w->env.rcvbuf, memory_order_relaxed);
}

static void on_tick(uv_timer_t *h)
{
    struct jm_worker *w = h->data;
    int64_t now = jm_clock_mono(&w->env.clock);
    if (w->tick_due)
        jm_hist_add(&w->loop_lag, (now - w->tick_due) / JM_NS_PER_US);
    w->tick_due = ((int64_t)uv_now(&w->loop) + TICK_MS) * JM_NS_PER_MS; /* as libuv has just set it */
    /* many slots in turns: their limits are of seconds, and looking at thousands of them costs */
    size_t turns = w->slots > SLOTS_A_TICK ? TICK_TURNS : 1;
    for (size_t i = w->turn++ % turns; i < w->slots; i += turns) {
        struct jm_slot *s = w->slot[i];
        if (s->state == JM_SLOT_PAUSED && now >= s->resume_at)
            jm_feed_user(w, s);
        else if (s->state == JM_SLOT_IDLE && user_slot(s) && w->going && !w->stopped)
            jm_feed_user(w, s); /* more users may be wanted now than when it ended */
        else
            jm_slot_check(s, now);
    }
    jm_feed_pump(w);
    if (w->going && !w->stopped)
        atomic_store(&w->over, jm_feed_over(w));
    jm_stamps_pair(&w->env.stamps, now);
    measure_cpu(w, now);
    jm_worker_publish(w);
}

static bool left_over(const struct jm_worker *w)
{
    return w->env.pool && w->l->transport->pending(&w->env);
}

/* The loop of libuv is one of the files that are waited for; its timers bound the wait. It runs only when it
 * has something to do, so that the sockets of a busy load are asked again at once. */
static void run_sockets(struct jm_worker *w)
{
    const struct jm_transport *t = w->l->transport;
    struct epoll_event ev[EVENTS_AT_ONCE];
    int64_t due = 0; /* of the loop's next timer */
    for (bool ours = true; uv_loop_alive(&w->loop);) {
        int64_t now = jm_clock_mono(&w->env.clock);
        if (ours || now >= due) {
            uv_run(&w->loop, UV_RUN_NOWAIT);
            int ms = uv_backend_timeout(&w->loop);
            now = jm_clock_mono(&w->env.clock);
            due = ms < 0 ? INT64_MAX : now + ms * JM_NS_PER_MS;
        } else if (!w->stopped) {
            jm_feed_top_up(w); /* one request made ahead a round, as before each wait of the loop */
        }
        int64_t left = due == INT64_MAX ? TICK_MS : (due - now + JM_NS_PER_MS - 1) / JM_NS_PER_MS;
        if (!w->env.pool || left_over(w))
            left = 0;
        int64_t asked = now;
        int n = epoll_wait(w->env.epoll, ev, EVENTS_AT_ONCE,
                           left > TICK_MS ? TICK_MS
                           : left < 0     ? 0
                                          : (int)left);
        ours = false;
        for (int i = 0; i < n; i++)
            ours |= !ev[i].data.ptr;
        if (w->env.pool)
            t->events(&w->env, ev, n > 0 ? n : 0);
        /* what was readable when this wait began has been read, so the next events are of later bytes */
        w->env.floor = n < EVENTS_AT_ONCE && !left_over(w) ? asked : 0;
    }
}

void *jm_worker_run(void *self)
{
    struct jm_worker *w = self;
    jm_worker_warm(w);
    if (w->l->transport->events)
        run_sockets(w);
    else
        uv_run(&w->loop, UV_RUN_DEFAULT);
    return NULL;
}

/* A worker's share of the limit of open requests. */
static size_t share(int64_t all, int workers, int index)
{
    return (size_t)(all / workers + (index < all % workers));
}

static struct jm_slot *add_slot(struct jm_worker *w, int lane, int user)
{
    struct jm_slot *s = jm_slot_new(w);
    if (!s)
        return NULL;
    s->lane = lane;
    s->user = user;
    return w->slot[w->slots++] = s;
}

static int make_slots(struct jm_worker *w, struct jm_err *err)
{
    const struct jm_plan *p = w->l->prompts.plan;
    size_t n = 0;
    int lane = w->l->open_most > 0, all = 0;
    w->open_most = share(w->l->open_most, w->l->workers, w->index);
    for (size_t i = 0; i < p->slices; i++)
        n += (size_t)jm_slice_most_users(&p->slice[i]);
    n = n / (size_t)w->l->workers + p->slices + AHEAD_OPEN;
    w->slots_cap = n;
    w->slot = calloc(n, sizeof(struct jm_slot *));
    for (size_t i = 0; w->slot && i < p->slices; i++) {
        if (jm_slice_open(&p->slice[i]))
            continue;
        /* users go round the workers, over all slices */
        for (int u = 0; u < jm_slice_most_users(&p->slice[i]); u++, all++)
            if (all % w->l->workers == w->index && !add_slot(w, lane, u))
                return jm_err_set(err, JM_ENOMEM, "out of memory for %zu connections", n);
        lane++;
    }
    w->users = w->slots;
    for (size_t i = 0; w->slot && i < w->open_most && i < AHEAD_OPEN; i++)
        if (!add_slot(w, -1, 0))
            return jm_err_set(err, JM_ENOMEM, "out of memory for %zu connections", n);
    return w->slot ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory for %zu connections", n);
}

static int make_timer(struct jm_worker *w, struct jm_err *err)
{
    w->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (w->timer_fd < 0)
        return jm_err_sys(err, errno, "a timer cannot be made");
    int rc = uv_poll_init(&w->loop, &w->timer_poll, w->timer_fd);
    if (rc == 0) {
        w->timer_poll.data = w;
        rc = uv_poll_start(&w->timer_poll, UV_READABLE, on_timer);
    }
    return rc ? jm_err_set(err, JM_EIO, "a timer cannot be watched: %s", uv_strerror(rc)) : 0;
}

int jm_worker_new(struct jm_load *l, int index, struct jm_worker **out, struct jm_err *err)
{
    struct jm_worker *w = calloc(1, sizeof *w);
    if (!w)
        return jm_err_set(err, JM_ENOMEM, "out of memory for a load thread");
    *out = w; /* the caller frees it, also after an error */
    w->l = l;
    w->index = index;
    w->timer_fd = -1;
    w->env = (struct jm_link_env){.clock = l->clock, .client = &l->client, .buf_n = READ_BYTES, .epoll = -1};
    jm_stamps_init(&w->env.stamps, l->clock);
    int rc = uv_loop_init(&w->loop);
    if (rc != 0)
        return jm_err_set(err, JM_EIO, "an event loop cannot be made: %s", uv_strerror(rc));
    w->env.loop = &w->loop;
    w->has_loop = true;
    struct epoll_event e = {.events = EPOLLIN};
    w->env.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (w->env.epoll < 0 || epoll_ctl(w->env.epoll, EPOLL_CTL_ADD, uv_backend_fd(&w->loop), &e) != 0)
        return jm_err_sys(err, errno, "an event loop cannot be made");
    if ((rc = uv_async_init(&w->loop, &w->wake, on_wake)) != 0 ||
        (rc = uv_timer_init(&w->loop, &w->tick)) != 0 || (rc = uv_prepare_init(&w->loop, &w->prepare)) != 0 ||
        (rc = uv_timer_start(&w->tick, on_tick, TICK_MS, TICK_MS)) != 0 ||
        (rc = uv_prepare_start(&w->prepare, on_prepare)) != 0)
        return jm_err_set(err, JM_EIO, "an event loop cannot be set up: %s", uv_strerror(rc));
    w->wake.data = w->tick.data = w->prepare.data = w;
    if (!(w->env.buf = malloc(READ_BYTES)))
        return jm_err_set(err, JM_ENOMEM, "out of memory for a load thread");
    rc = l->transport->begin ? l->transport->begin(&w->env, err) : 0;
    if (rc == 0)
        rc = make_slots(w, err);
    if (rc == 0)
        rc = make_timer(w, err);
    return rc ? rc : jm_feed_init(w, err);
}

static void close_handle(uv_handle_t *h, void *arg)
{
    (void)arg;
    if (!uv_is_closing(h))
        uv_close(h, NULL);
}

void jm_worker_free(struct jm_worker *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->slots; i++)
        jm_slot_free(w->slot[i]);
    if (w->l->transport->end)
        w->l->transport->end(&w->env);
    if (w->has_loop) {
        uv_walk(&w->loop, close_handle, NULL);
        uv_run(&w->loop, UV_RUN_DEFAULT);
        uv_loop_close(&w->loop);
    }
    if (w->timer_fd >= 0)
        close(w->timer_fd);
    if (w->env.epoll >= 0)
        close(w->env.epoll);
    free(w->slot);
    jm_feed_release(w);
    free(w->ev);
    free(w->env.buf);
    free(w->env.plain);
    free(w);
}
