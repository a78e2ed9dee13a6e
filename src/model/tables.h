/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the room, built in. */
#ifndef JM_MODEL_TABLES_H
#define JM_MODEL_TABLES_H

#include <stddef.h>

extern const unsigned char jm_mlperf_limits_tsv[];
extern const size_t jm_mlperf_limits_tsv_len;
extern const unsigned char jm_analyzers_tsv[];
extern const size_t jm_analyzers_tsv_len;

#endif
