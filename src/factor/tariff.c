/* SPDX-License-Identifier: Apache-2.0 */
/* A time-of-use tariff: prices by local clock, day of the week and month, laid out over one year of UTC, so
 * that the days on which clocks change are as long as they are. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/num.h"
#include "base/yamljson.h"
#include "factor/factor.h"

#include "base/banned.h"

#define PERIODS 24
#define MINUTES 1440

struct tariff {
    struct jm_factor *f;
    double price[PERIODS];
    char name[PERIODS][32];
    int n;
    int grain;                        /* minutes: no price changes but at a multiple of it */
    unsigned char at[12][7][MINUTES]; /* 1 + index of the period; 0: none. Monday is 0 */
};

static int clock_of(const struct jm_json *o, const char *key, int *minute, struct jm_err *err)
{
    struct jm_span s;
    int64_t h = -1, m = -1;
    if (!jm_json_str(jm_json_get(o, key), &s) || s.n != 5 || s.p[2] != ':' ||
        jm_num_i64(jm_span_sub(s, 0, 2), &h) || jm_num_i64(jm_span_sub(s, 3, 2), &m) || h < 0 || m < 0 ||
        m > 59 || h * 60 + m > MINUTES)
        return jm_err_set(err, JM_EUSAGE, "%s: takes a time of day like 22:30", key);
    *minute = (int)(h * 60 + m);
    return 0;
}

/* "mon-fri", "sat,sun", "all" → bits; months "1-3,11" likewise. */
static int bits(struct jm_span text, const char *const *names, int n, const char *key, unsigned *out,
                struct jm_err *err)
{
    struct jm_span rest = text, item;
    *out = 0;
    if (jm_span_is(text, "all")) {
        *out = (1u << n) - 1;
        return 0;
    }
    while (jm_span_field(&rest, ',', &item)) {
        struct jm_span to = jm_span_trim(item), from;
        int a = -1, b = -1;
        jm_span_field(&to, '-', &from);
        if (!to.p)
            to = from;
        for (int i = 0; i < n; i++) {
            a = jm_span_ieq(jm_span_trim(from), jm_span_of(names[i])) ? i : a;
            b = jm_span_ieq(jm_span_trim(to), jm_span_of(names[i])) ? i : b;
        }
        if (a < 0 || b < 0)
            return jm_err_set(err, JM_EUSAGE,
                              "%s: \"%.*s\" is not understood; write mon-fri or sat,sun, or 1-3,11", key,
                              (int)(text.n > 40 ? 40 : text.n), text.p);
        for (int i = a;; i = (i + 1) % n) {
            *out |= 1u << i;
            if (i == b)
                break;
        }
    }
    return 0;
}

static int some(const struct jm_json *o, const char *key, const char *const *names, int n, unsigned *out,
                struct jm_err *err)
{
    struct jm_span s = JM_SPAN("all");
    char buf[8];
    double v;
    const struct jm_json *j = jm_json_get(o, key);
    if (jm_json_num(j, &v)) { /* a single month reads as a number */
        int len = snprintf(buf, sizeof buf, "%.0f", v);
        s = (struct jm_span){buf, (size_t)len};
    } else if (j && !jm_json_str(j, &s)) {
        return jm_err_set(err, JM_EUSAGE, "%s: is no text", key);
    }
    return bits(s, names, n, key, out, err);
}

static int known(const struct jm_json *o, const char *const *keys, struct jm_err *err)
{
    void *it = NULL;
    const char *key;
    const struct jm_json *v;
    while (jm_json_next(o, &it, &key, &v)) {
        bool ok = false;
        for (const char *const *k = keys; *k; k++)
            ok |= strcmp(*k, key) == 0;
        if (!ok)
            return jm_err_set(err, JM_EUSAGE, "a tariff has no key \"%.40s\"", key);
    }
    return 0;
}

