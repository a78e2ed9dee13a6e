/* SPDX-License-Identifier: Apache-2.0 */
/* One request at a time on one connection: connect, send, read, hand over, and what time limits do to it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load/worker.h"

#include "base/banned.h"

#define RESEND_WITHIN                                                                                        \
    (JM_NS_PER_S) /* a kept connection that dies this soon was closed before the request came */
#define DONE_GRACE (JM_NS_PER_S) /* between [DONE] and the end of the answer's framing */

static void on_ready(void *self, int64_t t);
static void on_sent(void *self, int64_t t);
static void on_bytes(void *self, struct jm_span in, int64_t t);
static void on_lost(void *self, enum jm_lost why, const char *words, int64_t t);
static void on_connected(void *self, int64_t t, bool reused);
static void on_resent(void *self);

static const struct jm_link_user user = {on_ready, on_sent, on_bytes, on_lost, on_connected, on_resent};

struct jm_slot *jm_slot_new(struct jm_worker *w)
{
    struct jm_slot *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->w = w;
    s->lane = -1;
    s->item.id = -1;
    jm_call_init(&s->call, &w->l->reader, w->l->cfg.keep_text);
    s->call.ev.late = w->l->cfg.keep_behind;
    jm_prompt_init(&s->prompt);
    return s;
}

static void drop_link(struct jm_slot *s)
{
    if (s->link)
        s->w->l->transport->close(s->link);
    s->link = NULL;
    s->open = false;
    if (s->opening) {
        s->opening = false;
        s->w->opening--;
    }
}

void jm_slot_free(struct jm_slot *s)
{
    if (!s)
        return;
    drop_link(s);
    jm_talk_free(s->item.talk);
    jm_call_release(&s->call);
    jm_prompt_release(&s->prompt);
    free(s);
}

static bool expired(const struct jm_slot *s, int64_t now)
{
    return s->open && s->w->l->transport->events && now >= s->good_until;
}

/* The connection stays. Where the server says for how long and for how many requests, it is renewed before
 * that: a request that meets its closing would have to be sent twice. Servers that count down say one less
 * each time. */
static void keep_link(struct jm_slot *s)
{
    const struct jm_http1 *h = &s->call.http;
    int64_t now = jm_clock_mono(&s->w->env.clock);
    s->uses++;
    s->good_until = INT64_MAX;
    if (s->uses == 1 && h->keep_most >= 0)
        s->uses_most = h->keep_most;
    if (h->keep_s >= 0 && h->keep_s < 86400)
        s->good_until = now + h->keep_s * JM_NS_PER_S * 4 / 5;
    if (h->keep_most == 0 || (s->uses_most >= 0 && s->uses >= s->uses_most))
        s->good_until = now;
}

/* The request is over: hand it over, see to the connection, go on. */
static void finish(struct jm_slot *s)
{
    struct jm_worker *w = s->w;
    struct jm_call *c = &s->call;
    bool ok = c->r.end == JM_END_OK;
    if (s->link && w->l->transport->look)
        w->l->transport->look(s->link);
    /* answered before the request was sent whole: the rest of it would be read as the next one */
    if (!c->keep_alive || c->noisy || c->r.t[JM_T_SENT] < 0)
        drop_link(s);
    else
        keep_link(s);
    s->state = JM_SLOT_IDLE;
    w->busy--;
    w->open_busy -= s->lane < 0;
    jm_load_deliver(w->l, w, c, jm_str_span(&s->prompt.text));
    s->item.id = -1;
    ok = ok || s->cancelled;
    s->failures = ok ? 0 : s->failures + 1;
    if (!jm_feed_follow(w, s, ok))
        jm_worker_next(w, s, ok);
}

static void fail(struct jm_slot *s, enum jm_end end, const char *words, int64_t t)
{
    s->call.keep_alive = false;
    jm_call_fail(&s->call, end, words, t);
    finish(s);
}

