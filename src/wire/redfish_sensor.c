/* SPDX-License-Identifier: Apache-2.0 */
/* Sensor resources. See wire/redfish.h. */
#include "wire/redfish_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

static bool sensor_unit(const struct jm_json *o, enum jm_unit *unit, double *factor, bool *stated)
{
    static const struct {
        const char *text;
        enum jm_unit unit;
        double factor;
    } units[] = {{"W", JM_U_W, 1},     {"Watts", JM_U_W, 1},    {"Watt", JM_U_W, 1},    {"mW", JM_U_W, 1e-3},
                 {"kW", JM_U_W, 1e3},  {"kW.h", JM_U_J, 3.6e6}, {"kWh", JM_U_J, 3.6e6}, {"W.h", JM_U_J, 3600},
                 {"Wh", JM_U_J, 3600}, {"J", JM_U_J, 1},        {"Joules", JM_U_J, 1},  {"mJ", JM_U_J, 1e-3},
                 {"kJ", JM_U_J, 1e3}},
      types[] = {{"Power", JM_U_W, 1},
                 {"EnergyJoules", JM_U_J, 1},
                 {"EnergykWh", JM_U_J, 3.6e6},
                 {"EnergyWh", JM_U_J, 3600}};
    struct jm_span s;
    bool typed = false;
    if (jm_json_str(jm_json_get(o, "ReadingType"), &s)) {
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (jm_span_ieq(s, jm_span_of(types[i].text))) {
                *unit = types[i].unit;
                *factor = types[i].factor;
                typed = true;
            }
        if (!typed && !jm_span_ihas(s, "power") && !jm_span_ihas(s, "energy") &&
            !jm_span_ieq(s, JM_SPAN("Unknown")))
            return false; /* "Heat" in kW is what a cooler takes away */
    }
    if (!jm_json_str(jm_json_get(o, "ReadingUnits"), &s) || !s.n) {
        *stated = typed && *unit == JM_U_J;
        return typed;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (jm_span_ieq(s, jm_span_of(units[i].text)) &&
            (jm_span_is(s, units[i].text) || units[i].factor >= 1)) { /* "MW" is no milliwatt */
            if (typed && units[i].unit != *unit)
                return false;
            *unit = units[i].unit;
            *factor = units[i].factor;
            *stated = true;
            return true;
        }
    return false; /* VA, var, A: not power or energy */
}

static void sensor_range(struct jm_rf_reading *r, const struct jm_json *o)
{
    double lo = 0, hi;
    if (jm_rf_number(jm_json_get(o, "ReadingRangeMax"), &hi) != JM_S_OK)
        return;
    jm_rf_number(jm_json_get(o, "ReadingRangeMin"), &lo);
    if (!(hi > lo))
        return;
    r->lo = lo * r->factor;
    r->hi = hi * r->factor;
    if (r->unit == JM_U_J && r->kind == JM_RF_COUNTER) {
        if (fabs(r->hi - 4294967.296) <= 1)
            r->modulus = 4294967.296; /* 2^32 mJ: DGX H100's boards */
        else if (fabs(r->hi - 262144) <= 1)
            r->modulus = 262144; /* 2^32 of RAPL's 2^-14 J */
        return;
    }
    double step = hi / 255, n = step > 0 ? r->value / (step * r->factor) : 0;
    if (lo == 0 && step >= 0.5 && fabs(step - round(step)) < 1e-9 && r->status == JM_S_OK &&
        fabs(n - round(n)) < 1e-6)
        r->step = step * r->factor; /* an 8-bit IPMI sensor behind the Redfish service */
    if (r->status != JM_S_OK || (r->value >= r->lo && r->value <= r->hi))
        return;
    if (r->value >= r->lo / 1000 && r->value <= r->hi / 1000 && r->lo >= 1000)
        r->lo = r->hi = NAN; /* GH200: a reading in W with a range in mW */
    else
        r->status = JM_S_IMPLAUSIBLE;
}

static void sensor_of(struct jm_rf_reading *r, const struct jm_json *o)
{
    struct jm_span id = {NULL, 0}, name = {NULL, 0}, about = {NULL, 0}, context = {NULL, 0};
    jm_json_str(jm_json_get(o, "Id"), &id);
    jm_json_str(jm_json_get(o, "Name"), &name);
    jm_json_str(jm_json_get(o, "Description"), &about);
    jm_json_str(jm_json_get(o, "PhysicalContext"), &context);
    enum jm_rf_of of = JM_RF_RAIL, here = r->of;
    enum jm_rf_scope scope = JM_RF_COMPONENT;
    struct jm_span chassis = jm_rf_segment(r->uri, "/Chassis/");
    /* a PDU's sensors live below its chassis: which outlet they are of, the outlet's resource says */
    bool known = jm_rf_named(id, &of, &scope) || jm_rf_named(name, &of, &scope);
    if (!known) {
        if (jm_span_ihas(context, "GPU") || jm_span_ihas(context, "Accelerator"))
            of = JM_RF_GPU, scope = JM_RF_BOARD;
        else if (jm_span_ihas(context, "CPU"))
            of = JM_RF_CPU;
        else if (jm_span_ihas(context, "Memory"))
            of = JM_RF_MEMORY;
        else if (here != JM_RF_NODE)
            of = here, scope = r->scope;
    }
    if (here == JM_RF_GPU && of == JM_RF_MODULE)
        of = here;
    if (here != JM_RF_PDU && of == JM_RF_NODE && jm_rf_shelf_supply(id.n ? id : name)) {
        of = JM_RF_RAIL; /* "P0_PIN": what a processor takes in */
        scope = JM_RF_COMPONENT;
    }
    jm_rf_tray(r->uri, id.n ? id : name, &of, &scope);
    if (chassis.n && jm_span_ihas(chassis, "hgx") &&
        of == JM_RF_NODE) /* "Total" of a board is not the node's */
        of = JM_RF_MODULE, scope = JM_RF_BOARD;
    if (here == JM_RF_PDU) { /* a sensor of power equipment is of no server */
        static const struct {
            const char *word;
            enum jm_rf_of of;
        } parts[] = {{"outlet", JM_RF_OUTLET}, {"branch", JM_RF_BRANCH}, {"breaker", JM_RF_BRANCH},
                     {"phase", JM_RF_PHASE},   {"line", JM_RF_PHASE},    {"mains", JM_RF_MAINS},
                     {"inlet", JM_RF_MAINS}};
        bool one = jm_rf_shelf_supply(id) || jm_rf_shelf_supply(name);
        bool supply = of == JM_RF_PSU || (of == JM_RF_NODE && one);
        bool rail = known && of == JM_RF_RAIL; /* a hot-swap controller of its own electronics */
        of = supply ? JM_RF_PSU : rail ? of : here;
        scope = supply || rail || scope == JM_RF_DC_OUTPUT ? scope : JM_RF_AC_INPUT;
        for (size_t i = 0; i < sizeof parts / sizeof *parts && !supply && of == here; i++)
            if (jm_span_ihas(id, parts[i].word) || jm_span_ihas(name, parts[i].word))
                of = parts[i].of;
    }
    if (of == JM_RF_NODE && jm_span_ihas(about, "Power Supply"))
        of = JM_RF_PSU;
    r->of = of;
    r->scope = scope;
}

void jm_rf_sensor(struct jm_rf_body *b)
{
    const struct jm_json *o = b->root;
    enum jm_unit unit = JM_U_W;
    double factor = 1, v;
    bool stated = false;
    struct jm_span words = {NULL, 0};
    jm_json_str(jm_json_get(o, "Id"), &words);
    if (!sensor_unit(o, &unit, &factor, &stated) || jm_span_ihas(words, "heat") ||
        jm_span_ihas(words, "cooling"))
        return;
    struct jm_rf_reading *r = jm_rf_add(b, "Reading");
    if (!r)
        return;
    r->unit = unit;
    r->kind = unit == JM_U_J ? JM_RF_COUNTER : JM_RF_INSTANT;
    r->unit_sure = stated || unit == JM_U_W;
    snprintf(r->source, sizeof r->source, "%s", b->uri);
    jm_rf_put(r, jm_json_get(o, "Reading"), factor);
    jm_rf_text(r->name, sizeof r->name, jm_json_get(o, "Name"));
    if (!r->name[0])
        jm_rf_text(r->name, sizeof r->name, jm_json_get(o, "Id"));
    jm_rf_details(r, o);
    snprintf(r->source, sizeof r->source, "%s", b->uri); /* a sensor is its own source */
    r->excerpt = false;
    sensor_of(r, o);
    sensor_range(r, o);
    /* XCC: discrete states of supplies are "Power" of 0 without unit and range */
    if (unit == JM_U_W && !stated && isnan(r->hi) && r->status == JM_S_OK && r->value == 0)
        r->status = JM_S_ABSENT;
    if (jm_rf_is_off(o))
        r->status = JM_S_ABSENT;
    jm_rf_node_zero(r);
    struct jm_rf_reading now = *r;
    if (jm_rf_number(jm_json_get(o, "AverageReading"), &v) == JM_S_OK && unit == JM_U_W &&
        (r = jm_rf_add(b, "AverageReading"))) {
        *r = now;
        snprintf(r->property, sizeof r->property, "AverageReading");
        r->kind = JM_RF_MEAN;
        jm_rf_put(r, jm_json_get(o, "AverageReading"), factor);
        r->interval_s = jm_rf_seconds(jm_json_get(o, "AveragingInterval"));
    }
}
