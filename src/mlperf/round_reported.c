/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/round_reported.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/num.h"
#include "wire/csv.h"

#include "base/banned.h"

#define MAX_TABLE (16u << 20)

double jm_reported_unit(const char *unit, bool *energy)
{
    static const struct {
        const char *name;
        double factor;
        bool energy;
    } units[] = {{"Watts", 1, false},         {"W", 1, false},   {"Joules", 1, true}, {"J", 1, true},
                 {"millijoules", 1e-3, true}, {"mJ", 1e-3, true}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcasecmp(unit, units[i].name) == 0) {
            *energy = units[i].energy;
            return units[i].factor;
        }
    return 0;
}

static unsigned hash(const char *path)
{
    const char *p = strrchr(path, '/');
    unsigned h = 2166136261u;
    for (p = p ? p + 1 : path; *p; p++)
        h = (h ^ (unsigned)tolower((unsigned char)*p)) * 16777619u;
    return h;
}

static int add(struct jm_reported *t, const char *location, const char *folder, double value,
               const char *unit, struct jm_err *err)
{
    bool energy;
    size_t n = strlen(location);
    if (!n || !isfinite(value) || jm_reported_unit(unit, &energy) == 0)
        return 0;
    if (t->n >= JM_REPORTED_ROWS)
        return jm_err_set(err, JM_ELIMIT, "%s: more than %d rows with power in all tables",
                          t->table[t->n_table - 1], JM_REPORTED_ROWS);
    if (t->n == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 64;
        struct jm_reported_row *more = realloc(t->row, cap * sizeof *more);
        if (!more)
            return jm_err_set(err, JM_ENOMEM, "out of memory for a table of results");
        t->row = more;
        t->cap = cap;
    }
    struct jm_reported_row *r = &t->row[t->n++];
    *r = (struct jm_reported_row){.table = t->table[t->n_table - 1], .value = value};
    snprintf(r->unit, sizeof r->unit, "%s", unit);
    if (!jm_round_set(&r->location, location) || !jm_round_set(&r->folder, folder))
        return jm_err_set(err, JM_ENOMEM, "out of memory for a table of results");
    while (n > 1 && r->location[n - 1] == '/')
        r->location[--n] = '\0';
    r->hash = hash(r->location);
    t->sorted = false;
    return 0;
}

static int from_csv(struct jm_reported *t, struct jm_span text, const char *folder, struct jm_err *err)
{
    enum { COLUMNS = 128 };
    struct jm_csv csv;
    struct jm_csv_field f[COLUMNS];
    size_t n;
    char location[4096], result[64], unit[64], power[16] = "";
    jm_csv_init(&csv, text, ',');
    int rc = jm_csv_row(&csv, f, COLUMNS, &n, err);
    if (rc < 0)
        return rc;
    int at = rc ? jm_csv_find(f, n, "Location") : -1, value = rc ? jm_csv_find(f, n, "Result") : -1;
    int units = rc ? jm_csv_find(f, n, "Units") : -1, has = rc ? jm_csv_find(f, n, "has_power") : -1;
    if (at < 0 || value < 0 || units < 0)
        return jm_err_set(err, JM_EPARSE, "it has no columns Location, Result and Units");
    while ((rc = jm_csv_row(&csv, f, COLUMNS, &n, err)) > 0) {
        double v;
        if ((size_t)at >= n || (size_t)value >= n || (size_t)units >= n)
            continue;
        jm_csv_text(&f[at], location, sizeof location);
        jm_csv_text(&f[value], result, sizeof result);
        jm_csv_text(&f[units], unit, sizeof unit);
        if (has >= 0 && (size_t)has < n)
            jm_csv_text(&f[has], power, sizeof power);
        if (jm_num_double(jm_span_trim(jm_span_of(result)), &v) || strcasecmp(power, "False") == 0)
            continue;
        rc = add(t, location, folder, v, unit, err);
        if (rc)
            return rc;
    }
    return rc;
}

static bool text_of(const struct jm_json *o, const char *key, char *out, size_t cap)
{
    struct jm_span s;
    if (!jm_json_str(jm_json_get(o, key), &s) || s.n >= cap)
        return false;
    snprintf(out, cap, "%.*s", (int)s.n, s.p);
    return true;
}

static int from_json(struct jm_reported *t, struct jm_span text, const char *folder, struct jm_err *err)
{
    struct jm_json *root = NULL;
    char location[4096], unit[64];
    int rc = jm_json_parse(text, &root, err);
    if (!rc && !jm_json_is_array(root))
        rc = jm_err_set(err, JM_EPARSE, "it is no list");
    for (size_t i = 0; !rc && i < jm_json_len(root); i++) {
        const struct jm_json *o = jm_json_at(root, i);
        double v;
        if (jm_json_num(jm_json_get(o, "Power_Result"), &v)) {
            if (text_of(o, "Location", location, sizeof location) &&
                text_of(o, "Power_Units", unit, sizeof unit))
                rc = add(t, location, folder, v, unit, err);
        } else if (jm_json_num(jm_json_get(o, "published"), &v)) {
            if ((text_of(o, "case", location, sizeof location) ||
                 text_of(o, "loc", location, sizeof location)) &&
                text_of(o, "pub_unit", unit, sizeof unit))
                rc = add(t, location, folder, v, unit, err);
        }
    }
    jm_json_free(root);
    return rc;
}

