/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/sched.h"

#define NS 1e9

struct job {
    struct sim_seq seq;
    size_t req; /* in plant.req */
    bool started;
};

struct run {
    struct plant *pl;
    struct sim_model m;
    int64_t now;
    int first, share;          /* boards first .. first + model.gpus - 1; engines beside it */
    double spread[PLANT_GPUS]; /* boards of one kind differ by some percent at the same work */
    float *busy;
    struct job *job;
    size_t jobs, next;
};

/* Power of the boards over [t0, t1): steps are cut where the engine's step begins or ends. */
static void power(struct run *r, int64_t t0, int64_t t1, double w, bool busy)
{
    struct plant *pl = r->pl;
    for (int64_t t = t0; t < t1;) {
        size_t i = (size_t)(t / PLANT_STEP_NS);
        int64_t end = (int64_t)(i + 1) * PLANT_STEP_NS;
        end = end < t1 ? end : t1;
        if (i >= pl->n)
            return;
        double part = (double)(end - t) / (double)PLANT_STEP_NS;
        for (int g = 0; g < r->m.gpus; g++)
            pl->part[pl->first_gpu + r->first + g].p[i] += w * r->spread[g] * part;
        r->busy[i] += busy ? (float)(part / r->share) : 0;
        t = end;
    }
}

static void got(void *self, struct sim_seq *q, uint32_t tokens)
{
    struct run *r = self;
    struct job *j = q->owner;
    struct plant_request *x = &r->pl->req[j->req];
    if (tokens && !j->started) {
        x->first = r->now;
        j->started = true;
    }
    if (q->state == SIM_SEQ_DONE)
        x->last = r->now;
}

static uint32_t length(uint64_t *s, double mean, double most)
{
    double x = mean * exp(0.6 * plant_normal(s) - 0.18); /* lognormal with that mean */
    return (uint32_t)fmin(most, fmax(1, x));
}

/* Requests a second that fill the engine: by the cost of steps with a full batch. */
static double capacity(const struct sim_model *m, const struct plant_conf *c)
{
    uint32_t batch = 64;
    struct sim_load load = {.decode_seqs = batch,
                            .decode_tokens = batch,
                            .prefill_tokens = (uint32_t)(batch * c->isl / c->osl),
                            .context = (uint64_t)(batch * (c->isl + c->osl / 2))};
    struct sim_cost cost;
    sim_model_cost(m, &load, NULL, &cost);
    return batch / cost.seconds / c->osl;
}

static int arrivals(struct run *r, double rate, uint64_t seed, int engine)
{
    struct plant *pl = r->pl;
    uint64_t s = seed;
    double end = (double)pl->n * (double)PLANT_STEP_NS / NS;
    for (double t = -log(plant_uniform(&s)) / rate; rate > 0 && t < end; t -= log(plant_uniform(&s)) / rate) {
        if (pl->reqs == pl->req_room) {
            size_t room = pl->req_room ? 2 * pl->req_room : 1024;
            struct plant_request *v = realloc(pl->req, room * sizeof *v);
            if (!v)
                return -1;
            pl->req = v;
            pl->req_room = room;
        }
        uint32_t p = length(&s, pl->conf.isl, 16000), o = length(&s, pl->conf.osl, 8000);
        pl->req[pl->reqs++] = (struct plant_request){
            .arrive = (int64_t)(t * NS), .first = -1, .last = -1, .prompt = p, .output = o, .engine = engine};
        r->jobs++;
    }
    return 0;
}

static int serve(struct run *r, size_t first_req, uint64_t seed)
{
    struct sim_sched sched;
    struct sim_sched_options o = {.max_seqs = (uint32_t)r->m.max_num_seqs,
                                  .max_batched_tokens = (uint32_t)r->m.max_num_batched_tokens,
                                  .kv_tokens = sim_model_kv_tokens(&r->m),
                                  .seed = seed};
    double idle = sim_model_loaded_idle_w(&r->m);
    int64_t end = (int64_t)r->pl->n * PLANT_STEP_NS;
    if (sim_sched_init(&sched, &r->m, &o) < 0)
        return -1;
    r->job = calloc(r->jobs ? r->jobs : 1, sizeof *r->job);
    for (int64_t t = 0; r->job && t < end;) {
        for (; r->next < r->jobs && r->pl->req[first_req + r->next].arrive <= t; r->next++) {
            struct job *j = &r->job[r->next];
            j->req = first_req + r->next;
            j->seq.owner = j;
            j->seq.key = j->req;
            j->seq.prompt = r->pl->req[j->req].prompt;
            j->seq.target = r->pl->req[j->req].output;
            sim_sched_add(&sched, &j->seq);
        }
        if (sim_sched_plan(&sched, NULL)) {
            int64_t step = llround(sched.cost.seconds * NS);
            r->now = t + (step > 0 ? step : 1);
            power(r, t, r->now, sched.cost.watts, true);
            sim_sched_finish(&sched, got, r);
        } else {
            r->now = r->next < r->jobs ? r->pl->req[first_req + r->next].arrive : end;
            r->now = r->now < end ? r->now : end;
            power(r, t, r->now, idle, false);
        }
        t = r->now;
    }
    int rc = r->job ? 0 : -1;
    free(r->job);
    sim_sched_release(&sched);
    return rc;
}

int plant_load(struct plant *pl, float *busy, char *why, size_t n)
{
    const struct plant_conf *c = &pl->conf;
    struct sim_model m;
    *why = 0;
    if (sim_model_parse((const char *)sim_models_tsv, sim_models_tsv_len,
                        c->gpus >= 4 ? "70b-4xh100" : "8b-h100", &m, why, n) < 0)
        return -1;
    int engines = (int)c->gpus / m.gpus;
    for (int e = 0; e < engines; e++) {
        struct run r = {.pl = pl, .m = m, .first = e * m.gpus, .share = engines, .busy = busy};
        double full = capacity(&m, c);
        size_t first = pl->reqs;
        uint64_t seed = sim_mix((uint64_t)c->seed, (uint64_t)e + 11), s = seed + 1;
        for (int g = 0; g < m.gpus && g < PLANT_GPUS; g++)
            r.spread[g] = 1 + 0.03 * (2 * plant_uniform(&s) - 1);
        pl->capacity += full;
        seed = c->course > 0 ? sim_mix(seed, (uint64_t)c->course) : seed;
        if (arrivals(&r, full * c->load, seed, e) < 0 || serve(&r, first, seed) < 0)
            return -1;
    }
    for (int g = engines * m.gpus; g < (int)c->gpus; g++) /* boards that no engine has */
        for (size_t i = 0; i < pl->n; i++)
            pl->part[pl->first_gpu + g].p[i] = m.board.idle_w;
    return 0;
}
