/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "base/rng.h"

static struct jm_json *parse(struct jm_span text)
{
    struct jm_json *v = NULL;
    struct jm_err err = {0};
    if (jm_json_parse(text, &v, &err))
        fail_msg("%s", err.text);
    return v;
}

static void writes_one_line(void **state)
{
    (void)state;
    struct jm_str s;
    struct jm_jsonw w;
    jm_str_init(&s);
    jm_jsonw_init(&w, &s, 0);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "a", "x\"\\\n\x01/");
    jm_jsonw_kstr(&w, "none", NULL);
    jm_jsonw_key(&w, "list");
    jm_jsonw_array(&w);
    jm_jsonw_i64(&w, INT64_MIN);
    jm_jsonw_u64(&w, UINT64_MAX);
    jm_jsonw_num(&w, 0.1);
    jm_jsonw_num(&w, NAN);
    jm_jsonw_num(&w, -INFINITY);
    jm_jsonw_bool(&w, true);
    jm_jsonw_object(&w);
    jm_jsonw_end(&w);
    jm_jsonw_raw(&w, JM_SPAN("[1]"));
    jm_jsonw_end(&w);
    jm_jsonw_kbool(&w, "b", false);
    jm_jsonw_end(&w);
    assert_string_equal(s.buf, "{\"a\":\"x\\\"\\\\\\n\\u0001/\",\"none\":null,\"list\":[-9223372036854775808,"
                               "18446744073709551615,0.1,null,null,true,{},[1]],\"b\":false}");
    assert_false(w.misuse);
    assert_int_equal(w.depth, 0);
    jm_str_release(&s);
}

static void writes_indented(void **state)
{
    (void)state;
    struct jm_str s;
    struct jm_jsonw w;
    jm_str_init(&s);
    jm_jsonw_init(&w, &s, 2);
    jm_jsonw_object(&w);
    jm_jsonw_key(&w, "e");
    jm_jsonw_array(&w);
    jm_jsonw_end(&w);
    jm_jsonw_key(&w, "l");
    jm_jsonw_array(&w);
    jm_jsonw_i64(&w, 1);
    jm_jsonw_i64(&w, 2);
    jm_jsonw_end(&w);
    jm_jsonw_end(&w);
    assert_string_equal(s.buf, "{\n  \"e\": [],\n  \"l\": [\n    1,\n    2\n  ]\n}\n");
    jm_str_release(&s);
}

static void notices_misuse(void **state)
{
    (void)state;
    struct jm_str s;
    struct jm_jsonw w;
    jm_str_init(&s);
    jm_jsonw_init(&w, &s, 0);
    jm_jsonw_object(&w);
    jm_jsonw_i64(&w, 1); /* no key */
    assert_true(w.misuse);
    jm_jsonw_init(&w, &s, 0);
    jm_jsonw_end(&w);
    assert_true(w.misuse);
    jm_jsonw_init(&w, &s, 0);
    for (int i = 0; i < 64; i++)
        jm_jsonw_array(&w);
    assert_false(w.misuse);
    jm_jsonw_array(&w);
    assert_true(w.misuse);
    jm_str_release(&s);
}

