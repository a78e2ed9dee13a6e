/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/jsontok.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/banned.h"

#define DEFAULT_DEPTH 64

enum expect {
    X_VALUE,      /* the document's value, an item after a comma, or a member's value */
    X_FIRST_ITEM, /* after [ */
    X_FIRST_KEY,  /* after { */
    X_KEY,        /* after a comma in an object */
    X_COLON,
    X_COMMA_OR_END, /* after an item or member */
    X_DONE
};

void jm_jsontok_init(struct jm_jsontok *t, struct jm_span in, int most_depth)
{
    *t = (struct jm_jsontok){.in = in, .most_depth = most_depth > 0 ? most_depth : DEFAULT_DEPTH};
    if (t->most_depth > JM_JSONTOK_DEPTH)
        t->most_depth = JM_JSONTOK_DEPTH;
    t->expect = X_VALUE;
}

struct jm_span jm_jsontok_rest(const struct jm_jsontok *t)
{
    return jm_span_sub(t->in, t->at, t->in.n);
}

void jm_jsontok_feed(struct jm_jsontok *t, struct jm_span in)
{
    t->base += (int64_t)t->at;
    t->in = in;
    t->at = 0;
}

static int bad(const struct jm_jsontok *t, size_t at, const char *what, struct jm_err *err)
{
    return jm_err_set(err, JM_EPARSE, "not valid JSON at byte %lld: %s", (long long)(t->base + (int64_t)at),
                      what);
}

/* The bytes end inside a token that began at start. */
static int short_of(struct jm_jsontok *t, size_t start, const char *what, struct jm_err *err)
{
    if (t->partial) {
        t->at = start;
        return JM_EAGAIN;
    }
    return bad(t, t->in.n, what, err);
}

static bool in_object(const struct jm_jsontok *t)
{
    int d = t->depth - 1;
    return (t->kinds[d / 8] >> (d % 8)) & 1;
}

static int open_level(struct jm_jsontok *t, bool object, struct jm_err *err)
{
    if (t->depth >= t->most_depth)
        return jm_err_set(err, JM_ELIMIT, "JSON at byte %lld is nested deeper than %d levels",
                          (long long)(t->base + (int64_t)t->at), t->most_depth);
    unsigned char bit = (unsigned char)(1u << (t->depth % 8));
    if (object)
        t->kinds[t->depth / 8] |= bit;
    else
        t->kinds[t->depth / 8] &= (unsigned char)~bit;
    t->depth++;
    t->expect = object ? X_FIRST_KEY : X_FIRST_ITEM;
    return 0;
}

static void after_value(struct jm_jsontok *t)
{
    t->expect = t->depth ? X_COMMA_OR_END : X_DONE;
}

/* Length of the UTF-8 sequence at p, 0 when it is malformed (overlong, surrogate, above U+10FFFF, cut). */
static size_t utf8_len(const unsigned char *p, size_t n)
{
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] < 0xe0)
        return n >= 2 && (p[1] & 0xc0) == 0x80 ? 2 : 0;
    if ((p[0] & 0xf0) == 0xe0) {
        if (n < 3 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80 || (p[0] == 0xe0 && p[1] < 0xa0) ||
            (p[0] == 0xed && p[1] >= 0xa0))
            return 0;
        return 3;
    }
    if (p[0] >= 0xf0 && p[0] < 0xf5) {
        if (n < 4 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80 || (p[3] & 0xc0) != 0x80 ||
            (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90))
            return 0;
        return 4;
    }
    return 0;
}

static int hex4(const char *p)
{
    int v = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int d = c >= '0' && c <= '9'                     ? c - '0'
                : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                         : -1;
        if (d < 0)
            return -1;
        v = v * 16 + d;
    }
    return v;
}

/* How many of the next eight bytes are neither a quote nor a backslash nor a control character, up to the
 * first that is (the usual zero-in-word test, whose lowest hit is exact; on other machines than little-endian
 * ones: 8 or 0). */
