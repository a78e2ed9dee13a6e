/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the engine's own telemetry against the client, and of what it says about the load. A run without
 * telemetry gets one note that says why. */
#include <math.h>
#include <string.h>

#include "audit/checks.h"
#include "audit/threshold.h"

#include "base/banned.h"

typedef int (*each_fn)(const struct jm_run *run, struct jm_report *r, const struct jm_engine_window *e,
                       struct jm_err *err);

/* Windows of the role that the engine says something about. */
static int each(const struct jm_run *run, struct jm_report *r, enum jm_role role, each_fn fn,
                struct jm_err *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < r->n_engine_windows; i++) {
        const struct jm_engine_window *e = &r->engine_windows[i];
        if (e->of && r->windows[e->window].role == role)
            rc = fn(run, r, e, err);
    }
    return rc;
}

static double part(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

/* ---- tokens of the engine against those of the client */

static int tokens(const struct jm_run *run, struct jm_report *r, const struct jm_engine_window *e,
                  struct jm_err *err)
{
    double more = e->tokens - e->client, doubt = e->client_u + (e->tokens_hi - e->tokens_lo) / 2,
           ratio = part(e->tokens, e->client), other = e->client_other > 0 ? e->client_other : 0;
    struct jm_finding *f;
    (void)run;
    if (e->lost >= 1) {
        f = jm_report_finding(
            r, "engine.uncounted", JM_SEV_INFO,
            "at least %.0f tokens of aborted requests are in no counter of the engine; its slots showed "
            "them while they ran",
            e->lost);
        int rc = jm_finding_at(r, f, e->window, err, NULL);
        if (rc)
            return rc;
    }
    if (!(e->client > 0) || !isfinite(more) || fabs(more) <= doubt || fabs(ratio - 1) <= JM_TH_ENGINE_HEALTHY)
        return 0;
    if (ratio < 1) {
        f = jm_report_finding(r, "engine.tokens_fewer",
                              ratio < JM_TH_ENGINE_LOW ? JM_SEV_WARNING : JM_SEV_INFO,
                              "the engine counts %.1f %% fewer tokens than the client got: replicas that are "
                              "not scraped, or a count "
                              "of the client that is not in tokens",
                              100 * (1 - ratio));
        return jm_finding_at(r, f, e->window, err,
                             "%.0f by the engine, %.0f by the client, edges can explain %.0f", e->tokens,
                             e->client, doubt);
    }
    bool explained = more - other <= doubt + JM_TH_ENGINE_HEALTHY * e->client;
    f = jm_report_finding(
        r, "engine.tokens_more", ratio > JM_TH_ENGINE_MILD ? JM_SEV_WARNING : JM_SEV_INFO,
        "the engine made %.1f %% more tokens than successful requests got: %s", 100 * (ratio - 1),
        explained ? "those of requests that were aborted or failed, whose energy is included"
        : e->excess_share > 0.5
            ? "another client uses it too"
            : "aborted requests, retries, another client, or speculative tokens that were thrown "
              "away");
    return jm_finding_at(
        r, f, e->window, err,
        "%.0f by the engine, %.0f by the client, %.0f seen of requests that did not succeed, edges can "
        "explain %.0f",
        e->tokens, e->client, other, doubt);
}

int jm_check_engine_tokens(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    return each(run, r, JM_R_MEASURE, tokens, err);
}

/* ---- work that is done twice */

static int preempted(const struct jm_run *run, struct jm_report *r, const struct jm_engine_window *e,
                     struct jm_err *err)
{
    (void)run;
    if (!(e->preempted >= 1))
        return 0;
    struct jm_finding *f =
        jm_report_finding(r, "engine.preempted", JM_SEV_WARNING,
                          "the engine threw %.0f request%s out of its batch and computed %s again: energy "
                          "without a token; fewer "
                          "requests at once or more KV cache avoid it",
                          e->preempted, e->preempted < 1.5 ? "" : "s", e->preempted < 1.5 ? "it" : "them");
    return isfinite(e->kv_max)
               ? jm_finding_at(r, f, e->window, err, "KV cache up to %.0f %% full", 100 * e->kv_max)
               : jm_finding_at(r, f, e->window, err, NULL);
}

int jm_check_engine_preempted(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    return each(run, r, JM_R_MEASURE, preempted, err);
}

static int requests(const struct jm_run *run, struct jm_report *r, const struct jm_engine_window *e,
                    struct jm_err *err)
{
    /* a request may end on either side of an edge for the two */
    double more = e->requests_lo - e->client_requests,
           doubt = 2 + e->edge_requests + JM_TH_ENGINE_HEALTHY * e->client_requests;
    (void)run;
    if (!r->has_requests || !(more > doubt))
        return 0;
    struct jm_finding *f = jm_report_finding(
        r, "engine.requests_more", JM_SEV_WARNING,
        "the engine ended %.0f requests and the client only %.0f: retries by a gateway, or another client",
        e->requests, e->client_requests);
    return jm_finding_at(r, f, e->window, err, NULL);
}

int jm_check_engine_requests(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    return each(run, r, JM_R_MEASURE, requests, err);
}

/* ---- somebody else */

static int others(const struct jm_run *run, struct jm_report *r, const struct jm_engine_window *e,
                  struct jm_err *err)
{
    (void)run;
    if (!(e->excess_share > JM_TH_ENGINE_FOREIGN))
        return 0;
    struct jm_finding *f = jm_report_finding(r, "engine.cotenant", JM_SEV_WARNING,
                                             "another client loads the engine: it held %.1f requests more "
                                             "than ours on average; their energy is in the "
                                             "figures, their tokens are not",
                                             e->excess);
    return jm_finding_at(r, f, e->window, err, "in %.0f %% of the texts, at most %.0f running",
                         100 * e->excess_share, e->running_max);
}

static int idle(const struct jm_run *run, struct jm_report *r, const struct jm_engine_window *e,
                struct jm_err *err)
{
    (void)run;
    /* a gauge may keep the value of the last step for long; a count per step does not */
    bool counted = e->per_step && isfinite(e->tokens);
    if (!(e->tokens_lo >= 1) && (counted || !(e->running_max >= 1)))
        return 0;
    struct jm_finding *f = jm_report_finding(
        r, "engine.idle_busy", JM_SEV_WARNING,
        "the engine worked in the idle window (%.0f tokens, up to %.0f requests): it is no idle",
        isfinite(e->tokens) ? e->tokens : 0, isfinite(e->running_max) ? e->running_max : 0);
    return jm_finding_at(r, f, e->window, err, NULL);
}

int jm_check_engine_others(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    int rc = r->has_requests ? each(run, r, JM_R_MEASURE, others, err) : 0;
    return rc ? rc : each(run, r, JM_R_IDLE, idle, err);
}

/* ---- the host */

static int host(const struct jm_run *run, struct jm_report *r, const struct jm_engine_window *e,
                struct jm_err *err)
{
    bool process = e->cpu_process >= JM_TH_ENGINE_CORE, all = e->cpu_host >= JM_TH_ENGINE_HOST;
    (void)run;
    if (!(e->gpu_busy < JM_TH_ENGINE_GPU) || !(e->running_max >= 1) || (!process && !all))
        return 0;
    struct jm_finding *f = jm_report_finding(
        r, "engine.host_bound", JM_SEV_WARNING,
        "the GPUs were busy %.0f %% of the time while %s: the host holds them back", 100 * e->gpu_busy,
        process ? "a process of the endpoint used a whole core" : "the host's CPU was busy");
    return jm_finding_at(r, f, e->window, err, "busiest process %.2f cores, host CPU %.0f %%", e->cpu_process,
                         100 * e->cpu_host);
}

int jm_check_engine_host(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    return each(run, r, JM_R_MEASURE, host, err);
}

/* ---- the telemetry itself */

static int resets(const struct jm_run *run, struct jm_report *r, const struct jm_engine_window *e,
                  struct jm_err *err)
{
    struct jm_finding *f;
    int rc = 0;
    (void)run;
    if (e->resets) {
        f = jm_report_finding(
            r, "engine.reset", JM_SEV_ERROR,
            e->resets > 2
                ? "the engine's counters began again %d times: more than one process answers at this "
                  "address; give the address of each"
                : "the engine's counters began again %d time(s): it restarted inside the window, and "
                  "what it counted before is lost",
            e->resets);
        rc = jm_finding_at(r, f, e->window, err, NULL);
    }
    if (!rc && e->started) {
        f = jm_report_finding(r, "engine.started", JM_SEV_ERROR,
                              "the engine started inside the window: loading the model is in its energy");
        rc = jm_finding_at(r, f, e->window, err, NULL);
    }
    if (!rc && e->vanished) {
        f = jm_report_finding(
            r, "engine.vanished", JM_SEV_WARNING,
            "%d series of the engine's counters vanished inside the window: a replica is gone", e->vanished);
        rc = jm_finding_at(r, f, e->window, err, NULL);
    }
    return rc;
}

int jm_check_engine_reset(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    return each(run, r, JM_R_MEASURE, resets, err);
}

static int gaps(const struct jm_run *run, struct jm_report *r, const struct jm_engine_window *e,
                struct jm_err *err)
{
    const struct jm_window *w = &r->windows[e->window];
    double seconds = jm_seconds_apart(w->t1, w->t0);
    struct jm_finding *f;
    bool told = false;
    int rc = 0;
    (void)run;
    for (size_t i = 0; i < r->n_engine; i++)
        told |= !r->engine[i].host && r->engine[i].scrapes > 0;
    if (told && e->have < e->of) {
        f = jm_report_finding(
            r, "engine.partial", JM_SEV_WARNING,
            "only %d of %d sources of engine metrics cover the window: its sums are not formed", e->have,
            e->of);
        rc = jm_finding_at(r, f, e->window, err, NULL);
    }
    if (!rc && e->gap_s > JM_TH_ENGINE_GAP_S && e->gap_s > JM_TH_ENGINE_GAP * seconds) {
        f = jm_report_finding(r, "engine.gap", JM_SEV_WARNING,
                              "the engine's metrics did not answer for %.1f s of the window", e->gap_s);
        rc = jm_finding_at(r, f, e->window, err, NULL);
    }
    return rc;
}

int jm_check_engine_absent(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    bool asked = r->engine_mode && strcmp(r->engine_mode, "given") == 0;
    int rc = 0;
    for (size_t i = 0; !rc && i < r->n_engine; i++) {
        const struct jm_engine_source *s = &r->engine[i];
        if (s->host || s->scrapes)
            continue;
        struct jm_finding *f = jm_report_finding(r, "engine.absent", asked ? JM_SEV_WARNING : JM_SEV_INFO,
                                                 "there are no engine metrics from %s: %s",
                                                 s->url && s->url[0] ? s->url : "the endpoint",
                                                 s->reason ? s->reason : "it did not answer");
        rc = jm_finding_at(r, f, -1, err, NULL);
    }
    return rc ? rc : each(run, r, JM_R_MEASURE, gaps, err);
}

/* ---- the load that it saw */

static int queue(const struct jm_run *run, struct jm_report *r, const struct jm_engine_window *e,
                 struct jm_err *err)
{
    double rate = jm_run_number(run, "plan.rate_per_s");
    if (!(e->queue_min >= 1))
        return 0;
    struct jm_finding *f = jm_report_finding(
        r, "engine.saturated", rate > 0 ? JM_SEV_WARNING : JM_SEV_INFO,
        "the engine's queue was never empty (at least %.0f waited): %s", e->queue_min,
        rate > 0 ? "it cannot keep up with the rate, and latencies grow with the length of the window"
                 : "it is saturated, and more requests at once only wait");
    return jm_finding_at(r, f, e->window, err, NULL);
}

int jm_check_engine_queue(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    return each(run, r, JM_R_MEASURE, queue, err);
}

/* Was every prompt made to be like no other? Slices and levels in turn each have facts of their own; prefixes
 * and conversations are meant to hit. */
static bool unique_prompts(const struct jm_run *run)
{
    static const char shared[] = "load.prompts.shared";
    size_t n, said = 0;
    const struct jm_run_env_row *row = jm_run_env_rows(run, &n);
    const char *synthetic = jm_run_env(run, "load.synthetic");
    for (size_t i = 0; i < n; i++) {
        struct jm_span key = jm_span_of(row[i].key);
        if (jm_span_starts(key, JM_SPAN("plan.")) &&
            (jm_span_ends(key, JM_SPAN(".prefix_groups")) || jm_span_ends(key, JM_SPAN(".turns")) ||
             jm_span_ends(key, JM_SPAN(".trace"))))
            return false;
        if (!jm_span_ends(key, jm_span_of(shared)))
            continue;
        said++;
        if (strcmp(row[i].value, "no") != 0)
            return false;
    }
    return said && synthetic && strcmp(synthetic, "yes") == 0;
}

static int hits(const struct jm_run *run, struct jm_report *r, const struct jm_engine_window *e,
                struct jm_err *err)
{
    double rate = isfinite(e->prefix_ask) ? part(e->prefix_hit, e->prefix_ask) : part(e->cached, e->prompt);
    if (!(rate > JM_TH_ENGINE_HITS) || !unique_prompts(run))
        return 0;
    struct jm_finding *f =
        jm_report_finding(r, "engine.prefix_hits", JM_SEV_WARNING,
                          "%.1f %% of the prompt tokens came from the prefix cache though "
                          "the prompts are meant to be unique: energy per "
                          "input token is that of less work; another --seed than that of a run before sends "
                          "new prompts",
                          100 * rate);
    return jm_finding_at(r, f, e->window, err, NULL);
}

int jm_check_engine_hits(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    return each(run, r, JM_R_MEASURE, hits, err);
}
