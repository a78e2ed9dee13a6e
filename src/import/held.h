/* SPDX-License-Identifier: Apache-2.0 */
/* Power samples from which a tool left out those equal to the one before (Zeus' PowerMonitor): a value holds
 * until the next sample. It is put again at every polling step up to that, so that the trapezoid is a step
 * and no gap; and what straight lines between the file's own samples would give is added up beside it. */
#ifndef JM_IMPORT_HELD_H
#define JM_IMPORT_HELD_H

#include "import/devlog.h"

struct jm_held {
    int ch; /* of jm_devlog_channel */
    int text10;
    int64_t t; /* of the last sample, -1: none */
    char text[32];
    double last, lines, steps; /* W; J by straight lines and by steps */
    int64_t n, same, inserted;
};

/* step: the least distance of samples in the file, ns; 0: nothing is left out, no value is put again. */
void jm_held_put(struct jm_devlog *l, struct jm_held *h, int64_t t, int64_t step, struct jm_span text);
/* The last value holds until t. */
void jm_held_until(struct jm_devlog *l, struct jm_held *h, int64_t t, int64_t step);
/* import.dedup, where the two energies of the n series differ by more than 1 %. */
void jm_held_told(struct jm_devlog *l, const struct jm_held *h, size_t n);

#endif
