/* SPDX-License-Identifier: Apache-2.0 */
/* The tokenizer against the standard, and against jansson (through base/json.h) on random documents and on
 * damaged ones: what one accepts the other must accept, and every value must be the same. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "base/rng.h"
#include "base/str.h"
#include "wire/jsontok.h"

static int walk(struct jm_span text, bool utf8, struct jm_err *err)
{
    struct jm_jsontok t;
    struct jm_jtoken v;
    jm_jsontok_init(&t, text, 100);
    t.utf8 = utf8;
    int rc;
    while ((rc = jm_jsontok_next(&t, &v, err)) == 0 && v.type != JM_J_END)
        ;
    return rc;
}

static void grammar(void **state)
{
    static const char *const good[] = {"0",
                                       "-0",
                                       "1e5",
                                       "-1.25E-3",
                                       "\"\"",
                                       "[]",
                                       "{}",
                                       " [ 1 , 2 ] ",
                                       "{\"a\":{\"b\":[]}}",
                                       "true",
                                       "false",
                                       "null",
                                       "NaN",
                                       "-Infinity",
                                       "[Infinity,NaN]",
                                       "\"\\u0041\\n\"",
                                       "\t\r\n1\n",
                                       "\"\xc3\xa9\"",
                                       "{\"\":1}"};
    static const char *const wrong[] = {"",
                                        " ",
                                        "01",
                                        "1.",
                                        ".5",
                                        "+1",
                                        "1e",
                                        "-",
                                        "--1",
                                        "[1,]",
                                        "[,1]",
                                        "{\"a\":1,}",
                                        "{\"a\"}",
                                        "{a:1}",
                                        "{1:2}",
                                        "[1 2]",
                                        "\"a",
                                        "\"\\x\"",
                                        "\"\\u12g4\"",
                                        "\"\x01\"",
                                        "tru",
                                        "truex",
                                        "nul",
                                        "Nan",
                                        "-NaN",
                                        "Infinit",
                                        "[",
                                        "{",
                                        "]",
                                        "[}",
                                        "{]",
                                        "1 2",
                                        "{} {}",
                                        "{\"a\":1 \"b\":2}",
                                        "\"\n\"",
                                        "'a'",
                                        "[1],",
                                        "nulll"};
    struct jm_err err;
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (walk(jm_span_of(good[i]), true, &err) != 0)
            fail_msg("%s: %s", good[i], err.text);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (walk(jm_span_of(wrong[i]), true, &err) != JM_EPARSE)
            fail_msg("\"%s\" was accepted", wrong[i]);
    assert_int_equal(walk(JM_SPAN("[1, x]"), true, &err), JM_EPARSE);
    assert_non_null(strstr(err.text, "byte 4"));
    static const char *const broken[] = {"\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"",
                                         "\"\xf5\x80\x80\x80\"", "\"\xe4\xb8\""};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        assert_int_equal(walk(jm_span_of(broken[i]), true, &err), JM_EPARSE);
        assert_int_equal(walk(jm_span_of(broken[i]), false, &err), 0);
    }
}

static void depth_is_limited(void **state)
{
    char deep[700];
    struct jm_err err;
    struct jm_jsontok t;
    struct jm_jtoken v;
    (void)state;
    memset(deep, '[', sizeof deep);
    for (int most = 1; most <= 600; most += 37) {
        int rc, n = 0;
        jm_jsontok_init(&t, (struct jm_span){deep, sizeof deep}, most);
        while ((rc = jm_jsontok_next(&t, &v, &err)) == 0)
            n++;
        assert_int_equal(rc, JM_ELIMIT);
        assert_int_equal(n, most < JM_JSONTOK_DEPTH ? most : JM_JSONTOK_DEPTH);
    }
}

static struct jm_jtoken one(const char *text)
{
    struct jm_jsontok t;
    struct jm_jtoken v;
    jm_jsontok_init(&t, jm_span_of(text), 0);
    assert_int_equal(jm_jsontok_next(&t, &v, NULL), 0);
    return v;
}

static void numbers_are_exact(void **state)
{
    struct jm_jtoken v;
    int64_t i;
    uint64_t u;
    double d;
    (void)state;
    v = one("9223372036854775807");
    assert_int_equal(jm_jtoken_i64(&v, &i), 0);
    assert_true(i == INT64_MAX);
    v = one("-9223372036854775808");
    assert_int_equal(jm_jtoken_i64(&v, &i), 0);
    assert_true(i == INT64_MIN);
    v = one("9223372036854775808");
    assert_int_equal(jm_jtoken_i64(&v, &i), JM_ERANGE);
    v = one("18446744073709551615");
    assert_int_equal(jm_jtoken_u64(&v, &u), 0);
    assert_true(u == UINT64_MAX);
    v = one("1e3");
    assert_int_equal(jm_jtoken_i64(&v, &i), 0);
    assert_true(i == 1000);
    v = one("7.0");
    assert_int_equal(jm_jtoken_u64(&v, &u), 0);
    assert_true(u == 7);
    v = one("1.5");
    assert_int_equal(jm_jtoken_i64(&v, &i), JM_ERANGE);
    assert_int_equal(jm_jtoken_double(&v, &d), 0);
    assert_true(d == 1.5);
    v = one("NaN");
    assert_true(v.nonfinite && jm_jtoken_i64(&v, &i) == JM_ERANGE && jm_jtoken_double(&v, &d) == 0 &&
                isnan(d));
    v = one("-Infinity");
    assert_true(v.nonfinite && jm_jtoken_double(&v, &d) == 0 && d < 0 && isinf(d));
    v = one("\"1\"");
    assert_int_equal(jm_jtoken_i64(&v, &i), JM_EPARSE);
}

static void strings_unescape(void **state)
{
    char buf[32];
    (void)state;
    struct jm_jtoken v = one("\"a\\u00e9\\ud83d\\ude00\\n\\/\\\"\\\\\"");
    size_t n = jm_json_unescape(v.raw, buf, sizeof buf);
    assert_int_equal(n, 11);
    assert_memory_equal(buf, "a\xc3\xa9\xf0\x9f\x98\x80\n/\"\\", 11);
    /* lone and swapped surrogates */
    v = one("\"\\ud83dx\\ude00\"");
    n = jm_json_unescape(v.raw, buf, sizeof buf);
    assert_int_equal(n, 7);
    assert_memory_equal(buf, "\xef\xbf\xbdx\xef\xbf\xbd", 7);
    /* a buffer that is too small gets whole characters and the full length is told */
    v = one("\"abc\xe4\xb8\x96\xe7\x95\x8c\"");
    for (size_t cap = 0; cap <= 9; cap++) {
        memset(buf, '#', sizeof buf);
        assert_int_equal(jm_json_unescape(v.raw, buf, cap), 9);
        size_t whole = cap < 3 ? cap : cap < 6 ? 3 : cap < 9 ? 6 : 9;
        assert_memory_equal(buf, v.raw.p, whole);
        assert_true(buf[whole] == '#');
    }
    assert_true(jm_jtoken_is(&v, "abc\xe4\xb8\x96\xe7\x95\x8c"));
    v = one("\"\\u0061b\"");
    assert_true(jm_jtoken_is(&v, "ab"));
    assert_false(jm_jtoken_is(&v, "abc"));
}

