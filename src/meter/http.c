/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to instruments. See meter/http.h. */
#include "meter/http_impl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/num.h"
#include "base/rng.h"
#include "meter/scpi.h"

#include "base/banned.h"

static const char *scheme(const struct jm_http *h)
{
    return h->secure ? "https" : "http";
}

/* --- the address
 * ---------------------------------------------------------------------------------------------- */
static int parse(struct jm_http *h, const char *url, struct jm_err *err)
{
    struct jm_span s = jm_span_of(url), host;
    int64_t port = 0;
    if (jm_span_istarts(s, JM_SPAN("https://")))
        h->secure = true;
    else if (!jm_span_istarts(s, JM_SPAN("http://")))
        return jm_err_set(err, JM_EUSAGE, "the address must begin with https:// or http://");
    s = jm_span_sub(s, h->secure ? 8 : 7, s.n);
    size_t end = 0;
    while (end < s.n && !strchr("/?#", s.p[end]))
        end++;
    host = jm_span_sub(s, 0, end);
    struct jm_span path = jm_span_sub(s, end, s.n);
    while (path.n && path.p[path.n - 1] == '/')
        path.n--;
    if (memchr(host.p, '@', host.n))
        return jm_err_set(err, JM_EUSAGE, "the address carries a user; say user: and password_file: instead");
    if (path.n >= sizeof h->prefix || host.n >= sizeof h->host || memchr(path.p, '?', path.n))
        return jm_err_set(err, JM_EUSAGE, "the address is too long or has a query");
    memcpy(h->prefix, path.p, path.n);
    ptrdiff_t colon = -1, bracket = jm_span_chr(host, ']');
    for (size_t i = 0; i < host.n; i++)
        if (host.p[i] == ':' && (ptrdiff_t)i > bracket)
            colon = (ptrdiff_t)i;
    if (colon >= 0) {
        if (jm_num_i64(jm_span_sub(host, (size_t)colon + 1, host.n), &port) != 0 || port < 1 || port > 65535)
            return jm_err_set(err, JM_EUSAGE, "the port of the address is no number from 1 to 65535");
        host.n = (size_t)colon;
    }
    h->port = port ? (int)port : h->secure ? 443 : 80;
    if (!host.n)
        return jm_err_set(err, JM_EUSAGE, "the address has no host");
    memcpy(h->host, host.p, host.n);
    h->host[host.n] = '\0';
    if (port)
        snprintf(h->authority, sizeof h->authority, "%s:%d", h->host, h->port);
    else
        snprintf(h->authority, sizeof h->authority, "%s", h->host);
    return 0;
}

int jm_http_init(struct jm_http *h, const struct jm_http_setup *s, const struct jm_clock *clock,
                 struct jm_err *err)
{
    char why[JM_TLS_WHY] = "";
    *h = (struct jm_http){.setup = *s, .clock = *clock, .fd = -1};
    if (!h->setup.limit)
        h->setup.limit = (size_t)16 << 20;
    jm_http1_init(&h->reader, NULL);
    jm_str_init(&h->body);
    int rc = parse(h, s->url, err);
    if (rc || !h->secure)
        return rc;
    if ((rc = jm_tls_load(&h->ops, err)))
        return rc;
    const struct jm_tls_opts *t = s->tls;
    /* a pinned certificate is compared after the handshake, before a byte is sent: its issuer is no matter */
    h->ctx = h->ops->ctx_new(t ? t->ca : NULL, t && (t->insecure || t->pin), why);
    if (!h->ctx)
        return jm_err_set(err, JM_ETLS, "%s://%s: %s", scheme(h), h->authority, why);
    return 0;
}

static void hang_up(struct jm_http *h)
{
    if (h->session) {
        h->ops->shutdown(h->session);
        h->ops->close(h->session);
        h->session = NULL;
    }
    if (h->fd >= 0)
        close(h->fd);
    h->fd = -1;
}

