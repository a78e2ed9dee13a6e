/* SPDX-License-Identifier: Apache-2.0 */
/* ptd_logs.txt, what PTDaemon says while it measures: "MM-DD-YYYY HH:MM:SS.mmm: text", and text without a
 * stamp. It is not line-safe: a message begins in the middle of a line, even of a number, where two threads
 * wrote at once. Samples that are echoed into it are passed over; they are never taken from here. */
#ifndef JM_WIRE_PTD_LOG_H
#define JM_WIRE_PTD_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

enum jm_ptd_kind {
    JM_PTD_INFO,    /* anything else */
    JM_PTD_WARNING, /* holds "WARNING:" or "Warning:" */
    JM_PTD_ERROR    /* holds "ERROR:" or "Error:" */
};

struct jm_ptd_message {
    int64_t t_ns;      /* as written, read as UTC; -1: no stamp */
    int64_t line_t_ns; /* the stamp that its line begins with; -1: none */
    int64_t line;
    struct jm_span text; /* after the stamp, up to the next one or the end of the line */
    int analyzer;        /* from 1; its section, 1 where there are none */
    enum jm_ptd_kind kind;
    bool upper; /* in capitals */
    bool inner; /* it begins in the middle of a line */
    bool note;  /* of INFO: how the measurement went (marks, ranges, states), not echoed data */
};

struct jm_ptd_log {
    int analyzer, analyzers; /* analyzers: 1 where there are no sections */
    int64_t not_line_safe;   /* lines with a message in their middle */
};

void jm_ptd_log_init(struct jm_ptd_log *p);
/* One line (without its line end): calls fn for each message that has a stamp, or is an error or warning; fn
 * returns non-zero to stop (passed on). */
typedef int (*jm_ptd_fn)(void *self, const struct jm_ptd_message *m);
int jm_ptd_log_line(struct jm_ptd_log *p, struct jm_span line, int64_t number, jm_ptd_fn fn, void *self);

#endif
