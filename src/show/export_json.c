/* SPDX-License-Identifier: Apache-2.0 */
/* Results of the ML.ENERGY benchmark (v3): one measured window is its steady state. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "show/exports.h"
#include "show/fmt.h"

#include "base/banned.h"

static void percentiles(struct jm_jsonw *w, const struct jm_report *r, int win, const char *metric,
                        const char *name)
{
    static const struct {
        const char *prefix;
        double q;
    } stat[] = {{"mean", NAN}, {"median", 0.5}, {"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}};
    char key[48];
    for (size_t i = 0; i < sizeof stat / sizeof stat[0]; i++) {
        snprintf(key, sizeof key, "%s_%s_ms", stat[i].prefix, name);
        jm_jsonw_knum(w, key, 1e3 * jm_export_latency(r, metric, stat[i].q, win));
    }
}

/* By GPU, as Zeus numbers them: in the order of the run. */
static void by_gpu(struct jm_jsonw *w, const struct jm_report *r, const struct jm_result *e, int win)
{
    int index = 0;
    jm_jsonw_key(w, "gpu_energy");
    jm_jsonw_object(w);
    for (size_t i = 0; e && i < r->n_energy; i++) {
        const struct jm_energy_row *x = &r->energy[i];
        bool mine = false;
        char key[16];
        for (size_t k = 0; k < e->n_domain; k++)
            mine |= e->domain[k] == x->domain;
        if (x->window != win || !x->counted || !mine)
            continue;
        snprintf(key, sizeof key, "%d", index++);
        jm_jsonw_knum(w, key, x->joules);
    }
    jm_jsonw_end(w);
}

static void one(struct jm_jsonw *w, const struct jm_run *run, struct jm_report *r, int win)
{
    const struct jm_result *e = jm_export_find(r, "energy", JM_B_GPU, win),
                           *per = jm_export_find(r, "j_per.output_token", JM_B_GPU, win);
    const struct jm_window *x = &r->windows[win];
    double seconds = jm_fmt_seconds(x->t1, x->t0),
           out = jm_export_count(r, "j_per.output_token", JM_B_GPU, win),
           input = jm_export_count(r, "j_per.input_token", JM_B_GPU, win),
           done = jm_export_count(r, "j_per.request_ok", JM_B_GPU, win);
    char stamp[JM_FMT];
    int gpus;
    const char *gpu = jm_export_gpu(r, &gpus), *api = jm_run_env(run, "load.api");
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "date", jm_fmt_time(r, x->t0, stamp));
    jm_jsonw_kstr(w, "endpoint_type", api);
    jm_jsonw_kstr(w, "model_id", jm_export_model(run, r)[0] ? jm_export_model(run, r) : NULL);
    jm_jsonw_knum(w, "seed", jm_run_number(run, "load.seed"));
    jm_jsonw_knum(w, "num_prompts", jm_export_count(r, "j_per.request_any", JM_B_GPU, win));
    jm_jsonw_kstr(w, "gpu_model", gpu[0] ? gpu : NULL);
    jm_jsonw_knum(w, "num_gpus", gpus >= 0 ? gpus : NAN);
    jm_jsonw_knum(w, "max_num_seqs", NAN); /* of the server; the client's limit is another thing */
    jm_jsonw_knum(w, "max_concurrency", jm_run_number(run, "plan.concurrency"));
    jm_jsonw_knum(w, "request_rate", jm_run_number(run, "plan.rate_per_s"));
    jm_jsonw_knum(w, "burstiness", jm_run_number(run, "plan.burstiness"));
    jm_jsonw_knum(w, "duration", seconds);
    jm_jsonw_knum(w, "completed", done);
    jm_jsonw_knum(w, "total_input_tokens", input);
    jm_jsonw_knum(w, "total_output_tokens", out);
    jm_jsonw_knum(w, "request_throughput", done / seconds);
    jm_jsonw_knum(w, "output_throughput", out / seconds);
    jm_jsonw_knum(w, "total_token_throughput", (out + input) / seconds);
    jm_jsonw_knum(w, "steady_state_duration", seconds);
    jm_jsonw_knum(w, "steady_state_energy", jm_export_value(e));
    jm_jsonw_knum(w, "steady_state_energy_per_token", jm_export_value(per));
    jm_jsonw_key(w, "steady_state_measurement");
    jm_jsonw_object(w);
    jm_jsonw_knum(w, "time", seconds);
    by_gpu(w, r, e, win);
    jm_jsonw_kstr(w, "cpu_energy", NULL);
    jm_jsonw_kstr(w, "dram_energy", NULL);
    jm_jsonw_kstr(w, "soc_energy", NULL);
    jm_jsonw_end(w);
    jm_jsonw_kstr(w, "entire_benchmark_measurement", NULL);
    percentiles(w, r, win, "ttft", "ttft");
    percentiles(w, r, win, "tpot.excl_first", "tpot");
    percentiles(w, r, win, "itl.chunk", "itl");
    percentiles(w, r, win, "e2e", "e2el");
    jm_jsonw_key(w, "joulemark");
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "run", r->id);
    jm_jsonw_kstr(w, "sha256", r->sha256);
    jm_jsonw_kstr(w, "window", x->name);
    jm_jsonw_kstr(w, "boundary", "gpu");
    jm_jsonw_kstr(w, "provenance", e ? jm_provenance_name((int)e->q.provenance) : NULL);
    jm_jsonw_knum(w, "energy_per_token_lo", per && per->q.u.method ? per->q.u.lo : NAN);
    jm_jsonw_knum(w, "energy_per_token_hi", per && per->q.u.method ? per->q.u.hi : NAN);
    jm_jsonw_kstr(w, "note",
                  "steady state: the whole measured window; latencies are of the same window, where the "
                  "benchmark's are of "
                  "its whole run; prefill is in the energy; no request is listed");
    jm_jsonw_end(w);
    jm_jsonw_end(w);
}

int jm_export_ml_energy(const struct jm_run *run, struct jm_report *r, struct jm_str *out, struct jm_err *err)
{
    struct jm_jsonw w;
    int first = jm_export_window(r, -1), n = 0;
    for (int i = first; i >= 0; i = jm_export_window(r, i))
        n++;
    jm_jsonw_init(&w, out, 2);
    if (n != 1)
        jm_jsonw_array(&w);
    for (int i = first; i >= 0; i = jm_export_window(r, i))
        one(&w, run, r, i);
    if (n != 1)
        jm_jsonw_end(&w);
    return jm_str_ok(out, "the results", err);
}
