/* SPDX-License-Identifier: Apache-2.0 */
/* The events of the engines' own APIs, after their sources and documents. */
#include "engine.h"

#include "text.h"

#include <string.h>

static bool has(const struct sim_request *r, enum sim_fault_id id)
{
    return sim_has(&r->faults, id);
}

static bool counts(const struct sim_request *r)
{
    return !has(r, SIM_F_NO_USAGE);
}

static void send(struct sim_request *r, const char *name, struct sim_buf *b, bool bad)
{
    if (b->failed)
        r->conn->out.failed = true;
    else
        sim_stream_event(r, name, b->p, bad ? b->n * 2 / 3 : b->n);
    sim_buf_free(b);
}

static void pad(const struct sim_request *r, struct sim_buf *b)
{
    if (!has(r, SIM_F_HUGE) || r->events != 2)
        return;
    sim_buf_str(b, ",\"obfuscation\":\"");
    for (int32_t left = r->faults.value[SIM_F_HUGE]; left > 0; left--)
        sim_buf_add(b, "x", 1);
    sim_buf_str(b, "\"");
}

/* Name and reason, as each of them calls it. */
static const char *reason(const struct sim_request *r, const char *finish)
{
    static const char *const t[][3] = {{"openai", "stop", "length"},
                                       {"responses", "completed", "incomplete"},
                                       {"sglang", "stop", "length"},
                                       {"tgi", "eos_token", "length"},
                                       {"triton", "stop", "length"},
                                       {"llamacpp", "eos", "limit"},
                                       {"ollama", "stop", "length"},
                                       {"ollama", "stop", "length"},
                                       {"lmstudio", "eosFound", "maxPredictedTokensReached"}};
    if (strcmp(finish, "stop") == 0)
        return t[r->shape][1];
    return strcmp(finish, "length") == 0 ? t[r->shape][2] : finish;
}

/* --- Responses and LM Studio: named events
 * -------------------------------------------------------------------------- */
static void named(struct sim_request *r, const char *type, const char *more)
{
    struct sim_buf b = {0};
    sim_buf_fmt(&b, "{\"type\":\"%s\",\"sequence_number\":%u%s}", type, r->events, more);
    send(r, type, &b, false);
}

static void responses_usage(const struct sim_request *r, struct sim_buf *b)
{
    uint32_t out = sim_stream_counted(r);
    if (!counts(r)) {
        sim_buf_str(b, "null");
        return;
    }
    sim_buf_fmt(b,
                "{\"input_tokens\":%u,\"input_tokens_details\":{\"cached_tokens\":%u},\"output_tokens\":%u,"
                "\"output_tokens_details\":{\"reasoning_tokens\":%u},\"total_tokens\":%u}",
                r->prompt_tokens, r->seq.cached, out, sim_stream_reasoning(r, r->told),
                r->prompt_tokens + out);
}

static void responses_state(const struct sim_request *r, struct sim_buf *b, const char *state,
                            const char *finish)
{
    sim_buf_fmt(b,
                "{\"id\":\"%s\",\"object\":\"response\",\"created_at\":%ld,\"status\":\"%s\",\"error\":null,"
                "\"incomplete_details\":%s,\"model\":\"%s\"",
                r->id, r->created, state,
                finish && strcmp(finish, "length") == 0 ? "{\"reason\":\"max_output_tokens\"}" : "null",
                r->model);
}

static void responses_end(struct sim_request *r, const char *finish)
{
    bool all = strcmp(finish, "stop") == 0;
    const char *state = strcmp(finish, "abort") == 0 ? "cancelled" : all ? "completed" : "incomplete";
    char type[40];
    struct sim_buf b = {0};
    named(r, "response.output_text.done", "");
    named(r, "response.content_part.done", "");
    named(r, "response.output_item.done", "");
    if (has(r, SIM_F_NO_DONE))
        return;
    snprintf(type, sizeof type, "response.%s", state);
    sim_buf_fmt(&b, "{\"type\":\"%s\",\"sequence_number\":%u,\"response\":", type, r->events);
    responses_state(r, &b, state, finish);
    sim_buf_str(&b, ",\"usage\":");
    responses_usage(r, &b);
    sim_buf_str(&b, "}}");
    send(r, type, &b, false);
}

