/* SPDX-License-Identifier: Apache-2.0 */
/* Stored answers of the services that give factors, and tables of them. The shapes are those of the services'
 * own documentation; expected values follow by hand from what stands in each text. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/str.h"
#include "wire/factorfile.h"
#include "wire/tzif.h"

#define NEAR(got, want)                                                                                      \
    assert_true(fabs((double)(got) - (double)(want)) <= 1e-9 * fabs((double)(want)) + 1e-12)
#define H(y, mo, d, h) (jm_time_unix(y, mo, d, h, 0, 0) * JM_NS_PER_S)

static struct jm_factor_set set;
static struct jm_err err;

static int read_it(const char *text)
{
    jm_factor_set_release(&set);
    err = (struct jm_err){0};
    return jm_factor_file(jm_span_of(text), &set, &err);
}

static double mean(size_t f, int64_t t0, int64_t t1)
{
    struct jm_factor_mean m;
    assert_true(f < set.n);
    jm_factor_mean(&set.f[f], t0, t1, &m);
    return m.value;
}

static void refused(const char *text, int code, const char *says)
{
    assert_int_equal(read_it(text), code);
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    assert_int_equal(set.n, 0);
}

static void electricity_maps(void **state)
{
    (void)state;
    assert_int_equal(
        read_it("{\"zone\":\"DE\",\"carbonIntensity\":322,\"datetime\":\"2019-05-21T00:00:00.000Z\","
                "\"updatedAt\":\"2022-04-07T15:32:21.002Z\",\"emissionFactorType\":\"lifecycle\","
                "\"isEstimated\":false,\"temporalGranularity\":\"hourly\"}"),
        0);
    assert_int_equal(set.n, 1);
    assert_int_equal(set.f[0].kind, JM_FACTOR_LIFECYCLE);
    assert_non_null(jm_factor_scope2(&set.f[0]));
    NEAR(mean(0, H(2019, 5, 21, 0), H(2019, 5, 21, 1)), 322);
    assert_true(isnan(mean(0, H(2019, 5, 21, 0), H(2019, 5, 21, 2)))); /* the next hour is not known */
    /* a history in any order, one hour null and one estimated */
    assert_int_equal(
        read_it("{\"zone\":\"FR\",\"history\":["
                "{\"zone\":\"FR\",\"carbonIntensity\":40,\"datetime\":\"2026-03-29T01:00:00.000Z\","
                "\"emissionFactorType\":\"direct\",\"isEstimated\":true,\"estimationMethod\":\"X\"},"
                "{\"zone\":\"FR\",\"carbonIntensity\":20,\"datetime\":\"2026-03-29T00:00:00.000Z\","
                "\"emissionFactorType\":\"direct\",\"isEstimated\":false},"
                "{\"zone\":\"FR\",\"carbonIntensity\":null,\"datetime\":\"2026-03-29T02:00:00.000Z\","
                "\"emissionFactorType\":\"direct\",\"isEstimated\":false},"
                "{\"zone\":\"FR\",\"carbonIntensity\":60,\"datetime\":\"2026-03-29T03:00:00.000Z\","
                "\"emissionFactorType\":\"direct\",\"isEstimated\":false}]}"),
        0);
    assert_null(jm_factor_scope2(&set.f[0]));
    NEAR(mean(0, H(2026, 3, 29, 0), H(2026, 3, 29, 2)), 30);
    struct jm_factor_mean m;
    jm_factor_mean(&set.f[0], H(2026, 3, 29, 0), H(2026, 3, 29, 4), &m);
    assert_true(isnan(m.value)); /* null is missing, and missing is not 0 */
    NEAR(m.covered, 0.75);
    NEAR(m.estimated, 1.0 / 3);
    assert_true(m.missing == H(2026, 3, 29, 2));
    /* a forecast is one; without a type the kind is not known */
    assert_int_equal(read_it("{\"zone\":\"DE\",\"forecast\":[{\"carbonIntensity\":300,\"datetime\":"
                             "\"2026-01-01T00:00:00Z\"},{\"carbonIntensity\":310,\"datetime\":"
                             "\"2026-01-01T01:00:00Z\"}],\"updatedAt\":\"2026-01-01T00:00:00Z\"}"),
                     0);
    assert_true(set.f[0].step[0].estimated);
    assert_int_equal(set.f[0].kind, JM_FACTOR_UNKNOWN);
    assert_non_null(jm_factor_scope2(&set.f[0]));
    refused("{\"error\":\"Invalid auth-token\"}", JM_EUSAGE, "Invalid auth-token");
    /* a downloaded table has both kinds */
    assert_int_equal(
        read_it(
            "Datetime (UTC),Country,Zone name,Zone id,Carbon intensity gCO₂eq/kWh (direct),Carbon intensity "
            "gCO₂eq/kWh (Life cycle),Data source,Data estimated\n"
            "2024-01-01 00:00:00,France,France,FR,20.5,45,entsoe,False\n"
            "2024-01-01 01:00:00,France,France,FR,21.5,47,entsoe,True\n"),
        0);
    assert_int_equal(set.n, 2);
    NEAR(mean(0, H(2024, 1, 1, 0), H(2024, 1, 1, 2)), 21);
    NEAR(mean(1, H(2024, 1, 1, 0), H(2024, 1, 1, 2)), 46);
    assert_int_equal(set.f[0].kind, JM_FACTOR_GENERATION);
    assert_int_equal(set.f[1].kind, JM_FACTOR_LIFECYCLE);
}

