/* SPDX-License-Identifier: Apache-2.0 */
/* Connections by libcurl, for HTTP/2, proxies and compressed answers. A link is one place for a request after
 * the other; which connection carries it, alone or beside others (HTTP/2), is libcurl's choice.
 *
 * libcurl's callbacks only note what happened. The owner is told afterwards, outside of libcurl, because it
 * may send or close. */
#include "load/transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load/curl_socks.h"
#include "load/reframe.h"

#include "base/banned.h"

#define RESEND_WITHIN JM_NS_PER_S

struct pool;

struct piece { /* bytes of an answer with one stamp */
    int64_t t;
    uint32_t behind_us;
    size_t n;
};

struct jm_link {
    struct pool *pool;
    void *self;
    const struct jm_link_user *user;
    struct jm_curl_job *job;
    struct jm_str url, headers, headers_before;
    struct jm_reframe frame;
    bool warming; /* a first, small request opens the connection before the start */
    bool again;   /* written once more already */
    bool had_bytes;
    bool dead; /* closed; freed when nobody holds it */
    int held;
    struct jm_curl_spot spot;
    int64_t asked, sent_at;

    /* noted, to be told */
    struct jm_link *next_news, *next_waiting;
    bool queued, ready, was_connected, reused, was_sent, was_resent, is_over;
    int64_t t_connected, t_sent, t_over;
    struct jm_curl_over over;
    struct jm_str got;
    struct piece *piece;
    size_t pieces, pieces_cap;
};

struct pool {
    struct jm_link_env *env;
    const struct jm_curl_ops *ops;
    struct jm_curl_socks *socks;
    struct jm_link *news, **news_end;
    struct jm_link *waiting; /* to be warmed when the HTTP version is known */
    int http;                /* of the first answer: 0 not known, 20 many requests share a connection */
    struct jm_link *asking;  /* whose first answer is under way */
    bool telling;
    struct jm_str told; /* spare buffers, so that an owner may send while it is told */
    struct piece *told_piece;
    size_t told_cap;
};

static int64_t now_of(const struct pool *p)
{
    return jm_clock_mono(&p->env->clock);
}

static void note(struct jm_link *l)
{
    struct pool *p = l->pool;
    if (l->queued)
        return;
    l->queued = true;
    l->next_news = NULL;
    *p->news_end = l;
    p->news_end = &l->next_news;
}

static void link_free(struct jm_link *l)
{
    jm_str_release(&l->url);
    jm_str_release(&l->headers);
    jm_str_release(&l->headers_before);
    jm_str_release(&l->got);
    free(l->piece);
    free(l);
}

/* --- what libcurl says of a transfer
 * ------------------------------------------------------------------------- */
static void job_connected(void *self, int local_port, bool reused)
{
    struct jm_link *l = self;
    l->spot = (struct jm_curl_spot){.port = local_port};
    l->was_connected = true;
    l->reused = reused;
    l->t_connected = now_of(l->pool);
    if (!reused)
        atomic_fetch_add(&l->pool->env->answers.connections, 1);
    note(l);
}

static void job_sent(void *self)
{
    struct jm_link *l = self;
    l->was_sent = true;
    l->t_sent = l->sent_at = now_of(l->pool);
    note(l);
}

/* Whether bytes came since the request was begun. libcurl holds a header line back until it is whole, but a
 * look at the socket has seen its first byte. On a connection that many share it proves nothing; there frames
 * are whole or not at all. */
static bool heard(struct jm_link *l)
{
    const struct pool *p = l->pool;
    if (l->had_bytes || l->frame.in_head || l->frame.headed)
        return true;
    if (p->http == 20)
        return false;
    l->had_bytes = jm_curl_socks_heard(p->socks, &l->spot) >= l->asked;
    return l->had_bytes;
}

/* The rule of every transport: once, at once, and only when not one byte of an answer came. */
static bool job_again(void *self)
{
    struct jm_link *l = self;
    if (l->again || heard(l) || now_of(l->pool) - l->asked > RESEND_WITHIN)
        return false;
    l->again = l->was_resent = true;
    l->was_sent = false;
    note(l);
    return true;
}

/* Bytes were added to l->got from `before` on, for `taken` ones that are handed out now. A header's lines of
 * HTTP/2 were shorter on the wire. */
