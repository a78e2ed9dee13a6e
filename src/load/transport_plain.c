/* SPDX-License-Identifier: Apache-2.0 */
/* Own TCP sockets, read with recvmsg() so that the kernel's receive stamp comes with the bytes. uv_tcp and
 * OpenSSL's socket BIO would hide it; so TLS is fed in memory, and its plaintext has the stamp of the read
 * that completed its record.
 *
 * The sockets are in an epoll set of the worker's own, edge-triggered: libuv's is level-triggered, which asks
 * every socket a second time whether it has more, and that costs as much as parsing an event. */
#include "load/transport.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

#define READS_AT_ONCE 8     /* then the other connections get their turn */
#define RECORD_BYTES  16384 /* of plaintext in one TLS record, RFC 8446 5.1 */

enum state { CONNECTING, HANDSHAKE, OPEN, CLOSED };

struct jm_link {
    int fd;
    enum state state;
    int failed;           /* errno of a send */
    bool sending, again;  /* again: in the list of those that have more to read */
    struct jm_link *next; /* of that list, or of the closed ones */
    struct jm_link_env *env;
    void *self;
    const struct jm_link_user *user;
    struct jm_span out; /* still to be sent, plain */
    struct jm_tls_session *tls;
    int64_t earliest; /* no later read can have an earlier stamp */
};

struct pool { /* one a thread */
    struct jm_link *again, *closed;
};

static int64_t now_of(const struct jm_link *l)
{
    return jm_clock_mono(&l->env->clock);
}

static void link_close(struct jm_link *l)
{
    if (l->state == CLOSED)
        return;
    if (l->tls) {
        if (l->state == OPEN) { /* a closing alert, as far as it can be sent at once */
            const char *p;
            l->env->client->tls->shutdown(l->tls);
            size_t n = l->env->client->tls->pending(l->tls, &p);
            if (n)
                (void)!send(l->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        l->env->client->tls->close(l->tls);
    }
    l->tls = NULL;
    l->state = CLOSED;
    close(l->fd); /* and so out of the epoll set; events that were taken from it already may still name it */
    if (!l->again) {
        struct pool *p = l->env->pool;
        l->next = p->closed;
        p->closed = l;
    }
}

static void lose(struct jm_link *l, enum jm_lost why, const char *words)
{
    const struct jm_link_user *user = l->user;
    void *self = l->self;
    int64_t t = now_of(l);
    if (l->state == CLOSED)
        return;
    link_close(l);
    user->lost(self, why, words, t);
}

static void lose_errno(struct jm_link *l, int e)
{
    char buf[96], words[192];
    if (l->state == CONNECTING) {
        jm_target_why(&l->env->client->target, e, words, sizeof words);
        lose(l, JM_LOST_REFUSED, words);
    } else {
        lose(l, JM_LOST_RESET,
             e == ECONNRESET || e == EPIPE ? "the connection was reset" : strerror_r(e, buf, sizeof buf));
    }
}

static void read_later(struct jm_link *l)
{
    struct pool *p = l->env->pool;
    if (l->again)
        return;
    l->again = true;
    l->next = p->again;
    p->again = l;
}

/* Sends what is there. False when the link was lost. The moment told as sent is that before the last send():
 * after it, this thread may have lost its processor, and the answer would seem to come first. */
static bool flush(struct jm_link *l)
{
    const struct jm_tls_ops *tls = l->env->client->tls;
    int64_t at = l->earliest;
    if (l->failed)
        return false;
    for (;;) {
        const char *p = l->out.p;
        size_t n = l->tls ? tls->pending(l->tls, &p) : l->out.n;
        if (!n)
            break;
        at = now_of(l);
        ssize_t k = send(l->fd, p, n, MSG_NOSIGNAL);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0 && errno == EAGAIN)
            return true; /* an event comes when there is room */
        if (k < 0) {     /* there may be an answer to be read, which says why */
            l->failed = errno;
            read_later(l);
            return false;
        }
        if (l->tls)
            tls->sent(l->tls, (size_t)k);
        else
            l->out = jm_span_sub(l->out, (size_t)k, n);
    }
    if (l->sending) {
        l->sending = false;
        l->earliest = at > l->earliest ? at : l->earliest; /* the answer cannot be older */
        l->user->sent(l->self, at);
    }
    return l->state != CLOSED;
}

static void link_send(struct jm_link *l, struct jm_span bytes)
{
    l->sending = true;
    if (!l->tls)
        l->out = bytes;
    else if (!l->env->client->tls->write(l->tls, bytes.p, bytes.n)) {
        lose(l, JM_LOST_TLS, "TLS could not take the request");
        return;
    }
    flush(l);
}

static void handshake(struct jm_link *l)
{
    char why[JM_TLS_WHY] = "";
    int rc = l->env->client->tls->handshake(l->tls, why);
    if (rc == JM_TLS_FAILED) {
        lose(l, JM_LOST_TLS, why);
        return;
    }
    if (!flush(l) || rc == JM_TLS_MORE)
        return;
    l->state = OPEN;
    l->user->ready(l->self, now_of(l));
}

static void connected(struct jm_link *l)
{
    const struct jm_client *c = l->env->client;
    int e = 0;
    socklen_t n = sizeof e;
    if (getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &e, &n) != 0)
        e = errno;
    if (e) {
        lose_errno(l, e);
        return;
    }
    l->earliest = now_of(l);
    if (c->tls) {
        l->state = HANDSHAKE;
        if ((!l->env->plain && !(l->env->plain = malloc(RECORD_BYTES))) ||
            !(l->tls = c->tls->open(c->tls_ctx, c->target.host, c->target.is_ip))) {
            lose(l, JM_LOST_TLS, "TLS could not be started: out of memory");
            return;
        }
        handshake(l);
        return;
    }
    l->state = OPEN;
    l->user->ready(l->self, l->earliest);
}

