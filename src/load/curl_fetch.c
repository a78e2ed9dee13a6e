/* SPDX-License-Identifier: Apache-2.0 */
/* Single, blocking requests by libcurl: the same answers and sentences as by own sockets. */
#include "load/client.h"
#include "load/proxy.h"
#include "load/reframe.h"

#include "base/banned.h"

#define ANSWER_BYTES ((size_t)17 << 20)

struct fetch {
    struct jm_reframe frame;
    struct jm_str got;
    struct jm_curl_over over;
};

static void connected(void *self, int local_port, bool reused)
{
    (void)self, (void)local_port, (void)reused;
}

static void sent(void *self)
{
    (void)self;
}

static bool again(void *self)
{
    (void)self;
    return false; /* the connection is its own */
}

static void head(void *self, const char *line, size_t n)
{
    struct fetch *f = self;
    if (f->got.len < ANSWER_BYTES)
        jm_reframe_head(&f->frame, (struct jm_span){line, n}, &f->got);
}

static void body(void *self, const char *p, size_t n)
{
    struct fetch *f = self;
    if (f->got.len < ANSWER_BYTES) /* what is longer fails as too long when it is read */
        jm_reframe_body(&f->frame, (struct jm_span){p, n}, &f->got);
}

static void over(void *self, const struct jm_curl_over *o)
{
    struct fetch *f = self;
    f->over = *o;
    if (o->ok)
        jm_reframe_end(&f->frame, &f->got);
}

/* The sentence for a transfer that gave no whole answer. */
static int failed(const struct jm_client *c, const struct jm_curl_over *o, struct jm_err *err)
{
    const char *s = c->target.tls ? "s" : "", *at = c->target.authority;
    if (o->timeout && o->why != JM_LOST_REFUSED)
        return jm_err_set(err, JM_ETIMEOUT, "http%s://%s did not answer in time", s, at);
    switch (o->why) {
    case JM_LOST_REFUSED:
        return jm_err_set(err, o->timeout ? JM_ETIMEOUT : JM_ENET, "cannot reach http%s://%s (%s): %s", s, at,
                          o->words,
                          c->setup.proxy ? "check the proxy, and the endpoint as it sees it"
                                         : "start the engine, or check host and port");
    case JM_LOST_TLS:
        return jm_err_set(
            err, JM_ETLS,
            "https://%s: %s; give its certificate authority with --ca-file, or (unsafe) --insecure", at,
            o->words);
    case JM_LOST_PROTOCOL: return jm_err_set(err, JM_EPARSE, "http%s://%s: %s", s, at, o->words);
    default: break;
    }
    return jm_err_set(err, JM_ENET, "reading from http%s://%s failed: %s", s, at, o->words);
}

static int read_back(struct fetch *f, const struct jm_client *c, struct jm_reply *out, struct jm_err *err)
{
    struct jm_http1 h;
    jm_http1_init(&h, NULL);
    int rc = jm_reply_bytes(out, &h, jm_str_span(&f->got), err);
    if (rc == JM_HTTP1_MORE)
        rc = jm_http1_eof(&h, err);
    if (rc < 0)
        rc = jm_err_prefix(err, "http%s://%s", c->target.tls ? "s" : "", c->target.authority);
    else
        rc = jm_reply_done(out, &h, err);
    jm_http1_release(&h);
    return rc;
}

int jm_curl_fetch(struct jm_client *c, const char *method, const char *path, struct jm_span body_bytes,
                  int64_t timeout_ns, struct jm_reply *out, struct jm_err *err)
{
    static const struct jm_curl_user user = {connected, sent, again, head, body, over};
    struct fetch f = {.over = {.why = JM_LOST_RESET}};
    struct jm_str wire, headers, url;
    struct jm_split split;
    int64_t limit = timeout_ns > 0 ? timeout_ns : c->connect_ns + c->ask_ns;
    jm_str_init(&wire);
    jm_str_init(&headers);
    jm_str_init(&url);
    jm_str_init(&f.got);
    jm_reframe_begin(&f.frame, true);
    int rc = jm_client_request(c, method, path, true, body_bytes, &wire, err);
    if (rc == 0)
        rc = jm_split_request(jm_str_span(&wire), &split, &headers, err);
    if (rc == 0) {
        jm_str_addf(&url, "http%s://%s", c->target.tls ? "s" : "", c->target.authority);
        jm_str_addspan(&url, split.target);
        rc = jm_str_ok(&url, "a URL", err);
    }
    if (rc == 0) {
        struct jm_curl_request r = {.method = method,
                                    .url = url.buf,
                                    .headers = split.headers,
                                    .body = split.body.p,
                                    .body_n = split.body.n,
                                    .fresh = true,
                                    .timeout_ms = (long)(limit / JM_NS_PER_MS)};
        if (!c->curl->fetch(&c->setup, &r, &user, &f))
            rc = jm_err_set(err, JM_ENOMEM, "out of memory for a request");
        else if (!f.over.ok && f.over.why != JM_LOST_END)
            rc = failed(c, &f.over, err);
        else
            rc = read_back(&f, c, out, err);
        if (rc == 0 && out->status == 407)
            rc =
                jm_err_set(err, JM_EDENIED,
                           "the proxy %s refuses the request (HTTP 407): give its user and password, --proxy "
                           "http://USER:PASSWORD@HOST:PORT",
                           c->proxy_host);
        /* through a proxy on this machine an address of this machine is still this machine */
        c->local = f.over.local && (!c->setup.proxy || jm_target_here(&c->target));
    }
    if (rc == 0 && c->http == JM_HTTP_2 && f.over.http != 20)
        rc = jm_err_set(
            err, JM_EUNSUPPORTED,
            "http%s://%s answers in HTTP/1.1, though HTTP/2 was asked for: leave the choice to the "
            "server (--http auto)",
            c->target.tls ? "s" : "", c->target.authority);
    jm_str_release(&wire);
    jm_str_release(&headers);
    jm_str_release(&url);
    jm_str_release(&f.got);
    return rc;
}
