/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies and text as instruments print them; the first body is the one that `ipmitool raw` and ipmi-dcmi
 * showed for the same simulated BMC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "wire/ipmitool.h"

static struct jm_dcmi_power decode(const char *text)
{
    uint8_t b[64];
    struct jm_dcmi_power p;
    int n = jm_ipmi_hex(jm_span_of(text), b, sizeof b);
    assert_true(n > 0);
    assert_int_equal(jm_dcmi_power((struct jm_span){(char *)b, (size_t)n}, &p), 0);
    return p;
}

static void power(void **state)
{
    bool declared;
    (void)state;
    struct jm_dcmi_power p = decode(" dc 4c 01 44 00 f8 01 5c 01 de 25 0c 6b e8 03 00\n 00 40\n");
    assert_int_equal(p.current_w, 332);
    assert_int_equal(p.min_w, 68);
    assert_int_equal(p.max_w, 504);
    assert_int_equal(p.average_w, 348);
    assert_int_equal(p.time_s, 0x6b0c25de);
    assert_int_equal(p.period_ms, 1000);
    assert_true(p.active);
    assert_int_equal(jm_dcmi_status(&p, &declared), JM_S_OK);
    assert_false(declared);
    /* openbmc/openbmc#3257: 319 W, 1970, not active: the value is there, and is said to be declared */
    p = decode("dc 3f 01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00");
    assert_int_equal(p.current_w, 319);
    assert_int_equal(jm_dcmi_status(&p, &declared), JM_S_OK);
    assert_true(declared);
    /* xapi-project/xen-api PR 5561: 0 W and 65535 W are no power */
    p = decode("dc 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 40");
    assert_int_equal(jm_dcmi_status(&p, &declared), JM_S_ABSENT);
    p = decode("dc ff ff 00 00 ff ff 00 00 00 00 00 00 00 00 00 00 40");
    assert_int_equal(jm_dcmi_status(&p, &declared), JM_S_ABSENT);
    /* now below the minimum of its own statistics: another quantity */
    p = decode("dc 32 00 44 00 f8 01 5c 01 00 00 00 00 e8 03 00 00 40");
    assert_int_equal(jm_dcmi_status(&p, &declared), JM_S_CONFLICT);
    /* 2685198000 ms = 31 days: the average is none of this window */
    p = decode("dc 4c 01 44 00 f8 01 5c 01 de 25 0c 6b b0 de 0c a0 40");
    assert_int_equal(p.period_ms, 2685198000);
}

static void codes(void **state)
{
    struct jm_dcmi_power p;
    bool declared;
    (void)state;
    assert_int_equal(jm_dcmi_power(JM_SPAN("\xff"), &p), 0);
    assert_int_equal(jm_dcmi_status(&p, &declared), JM_S_GAP);
    assert_int_equal(jm_dcmi_power(JM_SPAN("\xc1"), &p), 0);
    assert_int_equal(jm_dcmi_status(&p, &declared), JM_S_UNSUPPORTED);
    assert_int_equal(jm_dcmi_power(JM_SPAN("\xd4"), &p), 0);
    assert_int_equal(jm_dcmi_status(&p, &declared), JM_S_DENIED);
    assert_int_equal(jm_dcmi_power(JM_SPAN(""), &p), JM_EPARSE);
    /* another group's answer, and one that ends too early */
    assert_int_equal(jm_dcmi_power(JM_SPAN("\0\x52\x4c\x01\x44\0\xf8\x01\x5c\x01\0\0\0\0\0\0\0\0\x40"), &p),
                     JM_EPARSE);
    assert_int_equal(jm_dcmi_power(JM_SPAN("\0\xdc\x4c\x01\x44\0\xf8\x01\x5c\x01\0\0\0\0\0\0\0\0"), &p),
                     JM_EPARSE);
}

static void oem(void **state)
{
    struct jm_lenovo_energy e;
    struct jm_nm_stats s;
    (void)state;
    /* index 5, 0x00bc614e = 12345678 J, 0x0215 = 533 mJ, 1600000000 s, 250 ms */
    assert_int_equal(jm_lenovo_energy(JM_SPAN("\0\x05\0\x4e\x61\xbc\0\x15\x02\0\x10\x5e\x5f\xfa\0"), &e), 0);
    assert_int_equal(e.mj, 12345678533);
    assert_int_equal(e.time_ms, 1600000000250);
    assert_int_equal(jm_lenovo_energy(JM_SPAN("\0\x05\0\x4e\x61\xbc\0\xff\xff\0\x10\x5e\x5f\xfa\0"), &e),
                     JM_EPARSE);
    assert_int_equal(jm_lenovo_energy(JM_SPAN("\0\x05"), &e), JM_EPARSE);
    /* 300 W, 200..500, mean 310, period 60 s, enabled and measuring */
    assert_int_equal(
        jm_nm_stats(JM_SPAN("\0\x57\x01\0\x2c\x01\xc8\0\xf4\x01\x36\x01\0\0\0\0\x3c\0\0\0\x50"), &s), 0);
    assert_int_equal(s.current_w, 300);
    assert_int_equal(s.average_w, 310);
    assert_int_equal(s.period_s, 60);
    assert_int_equal(jm_nm_status(&s), JM_S_OK);
    assert_int_equal(
        jm_nm_stats(JM_SPAN("\0\x58\x01\0\x2c\x01\xc8\0\xf4\x01\x36\x01\0\0\0\0\x3c\0\0\0\x50"), &s),
        JM_EPARSE);
}

