/* SPDX-License-Identifier: Apache-2.0 */
#include "load/dialect.h"

#include <string.h>

#include "base/banned.h"

static const struct jm_dialect *const dialects[] = {&jm_dialect_chat, &jm_dialect_completions};

const struct jm_dialect *jm_dialect_for(enum jm_load_api api)
{
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++)
        if (dialects[i]->api == api)
            return dialects[i];
    return NULL;
}

static size_t count(const char *const *paths)
{
    size_t n = 0;
    while (paths[n])
        n++;
    return n;
}

int jm_reader_init(struct jm_reader *r, const struct jm_dialect *d, struct jm_err *err)
{
    r->d = d;
    int rc = jm_jsonscan_init(&r->event, d->event, count(d->event), err);
    return rc ? rc : jm_jsonscan_init(&r->whole, d->whole, count(d->whole), err);
}

void jm_said_init(struct jm_said *s)
{
    memset(s, 0, sizeof *s);
    s->ids = s->prompt = s->output = s->cached = s->reasoning = -1;
}

void jm_copy_words(struct jm_span s, char *out, size_t cap)
{
    s = jm_span_trim(s);
    size_t n = s.n < cap - 1 ? s.n : cap - 1;
    if (n < s.n)
        while (n && ((unsigned char)s.p[n] & 0xc0) == 0x80)
            n--;
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f ? ' ' : s.p[i];
    out[n] = '\0';
}

static void copy_string(const struct jm_jtoken *v, char out[JM_SAID_TEXT])
{
    char buf[4 * JM_SAID_TEXT];
    struct jm_span s = v->raw;
    if (v->type == JM_J_STRING && v->escaped) {
        size_t n = jm_json_unescape(v->raw, buf, sizeof buf);
        s = (struct jm_span){buf, n < sizeof buf ? n : sizeof buf - 4};
    }
    jm_copy_words(s, out, JM_SAID_TEXT);
}

void jm_error_words(struct jm_span body, char out[JM_SAID_TEXT])
{
    static const char *const paths[] = {"error.message", "error.error", "message",
                                        "detail[].msg",  "detail",      "error"};
    enum { N = sizeof paths / sizeof *paths };
    struct jm_jsonscan scan;
    struct jm_jsonfound f[N];
    out[0] = '\0';
    body = jm_span_trim(body);
    if (body.n && body.p[0] == '{' && jm_jsonscan_init(&scan, paths, N, NULL) == 0 &&
        jm_jsonscan_run(&scan, body, f, NULL) == 0)
        for (size_t i = 0; i < N && !out[0]; i++)
            if (f[i].hits && f[i].v.type != JM_J_NULL)
                copy_string(&f[i].v, out);
    if (!out[0]) {
        struct jm_span line = body, rest = body;
        if (jm_span_line(&rest, &line))
            jm_copy_words(line, out, JM_SAID_TEXT);
    }
}
