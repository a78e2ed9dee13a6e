/* SPDX-License-Identifier: Apache-2.0 */
/* AES-128 from FIPS 197: the S-box is the multiplicative inverse in GF(2^8) under
 * x^8 + x^4 + x^3 + x + 1 and an affine map, computed once a message. A message of a PDU has a few dozen
 * blocks. */
#include "wire/snmp.h"

#include <string.h>

#include "base/banned.h"

static uint8_t times2(uint8_t x)
{
    return (uint8_t)((x << 1) ^ ((x >> 7) * 0x1b));
}

static uint8_t rotl(uint8_t x, int n)
{
    return (uint8_t)((x << n) | (x >> (8 - n)));
}

/* 3 generates the field: p walks all its elements, q their inverses. */
static void make_sbox(uint8_t s[256])
{
    uint8_t p = 1, q = 1;
    do {
        p = (uint8_t)(p ^ times2(p));
        q ^= (uint8_t)(q << 1);
        q ^= (uint8_t)(q << 2);
        q ^= (uint8_t)(q << 4);
        if (q & 0x80)
            q ^= 0x09;
        s[p] = (uint8_t)(q ^ rotl(q, 1) ^ rotl(q, 2) ^ rotl(q, 3) ^ rotl(q, 4) ^ 0x63);
    } while (p != 1);
    s[0] = 0x63;
}

static void round_key(const uint8_t s[256], uint8_t k[16], uint8_t *rcon)
{
    uint8_t t[4] = {s[k[13]], s[k[14]], s[k[15]], s[k[12]]};
    t[0] ^= *rcon;
    *rcon = times2(*rcon);
    for (int i = 0; i < 16; i++)
        k[i] ^= i < 4 ? t[i] : k[i - 4];
}

static void mix(uint8_t c[4])
{
    uint8_t all = (uint8_t)(c[0] ^ c[1] ^ c[2] ^ c[3]), first = c[0];
    for (int i = 0; i < 4; i++)
        c[i] ^= (uint8_t)(all ^ times2((uint8_t)(c[i] ^ (i < 3 ? c[i + 1] : first))));
}

static void one_block(const uint8_t s[256], const uint8_t key[16], const uint8_t in[16], uint8_t out[16])
{
    uint8_t k[16], a[16], b[16], rcon = 1;
    memcpy(k, key, 16);
    for (int i = 0; i < 16; i++)
        a[i] = in[i] ^ k[i];
    for (int round = 1; round <= 10; round++) {
        for (int i = 0; i < 16; i++) /* bytes and rows at once: row r of column c comes from column c + r */
            b[i] = s[a[(i + 4 * (i % 4)) % 16]];
        for (int c = 0; round < 10 && c < 4; c++)
            mix(b + 4 * (size_t)c);
        round_key(s, k, &rcon);
        for (int i = 0; i < 16; i++)
            a[i] = b[i] ^ k[i];
    }
    memcpy(out, a, 16);
}

void jm_aes128(const uint8_t key[16], const uint8_t in[16], uint8_t out[16])
{
    uint8_t s[256];
    make_sbox(s);
    one_block(s, key, in, out);
}

/* The block before the cipher: its rounds backwards. Four times the mixing is none, so three undo it. */
static void one_block_back(const uint8_t s[256], const uint8_t inverse[256], const uint8_t key[16],
                           const uint8_t in[16], uint8_t out[16])
{
    uint8_t k[11][16], a[16], b[16], rcon = 1;
    memcpy(k[0], key, 16);
    for (int round = 1; round <= 10; round++) {
        memcpy(k[round], k[round - 1], 16);
        round_key(s, k[round], &rcon);
    }
    for (int i = 0; i < 16; i++)
        a[i] = in[i] ^ k[10][i];
    for (int round = 9; round >= 0; round--) {
        for (int i = 0; i < 16; i++)
            b[(i + 4 * (i % 4)) % 16] = inverse[a[i]];
        for (int i = 0; i < 16; i++)
            a[i] = b[i] ^ k[round][i];
        for (int c = 0; round > 0 && c < 12; c++)
            mix(a + 4 * (size_t)(c % 4));
    }
    memcpy(out, a, 16);
}

void jm_aes128_cbc(const uint8_t key[16], const uint8_t iv[16], bool decrypt, uint8_t *data, size_t n)
{
    uint8_t s[256], inverse[256], before[16], block[16];
    make_sbox(s);
    for (int i = 0; i < 256; i++)
        inverse[s[i]] = (uint8_t)i;
    memcpy(before, iv, 16);
    for (size_t at = 0; at + 16 <= n; at += 16) {
        memcpy(block, data + at, 16);
        if (decrypt) {
            one_block_back(s, inverse, key, block, data + at);
            for (size_t i = 0; i < 16; i++)
                data[at + i] ^= before[i];
            memcpy(before, block, 16);
        } else {
            for (size_t i = 0; i < 16; i++)
                block[i] ^= before[i];
            one_block(s, key, block, data + at);
            memcpy(before, data + at, 16);
        }
    }
}

void jm_aes128_cfb(const uint8_t key[16], const uint8_t iv[16], bool decrypt, uint8_t *data, size_t n)
{
    uint8_t s[256], block[16], pad[16];
    make_sbox(s);
    memcpy(block, iv, 16);
    for (size_t at = 0; at < n; at += 16) {
        one_block(s, key, block, pad);
        for (size_t i = 0; i < 16 && at + i < n; i++) {
            uint8_t was = data[at + i];
            data[at + i] ^= pad[i];
            block[i] = decrypt ? was : data[at + i];
        }
    }
}
