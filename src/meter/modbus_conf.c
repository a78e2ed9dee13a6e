/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of a Modbus entry, with registers that the user gives. */
#include "meter/modbus_conf.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

/* ---- registers */

static int parse_quantity(void *at, const char *text, struct jm_err *err)
{
    int q = jm_modbus_quantity_parse(jm_span_of(text));
    if (q != JM_MODBUS_POWER && q != JM_MODBUS_ENERGY && q != JM_MODBUS_EXPORT && q != JM_MODBUS_PEAK_OVER)
        return jm_err_set(
            err, JM_EUSAGE,
            "\"%.40s\" is no quantity of a register; there are power, energy, export, peak-over", text);
    *(enum jm_modbus_quantity *)at = (enum jm_modbus_quantity)q;
    return 0;
}

static int parse_unit(void *at, const char *text, struct jm_err *err)
{
    int u = jm_modbus_unit_parse(jm_span_of(text));
    if (u < 0)
        return jm_err_set(err, JM_EUSAGE,
                          "\"%.40s\" is no unit of a register; there are W, kW, J, Wh, kWh, MWh", text);
    *(enum jm_modbus_unit *)at = (enum jm_modbus_unit)u;
    return 0;
}

static int parse_type(void *at, const char *text, struct jm_err *err)
{
    int t = jm_modbus_type_parse(jm_span_of(text));
    if (t < 0)
        return jm_err_set(
            err, JM_EUSAGE,
            "\"%.40s\" is no type of a register; there are u16, i16, u32, i32, u64, i64, f32, f64", text);
    *(enum jm_modbus_type *)at = (enum jm_modbus_type)t;
    return 0;
}

static int parse_order(void *at, const char *text, struct jm_err *err)
{
    int o = jm_modbus_order_parse(jm_span_of(text));
    if (o < 0)
        return jm_err_set(
            err, JM_EUSAGE,
            "\"%.40s\" is no order of bytes; there are abcd (big endian), cdab (low word first), badc, dcba",
            text);
    *(enum jm_modbus_order *)at = (enum jm_modbus_order)o;
    return 0;
}

static int parse_function(void *at, const char *text, struct jm_err *err)
{
    bool input = strcmp(text, "input") == 0 || strcmp(text, "4") == 0,
         holding = strcmp(text, "holding") == 0 || strcmp(text, "3") == 0;
    if (!input && !holding)
        return jm_err_set(err, JM_EUSAGE, "\"%.40s\" reads nothing here; say holding (3) or input (4)", text);
    *(int *)at = input ? JM_MODBUS_INPUT : JM_MODBUS_HOLDING;
    return 0;
}

#define AT(f) offsetof(struct jm_modbus_reg, f)
static const struct jm_opt register_keys[] = {
    {"quantity", 0, JM_OPT_PARSE, AT(quantity), .arg = "NAME", .parse = parse_quantity,
     .help = "power, energy (import), export, peak-over (a state that must be 0)."},
    {"address", 0, JM_OPT_INT, AT(address), 0, 65535, .arg = "N",
     .help = "First register as in the frame, from 0: 30053 of a list that counts from 30001 is 52."},
    {"function", 0, JM_OPT_PARSE, AT(function), .arg = "holding|input", .parse = parse_function,
     .help = "Which registers: holding (function 3) or input (4).", .deflt = "holding"},
    {"type", 0, JM_OPT_PARSE, AT(type), .arg = "TYPE", .parse = parse_type,
     .help = "u16, i16, u32, i32, u64, i64, f32, f64."},
    {"order", 0, JM_OPT_PARSE, AT(order), .arg = "ORDER", .parse = parse_order,
     .help = "Of its bytes: abcd, cdab (low word first), badc, dcba.", .deflt = "abcd"},
    {"unit", 0, JM_OPT_PARSE, AT(unit), .arg = "UNIT", .parse = parse_unit,
     .help = "W, kW, J, Wh, kWh, MWh."},
    {"scale", 0, JM_OPT_INT, AT(scale10), -9, 9, .arg = "N",
     .help = "The value x 10^N is in the unit: -1 for tenths.", .deflt = "0"},
    {NULL}};

