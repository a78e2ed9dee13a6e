/* SPDX-License-Identifier: Apache-2.0 */
/* Paths that are not in the schemas, one row each; adding a vendor is adding rows. */
#include "wire/redfish_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define W(v, p, k, o, s, n, from)                                                                            \
    {                                                                                                        \
        v, p, 1, JM_U_W, k, o, s, n, from                                                                    \
    }

#define IRMC   "Fujitsu iRMC S4/S5/S6; mrlhansen/idrac_exporter issue 121"
#define PUBLIC "Inspur, H3C, Lenovo (white-box) BMCs with Oem.Public; ISIP isrest utility"
#define HUAWEI "Huawei iBMC Redfish interface description; Huawei uREST"
#define HPE    "HPE iLO 5 Redfish, HpeServerPowerSupply v2"

const struct jm_rf_vendor jm_rf_vendors[] = {
    W("Fujitsu", "Oem.ts_fujitsu.ChassisPowerConsumption.CurrentPowerConsumptionW", JM_RF_INSTANT, JM_RF_NODE,
      JM_RF_SIDE_UNKNOWN, NULL, IRMC),
    W("Fujitsu", "Oem.ts_fujitsu.ChassisPowerConsumption.CurrentPowerConsumption", JM_RF_INSTANT, JM_RF_NODE,
      JM_RF_SIDE_UNKNOWN, NULL, IRMC),
    W("Fujitsu", "Oem.ts_fujitsu.ChassisPowerConsumption.AveragePowerW", JM_RF_MEAN, JM_RF_NODE,
      JM_RF_SIDE_UNKNOWN, NULL, IRMC),
    W("Fujitsu", "Oem.ts_fujitsu.ChassisPowerConsumption.MinimumPowerW", JM_RF_MIN, JM_RF_NODE,
      JM_RF_SIDE_UNKNOWN, NULL, IRMC),
    W("Fujitsu", "Oem.ts_fujitsu.ChassisPowerConsumption.PeakPowerW", JM_RF_MAX, JM_RF_NODE,
      JM_RF_SIDE_UNKNOWN, NULL, IRMC),
    W("Fujitsu", "Oem.ts_fujitsu.ChassisPowerSensors[].CurrentPowerConsumptionW", JM_RF_INSTANT, JM_RF_RAIL,
      JM_RF_COMPONENT, "Designation", IRMC),
    W("Fujitsu", "Oem.ts_fujitsu.PowerSensors[].CurrentPowerConsumptionW", JM_RF_INSTANT, JM_RF_RAIL,
      JM_RF_COMPONENT, "Designation", IRMC),
    W("Inspur", "Oem.Public.CurrentCPUPowerWatts", JM_RF_INSTANT, JM_RF_CPU, JM_RF_COMPONENT, NULL, PUBLIC),
    W("Inspur", "Oem.Public.CurrentMemoryPowerWatts", JM_RF_INSTANT, JM_RF_MEMORY, JM_RF_COMPONENT, NULL,
      PUBLIC),
    W("Inspur", "Oem.Public.CurrentFANPowerWatts", JM_RF_INSTANT, JM_RF_FANS, JM_RF_COMPONENT, NULL, PUBLIC),
    W("Inspur", "Oem.Public.CurrentFanPowerWatts", JM_RF_INSTANT, JM_RF_FANS, JM_RF_COMPONENT, NULL, PUBLIC),
    W("Inspur", "PowerControl[].Oem.Public.CurrentCPUPowerWatts", JM_RF_INSTANT, JM_RF_CPU, JM_RF_COMPONENT,
      NULL, PUBLIC),
    W("Inspur", "PowerControl[].Oem.Public.CurrentMemoryPowerWatts", JM_RF_INSTANT, JM_RF_MEMORY,
      JM_RF_COMPONENT, NULL, PUBLIC),
    W("Inspur", "PowerControl[].Oem.Public.CurrentDiskPowerWatts", JM_RF_INSTANT, JM_RF_STORAGE,
      JM_RF_COMPONENT, NULL, "H3C HDM; mrlhansen/idrac_exporter issue 51"),
    W("Inspur", "PowerControl[].Oem.Public.CurrentFanPowerWatts", JM_RF_INSTANT, JM_RF_FANS, JM_RF_COMPONENT,
      NULL, PUBLIC),
    /* whoever builds on these BMCs keeps the names and puts its own below Oem */
    W("Oem", "PowerSupplies[].Oem.*.PowerInputWatts", JM_RF_INSTANT, JM_RF_PSU, JM_RF_AC_INPUT, NULL, HUAWEI),
    W("Oem", "PowerSupplies[].Oem.*.PowerOutputWatts", JM_RF_INSTANT, JM_RF_PSU, JM_RF_DC_OUTPUT, NULL,
      HUAWEI),
    W("Oem", "PowerControl[].Oem.*.PowerMetricsExtended.CurrentCPUPowerWatts", JM_RF_INSTANT, JM_RF_CPU,
      JM_RF_COMPONENT, NULL, HUAWEI),
    W("Oem", "PowerControl[].Oem.*.PowerMetricsExtended.CurrentMemoryPowerWatts", JM_RF_INSTANT, JM_RF_MEMORY,
      JM_RF_COMPONENT, NULL, HUAWEI),
    {"Oem", "PowerControl[].Oem.*.PowerMetricsExtended.TotalConsumedPowerkWh", 3.6e6, JM_U_J, JM_RF_COUNTER,
     JM_RF_NODE, JM_RF_SIDE_UNKNOWN, NULL, HUAWEI},
    W("Oem", "Oem.*.TotalPower", JM_RF_INSTANT, JM_RF_NODE, JM_RF_SIDE_UNKNOWN, NULL, PUBLIC),
    W("Oem", "Oem.*.TotalPowerWatts", JM_RF_INSTANT, JM_RF_NODE, JM_RF_SIDE_UNKNOWN, NULL, PUBLIC),
    W("Oem", "Oem.*.PowerConsumedWatts", JM_RF_INSTANT, JM_RF_NODE, JM_RF_SIDE_UNKNOWN, NULL, PUBLIC),
    W("Oem", "PowerControl[].Oem.*.TotalPower", JM_RF_INSTANT, JM_RF_NODE, JM_RF_SIDE_UNKNOWN, NULL, PUBLIC),
    W("HPE", "Oem.Hpe.PowerMetric.CpuWatts", JM_RF_INSTANT, JM_RF_CPU, JM_RF_COMPONENT, NULL, HPE),
    W("HPE", "Oem.Hpe.PowerMetric.DimmWatts", JM_RF_INSTANT, JM_RF_MEMORY, JM_RF_COMPONENT, NULL, HPE),
    W("HPE", "Oem.Hpe.PowerMetric.GpuWatts", JM_RF_INSTANT, JM_RF_GPUS, JM_RF_BOARD, NULL, HPE),
    W("HPE", "PowerSupplies[].Oem.Hpe.AveragePowerOutputWatts", JM_RF_MEAN, JM_RF_PSU, JM_RF_DC_OUTPUT, NULL,
      HPE),
    W("HPE", "PowerSupplies[].Oem.Hp.AveragePowerOutputWatts", JM_RF_MEAN, JM_RF_PSU, JM_RF_DC_OUTPUT, NULL,
      "HPE iLO 4 Redfish, HpServerPowerSupply"),
    W("HPE", "PowerSupplies[].Oem.Hpe.MaxPowerOutputWatts", JM_RF_MAX, JM_RF_PSU, JM_RF_DC_OUTPUT, NULL, HPE),
};
const size_t jm_rf_n_vendors = sizeof jm_rf_vendors / sizeof *jm_rf_vendors;