/* --- random documents
 * ------------------------------------------------------------------------------------------ */
static void put_string(struct jm_rng *r, struct jm_str *s)
{
    static const char *const bits[] = {"a",
                                       "key",
                                       " ",
                                       "\\n",
                                       "\\\"",
                                       "\\\\",
                                       "\\u0041",
                                       "\\u00e9",
                                       "\\ud83d\\ude00",
                                       "\xc3\xa9",
                                       "\xe4\xb8\x96",
                                       "\xf0\x9f\x98\x80",
                                       "/",
                                       "\\/",
                                       "0123456789",
                                       "{",
                                       "]",
                                       ":"};
    jm_str_addc(s, '"');
    for (uint64_t n = jm_rng_below(r, 6); n; n--)
        jm_str_adds(s, bits[jm_rng_below(r, sizeof bits / sizeof *bits)]);
    jm_str_addc(s, '"');
}

static void blanks(struct jm_rng *r, struct jm_str *s)
{
    static const char *const b[] = {"", "", "", " ", "\n", "\t ", "\r\n"};
    jm_str_adds(s, b[jm_rng_below(r, 7)]);
}

static void put_value(struct jm_rng *r, struct jm_str *s, int depth)
{
    blanks(r, s);
    switch (jm_rng_below(r, depth > 5 ? 6 : 8)) {
    case 0:
        jm_str_addf(s, "%lld",
                    (long long)(jm_rng_u64(r) >> jm_rng_below(r, 63)) * (jm_rng_below(r, 2) ? 1 : -1));
        break;
    case 1:
        jm_str_addf(s, "%.*g", (int)jm_rng_below(r, 17) + 1,
                    (jm_rng_unit(r) - 0.5) * pow(10, (double)jm_rng_below(r, 40) - 20));
        break;
    case 2: jm_str_adds(s, jm_rng_below(r, 2) ? "true" : "false"); break;
    case 3: jm_str_adds(s, "null"); break;
    case 4:
    case 5: put_string(r, s); break;
    case 6:
        jm_str_addc(s, '[');
        for (uint64_t n = jm_rng_below(r, 5); n; n--) {
            put_value(r, s, depth + 1);
            if (n > 1)
                jm_str_addc(s, ',');
        }
        blanks(r, s);
        jm_str_addc(s, ']');
        break;
    default:
        jm_str_addc(s, '{');
        for (uint64_t n = jm_rng_below(r, 5), k = 0; k < n; k++) {
            blanks(r, s);
            jm_str_addf(s, "\"k%llu\"", (unsigned long long)k);
            blanks(r, s);
            jm_str_addc(s, ':');
            put_value(r, s, depth + 1);
            if (k + 1 < n)
                jm_str_addc(s, ',');
        }
        blanks(r, s);
        jm_str_addc(s, '}');
        break;
    }
    blanks(r, s);
}

