/* SPDX-License-Identifier: Apache-2.0 */
#include "model/farclock.h"

#include <math.h>

#include "base/clock.h"
#include "base/stats.h"

#include "base/banned.h"

#define FIT_NS (10 * JM_NS_PER_S)

void jm_far_clock_init(struct jm_far_clock *c, int64_t drift_ppm)
{
    c->n = c->skipped = 0;
    c->every = 1;
    c->drift_ppm = drift_ppm > 0 ? drift_ppm : 500;
}

/* Full: the wider one of each pair goes, so that the span of time stays. */
static void thin(struct jm_far_clock *c)
{
    for (size_t i = 0; i < c->n / 2; i++)
        c->look[i] = c->look[c->look[2 * i].bound <= c->look[2 * i + 1].bound ? 2 * i : 2 * i + 1];
    c->n /= 2;
    c->every *= 2;
}

bool jm_far_clock_look(struct jm_far_clock *c, int64_t t0, int64_t t1, int64_t far_ns, int64_t resolution_ns)
{
    struct jm_far_look x;
    int64_t res = resolution_ns > 0 ? resolution_ns : 0, trip, mid;
    if (t1 < t0 || __builtin_sub_overflow(t1, t0, &trip))
        return false;
    mid = t0 + trip / 2;
    if (__builtin_sub_overflow(far_ns, mid, &x.offset) ||
        __builtin_add_overflow(x.offset, res / 2, &x.offset))
        return false;
    x.at = mid;
    x.bound = (trip + 1) / 2 + (res + 1) / 2;
    struct jm_far_look *last = c->n ? &c->look[c->n - 1] : NULL;
    if (last && ++c->skipped < c->every) {
        if (x.bound < last->bound)
            *last = x;
        return true;
    }
    c->skipped = 0;
    if (c->n == JM_FAR_LOOKS)
        thin(c);
    c->look[c->n++] = x;
    return true;
}

static int64_t apart(int64_t a, int64_t b)
{
    int64_t d;
    return __builtin_sub_overflow(a, b, &d) ? INT64_MAX : d < 0 ? -d : d;
}

static int64_t widened(const struct jm_far_clock *c, const struct jm_far_look *x, int64_t mono)
{
    double w = (double)x->bound + (double)apart(x->at, mono) * 1e-6 * (double)c->drift_ppm;
    return w < 4e18 ? (int64_t)ceil(w) : INT64_MAX / 2;
}

static void fit(const struct jm_far_clock *c, struct jm_far_offset *out)
{
    double x[JM_FAR_LOOKS], y[JM_FAR_LOOKS], w[JM_FAR_LOOKS];
    struct jm_fit f;
    out->drift_ppm = out->drift_se = NAN;
    if (c->n < 3 || apart(c->look[c->n - 1].at, c->look[0].at) < FIT_NS || out->stepped)
        return;
    for (size_t i = 0; i < c->n; i++) {
        double h = (double)c->look[i].bound + 1e3;
        x[i] = (double)(c->look[i].at - c->look[0].at) / 1e9;
        y[i] = (double)(c->look[i].offset - c->look[0].offset) / 1e9;
        w[i] = 1 / (h * h) * 1e18;
    }
    if (jm_stats_line(x, y, w, c->n, &f, NULL))
        return;
    out->drift_ppm = f.b * 1e6;
    out->drift_se = f.se_b * 1e6;
}

bool jm_far_clock_at(const struct jm_far_clock *c, int64_t mono, struct jm_far_offset *out)
{
    int64_t lo = INT64_MIN, hi = INT64_MAX;
    size_t near = 0;
    *out = (struct jm_far_offset){0};
    if (!c->n)
        return false;
    for (size_t i = 0; i < c->n; i++) {
        int64_t w = widened(c, &c->look[i], mono), a, b;
        if (__builtin_sub_overflow(c->look[i].offset, w, &a))
            a = INT64_MIN;
        if (__builtin_add_overflow(c->look[i].offset, w, &b))
            b = INT64_MAX;
        lo = a > lo ? a : lo;
        hi = b < hi ? b : hi;
        if (w < widened(c, &c->look[near], mono))
            near = i;
    }
    out->stepped = lo > hi;
    if (out->stepped) { /* only what is nearest speaks for this moment */
        near = 0;
        for (size_t i = 1; i < c->n; i++)
            if (apart(c->look[i].at, mono) < apart(c->look[near].at, mono))
                near = i;
        out->offset = c->look[near].offset;
        out->bound = widened(c, &c->look[near], mono);
    } else {
        out->offset = lo + (hi - lo) / 2;
        out->bound = (hi - lo + 1) / 2;
    }
    fit(c, out);
    return true;
}
