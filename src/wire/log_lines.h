/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a log, fed in blocks: numbered, empty ones too, in bounded memory. Of a line that is longer
 * than the limit the beginning is given. A line that lies within its block is handed out where it lies. */
#ifndef JM_WIRE_LOG_LINES_H
#define JM_WIRE_LOG_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "base/str.h"

struct jm_log_line {
    struct jm_span text; /* without LF, and without the CRs before it */
    int64_t number;      /* from 1; line ends are counted as editors do, by LF */
    bool crlf, cut;      /* cut: longer than the limit */
    bool ended;          /* false: the file ends within it */
};

struct jm_log_lines {
    size_t limit;
    struct jm_str held; /* what came of a line in blocks before */
    int64_t number;
    bool given, cut, cr; /* cr: the last byte of a cut line so far was CR */
};

void jm_log_lines_init(struct jm_log_lines *l, size_t limit);
void jm_log_lines_release(struct jm_log_lines *l);
/* Takes bytes off *in until a line is complete: 1 and *out, 0 when all are taken, JM_ENOMEM. *out points into
 * the parser or into the block: use it before the next call. */
int jm_log_lines_next(struct jm_log_lines *l, struct jm_span *in, struct jm_log_line *out);
/* The file ended: 1 and *out when a line without an end is left, else 0. */
int jm_log_lines_end(struct jm_log_lines *l, struct jm_log_line *out);

#endif
