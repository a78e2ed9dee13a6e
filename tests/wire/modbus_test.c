/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of the Modbus specifications' examples; 344.25 in its four orders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "wire/modbus.h"

static void frames(void **state)
{
    uint8_t f[JM_MODBUS_FRAME];
    struct jm_modbus_reply r;
    struct jm_modbus_ask rtu = {JM_MODBUS_RTU, 0, 0x11, 3, 0x6b, 3},
                         tcp = {JM_MODBUS_TCP, 0x1501, 0x11, 3, 0x6b, 3};
    (void)state;
    assert_int_equal(jm_modbus_request(&rtu, f), 8);
    assert_memory_equal(f, "\x11\x03\x00\x6b\x00\x03\x76\x87", 8);
    assert_int_equal(jm_modbus_request(&tcp, f), 12);
    assert_memory_equal(f, "\x15\x01\x00\x00\x00\x06\x11\x03\x00\x6b\x00\x03", 12);

    static const char good[] = "\x11\x03\x06\xae\x41\x56\x52\x43\x40\x49\xad"; /* specification's reply */
    assert_int_equal(jm_modbus_take(&rtu, (struct jm_span){good, 11}, &r), JM_MODBUS_DATA);
    assert_int_equal(r.registers.n, 6);
    assert_memory_equal(r.registers.p, "\xae\x41\x56\x52\x43\x40", 6);
    for (size_t n = 0; n < 11; n++)
        assert_int_equal(jm_modbus_take(&rtu, (struct jm_span){good, n}, &r), JM_MODBUS_MORE);
    assert_int_equal(jm_modbus_take(&rtu, JM_SPAN("\x11\x03\x06\xae\x41\x56\x52\x43\x41\x49\xad"), &r),
                     JM_MODBUS_BAD);
    rtu.unit = 0x12; /* what another unit said */
    assert_int_equal(jm_modbus_take(&rtu, (struct jm_span){good, 11}, &r), JM_MODBUS_OTHER);
    assert_int_equal(r.used, 11);

    assert_int_equal(
        jm_modbus_take(&tcp, JM_SPAN("\x15\x01\0\0\0\x09\x11\x03\x06\xae\x41\x56\x52\x43\x40"), &r),
        JM_MODBUS_DATA);
    assert_int_equal(jm_modbus_take(&tcp, JM_SPAN("\x15\x01\0\0\0\x03\x11\x83\x02"), &r),
                     JM_MODBUS_EXCEPTION);
    assert_int_equal(r.exception, 2);
    /* the late answer to an older question must not be taken for this one's */
    assert_int_equal(
        jm_modbus_take(&tcp, JM_SPAN("\x15\x00\0\0\0\x09\x11\x03\x06\xae\x41\x56\x52\x43\x40"), &r),
        JM_MODBUS_OTHER);
    assert_int_equal(r.used, 15);
    /* fewer registers than asked for, another protocol, a length without end */
    assert_int_equal(jm_modbus_take(&tcp, JM_SPAN("\x15\x01\0\0\0\x07\x11\x03\x04\xae\x41\x56\x52"), &r),
                     JM_MODBUS_BAD);
    assert_int_equal(jm_modbus_take(&tcp, JM_SPAN("\x15\x01\0\x01\0\x03\x11\x83\x02"), &r), JM_MODBUS_BAD);
    assert_int_equal(jm_modbus_take(&tcp, JM_SPAN("\x15\x01\0\0\xff\xff\x11\x83\x02"), &r), JM_MODBUS_BAD);
}

static void values(void **state)
{
    static const char *const bytes[JM_MODBUS_ORDERS] = {"\x43\xac\x20\x00", "\x20\x00\x43\xac",
                                                        "\xac\x43\x00\x20", "\x00\x20\xac\x43"};
    struct jm_modbus_value v;
    (void)state;
    for (int o = 0; o < JM_MODBUS_ORDERS; o++) {
        assert_true(jm_modbus_value((const uint8_t *)bytes[o], JM_MODBUS_F32, (enum jm_modbus_order)o, &v));
        assert_true(v.is_float && v.real == 344.25);
    }
    /* Yokogawa WT310E by Modbus: error and over-range */
    assert_false(jm_modbus_value((const uint8_t *)"\x7f\xc0\0\0", JM_MODBUS_F32, JM_MODBUS_ABCD, &v));
    assert_false(jm_modbus_value((const uint8_t *)"\x7f\x80\0\0", JM_MODBUS_F32, JM_MODBUS_ABCD, &v));
    /* Carlo Gavazzi EM24: int32, low word first: 0x0001e240 = 123456 */
    assert_true(jm_modbus_value((const uint8_t *)"\xe2\x40\x00\x01", JM_MODBUS_I32, JM_MODBUS_CDAB, &v));
    assert_int_equal(v.num, 123456);
    assert_true(jm_modbus_value((const uint8_t *)"\xff\xff\xff\xff", JM_MODBUS_I32, JM_MODBUS_CDAB, &v));
    assert_int_equal(v.num, -1);
    assert_true(
        jm_modbus_value((const uint8_t *)"\0\0\0\0\0\x01\xe2\x40", JM_MODBUS_I64, JM_MODBUS_ABCD, &v));
    assert_int_equal(v.num, 123456);
    assert_false(jm_modbus_value((const uint8_t *)"\xff\xff\xff\xff\xff\xff\xff\xff", JM_MODBUS_U64,
                                 JM_MODBUS_ABCD, &v));
    /* granularity of a float32 in kWh: at 16384 kWh 2^-9 kWh = 7.03 kJ, at 65536 28.1 kJ */
    assert_true(jm_modbus_value((const uint8_t *)"\x46\x80\0\0", JM_MODBUS_F32, JM_MODBUS_ABCD, &v));
    assert_true(v.real == 16384 && v.step == 0x1p-9);
    assert_true(jm_modbus_none(JM_MODBUS_I16, -32768) && jm_modbus_none(JM_MODBUS_U32, 4294967295));
    assert_false(jm_modbus_none(JM_MODBUS_I32, 0));
    assert_int_equal(jm_modbus_type_parse(JM_SPAN("float32")), JM_MODBUS_F32);
    assert_int_equal(jm_modbus_type_parse(JM_SPAN("f16")), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(frames), cmocka_unit_test(values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
