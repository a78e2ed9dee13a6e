/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "mlperf/net.h"
#include "mlperf/ntp.h"

static const struct jm_mlperf_wake never = {NULL, -1};
static struct jm_mlperf_conn conn;
static int other;

static int64_t now(void)
{
    struct jm_clock c = jm_clock_system();
    return jm_clock_mono(&c);
}

static int setup(void **state)
{
    int fd[2];
    struct jm_clock c = jm_clock_system();
    (void)state;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd))
        return -1;
    jm_mlperf_conn_init(&conn, fd[0], &c, never, "the other");
    other = fd[1];
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    jm_mlperf_conn_close(&conn);
    return other >= 0 ? close(other) : 0;
}

static void say(const char *text, size_t n)
{
    assert_int_equal(write(other, text, n), n);
}

static void lines(void **state)
{
    struct jm_span l;
    struct jm_err err = {0};
    (void)state;
    say("a\r\nb\n\r\nc\r\r\npart", 15);
    static const char *const want[] = {"a", "b", "", "c"};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(jm_mlperf_recv(&conn, now(), &l, &err), 0);
        assert_true(jm_span_is(l, want[i]));
    }
    assert_int_equal(jm_mlperf_recv(&conn, now(), &l, &err), JM_ETIMEOUT);
    say("ly\n", 3); /* what came before stays */
    assert_int_equal(jm_mlperf_recv(&conn, now() + JM_NS_PER_S, &l, &err), 0);
    assert_true(jm_span_is(l, "partly"));
    close(other);
    other = -1;
    assert_int_equal(jm_mlperf_recv(&conn, now() + JM_NS_PER_S, &l, &err), JM_ENET);
    assert_string_equal(err.text, "the other closed the connection");
}

static void long_lines(void **state)
{
    char big[6000];
    struct jm_span l;
    struct jm_err err = {0};
    (void)state;
    memset(big, 'x', sizeof big);
    conn.limit = 100;
    say(big, 100);
    say("\r\n", 2);
    assert_int_equal(jm_mlperf_recv(&conn, now(), &l, &err), 0);
    assert_int_equal(l.n, 100);
    say(big, 101);
    say("\n", 1);
    assert_int_equal(jm_mlperf_recv(&conn, now(), &l, &err), JM_ELIMIT);
}

static void long_line_without_end(void **state)
{
    char big[6000];
    struct jm_span l;
    struct jm_err err = {0};
    (void)state;
    memset(big, 'x', sizeof big);
    say(big, sizeof big);
    assert_int_equal(jm_mlperf_recv(&conn, now() + JM_NS_PER_S, &l, &err), JM_ELIMIT);
}

static void woken(void **state)
{
    volatile bool cancel = true;
    struct jm_span l;
    struct jm_err err = {0};
    (void)state;
    conn.wake = (struct jm_mlperf_wake){&cancel, -1};
    assert_int_equal(jm_mlperf_recv(&conn, INT64_MAX, &l, &err), JM_ESTATE);
    assert_int_equal(jm_mlperf_conn_sleep(&conn, INT64_MAX / 2, &err), JM_ESTATE);
}

static void sleeping(void **state)
{
    struct jm_span l;
    struct jm_err err = {0};
    (void)state;
    say("x\n", 2); /* bytes do not end the sleep and are not lost; the end of the connection does end it */
    assert_int_equal(jm_mlperf_conn_sleep(&conn, JM_NS_PER_MS, &err), 0);
    assert_int_equal(jm_mlperf_recv(&conn, now(), &l, &err), 0);
    close(other);
    other = -1;
    assert_int_equal(jm_mlperf_conn_sleep(&conn, 60 * JM_NS_PER_S, &err), JM_ENET);
}

