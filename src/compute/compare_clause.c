/* SPDX-License-Identifier: Apache-2.0 */
/* What a contract asks for, clause by clause. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "compute/compare_impl.h"

#include "base/banned.h"

int jm_cmp_clause(struct jm_cmp *x, struct jm_candidate *k, const char *id, const char *slice,
                  enum jm_clause_state state, const char *asked, const char *found, const char *sentence)
{
    if (!asked || !found || (state != JM_CLAUSE_MET && !sentence))
        return jm_cmp_memory(x);
    k->clause[k->n_clause++] = (struct jm_clause){.id = id,
                                                  .slice = slice,
                                                  .state = state,
                                                  .asked = asked,
                                                  .found = found,
                                                  .sentence = state == JM_CLAUSE_MET ? NULL : sentence};
    return 0;
}

/* --- service levels */
static int slo(struct jm_cmp *x, struct jm_candidate *k, size_t i)
{
    const struct jm_contract_slo *o = &x->o->contract->slo[i];
    const struct jm_compare_side *b = &x->c->side[k->side];
    const struct jm_attained *t = &b->slo[i];
    const char *who = o->slice ? JM_CMP_TEXT(x, "of slice %s", o->slice) : "of all requests",
               *asked = JM_CMP_TEXT(x, "%.6g %% %s", 100 * o->attainment, who);
    double share = t->n ? (double)t->k / (double)t->n : NAN;
    if (isnan(o->attainment))
        return 0;
    if (!t->n || b->unsent)
        return jm_cmp_clause(
            x, k, "slo", o->slice, JM_CLAUSE_OPEN, asked, "not told",
            b->unsent ? JM_CMP_TEXT(x,
                                    "%llu requests of %c were due, never sent and not kept, so nobody "
                                    "knows how many were inside their objective",
                                    (unsigned long long)b->unsent, jm_cmp_letter(k))
                      : JM_CMP_TEXT(x, "no request %s was measured, so its objective is not told", who));
    const char *found = JM_CMP_TEXT(x, "%.4g %% (%llu of %llu), at least %.4g %%", 100 * share,
                                    (unsigned long long)t->k, (unsigned long long)t->n, 100 * t->bound.lo);
    if (t->bound.lo >= o->attainment)
        return jm_cmp_clause(x, k, "slo", o->slice, JM_CLAUSE_MET, asked, found, NULL);
    if (t->bound.hi < o->attainment)
        return jm_cmp_clause(x, k, "slo", o->slice, JM_CLAUSE_BROKEN, asked, found,
                             JM_CMP_TEXT(x, "%.4g %% %s met their objective, and %.6g %% must", 100 * share,
                                         who, 100 * o->attainment));
    return jm_cmp_clause(
        x, k, "slo", o->slice, JM_CLAUSE_OPEN, asked, found,
        JM_CMP_TEXT(x,
                    "%.4g %% %s met their objective, which shows %.4g %% and not the %.6g %% asked "
                    "for: more requests are needed",
                    100 * share, who, 100 * t->bound.lo, 100 * o->attainment));
}

/* --- errors: by the budget, or no more than with A */
static int errors(struct jm_cmp *x, struct jm_candidate *k)
{
    const struct jm_contract *c = x->o->contract;
    const struct jm_compare_side *a = &x->c->side[0], *b = &x->c->side[k->side];
    bool given = !isnan(c->error_budget);
    double share = b->requests ? (double)b->failed / (double)b->requests : NAN,
           base = a->requests ? (double)a->failed / (double)a->requests : NAN;
    const char *asked =
        given ? JM_CMP_TEXT(x, "at most %.6g %% fail", 100 * c->error_budget) : "no more fail than with A";
    if (!b->requests)
        return jm_cmp_clause(x, k, "errors", NULL, JM_CLAUSE_OPEN, asked, "not told",
                             "the runs have no requests, so failures are not told");
    const char *found =
        JM_CMP_TEXT(x, "%.4g %% (%llu of %llu), at most %.4g %%", 100 * share, (unsigned long long)b->failed,
                    (unsigned long long)b->requests, 100 * b->failed_share.hi);
    if (!given) {
        bool more = share > base && b->failed_share.lo > a->failed_share.hi;
        return jm_cmp_clause(
            x, k, "errors", NULL, more ? JM_CLAUSE_BROKEN : JM_CLAUSE_MET, asked, found,
            JM_CMP_TEXT(x,
                        "%c fails %.3g %% of the requests and A %.3g %%: joules that were saved by "
                        "leaving work undone are none",
                        jm_cmp_letter(k), 100 * share, 100 * base));
    }
    if (b->failed_share.hi <= c->error_budget)
        return jm_cmp_clause(x, k, "errors", NULL, JM_CLAUSE_MET, asked, found, NULL);
    if (b->failed_share.lo > c->error_budget)
        return jm_cmp_clause(x, k, "errors", NULL, JM_CLAUSE_BROKEN, asked, found,
                             JM_CMP_TEXT(x, "%.3g %% of the requests failed, and the budget is %.6g %%",
                                         100 * share, 100 * c->error_budget));
    return jm_cmp_clause(
        x, k, "errors", NULL, JM_CLAUSE_OPEN, asked, found,
        JM_CMP_TEXT(x,
                    "%.3g %% of the requests failed, which may be as much as %.3g %%, above the "
                    "budget of %.6g %%: more requests are needed",
                    100 * share, 100 * b->failed_share.hi, 100 * c->error_budget));
}

