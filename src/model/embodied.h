/* SPDX-License-Identifier: Apache-2.0 */
/* Embodied emissions of the machine, as the SCI (ISO/IEC 21031) shares them out: M = TE x TiR/EL x RR/ToR,
 * with TE their total, EL the expected life, TiR the time of the run and RR/ToR the share of the machine that
 * was reserved. On a command line: "1312kg,life=4y,share=0.5,source=TEXT". */
#ifndef JM_MODEL_EMBODIED_H
#define JM_MODEL_EMBODIED_H

#include "base/err.h"

struct jm_embodied {
    double grams; /* 0: not given */
    double life_s;
    double share; /* 0 to 1 */
    char source[120];
};

/* JM_EUSAGE with a sentence. The life has no default: it halves or doubles the figure. */
int jm_embodied_parse(const char *text, struct jm_embodied *out, struct jm_err *err);
/* Grams of a run of so many seconds. */
double jm_embodied_grams(const struct jm_embodied *e, double seconds);

#endif
