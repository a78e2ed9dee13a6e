/* SPDX-License-Identifier: Apache-2.0 */
/* The public side of the load generator: makes workers, starts and stops them, hands requests to the sink. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "load/proxy.h"
#include "load/worker.h"

#include "base/banned.h"

#define ROOM           "load"
#define SPARE_FDS      128 /* of the process's limit, for everything else */
#define STREAMS_THREAD 256 /* closed loop: streams before a second thread is worth it */
#define THREADS_MOST   16
#define OPEN_MOST      16384 /* open requests under way where no limit is given: ports of one client run out */
#define START_WAIT     JM_NS_PER_S
#define START_REFUSALS 3 /* in a row, at the start: the endpoint will not serve */
#define ABANDON_WAIT   (2 * JM_NS_PER_S)
#define LOADED_NS      (500 * JM_NS_PER_MS) /* Ollama tells some 10 ms also of a model that was there */

void jm_load_changed(struct jm_load *l)
{
    pthread_mutex_lock(&l->lock);
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

/* --- from the workers
 * --------------------------------------------------------------------------------------------- */
/* An answer that will be the same however often it is asked. */
static bool is_refusal(enum jm_end e)
{
    return e == JM_END_REFUSED || e == JM_END_TLS || e == JM_END_AUTH || e == JM_END_NOT_FOUND ||
           e == JM_END_HTTP_CLIENT;
}

static void note_lengths(struct jm_load *l, const struct jm_request *r)
{
    if (r->end != JM_END_OK)
        return;
    if (l->cfg.ignore_eos && r->asked_osl > 0 && r->output_tokens >= 0)
        atomic_fetch_add(r->output_tokens == r->asked_osl ? &l->osl_right : &l->osl_wrong, 1);
    if (r->asked_isl > 0 && r->prompt_tokens >= 0) {
        atomic_fetch_add(r->prompt_tokens == r->asked_isl ? &l->isl_right : &l->isl_wrong, 1);
        if (r->prompt_tokens < r->asked_isl - r->asked_isl / 10 - 1)
            atomic_fetch_add(&l->isl_cut, 1);
    }
}

/* What the server tells of itself beside the answer. */
static void note_server(struct jm_load *l, const struct jm_call *c)
{
    if (c->bundled)
        atomic_fetch_add(&l->bundled, 1);
    if (c->load_ns < LOADED_NS)
        return;
    atomic_fetch_add(&l->loads, 1);
    int64_t most = atomic_load(&l->load_most_ns);
    while (c->load_ns > most && !atomic_compare_exchange_weak(&l->load_most_ns, &most, c->load_ns))
        ;
}

/* Unpacks the events of a request; how many there are. */
static size_t unpack(struct jm_worker *w, struct jm_call *c)
{
    if (c->ev.n > w->ev_cap) {
        size_t cap = c->ev.n + c->ev.n / 2;
        struct jm_token_event *p = realloc(w->ev, cap * sizeof *p);
        if (p) {
            w->ev = p;
            w->ev_cap = cap;
        } else if (!c->r.error[0]) {
            snprintf(c->r.error, sizeof c->r.error, "out of memory: token events are missing");
        }
    }
    size_t n = jm_evlog_read(&c->ev, w->ev, w->ev_cap);
    if (n && c->bundled)
        w->ev[0].flags |= JM_TE_BUNDLED;
    return n;
}

void jm_load_deliver(struct jm_load *l, struct jm_worker *w, struct jm_call *c, struct jm_span prompt)
{
    const struct jm_request *r = &c->r;
    bool ok = r->end == JM_END_OK, keep = l->cfg.keep_text;
    size_t n = unpack(w, c);
    for (size_t i = 1; i < n; i++)
        jm_hist_add(&w->gap, (w->ev[i].t - w->ev[i - 1].t) / JM_NS_PER_US);
    note_lengths(l, r);
    jm_worker_publish(w);
    pthread_mutex_lock(&l->sink_lock);
    if (l->sink.request)
        l->sink.request(l->sink.self, r, w->ev, n, keep ? prompt : (struct jm_span){0},
                        keep ? jm_str_span(&c->text) : (struct jm_span){0});
    pthread_mutex_unlock(&l->sink_lock);
    atomic_fetch_add(&l->events, r->events);
    atomic_fetch_add(&l->shared, r->shared_stamp);
    note_server(l, c);
    if (ok && r->output_tokens >= 0)
        atomic_fetch_add(&l->known, r->output_tokens - c->known);
    else if (ok)
        atomic_fetch_add(&l->uncounted, 1);
    atomic_fetch_add(&l->finished, 1);
    atomic_fetch_add(ok ? &l->ok : &l->failed, 1);
    if (r->planned_abort == 1)
        atomic_fetch_add(&l->cancelled, 1);
    if (is_refusal(r->end))
        atomic_fetch_add(&l->refused, 1);
    if (!ok) {
        pthread_mutex_lock(&l->lock);
        if (!l->first_error[0])
            snprintf(l->first_error, sizeof l->first_error, "%s%s%.200s", jm_end_name((int)r->end),
                     r->error[0] ? ": " : "", r->error);
        pthread_mutex_unlock(&l->lock);
    }
    int64_t left = atomic_fetch_sub(&l->in_flight, 1) - 1;
    if (left == 0 || !ok)
        jm_load_changed(l);
}

/* --- making
 * ------------------------------------------------------------------------------------------------------- */
static int own_string(struct jm_load *l, size_t i, const char **s, struct jm_err *err)
{
    if (!*s)
        return 0;
    if (!(l->strings[i] = strdup(*s)))
        return jm_err_set(err, JM_ENOMEM, "out of memory for the load's settings");
    *s = l->strings[i];
    return 0;
}

static int own_cfg(struct jm_load *l, struct jm_err *err)
{
    const char **all[] = {&l->cfg.url,     &l->cfg.model,        &l->cfg.api_key,
                          &l->cfg.api,     &l->cfg.prompts_path, &l->cfg.extra_json,
                          &l->cfg.ca_file, &l->cfg.transport,    &l->cfg.proxy};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof all / sizeof *all; i++)
        rc = own_string(l, i, all[i], err);
    return rc;
}

