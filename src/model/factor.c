/* SPDX-License-Identifier: Apache-2.0 */
#include "model/factor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"

#include "base/banned.h"

const char *jm_factor_what_name(int v)
{
    static const char *const name[] = {"price", "carbon", "water"};
    return v >= 0 && v < JM_FACTOR_WHATS ? name[v] : NULL;
}

const char *jm_factor_kind_name(int v)
{
    static const char *const name[] = {"unknown", "generation", "life-cycle"};
    return v >= 0 && v < JM_FACTOR_KINDS ? name[v] : NULL;
}

const char *jm_factor_basis_name(int v)
{
    static const char *const name[] = {"location", "contract", "residual-mix"};
    return v >= 0 && v < JM_FACTOR_BASES ? name[v] : NULL;
}

struct jm_factor *jm_factor_add(struct jm_factor_set *s, enum jm_factor_what what, struct jm_span zone)
{
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 8;
        struct jm_factor *f = realloc(s->f, cap * sizeof *f);
        if (!f)
            return NULL;
        s->f = f;
        s->cap = cap;
    }
    struct jm_factor *f = &s->f[s->n++];
    *f = (struct jm_factor){.what = what, .constant = NAN, .year_mean = NAN};
    snprintf(f->zone, sizeof f->zone, "%.*s", (int)(zone.n < sizeof f->zone ? zone.n : sizeof f->zone - 1),
             zone.p ? zone.p : "");
    jm_text_plain(f->zone, strlen(f->zone), false);
    return f;
}

void jm_factor_set_release(struct jm_factor_set *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->f[i].step);
    free(s->f);
    *s = (struct jm_factor_set){0};
}

int jm_factor_step_add(struct jm_factor *f, int64_t t0, int64_t t1, double value, bool estimated)
{
    if (t1 <= t0 || !isfinite(value))
        return JM_EINVAL;
    if (f->n >= JM_FACTOR_STEPS)
        return JM_ELIMIT;
    if (f->n == f->cap) {
        size_t cap = f->cap ? 2 * f->cap : 32;
        struct jm_factor_step *s = realloc(f->step, cap * sizeof *s);
        if (!s)
            return JM_ENOMEM;
        f->step = s;
        f->cap = cap;
    }
    f->step[f->n++] = (struct jm_factor_step){t0, t1, value, estimated};
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct jm_factor_step *x = a, *y = b;
    int d = (x->t0 > y->t0) - (x->t0 < y->t0);
    return d ? d : (x->t1 > y->t1) - (x->t1 < y->t1);
}

int jm_factor_done(struct jm_factor *f, struct jm_err *err)
{
    size_t n = 0;
    char a[JM_RFC3339_SIZE], b[JM_RFC3339_SIZE];
    if (f->n)
        qsort(f->step, f->n, sizeof *f->step, by_time);
    for (size_t i = 0; i < f->n; i++) {
        struct jm_factor_step *last = n ? &f->step[n - 1] : NULL, *s = &f->step[i];
        bool same = last && last->t0 == s->t0 && last->t1 == s->t1 && !(last->value < s->value) &&
                    !(last->value > s->value);
        if (same) {
            last->estimated &= s->estimated;
            continue;
        }
        if (last && s->t0 < last->t1)
            return jm_err_set(
                err, JM_ECONFLICT, "%s of %s: from %.16sZ two rows say %.6g and %.6g; leave one of them out",
                jm_factor_what_name((int)f->what), f->zone, jm_time_rfc3339(s->t0, a), last->value, s->value);
        f->step[n++] = *s;
    }
    f->n = n;
    if (n && !f->vintage[0]) {
        jm_time_rfc3339(f->step[0].t0, a);
        jm_time_rfc3339(f->step[n - 1].t1 - 1, b);
        if (memcmp(a, b, 10) == 0)
            snprintf(f->vintage, sizeof f->vintage, "%.10s", a);
        else
            snprintf(f->vintage, sizeof f->vintage, "%.10s to %.10s", a, b);
    }
    return 0;
}

