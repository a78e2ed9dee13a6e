/* SPDX-License-Identifier: Apache-2.0 */
#include "load/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define REFUSAL_BYTES ((size_t)64 << 10) /* of an error body; the rest is read and dropped */
#define WHOLE_BYTES   ((size_t)16 << 20) /* of an answer that does not stream */
#define KEPT_BYTES    ((size_t)4 << 10)  /* of memory, from one request to the next */
#define EVENTS_MOST   ((size_t)4 << 20)

void jm_call_init(struct jm_call *c, const struct jm_reader *reader, bool keep_text)
{
    *c = (struct jm_call){.reader = reader, .keep_text = keep_text};
    jm_evlog_init(&c->ev, false);
    jm_http1_init(&c->http, NULL);
    jm_sse_init(&c->sse, 0);
    jm_lines_init(&c->lines, 0);
    jm_str_init(&c->so_far);
    jm_str_init(&c->body);
    jm_str_init(&c->text);
    jm_call_begin(c);
}

void jm_call_release(struct jm_call *c)
{
    jm_http1_release(&c->http);
    jm_sse_release(&c->sse);
    jm_lines_release(&c->lines);
    jm_str_release(&c->so_far);
    jm_str_release(&c->body);
    jm_str_release(&c->text);
    jm_evlog_release(&c->ev);
}

void jm_call_begin(struct jm_call *c)
{
    jm_request_init(&c->r);
    jm_evlog_reset(&c->ev);
    c->counted = c->known = 0;
    jm_http1_reset(&c->http);
    jm_sse_reset(&c->sse);
    jm_lines_reset(&c->lines);
    jm_str_recycle(&c->so_far, KEPT_BYTES);
    jm_str_recycle(&c->body, KEPT_BYTES);
    jm_str_recycle(&c->text, KEPT_BYTES);
    jm_sha256_init(&c->sha);
    c->mode = JM_CALL_HEAD;
    c->keep_alive = c->noisy = c->sniffed = c->done = c->finished = c->saw_event = c->prompt_empty = false;
    c->counts_known = true;
    c->stamp = c->usage_output = c->load_ns = -1;
    c->ids = c->first_tokens = 0;
    c->thought = c->bundled = false;
    c->answers = c->ended = 0;
    c->text_mode = JM_TEXT_UNKNOWN;
    c->bad[0] = c->fault[0] = '\0';
}

bool jm_call_complete(const struct jm_call *c)
{
    return c->done && c->mode != JM_CALL_OVER;
}

static void set_words(struct jm_call *c, const char *words)
{
    jm_copy_words(jm_span_of(words), c->r.error, sizeof c->r.error);
}

/* A first event with this many tokens, and this many times more than the others have, was kept back. */
#define BUNDLE_TOKENS 16
#define BUNDLE_TIMES  4

/* Reasoning that was counted but never sent, or a buffer on the way, makes the first event stand for tokens
 * that were generated long before it (genai-bench #81): its request's times per token mean little. */
static bool is_bundle(const struct jm_call *c)
{
    int64_t others = (int64_t)c->ev.n - 1, rest = c->known - c->first_tokens;
    if (!c->ev.n)
        return false;
    /* with fewer events than visible tokens the reasoning cannot have come as plain text */
    bool hidden = c->r.reasoning_tokens >= BUNDLE_TOKENS && !c->thought &&
                  c->r.events <= c->r.output_tokens - c->r.reasoning_tokens;
    return hidden || (c->counts_known && c->first_tokens >= BUNDLE_TOKENS && others > 0 &&
                      c->first_tokens * others > BUNDLE_TIMES * rest);
}

/* The end of every way through this file. */
static void over(struct jm_call *c, enum jm_end end, const char *words, int64_t t)
{
    c->mode = JM_CALL_OVER;
    c->r.end = end;
    c->r.t[JM_T_CLOSED] = t;
    if (words)
        set_words(c, words);
    jm_sha256_done(&c->sha, c->r.output_sha256);
    c->bundled = is_bundle(c);
    if (c->r.output_tokens < 0 && c->ids > 0 && c->counts_known && end == JM_END_OK) {
        c->r.output_tokens = c->ids;
        c->r.token_source = JM_TOK_IDS;
    }
}

