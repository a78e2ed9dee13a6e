/* SPDX-License-Identifier: Apache-2.0 */
/* From the GPU to the wall: one row a domain (docs/reconciliation.md). */
#ifndef JM_COMPUTE_RECONCILE_H
#define JM_COMPUTE_RECONCILE_H

#include "compute/calc.h"

/* What stands in for a gain that nobody stated, as bounds: published GPU boards 0.87 to 1.15 (arXiv
 * 2312.02741); other power sensors of a server 5 % (DCMI 1.5 asks a BMC for that). */
#define JM_RECONCILE_GAIN_BOARD 0.15
#define JM_RECONCILE_GAIN       0.05
/* What a PDU or a shelf of rectifiers may lose itself, of what it takes (rectifiers give 90 % and more). */
#define JM_RECONCILE_FED 0.10

/* Rows of the window, appended to the report. */
int jm_reconcile_window(struct jm_calc *c, const struct jm_calc_window *w);
/* "redfish bmc1 power", in the report's arena; NULL: no memory. */
const char *jm_reconcile_instrument(const struct jm_run *run, struct jm_report *r, int row);

/* How gauge a follows gauge b over [t0, t1]: both brought to one second steps. */
struct jm_follow {
    bool known;              /* both have enough readings, and b moves */
    double swing_a, swing_b; /* standard deviation over mean */
    double lag_s;            /* shift of a at which it is most like b; 0 and more */
    double like, like_0;     /* correlation there and without a shift */
};
int jm_gauges_follow(const struct jm_run *run, const struct jm_channel *a, const struct jm_channel *b,
                     int64_t t0, int64_t t1, struct jm_follow *out, struct jm_err *err);

#endif
