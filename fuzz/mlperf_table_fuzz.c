/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of published results, CSV (first byte odd) and JSON; then a place is looked for in them. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "mlperf/round_reported.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_reported t = {0};
    struct jm_err err;
    if (!n)
        return 0;
    struct jm_span text = {(const char *)p + 1, n - 1};
    struct jm_round_row *r = jm_round_row_new();
    if (!r)
        abort();
    jm_reported_text(&t, "table", text, p[0] & 1, (p[0] & 2) ? "/r" : NULL, &err);
    if (!jm_round_set(&r->place, "/r/closed/A/results/box/resnet50/Offline"))
        abort();
    r->metric = 500;
    r->metric_unit[0] = 'W';
    if (jm_reported_match(&t, r, &err) || (t.n > JM_REPORTED_ROWS) ||
        (!isnan(r->reported) && !r->reported_from))
        abort();
    jm_reported_release(&t);
    jm_round_row_free(r);
    return 0;
}
