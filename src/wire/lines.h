/* SPDX-License-Identifier: Apache-2.0 */
/* Text that is one document a line (NDJSON, JSON Lines), fed bytes as they come. Lines end with LF or CRLF;
 * empty ones are passed over. The usual line that came whole is handed out where it lies, without a copy. */
#ifndef JM_WIRE_LINES_H
#define JM_WIRE_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"

#define JM_LINES_LIMIT ((size_t)8 << 20)

struct jm_lines {
    size_t limit; /* bytes of one line */
    struct jm_str line;
    bool given, bad; /* given: the line was handed out and is cleared at the next call */
};

void jm_lines_init(struct jm_lines *l, size_t limit); /* 0: JM_LINES_LIMIT */
void jm_lines_release(struct jm_lines *l);
void jm_lines_reset(struct jm_lines *l);
/* Takes bytes off *in until a line is complete: 1 and *out, or 0 when all bytes are taken, or a negative
 * error (JM_ELIMIT, JM_ENOMEM), after which the parser is of no use until it is reset. *out points into the
 * parser or into the bytes given: use it before the next call. */
int jm_lines_next(struct jm_lines *l, struct jm_span *in, struct jm_span *out, struct jm_err *err);
/* The text ended. 1 and *out when a line without an end is left, 0 when none is. */
int jm_lines_end(struct jm_lines *l, struct jm_span *out);

#endif