bool jm_slot_open(struct jm_slot *s)
{
    struct jm_err err;
    s->open = false;
    s->fresh = true;
    s->uses = 0;
    s->uses_most = -1;
    s->good_until = INT64_MAX;
    if (s->w->l->transport->open(&s->w->env, s, &user, &s->link, &err) != 0) {
        s->link = NULL;
        snprintf(s->w->failed, sizeof s->w->failed, "%.250s", err.text);
        return false;
    }
    s->opening = true;
    s->w->opening++;
    return true;
}

static void transmit(struct jm_slot *s)
{
    struct jm_request *r = &s->call.r;
    int64_t now = jm_clock_mono(&s->w->env.clock);
    s->state = JM_SLOT_BUSY;
    s->since = now;
    if (!s->w->l->transport->connects_late)
        r->t[JM_T_CONNECTED] = s->opened;
    r->reused = !s->fresh;
    s->w->l->transport->send(s->link,
                             jm_str_span(&s->prompt.wire)); /* may end the request: s is not touched after */
}

/* Fills what is known before the answer. */
static void prepare_call(struct jm_slot *s)
{
    struct jm_request *r = &s->call.r;
    const struct jm_prompt *p = &s->prompt;
    jm_call_begin(&s->call);
    r->id = s->item.id;
    r->session = s->item.session;
    r->turn = s->item.turn;
    r->t[JM_T_SCHEDULED] = s->item.due;
    r->t[JM_T_ADMITTED] = s->admitted;
    memcpy(r->slice, p->slice, sizeof r->slice);
    r->asked_isl = p->asked_isl;
    r->asked_osl = p->asked_osl;
    r->prompt_bytes = s->prompt_bytes;
    memcpy(r->prompt_sha256, p->sha256, sizeof r->prompt_sha256);
    s->call.prompt_empty = s->prompt_bytes == 0;
    s->done_at = -1;
}

/* The request goes over to the slot. The prompt's text stays in the ring, with its memory, unless it is kept.
 */
static void take_prompt(struct jm_slot *s, struct jm_prompt *p)
{
    struct jm_str text = s->prompt.text, wire = s->prompt.wire;
    s->prompt_bytes = (int64_t)p->text.len;
    s->prompt = *p;
    p->wire = wire;
    if (s->w->l->cfg.keep_text)
        p->text = text;
    else
        s->prompt.text = text;
}

void jm_slot_begin(struct jm_slot *s, struct jm_made *m)
{
    struct jm_worker *w = s->w;
    take_prompt(s, &m->prompt);
    s->item = m->item;
    m->item.talk = NULL;
    s->admitted = jm_clock_mono(&w->env.clock);
    s->resent = s->cancelled = false;
    struct jm_begun *n = &w->begun[s->item.slice];
    n->due0 = n->n && n->due0 < s->item.due ? n->due0 : s->item.due;
    n->at0 = n->n ? n->at0 : s->admitted;
    n->due1 = n->n && n->due1 > s->item.due ? n->due1 : s->item.due;
    n->at1 = s->admitted;
    n->n++;
    s->call.keep_text = w->l->cfg.keep_text || s->item.talk; /* the next turn repeats the answer */
    w->busy++;
    w->open_busy += s->lane < 0;
    atomic_fetch_add(&w->l->started, 1);
    atomic_fetch_add(&w->l->in_flight, 1);
    s->state = JM_SLOT_CONNECTING;
    s->since = s->admitted;
    prepare_call(s);
    if (expired(s, s->admitted)) {
        drop_link(s);
        atomic_fetch_add(&w->l->renewed, 1);
    }
    if (s->open)
        transmit(s);
    else if (!s->link && !jm_slot_open(s))
        fail(s, JM_END_REFUSED, w->failed, s->admitted);
}

static void on_ready(void *self, int64_t t)
{
    struct jm_slot *s = self;
    s->open = true;
    s->opened = t;
    s->opening = false;
    s->w->opening--;
    struct jm_worker *w = s->w;
    if (s->state == JM_SLOT_CONNECTING)
        transmit(s);
    else if (!w->warm)
        jm_worker_warm(w);
    if (w->going)
        jm_feed_pump(w); /* what waited for a connection to open */
}

