/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies as services send them. Facts are retyped from public reports, named at each case. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "wire/redfish.h"

static struct jm_rf_set set;
static struct jm_err err;

static int read_at(const char *body, const char *uri)
{
    jm_rf_set_release(&set);
    jm_rf_set_init(&set, NULL);
    err.text[0] = '\0';
    return jm_rf_read(&set, jm_span_of(body), uri, &err);
}

static const struct jm_rf_reading *find(const char *property, size_t nth)
{
    for (size_t i = 0; i < set.n; i++)
        if (strcmp(set.r[i].property, property) == 0 && nth-- == 0)
            return &set.r[i];
    return NULL;
}

/* "OK 152", "absent" of the first reading of that property */
static void expect(const char *property, enum jm_status status, double value)
{
    const struct jm_rf_reading *r = find(property, 0);
    if (!r)
        fail_msg("no reading %s", property);
    assert_int_equal(r->status, status);
    if (status == JM_S_OK && fabs(r->value - value) > 1e-9 * fabs(value))
        fail_msg("%s is %.12g, not %.12g", property, r->value, value);
}

static void numbers(void **state)
{
    static const struct {
        const char *json;
        enum jm_status status;
        double value;
    } rows[] = {{"152", JM_S_OK, 152},         {"152.5", JM_S_OK, 152.5},     {"\"152\"", JM_S_OK, 152},
                {"\" 71 \"", JM_S_OK, 71},     {"\"98.5 W\"", JM_S_OK, 98.5}, {"null", JM_S_ABSENT, 0},
                {"\"N/A\"", JM_S_ABSENT, 0},   {"\"null\"", JM_S_ABSENT, 0},  {"\"\"", JM_S_ABSENT, 0},
                {"\"nan\"", JM_S_ABSENT, 0},   {"true", JM_S_ABSENT, 0},      {"{}", JM_S_ABSENT, 0},
                {"\"98.5 A\"", JM_S_ABSENT, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jm_json *v;
        double out = -7;
        assert_int_equal(jm_json_parse(jm_span_of(rows[i].json), &v, &err), 0);
        assert_int_equal(jm_rf_number(v, &out), rows[i].status);
        if (rows[i].status == JM_S_OK)
            assert_true(out == rows[i].value);
        else
            assert_true(out == -7); /* untouched: never 0 for missing */
        jm_json_free(v);
    }
    double d = 1;
    assert_int_equal(jm_rf_number(NULL, &d), JM_S_ABSENT);
    /* durations of the captures: Dell's report, a DMTF sensor, one day */
    assert_true(jm_rf_duration(JM_SPAN("PT0H1M0S")) == 60);
    assert_true(jm_rf_duration(JM_SPAN("PT0.25S")) == 0.25);
    assert_true(jm_rf_duration(JM_SPAN("P1DT1H")) == 90000);
    assert_true(jm_rf_duration(JM_SPAN("P0DT00H30M00S")) == 1800);
    assert_true(isnan(jm_rf_duration(JM_SPAN("5"))));
    assert_true(isnan(jm_rf_duration(JM_SPAN("PT5M5H"))));
    assert_true(isnan(jm_rf_duration(JM_SPAN("P"))));
}

/* Vendors' paths: what each gives, and that the total is not added to its parts. */
static void vendors(void **state)
{
    (void)state;
    /* mrlhansen/idrac_exporter#121: iRMC has power only here; "Total Power" is in the list of its parts */
    assert_int_equal(
        read_at(
            "{\"@odata.type\":\"#Chassis.v1_14_0.Chassis\",\"Oem\":{\"ts_fujitsu\":{"
            "\"ChassisPowerConsumption\":"
            "{\"CurrentPowerConsumptionW\":188},\"ChassisPowerSensors\":[{\"Designation\":\"Total Power\","
            "\"CurrentPowerConsumptionW\":188},{\"Designation\":\"PSU1 "
            "Power\",\"CurrentPowerConsumptionW\":96}]}}}",
            "/redfish/v1/Chassis/0"),
        0);
    expect("CurrentPowerConsumptionW", JM_S_OK, 188);
    assert_int_equal(find("CurrentPowerConsumptionW", 0)->of, JM_RF_NODE);
    assert_int_equal(find("CurrentPowerConsumptionW", 1)->of, JM_RF_NODE);
    assert_int_equal(find("CurrentPowerConsumptionW", 2)->of, JM_RF_PSU);
    /* Inspur: an empty PowerControl and the total in Oem.Public */
    assert_int_equal(
        read_at(
            "{\"PowerControl\":[],\"Oem\":{\"Public\":{\"TotalPower\":415,\"CurrentCPUPowerWatts\":130}}}",
            "/redfish/v1/Chassis/1/Power"),
        0);
    expect("TotalPower", JM_S_OK, 415);
    assert_int_equal(find("CurrentCPUPowerWatts", 0)->of, JM_RF_CPU);
    /* Huawei: the input of a supply in Oem */
    assert_int_equal(
        read_at("{\"PowerSupplies\":[{\"MemberId\":\"0\",\"Name\":\"PSU1\",\"PowerInputWatts\":null,"
                "\"Oem\":{\"Huawei\":{\"PowerInputWatts\":173,\"PowerOutputWatts\":\"161\"}}}]}",
                "/redfish/v1/Chassis/1/Power"),
        0);
    expect("PowerInputWatts", JM_S_ABSENT, 0);
    assert_true(find("PowerInputWatts", 1)->value == 173 &&
                find("PowerInputWatts", 1)->scope == JM_RF_AC_INPUT);
    expect("PowerOutputWatts", JM_S_OK, 161);
    /* Cisco (stmcginnis/gofish): an object for the list, texts for numbers, PowerMetric, 5 s as 0.0833 min */
    assert_int_equal(
        read_at("{\"PowerControl\":{\"PowerConsumedWatts\":\"152\",\"PowerMetric\":{\"IntervalInMin\":0.0833,"
                "\"AverageConsumedWatts\":\"170\",\"MinConsumedWatts\":\"N/A\"}}}",
                "/redfish/v1/Chassis/1/Power"),
        0);
    expect("PowerConsumedWatts", JM_S_OK, 152);
    expect("AverageConsumedWatts", JM_S_OK, 170);
    expect("MinConsumedWatts", JM_S_ABSENT, 0);
    assert_true(fabs(find("AverageConsumedWatts", 0)->interval_s - 4.998) < 1e-9);
    /* AMI (bb-Ricardo/check_redfish): "0" is none; iDRAC7: 0 and null, no supplies (idrac_exporter#3) */
    assert_int_equal(
        read_at("{\"PowerControl\":[{\"PowerConsumedWatts\":0}],\"PowerSupplies\":[{\"MemberId\":1,"
                "\"LastPowerOutputWatts\":\"0\"},{\"MemberId\":2,\"LastPowerOutputWatts\":65535}]}",
                "/redfish/v1/Chassis/1/Power"),
        0);
    expect("PowerConsumedWatts", JM_S_ABSENT, 0);
    expect("LastPowerOutputWatts", JM_S_ABSENT, 0);
    assert_int_equal(find("LastPowerOutputWatts", 1)->status, JM_S_ABSENT);
    assert_int_equal(read_at("{\"PowerControl\":[{\"PowerConsumedWatts\":null}],\"PowerSupplies\":[]}", "/P"),
                     0);
    expect("PowerConsumedWatts", JM_S_ABSENT, 0);
    /* iLO 4: an old type, the value at the top too, trailing slashes */
    assert_int_equal(
        read_at("{\"@odata.type\":\"#Power.1.0.1.Power\",\"PowerConsumedWatts\":221,\"PowerControl\":[{"
                "\"PowerConsumedWatts\":221,\"PowerMetrics\":{\"AverageConsumedWatts\":221,\"IntervalInMin\":"
                "20}}]}",
                "/redfish/v1/Chassis/1/Power/"),
        0);
    jm_rf_dedupe(&set);
    assert_true(find("PowerConsumedWatts", 0)->repeat != find("PowerConsumedWatts", 1)->repeat);
    assert_string_equal(set.type, "Power");
    /* influxdata/telegraf#9575: an input that is a rating */
    assert_int_equal(read_at("{\"PowerSupplies\":[{\"PowerInputWatts\":900,\"PowerOutputWatts\":203,"
                             "\"PowerCapacityWatts\":750}]}",
                             "/P"),
                     0);
    expect("PowerInputWatts", JM_S_IMPLAUSIBLE, 0);
    expect("PowerOutputWatts", JM_S_OK, 203);
}

static void sensors(void **state)
{
    (void)state;
    /* DGX H100: 8 bits of 78 W (19890 = 255 x 78), no unit */
    assert_int_equal(
        read_at("{\"@odata.type\":\"#Sensor.v1_0_2.Sensor\",\"Id\":\"PWR_SYSTEM\",\"Reading\":1950,"
                "\"ReadingRangeMax\":19890,\"ReadingRangeMin\":0,\"ReadingType\":\"Power\"}",
                "/redfish/v1/Chassis/DGX/Sensors/PWR_SYSTEM"),
        0);
    expect("Reading", JM_S_OK, 1950);
    assert_true(find("Reading", 0)->step == 78 && find("Reading", 0)->of == JM_RF_NODE);
    /* its counters wrap at 2^32 mJ */
    assert_int_equal(read_at("{\"Id\":\"ENERGY_GB_SXM1\",\"Reading\":220748.926,\"ReadingRangeMax\":4294968,"
                             "\"ReadingType\":\"EnergyJoules\"}",
                             "/redfish/v1/Chassis/DGX/Sensors/ENERGY_GB_SXM1"),
                     0);
    assert_true(find("Reading", 0)->modulus == 4294967.296 && find("Reading", 0)->of == JM_RF_GPU);
    /* XCC: states of supplies are "Power" of 0 without unit */
    assert_int_equal(
        read_at("{\"Id\":\"x\",\"Name\":\"PSU 1 Pwr In Lost\",\"Reading\":0,\"ReadingType\":\"Power\"}",
                "/redfish/v1/Chassis/1/Sensors/x"),
        0);
    expect("Reading", JM_S_ABSENT, 0);
    /* outside its own range; a sum that the service makes; VA is no power */
    assert_int_equal(read_at("{\"Id\":\"a\",\"Reading\":9000,\"ReadingType\":\"Power\",\"ReadingUnits\":"
                             "\"W\",\"ReadingRangeMax\":3000}",
                             "/S/a"),
                     0);
    expect("Reading", JM_S_IMPLAUSIBLE, 0);
}

static void sensors_more(void **state)
{
    (void)state;
    assert_int_equal(
        read_at("{\"@odata.type\":\"#Sensor.v1_9_0.Sensor\",\"Id\":\"TotalPower\",\"Reading\":374,"
                "\"ReadingUnits\":\"W\",\"Implementation\":\"Synthesized\",\"ReadingTime\":"
                "\"2019-08-13T04:14:33+06:00\",\"Accuracy\":0.2,\"SensingInterval\":\"PT0.25S\"}",
                "/redfish/v1/Chassis/1U/Sensors/TotalPower"),
        0);
    const struct jm_rf_reading *r = find("Reading", 0);
    assert_true(r && r->synthetic && r->sensing_s == 0.25 && fabs(r->accuracy - 0.748) < 1e-9);
    assert_true(r->time == INT64_C(1565648073) * 1000000000); /* date -d 2019-08-12T22:14:33Z +%s */
    assert_int_equal(
        read_at("{\"@odata.type\":\"#Sensor.v1_9_0.Sensor\",\"Reading\":374,\"ReadingUnits\":\"V.A\"}", "/S"),
        0);
    assert_int_equal(set.n, 0);
    /* an outlet: excerpts with their source; PowerLimitWatts.Reading is power, its SetPoint the limit */
    assert_int_equal(
        read_at("{\"@odata.type\":\"#EnvironmentMetrics.v1_3_0.EnvironmentMetrics\",\"EnergyJoules\":{"
                "\"Reading\":787380.0,\"DataSourceUri\":\"/redfish/v1/Chassis/HGX_GPU_0/Sensors/E\"},"
                "\"EnergykWh\":{\"Reading\":0.21871666684163998},\"PowerLimitWatts\":{\"SetPoint\":900,"
                "\"Reading\":84.769},\"PowerWatts\":{\"Reading\":84.821}}",
                "/redfish/v1/Systems/HGX_Baseboard_0/Processors/GPU_0/EnvironmentMetrics"),
        0);
    jm_rf_dedupe(&set);
    expect("PowerWatts", JM_S_OK, 84.821);
    expect("PowerLimitWatts", JM_S_OK, 84.769);
    assert_true(find("PowerLimitWatts", 0)->repeat && find("EnergykWh", 0)->repeat);
    assert_int_equal(find("PowerLimitWatts.SetPoint", 0)->kind, JM_RF_LIMIT);
    assert_int_equal(find("EnergyJoules", 0)->of, JM_RF_GPU);
    assert_string_equal(find("EnergyJoules", 0)->source, "/redfish/v1/Chassis/HGX_GPU_0/Sensors/E");
    /* OpenBMC: NaN comes as null */
    assert_int_equal(
        read_at("{\"PowerWatts\":{\"Reading\":null}}", "/redfish/v1/Chassis/c/EnvironmentMetrics"), 0);
    expect("PowerWatts", JM_S_ABSENT, 0);
}

static void reports(void **state)
{
    (void)state;
    /* GH200: J and mJ in one report. By hand: 303963835 / 300932.548 J = 1010, so mJ and 1 % later;
     * 31463 beside it is mW. The stale mark and "null" are not values. */
    assert_int_equal(
        read_at(
            "{\"@odata.type\":\"#MetricReport.v1_4_2.MetricReport\",\"Id\":\"HGX_PlatformEnvironmentMetrics_"
            "0\","
            "\"ReportSequence\":\"17\",\"MetricValues\":["
            "{\"MetricProperty\":\"/redfish/v1/Chassis/HGX_CPU_0/Sensors/ProcessorModule_0_CPU_0_Energy_0\","
            "\"MetricValue\":\"303963835.000000\",\"Timestamp\":\"2024-08-23T20:06:25Z\"},"
            "{\"MetricProperty\":\"/redfish/v1/Chassis/HGX_CPU_0/Sensors/ProcessorModule_0_CPU_0_Power_0\","
            "\"MetricValue\":\"31463.000000\"},"
            "{\"MetricProperty\":\"/redfish/v1/Chassis/HGX_GPU_0/Sensors/"
            "HGX_GPU_0_Power_0\",\"MetricValue\":\"84.6\","
            "\"Oem\":{\"Nvidia\":{\"MetricValueStale\":true}}},"
            "{\"MetricProperty\":\"/redfish/v1/Chassis/HGX_GPU_1/Sensors/"
            "HGX_GPU_1_Power_0\",\"MetricValue\":\"null\"},"
            "{\"MetricProperty\":\"/redfish/v1/Chassis/HGX_GPU_1/Sensors/HGX_GPU_1_Energy_0\","
            "\"MetricValue\":\"10305416020.0\"}]}",
            "/redfish/v1/TelemetryService/MetricReports/HGX_PlatformEnvironmentMetrics_0"),
        0);
    assert_int_equal(set.sequence, 17);
    assert_int_equal(
        jm_rf_read(
            &set,
            JM_SPAN("{\"ReadingType\":\"EnergyJoules\",\"ReadingUnits\":\"J\",\"Id\":\"e\",\"Reading\":"
                    "300932.548}"),
            "/redfish/v1/Chassis/HGX_CPU_0/Sensors/ProcessorModule_0_CPU_0_Energy_0", &err),
        0);
    assert_false(find("MetricValue", 0)->unit_sure);
    jm_rf_decide(&set);
    assert_true(find("MetricValue", 0)->unit_sure && fabs(find("MetricValue", 0)->value - 303963.835) < 1e-6);
    assert_true(fabs(find("MetricValue", 1)->value - 31.463) < 1e-9);
    assert_int_equal(find("MetricValue", 2)->status, JM_S_STALE);
    assert_int_equal(find("MetricValue", 3)->status, JM_S_ABSENT);
    assert_false(find("MetricValue", 4)->unit_sure); /* nothing says what it is: it stays open */
    /* Supermicro: the property is an object; the report says that it is an hour's mean. XCC: newest first,
     * days of values: the newest counts */
    assert_int_equal(
        read_at(
            "{\"Id\":\"AvgPowerConsumptionHour\",\"MetricValues\":[{\"MetricValue\":\"2162\",\"Timestamp\":"
            "\"2023-11-30T21:06:16+00:00\",\"MetricProperty\":\"/redfish/v1/Chassis/1/Power#/PowerControl/"
            "0\"},{\"MetricValue\":\"2000\",\"Timestamp\":\"2023-11-30T20:06:16+00:00\","
            "\"MetricProperty\":\"/redfish/v1/Chassis/1/Power#/PowerControl/0\"}]}",
            "/redfish/v1/TelemetryService/MetricReports/AvgPowerConsumptionHour"),
        0);
    assert_int_equal(set.n, 1);
    expect("MetricValue", JM_S_OK, 2162);
    assert_true(find("MetricValue", 0)->kind == JM_RF_MEAN && find("MetricValue", 0)->interval_s == 3600);
    assert_int_equal(find("MetricValue", 0)->of, JM_RF_NODE);
    /* Dell's names: kWh, mW of a GPU, input and output of the system */
    assert_int_equal(
        read_at(
            "{\"Id\":\"PowerMetrics\",\"MetricValues\":[{\"MetricId\":\"SystemInputPower\",\"MetricValue\":"
            "\"612\"},{\"MetricId\":\"PowerConsumption\",\"MetricValue\":\"71400\"},{\"MetricId\":"
            "\"CumulativeSystemEnergy\",\"MetricValue\":\"12.5\"},{\"MetricId\":\"CPUTemp\","
            "\"MetricValue\":\"40\"}]}",
            "/redfish/v1/TelemetryService/MetricReports/PowerMetrics"),
        0);
    assert_int_equal(set.n, 3);
    assert_true(set.r[0].scope == JM_RF_AC_INPUT && set.r[0].of == JM_RF_NODE);
    assert_true(fabs(set.r[1].value - 71.4) < 1e-9 && set.r[1].of == JM_RF_GPU);
    assert_true(set.r[2].value == 12.5 * 3.6e6);
}

/* 700 J/s: in mJ 700000 counts a second; half a kWh in an hour is 500 W. */
static void physics(void **state)
{
    (void)state;
    assert_true(jm_rf_factor(700, 1, 700, 0.3) == 1);
    assert_true(jm_rf_factor(7e6, 10, 705, 0.3) == 1e-3);
    assert_true(jm_rf_factor(0.5, 3600, 510, 0.3) == 3.6e6);
    assert_true(jm_rf_factor(500, 3600, 490, 0.3) == 3.6e3);
    assert_true(jm_rf_factor(50, 1, 700, 0.3) == 0); /* none fits */
    assert_true(jm_rf_factor(1, 1, 1900, 0.9) == 0); /* 1e3 and 3.6e3 both fit: not decided */
    assert_true(jm_rf_factor(-1, 1, 100, 0.3) == 0);
    assert_true(jm_rf_factor(1, 0, 100, 0.3) == 0);
}

static void malformed(void **state)
{
    static const struct {
        const char *body;
        size_t n;
        int rc;
        const char *said;
    } rows[] = {
        {"{\"PowerControl\":[{\"PowerConsumedWatts\":5,},]}", 0, 0, "trailing comma"},
        {"{\"PowerControl\":[{\"PowerConsumedWatts\":5}]}}", 0, 0, "surplus brackets"},
        {"\xEF\xBB\xBF{\"PowerControl\":[{\"PowerConsumedWatts\":5}]}", 0, 0, "byte order mark"},
        {"{\"Name\":\"a\rb\",\"PowerControl\":[{\"PowerConsumedWatts\":5}]}\r\n", 0, 0, "control characters"},
        {"{\"x\":NaN,\"PowerControl\":[{\"PowerConsumedWatts\":5}]}", 0, 0, "NaN"},
        {"{\"PowerControl\":[{\"PowerConsumedWatts\":5}]}\0\0", 46, 0, "NUL"},
        {"{\"PowerControl\":[{\"PowerConsumedWatts\":5", 0, JM_EPARSE, "cut off"},
        {"{\"PowerControl\":[{\"PowerConsumedWatts\":5}}]", 0, JM_EPARSE, "do not match"},
        {"{\"a\":1}{\"b\":2}", 0, JM_EPARSE, "goes on"},
        {"<html>login</html>", 0, JM_EPARSE, "web page"},
        {"", 0, JM_EPARSE, "empty"},
        {"[1]", 0, JM_EPARSE, "no JSON object"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        jm_rf_set_release(&set);
        jm_rf_set_init(&set, NULL);
        struct jm_span body = {rows[i].body, rows[i].n ? rows[i].n : strlen(rows[i].body)};
        int rc = jm_rf_read(&set, body, "/redfish/v1/Chassis/1/Power", &err);
        if (rc != rows[i].rc)
            fail_msg("%s: %d %s", rows[i].body, rc, err.text);
        if (!strstr(rc ? err.text : set.repaired, rows[i].said))
            fail_msg("%s: \"%s\"", rows[i].body, rc ? err.text : set.repaired);
        if (rc == 0)
            expect("PowerConsumedWatts", JM_S_OK, 5);
    }
    struct jm_rf_limits lim = {.bytes = 10};
    jm_rf_set_release(&set);
    jm_rf_set_init(&set, &lim);
    assert_int_equal(jm_rf_read(&set, JM_SPAN("{\"PowerWatts\":1}"), "/x", &err), JM_ELIMIT);
    lim = (struct jm_rf_limits){.readings = 2, .links = 1};
    jm_rf_set_init(&set, &lim);
    assert_int_equal(
        jm_rf_read(
            &set,
            JM_SPAN("{\"PowerWatts\":1,\"EnergykWh\":2,\"EnergyJoules\":3,\"Members\":[{\"@odata.id\":\"/"
                    "a\"},{\"@odata.id\":\"/b\"}]}"),
            "/x", &err),
        0);
    assert_true(set.n == 2 && set.n_links == 1 && set.dropped == 2);
}

static void links(void **state)
{
    (void)state;
    assert_int_equal(
        read_at(
            "{\"Chassis\":{\"@odata.id\":\"/redfish/v1/Chassis/\"},\"Links\":{\"Sessions\":{\"@odata.id\":\"/"
            "s\"}},\"Power\":{\"@odata.id\":\"http://elsewhere/Power\"},\"Sensors\":{\"@odata.id\":"
            "\"/redfish/v1/Chassis/1/Power#/x\"},\"Members\":[{\"@odata.id\":\"/redfish/v1/Chassis/A\"}],"
            "\"Members@odata.nextLink\":\"/redfish/v1/Chassis?$skip=50\"}",
            "/redfish/v1"),
        0);
    assert_int_equal(set.n_links, 3); /* another host's and a fragment are not followed */
    assert_string_equal(set.link[0].uri, "/redfish/v1/Chassis");
    assert_int_equal(set.link[1].kind, JM_RF_LINK_MEMBER);
    assert_int_equal(set.link[2].kind, JM_RF_LINK_NEXT);
    /* a collection that comes expanded needs no more requests */
    assert_int_equal(
        read_at("{\"Members\":[{\"@odata.id\":\"/redfish/v1/Chassis/1/Sensors/TotalPower\",\"Id\":"
                "\"TotalPower\",\"ReadingType\":\"Power\",\"ReadingUnits\":\"W\",\"Reading\":310}]}",
                "/redfish/v1/Chassis/1/Sensors"),
        0);
    expect("Reading", JM_S_OK, 310);
    assert_string_equal(find("Reading", 0)->source, "/redfish/v1/Chassis/1/Sensors/TotalPower");
    assert_int_equal(set.n_links, 0);
}

static int teardown(void **state)
{
    (void)state;
    jm_rf_set_release(&set);
    return 0;
}

/* What other services add, each from a public capture. */
static void others(void **state)
{
    (void)state;
    /* AMI (Supermicro GB300, AMI MegaRAC "Self"): the power of now is in PowerMetrics, beside a null */
    assert_int_equal(
        read_at("{\"PowerControl\":[{\"PowerConsumedWatts\":null,\"PowerMetrics\":{\"CurConsumedWatts\":4920,"
                "\"AverageConsumedWatts\":4925}}]}",
                "/redfish/v1/Chassis/BMC_0/Power"),
        0);
    expect("PowerConsumedWatts", JM_S_ABSENT, 0);
    expect("CurConsumedWatts", JM_S_OK, 4920);
    assert_int_equal(find("CurConsumedWatts", 0)->kind, JM_RF_INSTANT);
    assert_int_equal(find("CurConsumedWatts", 0)->of, JM_RF_NODE);
    /* the same key below another maker's Oem; nested values and 0 of the whole are none */
    assert_int_equal(
        read_at("{\"Oem\":{\"Acme\":{\"TotalPowerWatts\":\"415\"}},\"PowerSupplies\":[{\"Oem\":{\"xFusion\":{"
                "\"PowerInputWatts\":209}}}]}",
                "/redfish/v1/Chassis/1/Power"),
        0);
    expect("TotalPowerWatts", JM_S_OK, 415);
    expect("PowerInputWatts", JM_S_OK, 209);
    assert_int_equal(find("PowerInputWatts", 0)->scope, JM_RF_AC_INPUT);
    /* HPE Edgeline e930t, iLO 5: parts beside the total; GPUs are not metered there, and say 0 */
    assert_int_equal(
        read_at("{\"Oem\":{\"Hpe\":{\"HasGpuPowerMetering\":false,\"PowerMetric\":{\"CpuWatts\":76,"
                "\"DimmWatts\":13,"
                "\"GpuWatts\":0},\"Links\":{\"PowerMeter\":{\"@odata.id\":\"/redfish/v1/Chassis/1/Power/"
                "PowerMeter\"},"
                "\"FastPowerMeter\":{\"@odata.id\":\"/redfish/v1/Chassis/1/Power/FastPowerMeter\"}}}},"
                "\"PowerControl\":[{\"PowerConsumedWatts\":130}]}",
                "/redfish/v1/Chassis/1/Power"),
        0);
    expect("CpuWatts", JM_S_OK, 76);
    expect("DimmWatts", JM_S_OK, 13);
    expect("GpuWatts", JM_S_ABSENT, 0);
    assert_int_equal(set.n_links, 1); /* the fast one: the slow one tells less */
    assert_string_equal(set.link[0].uri, "/redfish/v1/Chassis/1/Power/FastPowerMeter");
    /* iLO 4 writes href */
    assert_int_equal(read_at("{\"Oem\":{\"Hp\":{\"links\":{\"FastPowerMeter\":{\"href\":\"/redfish/v1/"
                             "Chassis/1/Power/FastPowerMeter/\"}}}}}",
                             "/redfish/v1/Chassis/1/Power"),
                     0);
    assert_int_equal(set.n_links, 1);
    /* HpePowerMeter: the newest of its entries, wherever it stands */
    assert_int_equal(read_at("{\"@odata.type\":\"#HpePowerMeter.v2_0_1.HpePowerMeter\",\"Id\":"
                             "\"FastPowerMeter\",\"PowerDetail\":["
                             "{\"Time\":\"2024-05-06T10:00:00Z\",\"Average\":120,\"Peak\":140,\"Minimum\":"
                             "118,\"CpuWatts\":70},"
                             "{\"Time\":\"2024-05-06T10:00:10Z\",\"Average\":131,\"Peak\":150,\"Minimum\":"
                             "119,\"CpuWatts\":75}]}",
                             "/redfish/v1/Chassis/1/Power/FastPowerMeter"),
                     0);
    expect("Average", JM_S_OK, 131);
    expect("CpuWatts", JM_S_OK, 75);
    assert_int_equal(find("Average", 0)->kind, JM_RF_MEAN);
    assert_true(find("Average", 0)->interval_s == 10);
    assert_int_equal(find("Peak", 0)->kind, JM_RF_MAX);
    /* IBM's OpenBMC: means of 30 s of a supply's input */
    assert_int_equal(read_at("{\"Oem\":{\"IBM\":{\"InputPowerHistoryItems\":[{\"Date\":\"2024-05-06T10:00:"
                             "30Z\",\"Average\":204,"
                             "\"Maximum\":216}]}}}",
                             "/redfish/v1/Chassis/chassis/PowerSubsystem/PowerSupplies/ps0/Metrics"),
                     0);
    expect("Average", JM_S_OK, 204);
    assert_int_equal(find("Average", 0)->of, JM_RF_PSU);
    assert_true(find("Average", 0)->interval_s == 30);
    /* a cooler's heat is no electrical power, whether its type says so or its name */
    assert_int_equal(
        read_at("{\"Id\":\"PrimaryHeatRemovedkW\",\"@odata.type\":\"#Sensor.v1_1_0.Sensor\",\"Reading\":0.2,"
                "\"ReadingUnits\":\"kW\"}",
                "/redfish/v1/Chassis/1/Sensors/PrimaryHeatRemovedkW"),
        0);
    assert_int_equal(set.n, 0);
    assert_int_equal(
        read_at("{\"Id\":\"Q1\",\"ReadingType\":\"Heat\",\"Reading\":12,\"ReadingUnits\":\"kW\"}",
                "/redfish/v1/Chassis/1/Sensors/Q1"),
        0);
    assert_int_equal(set.n, 0);
    assert_int_equal(
        read_at("{\"Id\":\"PowerConsume\",\"@odata.type\":\"#Sensor.v1_1_0.Sensor\",\"Reading\":\"1.5\","
                "\"ReadingUnits\":\"kW\"}",
                "/redfish/v1/Chassis/1/Sensors/PowerConsume"),
        0);
    expect("Reading", JM_S_OK, 1500);
    /* sensors below power equipment: which part they are of, by their names, never a server */
    assert_int_equal(
        read_at(
            "{\"Id\":\"OutletPowerA1\",\"ReadingType\":\"Power\",\"Reading\":197.4,\"ReadingUnits\":\"W\"}",
            "/redfish/v1/PowerEquipment/RackPDUs/1/Sensors/OutletPowerA1"),
        0);
    assert_int_equal(find("Reading", 0)->of, JM_RF_OUTLET);
    /* a shelf of supplies is no node; a bare value for an excerpt (DMTF's guide to power) */
    assert_int_equal(
        read_at("{\"PowerWatts\":\"6438\"}", "/redfish/v1/Chassis/PowerShelf/EnvironmentMetrics"), 0);
    expect("PowerWatts", JM_S_OK, 6438);
    assert_int_equal(find("PowerWatts", 0)->of, JM_RF_PDU);
    jm_rf_set_release(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),      cmocka_unit_test(vendors), cmocka_unit_test(sensors),
        cmocka_unit_test(sensors_more), cmocka_unit_test(reports), cmocka_unit_test(physics),
        cmocka_unit_test(malformed),    cmocka_unit_test(links),   cmocka_unit_test(others),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
