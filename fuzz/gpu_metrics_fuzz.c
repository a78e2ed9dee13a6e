/* SPDX-License-Identifier: Apache-2.0 */
/* amdgpu's binary gpu_metrics: any bytes, cut at any place. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/gpu_metrics.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_gpu_metrics m;
    struct jm_err err = {0};
    char *exact =
        malloc(n ? n : 1); /* its end is the end of the allocation, so that a byte too many is seen */
    if (!exact)
        return 0;
    memcpy(exact, p, n);
    int rc = jm_gpu_metrics_parse((struct jm_span){exact, n}, &m, &err);
    free(exact);
    if (rc == 0 && (m.size > n || (m.has_energy && m.energy == UINT64_MAX) || (m.apu && m.has_energy)))
        abort();
    if (rc && (m.has_power || m.has_energy || !err.text[0]))
        abort();
    return 0;
}
