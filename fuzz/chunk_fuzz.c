/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of readings: [1 byte: how to encode again] [bytes]. Whatever decodes must encode to something that
 * decodes to the same. */
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
    /* bit 0: encode again as doubles */
    struct jm_span plain = {(const char *)p + 1, n - 1};
    int times = 0;
    size_t count = jm_chunk_count(plain, &times);
    struct jm_reading *a = count ? calloc(3 * count, sizeof *a) : NULL, *ref = a ? a + 2 * count : NULL;
    for (size_t i = 0; a && i < count; i++)
        ref[i].t1 = ref[i].t0 = (int64_t)(i * 100000000);
    if (times == JM_TIMES_OWN)
        ref = NULL;
    if (a && jm_chunk_decode(plain, ref, 3, a, count, NULL) == 0) {
        struct jm_str s;
        jm_str_init(&s);
        if (jm_chunk_encode(a, count, (enum jm_chunk_times)times, ref, p[0] & 1, &s, NULL) ||
            jm_chunk_decode(jm_str_span(&s), ref, 3, a + count, count, NULL))
            abort();
        same(a, a + count, count);
        jm_str_release(&s);
    }
    free(a);
    return 0;
}
