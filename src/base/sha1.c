/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-1, FIPS 180-4 section 6.1: the sum that MLPerf power sessions name their files by. It proves no
 * authorship; only that a file is the one that was meant. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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

void jm_sha1_init(struct jm_sha1 *s)
{
    *s = (struct jm_sha1){.h = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}};
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
        compress(s->h, s->block);
    }
    for (; n >= sizeof s->block; p += sizeof s->block, n -= sizeof s->block)
        compress(s->h, p);
    if (n)
        memcpy(s->block, p, n);
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