void jm_http_close(struct jm_http *h)
{
    hang_up(h);
    if (h->ctx)
        h->ops->ctx_free(h->ctx);
    h->ctx = NULL;
    jm_http1_release(&h->reader);
    jm_str_release(&h->body);
    explicit_bzero(&h->digest, sizeof h->digest);
    explicit_bzero(h->wire, sizeof h->wire);
}

/* --- bytes, each wait bounded by the deadline of the exchange
 * ---------------------------------------------------------- */
static int late(const struct jm_http *h, struct jm_err *err)
{
    return jm_err_set(err, JM_ETIMEOUT, "%s://%s did not answer within %.3g s", scheme(h), h->authority,
                      (double)h->setup.timeout_ns / 1e9);
}

static int wait_for(struct jm_http *h, short what, int64_t deadline, struct jm_err *err)
{
    for (;;) {
        int64_t left = deadline - jm_clock_mono(&h->clock);
        if (left <= 0)
            return late(h, err);
        struct pollfd p = {.fd = h->fd, .events = what};
        int n = poll(&p, 1, (int)(left / JM_NS_PER_MS) + 1);
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return jm_err_sys(err, errno, "waiting for %s://%s failed", scheme(h), h->authority);
    }
}

static int lost(struct jm_http *h, struct jm_err *err)
{
    h->cut = true;
    return jm_err_set(err, JM_ENET, "%s://%s closed the connection", scheme(h), h->authority);
}

static int send_all(struct jm_http *h, const char *p, size_t n, int64_t deadline, struct jm_err *err)
{
    while (n) {
        ssize_t k = send(h->fd, p, n, MSG_NOSIGNAL);
        if (k > 0) {
            p += k;
            n -= (size_t)k;
        } else if (k < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            int rc = wait_for(h, POLLOUT, deadline, err);
            if (rc)
                return rc;
        } else if (!(k < 0 && errno == EINTR)) {
            return lost(h, err);
        }
    }
    return 0;
}

static int flush(struct jm_http *h, int64_t deadline, struct jm_err *err)
{
    const char *p;
    size_t n;
    while ((n = h->ops->pending(h->session, &p))) {
        int rc = send_all(h, p, n, deadline, err);
        if (rc)
            return rc;
        h->ops->sent(h->session, n);
    }
    return 0;
}

/* What the socket has; 0 bytes: the other side closed. */
static int take(struct jm_http *h, char *buf, size_t cap, size_t *got, int64_t deadline, struct jm_err *err)
{
    for (;;) {
        ssize_t k = recv(h->fd, buf, cap, 0);
        if (k >= 0) {
            *got = (size_t)k;
            return 0;
        }
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK)
            return lost(h, err);
        int rc = wait_for(h, POLLIN, deadline, err);
        if (rc)
            return rc;
    }
}

/* --- TLS
 * ----------------------------------------------------------------------------------------------------- */
static int check_pin(struct jm_http *h, struct jm_err *err)
{
    char have[65] = "";
    const char *pin = h->setup.tls ? h->setup.tls->pin : NULL;
    if (!pin)
        return 0;
    if (!h->ops->peer_sha256(h->session, have))
        return jm_err_set(err, JM_ETLS, "https://%s shows no certificate", h->authority);
    if (strcasecmp(have, pin) == 0)
        return 0;
    return jm_err_set(
        err, JM_ETLS,
        "https://%s shows a certificate that is not the pinned one (its SHA-256 is %s); nothing was "
        "sent; check that this is the right device before changing the pin",
        h->authority, have);
}

