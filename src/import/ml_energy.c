/* SPDX-License-Identifier: Apache-2.0 */
/* The ML.ENERGY Benchmark's results.json, and the leaderboard's files: those of tasks/ and models/ (a
 * configuration each), diffusion results, and the older one-object forms. In results.json J/token is the
 * energy of NVML's counters between the moment when max_num_seqs requests had their first token and the one
 * when so many were left, over the output tokens of that time: the prefill of later requests is in it, their
 * prompts are not. Latencies are of the whole run. Power timelines are Zeus PowerMonitor's, without samples
 * that equal the one before. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/held.h"
#include "import/ml_energy.h"
#include "import/zeus_json.h"

#include "base/banned.h"

#define SERIES 256
#define GATE_S 20.0 /* mlenergy-data leaves out results with a shorter steady state */

static const char steady_source[] = "NVML counters of the GPUs over the steady state";
static const char split[] = "energy of the steady state / output tokens of that time; prefill is in it";

static const struct jm_claim_row rows[] = {
    {"*_ttft_ms", "ttft", NULL, "ms", "whole run, not the steady state", NULL},
    {"*_tpot_ms", "tpot.excl_first", NULL, "ms", "whole run, not the steady state", NULL},
    {"*_itl_ms", "itl.chunk", NULL, "ms", "whole run, not the steady state", NULL},
    {"*_e2el_ms", "e2e", NULL, "ms", "whole run, not the steady state", NULL},
    {"duration", "duration", "sum", "s", "wall clock", NULL},
    {"completed", "requests.ok", "sum", "", "", NULL},
    {"num_prompts", "requests.all", "sum", "", "", NULL},
    {"total_input_tokens", "tokens.input", "sum", "tokens", "", NULL},
    {"total_output_tokens", "tokens.output", "sum", "tokens", "usage of the server", NULL},
    {"request_throughput", "requests_per_s", "", "requests/s", "", NULL},
    {"output_throughput", "tokens_per_s", "", "tokens/s", "whole run", NULL},
    {"total_token_throughput", "tokens.total_per_s", "", "tokens/s", "whole run", NULL},
    {"steady_state_duration", "energy.duration", "sum", "s", "", NULL},
    {"steady_state_energy", "energy", "sum", "J", steady_source, "gpu"},
    {"steady_state_energy_per_token", "j_per.output_token", "", "J/token", split, "gpu"},
    {NULL, NULL, NULL, NULL, NULL, NULL}};

static const struct jm_claim_row board[] = {
    {"energy_per_token_joules", "j_per.output_token", "", "J/token", split, "gpu"},
    {"energy_per_request_joules", "j_per.request_ok", "mean", "J/request", "J/token x mean output length",
     "gpu"},
    {"avg_power_watts", "power.mean", "mean", "W", "J/token x output tokens/s, over all GPUs", "gpu"},
    {"output_throughput_tokens_per_sec", "tokens_per_s", "", "tokens/s", "", NULL},
    {"median_itl_ms", "itl.chunk", "p50", "ms", "", NULL},
    {"p90_itl_ms", "itl.chunk", "p90", "ms", "", NULL},
    {"p95_itl_ms", "itl.chunk", "p95", "ms", "", NULL},
    {"p99_itl_ms", "itl.chunk", "p99", "ms", "", NULL},
    {"avg_output_len", "osl", "mean", "tokens", "", NULL},
    {"avg_batch_size", "concurrency", "mean", "", "", NULL},
    /* the older forms */
    {"Energy/req (J)", "j_per.request_ok", "mean", "J/request", "", "gpu"},
    {"energy", "j_per.request_ok", "mean", "J/request", "", "gpu"},
    {"Avg TPOT (s)", "tpot.excl_first", "mean", "s", "", NULL},
    {"Token tput (tok/s)", "tokens_per_s", "", "tokens/s", "", NULL},
    {"Avg Output Tokens", "osl", "mean", "tokens", "", NULL},
    {"Avg BS", "concurrency", "mean", "", "", NULL},
    {"Batch energy (J)", "energy", "sum", "J", "NVML counters over a batch", "gpu"},
    {"Batch latency (s)", "duration", "sum", "s", "of a batch", NULL},
    {"energy_per_image_joules", "", "mean", "J/image", "", "gpu"},
    {"energy_per_video_joules", "", "mean", "J/video", "", "gpu"},
    {"Energy per image (J)", "", "mean", "J/image", "", "gpu"},
    {"Energy per video (J)", "", "mean", "J/video", "", "gpu"},
    {NULL, NULL, NULL, NULL, NULL, NULL}};