void jm_call_fail(struct jm_call *c, enum jm_end end, const char *words, int64_t t)
{
    if (c->mode != JM_CALL_OVER)
        over(c, end, words, t);
}

static void sum_text(struct jm_call *c, const struct jm_jtoken *v)
{
    char small[512];
    char *buf = small;
    struct jm_span s = v->raw;
    if (v->type == JM_J_STRING && v->escaped) {
        if (s.n > sizeof small && !(buf = malloc(s.n)))
            return;
        s = (struct jm_span){buf, jm_json_unescape(v->raw, buf, v->raw.n)};
    }
    c->r.output_bytes += (int64_t)s.n;
    jm_sha256_add(&c->sha, s.p, s.n);
    if (c->keep_text)
        jm_str_addspan(&c->text, s);
    if (buf != small)
        free(buf);
}

/* How much of two texts is the same, cut before an escape sequence or character that is not whole. */
static size_t common(struct jm_span a, struct jm_span b)
{
    size_t n = a.n < b.n ? a.n : b.n, i = 0, good = 0;
    while (i < n && a.p[i] == b.p[i]) {
        size_t step = 1;
        if (a.p[i] == '\\')
            step = i + 1 < n && a.p[i + 1] == 'u' ? 6 : 2;
        while (step && i < n && a.p[i] == b.p[i])
            i++, step--;
        if (!step && (i == n || ((unsigned char)a.p[i] & 0xc0) != 0x80))
            good = i;
    }
    return good;
}

/* A dialect that sends all text each time (SGLang), or with another setting of the server only what is new:
 * leaves in said what is new. A text that goes on from the one before is all of it; one that does not is new.
 */
static void only_new(struct jm_call *c, struct jm_said *said)
{
    struct jm_jtoken *v = &said->piece[0].text;
    if (!said->so_far || !said->pieces || v->type != JM_J_STRING || c->text_mode == JM_TEXT_NEW)
        return;
    struct jm_span before = jm_str_span(&c->so_far), now = v->raw;
    size_t same = common(before, now);
    if (c->text_mode == JM_TEXT_UNKNOWN && before.n) {
        if (same < before.n && same < now.n) {
            c->text_mode = JM_TEXT_NEW;
            jm_str_reset(&c->so_far);
            return;
        }
        if (now.n > before.n)
            c->text_mode = JM_TEXT_SO_FAR;
    }
    if (c->text_mode == JM_TEXT_SO_FAR && same < before.n / 2 && same < now.n) { /* it only looked like it */
        c->text_mode = JM_TEXT_NEW;
        jm_str_reset(&c->so_far);
        return;
    }
    if (now.n > before.n || same < now.n) {
        jm_str_reset(&c->so_far);
        jm_str_addspan(&c->so_far, now);
        if (c->so_far.failed)
            snprintf(c->fault, sizeof c->fault, "out of memory for the text of an answer");
    }
    v->raw = jm_span_sub(now, same, now.n);
    if (!v->raw.n)
        said->pieces = 0;
}

static void take_pieces(struct jm_call *c, const struct jm_said *said)
{
    for (size_t i = 0; i < said->pieces; i++)
        sum_text(c, &said->piece[i].text);
}

/* Usage, wherever it stands. A count of 0 beside tokens that were seen is no count (Ollama's completions put
 * zeros into every event). */