/* Walks the tokens beside the jansson value. */
static void same(struct jm_jsontok *t, struct jm_jtoken v, const struct jm_json *j)
{
    struct jm_span want;
    char buf[4096];
    switch (v.type) {
    case JM_J_NULL: assert_true(jm_json_is_null(j)); break;
    case JM_J_TRUE:
    case JM_J_FALSE: {
        bool b;
        assert_true(jm_json_bool(j, &b));
        assert_int_equal(b, v.type == JM_J_TRUE);
        break;
    }
    case JM_J_NUMBER: {
        int64_t a, b;
        double x, y;
        assert_true(jm_json_num(j, &y));
        assert_int_equal(jm_jtoken_double(&v, &x), 0);
        assert_true(x == y);
        if (jm_json_i64(j, &b)) {
            assert_int_equal(jm_jtoken_i64(&v, &a), 0);
            assert_true(a == b);
        }
        break;
    }
    case JM_J_STRING:
        assert_true(jm_json_str(j, &want));
        assert_true(v.raw.n <= sizeof buf);
        assert_int_equal(jm_json_unescape(v.raw, buf, sizeof buf), want.n);
        assert_memory_equal(buf, want.p, want.n);
        break;
    case JM_J_ARRAY: {
        size_t n = 0;
        assert_true(jm_json_is_array(j));
        for (;; n++) {
            assert_int_equal(jm_jsontok_next(t, &v, NULL), 0);
            if (v.type == JM_J_ARRAY_END)
                break;
            same(t, v, jm_json_at(j, n));
        }
        assert_int_equal(n, jm_json_len(j));
        break;
    }
    default: {
        size_t n = 0;
        assert_int_equal(v.type, JM_J_OBJECT);
        for (;; n++) {
            assert_int_equal(jm_jsontok_next(t, &v, NULL), 0);
            if (v.type == JM_J_OBJECT_END)
                break;
            assert_int_equal(v.type, JM_J_KEY);
            size_t k = jm_json_unescape(v.raw, buf, sizeof buf - 1);
            buf[k] = '\0';
            const struct jm_json *m = jm_json_get(j, buf);
            assert_non_null(m);
            assert_int_equal(jm_jsontok_next(t, &v, NULL), 0);
            same(t, v, m);
        }
        assert_int_equal(n, jm_json_len(j));
    }
    }
}

static void random_documents_agree_with_jansson(void **state)
{
    struct jm_rng r;
    struct jm_str s;
    (void)state;
    jm_rng_init(&r, 20260101);
    jm_str_init(&s);
    for (int i = 0; i < 4000; i++) {
        struct jm_json *j = NULL;
        struct jm_err err;
        struct jm_jsontok t;
        struct jm_jtoken v;
        jm_str_reset(&s);
        put_value(&r, &s, 0);
        if (jm_json_parse(jm_str_span(&s), &j, &err) != 0)
            fail_msg("jansson: %s: %s", err.text, s.buf);
        jm_jsontok_init(&t, jm_str_span(&s), 0);
        t.utf8 = true;
        assert_int_equal(jm_jsontok_next(&t, &v, NULL), 0);
        same(&t, v, j);
        assert_int_equal(jm_jsontok_next(&t, &v, &err), 0);
        assert_int_equal(v.type, JM_J_END);
        jm_json_free(j);
    }
    jm_str_release(&s);
}

