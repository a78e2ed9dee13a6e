/* SPDX-License-Identifier: Apache-2.0 */
/* Captured trees of real BMCs: what each figure is. Expected values are sums and comparisons that were worked
 * out from the captures on paper, one row a machine. Skipped where the corpus is not there. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/str.h"
#include "wire/redfish.h"

static char root[1024];
static struct jm_rf_set set;

static bool take(const char *file, const char *uri)
{
    char path[2048];
    struct jm_str text;
    struct jm_err err = {0};
    struct stat st;
    snprintf(path, sizeof path, "%s/redfish/%s", root, file);
    if (stat(path, &st) != 0)
        return false;
    jm_str_init(&text);
    if (jm_file_read(path, (size_t)32 << 20, &text, &err) != 0 ||
        jm_rf_read(&set, jm_str_span(&text), uri, &err) != 0)
        fail_msg("%s: %s", file, err.text);
    jm_str_release(&text);
    return true;
}

static bool near(double a, double b)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 0.5;
}

/* --- one snapshot each: which side a figure is on
 * ---------------------------------------------------------------- */
struct row {
    const char *file;
    double consumed, input, output, mean, min, max, interval;
    enum jm_rf_side consumed_is, mean_is;
    bool outside, input_bogus, last_total, last_suspect;
};