/* Nobody knows how many failed where a file does not hold all requests; trials that were chosen show nothing.
 */
static int whole(struct jm_cmp *x, struct jm_candidate *k)
{
    int rc = 0;
    for (int side = 0; !rc && side < 2; side++) {
        const char *out = jm_cmp_left_out(x, side ? k->side : 0),
                   *chosen = jm_cmp_chosen(x, side ? k->side : 0);
        char letter = side ? jm_cmp_letter(k) : 'A';
        if (out && (side || isnan(x->o->contract->error_budget)))
            rc = jm_cmp_clause(x, k, "errors", NULL, JM_CLAUSE_OPEN, "every request is in the file",
                               "not all are",
                               JM_CMP_TEXT(x, "the failures of %c are not told: %.300s", letter, out));
        if (!rc && chosen)
            rc = jm_cmp_clause(x, k, "trials", NULL, JM_CLAUSE_OPEN, "every trial, at its length",
                               "not all are",
                               JM_CMP_TEXT(x, "%s: a choice of trials shows nothing of %c", chosen, letter));
    }
    return rc;
}

/* --- quality: the loss of the mean score (Welch), and the mean itself */
static int quality_loss(struct jm_cmp *x, struct jm_candidate *k)
{
    const struct jm_contract *c = x->o->contract;
    const struct jm_compare_side *a = &x->c->side[0], *b = &x->c->side[k->side];
    const char *asked = JM_CMP_TEXT(x, "loses at most %.6g %%", 100 * c->quality_loss);
    if (!(a->n_quality >= 2 && b->n_quality >= 2))
        return jm_cmp_clause(
            x, k, "quality", NULL, JM_CLAUSE_OPEN, asked, "not told",
            "the contract asks for quality, and not both sides have scores, two at least: give them "
            "with --quality, "
            "once a side");
    if (!(a->quality > 0))
        return jm_cmp_clause(x, k, "quality", NULL, JM_CLAUSE_OPEN, asked, "not told",
                             "the mean score of A is not above 0, so a share of it says nothing");
    /* B's mean against what it may not fall below */
    double least = a->quality * (1 - c->quality_loss),
           u[2] = {a->quality_se * (1 - c->quality_loss), b->quality_se},
           nu[2] = {a->quality_dof, b->quality_dof}, se = hypot(u[0], u[1]),
           t = se > 0 ? jm_stats_t_quantile(1 - (1 - x->c->decide.level) / 2, jm_stats_welch_dof(u, nu, 2))
                      : 0,
           loss = 1 - b->quality / a->quality, over = b->quality - least;
    double half = t * se / a->quality;
    const char *found =
        JM_CMP_TEXT(x, "%s %.3g %% (%.4g, A %.4g), at most %.3g %%", loss < 0 ? "gains" : "loses",
                    100 * fabs(loss), b->quality, a->quality, 100 * (loss + half));
    if (over >= t * se)
        return jm_cmp_clause(x, k, "quality", NULL, JM_CLAUSE_MET, asked, found, NULL);
    if (over < -t * se)
        return jm_cmp_clause(x, k, "quality", NULL, JM_CLAUSE_BROKEN, asked, found,
                             JM_CMP_TEXT(x, "%c loses %.3g %% of the quality, and %.6g %% is allowed",
                                         jm_cmp_letter(k), 100 * loss, 100 * c->quality_loss));
    return jm_cmp_clause(
        x, k, "quality", NULL, JM_CLAUSE_OPEN, asked, found,
        JM_CMP_TEXT(x,
                    "%c may lose as much as %.3g %% of the quality, and %.6g %% is allowed: more "
                    "scored answers are needed",
                    jm_cmp_letter(k), 100 * (loss + half), 100 * c->quality_loss));
}