static unsigned ordinary8(const char *p)
{
    uint64_t w, ones = UINT64_C(0x0101010101010101), high = ones << 7;
    memcpy(&w, p, 8);
    uint64_t q = w ^ (ones * '"'), b = w ^ (ones * '\\');
    uint64_t hit = (((q - ones) & ~q) | ((b - ones) & ~b) | ((w - ones * 0x20) & ~w)) & high;
    if (!hit)
        return 8;
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? (unsigned)__builtin_ctzll(hit) / 8 : 0;
}

/* t->at is behind the opening quote. */
static int string(struct jm_jsontok *t, size_t start, struct jm_jtoken *out, struct jm_err *err)
{
    const char *p = t->in.p;
    size_t n = t->in.n, i = t->at;
    out->escaped = false;
    for (;;) {
        if (!t->utf8) {
            unsigned k = 8;
            for (; k == 8 && i + 8 <= n; i += k)
                k = ordinary8(p + i);
        }
        if (i >= n)
            return short_of(t, start, "the text ends inside a string", err);
        unsigned char c = (unsigned char)p[i];
        if (c == '"')
            break;
        if (c < 0x20)
            return bad(t, i, "a control character stands in a string", err);
        if (c == '\\') {
            out->escaped = true;
            if (i + 1 >= n)
                return short_of(t, start, "the text ends inside a string", err);
            if (p[i + 1] == 'u') {
                if (i + 6 > n)
                    return short_of(t, start, "the text ends inside a \\u escape", err);
                if (hex4(p + i + 2) < 0)
                    return bad(t, i, "\\u is not followed by four hexadecimal digits", err);
                i += 6;
            } else if (p[i + 1] != '\0' && strchr("\"\\/bfnrt", p[i + 1])) {
                i += 2;
            } else {
                return bad(t, i, "a backslash stands before a character that cannot be escaped", err);
            }
            continue;
        }
        if (t->utf8 && c >= 0x80) {
            size_t len = utf8_len((const unsigned char *)p + i, n - i);
            if (!len)
                return t->partial && n - i < 4 ? short_of(t, start, "", err)
                                               : bad(t, i, "a string is not valid UTF-8", err);
            i += len;
            continue;
        }
        i++;
    }
    out->raw = (struct jm_span){p + t->at, i - t->at};
    t->at = i + 1;
    return 0;
}

static bool digit(const struct jm_jsontok *t, size_t i)
{
    return i < t->in.n && t->in.p[i] >= '0' && t->in.p[i] <= '9';
}

static int word(struct jm_jsontok *t, size_t start, size_t i, const char *w, struct jm_jtoken *out,
                struct jm_err *err)
{
    size_t len = strlen(w), have = t->in.n - i < len ? t->in.n - i : len;
    if (memcmp(t->in.p + i, w, have) != 0)
        return bad(t, start, "this is no value", err);
    if (have < len)
        return short_of(t, start, "the text ends inside a value", err);
    out->raw = (struct jm_span){t->in.p + start, i + len - start};
    t->at = i + len;
    return 0;
}

static int number(struct jm_jsontok *t, size_t start, struct jm_jtoken *out, struct jm_err *err)
{
    size_t i = start;
    out->type = JM_J_NUMBER;
    if (t->in.p[i] == '-')
        i++;
    if (i < t->in.n && (t->in.p[i] == 'I' || (t->in.p[i] == 'N' && i == start))) {
        out->nonfinite = true;
        return word(t, start, i, t->in.p[i] == 'I' ? "Infinity" : "NaN", out, err);
    }
    if (!digit(t, i))
        return i >= t->in.n ? short_of(t, start, "the text ends inside a number", err)
                            : bad(t, start, "this is no value", err);
    if (t->in.p[i] == '0')
        i++;
    else
        while (digit(t, i))
            i++;
    if (i < t->in.n && t->in.p[i] == '.') {
        if (!digit(t, ++i))
            return i >= t->in.n ? short_of(t, start, "the text ends inside a number", err)
                                : bad(t, i, "a digit must follow the point", err);
        while (digit(t, i))
            i++;
    }
    if (i < t->in.n && (t->in.p[i] == 'e' || t->in.p[i] == 'E')) {
        i++;
        if (i < t->in.n && (t->in.p[i] == '+' || t->in.p[i] == '-'))
            i++;
        if (!digit(t, i))
            return i >= t->in.n ? short_of(t, start, "the text ends inside a number", err)
                                : bad(t, i, "a digit must follow the exponent", err);
        while (digit(t, i))
            i++;
    }
    if (i >= t->in.n && t->partial)
        return short_of(t, start, "", err); /* it may go on */
    if (digit(t, i))
        return bad(t, i, "a number must not begin with 0", err);
    out->raw = (struct jm_span){t->in.p + start, i - start};
    t->at = i;
    return 0;
}

