/* SPDX-License-Identifier: Apache-2.0 */
/* A body becomes readings and links. See wire/redfish.h. */
#include "wire/redfish_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#include "base/banned.h"

/* --- texts
 * ---------------------------------------------------------------------------------------------------- */
void jm_rf_text(char *out, size_t n, const struct jm_json *v)
{
    struct jm_span s;
    out[0] = '\0';
    if (!jm_json_str(v, &s))
        return;
    s = jm_span_trim(s);
    snprintf(out, n, "%.*s", (int)(s.n < n ? s.n : n - 1), s.p);
    jm_text_plain(out, strlen(out), false);
}

void jm_rf_uri(char out[JM_RF_URI], struct jm_span s)
{
    while (s.n > 1 && s.p[s.n - 1] == '/')
        s.n--;
    if (s.n >= JM_RF_URI)
        s.n = 0; /* a cut address would name another resource */
    if (s.n)
        memcpy(out, s.p, s.n);
    out[s.n] = '\0';
    jm_text_plain(out, s.n, false);
}

/* --- readings
 * ------------------------------------------------------------------------------------------------ */
struct jm_rf_reading *jm_rf_add(struct jm_rf_body *b, const char *property)
{
    struct jm_rf_set *s = b->set;
    if (b->rc)
        return NULL;
    if (s->n == s->lim.readings) {
        s->dropped++;
        return NULL;
    }
    if (s->n == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 32;
        struct jm_rf_reading *more = realloc(s->r, cap * sizeof *more);
        if (!more) {
            b->rc = jm_err_set(b->err, JM_ENOMEM, "out of memory for the readings of %s", b->uri);
            return NULL;
        }
        s->r = more;
        s->cap = cap;
    }
    struct jm_rf_reading *r = &s->r[s->n++];
    *r = (struct jm_rf_reading){.unit = JM_U_W,
                                .factor = 1,
                                .unit_sure = true,
                                .status = JM_S_ABSENT,
                                .step = NAN,
                                .lo = NAN,
                                .hi = NAN,
                                .accuracy = NAN,
                                .interval_s = NAN,
                                .sensing_s = NAN};
    jm_rf_placed(b->uri, &r->of, &r->scope);
    for (size_t i = 0; i < s->n_gpu && r->of == JM_RF_CPU; i++)
        if (jm_rf_below(b->uri, s->gpu[i])) {
            r->of = JM_RF_GPU;
            r->scope = JM_RF_BOARD;
        }
    snprintf(r->uri, sizeof r->uri, "%s", b->uri);
    snprintf(r->source, sizeof r->source, "%.*s#/%.60s", JM_RF_URI - 64, b->uri, property);
    snprintf(r->property, sizeof r->property, "%s", property);
    return r;
}

/* -1 and 65535 (all ones) stand for "none" in firmware that copies IPMI's fields. */
void jm_rf_put(struct jm_rf_reading *r, const struct jm_json *v, double factor)
{
    double x;
    struct jm_span s;
    r->factor = factor;
    r->status = jm_rf_number(v, &x);
    if (r->status != JM_S_OK)
        return;
    if (x == -1 || (r->unit == JM_U_W && (x == 65535 || x == 4294967295.0))) {
        r->status = JM_S_ABSENT;
        return;
    }
    if (jm_json_str(v, &s) && x == 0 && r->kind != JM_RF_COUNTER) { /* "0": AMI's word for none */
        r->status = JM_S_ABSENT;
        return;
    }
    r->value = x * factor;
    r->step = jm_rf_step_of(x, factor);
    if (r->value < 0 || (r->unit == JM_U_W && r->value > 20e6))
        r->status = JM_S_IMPLAUSIBLE;
}

int64_t jm_rf_stamp(const struct jm_json *v)
{
    struct jm_span s;
    int64_t t;
    return jm_json_str(v, &s) && jm_time_parse_rfc3339(s, &t, NULL) == 0 && t > 0 ? t : 0;
}

/* --- a body
 * ---------------------------------------------------------------------------------------------------- */
/* "#Power.v1_7_1.Power" and "#Power.1.0.1.Power" are "Power". */
static void type_of(struct jm_rf_body *b, char out[64])
{
    struct jm_span s = {NULL, 0};
    jm_json_str(jm_json_get(b->root, "@odata.type"), &s);
    if (s.n && s.p[0] == '#')
        s = jm_span_sub(s, 1, s.n);
    ptrdiff_t dot = jm_span_chr(s, '.');
    if (dot > 0)
        s.n = (size_t)dot;
    snprintf(out, 64, "%.*s", (int)(s.n < 63 ? s.n : 63), s.p ? s.p : "");
    jm_text_plain(out, strlen(out), false);
}

#define GPUS 512