static void table(void **state)
{
    static const struct row rows[] = {
        {"bmc/dell/redfish/v1/Chassis/System.Embedded.1/Power/index.json", 614, 612.5, 552, 612, 610, 616, 1,
         JM_RF_IS_INPUT, JM_RF_IS_INPUT, false, false, false, false},
        {"bmc/lenovo/redfish/v1/Chassis/1/Power/index.json", 708, 706, 632, 635, 633, 639, 1, JM_RF_IS_INPUT,
         JM_RF_IS_OUTPUT, true, false, true, false},
        {"bmc/testdata/power-lenovo_health_critical.json", 380, 379, 357, 358, 358, 360, 1, JM_RF_IS_INPUT,
         JM_RF_IS_OUTPUT, true, false, true, false},
        {"bmc/testdata/power-lenovo.json", 416, 420, 340, 342, 324, 357, 1, JM_RF_IS_INPUT, JM_RF_IS_OUTPUT,
         true, false, true, false},
        {"bmc/testdata/power-dell.json", 338, 337.75, 325.25, 338, 337, 343, 1, JM_RF_IS_INPUT,
         JM_RF_IS_INPUT, false, false, false, false},
        {"bmc/hpe/redfish/v1/Chassis/1/Power/index.json", 531, NAN, NAN, 515, 484, 620, 20, JM_RF_IS_UNKNOWN,
         JM_RF_IS_UNKNOWN, false, false, false, false},
        {"bmc/testdata/power-hpe.json", 590, NAN, NAN, 587, 582, 746, 20, JM_RF_IS_UNKNOWN, JM_RF_IS_UNKNOWN,
         false, false, false, false},
        {"telegraf/hp_power.json", 221, NAN, NAN, 221, 220, 252, 20, JM_RF_IS_UNKNOWN, JM_RF_IS_UNKNOWN,
         false, false, false, true},
        {"telegraf/dell_power.json", 429, NAN, 203, 426, 425, 436, 1, JM_RF_IS_OTHER, JM_RF_IS_OTHER, false,
         true, false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *e = &rows[i];
        struct jm_rf_audit a;
        jm_rf_set_clear(&set);
        assert_true(take(e->file, "/redfish/v1/Chassis/1/Power"));
        jm_rf_dedupe(&set);
        jm_rf_audit(&set, "/redfish/v1/Chassis/1", &a);
        if (!near(a.consumed, e->consumed) || !near(a.input, e->input) || !near(a.output, e->output) ||
            !near(a.mean, e->mean) || !near(a.min, e->min) || !near(a.max, e->max) ||
            !near(a.interval_min, e->interval) || a.consumed_is != e->consumed_is ||
            a.mean_is != e->mean_is || a.outside != e->outside || a.input_bogus != e->input_bogus ||
            a.last_total != e->last_total || a.last_suspect != e->last_suspect)
            fail_msg("%s: %g in %g out %g, mean %g [%g, %g]; %s", e->file, a.consumed, a.input, a.output,
                     a.mean, a.min, a.max, a.text);
    }
    /* HPE's consumption is the sum of what its supplies last gave: 277 + 254 */
    struct jm_rf_audit a;
    jm_rf_set_clear(&set);
    assert_true(take(rows[5].file, "/redfish/v1/Chassis/1/Power"));
    jm_rf_audit(&set, NULL, &a);
    assert_true(a.last_output == 531 && a.consumed == 531);
}

/* --- DGX H100
 * ------------------------------------------------------------------------------------------------- */
static const struct jm_rf_reading *source(const char *uri)
{
    for (size_t i = 0; i < set.n; i++)
        if (strcmp(set.r[i].source, uri) == 0 && !set.r[i].repeat)
            return &set.r[i];
    return NULL;
}

static const struct jm_rf_reading *one(const char *vendor, const char *uri)
{
    char file[512];
    snprintf(file, sizeof file, "bmc/%s%s/index.json", vendor, uri);
    assert_true(take(file, uri));
    const struct jm_rf_reading *r = source(uri);
    assert_non_null(r);
    return r;
}

static void dgx(void **state)
{
    char uri[200];
    double psu = 0, modulus = 4294967.296; /* 2^32 mJ */
    (void)state;
    jm_rf_set_clear(&set);
    for (int i = 0; i < 6; i++) {
        snprintf(uri, sizeof uri, "/redfish/v1/Chassis/DGX/Sensors/PWR_PSU%d", i);
        const struct jm_rf_reading *r = one("nvidia_viking", uri);
        assert_true(r->step == 13 && r->of == JM_RF_PSU);
        psu += r->value;
    }
    assert_true(psu == 1989); /* 3 x 351 + 3 x 312 */
    const struct jm_rf_reading *r = one("nvidia_viking", "/redfish/v1/Chassis/DGX/Sensors/PWR_SYSTEM");
    assert_true(r->value == 1950 && r->step == 78);
    /* the host BMC's counters are the HGX BMC's after 13 wraps: the rest is 72..76 W over 289..612 s */
    for (int i = 1; i <= 8; i++) {
        snprintf(uri, sizeof uri, "/redfish/v1/Chassis/DGX/Sensors/ENERGY_GB_SXM%d", i);
        r = one("nvidia_viking", uri);
        assert_true(r->modulus == modulus && r->of == JM_RF_GPU);
        double folded = r->value;
        snprintf(uri, sizeof uri, "/redfish/v1/Chassis/HGX_GPU_SXM_%d/Sensors/HGX_GPU_SXM_%d_Energy_0", i, i);
        r = one("nvidia_viking", uri);
        assert_true(r->modulus == 0);
        double rest = fabs(r->value - 13 * modulus - folded);
        if (rest < 21000 || rest > 46000)
            fail_msg("GPU %d: %g J apart", i, rest);
    }
    assert_true(take("bmc/nvidia_viking/redfish/v1/Chassis/HGX_Chassis_0/EnvironmentMetrics/index.json",
                     "/redfish/v1/Chassis/HGX_Chassis_0/EnvironmentMetrics"));
    const struct jm_rf_reading *gpus =
        source("/redfish/v1/Chassis/HGX_Chassis_0/Sensors/HGX_Chassis_0_TotalGPU_Power_0");
    const struct jm_rf_reading *hsc =
        source("/redfish/v1/Chassis/HGX_Chassis_0/Sensors/HGX_Chassis_0_TotalHSC_Power_0");
    assert_true(gpus && gpus->value == 587 && gpus->of == JM_RF_GPUS); /* PowerLimitWatts.Reading is power */
    assert_true(hsc && fabs(hsc->value - 825.38) < 1e-9 && hsc->of == JM_RF_MODULE);
    jm_rf_set_clear(&set);
    assert_true(
        take("bmc/nvidia_viking/redfish/v1/Chassis/DGX/Power/index.json", "/redfish/v1/Chassis/DGX/Power"));
    for (size_t i = 0; i < set.n; i++) /* zeros over 0 minutes */
        assert_true(set.r[i].status != JM_S_OK || set.r[i].kind == JM_RF_LIMIT);
}

/* --- GH200: units in one report
 * ------------------------------------------------------------------------------- */
static void gh200(void **state)
{
    static const char report[] =
        "/redfish/v1/TelemetryService/MetricReports/HGX_PlatformEnvironmentMetrics_0";
    static const struct {
        const char *uri;
        double raw, factor, sensor;
    } rows[] = {
        {"/redfish/v1/Chassis/HGX_GPU_0/Sensors/HGX_GPU_0_Energy_0", 796170.359, 1, 789558.534},
        {"/redfish/v1/Chassis/HGX_CPU_0/Sensors/ProcessorModule_0_CPU_0_Energy_0", 303963835, 1e-3,
         300932.548},
        {"/redfish/v1/Chassis/HGX_ProcessorModule_0/Sensors/ProcessorModule_0_Energy_0", 1606554353, 1e-3,
         1593105.973},
    };
    (void)state;
    jm_rf_set_clear(&set);
    char file[256];
    snprintf(file, sizeof file, "bmc/nvidia_gh200%s/index.json", report);
    assert_true(take(file, report));
    size_t reported = set.n;
    for (size_t i = 0; i < 3; i++) {
        snprintf(file, sizeof file, "bmc/nvidia_gh200%s/index.json", rows[i].uri);
        assert_true(take(file, rows[i].uri));
    }
    jm_rf_decide(&set);
    for (size_t i = 0; i < 3; i++) {
        const struct jm_rf_reading *in_report = NULL, *sensor = NULL;
        for (size_t k = 0; k < set.n; k++)
            if (strcmp(set.r[k].source, rows[i].uri) == 0)
                *(k < reported ? &in_report : &sensor) = &set.r[k];
        assert_true(in_report && sensor && in_report->unit_sure);
        assert_true(in_report->factor == rows[i].factor);
        assert_true(fabs(in_report->value - rows[i].raw * rows[i].factor) < 1e-3);
        assert_true(fabs(sensor->value - rows[i].sensor) < 1e-3);
    }
    /* the memory of a GPU answers with the GPU's own sensors: one source, once */
    jm_rf_set_clear(&set);
    assert_true(
        take("bmc/nvidia_gh200/redfish/v1/Systems/HGX_Baseboard_0/Memory/GPU_1_DRAM_0/EnvironmentMetrics/"
             "index.json",
             "/redfish/v1/Systems/HGX_Baseboard_0/Memory/GPU_1_DRAM_0/EnvironmentMetrics"));
    assert_true(
        take("bmc/nvidia_gh200/redfish/v1/Systems/HGX_Baseboard_0/Processors/GPU_1/EnvironmentMetrics/"
             "index.json",
             "/redfish/v1/Systems/HGX_Baseboard_0/Processors/GPU_1/EnvironmentMetrics"));
    jm_rf_dedupe(&set);
    size_t energies = 0;
    for (size_t i = 0; i < set.n; i++)
        energies += !set.r[i].repeat && set.r[i].unit == JM_U_J && set.r[i].status == JM_S_OK;
    assert_int_equal(energies, 1);
}

/* --- power equipment, and bodies that are damaged
 * ----------------------------------------------------------------- */
static void equipment(void **state)
{
    (void)state;
    jm_rf_set_clear(&set);
    assert_true(take("dmtf/public-pdu/PowerEquipment/RackPDUs/1/Outlets/A1/index.json",
                     "/redfish/v1/PowerEquipment/RackPDUs/1/Outlets/A1"));
    const struct jm_rf_reading *w = source("/redfish/v1/Chassis/PDU/Sensors/PowerA1");
    const struct jm_rf_reading *e = source("/redfish/v1/Chassis/PDU/Sensors/EnergyA1");
    assert_true(w && w->of == JM_RF_OUTLET && w->scope == JM_RF_AC_INPUT && fabs(w->value - 197.4) < 1e-9);
    assert_true(e && e->value == 36166 * 3.6e6 && e->step == 3.6e6);
    jm_rf_set_clear(&set);
    assert_true(
        take("malformed/dell_gofish_invalidPowerBody_extra_brace.raw", "/redfish/v1/Chassis/Self/Power"));
    assert_non_null(strstr(set.repaired, "surplus"));
    struct jm_rf_audit a;
    jm_rf_audit(&set, NULL, &a);
    assert_true(a.mean == 148 && a.max == 301 && isnan(a.consumed));
    jm_rf_set_clear(&set);
    if (take("malformed/lenovo_xcc_PowerMetrics_trailing_comma.raw",
             "/redfish/v1/TelemetryService/MetricReports/PowerMetrics")) {
        assert_non_null(strstr(set.repaired, "comma"));
        assert_int_equal(set.n, 3); /* 25920 values of three metrics: the newest of each */
        for (size_t i = 0; i < set.n; i++)
            assert_true(set.r[i].value >= 633 && set.r[i].value <= 640);
    }
}

static int teardown(void **state)
{
    (void)state;
    jm_rf_set_release(&set);
    return 0;
}

int main(void)
{
    const char *corpus = getenv("JOULEMARK_CORPUS");
    struct stat st;
    char path[1100];
    snprintf(root, sizeof root, "%s", corpus && *corpus ? corpus : "../shared/corpus");
    snprintf(path, sizeof path, "%s/redfish", root);
    if (stat(path, &st) != 0) {
        printf("1..0 # SKIP no corpus at %s\n", root);
        return 77;
    }
    jm_rf_set_init(&set, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),
        cmocka_unit_test(dgx),
        cmocka_unit_test(gh200),
        cmocka_unit_test(equipment),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
