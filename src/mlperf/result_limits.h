/* SPDX-License-Identifier: Apache-2.0 */
/* The interval of a session's mean power and energy, and PTDaemon's own figures beside ours. */
#ifndef JM_MLPERF_RESULT_LIMITS_H
#define JM_MLPERF_RESULT_LIMITS_H

#include "mlperf/result.h"

/* Sets power.lo and hi, energy.lo and hi, accuracy, excludes, limits, analyzer, ranges, crest and ptd of a
 * result whose power, energy and seconds are set. */
void jm_mlperf_result_limits(const struct jm_mlperf_session *s, struct jm_mlperf_result *out);

#endif
