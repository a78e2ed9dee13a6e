/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "wire/log_lines.h"

/* All lines of text fed in pieces of step bytes: "number[c][x][!]:text;" with c CRLF, x cut, ! no end. */
static void feed(const char *text, size_t n, size_t step, size_t limit, struct jm_str *out)
{
    struct jm_log_lines l;
    struct jm_log_line x;
    jm_log_lines_init(&l, limit);
    for (size_t at = 0; at < n; at += step) {
        struct jm_span in = {text + at, n - at < step ? n - at : step};
        while (jm_log_lines_next(&l, &in, &x) == 1)
            jm_str_addf(out, "%d%s%s:%.*s;", (int)x.number, x.crlf ? "c" : "", x.cut ? "x" : "",
                        (int)x.text.n, x.text.p ? x.text.p : "");
        assert_int_equal(in.n, 0);
    }
    if (jm_log_lines_end(&l, &x) == 1)
        jm_str_addf(out, "%d%s!:%.*s;", (int)x.number, x.cut ? "x" : "", (int)x.text.n, x.text.p);
    jm_log_lines_release(&l);
}

static void every_cut(const char *text, size_t limit, const char *want)
{
    for (size_t step = 1; step <= strlen(text) + 1; step++) {
        struct jm_str out;
        jm_str_init(&out);
        feed(text, strlen(text), step, limit, &out);
        assert_string_equal(out.buf, want);
        jm_str_release(&out);
    }
}

static void ends(void **state)
{
    (void)state;
    every_cut("a\nbc\r\n\r\nd\r\r\n\ne", 100, "1:a;2c:bc;3c:;4c:d;5:;6!:e;");
    every_cut("", 100, "");
    every_cut("\n", 100, "1:;");
    every_cut("a\rb\r\n", 100, "1c:a\rb;"); /* a lone CR ends no line */
    every_cut("x\r", 100, "1!:x;");
}

static void long_lines(void **state)
{
    (void)state;
    every_cut("0123456789\r\nab\n012345", 4, "1cx:0123;2:ab;3x!:0123;");
    every_cut("0123\n01234\n", 4, "1:0123;2x:0123;");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ends), cmocka_unit_test(long_lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
