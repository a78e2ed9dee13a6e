/* SPDX-License-Identifier: Apache-2.0 */
/* Replies in the form of the makers' documentation and of public reports, named at each case. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "wire/plug.h"

static struct jm_plug_reply r;
static struct jm_err err;

static bool about(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

static void shelly1(void **state)
{
    (void)state;
    /* Gen1 /status: total in watt-minutes, 60 J each; two relays */
    const char *body =
        "{\"unixtime\":1707326930,\"meters\":[{\"power\":41.2,\"is_valid\":true,\"timestamp\":1707326925,"
        "\"counters\":[40.1,39.9,0],\"total\":12345},{\"power\":0,\"is_valid\":false,\"total\":0}]}";
    assert_int_equal(jm_plug_shelly1(jm_span_of(body), &r, &err), 0);
    assert_true(r.n == 2 && r.unix_s == 1707326930 && r.m[0].refreshed == 1707326925);
    assert_true(about(r.m[0].power_w, 41.2) && about(r.m[0].energy_j, 740700) && r.m[0].step_j == 60);
    assert_true(r.m[1].power_status == JM_S_ABSENT && r.m[1].energy_status == JM_S_ABSENT);
    /* Shelly EM: Wh */
    assert_int_equal(
        jm_plug_shelly1(JM_SPAN("{\"emeters\":[{\"power\":120.5,\"is_valid\":true,\"total\":10.5}]}"), &r,
                        &err),
        0);
    assert_true(r.n == 1 && r.m[0].part[0] == '\0' && about(r.m[0].energy_j, 37800));
}

static void shelly2(void **state)
{
    (void)state;
    /* aioshelly's fixture: total in Wh */
    const char *one =
        "{\"id\":0,\"apower\":2.7,\"voltage\":227.9,\"aenergy\":{\"total\":7258.589,\"by_minute\":[34.786,"
        "45.552],\"minute_ts\":1707326925}}";
    assert_int_equal(jm_plug_shelly2(jm_span_of(one), &r, &err), 0);
    assert_true(r.n == 1 && about(r.m[0].power_w, 2.7) && about(r.m[0].energy_j, 7258.589 * 3600));
    assert_int_equal(r.m[0].refreshed, 1707326925);
    const char *pro3em =
        "{\"em:0\":{\"a_act_power\":10,\"b_act_power\":20,\"c_act_power\":30,\"total_act_power\":60.5},"
        "\"emdata:0\":{\"total_act\":1000.25},\"sys\":{\"unixtime\":1707326990}}";
    assert_int_equal(jm_plug_shelly2(jm_span_of(pro3em), &r, &err), 0);
    assert_true(r.n == 1 && about(r.m[0].power_w, 60.5) && about(r.m[0].energy_j, 3600900));
    assert_int_equal(r.unix_s, 1707326990);
    const char *phases =
        "{\"em1:0\":{\"act_power\":5},\"em1:1\":{\"act_power\":6},\"em1data:1\":{\"total_act_energy\":2}}";
    assert_int_equal(jm_plug_shelly2(jm_span_of(phases), &r, &err), 0);
    assert_true(r.n == 2 && r.m[0].energy_status == JM_S_ABSENT && about(r.m[1].energy_j, 7200));
    assert_int_equal(jm_plug_shelly2(JM_SPAN("{\"wifi\":{}}"), &r, &err), JM_EABSENT);
    /* before the clock of the plug is set, and a reading that is not there */
    assert_int_equal(
        jm_plug_shelly2(
            JM_SPAN("{\"switch:0\":{\"apower\":null,\"aenergy\":{\"total\":1}},\"sys\":{\"unixtime\":"
                    "null}}"),
            &r, &err),
        0);
    assert_true(r.unix_s == 0 && r.m[0].power_status == JM_S_ABSENT && r.m[0].energy_status == JM_S_OK);
}

