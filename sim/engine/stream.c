/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens become events, in vLLM's shape unless a fault says otherwise. */
#include "engine.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

static bool has(const struct sim_request *r, enum sim_fault_id id)
{
    return sim_has(&r->faults, id);
}

static const char *eol(const struct sim_request *r)
{
    return has(r, SIM_F_CRLF) ? "\r\n" : has(r, SIM_F_CR) ? "\r" : "\n";
}

static bool by_lines(const struct sim_request *r)
{
    return r->shape == SIM_SHAPE_OLLAMA || r->shape == SIM_SHAPE_OLLAMA_CHAT;
}

/* NDJSON: a line is an event. */
static void line(struct sim_request *r, const char *json, size_t n)
{
    sim_http_body(r->conn, json, n);
    sim_http_body(r->conn, eol(r), strlen(eol(r)));
    r->events++;
    r->e->events++;
}

/* One event around a JSON text; name NULL: none of its own. */
void sim_stream_event(struct sim_request *r, const char *name, const char *json, size_t n)
{
    struct sim_buf b = {0};
    const char *nl = eol(r);
    if (by_lines(r)) {
        line(r, json, n);
        return;
    }
    if (r->events == 0 && has(r, SIM_F_BOM))
        sim_buf_str(&b, "\xef\xbb\xbf");
    if (has(r, SIM_F_COMMENTS) && r->events % (uint32_t)r->faults.value[SIM_F_COMMENTS] == 0)
        sim_buf_fmt(&b, ": keep-alive%s%s", nl, nl);
    if (name)
        sim_buf_fmt(&b, "event: %s%s", name, nl);
    else if (has(r, SIM_F_NAMED))
        sim_buf_fmt(&b, "event: message%sid: %u%sretry: 1000%s", nl, r->events, nl, nl);
    bool close = has(r, SIM_F_NO_SPACE) || r->shape == SIM_SHAPE_TGI;
    sim_buf_str(&b, close ? "data:" : "data: ");
    /* behind the first comma a line may break: JSON allows it, and SSE joins data lines with a line feed */
    const char *comma = has(r, SIM_F_TWO_DATA) ? memchr(json, ',', n) : NULL;
    if (comma) {
        size_t k = (size_t)(comma - json) + 1;
        sim_buf_add(&b, json, k);
        sim_buf_fmt(&b, "%s%s", nl, close ? "data:" : "data: ");
        sim_buf_add(&b, json + k, n - k);
    } else
        sim_buf_add(&b, json, n);
    sim_buf_fmt(&b, "%s%s%s", has(r, SIM_F_TRAILING_SPACE) ? " " : "", nl, nl);
    sim_http_body(r->conn, b.p, b.n);
    if (b.failed)
        r->conn->out.failed = true;
    sim_buf_free(&b);
    r->events++;
    r->e->events++;
}

static void event(struct sim_request *r, const char *json, size_t n)
{
    sim_stream_event(r, NULL, json, n);
}

uint32_t sim_stream_counted(const struct sim_request *r)
{
    int64_t n = r->told;
    if (has(r, SIM_F_USAGE_OFF))
        n += r->faults.value[SIM_F_USAGE_OFF];
    return n < 0 ? 0 : (uint32_t)n;
}

uint32_t sim_stream_reasoning(const struct sim_request *r, uint32_t tokens)
{
    uint32_t max = r->chat ? r->e->opt.reasoning : 0;
    return tokens < max ? tokens : max;
}

static void usage(const struct sim_request *r, struct sim_buf *b)
{
    uint32_t n = sim_stream_counted(r);
    sim_buf_fmt(b, "{\"prompt_tokens\":%u,\"total_tokens\":%u,\"completion_tokens\":%u", r->prompt_tokens,
                r->prompt_tokens + n, n);
    if (r->e->opt.cached_details && r->seq.cached)
        sim_buf_fmt(b, ",\"prompt_tokens_details\":{\"cached_tokens\":%u}", r->seq.cached);
    if (sim_stream_reasoning(r, r->told))
        sim_buf_fmt(b, ",\"completion_tokens_details\":{\"reasoning_tokens\":%u}",
                    sim_stream_reasoning(r, r->told));
    sim_buf_str(b, "}");
}

