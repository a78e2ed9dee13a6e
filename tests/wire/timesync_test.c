/* SPDX-License-Identifier: Apache-2.0 */
/* Time services on the wire. The reply is put together by hand from candm.h of chrony 4.3; its floats:
 * 0x02800000 is 2^23 x 2^(1-25) = 0.5, 0x00800000 is 2^23 x 2^-25 = 0.25, 0xff800000 has exponent 127 - 128 =
 * -1 and coefficient 0x1800000 - 2^25 = -2^23: -2^23 x 2^-26 = -0.125. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/timesync.h"

static const uint8_t tracking[JM_CHRONY_TRACKING] = {
    6,    2,    0, 0, 0,    33, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0,             /* head, status 0 */
    1,    2,    3, 4, 0,    0,  0, 0, 0, 0, 0, 0,                         /* sequence */
    0xc0, 0,    2, 1,                                                     /* reference 192.0.2.1 */
    192,  0,    2, 1, 0,    0,  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, /* its address, family 1 */
    0,    3,    0, 0,                                                     /* stratum 3, leap 0 */
    0,    0,    0, 0, 0x6b, 0,  0, 0, 0, 0, 0, 0,                         /* time of the last update */
    0xff, 0x80, 0, 0,                                                     /* correction -0.125 s */
    0,    0,    0, 0, 0,    0,  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* offsets, frequencies */
    0x02, 0x80, 0, 0,                                                     /* root delay 0.5 s */
    0x00, 0x80, 0, 0,                                                     /* root dispersion 0.25 s */
    0,    0,    0, 0};

static int decode(const uint8_t *p, size_t n, struct jm_tracking *t, struct jm_err *err)
{
    return jm_chrony_tracking((struct jm_span){(const char *)p, n}, 0x01020304, t, err);
}

static void reports(void **state)
{
    (void)state;
    struct jm_tracking t;
    struct jm_err err = {0};
    assert_int_equal(decode(tracking, sizeof tracking, &t, &err), 0);
    assert_int_equal(t.stratum, 3);
    assert_int_equal(t.leap, 0);
    assert_string_equal(t.address, "192.0.2.1");
    assert_true(t.correction_s == -0.125 && t.root_delay_s == 0.5 && t.root_dispersion_s == 0.25);
    uint8_t v[JM_CHRONY_TRACKING];
    memcpy(v, tracking, sizeof v);
    v[49] = 0; /* no address: a reference clock, named by its id */
    memcpy(v + 28, "PPS\0", 4);
    assert_int_equal(decode(v, sizeof v, &t, &err), 0);
    assert_string_equal(t.address, "PPS");
    uint8_t ask[JM_CHRONY_TRACKING];
    jm_chrony_ask_tracking(ask, 0x01020304);
    static const uint8_t head[20] = {6, 1, 0, 0, 0, 33, 0, 0, 1, 2, 3, 4};
    assert_memory_equal(ask, head, sizeof head);
}

static void refusals(void **state)
{
    (void)state;
    struct jm_tracking t;
    struct jm_err err = {0};
    uint8_t v[JM_CHRONY_TRACKING];
    for (size_t n = 0; n < sizeof tracking; n++)
        assert_true(decode(tracking, n, &t, &err) < 0);
    memcpy(v, tracking, sizeof v);
    v[19] = 5;
    assert_int_equal(decode(v, sizeof v, &t, &err), JM_EAGAIN);
    memcpy(v, tracking, sizeof v);
    v[9] = 2;
    assert_int_equal(decode(v, sizeof v, &t, &err), JM_EDENIED);
    v[0] = 5; /* an older protocol */
    assert_int_equal(decode(v, sizeof v, &t, &err), JM_EPARSE);
}

/* linuxptp 3.1.1, pmc(8) */
static void ptp(void **state)
{
    (void)state;
    static const char text[] =
        "sending: GET TIME_STATUS_NP\n"
        "\t507c6f.fffe.1fb68f-0 seq 0 RESPONSE MANAGEMENT TIME_STATUS_NP \n"
        "\t\tmaster_offset              -73\n\t\tingress_time               1633598423405389870\n"
        "\t\tcumulativeScaledRateOffset +0.000000000\n\t\tgmPresent                  true\n"
        "\t\tgmIdentity                 507c6f.fffe.1fb68e\n";
    struct jm_ptp_status s;
    struct jm_err err = {0};
    assert_int_equal(jm_pmc_time_status(jm_span_of(text), &s, &err), 0);
    assert_true(s.master_offset_ns == -73 && s.gm_present);
    assert_string_equal(s.gm, "507c6f.fffe.1fb68e");
    assert_int_equal(jm_pmc_time_status(JM_SPAN("sending: GET TIME_STATUS_NP\n"), &s, &err), JM_EABSENT);
    assert_int_equal(jm_pmc_time_status(JM_SPAN("\tmaster_offset nan\n"), &s, &err), JM_EPARSE);
    double ns;
    assert_int_equal(
        jm_pmc_path_delay(JM_SPAN("\t\tstepsRemoved     1\n\t\tmeanPathDelay    1423.0\n"), &ns, &err), 0);
    assert_true(ns == 1423);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reports), cmocka_unit_test(refusals),
                                       cmocka_unit_test(ptp)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
