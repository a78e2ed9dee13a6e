/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the room, built in. */
#ifndef JM_MLPERF_TABLES_H
#define JM_MLPERF_TABLES_H

#include <stddef.h>

extern const unsigned char jm_mlperf_benchmarks_tsv[];
extern const size_t jm_mlperf_benchmarks_tsv_len;
extern const unsigned char jm_mlperf_performance_tsv[];
extern const size_t jm_mlperf_performance_tsv_len;

#endif
