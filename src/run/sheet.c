/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sheet.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

#define FLUSH_BYTES 65536

static int flush(struct jm_sheet *s, struct jm_err *err)
{
    int rc = jm_str_ok(&s->buf, s->path, err);
    for (size_t at = 0; !rc && at < s->buf.len;) {
        ssize_t n = write(s->fd, s->buf.buf + at, s->buf.len - at);
        if (n < 0 && errno != EINTR)
            rc = jm_err_sys(err, errno, "cannot write %s", s->path);
        at += n > 0 ? (size_t)n : 0;
    }
    jm_str_reset(&s->buf);
    return rc;
}

int jm_sheet_open(struct jm_sheet *s, const char *path, bool json, struct jm_err *err)
{
    *s = (struct jm_sheet){
        .json = json, .path = path, .fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
    jm_str_init(&s->buf);
    if (s->fd < 0)
        return jm_err_sys(err, errno, "cannot create %s", path);
    jm_jsonw_init(&s->w, &s->buf, 0);
    return 0;
}

int jm_sheet_close(struct jm_sheet *s, int rc, struct jm_err *err)
{
    if (s->fd < 0)
        return rc;
    if (!rc)
        rc = flush(s, err);
    if (close(s->fd) && !rc)
        rc = jm_err_sys(err, errno, "cannot write %s", s->path);
    s->fd = -1;
    jm_str_release(&s->buf);
    return rc;
}

void jm_sheet_table(struct jm_sheet *s, const char *name, const char *const *cols)
{
    s->cols = cols;
    if (s->json) {
        jm_jsonw_key(&s->w, name);
        jm_jsonw_array(&s->w);
        return;
    }
    for (int i = 0; cols[i]; i++)
        jm_str_addf(&s->buf, "%s%s", i ? "," : "", cols[i]);
    jm_str_adds(&s->buf, "\r\n");
}

void jm_sheet_table_end(struct jm_sheet *s)
{
    if (s->json)
        jm_jsonw_end(&s->w);
}

void jm_sheet_row(struct jm_sheet *s)
{
    s->col = 0;
    if (s->json)
        jm_jsonw_object(&s->w);
}

int jm_sheet_row_end(struct jm_sheet *s, struct jm_err *err)
{
    if (s->json)
        jm_jsonw_end(&s->w);
    else
        jm_str_adds(&s->buf, "\r\n");
    return s->buf.len > FLUSH_BYTES ? flush(s, err) : 0;
}

static void cell(struct jm_sheet *s)
{
    if (s->json)
        jm_jsonw_key(&s->w, s->cols[s->col]);
    else if (s->col)
        jm_str_addc(&s->buf, ',');
    s->col++;
}

void jm_sheet_null(struct jm_sheet *s)
{
    cell(s);
    if (s->json)
        jm_jsonw_null(&s->w);
}

void jm_sheet_i64(struct jm_sheet *s, int64_t v)
{
    cell(s);
    if (s->json)
        jm_jsonw_i64(&s->w, v);
    else
        jm_str_addf(&s->buf, "%" PRId64, v);
}

void jm_sheet_u64(struct jm_sheet *s, uint64_t v)
{
    cell(s);
    if (s->json)
        jm_jsonw_u64(&s->w, v);
    else
        jm_str_addf(&s->buf, "%" PRIu64, v);
}

void jm_sheet_opt(struct jm_sheet *s, int64_t v)
{
    if (v == -1)
        jm_sheet_null(s);
    else
        jm_sheet_i64(s, v);
}

void jm_sheet_num(struct jm_sheet *s, double v)
{
    char text[32];
    if (!isfinite(v)) {
        jm_sheet_null(s);
        return;
    }
    cell(s);
    if (s->json) {
        jm_jsonw_num(&s->w, v);
    } else {
        jm_json_fmt_double(text, v);
        jm_str_adds(&s->buf, text);
    }
}

void jm_sheet_span(struct jm_sheet *s, struct jm_span t)
{
    cell(s);
    if (s->json) {
        jm_jsonw_span(&s->w, t);
        return;
    }
    bool quote = false;
    for (size_t i = 0; i < t.n; i++)
        quote = quote || t.p[i] == '"' || t.p[i] == ',' || t.p[i] == '\n' || t.p[i] == '\r';
    if (quote)
        jm_str_addc(&s->buf, '"');
    for (size_t i = 0; i < t.n; i++) {
        if (t.p[i] == '"')
            jm_str_addc(&s->buf, '"');
        jm_str_addc(&s->buf, t.p[i]);
    }
    if (quote)
        jm_str_addc(&s->buf, '"');
}

void jm_sheet_text(struct jm_sheet *s, const char *t)
{
    if (!t || !*t)
        jm_sheet_null(s);
    else
        jm_sheet_span(s, jm_span_of(t));
}
