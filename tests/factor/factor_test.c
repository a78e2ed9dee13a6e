/* SPDX-License-Identifier: Apache-2.0 */
/* Factors that are given, the shipped table, tariffs by the local clock. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "factor/factor.h"

#define NEAR(got, want)                                                                                      \
    assert_true(fabs((double)(got) - (double)(want)) <= 1e-9 * fabs((double)(want)) + 1e-12)
#define H(y, mo, d, h) (jm_time_unix(y, mo, d, h, 0, 0) * JM_NS_PER_S)

static struct jm_factor_set set;
static struct jm_err err;

static void refused(int rc, const char *says)
{
    assert_int_equal(rc, JM_EUSAGE);
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    jm_factor_set_release(&set);
}

/* What the guides say of the three countries (France some 20 to 60, Germany some 363, Spain 150 to 170 g/kWh
 * in other years) agrees with the table within a tenth of the range. */
static void the_table(void **state)
{
    struct jm_country c;
    size_t n = 0, none = 0;
    (void)state;
    while (jm_country_at(n, &c)) {
        assert_true(strlen(c.iso2) == 2 && strlen(c.iso3) == 3 && c.name[0]);
        assert_true(c.year >= 2000 && c.year <= 2026);
        assert_string_equal(c.unit, "gCO2e/kWh");
        assert_string_equal(c.kind, "life-cycle");
        assert_string_equal(c.licence, "CC BY 4.0");
        assert_non_null(strstr(c.attribution, "Ember"));
        none += isnan(c.value);
        assert_true(isnan(c.value) || (c.value > 10 && c.value < 1400));
        n++;
    }
    assert_int_equal(n, 213);
    assert_int_equal(none, 1); /* whose source rounds it to 0 */
    assert_int_equal(jm_country_find(JM_SPAN("FRA"), &c, &err), 0);
    assert_true(c.value > 20 && c.value < 62);
    NEAR(c.value, 56.039);
    assert_int_equal(jm_country_find(JM_SPAN("de"), &c, &err), 0);
    assert_true(fabs(c.value / 363 - 1) < 0.06);
    assert_int_equal(jm_country_find(JM_SPAN("spain"), &c, &err), 0);
    assert_true(c.value > 150 && c.value < 170 * 1.06);
    assert_int_equal(jm_country_find(JM_SPAN("Atlantis"), &c, &err), JM_EABSENT);
}

static void given(void **state)
{
    (void)state;
    assert_int_equal(jm_factor_carbon_given("FR,deu, Spain", &set, &err), 0);
    assert_int_equal(set.n, 3);
    assert_string_equal(set.f[1].zone, "DE");
    assert_string_equal(set.f[2].zone, "ES");
    assert_string_equal(set.f[0].vintage, "2023");
    assert_non_null(jm_factor_scope2(&set.f[0])); /* life-cycle */
    assert_int_equal(
        jm_factor_carbon_given("FR=40g/kWh@2024:generation,DE=0.69kg/kWh@2024:generation:residual,"
                               "US-CAL-CISO=1000lb/MWh@2024:generation:marginal",
                               &set, &err),
        0);
    NEAR(set.f[3].constant, 40);
    assert_null(jm_factor_scope2(&set.f[3]));
    NEAR(set.f[4].constant, 690);
    assert_int_equal(set.f[4].basis, JM_FACTOR_RESIDUAL);
    NEAR(set.f[5].constant, 453.59237);
    assert_true(set.f[5].marginal);
    assert_int_equal(jm_factor_price_given("FR=0.058,DE=91EUR/MWh@2026,GB=0.2", &set, &err), 0);
    NEAR(set.f[6].constant, 0.058);
    assert_string_equal(set.f[6].unit, "EUR/kWh");
    NEAR(set.f[7].constant, 0.091);
    assert_string_equal(set.f[8].unit, "GBP/kWh");
    assert_int_equal(jm_factor_check(&set, &err), 0);
    assert_int_equal(jm_factor_price_given("FRA=0.06", &set, &err), 0);
    refused(jm_factor_check(&set, &err), "FR: two price factors");
    refused(jm_factor_carbon_given("FR=40", &set, &err), "without a unit");
    refused(jm_factor_carbon_given("FR=40g/kWh", &set, &err), "without a year");
    refused(jm_factor_carbon_given("FR=40g/kWh@20x4", &set, &err), "without a year");
    refused(jm_factor_carbon_given("FR=40TWh@2024", &set, &err), "no mass of CO2");
    refused(jm_factor_carbon_given("FR=40g/kWh@2024:green", &set, &err), "not one of");
    refused(jm_factor_carbon_given("FR=-1g/kWh@2024", &set, &err), "no carbon factor");
    refused(jm_factor_carbon_given("Frnce", &set, &err), "Did you mean France");
    refused(jm_factor_carbon_given("UK", &set, &err), "GB");
    refused(jm_factor_carbon_given("CAF", &set, &err), "no usable value");
    refused(jm_factor_carbon_given("FR,,DE", &set, &err), "no country");
    refused(jm_factor_price_given("KE=0.2", &set, &err), "without a currency");
    refused(jm_factor_price_given("FR=cheap", &set, &err), "no price");
    refused(jm_factor_price_given("FR=0.2g/kWh", &set, &err), "no currency");
    refused(jm_factor_price_given("0.2", &set, &err), "no price");
}

