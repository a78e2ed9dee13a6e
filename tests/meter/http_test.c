/* SPDX-License-Identifier: Apache-2.0 */
/* The login of meter/http.c; its talk is tested against servers in redfish_meter_test.py and plug_test.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "meter/http_impl.h"

/* RFC 7616, section 3.9.1, the answer with SHA-256. */
static void digest(void **state)
{
    struct jm_str out;
    (void)state;
    jm_str_init(&out);
    jm_http_digest(&out, "Mufasa", "Circle of Life", "http-auth@example.org",
                   "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v",
                   "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS", "GET", "/dir/index.html", 1,
                   "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ");
    assert_non_null(
        strstr(out.buf, "response=\"753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1\""));
    assert_non_null(strstr(out.buf, "nc=00000001,"));
    assert_non_null(strstr(out.buf, "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""));
    jm_str_release(&out);
}

/* RFC 7617, section 2, and RFC 4648, section 10 ("foobar" and its beginnings, here after "f:"). */
static void basic(void **state)
{
    struct jm_str out;
    (void)state;
    jm_str_init(&out);
    jm_http_basic(&out, "Aladdin", "open sesame");
    assert_string_equal(out.buf, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    jm_str_release(&out);
}

static void addresses(void **state)
{
    static const struct {
        const char *url;
        int rc, port;
        const char *authority, *prefix;
    } rows[] = {
        {"http://plug", 0, 80, "plug", ""},
        {"http://plug:8080/base/", 0, 8080, "plug:8080", "/base"},
        {"http://[fe80::1]:81", 0, 81, "[fe80::1]:81", ""},
        {"http://[fe80::1]", 0, 80, "[fe80::1]", ""},
        {"ftp://plug", JM_EUSAGE, 0, NULL, NULL},
        {"http://user:s3cr3t@plug", JM_EUSAGE, 0, NULL, NULL},
        {"http://plug:0", JM_EUSAGE, 0, NULL, NULL},
        {"http://plug:http", JM_EUSAGE, 0, NULL, NULL},
        {"http://", JM_EUSAGE, 0, NULL, NULL},
        {"http://plug/?q", JM_EUSAGE, 0, NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jm_http h;
        struct jm_err err = {0};
        struct jm_http_setup s = {.url = rows[i].url, .timeout_ns = JM_NS_PER_S};
        struct jm_clock clock = jm_clock_system();
        int rc = jm_http_init(&h, &s, &clock, &err);
        if (rc != rows[i].rc)
            fail_msg("%s: %d %s", rows[i].url, rc, err.text);
        if (rc == 0) {
            assert_int_equal(h.port, rows[i].port);
            assert_string_equal(h.authority, rows[i].authority);
            assert_string_equal(h.prefix, rows[i].prefix);
        } else {
            assert_null(strstr(err.text, "s3cr3t")); /* no sentence holds a password */
        }
        jm_http_close(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(digest), cmocka_unit_test(basic),
                                       cmocka_unit_test(addresses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