static int add_register(void *base, size_t line, void **item, struct jm_err *err)
{
    struct jm_modbus_conf *c = base;
    (void)line;
    if (c->n_reg == JM_MODBUS_REGS)
        return jm_err_set(err, JM_ELIMIT, "more than %d registers in one entry", JM_MODBUS_REGS);
    c->reg[c->n_reg] = (struct jm_modbus_reg){.quantity = JM_MODBUS_QUANTITIES,
                                              .unit = JM_MODBUS_ANY,
                                              .function = JM_MODBUS_HOLDING,
                                              .address = -1,
                                              .type = JM_MODBUS_TYPES,
                                              .channel = -1};
    *item = &c->reg[c->n_reg++];
    return 0;
}

static int done_register(void *item, struct jm_err *err)
{
    const struct jm_modbus_reg *r = item;
    if (r->quantity == JM_MODBUS_QUANTITIES || r->address < 0 || r->type == JM_MODBUS_TYPES)
        return jm_err_set(err, JM_EUSAGE, "a register needs quantity, address and type");
    bool power = r->quantity == JM_MODBUS_POWER, state = r->quantity == JM_MODBUS_PEAK_OVER;
    if (!state && (r->unit == JM_MODBUS_ANY || (r->unit <= JM_MODBUS_KW) != power))
        return jm_err_set(err, JM_EUSAGE, "a register of %s needs a unit of it: %s",
                          jm_modbus_quantity_name(r->quantity), power ? "W or kW" : "J, Wh, kWh or MWh");
    if (r->address + (int64_t)jm_modbus_type_registers(r->type) > 65536)
        return jm_err_set(err, JM_EUSAGE, "the register %lld ends beyond 65535", (long long)r->address);
    return 0;
}

static const struct jm_opt_maps registers = {
    .table = register_keys, .add = add_register, .done = done_register};

#undef AT
#define AT(f) offsetof(struct jm_modbus_conf, f)
const struct jm_opt jm_modbus_opts[] = {
    {"address", 0, JM_OPT_STR, AT(address), .arg = "HOST[:PORT] | /dev/...",
     .help = "Modbus/TCP at this host (502), or a serial port with RTU."},
    {"model", 0, JM_OPT_STR, AT(model), .arg = "NAME",
     .help =
         "Registers of a known meter: sdm120, sdm230, sdm630, sdm72, em24, em24-e1, em330, em340, iem3000, "
         "janitza, pac2200, abb, pro380, countis, dtsu666, wt300e."},
    {"registers", 0, JM_OPT_MAPS, .maps = &registers,
     .help =
         "Registers of another meter: a list of {quantity, address, function, type, order, unit, scale}."},
    {"unit", 0, JM_OPT_INT, AT(unit), 0, 247, .arg = "N", .help = "Unit (slave) number.", .deflt = "1"},
    {"baud", 0, JM_OPT_INT, AT(baud), 1200, 115200, .arg = "N", .help = "Speed of a serial port.",
     .deflt = "9600"},
    {"parity", 0, JM_OPT_STR, AT(parity), .arg = "none|even|odd", .help = "Of a serial port.",
     .deflt = "none"},
    {"stop_bits", 0, JM_OPT_INT, AT(stop_bits), 1, 2, .arg = "N", .help = "Of a serial port.", .deflt = "1"},
    {NULL}};

void jm_modbus_conf_init(void *conf)
{
    struct jm_modbus_conf *c = conf;
    c->unit = 1;
    c->baud = 9600;
    c->stop_bits = 1;
    c->parity = "none";
}

int jm_modbus_conf_check(const struct jm_instrument *in, struct jm_err *err)
{
    const struct jm_modbus_conf *c = in->conf;
    struct jm_modbus_reg known[JM_MODBUS_REGS];
    char models[200];
    if (!c->address || !*c->address)
        return jm_err_set(err, JM_EUSAGE,
                          "the entry needs an address: HOST, HOST:PORT or a serial port like /dev/ttyUSB0");
    int rc = jm_address_check(c->address, err);
    if (rc)
        return rc;
    if (!c->model == !c->n_reg)
        return jm_err_set(err, JM_EUSAGE, "the entry needs a model or registers, and one of both");
    if (c->model && !jm_modbus_model(c->model, known)) {
        jm_modbus_models(models, sizeof models);
        return jm_err_set(err, JM_EUSAGE,
                          "\"%.40s\" is no model of the table; there are %s; `registers` describes another",
                          c->model, models);
    }
    if (strcmp(c->parity, "none") != 0 && strcmp(c->parity, "even") != 0 && strcmp(c->parity, "odd") != 0)
        return jm_err_set(err, JM_EUSAGE, "parity: \"%.20s\"; there are none, even and odd", c->parity);
    return 0;
}
