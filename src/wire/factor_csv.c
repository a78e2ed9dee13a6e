/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of factors: our own form, and those that Electricity Maps, Ember and Our World in Data give away. A
 * header names the columns; their order is free. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/str.h"
#include "wire/csv.h"
#include "wire/factorfile.h"

#include "base/banned.h"

#define COLUMNS 160
#define MOST    1e6 /* g, L or money a kWh; lignite emits 1,000 g */

enum column {
    C_ZONE,
    C_START,
    C_END,
    C_YEAR,
    C_VALUE,
    C_UNIT,
    C_WHAT,
    C_KIND,
    C_BASIS,
    C_MARGINAL,
    C_SOURCE,
    C_LICENCE,
    C_CONTRACT,
    C_ESTIMATED,
    C_VARIABLE, /* of Ember: what the row is of */
    C_DIRECT,   /* of Electricity Maps: values whose unit and kind the header says */
    C_LIFE,
    C_NAME,
    C_COUNT
};

/* Names that a column goes by, the best first. */
static const struct {
    enum column c;
    const char *name;
} names[] = {{C_ZONE, "zone"},
             {C_ZONE, "zone id"},
             {C_ZONE, "zone_id"},
             {C_ZONE, "iso 3 code"},
             {C_ZONE, "iso_code"},
             {C_ZONE, "iso3"},
             {C_ZONE, "code"},
             {C_ZONE, "country_code"},
             {C_START, "start"},
             {C_START, "from"},
             {C_START, "time"},
             {C_START, "datetime (utc)"},
             {C_START, "datetime"},
             {C_START, "timestamp"},
             {C_END, "end"},
             {C_END, "to"},
             {C_YEAR, "year"},
             {C_VALUE, "value"},
             {C_UNIT, "unit"},
             {C_WHAT, "what"},
             {C_KIND, "kind"},
             {C_BASIS, "basis"},
             {C_MARGINAL, "marginal"},
             {C_SOURCE, "source"},
             {C_LICENCE, "licence"},
             {C_LICENCE, "license"},
             {C_CONTRACT, "contract"},
             {C_ESTIMATED, "estimated"},
             {C_ESTIMATED, "data estimated"},
             {C_VARIABLE, "variable"},
             {C_LIFE, "carbon_intensity_elec"},
             {C_NAME, "country"},
             {C_NAME, "area"},
             {C_NAME, "entity"},
             {C_NAME, "name"}};

struct table {
    struct jm_csv csv;
    int at[C_COUNT]; /* column, -1: none */
    bool utc;        /* times without a zone are in UTC: the header says so */
    const char *source, *licence;
};

static struct jm_span of(const struct table *t, const struct jm_csv_field *f, size_t n, enum column c)
{
    return t->at[c] >= 0 && (size_t)t->at[c] < n ? jm_span_trim(f[t->at[c]].raw) : (struct jm_span){"", 0};
}

static bool has(struct jm_span s, const char *word)
{
    struct jm_span w = jm_span_of(word);
    for (size_t i = 0; i + w.n <= s.n; i++)
        if (jm_span_ieq(jm_span_sub(s, i, w.n), w))
            return true;
    return false;
}

