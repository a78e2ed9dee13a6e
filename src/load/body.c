/* SPDX-License-Identifier: Apache-2.0 */
#include "load/body.h"

#include <math.h>
#include <string.h>

#include "base/banned.h"

/* Members of the user's that a probe must not have: it neither streams nor asks for a length. */
static bool left_out(const struct jm_ask *a, const struct jm_jtoken *key)
{
    static const char *const names[] = {"stream",     "stream_options", "max_tokens", "max_completion_tokens",
                                        "min_tokens", "ignore_eos",     "n",          "max_output_tokens",
                                        "n_predict",  "max_new_tokens", "min_length", "min_new_tokens",
                                        "num_predict"};
    bool yes = false;
    for (size_t i = 0; a->probe && i < sizeof names / sizeof *names; i++)
        yes |= jm_jtoken_is(key, names[i]);
    return yes;
}

/* The user's members, one call each; false at the end. t begins zeroed. */
static bool next_member(const struct jm_body *b, struct jm_jsontok *t, struct jm_jtoken *key,
                        struct jm_jtoken *value)
{
    struct jm_jtoken first;
    if (!t->in.p) {
        if (!b->theirs.n)
            return false;
        jm_jsontok_init(t, b->theirs, JM_JSONTOK_DEPTH);
        if (jm_jsontok_next(t, &first, NULL) != 0 || first.type != JM_J_OBJECT)
            return false;
    }
    do {
        if (jm_jsontok_next(t, key, NULL) != 0 || key->type != JM_J_KEY ||
            jm_jsontok_next(t, value, NULL) != 0 || jm_jsontok_skip(t, value, NULL) != 0)
            return false;
    } while (left_out(b->ask, key));
    return true;
}

bool jm_body_theirs(const struct jm_body *b, const char *name)
{
    struct jm_jsontok t = {0};
    struct jm_jtoken key, value;
    while (next_member(b, &t, &key, &value))
        if (jm_jtoken_is(&key, name))
            return true;
    return false;
}

void jm_body_open(struct jm_body *b, const struct jm_ask *a, struct jm_str *out)
{
    *b = (struct jm_body){.ask = a, .out = out, .theirs = a->extra};
    jm_jsonw_init(&b->w, out, 0);
    jm_jsonw_object(&b->w);
}

void jm_body_str(struct jm_body *b, const char *key, const char *v)
{
    if (!jm_body_theirs(b, key))
        jm_jsonw_kstr(&b->w, key, v);
}

void jm_body_span(struct jm_body *b, const char *key, struct jm_span v)
{
    if (!jm_body_theirs(b, key))
        jm_jsonw_kspan(&b->w, key, v);
}

void jm_body_count(struct jm_body *b, const char *key, int64_t v)
{
    if (v >= 0 && !jm_body_theirs(b, key))
        jm_jsonw_ki64(&b->w, key, v);
}

void jm_body_num(struct jm_body *b, const char *key, double v)
{
    if (!isnan(v) && !jm_body_theirs(b, key))
        jm_jsonw_knum(&b->w, key, v);
}

void jm_body_bool(struct jm_body *b, const char *key, bool v)
{
    if (!jm_body_theirs(b, key))
        jm_jsonw_kbool(&b->w, key, v);
}

void jm_body_raw(struct jm_body *b, const char *key, struct jm_span json)
{
    if (jm_body_theirs(b, key))
        return;
    jm_jsonw_key(&b->w, key);
    jm_jsonw_raw(&b->w, json);
}

void jm_body_turns(struct jm_body *b, const char *key)
{
    if (jm_body_theirs(b, key))
        return;
    jm_jsonw_key(&b->w, key);
    if (b->ask->turns.p) {
        jm_jsonw_raw(&b->w, b->ask->turns);
        return;
    }
    jm_jsonw_array(&b->w);
    jm_jsonw_object(&b->w);
    jm_jsonw_kstr(&b->w, "role", "user");
    jm_jsonw_kspan(&b->w, "content", b->ask->text);
    jm_jsonw_end(&b->w);
    jm_jsonw_end(&b->w);
}

/* What is left of the user's object at this level. */
static void rest(struct jm_body *b)
{
    struct jm_jsontok t = {0};
    struct jm_jtoken key, value;
    while (next_member(b, &t, &key, &value)) {
        if (b->nested && jm_jtoken_is(&key, b->nested))
            continue;
        if (b->out->len && b->out->buf[b->out->len - 1] != '{')
            jm_str_addc(b->out, ',');
        jm_str_addc(b->out, '"');
        jm_str_addspan(b->out, key.raw);
        jm_str_adds(b->out, "\":");
        if (value.type == JM_J_STRING)
            jm_str_addc(b->out, '"');
        jm_str_addspan(b->out, value.raw);
        if (value.type == JM_J_STRING)
            jm_str_addc(b->out, '"');
    }
}

void jm_body_nest(struct jm_body *b, const char *key)
{
    struct jm_jsontok t = {0};
    struct jm_jtoken k, v;
    struct jm_span inner = {0};
    while (next_member(b, &t, &k, &v))
        if (jm_jtoken_is(&k, key) && v.type == JM_J_OBJECT)
            inner = v.raw;
    jm_jsonw_key(&b->w, key);
    jm_jsonw_object(&b->w);
    b->nested = key;
    b->theirs = inner;
}

void jm_body_unnest(struct jm_body *b)
{
    const char *name = b->nested;
    b->nested = NULL; /* inside, a member of the same name is like any other */
    rest(b);
    jm_jsonw_end(&b->w);
    b->nested = name;
    b->theirs = b->ask->extra;
}

int jm_body_close(struct jm_body *b, struct jm_err *err)
{
    rest(b);
    jm_jsonw_end(&b->w);
    return jm_str_ok(b->out, "a request body", err);
}
