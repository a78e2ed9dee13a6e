/* SPDX-License-Identifier: Apache-2.0 */
/* One power log of a training run; for training.c. */
#ifndef JM_MLPERF_TRAINING_PART_H
#define JM_MLPERF_TRAINING_PART_H

#include "import/mlperf_training.h"
#include "mlperf/training.h"

struct jm_training_span {
    int64_t a_us, b_us; /* run_start, run_stop */
};

/* Fills out but its name, kind and index. reference_us: when a log that overlaps the run began, for clocks
 * that are hours off. */
int jm_training_part_read(const char *path, const struct jm_training_look *look,
                          const struct jm_training_span *run, bool has_reference, int64_t reference_us,
                          struct jm_training_part *out, struct jm_err *err);

#endif