static void mends_utf8(void **state)
{
    static const struct {
        const char *in, *out;
    } row[] = {{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
               {"a\xff"
                "b",
                "\"a\xef\xbf\xbd"
                "b\""},
               {"\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 /* overlong */
               {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* surrogate */
               {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
               {"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\""}}; /* cut */
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct jm_str s;
        struct jm_jsonw w;
        jm_str_init(&s);
        jm_jsonw_init(&w, &s, 0);
        jm_jsonw_str(&w, row[i].in);
        assert_string_equal(s.buf, row[i].out);
        jm_json_free(parse(jm_str_span(&s)));
        jm_str_release(&s);
    }
}

static void doubles_read_back(void **state)
{
    (void)state;
    struct jm_rng rng;
    jm_rng_init(&rng, 1);
    char buf[32];
    for (int i = 0; i < 20000; i++) {
        union {
            uint64_t u;
            double d;
        } v = {.u = jm_rng_u64(&rng)};
        double back;
        if (!isfinite(v.d))
            continue;
        assert_true(jm_json_fmt_double(buf, v.d) < 32);
        assert_int_equal(jm_num_double(jm_span_of(buf), &back), 0);
        assert_true(back == v.d);
    }
    jm_json_fmt_double(buf, 6280.214);
    assert_string_equal(buf, "6280.214");
    jm_json_fmt_double(buf, -0.0);
    assert_string_equal(buf, "0"); /* "-0" would read back as the integer 0 */
    jm_json_fmt_double(buf, 5e-324);
    assert_true(strlen(buf) < 24);
}

static void ignores_the_locale(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "ps_AF.UTF-8"};
    size_t i = 0;
    while (i < 3 && !setlocale(LC_NUMERIC, names[i]))
        i++;
    char buf[32];
    double v = 0;
    jm_json_fmt_double(buf, 0.5);
    struct jm_json *j = parse(JM_SPAN("1.5"));
    bool ok = jm_json_num(j, &v) && v == 1.5 && strcmp(buf, "0.5") == 0;
    jm_json_free(j);
    setlocale(LC_NUMERIC, "C");
    assert_true(ok);
    if (i == 3)
        skip(); /* no such locale here: only the C locale was tried */
}

static void reads_documents(void **state)
{
    (void)state;
    struct jm_json *v =
        parse(JM_SPAN(" {\"usage\": {\"prompt_tokens\": 9007199254740993, \"x\": 1.5}, \"s\": "
                      "\"a\\u0000b\", \"t\": true, \"n\": null, \"l\": [1, \"2\"]} "));
    int64_t i = -1;
    double d = -1;
    bool b = false;
    struct jm_span s;
    assert_true(jm_json_i64(jm_json_path(v, "usage.prompt_tokens"), &i));
    assert_true(i == INT64_C(9007199254740993)); /* does not fit a double */
    assert_false(jm_json_i64(jm_json_path(v, "usage.x"), &i));
    assert_true(jm_json_num(jm_json_path(v, "usage.x"), &d) && d == 1.5);
    assert_true(jm_json_str(jm_json_get(v, "s"), &s) && s.n == 3 && !memcmp(s.p, "a\0b", 3));
    assert_true(jm_json_bool(jm_json_get(v, "t"), &b) && b);
    assert_false(jm_json_bool(jm_json_get(v, "n"), &b));
    assert_true(jm_json_is_null(jm_json_get(v, "n")) && !jm_json_is_null(jm_json_get(v, "nn")));
    assert_int_equal(jm_json_len(jm_json_get(v, "l")), 2);
    assert_int_equal(jm_json_len(v), 5);
    assert_int_equal(jm_json_len(jm_json_get(v, "s")), 0);
    assert_null(jm_json_at(jm_json_get(v, "l"), 2));
    assert_null(jm_json_get(jm_json_get(v, "l"), "x"));
    assert_null(jm_json_path(v, "usage.nothing.deeper"));
    assert_null(jm_json_path(NULL, "a"));
    void *it = NULL;
    const char *key;
    const struct jm_json *val;
    const char *const keys[] = {"usage", "s", "t", "n", "l"};
    size_t n = 0;
    while (jm_json_next(v, &it, &key, &val)) {
        assert_true(n < 5);
        assert_string_equal(key, keys[n++]); /* in the document's order */
    }
    assert_int_equal(n, 5);
    jm_json_free(v);
    jm_json_free(NULL);
}

static void refuses(struct jm_span text, int code, const char *part)
{
    struct jm_json *v = NULL;
    struct jm_err err = {0};
    assert_int_equal(jm_json_parse(text, &v, &err), code);
    assert_null(v);
    if (!strstr(err.text, part))
        fail_msg("\"%s\" lacks \"%s\"", err.text, part);
}

static void refuses_hostile_input(void **state)
{
    (void)state;
    refuses(JM_SPAN(""), JM_EPARSE, "line 1");
    refuses(JM_SPAN("{\"a\":\n 1,}"), JM_EPARSE, "line 2, column 4");
    refuses(JM_SPAN("[1] x"), JM_EPARSE, "end of file");
    refuses(JM_SPAN("NaN"), JM_EPARSE, "line 1");
    refuses(JM_SPAN("{\"a\\u0000\":1}"), JM_EPARSE, "NUL");
    refuses(JM_SPAN("\"\xff\""), JM_EPARSE, "0xff");
    refuses(JM_SPAN("[9223372036854775808]"), JM_ERANGE, "too big");
    refuses(JM_SPAN("[1e999]"), JM_ERANGE, "overflow");
    refuses(JM_SPAN("\"\\ud800\""), JM_EPARSE, "Unicode");
    refuses((struct jm_span){NULL, 0}, JM_EPARSE, "line 1");
    size_t n = (size_t)17 << 20;
    char *big = malloc(n);
    memset(big, '[', n);
    refuses((struct jm_span){big, n}, JM_ELIMIT, "16 MiB");
    refuses((struct jm_span){big, 1 << 20}, JM_ELIMIT, "nested deeper than 200");
    memset(big, ',', n);
    big[0] = '[';
    refuses((struct jm_span){big, 8 << 20}, JM_ELIMIT, "values");
    free(big);
    /* brackets inside strings are no nesting, even behind escaped quotes */
    struct jm_str s;
    jm_str_init(&s);
    jm_str_adds(&s, "\"\\\"");
    jm_str_pad(&s, 1000, '[');
    jm_str_adds(&s, "\\\\\"");
    jm_json_free(parse(jm_str_span(&s)));
    jm_str_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_one_line),   cmocka_unit_test(writes_indented),
        cmocka_unit_test(notices_misuse),    cmocka_unit_test(mends_utf8),
        cmocka_unit_test(doubles_read_back), cmocka_unit_test(ignores_the_locale),
        cmocka_unit_test(reads_documents),   cmocka_unit_test(refuses_hostile_input)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
