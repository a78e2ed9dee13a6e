/* SPDX-License-Identifier: Apache-2.0 */
#include "base/option.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/near.h"
#include "base/num.h"

#include "base/banned.h"

static int shown(struct jm_span s)
{
    return (int)(s.n > 60 ? 60 : s.n);
}

static bool bounded(const struct jm_opt *row)
{
    return row->min != 0 || row->max != 0;
}

/* A bound in the unit that a person would write. */
static void bound_text(const struct jm_opt *row, double v, char out[64])
{
    char num[32];
    const char *unit = "";
    if (row->type == JM_OPT_DURATION) {
        static const struct {
            const char *name;
            double ns;
        } units[] = {{" d", 86400e9}, {" h", 3600e9}, {" min", 60e9}, {" s", 1e9},
                     {" ms", 1e6},    {" us", 1e3},   {" ns", 1}};
        size_t i = 0;
        while (i + 1 < sizeof units / sizeof units[0] && (v < units[i].ns || fmod(v, units[i].ns) != 0))
            i++;
        v /= units[i].ns;
        unit = units[i].name;
    } else if (row->type == JM_OPT_RATE) {
        unit = " Hz";
    } else if (row->type == JM_OPT_POWER) {
        unit = " W";
    }
    jm_json_fmt_double(num, v);
    snprintf(out, 64, "%s%s", isfinite(v) ? num : v < 0 ? "-infinity" : "infinity", isfinite(v) ? unit : "");
}

static int in_bounds(const struct jm_opt *row, double v, const char *text, struct jm_err *err)
{
    if (!bounded(row) || (v >= row->min && v <= row->max))
        return 0;
    char lo[64], hi[64];
    bound_text(row, row->min, lo);
    bound_text(row, row->max, hi);
    return jm_err_set(err, JM_EUSAGE, "--%s: %.60s is outside %s to %s", row->name, text, lo, hi);
}

static int set_enum(const struct jm_opt *row, int *out, const char *text, struct jm_err *err)
{
    struct jm_span rest = jm_span_of(row->choices), choice, want = jm_span_of(text);
    for (int i = 0; jm_span_field(&rest, '|', &choice); i++) {
        if (jm_span_eq(choice, want)) {
            *out = i;
            return 0;
        }
    }
    return jm_err_set(err, JM_EUSAGE, "--%s: \"%.60s\" is not one of %s", row->name, text, row->choices);
}

static int set_flag(const struct jm_opt *row, bool *out, const char *text, struct jm_err *err)
{
    struct jm_span s = jm_span_of(text);
    if (jm_span_is(s, "true") || jm_span_is(s, "yes") || jm_span_is(s, "on"))
        *out = true;
    else if (jm_span_is(s, "false") || jm_span_is(s, "no") || jm_span_is(s, "off"))
        *out = false;
    else
        return jm_err_set(err, JM_EUSAGE, "--%s: \"%.60s\" is neither true nor false", row->name, text);
    return 0;
}

/* The sentences of the number and quantity parsers say what is wrong, this says where. */
static int wrong(const struct jm_opt *row, struct jm_err *err)
{
    jm_err_prefix(err, "--%s", row->name);
    if (err)
        err->code = JM_EUSAGE;
    return JM_EUSAGE;
}

int jm_opt_set(const struct jm_opt *row, void *base, const char *text, struct jm_err *err)
{
    void *at = (char *)base + row->offset;
    struct jm_span s = jm_span_of(text);
    struct jm_err why = {0};
    int rc = 0;
    switch (row->type) {
    case JM_OPT_FLAG: return set_flag(row, at, text, err);
    case JM_OPT_STR:
        if (!text[0]) /* most likely a variable of a script that is not set */
            return jm_err_set(err, JM_EUSAGE, "--%s: the value is empty", row->name);
        *(const char **)at = text;
        return 0;
    case JM_OPT_ENUM: return set_enum(row, at, text, err);
    case JM_OPT_LIST: {
        struct jm_opt_list *l = at;
        size_t most = sizeof l->item / sizeof l->item[0];
        if (!text[0])
            return jm_err_set(err, JM_EUSAGE, "--%s: the value is empty", row->name);
        if (l->n == most)
            return jm_err_set(err, JM_EUSAGE, "--%s: given more than %zu times", row->name, most);
        l->item[l->n++] = text;
        return 0;
    }
    case JM_OPT_INT: {
        int64_t v = 0;
        rc = jm_num_i64(s, &v);
        if (rc)
            return jm_err_set(err, JM_EUSAGE, "--%s: \"%.60s\" %s", row->name, text,
                              rc == JM_ERANGE ? "does not fit a 64-bit integer" : "is not an integer");
        rc = in_bounds(row, (double)v, text, err);
        if (!rc)
            *(int64_t *)at = v;
        return rc;
    }
    case JM_OPT_DURATION: {
        int64_t ns = 0;
        if (jm_quantity_duration(s, &ns, &why)) {
            if (err)
                *err = why;
            return wrong(row, err);
        }
        rc = in_bounds(row, (double)ns, text, err);
        if (!rc)
            *(int64_t *)at = ns;
        return rc;
    }
    case JM_OPT_NUM:
    case JM_OPT_RATE:
    case JM_OPT_POWER: {
        double v = 0;
        if (row->type == JM_OPT_NUM) {
            rc = jm_num_double(s, &v);
            if (rc)
                jm_err_set(&why, rc, "\"%.60s\" %s", text,
                           rc == JM_ERANGE ? "does not fit a number" : "is not a number");
        } else {
            rc = row->type == JM_OPT_RATE ? jm_quantity_rate(s, &v, &why) : jm_quantity_power(s, &v, &why);
        }
        if (rc) {
            if (err)
                *err = why;
            return wrong(row, err);
        }
        rc = in_bounds(row, v, text, err);
        if (!rc)
            *(double *)at = v;
        return rc;
    }
    case JM_OPT_PARSE:
        if (row->parse(at, text, &why)) {
            if (err)
                *err = why;
            return wrong(row, err);
        }
        return 0;
    case JM_OPT_MAPS: return jm_err_set(err, JM_EUSAGE, "--%s: takes a list of mappings", row->name);
    }
    return jm_err_set(err, JM_EINVAL, "--%s: the option table has an unknown type", row->name);
}

