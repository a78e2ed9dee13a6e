/* SPDX-License-Identifier: Apache-2.0 */
/* str, span, num, err and the calendar. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/str.h"

/* The linker sends realloc() here. */
static int allocations_left = -1;
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
    if (allocations_left == 0)
        return NULL;
    if (allocations_left > 0)
        allocations_left--;
    return __real_realloc(p, n);
}

static void str_grows(void **state)
{
    (void)state;
    struct jm_str s;
    jm_str_init(&s);
    assert_string_equal(s.buf, "");
    for (int i = 0; i < 1000; i++)
        jm_str_addf(&s, "%d,", i);
    assert_int_equal(s.len, 3890); /* 10×2 + 90×3 + 900×4 */
    assert_int_equal(strlen(s.buf), s.len);
    jm_str_reset(&s);
    assert_string_equal(s.buf, "");
    jm_str_pad(&s, 3, '.');
    jm_str_addc(&s, '\0');
    assert_int_equal(s.len, 4);
    jm_str_release(&s);
    jm_str_release(&s);
}

/* For each n: the n-th allocation fails, what was there stays, later appends do nothing. */
static void str_without_memory(void **state)
{
    (void)state;
    for (int n = 0; n < 6; n++) {
        struct jm_str s;
        struct jm_err err = {0};
        jm_str_init(&s);
        allocations_left = n;
        size_t good = 0;
        for (int i = 0; i < 300; i++) {
            jm_str_addf(&s, "line %d\n", i);
            if (!s.failed)
                good = s.len;
        }
        allocations_left = -1;
        assert_true(s.failed || n > 4);
        assert_int_equal(s.len, good);
        assert_int_equal(s.buf[s.len], '\0');
        jm_str_adds(&s, "more");
        if (s.failed) {
            assert_int_equal(s.len, good);
            assert_int_equal(jm_str_ok(&s, "a list", &err), JM_ENOMEM);
            assert_non_null(strstr(err.text, "a list"));
            assert_null(jm_str_detach(&s));
        }
        jm_str_release(&s);
    }
}

static void wrapping(void **state)
{
    (void)state;
    struct jm_str s;
    jm_str_init(&s);
    jm_str_adds(&s, "  --x ");
    jm_str_wrap(&s, JM_SPAN("one two  three\nfour verylongwordthatdoesnotfit five"), 8, 18);
    assert_string_equal(
        s.buf, "  --x   one two\n        three four\n        verylongwordthatdoesnotfit\n        five\n");
    jm_str_reset(&s);
    jm_str_adds(&s, "  --a-long-name ");
    jm_str_wrap(&s, JM_SPAN("text"), 8, 20);
    assert_string_equal(s.buf, "  --a-long-name \n        text\n");
    jm_str_reset(&s);
    jm_str_wrap(&s, JM_SPAN("plain text"), 0, 80);
    assert_string_equal(s.buf, "plain text\n");
    jm_str_release(&s);
}

static void spans(void **state)
{
    (void)state;
    struct jm_span rest = JM_SPAN("a\r\nb\n\nlast"), line;
    const char *want[] = {"a", "b", "", "last"};
    size_t n = 0;
    while (jm_span_line(&rest, &line))
        assert_true(jm_span_is(line, want[n++]));
    assert_int_equal(n, 4);
    rest = JM_SPAN("a,,b,");
    n = 0;
    while (jm_span_field(&rest, ',', &line))
        n++;
    assert_int_equal(n, 4);
    rest = JM_SPAN("");
    assert_true(jm_span_field(&rest, ',', &line) && line.n == 0);
    assert_false(jm_span_field(&rest, ',', &line));
    assert_true(jm_span_ieq(JM_SPAN("Content"), JM_SPAN("cONTENT")));
    assert_int_equal(jm_span_find(JM_SPAN("abcabd"), JM_SPAN("abd")), 3);
    assert_int_equal(jm_span_find(JM_SPAN("ab"), JM_SPAN("abd")), -1);
    assert_int_equal(jm_span_sub(JM_SPAN("abc"), 5, 5).n, 0);
}

