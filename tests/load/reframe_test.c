/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that a library decoded, written down as HTTP/1.1 again; requests taken apart; proxies' names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "load/proxy.h"
#include "load/reframe.h"
#include "wire/http1.h"

static void head(struct jm_reframe *f, struct jm_str *out, const char *const *lines)
{
    for (; *lines; lines++)
        jm_reframe_head(f, jm_span_of(*lines), out);
}

#define HEAD(f, out, ...) head(f, out, (const char *const[]){__VA_ARGS__, NULL})

static void http2_answer(void **state)
{
    struct jm_reframe f;
    struct jm_str out;
    (void)state;
    jm_str_init(&out);
    jm_reframe_begin(&f, true);
    HEAD(&f, &out, "HTTP/2 200 \r\n", "content-type: text/event-stream\r\n", "content-encoding: gzip\r\n",
         "content-length: 12\r\n", "server: nginx\r\n", "\r\n");
    jm_reframe_body(&f, JM_SPAN("data: x\n\n"), &out);
    jm_reframe_body(&f, JM_SPAN(""), &out); /* an empty chunk would end the body */
    jm_reframe_body(&f, JM_SPAN("data: y\n\n"), &out);
    HEAD(&f, &out, "x-trailer: 1\r\n", "\r\n");
    jm_reframe_end(&f, &out);
    assert_string_equal(out.buf, "HTTP/1.1 200 \r\ncontent-type: text/event-stream\r\nserver: nginx\r\n"
                                 "Transfer-Encoding: chunked\r\n\r\n"
                                 "9\r\ndata: x\n\n\r\n9\r\ndata: y\n\n\r\n0\r\n\r\n");
    assert_string_equal(f.coding, "gzip");
    jm_str_release(&out);
}

/* Interim answers go through; what belongs to one hop does not, not even where it is folded. */
static void odd_heads(void **state)
{
    struct jm_reframe f;
    struct jm_str out;
    (void)state;
    jm_str_init(&out);
    jm_reframe_begin(&f, true);
    HEAD(&f, &out, "HTTP/1.1 100 Continue\r\n", "x: 1\r\n", "\r\n", "HTTP/1.0 429 Too Many\r\n",
         "Connection: close,\r\n", "  x-secret\r\n", "Retry-After: 7\r\n", "\tand more\r\n", "X: a\rb\r\n",
         "\r\n");
    jm_reframe_end(&f, &out);
    assert_string_equal(out.buf,
                        "HTTP/1.1 100 Continue\r\nx: 1\r\n\r\nHTTP/1.1 429 Too Many\r\n"
                        "Retry-After: 7\r\n\tand more\r\nX: a b\r\nTransfer-Encoding: chunked\r\n\r\n"
                        "0\r\n\r\n");
    jm_str_reset(&out);
    jm_reframe_begin(&f, false);
    HEAD(&f, &out, "HTTP/2 204\r\n", "content-encoding: br\r\n", "\r\n");
    jm_reframe_body(&f, JM_SPAN("no body here"), &out);
    jm_reframe_end(&f, &out);
    assert_string_equal(out.buf, "HTTP/1.1 204\r\ncontent-encoding: br\r\n\r\n");
    jm_str_release(&out);
}

/* An answer cut before its end mark is cut for the reader too. */
static void cut(void **state)
{
    struct jm_reframe f;
    struct jm_str out;
    struct jm_http1 h;
    struct jm_span body;
    struct jm_err err;
    (void)state;
    jm_str_init(&out);
    jm_http1_init(&h, NULL);
    jm_reframe_begin(&f, true);
    HEAD(&f, &out, "HTTP/2 200\r\n", "\r\n");
    jm_reframe_body(&f, JM_SPAN("data: x\n\n"), &out);
    struct jm_span in = jm_str_span(&out);
    assert_int_equal(jm_http1_next(&h, &in, &body, &err), JM_HTTP1_HEAD);
    assert_int_equal(jm_http1_next(&h, &in, &body, &err), JM_HTTP1_BODY);
    assert_int_equal(jm_http1_next(&h, &in, &body, &err), JM_HTTP1_MORE);
    assert_int_equal(jm_http1_eof(&h, &err), JM_ENET);
    jm_http1_release(&h);
    jm_str_release(&out);
}

