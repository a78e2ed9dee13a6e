/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/plug_klap.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/banned.h"

static int post(struct jm_tapo *t, struct jm_http *h, const char *target, const uint8_t *p, size_t n,
                struct jm_err *err)
{
    const struct jm_http_field f[] = {{"Content-Type", "application/octet-stream"}, {"Cookie", t->cookie}};
    return jm_http_ask(h, "POST", target, f, t->cookie[0] ? 2 : 1, (struct jm_span){(const char *)p, n}, err);
}

static int refused(const struct jm_http *h, const char *what, struct jm_err *err)
{
    char why[80];
    return jm_err_set(err, h->status == 401 || h->status == 403 ? JM_EDENIED : JM_EUNSUPPORTED,
                      "the plug %s at its %s; is it a Tapo, with third-party access switched on?",
                      jm_http_why(h->status, why), what);
}

static int handshake(struct jm_tapo *t, struct jm_http *h, const char *user, const char *password,
                     struct jm_err *err)
{
    uint8_t local[JM_KLAP_SEED], remote[JM_KLAP_SEED], auth[JM_KLAP_HASH], hash[JM_KLAP_HASH];
    struct jm_span cookie;
    t->cookie[0] = '\0';
    if (getrandom(local, sizeof local, 0) != (ssize_t)sizeof local)
        return jm_err_set(err, JM_EIO, "the system has no random numbers");
    int rc = post(t, h, "/app/handshake1", local, sizeof local, err);
    if (rc)
        return rc;
    struct jm_span body = jm_str_span(&h->body);
    if (h->status != 200 || body.n != JM_KLAP_SEED + JM_KLAP_HASH)
        return h->status != 200
                   ? refused(h, "handshake", err)
                   : jm_err_set(err, JM_EPARSE, "the plug's handshake has %zu bytes in place of 48", body.n);
    memcpy(remote, body.p, sizeof remote);
    jm_klap_auth(user, password, auth);
    jm_klap_server(local, remote, auth, hash);
    bool known = memcmp(hash, body.p + JM_KLAP_SEED, sizeof hash) == 0;
    if (known && jm_http1_header(&h->reader, "Set-Cookie", 0, &cookie)) {
        ptrdiff_t end = jm_span_chr(cookie, ';');
        size_t n = end < 0 ? cookie.n : (size_t)end;
        if (n < sizeof t->cookie && !memchr(cookie.p, '\r', n) && !memchr(cookie.p, '\n', n))
            snprintf(t->cookie, sizeof t->cookie, "%.*s", (int)n, cookie.p);
    }
    jm_klap_client(local, remote, auth, hash);
    if (known)
        jm_klap_begin(&t->klap, local, remote, auth);
    explicit_bzero(auth, sizeof auth);
    if (!known)
        return jm_err_set(
            err, JM_EDENIED,
            "the plug does not know user and password: they are those of the Tapo account, the user in the "
            "same letters");
    rc = post(t, h, "/app/handshake2", hash, sizeof hash, err);
    explicit_bzero(hash, sizeof hash);
    return rc ? rc : h->status == 200 ? 0 : refused(h, "second handshake", err);
}

int jm_tapo_ask(struct jm_tapo *t, struct jm_http *h, const char *user, const char *password,
                struct jm_span request, struct jm_str *body, struct jm_err *err)
{
    uint8_t out[512];
    char target[48];
    for (int again = 0;; again++) {
        bool fresh = !t->cookie[0];
        int rc = fresh ? handshake(t, h, user, password, err) : 0;
        if (rc)
            return rc;
        size_t n = jm_klap_seal(&t->klap, request, out, sizeof out);
        snprintf(target, sizeof target, "/app/request?seq=%ld", (long)(int32_t)t->klap.seq);
        rc = post(t, h, target, out, n, err);
        if (rc) {
            t->cookie[0] = '\0';
            return rc;
        }
        if (h->status == 200)
            break;
        t->cookie[0] = '\0';
        if (fresh || again)
            return refused(h, "request", err);
    }
    struct jm_span text;
    struct jm_str *raw = &h->body;
    if (!jm_klap_open(&t->klap, (uint8_t *)raw->buf, raw->len, &text)) {
        t->cookie[0] = '\0';
        return jm_err_set(err, JM_EPARSE, "the plug's answer cannot be decrypted");
    }
    jm_str_addspan(body, text);
    return jm_str_ok(body, "an answer", err);
}
