/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256, FIPS 180-4 section 6.2: every sealed run is read through it. Twice: in plain C, and with the
 * instructions that x86 processors have for it (SHA256RNDS2 and its like, Intel SDM volume 2), which are five
 * times as fast. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/file.h"

#include "base/banned.h"

static const uint32_t k256[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotr(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

/* One round; the eight letters move by one place from call to call, so that nothing has to be copied. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                                                     \
    do {                                                                                                     \
        uint32_t t = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + (g ^ (e & (f ^ g))) + k256[i] + w[i];    \
        d += t;                                                                                              \
        h = t + (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) | (c & (a | b)));                        \
    } while (0)

static void compress(uint32_t s[8], const unsigned char *p)
{
    uint32_t w[64], a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 |
               p[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t x = w[i - 15], y = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (rotr(x, 7) ^ rotr(x, 18) ^ x >> 3) +
               (rotr(y, 17) ^ rotr(y, 19) ^ y >> 10);
    }
    for (int i = 0; i < 64; i += 8) {
        ROUND(a, b, c, d, e, f, g, h, i);
        ROUND(h, a, b, c, d, e, f, g, i + 1);
        ROUND(g, h, a, b, c, d, e, f, i + 2);
        ROUND(f, g, h, a, b, c, d, e, i + 3);
        ROUND(e, f, g, h, a, b, c, d, i + 4);
        ROUND(d, e, f, g, h, a, b, c, i + 5);
        ROUND(c, d, e, f, g, h, a, b, i + 6);
        ROUND(b, c, d, e, f, g, h, a, i + 7);
    }
    s[0] += a;
    s[1] += b;
    s[2] += c;
    s[3] += d;
    s[4] += e;
    s[5] += f;
    s[6] += g;
    s[7] += h;
}

#if defined(__x86_64__)
/* The letters lie as ABEF and CDGH; an instruction makes two rounds. Of the schedule the last 16 words are
 * kept, four in each of m; a new four follow from those (section 6.2.2, step 1). */
__attribute__((target("sha,sse4.1,ssse3"))) static void compress_sha(uint32_t h[8], const unsigned char *p,
                                                                     size_t blocks)
{
    const __m128i turn = _mm_set_epi64x(0x0c0d0e0f08090a0bll, 0x0405060700010203ll);
    __m128i lo = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)h), 0xb1);
    __m128i hi = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)(h + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(lo, hi, 8), cdgh = _mm_blend_epi16(hi, lo, 0xf0);
    for (; blocks; blocks--, p += 64) {
        __m128i m[4], abef0 = abef, cdgh0 = cdgh;
#pragma GCC unroll 16
        for (int q = 0; q < 16; q++) {
            __m128i *w = &m[q & 3], w1 = m[(q + 1) & 3], w2 = m[(q + 2) & 3], w3 = m[(q + 3) & 3];
            *w = q < 4 ? _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)p + q), turn)
                       : _mm_sha256msg2_epu32(
                             _mm_add_epi32(_mm_sha256msg1_epu32(*w, w1), _mm_alignr_epi8(w3, w2, 4)), w3);
            __m128i k = _mm_add_epi32(*w, _mm_loadu_si128((const __m128i *)(const void *)&k256[4 * q]));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, k);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(k, 0x0e));
        }
        abef = _mm_add_epi32(abef, abef0);
        cdgh = _mm_add_epi32(cdgh, cdgh0);
    }
    lo = _mm_shuffle_epi32(abef, 0x1b);
    hi = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)(void *)h, _mm_blend_epi16(lo, hi, 0xf0));
    _mm_storeu_si128((__m128i *)(void *)(h + 4), _mm_alignr_epi8(hi, lo, 8));
}
#else
static void compress_sha(uint32_t h[8], const unsigned char *p, size_t blocks)
{
    for (; blocks; blocks--, p += 64)
        compress(h, p);
}
#endif

static void compress_all(struct jm_sha256 *s, const unsigned char *p, size_t blocks)
{
    if (s->fast)
        compress_sha(s->h, p, blocks);
    else
        for (; blocks; blocks--, p += sizeof s->block)
            compress(s->h, p);
}

void jm_sha256_init(struct jm_sha256 *s)
{
    *s = (struct jm_sha256){.h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                                  0x1f83d9ab, 0x5be0cd19}};
    s->fast = jm_sha_instructions();
}

void jm_sha256_add(struct jm_sha256 *s, const void *data, size_t n)
{
    const unsigned char *p = data;
    size_t have = (size_t)(s->n % 64);
    s->n += n;
    if (have) {
        size_t take = n < 64 - have ? n : 64 - have;
        if (take)
            memcpy(s->block + have, p, take);
        p += take;
        n -= take;
        if (have + take < 64)
            return;
        compress_all(s, s->block, 1);
    }
    compress_all(s, p, n / 64);
    if (n % 64)
        memcpy(s->block, p + (n - n % 64), n % 64);
}

void jm_sha256_done(struct jm_sha256 *s, char out[JM_SHA256_HEX])
{
    static const unsigned char pad[64] = {0x80};
    static const char hex[] = "0123456789abcdef";
    unsigned char len[8];
    uint64_t bits = s->n * 8;
    for (int i = 0; i < 8; i++)
        len[i] = (unsigned char)(bits >> (56 - 8 * i));
    jm_sha256_add(s, pad, 1 + (119 - (size_t)(s->n % 64)) % 64);
    jm_sha256_add(s, len, sizeof len);
    for (int i = 0; i < 64; i++)
        out[i] = hex[s->h[i / 8] >> (28 - 4 * (i % 8)) & 15];
    out[64] = '\0';
}

void jm_sha256_hex(struct jm_span data, char out[JM_SHA256_HEX])
{
    struct jm_sha256 s;
    jm_sha256_init(&s);
    jm_sha256_add(&s, data.p, data.n);
    jm_sha256_done(&s, out);
}

int jm_file_sha256(const char *path, char out[JM_SHA256_HEX], struct jm_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return jm_err_sys(err, errno, "cannot open %s", path);
    struct jm_sha256 s;
    jm_sha256_init(&s);
    for (;;) {
        unsigned char buf[32768];
        ssize_t n = read(fd, buf, sizeof buf);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int rc = jm_err_sys(err, errno, "cannot read %s", path);
            close(fd);
            return rc;
        }
        if (!n)
            break;
        jm_sha256_add(&s, buf, (size_t)n);
    }
    close(fd);
    jm_sha256_done(&s, out);
    return 0;
}
