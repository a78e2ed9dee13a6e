/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "meter/modbus_conf.h"
#include "meter/net_tables.h"
#include "base/banned.h"

enum { C_MODEL, C_QUANTITY, C_UNIT, C_SCALE, C_FUNCTION, C_ADDRESS, C_TYPE, C_ORDER, C_SOURCE, COLUMNS };

static const char *const quantities[] = {"power",   "energy", "export", "voltage",
                                         "current", "va",     "pf",     "peak-over"};

int jm_modbus_quantity_parse(struct jm_span s)
{
    for (int i = 0; i < JM_MODBUS_QUANTITIES; i++)
        if (jm_span_is(s, quantities[i]))
            return i;
    return -1;
}

const char *jm_modbus_quantity_name(enum jm_modbus_quantity q)
{
    return quantities[q];
}

int jm_modbus_unit_parse(struct jm_span s)
{
    static const char *const units[] = {"W", "kW", "J", "Wh", "kWh", "MWh"};
    for (int i = 0; i < JM_MODBUS_ANY; i++)
        if (jm_span_is(s, units[i]))
            return i;
    return -1;
}

static bool row(struct jm_span line, struct jm_span *model, struct jm_modbus_reg *r)
{
    struct jm_span c[COLUMNS];
    int64_t function;
    if (!line.n || line.p[0] == '#')
        return false;
    for (int i = 0; i < COLUMNS; i++)
        if (!jm_span_field(&line, '\t', &c[i]))
            return false;
    int quantity = jm_modbus_quantity_parse(c[C_QUANTITY]), unit = jm_modbus_unit_parse(c[C_UNIT]),
        type = jm_modbus_type_parse(c[C_TYPE]), order = jm_modbus_order_parse(c[C_ORDER]);
    *r = (struct jm_modbus_reg){.channel = -1};
    if (quantity < 0 || type < 0 || order < 0 || jm_num_i64(c[C_SCALE], &r->scale10) ||
        jm_num_i64(c[C_FUNCTION], &function) || jm_num_i64(c[C_ADDRESS], &r->address))
        return false;
    *model = c[C_MODEL];
    r->quantity = (enum jm_modbus_quantity)quantity;
    r->unit = unit < 0 ? JM_MODBUS_ANY : (enum jm_modbus_unit)unit;
    r->function = (int)function;
    r->type = (enum jm_modbus_type)type;
    r->order = (enum jm_modbus_order)order;
    return true;
}

static struct jm_span table(void)
{
    return (struct jm_span){(const char *)jm_modbus_meters_tsv, jm_modbus_meters_tsv_len};
}

size_t jm_modbus_model(const char *model, struct jm_modbus_reg out[JM_MODBUS_REGS])
{
    struct jm_span rest = table(), line, name;
    struct jm_modbus_reg r;
    size_t n = 0;
    while (n < JM_MODBUS_REGS && jm_span_line(&rest, &line))
        if (row(line, &name, &r) && jm_span_is(name, model))
            out[n++] = r;
    return n;
}

void jm_modbus_models(char *out, size_t cap)
{
    struct jm_span rest = table(), line, name, last = {NULL, 0};
    struct jm_modbus_reg r;
    size_t at = 0;
    out[0] = '\0';
    while (jm_span_line(&rest, &line))
        if (row(line, &name, &r) && !jm_span_eq(name, last) && at < cap) {
            at += (size_t)snprintf(out + at, cap - at, "%s%.*s", at ? ", " : "", (int)name.n, name.p);
            last = name;
        }
}
