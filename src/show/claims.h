/* SPDX-License-Identifier: Apache-2.0 */
/* What an imported file says of itself beside what is computed again, in each format. */
#ifndef JM_SHOW_CLAIMS_H
#define JM_SHOW_CLAIMS_H

#include "base/json.h"
#include "show/text_out.h"

#define JM_CLAIMS_FMT 64

/* Nothing where the run has no claims. */
void jm_claims_text(struct jm_out *o);
void jm_claims_json(struct jm_jsonw *w, const struct jm_report *r);

/* Claims worth a row: about a known metric, and what differs. Of many only totals, means and what differs of
 * median and p99; of fewer the medians and p99 too. */
struct jm_claims_pick {
    int same, differing; /* the least weight of those that agree and of those that differ */
};
struct jm_claims_pick jm_claims_pick(const struct jm_report *r, bool all);
bool jm_claims_shown(const struct jm_claim *k, struct jm_claims_pick pick);
/* "200.0 ms", in the claim's own unit where the metric is not known. again: the value computed again. */
const char *jm_claims_value(char buf[JM_CLAIMS_FMT], const struct jm_claim *k, bool again);
/* "the same", "+12.3 %", "declared", "". */
const char *jm_claims_verdict(char buf[JM_CLAIMS_FMT], const struct jm_claim *k);

#endif