void sim_stream_ids(const struct sim_request *r, struct sim_buf *b, uint32_t from, uint32_t n)
{
    char w[SIM_WORD_MAX];
    sim_buf_str(b, "[");
    for (uint32_t i = from; i < from + n; i++) {
        size_t k = sim_text_word(r->text_key, i, r->e->opt.utf8, w);
        sim_buf_fmt(b, "%s%u", i > from ? "," : "", sim_text_id(w, k, (uint32_t)r->e->model.vocab));
    }
    sim_buf_str(b, "]");
}

static void prompt_ids(const struct sim_request *r, struct sim_buf *b)
{
    sim_buf_str(b, "[");
    for (uint32_t i = 0; r->prompt_ids && i < r->prompt_tokens; i++)
        sim_buf_fmt(b, "%s%d", i ? "," : "", r->prompt_ids[i]);
    sim_buf_str(b, "]");
}

void sim_stream_words(const struct sim_request *r, struct sim_buf *b, uint32_t from, uint32_t n)
{
    char w[SIM_WORD_MAX];
    for (uint32_t i = from; i < from + n; i++)
        sim_buf_add(b, w, sim_text_word(r->text_key, i, r->e->opt.utf8, w));
}

static void head(const struct sim_request *r, struct sim_buf *b, bool chunk)
{
    const char *object = !r->chat ? "text_completion" : chunk ? "chat.completion.chunk" : "chat.completion";
    sim_buf_fmt(b, "{\"id\":\"%s\",\"object\":\"%s\",\"created\":%ld,\"model\":\"%s\",\"choices\":[", r->id,
                object, r->created, r->model);
}

static void tail(const struct sim_request *r, struct sim_buf *b, bool last)
{
    sim_buf_str(b, "]");
    if (has(r, SIM_F_NO_USAGE))
        ;
    else if (has(r, SIM_F_ZERO_USAGE) && !last)
        sim_buf_str(b, ",\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0,\"total_tokens\":0}");
    else if (r->continuous_usage || last) {
        sim_buf_str(b, ",\"usage\":");
        usage(r, b);
    }
    sim_buf_str(b, "}");
}

/* A chunk with one choice; delta is the inside of a chat delta, or the text of a completion. */
static void chunk(struct sim_request *r, const char *delta, size_t n, const char *finish, uint32_t ids_from,
                  uint32_t ids_n)
{
    struct sim_buf b = {0};
    head(r, &b, true);
    sim_buf_str(&b, r->chat ? "{\"index\":0,\"delta\":{" : "{\"index\":0,\"text\":\"");
    sim_buf_add(&b, delta, n);
    sim_buf_str(&b, r->chat ? "},\"logprobs\":null" : "\",\"logprobs\":null");
    if (has(r, SIM_F_HUGE) && r->events == 2) {
        sim_buf_str(&b, ",\"obfuscation\":\"");
        char pad[256];
        memset(pad, 'x', sizeof pad);
        for (int32_t left = r->faults.value[SIM_F_HUGE]; left > 0; left -= (int32_t)sizeof pad)
            sim_buf_add(&b, pad, left < (int32_t)sizeof pad ? (size_t)left : sizeof pad);
        sim_buf_str(&b, "\"");
    }
    if (r->token_ids) {
        sim_buf_str(&b, ",\"token_ids\":");
        sim_stream_ids(r, &b, ids_from, ids_n);
        if (r->events == 0 && !r->chat) {
            sim_buf_str(&b, ",\"prompt_token_ids\":");
            prompt_ids(r, &b);
        }
    }
    if (finish)
        sim_buf_fmt(&b, ",\"finish_reason\":\"%s\",\"stop_reason\":null}", finish);
    else
        sim_buf_str(&b, ",\"finish_reason\":null}");
    tail(r, &b, finish && has(r, SIM_F_USAGE_FINISH));
    bool bad = ids_n && has(r, SIM_F_BAD_JSON) && ids_from <= (uint32_t)r->faults.value[SIM_F_BAD_JSON] &&
               (uint32_t)r->faults.value[SIM_F_BAD_JSON] < ids_from + ids_n;
    if (!b.failed)
        event(r, b.p, bad ? b.n * 2 / 3 : b.n);
    else
        r->conn->out.failed = true;
    sim_buf_free(&b);
}

