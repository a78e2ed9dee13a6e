/* SPDX-License-Identifier: Apache-2.0 */
/* huggingface/inference-benchmarker: {config, results: [{id, executor_type, ...}], start_time, end_time,
 * system}. A window a result; totals only. */
#include <stdio.h>
#include <string.h>

#include "import/build.h"
#include "import/probe.h"

#include "base/banned.h"

static const struct jm_claim_row rows[] = {
    {"total_requests", "requests.all", "sum", "", "", NULL},
    {"successful_requests", "requests.ok", "sum", "", "a stream that ended with [DONE]", NULL},
    {"failed_requests", "requests.failed", "sum", "", "", NULL},
    {"total_tokens", "tokens.output", "sum", "tokens", "deltas by the client's tokenizer", NULL},
    {"total_tokens_sent", "tokens.input", "sum", "tokens", "", NULL},
    {"token_throughput_secs", "tokens_per_s", "", "tokens/s", "", NULL},
    {"request_rate", "requests_per_s", "", "requests/s", "", NULL},
    {"duration_ms", "duration", "sum", "ms", "", NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL}};

static int sniff(const struct jm_probe *p)
{
    static const struct jm_probe_mark marks[] = {{"results[].executor_type", 0},
                                                 {"results[].token_throughput_secs", 50},
                                                 {"results[].inter_token_latency_ms", 30},
                                                 {"system", 10},
                                                 {NULL, 0}};
    return jm_probe_score(p, marks);
}

static int64_t date(const struct jm_ifile *f, const struct jm_jtoken *doc)
{
    struct jm_jtoken v;
    int64_t ns;
    bool zone;
    return jm_jmember(f, doc, "start_time", &v) && v.type == JM_J_STRING && jm_build_date(v.raw, &ns, &zone)
               ? ns
               : -1;
}

static void result(struct jm_build *b, const struct jm_jtoken *r, int n, int64_t at)
{
    static const char *const stats[][3] = {{"time_to_first_token_ms", "ttft", "first delta"},
                                           {"inter_token_latency_ms", "itl.chunk", "gaps between deltas"},
                                           {"e2e_latency_ms", "e2e", ""}};
    struct jm_jtoken v;
    char id[64] = "", name[80];
    int64_t ns = 0;
    if (jm_jmember(b->f, r, "id", &v))
        jm_jtext(&v, id, sizeof id);
    if (jm_jmember(b->f, r, "duration_ms", &v))
        jm_jtime(&v, -3, &ns);
    snprintf(name, sizeof name, "%d: %s", n, id);
    jm_build_window_after(b, jm_build_repeat(b, id), name, at, ns > 0 ? ns : 0);
    jm_build_claims(b, r, rows, "");
    for (size_t i = 0; i < 3; i++)
        if (jm_jmember(b->f, r, stats[i][0], &v))
            jm_build_stats(b, stats[i][0], &v, stats[i][1], "ms", stats[i][2]);
}

static void one(struct jm_build *b, const struct jm_jtoken *doc, int n)
{
    struct jm_jtoken list, v;
    struct jm_jiter it;
    int64_t at = date(b->f, doc);
    int rc = 0, k = 0;
    (void)n;
    if (!jm_jmember(b->f, doc, "results", &list) || list.type != JM_J_ARRAY) {
        jm_build_fail(b, "%s has no list \"results\"", b->f->path);
        return;
    }
    jm_jiter_init(&it, b->f, &list);
    while (!b->rc && (rc = jm_jiter_next(&it, NULL, &v, b->err)) > 0)
        result(b, &v, ++k, at >= 0 ? at : b->f->mtime_ns);
    if (rc < 0)
        b->rc = rc;
    if (!k)
        jm_build_fail(b, "%s: \"results\" is empty", b->f->path);
    jm_build_times(b, "one after the other from the start of the file");
    jm_build_missing(b, "requests", "the file holds totals and percentiles only");
    if (jm_jpath(b->f, doc, "config.tokenizer", &v) || jm_jpath(b->f, doc, "config.model_name", &v))
        jm_build_env_of(b, "endpoint.model", &v);
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    return jm_build_documents("hf-inference-benchmarker", path, out, o, date, one, err);
}

const struct jm_importer jm_import_hf_bench = {
    .name = "hf-benchmarker",
    .summary = "huggingface/inference-benchmarker (results/*.json)",
    .reads = "A window a result with its totals and percentiles as claims.",
    .lacks = "Requests.",
    .sniff = sniff,
    .import = import,
};
