/* SPDX-License-Identifier: Apache-2.0 */
#include "batching_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/run.h"

#include "base/banned.h"

#define T0 INT64_C(1000000000000)

static int64_t at(double s)
{
    return T0 + (int64_t)llround(s * 1e9);
}

static int window(struct jm_run_writer *w, int id, enum jm_role role, const char *name, double from,
                  double to, struct jm_err *err)
{
    struct jm_window x = {.id = id, .role = role, .t0 = at(from)};
    snprintf(x.name, sizeof x.name, "%s", name);
    int rc = jm_run_open_window(w, &x, err);
    return rc ? rc : jm_run_close_window(w, id, at(to), err);
}

static int windows(struct jm_run_writer *w, const struct batching *b, const struct batching_file *o,
                   struct jm_err *err)
{
    int id = 0, rc = 0;
    char key[32];
    double first = b->burst[0][1] > 0 ? b->burst[0][0] : b->from;
    if (!o->no_idle && first > 2) {
        snprintf(key, sizeof key, "idle.%d.class", id);
        rc = window(w, id++, JM_R_IDLE, "loaded idle", 0.5, first - 0.5, err);
        if (!rc)
            rc = jm_run_put_env(w, key, "loaded", err);
    }
    for (int k = 0; !rc && k < 2 && b->burst[k][1] > 0; k++)
        rc = window(w, id++, JM_R_WARMUP, k ? "burst decode" : "burst prefill", b->burst[k][0],
                    b->burst[k][1], err);
    return rc ? rc : window(w, id, JM_R_MEASURE, "measure", b->from, b->to, err);
}

static int counters(struct jm_run_writer *w, const struct batching *b, const struct batching_file *o,
                    struct jm_err *err)
{
    struct jm_run_meter m = {
        .name = "nvml", .instance = "libnvidia-ml.so.1", .state = "ok", .period_ns = 100000000};
    struct jm_domain_tree tree;
    int rc = jm_run_put_meter(w, &m, err), node, meter = rc;
    char gpus[2][512] = {"", ""};
    jm_domain_tree_init(&tree);
    rc = rc < 0 ? rc : (node = jm_domain_host(&tree, "node-1", err)) < 0 ? node : 0;
    for (size_t i = 0; rc >= 0 && i < b->n_counters; i++) {
        const struct batching_counter *c = &b->counter[i];
        struct jm_channel ch = {.meter = meter,
                                .kind = JM_CH_COUNTER,
                                .unit = JM_U_J,
                                .scale10 = -3,
                                .gain_tol = NAN,
                                .offset_tol = NAN,
                                .provenance = JM_P_SIMULATED,
                                .period_ns = c->n > 1 ? llround((c->t[1] - c->t[0]) * 1e9) : 100000000,
                                .period_measured = true};
        char label[16];
        snprintf(label, sizeof label, "GPU %zu", i);
        snprintf(ch.name, sizeof ch.name, "energy");
        snprintf(ch.device, sizeof ch.device, "GPU-%04zu", i);
        snprintf(ch.source, sizeof ch.source, "NVML total energy consumption");
        ch.domain = rc = jm_domain_add(&tree, node, JM_D_GPU, ch.device, label, err);
        size_t used = strlen(gpus[c->pool]);
        snprintf(gpus[c->pool] + used, sizeof gpus[0] - used, "%s%s", used ? "," : "", ch.device);
        if (rc >= 0)
            rc = jm_run_put_domains(w, &tree, err);
        if (rc >= 0)
            rc = jm_run_put_channel(w, &ch, &ch.id, err);
        /* read as often as it refreshes, at a phase of its own that wanders: 100 ppm */
        double period = c->n > 1 ? c->t[1] - c->t[0] : 1, poll = c->phase + 0.37 * period;
        for (size_t k = 0; rc >= 0 && poll < b->end; poll += period * (1 + 1e-4)) {
            while (k + 1 < c->n && c->t[k + 1] <= poll)
                k++;
            struct jm_reading r = {
                .t0 = at(poll), .t1 = at(poll) + 30000, .value = c->mj[k], .channel = (uint32_t)ch.id};
            rc = jm_run_put_readings(w, &r, 1, err);
        }
    }
    jm_domain_tree_release(&tree);
    for (int k = 0; rc >= 0 && o->groups && k < 2 && gpus[k][0]; k++) {
        char key[32];
        static const char *const role[] = {"prefill", "decode"}, *const what[] = {"name", "role", "gpus"};
        for (int j = 0; rc >= 0 && j < 3; j++) {
            snprintf(key, sizeof key, "group.%d.%s", k, what[j]);
            rc = jm_run_put_env(w, key, j == 2 ? gpus[k] : role[k], err);
        }
    }
    return rc < 0 ? rc : 0;
}

