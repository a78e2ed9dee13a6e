/* SPDX-License-Identifier: Apache-2.0 */
#include "load/openai.h"

#include <math.h>
#include <string.h>

#include "model/request.h"

#include "base/banned.h"

static int64_t tokens(const struct jm_jsonfound *f)
{
    int64_t v;
    return f->hits && jm_jtoken_i64(&f->v, &v) == 0 && v >= 0 ? v : -1;
}

static int64_t items(struct jm_span array)
{
    struct jm_jsontok t;
    struct jm_jtoken v;
    int64_t n = 0;
    jm_jsontok_init(&t, array, 0);
    if (jm_jsontok_next(&t, &v, NULL) != 0 || v.type != JM_J_ARRAY)
        return -1;
    while (jm_jsontok_next(&t, &v, NULL) == 0 && v.type != JM_J_ARRAY_END) {
        if (jm_jsontok_skip(&t, &v, NULL) != 0)
            return -1;
        n++;
    }
    return n;
}

bool jm_openai_common(const struct jm_jsonscan *scan, struct jm_span doc, struct jm_jsonfound *f,
                      struct jm_said *out)
{
    jm_said_init(out);
    doc = jm_span_trim(doc);
    if (!doc.n || doc.p[0] != '{' || jm_jsonscan_run(scan, doc, f, NULL) != 0) {
        out->bad = true;
        return false;
    }
    if ((f[JM_OA_ERROR].hits && f[JM_OA_ERROR].v.type != JM_J_NULL) ||
        (f[JM_OA_OBJECT].hits && jm_jtoken_is(&f[JM_OA_OBJECT].v, "error"))) {
        out->failed = true;
        jm_error_words(doc, out->text);
        return false;
    }
    out->choices = f[JM_OA_CHOICE].hits > 0;
    if (f[JM_OA_FINISH].hits && f[JM_OA_FINISH].v.type == JM_J_STRING) {
        char buf[64];
        size_t n = jm_json_unescape(f[JM_OA_FINISH].v.raw, buf, sizeof buf);
        jm_copy_words((struct jm_span){buf, n < sizeof buf ? n : sizeof buf}, out->finish,
                      sizeof out->finish);
    }
    if (f[JM_OA_IDS].hits && f[JM_OA_IDS].v.type == JM_J_ARRAY)
        out->ids = items(f[JM_OA_IDS].v.raw);
    if (f[JM_OA_USAGE].hits && f[JM_OA_USAGE].v.type == JM_J_OBJECT) {
        out->usage = true;
        out->prompt = tokens(&f[JM_OA_PROMPT]);
        out->output = tokens(&f[JM_OA_OUTPUT]);
        out->cached = tokens(&f[JM_OA_CACHED]);
        if (out->cached < 0)
            out->cached = tokens(&f[JM_OA_CACHE_LLAMA]);
        out->reasoning = tokens(&f[JM_OA_REASONING]);
        if (out->reasoning < 0)
            out->reasoning = tokens(&f[JM_OA_REASONING_SGLANG]);
    }
    return true;
}

bool jm_openai_event(const struct jm_reader *r, const struct jm_sse_event *ev, struct jm_jsonfound *f,
                     struct jm_said *out)
{
    struct jm_span data = jm_span_trim(ev->data);
    if (ev->error) {
        jm_said_init(out);
        out->failed = true;
        jm_error_words(data, out->text);
        return false;
    }
    if (jm_span_is(data, "[DONE]")) {
        jm_said_init(out);
        out->done = true;
        return false;
    }
    if (!data.n) { /* a keep-alive: says nothing */
        jm_said_init(out);
        return false;
    }
    return jm_openai_common(&r->event, data, f, out);
}

void jm_openai_piece(struct jm_said *out, const struct jm_jsonfound *f, unsigned flags)
{
    bool text = f->v.type == JM_J_STRING && f->v.raw.n;
    bool list = f->v.type == JM_J_ARRAY && f->v.raw.n > 2;
    if (!f->hits || !(text || list) || out->pieces == JM_SAID_PIECES)
        return;
    out->piece[out->pieces].text = f->v;
    out->piece[out->pieces++].flags = flags;
}

/* Members of the user's that a probe must not have: it neither streams nor asks for a length. */
static bool left_out(const struct jm_ask *a, const struct jm_jtoken *key)
{
    static const char *const names[] = {"stream",     "stream_options", "max_tokens", "max_completion_tokens",
                                        "min_tokens", "ignore_eos",     "n"};
    bool yes = false;
    for (size_t i = 0; a->probe && i < sizeof names / sizeof *names; i++)
        yes |= jm_jtoken_is(key, names[i]);
    return yes;
}

/* The user's members, one call each; false at the end. */
static bool next_member(const struct jm_ask *a, struct jm_jsontok *t, struct jm_jtoken *key,
                        struct jm_jtoken *value)
{
    struct jm_jtoken first;
    if (!t->in.p) {
        jm_jsontok_init(t, a->extra, 0);
        if (!a->extra.n || jm_jsontok_next(t, &first, NULL) != 0 || first.type != JM_J_OBJECT)
            return false;
    }
    do {
        if (jm_jsontok_next(t, key, NULL) != 0 || key->type != JM_J_KEY ||
            jm_jsontok_next(t, value, NULL) != 0 || jm_jsontok_skip(t, value, NULL) != 0)
            return false;
    } while (left_out(a, key));
    return true;
}

/* Whether the user's own members hold this one, which then is not written twice. */
static bool theirs(const struct jm_ask *a, const char *name)
{
    struct jm_jsontok t = {0};
    struct jm_jtoken key, value;
    while (next_member(a, &t, &key, &value))
        if (jm_jtoken_is(&key, name))
            return true;
    return false;
}

int jm_openai_write(const struct jm_ask *a, struct jm_jsonw *w, struct jm_str *body, struct jm_err *err)
{
    if (!theirs(a, "model"))
        jm_jsonw_kstr(w, "model", a->model);
    if (!theirs(a, "stream"))
        jm_jsonw_kbool(w, "stream", a->stream);
    if (a->stream && !theirs(a, "stream_options")) { /* without it most servers send no token counts */
        jm_jsonw_key(w, "stream_options");
        jm_jsonw_raw(w, JM_SPAN("{\"include_usage\":true}"));
    }
    if (a->max_tokens >= 0 && !theirs(a, "max_tokens") && !theirs(a, "max_completion_tokens"))
        jm_jsonw_ki64(w, "max_tokens", a->max_tokens);
    if (a->ignore_eos) {
        if (!theirs(a, "ignore_eos"))
            jm_jsonw_kbool(w, "ignore_eos", true);
        if (a->max_tokens >= 0 && !theirs(a, "min_tokens"))
            jm_jsonw_ki64(w, "min_tokens", a->max_tokens);
    }
    if (!isnan(a->temperature) && !theirs(a, "temperature"))
        jm_jsonw_knum(w, "temperature", a->temperature);
    struct jm_jsontok t = {0};
    struct jm_jtoken key, value;
    while (next_member(a, &t, &key, &value)) {
        jm_str_adds(body, ",\"");
        jm_str_addspan(body, key.raw);
        jm_str_adds(body, "\":");
        if (value.type == JM_J_STRING)
            jm_str_addc(body, '"');
        jm_str_addspan(body, value.raw);
        if (value.type == JM_J_STRING)
            jm_str_addc(body, '"');
    }
    jm_jsonw_end(w);
    return jm_str_ok(body, "a request body", err);
}
