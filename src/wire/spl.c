/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/spl.h"

#include <math.h>

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"

#include "base/banned.h"

static bool digits(const char *p, int n, int *out)
{
    int v = 0;
    for (int i = 0; i < n; i++) {
        unsigned d = (unsigned char)p[i] - '0';
        if (d > 9)
            return false;
        v = v * 10 + (int)d;
    }
    *out = v;
    return true;
}

static int days_in(int y, int m)
{
    static const signed char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[m - 1] + (m == 2 && ((y % 4 == 0 && y % 100 != 0) || y % 400 == 0));
}

int jm_spl_time(struct jm_span s, int64_t *ns)
{
    int mo, d, y, h, mi, se;
    const char *p = s.p;
    if (s.n < 19 || p[2] != '-' || p[5] != '-' || p[10] != ' ' || p[13] != ':' || p[16] != ':' ||
        !digits(p, 2, &mo) || !digits(p + 3, 2, &d) || !digits(p + 6, 4, &y) || !digits(p + 11, 2, &h) ||
        !digits(p + 14, 2, &mi) || !digits(p + 17, 2, &se) || mo < 1 || mo > 12 || y < 1970 || y > 2200 ||
        d < 1 || d > days_in(y, mo) || h > 23 || mi > 59 || se > 60)
        return JM_EPARSE;
    int64_t frac = 0, scale = 100 * JM_NS_PER_MS;
    if (s.n > 19) {
        if (p[19] != '.' || s.n == 20)
            return JM_EPARSE;
        for (size_t i = 20; i < s.n; i++, scale /= 10) {
            if (p[i] < '0' || p[i] > '9')
                return JM_EPARSE;
            frac += (p[i] - '0') * scale;
        }
    }
    *ns = jm_time_unix(y, mo, d, h, mi, se) * JM_NS_PER_S + frac;
    return 0;
}

bool jm_spl_time_swapped(struct jm_span s)
{
    char text[32];
    int64_t ns;
    s = jm_span_trim(s);
    if (s.n < 19 || s.n >= sizeof text || jm_spl_time(s, &ns) == 0)
        return false;
    memcpy(text, s.p, s.n);
    memcpy(text, s.p + 3, 2);
    memcpy(text + 3, s.p, 2);
    return jm_spl_time((struct jm_span){text, s.n}, &ns) == 0;
}

/* Takes the text before the next comma; a line that ended (p NULL) has none. */
static bool field(struct jm_span *rest, struct jm_span *out)
{
    return jm_span_field(rest, ',', out);
}

/* Watts, volts, amperes: what is beyond this is no reading, and sums of a line cannot overflow below it. */
#define MOST INT64_C(1000000000)

/* More digits than millionths are rounded: they say less than the instrument knows. */
static bool odd_number(struct jm_span v, int64_t *out)
{
    double x;
    v = jm_span_trim(v);
    int rc = jm_num_fixed(v, -6, out);
    if (rc == JM_ERANGE && jm_num_double(v, &x) == 0 && x >= -MOST && x <= MOST) {
        *out = (int64_t)(x * 1e6 + (x < 0 ? -0.5 : 0.5));
        return true;
    }
    return rc == 0 && *out >= -MOST * 1000000 && *out <= MOST * 1000000;
}

/* A number up to the next comma or the end, in millionths. What PTDaemon writes ("%.6f") is read here,
 * anything else by odd_number. */
static bool number(struct jm_span *rest, int64_t *out)
{
    const char *p = rest->p, *end = p + rest->n, *q = p;
    bool neg = q < end && *q == '-';
    q += neg;
    const char *first = q;
    int64_t v = 0;
    unsigned d;
    while (q < end && (d = (unsigned char)*q - '0') <= 9 && q - first < 9) {
        v = v * 10 + d;
        q++;
    }
    if (q == first)
        goto odd;
    int places = 0;
    if (q < end && *q == '.')
        for (q++; q < end && (d = (unsigned char)*q - '0') <= 9 && places < 6; q++, places++)
            v = v * 10 + d;
    if (q < end && *q != ',')
        goto odd;
    for (; places < 6; places++)
        v *= 10;
    *out = neg ? -v : v;
    if (q == end) {
        *rest = (struct jm_span){NULL, 0};
    } else {
        rest->n -= (size_t)(q + 1 - p);
        rest->p = q + 1;
    }
    return true;
odd:;
    struct jm_span text;
    return field(rest, &text) && odd_number(text, out);
}

