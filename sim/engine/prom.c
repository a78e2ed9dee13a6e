/* SPDX-License-Identifier: Apache-2.0 */
/* /metrics, in the names and with the edges of vLLM V1. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

static const double ttft[] = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
                              1,     2.5,   5,    7.5,  10,   20,   40,   80,  160,  640, 2560};
static const double itl[] = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
                             0.75, 1,     2.5,  5,     7.5, 10,   20,  40,  80};
static const double e2e[] = {0.3, 0.5, 0.8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                             30,  40,  50,  60, 120, 240, 480, 960, 1920, 7680};
static const double sizes[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000};
static const double iteration[] = {1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};

#define E(a) a, sizeof(a) / sizeof(a)[0]
static const struct {
    const char *name, *help;
    const double *edge;
    unsigned n;
} rows[SIM_H_COUNT] = {
    [SIM_H_TTFT] = {"time_to_first_token_seconds", "Histogram of time to first token in seconds.", E(ttft)},
    [SIM_H_ITL] = {"inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", E(itl)},
    [SIM_H_TPOT] = {"request_time_per_output_token_seconds",
                    "Histogram of mean time per output token of a request.", E(itl)},
    [SIM_H_E2E] = {"e2e_request_latency_seconds", "Histogram of end to end request latency in seconds.",
                   E(e2e)},
    [SIM_H_QUEUE] = {"request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.",
                     E(e2e)},
    [SIM_H_PREFILL] = {"request_prefill_time_seconds",
                       "Histogram of time spent in PREFILL phase for request.", E(e2e)},
    [SIM_H_DECODE] = {"request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.",
                      E(e2e)},
    [SIM_H_INFER] = {"request_inference_time_seconds",
                     "Histogram of time spent in RUNNING phase for request.", E(e2e)},
    [SIM_H_PROMPT] = {"request_prompt_tokens", "Number of prefill tokens processed.", E(sizes)},
    [SIM_H_GENERATION] = {"request_generation_tokens", "Number of generation tokens processed.", E(sizes)},
    [SIM_H_COMPUTED] = {"request_prefill_kv_computed_tokens",
                        "Histogram of new KV tokens computed during prefill.", E(sizes)},
    [SIM_H_ITERATION] = {"iteration_tokens_total", "Histogram of number of tokens per engine_step.",
                         E(iteration)},
};

void sim_prom_init(struct sim_engine *e)
{
    for (int i = 0; i < SIM_H_COUNT; i++) {
        e->hist[i].edge = rows[i].edge;
        e->hist[i].n = rows[i].n;
    }
}

void sim_hist_add(struct sim_hist *h, double v, uint64_t n)
{
    unsigned i = 0;
    while (i < h->n && v > h->edge[i])
        i++;
    h->count[i] += n;
    h->sum += v * (double)n;
}

static void family(struct sim_buf *b, const char *name, const char *type, const char *help)
{
    sim_buf_fmt(b, "# HELP vllm:%s %s\n# TYPE vllm:%s %s\n", name, help, name, type);
}

static void value(struct sim_buf *b, const char *labels, const char *name, const char *type, const char *help,
                  double v)
{
    family(b, name, type, help);
    sim_buf_fmt(b, "vllm:%s{%s} %.17g\n", name, labels, v);
}

void sim_prom_write(struct sim_engine *e, struct sim_buf *b)
{
    if (sim_prom_other(e, b))
        return;
    char labels[256], name[128];
    size_t k = 0; /* label values escape as JSON strings do, where it matters */
    for (const char *s = e->opt.served; *s && k < sizeof name - 2; s++) {
        if (*s == '"' || *s == '\\')
            name[k++] = '\\';
        name[k++] = *s == '\n' ? ' ' : *s;
    }
    name[k] = 0;
    snprintf(labels, sizeof labels, "engine=\"0\",model_name=\"%s\"", name);
    const struct sim_sched *s = &e->sched;
    sim_buf_fmt(b,
                "# HELP process_start_time_seconds Start time of the process since unix epoch in seconds.\n"
                "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds %.3f\n",
                e->start_unix);
    value(b, labels, "num_requests_running", "gauge", "Number of requests in model execution batches.",
          s->running.n);
    value(b, labels, "num_requests_waiting", "gauge", "Number of requests waiting to be processed.",
          s->waiting.n);
    value(b, labels, "kv_cache_usage_perc", "gauge", "KV-cache usage. 1 means 100 percent usage.",
          s->blocks_total ? (double)s->blocks_used / (double)s->blocks_total : 0);
    value(b, labels, "num_preemptions_total", "counter", "Cumulative number of preemption from the engine.",
          (double)s->preemptions);
    value(b, labels, "prompt_tokens_total", "counter", "Number of prefill tokens processed.",
          (double)e->prompt_tokens);
    value(b, labels, "prompt_tokens_cached_total", "counter",
          "Number of prompt tokens found in the prefix cache.", (double)e->cached_tokens);
    value(b, labels, "generation_tokens_total", "counter", "Number of generation tokens processed.",
          (double)e->generation_tokens);
    value(b, labels, "prefix_cache_queries_total", "counter",
          "Prefix cache queries, in terms of number of queried tokens.", (double)s->prefix_queries);
    value(b, labels, "prefix_cache_hits_total", "counter",
          "Prefix cache hits, in terms of number of cached tokens.", (double)s->prefix_hits);
    family(b, "prompt_tokens_by_source_total", "counter", "Number of prompt tokens by source.");
    sim_buf_fmt(b,
                "vllm:prompt_tokens_by_source_total{%s,source=\"local_compute\"} %llu\n"
                "vllm:prompt_tokens_by_source_total{%s,source=\"local_cache_hit\"} %llu\n",
                labels, (unsigned long long)(e->prompt_tokens - e->cached_tokens), labels,
                (unsigned long long)e->cached_tokens);
    family(b, "cache_config_info", "gauge", "Information of the LLMEngine CacheConfig");
    sim_buf_fmt(b,
                "vllm:cache_config_info{%s,block_size=\"%u\",num_gpu_blocks=\"%llu\",enable_prefix_caching="
                "\"%s\"} 1\n",
                labels, SIM_BLOCK, (unsigned long long)s->blocks_total, s->prefix ? "True" : "False");
    if (s->opt.draft) {
        value(b, labels, "spec_decode_num_draft_tokens_total", "counter", "Number of draft tokens.",
              (double)s->draft_tokens);
        value(b, labels, "spec_decode_num_accepted_tokens_total", "counter", "Number of accepted tokens.",
              (double)s->draft_accepted);
    }
    family(b, "request_success_total", "counter", "Count of successfully processed requests.");
    for (int f = 0; f < SIM_FIN_COUNT; f++)
        sim_buf_fmt(b, "vllm:request_success_total{%s,finished_reason=\"%s\"} %llu\n", labels,
                    sim_finish_name[f], (unsigned long long)e->finished[f]);
    for (int i = 0; i < SIM_H_COUNT; i++) {
        const struct sim_hist *h = &e->hist[i];
        uint64_t sum = 0;
        family(b, rows[i].name, "histogram", rows[i].help);
        for (unsigned j = 0; j < h->n; j++) {
            sum += h->count[j];
            sim_buf_fmt(b, "vllm:%s_bucket{%s,le=\"%g%s\"} %llu\n", rows[i].name, labels, h->edge[j],
                        h->edge[j] == (double)(long)h->edge[j] ? ".0" : "", (unsigned long long)sum);
        }
        sum += h->count[h->n];
        sim_buf_fmt(b, "vllm:%s_bucket{%s,le=\"+Inf\"} %llu\nvllm:%s_count{%s} %llu\nvllm:%s_sum{%s} %.17g\n",
                    rows[i].name, labels, (unsigned long long)sum, rows[i].name, labels,
                    (unsigned long long)sum, rows[i].name, labels, h->sum);
    }
    sim_buf_str(b, "# HELP joulemark_sim_simulated Every number of this server is simulated.\n"
                   "# TYPE joulemark_sim_simulated gauge\njoulemark_sim_simulated 1\n");
}
