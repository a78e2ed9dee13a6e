/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/promdev.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/str.h"
#include "wire/prom.h"

#include "base/banned.h"

#define MS  JM_NS_PER_MS
#define GPU "UUID uuid gpu_uuid GPU_UUID gpu_id gpu index minor_number minor card device serial_number"

enum what { COUNTER, GAUGE, SETTING };
/* What the value of a power gauge means. */
enum means { INSTANT, USAGE, AVERAGE, RAW, MEAN_1S, UNSAID };

static const struct row {
    const char *metric; /* shell pattern */
    const char *name;   /* of the channel */
    enum what what;
    enum means means;
    int text10; /* its numbers are W or J x 10^text10 */
    enum jm_provenance provenance;
    enum jm_domain_kind domain;
    unsigned flags;
    const char *keys; /* labels that name the device, the first that is there; after + one that is added */
    const char *source;
} rows[] = {
    /* dcgm-exporter: names up to 4.5 and from 4.6 on; dcgm_fields.h says units */
    {"DCGM_FI_DEV_POWER_USAGE", "power.usage", GAUGE, USAGE, 0, JM_P_MEASURED, JM_D_GPU, 0, GPU,
     "DCGM field 155"},
    {"DCGM_FI_DEV_BOARD_POWER_WATTS", "power.usage", GAUGE, USAGE, 0, JM_P_MEASURED, JM_D_GPU, 0, GPU,
     "DCGM field 155"},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "energy", COUNTER, INSTANT, -3, JM_P_MEASURED, JM_D_GPU, 0, GPU,
     "DCGM field 156"},
    {"DCGM_FI_DEV_POWER_USAGE_INSTANT", "power.instant", GAUGE, RAW, 0, JM_P_MEASURED, JM_D_GPU, 0, GPU,
     "DCGM field 157"},
    {"DCGM_FI_DEV_BOARD_POWER_RAW_WATTS", "power.instant", GAUGE, RAW, 0, JM_P_MEASURED, JM_D_GPU, 0, GPU,
     "DCGM field 157"},
    {"DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "power.limit", SETTING, INSTANT, 0, JM_P_DECLARED, JM_D_GPU, 0, GPU,
     "DCGM field 164"},
    {"DCGM_FI_DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS", "power.limit", SETTING, INSTANT, 0, JM_P_DECLARED,
     JM_D_GPU, 0, GPU, "DCGM field 164"},
    {"DCGM_FI_DEV_CPU_POWER_UTIL_CURRENT", "power", GAUGE, UNSAID, 0, JM_P_MEASURED, JM_D_CPU, 0, "cpu CPU",
     "DCGM field 1130, CPU rail"},
    {"DCGM_FI_DEV_CPU_POWER_WATTS", "power", GAUGE, UNSAID, 0, JM_P_MEASURED, JM_D_CPU, 0, "cpu CPU",
     "DCGM field 1130, CPU rail"},
    {"DCGM_FI_DEV_SYSIO_POWER_UTIL_CURRENT", "power", GAUGE, UNSAID, 0, JM_P_MEASURED, JM_D_SYSIO, 0,
     "cpu CPU", "DCGM field 1132"},
    {"DCGM_FI_DEV_MODULE_POWER_UTIL_CURRENT", "power", GAUGE, UNSAID, 0, JM_P_MEASURED, JM_D_MODULE,
     JM_CHF_PARTOF, "cpu CPU", "DCGM field 1133"},
    {"DCGM_FI_DEV_NVSWITCH_POWER_VDD*", "power.vdd", GAUGE, UNSAID, 0, JM_P_MEASURED, JM_D_NVSWITCH, 0,
     "nvswitch +vdd", "DCGM field 705"},
    {"DCGM_FI_DEV_NVSWITCH_POWER_DVDD*", "power.dvdd", GAUGE, UNSAID, 0, JM_P_MEASURED, JM_D_NVSWITCH, 0,
     "nvswitch +dvdd", "DCGM field 706"},
    {"DCGM_FI_DEV_NVSWITCH_POWER_HVDD*", "power.hvdd", GAUGE, UNSAID, 0, JM_P_MEASURED, JM_D_NVSWITCH, 0,
     "nvswitch +hvdd", "DCGM field 707"},
    /* utkuozdemir/nvidia_gpu_exporter, telegraf's inputs.nvidia_smi, mindprince's exporter */
    {"nvidia_smi_power_draw_watts", "power.usage", GAUGE, USAGE, 0, JM_P_MEASURED, JM_D_GPU, 0, GPU,
     "nvidia-smi power.draw"},
    {"nvidia_smi_power_draw", "power.usage", GAUGE, USAGE, 0, JM_P_MEASURED, JM_D_GPU, 0, GPU,
     "nvidia-smi power.draw"},
    {"nvidia_smi_power_draw_average_watts", "power.average", GAUGE, AVERAGE, 0, JM_P_MEASURED, JM_D_GPU, 0,
     GPU, "nvidia-smi power.draw.average"},
    {"nvidia_smi_power_draw_instant_watts", "power.instant", GAUGE, RAW, 0, JM_P_MEASURED, JM_D_GPU, 0, GPU,
     "nvidia-smi power.draw.instant"},
    {"nvidia_smi_module_power_draw_average_watts", "power.module.average", GAUGE, AVERAGE, 0, JM_P_MEASURED,
     JM_D_MODULE, JM_CHF_PARTOF, GPU, "nvidia-smi module.power.draw"},
    {"nvidia_smi_enforced_power_limit_watts", "power.limit", SETTING, INSTANT, 0, JM_P_DECLARED, JM_D_GPU, 0,
     GPU, "nvidia-smi power limit"},
    {"nvidia_gpu_power_usage_milliwatts", "power.usage", GAUGE, USAGE, -3, JM_P_MEASURED, JM_D_GPU, 0, GPU,
     "NVML GetPowerUsage"},
    /* AMD: device-metrics-exporter and amd_smi_exporter */
    {"*gpu_package_power", "power.current", GAUGE, INSTANT, 0, JM_P_MEASURED, JM_D_GPU, 0, GPU,
     "AMD SMI current socket power"},
    {"*gpu_average_package_power", "power.average", GAUGE, UNSAID, 0, JM_P_MEASURED, JM_D_GPU, 0, GPU,
     "AMD SMI average socket power"},
    {"*gpu_energy_consumed", "energy", COUNTER, INSTANT, -6, JM_P_MEASURED, JM_D_GPU, 0, GPU,
     "AMD SMI energy accumulator"},
    {"amd_gpu_power", "power.current", GAUGE, UNSAID, 0, JM_P_MEASURED, JM_D_GPU, 0, GPU,
     "amd_smi_exporter, GPU power"},
    /* Intel Gaudi's exporter */
    {"habanalabs_power_mW", "power.current", GAUGE, UNSAID, -3, JM_P_MEASURED, JM_D_GPU, 0, GPU,
     "hlml power usage"},
    {"habanalabs_energy", "energy", COUNTER, INSTANT, -3, JM_P_MEASURED, JM_D_GPU, 0, GPU,
     "hlml total energy"},
    /* node_exporter */
    {"node_rapl_package*_joules_total", "energy", COUNTER, INSTANT, 0, JM_P_MEASURED, JM_D_PACKAGE, 0,
     "path index", "powercap energy_uj by node_exporter"},
    {"node_rapl_dram*_joules_total", "energy", COUNTER, INSTANT, 0, JM_P_MEASURED, JM_D_DRAM, 0, "path index",
     "powercap energy_uj by node_exporter"},
    {"node_rapl_psys*_joules_total", "energy", COUNTER, INSTANT, 0, JM_P_MEASURED, JM_D_PSYS, JM_CHF_PARTOF,
     "path index", "powercap energy_uj by node_exporter"},
    {"node_rapl_*_joules_total", "energy", COUNTER, INSTANT, 0, JM_P_MEASURED, JM_D_PACKAGE, JM_CHF_PARTOF,
     "path +zone index", "powercap energy_uj by node_exporter"},
    {"node_hwmon_power_average_watt", "power", GAUGE, UNSAID, 0, JM_P_MEASURED, JM_D_RAIL, 0, "chip +sensor",
     "hwmon power_average by node_exporter"},
    {"node_hwmon_power_watt", "power", GAUGE, INSTANT, 0, JM_P_MEASURED, JM_D_RAIL, 0, "chip +sensor",
     "hwmon power_input by node_exporter"},
    {"node_hwmon_energy_joule_total", "energy", COUNTER, INSTANT, 0, JM_P_MEASURED, JM_D_RAIL, 0,
     "chip +sensor", "hwmon energy_input by node_exporter"},
    /* kepler and scaphandre: what they cannot read they compute from a model, and the series do not tell */
    {"kepler_node_package_joules_total", "energy", COUNTER, INSTANT, 0, JM_P_ESTIMATED, JM_D_PACKAGE, 0,
     "package +mode", "kepler"},
    {"kepler_node_dram_joules_total", "energy", COUNTER, INSTANT, 0, JM_P_ESTIMATED, JM_D_DRAM, 0,
     "package +mode", "kepler"},
    {"kepler_node_platform_joules_total", "energy", COUNTER, INSTANT, 0, JM_P_ESTIMATED, JM_D_RAIL,
     JM_CHF_PARTOF, "source +mode", "kepler"},
    {"kepler_node_gpu_joules_total", "energy", COUNTER, INSTANT, 0, JM_P_ESTIMATED, JM_D_GPU, 0, GPU " +mode",
     "kepler"},
    {"kepler_node_gpu_watts", "power", GAUGE, UNSAID, 0, JM_P_ESTIMATED, JM_D_GPU, 0, GPU, "kepler"},
    {"kepler_node_platform_watts", "power", GAUGE, UNSAID, 0, JM_P_ESTIMATED, JM_D_RAIL, JM_CHF_PARTOF,
     "source", "kepler"},
    {"kepler_node_cpu_joules_total", "energy", COUNTER, INSTANT, 0, JM_P_ESTIMATED, JM_D_PACKAGE, 0,
     "zone +path", "kepler"},
    {"kepler_node_cpu_watts", "power", GAUGE, UNSAID, 0, JM_P_ESTIMATED, JM_D_PACKAGE, 0, "zone +path",
     "kepler"},
    {"scaph_host_power_microwatts", "power", GAUGE, UNSAID, -6, JM_P_ESTIMATED, JM_D_RAIL, JM_CHF_PARTOF,
     "host", "scaphandre, sum of RAPL"},
    {"scaph_host_energy_microjoules", "energy", COUNTER, INSTANT, -6, JM_P_ESTIMATED, JM_D_RAIL,
     JM_CHF_PARTOF, "host", "scaphandre, sum of RAPL"},
    {"scaph_socket_power_microwatts", "power", GAUGE, UNSAID, -6, JM_P_ESTIMATED, JM_D_PACKAGE, 0,
     "socket_id", "scaphandre"},
    /* the node: BMC */
    {"ipmi_dcmi_power_consumption_watts", "power", GAUGE, UNSAID, 0, JM_P_MEASURED, JM_D_NODE, 0, "",
     "IPMI DCMI power reading"},
    {"ipmi_dcmi_power_consumption_current_watts", "power", GAUGE, UNSAID, 0, JM_P_MEASURED, JM_D_NODE, 0, "",
     "IPMI DCMI power reading"},
    {"ipmi_power_watts", "power", GAUGE, UNSAID, 0, JM_P_MEASURED, JM_D_RAIL, 0, "id +name", "IPMI sensor"},
    {"redfish_*power_average_consumed_watts", "power.average", GAUGE, UNSAID, 0, JM_P_MEASURED, JM_D_NODE, 0,
     "", "Redfish average consumed"},
    {"redfish_*powercontrol_power_consumed_watts", "power", GAUGE, UNSAID, 0, JM_P_MEASURED, JM_D_NODE, 0, "",
     "Redfish PowerConsumedWatts"},
    {"redfish_*power_consumed_watts", "power", GAUGE, UNSAID, 0, JM_P_MEASURED, JM_D_NODE, 0, "",
     "Redfish PowerConsumedWatts"},
    {"redfish_*power_*input_watts", "power", GAUGE, UNSAID, 0, JM_P_MEASURED, JM_D_RAIL, 0,
     "power_supply +power_supply_id", "Redfish PSU input"},
    {"idrac_power_control_consumed_watts", "power", GAUGE, UNSAID, 0, JM_P_MEASURED, JM_D_NODE, 0, "",
     "Redfish PowerConsumedWatts"},
    {"idrac_power_supply_input_watts", "power", GAUGE, UNSAID, 0, JM_P_MEASURED, JM_D_RAIL, 0, "id",
     "Redfish PSU input"},
    /* snmp_exporter, PowerNet-MIB raw: 0.01 kW and 0.1 kWh; of outlets W and 0.1 kWh */
    {"rPDU2DeviceStatusPower", "power", GAUGE, UNSAID, 1, JM_P_MEASURED, JM_D_RACK, 0,
     "instance +rPDU2DeviceStatusIndex", "rPDU2DeviceStatusPower, 0.01 kW"},
    {"rPDU2DeviceStatusEnergy", "energy", COUNTER, INSTANT, 0, JM_P_MEASURED, JM_D_RACK, 0,
     "instance +rPDU2DeviceStatusIndex", "rPDU2DeviceStatusEnergy, 0.1 kWh"},
    {"rPDU2OutletMeteredStatusPower", "power", GAUGE, UNSAID, 0, JM_P_MEASURED, JM_D_INLET_AC, 0,
     "instance +rPDU2OutletMeteredStatusIndex", "rPDU2OutletMeteredStatusPower, W"},
    {"rPDU2OutletMeteredStatusEnergy", "energy", COUNTER, INSTANT, 0, JM_P_MEASURED, JM_D_INLET_AC, 0,
     "instance +rPDU2OutletMeteredStatusIndex", "rPDU2OutletMeteredStatusEnergy, 0.1 kWh"},
};

