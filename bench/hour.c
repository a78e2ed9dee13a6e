/* SPDX-License-Identifier: Apache-2.0 */
/* An hour of serving as a run file, to time what is computed from one: 8 GPUs at 10 Hz (energy, two powers,
 * temperature), two packages with DRAM, a scrape of the engine's metrics each second, 100,000 requests in
 * four slices with contracts of their own, 1 % of them failed or aborted, a loaded idle window before. Power
 * follows the load: idle + energy of the prompts (over the 80 ms before a first token) + energy of each
 * token, so that phases can be told apart. Everything is declared simulated.
 *
 *     hour FILE.jmr [REQUESTS [SECONDS]] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/rng.h"
#include "run/run.h"

enum { GPUS = 8, HZ = 10, IDLE_S = 60, TAIL_S = 60, FINE = 100, LONGEST = 2048 };
#define START      (INT64_C(1234567) * JM_NS_PER_S)
#define IDLE_W     820.0 /* all boards, the model loaded */
#define PREFILL_J  0.028 /* a prompt token */
#define DECODE_J   0.55  /* a token */
#define PACKAGE_W  210.0
#define DRAM_W     31.0
#define PREFILL_NS (80 * JM_NS_PER_MS)

static struct jm_err err;

static void must(int rc)
{
    if (rc < 0) {
        fprintf(stderr, "hour: %s\n", err.text);
        exit(1);
    }
}

static const struct slice {
    const char *name;
    int isl, osl;
    const char *ttft, *tpot;
} slices[] = {{"chat", 600, 140, "0.5", "0.05"},
              {"code", 1800, 90, "0.8", "0.05"},
              {"rag", 3200, 60, "1.5", "0.06"},
              {"batch", 400, 300, "30", "0.2"}};

struct load {
    int requests, seconds;
    double *w; /* J of the boards in each hundredth of a second beyond idle, then their sum up to its end */
    size_t n;
    int64_t *step; /* ends of the batch's steps */
    size_t n_step;
};

static int64_t end_of(const struct load *l)
{
    return START + (IDLE_S + l->seconds + TAIL_S) * JM_NS_PER_S;
}

/* Continuous batching: all streams share steps of about 20 ms, and a step with a prefill in it is longer. */
static void steps(struct load *l)
{
    struct jm_rng g;
    jm_rng_init(&g, 7);
    for (int64_t t = START; t < end_of(l); l->step[l->n_step++] = t)
        t += (int64_t)(20e6 + 3e5 * jm_rng_normal(&g)) +
             (jm_rng_below(&g, 50) ? 0 : (int64_t)(1.2e8 * jm_rng_unit(&g)));
}

/* Poisson arrivals at an hour's gentle swing; each request by a generator of its own, so that it comes out
 * the same each time. */
static size_t make(const struct load *l, int id, struct jm_request *r, struct jm_token_event *ev)
{
    struct jm_rng g;
    jm_rng_init(&g, (uint64_t)id + 1000);
    const struct slice *s = &slices[jm_rng_below(&g, 10) < 5 ? 0 : 1 + jm_rng_below(&g, 3)];
    double u = (id - 1 + jm_rng_unit(&g)) / l->requests;
    double at = l->seconds * (u + 0.08 * sin(2 * 3.14159265358979 * u) / (2 * 3.14159265358979));
    int64_t t = START + IDLE_S * JM_NS_PER_S + (int64_t)(at * 1e9);
    size_t n = 1 + (size_t)jm_rng_exp(&g, s->osl), lo = 0, hi = l->n_step;
    n = n < LONGEST ? n : LONGEST;
    jm_request_init(r);
    r->id = id;
    snprintf(r->slice, sizeof r->slice, "%s", s->name);
    for (int i = 0; i <= JM_T_SENT; i++)
        r->t[i] = t += i ? (int64_t)jm_rng_below(&g, 90000) : 0;
    r->t[JM_T_HEADERS] = r->t[JM_T_FIRST_BYTE] = t + 3000000;
    r->prompt_tokens = s->isl / 2 + (int64_t)jm_rng_below(&g, (uint32_t)s->isl);
    r->asked_isl = s->isl;
    r->asked_osl = s->osl;
    r->prompt_bytes = 4 * r->prompt_tokens;
    r->stream = r->reused = 1;
    for (int i = 0; i < 64; i++)
        r->prompt_sha256[i] = "0123456789abcdef"[jm_rng_below(&g, 16)];
    if (jm_rng_below(&g, 200) == 0) {
        r->end = JM_END_HTTP_SERVER;
        r->http_status = 503;
        r->t[JM_T_CLOSED] = r->t[JM_T_HEADERS] + 100000;
        return 0;
    }
    int64_t first = t + PREFILL_NS + (int64_t)(1e8 * jm_rng_unit(&g));
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (l->step[mid] < first)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (jm_rng_below(&g, 200) == 0) {
        r->end = JM_END_ABORTED;
        n = n / 2 + 1;
    }
    for (size_t i = 0; i < n; i++) {
        double late = 1e5 + 4e4 * jm_rng_normal(&g);
        int64_t step = l->step[lo + i < l->n_step ? lo + i : l->n_step - 1];
        ev[i] = (struct jm_token_event){
            .t = step + (late > 0 ? (int64_t)late : 0), .tokens = 1, .flags = JM_TE_COUNT_KNOWN};
    }
    r->t[JM_T_FIRST_EVENT] = r->t[JM_T_FIRST_TOKEN] = r->t[JM_T_FIRST_VISIBLE] = ev[0].t;
    r->t[JM_T_LAST_TOKEN] = ev[n - 1].t;
    r->t[JM_T_USAGE] = r->t[JM_T_DONE] = r->t[JM_T_CLOSED] = ev[n - 1].t + 100000;
    r->http_status = 200;
    if (r->end != JM_END_ABORTED)
        r->end = JM_END_OK;
    snprintf(r->finish, sizeof r->finish, "%s", n % 3 ? "length" : "stop");
    r->output_tokens = r->events = (int64_t)n;
    r->token_source = JM_TOK_USAGE;
    r->output_bytes = 4 * r->output_tokens;
    memcpy(r->output_sha256, r->prompt_sha256, 65);
    return n;
}

