/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of bench and the load under them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/bench_impl.h"
#include "cli/signals.h"
#include "compute/calc.h"

#include "base/banned.h"

static struct jm_slo contract(const struct jm_bench_run *b, const struct jm_request *r)
{
    const struct jm_present *p = b->present;
    struct jm_slo slo = {p->slo_ttft ? (double)p->slo_ttft / 1e9 : NAN,
                         p->slo_tpot ? (double)p->slo_tpot / 1e9 : NAN,
                         p->slo_e2e ? (double)p->slo_e2e / 1e9 : NAN};
    for (size_t i = 0; !jm_slo_given(&slo) && i < b->plan->slices; i++) {
        const struct jm_slice *s = &b->plan->slice[i];
        if (b->plan->slices == 1 || strcmp(s->name, r->slice) == 0)
            return (struct jm_slo){s->ttft_s, s->tpot_s, s->e2e_s};
    }
    return slo;
}

/* Under the lock. */
static void tally(struct jm_bench_run *b, const struct jm_request *r)
{
    struct jm_bench_tally *t = &b->tally;
    int64_t at = r->t[JM_T_SCHEDULED];
    if (!t->t1 || at < t->t0 || at >= t->t1)
        return;
    struct jm_slo slo = contract(b, r);
    t->scheduled++;
    t->ok += r->end == JM_END_OK;
    t->good += jm_request_qualifies(r, &slo);
}

