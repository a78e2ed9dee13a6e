/* SPDX-License-Identifier: Apache-2.0 */
/* The values of one row of an explanation: exact up to a bound, then a histogram. */
#ifndef JM_COMPUTE_EXPLAIN_ACC_H
#define JM_COMPUTE_EXPLAIN_ACC_H

#include "compute/explain.h"

struct jm_pair {
    double v, w;
};

struct jm_acc {
    const struct jm_peer_row *p;
    struct jm_pair *v;
    size_t n, cap;
    double sum, weight;
    double asked, good, tokens; /* requests of the row's set, those inside the contract, their tokens */
    int64_t missing;            /* requests of the set that ended without a count of tokens */
    bool tokens_unknown, no_quantiles;
    struct jm_loghist *h; /* NULL: all values are in v */
};

int jm_acc_add(struct jm_acc *a, double v, double weight); /* NAN is no value; JM_ENOMEM */
void jm_acc_sort(struct jm_acc *a);
/* As the row's tool takes it; sorted before. NAN: none. */
double jm_acc_quantile(const struct jm_acc *a, double q);
void jm_acc_release(struct jm_acc *a);

/* The error for a name that is no metric, with the nearest one. */
int jm_explain_unknown(const char *what, struct jm_err *err);

#endif