/* Months are as long as the calendar has them, with or without the service's word; its forerunner's answer.
 */
static void electricity_maps_by_month(void **state)
{
    (void)state;
    assert_int_equal(
        read_it("{\"zone\":\"FR\",\"temporalGranularity\":\"monthly\",\"data\":[{\"carbonIntensity\":50,"
                "\"datetime\":\"2024-02-01T00:00:00.000Z\",\"isEstimated\":false}]}"),
        0);
    assert_true(set.f[0].step[0].t1 == H(2024, 3, 1, 0));
    assert_int_equal(
        read_it(
            "{\"zone\":\"FR\",\"data\":[{\"carbonIntensity\":50,\"datetime\":\"2023-01-01T00:00:00.000Z\","
            "\"temporalGranularity\":\"yearly\"}]}"),
        0);
    assert_true(set.f[0].step[0].t1 == H(2024, 1, 1, 0));
    /* what begins inside a month is no month: the end is not known, and not guessed */
    assert_int_equal(
        read_it("{\"zone\":\"FR\",\"temporalGranularity\":\"weekly\",\"data\":[{\"carbonIntensity\":50,"
                "\"datetime\":\"2024-02-05T00:00:00.000Z\"}]}"),
        0);
    assert_true(set.f[0].step[0].t1 == H(2024, 2, 12, 0));
    assert_int_equal(
        read_it("{\"_disclaimer\":\"x\",\"status\":\"ok\",\"countryCode\":\"FR\",\"data\":{\"datetime\":"
                "\"2023-01-23T17:00:00.000Z\",\"carbonIntensity\":103,\"fossilFuelPercentage\":13.6},"
                "\"units\":{\"carbonIntensity\":\"gCO2eq/kWh\"}}"),
        0);
    assert_string_equal(set.f[0].zone, "FR");
    NEAR(mean(0, H(2023, 1, 23, 17), H(2023, 1, 23, 18)), 103);
    /* Ember's monthly table; a month that is missing stays missing */
    assert_int_equal(read_it("Area,ISO 3 code,Date,Category,Variable,Unit,Value\n"
                             "France,FRA,2024-01-01,Power sector emissions,CO2 intensity,gCO2/kWh,40\n"
                             "France,FRA,2024-02-01,Power sector emissions,CO2 intensity,gCO2/kWh,30\n"
                             "France,FRA,2024-02-01,Electricity generation,Coal,TWh,1\n"
                             "France,FRA,2024-04-01,Power sector emissions,CO2 intensity,gCO2/kWh,20\n"),
                     0);
    NEAR(mean(0, H(2024, 1, 1, 0), H(2024, 3, 1, 0)), (40.0 * 31 + 30.0 * 29) / 60);
    NEAR(mean(0, H(2024, 4, 30, 0), H(2024, 5, 1, 0)), 20);
    assert_true(isnan(mean(0, H(2024, 3, 31, 23), H(2024, 4, 1, 1))));
}

/* Tables of prices by the clock of central Europe: the hour that is there twice, that which is not there,
 * quarters after hours, another auction, a decimal comma. 27 October 2024 02:00 CEST is 00:00 UTC; 31 March
 * 2024 03:00 CEST is 01:00 UTC. */
