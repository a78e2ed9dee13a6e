/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of time services. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/timesync.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_span text = {(const char *)p, n};
    struct jm_tracking t;
    struct jm_ptp_status s;
    struct jm_clock_error e;
    double ns;
    if (!jm_chrony_tracking(text, 0x01020304, &t, NULL)) {
        jm_clock_error_chrony(&e, &t);
        if (e.bound_ns < 0 ? !e.why[0] : e.why[0])
            abort();
        if (memchr(t.address, 0, sizeof t.address) == NULL)
            abort();
    }
    if (!jm_pmc_time_status(text, &s, NULL))
        jm_clock_error_ptp(&e, &s, 1);
    jm_pmc_path_delay(text, &ns, NULL);
    return 0;
}