static void numbers(void **state)
{
    (void)state;
    int64_t i = 7;
    uint64_t u;
    double d;
    assert_int_equal(jm_num_i64(JM_SPAN("-9223372036854775808"), &i), 0);
    assert_true(i == INT64_MIN);
    assert_int_equal(jm_num_i64(JM_SPAN("9223372036854775808"), &i), JM_ERANGE);
    assert_int_equal(jm_num_i64(JM_SPAN("-9223372036854775809"), &i), JM_ERANGE);
    assert_int_equal(jm_num_u64(JM_SPAN("18446744073709551615"), &u), 0);
    assert_int_equal(jm_num_u64(JM_SPAN("18446744073709551616"), &u), JM_ERANGE);
    assert_int_equal(jm_num_i64(JM_SPAN("1 "), &i), JM_EPARSE);
    assert_int_equal(jm_num_i64(JM_SPAN(""), &i), JM_EPARSE);
    assert_int_equal(jm_num_i64(JM_SPAN("-"), &i), JM_EPARSE);
    assert_int_equal(jm_num_double(JM_SPAN("1e-400"), &d), 0); /* underflow is 0 */
    assert_int_equal(jm_num_double(JM_SPAN("inf"), &d), JM_EPARSE);
    assert_int_equal(jm_num_double(JM_SPAN("0x1p3"), &d), JM_EPARSE);
    assert_int_equal(jm_num_fixed(JM_SPAN("12.345"), -3, &i), 0);
    assert_true(i == 12345);
    assert_int_equal(jm_num_fixed(JM_SPAN("12.3400"), -2, &i), 0);
    assert_true(i == 1234);
    assert_int_equal(jm_num_fixed(JM_SPAN("12.345"), -2, &i), JM_ERANGE);
    assert_int_equal(jm_num_fixed(JM_SPAN("-1.5e3"), 0, &i), 0);
    assert_true(i == -1500);
    assert_int_equal(jm_num_fixed(JM_SPAN("1e30"), 0, &i), JM_ERANGE);
}

static void civil_dates(void **state)
{
    (void)state;
    assert_true(jm_time_unix(1970, 1, 1, 0, 0, 0) == 0);
    assert_true(jm_time_unix(2000, 2, 29, 12, 0, 0) == 951825600);
    assert_true(jm_time_unix(2038, 1, 19, 3, 14, 8) == INT64_C(2147483648));
    /* against the C library, over three leap rules and negative times */
    for (int64_t t = -4000000000; t < 8000000000; t += 86399 * 31) {
        time_t tt = (time_t)t;
        struct tm tm;
        gmtime_r(&tt, &tm);
        struct jm_civil c = jm_time_civil(t);
        assert_int_equal(c.year, tm.tm_year + 1900);
        assert_int_equal(c.month, tm.tm_mon + 1);
        assert_int_equal(c.day, tm.tm_mday);
        assert_int_equal(c.hour, tm.tm_hour);
        assert_int_equal(c.minute, tm.tm_min);
        assert_int_equal(c.second, tm.tm_sec);
        assert_true(jm_time_unix(c.year, c.month, c.day, c.hour, c.minute, c.second) == t);
    }
}

static void rfc3339(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } row[] = {{"1970-01-01T00:00:00Z", 0},
               {"2026-11-29T15:08:00.123456789Z", INT64_C(1795964880123456789)},
               {"2026-11-29T16:08:00.5+01:00", INT64_C(1795964880500000000)},
               {"2026-11-29 15:08:00z", INT64_C(1795964880000000000)},
               {"1969-12-31T23:59:59.999999999Z", -1},
               {"1985-04-12T23:20:50.52Z", INT64_C(482196050520000000)}, /* RFC 3339 5.8 */
               {"1996-12-19T16:39:57-08:00", INT64_C(851042397000000000)},
               {"1990-12-31T23:59:60Z", INT64_C(662688000000000000)}, /* leap second */
               {"2026-11-29T15:08:00.1234567899Z", INT64_C(1795964880123456789)}};
    static const char *const bad[] = {"",
                                      "2026-11-29",
                                      "2026-11-29T15:08:00",
                                      "2026-13-01T00:00:00Z",
                                      "2025-02-29T00:00:00Z",
                                      "2026-11-29T24:00:00Z",
                                      "2026-11-29T15:08:00.Z",
                                      "2026-11-29T15:08:00Z ",
                                      "2026-11-29T15:08:00+1:00",
                                      "2026-11-29T15:08:00+25:00",
                                      "9999-01-01T00:00:00Z"};
    char buf[JM_RFC3339_SIZE];
    int64_t ns;
    struct jm_err err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        if (jm_time_parse_rfc3339(jm_span_of(row[i].text), &ns, &err) || ns != row[i].ns)
            fail_msg("%s: %lld", row[i].text, (long long)ns);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(jm_time_parse_rfc3339(jm_span_of(bad[i]), &ns, &err), JM_EPARSE);
    assert_string_equal(jm_time_rfc3339(INT64_C(1795964880123456789), buf), "2026-11-29T15:08:00.123456789Z");
    assert_string_equal(jm_time_rfc3339(-1, buf), "1969-12-31T23:59:59.999999999Z");
    static const int64_t ends[] = {INT64_MIN, INT64_MAX};
    for (int i = 0; i < 2; i++) {
        jm_time_rfc3339(ends[i], buf);
        assert_int_equal(strlen(buf), 30);
    }
}

