/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of services that speak JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/num.h"
#include "base/str.h"
#include "wire/factorfile.h"

#include "base/banned.h"

#define MINUTE (60 * JM_NS_PER_S)
#define DAY    (1440 * MINUTE)

/* Months between two instants at which months begin, by UTC; 0: one of them is no such instant. */
static int64_t months(int64_t t0, int64_t t1)
{
    int64_t at[2];
    for (int k = 0; k < 2; k++) {
        char text[JM_RFC3339_SIZE];
        int64_t year, month;
        jm_time_rfc3339(k ? t1 : t0, text);
        if (memcmp(text + 7, "-01T00:00:00.000000000Z", 23) != 0 ||
            jm_num_i64((struct jm_span){text, 4}, &year) || jm_num_i64((struct jm_span){text + 5, 2}, &month))
            return 0;
        at[k] = 12 * year + month - 1;
    }
    return at[1] - at[0];
}

static int64_t months_later(int64_t t, int64_t n)
{
    char text[JM_RFC3339_SIZE];
    int64_t year = 0, month = 1;
    jm_time_rfc3339(t, text);
    jm_num_i64((struct jm_span){text, 4}, &year);
    jm_num_i64((struct jm_span){text + 5, 2}, &month);
    n += 12 * year + month - 1;
    return jm_time_unix((int)(n / 12), (int)(n % 12) + 1, 1, 0, 0, 0) * JM_NS_PER_S;
}

/* Rows of months, quarters or years are as long as the calendar has them: the least distance in months; 0:
 * they are none. */
static int64_t calendar(const struct jm_factor *f, int64_t least)
{
    int64_t n = 0;
    if (least < 28 * DAY)
        return 0;
    for (size_t i = 1; i < f->n; i++) {
        int64_t d = months(f->step[i - 1].t0, f->step[i].t0);
        d = d < 0 ? -d : d;
        if (!d && f->step[i].t0 != f->step[i - 1].t0)
            return 0;
        if (d && (!n || d < n))
            n = d;
    }
    return n;
}

int jm_factor_lasting(struct jm_factor *f, int64_t period, struct jm_err *err)
{
    int64_t least = period;
    for (size_t i = 1; !period && i < f->n; i++) {
        int64_t d = f->step[i].t0 - f->step[i - 1].t0;
        d = d < 0 ? -d : d;
        if (d && (!least || d < least))
            least = d;
    }
    int64_t by_month = period ? 0 : calendar(f, least);
    for (size_t i = 0; i < f->n; i++) {
        struct jm_factor_step *s = &f->step[i];
        if (s->t1 != s->t0 + 1)
            continue;
        if (!least)
            return jm_err_set(err, JM_EPARSE,
                              "%s of %s: a single row begins at a time and says nothing of its end; give the "
                              "end, or more than one row",
                              jm_factor_what_name((int)f->what), f->zone);
        s->t1 = by_month ? months_later(s->t0, by_month) : s->t0 + least;
    }
    return 0;
}

static int no_memory(struct jm_err *err)
{
    return jm_err_set(err, JM_ENOMEM, "out of memory for the factors");
}

static int step(struct jm_factor *f, int64_t t0, int64_t t1, double v, bool estimated, struct jm_err *err)
{
    int rc = jm_factor_step_add(f, t0, t1, v, estimated);
    return rc == JM_ENOMEM   ? no_memory(err)
           : rc == JM_ELIMIT ? jm_err_set(err, rc, "more than %zu values of one factor", JM_FACTOR_STEPS)
           : rc ? jm_err_set(err, JM_EPARSE, "%s of %s: an interval that ends before it begins, or no number",
                             jm_factor_what_name((int)f->what), f->zone)
                : 0;
}

static struct jm_span text_of(const struct jm_json *o, const char *key)
{
    struct jm_span s = {"", 0};
    jm_json_str(jm_json_get(o, key), &s);
    return s;
}

static int time_of(const struct jm_json *o, const char *key, int64_t *t, struct jm_err *err)
{
    struct jm_span s;
    if (!jm_json_str(jm_json_get(o, key), &s))
        return jm_err_set(err, JM_EPARSE, "an entry has no \"%s\"", key);
    return jm_factor_time(s, false, t, err);
}

/* --- Electricity Maps */

