/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/str.h"
#include "wire/http1.h"

struct got {
    int rc, status, minor, heads;
    bool keep_alive;
    struct jm_str body;
    size_t rest;
    struct jm_err err;
};

/* Feeds text in pieces of the given sizes: first `first` bytes, then `step` at a time. */
static void read_all(const char *text, size_t n, size_t first, size_t step, bool eof, struct got *g)
{
    struct jm_http1 h;
    size_t at = 0;
    memset(g, 0, sizeof *g);
    jm_str_init(&g->body);
    jm_http1_init(&h, NULL);
    while (at < n && g->rc >= 0 && g->rc != JM_HTTP1_DONE) {
        size_t piece = at == 0 ? first : step;
        if (piece > n - at)
            piece = n - at;
        struct jm_span in = {text + at, piece}, body;
        at += piece;
        for (;;) {
            g->rc = jm_http1_next(&h, &in, &body, &g->err);
            if (g->rc == JM_HTTP1_BODY)
                jm_str_addspan(&g->body, body);
            else if (g->rc == JM_HTTP1_HEAD)
                g->heads++;
            else
                break;
        }
        g->rest = in.n + (n - at);
    }
    if (g->rc == JM_HTTP1_MORE && eof)
        g->rc = jm_http1_eof(&h, &g->err);
    g->status = h.status;
    g->minor = h.minor;
    g->keep_alive = h.keep_alive;
    jm_http1_release(&h);
}

struct row {
    const char *name, *text;
    int rc, status;
    const char *body;
    int keep_alive; /* -1: not looked at */
    size_t rest;
};

#define OK JM_HTTP1_DONE

static const struct row rows[] = {
    {"length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", OK, 200, "hello", 1, 0},
    {"length, next response follows", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 500", OK, 200,
     "hi", 1, 12},
    {"LF only", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", OK, 200, "hello", 1, 0},
    {"no reason phrase", "HTTP/1.1 200\r\ncontent-length:0\r\n\r\n", OK, 200, "", 1, 0},
    {"stray line end before", "\r\nHTTP/1.1 200 \r\nContent-Length: 1\r\n\r\nx", OK, 200, "x", 1, 0},
    {"chunked",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;a=\"b\"\r\n!\r\n0\r\n\r\n", OK,
     200, "hello!", 1, 0},
    {"chunked, upper case, zeros",
     "HTTP/1.1 200 OK\r\nTRANSFER-ENCODING: Chunked\r\n\r\n000A\r\n0123456789\r\n00\r\n\r\n", OK, 200,
     "0123456789", 1, 0},
    {"chunked, trailers",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2 \r\nhi\r\n0\r\nX: 1\r\nY: 2\r\n\r\nZ", OK, 200,
     "hi", 1, 1},
    {"until the end", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: x\n\n", OK, 200,
     "data: x\n\n", 0, 0},
    {"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", OK, 200, "x", 0, 0},
    {"HTTP/1.0 kept alive", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx", OK,
     200, "x", 1, 0},
    {"close", "HTTP/1.1 200 OK\r\nConnection: foo, close\r\nContent-Length: 1\r\n\r\nx", OK, 200, "x", 0, 0},
    {"continue first",
     "HTTP/1.1 100 Continue\r\nA: b\r\n\r\nHTTP/1.1 103 Early\r\n\r\nHTTP/1.1 429 Slow\r\nContent-Length: "
     "0\r\n\r\n",
     OK, 429, "", 1, 0},
    {"no content", "HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n", OK, 204, "", 1, 0},
    {"not modified", "HTTP/1.1 304 Not Modified\r\n\r\n", OK, 304, "", 1, 0},
    {"folded header", "HTTP/1.1 200 OK\r\nX: a\r\n  b\r\nContent-Length: 1\r\n\r\nx", OK, 200, "x", 1, 0},
    {"same length twice", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1, 1\r\n\r\nx", OK, 200,
     "x", 1, 0},
    {"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy", JM_EPARSE, 200, "",
     -1, 0},
    {"length and chunked", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
     JM_EPARSE, 200, "", -1, 0},
    {"negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", JM_EPARSE, 200, "", -1, 0},
    {"signed length", "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx", JM_EPARSE, 200, "", -1, 0},
    {"huge length", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", JM_EPARSE, 200, "", -1,
     0},
    {"gzip coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", JM_EUNSUPPORTED, 200, "",
     -1, 0},
    {"switching", "HTTP/1.1 101 Switching\r\n\r\n", JM_EUNSUPPORTED, 101, "", -1, 0},
    {"chunk size is no number", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", JM_EPARSE, 200,
     "", -1, 0},
    {"chunk size too large", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n",
     JM_EPARSE, 200, "", -1, 0},
    {"chunk without end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n",
     JM_EPARSE, 200, "x", -1, 0},
    {"blank before the colon", "HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\n", JM_EPARSE, 200, "", -1, 0},
    {"no colon", "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", JM_EPARSE, 200, "", -1, 0},
    {"CR inside", "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n", JM_EPARSE, 200, "", -1, 0},
    {"not HTTP", "SSH-2.0-OpenSSH_9.2\r\n", JM_EPARSE, -1, "", -1, 0},
    {"HTTP/2", "HTTP/2 200 OK\r\n\r\n", JM_EPARSE, -1, "", -1, 0},
    {"status of two digits", "HTTP/1.1 20 OK\r\n\r\n", JM_EPARSE, -1, "", -1, 0},
    {"cut in length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", JM_ENET, 200, "hel", -1, 0},
    {"cut in chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", JM_ENET, 200, "hel", -1,
     0},
    {"cut before the last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n",
     JM_ENET, 200, "hel", -1, 0},
    {"cut in head", "HTTP/1.1 200 OK\r\nConte", JM_ENET, 200, "", -1, 0},
};

static void check_row(const struct row *r, size_t first, size_t step)
{
    struct got g;
    read_all(r->text, strlen(r->text), first, step, true, &g);
    if (g.rc != r->rc || g.status != r->status || strcmp(g.body.buf, r->body) != 0 ||
        (r->keep_alive >= 0 && g.keep_alive != (r->keep_alive != 0)) || (g.rc == OK && g.rest != r->rest) ||
        (g.rc < 0 && !g.err.text[0]) || (g.rc == OK && g.heads != 1))
        fail_msg("%s, cut at %zu, then every %zu: rc %d status %d keep %d rest %zu heads %d body \"%s\" err "
                 "\"%s\"",
                 r->name, first, step, g.rc, g.status, g.keep_alive, g.rest, g.heads, g.body.buf, g.err.text);
    jm_str_release(&g.body);
}

static void every_split_gives_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n = strlen(rows[i].text);
        for (size_t cut = 1; cut <= n; cut++)
            check_row(&rows[i], cut, n);
        check_row(&rows[i], 1, 1);
        check_row(&rows[i], 3, 2);
    }
}

