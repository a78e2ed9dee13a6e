/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/csv.h"

#include <string.h>

#include "base/banned.h"

void jm_csv_init(struct jm_csv *c, struct jm_span text, char sep)
{
    *c = (struct jm_csv){.in = text, .sep = sep ? sep : ',', .next = 1};
    if (jm_span_starts(text, JM_SPAN("\xef\xbb\xbf")))
        c->at = 3;
}

static int bad(const struct jm_csv *c, const char *what, struct jm_err *err)
{
    return jm_err_set(err, JM_EPARSE, "line %lld: %s", (long long)c->line, what);
}

/* c->at is behind the opening quote. */
static int quoted(struct jm_csv *c, struct jm_csv_field *f, struct jm_err *err)
{
    size_t from = c->at;
    f->escaped = false;
    for (;;) {
        const char *q = memchr(c->in.p + c->at, '"', c->in.n - c->at);
        if (!q)
            return bad(c, "a quoted field never ends", err);
        size_t at = (size_t)(q - c->in.p);
        for (size_t i = c->at; i < at; i++)
            c->next += c->in.p[i] == '\n';
        c->at = at + 1;
        if (c->at >= c->in.n || c->in.p[c->at] != '"') {
            f->raw = jm_span_sub(c->in, from, at - from);
            return 0;
        }
        f->escaped = true;
        c->at++;
    }
}

static void plain(struct jm_csv *c, struct jm_csv_field *f)
{
    size_t from = c->at;
    while (c->at < c->in.n && c->in.p[c->at] != c->sep && c->in.p[c->at] != '\n')
        c->at++;
    f->raw = jm_span_sub(c->in, from, c->at - from);
    f->escaped = false;
    if ((c->at >= c->in.n || c->in.p[c->at] == '\n') && f->raw.n && f->raw.p[f->raw.n - 1] == '\r')
        f->raw.n--;
}

int jm_csv_row(struct jm_csv *c, struct jm_csv_field *f, size_t cap, size_t *n, struct jm_err *err)
{
    *n = 0;
    if (c->at >= c->in.n)
        return 0;
    c->line = c->next;
    for (;;) {
        struct jm_csv_field one = {{c->in.p + c->at, 0}, false};
        if (*n == cap)
            return jm_err_set(err, JM_ELIMIT, "line %lld: more than %zu fields", (long long)c->line, cap);
        if (c->at < c->in.n && c->in.p[c->at] == '"') {
            c->at++;
            int rc = quoted(c, &one, err);
            if (rc)
                return rc;
            if (c->at < c->in.n && c->in.p[c->at] == '\r' &&
                (c->at + 1 == c->in.n || c->in.p[c->at + 1] == '\n'))
                c->at++;
            if (c->at < c->in.n && c->in.p[c->at] != c->sep && c->in.p[c->at] != '\n')
                return bad(c, "text stands behind a quoted field", err);
        } else {
            plain(c, &one);
        }
        f[(*n)++] = one;
        if (c->at >= c->in.n)
            return 1;
        if (c->in.p[c->at++] == '\n') {
            c->next++;
            return 1;
        }
    }
}

char *jm_csv_text(const struct jm_csv_field *f, char *buf, size_t cap)
{
    size_t n = 0;
    for (size_t i = 0; i < f->raw.n && n + 1 < cap; i++) {
        buf[n++] = f->raw.p[i] ? f->raw.p[i] : '?';
        i += f->escaped && f->raw.p[i] == '"'; /* the second of a pair */
    }
    buf[n] = '\0';
    return buf;
}

int jm_csv_find(const struct jm_csv_field *f, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (jm_span_is(jm_span_trim(f[i].raw), name))
            return (int)i;
    return -1;
}
