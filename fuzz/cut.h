/* SPDX-License-Identifier: Apache-2.0 */
/* A parser that is fed piecewise must read the same however its input is cut. */
#ifndef JM_FUZZ_CUT_H
#define JM_FUZZ_CUT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"

struct cut {
    int whole, pieces; /* what the feeds returned */
    bool same;         /* both wrote the same */
};

/* Feeds all but the first byte at once, and again in pieces of as many bytes as the first one says. feed
 * writes what it reads to out. n >= 1. */
static inline struct cut cut(int (*feed)(const uint8_t *p, size_t n, size_t step, struct jm_str *out),
                             const uint8_t *p, size_t n)
{
    struct jm_str whole, pieces;
    jm_str_init(&whole);
    jm_str_init(&pieces);
    struct cut c = {.whole = feed(p + 1, n - 1, n, &whole),
                    .pieces = feed(p + 1, n - 1, p[0] % 16 + 1, &pieces)};
    c.same = whole.len == pieces.len && memcmp(whole.buf, pieces.buf, pieces.len) == 0;
    jm_str_release(&whole);
    jm_str_release(&pieces);
    return c;
}

#endif
