/* SPDX-License-Identifier: Apache-2.0 */
/* Energy meters by Modbus: the table of registers (modbus_meters.tsv), the line, and the meter. */
#ifndef JM_METER_MODBUS_H
#define JM_METER_MODBUS_H

#include <sys/socket.h>

#include "meter/instrument.h"
#include "meter/scpi.h"
#include "wire/modbus.h"

enum jm_modbus_quantity {
    JM_MODBUS_POWER,
    JM_MODBUS_ENERGY,
    JM_MODBUS_EXPORT,
    JM_MODBUS_VOLTAGE,
    JM_MODBUS_CURRENT,
    JM_MODBUS_VA,
    JM_MODBUS_PF,
    JM_MODBUS_PEAK_OVER,
    JM_MODBUS_QUANTITIES
};

enum jm_modbus_unit {
    JM_MODBUS_W,
    JM_MODBUS_KW,
    JM_MODBUS_J,
    JM_MODBUS_WH,
    JM_MODBUS_KWH,
    JM_MODBUS_MWH,
    JM_MODBUS_ANY
};

struct jm_modbus_reg {
    enum jm_modbus_quantity quantity;
    enum jm_modbus_unit unit;
    int64_t scale10;
    int function; /* 3 or 4 */
    int64_t address;
    enum jm_modbus_type type;
    enum jm_modbus_order order;
    int channel; /* -1: read beside them */
};
#define JM_MODBUS_REGS 32

/* The rows of a model in out; how many (0: no such model). */
size_t jm_modbus_model(const char *model, struct jm_modbus_reg out[JM_MODBUS_REGS]);
/* "sdm120, sdm230, ..." */
void jm_modbus_models(char *out, size_t cap);

struct jm_modbus_conf {
    const char *address, *model, *parity;
    int64_t unit, baud, stop_bits;
    struct jm_modbus_reg reg[JM_MODBUS_REGS];
    size_t n_reg;
};

struct jm_modbus_line {
    struct jm_scpi io; /* opening and its descriptor only */
    enum jm_modbus_framing framing;
    uint16_t transaction;
    int timeout_ms;
    int64_t gap_ns; /* RTU: silence before a request */
    uint8_t in[2 * JM_MODBUS_FRAME];
    int64_t t0, t1;
    struct sockaddr_storage at; /* TCP: where a line that was cut is opened again */
    socklen_t at_n;
};
int jm_modbus_open(struct jm_modbus_line *l, const struct jm_modbus_conf *c, int timeout_ms,
                   struct jm_err *err);
void jm_modbus_close(struct jm_modbus_line *l);
/* Registers of one request: 0 and r->registers, or -errno; -EREMOTEIO: an exception, r->exception. */
int jm_modbus_ask(struct jm_modbus_line *l, const struct jm_clock *clock, int unit, int function,
                  int64_t address, size_t count, struct jm_modbus_reply *r);

#endif
