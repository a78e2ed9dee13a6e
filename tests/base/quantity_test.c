/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/option.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void durations(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } row[] = {{"30s", 30000000000},
               {"100 ms", 100000000},
               {" 5 us ", 5000},
               {"5 \xc2\xb5s", 5000},
               {"5\xce\xbcs", 5000},
               {"1ns", 1},
               {"0s", 0},
               {"1h30m", 5400000000000},
               {"1h 30min 5.5s", 5405500000000},
               {"1d2h3m4s5ms6us7ns", 93784005006007},
               {".5 s", 500000000},
               {"1.s", 1000000000},
               {"0.1s", 100000000},
               {"0.0000000015 s", 2}, /* to the nearest */
               {"9223372036854775807ns", INT64_MAX},
               {"106751d", INT64_C(106751) * 86400 * 1000000000},
               {"1.000000000000000000000000000000001 d", INT64_C(86400000000000)}};
    static const struct {
        const char *text;
        int code;
        const char *part;
    } bad[] = {{"", JM_EPARSE, "missing"},
               {"   ", JM_EPARSE, "missing"},
               {"30", JM_EPARSE, "no unit"},
               {"s", JM_EPARSE, "not a duration"},
               {"-5s", JM_ERANGE, "negative"},
               {"+5s", JM_EPARSE, "not a duration"},
               {"5 W", JM_EPARSE, "not a unit of time"},
               {"5S", JM_EPARSE, "not a unit of time"},
               {"5 sec", JM_EPARSE, "not a unit of time"},
               {"1e3s", JM_EPARSE, "not a unit of time"},
               {"0x5s", JM_EPARSE, "not a unit of time"},
               {"1,5s", JM_EPARSE, "not a unit of time"},
               {"30m1h", JM_EPARSE, "falling order"},
               {"1m1m", JM_EPARSE, "falling order"},
               {"1m1min", JM_EPARSE, "falling order"},
               {"1h30", JM_EPARSE, "no unit"},
               {"1h-30m", JM_EPARSE, "not a unit of time"},
               {"1..5s", JM_EPARSE, "no unit"},
               {"infs", JM_EPARSE, "not a duration"},
               {"9223372036854775808ns", JM_ERANGE, "292 years"},
               {"106752d", JM_ERANGE, "292 years"},
               {"106751d 86400s", JM_ERANGE, "292 years"},
               {"99999999999999999999999999999999999999999999h", JM_ERANGE, "292 years"},
               {"0.1ns", JM_ERANGE, "1 ns"}};
    (void)state;
    for (size_t i = 0; i < COUNT(row); i++) {
        int64_t ns = -1;
        struct jm_err err = {0};
        if (jm_quantity_duration(jm_span_of(row[i].text), &ns, &err) || ns != row[i].ns)
            fail_msg("%s: %lld, %s", row[i].text, (long long)ns, err.text);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        int64_t ns = -1;
        struct jm_err err = {0};
        int rc = jm_quantity_duration(jm_span_of(bad[i].text), &ns, &err);
        if (rc != bad[i].code || ns != -1 || !strstr(err.text, bad[i].part))
            fail_msg("%s: %d, %s", bad[i].text, rc, err.text);
    }
    int64_t ns;
    assert_int_equal(jm_quantity_duration((struct jm_span){"5s\0", 3}, &ns, NULL), JM_EPARSE);
    assert_int_equal(jm_quantity_duration((struct jm_span){NULL, 0}, &ns, NULL), JM_EPARSE);
}

typedef int parser(struct jm_span, double *, struct jm_err *);

static void take(parser *fn, const char *text, double want)
{
    double v = NAN;
    struct jm_err err = {0};
    if (fn(jm_span_of(text), &v, &err) || fabs(v - want) > 1e-15 * fabs(want))
        fail_msg("%s: %.17g, %s", text, v, err.text);
}

static void refuse(parser *fn, const char *text, int code, const char *part)
{
    double v = -1;
    struct jm_err err = {0};
    int rc = fn(jm_span_of(text), &v, &err);
    if (rc != code || v != -1 || !strstr(err.text, part))
        fail_msg("%s: %d %g, %s", text, rc, v, err.text);
}

static void units(void **state)
{
    (void)state;
    take(jm_quantity_rate, "10 Hz", 10);
    take(jm_quantity_rate, "10/s", 10);
    take(jm_quantity_rate, "600 /min", 10);
    take(jm_quantity_rate, "0.5kHz", 500);
    take(jm_quantity_rate, "500 mHz", 0.5);
    refuse(jm_quantity_rate, "10", JM_EPARSE, "no unit");
    refuse(jm_quantity_rate, "10 hz", JM_EPARSE, "case counts");
    refuse(jm_quantity_rate, "10 MHz", JM_EPARSE, "not a unit of rate");
    take(jm_quantity_power, "700 W", 700);
    take(jm_quantity_power, "5.6 kW", 5600);
    take(jm_quantity_power, "2.5mW", 0.0025);
    take(jm_quantity_power, "2.5MW", 2.5e6);
    take(jm_quantity_power, "1e3 W", 1000);
    take(jm_quantity_power, "1E-3W", 0.001);
    take(jm_quantity_power, "0 W", 0);
    refuse(jm_quantity_power, "700w", JM_EPARSE, "case counts");
    refuse(jm_quantity_power, "700 J", JM_EPARSE, "not a unit of power");
    refuse(jm_quantity_power, "-1 W", JM_ERANGE, "negative");
    refuse(jm_quantity_power, "1e999 W", JM_ERANGE, "does not fit");
    refuse(jm_quantity_power, "1e306 kW", JM_ERANGE, "does not fit"); /* 1e309 */
    refuse(jm_quantity_power, "1 W W", JM_EPARSE, "not a unit");
    refuse(jm_quantity_power, "nan W", JM_EPARSE, "is not a power");
    refuse(jm_quantity_power, "", JM_EPARSE, "is not a power");
    take(jm_quantity_energy, "1 kWh", 3.6e6);
    take(jm_quantity_energy, "0.26 J", 0.26);
    take(jm_quantity_energy, "1 MWh", 3.6e9);
    refuse(jm_quantity_energy, "1 kwh", JM_EPARSE, "not a unit of energy");
    refuse(jm_quantity_energy, "1 W", JM_EPARSE, "not a unit of energy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(durations), cmocka_unit_test(units)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
