/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the modbus meter: names of its table and its configuration. */
#ifndef JM_METER_MODBUS_CONF_H
#define JM_METER_MODBUS_CONF_H

#include "meter/modbus.h"

int jm_modbus_quantity_parse(struct jm_span s); /* -1: none */
const char *jm_modbus_quantity_name(enum jm_modbus_quantity q);
int jm_modbus_unit_parse(struct jm_span s); /* -1: none of power or energy */
extern const struct jm_opt jm_modbus_opts[];
int jm_modbus_conf_check(const struct jm_instrument *in, struct jm_err *err);
void jm_modbus_conf_init(void *conf);

#endif
