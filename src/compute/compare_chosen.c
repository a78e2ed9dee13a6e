/* SPDX-License-Identifier: Apache-2.0 */
/* What may have been chosen: trials that are not in a file, windows shorter than they were planned, failures
 * that a file leaves out, scores of some answers, requests sent twice, differences allowed beside the
 * contract. */
#include <math.h>
#include <string.h>

#include "compute/compare_impl.h"
#include "compute/observe.h"

#include "base/banned.h"

#define MOST_TRIALS 1000
#define TRIMMED     0.9  /* of the planned length of a window */
#define RESENT      1e-3 /* of the requests */
#define SCORES      0.9  /* of the answers, or of the other side's share of them */

static double plan_number(const struct jm_run *run, const char *key)
{
    return jm_run_env(run, key) ? jm_run_number(run, key) : NAN;
}

static bool cut_short(const struct jm_report *r)
{
    for (size_t i = 0; i < r->n_findings; i++)
        if (strcmp(r->findings[i].id, "run.cut") == 0 || strcmp(r->findings[i].id, "run.open") == 0)
            return true;
    return false;
}

/* "trials 2, 5 of 6 are not in b.jmr" */
static const char *missing(struct jm_cmp *x, const struct jm_compare_run *run)
{
    const struct jm_report *r = run->report;
    unsigned char there[MOST_TRIALS] = {0};
    int last = -1;
    const char *list = NULL;
    size_t n = 0;
    for (size_t i = 0; i < r->n_windows; i++) {
        int t = r->windows[i].trial;
        if (r->windows[i].role != JM_R_MEASURE || t < 0 || t >= MOST_TRIALS)
            continue;
        there[t] = 1;
        last = t > last ? t : last;
    }
    double planned = plan_number(run->run, "plan.trials");
    bool open_end = jm_run_env(run->run, "plan.until") || cut_short(r);
    int all = !open_end && planned > last + 1 && planned < MOST_TRIALS ? (int)planned : last + 1;
    for (int t = 0; last >= 0 && t < all; t++) {
        if (there[t] || ++n > 8)
            continue;
        list = list ? JM_CMP_TEXT(x, "%s, %d", list, t + 1) : JM_CMP_TEXT(x, "%d", t + 1);
    }
    if (!list)
        return NULL;
    return JM_CMP_TEXT(x, "trial%s %s%s of %d %s not in %.200s", n == 1 ? "" : "s", list,
                       n > 8 ? ", ..." : "", all, n == 1 ? "is" : "are", jm_run_path(run->run));
}

/* "trial 2 of b.jmr holds 3.1 s of the 6 s that were planned" */
static const char *trimmed(struct jm_cmp *x, const struct jm_compare_run *run)
{
    const struct jm_report *r = run->report;
    double planned = plan_number(run->run, "plan.duration_s");
    for (size_t i = 0; planned > 0 && !cut_short(r) && i < r->n_windows; i++) {
        const struct jm_window *w = &r->windows[i];
        double s = jm_seconds_between(w->t1, w->t0);
        if (w->role == JM_R_MEASURE && s < TRIMMED * planned)
            return JM_CMP_TEXT(x, "trial %d of %.200s holds %.3g s of the %.3g s that were planned",
                               w->trial + 1, jm_run_path(run->run), s, planned);
    }
    return NULL;
}

const char *jm_cmp_chosen(struct jm_cmp *x, size_t side)
{
    const char *text = NULL;
    for (size_t i = 0; !text && i < x->in[side].n_run; i++)
        text = missing(x, &x->in[side].run[i]);
    for (size_t i = 0; !text && i < x->in[side].n_run; i++)
        text = trimmed(x, &x->in[side].run[i]);
    return text;
}

const char *jm_cmp_left_out(const struct jm_cmp *x, size_t side)
{
    for (size_t i = 0; i < x->in[side].n_run; i++) {
        const struct jm_report *r = x->in[side].run[i].report;
        for (size_t f = 0; f < r->n_findings; f++)
            if (strcmp(r->findings[f].id, "requests.left_out") == 0)
                return r->findings[f].text;
    }
    return NULL;
}

/* Requests that the client sent a second time. */
const char *jm_cmp_resent(struct jm_cmp *x, size_t side)
{
    double sum = 0;
    for (size_t i = 0; i < x->in[side].n_run; i++) {
        double n = plan_number(x->in[side].run[i].run, "load.resent");
        sum += n > 0 ? n : 0;
    }
    const struct jm_compare_side *s = &x->c->side[side];
    if (!s->requests || sum < RESENT * (double)s->requests)
        return NULL;
    return JM_CMP_TEXT(x,
                       "%.0f requests of %c were sent a second time, because their connection closed; each "
                       "counts once, as it ended the second time",
                       sum, (char)('A' + side));
}

const char *jm_cmp_few_scores(struct jm_cmp *x, size_t side)
{
    const struct jm_compare_side *a = &x->c->side[0], *b = &x->c->side[side];
    double na = (double)a->n_quality, nb = (double)b->n_quality;
    if (!(na > 0 && nb > 0) || fmin(na, nb) >= SCORES * fmax(na, nb))
        return NULL;
    return JM_CMP_TEXT(
        x,
        "A has %.0f scores and %c %.0f: a choice of answers is not the quality of all; score the "
        "same ones on both sides",
        na, (char)('A' + side), nb);
}

const char *jm_cmp_beside_contract(struct jm_cmp *x)
{
    const char *list = NULL;
    for (size_t i = 0; x->o->contract && i < x->o->n_differs; i++) {
        const char *name = x->o->differs[i];
        bool in = false;
        for (size_t k = 0; k < x->o->contract->differs.n; k++)
            in |= strcmp(x->o->contract->differs.item[k], name) == 0;
        if (!in)
            list = list ? JM_CMP_TEXT(x, "%s, %s", list, name) : JM_CMP_TEXT(x, "%s", name);
    }
    return list ? JM_CMP_TEXT(
                      x,
                      "declared to differ on the command line and not in the contract: %s; the contract "
                      "was written for sides that agree in it",
                      list)
                : NULL;
}
