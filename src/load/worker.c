/* SPDX-License-Identifier: Apache-2.0 */
#include "load/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/banned.h"

#define TICK_MS     20
#define READ_BYTES  ((size_t)256 << 10)
#define PAUSE_FIRST (50 * JM_NS_PER_MS)
#define PAUSE_MOST  JM_NS_PER_S
#define OPEN_AT_ONCE                                                                                         \
    64 /* connections being opened: a burst overflows the server's queue, which costs a second */
#define AHEAD_OPEN    8 /* open loop: connections before the start */
#define PROMPTS_AHEAD 16

static bool open_loop(const struct jm_worker *w)
{
    return w->l->cfg.shape == JM_LOAD_POISSON;
}

/* --- requests made ahead
 * ------------------------------------------------------------------------------------------ */
static int64_t next_index(struct jm_worker *w)
{
    if (!open_loop(w))
        return atomic_fetch_add(&w->l->next_prompt, 1);
    int64_t k = w->next_prompt;
    w->next_prompt += w->l->workers;
    return k;
}

static bool make_one(struct jm_worker *w)
{
    struct jm_prompt *p = &w->ready[(w->ready_at + w->ready_n) % JM_READY_PROMPTS];
    struct jm_err err;
    if (jm_prompts_make(&w->l->prompts, next_index(w), p, &err) != 0)
        return false;
    w->ready_n++;
    return true;
}

struct jm_prompt *jm_worker_prompt(struct jm_worker *w)
{
    if (!w->ready_n && !make_one(w))
        return NULL;
    struct jm_prompt *p = &w->ready[w->ready_at];
    w->ready_at = (w->ready_at + 1) % JM_READY_PROMPTS;
    w->ready_n--;
    return p; /* valid until the next one is made */
}

/* Between two waits of the loop: one a round, so that bytes never wait long for it. */
static void on_prepare(uv_prepare_t *h)
{
    struct jm_worker *w = h->data;
    if (!w->stopped && w->ready_n < PROMPTS_AHEAD)
        make_one(w);
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
    size_t closed = 0;
    for (size_t i = 0; i < w->slots && w->opening < OPEN_AT_ONCE && !w->failed[0]; i++)
        if (!w->slot[i]->link && !jm_slot_open(w->slot[i]))
            break;
    for (size_t i = 0; i < w->slots; i++)
        closed += !w->slot[i]->open;
    if (closed == 0 || (w->failed[0] && w->opening == 0))
        now_warm(w);
}

/* --- going
 * -------------------------------------------------------------------------------------------------------- */
static void make_idle(struct jm_worker *w, struct jm_slot *s)
{
    s->state = JM_SLOT_IDLE;
    s->next_idle = w->idle;
    w->idle = s;
}

static void next_closed(struct jm_worker *w, struct jm_slot *s, bool ok)
{
    int64_t now = jm_clock_mono(&w->env.clock);
    if (!ok) { /* an endpoint that fails at once would be asked as fast as it can answer */
        int64_t pause = PAUSE_FIRST << (s->failures < 6 ? s->failures - 1 : 5);
        s->resume_at = now + (pause < PAUSE_MOST ? pause : PAUSE_MOST);
        s->state = JM_SLOT_PAUSED;
        return;
    }
    int64_t k = atomic_fetch_add(&w->l->next_id, 1);
    if (w->l->cfg.max_requests > 0 && k >= w->l->cfg.max_requests) {
        make_idle(w, s);
        return;
    }
    jm_slot_begin(s, w->l->cfg.first_id + k, now);
}

void jm_worker_next(struct jm_worker *w, struct jm_slot *s, bool ok)
{
    struct jm_arrival a;
    if (w->stopped) {
        make_idle(w, s);
    } else if (!open_loop(w)) {
        next_closed(w, s, ok);
    } else if (ok && jm_arrivals_waiting(w, &a)) {
        jm_slot_begin(s, a.id, a.scheduled);
    } else { /* after a failure the next tick takes the oldest one, so that failures at once do not nest */
        make_idle(w, s);
    }
}

static void go(struct jm_worker *w)
{
    w->going = w->env.going = true;
    now_warm(w);
    if (open_loop(w)) {
        for (size_t i = w->slots; i > 0; i--)
            make_idle(w, w->slot[i - 1]);
        jm_arrivals_start(w);
        return;
    }
    for (size_t i = 0; i < w->slots; i++)
        if (w->slot[i]->state == JM_SLOT_IDLE)
            next_closed(w, w->slot[i], true);
}

