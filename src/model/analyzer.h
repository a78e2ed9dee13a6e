/* SPDX-License-Identifier: Apache-2.0 */
/* What a power analyzer's maker promises for its active power: one row a model in analyzers.tsv, each with
 * its source. A model that is not there, or a row without numbers, gives no accuracy, and says so. */
#ifndef JM_MODEL_ANALYZER_H
#define JM_MODEL_ANALYZER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"

struct jm_analyzer {
    char model[40];
    bool ptd;                         /* seen to be what PTDaemon evaluates */
    bool known;                       /* its accuracy is */
    struct jm_span volts, amps;       /* ranges, rising, parted by commas */
    double reading, range, influence; /* shares, not per cent */
    bool by_s;                        /* the term of the range times P / S */
    int crest, months;                /* months 0: not known */
    struct jm_span devices, band, source;
};

bool jm_analyzer_at(size_t i, struct jm_analyzer *out);
/* By the model that PTDaemon names; false: no row. */
bool jm_analyzer_find(struct jm_span model, struct jm_analyzer *out);

/* The range that an analyzer takes when it is asked for one: the next larger of its list, at crest factor 6
 * of the list's halves; NaN: there is none. */
double jm_analyzer_range(struct jm_span list, double asked, int crest);

/* Half-width of the limits, in W, of mean power: watts, ratio (P / S) and tangent (P x tan(phi)) are means.
 * The terms of the maker's formula: watts x reading + range x V range x A range x (ratio or 1) + tangent x
 * influence At crest factor 6 the term of the range counts twice. */
double jm_analyzer_limits_w(const struct jm_analyzer *m, double v_range, double a_range, int crest,
                            double watts, double ratio, double tangent);

#endif
