/* SPDX-License-Identifier: Apache-2.0 */
/* guidellm's benchmarks.json. Three layouts: without metadata (up to 0.3: stamps stand in the request),
 * metadata.version 1 and 2 (stamps in info.timings). Every benchmark of the file is a window, with the phases
 * that it left out before and after it as windows of their own.
 *
 * Its stamps are time.time(): wall clock, and of each answer the first and the last token only; it spreads
 * the others evenly, which is not done here. Where the server sent no usage its output_tokens is the number
 * of chunks, which is no token count. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/peer.h"
#include "import/probe.h"

#include "base/banned.h"

enum { NAMES = 64 };

struct guidellm {
    struct jm_build b;
    const struct jm_ifile *f;
    int64_t first, last; /* of the requests of this benchmark: scheduled, ended */
    int64_t read, listed, chunk_counted, backwards;
    bool putting; /* requests, not only looking at them */
    bool old;     /* up to 0.3 */
    bool planned; /* the strategy is a schedule: targeted_start means something */
    char names[NAMES][48];
    int n_names;
};

static const struct jm_probe_mark marks[] = {
    {"benchmarks", 0},
    {"metadata.guidellm_version", 60},
    {"benchmarks[].metrics", 20},
    {"benchmarks[].scheduler_metrics", 25},
    {"benchmarks[].type_", 30},
    {"benchmarks[].run_stats", 20},
    {"benchmarks[].request_loader", 20},
    {"benchmarks[].requests", 10},
    {NULL, 0},
};

static int sniff(const struct jm_probe *p)
{
    if (p->dir)
        return jm_peer_exists(p->path, "benchmarks.json") ? 60 : 0;
    return jm_probe_score(p, marks);
}

static void totals(struct guidellm *g, const struct jm_jtoken *o, const char *prefix)
{
    static const char *const states[] = {"successful", "incomplete", "errored", "total"},
                             *const metrics[] = {"requests.ok", "", "requests.failed", "requests.all"};
    struct jm_jtoken v[4];
    char key[64];
    double d;
    if (o->type != JM_J_OBJECT || jm_jfind(g->f, o, states, 4, v, NULL))
        return;
    for (int i = 0; i < 4; i++)
        if (jm_jnum(&v[i], &d)) {
            snprintf(key, sizeof key, "%s.%s", prefix, states[i]);
            jm_build_claim(&g->b, key, metrics[i], "sum", d, "requests", "");
            if (i < 3)
                g->listed += (int64_t)d;
        }
}

/* ---- requests
 * ------------------------------------------------------------------------------------------------------ */

enum {
    Q_INFO,
    Q_PROMPT,
    Q_OUTPUT,
    Q_CACHED,
    Q_IN,
    Q_OUT,
    Q_ERROR,
    Q_START,
    Q_END,
    Q_FIRST,
    Q_LAST,
    Q_SCHED,
    Q_ID,
    REQUEST
};
static const char *const request_names[REQUEST] = {
    "info",      "prompt_tokens", "output_tokens", "cached_tokens",    "input_metrics",   "output_metrics",
    "error",     "start_time",    "end_time",      "first_token_time", "last_token_time", "scheduler_info",
    "request_id"};
enum {
    T_TARGET,
    T_RESOLVE,
    T_START,
    T_FIRST,
    T_VISIBLE,
    T_LAST,
    T_ITER,
    T_END,
    T_RESOLVED,
    T_FIRST_ANY,
    T_LAST_ANY,
    TIMINGS
};
static const char *const timing_names[TIMINGS] = {"targeted_start",
                                                  "resolve_start",
                                                  "request_start",
                                                  "first_token_iteration",
                                                  "first_output_token_iteration",
                                                  "last_token_iteration",
                                                  "token_iterations",
                                                  "request_end",
                                                  "resolve_end",
                                                  "first_request_iteration",
                                                  "last_request_iteration"};

static int64_t at(const struct jm_jtoken *v)
{
    int64_t t;
    return jm_jtime(v, 0, &t) && t > 0 ? t : -1;
}

static int64_t either(int64_t a, int64_t b)
{
    return a >= 0 ? a : b;
}

