/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/decide.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/banned.h"

const char *jm_verdict_name(int v)
{
    static const char *const name[] = {"accept",     "reject",         "lower",         "higher",
                                       "equivalent", "not resolvable", "not comparable"};
    return v >= 0 && v < JM_VERDICT_COUNT ? name[v] : NULL;
}

void jm_decide_defaults(struct jm_decide_opts *o)
{
    *o = (struct jm_decide_opts){.level = JM_DECIDE_LEVEL,
                                 .margin = JM_DECIDE_MARGIN,
                                 .power = JM_DECIDE_POWER,
                                 .least = JM_DECIDE_PAIRS};
}

static int check(const struct jm_decide_opts *o, struct jm_err *err)
{
    if (!(o->level > 0.5 && o->level < 1))
        return jm_err_set(err, JM_EINVAL, "a level of %g is not between 0.5 and 1", o->level);
    if (!(o->minimum >= 0 && o->minimum < 1))
        return jm_err_set(err, JM_EINVAL, "a minimum saving of %g is not from 0 to below 1", o->minimum);
    if (!(o->margin > 0 && o->margin < 1))
        return jm_err_set(err, JM_EINVAL, "a margin of %g is not between 0 and 1", o->margin);
    if (!(o->power > 0 && o->power < 1) || o->least < 2 || !(o->gain >= 0))
        return jm_err_set(err, JM_EINVAL, "power, fewest pairs or gain of a comparison are out of bounds");
    return 0;
}

/* In which place of its session trial i of A was, in quads. */
static double place(const bool *turned, size_t i)
{
    return (double)(4 * (i / 2)) + (i % 2 ? (turned[i] ? 3 : 2) : (turned[i] ? 1 : 0));
}

/* The drift that quads keep out of the difference is not in the floor either: l about a straight line over
 * the places. */
