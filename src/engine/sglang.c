/* SPDX-License-Identifier: Apache-2.0 */
/* SGLang with --enable-metrics: names with a colon. */
#include "engine/dialects.h"

#include "base/banned.h"

static const struct jm_engine_map map[] = {
    {"sglang:prompt_tokens_total", JM_EQ_PROMPT, .note = "when a request ends"},
    {"sglang:cached_tokens_total", JM_EQ_CACHED},
    {"sglang:realtime_tokens_total", JM_EQ_CACHED, .label = "mode=prefill_cache", .rank = 1},
    {"sglang:realtime_tokens_total", JM_EQ_GEN_STEP, .label = "mode=decode",
     .note = "tokens of decode steps: the first token of each request comes from prefill"},
    {"sglang:time_to_first_token_seconds", JM_EQ_GEN_FIRST, JM_EM_COUNT, .note = "first tokens"},
    {"sglang:generation_tokens_total", JM_EQ_GEN_END, .note = "only when a request ends"},
    {"sglang:num_requests_total", JM_EQ_REQ_ALL},
    {"sglang:num_aborted_requests_total", JM_EQ_REQ_ABORT},
    {"sglang:num_retracted_requests_total", JM_EQ_PREEMPT},
    {"sglang:queue_time_seconds", JM_EQ_QUEUE_S, JM_EM_SUM},
    {"sglang:num_running_reqs", JM_EQ_RUNNING, .note = "moves every 40 decode steps only"},
    {"sglang:num_queue_reqs", JM_EQ_WAITING},
    {"sglang:full_token_usage", JM_EQ_KV_USE, .note = "0 to 1; of the full attention's pool"},
    {"sglang:token_usage", JM_EQ_KV_USE, .rank = 1, .note = "0 to 1"},
    {"sglang:time_to_first_token_seconds", JM_EQ_H_TTFT, JM_EM_BUCKETS},
    {"sglang:inter_token_latency_seconds", JM_EQ_H_ITL, JM_EM_BUCKETS},
    {"sglang:time_per_output_token_seconds", JM_EQ_H_ITL, JM_EM_BUCKETS, .rank = 1},
    {"sglang:e2e_request_latency_seconds", JM_EQ_H_E2E, JM_EM_BUCKETS},
    {"sglang:queue_time_seconds", JM_EQ_H_QUEUE, JM_EM_BUCKETS},
    {"sglang:prompt_tokens_histogram", JM_EQ_H_PROMPT_LEN, JM_EM_BUCKETS},
    {"sglang:generation_tokens_histogram", JM_EQ_H_GEN_LEN, JM_EM_BUCKETS},
    {0}};

static const char *const traps[] = {
    "generation_tokens_total moves only when a request ends; realtime_tokens_total{mode=\"decode\"} moves "
    "per "
    "step, without the first token of each request, which prefill makes",
    "gauges move every decode_log_interval (40) decode steps",
    "the gauge num_retracted_reqs begins again; num_retracted_requests_total is the counter",
    "tp_rank and pp_rank are copies of one replica, dp_rank is another replica",
    "gen_throughput and cache_hit_rate are figures of the last interval, and are not read",
    NULL};

const struct jm_engine_dialect jm_engine_sglang = {
    .name = "sglang",
    .title = "SGLang",
    .paths = "/metrics",
    .enable = "--enable-metrics",
    .map = map,
    .ranks = "tp_rank,pp_rank,moe_ep_rank,pid",
    .gauge_lag_s = 2,
    .traps = traps,
    .source = "SGLang, python/sglang/srt/metrics/collector.py; production metrics"};
