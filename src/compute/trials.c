/* SPDX-License-Identifier: Apache-2.0 */
/* Over trials: the mean of the trials' values and its t interval. With one trial there is nothing to say, and
 * the results of that trial say so. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "compute/calc.h"
#include "compute/ratio.h"

#include "base/banned.h"

static bool same(const struct jm_result *a, const struct jm_result *b)
{
    bool q = isnan(a->quantile) ? isnan(b->quantile) : a->quantile == b->quantile;
    return q && strcmp(a->metric, b->metric) == 0 && a->q.boundary == b->q.boundary &&
           (a->q.provenance == JM_P_ESTIMATED) == (b->q.provenance == JM_P_ESTIMATED);
}

int jm_results_trials(struct jm_calc *c)
{
    struct jm_report *r = c->r;
    size_t n = r->n_results, trials = 0;
    for (size_t i = 0; i < c->n_win; i++)
        trials += c->win[i].w->role == JM_R_MEASURE;
    if (trials < 2)
        return 0;
    double *v = malloc(trials * sizeof *v);
    if (!v)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for %zu trials", trials);
    for (size_t i = 0; i < n; i++) {
        const struct jm_result first = r->results[i];
        size_t k = 0;
        bool earlier = false;
        if (first.window < 0 || r->windows[first.window].role != JM_R_MEASURE)
            continue;
        for (size_t j = 0; j < i && !earlier; j++)
            earlier = r->results[j].window >= 0 && r->windows[r->results[j].window].role == JM_R_MEASURE &&
                      same(&r->results[j], &first);
        for (size_t j = i; j < n && !earlier && k < trials; j++)
            if (r->results[j].window >= 0 && r->windows[r->results[j].window].role == JM_R_MEASURE &&
                r->results[j].q.have && same(&r->results[j], &first))
                v[k++] = r->results[j].q.value;
        if (earlier || k < 2)
            continue;
        struct jm_interval in;
        double mean;
        struct jm_result *x = jm_report_result(r, first.metric);
        if (!x) {
            free(v);
            return jm_err_set(c->err, JM_ENOMEM, "out of memory for the results");
        }
        x->q = first.q;
        x->set = first.set;
        x->quantile = first.quantile;
        x->of = first.of;
        x->have_of = first.have_of;
        x->instrument = first.instrument;
        x->n = (int64_t)k;
        x->q.have = jm_stats_t_interval(v, k, jm_calc_level(c), &mean, &in) == 0;
        x->q.value = mean;
        x->q.u = (struct jm_uncertainty){in.lo,           in.hi,     in.level,          in.dof,
                                         "t over trials", "repeats", first.q.u.excludes};
        x->q.u.excludes =
            first.q.boundary == JM_B_NONE ? "" : "board gain (no calibration; published cards 0.87 to 1.15)";
    }
    free(v);
    return 0;
}
