/* SPDX-License-Identifier: Apache-2.0 */
/* What an imported MLPerf session gives: power as published and as it should be, and the efficiency that
 * follows with the performance LoadGen reported. Rules by round: MLCommons inference, tools/submission. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "compute/calc.h"
#include "compute/mlperf_mean.h"
#include "compute/ratio.h"

#include "base/banned.h"

bool jm_calc_is_session(const struct jm_run *run)
{
    const char *kind = jm_run_env(run, "import.kind");
    return kind && strcmp(kind, "mlperf-inference") == 0;
}

static double number(const struct jm_run *run, const char *key)
{
    double v;
    return jm_num_double(jm_span_of(jm_run_env(run, key)), &v) == 0 ? v : NAN;
}

static double first_of(const struct jm_run *run, const char *const *keys, const char **which)
{
    for (; *keys; keys++) {
        double v = number(run, *keys);
        if (isfinite(v)) {
            *which = *keys + strlen("loadgen.");
            return v;
        }
    }
    return NAN;
}

/* Tokens and samples a second: the keys of Server and Offline, measured and inferred (constants.py of the
 * checker). */
static const char *const token_keys[] = {
    "loadgen.result_completed_tokens_per_second", "loadgen.result_inferred_completed_tokens_per_second",
    "loadgen.result_tokens_per_second", "loadgen.result_inferred_tokens_per_second", NULL};
static const char *const sample_keys[] = {"loadgen.result_completed_samples_per_sec",
                                          "loadgen.result_samples_per_second",
                                          "loadgen.result_qps_with_loadgen_overhead", NULL};

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
    x->q.u.excludes = "analyzer accuracy (range and power factor not evaluated), repeats (one run)";
    return 0;
}

/* A stream scenario: what its energy is divided by, and how many samples one of those stands for. */
struct stream {
    double queries;
    double samples; /* a query */
    bool inferred;  /* a MultiStream result from a SingleStream run */
};

static bool first_round(const struct jm_run *run)
{
    const char *round = jm_run_env(run, "mlperf.round");
    return round && strncmp(round, "v1.", 3) == 0;
}

/* result_query_count from v2.0 on, a MultiStream query of eight samples; before, what the rounds' checkers
 * used, by the sample. Inferred MultiStream is eight times the SingleStream query. */
static struct stream stream_of(const struct jm_run *run, const char *scenario, double seconds)
{
    const char *claimed = jm_run_env(run, "mlperf.claimed_scenario");
    bool single = scenario && strcmp(scenario, "SingleStream") == 0,
         multi = scenario && strcmp(scenario, "MultiStream") == 0;
    struct stream s = {.queries = NAN, .samples = 1};
    if (!single && !multi)
        return s;
    s.inferred = single && claimed && strcmp(claimed, "MultiStream") == 0 && !first_round(run);
    if (!first_round(run)) {
        s.queries = number(run, "loadgen.result_query_count") / (s.inferred ? 8 : 1);
        s.samples = multi || s.inferred ? 8 : 1;
    } else if (single) {
        s.queries = number(run, "loadgen.result_qps_with_loadgen_overhead") * seconds;
    } else {
        s.queries =
            number(run, "loadgen.generated_query_count") * number(run, "loadgen.generated_samples_per_query");
    }
    return s;
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
            double v = number(c->run, key);
            if (k == 1 && i == 0)
                v = number(c->run, "loadgen.result_time_to_output_token_mean");
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
    const char *drop = jm_run_env(c->run, "mlperf.drop_nonpositive"),
               *scenario = jm_run_env(c->run, "mlperf.scenario");
    const char *tokens_from = NULL, *samples_from = NULL;
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
    double tps = first_of(c->run, token_keys, &tokens_from),
           sps = first_of(c->run, sample_keys, &samples_from);
    const char *spl = "PTDaemon power.published (plain mean)";
    bool stream = scenario && (strcmp(scenario, "SingleStream") == 0 || strcmp(scenario, "MultiStream") == 0);
    struct stream st = stream_of(c->run, scenario, w->seconds);
    rc = put(c, w, "power.mean.mlperf", &wall, p, NAN, NULL, NAN, NULL, spl);
    if (!rc) {
        c->r->results[c->r->n_results - 1].n = mean.n;
        if (isfinite(tps))
            rc = put(c, w, "j_per.output_token", &wall, p / tps, p, "power.mean.mlperf", tps, tokens_from,
                     spl);
    }
    if (!rc && isfinite(tps))
        rc = put(c, w, "tokens_per_j", &wall, tps / p, tps, tokens_from, p, "power.mean.mlperf", spl);
    if (!rc && isfinite(tps))
        rc = put(c, w, "kwh_per_mtok", &wall, p / tps / 3.6, p, "power.mean.mlperf", tps, tokens_from, spl);
    if (!rc && isfinite(sps) && !stream)
        rc = put(c, w, "samples_per_j", &wall, sps / p, sps, samples_from, p, "power.mean.mlperf", spl);
    if (!rc && isfinite(sps) && !stream)
        rc = put(c, w, "j_per.sample", &wall, p / sps, p, "power.mean.mlperf", sps, samples_from, spl);
    if (!rc && stream) {
        double joules = p * w->seconds;
        const char *of = st.inferred ? "queries of 8 samples, inferred from SingleStream" : "queries";
        if (!(st.queries > 0))
            st.queries = NAN;
        rc = put(c, w, "mj_per_stream", &wall, 1000 * joules / st.queries, joules,
                 "power.mean.mlperf x seconds", st.queries, of, spl);
        if (!rc)
            rc = put(c, w, "samples_per_j", &wall, st.samples * st.queries / joules, st.samples * st.queries,
                     "samples", joules, "power.mean.mlperf x seconds", spl);
    }
    if (!rc && isfinite(sps)) {
        struct jm_result *x = jm_calc_result(c, w, "samples_per_s", NULL);
        rc = x ? 0 : jm_err_set(c->err, JM_ENOMEM, "out of memory for the results");
        if (x) {
            x->q.have = true;
            x->q.value = sps;
            x->instrument = samples_from;
        }
    }
    if (!rc && isfinite(tps)) {
        struct jm_result *x = jm_calc_result(c, w, "tokens_per_s", NULL);
        rc = x ? 0 : jm_err_set(c->err, JM_ENOMEM, "out of memory for the results");
        if (x) {
            x->q.have = true;
            x->q.value = tps;
            x->instrument = tokens_from;
        }
    }
    return rc ? rc : latencies(c, w);
}
