/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/scpi_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/banned.h"

/* Linux's usbtmc.h: _IO('[', 2), _IOW('[', 10, __u32). */
#define USBTMC_CLEAR       0x5b02
#define USBTMC_SET_TIMEOUT 0x40045b0aUL

int64_t jm_scpi_now_ms(void)
{
    struct jm_clock c = jm_clock_system();
    return jm_clock_mono(&c) / JM_NS_PER_MS;
}

int jm_scpi_wait(int fd, short events, int64_t until_ms)
{
    for (;;) {
        int64_t left = until_ms - jm_scpi_now_ms();
        struct pollfd p = {.fd = fd, .events = events};
        int n = poll(&p, 1, left < 0 ? 0 : (int)left);
        if (n > 0)
            return 0;
        if (n == 0)
            return -ETIMEDOUT;
        if (errno != EINTR)
            return -errno;
    }
}

static int connect_one(const struct addrinfo *a, int timeout_ms)
{
    int one = 1, e = 0;
    socklen_t len = sizeof e;
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
    if (fd < 0)
        return -errno;
    if (connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
        e = errno == EINPROGRESS ? -jm_scpi_wait(fd, POLLOUT, jm_scpi_now_ms() + timeout_ms) : errno;
        if (e == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &len) < 0)
            e = errno;
    }
    if (e) {
        close(fd);
        return -e;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

int jm_scpi_connect(int *fd, const char *host, const char *port, int timeout_ms, const char *what,
                    struct jm_err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
    int rc = getaddrinfo(host, port, &hints, &list);
    if (rc)
        return jm_err_set(err, JM_EABSENT, "%s: the host of %s:%s is not known (%s)", what, host, port,
                          gai_strerror(rc));
    rc = -ENOENT;
    for (struct addrinfo *a = list; a && rc < 0; a = a->ai_next)
        rc = connect_one(a, timeout_ms);
    freeaddrinfo(list);
    if (rc < 0)
        return jm_err_sys(err, -rc, "%s: cannot connect to %s:%s", what, host, port);
    *fd = rc;
    return 0;
}

static int open_tcp(struct jm_scpi *s, const char *address, int default_port, const char *what,
                    struct jm_err *err)
{
    char host[256], port[8];
    const char *colon = strrchr(address, ':'), *close_bracket = strrchr(address, ']');
    if (colon && close_bracket && colon < close_bracket)
        colon = NULL;
    size_t n = colon ? (size_t)(colon - address) : strlen(address);
    if (n >= 2 && address[0] == '[' && address[n - 1] == ']') {
        address++;
        n -= 2;
    }
    if (n == 0 || n >= sizeof host || (colon && strlen(colon + 1) >= sizeof port))
        return jm_err_set(err, JM_EINVAL, "%s: \"%.80s\" is no address; it is written HOST:PORT", what,
                          address);
    memcpy(host, address, n);
    host[n] = '\0';
    if (colon)
        snprintf(port, sizeof port, "%s", colon + 1);
    else
        snprintf(port, sizeof port, "%d", default_port);
    return jm_scpi_connect(&s->fd, host, port, s->timeout_ms, what, err);
}

static const struct {
    int64_t baud;
    speed_t speed;
} speeds[] = {{1200, B1200},   {2400, B2400},   {4800, B4800},   {9600, B9600},
              {19200, B19200}, {38400, B38400}, {57600, B57600}, {115200, B115200}};

static int open_path(struct jm_scpi *s, const char *path, int64_t baud, const char *what, struct jm_err *err)
{
    size_t k;
    const char *last = strrchr(path, '/');
    bool usb = strncmp(last ? last + 1 : path, "usbtmc", 6) == 0;
    for (k = 0; k < sizeof speeds / sizeof *speeds && speeds[k].baud != baud; k++)
        ;
    if (k == sizeof speeds / sizeof *speeds)
        return jm_err_set(err, JM_EINVAL, "%s: a serial port has no speed %lld; say 9600, 19200, 38400, ...",
                          what, (long long)baud);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | (usb ? 0 : O_NONBLOCK));
    if (fd < 0)
        return jm_err_sys(err, errno, "%s: cannot open %s", what, path);
    if (usb) {
        uint32_t ms = (uint32_t)s->timeout_ms;
        ioctl(fd, USBTMC_SET_TIMEOUT, &ms);
        ioctl(fd, USBTMC_CLEAR);
    } else {
        struct termios t;
        if (tcgetattr(fd, &t) < 0) {
            int e = errno;
            close(fd);
            return jm_err_sys(err, e, "%s: %s is no serial port", what, path);
        }
        cfmakeraw(&t);
        t.c_cflag |= CLOCAL | CREAD;
        t.c_cflag &= (tcflag_t) ~(CSTOPB | PARENB | CRTSCTS);
        cfsetispeed(&t, speeds[k].speed);
        cfsetospeed(&t, speeds[k].speed);
        if (tcsetattr(fd, TCSANOW, &t) < 0) {
            int e = errno;
            close(fd);
            return jm_err_sys(err, e, "%s: cannot set the speed of %s", what, path);
        }
        tcflush(fd, TCIOFLUSH);
    }
    s->kind = usb ? JM_SCPI_USBTMC : JM_SCPI_SERIAL;
    s->fd = fd;
    return 0;
}

