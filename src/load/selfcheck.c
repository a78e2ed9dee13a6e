/* SPDX-License-Identifier: Apache-2.0 */
#include "load/selfcheck.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "base/stats.h"
#include "load/load.h"

#include "base/banned.h"

#define SAMPLE_NS     (50 * JM_NS_PER_MS)
#define DRAIN_NS      (30 * JM_NS_PER_S)
#define PROMPT_TOKENS 32
/* An event that leaves the server later than a whole gap after its time is not the load that was planned. */
#define MOCK_LATE_GAPS 1.0

struct run {
    const struct jm_selfmock_cfg *server;
    struct jm_selfmock_log *log;
    struct jm_selfcheck_row *row;
    int64_t begin, end; /* of the measured time */
    double kernel, user;
    bool limited;
};

/* Anonymous memory of this process in KiB: the shared log is not among it. */
static double own_kib(void)
{
    struct jm_str s;
    struct jm_span rest, line;
    int64_t v = -1;
    jm_str_init(&s);
    if (jm_file_read("/proc/self/status", 1 << 16, &s, NULL) == 0) {
        rest = jm_str_span(&s);
        while (jm_span_line(&rest, &line))
            if (jm_span_starts(line, JM_SPAN("RssAnon:"))) {
                line = jm_span_trim(jm_span_sub(line, 8, line.n));
                ptrdiff_t end = jm_span_chr(line, ' ');
                if (end > 0)
                    (void)jm_num_i64(jm_span_sub(line, 0, (size_t)end), &v);
            }
    }
    jm_str_release(&s);
    return v >= 0 ? (double)v : NAN;
}

