/* SPDX-License-Identifier: Apache-2.0 */
/* Reading result files where they lie: documents, members, columns, values, detection. */
#include <math.h>
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
#include "import/build.h"
#include "import/probe.h"

static char path[64];
static struct jm_err err;

static struct jm_ifile opened(const void *text, size_t n)
{
    struct jm_ifile f;
    snprintf(path, sizeof path, "json_walk_test.%d", (int)getpid());
    assert_int_equal(jm_file_write(path, (struct jm_span){text, n}, &err), 0);
    int rc = jm_ifile_open(path, &f, &err);
    unlink(path);
    assert_int_equal(rc, 0);
    return f;
}
#define OPENED(text) opened(text, sizeof(text) - 1)

static void documents(void **state)
{
    struct jm_jdocs d;
    struct jm_jtoken v;
    (void)state;
    struct jm_ifile f = OPENED("\xef\xbb\xbf{\"a\": 1}\n\n {\n\"a\": 2}[3]\n");
    jm_jdocs_init(&d, &f);
    assert_int_equal(jm_jdocs_next(&d, &v, &err), 1);
    assert_true(jm_span_is(v.raw, "{\"a\": 1}"));
    assert_int_equal(jm_jdocs_next(&d, &v, &err), 1);
    assert_int_equal(jm_jdocs_next(&d, &v, &err), 1);
    assert_true(jm_span_is(v.raw, "[3]"));
    assert_int_equal(jm_jdocs_next(&d, &v, &err), 0);
    jm_ifile_close(&f);
    f = OPENED("{\"a\": 1}\n{\"a\": [1, 2\n"); /* cut in its second line */
    jm_jdocs_init(&d, &f);
    assert_int_equal(jm_jdocs_next(&d, &v, &err), 1);
    assert_int_equal(jm_jdocs_next(&d, &v, &err), JM_EPARSE);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, "line 3 (byte 21)"));
    jm_ifile_close(&f);
}

static void strangers(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        const char *says;
    } t[] = {{"", 0, "empty"},
             {"\xff\xfe{\0", 4, "UTF-16"},
             {"{\0\"\0", 4, "UTF-16"},
             {"\x1f\x8b\x08", 3, "gunzip"},
             {"PK\x03\x04", 4, "zip"}};
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct jm_ifile f;
        snprintf(path, sizeof path, "json_walk_test.%d", (int)getpid());
        assert_int_equal(jm_file_write(path, (struct jm_span){t[i].text, t[i].n}, &err), 0);
        assert_int_equal(jm_ifile_open(path, &f, &err), JM_EPARSE);
        assert_non_null(strstr(err.text, t[i].says));
        unlink(path);
    }
    struct jm_ifile f;
    assert_int_equal(jm_ifile_open("/nonexistent/x", &f, &err), JM_EABSENT);
}

static void members(void **state)
{
    struct jm_jdocs d;
    struct jm_jtoken doc, v, k;
    struct jm_jiter it;
    double x = 0;
    int64_t i = 0;
    char text[8];
    (void)state;
    struct jm_ifile f =
        OPENED("{\"p0.1\": 1, \"a\": {\"b\": [1, 2.5]}, \"a\": {\"b\": {\"c\": 7.0, \"nan\": NaN}},"
               " \"s\": \"\\u00e9tat \\u20ac\", \"t\": true, \"n\": null}");
    jm_jdocs_init(&d, &f);
    assert_int_equal(jm_jdocs_next(&d, &doc, &err), 1);
    assert_true(jm_jmember(&f, &doc, "p0.1", &v) && jm_jnum(&v, &x) && x == 1);
    assert_true(jm_jpath(&f, &doc, "a.b.c", &v) && jm_jint(&v, &i) && i == 7); /* the last of two counts */
    assert_true(jm_jpath(&f, &doc, "a.b.nan", &v) && !jm_jnum(&v, &x));
    assert_false(jm_jpath(&f, &doc, "a.b.d", &v));
    assert_true(jm_jmember(&f, &doc, "s", &v) && jm_jtext(&v, text, sizeof text));
    assert_string_equal(text, "\xc3\xa9tat "); /* no half character */
    assert_true(jm_jmember(&f, &doc, "t", &v) && jm_jtext(&v, text, sizeof text));
    assert_string_equal(text, "true");
    assert_true(jm_jmember(&f, &doc, "n", &v) && !jm_jtext(&v, text, sizeof text) && !jm_jnum(&v, &x));
    const char *names[] = {"n", "zzz", "t"};
    struct jm_jtoken found[3];
    assert_int_equal(jm_jfind(&f, &doc, names, 3, found, &err), 0);
    assert_true(found[0].type == JM_J_NULL && found[1].type == JM_J_END && found[2].type == JM_J_TRUE);
    jm_jiter_init(&it, &f, &doc);
    int n = 0;
    while (jm_jiter_next(&it, &k, &v, &err) > 0)
        n++;
    assert_int_equal(n, 6);
    jm_ifile_close(&f);
}

