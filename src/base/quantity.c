/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities are a number and a unit, nothing else: no default unit, because "30" has been seconds and
 * milliseconds in one and the same tool chain. Units keep their case: mW is not MW. */
#include <math.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/option.h"

#include "base/banned.h"

struct unit {
    const char *name;
    double factor;
};

static int shown(struct jm_span s)
{
    return (int)(s.n > 60 ? 60 : s.n);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Length of the number at the start of s: digits, one point, and an exponent where one is allowed. */
static size_t number_len(struct jm_span s, bool exponent)
{
    size_t i = 0, digits = 0;
    while (i < s.n && is_digit(s.p[i]))
        i++, digits++;
    if (i < s.n && s.p[i] == '.') {
        i++;
        while (i < s.n && is_digit(s.p[i]))
            i++, digits++;
    }
    if (!digits)
        return 0;
    if (exponent && i + 1 < s.n && (s.p[i] == 'e' || s.p[i] == 'E')) {
        size_t j = i + 1;
        if (j + 1 < s.n && (s.p[j] == '-' || s.p[j] == '+'))
            j++;
        if (is_digit(s.p[j])) {
            while (j < s.n && is_digit(s.p[j]))
                j++;
            i = j;
        }
    }
    return i;
}

static struct jm_span skip_blanks(struct jm_span s)
{
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = jm_span_sub(s, 1, s.n);
    return s;
}

/* Durations are exact: nanoseconds as an integer, never through a double. */
static const struct {
    const char *name;
    int64_t ns;
} durations[] = {{"ns", 1},
                 {"us", 1000},
                 {"\xc2\xb5s", 1000},
                 {"\xce\xbcs", 1000},
                 {"ms", 1000000},
                 {"s", JM_NS_PER_S},
                 {"m", 60 * JM_NS_PER_S},
                 {"min", 60 * JM_NS_PER_S},
                 {"h", 3600 * JM_NS_PER_S},
                 {"d", 86400 * JM_NS_PER_S}};

__extension__ typedef __int128 wide;

/* number × unit in ns, rounded to the nearest; JM_ERANGE when it does not fit or rounds a positive number to
 * 0. */
static int scaled(struct jm_span num, int64_t unit, int64_t *out)
{
    wide whole = 0;
    size_t i = 0;
    for (; i < num.n && num.p[i] != '.'; i++) {
        whole = whole * 10 + (num.p[i] - '0');
        if (whole > INT64_MAX)
            return JM_ERANGE;
    }
    /* the fraction's digits beyond the 18th cannot move the nearest nanosecond of a day */
    wide frac = 0, scale = 1;
    bool any = whole > 0;
    for (i++; i < num.n; i++) {
        any |= num.p[i] != '0';
        if (scale < (wide)1000000000 * 1000000000) {
            frac = frac * 10 + (num.p[i] - '0');
            scale *= 10;
        }
    }
    wide v = whole * unit + (frac * unit + scale / 2) / scale;
    if (v > INT64_MAX || (any && !v))
        return JM_ERANGE;
    *out = (int64_t)v;
    return 0;
}

int jm_quantity_duration(struct jm_span s, int64_t *ns, struct jm_err *err)
{
    struct jm_span rest = jm_span_trim(s);
    int64_t sum = 0, last = INT64_MAX;
    if (!rest.n)
        return jm_err_set(err, JM_EPARSE, "a duration is missing; write one like 30s, 100ms or 1h30m");
    if (rest.p[0] == '-')
        return jm_err_set(err, JM_ERANGE, "the duration \"%.*s\" is negative", shown(s), s.p);
    while (rest.n) {
        size_t n = number_len(rest, false), u = 0;
        if (!n)
            return jm_err_set(err, JM_EPARSE,
                              "\"%.*s\" is not a duration; write one like 30s, 100ms or 1h30m", shown(s),
                              s.p);
        struct jm_span num = jm_span_sub(rest, 0, n);
        rest = skip_blanks(jm_span_sub(rest, n, rest.n));
        while (u < rest.n && !is_digit(rest.p[u]) && rest.p[u] != ' ' && rest.p[u] != '\t' &&
               rest.p[u] != '.')
            u++;
        struct jm_span unit = jm_span_sub(rest, 0, u);
        rest = skip_blanks(jm_span_sub(rest, u, rest.n));
        if (!u)
            return jm_err_set(err, JM_EPARSE,
                              "the duration \"%.*s\" has no unit; add ns, us, ms, s, m, h or d", shown(s),
                              s.p);
        int64_t each = 0, part = 0;
        for (size_t i = 0; i < sizeof durations / sizeof durations[0]; i++)
            if (jm_span_is(unit, durations[i].name))
                each = durations[i].ns;
        if (!each)
            return jm_err_set(err, JM_EPARSE,
                              "\"%.*s\" in \"%.*s\" is not a unit of time; use ns, us, ms, s, m, h or d",
                              shown(unit), unit.p, shown(s), s.p);
        if (each >= last)
            return jm_err_set(err, JM_EPARSE,
                              "the parts of the duration \"%.*s\" are not in falling order of unit", shown(s),
                              s.p);
        last = each;
        if (scaled(num, each, &part) || __builtin_add_overflow(sum, part, &sum))
            return jm_err_set(err, JM_ERANGE, "the duration \"%.*s\" is outside 1 ns to 292 years", shown(s),
                              s.p);
    }
    *ns = sum;
    return 0;
}

static int with_unit(struct jm_span s, const struct unit *units, const char *what, const char *allowed,
                     double *out, struct jm_err *err)
{
    struct jm_span t = jm_span_trim(s);
    if (t.n && t.p[0] == '-')
        return jm_err_set(err, JM_ERANGE, "the %s \"%.*s\" is negative", what, shown(s), s.p);
    size_t n = number_len(t, true);
    if (!n)
        return jm_err_set(err, JM_EPARSE, "\"%.*s\" is not a %s; write a number and one of %s", shown(s),
                          s.p ? s.p : "", what, allowed);
    struct jm_span unit = skip_blanks(jm_span_sub(t, n, t.n));
    if (!unit.n)
        return jm_err_set(err, JM_EPARSE, "the %s \"%.*s\" has no unit; add one of %s", what, shown(s), s.p,
                          allowed);
    for (const struct unit *u = units; u->name; u++) {
        if (!jm_span_is(unit, u->name))
            continue;
        double v;
        int rc = jm_num_double(jm_span_sub(t, 0, n), &v);
        if (rc || !isfinite(v * u->factor) || (v > 0 && v * u->factor == 0))
            return jm_err_set(err, rc ? rc : JM_ERANGE, "the %s \"%.*s\" does not fit a number", what,
                              shown(s), s.p);
        *out = v * u->factor;
        return 0;
    }
    return jm_err_set(err, JM_EPARSE, "\"%.*s\" in \"%.*s\" is not a unit of %s; use one of %s (case counts)",
                      shown(unit), unit.p, shown(s), s.p, what, allowed);
}

int jm_quantity_rate(struct jm_span s, double *hz, struct jm_err *err)
{
    static const struct unit units[] = {{"Hz", 1},         {"kHz", 1e3},      {"mHz", 1e-3}, {"/s", 1},
                                        {"/min", 1 / 60.}, {"/h", 1 / 3600.}, {NULL, 0}};
    return with_unit(s, units, "rate", "Hz, kHz, mHz, /s, /min, /h", hz, err);
}

int jm_quantity_power(struct jm_span s, double *w, struct jm_err *err)
{
    static const struct unit units[] = {{"W", 1},     {"kW", 1e3},  {"MW", 1e6},
                                        {"mW", 1e-3}, {"uW", 1e-6}, {NULL, 0}};
    return with_unit(s, units, "power", "uW, mW, W, kW, MW", w, err);
}

int jm_quantity_energy(struct jm_span s, double *j, struct jm_err *err)
{
    static const struct unit units[] = {{"J", 1},       {"kJ", 1e3},    {"MJ", 1e6},
                                        {"mJ", 1e-3},   {"uJ", 1e-6},   {"Wh", 3600},
                                        {"kWh", 3.6e6}, {"MWh", 3.6e9}, {NULL, 0}};
    return with_unit(s, units, "energy", "uJ, mJ, J, kJ, MJ, Wh, kWh, MWh", j, err);
}
