/* SPDX-License-Identifier: Apache-2.0 */
/* Messages: version 2c (RFC 1901) and version 3 with the user-based security model. HMAC-SHA-96 of RFC 3414
 * 7.3, HMAC-192-SHA-256 of RFC 7860, AES-128-CFB of RFC 3826. */
#include <string.h>

#include "base/file.h"
#include "wire/snmp_ber.h"
#include "base/banned.h"

#define SHA_MAX 32

/* ---- hashes */

struct sha {
    enum jm_snmp_auth kind;
    struct jm_sha1 s1;
    struct jm_sha256 s256;
};

static void sha_init(struct sha *s, enum jm_snmp_auth kind)
{
    s->kind = kind;
    if (kind == JM_SNMP_SHA256)
        jm_sha256_init(&s->s256);
    else
        jm_sha1_init(&s->s1);
}

static void sha_add(struct sha *s, const void *p, size_t n)
{
    if (s->kind == JM_SNMP_SHA256)
        jm_sha256_add(&s->s256, p, n);
    else
        jm_sha1_add(&s->s1, p, n);
}

static int nibble(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static size_t sha_size(enum jm_snmp_auth kind)
{
    return kind == JM_SNMP_SHA256 ? 32 : 20;
}

static void sha_done(struct sha *s, uint8_t out[SHA_MAX])
{
    char hex[JM_SHA256_HEX];
    if (s->kind == JM_SNMP_SHA256)
        jm_sha256_done(&s->s256, hex);
    else
        jm_sha1_done(&s->s1, hex);
    for (size_t i = 0; i < sha_size(s->kind); i++)
        out[i] = (uint8_t)(nibble(hex[2 * i]) << 4 | nibble(hex[2 * i + 1]));
}

static void hmac(enum jm_snmp_auth kind, const uint8_t *key, const void *p, size_t n, uint8_t out[SHA_MAX])
{
    struct sha s;
    uint8_t pad[64];
    for (int outer = 0; outer < 2; outer++) {
        memset(pad, outer ? 0x5c : 0x36, sizeof pad);
        for (size_t i = 0; i < sha_size(kind); i++)
            pad[i] ^= key[i];
        sha_init(&s, kind);
        sha_add(&s, pad, sizeof pad);
        sha_add(&s, outer ? out : p, outer ? sha_size(kind) : n);
        sha_done(&s, out);
    }
    explicit_bzero(pad, sizeof pad);
}

static size_t mac_size(enum jm_snmp_auth kind)
{
    return kind == JM_SNMP_SHA256 ? 24 : 12;
}

bool jm_snmp_password(enum jm_snmp_auth auth, struct jm_span password, uint8_t key[32])
{
    struct sha s;
    uint8_t block[64];
    size_t at = 0;
    if (password.n < 8)
        return false;
    memset(key, 0, 32);
    sha_init(&s, auth);
    for (size_t done = 0; done < 1 << 20; done += sizeof block) {
        for (size_t i = 0; i < sizeof block; i++, at = (at + 1) % password.n)
            block[i] = (uint8_t)password.p[at];
        sha_add(&s, block, sizeof block);
    }
    sha_done(&s, key);
    explicit_bzero(block, sizeof block);
    return true;
}

void jm_snmp_localize(struct jm_snmp_peer *p)
{
    for (int priv = 0; priv < 2; priv++) {
        const uint8_t *secret = priv ? p->priv_secret : p->auth_secret;
        struct sha s;
        sha_init(&s, p->auth);
        sha_add(&s, secret, sha_size(p->auth));
        sha_add(&s, p->engine, p->engine_n);
        sha_add(&s, secret, sha_size(p->auth));
        sha_done(&s, priv ? p->priv_key : p->auth_key);
    }
}

/* ---- making */

static void pdu_make(struct ber_w *w, const struct jm_snmp_pdu *pdu)
{
    size_t end = w->at;
    ber_bytes(w, pdu->varbinds.p, pdu->varbinds.n);
    ber_head(w, 0x30, end);
    ber_int(w, JM_SNMP_INTEGER, pdu->index);
    ber_int(w, JM_SNMP_INTEGER, pdu->error);
    ber_int(w, JM_SNMP_INTEGER, pdu->request);
    ber_head(w, pdu->tag, end);
}

static void iv_of(uint32_t boots, uint32_t time, const uint8_t salt[8], uint8_t iv[16])
{
    for (int i = 0; i < 4; i++) {
        iv[i] = (uint8_t)(boots >> (24 - 8 * i));
        iv[4 + i] = (uint8_t)(time >> (24 - 8 * i));
    }
    memcpy(iv + 8, salt, 8);
}

/* Returns where in the buffer the place of the authentication code is. */
static size_t make_v3(struct ber_w *w, struct jm_snmp_peer *p, const struct jm_snmp_pdu *pdu)
{
    static const uint8_t zero[SHA_MAX];
    bool known = p->engine_n > 0, auth = known && p->auth != JM_SNMP_NOAUTH, priv = auth && p->priv;
    uint8_t salt[8], iv[16], flags = (uint8_t)(4 | (auth ? 1 : 0) | (priv ? 2 : 0));
    size_t end = w->at, mac_at;
    p->salt++;
    for (int i = 0; i < 8; i++)
        salt[i] = (uint8_t)(p->salt >> (56 - 8 * i));

    pdu_make(w, pdu);
    ber_octets(w, p->context, strlen(p->context));
    ber_octets(w, p->engine, p->engine_n);
    ber_head(w, 0x30, end);
    if (priv && !w->full) {
        iv_of(p->boots, p->time, salt, iv);
        jm_aes128_cfb(p->priv_key, iv, false, w->buf + w->at, end - w->at);
        ber_head(w, JM_SNMP_OCTETS, end);
    }
    size_t sec = w->at;
    ber_octets(w, salt, priv ? 8 : 0);
    ber_octets(w, zero, auth ? mac_size(p->auth) : 0);
    mac_at = w->at + 2;
    ber_octets(w, p->user, known ? strlen(p->user) : 0);
    ber_int(w, JM_SNMP_INTEGER, p->time);
    ber_int(w, JM_SNMP_INTEGER, p->boots);
    ber_octets(w, p->engine, p->engine_n);
    ber_head(w, 0x30, sec);
    ber_head(w, JM_SNMP_OCTETS, sec);
    size_t head = w->at;
    ber_int(w, JM_SNMP_INTEGER, 3);
    ber_octets(w, &flags, 1);
    ber_int(w, JM_SNMP_INTEGER, JM_SNMP_MSG_MAX);
    ber_int(w, JM_SNMP_INTEGER, pdu->request);
    ber_head(w, 0x30, head);
    ber_int(w, JM_SNMP_INTEGER, 3);
    ber_head(w, 0x30, end);
    return auth ? mac_at : 0;
}

int jm_snmp_encode(struct jm_snmp_peer *p, const struct jm_snmp_pdu *pdu, uint8_t *out, size_t cap)
{
    static const struct jm_span none = {NULL, 0};
    struct ber_w w = {out, cap, false};
    size_t mac = 0;
    if (p->version == 3) {
        struct jm_snmp_pdu question = *pdu;
        if (!p->engine_n) {
            question.tag = JM_SNMP_GET;
            question.error = question.index = 0;
            question.varbinds = none;
            p->boots = p->time = 0;
        }
        mac = make_v3(&w, p, &question);
    } else {
        pdu_make(&w, pdu);
        ber_octets(&w, p->community, strlen(p->community));
        ber_int(&w, JM_SNMP_INTEGER, 1);
        ber_head(&w, 0x30, cap);
    }
    if (w.full)
        return JM_ELIMIT;
    if (mac) {
        uint8_t code[SHA_MAX];
        hmac(p->auth, p->auth_key, out + w.at, cap - w.at, code);
        memcpy(out + mac, code, mac_size(p->auth));
    }
    memmove(out, out + w.at, cap - w.at);
    return (int)(cap - w.at);
}

/* ---- taking */

static int pdu_take(struct jm_span *rest, struct jm_snmp_pdu *pdu)
{
    struct jm_span c;
    int64_t request, error, index;
    uint8_t tag;
    if (!ber_take(rest, &tag, &c) || !ber_want_int(&c, &request) || !ber_want_int(&c, &error) ||
        !ber_want_int(&c, &index) || !ber_want(&c, 0x30, &pdu->varbinds))
        return JM_EPARSE;
    pdu->tag = tag;
    pdu->request = (int32_t)request;
    pdu->error = error < 0 || error > 255 ? 255 : (int32_t)error;
    pdu->index = index < 0 || index > 65535 ? 0 : (int32_t)index;
    return 0;
}

/* What a report says: usmStats 1.3.6.1.6.3.15.1.1.N.0. */
static int report(const struct jm_snmp_pdu *pdu)
{
    static const struct jm_snmp_oid usm = {{1, 3, 6, 1, 6, 3, 15, 1, 1}, 9};
    struct jm_span rest = pdu->varbinds;
    struct jm_snmp_oid oid;
    struct jm_snmp_value v;
    if (jm_snmp_next(&rest, &oid, &v) != 1 || !jm_snmp_oid_below(&oid, &usm) || oid.n < 10)
        return JM_EPARSE;
    switch (oid.id[9]) {
    case 1: return JM_SNMP_WRONG_LEVEL;
    case 2: /* not in the time window */
    case 4: /* unknown engine */ return JM_SNMP_ENGINE;
    case 3: return JM_SNMP_WRONG_USER;
    case 5: return JM_SNMP_WRONG_KEY;
    case 6: return JM_SNMP_WRONG_PRIV;
    default: return JM_EPARSE;
    }
}

struct security {
    struct jm_span engine, user, mac, salt;
    int64_t boots, time;
};

static bool security_take(struct jm_span c, struct security *s)
{
    struct jm_span in;
    return ber_want(&c, 0x30, &in) && ber_want(&in, JM_SNMP_OCTETS, &s->engine) &&
           ber_want_int(&in, &s->boots) && ber_want_int(&in, &s->time) &&
           ber_want(&in, JM_SNMP_OCTETS, &s->user) && ber_want(&in, JM_SNMP_OCTETS, &s->mac) &&
           ber_want(&in, JM_SNMP_OCTETS, &s->salt) && s->engine.n <= 32 && s->boots >= 0 &&
           s->boots <= INT32_MAX && s->time >= 0 && s->time <= INT32_MAX;
}

static bool genuine(const struct jm_snmp_peer *p, uint8_t *msg, size_t n, struct jm_span mac)
{
    uint8_t code[SHA_MAX], was[SHA_MAX], differ = 0;
    size_t size = mac_size(p->auth);
    if (mac.n != size)
        return false;
    uint8_t *at = msg + (mac.p - (const char *)msg);
    memcpy(was, at, size);
    memset(at, 0, size);
    hmac(p->auth, p->auth_key, msg, n, code);
    memcpy(at, was, size);
    for (size_t i = 0; i < size; i++)
        differ |= (uint8_t)(code[i] ^ was[i]);
    return !differ;
}

static void learn(struct jm_snmp_peer *p, const struct security *s)
{
    if (p->engine_n != s->engine.n || memcmp(p->engine, s->engine.p, s->engine.n) != 0) {
        memcpy(p->engine, s->engine.p, s->engine.n);
        p->engine_n = s->engine.n;
        if (p->auth != JM_SNMP_NOAUTH)
            jm_snmp_localize(p);
    }
    p->boots = (uint32_t)s->boots;
    p->time = (uint32_t)s->time;
}

static int take_v3(struct jm_snmp_peer *p, uint8_t *msg, size_t n, struct jm_span rest,
                   struct jm_snmp_pdu *pdu)
{
    struct jm_span head, flags, sec, scoped, c;
    struct security s;
    int64_t id, size, model;
    if (!ber_want(&rest, 0x30, &head) || !ber_want_int(&head, &id) || !ber_want_int(&head, &size) ||
        !ber_want(&head, JM_SNMP_OCTETS, &flags) || flags.n != 1 || !ber_want_int(&head, &model) ||
        model != 3 || !ber_want(&rest, JM_SNMP_OCTETS, &sec) || !security_take(sec, &s))
        return JM_EPARSE;
    bool auth = flags.p[0] & 1, priv = flags.p[0] & 2;
    bool same = p->engine_n && s.engine.n == p->engine_n && !memcmp(p->engine, s.engine.p, p->engine_n);
    if (auth && (p->auth == JM_SNMP_NOAUTH || !same))
        return JM_EDENIED;
    if (auth && !genuine(p, msg, n, s.mac))
        return JM_SNMP_WRONG_KEY;
    if (priv) {
        uint8_t iv[16];
        if (!auth || !p->priv || s.salt.n != 8 || !ber_want(&rest, JM_SNMP_OCTETS, &c))
            return JM_EPARSE;
        iv_of((uint32_t)s.boots, (uint32_t)s.time, (const uint8_t *)s.salt.p, iv);
        jm_aes128_cfb(p->priv_key, iv, true, msg + (c.p - (const char *)msg), c.n);
        rest = c;
    }
    if (!ber_want(&rest, 0x30, &scoped) || !ber_want(&scoped, JM_SNMP_OCTETS, &c) ||
        !ber_want(&scoped, JM_SNMP_OCTETS, &c) || pdu_take(&scoped, pdu))
        return JM_EPARSE;
    if (pdu->tag == JM_SNMP_REPORT) {
        int rc = report(pdu);
        /* of an engine that is known, only a genuine report may move its clock; a new engine is believed
         * once, and what it says after that is checked with its key */
        if (rc == JM_SNMP_ENGINE && (!p->engine_n || auth || p->auth == JM_SNMP_NOAUTH || !same))
            learn(p, &s);
        return rc;
    }
    if ((p->auth != JM_SNMP_NOAUTH && !auth) || (p->priv && !priv))
        return JM_EDENIED;
    if (auth && (s.boots < p->boots || (s.boots == p->boots && s.time + 150 < p->time)))
        return JM_EDENIED; /* an old message played again */
    learn(p, &s);
    return JM_SNMP_TAKEN;
}

int jm_snmp_decode(struct jm_snmp_peer *p, uint8_t *msg, size_t n, struct jm_snmp_pdu *pdu)
{
    struct jm_span in = {(const char *)msg, n}, rest, community;
    int64_t version;
    *pdu = (struct jm_snmp_pdu){0};
    if (!ber_want(&in, 0x30, &rest) || in.n || !ber_want_int(&rest, &version))
        return JM_EPARSE;
    if (version != (p->version == 3 ? 3 : 1))
        return JM_EPARSE;
    if (version == 3)
        return take_v3(p, msg, n, rest, pdu);
    if (!ber_want(&rest, JM_SNMP_OCTETS, &community) || pdu_take(&rest, pdu))
        return JM_EPARSE;
    return jm_span_is(community, p->community) ? JM_SNMP_TAKEN : JM_EDENIED;
}
