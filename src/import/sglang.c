/* SPDX-License-Identifier: Apache-2.0 */
/* What SGLang's bench_serving appends with --output-file: a JSON object a line, a line a run. With
 * --output-details it holds the requests. output_lens begin with the length asked for and keep it where no
 * usage comes, which single-turn payloads do not ask for (sglang issues 10746, 24254);
 * total_output_tokens_retokenized is the other count. There is no number of failures, and no time of any
 * request. */
#include <stdio.h>
#include <string.h>

#include "import/build.h"
#include "import/probe.h"
#include "import/serving.h"

#include "base/banned.h"

static const char wall[] = "successful requests over the whole run, ramp and drain included";
static const char first[] = "first non-empty content, reasoning included";
static const char asked[] = "usage.completion_tokens where it came, else the length asked for";

static const struct jm_claim_row rows[] = {
    {"*_ttft_ms", "ttft", NULL, "ms", first, NULL},
    {"*_tpot_ms", "tpot.excl_first", NULL, "ms", "(latency - TTFT) / (output_lens - 1)", NULL},
    {"*_itl_ms", "itl.chunk", NULL, "ms", "gaps between chunks, a token each where accept_length is known",
     NULL},
    {"*_e2e_latency_ms", "e2e", NULL, "ms", "to the last line, usage and [DONE] included", NULL},
    {"duration", "duration", "sum", "s", "", NULL},
    {"completed", "requests.ok", "sum", "", "", NULL},
    {"total_input_tokens", "tokens.input", "sum", "tokens", "of the dataset, not of the server", NULL},
    {"total_output_tokens", "tokens.output", "sum", "tokens", asked, NULL},
    {"total_output_tokens_retokenized", "tokens.retokenized", "sum", "tokens",
     "text of the answers tokenised again", NULL},
    {"request_throughput", "requests_per_s", "", "requests/s", wall, NULL},
    {"input_throughput", "tokens.input_per_s", "", "tokens/s", wall, NULL},
    {"output_throughput", "tokens_per_s", "", "tokens/s", wall, NULL},
    {"total_throughput", "tokens.total_per_s", "", "tokens/s", wall, NULL},
    {"concurrency", "concurrency", "mean", "", "sum of latencies / duration", NULL},
    {"max_output_tokens_per_s", "", "max", "tokens/s", "", NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL}};

static const struct jm_claim_row cache_rows[] = {
    {"total_cached_tokens", "tokens.cached", "sum", "tokens", "server's cache report", NULL},
    {"total_prompt_tokens", "", "sum", "tokens", "server's cache report", NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL}};

static int sniff(const struct jm_probe *p)
{
    static const struct jm_probe_mark marks[] = {{"duration", 0},
                                                 {"completed", 0},
                                                 {"total_output_tokens_retokenized", 50},
                                                 {"dataset_name", 25},
                                                 {"backend", 10},
                                                 {"accept_length", 20},
                                                 {"mean_e2e_latency_ms", 20},
                                                 {"sharegpt_output_len", 15},
                                                 {"random_range_ratio", 10},
                                                 {"tokenizer_id", -40},
                                                 {NULL, 0}};
    return p->list ? 0 : jm_probe_score(p, marks);
}

/* The length that was asked of every request; -1: they differ, or it is not known. */
static int64_t length(const struct jm_jtoken *dataset, const struct jm_jtoken *random,
                      const struct jm_jtoken *ratio, const struct jm_jtoken *sharegpt)
{
    int64_t n = -1;
    double r = 0;
    if (jm_jtoken_is(dataset, "random") && jm_jnum(ratio, &r) && r == 1)
        jm_jint(random, &n);
    else if (jm_jtoken_is(dataset, "sharegpt"))
        jm_jint(sharegpt, &n);
    return n;
}

static void one(struct jm_build *b, const struct jm_jtoken *doc, int n)
{
    static const char *const names[] = {"duration",
                                        "request_rate",
                                        "max_concurrency",
                                        "tag",
                                        "backend",
                                        "dataset_name",
                                        "random_output_len",
                                        "random_range_ratio",
                                        "sharegpt_output_len",
                                        "random_input_len",
                                        "cache_report",
                                        "server_info"};
    enum { DURATION, RATE, CONCURRENCY, TAG, BACKEND, DATASET, OSL, RATIO, SHAREGPT, ISL, CACHE, SERVER };
    struct jm_jtoken v[sizeof names / sizeof names[0]], model;
    char name[64], plan[512], rate[32] = "", conc[32] = "", tag[64] = "", dataset[48] = "";
    int64_t ns = 0;
    if (doc->type != JM_J_OBJECT) {
        jm_build_fail(b, "%s: benchmark %d is no JSON object", b->f->path, n);
        return;
    }
    int rc = jm_jfind(b->f, doc, names, sizeof names / sizeof names[0], v, b->err);
    if (rc < 0) {
        b->rc = rc;
        return;
    }
    jm_jtime(&v[DURATION], 0, &ns);
    jm_jtext(&v[RATE], rate, sizeof rate);
    jm_jtext(&v[CONCURRENCY], conc, sizeof conc);
    jm_jtext(&v[TAG], tag, sizeof tag);
    jm_jtext(&v[DATASET], dataset, sizeof dataset);
    snprintf(plan, sizeof plan, "%s|%s|%s|%s|%.*s|%.*s", rate, conc, tag, dataset, (int)v[ISL].raw.n,
             v[ISL].raw.p, (int)v[OSL].raw.n, v[OSL].raw.p);
    snprintf(name, sizeof name, "%d%s%s%s%s%s%s", n, rate[0] ? ": rate " : "", rate,
             conc[0] ? ", concurrency " : "", conc, tag[0] ? ", " : "", tag);
    int64_t end = b->f->mtime_ns;
    jm_build_window_after(b, jm_build_repeat(b, plan), name, end > ns ? end - ns : 0, ns > 0 ? ns : 0);
    jm_build_claims(b, doc, rows, "");
    jm_build_claims(b, &v[CACHE], cache_rows, "cache_report.");
    jm_build_env_of(b, "plan.rate_per_s", &v[RATE]);
    jm_build_env_of(b, "plan.concurrency", &v[CONCURRENCY]);
    jm_build_env_of(b, "import.endpoint_type", &v[BACKEND]);
    if (jm_jpath(b->f, &v[SERVER], "model_path", &model))
        jm_build_env_of(b, "endpoint.model", &model);
    jm_build_env(b, "import.tokens.output", "%s", asked);
    jm_serving_requests(b, doc, length(&v[DATASET], &v[OSL], &v[RATIO], &v[SHAREGPT]));
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    return jm_build_documents("sglang-bench", path, out, o, NULL, one, err);
}

const struct jm_importer jm_import_sglang = {
    .name = "sglang",
    .summary = "SGLang bench_serving --output-file (lines of JSON, with --output-details or without)",
    .reads = "Every number as a claim, the cache report too. With --output-details each request with its "
             "lengths, TTFT and "
             "the gaps between its chunks, cached tokens where they are reported.",
    .lacks = "When a request began (each is placed at the start of the window), when it was, how many "
             "failed; whether an "
             "output length was counted or only asked for.",
    .sniff = sniff,
    .import = import,
};
