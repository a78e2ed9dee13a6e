/* SPDX-License-Identifier: Apache-2.0 */
#include "http_parse.h"
#include "engine.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

int sim_http_open(struct sim_http *h, const char *host, int port, char *why, size_t whylen)
{
    char service[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV},
                    *list = NULL;
    snprintf(service, sizeof service, "%d", port);
    h->listener = h->epoll = -1;
    int rc = getaddrinfo(host, service, &hints, &list);
    if (rc) {
        snprintf(why, whylen, "The address %s cannot be used: %s.", host, gai_strerror(rc));
        return -1;
    }
    int fd = socket(list->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (fd < 0 || bind(fd, list->ai_addr, list->ai_addrlen) < 0 || listen(fd, 4096) < 0) {
        snprintf(why, whylen, "Port %d of %s cannot be listened on: %s.", port, host, strerror(errno));
        freeaddrinfo(list);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    freeaddrinfo(list);
    struct sockaddr_storage ss = {0};
    socklen_t len = sizeof ss;
    bool named = getsockname(fd, (struct sockaddr *)&ss, &len) == 0;
    in_port_t bound = ss.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&ss)->sin6_port
                                               : ((struct sockaddr_in *)&ss)->sin_port;
    h->port = named ? ntohs(bound) : port;
    h->listener = fd;
    h->epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = h};
    if (h->epoll < 0 || epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &ev) < 0) {
        snprintf(why, whylen, "No epoll set can be had: %s.", strerror(errno));
        return -1;
    }
    h->accepting = true;
    return 0;
}

static void interest(struct sim_conn *c)
{
    if (c->dead)
        return;
    uint32_t want = EPOLLRDHUP;
    if (c->state != SIM_CONN_BUSY)
        want = EPOLLIN;
    if (c->out_at < c->out.n && !c->trickle)
        want |= EPOLLOUT;
    struct epoll_event ev = {.events = want, .data.ptr = c};
    epoll_ctl(c->h->epoll, EPOLL_CTL_MOD, c->fd, &ev);
}

static void drop(struct sim_conn *c)
{
    if (c->dead)
        return;
    c->dead = true;
    if (c->request)
        c->h->on_gone(c->h->self, c);
    c->request = NULL;
}

void sim_http_sweep(struct sim_http *h)
{
    struct sim_conn *next;
    for (struct sim_conn *c = h->conns; c; c = next) {
        next = c->next;
        if (!c->dead)
            continue;
        close(c->fd);
        *(c->prev ? &c->prev->next : &h->conns) = c->next;
        if (c->next)
            c->next->prev = c->prev;
        h->bodies -= c->body.n;
        sim_buf_free(&c->in);
        sim_buf_free(&c->out);
        sim_buf_free(&c->body);
        free(c);
        h->n_conns--;
    }
    if (!h->accepting && h->n_conns < h->limit.max_conns) {
        struct epoll_event ev = {.events = EPOLLIN, .data.ptr = h};
        epoll_ctl(h->epoll, EPOLL_CTL_MOD, h->listener, &ev);
        h->accepting = true;
    }
}

void sim_http_close(struct sim_http *h)
{
    for (struct sim_conn *c = h->conns; c; c = c->next)
        drop(c);
    h->limit.max_conns = 0;
    sim_http_sweep(h);
    if (h->listener >= 0)
        close(h->listener);
    if (h->epoll >= 0)
        close(h->epoll);
}

static void accept_all(struct sim_http *h)
{
    for (int i = 0; i < 256; i++) {
        if (h->n_conns >= h->limit.max_conns) {
            /* further clients wait in the backlog */
            struct epoll_event ev = {.events = 0, .data.ptr = h};
            epoll_ctl(h->epoll, EPOLL_CTL_MOD, h->listener, &ev);
            h->accepting = false;
            return;
        }
        int fd = accept4(h->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), one = 1;
        if (fd < 0)
            return;
        struct sim_conn *c = calloc(1, sizeof *c);
        if (!c) {
            close(fd);
            return;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        *c = (struct sim_conn){.h = h, .fd = fd, .next = h->conns, .deadline = sim_now() + h->limit.read_ns};
        struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};
        if (epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &ev) < 0) {
            close(fd);
            free(c);
            return;
        }
        if (h->conns)
            h->conns->prev = c;
        h->conns = c;
        h->n_conns++;
        h->accepted++;
    }
}

