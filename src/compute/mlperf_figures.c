/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/mlperf_figures.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/banned.h"

#define SAMPLES_A_QUERY 8.0 /* of MultiStream */

static bool is(const char *scenario, const char *name)
{
    return scenario && strcasecmp(scenario, name) == 0;
}

static double number(const struct jm_mlperf_log *log, const char *key)
{
    return log->number(log->self, key);
}

static double first_of(const struct jm_mlperf_log *log, const char *const *keys, const char **which)
{
    for (; *keys; keys++) {
        double v = number(log, *keys);
        if (isfinite(v)) {
            *which = *keys;
            return v;
        }
    }
    return NAN;
}

/* What is claimed decides; where that is Offline, what ran does. */
static void queries(const struct jm_mlperf_log *log, double seconds, struct jm_mlperf_counts *out)
{
    bool single = is(log->scenario, "SingleStream"), multi = is(log->scenario, "MultiStream");
    if (!single && !multi)
        return;
    bool eights = is(out->by_rate || !log->claimed ? log->scenario : log->claimed, "MultiStream");
    out->stream = true;
    if (log->legacy_count && eights) {
        out->queries = number(log, "generated_query_count") * number(log, "generated_samples_per_query");
    } else if (log->legacy_count) {
        out->queries = number(log, "result_qps_with_loadgen_overhead") * seconds;
    } else {
        out->queries = number(log, "result_query_count") / (eights && single ? SAMPLES_A_QUERY : 1);
        out->samples = eights ? SAMPLES_A_QUERY : 1;
    }
    if (!(out->queries > 0))
        out->queries = NAN;
}

static void samples(const struct jm_mlperf_log *log, struct jm_mlperf_counts *out)
{
    static const char *const completed[] = {"result_completed_samples_per_sec",
                                            "result_scheduled_samples_per_sec", NULL},
                             *const scheduled[] = {"result_scheduled_samples_per_sec",
                                                   "result_completed_samples_per_sec", NULL},
                             *const offline[] = {"result_samples_per_second", NULL},
                             *const single[] = {"result_qps_with_loadgen_overhead", NULL},
                             *const single_offline[] = {"result_qps_without_loadgen_overhead", NULL};
    bool to_offline = is(log->claimed, "Offline") && !is(log->scenario, "Offline");
    if (is(log->scenario, "SingleStream")) {
        out->samples_per_s = first_of(log, to_offline ? single_offline : single, &out->samples_from);
    } else if (is(log->scenario, "MultiStream") && to_offline && !log->legacy_count) {
        out->samples_from = "effective_samples_per_query / result_mean_query_latency_ns";
        out->samples_per_s = number(log, "effective_samples_per_query") * 1000 /
                             (number(log, "result_mean_query_latency_ns") / 1e6);
    } else if (is(log->scenario, "Server") || is(log->scenario, "Interactive")) {
        out->samples_per_s = first_of(log, log->completed ? completed : scheduled, &out->samples_from);
    } else {
        out->samples_per_s = first_of(log, offline, &out->samples_from);
    }
    if (!isfinite(out->samples_per_s)) {
        out->samples_per_s = NAN;
        out->samples_from = NULL;
    }
}

void jm_mlperf_count(const struct jm_mlperf_log *log, double seconds, struct jm_mlperf_counts *out)
{
    /* measured, and inferred from samples (gptj); those of Server count completed requests */
    static const char *const tokens[] = {
        "result_completed_tokens_per_second", "result_inferred_completed_tokens_per_second",
        "result_tokens_per_second", "result_inferred_tokens_per_second", NULL};
    *out = (struct jm_mlperf_counts){.queries = NAN, .samples = 1, .samples_per_s = NAN, .tokens_per_s = NAN};
    /* the claim of an Interactive result is met by a Server run: that is no inference */
    out->inferred = log->claimed && log->scenario && !is(log->claimed, log->scenario) &&
                    !(is(log->claimed, "Interactive") && is(log->scenario, "Server"));
    const char *claimed = log->claimed ? log->claimed : log->scenario;
    out->by_rate = !is(claimed, "SingleStream") && !is(claimed, "MultiStream");
    queries(log, seconds, out);
    samples(log, out);
    out->tokens_per_s = first_of(log, tokens, &out->tokens_from);
}

void jm_mlperf_divide(double watts, double seconds, const struct jm_mlperf_counts *c,
                      struct jm_mlperf_ratios *out)
{
    *out = (struct jm_mlperf_ratios){NAN, NAN, NAN, NAN, NAN};
    if (!(watts > 0))
        return;
    if (c->stream && seconds > 0) {
        double joules = watts * seconds;
        out->mj_per_stream = 1000 * joules / c->queries;
        if (!c->by_rate)
            out->samples_per_j = c->samples * c->queries / joules;
    }
    if (c->by_rate) {
        out->samples_per_j = c->samples_per_s / watts;
        out->j_per_sample = watts / c->samples_per_s;
    }
    out->j_per_token = watts / c->tokens_per_s;
    out->tokens_per_j = c->tokens_per_s / watts;
}
