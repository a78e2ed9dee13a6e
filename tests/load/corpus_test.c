/* SPDX-License-Identifier: Apache-2.0 */
/* Byte streams captured from a running llama.cpp server (b4748), which nobody wrote for a test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "load/call.h"

static const char *root(void)
{
    static char path[1000];
    const char *dir = getenv("JOULEMARK_CORPUS"), *source = getenv("JM_SOURCE");
    if (dir)
        snprintf(path, sizeof path, "%s/sse", dir);
    else
        snprintf(path, sizeof path, "%s/../shared/corpus/sse", source ? source : ".");
    return path;
}

struct got {
    struct jm_request r;
    size_t n;
    int64_t unknown, told; /* events without a count; tokens of those with one */
};

/* step bytes a read. The .sse files are bodies, the .http files whole responses, some with LF for CRLF in the
 * body. */
static struct got read_file(const char *name, const char *api, size_t step)
{
    char path[1200];
    struct jm_str body, text;
    struct jm_reader rd;
    struct jm_call c;
    struct jm_err err;
    struct got g = {0};
    snprintf(path, sizeof path, "%s/%s", root(), name);
    jm_str_init(&body);
    jm_str_init(&text);
    if (jm_file_read(path, 1 << 24, &body, &err) != 0)
        fail_msg("%s", err.text);
    bool whole = strstr(name, ".http") != NULL && jm_span_find(jm_str_span(&body), JM_SPAN("chunked")) < 0;
    size_t from = 0;
    if (!whole) {
        ptrdiff_t end = strstr(name, ".http") ? jm_span_find(jm_str_span(&body), JM_SPAN("\r\n\r\n")) : -4;
        from = (size_t)(end + 4);
        jm_str_addf(&text,
                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %zu\r\n\r\n",
                    body.len - from);
    }
    jm_str_add(&text, body.buf + from, body.len - from);
    assert_int_equal(jm_reader_init(&rd, jm_dialect_find(api), NULL), 0);
    jm_call_init(&c, &rd, false);
    bool over = false;
    for (size_t at = 0; at < text.len; at += step)
        over = jm_call_bytes(&c, (struct jm_span){text.buf + at, step < text.len - at ? step : text.len - at},
                             (int64_t)at);
    assert_true(over);
    g.r = c.r;
    static struct jm_token_event ev[1 << 16];
    g.n = jm_evlog_read(&c.ev, ev, sizeof ev / sizeof *ev);
    for (size_t i = 0; i < g.n; i++) {
        g.unknown += !(ev[i].flags & JM_TE_COUNT_KNOWN);
        g.told += ev[i].tokens;
    }
    jm_call_release(&c);
    jm_str_release(&body);
    jm_str_release(&text);
    return g;
}

static void captured_streams(void **state)
{
    static const struct {
        const char *name;
        const char *api;
        int end;
        int64_t prompt, output, events; /* events: lines with a text that is not empty */
        const char *finish;
    } rows[] = {
        {"llama_chat_usage.sse", "openai.chat", JM_END_OK, 62, 6, -1, "length"},
        {"llama_completions_nousage.sse", "openai.completions", JM_END_OK, 11, 6, -1, "length"},
        {"llama_emptyprompt.sse", "openai.completions", JM_END_OK, 1, 2, 2, "length"},
        {"llama_max1.sse", "openai.completions", JM_END_OK, 11, 1, 1, "length"},
        {"llama_1500.sse", "openai.completions", JM_END_OK, -2, 1500, 1017,
         "length"}, /* 1,500 tokens in 1,017 texts */
        {"llama_err_ctx.http", "openai.chat", JM_END_OK, 1956, 4, 4, "length"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static const size_t steps[] = {1, 7, 1460, 1 << 24};
        for (size_t k = 0; k < 4; k++) {
            struct got g = read_file(rows[i].name, rows[i].api, steps[k]);
            if ((int)g.r.end != rows[i].end ||
                (rows[i].prompt != -2 && g.r.prompt_tokens != rows[i].prompt) ||
                g.r.output_tokens != rows[i].output || strcmp(g.r.finish, rows[i].finish) != 0 ||
                (rows[i].events >= 0 && g.r.events != rows[i].events) || g.unknown != g.r.events ||
                (int64_t)g.n != g.r.events)
                fail_msg("%s by %zu bytes: %s (%s) prompt %lld output %lld events %lld known %lld finish %s",
                         rows[i].name, steps[k], jm_end_name((int)g.r.end), g.r.error,
                         (long long)g.r.prompt_tokens, (long long)g.r.output_tokens, (long long)g.r.events,
                         (long long)(g.r.events - g.unknown), g.r.finish);
        }
    }
}

/* llama.cpp's own API counts in every event; of the 11 prompt tokens 10 were in the cache (prompt_n 1). */
static void captured_native(void **state)
{
    (void)state;
    for (size_t step = 1; step < 40; step += 3) {
        struct got g = read_file("llama_native.sse", "llamacpp.completion", step);
        assert_int_equal(g.r.end, JM_END_OK);
        assert_int_equal(g.r.prompt_tokens, 11);
        assert_int_equal(g.r.cached_tokens, 10);
        assert_int_equal(g.r.output_tokens, 4);
        assert_int_equal(g.told, 4);
        assert_int_equal(g.unknown, 0);
        assert_string_equal(g.r.finish, "limit");
    }
}

static void captured_error(void **state)
{
    (void)state;
    struct got g = read_file("llama_err_badjson.http", "openai.chat", 3);
    assert_int_equal(g.r.end, JM_END_HTTP_SERVER);
    assert_int_equal(g.r.http_status, 500);
    assert_non_null(strstr(g.r.error, "parse error at line 1, column 27"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(captured_streams), cmocka_unit_test(captured_native),
                                       cmocka_unit_test(captured_error)};
    if (access(root(), R_OK) != 0)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
