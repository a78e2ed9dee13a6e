/* SPDX-License-Identifier: Apache-2.0 */
/* Factors that stand on a command line, and files of them. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"
#include "base/str.h"
#include "factor/factor.h"
#include "wire/factorfile.h"

#include "base/banned.h"

static bool zone_ok(struct jm_span z)
{
    for (size_t i = 0; i < z.n; i++)
        if (!isalnum((unsigned char)z.p[i]) && z.p[i] != '-' && z.p[i] != '_')
            return false;
    return z.n >= 2 && z.n < 32;
}

/* FRA, france → FR; a zone that the table does not know stays as it is. */
static struct jm_span zone_of(struct jm_span z, struct jm_country *c)
{
    return jm_country_find(z, c, NULL) == 0 ? jm_span_of(c->iso2) : z;
}

static void shipped(struct jm_factor *f, const struct jm_country *c)
{
    f->kind = strcmp(c->kind, "life-cycle") == 0   ? JM_FACTOR_LIFECYCLE
              : strcmp(c->kind, "generation") == 0 ? JM_FACTOR_GENERATION
                                                   : JM_FACTOR_UNKNOWN;
    f->constant = c->value;
    snprintf(f->name, sizeof f->name, "%s", c->name);
    snprintf(f->unit, sizeof f->unit, "%s", c->unit);
    snprintf(f->vintage, sizeof f->vintage, "%lld", (long long)c->year);
    snprintf(f->source, sizeof f->source, "%s", c->attribution);
    snprintf(f->licence, sizeof f->licence, "%s", c->licence);
    snprintf(f->note, sizeof f->note, "yearly mean of production in the country, without imports");
}

/* "40g/kWh@2024" → 40, "g/kWh", 2024. year is empty where there is none. */
static int number(struct jm_span s, double *v, struct jm_span *unit, struct jm_span *year)
{
    size_t n = 0;
    ptrdiff_t at = jm_span_chr(s, '@');
    *year = (struct jm_span){"", 0};
    if (at >= 0) {
        *year = jm_span_trim(jm_span_sub(s, (size_t)at + 1, s.n));
        s = jm_span_sub(s, 0, (size_t)at);
    }
    s = jm_span_trim(s);
    while (n < s.n && (isdigit((unsigned char)s.p[n]) || s.p[n] == '.' || (n == 0 && s.p[n] == '-')))
        n++;
    *unit = jm_span_trim(jm_span_sub(s, n, s.n));
    return jm_num_double(jm_span_sub(s, 0, n), v);
}

static bool is_year(struct jm_span y)
{
    int64_t v;
    return jm_num_i64(y, &v) == 0 && v >= 1980 && v <= 2100;
}

static int words(struct jm_span rest, struct jm_factor *f, struct jm_err *err)
{
    struct jm_span w;
    while (jm_span_field(&rest, ':', &w)) {
        w = jm_span_trim(w);
        if (jm_span_is(w, "generation"))
            f->kind = JM_FACTOR_GENERATION;
        else if (jm_span_is(w, "lifecycle") || jm_span_is(w, "life-cycle"))
            f->kind = JM_FACTOR_LIFECYCLE;
        else if (jm_span_is(w, "marginal"))
            f->marginal = true;
        else if (jm_span_is(w, "residual"))
            f->basis = JM_FACTOR_RESIDUAL;
        else if (jm_span_starts(w, JM_SPAN("contract=")) && w.n > 9) {
            f->basis = JM_FACTOR_CONTRACT;
            snprintf(f->contract, sizeof f->contract, "%.*s", (int)(w.n - 9 > 90 ? 90 : w.n - 9), w.p + 9);
            jm_text_plain(f->contract, strlen(f->contract), false);
        } else
            return jm_err_set(
                err, JM_EUSAGE,
                "\"%.*s\" is not one of generation, lifecycle, marginal, residual and contract=ID",
                (int)(w.n > 40 ? 40 : w.n), w.p);
    }
    return 0;
}

