/* SPDX-License-Identifier: Apache-2.0 */
/* Open loop: a Poisson process on an absolute schedule, so that a late wake-up delays nothing but itself. All
 * workers draw the same sequence and each takes every n-th arrival; so the schedule of a seed does not depend
 * on the number of threads. A timerfd wakes the loop on time (libuv's own timers count whole milliseconds).
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "load/worker.h"

#include "base/banned.h"

#define STREAM_ARRIVALS 1

static void draw(struct jm_worker *w)
{
    w->due_s += jm_rng_exp(&w->rng, 1 / w->l->cfg.rate);
    w->due_k++;
}

static void next_of_mine(struct jm_worker *w)
{
    do
        draw(w);
    while (w->due_k % w->l->workers != w->index);
}

static int64_t due_ns(const struct jm_worker *w)
{
    return w->l->t0 + (int64_t)(w->due_s * 1e9);
}

static void arm(struct jm_worker *w)
{
    int64_t t = due_ns(w);
    struct itimerspec it = {.it_value = {t / JM_NS_PER_S, t % JM_NS_PER_S}};
    timerfd_settime(w->timer_fd, TFD_TIMER_ABSTIME, &it, NULL);
}

static void enqueue(struct jm_worker *w, struct jm_arrival a)
{
    if (w->backlog_n == w->backlog_cap) {
        size_t cap = w->backlog_cap ? w->backlog_cap * 2 : 64;
        struct jm_arrival *b = malloc(cap * sizeof *b);
        if (!b)
            return;
        for (size_t i = 0; i < w->backlog_n; i++)
            b[i] = w->backlog[(w->backlog_at + i) % w->backlog_cap];
        free(w->backlog);
        w->backlog = b;
        w->backlog_at = 0;
        w->backlog_cap = cap;
    }
    w->backlog[(w->backlog_at + w->backlog_n++) % w->backlog_cap] = a;
}

bool jm_arrivals_waiting(struct jm_worker *w, struct jm_arrival *out)
{
    if (!w->backlog_n)
        return false;
    *out = w->backlog[w->backlog_at];
    w->backlog_at = (w->backlog_at + 1) % w->backlog_cap;
    w->backlog_n--;
    return true;
}

static struct jm_slot *free_slot(struct jm_worker *w)
{
    struct jm_slot *s = w->idle;
    if (w->busy >= w->slots_most)
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

static void arrive(struct jm_worker *w)
{
    const struct jm_load_cfg *cfg = &w->l->cfg;
    struct jm_arrival a = {cfg->first_id + w->due_k, due_ns(w)};
    struct jm_slot *s = w->backlog_n ? NULL : free_slot(w);
    if (s)
        jm_slot_begin(s, a.id, a.scheduled);
    else
        enqueue(w, a);
}

static bool planned(const struct jm_worker *w)
{
    return w->l->cfg.max_requests <= 0 || w->due_k < w->l->cfg.max_requests;
}

static void on_timer(uv_poll_t *h, int status, int events)
{
    struct jm_worker *w = h->data;
    uint64_t ticks;
    (void)status;
    (void)events;
    (void)!read(w->timer_fd, &ticks, sizeof ticks);
    while (!w->stopped && planned(w) && due_ns(w) <= jm_clock_mono(&w->env.clock)) {
        arrive(w);
        next_of_mine(w);
    }
    if (!w->stopped && planned(w))
        arm(w);
}

int jm_arrivals_init(struct jm_worker *w, struct jm_err *err)
{
    w->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (w->timer_fd < 0)
        return jm_err_sys(err, errno, "a timer cannot be made");
    int rc = uv_poll_init(&w->loop, &w->timer_poll, w->timer_fd);
    if (rc == 0) {
        w->timer_poll.data = w;
        rc = uv_poll_start(&w->timer_poll, UV_READABLE, on_timer);
    }
    if (rc != 0)
        return jm_err_set(err, JM_EIO, "a timer cannot be watched: %s", uv_strerror(rc));
    jm_rng_init_stream(&w->rng, w->l->cfg.seed, STREAM_ARRIVALS);
    w->due_k = -1;
    w->due_s = 0;
    next_of_mine(w);
    return 0;
}

void jm_arrivals_start(struct jm_worker *w)
{
    if (planned(w))
        arm(w);
}

void jm_arrivals_stop(struct jm_worker *w)
{
    struct itimerspec off = {0};
    timerfd_settime(w->timer_fd, 0, &off, NULL);
}
