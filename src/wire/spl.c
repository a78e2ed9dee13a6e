/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/spl.h"

#include <string.h>

#include "base/clock.h"
#include "base/num.h"

#include "base/banned.h"

static bool two_part(struct jm_span s, size_t at, int n, int *out)
{
    int v = 0;
    if (at + (size_t)n > s.n)
        return false;
    for (int i = 0; i < n; i++) {
        char c = s.p[at + (size_t)i];
        if (c < '0' || c > '9')
            return false;
        v = v * 10 + (c - '0');
    }
    *out = v;
    return true;
}

int jm_spl_time(struct jm_span s, int64_t *ns)
{
    int mo, d, y, h, mi, se;
    if (s.n < 19 || s.p[2] != '-' || s.p[5] != '-' || s.p[10] != ' ' || s.p[13] != ':' || s.p[16] != ':' ||
        !two_part(s, 0, 2, &mo) || !two_part(s, 3, 2, &d) || !two_part(s, 6, 4, &y) ||
        !two_part(s, 11, 2, &h) || !two_part(s, 14, 2, &mi) || !two_part(s, 17, 2, &se) || mo < 1 ||
        mo > 12 || d < 1 || d > 31 || h > 23 || mi > 59 || se > 60 || y < 1970 || y > 2200)
        return JM_EPARSE;
    int64_t frac = 0, scale = 100 * JM_NS_PER_MS;
    if (s.n > 19) {
        if (s.p[19] != '.' || s.n == 20)
            return JM_EPARSE;
        for (size_t i = 20; i < s.n; i++, scale /= 10) {
            if (s.p[i] < '0' || s.p[i] > '9')
                return JM_EPARSE;
            frac += (s.p[i] - '0') * scale;
        }
    }
    *ns = jm_time_unix(y, mo, d, h, mi, se) * JM_NS_PER_S + frac;
    return 0;
}

/* Takes "name,value" off rest. */
static bool pair(struct jm_span *rest, const char *name, int64_t *out)
{
    struct jm_span k, v;
    return jm_span_field(rest, ',', &k) && jm_span_is(jm_span_trim(k), name) &&
           jm_span_field(rest, ',', &v) && jm_num_fixed(jm_span_trim(v), -6, out) == 0;
}

static bool group(struct jm_span *rest, struct jm_spl_values *v)
{
    return pair(rest, "Watts", &v->watts) && pair(rest, "Volts", &v->volts) && pair(rest, "Amps", &v->amps) &&
           pair(rest, "PF", &v->pf);
}

static bool time_field(struct jm_span *rest, int64_t *ns)
{
    struct jm_span k, v;
    return jm_span_field(rest, ',', &k) && jm_span_is(jm_span_trim(k), "Time") &&
           jm_span_field(rest, ',', &v) && jm_spl_time(jm_span_trim(v), ns) == 0;
}

static bool mark_field(struct jm_span *rest, struct jm_span *mark)
{
    struct jm_span k;
    return jm_span_field(rest, ',', &k) && jm_span_is(jm_span_trim(k), "Mark") &&
           jm_span_field(rest, ',', mark);
}

int jm_spl_parse(struct jm_span line, struct jm_spl_row *row, struct jm_err *err)
{
    struct jm_span rest = jm_span_trim(line), name;
    *row = (struct jm_spl_row){0};
    if (!jm_span_starts(rest, JM_SPAN("Time")))
        return JM_EAGAIN;
    if (!time_field(&rest, &row->time_ns))
        goto bad;
    if (!group(&rest, &row->sum))
        goto bad;
    if (rest.p && !mark_field(&rest, &row->mark))
        goto bad;
    while (rest.p && row->n_channels < JM_SPL_CHANNELS) {
        struct jm_spl_values *v = &row->channel[row->n_channels];
        struct jm_span at = rest, m;
        int64_t t;
        if (!jm_span_field(&rest, ',', &name))
            break;
        name = jm_span_trim(name);
        if (jm_span_starts(name, JM_SPAN("Analyzer"))) {
            row->analyzers = true;
            if (!time_field(&rest, &t) || !group(&rest, v) || (rest.p && !mark_field(&rest, &m)))
                goto bad;
        } else if (jm_span_starts(name, JM_SPAN("Ch"))) {
            /* channels below an analyzer's line repeat what that line sums */
            struct jm_spl_values skip;
            if (!group(&rest, row->analyzers ? &skip : v))
                goto bad;
            if (row->analyzers)
                continue;
        } else if (name.n == 0 && !at.n) {
            break;
        } else {
            goto bad;
        }
        row->n_channels++;
    }
    return 0;
bad:
    return jm_err_set(err, JM_EPARSE,
                      "not a power sample: \"%.*s\" (expected Time,MM-DD-YYYY HH:MM:SS.mmm,Watts,...)",
                      (int)(line.n > 80 ? 80 : line.n), line.p);
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
