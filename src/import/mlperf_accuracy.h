/* SPDX-License-Identifier: Apache-2.0 */
/* The analyzer's accuracy of an imported MLPerf session, as the tolerance of its power channel. */
#ifndef JM_IMPORT_MLPERF_ACCURACY_H
#define JM_IMPORT_MLPERF_ACCURACY_H

#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

struct jm_mlperf_accuracy {
    double gain, offset_w; /* share of the power and W; NAN: not known */
    char text[160];        /* "YokogawaWT310E on 300 V x 5 A"; "": not known */
};

/* From the power log's samples with begin < t < end (tz_ns is added to their stamps), their power factors,
 * and the ranges that server.json says. A log or document that says nothing leaves both NAN; buffer as for
 * jm_mlperf_lines. */
int jm_mlperf_accuracy_of(const char *spl, char *buffer, int64_t begin, int64_t end, int64_t tz_ns,
                          struct jm_span server_json, struct jm_mlperf_accuracy *out, struct jm_err *err);

#endif