static void prices_of_tables(void **state)
{
    (void)state;
    assert_int_equal(
        read_it(
            "\"MTU (CET/CEST)\",\"Area\",\"Sequence\",\"Intraday Price (EUR/MWh)\",\"Day-ahead Price "
            "(EUR/MWh)\"\n"
            "\"27/10/2024 01:00:00 - 27/10/2024 02:00:00\",\"BZN|SE3\",\"Without Sequence\",\"\",\"50\"\n"
            "\"27/10/2024 02:00:00 (CEST) - 27/10/2024 02:00:00 (CET)\",\"BZN|SE3\",\"Sequence "
            "1\",\"9\",\"60\"\n"
            "\"27/10/2024 02:00:00 (CET) - 27/10/2024 03:00:00\",\"BZN|SE3\",\"Sequence 1\",\"9\",\"70\"\n"
            "\"27/10/2024 02:00:00 (CET) - 27/10/2024 03:00:00\",\"BZN|SE3\",\"Sequence 2\",\"9\",\"99\"\n"
            "\"27/10/2024 03:00:00 - 27/10/2024 03:15:00\",\"BZN|SE3\",\"Sequence 1\",\"9\",\"80\"\n"
            "\"27/10/2024 03:15:00 - 27/10/2024 03:30:00\",\"BZN|SE3\",\"Sequence 1\",\"9\",\"n/e\"\n"),
        0);
    assert_int_equal(set.n, 1);
    assert_string_equal(set.f[0].zone, "SE-3");
    assert_string_equal(set.f[0].unit, "EUR/kWh");
    NEAR(mean(0, H(2024, 10, 26, 23), H(2024, 10, 27, 0)), 0.05);
    NEAR(mean(0, H(2024, 10, 27, 0), H(2024, 10, 27, 1)), 0.06);
    NEAR(mean(0, H(2024, 10, 27, 1), H(2024, 10, 27, 2)), 0.07);
    NEAR(mean(0, H(2024, 10, 27, 2), H(2024, 10, 27, 2) + 900 * JM_NS_PER_S), 0.08);
    assert_true(isnan(mean(0, H(2024, 10, 27, 2), H(2024, 10, 27, 3))));
    assert_int_equal(read_it("MTU (CET/CEST);Day-ahead Price [EUR/MWh];Currency;BZN|FR\n"
                             "31.03.2024 01:00 - 31.03.2024 02:00;1.010,5;EUR;\n"
                             "31.03.2024 02:00 - 31.03.2024 03:00;;EUR;\n"
                             "31.03.2024 03:00 - 31.03.2024 04:00;-20;EUR;\n"
                             "27.10.2024 01:00 - 27.10.2024 02:00;n/e;EUR;\n"
                             "27.10.2024 02:00 - 27.10.2024 03:00;-;EUR;\n"
                             "27.10.2024 02:00 - 27.10.2024 03:00;70;EUR;\n"),
                     0);
    assert_string_equal(set.f[0].zone, "FR");
    NEAR(mean(0, H(2024, 3, 31, 0), H(2024, 3, 31, 1)), 1.0105);
    NEAR(mean(0, H(2024, 3, 31, 1), H(2024, 3, 31, 2)), -0.02);
    NEAR(mean(0, H(2024, 10, 27, 1), H(2024, 10, 27, 2)), 0.07); /* the second of them */
    assert_true(isnan(mean(0, H(2024, 10, 27, 0), H(2024, 10, 27, 1))));
    refused("MTU (CET/CEST);Day-ahead Price [EUR/MWh];BZN|FR\n31.03.2024 02:00 - 31.03.2024 03:00;1;\n",
            JM_EPARSE, "leaps over");
    refused("MTU (UTC);Day-ahead Price [EUR/MWh];BZN|FR\n31.02.2024 02:00 - 31.03.2024 03:00;1;\n", JM_EPARSE,
            "31.02.2024");
    refused("MTU (UTC);Actual Total Load [MW] - BZN|FR\n31.03.2024 02:00 - 31.03.2024 03:00;1\n", JM_EPARSE,
            "\"value\"");
    assert_int_equal(read_it("Country,ISO3 Code,Datetime (UTC),Datetime (Local),Price (EUR/MWhe)\n"
                             "France,FRA,2024-03-31 00:00:00,2024-03-31 01:00:00,12.5\n"
                             "France,FRA,2024-03-31 01:00:00,2024-03-31 03:00:00,-3\n"),
                     0);
    NEAR(mean(0, H(2024, 3, 31, 0), H(2024, 3, 31, 2)), 0.00475);
    assert_non_null(strstr(set.f[0].source, "Ember"));
    assert_int_equal(
        read_it("Datum von;Datum bis;Deutschland/Luxemburg [€/MWh] Originalauflösungen;Belgien [€/MWh] "
                "Originalauflösungen\n"
                "27.10.2024 01:00;27.10.2024 02:00;1.050,5;1\n27.10.2024 02:00;27.10.2024 03:00;60;2\n"
                "27.10.2024 02:00;27.10.2024 03:00;70;3\n27.10.2024 03:00;27.10.2024 04:00;-;4\n"),
        0);
    assert_string_equal(set.f[0].zone, "DE-LU");
    NEAR(mean(0, H(2024, 10, 26, 23), H(2024, 10, 27, 0)), 1.0505);
    NEAR(mean(0, H(2024, 10, 27, 1), H(2024, 10, 27, 2)), 0.07);
    assert_true(isnan(mean(0, H(2024, 10, 27, 2), H(2024, 10, 27, 3))));
    assert_int_equal(read_it("HourUTC;HourDK;PriceArea;SpotPriceDKK;SpotPriceEUR\n"
                             "2025-09-29 21:00:00;2025-09-29 23:00:00;DK1;678,5;91,10\n"
                             "2025-09-29 20:00:00;2025-09-29 22:00:00;DK1;8141;1.093,90\n"),
                     0);
    assert_string_equal(set.f[0].zone, "DK-1");
    NEAR(mean(0, H(2025, 9, 29, 20), H(2025, 9, 29, 22)), 0.5925);
    refused(
        "{\"object\":\"list\",\"data\":[{\"start_timestamp\":1561932000000,\"end_timestamp\":1561935600000,"
        "\"marketprice\":28.98,\"unit\":\"Eur/MWh\"}]}",
        JM_EUSAGE, "of which market");
    refused("{\"unix_seconds\":[1704063600],\"price\":[10.5],\"unit\":\"EUR / MWh\"}", JM_EUSAGE,
            "of which market");
}

