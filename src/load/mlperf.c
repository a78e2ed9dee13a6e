/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios in the manner of MLPerf Inference: Server (Poisson arrivals at a target rate, until the least
 * number of queries is issued and the least time is over) and Offline (all samples at once), with the latency
 * constraints of a benchmark. What LoadGen itself reports is an official result; this is none, and says so.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "load/plan.h"
#include "model/mlperf_limits.h"

#include "base/banned.h"

#define LABEL "MLPerf-like scenario, unofficial"

int jm_mlperf_find(const char *benchmark, const char *scenario, struct jm_mlperf *out, struct jm_err *err)
{
    struct jm_mlperf_limits l;
    char known[512] = "";
    bool server = strcmp(scenario, "mlperf-server") == 0;
    if (jm_mlperf_limits_find(benchmark, NULL, &l)) {
        *out = (struct jm_mlperf){
            .ttft_s = server ? l.ttft_s : NAN,
            .tpot_s = server ? l.tpot_s : NAN,
            .e2e_s = server ? l.e2e_s : NAN,
            .samples = server ? l.server_queries : l.offline_samples,
            .min_ns = l.min_ns,
            .percentile = l.percentile,
        };
        snprintf(out->benchmark, sizeof out->benchmark, "%s", l.benchmark);
        snprintf(out->source, sizeof out->source, "%.*s", (int)sizeof out->source - 1, l.source);
        return 0;
    }
    for (size_t i = 0; jm_mlperf_limits_at(i, &l); i++) {
        size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", l.benchmark);
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
