/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>

#include "wire/spl.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_span rest = {(const char *)p, n}, line;
    struct jm_spl_row row;
    struct jm_err err;
    int64_t uw;
    while (jm_span_line(&rest, &line))
        if (jm_spl_parse(line, &row, &err) == 0)
            jm_spl_decode_watts(&row.sum, &uw);
    return 0;
}