/* "Video.Slot.7-1" (iDRAC) and "5" (XCC) among the processors are GPUs by their type alone. */
static void processor(struct jm_rf_body *b)
{
    struct jm_rf_set *s = b->set;
    struct jm_span type = {NULL, 0};
    if (!jm_json_str(jm_json_get(b->root, "ProcessorType"), &type) ||
        (!jm_span_is(type, "GPU") && !jm_span_is(type, "Accelerator")) || s->n_gpu >= GPUS ||
        !strstr(b->uri, "/Processors/"))
        return;
    for (size_t i = 0; i < s->n_gpu; i++)
        if (strcmp(s->gpu[i], b->uri) == 0)
            return;
    if (!(s->n_gpu & (s->n_gpu - 1))) {
        char(*more)[JM_RF_URI] = realloc(s->gpu, (s->n_gpu ? 2 * s->n_gpu : 1) * sizeof *more);
        if (!more) {
            b->rc = jm_err_set(b->err, JM_ENOMEM, "out of memory for the processors of %s", b->uri);
            return;
        }
        s->gpu = more;
    }
    snprintf(s->gpu[s->n_gpu++], JM_RF_URI, "%s", b->uri);
}

static void processor_metrics(struct jm_rf_body *b)
{
    const struct jm_json *v = jm_json_get(b->root, "ConsumedPowerWatt");
    struct jm_rf_reading *r = v ? jm_rf_add(b, "ConsumedPowerWatt") : NULL;
    if (r)
        jm_rf_put(r, v, 1);
}

void jm_rf_one(struct jm_rf_body *b)
{
    char type[64];
    type_of(b, type);
    jm_rf_text(b->set->id, sizeof b->set->id, jm_json_get(b->root, "Id"));
    bool sensor_like = jm_json_get(b->root, "ReadingType") || (strcmp(type, "Sensor") == 0);
    processor(b);
    if (jm_json_get(b->root, "MetricValues") && !jm_json_get(b->root, "PowerWatts"))
        jm_rf_report(b);
    if (sensor_like)
        jm_rf_sensor(b);
    jm_rf_excerpts(b);
    jm_rf_history(b);
    processor_metrics(b);
    jm_rf_power(b);
    jm_rf_vendor_paths(b);
    jm_rf_links(b);
    /* collections that come expanded */
    const struct jm_json *members = jm_json_get(b->root, "Members"), *top = b->root;
    char uri[JM_RF_URI];
    snprintf(uri, sizeof uri, "%s", b->uri);
    for (size_t i = 0; jm_json_is_array(members) && i < jm_json_len(members) && !b->rc; i++) {
        const struct jm_json *m = jm_json_at(members, i);
        struct jm_span at;
        if (jm_json_len(m) <= 1 || !jm_json_str(jm_json_get(m, "@odata.id"), &at) ||
            jm_json_get(m, "Members"))
            continue;
        b->root = m;
        jm_rf_uri(b->uri, at);
        jm_rf_one(b);
        b->root = top;
        snprintf(b->uri, sizeof b->uri, "%s", uri);
    }
}

int jm_rf_read(struct jm_rf_set *s, struct jm_span body, const char *uri, struct jm_err *err)
{
    struct jm_str text;
    struct jm_json *root = NULL;
    struct jm_err why = {0};
    if (body.n > s->lim.bytes)
        return jm_err_set(err, JM_ELIMIT, "%s answers with %zu bytes, more than the limit of %zu", uri,
                          body.n, s->lim.bytes);
    jm_str_init(&text);
    s->repaired[0] = '\0';
    int rc = jm_rf_mend(body, &text, s->repaired, &why);
    if (rc == 0)
        rc = jm_json_parse(jm_str_span(&text), &root, &why);
    jm_str_release(&text);
    if (rc)
        return jm_err_set(err, rc, "%s: the answer cannot be read: %s", uri, why.text);
    struct jm_rf_body b = {.set = s, .root = root, .err = err};
    struct jm_span own;
    if (jm_json_str(jm_json_get(root, "@odata.id"), &own) && own.n && own.p[0] == '/' && !*uri)
        jm_rf_uri(b.uri, own);
    else
        jm_rf_uri(b.uri, jm_span_of(uri));
    s->sequence = -1;
    s->service_time = jm_rf_stamp(jm_json_get(root, "DateTime"));
    jm_rf_text(s->etag, sizeof s->etag, jm_json_get(root, "@odata.etag"));
    jm_rf_text(s->make, sizeof s->make, jm_json_get(root, "Manufacturer"));
    if (!s->make[0])
        jm_rf_text(s->make, sizeof s->make, jm_json_get(root, "Vendor"));
    jm_rf_text(s->product, sizeof s->product, jm_json_get(root, "Model"));
    if (!s->product[0])
        jm_rf_text(s->product, sizeof s->product, jm_json_get(root, "Product"));
    jm_rf_one(&b);
    type_of(&b, s->type);
    jm_rf_text(s->id, sizeof s->id, jm_json_get(root, "Id"));
    jm_json_free(root);
    return b.rc;
}
