/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/modbus.h"

#include <math.h>
#include <string.h>

#include "base/banned.h"

uint16_t jm_modbus_crc(const uint8_t *p, size_t n)
{
    unsigned crc = 0xffff;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++)
            crc = crc & 1 ? crc >> 1 ^ 0xa001 : crc >> 1;
    }
    return (uint16_t)crc;
}

static void put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static unsigned get16(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

size_t jm_modbus_request(const struct jm_modbus_ask *a, uint8_t out[JM_MODBUS_FRAME])
{
    size_t head = a->framing == JM_MODBUS_TCP ? 6 : 0;
    uint8_t *p = out + head;
    p[0] = a->unit;
    p[1] = a->function;
    put16(p + 2, a->address);
    put16(p + 4, a->count);
    if (head) {
        put16(out, a->transaction);
        put16(out + 2, 0);
        put16(out + 4, 6);
        return 12;
    }
    uint16_t crc = jm_modbus_crc(p, 6);
    p[6] = (uint8_t)crc;
    p[7] = (uint8_t)(crc >> 8);
    return 8;
}

/* p: unit, function, data; n bytes. */
static enum jm_modbus_taken body(const struct jm_modbus_ask *a, const uint8_t *p, size_t n,
                                 struct jm_modbus_reply *out)
{
    if (p[0] != a->unit)
        return JM_MODBUS_OTHER;
    if (p[1] == (a->function | 0x80) && n == 3) {
        out->exception = p[2];
        return JM_MODBUS_EXCEPTION;
    }
    if (p[1] != a->function)
        return JM_MODBUS_OTHER;
    if (n < 3 || p[2] != n - 3 || p[2] != 2 * a->count)
        return JM_MODBUS_BAD;
    out->registers = (struct jm_span){(const char *)p + 3, p[2]};
    return JM_MODBUS_DATA;
}

enum jm_modbus_taken jm_modbus_take(const struct jm_modbus_ask *a, struct jm_span in,
                                    struct jm_modbus_reply *out)
{
    const uint8_t *p = (const uint8_t *)in.p;
    *out = (struct jm_modbus_reply){0};
    if (a->framing == JM_MODBUS_TCP) {
        if (in.n < 6)
            return JM_MODBUS_MORE;
        size_t n = get16(p + 4);
        if (get16(p + 2) != 0 || n < 3 || n > JM_MODBUS_FRAME - 6)
            return JM_MODBUS_BAD;
        if (in.n < 6 + n)
            return JM_MODBUS_MORE;
        out->used = 6 + n;
        return get16(p) != a->transaction ? JM_MODBUS_OTHER : body(a, p + 6, n, out);
    }
    if (in.n < 5)
        return JM_MODBUS_MORE;
    size_t n = p[1] & 0x80 ? 5 : (size_t)p[2] + 5;
    if (n > JM_MODBUS_FRAME)
        return JM_MODBUS_BAD;
    if (in.n < n)
        return JM_MODBUS_MORE;
    if (jm_modbus_crc(p, n - 2) != (p[n - 2] | (unsigned)p[n - 1] << 8))
        return JM_MODBUS_BAD;
    out->used = n;
    return body(a, p, n - 2, out);
}

const char *jm_modbus_exception_text(unsigned code)
{
    static const char *const text[] = {"unknown exception",
                                       "illegal function",
                                       "illegal data address",
                                       "illegal data value",
                                       "device failure",
                                       "acknowledged, not done yet",
                                       "device busy",
                                       "not acknowledged",
                                       "memory parity error",
                                       "unknown exception",
                                       "no path behind the gateway",
                                       "the device behind the gateway is silent"};
    return text[code < sizeof text / sizeof *text ? code : 0];
}

static const char *const types[] = {"u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"};
static const char *const orders[] = {"abcd", "cdab", "badc", "dcba"};

static int lookup(const char *const *names, int n, struct jm_span s)
{
    for (int i = 0; i < n; i++)
        if (jm_span_ieq(s, jm_span_of(names[i])))
            return i;
    return -1;
}

const char *jm_modbus_type_name(int t)
{
    return t >= 0 && t < JM_MODBUS_TYPES ? types[t] : "?";
}

int jm_modbus_type_parse(struct jm_span s)
{
    static const struct {
        const char *name;
        int t;
    } more[] = {{"int16", JM_MODBUS_I16},  {"uint16", JM_MODBUS_U16},  {"int32", JM_MODBUS_I32},
                {"uint32", JM_MODBUS_U32}, {"int64", JM_MODBUS_I64},   {"uint64", JM_MODBUS_U64},
                {"float", JM_MODBUS_F32},  {"float32", JM_MODBUS_F32}, {"double", JM_MODBUS_F64},
                {"float64", JM_MODBUS_F64}};
    int t = lookup(types, JM_MODBUS_TYPES, s);
    for (size_t i = 0; t < 0 && i < sizeof more / sizeof *more; i++)
        if (jm_span_ieq(s, jm_span_of(more[i].name)))
            t = more[i].t;
    return t;
}

size_t jm_modbus_type_registers(enum jm_modbus_type t)
{
    return t <= JM_MODBUS_I16 ? 1 : t == JM_MODBUS_U32 || t == JM_MODBUS_I32 || t == JM_MODBUS_F32 ? 2 : 4;
}

const char *jm_modbus_order_name(int o)
{
    return o >= 0 && o < JM_MODBUS_ORDERS ? orders[o] : "?";
}

int jm_modbus_order_parse(struct jm_span s)
{
    return lookup(orders, JM_MODBUS_ORDERS, s);
}

static uint64_t bits_of(const uint8_t *p, size_t words, enum jm_modbus_order o)
{
    bool swap_words = o == JM_MODBUS_CDAB || o == JM_MODBUS_DCBA,
         swap_bytes = o == JM_MODBUS_BADC || o == JM_MODBUS_DCBA;
    uint64_t v = 0;
    for (size_t i = 0; i < words; i++) {
        const uint8_t *w = p + 2 * (swap_words ? words - 1 - i : i);
        v = v << 16 | (swap_bytes ? (unsigned)w[1] << 8 | w[0] : get16(w));
    }
    return v;
}

bool jm_modbus_value(const uint8_t *p, enum jm_modbus_type t, enum jm_modbus_order o,
                     struct jm_modbus_value *out)
{
    uint64_t v = bits_of(p, jm_modbus_type_registers(t), o);
    *out = (struct jm_modbus_value){0};
    if (t == JM_MODBUS_F32) {
        uint32_t b = (uint32_t)v;
        float f;
        memcpy(&f, &b, sizeof f);
        out->is_float = true;
        out->real = f;
        out->step = isfinite(f) ? (double)nextafterf(fabsf(f), INFINITY) - (double)fabsf(f) : 0;
        return isfinite(f);
    }
    if (t == JM_MODBUS_F64) {
        memcpy(&out->real, &v, sizeof out->real);
        out->is_float = true;
        out->step = isfinite(out->real) ? nextafter(fabs(out->real), INFINITY) - fabs(out->real) : 0;
        return isfinite(out->real);
    }
    switch (t) {
    case JM_MODBUS_I16: out->num = (int16_t)v; break;
    case JM_MODBUS_I32: out->num = (int32_t)v; break;
    default:
        out->num = (int64_t)v;
        if (t == JM_MODBUS_U64 && v > INT64_MAX)
            return false;
    }
    return true;
}

bool jm_modbus_none(enum jm_modbus_type t, int64_t v)
{
    switch (t) {
    case JM_MODBUS_U16: return v == UINT16_MAX;
    case JM_MODBUS_I16: return v == INT16_MIN || v == INT16_MAX;
    case JM_MODBUS_U32: return v == UINT32_MAX;
    case JM_MODBUS_I32: return v == INT32_MIN || v == INT32_MAX;
    case JM_MODBUS_I64:
    case JM_MODBUS_U64: return v == INT64_MIN || v == INT64_MAX;
    default: return false;
    }
}
