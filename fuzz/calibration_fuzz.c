/* SPDX-License-Identifier: Apache-2.0 */
/* A calibration file: what is read can be applied and written, and reads back the same. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compute/calibration.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct jm_calibration c, d; /* large */
    struct jm_str s;
    struct jm_span text = {(const char *)data, size};
    if (jm_calibration_read(text, &c, NULL))
        return 0;
    for (size_t i = 0; i < c.n_relation; i++) {
        struct jm_cal_power p;
        const struct jm_cal_relation *r = &c.relation[i];
        jm_cal_predict(r, (r->lo + r->hi) / 2, 1, 0.95, &p, NULL);
    }
    jm_str_init(&s);
    if (jm_calibration_write(&c, &s, NULL) == 0) {
        if (jm_calibration_read(jm_str_span(&s), &d, NULL))
            abort();
        jm_calibration_release(&d);
    }
    jm_str_release(&s);
    jm_calibration_release(&c);
    return 0;
}