int jm_scpi_open(struct jm_scpi *s, const char *address, int default_port, int64_t baud, int timeout_ms,
                 const char *what, struct jm_err *err)
{
    bool tcp = strncmp(address, "tcp://", 6) == 0;
    *s = (struct jm_scpi){.fd = -1, .kind = JM_SCPI_TCP, .timeout_ms = timeout_ms, .end = "\n"};
    if (!tcp && address[0] == '/') {
        int rc = open_path(s, address, baud, what, err);
        if (s->kind == JM_SCPI_SERIAL)
            s->end = "\r\n";
        return rc;
    }
    if (strncmp(address, "vxi11://", 8) == 0) {
        s->kind = JM_SCPI_VXI11;
        return jm_scpi_vxi11_open(s, address + 8, what, err);
    }
    if (!tcp && strstr(address, "://"))
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "%s: \"%.80s\" cannot be reached this way; say vxi11://HOST, tcp://HOST:PORT, "
                          "/dev/usbtmc0 or a serial port",
                          what, address);
    return open_tcp(s, tcp ? address + 6 : address, default_port, what, err);
}

void jm_scpi_close(struct jm_scpi *s)
{
    if (s->fd < 0)
        return;
    if (s->kind == JM_SCPI_VXI11)
        jm_scpi_vxi11_unlink(s);
    close(s->fd);
    s->fd = -1;
}

int jm_scpi_send(struct jm_scpi *s, const char *line)
{
    char text[1024];
    int n = snprintf(text, sizeof text, "%s%s", line, s->end);
    int64_t until = jm_scpi_now_ms() + s->timeout_ms;
    if (s->fd < 0)
        return -EPIPE;
    if (n < 0 || (size_t)n >= sizeof text)
        return -EMSGSIZE;
    if (s->kind == JM_SCPI_VXI11)
        return jm_scpi_vxi11_send(s, (struct jm_span){text, (size_t)n});
    for (int at = 0; at < n;) {
        ssize_t k = s->kind == JM_SCPI_TCP ? send(s->fd, text + at, (size_t)(n - at), MSG_NOSIGNAL)
                                           : write(s->fd, text + at, (size_t)(n - at));
        if (k > 0) {
            at += (int)k;
            continue;
        }
        int rc = k == 0            ? -EPIPE
                 : errno == EAGAIN ? jm_scpi_wait(s->fd, POLLOUT, until)
                 : errno == EINTR  ? 0
                                   : -errno;
        if (rc)
            return rc;
    }
    return 0;
}

int jm_scpi_recv(struct jm_scpi *s, struct jm_span *line)
{
    int64_t until = jm_scpi_now_ms() + s->timeout_ms;
    size_t from = 0;
    if (s->fd < 0)
        return -EPIPE;
    for (;;) {
        char *end = memchr(s->buf + from, '\n', s->n - from);
        if (end) {
            size_t len = (size_t)(end - s->buf);
            size_t used = len + 1;
            while (len && s->buf[len - 1] == '\r')
                len--;
            memcpy(s->line, s->buf, len);
            memmove(s->buf, s->buf + used, s->n - used);
            s->n -= used;
            *line = (struct jm_span){s->line, len};
            return 0;
        }
        from = s->n;
        if (s->n == sizeof s->buf) {
            s->n = 0;
            return -EMSGSIZE;
        }
        int rc = s->kind == JM_SCPI_VXI11    ? jm_scpi_vxi11_fill(s, until)
                 : s->kind == JM_SCPI_USBTMC ? 0
                                             : jm_scpi_wait(s->fd, POLLIN, until);
        if (rc)
            return rc;
        if (s->kind == JM_SCPI_VXI11)
            continue;
        ssize_t k = read(s->fd, s->buf + s->n, sizeof s->buf - s->n);
        if (k > 0)
            s->n += (size_t)k;
        else if (k == 0)
            return -EPIPE;
        else if (errno != EAGAIN && errno != EINTR)
            return -errno;
    }
}

void jm_scpi_drain(struct jm_scpi *s)
{
    char junk[512];
    s->n = 0;
    if (s->fd < 0)
        return;
    if (s->kind == JM_SCPI_USBTMC) {
        ioctl(s->fd, USBTMC_CLEAR);
        return;
    }
    if (s->kind == JM_SCPI_VXI11) {
        jm_scpi_vxi11_clear(s);
        return;
    }
    for (int i = 0; i < 64 && jm_scpi_wait(s->fd, POLLIN, jm_scpi_now_ms()) == 0; i++)
        if (read(s->fd, junk, sizeof junk) <= 0)
            return;
}

int jm_scpi_ask(struct jm_scpi *s, const char *line, struct jm_span *reply)
{
    if (s->kind != JM_SCPI_USBTMC) /* an answer that came too late belongs to another question */
        jm_scpi_drain(s);
    int rc = jm_scpi_send(s, line);
    return rc ? rc : jm_scpi_recv(s, reply);
}

enum jm_scpi_value jm_scpi_number(struct jm_span text, int scale10, int64_t *out)
{
    double x;
    text = jm_span_trim(text);
    if (jm_span_ieq(text, JM_SPAN("NAN")))
        return JM_SCPI_NODATA;
    if (jm_span_ieq(text, JM_SPAN("INF")) || jm_span_ieq(text, JM_SPAN("+INF")) ||
        jm_span_ieq(text, JM_SPAN("-INF")))
        return JM_SCPI_OVER;
    if (jm_num_double(text, &x))
        return JM_SCPI_BAD;
    if (fabs(x) >= 9.905e37)
        return JM_SCPI_NODATA;
    if (fabs(x) >= 9.895e37)
        return JM_SCPI_OVER;
    if (jm_num_fixed(text, scale10, out) == 0)
        return JM_SCPI_NUMBER;
    x *= pow(10, -scale10);
    if (!(fabs(x) < 9e18))
        return JM_SCPI_BAD;
    *out = llround(x);
    return JM_SCPI_NUMBER;
}
