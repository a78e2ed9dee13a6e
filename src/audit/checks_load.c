/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of requests, tokens and the client. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit/checks.h"
#include "audit/threshold.h"
#include "base/num.h"
#include "base/stats.h"

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
    if (!unknown && !jm_run_env(run, "sut.gpus"))
        unknown = jm_run_env(run, "endpoint.pid_unknown");
    if (unknown && r->n_energy)
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
    int64_t bad = r->requests.failed + r->requests.aborted - r->requests.cancelled,
            all = bad + r->requests.ok;
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
    char classes[400];
    size_t n = 0;
    classes[0] = '\0';
    for (int e = 0; e < JM_END_COUNT; e++) {
        int64_t of = r->requests.by_end[e] - (e == JM_END_ABORTED ? r->requests.cancelled : 0);
        if (e != JM_END_OK && of > 0 && n < sizeof classes)
            n += (size_t)snprintf(classes + n, sizeof classes - n, "%s%s %lld", n ? ", " : "", jm_end_name(e),
                                  (long long)of);
    }
    struct jm_finding *f =
        jm_report_finding(r, "requests.failed", share >= JM_TH_FAILED_ERROR ? JM_SEV_ERROR : JM_SEV_WARNING,
                          "%lld of %lld requests did not succeed (most: %s); their energy is included",
                          (long long)bad, (long long)all, worst >= 0 ? jm_end_name(worst) : "?");
    return jm_finding_at(r, f, -1, err, classes[0] ? "%s" : NULL, classes);
}

/* Tokens of the first half of a window against the second, in ten batches: the difference must be large, and
 * larger than the scatter of the batches explains. */
static int steady(struct jm_report *r, const struct jm_series *s, struct jm_err *err)
{
    double batch[10], half[2], ss = 0;
    for (size_t b = 0; b < 10; b++) {
        size_t from = b * s->n / 10, to = (b + 1) * s->n / 10;
        batch[b] = 0;
        for (size_t k = from; k < to; k++)
            batch[b] += s->max[k] / (double)(to - from);
    }
    for (size_t h = 0; h < 2; h++)
        half[h] = jm_stats_mean(batch + 5 * h, 5);
    for (size_t b = 0; b < 10; b++)
        ss += (batch[b] - half[b / 5]) * (batch[b] - half[b / 5]);
    double mean = (half[0] + half[1]) / 2, diff = half[1] - half[0];
    /* pooled standard deviation over 8 degrees of freedom, of the difference of two means of five */
    if (!(mean > 0) || fabs(diff) <= JM_TH_STEADY_REL * mean ||
        fabs(diff) <= JM_TH_STEADY_T * sqrt(ss / 8 * 2 / 5))
        return 0;
    bool strict = r->profile == JM_PROFILE_CLAIM || r->profile == JM_PROFILE_PUBLICATION;
    struct jm_finding *f = jm_report_finding(
        r, "load.unsteady", strict ? JM_SEV_ERROR : JM_SEV_WARNING,
        "the token rate went from %.4g/s in the first half to %.4g/s in the second: warm-up too short, or "
        "the load does not fit",
        half[0], half[1]);
    return jm_finding_at(r, f, s->window, err, NULL);
}

int jm_check_steady(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int rc = 0;
    if (jm_run_env(run,
                   "import.placed")) /* an imported file without start times: when tokens came is not known */
        return 0;
    for (size_t i = 0; !rc && i < r->n_series; i++)
        if (r->series[i].channel < 0 && r->series[i].window >= 0 && r->series[i].n >= 10)
            rc = steady(r, &r->series[i], err);
    return rc;
}

