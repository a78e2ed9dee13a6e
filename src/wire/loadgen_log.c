/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/loadgen_log.h"

#include <string.h>

#include "base/num.h"
#include "wire/jsontok.h"
#include "wire/spl.h"

#include "base/banned.h"

/* ---- lines as LoadGen writes them, in one pass. Whatever differs in any byte is not judged here. */

struct scan {
    const char *p, *end;
};

static bool lit(struct scan *s, const char *text, size_t n)
{
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, text, n) != 0)
        return false;
    s->p += n;
    return true;
}
#define LIT(s, text) lit(s, text, sizeof(text) - 1)

/* After the opening quote: up to the closing one. Backslashes and control characters are not for here. */
static bool plain_string(struct scan *s, struct jm_span *out)
{
    const char *p = s->p;
    while (p < s->end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20)
        p++;
    if (p == s->end || *p != '"')
        return false;
    *out = (struct jm_span){s->p, (size_t)(p - s->p)};
    s->p = p + 1;
    return true;
}

static const char *some_digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

/* A number by the grammar of JSON. */
static bool plain_number(struct scan *s, struct jm_span *out)
{
    const char *p = s->p, *q;
    p += p < s->end && *p == '-';
    q = some_digits(p, s->end);
    if (q == p || (*p == '0' && q - p > 1))
        return false;
    p = q;
    if (p < s->end && *p == '.') {
        q = some_digits(p + 1, s->end);
        if (q == p + 1)
            return false;
        p = q;
    }
    if (p < s->end && (*p == 'e' || *p == 'E')) {
        p++;
        p += p < s->end && (*p == '+' || *p == '-');
        q = some_digits(p, s->end);
        if (q == p)
            return false;
        p = q;
    }
    *out = (struct jm_span){s->p, (size_t)(p - s->p)};
    s->p = p;
    return true;
}

static bool truth(struct scan *s, bool *out)
{
    *out = LIT(s, "true");
    return *out || LIT(s, "false");
}

static bool usual(struct jm_span line, struct jm_loadgen_entry *e)
{
    struct scan s = {line.p, line.p + line.n};
    struct jm_span skip;
    if (!LIT(&s, ":::MLLOG {\"key\": \"") || !plain_string(&s, &e->key) || !LIT(&s, ", \"value\": "))
        return false;
    const char *v = s.p;
    if (LIT(&s, "\"")) {
        if (!plain_string(&s, &e->text))
            return false;
        e->is_string = true;
    } else if (truth(&s, &e->boolean)) {
        e->is_bool = true;
        e->text = (struct jm_span){v, (size_t)(s.p - v)};
    } else if (plain_number(&s, &e->text)) {
        e->is_number = true;
    } else {
        return false;
    }
    return LIT(&s, ", \"time_ms\": ") && plain_number(&s, &skip) && LIT(&s, ", \"namespace\": \"") &&
           plain_string(&s, &skip) && LIT(&s, ", \"event_type\": \"") && plain_string(&s, &skip) &&
           LIT(&s, ", \"metadata\": {\"is_error\": ") && truth(&s, &e->is_error) &&
           LIT(&s, ", \"is_warning\": ") && truth(&s, &e->is_warning) && LIT(&s, ", \"file\": \"") &&
           plain_string(&s, &skip) && LIT(&s, ", \"line_no\": ") && plain_number(&s, &skip) &&
           LIT(&s, ", \"pid\": ") && plain_number(&s, &skip) && LIT(&s, ", \"tid\": ") &&
           plain_number(&s, &skip) && LIT(&s, "}}") && s.p == s.end;
}

/* ---- any JSON */

static bool is_true(const struct jm_jtoken *v)
{
    return v->type == JM_J_TRUE;
}