/* Dell's MetricDefinitions (iDRAC9 telemetry) and what others name the same way. */
const struct jm_rf_metric *jm_rf_metric_find(struct jm_span id)
{
    static const struct jm_rf_metric rows[] = {
        {"SystemInputPower", 1, JM_U_W, JM_RF_INSTANT, JM_RF_NODE, JM_RF_AC_INPUT, 0},
        {"SystemOutputPower", 1, JM_U_W, JM_RF_INSTANT, JM_RF_NODE, JM_RF_DC_OUTPUT, 0},
        {"SystemPowerConsumption", 1, JM_U_W, JM_RF_INSTANT, JM_RF_NODE, JM_RF_SIDE_UNKNOWN, 0},
        {"CumulativeSystemEnergy", 3.6e6, JM_U_J, JM_RF_COUNTER, JM_RF_NODE, JM_RF_SIDE_UNKNOWN, 0},
        {"LastMinuteAvgPower", 1, JM_U_W, JM_RF_MEAN, JM_RF_NODE, JM_RF_SIDE_UNKNOWN, 60},
        {"LastHourAvgPower", 1, JM_U_W, JM_RF_MEAN, JM_RF_NODE, JM_RF_SIDE_UNKNOWN, 3600},
        {"LastDayAvgPower", 1, JM_U_W, JM_RF_MEAN, JM_RF_NODE, JM_RF_SIDE_UNKNOWN, 86400},
        {"LastWeekAvgPower", 1, JM_U_W, JM_RF_MEAN, JM_RF_NODE, JM_RF_SIDE_UNKNOWN, 604800},
        {"SystemMaxPowerConsumption", 1, JM_U_W, JM_RF_MAX, JM_RF_NODE, JM_RF_SIDE_UNKNOWN, 0},
        {"PowerConsumption", 1e-3, JM_U_W, JM_RF_INSTANT, JM_RF_GPU, JM_RF_BOARD,
         0}, /* mW by its definition */
        {"CPUPkgEnergy", 1e-6, JM_U_J, JM_RF_COUNTER, JM_RF_CPU, JM_RF_COMPONENT, 0}, /* µJ */
        {"DRAMPkgEnergy", 1e-6, JM_U_J, JM_RF_COUNTER, JM_RF_MEMORY, JM_RF_COMPONENT, 0},
        {"TotalCPUPower", 1, JM_U_W, JM_RF_INSTANT, JM_RF_CPU, JM_RF_COMPONENT, 0},
        {"TotalMemoryPower", 1, JM_U_W, JM_RF_INSTANT, JM_RF_MEMORY, JM_RF_COMPONENT, 0},
        {"TotalFanPower", 1, JM_U_W, JM_RF_INSTANT, JM_RF_FANS, JM_RF_COMPONENT, 0},
        {"TotalStoragePower", 1, JM_U_W, JM_RF_INSTANT, JM_RF_STORAGE, JM_RF_COMPONENT, 0},
        {"TotalPciePower", 1, JM_U_W, JM_RF_INSTANT, JM_RF_RAIL, JM_RF_COMPONENT, 0},
        {"TotalFPGAPower", 1, JM_U_W, JM_RF_INSTANT, JM_RF_RAIL, JM_RF_COMPONENT, 0},
        {"SystemHeadRoomInstantaneous", 1, JM_U_W, JM_RF_LIMIT, JM_RF_NODE, JM_RF_SIDE_UNKNOWN, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (jm_span_is(id, rows[i].id))
            return &rows[i];
    return NULL;
}

static void found(struct jm_rf_body *b, const struct jm_rf_vendor *v, const struct jm_json *holder,
                  const struct jm_json *value, const char *at)
{
    struct jm_rf_reading *r = jm_rf_add(b, v->path + (strrchr(v->path, '.') - v->path) + 1);
    if (!r)
        return;
    r->unit = v->unit;
    r->kind = v->kind;
    r->of = v->of;
    r->scope = v->scope;
    jm_rf_put(r, value, v->factor);
    snprintf(r->source, sizeof r->source, "%.*s#/%.*s", JM_RF_URI / 2, b->uri, JM_RF_URI / 2 - 3, at);
    const struct jm_json *name = v->name_key ? jm_json_get(holder, v->name_key) : NULL;
    struct jm_span text;
    snprintf(r->name, sizeof r->name, "%s %s", v->vendor, r->property);
    if (name && jm_json_str(name, &text)) {
        jm_rf_text(r->name, sizeof r->name, name);
        jm_rf_named(text, &r->of, &r->scope);
    }
    /* 0 of the whole is not known; 0 of a part, beside flags that say whether it is metered, is not metered
     */
    if (r->status == JM_S_OK && r->value == 0 && (r->of == JM_RF_NODE || strstr(v->path, "PowerMetric.")))
        r->status = JM_S_ABSENT;
}

/* Walks path from v; at is the place so far. */
static void walk(struct jm_rf_body *b, const struct jm_rf_vendor *row, const struct jm_json *v,
                 const char *path, const char *at)
{
    char key[64], here[JM_RF_URI];
    const char *dot = strchr(path, '.');
    size_t n = dot ? (size_t)(dot - path) : strlen(path);
    bool any = n > 2 && path[n - 1] == ']' && path[n - 2] == '[';
    size_t k = any ? n - 2 : n;
    if (k >= sizeof key || b->rc)
        return;
    memcpy(key, path, k);
    key[k] = '\0';
    if (strcmp(key, "*") == 0) {
        const struct jm_json *member;
        const char *name;
        void *it = NULL;
        for (int i = 0; dot && i < 16 && jm_json_is_object(v) && jm_json_next(v, &it, &name, &member); i++) {
            snprintf(here, sizeof here, "%.150s/%.60s", at, name);
            walk(b, row, member, dot + 1, here);
        }
        return;
    }
    const struct jm_json *next = jm_json_get(v, key);
    if (!next)
        return;
    snprintf(here, sizeof here, "%.150s%s%s", at, *at ? "/" : "", key);
    if (!dot) {
        found(b, row, v, next, here);
    } else if (any && jm_json_is_array(next)) {
        for (size_t i = 0; i < jm_json_len(next) && i < 256; i++) {
            char item[JM_RF_URI];
            snprintf(item, sizeof item, "%.200s/%zu", here, i);
            walk(b, row, jm_json_at(next, i), dot + 1, item);
        }
    } else {
        walk(b, row, next, dot + 1, here);
    }
}

void jm_rf_vendor_paths(struct jm_rf_body *b)
{
    for (size_t i = 0; i < jm_rf_n_vendors && !b->rc; i++)
        walk(b, &jm_rf_vendors[i], b->root, jm_rf_vendors[i].path, "");
}