static int carbon(struct jm_span item, struct jm_factor_set *set, struct jm_err *err)
{
    struct jm_country c;
    ptrdiff_t eq = jm_span_chr(item, '=');
    if (eq < 0) {
        int rc = jm_country_find(item, &c, err);
        if (rc)
            return JM_EUSAGE;
        if (!isfinite(c.value))
            return jm_err_set(
                err, JM_EUSAGE,
                "%s: the source of the shipped table has no usable value of it; give one, as in "
                "%s=120g/kWh@2024",
                c.name, c.iso2);
        struct jm_factor *f = jm_factor_add(set, JM_FACTOR_CARBON, jm_span_of(c.iso2));
        if (!f)
            return jm_err_set(err, JM_ENOMEM, "out of memory for the factors");
        shipped(f, &c);
        return 0;
    }
    struct jm_span zone = jm_span_trim(jm_span_sub(item, 0, (size_t)eq)),
                   rest = jm_span_sub(item, (size_t)eq + 1, item.n), head, unit, year;
    double v, k;
    jm_span_field(&rest, ':', &head);
    if (!zone_ok(zone) || number(head, &v, &unit, &year) || v < 0)
        return jm_err_set(err, JM_EUSAGE,
                          "\"%.*s\" is no carbon factor like FR or FR=40g/kWh@2024:generation",
                          (int)(item.n > 60 ? 60 : item.n), item.p);
    k = jm_factor_carbon_unit(unit);
    if (!isfinite(k))
        return jm_err_set(err, JM_EUSAGE,
                          unit.n
                              ? "\"%.*s\": its unit is no mass of CO2 per energy; write it like 40g/kWh@2024"
                              : "\"%.*s\": a factor without a unit is refused; write it like 40g/kWh@2024",
                          (int)(item.n > 60 ? 60 : item.n), item.p);
    if (!is_year(year))
        return jm_err_set(err, JM_EUSAGE,
                          "\"%.*s\": a factor without a year is refused; write it like 40g/kWh@2024",
                          (int)(item.n > 60 ? 60 : item.n), item.p);
    struct jm_factor *f = jm_factor_add(set, JM_FACTOR_CARBON, zone_of(zone, &c));
    if (!f)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the factors");
    f->constant = v * k;
    if (jm_country_find(zone, &c, NULL) == 0)
        snprintf(f->name, sizeof f->name, "%s", c.name);
    snprintf(f->unit, sizeof f->unit, "%s",
             jm_span_find(unit, JM_SPAN("e/")) > 0 || jm_span_find(unit, JM_SPAN("eq/")) > 0 ? "gCO2e/kWh"
                                                                                             : "gCO2/kWh");
    snprintf(f->vintage, sizeof f->vintage, "%.*s", (int)year.n, year.p);
    snprintf(f->source, sizeof f->source, "given on the command line");
    return rest.p ? words(rest, f, err) : 0;
}

static int price(struct jm_span item, struct jm_factor_set *set, struct jm_err *err)
{
    ptrdiff_t eq = jm_span_chr(item, '=');
    struct jm_span zone = jm_span_trim(jm_span_sub(item, 0, eq < 0 ? 0 : (size_t)eq)), unit, year;
    struct jm_country c = {0};
    double v, k = 1;
    char cur[4] = "";
    if (eq < 0 || !zone_ok(zone) || number(jm_span_sub(item, (size_t)eq + 1, item.n), &v, &unit, &year))
        return jm_err_set(
            err, JM_EUSAGE,
            "\"%.*s\" is no price like FR=0.058 or DE=91EUR/MWh@2026 (a kilowatt-hour's unless it "
            "says MWh)",
            (int)(item.n > 60 ? 60 : item.n), item.p);
    bool known = jm_country_find(zone, &c, NULL) == 0;
    if (!unit.n && !c.currency[0])
        return jm_err_set(
            err, JM_EUSAGE,
            "\"%.*s\": a price without a currency, and none is assumed for that zone; write it like "
            "0.12USD/kWh",
            (int)(item.n > 60 ? 60 : item.n), item.p);
    snprintf(cur, sizeof cur, "%s", c.currency);
    if (unit.n && !isfinite(k = jm_factor_price_unit(unit, cur)))
        return jm_err_set(err, JM_EUSAGE,
                          "\"%.*s\": its unit is no currency (three letters) per kWh or MWh; write it like "
                          "0.12USD/kWh",
                          (int)(item.n > 60 ? 60 : item.n), item.p);
    if (year.n && !is_year(year))
        return jm_err_set(err, JM_EUSAGE, "\"%.*s\": after @ stands a year like 2026",
                          (int)(item.n > 60 ? 60 : item.n), item.p);
    struct jm_factor *f = jm_factor_add(set, JM_FACTOR_PRICE, known ? jm_span_of(c.iso2) : zone);
    if (!f)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the factors");
    f->constant = v * k;
    snprintf(f->name, sizeof f->name, "%s", c.name);
    snprintf(f->unit, sizeof f->unit, "%s/kWh", cur);
    snprintf(f->vintage, sizeof f->vintage, "%.*s", (int)year.n, year.p);
    snprintf(f->source, sizeof f->source, "given on the command line%s",
             unit.n ? "" : "; currency of the country");
    return 0;
}