static void columns(void **state)
{
    struct jm_jdocs d;
    struct jm_jtoken doc;
    (void)state;
    struct jm_ifile f = OPENED("{\"a\": [1, 2], \"b\": [[], [3, 4]], \"c\": [], \"d\": null}");
    struct jm_jcol c[] = {
        {.name = "a", .need = true}, {.name = "b"}, {.name = "c"}, {.name = "d"}, {.name = "e"}};
    jm_jdocs_init(&d, &f);
    assert_int_equal(jm_jdocs_next(&d, &doc, &err), 1);
    assert_int_equal(jm_jcols_open(&f, &doc, c, 5, &err), 0);
    assert_true(c[0].have && c[1].have && !c[2].have && !c[3].have && !c[4].have);
    assert_int_equal(jm_jcols_row(c, 5, &err), 1);
    assert_int_equal(jm_jcols_row(c, 5, &err), 1);
    double sum;
    int64_t n;
    assert_int_equal(jm_jsum(&f, &c[1].v, &sum, &n, &err), 0);
    assert_true(sum == 7 && n == 2);
    assert_int_equal(jm_jcols_row(c, 5, &err), 0);
    jm_ifile_close(&f);
    f = OPENED("{\"a\": [1, 2], \"b\": [[1]]}");
    jm_jdocs_init(&d, &f);
    assert_int_equal(jm_jdocs_next(&d, &doc, &err), 1);
    assert_int_equal(jm_jcols_open(&f, &doc, c, 5, &err), 0);
    assert_int_equal(jm_jcols_row(c, 5, &err), 1);
    assert_int_equal(jm_jcols_row(c, 5, &err), JM_EPARSE);
    assert_non_null(strstr(err.text, "\"b\" has ended"));
    assert_non_null(strstr(err.text, "line 1 (byte 10)"));
    jm_ifile_close(&f);
    f = OPENED("{\"a\": 3}");
    jm_jdocs_init(&d, &f);
    assert_int_equal(jm_jdocs_next(&d, &doc, &err), 1);
    assert_int_equal(jm_jcols_open(&f, &doc, c, 5, &err), JM_EPARSE);
    jm_ifile_close(&f);
}

static void times(void **state)
{
    static const struct {
        const char *text;
        int exponent;
        int64_t ns;
    } t[] = {{"1.5", 0, 1500000000},
             {"1700000000.1234567", 0, 1700000000123456700}, /* what a double cannot hold to the ns */
             {"12.5", -3, 12500000},
             {"7", -9, 7},
             {"0.0123456789012345", 0, 12345679}}; /* rounded: 12345678.9 ns */
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct jm_jtoken v = {.type = JM_J_NUMBER, .raw = jm_span_of(t[i].text)};
        int64_t ns = 0;
        assert_true(jm_jtime(&v, t[i].exponent, &ns));
        assert_int_equal(ns, t[i].ns);
    }
    struct jm_jtoken big = {.type = JM_J_NUMBER, .raw = JM_SPAN("1e300")};
    int64_t ns;
    assert_false(jm_jtime(&big, 0, &ns));
    bool zone;
    assert_true(jm_build_date(JM_SPAN("20250827-142530"), &ns, &zone) && !zone);
    assert_int_equal(ns, INT64_C(1756304730000000000)); /* date -u -d '2025-08-27 14:25:30' +%s */
    assert_true(jm_build_date(JM_SPAN("2025-08-27T16:25:30+02:00"), &ns, &zone) && zone);
    assert_int_equal(ns, INT64_C(1756304730000000000));
    assert_true(jm_build_date(JM_SPAN("2025-08-27 14:25:30.5"), &ns, &zone) && !zone);
    assert_int_equal(ns, INT64_C(1756304730500000000));
    assert_false(jm_build_date(JM_SPAN("yesterday"), &ns, &zone));
    char stat[16];
    assert_true(jm_build_stat(JM_SPAN("p99.9"), stat));
    assert_string_equal(stat, "p99.9");
    assert_true(jm_build_stat(JM_SPAN("median"), stat));
    assert_string_equal(stat, "p50");
    assert_true(jm_build_stat(JM_SPAN("25%"), stat));
    assert_string_equal(stat, "p25");
    assert_false(jm_build_stat(JM_SPAN("p200"), stat));
    assert_false(jm_build_stat(JM_SPAN("ttft"), stat));
}

static void detection(void **state)
{
    static const struct jm_probe_mark marks[] = {{"a.b", 0}, {"list[].x", 60}, {"no", 30}, {NULL, 0}};
    struct jm_probe *p = calloc(1, sizeof *p);
    (void)state;
    struct jm_ifile f = OPENED("{\"a\": {\"b\": 1}, \"list\": [{\"x\": 1}, {\"y\": 2}]}\n{}\n");
    jm_probe_look(p, path, &f);
    assert_true(p->json && !p->list && p->many && !p->sqlite);
    assert_int_equal(jm_probe_score(p, marks), 60);
    assert_null(jm_probe_key(p, "list[].y")); /* the first item speaks */
    jm_ifile_close(&f);
    f = OPENED("[{\"x\": \"llama\"}]"); /* a cut file is still known: all that is read is its head */
    jm_probe_look(p, path, &f);
    assert_true(p->list && !p->many && jm_probe_is(p, "[].x", "llama"));
    assert_int_equal(jm_probe_score(p, marks), 0);
    jm_ifile_close(&f);
    f = OPENED("Metric,avg\n1,2\n");
    jm_probe_look(p, path, &f);
    assert_false(p->json);
    assert_true(jm_span_is(p->line, "Metric,avg"));
    jm_ifile_close(&f);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(documents), cmocka_unit_test(strangers),
                                       cmocka_unit_test(members),   cmocka_unit_test(columns),
                                       cmocka_unit_test(times),     cmocka_unit_test(detection)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
