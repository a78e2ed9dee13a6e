/* SPDX-License-Identifier: Apache-2.0 */
/* Two texts, parted by a NUL: read by whatever dialect they look like, and what lies between them. An excerpt
 * must say the same of counters and gauges as the text that it was cut from. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/telemetry.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void compare(const struct jm_engine_reading *r, struct jm_span text)
{
    struct jm_engine_reading cut;
    struct jm_str out;
    struct jm_engine_step a, b;
    struct jm_err err;
    static const struct jm_engine_reading none = {.start_time = NAN};
    struct jm_engine_reading zero = none;
    jm_str_init(&out);
    jm_engine_reading_init(&cut);
    if (jm_engine_excerpt(r->dialect, text, &out, &err) ||
        jm_engine_read(&cut, r->dialect, jm_str_span(&out), &err))
        abort();
    zero.dialect = r->dialect;
    jm_engine_step(&zero, r, &a);
    jm_engine_step(&zero, &cut, &b);
    for (int q = 0; q < JM_EQ_COUNTERS; q++)
        if (a.have[q] && !b.have[q])
            abort();
    jm_engine_reading_release(&cut);
    jm_str_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    const uint8_t *cut = n ? memchr(p, 0, n) : NULL;
    size_t k = cut ? (size_t)(cut - p) : n;
    struct jm_span one = {(const char *)p, k}, two = {(const char *)p + k, n - k};
    struct jm_engine_reading a, b;
    struct jm_engine_step step;
    struct jm_engine_hist h;
    struct jm_str out;
    struct jm_err err;
    double lo, hi;
    if (two.n)
        two = jm_span_sub(two, 1, two.n);
    jm_engine_reading_init(&a);
    jm_engine_reading_init(&b);
    if (jm_engine_read(&a, NULL, one, &err) == 0 && jm_engine_read(&b, a.dialect, two, &err) == 0) {
        jm_engine_step(&a, &b, &step);
        for (int q = 0; q < JM_EQ_COUNTERS; q++)
            if (step.have[q] && step.d[q] < 0)
                abort();
        for (int q = JM_EQ_GAUGES; q < JM_EQ_COUNT; q++)
            if (jm_engine_hist(&a, &b, (enum jm_eq)q, &h))
                jm_engine_hist_quantile(&h, 0.9, &lo, &hi);
        if (a.dialect && !a.absent[0] && !a.excerpt)
            compare(&a, one);
    }
    jm_engine_reading_release(&a);
    jm_engine_reading_release(&b);
    jm_str_init(&out);
    jm_engine_slots(one, &out, &err);
    jm_str_release(&out);
    return 0;
}
