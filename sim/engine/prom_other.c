/* SPDX-License-Identifier: Apache-2.0 */
/* /metrics in the names, and with the habits, of other engines: what counts when a request ends, what never
 * counts an aborted one. */
#include "engine.h"

#include <string.h>

static void one(struct sim_buf *b, const char *name, const char *labels, const char *type, double v)
{
    sim_buf_fmt(b, "# TYPE %s %s\n%s%s %.17g\n", name, type, name, labels, v);
}

static double kv(const struct sim_engine *e)
{
    return e->sched.blocks_total ? (double)e->sched.blocks_used / (double)e->sched.blocks_total : 0;
}

/* Two ranks that show the same, token counters at the end of a request, and one per step without the first
 * token of each request. */
static void sglang(const struct sim_engine *e, struct sim_buf *b)
{
    const struct sim_sched *s = &e->sched;
    const struct sim_hist *t = &e->hist[SIM_H_TTFT];
    uint64_t first = 0;
    for (unsigned i = 0; i <= t->n; i++)
        first += t->count[i];
    sim_buf_str(b, "# TYPE sglang:realtime_tokens_total counter\n");
    for (int rank = 0; rank < 2; rank++)
        sim_buf_fmt(
            b,
            "sglang:realtime_tokens_total{mode=\"decode\",model_name=\"m\",tp_rank=\"%d\"} %llu\n"
            "sglang:realtime_tokens_total{mode=\"prefill_compute\",model_name=\"m\",tp_rank=\"%d\"} %llu\n"
            "sglang:realtime_tokens_total{mode=\"prefill_cache\",model_name=\"m\",tp_rank=\"%d\"} %llu\n",
            rank, (unsigned long long)(e->generation_tokens - first), rank,
            (unsigned long long)(e->prompt_tokens - e->cached_tokens), rank,
            (unsigned long long)e->cached_tokens);
    sim_buf_fmt(
        b,
        "# TYPE sglang:time_to_first_token_seconds histogram\n"
        "sglang:time_to_first_token_seconds_bucket{le=\"+Inf\"} %llu\n"
        "sglang:time_to_first_token_seconds_count %llu\nsglang:time_to_first_token_seconds_sum %.17g\n",
        (unsigned long long)first, (unsigned long long)first, t->sum);
    one(b, "sglang:generation_tokens_total", "{model_name=\"m\"}", "counter", (double)e->counted_tokens);
    one(b, "sglang:prompt_tokens_total", "{model_name=\"m\"}", "counter", (double)e->counted_prompt);
    one(b, "sglang:num_requests_total", "{model_name=\"m\"}", "counter",
        (double)(e->finished[SIM_FIN_STOP] + e->finished[SIM_FIN_LENGTH]));
    one(b, "sglang:num_aborted_requests_total", "{model_name=\"m\"}", "counter",
        (double)e->finished[SIM_FIN_ABORT]);
    one(b, "sglang:num_retracted_requests_total", "{model_name=\"m\"}", "counter", (double)s->preemptions);
    one(b, "sglang:num_running_reqs", "{model_name=\"m\",tp_rank=\"0\"}", "gauge", s->running.n);
    one(b, "sglang:num_queue_reqs", "{model_name=\"m\",tp_rank=\"0\"}", "gauge", s->waiting.n);
    one(b, "sglang:token_usage", "{model_name=\"m\",tp_rank=\"0\"}", "gauge", kv(e));
}

/* No labels; tokens when a request ends, never those of an aborted one; a mean that is typed counter. */
static void llamacpp(const struct sim_engine *e, struct sim_buf *b)
{
    const struct sim_sched *s = &e->sched;
    one(b, "llamacpp:prompt_tokens_total", "", "counter", (double)(e->counted_prompt - e->counted_cached));
    one(b, "llamacpp:tokens_predicted_total", "", "counter", (double)e->counted_tokens);
    one(b, "llamacpp:n_decode_total", "", "counter", (double)s->steps);
    one(b, "llamacpp:n_busy_slots_per_decode", "", "counter",
        s->steps ? (double)e->generation_tokens / (double)s->steps : 0);
    one(b, "llamacpp:requests_processing", "", "gauge", s->running.n);
    one(b, "llamacpp:requests_deferred", "", "gauge", s->waiting.n);
}

/* Tokens only as the sum of a histogram. */
static void tgi(const struct sim_engine *e, struct sim_buf *b)
{
    uint64_t n = e->finished[SIM_FIN_STOP] + e->finished[SIM_FIN_LENGTH];
    sim_buf_fmt(
        b,
        "# TYPE tgi_request_generated_tokens histogram\n"
        "tgi_request_generated_tokens_bucket{le=\"+Inf\"} %llu\ntgi_request_generated_tokens_sum %llu\n"
        "tgi_request_generated_tokens_count %llu\n"
        "# TYPE tgi_request_input_length histogram\ntgi_request_input_length_bucket{le=\"+Inf\"} %llu\n"
        "tgi_request_input_length_sum %llu\ntgi_request_input_length_count %llu\n",
        (unsigned long long)n, (unsigned long long)e->counted_tokens, (unsigned long long)n,
        (unsigned long long)n, (unsigned long long)e->counted_prompt, (unsigned long long)n);
    one(b, "tgi_request_success", "{method=\"generate\"}", "counter", (double)n);
    one(b, "tgi_batch_current_size", "", "gauge", e->sched.running.n);
    one(b, "tgi_queue_size", "", "gauge", e->sched.waiting.n);
}

static const struct {
    const char *name;
    void (*write)(const struct sim_engine *e, struct sim_buf *b);
} rows[] = {{"vllm", NULL}, {"none", NULL}, {"sglang", sglang}, {"llamacpp", llamacpp}, {"tgi", tgi}};

bool sim_prom_known(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0)
            return true;
    return false;
}

bool sim_prom_other(const struct sim_engine *e, struct sim_buf *b)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].write && strcmp(rows[i].name, e->opt.metrics) == 0) {
            rows[i].write(e, b);
            sim_buf_str(b, "# TYPE joulemark_sim_simulated gauge\njoulemark_sim_simulated 1\n");
            return true;
        }
    return false;
}