static int check_cfg(struct jm_load_cfg *cfg, struct jm_err *err)
{
    struct jm_json *doc = NULL;
    if (cfg->concurrency < 0)
        return jm_err_set(err, JM_EINVAL, "a limit of %d requests under way has no meaning",
                          cfg->concurrency);
    if (cfg->threads < 0 || cfg->threads > THREADS_MOST)
        return jm_err_set(err, JM_EINVAL, "%d load threads were asked for: 1 to %d can be had, 0 chooses",
                          cfg->threads, THREADS_MOST);
    if (cfg->extra_json) {
        int rc = jm_json_parse(jm_span_of(cfg->extra_json), &doc, err);
        bool object = rc == 0 && jm_json_is_object(doc);
        jm_json_free(doc);
        if (rc)
            return jm_err_prefix(err, "the extra request members");
        if (!object)
            return jm_err_set(err, JM_EINVAL,
                              "the extra request members must be a JSON object, like {\"top_p\":0.9}");
    }
    if (cfg->first_id <= 0)
        cfg->first_id = 1;
    return 0;
}

/* The plan, and how many connections it can need: each is a file of this process. */
static int make_plan(struct jm_load *l, struct jm_err *err)
{
    struct jm_load_cfg *cfg = &l->cfg;
    bool given = cfg->plan != NULL, open = false;
    struct rlimit lim;
    int64_t most = 1024, users = 0;
    l->plan = given ? jm_plan_copy(cfg->plan) : jm_plan_of_cfg(cfg);
    if (!l->plan)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the plan");
    cfg->plan = l->plan;
    int rc = jm_plan_check(l->plan, err);
    if (rc)
        return rc;
    if (getrlimit(RLIMIT_NOFILE, &lim) == 0)
        most = lim.rlim_cur > 1000000 ? 1000000 : (int64_t)lim.rlim_cur;
    most -= SPARE_FDS;
    if (most < 1)
        most = 1;
    l->fixed_ids = true;
    for (size_t i = 0; i < l->plan->slices; i++) {
        const struct jm_slice *s = &l->plan->slice[i];
        users += jm_slice_most_users(s);
        open |= jm_slice_open(s);
        l->fixed_ids &= jm_slice_open(s) && !jm_slice_sessions(s);
    }
    if (users > most)
        return jm_err_set(
            err, JM_ELIMIT,
            "%lld connections need more open files than the limit allows: run \"ulimit -n %lld\" before",
            (long long)users, (long long)users + SPARE_FDS);
    most -= users;
    if (most > OPEN_MOST)
        most = OPEN_MOST;
    if (open)
        l->open_most = cfg->concurrency > 0 && cfg->concurrency < most ? cfg->concurrency
                       : most > 0                                      ? most
                                                                       : 1;
    return 0;
}