/* End of what begins at t; t + 1: not said. */
static int64_t lasts_to(struct jm_span granularity, int64_t t)
{
    static const struct {
        const char *name;
        int minutes, months;
    } g[] = {{"5_minutes", 5, 0},  {"15_minutes", 15, 0}, {"hourly", 60, 0},   {"daily", 1440, 0},
             {"weekly", 10080, 0}, {"monthly", 0, 1},     {"quarterly", 0, 3}, {"yearly", 0, 12}};
    for (size_t i = 0; i < sizeof g / sizeof *g; i++)
        if (jm_span_is(granularity, g[i].name))
            return g[i].minutes                                              ? t + g[i].minutes * MINUTE
                   : months(t, t) == 0 && months(t, months_later(t, 1)) == 1 ? months_later(t, g[i].months)
                                                                             : t + 1;
    return t + 1;
}

/* A factor of the set from index `from` on that is like this; else a new one. */
static struct jm_factor *like(struct jm_factor_set *set, size_t from, enum jm_factor_what what,
                              struct jm_span zone, enum jm_factor_kind kind)
{
    for (size_t i = from; i < set->n; i++)
        if (set->f[i].what == what && set->f[i].kind == kind && jm_span_is(zone, set->f[i].zone))
            return &set->f[i];
    struct jm_factor *f = jm_factor_add(set, what, zone);
    if (f)
        f->kind = kind;
    return f;
}

static int emaps_one(const struct jm_json *root, const struct jm_json *e, bool forecast,
                     struct jm_factor_set *set, size_t from, struct jm_err *err)
{
    double v, price;
    int64_t t;
    bool estimated = forecast;
    struct jm_span zone = text_of(e, "zone"), type = text_of(e, "emissionFactorType"),
                   unit = text_of(e, "unit");
    if (!zone.n)
        zone = text_of(root, "zone");
    if (!zone.n) /* the free CO2 Signal API, its forerunner */
        zone = text_of(root, "countryCode");
    if (!type.n)
        type = text_of(root, "emissionFactorType");
    if (!unit.n)
        unit = text_of(root, "unit");
    bool carbon = jm_json_get(e, "carbonIntensity") != NULL;
    if (!zone.n)
        return jm_err_set(err, JM_EPARSE, "Electricity Maps: an entry without a zone");
    if (set->n - from >= JM_FACTOR_ZONES)
        return jm_err_set(err, JM_ELIMIT, "more than %d zones in one file", JM_FACTOR_ZONES);
    struct jm_factor *f = like(set, from, carbon ? JM_FACTOR_CARBON : JM_FACTOR_PRICE, zone,
                               jm_span_is(type, "lifecycle") ? JM_FACTOR_LIFECYCLE
                               : jm_span_is(type, "direct")  ? JM_FACTOR_GENERATION
                                                             : JM_FACTOR_UNKNOWN);
    if (!f)
        return no_memory(err);
    if (!f->source[0]) {
        snprintf(f->source, sizeof f->source, "Electricity Maps, API v3");
        snprintf(f->unit, sizeof f->unit, "gCO2e/kWh"); /* the service writes no unit: its documentation */
        if (carbon && f->kind == JM_FACTOR_UNKNOWN)
            snprintf(f->note, sizeof f->note, "the reply has no emissionFactorType");
    }
    if (!jm_json_num(jm_json_get(e, carbon ? "carbonIntensity" : "value"), &v))
        return 0; /* null: missing */
    if (!carbon) {
        char cur[4] = "";
        price = jm_factor_price_unit(unit, cur);
        if (!isfinite(price))
            return jm_err_set(
                err, JM_EUSAGE, "Electricity Maps: a price of %.*s without a unit that is known (\"%.*s\")",
                (int)(zone.n > 32 ? 32 : zone.n), zone.p, (int)(unit.n > 24 ? 24 : unit.n), unit.p);
        snprintf(f->unit, sizeof f->unit, "%s/kWh", cur);
        v *= price;
    } else if (v < 0) {
        return jm_err_set(err, JM_EPARSE, "Electricity Maps: a carbon intensity of %g", v);
    }
    jm_json_bool(jm_json_get(e, "isEstimated"), &estimated);
    int rc = time_of(e, "datetime", &t, err);
    struct jm_span period = text_of(e, "temporalGranularity");
    if (!period.n)
        period = text_of(root, "temporalGranularity");
    return rc ? rc : step(f, t, lasts_to(period, t), v, estimated || forecast, err);
}

