/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios in the manner of MLPerf Inference: Server (Poisson arrivals at a target rate, until the least
 * number of queries is issued and the least time is over) and Offline (all samples at once), with the latency
 * constraints of a benchmark. What LoadGen itself reports is an official result; this is none, and says so.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "load/mlperf_data.h"
#include "load/plan.h"

#include "base/banned.h"

#define LABEL "MLPerf-like scenario, unofficial"

static bool cell(struct jm_span *rest, struct jm_span *out)
{
    bool ok = jm_span_field(rest, '\t', out);
    *out = jm_span_trim(*out);
    return ok;
}

static double ms(struct jm_span s)
{
    double v;
    return jm_num_double(s, &v) == 0 ? v / 1000 : NAN;
}

static void copy(char *out, size_t n, struct jm_span s)
{
    snprintf(out, n, "%.*s", (int)s.n, s.p);
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

static bool read_row(struct jm_span line, struct jm_mlperf *m, int64_t *queries, int64_t *samples)
{
    struct jm_span c[9];
    if (!line.n || line.p[0] == '#')
        return false;
    for (size_t i = 0; i < sizeof c / sizeof *c; i++)
        if (!cell(&line, &c[i]))
            return false;
    copy(m->benchmark, sizeof m->benchmark, c[0]);
    m->ttft_s = ms(c[1]);
    m->tpot_s = ms(c[2]);
    m->e2e_s = ms(c[3]);
    m->percentile = 99;
    jm_num_double(c[4], &m->percentile);
    int64_t min_ms = 0;
    bool ok =
        jm_num_i64(c[5], queries) == 0 && jm_num_i64(c[6], samples) == 0 && jm_num_i64(c[7], &min_ms) == 0;
    m->min_ns = min_ms * JM_NS_PER_MS;
    copy(m->source, sizeof m->source, c[8]);
    return ok;
}

int jm_mlperf_find(const char *benchmark, const char *scenario, struct jm_mlperf *out, struct jm_err *err)
{
    struct jm_span rest = {(const char *)jm_mlperf_tsv, jm_mlperf_tsv_len}, line;
    char buf[64], known[512] = "";
    struct jm_span name = plain_name(benchmark, buf);
    bool server = strcmp(scenario, "mlperf-server") == 0;
    while (jm_span_line(&rest, &line)) {
        struct jm_mlperf m = {0};
        int64_t queries, samples;
        if (!read_row(line, &m, &queries, &samples))
            continue;
        if (jm_span_ieq(name, jm_span_of(m.benchmark))) {
            m.samples = server ? queries : samples;
            if (!server)
                m.ttft_s = m.tpot_s = m.e2e_s = NAN;
            *out = m;
            return 0;
        }
        size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", m.benchmark);
    }
    return jm_err_set(err, JM_EUSAGE, "the benchmark \"%.40s\" is not known: %s", benchmark, known);
}

int jm_mlperf_plan(const char *scenario, const char *benchmark, double target_qps, int64_t samples,
                   struct jm_plan **out, struct jm_err *err)
{
    struct jm_mlperf m;
    bool server = strcmp(scenario, "mlperf-server") == 0;
    int rc = jm_mlperf_find(benchmark, scenario, &m, err);
    if (rc)
        return rc;
    if (server && !(target_qps > 0))
        return jm_err_set(
            err, JM_EUSAGE,
            "the Server scenario needs its target, queries a second (--rate); the highest one that "
            "meets the constraints is what MLPerf reports");
    struct jm_plan *p = jm_plan_new();
    struct jm_slice *s = p ? jm_plan_add(p) : NULL;
    if (!s) {
        jm_plan_free(p);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the plan");
    }
    s->arrive = server ? JM_ARRIVE_POISSON : JM_ARRIVE_BURST;
    s->rate = server ? target_qps : 0;
    s->count = samples > 0 ? samples : m.samples;
    s->min_ns = server && samples <= 0 ? m.min_ns : 0;
    s->ttft_s = m.ttft_s;
    s->tpot_s = m.tpot_s;
    s->e2e_s = m.e2e_s;
    snprintf(p->scenario, sizeof p->scenario, "%s", scenario);
    snprintf(p->benchmark, sizeof p->benchmark, "%s", m.benchmark);
    snprintf(p->source, sizeof p->source, "%s", m.source);
    p->percentile = m.percentile;
    snprintf(p->label, sizeof p->label, "%s", LABEL);
    *out = p;
    return 0;
}
