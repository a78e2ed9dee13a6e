/* SPDX-License-Identifier: Apache-2.0 */
/* The old Power resource, and telemetry reports. See wire/redfish.h. */
#include "wire/redfish_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#include "base/banned.h"

/* An array, or the one object that stands for it (Cisco); NULL past the end. */
static const struct jm_json *item(const struct jm_json *v, size_t i)
{
    if (jm_json_is_array(v))
        return jm_json_at(v, i);
    return i == 0 && jm_json_is_object(v) ? v : NULL;
}

static void named(struct jm_rf_reading *r, const struct jm_json *o, const char *otherwise, size_t i)
{
    jm_rf_text(r->name, sizeof r->name, jm_json_get(o, "Name"));
    if (!r->name[0])
        snprintf(r->name, sizeof r->name, "%s %zu", otherwise, i);
}

/* --- PowerControl
 * -------------------------------------------------------------------------------------------- */
/* XCC's three entries overlap: the server, its processors, its memory. */
static void control_of(const struct jm_json *o, size_t i, enum jm_rf_of *of, enum jm_rf_scope *scope)
{
    struct jm_span text[3] = {{NULL, 0}}, related = {NULL, 0};
    jm_json_str(jm_json_get(o, "PhysicalContext"), &text[0]);
    jm_json_str(jm_json_get(o, "Name"), &text[1]);
    jm_json_str(jm_json_get(jm_json_at(jm_json_get(o, "RelatedItem"), 0), "@odata.id"), &related);
    *of = i == 0 ? JM_RF_NODE : JM_RF_RAIL;
    *scope = i == 0 ? JM_RF_SIDE_UNKNOWN : JM_RF_COMPONENT;
    if (i == 0)
        return; /* Supermicro relates the whole chassis' value to its processors only */
    for (size_t k = 0; k < 2; k++) {
        if (jm_span_ihas(text[k], "memory"))
            *of = JM_RF_MEMORY;
        else if (jm_span_ihas(text[k], "gpu") || jm_span_ihas(text[k], "accelerator"))
            *of = JM_RF_GPUS;
        else if (jm_span_ihas(text[k], "cpu") || jm_span_ihas(text[k], "processor"))
            *of = JM_RF_CPU;
        else if (jm_span_ihas(text[k], "fan"))
            *of = JM_RF_FANS;
        else if (jm_span_ihas(text[k], "storage"))
            *of = JM_RF_STORAGE;
        if (*of != JM_RF_RAIL)
            return;
    }
    if (jm_span_ends(related, JM_SPAN("/Memory")))
        *of = JM_RF_MEMORY;
    else if (jm_span_ends(related, JM_SPAN("/Processors")))
        *of = JM_RF_CPU;
}

static void metrics_of(struct jm_rf_body *b, const struct jm_json *o, size_t i)
{
    static const struct {
        const char *key;
        enum jm_rf_kind kind;
    } rows[] = {{"AverageConsumedWatts", JM_RF_MEAN},
                {"MinConsumedWatts", JM_RF_MIN},
                {"MaxConsumedWatts", JM_RF_MAX},
                {"CurConsumedWatts", JM_RF_INSTANT}}; /* AMI, beside a PowerConsumedWatts that is null */
    const struct jm_json *m = jm_json_get(o, "PowerMetrics");
    double minutes = NAN, v;
    if (!jm_json_is_object(m))
        m = jm_json_get(o, "PowerMetric");
    if (!jm_json_is_object(m))
        return;
    if (jm_rf_number(jm_json_get(m, "IntervalInMin"), &v) == JM_S_OK && v > 0)
        minutes = v;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const struct jm_json *x = jm_json_get(m, rows[k].key);
        struct jm_rf_reading *r = x ? jm_rf_add(b, rows[k].key) : NULL;
        if (!r)
            continue;
        r->kind = rows[k].kind;
        control_of(o, i, &r->of, &r->scope);
        jm_rf_put(r, x, 1);
        if (rows[k].kind != JM_RF_INSTANT)
            r->interval_s = minutes * 60;
        snprintf(r->source, sizeof r->source, "%.140s#/PowerControl/%zu/PowerMetrics/%s", b->uri, i,
                 rows[k].key);
        named(r, o, "PowerControl", i);
        if (r->status == JM_S_OK && r->value == 0 && (isnan(minutes) || rows[k].kind == JM_RF_INSTANT))
            r->status = JM_S_ABSENT; /* zeros over no time are no measurement */
    }
}