static int emaps(const struct jm_json *root, struct jm_factor_set *set, struct jm_err *err)
{
    size_t from = set->n;
    int rc = 0;
    static const char *const key[] = {"history", "data", "forecast"};
    const struct jm_json *list = NULL;
    int which = 0;
    for (int i = 0; i < 3 && !list; i++)
        if (jm_json_is_array(jm_json_get(root, key[i]))) {
            list = jm_json_get(root, key[i]);
            which = i;
        }
    const struct jm_json *data = jm_json_get(root, "data");
    if (!list)
        rc = emaps_one(root, jm_json_is_object(data) ? data : root, false, set, from, err);
    for (size_t i = 0; !rc && i < jm_json_len(list); i++)
        rc = emaps_one(root, jm_json_at(list, i), which == 2, set, from, err);
    for (size_t i = from; !rc && i < set->n; i++)
        rc = jm_factor_lasting(&set->f[i], set->f[i].n == 1 ? 60 * MINUTE : 0, err);
    return rc;
}

/* --- prices whose answer does not say of which market they are */

static int nowhere(const char *service, const char *columns, struct jm_err *err)
{
    return jm_err_set(
        err, JM_EUSAGE,
        "%s: the answer does not say of which market its prices are; make a table of it with the columns "
        "zone, start, end, value and unit (%s)",
        service, columns);
}

/* --- UK Carbon Intensity */

static int uk_intervals(const struct jm_json *list, struct jm_factor *f, int depth, struct jm_err *err)
{
    int rc = 0;
    size_t many = jm_json_is_array(list) ? jm_json_len(list) : 1;
    if (depth > 2)
        return jm_err_set(err, JM_EPARSE, "UK Carbon Intensity: lists inside lists");
    for (size_t i = 0; !rc && i < many; i++) {
        const struct jm_json *e = jm_json_is_array(list) ? jm_json_at(list, i) : list,
                             *x = jm_json_get(e, "intensity");
        int64_t t0, t1;
        double v;
        bool actual = true;
        if (jm_json_get(e, "data")) {
            struct jm_span name = text_of(e, "shortname");
            if (name.n && many > 1)
                return jm_err_set(err, JM_EUSAGE,
                                  "UK Carbon Intensity: a reply with several regions; ask for one of them");
            if (name.n)
                snprintf(f->name, sizeof f->name, "%.*s", (int)(name.n > 60 ? 60 : name.n), name.p);
            rc = uk_intervals(jm_json_get(e, "data"), f, depth + 1, err);
            continue;
        }
        if (!x)
            return jm_err_set(err, JM_EPARSE, "UK Carbon Intensity: an entry without \"intensity\"");
        if (!jm_json_num(jm_json_get(x, "actual"), &v) && !jm_json_num(jm_json_get(x, "average"), &v)) {
            actual = false;
            if (!jm_json_num(jm_json_get(x, "forecast"), &v))
                continue; /* both null: missing */
        }
        if (v < 0)
            return jm_err_set(err, JM_EPARSE, "UK Carbon Intensity: an intensity of %g", v);
        rc = time_of(e, "from", &t0, err);
        if (!rc)
            rc = time_of(e, "to", &t1, err);
        if (!rc)
            rc = step(f, t0, t1, v, !actual, err);
    }
    return rc;
}

static int uk(const struct jm_json *root, struct jm_factor_set *set, struct jm_err *err)
{
    struct jm_factor *f = jm_factor_add(set, JM_FACTOR_CARBON, JM_SPAN("GB"));
    if (!f)
        return no_memory(err);
    f->kind = JM_FACTOR_GENERATION;
    snprintf(f->name, sizeof f->name, "Great Britain");
    snprintf(f->unit, sizeof f->unit, "gCO2/kWh");
    snprintf(f->source, sizeof f->source, "Carbon Intensity API, National Energy System Operator");
    snprintf(f->licence, sizeof f->licence, "CC BY 4.0");
    snprintf(f->note, sizeof f->note, "the forecast stands where there is no actual value yet");
    return uk_intervals(jm_json_get(root, "data"), f, 0, err);
}

/* --- WattTime */

