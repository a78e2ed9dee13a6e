/* SPDX-License-Identifier: Apache-2.0 */
/* Windows, marks and trials: the time structure of a run. Times are CLOCK_MONOTONIC ns of the recording host
 * (of an imported run: its own clock, with a clock pair that says so). */
#ifndef JM_MODEL_WINDOW_H
#define JM_MODEL_WINDOW_H

#include <stdint.h>

#include "model/words.h"

struct jm_window {
    int id;
    int trial; /* 0-based repetition of the plan */
    enum jm_role role;
    char name[64];
    int64_t t0, t1; /* t1 == 0: never closed (a cut run) */
};

struct jm_mark {
    int64_t t;
    char name[128];
};

#endif