static void on_sent(void *self, int64_t t)
{
    struct jm_slot *s = self;
    struct jm_request *r = &s->call.r;
    if (s->state != JM_SLOT_BUSY)
        return;
    s->fresh = false;
    r->t[JM_T_SENT] = t;
    s->since = t;
    int64_t lag = (t - r->t[JM_T_SCHEDULED]) / JM_NS_PER_US;
    jm_recent_add(&s->w->lag, t, lag);
    jm_hist_add(&s->w->lag_all, lag);
    if (s->item.cancel_ns >= 0)
        jm_feed_cancel_at(s->w, s, t + s->item.cancel_ns);
}

/* The plan gives the request up: the connection is closed, as a user does who leaves. */
void jm_slot_cancel(struct jm_slot *s, int64_t now)
{
    char words[80];
    if (s->state != JM_SLOT_BUSY)
        return;
    if (s->item.cancel_ns >= 0)
        snprintf(words, sizeof words, "cancelled by the plan after %.6g s", (double)s->item.cancel_ns / 1e9);
    else
        snprintf(words, sizeof words, "cancelled by the plan after %lld tokens",
                 (long long)s->item.cancel_tokens);
    s->cancelled = true;
    s->call.r.planned_abort = 1;
    drop_link(s);
    fail(s, JM_END_ABORTED, words, now);
}

static void on_connected(void *self, int64_t t, bool reused)
{
    struct jm_slot *s = self;
    struct jm_request *r = &s->call.r;
    if (s->state != JM_SLOT_BUSY)
        return;
    r->reused = reused;
    if (!reused)
        s->opened = s->since = t;
    r->t[JM_T_CONNECTED] = s->opened;
}

static void on_resent(void *self)
{
    struct jm_slot *s = self;
    s->resent = true;
    atomic_fetch_add(&s->w->l->resent, 1);
}

static void on_bytes(void *self, struct jm_span in, int64_t t)
{
    struct jm_slot *s = self;
    struct jm_load *l = s->w->l;
    if (s->state != JM_SLOT_BUSY) { /* nobody asked: the connection cannot be trusted any more */
        drop_link(s);
        return;
    }
    if (s->prompt.wire.cap &&
        s->call.r.t[JM_T_SENT] >=
            0) /* it can go out no second time: thousands of streams need not hold theirs */
        jm_str_release(&s->prompt.wire);
    const struct jm_request *r = &s->call.r;
    int64_t before = s->call.counted, known = s->call.known, first = r->t[JM_T_FIRST_TOKEN];
    s->call.behind_us = s->w->env.behind_us;
    bool over = jm_call_bytes(&s->call, in, t);
    s->since = t;
    if (s->call.counted > before)
        atomic_fetch_add_explicit(&l->tokens, s->call.counted - before, memory_order_relaxed);
    if (s->call.known > known)
        atomic_fetch_add_explicit(&l->known, s->call.known - known, memory_order_relaxed);
    if (first < 0 && r->t[JM_T_FIRST_TOKEN] >= 0)
        jm_recent_add(&s->w->ttft, t, (r->t[JM_T_FIRST_TOKEN] - r->t[JM_T_SCHEDULED]) / JM_NS_PER_US);
    if (s->call.r.http_status >= 200 && s->call.r.http_status < 300 &&
        !atomic_load_explicit(&l->answered, memory_order_relaxed)) {
        atomic_store(&l->answered, true);
        jm_load_changed(l);
    }
    if (over)
        finish(s);
    else if (s->item.cancel_tokens >= 0 && s->call.counted >= s->item.cancel_tokens)
        jm_slot_cancel(s, t);
    else if (s->done_at < 0 && jm_call_complete(&s->call))
        s->done_at = t;
}

