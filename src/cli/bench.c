/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/benchlive.h"
#include "cli/benchorder.h"
#include "cli/endpoint.h"
#include "cli/enginemetrics.h"
#include "cli/signals.h"

#include "base/banned.h"

enum { MOST_TRIALS = 1000 };

struct bench {
    struct jm_session *s;
    struct jm_load *load;
    const struct jm_bench_opts *o;
    struct jm_plan *plan;
    bool ends;                /* the plan has an end of its own */
    bool started;             /* the load was */
    int64_t warmup, duration; /* duration: of a window, or how long a plan may go on */
    struct jm_load_cfg lc;
    const char *slice; /* whose facts are put; NULL: of the whole load */
    bool limited;      /* a load of this run was limited by the client */
    pthread_mutex_t lock;
    int64_t last_id;            /* of the requests so far */
    int64_t begin[MOST_TRIALS]; /* of each measured window so far */
    int trials;
    int lost; /* first error of the sink */
    struct jm_bench_live live;
};

void jm_bench_opts_init(struct jm_bench_opts *o)
{
    *o = (struct jm_bench_opts){.trials = 1,
                                .idle = 5 * JM_NS_PER_S,
                                .warmup = -1,
                                .duration = -1,
                                .drain = 60 * JM_NS_PER_S,
                                .temperature = NAN,
                                .cool_to = NAN};
    jm_shape_opts_init(&o->shape);
}

/* A request belongs to the trial in whose window it was sent; before the first one to that. */
static void on_request(void *self, const struct jm_request *r, const struct jm_token_event *ev, size_t n,
                       struct jm_span prompt, struct jm_span output)
{
    struct bench *b = self;
    struct jm_request mine = *r;
    int64_t sent = r->t[JM_T_SENT] >= 0 ? r->t[JM_T_SENT] : r->t[JM_T_SCHEDULED];
    pthread_mutex_lock(&b->lock);
    mine.trial = 0;
    for (int i = 1; i < b->trials && sent >= b->begin[i]; i++)
        mine.trial = i;
    b->last_id = r->id > b->last_id ? r->id : b->last_id;
    pthread_mutex_unlock(&b->lock);
    int rc = jm_recorder_request(b->s->rec, &mine, ev, n);
    if (!rc && (prompt.n || output.n))
        rc = jm_recorder_text(b->s->rec, r->id, prompt, output);
    if (rc) {
        pthread_mutex_lock(&b->lock);
        b->lost = b->lost ? b->lost : rc;
        pthread_mutex_unlock(&b->lock);
    }
}

static void put_fact(void *self, const char *key, const char *value)
{
    jm_recorder_env(((struct bench *)self)->s->rec, key, value);
}

static void plan_num(struct bench *b, const char *key, double v)
{
    char text[32];
    jm_json_fmt_double(text, v);
    put_fact(b, key, text);
}

static void note_plan(struct bench *b, const struct jm_present *p, const char *url)
{
    const struct jm_bench_opts *o = b->o;
    put_fact(b, "plan.url", url);
    jm_bench_note_plan(b->plan, p, put_fact, b);
    bool open = false;
    for (size_t i = 0; i < b->plan->slices; i++)
        open |= jm_slice_open(&b->plan->slice[i]);
    if (o->concurrency && open)
        plan_num(b, "plan.in_flight_limit", (double)b->lc.concurrency);
    plan_num(b, "plan.trials", (double)o->trials);
    if (b->plan->sequential) {
        put_fact(b, "plan.order", jm_bench_order_name((enum jm_bench_order)o->order));
        plan_num(b, "plan.cool_down_s", (double)o->cool_down / 1e9);
        if (!isnan(o->cool_to))
            plan_num(b, "plan.cool_to_c", o->cool_to);
    }
    plan_num(b, "plan.warmup_s", (double)b->warmup / 1e9);
    if (b->ends && o->duration < 0)
        put_fact(b, "plan.duration_s", "until the plan is done");
    else
        plan_num(b, "plan.duration_s", (double)b->duration / 1e9);
    if (o->insecure)
        put_fact(b, "plan.tls_verified", "0");
}