static void role(struct sim_request *r)
{
    r->begun = true;
    if (r->shape != SIM_SHAPE_OPENAI) {
        sim_native_begin(r);
        return;
    }
    if (!r->chat || has(r, SIM_F_NO_ROLE))
        return;
    const char *d = has(r, SIM_F_NULL_ROLE) ? "\"role\":\"assistant\",\"content\":null"
                                            : "\"role\":\"assistant\",\"content\":\"\"";
    chunk(r, d, strlen(d), NULL, 0, 0);
}

void sim_stream_begin(struct sim_request *r)
{
    sim_http_begin(r->conn, 200, by_lines(r) ? "application/x-ndjson" : "text/event-stream; charset=utf-8",
                   -1, "cache-control: no-cache\r\n");
    sim_http_flush(r->conn);
}

void sim_stream_role(struct sim_request *r)
{
    if (!r->conn || !r->stream || r->begun)
        return;
    role(r);
    sim_http_flush(r->conn);
}

static void told(struct sim_request *r, struct sim_buf *delta, uint32_t from, uint32_t n)
{
    r->told = from + n;
    r->e->told_tokens += n;
    chunk(r, delta->p ? delta->p : "", delta->n, NULL, from, n);
    sim_buf_free(delta);
}

/* Tokens from … from + n - 1 as one event. */
static void say(struct sim_request *r, uint32_t from, uint32_t n)
{
    struct sim_buf d = {0};
    uint32_t reason = sim_stream_reasoning(r, from + n);
    reason = reason > from ? reason - from : 0;
    bool empty = has(r, SIM_F_EMPTY) && (r->events + 1) % (uint32_t)r->faults.value[SIM_F_EMPTY] == 0;
    bool odd = has(r, SIM_F_BAD_UTF8) && from <= (uint32_t)r->faults.value[SIM_F_BAD_UTF8] &&
               (uint32_t)r->faults.value[SIM_F_BAD_UTF8] < from + n;
    if (r->shape != SIM_SHAPE_OPENAI) {
        r->told = from + n;
        r->e->told_tokens += n;
        sim_native_tokens(r, from, n, empty, odd);
        return;
    }
    if (r->chat && has(r, SIM_F_TOOL_CALL)) {
        if (from == 0)
            sim_buf_fmt(&d,
                        "\"tool_calls\":[{\"index\":0,\"id\":\"call_%s\",\"type\":\"function\",\"function\":{"
                        "\"name\":\"measure\",\"arguments\":\"",
                        r->id);
        else
            sim_buf_str(&d, "\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"");
        sim_stream_words(r, &d, from, n);
        sim_buf_str(&d, "\"}}]");
        told(r, &d, from, n);
        return;
    }
    if (r->chat && reason) {
        sim_buf_fmt(&d, "\"%s\":\"", r->e->opt.reasoning_key);
        if (!empty)
            sim_stream_words(r, &d, from, reason);
        sim_buf_str(&d, reason < n ? "\"," : "\"");
    }
    if (r->chat && reason < n)
        sim_buf_str(&d, "\"content\":\"");
    if (!empty)
        sim_stream_words(r, &d, from + reason, n - reason);
    if (odd)
        sim_buf_str(&d, "\x80");
    if (r->chat && reason < n)
        sim_buf_str(&d, "\"");
    told(r, &d, from, n);
}

static void done(struct sim_request *r)
{
    if (has(r, SIM_F_NO_DONE) || (r->shape != SIM_SHAPE_OPENAI && r->shape != SIM_SHAPE_SGLANG))
        return;
    event(r, "[DONE]", 6);
}

static void end(struct sim_request *r, const char *finish)
{
    if (r->shape != SIM_SHAPE_OPENAI) {
        sim_native_end(r, finish);
        done(r);
        return;
    }
    if (!has(r, SIM_F_NO_FINISH)) {
        const char *d = r->chat ? "\"content\":\"\"" : "";
        chunk(r, d, strlen(d), finish, 0, 0);
    }
    if (r->include_usage && !has(r, SIM_F_NO_USAGE) && !has(r, SIM_F_USAGE_FINISH)) {
        struct sim_buf b = {0};
        head(r, &b, true);
        tail(r, &b, true);
        event(r, b.p, b.n);
        sim_buf_free(&b);
    }
    done(r);
}

static bool over(struct sim_engine *e, struct sim_request *r, enum sim_finish how)
{
    struct sim_conn *c = r->conn;
    sim_engine_finish(e, r, how);
    if (c)
        sim_http_end(c);
    return false;
}

static const char *error_text(const struct sim_request *r)
{
    switch (r->shape) {
    case SIM_SHAPE_OLLAMA:
    case SIM_SHAPE_OLLAMA_CHAT:
    case SIM_SHAPE_TRITON: return "{\"error\":\"The engine failed on purpose.\"}";
    case SIM_SHAPE_TGI: return "{\"error\":\"The engine failed on purpose.\",\"error_type\":\"generation\"}";
    case SIM_SHAPE_RESPONSES:
        return "{\"type\":\"error\",\"code\":\"server_error\",\"message\":\"The engine failed on purpose.\","
               "\"param\":null}";
    default:
        return "{\"error\":{\"message\":\"The engine failed on purpose.\",\"type\":\"InternalServerError\","
               "\"param\":null,\"code\":500}}";
    }
}

/* Faults that end the stream before its time, once the tokens before are out. */
static bool broken(struct sim_engine *e, struct sim_request *r)
{
    static const enum sim_fault_id ends[] = {SIM_F_CUT,         SIM_F_RST,         SIM_F_STALL,
                                             SIM_F_ERROR_EVENT, SIM_F_ERROR_FIELD, SIM_F_ABORT,
                                             SIM_F_FAKE_STOP,   SIM_F_BAD_CHUNK};
    struct sim_conn *c = r->conn;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        enum sim_fault_id f = ends[i];
        if (!has(r, f) || r->told < (uint32_t)r->faults.value[f])
            continue;
        const char *err = error_text(r);
        switch (f) {
        case SIM_F_CUT:
        case SIM_F_RST:
            sim_http_flush(c);
            if (c->dead)
                return true; /* its request went with it */
            sim_engine_finish(e, r, SIM_FIN_ERROR);
            sim_http_cut(c, f == SIM_F_RST);
            return true;
        case SIM_F_STALL:
            sim_sched_remove(&e->sched, &r->seq);
            r->stalled = true;
            sim_http_flush(c);
            return true;
        case SIM_F_ERROR_EVENT:
            sim_stream_event(r, r->shape == SIM_SHAPE_RESPONSES ? "error" : NULL, err, strlen(err));
            done(r);
            over(e, r, SIM_FIN_ERROR);
            return true;
        case SIM_F_ERROR_FIELD:
            sim_http_body(c, "error: ", 7);
            sim_http_body(c, err, strlen(err));
            sim_http_body(c, "\n\n", 2);
            over(e, r, SIM_FIN_ERROR);
            return true;
        case SIM_F_ABORT:
            end(r, "abort");
            over(e, r, SIM_FIN_ABORT);
            return true;
        case SIM_F_FAKE_STOP:
            end(r, "stop");
            over(e, r, SIM_FIN_ERROR);
            return true;
        default:
            sim_buf_str(&c->out, "zz\r\n");
            sim_http_flush(c);
            if (c->dead)
                return true;
            sim_engine_finish(e, r, SIM_FIN_ERROR);
            sim_http_cut(c, false);
            return true;
        }
    }
    return false;
}

