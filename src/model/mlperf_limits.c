/* SPDX-License-Identifier: Apache-2.0 */
#include "model/mlperf_limits.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/span.h"
#include "model/tables.h"

#include "base/banned.h"

static double seconds(struct jm_span ms)
{
    double v;
    return jm_num_double(ms, &v) == 0 ? v / 1000 : NAN;
}

static void copy(char *out, size_t n, struct jm_span s)
{
    snprintf(out, n, "%.*s", jm_span_is(s, "-") ? 0 : (int)s.n, s.p);
}

static bool row(struct jm_span line, struct jm_mlperf_limits *m)
{
    struct jm_span c[11];
    int64_t min_ms = 0;
    if (!line.n || line.p[0] == '#')
        return false;
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        if (!jm_span_field(&line, '\t', &c[i]))
            return false;
        c[i] = jm_span_trim(c[i]);
    }
    *m = (struct jm_mlperf_limits){
        .ttft_s = seconds(c[3]), .tpot_s = seconds(c[4]), .e2e_s = seconds(c[5]), .percentile = 99};
    copy(m->benchmark, sizeof m->benchmark, c[0]);
    copy(m->first, sizeof m->first, c[1]);
    copy(m->last, sizeof m->last, c[2]);
    copy(m->source, sizeof m->source, c[10]);
    jm_num_double(c[6], &m->percentile);
    bool ok = jm_num_i64(c[7], &m->server_queries) == 0 && jm_num_i64(c[8], &m->offline_samples) == 0 &&
              jm_num_i64(c[9], &min_ms) == 0;
    m->min_ns = min_ms * JM_NS_PER_MS;
    return ok;
}

bool jm_mlperf_limits_at(size_t i, struct jm_mlperf_limits *out)
{
    struct jm_span rest = {(const char *)jm_mlperf_limits_tsv, jm_mlperf_limits_tsv_len}, line;
    while (jm_span_line(&rest, &line))
        if (row(line, out) && i-- == 0)
            return true;
    return false;
}

/* "llama2-70b-99.9" → "llama2-70b"; "llama3_1-8b" is the name in mlperf.conf of "llama3.1-8b". */
static struct jm_span plain_name(const char *benchmark, char buf[64])
{
    snprintf(buf, 64, "%s", benchmark);
    struct jm_span s = jm_span_of(buf);
    for (char *c = buf; *c; c++)
        if (*c == '_')
            *c = '.';
    if (jm_span_ends(s, JM_SPAN("-99.9")))
        s.n -= 5;
    else if (jm_span_ends(s, JM_SPAN("-99")))
        s.n -= 3;
    return s;
}

bool jm_mlperf_limits_find(const char *benchmark, const char *round, struct jm_mlperf_limits *out)
{
    char buf[64];
    struct jm_span name = plain_name(benchmark, buf);
    struct jm_mlperf_limits m;
    bool found = false;
    for (size_t i = 0; jm_mlperf_limits_at(i, &m); i++)
        if (jm_span_ieq(name, jm_span_of(m.benchmark)) &&
            (!round || jm_mlperf_round_in(round, m.first, m.last))) {
            *out = m;
            found = true;
        }
    return found;
}

static int64_t number(const char *round)
{
    struct jm_span s = jm_span_of(round), major;
    int64_t a = 0, b = 0;
    if (s.n && s.p[0] == 'v')
        s = jm_span_sub(s, 1, s.n - 1);
    if (!jm_span_field(&s, '.', &major) || jm_num_i64(major, &a))
        return 0;
    if (s.p && jm_num_i64(s, &b))
        b = 0;
    return a * 1000 + b;
}

int jm_mlperf_round_cmp(const char *a, const char *b)
{
    int64_t x = number(a), y = number(b);
    return (x > y) - (x < y);
}

bool jm_mlperf_round_in(const char *round, const char *first, const char *last)
{
    return jm_mlperf_round_cmp(round, first) >= 0 &&
           (!last[0] || last[0] == '-' || jm_mlperf_round_cmp(round, last) <= 0);
}
