/* SPDX-License-Identifier: Apache-2.0 */
#include "load/target.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/banned.h"

static int bad_url(const char *url, const char *why, struct jm_err *err)
{
    return jm_err_set(err, JM_EINVAL,
                      "\"%s\" is not an endpoint's URL: %s; write http://HOST:PORT or https://HOST", url,
                      why);
}

static bool put(char *out, size_t cap, struct jm_span s)
{
    if (s.n >= cap)
        return false;
    memcpy(out, s.p, s.n);
    out[s.n] = '\0';
    return true;
}

int jm_target_parse(const char *url, struct jm_target *t, struct jm_err *err)
{
    struct jm_span s = jm_span_trim(jm_span_of(url)), host, port = {0};
    unsigned char raw[16];
    *t = (struct jm_target){0};
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= 0x20 || s.p[i] == 0x7f)
            return bad_url(url, "it holds a blank or control character", err);
    if (jm_span_istarts(s, JM_SPAN("https://")))
        t->tls = true;
    else if (!jm_span_istarts(s, JM_SPAN("http://")))
        return bad_url(url, "it does not begin with http:// or https://", err);
    s = jm_span_sub(s, t->tls ? 8 : 7, s.n);
    ptrdiff_t slash = jm_span_chr(s, '/');
    struct jm_span authority = slash < 0 ? s : jm_span_sub(s, 0, (size_t)slash);
    struct jm_span path = slash < 0 ? (struct jm_span){s.p, 0} : jm_span_sub(s, (size_t)slash, s.n);
    if (jm_span_chr(authority, '@') >= 0)
        return bad_url(url, "a user name in it is not supported (an API key has an option of its own)", err);
    if (jm_span_chr(s, '?') >= 0 || jm_span_chr(s, '#') >= 0)
        return bad_url(url, "a query or fragment has no meaning here", err);
    if (authority.n && authority.p[0] == '[') {
        ptrdiff_t close = jm_span_chr(authority, ']');
        if (close < 0)
            return bad_url(url, "the bracket of the address is not closed", err);
        host = jm_span_sub(authority, 1, (size_t)close - 1);
        port = jm_span_sub(authority, (size_t)close + 1, authority.n);
    } else {
        ptrdiff_t colon = jm_span_chr(authority, ':');
        host = colon < 0 ? authority : jm_span_sub(authority, 0, (size_t)colon);
        port =
            colon < 0 ? (struct jm_span){authority.p, 0} : jm_span_sub(authority, (size_t)colon, authority.n);
    }
    if (!host.n || !put(t->host, sizeof t->host, host) || !put(t->authority, sizeof t->authority, authority))
        return bad_url(url, host.n ? "the host's name is too long" : "it has no host", err);
    int64_t p = t->tls ? 443 : 80;
    if (port.n &&
        (port.p[0] != ':' || jm_num_i64(jm_span_sub(port, 1, port.n), &p) != 0 || p < 1 || p > 65535))
        return bad_url(url, "its port is not a number from 1 to 65535", err);
    t->port = (int)p;
    t->is_ip = inet_pton(AF_INET, t->host, raw) == 1 || inet_pton(AF_INET6, t->host, raw) == 1;
    /* everything from /v1 on is ours to write */
    for (size_t i = 0; i + 3 <= path.n; i++)
        if (memcmp(path.p + i, "/v1", 3) == 0 && (i + 3 == path.n || path.p[i + 3] == '/')) {
            path.n = i;
            break;
        }
    while (path.n && path.p[path.n - 1] == '/')
        path.n--;
    if (!put(t->prefix, sizeof t->prefix, path))
        return bad_url(url, "its path is too long", err);
    return 0;
}

static void name_addr(struct jm_addr *a)
{
    char ip[INET6_ADDRSTRLEN] = "?";
    if (a->sa.ss_family == AF_INET6) {
        const struct sockaddr_in6 *s = (const void *)&a->sa;
        inet_ntop(AF_INET6, &s->sin6_addr, ip, sizeof ip);
        snprintf(a->text, sizeof a->text, "[%s]:%d", ip, ntohs(s->sin6_port));
    } else {
        const struct sockaddr_in *s = (const void *)&a->sa;
        inet_ntop(AF_INET, &s->sin_addr, ip, sizeof ip);
        snprintf(a->text, sizeof a->text, "%s:%d", ip, ntohs(s->sin_port));
    }
}

