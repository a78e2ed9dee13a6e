/* SPDX-License-Identifier: Apache-2.0 */
/* The load ladder: what the endpoint can do, then open loops at shares of that, and loaded idle, as
 * SPECpower_ssj2008 has it (calibration, then 100 to 10 % of its throughput in tens, then active idle).
 *
 * The capacity is the highest rate at which the contract is met by 95 % of the requests, found by a search of
 * open loops; without a contract it is what a closed loop gets whose users are doubled until that gains less
 * than 5 %: the mean of the last two steps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench_impl.h"
#include "cli/signals.h"

#include "base/banned.h"

#define ATTAINMENT  0.95
#define KEEPS_UP    0.9
#define GAIN        1.05 /* what twice the users must bring, and how near the search comes */
#define USERS_FIRST 8
#define USERS_MOST  8192
#define STEPS_MOST  12
#define ENOUGH      20 /* requests that a step should see */
#define LONGEST     6  /* times the length of a step that it waits for them */
#define PROBE       (10 * JM_NS_PER_S)

struct jm_plan *jm_bench_scaled(const struct jm_plan *p, double rate)
{
    struct jm_plan *c = jm_plan_copy(p);
    double sum = 0;
    for (size_t i = 0; i < p->slices; i++)
        sum += p->slice[i].rate;
    for (size_t i = 0; c && i < c->slices; i++)
        c->slice[i].rate *= rate / sum;
    return c;
}

static int no_memory(struct jm_err *err)
{
    return jm_err_set(err, JM_ENOMEM, "out of memory for the ladder");
}

static int64_t ok_so_far(struct jm_bench_run *b)
{
    struct jm_load_live l;
    jm_load_live(b->load, &l);
    return l.ok;
}

/* What a step of the search found, kept with the run. */
static void note(struct jm_bench_run *b, int *step, const char *text)
{
    char key[48];
    snprintf(key, sizeof key, "ladder.search.%d", ++*step);
    jm_bench_fact(b, key, text);
    if (!b->s->cli->common->quiet)
        jm_cli_say(b->s->cli, "capacity: %s", text);
}

struct stretch {
    double seconds;
    int64_t ok;
    struct jm_bench_tally t;
};

/* A load for some time: a third of it to settle, the rest is counted; longer where that sees too few. */
static int step(struct jm_bench_run *b, const struct jm_plan *plan, const char *name, double rate,
                struct stretch *out, struct jm_err *err)
{
    struct jm_clock clock = jm_clock_system();
    int64_t probe = b->how.probe > 0 ? b->how.probe : PROBE, t0, t1, id_end, most;
    int id;
    int rc = jm_bench_new_load(b, plan, err);
    if (!rc)
        rc = jm_session_begin(b->s, JM_R_WARMUP, name, 0, &id, &t0, err);
    if (rc)
        return rc;
    rc = jm_bench_start_load(b, err);
    if (!rc) {
        jm_bench_under_load(b, name, t0, t0 + probe / 3, 0);
        int64_t from = jm_clock_mono(&clock), ok = ok_so_far(b), until = t0 + probe;
        most = t0 + LONGEST * probe;
        if (rate > 0 && (double)until < (double)from + ENOUGH / rate * 1e9)
            until = (double)from + ENOUGH / rate * 1e9 < (double)most ? from + (int64_t)(ENOUGH / rate * 1e9)
                                                                      : most;
        pthread_mutex_lock(&b->lock);
        b->tally = (struct jm_bench_tally){.t0 = from, .t1 = until};
        pthread_mutex_unlock(&b->lock);
        jm_bench_under_load(b, name, t0, until, 0);
        while (!rate && ok_so_far(b) - ok < ENOUGH && jm_clock_mono(&clock) < most && !jm_signals_stop)
            jm_bench_under_load(b, name, t0, jm_clock_mono(&clock) + probe / 4, 0);
        t1 = jm_clock_mono(&clock);
        out->ok = ok_so_far(b) - ok;
        out->seconds = (double)(t1 - from) / 1e9;
    }
    int end = jm_recorder_window_end(b->s->rec, id, &id_end, rc ? NULL : err);
    rc = rc ? rc : end;
    if (!rc)
        rc = jm_bench_drain(b, err);
    jm_load_free(b->load); /* what is still under way is handed over */
    b->load = NULL;
    pthread_mutex_lock(&b->lock);
    out->t = b->tally;
    b->tally = (struct jm_bench_tally){0};
    pthread_mutex_unlock(&b->lock);
    if (!rc && jm_signals_stop)
        rc = jm_err_set(err, JM_ESTATE, "stopped by a signal before the first level of the ladder");
    return rc;
}