static void files(void **state)
{
    char path[] = "net_test.XXXXXX", got[64] = "";
    struct jm_err err = {0};
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "hello\0world", 11) == 11);
    assert_int_equal(jm_mlperf_send_file(&conn, fd, JM_NS_PER_S, &err), 0);
    assert_int_equal(read(other, got, sizeof got), 18);
    assert_memory_equal(got, "11\r\nhello\0world0\r\n", 18);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(jm_mlperf_send_file(&conn, fd, JM_NS_PER_S, &err), 0);
    assert_int_equal(read(other, got, sizeof got), 3);
    assert_memory_equal(got, "0\r\n", 3);
    close(fd);
    /* and the other way, in two pieces, with a line behind it */
    struct jm_span l;
    struct jm_str text;
    jm_str_init(&text);
    say("3\r\nabc2\r\nd\n0\r\nOK\r\n", 19);
    assert_int_equal(jm_mlperf_recv_file(&conn, path, 5, JM_NS_PER_S, &err), 0);
    assert_int_equal(jm_file_read(path, 100, &text, &err), 0);
    assert_string_equal(text.buf, "abcd\n");
    assert_int_equal(jm_mlperf_recv(&conn, now(), &l, &err), 0);
    assert_true(jm_span_is(l, "OK"));
    jm_str_release(&text);
    unlink(path);
}

static void files_that_are_refused(void **state)
{
    static const struct {
        const char *text;
        int rc;
    } row[] = {{"6\r\nabcdef0\r\n", JM_ELIMIT},
               {"3\r\nabc3\r\nabc0\r\n", JM_ELIMIT},
               {"-1\r\n", JM_EPARSE},
               {"Error: exception\r\n", JM_EPARSE},
               {"\r\n", JM_EPARSE},
               {"99999999999999999999\r\n", JM_EPARSE},
               {"3\r\nab", JM_ENET}};
    struct jm_err err = {0};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        teardown(state);
        setup(state);
        say(row[i].text, strlen(row[i].text));
        close(other);
        other = -1;
        assert_int_equal(jm_mlperf_recv_file(&conn, "net_test.out", 5, JM_NS_PER_S, &err), row[i].rc);
        assert_int_equal(access("net_test.out", F_OK), -1);
        assert_int_equal(access("net_test.out.part", F_OK), -1);
    }
}

static void connecting(void **state)
{
    int door, port, got;
    struct jm_clock c = jm_clock_system();
    struct jm_err err = {0};
    (void)state;
    assert_int_equal(jm_mlperf_listen("127.0.0.1", 0, &door, &port, &err), 0);
    jm_mlperf_conn_close(&conn);
    assert_int_equal(
        jm_mlperf_connect(&conn, "127.0.0.1", port, &c, never, "the Director", now() + 5 * JM_NS_PER_S, &err),
        0);
    got = accept(door, NULL, NULL);
    assert_true(got >= 0);
    jm_mlperf_keepalive(got);
    close(got);
    assert_int_equal(jm_mlperf_listen("127.0.0.1", port, &got, &port, &err), JM_EIO);
    close(door);
    jm_mlperf_conn_close(&conn);
    assert_int_equal(
        jm_mlperf_connect(&conn, "127.0.0.1", port, &c, never, "the Director", now() + 5 * JM_NS_PER_S, &err),
        JM_ENET);
    assert_string_equal(err.text, "cannot connect to the Director: nobody listens there");
    assert_int_equal(jm_mlperf_listen("localhost", 0, &door, &port, &err), JM_EINVAL);
}

/* A server that says nothing, and one that first says something else. */
static void silent_ntp(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof at;
    struct jm_clock c = jm_clock_system();
    struct jm_mlperf_ntp n;
    struct jm_err err = {0};
    char name[32];
    (void)state;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    snprintf(name, sizeof name, "127.0.0.1:%d", ntohs(at.sin_port));
    assert_int_equal(jm_mlperf_ntp_query(name, &c, never, 20 * JM_NS_PER_MS, &n, &err), JM_ETIMEOUT);
    assert_non_null(strstr(err.text, "does not answer"));
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines, setup, teardown),
        cmocka_unit_test_setup_teardown(long_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(long_line_without_end, setup, teardown),
        cmocka_unit_test_setup_teardown(woken, setup, teardown),
        cmocka_unit_test_setup_teardown(sleeping, setup, teardown),
        cmocka_unit_test_setup_teardown(files, setup, teardown),
        cmocka_unit_test_setup_teardown(files_that_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(connecting, setup, teardown),
        cmocka_unit_test(silent_ntp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
