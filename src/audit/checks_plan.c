/* SPDX-License-Identifier: Apache-2.0 */
/* Was the plan of the load kept, and its contract? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit/checks.h"
#include "audit/threshold.h"

#include "base/banned.h"

/* Arrivals that never got a connection: the schedule was not kept, whatever the latencies of the others say.
 */
int jm_check_unsent(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    double unsent = jm_run_number(run, "load.unsent"), bare = jm_run_number(run, "load.unsent.bare"),
           limit = jm_run_number(run, "load.in_flight_limit");
    if (!(unsent > 0))
        return 0;
    struct jm_finding *f = jm_report_finding(
        r, "load.unsent", bare > 0 ? JM_SEV_ERROR : JM_SEV_WARNING,
        "%.0f requests that were due were never sent: as many as allowed (%.0f) were under way; ask for "
        "less, or "
        "allow more (--concurrency)%s",
        unsent, limit,
        bare > 0 ? "; so many that not each is in the record, so that attainment cannot be told" : "");
    return jm_finding_at(r, f, -1, err, NULL);
}

/* Percentiles of a scenario: p99 of the requests scheduled in each measured window against the constraint. */
static int percentile(struct jm_report *r, double at, const char *metric, double limit, const char *benchmark,
                      struct jm_err *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && isfinite(limit) && i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        if (strcmp(x->metric, metric) != 0 || x->window < 0 || fabs(x->quantile - at / 100) > 1e-9 ||
            !x->q.have || x->q.value <= limit)
            continue;
        struct jm_finding *f = jm_report_finding(
            r, "scenario.latency", JM_SEV_WARNING,
            "%s: %s of %.4g s at the %gth percentile is above the constraint of %.4g s; lower the rate",
            benchmark, metric, x->q.value, at, limit);
        rc = jm_finding_at(r, f, x->window, err, NULL);
    }
    return rc;
}

int jm_check_scenario(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const char *label = jm_run_env(run, "plan.scenario.label"), *what = jm_run_env(run, "plan.scenario"),
               *benchmark = jm_run_env(run, "plan.scenario.benchmark");
    double at = jm_run_number(run, "contract.percentile");
    if (!label)
        return 0;
    struct jm_finding *f = jm_report_finding(
        r, "scenario.unofficial", JM_SEV_INFO,
        "%s: %s of %s; only what LoadGen measures on the benchmark's own data set is an MLPerf result", label,
        what ? what : "?", benchmark ? benchmark : "?");
    int rc = jm_finding_at(r, f, -1, err, NULL);
    if (!rc && at > 0)
        rc = percentile(r, at, "ttft", jm_run_number(run, "contract.ttft_s"), benchmark ? benchmark : "?",
                        err);
    if (!rc && at > 0)
        rc = percentile(r, at, "tpot.excl_first", jm_run_number(run, "contract.tpot_s"),
                        benchmark ? benchmark : "?", err);
    if (!rc && at > 0)
        rc = percentile(r, at, "e2e", jm_run_number(run, "contract.e2e_s"), benchmark ? benchmark : "?", err);
    return rc;
}
