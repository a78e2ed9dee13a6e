/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_metrics of one card as channels of the meter amdgpu, beside what hwmon shows. */
#ifndef JM_METER_AMDGPU_METRICS_H
#define JM_METER_AMDGPU_METRICS_H

#include "meter/hwmon.h"
#include "wire/gpu_metrics.h"

/* One look at the table of a card. found: there is such a file; usable: it is of a known version and shows
 * power or energy of its own (0 is what the second die of a package shows). why: of a table that is not
 * understood, "" where it is. */
struct jm_amdgpu_table {
    struct jm_gpu_metrics m;
    bool found, usable;
    char path[JM_SYSFS_PATH];
    char why[160];
};
void jm_amdgpu_look(const struct jm_hwmon *h, struct jm_amdgpu_table *t);

/* Does the energy counter of this PCI device have 64 bits and a unit that AMD states (MI200 and later)? */
bool jm_amdgpu_joules(uint64_t pci_device);

struct jm_amdgpu_card {
    const char *label; /* of the power sensor: "PPT" */
    const char *guard; /* runtime_status */
    int domain;
    unsigned flags;  /* JM_CHF_MIRROR: shown elsewhere already */
    double sane_max; /* W */
    double hwmon_w;  /* what hwmon shows at the same time; 0: nothing */
};
/* Its channels, and a fact that says what the table is and how it agrees with hwmon. */
int jm_amdgpu_add(struct jm_hwmon_walk *w, const struct jm_hwmon *h, const struct jm_amdgpu_table *t,
                  const struct jm_amdgpu_card *card, struct jm_err *err);

#endif