static void add(struct load *l, int64_t t0, int64_t t1, double joules)
{
    const int64_t fine = JM_NS_PER_S / FINE;
    size_t a = (size_t)((t0 - START) / fine), b = (size_t)((t1 - START) / fine);
    for (size_t i = a; i <= b && i < l->n; i++)
        l->w[i] += joules / (double)(b - a + 1);
}

static void burn(struct load *l)
{
    static struct jm_token_event ev[LONGEST];
    struct jm_request r;
    for (int id = 1; id <= l->requests; id++) {
        size_t n = make(l, id, &r, ev);
        if (n)
            add(l, ev[0].t - PREFILL_NS, ev[0].t - 1, PREFILL_J * (double)r.prompt_tokens);
        for (size_t i = 1; i < n; i++)
            add(l, ev[i].t - 20 * JM_NS_PER_MS, ev[i].t, DECODE_J);
    }
    double sum = 0;
    for (size_t i = 0; i < l->n; i++)
        l->w[i] = sum += l->w[i] + IDLE_W / FINE;
}

/* J of all boards from the start to t. */
static double joules(const struct load *l, int64_t t)
{
    double x = (double)(t - START) / 1e9 * FINE;
    size_t i = x > 0 ? (size_t)x : 0;
    i = i + 1 < l->n ? i : l->n - 2;
    double before = i ? l->w[i - 1] : 0;
    return before + (x - (double)i) * (l->w[i] - before);
}

static int channel(struct jm_run_writer *w, const char *name, const char *device, enum jm_unit unit,
                   int domain)
{
    bool counter = strcmp(name, "energy") == 0;
    struct jm_channel c = {.kind = counter ? JM_CH_COUNTER : JM_CH_GAUGE,
                           .unit = unit,
                           .scale10 = unit == JM_U_CELSIUS ? 0 : -3,
                           .domain = domain,
                           .provenance = JM_P_SIMULATED,
                           .sem = counter || unit == JM_U_CELSIUS ? JM_G_INSTANT : JM_G_TRAILING_MEAN,
                           .window_ns = counter || unit == JM_U_CELSIUS ? 0 : JM_NS_PER_S,
                           .period_ns = 100 * JM_NS_PER_MS};
    int id;
    snprintf(c.name, sizeof c.name, "%s", name);
    snprintf(c.device, sizeof c.device, "%s", device);
    must(jm_run_put_channel(w, &c, &id, &err));
    return id;
}

