/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/phase_start.h"

#include <math.h>
#include <stdbool.h>

#include "base/banned.h"

#define NEAR_S 5.0 /* texts on either side that a rate is taken of */

/* Texts around t, as far as half of them have something to say. */
static bool around(const struct jm_phase_engine *e, double t, size_t *from, size_t *to)
{
    size_t lo = 0, hi = e->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (e->t[mid] < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (e->n < 2)
        return false;
    *from = *to = lo < e->n ? lo : e->n - 1;
    while (*from > 0 && e->t[*from] > t - NEAR_S)
        --*from;
    while (*to + 1 < e->n && e->t[*to] < t + NEAR_S)
        ++*to;
    return *to > *from;
}

double jm_phase_start(const struct jm_phase_engine *e, double sent, double first, double tokens)
{
    size_t a, b;
    double start = sent;
    if (e->prefill_s && e->prompt && around(e, first, &a, &b)) {
        double s = e->prefill_s[b] - e->prefill_s[a], n = e->prompt[b] - e->prompt[a];
        if (s > 0 && n > 0)
            start = first - s / n * tokens;
    }
    return fmin(first, fmax(sent, start));
}