/* What jansson refuses for reasons of its own: numbers out of range, NaN, and lone surrogates. */
static bool only_jansson_minds(struct jm_span s, int code)
{
    return code == JM_ERANGE || jm_span_find(s, JM_SPAN("NaN")) >= 0 ||
           jm_span_find(s, JM_SPAN("Infinity")) >= 0 || jm_span_find(s, JM_SPAN("\\ud8")) >= 0 ||
           jm_span_find(s, JM_SPAN("\\ude")) >= 0 || jm_span_find(s, JM_SPAN("\\u0")) >= 0;
}

static void damaged_documents_agree_with_jansson(void **state)
{
    struct jm_rng r;
    struct jm_str s;
    int refused = 0;
    (void)state;
    jm_rng_init(&r, 7);
    jm_str_init(&s);
    for (int i = 0; i < 20000; i++) {
        struct jm_json *j = NULL;
        struct jm_err err = {0}, mine = {0};
        jm_str_reset(&s);
        put_value(&r, &s, 3);
        for (uint64_t k = jm_rng_below(&r, 3) + 1; k; k--) {
            size_t at = jm_rng_below(&r, s.len);
            if (jm_rng_below(&r, 2))
                s.buf[at] = "{}[]\",:\\0919e.-tn \x80\xe4"[jm_rng_below(&r, 20)];
            else
                s.len = at ? at : 1;
        }
        int theirs = jm_json_parse(jm_str_span(&s), &j, &err), ours = walk(jm_str_span(&s), true, &mine);
        refused += ours != 0;
        if ((theirs == 0) != (ours == 0) && !(ours == 0 && only_jansson_minds(jm_str_span(&s), theirs)))
            fail_msg("jansson %d (%s), tokenizer %d (%s): %.*s", theirs, err.text, ours, mine.text,
                     (int)s.len, s.buf);
        jm_json_free(j);
    }
    assert_true(refused > 5000);
    jm_str_release(&s);
}

/* A document in two pieces, cut anywhere, gives the same tokens as the whole one. */
static void pieces_give_the_same_tokens(void **state)
{
    static const char doc[] = " {\"a\": [1, -2.5e3, true, null, \"x\\u00e9\\\"y\"], \"b\" : {}, "
                              "\"c\":\"\xe4\xb8\x96\" , \"d\":NaN} ";
    (void)state;
    for (size_t cut = 0; cut < sizeof doc; cut++) {
        struct jm_jsontok t, whole;
        struct jm_jtoken v, w;
        struct jm_str second;
        bool fed = false;
        jm_str_init(&second);
        jm_jsontok_init(&whole, JM_SPAN(doc), 0);
        jm_jsontok_init(&t, (struct jm_span){doc, cut}, 0);
        t.partial = t.utf8 = true;
        do {
            int rc = jm_jsontok_next(&t, &v, NULL);
            if (rc == JM_EAGAIN && !fed) {
                jm_str_addspan(&second, jm_jsontok_rest(&t));
                jm_str_add(&second, doc + cut, sizeof doc - 1 - cut);
                jm_jsontok_feed(&t, jm_str_span(&second));
                t.partial = false;
                fed = true;
                rc = jm_jsontok_next(&t, &v, NULL);
            }
            assert_int_equal(rc, 0);
            assert_int_equal(jm_jsontok_next(&whole, &w, NULL), 0);
            assert_int_equal(v.type, w.type);
            assert_true(jm_span_eq(v.raw, w.raw) && v.offset == w.offset);
        } while (v.type != JM_J_END);
        jm_str_release(&second);
    }
}

