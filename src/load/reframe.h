/* SPDX-License-Identifier: Apache-2.0 */
/* Between a library that speaks HTTP itself and the one reader of answers (call.c over wire/http1.h): what
 * the library decoded is written down as a plain HTTP/1.1 answer again, so that HTTP/2, compression and
 * proxies need no second way of understanding answers. Pure. */
#ifndef JM_LOAD_REFRAME_H
#define JM_LOAD_REFRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"

struct jm_reframe {
    bool decoded;    /* in: Content-Encoding was undone, so the header goes */
    char coding[16]; /* out: what it was; "" none */
    int status;
    bool in_head, headed, skipping; /* skipping: a header that is left out goes on in folded lines */
};

void jm_reframe_begin(struct jm_reframe *f, bool decoded);
/* A header line with its line end, as it came; also of interim answers. */
void jm_reframe_head(struct jm_reframe *f, struct jm_span line, struct jm_str *out);
void jm_reframe_body(struct jm_reframe *f, struct jm_span piece, struct jm_str *out);
/* The answer is whole. */
void jm_reframe_end(struct jm_reframe *f, struct jm_str *out);

/* A request as jm_http1_request() writes it, taken apart. */
struct jm_split {
    struct jm_span method, target, body; /* body.p NULL: none */
    const char *headers[16];             /* "Name: value", NULL at the end; without Host, Content-Length,
                                            Connection and Accept-Encoding, which the library writes */
    struct jm_span host;
};
/* keep gets the bytes that headers point into. JM_EPARSE, JM_ELIMIT, JM_ENOMEM. */
int jm_split_request(struct jm_span wire, struct jm_split *out, struct jm_str *keep, struct jm_err *err);

#endif
