/* SPDX-License-Identifier: Apache-2.0 */
/* TensorRT-LLM's own server, trtllm-serve: /prometheus/metrics (names without prefix before 1.3), and the
 * JSON of /metrics and /energy_metrics, whose members become lines trtllm_json_<path>. */
#include "engine/dialects.h"

#include "base/banned.h"

static const struct jm_engine_map map[] = {
    {"trtllm_prompt_tokens_total", JM_EQ_PROMPT},
    {"trtllm_prompt_cached_tokens_total", JM_EQ_CACHED},
    {"trtllm_generation_tokens_total", JM_EQ_GEN_END, .note = "when a request ends"},
    {"trtllm_request_success_total", JM_EQ_REQ_STOP, .label = "finished_reason=stop"},
    {"trtllm_request_success_total", JM_EQ_REQ_LENGTH, .label = "finished_reason=length"},
    {"trtllm_request_success_total", JM_EQ_REQ_ABORT, .label = "finished_reason=cancelled"},
    {"trtllm_request_success_total", JM_EQ_REQ_ABORT, .label = "finished_reason=abort"},
    {"trtllm_request_success_total", JM_EQ_REQ_ALL, .rank = 1},
    {"request_success_total", JM_EQ_REQ_ALL, .label = "engine_type!=", .rank = 2, .note = "older name"},
    {"trtllm_num_requests_completed_total", JM_EQ_REQ_ALL},
    {"trtllm_request_prefill_time_seconds", JM_EQ_PREFILL_S, JM_EM_SUM},
    {"trtllm_request_decode_time_seconds", JM_EQ_DECODE_S, JM_EM_SUM},
    {"trtllm_request_queue_time_seconds", JM_EQ_QUEUE_S, JM_EM_SUM},
    {"request_queue_time_seconds", JM_EQ_QUEUE_S, JM_EM_SUM, .label = "engine_type!=", .rank = 1},
    {"trtllm_json_iter", JM_EQ_STEPS, .note = "of the last entry"},
    {"trtllm_json_energy_joules", JM_EQ_ENERGY},
    {"trtllm_spec_decode_num_draft_tokens_total", JM_EQ_DRAFT},
    {"trtllm_spec_decode_num_accepted_tokens_total", JM_EQ_ACCEPTED},
    {"trtllm_num_requests_running", JM_EQ_RUNNING},
    {"trtllm_json_numActiveRequests", JM_EQ_RUNNING, .rank = 1},
    {"trtllm_num_requests_waiting", JM_EQ_WAITING},
    {"trtllm_json_numQueuedRequests", JM_EQ_WAITING, .rank = 1},
    {"trtllm_kv_cache_utilization", JM_EQ_KV_USE, .note = "0 to 1"},
    {"trtllm_kv_cache_used_blocks", JM_EQ_KV_USED},
    {"trtllm_kv_cache_max_blocks", JM_EQ_KV_MAX},
    {"trtllm_json_kvCacheStats_usedNumBlocks", JM_EQ_KV_USED, .rank = 1},
    {"trtllm_json_kvCacheStats_maxNumBlocks", JM_EQ_KV_MAX, .rank = 1},
    {"trtllm_num_scheduled_requests", JM_EQ_BATCH},
    {"trtllm_json_inflightBatchingStats_numScheduledRequests", JM_EQ_BATCH, .rank = 1},
    {"trtllm_time_to_first_token_seconds", JM_EQ_H_TTFT, JM_EM_BUCKETS},
    {"time_to_first_token_seconds", JM_EQ_H_TTFT, JM_EM_BUCKETS, .label = "engine_type!=", .rank = 1},
    {"trtllm_time_per_output_token_seconds", JM_EQ_H_ITL, JM_EM_BUCKETS},
    {"time_per_output_token_seconds", JM_EQ_H_ITL, JM_EM_BUCKETS, .label = "engine_type!=", .rank = 1},
    {"trtllm_e2e_request_latency_seconds", JM_EQ_H_E2E, JM_EM_BUCKETS},
    {"e2e_request_latency_seconds", JM_EQ_H_E2E, JM_EM_BUCKETS, .label = "engine_type!=", .rank = 1},
    {"trtllm_request_queue_time_seconds", JM_EQ_H_QUEUE, JM_EM_BUCKETS},
    {"request_queue_time_seconds", JM_EQ_H_QUEUE, JM_EM_BUCKETS, .label = "engine_type!=", .rank = 1},
    {"trtllm_request_prefill_time_seconds", JM_EQ_H_PREFILL, JM_EM_BUCKETS},
    {"trtllm_request_decode_time_seconds", JM_EQ_H_DECODE, JM_EM_BUCKETS},
    {0}};

static const char *const traps[] = {
    "the Prometheus text is at /prometheus/metrics; /metrics is JSON",
    "the JSON of /metrics is a queue that reading empties: two readers take entries from each other, and an "
    "idle "
    "server answers []; only the last entry's gauges are used",
    "token counters move when a request ends; there is none per step",
    "older versions write names without a prefix and labels engine_type=\"undefined\"",
    "/energy_metrics is NVML's counter read by the server: a peer number to compare with, not a second "
    "measurement",
    NULL};

const struct jm_engine_dialect jm_engine_trtllm = {
    .name = "trtllm",
    .title = "TensorRT-LLM",
    .paths = "/prometheus/metrics,/metrics",
    .enable = "return_perf_metrics: true in its configuration",
    .map = map,
    .ranks = "pid,rank",
    .prompt_has_cached = true,
    .traps = traps,
    .source = "TensorRT-LLM, tensorrt_llm/metrics/collector.py, trtllm-serve; PR 11855"};
