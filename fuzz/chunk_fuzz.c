/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of readings: [mode] [bytes]. Whatever decodes must encode to something that decodes to the same. */
#include <stdlib.h>
#include <string.h>

#include "run/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void same(const struct jm_reading *a, const struct jm_reading *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i].t0 != b[i].t0 || a[i].t1 != b[i].t1 || a[i].value != b[i].value ||
            a[i].status != b[i].status || a[i].flags != b[i].flags)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n < 2)
        return 0;
    /* bit 0: the second half is the chunk with the time column; bit 1: encode again as doubles */
    size_t half = p[0] & 1 ? 1 + (n - 1) / 2 : n;
    struct jm_span plain = {(const char *)p + 1, half - 1},
                   times = {p[0] & 1 ? (const char *)p + half : NULL, n - half};
    size_t count = jm_chunk_count(plain);
    struct jm_reading *a = count ? calloc(2 * count, sizeof *a) : NULL;
    if (a && jm_chunk_decode(plain, times, 3, a, count, NULL) == 0) {
        struct jm_str s;
        jm_str_init(&s);
        if (jm_chunk_encode(a, count, true, p[0] & 2, &s, NULL) ||
            jm_chunk_decode(jm_str_span(&s), (struct jm_span){0}, 3, a + count, count, NULL))
            abort();
        same(a, a + count, count);
        jm_str_release(&s);
    }
    free(a);
    return 0;
}
