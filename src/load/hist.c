/* SPDX-License-Identifier: Apache-2.0 */
#include "load/hist.h"

#include <math.h>

#include "base/clock.h"
#include "base/banned.h"

/* 0..7 one by one, then eight bins a power of two. */
static unsigned bin_of(int64_t v)
{
    if (v < 8)
        return v < 0 ? 0 : (unsigned)v;
    unsigned e = 63u - (unsigned)__builtin_clzll((uint64_t)v);
    unsigned b = (e - 2) * 8 + (unsigned)((uint64_t)v >> (e - 3) & 7);
    return b < JM_HIST_BINS ? b : JM_HIST_BINS - 1;
}

static double middle_of(unsigned b)
{
    return b < 8 ? b : ldexp(8.5 + b % 8, (int)(b / 8) - 1);
}

void jm_hist_add(struct jm_hist *h, int64_t v)
{
    atomic_fetch_add_explicit(&h->n[bin_of(v)], 1, memory_order_relaxed);
}

void jm_hist_sum(const struct jm_hist *h, uint64_t sum[JM_HIST_BINS])
{
    for (unsigned i = 0; i < JM_HIST_BINS; i++)
        sum[i] += atomic_load_explicit(&h->n[i], memory_order_relaxed);
}

double jm_hist_quantile(const uint64_t sum[JM_HIST_BINS], double q)
{
    uint64_t all = 0, below = 0;
    for (unsigned i = 0; i < JM_HIST_BINS; i++)
        all += sum[i];
    if (!all)
        return NAN;
    for (unsigned i = 0; i < JM_HIST_BINS; i++) {
        below += sum[i];
        if (sum[i] && (double)below >= q * (double)all)
            return middle_of(i);
    }
    return middle_of(JM_HIST_BINS - 1);
}

void jm_recent_add(struct jm_recent *r, int64_t now, int64_t v)
{
    int64_t s = now / JM_NS_PER_S;
    unsigned k = (unsigned)(s % (JM_RECENT_S + 1));
    if (atomic_load_explicit(&r->second[k], memory_order_relaxed) != s) {
        for (unsigned i = 0; i < JM_HIST_BINS; i++)
            atomic_store_explicit(&r->h[k].n[i], 0, memory_order_relaxed);
        atomic_store_explicit(&r->second[k], s, memory_order_relaxed);
    }
    jm_hist_add(&r->h[k], v);
}

void jm_recent_sum(const struct jm_recent *r, int64_t now, uint64_t sum[JM_HIST_BINS])
{
    int64_t s = now / JM_NS_PER_S;
    for (unsigned k = 0; k <= JM_RECENT_S; k++) {
        int64_t at = atomic_load_explicit(&r->second[k], memory_order_relaxed);
        if (at > s - JM_RECENT_S && at <= s)
            jm_hist_sum(&r->h[k], sum);
    }
}
