/* SPDX-License-Identifier: Apache-2.0 */
#include "import/promdev.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

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
    {"kepler_node_gpu_joules_total", "energy", COUNTER, INSTANT, 0, JM_P_ESTIMATED, JM_D_GPU, 0,
     "index +mode", "kepler"},
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
        if (fnmatch(rows[i].metric, name, 0) == 0)
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

static bool label(const struct jm_prom_series *s, struct jm_span name, struct jm_span *v)
{
    for (size_t i = 0; i < s->n; i++)
        if (jm_span_eq(s->name[i], name) && s->value[i].n) {
            *v = s->value[i];
            return true;
        }
    return false;
}

/* What one and the same label of all series says of the machine. */
static void agree(char *known, size_t room, bool *several, struct jm_span v)
{
    if (*several || !v.n || v.n >= room)
        return;
    *several = known[0] && !jm_span_is(v, known);
    snprintf(known, room, "%.*s", *several ? 0 : (int)v.n, v.p);
    jm_text_plain(known, strlen(known), false);
}

static void machine_of(struct jm_promdev *p, const struct jm_prom_series *s)
{
    static const char *const names[] = {"Hostname", "hostname", "node", "nodename"};
    struct jm_span v;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (label(s, jm_span_of(names[i]), &v)) {
            agree(p->host, sizeof p->host, &p->hosts, v);
            break;
        }
    if (label(s, JM_SPAN("DCGM_FI_DRIVER_VERSION"), &v))
        agree(p->version, sizeof p->version, &p->versions, v);
}

