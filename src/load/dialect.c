/* SPDX-License-Identifier: Apache-2.0 */
#include "load/dialect.h"

#include <string.h>

#include "base/banned.h"

#define ROW(symbol, name, alias, engine, path, path_whole, summary)                                          \
    {name, alias, engine, path, path_whole, summary, &jm_dialect_##symbol},
static const struct jm_dialect_row rows[] = {JM_DIALECTS(ROW)};
enum { ROWS = sizeof rows / sizeof *rows };

const struct jm_dialect_row *jm_dialect_at(size_t i)
{
    return i < ROWS ? &rows[i] : NULL;
}

const struct jm_dialect_row *jm_dialect_find(const char *name)
{
    for (size_t i = 0; name && i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0 || (rows[i].alias && strcmp(rows[i].alias, name) == 0))
            return &rows[i];
    return NULL;
}

int jm_dialect_need(const char *name, const struct jm_dialect_row **out, struct jm_err *err)
{
    if ((*out = jm_dialect_find(name)))
        return 0;
    return jm_err_set(err, JM_EINVAL, "there is no API named \"%s\"; known are %s", name ? name : "",
                      JM_DIALECT_NAMES);
}

int jm_dialect_path(const char *path, const char *model, struct jm_str *out, struct jm_err *err)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    const char *hole = strstr(path, "{model}");
    if (!hole) {
        jm_str_adds(out, path);
    } else {
        jm_str_add(out, path, (size_t)(hole - path));
        for (const char *c = model; *c; c++) {
            if (strchr(plain, *c))
                jm_str_addc(out, *c);
            else
                jm_str_addf(out, "%%%02X", (unsigned char)*c);
        }
        jm_str_adds(out, hole + strlen("{model}"));
    }
    return jm_str_ok(out, "a request's path", err);
}

static size_t count(const char *const *paths)
{
    size_t n = 0;
    while (paths[n])
        n++;
    return n;
}

int jm_reader_init(struct jm_reader *r, const struct jm_dialect_row *row, struct jm_err *err)
{
    const struct jm_dialect *d = row->d;
    r->row = row;
    r->d = d;
    int rc = jm_jsonscan_init(&r->event, d->event, count(d->event), err);
    return rc ? rc : jm_jsonscan_init(&r->whole, d->whole, count(d->whole), err);
}

/* Once an event: the pieces and the words are written before they are read. */
void jm_said_init(struct jm_said *s)
{
    s->bad = s->done = s->failed = s->choices = s->so_far = s->usage = false;
    s->text[0] = '\0';
    memset(s->finish, 0, sizeof s->finish);
    s->said_by = s->ended = 0;
    s->pieces = 0;
    s->ids = s->prompt = s->output = s->cached = s->reasoning = s->load_ns = -1;
}

bool jm_said_event(const struct jm_sse_event *ev, struct jm_span *data, struct jm_said *out)
{
    *data = jm_span_trim(ev->data);
    if (ev->error) {
        jm_said_init(out);
        jm_said_failed(out, *data);
        return false;
    }
    if (jm_span_is(*data, "[DONE]")) {
        jm_said_init(out);
        out->done = true;
        return false;
    }
    if (!data->n) { /* a keep-alive: says nothing */
        jm_said_init(out);
        return false;
    }
    return true;
}

bool jm_said_scan(const struct jm_jsonscan *scan, struct jm_span doc, struct jm_jsonfound *f,
                  struct jm_said *out)
{
    jm_said_init(out);
    doc = jm_span_trim(doc);
    out->bad = !doc.n || doc.p[0] != '{' || jm_jsonscan_run(scan, doc, f, NULL) != 0;
    return !out->bad;
}

bool jm_said_answer(const struct jm_jsonscan *scan, struct jm_span doc, size_t error, struct jm_jsonfound *f,
                    struct jm_said *out)
{
    if (!jm_said_scan(scan, doc, f, out))
        return false;
    if (jm_found(&f[error]))
        jm_said_failed(out, doc);
    return !out->failed;
}

void jm_said_failed(struct jm_said *out, struct jm_span doc)
{
    out->failed = true;
    jm_error_words(doc, out->text);
}

void jm_said_piece(struct jm_said *out, const struct jm_jsonfound *f, unsigned flags)
{
    bool text = f->v.type == JM_J_STRING && f->v.raw.n;
    bool list = f->v.type == JM_J_ARRAY && f->v.raw.n > 2;
    if (!f->hits || !(text || list) || out->pieces == JM_SAID_PIECES)
        return;
    out->piece[out->pieces].text = f->v;
    out->piece[out->pieces++].flags = flags;
}

void jm_said_finish(struct jm_said *out, const struct jm_jsonfound *f)
{
    char buf[64];
    if (!f->hits || f->v.type != JM_J_STRING)
        return;
    size_t n = jm_json_unescape(f->v.raw, buf, sizeof buf);
    jm_copy_words((struct jm_span){buf, n < sizeof buf ? n : sizeof buf}, out->finish, sizeof out->finish);
}

int64_t jm_found_count(const struct jm_jsonfound *f)
{
    int64_t v;
    return f->hits && jm_jtoken_i64(&f->v, &v) == 0 && v >= 0 ? v : -1;
}

int64_t jm_found_items(const struct jm_jsonfound *f)
{
    struct jm_jsontok t;
    struct jm_jtoken v;
    int64_t n = 0;
    if (!f->hits || f->v.type != JM_J_ARRAY)
        return -1;
    jm_jsontok_init(&t, f->v.raw, JM_JSONTOK_DEPTH);
    if (jm_jsontok_next(&t, &v, NULL) != 0)
        return -1;
    while (jm_jsontok_next(&t, &v, NULL) == 0 && v.type != JM_J_ARRAY_END) {
        if (jm_jsontok_skip(&t, &v, NULL) != 0)
            return -1;
        n++;
    }
    return n;
}

bool jm_found(const struct jm_jsonfound *f)
{
    return f->hits && f->v.type != JM_J_NULL;
}

bool jm_found_true(const struct jm_jsonfound *f)
{
    return f->hits && f->v.type == JM_J_TRUE;
}

bool jm_found_is(const struct jm_jsonfound *f, const char *text)
{
    return f->hits && f->v.type == JM_J_STRING && jm_jtoken_is(&f->v, text);
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

/* "<html><head><title>502 Bad Gateway</title>": what a proxy says for people; without a title nothing. */
static struct jm_span title_of(struct jm_span page)
{
    ptrdiff_t a = jm_span_find(page, JM_SPAN("<title>"));
    struct jm_span rest = a < 0 ? (struct jm_span){page.p, 0} : jm_span_sub(page, (size_t)a + 7, page.n);
    ptrdiff_t b = jm_span_find(rest, JM_SPAN("</title>"));
    return jm_span_sub(rest, 0, b < 0 ? 0 : (size_t)b);
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
    if (!out[0] && body.n && body.p[0] == '<') {
        jm_copy_words(title_of(body), out, JM_SAID_TEXT);
    } else if (!out[0]) {
        struct jm_span line = body, rest = body;
        if (jm_span_line(&rest, &line))
            jm_copy_words(line, out, JM_SAID_TEXT);
    }
}
