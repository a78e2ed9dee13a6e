/* SPDX-License-Identifier: Apache-2.0 */
/* What ipmitool (`dcmi power reading`), FreeIPMI's ipmi-dcmi (`--get-system-power-statistics`) and ipmiutil
 * print of DCMI power. Line ends may be lost: ipmitool 1.8.19 has none behind its time stamp, and wrappers
 * join all lines, so each figure is found by its label. */
#ifndef JM_WIRE_IPMITOOL_H
#define JM_WIRE_IPMITOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "wire/dcmi.h"

struct jm_dcmi_text {
    struct jm_dcmi_power power; /* time_s is not read: it is local time without a zone */
    bool has_min, has_max, has_average, has_period, has_state;
};
/* 0, JM_EABSENT: no power in it ("not available", or an error message), JM_ERANGE: a figure beyond 16 bit. */
int jm_dcmi_text(struct jm_span text, struct jm_dcmi_text *out);
/* What an error of the tools says: "Unable to establish IPMI v2 / RMCP+ session" and others. denied: user,
 * password or privilege; absent: no answer; unsupported: no DCMI; gap: anything else. */
enum jm_status jm_ipmitool_error(struct jm_span text);

#endif
