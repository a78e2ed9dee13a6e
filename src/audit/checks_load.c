/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of requests, tokens and the client. */
#include <math.h>
#include <string.h>

#include "audit/checks.h"
#include "audit/threshold.h"

#include "base/banned.h"

int jm_check_sut(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const char *why = jm_run_env(run, "conflict.sut"), *unknown = jm_run_env(run, "sut.unknown");
    if (!r->has_requests)
        return 0;
    if (why)
        return jm_finding_at(
            r,
            jm_report_finding(
                r, "sut.conflict", JM_SEV_ERROR,
                "meters not at the SUT: %s; no energy per token is formed (measure on the host that "
                "serves, or add its meters)",
                why),
            -1, err, NULL);
    if (unknown)
        return jm_finding_at(
            r,
            jm_report_finding(
                r, "sut.unknown", JM_SEV_WARNING,
                "which GPUs serve the endpoint is not known (%s), so every GPU of the host is counted",
                unknown),
            -1, err, NULL);
    return 0;
}

int jm_check_tokens(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    if (!r->tokens.unknown_requests)
        return 0;
    return jm_finding_at(
        r,
        jm_report_finding(r, "tokens.unknown", JM_SEV_ERROR,
                          "the server sent no token count for %lld successful requests; ask it for usage "
                          "(stream_options.include_usage)",
                          (long long)r->tokens.unknown_requests),
        -1, err, NULL);
}

int jm_check_failures(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int64_t bad = r->requests.failed + r->requests.aborted, all = bad + r->requests.ok;
    int worst = -1;
    (void)run;
    if (!r->has_requests)
        return 0;
    if (!all)
        return jm_finding_at(
            r,
            jm_report_finding(r, "requests.none", JM_SEV_ERROR, "no request ended inside a measured window"),
            -1, err, NULL);
    double share = (double)bad / (double)all;
    if (share < JM_TH_FAILED_WARN)
        return 0;
    for (int e = 0; e < JM_END_COUNT; e++)
        if (e != JM_END_OK && r->requests.by_end[e] > (worst < 0 ? 0 : r->requests.by_end[worst]))
            worst = e;
    struct jm_finding *f =
        jm_report_finding(r, "requests.failed", share >= JM_TH_FAILED_ERROR ? JM_SEV_ERROR : JM_SEV_WARNING,
                          "%lld of %lld requests did not succeed (most: %s); their energy is included",
                          (long long)bad, (long long)all, worst >= 0 ? jm_end_name(worst) : "?");
    return jm_finding_at(r, f, -1, err, NULL);
}

/* Tokens of the first half of each window against the second. */
int jm_check_steady(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    for (size_t i = 0; i < r->n_series; i++) {
        const struct jm_series *s = &r->series[i];
        double half[2] = {0, 0};
        if (s->channel >= 0 || s->n < 10)
            continue;
        /* the last second is usually a part of one */
        size_t n = (s->n - 1) / 2 * 2;
        for (size_t k = 0; k < n; k++)
            half[k >= n / 2] += s->max[k];
        double mean = (half[0] + half[1]) / 2;
        if (!(mean > 0) || fabs(half[1] - half[0]) <= JM_TH_STEADY_REL * mean)
            continue;
        struct jm_finding *f = jm_report_finding(
            r, "load.unsteady", JM_SEV_WARNING,
            "the token rate of the second half is %+.0f %% against the first: warm-up too short, or "
            "the load does not fit",
            100 * (half[1] / half[0] - 1));
        int rc = jm_finding_at(r, f, s->window, err, NULL);
        if (rc)
            return rc;
    }
    return 0;
}

int jm_check_bias(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const struct jm_result *b = jm_report_find(r, "bias.in_flight", JM_B_NONE, -2);
    (void)run;
    if (!b || !b->q.have || b->q.value <= JM_TH_BIAS)
        return 0;
    struct jm_finding *f = jm_report_finding(
        r, "edge.bias", b->q.value > 10 * JM_TH_BIAS ? JM_SEV_WARNING : JM_SEV_INFO,
        "requests cut by an edge during prefill can shift energy per token by up to %.1f %%; a longer "
        "window makes it smaller",
        100 * b->q.value);
    return jm_finding_at(r, f, b->window, err, "%g requests of %g", b->numerator, b->denominator);
}

static int length(struct jm_report *r, const char *what, const struct jm_dist *d, double asked,
                  const char *why, struct jm_err *err)
{
    if (!d->n || !(asked > 0) || fabs(d->mean / asked - 1) <= JM_TH_LENGTH_REL)
        return 0;
    struct jm_finding *f = jm_report_finding(
        r, "lengths.differ", JM_SEV_WARNING,
        "%s tokens: %.4g asked for, %.4g counted by the server on average; %s", what, asked, d->mean, why);
    return jm_finding_at(r, f, -1, err, NULL);
}

int jm_check_lengths(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    double isl = jm_run_number(run, "plan.isl"), osl = jm_run_number(run, "plan.osl");
    int rc =
        length(r, "input", &r->tokens.isl, isl, "prompts were truncated, or the template adds tokens", err);
    return rc ? rc
              : length(r, "output", &r->tokens.osl, osl, "ignore_eos was ignored, or answers end early", err);
}

int jm_check_client(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    double cpu = jm_run_number(run, "load.client_cpu"), lag = jm_run_number(run, "load.lag_p99_ms");
    const struct jm_result *tpot = jm_report_find(r, "tpot.excl_first", JM_B_NONE, -2);
    const char *verdict = jm_run_env(run, "load.verdict");
    double gap = NAN;
    for (size_t i = 0; tpot && i < r->n_results; i++)
        if (strcmp(r->results[i].metric, "tpot.excl_first") == 0 && r->results[i].quantile == 0.5)
            gap = r->results[i].q.value * 1e3;
    bool busy = cpu > JM_TH_CLIENT_CPU, late = lag > JM_TH_CLIENT_LAG * gap && lag > 1;
    if (!busy && !late && !(verdict && strcmp(verdict, "client-limited") == 0))
        return 0;
    struct jm_finding *f = jm_report_finding(
        r, "client.limit", JM_SEV_WARNING,
        "the client may be the limit (its load threads used %.0f %% of a core, sends were %.3g ms late "
        "at the 99th percentile); use more threads or another host",
        100 * cpu, lag);
    return jm_finding_at(r, f, -1, err, NULL);
}
