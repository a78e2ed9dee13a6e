/* SPDX-License-Identifier: Apache-2.0 */
/* The meters, for registry.c and for the files that define them. */
#ifndef JM_METER_REGISTRY_H
#define JM_METER_REGISTRY_H

#include "meter/meter.h"

extern const struct jm_meter_ops jm_meter_nvml;
extern const struct jm_meter_ops jm_meter_dcgm;
extern const struct jm_meter_ops jm_meter_dcgm_exporter;
extern const struct jm_meter_ops jm_meter_rapl;
extern const struct jm_meter_ops jm_meter_perf;
extern const struct jm_meter_ops jm_meter_plug;
extern const struct jm_meter_ops jm_meter_redfish;
extern const struct jm_meter_ops jm_meter_amdgpu;
extern const struct jm_meter_ops jm_meter_amdsmi;
extern const struct jm_meter_ops jm_meter_intel_gpu;
extern const struct jm_meter_ops jm_meter_level_zero;
extern const struct jm_meter_ops jm_meter_hlml;
extern const struct jm_meter_ops jm_meter_grace;
extern const struct jm_meter_ops jm_meter_jetson;
extern const struct jm_meter_ops jm_meter_acpi;
extern const struct jm_meter_ops jm_meter_hwmon;
extern const struct jm_meter_ops jm_meter_yokogawa;
extern const struct jm_meter_ops jm_meter_ptd;
extern const struct jm_meter_ops jm_meter_snmp;
extern const struct jm_meter_ops jm_meter_modbus;
extern const struct jm_meter_ops jm_meter_ipmi;
extern const struct jm_meter_ops jm_meter_estimate;
extern const struct jm_meter_ops jm_meter_replay;
extern const struct jm_meter_ops jm_meter_null;

/* A template to copy: compiled and tested, and not in the table. */
extern const struct jm_meter_ops jm_meter_skeleton;

#endif