static void text(void **state)
{
    struct jm_dcmi_text t;
    (void)state;
    /* ipmitool 1.8.19: no line end before "Sampling period" */
    assert_int_equal(
        jm_dcmi_text(
            JM_SPAN("\n    Instantaneous power reading:                   332 Watts\n"
                    "    Minimum during sampling period:                 68 Watts\n"
                    "    Maximum during sampling period:                504 Watts\n"
                    "    Average power reading over sample period:      348 Watts\n"
                    "    IPMI timestamp:                           11/28/26 10:00:14 UTC    Sampling period:"
                    "                          00000001 Seconds.\n"
                    "    Power reading state is:                   activated\n\n"),
            &t),
        0);
    assert_int_equal(t.power.current_w, 332);
    assert_int_equal(t.power.min_w, 68);
    assert_int_equal(t.power.max_w, 504);
    assert_int_equal(t.power.average_w, 348);
    assert_int_equal(t.power.period_ms, 1000);
    assert_true(t.power.active);
    /* all lines joined (ateodorescu/home-assistant-ipmi#13) */
    assert_int_equal(
        jm_dcmi_text(JM_SPAN("Instantaneous power reading: 210 Watts Minimum during sampling period: 18 "
                             "Watts Maximum during sampling period: 396 Watts Average power reading over "
                             "sample period: 205 Watts Power reading state is: deactivated"),
                     &t),
        0);
    assert_int_equal(t.power.current_w, 210);
    assert_int_equal(t.power.average_w, 205);
    assert_false(t.power.active);
    assert_false(t.has_period);
    /* FreeIPMI */
    assert_int_equal(jm_dcmi_text(JM_SPAN("Current Power                        : 332 Watts\n"
                                          "Minimum Power over sampling duration : 68 watts\n"
                                          "Maximum Power over sampling duration : 504 watts\n"
                                          "Average Power over sampling duration : 348 watts\n"
                                          "Time Stamp                           : 11/28/2026 - 10:00:14\n"
                                          "Statistics reporting time period     : 2685198000 milliseconds\n"
                                          "Power Measurement                    : Not Active\n"),
                                  &t),
                     0);
    assert_int_equal(t.power.current_w, 332);
    assert_int_equal(t.power.period_ms, 2685198000);
    assert_false(t.power.active);
    /* prometheus-community/ipmi_exporter#160: not available is not 0 */
    assert_int_equal(jm_dcmi_text(JM_SPAN("Current Power : Not Available\n"), &t), JM_EABSENT);
    assert_int_equal(jm_dcmi_text(JM_SPAN("Current Power : 70000 Watts\n"), &t), JM_ERANGE);
    assert_int_equal(jm_dcmi_text(JM_SPAN(""), &t), JM_EABSENT);
    assert_int_equal(jm_ipmitool_error(JM_SPAN("Error: Unable to establish IPMI v2 / RMCP+ session\n")),
                     JM_S_GAP);
    assert_int_equal(
        jm_ipmitool_error(JM_SPAN("> RAKP 2 HMAC is invalid\nError: Unable to establish IPMI v2")),
        JM_S_DENIED);
    assert_int_equal(jm_ipmitool_error(JM_SPAN("DCMI request failed because: Invalid command (c1)")),
                     JM_S_UNSUPPORTED);
}

static void hex(void **state)
{
    uint8_t b[8];
    (void)state;
    assert_int_equal(jm_ipmi_hex(JM_SPAN("dc 1"), b, 8), JM_EPARSE);
    assert_int_equal(jm_ipmi_hex(JM_SPAN("dcdc"), b, 8), JM_EPARSE);
    assert_int_equal(jm_ipmi_hex(JM_SPAN("Unable"), b, 8), JM_EPARSE);
    assert_int_equal(jm_ipmi_hex(JM_SPAN("  \n"), b, 8), JM_EPARSE);
    assert_int_equal(jm_ipmi_hex(JM_SPAN("01 02 03 04 05 06 07 08"), b, 8), JM_ELIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(power), cmocka_unit_test(codes),
                                       cmocka_unit_test(oem), cmocka_unit_test(text), cmocka_unit_test(hex)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
