/* SPDX-License-Identifier: Apache-2.0 */
/* client.json and server.json of an MLPerf session. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mlperf/parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_mlperf_arena *a = jm_mlperf_arena_new();
    struct jm_mlperf_side s;
    if (!a)
        return 0;
    if (jm_mlperf_side_read((struct jm_span){(const char *)p, n}, a, &s) == 0) {
        size_t used = 0;
        for (int m = 0; m < JM_MLPERF_MODES; m++)
            if (s.n_phase[m] < 0 || s.n_phase[m] > 8)
                abort();
        for (size_t i = 0; i < s.n_messages; i++)
            used += strlen(s.messages[i].cmd) + strlen(s.messages[i].reply);
        for (size_t i = 0; i < s.n_results; i++)
            used += strlen(s.results[i].path) + strlen(s.results[i].sha1);
        for (size_t i = 0; i < s.n_ptd; i++)
            used += strlen(s.ptd[i].cmd);
        if (used > 6 * n + 1)
            abort();
    }
    jm_mlperf_arena_free(a);
    return 0;
}