static void take_usage(struct jm_call *c, const struct jm_said *said, int64_t t)
{
    struct jm_request *r = &c->r;
    if (!said->usage)
        return;
    r->t[JM_T_USAGE] = t;
    bool zeros = said->prompt <= 0 && said->output <= 0;
    if (said->prompt > 0 || (said->prompt == 0 && c->prompt_empty))
        r->prompt_tokens = said->prompt;
    if (said->output > 0 || (said->output == 0 && !zeros && r->events == 0)) {
        r->output_tokens = said->output;
        r->token_source = JM_TOK_USAGE;
    }
    if (said->cached >= 0 && !zeros)
        r->cached_tokens = said->cached;
    if (said->reasoning >= 0 && !zeros)
        r->reasoning_tokens = said->reasoning;
}

/* How many tokens an event brought, -1 unknown. Ids say it at once; running usage by its difference, which
 * holds only while every event before it was counted too (else the first usage would book all of them on one
 * event). */
static int64_t tokens_of(struct jm_call *c, const struct jm_said *said)
{
    int64_t n = -1;
    if (said->ids >= 0) {
        n = said->ids;
    } else if (said->usage && said->output >= 0 && c->counts_known) {
        int64_t before = c->usage_output > c->ids ? c->usage_output : c->ids;
        if (said->output > before)
            n = said->output - before;
        else if (said->output == before && before > 0)
            n = 0; /* text that was held back; from the first event on it would mean that nobody counts */
    }
    if (said->usage && said->output >= 0)
        c->usage_output = said->output;
    return n;
}

static void add_event(struct jm_call *c, int64_t tokens, unsigned flags, int64_t t)
{
    struct jm_token_event ev = {.t = t, .behind_us = c->behind_us};
    if (c->ev.n && c->stamp == t) {
        flags |= JM_TE_SHARED;
        c->r.shared_stamp++;
    }
    if (tokens > UINT16_MAX)
        tokens = -1;
    if (tokens >= 0)
        flags |= JM_TE_COUNT_KNOWN;
    ev.tokens = (uint16_t)(tokens > 0 ? tokens : 0);
    ev.flags = (uint16_t)flags;
    if (c->ev.n >= EVENTS_MOST || !jm_evlog_add(&c->ev, &ev)) {
        snprintf(c->fault, sizeof c->fault, "out of memory for token events after %zu of them", c->ev.n);
        return;
    }
    c->stamp = t;
    c->thought |= (flags & JM_TE_REASONING) != 0;
    if (!c->r.events)
        c->first_tokens = tokens > 0 ? tokens : 0;
    c->r.events++;
    c->counted += tokens > 0 ? tokens : 1;
    c->known += tokens > 0 ? tokens : 0;
}

static void take_tokens(struct jm_call *c, const struct jm_said *said, int64_t t)
{
    struct jm_request *r = &c->r;
    if (!said->choices)
        return;
    r->t[JM_T_LAST_CHUNK] = t;
    if (r->t[JM_T_FIRST_CHUNK] < 0)
        r->t[JM_T_FIRST_CHUNK] = t;
    r->chunks++;
    int64_t n = tokens_of(c, said);
    unsigned flags = 0, both = JM_TE_REASONING | JM_TE_TOOL;
    bool visible = false;
    for (size_t i = 0; i < said->pieces; i++) {
        flags |= said->piece[i].flags;
        visible |= (said->piece[i].flags & both) == 0;
    }
    /* an event without text is a token when the server counts one (TensorRT-LLM sends those), but a total
     * that arrives with the finish is none */
    bool counted = n > 0 && (!said->finish[0] || said->ids >= 0 || r->events > 0);
    if (!said->pieces && !counted)
        return;
    if (!said->pieces)
        flags |= JM_TE_NO_TEXT;
    if (visible)
        flags &= ~both; /* mixed: the visible part decides */
    if (n < 0)
        c->counts_known = false;
    else
        c->ids += n;
    add_event(c, n, flags, t);
    if (r->t[JM_T_FIRST_TOKEN] < 0)
        r->t[JM_T_FIRST_TOKEN] = t;
    if (visible && r->t[JM_T_FIRST_VISIBLE] < 0)
        r->t[JM_T_FIRST_VISIBLE] = t;
    r->t[JM_T_LAST_TOKEN] = t;
}

