/* SPDX-License-Identifier: Apache-2.0 */
/* Load curves of operators: the forms they come in, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/str.h"
#include "wire/diurnal.h"

/* A head, and `n` rows of hour and load in a form of printf (hour as a double, then the load). */
static void rows(struct jm_str *s, const char *head, int n, double step, const char *form)
{
    jm_str_reset(s);
    jm_str_adds(s, head);
    for (int i = 0; i < n; i++) {
        char line[64];
        int at = (int)(i * step * 60 + 0.5);
        if (strchr(form, ':'))
            snprintf(line, sizeof line, "%02d:%02d,%.4f\n", at / 60, at % 60, i * 0.01);
        else
            snprintf(line, sizeof line, "%g%s\n", i * step, form);
        jm_str_adds(s, line);
    }
}

static void forms(void **state)
{
    struct jm_str s;
    struct jm_diurnal d;
    struct jm_err err = {0};
    (void)state;
    jm_str_init(&s);
    rows(&s, "hour,load\n", 24, 1, ",0.5");
    assert_int_equal(jm_diurnal_read(jm_str_span(&s), &d, &err), 0);
    assert_true(d.n == 24 && d.hours == 1 && d.share && d.load[23] == 0.5);
    jm_diurnal_release(&d);
    rows(&s, "\xef\xbb\xbf# night first\r\nload;hour\n", 0, 1, "");
    for (int i = 0; i < 24; i++) {
        char line[32];
        snprintf(line, sizeof line, "35 %%;%d\r\n", i);
        jm_str_adds(&s, line);
    }
    if (jm_diurnal_read(jm_str_span(&s), &d, &err))
        fail_msg("%s", err.text);
    assert_true(d.n == 24 && d.share && fabs(d.load[7] - 0.35) < 1e-12);
    jm_diurnal_release(&d);
    rows(&s, "hour,requests_per_s\n", 96, 0.25, ",7");
    assert_int_equal(jm_diurnal_read(jm_str_span(&s), &d, &err), 0);
    assert_true(d.n == 96 && d.hours == 0.25 && !d.share && d.load[3] == 7);
    jm_diurnal_release(&d);
    rows(&s, "", 168, 1, ",90/min"); /* a week, without a head */
    assert_int_equal(jm_diurnal_read(jm_str_span(&s), &d, &err), 0);
    assert_true(d.n == 168 && !d.share && fabs(d.load[0] - 1.5) < 1e-12);
    jm_diurnal_release(&d);
    rows(&s, "time,load\n", 48, 0.5, ":");
    assert_int_equal(jm_diurnal_read(jm_str_span(&s), &d, &err), 0);
    assert_true(d.n == 48 && fabs(d.hours - 0.5) < 1e-12 && fabs(d.load[47] - 0.47) < 1e-12);
    jm_diurnal_release(&d);
    jm_str_reset(&s);
    jm_str_adds(&s, "time,load\n");
    for (int i = 0; i < 24; i++) { /* clocks are set forward in between: with zones nothing is missing */
        char line[64];
        snprintf(line, sizeof line, "2026-03-%02dT%02d:00:00+0%d:00,0.1\n", i + (i >= 2) < 24 ? 29 : 30,
                 (i + (i >= 2)) % 24, 1 + (i >= 2));
        jm_str_adds(&s, line);
    }
    if (jm_diurnal_read(jm_str_span(&s), &d, &err))
        fail_msg("%s", err.text);
    assert_true(d.n == 24 && fabs(d.hours - 1) < 1e-9);
    jm_diurnal_release(&d);
    jm_str_release(&s);
}

static void refusals(void **state)
{
    static const struct {
        const char *text, *words;
    } bad[] = {{"", "no rows"},
               {"hour,load\n", "no rows"},
               {"hour,load\n0,0.5\n1,0.5\n", "24 h at least"},
               {"hour,load\n0,0.5\n1,0.5\n3,0.5\n", "line 4: the steps are 1 h and this one is 2 h"},
               {"hour,load\n0,0.5\n1,0.5\n1,0.5\n", "line 4: this hour is not later"},
               {"hour,load\n0,70\n", "0 to 1"},
               {"hour,load\n0,\n", "a load is missing: it is not 0"},
               {"hour,load\n0,-0.5\n", "0 or more"},
               {"hour,load\n0,nan\n", "a load is a number"},
               {"hour,load\n0,50 %\n1,3/s\n", "mixed"},
               {"hour,requests_per_s\n0,50 %\n", "mixed"},
               {"hour,load\n25:70,0.5\n", "an hour is"},
               {"hour,load\nnoon,0.5\n", "an hour is"},
               {"hour,watts\n0,300\n", "columns hour and load"},
               {"hour,load\n0,0.5\n2026-03-01T00:00:00Z,0.5\n", "do not go together"},
               {"hour,load\n0\n", "line 2: this row has 1 columns"}};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct jm_diurnal d;
        struct jm_err err = {0};
        if (jm_diurnal_read(jm_span_of(bad[i].text), &d, &err) == 0 || !strstr(err.text, bad[i].words) ||
            d.load)
            fail_msg("\"%s\": %s", bad[i].text, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(forms), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