int jm_check_bias(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int rc = 0;
    if (jm_run_env(run, "import.placed"))
        return 0;
    for (size_t i = 0; !rc && i < r->n_results; i++) {
        const struct jm_result *b = &r->results[i];
        if (strcmp(b->metric, "bias.in_flight") != 0 || b->window < 0 || !b->q.have ||
            b->q.value <= JM_TH_BIAS)
            continue;
        struct jm_finding *f = jm_report_finding(
            r, "edge.bias", b->q.value > 10 * JM_TH_BIAS ? JM_SEV_WARNING : JM_SEV_INFO,
            b->q.value <= 0.5
                ? "requests cut by an edge during prefill can shift energy per token by up to "
                  "%.1f %%; a longer window makes it smaller"
                : "as many requests are cut by an edge during prefill as would shift energy per "
                  "token by half and more: the window is too short for it",
            100 * b->q.value);
        rc = jm_finding_at(r, f, b->window, err, "%g of %g requests", b->numerator, b->denominator);
    }
    return rc;
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
    int rc = length(r, "input", &r->tokens.isl, jm_run_number_or(run, "plan.isl", "load.isl"),
                    "prompts were truncated, or the template adds tokens", err);
    return rc ? rc
              : length(r, "output", &r->tokens.osl, jm_run_number_or(run, "plan.osl", "load.osl"),
                       "ignore_eos was ignored, or answers end early", err);
}

/* The load's own verdict; where there is none (another client), its numbers. */
int jm_check_client(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const char *verdict = jm_run_env(run, "load.client");
    double cpu = jm_run_number(run, "load.cpu"), threads = jm_run_number(run, "load.threads"),
           lag = jm_run_number(run, "load.lag.p99_ms"), gap = jm_run_number(run, "load.itl.p50_ms"),
           read = jm_run_number(run, "load.read_lag.p99_ms");
    char why[300] = "";
    double each = cpu / (threads >= 1 ? threads : 1);
    bool limited = verdict ? strcmp(verdict, "client-limited") == 0
                           : each > JM_TH_CLIENT_CPU || (lag > JM_TH_CLIENT_LAG * gap && lag > 1);
    if (!limited)
        return 0;
    const char *said = jm_run_env(run, "load.client.why");
    if (said)
        snprintf(why, sizeof why, "%.250s", said);
    else if (isfinite(each))
        snprintf(why, sizeof why, "its load threads used %.0f %% of a core each", 100 * each);
    if (!said && isfinite(lag))
        snprintf(why + strlen(why), sizeof why - strlen(why),
                 "%ssends were %.3g ms late at the 99th percentile", why[0] ? ", " : "", lag);
    if (!said && read > gap) /* NAN on either side: not known */
        snprintf(
            why + strlen(why), sizeof why - strlen(why),
            "%sanswers were read %.3g ms after they came at the 99th percentile, with %.3g ms from one to "
            "the next",
            why[0] ? ", " : "", read, gap);
    struct jm_finding *f =
        jm_report_finding(r, "client.limit", JM_SEV_WARNING,
                          "the client may be the limit (%s); use more threads or another host",
                          why[0] ? why : "as it says itself");
    return jm_finding_at(r, f, -1, err, NULL);
}

/* "97 of 100", of the successful answers to requests with ignore_eos; lengths.differ looks at their mean. */
int jm_check_short(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    struct jm_span text = jm_span_of(jm_run_env(run, "load.osl.kept")), right;
    int64_t kept, all;
    ptrdiff_t of = jm_span_find(text, JM_SPAN(" of "));
    if (of < 0)
        return 0;
    right = jm_span_sub(text, (size_t)of + 4, text.n);
    if (jm_num_i64(jm_span_sub(text, 0, (size_t)of), &kept) != 0 || jm_num_i64(right, &all) != 0 ||
        kept < 0 || kept >= all)
        return 0;
    const char *by = jm_run_env(run, "load.osl.by");
    struct jm_finding *f = jm_report_finding(
        r, "lengths.short", JM_SEV_WARNING,
        "%lld of %lld answers that ended as successes have not the number of tokens that "
        "ignore_eos asked for: %s",
        (long long)(all - kept), (long long)all,
        by && strncmp(by, "nothing", 7) == 0 ? "the API of the run has no way to ask the engine for it"
        : kept * 2 < all                     ? "the engine ignores it"
                                             : "they were cut on the way, and something made a stop of it");
    return jm_finding_at(r, f, -1, err, NULL);
}

