/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "model/pue.h"

static void good(void **state)
{
    struct jm_pue p;
    struct jm_err e = {0};
    struct jm_str s;
    (void)state;
    assert_int_equal(jm_pue_parse("1.12", &p, &e), 0);
    assert_true(p.value == 1.12 && !p.category[0] && !p.period[0] && !p.source[0]);
    assert_null(jm_pue_point(&p));
    assert_int_equal(jm_pue_parse("1.12,2", &p, &e), 0);
    assert_string_equal(p.category, "2");
    assert_int_equal(jm_pue_parse(" 1.3, category=1 , period=2025,source=EED report, table 3 ", &p, &e), 0);
    assert_string_equal(p.category, "1");
    assert_string_equal(p.period, "2025");
    assert_string_equal(p.source, "EED report, table 3");
    assert_non_null(strstr(jm_pue_point(&p), "UPS"));
    jm_str_init(&s);
    jm_pue_say(&p, &s);
    assert_string_equal(s.buf, "a PUE of 1.3 (category 1, 2025, EED report, table 3)");
    jm_str_release(&s);
}

static void bad(void **state)
{
    static const char *const text[] = {"",
                                       "0.99",
                                       "11",
                                       "nan",
                                       "1.2 W",
                                       "1.2,4",
                                       "1.2,",
                                       "1.2,x",
                                       "1.2,2,3",
                                       "1.2,period=",
                                       "1.2,category=9",
                                       "1.2,source=",
                                       "1.2,period=a,period=b",
                                       "1.2,source=\x1b[31m"};
    (void)state;
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        struct jm_pue p = {.value = 7};
        struct jm_err e = {0};
        if (jm_pue_parse(text[i], &p, &e) != JM_EUSAGE || !e.text[0])
            fail_msg("\"%s\": %s", text[i], e.text);
        assert_true(p.value == 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good),
        cmocka_unit_test(bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