struct line {
    struct bench *b;
    const struct jm_load_live *l;
    const char *what;
    double done, of;
};

static void make_line(void *self, int columns, bool color, struct jm_str *out)
{
    struct line *p = self;
    if (columns > 0)
        jm_bench_live_line(&p->b->live, p->l, p->what, p->of - p->done, columns, color, out);
    else
        jm_bench_live_log(&p->b->live, p->l, p->what, p->done, p->of, out);
}

static void progress(struct bench *b, const char *what, int64_t begin, int64_t now, int64_t end)
{
    struct jm_load_live l;
    struct jm_record_live r;
    jm_load_live(b->load, &l);
    jm_recorder_live(b->s->rec, &r);
    jm_bench_live_add(&b->live, now, &l, r.watts, r.meters_ok);
    bool open_end = b->ends && b->o->duration < 0 && end - begin >= b->duration;
    struct line p = {b, &l, what, (double)(now - begin) / 1e9, open_end ? NAN : (double)(end - begin) / 1e9};
    jm_term_progress_made(&b->s->cli->term, make_line, &p);
}

/* Waits for the end of a window under load; true: a signal came. */
static bool under_load(struct bench *b, const char *what, int64_t begin, int64_t end, int64_t requests)
{
    struct jm_clock clock = jm_clock_system();
    struct jm_load_live l;
    jm_load_live(b->load, &l);
    int64_t finished0 = l.finished;
    for (;;) {
        int64_t now = jm_clock_mono(&clock), next = now + 100 * JM_NS_PER_MS;
        if (jm_signals_stop || now >= end)
            return jm_signals_stop;
        jm_load_live(b->load, &l);
        if (l.over || (requests && l.finished - finished0 >= requests))
            return false;
        progress(b, what, begin, now, end);
        if (jm_signals_sleep_until(next < end ? next : end))
            return true;
    }
}

static int loaded_idle(struct bench *b, struct jm_err *err)
{
    int id;
    int64_t t0, t1;
    char key[64];
    if (!b->o->idle)
        return 0;
    int rc = jm_session_begin(b->s, JM_R_IDLE, "loaded idle", 0, &id, &t0, err);
    if (rc)
        return rc;
    snprintf(key, sizeof key, "idle.%d.class", id);
    put_fact(b, key, "loaded");
    jm_session_wait(b->s, "loaded idle", t0, t0 + b->o->idle);
    return jm_recorder_window_end(b->s->rec, id, &t1, err);
}

/* The load begins inside its first window, so that none of a plan that has an end is missed. */
static int start_load(struct bench *b, struct jm_err *err)
{
    if (b->started)
        return 0;
    b->started = true;
    return jm_load_start(b->load, err);
}

static int warm_up(struct bench *b, const char *name, int trial, struct jm_err *err)
{
    int id;
    int64_t t0, t1;
    if (!b->warmup || jm_signals_stop)
        return 0;
    int rc = jm_session_begin(b->s, JM_R_WARMUP, name, trial, &id, &t0, err);
    if (!rc)
        rc = start_load(b, err);
    if (rc)
        return rc;
    under_load(b, name, t0, t0 + b->warmup, 0);
    return jm_recorder_window_end(b->s->rec, id, &t1, err);
}

static int window(struct bench *b, const char *name, int trial, struct jm_err *err)
{
    int id;
    int64_t t0, t1;
    int rc = jm_session_begin(b->s, JM_R_MEASURE, name, trial, &id, &t0, err);
    if (rc)
        return rc;
    if ((rc = start_load(b, err)))
        return rc;
    pthread_mutex_lock(&b->lock);
    if (trial >= b->trials)
        b->begin[trial] = t0;
    b->trials = trial + 1;
    pthread_mutex_unlock(&b->lock);
    if (b->slice) {
        char key[64];
        snprintf(key, sizeof key, "window.%d.slice", id);
        jm_recorder_env(b->s->rec, key, b->slice);
    }
    int64_t end = t0 + b->duration, to = end;
    do {
        end = to;
        if (under_load(b, name, t0, end, b->o->requests)) {
            put_fact(b, "plan.interrupted", name);
            break;
        }
        /* one that ended with its load or its requests has the length that it has */
        struct jm_clock clock = jm_clock_system();
        to = jm_clock_mono(&clock) >= end ? jm_session_lengthen(b->s, id, t0, end) : end;
    } while (to > end);
    return jm_recorder_window_end(b->s->rec, id, &t1, err);
}

