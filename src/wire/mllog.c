/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/mllog.h"

#include <math.h>

#include "wire/jsontok.h"

#include "base/banned.h"

#define DEPTH 32

static bool finite_number(const struct jm_jtoken *v, double *out)
{
    return v->type == JM_J_NUMBER && jm_jtoken_double(v, out) == 0 && isfinite(*out);
}

static void value_of(const struct jm_jtoken *v, struct jm_mllog *out)
{
    out->text = (struct jm_span){0};
    out->is_string = out->is_number = out->is_bool = out->boolean = false;
    out->number = NAN;
    switch (v->type) {
    case JM_J_STRING:
        out->is_string = true;
        out->text = v->raw;
        break;
    case JM_J_NUMBER:
        if (finite_number(v, &out->number))
            out->is_number = true;
        out->text = v->raw;
        break;
    case JM_J_TRUE:
    case JM_J_FALSE:
        out->is_bool = true;
        out->boolean = v->type == JM_J_TRUE;
        out->text = out->boolean ? JM_SPAN("true") : JM_SPAN("false");
        break;
    default: break;
    }
}

/* Whole milliseconds as integers, which a double need not hold to the microsecond. */
static void time_of(const struct jm_jtoken *v, struct jm_mllog *out)
{
    int64_t ms;
    double x;
    out->has_time = false;
    if (v->type != JM_J_NUMBER)
        return;
    if (jm_jtoken_i64(v, &ms) == 0) {
        if (ms > -INT64_C(4000000000000000) && ms < INT64_C(4000000000000000)) {
            out->time_us = ms * 1000;
            out->has_time = true;
        }
    } else if (finite_number(v, &x) && fabs(x) < 4e15) {
        out->time_us = (int64_t)llround(x * 1000);
        out->has_time = true;
    }
}

int jm_mllog_parse(struct jm_span line, struct jm_mllog *out, struct jm_err *err)
{
    static const struct jm_span mark = {":::MLLOG", 8};
    struct jm_jsontok t;
    struct jm_jtoken k, v;
    ptrdiff_t at = jm_span_find(line, mark);
    if (at < 0)
        return JM_EAGAIN;
    *out = (struct jm_mllog){.number = NAN};
    jm_jsontok_init(&t, jm_span_trim(jm_span_sub(line, (size_t)at + mark.n, line.n)), DEPTH);
    int rc = jm_jsontok_next(&t, &k, err);
    if (rc)
        return rc == JM_EAGAIN ? JM_EPARSE : rc;
    if (k.type != JM_J_OBJECT)
        return jm_err_set(err, JM_EPARSE, "A :::MLLOG line holds no JSON object.");
    for (;;) {
        if ((rc = jm_jsontok_next(&t, &k, err)))
            return rc;
        if (k.type == JM_J_OBJECT_END)
            break;
        if ((rc = jm_jsontok_next(&t, &v, err)) || (rc = jm_jsontok_skip(&t, &v, err)))
            return rc;
        if (jm_jtoken_is(&k, "key"))
            out->key = v.type == JM_J_STRING ? v.raw : (struct jm_span){0};
        else if (jm_jtoken_is(&k, "event_type"))
            out->event = v.type == JM_J_STRING ? v.raw : (struct jm_span){0};
        else if (jm_jtoken_is(&k, "time_ms"))
            time_of(&v, out);
        else if (jm_jtoken_is(&k, "value"))
            value_of(&v, out);
        else if (jm_jtoken_is(&k, "metadata"))
            out->metadata = v.type == JM_J_OBJECT ? v.raw : (struct jm_span){0};
    }
    if ((rc = jm_jsontok_next(&t, &v, err)))
        return rc;
    if (v.type != JM_J_END)
        return jm_err_set(err, JM_EPARSE, "Something follows the JSON object of a :::MLLOG line.");
    if (!out->key.n)
        return jm_err_set(err, JM_EPARSE, "A :::MLLOG line has no key.");
    return 0;
}

struct jm_span jm_mllog_meta(const struct jm_mllog *e, const char *name)
{
    struct jm_jsontok t;
    struct jm_jtoken k, v;
    struct jm_span found = {0};
    if (!e->metadata.n)
        return found;
    jm_jsontok_init(&t, e->metadata, DEPTH);
    if (jm_jsontok_next(&t, &k, NULL) || k.type != JM_J_OBJECT)
        return found;
    while (jm_jsontok_next(&t, &k, NULL) == 0 && k.type == JM_J_KEY) {
        if (jm_jsontok_next(&t, &v, NULL) || jm_jsontok_skip(&t, &v, NULL))
            break;
        if (jm_jtoken_is(&k, name))
            found = v.type == JM_J_STRING || v.type == JM_J_NUMBER ? v.raw : (struct jm_span){0};
    }
    return found;
}
