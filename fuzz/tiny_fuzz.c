/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a Tiny energy run. First byte: 'b' the trace, 't' the timestamps, 'j' results.json, else lines of
 * log and results. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "import/mlperf_tiny.h"
#include "wire/tiny_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static int on_trial(void *self, const struct jm_tiny_trial *t, struct jm_err *err)
{
    int64_t *next = self;
    (void)err;
    *next = 0;
    if (t->number < 0 || t->start < 0 || t->stop < 0)
        abort();
    return 0;
}

static int on_sample(void *self, int64_t i, double uj)
{
    int64_t *next = self;
    (void)uj;
    if (i != (*next)++)
        abort();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n < 1)
        return 0;
    struct jm_span all = {(const char *)p + 1, n - 1}, line;
    struct jm_err err;
    if (p[0] == 'b') {
        double rate;
        if (jm_tiny_head(all, &rate, &err) == 0) {
            if (!(rate > 0))
                abort();
            for (size_t at = JM_TINY_HEAD; at + 4 <= all.n; at += 4)
                if (isinf(jm_tiny_sample(all.p + at)))
                    abort();
        }
    } else if (p[0] == 't') {
        double edge[64];
        size_t k;
        jm_tiny_times(all, edge, 64, &k, &err);
        if (k > 64)
            abort();
        for (size_t i = 1; i < k; i++)
            if (edge[i] < edge[i - 1])
                abort();
    } else if (p[0] == 'j') {
        int64_t next = 0;
        jm_tiny_trials_in(all, on_trial, on_sample, &next, &err);
    } else {
        while (jm_span_line(&all, &line)) {
            struct jm_tiny_said said;
            jm_tiny_line(line, &said);
            if (said.text.n && (said.text.p < line.p || said.text.p + said.text.n > line.p + line.n))
                abort();
        }
    }
    return 0;
}
