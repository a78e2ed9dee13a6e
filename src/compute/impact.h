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

/* The energy of the same channels in parts of the window, in their order, times of the run's clock. *even:
 * the readings cannot tell. joules are added to. */
struct jm_spread_part {
    int64_t t0, t1;
    double value, joules;
    bool estimated;
};
int jm_spread_weigh(struct jm_calc *c, const struct jm_calc_window *w, const int *domain, size_t n_domain,
                    struct jm_spread_part *p, size_t n, bool *even);

/* Rows of report->hours of factor i (a carbon factor by time) at that boundary; none beyond JM_HOURS. */
#define JM_HOURS 1500
int jm_impact_hours(struct jm_calc *c, enum jm_boundary at, int factor);

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
