/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies by the schemas: excerpts, sensors, supplies; and the links that lead to more. See wire/redfish.h. */
#include "wire/redfish_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#include "base/banned.h"

/* --- texts
 * ---------------------------------------------------------------------------------------------------- */
void jm_rf_text(char *out, size_t n, const struct jm_json *v)
{
    struct jm_span s;
    out[0] = '\0';
    if (!jm_json_str(v, &s))
        return;
    s = jm_span_trim(s);
    snprintf(out, n, "%.*s", (int)(s.n < n ? s.n : n - 1), s.p);
    jm_text_plain(out, strlen(out), false);
}

void jm_rf_uri(char out[JM_RF_URI], struct jm_span s)
{
    while (s.n > 1 && s.p[s.n - 1] == '/')
        s.n--;
    if (s.n >= JM_RF_URI)
        s.n = 0; /* a cut address would name another resource */
    if (s.n)
        memcpy(out, s.p, s.n);
    out[s.n] = '\0';
    jm_text_plain(out, s.n, false);
}

/* --- readings
 * ------------------------------------------------------------------------------------------------ */
struct jm_rf_reading *jm_rf_add(struct jm_rf_body *b, const char *property)
{
    struct jm_rf_set *s = b->set;
    if (b->rc)
        return NULL;
    if (s->n == s->lim.readings) {
        s->dropped++;
        return NULL;
    }
    if (s->n == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 32;
        struct jm_rf_reading *more = realloc(s->r, cap * sizeof *more);
        if (!more) {
            b->rc = jm_err_set(b->err, JM_ENOMEM, "out of memory for the readings of %s", b->uri);
            return NULL;
        }
        s->r = more;
        s->cap = cap;
    }
    struct jm_rf_reading *r = &s->r[s->n++];
    *r = (struct jm_rf_reading){.unit = JM_U_W,
                                .factor = 1,
                                .unit_sure = true,
                                .status = JM_S_ABSENT,
                                .step = NAN,
                                .lo = NAN,
                                .hi = NAN,
                                .accuracy = NAN,
                                .interval_s = NAN,
                                .sensing_s = NAN};
    jm_rf_placed(b->uri, &r->of, &r->scope);
    snprintf(r->uri, sizeof r->uri, "%s", b->uri);
    snprintf(r->source, sizeof r->source, "%.*s#/%.60s", JM_RF_URI - 64, b->uri, property);
    snprintf(r->property, sizeof r->property, "%s", property);
    return r;
}

/* -1 and 65535 (all ones) stand for "none" in firmware that copies IPMI's fields. */
void jm_rf_put(struct jm_rf_reading *r, const struct jm_json *v, double factor)
{
    double x;
    struct jm_span s;
    r->factor = factor;
    r->status = jm_rf_number(v, &x);
    if (r->status != JM_S_OK)
        return;
    if (x == -1 || (r->unit == JM_U_W && (x == 65535 || x == 4294967295.0))) {
        r->status = JM_S_ABSENT;
        return;
    }
    if (jm_json_str(v, &s) && x == 0 && r->kind != JM_RF_COUNTER) { /* "0": AMI's word for none */
        r->status = JM_S_ABSENT;
        return;
    }
    r->value = x * factor;
    r->step = jm_rf_step_of(x, factor);
    if (r->value < 0 || (r->unit == JM_U_W && r->value > 20e6))
        r->status = JM_S_IMPLAUSIBLE;
}

static int64_t stamp(const struct jm_json *v)
{
    struct jm_span s;
    int64_t t;
    return jm_json_str(v, &s) && jm_time_parse_rfc3339(s, &t, NULL) == 0 && t > 0 ? t : 0;
}

static double seconds(const struct jm_json *v)
{
    struct jm_span s;
    return jm_json_str(v, &s) ? jm_rf_duration(s) : NAN;
}

/* A part that is not there or not on has no power, whatever number stands beside it. */
static bool is_off(const struct jm_json *o)
{
    struct jm_span s;
    if (!jm_json_str(jm_json_path(o, "Status.State"), &s))
        return false;
    return jm_span_is(s, "Absent") || jm_span_is(s, "Disabled") || jm_span_is(s, "UnavailableOffline");
}

/* A whole chassis that answers draws power: 0 is what firmware says that does not know. */
static void node_zero(struct jm_rf_reading *r)
{
    if (r->of == JM_RF_NODE && r->unit == JM_U_W && r->status == JM_S_OK && r->value == 0)
        r->status = JM_S_ABSENT;
}