/* Joules of the processors over the measured windows, each package once; NAN when none is metered. */
static double cpu_joules(const struct jm_report *r)
{
    double sum = NAN;
    for (size_t i = 0; i < r->n_energy; i++) {
        const struct jm_energy_row *e = &r->energy[i];
        if (!e->counted || e->domain < 0 || !isfinite(e->joules) ||
            r->windows[e->window].role != JM_R_MEASURE)
            continue;
        enum jm_domain_kind kind = r->tree->d[e->domain].kind;
        if (kind == JM_D_PACKAGE || kind == JM_D_CPU || kind == JM_D_GRACE)
            sum = isnan(sum) ? e->joules : sum + e->joules;
    }
    return sum;
}

/* The rule is by CPU time: what the load generator used of all the time that the processors had. Idle power
 * is shared out with it, so this is less than what the machine would save without it at full load, and more
 * at low load. */
int jm_check_client_energy(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    double cores = jm_run_number(run, "load.cpu"), cpus = jm_run_number(run, "host.cpus"),
           joules = cpu_joules(r);
    if (!(cores > 0 && cpus >= 1 && cores <= cpus && joules > 0))
        return 0;
    double share = cores / cpus;
    struct jm_finding *f = jm_report_finding(r, "client.energy", JM_SEV_INFO,
                                             "about %.3g J of the %.4g J of the processors are the load "
                                             "generator's own (allocated: %.2g %% of their CPU time)",
                                             share * joules, joules, 100 * share);
    return jm_finding_at(r, f, -1, err, "%.3g of %.0f CPUs on average, over the measured windows", cores,
                         cpus);
}

int jm_check_shared(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    double events = jm_run_number(run, "load.events"), shared = jm_run_number(run, "load.events.shared");
    const char *coding = jm_run_env(run, "load.compression");
    if (!(events > 0 && shared > JM_TH_SHARED * events)) /* also where either is not known */
        return 0;
    struct jm_finding *f = jm_report_finding(
        r, "stamps.shared", JM_SEV_WARNING,
        "%.0f %% of the token events came in one read with the one before: something on the way holds them "
        "back (%s), so the gaps between them are not the engine's",
        100 * shared / events,
        coding && strcmp(coding, "none") != 0
            ? "the answers were compressed"
            : "a proxy that buffers, nginx without \"proxy_buffering off\"");
    return jm_finding_at(r, f, -1, err, "%.0f of %.0f events", shared, events);
}

/* Requests whose first event stood for tokens that were generated long before it. */
int jm_check_bundled(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    double n = jm_run_number(run, "load.bundled");
    if (!(n > 0))
        return 0;
    struct jm_finding *f = jm_report_finding(
        r, "tokens.bundled", JM_SEV_WARNING,
        "the first event of %.0f requests brought what had been generated long before it (reasoning that is "
        "not sent, or a buffer on the way): their TTFT is that of the bundle, and their time per token means "
        "little",
        n);
    return jm_finding_at(r, f, -1, err, NULL);
}

int jm_check_loaded(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    double n = jm_run_number(run, "load.model_loads"), most = jm_run_number(run, "load.model_loads.max_ms");
    if (!(n > 0))
        return 0;
    struct jm_finding *f =
        jm_report_finding(r, "model.loaded", JM_SEV_WARNING,
                          "the engine loaded the model for %.0f requests of the run (up to %.3g s): that is "
                          "inside their TTFT and "
                          "their energy; warm up until it is loaded, and keep it there (Ollama: keep_alive)",
                          n, most / 1000);
    return jm_finding_at(r, f, -1, err, NULL);
}
