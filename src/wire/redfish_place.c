/* SPDX-License-Identifier: Apache-2.0 */
/* What a quantity is of, by its name and by its place in the tree of resources. See wire/redfish.h. */
#include "wire/redfish_impl.h"

#include <string.h>

#include "base/banned.h"

bool jm_rf_below(const char *uri, const char *top)
{
    size_t n = strlen(top);
    while (n && top[n - 1] == '/')
        n--;
    return strncmp(uri, top, n) == 0 && (uri[n] == '\0' || uri[n] == '/' || uri[n] == '#');
}

static bool any_of(struct jm_span t, const char *const *words)
{
    for (; *words; words++)
        if (jm_span_ihas(t, *words))
            return true;
    return false;
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "psu", "supply", or a word "ps0", "PS_2", "ps1_input_power": one power supply, or something about them. */
static bool of_supply(struct jm_span t)
{
    static const char *const words[] = {"psu", "supply", "pwrsup", NULL};
    if (any_of(t, words))
        return true;
    for (size_t i = 0; i + 2 < t.n; i++) {
        bool start = i == 0 || strchr("_ .-/", t.p[i - 1]) != NULL;
        size_t at = i + 2 + (t.p[i + 2] == '_' || t.p[i + 2] == ' ');
        if (start && (t.p[i] | 32) == 'p' && (t.p[i + 1] | 32) == 's' && at < t.n && digit(t.p[at]))
            return true;
    }
    return false;
}

/* "ps1_total_energy_in" is of one. */
static bool numbered(struct jm_span t)
{
    for (size_t i = 0; i < t.n; i++)
        if (digit(t.p[i]))
            return true;
    return false;
}

/* "p0_pin" and "p5 pout" of a shelf of supplies; elsewhere p0 is a processor. */
bool jm_rf_shelf_supply(struct jm_span t)
{
    size_t i = 1;
    while (i < t.n && digit(t.p[i]))
        i++;
    return i > 1 && (t.p[0] | 32) == 'p' && i + 1 < t.n && (t.p[i] == '_' || t.p[i] == ' ');
}

/* The order decides: "GPU_0_DRAM" is memory, "TotalGPU" is not a GPU. */
bool jm_rf_named(struct jm_span t, enum jm_rf_of *of, enum jm_rf_scope *scope)
{
    static const struct {
        const char *words[12];
        enum jm_rf_of of;
        enum jm_rf_scope scope;
    } rows[] = {
        {{"totalgpu", "total_gpu", "total gpu", "gpu total"}, JM_RF_GPUS, JM_RF_BOARD},
        {{"totalhsc", "tot_hsc"}, JM_RF_MODULE, JM_RF_BOARD},
        {{"hsc", "hotswap", "vreg", "_vr_", "vrm", "vdd", "vcc", "pvnn", "12v", "54v"},
         JM_RF_RAIL,
         JM_RF_BOARD},
        {{"dram", "dimm", "memory", "hbm"}, JM_RF_MEMORY, JM_RF_COMPONENT},
        {{"inputpower", "input power", "input_power", "power in", "power_in", "_pin", " pin"},
         JM_RF_NODE,
         JM_RF_AC_INPUT},
        {{"energy_in", "energy in"}, JM_RF_NODE, JM_RF_AC_INPUT},
        {{"outputpower", "output power", "output_power", "power out", "power_out", "_pout", " pout"},
         JM_RF_NODE,
         JM_RF_DC_OUTPUT},
        {{"energy_out", "energy out"}, JM_RF_NODE, JM_RF_DC_OUTPUT},
        {{NULL}, JM_RF_PSU, JM_RF_SIDE_UNKNOWN}, /* of_supply() */
        {{"nvswitch", "nvlink"}, JM_RF_SWITCH, JM_RF_BOARD},
        {{"gpu", "gb_sxm", "sxm"}, JM_RF_GPU, JM_RF_BOARD},
        {{"_cpu_", " cpu "}, JM_RF_CPU, JM_RF_COMPONENT}, /* ProcessorModule_0_CPU_0 */
        {{"processormodule", "baseboard", "hgx_chassis"}, JM_RF_MODULE, JM_RF_BOARD},
        {{"cpu", "processor", "socpower"}, JM_RF_CPU, JM_RF_COMPONENT},
        {{"fan"}, JM_RF_FANS, JM_RF_COMPONENT},
        {{"hdd", "nvme", "drive", "disk", "storage"}, JM_RF_STORAGE, JM_RF_COMPONENT},
        {{"nic", "network", "osfp"}, JM_RF_NIC, JM_RF_COMPONENT},
        {{"system", "total", "chassis", "node", "server", "pwr consumption"}, JM_RF_NODE, JM_RF_SIDE_UNKNOWN},
        {{"sys_power", "sys power", "syspower", "sys_pwr", "sys pwr", "syspwr", "sys_energy", "sysenergy",
          "power meter", "intake"},
         JM_RF_NODE,
         JM_RF_SIDE_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].words[0] ? !any_of(t, rows[i].words) : !of_supply(t))
            continue;
        *of = rows[i].of;
        *scope = rows[i].scope;
        if ((*scope == JM_RF_AC_INPUT || *scope == JM_RF_DC_OUTPUT) && of_supply(t))
            *of = JM_RF_PSU;
        if (*of == JM_RF_PSU && (jm_span_ihas(t, "total") || jm_span_ihas(t, "_sum")) && !numbered(t))
            *of = JM_RF_NODE; /* "PSU_Total_Input": all of them */
        return true;
    }
    return false;
}

