/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-1, FIPS 180-4 section 6.1: the sum that MLPerf power sessions name their files by. It proves no
 * authorship; only that a file is the one that was meant. Twice: in plain C, and with the instructions that
 * x86 processors have for it (SHA1RNDS4 and its like, Intel SDM volume 2), which are four times as fast. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "base/file.h"

#include "base/banned.h"

static uint32_t rotl(uint32_t x, unsigned n)
{
    return x << n | x >> (32 - n);
}

/* One round; the five letters move by one place from call to call, so that nothing has to be copied. */
#define ROUND(a, b, c, d, e, f, k, i)                                                                        \
    do {                                                                                                     \
        e += rotl(a, 5) + (f) + (k) + w[i];                                                                  \
        b = rotl(b, 30);                                                                                     \
    } while (0)
#define FIVE(F, k, i)                                                                                        \
    do {                                                                                                     \
        ROUND(a, b, c, d, e, F(b, c, d), k, i);                                                              \
        ROUND(e, a, b, c, d, F(a, b, c), k, i + 1);                                                          \
        ROUND(d, e, a, b, c, F(e, a, b), k, i + 2);                                                          \
        ROUND(c, d, e, a, b, F(d, e, a), k, i + 3);                                                          \
        ROUND(b, c, d, e, a, F(c, d, e), k, i + 4);                                                          \
    } while (0)
#define CHOOSE(x, y, z)   ((z) ^ ((x) & ((y) ^ (z))))
#define PARITY(x, y, z)   ((x) ^ (y) ^ (z))
#define MAJORITY(x, y, z) (((x) & (y)) | ((z) & ((x) | (y))))

static void compress(uint32_t h[5], const unsigned char *p)
{
    uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 |
               p[4 * i + 3];
    for (int i = 16; i < 80; i++)
        w[i] = rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 20; i += 5)
        FIVE(CHOOSE, 0x5a827999, i);
    for (int i = 20; i < 40; i += 5)
        FIVE(PARITY, 0x6ed9eba1, i);
    for (int i = 40; i < 60; i += 5)
        FIVE(MAJORITY, 0x8f1bbcdc, i);
    for (int i = 60; i < 80; i += 5)
        FIVE(PARITY, 0xca62c1d6, i);
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

#if defined(__x86_64__)
bool jm_sha_instructions(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 19)) || !(c & (1u << 9)))
        return false; /* SSE4.1, SSSE3 */
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & (1u << 29));
}

/* Four rounds: abcd and the e of the rounds before give the next; msg words are scheduled three steps ahead.
 */
#define QUAD(e_new, e_old, m0, m1, m2, m3, f)                                                                \
    do {                                                                                                     \
        e_new = _mm_sha1nexte_epu32(e_new, m0);                                                              \
        e_old = abcd;                                                                                        \
        m1 = _mm_sha1msg2_epu32(m1, m0);                                                                     \
        abcd = _mm_sha1rnds4_epu32(abcd, e_new, f);                                                          \
        m3 = _mm_sha1msg1_epu32(m3, m0);                                                                     \
        m2 = _mm_xor_si128(m2, m0);                                                                          \
    } while (0)