/* What an excerpt or sensor says beside its value. */
static void details(struct jm_rf_reading *r, const struct jm_json *o)
{
    double v;
    struct jm_span s;
    r->time = stamp(jm_json_get(o, "ReadingTime"));
    r->since = stamp(jm_json_get(o, "SensorResetTime"));
    r->sensing_s = seconds(jm_json_get(o, "SensingInterval"));
    if (isnan(r->sensing_s))
        r->sensing_s = seconds(jm_json_get(o, "SensingFrequency"));
    if (jm_rf_number(jm_json_get(o, "ReadingAccuracy"), &v) == JM_S_OK && v > 0)
        r->accuracy = v * r->factor;
    else if (jm_rf_number(jm_json_get(o, "Accuracy"), &v) == JM_S_OK && v > 0 && r->status == JM_S_OK)
        r->accuracy = fabs(r->value) * v / 100;
    if (jm_rf_number(jm_json_get(o, "Precision"), &v) == JM_S_OK && v >= 0 && v <= 9)
        r->step = pow(10, -v) * r->factor;
    if (jm_json_str(jm_json_get(o, "Implementation"), &s))
        r->synthetic = jm_span_is(s, "Synthesized");
    if (jm_json_str(jm_json_get(o, "DataSourceUri"), &s) && s.n) {
        jm_rf_uri(r->source, s);
        r->excerpt = r->source[0] != '\0';
    }
}

/* "HGX_GPU_0_DRAM_0_Power_0" says more than the chassis that it is listed in. */
static void refine(struct jm_rf_reading *r)
{
    const char *id = strrchr(r->source, '/');
    enum jm_rf_of of = r->of;
    enum jm_rf_scope scope = r->scope;
    if (!r->excerpt || !id || !strstr(r->source, "/Sensors/"))
        return;
    if (r->of != JM_RF_NODE && r->of != JM_RF_MODULE && r->of != JM_RF_GPU && r->of != JM_RF_CPU &&
        r->of != JM_RF_MEMORY)
        return;
    if (!jm_rf_named(jm_span_of(id + 1), &of, &scope))
        return;
    if (r->of == JM_RF_CPU && of == JM_RF_RAIL) { /* GB200: the power of a CPU resource is a regulator's */
        r->of = of;
        r->scope = JM_RF_COMPONENT;
    } else if (of != JM_RF_NODE || r->of == JM_RF_MODULE) {
        r->of = of;
        if (scope != JM_RF_SIDE_UNKNOWN)
            r->scope = scope;
    } else if (scope != JM_RF_SIDE_UNKNOWN) {
        r->scope = scope;
    }
}

struct excerpt {
    const char *key;
    enum jm_unit unit;
    double factor;
    enum jm_rf_kind kind;
    enum jm_rf_scope scope; /* SIDE_UNKNOWN: by the place */
};
static const struct excerpt excerpts[] = {
    {"PowerWatts", JM_U_W, 1, JM_RF_INSTANT, JM_RF_SIDE_UNKNOWN},
    {"EnergykWh", JM_U_J, 3.6e6, JM_RF_COUNTER, JM_RF_SIDE_UNKNOWN},
    {"EnergyJoules", JM_U_J, 1, JM_RF_COUNTER, JM_RF_SIDE_UNKNOWN},
    {"EnergyWh", JM_U_J, 3600, JM_RF_COUNTER, JM_RF_SIDE_UNKNOWN},
    {"InputPowerWatts", JM_U_W, 1, JM_RF_INSTANT, JM_RF_AC_INPUT},
    {"OutputPowerWatts", JM_U_W, 1, JM_RF_INSTANT, JM_RF_DC_OUTPUT},
    {"RailPowerWatts", JM_U_W, 1, JM_RF_INSTANT, JM_RF_BOARD},
    {"PolyPhasePowerWatts", JM_U_W, 1, JM_RF_INSTANT, JM_RF_SIDE_UNKNOWN},
    {"PolyPhaseEnergykWh", JM_U_J, 3.6e6, JM_RF_COUNTER, JM_RF_SIDE_UNKNOWN},
};