static int handshake(struct jm_http *h, int64_t deadline, struct jm_err *err)
{
    char why[JM_TLS_WHY] = "", name[sizeof h->host];
    unsigned char addr[16];
    size_t got, n = strlen(h->host);
    bool bracket = h->host[0] == '[' && n > 2;
    snprintf(name, sizeof name, "%.*s", (int)(bracket ? n - 2 : n), h->host + bracket);
    bool ip = inet_pton(AF_INET, name, addr) == 1 || inet_pton(AF_INET6, name, addr) == 1;
    h->session = h->ops->open(h->ctx, name, ip);
    if (!h->session)
        return jm_err_set(err, JM_ENOMEM, "out of memory for TLS");
    for (;;) {
        int r = h->ops->handshake(h->session, why);
        int rc = flush(h, deadline, err);
        if (r == JM_TLS_READY)
            return rc ? rc : check_pin(h, err);
        if (r != JM_TLS_MORE)
            return jm_err_set(
                err, JM_ETLS,
                "https://%s: %s; give its authority with tls: {ca: FILE}, or its certificate's hash "
                "with tls: {pin: SHA256}",
                h->authority, why);
        if (rc || (rc = take(h, h->wire, sizeof h->wire, &got, deadline, err)))
            return rc;
        if (!got)
            return jm_err_set(err, JM_ETLS, "https://%s closed the connection during the TLS handshake",
                              h->authority);
        h->ops->feed(h->session, h->wire, got);
    }
}

static int dial(struct jm_http *h, int64_t deadline, struct jm_err *err)
{
    struct jm_scpi *wire = malloc(sizeof *wire); /* its buffers are large */
    char at[300];
    int64_t left = deadline - jm_clock_mono(&h->clock);
    if (!wire)
        return jm_err_set(err, JM_ENOMEM, "out of memory for a connection");
    snprintf(at, sizeof at, "tcp://%s:%d", h->host, h->port);
    int rc =
        jm_scpi_open(wire, at, h->port, 0, left > 0 ? (int)(left / JM_NS_PER_MS) + 1 : 1, scheme(h), err);
    h->fd = rc ? -1 : wire->fd;
    free(wire);
    h->fresh = true;
    if (rc == 0 && h->secure)
        rc = handshake(h, deadline, err);
    if (rc)
        hang_up(h);
    return rc;
}

/* --- one exchange
 * -------------------------------------------------------------------------------------------- */
static int feed(struct jm_http *h, struct jm_span in, bool *done, struct jm_err *err)
{
    struct jm_span piece;
    for (;;) {
        int rc = jm_http1_next(&h->reader, &in, &piece, err);
        if (rc < 0)
            return jm_err_prefix(err, "%s://%s", scheme(h), h->authority);
        if (rc == JM_HTTP1_MORE)
            return 0;
        if (rc == JM_HTTP1_DONE) {
            *done = true;
            return 0;
        }
        if (rc == JM_HTTP1_HEAD && h->reader.length > (int64_t)h->setup.limit)
            return jm_err_set(err, JM_ELIMIT, "%s://%s answers with %lld bytes, more than the limit of %zu",
                              scheme(h), h->authority, (long long)h->reader.length, h->setup.limit);
        if (rc == JM_HTTP1_BODY) {
            if (h->body.len + piece.n > h->setup.limit)
                return jm_err_set(err, JM_ELIMIT, "%s://%s answers with more than the limit of %zu bytes",
                                  scheme(h), h->authority, h->setup.limit);
            jm_str_addspan(&h->body, piece);
        }
    }
}