static int watttime(const struct jm_json *root, struct jm_factor_set *set, struct jm_err *err)
{
    const struct jm_json *meta = jm_json_get(root, "meta"), *data = jm_json_get(root, "data");
    struct jm_span signal = text_of(meta, "signal_type"), unit = text_of(meta, "units"),
                   zone = text_of(meta, "region"), model = {"", 0};
    double scale = jm_factor_carbon_unit(unit), period = 0;
    bool moer = jm_span_is(signal, "co2_moer"), aoer = jm_span_is(signal, "co2_aoer");
    int rc = 0;
    if (!moer && !aoer)
        return jm_err_set(err, JM_EUSAGE,
                          "WattTime: the signal \"%.*s\" is no carbon intensity of electricity; ask for "
                          "co2_moer (marginal) or co2_aoer (mean)",
                          (int)(signal.n > 40 ? 40 : signal.n), signal.p);
    if (!isfinite(scale))
        return jm_err_set(err, JM_EUSAGE, "WattTime: the reply has no unit that is known (\"%.*s\")",
                          (int)(unit.n > 40 ? 40 : unit.n), unit.p);
    struct jm_factor *f = jm_factor_add(set, JM_FACTOR_CARBON, zone);
    if (!f)
        return no_memory(err);
    f->kind = JM_FACTOR_GENERATION;
    f->marginal = moer;
    jm_json_str(jm_json_path(meta, "model.date"), &model);
    snprintf(f->unit, sizeof f->unit, "gCO2/kWh");
    snprintf(f->source, sizeof f->source, "WattTime, API v3, %s%s%.*s", moer ? "co2_moer" : "co2_aoer",
             model.n ? ", model " : "", (int)(model.n > 24 ? 24 : model.n), model.p);
    bool forecast = jm_json_get(meta, "generated_at") != NULL;
    jm_json_num(jm_json_get(meta, "data_point_period_seconds"), &period);
    int64_t last = period >= 1 && period <= 86400 ? (int64_t)(period * 1e9) : 0;
    for (size_t i = 0; !rc && i < jm_json_len(data); i++) {
        const struct jm_json *e = jm_json_at(data, i);
        int64_t t;
        double v;
        if (!jm_json_num(jm_json_get(e, "value"), &v))
            continue;
        rc = time_of(e, "point_time", &t, err);
        if (!rc)
            rc = step(f, t, last ? t + last : t + 1, scale * v, forecast, err);
    }
    return rc ? rc : jm_factor_lasting(f, f->n == 1 ? 5 * MINUTE : 0, err);
}

/* --- what must not be used */

/* A mix: amounts of sources of energy beside a total. Oil and gas for cars and heating in it make it one of
 * primary energy, whose carbon says nothing about electricity. */
static int mix(const struct jm_json *root, struct jm_err *err)
{
    static const char *const oil[] = {"petroleum", "oil", "oil_TWh"}, *const total[] = {"total", "total_TWh"};
    double t = NAN, o = NAN;
    for (size_t i = 0; i < 3 && !isfinite(o); i++)
        jm_json_num(jm_json_get(root, oil[i]), &o);
    for (size_t i = 0; i < 2 && !isfinite(t); i++)
        jm_json_num(jm_json_get(root, total[i]), &t);
    if (!isfinite(t) || !isfinite(o))
        return 0;
    if (t > 0 && o / t > 0.1)
        return jm_err_set(
            err, JM_EUSAGE,
            "This is a mix of primary energy: %.0f %% of it is oil, which goes into engines and "
            "heating. A carbon intensity of electricity cannot be made of it; give one in "
            "gCO2e/kWh with its year",
            100 * o / t);
    return jm_err_set(err, JM_EUSAGE,
                      "This is a mix of sources without a carbon intensity, and does not say whether of "
                      "electricity; give the intensity in gCO2e/kWh with its year");
}

/* CodeCarbon's table of countries: {"FRA": {"carbon_intensity": 56.039, "year": 2023, "country_name": …}};
 * g/kWh by its documentation, Ember's life-cycle figures by way of Our World in Data. JM_EAGAIN: it is not
 * one. */