__attribute__((target("sha,sse4.1,ssse3"))) static void compress_sha(uint32_t h[5], const unsigned char *p,
                                                                     size_t blocks)
{
    const __m128i turn = _mm_set_epi64x(0x0001020304050607ll, 0x08090a0b0c0d0e0fll);
    __m128i abcd = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)h), 0x1b);
    __m128i e0 = _mm_set_epi32((int)h[4], 0, 0, 0), e1;
    for (; blocks; blocks--, p += 64) {
        const __m128i *in = (const __m128i *)(const void *)p;
        __m128i abcd0 = abcd, e00 = e0;
        __m128i m0 = _mm_shuffle_epi8(_mm_loadu_si128(in), turn),
                m1 = _mm_shuffle_epi8(_mm_loadu_si128(in + 1), turn),
                m2 = _mm_shuffle_epi8(_mm_loadu_si128(in + 2), turn),
                m3 = _mm_shuffle_epi8(_mm_loadu_si128(in + 3), turn);
        e0 = _mm_add_epi32(e0, m0); /* rounds 0 to 3 */
        e1 = abcd;
        abcd = _mm_sha1rnds4_epu32(abcd, e0, 0);
        e1 = _mm_sha1nexte_epu32(e1, m1); /* 4 to 7 */
        e0 = abcd;
        abcd = _mm_sha1rnds4_epu32(abcd, e1, 0);
        m0 = _mm_sha1msg1_epu32(m0, m1);
        e0 = _mm_sha1nexte_epu32(e0, m2); /* 8 to 11 */
        e1 = abcd;
        abcd = _mm_sha1rnds4_epu32(abcd, e0, 0);
        m1 = _mm_sha1msg1_epu32(m1, m2);
        m0 = _mm_xor_si128(m0, m2);
        QUAD(e1, e0, m3, m0, m1, m2, 0); /* 12 to 15 */
        QUAD(e0, e1, m0, m1, m2, m3, 0);
        QUAD(e1, e0, m1, m2, m3, m0, 1); /* 20 */
        QUAD(e0, e1, m2, m3, m0, m1, 1);
        QUAD(e1, e0, m3, m0, m1, m2, 1);
        QUAD(e0, e1, m0, m1, m2, m3, 1);
        QUAD(e1, e0, m1, m2, m3, m0, 1);
        QUAD(e0, e1, m2, m3, m0, m1, 2); /* 40 */
        QUAD(e1, e0, m3, m0, m1, m2, 2);
        QUAD(e0, e1, m0, m1, m2, m3, 2);
        QUAD(e1, e0, m1, m2, m3, m0, 2);
        QUAD(e0, e1, m2, m3, m0, m1, 2);
        QUAD(e1, e0, m3, m0, m1, m2, 3); /* 60 */
        QUAD(e0, e1, m0, m1, m2, m3, 3);
        QUAD(e1, e0, m1, m2, m3, m0, 3);
        QUAD(e0, e1, m2, m3, m0, m1, 3);
        QUAD(e1, e0, m3, m0, m1, m2, 3); /* 76 to 79 */
        e0 = _mm_sha1nexte_epu32(e0, e00);
        abcd = _mm_add_epi32(abcd, abcd0);
    }
    _mm_storeu_si128((__m128i *)(void *)h, _mm_shuffle_epi32(abcd, 0x1b));
    h[4] = (uint32_t)_mm_extract_epi32(e0, 3);
}
#else
bool jm_sha_instructions(void)
{
    return false;
}
static void compress_sha(uint32_t h[5], const unsigned char *p, size_t blocks)
{
    for (; blocks; blocks--, p += 64)
        compress(h, p);
}
#endif

static void compress_all(struct jm_sha1 *s, const unsigned char *p, size_t blocks)
{
    if (s->fast)
        compress_sha(s->h, p, blocks);
    else
        for (; blocks; blocks--, p += sizeof s->block)
            compress(s->h, p);
}

void jm_sha1_init(struct jm_sha1 *s)
{
    *s = (struct jm_sha1){.h = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}};
    s->fast = jm_sha_instructions();
}

void jm_sha1_add(struct jm_sha1 *s, const void *data, size_t n)
{
    const unsigned char *p = data;
    size_t have = s->n % sizeof s->block;
    s->n += n;
    if (have) {
        size_t take = sizeof s->block - have < n ? sizeof s->block - have : n;
        if (take)
            memcpy(s->block + have, p, take);
        p += take;
        n -= take;
        if (have + take < sizeof s->block)
            return;
        compress_all(s, s->block, 1);
    }
    if (n >= sizeof s->block)
        compress_all(s, p, n / sizeof s->block);
    if (n % sizeof s->block)
        memcpy(s->block, p + (n - n % sizeof s->block), n % sizeof s->block);
}

void jm_sha1_done(struct jm_sha1 *s, char out[JM_SHA1_HEX])
{
    static const unsigned char pad[64] = {0x80};
    static const char digits[] = "0123456789abcdef";
    uint64_t bits = s->n * 8;
    unsigned char len[8];
    for (int i = 0; i < 8; i++)
        len[i] = (unsigned char)(bits >> (56 - 8 * i));
    jm_sha1_add(s, pad, 1 + (119 - s->n % 64) % 64);
    jm_sha1_add(s, len, sizeof len);
    for (int i = 0; i < 20; i++) {
        unsigned v = s->h[i / 4] >> (24 - 8 * (i % 4)) & 0xff;
        out[2 * i] = digits[v >> 4];
        out[2 * i + 1] = digits[v & 15];
    }
    out[40] = '\0';
}

int jm_file_sha1(const char *path, char out[JM_SHA1_HEX], struct jm_err *err)
{
    struct jm_sha1 s;
    char buf[16384];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return jm_err_sys(err, errno, "cannot open %s", path);
    jm_sha1_init(&s);
    for (;;) {
        ssize_t got = read(fd, buf, sizeof buf);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int e = errno;
            close(fd);
            return jm_err_sys(err, e, "cannot read %s", path);
        }
        if (!got)
            break;
        jm_sha1_add(&s, buf, (size_t)got);
    }
    close(fd);
    jm_sha1_done(&s, out);
    return 0;
}
