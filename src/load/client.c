/* SPDX-License-Identifier: Apache-2.0 */
#include "load/client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load/dialect.h"
#include "load/proxy.h"

#include "base/banned.h"

#define REPLY_BYTES ((size_t)16 << 20)

int jm_client_init(struct jm_client *c, const struct jm_load_cfg *cfg, struct jm_err *err)
{
    char why[JM_TLS_WHY];
    *c = (struct jm_client){0};
    jm_str_init(&c->auth);
    c->connect_ns = cfg->connect_ns > 0 ? cfg->connect_ns : 10 * JM_NS_PER_S;
    c->header_ns = cfg->header_ns > 0 ? cfg->header_ns : 120 * JM_NS_PER_S;
    c->ask_ns = cfg->header_ns > 0 ? cfg->header_ns : 30 * JM_NS_PER_S;
    if (c->ask_ns <
        JM_CLIENT_ASK_LEAST) /* a limit that is meant for load is none for finding out who is there */
        c->ask_ns = JM_CLIENT_ASK_LEAST;
    c->stall_ns = cfg->stall_ns > 0 ? cfg->stall_ns : 60 * JM_NS_PER_S;
    c->total_ns = cfg->total_ns > 0 ? cfg->total_ns : 600 * JM_NS_PER_S;
    if (cfg->api_key && *cfg->api_key)
        jm_str_addf(&c->auth, "Bearer %s", cfg->api_key);
    int rc = jm_str_ok(&c->auth, "the Authorization header", err);
    if (rc == 0)
        rc = jm_target_parse(cfg->url ? cfg->url : "", &c->target, err);
    if (rc == 0)
        rc = jm_proxy_init(c, cfg, err);
    if (rc == 0 && !c->setup.proxy) /* behind a proxy the name need not mean anything here */
        rc = jm_target_resolve(&c->target, err);
    if (rc == 0 && c->target.tls && !c->curl) {
        rc = jm_tls_load(&c->tls, err);
        if (rc == 0 && !(c->tls_ctx = c->tls->ctx_new(cfg->ca_file, cfg->insecure, why)))
            rc = jm_err_set(err, JM_ETLS, "%s", why);
    }
    if (rc)
        jm_client_release(c);
    return rc;
}

void jm_client_release(struct jm_client *c)
{
    if (c->tls)
        c->tls->ctx_free(c->tls_ctx);
    jm_str_release(&c->auth);
    *c = (struct jm_client){0};
    jm_str_init(&c->auth);
}

int jm_client_request(const struct jm_client *c, const char *method, const char *path, bool keep_alive,
                      struct jm_span body, struct jm_str *out, struct jm_err *err)
{
    char target[400];
    snprintf(target, sizeof target, "%s%s", c->target.prefix, path);
    const struct jm_http1_field fields[] = {
        {"User-Agent", "joulemark/" JM_VERSION},
        {"Accept", "text/event-stream, application/json"},
        {"Accept-Encoding", "identity"},
        {"Content-Type", body.p ? "application/json" : NULL},
        {"Connection", keep_alive ? NULL : "close"},
        {"Authorization", c->auth.len ? c->auth.buf : NULL},
    };
    return jm_http1_request(out, method, target, c->target.authority, fields, sizeof fields / sizeof *fields,
                            body, err);
}

void jm_reply_init(struct jm_reply *r)
{
    *r = (struct jm_reply){.status = -1};
    jm_str_init(&r->body);
}

void jm_reply_release(struct jm_reply *r)
{
    jm_str_release(&r->body);
}

/* --- one blocking exchange
 * -------------------------------------------------------------------------------------- */
struct wire {
    struct jm_client *c;
    struct jm_clock clock;
    int fd;
    int64_t until;
    struct jm_tls_session *tls;
    char why[JM_TLS_WHY];
    char cipher[8192]; /* read, and not yet taken by TLS */
};

static int unreachable(struct wire *w, int errnum, const char *what, struct jm_err *err)
{
    char buf[96];
    if (errnum == ETIMEDOUT)
        return jm_err_set(err, JM_ETIMEOUT, "http%s://%s did not answer in time", w->tls ? "s" : "",
                          w->c->target.authority);
    return jm_err_set(err, JM_ENET, "%s http%s://%s failed: %s", what, w->tls ? "s" : "",
                      w->c->target.authority, strerror_r(errnum, buf, sizeof buf));
}

