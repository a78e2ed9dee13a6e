/* SPDX-License-Identifier: Apache-2.0 */
/* What chat and completions of the OpenAI-compatible APIs share: usage, errors, ends, and the common members
 * of a request. */
#ifndef JM_LOAD_OPENAI_H
#define JM_LOAD_OPENAI_H

#include "base/json.h"
#include "load/dialect.h"

/* The first paths of every list of these dialects, in this order. */
#define JM_OPENAI_PATHS                                                                                      \
    "error", "usage", "usage.prompt_tokens", "usage.completion_tokens",                                      \
        "usage.prompt_tokens_details.cached_tokens", "usage.completion_tokens_details.reasoning_tokens",     \
        "usage.reasoning_tokens", "choices[]", "choices[].finish_reason", "choices[].token_ids",             \
        "timings.cache_n", "object", "message"
enum {
    JM_OA_ERROR,
    JM_OA_USAGE,
    JM_OA_PROMPT,
    JM_OA_OUTPUT,
    JM_OA_CACHED,
    JM_OA_REASONING,
    JM_OA_REASONING_SGLANG, /* SGLang writes it beside the counts */
    JM_OA_CHOICE,
    JM_OA_FINISH,
    JM_OA_IDS,
    JM_OA_CACHE_LLAMA, /* llama.cpp: timings.cache_n */
    JM_OA_OBJECT,
    JM_OA_MESSAGE, /* older vLLM: {"object":"error","message":...} */
    JM_OA_COMMON
};

/* Fills out from the common members. False when there is nothing more to read: an error, or no JSON. */
bool jm_openai_common(const struct jm_jsonscan *scan, struct jm_span doc, struct jm_jsonfound *f,
                      struct jm_said *out);
/* The same for an event: [DONE], error fields. */
bool jm_openai_event(const struct jm_reader *r, const struct jm_sse_event *ev, struct jm_jsonfound *f,
                     struct jm_said *out);
/* Adds a string that tokens became, unless it is absent, null or empty. */
void jm_openai_piece(struct jm_said *out, const struct jm_jsonfound *f, unsigned flags);
/* model, stream, max_tokens and the rest of a request's members, the object closed. prompt is the member that
 * holds the prompt, already written by the caller. */
int jm_openai_write(const struct jm_ask *a, struct jm_jsonw *w, struct jm_str *body, struct jm_err *err);

#endif
