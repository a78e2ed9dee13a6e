/* SPDX-License-Identifier: Apache-2.0 */
#include "model/passport.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"

#include "base/banned.h"

/* least, most: what an instrument can be; a file that says more is not believed. */
static const struct {
    const char *key;
    size_t at;
    double least, most;
} traits[] = {{"period_s", offsetof(struct jm_passport_row, period), 1e-6, 3600},
              {"window_s", offsetof(struct jm_passport_row, window), 0, 3600},
              {"lag_s", offsetof(struct jm_passport_row, lag), -60, 3600},
              {"duty", offsetof(struct jm_passport_row, duty), 0, 1.1},
              {"gain", offsetof(struct jm_passport_row, gain), 0.05, 20},
              {"offset_w", offsetof(struct jm_passport_row, offset), -1e6, 1e6}};

#define N_TRAITS (sizeof traits / sizeof *traits)

static struct jm_trait *trait_of(struct jm_passport_row *r, size_t i)
{
    return (struct jm_trait *)(void *)((char *)r + traits[i].at);
}

void jm_passport_release(struct jm_passport *p)
{
    free(p->row);
    *p = (struct jm_passport){0};
}

struct jm_passport_row *jm_passport_add(struct jm_passport *p)
{
    struct jm_passport_row *v = realloc(p->row, (p->n + 1) * sizeof *v);
    if (!v)
        return NULL;
    p->row = v;
    v += p->n++;
    memset(v, 0, sizeof *v);
    for (size_t i = 0; i < N_TRAITS; i++)
        *trait_of(v, i) = (struct jm_trait){NAN, NAN, NAN};
    v->from_w = v->to_w = v->against_gain = v->against_offset = NAN;
    return v;
}

void jm_passport_write(const struct jm_passport *p, struct jm_str *out)
{
    struct jm_jsonw w;
    jm_jsonw_init(&w, out, 2);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "schema", JM_PASSPORT_SCHEMA);
    jm_jsonw_kstr(&w, "joulemark", p->joulemark);
    jm_jsonw_kstr(&w, "date", p->date);
    jm_jsonw_kstr(&w, "host", p->host);
    jm_jsonw_kstr(&w, "driver", p->driver);
    jm_jsonw_kstr(&w, "load", p->load);
    jm_jsonw_kstr(&w, "run_sha256", p->run);
    jm_jsonw_key(&w, "instruments");
    jm_jsonw_array(&w);
    for (size_t k = 0; k < p->n; k++) {
        struct jm_passport_row *r = &p->row[k];
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "device", r->device);
        jm_jsonw_kstr(&w, "channel", r->channel);
        jm_jsonw_kstr(&w, "meter", r->meter);
        jm_jsonw_kstr(&w, "source", r->source);
        if (r->driver[0])
            jm_jsonw_kstr(&w, "driver", r->driver);
        if (r->firmware[0])
            jm_jsonw_kstr(&w, "firmware", r->firmware);
        for (size_t i = 0; i < N_TRAITS; i++) {
            const struct jm_trait *t = trait_of(r, i);
            jm_jsonw_key(&w, traits[i].key);
            if (!isfinite(t->value)) {
                jm_jsonw_null(&w);
                continue;
            }
            jm_jsonw_object(&w);
            jm_jsonw_knum(&w, "value", t->value);
            jm_jsonw_knum(&w, "lo", t->lo);
            jm_jsonw_knum(&w, "hi", t->hi);
            jm_jsonw_end(&w);
        }
        if (isfinite(r->from_w) && isfinite(r->to_w)) {
            jm_jsonw_key(&w, "shown_w");
            jm_jsonw_array(&w);
            jm_jsonw_num(&w, r->from_w);
            jm_jsonw_num(&w, r->to_w);
            jm_jsonw_end(&w);
        }
        if (r->against[0]) {
            jm_jsonw_kstr(&w, "against", r->against);
            jm_jsonw_kbool(&w, "same_domain", r->same);
        }
        if (isfinite(r->against_gain))
            jm_jsonw_knum(&w, "against_gain_tol", r->against_gain);
        if (isfinite(r->against_offset))
            jm_jsonw_knum(&w, "against_offset_tol_w", r->against_offset);
        if (r->note[0])
            jm_jsonw_kstr(&w, "note", r->note);
        jm_jsonw_end(&w);
    }
    jm_jsonw_end(&w);
    jm_jsonw_end(&w);
    jm_str_addc(out, '\n');
}

static void text(const struct jm_json *o, const char *key, char *out, size_t cap)
{
    struct jm_span s;
    out[0] = '\0';
    if (!jm_json_str(jm_json_get(o, key), &s))
        return;
    snprintf(out, cap, "%.*s", (int)(s.n < cap ? s.n : cap - 1), s.p);
    jm_text_plain(out, strlen(out), false);
}

static int trait(const struct jm_json *o, size_t i, struct jm_trait *t, struct jm_err *err)
{
    const char *key = traits[i].key;
    const struct jm_json *v = jm_json_get(o, key);
    if (!v || jm_json_is_null(v))
        return 0;
    if (!jm_json_num(jm_json_get(v, "value"), &t->value) || !jm_json_num(jm_json_get(v, "lo"), &t->lo) ||
        !jm_json_num(jm_json_get(v, "hi"), &t->hi) || !(t->lo <= t->value) || !(t->value <= t->hi))
        return jm_err_set(err, JM_EPARSE, "%s of a passport must have value, lo and hi, lo <= value <= hi",
                          key);
    if (!(t->value >= traits[i].least) || !(t->value <= traits[i].most) ||
        !(t->hi - t->lo <= traits[i].most - traits[i].least))
        return jm_err_set(err, JM_EPARSE,
                          "%s of a passport is %.6g (%.6g to %.6g), and no instrument is like that", key,
                          t->value, t->lo, t->hi);
    return 0;
}