static const char tariff[] =
    "zone: FR\ntime-zone: Europe/Paris\nunit: EUR/kWh\nyear: 2026\nsource: contract 17\n"
    "periods:\n"
    "  - {name: day, price: 0.2, from: \"06:00\", to: \"22:00\"}\n"
    "  - {name: night, price: 0.1, from: \"22:00\", to: \"06:00\"}\n";

static double mean(int64_t t0, int64_t t1)
{
    struct jm_factor_mean m;
    jm_factor_mean(&set.f[0], t0, t1, &m);
    return m.value;
}

/* Local days in Paris: 23 hours on 29 March (night 7 h, day 16 h), 25 on 25 October (9 h and 16 h). */
static void by_the_clock(void **state)
{
    (void)state;
    if (access("/usr/share/zoneinfo/Europe/Paris", R_OK) != 0)
        skip();
    assert_int_equal(jm_factor_tariff(jm_span_of(tariff), NULL, &set, &err), 0);
    NEAR(mean(H(2026, 3, 28, 23), H(2026, 3, 29, 22)), (16 * 0.2 + 7 * 0.1) / 23);
    NEAR(mean(H(2026, 10, 24, 22), H(2026, 10, 25, 23)), (16 * 0.2 + 9 * 0.1) / 25);
    NEAR(mean(H(2026, 6, 30, 22), H(2026, 7, 1, 22)), (16 * 0.2 + 8 * 0.1) / 24);
    NEAR(mean(H(2026, 1, 14, 4), H(2026, 1, 14, 5)), 0.1);              /* 05:00 in winter */
    NEAR(mean(H(2026, 7, 14, 4), H(2026, 7, 14, 5)), 0.2);              /* 06:00 in summer */
    assert_true(isnan(mean(H(2025, 12, 31, 22), H(2025, 12, 31, 23)))); /* of another year: not known */
    /* 365 days: 16 h of day each; 363 x 8 + 7 + 9 h of night */
    NEAR(set.f[0].year_mean, (365 * 16 * 0.2 + (363 * 8 + 16) * 0.1) / 8760);
    jm_factor_set_release(&set);
}

static void tariff_text(const char *periods, const char *head, int rc, const char *says)
{
    char text[1024];
    snprintf(text, sizeof text, "zone: FR\n%speriods:\n%s", head, periods);
    err = (struct jm_err){0};
    assert_int_equal(jm_factor_tariff(jm_span_of(text), NULL, &set, &err), rc);
    if (rc && !strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    if (rc)
        assert_int_equal(set.n, 0);
}

static void bad_tariffs(void **state)
{
    static const char ok[] = "time-zone: UTC\nunit: EUR/MWh\nyear: 2026\n";
    (void)state;
    /* weekends and months: January 2026 begins on a Thursday */
    tariff_text(" - {name: week, price: 100, days: mon-fri}\n - {name: end, price: 50, days: \"sat,sun\"}\n",
                ok, 0, "");
    NEAR(mean(H(2026, 1, 2, 0), H(2026, 1, 3, 0)), 0.1);
    NEAR(mean(H(2026, 1, 3, 0), H(2026, 1, 5, 0)), 0.05);
    NEAR(mean(H(2026, 1, 5, 0), H(2026, 1, 5, 1)), 0.1);
    jm_factor_set_release(&set);
    tariff_text(
        " - {name: winter, price: 100, months: \"11-3\"}\n - {name: summer, price: 50, months: \"4-10\"}\n",
        ok, 0, "");
    NEAR(mean(H(2026, 3, 31, 23), H(2026, 4, 1, 1)), 0.075);
    jm_factor_set_release(&set);
    tariff_text(" - {name: a, price: 1, from: \"06:00\", to: \"22:00\"}\n", ok, JM_EUSAGE,
                "missing is not 0");
    tariff_text(" - {name: a, price: 1}\n - {name: b, price: 2, days: mon}\n", ok, JM_EUSAGE, "both say");
    tariff_text(" - {name: a, price: 1, days: someday}\n", ok, JM_EUSAGE, "not understood");
    tariff_text(" - {name: a, price: 1, from: \"6\", to: \"22:00\"}\n", ok, JM_EUSAGE, "time of day");
    tariff_text(" - {name: a, price: 1, from: \"25:00\", to: \"22:00\"}\n", ok, JM_EUSAGE, "time of day");
    tariff_text(" - {name: a}\n", ok, JM_EUSAGE, "no price");
    tariff_text(" - {name: a, prise: 1}\n", ok, JM_EUSAGE, "prise");
    tariff_text(" - {name: a, price: 1}\n", "time-zone: UTC\nyear: 2026\n", JM_EUSAGE, "without a unit");
    tariff_text(" - {name: a, price: 1}\n", "time-zone: UTC\nunit: EUR/kWh\n", JM_EUSAGE, "without a year");
    tariff_text(" - {name: a, price: 1}\n", "unit: EUR/kWh\nyear: 2026\n", JM_EUSAGE, "time-zone");
    tariff_text(" - {name: a, price: 1}\n", "time-zone: Mars/Olympus\nunit: EUR/kWh\nyear: 2026\n", JM_EUSAGE,
                "tz database");
    tariff_text(" - {name: a, price: 1}\n", "time-zone: ../../etc/passwd\nunit: EUR/kWh\nyear: 2026\n",
                JM_EUSAGE, "tz database like");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_table), cmocka_unit_test(given),
                                       cmocka_unit_test(by_the_clock), cmocka_unit_test(bad_tariffs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
