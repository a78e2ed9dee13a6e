/* SPDX-License-Identifier: Apache-2.0 */
/* A histogram with bins of about 9 %: one writer, any number of readers. */
#ifndef JM_LOAD_HIST_H
#define JM_LOAD_HIST_H

#include <stdatomic.h>
#include <stdint.h>

#define JM_HIST_BINS 320

struct jm_hist {
    _Atomic uint32_t n[JM_HIST_BINS];
};

void jm_hist_add(struct jm_hist *h, int64_t v); /* negative counts as 0 */
/* Adds h to sum (plain counts). */
void jm_hist_sum(const struct jm_hist *h, uint64_t sum[JM_HIST_BINS]);
/* The value below which a share q lies; NAN of an empty one. */
double jm_hist_quantile(const uint64_t sum[JM_HIST_BINS], double q);

/* The same over the last ten seconds. */
#define JM_RECENT_S 10
struct jm_recent {
    _Atomic int64_t second[JM_RECENT_S + 1];
    struct jm_hist h[JM_RECENT_S + 1];
};
void jm_recent_add(struct jm_recent *r, int64_t now_ns, int64_t v);
void jm_recent_sum(const struct jm_recent *r, int64_t now_ns, uint64_t sum[JM_HIST_BINS]);

#endif
