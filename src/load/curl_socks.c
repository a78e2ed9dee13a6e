/* SPDX-License-Identifier: Apache-2.0 */
#include "load/curl_socks.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "base/banned.h"

#define TURNS_MOST 64 /* of libcurl's timer at once; then the other sockets get their turn */

struct jm_curl_sock {
    uv_poll_t poll;
    struct jm_curl_socks *pool;
    struct jm_curl_sock *next, *before;
    int fd, port, events;
    unsigned life;
    int64_t stamp, looked;   /* of what waited at the last look, and when that was; 0: never */
    int64_t waiting, handed; /* bytes: that waited then, and that were handed out since */
};

struct jm_curl_socks {
    struct jm_link_env *env;
    const struct jm_curl_ops *ops;
    struct jm_curl_pool *multi;
    void (*after)(void *owner);
    void *owner;
    uv_timer_t timer;
    uv_idle_t idle;
    int closing; /* handles that are not closed yet */
    bool ended, due;
    struct jm_curl_sock *list, *spare;
    int dropped_port; /* of the last socket that is no more */
    int64_t dropped_looked;
};

static int64_t now_of(const struct jm_curl_socks *p)
{
    return jm_clock_mono(&p->env->clock);
}

static void look(struct jm_curl_sock *s)
{
    struct jm_link_env *env = s->pool->env;
    union {
        char b[CMSG_SPACE(sizeof(struct timespec)) + 64];
        struct cmsghdr align;
    } control;
    struct iovec v = {env->buf, env->buf_n};
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    int waiting = 0;
    /* asked first, because an error of the connection would be told to this look, not to libcurl */
    if (ioctl(s->fd, FIONREAD, &waiting) != 0 || waiting <= 0 ||
        recvmsg(s->fd, &m, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT) <= 0)
        return;
    int64_t kernel = env->stamps.kernel;
    s->looked = now_of(s->pool);
    s->waiting = waiting;
    s->handed = 0;
    s->stamp = jm_stamps_of(&env->stamps, &m, s->looked, s->stamp);
    s->stamp = jm_stamps_readable(&env->stamps, s->stamp, s->looked, env->floor);
    env->stamps.kernel = kernel; /* counted for each piece that gets it, not for each look */
    jm_hist_add(&env->behind, (s->looked - s->stamp) / JM_NS_PER_US);
    if (waiting > env->read_most)
        env->read_most = waiting;
}

static void find_port(struct jm_curl_sock *s)
{
    struct sockaddr_storage a;
    socklen_t n = sizeof a;
    if (s->port > 0 || getsockname(s->fd, (struct sockaddr *)&a, &n) != 0)
        return;
    if (a.ss_family == AF_INET)
        s->port = ntohs(((const struct sockaddr_in *)(const void *)&a)->sin_port);
    else if (a.ss_family == AF_INET6)
        s->port = ntohs(((const struct sockaddr_in6 *)(const void *)&a)->sin6_port);
}

static struct jm_curl_sock *sock_at(struct jm_curl_socks *p, struct jm_curl_spot *at)
{
    if (at->sock && at->sock->life == at->life)
        return at->sock;
    at->sock = NULL;
    for (struct jm_curl_sock *s = p->list; s && !at->sock && at->port > 0; s = s->next) {
        find_port(s);
        if (s->port == at->port) {
            at->sock = s;
            at->life = s->life;
        }
    }
    return at->sock;
}

int64_t jm_curl_socks_stamp(struct jm_curl_socks *p, struct jm_curl_spot *at, size_t n, bool raw,
                            int64_t since, int64_t now, uint32_t *behind_us)
{
    struct jm_curl_sock *s = sock_at(p, at);
    *behind_us = 0;
    if (s && raw)
        s->handed += (int64_t)n;
    if (!s || s->looked < since || (raw ? s->handed > s->waiting : now - s->looked > JM_CURL_FRESH)) {
        p->env->stamps.user++;
        return now;
    }
    int64_t us = (now - s->stamp) / JM_NS_PER_US;
    p->env->stamps.kernel++;
    *behind_us = us < 0 ? 0 : us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
    return s->stamp;
}

int64_t jm_curl_socks_heard(struct jm_curl_socks *p, struct jm_curl_spot *at)
{
    const struct jm_curl_sock *s = sock_at(p, at);
    int64_t t = s ? s->looked : at->port > 0 && p->dropped_port == at->port ? p->dropped_looked : 0;
    return t > 0 ? t : -1;
}

int jm_curl_socks_fd(struct jm_curl_socks *p, struct jm_curl_spot *at)
{
    const struct jm_curl_sock *s = sock_at(p, at);
    return s ? s->fd : -1;
}

static void on_timer(uv_timer_t *h);

static void turn(struct jm_curl_socks *p, int fd, int what)
{
    p->due = false;
    p->ops->run(p->multi, fd, what);
    for (int i = 0; p->due && i < TURNS_MOST; i++) {
        p->due = false;
        p->ops->run(p->multi, -1, 0);
    }
    if (p->due)
        uv_timer_start(&p->timer, on_timer, 0, 0);
}