/* 0, or an errno */
static int await(struct wire *w, short events)
{
    for (;;) {
        int64_t left = (w->until - jm_clock_mono(&w->clock) + JM_NS_PER_MS - 1) / JM_NS_PER_MS;
        struct pollfd p = {.fd = w->fd, .events = events};
        if (left <= 0)
            return ETIMEDOUT;
        int rc = poll(&p, 1, left > 1000000 ? 1000000 : (int)left);
        if (rc > 0)
            return 0;
        if (rc < 0 && errno != EINTR)
            return errno;
    }
}

static int push(struct wire *w, const char *p, size_t n, struct jm_err *err)
{
    while (n) {
        ssize_t k = send(w->fd, p, n, MSG_NOSIGNAL);
        if (k < 0 && (errno == EAGAIN || errno == EINTR)) {
            int e = await(w, POLLOUT);
            if (e)
                return unreachable(w, e, "sending to", err);
            continue;
        }
        if (k < 0)
            return unreachable(w, errno, "sending to", err);
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

static int flush_tls(struct wire *w, struct jm_err *err)
{
    const char *p;
    size_t n;
    while ((n = w->c->tls->pending(w->tls, &p)) > 0) {
        int rc = push(w, p, n, err);
        if (rc)
            return rc;
        w->c->tls->sent(w->tls, n);
    }
    return 0;
}

static int tls_error(struct wire *w, struct jm_err *err)
{
    return jm_err_set(err, JM_ETLS,
                      "https://%s: %s; give its certificate authority with --ca-file, or (unsafe) --insecure",
                      w->c->target.authority, w->why);
}

/* Raw bytes from the socket: > 0, 0 at the end, or a negative error. */
static int raw(struct wire *w, char *buf, size_t n, struct jm_err *err)
{
    for (;;) {
        ssize_t k = recv(w->fd, buf, n, 0);
        if (k >= 0)
            return (int)k;
        if (errno != EAGAIN && errno != EINTR)
            return unreachable(w, errno, "reading from", err);
        int e = await(w, POLLIN);
        if (e)
            return unreachable(w, e, "reading from", err);
    }
}

static int tls_start(struct wire *w, struct jm_err *err)
{
    if (!(w->tls = w->c->tls->open(w->c->tls_ctx, w->c->target.host, w->c->target.is_ip)))
        return jm_err_set(err, JM_ENOMEM, "out of memory while starting TLS");
    for (;;) {
        int h = w->c->tls->handshake(w->tls, w->why), rc = flush_tls(w, err);
        if (h == JM_TLS_FAILED)
            return tls_error(w, err);
        if (rc || h == JM_TLS_READY)
            return rc;
        rc = raw(w, w->cipher, sizeof w->cipher, err);
        if (rc == 0)
            snprintf(w->why, sizeof w->why, "TLS handshake failed: the server closed the connection");
        if (rc <= 0)
            return rc ? rc : tls_error(w, err);
        w->c->tls->feed(w->tls, w->cipher, (size_t)rc);
    }
}

/* Plain bytes: > 0, 0 at the end, or a negative error. */
static int pull(struct wire *w, char *buf, size_t n, struct jm_err *err)
{
    if (!w->tls)
        return raw(w, buf, n, err);
    for (;;) {
        int k = w->c->tls->read(w->tls, buf, (int)n, w->why);
        if (k > 0)
            return k;
        if (k == JM_TLS_CLOSED)
            return 0;
        if (k == JM_TLS_FAILED)
            return tls_error(w, err);
        k = raw(w, w->cipher, sizeof w->cipher, err);
        if (k <= 0)
            return k;
        w->c->tls->feed(w->tls, w->cipher, (size_t)k);
    }
}

static void keep_header(const struct jm_http1 *h, const char *name, char *out, size_t n)
{
    struct jm_span v;
    if (jm_http1_header(h, name, 0, &v))
        jm_copy_words(v, out, n);
}

int jm_reply_bytes(struct jm_reply *r, struct jm_http1 *h, struct jm_span in, struct jm_err *err)
{
    struct jm_span piece;
    int rc;
    while ((rc = jm_http1_next(h, &in, &piece, err)) > 0 && rc != JM_HTTP1_DONE)
        if (rc == JM_HTTP1_BODY) {
            if (r->body.len + piece.n > REPLY_BYTES)
                return jm_err_set(err, JM_ELIMIT, "the answer is longer than %zu MiB", REPLY_BYTES >> 20);
            jm_str_addspan(&r->body, piece);
        }
    return rc;
}

int jm_reply_done(struct jm_reply *r, const struct jm_http1 *h, struct jm_err *err)
{
    r->status = h->status;
    keep_header(h, "Server", r->server, sizeof r->server);
    keep_header(h, "X-Joulemark-Sim", r->simulated, sizeof r->simulated);
    keep_header(h, "Location", r->location, sizeof r->location);
    return jm_str_ok(&r->body, "an answer", err);
}

static int read_reply(struct wire *w, struct jm_reply *out, struct jm_err *err)
{
    struct jm_http1 h;
    char buf[16384];
    int rc = 0, got = 1;
    jm_http1_init(&h, NULL);
    while (rc >= 0 && rc != JM_HTTP1_DONE && (got = pull(w, buf, sizeof buf, err)) > 0)
        rc = jm_reply_bytes(out, &h, (struct jm_span){buf, (size_t)got}, err);
    if (got < 0)
        rc = got;
    else if (rc == JM_HTTP1_MORE)
        rc = jm_http1_eof(&h, err);
    if (rc < 0 && got >= 0)
        rc = jm_err_prefix(err, "http%s://%s", w->tls ? "s" : "", w->c->target.authority);
    if (rc == JM_HTTP1_DONE)
        rc = jm_reply_done(out, &h, err);
    jm_http1_release(&h);
    return rc;
}

int jm_client_fetch(struct jm_client *c, const char *method, const char *path, struct jm_span body,
                    int64_t timeout_ns, struct jm_reply *out, struct jm_err *err)
{
    struct wire w = {.c = c, .clock = jm_clock_system(), .fd = -1};
    struct jm_str request;
    if (c->curl)
        return jm_curl_fetch(c, method, path, body, timeout_ns, out, err);
    jm_str_init(&request);
    int rc = jm_client_request(c, method, path, false, body, &request, err);
    if (rc == 0)
        rc = jm_target_connect(&c->target, c->connect_ns, &w.fd, err);
    if (rc == 0) {
        w.until = jm_clock_mono(&w.clock) + (timeout_ns > 0 ? timeout_ns : c->ask_ns);
        c->local = jm_target_is_local(w.fd);
        if (c->tls)
            rc = tls_start(&w, err);
    }
    if (rc == 0 && w.tls) {
        rc = c->tls->write(w.tls, request.buf, request.len)
                 ? flush_tls(&w, err)
                 : jm_err_set(err, JM_ENOMEM, "out of memory while writing TLS");
    } else if (rc == 0) {
        rc = push(&w, request.buf, request.len, err);
    }
    if (rc == 0)
        rc = read_reply(&w, out, err);
    if (w.tls)
        c->tls->close(w.tls);
    if (w.fd >= 0)
        close(w.fd);
    jm_str_release(&request);
    return rc;
}

int jm_reply_error(const struct jm_client *c, const struct jm_reply *r, const char *doing, struct jm_err *err)
{
    char words[JM_SAID_TEXT];
    const char *s = c->target.tls ? "s" : "", *host = c->target.authority;
    jm_error_words(jm_str_span(&r->body), words);
    const char *colon = words[0] ? ": " : "";
    if (r->status >= 300 && r->status < 400)
        return jm_err_set(err, JM_ENET,
                          "%s at http%s://%s was redirected (HTTP %d%s%s): give the URL to which it leads",
                          doing, s, host, r->status, r->location[0] ? ", to " : "", r->location);
    switch (r->status) {
    case 401:
    case 403:
        return jm_err_set(err, JM_EDENIED,
                          "%s at http%s://%s was refused (HTTP %d%s%s): give the endpoint's API key", doing,
                          s, host, r->status, colon, words);
    case 404:
        return jm_err_set(
            err, JM_EABSENT,
            "%s at http%s://%s was refused (HTTP 404%s%s): check the model's name and the URL's path", doing,
            s, host, colon, words);
    case 429:
        return jm_err_set(err, JM_ELIMIT,
                          "%s at http%s://%s was refused (HTTP 429%s%s): the endpoint limits the rate", doing,
                          s, host, colon, words);
    default:
        return jm_err_set(err, r->status >= 500 ? JM_EIO : JM_EINVAL,
                          "%s at http%s://%s failed (HTTP %d%s%s)", doing, s, host, r->status, colon, words);
    }
}