/* Flags below "metadata". Of a member that stands twice the last one counts, as in Python. */
static int metadata(struct jm_jsontok *t, struct jm_loadgen_entry *e)
{
    struct jm_jtoken k, v;
    int rc;
    e->is_error = e->is_warning = false;
    while ((rc = jm_jsontok_next(t, &k, NULL)) == 0 && k.type == JM_J_KEY) {
        if ((rc = jm_jsontok_next(t, &v, NULL)) || (rc = jm_jsontok_skip(t, &v, NULL)))
            return rc;
        if (jm_jtoken_is(&k, "is_error"))
            e->is_error = is_true(&v);
        else if (jm_jtoken_is(&k, "is_warning"))
            e->is_warning = is_true(&v);
    }
    return rc;
}

static void value_of(struct jm_loadgen_entry *e, const struct jm_jtoken *v)
{
    e->is_string = v->type == JM_J_STRING;
    e->is_number = v->type == JM_J_NUMBER;
    e->is_bool = v->type == JM_J_TRUE || v->type == JM_J_FALSE;
    e->boolean = is_true(v);
    e->escaped = e->is_string && v->escaped;
    e->text = e->is_string || e->is_number ? v->raw
              : e->is_bool                 ? (e->boolean ? JM_SPAN("true") : JM_SPAN("false"))
                                           : (struct jm_span){NULL, 0};
}

static int unescaped(const struct jm_jtoken *v, struct jm_str *scratch, struct jm_span *out)
{
    *out = v->raw;
    if (!v->escaped)
        return 0;
    jm_str_reset(scratch);
    jm_str_addspan(scratch, v->raw);
    if (scratch->failed)
        return JM_ENOMEM;
    scratch->len = jm_json_unescape(v->raw, scratch->buf, v->raw.n);
    *out = jm_str_span(scratch);
    return 0;
}

/* key stays empty where the document has none. */
static int document(struct jm_span text, struct jm_str *scratch, struct jm_loadgen_entry *e)
{
    struct jm_jsontok t;
    struct jm_jtoken k, v;
    int rc;
    jm_jsontok_init(&t, text, 0);
    if (jm_jsontok_next(&t, &k, NULL) || k.type != JM_J_OBJECT)
        return JM_EPARSE;
    while ((rc = jm_jsontok_next(&t, &k, NULL)) == 0 && k.type == JM_J_KEY) {
        if ((rc = jm_jsontok_next(&t, &v, NULL)))
            return JM_EPARSE;
        if (v.type == JM_J_OBJECT && jm_jtoken_is(&k, "metadata"))
            rc = metadata(&t, e);
        else if ((rc = jm_jsontok_skip(&t, &v, NULL)) == 0 && jm_jtoken_is(&k, "value"))
            value_of(e, &v);
        else if (!rc && jm_jtoken_is(&k, "key") && v.type == JM_J_STRING)
            rc = unescaped(&v, scratch, &e->key);
        if (rc)
            return rc == JM_ENOMEM ? rc : JM_EPARSE;
    }
    return rc || jm_jsontok_next(&t, &k, NULL) || k.type != JM_J_END ? JM_EPARSE : 0;
}

/* ---- text */

static void plain_value(struct jm_loadgen_entry *e, struct jm_span v)
{
    struct jm_span n;
    e->text = v;
    struct scan s = {v.p, v.p + v.n};
    e->is_number = v.n && plain_number(&s, &n) && s.p == s.end;
    e->is_bool = jm_span_is(v, "true") || jm_span_is(v, "false");
    e->boolean = e->is_bool && v.p[0] == 't';
    e->is_string = !e->is_number && !e->is_bool;
}

/* The last word before at, its colon taken off. */
static struct jm_span word_before(struct jm_span s)
{
    s = jm_span_trim(s);
    size_t i = s.n;
    while (i && s.p[i - 1] != ' ' && s.p[i - 1] != '\t')
        i--;
    s = jm_span_sub(s, i, s.n);
    if (s.n && s.p[s.n - 1] == ':')
        s.n--;
    return s;
}