#define SERIES(sequence, resolution, points)                                                                 \
    "<TimeSeries><in_Domain.mRID>10Y1001A1001A82H</in_Domain.mRID><currency_Unit.name>EUR</"                 \
    "currency_Unit.name>"                                                                                    \
    "<price_Measure_Unit.name>MWH</price_Measure_Unit.name><curveType>A03</curveType>" sequence              \
    "<Period><timeInterval><start>2025-10-01T22:00Z</start><end>2025-10-02T00:00Z</end></"                   \
    "timeInterval><resolution>" resolution "</resolution>" points "</Period></TimeSeries>"
#define SEQUENCE(n)                                                                                          \
    "<classificationSequence_AttributeInstanceComponent.position>" n                                         \
    "</classificationSequence_AttributeInstanceComponent.position>"
#define PRICE(at, v)   "<Point><position>" at "</position><price.amount>" v "</price.amount></Point>"
#define PRICES(series) "<Publication_MarketDocument><type>A44</type>" series "</Publication_MarketDocument>"

/* One zone, several series: of the first auction, and of it the finest. */
static void entsoe_auctions(void **state)
{
    (void)state;
    int64_t t = H(2025, 10, 1, 22), quarter = 900 * JM_NS_PER_S;
    assert_int_equal(read_it(PRICES(SERIES("", "PT60M", PRICE("1", "100"))
                                        SERIES("", "PT15M", PRICE("1", "40") PRICE("3", "60")))),
                     0);
    NEAR(mean(0, t, t + 2 * quarter), 0.04);
    NEAR(mean(0, t + 2 * quarter, t + 8 * quarter), 0.06);
    assert_int_equal(set.f[0].n, 8);
    assert_non_null(strstr(set.f[0].note, "2 values of other auctions or in coarser steps left out"));
    assert_int_equal(read_it(PRICES(SERIES(SEQUENCE("2"), "PT15M", PRICE("1", "40"))
                                        SERIES(SEQUENCE("1"), "PT60M", PRICE("1", "100")))),
                     0);
    NEAR(mean(0, t, t + 8 * quarter), 0.1);
    /* twice the same auction, and not the same price: nobody can say which */
    refused(PRICES(SERIES("", "PT60M", PRICE("1", "100")) SERIES("", "PT60M", PRICE("1", "90"))),
            JM_ECONFLICT, "two rows say");
    refused(PRICES(SERIES(SEQUENCE("10"), "PT60M", PRICE("1", "100"))), JM_EPARSE, "from 1 to 9");
}

static void uk(void **state)
{
    (void)state;
    assert_int_equal(read_it("{\"data\":[{\"from\":\"2020-05-24T20:30Z\",\"to\":\"2020-05-24T21:00Z\","
                             "\"intensity\":{\"forecast\":"
                             "146,\"actual\":150,\"index\":\"low\"}},{\"from\":\"2020-05-24T21:00Z\",\"to\":"
                             "\"2020-05-24T21:30Z\","
                             "\"intensity\":{\"forecast\":148,\"actual\":null,\"index\":\"low\"}}]}"),
                     0);
    int64_t t = H(2020, 5, 24, 20) + 1800 * JM_NS_PER_S;
    NEAR(mean(0, t, t + 3600 * JM_NS_PER_S), 149); /* (150 + 148) / 2 */
    assert_true(!set.f[0].step[0].estimated && set.f[0].step[1].estimated);
    assert_null(jm_factor_scope2(&set.f[0]));
    assert_string_equal(set.f[0].licence, "CC BY 4.0");
    refused("{\"error\":{\"code\":\"400 Bad Request\",\"message\":\"Please enter a valid date\"}}", JM_EUSAGE,
            "valid date");
    refused("{\"data\":[{\"from\":\"2020-05-24T21:30Z\",\"to\":\"2020-05-24T21:00Z\",\"intensity\":{"
            "\"forecast\":146,"
            "\"actual\":1}}]}",
            JM_EPARSE, "ends before it begins");
}

static void watttime(void **state)
{
    (void)state;
    static const char text[] =
        "{\"data\":[{\"point_time\":\"2026-04-01T00:00:00+00:00\",\"value\":1000},"
        "{\"point_time\":\"2026-04-01T00:05:00+00:00\",\"value\":500}],"
        "\"meta\":{\"data_point_period_seconds\":300,\"region\":\"CAISO_NORTH\",\"units\":"
        "\"lbs_co2_per_mwh\",\"signal_type\":\"%s\",\"model\":{\"date\":\"2026-03-01\"}}}";
    char buf[1024];
    snprintf(buf, sizeof buf, text, "co2_moer");
    assert_int_equal(read_it(buf), 0);
    /* 750 lb/MWh x 453.59237 g / 1000 */
    NEAR(mean(0, H(2026, 4, 1, 0), H(2026, 4, 1, 0) + 600 * JM_NS_PER_S), 340.1942775);
    assert_true(set.f[0].marginal);
    assert_true(strstr(jm_factor_scope2(&set.f[0]), "marginal") != NULL);
    snprintf(buf, sizeof buf, text, "co2_aoer");
    assert_int_equal(read_it(buf), 0);
    assert_null(jm_factor_scope2(&set.f[0]));
    snprintf(buf, sizeof buf, text, "health_damage");
    refused(buf, JM_EUSAGE, "no carbon intensity");
}

