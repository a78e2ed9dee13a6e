/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/dialects.h"

#include "base/banned.h"

const struct jm_engine_dialect *const jm_engine_dialects[] = {&jm_engine_sim,
                                                              &jm_engine_vllm,
                                                              &jm_engine_sglang,
                                                              &jm_engine_tgi,
                                                              &jm_engine_trtllm,
                                                              &jm_engine_triton,
                                                              &jm_engine_nim,
                                                              &jm_engine_dynamo,
                                                              &jm_engine_llamacpp,
                                                              &jm_engine_host,
                                                              NULL};

const struct jm_engine_dialect *jm_engine_dialect_find(const char *name)
{
    for (size_t i = 0; name && jm_engine_dialects[i]; i++)
        if (strcmp(jm_engine_dialects[i]->name, name) == 0)
            return jm_engine_dialects[i];
    return NULL;
}

const struct jm_engine_dialect *jm_engine_dialect_of(const char *engine)
{
    static const struct {
        const char *head;
        const struct jm_engine_dialect *d;
    } heads[] = {{"joulemark-sim", &jm_engine_sim},
                 {"vllm", &jm_engine_vllm},
                 {"sglang", &jm_engine_sglang},
                 {"tgi", &jm_engine_tgi},
                 {"text-generation", &jm_engine_tgi},
                 {"llama.cpp", &jm_engine_llamacpp},
                 {"llamacpp", &jm_engine_llamacpp},
                 {"tensorrt", &jm_engine_trtllm},
                 {"trtllm", &jm_engine_trtllm},
                 {"triton", &jm_engine_triton},
                 {"nim", &jm_engine_nim},
                 {"dynamo", &jm_engine_dynamo}};
    for (size_t i = 0; engine && i < sizeof heads / sizeof heads[0]; i++)
        if (jm_span_istarts(jm_span_of(engine), jm_span_of(heads[i].head)))
            return heads[i].d;
    return NULL;
}

const char *jm_eq_name(int q)
{
    static const char *const names[JM_EQ_COUNT] = {
        [JM_EQ_PROMPT] = "prompt tokens",
        [JM_EQ_CACHED] = "cached prompt tokens",
        [JM_EQ_GEN_STEP] = "generated tokens, per step",
        [JM_EQ_GEN_FIRST] = "first tokens",
        [JM_EQ_GEN_END] = "generated tokens, at the end of a request",
        [JM_EQ_REQ_ALL] = "requests",
        [JM_EQ_REQ_OK] = "requests that succeeded",
        [JM_EQ_REQ_STOP] = "requests that stopped by themselves",
        [JM_EQ_REQ_LENGTH] = "requests that reached their length",
        [JM_EQ_REQ_ABORT] = "requests aborted",
        [JM_EQ_REQ_ERROR] = "requests failed",
        [JM_EQ_PREEMPT] = "preemptions",
        [JM_EQ_PREFIX_ASK] = "prefix cache queries",
        [JM_EQ_PREFIX_HIT] = "prefix cache hits",
        [JM_EQ_PREFILL_S] = "prefill seconds",
        [JM_EQ_DECODE_S] = "decode seconds",
        [JM_EQ_QUEUE_S] = "queue seconds",
        [JM_EQ_STEPS] = "steps",
        [JM_EQ_DRAFT] = "draft tokens",
        [JM_EQ_ACCEPTED] = "accepted draft tokens",
        [JM_EQ_ENERGY] = "energy",
        [JM_EQ_CPU_BUSY] = "busy CPU seconds of the host",
        [JM_EQ_CPU_ALL] = "CPU seconds of the host",
        [JM_EQ_PROCESS] = "CPU seconds of the busiest process",
        [JM_EQ_RUNNING] = "requests running",
        [JM_EQ_WAITING] = "requests waiting",
        [JM_EQ_SWAPPED] = "requests swapped out",
        [JM_EQ_KV_USE] = "KV-cache use",
        [JM_EQ_KV_USED] = "KV-cache blocks used",
        [JM_EQ_KV_MAX] = "KV-cache blocks",
        [JM_EQ_BATCH] = "batch size",
        [JM_EQ_SLEEPING] = "asleep",
        [JM_EQ_SLOT] = "tokens of running tasks",
        [JM_EQ_SLOTS] = "slots",
        [JM_EQ_H_TTFT] = "time to first token",
        [JM_EQ_H_ITL] = "time per output token",
        [JM_EQ_H_E2E] = "request latency",
        [JM_EQ_H_QUEUE] = "queue time",
        [JM_EQ_H_PREFILL] = "prefill time",
        [JM_EQ_H_DECODE] = "decode time",
        [JM_EQ_H_PROMPT_LEN] = "prompt lengths",
        [JM_EQ_H_GEN_LEN] = "answer lengths",
    };
    return q >= 0 && q < JM_EQ_COUNT ? names[q] : "?";
}
