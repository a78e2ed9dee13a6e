/* SPDX-License-Identifier: Apache-2.0 */
/* The line to a Modbus device: TCP, or a serial port with RTU frames. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "meter/modbus.h"
#include "base/banned.h"

static int64_t now_ms(void)
{
    struct jm_clock c = jm_clock_system();
    return jm_clock_mono(&c) / JM_NS_PER_MS;
}

static int serial(int fd, const struct jm_modbus_conf *c)
{
    struct termios t;
    if (tcgetattr(fd, &t) < 0)
        return -errno;
    bool none = c->parity && strcmp(c->parity, "none") == 0;
    t.c_cflag &= (tcflag_t) ~(PARENB | PARODD | CSTOPB);
    if (!none)
        t.c_cflag |= PARENB;
    if (c->parity && strcmp(c->parity, "odd") == 0)
        t.c_cflag |= PARODD;
    if (c->stop_bits == 2)
        t.c_cflag |= CSTOPB;
    return tcsetattr(fd, TCSANOW, &t) < 0 && errno != EINVAL ? -errno : 0; /* a pty has no parity */
}

int jm_modbus_open(struct jm_modbus_line *l, const struct jm_modbus_conf *c, int timeout_ms,
                   struct jm_err *err)
{
    *l = (struct jm_modbus_line){.io = {.fd = -1}, .timeout_ms = timeout_ms};
    l->framing = c->address[0] == '/' ? JM_MODBUS_RTU : JM_MODBUS_TCP;
    l->io.timeout_ms = timeout_ms;
    int rc = jm_scpi_open(&l->io, c->address, 502, c->baud, timeout_ms, "modbus", err);
    if (rc)
        return rc;
    if (l->framing == JM_MODBUS_TCP) {
        l->at_n = sizeof l->at;
        if (getpeername(l->io.fd, (struct sockaddr *)&l->at, &l->at_n) < 0)
            l->at_n = 0;
        return 0;
    }
    /* 3.5 characters of 11 bits end a frame; 1.75 ms from 19200 baud on */
    l->gap_ns = c->baud > 19200 ? 1750000 : 38500 * JM_NS_PER_MS / c->baud;
    rc = serial(l->io.fd, c);
    if (rc)
        return jm_err_sys(err, -rc, "cannot set parity and stop bits of %s", c->address);
    return 0;
}

void jm_modbus_close(struct jm_modbus_line *l)
{
    jm_scpi_close(&l->io);
}

static int wait_for(int fd, short what, int64_t until)
{
    for (;;) {
        int64_t left = until - now_ms();
        struct pollfd p = {.fd = fd, .events = what};
        int n = left < 0 ? 0 : poll(&p, 1, (int)left); /* answers without end always have a next byte */
        if (n > 0)
            return 0;
        if (n == 0)
            return -ETIMEDOUT;
        if (errno != EINTR)
            return -errno;
    }
}

static int put(int fd, const uint8_t *p, size_t n, int64_t until)
{
    while (n) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        if (k > 0) {
            p += k;
            n -= (size_t)k;
            continue;
        }
        int rc = wait_for(fd, POLLOUT, until);
        if (rc)
            return rc;
    }
    return 0;
}

/* What came too late, or as noise, before the next request. False: the other side has closed the line. */
static bool drain(struct jm_modbus_line *l)
{
    ssize_t n = 1;
    for (int i = 0; i < 64 && n > 0; i++)
        n = read(l->io.fd, l->in, sizeof l->in);
    return n != 0 || l->framing == JM_MODBUS_RTU;
}