static void lmstudio_stats(const struct sim_request *r, struct sim_buf *b, const char *finish)
{
    sim_buf_str(b, "{");
    if (counts(r))
        sim_buf_fmt(b, "\"input_tokens\":%u,\"total_output_tokens\":%u,\"reasoning_output_tokens\":%u,",
                    r->prompt_tokens, sim_stream_counted(r), sim_stream_reasoning(r, r->told));
    sim_buf_fmt(b, "\"tokens_per_second\":1.0,\"stop_reason\":\"%s\"}", reason(r, finish));
}

/* --- events of tokens
 * ------------------------------------------------------------------------------------------------ */
static void sglang_meta(const struct sim_request *r, struct sim_buf *b, const char *finish)
{
    sim_buf_fmt(b, "\"meta_info\":{\"id\":\"%s\",\"finish_reason\":", r->id);
    if (!finish || has(r, SIM_F_NO_FINISH))
        sim_buf_str(b, "null");
    else if (strcmp(finish, "length") == 0)
        sim_buf_fmt(b, "{\"type\":\"length\",\"length\":%u}", r->seq.target);
    else
        sim_buf_fmt(b, "{\"type\":\"%s\",\"matched\":2}", finish);
    if (counts(r))
        sim_buf_fmt(b, ",\"prompt_tokens\":%u,\"completion_tokens\":%u,\"cached_tokens\":%u",
                    r->prompt_tokens, sim_stream_counted(r), r->seq.cached);
    sim_buf_str(b, "}}");
}

static void llamacpp_counts(const struct sim_request *r, struct sim_buf *b)
{
    if (counts(r))
        sim_buf_fmt(b, ",\"tokens_predicted\":%u,\"tokens_evaluated\":%u", sim_stream_counted(r),
                    r->prompt_tokens);
}

static void text(const struct sim_request *r, struct sim_buf *b, uint32_t from, uint32_t n, bool empty,
                 bool odd)
{
    if (!empty)
        sim_stream_words(r, b, from, n);
    if (odd)
        sim_buf_str(b, "\x80");
}

/* TGI says each token by itself. */
static void tgi_tokens(struct sim_request *r, uint32_t from, uint32_t n, bool empty, bool odd, bool bad)
{
    for (uint32_t i = from; i < from + n; i++) {
        struct sim_buf b = {0};
        char w[SIM_WORD_MAX];
        size_t k = sim_text_word(r->text_key, i, r->e->opt.utf8, w);
        /* the last one comes with the text of all, in sim_native_end */
        if (i + 1 == r->seq.target)
            break;
        sim_buf_fmt(&b, "{\"index\":%u,\"token\":{\"id\":%u,\"text\":\"", i + 1,
                    sim_text_id(w, k, (uint32_t)r->e->model.vocab));
        text(r, &b, i, 1, empty, odd);
        sim_buf_str(&b, "\",\"logprob\":-0.5,\"special\":false},\"generated_text\":null,\"details\":null");
        pad(r, &b);
        sim_buf_str(&b, "}");
        send(r, NULL, &b, bad && i == from);
    }
}

void sim_native_begin(struct sim_request *r)
{
    if (r->shape == SIM_SHAPE_RESPONSES) {
        struct sim_buf b = {0};
        sim_buf_str(&b, "{\"type\":\"response.created\",\"sequence_number\":0,\"response\":");
        responses_state(r, &b, "in_progress", NULL);
        sim_buf_str(&b, ",\"usage\":null}}");
        send(r, "response.created", &b, false);
        named(r, "response.in_progress", "");
        named(r, "response.output_item.added", ",\"item\":{\"type\":\"message\",\"role\":\"assistant\"}");
        named(r, "response.content_part.added", ",\"part\":{\"type\":\"output_text\",\"text\":\"\"}");
    } else if (r->shape == SIM_SHAPE_LMSTUDIO) {
        named(r, "chat.start", "");
        if (has(r, SIM_F_DELAY)) {
            char load[60];
            snprintf(load, sizeof load, ",\"load_time_seconds\":%.3f", r->faults.value[SIM_F_DELAY] / 1000.0);
            named(r, "model_load.start", "");
            named(r, "model_load.end", load);
        }
        named(r, "prompt_processing.start", "");
        named(r, "prompt_processing.end", "");
    } else if (r->shape == SIM_SHAPE_LLAMACPP && r->progress) {
        struct sim_buf b = {0};
        sim_buf_fmt(
            &b,
            "{\"index\":0,\"content\":\"\",\"tokens\":[],\"stop\":false,\"tokens_predicted\":0,\"tokens_"
            "evaluated\":%u,\"prompt_progress\":{\"total\":%u,\"cache\":%u,\"processed\":%u,\"time_ms\":1}}",
            r->prompt_tokens, r->prompt_tokens, r->seq.cached, r->prompt_tokens);
        send(r, NULL, &b, false);
    }
}

