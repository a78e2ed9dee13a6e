/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/option.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static int (*const parsers[])(struct jm_span, double *, struct jm_err *) = {
        jm_quantity_rate, jm_quantity_power, jm_quantity_energy};
    struct jm_span s = {(const char *)p, n};
    struct jm_err err = {0};
    int64_t i = 1;
    double d = 1;
    if (!jm_quantity_duration(s, &i, &err) && i < 0)
        abort();
    for (int k = 0; k < 3; k++)
        if (!parsers[k](s, &d, &err) && (!isfinite(d) || d < 0))
            abort();
    if (!jm_num_double(s, &d) && !isfinite(d))
        abort();
    jm_num_i64(s, &i);
    for (int scale = -12; scale <= 3; scale += 3)
        jm_num_fixed(s, scale, &i);
    if (!jm_time_parse_rfc3339(s, &i, &err)) {
        char buf[JM_RFC3339_SIZE];
        int64_t again = 0;
        if (jm_time_parse_rfc3339(jm_span_of(jm_time_rfc3339(i, buf)), &again, &err) || again != i)
            abort();
    }
    return 0;
}