/* Ciphertext is in; hands out the plaintext of its complete records. */
static void plaintext(struct jm_link *l, int64_t t)
{
    const struct jm_tls_ops *tls = l->env->client->tls;
    char why[JM_TLS_WHY] = "";
    if (l->state == HANDSHAKE)
        handshake(l);
    while (l->state == OPEN) {
        int n = tls->read(l->tls, l->env->plain, RECORD_BYTES, why);
        if (n == JM_TLS_MORE)
            break;
        if (n == JM_TLS_CLOSED) {
            lose(l, JM_LOST_END, NULL);
            return;
        }
        if (n == JM_TLS_FAILED) {
            lose(l, JM_LOST_TLS, why);
            return;
        }
        l->user->bytes(l->self, (struct jm_span){l->env->plain, (size_t)n}, t);
    }
    if (l->state == OPEN)
        flush(l); /* key updates and the like */
}

static uint32_t behind_us(int64_t ns)
{
    int64_t us = ns / JM_NS_PER_US;
    return us < 0 ? 0 : us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

/* One read: its bytes, 0 when there is nothing now, or the link is gone. */
static size_t read_once(struct jm_link *l)
{
    union {
        char b[CMSG_SPACE(sizeof(struct timespec)) + 64];
        struct cmsghdr align;
    } control;
    struct iovec v = {l->env->buf, l->env->buf_n};
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t n;
    while ((n = recvmsg(l->fd, &m, 0)) < 0 && errno == EINTR)
        ;
    if (n < 0) {
        if (errno != EAGAIN)
            lose_errno(l, errno);
        return 0;
    }
    if (n == 0) {
        if (l->tls) /* without the closing alert somebody on the way may have cut it */
            lose(l, l->state == HANDSHAKE ? JM_LOST_TLS : JM_LOST_RESET,
                 l->state == HANDSHAKE ? "TLS handshake failed: the server closed the connection"
                                       : "the connection was closed without the end of TLS");
        else
            lose(l, JM_LOST_END, NULL);
        return 0;
    }
    int64_t now = now_of(l), t = jm_stamps_of(&l->env->stamps, &m, now, l->earliest);
    t = jm_stamps_readable(&l->env->stamps, t, now, l->env->floor);
    l->earliest = t;
    l->env->behind_us = behind_us(now - t);
    if (n > l->env->read_most)
        l->env->read_most = n;
    jm_hist_add(&l->env->behind, l->env->behind_us);
    if (l->tls) {
        l->env->client->tls->feed(l->tls, l->env->buf, (size_t)n);
        plaintext(l, t);
    } else {
        l->user->bytes(l->self, (struct jm_span){l->env->buf, (size_t)n}, t);
    }
    return (size_t)n;
}

/* The connection failed or was closed by the other side, and no further event will come: all that is left
 * must be read now, up to the cause. */
static void read_last(struct jm_link *l)
{
    while (l->state != CLOSED && read_once(l))
        ;
    if (l->state != CLOSED) {
        int e = 0;
        socklen_t n = sizeof e;
        getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &e, &n);
        if (e)
            lose_errno(l, e);
    }
}

