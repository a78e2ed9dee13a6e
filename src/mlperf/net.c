/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "mlperf/proto.h"

#include "base/banned.h"

void jm_mlperf_conn_init(struct jm_mlperf_conn *c, int fd, const struct jm_clock *clock,
                         struct jm_mlperf_wake wake, const char *peer)
{
    c->fd = fd;
    c->clock = *clock;
    c->wake = wake;
    c->peer = peer;
    c->limit = JM_MLPERF_LINE;
    c->from = c->to = 0;
    c->cut = false;
}

void jm_mlperf_conn_close(struct jm_mlperf_conn *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

void jm_mlperf_keepalive(int fd)
{
    int on = 1, idle = 2, every = 2, misses = 10;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &misses, sizeof misses);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static int woken(const struct jm_mlperf_conn *c, struct jm_err *err)
{
    if (!c->wake.cancel || !*c->wake.cancel)
        return 0;
    return jm_err_set(err, JM_ESTATE, "ended while waiting for %s", c->peer);
}

/* Waits for events on fd. *revents is 0 when the deadline came; what is there already is always seen. */
static int await(struct jm_mlperf_conn *c, int fd, short events, int64_t deadline, short *revents,
                 struct jm_err *err)
{
    for (;;) {
        int rc = woken(c, err);
        if (rc)
            return rc;
        int64_t left = deadline == INT64_MAX ? INT64_MAX : deadline - jm_clock_mono(&c->clock);
        int ms = left > 500 * JM_NS_PER_MS ? 500
                 : left > 0                ? (int)((left + JM_NS_PER_MS - 1) / JM_NS_PER_MS)
                                           : 0;
        struct pollfd p[2] = {{fd, events, 0}, {c->wake.fd, POLLIN, 0}};
        int n = poll(p, c->wake.cancel && c->wake.fd >= 0 ? 2 : 1, ms);
        if (n < 0 && errno != EINTR)
            return jm_err_sys(err, errno, "cannot wait for %s", c->peer);
        *revents = 0;
        if (n > 0)
            *revents = p[0].revents;
        if (*revents || left <= 0)
            return 0;
    }
}

static int late(const struct jm_mlperf_conn *c, struct jm_err *err)
{
    return jm_err_set(err, JM_ETIMEOUT, "%s is silent: no answer in the time that it has", c->peer);
}

static int gone(struct jm_mlperf_conn *c, int e, struct jm_err *err)
{
    c->cut = true;
    if (e)
        return jm_err_set(err, JM_ENET, "the connection to %s broke (errno %d)", c->peer, e);
    return jm_err_set(err, JM_ENET, "%s closed the connection", c->peer);
}

/* Reads what is there into buf. */
static int fill(struct jm_mlperf_conn *c, int64_t deadline, struct jm_err *err)
{
    if (c->from) {
        memmove(c->buf, c->buf + c->from, c->to - c->from);
        c->to -= c->from;
        c->from = 0;
    }
    for (;;) {
        short got = 0;
        if (c->fd < 0)
            return gone(c, 0, err);
        int rc = await(c, c->fd, POLLIN, deadline, &got, err);
        if (rc)
            return rc;
        if (!got)
            return late(c, err);
        ssize_t n = recv(c->fd, c->buf + c->to, sizeof c->buf - c->to, MSG_DONTWAIT);
        if (n > 0) {
            c->to += (size_t)n;
            return 0;
        }
        if (n == 0)
            return gone(c, 0, err);
        if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)
            return gone(c, errno, err);
    }
}

int jm_mlperf_recv(struct jm_mlperf_conn *c, int64_t deadline, struct jm_span *line, struct jm_err *err)
{
    size_t limit = c->limit < sizeof c->buf - 2 ? c->limit : sizeof c->buf - 2, looked = 0;
    for (;;) {
        char *at = c->buf + c->from;
        char *end = c->to > c->from + looked ? memchr(at + looked, '\n', c->to - c->from - looked) : NULL;
        if (end) {
            *line = (struct jm_span){at, (size_t)(end - at)};
            c->from += line->n + 1;
            while (line->n && line->p[line->n - 1] == '\r')
                line->n--;
            if (line->n <= limit)
                return 0;
        }
        looked = c->to - c->from;
        if (end || looked > limit + 1)
            return jm_err_set(err, JM_ELIMIT, "%s sent a line of more than %zu bytes", c->peer, limit);
        int rc = fill(c, deadline, err);
        if (rc)
            return rc;
    }
}