static void controls(struct jm_rf_body *b)
{
    const struct jm_json *list = jm_json_get(b->root, "PowerControl"), *o, *v;
    for (size_t i = 0; i < 256 && (o = item(list, i)); i++) {
        struct jm_rf_reading *r =
            (v = jm_json_get(o, "PowerConsumedWatts")) ? jm_rf_add(b, "PowerConsumedWatts") : NULL;
        if (r) {
            control_of(o, i, &r->of, &r->scope);
            jm_rf_put(r, v, 1);
            snprintf(r->source, sizeof r->source, "%.140s#/PowerControl/%zu/PowerConsumedWatts", b->uri, i);
            named(r, o, "PowerControl", i);
            if (i == 0 && r->status == JM_S_OK && r->value == 0)
                r->status = JM_S_ABSENT;
        }
        metrics_of(b, o, i);
        v = jm_json_path(o, "PowerLimit.LimitInWatts");
        if (v && (r = jm_rf_add(b, "LimitInWatts"))) {
            control_of(o, i, &r->of, &r->scope);
            r->kind = JM_RF_LIMIT;
            jm_rf_put(r, v, 1);
            named(r, o, "PowerControl", i);
        }
    }
    v = jm_json_get(b->root, "PowerConsumedWatts"); /* iLO 4; a PowerControl that is a resource of its own */
    struct jm_rf_reading *r = v ? jm_rf_add(b, "PowerConsumedWatts") : NULL;
    if (r) {
        jm_rf_put(r, v, 1);
        r->of = JM_RF_NODE;
        r->scope = JM_RF_SIDE_UNKNOWN;
        snprintf(r->name, sizeof r->name, "PowerConsumedWatts");
        if (list) /* the same figure under its old name */
            snprintf(r->source, sizeof r->source, "%.140s#/PowerControl/0/PowerConsumedWatts", b->uri);
        if (r->status == JM_S_OK && r->value == 0)
            r->status = JM_S_ABSENT;
    }
    if (!list)
        metrics_of(b, b->root, 0);
}

/* --- PowerSupplies
 * ------------------------------------------------------------------------------------------- */
static enum jm_rf_scope side(const struct jm_json *psu)
{
    struct jm_span s = {NULL, 0};
    double v;
    if (jm_json_str(jm_json_get(psu, "PowerSupplyType"), &s) && jm_span_is(s, "DC"))
        return JM_RF_DC_INPUT;
    if (jm_json_str(jm_json_get(psu, "LineInputVoltageType"), &s) && jm_span_starts(s, JM_SPAN("DC")))
        return JM_RF_DC_INPUT;
    if (jm_json_str(jm_json_get(psu, "PowerSupplyType"), &s) && jm_span_is(s, "AC"))
        return JM_RF_AC_INPUT;
    if (jm_rf_number(jm_json_get(psu, "LineInputVoltage"), &v) == JM_S_OK && v > 0 && v < 80)
        return JM_RF_DC_INPUT;
    return JM_RF_AC_INPUT;
}

static void supply(struct jm_rf_body *b, const struct jm_json *o, size_t i)
{
    static const struct {
        const char *key;
        enum jm_rf_kind kind;
        bool input;
    } rows[] = {{"PowerInputWatts", JM_RF_INSTANT, true},
                {"PowerOutputWatts", JM_RF_INSTANT, false},
                {"LastPowerOutputWatts", JM_RF_MEAN, false}};
    struct jm_span state = {NULL, 0};
    jm_json_str(jm_json_path(o, "Status.State"), &state);
    bool off = jm_span_is(state, "Absent") || jm_span_is(state, "UnavailableOffline");
    double capacity = NAN;
    jm_rf_number(jm_json_get(o, "PowerCapacityWatts"), &capacity);
    size_t first = b->set->n;
    const struct jm_rf_reading *in = NULL, *out = NULL;
    for (size_t k = 0; k < 3; k++) {
        const struct jm_json *v = jm_json_get(o, rows[k].key);
        struct jm_rf_reading *r = v ? jm_rf_add(b, rows[k].key) : NULL;
        if (!r)
            continue;
        r->of = JM_RF_PSU;
        r->scope = rows[k].input ? side(o) : JM_RF_DC_OUTPUT;
        r->kind = rows[k].kind;
        jm_rf_put(r, v, 1);
        snprintf(r->source, sizeof r->source, "%.140s#/PowerSupplies/%zu/%s", b->uri, i, rows[k].key);
        named(r, o, "PSU", i);
        if (off)
            r->status = JM_S_ABSENT;
    }
    for (size_t k = first; k < b->set->n; k++) {
        struct jm_rf_reading *r = &b->set->r[k];
        if (r->kind == JM_RF_INSTANT && r->scope == JM_RF_DC_OUTPUT)
            out = r;
        else if (r->kind == JM_RF_INSTANT)
            in = r;
    }
    /* 900 W in and 203 W out of a 750 W supply: the input is a rating (influxdata/telegraf#9575) */
    if (in && out && in->status == JM_S_OK && out->status == JM_S_OK && out->value > 0 &&
        in->value > 2 * out->value + 50 && in->value >= capacity)
        b->set->r[in - b->set->r].status = JM_S_IMPLAUSIBLE;
}

