/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mlperf/ntp.h"

#define NONCE UINT64_C(0x1122334455667789)

/* An answer: version 4, mode 4, stratum 2, reference 192.0.2.7; times by the caller. */
static void answer(unsigned char p[48], uint64_t t2, uint64_t t3)
{
    memset(p, 0, 48);
    p[0] = 4 << 3 | 4;
    p[1] = 2;
    p[6] = 1;    /* root delay 1/256 s */
    p[11] = 128; /* root dispersion 1/512 s */
    memcpy(p + 12, "\xc0\x00\x02\x07", 4);
    for (int i = 0; i < 8; i++) {
        p[24 + i] = (unsigned char)(NONCE >> (56 - 8 * i));
        p[32 + i] = (unsigned char)(t2 >> (56 - 8 * i));
        p[40 + i] = (unsigned char)(t3 >> (56 - 8 * i));
    }
}

/* 1970 is 2208988800 s after 1900 (RFC 5905, figure 4). */
static uint64_t stamp(int64_t unix_s, uint32_t fraction)
{
    return (uint64_t)((unix_s + INT64_C(2208988800)) & 0xffffffff) << 32 | fraction;
}

static int parse(const unsigned char *p, size_t n, int64_t t1, int64_t t4, struct jm_mlperf_ntp *out,
                 struct jm_err *err)
{
    return jm_mlperf_ntp_parse((struct jm_span){(const char *)p, n}, NONCE, t1, t4, out, err);
}

/* By hand: sent at 0, received at +0.5 s of the server's clock, answered 0.25 s later, back at 0.5 s of ours:
 * offset ((0.5 − 0) + (0.75 − 0.5)) / 2 = 0.375 s, delay (0.5 − 0) − (0.75 − 0.5) = 0.25 s. */
static void offset_and_delay(void **state)
{
    unsigned char p[48];
    struct jm_mlperf_ntp n = {.server = "ntp.example"};
    struct jm_err err = {0};
    int64_t s = 1753687116, t1 = s * JM_NS_PER_S;
    (void)state;
    answer(p, stamp(s, 0x80000000), stamp(s, 0xc0000000));
    assert_int_equal(parse(p, 48, t1, t1 + JM_NS_PER_S / 2, &n, &err), 0);
    assert_true(n.offset_s == 0.375 && n.delay_s == 0.25);
    assert_true(n.root_delay_s == 1 / 256.0 && n.root_dispersion_s == 1 / 512.0);
    assert_string_equal(n.refid, "192.0.2.7");
    assert_string_equal(n.server, "ntp.example");
    assert_int_equal(n.stratum, 2);
    assert_int_equal(jm_mlperf_ntp_judge(&n, &err), 0);
    n.offset_s = -0.4;
    assert_int_equal(jm_mlperf_ntp_judge(&n, &err), JM_ECONFLICT);
    assert_non_null(strstr(err.text, "ahead of"));
    n.offset_s = 0.3999;
    assert_int_equal(jm_mlperf_ntp_judge(&n, &err), 0);
}

/* The 32 bits of seconds run over in February 2036. */
static void next_era(void **state)
{
    unsigned char p[48];
    struct jm_mlperf_ntp n = {0};
    struct jm_err err = {0};
    int64_t s = INT64_C(2085978496); /* 2036-02-07 06:28:16, the first second of era 1 */
    (void)state;
    answer(p, stamp(s + 1, 0), stamp(s + 1, 0));
    assert_int_equal(parse(p, 48, (s - 1) * JM_NS_PER_S, (s - 1) * JM_NS_PER_S, &n, &err), 0);
    assert_true(n.offset_s == 2);
    answer(p, stamp(s - 1, 0), stamp(s - 1, 0));
    assert_int_equal(parse(p, 48, (s + 1) * JM_NS_PER_S, (s + 1) * JM_NS_PER_S, &n, &err), 0);
    assert_true(n.offset_s == -2);
    /* a clock that says 1970 */
    answer(p, stamp(1753687116, 0), stamp(1753687116, 0));
    assert_int_equal(parse(p, 48, 0, 0, &n, &err), 0);
    assert_true(n.offset_s == 1753687116);
}

static void what_is_no_answer(void **state)
{
    unsigned char p[48];
    struct jm_mlperf_ntp n = {0};
    struct jm_err err = {0};
    int64_t s = 1753687116, t = s * JM_NS_PER_S;
    uint64_t now = stamp(s, 0);
    (void)state;
    answer(p, now, now);
    assert_int_equal(parse(p, 47, t, t, &n, &err), JM_EPARSE);
    assert_int_equal(parse(p, 0, t, t, &n, &err), JM_EPARSE);
    p[31] ^= 1;
    assert_int_equal(parse(p, 48, t, t, &n, &err), JM_EPARSE); /* echoes another question */
    answer(p, now, now);
    p[0] = 4 << 3 | 3;
    assert_int_equal(parse(p, 48, t, t, &n, &err), JM_EPARSE); /* a client */
    answer(p, now, now);
    p[0] |= 3 << 6;
    assert_int_equal(parse(p, 48, t, t, &n, &err), JM_EUNSUPPORTED);
    answer(p, now, now);
    p[1] = 16;
    assert_int_equal(parse(p, 48, t, t, &n, &err), JM_EUNSUPPORTED);
    answer(p, now, now);
    p[1] = 0;
    memcpy(p + 12, "RATE", 4);
    assert_int_equal(parse(p, 48, t, t, &n, &err), JM_EDENIED);
    assert_non_null(strstr(err.text, "\"RATE\""));
    answer(p, 0, now);
    assert_int_equal(parse(p, 48, t, t, &n, &err), JM_EPARSE);
    answer(p, stamp(s, 1000), now);
    assert_int_equal(parse(p, 48, t, t, &n, &err), JM_EPARSE); /* answered before it was asked */
    answer(p, now, now);
    assert_int_equal(parse(p, 48, t, t - 1, &n, &err), JM_EPARSE);
}

static void request(void **state)
{
    unsigned char p[JM_MLPERF_NTP_PACKET];
    (void)state;
    jm_mlperf_ntp_request(NONCE, p);
    assert_int_equal(p[0], 0x23); /* leap 0, version 4, client */
    for (int i = 1; i < 40; i++)
        assert_int_equal(p[i], 0);
    assert_memory_equal(p + 40, "\x11\x22\x33\x44\x55\x66\x77\x89", 8);
}

static void clocks_of_two(void **state)
{
    struct jm_err err = {0};
    (void)state;
    assert_int_equal(jm_mlperf_clock_judge(10, 10.3, 10.1, &err), 0);
    assert_int_equal(jm_mlperf_clock_judge(10, 10.375, 10.1, &err), 0);
    assert_int_equal(jm_mlperf_clock_judge(10, 10.5, 10.2, &err), JM_ECONFLICT);
    assert_int_equal(jm_mlperf_clock_judge(10, 9.75, 10.25, &err), JM_ECONFLICT); /* a slow answer */
}

static void names(void **state)
{
    static const char *const bad[] = {"", "host:0", "host:99999", "host:x", "[::1", "[::1]x", "[]"};
    struct jm_clock clock = jm_clock_system();
    struct jm_mlperf_wake wake = {NULL, -1};
    struct jm_mlperf_ntp n;
    struct jm_err err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(jm_mlperf_ntp_query(bad[i], &clock, wake, 1, &n, &err), JM_EINVAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(offset_and_delay),  cmocka_unit_test(next_era),
                                       cmocka_unit_test(what_is_no_answer), cmocka_unit_test(request),
                                       cmocka_unit_test(clocks_of_two),     cmocka_unit_test(names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
