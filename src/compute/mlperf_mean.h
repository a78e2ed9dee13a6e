/* SPDX-License-Identifier: Apache-2.0 */
/* The mean power that MLPerf publishes: the plain arithmetic mean of the samples with t_begin < t < t_end
 * (both strict), summed in file order in double precision, without any weighting by time. Source: MLCommons
 * inference, tools/submission (get_power_metric), v1.0 to v5.1. */
#ifndef JM_COMPUTE_MLPERF_MEAN_H
#define JM_COMPUTE_MLPERF_MEAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/channel.h"

struct jm_mlperf_mean {
    double watts;    /* NAN: no sample in the window */
    int64_t n;       /* samples in the mean */
    int64_t dropped; /* samples inside the window that are <= 0 and were left out */
};

/* drop_nonpositive: the rule from v3.1 on. Readings are taken as they are, sentinels included. */
void jm_mlperf_mean(const struct jm_channel *c, const struct jm_reading *r, size_t n, int64_t t_begin,
                    int64_t t_end, bool drop_nonpositive, struct jm_mlperf_mean *out);

#endif
