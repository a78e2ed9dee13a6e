/* SPDX-License-Identifier: Apache-2.0 */
/* Size and speed of a run file: an hour of 32 channels at 10 Hz (8 GPUs: energy and two powers in one call,
 * temperature in another) with 100,000 requests of 128 tokens on average under continuous batching. Ends with
 * 1 when a bound is broken: 20 MB without token events, 2 bytes an event. Usage: run_file [FOLDER] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "run/run.h"

enum { GPUS = 8, SECONDS = 3600, HZ = 10, REQUESTS = 100000, MEAN_OSL = 128 };
#define START (INT64_C(1234567) * JM_NS_PER_S) /* two weeks of uptime */

static struct jm_err err;

static void must(int rc)
{
    if (rc < 0) {
        fprintf(stderr, "run_file: %s\n", err.text);
        exit(1);
    }
}

static double now(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void channels(struct jm_run_writer *w)
{
    static const char *const names[] = {"energy", "power.average", "power.instant", "temp"};
    struct jm_domain_tree t;
    struct jm_run_meter m = {
        .name = "nvml", .instance = "libnvidia-ml.so.1", .state = "ok", .period_ns = 100000000};
    must(jm_run_put_meter(w, &m, &err));
    jm_domain_tree_init(&t);
    int node = jm_domain_host(&t, "host", &err);
    for (int g = 0; g < GPUS; g++) {
        char key[64];
        snprintf(key, sizeof key, "GPU-8932f937-d72c-4106-c12f-20bd9faed9f%d", g);
        int domain = jm_domain_add(&t, node, JM_D_GPU, key, key, &err), id;
        for (int k = 0; k < 4; k++) {
            struct jm_channel c = {.kind = k ? JM_CH_GAUGE : JM_CH_COUNTER,
                                   .unit = k == 0   ? JM_U_J
                                           : k == 3 ? JM_U_CELSIUS
                                                    : JM_U_W,
                                   .scale10 = k == 3 ? 0 : -3,
                                   .domain = domain,
                                   .period_ns = 100000000};
            snprintf(c.name, sizeof c.name, "%s", names[k]);
            snprintf(c.device, sizeof c.device, "%s", key);
            must(jm_run_put_channel(w, &c, &id, &err));
        }
    }
    must(jm_run_put_domains(w, &t, &err));
    jm_domain_tree_release(&t);
}

/* Continuous batching: all streams share steps of about 20 ms; a step with a prefill in it is longer. The
 * client sees each event some 100 us later. */
static size_t events(struct jm_rng *g, const int64_t *step, size_t n_step, int64_t t, size_t n,
                     struct jm_token_event *ev)
{
    size_t lo = 0, hi = n_step;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (step[mid] < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (size_t i = 0; i < n; i++) {
        double late = 1e5 + 4e4 * jm_rng_normal(g);
        int64_t at = (lo + i < n_step ? step[lo + i] : step[n_step - 1]) + (late > 0 ? (int64_t)late : 0);
        ev[i] = (struct jm_token_event){.t = at, .tokens = 1, .flags = JM_TE_COUNT_KNOWN};
    }
    return n;
}

static int64_t *steps(struct jm_rng *g, size_t *n)
{
    size_t cap = (size_t)(SECONDS + 60) * 60;
    int64_t *v = malloc(cap * sizeof *v), t = START;
    if (!v)
        exit(1);
    for (*n = 0; *n < cap && t < START + (SECONDS + 30) * JM_NS_PER_S; v[(*n)++] = t)
        t += (int64_t)(20e6 + 3e5 * jm_rng_normal(g)) +
             (jm_rng_below(g, 50) ? 0 : (int64_t)(1.2e8 * jm_rng_unit(g)));
    return v;
}

static void random_hash(struct jm_rng *g, char out[65])
{
    for (int i = 0; i < 64; i++)
        out[i] = "0123456789abcdef"[jm_rng_below(g, 16)];
    out[64] = '\0';
}

static struct jm_request request(struct jm_rng *g, int id, const struct jm_token_event *ev, size_t n)
{
    struct jm_request r;
    jm_request_init(&r);
    int64_t t = ev[0].t - (int64_t)(2e8 + 1e8 * jm_rng_unit(g));
    r.id = id;
    for (int i = 0; i <= JM_T_HEADERS; i++)
        r.t[i] = t += (int64_t)jm_rng_below(g, 90000);
    r.t[JM_T_FIRST_BYTE] = r.t[JM_T_HEADERS] += 3000000;
    r.t[JM_T_FIRST_EVENT] = r.t[JM_T_FIRST_TOKEN] = r.t[JM_T_FIRST_VISIBLE] = ev[0].t;
    r.t[JM_T_LAST_TOKEN] = ev[n - 1].t;
    r.t[JM_T_USAGE] = r.t[JM_T_DONE] = ev[n - 1].t + (int64_t)jm_rng_below(g, 300000);
    r.t[JM_T_CLOSED] = r.t[JM_T_DONE] + (int64_t)jm_rng_below(g, 90000);
    r.end = JM_END_OK;
    r.http_status = 200;
    snprintf(r.finish, sizeof r.finish, "%s", n % 3 ? "length" : "stop");
    r.prompt_tokens = 512 + (int64_t)jm_rng_below(g, 512);
    r.output_tokens = r.events = (int64_t)n;
    r.token_source = JM_TOK_USAGE;
    r.asked_isl = 768;
    r.asked_osl = MEAN_OSL;
    r.prompt_bytes = 4 * r.prompt_tokens;
    r.output_bytes = 4 * r.output_tokens;
    random_hash(g, r.prompt_sha256);
    random_hash(g, r.output_sha256);
    r.stream = r.reused = 1;
    return r;
}

static void sweep(struct jm_run_writer *w, struct jm_rng *g, int i, int64_t *mj)
{
    struct jm_reading r[4 * GPUS];
    int64_t t = START + (int64_t)i * (JM_NS_PER_S / HZ) + 50000 + (int64_t)fabs(2e4 * jm_rng_normal(g));
    for (int d = 0; d < GPUS; d++) {
        int64_t mw = 520000 + (int64_t)(3e4 * jm_rng_normal(g)),
                t1 = t + 12000 + (int64_t)(1500 * jm_rng_normal(g)),
                t2 = t1 + 6000 + (int64_t)(800 * jm_rng_normal(g));
        mj[d] += mw / HZ;
        for (int k = 0; k < 4; k++) {
            int64_t value = k == 0 ? mj[d] : k == 1 ? mw - mw % 64 : k == 2 ? mw : 60 + (i / 40) % 3;
            r[4 * d + k] = (struct jm_reading){.t0 = k == 3 ? t1 : t,
                                               .t1 = k == 3 ? t2 : t1,
                                               .value = value,
                                               .channel = (uint32_t)(4 * d + k)};
        }
        t = t2 + 200;
    }
    must(jm_run_put_readings(w, r, 4 * GPUS, &err));
}

/* Returns events written. */
static int64_t write_run(const char *path, bool with_events, double *cpu)
{
    struct jm_run_create c = {.label = "bench", .kind = "recorded", .source = "bench", .overwrite = true};
    struct jm_run_writer *w = NULL;
    struct jm_rng g;
    int64_t mj[GPUS] = {0}, n_event = 0;
    size_t n_step;
    static struct jm_token_event ev[4096];
    jm_rng_init(&g, 42);
    int64_t *step = steps(&g, &n_step);
    double used = 0;
    must(jm_run_create(path, &c, &w, &err));
    channels(w);
    for (int i = 0, id = 1; i < SECONDS * HZ; i++) {
        double t0 = now(CLOCK_PROCESS_CPUTIME_ID);
        sweep(w, &g, i, mj);
        int64_t t = START + (int64_t)i * (JM_NS_PER_S / HZ);
        if (i % HZ == 0) {
            struct jm_clock_pair p = {
                t, t + 300, INT64_C(1750000000000000000) + t + (int64_t)jm_rng_below(&g, 100), t + 100};
            must(jm_run_put_clock_pair(w, &p, &err));
        }
        used += now(CLOCK_PROCESS_CPUTIME_ID) - t0;
        for (; id <= REQUESTS && (int64_t)(id - 1) * SECONDS * HZ / REQUESTS <= i; id++) {
            size_t n = 1 + (size_t)(jm_rng_exp(&g, MEAN_OSL - 1));
            n = events(&g, step, n_step, t, n < 4096 ? n : 4096, ev);
            struct jm_request q = request(&g, id, ev, n);
            t0 = now(CLOCK_PROCESS_CPUTIME_ID);
            must(jm_run_put_request(w, &q, ev, with_events ? n : 0, &err));
            used += now(CLOCK_PROCESS_CPUTIME_ID) - t0;
            n_event += (int64_t)n;
        }
        t0 = now(CLOCK_PROCESS_CPUTIME_ID);
        must(jm_run_flush(w, t, false, &err));
        used += now(CLOCK_PROCESS_CPUTIME_ID) - t0;
    }
    struct jm_window win = {.role = JM_R_MEASURE, .name = "hour", .t0 = START + 10 * JM_NS_PER_S};
    must(jm_run_open_window(w, &win, &err));
    must(jm_run_close_window(w, 0, START + (SECONDS - 10) * JM_NS_PER_S, &err));
    double t0 = now(CLOCK_PROCESS_CPUTIME_ID);
    must(jm_run_seal(w, &err));
    *cpu = used + now(CLOCK_PROCESS_CPUTIME_ID) - t0;
    free(step);
    return n_event;
}

static int on_events(void *self, int64_t request_id, const struct jm_token_event *ev, size_t n)
{
    (void)request_id;
    (void)ev;
    *(int64_t *)self += (int64_t)n;
    return 0;
}

static double size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (double)st.st_size : 0;
}

int main(int argc, char **argv)
{
    char with[256], without[256];
    double cpu, cpu_events;
    const char *dir = argc > 1 ? argv[1] : "/tmp";
    snprintf(with, sizeof with, "%s/jm-bench-%d.jmr", dir, (int)getpid());
    snprintf(without, sizeof without, "%s/jm-bench-%d-plain.jmr", dir, (int)getpid());
    write_run(without, false, &cpu);
    int64_t n = write_run(with, true, &cpu_events);
    double plain = size_of(without), all = size_of(with), an_event = (all - plain) / (double)n;

    struct jm_run *r = NULL;
    double t0 = now(CLOCK_MONOTONIC);
    must(jm_run_open(with, &r, &err));
    double t1 = now(CLOCK_MONOTONIC);
    struct jm_readings a = {0};
    int64_t readings = 0, seen = 0;
    for (int c = 0; c < 4 * GPUS; c++) {
        must(jm_run_readings(r, c, INT64_MIN, INT64_MAX, &a, &err));
        readings += (int64_t)a.n;
        a.n = 0;
    }
    double t2 = now(CLOCK_MONOTONIC);
    size_t n_req;
    jm_run_requests(r, &n_req);
    double t3 = now(CLOCK_MONOTONIC);
    must(jm_run_events(r, on_events, &seen, &err));
    double t4 = now(CLOCK_MONOTONIC);
    jm_readings_release(&a);
    jm_run_close(r);
    if (!getenv("KEEP"))
        unlink(with);
    unlink(without);
    printf("| readings, requests, token events | %lld, %zu, %lld |\n", (long long)readings, n_req,
           (long long)seen);
    printf("| file without token events | %.2f MB |\n", plain / 1e6);
    printf("| a token event | %.2f bytes |\n", an_event);
    printf("| CPU to write without, with token events | %.2f s, %.2f s |\n", cpu, cpu_events);
    printf("| open with SHA-256 | %.3f s |\n", t1 - t0);
    printf("| decode all readings | %.3f s |\n", t2 - t1);
    printf("| load all requests | %.3f s |\n", t3 - t2);
    printf("| decode all token events | %.3f s |\n", t4 - t3);
    bool ok = plain <= 20e6 && an_event <= 2 && seen == n && n_req == REQUESTS &&
              readings == (int64_t)SECONDS * HZ * 4 * GPUS;
    if (!ok)
        fprintf(stderr, "run_file: a bound is broken (20 MB without token events, 2 bytes an event), or data "
                        "is missing\n");
    return ok ? 0 : 1;
}