static void process(struct sim_conn *c);

/* All is sent and no more comes: say so, and drain what the client still sends, lest the kernel answers it
 * with RST. */
static void closing(struct sim_conn *c)
{
    shutdown(c->fd, SHUT_WR);
    c->deadline = sim_now() + 2000000000;
}

static void drained(struct sim_conn *c)
{
    c->out.n = c->out_at = 0;
    if (c->out.cap > 65536)
        sim_buf_free(&c->out);
    if (c->state == SIM_CONN_CLOSING)
        closing(c);
}

void sim_http_flush(struct sim_conn *c)
{
    if (c->dead)
        return;
    if (c->out.failed) {
        drop(c);
        return;
    }
    while (c->out_at < c->out.n) {
        size_t n = c->out.n - c->out_at;
        if (c->trickle) {
            int64_t gone = sim_now() - c->trickle_from;
            size_t due = gone >= c->trickle_ns
                             ? c->trickle_len
                             : (size_t)((double)c->trickle_len * (double)gone / (double)c->trickle_ns);
            n = due - c->trickle_sent;
            if (n == 0)
                break;
        } else if (sim_has(&c->faults, SIM_F_SPLIT))
            n = 1;
        ssize_t k = send(c->fd, c->out.p + c->out_at, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (k < 0) {
            if (errno == EAGAIN || errno == EINTR)
                break;
            drop(c);
            return;
        }
        c->out_at += (size_t)k;
        if (c->trickle && (c->trickle_sent += (size_t)k) == c->trickle_len)
            c->trickle = false;
    }
    if (c->out_at == c->out.n) {
        bool had = c->out.n > 0;
        drained(c);
        if (!had)
            return;
    } else if (c->out.n - c->out_at > SIM_UNREAD_MAX) {
        drop(c);
        return;
    } else if (c->out_at > 65536) {
        memmove(c->out.p, c->out.p + c->out_at, c->out.n - c->out_at);
        c->out.n -= c->out_at;
        c->out_at = 0;
    }
    interest(c);
}

void sim_http_end(struct sim_conn *c)
{
    if (c->dead)
        return;
    if (c->chunked)
        sim_buf_str(&c->out, "0\r\n\r\n");
    c->request = NULL;
    c->answering = c->chunked = false;
    c->h->bodies -= c->body.n;
    sim_buf_free(&c->body);
    if (c->h->limit.max_answers && ++c->answers >= c->h->limit.max_answers)
        c->keep = false;
    c->state = c->keep ? SIM_CONN_HEAD : SIM_CONN_CLOSING;
    c->deadline = sim_now() + c->h->limit.keep_alive_ns;
    c->delay_until = 0;
    bool empty = c->out_at == c->out.n;
    sim_http_flush(c);
    if (!c->dead && empty && c->state == SIM_CONN_CLOSING)
        closing(c);
    if (!c->dead)
        interest(c);
}

void sim_http_cut(struct sim_conn *c, bool rst)
{
    if (c->dead)
        return;
    c->request = NULL;
    if (rst) {
        struct linger l = {.l_onoff = 1, .l_linger = 0};
        sim_http_flush(c);
        if (c->dead)
            return;
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
        drop(c);
        return;
    }
    c->state = SIM_CONN_CLOSING;
    c->keep = false;
    c->deadline = sim_now() + 2000000000;
    if (c->out_at == c->out.n)
        closing(c);
    else
        sim_http_flush(c);
    if (!c->dead)
        interest(c);
}

static void refuse(struct sim_conn *c, int status, const char *message)
{
    char body[320];
    int n =
        snprintf(body, sizeof body,
                 "{\"error\":{\"message\":\"%s\",\"type\":\"BadRequestError\",\"param\":null,\"code\":%d}}",
                 message, status);
    c->head.close = true;
    c->h->refused++;
    c->state = SIM_CONN_BUSY;
    sim_http_begin(c, status, "application/json", n, NULL);
    sim_http_body(c, body, (size_t)n);
    sim_http_end(c);
}

static void start(struct sim_conn *c)
{
    c->state = SIM_CONN_BUSY;
    c->deadline = 0;
    c->h->requests++;
    interest(c);
    c->h->on_request(c->h->self, c);
}

/* false: more bytes are needed */
static bool take_head(struct sim_conn *c)
{
    char why[128];
    while (c->in_at < c->in.n && (c->in.p[c->in_at] == '\r' || c->in.p[c->in_at] == '\n'))
        c->in_at++; /* blank lines between requests, RFC 9112 §2.2 */
    const char *p = c->in.p + c->in_at;
    size_t n = c->in.n - c->in_at, head = n ? sim_http_head_end(p, n) : 0;
    if (!head) {
        if (n > SIM_HEADER_MAX)
            refuse(c, 431, "The headers are too long.");
        return false;
    }
    memset(&c->faults, 0, sizeof c->faults);
    int status = sim_http_head_parse(&c->head, p, head, why, sizeof why);
    c->in_at += head;
    if (status == 0 && c->head.length > (int64_t)c->h->limit.max_body) {
        status = 413;
        snprintf(why, sizeof why, "The body is longer than %zu bytes.", c->h->limit.max_body);
    }
    if (status) {
        refuse(c, status, why);
        return false;
    }
    c->state = SIM_CONN_BODY;
    c->chunk_state = 0;
    c->chunk_left = 0;
    c->deadline = sim_now() + c->h->limit.read_ns;
    if (c->head.expect)
        sim_buf_str(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
    if (c->head.expect)
        sim_http_flush(c);
    return !c->dead;
}

static bool take_body(struct sim_conn *c)
{
    const char *p = c->in.p + c->in_at;
    size_t n = c->in.n - c->in_at, before = c->body.n;
    bool done = false;
    int status = 0;
    if (c->head.chunked) {
        if (n)
            c->in_at += sim_http_dechunk(&c->chunk_state, &c->chunk_left, p, n, &c->body,
                                         c->h->limit.max_body, &done, &status);
    } else {
        size_t want = c->head.length > 0 ? (size_t)c->head.length - c->body.n : 0, k = n < want ? n : want;
        if (k)
            sim_buf_add(&c->body, p, k);
        c->in_at += k;
        done = k == want;
    }
    c->h->bodies += c->body.n - before;
    if (c->body.failed || c->h->bodies > SIM_BODIES_MAX)
        refuse(c, 503, "There is no memory for this request.");
    else if (status)
        refuse(c, status, status == 413 ? "The body is too long." : "The chunked body cannot be read.");
    else if (done)
        start(c);
    return done;
}

static void process(struct sim_conn *c)
{
    while (!c->dead && (c->state == SIM_CONN_HEAD || c->state == SIM_CONN_BODY)) {
        if (c->state == SIM_CONN_HEAD && !take_head(c))
            break;
        if (c->dead || c->state != SIM_CONN_BODY || !take_body(c))
            break;
    }
    if (c->in_at == c->in.n) {
        c->in.n = c->in_at = 0;
        if (c->in.cap > 65536)
            sim_buf_free(&c->in);
    } else if (c->in_at > 16384) {
        memmove(c->in.p, c->in.p + c->in_at, c->in.n - c->in_at);
        c->in.n -= c->in_at;
        c->in_at = 0;
    }
}

static void readable(struct sim_conn *c)
{
    char tmp[65536];
    ssize_t n = recv(c->fd, tmp, sizeof tmp, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        drop(c);
        return;
    }
    if (n < 0 || c->state == SIM_CONN_CLOSING)
        return;
    sim_buf_add(&c->in, tmp, (size_t)n);
    if (c->in.failed)
        drop(c);
    else
        process(c);
}

void sim_http_event(struct sim_http *h, void *ptr, uint32_t events)
{
    if (ptr == h) {
        accept_all(h);
        return;
    }
    struct sim_conn *c = ptr;
    if (c->dead)
        return;
    if (events & EPOLLOUT)
        sim_http_flush(c);
    if (!c->dead && (events & EPOLLIN))
        readable(c);
    if (!c->dead && (events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) && !(events & EPOLLIN))
        drop(c);
}

void sim_http_tick(struct sim_http *h, int64_t now)
{
    for (struct sim_conn *c = h->conns; c; c = c->next) {
        if (c->dead)
            continue;
        if (c->trickle)
            sim_http_flush(c);
        if (!c->dead && c->delay_until > 0 && now >= c->delay_until) {
            c->delay_until = -1;
            h->on_request(h->self, c);
        }
        /* what was read beyond the last request waits here, not in the kernel */
        if (!c->dead && c->state == SIM_CONN_HEAD && c->in_at < c->in.n)
            process(c);
        if (!c->dead && c->deadline && now >= c->deadline)
            drop(c);
    }
}
