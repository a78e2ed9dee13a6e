/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/tzif.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#include "base/banned.h"

#define DAY 86400

static int bad(struct jm_err *err, const char *what)
{
    return jm_err_set(err, JM_EPARSE, "time zone: %s", what);
}

void jm_tz_release(struct jm_tz *z)
{
    free(z->change);
    *z = (struct jm_tz){0};
}

/* --- the rule */

static int number(struct jm_span *s, int most, int *out)
{
    int v = 0, any = 0;
    while (s->n && s->p[0] >= '0' && s->p[0] <= '9' && v <= most) {
        v = 10 * v + (s->p[0] - '0');
        *s = jm_span_sub(*s, 1, s->n - 1);
        any = 1;
    }
    *out = v;
    return any && v <= most ? 0 : -1;
}

static int mark(struct jm_span *s, char c)
{
    if (!s->n || s->p[0] != c)
        return 0;
    *s = jm_span_sub(*s, 1, s->n - 1);
    return 1;
}

static int name(struct jm_span *s)
{
    size_t n = 0;
    if (mark(s, '<')) {
        while (n < s->n && s->p[n] != '>')
            n++;
        if (n == s->n)
            return -1;
        *s = jm_span_sub(*s, n + 1, s->n - n - 1);
        return 0;
    }
    while (n < s->n && ((s->p[n] >= 'A' && s->p[n] <= 'Z') || (s->p[n] >= 'a' && s->p[n] <= 'z')))
        n++;
    *s = jm_span_sub(*s, n, s->n - n);
    return n >= 3 ? 0 : -1;
}

/* [+-]h[h[h]][:mm[:ss]] */
static int hms(struct jm_span *s, int32_t *out)
{
    int sign = 1, h, m = 0, sec = 0;
    if (mark(s, '-'))
        sign = -1;
    else
        mark(s, '+');
    if (number(s, 167, &h) || (mark(s, ':') && number(s, 59, &m)) || (mark(s, ':') && number(s, 59, &sec)))
        return -1;
    *out = sign * (h * 3600 + m * 60 + sec);
    return 0;
}

static int change(struct jm_span *s, struct jm_tz_change *c)
{
    *c = (struct jm_tz_change){.kind = 'D', .second = 7200};
    int rc;
    if (mark(s, 'M')) {
        c->kind = 'M';
        rc = number(s, 12, &c->month) || !mark(s, '.') || number(s, 5, &c->week) || !mark(s, '.') ||
             number(s, 6, &c->day) || !c->month || !c->week;
    } else if (mark(s, 'J')) {
        c->kind = 'J';
        rc = number(s, 365, &c->day) || !c->day;
    } else {
        rc = number(s, 365, &c->day);
    }
    if (!rc && mark(s, '/'))
        rc = hms(s, &c->second);
    return rc;
}

int jm_tz_rule(struct jm_span in, struct jm_tz *z, struct jm_err *err)
{
    struct jm_span s = in;
    int32_t west;
    if (name(&s) || hms(&s, &west))
        return bad(err, "no rule like CET-1CEST,M3.5.0,M10.5.0/3");
    z->std = z->dst = -west;
    z->has_rule = 1;
    if (!s.n)
        return 0;
    if (name(&s))
        return bad(err, "a rule whose summer time has no name");
    z->dst = z->std + 3600;
    if (s.n && s.p[0] != ',') {
        if (hms(&s, &west))
            return bad(err, "a rule whose summer time has no offset");
        z->dst = -west;
    }
    if (!mark(&s, ',') || change(&s, &z->begin) || !mark(&s, ',') || change(&s, &z->end) || s.n)
        return bad(err, "a rule that does not say when summer time begins and ends");
    z->has_rule = 2;
    return 0;
}

static int weekday(int64_t day) /* since 1970-01-01, a Thursday; 0: Sunday */
{
    int64_t w = (day + 4) % 7;
    return (int)(w < 0 ? w + 7 : w);
}

