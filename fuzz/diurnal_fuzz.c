/* SPDX-License-Identifier: Apache-2.0 */
/* Load curves. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "wire/diurnal.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_diurnal d;
    struct jm_err err = {0};
    int rc = jm_diurnal_read((struct jm_span){(const char *)p, n}, &d, &err);
    if (rc && (d.load || !err.text[0]))
        abort();
    if (!rc && (d.n < 2 || !((double)d.n * d.hours > 23.9)))
        abort();
    for (size_t i = 0; !rc && i < d.n; i++)
        if (!(d.load[i] >= 0) || !isfinite(d.load[i]))
            abort();
    jm_diurnal_release(&d);
    return 0;
}
