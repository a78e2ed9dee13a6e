/* SPDX-License-Identifier: Apache-2.0 */
/* llama.cpp's server with --metrics. It counts tokens when a request ends, and never those of an aborted one;
 * /slots says how far each running task is, which makes a count per step of it. */
#include "engine/dialects.h"

#include "base/banned.h"

static const struct jm_engine_map map[] = {
    {"llamacpp:prompt_tokens_total", JM_EQ_PROMPT, .note = "without cached tokens"},
    {"llamacpp:prompt_tokens_cached_total", JM_EQ_CACHED, .note = "newer"},
    {"llamacpp:tokens_predicted_total", JM_EQ_GEN_END,
     .note = "when a request ends; in older builds never if it was aborted"},
    {"llamacpp:prompt_seconds_total", JM_EQ_PREFILL_S, .note = "whole milliseconds a request"},
    {"llamacpp:tokens_predicted_seconds_total", JM_EQ_DECODE_S,
     .note = "whole milliseconds a request, added up over slots: faster than the clock"},
    {"llamacpp:n_decode_total", JM_EQ_STEPS, .note = "calls of llama_decode: per step, not per token"},
    {"llamacpp:spec_decode_num_draft_tokens_total", JM_EQ_DRAFT},
    {"llamacpp:spec_decode_num_accepted_tokens_total", JM_EQ_ACCEPTED},
    {"llamacpp:requests_processing", JM_EQ_RUNNING},
    {"llamacpp:requests_deferred", JM_EQ_WAITING},
    {"llamacpp:kv_cache_usage_ratio", JM_EQ_KV_USE, .note = "gone in newer versions"},
    {"joulemark_slots", JM_EQ_SLOTS},
    {"joulemark_slot_n_decoded", JM_EQ_SLOT, .note = "from /slots; prompts are left out"},
    {0}};

static const char *const traps[] = {
    "tokens_predicted_total moves only when a request ends: a window that cuts a long request gets none of "
    "it",
    "aborted requests never count in older builds (b4748): their tokens are in no counter, only /slots shows "
    "them while they run; newer ones count them when they let go of the slot",
    "seconds are cut to whole milliseconds a request (four answers of 1.4 to 2.1 ms: 0.004 s), so "
    "predicted_tokens_seconds showed 5000",
    "tokens_predicted_seconds_total adds up the slots and runs faster than the clock: tokens over these "
    "seconds are a rate a slot",
    "n_busy_slots_per_decode is typed counter, is a running mean and decreases: no reset, and not read",
    "prompt_tokens_total leaves cached prompt tokens out, the opposite of vLLM",
    "the header Process-Start-Time-Unix is microseconds of the monotonic clock",
    "prompt_tokens_seconds and predicted_tokens_seconds begin again at each scrape, of anyone: not read",
    "tasks that were aborted between two texts are seen only where more vanishes than was counted: a lower "
    "bound",
    "/slots shows prompts to whoever asks; what is kept of it here are numbers only",
    NULL};

const struct jm_engine_dialect jm_engine_llamacpp = {.name = "llamacpp",
                                                     .title = "llama.cpp",
                                                     .paths = "/metrics",
                                                     .enable = "--metrics",
                                                     .map = map,
                                                     .slots = true,
                                                     .traps = traps,
                                                     .source =
                                                         "llama.cpp, server README; measured on build b4748"};