static int receive(struct jm_http *h, int64_t deadline, struct jm_err *err)
{
    char plain[16384], why[JM_TLS_WHY] = "";
    bool done = false;
    size_t got;
    int rc = 0, n = 0;
    while (!done) {
        if ((rc = take(h, h->wire, sizeof h->wire, &got, deadline, err)))
            return rc;
        if (jm_clock_mono(&h->clock) > deadline) /* an endless answer always has a next byte */
            return late(h, err);
        bool closed = got == 0;
        if (!closed && !h->secure)
            rc = feed(h, (struct jm_span){h->wire, got}, &done, err);
        if (!closed && h->secure) {
            h->ops->feed(h->session, h->wire, got);
            while (!rc && !done && (n = h->ops->read(h->session, plain, sizeof plain, why)) > 0)
                rc = feed(h, (struct jm_span){plain, (size_t)n}, &done, err);
            if (n == JM_TLS_FAILED && !rc)
                rc = jm_err_set(err, JM_ETLS, "https://%s: %s", h->authority, why);
            closed = n == JM_TLS_CLOSED;
            if (!rc)
                rc = flush(h, deadline, err);
        }
        if (rc)
            return rc;
        if (closed && !done) {
            rc = jm_http1_eof(&h->reader, err);
            if (rc == JM_EABSENT)
                return lost(h, err);
            if (rc < 0)
                return jm_err_prefix(err, "%s://%s", scheme(h), h->authority);
            h->reader.keep_alive = false;
            return 0;
        }
    }
    return 0;
}

static void authorization(struct jm_http *h, const char *method, const char *target, struct jm_str *out)
{
    const struct jm_http_setup *s = &h->setup;
    if (!s->user || !*s->user)
        return;
    if (s->auth == JM_HTTP_BASIC || (s->auth == JM_HTTP_ASKED && h->digest.basic)) {
        jm_http_basic(out, s->user, s->password);
    } else if (s->auth == JM_HTTP_ASKED && h->digest.on) {
        char cnonce[24];
        struct jm_rng r;
        jm_rng_init(&r, (uint64_t)jm_clock_mono(&h->clock) ^ (uint64_t)(uintptr_t)h);
        snprintf(cnonce, sizeof cnonce, "%016llx", (unsigned long long)jm_rng_u64(&r));
        jm_http_digest(out, s->user, s->password ? s->password : "", h->digest.realm, h->digest.nonce,
                       h->digest.opaque, method, target, ++h->digest.count, cnonce);
    }
}

static int once(struct jm_http *h, const char *method, const char *target, const struct jm_http_field *fields,
                size_t n, struct jm_span body, int64_t deadline, struct jm_err *err)
{
    struct jm_http1_field f[12];
    struct jm_str wire, auth;
    size_t k = 0;
    int rc = 0;
    jm_str_init(&wire);
    jm_str_init(&auth);
    authorization(h, method, target, &auth);
    f[k++] = (struct jm_http1_field){"Accept", "application/json"};
    f[k++] = (struct jm_http1_field){"User-Agent", "joulemark"};
    f[k++] = (struct jm_http1_field){"Content-Type", body.p ? "application/json" : NULL};
    f[k++] = (struct jm_http1_field){"Authorization", auth.len ? auth.buf : NULL};
    for (size_t i = 0; i < n && k < sizeof f / sizeof *f; i++)
        f[k++] = (struct jm_http1_field){fields[i].name, fields[i].value};
    if (h->fd < 0)
        rc = dial(h, deadline, err);
    if (!rc)
        rc = jm_http1_request(&wire, method, target, h->authority, f, k, body, err);
    if (!rc)
        rc = jm_str_ok(&wire, "a request", err);
    jm_http1_reset(&h->reader);
    jm_str_recycle(&h->body, (size_t)1 << 20);
    h->cut = false;
    struct jm_clock_pair pair;
    jm_clock_pair(&h->clock, &pair);
    h->t0 = jm_clock_mono(&h->clock);
    if (!rc && h->secure)
        rc = h->ops->write(h->session, wire.buf, wire.len)
                 ? flush(h, deadline, err)
                 : jm_err_set(err, JM_ENOMEM, "out of memory for a request");
    else if (!rc)
        rc = send_all(h, wire.buf, wire.len, deadline, err);
    if (!rc)
        rc = receive(h, deadline, err);
    h->t1 = jm_clock_mono(&h->clock);
    h->real = pair.real + ((h->t0 + h->t1) / 2 - pair.mono1);
    if (wire.len)
        explicit_bzero(wire.buf, wire.len);
    if (auth.len)
        explicit_bzero(auth.buf, auth.len);
    jm_str_release(&wire);
    jm_str_release(&auth);
    h->asked++;
    if (!rc)
        rc = jm_str_ok(&h->body, "an answer", err);
    h->status = rc ? 0 : h->reader.status;
    if (rc || !h->reader.keep_alive)
        hang_up(h);
    return rc;
}