void jm_rf_power(struct jm_rf_body *b)
{
    const struct jm_json *list = jm_json_get(b->root, "PowerSupplies"), *o;
    controls(b);
    for (size_t i = 0; i < 256 && (o = item(list, i)); i++)
        if (jm_json_len(o) > 1)
            supply(b, o, i);
}

/* --- MetricReport
 * ------------------------------------------------------------------------------------------- */
static bool is_power_word(struct jm_span s)
{
    static const char *const not [] = {"temp",      "limit",    "state",    "break",   "mode",
                                       "cycle",     "setpoint", "volt",     "current", "timestamp",
                                       "efficien",  "percent",  "duration", "cap",     "throttl",
                                       "violation", "factor",   "count",    NULL};
    bool yes = jm_span_ihas(s, "power") || jm_span_ihas(s, "watt") || jm_span_ihas(s, "energy") ||
               jm_span_ihas(s, "pwr_");
    for (size_t i = 0; yes && not [i]; i++)
        yes = !jm_span_ihas(s, not [i]);
    return yes;
}

/* "AvgPowerConsumptionHour": the report says what its values are, since their property names an object. */
static void report_kind(struct jm_rf_reading *r, struct jm_span words)
{
    static const struct {
        const char *word;
        double s;
    } spans[] = {{"minute", 60}, {"hour", 3600}, {"day", 86400}, {"week", 604800}};
    if (jm_span_ihas(words, "avg") || jm_span_ihas(words, "average") || jm_span_ihas(words, "mean"))
        r->kind = JM_RF_MEAN;
    else if (jm_span_ihas(words, "min") && !jm_span_ihas(words, "minute"))
        r->kind = JM_RF_MIN;
    else if (jm_span_ihas(words, "max") || jm_span_ihas(words, "peak"))
        r->kind = JM_RF_MAX;
    else
        return;
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        if (jm_span_ihas(words, spans[i].word))
            r->interval_s = spans[i].s;
}

