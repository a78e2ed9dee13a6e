/* SPDX-License-Identifier: Apache-2.0 */
/* The talk with an SNMP agent over UDP. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "meter/snmp.h"
#include "base/banned.h"

#define TRIES 3
#define BULK  24

static int64_t now_ms(void)
{
    struct jm_clock c = jm_clock_system();
    return jm_clock_mono(&c) / JM_NS_PER_MS;
}

/* "host", "host:port", "[v6]:port", "v6". */
static bool split(const char *address, char host[256], char port[8])
{
    const char *colon = strrchr(address, ':'), *bracket = strrchr(address, ']');
    if (colon && (bracket ? bracket > colon : strchr(address, ':') != colon))
        colon = NULL;
    size_t n = colon ? (size_t)(colon - address) : strlen(address);
    snprintf(port, 8, "%.7s", colon ? colon + 1 : "161");
    if (n >= 2 && address[0] == '[' && address[n - 1] == ']') {
        address++;
        n -= 2;
    }
    if (!n || n >= 256)
        return false;
    memcpy(host, address, n);
    host[n] = '\0';
    return true;
}

int jm_snmp_io_open(struct jm_snmp_io *io, const char *address, struct jm_err *err)
{
    char host[256], port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *list, *a;
    int32_t random[3] = {1, 2, 3};
    io->fd = -1;
    if (!split(address, host, port))
        return jm_err_set(err, JM_EINVAL, "\"%.80s\" is no address; it is written HOST or HOST:PORT",
                          address);
    int rc = getaddrinfo(host, port, &hints, &list);
    if (rc)
        return jm_err_set(err, JM_EABSENT, "the host of %.80s is not known (%s)", address, gai_strerror(rc));
    int e = ENOENT;
    for (a = list; a && io->fd < 0; a = a->ai_next) {
        int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0) {
            io->fd = fd;
        } else {
            e = errno;
            if (fd >= 0)
                close(fd);
        }
    }
    freeaddrinfo(list);
    if (io->fd < 0)
        return jm_err_sys(err, e, "cannot send to %.80s", address);
    if (getrandom(random, sizeof random, GRND_NONBLOCK) < 0)
        random[0] = (int32_t)now_ms();
    io->request = random[0] & 0x3fffffff;
    io->peer.salt = (uint64_t)(uint32_t)random[1] << 32 | (uint32_t)random[2];
    return 0;
}

void jm_snmp_io_close(struct jm_snmp_io *io)
{
    if (io->fd >= 0)
        close(io->fd);
    io->fd = -1;
    explicit_bzero(&io->peer, sizeof io->peer);
}

static int refusal(int taken, const char **why)
{
    static const char *const text[] = {
        [JM_SNMP_WRONG_USER] = "it does not know the user",
        [JM_SNMP_WRONG_KEY] = "the password is not the one that the user has there, or the "
                              "hash is another (auth: sha or sha256)",
        [JM_SNMP_WRONG_LEVEL] = "it does not serve this security level; give both password "
                                "and privacy, or what the agent has",
        [JM_SNMP_WRONG_PRIV] = "the privacy password is not the one that the user has there"};
    *why = text[taken];
    return -EACCES;
}

/* Waits until the answer to the last request, or what has to be done before it is sent again (1). */
static int receive(struct jm_snmp_io *io, int64_t until, struct jm_snmp_pdu *pdu, int32_t request,
                   const char **why)
{
    bool told = false;
    for (;;) {
        int64_t left = until - now_ms();
        struct pollfd p = {.fd = io->fd, .events = POLLIN};
        int n = left < 0 ? 0 : poll(&p, 1, (int)left); /* noise without end always has a next datagram */
        if (n == 0)
            return -ETIMEDOUT;
        if (n < 0 && errno != EINTR)
            return -errno;
        ssize_t got = n > 0 ? recv(io->fd, io->in, sizeof io->in, 0) : -1;
        if (got < 0) {
            if (n > 0 && errno != EINTR && errno != EAGAIN)
                return -errno; /* ECONNREFUSED: nobody listens there */
            continue;
        }
        int rc = jm_snmp_decode(&io->peer, io->in, (size_t)got, pdu);
        if (rc == JM_SNMP_ENGINE || rc == JM_SNMP_TAKEN) {
            io->learnt_ms = now_ms();
            io->learnt_time = io->peer.time;
        }
        if (rc == JM_SNMP_ENGINE)
            return 1;
        if (rc == JM_SNMP_TAKEN && pdu->tag == JM_SNMP_RESPONSE && pdu->request == request)
            return 0;
        if (rc > JM_SNMP_ENGINE)
            return refusal(rc, why);
        /* a late answer, one of another agent, or noise: the right one may still come */
        if (rc < 0 && io->tell && !told) {
            struct jm_clock c = jm_clock_system();
            jm_meter_raw(io->tell, io->t0, jm_clock_mono(&c), io->origin,
                         (struct jm_span){(char *)io->in, (size_t)got}, JM_RAW_BAD);
            told = true; /* one of them tells what it is */
        }
    }
}