static double about_line(const double *l, size_t n, const bool *turned)
{
    double mx = 0, my = jm_stats_mean(l, n), xx = 0, xy = 0, yy = 0;
    for (size_t i = 0; i < n; i++)
        mx += place(turned, i) / (double)n;
    for (size_t i = 0; i < n; i++) {
        double x = place(turned, i) - mx, y = l[i] - my;
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    return sqrt(fmax(0, yy - xy * xy / xx) / (double)(n - 2));
}

static int aa_floor(struct jm_decision *x, const double *aa, size_t n, const struct jm_decide_opts *o,
                    struct jm_err *err)
{
    if (!o->turned)
        return jm_stat_floor(aa, n, x->n, o->level, &x->floor, err);
    /* the second of two trials of A always comes later: their mean is the drift, which quads keep out */
    double *d = malloc(n * sizeof *d), mean = jm_stats_mean(aa, n);
    if (!d)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the detection floor");
    for (size_t i = 0; i < n; i++)
        d[i] = aa[i] - mean;
    int rc = jm_stat_floor(d, n, x->n, o->level, &x->floor, err);
    free(d);
    return rc;
}

static int find_floor(struct jm_decision *x, const double *aa, size_t n_aa, const double *own, size_t n_own,
                      const struct jm_decide_opts *o, struct jm_err *err)
{
    if (n_aa >= 3) {
        x->floor_source = JM_FLOOR_AA;
        return aa_floor(x, aa, n_aa, o, err);
    }
    if (n_own < 3)
        return 0;
    double *l = malloc(n_own * sizeof *l);
    if (!l)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the detection floor");
    bool good = true;
    for (size_t i = 0; i < n_own; i++) {
        l[i] = log(own[i]);
        good &= isfinite(l[i]);
    }
    bool quads = o->turned && n_own == x->n && n_own >= 4;
    double s = quads ? about_line(l, n_own, o->turned) : jm_stats_sd(l, n_own),
           t = jm_stats_t_quantile(1 - (1 - o->level) / 2, (double)(n_own - (quads ? 2 : 1)));
    free(l);
    if (!good)
        return jm_err_set(err, JM_EINVAL, "an energy of A is not above 0");
    x->floor_source = JM_FLOOR_REPEATS;
    x->floor = (struct jm_floor){
        .log_floor = t * s * sqrt(2 / (double)x->n), .sd = s * sqrt(2), .n = n_own, .m = x->n};
    x->floor.saving = 1 - exp(-x->floor.log_floor);
    x->floor.rise = exp(x->floor.log_floor) - 1;
    return 0;
}

void jm_decide_plan(struct jm_decision *x, const struct jm_decide_opts *o)
{
    struct jm_err none = {0};
    double d = log(x->ratio), asked = log1p(-o->minimum);
    x->sd = x->n >= 2 ? x->paired.sd : x->floor_source ? x->floor.sd : NAN;
    x->sd_assumed = !(x->sd > 0);
    if (x->sd_assumed)
        x->sd = JM_DECIDE_SD_ASSUMED;
    /* the difference seen from what was asked for; with one pair that says too little: what was asked for
     * itself, or the margin */
    x->effect = x->n >= 2 ? fabs(d - (o->contract ? asked : 0)) : 0;
    if (x->why == JM_WHY_FLOOR)
        x->effect = fabs(d);
    if (x->n < 2 || (!o->contract && x->effect < log1p(o->margin)))
        x->effect = o->contract && o->minimum > 0 ? -asked : log1p(o->margin);
    size_t n = 0;
    if (!(x->effect > 0) || jm_stat_pairs_for(x->sd, x->effect, false, 1 - o->level, o->power, &n, &none))
        n = SIZE_MAX;
    if (n < o->least)
        n = o->least;
    if (n <= x->n && n != SIZE_MAX)
        n = x->n + 1; /* they would have done by their scatter, and did not */
    x->pairs_needed = n;
}

static bool above_floor(const struct jm_decision *x)
{
    return x->floor_source && fabs(log(x->ratio)) > x->floor.log_floor;
}

static void judge(struct jm_decision *x, const struct jm_decide_opts *o)
{
    x->verdict = JM_VERDICT_UNRESOLVED;
    if (x->n < o->least) {
        x->why = JM_WHY_FEW;
    } else if (o->contract && x->lo > o->minimum) {
        x->why = above_floor(x) ? JM_WHY_SHOWN : JM_WHY_FLOOR;
        if (x->why == JM_WHY_SHOWN)
            x->verdict = JM_VERDICT_ACCEPT;
    } else if (o->contract && x->hi < o->minimum) {
        x->verdict = JM_VERDICT_REJECT;
        x->why = JM_WHY_SHORT;
    } else if (o->contract) {
        x->why = JM_WHY_STRADDLES;
    } else if ((x->lo > 0 || x->hi < 0) && above_floor(x)) {
        x->why = JM_WHY_SHOWN;
        x->verdict = x->lo > 0 ? JM_VERDICT_LOWER : JM_VERDICT_HIGHER;
    } else if (x->tost.equivalent && !(o->gain > 0)) {
        x->why = JM_WHY_SAME;
        x->verdict = JM_VERDICT_EQUIVALENT;
    } else {
        x->why = x->lo > 0 || x->hi < 0 ? JM_WHY_FLOOR : JM_WHY_STRADDLES;
    }
}

int jm_decide(const double *d, size_t n, const double *aa, size_t n_aa, const double *own, size_t n_own,
              const struct jm_decide_opts *o, struct jm_decision *x, struct jm_err *err)
{
    *x = (struct jm_decision){.n = n, .lo = NAN, .hi = NAN, .p = NAN, .p_holm = NAN};
    int rc = check(o, err);
    if (rc)
        return rc;
    if (!n)
        return jm_err_set(err, JM_EINVAL, "there is no pair to compare");
    for (size_t i = 0; i < n; i++)
        if (!isfinite(d[i]))
            return jm_err_set(err, JM_EINVAL, "the ratio of a pair is no number above 0");
    x->ratio = exp(jm_stats_mean(d, n));
    x->saving = 1 - x->ratio;
    if ((rc = find_floor(x, aa, n_aa, own, n_own, o, err)))
        return rc;
    if (n >= 2) {
        double alpha = 1 - o->level;
        rc = o->turned ? jm_stat_abba(d, o->turned, n, o->level, &x->paired, err)
                       : jm_stat_paired(d, n, o->level, &x->paired, err);
        if (rc || (rc = jm_stat_tost_of(&x->paired, o->margin, alpha, &x->tost, err)))
            return rc;
        x->lo = 1 - x->paired.interval.hi * exp(o->gain);
        x->hi = 1 - x->paired.interval.lo * exp(-o->gain);
        /* H0: ln ratio >= ln(1 - minimum), the instruments' doubt on its side */
        double at = log1p(-o->minimum) - o->gain - x->paired.mean;
        x->p = x->paired.se > 0 ? jm_stats_t_tail(at / x->paired.se, x->paired.dof) : at > 0 ? 0 : 1;
        x->p_holm = x->p;
    }
    judge(x, o);
    return 0;
}

static bool favours(const struct jm_decision *x)
{
    return x->verdict == JM_VERDICT_ACCEPT || x->verdict == JM_VERDICT_LOWER;
}

/* The best: corrected for having been chosen. */
static int choose(struct jm_decision *v, size_t k, const struct jm_decide_opts *o, struct jm_err *err)
{
    double *x = malloc(2 * k * sizeof *x), *se = x ? x + k : NULL;
    double least = INFINITY;
    if (!x)
        return jm_err_set(err, JM_ENOMEM, "out of memory for %zu candidates", k);
    for (size_t i = 0; i < k; i++) {
        x[i] = -log(v[i].ratio);
        se[i] = v[i].paired.se;
        least = fmin(least, v[i].paired.dof);
        if (!(se[i] > 0)) { /* one pair, or one value only: nothing to correct by */
            free(x);
            return 0;
        }
    }
    struct jm_winner w;
    /* all stand against the same A */
    int rc = jm_stat_winner(x, se, k, 0.5, least, o->level, &w, err);
    free(x);
    if (rc)
        return rc;
    struct jm_decision *b = &v[w.index];
    b->winner = true;
    b->corrected = w;
    if (favours(b) && !(1 - exp(-(w.interval.lo - o->gain)) > (o->contract ? o->minimum : 0))) {
        b->verdict = JM_VERDICT_UNRESOLVED;
        b->why = JM_WHY_WINNER;
    }
    return 0;
}

int jm_decide_many(struct jm_decision *v, size_t k, const struct jm_decide_opts *o, size_t *best,
                   struct jm_err *err)
{
    int rc = check(o, err);
    *best = 0;
    if (rc || k < 2)
        return rc;
    double *p = malloc(2 * k * sizeof *p);
    if (!p)
        return jm_err_set(err, JM_ENOMEM, "out of memory for %zu candidates", k);
    for (size_t i = 0; i < k; i++)
        p[i] = isfinite(v[i].p) ? v[i].p : 1;
    rc = jm_stat_holm(p, k, p + k, err);
    for (size_t i = 0; !rc && i < k; i++) {
        v[i].p_holm = isfinite(v[i].p) ? p[k + i] : NAN;
        if (favours(&v[i]) && !(v[i].p_holm < (1 - o->level) / 2)) {
            v[i].verdict = JM_VERDICT_UNRESOLVED;
            v[i].why = JM_WHY_HOLM;
        }
    }
    free(p);
    if (!rc)
        rc = choose(v, k, o, err);
    for (size_t i = 1; !rc && i < k; i++)
        if (favours(&v[i]) != favours(&v[*best]) ? favours(&v[i]) : v[i].saving > v[*best].saving)
            *best = i;
    return rc;
}