/* A request belongs to the trial in whose window it was sent; before the first one to that. */
static void on_request(void *self, const struct jm_request *r, const struct jm_token_event *ev, size_t n,
                       struct jm_span prompt, struct jm_span output)
{
    struct jm_bench_run *b = self;
    struct jm_request mine = *r;
    int64_t sent = r->t[JM_T_SENT] >= 0 ? r->t[JM_T_SENT] : r->t[JM_T_SCHEDULED];
    pthread_mutex_lock(&b->lock);
    tally(b, r);
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

void jm_bench_fact(void *self, const char *key, const char *value)
{
    jm_recorder_env(((struct jm_bench_run *)self)->s->rec, key, value);
}

void jm_bench_fact_number(struct jm_bench_run *b, const char *key, double v)
{
    char text[32];
    if (!isfinite(v))
        return;
    jm_json_fmt_double(text, v);
    jm_bench_fact(b, key, text);
}

void jm_bench_window_number(struct jm_bench_run *b, int id, const char *key, double v)
{
    char full[64];
    snprintf(full, sizeof full, "window.%d.%s", id, key);
    jm_bench_fact_number(b, full, v);
}

struct line {
    struct jm_bench_run *b;
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

static void progress(struct jm_bench_run *b, const char *what, int64_t begin, int64_t now, int64_t end)
{
    struct jm_load_live l;
    struct jm_record_live r;
    jm_load_live(b->load, &l);
    jm_recorder_live(b->s->rec, &r);
    jm_bench_live_add(&b->live, now, &l, r.watts, r.meters_ok);
    bool open_end = b->open_end && end - begin >= b->duration;
    struct line p = {b, &l, what, (double)(now - begin) / 1e9, open_end ? NAN : (double)(end - begin) / 1e9};
    jm_term_progress_made(&b->s->cli->term, make_line, &p);
}

bool jm_bench_under_load(struct jm_bench_run *b, const char *what, int64_t begin, int64_t end,
                         int64_t requests)
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

int jm_bench_rest(struct jm_bench_run *b, enum jm_role role, const char *name, int trial, int64_t length,
                  int *id, struct jm_err *err)
{
    int own;
    int64_t t0, t1;
    char key[64];
    if (!length || jm_signals_stop)
        return 0;
    int rc = jm_session_begin(b->s, role, name, trial, &own, &t0, err);
    if (rc)
        return rc;
    if (role == JM_R_IDLE) {
        snprintf(key, sizeof key, "idle.%d.class", own);
        jm_bench_fact(b, key, "loaded");
    }
    if (id)
        *id = own;
    if (jm_session_wait(b->s, name, t0, t0 + length) && role == JM_R_IDLE)
        jm_bench_fact(b, "plan.interrupted", name);
    return jm_recorder_window_end(b->s->rec, own, &t1, err);
}

int jm_bench_start_load(struct jm_bench_run *b, struct jm_err *err)
{
    if (b->started)
        return 0;
    b->started = true;
    return jm_load_start(b->load, err);
}

int jm_bench_warm_up(struct jm_bench_run *b, const char *name, int trial, int64_t length, struct jm_err *err)
{
    int id;
    int64_t t0, t1;
    if (!length || jm_signals_stop)
        return 0;
    int rc = jm_session_begin(b->s, JM_R_WARMUP, name, trial, &id, &t0, err);
    if (!rc)
        rc = jm_bench_start_load(b, err);
    if (rc)
        return rc;
    jm_bench_under_load(b, name, t0, t0 + length, 0);
    return jm_recorder_window_end(b->s->rec, id, &t1, err);
}

int jm_bench_window(struct jm_bench_run *b, const char *name, int trial, const struct jm_bench_item *item,
                    struct jm_err *err)
{
    int id;
    int64_t t0, t1;
    int rc = jm_session_begin(b->s, JM_R_MEASURE, name, trial, &id, &t0, err);
    if (rc)
        return rc;
    if ((rc = jm_bench_start_load(b, err)))
        return rc;
    pthread_mutex_lock(&b->lock);
    if (trial >= b->trials)
        b->begin[trial] = t0;
    b->trials = trial + 1;
    pthread_mutex_unlock(&b->lock);
    if (item && item->slice) {
        char key[64];
        snprintf(key, sizeof key, "window.%d.slice", id);
        jm_bench_fact(b, key, item->slice);
    }
    if (item) {
        jm_bench_window_number(b, id, "level", item->level);
        jm_bench_window_number(b, id, "offered", item->offered);
    }
    int64_t end = t0 + b->duration, to = end;
    do {
        end = to;
        if (jm_bench_under_load(b, name, t0, end, b->o->requests)) {
            jm_bench_fact(b, "plan.interrupted", name);
            break;
        }
        /* one that ended with its load or its requests has the length that it has */
        struct jm_clock clock = jm_clock_system();
        to = jm_clock_mono(&clock) >= end ? jm_session_lengthen(b->s, id, t0, end) : end;
    } while (to > end);
    return jm_recorder_window_end(b->s->rec, id, &t1, err);
}

/* Requests in flight are followed to their end, so that it is known whether they qualify. */
int jm_bench_drain(struct jm_bench_run *b, struct jm_err *err)
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
    struct jm_bench_run *b = self;
    char own[128];
    if (!b->part) {
        jm_bench_fact(b, key, value);
        return;
    }
    snprintf(own, sizeof own, "slice.%s.%s", b->part, key);
    jm_bench_fact(b, own, value);
    /* what differs from slice to slice is not of the whole run */
    static const char *const own_keys[] = {"load.isl",   "load.osl",   "load.concurrency", "load.rate",
                                           "load.shape", "load.begun", "load.trace",       "load.prompts."};
    for (size_t i = 0; i < sizeof own_keys / sizeof own_keys[0]; i++)
        if (strncmp(key, own_keys[i], strlen(own_keys[i])) == 0 && strncmp(key, "load.isl.mode", 13) != 0)
            return;
    bool client = strcmp(key, "load.client") == 0;
    b->limited |= client && strcmp(value, "client-limited") == 0;
    jm_bench_fact(b, key, client && b->limited ? "client-limited" : value);
}

void jm_bench_load_facts(struct jm_bench_run *b)
{
    if (b->load)
        jm_load_facts(b->load, put_load_fact, b);
}

int jm_bench_new_load(struct jm_bench_run *b, const struct jm_plan *plan, struct jm_err *err)
{
    struct jm_load_sink sink = {b, on_request};
    if (b->load) /* the first one was made before anything else, to see whether the endpoint takes it */
        jm_load_free(b->load);
    b->load = NULL;
    b->lc.plan = plan;
    b->ends = jm_plan_ends(plan) || b->lc.max_requests > 0;
    pthread_mutex_lock(&b->lock);
    b->lc.first_id = b->last_id + 1;
    pthread_mutex_unlock(&b->lock);
    b->started = false;
    jm_bench_live_init(&b->live); /* its counts begin anew */
    return jm_load_new(&b->lc, &sink, &b->load, err);
}

#define COOL_MOST (300 * JM_NS_PER_S) /* where a temperature is given and no time */

/* Until the time is up, or no device is hotter than was asked for; true: that came about. */
static bool cooling(struct jm_bench_run *b, int64_t t0, int64_t end, double *celsius)
{
    struct jm_clock clock = jm_clock_system();
    for (;;) {
        struct jm_record_live live;
        int64_t now = jm_clock_mono(&clock), next = now + 100 * JM_NS_PER_MS;
        jm_recorder_live(b->s->rec, &live);
        *celsius = live.celsius;
        if (live.celsius <= b->how.cool_to)
            return true;
        if (jm_signals_stop || now >= end)
            return false;
        jm_session_progress(b->s, "cool-down", (double)(now - t0) / 1e9, (double)(end - t0) / 1e9, NULL);
        if (jm_signals_sleep_until(next < end ? next : end))
            return false;
    }
}

int jm_bench_cool_down(struct jm_bench_run *b, int trial, struct jm_err *err)
{
    int id;
    int64_t t0, t1, said = b->how.cool_down > 0 ? b->how.cool_down : 0,
                    most = said                    ? said
                           : isnan(b->how.cool_to) ? 0
                                                   : COOL_MOST;
    if (!most || jm_signals_stop)
        return 0;
    int rc = jm_session_begin(b->s, JM_R_COOLDOWN, "cool-down", trial, &id, &t0, err);
    if (rc)
        return rc;
    if (isnan(b->how.cool_to)) {
        jm_session_wait(b->s, "cool-down", t0, t0 + most);
    } else {
        double celsius = NAN;
        bool cool = cooling(b, t0, t0 + most, &celsius);
        jm_bench_window_number(b, id, "cooled_to_c", celsius);
        if (!cool && !jm_signals_stop && isnan(celsius))
            jm_cli_say(b->s->cli, "--cool-to: no device shows a temperature; the pause took %.0f s",
                       (double)most / 1e9);
        else if (!cool && !jm_signals_stop)
            jm_cli_say(b->s->cli,
                       "after a pause of %.0f s the hottest device still has %.0f degrees, not %.0f",
                       (double)most / 1e9, celsius, b->how.cool_to);
    }
    return jm_recorder_window_end(b->s->rec, id, &t1, err);
}