static void value_of(struct jm_rf_body *b, const struct jm_json *m, size_t first, struct jm_span report)
{
    struct jm_span id = {NULL, 0}, property = {NULL, 0}, when = {NULL, 0}, context = {NULL, 0};
    const struct jm_json *oem = jm_json_get(m, "Oem");
    jm_json_str(jm_json_get(m, "MetricId"), &id);
    jm_json_str(jm_json_get(m, "MetricProperty"), &property);
    jm_json_str(jm_json_get(m, "Timestamp"), &when);
    jm_json_str(jm_json_path(oem, "Dell.ContextID"), &context);
    ptrdiff_t slash = -1;
    for (size_t i = 0; i < property.n; i++)
        if (property.p[i] == '/')
            slash = (ptrdiff_t)i;
    struct jm_span last = jm_span_sub(property, (size_t)(slash + 1), property.n);
    ptrdiff_t hash = jm_span_chr(property, '#');
    const struct jm_rf_metric *row = jm_rf_metric_find(id);
    struct jm_span words = id.n ? id : last;
    bool all_digits = last.n > 0;
    for (size_t i = 0; i < last.n; i++)
        all_digits = all_digits && last.p[i] >= '0' && last.p[i] <= '9';
    if (all_digits || jm_span_ihas(last, "reading")) /* a pointer to an object, or to an excerpt's Reading */
        words = id.n ? id : all_digits ? report : property;
    if (!row && !is_power_word(words) && !is_power_word(last))
        return;
    char source[JM_RF_URI];
    int64_t t = 0;
    if (property.n && context.n == 0)
        jm_rf_uri(source, property);
    else
        snprintf(source, sizeof source, "%.120s#/%.40s/%.*s", b->uri, context.n ? "" : "metric",
                 (int)(id.n < 60 ? id.n : 60), id.p ? id.p : "");
    if (context.n)
        snprintf(source, sizeof source, "%.120s#/%.*s/%.*s", b->uri, (int)(context.n < 60 ? context.n : 60),
                 context.p, (int)(id.n < 50 ? id.n : 50), id.p ? id.p : "");
    if (!source[0])
        return;
    if (when.n)
        jm_time_parse_rfc3339(when, &t, NULL);
    /* reports that append keep days of values: the newest of each counts */
    struct jm_rf_reading *r = NULL;
    for (size_t i = first; i < b->set->n && !r; i++)
        if (strcmp(b->set->r[i].source, source) == 0)
            r = &b->set->r[i];
    if (r && r->time >= t)
        return;
    if (!r && !(r = jm_rf_add(b, "MetricValue")))
        return;
    r->time = t;
    r->kind = JM_RF_INSTANT;
    r->of = JM_RF_RAIL;
    r->scope = JM_RF_COMPONENT;
    r->stale = false;
    snprintf(r->source, sizeof r->source, "%s", source);
    snprintf(r->name, sizeof r->name, "%.*s", (int)(words.n < 90 ? words.n : 90), words.p ? words.p : "");
    jm_text_plain(r->name, strlen(r->name), false);
    double factor = 1;
    if (row) {
        r->unit = row->unit;
        r->kind = row->kind;
        r->of = row->of;
        r->scope = row->scope;
        factor = row->factor;
        if (row->interval_s > 0)
            r->interval_s = row->interval_s;
        r->unit_sure = row->unit == JM_U_W;
    } else {
        char place[JM_RF_URI];
        bool energy = jm_span_ihas(words, "energy") || jm_span_ihas(last, "energy");
        bool kwh = jm_span_ihas(words, "kwh") || jm_span_ihas(property, "kwh");
        jm_rf_uri(place, jm_span_sub(property, 0, hash >= 0 ? (size_t)hash : property.n));
        jm_rf_placed(place, &r->of, &r->scope);
        enum jm_rf_of of = r->of;
        enum jm_rf_scope scope = r->scope;
        if (strstr(place, "/Sensors/") && jm_rf_named(last, &of, &scope)) {
            r->of = of == JM_RF_NODE && r->of == JM_RF_MODULE ? r->of : of;
            r->scope = scope;
        }
        if (energy) {
            r->unit = JM_U_J;
            r->kind = JM_RF_COUNTER;
            factor = kwh ? 3.6e6 : 1;
            r->unit_sure = kwh; /* J and mJ stand in one report: GH200, GB200 */
        } else {
            r->unit = JM_U_W;
            report_kind(r, id.n ? id : last);
            if (r->kind == JM_RF_INSTANT)
                report_kind(r, report);
        }
    }
    jm_rf_put(r, jm_json_get(m, "MetricValue"), factor);
    struct jm_span text;
    if (r->status == JM_S_ABSENT && r->of != JM_RF_NODE &&
        jm_json_str(jm_json_get(m, "MetricValue"), &text) &&
        (jm_span_is(text, "0") || jm_span_is(text, "0.000000"))) {
        r->status = JM_S_OK; /* here every number is a string */
        r->value = 0;
    }
    bool stale = false;
    if ((jm_json_bool(jm_json_path(oem, "Nvidia.MetricValueStale"), &stale) ||
         jm_json_bool(jm_json_get(m, "MetricValueStale"), &stale)) &&
        stale) {
        r->stale = true;
        if (r->status == JM_S_OK)
            r->status = JM_S_STALE;
    }
}

void jm_rf_report(struct jm_rf_body *b)
{
    const struct jm_json *list = jm_json_get(b->root, "MetricValues");
    struct jm_span id = {NULL, 0}, when;
    double v, sensing = NAN;
    int64_t t;
    size_t first = b->set->n;
    jm_json_str(jm_json_get(b->root, "Id"), &id);
    if (jm_rf_number(jm_json_get(b->root, "ReportSequence"), &v) == JM_S_OK && v >= 0 && v < 9e15)
        b->set->sequence = (int64_t)v;
    if (jm_rf_number(jm_json_path(b->root, "Oem.Nvidia.SensingIntervalMilliseconds"), &v) == JM_S_OK && v > 0)
        sensing = v / 1e3;
    if (jm_json_str(jm_json_get(b->root, "Timestamp"), &when) && !jm_time_parse_rfc3339(when, &t, NULL))
        b->set->service_time = t;
    for (size_t i = 0; jm_json_is_array(list) && i < jm_json_len(list) && !b->rc; i++)
        value_of(b, jm_json_at(list, i), first, id);
    for (size_t i = first; i < b->set->n; i++)
        if (isnan(b->set->r[i].sensing_s))
            b->set->r[i].sensing_s = sensing;
}