static void newer(struct guidellm *g, const struct jm_jtoken *r, struct jm_request *q)
{
    struct jm_jtoken t[TIMINGS], timings, v;
    if (!jm_jmember(g->f, &r[Q_INFO], "timings", &timings) ||
        jm_jfind(g->f, &timings, timing_names, TIMINGS, t, NULL))
        return;
    q->t[JM_T_SENT] = either(at(&t[T_START]), at(&t[T_RESOLVE]));
    q->t[JM_T_SCHEDULED] = g->planned ? either(at(&t[T_TARGET]), q->t[JM_T_SENT]) : q->t[JM_T_SENT];
    q->t[JM_T_FIRST_EVENT] = at(&t[T_FIRST_ANY]);
    q->t[JM_T_FIRST_TOKEN] = at(&t[T_FIRST]);
    q->t[JM_T_FIRST_VISIBLE] = at(&t[T_VISIBLE]);
    q->t[JM_T_LAST_TOKEN] = at(&t[T_LAST]);
    q->t[JM_T_CLOSED] = either(at(&t[T_END]), at(&t[T_RESOLVED]));
    jm_jint(&t[T_ITER], &q->events);
    if (jm_jmember(g->f, &r[Q_OUT], "text_tokens", &v) && v.type == JM_J_NULL && q->output_tokens >= 0) {
        q->output_tokens = -1; /* it counted chunks */
        g->chunk_counted += g->putting;
    }
}

static void older(struct guidellm *g, const struct jm_jtoken *r, struct jm_request *q)
{
    struct jm_jtoken v;
    q->t[JM_T_SENT] = q->t[JM_T_SCHEDULED] = at(&r[Q_START]);
    if (g->planned && jm_jmember(g->f, &r[Q_SCHED], "targeted_start_time", &v))
        q->t[JM_T_SCHEDULED] = either(at(&v), q->t[JM_T_SENT]);
    q->t[JM_T_FIRST_TOKEN] = at(&r[Q_FIRST]);
    q->t[JM_T_LAST_TOKEN] = at(&r[Q_LAST]);
    q->t[JM_T_CLOSED] = at(&r[Q_END]);
}

static bool read_request(struct guidellm *g, const struct jm_jtoken *item, struct jm_request *q)
{
    struct jm_jtoken r[REQUEST], v;
    jm_request_init(q);
    if (jm_jfind(g->f, item, request_names, REQUEST, r, NULL))
        return false;
    jm_peer_count(g->f, &r[Q_PROMPT], &q->prompt_tokens);
    jm_peer_count(g->f, &r[Q_OUTPUT], &q->output_tokens);
    jm_peer_count(g->f, &r[Q_CACHED], &q->cached_tokens);
    if (q->cached_tokens < 0 && jm_jmember(g->f, &r[Q_IN], "cached_tokens", &v))
        jm_peer_count(g->f, &v, &q->cached_tokens);
    if (r[Q_INFO].type == JM_J_OBJECT)
        newer(g, r, q);
    else
        older(g, r, q);
    if (q->t[JM_T_SENT] < 0)
        return false;
    if (q->t[JM_T_SCHEDULED] > q->t[JM_T_SENT])
        q->t[JM_T_SCHEDULED] = q->t[JM_T_SENT];
    q->stream = q->t[JM_T_FIRST_TOKEN] >= 0;
    v = r[Q_ERROR];
    if (v.type == JM_J_END)
        jm_jmember(g->f, &r[Q_INFO], "error", &v);
    if (v.type == JM_J_STRING)
        jm_jtext(&v, q->error, sizeof q->error);
    if (g->putting)
        jm_build_id(&g->b, &r[Q_ID]);
    return true;
}

/* "Client error '429 Too Many Requests'": the first three digits that are a status. */
static int64_t status_in(const char *text)
{
    for (const char *p = text; *p; p++)
        if (*p >= '4' && *p <= '5' && (p == text || p[-1] < '0' || p[-1] > '9') && p[1] >= '0' &&
            p[1] <= '9' && p[2] >= '0' && p[2] <= '9' && (p[3] < '0' || p[3] > '9'))
            return (*p - '0') * 100 + (p[1] - '0') * 10 + (p[2] - '0');
    return -1;
}

