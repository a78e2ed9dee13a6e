/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/mlperf_mean.h"

#include <math.h>

#include "base/banned.h"

void jm_mlperf_mean(const struct jm_channel *c, const struct jm_reading *r, size_t n, int64_t t_begin,
                    int64_t t_end, bool drop_nonpositive, struct jm_mlperf_mean *out)
{
    double sum = 0;
    *out = (struct jm_mlperf_mean){.watts = NAN};
    for (size_t i = 0; i < n; i++) {
        if (r[i].t0 <= t_begin || r[i].t0 >= t_end)
            continue;
        double w = jm_channel_value(c, r[i].value);
        if (drop_nonpositive && !(w > 0)) {
            out->dropped++;
            continue;
        }
        sum += w;
        out->n++;
    }
    if (out->n)
        out->watts = sum / (double)out->n;
}