static const struct row *row_of(struct jm_span metric)
{
    char name[128];
    if (!metric.n || metric.n >= sizeof name)
        return NULL;
    snprintf(name, sizeof name, "%.*s", (int)metric.n, metric.p);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        /* a scrape has thousands of other metrics: most rows are out at their first letter */
        if ((rows[i].metric[0] == name[0] || rows[i].metric[0] == '*') &&
            fnmatch(rows[i].metric, name, 0) == 0)
            return &rows[i];
    return NULL;
}

bool jm_promdev_row(size_t i, struct jm_promdev_row *out)
{
    if (i >= sizeof rows / sizeof rows[0])
        return false;
    const struct row *r = &rows[i];
    bool j = r->what == COUNTER, tenth = strstr(r->source, "0.1 kWh") != NULL;
    const char *unit = r->text10 == 1    ? "10 W"
                       : j && tenth      ? "0.1 kWh"
                       : r->text10 == -3 ? (j ? "mJ" : "mW")
                       : r->text10 == -6 ? (j ? "uJ" : "uW")
                                         : (j ? "J" : "W");
    *out = (struct jm_promdev_row){r->metric,
                                   j                    ? "energy, counter"
                                   : r->what == SETTING ? "limit"
                                                        : "power, gauge",
                                   jm_domain_kind_name((int)r->domain),
                                   unit,
                                   r->source,
                                   jm_provenance_name((int)r->provenance)};
    return true;
}

