/* SPDX-License-Identifier: Apache-2.0 */
/* Least squares with coefficients that are not negative: what a step, a prefill token, a decode token takes,
 * none of which can take less than nothing. Pure; no heap.
 *
 * Rows are put in one at a time and turned at once into the triangle R of A = QR (Givens rotations; Lawson
 * and Hanson, Solving Least Squares Problems, 1974, ch. 27), so that an hour of windows takes the room of one
 * window, and what was gathered of blocks can be added up again for a bootstrap. |Ax - y|² = |Rx - q|² +
 * rest², so that the fit of R is that of A; the normal equations, which square the condition number, are
 * never formed. Fit: their NNLS (ch. 23), columns scaled to length 1.
 *
 * A pinned coefficient is given, not fitted: its column times it is taken from y first. */
#ifndef JM_COMPUTE_STAT_NNLS_H
#define JM_COMPUTE_STAT_NNLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define JM_LSQ_MAX 12 /* columns */

struct jm_lsq {
    size_t cols, rows;
    double r[JM_LSQ_MAX + 1][JM_LSQ_MAX + 1]; /* upper triangle of [A | y] */
    double n[JM_LSQ_MAX], mean[JM_LSQ_MAX],
        m2[JM_LSQ_MAX];  /* of the columns, Welford's; for their variation */
    double y_sum, w_sum; /* weighted */
};
void jm_lsq_init(struct jm_lsq *l, size_t cols); /* 1 .. JM_LSQ_MAX */
/* weight of the squared residual, >= 0 (1: all alike). JM_EINVAL: a number is not finite. */
int jm_lsq_row(struct jm_lsq *l, const double *a, double y, double weight, struct jm_err *err);
void jm_lsq_add(struct jm_lsq *l, const struct jm_lsq *other); /* as if its rows had been put in too */

struct jm_nnls {
    double x[JM_LSQ_MAX];
    bool at_zero[JM_LSQ_MAX]; /* held at 0 because it would be negative */
    double rss;               /* weighted sum of squared residuals */
    double rmse;              /* √(rss / sum of weights) */
    double relative; /* rmse / |mean y|: the quality of a fit whose y varies little, where R² says nothing */
    size_t free;     /* coefficients that were fitted and are above 0 */
};
/* pin: cols values, NAN where the coefficient is to be fitted; NULL: all are. A pinned one may have any sign.
 * JM_EAGAIN: fewer rows than coefficients to fit. A column of zeros gets 0. */
int jm_lsq_nnls(const struct jm_lsq *l, const double *pin, struct jm_nnls *out, struct jm_err *err);

/* Can the coefficients be told from each other? Condition number (2-norm) of the columns to fit, scaled to
 * length 1 (which is within √cols of the best scaling: van der Sluis, Numerische Mathematik 14 (1969) 14),
 * and the coefficient of variation of each column: what hardly varies cannot be told from what is always
 * there. */
#define JM_LSQ_COND 1e3  /* most */
#define JM_LSQ_CV   0.05 /* least, of the columns that `vary` names */
struct jm_identify {
    bool ok;
    double condition; /* INFINITY: one column is a sum of others, or 0 */
    double cv[JM_LSQ_MAX];
    int weakest; /* column: the one that stands most in the direction that cannot be told; -1 */
    double direction[JM_LSQ_MAX]; /* of the scaled columns, length 1: what can be added without the fit
                                     changing */
    const char *reason;           /* "", or one of: "condition", "variation" */
};
/* vary: which columns must vary (NULL: all to fit). */
void jm_lsq_identify(const struct jm_lsq *l, const double *pin, const bool *vary, struct jm_identify *out);

#endif