struct ml {
    struct jm_devlog l;
    struct jm_held h[SERIES];
    size_t n;
};

/* [[time, W], ...]; the shortest distance of two samples. */
static int64_t step_of(const struct jm_ifile *f, const struct jm_jtoken *list, bool *repeats)
{
    struct jm_jiter it, in;
    struct jm_jtoken pair, v;
    int64_t t, last = -1, step = INT64_MAX;
    double w, before = NAN;
    jm_jiter_init(&it, f, list);
    while (jm_jiter_next(&it, NULL, &pair, NULL) > 0) {
        jm_jiter_init(&in, f, &pair);
        if (jm_jiter_next(&in, NULL, &v, NULL) <= 0 || !jm_jtime(&v, 0, &t))
            continue;
        if (jm_jiter_next(&in, NULL, &v, NULL) > 0 && jm_jnum(&v, &w)) {
            *repeats |= w == before;
            before = w;
        }
        if (last >= 0 && t > last + 1000000 && t - last < step)
            step = t - last;
        last = t;
    }
    return step == INT64_MAX ? 0 : step;
}

static void timeline(struct ml *m, const struct jm_jtoken *list, const char *domain, const char *gpu,
                     int64_t until)
{
    struct jm_devlog *l = &m->l;
    struct jm_jiter it, in;
    struct jm_jtoken pair, v;
    struct jm_span none = {NULL, 0};
    char key[40];
    int64_t t;
    bool repeats = false, memory = strstr(domain, "memory") != NULL;
    snprintf(key, sizeof key, "gpu %.30s", gpu);
    jm_text_plain(key, strlen(key), false);
    if (m->n == SERIES || list->type != JM_J_ARRAY)
        return;
    struct jm_dev_kind k = jm_dev_nvml(strstr(domain, "average") ? JM_NVML_Q_AVERAGE : JM_NVML_Q_INSTANT,
                                       none, 0, "Zeus PowerMonitor");
    struct jm_dev_place p = {
        .domain = memory ? JM_D_HBM : JM_D_GPU, .key = key, .label = key, .parent = memory ? key : NULL};
    int64_t step = step_of(&l->f, list, &repeats);
    struct jm_held *h = &m->h[m->n];
    *h = (struct jm_held){.ch = jm_devlog_channel(l, &p, &k), .t = -1, .last = NAN};
    if (h->ch < 0)
        return;
    if (repeats)
        step = 0;
    jm_jiter_init(&it, &l->f, list);
    while (!l->b.rc && jm_jiter_next(&it, NULL, &pair, NULL) > 0) {
        jm_jiter_init(&in, &l->f, &pair);
        if (jm_jiter_next(&in, NULL, &v, NULL) <= 0 || !jm_jtime(&v, 0, &t) ||
            jm_jiter_next(&in, NULL, &v, NULL) <= 0 || v.type != JM_J_NUMBER) {
            l->bad++;
            continue;
        }
        jm_held_put(l, h, t, step, v.raw);
    }
    jm_held_until(l, h, until, step > 0 ? step : 0);
    m->n += !memory && !strstr(domain, "average");
}