bool jm_promdev_knows(struct jm_span metric)
{
    return row_of(metric) != NULL;
}

bool jm_promdev_label(const struct jm_prom_series *s, struct jm_span name, struct jm_span *v)
{
    for (size_t i = 0; i < s->n; i++)
        if (jm_span_eq(s->name[i], name) && s->value[i].n) {
            *v = s->value[i];
            return true;
        }
    return false;
}

static void host_of(const struct jm_prom_series *s, char *buf, size_t cap)
{
    static const char *const names[] = {"Hostname", "hostname",          "node",    "nodename",
                                        "host",     "exported_instance", "instance"};
    struct jm_span v;
    buf[0] = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (jm_promdev_label(s, jm_span_of(names[i]), &v)) {
            ptrdiff_t colon = i >= 5 ? jm_span_chr(v, ':') : -1;
            v = colon > 0 && jm_span_chr(v, '[') < 0 ? jm_span_sub(v, 0, (size_t)colon) : v;
            snprintf(buf, cap, "%.*s", v.n < cap - 1 ? (int)v.n : (int)cap - 1, v.p);
            jm_text_plain(buf, strlen(buf), false);
            return;
        }
}

/* The labels that the row names: one of the plain ones, and every one after a +. */
static void key_of(const struct row *r, const struct jm_prom_series *s, char *buf, size_t cap)
{
    struct jm_span rest = jm_span_of(r->keys), word, v;
    bool have = false;
    size_t n = 0;
    buf[0] = 0;
    while (rest.p && jm_span_field(&rest, ' ', &word)) {
        bool more = word.n && word.p[0] == '+';
        word = jm_span_sub(word, more, word.n);
        if (!word.n || (!more && have))
            continue;
        if (!jm_promdev_label(s, word, &v)) {
            if (!more || r->domain != JM_D_NVSWITCH)
                continue;
            v = word; /* a rail of the switch, by its own name */
        }
        n += (size_t)snprintf(buf + n, cap - n, "%s%.*s", n ? " " : "", v.n < 60 ? (int)v.n : 60, v.p);
        n = n < cap ? n : cap - 1;
        have |= !more;
    }
    jm_text_plain(buf, strlen(buf), false);
}

