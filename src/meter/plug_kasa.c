/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/plug_kasa.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "meter/scpi.h"
#include "wire/plug.h"

#include "base/banned.h"

static int take(int fd, unsigned char *buf, size_t n, const struct jm_clock *clock, int64_t deadline,
                const char *at, struct jm_err *err)
{
    while (n) {
        ssize_t k = recv(fd, buf, n, 0);
        if (k > 0) {
            buf += k;
            n -= (size_t)k;
            continue;
        }
        if (k == 0)
            return jm_err_set(err, JM_ENET, "%s closed the connection", at);
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
            return jm_err_sys(err, errno, "reading from %s failed", at);
        int64_t left = deadline - jm_clock_mono(clock);
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (left <= 0 || poll(&p, 1, (int)(left / JM_NS_PER_MS) + 1) == 0)
            return jm_err_set(err, JM_ETIMEOUT, "%s did not answer in time", at);
    }
    return 0;
}

static int talk(struct jm_scpi *wire, const char *at, struct jm_span request, const struct jm_clock *clock,
                int64_t deadline, struct jm_str *body, struct jm_err *err)
{
    unsigned char head[4], text[16384];
    struct jm_str ask;
    jm_str_init(&ask);
    jm_kasa_encode(request, &ask);
    ssize_t sent = ask.failed ? -1 : send(wire->fd, ask.buf, ask.len, MSG_NOSIGNAL);
    int rc = sent == (ssize_t)ask.len ? 0 : jm_err_set(err, JM_ENET, "%s takes no request", at);
    jm_str_release(&ask);
    if (!rc)
        rc = take(wire->fd, head, 4, clock, deadline, at, err);
    size_t n = rc ? 0 : (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
    if (!rc && n > sizeof text)
        return jm_err_set(err, JM_ELIMIT, "%s announces %zu bytes: it is no Kasa plug", at, n);
    if (!rc)
        rc = take(wire->fd, text, n, clock, deadline, at, err);
    if (rc)
        return rc;
    jm_kasa_decode(text, n, (char *)text);
    jm_str_add(body, text, n);
    return jm_str_ok(body, "an answer", err);
}

int jm_kasa_ask(const char *address, struct jm_span request, int64_t timeout_ns, const struct jm_clock *clock,
                struct jm_str *body, struct jm_err *err)
{
    struct jm_scpi *wire = malloc(sizeof *wire);
    if (!wire)
        return jm_err_set(err, JM_ENOMEM, "out of memory for a connection");
    int64_t deadline = jm_clock_mono(clock) + timeout_ns;
    int rc = jm_scpi_open(wire, address, 9999, 0, (int)(timeout_ns / JM_NS_PER_MS), "kasa", err);
    if (!rc) {
        rc = talk(wire, address, request, clock, deadline, body, err);
        jm_scpi_close(wire);
    }
    free(wire);
    return rc;
}
