/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static char empty[1] = "";

void jm_str_init(struct jm_str *s)
{
    *s = (struct jm_str){.buf = empty};
}

void jm_str_release(struct jm_str *s)
{
    if (s->cap)
        free(s->buf);
    jm_str_init(s);
}

void jm_str_reset(struct jm_str *s)
{
    s->len = 0;
    s->failed = false;
    if (s->cap)
        s->buf[0] = '\0';
}

void jm_str_recycle(struct jm_str *s, size_t most)
{
    if (s->cap > most)
        jm_str_release(s);
    else
        jm_str_reset(s);
}

static bool reserve(struct jm_str *s, size_t extra)
{
    if (s->failed)
        return false;
    if (extra < s->cap && s->len < s->cap - extra)
        return true;
    if (extra > (size_t)-1 / 4 || s->len > (size_t)-1 / 4) {
        s->failed = true;
        return false;
    }
    size_t need = s->len + extra + 1, cap = s->cap ? s->cap : 64;
    while (cap < need)
        cap *= 2;
    char *p = realloc(s->cap ? s->buf : NULL, cap);
    if (!p) {
        s->failed = true;
        return false;
    }
    if (!s->cap)
        p[0] = '\0';
    s->buf = p;
    s->cap = cap;
    return true;
}

void jm_str_add(struct jm_str *s, const void *p, size_t n)
{
    if (!n || !reserve(s, n))
        return;
    memcpy(s->buf + s->len, p, n);
    s->len += n;
    s->buf[s->len] = '\0';
}

void jm_str_adds(struct jm_str *s, const char *text)
{
    jm_str_add(s, text, strlen(text));
}

void jm_str_addspan(struct jm_str *s, struct jm_span t)
{
    jm_str_add(s, t.p, t.n);
}

void jm_str_addc(struct jm_str *s, char c)
{
    jm_str_add(s, &c, 1);
}

void jm_str_addv(struct jm_str *s, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0) {
        s->failed = true;
        return;
    }
    if (!reserve(s, (size_t)n))
        return;
    vsnprintf(s->buf + s->len, (size_t)n + 1, fmt, ap);
    s->len += (size_t)n;
}

void jm_str_addf(struct jm_str *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    jm_str_addv(s, fmt, ap);
    va_end(ap);
}

void jm_str_pad(struct jm_str *s, size_t upto_len, char c)
{
    if (upto_len <= s->len || !reserve(s, upto_len - s->len))
        return;
    memset(s->buf + s->len, c, upto_len - s->len);
    s->len = upto_len;
    s->buf[s->len] = '\0';
}

void jm_str_wrap(struct jm_str *out, struct jm_span text, size_t at, size_t width)
{
    size_t line = out->len; /* start of the line that is being filled */
    while (line && out->buf[line - 1] != '\n')
        line--;
    bool first = true;
    while ((text = jm_span_trim(text)).n) {
        size_t n = 0;
        while (n < text.n && text.p[n] != ' ' && text.p[n] != '\n')
            n++;
        size_t col = out->len - line;
        if (first || col + 1 + n > width) {
            if (col > at || (!first && col >= at)) {
                jm_str_addc(out, '\n');
                line = out->len;
            }
            jm_str_pad(out, line + at, ' ');
        } else {
            jm_str_addc(out, ' ');
        }
        jm_str_add(out, text.p, n);
        text = jm_span_sub(text, n, text.n);
        first = false;
        if (out->failed)
            return;
    }
    jm_str_addc(out, '\n');
}

size_t jm_utf8_len(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    unsigned char c = p[0];
    if (c < 0x80)
        return 1;
    size_t len = c >= 0xc2 && c <= 0xdf ? 2 : c >= 0xe0 && c <= 0xef ? 3 : c >= 0xf0 && c <= 0xf4 ? 4 : 0;
    if (!len || len > n)
        return 0;
    unsigned char lo = c == 0xe0   ? 0xa0
                       : c == 0xf0 ? 0x90
                                   : 0x80,
                  hi = c == 0xed   ? 0x9f
                       : c == 0xf4 ? 0x8f
                                   : 0xbf;
    if (p[1] < lo || p[1] > hi)
        return 0;
    for (size_t i = 2; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return len;
}

void jm_text_plain(char *p, size_t n, bool lines)
{
    for (size_t i = 0, len; i < n; i += len) {
        unsigned char c = (unsigned char)p[i];
        len = jm_utf8_len(p + i, n - i);
        if (c == '\t' || c == '\r' || c == '\n') {
            if (c != '\n' || !lines)
                p[i] = ' ';
        } else if (!len || c < 0x20 || c == 0x7f) {
            p[i] = '?';
            len = 1;
        } else if (c == 0xc2 && (unsigned char)p[i + 1] < 0xa0) {
            p[i] = p[i + 1] = '?'; /* the control characters of the second half */
        }
    }
}

struct jm_span jm_str_span(const struct jm_str *s)
{
    return (struct jm_span){s->buf, s->len};
}

char *jm_str_detach(struct jm_str *s)
{
    if (s->failed || !reserve(s, 0))
        return NULL;
    char *p = s->buf;
    jm_str_init(s);
    return p;
}

int jm_str_ok(const struct jm_str *s, const char *what, struct jm_err *err)
{
    return s->failed ? jm_err_set(err, JM_ENOMEM, "out of memory while building %s", what) : 0;
}
