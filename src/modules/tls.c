/* SPDX-License-Identifier: Apache-2.0 */
/* TLS in memory with OpenSSL 3 (SSL_CTX_new(3), BIO_meth_new(3), SSL_set1_host(3)). See base/tls.h. */
#include "base/tls.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

struct jm_tls_ctx {
    SSL_CTX *ctx;
    BIO_METHOD *wire;
    bool server;
};

struct jm_tls_session {
    SSL *ssl;
    const char *in; /* ciphertext that is being read: the caller's */
    size_t in_n;
    char *out; /* ciphertext to be sent; held only while there is some */
    size_t out_at, out_n, out_cap;
};

/* --- between OpenSSL and the caller's bytes: nothing is kept for a connection that waits
 * -------------------------------------------------------------------------------------------------------- */
static int wire_read(BIO *b, char *p, size_t n, size_t *got)
{
    struct jm_tls_session *s = BIO_get_data(b);
    BIO_clear_retry_flags(b);
    *got = n < s->in_n ? n : s->in_n;
    if (!*got) {
        BIO_set_retry_read(b);
        return 0;
    }
    memcpy(p, s->in, *got);
    s->in += *got;
    s->in_n -= *got;
    return 1;
}

static int wire_write(BIO *b, const char *p, size_t n, size_t *done)
{
    struct jm_tls_session *s = BIO_get_data(b);
    BIO_clear_retry_flags(b);
    *done = 0;
    if (s->out_n + n > s->out_cap) {
        size_t cap = s->out_n + n < 512 ? 512 : s->out_n + n + s->out_n / 2;
        char *more = realloc(s->out, cap);
        if (!more)
            return 0;
        s->out = more;
        s->out_cap = cap;
    }
    memcpy(s->out + s->out_n, p, n);
    s->out_n += n;
    *done = n;
    return 1;
}

static long wire_ctrl(BIO *b, int what, long n, void *p)
{
    (void)b;
    (void)n;
    (void)p;
    return what == BIO_CTRL_FLUSH ? 1 : 0;
}

static BIO_METHOD *wire_method(void)
{
    /* a number of the range that is the user's; BIO_get_new_index() would run out */
    BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK | (BIO_TYPE_START + 64), "joulemark");
    if (m && (!BIO_meth_set_read_ex(m, wire_read) || !BIO_meth_set_write_ex(m, wire_write) ||
              !BIO_meth_set_ctrl(m, wire_ctrl))) {
        BIO_meth_free(m);
        return NULL;
    }
    return m;
}

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

static void ctx_free(struct jm_tls_ctx *c)
{
    if (!c)
        return;
    SSL_CTX_free(c->ctx);
    BIO_meth_free(c->wire);
    free(c);
}

/* What client and server have in common. Buffers are given back between records and no session is kept: a
 * connection that waits shall cost as little as it can. */
static struct jm_tls_ctx *ctx_base(bool server, char why[JM_TLS_WHY])
{
    struct jm_tls_ctx *c = calloc(1, sizeof *c);
    if (c)
        c->server = server;
    if (!c || !(c->ctx = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method())) ||
        !(c->wire = wire_method())) {
        last_error("TLS cannot be set up", why);
        ctx_free(c);
        return NULL;
    }
    SSL_CTX_set_min_proto_version(c->ctx, TLS1_2_VERSION);
    SSL_CTX_set_mode(c->ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE);
    SSL_CTX_set_session_cache_mode(c->ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(c->ctx, SSL_OP_NO_TICKET);
    return c;
}

static struct jm_tls_ctx *ctx_new(const char *ca_file, bool insecure, char why[JM_TLS_WHY])
{
    struct jm_tls_ctx *c = ctx_base(false, why);
    if (!c)
        return NULL;
    SSL_CTX_set_verify(c->ctx, insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    static const unsigned char alpn[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
    SSL_CTX_set_alpn_protos(c->ctx, alpn, sizeof alpn);
    if (ca_file ? SSL_CTX_load_verify_file(c->ctx, ca_file) != 1
                : SSL_CTX_set_default_verify_paths(c->ctx) != 1) {
        char what[JM_TLS_WHY / 2];
        snprintf(what, sizeof what, "certificates cannot be read from %s", ca_file ? ca_file : "the system");
        last_error(what, why);
        ctx_free(c);
        return NULL;
    }
    return c;
}

static void session_close(struct jm_tls_session *s)
{
    if (!s)
        return;
    SSL_free(s->ssl);
    free(s->out);
    free(s);
}

static struct jm_tls_session *session_open(struct jm_tls_ctx *c, const char *host, bool is_ip)
{
    struct jm_tls_session *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->ssl = SSL_new(c->ctx);
    BIO *b = BIO_new(c->wire);
    bool ok = s->ssl && b;
    if (ok && !c->server && is_ip)
        ok = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(s->ssl), host) == 1;
    else if (ok && !c->server)
        ok = SSL_set1_host(s->ssl, host) == 1 && SSL_set_tlsext_host_name(s->ssl, host) == 1;
    if (!ok) {
        BIO_free(b);
        session_close(s);
        ERR_clear_error();
        return NULL;
    }
    BIO_set_data(b, s);
    BIO_set_init(b, 1);
    SSL_set_bio(s->ssl, b, b);
    if (c->server)
        SSL_set_accept_state(s->ssl);
    else
        SSL_set_connect_state(s->ssl);
    return s;
}

static void feed(struct jm_tls_session *s, const void *p, size_t n)
{
    s->in = p;
    s->in_n = n;
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
            return false; /* the wire takes everything: only a lack of memory comes here */
        at += done;
        n -= done;
    }
    return true;
}