/* ":::MLPv0.5.0 name time (file:line) key: value" without a document. */
static int training_text(struct jm_span line, struct jm_loadgen_entry *e)
{
    ptrdiff_t at = jm_span_find(line, JM_SPAN(") "));
    if (at < 0)
        return JM_EPARSE;
    struct jm_span rest = jm_span_trim(jm_span_sub(line, (size_t)at + 2, line.n));
    ptrdiff_t colon = jm_span_chr(rest, ':');
    e->key = colon < 0 ? rest : jm_span_trim(jm_span_sub(rest, 0, (size_t)colon));
    if (colon >= 0)
        plain_value(e, jm_span_trim(jm_span_sub(rest, (size_t)colon + 1, rest.n)));
    return e->key.n ? 0 : JM_EPARSE;
}

/* '"pid": 1, "tid": 1, "ts": 123ns : [ERROR : |WARNING : ]key : value' */
static int old_text(struct jm_span line, struct jm_loadgen_entry *e)
{
    ptrdiff_t at = jm_span_find(line, JM_SPAN("ns : "));
    if (at < 0)
        return JM_EAGAIN;
    struct jm_span rest = jm_span_trim(jm_span_sub(line, (size_t)at + 5, line.n));
    static const struct jm_span error = {"ERROR : ", 8}, warning = {"WARNING : ", 10};
    e->is_error = jm_span_starts(rest, error);
    e->is_warning = jm_span_starts(rest, warning);
    if (e->is_error || e->is_warning)
        rest = jm_span_sub(rest, e->is_error ? error.n : warning.n, rest.n);
    ptrdiff_t colon = jm_span_find(rest, JM_SPAN(" :"));
    if (colon < 0 && rest.n && rest.p[rest.n - 1] == ':')
        rest.n--; /* a heading */
    e->key = jm_span_trim(jm_span_sub(rest, 0, colon < 0 ? rest.n : (size_t)colon));
    if (colon >= 0)
        plain_value(e, jm_span_trim(jm_span_sub(rest, (size_t)colon + 2, rest.n)));
    return e->key.n ? 0 : JM_EAGAIN;
}

int jm_loadgen_line(struct jm_span line, struct jm_str *scratch, struct jm_loadgen_entry *e)
{
    while (line.n && (line.p[line.n - 1] == '\r' || line.p[line.n - 1] == ' '))
        line.n--;
    memset(e, 0, sizeof *e);
    e->json = true;
    if (usual(line, e))
        return 0;
    memset(e, 0, sizeof *e);
    if (jm_span_starts(line, JM_SPAN("\"pid\":")))
        return old_text(line, e);
    bool mllog = jm_span_istarts(line, JM_SPAN(":::MLLOG"));
    if (!mllog && !jm_span_istarts(line, JM_SPAN(":::MLPv")))
        return JM_EAGAIN;
    ptrdiff_t brace = jm_span_chr(line, '{');
    if (brace < 0)
        return mllog ? JM_EPARSE : training_text(line, e);
    int rc = document(jm_span_sub(line, (size_t)brace, line.n), scratch, e);
    if (rc)
        return rc;
    e->json = mllog;
    if (!e->key.p && !mllog)
        e->key = word_before(jm_span_sub(line, 0, (size_t)brace));
    return e->key.p ? 0 : JM_EAGAIN;
}

void jm_loadgen_text(const struct jm_loadgen_entry *e, struct jm_str *out)
{
    size_t at = out->len;
    jm_str_addspan(out, e->text);
    if (e->escaped && !out->failed && e->text.n) {
        out->len = at + jm_json_unescape(e->text, out->buf + at, e->text.n);
        out->buf[out->len] = '\0';
    }
}

void jm_loadgen_number(struct jm_loadgen_entry *e)
{
    struct jm_jtoken v = {.type = JM_J_NUMBER, .raw = e->text};
    e->has_integer = e->is_number && jm_num_i64(e->text, &e->integer) == 0;
    if (e->has_integer)
        e->number = (double)e->integer;
    else if (!e->is_number || jm_jtoken_double(&v, &e->number))
        e->is_number = false;
}

