/* SPDX-License-Identifier: Apache-2.0 */
/* The resources: a chassis with sensors, EnvironmentMetrics, PowerSubsystem and the old Power; of a PDU its
 * mains and outlets. Names of properties are those of the public Redfish schemas. */
#include "bmc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

double sim_bmc_power(const struct sim_bmc *b, int64_t t, int64_t *refreshed)
{
    int64_t k = (t - b->o.lag_ns - b->start_ns) / b->o.period_ns, at;
    at = b->start_ns + (k > 0 ? k : 0) * b->o.period_ns;
    int64_t w = b->o.window_ns > 0 ? b->o.window_ns : 1000000;
    double p = b->o.gain * simwall_energy_j(b->wall, at - w, at) / ((double)w * 1e-9);
    *refreshed = at;
    return round(p / b->o.quantum_w) * b->o.quantum_w;
}

double sim_bmc_energy(const struct sim_bmc *b, int64_t t)
{
    int64_t at;
    sim_bmc_power(b, t, &at);
    return b->o.gain * simwall_energy_j(b->wall, b->start_ns, at);
}

/* The instrument's own clock, which may be wrong. */
static void stamp(const struct sim_bmc *b, int64_t t, char *out, size_t n)
{
    time_t s = (time_t)((t + b->o.offset_ns) / 1000000000);
    struct tm tm;
    gmtime_r(&s, &tm);
    strftime(out, n, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static void head(struct sim_buf *o, const char *path, const char *type, const char *name)
{
    const char *id = strrchr(path, '/');
    sim_buf_fmt(o, "{\"@odata.id\":\"%s\",\"@odata.type\":\"#%s\",\"Id\":\"%s\",\"Name\":\"%s\"", path, type,
                id ? id + 1 : path, name);
}

static void links(struct sim_buf *o, const char *const *list, size_t n)
{
    sim_buf_fmt(o, ",\"Members@odata.count\":%zu,\"Members\":[", n);
    for (size_t i = 0; i < n; i++)
        sim_buf_fmt(o, "%s{\"@odata.id\":\"%s\"}", i ? "," : "", list[i]);
    sim_buf_str(o, "]}");
}

#define CHASSIS "/redfish/v1/Chassis/1"
#define SENSORS CHASSIS "/Sensors"
#define SUPPLY  CHASSIS "/PowerSubsystem/PowerSupplies"
#define RACK    "/redfish/v1/PowerEquipment/RackPDUs"

static void sensor(const struct sim_bmc *b, struct sim_buf *o, const char *path, const char *name,
                   const char *type, const char *units, double reading, int64_t at)
{
    char when[40];
    stamp(b, at, when, sizeof when);
    head(o, path, "Sensor.v1_7_0.Sensor", name);
    sim_buf_fmt(o,
                ",\"ReadingType\":\"%s\",\"ReadingUnits\":\"%s\",\"Reading\":%.10g,\"ReadingTime\":\"%s\","
                "\"SensingInterval\":\"PT%.3gS\",\"Implementation\":\"PhysicalSensor\"",
                type, units, reading, when, (double)b->o.period_ns * 1e-9);
    if (b->o.window_ns > 0)
        sim_buf_fmt(o, ",\"AveragingInterval\":\"PT%.3gS\"", (double)b->o.window_ns * 1e-9);
    sim_buf_str(o, "}");
}

static bool chassis(const struct sim_bmc *b, const char *path, int64_t now, struct sim_buf *o)
{
    static const char *const all[] = {SENSORS "/TotalPower", SENSORS "/TotalEnergy"};
    static const char *const supplies[] = {SUPPLY "/0"};
    int64_t at;
    double out = sim_bmc_power(b, now, &at),
           in = round(out / b->o.efficiency / b->o.quantum_w) * b->o.quantum_w,
           joules = sim_bmc_energy(b, now) / b->o.efficiency;
    if (strcmp(path, CHASSIS) == 0) {
        head(o, path, "Chassis.v1_23_0.Chassis", "JOULEMARK simulated chassis");
        sim_buf_str(
            o,
            ",\"ChassisType\":\"RackMount\",\"Manufacturer\":\"JOULEMARK\",\"Model\":\"SIM-BMC (SIMULATED)\","
            "\"Sensors\":{\"@odata.id\":\"" SENSORS "\"},\"EnvironmentMetrics\":{\"@odata.id\":\"" CHASSIS
            "/EnvironmentMetrics\"},\"PowerSubsystem\":{\"@odata.id\":\"" CHASSIS
            "/PowerSubsystem\"},\"Power\":{\"@odata.id\":\"" CHASSIS "/Power\"}}");
    } else if (strcmp(path, SENSORS) == 0) {
        head(o, path, "SensorCollection.SensorCollection", "Sensors");
        links(o, all, 2);
    } else if (strcmp(path, SENSORS "/TotalPower") == 0) {
        sensor(b, o, path, "Total power, AC input", "Power", "W", in, at);
    } else if (strcmp(path, SENSORS "/TotalEnergy") == 0) {
        sensor(b, o, path, "Total energy, AC input", "EnergyJoules", "J", floor(joules), at);
    } else if (strcmp(path, CHASSIS "/EnvironmentMetrics") == 0) {
        head(o, path, "EnvironmentMetrics.v1_3_1.EnvironmentMetrics", "Environment");
        sim_buf_fmt(o,
                    ",\"PowerWatts\":{\"Reading\":%.10g,\"DataSourceUri\":\"" SENSORS "/TotalPower\"},"
                    "\"EnergyJoules\":{\"Reading\":%.0f,\"DataSourceUri\":\"" SENSORS
                    "/TotalEnergy\"},\"EnergykWh\":{\"Reading\":%.3f}}",
                    in, floor(joules), floor(joules / 3600) / 1000);
    } else if (strcmp(path, CHASSIS "/PowerSubsystem") == 0) {
        head(o, path, "PowerSubsystem.v1_1_2.PowerSubsystem", "Power");
        sim_buf_str(o, ",\"PowerSupplies\":{\"@odata.id\":\"" SUPPLY "\"}}");
    } else if (strcmp(path, SUPPLY) == 0) {
        head(o, path, "PowerSupplyCollection.PowerSupplyCollection", "Power supplies");
        links(o, supplies, 1);
    } else if (strcmp(path, SUPPLY "/0") == 0) {
        head(o, path, "PowerSupply.v1_5_2.PowerSupply", "Power supply 0");
        sim_buf_str(o, ",\"InputNominalVoltageType\":\"AC240V\",\"Metrics\":{\"@odata.id\":\"" SUPPLY
                       "/0/Metrics\"}}");
    } else if (strcmp(path, SUPPLY "/0/Metrics") == 0) {
        head(o, path, "PowerSupplyMetrics.v1_1_1.PowerSupplyMetrics", "Power supply 0");
        sim_buf_fmt(o, ",\"InputPowerWatts\":{\"Reading\":%.10g},\"OutputPowerWatts\":{\"Reading\":%.10g}}",
                    in, out);
    } else if (strcmp(path, CHASSIS "/Power") == 0) {
        head(o, path, "Power.v1_7_1.Power", "Power");
        sim_buf_fmt(
            o,
            ",\"PowerControl\":[{\"@odata.id\":\"" CHASSIS
            "/Power#/PowerControl/0\",\"MemberId\":\"0\",\"Name\":\"System\",\"PowerConsumedWatts\":%.10g}],"
            "\"PowerSupplies\":[{\"@odata.id\":\"" CHASSIS "/Power#/PowerSupplies/"
            "0\",\"MemberId\":\"0\",\"PowerInputWatts\":%.10g,\"PowerOutputWatts\":%.10g,"
            "\"Status\":{\"State\":\"Enabled\",\"Health\":\"OK\"}}]}",
            in, in, out);
    } else {
        return false;
    }
    return true;
}

static void circuit(const struct sim_bmc *b, struct sim_buf *o, const char *path, const char *type,
                    const char *name, double share, int64_t now)
{
    int64_t at;
    double w = sim_bmc_power(b, now, &at) * share, j = sim_bmc_energy(b, now) * share;
    head(o, path, type, name);
    sim_buf_fmt(o, ",\"PowerWatts\":{\"Reading\":%.10g},\"EnergykWh\":{\"Reading\":%.1f}}",
                round(w / b->o.quantum_w) * b->o.quantum_w, floor(j / 360000) / 10);
}

/* Outlets share the load equally. */
static bool rack(const struct sim_bmc *b, const char *path, int64_t now, struct sim_buf *o)
{
    static const char *const one[] = {RACK "/1"}, *const mains[] = {RACK "/1/Mains/AC1"};
    int k, end = 0;
    if (strcmp(path, "/redfish/v1/PowerEquipment") == 0) {
        head(o, path, "PowerEquipment.v1_2_0.PowerEquipment", "Power equipment");
        sim_buf_str(o, ",\"RackPDUs\":{\"@odata.id\":\"" RACK "\"}}");
    } else if (strcmp(path, RACK) == 0) {
        head(o, path, "PowerDistributionCollection.PowerDistributionCollection", "Rack PDUs");
        links(o, one, 1);
    } else if (strcmp(path, RACK "/1") == 0) {
        head(o, path, "PowerDistribution.v1_3_0.PowerDistribution", "Rack PDU 1");
        sim_buf_str(
            o,
            ",\"EquipmentType\":\"RackPDU\",\"Manufacturer\":\"JOULEMARK\",\"Model\":\"SIM-PDU (SIMULATED)\","
            "\"Mains\":{\"@odata.id\":\"" RACK "/1/Mains\"},\"Outlets\":{\"@odata.id\":\"" RACK
            "/1/Outlets\"},\"Metrics\":{\"@odata.id\":\"" RACK "/1/Metrics\"}}");
    } else if (strcmp(path, RACK "/1/Metrics") == 0) {
        circuit(b, o, path, "PowerDistributionMetrics.v1_3_0.PowerDistributionMetrics", "Rack PDU 1", 1, now);
    } else if (strcmp(path, RACK "/1/Mains") == 0) {
        head(o, path, "CircuitCollection.CircuitCollection", "Mains");
        links(o, mains, 1);
    } else if (strcmp(path, RACK "/1/Mains/AC1") == 0) {
        circuit(b, o, path, "Circuit.v1_7_0.Circuit", "Mains AC1", 1, now);
    } else if (strcmp(path, RACK "/1/Outlets") == 0) {
        head(o, path, "OutletCollection.OutletCollection", "Outlets");
        sim_buf_fmt(o, ",\"Members@odata.count\":%d,\"Members\":[", b->o.outlets);
        for (int i = 1; i <= b->o.outlets; i++)
            sim_buf_fmt(o, "%s{\"@odata.id\":\"" RACK "/1/Outlets/A%d\"}", i > 1 ? "," : "", i);
        sim_buf_str(o, "]}");
    } else if (sscanf(path, RACK "/1/Outlets/A%4d%n", &k, &end) == 1 && !path[end] && k >= 1 &&
               k <= b->o.outlets) {
        char name[32];
        snprintf(name, sizeof name, "Outlet A%d", k);
        circuit(b, o, path, "Outlet.v1_4_3.Outlet", name, 1.0 / b->o.outlets, now);
    } else {
        return false;
    }
    return true;
}

bool sim_bmc_resource(const struct sim_bmc *b, const char *asked, int64_t now, struct sim_buf *o)
{
    static const char *const one[] = {CHASSIS};
    char path[256], when[40];
    size_t n = strlen(asked);
    snprintf(path, sizeof path, "%s", asked);
    if (n > 1 && n < sizeof path && path[n - 1] == '/')
        path[n - 1] = 0; /* some BMCs write it, and all take it */
    if (strcmp(path, "/redfish") == 0) {
        sim_buf_str(o, "{\"v1\":\"/redfish/v1/\"}");
    } else if (strcmp(path, "/redfish/v1") == 0) {
        head(o, "/redfish/v1", "ServiceRoot.v1_15_0.ServiceRoot", "Root");
        sim_buf_fmt(o,
                    ",\"RedfishVersion\":\"1.17.0\",\"Product\":\"JOULEMARK SIM "
                    "(SIMULATED)\",\"Vendor\":\"JOULEMARK\",%s}",
                    b->o.pdu ? "\"PowerEquipment\":{\"@odata.id\":\"/redfish/v1/PowerEquipment\"}"
                             : "\"Chassis\":{\"@odata.id\":\"/redfish/v1/"
                               "Chassis\"},\"Managers\":{\"@odata.id\":\"/redfish/v1/"
                               "Managers\"}");
    } else if (strcmp(path, "/redfish/v1/Managers") == 0) {
        static const char *const bmc[] = {"/redfish/v1/Managers/bmc"};
        head(o, path, "ManagerCollection.ManagerCollection", "Managers");
        links(o, bmc, 1);
    } else if (strcmp(path, "/redfish/v1/Managers/bmc") == 0) {
        stamp(b, now, when, sizeof when);
        head(o, path, "Manager.v1_19_0.Manager", "BMC");
        sim_buf_fmt(o, ",\"ManagerType\":\"BMC\",\"DateTime\":\"%s\"}", when);
    } else if (!b->o.pdu && strcmp(path, "/redfish/v1/Chassis") == 0) {
        head(o, path, "ChassisCollection.ChassisCollection", "Chassis");
        links(o, one, 1);
    } else {
        return b->o.pdu ? rack(b, path, now, o) : chassis(b, path, now, o);
    }
    return true;
}
