/* SPDX-License-Identifier: Apache-2.0 */
/* A report that holds totals only: trtllm-bench --report_json of TensorRT-LLM. Every number is a claim. */
#include <stdio.h>
#include <string.h>

#include "import/build.h"
#include "import/probe.h"

#include "base/banned.h"

static const struct jm_claim_row performance[] = {
    {"total_latency_ms", "duration", "sum", "ms", "first start to last end", NULL},
    {"avg_request_latency_ms", "e2e", "mean", "ms", "", NULL},
    {"request_throughput_req_s", "requests_per_s", "", "requests/s", "", NULL},
    {"system_output_throughput_tok_s", "tokens_per_s", "", "tokens/s", "", NULL},
    {"system_total_throughput_tok_s", "tokens.total_per_s", "", "tokens/s", "", NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL}};
static const struct jm_claim_row info[] = {
    {"num_requests", "requests.ok", "sum", "", "", NULL},
    {"avg_num_concurrent_requests", "concurrency", "mean", "", "", NULL},
    {"avg_input_length", "isl", "mean", "tokens", "", NULL},
    {"avg_output_length", "osl", "mean", "tokens", "", NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL}};
static const struct jm_claim_row streaming[] = {
    {"avg_ttft_ms", "ttft", "mean", "ms", "", NULL},
    {"avg_tpot_ms", "tpot.excl_first", "mean", "ms", "without the TTFT", NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL}};
static int sniff_trtllm(const struct jm_probe *p)
{
    static const struct jm_probe_mark marks[] = {{"performance.system_output_throughput_tok_s", 0},
                                                 {"world_info", 50},
                                                 {"request_info", 45},
                                                 {NULL, 0}};
    return jm_probe_score(p, marks);
}

static void trtllm(struct jm_build *b, const struct jm_jtoken *doc, int n)
{
    static const struct {
        const char *path, *metric, *unit;
    } stats[] = {{"performance.request_latency_percentiles_ms", "e2e", "ms"},
                 {"streaming_metrics.ttft_percentiles", "ttft", "ms"},
                 {"streaming_metrics.tpot_percentiles", "tpot.excl_first", "ms"},
                 {"streaming_metrics.gen_tps_percentiles", "tokens_per_s.per_user", "tokens/s"}};
    struct jm_jtoken v, perf;
    char name[32];
    int64_t ns = 0;
    if (!jm_jmember(b->f, doc, "performance", &perf)) {
        jm_build_fail(b, "%s has no \"performance\"", b->f->path);
        return;
    }
    if (jm_jmember(b->f, &perf, "total_latency_ms", &v))
        jm_jtime(&v, -3, &ns);
    ns = ns > 0 ? ns : 0;
    snprintf(name, sizeof name, "trtllm-bench %d", n);
    jm_build_window_after(b, jm_build_repeat(b, ""), name, b->f->mtime_ns > ns ? b->f->mtime_ns - ns : 0, ns);
    jm_build_claims(b, &perf, performance, "performance.");
    if (jm_jmember(b->f, doc, "request_info", &v))
        jm_build_claims(b, &v, info, "request_info.");
    if (jm_jmember(b->f, doc, "streaming_metrics", &v))
        jm_build_claims(b, &v, streaming, "streaming_metrics.");
    for (size_t i = 0; i < sizeof stats / sizeof stats[0]; i++)
        if (jm_jpath(b->f, doc, stats[i].path, &v))
            jm_build_stats(b, stats[i].path, &v, stats[i].metric, stats[i].unit, "");
    if (jm_jpath(b->f, doc, "engine.model", &v))
        jm_build_env_of(b, "endpoint.model", &v);
    if (jm_jpath(b->f, doc, "engine.version", &v))
        jm_build_env_of(b, "endpoint.engine", &v);
    if (jm_jpath(b->f, doc, "engine.quantization", &v))
        jm_build_env_of(b, "endpoint.precision", &v);
    if (jm_jpath(b->f, doc, "world_info.world_size", &v))
        jm_build_env_of(b, "import.gpus", &v);
    jm_build_missing(b, "requests",
                     "the report holds totals and percentiles (--request_json keeps the requests)");
}

static int import_trtllm(const char *path, const char *out, const struct jm_import_opts *o,
                         struct jm_err *err)
{
    return jm_build_documents("trtllm-bench", path, out, o, NULL, trtllm, err);
}

const struct jm_importer jm_import_trtllm_bench = {
    .name = "trtllm-bench",
    .summary = "TensorRT-LLM trtllm-bench --report_json",
    .reads = "Throughput, latency and streaming statistics as claims.",
    .lacks = "Requests, the date.",
    .sniff = sniff_trtllm,
    .import = import_trtllm,
};
