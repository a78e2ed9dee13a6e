/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated power analyzer of Yokogawa's WT kind: its ranges, what it shows for a true power, and how
 * uncertain that is. Ranges are those of the public user's manuals.
 *
 * Uncertainty of one sample, in percent of its power P, range PR = volt range x ampere range, S = P / PF:
 *   WT3xx                 rdg + rng PR/S + infl tan(acos PF)
 *   WT210, WT500          rdg + rng PR/P + infl tan(acos PF)
 * This is what the ">1.00% limit" lines and the Uncertainty replies of public MLPerf sessions follow to the
 * last digit that they show: WT210 and WT500 with rdg 0.15 (0.1 and half as much again for twelve months),
 * rng 0.1; WT310 0.1 and 0.1; WT333E 0.1 and 0.05; infl 0.2. The sum of several elements weighs each with its
 * power. */
#ifndef SIM_WT_H
#define SIM_WT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIMWT_ELEMENTS 7

struct simwt_model {
    const char *name;     /* "WT310E" */
    const char *identify; /* how a PTDaemon names it: "YokogawaWT310E" */
    const char *product;  /* second word of *IDN? of a real one, which a simulated one has behind "SIM-" */
    int elements;
    bool dc;
    double rdg, rng, infl;      /* percent */
    bool over_p;                /* the range term is over P, not S */
    const double *volts, *amps; /* ends with 0 */
};
const struct simwt_model *simwt_find(const char *name); /* case does not matter; NULL: none */
const struct simwt_model *simwt_model(int i);           /* NULL past the last */

/* The smallest range that holds x; 0: none does. */
double simwt_range(const double *ranges, double x);
/* One step of auto-ranging: up above 130 % of the range, down where 30 % of it is left. */
double simwt_auto(const double *ranges, double range, double x);

/* The electrical side of the load. */
struct simwt_load {
    double volts, pf, crest, hz;  /* crest: peak over effective value of the current */
    double split[SIMWT_ELEMENTS]; /* share of each element; sums to 1 */
};

enum simwt_flag {
    SIMWT_PEAK = 1, /* the current's peak exceeds what range and crest factor 3 allow */
    SIMWT_OVER = 2, /* the effective value exceeds 140 % of the range: no value */
    SIMWT_NONE = 4, /* no value at all: auto-ranging, no signal */
};

struct simwt_value {
    double w, v, a, pf;
    unsigned flags;
};

/* What element e shows for a true power p of the whole load, in the ranges given. */
void simwt_read(const struct simwt_model *m, const struct simwt_load *l, double p, int e, double volt_range,
                double amp_range, struct simwt_value *out);
/* True current of element e, A. */
double simwt_amps(const struct simwt_load *l, double p, int e);

/* Percent; NaN: cannot be told. */
double simwt_uncertainty(const struct simwt_model *m, const struct simwt_value *v, double volt_range,
                         double amp_range);

/* One step of the display for a range: 60000 counts, rounded up to a power of ten. */
double simwt_step(double range);

/* A plain number from lo to hi. */
bool simwt_number(const char *text, double lo, double hi, double *out);
/* "0.5,0.3,0.2": shares of the elements that make 1. */
bool simwt_split(const char *text, double share[SIMWT_ELEMENTS]);

#endif
