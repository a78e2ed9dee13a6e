/* SPDX-License-Identifier: Apache-2.0 */
/* What an imported MLPerf session gives: power as published and as it should be, and the efficiency that
 * follows with the performance LoadGen reported. Rules by round: MLCommons inference, tools/submission. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compute/calc.h"
#include "compute/mlperf_figures.h"
#include "compute/mlperf_mean.h"
#include "compute/ratio.h"

#include "base/banned.h"

bool jm_calc_is_session(const struct jm_run *run)
{
    const char *kind = jm_run_env(run, "import.kind");
    return kind && strcmp(kind, "mlperf-inference") == 0;
}

/* The log's keys are kept as "loadgen.<key>". */
static double log_number(const void *run, const char *key)
{
    char name[160];
    snprintf(name, sizeof name, "loadgen.%s", key);
    return jm_run_number(run, name);
}

static int put(struct jm_calc *c, const struct jm_calc_window *w, const char *metric,
               const struct jm_cut *wall, double value, double num, const char *num_name, double den,
               const char *den_name, const char *instrument)
{
    struct jm_result *x = jm_calc_result(c, w, metric, wall);
    if (!x)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the results");
    x->q.have = isfinite(value);
    x->q.value = value;
    if (!x->q.have)
        x->q.reasons = isfinite(den) && !(den > 0) ? "no-requests" : "no-samples";
    x->numerator = num;
    x->denominator = den;
    x->numerator_name = num_name;
    x->denominator_name = den_name;
    x->instrument = instrument;
    x->q.u.excludes = "the analyzer's accuracy (see energy and power.mean), repeats (one run)";
    return 0;
}

static struct jm_mlperf_log log_of(const struct jm_run *run)
{
    const char *round = jm_run_env(run, "mlperf.round"), *count = jm_run_env(run, "mlperf.stream_count"),
               *rate = jm_run_env(run, "mlperf.server_rate");
    return (struct jm_mlperf_log){
        .number = log_number,
        .self = run,
        .scenario = jm_run_env(run, "mlperf.scenario"),
        .claimed = jm_run_env(run, "mlperf.claimed_scenario"),
        /* a run file of an older version names the round alone */
        .legacy_count = count ? strcmp(count, "legacy") == 0 : round && strncmp(round, "v1.", 3) == 0,
        .completed = !rate || strcmp(rate, "completed") == 0,
    };
}

/* Latency percentiles as LoadGen computed them, ns → s. */
static int latencies(struct jm_calc *c, const struct jm_calc_window *w)
{
    static const struct {
        const char *id, *prefix;
    } kinds[] = {{"ttft", "loadgen.result_first_token_"},
                 {"tpot.excl_first", "loadgen.result_time_per_output_token_"},
                 {"e2e", "loadgen.result_"}};
    static const struct {
        double q;
        const char *name;
    } q[] = {{NAN, "mean"},
             {.5, "50.00_percentile"},
             {.9, "90.00_percentile"},
             {.95, "95.00_percentile"},
             {.99, "99.00_percentile"}};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (size_t i = 0; i < sizeof q / sizeof q[0]; i++) {
            char key[128];
            snprintf(key, sizeof key, "%s%s_%s", kinds[k].prefix, q[i].name, k == 1 ? "ns" : "latency_ns");
            double v = jm_run_number(c->run, key);
            if (k == 1 && i == 0)
                v = jm_run_number(c->run, "loadgen.result_time_to_output_token_mean");
            if (!isfinite(v))
                continue;
            struct jm_result *x = jm_calc_result(c, w, kinds[k].id, NULL);
            if (!x)
                return jm_err_set(c->err, JM_ENOMEM, "out of memory for the results");
            x->quantile = q[i].q;
            x->q.have = true;
            x->q.value = v / 1e9;
            x->instrument = "LoadGen";
        }
    return 0;
}

