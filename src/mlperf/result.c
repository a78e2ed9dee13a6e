/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/result.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "compute/mlperf_figures.h"
#include "mlperf/benchmark.h"
#include "mlperf/result_limits.h"
#include "model/mlperf_limits.h"

#include "base/banned.h"

#define SAMPLES_A_QUERY 8

static const struct jm_mlperf_loadgen *run_log(const struct jm_mlperf_session *s)
{
    return &s->loadgen[JM_MLPERF_TESTING];
}

static double number(const void *session, const char *key)
{
    return jm_mlperf_number(run_log(session), key);
}

static const char *text(const struct jm_mlperf_session *s, const char *key)
{
    const struct jm_mlperf_fact *f = jm_mlperf_fact(run_log(s), key);
    return f && f->text && f->text[0] ? f->text : NULL;
}

static struct jm_mlperf_pair none(const char *unit)
{
    return (struct jm_mlperf_pair){NAN, NAN, NAN, NAN, unit};
}

static bool is(const char *a, const char *b)
{
    return a && strcasecmp(a, b) == 0;
}

/* "SingleStream" as the rules spell it. */
static const char *spelled(const char *scenario)
{
    static const char *const names[] = {"Offline", "Server", "Interactive", "SingleStream", "MultiStream"};
    for (size_t i = 0; scenario && i < sizeof names / sizeof names[0]; i++)
        if (strcasecmp(scenario, names[i]) == 0)
            return names[i];
    return scenario;
}

/* ---- power */

static void power(const struct jm_mlperf_session *s, struct jm_mlperf_result *out)
{
    const struct jm_mlperf_power *p = &s->power[JM_MLPERF_TESTING];
    const struct jm_mlperf_samples *w = &p->window;
    bool drop = s->round.drop_nonpositive;
    int64_t begin, end, n = drop ? w->n_positive : w->rows;
    if (jm_mlperf_window(s, JM_MLPERF_TESTING, &begin, &end) && end > begin)
        out->seconds = (double)(end - begin) / 1e9;
    out->dropped = p->present ? (double)(drop ? w->nonpositive : 0) : NAN;
    if (!p->present)
        return;
    if (n > 0)
        out->power.published = (drop ? w->plain_positive_w : w->plain_all_w) / (double)n;
    if (w->good + w->over > 0)
        out->decoded_w = (double)w->sum_decoded_uw / 1e6 / (double)(w->good + w->over);
    out->power.proper = p->joules / p->seconds;
    out->energy.published = out->power.published * out->seconds;
    out->energy.proper = p->joules;
    if (!isfinite(out->power.proper))
        out->power.proper = out->energy.proper = NAN;
}

/* ---- what the energy bought */

/* x = a / watts (rate) or a x watts. */
static void divide(const struct jm_mlperf_result *r, const struct jm_mlperf_counts *n,
                   struct jm_mlperf_ratios q[4])
{
    jm_mlperf_divide(r->power.published, r->seconds, n, &q[0]);
    jm_mlperf_divide(r->power.proper, r->seconds, n, &q[1]);
    jm_mlperf_divide(r->power.lo, r->seconds, n, &q[2]);
    jm_mlperf_divide(r->power.hi, r->seconds, n, &q[3]);
}

#define PAIR(out, q, field, lower, upper)                                                                    \
    do {                                                                                                     \
        (out).published = (q)[0].field;                                                                      \
        (out).proper = (q)[1].field;                                                                         \
        (out).lo = (q)[lower].field;                                                                         \
        (out).hi = (q)[upper].field;                                                                         \
    } while (0)

