/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the room, built in. */
#ifndef JM_IMPORT_MLPERF_DATA_H
#define JM_IMPORT_MLPERF_DATA_H

#include <stddef.h>

extern const unsigned char jm_mlperf_rounds_tsv[];
extern const size_t jm_mlperf_rounds_tsv_len;

#endif