/* The path of a redirect that stays with the same scheme, host and port; NULL with a sentence for another. */
static int redirected(struct jm_http *h, char target[512], struct jm_err *err)
{
    struct jm_span to;
    if (!jm_http1_header(&h->reader, "Location", 0, &to) || !to.n)
        return jm_err_set(err, JM_EPARSE, "%s://%s redirects to nowhere", scheme(h), h->authority);
    if (to.p[0] != '/' || (to.n > 1 && to.p[1] == '/')) {
        struct jm_http other = {.fd = -1};
        char url[600];
        struct jm_err ignored;
        snprintf(url, sizeof url, "%.*s", (int)(to.n < 590 ? to.n : 590), to.p);
        const char *path = strstr(url, "://");
        path = path ? strchr(path + 3, '/') : NULL;
        char keep[512];
        snprintf(keep, sizeof keep, "%.511s", path ? path : "/");
        if (path)
            url[path - url] = '\0';
        if (parse(&other, url, &ignored) != 0 || other.secure != h->secure || other.port != h->port ||
            strcasecmp(other.host, h->host) != 0)
            return jm_err_set(err, JM_EDENIED,
                              "%s://%s redirects to another host or scheme, which is not followed", scheme(h),
                              h->authority);
        snprintf(target, 512, "%s", keep);
        return 0;
    }
    if (to.n >= 512)
        return jm_err_set(err, JM_ELIMIT, "%s://%s redirects to a path that is too long", scheme(h),
                          h->authority);
    memcpy(target, to.p, to.n);
    target[to.n] = '\0';
    return 0;
}

int jm_http_ask(struct jm_http *h, const char *method, const char *path, const struct jm_http_field *fields,
                size_t n_fields, struct jm_span body, struct jm_err *err)
{
    char target[512];
    int64_t deadline = jm_clock_mono(&h->clock) + h->setup.timeout_ns;
    bool challenged = false, again = false, get = strcmp(method, "GET") == 0;
    if (snprintf(target, sizeof target, "%s%s", h->prefix, path) >= (int)sizeof target)
        return jm_err_set(err, JM_ELIMIT, "the path of a request to %s is too long", h->authority);
    for (int hops = 0; hops <= 3;) {
        bool kept = h->fd >= 0;
        int rc = once(h, method, target, fields, n_fields, body, deadline, err);
        if (rc && h->cut && kept && !again && h->reader.body_bytes == 0) {
            again = true; /* the server had closed the kept connection */
            continue;
        }
        if (rc)
            return rc;
        if (h->status == 401 && h->setup.auth == JM_HTTP_ASKED && h->setup.user && !challenged &&
            jm_http_challenge(h)) {
            challenged = true;
            continue;
        }
        bool moved = h->status == 301 || h->status == 302 || h->status == 307 || h->status == 308;
        if (!moved || !get)
            return 0;
        if ((rc = redirected(h, target, err)))
            return rc;
        hops++;
    }
    return jm_err_set(err, JM_ELIMIT, "%s://%s redirects in circles", scheme(h), h->authority);
}

const char *jm_http_why(int status, char buf[80])
{
    switch (status) {
    case 401: snprintf(buf, 80, "refuses user or password (HTTP 401)"); break;
    case 403: snprintf(buf, 80, "does not let this user read it (HTTP 403)"); break;
    case 404: snprintf(buf, 80, "has no such resource (HTTP 404)"); break;
    case 429:
    case 503: snprintf(buf, 80, "is busy (HTTP %d); ask it less often", status); break;
    default: snprintf(buf, 80, "answers with HTTP %d", status); break;
    }
    return buf;
}
