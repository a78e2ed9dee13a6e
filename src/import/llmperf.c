/* SPDX-License-Identifier: Apache-2.0 */
/* llmperf of ray-project: NAME_summary.json (flattened statistics, results_ttft_s_quantiles_p99) and
 * NAME_individual_responses.json (a list, a record a request). Given one, the other is taken from beside it.
 * Output tokens are those of the Llama tokenizer, whatever the model; the inter-token latency divides all
 * intervals, TTFT included, by them; every data chunk counts (llmperf PR 99). No start times, no date. */
#include <stdio.h>
#include <string.h>

#include "import/build.h"
#include "import/probe.h"

#include "base/banned.h"

static const char itl[] = "sum of all intervals, time to the first token included, / output tokens";
static const char tok[] = "Llama tokenizer over the text, whatever the model";
static const char any[] = "first data chunk of any kind";
static const char whole[] = "output tokens / whole time, set-up included";

static const struct jm_claim_row rows[] = {
    {"results_ttft_s_*", "ttft", NULL, "s", any, NULL},
    {"results_inter_token_latency_s_*", "itl.incl_ttft", NULL, "s", itl, NULL},
    {"results_end_to_end_latency_s_*", "e2e", NULL, "s", "", NULL},
    {"results_request_output_throughput_token_per_s_*", "tokens_per_s.per_request", NULL, "tokens/s", "",
     NULL},
    {"results_number_input_tokens_*", "isl", NULL, "tokens", tok, NULL},
    {"results_number_output_tokens_*", "osl", NULL, "tokens", tok, NULL},
    {"results_num_requests_started", "requests.all", "sum", "", "", NULL},
    {"results_number_errors", "requests.failed", "sum", "", "", NULL},
    {"results_num_completed_requests", "requests.ok", "sum", "", "", NULL},
    {"results_num_completed_requests_per_min", "requests_per_s", "", "requests/min", "", NULL},
    {"results_mean_output_throughput_token_per_s", "tokens_per_s", "", "tokens/s", whole, NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL}};

static bool summary(const struct jm_probe *p)
{
    return jm_probe_key(p, "results_ttft_s_mean") || jm_probe_key(p, "results_num_requests_started") ||
           jm_probe_key(p, "results_number_errors");
}

static int sniff(const struct jm_probe *p)
{
    static const struct jm_probe_mark list[] = {{"[].inter_token_latency_s", 0},
                                                {"[].ttft_s", 0},
                                                {"[].end_to_end_latency_s", 60},
                                                {"[].number_output_tokens", 30},
                                                {NULL, 0}};
    return summary(p) ? 90 : jm_probe_score(p, list);
}

/* The other file of the pair. */
static bool other(const char *path, char out[4096])
{
    static const char *const tails[] = {"_summary.json", "_individual_responses.json"};
    for (int i = 0; i < 2; i++)
        if (jm_span_ends(jm_span_of(path), jm_span_of(tails[i]))) {
            snprintf(out, 4096, "%.*s%s", (int)(strlen(path) - strlen(tails[i])), path, tails[!i]);
            return true;
        }
    return false;
}

static void record(struct jm_build *b, const struct jm_jtoken *doc)
{
    static const char *const names[] = {
        "ttft_s",   "end_to_end_latency_s", "number_input_tokens", "number_output_tokens", "error_code",
        "error_msg"};
    enum { TTFT, E2E, IN, OUT, CODE, MSG };
    struct jm_jtoken v[6];
    struct jm_request q;
    int64_t ttft = -1, e2e = -1, code = 0;
    if (jm_jfind(b->f, doc, names, 6, v, b->err) < 0)
        return;
    jm_request_init(&q);
    bool failed = v[CODE].type == JM_J_NUMBER || (v[MSG].type == JM_J_STRING && v[MSG].raw.n);
    if (v[CODE].type == JM_J_NUMBER && jm_jint(&v[CODE], &code) && code >= 100 && code < 600)
        q.http_status = (int)code;
    jm_jtext(&v[MSG], q.error, sizeof q.error);
    q.end = !failed       ? JM_END_OK
            : code == 429 ? JM_END_RATE_LIMIT
            : code >= 500 ? JM_END_HTTP_SERVER
            : code >= 400 ? JM_END_HTTP_CLIENT
                          : jm_build_end_of(q.error);
    if (!failed) {
        jm_jtime(&v[TTFT], 0, &ttft);
        jm_jtime(&v[E2E], 0, &e2e);
        jm_jint(&v[IN], &q.prompt_tokens);
        jm_jint(&v[OUT], &q.output_tokens);
    }
    jm_build_timed(b, &q, -1, ttft, e2e, NULL, 0);
    jm_build_request(b, &q);
}