int jm_reported_text(struct jm_reported *t, const char *name, struct jm_span text, bool csv,
                     const char *folder, struct jm_err *err)
{
    char **more = realloc(t->table, (t->n_table + 1) * sizeof *more);
    if (!more)
        return jm_err_set(err, JM_ENOMEM, "out of memory for %s", name);
    t->table = more;
    t->table[t->n_table] = NULL;
    if (!jm_round_set(&t->table[t->n_table++], name))
        return jm_err_set(err, JM_ENOMEM, "out of memory for %s", name);
    int rc = csv ? from_csv(t, text, folder, err) : from_json(t, text, folder, err);
    if (rc)
        jm_err_prefix(err, "%s is no table of published results", name);
    return rc;
}

int jm_reported_read(struct jm_reported *t, const char *path, bool by_hand, struct jm_err *err)
{
    struct jm_str text;
    size_t n = strlen(path);
    char *real = by_hand ? NULL : realpath(path, NULL), *slash = real ? strrchr(real, '/') : NULL;
    if (slash)
        *(slash == real ? slash + 1 : slash) = '\0';
    jm_str_init(&text);
    int rc = jm_file_read(path, MAX_TABLE, &text, err);
    if (!rc)
        rc = jm_reported_text(t, path, jm_str_span(&text), n > 4 && strcasecmp(path + n - 4, ".csv") == 0,
                              real, err);
    jm_str_release(&text);
    free(real);
    return rc;
}

static int by_hash(const void *a, const void *b)
{
    unsigned x = ((const struct jm_reported_row *)a)->hash, y = ((const struct jm_reported_row *)b)->hash;
    return (x > y) - (x < y);
}

/* place ends with the location, a whole number of parts, and lies below the folder. */
static bool speaks_of(const struct jm_reported_row *x, const char *place)
{
    size_t n = strlen(place), m = strlen(x->location), f = x->folder ? strlen(x->folder) : 0;
    if (m > n || strcasecmp(place + n - m, x->location) != 0 || (m < n && place[n - m - 1] != '/'))
        return false;
    return !f || (f < n && strncmp(place, x->folder, f) == 0 && (place[f] == '/' || x->folder[f - 1] == '/'));
}

/* Half a unit of the last digit that was printed. */
static double last_digit(double v)
{
    char text[32];
    jm_json_fmt_double(text, v);
    const char *e = strpbrk(text, "eE"), *dot = strchr(text, '.');
    int64_t exponent = 0;
    size_t digits = dot ? (e ? (size_t)(e - dot) : strlen(dot)) - 1 : 0;
    if (e)
        jm_num_i64(jm_span_of(e[1] == '+' ? e + 2 : e + 1), &exponent);
    if (digits == 1 && dot[1] == '0') /* 560.0 is a whole number */
        digits = 0;
    return 0.5 * pow(10, (double)exponent - (double)digits);
}

int jm_reported_match(struct jm_reported *t, struct jm_round_row *r, struct jm_err *err)
{
    const struct jm_reported_row *best = NULL;
    bool energy = false, ours_energy = false;
    if (!t->n || !r->place)
        return 0;
    if (!t->sorted)
        qsort(t->row, t->n, sizeof *t->row, by_hash);
    t->sorted = true;
    unsigned want = hash(r->place);
    size_t lo = 0, hi = t->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (t->row[mid].hash < want)
            lo = mid + 1;
        else
            hi = mid;
    }
    size_t near = 0;
    for (size_t i = lo; i < t->n && t->row[i].hash == want; i++) {
        const struct jm_reported_row *x = &t->row[i];
        size_t here = x->folder ? strlen(x->folder) + 1 : SIZE_MAX; /* by hand before all */
        if (!speaks_of(x, r->place) || (best && here < near))
            continue;
        if (best && here == near && strcmp(x->table, best->table) > 0)
            continue;
        best = x;
        near = here;
    }
    if (!best)
        return 0;
    r->reported = best->value;
    snprintf(r->reported_unit, sizeof r->reported_unit, "%s", best->unit);
    double f = jm_reported_unit(best->unit, &energy), g = jm_reported_unit(r->metric_unit, &ours_energy);
    if (g != 0 && energy == ours_energy && best->value != 0) {
        double theirs = best->value * f, ours = r->metric * g;
        r->reported_off = ours / theirs - 1;
        r->reported_agrees = fabs(ours - theirs) <= fmax(1e-9 * fabs(theirs), f * last_digit(best->value));
    }
    return jm_round_set(&r->reported_from, best->table)
               ? 0
               : jm_err_set(err, JM_ENOMEM, "out of memory for a published value");
}

void jm_reported_release(struct jm_reported *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free(t->row[i].location);
        free(t->row[i].folder);
    }
    for (size_t i = 0; i < t->n_table; i++)
        free(t->table[i]);
    free(t->row);
    free(t->table);
    *t = (struct jm_reported){0};
}
