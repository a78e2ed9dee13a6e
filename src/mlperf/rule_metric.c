/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that rest on a session's figures: the latency limits of the LLM benchmarks, and what PTDaemon said of
 * its uncertainty. */
#include "mlperf/rule_metric.h"

#include <math.h>
#include <stdio.h>

#include "base/banned.h"

#define SIX_DIGITS 2e-6 /* the reply has six decimals; another range is tens of per cent */

static int one(const struct jm_mlperf_result *r, const char *what, const char *rule, double got, double limit,
               bool open, struct jm_mlperf_checked *out, struct jm_err *err)
{
    char evidence[160];
    if (!isfinite(limit))
        return 0;
    if (!isfinite(got))
        return jm_mlperf_outcome_add(
            out, rule, JM_MLPERF_FAIL, NULL, err,
            "LoadGen's log of the run has no %s at the %g %% percentile, which %s %s limits.", what,
            r->latency.percentile, r->model, r->scenario);
    bool ok = open ? got < limit : got <= limit;
    snprintf(evidence, sizeof evidence, "%.6g ms of %g ms", 1000 * got, 1000 * limit);
    return jm_mlperf_outcome_add(out, rule, ok ? JM_MLPERF_PASS : JM_MLPERF_FAIL, evidence, err,
                                 "The %s at the %g %% percentile is %.4g ms; %s %s allows %g ms.", what,
                                 r->latency.percentile, 1000 * got, r->model, r->scenario, 1000 * limit);
}

static int uncertainty(const struct jm_mlperf_result *r, struct jm_mlperf_checked *out, struct jm_err *err)
{
    char evidence[160];
    double said = r->ptd.uncertainty, ours = r->ptd.our_uncertainty;
    if (!isfinite(said) || !isfinite(ours) || !r->ptd.same_formula)
        return 0;
    bool ok = fabs(said - ours) <= fmax(SIX_DIGITS, 0.01 * said);
    snprintf(evidence, sizeof evidence, "Uncertainty,%.6f; %s on %g V x %g A: %.6f", said, r->analyzer,
             r->v_range, r->a_range, ours);
    return jm_mlperf_outcome_add(
        out, "ptd.uncertainty_value", ok ? JM_MLPERF_PASS : JM_MLPERF_WARN, evidence, err,
        ok ? "PTDaemon's mean uncertainty, %.4f %%, is what analyzer, ranges and samples give (%.4f %%)."
           : "PTDaemon says a mean uncertainty of %.4f %%, while analyzer, ranges and samples give %.4f %%: "
             "ranges, "
             "crest factor, model or samples are not what the files say.",
        100 * said, 100 * ours);
}

int jm_mlperf_rules_of_metric(const struct jm_mlperf_session *s, const struct jm_mlperf_result *r,
                              struct jm_mlperf_checked *out, struct jm_err *err)
{
    const struct jm_mlperf_token_latency *l = &r->latency;
    int rc = uncertainty(r, out, err);
    (void)s;
    if (rc || !l->llm)
        return rc;
    if (l->tokens && l->token_latencies == 0)
        rc = jm_mlperf_outcome_add(
            out, "latency.token_latencies", JM_MLPERF_FAIL, "requested_use_token_latencies: false", err,
            "LoadGen was not told to keep token latencies, which %s asks for.", r->model);
    else if (l->tokens && l->token_latencies > 0)
        rc = jm_mlperf_outcome_add(out, "latency.token_latencies", JM_MLPERF_PASS, NULL, err,
                                   "LoadGen kept the latencies of first and further tokens.");
    if (!rc)
        rc = one(r, "time to the first token", "latency.ttft", l->ttft_s, l->ttft_limit_s, true, out, err);
    if (!rc)
        rc = one(r, "time per output token", "latency.tpot", l->tpot_s, l->tpot_limit_s, true, out, err);
    if (!rc)
        rc = one(r, "latency", "latency.e2e", l->e2e_s, l->e2e_limit_s, false, out, err);
    if (!rc && l->limited && l->early_stopping >= 0)
        rc = jm_mlperf_outcome_add(
            out, "latency.early_stopping", l->early_stopping ? JM_MLPERF_PASS : JM_MLPERF_FAIL, NULL, err,
            l->early_stopping ? "Enough queries were issued for the percentiles to hold."
                              : "LoadGen says that the early stopping condition was not met: too "
                                "few queries for the percentiles to hold.");
    return rc;
}
