/* SPDX-License-Identifier: Apache-2.0 */
/* What a session's PTDaemon was asked and said (ptd_messages of server.json), message by message: the model,
 * the ranges in force when testing began, the last replies of the testing phase. */
#ifndef JM_IMPORT_MLPERF_ASKED_H
#define JM_IMPORT_MLPERF_ASKED_H

#include <stdbool.h>

#include "base/span.h"

struct jm_mlperf_asked {
    struct jm_span model;              /* empty: not known */
    double volts, amps;                /* as asked for at the mark of testing; NAN: automatic or not known */
    struct jm_span watts, uncertainty; /* replies */
    int identified;                    /* analyzers that named themselves */
    bool stand_in;                     /* a simulated one, by its own words */
    double volts_now, amps_now;
    bool testing;
};

void jm_mlperf_asked_init(struct jm_mlperf_asked *a);
/* The spans must outlive *a. */
void jm_mlperf_asked_message(struct jm_mlperf_asked *a, struct jm_span cmd, struct jm_span reply);

#endif
