/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audit/checks.h"
#include "audit/threshold.h"
#include "base/stats.h"

#include "base/banned.h"

/* Values of the metric at the boundary, one a trial in their order; n_trials of them, or none. */
static bool by_trial(const struct jm_report *r, const char *metric, enum jm_boundary b, double *v)
{
    int have = 0;
    for (int t = 0; t < r->trials; t++)
        v[t] = NAN;
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (x->window < 0 || x->slice || x->q.boundary != b || strcmp(x->metric, metric) != 0)
            continue;
        int t = r->windows[x->window].trial;
        if (r->windows[x->window].role != JM_R_MEASURE || t < 0 || t >= r->trials)
            continue;
        if (!x->q.have || !isfinite(x->q.value) || x->have_of != x->of || !isnan(v[t]))
            return false; /* missing, partial, or two windows of one trial: no repetitions of each other */
        v[t] = x->q.value;
        have++;
    }
    return have == r->trials;
}

static int drift(struct jm_report *r, const char *metric, enum jm_boundary b, const double *v, double *t,
                 struct jm_err *err)
{
    struct jm_fit f;
    size_t n = (size_t)r->trials;
    for (size_t i = 0; i < n; i++)
        t[i] = (double)i;
    if (jm_stats_line(t, v, NULL, n, &f, NULL))
        return 0;
    double mean = jm_stats_mean(v, n), change = f.b * (double)(n - 1) / mean;
    double p = f.se_b > 0 ? 2 * jm_stats_t_tail(fabs(f.b) / f.se_b, f.dof) : f.b != 0 ? 0 : 1;
    if (!(mean > 0) || !(fabs(change) >= JM_TH_TRIALS_DRIFT) || !(p <= JM_TH_TRIALS_DRIFT_P))
        return 0;
    struct jm_finding *g =
        jm_report_finding(r, "trials.drift", JM_SEV_WARNING,
                          "%s at %s %s by %.2g %% from the first trial to the last, more than their scatter "
                          "explains: they do not "
                          "repeat each other, so their interval says little; warm up longer, or let the "
                          "machine cool down between them",
                          metric, jm_boundary_name((int)b), change < 0 ? "fell" : "rose", 100 * fabs(change));
    return jm_finding_at(r, g, -1, err, "%d trials, %.6g to %.6g, p = %.2g", r->trials, v[0], v[n - 1], p);
}

int jm_check_trials_drift(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    static const char *const metrics[] = {"j_per.output_token", "power.mean"};
    (void)run;
    if (r->trials < JM_TH_TRIALS_DRIFT_N)
        return 0;
    double *v = malloc(2 * (size_t)r->trials * sizeof *v);
    if (!v)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the trials");
    int rc = 0;
    bool seen = false;
    /* one figure only: each further one would raise the chance of a false alarm */
    for (size_t m = 0; !seen && m < sizeof metrics / sizeof metrics[0]; m++)
        for (size_t i = 0; !seen && i < r->n_results; i++)
            if (r->results[i].window >= 0 && r->results[i].q.boundary != JM_B_NONE &&
                strcmp(r->results[i].metric, metrics[m]) == 0 &&
                (seen = by_trial(r, metrics[m], r->results[i].q.boundary, v)))
                rc = drift(r, metrics[m], r->results[i].q.boundary, v, v + r->trials, err);
    free(v);
    return rc;
}