static void members_are_found(void **state)
{
    static const char *const paths[] = {"choices[].delta.content",
                                        "usage.completion_tokens",
                                        "choices[].finish_reason",
                                        "error",
                                        "[].x",
                                        "choices",
                                        "usage.prompt_tokens_details.cached_tokens",
                                        "a[][]"};
    struct jm_jsonscan s;
    struct jm_jsonfound f[8];
    struct jm_err err = {0};
    int64_t i;
    (void)state;
    assert_int_equal(jm_jsonscan_init(&s, paths, 8, &err), 0);
    struct jm_span doc = JM_SPAN(
        "{\"id\":\"x\",\"skip\":{\"usage\":{\"completion_tokens\":9}},\"choices\":[{\"index\":0,\"delta\":{"
        "\"role\":"
        "\"assistant\",\"c\\u006fntent\":\"Hi\"},\"finish_reason\":null}],\"usage\":{\"completion_tokens\":7,"
        "\"prompt_tokens_details\":{\"cached_tokens\":3}},\"a\":[[1,2],[3],4],\"error\":{\"m\":[1,{}]}}");
    assert_int_equal(jm_jsonscan_run(&s, doc, f, &err), 0);
    assert_true(f[0].hits == 1 && jm_jtoken_is(&f[0].v, "Hi"));
    assert_true(f[1].hits == 1 && jm_jtoken_i64(&f[1].v, &i) == 0 && i == 7);
    assert_true(f[2].hits == 1 && f[2].v.type == JM_J_NULL);
    assert_true(f[3].hits == 1 && jm_span_is(f[3].v.raw, "{\"m\":[1,{}]}"));
    assert_int_equal(f[4].hits, 0);
    assert_true(f[5].hits == 1 && f[5].v.raw.p[0] == '[' && f[5].v.raw.p[f[5].v.raw.n - 1] == ']');
    assert_true(f[6].hits == 1 && jm_jtoken_i64(&f[6].v, &i) == 0 && i == 3);
    assert_true(f[7].hits == 3 && jm_jtoken_i64(&f[7].v, &i) == 0 && i == 3);
    assert_int_equal(jm_jsonscan_run(&s, JM_SPAN("[{\"x\":1},{\"y\":{\"x\":5}},[2],{\"x\":3}]"), f, &err), 0);
    assert_true(f[4].hits == 2 && jm_jtoken_i64(&f[4].v, &i) == 0 && i == 3);
    assert_int_equal(jm_jsonscan_run(&s, JM_SPAN("{\"choices\":[{\"delta\":"), f, &err), JM_EPARSE);
    assert_int_equal(jm_jsonscan_run(&s, JM_SPAN("7"), f, &err), 0);
    const char *const wrong[] = {"a..b"}, *const dot[] = {"a."}, *const none[] = {""};
    assert_int_equal(jm_jsonscan_init(&s, wrong, 1, &err), JM_EINVAL);
    assert_int_equal(jm_jsonscan_init(&s, dot, 1, &err), JM_EINVAL);
    assert_int_equal(jm_jsonscan_init(&s, none, 1, &err), JM_EINVAL);
}

/* Paths that begin alike are one way down, but each has its own end; a part of an array and a member of the
 * same place are apart. */
static void paths_share_their_beginning(void **state)
{
    static const char *const paths[] = {"a", "a.b", "a.b.c", "a[]", "a[].b", "a.b[]", "a.b", "ab", "a.bc"};
    enum { N = sizeof paths / sizeof *paths };
    struct jm_jsonscan s;
    struct jm_jsonfound f[N];
    struct jm_err err;
    (void)state;
    assert_int_equal(jm_jsonscan_init(&s, paths, N, &err), 0);
    struct jm_span doc =
        JM_SPAN("{\"\":0,\"a\":{\"b\":{\"c\":1,\"\\u0063\":2},\"bc\":[3]},\"ab\":\"4\",\"abc\":5}");
    assert_int_equal(jm_jsonscan_run(&s, doc, f, &err), 0);
    static const char *const want[N] = {"{\"b\":{\"c\":1,\"\\u0063\":2},\"bc\":[3]}",
                                        "{\"c\":1,\"\\u0063\":2}",
                                        "2",
                                        NULL,
                                        NULL,
                                        NULL,
                                        "{\"c\":1,\"\\u0063\":2}",
                                        "4",
                                        "[3]"};
    static const unsigned hits[N] = {1, 1, 2, 0, 0, 0, 1, 1, 1};
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(f[i].hits, hits[i]);
        if (want[i])
            assert_true(jm_span_is(f[i].v.raw, want[i]));
    }
    doc = JM_SPAN("{\"a\":[{\"b\":7},[{\"b\":8}],{\"b\":9}]}");
    assert_int_equal(jm_jsonscan_run(&s, doc, f, &err), 0);
    assert_int_equal(f[3].hits, 3);
    assert_int_equal(f[4].hits, 2);
    assert_true(jm_span_is(f[4].v.raw, "9"));
    assert_int_equal(f[1].hits, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grammar),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(numbers_are_exact),
        cmocka_unit_test(strings_unescape),
        cmocka_unit_test(random_documents_agree_with_jansson),
        cmocka_unit_test(damaged_documents_agree_with_jansson),
        cmocka_unit_test(pieces_give_the_same_tokens),
        cmocka_unit_test(paths_share_their_beginning),
        cmocka_unit_test(members_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