static int64_t cpu_ns(void)
{
    struct rusage u;
    if (getrusage(RUSAGE_SELF, &u) != 0)
        return 0;
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * JM_NS_PER_S +
           (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * JM_NS_PER_US;
}

/* Into the shared log: no memory of this process grows by what the check itself keeps. */
static void on_request(void *self, const struct jm_request *r, const struct jm_token_event *ev, size_t n,
                       struct jm_span prompt, struct jm_span output)
{
    struct run *x = self;
    (void)prompt;
    (void)output;
    if (r->end != JM_END_OK && r->end != JM_END_UNFINISHED) {
        x->row->failed++;
        if (!x->row->error[0])
            snprintf(x->row->error, sizeof x->row->error, "%s: %s", jm_end_name((int)r->end), r->error);
    }
    if (r->prompt_tokens < 1 || (size_t)r->prompt_tokens > x->log->cap)
        return;
    struct jm_selfmock_answer *a = jm_selfmock_at(x->log, (size_t)r->prompt_tokens - 1);
    a->asked = r->t[JM_T_SENT];
    a->first = r->t[JM_T_FIRST_TOKEN];
    for (size_t i = 0; i < n && i < (size_t)x->log->tokens; i++) {
        bool shared = (ev[i].flags & JM_TE_SHARED) || (i + 1 < n && (ev[i + 1].flags & JM_TE_SHARED));
        a->ev[i].seen = ev[i].t;
        a->ev[i].behind_us = ev[i].behind_us;
        a->ev[i].shared = shared;
    }
}

static void on_fact(void *self, const char *key, const char *value)
{
    struct run *x = self;
    double v;
    if (strcmp(key, "load.client") == 0)
        x->limited = strcmp(value, "client-limited") == 0;
    else if (strcmp(key, "load.stamps.kernel") == 0 && jm_num_double(jm_span_of(value), &v) == 0)
        x->kernel = v;
    else if (strcmp(key, "load.stamps.user") == 0 && jm_num_double(jm_span_of(value), &v) == 0)
        x->user = v;
}

/* --- figures
 * ------------------------------------------------------------------------------------------------------ */
struct list {
    double *v;
    size_t n;
};

static void add(struct list *l, int64_t ns)
{
    l->v[l->n++] = (double)ns / 1e6;
}

static struct jm_selfcheck_errors errors_of(struct list *l)
{
    struct jm_selfcheck_errors e = {l->n, NAN, NAN, NAN};
    if (l->n) {
        jm_stats_sort(l->v, l->n);
        e.p50 = jm_stats_quantile_sorted(l->v, l->n, 0.5);
        e.p99 = jm_stats_quantile_sorted(l->v, l->n, 0.99);
        e.p999 = jm_stats_quantile_sorted(l->v, l->n, 0.999);
    }
    return e;
}

static bool alone(const struct jm_selfmock_event *e)
{
    return e->seen && !e->shared;
}

static int figures(struct run *x, int64_t delay, struct jm_err *err)
{
    struct jm_selfcheck_row *r = x->row;
    size_t rows = atomic_load(&x->log->n), most = rows * (size_t)x->log->tokens;
    enum { TTFT, TTFT_USER, TOKEN, TOKEN_USER, GAP, SHARED, LISTS };
    struct list l[LISTS] = {0};
    int rc = 0;
    for (int i = 0; i < LISTS; i++)
        if (!(l[i].v = malloc((most + 1) * sizeof(double))))
            rc = jm_err_set(err, JM_ENOMEM, "out of memory for the self-check's figures");
    for (size_t i = 0; rc == 0 && i < rows; i++) {
        const struct jm_selfmock_answer *a = jm_selfmock_at(x->log, i);
        const struct jm_selfmock_event *e = a->ev;
        if (a->first > 0 && e[0].seen && !e[0].shared) {
            int64_t wrong = (a->first - a->asked) - (e[0].sent - a->arrived) - delay;
            add(&l[TTFT], wrong);
            add(&l[TTFT_USER], wrong + e[0].behind_us * JM_NS_PER_US);
        }
        for (int k = 0; k < x->log->tokens; k++) {
            if (!e[k].seen || e[k].sent < x->begin || e[k].sent >= x->end)
                continue;
            int64_t wrong = e[k].seen - e[k].sent - delay;
            r->events++;
            if (e[k].shared) {
                r->shared++;
                add(&l[SHARED], wrong);
                continue;
            }
            add(&l[TOKEN], wrong);
            add(&l[TOKEN_USER], wrong + e[k].behind_us * JM_NS_PER_US);
            if (k > 0 && alone(&e[k - 1])) {
                int64_t gap = (e[k].seen - e[k - 1].seen) - (e[k].sent - e[k - 1].sent);
                add(&l[GAP], gap < 0 ? -gap : gap);
            }
        }
    }
    if (rc == 0) {
        r->ttft = errors_of(&l[TTFT]);
        r->ttft_user = errors_of(&l[TTFT_USER]);
        r->token = errors_of(&l[TOKEN]);
        r->token_user = errors_of(&l[TOKEN_USER]);
        r->gap = errors_of(&l[GAP]);
        r->token_shared = errors_of(&l[SHARED]);
    }
    for (int i = 0; i < LISTS; i++)
        free(l[i].v);
    return rc;
}

static void judge(struct run *x)
{
    struct jm_selfcheck_row *r = x->row;
    r->kernel_stamps = x->kernel + x->user > 0 ? x->kernel / (x->kernel + x->user) : NAN;
    r->mock_late_p99_ms = jm_selfmock_late(x->log, 0.99) / 1e3;
    r->mock_blocked = (double)atomic_load(&x->log->blocked);
    r->client_limited = x->limited;
    r->mock_limited =
        r->mock_late_p99_ms > MOCK_LATE_GAPS * (double)x->server->gap_ns / 1e6 || r->mock_blocked > 0;
}

/* --- running
 * ------------------------------------------------------------------------------------------------------ */
static void measure(struct run *x, struct jm_load *load, const struct jm_selfcheck_cfg *cfg, double before)
{
    struct jm_clock clock = jm_clock_system();
    struct jm_load_live a, b;
    struct jm_selfcheck_row *r = x->row;
    int64_t t = jm_clock_mono(&clock), cpu = 0;
    x->begin = t + cfg->warm_ns;
    x->end = x->begin + cfg->measure_ns;
    double most = NAN;
    for (int64_t next = x->begin; t < x->end; next = t + SAMPLE_NS < x->end ? t + SAMPLE_NS : x->end) {
        jm_clock_sleep_until(&clock, next, NULL);
        t = jm_clock_mono(&clock);
        if (next == x->begin) {
            x->begin = t;
            jm_load_live(load, &a);
            cpu = cpu_ns();
        }
        double kib = own_kib();
        most = isnan(most) || kib > most ? kib : most;
    }
    x->end = t;
    jm_load_live(load, &b);
    cpu = cpu_ns() - cpu;
    double s = (double)(x->end - x->begin) / 1e9, events = (double)(b.tokens - a.tokens);
    r->events_per_s = events / s;
    r->cpu = (double)cpu / 1e9 / s;
    r->cpu_us_per_event = events > 0 ? (double)cpu / 1e3 / events : NAN;
    r->rss_kib = most - before;
}

int jm_selfcheck_run(const struct jm_selfcheck_cfg *cfg, const struct jm_selfmock_cfg *server,
                     struct jm_selfmock_log *log, struct jm_selfcheck_row *out, struct jm_err *err)
{
    char url[96];
    struct run x = {.server = server, .log = log, .row = out};
    struct jm_load_sink sink = {&x, on_request};
    struct jm_load *load;
    int64_t length = server->ttft_ns + server->tokens * server->gap_ns;
    double before = own_kib();
    *out = (struct jm_selfcheck_row){.streams = cfg->streams};
    snprintf(url, sizeof url, "http%s://%s:%d", cfg->ca_file ? "s" : "", cfg->host ? cfg->host : "127.0.0.1",
             atomic_load(&log->port));
    struct jm_load_cfg lc = {.url = url,
                             .model = "m",
                             .concurrency = cfg->streams,
                             .isl = PROMPT_TOKENS,
                             .osl = server->tokens,
                             .temperature = NAN,
                             .threads = cfg->threads,
                             .ca_file = cfg->ca_file,
                             .transport = cfg->transport,
                             .keep_behind = true};
    int rc = jm_load_new(&lc, &sink, &load, err);
    if (rc)
        return rc;
    rc = jm_load_start(load, err);
    if (rc == 0) {
        measure(&x, load, cfg, before);
        jm_load_drain(load, length + DRAIN_NS); /* a server that is behind may need long */
        jm_load_facts(load, on_fact, &x);
    }
    jm_load_free(load);
    if (rc == 0 && cfg->truth)
        cfg->truth(cfg->truth_self, log);
    if (rc == 0)
        rc = figures(&x, cfg->delay_ns, err);
    if (rc == 0)
        judge(&x);
    return rc;
}