static struct jm_dev_kind kind_of(const struct row *r, struct jm_span model, int driver)
{
    static const enum jm_nvml_query q[] = {
        [USAGE] = JM_NVML_Q_USAGE, [AVERAGE] = JM_NVML_Q_AVERAGE, [RAW] = JM_NVML_Q_INSTANT};
    struct jm_dev_kind k = {r->name,
                            r->what == COUNTER ? JM_CH_COUNTER : JM_CH_GAUGE,
                            r->what == COUNTER ? JM_U_J : JM_U_W,
                            r->text10,
                            r->what == COUNTER ? -6 : -3,
                            JM_G_INSTANT,
                            0,
                            0,
                            r->provenance,
                            r->flags,
                            r->what == COUNTER       ? 0
                            : r->domain == JM_D_RACK ? 1e6
                                                     : 20e3,
                            "",
                            r->source};
    if (r->means == USAGE || r->means == AVERAGE || r->means == RAW) {
        k = jm_dev_nvml(q[r->means], model, driver, r->source);
        k.name = r->name;
        k.flags = r->flags;
        k.text10 = r->text10;
    }
    if (r->what == COUNTER && r->domain == JM_D_GPU)
        k.period_ns = 100 * MS; /* of NVML's counter, as published */
    if (r->what == COUNTER && strncmp(r->metric, "node_rapl_", 10) == 0)
        k.period_ns = MS; /* RAPL's, read at the scrape */
    if (r->what == COUNTER && strcmp(r->source, "kepler") == 0)
        k.period_ns = 5 * JM_NS_PER_S; /* Kepler looks that often, whoever asks it (its monitor.interval) */
    return k;
}

