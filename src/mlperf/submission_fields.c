/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of the system description: mlcommons/inference tools/submission SYSTEM_DESC_REQUIRED_FIELDS (and its
 * _SINCE_V1, _SINCE_V3_1 of earlier rounds), SYSTEM_DESC_MEANINGFUL_RESPONSE_REQUIRED_FIELDS and
 * SYSTEM_DESC_REQUIRED_FIELDS_POWER. */
#include "mlperf/submission_docs.h"

#include "base/banned.h"

/* clang-format off */
const struct jm_submission_field jm_submission_fields[] = {
    {"division", NULL, "v1.0", "v3.1", false},
    {"submitter", NULL, "v1.0", "v3.1", false},
    {"status", NULL, "v1.0", "v3.1", false},
    {"system_name", NULL, "v1.0", "v3.1", false},
    {"number_of_nodes", NULL, "v1.0", "v3.1", false},
    {"host_processor_model_name", NULL, "v1.0", "v3.1", false},
    {"host_processors_per_node", NULL, "v1.0", "v3.1", false},
    {"host_processor_core_count", NULL, "v1.0", "v3.1", false},
    {"host_memory_capacity", NULL, "v1.0", "v3.1", false},
    {"host_storage_capacity", NULL, "v1.0", "v3.1", false},
    {"host_storage_type", NULL, "v1.0", "v3.1", false},
    {"accelerators_per_node", NULL, "v1.0", "v3.1", false},
    {"accelerator_model_name", NULL, "v1.0", "v3.1", false},
    {"accelerator_memory_capacity", NULL, "v1.0", "v3.1", false},
    {"framework", NULL, "v1.0", "v3.1", false},
    {"operating_system", NULL, "v1.0", "v3.1", false},
    {"system_type", NULL, "v1.0", "v3.1", false},
    {"other_software_stack", NULL, "v1.0", "v3.1", false},
    {"host_processor_frequency", NULL, "v1.0", NULL, false},
    {"host_processor_caches", NULL, "v1.0", NULL, false},
    {"host_memory_configuration", NULL, "v1.0", "v3.1", false},
    {"host_processor_interconnect", NULL, "v1.0", NULL, false},
    {"host_networking", NULL, "v1.0", "v3.1", false},
    {"host_networking_topology", NULL, "v1.0", "v3.1", false},
    {"accelerator_frequency", NULL, "v1.0", NULL, false},
    {"accelerator_host_interconnect", NULL, "v1.0", "v3.1", false},
    {"accelerator_interconnect", NULL, "v1.0", "v3.1", false},
    {"accelerator_interconnect_topology", NULL, "v1.0", NULL, false},
    {"accelerator_memory_configuration", NULL, "v1.0", "v3.1", false},
    {"accelerator_on-chip_memories", NULL, "v1.0", NULL, false},
    {"cooling", NULL, "v1.0", "v3.1", false},
    {"hw_notes", NULL, "v1.0", NULL, false},
    {"sw_notes", NULL, "v1.0", NULL, false},
    {"host_network_card_count", "host_networking_card_count", "v3.1", "v4.0", false},
    {"system_type_detail", NULL, "v3.1", NULL, false},
    {"power_management", NULL, "v1.1", "v1.1", true},
    {"filesystem", NULL, "v1.1", "v1.1", true},
    {"boot_firmware_version", NULL, "v1.1", "v1.1", true},
    {"management_firmware_version", NULL, "v1.1", "v1.1", true},
    {"other_hardware", NULL, "v1.1", NULL, true},
    {"number_of_type_nics_installed", NULL, "v1.1", "v1.1", true},
    {"nics_enabled_firmware", NULL, "v1.1", "v1.1", true},
    {"nics_enabled_os", NULL, "v1.1", "v1.1", true},
    {"nics_enabled_connected", NULL, "v1.1", "v1.1", true},
    {"network_speed_mbit", NULL, "v1.1", "v1.1", true},
    {"power_supply_quantity_and_rating_watts", NULL, "v1.1", "v1.1", true},
    {"power_supply_details", NULL, "v1.1", "v1.1", true},
    {"disk_drives", NULL, "v1.1", "v1.1", true},
    {"disk_controllers", NULL, "v1.1", "v1.1", true},
    {"system_power_only", NULL, "v4.1", NULL, true},
    {NULL, NULL, NULL, NULL, false},
};
/* clang-format on */
