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

/* The same device, and another one, driver, firmware, host. */
static void fits(void **state)
{
    (void)state;
    struct jm_passport p = {.host = "n1", .driver = "580.95.05"};
    struct jm_passport_row *g = jm_passport_add(&p);
    assert_non_null(g);
    snprintf(g->device, sizeof g->device, "GPU-8932f937");
    snprintf(g->channel, sizeof g->channel, "energy");
    struct jm_passport_row *o = jm_passport_add(&p);
    assert_non_null(o);
    snprintf(o->device, sizeof o->device, "outlet 3");
    snprintf(o->channel, sizeof o->channel, "power");
    static const struct {
        struct jm_passport_for x;
        int row;
        enum jm_passport_match want;
    } v[] = {
        {{"GPU-8932f937", "energy", "nvml", "n2", "580.95.05", ""}, 0, JM_PASSPORT_FITS},
        {{"GPU-8932f937", "energy", "nvml", "n1", "570.1", ""}, 0, JM_PASSPORT_DRIVER},
        {{"GPU-8932f937", "power.instant", "nvml", "n1", "580.95.05", ""}, 0, JM_PASSPORT_OTHER},
        {{"GPU-8932f938", "energy", "nvml", "n1", "580.95.05", ""}, 0, JM_PASSPORT_OTHER},
        {{"outlet 3", "power", "snmp", "n1", "", ""}, 1, JM_PASSPORT_FITS},
        {{"outlet 3", "power", "snmp", "n2", "", ""}, 1, JM_PASSPORT_HOST},
        {{"outlet 3", "power", "snmp", "n1", "", "APC AP8941 v6.1"}, 1, JM_PASSPORT_FIRMWARE},
    };
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        struct jm_err err = {0};
        if (jm_passport_match(&p, &p.row[v[i].row], &v[i].x) != v[i].want)
            fail_msg("%zu", i);
        int rc = jm_passport_fits(&p, &v[i].x, 1, false, &err);
        assert_int_equal(rc, v[i].want == JM_PASSPORT_FITS ? 0 : JM_ECONFLICT);
        assert_true(!rc == !err.text[0]);
    }
    jm_passport_release(&p);
}

static const char *fact(const void *self, const char *key)
{
    const char *const *f = self;
    for (; *f; f += 2)
        if (!strcmp(f[0], key))
            return f[1];
    return NULL;
}

static void identities(void **state)
{
    (void)state;
    static const char *const facts[] = {"nvml.driver",
                                        "580.95.05",
                                        "host.kernel",
                                        "Linux 6.1.0-28-amd64 #1 SMP Debian",
                                        "yokogawa.identity",
                                        "YOKOGAWA,WT310E,C3XA04010E,F1.04",
                                        "instrument.pdu1.descr",
                                        "APC MS-1.1 v6.4.6",
                                        NULL};
    static const char *const want[][4] = {{"nvml", "lib", "580.95.05", ""},
                                          {"rapl", "/sys", "Linux 6.1.0-28-amd64", ""},
                                          {"yokogawa", "x", "", "YOKOGAWA,WT310E,C3XA04010E,F1.04"},
                                          {"snmp", "pdu1", "", "APC MS-1.1 v6.4.6"},
                                          {"ipmi", "bmc1", "", ""}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct jm_passport_for x = {.meter = want[i][0]};
        jm_passport_identify(&x, want[i][1], fact, facts);
        assert_string_equal(x.driver, want[i][2]);
        assert_string_equal(x.firmware, want[i][3]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip), cmocka_unit_test(bad),
                                       cmocka_unit_test(fits), cmocka_unit_test(identities)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