int jm_target_resolve(struct jm_target *t, struct jm_err *err)
{
    struct addrinfo hint = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *list = NULL;
    char port[8];
    snprintf(port, sizeof port, "%d", t->port);
    int rc = getaddrinfo(t->host, port, &hint, &list);
    if (rc != 0)
        return jm_err_set(err, JM_ENET,
                          "the host name %s cannot be resolved (%s): check the URL, or the name server",
                          t->host, gai_strerror(rc));
    t->n = t->good = 0;
    for (struct addrinfo *a = list; a && t->n < JM_TARGET_ADDRS; a = a->ai_next) {
        if (a->ai_addrlen > sizeof t->addr[0].sa)
            continue;
        memcpy(&t->addr[t->n].sa, a->ai_addr, a->ai_addrlen);
        t->addr[t->n].len = a->ai_addrlen;
        name_addr(&t->addr[t->n++]);
    }
    freeaddrinfo(list);
    return t->n ? 0 : jm_err_set(err, JM_ENET, "the host name %s has no address", t->host);
}

int jm_target_socket(const struct jm_target *t)
{
    int on = 1, fd = socket(t->addr[t->good].sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

int jm_target_no_socket(int errnum, struct jm_err *err)
{
    struct rlimit lim;
    if (errnum == EMFILE && getrlimit(RLIMIT_NOFILE, &lim) == 0)
        return jm_err_set(
            err, JM_ELIMIT,
            "no further connection: the limit of %llu open files is reached; run \"ulimit -n %llu\" before, "
            "or ask for fewer requests at a time",
            (unsigned long long)lim.rlim_cur, (unsigned long long)lim.rlim_cur * 4);
    if (errnum == ENFILE)
        return jm_err_set(
            err, JM_ELIMIT,
            "no further connection: the system's limit of open files is reached; raise it with \"sysctl -w "
            "fs.file-max=2000000\"");
    return jm_err_sys(err, errnum, "a socket cannot be opened");
}

void jm_target_why(const struct jm_target *t, int errnum, char *out, size_t n)
{
    char buf[96];
    const char *at = t->n ? t->addr[t->good].text : t->host;
    if (errnum == ECONNREFUSED)
        snprintf(out, n, "connection refused: nothing listens at %s", at);
    else if (errnum == ETIMEDOUT)
        snprintf(out, n, "no answer from %s", at);
    else if (errnum == EADDRNOTAVAIL)
        snprintf(out, n,
                 "%s: no local port is free for a further connection; run \"sysctl -w "
                 "net.ipv4.ip_local_port_range='1024 65535'\" before",
                 at);
    else
        snprintf(out, n, "%s: %s", at, strerror_r(errnum, buf, sizeof buf));
}

/* Waits for a connect() under way; 0 or an errno. */
static int finish_connect(int fd, int64_t until)
{
    struct jm_clock clock = jm_clock_system();
    for (;;) {
        int64_t left = (until - jm_clock_mono(&clock)) / JM_NS_PER_MS;
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        if (left <= 0)
            return ETIMEDOUT;
        int rc = poll(&p, 1, left > 1000000 ? 1000000 : (int)left);
        if (rc < 0 && errno != EINTR)
            return errno;
        if (rc > 0) {
            int e = 0;
            socklen_t len = sizeof e;
            return getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &len) == 0 ? e : errno;
        }
    }
}

int jm_target_connect(struct jm_target *t, int64_t timeout_ns, int *out, struct jm_err *err)
{
    struct jm_clock clock = jm_clock_system();
    int why = 0;
    char text[160];
    size_t start = t->good;
    for (size_t i = 0; i < t->n; i++) {
        t->good = (start + i) % t->n;
        int fd = jm_target_socket(t);
        if (fd < 0) {
            why = errno;
            continue;
        }
        int e =
            connect(fd, (const struct sockaddr *)&t->addr[t->good].sa, t->addr[t->good].len) == 0 ? 0 : errno;
        if (e == EINPROGRESS)
            e = finish_connect(fd, jm_clock_mono(&clock) + timeout_ns);
        if (e == 0) {
            *out = fd;
            return 0;
        }
        close(fd);
        if (!why || e != ECONNREFUSED)
            why = e;
    }
    t->good = start;
    jm_target_why(t, why, text, sizeof text);
    return jm_err_set(err, why == ETIMEDOUT ? JM_ETIMEOUT : JM_ENET,
                      "cannot reach http%s://%s (%s): start the engine, or check host and port",
                      t->tls ? "s" : "", t->authority, text);
}

static bool same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    if (a->ss_family != b->ss_family)
        return false;
    if (a->ss_family == AF_INET)
        return memcmp(&((const struct sockaddr_in *)(const void *)a)->sin_addr,
                      &((const struct sockaddr_in *)(const void *)b)->sin_addr, sizeof(struct in_addr)) == 0;
    return a->ss_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

/* The kernel takes the address of the other end as source only where that is its own. */
bool jm_target_is_local(int fd)
{
    struct sockaddr_storage a, b;
    socklen_t na = sizeof a, nb = sizeof b;
    return getsockname(fd, (struct sockaddr *)&a, &na) == 0 &&
           getpeername(fd, (struct sockaddr *)&b, &nb) == 0 && same_address(&a, &b);
}