int jm_results_session(struct jm_calc *c, const struct jm_calc_window *w)
{
    struct jm_cut wall;
    struct jm_readings buf = {0};
    struct jm_mlperf_mean mean = {.watts = NAN};
    const char *drop = jm_run_env(c->run, "mlperf.drop_nonpositive");
    int rc = jm_cut_make(c, w, JM_B_WALL, JM_CUT_MEASURED, &wall);
    if (rc)
        return rc;
    wall.boundary = JM_B_WALL;
    for (size_t i = 0; !rc && i < c->r->n_channels; i++)
        if (strcmp(c->r->channels[i].name, "power.published") == 0) {
            rc = jm_run_readings(c->run, (int)i, w->w->t0, w->w->t1, &buf, c->err);
            if (!rc)
                jm_mlperf_mean(&c->r->channels[i], buf.v, buf.n, w->w->t0, w->w->t1, drop && drop[0] == '1',
                               &mean);
        }
    jm_readings_release(&buf);
    if (rc)
        return rc;
    double p = mean.watts;
    const char *spl = "PTDaemon power.published (plain mean)", *mean_w = "power.mean.mlperf",
               *mean_j = "power.mean.mlperf x seconds";
    struct jm_mlperf_log log = log_of(c->run);
    struct jm_mlperf_counts n;
    struct jm_mlperf_ratios q;
    double seconds = (double)(w->w->t1 - w->w->t0) / 1e9; /* to the last digit what the checkers got */
    jm_mlperf_count(&log, seconds, &n);
    jm_mlperf_divide(p, seconds, &n, &q);
    double tps = n.tokens_per_s, sps = n.samples_per_s, joules = p * seconds;
    bool tokens = isfinite(tps), rate = n.by_rate && isfinite(sps);
    rc = put(c, w, "power.mean.mlperf", &wall, p, NAN, NULL, NAN, NULL, spl);
    if (!rc)
        c->r->results[c->r->n_results - 1].n = mean.n;
    if (!rc && tokens)
        rc = put(c, w, "j_per.output_token", &wall, q.j_per_token, p, mean_w, tps, n.tokens_from, spl);
    if (!rc && tokens)
        rc = put(c, w, "tokens_per_j", &wall, q.tokens_per_j, tps, n.tokens_from, p, mean_w, spl);
    if (!rc && tokens)
        rc = put(c, w, "kwh_per_mtok", &wall, q.j_per_token / 3.6, p, mean_w, tps, n.tokens_from, spl);
    if (!rc && rate)
        rc = put(c, w, "samples_per_j", &wall, q.samples_per_j, sps, n.samples_from, p, mean_w, spl);
    if (!rc && rate)
        rc = put(c, w, "j_per.sample", &wall, q.j_per_sample, p, mean_w, sps, n.samples_from, spl);
    if (!rc && n.stream) {
        const char *of =
            n.inferred && n.samples > 1 ? "queries of 8 samples, inferred from SingleStream" : "queries";
        rc = put(c, w, "mj_per_stream", &wall, q.mj_per_stream, joules, mean_j, n.queries, of, spl);
        if (!rc && !n.by_rate)
            rc = put(c, w, "samples_per_j", &wall, q.samples_per_j, n.samples * n.queries, "samples", joules,
                     mean_j, spl);
    }
    if (!rc && isfinite(sps)) {
        struct jm_result *x = jm_calc_result(c, w, "samples_per_s", NULL);
        rc = x ? 0 : jm_err_set(c->err, JM_ENOMEM, "out of memory for the results");
        if (x) {
            x->q.have = true;
            x->q.value = sps;
            x->instrument = n.samples_from;
        }
    }
    if (!rc && tokens) {
        struct jm_result *x = jm_calc_result(c, w, "tokens_per_s", NULL);
        rc = x ? 0 : jm_err_set(c->err, JM_ENOMEM, "out of memory for the results");
        if (x) {
            x->q.have = true;
            x->q.value = tps;
            x->instrument = n.tokens_from;
        }
    }
    return rc ? rc : latencies(c, w);
}
