/* SPDX-License-Identifier: Apache-2.0 */
/* Values of power analyzers as text, and the wire to them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "meter/scpi.h"
#include "meter/text.h"

static void numbers(void **state)
{
    /* As WT300 and WT500 write them (WT3001E manual p. 141; PTDaemon's logs of a WT210 and a WT333E) */
    static const struct {
        const char *text;
        enum jm_scpi_value what;
        int64_t v;
    } t[] = {
        {"230.12E+00", JM_SCPI_NUMBER, 230120000},
        {"0.4521E+00", JM_SCPI_NUMBER, 452100},
        {"500.0E-03", JM_SCPI_NUMBER, 500000},
        {"0.6000E+03", JM_SCPI_NUMBER, 600000000},
        {"-98.31E+00", JM_SCPI_NUMBER, -98310000},
        {" 12.345E+00 ", JM_SCPI_NUMBER, 12345000},
        {"1.23456789E-03", JM_SCPI_NUMBER, 1235}, /* more digits than the scale holds: the nearest */
        {"NAN", JM_SCPI_NODATA, 0},
        {"9.91E+37", JM_SCPI_NODATA, 0},
        {"INF", JM_SCPI_OVER, 0},
        {"9.9E+37", JM_SCPI_OVER, 0},
        {"-INF", JM_SCPI_OVER, 0},
        {"9.91000e37", JM_SCPI_NODATA, 0},
        {"", JM_SCPI_BAD, 0},
        {"1,2", JM_SCPI_BAD, 0},
        {"ERROR", JM_SCPI_BAD, 0},
        {"1E+30", JM_SCPI_BAD, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        int64_t v = 0;
        int what = jm_scpi_number((struct jm_span){t[i].text, strlen(t[i].text)}, -6, &v);
        if (what != (int)t[i].what || (what == JM_SCPI_NUMBER && v != t[i].v))
            fail_msg("\"%s\": %d, %lld", t[i].text, what, (long long)v);
    }
}

static void watts(void **state)
{
    double avg = 0;
    int64_t n = 0, bad = 0, good = 0;
    (void)state;
    /* server.json of inference_results_v5.1, Lenovo SR680a, llama2-70b-99 Offline */
    assert_true(jm_text_watts(JM_SPAN("Watts,9639.745324,2858.900000,11876.000000,2998,4,2994"), &avg, &n,
                              &bad, &good));
    assert_true(avg == 9639.745324 && n == 2998 && bad == 4 && good == 2994);
    assert_false(jm_text_watts(JM_SPAN("Watts,1,1,1,3,1,1"), &avg, &n, &bad, &good));
    assert_false(jm_text_watts(JM_SPAN("Watts,1,1,1,3,-1,4"), &avg, &n, &bad, &good));
    assert_false(jm_text_watts(JM_SPAN("Watts,nan,1,1,3,1,2"), &avg, &n, &bad, &good));
    assert_false(jm_text_watts(JM_SPAN("Watts,1,1,1,3,1,2,"), &avg, &n, &bad, &good));
    assert_false(jm_text_watts(JM_SPAN("Unknown command"), &avg, &n, &bad, &good));
    assert_false(jm_text_watts(JM_SPAN(""), &avg, &n, &bad, &good));
}

static void addresses(void **state)
{
    static const char *const bad[] = {"",          ":1",  "tcp://", "vxi11://h", "/nonexistent/ttyUSB0",
                                      "/dev/null", "[::1"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct jm_scpi s;
        struct jm_err err = {0};
        if (jm_scpi_open(&s, bad[i], 1, 9600, 200, "x", &err) == 0 || err.text[0] == '\0' || s.fd >= 0)
            fail_msg("\"%s\" was opened", bad[i]);
    }
    struct jm_scpi s;
    struct jm_err err = {0};
    assert_int_not_equal(jm_scpi_open(&s, "/dev/null", 1, 12345, 200, "x", &err), 0);
    assert_non_null(strstr(err.text, "12345"));
}

static void wire(void **state)
{
    int fd[2];
    char got[64] = {0};
    struct jm_span line;
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    struct jm_scpi s = {.fd = fd[0], .kind = JM_SCPI_TCP, .timeout_ms = 50, .end = "\n"};
    assert_int_equal(jm_scpi_send(&s, "*IDN?"), 0);
    assert_int_equal(read(fd[1], got, sizeof got), 6);
    assert_string_equal(got, "*IDN?\n");
    assert_int_equal(write(fd[1], "one\r\ntw", 7), 7);
    assert_int_equal(jm_scpi_recv(&s, &line), 0);
    assert_true(jm_span_is(line, "one"));
    assert_int_equal(jm_scpi_recv(&s, &line), -ETIMEDOUT);
    assert_int_equal(write(fd[1], "o\n", 2), 2);
    assert_int_equal(jm_scpi_recv(&s, &line), 0);
    assert_true(jm_span_is(line, "two"));
    /* an answer that came too late is not taken for the next one */
    assert_int_equal(write(fd[1], "late\n", 5), 5);
    assert_int_equal(jm_scpi_ask(&s, "x", &line), -ETIMEDOUT);
    char big[JM_SCPI_REPLY + 1];
    memset(big, 'x', sizeof big);
    assert_int_equal(write(fd[1], big, sizeof big), sizeof big);
    assert_int_equal(jm_scpi_recv(&s, &line), -EMSGSIZE);
    jm_scpi_drain(&s);
    assert_int_equal(read(fd[1], got, sizeof got), 2);
    close(fd[1]);
    assert_int_equal(jm_scpi_recv(&s, &line), -EPIPE);
    assert_int_equal(jm_scpi_send(&s, "x"), -EPIPE);
    jm_scpi_close(&s);
    assert_int_equal(jm_scpi_send(&s, "x"), -EPIPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers), cmocka_unit_test(watts),
                                       cmocka_unit_test(addresses), cmocka_unit_test(wire)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