static void on_lost(void *self, enum jm_lost why, const char *words, int64_t t)
{
    struct jm_slot *s = self;
    struct jm_request *r = &s->call.r;
    s->link = NULL;
    s->open = false;
    if (s->opening) {
        s->opening = false;
        s->w->opening--;
    }
    if (s->state != JM_SLOT_BUSY && s->state != JM_SLOT_CONNECTING) {
        /* an idle connection: opened again when it is needed. Before the start a failure is kept, to be told
         */
        if (!s->w->warm) {
            snprintf(s->w->failed, sizeof s->w->failed, "%.250s", words ? words : "closed at once");
            jm_worker_warm(s->w);
        }
        return;
    }
    if (s->state == JM_SLOT_CONNECTING) {
        fail(s, why == JM_LOST_TLS ? JM_END_TLS : JM_END_REFUSED, words ? words : "the connection was closed",
             t);
        return;
    }
    /* A kept connection that the server closed for idleness just as the request was sent. Only when not one
     * byte of an answer came, only once, and only at once: an engine that worked on it before it died must
     * not work again. */
    if (!s->call.http.seen && s->prompt.wire.len && r->reused && !s->resent &&
        t - s->admitted < RESEND_WITHIN && (why == JM_LOST_END || why == JM_LOST_RESET)) {
        s->resent = true;
        atomic_fetch_add(&s->w->l->resent, 1);
        r->t[JM_T_SENT] = -1;
        s->state = JM_SLOT_CONNECTING;
        s->since = t;
        if (!jm_slot_open(s))
            fail(s, JM_END_REFUSED, s->w->failed, t);
        return;
    }
    if (why == JM_LOST_TLS)
        jm_call_fail(&s->call, JM_END_TLS, words, t);
    else if (why == JM_LOST_REFUSED)
        jm_call_fail(&s->call, JM_END_REFUSED, words, t);
    else if (why == JM_LOST_PROTOCOL)
        jm_call_fail(&s->call, JM_END_PROTOCOL, words, t);
    else
        jm_call_closed(&s->call, words, t);
    finish(s);
}

/* "no byte for 60 s" */
static void over_limit(struct jm_slot *s, enum jm_end end, const char *what, int64_t limit, int64_t now)
{
    char words[160];
    snprintf(words, sizeof words, "%s within the client's limit of %.6g s", what, (double)limit / 1e9);
    drop_link(s);
    fail(s, end, words, now);
}

void jm_slot_check(struct jm_slot *s, int64_t now)
{
    const struct jm_client *c = &s->w->l->client;
    const struct jm_request *r = &s->call.r;
    if (s->state == JM_SLOT_CONNECTING) {
        if (now - s->since > c->connect_ns)
            over_limit(s, JM_END_REFUSED, "no connection", c->connect_ns, now);
        return;
    }
    if (s->state == JM_SLOT_IDLE && expired(s, now)) { /* a new one is there before the next request */
        drop_link(s);
        atomic_fetch_add(&s->w->l->renewed, 1);
        if (!s->w->stopped)
            jm_slot_open(s);
    }
    if (s->state != JM_SLOT_BUSY)
        return;
    if (s->done_at >= 0 &&
        now - s->done_at > DONE_GRACE) { /* all content came; some proxies keep the stream open */
        drop_link(s);
        jm_call_closed(&s->call, "the answer was complete, its connection stayed open", s->done_at);
        finish(s);
    } else if (now - s->admitted > c->total_ns) {
        over_limit(s, JM_END_TIMEOUT, "the request was not done", c->total_ns, now);
    } else if (r->t[JM_T_CONNECTED] < 0) { /* of a transport that connects late */
        if (now - s->since > c->connect_ns)
            over_limit(s, JM_END_REFUSED, "no connection", c->connect_ns, now);
    } else if (r->t[JM_T_SENT] < 0 ? now - s->since > c->stall_ns : false) {
        over_limit(s, JM_END_STALLED, "the request was not taken", c->stall_ns, now);
    } else if (r->t[JM_T_SENT] >= 0 && r->t[JM_T_HEADERS] < 0 && now - r->t[JM_T_SENT] > c->header_ns) {
        over_limit(s, JM_END_STALLED, "no response header", c->header_ns, now);
    } else if (r->t[JM_T_HEADERS] >= 0 && now - s->since > c->stall_ns) {
        over_limit(s, JM_END_STALLED, "no further byte", c->stall_ns, now);
    }
}

void jm_slot_abandon(struct jm_slot *s, const char *words)
{
    if (s->state != JM_SLOT_BUSY && s->state != JM_SLOT_CONNECTING)
        return;
    drop_link(s);
    fail(s, JM_END_UNFINISHED, words, -1);
}
