/* SPDX-License-Identifier: Apache-2.0 */
/* client.log and server.log of a session, written as the public tool's are (Python's logging with the format
 * "client %(asctime)s [%(levelname)s] %(message)s"), so that what reads those reads ours:
 *
 *   client 2025-07-28 07:18:36,727 [INFO] Sending command to the server: 'mlcommons/power client v3'
 *
 * Times are local. */
#ifndef JM_MLPERF_TEXTLOG_H
#define JM_MLPERF_TEXTLOG_H

#include <stdint.h>

#include "base/log.h"
#include "base/str.h"

/* Local time minus UTC in seconds at that moment, by the system's time zone. */
int64_t jm_mlperf_utc_offset(int64_t real_ns);

/* Appends a line; who: "client" or "ptd-server". Line ends in text become blanks: one message, one line. */
void jm_mlperf_textlog(struct jm_str *out, const char *who, int64_t real_ns, int64_t utc_offset_s,
                       enum jm_log_level level, struct jm_span text);

/* Appends text as Python's repr() shows a string: quotes, \n, \t, \\, \xNN; bytes that are no UTF-8 become
 * U+FFFD as its decoder makes them. */
void jm_mlperf_quote(struct jm_str *out, struct jm_span text);

#endif