static int measure(struct bench *b, struct jm_err *err)
{
    const struct jm_bench_opts *o = b->o;
    int rc = warm_up(b, "warm-up", 0, err);
    for (int i = 0; !rc && i < o->trials && !jm_signals_stop; i++) {
        char name[64];
        if (o->trials > 1)
            snprintf(name, sizeof name, "trial %d of %d", i + 1, (int)o->trials);
        else
            snprintf(name, sizeof name, "measure");
        rc = window(b, name, i, err);
    }
    return rc;
}

/* Requests in flight are followed to their end, so that it is known whether they qualify. */
static int drain(struct bench *b, struct jm_err *err)
{
    struct jm_clock clock = jm_clock_system();
    struct jm_load_live l;
    int id;
    int64_t t0, t1;
    int rc = jm_session_begin(b->s, JM_R_DRAIN, "drain", 0, &id, &t0, err);
    jm_load_stop(b->load);
    if (rc)
        return rc;
    int64_t end = t0 + (jm_signals_stop && b->o->drain > 2 * JM_NS_PER_S ? 2 * JM_NS_PER_S : b->o->drain);
    for (;;) {
        int64_t now = jm_clock_mono(&clock);
        jm_load_live(b->load, &l);
        if (!l.in_flight || now >= end)
            break;
        progress(b, "drain", t0, now, end);
        jm_clock_sleep_until(&clock, now + 20 * JM_NS_PER_MS, NULL);
    }
    jm_load_drain(b->load, 1);
    return jm_recorder_window_end(b->s->rec, id, &t1, err);
}

static void put_load_fact(void *self, const char *key, const char *value)
{
    struct bench *b = self;
    char own[128];
    if (!b->slice) {
        put_fact(b, key, value);
        return;
    }
    snprintf(own, sizeof own, "slice.%s.%s", b->slice, key);
    put_fact(b, own, value);
    /* what differs from slice to slice is not of the whole run */
    static const char *const own_keys[] = {"load.isl",   "load.osl",   "load.concurrency", "load.rate",
                                           "load.shape", "load.begun", "load.trace",       "load.prompts."};
    for (size_t i = 0; i < sizeof own_keys / sizeof own_keys[0]; i++)
        if (strncmp(key, own_keys[i], strlen(own_keys[i])) == 0 && strncmp(key, "load.isl.mode", 13) != 0)
            return;
    bool client = strcmp(key, "load.client") == 0;
    b->limited |= client && strcmp(value, "client-limited") == 0;
    put_fact(b, key, client && b->limited ? "client-limited" : value);
}

static int new_load(struct bench *b, struct jm_err *err)
{
    struct jm_load_sink sink = {b, on_request};
    b->lc.first_id = b->last_id + 1;
    b->started = false;
    return jm_load_new(&b->lc, &sink, &b->load, err);
}

/* Which slice comes when in a trial, and a fact of it. */
static void turns(struct bench *b, int trial, size_t *order)
{
    size_t n = b->plan->slices;
    jm_bench_order((enum jm_bench_order)b->o->order, trial, b->lc.seed, order, n);
    struct jm_str names;
    char key[64];
    jm_str_init(&names);
    for (size_t i = 0; i < n; i++)
        jm_str_addf(&names, "%s%s", i ? ", " : "", b->plan->slice[order[i]].name);
    snprintf(key, sizeof key, "plan.order.%d", trial);
    put_fact(b, key, names.buf);
    jm_str_release(&names);
}

#define COOL_MOST (300 * JM_NS_PER_S) /* where a temperature is given and no time */

