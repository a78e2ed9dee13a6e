/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_scenarios.tsv, built in. */
#ifndef JM_LOAD_MLPERF_DATA_H
#define JM_LOAD_MLPERF_DATA_H

#include <stddef.h>

extern const unsigned char jm_mlperf_tsv[];
extern const size_t jm_mlperf_tsv_len;

#endif