static void take(struct jm_call *c, struct jm_said *said, int64_t t)
{
    if (said->bad) {
        if (!c->bad[0])
            snprintf(c->bad, sizeof c->bad, "a stream event is not valid JSON");
        return;
    }
    if (said->failed) {
        if (!c->fault[0]) {
            memcpy(c->fault, said->text, sizeof c->fault);
            if (!c->fault[0])
                snprintf(c->fault, sizeof c->fault, "the server sent an error without words");
        }
        return;
    }
    if (!said->done || said->choices || said->usage)
        c->r.messages++;
    only_new(c, said);
    take_tokens(c, said, t);
    take_pieces(c, said);
    take_usage(c, said, t);
    if (said->load_ns >= 0)
        c->load_ns = said->load_ns;
    c->answers |= said->said_by;
    c->ended |= said->ended;
    if (said->finish[0]) {
        memcpy(c->r.finish, said->finish, sizeof c->r.finish);
        if (said->text[0] && strncmp(said->finish, "abort", 5) == 0)
            set_words(c, said->text);
        c->finished = !(c->answers & ~c->ended); /* of several answers all must have ended */
    }
    if (said->done && (!said->said_by || !(c->answers & ~c->ended))) {
        c->done = true;
        c->r.t[JM_T_DONE] = t;
    }
}

/* The answer is whole, or as whole as it will be: what was it? cut: its end is missing, with words. */
static void settle(struct jm_call *c, bool cut, const char *words, int64_t t)
{
    struct jm_request *r = &c->r;
    char text[JM_SAID_TEXT];
    if (c->fault[0])
        over(c, JM_END_ERROR_EVENT, c->fault, t);
    else if (strcmp(r->finish, "abort") == 0 || strcmp(r->finish, "aborted") == 0)
        over(c, JM_END_ABORTED, r->error[0] ? NULL : "the server aborted the request (finish_reason abort)",
             t);
    else if (strcmp(r->finish, "error") == 0)
        over(c, JM_END_ERROR_EVENT, "the server ended the request with finish_reason error", t);
    else if (cut && !c->done)
        over(c, JM_END_CUT, words, t);
    else if (c->bad[0])
        over(c, JM_END_PROTOCOL, c->bad, t);
    else if (!c->saw_event && c->mode == JM_CALL_EVENTS) {
        struct jm_span type = JM_SPAN("of unknown type");
        jm_http1_header(&c->http, "Content-Type", 0, &type);
        snprintf(text, sizeof text, "the answer (%.*s) holds no event", (int)(type.n < 60 ? type.n : 60),
                 type.p);
        over(c, JM_END_PROTOCOL, text, t);
    } else if (!c->done && !c->finished && !c->reader->d->silent_end) {
        const char *mark = c->reader->d->end_mark;
        snprintf(text, sizeof text, "the stream ended without %s",
                 mark ? mark : "finish_reason and without [DONE]");
        over(c, JM_END_CUT, text, t);
    } else if (r->events == 0 && r->output_bytes <= 0 && r->output_tokens <= 0)
        over(c, JM_END_EMPTY, "the answer holds no token", t);
    else
        over(c, JM_END_OK, NULL, t);
}

static enum jm_end refusal(int status)
{
    switch (status) {
    case 401:
    case 403: return JM_END_AUTH;
    case 404: return JM_END_NOT_FOUND;
    case 429: return JM_END_RATE_LIMIT;
    default: break;
    }
    return status >= 500 ? JM_END_HTTP_SERVER : status >= 400 ? JM_END_HTTP_CLIENT : JM_END_PROTOCOL;
}

