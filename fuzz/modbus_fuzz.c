/* SPDX-License-Identifier: Apache-2.0 */
/* Modbus replies of both framings, as a stream, and values in their registers. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "wire/modbus.h"

static void values(struct jm_span r)
{
    struct jm_modbus_value v;
    for (int t = 0; t < JM_MODBUS_TYPES; t++)
        for (int o = 0; o < JM_MODBUS_ORDERS; o++)
            if (r.n >= 2 * jm_modbus_type_registers((enum jm_modbus_type)t) &&
                jm_modbus_value((const uint8_t *)r.p, (enum jm_modbus_type)t, (enum jm_modbus_order)o, &v) &&
                v.is_float && !(v.step > 0))
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_modbus_reply r;
    if (n < 4)
        return 0;
    struct jm_modbus_ask a = {
        p[0] & 1 ? JM_MODBUS_RTU : JM_MODBUS_TCP, p[1], p[2], p[0] & 2 ? 3 : 4, 0, p[3] % 126};
    struct jm_span in = {(const char *)p + 4, n - 4};
    while (in.n) {
        enum jm_modbus_taken t = jm_modbus_take(&a, in, &r);
        if (t == JM_MODBUS_DATA && r.registers.n != 2U * a.count)
            abort();
        if (t == JM_MODBUS_DATA)
            values(r.registers);
        if (t == JM_MODBUS_MORE || t == JM_MODBUS_BAD)
            break;
        if (!r.used || r.used > in.n)
            abort();
        in = jm_span_sub(in, r.used, in.n);
    }
    return 0;
}
