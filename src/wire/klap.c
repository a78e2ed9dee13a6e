/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/klap.h"

#include <string.h>

#include "base/file.h"
#include "wire/snmp.h"
#include "base/banned.h"

static void bytes_of(const char *hex, uint8_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned v = 0;
        for (int k = 0; k < 2; k++) {
            char c = hex[2 * i + (size_t)k];
            v = v << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
        }
        out[i] = (uint8_t)v;
    }
}

static void sha1(const char *text, uint8_t out[20])
{
    struct jm_sha1 s;
    char hex[JM_SHA1_HEX];
    jm_sha1_init(&s);
    jm_sha1_add(&s, text, strlen(text));
    jm_sha1_done(&s, hex);
    bytes_of(hex, out, 20);
    explicit_bzero(hex, sizeof hex);
}

static void sha256(const struct jm_span *part, size_t n, uint8_t out[JM_KLAP_HASH])
{
    struct jm_sha256 s;
    char hex[JM_SHA256_HEX];
    jm_sha256_init(&s);
    for (size_t i = 0; i < n; i++)
        jm_sha256_add(&s, part[i].p, part[i].n);
    jm_sha256_done(&s, hex);
    bytes_of(hex, out, JM_KLAP_HASH);
    explicit_bzero(hex, sizeof hex);
}

static struct jm_span span(const uint8_t *p, size_t n)
{
    return (struct jm_span){(const char *)p, n};
}

void jm_klap_auth(const char *user, const char *password, uint8_t auth[JM_KLAP_HASH])
{
    uint8_t both[40];
    sha1(user, both);
    sha1(password, both + 20);
    sha256(&(struct jm_span){(const char *)both, 40}, 1, auth);
    explicit_bzero(both, sizeof both);
}

void jm_klap_server(const uint8_t local[JM_KLAP_SEED], const uint8_t remote[JM_KLAP_SEED],
                    const uint8_t auth[JM_KLAP_HASH], uint8_t out[JM_KLAP_HASH])
{
    const struct jm_span part[] = {span(local, JM_KLAP_SEED), span(remote, JM_KLAP_SEED),
                                   span(auth, JM_KLAP_HASH)};
    sha256(part, 3, out);
}

void jm_klap_client(const uint8_t local[JM_KLAP_SEED], const uint8_t remote[JM_KLAP_SEED],
                    const uint8_t auth[JM_KLAP_HASH], uint8_t out[JM_KLAP_HASH])
{
    jm_klap_server(remote, local, auth, out);
}

void jm_klap_begin(struct jm_klap *k, const uint8_t local[JM_KLAP_SEED], const uint8_t remote[JM_KLAP_SEED],
                   const uint8_t auth[JM_KLAP_HASH])
{
    uint8_t hash[JM_KLAP_HASH];
    struct jm_span part[] = {JM_SPAN("lsk"), span(local, JM_KLAP_SEED), span(remote, JM_KLAP_SEED),
                             span(auth, JM_KLAP_HASH)};
    sha256(part, 4, hash);
    memcpy(k->key, hash, sizeof k->key);
    part[0] = JM_SPAN("ldk");
    sha256(part, 4, hash);
    memcpy(k->sig, hash, sizeof k->sig);
    part[0] = JM_SPAN("iv");
    sha256(part, 4, hash);
    memcpy(k->iv, hash, 12);
    k->seq = (uint32_t)hash[28] << 24 | (uint32_t)hash[29] << 16 | (uint32_t)hash[30] << 8 | hash[31];
    explicit_bzero(hash, sizeof hash);
}

static void count(const struct jm_klap *k, uint8_t iv[16])
{
    memcpy(iv, k->iv, 12);
    for (int i = 0; i < 4; i++)
        iv[12 + i] = (uint8_t)(k->seq >> (24 - 8 * i));
}

size_t jm_klap_seal(struct jm_klap *k, struct jm_span text, uint8_t *out, size_t cap)
{
    size_t pad = 16 - text.n % 16, n = text.n + pad;
    uint8_t iv[16], *data = out + JM_KLAP_HASH;
    if (cap < JM_KLAP_HASH || cap - JM_KLAP_HASH < n)
        return 0;
    k->seq++;
    count(k, iv);
    memcpy(data, text.p, text.n);
    memset(data + text.n, (int)pad, pad);
    jm_aes128_cbc(k->key, iv, false, data, n);
    const struct jm_span part[] = {span(k->sig, sizeof k->sig), span(iv + 12, 4), span(data, n)};
    sha256(part, 3, out);
    return JM_KLAP_HASH + n;
}

bool jm_klap_open(const struct jm_klap *k, uint8_t *body, size_t n, struct jm_span *text)
{
    uint8_t iv[16];
    if (n < JM_KLAP_HASH + 16 || (n - JM_KLAP_HASH) % 16)
        return false;
    uint8_t *data = body + JM_KLAP_HASH;
    n -= JM_KLAP_HASH;
    count(k, iv);
    jm_aes128_cbc(k->key, iv, true, data, n);
    size_t pad = data[n - 1];
    if (pad < 1 || pad > 16)
        return false;
    for (size_t i = 0; i < pad; i++)
        if (data[n - 1 - i] != pad)
            return false;
    *text = span(data, n - pad);
    return true;
}