static int saturate(struct jm_bench_run *b, double *capacity, char by[64], int *steps, struct jm_err *err)
{
    double last = 0;
    for (int users = USERS_FIRST; users <= USERS_MOST; users *= 2) {
        struct stretch got = {0};
        struct jm_plan *p = jm_plan_copy(b->plan);
        char name[64], text[96];
        if (!p)
            return no_memory(err);
        for (size_t i = 0; i < p->slices; i++) {
            p->slice[i].arrive = JM_ARRIVE_CLOSED;
            p->slice[i].users = users;
        }
        snprintf(name, sizeof name, "capacity, %d users", users);
        int rc = step(b, p, name, 0, &got, err);
        b->lc.plan = b->plan;
        jm_plan_free(p);
        if (rc)
            return rc;
        if (!got.ok)
            return jm_err_set(err, JM_ESTATE,
                              "no request of %d users succeeded in %.3g s: the endpoint has no capacity to "
                              "make a ladder of; try bench without --ladder first",
                              users, got.seconds);
        double rate = (double)got.ok / got.seconds;
        snprintf(text, sizeof text, "%d users: %.4g requests/s", users, rate);
        note(b, steps, text);
        *capacity = last > 0 ? (last + rate) / 2 : rate;
        snprintf(by, 64, "closed loop, %d users", users);
        if (last > 0 && rate < last * GAIN)
            return 0;
        last = rate;
    }
    return 0;
}

static int under_contract(struct jm_bench_run *b, double first, double most, double *capacity, int *steps,
                          struct jm_err *err)
{
    double lo = 0, hi = most, rate = first;
    for (int k = 0; k < STEPS_MOST && !(lo > 0 && hi <= lo * GAIN); k++) {
        struct stretch got = {0};
        struct jm_plan *p = jm_bench_scaled(b->plan, rate);
        char name[64], text[128];
        if (!p)
            return no_memory(err);
        snprintf(name, sizeof name, "capacity, %.4g/s", rate);
        int rc = step(b, p, name, rate, &got, err);
        b->lc.plan = b->plan;
        jm_plan_free(p);
        if (rc)
            return rc;
        double share = got.t.scheduled ? (double)got.t.good / (double)got.t.scheduled : 0;
        snprintf(text, sizeof text, "%.4g/s: %.4g %% of %lld requests inside the contract, %.4g/s answered",
                 rate, 100 * share, (long long)got.t.scheduled, (double)got.ok / got.seconds);
        note(b, steps, text);
        /* the contract may hold while the queue grows: what comes in must go out too */
        bool behind = (double)got.ok < KEEPS_UP * rate * got.seconds && rate * got.seconds >= ENOUGH;
        if (got.t.scheduled && share >= ATTAINMENT && !behind)
            lo = rate;
        else
            hi = rate;
        rate = lo == 0 ? hi / 2 : isinf(hi) ? lo * 1.5 : sqrt(lo * hi);
    }
    if (!(lo > 0))
        return jm_err_set(
            err, JM_ESTATE,
            "the contract is met by 95 %% of the requests at no rate down to %.3g/s: loosen it, or "
            "give --capacity",
            2 * rate);
    *capacity = lo;
    return 0;
}

