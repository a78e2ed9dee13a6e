/* SPDX-License-Identifier: Apache-2.0 */
/* Modbus: frames of TCP (Messaging on TCP/IP 1.0b) and RTU (serial line 1.02), and values in registers. Only
 * the two reading functions are made. */
#ifndef JM_WIRE_MODBUS_H
#define JM_WIRE_MODBUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

#define JM_MODBUS_FRAME     260 /* bytes, the longest of both */
#define JM_MODBUS_REGISTERS 125

enum { JM_MODBUS_HOLDING = 3, JM_MODBUS_INPUT = 4 };
enum jm_modbus_framing { JM_MODBUS_TCP, JM_MODBUS_RTU };

struct jm_modbus_ask {
    enum jm_modbus_framing framing;
    uint16_t transaction; /* TCP */
    uint8_t unit, function;
    uint16_t address, count; /* of registers */
};
/* Length of the frame. */
size_t jm_modbus_request(const struct jm_modbus_ask *a, uint8_t out[JM_MODBUS_FRAME]);

enum jm_modbus_taken {
    JM_MODBUS_DATA,      /* registers holds 2 x count bytes, big endian */
    JM_MODBUS_EXCEPTION, /* the device refuses: exception */
    JM_MODBUS_MORE,      /* the frame is not complete */
    JM_MODBUS_OTHER,     /* a complete frame of another request or unit: *used bytes to pass over */
    JM_MODBUS_BAD        /* no frame: wrong checksum, length or protocol */
};
struct jm_modbus_reply {
    struct jm_span registers;
    unsigned exception;
    size_t used;
};
enum jm_modbus_taken jm_modbus_take(const struct jm_modbus_ask *a, struct jm_span in,
                                    struct jm_modbus_reply *out);
/* "illegal data address", ... */
const char *jm_modbus_exception_text(unsigned code);
uint16_t jm_modbus_crc(const uint8_t *p, size_t n);

enum jm_modbus_type {
    JM_MODBUS_U16,
    JM_MODBUS_I16,
    JM_MODBUS_U32,
    JM_MODBUS_I32,
    JM_MODBUS_U64,
    JM_MODBUS_I64,
    JM_MODBUS_F32,
    JM_MODBUS_F64,
    JM_MODBUS_TYPES
};
const char *jm_modbus_type_name(int t); /* "u16", ... */
int jm_modbus_type_parse(struct jm_span s);
size_t jm_modbus_type_registers(enum jm_modbus_type t);

/* How bytes of a value stand in its registers: big endian, words swapped, bytes swapped, both. */
enum jm_modbus_order { JM_MODBUS_ABCD, JM_MODBUS_CDAB, JM_MODBUS_BADC, JM_MODBUS_DCBA, JM_MODBUS_ORDERS };
const char *jm_modbus_order_name(int o);
int jm_modbus_order_parse(struct jm_span s);

struct jm_modbus_value {
    bool is_float;
    int64_t num;
    double real;
    /* Of a float: the distance to the next one, in its unit: the granularity that a growing counter has. */
    double step;
};
/* p: registers of the value. False: NaN, infinite, or an integer beyond int64 (the ways in which meters say
 * that they have none). */
bool jm_modbus_value(const uint8_t *p, enum jm_modbus_type t, enum jm_modbus_order o,
                     struct jm_modbus_value *out);
/* Whether an integer is the "no value" of its type: 0x8000 and 0x7fff of signed ones,
 * 0xffff of unsigned ones, and their wider forms. A value at
 * the end of its range is never a measurement. */
bool jm_modbus_none(enum jm_modbus_type t, int64_t v);

#endif