static void timelines(struct ml *m, const struct jm_jtoken *power, int64_t until)
{
    struct jm_jiter it, in;
    struct jm_jtoken key, domain, gpu, list;
    char name[40], id[32];
    jm_jiter_init(&it, &m->l.f, power);
    while (!m->l.b.rc && jm_jiter_next(&it, &key, &domain, NULL) > 0) {
        if (!jm_jtext(&key, name, sizeof name))
            continue;
        if (domain.type == JM_J_ARRAY) { /* {"0": [[t, W], ...]} */
            timeline(m, &domain, "device_instant", name, until);
            continue;
        }
        if (strstr(name, "cpu") || strstr(name, "package") || strstr(name, "dram"))
            continue;
        jm_jiter_init(&in, &m->l.f, &domain);
        while (!m->l.b.rc && jm_jiter_next(&in, &gpu, &list, NULL) > 0)
            if (jm_jtext(&gpu, id, sizeof id))
                timeline(m, &list, name, id, until);
    }
}

static void request(struct jm_build *b, const struct jm_jtoken *doc)
{
    static const char *const names[] = {"input_len", "output_len", "ttft",   "latency",
                                        "itl",       "error",      "success"};
    struct jm_jtoken v[7];
    struct jm_request q;
    int64_t ttft = -1, e2e = -1;
    char error[sizeof q.error] = "";
    jm_request_init(&q);
    int rc = jm_jfind(b->f, doc, names, 7, v, b->err);
    if (rc < 0) {
        b->rc = rc;
        return;
    }
    jm_jint(&v[0], &q.prompt_tokens);
    jm_jint(&v[1], &q.output_tokens);
    jm_jtime(&v[2], 0, &ttft);
    jm_jtime(&v[3], 0, &e2e);
    if (v[5].type == JM_J_STRING)
        jm_jtext(&v[5], error, sizeof error);
    bool failed = error[0] || v[6].type == JM_J_FALSE;
    q.end = !failed ? JM_END_OK : error[0] ? jm_build_end_of(error) : JM_END_EMPTY;
    snprintf(q.error, sizeof q.error, "%s", error);
    if (failed)
        q.output_tokens = ttft = e2e = -1;
    jm_build_timed(b, &q, -1, ttft > 0 ? ttft : -1, e2e, v[4].type == JM_J_ARRAY ? &v[4] : NULL, 0);
    jm_build_request(b, &q);
}

/* Energies of one Zeus measurement by GPU; their sum, NAN: none, or a GPU without a number. */
static double measurement(struct jm_build *b, const struct jm_jtoken *doc, const char *name,
                          const char *metric)
{
    static const char *const other[] = {"cpu_energy", "dram_energy"};
    struct jm_jtoken m, g, key, v;
    struct jm_jiter it;
    char full[96], id[24];
    double e, sum = 0;
    int n = 0, n_part;
    if (!jm_jmember(b->f, doc, name, &m) || !jm_jmember(b->f, &m, "gpu_energy", &g) || g.type != JM_J_OBJECT)
        return NAN;
    jm_jiter_init(&it, b->f, &g);
    while (!b->rc && jm_jiter_next(&it, &key, &v, NULL) > 0)
        if (jm_jtext(&key, id, sizeof id)) {
            snprintf(full, sizeof full, "%s.gpu%s.energy", name, id);
            n++;
            if (!jm_jnum(&v, &e)) {
                jm_build_env(b, "import.energy.none", "%s", full);
                sum = NAN;
                continue;
            }
            jm_build_energy_claim(b, full, "", "sum", e, "J", "NVML counter", "gpu");
            if (e < 0)
                jm_build_env(b, "import.negative", "%s: %.6g J", full, e);
            sum += e;
        }
    if (n && metric[0] && isfinite(sum)) {
        snprintf(full, sizeof full, "%s, all GPUs", name);
        jm_build_energy_claim(b, full, metric, "sum", sum, "J", "NVML counters, added over the GPUs", "gpu");
    }
    for (size_t i = 0; i < 2; i++) {
        double part = jm_zeus_joules(b->f, &m, other[i], &n_part);
        if (isfinite(part)) {
            snprintf(full, sizeof full, "%s.%s", name, other[i]);
            jm_build_claim(b, full, "", "sum", part, "J", "RAPL, added over the packages");
            jm_build_env(b, "import.unused.host", "%s: %.6g J, in no figure of the file", full, part);
        }
    }
    return n ? sum : NAN;
}