static int quality_minimum(struct jm_cmp *x, struct jm_candidate *k)
{
    const struct jm_contract *c = x->o->contract;
    const struct jm_compare_side *b = &x->c->side[k->side];
    const char *asked = JM_CMP_TEXT(x, "mean score %.6g", c->quality_minimum);
    if (b->n_quality < 2)
        return jm_cmp_clause(
            x, k, "quality", NULL, JM_CLAUSE_OPEN, asked, "not told",
            JM_CMP_TEXT(
                x, "the contract asks for a score, and %c has none: give them with --quality, once a side",
                jm_cmp_letter(k)));
    double t = jm_stats_t_quantile(1 - (1 - x->c->decide.level) / 2, b->quality_dof) * b->quality_se;
    const char *found = JM_CMP_TEXT(x, "%.4g, at least %.4g", b->quality, b->quality - t);
    if (b->quality - t >= c->quality_minimum)
        return jm_cmp_clause(x, k, "quality", NULL, JM_CLAUSE_MET, asked, found, NULL);
    return jm_cmp_clause(x, k, "quality", NULL,
                         b->quality + t < c->quality_minimum ? JM_CLAUSE_BROKEN : JM_CLAUSE_OPEN, asked,
                         found,
                         JM_CMP_TEXT(x, "the mean score of %c is %.4g, at least %.4g, and %.6g is asked for",
                                     jm_cmp_letter(k), b->quality, b->quality - t, c->quality_minimum));
}

/* --- the saving itself */
static int saving(struct jm_cmp *x, struct jm_candidate *k)
{
    const struct jm_decision *d = &k->decision;
    const char *asked = x->o->contract->minimum_saving > 0
                            ? JM_CMP_TEXT(x, "more than %.6g %%", 100 * x->o->contract->minimum_saving)
                            : "any";
    const char *found =
        d->n >= 2 ? JM_CMP_TEXT(x, d->lo > -10 ? "%.3g %% (%.3g to %.3g %%)" : "%.3g %% (%.0f to %.3g %%)",
                                100 * d->saving, 100 * d->lo, 100 * d->hi)
                  : JM_CMP_TEXT(x, "%.3g %% in one pair", 100 * d->saving);
    return jm_cmp_clause(x, k, "saving", NULL,
                         d->verdict == JM_VERDICT_ACCEPT   ? JM_CLAUSE_MET
                         : d->verdict == JM_VERDICT_REJECT ? JM_CLAUSE_BROKEN
                                                           : JM_CLAUSE_OPEN,
                         asked, found, k->sentence ? k->sentence : "");
}

static int known(struct jm_cmp *x, struct jm_candidate *k)
{
    const struct jm_contract *c = x->o->contract;
    int rc = 0;
    for (size_t i = 0; !rc && i < c->known.n; i++) {
        const char *name = c->known.item[i], *missing = NULL;
        size_t n = strlen(name);
        for (size_t f = 0; f < x->c->n_fact; f++) {
            const struct jm_compare_fact *q = &x->c->fact[f];
            if (strncmp(q->id, name, n) == 0 && (q->id[n] == '\0' || q->id[n] == '.') &&
                (!q->value[0] || !q->value[k->side]))
                missing = q->title;
        }
        rc = jm_cmp_clause(
            x, k, "known", NULL, missing ? JM_CLAUSE_OPEN : JM_CLAUSE_MET,
            JM_CMP_TEXT(x, "%s is known", name), missing ? "not known" : "known",
            missing ? JM_CMP_TEXT(x, "the contract wants to know the %s of both sides, and it is not known",
                                  missing)
                    : NULL);
    }
    return rc;
}

int jm_cmp_clauses(struct jm_cmp *x, struct jm_candidate *k)
{
    const struct jm_contract *c = x->o->contract;
    size_t room = 8 + JM_CONTRACT_SLOS + 64 + c->known.n + 64;
    if (!(k->clause = jm_report_alloc(x->mem, room * sizeof *k->clause)))
        return jm_cmp_memory(x);
    int rc = saving(x, k);
    for (size_t i = 0; !rc && i < c->n_slo; i++)
        rc = slo(x, k, i);
    if (!rc)
        rc = errors(x, k);
    if (!rc)
        rc = whole(x, k);
    if (!rc && c->quality && !isnan(c->quality_loss))
        rc = quality_loss(x, k);
    if (!rc && c->quality && !isnan(c->quality_minimum))
        rc = quality_minimum(x, k);
    if (!rc)
        rc = known(x, k);
    if (!rc && !isnan(c->slice_regression))
        rc = jm_cmp_slices(x, k, room);
    return rc;
}
