/* SPDX-License-Identifier: Apache-2.0 */
/* The logs of MLPerf LoadGen: mlperf_log_detail.txt and mlperf_log_summary.txt ("Key : value" lines). Forms
 * of a line of the detail log:
 *
 *   :::MLLOG {"key": "power_begin", "value": "07-28-2025 08:14:05.414", "time_ms": ..., "metadata": {...}}
 *   :::MLPv0.5.0 name 1541635560.123 (file:line) key: {"value": ...}          (or "key: value", or "key")
 *   "pid": 1, "tid": 1, "ts": 123ns : POWER_BEGIN : value                      (before LoadGen 1.0)
 *
 * Lines that are none are passed over; those that begin as one but are none are broken and counted. */
#ifndef JM_WIRE_LOADGEN_LOG_H
#define JM_WIRE_LOADGEN_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"

struct jm_loadgen_entry {
    struct jm_span key,
        text; /* text: a string's content, or the number / true / false as written; borrowed */
    bool is_string, is_number, is_bool, is_error, is_warning;
    double number;
    int64_t integer; /* exact when has_integer */
    bool has_integer, boolean;
    /* of jm_loadgen_line only: number and integer are not set, and text still has its backslashes where
     * escaped says so */
    bool escaped;
    bool json; /* the line is ":::MLLOG {json}" */
};

/* One line of a detail log (without its line end). 0 and *e (which points into the line and into scratch);
 * JM_EAGAIN: no entry; JM_EPARSE: broken; JM_ENOMEM. Lines as LoadGen writes them take one pass without a
 * document; all others go through the JSON tokenizer. Objects and arrays as values have empty text. */
int jm_loadgen_line(struct jm_span line, struct jm_str *scratch, struct jm_loadgen_entry *e);
/* The value with its escapes undone, appended to out. */
void jm_loadgen_text(const struct jm_loadgen_entry *e, struct jm_str *out);
/* Sets number, integer and has_integer of an entry that is a number. */
void jm_loadgen_number(struct jm_loadgen_entry *e);

/* Calls fn for each entry of a whole log; fn returns non-zero to stop (passed on). *broken counts lines that
 * begin as log lines but are none. */
typedef int (*jm_loadgen_fn)(void *self, const struct jm_loadgen_entry *e);
int jm_loadgen_detail(struct jm_span text, jm_loadgen_fn fn, void *self, int64_t *broken, struct jm_err *err);

/* "key : value" of a summary line, blanks around both taken off; false: it is none. */
bool jm_loadgen_summary_line(struct jm_span line, struct jm_span *key, struct jm_span *value);
/* Value of the first "key : value" line of a summary whose key equals key (blanks around ignored); false:
 * none. */
bool jm_loadgen_summary(struct jm_span text, const char *key, struct jm_span *value);

/* The window as the power checker of mlcommons/power-dev finds it: lines that name power_begin or power_end
 * in any case, and in them the first that looks like a time. */
struct jm_loadgen_window {
    int64_t begin, end;  /* ns, read as UTC; -1: none */
    bool done, timeless; /* timeless: a line that names one has no time, where the checker gives up */
};
void jm_loadgen_window_init(struct jm_loadgen_window *w);
void jm_loadgen_window_line(struct jm_loadgen_window *w, struct jm_span line);

#endif