static int requests(struct jm_run_writer *w, const struct batching *b, const struct batching_file *o,
                    struct jm_err *err)
{
    size_t cap = 1;
    int rc = 0;
    for (size_t k = 0; k < b->n_requests; k++)
        cap = b->request[k].events > cap ? b->request[k].events : cap;
    struct jm_token_event *ev = calloc(cap, sizeof *ev);
    if (!ev)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the events of a request");
    for (size_t k = 0; !rc && k < b->n_requests; k++) {
        const struct batching_request *q = &b->request[k];
        struct jm_request r;
        jm_request_init(&r);
        r.id = (int64_t)k + 1;
        r.t[JM_T_SCHEDULED] = r.t[JM_T_ADMITTED] = r.t[JM_T_SENT] = at(q->sent);
        r.t[JM_T_FIRST_TOKEN] = r.t[JM_T_FIRST_EVENT] = r.t[JM_T_FIRST_BYTE] = at(q->first);
        r.t[JM_T_LAST_TOKEN] = r.t[JM_T_DONE] = r.t[JM_T_CLOSED] = at(q->last);
        r.end = q->end == BATCHING_ABORTED ? JM_END_ABORTED : JM_END_OK;
        r.prompt_tokens = q->end == BATCHING_ABORTED ? -1 : q->prompt; /* no usage comes after an abort */
        r.cached_tokens = q->end == BATCHING_ABORTED ? -1 : q->cached;
        r.output_tokens = q->end == BATCHING_ABORTED ? -1 : q->output;
        r.asked_isl = q->prompt;
        r.token_source = JM_TOK_USAGE;
        r.events = (int64_t)q->events;
        r.stream = 1;
        if (o->slices)
            snprintf(r.slice, sizeof r.slice, "%s", k % 3 ? "chat" : "code");
        for (size_t i = 0; i < q->events; i++)
            ev[i] = (struct jm_token_event){.t = at(b->event[q->event + i])};
        rc = jm_run_put_request(w, &r, ev, q->events, err);
    }
    free(ev);
    return rc;
}

static int scrapes(struct jm_run_writer *w, const struct batching *b, struct jm_err *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < b->n_scrapes; i++) {
        const struct batching_scrape *s = &b->scrape[i];
        char text[1200];
        snprintf(text, sizeof text,
                 "# TYPE vllm:prompt_tokens_total counter\nvllm:prompt_tokens_total{model_name=\"m\"} %.1f\n"
                 "# TYPE vllm:generation_tokens_total "
                 "counter\nvllm:generation_tokens_total{model_name=\"m\"} %.1f\n"
                 "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name=\"m\"} %.1f\n"
                 "# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{model_name=\"m\"} %.1f\n"
                 "# TYPE vllm:iteration_tokens_total "
                 "histogram\nvllm:iteration_tokens_total_count{model_name=\"m\"} %.1f\n"
                 "# TYPE vllm:request_queue_time_seconds "
                 "histogram\nvllm:request_queue_time_seconds_sum{model_name=\"m\"} %.6f\n"
                 "# TYPE vllm:request_prefill_time_seconds "
                 "histogram\nvllm:request_prefill_time_seconds_sum{model_name=\"m\"} %.6f\n",
                 s->prompt, s->generated, s->running, s->waiting, s->steps, s->queue_s, s->prefill_s);
        rc = jm_run_put_scrape(w, "http://127.0.0.1:8000/metrics", at(s->t), at(s->t) + 2000000,
                               jm_span_of(text), err);
    }
    return rc;
}

int batching_write(const struct batching *b, const char *path, const struct batching_file *o,
                   struct jm_err *err)
{
    struct jm_run_create c = {.label = "simulated batching",
                              .kind = "recorded",
                              .source = "bench/attribution",
                              .created_real = INT64_C(1780000000000000000),
                              .seed = 7,
                              .overwrite = true};
    struct jm_clock_pair p = {T0, T0, c.created_real, T0};
    struct jm_run_writer *w;
    int rc = jm_run_create(path, &c, &w, err);
    if (rc)
        return rc;
    rc = jm_run_put_clock_pair(w, &p, err);
    if (!rc)
        rc = windows(w, b, o, err);
    if (!rc)
        rc = counters(w, b, o, err);
    if (!rc)
        rc = jm_run_put_env(w, "endpoint.simulated", "1", err);
    if (!rc && o->slices)
        rc = jm_run_put_env(w, "plan.chat.tenant", "acme", err);
    if (!rc && o->slices)
        rc = jm_run_put_env(w, "plan.code.tenant", "umbrella", err);
    if (!rc)
        rc = requests(w, b, o, err);
    if (!rc && !o->no_engine)
        rc = scrapes(w, b, err);
    if (!rc)
        return jm_run_seal(w, err);
    jm_run_abandon(w);
    return rc;
}
