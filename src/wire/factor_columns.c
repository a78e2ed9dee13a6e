/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a table of factors: what each column is, and what the names of columns say of unit, clock,
 * zone and source. */
#include <math.h>
#include <stdio.h>

#include "wire/factor_columns.h"

#include "base/banned.h"

/* Names that a column goes by, the best first. */
static const struct {
    enum jm_factor_column c;
    const char *name;
} names[] = {{JM_FC_ZONE, "zone"},
             {JM_FC_ZONE, "zone id"},
             {JM_FC_ZONE, "zone_id"},
             {JM_FC_ZONE, "iso 3 code"},
             {JM_FC_ZONE, "iso_code"},
             {JM_FC_ZONE, "iso3"},
             {JM_FC_ZONE, "code"},
             {JM_FC_ZONE, "country_code"},
             {JM_FC_ZONE, "iso3 code"},
             {JM_FC_ZONE, "pricearea"},
             {JM_FC_ZONE, "area"}, /* of ENTSO-E; Ember's tables have a code before it */
             {JM_FC_START, "start"},
             {JM_FC_START, "from"},
             {JM_FC_START, "time"},
             {JM_FC_START, "datetime (utc)"},
             {JM_FC_START, "datetime"},
             {JM_FC_START, "timestamp"},
             {JM_FC_START, "mtu (utc)"},
             {JM_FC_START, "mtu (cet/cest)"},
             {JM_FC_START, "time (utc)"},
             {JM_FC_START, "time (cet/cest)"},
             {JM_FC_START, "hourutc"},
             {JM_FC_START, "timeutc"},
             {JM_FC_START, "minutes5utc"},
             {JM_FC_START, "datum von"}, /* of SMARD */
             {JM_FC_START, "date"},
             {JM_FC_END, "end"},
             {JM_FC_END, "to"},
             {JM_FC_END, "datum bis"},
             {JM_FC_YEAR, "year"},
             {JM_FC_VALUE, "value"},
             {JM_FC_UNIT, "unit"},
             {JM_FC_WHAT, "what"},
             {JM_FC_KIND, "kind"},
             {JM_FC_BASIS, "basis"},
             {JM_FC_MARGINAL, "marginal"},
             {JM_FC_SOURCE, "source"},
             {JM_FC_LICENCE, "licence"},
             {JM_FC_LICENCE, "license"},
             {JM_FC_CONTRACT, "contract"},
             {JM_FC_ESTIMATED, "estimated"},
             {JM_FC_ESTIMATED, "data estimated"},
             {JM_FC_VARIABLE, "variable"},
             {JM_FC_LIFE, "carbon_intensity_elec"},
             {JM_FC_NAME, "country"},
             {JM_FC_NAME, "area"},
             {JM_FC_NAME, "entity"},
             {JM_FC_NAME, "name"},
             {JM_FC_SEQUENCE, "sequence"}};

/* Columns of Energinet's Energi Data Service, whose unit its documentation says. */
static const struct {
    const char *name, *unit;
} known[] = {{"SpotPriceEUR", "EUR/MWh"}, {"DayAheadPriceEUR", "EUR/MWh"}, {"CO2Emission", "g/kWh"}};
#define ENERGINET "Energi Data Service, Energinet"

/* A table of amounts by source is a mix; with oil in it very likely one of primary energy. */
static int no_value(const struct jm_csv_field *f, size_t n, struct jm_err *err)
{
    bool coal = false, oil = false;
    for (size_t i = 0; i < n; i++) {
        coal |= jm_span_ihas(f[i].raw, "coal");
        oil |= jm_span_ihas(f[i].raw, "oil") || jm_span_ihas(f[i].raw, "petroleum");
    }
    if (coal && oil)
        return jm_err_set(
            err, JM_EUSAGE,
            "this is a mix of sources, oil among them, and may well be of primary energy; a carbon "
            "intensity of electricity is not made of it. Give one in gCO2e/kWh with its year");
    return jm_err_set(
        err, JM_EPARSE,
        "the table has no column \"value\" (with \"zone\", \"unit\", and \"year\" or \"start\")");
}

/* "Price (EUR/MWhe)", "Day-ahead Price [EUR/MWh]": what stands in the brackets, where it is a unit of a
 * factor. */
static bool unit_in(struct jm_span s, struct jm_span *unit)
{
    char currency[4];
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '(' && s.p[i] != '[')
            continue;
        struct jm_span in = jm_span_sub(s, i + 1, s.n - i - 1);
        ptrdiff_t end = jm_span_chr(in, s.p[i] == '(' ? ')' : ']');
        if (end <= 0)
            continue;
        in.n = (size_t)end;
        if (jm_span_chr(in, '/') > 0 &&
            (isfinite(jm_factor_price_unit(in, currency)) || isfinite(jm_factor_carbon_unit(in)))) {
            *unit = in;
            return true;
        }
    }
    return false;
}