static void excerpt(struct jm_rf_body *b, const struct excerpt *e, const struct jm_json *v, const char *part)
{
    struct jm_rf_reading *r = jm_rf_add(b, e->key);
    if (!r)
        return;
    r->unit = e->unit;
    r->kind = e->kind;
    if (e->scope != JM_RF_SIDE_UNKNOWN)
        r->scope = e->scope;
    if (r->of == JM_RF_PSU && e->unit == JM_U_J && e->scope == JM_RF_SIDE_UNKNOWN)
        r->scope = JM_RF_AC_INPUT; /* DSP0268: the energy of a supply is what it takes in */
    jm_rf_put(r, jm_json_is_object(v) ? jm_json_get(v, "Reading") : v, e->factor);
    if (part) {
        snprintf(r->source, sizeof r->source, "%.140s#/%.40s/%.40s", b->uri, e->key, part);
        if (r->of != JM_RF_PSU || e->scope == JM_RF_BOARD)
            r->of = e->scope == JM_RF_BOARD ? JM_RF_RAIL : JM_RF_PHASE;
    }
    details(r, v);
    refine(r);
    snprintf(r->name, sizeof r->name, "%.60s%s%.30s", b->set->id[0] ? b->set->id : e->key, part ? " " : "",
             part ? part : "");
    node_zero(r);
    if (is_off(b->root))
        r->status = JM_S_ABSENT;
}

static void excerpts_of(struct jm_rf_body *b)
{
    for (size_t i = 0; i < sizeof excerpts / sizeof *excerpts; i++) {
        const struct excerpt *e = &excerpts[i];
        const struct jm_json *v = jm_json_get(b->root, e->key), *part;
        char at[24];
        if (!v)
            continue;
        if (jm_json_is_array(v)) {
            for (size_t k = 0; k < jm_json_len(v) && k < 64; k++) {
                snprintf(at, sizeof at, "%zu", k);
                excerpt(b, e, jm_json_at(v, k), at);
            }
        } else if (strncmp(e->key, "PolyPhase", 9) == 0) {
            void *it = NULL;
            const char *key;
            while (jm_json_next(v, &it, &key, &part))
                if (jm_json_is_object(part))
                    excerpt(b, e, part, key);
        } else {
            excerpt(b, e, v, NULL);
        }
    }
    const struct jm_json *limit = jm_json_get(b->root, "PowerLimitWatts");
    if (!jm_json_is_object(limit))
        return;
    static const struct excerpt now = {"PowerLimitWatts", JM_U_W, 1, JM_RF_INSTANT, JM_RF_SIDE_UNKNOWN};
    struct jm_span control;
    /* its Reading is the power that is limited; the limit is SetPoint */
    if (jm_json_get(limit, "Reading")) {
        size_t at = b->set->n;
        excerpt(b, &now, limit, NULL);
        if (b->set->n > at && jm_json_str(jm_json_get(limit, "DataSourceUri"), &control) &&
            jm_rf_has(control, "/Controls/"))
            b->set->r[at].kind = JM_RF_LIMIT; /* the reading of a control: what it is is not stated */
        if (b->set->n > at && !b->set->r[at].excerpt && jm_json_get(b->root, "PowerWatts"))
            b->set->r[at].repeat = true; /* what PowerWatts says already */
    }
    struct jm_rf_reading *r =
        jm_json_get(limit, "SetPoint") ? jm_rf_add(b, "PowerLimitWatts.SetPoint") : NULL;
    if (r) {
        r->kind = JM_RF_LIMIT;
        jm_rf_put(r, jm_json_get(limit, "SetPoint"), 1);
    }
}

/* --- sensors
 * ------------------------------------------------------------------------------------------------- */
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
    if (jm_json_str(jm_json_get(o, "ReadingType"), &s))
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (jm_span_is(s, types[i].text)) {
                *unit = types[i].unit;
                *factor = types[i].factor;
                typed = true;
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
    if (!jm_rf_named(id, &of, &scope) && !jm_rf_named(name, &of, &scope)) {
        if (jm_rf_has(context, "GPU") || jm_rf_has(context, "Accelerator"))
            of = JM_RF_GPU, scope = JM_RF_BOARD;
        else if (jm_rf_has(context, "CPU"))
            of = JM_RF_CPU;
        else if (jm_rf_has(context, "Memory"))
            of = JM_RF_MEMORY;
        else if (here != JM_RF_NODE)
            of = here, scope = r->scope;
    }
    if (here == JM_RF_GPU && of == JM_RF_MODULE)
        of = here;
    if (chassis.n && jm_rf_has(chassis, "hgx") && of == JM_RF_NODE) /* "Total" of a board is not the node's */
        of = JM_RF_MODULE, scope = JM_RF_BOARD;
    if (of == JM_RF_NODE && jm_rf_has(about, "Power Supply"))
        of = JM_RF_PSU;
    r->of = of;
    r->scope = scope;
}

