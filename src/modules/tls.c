/* SPDX-License-Identifier: Apache-2.0 */
/* TLS over memory BIOs with OpenSSL 3 (SSL_CTX_new(3), BIO_s_mem(3), SSL_set1_host(3)). See load/tls.h. */
#include "load/tls.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

struct jm_tls_ctx {
    SSL_CTX *ctx;
};

struct jm_tls_session {
    SSL *ssl;
    BIO *in, *out; /* owned by ssl */
};

static const char *version(void)
{
    return OpenSSL_version(OPENSSL_VERSION);
}

/* The oldest error is the cause. */
static void last_error(const char *what, char why[JM_TLS_WHY])
{
    unsigned long e = ERR_get_error();
    const char *reason = e ? ERR_reason_error_string(e) : NULL;
    snprintf(why, JM_TLS_WHY, "%s: %s", what, reason ? reason : "no reason given");
    ERR_clear_error();
}

static struct jm_tls_ctx *ctx_new(const char *ca_file, bool insecure, char why[JM_TLS_WHY])
{
    struct jm_tls_ctx *c = calloc(1, sizeof *c);
    if (!c || !(c->ctx = SSL_CTX_new(TLS_client_method()))) {
        last_error("TLS cannot be set up", why);
        free(c);
        return NULL;
    }
    SSL_CTX_set_min_proto_version(c->ctx, TLS1_2_VERSION);
    SSL_CTX_set_mode(c->ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE);
    SSL_CTX_set_verify(c->ctx, insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    static const unsigned char alpn[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
    SSL_CTX_set_alpn_protos(c->ctx, alpn, sizeof alpn);
    if (ca_file ? SSL_CTX_load_verify_file(c->ctx, ca_file) != 1
                : SSL_CTX_set_default_verify_paths(c->ctx) != 1) {
        char what[JM_TLS_WHY / 2];
        snprintf(what, sizeof what, "certificates cannot be read from %s", ca_file ? ca_file : "the system");
        last_error(what, why);
        SSL_CTX_free(c->ctx);
        free(c);
        return NULL;
    }
    return c;
}

static void ctx_free(struct jm_tls_ctx *c)
{
    if (!c)
        return;
    SSL_CTX_free(c->ctx);
    free(c);
}

static struct jm_tls_session *session_open(struct jm_tls_ctx *c, const char *host, bool is_ip)
{
    struct jm_tls_session *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->ssl = SSL_new(c->ctx);
    s->in = BIO_new(BIO_s_mem());
    s->out = BIO_new(BIO_s_mem());
    bool ok = s->ssl && s->in && s->out;
    if (ok && is_ip)
        ok = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(s->ssl), host) == 1;
    else if (ok)
        ok = SSL_set1_host(s->ssl, host) == 1 && SSL_set_tlsext_host_name(s->ssl, host) == 1;
    if (!ok) {
        BIO_free(s->in);
        BIO_free(s->out);
        SSL_free(s->ssl);
        free(s);
        ERR_clear_error();
        return NULL;
    }
    BIO_set_mem_eof_return(s->in, -1); /* empty means "more to come" */
    BIO_set_mem_eof_return(s->out, -1);
    SSL_set_bio(s->ssl, s->in, s->out);
    SSL_set_connect_state(s->ssl);
    return s;
}

static void session_close(struct jm_tls_session *s)
{
    if (!s)
        return;
    SSL_free(s->ssl);
    free(s);
}

static bool feed(struct jm_tls_session *s, const void *p, size_t n)
{
    return n <= INT_MAX && BIO_write(s->in, p, (int)n) == (int)n;
}

static void name_failure(struct jm_tls_session *s, const char *doing, char why[JM_TLS_WHY])
{
    long v = SSL_get_verify_result(s->ssl);
    if (v != X509_V_OK) {
        snprintf(why, JM_TLS_WHY, "certificate not accepted: %s", X509_verify_cert_error_string(v));
        ERR_clear_error();
        return;
    }
    unsigned long e = ERR_peek_error();
    if (e && ERR_GET_LIB(e) == ERR_LIB_SSL && ERR_GET_REASON(e) == SSL_R_WRONG_VERSION_NUMBER) {
        snprintf(why, JM_TLS_WHY, "%s: the server does not speak TLS here (http instead of https?)", doing);
        ERR_clear_error();
        return;
    }
    last_error(doing, why);
}

static int handshake(struct jm_tls_session *s, char why[JM_TLS_WHY])
{
    ERR_clear_error();
    int rc = SSL_do_handshake(s->ssl);
    if (rc == 1)
        return JM_TLS_READY;
    int e = SSL_get_error(s->ssl, rc);
    if (e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE)
        return JM_TLS_MORE;
    name_failure(s, "TLS handshake failed", why);
    return JM_TLS_FAILED;
}

static int plain_read(struct jm_tls_session *s, void *p, int n, char why[JM_TLS_WHY])
{
    ERR_clear_error();
    int rc = SSL_read(s->ssl, p, n);
    if (rc > 0)
        return rc;
    switch (SSL_get_error(s->ssl, rc)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return JM_TLS_MORE;
    case SSL_ERROR_ZERO_RETURN: return JM_TLS_CLOSED;
    default: name_failure(s, "TLS record refused", why); return JM_TLS_FAILED;
    }
}

static bool plain_write(struct jm_tls_session *s, const void *p, size_t n)
{
    const char *at = p;
    ERR_clear_error();
    while (n) {
        size_t done = 0;
        if (SSL_write_ex(s->ssl, at, n, &done) != 1)
            return false; /* a memory BIO takes everything: only a lack of memory comes here */
        at += done;
        n -= done;
    }
    return true;
}

static size_t pending(struct jm_tls_session *s, const char **p)
{
    char *data = NULL;
    long n = BIO_get_mem_data(s->out, &data);
    *p = data;
    return n > 0 ? (size_t)n : 0;
}

static void sent(struct jm_tls_session *s, size_t n)
{
    char drop[4096];
    while (n) {
        int rc = BIO_read(s->out, drop, n < sizeof drop ? (int)n : (int)sizeof drop);
        if (rc <= 0)
            return;
        n -= (size_t)rc;
    }
}

static void session_shutdown(struct jm_tls_session *s)
{
    ERR_clear_error();
    if (SSL_is_init_finished(s->ssl))
        SSL_shutdown(s->ssl);
    ERR_clear_error();
}

__attribute__((visibility("default"))) const struct jm_tls_ops *jm_tls_module(void);

const struct jm_tls_ops *jm_tls_module(void)
{
    static const struct jm_tls_ops ops = {
        .abi = JM_TLS_ABI,
        .version = version,
        .ctx_new = ctx_new,
        .ctx_free = ctx_free,
        .open = session_open,
        .close = session_close,
        .feed = feed,
        .handshake = handshake,
        .read = plain_read,
        .write = plain_write,
        .pending = pending,
        .sent = sent,
        .shutdown = session_shutdown,
    };
    return &ops;
}