static void requests(void **state)
{
    struct jm_split s;
    struct jm_str keep;
    struct jm_err err;
    (void)state;
    jm_str_init(&keep);
    assert_int_equal(
        jm_split_request(JM_SPAN("POST /x/v1/chat HTTP/1.1\r\nHost: h:8000\r\nAuthorization: Bearer a\r\n"
                                 "Accept-Encoding: identity\r\nContent-Type: application/json\r\n"
                                 "Connection: close\r\nContent-Length: 4\r\n\r\n{\n\n}"),
                         &s, &keep, &err),
        0);
    assert_true(jm_span_is(s.method, "POST"));
    assert_true(jm_span_is(s.target, "/x/v1/chat"));
    assert_true(jm_span_is(s.host, "h:8000"));
    assert_true(jm_span_is(s.body, "{\n\n}"));
    assert_string_equal(s.headers[0], "Authorization: Bearer a");
    assert_string_equal(s.headers[1], "Content-Type: application/json");
    assert_null(s.headers[2]);
    assert_int_equal(jm_split_request(JM_SPAN("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), &s, &keep, &err), 0);
    assert_null(s.body.p);
    assert_int_equal(
        jm_split_request(JM_SPAN("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"), &s, &keep, &err),
        0);
    assert_non_null(s.body.p);
    assert_int_equal(s.body.n, 0);
    static const char *const bad[] = {"",
                                      "GET\r\n\r\n",
                                      "GET /\r\n\r\n",
                                      " / HTTP/1.1\r\nHost: h\r\n\r\n",
                                      "GET / H",
                                      "GET / H\r\n\r\n",
                                      "GET / H\r\nHost: h\r\nX: y"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(jm_split_request(jm_span_of(bad[i]), &s, &keep, &err), JM_EPARSE);
    jm_str_release(&keep);
}

static void proxy_names(void **state)
{
    char host[64];
    struct jm_err err;
    (void)state;
    assert_int_equal(jm_proxy_host("http://proxy:3128", host, sizeof host, &err), 0);
    assert_string_equal(host, "proxy:3128");
    assert_int_equal(jm_proxy_host("SOCKS5h://us:p@ss/w@[::1]:1080/x", host, sizeof host, &err), JM_EINVAL);
    assert_int_equal(jm_proxy_host("socks5h://us:p@ss@[::1]:1080/x", host, sizeof host, &err), 0);
    assert_string_equal(host, "[::1]:1080");
    static const char *const bad[] = {"",           "proxy:3128", "ftp://x", "http://", "http://u:secret@",
                                      "http://a b", "://x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(jm_proxy_host(bad[i], host, sizeof host, &err), JM_EINVAL);
        assert_null(strstr(err.text, "secret"));
    }
}

static const char *vars[8];

static char *get(const char *name)
{
    for (size_t i = 0; vars[i]; i += 2)
        if (strcmp(vars[i], name) == 0)
            return (char *)(uintptr_t)vars[i + 1];
    return NULL;
}

static const char *env(bool tls, const char *host, const char *a, const char *va, const char *b,
                       const char *vb)
{
    struct jm_target t = {.tls = tls};
    snprintf(t.host, sizeof t.host, "%s", host);
    vars[0] = a;
    vars[1] = va;
    vars[2] = b;
    vars[3] = vb;
    vars[4] = NULL;
    return jm_proxy_of_env(&t, get);
}

/* curl(1), ENVIRONMENT: http_proxy in small letters only, no_proxy with and without a leading dot. */
static void environment(void **state)
{
    (void)state;
    assert_null(env(false, "h", NULL, NULL, NULL, NULL));
    assert_string_equal(env(false, "h", "http_proxy", "http://p", NULL, NULL), "http_proxy");
    assert_null(env(false, "h", "HTTP_PROXY", "http://p", NULL, NULL));
    assert_null(env(true, "h", "http_proxy", "http://p", NULL, NULL));
    assert_string_equal(env(true, "h", "HTTPS_PROXY", "http://p", NULL, NULL), "HTTPS_PROXY");
    assert_string_equal(env(false, "h", "all_proxy", "http://p", NULL, NULL), "all_proxy");
    assert_null(env(false, "h", "http_proxy", "", NULL, NULL));
    assert_null(env(false, "h", "http_proxy", "http://p", "no_proxy", "*"));
    assert_null(
        env(false, "gpu.example.com", "http_proxy", "http://p", "no_proxy", "localhost, .example.com"));
    assert_null(env(false, "gpu.example.com", "http_proxy", "http://p", "NO_PROXY", "example.com"));
    assert_non_null(env(false, "badexample.com", "http_proxy", "http://p", "no_proxy", "example.com"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(http2_answer), cmocka_unit_test(odd_heads),
                                       cmocka_unit_test(cut),          cmocka_unit_test(requests),
                                       cmocka_unit_test(proxy_names),  cmocka_unit_test(environment)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