static int send_all(struct jm_mlperf_conn *c, const char *p, size_t n, int64_t deadline, struct jm_err *err)
{
    while (n) {
        short got = 0;
        if (c->fd < 0)
            return gone(c, 0, err);
        ssize_t sent = send(c->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) {
            p += sent;
            n -= (size_t)sent;
            continue;
        }
        if (sent < 0 && errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)
            return gone(c, errno, err);
        int rc = await(c, c->fd, POLLOUT, deadline, &got, err);
        if (rc)
            return rc;
        if (!got)
            return jm_err_set(err, JM_ETIMEOUT, "%s does not take what is sent to it", c->peer);
    }
    return 0;
}

int jm_mlperf_send(struct jm_mlperf_conn *c, struct jm_span text, int64_t deadline, struct jm_err *err)
{
    struct jm_str s;
    jm_str_init(&s);
    jm_str_addspan(&s, text);
    jm_str_adds(&s, "\r\n");
    int rc = jm_str_ok(&s, "a line to send", err);
    if (!rc)
        rc = send_all(c, s.buf, s.len, deadline, err);
    jm_str_release(&s);
    return rc;
}

int jm_mlperf_sendf(struct jm_mlperf_conn *c, int64_t deadline, struct jm_err *err, const char *fmt, ...)
{
    struct jm_str s;
    va_list ap;
    jm_str_init(&s);
    va_start(ap, fmt);
    jm_str_addv(&s, fmt, ap);
    va_end(ap);
    int rc = jm_str_ok(&s, "a line to send", err);
    if (!rc)
        rc = jm_mlperf_send(c, jm_str_span(&s), deadline, err);
    jm_str_release(&s);
    return rc;
}

int jm_mlperf_conn_sleep(struct jm_mlperf_conn *c, int64_t ns, struct jm_err *err)
{
    int64_t until = jm_clock_mono(&c->clock) + ns;
    short got = 0;
    if (c->fd < 0)
        return gone(c, 0, err);
    int rc = await(c, c->fd, POLLRDHUP, until, &got, err);
    if (rc || !got)
        return rc;
    return gone(c, 0, err);
}

int jm_mlperf_send_file(struct jm_mlperf_conn *c, int file_fd, int64_t idle_ns, struct jm_err *err)
{
    char piece[65536];
    int64_t left = (int64_t)lseek(file_fd, 0, SEEK_END);
    if (left < 0 || lseek(file_fd, 0, SEEK_SET) < 0)
        return jm_err_sys(err, errno, "cannot tell the length of a file for %s", c->peer);
    /* the length of a chunk is said before it is read: a file that shrinks meanwhile cuts the connection */
    while (left > 0) {
        int64_t chunk = left < JM_MLPERF_CHUNK ? left : JM_MLPERF_CHUNK;
        int rc = jm_mlperf_sendf(c, jm_clock_mono(&c->clock) + idle_ns, err, "%lld", (long long)chunk);
        for (int64_t todo = chunk; !rc && todo > 0;) {
            ssize_t n = read(file_fd, piece, todo < (int64_t)sizeof piece ? (size_t)todo : sizeof piece);
            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0) {
                jm_mlperf_conn_close(c);
                return n < 0 ? jm_err_sys(err, errno, "cannot read a file for %s", c->peer)
                             : jm_err_set(err, JM_EIO, "a file for %s became shorter", c->peer);
            }
            rc = send_all(c, piece, (size_t)n, jm_clock_mono(&c->clock) + idle_ns, err);
            todo -= n;
        }
        if (rc)
            return rc;
        left -= chunk;
    }
    return jm_mlperf_sendf(c, jm_clock_mono(&c->clock) + idle_ns, err, "0");
}

