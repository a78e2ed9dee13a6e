/* SPDX-License-Identifier: Apache-2.0 */
#include "import/mlperf_asked.h"

#include <math.h>

#include "base/num.h"

#include "base/banned.h"

void jm_mlperf_asked_init(struct jm_mlperf_asked *a)
{
    *a = (struct jm_mlperf_asked){.volts = NAN, .amps = NAN, .volts_now = NAN, .amps_now = NAN};
}

/* "SR,V,239.43" that was accepted. */
static double range(struct jm_span cmd, struct jm_span reply)
{
    double v;
    bool changed = jm_span_starts(reply, JM_SPAN("Range "));
    return changed && jm_num_double(jm_span_trim(jm_span_sub(cmd, 5, cmd.n)), &v) == 0 && v > 0 ? v : NAN;
}

void jm_mlperf_asked_message(struct jm_mlperf_asked *a, struct jm_span cmd, struct jm_span reply)
{
    cmd = jm_span_trim(cmd);
    if (jm_span_is(cmd, "Identify")) {
        a->identified++;
        a->stand_in |=
            jm_span_find(reply, JM_SPAN("JOULEMARK")) >= 0 || jm_span_find(reply, JM_SPAN(",SIM;")) >= 0;
        jm_span_field(&reply, ',', &a->model);
    } else if (jm_span_starts(cmd, JM_SPAN("SR,V,"))) {
        a->volts_now = range(cmd, reply);
    } else if (jm_span_starts(cmd, JM_SPAN("SR,A,"))) {
        a->amps_now = range(cmd, reply);
    } else if (jm_span_starts(cmd, JM_SPAN("Go,")) && jm_span_ends(cmd, JM_SPAN("_testing"))) {
        a->testing = true;
        a->volts = a->volts_now;
        a->amps = a->amps_now;
    } else if (a->testing && jm_span_is(cmd, "Watts")) {
        a->watts = reply;
    } else if (a->testing && jm_span_is(cmd, "Uncertainty")) {
        a->uncertainty = reply;
    }
}
