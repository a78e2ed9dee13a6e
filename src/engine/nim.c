/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA NIM for LLMs: vLLM's quantities without a prefix, at /v1/metrics. */
#include "engine/dialects.h"

#include "base/banned.h"

static const struct jm_engine_map map[] = {
    {"prompt_tokens_total", JM_EQ_PROMPT},
    {"generation_tokens_total", JM_EQ_GEN_STEP},
    {"request_generation_tokens", JM_EQ_GEN_END, JM_EM_SUM},
    {"request_success_total", JM_EQ_REQ_OK},
    {"request_finish_total", JM_EQ_REQ_STOP, .label = "finished_reason=stop"},
    {"request_finish_total", JM_EQ_REQ_LENGTH, .label = "finished_reason=length"},
    {"request_finish_total", JM_EQ_REQ_ABORT, .label = "finished_reason=abort"},
    {"request_finish_total", JM_EQ_REQ_ALL},
    {"num_requests_running", JM_EQ_RUNNING},
    {"num_requests_waiting", JM_EQ_WAITING},
    {"gpu_cache_usage_perc", JM_EQ_KV_USE, .note = "0 to 1 in spite of its name"},
    {"time_to_first_token_seconds", JM_EQ_H_TTFT, JM_EM_BUCKETS},
    {"time_per_output_token_seconds", JM_EQ_H_ITL, JM_EM_BUCKETS},
    {"e2e_request_latency_seconds", JM_EQ_H_E2E, JM_EM_BUCKETS},
    {"request_prompt_tokens", JM_EQ_H_PROMPT_LEN, JM_EM_BUCKETS},
    {"request_generation_tokens", JM_EQ_H_GEN_LEN, JM_EM_BUCKETS},
    {0}};

static const char *const traps[] = {
    "names have no prefix and can collide with those of other exporters behind one address",
    "gpu_cache_usage_perc is 0 to 1", NULL};

const struct jm_engine_dialect jm_engine_nim = {.name = "nim",
                                                .title = "NVIDIA NIM",
                                                .mark = "num_request_max",
                                                .paths = "/v1/metrics",
                                                .map = map,
                                                .ranks = "pid",
                                                .prompt_has_cached = true,
                                                .traps = traps,
                                                .source = "NVIDIA NIM for LLMs, Observability"};
