/* SPDX-License-Identifier: Apache-2.0 */
#include "base/varint.h"

#include "base/banned.h"

void jm_varint_put(struct jm_str *s, uint64_t v)
{
    char b[10];
    size_t n = 0;
    for (; v > 127; v >>= 7)
        b[n++] = (char)(v | 128);
    b[n++] = (char)v;
    jm_str_add(s, b, n);
}

bool jm_varint_get_long(struct jm_span *s, uint64_t *v)
{
    uint64_t x = 0;
    for (unsigned i = 0; i < 10 && i < s->n; i++) {
        unsigned char c = (unsigned char)s->p[i];
        if (i == 9 && c > 1)
            return false;
        x |= (uint64_t)(c & 127) << (7 * i);
        if (c < 128) {
            s->p += i + 1;
            s->n -= i + 1;
            *v = x;
            return true;
        }
    }
    return false;
}