static int threads_for(const struct jm_load *l)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int most = cpus > 2 ? (int)(cpus / 2) : 1;
    int64_t want = 0, users = 0;
    double rate = 0;
    for (size_t i = 0; i < l->plan->slices; i++) {
        users += jm_slice_most_users(&l->plan->slice[i]);
        rate += jm_slice_most_rate(&l->plan->slice[i]);
    }
    want = (users + STREAMS_THREAD - 1) / STREAMS_THREAD + (l->open_most > 0) + (int64_t)(rate / 500);
    if (l->cfg.threads)
        want = l->cfg.threads;
    else if (want > most)
        want = most;
    if (want > THREADS_MOST)
        want = THREADS_MOST;
    int64_t slots = users + l->open_most;
    return (int)(want > slots ? slots : want < 1 ? 1 : want);
}

static int open_traces(struct jm_load *l, int max_len, struct jm_err *err)
{
    for (size_t i = 0; i < l->plan->slices; i++) {
        const struct jm_slice *s = &l->plan->slice[i];
        struct jm_trace_opts o = {.format = s->trace_format,
                                  .from = s->trace_from,
                                  .most_tokens = max_len,
                                  .oversize = (int)s->oversize,
                                  .default_osl = s->osl.kind != JM_LEN_NONE ? jm_length_most(&s->osl) : -1};
        int rc = s->trace ? jm_trace_open(s->trace, &o, &l->trace[i], err) : 0;
        if (rc)
            return rc;
        if (l->trace[i] && s->arrive == JM_ARRIVE_TRACE && jm_trace_facts(l->trace[i])->span < 0)
            return jm_err_set(err, JM_EINVAL,
                              "%s (%s) has no times: say how its requests arrive, by a rate or a concurrency",
                              s->trace, jm_trace_facts(l->trace[i])->format);
        if (l->trace[i] && s->trace_sessions && !jm_trace_facts(l->trace[i])->texts)
            return jm_err_set(err, JM_EINVAL, "%s (%s) holds no conversations: its sessions cannot be played",
                              s->trace, jm_trace_facts(l->trace[i])->format);
    }
    return 0;
}

static void init_sync(struct jm_load *l)
{
    pthread_condattr_t a;
    pthread_mutex_init(&l->lock, NULL);
    pthread_mutex_init(&l->sink_lock, NULL);
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(&l->changed, &a);
    pthread_condattr_destroy(&a);
}

static void wake_all(struct jm_load *l)
{
    for (int i = 0; l->worker && i < l->workers; i++)
        if (l->worker[i] && l->worker[i]->thread)
            uv_async_send(&l->worker[i]->wake);
}

/* Waits until done(l) or the time; l->lock is held while done is asked. */
static bool wait_for(struct jm_load *l, bool (*done)(struct jm_load *), int64_t until)
{
    struct timespec ts = {until / JM_NS_PER_S, until % JM_NS_PER_S};
    bool yes;
    pthread_mutex_lock(&l->lock);
    while (!(yes = done(l)) && pthread_cond_timedwait(&l->changed, &l->lock, &ts) == 0)
        ;
    yes = yes || done(l);
    pthread_mutex_unlock(&l->lock);
    return yes;
}

static bool all_warm(struct jm_load *l)
{
    return atomic_load(&l->cold) == 0;
}

static int start_threads(struct jm_load *l, struct jm_err *err)
{
    l->worker = calloc((size_t)l->workers, sizeof(struct jm_worker *));
    if (!l->worker)
        return jm_err_set(err, JM_ENOMEM, "out of memory for %d load threads", l->workers);
    for (int i = 0; i < l->workers; i++) {
        int rc = jm_worker_new(l, i, &l->worker[i], err);
        if (rc)
            return rc;
    }
    atomic_store(&l->cold, l->workers);
    for (int i = 0; i < l->workers; i++) {
        int e = pthread_create(&l->worker[i]->thread, NULL, jm_worker_run, l->worker[i]);
        if (e != 0) {
            l->worker[i]->thread = 0;
            return jm_err_sys(err, e, "a load thread cannot be started");
        }
    }
    wait_for(l, all_warm, jm_clock_mono(&l->clock) + l->client.connect_ns);
    return 0;
}

static bool is_auto(const char *api)
{
    return !api || !*api || strcmp(api, "auto") == 0;
}

/* How tokens of events are counted: running usage where it is asked for, or known to be given. */
static void settle_counts(struct jm_load *l)
{
    bool llama = strcmp(l->at.kind, "llamacpp") == 0, wanted = l->cfg.counts == JM_COUNTS_AUTO;
    if (llama && (wanted || l->cfg.counts == JM_COUNTS_CONTINUOUS))
        l->cfg.counts = JM_COUNTS_TIMINGS;
    else if (wanted)
        l->cfg.counts = l->at.counts ? JM_COUNTS_CONTINUOUS : JM_COUNTS_USAGE;
}