static void facts(struct jm_build *b, const struct jm_jtoken *doc, double whole)
{
    struct jm_jtoken v;
    double e = NAN, per = NAN, s = NAN, tokens;
    if (jm_jmember(b->f, doc, "steady_state_energy", &v))
        jm_jnum(&v, &e);
    if (jm_jmember(b->f, doc, "steady_state_energy_per_token", &v))
        jm_jnum(&v, &per);
    if (jm_jmember(b->f, doc, "steady_state_duration", &v))
        jm_jnum(&v, &s);
    if (per > 0 && e > 0) {
        tokens = e / per;
        jm_build_claim(b, "steady_state_energy / _per_token", "", "", tokens, "tokens",
                       "the output tokens that it was divided by");
        if (tokens < 1.5)
            jm_build_env(b, "import.tokens.floor", "%.6g J over %.3g token", e, tokens);
    }
    if (s >= 0 && s < GATE_S)
        jm_build_env(b, "import.steady.short", "%.4g s; ML.ENERGY itself leaves out results below %.0f s", s,
                     GATE_S);
    if (e < 0 || per < 0)
        jm_build_env(b, "import.negative", "steady state: %.6g J, %.6g J/token", e, per);
    if (whole >= 0 && e > whole * 1.001)
        jm_build_env(b, "import.parts",
                     "the steady state took %.6g J, the whole benchmark that it lies in %.6g J", e, whole);
    jm_build_env(b, "import.prefill_in_output",
                 "energy of the steady state, prefill of its prompts included, over output tokens");
    jm_build_env(b, "import.latency.window",
                 "energy per token is of the steady state, latencies are of the whole run");
    if (!jm_jpath(b->f, doc, "steady_state_measurement.cpu_energy", &v) || v.type != JM_J_OBJECT)
        jm_build_env(b, "import.without.host",
                     "no CPU and no DRAM: RAPL could not be read, or was not asked");
}

static int64_t stamp(const struct jm_ifile *f, const struct jm_jtoken *doc, const char *path)
{
    struct jm_jtoken v;
    int64_t t;
    return jm_jpath(f, doc, path, &v) && jm_jtime(&v, 0, &t) && t >= 0 ? t : -1;
}

static int64_t seconds(const struct jm_ifile *f, const struct jm_jtoken *doc, const char *name)
{
    int64_t ns = stamp(f, doc, name);
    return ns < 0 ? 0 : ns;
}