static void virtual_clock(void **state)
{
    (void)state;
    struct jm_vclock v = {.real_offset = 100, .boot_offset = 5};
    struct jm_clock c = jm_clock_virtual(&v, NULL);
    struct jm_clock_pair p;
    bool cancel = true;
    assert_int_equal(jm_clock_sleep_until(&c, 50, NULL), 0);
    assert_int_equal(jm_clock_sleep_until(&c, 20, NULL), 0); /* never back */
    assert_int_equal(jm_clock_sleep_until(&c, 90, &cancel), 1);
    jm_clock_pair(&c, &p);
    assert_true(p.mono0 == 50 && p.mono1 == 50 && p.real == 150 && p.boot == 55);
    c = jm_clock_system();
    jm_clock_pair(&c, &p);
    assert_true(p.mono0 <= p.mono1 && p.boot >= p.mono0 &&
                p.real > jm_time_unix(2020, 1, 1, 0, 0, 0) * JM_NS_PER_S);
}

static void errors(void **state)
{
    (void)state;
    struct jm_err e = {0};
    assert_int_equal(jm_err_sys(&e, EACCES, "cannot open %s", "x"), JM_EDENIED);
    assert_string_equal(e.text, "cannot open x: Permission denied");
    assert_int_equal(jm_err_prefix(&e, "meter %s", "rapl"), JM_EDENIED);
    assert_string_equal(e.text, "meter rapl: cannot open x: Permission denied");
    assert_int_equal(jm_err_set(&e, JM_EIO, "again: %s", e.text), JM_EIO); /* from its own text */
    assert_non_null(strstr(e.text, "again: meter rapl"));
    assert_int_equal(jm_err_set(NULL, JM_EIO, "x"), JM_EIO);
    assert_string_equal(jm_ecode_name(JM_EAGAIN), "again");
    assert_string_equal(jm_ecode_name(-1000), "unknown");
    assert_string_equal(jm_ecode_name(0), "ok");
}

static void plain(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
        bool lines;
    } row[] = {
        {"a \xc2\xb1 \xe2\x82\xac \xf0\x9f\x94\x8b", "a \xc2\xb1 \xe2\x82\xac \xf0\x9f\x94\x8b", false},
        {"\x1b[31mred\x07\x7f", "?[31mred??", false},
        {"a\tb\nc\r", "a b c ", false},
        {"a\tb\nc\r", "a b\nc ", true},
        {"\xc2\x9b"
         "1m",
         "??1m", true}, /* CSI in one character */
        {"\xff\xc3-\xe2\x82",
         "?"
         "?-?"
         "?",
         true},                                   /* no UTF-8; cut in the middle */
        {"\xed\xa0\x80\xc0\xaf", "?????", true}}; /* surrogate, overlong slash */
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", row[i].in);
        jm_text_plain(text, strlen(text), row[i].lines);
        assert_string_equal(text, row[i].out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(str_grows), cmocka_unit_test(str_without_memory),
                                       cmocka_unit_test(wrapping),  cmocka_unit_test(spans),
                                       cmocka_unit_test(numbers),   cmocka_unit_test(civil_dates),
                                       cmocka_unit_test(rfc3339),   cmocka_unit_test(virtual_clock),
                                       cmocka_unit_test(errors),    cmocka_unit_test(plain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
