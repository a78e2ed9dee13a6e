/* SPDX-License-Identifier: Apache-2.0 */
/* The logs of MLPerf LoadGen: mlperf_log_detail.txt (lines ":::MLLOG {json}", old ones with other spelling)
 * and mlperf_log_summary.txt ("Key : value" lines). Lines that are neither are passed over and counted. */
#ifndef JM_WIRE_LOADGEN_LOG_H
#define JM_WIRE_LOADGEN_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

struct jm_loadgen_entry {
    struct jm_span key,
        text; /* text: a string's content, or the number / true / false as written; borrowed from the doc */
    bool is_string, is_number, is_bool, is_error, is_warning;
    double number;
    int64_t integer; /* exact when has_integer */
    bool has_integer, boolean;
};

/* Calls fn for each entry; fn returns non-zero to stop (passed on). *broken counts lines that begin as log
 * lines but are no JSON. Objects and arrays as values have empty text. */
typedef int (*jm_loadgen_fn)(void *self, const struct jm_loadgen_entry *e);
int jm_loadgen_detail(struct jm_span text, jm_loadgen_fn fn, void *self, int64_t *broken, struct jm_err *err);

/* Value of the first "key : value" line of a summary whose key equals key (blanks around ignored); false:
 * none. */
bool jm_loadgen_summary(struct jm_span text, const char *key, struct jm_span *value);

#endif