/* Until the time is up, or no device is hotter than was asked for; true: that came about. */
static bool cooling(struct bench *b, int64_t t0, int64_t end, double *celsius)
{
    struct jm_clock clock = jm_clock_system();
    for (;;) {
        struct jm_record_live live;
        int64_t now = jm_clock_mono(&clock), next = now + 100 * JM_NS_PER_MS;
        jm_recorder_live(b->s->rec, &live);
        *celsius = live.celsius;
        if (live.celsius <= b->o->cool_to)
            return true;
        if (jm_signals_stop || now >= end)
            return false;
        jm_session_progress(b->s, "cool-down", (double)(now - t0) / 1e9, (double)(end - t0) / 1e9, NULL);
        if (jm_signals_sleep_until(next < end ? next : end))
            return false;
    }
}

/* Nothing is sent, so that each slice begins on a machine as cool as the one before. */
static int cool_down(struct bench *b, int trial, struct jm_err *err)
{
    int id;
    int64_t t0, t1, most = b->o->cool_down ? b->o->cool_down : isnan(b->o->cool_to) ? 0 : COOL_MOST;
    char key[64];
    if (!most || jm_signals_stop)
        return 0;
    int rc = jm_session_begin(b->s, JM_R_COOLDOWN, "cool-down", trial, &id, &t0, err);
    if (rc)
        return rc;
    if (isnan(b->o->cool_to)) {
        jm_session_wait(b->s, "cool-down", t0, t0 + most);
    } else {
        double celsius = NAN;
        bool cool = cooling(b, t0, t0 + most, &celsius);
        snprintf(key, sizeof key, "window.%d.cooled_to_c", id);
        if (!isnan(celsius))
            plan_num(b, key, celsius);
        if (!cool && !jm_signals_stop && isnan(celsius))
            jm_cli_say(b->s->cli, "--cool-to: no device shows a temperature; the pause took %.0f s",
                       (double)most / 1e9);
        else if (!cool && !jm_signals_stop)
            jm_cli_say(b->s->cli,
                       "after a pause of %.0f s the hottest device still has %.0f degrees, not %.0f",
                       (double)most / 1e9, celsius, b->o->cool_to);
    }
    return jm_recorder_window_end(b->s->rec, id, &t1, err);
}

/* Slices one after the other: each has a load, a warm-up and a window of its own, so that the energy of that
 * window is the slice's. */
static int in_turn(struct bench *b, struct jm_err *err)
{
    const struct jm_plan *all = b->plan;
    size_t *order = malloc(all->slices * sizeof *order);
    int rc = order ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory for the order of the slices");
    for (int trial = 0; !rc && trial < b->o->trials && !jm_signals_stop; trial++) {
        turns(b, trial, order);
        for (size_t i = 0; !rc && i < all->slices && !jm_signals_stop; i++) {
            struct jm_plan one = *all;
            char name[80];
            if ((trial || i) && (rc = cool_down(b, trial, err)))
                break;
            if (jm_signals_stop)
                break;
            one.slice = &all->slice[order[i]];
            one.slices = 1;
            b->slice = one.slice->name;
            b->lc.plan = &one;
            b->ends = jm_plan_ends(&one);
            if (b->load) /* made before the first one, to see whether the endpoint takes it */
                jm_load_free(b->load);
            b->load = NULL;
            rc = new_load(b, err);
            snprintf(name, sizeof name, "warm-up %s", b->slice);
            if (!rc)
                rc = warm_up(b, name, trial, err);
            snprintf(name, sizeof name, b->o->trials > 1 ? "%s, trial %d of %d" : "%s", b->slice, trial + 1,
                     (int)b->o->trials);
            if (!rc)
                rc = window(b, name, trial, err);
            if (!rc)
                rc = drain(b, err);
            if (b->load)
                jm_load_facts(b->load, put_load_fact, b);
        }
    }
    free(order);
    b->slice = NULL;
    if (!rc && b->lost)
        rc = jm_err_set(err, b->lost, "requests could not be written to the run file");
    return rc;
}

