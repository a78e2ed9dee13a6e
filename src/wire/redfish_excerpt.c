/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of sensors that resources hold (EnvironmentMetrics, supplies, outlets), and what stands beside a
 * value. See wire/redfish.h. */
#include "wire/redfish_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

double jm_rf_seconds(const struct jm_json *v)
{
    struct jm_span s;
    return jm_json_str(v, &s) ? jm_rf_duration(s) : NAN;
}

/* A part that is not there or not on has no power, whatever number stands beside it. */
bool jm_rf_is_off(const struct jm_json *o)
{
    struct jm_span s;
    if (!jm_json_str(jm_json_path(o, "Status.State"), &s))
        return false;
    return jm_span_is(s, "Absent") || jm_span_is(s, "Disabled") || jm_span_is(s, "UnavailableOffline");
}

/* A whole chassis that answers draws power: 0 is what firmware says that does not know. */
void jm_rf_node_zero(struct jm_rf_reading *r)
{
    if (r->of == JM_RF_NODE && r->unit == JM_U_W && r->status == JM_S_OK && r->value == 0)
        r->status = JM_S_ABSENT;
}

/* What an excerpt or sensor says beside its value. */
void jm_rf_details(struct jm_rf_reading *r, const struct jm_json *o)
{
    double v;
    struct jm_span s;
    r->time = jm_rf_stamp(jm_json_get(o, "ReadingTime"));
    r->since = jm_rf_stamp(jm_json_get(o, "SensorResetTime"));
    r->sensing_s = jm_rf_seconds(jm_json_get(o, "SensingInterval"));
    if (isnan(r->sensing_s))
        r->sensing_s = jm_rf_seconds(jm_json_get(o, "SensingFrequency"));
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
    jm_rf_tray(r->source, jm_span_of(id + 1), &of, &scope);
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
    jm_rf_details(r, v);
    refine(r);
    snprintf(r->name, sizeof r->name, "%.60s%s%.30s", b->set->id[0] ? b->set->id : e->key, part ? " " : "",
             part ? part : "");
    jm_rf_node_zero(r);
    if (jm_rf_is_off(b->root))
        r->status = JM_S_ABSENT;
}

void jm_rf_excerpts(struct jm_rf_body *b)
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
            jm_span_ihas(control, "/Controls/"))
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