/* DCGM's id, 0: none. */
static uint16_t field_of(const struct row *r)
{
    struct jm_span s = jm_span_of(r->source);
    int64_t id = 0;
    if (!jm_span_starts(s, JM_SPAN("DCGM field ")))
        return 0;
    s = jm_span_sub(s, 11, s.n);
    ptrdiff_t e = jm_span_chr(s, ',');
    return jm_num_i64(jm_span_sub(s, 0, e < 0 ? s.n : (size_t)e), &id) == 0 ? (uint16_t)id : 0;
}

static void model_of(const struct jm_prom_series *s, struct jm_span *model, int *driver)
{
    struct jm_span v;
    int64_t major;
    *model = (struct jm_span){NULL, 0};
    if (!jm_promdev_label(s, JM_SPAN("modelName"), model) && !jm_promdev_label(s, JM_SPAN("name"), model))
        jm_promdev_label(s, JM_SPAN("model"), model);
    if (!jm_promdev_label(s, JM_SPAN("DCGM_FI_DRIVER_VERSION"), &v))
        return;
    ptrdiff_t dot = jm_span_chr(v, '.');
    if (dot > 0 && jm_num_i64(jm_span_sub(v, 0, (size_t)dot), &major) == 0 && major < 10000)
        *driver = (int)major;
}

/* Whose it is, for people. */
static void label_of(struct jm_promdev_quantity *q, const struct jm_prom_series *s, const char *key)
{
    struct jm_span v;
    if (q->domain == JM_D_GPU &&
        (jm_promdev_label(s, JM_SPAN("gpu"), &v) || jm_promdev_label(s, JM_SPAN("index"), &v)) &&
        !jm_span_is(v, key))
        snprintf(q->label, sizeof q->label, "GPU %.*s (%s)", v.n < 20 ? (int)v.n : 20, v.p, q->key);
    else
        snprintf(q->label, sizeof q->label, "%s %s",
                 q->domain == JM_D_GPU ? "GPU" : jm_domain_kind_name((int)q->domain),
                 strncmp(q->key, "gpu ", 4) == 0 ? q->key + 4 : q->key);
    jm_text_plain(q->label, strlen(q->label), false);
}

/* Kepler's own name for all zones of powercap is that of the CPU: what a zone is in says its label. */
static void zone_of(struct jm_promdev_quantity *q, struct jm_span zone)
{
    if (jm_span_starts(zone, JM_SPAN("dram"))) {
        q->domain = JM_D_DRAM;
    } else if (jm_span_starts(zone, JM_SPAN("psys"))) {
        q->domain = JM_D_PSYS;
        q->kind.flags |= JM_CHF_PARTOF;
    } else if (!jm_span_starts(zone, JM_SPAN("package"))) { /* core and uncore lie in a package */
        q->kind.flags |= JM_CHF_PARTOF;
    }
}

