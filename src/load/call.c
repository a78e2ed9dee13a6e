/* SPDX-License-Identifier: Apache-2.0 */
#include "load/call.h"
#include "load/take.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define REFUSAL_BYTES ((size_t)64 << 10) /* of an error body; the rest is read and dropped */
#define WHOLE_BYTES   ((size_t)16 << 20) /* of an answer that does not stream */
#define KEPT_BYTES    ((size_t)4 << 10)  /* of memory, from one request to the next */

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

/* The end of every way through this file. */
static void over(struct jm_call *c, enum jm_end end, const char *words, int64_t t)
{
    c->mode = JM_CALL_OVER;
    c->r.end = end;
    c->r.t[JM_T_CLOSED] = t;
    if (words)
        jm_take_words(c, words);
    jm_sha256_done(&c->sha, c->r.output_sha256);
    c->bundled = jm_take_bundled(c);
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
        jm_take(c, &said, t);
    } else { /* nothing in it has a time of its own: no token stamps, no token events */
        jm_take_whole(c, &said, t);
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
    jm_take(c, &said, t);
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
            jm_take(c, &said, t);
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