static int each(const char *text, struct jm_factor_set *set,
                int (*one)(struct jm_span, struct jm_factor_set *, struct jm_err *), struct jm_err *err)
{
    struct jm_span rest = jm_span_of(text), item;
    int rc = 0;
    while (!rc && jm_span_field(&rest, ',', &item))
        rc = one(jm_span_trim(item), set, err);
    return rc;
}

int jm_factor_carbon_given(const char *text, struct jm_factor_set *set, struct jm_err *err)
{
    return each(text, set, carbon, err);
}

int jm_factor_price_given(const char *text, struct jm_factor_set *set, struct jm_err *err)
{
    return each(text, set, price, err);
}

int jm_factor_open(const char *path, const char *zoneinfo, struct jm_factor_set *set, struct jm_err *err)
{
    struct jm_str s;
    size_t from = set->n;
    struct jm_span name = jm_span_of(path);
    char sha[JM_SHA256_HEX];
    jm_str_init(&s);
    int rc = jm_file_read(path, JM_FACTOR_FILE_MOST, &s, err);
    if (!rc && (jm_span_ends(name, JM_SPAN(".yaml")) || jm_span_ends(name, JM_SPAN(".yml"))))
        rc = jm_factor_tariff(jm_str_span(&s), zoneinfo, set, err);
    else if (!rc)
        rc = jm_factor_file(jm_str_span(&s), set, err);
    if (rc == JM_EPARSE || rc == JM_ECONFLICT || rc == JM_ELIMIT || rc == JM_ERANGE) {
        rc = JM_EUSAGE; /* the file is the user's word, like an option */
        if (err)
            err->code = rc;
    }
    if (rc)
        jm_err_prefix(err, "%s", path);
    jm_sha256_hex(jm_str_span(&s), sha);
    for (size_t i = from; !rc && i < set->n; i++) {
        struct jm_factor *f = &set->f[i];
        struct jm_country c;
        const char *base = strrchr(path, '/');
        if (jm_country_find(jm_span_of(f->zone), &c, NULL) == 0) {
            snprintf(f->zone, sizeof f->zone, "%s", c.iso2);
            if (!f->name[0])
                snprintf(f->name, sizeof f->name, "%s", c.name);
        }
        size_t n = strlen(f->source);
        snprintf(f->source + n, sizeof f->source - n, "%s%.60s, SHA-256 %.16s", n ? "; " : "",
                 base ? base + 1 : path, sha);
        jm_text_plain(f->source, strlen(f->source), false);
    }
    jm_str_release(&s);
    return rc;
}

int jm_factor_check(const struct jm_factor_set *set, struct jm_err *err)
{
    for (size_t i = 0; i < set->n; i++)
        for (size_t k = 0; k < i; k++) {
            const struct jm_factor *a = &set->f[i], *b = &set->f[k];
            if (a->what != b->what || strcmp(a->zone, b->zone) != 0)
                continue;
            if (a->what == JM_FACTOR_CARBON &&
                (a->kind != b->kind || a->basis != b->basis || a->marginal != b->marginal))
                continue;
            bool same = strcmp(a->source, b->source) == 0;
            return jm_err_set(
                err, JM_EUSAGE, "%s: two %s factors of one kind (%s%s%s); leave one of them out", a->zone,
                jm_factor_what_name((int)a->what), same ? "both: " : b->source, same ? "" : "; ", a->source);
        }
    return 0;
}
