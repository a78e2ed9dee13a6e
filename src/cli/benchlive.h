/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line of bench: rates, latency and power of the last half minute. Nothing of it is a result;
 * what is counted from the run file afterwards is. Pure but for its own memory. */
#ifndef JM_CLI_BENCHLIVE_H
#define JM_CLI_BENCHLIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "load/load.h"

enum { JM_LIVE_SAMPLES = 64 };

struct jm_live_sample {
    int64_t t;
    double joules; /* since the first sample; NAN: there was a time without power */
    int64_t finished, failed, known, events, uncounted;
};

struct jm_bench_live {
    struct jm_live_sample ring[JM_LIVE_SAMPLES]; /* two a second */
    size_t n, at;                                /* at: of the latest */
    int64_t seen;
    double watts, joules;
    size_t meters, meters_most; /* that answer now, and at best */
};

void jm_bench_live_init(struct jm_bench_live *v);
/* watts: NAN where nothing is metered; meters: how many answer. */
void jm_bench_live_add(struct jm_bench_live *v, int64_t now, const struct jm_load_live *l, double watts,
                       size_t meters);

/* One line of at most `columns` columns (without escapes): what matters less is left out where it does not
 * fit. left_s: time to the end of the phase, NAN: not known. */
void jm_bench_live_line(const struct jm_bench_live *v, const struct jm_load_live *l, const char *phase,
                        double left_s, int columns, bool color, struct jm_str *out);
/* The same as a sentence for a log. */
void jm_bench_live_log(const struct jm_bench_live *v, const struct jm_load_live *l, const char *phase,
                       double done_s, double of_s, struct jm_str *out);

#endif
