/* SPDX-License-Identifier: Apache-2.0 */
/* Factors as a run keeps them: all that is known of each, so that nothing else is needed to compute again. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "wire/factorfile.h"

#include "base/banned.h"

void jm_factor_store(const struct jm_factor_set *set, struct jm_str *out)
{
    struct jm_jsonw w;
    jm_jsonw_init(&w, out, 0);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "schema", JM_FACTOR_SCHEMA);
    jm_jsonw_key(&w, "factors");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < set->n; i++) {
        const struct jm_factor *f = &set->f[i];
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "what", jm_factor_what_name((int)f->what));
        jm_jsonw_kstr(&w, "zone", f->zone);
        jm_jsonw_kstr(&w, "name", f->name);
        jm_jsonw_kstr(&w, "unit", f->unit);
        jm_jsonw_kstr(&w, "kind", jm_factor_kind_name((int)f->kind));
        jm_jsonw_kstr(&w, "basis", jm_factor_basis_name((int)f->basis));
        jm_jsonw_kbool(&w, "marginal", f->marginal);
        jm_jsonw_kstr(&w, "vintage", f->vintage);
        jm_jsonw_kstr(&w, "source", f->source);
        jm_jsonw_kstr(&w, "licence", f->licence);
        jm_jsonw_kstr(&w, "contract", f->contract);
        jm_jsonw_kstr(&w, "note", f->note);
        jm_jsonw_knum(&w, "year_mean", f->year_mean);
        jm_jsonw_knum(&w, "value", f->constant);
        jm_jsonw_key(&w, "steps"); /* from, to (Unix ns), value, estimated */
        jm_jsonw_array(&w);
        for (size_t k = 0; k < f->n; k++) {
            jm_jsonw_array(&w);
            jm_jsonw_i64(&w, f->step[k].t0);
            jm_jsonw_i64(&w, f->step[k].t1);
            jm_jsonw_num(&w, f->step[k].value);
            jm_jsonw_bool(&w, f->step[k].estimated);
            jm_jsonw_end(&w);
        }
        jm_jsonw_end(&w);
        jm_jsonw_end(&w);
    }
    jm_jsonw_end(&w);
    jm_jsonw_end(&w);
}

static void text(const struct jm_json *o, const char *key, char *to, size_t cap)
{
    struct jm_span s = {"", 0};
    jm_json_str(jm_json_get(o, key), &s);
    snprintf(to, cap, "%.*s", (int)(s.n < cap ? s.n : cap - 1), s.p);
    jm_text_plain(to, strlen(to), false);
}

/* The number of the name that stands there; -1: none of them. */
static int word(const struct jm_json *o, const char *key, const char *(*name)(int), int n)
{
    struct jm_span s;
    if (!jm_json_str(jm_json_get(o, key), &s))
        return -1;
    for (int i = 0; i < n; i++)
        if (jm_span_is(s, name(i)))
            return i;
    return -1;
}

static int steps(const struct jm_json *a, struct jm_factor *f, struct jm_err *err)
{
    for (size_t i = 0; i < jm_json_len(a); i++) {
        const struct jm_json *s = jm_json_at(a, i);
        int64_t t0, t1;
        double v;
        bool estimated = false;
        if (!jm_json_i64(jm_json_at(s, 0), &t0) || !jm_json_i64(jm_json_at(s, 1), &t1) ||
            !jm_json_num(jm_json_at(s, 2), &v))
            return jm_err_set(err, JM_EPARSE, "%s: a step has a start, an end and a value", f->zone);
        jm_json_bool(jm_json_at(s, 3), &estimated);
        int rc = jm_factor_step_add(f, t0, t1, v, estimated);
        if (rc)
            return jm_err_set(err, rc == JM_EINVAL ? JM_EPARSE : rc,
                              "%s: a step cannot be kept: it ends before it begins, or there are too many",
                              f->zone);
    }
    return 0;
}

static int one(const struct jm_json *o, struct jm_factor_set *set, struct jm_err *err)
{
    struct jm_span zone;
    int what = word(o, "what", jm_factor_what_name, JM_FACTOR_WHATS),
        kind = word(o, "kind", jm_factor_kind_name, JM_FACTOR_KINDS),
        basis = word(o, "basis", jm_factor_basis_name, JM_FACTOR_BASES);
    if (what < 0 || kind < 0 || basis < 0 || !jm_json_str(jm_json_get(o, "zone"), &zone) || zone.n < 2 ||
        zone.n > 31)
        return jm_err_set(err, JM_EPARSE,
                          "a stored factor lacks what it is, its kind, its basis or its zone");
    struct jm_factor *f = jm_factor_add(set, (enum jm_factor_what)what, zone);
    if (!f)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the factors");
    jm_text_plain(f->zone, strlen(f->zone), false);
    f->kind = (enum jm_factor_kind)kind;
    f->basis = (enum jm_factor_basis)basis;
    jm_json_bool(jm_json_get(o, "marginal"), &f->marginal);
    text(o, "name", f->name, sizeof f->name);
    text(o, "unit", f->unit, sizeof f->unit);
    text(o, "vintage", f->vintage, sizeof f->vintage);
    text(o, "source", f->source, sizeof f->source);
    text(o, "licence", f->licence, sizeof f->licence);
    text(o, "contract", f->contract, sizeof f->contract);
    text(o, "note", f->note, sizeof f->note);
    jm_json_num(jm_json_get(o, "year_mean"), &f->year_mean);
    jm_json_num(jm_json_get(o, "value"), &f->constant);
    char currency[4];
    double unit = f->what == JM_FACTOR_CARBON  ? jm_factor_carbon_unit(jm_span_of(f->unit))
                  : f->what == JM_FACTOR_PRICE ? jm_factor_price_unit(jm_span_of(f->unit), currency)
                  : jm_span_is(jm_span_of(f->unit), "L/kWh") ? 1
                                                             : NAN;
    if (unit != 1)
        return jm_err_set(err, JM_EUSAGE, "%s: a factor without a unit is refused (\"%s\")", f->zone,
                          f->unit);
    if (f->what != JM_FACTOR_PRICE && f->constant < 0)
        return jm_err_set(err, JM_EPARSE, "%s: a %s of %g is refused", f->zone, jm_factor_what_name(what),
                          f->constant);
    if (f->what == JM_FACTOR_CARBON && !f->vintage[0])
        return jm_err_set(err, JM_EUSAGE, "%s: a factor without a year is refused", f->zone);
    return steps(jm_json_get(o, "steps"), f, err);
}

int jm_factor_stored(const struct jm_json *root, struct jm_factor_set *set, struct jm_err *err)
{
    const struct jm_json *a = jm_json_get(root, "factors");
    int rc = jm_json_len(a) > JM_FACTOR_ZONES
                 ? jm_err_set(err, JM_ELIMIT, "more than %d factors in one file", JM_FACTOR_ZONES)
                 : 0;
    for (size_t i = 0; !rc && i < jm_json_len(a); i++)
        rc = one(jm_json_at(a, i), set, err);
    return rc;
}