/* put false: only looks at the times. state: 0 successful, 1 incomplete, 2 errored. */
static int list(struct guidellm *g, const struct jm_jtoken *requests, int state, bool put)
{
    static const char *const states[] = {"successful", "incomplete", "errored"};
    struct jm_jtoken array, item;
    struct jm_jiter it;
    struct jm_request q;
    int rc;
    if (!jm_jmember(g->f, requests, states[state], &array) || array.type != JM_J_ARRAY)
        return 0;
    g->putting = put;
    jm_jiter_init(&it, g->f, &array);
    while ((rc = jm_jiter_next(&it, NULL, &item, g->b.err)) > 0) {
        if (!read_request(g, &item, &q))
            continue;
        int64_t end = either(q.t[JM_T_CLOSED], either(q.t[JM_T_LAST_TOKEN], q.t[JM_T_SENT]));
        if (!put) {
            g->first = q.t[JM_T_SCHEDULED] < g->first ? q.t[JM_T_SCHEDULED] : g->first;
            g->last = end > g->last ? end : g->last;
            continue;
        }
        int64_t code = status_in(q.error);
        q.end = state == 0   ? JM_END_OK
                : state == 1 ? JM_END_UNFINISHED
                             : jm_peer_end(code, jm_span_of(q.error), (struct jm_span){"", 0});
        q.http_status = state == 2 ? (int)code : -1;
        g->backwards += q.t[JM_T_FIRST_TOKEN] >= 0 && (q.t[JM_T_FIRST_TOKEN] < q.t[JM_T_SENT] ||
                                                       q.t[JM_T_LAST_TOKEN] < q.t[JM_T_FIRST_TOKEN]);
        g->read++;
        jm_build_request(&g->b, &q);
    }
    return rc;
}

/* ---- benchmarks
 * ------------------------------------------------------------------------------------------------------ */

static int64_t time_of(const struct guidellm *g, const struct jm_jtoken *o, const char *path)
{
    struct jm_jtoken v;
    return jm_jpath(g->f, o, path, &v) ? at(&v) : -1;
}

/* "constant 4/s", "concurrent 8"; planned: requests have their own times to be sent at. */
static void strategy(struct guidellm *g, const struct jm_jtoken *bench, char name[48])
{
    static const char *const names[] = {"type_", "streams", "max_concurrency", "rate"};
    struct jm_jtoken s, v[4];
    char type[32] = "benchmark", number[24];
    if (!jm_jpath(g->f, bench, "config.strategy", &s) && !jm_jpath(g->f, bench, "args.strategy", &s))
        s = (struct jm_jtoken){.type = JM_J_END};
    if (jm_jfind(g->f, &s, names, 4, v, NULL))
        return;
    jm_jtext(&v[0], type, sizeof type);
    g->planned = strcmp(type, "constant") == 0 || strcmp(type, "poisson") == 0 ||
                 strcmp(type, "trace") == 0 || strcmp(type, "async") == 0;
    snprintf(name, 48, "%s", type);
    if (g->planned && jm_jtext(&v[3], number, sizeof number))
        snprintf(name, 48, "%.20s %.12s/s", type, number);
    else if (jm_jtext(&v[1], number, sizeof number) ||
             (strcmp(type, "concurrent") == 0 && jm_jtext(&v[2], number, sizeof number)))
        snprintf(name, 48, "%.20s %.12s", type, number);
    jm_build_env(&g->b, "plan.shape", "%s", type);
    if (jm_jtext(&v[1], number, sizeof number))
        jm_build_env(&g->b, "plan.concurrency", "%s", number);
    if (jm_jtext(&v[3], number, sizeof number))
        jm_build_env(&g->b, "plan.rate_per_s", "%s", number);
}

/* The same load once more is the next trial of it. */
static int trial_of(struct guidellm *g, const char *name)
{
    int n = 0;
    for (int i = 0; i < g->n_names; i++)
        n += strcmp(g->names[i], name) == 0;
    if (g->n_names < NAMES)
        snprintf(g->names[g->n_names++], sizeof g->names[0], "%s", name);
    return n;
}