/* Reads until a read is not full: what comes after it is an event of its own. */
static void read_some(struct jm_link *l)
{
    for (int i = 0; l->state != CLOSED; i++) {
        if (i == READS_AT_ONCE) {
            read_later(l);
            return;
        }
        if (read_once(l) != l->env->buf_n)
            return;
    }
}

static void on_event(struct jm_link *l, uint32_t events)
{
    if (l->state == CLOSED)
        return;
    if (l->state == CONNECTING) {
        if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
            return;
        connected(l);
    } else if ((events & EPOLLOUT) && (l->sending || l->tls) && !flush(l)) {
        return;
    }
    if (l->state == CLOSED)
        return;
    if (events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP))
        read_last(l);
    else if ((events & EPOLLIN) && !l->again)
        read_some(l);
}

void jm_link_look_fd(struct jm_link_env *env, int fd)
{
    struct tcp_info info;
    socklen_t n = sizeof info, m = sizeof(int);
    int bytes = 0;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 && n > offsetof(struct tcp_info, tcpi_rttvar) &&
        info.tcpi_rtt > 0)
        jm_hist_add(&env->rtt, info.tcpi_rtt);
    if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &m) == 0 && bytes > env->rcvbuf)
        env->rcvbuf = bytes;
}

static void plain_look(struct jm_link *l)
{
    if (l->state == OPEN)
        jm_link_look_fd(l->env, l->fd);
}

static void plain_events(struct jm_link_env *env, const struct epoll_event *ev, int n)
{
    struct pool *p = env->pool;
    struct jm_link *list = p->again, *l;
    p->again = NULL;
    while ((l = list)) {
        list = l->next;
        l->again = false;
        if (l->state == CLOSED) { /* was kept out of the closed ones by being here */
            l->next = p->closed;
            p->closed = l;
        } else if (l->failed) {
            int e = l->failed;
            read_last(l);
            lose_errno(l, e);
        } else {
            read_some(l);
        }
    }
    for (int i = 0; i < n; i++)
        if (ev[i].data.ptr)
            on_event(ev[i].data.ptr, ev[i].events);
    while ((l = p->closed)) {
        p->closed = l->next;
        free(l);
    }
}

static bool plain_pending(const struct jm_link_env *env)
{
    return ((const struct pool *)env->pool)->again != NULL;
}

static int plain_begin(struct jm_link_env *env, struct jm_err *err)
{
    env->pool = calloc(1, sizeof(struct pool));
    return env->pool ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory for connections");
}

static void plain_end(struct jm_link_env *env)
{
    if (env->pool)
        plain_events(env, NULL, 0);
    free(env->pool);
    env->pool = NULL;
}

static int link_open(struct jm_link_env *env, void *self, const struct jm_link_user *user,
                     struct jm_link **out, struct jm_err *err)
{
    const struct jm_target *t = &env->client->target;
    struct jm_link *l = calloc(1, sizeof *l);
    if (!l)
        return jm_err_set(err, JM_ENOMEM, "out of memory for a connection");
    l->env = env;
    l->self = self;
    l->user = user;
    l->fd = jm_target_socket(t);
    if (l->fd < 0) {
        int e = errno;
        free(l);
        return jm_target_no_socket(e, err);
    }
    jm_stamps_enable(l->fd);
    /* a refusal shows as SO_ERROR at the first poll event */
    int rc = connect(l->fd, (const struct sockaddr *)&t->addr[t->good].sa, t->addr[t->good].len);
    if (rc != 0 && errno != EINPROGRESS) {
        char words[192];
        jm_target_why(t, errno, words, sizeof words);
        close(l->fd);
        free(l);
        return jm_err_set(err, JM_ENET, "%s", words);
    }
    struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = l};
    if (epoll_ctl(env->epoll, EPOLL_CTL_ADD, l->fd, &e) != 0) {
        int why = errno;
        close(l->fd);
        free(l);
        return jm_err_sys(err, why, "a connection cannot be watched");
    }
    *out = l;
    return 0;
}

const struct jm_transport jm_transport_plain = {
    .name = "plain",
    .begin = plain_begin,
    .end = plain_end,
    .open = link_open,
    .send = link_send,
    .close = link_close,
    .events = plain_events,
    .pending = plain_pending,
    .look = plain_look,
};