static int take(struct jm_modbus_line *l, const struct jm_modbus_ask *a, int64_t until,
                struct jm_modbus_reply *r)
{
    size_t n = 0;
    for (;;) {
        enum jm_modbus_taken t = jm_modbus_take(a, (struct jm_span){(char *)l->in, n}, r);
        if (t == JM_MODBUS_DATA)
            return 0;
        if (t == JM_MODBUS_EXCEPTION)
            return -EREMOTEIO;
        if (t == JM_MODBUS_BAD || (t == JM_MODBUS_MORE && n == sizeof l->in))
            return -EBADMSG;
        if (t == JM_MODBUS_OTHER) {
            memmove(l->in, l->in + r->used, n - r->used);
            n -= r->used;
            continue;
        }
        int rc = wait_for(l->io.fd, POLLIN, until);
        if (rc)
            return rc == -ETIMEDOUT && n && a->framing == JM_MODBUS_RTU ? -EBADMSG : rc;
        ssize_t k = read(l->io.fd, l->in + n, sizeof l->in - n);
        if (k == 0)
            return -EPIPE;
        if (k < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        n += k > 0 ? (size_t)k : 0;
    }
}

/* A line that was cut is opened again, without a look-up: a read never allocates. */
static int again(struct jm_modbus_line *l, int64_t until)
{
    int e = 0;
    socklen_t n = sizeof e;
    if (l->framing == JM_MODBUS_RTU || !l->at_n)
        return -EBADF;
    int fd = socket(l->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (struct sockaddr *)&l->at, l->at_n) < 0) {
        e = errno == EINPROGRESS ? -wait_for(fd, POLLOUT, until) : errno;
        if (!e && getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &n) < 0)
            e = errno;
    }
    if (e) {
        close(fd);
        return -e;
    }
    l->io.fd = fd;
    return 0;
}

/* Several units hang at one serial line, each with a reader of its own: one talks at a time. */
static int hold(struct jm_modbus_line *l, int64_t until)
{
    struct pollfd none = {.fd = -1};
    while (flock(l->io.fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return 0; /* a device that knows no locks */
        if (now_ms() >= until)
            return -ETIMEDOUT;
        poll(&none, 1, 2);
    }
    return 0;
}

/* One request on a line that is open. */
static int ask_once(struct jm_modbus_line *l, const struct jm_clock *clock, const struct jm_modbus_ask *a,
                    int64_t until, struct jm_modbus_reply *r)
{
    uint8_t out[JM_MODBUS_FRAME];
    if (l->gap_ns) {
        struct pollfd none = {.fd = -1};
        poll(&none, 1, (int)(l->gap_ns / JM_NS_PER_MS) + 1);
    }
    size_t n = jm_modbus_request(a, out);
    l->t0 = jm_clock_mono(clock);
    int rc = put(l->io.fd, out, n, until);
    if (!rc)
        rc = take(l, a, until, r);
    l->t1 = jm_clock_mono(clock);
    return rc;
}

static bool is_cut(int rc)
{
    return rc == -EPIPE || rc == -ECONNRESET || rc == -EBADF || rc == -ENOTCONN;
}

int jm_modbus_ask(struct jm_modbus_line *l, const struct jm_clock *clock, int unit, int function,
                  int64_t address, size_t count, struct jm_modbus_reply *r)
{
    struct jm_modbus_ask a = {l->framing,     0, (uint8_t)unit, (uint8_t)function, (uint16_t)address,
                              (uint16_t)count};
    int64_t until = now_ms() + l->timeout_ms;
    int rc = -EBADF;
    *r = (struct jm_modbus_reply){0};
    l->t0 = l->t1 = jm_clock_mono(clock);
    for (int i = 0; i < 2 && is_cut(rc); i++) { /* gateways close a line that idles: once more on a new one */
        a.transaction = ++l->transaction;
        rc = l->io.fd < 0 ? again(l, until) : 0;
        if (!rc && l->gap_ns)
            rc = hold(l, until);
        if (!rc)
            rc = drain(l) ? ask_once(l, clock, &a, until, r) : -EPIPE;
        if (l->gap_ns && l->io.fd >= 0)
            flock(l->io.fd, LOCK_UN);
        else if (rc && rc != -EREMOTEIO && rc != -ETIMEDOUT)
            jm_scpi_close(&l->io);
    }
    return rc;
}