static void sensor(struct jm_rf_body *b)
{
    const struct jm_json *o = b->root;
    enum jm_unit unit = JM_U_W;
    double factor = 1, v;
    bool stated = false;
    if (!sensor_unit(o, &unit, &factor, &stated))
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
    details(r, o);
    snprintf(r->source, sizeof r->source, "%s", b->uri); /* a sensor is its own source */
    r->excerpt = false;
    sensor_of(r, o);
    sensor_range(r, o);
    /* XCC: discrete states of supplies are "Power" of 0 without unit and range */
    if (unit == JM_U_W && !stated && isnan(r->hi) && r->status == JM_S_OK && r->value == 0)
        r->status = JM_S_ABSENT;
    if (is_off(o))
        r->status = JM_S_ABSENT;
    node_zero(r);
    struct jm_rf_reading now = *r;
    if (jm_rf_number(jm_json_get(o, "AverageReading"), &v) == JM_S_OK && unit == JM_U_W &&
        (r = jm_rf_add(b, "AverageReading"))) {
        *r = now;
        snprintf(r->property, sizeof r->property, "AverageReading");
        r->kind = JM_RF_MEAN;
        jm_rf_put(r, jm_json_get(o, "AverageReading"), factor);
        r->interval_s = seconds(jm_json_get(o, "AveragingInterval"));
    }
}

/* --- links
 * --------------------------------------------------------------------------------------------------- */
static void link_add(struct jm_rf_body *b, const struct jm_json *v, const char *key,
                     enum jm_rf_link_kind kind)
{
    struct jm_rf_set *s = b->set;
    struct jm_span uri;
    if (!jm_json_str(v, &uri) && !jm_json_str(jm_json_get(v, "@odata.id"), &uri))
        return;
    if (!uri.n || uri.p[0] != '/' || uri.n >= JM_RF_URI || memchr(uri.p, '#', uri.n))
        return;
    if (s->n_links == s->lim.links) {
        s->dropped++;
        return;
    }
    if (s->n_links == s->links_cap) {
        size_t cap = s->links_cap ? s->links_cap * 2 : 32;
        struct jm_rf_link *more = realloc(s->link, cap * sizeof *more);
        if (!more) {
            b->rc = jm_err_set(b->err, JM_ENOMEM, "out of memory for the links of %s", b->uri);
            return;
        }
        s->link = more;
        s->links_cap = cap;
    }
    struct jm_rf_link *l = &s->link[s->n_links];
    l->kind = kind;
    snprintf(l->key, sizeof l->key, "%s", key);
    jm_rf_uri(l->uri, uri);
    for (size_t i = 0; i < s->n_links; i++)
        if (strcmp(s->link[i].uri, l->uri) == 0)
            return;
    s->n_links++;
}

static void links_of(struct jm_rf_body *b)
{
    static const char *const keys[] = {"Chassis",
                                       "Systems",
                                       "PowerEquipment",
                                       "TelemetryService",
                                       "Power",
                                       "EnvironmentMetrics",
                                       "PowerSubsystem",
                                       "PowerSupplies",
                                       "Metrics",
                                       "Sensors",
                                       "RackPDUs",
                                       "FloorPDUs",
                                       "PowerShelves",
                                       "TransferSwitches",
                                       "ElectricalBuses",
                                       "Switchgear",
                                       "PowerDistribution",
                                       "Outlets",
                                       "OutletGroups",
                                       "Mains",
                                       "Branches",
                                       "Feeders",
                                       "Subfeeds",
                                       "Processors",
                                       "ProcessorMetrics",
                                       "Memory",
                                       "MetricReports",
                                       "Facilities",
                                       "SessionService",
                                       "Fabrics",
                                       "Switches"};
    const struct jm_json *v, *members = jm_json_get(b->root, "Members");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        v = jm_json_get(b->root, keys[i]);
        if (jm_json_is_object(v))
            link_add(b, v, keys[i], JM_RF_LINK_FOLLOW);
        else if (jm_json_is_array(v)) /* a list of supplies in place of their collection */
            for (size_t k = 0; k < jm_json_len(v) && k < 256; k++)
                link_add(b, jm_json_at(v, k), keys[i], JM_RF_LINK_FOLLOW);
    }
    for (size_t i = 0; i < jm_json_len(members) && jm_json_is_array(members) && !b->rc; i++)
        if (jm_json_len(jm_json_at(members, i)) <= 1)
            link_add(b, jm_json_at(members, i), "Members", JM_RF_LINK_MEMBER);
    if ((v = jm_json_get(b->root, "Members@odata.nextLink")))
        link_add(b, v, "nextLink", JM_RF_LINK_NEXT);
}

