/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's acpi_power_meter (ACPI000D), which two meters share: on Grace it shows sockets, elsewhere the
 * node. */
#ifndef JM_METER_ACPI_METER_H
#define JM_METER_ACPI_METER_H

#include "meter/hwmon.h"

struct jm_acpi_part {
    enum jm_domain_kind kind; /* JM_D_COUNT: not one of Grace's */
    int socket;
};
/* "Grace Power Socket 0", "CPU Input Power Socket 1": what a Grace calls its sensors. Others, also Grace's
 * "Output Power", energies and throttles, are JM_D_COUNT. */
struct jm_acpi_part jm_acpi_part(const char *oem_info);

/* Every power meter of ACPI once, wherever its files lie: hwmonN, hwmonN/device, or the driver's folder. */
int jm_acpi_each(const struct jm_meter_env *env, jm_hwmon_fn fn, void *self, struct jm_err *err);
/* power1_average as a channel: mean over power1_average_interval, 0xffffffff mW is no value. */
int jm_acpi_channel(struct jm_hwmon_walk *w, const struct jm_hwmon *h, const char *label, int domain,
                    struct jm_err *err);

#endif
