/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.0 and 1.1 (RFC 9110, RFC 9112), the client's side: a reader of one response after the other that is
 * fed bytes as they come, and a writer of requests. No socket, no clock.
 *
 * A length that cannot be trusted (two Content-Lengths that differ, a length beside Transfer-Encoding, a
 * chunk size that is no number) is an error: guessing would give one request the bytes of another. */
#ifndef JM_WIRE_HTTP1_H
#define JM_WIRE_HTTP1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"

struct jm_http1_limits {
    size_t head_bytes; /* status line and headers, trailers and chunk extensions each; 0: 64 KiB */
    size_t headers;    /* header lines; 0: 100 */
};

enum jm_http1_what {
    JM_HTTP1_MORE = 0, /* all bytes are taken, more are needed */
    JM_HTTP1_HEAD,     /* the head of the final (not 1xx) response is complete; its fields are valid */
    JM_HTTP1_BODY,     /* *body is a piece of the body; it points into the bytes that were given */
    JM_HTTP1_DONE      /* the response is complete; what is left of *in belongs to the next one */
};

struct jm_http1 {
    /* valid from JM_HTTP1_HEAD on */
    int status;                /* 200 */
    int minor;                 /* HTTP/1.minor */
    bool keep_alive;           /* the connection may be used again after JM_HTTP1_DONE */
    int64_t keep_s, keep_most; /* Keep-Alive: how long an idle connection stays open, how many requests it
                                  takes; -1: not said */
    bool chunked;
    int64_t length;     /* Content-Length, -1: none */
    int64_t body_bytes; /* body seen so far, without chunk framing */

    struct jm_http1_limits lim;
    struct jm_str head; /* status line and header lines, each ended by LF */
    struct jm_str line; /* an unfinished line of chunk framing */
    int state, informational;
    int64_t left;
    size_t start, lines, trailer_bytes, leading;
    bool seen;
};

void jm_http1_init(struct jm_http1 *h, const struct jm_http1_limits *lim); /* lim NULL: the defaults */
void jm_http1_release(struct jm_http1 *h);
void jm_http1_reset(struct jm_http1 *h); /* ready for the next response on the same connection */

/* Takes bytes off *in and says what they gave (enum jm_http1_what), or a negative error: JM_EPARSE for bytes
 * that are no response, JM_ELIMIT, JM_EUNSUPPORTED (a transfer coding other than chunked, 101), JM_ENOMEM.
 * After an error the reader is of no more use until it is reset. */
int jm_http1_next(struct jm_http1 *h, struct jm_span *in, struct jm_span *body, struct jm_err *err);
/* The connection ended. JM_HTTP1_DONE where that ends the body (or it was complete), JM_EABSENT when not one
 * byte of a response had come, JM_ENET when the response is cut. */
int jm_http1_eof(struct jm_http1 *h, struct jm_err *err);

/* Value of the n-th header of that name (case-insensitive), trimmed; false when there is none. Borrowed until
 * reset. */
bool jm_http1_header(const struct jm_http1 *h, const char *name, size_t nth, struct jm_span *value);
/* The reason phrase of the status line; may be empty. */
struct jm_span jm_http1_reason(const struct jm_http1 *h);

struct jm_http1_field {
    const char *name, *value; /* a row with value NULL is left out */
};
/* Appends a request. Content-Length is written when body.p is not NULL. JM_EINVAL when a part holds a control
 * character (a line end in a value would forge headers). */
int jm_http1_request(struct jm_str *out, const char *method, const char *target, const char *host,
                     const struct jm_http1_field *fields, size_t n, struct jm_span body, struct jm_err *err);

#endif