/* Two hours: 600 MW of nuclear and 400 MW of gas; then gas falls to 0 and 600 MW of nuclear stay (not
 * repeated: curve A03). Pumping is consumption and no source. */
#define POINTS(a, b) "<Point><position>1</position><quantity>" a "</quantity></Point>" b
static const char entsoe_text[] =
    "<?xml version=\"1.0\"?><GL_MarketDocument "
    "xmlns=\"urn:iec62325.351:tc57wg16:451-6:generationloaddocument:3:0\">"
    "<mRID>1</mRID><type>A75</type><time_Period.timeInterval><start>2026-03-29T00:00Z</"
    "start><end>2026-03-29T02:00Z"
    "</end></time_Period.timeInterval>"
    "<TimeSeries><mRID>1</mRID><inBiddingZone_Domain.mRID codingScheme=\"A01\">10YFR-RTE------C"
    "</inBiddingZone_Domain.mRID><quantity_Measure_Unit.name>MAW</quantity_Measure_Unit.name><curveType>A03</"
    "curveType>"
    "<MktPSRType><psrType>B14</psrType></MktPSRType><Period><timeInterval><start>2026-03-29T00:00Z</"
    "start><end>"
    "2026-03-29T02:00Z</end></timeInterval><resolution>PT60M</resolution>" POINTS(
        "600", "") "</Period></TimeSeries>"
                   "<TimeSeries><mRID>2</mRID><inBiddingZone_Domain.mRID "
                   "codingScheme=\"A01\">10YFR-RTE------C"
                   "</inBiddingZone_Domain.mRID><curveType>A03</curveType><MktPSRType><psrType>B04</"
                   "psrType></MktPSRType><Period>"
                   "<timeInterval><start>2026-03-29T00:00Z</start><end>2026-03-29T02:00Z</end></"
                   "timeInterval><resolution>PT60M"
                   "</resolution>" POINTS("400", "<Point><position>2</position><quantity>0</quantity></"
                                                 "Point>") "</Period></TimeSeries>"
                                                           "<TimeSeries><mRID>3</"
                                                           "mRID><outBiddingZone_Domain.mRID "
                                                           "codingScheme=\"A01\">10YFR-RTE------C"
                                                           "</outBiddingZone_Domain.mRID><curveType>A03</"
                                                           "curveType><MktPSRType><psrType>B10</psrType></"
                                                           "MktPSRType><Period>"
                                                           "<timeInterval><start>2026-03-29T00:00Z</"
                                                           "start><end>2026-03-29T02:00Z</end></"
                                                           "timeInterval><resolution>PT60M"
                                                           "</resolution>" POINTS(
                                                               "999", "") "</Period></TimeSeries></"
                                                                          "GL_MarketDocument>";

static void entsoe(void **state)
{
    (void)state;
    assert_int_equal(read_it(entsoe_text), 0);
    assert_int_equal(set.n, 2);
    assert_string_equal(set.f[0].zone, "FR");
    /* direct: 0.4 x 370 = 148; life cycle: 0.6 x 12 + 0.4 x 490 = 203.2 */
    NEAR(mean(0, H(2026, 3, 29, 0), H(2026, 3, 29, 1)), 148);
    NEAR(mean(1, H(2026, 3, 29, 0), H(2026, 3, 29, 1)), 203.2);
    NEAR(mean(0, H(2026, 3, 29, 1), H(2026, 3, 29, 2)), 0);
    NEAR(mean(1, H(2026, 3, 29, 1), H(2026, 3, 29, 2)), 12);
    assert_null(jm_factor_scope2(&set.f[0]));
    assert_non_null(jm_factor_scope2(&set.f[1]));
    refused(
        "<Acknowledgement_MarketDocument><Reason><code>999</code><text>No matching data found</text></Reason>"
        "</Acknowledgement_MarketDocument>",
        JM_EUSAGE, "No matching data found");
    /* gas by the half hour (400, then 0 MW) beside nuclear by the hour: 148 and 0 */
    static const char head[] = "<GL_MarketDocument><type>A75</type>", tail[] = "</GL_MarketDocument>",
                      series[] =
                          "<TimeSeries><inBiddingZone_Domain.mRID>X</inBiddingZone_Domain.mRID><curveType>A01"
                          "</curveType><MktPSRType><psrType>%s</psrType></MktPSRType><Period><timeInterval>"
                          "<start>2026-03-29T00:00Z</start><end>2026-03-29T01:00Z</end></timeInterval>"
                          "<resolution>%s</resolution>%s</Period></TimeSeries>";
    char mixed[2048], one[800], two[800];
    snprintf(one, sizeof one, series, "B14", "PT60M",
             "<Point><position>1</position><quantity>600</quantity></Point>");
    snprintf(two, sizeof two, series, "B04", "PT30M",
             "<Point><position>1</position><quantity>400</quantity></Point><Point><position>2</"
             "position><quantity>0"
             "</quantity></Point>");
    snprintf(mixed, sizeof mixed, "%s%s%s%s", head, one, two, tail);
    assert_int_equal(read_it(mixed), 0);
    NEAR(mean(0, H(2026, 3, 29, 0), H(2026, 3, 29, 1)), 74);
    assert_int_equal(set.f[0].n, 2);
    /* a file that was cut is no short one */
    char cut[sizeof entsoe_text];
    snprintf(cut, sizeof cut - 40, "%s", entsoe_text);
    assert_int_equal(read_it(cut), JM_EPARSE);
    assert_int_equal(
        read_it(
            "<Publication_MarketDocument><type>A44</type><TimeSeries><in_Domain.mRID>10Y1001A1001A82H</"
            "in_Domain.mRID>"
            "<currency_Unit.name>EUR</currency_Unit.name><price_Measure_Unit.name>MWH</"
            "price_Measure_Unit.name>"
            "<curveType>A03</curveType><Period><timeInterval><start>2026-03-28T23:00Z</"
            "start><end>2026-03-29T22:00Z"
            "</end></timeInterval><resolution>PT60M</resolution><Point><position>1</position><price.amount>91"
            "</price.amount></Point><Point><position>23</position><price.amount>-5</price.amount></Point></"
            "Period>"
            "</TimeSeries></Publication_MarketDocument>"),
        0);
    assert_string_equal(set.f[0].unit, "EUR/kWh");
    assert_int_equal(set.f[0].n, 23); /* the day on which clocks go forward has 23 hours */
    NEAR(mean(0, H(2026, 3, 28, 23), H(2026, 3, 29, 21)), 0.091);
    NEAR(mean(0, H(2026, 3, 29, 21), H(2026, 3, 29, 22)), -0.005);
    assert_true(jm_factor_same_zone(set.f[0].zone, "DE"));
}