/* --- a body
 * ---------------------------------------------------------------------------------------------------- */
/* "#Power.v1_7_1.Power" and "#Power.1.0.1.Power" are "Power". */
static void type_of(struct jm_rf_body *b, char out[64])
{
    struct jm_span s = {NULL, 0};
    jm_json_str(jm_json_get(b->root, "@odata.type"), &s);
    if (s.n && s.p[0] == '#')
        s = jm_span_sub(s, 1, s.n);
    ptrdiff_t dot = jm_span_chr(s, '.');
    if (dot > 0)
        s.n = (size_t)dot;
    snprintf(out, 64, "%.*s", (int)(s.n < 63 ? s.n : 63), s.p ? s.p : "");
    jm_text_plain(out, strlen(out), false);
}

static void processor_metrics(struct jm_rf_body *b)
{
    const struct jm_json *v = jm_json_get(b->root, "ConsumedPowerWatt");
    struct jm_rf_reading *r = v ? jm_rf_add(b, "ConsumedPowerWatt") : NULL;
    if (r)
        jm_rf_put(r, v, 1);
}

void jm_rf_one(struct jm_rf_body *b)
{
    char type[64];
    type_of(b, type);
    jm_rf_text(b->set->id, sizeof b->set->id, jm_json_get(b->root, "Id"));
    bool sensor_like = jm_json_get(b->root, "ReadingType") || (strcmp(type, "Sensor") == 0);
    if (jm_json_get(b->root, "MetricValues") && !jm_json_get(b->root, "PowerWatts"))
        jm_rf_report(b);
    if (sensor_like)
        sensor(b);
    excerpts_of(b);
    processor_metrics(b);
    jm_rf_power(b);
    jm_rf_vendor_paths(b);
    links_of(b);
    /* collections that come expanded */
    const struct jm_json *members = jm_json_get(b->root, "Members"), *top = b->root;
    char uri[JM_RF_URI];
    snprintf(uri, sizeof uri, "%s", b->uri);
    for (size_t i = 0; jm_json_is_array(members) && i < jm_json_len(members) && !b->rc; i++) {
        const struct jm_json *m = jm_json_at(members, i);
        struct jm_span at;
        if (jm_json_len(m) <= 1 || !jm_json_str(jm_json_get(m, "@odata.id"), &at) ||
            jm_json_get(m, "Members"))
            continue;
        b->root = m;
        jm_rf_uri(b->uri, at);
        jm_rf_one(b);
        b->root = top;
        snprintf(b->uri, sizeof b->uri, "%s", uri);
    }
}

int jm_rf_read(struct jm_rf_set *s, struct jm_span body, const char *uri, struct jm_err *err)
{
    struct jm_str text;
    struct jm_json *root = NULL;
    struct jm_err why = {0};
    if (body.n > s->lim.bytes)
        return jm_err_set(err, JM_ELIMIT, "%s answers with %zu bytes, more than the limit of %zu", uri,
                          body.n, s->lim.bytes);
    jm_str_init(&text);
    s->repaired[0] = '\0';
    int rc = jm_rf_mend(body, &text, s->repaired, &why);
    if (rc == 0)
        rc = jm_json_parse(jm_str_span(&text), &root, &why);
    jm_str_release(&text);
    if (rc)
        return jm_err_set(err, rc, "%s: the answer cannot be read: %s", uri, why.text);
    struct jm_rf_body b = {.set = s, .root = root, .err = err};
    struct jm_span own;
    if (jm_json_str(jm_json_get(root, "@odata.id"), &own) && own.n && own.p[0] == '/' && !*uri)
        jm_rf_uri(b.uri, own);
    else
        jm_rf_uri(b.uri, jm_span_of(uri));
    s->sequence = -1;
    s->service_time = stamp(jm_json_get(root, "DateTime"));
    jm_rf_text(s->etag, sizeof s->etag, jm_json_get(root, "@odata.etag"));
    jm_rf_text(s->make, sizeof s->make, jm_json_get(root, "Manufacturer"));
    if (!s->make[0])
        jm_rf_text(s->make, sizeof s->make, jm_json_get(root, "Vendor"));
    jm_rf_text(s->product, sizeof s->product, jm_json_get(root, "Model"));
    if (!s->product[0])
        jm_rf_text(s->product, sizeof s->product, jm_json_get(root, "Product"));
    jm_rf_one(&b);
    type_of(&b, s->type);
    jm_rf_text(s->id, sizeof s->id, jm_json_get(root, "Id"));
    jm_json_free(root);
    return b.rc;
}