static void add_piece(struct jm_link *l, size_t before, size_t taken)
{
    uint32_t behind_us;
    bool raw = !l->frame.coding[0];
    if (l->pool->http == 20 && !l->frame.headed)
        taken = 0;
    int64_t t =
        jm_curl_socks_stamp(l->pool->socks, &l->spot, taken, raw, l->asked, now_of(l->pool), &behind_us);
    size_t n = l->got.len - before;
    struct piece *last = l->pieces ? &l->piece[l->pieces - 1] : NULL;
    if (!n)
        return;
    if (t < l->sent_at)
        t = l->sent_at;
    if (last && t <= last->t) {
        last->n += n;
    } else {
        if (l->pieces == l->pieces_cap) {
            size_t cap = l->pieces_cap ? 2 * l->pieces_cap : 8;
            struct piece *more = realloc(l->piece, cap * sizeof *more);
            if (!more) {
                l->got.failed = true;
                return;
            }
            l->piece = more;
            l->pieces_cap = cap;
        }
        l->piece[l->pieces++] = (struct piece){t, behind_us, n};
    }
    note(l);
}

static void job_head(void *self, const char *line, size_t n)
{
    struct jm_link *l = self;
    size_t before = l->got.len;
    if (l->warming)
        return;
    jm_reframe_head(&l->frame, (struct jm_span){line, n}, &l->got);
    add_piece(l, before, n);
}

static void job_body(void *self, const char *p, size_t n)
{
    struct jm_link *l = self;
    size_t before = l->got.len;
    if (l->warming)
        return;
    jm_reframe_body(&l->frame, (struct jm_span){p, n}, &l->got);
    add_piece(l, before, n);
}

static void count(struct jm_link *l, const struct jm_curl_over *o)
{
    struct jm_link_answers *a = &l->pool->env->answers;
    if (o->http == 10 || o->http == 11)
        atomic_fetch_add(&a->http1, 1);
    else if (o->http == 20)
        atomic_fetch_add(&a->http2, 1);
    else if (o->http == 30)
        atomic_fetch_add(&a->http3, 1);
    if (l->frame.coding[0]) {
        if (atomic_load(&a->compressed) == 0)
            memcpy(a->coding, l->frame.coding, sizeof a->coding);
        atomic_fetch_add(&a->compressed, 1);
    }
}

static void job_over(void *self, const struct jm_curl_over *o)
{
    struct jm_link *l = self;
    l->is_over = true;
    l->over = *o;
    l->t_over = now_of(l->pool);
    if (!l->warming) {
        size_t before = l->got.len;
        if (o->ok)
            jm_reframe_end(&l->frame, &l->got);
        else if (!l->frame.in_head && !l->frame.headed && heard(l))
            jm_str_adds(&l->got, "HTTP/1.1 "); /* for the part of a line that libcurl kept */
        if (l->pieces && l->got.len > before)
            l->piece[l->pieces - 1].n += l->got.len - before; /* they came with the last ones */
        else
            add_piece(l, before, 0);
        count(l, o);
    }
    note(l);
}

static const struct jm_curl_user job_user = {job_connected, job_sent, job_again,
                                             job_head,      job_body, job_over};

/* --- telling the owner
 * --------------------------------------------------------------------------------------- */
static void lose(struct jm_link *l, enum jm_lost why, const char *words, int64_t t)
{
    const struct jm_link_user *user = l->user;
    void *self = l->self;
    l->pool->ops->job_free(l->job);
    l->job = NULL;
    l->dead = true;
    user->lost(self, why, words, t);
}

static bool begin_warming(struct jm_link *l, bool fresh);

/* The version is known, so the others need not be asked one after the other: with HTTP/2 the connection is
 * theirs too, else each gets one of its own. */
static void warm_waiting(struct pool *p)
{
    struct jm_link *l;
    while ((l = p->waiting)) {
        p->waiting = l->next_waiting;
        if (p->http == 20 || !begin_warming(l, true)) {
            l->warming = false;
            l->ready = true;
            note(l);
        }
    }
}

static void tell_warm(struct jm_link *l)
{
    struct pool *p = l->pool;
    struct jm_curl_over o = l->over;
    l->warming = l->is_over = l->was_connected = l->was_sent = false;
    if (p->asking == l) {
        p->asking = NULL;
        p->http = o.http > 0 ? o.http : 11;
        warm_waiting(p);
    }
    if (!o.ok && (o.why == JM_LOST_REFUSED || o.why == JM_LOST_TLS))
        lose(l, o.why, o.words[0] ? o.words : NULL, l->t_over);
    else /* whatever the answer was: the way is open */
        l->user->ready(l->self, l->t_over);
}

