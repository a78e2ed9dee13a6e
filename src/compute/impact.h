/* SPDX-License-Identifier: Apache-2.0 */
/* Energy times factor (docs/factors.md). */
#ifndef JM_COMPUTE_IMPACT_H
#define JM_COMPUTE_IMPACT_H

#include "compute/calc.h"

/* What a factor was over a window, weighed by the energy that fell in each of its steps. */
struct jm_spread {
    double value;     /* NAN: a part of the window has no factor */
    double estimated; /* share, by energy */
    double covered;   /* share of the time */
    int64_t missing;  /* first instant without one, Unix ns */
    bool even;        /* energy taken as even over time */
};
/* domain: those that the energy counts. JM_ENOMEM and what reading a run gives. */
int jm_spread(struct jm_calc *c, const struct jm_calc_window *w, const int *domain, size_t n_domain,
              const struct jm_factor *f, struct jm_spread *out);

/* A design estimate: nothing of it is measured. Power at the boards or the node, a rate of tokens, and a PUE
 * (1: none). */
struct jm_design {
    double watts, tokens_s, pue;
    double j_per_token, j_per_token_facility; /* J */
    double kwh_per_mtok;                      /* with PUE */
    double kwh_year, kwh_year_facility;       /* 8,760 h */
};
void jm_design(struct jm_design *d);
/* grams or money per million tokens and a year of one factor per kWh. */
double jm_design_per_mtok(const struct jm_design *d, double per_kwh);
double jm_design_per_year(const struct jm_design *d, double per_kwh);

#endif
