/* SPDX-License-Identifier: Apache-2.0 */
#include "batching.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One H100-like board with an 8B model. */
#define IDLE_W     110.0
#define CAP_W      700.0
#define STEP_S     7e-3
#define STEP_J     1.7
#define PREFILL_S  42e-6
#define PREFILL_J  21e-3
#define DECODE_S   45e-6
#define DECODE_J   32e-3 /* x n^0.88: 22 mJ a token at 64 */
#define CONTEXT_S  52e-9
#define CONTEXT_J  16e-6
#define DRIFT      0.06
#define TRANSFER_S 4e-3

struct rng {
    uint64_t s;
};

static double unit(struct rng *r) /* splitmix64 */
{
    uint64_t z = (r->s += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double normal(struct rng *r)
{
    double u = 1 - unit(r), v = unit(r);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static void *grow(void *v, size_t *cap, size_t n, size_t size)
{
    if (n < *cap)
        return v;
    size_t more = *cap ? 2 * *cap : 1024;
    void *p = realloc(v, more * size);
    if (p)
        *cap = more;
    return p;
}

/* What runs in one pool. */
struct pool {
    int id;
    size_t *queue, head, tail, cap; /* requests that wait, in order */
    double *ready;                  /* by place in the queue: not before */
    size_t run[512];
    int n;
    double t; /* the time it has come to */
};

struct live {       /* beside a request */
    int left, done; /* prompt tokens to compute; output tokens made */
    int want;       /* output tokens asked for; aborted ones end at output */
};

struct sim {
    const struct batching_opts *o;
    struct batching *b;
    struct live *live;
    struct pool pool[2];
    struct rng rng;
    struct batching_scrape now;
    double scrape_at;
    double total_s; /* over which the board warms up */
    bool failed;
};

static int pools(const struct sim *s)
{
    return s->o->pools ? 2 : 1;
}

static double warm(const struct sim *s, double t)
{
    return s->o->linear ? 1 : 1 + DRIFT * fmin(1, t / s->total_s);
}

static double idle_w(const struct sim *s, int gpus)
{
    (void)s;
    return IDLE_W * gpus;
}

static int gpus(const struct sim *s)
{
    return s->o->gpus > 0 ? s->o->gpus : 1;
}

/* Joules, evenly over [t, t + dt], into the pool's counters. */
static void book(struct sim *s, int pool, double t, double dt, double joules)
{
    s->b->pool_joules[pool] += joules;
    for (size_t i = 0; i < s->b->n_counters; i++) {
        struct batching_counter *c = &s->b->counter[i];
        double period = s->o->counter_s > 0 ? s->o->counter_s : 0.1, part = joules / gpus(s);
        if (c->pool != pool)
            continue;
        for (;;) {
            double at = c->phase + (double)c->n * period;
            if (at >= t + dt)
                break;
            size_t cap = c->cap;
            double *ts = grow(c->t, &cap, c->n, sizeof *ts);
            if (ts)
                c->t = ts;
            int64_t *mj = ts ? grow(c->mj, &c->cap, c->n, sizeof *mj) : NULL;
            if (!mj) {
                s->failed = true;
                return;
            }
            c->mj = mj;
            c->t[c->n] = at;
            c->mj[c->n++] = (int64_t)floor((c->joules + part * (at - t) / dt) * 1e3);
        }
        c->joules += part;
    }
}

static void scrape(struct sim *s, double upto)
{
    double period = s->o->scrape_s > 0 ? s->o->scrape_s : 1;
    while (s->scrape_at <= upto && !s->failed) {
        struct batching_scrape *v = grow(s->b->scrape, &s->b->cap_scrapes, s->b->n_scrapes, sizeof *v);
        if (!v) {
            s->failed = true;
            return;
        }
        s->b->scrape = v;
        v[s->b->n_scrapes] = s->now;
        v[s->b->n_scrapes].t = s->scrape_at;
        v[s->b->n_scrapes].running = s->pool[0].n + (pools(s) > 1 ? s->pool[1].n : 0);
        v[s->b->n_scrapes].waiting = (double)(s->pool[0].tail - s->pool[0].head);
        s->b->n_scrapes++;
        s->scrape_at += period;
    }
}

static bool enqueue(struct sim *s, struct pool *p, size_t q, double ready)
{
    if (p->tail == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 1024;
        size_t *v = realloc(p->queue, cap * sizeof *v);
        double *r = v ? realloc(p->ready, cap * sizeof *r) : NULL;
        if (v)
            p->queue = v;
        if (r)
            p->ready = r;
        if (!v || !r) {
            s->failed = true;
            return false;
        }
        p->cap = cap;
    }
    p->queue[p->tail] = q;
    p->ready[p->tail++] = ready;
    return true;
}

static double stamp(struct sim *s, double t, double not_before)
{
    return fmax(not_before, t + s->o->jitter_s * normal(&s->rng));
}

static void token(struct sim *s, size_t k, double t)
{
    struct batching *b = s->b;
    struct batching_request *q = &b->request[k];
    double v = stamp(s, t, q->events ? q->last : q->sent);
    /* the stamps of one request lie together: room for all of them was kept */
    b->event[q->event + q->events++] = v;
    if (q->events == 1)
        q->first = v;
    q->last = v;
    q->output++;
    s->live[k].done++;
}

/* One iteration of a pool that has something to do. */
static void iteration(struct sim *s, struct pool *p)
{
    struct batching *b = s->b;
    int chunk = s->o->chunk > 0 ? s->o->chunk : 2048, most = s->o->max_batch > 0 ? s->o->max_batch : 64,
        np = 0, nd = 0, room, given[512], ended = 0;
    double ctx = 0;
    bool prefills = !s->o->pools || p->id == 0;
    if (most > 512)
        most = 512;
    while (p->n < most && p->head < p->tail && p->ready[p->head] <= p->t) {
        size_t k = p->queue[p->head++];
        if (prefills) {
            b->request[k].scheduled = p->t;
            s->now.queue_s += p->t - b->request[k].sent;
        }
        p->run[p->n++] = k;
    }
    for (int i = 0; i < p->n; i++)
        if (s->live[p->run[i]].left == 0) {
            const struct batching_request *q = &b->request[p->run[i]];
            nd++;
            ctx += q->prompt + s->live[p->run[i]].done;
        }
    room = chunk - nd;
    for (int i = 0; i < p->n; i++) {
        int left = s->live[p->run[i]].left;
        given[i] = left < room ? left : room;
        room -= given[i];
        np += given[i];
    }
    bool hard = !s->o->linear;
    double w = warm(s, p->t), g = gpus(s), per_p = PREFILL_J * w,
           e_d = DECODE_J * w * (hard ? pow(nd, 0.88) : nd * 0.7), e_c = CONTEXT_J * w * ctx,
           dt = STEP_S + (PREFILL_S * np + DECODE_S * nd + CONTEXT_S * ctx) / (g > 1 ? 0.8 * g : 1);
    if (hard)
        per_p *= (nd ? 0.8 : 1) * (1 - 0.15 * np / chunk);
    double dynamic = STEP_J * w + per_p * np + e_d + e_c, base = idle_w(s, (int)g) * w;
    if (hard && dynamic / dt + base > CAP_W * g)
        dt = dynamic / (CAP_W * g - base);
    double fixed = STEP_J * w + base * dt, active = 0;
    for (int i = 0; i < p->n; i++)
        active += given[i] > 0 || s->live[p->run[i]].left == 0;
    book(s, p->id, p->t, dt, dynamic + base * dt);
    p->t += dt;
    s->now.steps++;
    for (int i = 0; i < p->n; i++) {
        size_t k = p->run[i];
        struct batching_request *q = &b->request[k];
        struct live *l = &s->live[k];
        if (l->left > 0) {
            if (given[i] == 0)
                continue;
            double own = per_p * given[i];
            q->joules += own + fixed / active;
            q->prefill += own + fixed / active;
            q->marginal_prefill += own;
            l->left -= given[i];
            s->now.prompt += given[i];
            if (l->left == 0) {
                token(s, k, p->t);
                s->now.generated++;
                s->now.prefill_s += p->t - q->scheduled;
            }
        } else {
            double own = e_d / nd + CONTEXT_J * w * (q->prompt + l->done);
            q->joules += own + fixed / active;
            q->marginal_decode += own;
            token(s, k, p->t);
            s->now.generated++;
        }
        bool last = l->left == 0 && l->done >= l->want;
        if (last) {
            s->now.ended++;
        } else if (l->left == 0 && s->o->pools && p->id == 0) {
            enqueue(s, &s->pool[1], k, p->t + TRANSFER_S);
            last = true;
        }
        if (last) {
            p->run[i] = SIZE_MAX;
            ended++;
        }
    }
    if (ended) {
        int n = 0;
        for (int i = 0; i < p->n; i++)
            if (p->run[i] != SIZE_MAX)
                p->run[n++] = p->run[i];
        p->n = n;
    }
}

static void rest(struct sim *s, struct pool *p, double to)
{
    while (p->t < to) { /* in short pieces, as it warms up */
        double dt = fmin(to - p->t, 0.5), j = idle_w(s, gpus(s)) * warm(s, p->t) * dt;
        book(s, p->id, p->t, dt, j);
        s->b->idle_joules += j;
        p->t += dt;
    }
    p->t = to;
}

static bool busy(const struct pool *p)
{
    return p->n > 0 || (p->head < p->tail && p->ready[p->head] <= p->t);
}

static double next(const struct pool *p)
{
    return p->head < p->tail ? p->ready[p->head] : INFINITY;
}

/* Everything that is to be sent by `until` has been put in the queue of pool 0. */
static void run_to(struct sim *s, double until, bool drain)
{
    while (!s->failed) {
        struct pool *p = &s->pool[0];
        if (pools(s) > 1 && s->pool[1].t < p->t)
            p = &s->pool[1];
        bool left = false;
        for (int i = 0; i < pools(s); i++)
            left |= s->pool[i].n > 0 || s->pool[i].head < s->pool[i].tail;
        if (drain ? !left && p->t >= until : p->t >= until)
            break;
        if (busy(p)) {
            iteration(s, p);
        } else {
            double other = pools(s) > 1 ? s->pool[1 - p->id].t : INFINITY, to = next(p);
            if (to == INFINITY || to > until)
                to = fmax(until, p->t);
            if (pools(s) > 1 && left && other > p->t) /* what the other one may yet hand over */
                to = fmin(fmin(next(p), other), isfinite(next(p)) ? INFINITY : other);
            if (!(to > p->t))
                to = p->t + 1e-3;
            rest(s, p, to);
        }
        double least = p->t;
        for (int i = 0; i < pools(s); i++)
            least = fmin(least, s->pool[i].t);
        scrape(s, least);
    }
}

static int lognormal(struct sim *s, double median, double sigma, int least, int most)
{
    double v = median * exp(sigma * normal(&s->rng));
    return v < least ? least : v > most ? most : (int)v;
}

static bool add(struct sim *s, double at, int prompt, int want, bool burst)
{
    struct batching *b = s->b;
    size_t cap = b->cap_requests;
    struct batching_request *v = grow(b->request, &b->cap_requests, b->n_requests, sizeof *v);
    if (!v)
        return false;
    b->request = v;
    if (cap != b->cap_requests) {
        struct live *l = realloc(s->live, b->cap_requests * sizeof *l);
        if (!l)
            return false;
        s->live = l;
    }
    size_t k = b->n_requests++;
    bool aborts = !burst && unit(&s->rng) < s->o->abort_share,
         caches = !burst && unit(&s->rng) < s->o->cached_share;
    v[k] = (struct batching_request){.sent = at,
                                     .prompt = prompt,
                                     .cached = caches ? prompt / 2 : 0,
                                     .end = aborts ? BATCHING_ABORTED : BATCHING_OK,
                                     .event = b->n_events,
                                     .burst = burst};
    s->live[k] = (struct live){.left = prompt - v[k].cached, .want = aborts ? (want + 1) / 2 : want};
    while (b->n_events + (size_t)want > b->cap_events) {
        size_t more = b->cap_events ? 2 * b->cap_events : 65536;
        double *e = realloc(b->event, more * sizeof *e);
        if (!e)
            return false;
        b->event = e;
        b->cap_events = more;
    }
    b->n_events += (size_t)want;
    return enqueue(s, &s->pool[0], k, at);
}

static void bursts(struct sim *s)
{
    struct batching *b = s->b;
    double t = s->o->idle_s;
    for (int k = 0; k < 2 && !s->failed; k++) {
        b->burst[k][0] = t;
        for (double at = t; at < t + s->o->bursts_s; at += k ? 0.2 + 0.3 * unit(&s->rng) : 0.06)
            if (!add(s, at, k ? 1 : lognormal(s, 270, 1, 4, 4096), k ? 100 : 1, true))
                s->failed = true;
        run_to(s, t + s->o->bursts_s, true);
        t = ceil(fmax(s->pool[0].t, s->o->pools ? s->pool[1].t : 0) * 10) / 10 + 0.1;
        run_to(s, t, true);
        b->burst[k][1] = t;
        t += 1;
        run_to(s, t, true);
    }
}

bool batching_run(const struct batching_opts *o, struct batching *b)
{
    struct sim s = {.o = o, .b = b, .rng = {o->seed * 0x9e3779b97f4a7c15u + 12345}};
    memset(b, 0, sizeof *b);
    s.pool[1].id = 1;
    s.scrape_at = 0.37;
    s.total_s = o->idle_s + o->seconds + 4 * o->bursts_s;
    b->n_counters = (size_t)(pools(&s) * gpus(&s));
    b->counter = calloc(b->n_counters, sizeof *b->counter);
    if (!b->counter)
        return false;
    for (size_t i = 0; i < b->n_counters; i++) {
        b->counter[i].pool = (int)i / gpus(&s);
        b->counter[i].phase = i ? unit(&s.rng) * (o->counter_s > 0 ? o->counter_s : 0.1) : 0;
    }
    b->idle_w[0] = idle_w(&s, gpus(&s));
    b->idle_w[1] = o->pools ? b->idle_w[0] : 0;
    run_to(&s, o->idle_s, true);
    if (o->bursts_s > 0)
        bursts(&s);
    b->from = fmax(s.pool[0].t, o->pools ? s.pool[1].t : 0);
    b->to = b->from + o->seconds;
    for (double at = b->from - log(1 - unit(&s.rng)) / o->rate; at < b->to && !s.failed;
         at -= log(1 - unit(&s.rng)) / o->rate) {
        int prompt = o->isl > 0 ? (int)o->isl : lognormal(&s, 270, 1, 4, 8000),
            want = o->osl > 0 ? (int)o->osl : lognormal(&s, 181, 0.9, 2, 2000);
        if (!add(&s, at, prompt, want, false))
            s.failed = true;
        run_to(&s, at, false);
    }
    run_to(&s, b->to, true);
    for (int i = 0; i < pools(&s); i++)
        b->end = fmax(b->end, s.pool[i].t);
    b->end += o->idle_s > 0 ? o->idle_s : 1;
    for (int i = 0; i < pools(&s); i++)
        rest(&s, &s.pool[i], b->end);
    scrape(&s, b->end);
    for (int i = 0; i < 2; i++) {
        free(s.pool[i].queue);
        free(s.pool[i].ready);
    }
    free(s.live);
    return !s.failed;
}

void batching_release(struct batching *b)
{
    for (size_t i = 0; i < b->n_counters; i++) {
        free(b->counter[i].t);
        free(b->counter[i].mj);
    }
    free(b->counter);
    free(b->request);
    free(b->event);
    free(b->scrape);
    memset(b, 0, sizeof *b);
}