static void tell_bytes(struct jm_link *l)
{
    struct pool *p = l->pool;
    struct jm_str got = l->got;
    struct piece *piece = l->piece;
    size_t n = l->pieces, at = 0, cap = l->pieces_cap;
    l->got = p->told; /* empty */
    l->piece = p->told_piece;
    l->pieces_cap = p->told_cap;
    l->pieces = 0;
    jm_str_init(&p->told);
    p->told_piece = NULL;
    p->told_cap = 0;
    bool failed = got.failed;
    for (size_t i = 0; i < n && !l->dead && !failed; i++) {
        p->env->behind_us = piece[i].behind_us;
        l->user->bytes(l->self, (struct jm_span){got.buf + at, piece[i].n}, piece[i].t);
        at += piece[i].n;
    }
    jm_str_release(&p->told);
    free(p->told_piece);
    jm_str_reset(&got);
    p->told = got;
    p->told_piece = piece;
    p->told_cap = cap;
    if (failed && !l->dead)
        lose(l, JM_LOST_RESET, "out of memory while reading", l->t_over);
}

static void tell(struct jm_link *l)
{
    struct jm_curl_over o;
    if (l->ready) {
        l->ready = false;
        l->user->ready(l->self, now_of(l->pool));
        return;
    }
    if (l->warming) {
        if (l->is_over)
            tell_warm(l);
        return;
    }
    bool resent = l->was_resent, connected = l->was_connected, sent = l->was_sent, over = l->is_over;
    l->was_resent = l->was_connected = l->was_sent = l->is_over = false;
    o = l->over;
    int64_t t = l->t_over;
    if (resent && !l->dead)
        l->user->resent(l->self);
    if (connected && !l->dead)
        l->user->connected(l->self, l->t_connected, l->reused);
    if (sent && !l->dead)
        l->user->sent(l->self, l->t_sent);
    if (l->pieces && !l->dead)
        tell_bytes(l);
    if (over && !o.ok && !l->dead)
        lose(l, o.why, o.words[0] ? o.words : NULL, t);
}

static void tell_all(void *self)
{
    struct pool *p = self;
    struct jm_link *l;
    if (p->telling)
        return;
    p->telling = true;
    while ((l = p->news)) {
        if (!(p->news = l->next_news))
            p->news_end = &p->news;
        l->queued = false;
        l->held++;
        if (!l->dead)
            tell(l);
        if (--l->held == 0 && l->dead && !l->queued)
            link_free(l);
    }
    p->telling = false;
}

/* Outside of a turn of the loop: the owner is told in the next one. */
static void tell_soon(struct pool *p)
{
    if (p->news && !p->telling)
        jm_curl_socks_soon(p->socks);
}

/* --- the transport
 * ------------------------------------------------------------------------------------------- */
static bool begin_request(struct jm_link *l, struct jm_span wire, bool fresh, long timeout_ms)
{
    const struct jm_client *c = l->pool->env->client;
    struct jm_split split;
    struct jm_curl_request r;
    struct jm_err err;
    char method[16];
    if (jm_split_request(wire, &split, &l->headers, &err) != 0)
        return false;
    bool same =
        l->headers_before.len && jm_span_eq(jm_str_span(&l->headers), jm_str_span(&l->headers_before));
    if (!same) {
        jm_str_reset(&l->headers_before);
        jm_str_addspan(&l->headers_before, jm_str_span(&l->headers));
    }
    snprintf(method, sizeof method, "%.*s", (int)(split.method.n < 15 ? split.method.n : 15), split.method.p);
    jm_str_reset(&l->url);
    jm_str_addf(&l->url, "http%s://%s", c->target.tls ? "s" : "", c->target.authority);
    jm_str_addspan(&l->url, split.target);
    r = (struct jm_curl_request){.method = method,
                                 .url = l->url.buf,
                                 .headers = split.headers,
                                 .same_headers = same,
                                 .body = split.body.p,
                                 .body_n = split.body.n,
                                 .fresh = fresh,
                                 .timeout_ms = timeout_ms};
    jm_reframe_begin(&l->frame, true);
    l->again = l->had_bytes = false;
    l->spot = (struct jm_curl_spot){0};
    l->sent_at = 0;
    l->asked = now_of(l->pool);
    if (l->url.failed || l->headers_before.failed || !l->pool->ops->start(l->job, &r))
        return false;
    jm_curl_socks_turn(l->pool->socks);
    return true;
}

/* Before the start a small request opens the connection, so that neither TCP nor TLS nor a proxy's tunnel
 * stands in a measured time. */
