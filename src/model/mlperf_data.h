/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_limits.tsv, built in. */
#ifndef JM_MODEL_MLPERF_DATA_H
#define JM_MODEL_MLPERF_DATA_H

#include <stddef.h>

extern const unsigned char jm_mlperf_limits_tsv[];
extern const size_t jm_mlperf_limits_tsv_len;

#endif