static void on_poll(uv_poll_t *h, int status, int events)
{
    struct jm_curl_sock *s = h->data;
    struct jm_curl_socks *p = s->pool;
    /* an error (POLLERR) ends libuv's watch: what came before it is read first, then it shows as the cause */
    bool readable = (events & UV_READABLE) || status < 0;
    if (readable)
        look(s);
    turn(p, s->fd, (readable ? 1 : 0) | (events & UV_WRITABLE ? 2 : 0));
    if (status < 0 && !uv_is_closing((uv_handle_t *)h) && s->events)
        uv_poll_start(h, s->events, on_poll);
    p->after(p->owner);
}

static void on_timer(uv_timer_t *h)
{
    struct jm_curl_socks *p = h->data;
    turn(p, -1, 0);
    p->after(p->owner);
}

static void on_idle(uv_idle_t *h)
{
    struct jm_curl_socks *p = h->data;
    uv_idle_stop(h);
    p->after(p->owner);
}

static void part_closed(struct jm_curl_socks *p)
{
    if (--p->closing == 0 && p->ended)
        free(p);
}

/* Its memory is kept for the next one: a link may still point to it, and sees by the turn of its life that it
 * is another. */
static void sock_closed(uv_handle_t *h)
{
    struct jm_curl_sock *s = h->data;
    struct jm_curl_socks *p = s->pool;
    if (p->ended) {
        free(s);
    } else {
        s->next = p->spare;
        p->spare = s;
    }
    part_closed(p);
}

static void drop_sock(struct jm_curl_sock *s)
{
    find_port(s);
    s->pool->dropped_port = s->port;
    s->pool->dropped_looked = s->looked;
    *(s->before ? &s->before->next : &s->pool->list) = s->next;
    if (s->next)
        s->next->before = s->before;
    s->life++;
    s->pool->closing++;
    uv_poll_stop(&s->poll);
    uv_close((uv_handle_t *)&s->poll, sock_closed);
}

static struct jm_curl_sock *new_sock(struct jm_curl_socks *p, int fd)
{
    struct jm_curl_sock *s = p->spare;
    unsigned life = s ? s->life : 0;
    if (s)
        p->spare = s->next;
    else if (!(s = calloc(1, sizeof *s)))
        return NULL;
    *s = (struct jm_curl_sock){.pool = p, .fd = fd, .life = life};
    if (uv_poll_init_socket(p->env->loop, &s->poll, fd) != 0) {
        s->next = p->spare;
        p->spare = s;
        return NULL;
    }
    s->poll.data = s;
    jm_stamps_enable(fd);
    s->next = p->list;
    if (s->next)
        s->next->before = s;
    p->list = s;
    return s;
}

static void watch_socket(void *self, int fd, int what, void **at)
{
    struct jm_curl_socks *p = self;
    struct jm_curl_sock *s = *at;
    if (what < 0) {
        if (s)
            drop_sock(s);
        *at = NULL;
        return;
    }
    if (!s && !(s = new_sock(p, fd)))
        return; /* the client's time limit will say that nothing comes */
    *at = s;
    s->events = (what & 1 ? UV_READABLE : 0) | (what & 2 ? UV_WRITABLE : 0);
    if (s->events)
        uv_poll_start(&s->poll, s->events, on_poll);
    else
        uv_poll_stop(&s->poll);
}

static void watch_timer(void *self, long ms)
{
    struct jm_curl_socks *p = self;
    p->due = ms == 0;
    if (ms < 0)
        uv_timer_stop(&p->timer);
    else
        uv_timer_start(&p->timer, on_timer, (uint64_t)ms, 0);
}

static void pool_part_closed(uv_handle_t *h)
{
    part_closed(h->data);
}

void jm_curl_socks_free(struct jm_curl_socks *p)
{
    p->ops->pool_free(p->multi);
    while (p->list)
        drop_sock(p->list);
    while (p->spare) {
        struct jm_curl_sock *s = p->spare;
        p->spare = s->next;
        free(s);
    }
    p->ended = true;
    p->closing += 2;
    uv_timer_stop(&p->timer);
    uv_idle_stop(&p->idle);
    uv_close((uv_handle_t *)&p->timer, pool_part_closed);
    uv_close((uv_handle_t *)&p->idle, pool_part_closed);
}

int jm_curl_socks_new(struct jm_link_env *env, void (*after)(void *owner), void *owner,
                      struct jm_curl_socks **out, struct jm_err *err)
{
    static const struct jm_curl_watch watch = {watch_socket, watch_timer};
    struct jm_curl_socks *p = calloc(1, sizeof *p);
    int rc;
    if (!p)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the transport curl");
    p->env = env;
    p->ops = env->client->curl;
    p->after = after;
    p->owner = owner;
    if ((rc = uv_timer_init(env->loop, &p->timer)) != 0) {
        free(p);
        return jm_err_set(err, JM_EIO, "an event loop cannot be set up: %s", uv_strerror(rc));
    }
    uv_idle_init(env->loop, &p->idle); /* cannot fail */
    p->timer.data = p->idle.data = p;
    *out = p;
    p->multi = p->ops->pool_new(&env->client->setup, &watch, p);
    return p->multi ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory for the transport curl");
}

struct jm_curl_pool *jm_curl_socks_pool(const struct jm_curl_socks *p)
{
    return p->multi;
}

void jm_curl_socks_turn(struct jm_curl_socks *p)
{
    turn(p, -1, 0);
}

void jm_curl_socks_soon(struct jm_curl_socks *p)
{
    uv_idle_start(&p->idle, on_idle);
}