static int codecarbon(const struct jm_json *root, struct jm_factor_set *set, struct jm_err *err)
{
    void *it = NULL;
    const char *key;
    const struct jm_json *v;
    size_t from = set->n;
    while (jm_json_next(root, &it, &key, &v)) {
        double g;
        int64_t year = 0;
        if (!jm_json_num(jm_json_get(v, "carbon_intensity"), &g))
            continue;
        if (!jm_json_i64(jm_json_get(v, "year"), &year) || year < 1980 || year > 2100)
            return jm_err_set(err, JM_EUSAGE, "%.40s: a factor without a year is refused", key);
        if (g < 0 || set->n - from >= JM_FACTOR_ZONES)
            return jm_err_set(err, JM_EPARSE, "%.40s: a carbon intensity of %g, or too many countries", key,
                              g);
        if (!(g > 0))
            continue; /* rounded away: missing */
        struct jm_factor *f = jm_factor_add(set, JM_FACTOR_CARBON, jm_span_of(key));
        if (!f)
            return no_memory(err);
        struct jm_span name = text_of(v, "country_name");
        f->kind = JM_FACTOR_LIFECYCLE;
        f->constant = g;
        snprintf(f->name, sizeof f->name, "%.*s", (int)(name.n > 60 ? 60 : name.n), name.p);
        jm_text_plain(f->name, strlen(f->name), false);
        snprintf(f->unit, sizeof f->unit, "gCO2e/kWh");
        snprintf(f->vintage, sizeof f->vintage, "%lld", (long long)year);
        snprintf(f->source, sizeof f->source, "CodeCarbon, from Ember by way of Our World in Data");
    }
    if (set->n > from)
        return 0;
    int rc = 0; /* a mix of each country? */
    for (it = NULL; !rc && jm_json_next(root, &it, &key, &v);)
        if (jm_json_is_object(v) && (rc = mix(v, err)))
            jm_err_prefix(err, "%.40s", key);
    return rc ? rc : JM_EAGAIN;
}

static int refused(const struct jm_json *root, struct jm_err *err)
{
    struct jm_span m = {"", 0};
    if (!jm_json_str(jm_json_get(root, "error"), &m) &&
        !jm_json_str(jm_json_path(root, "error.message"), &m) &&
        !jm_json_str(jm_json_get(root, "message"), &m))
        return mix(root, err);
    char say[161];
    int n = snprintf(say, sizeof say, "%.*s", (int)(m.n > 160 ? 160 : m.n), m.p);
    jm_text_plain(say, (size_t)n, false);
    return jm_err_set(err, JM_EUSAGE, "The service answered with an error instead of data: %s", say);
}

int jm_factor_json(struct jm_span text, struct jm_factor_set *set, struct jm_err *err)
{
    struct jm_json *root = NULL;
    int rc = jm_json_parse(text, &root, err);
    if (rc)
        return rc;
    const struct jm_json *data = jm_json_get(root, "data"),
                         *first = jm_json_is_array(data) ? jm_json_at(data, 0) : data;
    struct jm_span schema = {"", 0};
    if (jm_json_str(jm_json_get(root, "schema"), &schema) && jm_span_is(schema, JM_FACTOR_SCHEMA))
        rc = jm_factor_stored(root, set, err);
    else if (jm_json_get(jm_json_get(root, "meta"), "signal_type"))
        rc = watttime(root, set, err);
    else if (jm_json_get(root, "carbonIntensity") || jm_json_get(root, "history") ||
             jm_json_get(root, "forecast") || jm_json_get(first, "carbonIntensity") ||
             (jm_json_get(root, "zone") && (jm_json_get(root, "value") || jm_json_get(first, "value"))))
        rc = emaps(root, set, err);
    else if (jm_json_get(first, "marketprice"))
        rc = nowhere("aWATTar", "EUR/MWh; start_timestamp and end_timestamp are milliseconds of Unix time",
                     err);
    else if (jm_json_get(root, "unix_seconds") && jm_json_get(root, "price"))
        rc = nowhere("Energy-Charts", "EUR/MWh; unix_seconds is Unix time", err);
    else if (jm_json_get(first, "intensity") || jm_json_get(first, "data"))
        rc = uk(root, set, err);
    else if (jm_json_get(first, "regions"))
        rc = jm_err_set(err, JM_EUSAGE,
                        "UK Carbon Intensity: a reply with several regions; ask for one of them");
    else if ((rc = codecarbon(root, set, err)) == JM_EAGAIN && !(rc = refused(root, err)))
        rc = jm_err_set(err, JM_EPARSE,
                        "JSON of none of the forms that are known (Electricity Maps, UK Carbon Intensity, "
                        "WattTime v3)");
    jm_json_free(root);
    return rc;
}
