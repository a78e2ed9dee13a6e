/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/ntp.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/num.h"

#include "base/banned.h"

enum { SHORTEST = 48, PORT = 123, CLIENT = 3, SERVER = 4, VERSION = 4 };

/* Seconds from 1900 to 1970. */
#define ERA0 INT64_C(2208988800)

static void put64(unsigned char *p, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        p[i] = (unsigned char)(v >> (56 - 8 * i));
}

static uint64_t get(const unsigned char *p, int n)
{
    uint64_t v = 0;
    for (int i = 0; i < n; i++)
        v = v << 8 | p[i];
    return v;
}

void jm_mlperf_ntp_request(uint64_t nonce, unsigned char out[JM_MLPERF_NTP_PACKET])
{
    memset(out, 0, JM_MLPERF_NTP_PACKET);
    out[0] = VERSION << 3 | CLIENT;
    put64(out + 40, nonce);
}

/* An NTP time as Unix ns, in the era that is nearest to near_ns. */
static int64_t unix_ns(uint64_t stamp, int64_t near_ns)
{
    int64_t s = (int64_t)(stamp >> 32) - ERA0, near_s = near_ns / JM_NS_PER_S;
    int64_t eras = (near_s - s + (INT64_C(1) << 31)) >> 32; /* rounded down */
    s += eras * (INT64_C(1) << 32);
    return s * JM_NS_PER_S + (int64_t)(((stamp & 0xffffffff) * 1000000000U) >> 32);
}

static void refid_text(const unsigned char *p, int stratum, char *out, size_t n)
{
    if (stratum > 1) {
        snprintf(out, n, "%u.%u.%u.%u", p[0], p[1], p[2], p[3]);
        return;
    }
    size_t k = 0;
    for (; k < 4 && k + 1 < n && p[k]; k++)
        out[k] = isprint(p[k]) ? (char)p[k] : '?';
    out[k] = '\0';
}

int jm_mlperf_ntp_parse(struct jm_span packet, uint64_t nonce, int64_t t1_ns, int64_t t4_ns,
                        struct jm_mlperf_ntp *out, struct jm_err *err)
{
    const unsigned char *p = (const unsigned char *)packet.p;
    if (packet.n < SHORTEST)
        return jm_err_set(err, JM_EPARSE, "an NTP answer of %zu bytes is shorter than its header of %d",
                          packet.n, SHORTEST);
    int mode = p[0] & 7, version = p[0] >> 3 & 7, leap = p[0] >> 6, stratum = p[1];
    if (get(p + 24, 8) != nonce)
        return jm_err_set(err, JM_EPARSE,
                          "an NTP answer to another question (its originate time is not ours)");
    if (mode != SERVER || version < 1 || version > VERSION)
        return jm_err_set(err, JM_EPARSE, "an NTP packet of mode %d, version %d instead of an answer", mode,
                          version);
    struct jm_mlperf_ntp n = {.stratum = stratum, .leap = leap, .version = version};
    refid_text(p + 12, stratum, n.refid, sizeof n.refid);
    if (stratum == 0)
        return jm_err_set(
            err, JM_EDENIED,
            "the NTP server refuses to answer (kiss of death \"%s\"); ask less often or another "
            "server",
            n.refid);
    if (leap == 3 || stratum > 15)
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "the NTP server says that its own clock is not synchronised (leap indicator %d, "
                          "stratum %d)",
                          leap, stratum);
    uint64_t s2 = get(p + 32, 8), s3 = get(p + 40, 8);
    if (!s2 || !s3)
        return jm_err_set(err, JM_EPARSE, "an NTP answer without a time");
    int64_t t2 = unix_ns(s2, t1_ns), t3 = unix_ns(s3, t1_ns);
    n.root_delay_s = (double)(int32_t)(uint32_t)get(p + 4, 4) / 65536.0;
    n.root_dispersion_s = (double)get(p + 8, 4) / 65536.0;
    if (t3 < t2 || t4_ns < t1_ns || n.root_delay_s < 0)
        return jm_err_set(err, JM_EPARSE, "an NTP answer whose times run backwards");
    /* differences first: sums of Unix ns would not fit a double */
    n.offset_s = ((double)(t2 - t1_ns) + (double)(t3 - t4_ns)) / 2e9;
    n.delay_s = ((double)(t4_ns - t1_ns) - (double)(t3 - t2)) / 1e9;
    snprintf(n.server, sizeof n.server, "%s", out->server);
    *out = n;
    return 0;
}

static int64_t real_now(const struct jm_clock *clock)
{
    struct jm_clock_pair p;
    jm_clock_pair(clock, &p);
    return p.real;
}

