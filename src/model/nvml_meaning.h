/* SPDX-License-Identifier: Apache-2.0 */
/* What a power value of an NVIDIA GPU means, by query, architecture and driver branch: for the meter that
 * asks NVML and for logs that others made of it. */
#ifndef JM_MODEL_NVML_MEANING_H
#define JM_MODEL_NVML_MEANING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "model/channel.h"

enum jm_nvml_query { JM_NVML_Q_USAGE, JM_NVML_Q_AVERAGE, JM_NVML_Q_INSTANT };
struct jm_nvml_meaning {
    enum jm_gauge_sem sem;
    int64_t window_ns, period_ns;
    const char *basis; /* "measured" by published micro-benchmarks, "header", "assumed" */
};
/* arch: NVML's number (NVML_DEVICE_ARCH_*). device_id: PCI device id (upper half) and vendor, as NVML gives
 * it; tells GA100 from the other Amperes. */
struct jm_nvml_meaning jm_nvml_meaning(enum jm_nvml_query q, unsigned arch, uint32_t device_id,
                                       int driver_major);
/* The architecture by the name of a product ("NVIDIA H100 80GB HBM3", "Tesla T4", "Ampere"), and a device id
 * that tells GA100 (0: no GA100, or not known). False: not known. */
bool jm_nvml_product(struct jm_span name, unsigned *arch, uint32_t *device_id);

#endif