/* A number that may be missing, and is never negative. */
static int optional(const struct jm_json *o, const char *key, double *out, struct jm_err *err)
{
    const struct jm_json *v = jm_json_get(o, key);
    if (!v || jm_json_is_null(v))
        return 0;
    if (!jm_json_num(v, out) || !(*out >= 0) || !(*out <= 1e7))
        return jm_err_set(err, JM_EPARSE, "%s of a passport must be a number from 0 to 1e7", key);
    return 0;
}

static int row(const struct jm_json *o, struct jm_passport_row *r, size_t at, struct jm_err *err)
{
    const struct jm_json *shown = jm_json_get(o, "shown_w"), *same = jm_json_get(o, "same_domain");
    int rc = 0;
    text(o, "device", r->device, sizeof r->device);
    text(o, "channel", r->channel, sizeof r->channel);
    text(o, "meter", r->meter, sizeof r->meter);
    text(o, "source", r->source, sizeof r->source);
    text(o, "driver", r->driver, sizeof r->driver);
    text(o, "firmware", r->firmware, sizeof r->firmware);
    text(o, "against", r->against, sizeof r->against);
    text(o, "note", r->note, sizeof r->note);
    if (same)
        jm_json_bool(same, &r->same);
    if (!r->channel[0])
        rc = jm_err_set(err, JM_EPARSE, "instrument %zu of the passport names no channel", at + 1);
    for (size_t i = 0; !rc && i < N_TRAITS; i++)
        rc = trait(o, i, trait_of(r, i), err);
    if (!rc && shown && !jm_json_is_null(shown) &&
        (!jm_json_num(jm_json_at(shown, 0), &r->from_w) || !jm_json_num(jm_json_at(shown, 1), &r->to_w) ||
         !(r->from_w <= r->to_w)))
        rc = jm_err_set(err, JM_EPARSE, "shown_w of a passport must be two powers, the lower one first");
    if (!rc)
        rc = optional(o, "against_gain_tol", &r->against_gain, err);
    return rc ? rc : optional(o, "against_offset_tol_w", &r->against_offset, err);
}

int jm_passport_read(struct jm_span in, struct jm_passport *out, struct jm_err *err)
{
    struct jm_json *root = NULL;
    struct jm_span schema;
    *out = (struct jm_passport){0};
    if (in.n > JM_PASSPORT_MAX)
        return jm_err_set(err, JM_ELIMIT, "the passport is larger than %u bytes", JM_PASSPORT_MAX);
    int rc = jm_json_parse(in, &root, err);
    if (rc)
        return rc;
    const struct jm_json *rows = jm_json_get(root, "instruments");
    if (!jm_json_str(jm_json_get(root, "schema"), &schema) ||
        !jm_span_starts(schema, JM_SPAN("joulemark.passport/")))
        rc = jm_err_set(err, JM_EPARSE, "this is no passport: it has no schema " JM_PASSPORT_SCHEMA);
    else if (!jm_span_is(schema, JM_PASSPORT_SCHEMA))
        rc = jm_err_set(err, JM_EVERSION,
                        "the passport is of version %.*s; this joulemark reads " JM_PASSPORT_SCHEMA,
                        (int)(schema.n < 60 ? schema.n : 60), schema.p);
    else if (!jm_json_is_array(rows) || jm_json_len(rows) > JM_PASSPORT_ROWS)
        rc = jm_err_set(err, JM_EPARSE, "the passport has no list of instruments, or one above %d",
                        JM_PASSPORT_ROWS);
    text(root, "joulemark", out->joulemark, sizeof out->joulemark);
    text(root, "date", out->date, sizeof out->date);
    text(root, "host", out->host, sizeof out->host);
    text(root, "driver", out->driver, sizeof out->driver);
    text(root, "load", out->load, sizeof out->load);
    text(root, "run_sha256", out->run, sizeof out->run);
    for (size_t k = 0; !rc && k < jm_json_len(rows); k++) {
        const struct jm_json *o = jm_json_at(rows, k);
        struct jm_passport_row *r = jm_passport_add(out);
        if (!r) {
            rc = jm_err_set(err, JM_ENOMEM, "out of memory for the passport");
            break;
        }
        rc = row(o, r, k, err);
        for (size_t i = 0; !rc && i < k; i++)
            if (!strcmp(out->row[i].device, r->device) && !strcmp(out->row[i].channel, r->channel) &&
                !strcmp(out->row[i].meter, r->meter))
                rc = jm_err_set(err, JM_EPARSE, "the passport has %s of %s twice", r->channel, r->device);
    }
    jm_json_free(root);
    return rc;
}

int jm_passport_take(struct jm_span in, const char *name, struct jm_passport_file *out, struct jm_err *err)
{
    const char *slash = strrchr(name, '/');
    *out = (struct jm_passport_file){0};
    snprintf(out->name, sizeof out->name, "%s", slash ? slash + 1 : name);
    jm_sha256_hex(in, out->sha256);
    return jm_passport_read(in, &out->p, err);
}

const struct jm_passport_row *jm_passport_find(const struct jm_passport *p, const char *device,
                                               const char *channel)
{
    for (size_t i = 0; i < p->n; i++)
        if (!strcmp(p->row[i].device, device) && !strcmp(p->row[i].channel, channel))
            return &p->row[i];
    return NULL;
}