static bool has_contract(const struct jm_bench_run *b)
{
    const struct jm_present *p = b->present;
    bool given = p->slo_ttft || p->slo_tpot || p->slo_e2e;
    for (size_t i = 0; i < b->plan->slices; i++) {
        const struct jm_slice *s = &b->plan->slice[i];
        given |= !isnan(s->ttft_s) || !isnan(s->tpot_s) || !isnan(s->e2e_s);
    }
    return given;
}

static int find(struct jm_bench_run *b, double *capacity, char by[128], struct jm_err *err)
{
    char closed[64] = "";
    int steps = 0, rc = 0;
    double first = 0, most = INFINITY;
    *capacity = b->how.capacity;
    snprintf(by, 128, "given");
    if (*capacity > 0)
        return 0;
    if (b->plan->slices == 1) {
        rc = saturate(b, capacity, closed, &steps, err);
        snprintf(by, 128, "%s", closed);
        first = 0.9 * *capacity;
        most = 1.1 * *capacity; /* more than it can do without a contract it does not do under one */
    } else {
        for (size_t i = 0; i < b->plan->slices; i++)
            first += b->plan->slice[i].rate;
    }
    if (rc || !has_contract(b))
        return rc;
    snprintf(by, 128, "the contract met by %.0f %% of the requests", 100 * ATTAINMENT);
    jm_bench_fact_number(b, "ladder.capacity.attainment", ATTAINMENT);
    return under_contract(b, first, most, capacity, &steps, err);
}

/* What the run says of the plan: the capacity and what each slice has of it. */
static int notes(struct jm_bench_run *b, double capacity, const char *by, struct jm_err *err)
{
    struct jm_str levels;
    struct jm_plan *full = jm_bench_scaled(b->plan, capacity);
    if (!full)
        return no_memory(err);
    jm_bench_note_plan(full, b->present, jm_bench_fact, b);
    jm_plan_free(full);
    jm_str_init(&levels);
    for (size_t i = 0; i < b->how.levels; i++)
        jm_str_addf(&levels, "%s%g", i ? "," : "", b->how.level[i]);
    jm_bench_fact(b, "plan.shape", "load ladder");
    if (!levels.failed)
        jm_bench_fact(b, "plan.ladder", levels.buf);
    jm_str_release(&levels);
    jm_bench_fact_number(b, "ladder.capacity", capacity);
    jm_bench_fact(b, "ladder.capacity.by", by);
    return 0;
}

int jm_bench_ladder(struct jm_bench_run *b, struct jm_err *err)
{
    size_t n = b->how.levels;
    struct jm_bench_item *item = calloc(n, sizeof *item);
    struct jm_plan **plan = calloc(n, sizeof *plan);
    char(*text)[2][32] = calloc(n, sizeof *text), by[128];
    double capacity = 0;
    int rc = item && plan && text ? find(b, &capacity, by, err) : no_memory(err);
    if (!rc)
        rc = notes(b, capacity, by, err);
    for (size_t i = 0; !rc && i < n; i++) {
        double level = b->how.level[i], offered = capacity * level / 100;
        snprintf(text[i][0], sizeof text[i][0], "load %g %%", level);
        snprintf(text[i][1], sizeof text[i][1], "level-%zu", i);
        item[i] = (struct jm_bench_item){
            .name = text[i][0], .part = text[i][1], .level = level, .offered = offered};
        if (level > 0 && !(plan[i] = jm_bench_scaled(b->plan, offered)))
            rc = no_memory(err);
        item[i].plan = plan[i];
    }
    if (!rc && !b->s->cli->common->quiet)
        jm_cli_say(b->s->cli, "capacity: %.4g requests/s (%s); %zu levels of it follow", capacity, by, n);
    if (!rc)
        rc = jm_bench_turns(b, item, n, err);
    for (size_t i = 0; plan && i < n; i++)
        jm_plan_free(plan[i]);
    if (b->load) /* its plan is gone */
        jm_load_free(b->load);
    b->load = NULL;
    b->lc.plan = b->plan;
    free(plan);
    free(text);
    free(item);
    return rc;
}
