/* SPDX-License-Identifier: Apache-2.0 */
/* VXI-11 to an instrument: the portmapper is asked where its core channel is (by TCP, else by a datagram), a
 * link to its device is opened, and each line is a message on it. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "meter/scpi_impl.h"
#include "wire/vxi11.h"
#include "base/banned.h"

/* The device gives up before we do, so that it is free for the next question. */
#define HEADROOM_MS 200

static int send_all(int fd, const uint8_t *p, size_t n, int64_t until)
{
    while (n) {
        ssize_t k = send(fd, p, n, MSG_NOSIGNAL);
        if (k > 0) {
            p += k;
            n -= (size_t)k;
            continue;
        }
        int rc = errno == EAGAIN ? jm_scpi_wait(fd, POLLOUT, until) : errno == EINTR ? 0 : -errno;
        if (rc)
            return rc;
    }
    return 0;
}

/* The reply to a call; those to earlier ones, which came too late, are passed over. out->data is in
 * s->vxi.buf until the next call. */
static int call(struct jm_scpi *s, struct jm_vxi11_call *c, int64_t until, struct jm_vxi11_reply *out)
{
    uint8_t request[JM_VXI11_CALL];
    c->xid = ++s->vxi.xid;
    c->link = s->vxi.link;
    size_t n = jm_vxi11_call(c, request), size, used;
    int rc = n ? send_all(s->fd, request, n, until) : -EMSGSIZE;
    while (!rc) {
        enum jm_vxi11_taken t = jm_vxi11_record(s->vxi.buf, s->vxi.n, sizeof s->vxi.buf - 512, &size, &used);
        if (t == JM_VXI11_OK) {
            t = jm_vxi11_reply(c->proc, c->xid, (struct jm_span){(const char *)s->vxi.buf + 4, size}, out);
            if (t == JM_VXI11_OK && !out->other) {
                /* one call at a time: nothing can lie behind its answer but what nobody asked for */
                s->vxi.n = 0;
                return out->refused ? -EPROTO : 0;
            }
            memmove(s->vxi.buf, s->vxi.buf + used, s->vxi.n - used);
            s->vxi.n -= used;
        }
        if (t == JM_VXI11_BAD || s->vxi.n == sizeof s->vxi.buf)
            return -EPROTO; /* where the next record begins is not known any more */
        if (t == JM_VXI11_OK)
            continue;
        if ((rc = jm_scpi_wait(s->fd, POLLIN, until)) != 0)
            break;
        ssize_t k = read(s->fd, s->vxi.buf + s->vxi.n, sizeof s->vxi.buf - s->vxi.n);
        if (k > 0)
            s->vxi.n += (size_t)k;
        else if (k == 0)
            rc = -EPIPE;
        else if (errno != EAGAIN && errno != EINTR)
            rc = -errno;
    }
    return rc;
}

static uint32_t device_ms(int64_t until)
{
    int64_t left = until - jm_scpi_now_ms() - HEADROOM_MS;
    return left < 50 ? 50 : (uint32_t)left;
}

/* The question to a portmapper that has no TCP. */
static int getport_udp(const char *host, const char *port, int64_t until, struct jm_vxi11_reply *out)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *list;
    struct jm_vxi11_call c = {.proc = JM_VXI11_GETPORT, .xid = 1};
    uint8_t text[JM_VXI11_CALL];
    size_t n = jm_vxi11_call(&c, text);
    int rc = -EHOSTUNREACH;
    if (getaddrinfo(host, port, &hints, &list))
        return rc;
    for (struct addrinfo *a = list; a && rc == -EHOSTUNREACH; a = a->ai_next) {
        int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
        if (fd < 0 || connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
            if (fd >= 0)
                close(fd);
            continue;
        }
        rc = send(fd, text + 4, n - 4, MSG_NOSIGNAL) < 0 ? -errno : jm_scpi_wait(fd, POLLIN, until);
        ssize_t k = rc ? 0 : recv(fd, text, sizeof text, 0);
        if (k < 0)
            rc = -errno;
        else if (!rc && (jm_vxi11_reply(c.proc, c.xid, (struct jm_span){(const char *)text, (size_t)k},
                                        out) != JM_VXI11_OK ||
                         out->other || out->refused))
            rc = -EPROTO;
        close(fd);
    }
    freeaddrinfo(list);
    return rc;
}

static const char *reason(int rc, const struct jm_vxi11_reply *r)
{
    return r->refused            ? r->refused
           : rc == 0             ? jm_vxi11_error_text(r->error)
           : rc == -ETIMEDOUT    ? "no answer in time"
           : rc == -ECONNREFUSED ? "nobody listens there"
           : rc == -EPROTO       ? "what answers does not follow the protocol"
                                 : "the connection broke";
}

