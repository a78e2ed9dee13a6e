/* SPDX-License-Identifier: Apache-2.0 */
/* One request's answer, from its bytes with their stamps to a struct jm_request and its token events. No
 * socket, no clock: the same bytes and stamps give the same record however they are cut, which the tests rely
 * on. */
#ifndef JM_LOAD_CALL_H
#define JM_LOAD_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "load/dialect.h"
#include "load/evlog.h"
#include "model/request.h"
#include "wire/http1.h"
#include "wire/lines.h"
#include "wire/sse.h"

enum jm_call_mode {
    JM_CALL_HEAD,
    JM_CALL_EVENTS,
    JM_CALL_WHOLE,
    JM_CALL_REFUSAL /* not 2xx */,
    JM_CALL_OVER
};

struct jm_call {
    const struct jm_reader *reader;
    bool keep_text;
    struct jm_request r;
    struct jm_evlog ev; /* token events so far */
    uint32_t behind_us; /* of the read that is handed over now: set before jm_call_bytes */
    struct jm_str text; /* the answer, with keep_text */
    int64_t counted;    /* tokens told so far, for progress */
    int64_t known;      /* those of them that the server counted */
    bool keep_alive;    /* after the end: the connection may be used again */
    bool noisy;         /* bytes came behind the answer: it may not */

    enum jm_call_mode mode;
    struct jm_http1 http;
    struct jm_sse sse;
    struct jm_lines lines;
    struct jm_str body;
    struct jm_sha256 sha;
    bool sniffed, done, finished, saw_event, counts_known, prompt_empty;
    int64_t stamp; /* of the latest token event: reads have stamps of their own, so an equal one is the same
                      read */
    int64_t usage_output, ids;
    int64_t first_tokens;    /* of the first token event */
    bool thought;            /* reasoning was seen */
    bool bundled;            /* JM_TE_BUNDLED belongs to the first token event */
    int64_t load_ns;         /* what the server spent on loading the model for this request, -1: not told */
    uint64_t answers, ended; /* of n > 1 answers: seen, ended */
    enum { JM_TEXT_UNKNOWN, JM_TEXT_SO_FAR, JM_TEXT_NEW } text_mode; /* what a dialect of all text sends */
    struct jm_str so_far;   /* the text, as it stands in JSON, of dialects that send all of it each time */
    char bad[JM_SAID_TEXT]; /* the first thing that was no answer */
    char fault[JM_SAID_TEXT];
};

void jm_call_init(struct jm_call *c, const struct jm_reader *reader, bool keep_text);
void jm_call_release(struct jm_call *c);
/* A new request: clears all but memory. Fill c->r's plan fields (id, slice, asked_*, prompt_*) afterwards. */
void jm_call_begin(struct jm_call *c);
/* Bytes of one read, stamped t. True when the request is over (c->r.end is set). */
bool jm_call_bytes(struct jm_call *c, struct jm_span in, int64_t t);
/* The connection was closed (why: what the system said, NULL: an orderly end). Always ends the request. */
void jm_call_closed(struct jm_call *c, const char *why, int64_t t);
/* Ends the request with a cause of the client's own: a time limit, a refused connection. t -1: no stamp. */
void jm_call_fail(struct jm_call *c, enum jm_end end, const char *words, int64_t t);
/* All content came ([DONE]), only the end of the framing is outstanding. */
bool jm_call_complete(const struct jm_call *c);

#endif