static void channels(struct jm_run_writer *w)
{
    struct jm_domain_tree t;
    struct jm_run_meter nvml = {
        .name = "nvml", .state = "ok", .period_ns = 100 * JM_NS_PER_MS, .simulated = true};
    struct jm_run_meter rapl = {
        .name = "rapl", .state = "ok", .period_ns = 100 * JM_NS_PER_MS, .simulated = true};
    must(jm_run_put_meter(w, &nvml, &err));
    jm_domain_tree_init(&t);
    int node = jm_domain_host(&t, "host", &err);
    for (int g = 0; g < GPUS; g++) {
        char key[64];
        snprintf(key, sizeof key, "GPU-51340000-0000-4106-c12f-20bd9faed9f%d", g);
        int domain = jm_domain_add(&t, node, JM_D_GPU, key, key, &err);
        channel(w, "energy", key, JM_U_J, domain);
        channel(w, "power.average", key, JM_U_W, domain);
        channel(w, "power.usage", key, JM_U_W, domain);
        channel(w, "temp", key, JM_U_CELSIUS, domain);
    }
    must(jm_run_put_meter(w, &rapl, &err));
    for (int p = 0; p < 2; p++) {
        char key[32];
        snprintf(key, sizeof key, "package-%d", p);
        channel(w, "energy", key, JM_U_J, jm_domain_add(&t, node, JM_D_PACKAGE, key, key, &err));
        snprintf(key, sizeof key, "dram-%d", p);
        channel(w, "energy", key, JM_U_J, jm_domain_add(&t, node, JM_D_DRAM, key, key, &err));
    }
    must(jm_run_put_domains(w, &t, &err));
    jm_domain_tree_release(&t);
}

static void sweep(struct jm_run_writer *w, const struct load *l, struct jm_rng *g, int64_t t)
{
    struct jm_reading r[4 * GPUS + 4];
    t += 50000 + (int64_t)fabs(2e4 * jm_rng_normal(g));
    /* 13 ms late at the sensor, as its refreshes are */
    double now = joules(l, t), before = joules(l, t > START + JM_NS_PER_S ? t - JM_NS_PER_S : START);
    double span = t > START + JM_NS_PER_S ? 1 : (double)(t - START) / 1e9;
    double watts = (now - before) / span / GPUS, cpu = (double)(t - START) / 1e9;
    for (int d = 0; d < GPUS; d++) {
        double gain = 0.99 + 0.0025 * d;
        int64_t t1 = t + 12000 + (int64_t)(1500 * jm_rng_normal(g));
        int64_t v[4] = {(int64_t)(1e6 * (d + 1) + 1e3 * now / GPUS * gain), (int64_t)(1e3 * watts * gain),
                        (int64_t)(1e3 * watts * gain) / 64 * 64, 45 + (int64_t)(watts / 25)};
        for (int k = 0; k < 4; k++)
            r[4 * d + k] =
                (struct jm_reading){.t0 = t, .t1 = t1, .value = v[k], .channel = (uint32_t)(4 * d + k)};
        t = t1 + 200;
    }
    for (int k = 0; k < 4; k++)
        r[4 * GPUS + k] =
            (struct jm_reading){.t0 = t,
                                .t1 = t + 9000,
                                .value = (int64_t)(1e3 * cpu * (k % 2 ? DRAM_W : PACKAGE_W) * (1 + 0.02 * k)),
                                .channel = (uint32_t)(4 * GPUS + k)};
    must(jm_run_put_readings(w, r, 4 * GPUS + 4, &err));
}

static void scrape(struct jm_run_writer *w, int64_t t, double prompt, double output, double done)
{
    static const double le[] = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2, 5};
    struct jm_str s = {0};
    jm_str_addf(
        &s,
        "vllm:num_requests_running{model_name=\"m\"} %d\nvllm:num_requests_waiting{model_name=\"m\"} 0\n"
        "vllm:gpu_cache_usage_perc{model_name=\"m\"} 0.4\nvllm:prompt_tokens_total{model_name=\"m\"} %.0f\n"
        "vllm:generation_tokens_total{model_name=\"m\"} %.0f\nvllm:request_success_total{model_name=\"m\"} "
        "%.0f\n",
        90, prompt, output, done);
    static const char *const histogram[] = {"time_to_first_token_seconds", "time_per_output_token_seconds",
                                            "e2e_request_latency_seconds", "request_queue_time_seconds"};
    for (size_t h = 0; h < 4; h++) {
        for (size_t i = 0; i < sizeof le / sizeof *le; i++)
            jm_str_addf(&s, "vllm:%s_bucket{model_name=\"m\",le=\"%g\"} %.0f\n", histogram[h], le[i],
                        floor(done * (double)(i + 1) / 12));
        jm_str_addf(&s,
                    "vllm:%s_bucket{model_name=\"m\",le=\"+Inf\"} %.0f\nvllm:%s_sum{model_name=\"m\"} %.3f\n"
                    "vllm:%s_count{model_name=\"m\"} %.0f\n",
                    histogram[h], done, histogram[h], done * 0.2, histogram[h], done);
    }
    must(jm_run_put_scrape(w, "http://127.0.0.1:8000/metrics", t, t + 2000000, jm_str_span(&s), &err));
    jm_str_release(&s);
}