static int ask_portmapper(struct jm_scpi *s, const char *host, const struct jm_vxi11_address *a, char core[8],
                          const char *what, struct jm_err *err)
{
    struct jm_vxi11_call c = {.proc = JM_VXI11_GETPORT};
    struct jm_vxi11_reply r = {0};
    struct jm_err why = {0};
    char port[8];
    int64_t until = jm_scpi_now_ms() + s->timeout_ms;
    snprintf(port, sizeof port, "%d", a->portmap);
    int rc = jm_scpi_connect(&s->fd, host, port, s->timeout_ms, what, &why);
    if (rc == JM_EABSENT)
        return jm_err_set(err, rc, "%s", why.text); /* no such host */
    if (!rc) {
        rc = call(s, &c, until, &r);
        close(s->fd);
        s->fd = -1;
        s->vxi.n = 0;
    } else {
        rc = getport_udp(host, port, jm_scpi_now_ms() + s->timeout_ms, &r);
    }
    if (rc)
        return jm_err_set(
            err, rc == -ETIMEDOUT ? JM_ETIMEOUT : JM_EABSENT,
            "%s: nobody at %s tells where VXI-11 is (portmapper, port %s: %s); is it on, and set to "
            "VXI-11? where a firewall is between, say vxi11://HOST:PORT with the port itself",
            what, host, port, reason(rc, &r));
    if (!r.port || r.port > 65535)
        return jm_err_set(err, JM_EABSENT, "%s: %s has a portmapper, but no VXI-11; is it set to it?", what,
                          host);
    snprintf(core, 8, "%u", (unsigned)r.port);
    return 0;
}

int jm_scpi_vxi11_open(struct jm_scpi *s, const char *rest, const char *what, struct jm_err *err)
{
    struct jm_vxi11_address a;
    char host[256], port[8];
    if (!jm_vxi11_address(jm_span_of(rest), &a) || a.host.n >= sizeof host)
        return jm_err_set(
            err, JM_EINVAL,
            "%s: \"vxi11://%.80s\" is no address; it is written vxi11://HOST, vxi11://HOST/inst0 or "
            "vxi11://HOST:PORT",
            what, rest);
    memcpy(host, a.host.p, a.host.n);
    host[a.host.n] = '\0';
    snprintf(port, sizeof port, "%d", a.port);
    int rc = a.port ? 0 : ask_portmapper(s, host, &a, port, what, err);
    if (!rc)
        rc = jm_scpi_connect(&s->fd, host, port, s->timeout_ms, what, err);
    if (rc)
        return rc;
    struct jm_vxi11_call c = {.proc = JM_VXI11_CREATE_LINK, .data = jm_span_of(a.device)};
    struct jm_vxi11_reply r = {0};
    rc = call(s, &c, jm_scpi_now_ms() + s->timeout_ms, &r);
    if (rc || r.error) {
        jm_scpi_close(s);
        return jm_err_set(err, rc == -ETIMEDOUT ? JM_ETIMEOUT : JM_EABSENT,
                          "%s: %s:%s opens no link to \"%s\": %s", what, host, port, a.device,
                          reason(rc, &r));
    }
    s->vxi.link = r.link;
    s->vxi.max = r.max < 16 || r.max > JM_VXI11_DATA ? JM_VXI11_DATA : r.max;
    s->vxi.linked = true;
    return 0;
}

static int device_error(uint32_t error)
{
    return error == 0 ? 0 : error == JM_VXI11_ETIMEOUT ? -ETIMEDOUT : error == 11 ? -EBUSY : -EIO;
}

int jm_scpi_vxi11_send(struct jm_scpi *s, struct jm_span text)
{
    int64_t until = jm_scpi_now_ms() + s->timeout_ms;
    while (text.n) {
        struct jm_span piece = jm_span_sub(text, 0, s->vxi.max);
        struct jm_vxi11_call c = {
            .proc = JM_VXI11_WRITE, .timeout_ms = device_ms(until), .data = piece, .end = piece.n == text.n};
        struct jm_vxi11_reply r;
        int rc = call(s, &c, until, &r);
        if (!rc)
            rc = device_error(r.error);
        if (!rc && (r.size == 0 || r.size > piece.n))
            rc = -EPROTO;
        if (rc)
            return rc;
        text = jm_span_sub(text, r.size, text.n);
    }
    return 0;
}

int jm_scpi_vxi11_fill(struct jm_scpi *s, int64_t until)
{
    size_t room = sizeof s->buf - s->n - 1; /* one for the end of the line */
    struct jm_vxi11_call c = {.proc = JM_VXI11_READ, .timeout_ms = device_ms(until), .max = (uint32_t)room};
    struct jm_vxi11_reply r;
    if (!room)
        return -EMSGSIZE;
    s->vxi.owes = true;
    int rc = call(s, &c, until, &r);
    if (!rc)
        rc = device_error(r.error);
    if (!rc && (r.data.n > room || (!r.data.n && !r.end)))
        rc = -EPROTO;
    if (rc)
        return rc;
    if (r.data.n)
        memcpy(s->buf + s->n, r.data.p, r.data.n);
    s->n += r.data.n;
    if (r.end && (!r.data.n || s->buf[s->n - 1] != '\n'))
        s->buf[s->n++] = '\n';
    s->vxi.owes = !r.end;
    return 0;
}

void jm_scpi_vxi11_clear(struct jm_scpi *s)
{
    int64_t until = jm_scpi_now_ms() + s->timeout_ms;
    struct jm_vxi11_call c = {.proc = JM_VXI11_CLEAR, .timeout_ms = device_ms(until)};
    struct jm_vxi11_reply r;
    s->n = 0;
    if (s->vxi.owes && call(s, &c, until, &r) == 0 && r.error == 0)
        s->vxi.owes = false;
}

void jm_scpi_vxi11_unlink(struct jm_scpi *s)
{
    struct jm_vxi11_call c = {.proc = JM_VXI11_DESTROY_LINK};
    struct jm_vxi11_reply r;
    if (s->vxi.linked)
        call(s, &c, jm_scpi_now_ms() + (s->timeout_ms < 500 ? s->timeout_ms : 500), &r);
    s->vxi.linked = false;
}
