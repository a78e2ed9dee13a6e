/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the room, built in. */
#ifndef JM_FACTOR_TABLES_H
#define JM_FACTOR_TABLES_H

#include <stddef.h>

extern const unsigned char jm_carbon_tsv[];
extern const size_t jm_carbon_tsv_len;

#endif
