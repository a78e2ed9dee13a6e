/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the room, built in. */
#ifndef JM_METER_NET_TABLES_H
#define JM_METER_NET_TABLES_H

#include <stddef.h>

extern const unsigned char jm_snmp_pdus_tsv[];
extern const size_t jm_snmp_pdus_tsv_len;
extern const unsigned char jm_modbus_meters_tsv[];
extern const size_t jm_modbus_meters_tsv_len;

#endif