/* Tokens from ... from + n - 1 as one event; r->told counts them already. */
void sim_native_tokens(struct sim_request *r, uint32_t from, uint32_t n, bool empty, bool odd)
{
    struct sim_buf b = {0};
    const char *name = NULL;
    bool think = from < sim_stream_reasoning(r, from + n);
    bool bad = has(r, SIM_F_BAD_JSON) && from <= (uint32_t)r->faults.value[SIM_F_BAD_JSON] &&
               (uint32_t)r->faults.value[SIM_F_BAD_JSON] < from + n;
    switch (r->shape) {
    case SIM_SHAPE_RESPONSES:
        name = has(r, SIM_F_TOOL_CALL) ? "response.function_call_arguments.delta"
               : think                 ? "response.reasoning_text.delta"
                                       : "response.output_text.delta";
        sim_buf_fmt(
            &b, "{\"type\":\"%s\",\"sequence_number\":%u,\"output_index\":0,\"content_index\":0,\"delta\":\"",
            name, r->events);
        text(r, &b, from, n, empty, odd);
        sim_buf_str(&b, "\"");
        break;
    case SIM_SHAPE_LMSTUDIO:
        name = think ? "reasoning.delta" : "message.delta";
        sim_buf_fmt(&b, "{\"type\":\"%s\",\"content\":\"", name);
        text(r, &b, from, n, empty, odd);
        sim_buf_str(&b, "\"");
        break;
    case SIM_SHAPE_SGLANG: {
        bool only_new = r->e->opt.incremental;
        sim_buf_str(&b, "{\"text\":\"");
        text(r, &b, only_new ? from : 0, only_new ? n : from + n, empty && only_new, odd);
        sim_buf_str(&b, "\",\"output_ids\":");
        sim_stream_ids(r, &b, only_new ? from : 0, only_new ? n : from + n);
        sim_buf_str(&b, ",");
        sglang_meta(r, &b, NULL);
        b.n--; /* the brace, which comes below */
        break;
    }
    case SIM_SHAPE_TGI: tgi_tokens(r, from, n, empty, odd, bad); return;
    case SIM_SHAPE_TRITON:
        sim_buf_fmt(&b,
                    "{\"model_name\":\"%s\",\"model_version\":\"1\",\"sequence_end\":false,\"sequence_id\":0,"
                    "\"text_output\":\"",
                    r->model);
        text(r, &b, from, n, empty, odd);
        sim_buf_str(&b, "\"");
        if (r->tell_counts && counts(r))
            sim_buf_fmt(&b, ",\"num_input_tokens\":%u,\"num_output_tokens\":%u", r->prompt_tokens, n);
        break;
    case SIM_SHAPE_LLAMACPP: /* held-back text comes with the last id alone */
        sim_buf_str(&b, "{\"index\":0,\"content\":\"");
        text(r, &b, from, n, empty, odd);
        sim_buf_str(&b, "\",\"tokens\":");
        sim_stream_ids(r, &b, from + n - 1, 1);
        sim_buf_str(&b, ",\"stop\":false,\"id_slot\":0");
        llamacpp_counts(r, &b);
        break;
    case SIM_SHAPE_OLLAMA:
        sim_buf_fmt(&b, "{\"model\":\"%s\",\"created_at\":\"2025-01-01T00:00:00Z\",\"response\":\"",
                    r->model);
        if (!think)
            text(r, &b, from, n, empty, odd);
        sim_buf_str(&b, "\"");
        if (think) {
            sim_buf_str(&b, ",\"thinking\":\"");
            text(r, &b, from, n, empty, odd);
            sim_buf_str(&b, "\"");
        }
        sim_buf_str(&b, ",\"done\":false");
        break;
    case SIM_SHAPE_OLLAMA_CHAT:
        sim_buf_fmt(
            &b,
            "{\"model\":\"%s\",\"created_at\":\"2025-01-01T00:00:00Z\",\"message\":{\"role\":\"assistant\","
            "\"content\":\"",
            r->model);
        if (!think)
            text(r, &b, from, n, empty, odd);
        if (think) {
            sim_buf_str(&b, "\",\"thinking\":\"");
            text(r, &b, from, n, empty, odd);
        }
        sim_buf_str(&b, "\"},\"done\":false");
        break;
    default: return;
    }
    pad(r, &b);
    sim_buf_str(&b, "}");
    send(r, name, &b, bad);
}

