/* SPDX-License-Identifier: Apache-2.0 */
/* What `vllm bench serve --save-result` writes (benchmark_serving.py before it, and vllm-bench, its form in
 * Rust): one JSON object, or one a line with --append-result. With --save-detailed it holds arrays over the
 * requests, and their chunks' gaps; without, means and percentiles only. Versions differ: `failed`, `label`,
 * max_* and `rtfx` came later, start_times in 2025, gpu_energy_* in 2026. Also `vllm bench throughput
 * --output-json` and `vllm bench latency --output-json`, which are totals. */
#include <stdio.h>
#include <string.h>

#include "import/build.h"
#include "import/probe.h"
#include "import/serving.h"

#include "base/banned.h"

static const char role[] = "from the first chunk with a choice; a role-only chunk counts as the first token";
static const char chunk[] = "gaps between chunks; a chunk is taken for a token";
static const char wall[] = "successful requests over the whole run, ramp and drain included";
static const char nvml[] = "NVML counters of energy_gpu_ids, read around the run";

static const struct jm_claim_row rows[] = {
    {"*_ttft_ms", "ttft", NULL, "ms", role, NULL},
    {"*_tpot_ms", "tpot.excl_first", NULL, "ms", "(latency - TTFT) / (output tokens - 1)", NULL},
    {"*_itl_ms", "itl.chunk", NULL, "ms", chunk, NULL},
    {"*_e2el_ms", "e2e", NULL, "ms", "from the client's own start; its queue is outside", NULL},
    {"*_client_queue_time_ms", "", NULL, "ms", "waiting for --max-concurrency", NULL},
    {"*_e2el_including_client_queue_ms", "", NULL, "ms", "e2e with the client's queue", NULL},
    {"duration", "duration", "sum", "s", "first submit to the last end", NULL},
    {"completed", "requests.ok", "sum", "", "at least one chunk with a choice came", NULL},
    {"failed", "requests.failed", "sum", "", "", NULL},
    {"num_prompts", "requests.all", "sum", "", "", NULL},
    {"total_input_tokens", "tokens.input", "sum", "tokens", "of successful requests", NULL},
    {"total_output_tokens", "tokens.output", "sum", "tokens", "of successful requests", NULL},
    {"request_throughput", "requests_per_s", "", "requests/s", wall, NULL},
    {"request_goodput", "goodput", "", "requests/s", wall, NULL},
    {"output_throughput", "tokens_per_s", "", "tokens/s", wall, NULL},
    {"total_token_throughput", "tokens.total_per_s", "", "tokens/s", wall, NULL},
    {"max_output_tokens_per_s", "", "max", "tokens/s", "chunks in one-second buckets", NULL},
    {"max_concurrent_requests", "", "max", "", "", NULL},
    {"gpu_energy_j", "energy", "sum", "J", nvml, "gpu"},
    {"gpu_energy_duration_s", "energy.duration", "sum", "s", nvml, NULL},
    {"gpu_avg_power_w", "power.mean", "mean", "W", nvml, "gpu"},
    {"gpu_energy_per_output_token_j", "j_per.output_token", "", "J/token", nvml, "gpu"},
    /* vllm bench throughput */
    {"elapsed_time", "duration", "sum", "s", "", NULL},
    {"num_requests", "requests.ok", "sum", "", "", NULL},
    {"total_num_tokens", "", "sum", "tokens", "input and output", NULL},
    {"requests_per_second", "requests_per_s", "", "requests/s", wall, NULL},
    {"tokens_per_second", "tokens.total_per_s", "", "tokens/s", "input and output tokens", NULL},
    {"output_tokens_per_second", "tokens_per_s", "", "tokens/s", "", NULL},
    /* vllm bench latency */
    {"avg_latency", "e2e", "mean", "s", "a whole batch each", NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL}};

static int sniff(const struct jm_probe *p)
{
    static const struct jm_probe_mark serve[] = {{"duration", 0},
                                                 {"completed", 20},
                                                 {"model_id", 30},
                                                 {"tokenizer_id", 15},
                                                 {"num_prompts", 10},
                                                 {"burstiness", 10},
                                                 {"endpoint_type", 10},
                                                 {"output_throughput", 10},
                                                 {"mean_ttft_ms", 10},
                                                 {"dataset_name", -40},
                                                 {"steady_state_measurement", -60}, /* ML.ENERGY's */
                                                 {NULL, 0}},
                                      throughput[] = {{"elapsed_time", 0},       {"num_requests", 0},
                                                      {"tokens_per_second", 30}, {"requests_per_second", 30},
                                                      {"total_num_tokens", 0},   {NULL, 0}},
                                      latency[] = {{"avg_latency", 0},
                                                   {"latencies", 0},
                                                   {"percentiles", 60},
                                                   {NULL, 0}};
    int a = jm_probe_score(p, serve), b = jm_probe_score(p, throughput), c = jm_probe_score(p, latency);
    return p->list ? 0 : a > b ? (a > c ? a : c) : b > c ? b : c;
}

