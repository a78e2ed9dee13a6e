/* SPDX-License-Identifier: Apache-2.0 */
/* The loop: steps in real time, between them what the sockets bring. */
#include "engine.h"

#include "simgpu_open.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A step that starts at most this late starts when the one before ended, so that a busy machine does not slow
 * the simulated one; sim gpu shows what is appended within 2 ms as if it had been in time. */
#define LATE_NS 1500000
#define TICK_NS 20000000

const char *const sim_finish_name[SIM_FIN_COUNT] = {"stop", "length", "abort", "error"};

int64_t sim_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void on_request(void *self, struct sim_conn *c)
{
    sim_api_handle(self, c);
}

static void on_gone(void *self, struct sim_conn *c)
{
    struct sim_request *r = c->request;
    r->conn = NULL;
    sim_engine_finish(self, r, SIM_FIN_ABORT);
}

/* Processes that do nothing but own the GPUs, as the workers of a real engine are children of what listens.
 */
static int start_workers(struct sim_engine *e, int pid[64])
{
    pid_t parent = getpid();
    for (int i = 0; i < e->model.gpus; i++) {
        pid_t p = fork();
        if (p < 0)
            return -1;
        if (p == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            prctl(PR_SET_NAME, "sim-worker");
            if (getppid() != parent)
                _exit(0);
            close_range(0, ~0U, 0);
            for (;;)
                pause();
        }
        e->worker[i] = p;
        pid[i] = (int)p;
    }
    return e->model.gpus;
}