/* The model's name, and the dialect, where they are not given. */
static int find_model(struct jm_load *l, struct jm_err *err)
{
    const struct jm_dialect_row *row;
    int rc = 0;
    if (l->cfg.at)
        l->at = *l->cfg.at;
    else
        rc = jm_probe_engine(&l->cfg, &l->at, err);
    l->cfg.at = NULL;
    if (rc)
        return rc;
    snprintf(l->model, sizeof l->model, "%s", l->cfg.model ? l->cfg.model : l->at.model);
    if (!l->model[0])
        return jm_err_set(err, JM_EABSENT, "%s does not list its models: give the name of one (--model)%s",
                          l->cfg.url,
                          l->at.kind[0] ? "" : ", or check the URL: no engine was recognised there");
    settle_counts(l);
    if (is_auto(l->cfg.api)) {
        l->chosen = true;
        const char *name = l->at.dialect;
        if (l->cfg.prompt_ids) /* what this engine has that takes them */
            name = strcmp(l->at.kind, "sglang") == 0     ? "sglang.generate"
                   : strcmp(l->at.kind, "llamacpp") == 0 ? "llamacpp.completion"
                                                         : "openai.completions";
        rc = jm_dialect_need(name, &row, err);
        if (rc == 0)
            rc = jm_reader_init(&l->reader, row, err);
    }
    if (rc == 0 && l->cfg.ignore_eos && !l->reader.d->exact)
        jm_logf(
            l->cfg.log, JM_LOG_WARN, ROOM,
            "%s has no way to ask for a fixed number of tokens: answers may end before --osl; an OpenAI API "
            "of the same engine may have one (--api openai.chat)",
            l->reader.row->name);
    return rc;
}

/* A proxy in the environment is for other programs: a measurement takes the way that it was told. */
static void warn_of_proxy(const struct jm_load *l)
{
    const char *name = l->cfg.proxy ? NULL : jm_proxy_of_env(&l->client.target, secure_getenv);
    if (name)
        jm_logf(l->cfg.log, JM_LOG_WARN, ROOM,
                "%s is set, but not used: requests go straight to %s; --proxy URL takes a proxy", name,
                l->client.target.authority);
}

int jm_load_new(const struct jm_load_cfg *cfg, const struct jm_load_sink *sink, struct jm_load **out,
                struct jm_err *err)
{
    struct jm_load *l = calloc(1, sizeof *l);
    if (!l)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the load generator");
    l->cfg = *cfg;
    l->sink = sink ? *sink : (struct jm_load_sink){0};
    l->clock = jm_clock_system();
    l->stamping[0] = l->stamping[1] = -1;
    init_sync(l);
    jm_str_init(&l->client.auth);
    int rc = own_cfg(l, err);
    if (rc == 0)
        rc = check_cfg(&l->cfg, err);
    if (rc == 0)
        rc = make_plan(l, err);
    const struct jm_dialect_row *row;
    if (rc == 0 && !is_auto(l->cfg.api)) {
        rc = jm_dialect_need(l->cfg.api, &row, err);
        if (rc == 0)
            rc = jm_reader_init(&l->reader, row, err);
    }
    if (rc == 0)
        rc = jm_client_init(&l->client, &l->cfg, err);
    l->transport = l->client.curl ? &jm_transport_curl : &jm_transport_plain;
    if (rc == 0)
        warn_of_proxy(l);
    if (rc == 0)
        rc = find_model(l, err);
    if (rc == 0 && !l->client.curl) { /* the probe found which of the host's addresses answers */
        int fd;
        rc = jm_target_connect(&l->client.target, l->client.connect_ns, &fd, err);
        if (rc == 0)
            close(fd);
    }
    if (rc == 0)
        rc = open_traces(l, l->at.max_model_len, err);
    if (rc == 0)
        rc =
            jm_prompts_init(&l->prompts, &l->cfg, &l->reader, &l->client, l->model, l->at.max_model_len, err);
    if (rc == 0)
        l->workers = threads_for(l);
    if (rc == 0 && !jm_stamps_warm(&l->clock, l->stamping))
        jm_logf(l->cfg.log, JM_LOG_WARN, ROOM,
                "this kernel gives no receive stamps: times are taken when bytes are read");
    if (rc == 0)
        rc = start_threads(l, err);
    if (rc) {
        jm_load_free(l);
        return rc;
    }
    *out = l;
    return 0;
}

/* --- running
 * ------------------------------------------------------------------------------------------------------ */