bool sim_stream_tokens(struct sim_engine *e, struct sim_request *r)
{
    struct sim_conn *c = r->conn;
    bool last = r->seq.state == SIM_SEQ_DONE;
    if (!c || r->stalled)
        return true;
    if (!r->stream) {
        if (!last)
            return true;
        sim_stream_answer(e, r);
        return false;
    }
    if (!r->begun)
        role(r);
    uint32_t unit = r->told == 0 && has(r, SIM_F_BUNDLE) ? (uint32_t)r->faults.value[SIM_F_BUNDLE]
                                                         : e->opt.stream_interval;
    uint32_t have = r->seq.generated - r->told;
    if (r->told == 0 && have < unit && !last && has(r, SIM_F_BUNDLE))
        return true;
    /* vLLM sends the first token at once, then whenever the interval is full; a step's tokens stay together
     */
    if (have && (have >= unit || last || (r->told == 0 && !has(r, SIM_F_BUNDLE)))) {
        uint32_t stop = UINT32_MAX;
        for (int f = SIM_F_CUT; f <= SIM_F_FAKE_STOP; f++)
            if (has(r, (enum sim_fault_id)f) && f != SIM_F_NO_DONE && f != SIM_F_NO_FINISH &&
                (uint32_t)r->faults.value[f] < stop)
                stop = (uint32_t)r->faults.value[f];
        if (r->told + have > stop)
            have = stop > r->told ? stop - r->told : 0;
        if (have)
            say(r, r->told, have);
    }
    if (broken(e, r))
        return false;
    if (last) {
        bool tool = r->chat && has(r, SIM_F_TOOL_CALL);
        end(r, r->finish != SIM_FIN_STOP ? "length" : tool ? "tool_calls" : "stop");
        return over(e, r, r->finish);
    }
    if (!has(r, SIM_F_MERGE) || r->events % (uint32_t)r->faults.value[SIM_F_MERGE] == 0)
        sim_http_flush(c);
    return true;
}

