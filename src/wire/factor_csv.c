/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of factors: our own form, and those that Electricity Maps, ENTSO-E, Ember, Energinet and Our World
 * in Data give away. A header names the columns; their order is free. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/str.h"
#include "wire/factor_columns.h"

#include "base/banned.h"

#define MOST 1e6 /* g, L or money a kWh; lignite emits 1,000 g */

static struct jm_span of(const struct jm_factor_table *t, const struct jm_csv_field *f, size_t n,
                         enum jm_factor_column c)
{
    return t->at[c] >= 0 && (size_t)t->at[c] < n ? jm_span_trim(f[t->at[c]].raw) : (struct jm_span){"", 0};
}

static int where(const struct jm_factor_table *t, struct jm_err *err, int code, const char *what)
{
    return jm_err_set(err, code, "line %lld: %s", (long long)t->csv.line, what);
}

struct row {
    struct jm_span zone, unit, year;
    enum jm_factor_what what;
    enum jm_factor_kind kind;
    enum jm_factor_basis basis;
    bool marginal, estimated;
    char part[8]; /* zone of a country, as we write it */
};

static int words(const struct jm_factor_table *t, const struct jm_csv_field *f, size_t n, struct row *r,
                 struct jm_err *err)
{
    struct jm_span what = of(t, f, n, JM_FC_WHAT), kind = of(t, f, n, JM_FC_KIND),
                   basis = of(t, f, n, JM_FC_BASIS), m = of(t, f, n, JM_FC_MARGINAL),
                   e = of(t, f, n, JM_FC_ESTIMATED);
    struct jm_span zone = of(t, f, n, JM_FC_ZONE);
    if (!zone.n)
        zone = jm_span_of(t->zone);
    if (jm_span_starts(zone, JM_SPAN("BZN|")) || jm_span_starts(zone, JM_SPAN("CTY|")))
        zone = jm_span_sub(zone, 4, zone.n - 4);
    *r = (struct row){.zone = zone,
                      .unit = t->unit.n ? t->unit : of(t, f, n, JM_FC_UNIT),
                      .year = of(t, f, n, JM_FC_YEAR),
                      .what = JM_FACTOR_CARBON};
    if (t->source && zone.n == 3 && zone.p[2] >= '1' && zone.p[2] <= '9') { /* DK1 is DK-1, a part of DK */
        snprintf(r->part, sizeof r->part, "%.2s-%c", zone.p, zone.p[2]);
        r->zone = jm_span_of(r->part);
    }
    if (!what.n || jm_span_is(what, "carbon"))
        r->what = JM_FACTOR_CARBON;
    else if (jm_span_is(what, "price"))
        r->what = JM_FACTOR_PRICE;
    else if (jm_span_is(what, "water"))
        r->what = JM_FACTOR_WATER;
    else
        return where(t, err, JM_EUSAGE, "what is carbon, price or water");
    if (!what.n && r->unit.n) { /* a unit of money says it too */
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
    if (t->at[JM_FC_VARIABLE] >= 0)
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
        snprintf(unit, 24, "%s",
                 jm_span_ihas(r->unit, "CO2e") || jm_span_ihas(r->unit, "CO₂e") ? "gCO2e/kWh" : "gCO2/kWh");
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

/* Time of a row. The rows of a zone follow each other, which tells the hour that a clock shows twice. */
static int when(struct jm_factor_table *t, struct jm_span zone, struct jm_span start, int64_t *t0,
                int64_t *t1, struct jm_err *err)
{
    size_t i = 0;
    while (i < t->n_last && !jm_span_is(zone, t->last[i].zone))
        i++;
    if (i == t->n_last && i < JM_FACTOR_CLOCKS && zone.n < sizeof t->last[i].zone) {
        snprintf(t->last[i].zone, sizeof t->last[i].zone, "%.*s", (int)zone.n, zone.p);
        t->last[t->n_last++].t = INT64_MIN;
    }
    int rc = jm_factor_when(start, t->clock, i < t->n_last ? t->last[i].t : INT64_MIN, t0, t1, err);
    if (!rc && i < t->n_last)
        t->last[i].t = *t0;
    return rc;
}

/* A number; where fields are parted by a semicolon or a tab it may have a decimal comma. */
static int number(const struct jm_factor_table *t, struct jm_span s, double *v)
{
    char buf[64];
    size_t k = 0;
    bool comma = t->comma && jm_span_chr(s, ',') >= 0;
    for (size_t i = 0; comma && i < s.n && k < sizeof buf; i++)
        if (s.p[i] != '.') /* parts thousands there */
            buf[k++] = s.p[i] == ',' ? '.' : s.p[i];
    return jm_num_double(comma ? (struct jm_span){buf, k} : s, v);
}

/* What tables write where there is no value. */
static bool missing(struct jm_span s)
{
    static const char *const word[] = {"-", "n/e", "n/a", "na", "nan", "null", "none"};
    bool is = !s.n;
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        is |= jm_span_ieq(s, jm_span_of(word[i]));
    return is;
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

static int take(struct jm_factor_table *t, const struct jm_csv_field *f, size_t n, const struct row *r,
                double v, const char *unit, struct jm_factor_set *set, size_t from, struct jm_err *err)
{
    struct jm_span start = of(t, f, n, JM_FC_START), end = of(t, f, n, JM_FC_END);
    int64_t year = 0, old = 0, t0 = 0, t1;
    if (!start.n && !r->year.n)
        return where(t, err, JM_EUSAGE, "a factor without a year is refused");
    if (!start.n && (jm_num_i64(r->year, &year) || year < 1980 || year > 2100))
        return where(t, err, JM_EUSAGE, "a year is a number like 2025");
    if (!isfinite(v) || fabs(v) > MOST)
        return where(t, err, JM_EUSAGE, "a factor above a million a kWh; is its unit right?");
    if (r->what != JM_FACTOR_PRICE && v < 0)
        return where(t, err, JM_EUSAGE, "a factor of less than nothing");
    if (r->basis == JM_FACTOR_CONTRACT && !of(t, f, n, JM_FC_CONTRACT).n)
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
    copy(x->name, sizeof x->name, f, n, t->at[JM_FC_NAME], NULL);
    copy(x->source, sizeof x->source, f, n, t->source ? -1 : t->at[JM_FC_SOURCE], t->source);
    copy(x->licence, sizeof x->licence, f, n, t->at[JM_FC_LICENCE], t->licence);
    copy(x->contract, sizeof x->contract, f, n, t->at[JM_FC_CONTRACT], NULL);
    if (t->note)
        snprintf(x->note, sizeof x->note, "%s", t->note);
    if (!start.n) {
        x->constant = v;
        snprintf(x->vintage, sizeof x->vintage, "%lld", (long long)year);
        return 0;
    }
    char both[96]; /* by a clock that falls back the two ends are told together */
    bool local = t->clock == JM_FACTOR_EUROPE && end.n && start.n + end.n < sizeof both - 4;
    int n_both =
        local ? snprintf(both, sizeof both, "%.*s - %.*s", (int)start.n, start.p, (int)end.n, end.p) : 0;
    int rc = when(t, r->zone, local ? (struct jm_span){both, (size_t)n_both} : start, &t0, &t1, err);
    if (!rc && end.n && !local)
        rc = jm_factor_time(end, t->utc, &t1, err);
    if (rc)
        return jm_err_prefix(err, "line %lld", (long long)t->csv.line);
    rc = jm_factor_step_add(x, t0, t1, v, r->estimated);
    return rc == JM_ENOMEM   ? jm_err_set(err, rc, "out of memory for the factors")
           : rc == JM_ELIMIT ? jm_err_set(err, rc, "more than %zu values of one factor", JM_FACTOR_STEPS)
           : rc              ? where(t, err, JM_EPARSE, "an interval that ends before it begins")
                             : 0;
}

/* Ember's names of the variable through the years. */
static bool intensity(struct jm_span variable)
{
    return jm_span_ieq(variable, JM_SPAN("CO2 intensity")) ||
           jm_span_ieq(variable, JM_SPAN("Emissions intensity")) ||
           jm_span_ieq(variable, JM_SPAN("Carbon intensity"));
}

/* "Sequence 2" is another auction than the market's coupling. */
static bool other_auction(struct jm_span s)
{
    return s.n && s.p[s.n - 1] >= '2' && s.p[s.n - 1] <= '9' && jm_span_ihas(s, "sequence");
}

static int one(struct jm_factor_table *t, const struct jm_csv_field *f, size_t n, struct jm_factor_set *set,
               size_t from, struct jm_err *err)
{
    struct row r;
    double v, k;
    char unit[24] = "gCO2e/kWh";
    if (t->at[JM_FC_VARIABLE] >= 0 && (!intensity(of(t, f, n, JM_FC_VARIABLE)) || !of(t, f, n, JM_FC_ZONE).n))
        return 0; /* Ember's table has much else, and groups of countries without a code */
    if (t->source && !of(t, f, n, JM_FC_ZONE).n && !t->zone[0])
        return 0;
    if (other_auction(of(t, f, n, JM_FC_SEQUENCE)))
        return 0;
    int rc = words(t, f, n, &r, err);
    if (rc)
        return rc;
    for (int c = JM_FC_DIRECT; c <= JM_FC_LIFE; c++) {
        struct jm_span s = of(t, f, n, (enum jm_factor_column)c);
        if (rc || missing(s))
            continue;
        r.kind = c == JM_FC_DIRECT ? JM_FACTOR_GENERATION : JM_FACTOR_LIFECYCLE;
        rc = number(t, s, &v) ? where(t, err, JM_EPARSE, "a carbon intensity that is no number")
                              : take(t, f, n, &r, v, unit, set, from, err);
    }
    if (rc || t->at[JM_FC_DIRECT] >= 0 || t->at[JM_FC_LIFE] >= 0)
        return rc;
    struct jm_span s = of(t, f, n, JM_FC_VALUE);
    if (missing(s)) {
        struct jm_err none = {0};
        int64_t t0, t1;
        if (t->clock == JM_FACTOR_EUROPE) /* the hour that is there twice is told by the rows before */
            when(t, r.zone, of(t, f, n, JM_FC_START), &t0, &t1, &none);
        return 0;
    }
    if (number(t, s, &v))
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
                          jm_span_ihas(r.unit, "Wh") && !jm_span_ihas(r.unit, "/")
                              ? " (an amount of energy is no factor)"
                              : "");
    return take(t, f, n, &r, v * k, unit, set, from, err);
}

int jm_factor_csv(struct jm_span text, struct jm_factor_set *set, struct jm_err *err)
{
    struct jm_factor_table t = {0};
    struct jm_csv_field f[JM_FACTOR_COLUMNS];
    size_t n, from = set->n;
    struct jm_span rest = text, first = {"", 0};
    while (jm_span_line(&rest, &first) && (!jm_span_trim(first).n || jm_span_trim(first).p[0] == '#'))
        ;
    size_t by[3] = {0}; /* whatever parts most fields of the header */
    static const char parts[] = ",;\t";
    for (size_t i = 0; i < first.n; i++)
        for (int k = 0; k < 3; k++)
            by[k] += first.p[i] == parts[k];
    int sep = by[1] > by[0] ? (by[2] > by[1] ? 2 : 1) : by[2] > by[0] ? 2 : 0;
    t.comma = sep != 0;
    jm_csv_init(&t.csv, text, parts[sep]);
    int rc = jm_factor_header(&t, err), more = 1;
    while (!rc && (more = jm_csv_row(&t.csv, f, JM_FACTOR_COLUMNS, &n, err)) == 1)
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