static void benchmark(struct ml *m, struct jm_build *b, const struct jm_jtoken *doc)
{
    struct jm_jtoken v, key, list;
    struct jm_jiter it;
    bool zone;
    int rc = 0;
    int64_t ns = seconds(b->f, doc, "duration"), t0 = stamp(b->f, doc, "timeline.benchmark_start_time"),
            s0 = stamp(b->f, doc, "timeline.steady_state_start_time"),
            s1 = stamp(b->f, doc, "timeline.steady_state_end_time"),
            end = stamp(b->f, doc, "timeline.benchmark_end_time"),
            sns = seconds(b->f, doc, "steady_state_duration");
    if (t0 < 0) {
        int64_t at = b->f->mtime_ns;
        if (jm_jmember(b->f, doc, "date", &v) && v.type == JM_J_STRING && !jm_build_date(v.raw, &at, &zone))
            at = b->f->mtime_ns;
        t0 = s0 >= 0 && s0 < at - ns ? s0 : at > ns ? at - ns : 0;
    }
    if (!ns)
        ns = stamp(b->f, doc, "entire_benchmark_measurement.time");
    ns = ns > 0 ? ns : 0;
    if (!ns)
        jm_build_missing(b, "duration", "the file does not say how long it was measured");
    jm_build_window(b, 0, "whole benchmark", t0, ns);
    if (jm_jmember(b->f, doc, "results", &list) && list.type == JM_J_ARRAY) {
        jm_jiter_init(&it, b->f, &list);
        while (!b->rc && (rc = jm_jiter_next(&it, NULL, &v, b->err)) > 0)
            request(b, &v);
        b->rc = b->rc ? b->rc : rc < 0 ? rc : 0;
        jm_build_env(b, "import.placed", "window start");
        jm_build_times(b, "durations only: every request is placed at the start of its window");
        jm_build_env(
            b, "import.allocated",
            "the energy of a request in the file is J/token x its output tokens, whatever its prompt was");
    } else {
        jm_build_missing(b, "requests", "the file has no list of results");
    }
    bool steady = jm_jmember(b->f, doc, "steady_state_energy", &v);
    if (steady)
        jm_build_window(b, 0, "steady state", s0 >= 0 ? s0 : t0, s0 >= 0 && s1 > s0 ? s1 - s0 : sns);
    if (steady && !sns && !(s0 >= 0 && s1 > s0)) /* that of the whole benchmark would be another one's */
        jm_build_missing(b, "duration", "the file does not say how long the steady state took");
    int last = b->window;
    jm_jiter_init(&it, b->f, doc);
    while (!b->rc && (rc = jm_jiter_next(&it, &key, &v, b->err)) > 0) {
        b->about = jm_span_starts(key.raw, JM_SPAN("steady_state")) ? last : 0;
        jm_build_member(b, "", &key, &v, rows);
    }
    b->rc = b->rc ? b->rc : rc < 0 ? rc : 0;
    b->about = 0;
    double whole = measurement(b, doc, "entire_benchmark_measurement", "energy");
    b->about = last;
    measurement(b, doc, "steady_state_measurement", "");
    if (steady)
        facts(b, doc, whole);
    static const char *const env[][2] = {{"model_id", "endpoint.model"},
                                         {"gpu_model", "host.gpu"},
                                         {"num_gpus", "import.gpus"},
                                         {"max_num_seqs", "plan.concurrency"},
                                         {"request_rate", "plan.rate_per_s"}};
    for (size_t i = 0; i < sizeof env / sizeof env[0]; i++)
        if (jm_jmember(b->f, doc, env[i][0], &v))
            jm_build_env_of(b, env[i][1], &v);
    jm_build_env(b, "import.clock", "wall");
    if (m && jm_jpath(b->f, doc, "timeline.power", &v)) {
        timelines(m, &v, end >= 0 ? end : t0 + ns);
        jm_held_told(&m->l, m->h, m->n);
    }
}

static void configuration(struct jm_build *b, const struct jm_jtoken *c, const char *model, int n)
{
    struct jm_jtoken v;
    char id[96] = "", gpu[48] = "", gpus[16] = "", seqs[16] = "", name[200], precision[24] = "";
    double value, size = 0;
    static const char *const model_names[] = {"model_id", "Model", "model"},
                             *const gpu_names[] = {"gpu_model", "GPU model", "GPU"},
                             *const seq_names[] = {"max_num_seqs", "Max BS", "Batch size"};
    for (size_t i = 0; i < 3; i++) {
        if (!id[0] && jm_jmember(b->f, c, model_names[i], &v))
            jm_jtext(&v, id, sizeof id);
        if (!gpu[0] && jm_jmember(b->f, c, gpu_names[i], &v))
            jm_jtext(&v, gpu, sizeof gpu);
        if (!seqs[0] && jm_jmember(b->f, c, seq_names[i], &v))
            jm_jtext(&v, seqs, sizeof seqs);
    }
    if (jm_jmember(b->f, c, "num_gpus", &v)) {
        jm_jtext(&v, gpus, sizeof gpus);
        jm_jnum(&v, &size);
    }
    if (jm_jmember(b->f, c, "weight_precision", &v))
        jm_jtext(&v, precision, sizeof precision);
    snprintf(name, sizeof name, "%d: %.60s%s%.40s%s%.10s%s%.10s", n, id[0] ? id : model, gpu[0] ? ", " : "",
             gpu, gpus[0] ? " x " : "", gpus, seqs[0] ? ", batch " : "", seqs);
    jm_text_plain(name, strlen(name), false);
    int64_t ns = seconds(b->f, c, "Batch latency (s)");
    jm_build_window_after(b, 0, name, b->f->mtime_ns, ns);
    if (!ns)
        jm_build_missing(b, "duration", "the leaderboard does not say how long it was measured");
    jm_build_claims(b, c, board, "");
    if (n == 1) {
        jm_build_env(b, "endpoint.model", "%s", id[0] ? id : model);
        if (precision[0])
            jm_build_env(b, "endpoint.precision", "%s", precision);
        jm_build_env(b, "host.gpu", "%s", gpu);
        if (gpus[0])
            jm_build_env(b, "import.gpus", "%s", gpus);
    }
    if (jm_jmember(b->f, c, "energy_per_token_joules", &v) && jm_jnum(&v, &value) && value <= 0)
        jm_build_env(b, "import.negative", "%.100s: %.6g J/token", name, value);
}