static void ollama_end(const struct sim_request *r, struct sim_buf *b, const char *finish)
{
    sim_buf_str(b, ",\"done\":true");
    if (!has(r, SIM_F_NO_FINISH))
        sim_buf_fmt(b, ",\"done_reason\":\"%s\"", reason(r, finish));
    sim_buf_fmt(b, ",\"total_duration\":%lld,\"load_duration\":%lld", (long long)(r->t_last - r->t_arrival),
                has(r, SIM_F_DELAY) ? r->faults.value[SIM_F_DELAY] * 1000000LL : 20000000LL);
    if (counts(r)) { /* a count of 0 is left out, as is the prompt's when all of it was in the cache */
        if (r->prompt_tokens > r->seq.cached)
            sim_buf_fmt(b, ",\"prompt_eval_count\":%u", r->prompt_tokens);
        sim_buf_fmt(b, ",\"eval_count\":%u", sim_stream_counted(r));
    }
    sim_buf_str(b, "}");
}

static void tgi_details(const struct sim_request *r, struct sim_buf *b, const char *finish)
{
    if (!counts(r)) {
        sim_buf_str(b, "null");
        return;
    }
    sim_buf_fmt(b, "{\"finish_reason\":\"%s\",\"generated_tokens\":%u,\"seed\":null,\"input_length\":%u}",
                reason(r, finish), sim_stream_counted(r), r->prompt_tokens);
}

static void llamacpp_end(const struct sim_request *r, struct sim_buf *b, const char *finish)
{
    sim_buf_str(b, "\"id_slot\":0,\"stop\":true");
    if (!has(r, SIM_F_NO_FINISH))
        sim_buf_fmt(b, ",\"stop_type\":\"%s\"", reason(r, finish));
    llamacpp_counts(r, b);
    if (counts(r))
        sim_buf_fmt(b, ",\"timings\":{\"cache_n\":%u,\"prompt_n\":%u,\"predicted_n\":%u}", r->seq.cached,
                    r->prompt_tokens - r->seq.cached, sim_stream_counted(r));
    sim_buf_str(b, "}");
}

void sim_native_end(struct sim_request *r, const char *finish)
{
    struct sim_buf b = {0};
    if (r->shape == SIM_SHAPE_RESPONSES) {
        responses_end(r, finish);
        return;
    }
    if (has(r, SIM_F_NO_DONE) && r->shape != SIM_SHAPE_SGLANG)
        return;
    switch (r->shape) {
    case SIM_SHAPE_LMSTUDIO:
        sim_buf_str(&b, "{\"type\":\"chat.end\",\"result\":{\"output\":[],\"stats\":");
        lmstudio_stats(r, &b, finish);
        sim_buf_str(&b, "}}");
        send(r, "chat.end", &b, false);
        return;
    case SIM_SHAPE_SGLANG:
        sim_buf_str(&b, "{\"text\":\"");
        if (!r->e->opt.incremental)
            sim_stream_words(r, &b, 0, r->told);
        sim_buf_str(&b, "\",");
        sglang_meta(r, &b, finish);
        break;
    case SIM_SHAPE_TGI: {
        char w[SIM_WORD_MAX];
        uint32_t last = r->told ? r->told - 1 : 0;
        size_t k = sim_text_word(r->text_key, last, r->e->opt.utf8, w);
        sim_buf_fmt(&b, "{\"index\":%u,\"token\":{\"id\":%u,\"text\":\"", r->told,
                    sim_text_id(w, k, (uint32_t)r->e->model.vocab));
        sim_buf_add(&b, w, k);
        sim_buf_str(&b, "\",\"logprob\":-0.5,\"special\":false},\"generated_text\":\"");
        sim_stream_words(r, &b, 0, r->told);
        sim_buf_str(&b, "\",\"details\":");
        tgi_details(r, &b, finish);
        sim_buf_str(&b, "}");
        break;
    }
    case SIM_SHAPE_TRITON: return; /* nothing marks the end */
    case SIM_SHAPE_LLAMACPP:
        sim_buf_str(&b, "{\"index\":0,\"content\":\"\",\"tokens\":[],");
        llamacpp_end(r, &b, finish);
        break;
    case SIM_SHAPE_OLLAMA:
        sim_buf_fmt(&b, "{\"model\":\"%s\",\"created_at\":\"2025-01-01T00:00:00Z\",\"response\":\"\"",
                    r->model);
        ollama_end(r, &b, finish);
        break;
    case SIM_SHAPE_OLLAMA_CHAT:
        sim_buf_fmt(
            &b,
            "{\"model\":\"%s\",\"created_at\":\"2025-01-01T00:00:00Z\",\"message\":{\"role\":\"assistant\","
            "\"content\":\"\"}",
            r->model);
        ollama_end(r, &b, finish);
        break;
    default: break;
    }
    send(r, NULL, &b, false);
}

