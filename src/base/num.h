/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers from text, independent of the locale, whole-span (anything left over is an error), 64 bit. */
#ifndef JM_BASE_NUM_H
#define JM_BASE_NUM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

/* JM_EPARSE when the text is no number, JM_ERANGE when it does not fit. */
int jm_num_i64(struct jm_span s, int64_t *out);
int jm_num_u64(struct jm_span s, uint64_t *out);
int jm_num_double(struct jm_span s, double *out); /* decimal only: no hex, no inf, no nan */

/* Decimal text to an integer mantissa at a power-of-ten scale: "12.345" with scale -3 gives 12345. Trailing
 * zeros beyond the scale are allowed, other digits are JM_ERANGE (they would be lost). Exponents are
 * understood. */
int jm_num_fixed(struct jm_span s, int scale10, int64_t *out);

/* Number of digits printed for double output that reads back the same. */
#define JM_DOUBLE_FMT "%.17g"

#endif
