/* SPDX-License-Identifier: Apache-2.0 */
#include "base/num.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* the one place that may call the C library's number reader: with the C locale, on a checked copy */
static double read_c_locale(const char *text)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double v = c ? strtod_l(text, NULL, c) : NAN;
    if (c)
        freelocale(c);
    return v;
}

#include "base/banned.h"

int jm_num_u64(struct jm_span s, uint64_t *out)
{
    uint64_t v = 0;
    if (s.n && s.p[0] == '+') {
        s.p++;
        s.n--;
    }
    if (!s.n)
        return JM_EPARSE;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return JM_EPARSE;
        uint64_t d = (uint64_t)(s.p[i] - '0');
        if (v > (UINT64_MAX - d) / 10)
            return JM_ERANGE;
        v = v * 10 + d;
    }
    *out = v;
    return 0;
}

int jm_num_i64(struct jm_span s, int64_t *out)
{
    bool neg = s.n && s.p[0] == '-';
    uint64_t v;
    if (neg) {
        s.p++;
        s.n--;
        if (s.n && s.p[0] == '+')
            return JM_EPARSE;
    }
    int rc = jm_num_u64(s, &v);
    if (rc)
        return rc;
    if (v > (uint64_t)INT64_MAX + (neg ? 1 : 0))
        return JM_ERANGE;
    *out = neg ? (int64_t)(0 - v) : (int64_t)v;
    return 0;
}

/* Splits [sign] digits [. digits] [e [sign] digits]; digits needed on at least one side of the point. */
struct parts {
    bool neg;
    struct jm_span whole, frac;
    int exp10;
};

static int split(struct jm_span s, struct parts *o)
{
    *o = (struct parts){0};
    size_t i = 0;
    if (i < s.n && (s.p[i] == '-' || s.p[i] == '+'))
        o->neg = s.p[i++] == '-';
    size_t w = i;
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
        i++;
    o->whole = jm_span_sub(s, w, i - w);
    if (i < s.n && s.p[i] == '.') {
        size_t f = ++i;
        while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
            i++;
        o->frac = jm_span_sub(s, f, i - f);
    }
    if (!o->whole.n && !o->frac.n)
        return JM_EPARSE;
    if (i < s.n && (s.p[i] == 'e' || s.p[i] == 'E')) {
        i++;
        bool en = false;
        if (i < s.n && (s.p[i] == '-' || s.p[i] == '+'))
            en = s.p[i++] == '-';
        size_t e0 = i;
        int e = 0;
        while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9') {
            if (e < 100000)
                e = e * 10 + (s.p[i] - '0');
            i++;
        }
        if (i == e0)
            return JM_EPARSE;
        o->exp10 = en ? -e : e;
    }
    return i == s.n ? 0 : JM_EPARSE;
}

int jm_num_double(struct jm_span s, double *out)
{
    struct parts p;
    char text[400];
    int rc = split(s, &p);
    if (rc)
        return rc;
    if (s.n >= sizeof text)
        return JM_ERANGE;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    double v = read_c_locale(text);
    if (!isfinite(v))
        return JM_ERANGE;
    *out = v;
    return 0;
}

int jm_num_fixed(struct jm_span s, int scale10, int64_t *out)
{
    struct parts p;
    int rc = split(s, &p);
    if (rc)
        return rc;
    /* digit i of whole+frac has weight 10^(exp10 - frac.n + position from the right) */
    size_t total = p.whole.n + p.frac.n;
    int64_t low = (int64_t)p.exp10 - (int64_t)p.frac.n; /* exponent of the last digit */
    uint64_t v = 0;
    for (size_t i = 0; i < total; i++) {
        char c = i < p.whole.n ? p.whole.p[i] : p.frac.p[i - p.whole.n];
        int64_t e = low + (int64_t)(total - 1 - i);
        uint64_t d = (uint64_t)(c - '0');
        if (e < scale10) {
            if (d)
                return JM_ERANGE;
            continue;
        }
        if (v > (UINT64_MAX - d) / 10)
            return JM_ERANGE;
        v = v * 10 + d;
    }
    for (int64_t k = low; k > scale10 && v; k--) {
        if (v > UINT64_MAX / 10)
            return JM_ERANGE;
        v *= 10;
    }
    if (v > (uint64_t)INT64_MAX)
        return JM_ERANGE;
    *out = p.neg ? -(int64_t)v : (int64_t)v;
    return 0;
}
