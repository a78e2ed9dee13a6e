/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign YAML as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/yamljson.h"

static int rc_of(const char *yaml, struct jm_str *json, struct jm_err *err)
{
    jm_str_reset(json);
    return jm_yaml_json(jm_span_of(yaml), json, err);
}

static void documents(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *json;
    } rows[] = {
        {"a: 1\nb: 2.5\nc: text\nd: '1'\ne: \"x\\ny\"\n",
         "{\"a\":1,\"b\":2.5,\"c\":\"text\",\"d\":\"1\",\"e\":\"x\\ny\"}"},
        {"- true\n- False\n- ~\n- null\n-\n- yes\n", "[true,false,null,null,null,\"yes\"]"},
        {"S:\n- R:\n  - {N: 3, P: [4, 5]}\n", "{\"S\":[{\"R\":[{\"N\":3,\"P\":[4,5]}]}]}"},
        {"7", "7"},
        {"12: x\n", "{\"12\":\"x\"}"},
        {"---\na: 0x10\n...\n", "{\"a\":\"0x10\"}"},
    };
    struct jm_str json;
    struct jm_err err = {0};
    jm_str_init(&json);
    int rc = rc_of("a: 1", &json, &err);
    if (rc == JM_EUNSUPPORTED) { /* built without libyaml */
        jm_str_release(&json);
        skip();
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(rc_of(rows[i].yaml, &json, &err), 0);
        assert_string_equal(json.buf, rows[i].json);
    }
    static const char *const bad[] = {
        "", "a: &x 1\nb: *x\n", "a: 1\n---\nb: 2\n", "{a: b", "a: b: c", "? [1]\n: 2\n", "\t- x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        err.text[0] = 0;
        assert_int_equal(rc_of(bad[i], &json, &err), JM_EPARSE);
        assert_true(err.text[0]);
    }
    char deep[200];
    memset(deep, '[', 100);
    deep[100] = 0;
    rc = rc_of(deep, &json, &err);
    assert_true(rc == JM_ELIMIT || rc == JM_EPARSE);
    jm_str_release(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(documents)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