/* Arrivals that never got a slot are requests too: their schedule is the evidence that the plan was not kept.
 */
static void give_up_backlog(struct jm_worker *w)
{
    struct jm_arrival a;
    while (jm_arrivals_waiting(w, &a)) {
        struct jm_call c;
        jm_call_init(&c, &w->l->reader, false);
        c.r.id = a.id;
        c.r.t[JM_T_SCHEDULED] = a.scheduled;
        jm_call_fail(&c, JM_END_UNFINISHED,
                     "not sent: as many requests as allowed were under way until the end", -1);
        atomic_fetch_add(&w->l->started, 1);
        atomic_fetch_add(&w->l->in_flight, 1);
        atomic_fetch_add(&w->l->unsent, 1);
        jm_load_deliver(w->l, w, &c, (struct jm_span){0});
        jm_call_release(&c);
    }
}

static void halt(struct jm_worker *w)
{
    w->stopped = true;
    now_warm(w);
    if (open_loop(w)) {
        jm_arrivals_stop(w);
        give_up_backlog(w);
    }
    for (size_t i = 0; i < w->slots; i++)
        if (w->slot[i]->state == JM_SLOT_PAUSED)
            make_idle(w, w->slot[i]);
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
}

static void on_tick(uv_timer_t *h)
{
    struct jm_worker *w = h->data;
    int64_t now = jm_clock_mono(&w->env.clock);
    for (size_t i = 0; i < w->slots; i++) {
        struct jm_slot *s = w->slot[i];
        if (s->state == JM_SLOT_PAUSED && now >= s->resume_at)
            next_closed(w, s, true);
        else
            jm_slot_check(s, now);
    }
    for (size_t i = 0; open_loop(w) && !w->stopped && w->backlog_n && w->idle && i < w->slots_most; i++) {
        struct jm_arrival a;
        struct jm_slot *s = w->idle;
        w->idle = s->next_idle;
        if (jm_arrivals_waiting(w, &a))
            jm_slot_begin(s, a.id, a.scheduled);
    }
    jm_stamps_pair(&w->env.stamps, now);
    measure_cpu(w, now);
    jm_worker_publish(w);
}

void *jm_worker_run(void *self)
{
    struct jm_worker *w = self;
    jm_worker_warm(w);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    return NULL;
}

/* Slots of this worker: closed loop its share of the concurrency, open loop its share of the limit. */
static size_t share(int64_t all, int workers, int index)
{
    return (size_t)(all / workers + (index < all % workers));
}

static int make_slots(struct jm_worker *w, struct jm_err *err)
{
    const struct jm_load_cfg *cfg = &w->l->cfg;
    size_t n;
    if (!open_loop(w)) {
        n = w->slots_most = share(cfg->concurrency, w->l->workers, w->index);
    } else {
        w->slots_most = share(cfg->concurrency, w->l->workers, w->index);
        n = w->slots_most < AHEAD_OPEN ? w->slots_most : AHEAD_OPEN;
    }
    w->slots_cap = n ? n : 1;
    w->slot = calloc(w->slots_cap, sizeof(struct jm_slot *));
    for (size_t i = 0; w->slot && i < n; i++) {
        if (!(w->slot[i] = jm_slot_new(w)))
            break;
        w->slots++;
    }
    return w->slots == n ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory for %zu connections", n);
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
    w->next_prompt = index;
    for (size_t i = 0; i < JM_READY_PROMPTS; i++)
        jm_prompt_init(&w->ready[i]);
    w->env = (struct jm_link_env){.clock = l->clock, .client = &l->client, .buf_n = READ_BYTES};
    jm_stamps_init(&w->env.stamps, l->clock);
    int rc = uv_loop_init(&w->loop);
    if (rc != 0)
        return jm_err_set(err, JM_EIO, "an event loop cannot be made: %s", uv_strerror(rc));
    w->env.loop = &w->loop;
    w->has_loop = true;
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
    if (rc == 0 && open_loop(w))
        rc = jm_arrivals_init(w, err);
    for (int i = 0; rc == 0 && i < PROMPTS_AHEAD; i++) {
        if (!make_one(w))
            rc = jm_err_set(err, JM_ENOMEM, "the first requests cannot be made");
    }
    return rc;
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
    for (size_t i = 0; i < JM_READY_PROMPTS; i++)
        jm_prompt_release(&w->ready[i]);
    free(w->slot);
    free(w->backlog);
    free(w->ev);
    free(w->env.buf);
    free(w->env.plain);
    free(w);
}