static void host_of(const struct jm_prom_series *s, char *buf, size_t cap)
{
    static const char *const names[] = {"Hostname", "hostname",          "node",    "nodename",
                                        "host",     "exported_instance", "instance"};
    struct jm_span v;
    buf[0] = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (label(s, jm_span_of(names[i]), &v)) {
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
        if (!label(s, word, &v)) {
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

static struct jm_dev_kind kind_of(const struct jm_promdev *p, const struct row *r,
                                  const struct jm_prom_series *s)
{
    static const enum jm_nvml_query q[] = {
        [USAGE] = JM_NVML_Q_USAGE, [AVERAGE] = JM_NVML_Q_AVERAGE, [RAW] = JM_NVML_Q_INSTANT};
    struct jm_span model = {NULL, 0};
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
        int driver = p->driver;
        struct jm_span v;
        if (!label(s, JM_SPAN("modelName"), &model) && !label(s, JM_SPAN("name"), &model))
            label(s, JM_SPAN("model"), &model);
        if (label(s, JM_SPAN("DCGM_FI_DRIVER_VERSION"), &v)) {
            int64_t major;
            ptrdiff_t dot = jm_span_chr(v, '.');
            if (dot > 0 && jm_num_i64(jm_span_sub(v, 0, (size_t)dot), &major) == 0 && major < 10000)
                driver = (int)major;
        }
        k = jm_devlog_nvml(q[r->means], model, driver, r->source);
        k.name = r->name;
        k.flags = r->flags;
        k.text10 = r->text10;
    }
    if (r->what == COUNTER && r->domain == JM_D_GPU)
        k.period_ns = 100 * MS; /* of NVML's counter, as published */
    return k;
}

int jm_promdev_channel(struct jm_promdev *p, const struct jm_prom_series *s, int *text10)
{
    char host[96], key[160], text[200];
    const struct row *r = row_of(s->metric);
    struct jm_span v, core;
    p->series++;
    if (!r) {
        p->unnamed += !s->metric.n;
        p->unknown += s->metric.n > 0;
        if (s->metric.n && !p->first_unknown[0])
            snprintf(p->first_unknown, sizeof p->first_unknown, "%.*s",
                     s->metric.n < 150 ? (int)s->metric.n : 150, s->metric.p);
        return JM_PROMDEV_OTHER;
    }
    machine_of(p, s);
    host_of(s, host, sizeof host);
    key_of(r, s, key, sizeof key);
    enum jm_domain_kind domain = r->domain;
    if (domain == JM_D_RAIL && (strstr(key, "power_meter") || strstr(key, "ACPI000D")))
        domain = JM_D_NODE;
    bool mmio = domain == JM_D_PACKAGE && strstr(key, "mmio");
    if (domain == JM_D_GPU && key[0] >= '0' && key[0] <= '9')
        snprintf(text, sizeof text, "gpu %s", key);
    else
        snprintf(text, sizeof text, "%s", key[0] ? key : host[0] ? host : "host");
    char label_text[260];
    if (domain == JM_D_GPU && (label(s, JM_SPAN("gpu"), &v) || label(s, JM_SPAN("index"), &v)) &&
        !jm_span_is(v, key))
        snprintf(label_text, sizeof label_text, "GPU %.*s (%s)", v.n < 20 ? (int)v.n : 20, v.p, text);
    else
        snprintf(label_text, sizeof label_text, "%s %s",
                 domain == JM_D_GPU ? "GPU" : jm_domain_kind_name((int)domain),
                 strncmp(text, "gpu ", 4) == 0 ? text + 4 : text);
    jm_text_plain(label_text, strlen(label_text), false);
    struct jm_dev_place place = {
        .host = host, .domain = domain, .key = text, .label = domain == JM_D_NODE ? NULL : label_text};
    char grace[180];
    if (domain == JM_D_CPU || domain == JM_D_SYSIO) {
        snprintf(grace, sizeof grace, "grace %s", text);
        place.parent = grace;
    }
    struct jm_dev_kind k = kind_of(p, r, s);
    if (mmio)
        k.flags |= JM_CHF_MIRROR;
    size_t before = p->l.n;
    int ch = jm_devlog_channel(&p->l, &place, &k);
    if (ch < 0)
        return JM_PROMDEV_OTHER;
    *text10 = r->what == COUNTER && strstr(r->source, "0.1 kWh") ? JM_PROMDEV_TENTH_KWH : r->text10;
    /* one value for each instance or core: the first of them stands for all */
    bool mig = domain == JM_D_GPU && label(s, JM_SPAN("GPU_I_ID"), &v);
    bool per_core = !mig && (label(s, JM_SPAN("core"), &v) || label(s, JM_SPAN("cpucore"), &v)) &&
                    label(s, JM_SPAN("cpu"), &core);
    if (mig || per_core) {
        uint64_t h = jm_build_hash(1, v);
        if (p->l.n > before)
            p->l.ch[ch].owner = h;
        else if (p->l.ch[ch].owner != h) {
            *(mig ? &p->mig : &p->cores) += 1;
            return JM_PROMDEV_REPEAT;
        }
    }
    /* the same device under other labels: a pod that was started anew, a second scraper */
    uint64_t all = jm_build_hash(1, s->metric);
    for (size_t i = 0; i < s->n; i++)
        all = jm_build_hash(jm_build_hash(all, s->name[i]), s->value[i]);
    if (p->l.ch[ch].series && p->l.ch[ch].series != all)
        p->combined++;
    p->l.ch[ch].series = all;
    return ch;
}

void jm_promdev_put(struct jm_promdev *p, int ch, int64_t t, int text10, struct jm_span text)
{
    char joules[48];
    double d;
    if (text10 == JM_PROMDEV_TENTH_KWH) {
        if (jm_num_double(text, &d) == 0 && d >= 0 && d < 1e12) {
            snprintf(joules, sizeof joules, "%.0f", d * 360000);
            text = jm_span_of(joules);
        } else if (jm_num_double(text, &d) == 0) { /* -1: not supported */
            jm_devlog_gap(&p->l, ch, t, JM_S_UNSUPPORTED);
            return;
        }
        text10 = 0;
    }
    if (jm_span_ieq(text, JM_SPAN("+Inf")) || jm_span_ieq(text, JM_SPAN("-Inf")) ||
        jm_span_ieq(text, JM_SPAN("Inf"))) {
        p->l.missing++;
        jm_devlog_gap(&p->l, ch, t, JM_S_ABSENT);
        return;
    }
    jm_devlog_put(&p->l, ch, t, text10, text);
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

int jm_promdev_end(struct jm_promdev *p)
{
    struct jm_build *b = &p->l.b;
    if (!b->rc && !p->l.n) {
        if (p->unnamed)
            jm_build_fail(
                b,
                "%s holds series without a name, as a function (rate, increase, sum) gives them; ask for the "
                "series themselves: DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION, not increase(...)",
                p->l.f.path);
        else
            jm_build_fail(b, "%s holds no series of energy or power that is known%s%s", p->l.f.path,
                          p->first_unknown[0] ? "; the first one is " : "", p->first_unknown);
    }
    if (p->host[0])
        jm_build_env(b, "host.name", "%s", p->host);
    if (p->version[0])
        jm_build_env(b, "nvml.driver", "%s", p->version);
    jm_build_env(b, "import.series", "%lld", (long long)p->series);
    if (p->unknown)
        jm_build_env(b, "import.series.other", "%lld, the first is %s", (long long)p->unknown,
                     p->first_unknown);
    if (p->unnamed)
        jm_build_env(b, "import.series.unnamed", "%lld", (long long)p->unnamed);
    if (p->mig)
        jm_build_env(b, "import.repeats.mig", "%lld", (long long)p->mig);
    if (p->cores)
        jm_build_env(b, "import.repeats.core", "%lld", (long long)p->cores);
    if (p->combined)
        jm_build_env(b, "import.series.joined", "%lld", (long long)p->combined);
    return jm_devlog_end(&p->l);
}
