/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/str.h"
#include "wire/sse.h"

/* Renders what a stream gives: "[name|data]" an event, "!" before an error field, "~" before an incomplete
 * one. */
static int render(const char *text, size_t n, size_t first, size_t step, size_t limit, struct jm_str *out,
                  struct jm_sse *keep)
{
    struct jm_sse s;
    struct jm_sse_event ev;
    struct jm_err err = {0};
    size_t at = 0;
    int rc = 0;
    jm_sse_init(&s, limit);
    while (at < n && rc >= 0) {
        size_t piece = at == 0 ? first : step;
        if (piece > n - at)
            piece = n - at;
        char *copy = test_malloc(piece + 1); /* the parser must not keep pointers into what it was given */
        memcpy(copy, text + at, piece);
        struct jm_span in = {copy, piece};
        at += piece;
        while ((rc = jm_sse_next(&s, &in, &ev, &err)) == 1)
            jm_str_addf(out, "%s[%.*s|%.*s]", ev.error ? "!" : "", (int)ev.name.n, ev.name.p, (int)ev.data.n,
                        ev.data.p);
        test_free(copy);
    }
    if (rc == 0 && (rc = jm_sse_end(&s, &ev, &err)) == 1)
        jm_str_addf(out, "~%s[%.*s|%.*s]", ev.error ? "!" : "", (int)ev.name.n, ev.name.p, (int)ev.data.n,
                    ev.data.p);
    if (keep) {
        keep->comments = s.comments;
        keep->retry_ms = s.retry_ms;
    }
    jm_sse_release(&s);
    return rc < 0 ? rc : 0;
}

static const struct {
    const char *name, *text, *want;
} rows[] = {
    {"plain", "data: a\n\ndata: b\n\n", "[|a][|b]"},
    {"CRLF (inference-perf PR 781)", "data: a\r\n\r\ndata: b\r\n\r\n", "[|a][|b]"},
    {"CR", "data: a\r\rdata: b\r\r", "[|a][|b]"},
    {"mixed", "data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", "[|a][|b][|c]"},
    {"no blank after the colon (TGI)", "data:{\"a\":1}\n\n", "[|{\"a\":1}]"},
    {"only one blank goes", "data:  x \n\n", "[| x ]"},
    {"blank before the line end (trtllm-serve)", "data: {\"a\":1} \n\ndata: b\n\n", "[|{\"a\":1} ][|b]"},
    {"several data lines", "data: a\ndata\ndata:b\n\n", "[|a\n\nb]"},
    {"empty data", "data\n\ndata:\n\n", "[|][|]"},
    {"named", "event: message\nid: 7\nretry: 250\ndata: x\n\ndata: y\n\n", "[message|x][|y]"},
    {"name without data gives nothing", "event: ping\n\ndata: x\n\n", "[|x]"},
    {"comments (ms-swift PR 10086)", ": keepalive\n\n: OPENROUTER PROCESSING\n\ndata: x\n:in between\n\n",
     "[|x]"},
    {"error field (llama.cpp b4748)", "error: {\"code\":500}\n\ndata: x\n\n", "![|{\"code\":500}][|x]"},
    {"byte order mark",
     "\xef\xbb\xbf"
     "data: x\n\n",
     "[|x]"},
    {"half a byte order mark",
     "\xef\xbb"
     "data: x\n\ndata: y\n\n",
     "[|y]"},
    {"unknown fields", "foo: bar\nbaz\ndata: x\n\n", "[|x]"},
    {"UTF-8 (vllm 38717)", "data: \xf0\x9f\x98\x80\xe4\xb8\x96\n\n", "[|\xf0\x9f\x98\x80\xe4\xb8\x96]"},
    {"cut before the blank line", "data: a\n\ndata: b\n", "[|a]~[|b]"},
    {"cut inside a line (CommandCode 785)", "data: a\n\ndata: {\"b", "[|a]~[|{\"b]"},
    {"cut inside a field name", "data: a\n\nda", "[|a]"},
    {"cut after two lines", "data: a\ndata: b", "~[|a\nb]"},
    {"many blank lines", "\n\n\r\n\rdata: a\n\n\n\n\ndata: b\n\n\n", "[|a][|b]"},
    {"empty", "", ""},
};

static void every_split_gives_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n = strlen(rows[i].text);
        for (size_t cut = 1; cut <= n + 2; cut++) {
            struct jm_str out;
            jm_str_init(&out);
            /* the last two rounds: byte by byte, two by two */
            int rc = cut <= n ? render(rows[i].text, n, cut, n, 0, &out, NULL)
                              : render(rows[i].text, n, cut - n, cut - n, 0, &out, NULL);
            if (rc || strcmp(out.buf, rows[i].want) != 0)
                fail_msg("%s, cut at %zu: rc %d \"%s\", expected \"%s\"", rows[i].name, cut, rc, out.buf,
                         rows[i].want);
            jm_str_release(&out);
        }
    }
}

static void side_fields_are_kept(void **state)
{
    struct jm_sse s = {0};
    struct jm_str out;
    (void)state;
    jm_str_init(&out);
    const char *text = ":a\n:b\nretry: 250\nretry: x\ndata: 1\n\n";
    assert_int_equal(render(text, strlen(text), 5, 5, 0, &out, &s), 0);
    assert_int_equal(s.comments, 2);
    assert_int_equal(s.retry_ms, 250);
    jm_str_release(&out);
}

/* Lines over 128 KiB break clients with a fixed line buffer (TensorRT-LLM PR 13952, inference-perf 283). */
static void huge_lines_pass_up_to_the_limit(void **state)
{
    size_t n = 1 << 20;
    char *text = test_malloc(n + 16);
    struct jm_str out;
    (void)state;
    memcpy(text, "data: ", 6);
    memset(text + 6, 'x', n);
    memcpy(text + 6 + n, "\n\n", 2);
    for (int k = 0; k < 2; k++) {
        jm_str_init(&out);
        assert_int_equal(render(text, n + 8, k ? 1000 : n + 8, k ? 1460 : 1, n + 6, &out, NULL), 0);
        assert_int_equal(out.len, n + 3);
        jm_str_release(&out);
        jm_str_init(&out);
        assert_int_equal(render(text, n + 8, k ? 1000 : n + 8, k ? 1460 : 1, n + 5, &out, NULL), JM_ELIMIT);
        jm_str_release(&out);
    }
    test_free(text);
    /* many short data lines in one event */
    jm_str_init(&out);
    struct jm_str many;
    jm_str_init(&many);
    for (int i = 0; i < 10000; i++)
        jm_str_adds(&many, "data: 12345678\n");
    assert_int_equal(render(many.buf, many.len, 100, 100, 50000, &out, NULL), JM_ELIMIT);
    jm_str_release(&many);
    jm_str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_split_gives_the_same),
        cmocka_unit_test(side_fields_are_kept),
        cmocka_unit_test(huge_lines_pass_up_to_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