/* Local seconds since 1970 of the change in that year. */
static int64_t when(const struct jm_tz_change *c, int year)
{
    int64_t first = jm_time_unix(year, 1, 1, 0, 0, 0) / DAY, day;
    int leap = jm_time_unix(year, 3, 1, 0, 0, 0) / DAY - first == 60;
    if (c->kind == 'M') {
        int64_t d = jm_time_unix(year, c->month, 1, 0, 0, 0) / DAY,
                next = c->month == 12 ? jm_time_unix(year + 1, 1, 1, 0, 0, 0) / DAY
                                      : jm_time_unix(year, c->month + 1, 1, 0, 0, 0) / DAY;
        day = d + (c->day - weekday(d) + 7) % 7 + 7 * (c->week - 1);
        while (day >= next)
            day -= 7;
    } else if (c->kind == 'J') {
        day = first + c->day - 1 + (leap && c->day >= 60);
    } else {
        day = first + c->day;
    }
    return day * DAY + c->second;
}

static int32_t by_rule(const struct jm_tz *z, int64_t t)
{
    if (z->has_rule < 2)
        return z->std;
    int year = jm_time_civil(t + z->std).year;
    int64_t a = when(&z->begin, year) - z->std, b = when(&z->end, year) - z->dst;
    int summer = a < b ? t >= a && t < b : t >= a || t < b;
    return summer ? z->dst : z->std;
}

int32_t jm_tz_offset(const struct jm_tz *z, int64_t t)
{
    size_t lo = 0, hi = z->n;
    if (z->has_rule && (!z->n || t >= z->change[z->n - 1].at))
        return by_rule(z, t);
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (z->change[mid].at <= t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? z->change[lo - 1].offset : z->first;
}

/* --- the file */

static uint64_t big(const char *p, int n)
{
    uint64_t v = 0;
    for (int i = 0; i < n; i++)
        v = v << 8 | (unsigned char)p[i];
    return v;
}

struct head {
    uint64_t isut, isstd, leap, time, type, chars;
};

static int head(struct jm_span s, struct head *h)
{
    if (s.n < 44 || memcmp(s.p, "TZif", 4) != 0)
        return -1;
    *h = (struct head){big(s.p + 20, 4), big(s.p + 24, 4), big(s.p + 28, 4),
                       big(s.p + 32, 4), big(s.p + 36, 4), big(s.p + 40, 4)};
    return h->time > 1u << 16 || h->type > 256 || !h->type || h->leap > 4096 || h->chars > 4096 ||
                   h->isut > 256 || h->isstd > 256
               ? -1
               : 0;
}

static size_t body(const struct head *h, size_t wide)
{
    return (size_t)(h->time * wide + h->time + h->type * 6 + h->chars + h->leap * (wide + 4) + h->isstd +
                    h->isut);
}

static int offset(const char *types, const struct head *h, unsigned type, int32_t *out)
{
    if (type >= h->type)
        return -1;
    *out = (int32_t)big(types + (size_t)6 * type, 4);
    return *out > -2 * DAY && *out < 2 * DAY ? 0 : -1;
}

int jm_tz_file(struct jm_span in, struct jm_tz *z, struct jm_err *err)
{
    struct head h;
    size_t wide = 4, at = 44;
    *z = (struct jm_tz){0};
    if (in.n > JM_TZ_MOST || head(in, &h))
        return bad(err, "no file of the tz database");
    if (in.p[4] >= '2') {
        struct jm_span rest = jm_span_sub(in, at + body(&h, 4), in.n);
        if (head(rest, &h))
            return bad(err, "a file that is cut");
        in = rest;
        wide = 8;
    }
    if (in.n < at + body(&h, wide))
        return bad(err, "a file that is cut");
    const char *times = in.p + at, *index = times + h.time * wide, *types = index + h.time;
    z->change = malloc((size_t)(h.time ? h.time : 1) * sizeof *z->change);
    if (!z->change)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the time zone");
    if (offset(types, &h, 0, &z->first))
        return bad(err, "an offset of days");
    for (size_t i = 0; i < h.time; i++) {
        int64_t t = wide == 8 ? (int64_t)big(times + 8 * i, 8) : (int32_t)big(times + 4 * i, 4);
        if (offset(types, &h, (unsigned char)index[i], &z->change[i].offset) ||
            (i && t <= z->change[i - 1].at))
            return bad(err, "changes out of order");
        z->change[i].at = t;
        z->n++;
    }
    if (wide == 4)
        return 0;
    struct jm_span foot = jm_span_trim(jm_span_sub(in, at + body(&h, wide), in.n));
    return foot.n ? jm_tz_rule(foot, z, err) : 0;
}
