/* SPDX-License-Identifier: Apache-2.0 */
/* Times of downloaded tables: an instant or "from - to", day first, by UTC or by the clock of central Europe.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "wire/factorfile.h"

#include "base/banned.h"

#define HOUR (3600 * JM_NS_PER_S)

/* The last Sunday of the month, 01:00 UTC: there the European Union's clocks change (directive 2000/84/EC).
 */
static int64_t change(int year, int month)
{
    int64_t day = 86400, end = jm_time_unix(year, month, 31, 1, 0, 0); /* of March and October */
    int64_t weekday = (end / day + 4) % 7; /* 1970-01-01 was a Thursday; 0: Sunday */
    return (end - weekday * day) * JM_NS_PER_S;
}

static bool summer(int64_t t)
{
    char text[JM_RFC3339_SIZE];
    int64_t year = 0;
    jm_time_rfc3339(t, text);
    jm_num_i64((struct jm_span){text, 4}, &year);
    return t >= change((int)year, 3) && t < change((int)year, 10);
}

/* "27.10.2024 02:00", "27/10/2024 02:00:00": day first. The instant that a clock of UTC would show it at. */
static bool day_first(struct jm_span s, int64_t *t)
{
    static const char *const form[] = {"dd.dd.dddd dd:dd", "dd/dd/dddd dd:dd"};
    int64_t v[5], second = 0;
    static const struct {
        size_t at, n;
    } part[] = {{6, 4}, {3, 2}, {0, 2}, {11, 2}, {14, 2}};
    bool fits = false;
    for (int k = 0; k < 2; k++) {
        bool ok = s.n == 16 || (s.n == 19 && s.p[16] == ':');
        for (size_t i = 0; ok && i < 16; i++)
            ok = form[k][i] == 'd' ? s.p[i] >= '0' && s.p[i] <= '9' : s.p[i] == form[k][i];
        fits |= ok;
    }
    if (!fits || (s.n == 19 && jm_num_i64(jm_span_sub(s, 17, 2), &second)))
        return false;
    for (int i = 0; i < 5; i++)
        if (jm_num_i64(jm_span_sub(s, part[i].at, part[i].n), &v[i]))
            return false;
    char iso[JM_RFC3339_SIZE];
    struct jm_err none = {0};
    int n = snprintf(iso, sizeof iso, "%04d-%02d-%02dT%02d:%02d:%02dZ", (int)v[0], (int)v[1], (int)v[2],
                     (int)v[3], (int)v[4], (int)second);
    return jm_factor_time((struct jm_span){iso, (size_t)n}, true, t, &none) == 0;
}

/* The part before a mark like " (CEST)", and what the mark says. */
static struct jm_span mark(struct jm_span s, enum jm_factor_clock *clock, bool *marked)
{
    static const struct {
        const char *text;
        enum jm_factor_clock clock;
    } m[] = {{"(CET)", JM_FACTOR_CET}, {"(CEST)", JM_FACTOR_CEST}, {"(UTC)", JM_FACTOR_UTC}};
    s = jm_span_trim(s);
    for (size_t i = 0; i < sizeof m / sizeof *m; i++)
        if (jm_span_ends(s, jm_span_of(m[i].text))) {
            *clock = m[i].clock;
            *marked = true;
            return jm_span_trim(jm_span_sub(s, 0, s.n - strlen(m[i].text)));
        }
    return s;
}

/* One end. after: the instant has to come behind it where the clock shows an hour twice. */
static int instant(struct jm_span text, enum jm_factor_clock clock, int64_t after, int64_t *shown, int64_t *t,
                   struct jm_err *err)
{
    bool marked = false;
    struct jm_span s = mark(text, &clock, &marked);
    if (!day_first(s, shown)) {
        /* a date alone begins the day */
        char buf[32];
        int n = s.n == 10 ? snprintf(buf, sizeof buf, "%.10s 00:00", s.p) : 0;
        int rc =
            jm_factor_time(n ? (struct jm_span){buf, (size_t)n} : s, clock != JM_FACTOR_OFFSET, shown, err);
        if (rc)
            return rc;
        char sign = s.n > 16 ? s.p[s.n - 6] : ' ';
        if (s.n > 16 && (sign == '+' || sign == '-' || s.p[s.n - 1] == 'Z')) { /* it has its own offset */
            *t = *shown;
            return 0;
        }
    }
    switch (clock) {
    case JM_FACTOR_OFFSET:
    case JM_FACTOR_UTC: *t = *shown; return 0;
    case JM_FACTOR_CET: *t = *shown - HOUR; return 0;
    case JM_FACTOR_CEST: *t = *shown - 2 * HOUR; return 0;
    default: break;
    }
    bool s2 = summer(*shown - 2 * HOUR), w1 = !summer(*shown - HOUR);
    if (!s2 && !w1)
        return jm_err_set(err, JM_EPARSE, "\"%.*s\" is an hour that the clock leaps over",
                          (int)(text.n > 40 ? 40 : text.n), text.p);
    *t = s2 && (!w1 || *shown - 2 * HOUR > after) ? *shown - 2 * HOUR : *shown - HOUR;
    return 0;
}

int jm_factor_when(struct jm_span text, enum jm_factor_clock clock, int64_t after, int64_t *t0, int64_t *t1,
                   struct jm_err *err)
{
    struct jm_span s = jm_span_trim(text), from = s, to = {"", 0};
    int64_t shown, end_shown, end;
    for (size_t i = 8; i + 3 < s.n; i++)
        if (memcmp(s.p + i, " - ", 3) == 0) {
            from = jm_span_sub(s, 0, i);
            to = jm_span_sub(s, i + 3, s.n - i - 3);
            break;
        }
    int rc = instant(from, clock, after, &shown, t0, err);
    *t1 = *t0 + 1; /* lasts until the next one */
    if (rc || !to.n)
        return rc;
    struct jm_err leap = {0};
    rc = instant(to, clock, *t0, &end_shown, &end, &leap);
    /* by the clock's own face, where it leaps or falls back between the two */
    if (rc || (end_shown > shown && end > *t0 + (end_shown - shown)))
        end = end_shown > shown ? *t0 + (end_shown - shown) : *t0;
    if (end <= *t0)
        return jm_err_set(err, JM_EPARSE, "\"%.*s\" ends before it begins", (int)(s.n > 60 ? 60 : s.n), s.p);
    *t1 = end;
    return 0;
}
