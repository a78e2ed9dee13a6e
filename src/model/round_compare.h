/* SPDX-License-Identifier: Apache-2.0 */
/* Two sets of MLPerf results side by side. Only like is compared with like; what was left out is named. */
#ifndef JM_MODEL_ROUND_COMPARE_H
#define JM_MODEL_ROUND_COMPARE_H

#include "model/round.h"

/* Why a result is not to be compared with others: no figure, no official measurement, the official checker
 * fails it, another division than closed, not available. NULL: it may be. Buf holds JM_ROUND_WHY bytes. */
#define JM_ROUND_WHY 160
const char *jm_round_incomparable(const struct jm_round_row *r, char buf[JM_ROUND_WHY]);

struct jm_round_match {
    const struct jm_round_row *a, *b;
    bool same_system;      /* else: the best of each side */
    size_t of_a, of_b;     /* results of that benchmark and scenario on each side */
    bool tokens;           /* unit: tokens/J, else samples/J */
    double va, vb;         /* published */
    double ratio;          /* b over a, published */
    double proper, lo, hi; /* of the proper figures; the intervals added as they stand; NaN */
};

struct jm_round_left {
    const struct jm_round_row *row;
    int side; /* 0: a, 1: b */
    char why[JM_ROUND_WHY];
};

struct jm_round_comparison {
    struct jm_round_match *match;
    size_t n_match;
    struct jm_round_left *left;
    size_t n_left;
    size_t n[2], comparable[2];
    bool all; /* asked for: incomparable ones too */
};

/* Rows are borrowed. all: whatever has a figure, with the same benchmark, scenario and unit all the same. */
int jm_round_compare_sets(const struct jm_round_row *const *a, size_t n_a,
                          const struct jm_round_row *const *b, size_t n_b, bool all,
                          struct jm_round_comparison *out, struct jm_err *err);
void jm_round_comparison_release(struct jm_round_comparison *c);

#endif