const struct jm_opt *jm_opt_find(const struct jm_opt *table, struct jm_span name)
{
    for (; table->name; table++)
        if (jm_span_is(name, table->name))
            return table;
    return NULL;
}

const char *jm_opt_nearest(const struct jm_opt *table, struct jm_span name)
{
    const char *best = NULL;
    unsigned least = 99;
    for (; table->name; table++) {
        unsigned d = jm_near_distance(name, jm_span_of(table->name));
        if (d < least) {
            least = d;
            best = table->name;
        }
    }
    return jm_near_plausible(least, name.n) ? best : NULL;
}

static int unknown(const struct jm_opt *table, struct jm_span name, struct jm_err *err)
{
    const char *near = jm_opt_nearest(table, name);
    if (near)
        return jm_err_set(err, JM_EUSAGE, "unknown option --%.*s; did you mean --%s?", shown(name), name.p,
                          near);
    return jm_err_set(err, JM_EUSAGE, "unknown option --%.*s; --help lists the options", shown(name), name.p);
}

/* --name, --name=value, --name value, --no-flag. *i is moved over the words used. */
static int long_option(const struct jm_opt *table, void *base, int argc, char **argv, int *i,
                       struct jm_err *err)
{
    const char *word = argv[*i] + 2;
    struct jm_span name = jm_span_of(word);
    ptrdiff_t eq = jm_span_chr(name, '=');
    const char *value = eq < 0 ? NULL : word + eq + 1;
    if (eq >= 0)
        name.n = (size_t)eq;
    const struct jm_opt *row = jm_opt_find(table, name);
    if (!row && jm_span_is(name, "help") && !value)
        return JM_OPT_HELP;
    if (!row && jm_span_starts(name, JM_SPAN("no-"))) {
        const struct jm_opt *flag = jm_opt_find(table, jm_span_sub(name, 3, name.n));
        if (flag && flag->type == JM_OPT_FLAG && !value)
            return jm_opt_set(flag, base, "false", err);
    }
    if (!row)
        return unknown(table, name, err);
    if (row->type == JM_OPT_FLAG)
        return jm_opt_set(row, base, value ? value : "true", err);
    if (!value) {
        if (*i + 1 >= argc)
            return jm_err_set(err, JM_EUSAGE, "--%s needs a value: --%s %s", row->name, row->name,
                              row->arg ? row->arg : "VALUE");
        value = argv[++*i];
    }
    return jm_opt_set(row, base, value, err);
}

/* -x, -xVALUE, -x VALUE, and flags together: -qx. */
static int short_options(const struct jm_opt *table, void *base, int argc, char **argv, int *i,
                         struct jm_err *err)
{
    for (const char *p = argv[*i] + 1; *p; p++) {
        const struct jm_opt *row = table;
        while (row->name && row->shortname != *p)
            row++;
        if (!row->name && *p == 'h')
            return JM_OPT_HELP;
        if (!row->name)
            return jm_err_set(err, JM_EUSAGE, "unknown option -%.1s in %.60s; --help lists the options", p,
                              argv[*i]);
        if (row->type == JM_OPT_FLAG) {
            int rc = jm_opt_set(row, base, "true", err);
            if (rc)
                return rc;
            continue;
        }
        const char *value = p[1] ? p + 1 : NULL;
        if (!value) {
            if (*i + 1 >= argc)
                return jm_err_set(err, JM_EUSAGE, "-%c needs a value: -%c %s", *p, *p,
                                  row->arg ? row->arg : "VALUE");
            value = argv[++*i];
        }
        return jm_opt_set(row, base, value, err);
    }
    return 0;
}

int jm_opt_parse(const struct jm_opt *table, void *base, int argc, char **argv, const char **operands,
                 size_t *n_operands, int *rest_at, struct jm_err *err)
{
    size_t n = 0;
    *rest_at = argc;
    *n_operands = 0;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        int rc = 0;
        if (word[0] != '-' || !word[1]) {
            operands[n++] = word;
            *n_operands = n;
        } else if (word[1] != '-') {
            rc = short_options(table, base, argc, argv, &i, err);
        } else if (word[2]) {
            rc = long_option(table, base, argc, argv, &i, err);
        } else {
            *rest_at = i + 1;
            break;
        }
        if (rc)
            return rc;
    }
    return 0;
}
