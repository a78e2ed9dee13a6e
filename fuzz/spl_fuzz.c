/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "wire/spl.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_span rest = {(const char *)p, n}, line;
    struct jm_spl_row row;
    struct jm_err err;
    int64_t uw, ns;
    while (jm_span_line(&rest, &line)) {
        jm_spl_time_swapped(line);
        if (jm_spl_time(line, &ns) == 0 && ns < 0)
            abort();
        if (jm_spl_parse(line, &row, &err) != 0)
            continue;
        jm_spl_decode_watts(&row.sum, &uw);
        if (row.n_channels < 0 || row.n_channels > JM_SPL_CHANNELS || (row.analyzers && !row.n_channels))
            abort();
        if (row.kind == JM_SPL_GOOD && row.decoded_uw != row.sum.watts)
            abort();
        if ((row.kind == JM_SPL_GOOD || row.kind == JM_SPL_OVER_RANGE) && row.decoded_uw < 0)
            abort();
    }
    return 0;
}
