/* SPDX-License-Identifier: Apache-2.0 */
/* From pairs of numbers to a verdict: is B lower than A, by enough, and could it be told at all? Pure; the
 * whole of a comparison but its input and output, so that its error rates can be counted (docs/compare.md).
 *
 * Everything rests on d = ln(b / a), one value a pair (stat_compare.h); saving = 1 - exp(mean d). */
#ifndef JM_COMPUTE_DECIDE_H
#define JM_COMPUTE_DECIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "compute/stat_compare.h"

enum jm_verdict {
    /* held against a contract */
    JM_VERDICT_ACCEPT,
    JM_VERDICT_REJECT,
    /* without one */
    JM_VERDICT_LOWER,
    JM_VERDICT_HIGHER,
    JM_VERDICT_EQUIVALENT,
    /* both */
    JM_VERDICT_UNRESOLVED,
    JM_VERDICT_INCOMPARABLE, /* jm_decide never gives it */
    JM_VERDICT_COUNT
};
const char *jm_verdict_name(int v); /* "accept", "not resolvable", "not comparable", ... */

/* What decided. */
enum jm_decide_why {
    JM_WHY_SHOWN,     /* the interval is beyond what was asked for, and the floor is passed */
    JM_WHY_SHORT,     /* even the good end of the interval is below what was asked for */
    JM_WHY_FEW,       /* fewer pairs than it takes */
    JM_WHY_STRADDLES, /* the interval holds what was asked for */
    JM_WHY_FLOOR,     /* A against A shows as much */
    JM_WHY_WINNER,    /* best of several: not after the correction for having been chosen */
    JM_WHY_HOLM,      /* several were tried: not after the correction for that */
    JM_WHY_SAME       /* within the margin of equivalence */
};

enum jm_floor_source { JM_FLOOR_NONE, JM_FLOOR_AA, JM_FLOOR_REPEATS };

#define JM_DECIDE_LEVEL      0.95
#define JM_DECIDE_MARGIN     0.02 /* of equivalence */
#define JM_DECIDE_POWER      0.8
#define JM_DECIDE_PAIRS      3    /* fewest: as a claim takes trials */
#define JM_DECIDE_SD_ASSUMED 0.01 /* of d, for planning, where there is one pair only */

struct jm_decide_opts {
    bool contract;  /* against `minimum`, else in which direction */
    double minimum; /* saving that must be shown, 0 <= minimum < 1 */
    double level;   /* of intervals, two-sided; what must be shown is shown at (1 - level) / 2, one-sided */
    double margin;  /* of equivalence, (0, 1) */
    double power;   /* for the number of pairs that it takes */
    size_t least;   /* fewest pairs, 2 or more */
    const bool
        *turned; /* the pairs come in quads A B B A: of each, whether B came first (jm_stat_abba); NULL */
    double gain; /* log half-width of what the instruments of the sides may differ by; 0: they are the same */
};
void jm_decide_defaults(struct jm_decide_opts *o);

struct jm_decision {
    enum jm_verdict verdict;
    enum jm_decide_why why;
    size_t n;
    struct jm_paired paired; /* n >= 2 */
    struct jm_tost tost;     /* n >= 2 */
    double ratio, saving;    /* b / a, 1 - ratio; negative: B takes more */
    double lo, hi;           /* of the saving, with `gain`; NAN: one pair */
    double p;                /* one-sided, of "the saving is at most the minimum"; NAN: one pair */
    double p_holm;           /* adjusted for all candidates; p with one */
    enum jm_floor_source floor_source;
    struct jm_floor floor;
    /* jm_decide_plan */
    double sd; /* that pairs are planned by, of d */
    bool sd_assumed;
    double effect;       /* that they are to find, of d */
    size_t pairs_needed; /* 0: nothing is missing; SIZE_MAX: more than 10,000 */
    /* several candidates, of the best of them */
    bool winner;
    struct jm_winner corrected; /* of -d */
};

/* d: n pairs. aa: A/A pairs (d of A against A), n_aa of them, or own: the n_own values of A itself, whose
 * scatter stands in for them where n_aa < 3. Of own, ln differences of two means of n scatter by
 * s √(2 / n): floor = t(1 - (1 - level)/2; n_own - 1) s √(2 / n). JM_EINVAL: values that are not above 0 or
 * not finite, n = 0, options out of bounds. */
int jm_decide(const double *d, size_t n, const double *aa, size_t n_aa, const double *own, size_t n_own,
              const struct jm_decide_opts *o, struct jm_decision *out, struct jm_err *err);

/* How many pairs it would take to tell what could not be told (jm_stat_pairs_for): sd, effect, pairs_needed.
 */
void jm_decide_plan(struct jm_decision *x, const struct jm_decide_opts *o);

/* k decisions against the same A: adjusts by Holm and corrects the best for having been chosen; a verdict
 * that does not outlive it becomes unresolved. *best: the one to go by, the accepted (lower) one with the
 * largest saving, else the one with the largest saving. */
int jm_decide_many(struct jm_decision *v, size_t k, const struct jm_decide_opts *o, size_t *best,
                   struct jm_err *err);

#endif