static int value(struct jm_jsontok *t, size_t start, struct jm_jtoken *out, struct jm_err *err)
{
    int rc;
    switch (t->in.p[start]) {
    case '{':
    case '[': {
        bool object = t->in.p[start] == '{';
        rc = open_level(t, object, err);
        if (rc)
            return rc;
        out->type = object ? JM_J_OBJECT : JM_J_ARRAY;
        out->raw = (struct jm_span){t->in.p + start, 1};
        t->at = start + 1;
        return 0;
    }
    case '"':
        out->type = JM_J_STRING;
        t->at = start + 1;
        rc = string(t, start, out, err);
        break;
    case 't':
        out->type = JM_J_TRUE;
        rc = word(t, start, start, "true", out, err);
        break;
    case 'f':
        out->type = JM_J_FALSE;
        rc = word(t, start, start, "false", out, err);
        break;
    case 'n':
        out->type = JM_J_NULL;
        rc = word(t, start, start, "null", out, err);
        break;
    default: rc = number(t, start, out, err); break;
    }
    if (rc == 0)
        after_value(t);
    return rc;
}

static int close_level(struct jm_jsontok *t, size_t at, struct jm_jtoken *out)
{
    out->type = in_object(t) ? JM_J_OBJECT_END : JM_J_ARRAY_END;
    out->raw = (struct jm_span){t->in.p + at, 1};
    t->at = at + 1;
    t->depth--;
    after_value(t);
    return 0;
}

int jm_jsontok_next(struct jm_jsontok *t, struct jm_jtoken *out, struct jm_err *err)
{
    for (;;) {
        while (t->at < t->in.n && (t->in.p[t->at] == ' ' || t->in.p[t->at] == '\n' ||
                                   t->in.p[t->at] == '\t' || t->in.p[t->at] == '\r'))
            t->at++;
        *out = (struct jm_jtoken){.offset = t->base + (int64_t)t->at};
        if (t->at >= t->in.n) {
            if (t->expect == X_DONE && !t->partial)
                return 0; /* JM_J_END */
            return short_of(t, t->at, "the text ends too early", err);
        }
        size_t at = t->at;
        char c = t->in.p[at];
        switch (t->expect) {
        case X_VALUE: return value(t, at, out, err);
        case X_FIRST_ITEM: return c == ']' ? close_level(t, at, out) : value(t, at, out, err);
        case X_FIRST_KEY:
            if (c == '}')
                return close_level(t, at, out);
            /* fall through */
        case X_KEY: {
            if (c != '"')
                return bad(t, at, "a member's name in quotes must stand here", err);
            out->type = JM_J_KEY;
            t->at = at + 1;
            int rc = string(t, at, out, err);
            if (rc == 0)
                t->expect = X_COLON;
            return rc;
        }
        case X_COLON:
            if (c != ':')
                return bad(t, at, "a colon must stand here", err);
            t->at++;
            t->expect = X_VALUE;
            break;
        case X_COMMA_OR_END:
            if (c == (in_object(t) ? '}' : ']'))
                return close_level(t, at, out);
            if (c != ',')
                return bad(t, at, "a comma or a closing bracket must stand here", err);
            t->at++;
            t->expect = in_object(t) ? X_KEY : X_VALUE;
            break;
        default: return bad(t, at, "something follows the end of the document", err);
        }
    }
}

int jm_jsontok_skip(struct jm_jsontok *t, struct jm_jtoken *v, struct jm_err *err)
{
    if (v->type != JM_J_OBJECT && v->type != JM_J_ARRAY)
        return 0;
    int until = t->depth - 1;
    const char *from = v->raw.p;
    struct jm_jtoken x;
    while (t->depth > until) {
        int rc = jm_jsontok_next(t, &x, err);
        if (rc)
            return rc;
    }
    v->raw = (struct jm_span){from, (size_t)(t->in.p + t->at - from)};
    return 0;
}