int jm_loadgen_detail(struct jm_span text, jm_loadgen_fn fn, void *self, int64_t *broken, struct jm_err *err)
{
    struct jm_span line;
    struct jm_str scratch, value;
    int rc = 0;
    *broken = 0;
    jm_str_init(&scratch);
    jm_str_init(&value);
    while (!rc && jm_span_line(&text, &line)) {
        struct jm_loadgen_entry e;
        rc = jm_loadgen_line(line, &scratch, &e);
        if (rc == JM_EPARSE)
            ++*broken;
        if (rc == JM_EPARSE || rc == JM_EAGAIN) {
            rc = 0;
            continue;
        }
        if (!rc && e.escaped) {
            jm_str_reset(&value);
            jm_loadgen_text(&e, &value);
            e.text = jm_str_span(&value);
            e.escaped = false;
            rc = value.failed ? JM_ENOMEM : 0;
        }
        jm_loadgen_number(&e);
        rc = rc == JM_ENOMEM ? jm_err_set(err, rc, "out of memory while reading a LoadGen detail log")
                             : fn(self, &e);
    }
    jm_str_release(&value);
    jm_str_release(&scratch);
    return rc;
}

bool jm_loadgen_summary_line(struct jm_span line, struct jm_span *key, struct jm_span *value)
{
    ptrdiff_t c = jm_span_chr(line, ':');
    if (c < 0)
        return false;
    *key = jm_span_trim(jm_span_sub(line, 0, (size_t)c));
    *value = jm_span_trim(jm_span_sub(line, (size_t)c + 1, line.n));
    return key->n > 0;
}

bool jm_loadgen_summary(struct jm_span text, const char *key, struct jm_span *value)
{
    struct jm_span line, k;
    while (jm_span_line(&text, &line))
        if (jm_loadgen_summary_line(line, &k, value) && jm_span_is(k, key))
            return true;
    return false;
}

/* ---- the power checker's window */

void jm_loadgen_window_init(struct jm_loadgen_window *w)
{
    *w = (struct jm_loadgen_window){.begin = -1, .end = -1};
}

static bool names(struct jm_span s, const char *lower, size_t n)
{
    struct jm_span word = {lower, n};
    for (size_t i = 0; i + n <= s.n; i++) {
        const char *a = memchr(s.p + i, '_', s.n - i); /* "power_begin": its sixth letter */
        if (!a)
            return false;
        i = (size_t)(a - s.p);
        if (i >= 5 && jm_span_ieq(jm_span_sub(s, i - 5, n), word))
            return true;
    }
    return false;
}

/* The first text of the form \d*-\d*-\d* \d*:\d*:\d*\.\d*, and what it says. */
static bool time_like(struct jm_span s, struct jm_span *out)
{
    static const char marks[] = "-- ::.";
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '-')
            continue;
        size_t from = i, at = i;
        while (from && s.p[from - 1] >= '0' && s.p[from - 1] <= '9')
            from--;
        int k = 0;
        for (; k < 6 && at < s.n && s.p[at] == marks[k]; k++)
            for (at++; at < s.n && s.p[at] >= '0' && s.p[at] <= '9';)
                at++;
        if (k == 6) {
            *out = jm_span_sub(s, from, at - from);
            return true;
        }
    }
    return false;
}

void jm_loadgen_window_line(struct jm_loadgen_window *w, struct jm_span line)
{
    if (w->done)
        return;
    bool begin = names(line, "power_begin", 11);
    if (!begin && !names(line, "power_end", 9))
        return;
    struct jm_span t;
    int64_t ns;
    if (!time_like(line, &t) || jm_spl_time(t, &ns)) {
        w->done = w->timeless = true;
        return;
    }
    *(begin ? &w->begin : &w->end) = ns;
    w->done = w->begin >= 0 && w->end >= 0;
}
