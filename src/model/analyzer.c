/* SPDX-License-Identifier: Apache-2.0 */
#include "model/analyzer.h"

#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "model/tables.h"

#include "base/banned.h"

enum column {
    C_MODEL,
    C_DEVICES,
    C_VOLTS,
    C_AMPS,
    C_CREST,
    C_READING,
    C_RANGE,
    C_RANGE_AS,
    C_INFLUENCE,
    C_BAND,
    C_MONTHS,
    C_PTD,
    C_SOURCE,
    COLUMNS
};

static struct jm_span given(struct jm_span s)
{
    return jm_span_is(s, "-") ? (struct jm_span){0} : s;
}

static bool share(struct jm_span s, double *out)
{
    double v;
    if (jm_num_double(s, &v))
        return false;
    *out = v / 100;
    return true;
}

static bool row(struct jm_span line, struct jm_analyzer *out)
{
    struct jm_span c[COLUMNS];
    int64_t crest = 3, months = 0;
    if (!line.n || line.p[0] == '#')
        return false;
    for (size_t i = 0; i < COLUMNS; i++)
        if (!jm_span_field(&line, '\t', &c[i]))
            return false;
    *out = (struct jm_analyzer){
        .volts = given(c[C_VOLTS]),
        .amps = given(c[C_AMPS]),
        .reading = NAN,
        .range = NAN,
        .influence = NAN,
        .by_s = jm_span_is(c[C_RANGE_AS], "by_s"),
        .ptd = jm_span_is(c[C_PTD], "yes"),
        .devices = given(c[C_DEVICES]),
        .band = given(c[C_BAND]),
        .source = c[C_SOURCE],
    };
    snprintf(out->model, sizeof out->model, "%.*s", (int)c[C_MODEL].n, c[C_MODEL].p);
    bool whole = share(c[C_READING], &out->reading);
    whole = share(c[C_RANGE], &out->range) && whole;
    whole = share(c[C_INFLUENCE], &out->influence) && whole;
    out->known = whole && out->volts.n && out->amps.n && given(c[C_RANGE_AS]).n;
    out->crest = jm_num_i64(c[C_CREST], &crest) == 0 ? (int)crest : 3;
    out->months = jm_num_i64(c[C_MONTHS], &months) == 0 ? (int)months : 0;
    return true;
}

bool jm_analyzer_at(size_t i, struct jm_analyzer *out)
{
    struct jm_span rest = {(const char *)jm_analyzers_tsv, jm_analyzers_tsv_len}, line;
    while (jm_span_line(&rest, &line))
        if (row(line, out) && i-- == 0)
            return true;
    return false;
}

bool jm_analyzer_find(struct jm_span model, struct jm_analyzer *out)
{
    struct jm_analyzer m;
    for (size_t i = 0; jm_analyzer_at(i, &m); i++)
        if (jm_span_ieq(model, jm_span_of(m.model))) {
            *out = m;
            return true;
        }
    return false;
}

double jm_analyzer_range(struct jm_span list, double asked, int crest)
{
    struct jm_span one;
    double v;
    if (!list.n)
        return NAN;
    while (jm_span_field(&list, ',', &one))
        if (jm_num_double(one, &v) == 0 && (crest == 6 ? v / 2 : v) >= asked)
            return crest == 6 ? v / 2 : v;
    return NAN;
}

double jm_analyzer_limits_w(const struct jm_analyzer *m, double v_range, double a_range, int crest,
                            double watts, double ratio, double tangent)
{
    if (!m->known)
        return NAN;
    double range = m->range * (crest == 6 && m->crest != 6 ? 2 : 1) * v_range * a_range;
    return watts * m->reading + range * (m->by_s ? ratio : 1) + tangent * m->influence;
}