/* The value's column by the unit in its name. Of ENTSO-E's prices that of the day ahead. */
static void by_unit(struct jm_factor_table *t, const struct jm_csv_field *f, size_t n)
{
    for (size_t i = 0; i < n && t->at[JM_FC_VALUE] < 0; i++) {
        struct jm_span s = jm_span_trim(f[i].raw);
        if (jm_span_ihas(s, "intraday") || !unit_in(s, &t->unit))
            continue;
        t->at[JM_FC_VALUE] = (int)i;
        if (jm_span_ihas(s, "MWhe")) {
            t->source = "Ember, European wholesale electricity prices";
            t->licence = "CC BY 4.0";
            t->note = "wholesale: without grid fees, taxes and margin";
        } else if (jm_span_ihas(s, "Deutschland/Luxemburg")) {
            t->source = "SMARD, Bundesnetzagentur, day-ahead prices";
            t->licence = "CC BY 4.0";
            t->note = "wholesale: without grid fees, taxes and margin";
            snprintf(t->zone, sizeof t->zone, "DE-LU");
        } else if (jm_span_ihas(s, "day-ahead price")) {
            t->source = "ENTSO-E transparency platform, day-ahead prices, downloaded table";
            t->note = "wholesale: without grid fees, taxes and margin";
        }
    }
    for (size_t k = 0; k < sizeof known / sizeof *known && t->at[JM_FC_VALUE] < 0; k++)
        for (size_t i = 0; i < n && t->at[JM_FC_VALUE] < 0; i++)
            if (jm_span_ieq(jm_span_trim(f[i].raw), jm_span_of(known[k].name))) {
                t->at[JM_FC_VALUE] = (int)i;
                t->unit = jm_span_of(known[k].unit);
                t->source = ENERGINET;
            }
}

int jm_factor_header(struct jm_factor_table *t, struct jm_err *err)
{
    struct jm_csv_field f[JM_FACTOR_COLUMNS];
    size_t n = 0;
    int rc;
    do /* lines of comment above it */
        rc = jm_csv_row(&t->csv, f, JM_FACTOR_COLUMNS, &n, err);
    while (rc == 1 && n && (!f[0].raw.n || f[0].raw.p[0] == '#'));
    if (rc <= 0)
        return rc ? rc : jm_err_set(err, JM_EPARSE, "the table is empty");
    for (int c = 0; c < JM_FC_COUNT; c++)
        t->at[c] = -1;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (size_t i = 0; t->at[names[k].c] < 0 && i < n; i++)
            if (jm_span_ieq(jm_span_trim(f[i].raw), jm_span_of(names[k].name)))
                t->at[names[k].c] = (int)i;
    for (size_t i = 0; i < n; i++) {
        struct jm_span s = jm_span_trim(f[i].raw);
        t->utc |= jm_span_ihas(s, "(utc)");
        if (jm_span_starts(s, JM_SPAN("BZN|")) || jm_span_starts(s, JM_SPAN("CTY|")))
            snprintf(t->zone, sizeof t->zone, "%.*s", (int)(s.n > 35 ? 31 : s.n - 4), s.p + 4);
        if (!jm_span_ihas(s, "carbon intensity") || (!jm_span_ihas(s, "gCO2") && !jm_span_ihas(s, "gCO₂")))
            continue;
        enum jm_factor_column c = jm_span_ihas(s, "direct") ? JM_FC_DIRECT : JM_FC_LIFE;
        if (t->at[c] < 0)
            t->at[c] = (int)i;
    }
    if (t->at[JM_FC_START] >= 0) {
        struct jm_span s = jm_span_trim(f[t->at[JM_FC_START]].raw);
        t->clock = jm_span_ihas(s, "cet/cest") || jm_span_ihas(s, "datum von")           ? JM_FACTOR_EUROPE
                   : jm_span_ihas(s, "utc") || t->utc || jm_span_ieq(s, JM_SPAN("date")) ? JM_FACTOR_UTC
                                                                                         : JM_FACTOR_OFFSET;
    }
    if (t->at[JM_FC_VALUE] < 0 && t->at[JM_FC_DIRECT] < 0 && t->at[JM_FC_LIFE] < 0 &&
        t->at[JM_FC_VARIABLE] < 0)
        by_unit(t, f, n);
    if (t->at[JM_FC_DIRECT] >= 0 || (t->at[JM_FC_LIFE] >= 0 && t->utc)) {
        t->source = "Electricity Maps, downloaded table";
        t->licence = "ODbL";
    } else if (t->at[JM_FC_LIFE] >= 0) {
        t->source = "Our World in Data, from Ember, yearly electricity data";
        t->licence = "CC BY 4.0";
    } else if (t->at[JM_FC_VARIABLE] >= 0) {
        t->source =
            t->at[JM_FC_YEAR] >= 0 ? "Ember, yearly electricity data" : "Ember, monthly electricity data";
        t->licence = "CC BY 4.0";
    }
    if (t->at[JM_FC_VALUE] < 0 && t->at[JM_FC_LIFE] < 0 && t->at[JM_FC_DIRECT] < 0)
        return no_value(f, n, err);
    if (t->at[JM_FC_VALUE] >= 0 && t->at[JM_FC_LIFE] < 0 && t->at[JM_FC_UNIT] < 0 && !t->unit.n)
        return jm_err_set(err, JM_EUSAGE,
                          "a factor without a unit is refused: the table has no column \"unit\" (gCO2e/kWh, "
                          "EUR/MWh, L/kWh)");
    if (t->at[JM_FC_YEAR] < 0 && t->at[JM_FC_START] < 0)
        return jm_err_set(err, JM_EUSAGE,
                          "a factor without a year is refused: the table has neither a column \"year\" nor "
                          "\"start\"");
    return 0;
}
