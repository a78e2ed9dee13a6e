/* SPDX-License-Identifier: Apache-2.0 */
/* Server-sent events (WHATWG HTML, "Server-sent events", 9.2.6), fed bytes as they come. Lines end with LF,
 * CRLF or CR. Two things beyond the standard, because engines do them: a field `error:` is an event whose
 * data is an error (llama.cpp, February 2025), and an event that the end of the stream cuts off is reported
 * as incomplete and not dropped, since a client that measures must say that something was lost. */
#ifndef JM_WIRE_SSE_H
#define JM_WIRE_SSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"

struct jm_sse {
    size_t limit;      /* bytes of one line and of one event's data */
    uint64_t comments; /* ":" lines, which servers send to keep a connection alive */
    int64_t retry_ms;  /* last valid retry:, -1: none */
    struct jm_str id;  /* last event id */

    struct jm_str line, data, name;
    int bom;      /* bytes of a byte order mark seen at the start, -1: past the start */
    bool skip_lf; /* the line before ended with CR: a following LF belongs to it */
    bool has_data, is_error, touched, bad;
};

struct jm_sse_event {
    struct jm_span data; /* data lines joined by LF; points into the parser or into the bytes given: use it
                            before the next call */
    struct jm_span name; /* event:, "" where none was given */
    bool error;          /* came as a field `error:` */
};

#define JM_SSE_LIMIT ((size_t)8 << 20)

void jm_sse_init(struct jm_sse *s, size_t limit); /* 0: JM_SSE_LIMIT */
void jm_sse_release(struct jm_sse *s);
void jm_sse_reset(struct jm_sse *s);
/* Takes bytes off *in until an event is complete: 1 and *out, or 0 when all bytes are taken, or a negative
 * error (JM_ELIMIT, JM_ENOMEM), after which the parser is of no use until it is reset. */
int jm_sse_next(struct jm_sse *s, struct jm_span *in, struct jm_sse_event *out, struct jm_err *err);
/* The stream ended. 1 and *out when it ended inside an event (no blank line came: by the standard such an
 * event is dropped), 0 when it ended between events, or a negative error. */
int jm_sse_end(struct jm_sse *s, struct jm_sse_event *out, struct jm_err *err);

#endif