static bool begin_warming(struct jm_link *l, bool fresh)
{
    const struct jm_client *c = l->pool->env->client;
    struct jm_str wire;
    jm_str_init(&wire);
    l->warming = true;
    bool ok = jm_client_request(c, "GET", "/v1/models", true, (struct jm_span){0}, &wire, NULL) == 0 &&
              begin_request(l, jm_str_span(&wire), fresh, (long)(c->connect_ns / JM_NS_PER_MS));
    jm_str_release(&wire);
    return ok;
}

static bool warm(struct jm_link *l)
{
    struct pool *p = l->pool;
    if (p->asking) {
        l->warming = true;
        l->next_waiting = p->waiting;
        p->waiting = l;
        return true;
    }
    if (p->http == 20) {
        l->ready = true;
        note(l);
        return true;
    }
    if (p->http == 0)
        p->asking = l;
    return begin_warming(l, true);
}

static int link_open(struct jm_link_env *env, void *self, const struct jm_link_user *user,
                     struct jm_link **out, struct jm_err *err)
{
    struct pool *p = env->pool;
    struct jm_link *l = calloc(1, sizeof *l);
    if (!l)
        return jm_err_set(err, JM_ENOMEM, "out of memory for a connection");
    l->pool = p;
    l->self = self;
    l->user = user;
    jm_str_init(&l->url);
    jm_str_init(&l->headers);
    jm_str_init(&l->headers_before);
    jm_str_init(&l->got);
    l->job = p->ops->job_new(jm_curl_socks_pool(p->socks), &job_user, l);
    if (l->job && env->going) {
        l->ready = true; /* a request waits: it connects by itself where nothing is kept */
        note(l);
    }
    if (!l->job || (!env->going && !warm(l))) {
        p->ops->job_free(l->job);
        l->job = NULL;
        l->dead = true;
        if (!l->queued)
            link_free(l);
        return jm_err_set(err, JM_ENOMEM, "out of memory for a connection");
    }
    tell_soon(p);
    *out = l;
    return 0;
}

static void link_send(struct jm_link *l, struct jm_span bytes)
{
    struct pool *p = l->pool;
    if (!begin_request(l, bytes, false, 0)) {
        l->is_over = true;
        l->t_over = now_of(p);
        l->over = (struct jm_curl_over){.why = JM_LOST_RESET};
        snprintf(l->over.words, sizeof l->over.words, "the request could not be begun: out of memory");
        note(l);
    }
    tell_soon(p);
}

static void link_close(struct jm_link *l)
{
    struct pool *p = l->pool;
    if (l->dead)
        return;
    for (struct jm_link **at = &p->waiting; *at; at = &(*at)->next_waiting)
        if (*at == l) {
            *at = l->next_waiting;
            break;
        }
    if (p->asking == l) {
        p->asking = NULL;
        p->http = 11; /* not known, so each of the others opens its own */
        warm_waiting(p);
    }
    p->ops->job_free(l->job);
    l->job = NULL;
    l->dead = true;
    if (!l->held && !l->queued)
        link_free(l);
    tell_soon(p); /* what is queued is freed there */
}

static void link_look(struct jm_link *l)
{
    int fd = jm_curl_socks_fd(l->pool->socks, &l->spot);
    if (fd >= 0)
        jm_link_look_fd(l->pool->env, fd);
}

static void env_end(struct jm_link_env *env)
{
    struct pool *p = env->pool;
    if (!p)
        return;
    env->pool = NULL;
    if (p->socks) {
        tell_all(p); /* frees links that were closed */
        jm_curl_socks_free(p->socks);
    }
    jm_str_release(&p->told);
    free(p->told_piece);
    free(p);
}

static int env_begin(struct jm_link_env *env, struct jm_err *err)
{
    struct pool *p = calloc(1, sizeof *p);
    if (!p)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the transport curl");
    p->env = env;
    p->ops = env->client->curl;
    if (env->client->http == JM_HTTP_1_1 || (env->client->http == JM_HTTP_AUTO && !env->client->target.tls))
        p->http = 11;
    p->news_end = &p->news;
    jm_str_init(&p->told);
    env->pool = p;
    return jm_curl_socks_new(env, tell_all, p, &p->socks, err);
}

const struct jm_transport jm_transport_curl = {
    .name = "curl",
    .begin = env_begin,
    .end = env_end,
    .open = link_open,
    .send = link_send,
    .close = link_close,
    .look = link_look,
    .connects_late = true,
};