static void headers_are_found(void **state)
{
    struct jm_http1 h;
    struct jm_span v, body,
        in = JM_SPAN("HTTP/1.1 503 Service  Unavailable\r\nServer:  llama.cpp \r\nX-A: 1\r\nx-a:2\r\n"
                     "Fold: a\r\n\tb\r\n\r\n");
    (void)state;
    jm_http1_init(&h, NULL);
    assert_int_equal(jm_http1_next(&h, &in, &body, NULL), JM_HTTP1_HEAD);
    assert_true(jm_http1_header(&h, "server", 0, &v) && jm_span_is(v, "llama.cpp"));
    assert_true(jm_http1_header(&h, "X-a", 1, &v) && jm_span_is(v, "2"));
    assert_false(jm_http1_header(&h, "X-a", 2, &v));
    assert_false(jm_http1_header(&h, "HTTP/1.1 503 Service  Unavailable", 0, &v));
    assert_true(jm_http1_header(&h, "Fold", 0, &v) && jm_span_is(v, "a \tb"));
    assert_true(jm_span_is(jm_http1_reason(&h), "Service  Unavailable"));
    jm_http1_release(&h);
}

/* llama.cpp: "timeout=5, max=100"; Apache counts max down. What is no number promises nothing. */
static void keep_alive_is_read(void **state)
{
    static const struct {
        const char *headers;
        int64_t s, most;
    } said[] = {
        {"Keep-Alive: timeout=5, max=100\r\n", 5, 100},
        {"keep-alive: MAX = 0 ,timeout= 60\r\n", 60, 0},
        {"Keep-Alive: timeout=5\r\nKeep-Alive: max=3\r\n", 5, 3},
        {"", -1, -1},
        {"Keep-Alive:\r\n", -1, -1},
        {"Keep-Alive: timeout, max=, =4, foo=1\r\n", -1, -1},
        {"Keep-Alive: timeout=-5, max=9999999999999999999999\r\n", -1, -1},
        {"Keep-Alive: timeout=\"5\"\r\n", -1, -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        struct jm_http1 h;
        struct jm_span body, in;
        char text[256];
        jm_http1_init(&h, NULL);
        snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\n%sContent-Length: 0\r\n\r\n", said[i].headers);
        in = jm_span_of(text);
        assert_int_equal(jm_http1_next(&h, &in, &body, NULL), JM_HTTP1_HEAD);
        if (h.keep_s != said[i].s || h.keep_most != said[i].most)
            fail_msg("%s: %lld, %lld", said[i].headers, (long long)h.keep_s, (long long)h.keep_most);
        jm_http1_reset(&h);
        assert_int_equal(h.keep_s, -1);
        jm_http1_release(&h);
    }
}

static void limits_hold(void **state)
{
    struct jm_http1 h;
    struct jm_span in = JM_SPAN("HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n"), again = in, body;
    struct jm_err err = {0};
    (void)state;
    jm_http1_init(&h, &(struct jm_http1_limits){.headers = 2});
    assert_int_equal(jm_http1_next(&h, &in, &body, &err), JM_ELIMIT);
    assert_non_null(strstr(err.text, "2 header lines"));
    jm_http1_release(&h);
    in = again;
    jm_http1_init(&h, &(struct jm_http1_limits){.head_bytes = 20});
    assert_int_equal(jm_http1_next(&h, &in, &body, &err), JM_ELIMIT);
    assert_int_equal(jm_http1_next(&h, &in, &body, &err), JM_ESTATE);
    jm_http1_release(&h);
    /* endless interim answers */
    jm_http1_init(&h, NULL);
    int rc = 0;
    for (int i = 0; i < 20 && rc == 0; i++) {
        in = JM_SPAN("HTTP/1.1 100 Continue\r\n\r\n");
        rc = jm_http1_next(&h, &in, &body, &err);
    }
    assert_int_equal(rc, JM_ELIMIT);
    /* endless chunk extension, endless trailers */
    const char *heads[] = {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
                           "chunked\r\n\r\n0\r\n"};
    for (int k = 0; k < 2; k++) {
        jm_http1_reset(&h);
        in = jm_span_of(heads[k]);
        assert_int_equal(jm_http1_next(&h, &in, &body, &err), JM_HTTP1_HEAD);
        assert_int_equal(jm_http1_next(&h, &in, &body, &err), JM_HTTP1_MORE);
        rc = 0;
        for (int i = 0; i < 100000 && rc == 0; i++) {
            in = k ? JM_SPAN("X: aaaaaaaaaaaaaaaa\r\n") : JM_SPAN("aaaaaaaaaaaaaaaa");
            rc = jm_http1_next(&h, &in, &body, &err);
        }
        assert_int_equal(rc, JM_ELIMIT);
        assert_true(h.line.cap < 300000);
    }
    jm_http1_release(&h);
}

static void closed_without_an_answer_is_told_apart(void **state)
{
    struct jm_http1 h;
    struct jm_span in = JM_SPAN("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), body;
    struct jm_err err = {0};
    (void)state;
    jm_http1_init(&h, NULL);
    assert_int_equal(jm_http1_eof(&h, &err), JM_EABSENT);
    jm_http1_reset(&h);
    while (jm_http1_next(&h, &in, &body, &err) != JM_HTTP1_DONE)
        ;
    assert_int_equal(jm_http1_eof(&h, &err), JM_HTTP1_DONE);
    jm_http1_release(&h);
}

static void requests_are_written(void **state)
{
    struct jm_str s;
    struct jm_err err = {0};
    const struct jm_http1_field f[] = {{"Accept", "text/event-stream"}, {"Authorization", NULL}};
    (void)state;
    jm_str_init(&s);
    assert_int_equal(jm_http1_request(&s, "POST", "/v1/x", "h:8000", f, 2, JM_SPAN("{}"), &err), 0);
    assert_string_equal(
        s.buf,
        "POST /v1/x HTTP/1.1\r\nHost: h:8000\r\nAccept: text/event-stream\r\nContent-Length: 2\r\n\r\n{}");
    jm_str_reset(&s);
    assert_int_equal(jm_http1_request(&s, "GET", "/", "h", NULL, 0, (struct jm_span){0}, &err), 0);
    assert_string_equal(s.buf, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    const struct jm_http1_field forged = {"Authorization", "Bearer x\r\nX: y"};
    assert_int_equal(jm_http1_request(&s, "GET", "/", "h", &forged, 1, (struct jm_span){0}, &err), JM_EINVAL);
    assert_null(strstr(err.text, "Bearer"));
    assert_int_equal(jm_http1_request(&s, "GET", "/a b", "h", NULL, 0, (struct jm_span){0}, &err), JM_EINVAL);
    jm_str_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_split_gives_the_same),
        cmocka_unit_test(headers_are_found),
        cmocka_unit_test(keep_alive_is_read),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(closed_without_an_answer_is_told_apart),
        cmocka_unit_test(requests_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