size_t jm_factor_at(const struct jm_factor *f, int64_t t)
{
    size_t lo = 0, hi = f->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (f->step[mid].t1 <= t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void jm_factor_mean(const struct jm_factor *f, int64_t t0, int64_t t1, struct jm_factor_mean *out)
{
    *out = (struct jm_factor_mean){.value = NAN, .missing = t0};
    if (isfinite(f->constant)) {
        *out = (struct jm_factor_mean){f->constant, 1, 0, t1};
        return;
    }
    if (t1 <= t0)
        return;
    double sum = 0, got = 0, est = 0;
    int64_t at = t0;
    bool hole = false;
    for (size_t i = jm_factor_at(f, t0); i < f->n && f->step[i].t0 < t1; i++) {
        const struct jm_factor_step *s = &f->step[i];
        int64_t a = s->t0 > t0 ? s->t0 : t0, b = s->t1 < t1 ? s->t1 : t1;
        if (a > at && !hole) {
            hole = true;
            out->missing = at;
        }
        sum += s->value * (double)(b - a);
        got += (double)(b - a);
        est += s->estimated ? (double)(b - a) : 0;
        at = b;
    }
    if (!hole)
        out->missing = at;
    hole |= at < t1;
    out->covered = got / (double)(t1 - t0);
    out->estimated = got > 0 ? est / got : 0;
    if (!hole && got > 0)
        out->value = sum / got;
}

const char *jm_factor_scope2(const struct jm_factor *f)
{
    if (f->what != JM_FACTOR_CARBON)
        return "it is no carbon factor";
    if (f->marginal)
        return "the factor is marginal: scope 2 takes the mean of the grid";
    if (f->kind == JM_FACTOR_LIFECYCLE)
        return "the factor is a life-cycle one: scope 2 takes generation factors";
    if (f->kind != JM_FACTOR_GENERATION)
        return "the factor does not say whether it is of generation or of the life cycle";
    return NULL;
}

static bool take(struct jm_span *s, const char *word)
{
    size_t n = strlen(word);
    if (s->n < n || !jm_span_ieq(jm_span_sub(*s, 0, n), jm_span_of(word)))
        return false;
    *s = jm_span_sub(*s, n, s->n - n);
    return true;
}

/* kWh per unit of energy behind the stroke; 0: not one. */
static double per_kwh(struct jm_span s)
{
    s = jm_span_trim(s);
    if (s.n > 3 && (s.p[s.n - 1] == 'e') && jm_span_ieq(jm_span_sub(s, s.n - 3, 2), JM_SPAN("Wh")))
        s.n--; /* MWhe: of electricity */
    if (jm_span_ieq(s, JM_SPAN("kwh")))
        return 1;
    if (jm_span_is(s, "MWh") || jm_span_is(s, "mwh") || jm_span_is(s, "MWH"))
        return 1e3;
    return jm_span_ieq(s, JM_SPAN("gwh")) ? 1e6 : 0;
}

double jm_factor_carbon_unit(struct jm_span unit)
{
    static const struct {
        const char *name;
        double g;
    } mass[] = {{"grams", 1},    {"kg", 1e3}, {"lbs", 453.59237}, {"lb", 453.59237},
                {"tonnes", 1e6}, {"g", 1},    {"t", 1e6}};
    static const char *const gas[] = {"CO2eq", "CO2e", "CO2", "CO₂eq", "CO₂e", "CO₂"};
    struct jm_span s = jm_span_trim(unit);
    double g = 0;
    for (size_t i = 0; !(g > 0) && i < sizeof mass / sizeof *mass; i++)
        if (take(&s, mass[i].name))
            g = mass[i].g;
    if (!(g > 0))
        return NAN;
    while (s.n && (s.p[0] == ' ' || s.p[0] == '_'))
        s = jm_span_sub(s, 1, s.n - 1);
    for (size_t i = 0; i < sizeof gas / sizeof *gas; i++)
        if (take(&s, gas[i]))
            break;
    while (s.n && (s.p[0] == ' ' || s.p[0] == '_'))
        s = jm_span_sub(s, 1, s.n - 1);
    if (!take(&s, "/") && !take(&s, "per_") && !take(&s, "per "))
        return NAN;
    double kwh = per_kwh(s);
    return kwh > 0 ? g / kwh : NAN;
}

double jm_factor_price_unit(struct jm_span unit, char currency[4])
{
    struct jm_span s = jm_span_trim(unit);
    double part = 1;
    if (take(&s, "€")) {
        snprintf(currency, 4, "EUR");
    } else if (take(&s, "£")) {
        snprintf(currency, 4, "GBP");
    } else if (take(&s, "euro")) {
        snprintf(currency, 4, "EUR");
    } else if (s.n >= 3 && s.p[0] >= 'A' && s.p[0] <= 'Z' && s.p[1] >= 'A' && s.p[1] <= 'Z' &&
               s.p[2] >= 'A' && s.p[2] <= 'Z') {
        snprintf(currency, 4, "%.3s", s.p);
        s = jm_span_sub(s, 3, s.n - 3);
    } else {
        return NAN;
    }
    s = jm_span_trim(s);
    if (!s.n)
        return part;
    if (!take(&s, "/") && !take(&s, "per "))
        return NAN;
    double kwh = per_kwh(s);
    return kwh > 0 ? part / kwh : NAN;
}

int jm_factor_time(struct jm_span s, bool utc, int64_t *real_ns, struct jm_err *err)
{
    char buf[48];
    struct jm_span t = jm_span_trim(s);
    /* the length of the date and the time of day before a zone */
    size_t n = 0, zone;
    while (n < t.n && (n < 16 ? true : (t.p[n] == ':' || t.p[n] == '.' || (t.p[n] >= '0' && t.p[n] <= '9'))))
        n++;
    zone = t.n - n;
    if (n < 16 || n > 32 || zone > 6 || (!zone && !utc))
        return jm_err_set(err, JM_EPARSE,
                          "\"%.*s\" is not a time like 2026-03-29T01:00Z, in UTC or with its offset",
                          (int)(t.n > 40 ? 40 : t.n), t.p ? t.p : "");
    int len = snprintf(buf, sizeof buf, "%.*s%s%.*s", (int)n, t.p, n == 16 ? ":00" : "", zone ? (int)zone : 1,
                       zone ? t.p + n : "Z");
    int rc = jm_time_parse_rfc3339((struct jm_span){buf, (size_t)len}, real_ns, err);
    /* within these years no sum or difference of two times overflows */
    if (!rc && (*real_ns < jm_time_unix(1980, 1, 1, 0, 0, 0) * JM_NS_PER_S ||
                *real_ns >= jm_time_unix(2100, 1, 1, 0, 0, 0) * JM_NS_PER_S))
        rc = jm_err_set(err, JM_EPARSE, "\"%.*s\": no factor is of that year", (int)(t.n > 40 ? 40 : t.n),
                        t.p);
    return rc;
}

bool jm_factor_same_zone(const char *a, const char *b)
{
    size_t n = strcspn(a, "-"), m = strcspn(b, "-");
    if (strcmp(a, b) == 0)
        return true;
    return n == m && memcmp(a, b, n) == 0 && (!a[n] || !b[m]);
}
