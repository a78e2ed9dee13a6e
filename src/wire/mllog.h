/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of mlcommons/logging as MLPerf Training writes them: anything, then ":::MLLOG " and a JSON object
 * with time_ms, event_type, key, value and metadata. Nothing is allocated; spans point into the line. */
#ifndef JM_WIRE_MLLOG_H
#define JM_WIRE_MLLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

struct jm_mllog {
    struct jm_span key;   /* as written, without its quotes */
    struct jm_span event; /* "INTERVAL_START", "POINT_IN_TIME"; empty: none */
    struct jm_span text;  /* value: a string's content, or a number or truth value as written; empty: null, an
                             object or array, or none */
    bool is_string, is_number, is_bool, boolean;
    double number; /* NaN: no finite number */
    bool has_time;
    int64_t time_us;         /* time_ms as written, in microseconds (some loggers write fractions) */
    struct jm_span metadata; /* the whole object; empty: it is none */
};

/* JM_EAGAIN: no log line. JM_EPARSE: it begins as one, but is no such object (err says why). */
int jm_mllog_parse(struct jm_span line, struct jm_mllog *out, struct jm_err *err);
/* A string or number of the metadata by its name, empty: there is none. */
struct jm_span jm_mllog_meta(const struct jm_mllog *e, const char *name);

#endif
