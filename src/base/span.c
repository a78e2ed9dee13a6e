/* SPDX-License-Identifier: Apache-2.0 */
#include "base/span.h"

#include <string.h>
#include <strings.h>

#include "base/banned.h"

struct jm_span jm_span_of(const char *s)
{
    return (struct jm_span){s, s ? strlen(s) : 0};
}

struct jm_span jm_span_sub(struct jm_span s, size_t from, size_t n)
{
    if (from > s.n)
        from = s.n;
    if (n > s.n - from)
        n = s.n - from;
    return (struct jm_span){s.p ? s.p + from : NULL, n};
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct jm_span jm_span_trim(struct jm_span s)
{
    while (s.n && is_blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

bool jm_span_eq(struct jm_span a, struct jm_span b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool jm_span_is(struct jm_span a, const char *s)
{
    return jm_span_eq(a, jm_span_of(s));
}

bool jm_span_ieq(struct jm_span a, struct jm_span b)
{
    return a.n == b.n && (a.n == 0 || strncasecmp(a.p, b.p, a.n) == 0);
}

bool jm_span_starts(struct jm_span a, struct jm_span prefix)
{
    return a.n >= prefix.n && jm_span_eq(jm_span_sub(a, 0, prefix.n), prefix);
}

bool jm_span_istarts(struct jm_span a, struct jm_span prefix)
{
    return a.n >= prefix.n && jm_span_ieq(jm_span_sub(a, 0, prefix.n), prefix);
}

bool jm_span_ihas(struct jm_span a, const char *word)
{
    struct jm_span w = jm_span_of(word);
    for (size_t i = 0; i + w.n <= a.n; i++)
        if (jm_span_ieq((struct jm_span){a.p + i, w.n}, w))
            return true;
    return false;
}

bool jm_span_ends(struct jm_span a, struct jm_span suffix)
{
    return a.n >= suffix.n && jm_span_eq(jm_span_sub(a, a.n - suffix.n, suffix.n), suffix);
}

ptrdiff_t jm_span_chr(struct jm_span s, char c)
{
    const char *q = s.n ? memchr(s.p, c, s.n) : NULL;
    return q ? q - s.p : -1;
}

ptrdiff_t jm_span_find(struct jm_span s, struct jm_span needle)
{
    if (needle.n == 0)
        return 0;
    if (s.n < needle.n)
        return -1;
    const char *q = memmem(s.p, s.n, needle.p, needle.n);
    return q ? q - s.p : -1;
}

bool jm_span_line(struct jm_span *rest, struct jm_span *line)
{
    if (!rest->n)
        return false;
    ptrdiff_t i = jm_span_chr(*rest, '\n');
    size_t n = i < 0 ? rest->n : (size_t)i, skip = i < 0 ? rest->n : (size_t)i + 1;
    *line = (struct jm_span){rest->p, n};
    if (line->n && line->p[line->n - 1] == '\r')
        line->n--;
    rest->p += skip;
    rest->n -= skip;
    return true;
}

bool jm_span_field(struct jm_span *rest, char sep, struct jm_span *field)
{
    if (!rest->p)
        return false;
    ptrdiff_t i = jm_span_chr(*rest, sep);
    if (i < 0) {
        *field = *rest;
        *rest = (struct jm_span){NULL, 0};
    } else {
        *field = (struct jm_span){rest->p, (size_t)i};
        rest->p += i + 1;
        rest->n -= (size_t)i + 1;
    }
    return true;
}