static void records(struct jm_build *b, const struct jm_ifile *f)
{
    struct jm_jdocs d;
    struct jm_jtoken doc, v;
    struct jm_jiter it;
    const struct jm_ifile *keep = b->f;
    int rc;
    jm_jdocs_init(&d, f);
    rc = jm_jdocs_next(&d, &doc, b->err);
    b->f = f;
    if (rc > 0) {
        jm_jiter_init(&it, f, &doc);
        while (!b->rc && (rc = jm_jiter_next(&it, NULL, &v, b->err)) > 0)
            record(b, &v);
    }
    b->f = keep;
    if (rc < 0 && !b->rc)
        b->rc = rc;
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    char beside[4096];
    struct jm_ifile f, g;
    struct jm_jdocs d;
    struct jm_jtoken doc, v;
    struct jm_build b;
    double tokens_per_s, n, mean;
    int64_t ns = 0;
    int rc = jm_ifile_open(path, &f, err);
    if (rc)
        return rc;
    bool pair = other(path, beside) && jm_ifile_open(beside, &g, NULL) == 0;
    jm_jdocs_init(&d, &f);
    rc = jm_jdocs_next(&d, &doc, err);
    if (rc <= 0) {
        jm_ifile_close(&f);
        if (pair)
            jm_ifile_close(&g);
        return rc ? rc : jm_err_set(err, JM_EPARSE, "%s holds nothing but blanks", path);
    }
    bool is_summary = doc.type == JM_J_OBJECT;
    const struct jm_ifile *list = is_summary ? (pair ? &g : NULL) : &f, *sum = is_summary ? &f
                                                                               : pair     ? &g
                                                                                          : NULL;
    jm_build_begin(&b, "llmperf", &f, o, out, f.mtime_ns, err);
    jm_build_env(&b, "import.date_from", "modification time of the file");
    if (pair)
        jm_build_raw(&b, &g, jm_ifile_name(&g));
    struct jm_jtoken head = {.type = JM_J_END};
    if (sum) {
        jm_jdocs_init(&d, sum);
        if (jm_jdocs_next(&d, &head, b.err) < 0)
            b.rc = JM_EPARSE;
        /* the duration is not written; requests a minute and their number give it */
        double per_min;
        if (jm_jmember(sum, &head, "results_num_completed_requests_per_min", &v) && jm_jnum(&v, &per_min) &&
            per_min > 0 && jm_jmember(sum, &head, "results_num_completed_requests", &v) && jm_jnum(&v, &n) &&
            n / per_min < 1e6)
            ns = (int64_t)(n / per_min * 60e9);
        else if (jm_jmember(sum, &head, "results_mean_output_throughput_token_per_s", &v) &&
                 jm_jnum(&v, &tokens_per_s) && tokens_per_s > 0 &&
                 jm_jmember(sum, &head, "results_number_output_tokens_mean", &v) && jm_jnum(&v, &mean) &&
                 jm_jmember(sum, &head, "results_num_completed_requests", &v) && jm_jnum(&v, &n) &&
                 n * mean / tokens_per_s < 1e8)
            ns = (int64_t)(n * mean / tokens_per_s * 1e9);
    }
    if (ns < 0)
        ns = 0;
    jm_build_window(&b, 0, "llmperf", f.mtime_ns > ns ? f.mtime_ns - ns : 0, ns);
    jm_build_times(&b, "durations only: every request is placed at the start of its window");
    jm_build_env(&b, "import.placed", "window start");
    jm_build_env(&b, "import.tokens.output", "%s", tok);
    if (sum && !b.rc) {
        const struct jm_ifile *keep = b.f;
        b.f = sum;
        jm_build_claims(&b, &head, rows, "");
        if (jm_jmember(sum, &head, "model", &v))
            jm_build_env_of(&b, "endpoint.model", &v);
        if (jm_jmember(sum, &head, "num_concurrent_requests", &v))
            jm_build_env_of(&b, "plan.concurrency", &v);
        b.f = keep;
    } else {
        jm_build_missing(&b, "duration", "it follows from the summary only");
    }
    jm_build_missing(&b, "token_times", "llmperf writes one mean a request");
    if (list)
        records(&b, list);
    else
        jm_build_missing(&b, "requests", "they are in NAME_individual_responses.json, beside it");
    rc = jm_build_end(&b);
    jm_ifile_close(&f);
    if (pair)
        jm_ifile_close(&g);
    return rc;
}

const struct jm_importer jm_import_llmperf = {
    .name = "llmperf",
    .summary = "llmperf: NAME_summary.json and NAME_individual_responses.json",
    .reads = "Each request with TTFT, end-to-end time and token counts; the summary's statistics as claims.",
    .lacks = "Token times, start times, the date; tokens are the Llama tokenizer's, whatever the model.",
    .sniff = sniff,
    .import = import,
};