static void facts(struct jm_run_writer *w)
{
    char names[128] = "";
    for (size_t i = 0; i < 4; i++) {
        char key[64];
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? "," : "", slices[i].name);
        snprintf(key, sizeof key, "contract.%s.ttft_s", slices[i].name);
        must(jm_run_put_env(w, key, slices[i].ttft, &err));
        snprintf(key, sizeof key, "contract.%s.tpot_s", slices[i].name);
        must(jm_run_put_env(w, key, slices[i].tpot, &err));
    }
    must(jm_run_put_env(w, "plan.slices", names, &err));
    must(jm_run_put_env(w, "idle.0.class", "loaded", &err));
    must(jm_run_put_env(w, "endpoint.simulated", "1", &err));
    must(jm_run_put_env(w, "endpoint.model", "m", &err));
    must(jm_run_put_env(w, "engine.metrics", "given", &err));
    must(jm_run_put_env(w, "engine.targets", "1", &err));
    must(jm_run_put_env(w, "engine.0.url", "http://127.0.0.1:8000/metrics", &err));
    must(jm_run_put_env(w, "engine.0.dialect", "vllm", &err));
    must(jm_run_put_env(w, "engine.0.state", "ok", &err));
}

static void window(struct jm_run_writer *w, enum jm_role role, const char *name, int64_t t0, int64_t t1)
{
    struct jm_window win = {.id = role == JM_R_IDLE ? 0 : 1, .role = role, .t0 = t0};
    snprintf(win.name, sizeof win.name, "%s", name);
    must(jm_run_open_window(w, &win, &err));
    must(jm_run_close_window(w, win.id, t1, &err));
}

static int number(const char *text, int most)
{
    int64_t v;
    if (jm_num_i64(jm_span_of(text), &v) || v < 1 || v > most) {
        fprintf(stderr, "hour: %s is no number between 1 and %d.\n", text, most);
        exit(2);
    }
    return (int)v;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: hour FILE.jmr [REQUESTS [SECONDS]]\n", stderr);
        return 2;
    }
    struct load l = {.requests = argc > 2 ? number(argv[2], 10000000) : 100000,
                     .seconds = argc > 3 ? number(argv[3], 1000000) : 3600};
    int total = IDLE_S + l.seconds + TAIL_S;
    l.n = (size_t)total * FINE;
    l.w = calloc(l.n, sizeof *l.w);
    l.step = malloc((size_t)total * 60 * sizeof *l.step);
    if (!l.w || !l.step)
        return 1;
    steps(&l);
    burn(&l);
    struct jm_run_create c = {.label = "an hour of serving",
                              .kind = "recorded",
                              .source = "bench/hour",
                              .created_real = INT64_C(1751234567000000000),
                              .overwrite = true};
    struct jm_run_writer *w = NULL;
    static struct jm_token_event ev[LONGEST];
    struct jm_rng g;
    double prompt = 0, output = 0, done = 0;
    jm_rng_init(&g, 42);
    must(jm_run_create(argv[1], &c, &w, &err));
    channels(w);
    facts(w);
    int id = 1;
    struct jm_request r;
    size_t n = make(&l, id, &r, ev);
    for (int i = 0; i < total * HZ; i++) {
        int64_t t = START + (int64_t)i * (JM_NS_PER_S / HZ);
        sweep(w, &l, &g, t);
        if (i % HZ == 0) {
            struct jm_clock_pair p = {
                t, t + 300, INT64_C(1750000000000000000) + t + (int64_t)jm_rng_below(&g, 100), t + 100};
            must(jm_run_put_clock_pair(w, &p, &err));
            scrape(w, t + 1000, prompt, output, done);
        }
        for (; id <= l.requests && r.t[JM_T_SCHEDULED] <= t;
             n = ++id <= l.requests ? make(&l, id, &r, ev) : 0) {
            must(jm_run_put_request(w, &r, ev, n, &err));
            prompt += (double)r.prompt_tokens;
            output += (double)n;
            done += n > 0;
        }
        must(jm_run_flush(w, t, false, &err));
    }
    window(w, JM_R_IDLE, "idle", START + 5 * JM_NS_PER_S, START + (IDLE_S - 5) * JM_NS_PER_S);
    window(w, JM_R_MEASURE, "hour", START + IDLE_S * JM_NS_PER_S, START + (IDLE_S + l.seconds) * JM_NS_PER_S);
    must(jm_run_seal(w, &err));
    free(l.w);
    free(l.step);
    return 0;
}
