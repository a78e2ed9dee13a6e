/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": the nearest of some names. */
#ifndef JM_BASE_NEAR_H
#define JM_BASE_NEAR_H

#include <stddef.h>

#include "base/span.h"

/* Edits (insert, delete, replace, swap neighbours) between two names, ASCII case ignored; names longer than
 * 40 bytes count as far away. */
unsigned jm_near_distance(struct jm_span a, struct jm_span b);
/* Is a distance d small enough to be a slip in a word of n bytes? */
static inline bool jm_near_plausible(unsigned d, size_t n)
{
    return d == 1 || (d <= 2 && n >= 4) || (d <= 3 && n >= 8);
}

#endif