static void ratios(struct jm_mlperf_result *out, const struct jm_mlperf_counts *n)
{
    struct jm_mlperf_ratios q[4];
    divide(out, n, q);
    /* one that is inferred stands for eight of the run */
    out->queries = n->queries * (n->inferred && !n->by_rate ? n->samples : 1);
    out->samples_per_s = n->samples_per_s;
    out->tokens_per_s = n->tokens_per_s;
    PAIR(out->mj_per_stream, q, mj_per_stream, 2, 3);
    PAIR(out->j_per_token, q, j_per_token, 2, 3);
    PAIR(out->samples_per_j, q, samples_per_j, 3, 2); /* more power, fewer samples */
    PAIR(out->tokens_per_j, q, tokens_per_j, 3, 2);
}

/* power_metric of the submission checker. */
static void metric(const struct jm_mlperf_session *s, const struct jm_mlperf_counts *n,
                   struct jm_mlperf_result *out)
{
    double joules = out->power.published * out->seconds;
    if (n->by_rate) {
        out->metric = out->power.published;
        out->metric_unit = "Watts";
    } else {
        out->metric_unit = s->round.millijoules ? "millijoules" : "Joules";
        out->metric = (s->round.millijoules ? 1000 * joules : joules) / n->queries;
    }
    if (!isfinite(out->metric))
        out->metric = NAN;
}

/* ---- performance */

static void inferred(const struct jm_mlperf_session *s, const char *run, const struct jm_mlperf_counts *n,
                     struct jm_mlperf_result *out)
{
    bool to_multi =
        is(out->scenario, "MultiStream") && is(run, "SingleStream") && !s->round.legacy_multistream;
    if (is(out->scenario, "Offline") && n->samples_from) {
        out->performance = n->samples_per_s;
        snprintf(out->performance_unit, sizeof out->performance_unit, "Samples/s");
        snprintf(out->performance_from, sizeof out->performance_from, "%s", n->samples_from);
    } else if (to_multi) {
        const char *key =
            s->round.early_stopping ? "early_stopping_latency_ms" : "result_99.00_percentile_latency_ns";
        out->performance = number(s, key) * SAMPLES_A_QUERY / 1e6;
        snprintf(out->performance_unit, sizeof out->performance_unit, "Latency (ms)");
        snprintf(out->performance_from, sizeof out->performance_from, "%s x 8", key);
    }
}

static void performance(const struct jm_mlperf_session *s, const char *run, const struct jm_mlperf_counts *n,
                        struct jm_mlperf_result *out)
{
    struct jm_mlperf_metric m;
    jm_mlperf_metric_of(&s->round, out->model, run ? spelled(run) : out->scenario, &m);
    out->performance = m.key[0] ? number(s, m.key) / m.per : NAN;
    snprintf(out->performance_unit, sizeof out->performance_unit, "%s", m.unit);
    snprintf(out->performance_from, sizeof out->performance_from, "%s", m.key);
    if (!out->model[0] && isfinite(n->tokens_per_s) && n->by_rate) {
        /* an LLM that the path does not name */
        out->performance = n->tokens_per_s;
        snprintf(out->performance_unit, sizeof out->performance_unit, "Tokens/s");
        snprintf(out->performance_from, sizeof out->performance_from, "%s", n->tokens_from);
    }
    if (out->inferred)
        inferred(s, run, n, out);
    if (!s->round.efficiency)
        return;
    out->efficiency_unit = strcmp(out->performance_unit, "Tokens/s") == 0 ? "tokens/J" : "samples/J";
    if (n->by_rate)
        out->efficiency = out->performance / out->power.published;
    else
        out->efficiency = n->samples * 1000 / out->metric;
    if (!isfinite(out->efficiency))
        out->efficiency = NAN;
}

/* ---- token latencies */

static int truth(const struct jm_mlperf_session *s, const char *key)
{
    const struct jm_mlperf_fact *f = jm_mlperf_fact(run_log(s), key);
    if (!f || !f->text)
        return -1;
    if (f->is_number)
        return f->number != 0;
    return strcasecmp(f->text, "true") == 0;
}

static double seconds_of(const struct jm_mlperf_session *s, const char *key)
{
    return number(s, key) / 1e9;
}

