/* SPDX-License-Identifier: Apache-2.0 */
/* One row a meter, in the order they are tried: a channel that shows joules which an earlier meter shows too
 * is marked as a mirror by the later one. docs/contributing/add-a-meter.md says how to add one. */
#include "meter/registry.h"

#include "base/banned.h"

const struct jm_meter_ops *const jm_meter_registry[] = {
    &jm_meter_nvml,    &jm_meter_dcgm,          &jm_meter_rapl,       &jm_meter_perf,     &jm_meter_amdgpu,
    &jm_meter_amdsmi,  &jm_meter_intel_gpu,     &jm_meter_level_zero, &jm_meter_hlml,     &jm_meter_grace,
    &jm_meter_jetson,  &jm_meter_acpi,          &jm_meter_hwmon,      &jm_meter_yokogawa, &jm_meter_ptd,
    &jm_meter_redfish, &jm_meter_dcgm_exporter, &jm_meter_plug,       &jm_meter_snmp,     &jm_meter_modbus,
    &jm_meter_ipmi,    &jm_meter_estimate,      &jm_meter_replay,     &jm_meter_null,     NULL,
};
