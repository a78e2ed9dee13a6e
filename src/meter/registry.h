/* SPDX-License-Identifier: Apache-2.0 */
/* The meters, for registry.c and for the files that define them. */
#ifndef JM_METER_REGISTRY_H
#define JM_METER_REGISTRY_H

#include "meter/meter.h"

extern const struct jm_meter_ops jm_meter_nvml;
extern const struct jm_meter_ops jm_meter_rapl;
extern const struct jm_meter_ops jm_meter_null;

#endif
