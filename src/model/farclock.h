/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of another machine (BMC, PDU, analyzer, a second host) as seen from here: each exchange says what
 * it showed between two moments of our monotonic clock. Its offset is then known by the middle of the request
 * with half of the round trip as bound; the narrowest exchanges count most, and those further away are
 * worth less by what a clock may drift meanwhile. */
#ifndef JM_MODEL_FARCLOCK_H
#define JM_MODEL_FARCLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JM_FAR_LOOKS 128

struct jm_far_look {
    int64_t at;            /* middle of the request, mono ns */
    int64_t offset, bound; /* far - mono lies in offset +- bound, ns */
};

struct jm_far_clock {
    struct jm_far_look look[JM_FAR_LOOKS];
    size_t n;
    size_t every, skipped; /* one of so many is kept: the memory is bounded and spans the run */
    int64_t drift_ppm;     /* most that the two clocks part by */
};

struct jm_far_offset {
    int64_t offset, bound;      /* far = mono + offset, +- bound, ns */
    double drift_ppm, drift_se; /* fitted over the looks; NAN with fewer than three or within 10 s */
    bool stepped; /* no steady clock shows all this: it was set meanwhile; the bound is that of the next looks
                   */
};

/* drift_ppm: 0 takes 500, what a kernel allows its own clock. */
void jm_far_clock_init(struct jm_far_clock *c, int64_t drift_ppm);
/* t0, t1: mono ns before and after the request. far_ns: what the clock showed; it counts in steps of
 * resolution_ns and cuts off what is less (a stamp in seconds: 1e9). False: the times are out of order. */
bool jm_far_clock_look(struct jm_far_clock *c, int64_t t0, int64_t t1, int64_t far_ns, int64_t resolution_ns);
/* The offset at a moment of our clock. False: nothing is known. */
bool jm_far_clock_at(const struct jm_far_clock *c, int64_t mono, struct jm_far_offset *out);

#endif
