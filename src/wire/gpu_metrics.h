/* SPDX-License-Identifier: Apache-2.0 */
/* The binary table that amdgpu shows as gpu_metrics: power, energy and the clock of the table. Layouts: Linux
 * drivers/gpu/drm/amd/include/kgd_pp_interface.h, struct gpu_metrics_v*, with the natural alignment of
 * x86-64; little-endian. The driver fills a table with 0xff before it writes it, so all ones are "not there".
 */
#ifndef JM_WIRE_GPU_METRICS_H
#define JM_WIRE_GPU_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

#define JM_GPU_METRICS_MAX 8192 /* bytes; no known table is longer than half of it */

struct jm_gpu_metrics {
    unsigned size, format, content; /* of the header; set even where the rest is refused */
    bool apu;                       /* formats 2 and 3: the power is that of processor and GPU together */
    bool has_power, has_energy, has_clock, has_firmware;
    bool current;           /* power is what the firmware calls current; else its average */
    int power_scale10;      /* power x 10^this is in W: 0 for 1.x, -3 for 2.x and 3.0 */
    uint32_t power;         /* 0 is what the second die of a package says: no value of its own */
    uint64_t energy;        /* energy_accumulator; 2^-16 J where its unit is stated (energy_stated) */
    bool energy_stated;     /* 1.4 and later name the unit in the table itself */
    uint64_t clock_ns;      /* system_clock_counter: CLOCK_BOOTTIME when the driver took the table */
    uint64_t firmware_10ns; /* firmware_timestamp, in units of 10 ns */
    unsigned partitions;    /* of the device that share this table; 0: not said */
};

/* 0, or JM_EPARSE (shorter than it says), JM_EUNSUPPORTED (a version or a size that is not known). */
int jm_gpu_metrics_parse(struct jm_span table, struct jm_gpu_metrics *out, struct jm_err *err);

#endif
