/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include "mlperf/textlog.h"

static struct jm_str out;

static int begin(void **state)
{
    (void)state;
    jm_str_init(&out);
    return 0;
}

static int end(void **state)
{
    (void)state;
    jm_str_release(&out);
    return 0;
}

/* Lines of published client.log files: Lenovo SR680a of v5.1 (written where local time is UTC), NVIDIA H200
 * of v4.1 (UTC-7: its client.json has cmd_time 1721198523.233806 for 23:42:03,233 of the day before). */
static void lines_are_those_of_the_public_tool(void **state)
{
    (void)state;
    jm_mlperf_textlog(&out, "client", INT64_C(1753687116727950800), 0, JM_LOG_INFO,
                      JM_SPAN("Sending command to the server: 'mlcommons/power client v3'"));
    jm_mlperf_textlog(&out, "client", INT64_C(1721198523233806000), -7 * 3600, JM_LOG_INFO,
                      JM_SPAN("Sending command to the server: 'mlcommons/power client v3'"));
    jm_mlperf_textlog(&out, "ptd-server", INT64_C(1721198523000000000), 0, JM_LOG_WARN,
                      JM_SPAN("two\nlines"));
    assert_string_equal(
        out.buf,
        "client 2025-07-28 07:18:36,727 [INFO] Sending command to the server: 'mlcommons/power client v3'\n"
        "client 2024-07-16 23:42:03,233 [INFO] Sending command to the server: 'mlcommons/power client v3'\n"
        "ptd-server 2024-07-17 06:42:03,000 [WARNING] two lines\n");
}

static void quoted(const char *text, size_t n, const char *want)
{
    jm_str_reset(&out);
    jm_mlperf_quote(&out, (struct jm_span){text, n});
    assert_string_equal(out.buf, want);
}

/* Right hand sides: repr() of CPython 3.11. */
static void quotes_are_those_of_python(void **state)
{
    (void)state;
    quoted("", 0, "''");
    quoted("plain", 5, "'plain'");
    quoted("it's", 4, "\"it's\"");
    quoted("a'b\"c", 5, "'a\\'b\"c'");
    quoted("\\x\n\t\r", 5, "'\\\\x\\n\\t\\r'");
    quoted("\0\x1b\x7f", 3, "'\\x00\\x1b\\x7f'");
    quoted("caf\xc3\xa9", 5, "'caf\xc3\xa9'");
    quoted("\xff", 1, "'\xef\xbf\xbd'");
}

static void the_offset_is_that_of_the_zone(void **state)
{
    (void)state;
    setenv("TZ", "EST5EDT,M3.2.0,M11.1.0", 1);
    tzset();
    assert_int_equal(jm_mlperf_utc_offset(INT64_C(1753687116) * JM_NS_PER_S), -4 * 3600); /* July */
    assert_int_equal(jm_mlperf_utc_offset(INT64_C(1737000000) * JM_NS_PER_S), -5 * 3600); /* January */
    setenv("TZ", "UTC", 1);
    tzset();
    assert_int_equal(jm_mlperf_utc_offset(0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_are_those_of_the_public_tool, begin, end),
        cmocka_unit_test_setup_teardown(quotes_are_those_of_python, begin, end),
        cmocka_unit_test_setup_teardown(the_offset_is_that_of_the_zone, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
