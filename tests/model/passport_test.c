/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/passport.h"

static void round_trip(void **state)
{
    (void)state;
    struct jm_passport p = {.host = "n1", .driver = "580.95.05", .date = "2026-11-29T15:08:00Z"}, q;
    struct jm_str s;
    struct jm_err err = {0};
    jm_str_init(&s);
    struct jm_passport_row *r = jm_passport_add(&p);
    assert_non_null(r);
    snprintf(r->device, sizeof r->device, "GPU-8932f937");
    snprintf(r->channel, sizeof r->channel, "power.instant");
    r->period = (struct jm_trait){0.1, 0.0999, 0.1001};
    r->window = (struct jm_trait){0.025, 0.024, 0.026};
    snprintf(r->note, sizeof r->note, "a \"note\"");
    jm_passport_write(&p, &s);
    assert_int_equal(jm_passport_read(jm_str_span(&s), &q, &err), 0);
    assert_int_equal(q.n, 1);
    assert_string_equal(q.driver, "580.95.05");
    const struct jm_passport_row *x = jm_passport_find(&q, "GPU-8932f937", "power.instant");
    assert_non_null(x);
    assert_true(x->period.value == 0.1 && x->window.hi == 0.026);
    assert_true(isnan(x->lag.value) && isnan(x->gain.value)); /* not found is not 0 */
    assert_string_equal(x->note, "a \"note\"");
    assert_null(jm_passport_find(&q, "GPU-8932f937", "energy"));
    jm_passport_release(&p);
    jm_passport_release(&q);
    jm_str_release(&s);
}

static void bad(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int rc;
    } v[] = {
        {"", JM_EPARSE},
        {"[]", JM_EPARSE},
        {"{\"schema\": \"joulemark.show/1\", \"instruments\": []}", JM_EPARSE},
        {"{\"schema\": \"joulemark.passport/2\", \"instruments\": []}", JM_EVERSION},
        {"{\"schema\": \"joulemark.passport/1\"}", JM_EPARSE},
        {"{\"schema\": \"joulemark.passport/1\", \"instruments\": [{\"device\": \"x\"}]}", JM_EPARSE},
        {"{\"schema\": \"joulemark.passport/1\", \"instruments\": [{\"channel\": \"x\", \"lag_s\": 3}]}",
         JM_EPARSE},
        {"{\"schema\": \"joulemark.passport/1\", \"instruments\": [{\"channel\": \"x\", \"lag_s\": "
         "{\"value\": 3, "
         "\"lo\": 4, \"hi\": 5}}]}",
         JM_EPARSE},
    };
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        struct jm_passport p;
        struct jm_err err = {0};
        if (jm_passport_read(jm_span_of(v[i].text), &p, &err) != v[i].rc || !err.text[0])
            fail_msg("%zu: %s", i, err.text);
        jm_passport_release(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip), cmocka_unit_test(bad)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