bool jm_promdev_describe(const struct jm_prom_series *s, int driver, struct jm_promdev_quantity *q)
{
    char key[160];
    const struct row *r = row_of(s->metric);
    struct jm_span model, v, core;
    if (!r)
        return false;
    *q = (struct jm_promdev_quantity){.domain = r->domain, .field = field_of(r)};
    model_of(s, &model, &driver);
    q->kind = kind_of(r, model, driver);
    q->model = model;
    q->tenth_kwh = r->what == COUNTER && strstr(r->source, "0.1 kWh");
    host_of(s, q->host, sizeof q->host);
    key_of(r, s, key, sizeof key);
    if (jm_span_starts(s->metric, JM_SPAN("kepler_node_cpu_")) && jm_promdev_label(s, JM_SPAN("zone"), &v))
        zone_of(q, v);
    if (q->domain == JM_D_RAIL && (strstr(key, "power_meter") || strstr(key, "ACPI000D")))
        q->domain = JM_D_NODE;
    if (q->domain == JM_D_PACKAGE && strstr(key, "mmio"))
        q->kind.flags |= JM_CHF_MIRROR;
    if (q->domain == JM_D_GPU && key[0] >= '0' && key[0] <= '9')
        snprintf(q->key, sizeof q->key, "gpu %s", key);
    else
        snprintf(q->key, sizeof q->key, "%s", key[0] ? key : q->host[0] ? q->host : "host");
    label_of(q, s, key);
    if (q->domain == JM_D_CPU || q->domain == JM_D_SYSIO)
        snprintf(q->parent, sizeof q->parent, "grace %s", q->key);
    if (q->domain == JM_D_GPU && jm_promdev_label(s, JM_SPAN("GPU_I_ID"), &v))
        q->repeats = JM_PROMDEV_MIG;
    else if ((jm_promdev_label(s, JM_SPAN("core"), &v) || jm_promdev_label(s, JM_SPAN("cpucore"), &v)) &&
             jm_promdev_label(s, JM_SPAN("cpu"), &core))
        q->repeats = JM_PROMDEV_CORE;
    q->of = q->repeats ? v : (struct jm_span){NULL, 0};
    return true;
}

bool jm_promdev_field(uint16_t id, struct jm_span model, int driver, struct jm_promdev_quantity *q)
{
    for (size_t i = 0; id && i < sizeof rows / sizeof rows[0]; i++)
        if (field_of(&rows[i]) == id) {
            *q = (struct jm_promdev_quantity){.domain = rows[i].domain,
                                              .field = id,
                                              .kind = kind_of(&rows[i], model, driver),
                                              .model = model};
            return true;
        }
    return false;
}

bool jm_promdev_labels(struct jm_span t, struct jm_prom_series *s)
{
    ptrdiff_t brace = jm_span_chr(t, '{');
    *s = (struct jm_prom_series){.n = 0};
    t = jm_span_trim(t);
    brace = jm_span_chr(t, '{');
    if (brace < 0) {
        s->metric = t;
        return t.n > 0 && jm_span_chr(t, ' ') < 0;
    }
    s->metric = jm_span_trim(jm_span_sub(t, 0, (size_t)brace));
    for (size_t i = (size_t)brace + 1; i < t.n;) {
        size_t from;
        while (i < t.n && (t.p[i] == ' ' || t.p[i] == ','))
            i++;
        if (i < t.n && t.p[i] == '}')
            return true;
        from = i;
        while (i < t.n && t.p[i] != '=' && t.p[i] != '}')
            i++;
        if (i + 1 >= t.n || t.p[i] != '=' || t.p[i + 1] != '"')
            return false;
        struct jm_span name = jm_span_trim(jm_span_sub(t, from, i - from));
        from = i += 2;
        while (i < t.n && t.p[i] != '"')
            i += t.p[i] == '\\' ? 2 : 1;
        if (i >= t.n)
            return false;
        struct jm_span v = jm_span_sub(t, from, i - from);
        i++;
        if (jm_span_is(name, "__name__"))
            s->metric = v;
        else if (s->n < JM_PROMDEV_LABELS) {
            s->name[s->n] = name;
            s->value[s->n++] = v;
        }
    }
    return false;
}

struct jm_prom_series jm_promdev_series(const struct jm_prom_sample *s)
{
    struct jm_prom_series out = {.metric = s->name};
    for (; out.n < s->n_labels && out.n < JM_PROMDEV_LABELS; out.n++) {
        out.name[out.n] = s->label[out.n].name;
        out.value[out.n] = s->label[out.n].value;
    }
    return out;
}
