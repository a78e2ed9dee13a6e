/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a comparison share. */
#ifndef JM_COMPUTE_COMPARE_IMPL_H
#define JM_COMPUTE_COMPARE_IMPL_H

#include "compute/compare.h"

/* What is counted over the requests of a side, beside what jm_compare_side keeps. */
struct jm_side_sums {
    double n[2], sum[2], sum2[2]; /* ISL, OSL */
    double length, stopped;       /* requests that ended by their length, and in all with a reason */
    double by_source[4];          /* enum jm_token_source */
    double cached, prompt;        /* tokens, of requests whose cached ones are known */
    double cancelled;             /* requests that the plan gave up; not in jm_compare_side's */
};

struct jm_cmp {
    struct jm_comparison *c;
    const struct jm_compare_side_in *in;
    const struct jm_compare_opts *o;
    struct jm_side_sums *sums;
    struct jm_report *mem;
    struct jm_err *err;
    bool failed; /* a text could not be made */
};

/* compare_side.c */
int jm_cmp_side(struct jm_cmp *x, size_t side);
/* The metric of one trial of a run: numerators over denominators of its windows, or the value of its only
 * one. slice: NULL, or of the windows that it had for itself. NAN: none. *energy, *work may be NULL. */
double jm_cmp_value(const struct jm_compare_run *r, int trial, const char *metric, enum jm_boundary b,
                    double quantile, const char *slice, double *energy, double *work);
/* The widest boundary of a comparison that every side has a value at; JM_B_NONE: none. */
enum jm_boundary jm_cmp_boundary(const struct jm_cmp *x, size_t n);
bool jm_cmp_has(const struct jm_compare_side_in *s, const char *unit, enum jm_boundary b);
/* The row of the unit at the boundary, of any trial; NULL. */
const struct jm_result *jm_cmp_row(const struct jm_compare_run *r, const char *unit, enum jm_boundary b);
int jm_cmp_by_time(const void *a, const void *b);
/* compare_chosen.c: sentences, NULL where there is nothing to say: trials that are not in a side's files or
 * are shorter than planned; requests that a file leaves out or that were sent twice; scores of some answers
 * only; differences that were allowed beside the contract. */
const char *jm_cmp_chosen(struct jm_cmp *x, size_t side);
const char *jm_cmp_left_out(const struct jm_cmp *x, size_t side);
const char *jm_cmp_resent(struct jm_cmp *x, size_t side);
const char *jm_cmp_few_scores(struct jm_cmp *x, size_t side);
const char *jm_cmp_beside_contract(struct jm_cmp *x);
/* compare_copies.c: JM_EUSAGE where two runs, or two windows of one, hold the same measurement. */
int jm_cmp_copies(struct jm_cmp *x);
/* compare_facts.c */
int jm_cmp_facts(struct jm_cmp *x);
/* Is `name` a fact, or the first word of some? */
int jm_cmp_declared(struct jm_cmp *x);
int jm_cmp_known_name(const char *name, const char *where, struct jm_err *err);
/* JM_EUSAGE: no declaration makes up for a difference in it. */
int jm_cmp_never_name(const char *name, const char *where, struct jm_err *err);
/* Are the runs of A against A runs of A? */
int jm_cmp_aa(struct jm_cmp *x);
const struct jm_compare_fact *jm_cmp_fact(const struct jm_comparison *c, const char *id);
/* compare_values.c: the first key of the environment that is there; the set without its counts; accelerators,
 * metered devices and who counted the tokens as text; means over a side: of a gauge, of the engine's prefix
 * hits or of requests that are not ours, of GPUs that do not serve, W; findings of throttling. NULL, NAN: not
 * known. */
const char *jm_cmp_env(const struct jm_run *run, const char *const *key);
void jm_cmp_structure(const char *set, char *out, size_t cap);
const char *jm_cmp_accelerators(struct jm_cmp *x, const struct jm_compare_run *r);
const char *jm_cmp_identity(struct jm_cmp *x, const struct jm_compare_run *r);
const char *jm_cmp_token_source(struct jm_cmp *x, const struct jm_side_sums *u);
int jm_cmp_gauge(struct jm_cmp *x, size_t side, const char *name, double *mean);
double jm_cmp_engine_mean(const struct jm_compare_side_in *s, bool hits);
double jm_cmp_other_gpus(const struct jm_compare_side_in *s);
size_t jm_cmp_throttled(const struct jm_compare_side_in *s, bool *known);
/* compare_words.c: the verdict of a candidate's decision with its reason; what differs and must not, NULL:
 * nothing does. */
const char *jm_cmp_sentence(struct jm_cmp *x, const struct jm_candidate *k);
int jm_cmp_incomparable(struct jm_cmp *x, const char **text);
/* compare_clause.c: clauses, notes and figures beside of a candidate that has its decision. */
int jm_cmp_clauses(struct jm_cmp *x, struct jm_candidate *k);
/* Adds a clause with what was asked and found; sentence: why it is not met, NULL. */
int jm_cmp_clause(struct jm_cmp *x, struct jm_candidate *k, const char *id, const char *slice,
                  enum jm_clause_state state, const char *asked, const char *found, const char *sentence);
/* compare_slices.c: room: most clauses in all. */
int jm_cmp_slices(struct jm_cmp *x, struct jm_candidate *k, size_t room);
int jm_cmp_notes(struct jm_cmp *x, struct jm_candidate *k);
int jm_cmp_metrics(struct jm_cmp *x, struct jm_candidate *k);
/* Formatted into the comparison; NULL and err when out of memory. */
#define JM_CMP_TEXT(x, ...) jm_cmp_kept((x), jm_report_text((x)->mem, __VA_ARGS__))
static inline const char *jm_cmp_kept(struct jm_cmp *x, const char *text)
{
    x->failed |= !text;
    return text;
}
int jm_cmp_memory(struct jm_cmp *x);
/* What a candidate is called beside A. */
static inline char jm_cmp_letter(const struct jm_candidate *k)
{
    return (char)('A' + k->side);
}

#endif
