/* SPDX-License-Identifier: Apache-2.0 */
/* inference-perf's reports (of a stage, or of all) as claims. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "import/peer.h"

#include "base/banned.h"

static const struct {
    const char *path, *metric, *unit, *source;
} rows[] = {
    {"successes.latency.time_to_first_token", "ttft.from_sent", "s",
     "first non-empty content (reasoning is none) - request start"},
    {"successes.latency.time_per_output_token", "tpot.excl_first", "s",
     "(last - first token) / (n - 1), n by the client's tokenizer unless use_server_output_tokens"},
    {"successes.latency.normalized_time_per_output_token", "tpot.normalized", "s",
     "request latency / output tokens, n by the client's tokenizer unless use_server_output_tokens"},
    {"successes.latency.inter_token_latency", "itl.token_zero", "s",
     "gap between tokens by the client's tokenizer; the tokens of one chunk share its time, so their gaps "
     "are 0"},
    {"successes.latency.request_latency", "e2e.closed", "s", "end of the answer - request start"},
    {"failures.request_latency", "", "s", "of requests that failed"},
    {"load_summary.schedule_delay", "queue", "s", "request start - scheduled time"},
    {"successes.prompt_len", "isl", "tokens", ""},
    {"successes.output_len", "osl", "tokens", "the answer's text by the client's tokenizer"},
};
static const struct {
    const char *path, *metric, *stat, *unit, *source;
} numbers[] = {
    {"benchmark_time_seconds", "duration", "sum", "s", ""},
    {"load_summary.count", "requests.all", "sum", "requests", ""},
    {"successes.count", "requests.ok", "sum", "requests", ""},
    {"failures.count", "requests.failed", "sum", "requests", ""},
    {"load_summary.requested_rate", "", "", "requests/s", ""},
    {"load_summary.achieved_rate", "", "", "requests/s", ""},
    {"load_summary.send_duration", "", "", "s", ""},
    {"load_summary.concurrency", "concurrency", "", "requests", ""},
    {"successes.throughput.output_tokens_per_sec", "tokens_per_s", "", "tokens/s",
     "tokens of successes / duration"},
    {"successes.throughput.input_tokens_per_sec", "tokens.input_per_s", "", "tokens/s", ""},
    {"successes.throughput.total_tokens_per_sec", "tokens.total_per_s", "", "tokens/s", ""},
    {"successes.throughput.requests_per_sec", "requests_per_s", "", "requests/s", "successes / duration"},
    {"successes.prompt_tokens.total", "tokens.input", "sum", "tokens", ""},
    {"successes.prompt_tokens.cached", "tokens.cached", "sum", "tokens", ""},
    {"successes.output_tokens.total", "tokens.output", "sum", "tokens",
     "the server's usage, the client's count where it is absent"},
    {"successes.token_count_mismatches", "", "", "requests",
     "client's and server's count of output tokens differ"},
    {"successes.goodput_metrics.request_goodput", "", "", "requests/s",
     "good requests / the time that successes span"},
    {"successes.goodput_metrics.token_goodput", "", "", "tokens/s",
     "tokens of good requests / the time that successes span"},
    {"successes.goodput_metrics.goodput_percentage", "", "", "%", "of successes only: failures are left out"},
};

/* Statistics whose names hold dots themselves ("p0.1"), so members are found by their whole names. */
static void distribution(struct jm_build *b, const struct jm_ifile *f, const struct jm_jtoken *o,
                         const char *prefix, int row)
{
    struct jm_jiter it;
    struct jm_jtoken key, v;
    char name[128], word[24], stat[16];
    double d;
    jm_jiter_init(&it, f, o);
    while (jm_jiter_next(&it, &key, &v, NULL) > 0)
        if (v.type == JM_J_NUMBER && jm_jtext(&key, word, sizeof word) && jm_build_stat(key.raw, stat)) {
            bool counts = strcmp(stat, "count") == 0;
            snprintf(name, sizeof name, "%s%s.%s", prefix, rows[row].path, word);
            jm_build_claim(b, name, counts ? "" : rows[row].metric, stat, jm_jnum(&v, &d) ? d : NAN,
                           counts ? "" : rows[row].unit, rows[row].source);
        }
}

void jm_inference_perf_claims(struct jm_build *b, const struct jm_ifile *f, const struct jm_jtoken *doc,
                              const char *prefix)
{
    struct jm_jtoken v;
    char name[128];
    double d;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (jm_jpath(f, doc, numbers[i].path, &v) && jm_jnum(&v, &d)) {
            snprintf(name, sizeof name, "%s%s", prefix, numbers[i].path);
            jm_build_claim(b, name, numbers[i].metric, numbers[i].stat, d, numbers[i].unit,
                           numbers[i].source);
        }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (jm_jpath(f, doc, rows[i].path, &v) && v.type == JM_J_OBJECT)
            distribution(b, f, &v, prefix, (int)i);
}
