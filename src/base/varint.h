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
/* False at the end of the bytes or when the integer has more than 64 bits. */
bool jm_varint_get(struct jm_span *s, uint64_t *v);
static inline uint64_t jm_zigzag(uint64_t delta) /* delta: difference modulo 2^64 */
{
    return (delta << 1) ^ (0 - (delta >> 63));
}
static inline uint64_t jm_unzigzag(uint64_t z)
{
    return (z >> 1) ^ (0 - (z & 1));
}

#endif