/* One document. */
void sim_native_answer(struct sim_request *r, const char *finish)
{
    struct sim_buf b = {0};
    switch (r->shape) {
    case SIM_SHAPE_RESPONSES:
        responses_state(r, &b, strcmp(finish, "stop") == 0 ? "completed" : "incomplete", finish);
        sim_buf_str(&b, ",\"output\":[{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":"
                        "\"output_text\","
                        "\"text\":\"");
        sim_stream_words(r, &b, 0, r->told);
        sim_buf_str(&b, "\"}]}],\"usage\":");
        responses_usage(r, &b);
        sim_buf_str(&b, "}");
        break;
    case SIM_SHAPE_LMSTUDIO:
        sim_buf_str(&b, "{\"model_instance_id\":\"m\",\"output\":[{\"type\":\"message\",\"content\":\"");
        sim_stream_words(r, &b, 0, r->told);
        sim_buf_str(&b, "\"}],\"stats\":");
        lmstudio_stats(r, &b, finish);
        sim_buf_str(&b, "}");
        break;
    case SIM_SHAPE_SGLANG:
        sim_buf_str(&b, "{\"text\":\"");
        sim_stream_words(r, &b, 0, r->told);
        sim_buf_str(&b, "\",");
        sglang_meta(r, &b, finish);
        break;
    case SIM_SHAPE_TGI:
        sim_buf_str(&b, "{\"generated_text\":\"");
        sim_stream_words(r, &b, 0, r->told);
        sim_buf_str(&b, "\",\"details\":");
        tgi_details(r, &b, finish);
        sim_buf_str(&b, "}");
        break;
    case SIM_SHAPE_TRITON:
        sim_buf_fmt(&b, "{\"model_name\":\"%s\",\"model_version\":\"1\",\"text_output\":\"", r->model);
        sim_stream_words(r, &b, 0, r->told);
        sim_buf_str(&b, "\"");
        if (r->tell_counts && counts(r))
            sim_buf_fmt(&b, ",\"num_input_tokens\":%u,\"num_output_tokens\":%u", r->prompt_tokens,
                        sim_stream_counted(r));
        sim_buf_str(&b, "}");
        break;
    case SIM_SHAPE_LLAMACPP:
        sim_buf_str(&b, "{\"index\":0,\"content\":\"");
        sim_stream_words(r, &b, 0, r->told);
        sim_buf_str(&b, "\",\"tokens\":[],");
        llamacpp_end(r, &b, finish);
        break;
    case SIM_SHAPE_OLLAMA:
        sim_buf_fmt(&b, "{\"model\":\"%s\",\"created_at\":\"2025-01-01T00:00:00Z\",\"response\":\"",
                    r->model);
        sim_stream_words(r, &b, 0, r->told);
        sim_buf_str(&b, "\"");
        ollama_end(r, &b, finish);
        break;
    case SIM_SHAPE_OLLAMA_CHAT:
        sim_buf_fmt(
            &b,
            "{\"model\":\"%s\",\"created_at\":\"2025-01-01T00:00:00Z\",\"message\":{\"role\":\"assistant\","
            "\"content\":\"",
            r->model);
        sim_stream_words(r, &b, 0, r->told);
        sim_buf_str(&b, "\"}");
        ollama_end(r, &b, finish);
        break;
    default: break;
    }
    if (has(r, SIM_F_BAD_JSON))
        b.n = b.n * 2 / 3;
    sim_stream_document(r, &b);
}