static size_t pending(struct jm_tls_session *s, const char **p)
{
    *p = s->out ? s->out + s->out_at : NULL;
    return s->out_n - s->out_at;
}

static void sent(struct jm_tls_session *s, size_t n)
{
    s->out_at += n;
    if (s->out_at < s->out_n)
        return;
    free(s->out);
    s->out = NULL;
    s->out_at = s->out_n = s->out_cap = 0;
}

static bool peer_sha256(struct jm_tls_session *s, char hex[65])
{
    unsigned char md[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    X509 *x = SSL_get1_peer_certificate(s->ssl);
    bool ok = x && X509_digest(x, EVP_sha256(), md, &n) == 1 && n == 32;
    X509_free(x);
    for (unsigned i = 0; ok && i < n; i++)
        snprintf(hex + 2 * i, 3, "%02x", md[i]);
    return ok;
}

static void session_shutdown(struct jm_tls_session *s)
{
    ERR_clear_error();
    if (SSL_is_init_finished(s->ssl))
        SSL_shutdown(s->ssl);
    ERR_clear_error();
}

/* --- a server of its own, for the self-check
 * -------------------------------------------------------------------------------------------------------- */
static bool sign_self(X509 *x, EVP_PKEY *key, const char *ip)
{
    char alt[80];
    X509V3_CTX v3;
    snprintf(alt, sizeof alt, "IP:%s", ip);
    X509V3_set_ctx_nodb(&v3);
    X509V3_set_ctx(&v3, x, x, NULL, NULL, 0);
    X509_NAME *name = X509_get_subject_name(x);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &v3, NID_subject_alt_name, alt);
    bool ok = e && X509_set_version(x, 2) && ASN1_INTEGER_set(X509_get_serialNumber(x), 1) &&
              X509_gmtime_adj(X509_getm_notBefore(x), -3600) &&
              X509_gmtime_adj(X509_getm_notAfter(x), 86400) && X509_set_pubkey(x, key) &&
              X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"self-check", -1,
                                         -1, 0) &&
              X509_set_issuer_name(x, name) && X509_add_ext(x, e, -1) && X509_sign(x, key, EVP_sha256()) > 0;
    X509_EXTENSION_free(e);
    return ok;
}

static bool write_pem(X509 *x, char *pem, size_t cap)
{
    BIO *b = BIO_new(BIO_s_mem());
    char *data = NULL;
    long n = b && PEM_write_bio_X509(b, x) ? BIO_get_mem_data(b, &data) : 0;
    bool ok = n > 0 && (size_t)n < cap;
    if (ok) {
        memcpy(pem, data, (size_t)n);
        pem[n] = '\0';
    }
    BIO_free(b);
    return ok;
}

static struct jm_tls_ctx *server_new(const char *ip, char *pem, size_t cap, char why[JM_TLS_WHY])
{
    struct jm_tls_ctx *c = ctx_base(true, why);
    EVP_PKEY *key = c ? EVP_EC_gen("P-256") : NULL;
    X509 *x = key ? X509_new() : NULL;
    bool ok = x && sign_self(x, key, ip) && SSL_CTX_use_certificate(c->ctx, x) == 1 &&
              SSL_CTX_use_PrivateKey(c->ctx, key) == 1 && SSL_CTX_set_num_tickets(c->ctx, 0) == 1 &&
              write_pem(x, pem, cap);
    if (c && !ok) {
        last_error("a certificate for the self-check cannot be made", why);
        ctx_free(c);
        c = NULL;
    }
    X509_free(x);
    EVP_PKEY_free(key);
    return c;
}

__attribute__((visibility("default"))) const struct jm_tls_ops *jm_tls_module(void);

const struct jm_tls_ops *jm_tls_module(void)
{
    static const struct jm_tls_ops ops = {
        .abi = JM_TLS_ABI,
        .version = version,
        .ctx_new = ctx_new,
        .server_new = server_new,
        .ctx_free = ctx_free,
        .open = session_open,
        .close = session_close,
        .feed = feed,
        .handshake = handshake,
        .read = plain_read,
        .write = plain_write,
        .pending = pending,
        .sent = sent,
        .peer_sha256 = peer_sha256,
        .shutdown = session_shutdown,
    };
    return &ops;
}