static void leaderboard(struct jm_build *b, const struct jm_jtoken *doc)
{
    struct jm_jtoken list, v;
    struct jm_jiter it;
    char model[96] = "";
    int rc = 0, n = 0;
    bool llm = false;
    if (jm_jmember(b->f, doc, "model_id", &v))
        jm_jtext(&v, model, sizeof model);
    if (doc->type == JM_J_ARRAY) {
        list = *doc;
    } else if (!jm_jmember(b->f, doc, "configurations", &list)) {
        configuration(b, doc, model, ++n);
        list.type = JM_J_NULL;
    }
    if (list.type == JM_J_ARRAY) {
        jm_jiter_init(&it, b->f, &list);
        while (!b->rc && (rc = jm_jiter_next(&it, NULL, &v, b->err)) > 0) {
            struct jm_jtoken e;
            llm |= jm_jmember(b->f, &v, "energy_per_token_joules", &e);
            if (++n && (!b->o->select || b->o->select == n))
                configuration(b, &v, model, n);
        }
        b->rc = b->rc ? b->rc : rc < 0 ? rc : 0;
    }
    if (!b->rc && (!n || b->o->select > n))
        jm_build_fail(b, "%s holds %d configurations%s", b->f->path, n,
                      n ? ", so there is no such number" : "");
    if (llm) {
        jm_build_env(b, "import.prefill_in_output",
                     "energy of the steady state, prefill of its prompts included, over output tokens");
        jm_build_env(b, "import.latency.window",
                     "energy per token is of the steady state, latencies are of the whole run");
    }
    jm_build_env(b, "import.without.host", "ML.ENERGY's figures are of GPUs only");
    jm_build_missing(b, "requests",
                     "the leaderboard holds figures; their requests are in the benchmark's results.json");
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct ml *m = calloc(1, sizeof *m);
    struct jm_jdocs d;
    struct jm_jtoken doc, v;
    int rc = m ? jm_ifile_open(path, &m->l.f, err) : jm_err_set(err, JM_ENOMEM, "out of memory for %s", path);
    if (rc) {
        free(m);
        return rc;
    }
    struct jm_span head = jm_span_trim(jm_span_sub(m->l.f.text, 0, 256));
    if (head.n && head.p[0] != '{' && head.p[0] != '[') {
        jm_ifile_close(&m->l.f);
        free(m);
        return jm_ml_energy_csv(path, out, o, err);
    }
    jm_jdocs_init(&d, &m->l.f);
    rc = jm_jdocs_next(&d, &doc, err);
    bool bench = rc > 0 && (jm_jmember(&m->l.f, &doc, "steady_state_energy", &v) ||
                            jm_jmember(&m->l.f, &doc, "entire_benchmark_measurement", &v) ||
                            jm_jmember(&m->l.f, &doc, "results", &v));
    bool images = rc > 0 && jm_jmember(&m->l.f, &doc, "iteration_energy_measurements", &v);
    bool power = bench && !images && jm_jpath(&m->l.f, &doc, "timeline.power", &v) && v.type == JM_J_OBJECT;
    bool index =
        rc > 0 && !bench && jm_jmember(&m->l.f, &doc, "models", &v) && jm_jmember(&m->l.f, &doc, "tasks", &v);
    if (rc <= 0 || index) {
        if (rc == 0 || index)
            rc = jm_err_set(err, JM_EPARSE,
                            index ? "%s is the leaderboard's index, which holds no figures; take "
                                    "tasks/*.json or models/*.json"
                                  : "%s holds nothing but blanks",
                            path);
        jm_ifile_close(&m->l.f);
        free(m);
        return rc;
    }
    if (power) {
        jm_ifile_close(&m->l.f);
        rc = jm_devlog_begin(&m->l, "ml-energy", path, out, o, err);
        if (rc && !m->l.b.w) {
            free(m);
            return rc;
        }
        jm_jdocs_init(&d, &m->l.f); /* tokens point into the file */
        if (!m->l.b.rc && (rc = jm_jdocs_next(&d, &doc, m->l.b.err)) > 0)
            benchmark(m, &m->l.b, &doc);
        else if (!m->l.b.rc)
            m->l.b.rc = rc ? rc : JM_EPARSE;
        rc = jm_devlog_end(&m->l);
    } else {
        struct jm_build b;
        jm_build_begin(&b, "ml-energy", &m->l.f, o, out, m->l.f.mtime_ns, err);
        jm_build_env(&b, "import.date_from", "modification time of the file");
        if (!b.rc && images)
            jm_ml_energy_images(&b, &doc);
        else if (!b.rc && bench)
            benchmark(NULL, &b, &doc);
        else if (!b.rc)
            leaderboard(&b, &doc);
        rc = jm_build_end(&b);
        jm_ifile_close(&m->l.f);
    }
    free(m);
    return rc;
}

