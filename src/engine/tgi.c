/* SPDX-License-Identifier: Apache-2.0 */
/* Hugging Face text-generation-inference. */
#include "engine/dialects.h"

#include "base/banned.h"

static const struct jm_engine_map map[] = {
    {"tgi_request_input_length", JM_EQ_PROMPT, JM_EM_SUM, .note = "when a request ends"},
    {"tgi_request_skipped_tokens", JM_EQ_CACHED, JM_EM_SUM, .note = "skipped by the prefix cache"},
    {"tgi_request_generated_tokens", JM_EQ_GEN_END, JM_EM_SUM, .note = "tokens only through _sum"},
    {"tgi_request_count", JM_EQ_REQ_ALL},
    {"tgi_request_success", JM_EQ_REQ_OK},
    {"tgi_request_failure", JM_EQ_REQ_ERROR},
    {"tgi_batch_inference_duration", JM_EQ_PREFILL_S, JM_EM_SUM, "method=prefill"},
    {"tgi_batch_inference_duration", JM_EQ_DECODE_S, JM_EM_SUM, "method=decode"},
    {"tgi_request_queue_duration", JM_EQ_QUEUE_S, JM_EM_SUM},
    {"tgi_batch_inference_count", JM_EQ_STEPS},
    {"tgi_batch_current_size", JM_EQ_RUNNING},
    {"tgi_queue_size", JM_EQ_WAITING},
    {"tgi_request_mean_time_per_token_duration", JM_EQ_H_ITL, JM_EM_BUCKETS, .note = "a mean a request"},
    {"tgi_request_duration", JM_EQ_H_E2E, JM_EM_BUCKETS},
    {"tgi_request_queue_duration", JM_EQ_H_QUEUE, JM_EM_BUCKETS},
    {"tgi_request_input_length", JM_EQ_H_PROMPT_LEN, JM_EM_BUCKETS},
    {"tgi_request_generated_tokens", JM_EQ_H_GEN_LEN, JM_EM_BUCKETS},
    {0}};

static const char *const traps[] = {
    "tokens exist only as the _sum of a histogram, which moves when a request ends",
    "tgi_request_count counts requests that came, not those that ended",
    "prefill and decode seconds are those of batches, not of requests", NULL};

const struct jm_engine_dialect jm_engine_tgi = {.name = "tgi",
                                                .title = "TGI",
                                                .paths = "/metrics",
                                                .map = map,
                                                .traps = traps,
                                                .source = "text-generation-inference, reference: Metrics"};
