/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA Dynamo's front end and components. */
#include "engine/dialects.h"

#include "base/banned.h"

static const struct jm_engine_map map[] = {
    {"dynamo_frontend_input_sequence_tokens", JM_EQ_PROMPT, JM_EM_SUM},
    {"dynamo_frontend_cached_tokens", JM_EQ_CACHED, JM_EM_SUM},
    {"dynamo_frontend_output_tokens_total", JM_EQ_GEN_STEP, .note = "as the front end passes them on"},
    {"dynamo_frontend_output_sequence_tokens", JM_EQ_GEN_END, JM_EM_SUM},
    {"dynamo_frontend_requests_total", JM_EQ_REQ_OK, .label = "status=success"},
    {"dynamo_frontend_requests_total", JM_EQ_REQ_ERROR, .label = "status=error"},
    {"dynamo_frontend_requests_total", JM_EQ_REQ_ALL},
    {"dynamo_frontend_model_cancellation_total", JM_EQ_REQ_ABORT},
    {"dynamo_frontend_active_requests", JM_EQ_RUNNING},
    {"dynamo_frontend_inflight_requests", JM_EQ_RUNNING, .rank = 1, .note = "older name; waiting ones too"},
    {"dynamo_frontend_queued_requests", JM_EQ_WAITING},
    {"dynamo_component_kvstats_gpu_cache_usage_percent", JM_EQ_KV_USE, .note = "0 to 1 in spite of its name"},
    {"dynamo_component_gpu_cache_usage_percent", JM_EQ_KV_USE, .rank = 1},
    {"dynamo_component_kvstats_active_blocks", JM_EQ_KV_USED},
    {"dynamo_component_kvstats_total_blocks", JM_EQ_KV_MAX},
    {"dynamo_frontend_time_to_first_token_seconds", JM_EQ_H_TTFT, JM_EM_BUCKETS},
    {"dynamo_frontend_inter_token_latency_seconds", JM_EQ_H_ITL, JM_EM_BUCKETS},
    {"dynamo_frontend_request_duration_seconds", JM_EQ_H_E2E, JM_EM_BUCKETS},
    {"dynamo_frontend_input_sequence_tokens", JM_EQ_H_PROMPT_LEN, JM_EM_BUCKETS},
    {"dynamo_frontend_output_sequence_tokens", JM_EQ_H_GEN_LEN, JM_EM_BUCKETS},
    {0}};

static const char *const traps[] = {
    "a front end counts what it passes on; its workers have metrics of their own, in the engine's names",
    "inflight_requests holds those that wait too", "gpu_cache_usage_percent is 0 to 1", NULL};

const struct jm_engine_dialect jm_engine_dynamo = {.name = "dynamo",
                                                   .title = "NVIDIA Dynamo",
                                                   .paths = "/metrics",
                                                   .map = map,
                                                   .ranks = "pid",
                                                   .prompt_has_cached = true,
                                                   .traps = traps,
                                                   .source = "Dynamo, observability: Metrics"};
