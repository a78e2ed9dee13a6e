/* SPDX-License-Identifier: Apache-2.0 */
/* Integers in as few bytes as they need. */
#ifndef JM_BASE_VARINT_H
#define JM_BASE_VARINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "base/str.h"

/* Little-endian base-128 integers. */
void jm_varint_put(struct jm_str *s, uint64_t v);
bool jm_varint_get_long(struct jm_span *s, uint64_t *v); /* of any length */
/* False at the end of the bytes or when the integer has more than 64 bits. Nearly all have one byte or two.
 */
static inline bool jm_varint_get(struct jm_span *s, uint64_t *v)
{
    const unsigned char *p = (const unsigned char *)s->p;
    size_t n = !s->n ? 0 : p[0] < 128 ? 1 : s->n > 1 && p[1] < 128 ? 2 : 0;
    if (!n)
        return jm_varint_get_long(s, v);
    *v = n == 1 ? p[0] : (uint64_t)(p[0] & 127) | (uint64_t)p[1] << 7;
    s->p += n;
    s->n -= n;
    return true;
}
static inline uint64_t jm_zigzag(uint64_t delta) /* delta: difference modulo 2^64 */
{
    return (delta << 1) ^ (0 - (delta >> 63));
}
static inline uint64_t jm_unzigzag(uint64_t z)
{
    return (z >> 1) ^ (0 - (z & 1));
}

#endif