static int sniff(const struct jm_probe *p)
{
    if (jm_table_looks(p, jm_ml_energy_head))
        return 90;
    static const struct jm_probe_mark
        results[] = {{"steady_state_energy", 50},
                     {"steady_state_energy_per_token", 30},
                     {"steady_state_measurement", 20},
                     {"entire_benchmark_measurement", 20},
                     {NULL, 0}},
        images[] = {{"iteration_energy_measurements[].gpu_energy", 90}, {NULL, 0}},
        task[] = {{"configurations[].energy_per_token_joules", 0}, {"configurations", 90}, {NULL, 0}},
        image[] = {{"configurations[].energy_per_image_joules", 0}, {"configurations", 90}, {NULL, 0}},
        video[] = {{"configurations[].energy_per_video_joules", 0}, {"configurations", 90}, {NULL, 0}},
        index[] = {{"models", 0}, {"tasks", 0}, {"last_updated", 70}, {NULL, 0}},
        old[] = {{"Energy/req (J)", 90}, {NULL, 0}}, olds[] = {{"[].Energy/req (J)", 90}, {NULL, 0}},
        batch[] = {{"Batch energy (J)", 90}, {NULL, 0}}, batches[] = {{"[].Batch energy (J)", 90}, {NULL, 0}};
    const struct jm_probe_mark *const all[] = {results, images, task, image, video,
                                               index,   old,    olds, batch, batches};
    int best = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        int s = jm_probe_score(p, all[i]);
        best = s > best ? s : best;
    }
    return best > 98 ? 98 : best;
}

const struct jm_importer jm_import_ml_energy = {
    .name = "ml-energy",
    .summary = "ML.ENERGY: the benchmark's results.json, the leaderboard's tasks/*.json and models/*.json, "
               "*_benchmark.csv",
    .reads = "results.json: the whole benchmark and its steady state as windows, every request, energies by "
             "GPU, and the power "
             "timelines, from which the energy is computed again beside the counters'. Leaderboard: a window "
             "a configuration with "
             "its figures as claims.",
    .lacks = "When a request began; the tokens of the steady state, but by its energy per token; CPU and "
             "DRAM where RAPL was not "
             "read. The leaderboard: requests, duration, date.",
    .sniff = sniff,
    .import = import,
};
