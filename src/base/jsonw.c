/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

enum { IS_OBJECT = 1, HAS_MEMBERS = 2 };

void jm_jsonw_init(struct jm_jsonw *w, struct jm_str *out, int indent)
{
    *w = (struct jm_jsonw){.out = out, .indent = indent};
}

static void newline(struct jm_jsonw *w, int depth)
{
    if (w->indent <= 0)
        return;
    jm_str_addc(w->out, '\n');
    jm_str_pad(w->out, w->out->len + (size_t)(depth * w->indent), ' ');
}

/* What comes before a value or a key: the comma and the line. */
static void before(struct jm_jsonw *w, bool is_key)
{
    if (w->after_key) {
        w->after_key = false;
        w->misuse |= is_key;
        return;
    }
    if (!w->depth)
        return;
    unsigned char *top = &w->stack[w->depth - 1];
    if (((*top & IS_OBJECT) != 0) != is_key)
        w->misuse = true; /* a value without a key, or a key in an array */
    if (*top & HAS_MEMBERS)
        jm_str_addc(w->out, ',');
    *top |= HAS_MEMBERS;
    newline(w, w->depth);
}

static void open_level(struct jm_jsonw *w, char c, unsigned char kind)
{
    before(w, false);
    if (w->depth >= (int)sizeof w->stack) {
        w->misuse = true;
        return;
    }
    w->stack[w->depth++] = kind;
    jm_str_addc(w->out, c);
}

void jm_jsonw_object(struct jm_jsonw *w)
{
    open_level(w, '{', IS_OBJECT);
}

void jm_jsonw_array(struct jm_jsonw *w)
{
    open_level(w, '[', 0);
}

void jm_jsonw_end(struct jm_jsonw *w)
{
    if (!w->depth || w->after_key) {
        w->misuse = true;
        return;
    }
    unsigned char top = w->stack[--w->depth];
    if (top & HAS_MEMBERS)
        newline(w, w->depth);
    jm_str_addc(w->out, top & IS_OBJECT ? '}' : ']');
    if (!w->depth && w->indent > 0)
        jm_str_addc(w->out, '\n');
}

static void quoted(struct jm_str *out, struct jm_span s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    jm_str_addc(out, '"');
    for (size_t i = 0, plain = 0; i <= s.n;) {
        size_t len = i < s.n ? jm_utf8_len(s.p + i, s.n - i) : 0;
        if (i < s.n && len && p[i] >= 0x20 && p[i] != '"' && p[i] != '\\') {
            i += len;
            continue;
        }
        jm_str_add(out, s.p + plain, i - plain); /* the run that needs no escape */
        if (i == s.n)
            break;
        static const char named[] = "\b\t\n\f\r\"\\", letters[] = "btnfr\"\\";
        const char *at = p[i] ? strchr(named, p[i]) : NULL;
        if (!len)
            jm_str_adds(out, "\xef\xbf\xbd");
        else if (at)
            jm_str_addf(out, "\\%c", letters[at - named]);
        else
            jm_str_addf(out, "\\u%04x", p[i]);
        plain = ++i;
    }
    jm_str_addc(out, '"');
}

void jm_jsonw_key(struct jm_jsonw *w, const char *key)
{
    before(w, true);
    quoted(w->out, jm_span_of(key));
    jm_str_adds(w->out, w->indent > 0 ? ": " : ":");
    w->after_key = true;
}

void jm_jsonw_span(struct jm_jsonw *w, struct jm_span s)
{
    before(w, false);
    if (s.p)
        quoted(w->out, s);
    else
        jm_str_adds(w->out, "null");
}

void jm_jsonw_str(struct jm_jsonw *w, const char *s)
{
    jm_jsonw_span(w, jm_span_of(s));
}

void jm_jsonw_i64(struct jm_jsonw *w, int64_t v)
{
    before(w, false);
    jm_str_addf(w->out, "%lld", (long long)v);
}

void jm_jsonw_u64(struct jm_jsonw *w, uint64_t v)
{
    before(w, false);
    jm_str_addf(w->out, "%llu", (unsigned long long)v);
}

/* printf's decimal point is the locale's; JSON's is not. */
static void to_point(char *text)
{
    size_t i = strspn(text, "0123456789-+"), n = strcspn(text + i, "0123456789eE");
    if (n && text[i + n]) {
        text[i] = '.';
        memmove(text + i + 1, text + i + n, strlen(text + i + n) + 1);
    }
}

int jm_json_fmt_double(char buf[32], double v)
{
    if (!isfinite(v))
        return snprintf(buf, 32, "null");
    if (v == 0)
        v = 0; /* "-0" would be read back as the integer 0 */
    for (int digits = 15; digits <= 17; digits++) {
        double back;
        snprintf(buf, 32, "%.*g", digits, v);
        to_point(buf);
        if (jm_num_double(jm_span_of(buf), &back) == 0 && back == v)
            break;
    }
    return (int)strlen(buf);
}

void jm_jsonw_num(struct jm_jsonw *w, double v)
{
    char buf[32];
    before(w, false);
    jm_json_fmt_double(buf, v);
    jm_str_adds(w->out, buf);
}

void jm_jsonw_bool(struct jm_jsonw *w, bool v)
{
    before(w, false);
    jm_str_adds(w->out, v ? "true" : "false");
}

void jm_jsonw_null(struct jm_jsonw *w)
{
    before(w, false);
    jm_str_adds(w->out, "null");
}

void jm_jsonw_raw(struct jm_jsonw *w, struct jm_span json)
{
    before(w, false);
    jm_str_addspan(w->out, json);
}

void jm_jsonw_kstr(struct jm_jsonw *w, const char *key, const char *s)
{
    jm_jsonw_key(w, key);
    jm_jsonw_str(w, s);
}

void jm_jsonw_kspan(struct jm_jsonw *w, const char *key, struct jm_span s)
{
    jm_jsonw_key(w, key);
    jm_jsonw_span(w, s);
}

void jm_jsonw_ki64(struct jm_jsonw *w, const char *key, int64_t v)
{
    jm_jsonw_key(w, key);
    jm_jsonw_i64(w, v);
}

void jm_jsonw_knum(struct jm_jsonw *w, const char *key, double v)
{
    jm_jsonw_key(w, key);
    jm_jsonw_num(w, v);
}

void jm_jsonw_kbool(struct jm_jsonw *w, const char *key, bool v)
{
    jm_jsonw_key(w, key);
    jm_jsonw_bool(w, v);
}
