/* SPDX-License-Identifier: Apache-2.0 */
/* Quality scores of answers: a CSV file with a column "score" (or "quality"; other columns are passed over),
 * or one number a line. Lines that begin with # and empty lines count for nothing. */
#ifndef JM_WIRE_SCORES_H
#define JM_WIRE_SCORES_H

#include <stddef.h>

#include "base/err.h"
#include "base/span.h"

#define JM_SCORES_MOST ((size_t)4 << 20) /* scores */

struct jm_scores {
    double *v;
    size_t n;
};
/* JM_EPARSE with the line: no number, no column; JM_ELIMIT; JM_EABSENT: not one score. Release in any case.
 */
int jm_scores_parse(struct jm_span text, struct jm_scores *out, struct jm_err *err);
void jm_scores_release(struct jm_scores *s);

#endif
