/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of requests: [1 byte: hashes at the end, in 32 bytes] [bytes]. */
#include <stdlib.h>

#include "run/details.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n < 2)
        return 0;
    size_t tail = (size_t)p[0] * 32 < n - 1 ? (size_t)p[0] * 32 : 0;
    struct jm_span plain = {(const char *)p + 1, n - 1 - tail}, hashes = {(const char *)p + n - tail, tail};
    size_t count = jm_details_count(plain);
    struct jm_request *q = count ? malloc(count * sizeof *q) : NULL, row;
    if (q && jm_details_decode(plain, hashes, q, count, NULL) == 0)
        for (size_t i = 0; i < count; i++) {
            jm_request_init(&row);
            jm_details_join(&row, &q[i]);
        }
    free(q);
    return 0;
}