/* Takes "name," off rest. */
static bool name(struct jm_span *rest, const char *text, size_t n)
{
    struct jm_span k;
    if (rest->p && rest->n > n && memcmp(rest->p, text, n) == 0 && rest->p[n] == ',') {
        rest->p += n + 1;
        rest->n -= n + 1;
        return true;
    }
    return field(rest, &k) && jm_span_is(jm_span_trim(k), text) && rest->p;
}

static bool group(struct jm_span *rest, struct jm_spl_values *v)
{
    return name(rest, "Watts", 5) && number(rest, &v->watts) && name(rest, "Volts", 5) &&
           number(rest, &v->volts) && name(rest, "Amps", 4) && number(rest, &v->amps) &&
           name(rest, "PF", 2) && number(rest, &v->pf);
}

static bool time_field(struct jm_span *rest, int64_t *ns, struct jm_span *text)
{
    return name(rest, "Time", 4) && field(rest, text) && jm_spl_time(jm_span_trim(*text), ns) == 0;
}

static bool mark_field(struct jm_span *rest, struct jm_span *mark)
{
    return name(rest, "Mark", 4) && field(rest, mark);
}

/* What the parts of a group say together. */
struct parts {
    int n;
    bool over, bad, missed;
    int64_t decoded, good;
};

static void part(struct parts *p, enum jm_spl_kind kind, int64_t decoded)
{
    p->n++;
    switch (kind) {
    case JM_SPL_OVER_RANGE: p->over = true; break;
    case JM_SPL_BAD: p->bad = true; return;
    case JM_SPL_MISSED: p->missed = true; return;
    case JM_SPL_GOOD: break;
    }
    p->decoded += decoded;
}

#define SAME_UW 2000 /* sums of six decimals agree to this */

/* Kind and true power of a group that sums its parts. */
static enum jm_spl_kind judge(const struct jm_spl_values *own, const struct parts *p, bool analyzers,
                              int64_t *decoded)
{
    enum jm_spl_kind kind = jm_spl_kind_of(own);
    *decoded = 0;
    if (kind == JM_SPL_MISSED || p->missed)
        return JM_SPL_MISSED;
    if (p->bad) {
        /* a channel that is not connected: the instrument's own sum leaves it out */
        if (analyzers || p->over || kind != JM_SPL_GOOD || llabs(own->watts - p->decoded) > SAME_UW)
            return JM_SPL_BAD;
    } else if (p->over) {
        *decoded = p->decoded;
        return p->decoded < 0 ? JM_SPL_BAD : JM_SPL_OVER_RANGE;
    }
    jm_spl_decode_watts(own, decoded);
    return kind;
}

/* Of one channel. An input without a load reads some hundredths of a watt below 0: that is noise, and in the
 * sum. */
static enum jm_spl_kind channel_kind(const struct jm_spl_values *v, int64_t *uw)
{
    enum jm_spl_kind kind = jm_spl_kind_of(v);
    if (kind == JM_SPL_BAD && v->watts != -1000000 && v->watts > -3000000) {
        *uw = v->watts;
        return JM_SPL_GOOD;
    }
    jm_spl_decode_watts(v, uw);
    return kind;
}

/* ",Ch1,Watts,...,Ch2,..." as far as it goes. Room for most values is at v. */
static bool channels(struct jm_span *rest, struct jm_spl_values *v, int most, struct parts *p)
{
    while (rest->p && rest->n >= 2 && rest->p[0] == 'C' && rest->p[1] == 'h') {
        struct jm_spl_values one;
        struct jm_span label;
        int64_t uw = 0;
        if (!field(rest, &label) || !group(rest, &one))
            return false;
        if (p->n < most)
            v[p->n] = one;
        enum jm_spl_kind kind = channel_kind(&one, &uw);
        part(p, kind, uw);
    }
    return true;
}

