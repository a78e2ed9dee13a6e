/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "wire/csv.h"

/* Rows as text: fields joined by '|', rows by '/'. */
static const char *all(const char *text, char sep, int *rc)
{
    static char out[512];
    struct jm_csv c;
    struct jm_csv_field f[8];
    size_t n;
    struct jm_err err;
    char buf[64];
    out[0] = '\0';
    jm_csv_init(&c, jm_span_of(text), sep);
    while ((*rc = jm_csv_row(&c, f, 8, &n, &err)) > 0) {
        for (size_t i = 0; i < n; i++) {
            strncat(out, jm_csv_text(&f[i], buf, sizeof buf), sizeof out - strlen(out) - 1);
            strncat(out, i + 1 < n ? "|" : "/", sizeof out - strlen(out) - 1);
        }
    }
    return out;
}

static void rows(void **state)
{
    int rc;
    (void)state;
    assert_string_equal(all("a,b\n1,2\n", 0, &rc), "a|b/1|2/");
    assert_string_equal(all("a,b\r\n1,2", 0, &rc), "a|b/1|2/"); /* CRLF, no last line end */
    assert_string_equal(all("\"a,\"\"x\"\"\",\"b\nc\"\r\n,\n", 0, &rc), "a,\"x\"|b\nc/|/");
    assert_string_equal(all("a\n\nb\n", 0, &rc), "a//b/"); /* an empty line is a row of one empty field */
    assert_string_equal(all("\xef\xbb\xbf"
                            "a;b\n",
                            ';', &rc),
                        "a|b/");
    assert_string_equal(all("", 0, &rc), "");
    assert_int_equal(rc, 0);
}

static void broken(void **state)
{
    int rc;
    struct jm_csv c;
    struct jm_csv_field f[8];
    size_t n;
    struct jm_err err;
    (void)state;
    all("a,\"b\n", 0, &rc);
    assert_int_equal(rc, JM_EPARSE);
    all("\"a\"x,b\n", 0, &rc);
    assert_int_equal(rc, JM_EPARSE);
    all("1,2,3,4,5,6,7,8,9\n", 0, &rc);
    assert_int_equal(rc, JM_ELIMIT);
    jm_csv_init(&c, JM_SPAN("a\n\"x\ny\",1\n\"z"), 0);
    assert_int_equal(jm_csv_row(&c, f, 8, &n, &err), 1);
    assert_int_equal(jm_csv_row(&c, f, 8, &n, &err), 1);
    assert_int_equal(c.line, 2);
    assert_int_equal(jm_csv_row(&c, f, 8, &n, &err), JM_EPARSE);
    assert_non_null(strstr(err.text, "line 4")); /* the quoted field before spans two lines */
}

static void names(void **state)
{
    struct jm_csv c;
    struct jm_csv_field f[8];
    size_t n;
    (void)state;
    jm_csv_init(&c, JM_SPAN("Timestamp, Model ,\"n\""), 0);
    assert_int_equal(jm_csv_row(&c, f, 8, &n, NULL), 1);
    assert_int_equal(n, 3);
    assert_int_equal(jm_csv_find(f, n, "Model"), 1);
    assert_int_equal(jm_csv_find(f, n, "n"), 2);
    assert_int_equal(jm_csv_find(f, n, "model"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows), cmocka_unit_test(broken),
                                       cmocka_unit_test(names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