static void end_refusal(struct jm_call *c, int64_t t)
{
    char said[JM_SAID_TEXT], words[2 * JM_SAID_TEXT];
    struct jm_span v, reason = jm_http1_reason(&c->http);
    jm_error_words(jm_str_span(&c->body), said);
    if (c->http.status >= 300 && c->http.status < 400 && jm_http1_header(&c->http, "Location", 0, &v))
        snprintf(words, sizeof words, "redirected to %.*s", (int)(v.n < 100 ? v.n : 100), v.p);
    else if (jm_http1_header(&c->http, "Retry-After", 0, &v))
        snprintf(words, sizeof words, "retry after %.*s: %s", (int)(v.n < 30 ? v.n : 30), v.p, said);
    else if (said[0])
        snprintf(words, sizeof words, "%s", said);
    else
        snprintf(words, sizeof words, "HTTP %d %.*s", c->http.status, (int)(reason.n < 60 ? reason.n : 60),
                 reason.p);
    over(c, refusal(c->http.status), words, t);
}

static void end_whole(struct jm_call *c, bool cut, const char *words, int64_t t)
{
    struct jm_said said;
    if (cut) {
        over(c, JM_END_CUT, words, t);
        return;
    }
    c->reader->d->read_whole(c->reader, jm_str_span(&c->body), &said);
    if (said.bad) {
        over(c, JM_END_PROTOCOL, "the answer is neither an event stream nor an answer of this API", t);
        return;
    }
    c->saw_event = true;
    if (said.failed) {
        take(c, &said, t);
    } else { /* nothing in it has a time of its own: no token stamps, no token events */
        take_pieces(c, &said);
        take_usage(c, &said, t);
        c->load_ns = said.load_ns;
        memcpy(c->r.finish, said.finish, sizeof c->r.finish);
        if (said.text[0] && strncmp(said.finish, "abort", 5) == 0)
            set_words(c, said.text);
        c->finished = true;
    }
    settle(c, false, NULL, t);
}

/* What is left behind the last event when the bytes end. A line needs no line end; an event without its blank
 * line was cut off. */
static bool rest_is_cut(struct jm_call *c, int64_t t)
{
    struct jm_sse_event ev = {0};
    struct jm_said said;
    if (c->reader->d->framing == JM_FRAMES_SSE)
        return jm_sse_end(&c->sse, &ev, NULL) == 1;
    if (jm_lines_end(&c->lines, &ev.data) != 1)
        return false;
    c->reader->d->read_event(c->reader, &ev, &said);
    if (said.bad)
        return true;
    c->saw_event = true;
    take(c, &said, t);
    return false;
}

static void end_framing(struct jm_call *c, bool cut, const char *words, int64_t t)
{
    if (c->mode == JM_CALL_REFUSAL)
        end_refusal(c, t);
    else if (c->mode == JM_CALL_WHOLE)
        end_whole(c, cut, words, t);
    else {
        if (!cut && !c->done && rest_is_cut(c, t)) {
            cut = true;
            words = "the stream ended inside an event";
        }
        settle(c, cut, words, t);
    }
}

/* The first bytes of a 2xx body decide where the type does not. */
static void sniff(struct jm_call *c, struct jm_span piece)
{
    struct jm_span type;
    piece = jm_span_trim(piece);
    if (c->sniffed || !piece.n)
        return;
    c->sniffed = true;
    bool typed = jm_http1_header(&c->http, "Content-Type", 0, &type), stream;
    if (c->reader->d->framing == JM_FRAMES_SSE)
        stream = (typed && jm_span_istarts(type, JM_SPAN("text/event-stream"))) || piece.p[0] != '{';
    else /* a line looks like a document: only the type tells, and what is asked for is lines */
        stream = !typed || !jm_span_istarts(type, JM_SPAN("application/json"));
    if (!stream) {
        c->mode = JM_CALL_WHOLE;
        c->r.stream = 0;
    }
}

