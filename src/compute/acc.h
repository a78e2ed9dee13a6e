/* SPDX-License-Identifier: Apache-2.0 */
/* Values with weights: kept one by one up to a bound, from there on as a histogram. */
#ifndef JM_COMPUTE_ACC_H
#define JM_COMPUTE_ACC_H

#include <stdbool.h>
#include <stddef.h>

#include "compute/defs.h"

enum jm_quantile_kind {
    JM_Q_LINEAR, /* between order statistics, as numpy and pandas do */
    JM_Q_SHARE,  /* the first value at which the share of the weights reaches q */
    JM_Q_FLOOR   /* the value at index floor(q n) */
};

struct jm_pair {
    double v, w;
};

struct jm_acc {
    struct jm_pair *v;
    size_t n, cap;
    size_t most; /* values kept one by one; 0: 2 million */
    double sum, weight;
    struct jm_loghist *h; /* NULL: all values are in v; else v is empty */
};

int jm_acc_add(struct jm_acc *a, double v, double weight); /* NAN is no value; JM_ENOMEM */
/* The same for n values, none of them NAN, that weigh 1 each. */
int jm_acc_add_many(struct jm_acc *a, const double *v, size_t n);
/* Adds all that b holds. JM_ENOMEM. */
int jm_acc_merge(struct jm_acc *a, const struct jm_acc *b);
double jm_acc_mean(const struct jm_acc *a); /* NAN: empty */
void jm_acc_sort(struct jm_acc *a);
/* Sorted before. Of a histogram every kind is interpolated in its bucket. NAN: empty. */
double jm_acc_quantile(const struct jm_acc *a, double q, enum jm_quantile_kind kind);
/* Fills h, which is zeroed, with all values. */
void jm_acc_histogram(const struct jm_acc *a, struct jm_loghist *h);
void jm_acc_release(struct jm_acc *a);

#endif
