/* SPDX-License-Identifier: Apache-2.0 */
/* vLLM, V0 and V1, old and new names (vLLM's design document on metrics and its family list of v0.26.0), and
 * the simulated engine, which speaks the same. */
#include "engine/dialects.h"

#include "base/banned.h"

static const struct jm_engine_map map[] = {
    {"vllm:prompt_tokens_total", JM_EQ_PROMPT, .note = "cached tokens are in it; times n with n answers"},
    {"vllm:prompt_tokens_cached_total", JM_EQ_CACHED},
    {"vllm:prompt_tokens_by_source_total", JM_EQ_CACHED, .label = "source!=local_compute", .rank = 1},
    {"vllm:prefix_cache_hits_total", JM_EQ_CACHED, .rank = 2},
    {"vllm:gpu_prefix_cache_hits_total", JM_EQ_CACHED, .rank = 3},
    {"vllm:generation_tokens_total", JM_EQ_GEN_STEP},
    {"vllm:request_generation_tokens", JM_EQ_GEN_END, JM_EM_SUM},
    {"vllm:request_success_total", JM_EQ_REQ_STOP, .label = "finished_reason=stop"},
    {"vllm:request_success_total", JM_EQ_REQ_STOP, .label = "finished_reason=repetition"},
    {"vllm:request_success_total", JM_EQ_REQ_LENGTH, .label = "finished_reason=length"},
    {"vllm:request_success_total", JM_EQ_REQ_ABORT, .label = "finished_reason=abort",
     .note = "aborted requests are inside \"success\""},
    {"vllm:request_success_total", JM_EQ_REQ_ERROR, .label = "finished_reason=error"},
    {"vllm:request_success_total", JM_EQ_REQ_ALL},
    {"vllm:num_preemptions_total", JM_EQ_PREEMPT, .note = "recomputation: energy without a token"},
    {"vllm:prefix_cache_queries_total", JM_EQ_PREFIX_ASK, .note = "tokens"},
    {"vllm:gpu_prefix_cache_queries_total", JM_EQ_PREFIX_ASK, .rank = 1},
    {"vllm:prefix_cache_hits_total", JM_EQ_PREFIX_HIT, .note = "tokens"},
    {"vllm:gpu_prefix_cache_hits_total", JM_EQ_PREFIX_HIT, .rank = 1},
    {"vllm:request_prefill_time_seconds", JM_EQ_PREFILL_S, JM_EM_SUM},
    {"vllm:request_decode_time_seconds", JM_EQ_DECODE_S, JM_EM_SUM},
    {"vllm:request_queue_time_seconds", JM_EQ_QUEUE_S, JM_EM_SUM},
    {"vllm:iteration_tokens_total", JM_EQ_STEPS, JM_EM_COUNT, .note = "a histogram in spite of its name"},
    {"vllm:spec_decode_num_draft_tokens_total", JM_EQ_DRAFT},
    {"vllm:spec_decode_num_accepted_tokens_total", JM_EQ_ACCEPTED},
    {"vllm:num_requests_running", JM_EQ_RUNNING},
    {"vllm:num_requests_waiting", JM_EQ_WAITING},
    {"vllm:num_requests_swapped", JM_EQ_SWAPPED, .note = "V0"},
    {"vllm:kv_cache_usage_perc", JM_EQ_KV_USE, .note = "0 to 1 in spite of its name"},
    {"vllm:gpu_cache_usage_perc", JM_EQ_KV_USE, .rank = 1, .note = "older name; 0 to 1"},
    {"vllm:engine_sleep_state", JM_EQ_SLEEPING, .label = "sleep_state!=awake"},
    {"vllm:time_to_first_token_seconds", JM_EQ_H_TTFT, JM_EM_BUCKETS},
    {"vllm:inter_token_latency_seconds", JM_EQ_H_ITL, JM_EM_BUCKETS},
    {"vllm:time_per_output_token_seconds", JM_EQ_H_ITL, JM_EM_BUCKETS, .rank = 1, .note = "older name"},
    {"vllm:e2e_request_latency_seconds", JM_EQ_H_E2E, JM_EM_BUCKETS},
    {"vllm:request_queue_time_seconds", JM_EQ_H_QUEUE, JM_EM_BUCKETS},
    {"vllm:request_prefill_time_seconds", JM_EQ_H_PREFILL, JM_EM_BUCKETS},
    {"vllm:request_decode_time_seconds", JM_EQ_H_DECODE, JM_EM_BUCKETS},
    {"vllm:request_prompt_tokens", JM_EQ_H_PROMPT_LEN, JM_EM_BUCKETS},
    {"vllm:request_generation_tokens", JM_EQ_H_GEN_LEN, JM_EM_BUCKETS},
    {0}};

static const char *const traps[] = {
    "prompt_tokens_total counts cached tokens too, and n times with n answers a request (vllm #56361)",
    "request_success_total holds aborted requests (finished_reason=\"abort\")",
    "kv_cache_usage_perc is 0 to 1",
    "iteration_tokens_total is a histogram in spite of its _total",
    "names changed: gpu_cache_usage_perc, gpu_prefix_cache_*, time_per_output_token_seconds are the old "
    "ones; "
    "a deprecated one is hidden a version later and gone after the next",
    "data-parallel engines have a label engine, which is added up; gauges of several API servers (pid) are "
    "copies",
    NULL};

const struct jm_engine_dialect jm_engine_vllm = {
    .name = "vllm",
    .title = "vLLM",
    .paths = "/metrics",
    .map = map,
    .ranks = "pid,tp_rank,pp_rank",
    .prompt_has_cached = true,
    .traps = traps,
    .source =
        "vLLM, design documents: Metrics; inference-perf, e2e/testdata/vllm_metric_families/v0.26.0.txt"};

static const char *const sim_traps[] = {"every number is simulated; names and edges are vLLM's", NULL};

const struct jm_engine_dialect jm_engine_sim = {.name = "joulemark-sim",
                                                .title = "joulemark-sim",
                                                .mark = "joulemark_sim_simulated",
                                                .paths = "/metrics",
                                                .map = map,
                                                .ranks = "pid,tp_rank,pp_rank",
                                                .prompt_has_cached = true,
                                                .traps = sim_traps,
                                                .source = "docs/sim-engine.md"};