/* What the hot-swap controllers of a whole tray draw is its direct-current input (Chassis_0 of GB200 and
 * GB300 NVL72); those of a baseboard inside of a server are the board's. */
void jm_rf_tray(const char *uri, struct jm_span name, enum jm_rf_of *of, enum jm_rf_scope *scope)
{
    struct jm_span chassis = jm_rf_segment(uri, "/Chassis/");
    if (*of != JM_RF_MODULE || !jm_span_ihas(name, "totalhsc") || !chassis.n ||
        !jm_span_ihas(chassis, "chassis") || jm_span_ihas(chassis, "hgx"))
        return;
    *of = JM_RF_NODE;
    *scope = JM_RF_DC_INPUT;
}

struct jm_span jm_rf_segment(const char *uri, const char *collection)
{
    const char *p = strstr(uri, collection);
    if (!p)
        return (struct jm_span){NULL, 0};
    p += strlen(collection);
    return (struct jm_span){p, strcspn(p, "/#")};
}

void jm_rf_placed(const char *uri, enum jm_rf_of *of, enum jm_rf_scope *scope)
{
    static const struct {
        const char *part;
        enum jm_rf_of of;
        enum jm_rf_scope scope;
    } rows[] = {
        {"/Outlets/", JM_RF_OUTLET, JM_RF_AC_INPUT},
        {"/OutletGroups/", JM_RF_OUTLET_GROUP, JM_RF_AC_INPUT},
        {"/Mains/", JM_RF_MAINS, JM_RF_AC_INPUT},
        {"/Branches/", JM_RF_BRANCH, JM_RF_AC_INPUT},
        {"/Feeders/", JM_RF_BRANCH, JM_RF_AC_INPUT},
        {"/Subfeeds/", JM_RF_BRANCH, JM_RF_AC_INPUT},
        {"/PowerSupplies/", JM_RF_PSU, JM_RF_SIDE_UNKNOWN},
        {"/PowerEquipment/", JM_RF_PDU, JM_RF_AC_INPUT},
        {"/PowerDistribution", JM_RF_PDU, JM_RF_AC_INPUT},
        {"/Memory/", JM_RF_MEMORY, JM_RF_COMPONENT},
        {"/NetworkAdapters/", JM_RF_NIC, JM_RF_COMPONENT},
        {"/Drives/", JM_RF_STORAGE, JM_RF_COMPONENT},
        {"/Switches/", JM_RF_SWITCH, JM_RF_BOARD},
        {"/PCIeDevices/", JM_RF_RAIL, JM_RF_BOARD},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(uri, rows[i].part)) {
            *of = rows[i].of;
            *scope = rows[i].scope;
            return;
        }
    struct jm_span cpu = jm_rf_segment(uri, "/Processors/"), chassis = jm_rf_segment(uri, "/Chassis/");
    if (cpu.n) {
        bool gpu = jm_span_ihas(cpu, "gpu") || jm_span_ihas(cpu, "sxm") || jm_span_ihas(cpu, "accel") ||
                   jm_span_ihas(cpu, "oam");
        *of = gpu ? JM_RF_GPU : JM_RF_CPU;
        *scope = gpu ? JM_RF_BOARD : JM_RF_COMPONENT;
        return;
    }
    *of = JM_RF_NODE;
    *scope = JM_RF_SIDE_UNKNOWN;
    static const char *const equipment[] = {"pdu", "powershelf", "power_shelf", NULL};
    if (chassis.n && any_of(chassis, equipment)) { /* the enclosure of a PDU or of a shelf of supplies */
        *of = JM_RF_PDU;
        *scope = JM_RF_AC_INPUT;
        return;
    }
    if (chassis.n && !jm_span_ihas(chassis, "system") && jm_rf_named(chassis, of, scope))
        return;
    if (chassis.n &&
        (jm_span_ihas(chassis, "hgx") || jm_span_ihas(chassis, "erot") || jm_span_ihas(chassis, "bmc") ||
         jm_span_ihas(chassis, "cpld") || jm_span_ihas(chassis, "fpga"))) {
        *of = JM_RF_MODULE;
        *scope = JM_RF_BOARD;
    }
}