static bool head(struct jm_call *c, int64_t t)
{
    struct jm_span v;
    c->r.t[JM_T_HEADERS] = t;
    c->r.http_status = c->http.status;
    c->keep_alive = c->http.keep_alive;
    c->mode = c->http.status >= 200 && c->http.status < 300 ? JM_CALL_EVENTS : JM_CALL_REFUSAL;
    c->r.stream = 1;
    c->r.output_bytes = 0;
    if (c->mode == JM_CALL_EVENTS && jm_http1_header(&c->http, "Content-Encoding", 0, &v) && v.n &&
        !jm_span_ieq(v, JM_SPAN("identity"))) {
        char words[JM_SAID_TEXT];
        snprintf(words, sizeof words,
                 "the answer is compressed (%.*s), though that was not asked for: --transport curl reads it",
                 (int)(v.n < 30 ? v.n : 30), v.p);
        c->keep_alive = false;
        over(c, JM_END_PROTOCOL, words, t);
        return true;
    }
    return false;
}

static int next_event(struct jm_call *c, struct jm_span *in, struct jm_sse_event *ev, struct jm_err *err)
{
    if (c->reader->d->framing == JM_FRAMES_SSE)
        return jm_sse_next(&c->sse, in, ev, err);
    *ev = (struct jm_sse_event){0};
    return jm_lines_next(&c->lines, in, &ev->data, err);
}

static bool body(struct jm_call *c, struct jm_span piece, int64_t t)
{
    struct jm_sse_event ev;
    struct jm_said said;
    struct jm_err err;
    int rc;
    if (c->mode == JM_CALL_EVENTS)
        sniff(c, piece);
    if (c->mode != JM_CALL_EVENTS) {
        size_t most = c->mode == JM_CALL_WHOLE ? WHOLE_BYTES : REFUSAL_BYTES;
        if (c->body.len + piece.n > most) {
            if (c->mode == JM_CALL_WHOLE) {
                over(c, JM_END_PROTOCOL, "the answer is longer than 16 MiB", t);
                c->keep_alive = false;
                return true;
            }
            piece.n = most - c->body.len;
        }
        jm_str_addspan(&c->body, piece);
        return false;
    }
    while ((rc = next_event(c, &piece, &ev, &err)) == 1) {
        if (!c->saw_event) {
            c->r.t[JM_T_FIRST_EVENT] = t;
            c->r.chunks = c->r.messages = 0;
        }
        c->saw_event = true;
        c->reader->d->read_event(c->reader, &ev, &said);
        if (!c->done)
            take(c, &said, t);
    }
    if (rc < 0) {
        over(c, JM_END_PROTOCOL, err.text, t);
        c->keep_alive = false;
    }
    return rc < 0;
}

bool jm_call_bytes(struct jm_call *c, struct jm_span in, int64_t t)
{
    struct jm_err err = {0};
    struct jm_span piece;
    if (c->mode == JM_CALL_OVER) {
        c->noisy |= in.n > 0;
        return true;
    }
    if (c->r.t[JM_T_FIRST_BYTE] < 0 && in.n)
        c->r.t[JM_T_FIRST_BYTE] = t;
    for (;;) {
        int rc = jm_http1_next(&c->http, &in, &piece, &err);
        if (rc == JM_HTTP1_MORE)
            return false;
        if (rc == JM_HTTP1_DONE) {
            c->noisy = in.n > 0;
            end_framing(c, false, NULL, t);
            return true;
        }
        if (rc < 0) {
            c->keep_alive = false;
            if (c->mode == JM_CALL_EVENTS && c->done)
                settle(c, false, NULL, t);
            else
                over(c, JM_END_PROTOCOL, err.text, t);
            return true;
        }
        if (rc == JM_HTTP1_HEAD ? head(c, t) : body(c, piece, t))
            return true;
    }
}

void jm_call_closed(struct jm_call *c, const char *why, int64_t t)
{
    struct jm_err err = {0};
    if (c->mode == JM_CALL_OVER)
        return;
    c->keep_alive = false;
    int rc = jm_http1_eof(&c->http, &err);
    bool cut = why || rc != JM_HTTP1_DONE;
    const char *words = why ? why : err.text;
    if (c->mode == JM_CALL_HEAD)
        over(c, JM_END_CUT, words, t);
    else
        end_framing(c, cut, words, t);
}