void sim_stream_answer(struct sim_engine *e, struct sim_request *r)
{
    struct sim_buf b = {0};
    uint32_t n = r->seq.generated, reason = sim_stream_reasoning(r, n);
    const char *finish = has(r, SIM_F_ABORT) ? "abort" : r->finish == SIM_FIN_STOP ? "stop" : "length";
    r->told = n;
    e->told_tokens += n;
    if (r->shape != SIM_SHAPE_OPENAI) {
        sim_native_answer(r, finish);
        return;
    }
    head(r, &b, false);
    sim_buf_str(&b,
                r->chat ? "{\"index\":0,\"message\":{\"role\":\"assistant\"," : "{\"index\":0,\"text\":\"");
    if (reason) {
        sim_buf_fmt(&b, "\"%s\":\"", e->opt.reasoning_key);
        sim_stream_words(r, &b, 0, reason);
        sim_buf_str(&b, "\",");
    }
    if (r->chat)
        sim_buf_str(&b, "\"content\":\"");
    sim_stream_words(r, &b, reason, n - reason);
    sim_buf_str(&b, r->chat ? "\"},\"logprobs\":null" : "\",\"logprobs\":null");
    if (r->token_ids) {
        sim_buf_str(&b, ",\"token_ids\":");
        sim_stream_ids(r, &b, 0, n);
        sim_buf_str(&b, ",\"prompt_token_ids\":");
        prompt_ids(r, &b);
    }
    if (!has(r, SIM_F_NO_FINISH))
        sim_buf_fmt(&b, ",\"finish_reason\":\"%s\",\"stop_reason\":null", finish);
    sim_buf_str(&b, "}");
    tail(r, &b, true);
    if (has(r, SIM_F_BAD_JSON))
        b.n = b.n * 2 / 3;
    sim_stream_document(r, &b);
}

void sim_stream_document(struct sim_request *r, struct sim_buf *b)
{
    struct sim_conn *c = r->conn;
    struct sim_engine *e = r->e;
    if (b->failed)
        c->out.failed = true;
    sim_http_begin(c, 200, "application/json", (int64_t)b->n, NULL);
    bool rst = has(r, SIM_F_RST);
    if (rst || has(r, SIM_F_CUT)) {
        sim_http_body(c, b->p, b->n / 2);
        sim_engine_finish(e, r, SIM_FIN_ERROR);
        sim_http_cut(c, rst);
    } else {
        sim_http_body(c, b->p, b->n);
        over(e, r, r->finish);
    }
    sim_buf_free(b);
}
