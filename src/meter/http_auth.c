/* SPDX-License-Identifier: Apache-2.0 */
/* Basic (RFC 7617) and Digest with SHA-256 (RFC 7616). See meter/http.h. */
#include "meter/http_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"

#include "base/banned.h"

void jm_http_basic(struct jm_str *out, const char *user, const char *password)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[2 * JM_SECRET_MAX + 2];
    int len = snprintf(text, sizeof text, "%s:%s", user ? user : "", password ? password : "");
    size_t n = len < 0 ? 0 : (size_t)len < sizeof text ? (size_t)len : sizeof text - 1;
    jm_str_adds(out, "Basic ");
    for (size_t i = 0; i < n; i += 3) {
        unsigned v = (unsigned)(unsigned char)text[i] << 16;
        if (i + 1 < n)
            v |= (unsigned)(unsigned char)text[i + 1] << 8;
        if (i + 2 < n)
            v |= (unsigned char)text[i + 2];
        jm_str_addc(out, digits[v >> 18]);
        jm_str_addc(out, digits[v >> 12 & 63]);
        jm_str_addc(out, i + 1 < n ? digits[v >> 6 & 63] : '=');
        jm_str_addc(out, i + 2 < n ? digits[v & 63] : '=');
    }
    explicit_bzero(text, sizeof text);
}

static void hash3(char out[JM_SHA256_HEX], const char *a, const char *b, const char *c)
{
    struct jm_sha256 s;
    jm_sha256_init(&s);
    jm_sha256_add(&s, a, strlen(a));
    jm_sha256_add(&s, ":", 1);
    jm_sha256_add(&s, b, strlen(b));
    if (c) {
        jm_sha256_add(&s, ":", 1);
        jm_sha256_add(&s, c, strlen(c));
    }
    jm_sha256_done(&s, out);
}

void jm_http_digest(struct jm_str *out, const char *user, const char *password, const char *realm,
                    const char *nonce, const char *opaque, const char *method, const char *target,
                    uint32_t count, const char *cnonce)
{
    char ha1[JM_SHA256_HEX], ha2[JM_SHA256_HEX], middle[640], answer[JM_SHA256_HEX];
    hash3(ha1, user, realm, password);
    hash3(ha2, method, target, NULL);
    snprintf(middle, sizeof middle, "%s:%08x:%s:auth", nonce, count, cnonce);
    hash3(answer, ha1, middle, ha2);
    explicit_bzero(ha1, sizeof ha1);
    jm_str_addf(
        out,
        "Digest username=\"%s\", realm=\"%s\", nonce=\"%s\", uri=\"%s\", algorithm=SHA-256, qop=auth, "
        "nc=%08x, cnonce=\"%s\", response=\"%s\"",
        user, realm, nonce, target, count, cnonce, answer);
    if (opaque && opaque[0])
        jm_str_addf(out, ", opaque=\"%s\"", opaque);
}

/* The value of key in a challenge, quoted or not; false where it is missing or too long. */
static bool part(struct jm_span s, const char *key, char *out, size_t cap)
{
    struct jm_span k = jm_span_of(key);
    for (size_t i = 0; i + k.n + 1 < s.n; i++) {
        if (!jm_span_ieq(jm_span_sub(s, i, k.n), k) || s.p[i + k.n] != '=' ||
            (i && s.p[i - 1] != ' ' && s.p[i - 1] != ','))
            continue;
        struct jm_span v = jm_span_sub(s, i + k.n + 1, s.n);
        bool quoted = v.n && v.p[0] == '"';
        if (quoted)
            v = jm_span_sub(v, 1, v.n);
        size_t n = 0;
        while (n < v.n && (quoted ? v.p[n] != '"' : v.p[n] != ',' && v.p[n] != ' '))
            n++;
        if (n >= cap)
            return false;
        memcpy(out, v.p, n);
        out[n] = '\0';
        return true;
    }
    return false;
}

bool jm_http_challenge(struct jm_http *h)
{
    struct jm_span s;
    char algorithm[32];
    bool basic = false;
    for (size_t i = 0; jm_http1_header(&h->reader, "WWW-Authenticate", i, &s); i++) {
        if (jm_span_istarts(s, JM_SPAN("Basic")))
            basic = true;
        if (!jm_span_istarts(s, JM_SPAN("Digest")) || !part(s, "algorithm", algorithm, sizeof algorithm) ||
            !jm_span_ieq(jm_span_of(algorithm), JM_SPAN("SHA-256")) ||
            !part(s, "realm", h->digest.realm, sizeof h->digest.realm) ||
            !part(s, "nonce", h->digest.nonce, sizeof h->digest.nonce))
            continue;
        if (!part(s, "opaque", h->digest.opaque, sizeof h->digest.opaque))
            h->digest.opaque[0] = '\0';
        h->digest.on = true;
        h->digest.count = 0;
        return true;
    }
    h->digest.basic = basic;
    return basic;
}
