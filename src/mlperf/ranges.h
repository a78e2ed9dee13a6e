/* SPDX-License-Identifier: Apache-2.0 */
/* The ranges of an analyzer in the testing phase, and its model, as PTDaemon's log says them. */
#ifndef JM_MLPERF_RANGES_H
#define JM_MLPERF_RANGES_H

#include "mlperf/session.h"

/* [0]: of all inputs, else of an input alone. NAN: automatic, or not known. */
struct jm_mlperf_ranges {
    double volts[1 + JM_MLPERF_INPUTS], amps[1 + JM_MLPERF_INPUTS];
    bool logged; /* PTDaemon's log says them, else they are the next larger ones than what was asked */
};

void jm_mlperf_ranges_none(struct jm_mlperf_ranges *r);
/* Those in force at the mark of testing; analyzer from 1. false: the log does not say both, r is untouched.
 */
bool jm_mlperf_ranges_logged(const struct jm_mlperf_ptd_log *log, int analyzer, struct jm_mlperf_ranges *r);
/* The range of an input, else of all of them; input 0: that of a log without channels. */
double jm_mlperf_range_of(const double list[1 + JM_MLPERF_INPUTS], int input);
/* "YokogawaWT310E" of "Uncertainty checking for YokogawaWT310E is activated"; empty: not said. */
struct jm_span jm_mlperf_model_logged(const struct jm_mlperf_ptd_log *log, int analyzer);

#endif