static bool begun_well_or_ill(struct jm_load *l)
{
    int64_t refused = atomic_load(&l->refused);
    return atomic_load(&l->answered) || refused >= START_REFUSALS || atomic_load(&l->finished) > refused;
}

int jm_load_start(struct jm_load *l, struct jm_err *err)
{
    if (l->begun)
        return jm_err_set(err, JM_ESTATE, "the load was started before");
    l->begun = true;
    l->t0 = jm_clock_mono(&l->clock);
    atomic_store(&l->start, true);
    wake_all(l);
    wait_for(l, begun_well_or_ill, l->t0 + START_WAIT);
    if (!atomic_load(&l->answered) && atomic_load(&l->refused) >= START_REFUSALS) {
        jm_load_stop(l);
        jm_load_drain(l, 0);
        return jm_err_set(err, JM_ENET, "the endpoint http%s://%s serves no request (the first %d: %s)",
                          l->client.target.tls ? "s" : "", l->client.target.authority, START_REFUSALS,
                          l->first_error);
    }
    return 0;
}

void jm_load_live(struct jm_load *l, struct jm_load_live *out)
{
    uint64_t lag[JM_HIST_BINS] = {0}, ttft[JM_HIST_BINS] = {0};
    int64_t ppm = 0, now = jm_clock_mono(&l->clock);
    for (int i = 0; i < l->workers; i++) {
        jm_recent_sum(&l->worker[i]->lag, now, lag);
        jm_recent_sum(&l->worker[i]->ttft, now, ttft);
        ppm += atomic_load(&l->worker[i]->cpu_recent_ppm);
    }
    bool over = true;
    for (int i = 0; i < l->workers; i++)
        over &= atomic_load(&l->worker[i]->over);
    *out = (struct jm_load_live){.started = atomic_load(&l->started),
                                 .aborted = atomic_load(&l->cancelled),
                                 .over = over && atomic_load(&l->in_flight) == 0,
                                 .finished = atomic_load(&l->finished),
                                 .ok = atomic_load(&l->ok),
                                 .failed = atomic_load(&l->failed),
                                 .in_flight = atomic_load(&l->in_flight),
                                 .tokens = atomic_load(&l->tokens),
                                 .known = atomic_load(&l->known),
                                 .uncounted = atomic_load(&l->uncounted),
                                 .ttft_p50_ms = jm_hist_quantile(ttft, 0.5) / 1000,
                                 .ttft_p99_ms = jm_hist_quantile(ttft, 0.99) / 1000,
                                 .lag_p99_ms = jm_hist_quantile(lag, 0.99) / 1000,
                                 .cpu = (double)ppm / 1e6};
}

void jm_load_stop(struct jm_load *l)
{
    atomic_store(&l->stop, true);
    wake_all(l);
}

static bool nothing_left(struct jm_load *l)
{
    bool stopped = true;
    for (int i = 0; i < l->workers; i++)
        stopped &= atomic_load(&l->worker[i]->halted);
    return stopped && atomic_load(&l->in_flight) == 0;
}

int jm_load_drain(struct jm_load *l, int64_t timeout_ns)
{
    jm_load_stop(l);
    if (wait_for(l, nothing_left, jm_clock_mono(&l->clock) + (timeout_ns > 0 ? timeout_ns : 0)))
        return 0;
    atomic_store(&l->abandon, true);
    wake_all(l);
    wait_for(l, nothing_left, jm_clock_mono(&l->clock) + ABANDON_WAIT);
    return JM_ETIMEOUT;
}

void jm_load_free(struct jm_load *l)
{
    if (!l)
        return;
    atomic_store(&l->quit, true);
    wake_all(l);
    for (int i = 0; l->worker && i < l->workers; i++)
        if (l->worker[i] && l->worker[i]->thread)
            pthread_join(l->worker[i]->thread, NULL);
    for (int i = 0; l->worker && i < l->workers; i++)
        jm_worker_free(l->worker[i]);
    free(l->worker);
    for (int i = 0; i < 2; i++)
        if (l->stamping[i] >= 0)
            close(l->stamping[i]);
    jm_prompts_release(&l->prompts);
    for (size_t i = 0; i < JM_SLICES_MOST; i++)
        jm_trace_free(l->trace[i]);
    jm_plan_free(l->plan);
    jm_client_release(&l->client);
    for (size_t i = 0; i < sizeof l->strings / sizeof *l->strings; i++)
        free(l->strings[i]);
    pthread_mutex_destroy(&l->lock);
    pthread_mutex_destroy(&l->sink_lock);
    pthread_cond_destroy(&l->changed);
    free(l);
}