static int write_all(int fd, const char *p, size_t n, const char *path, struct jm_err *err)
{
    while (n) {
        ssize_t w = write(fd, p, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return jm_err_sys(err, errno, "cannot write %s", path);
        p += w;
        n -= (size_t)w;
    }
    return 0;
}

static int recv_chunks(struct jm_mlperf_conn *c, FILE *f, const char *path, int64_t limit, int64_t idle_ns,
                       struct jm_err *err)
{
    for (;;) {
        struct jm_span line = {0};
        int64_t chunk = 0;
        int rc = jm_mlperf_recv(c, jm_clock_mono(&c->clock) + idle_ns, &line, err);
        if (rc)
            return rc;
        if (!line.n || line.n > 18)
            return jm_err_set(err, JM_EPARSE, "%s sent no length where that of a piece of %s was due",
                              c->peer, path);
        for (size_t i = 0; i < line.n; i++) {
            if (line.p[i] < '0' || line.p[i] > '9')
                return jm_err_set(err, JM_EPARSE,
                                  "%s sent \"%.*s\" where the length of a piece of %s was due", c->peer,
                                  (int)line.n, line.p, path);
            chunk = chunk * 10 + (line.p[i] - '0');
        }
        if (!chunk)
            return 0;
        if (chunk > limit)
            return jm_err_set(err, JM_ELIMIT, "%s sends more for %s than the %lld bytes that are taken",
                              c->peer, path, (long long)limit);
        limit -= chunk;
        while (chunk) {
            if (c->from == c->to)
                rc = fill(c, jm_clock_mono(&c->clock) + idle_ns, err);
            if (rc)
                return rc;
            size_t n = c->to - c->from;
            if ((int64_t)n > chunk)
                n = (size_t)chunk;
            rc = write_all(fileno(f), c->buf + c->from, n, path, err);
            if (rc)
                return rc;
            c->from += n;
            chunk -= (int64_t)n;
        }
    }
}

int jm_mlperf_recv_file(struct jm_mlperf_conn *c, const char *path, int64_t limit, int64_t idle_ns,
                        struct jm_err *err)
{
    struct jm_str tmp;
    jm_str_init(&tmp);
    jm_str_addf(&tmp, "%s.part", path);
    int rc = jm_str_ok(&tmp, "a path", err);
    FILE *f = rc ? NULL : fopen(tmp.buf, "wbe");
    if (!rc && !f)
        rc = jm_err_sys(err, errno, "cannot create %s", tmp.buf);
    if (f) {
        rc = recv_chunks(c, f, path, limit, idle_ns, err);
        if (fclose(f) && !rc)
            rc = jm_err_sys(err, errno, "cannot write %s", path);
        if (!rc && rename(tmp.buf, path))
            rc = jm_err_sys(err, errno, "cannot name %s", path);
        if (rc)
            unlink(tmp.buf);
    }
    jm_str_release(&tmp);
    return rc;
}

static int connect_one(struct jm_mlperf_conn *c, const struct addrinfo *a, int64_t deadline,
                       struct jm_err *err)
{
    int e = 0;
    socklen_t len = sizeof e;
    short got = 0;
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return jm_err_sys(err, errno, "cannot make a socket");
    if (connect(fd, a->ai_addr, a->ai_addrlen) && errno != EINPROGRESS)
        e = errno;
    if (!e) {
        int rc = await(c, fd, POLLOUT, deadline, &got, err);
        if (rc) {
            close(fd);
            return rc;
        }
        if (!got)
            e = ETIMEDOUT;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &len))
            e = errno;
    }
    if (!e) {
        c->fd = fd;
        return 0;
    }
    close(fd);
    return jm_err_set(err, e == ETIMEDOUT ? JM_ETIMEOUT : JM_ENET, "cannot connect to %s: %s", c->peer,
                      e == ECONNREFUSED ? "nobody listens there"
                      : e == ETIMEDOUT  ? "no answer"
                                        : "it cannot be reached");
}

int jm_mlperf_connect(struct jm_mlperf_conn *c, const char *host, int port, const struct jm_clock *clock,
                      struct jm_mlperf_wake wake, const char *peer, int64_t deadline, struct jm_err *err)
{
    struct addrinfo hint = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *list = NULL;
    char service[16];
    jm_mlperf_conn_init(c, -1, clock, wake, peer);
    snprintf(service, sizeof service, "%d", port);
    int rc = getaddrinfo(host, service, &hint, &list);
    if (rc)
        return jm_err_set(err, JM_ENET, "cannot find the address of %s: %s", host, gai_strerror(rc));
    rc = JM_ENET;
    for (const struct addrinfo *a = list; a && rc && rc != JM_ESTATE; a = a->ai_next)
        rc = connect_one(c, a, deadline, err);
    freeaddrinfo(list);
    return rc;
}

int jm_mlperf_listen(const char *host, int port, int *fd, int *bound, struct jm_err *err)
{
    struct addrinfo hint = {.ai_socktype = SOCK_STREAM,
                            .ai_flags = AI_NUMERICSERV | AI_NUMERICHOST | AI_PASSIVE},
                    *list = NULL;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at = {0};
    socklen_t len = sizeof at;
    char service[16] = "";
    int on = 1;
    snprintf(service, sizeof service, "%d", port);
    int rc = getaddrinfo(host, service, &hint, &list);
    if (rc)
        return jm_err_set(err, JM_EINVAL,
                          "cannot listen on \"%s\": not a numeric address, such as 127.0.0.1 or 0.0.0.0",
                          host);
    *fd = socket(list->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*fd >= 0)
        setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (*fd < 0 || bind(*fd, list->ai_addr, list->ai_addrlen) || listen(*fd, 8) ||
        getsockname(*fd, &at.any, &len)) {
        rc = jm_err_sys(err, errno, "cannot listen on %s port %d", host, port);
        if (*fd >= 0)
            close(*fd);
        *fd = -1;
    } else {
        rc = 0;
        *bound = ntohs(at.any.sa_family == AF_INET6 ? at.v6.sin6_port : at.v4.sin_port);
    }
    freeaddrinfo(list);
    return rc;
}