static void tasmota(void **state)
{
    (void)state;
    const char *one = "{\"StatusSNS\":{\"Time\":\"2024-02-07T18:28:45\",\"ENERGY\":{\"TotalStartTime\":"
                      "\"2023-01-01T00:00:00\","
                      "\"Total\":3.185,\"Yesterday\":0.1,\"Today\":0.05,\"Power\":23,\"Voltage\":230}}}";
    assert_int_equal(jm_plug_tasmota(jm_span_of(one), &r, &err), 0);
    assert_true(r.n == 1 && r.m[0].power_w == 23 && about(r.m[0].energy_j, 3185 * 3600.0) &&
                r.m[0].step_j == 3600);
    /* several relays: Power is a list, Total may be one number of all: nobody's */
    const char *two = "{\"StatusSNS\":{\"ENERGY\":{\"Total\":5.5,\"Power\":[10,20]}}}";
    assert_int_equal(jm_plug_tasmota(jm_span_of(two), &r, &err), 0);
    assert_true(r.n == 2 && r.m[1].power_w == 20 && r.m[0].energy_status == JM_S_ABSENT);
    assert_int_equal(
        jm_plug_tasmota(JM_SPAN("{\"StatusSNS\":{\"ENERGY\":{\"Total\":[1,2],\"Power\":[10,20]}}}"), &r,
                        &err),
        0);
    assert_true(about(r.m[1].energy_j, 7.2e6));
    /* arendst/Tasmota#7674: below 0 in 32 bits of hundredths of a Wh */
    assert_int_equal(
        jm_plug_tasmota(JM_SPAN("{\"StatusSNS\":{\"ENERGY\":{\"Total\":42949.672,\"Power\":1}}}"), &r, &err),
        0);
    assert_int_equal(r.m[0].energy_status, JM_S_IMPLAUSIBLE);
    assert_int_equal(
        jm_plug_tasmota(JM_SPAN("{\"WARNING\":\"Need user=<username>&password=<password>\"}"), &r, &err),
        JM_EABSENT);
}

static void kasa(void **state)
{
    (void)state;
    /* GadgetReactor/pyHS100#103: the key decides the unit */
    const char *v1 = "{\"emeter\":{\"get_realtime\":{\"current\":0.1,\"voltage\":230.1,\"power\":12.5,"
                     "\"total\":1.25,\"err_code\":"
                     "0}}}";
    const char *v2 = "{\"emeter\":{\"get_realtime\":{\"voltage_mv\":230100,\"current_ma\":100,\"power_mw\":"
                     "12500,\"total_wh\":"
                     "1250,\"err_code\":0}}}";
    for (int i = 0; i < 2; i++) {
        assert_int_equal(jm_plug_kasa(jm_span_of(i ? v2 : v1), &r, &err), 0);
        assert_true(about(r.m[0].power_w, 12.5) && about(r.m[0].energy_j, 4.5e6));
    }
    assert_int_equal(
        jm_plug_kasa(JM_SPAN("{\"emeter\":{\"err_code\":-1,\"err_msg\":\"module not support\"}}"), &r, &err),
        JM_EABSENT);
    char id[4][JM_KASA_CHILD];
    assert_int_equal(
        jm_plug_kasa_children(
            JM_SPAN("{\"system\":{\"get_sysinfo\":{\"deviceId\":\"8006AB\",\"children\":["
                    "{\"id\":\"00\"},{\"id\":\"\\\"]}x\"},{\"id\":\"8006AB01\"},{\"alias\":1}]}}}"),
            id, 4),
        2);
    assert_string_equal(id[0], "8006AB00");
    assert_string_equal(id[1], "8006AB01");
    assert_int_equal(jm_plug_kasa_children(JM_SPAN("{\"system\":{\"get_sysinfo\":{}}}"), id, 4), 0);
    /* by hand: '{' is 0x7B, 0x7B ^ 171 = 0xD0; '}' is 0x7D, 0x7D ^ 0xD0 = 0xAD */
    struct jm_str out;
    char text[2];
    jm_str_init(&out);
    jm_kasa_encode(JM_SPAN("{}"), &out);
    assert_int_equal(out.len, 6);
    assert_memory_equal(out.buf, "\0\0\0\2\xD0\xAD", 6);
    jm_kasa_decode((const unsigned char *)out.buf + 4, 2, text);
    assert_memory_equal(text, "{}", 2);
    jm_str_release(&out);
}

static void not_a_plug(void **state)
{
    static const char *const bodies[] = {"", "<html>", "[]", "{\"meters\":", "null"};
    int (*const all[])(struct jm_span, struct jm_plug_reply *,
                       struct jm_err *) = {jm_plug_shelly1, jm_plug_shelly2, jm_plug_tasmota, jm_plug_kasa};
    (void)state;
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 4; k++) {
            err.text[0] = '\0';
            assert_true(all[k](jm_span_of(bodies[i]), &r, &err) < 0);
            assert_true(err.text[0] && r.n == 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shelly1), cmocka_unit_test(shelly2),
                                       cmocka_unit_test(tasmota), cmocka_unit_test(kasa),
                                       cmocka_unit_test(not_a_plug)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