static void latency(const struct jm_mlperf_session *s, struct jm_mlperf_result *out)
{
    struct jm_mlperf_token_latency *l = &out->latency;
    struct jm_mlperf_limits lim;
    char name[96];
    bool server = is(out->scenario, "Server") || is(out->scenario, "Interactive");
    *l = (struct jm_mlperf_token_latency){
        .ttft_s = seconds_of(s, "result_first_token_99.00_percentile_latency_ns"),
        .tpot_s = seconds_of(s, "result_time_per_output_token_99.00_percentile_ns"),
        .e2e_s = seconds_of(s, "result_99.00_percentile_latency_ns"),
        .ttft_limit_s = NAN,
        .tpot_limit_s = NAN,
        .e2e_limit_s = NAN,
        .percentile = 99,
        .token_latencies = truth(s, "requested_use_token_latencies"),
        .early_stopping = truth(s, "early_stopping_met"),
    };
    if (!out->model[0])
        return;
    snprintf(name, sizeof name, "%s%s", out->model, out->interactive ? "-interactive" : "");
    if (!jm_mlperf_limits_find(name, s->round.name, &lim))
        return;
    l->llm = true;
    l->tokens = isfinite(lim.ttft_s) || isfinite(lim.tpot_s);
    l->limited = server;
    if (!server)
        return;
    l->ttft_limit_s = lim.ttft_s;
    l->tpot_limit_s = lim.tpot_s;
    l->e2e_limit_s = lim.e2e_s;
    l->percentile = lim.percentile;
}

int jm_mlperf_compute(const struct jm_mlperf_session *s, struct jm_mlperf_result *out, struct jm_err *err)
{
    const char *run = text(s, "effective_scenario");
    struct jm_mlperf_benchmark b;
    struct jm_mlperf_counts n;
    if (!run)
        run = text(s, "requested_scenario");
    const char *claimed = s->claimed_scenario ? s->claimed_scenario : run;
    (void)err;
    *out = (struct jm_mlperf_result){
        .seconds = NAN,
        .queries = NAN,
        .power = none("W"),
        .energy = none("J"),
        .decoded_w = NAN,
        .metric = NAN,
        .metric_unit = "Watts",
        .named_by = "",
        .mj_per_stream = none("mJ/stream"),
        .performance = NAN,
        .efficiency = NAN,
        .efficiency_unit = "",
        .samples_per_s = NAN,
        .tokens_per_s = NAN,
        .samples_per_j = none("samples/J"),
        .j_per_token = none("J/token"),
        .tokens_per_j = none("tokens/J"),
        .dropped = NAN,
        .v_range = NAN,
        .a_range = NAN,
    };
    snprintf(out->scenario, sizeof out->scenario, "%s", claimed ? spelled(claimed) : "");
    bool by_path = jm_mlperf_benchmark_of(s->root, s->round.name, &b) ||
                   jm_mlperf_benchmark_of(s->dir, s->round.name, &b);
    if (by_path || jm_mlperf_benchmark_of_log(text(s, "sut_name"), number(s, "qsl_reported_total_count"),
                                              s->round.name, &b)) {
        out->named_by = by_path ? "path" : "log";
        snprintf(out->benchmark, sizeof out->benchmark, "%s", b.name);
        snprintf(out->model, sizeof out->model, "%s", b.model);
        out->interactive = b.interactive;
    }
    out->interactive |= is(out->scenario, "Interactive");
    power(s, out);
    jm_mlperf_result_limits(s, out);
    struct jm_mlperf_log log = {
        .number = number,
        .self = s,
        .scenario = run,
        .claimed = s->claimed_scenario,
        .legacy_count = s->round.legacy_count,
        .completed = s->round.completed,
    };
    jm_mlperf_count(&log, out->seconds, &n);
    out->inferred = n.inferred;
    ratios(out, &n);
    metric(s, &n, out);
    performance(s, run, &n, out);
    latency(s, out);
    return 0;
}