int sim_engine_open(struct sim_engine *e, const struct sim_options *opt, char *why, size_t whylen)
{
    memset(e, 0, sizeof *e);
    e->http.listener = e->http.epoll = -1;
    e->opt = *opt;
    if (sim_model_parse((const char *)sim_models_tsv, sim_models_tsv_len, opt->model, &e->model, why,
                        whylen) < 0)
        return -1;
    if (!e->opt.metrics)
        e->opt.metrics = "vllm";
    if (!sim_prom_known(e->opt.metrics)) {
        snprintf(why, whylen, "--metrics takes vllm, sglang, llamacpp, tgi or none, not \"%s\".",
                 e->opt.metrics);
        return -1;
    }
    if (!e->opt.served)
        e->opt.served = opt->model;
    struct sim_sched_options *so = &e->opt.sched;
    if (!so->max_seqs)
        so->max_seqs = (uint32_t)e->model.max_num_seqs;
    if (!so->max_batched_tokens)
        so->max_batched_tokens = (uint32_t)e->model.max_num_batched_tokens;
    if (!so->kv_tokens)
        so->kv_tokens = sim_model_kv_tokens(&e->model);
    so->prefix_cache = !opt->no_prefix_cache;
    so->seed = opt->seed;
    uint64_t room = so->kv_tokens > SIM_BLOCK ? so->kv_tokens - SIM_BLOCK : 1;
    e->max_len = room < (uint64_t)e->model.max_model_len ? (uint32_t)room : (uint32_t)e->model.max_model_len;
    e->t_start = e->step_t1 = sim_now();
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    e->start_unix = (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
    snprintf(e->boot, sizeof e->boot, "%016llx",
             (unsigned long long)sim_mix(sim_mix(opt->seed, (uint64_t)ts.tv_sec),
                                         (uint64_t)ts.tv_nsec ^ (uint64_t)getpid()));
    sim_prom_init(e);
    if (sim_sched_init(&e->sched, &e->model, so) < 0) {
        snprintf(why, whylen, "There is no memory for the prefix cache.");
        return -1;
    }
    e->http.limit = (struct sim_http_limits){.max_conns = opt->max_conns,
                                             .max_body = opt->max_body,
                                             .keep_alive_ns = (int64_t)(opt->keep_alive_s * 1e9),
                                             .read_ns = 30000000000,
                                             .max_answers = opt->max_answers};
    e->http.self = e;
    e->http.on_request = on_request;
    e->http.on_gone = on_gone;
    if (sim_http_open(&e->http, opt->host, opt->port, why, whylen) < 0)
        return -1;
    if (opt->steps) {
        e->steps = fopen(opt->steps, "we");
        if (!e->steps) {
            snprintf(why, whylen, "The steps cannot be written to %s: %s.", opt->steps, strerror(errno));
            return -1;
        }
        fputs("t0_ns\tt1_ns\tprefill_tokens\tdecode_seqs\tdecode_tokens\tcontext\tclock_"
              "mhz\tcapped\twatts\tidle_j\t"
              "fixed_j\tprefill_j\tdecode_j\tcontext_j\trunning\twaiting\n",
              e->steps);
    }
    int pid[64];
    int pids = opt->workers ? start_workers(e, pid) : 0;
    if (pids < 0) {
        snprintf(why, whylen, "The worker processes cannot be started: %s.", strerror(errno));
        return -1;
    }
    if (sim_power_open(&e->power, &e->model, opt->state, opt->gpu, opt->gpus, pids ? pid : NULL, e->t_start,
                       why, whylen) < 0)
        return -1;
    if (e->power.gpu && e->power.gpu->h->clock != SIMGPU_CLOCK_REAL) {
        snprintf(why, whylen, "The GPUs of %s live in virtual time, but the engine serves in real time.",
                 opt->state);
        return -1;
    }
    return 0;
}

void sim_engine_close(struct sim_engine *e)
{
    while (e->live) {
        struct sim_request *r = e->live;
        if (r->conn)
            r->conn->request = NULL;
        sim_engine_finish(e, r, SIM_FIN_ABORT);
    }
    sim_http_close(&e->http);
    if (e->power.board)
        sim_power_close(&e->power, sim_now());
    for (int i = 0; i < e->model.gpus; i++)
        if (e->worker[i] > 0) {
            kill(e->worker[i], SIGKILL);
            waitpid(e->worker[i], NULL, 0);
            e->worker[i] = 0;
        }
    if (e->steps)
        fclose(e->steps);
    e->steps = NULL;
    sim_sched_release(&e->sched);
    free(e->due);
    e->due = NULL;
    free(e->record);
    e->record = NULL;
}

bool sim_engine_submit(struct sim_engine *e, struct sim_request *r)
{
    if (e->n_live == e->cap_due) { /* room for all that can be due at once, so that a step needs none */
        uint32_t cap = e->cap_due ? e->cap_due * 2 : 64;
        struct sim_due *p = realloc(e->due, cap * sizeof *p);
        if (!p)
            return false;
        e->due = p;
        e->cap_due = cap;
    }
    r->e = e;
    r->seq.owner = r;
    r->next = e->live;
    if (e->live)
        e->live->prev = r;
    e->live = r;
    e->n_live++;
    sim_sched_add(&e->sched, &r->seq);
    return true;
}

static double seconds(int64_t from, int64_t to)
{
    return (double)(to - from) * 1e-9;
}

void sim_engine_finish(struct sim_engine *e, struct sim_request *r, enum sim_finish how)
{
    int64_t now = sim_now();
    r->finish = how;
    sim_sched_remove(&e->sched, &r->seq);
    e->finished[how]++;
    if (how == SIM_FIN_STOP || how == SIM_FIN_LENGTH) {
        double decode = seconds(r->t_first, r->t_last);
        e->counted_tokens += r->seq.generated;
        e->counted_prompt += r->seq.prompt;
        e->counted_cached += r->seq.cached;
        sim_hist_add(&e->hist[SIM_H_E2E], seconds(r->t_arrival, now), 1);
        sim_hist_add(&e->hist[SIM_H_QUEUE], seconds(r->t_arrival, r->t_scheduled), 1);
        sim_hist_add(&e->hist[SIM_H_PREFILL], seconds(r->t_scheduled, r->t_first), 1);
        sim_hist_add(&e->hist[SIM_H_DECODE], decode, 1);
        sim_hist_add(&e->hist[SIM_H_INFER], seconds(r->t_scheduled, r->t_last), 1);
        if (r->seq.generated > 1)
            sim_hist_add(&e->hist[SIM_H_TPOT], decode / (r->seq.generated - 1), 1);
    }
    sim_hist_add(&e->hist[SIM_H_PROMPT], r->seq.prompt, 1);
    sim_hist_add(&e->hist[SIM_H_GENERATION], r->seq.generated, 1);
    if (e->opt.truth)
        sim_truth_record(e, r);
    *(r->prev ? &r->prev->next : &e->live) = r->next;
    if (r->next)
        r->next->prev = r->prev;
    e->n_live--;
    if (r->due)
        e->due[r->due - 1].r = NULL;
    free(r->prefix);
    free(r->prompt_ids);
    free(r);
}

/* The step is over: what each sequence got is noted here, and said once the next step is under way. */
static void got(void *self, struct sim_seq *q, uint32_t n)
{
    struct sim_engine *e = self;
    struct sim_request *r = q->owner;
    int64_t now = sim_now();
    e->generation_tokens += n;
    if (!r->t_first) {
        r->t_first = now;
        e->prompt_tokens += q->prompt;
        e->cached_tokens += q->cached;
        sim_hist_add(&e->hist[SIM_H_COMPUTED], q->prompt - q->cached, 1);
        sim_hist_add(&e->hist[SIM_H_TTFT], seconds(r->t_arrival, now), 1);
    } else
        sim_hist_add(&e->hist[SIM_H_ITL], seconds(r->t_last, now) / n, n);
    r->t_last = now;
    e->due[e->n_due++].r = r;
    r->due = e->n_due;
}

static void say_all(struct sim_engine *e)
{
    for (uint32_t i = 0; i < e->n_due; i++) {
        struct sim_request *r = e->due[i].r;
        if (!r)
            continue;
        r->due = 0;
        sim_stream_tokens(e, r);
    }
    e->n_due = 0;
}

static void arm(int fd, int64_t at)
{
    struct itimerspec its = {.it_value = {.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000}};
    timerfd_settime(fd, TFD_TIMER_ABSTIME, &its, NULL);
}

static void start_step(struct sim_engine *e, int step_fd)
{
    int64_t now = sim_now();
    struct sim_limits lim;
    sim_power_limits(&e->power, &lim);
    if (!sim_sched_plan(&e->sched, &lim)) {
        sim_power_idle(&e->power);
        return;
    }
    struct sim_cost *c = &e->sched.cost;
    bool late = now - e->step_t1 > LATE_NS;
    if (late && e->follows) {
        e->late_steps++;
        e->late_ns += now - e->step_t1;
    }
    e->step_t0 = late ? now : e->step_t1;
    e->joule_idle += seconds(e->step_t1, e->step_t0) * e->model.gpus * sim_model_loaded_idle_w(&e->model);
    int64_t ns = llround(c->seconds * 1e9 / e->opt.speed);
    e->step_t1 = e->step_t0 + (ns > 0 ? ns : 1);
    sim_power_step(&e->power, e->step_t0, e->step_t1, c);
    arm(step_fd, e->step_t1);
    /* what the boards draw meanwhile, which with --speed is a part of what the model says */
    double f = seconds(e->step_t0, e->step_t1) / c->seconds;
    struct sim_energy *j = &c->joule;
    j->idle *= f;
    j->fixed *= f;
    j->prefill *= f;
    j->decode *= f;
    j->context *= f;
    e->joule.idle += j->idle;
    e->joule.fixed += j->fixed;
    e->joule.prefill += j->prefill;
    e->joule.decode += j->decode;
    e->joule.context += j->context;
    const struct sim_load *l = &e->sched.load;
    if (e->steps)
        fprintf(e->steps,
                "%lld\t%lld\t%u\t%u\t%u\t%llu\t%.0f\t%d\t%.6f\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%u\t%u\n",
                (long long)e->step_t0, (long long)e->step_t1, l->prefill_tokens, l->decode_seqs,
                l->decode_tokens, (unsigned long long)l->context, c->clock_mhz, c->capped, c->watts, j->idle,
                j->fixed, j->prefill, j->decode, j->context, e->sched.running.n, e->sched.waiting.n);
    sim_hist_add(&e->hist[SIM_H_ITERATION], (double)e->sched.load.prefill_tokens + e->sched.load.decode_seqs,
                 1);
    struct sim_seq *before;
    for (struct sim_seq *q = e->sched.running.tail; q; q = before) { /* the new ones are at the end */
        before = q->prev;
        struct sim_request *r = q->owner;
        if (r->t_scheduled)
            break;
        r->t_scheduled = now;
        if (e->opt.role_early)
            sim_stream_role(r); /* may be the end of r */
    }
}

int sim_engine_serve(struct sim_engine *e, const volatile int *stop, int stop_fd)
{
    int step_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    int ep = e->http.epoll;
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &step_fd},
                       stop_ev = {.events = EPOLLIN, .data.ptr = &stop_fd};
    prctl(PR_SET_TIMERSLACK, 1UL);
    if (step_fd < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, step_fd, &ev) < 0 ||
        (stop_fd >= 0 && epoll_ctl(ep, EPOLL_CTL_ADD, stop_fd, &stop_ev) < 0))
        return -1;
    int64_t last_tick = 0;
    struct epoll_event got_ev[256];
    bool stopped = false;
    while (!stopped && !*stop) {
        int n = epoll_wait(ep, got_ev, 256, e->http.n_conns ? TICK_NS / 1000000 : -1);
        if (n < 0 && errno != EINTR)
            break;
        int64_t now = sim_now();
        /* the step first: its end is due at a moment, the rest is not */
        if (e->sched.in_step && now >= e->step_t1) {
            uint64_t x;
            ssize_t k = read(step_fd, &x, sizeof x);
            (void)k;
            sim_sched_finish(&e->sched, got, e);
            e->follows = sim_sched_busy(&e->sched);
            if (e->follows)
                start_step(e, step_fd);
            say_all(e);
        }
        for (int i = 0; i < n; i++) {
            if (got_ev[i].data.ptr == &stop_fd)
                stopped = true;
            else if (got_ev[i].data.ptr != &step_fd)
                sim_http_event(&e->http, got_ev[i].data.ptr, got_ev[i].events);
        }
        if (now - last_tick >= TICK_NS) {
            sim_http_tick(&e->http, now);
            last_tick = now;
        }
        sim_http_sweep(&e->http);
        e->follows = false;
        if (!e->sched.in_step && sim_sched_busy(&e->sched))
            start_step(e, step_fd);
        else if (!e->sched.in_step)
            sim_power_idle(&e->power);
    }
    close(step_fd);
    return 0;
}