static void tables(void **state)
{
    (void)state;
    assert_int_equal(read_it("# of our own\nzone,start,value,unit,kind,source,licence\n"
                             "FR,2026-03-29T00:00Z,0.02,kgCO2e/kWh,generation,\"RTE, eCO2mix\",ODbL\n"
                             "FR,2026-03-29T01:00Z,40,g/kWh,generation,\"RTE, eCO2mix\",ODbL\n"
                             "FR,2026-03-29T03:00Z,40,g/kWh,generation,\"RTE, eCO2mix\",ODbL\n"),
                     0);
    NEAR(mean(0, H(2026, 3, 29, 0), H(2026, 3, 29, 2)), 30);
    assert_true(isnan(mean(0, H(2026, 3, 29, 0), H(2026, 3, 29, 4)))); /* 02:00 is missing and stays so */
    assert_string_equal(set.f[0].source, "RTE, eCO2mix");
    assert_int_equal(
        read_it("zone,year,value,unit,kind,basis,contract\nDE,2024,690,g/kWh,generation,residual-mix,\n"
                "FR,2026,0,g/kWh,generation,contract,GO-17\n"),
        0);
    assert_int_equal(set.f[0].basis, JM_FACTOR_RESIDUAL);
    assert_string_equal(set.f[1].contract, "GO-17");
    NEAR(set.f[0].constant, 690);
    refused("zone,year,value,unit,kind,basis\nFR,2026,0,g/kWh,generation,contract\n", JM_EUSAGE,
            "certificate");
    /* one series has one currency, and a number has a size */
    refused("zone,start,value,unit\nFR,2026-01-01T00:00Z,0.1,EUR/kWh\nFR,2026-01-01T01:00Z,0.1,USD/kWh\n",
            JM_ECONFLICT, "line 3: the price of FR is in EUR/kWh");
    refused("zone,year,value,unit\nFR,2026,1e308,t/kWh\n", JM_EUSAGE, "is its unit right");
    /* the latest year of a country */
    assert_int_equal(
        read_it("Entity,Code,Year,Carbon intensity of electricity (gCO2/kWh)\nFrance,FRA,2022,85\n"
                "France,FRA,2023,56.039\nWorld,,2023,481\n"),
        0);
    assert_int_equal(set.n, 1);
    NEAR(set.f[0].constant, 56.039);
    assert_string_equal(set.f[0].vintage, "2023");
    assert_int_equal(set.f[0].kind, JM_FACTOR_LIFECYCLE);
    refused("zone,year,value\nFR,2024,40\n", JM_EUSAGE, "without a unit");
    refused("zone,value,unit\nFR,40,g/kWh\n", JM_EUSAGE, "without a year");
    refused("zone,year,value,unit\nFR,,40,g/kWh\n", JM_EUSAGE, "without a year");
    refused("zone,year,value,unit\nFR,2024,40,\n", JM_EUSAGE, "without a unit");
    refused("zone,year,value,unit\nFR,2024,40,TWh\n", JM_EUSAGE, "amount of energy");
    refused("zone,year,value,unit,what\nFR,2024,40,g,carbon\n", JM_EUSAGE, "no unit");
    refused("zone,start,value,unit\nFR,2026-03-29 01:00,40,g/kWh\n", JM_EPARSE, "in UTC or with its offset");
    refused("zone,start,end,value,unit\nFR,2026-03-29T01:00Z,2026-03-29T03:00Z,40,g/kWh\n"
            "FR,2026-03-29T02:00Z,2026-03-29T03:00Z,50,g/kWh\n",
            JM_ECONFLICT, "two rows say");
    refused("zone,year,value,unit\nFR,2024,-,g/kWh\n", JM_EPARSE, "no row with a value");
    refused("", JM_EPARSE, "empty");
    /* local times with their offset on the day of 25 hours: 02:00 comes twice and is two hours */
    assert_int_equal(read_it("zone,start,end,value,unit,kind\n"
                             "FR,2026-10-25T02:00+02:00,2026-10-25T02:00+01:00,10,g/kWh,generation\n"
                             "FR,2026-10-25T02:00+01:00,2026-10-25T03:00+01:00,30,g/kWh,generation\n"),
                     0);
    NEAR(mean(0, H(2026, 10, 25, 0), H(2026, 10, 25, 2)), 20);
}