static int bad_line(struct jm_span line, struct jm_span when, struct jm_err *err)
{
    return jm_err_set(err, JM_EPARSE,
                      "not a power sample: \"%.*s\" (expected Time,MM-DD-YYYY HH:MM:SS.mmm,Watts,...)%s",
                      (int)(line.n > 80 ? 80 : line.n), line.p,
                      jm_spl_time_swapped(when) ? "; its date has the day before the month" : "");
}

int jm_spl_parse(struct jm_span line, struct jm_spl_row *row, struct jm_err *err)
{
    struct jm_span rest = jm_span_trim(line), when = {NULL, 0}, label, m;
    struct parts parts = {0};
    int64_t t;
    row->mark = (struct jm_span){NULL, 0};
    row->n_channels = 0;
    row->analyzers = false;
    if (!jm_span_starts(rest, JM_SPAN("Time")))
        return JM_EAGAIN;
    if (!time_field(&rest, &row->time_ns, &when) || !group(&rest, &row->sum) ||
        (rest.p && !mark_field(&rest, &row->mark)) || !channels(&rest, row->channel, JM_SPL_CHANNELS, &parts))
        return bad_line(line, when, err);
    row->n_channels = parts.n < JM_SPL_CHANNELS ? parts.n : JM_SPL_CHANNELS;
    while (rest.p && rest.n) {
        struct jm_spl_values own;
        struct parts below = {0};
        int64_t uw;
        if (!field(&rest, &label) || !jm_span_starts(jm_span_trim(label), JM_SPAN("Analyzer")) ||
            (parts.n && !row->analyzers) || !time_field(&rest, &t, &when) || !group(&rest, &own) ||
            (rest.p && !mark_field(&rest, &m)) || !channels(&rest, NULL, 0, &below))
            return bad_line(line, when, err);
        row->analyzers = true;
        enum jm_spl_kind kind = judge(&own, &below, false, &uw);
        if (row->n_channels < JM_SPL_CHANNELS)
            row->channel[row->n_channels++] = own;
        part(&parts, kind, uw);
    }
    row->kind = judge(&row->sum, &parts, row->analyzers, &row->decoded_uw);
    return 0;
}

enum jm_spl_kind jm_spl_kind_of(const struct jm_spl_values *v)
{
    if (v->watts == -2000000 && v->volts == -2000000 && v->amps == -2000000)
        return JM_SPL_MISSED;
    if (v->watts <= -3000000 && v->amps <= -3000000)
        return JM_SPL_OVER_RANGE;
    if (v->watts < 0)
        return JM_SPL_BAD;
    return JM_SPL_GOOD;
}

bool jm_spl_decode_watts(const struct jm_spl_values *v, int64_t *uw)
{
    switch (jm_spl_kind_of(v)) {
    case JM_SPL_GOOD: *uw = v->watts; return true;
    case JM_SPL_OVER_RANGE: *uw = -v->watts - 3000000; return true;
    case JM_SPL_BAD:
    case JM_SPL_MISSED: break;
    }
    return false;
}

bool jm_spl_factors(const struct jm_spl_values *v, double *ratio, double *tangent)
{
    double p = (double)v->watts / 1e6, pf = (double)v->pf / 1e6;
    double s = (double)v->volts / 1e6 * ((double)v->amps / 1e6);
    bool has_s = v->volts > 0 && v->amps > 0, has_pf = v->pf > 0 && pf <= 1;
    if (!(p > 0) || (!has_s && !has_pf))
        return false;
    *ratio = has_s ? fmin(p / s, 1) : pf;
    double cosine = has_pf ? pf : *ratio;
    *tangent = p * sqrt(fmax(0, 1 - cosine * cosine)) / cosine;
    return true;
}
