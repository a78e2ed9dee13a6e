/* SPDX-License-Identifier: Apache-2.0 */
/* genai-bench (sgl-project): {aggregated_metrics, individual_request_metrics, _time_unit}, a file a scenario
 * and level. Requests with TTFT, end-to-end time and lengths; no start times, no token times. */
#include <stdio.h>
#include <string.h>

#include "import/build.h"
#include "import/probe.h"

#include "base/banned.h"

static const struct jm_claim_row rows[] = {
    {"run_duration", "duration", "sum", "s", "", NULL},
    {"mean_output_throughput_tokens_per_s", "tokens_per_s", "", "tokens/s", "", NULL},
    {"mean_input_throughput_tokens_per_s", "tokens.input_per_s", "", "tokens/s", "", NULL},
    {"mean_total_tokens_throughput_tokens_per_s", "tokens.total_per_s", "", "tokens/s", "", NULL},
    {"requests_per_second", "requests_per_s", "", "requests/s", "completed requests", NULL},
    {"num_error_requests", "requests.failed", "sum", "", "", NULL},
    {"num_completed_requests", "requests.ok", "sum", "", "", NULL},
    {"num_requests", "requests.all", "sum", "", "", NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL}};

static int sniff(const struct jm_probe *p)
{
    static const struct jm_probe_mark marks[] = {{"aggregated_metrics", 0},
                                                 {"aggregated_metrics.scenario", 30},
                                                 {"aggregated_metrics.stats", 30},
                                                 {"individual_request_metrics", 35},
                                                 {NULL, 0}};
    return jm_probe_score(p, marks);
}

static void requests(struct jm_build *b, const struct jm_jtoken *list, int exponent)
{
    static const char *const names[] = {"ttft",       "e2e_latency",  "num_input_tokens", "num_output_tokens",
                                        "error_code", "error_message"};
    enum { TTFT, E2E, IN, OUT, CODE, MSG };
    struct jm_jiter it;
    struct jm_jtoken row, v[6];
    int rc = 0;
    jm_jiter_init(&it, b->f, list);
    while (!b->rc && (rc = jm_jiter_next(&it, NULL, &row, b->err)) > 0) {
        struct jm_request q;
        int64_t ttft = -1, e2e = -1, code;
        if ((rc = jm_jfind(b->f, &row, names, 6, v, b->err)) < 0)
            break;
        jm_request_init(&q);
        bool failed = v[CODE].type == JM_J_NUMBER;
        if (failed && jm_jint(&v[CODE], &code) && code >= 100 && code < 600)
            q.http_status = (int)code;
        jm_jtext(&v[MSG], q.error, sizeof q.error);
        q.end = !failed                ? JM_END_OK
                : q.http_status == 429 ? JM_END_RATE_LIMIT
                : q.http_status >= 500 ? JM_END_HTTP_SERVER
                : q.http_status >= 400 ? JM_END_HTTP_CLIENT
                                       : jm_build_end_of(q.error);
        if (!failed) {
            jm_jtime(&v[TTFT], exponent, &ttft);
            jm_jtime(&v[E2E], exponent, &e2e);
            jm_jint(&v[IN], &q.prompt_tokens);
            jm_jint(&v[OUT], &q.output_tokens);
        }
        jm_build_timed(b, &q, -1, ttft, e2e, NULL, 0);
        jm_build_request(b, &q);
    }
    if (rc < 0)
        b->rc = rc;
}

static void one(struct jm_build *b, const struct jm_jtoken *doc, int n)
{
    static const char *const stats[][2] = {{"ttft", "ttft"},
                                           {"tpot", "tpot.excl_first"},
                                           {"e2e_latency", "e2e"},
                                           {"num_input_tokens", "isl"},
                                           {"num_output_tokens", "osl"},
                                           {"output_throughput", "tokens_per_s.per_request"}};
    struct jm_jtoken all, list, v, s;
    char scenario[64] = "", level[24] = "", kind[32] = "", name[64], unit[8] = "s", key[64];
    int64_t ns = 0;
    if (!jm_jmember(b->f, doc, "aggregated_metrics", &all)) {
        jm_build_fail(b, "%s has no \"aggregated_metrics\"", b->f->path);
        return;
    }
    if (jm_jmember(b->f, &all, "scenario", &v))
        jm_jtext(&v, scenario, sizeof scenario);
    if (jm_jmember(b->f, &all, "num_concurrency", &v))
        jm_jtext(&v, level, sizeof level);
    if (jm_jmember(b->f, &all, "iteration_type", &v))
        jm_jtext(&v, kind, sizeof kind);
    if (jm_jmember(b->f, &all, "run_duration", &v))
        jm_jtime(&v, 0, &ns);
    if (jm_jmember(b->f, doc, "_time_unit", &v))
        jm_jtext(&v, unit, sizeof unit);
    snprintf(name, sizeof name, "%d: %s, %s %s", n, scenario, kind, level);
    ns = ns > 0 ? ns : 0;
    jm_build_window_after(b, jm_build_repeat(b, name + 3), name,
                          b->f->mtime_ns > ns ? b->f->mtime_ns - ns : 0, ns);
    jm_build_claims(b, &all, rows, "");
    if (jm_jmember(b->f, &all, "stats", &s))
        for (size_t i = 0; i < sizeof stats / sizeof stats[0]; i++)
            if (jm_jmember(b->f, &s, stats[i][0], &v)) {
                bool time = i < 3;
                snprintf(key, sizeof key, "stats.%s", stats[i][0]);
                jm_build_stats(b, key, &v, stats[i][1], time ? unit : i == 5 ? "tokens/s" : "tokens", "");
            }
    jm_build_env(b, "plan.concurrency", "%s", level);
    jm_build_env(b, "plan.shape", "%s", scenario);
    jm_build_times(b, "durations only: every request is placed at the start of its window");
    jm_build_env(b, "import.placed", "window start");
    jm_build_missing(b, "token_times", "the file has one mean a request");
    if (jm_jmember(b->f, doc, "individual_request_metrics", &list))
        requests(b, &list, strcmp(unit, "ms") == 0 ? -3 : 0);
    else
        jm_build_missing(b, "requests", "the file has no individual_request_metrics");
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    return jm_build_documents("genai-bench", path, out, o, NULL, one, err);
}

const struct jm_importer jm_import_genai_bench = {
    .name = "genai-bench",
    .summary = "genai-bench of sgl-project (a JSON a scenario and level)",
    .reads = "Each request with TTFT, end-to-end time and lengths; the aggregated metrics as claims.",
    .lacks = "Start times, token times, the date.",
    .sniff = sniff,
    .import = import,
};