/* A mix that a public tool once took for electricity: France came out at 424.6 g/kWh. */
static void primary_energy(void **state)
{
    (void)state;
    refused("{\"lowCarbon\":4.797,\"naturalGas\":1.630,\"petroleum\":3.407,\"coal\":0.316,\"total\":10.150}",
            JM_EUSAGE, "primary energy");
    refused("{\"lowCarbon\":4.797,\"naturalGas\":1.630,\"petroleum\":0.007,\"coal\":0.316,\"total\":6.75}",
            JM_EUSAGE, "without a carbon intensity");
    refused("{\"FRA\":{\"coal\":0.3,\"petroleum\":3.4,\"total\":10.1},\"DEU\":{\"coal\":1,\"petroleum\":2,"
            "\"total\":9}}",
            JM_EUSAGE, "This is a mix of primary energy: 34 %");
    refused("country,coal,oil,gas,total\nFR,1,2,3,6\n", JM_EUSAGE, "primary energy");
    /* CodeCarbon's own table says the intensity, and 0 is what rounding left */
    assert_int_equal(
        read_it("{\"FRA\":{\"carbon_intensity\":56.039,\"oil_TWh\":1.9,\"total_TWh\":10,\"year\":2023,"
                "\"country_name\":\"France\"},\"CAF\":{\"carbon_intensity\":0.0,\"year\":2022}}"),
        0);
    assert_int_equal(set.n, 1);
    NEAR(set.f[0].constant, 56.039);
    assert_non_null(jm_factor_scope2(&set.f[0]));
    refused("{\"FRA\":{\"carbon_intensity\":56.039}}", JM_EUSAGE, "without a year");
    refused("{\"some\":\"thing\"}", JM_EPARSE, "none of the forms");
}

/* What is stored is read back as it was; what a hand changed in it is refused as in any other file. */
static void stored(void **state)
{
    (void)state;
    struct jm_factor_set was = {0};
    struct jm_factor *f = jm_factor_add(&was, JM_FACTOR_CARBON, JM_SPAN("FR"));
    f->kind = JM_FACTOR_GENERATION;
    f->basis = JM_FACTOR_CONTRACT;
    f->marginal = true;
    f->constant = 1.0 / 3;
    snprintf(f->unit, sizeof f->unit, "gCO2e/kWh");
    snprintf(f->vintage, sizeof f->vintage, "2024");
    snprintf(f->source, sizeof f->source, "\"quoted\", \xc3\xa9t\xc3\xa9");
    snprintf(f->licence, sizeof f->licence, "CC BY 4.0");
    snprintf(f->contract, sizeof f->contract, "GO 12");
    f = jm_factor_add(&was, JM_FACTOR_PRICE, JM_SPAN("DE"));
    snprintf(f->unit, sizeof f->unit, "EUR/kWh");
    f->year_mean = 0.2;
    assert_int_equal(jm_factor_step_add(f, H(2026, 3, 29, 0), H(2026, 3, 29, 1), 0.1, false), 0);
    assert_int_equal(jm_factor_step_add(f, H(2026, 3, 29, 2), H(2026, 3, 29, 4), -0.3, true), 0);
    struct jm_str s;
    jm_str_init(&s);
    jm_factor_store(&was, &s);
    assert_int_equal(jm_str_ok(&s, "it", &err), 0);
    assert_int_equal(read_it(s.buf), 0);
    assert_int_equal(set.n, 2);
    const struct jm_factor *a = &set.f[0], *b = &set.f[1];
    assert_true(a->kind == JM_FACTOR_GENERATION && a->basis == JM_FACTOR_CONTRACT && a->marginal &&
                a->n == 0);
    assert_true(a->constant == 1.0 / 3 && isnan(a->year_mean) && isnan(b->constant) && b->year_mean == 0.2);
    assert_string_equal(a->source, was.f[0].source);
    assert_string_equal(a->licence, "CC BY 4.0");
    assert_string_equal(a->contract, "GO 12");
    assert_int_equal(b->n, 2);
    assert_true(b->step[1].t0 == H(2026, 3, 29, 2) && b->step[1].t1 == H(2026, 3, 29, 4));
    assert_true(b->step[1].value == -0.3 && b->step[1].estimated && !b->step[0].estimated);
    jm_str_release(&s);
    jm_factor_set_release(&was);
    static const char head[] =
        "{\"schema\":\"joulemark.factors/1\",\"factors\":[{\"what\":\"carbon\",\"zone\":\"FR\","
        "\"kind\":\"generation\",\"basis\":\"location\",";
    char text[512];
    snprintf(text, sizeof text, "%s\"value\":40,\"vintage\":\"2024\"}]}", head);
    refused(text, JM_EUSAGE, "without a unit");
    snprintf(text, sizeof text, "%s\"value\":40,\"unit\":\"gCO2e/kWh\"}]}", head);
    refused(text, JM_EUSAGE, "without a year");
    snprintf(text, sizeof text, "%s\"unit\":\"g/kWh\",\"vintage\":\"2024\",\"steps\":[[5,5,1,false]]}]}",
             head);
    refused(text, JM_EPARSE, "ends before it begins");
    refused("{\"schema\":\"joulemark.factors/1\",\"factors\":[{\"what\":\"love\"}]}", JM_EPARSE, "lacks");
}

