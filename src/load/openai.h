/* SPDX-License-Identifier: Apache-2.0 */
/* What chat and completions of the OpenAI-compatible APIs share: usage, errors, ends, several answers in one
 * event, and the common members of a request. */
#ifndef JM_LOAD_OPENAI_H
#define JM_LOAD_OPENAI_H

#include "load/body.h"
#include "load/dialect.h"

/* The first paths of every list of these dialects, in this order. */
#define JM_OPENAI_PATHS                                                                                      \
    "error", "usage", "usage.prompt_tokens", "usage.completion_tokens",                                      \
        "usage.prompt_tokens_details.cached_tokens", "usage.completion_tokens_details.reasoning_tokens",     \
        "usage.reasoning_tokens", "usage.prompt_cache_hit_tokens", "choices[]", "choices[].finish_reason",   \
        "choices[].token_ids", "choices[].index", "timings.cache_n", "timings.prompt_n",                     \
        "timings.predicted_n", "object", "message", "choices"
enum {
    JM_OA_ERROR,
    JM_OA_USAGE,
    JM_OA_PROMPT,
    JM_OA_OUTPUT,
    JM_OA_CACHED,
    JM_OA_REASONING,
    JM_OA_REASONING_SGLANG, /* SGLang writes it beside the counts */
    JM_OA_CACHED_DEEPSEEK,
    JM_OA_CHOICE,
    JM_OA_FINISH,
    JM_OA_IDS,
    JM_OA_INDEX,
    JM_OA_CACHE_LLAMA,  /* llama.cpp: timings.cache_n */
    JM_OA_PROMPT_LLAMA, /* llama.cpp before cache_n: the prompt tokens that were not cached */
    JM_OA_OUTPUT_LLAMA, /* llama.cpp, with timings_per_token: the tokens so far, in every event */
    JM_OA_OBJECT,
    JM_OA_MESSAGE, /* older vLLM: {"object":"error","message":...} */
    JM_OA_CHOICES,
    JM_OA_COMMON
};

/* Adds the pieces of one choice, which the dialect's own paths found. */
typedef void jm_openai_pieces(const struct jm_jsonfound *f, struct jm_said *out);

/* Reads an event or a whole document: common members, then the pieces of every choice in it. */
void jm_openai_read(const struct jm_jsonscan *scan, struct jm_span doc, jm_openai_pieces *pieces,
                    struct jm_said *out);
void jm_openai_event(const struct jm_reader *r, const struct jm_sse_event *ev, jm_openai_pieces *pieces,
                     struct jm_said *out);
/* A whole answer must have a choice. */
void jm_openai_whole(const struct jm_reader *r, struct jm_span body, jm_openai_pieces *pieces,
                     struct jm_said *out);
/* model, stream, max_tokens and the rest of a request's members. */
void jm_openai_members(struct jm_body *b);

#endif