int jm_snmp_io_ask(struct jm_snmp_io *io, const struct jm_clock *clock, struct jm_snmp_pdu *pdu,
                   const char **why)
{
    struct jm_snmp_pdu ask = *pdu;
    int64_t until = now_ms() + io->timeout_ms;
    int rc = -ETIMEDOUT, learnt = 0;
    *why = NULL;
    if (io->fd < 0)
        return -EBADF;
    for (int i = 0; i < TRIES && rc != 0; i++) {
        ask.request = io->request = (io->request + 1) & 0x3fffffff;
        if (io->peer.engine_n)
            io->peer.time = io->learnt_time + (uint32_t)((now_ms() - io->learnt_ms) / 1000);
        int n = jm_snmp_encode(&io->peer, &ask, io->out, sizeof io->out);
        if (n < 0)
            return -EMSGSIZE;
        io->t0 = jm_clock_mono(clock);
        if (send(io->fd, io->out, (size_t)n, MSG_NOSIGNAL) < 0 && errno != ECONNREFUSED && errno != EAGAIN)
            return -errno;
        int64_t left = until - now_ms(), one = left / (TRIES - i);
        rc = receive(io, now_ms() + (one > 0 ? one : 0), pdu, ask.request, why);
        io->t1 = jm_clock_mono(clock);
        if (rc == 1) {
            if (++learnt > 3) /* an agent that never agrees on its engine or clock */
                return -EBADMSG;
            i--;
        } else if (rc < 0 && rc != -ETIMEDOUT && rc != -ECONNREFUSED) {
            return rc;
        }
    }
    if (rc == 0 && io->opening)
        jm_meter_raw(io->tell, io->t0, io->t1, io->origin, pdu->varbinds, 0);
    return rc;
}

int jm_snmp_io_get(struct jm_snmp_io *io, const struct jm_clock *clock, const struct jm_snmp_oid *oid,
                   struct jm_snmp_value *v, const char **why)
{
    uint8_t one[5 * JM_SNMP_OID_MAX + 16];
    size_t at = 0;
    struct jm_snmp_oid got;
    if (!jm_snmp_ask(one, sizeof one, &at, oid))
        return -EINVAL;
    struct jm_snmp_pdu pdu = {.tag = JM_SNMP_GET, .varbinds = {(char *)one, at}};
    int rc = jm_snmp_io_ask(io, clock, &pdu, why);
    if (rc)
        return rc;
    if (pdu.error)
        return 0;
    rc = jm_snmp_next(&pdu.varbinds, &got, v);
    if (rc != 1)
        return -EBADMSG;
    return jm_snmp_oid_cmp(&got, oid) == 0 && v->type < JM_SNMP_NO_OBJECT && v->type != JM_SNMP_NULL;
}

int jm_snmp_io_walk(struct jm_snmp_io *io, const struct jm_clock *clock, const struct jm_snmp_oid *base,
                    size_t limit, jm_snmp_visit visit, void *self, const char **why)
{
    uint8_t one[5 * JM_SNMP_OID_MAX + 16];
    struct jm_snmp_oid at = *base, got;
    struct jm_snmp_value v;
    int32_t bulk = BULK;
    for (size_t n = 0; n < limit;) {
        size_t len = 0, before = n;
        if (!jm_snmp_ask(one, sizeof one, &len, &at))
            return -EINVAL;
        struct jm_snmp_pdu pdu = {.tag = JM_SNMP_GETBULK, .index = bulk, .varbinds = {(char *)one, len}};
        int rc = jm_snmp_io_ask(io, clock, &pdu, why);
        if (rc)
            return rc;
        if (pdu.error == JM_SNMP_TOO_BIG && bulk > 1) {
            bulk /= 2;
            continue;
        }
        if (pdu.error)
            return 0;
        while ((rc = jm_snmp_next(&pdu.varbinds, &got, &v)) == 1) {
            if (v.type >= JM_SNMP_NO_OBJECT || !jm_snmp_oid_below(&got, base) || n == limit)
                return 0;
            if (jm_snmp_oid_cmp(&got, &at) <= 0)
                return -ELOOP; /* an agent that goes in circles */
            rc = visit(self, &got, &v);
            if (rc)
                return rc;
            at = got;
            n++;
        }
        if (rc < 0)
            return -EBADMSG;
        if (n == before)
            return 0;
    }
    return 0;
}