static int common(int a, int b)
{
    while (b) {
        int r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static int period(struct tariff *t, const struct jm_json *o, double scale, struct jm_err *err)
{
    static const char *const keys[] = {"name", "price", "from", "to", "days", "months", NULL};
    static const char *const day[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
    static const char *const month[] = {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"};
    struct jm_span name = JM_SPAN("?");
    unsigned days, months;
    int from = 0, to = MINUTES, rc = known(o, keys, err);
    double v;
    if (rc)
        return rc;
    if (t->n == PERIODS)
        return jm_err_set(err, JM_ELIMIT, "more than %d periods in one tariff", PERIODS);
    jm_json_str(jm_json_get(o, "name"), &name);
    snprintf(t->name[t->n], sizeof t->name[0], "%.*s", (int)(name.n > 30 ? 30 : name.n), name.p);
    if (!jm_json_num(jm_json_get(o, "price"), &v))
        return jm_err_set(err, JM_EUSAGE, "period %s: has no price", t->name[t->n]);
    t->price[t->n] = v * scale;
    if (jm_json_get(o, "from") || jm_json_get(o, "to"))
        rc = clock_of(o, "from", &from, err) ? JM_EUSAGE : clock_of(o, "to", &to, err);
    if (!rc)
        rc = some(o, "days", day, 7, &days, err);
    if (!rc)
        rc = some(o, "months", month, 12, &months, err);
    if (!rc && from == to)
        rc = jm_err_set(err, JM_EUSAGE, "from and to are the same time; leave both out for the whole day");
    if (rc)
        return jm_err_prefix(err, "period %s", t->name[t->n]);
    t->grain = common(common(t->grain, from), to);
    for (int m = 0; m < 12; m++)
        for (int d = 0; d < 7; d++)
            for (int k = 0; k < MINUTES; k++) {
                bool in = from < to ? k >= from && k < to : k >= from || k < to;
                if (!in || !(months >> m & 1) || !(days >> d & 1))
                    continue;
                if (t->at[m][d][k])
                    return jm_err_set(
                        err, JM_EUSAGE, "periods %s and %s: both say what %s %02d:%02d in month %d costs",
                        t->name[t->at[m][d][k] - 1], t->name[t->n], day[d], k / 60, k % 60, m + 1);
                t->at[m][d][k] = (unsigned char)(t->n + 1);
            }
    t->n++;
    return 0;
}

static int complete(const struct tariff *t, struct jm_err *err)
{
    static const char *const day[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                      "Friday", "Saturday", "Sunday"};
    for (int m = 0; m < 12; m++)
        for (int d = 0; d < 7; d++)
            for (int k = 0; k < MINUTES; k++)
                if (!t->at[m][d][k])
                    return jm_err_set(err, JM_EUSAGE,
                                      "no period says what %s %02d:%02d in month %d costs; a price that is "
                                      "missing is not 0",
                                      day[d], k / 60, k % 60, m + 1);
    return 0;
}

static double price_at(const struct tariff *t, const struct jm_tz *z, int64_t unix_s)
{
    int64_t local = unix_s + jm_tz_offset(z, unix_s);
    struct jm_civil c = jm_time_civil(local);
    int64_t day = local >= 0 ? local / 86400 : -((86399 - local) / 86400);
    int weekday = (int)((day + 3) % 7); /* 1970-01-01 was a Thursday; Monday is 0 */
    return t->price[t->at[c.month - 1][weekday < 0 ? weekday + 7 : weekday][c.hour * 60 + c.minute] - 1];
}

/* The local year, in steps of a quarter of an hour (all zones of today change at one) or less where a period
 * needs it. */
static int lay_out(struct tariff *t, const struct jm_tz *z, int year, struct jm_err *err)
{
    int64_t a = jm_time_unix(year, 1, 1, 0, 0, 0), b = jm_time_unix(year + 1, 1, 1, 0, 0, 0), from;
    int64_t grain = 60 * (int64_t)t->grain;
    double sum = 0, now;
    a -= jm_tz_offset(z, a);
    b -= jm_tz_offset(z, b);
    from = a;
    now = price_at(t, z, a);
    for (int64_t s = a; s < b; s += grain) {
        double v = s + grain < b ? price_at(t, z, s + grain) : NAN;
        if (v >= now && v <= now)
            continue;
        int rc = jm_factor_step_add(t->f, from * JM_NS_PER_S, (s + grain) * JM_NS_PER_S, now, false);
        if (rc)
            return jm_err_set(err, rc, "out of memory for the tariff");
        sum += now * (double)(s + grain - from);
        from = s + grain;
        now = v;
    }
    t->f->year_mean = sum / (double)(b - a);
    return 0;
}

static int zone_file(const char *dir, struct jm_span name, struct jm_tz *z, struct jm_err *err)
{
    struct jm_str path, text;
    if (jm_span_is(name, "UTC")) {
        *z = (struct jm_tz){.has_rule = 1};
        return 0;
    }
    if (!name.n || name.n > 64 || name.p[0] == '/' || jm_span_find(name, JM_SPAN("..")) >= 0)
        return jm_err_set(err, JM_EUSAGE, "time-zone: takes a name of the tz database like Europe/Paris");
    jm_str_init(&path);
    jm_str_init(&text);
    jm_str_addf(&path, "%s/%.*s", dir ? dir : "/usr/share/zoneinfo", (int)name.n, name.p);
    int rc = jm_str_ok(&path, "the time zone", err);
    if (!rc)
        rc = jm_file_read_regular(path.buf, JM_TZ_MOST, &text, err);
    if (rc == JM_EABSENT)
        rc = jm_err_set(
            err, JM_EUSAGE,
            "time-zone: \"%.*s\" is not in the tz database of this machine (%s); is the package tzdata "
            "installed, is it a name like Europe/Paris?",
            (int)name.n, name.p, path.buf);
    if (!rc)
        rc = jm_tz_file(jm_str_span(&text), z, err);
    jm_str_release(&path);
    jm_str_release(&text);
    return rc;
}

static int fill(struct tariff *t, const struct jm_json *o, const char *zoneinfo, struct jm_err *err)
{
    static const char *const keys[] = {"zone",    "time-zone", "unit",    "year",
                                       "periods", "source",    "licence", NULL};
    struct jm_span unit = {"", 0}, zone = {"", 0}, source = {"", 0};
    const struct jm_json *list = jm_json_get(o, "periods");
    struct jm_tz z = {0};
    char cur[4] = "";
    int64_t year = 0;
    int rc = known(o, keys, err);
    jm_json_str(jm_json_get(o, "unit"), &unit);
    double scale = jm_factor_price_unit(unit, cur);
    if (!rc && !isfinite(scale))
        rc = jm_err_set(
            err, JM_EUSAGE,
            "unit: a price without a unit is refused; write EUR/kWh or EUR/MWh (three letters of a "
            "currency)");
    if (!rc && (!jm_json_i64(jm_json_get(o, "year"), &year) || year < 1980 || year > 2098))
        rc =
            jm_err_set(err, JM_EUSAGE, "year: a price without a year is refused; write the year it holds in");
    if (!rc && !jm_json_str(jm_json_get(o, "time-zone"), &zone))
        rc = jm_err_set(err, JM_EUSAGE,
                        "time-zone: a tariff by the clock needs one, like Europe/Paris (or UTC)");
    if (!rc && !jm_json_len(list))
        rc = jm_err_set(err, JM_EUSAGE, "periods: there are none");
    for (size_t i = 0; !rc && i < jm_json_len(list); i++)
        rc = period(t, jm_json_at(list, i), scale, err);
    if (!rc)
        rc = complete(t, err);
    if (!rc)
        rc = zone_file(zoneinfo, zone, &z, err);
    if (!rc)
        rc = lay_out(t, &z, (int)year, err);
    jm_tz_release(&z);
    if (rc)
        return rc;
    jm_json_str(jm_json_get(o, "source"), &source);
    snprintf(t->f->unit, sizeof t->f->unit, "%s/kWh", cur);
    snprintf(t->f->vintage, sizeof t->f->vintage, "%lld", (long long)year);
    snprintf(t->f->source, sizeof t->f->source, "%.*s", (int)(source.n > 160 ? 160 : source.n), source.p);
    snprintf(t->f->note, sizeof t->f->note, "time of use, %.*s, %d periods", (int)zone.n, zone.p, t->n);
    return 0;
}

int jm_factor_tariff(struct jm_span yaml, const char *zoneinfo, struct jm_factor_set *set, struct jm_err *err)
{
    struct jm_str json;
    struct jm_json *root = NULL;
    struct jm_span zone = {"", 0};
    struct tariff *t = calloc(1, sizeof *t);
    if (t)
        t->grain = 15;
    size_t from = set->n;
    jm_str_init(&json);
    int rc = t ? jm_yaml_json(yaml, &json, err) : jm_err_set(err, JM_ENOMEM, "out of memory for the tariff");
    if (!rc)
        rc = jm_json_parse(jm_str_span(&json), &root, err);
    if (!rc && !jm_json_str(jm_json_get(root, "zone"), &zone))
        rc = jm_err_set(err, JM_EUSAGE, "zone: a price needs the zone that it holds in, like FR");
    if (!rc && !(t->f = jm_factor_add(set, JM_FACTOR_PRICE, zone)))
        rc = jm_err_set(err, JM_ENOMEM, "out of memory for the tariff");
    if (!rc)
        rc = fill(t, root, zoneinfo, err);
    while (rc && set->n > from)
        free(set->f[--set->n].step);
    jm_json_free(root);
    jm_str_release(&json);
    free(t);
    return rc;
}