/* What a benchmark counts is what lies in its measured part; what it began before and after is kept apart. */
static int windows(struct guidellm *g, const struct jm_jtoken *bench, const char *name)
{
    int trial = trial_of(g, name), window;
    int64_t begin = time_of(g, bench, "scheduler_metrics.request_start_time"),
            t0 = either(time_of(g, bench, "scheduler_metrics.measure_start_time"),
                        time_of(g, bench, "start_time")),
            t1 = either(time_of(g, bench, "scheduler_metrics.measure_end_time"),
                        time_of(g, bench, "end_time")),
            end = time_of(g, bench, "scheduler_metrics.request_end_time");
    bool warm = begin >= 0 && t0 - begin > 1000000, cool = end >= 0 && end - t1 > 1000000;
    if (t0 < 0)
        t0 = g->first;
    if (t1 < 0)
        t1 = g->last;
    /* without a phase cut off, everything is measured: the last end and the first schedule lie inside */
    if (!warm && g->first < t0)
        t0 = g->first;
    if (!cool && g->last > t1)
        t1 = g->last;
    if (t0 == INT64_MAX || t1 < t0)
        return jm_build_fail(&g->b,
                             "%s: benchmark \"%s\" has neither a start nor an end nor a request with times",
                             g->f->path, name);
    if (warm)
        jm_build_window_as(&g->b, JM_R_WARMUP, trial, "warm-up", begin, t0 - begin);
    jm_build_window_as(&g->b, JM_R_MEASURE, trial, name, t0, t1 - t0 + JM_PEER_EDGE);
    window = g->b.window;
    if (cool)
        jm_build_window_as(&g->b, JM_R_COOLDOWN, trial, "cool-down", t1, end - t1);
    g->b.about = window;
    return 0;
}

static int benchmark(struct guidellm *g, const struct jm_jtoken *bench)
{
    struct jm_jtoken requests = {.type = JM_J_END}, metrics, v;
    char name[48] = "benchmark";
    int rc = 0;
    g->first = INT64_MAX;
    g->last = INT64_MIN;
    strategy(g, bench, name);
    g->old = jm_jmember(g->f, bench, "run_stats", &v) || jm_jmember(g->f, bench, "request_loader", &v);
    jm_jmember(g->f, bench, "requests", &requests);
    for (int s = 0; rc >= 0 && s < 3; s++)
        rc = list(g, &requests, s, false);
    if (rc < 0 || (rc = windows(g, bench, name)) < 0)
        return rc;
    for (int s = 0; rc >= 0 && s < 3; s++)
        rc = list(g, &requests, s, true);
    if (rc >= 0 && jm_jmember(g->f, bench, "metrics", &metrics)) {
        jm_guidellm_claims(&g->b, g->f, &metrics, g->old);
        if (jm_jmember(g->f, &metrics, "request_totals", &v))
            totals(g, &v, "request_totals");
        else if (jm_jmember(g->f, bench, "request_totals", &v) ||
                 jm_jpath(g->f, bench, "scheduler_metrics.requests_made", &v))
            totals(g, &v, "request_totals");
    }
    return rc;
}

static void facts(struct guidellm *g, const struct jm_jtoken *doc, const struct jm_jtoken *first)
{
    static const struct {
        const char *path, *key;
    } whole[] = {{"metadata.version", "guidellm.schema"},
                 {"metadata.guidellm_version", "import.version"},
                 {"metadata.python_version", "guidellm.python"},
                 {"metadata.platform", "guidellm.platform"},
                 {"config.model", "endpoint.model"},
                 {"config.target", "plan.url"},
                 {"args.model", "endpoint.model"},
                 {"args.target", "plan.url"}},
      each[] = {{"worker.backend_model", "endpoint.model"},
                {"worker.backend_target", "plan.url"},
                {"request_loader.data", "guidellm.data"},
                {"request_loader.processor", "guidellm.processor"}};
    struct jm_jtoken v;
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        if (jm_jpath(g->f, doc, whole[i].path, &v))
            jm_build_env_of(&g->b, whole[i].key, &v);
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++)
        if (jm_jpath(g->f, first, each[i].path, &v))
            jm_build_env_of(&g->b, each[i].key, &v);
}

