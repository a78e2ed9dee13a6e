/* SPDX-License-Identifier: Apache-2.0 */
/* Two or more configurations against each other: what must agree, pair by pair, and what follows of it
 * (docs/compare.md). The first side is A, the baseline; every other is a candidate. Pure. */
#ifndef JM_COMPUTE_COMPARE_H
#define JM_COMPUTE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compute/contract.h"
#include "compute/decide.h"
#include "model/report.h"
#include "run/run.h"

#define JM_COMPARE_SIDES 26 /* A to Z */

/* A run with its report, computed and audited (jm_compute under the contract's objectives). */
struct jm_compare_run {
    const struct jm_run *run;
    const struct jm_report *report;
};

struct jm_compare_side_in {
    const char *name; /* as it was given */
    const struct jm_compare_run *run;
    size_t n_run;
    const double *score; /* quality, one value a request or answer; NULL: the requests' own, if any */
    size_t n_score;
};

struct jm_compare_opts {
    const struct jm_contract *contract; /* NULL: a comparison */
    const char *unit;                   /* without a contract; NULL: j_per.output_token */
    int boundary;                       /* without a contract; -1: the widest that all sides have */
    double level, margin;               /* without a contract; 0: the default */
    const char *const *differs;         /* besides the contract's */
    size_t n_differs;
    const struct jm_compare_run *aa; /* runs of A against A for the detection floor */
    size_t n_aa;
};

enum jm_compare_state {
    JM_CF_SAME,
    JM_CF_UNKNOWN,  /* on every side */
    JM_CF_PARTLY,   /* known of some sides only */
    JM_CF_DECLARED, /* differs, as it was meant to */
    JM_CF_IDLE,     /* meant to differ, and does not */
    JM_CF_NAMED,    /* differs; worth knowing, and no obstacle */
    JM_CF_DIFFERS,  /* differs, and must agree */
    JM_CF_NEVER,    /* differs, and no declaration makes up for it */
    JM_CF_COUNT
};
const char *jm_compare_state_name(int s);

struct jm_compare_fact {
    const char *id, *title; /* "clocks.sm", "SM clock" */
    enum jm_compare_state state;
    const char *value[JM_COMPARE_SIDES]; /* NULL: not known */
    size_t row;                          /* its place in the table of what is compared */
};

/* One repetition on one side. */
struct jm_compare_trial {
    double value; /* J per unit; NAN: none */
    double energy, work, seconds;
    int64_t at; /* UTC ns of its start, INT64_MIN: not known */
    size_t run; /* of the side */
    int trial;
};

struct jm_attained {
    uint64_t n, k;
    struct jm_interval bound; /* two-sided; its ends are the one-sided bounds at (1 - level) / 2 */
};

struct jm_compare_side {
    const char *name;
    size_t runs;
    struct jm_compare_trial *trial; /* in order of time */
    size_t n_trial, n_value;        /* all; those with a value */
    const char *no_value;           /* reasons of those without one; NULL */
    const char *invalid;            /* reasons that make it invalid; NULL */
    const char *set, *instrument;
    bool simulated;
    /* requests scheduled in the measured windows, those that the plan gave up left out */
    uint64_t requests, failed, unsent;
    struct jm_interval failed_share;
    double tokens, tokens_lost; /* output tokens of successful requests; of the others as far as known */
    struct jm_attained slo[JM_CONTRACT_SLOS];
    double quality, quality_se, quality_dof; /* mean score; NAN: none */
    size_t n_quality;
};

enum jm_clause_state { JM_CLAUSE_MET, JM_CLAUSE_OPEN, JM_CLAUSE_BROKEN };
struct jm_clause {
    const char *id; /* "saving", "slo", "errors", "trials", "quality", "slices", "known" */
    const char *slice;
    enum jm_clause_state state;
    const char *asked, *found; /* "at least 3 %", "5.1 % (4.2 to 6.0 %)" */
    const char *sentence;      /* why it is not met; NULL */
    const char *provenance;    /* "allocated": what was found is no measurement; NULL: as the sides are */
};

struct jm_compare_note {
    const char *id; /* "watts", "failures", "up-to", "order", "gain", ... */
    bool warning;
    const char *text;
};

/* A figure beside the one that decides. */
struct jm_compare_metric {
    const char *id, *unit, *slice;
    enum jm_boundary boundary;
    double quantile; /* NAN */
    double a, b;     /* means over the pairs */
    double ratio, lo, hi;
    size_t n;
};

struct jm_compare_pair {
    size_t a, b; /* trials */
    double d;
};

struct jm_candidate {
    size_t side;
    enum jm_verdict verdict;
    const char *sentence;
    struct jm_compare_pair *pair;
    size_t n_pair;
    bool *turned; /* of each pair, whether the candidate came first, where all come in quads A B B A; NULL */
    const char *order; /* "ABBAAB...", by time, with the candidate's letter; NULL: not known */
    struct jm_decision decision;
    struct jm_clause *clause;
    size_t n_clause;
    struct jm_compare_metric *metric;
    size_t n_metric;
    struct jm_compare_note *note;
    size_t n_note;
    bool gain_cancels;
    bool invalid; /* a side's measurement is */
};

struct jm_comparison {
    const struct jm_contract *contract;
    const char *unit, *unit_title; /* "j_per.output_token", "output token" */
    enum jm_boundary boundary;
    struct jm_decide_opts decide;
    bool simulated;
    struct jm_compare_side *side;
    size_t n_side;
    struct jm_compare_fact *fact; /* what differs and must not, first */
    size_t n_fact;
    struct jm_candidate *candidate;
    size_t n_candidate, best;
    enum jm_verdict verdict; /* of the best */
    const char *sentence;
    struct jm_report *mem; /* all of it lives here */
};

/* Two sides or more. The runs must outlive the comparison. JM_EUSAGE: A and B are the same run or hold the
 * very same numbers, a declared difference has no such name. Everything that the measurements do not give is
 * a verdict. */
int jm_compare(const struct jm_compare_side_in *side, size_t n, const struct jm_compare_opts *o,
               struct jm_comparison **out, struct jm_err *err);
void jm_comparison_free(struct jm_comparison *c);
/* JSON joulemark.compare/1 (docs/schema/compare.schema.json), text, Markdown and HTML: show/compare.h. */

#endif
