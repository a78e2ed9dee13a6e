/* SPDX-License-Identifier: Apache-2.0 */
/* Triton Inference Server with the TensorRT-LLM backend: one family for many quantities, told apart by a
 * label. */
#include "engine/dialects.h"

#include "base/banned.h"

static const struct jm_engine_map map[] = {
    {"nv_inference_request_success", JM_EQ_REQ_OK, .label = "model=tensorrt_llm",
     .note = "each model of an ensemble counts the same request"},
    {"nv_inference_request_success", JM_EQ_REQ_OK, .label = "model=ensemble", .rank = 1},
    {"nv_inference_request_success", JM_EQ_REQ_OK, .rank = 2},
    {"nv_inference_request_failure", JM_EQ_REQ_ERROR, .label = "model=ensemble"},
    {"nv_inference_request_failure", JM_EQ_REQ_ERROR, .rank = 1},
    {"nv_inference_queue_duration_us", JM_EQ_QUEUE_S, .label = "model=tensorrt_llm", .scale = 1e-6},
    {"nv_inference_queue_duration_us", JM_EQ_QUEUE_S, .scale = 1e-6, .rank = 1},
    {"nv_trt_llm_general_metrics", JM_EQ_STEPS, .label = "general_type=iteration_counter",
     .note = "a counter, typed gauge"},
    {"nv_energy_consumption", JM_EQ_ENERGY, .note = "of all GPUs of the host"},
    {"nv_trt_llm_request_metrics", JM_EQ_RUNNING, .label = "request_type=scheduled"},
    {"nv_trt_llm_request_metrics", JM_EQ_RUNNING, .label = "request_type=active", .rank = 1},
    {"nv_trt_llm_request_metrics", JM_EQ_WAITING, .label = "request_type=waiting"},
    {"nv_inference_pending_request_count", JM_EQ_WAITING, .rank = 1},
    {"nv_trt_llm_kv_cache_block_metrics", JM_EQ_KV_USED, .label = "kv_cache_block_type=used"},
    {"nv_trt_llm_kv_cache_block_metrics", JM_EQ_KV_MAX, .label = "kv_cache_block_type=max"},
    {"nv_trt_llm_inflight_batcher_metrics", JM_EQ_BATCH,
     .label = "inflight_batcher_specific_metric=generation_requests"},
    {"nv_inference_first_response_histogram_ms", JM_EQ_H_TTFT, JM_EM_BUCKETS, .scale = 1e-3},
    {0}};

static const char *const traps[] = {
    "metrics answer on a port of their own (8002)",
    "there is no counter of tokens: only requests, queue and batches can be compared",
    "an ensemble's request is counted by each of its models",
    "counters of one family are told apart by a label, and iteration_counter is typed gauge",
    "kv_cache_block_type=\"fraction\" contradicts used and max in the documented sample (0.4875 beside 1 of "
    "6239); "
    "used / max is taken",
    NULL};

const struct jm_engine_dialect jm_engine_triton = {
    .name = "triton",
    .title = "Triton with TensorRT-LLM",
    .paths = ":8002/metrics",
    .map = map,
    .traps = traps,
    .source = "tensorrtllm_backend, README; Triton server, user guide: Metrics"};
