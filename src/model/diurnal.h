/* SPDX-License-Identifier: Apache-2.0 */
/* The load of an operator's day (or week), step by step. */
#ifndef JM_MODEL_DIURNAL_H
#define JM_MODEL_DIURNAL_H

#include <stdbool.h>
#include <stddef.h>

#define JM_DIURNAL_STEPS 20000 /* most */

struct jm_diurnal {
    double *load; /* of each step: requests/s, or a part of the capacity */
    size_t n;     /* 0: none given */
    double hours; /* of a step */
    bool share;   /* load is a part of the capacity (0.35, 35 %) */
};

#endif
