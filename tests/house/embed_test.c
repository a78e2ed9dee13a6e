/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded assets are whole and may stand in a page, or are empty together. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "show/assets.h"

static void all_or_nothing(void **state)
{
    (void)state;
    if (jm_asset_uplot_js_len == 0) {
        assert_int_equal(jm_asset_uplot_css_len, 0);
        assert_int_equal(jm_asset_uplot_license_len, 0);
        skip();
    }
    assert_true(jm_asset_uplot_css_len > 0);
    assert_non_null(strstr((const char *)jm_asset_uplot_js, "uPlot"));
    assert_non_null(strstr((const char *)jm_asset_uplot_css, ".uplot"));
    assert_non_null(strstr((const char *)jm_asset_uplot_license, "MIT License"));
}

static void ends_with_zero(void **state)
{
    (void)state;
    assert_int_equal(strlen((const char *)jm_asset_uplot_js), jm_asset_uplot_js_len);
    assert_int_equal(strlen((const char *)jm_asset_uplot_css), jm_asset_uplot_css_len);
    assert_int_equal(strlen((const char *)jm_asset_uplot_license), jm_asset_uplot_license_len);
}

static void may_stand_in_a_page(void **state)
{
    (void)state;
    assert_null(strcasestr((const char *)jm_asset_uplot_js, "</script"));
    assert_null(strcasestr((const char *)jm_asset_uplot_css, "</style"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_or_nothing),
        cmocka_unit_test(ends_with_zero),
        cmocka_unit_test(may_stand_in_a_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