int jm_jtoken_i64(const struct jm_jtoken *v, int64_t *out)
{
    if (v->type != JM_J_NUMBER)
        return JM_EPARSE;
    if (v->nonfinite)
        return JM_ERANGE;
    int rc = jm_num_i64(v->raw, out);
    if (rc == JM_EPARSE) /* 1.0, 1e3 */
        rc = jm_num_fixed(v->raw, 0, out);
    return rc;
}

int jm_jtoken_u64(const struct jm_jtoken *v, uint64_t *out)
{
    int64_t i;
    if (v->type != JM_J_NUMBER)
        return JM_EPARSE;
    if (v->nonfinite)
        return JM_ERANGE;
    int rc = jm_num_u64(v->raw, out);
    if (rc != JM_EPARSE)
        return rc;
    rc = jm_num_fixed(v->raw, 0, &i);
    if (rc == 0 && i < 0)
        return JM_ERANGE;
    if (rc == 0)
        *out = (uint64_t)i;
    return rc;
}

int jm_jtoken_double(const struct jm_jtoken *v, double *out)
{
    if (v->type != JM_J_NUMBER)
        return JM_EPARSE;
    if (v->nonfinite) {
        *out = v->raw.p[0] == 'N' ? NAN : v->raw.p[0] == '-' ? -INFINITY : INFINITY;
        return 0;
    }
    return jm_num_double(v->raw, out);
}

static size_t put_utf8(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* One escape at raw.p[*i] (a backslash). */
static uint32_t escape(struct jm_span raw, size_t *i)
{
    size_t left = raw.n - *i;
    char c = left > 1 ? raw.p[*i + 1] : '\\';
    if (c != 'u' || left < 6) {
        static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
        const char *k = c ? strchr(from, c) : NULL;
        *i += left > 1 ? 2 : 1;
        return k ? (uint32_t)to[k - from] : (unsigned char)c;
    }
    int u = hex4(raw.p + *i + 2);
    *i += 6;
    if (u < 0)
        return 0xfffd;
    if (u >= 0xd800 && u < 0xdc00 && left >= 12 && raw.p[*i] == '\\' && raw.p[*i + 1] == 'u') {
        int low = hex4(raw.p + *i + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            *i += 6;
            return 0x10000u + (((uint32_t)u - 0xd800u) << 10) + ((uint32_t)low - 0xdc00u);
        }
    }
    return u >= 0xd800 && u < 0xe000 ? 0xfffdu : (uint32_t)u;
}

size_t jm_json_unescape(struct jm_span raw, char *buf, size_t cap)
{
    size_t i = 0, n = 0;
    bool room = true;
    while (i < raw.n) {
        char c[4];
        size_t len;
        if (raw.p[i] != '\\') {
            const char *b = memchr(raw.p + i, '\\', raw.n - i);
            len = b ? (size_t)(b - raw.p) - i : raw.n - i;
            size_t fits = room ? (len < cap - n ? len : cap - n) : 0;
            if (fits < len) { /* no half character at the end of the buffer */
                while (fits && ((unsigned char)raw.p[i + fits] & 0xc0) == 0x80)
                    fits--;
                room = false;
            }
            if (fits)
                memcpy(buf + n, raw.p + i, fits);
            i += len;
        } else {
            len = put_utf8(escape(raw, &i), c);
            if (room && len <= cap - n)
                memcpy(buf + n, c, len);
            else
                room = false;
        }
        n += len;
    }
    return n;
}

bool jm_jtoken_is(const struct jm_jtoken *v, const char *text)
{
    if (v->type != JM_J_KEY && v->type != JM_J_STRING)
        return false;
    if (!v->escaped)
        return jm_span_is(v->raw, text);
    char buf[256];
    size_t n = jm_json_unescape(v->raw, buf, sizeof buf);
    return n <= sizeof buf && n == strlen(text) && memcmp(buf, text, n) == 0;
}
