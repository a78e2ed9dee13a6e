/* SPDX-License-Identifier: Apache-2.0 */
/* Time zones: the files of the tz database (RFC 8536) and the POSIX rule at their end, so that local time is
 * known without the C library's one zone. */
#ifndef JM_WIRE_TZIF_H
#define JM_WIRE_TZIF_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

#define JM_TZ_MOST ((size_t)1 << 18) /* bytes of a file */

struct jm_tz_change { /* a day of the year and a time of it */
    int kind;         /* 'M': month, week, day; 'J': day 1 to 365 without leap days; 'D': day 0 to 365 */
    int month, week, day;
    int32_t second; /* local, may be negative or above a day */
};

struct jm_tz {
    struct {
        int64_t at; /* Unix seconds */
        int32_t offset;
    } * change;
    size_t n;
    int32_t first; /* before the first change, and without any */
    int has_rule;  /* 0: none; 1: one offset; 2: standard and summer time */
    int32_t std, dst;
    struct jm_tz_change begin, end; /* of summer time */
};

/* A TZif file of version 1 to 4. JM_EPARSE, JM_ENOMEM. Release in any case. */
int jm_tz_file(struct jm_span in, struct jm_tz *out, struct jm_err *err);
/* "CET-1CEST,M3.5.0,M10.5.0/3" */
int jm_tz_rule(struct jm_span in, struct jm_tz *out, struct jm_err *err);
void jm_tz_release(struct jm_tz *z);
/* Seconds east of UTC. */
int32_t jm_tz_offset(const struct jm_tz *z, int64_t unix_s);

#endif