static void units(void **state)
{
    (void)state;
    NEAR(jm_factor_carbon_unit(JM_SPAN("gCO2eq/kWh")), 1);
    NEAR(jm_factor_carbon_unit(JM_SPAN("kg/MWh")), 1);
    NEAR(jm_factor_carbon_unit(JM_SPAN("tCO2/GWh")), 1);
    NEAR(jm_factor_carbon_unit(JM_SPAN("lb/MWh")), 0.45359237);
    NEAR(jm_factor_carbon_unit(JM_SPAN("kgCO2/kWh")), 1000);
    static const char *const no[] = {"g", "kWh", "TWh", "g/MJ", "g/mwhh", "", "%", "t", "kgCO2"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_true(isnan(jm_factor_carbon_unit(jm_span_of(no[i]))));
    char cur[4];
    NEAR(jm_factor_price_unit(JM_SPAN("EUR/MWh"), cur), 0.001);
    NEAR(jm_factor_price_unit(JM_SPAN("£/kWh"), cur), 1);
    assert_string_equal(cur, "GBP");
    assert_true(isnan(jm_factor_price_unit(JM_SPAN("g/kWh"), cur)));
}

/* Against what the zones' own law says: summer time begins on the last Sunday of March at 01:00 UTC in the
 * European Union; in New York on the second Sunday of March at 07:00 UTC; Sydney's summer is in January. */
static void time_zones(void **state)
{
    (void)state;
    static const struct {
        const char *rule;
        int64_t at;
        int before, after;
    } t[] = {{"CET-1CEST,M3.5.0,M10.5.0/3", 0, 3600, 7200},
             {"EST5EDT,M3.2.0,M11.1.0", 0, -18000, -14400},
             {"AEST-10AEDT,M10.1.0,M4.1.0/3", 0, 39600, 36000},
             {"<+0530>-5:30", 0, 19800, 19800}};
    int64_t at[] = {jm_time_unix(2026, 3, 29, 1, 0, 0), jm_time_unix(2026, 3, 8, 7, 0, 0),
                    jm_time_unix(2026, 4, 4, 16, 0, 0), jm_time_unix(2026, 3, 29, 1, 0, 0)};
    for (size_t i = 0; i < 4; i++) {
        struct jm_tz z = {0};
        assert_int_equal(jm_tz_rule(jm_span_of(t[i].rule), &z, NULL), 0);
        assert_int_equal(jm_tz_offset(&z, at[i] - 1), t[i].before);
        assert_int_equal(jm_tz_offset(&z, at[i]), t[i].after);
    }
    struct jm_tz z = {0};
    static const char *const no[] = {
        "", "C", "CET", "CET-1CEST", "CET-1CEST,M13.5.0,M10.5.0", "CET-999", "CET-1CEST,M3.5.0"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_int_equal(jm_tz_rule(jm_span_of(no[i]), &z, NULL), JM_EPARSE);
    assert_int_equal(jm_tz_file(JM_SPAN("TZif2 and nothing else"), &z, NULL), JM_EPARSE);
    jm_tz_release(&z);
}

static int done(void **state)
{
    (void)state;
    jm_factor_set_release(&set);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(electricity_maps),
                                       cmocka_unit_test(electricity_maps_by_month),
                                       cmocka_unit_test(prices_of_tables),
                                       cmocka_unit_test(entsoe_auctions),
                                       cmocka_unit_test(uk),
                                       cmocka_unit_test(watttime),
                                       cmocka_unit_test(entsoe),
                                       cmocka_unit_test(tables),
                                       cmocka_unit_test(primary_energy),
                                       cmocka_unit_test(units),
                                       cmocka_unit_test(stored),
                                       cmocka_unit_test(time_zones)};
    return cmocka_run_group_tests(tests, NULL, done);
}