static int under_recording(struct bench *b, struct jm_err *err)
{
    int rc = jm_session_start(b->s, err);
    if (!rc)
        rc = loaded_idle(b, err);
    if (!rc && jm_signals_stop)
        return jm_err_set(err, JM_ESTATE, "stopped by a signal before the load began");
    if (!rc && b->plan->sequential)
        return in_turn(b, err);
    if (rc)
        return rc;
    rc = measure(b, err);
    if (rc)
        return rc; /* the endpoint serves nothing, or the run cannot be written */
    struct jm_err drain_err = {0};
    int end = drain(b, &drain_err);
    if (!rc && end) {
        rc = end;
        *err = drain_err;
    }
    if (!rc && b->lost)
        rc = jm_err_set(err, b->lost, "requests could not be written to the run file");
    return rc;
}

/* A plan with an end is measured from its first arrival to its last answer, unless something else is said. */
static int make_plan(struct bench *b, struct jm_err *err)
{
    const struct jm_bench_opts *o = b->o;
    int rc = jm_bench_plan(o, &b->plan, err);
    if (rc)
        return rc;
    b->lc.plan = b->plan;
    b->ends = jm_plan_ends(b->plan) || (o->shape.max_requests > 0 && !o->shape.scenario);
    b->warmup = o->warmup >= 0 ? o->warmup : b->ends ? 0 : 10 * JM_NS_PER_S;
    b->duration = o->duration >= 0 ? o->duration : (b->ends ? 86400 : 60) * JM_NS_PER_S;
    if (b->ends && o->trials > 1 && !b->plan->sequential)
        return jm_err_set(
            err, JM_EUSAGE,
            "--trials: this load has an end of its own and cannot be measured again in one run; run "
            "bench several times and compare");
    if (!b->plan->sequential && (o->order != JM_ORDER_WRITTEN || o->cool_down || !isnan(o->cool_to)))
        return jm_err_set(
            err, JM_EUSAGE,
            "--%s: belongs to slices one after the other (--slices with sequential: true); other loads "
            "go on from trial to trial",
            o->cool_down        ? "cool-down"
            : isnan(o->cool_to) ? "order"
                                : "cool-to");
    return 0;
}

int jm_bench(struct jm_session *s, struct jm_cli *cli, const struct jm_bench_opts *o,
             const struct jm_present *p, const struct jm_session_opts *so, const struct jm_meter_env *env,
             const char *url, struct jm_err *err)
{
    struct bench *b = calloc(1, sizeof *b);
    struct jm_endpoint ep;
    char source[256];
    *s = (struct jm_session){.cli = cli};
    jm_str_init(&s->path);
    if (!b)
        return jm_err_set(err, JM_ENOMEM, "out of memory");
    b->s = s;
    b->o = o;
    jm_bench_live_init(&b->live);
    pthread_mutex_init(&b->lock, NULL);
    int rc = jm_bench_load_cfg(o, cli, url, so->seed < 0 ? 1 : (uint64_t)so->seed, &b->lc, err);
    if (!rc)
        rc = make_plan(b, err);
    if (!rc)
        rc = jm_load_probe(&b->lc, cli->common->proc_root, &ep, err);
    if (!rc && !b->lc.model && ep.model[0])
        b->lc.model = ep.model;
    b->lc.at = &ep; /* each slice of a plan would ask again */
    snprintf(source, sizeof source, "bench %s", url);
    /* prompts and limits first: what the endpoint refuses then leaves no run file behind */
    if (!rc)
        rc = new_load(b, err);
    if (!rc)
        rc = jm_session_open(s, cli, so, "bench", source, env, true, err);
    if (!rc)
        rc = jm_endpoint_note(s, &ep, err);
    if (!rc)
        rc = jm_session_engine(s, &o->engine_metrics, url, &b->lc, &ep, err);
    if (!rc)
        note_plan(b, p, url);
    if (!rc) {
        rc = under_recording(b, err);
        if (b->load && !b->plan->sequential)
            jm_load_facts(b->load, put_load_fact, b);
    }
    jm_load_free(b->load);
    rc = jm_session_finish(s, rc, err);
    pthread_mutex_destroy(&b->lock);
    jm_plan_free(b->plan);
    free(b);
    return rc;
}