/* A table of amounts by source is a mix; with oil in it very likely one of primary energy. */
static int no_value(const struct jm_csv_field *f, size_t n, struct jm_err *err)
{
    bool coal = false, oil = false;
    for (size_t i = 0; i < n; i++) {
        coal |= has(f[i].raw, "coal");
        oil |= has(f[i].raw, "oil") || has(f[i].raw, "petroleum");
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

static int header(struct table *t, struct jm_err *err)
{
    struct jm_csv_field f[COLUMNS];
    size_t n = 0;
    int rc;
    do /* lines of comment above it */
        rc = jm_csv_row(&t->csv, f, COLUMNS, &n, err);
    while (rc == 1 && n && (!f[0].raw.n || f[0].raw.p[0] == '#'));
    if (rc <= 0)
        return rc ? rc : jm_err_set(err, JM_EPARSE, "the table is empty");
    for (int c = 0; c < C_COUNT; c++)
        t->at[c] = -1;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (size_t i = 0; t->at[names[k].c] < 0 && i < n; i++)
            if (jm_span_ieq(jm_span_trim(f[i].raw), jm_span_of(names[k].name)))
                t->at[names[k].c] = (int)i;
    for (size_t i = 0; i < n; i++) {
        struct jm_span s = jm_span_trim(f[i].raw);
        t->utc |= has(s, "(utc)");
        if (!has(s, "carbon intensity") || (!has(s, "gCO2") && !has(s, "gCO₂")))
            continue;
        enum column c = has(s, "direct") ? C_DIRECT : C_LIFE;
        if (t->at[c] < 0)
            t->at[c] = (int)i;
    }
    if (t->at[C_DIRECT] >= 0 || (t->at[C_LIFE] >= 0 && t->utc)) {
        t->source = "Electricity Maps, downloaded table";
        t->licence = "ODbL";
    } else if (t->at[C_LIFE] >= 0) {
        t->source = "Our World in Data, from Ember, yearly electricity data";
        t->licence = "CC BY 4.0";
    } else if (t->at[C_VARIABLE] >= 0) {
        t->source = "Ember, yearly electricity data";
        t->licence = "CC BY 4.0";
    }
    if (t->at[C_VALUE] < 0 && t->at[C_LIFE] < 0 && t->at[C_DIRECT] < 0)
        return no_value(f, n, err);
    if (t->at[C_VALUE] >= 0 && t->at[C_LIFE] < 0 && t->at[C_UNIT] < 0)
        return jm_err_set(err, JM_EUSAGE,
                          "a factor without a unit is refused: the table has no column \"unit\" (gCO2e/kWh, "
                          "EUR/MWh, L/kWh)");
    if (t->at[C_YEAR] < 0 && t->at[C_START] < 0)
        return jm_err_set(err, JM_EUSAGE,
                          "a factor without a year is refused: the table has neither a column \"year\" nor "
                          "\"start\"");
    return 0;
}

static int where(const struct table *t, struct jm_err *err, int code, const char *what)
{
    return jm_err_set(err, code, "line %lld: %s", (long long)t->csv.line, what);
}

struct row {
    struct jm_span zone, unit, year;
    enum jm_factor_what what;
    enum jm_factor_kind kind;
    enum jm_factor_basis basis;
    bool marginal, estimated;
};

static int words(const struct table *t, const struct jm_csv_field *f, size_t n, struct row *r,
                 struct jm_err *err)
{
    struct jm_span what = of(t, f, n, C_WHAT), kind = of(t, f, n, C_KIND), basis = of(t, f, n, C_BASIS),
                   m = of(t, f, n, C_MARGINAL), e = of(t, f, n, C_ESTIMATED);
    *r = (struct row){.zone = of(t, f, n, C_ZONE),
                      .unit = of(t, f, n, C_UNIT),
                      .year = of(t, f, n, C_YEAR),
                      .what = JM_FACTOR_CARBON};
    if (!what.n || jm_span_is(what, "carbon"))
        r->what = JM_FACTOR_CARBON;
    else if (jm_span_is(what, "price"))
        r->what = JM_FACTOR_PRICE;
    else if (jm_span_is(what, "water"))
        r->what = JM_FACTOR_WATER;
    else
        return where(t, err, JM_EUSAGE, "what is carbon, price or water");
    if (!what.n && t->at[C_UNIT] >= 0) { /* a unit of money says it too */
        char cur[4];
        if (isfinite(jm_factor_price_unit(r->unit, cur)))
            r->what = JM_FACTOR_PRICE;
    }
    if (jm_span_is(kind, "generation") || jm_span_is(kind, "direct"))
        r->kind = JM_FACTOR_GENERATION;
    else if (jm_span_is(kind, "life-cycle") || jm_span_is(kind, "lifecycle"))
        r->kind = JM_FACTOR_LIFECYCLE;
    else if (kind.n)
        return where(t, err, JM_EUSAGE, "kind is generation or life-cycle");
    if (t->at[C_VARIABLE] >= 0)
        r->kind = JM_FACTOR_LIFECYCLE;
    if (jm_span_is(basis, "contract") || jm_span_is(basis, "market"))
        r->basis = JM_FACTOR_CONTRACT;
    else if (jm_span_is(basis, "residual-mix") || jm_span_is(basis, "residual"))
        r->basis = JM_FACTOR_RESIDUAL;
    else if (basis.n && !jm_span_is(basis, "location"))
        return where(t, err, JM_EUSAGE, "basis is location, contract or residual-mix");
    r->marginal = jm_span_ieq(m, JM_SPAN("true")) || jm_span_is(m, "1") || jm_span_ieq(m, JM_SPAN("yes"));
    r->estimated = jm_span_ieq(e, JM_SPAN("true")) || jm_span_is(e, "1") || jm_span_ieq(e, JM_SPAN("yes"));
    return r->zone.n ? 0 : where(t, err, JM_EUSAGE, "a factor without a zone");
}

/* Into g/kWh, currency/kWh or L/kWh; unit is what the factor shows. */
static double scale(const struct row *r, char unit[24])
{
    char cur[4] = "";
    double k = NAN;
    if (r->what == JM_FACTOR_CARBON) {
        k = jm_factor_carbon_unit(r->unit);
        snprintf(unit, 24, "%s", has(r->unit, "CO2e") || has(r->unit, "CO₂e") ? "gCO2e/kWh" : "gCO2/kWh");
    } else if (r->what == JM_FACTOR_PRICE) {
        k = jm_factor_price_unit(r->unit, cur);
        snprintf(unit, 24, "%s/kWh", cur);
    } else {
        k = jm_span_ieq(r->unit, JM_SPAN("l/kwh")) || jm_span_ieq(r->unit, JM_SPAN("m3/mwh")) ? 1 : NAN;
        snprintf(unit, 24, "L/kWh");
    }
    return k;
}

static struct jm_factor *like(struct jm_factor_set *set, size_t from, const struct row *r, bool yearly)
{
    for (size_t i = set->n; i > from; i--) {
        struct jm_factor *f = &set->f[i - 1];
        if (f->what == r->what && f->kind == r->kind && f->basis == r->basis && f->marginal == r->marginal &&
            yearly == isfinite(f->constant) && jm_span_is(r->zone, f->zone))
            return f;
    }
    return NULL;
}

static void copy(char *to, size_t cap, const struct jm_csv_field *f, size_t n, int at, const char *else_)
{
    if (at >= 0 && (size_t)at < n && f[at].raw.n) {
        jm_csv_text(&f[at], to, cap);
        jm_text_plain(to, strlen(to), false);
    } else if (!to[0] && else_) {
        snprintf(to, cap, "%s", else_);
    }
}

static int take(struct table *t, const struct jm_csv_field *f, size_t n, const struct row *r, double v,
                const char *unit, struct jm_factor_set *set, size_t from, struct jm_err *err)
{
    struct jm_span start = of(t, f, n, C_START), end = of(t, f, n, C_END);
    int64_t year = 0, old = 0, t0 = 0, t1;
    if (!start.n && !r->year.n)
        return where(t, err, JM_EUSAGE, "a factor without a year is refused");
    if (!start.n && (jm_num_i64(r->year, &year) || year < 1980 || year > 2100))
        return where(t, err, JM_EUSAGE, "a year is a number like 2025");
    if (!isfinite(v) || fabs(v) > MOST)
        return where(t, err, JM_EUSAGE, "a factor above a million a kWh; is its unit right?");
    if (r->what != JM_FACTOR_PRICE && v < 0)
        return where(t, err, JM_EUSAGE, "a factor of less than nothing");
    if (r->basis == JM_FACTOR_CONTRACT && !of(t, f, n, C_CONTRACT).n)
        return where(t, err, JM_EUSAGE,
                     "a market-based factor needs its contract or certificate in the column \"contract\"");
    struct jm_factor *x = like(set, from, r, !start.n);
    if (x && !start.n) {
        if (jm_num_i64(jm_span_of(x->vintage), &old) == 0 && old >= year)
            return old == year ? where(t, err, JM_ECONFLICT, "this zone and year is there twice") : 0;
    } else if (!x) {
        if (set->n - from >= JM_FACTOR_ZONES)
            return jm_err_set(err, JM_ELIMIT, "more than %d zones in one file", JM_FACTOR_ZONES);
        x = jm_factor_add(set, r->what, r->zone);
    }
    if (!x)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the factors");
    if (start.n && r->what == JM_FACTOR_PRICE && x->unit[0] && strcmp(x->unit, unit) != 0)
        return jm_err_set(
            err, JM_ECONFLICT,
            "line %lld: the price of %s is in %s in the rows before and in %s here; give all of "
            "it in one currency",
            (long long)t->csv.line, x->zone, x->unit, unit);
    x->kind = r->kind;
    x->basis = r->basis;
    x->marginal = r->marginal;
    snprintf(x->unit, sizeof x->unit, "%s", unit);
    copy(x->name, sizeof x->name, f, n, t->at[C_NAME], NULL);
    copy(x->source, sizeof x->source, f, n, t->source ? -1 : t->at[C_SOURCE], t->source);
    copy(x->licence, sizeof x->licence, f, n, t->at[C_LICENCE], t->licence);
    copy(x->contract, sizeof x->contract, f, n, t->at[C_CONTRACT], NULL);
    if (!start.n) {
        x->constant = v;
        snprintf(x->vintage, sizeof x->vintage, "%lld", (long long)year);
        return 0;
    }
    int rc = jm_factor_time(start, t->utc, &t0, err);
    t1 = t0 + 1;
    if (!rc && end.n)
        rc = jm_factor_time(end, t->utc, &t1, err);
    if (rc)
        return jm_err_prefix(err, "line %lld", (long long)t->csv.line);
    rc = jm_factor_step_add(x, t0, t1, v, r->estimated);
    return rc == JM_ENOMEM   ? jm_err_set(err, rc, "out of memory for the factors")
           : rc == JM_ELIMIT ? jm_err_set(err, rc, "more than %zu values of one factor", JM_FACTOR_STEPS)
           : rc              ? where(t, err, JM_EPARSE, "an interval that ends before it begins")
                             : 0;
}

static int one(struct table *t, const struct jm_csv_field *f, size_t n, struct jm_factor_set *set,
               size_t from, struct jm_err *err)
{
    struct row r;
    double v, k;
    char unit[24] = "gCO2e/kWh";
    struct jm_span var = of(t, f, n, C_VARIABLE);
    if (t->at[C_VARIABLE] >= 0 && (!jm_span_is(var, "CO2 intensity") || !of(t, f, n, C_ZONE).n))
        return 0; /* Ember's table has much else, and groups of countries without a code */
    if (t->source && !of(t, f, n, C_ZONE).n)
        return 0;
    int rc = words(t, f, n, &r, err);
    if (rc)
        return rc;
    for (int c = C_DIRECT; c <= C_LIFE; c++) {
        struct jm_span s = of(t, f, n, (enum column)c);
        if (rc || !s.n)
            continue; /* missing */
        r.kind = c == C_DIRECT ? JM_FACTOR_GENERATION : JM_FACTOR_LIFECYCLE;
        rc = jm_num_double(s, &v) ? where(t, err, JM_EPARSE, "a carbon intensity that is no number")
                                  : take(t, f, n, &r, v, unit, set, from, err);
    }
    if (rc || t->at[C_DIRECT] >= 0 || t->at[C_LIFE] >= 0)
        return rc;
    struct jm_span s = of(t, f, n, C_VALUE);
    if (!s.n || jm_span_is(s, "-"))
        return 0; /* missing */
    if (jm_num_double(s, &v))
        return where(t, err, JM_EPARSE, "a value that is no number");
    if (!r.unit.n)
        return where(t, err, JM_EUSAGE, "a factor without a unit is refused");
    k = scale(&r, unit);
    if (!isfinite(k))
        return jm_err_set(err, JM_EUSAGE,
                          "line %lld: \"%.*s\" is no unit of a %s%s; known are gCO2e/kWh, kg/MWh, lb/MWh, "
                          "EUR/kWh, EUR/MWh and L/kWh",
                          (long long)t->csv.line, (int)(r.unit.n > 24 ? 24 : r.unit.n), r.unit.p,
                          jm_factor_what_name((int)r.what),
                          has(r.unit, "Wh") && !has(r.unit, "/") ? " (an amount of energy is no factor)"
                                                                 : "");
    return take(t, f, n, &r, v * k, unit, set, from, err);
}

int jm_factor_csv(struct jm_span text, struct jm_factor_set *set, struct jm_err *err)
{
    struct table t = {0};
    struct jm_csv_field f[COLUMNS];
    size_t n, from = set->n;
    struct jm_span eol = text, first;
    jm_span_line(&eol, &first);
    bool tab = first.n && jm_span_chr(first, '\t') >= 0 && jm_span_chr(first, ',') < 0,
         semi = first.n && jm_span_chr(first, ';') >= 0 && jm_span_chr(first, ',') < 0;
    jm_csv_init(&t.csv, text, tab ? '\t' : semi ? ';' : ',');
    int rc = header(&t, err), more = 1;
    while (!rc && (more = jm_csv_row(&t.csv, f, COLUMNS, &n, err)) == 1)
        if (!(n == 1 && !jm_span_trim(f[0].raw).n) && !(f[0].raw.n && f[0].raw.p[0] == '#'))
            rc = one(&t, f, n, set, from, err);
    if (!rc && more < 0)
        rc = more;
    for (size_t i = from; !rc && i < set->n; i++)
        rc = jm_factor_lasting(&set->f[i], 0, err);
    if (!rc && set->n == from)
        rc = jm_err_set(err, JM_EPARSE, "the table has no row with a value");
    return rc;
}