/* One question to one address. */
static int ask(const struct addrinfo *a, const struct jm_clock *clock, struct jm_mlperf_wake wake,
               int64_t deadline, struct jm_mlperf_ntp *out, struct jm_err *err)
{
    unsigned char packet[JM_MLPERF_NTP_PACKET], answer[512];
    uint64_t nonce;
    ssize_t n;
    do
        n = getrandom(&nonce, sizeof nonce, 0);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof nonce)
        return jm_err_sys(err, n < 0 ? errno : EIO, "cannot get random bytes for an NTP question");
    nonce |= 1; /* never the "not set" of an answer without an echo */
    int fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return jm_err_sys(err, errno, "cannot make a socket");
    jm_mlperf_ntp_request(nonce, packet);
    /* the kernel then lets only this server's answers in */
    int rc = connect(fd, a->ai_addr, a->ai_addrlen) ? errno : 0;
    int64_t t1 = real_now(clock);
    if (!rc && send(fd, packet, sizeof packet, MSG_NOSIGNAL) != (ssize_t)sizeof packet)
        rc = errno;
    if (rc) {
        close(fd);
        return jm_err_sys(err, rc, "cannot send to the NTP server %s", out->server);
    }
    for (;;) {
        int64_t left = deadline - jm_clock_mono(clock);
        if (wake.cancel && *wake.cancel) {
            rc = jm_err_set(err, JM_ESTATE, "ended while waiting for the NTP server %s", out->server);
            break;
        }
        if (left <= 0) {
            rc = jm_err_set(err, JM_ETIMEOUT,
                            "the NTP server %s does not answer; is the name right, and UDP port 123 open?",
                            out->server);
            break;
        }
        struct pollfd p[2] = {{fd, POLLIN, 0}, {wake.fd, POLLIN, 0}};
        int ms = left > 500 * JM_NS_PER_MS ? 500 : (int)((left + JM_NS_PER_MS - 1) / JM_NS_PER_MS);
        if (poll(p, wake.cancel && wake.fd >= 0 ? 2 : 1, ms) <= 0 || !p[0].revents)
            continue;
        n = recv(fd, answer, sizeof answer, 0);
        int64_t t4 = real_now(clock);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (n < 0) {
            rc = jm_err_set(err, JM_ENET, "the NTP server %s cannot be reached: %s", out->server,
                            errno == ECONNREFUSED ? "nobody listens there" : "no way to it");
            break;
        }
        rc = jm_mlperf_ntp_parse((struct jm_span){(const char *)answer, (size_t)n}, nonce, t1, t4, out, err);
        if (rc != JM_EPARSE)
            break; /* what is no answer to us is passed over: anybody can send it */
    }
    close(fd);
    return rc;
}

/* "host", "host:port", "[v6]:port"; a bare IPv6 address has more than one colon. */
static int split(const char *server, char host[256], char port[16], struct jm_err *err)
{
    struct jm_span s = jm_span_trim(jm_span_of(server)), h = s, p = {0};
    if (s.n && s.p[0] == '[') {
        ptrdiff_t end = jm_span_chr(s, ']');
        h.n = 0;
        if (end > 0) {
            h = jm_span_sub(s, 1, (size_t)end - 1);
            p = jm_span_sub(s, (size_t)end + 1, s.n);
            if (p.n && p.p[0] != ':')
                h.n = 0;
            p = jm_span_sub(p, 1, p.n);
        }
    } else {
        ptrdiff_t colon = jm_span_chr(s, ':');
        if (colon >= 0 && jm_span_chr(jm_span_sub(s, (size_t)colon + 1, s.n), ':') < 0) {
            h = jm_span_sub(s, 0, (size_t)colon);
            p = jm_span_sub(s, (size_t)colon + 1, s.n);
        }
    }
    int64_t number = PORT;
    if (!h.n || h.n >= 256 || (p.n && (jm_num_i64(p, &number) || number < 1 || number > 65535)))
        return jm_err_set(err, JM_EINVAL, "\"%.100s\" is no NTP server: give HOST or HOST:PORT", server);
    snprintf(host, 256, "%.*s", (int)h.n, h.p);
    snprintf(port, 16, "%d", (int)number);
    return 0;
}

int jm_mlperf_ntp_query(const char *server, const struct jm_clock *clock, struct jm_mlperf_wake wake,
                        int64_t timeout_ns, struct jm_mlperf_ntp *out, struct jm_err *err)
{
    struct addrinfo hint = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICSERV}, *list = NULL;
    char host[256], port[16];
    *out = (struct jm_mlperf_ntp){.offset_s = NAN, .delay_s = NAN};
    int rc = split(server, host, port, err);
    if (rc)
        return rc;
    snprintf(out->server, sizeof out->server, "%.63s", server);
    rc = getaddrinfo(host, port, &hint, &list);
    if (rc)
        return jm_err_set(err, JM_ENET, "cannot find the address of the NTP server %s: %s", server,
                          gai_strerror(rc));
    rc = JM_ENET;
    for (const struct addrinfo *a = list; a && rc && rc != JM_ESTATE; a = a->ai_next)
        rc = ask(a, clock, wake, jm_clock_mono(clock) + timeout_ns, out, err);
    freeaddrinfo(list);
    return rc;
}

int jm_mlperf_ntp_judge(const struct jm_mlperf_ntp *n, struct jm_err *err)
{
    if (fabs(n->offset_s) < JM_MLPERF_CLOCK_LIMIT_S)
        return 0;
    return jm_err_set(
        err, JM_ECONFLICT,
        "this clock is %.3f s %s the NTP server %s; MLPerf needs less than 0.4 s. Set it, e.g. by "
        "\"sudo ntpdate -b -- %s\", or let chrony or ntpd keep it",
        fabs(n->offset_s), n->offset_s > 0 ? "behind" : "ahead of", n->server, n->server);
}

int jm_mlperf_clock_judge(double before, double remote, double after, struct jm_err *err)
{
    double d1 = before - remote, d2 = after - remote, worst = fmax(fabs(d1), fabs(d2));
    if (worst <= JM_MLPERF_CLOCK_LIMIT_S)
        return 0;
    return jm_err_set(
        err, JM_ECONFLICT,
        "the clocks of client and Director differ by %.3f to %.3f s; MLPerf allows 0.4 s. Set both "
        "by the same NTP server",
        fmin(d1, d2), fmax(d1, d2));
}
