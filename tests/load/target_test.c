/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <netinet/in.h>
#include <cmocka.h>

#include "base/clock.h"
#include "load/target.h"

static void urls(void **state)
{
    static const struct {
        const char *url, *host, *authority, *prefix;
        int port;
        bool tls, is_ip;
    } rows[] = {
        {"http://h", "h", "h", "", 80, false, false},
        {"https://api.example.org/", "api.example.org", "api.example.org", "", 443, true, false},
        {"HTTP://h:8000/v1", "h", "h:8000", "", 8000, false, false},
        {"http://h:8000/v1/chat/completions", "h", "h:8000", "", 8000, false, false},
        {"http://h/openai/v1/", "h", "h", "/openai", 80, false, false},
        {"http://h/v12/x", "h", "h", "/v12/x", 80, false, false},
        {"http://[::1]:9/v1", "::1", "[::1]:9", "", 9, false, true},
        {"https://[2001:db8::1]", "2001:db8::1", "[2001:db8::1]", "", 443, true, true},
        {" http://127.0.0.1:65535 ", "127.0.0.1", "127.0.0.1:65535", "", 65535, false, true},
    };
    static const char *const bad[] = {"",
                                      "h:8000",
                                      "ftp://h",
                                      "http://",
                                      "http://:80",
                                      "http://h:",
                                      "http://h:x",
                                      "http://h:0",
                                      "http://h:65536",
                                      "http://u:p@h/",
                                      "http://h/?a=1",
                                      "http://h#x",
                                      "http://[::1",
                                      "http://a b",
                                      "http://h\r\nX: y"};
    struct jm_target t;
    struct jm_err err;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (jm_target_parse(rows[i].url, &t, &err) != 0)
            fail_msg("%s", err.text);
        if (strcmp(t.host, rows[i].host) != 0 || strcmp(t.authority, rows[i].authority) != 0 ||
            strcmp(t.prefix, rows[i].prefix) != 0 || t.port != rows[i].port || t.tls != rows[i].tls ||
            t.is_ip != rows[i].is_ip)
            fail_msg("%s: host %s authority %s prefix %s port %d", rows[i].url, t.host, t.authority, t.prefix,
                     t.port);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (jm_target_parse(bad[i], &t, &err) != JM_EINVAL)
            fail_msg("%s was taken", bad[i]);
}

/* A host with two addresses of which only the second answers: localhost is ::1 and 127.0.0.1. */
static void the_address_that_answers_is_used(void **state)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof a;
    struct jm_target t;
    struct jm_err err;
    char url[64];
    int fd;
    (void)state;
    int door = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(door, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(door, 1), 0);
    assert_int_equal(getsockname(door, (struct sockaddr *)&a, &n), 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(a.sin_port));
    assert_int_equal(jm_target_parse(url, &t, &err), 0);
    assert_int_equal(jm_target_resolve(&t, &err), 0);
    assert_int_equal(t.n, 1);
    t.addr[1] = t.addr[0];
    t.addr[0].sa = (struct sockaddr_storage){0};
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)&t.addr[0].sa;
    six->sin6_family = AF_INET6;
    six->sin6_addr = in6addr_loopback;
    six->sin6_port = a.sin_port;
    t.addr[0].len = sizeof *six;
    t.n = 2;
    assert_int_equal(jm_target_connect(&t, 2 * JM_NS_PER_S, &fd, &err), 0);
    assert_int_equal(t.good, 1);
    assert_true(jm_target_is_local(fd));
    close(fd);
    close(door);
    assert_int_equal(jm_target_connect(&t, 2 * JM_NS_PER_S, &fd, &err), JM_ENET);
    assert_non_null(strstr(err.text, "start the engine, or check host and port"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(urls),
                                       cmocka_unit_test(the_address_that_answers_is_used)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
