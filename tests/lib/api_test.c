/* SPDX-License-Identifier: Apache-2.0 */
/* The public API alone: this file includes nothing but joulemark.h of the project. */
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

#include <joulemark.h>

static char path[64];

static void without_meters(void **state)
{
    joulemark_options o = JOULEMARK_OPTIONS_INIT;
    joulemark_session *s;
    joulemark_report *r;
    joulemark_error e = {0};
    joulemark_result q = {.size = sizeof q};
    const char *profile;
    char *text;
    size_t n;
    (void)state;
    o.file = path;
    o.overwrite = 1;
    o.nvml_lib = "/nonexistent/libnvidia-ml.so.1";
    o.sysfs_root = "/nonexistent";
    if (joulemark_session_open(&o, &s, &e))
        fail_msg("%s", e.text);
    assert_int_equal(joulemark_session_channels(s), 0);
    assert_true(strlen(joulemark_session_why(s)) > 20);
    assert_int_equal(joulemark_window_end(s, &e), JOULEMARK_ESTATE);
    assert_int_equal(joulemark_window_begin(s, "w", &e), 0);
    assert_int_equal(joulemark_window_begin(s, "again", &e), JOULEMARK_ESTATE);
    assert_int_equal(joulemark_mark(s, "here"), 0);
    assert_int_equal(joulemark_note(s, "plan.x", "1"), 0);
    assert_int_equal(joulemark_window_end(s, &e), 0);
    assert_int_equal(joulemark_session_close(s, &e), 0);
    /* a second one on the same file is refused unless asked for */
    o.overwrite = 0;
    assert_int_equal(joulemark_session_open(&o, &s, &e), JOULEMARK_ECONFLICT);
    if (joulemark_report_open(path, &r, &e))
        fail_msg("%s", e.text);
    assert_string_equal(joulemark_report_validity(r, &profile), "invalid");
    assert_string_equal(profile, "screening");
    assert_int_equal(joulemark_report_find(r, "energy", "gpu", NULL, &q), JOULEMARK_EABSENT);
    assert_int_equal(joulemark_report_render(r, "json", &text, &n, &e), 0);
    assert_non_null(strstr(text, "\"meters.none\""));
    assert_int_equal(strlen(text), n);
    joulemark_free(text);
    assert_int_equal(joulemark_report_render(r, "pdf", &text, &n, &e), JOULEMARK_EINVAL);
    joulemark_report_close(r);
}

static void bad_arguments(void **state)
{
    joulemark_options o = JOULEMARK_OPTIONS_INIT;
    joulemark_session *s;
    joulemark_report *r;
    joulemark_error e = {0};
    (void)state;
    assert_int_equal(joulemark_session_open(&o, &s, &e), JOULEMARK_EINVAL);
    assert_true(e.code == JOULEMARK_EINVAL && e.text[0]);
    assert_int_equal(joulemark_session_open(NULL, &s, NULL), JOULEMARK_EINVAL);
    o.file = "/nonexistent/dir/x.jmr";
    assert_true(joulemark_session_open(&o, &s, &e) < 0);
    assert_int_equal(joulemark_report_open("/nonexistent.jmr", &r, &e), JOULEMARK_EABSENT);
    assert_int_equal(joulemark_session_close(NULL, NULL), 0);
    joulemark_report_close(NULL);
    assert_true(joulemark_version()[0]);
}

static void comparing(void **state)
{
    joulemark_error e = {0};
    joulemark_comparison *c = NULL;
    char a[600], b[600], *text = NULL;
    const char *root = getenv("JM_SOURCE");
    double saving, lo, hi;
    size_t n = 0;
    (void)state;
    if (!root)
        skip();
    snprintf(a, sizeof a, "%s/examples/a.jmr", root);
    snprintf(b, sizeof b, "%s/examples/b.jmr", root);
    const char *fa = a, *fb = b;
    if (joulemark_compare(&fa, 1, &fb, 1, NULL, NULL, &c, &e))
        fail_msg("%s", e.text);
    assert_string_equal(joulemark_comparison_verdict(c), "lower");
    assert_non_null(strstr(joulemark_comparison_sentence(c), "less energy per output token"));
    assert_int_equal(joulemark_comparison_saving(c, &saving, &lo, &hi), 6);
    assert_true(0.03 < lo && lo < saving && saving < hi && hi < 0.09);
    assert_int_equal(joulemark_comparison_render(c, "json", &text, &n, &e), 0);
    assert_non_null(strstr(text, "joulemark.compare/1"));
    joulemark_free(text);
    assert_int_equal(joulemark_comparison_render(c, "pdf", &text, &n, &e), JOULEMARK_EINVAL);
    joulemark_comparison_free(c);
    assert_int_equal(joulemark_compare(&fa, 1, &fa, 1, NULL, NULL, &c, &e), JOULEMARK_EUSAGE);
    assert_int_equal(joulemark_compare(&fa, 1, &fb, 1, NULL, "clocks,moon", &c, &e), JOULEMARK_EUSAGE);
    assert_non_null(strstr(e.text, "moon"));
    fb = "absent.jmr";
    assert_int_equal(joulemark_compare(&fa, 1, &fb, 1, NULL, NULL, &c, &e), JOULEMARK_EABSENT);
    assert_int_equal(joulemark_compare(&fa, 1, &fb, 0, NULL, NULL, &c, &e), JOULEMARK_EUSAGE);
    joulemark_comparison_free(NULL);
}

int main(void)
{
    snprintf(path, sizeof path, "api_test.%d.jmr", (int)getpid());
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_meters), cmocka_unit_test(bad_arguments),
                                       cmocka_unit_test(comparing)};
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return rc;
}