/* The end of the run: the tool takes the date when it writes the file. */
static int64_t date(const struct jm_ifile *f, const struct jm_jtoken *doc)
{
    struct jm_jtoken v;
    int64_t ns;
    bool zone;
    return jm_jmember(f, doc, "date", &v) && v.type == JM_J_STRING && jm_build_date(v.raw, &ns, &zone) ? ns
                                                                                                       : -1;
}

static void steady(struct jm_build *b, const struct jm_jtoken *doc)
{
    struct jm_jtoken block, window;
    if (!jm_jmember(b->f, doc, "steady_state", &block) || block.type != JM_J_OBJECT)
        return;
    jm_build_claims(b, &block, NULL, "steady_state.");
    if (jm_jmember(b->f, &block, "window", &window))
        jm_build_claims(b, &window, NULL, "steady_state.window.");
}

static void one(struct jm_build *b, const struct jm_jtoken *doc, int n)
{
    static const char *const names[] = {"duration",
                                        "request_rate",
                                        "max_concurrency",
                                        "model_id",
                                        "backend",
                                        "label",
                                        "num_prompts",
                                        "elapsed_time",
                                        "burstiness",
                                        "endpoint_type",
                                        "date",
                                        "energy_gpu_ids",
                                        "benchmark_start_time_unix"};
    enum {
        DURATION,
        RATE,
        CONCURRENCY,
        MODEL,
        BACKEND,
        LABEL,
        PROMPTS,
        ELAPSED,
        BURSTINESS,
        ENDPOINT,
        DATE,
        GPUS,
        BEGAN
    };
    struct jm_jtoken v[sizeof names / sizeof names[0]];
    char name[64], plan[512], rate[32] = "", conc[32] = "", text[128] = "", model[128] = "";
    int64_t ns = -1, end, t0;
    if (doc->type != JM_J_OBJECT) {
        jm_build_fail(b, "%s: benchmark %d is no JSON object", b->f->path, n);
        return;
    }
    int rc = jm_jfind(b->f, doc, names, sizeof names / sizeof names[0], v, b->err);
    if (rc < 0) {
        b->rc = rc;
        return;
    }
    if (!jm_jtime(&v[DURATION], 0, &ns) && !jm_jtime(&v[ELAPSED], 0, &ns))
        ns = -1;
    if (ns < 0)
        ns = 0;
    jm_jtext(&v[RATE], rate, sizeof rate);
    jm_jtext(&v[CONCURRENCY], conc, sizeof conc);
    jm_jtext(&v[LABEL], text, sizeof text);
    jm_jtext(&v[MODEL], model, sizeof model);
    snprintf(plan, sizeof plan, "%s|%s|%s|%s|%.*s", rate, conc, text, model, (int)v[PROMPTS].raw.n,
             v[PROMPTS].raw.p);
    snprintf(name, sizeof name, "%d%s%s%s%s%s%s", n, rate[0] ? ": rate " : "", rate,
             conc[0] ? ", concurrency " : "", conc, text[0] ? ", " : "", text);
    end = date(b->f, doc);
    if (end < 0)
        end = b->f->mtime_ns;
    bool began = jm_jtime(&v[BEGAN], 0, &t0) && t0 > 0;
    if (!began)
        t0 = end > ns ? end - ns : 0;
    jm_build_window_after(b, jm_build_repeat(b, plan), name, t0, ns);
    jm_build_claims(b, doc, rows, "");
    steady(b, doc);
    jm_build_env_of(b, "endpoint.model", &v[MODEL]);
    jm_build_env_of(b, "plan.rate_per_s", &v[RATE]);
    jm_build_env_of(b, "plan.concurrency", &v[CONCURRENCY]);
    if (v[BURSTINESS].type == JM_J_NUMBER)
        jm_build_env(b, "plan.shape", "gamma, burstiness %.*s", (int)v[BURSTINESS].raw.n,
                     v[BURSTINESS].raw.p);
    if (v[ENDPOINT].type == JM_J_STRING)
        jm_build_env_of(b, "import.endpoint_type", &v[ENDPOINT]);
    else
        jm_build_env_of(b, "import.endpoint_type", &v[BACKEND]);
    if (v[GPUS].type == JM_J_ARRAY)
        jm_build_env(b, "import.energy_gpus", "%.*s", v[GPUS].raw.n < 200 ? (int)v[GPUS].raw.n : 200,
                     v[GPUS].raw.p);
    if (v[DATE].type == JM_J_STRING && !began)
        jm_build_env(b, "import.date_zone", "the file does not say; its date is taken as UTC");
    jm_serving_requests(b, doc, -1);
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    return jm_build_documents("vllm-bench", path, out, o, date, one, err);
}

const struct jm_importer jm_import_vllm = {
    .name = "vllm",
    .summary =
        "vllm bench serve --save-result (plain, detailed, appended lines), throughput, latency; vllm-bench",
    .reads =
        "Every number as a claim. With --save-detailed each request with its token counts, TTFT and the gap "
        "between its chunks; gpu_energy_* as declared energy of the GPUs; the steady_state block.",
    .lacks = "Without --save-detailed there are no requests. Older detailed files have no start_times: each "
             "request "
             "is placed at the start of the window. The date has no time zone. TTFT may be that of a "
             "role-only chunk.",
    .sniff = sniff,
    .import = import,
};