static int fill(struct guidellm *g)
{
    struct jm_jdocs d;
    struct jm_jtoken doc, benches, item;
    struct jm_jiter it;
    int n = 0, used = 0;
    jm_jdocs_init(&d, g->f);
    int rc = jm_jdocs_next(&d, &doc, g->b.err);
    if (rc < 0)
        return rc;
    if (rc == 0 || !jm_jmember(g->f, &doc, "benchmarks", &benches) || benches.type != JM_J_ARRAY)
        return jm_build_fail(&g->b, "%s has no list of benchmarks", g->f->path);
    jm_jiter_init(&it, g->f, &benches);
    while (!g->b.rc && (rc = jm_jiter_next(&it, NULL, &item, g->b.err)) > 0) {
        n++;
        if (g->b.o->select && n != g->b.o->select)
            continue;
        if (!used++)
            facts(g, &doc, &item);
        if ((rc = benchmark(g, &item)) < 0)
            return rc;
    }
    if (rc < 0)
        return rc;
    if (!used)
        return g->b.o->select ? jm_build_fail(&g->b, "%s holds %d benchmarks, so there is no number %d",
                                              g->f->path, n, g->b.o->select)
                              : jm_build_fail(&g->b, "%s holds no benchmark", g->f->path);
    jm_build_times(&g->b, "time.time() of the client: wall clock, so a step of it shifts latencies");
    jm_build_env(&g->b, "import.clock", "wall");
    jm_build_env(&g->b, "import.benchmarks", "%d", n);
    jm_build_env(&g->b, "import.requests", "%lld", (long long)g->read);
    jm_build_env(&g->b, "import.tokens.output", "server usage, else guidellm's own count");
    jm_build_missing(&g->b, "token_times", "the file has the first and the last token's time of each answer");
    jm_build_missing(&g->b, "energy", "guidellm measures none");
    if (g->backwards)
        jm_build_env(&g->b, "import.clock.backwards", "%lld", (long long)g->backwards);
    if (g->chunk_counted) {
        jm_build_env(&g->b, "import.tokens.from_chunks", "%lld", (long long)g->chunk_counted);
        jm_build_missing(&g->b, "output_tokens", "the server sent no usage, and guidellm counted chunks");
    }
    if (g->listed > g->read)
        jm_build_env(&g->b, "import.requests.left_out", "%lld of %lld (sampled by the tool)",
                     (long long)(g->listed - g->read), (long long)g->listed);
    return 0;
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct guidellm *g = calloc(1, sizeof *g);
    char inside[JM_PEER_PATH];
    struct jm_ifile f;
    if (!g)
        return jm_err_set(err, JM_ENOMEM, "out of memory while importing %s", path);
    if (jm_peer_exists(path, "benchmarks.json") &&
        snprintf(inside, sizeof inside, "%s/benchmarks.json", path) < (int)sizeof inside)
        path = inside;
    int rc = jm_ifile_open(path, &f, err);
    if (!rc) {
        g->f = &f;
        jm_build_begin(&g->b, "guidellm", &f, o, out, f.mtime_ns, err);
        if (!g->b.rc) {
            rc = fill(g);
            g->b.rc = g->b.rc ? g->b.rc : rc < 0 ? rc : 0;
        }
        rc = jm_build_end(&g->b);
        jm_ifile_close(&f);
    }
    free(g);
    return rc;
}

const struct jm_importer jm_import_guidellm = {
    .name = "guidellm",
    .summary = "guidellm results (benchmarks.json, all versions)",
    .reads = "Each benchmark as a window, what it left out before and after apart; each request with its "
             "first and last token; "
             "distributions as claims. Where it counted chunks the tokens are unknown.",
    .lacks = "The times of the tokens between; energy. Its stamps are of the wall clock.",
    .sniff = sniff,
    .import = import,
};
