/* SPDX-License-Identifier: Apache-2.0 */
#include "sched.h"

#include <stdlib.h>
#include <string.h>

uint64_t sim_mix(uint64_t a, uint64_t b)
{
    /* the finalizer of splitmix64 */
    uint64_t x = a ^ (b * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u);
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void list_push(struct sim_seq_list *l, struct sim_seq *q, bool front)
{
    q->prev = front ? NULL : l->tail;
    q->next = front ? l->head : NULL;
    *(q->prev ? &q->prev->next : &l->head) = q;
    *(q->next ? &q->next->prev : &l->tail) = q;
    l->n++;
}

static void list_cut(struct sim_seq_list *l, struct sim_seq *q)
{
    *(q->prev ? &q->prev->next : &l->head) = q->next;
    *(q->next ? &q->next->prev : &l->tail) = q->prev;
    q->prev = q->next = NULL;
    l->n--;
}

int sim_sched_init(struct sim_sched *s, const struct sim_model *m, const struct sim_sched_options *opt)
{
    memset(s, 0, sizeof *s);
    s->model = m;
    s->opt = *opt;
    s->blocks_total = opt->kv_tokens / SIM_BLOCK;
    if (opt->prefix_cache) {
        s->prefix = calloc(SIM_PREFIX_SLOTS, sizeof *s->prefix);
        if (!s->prefix)
            return -1;
    }
    return 0;
}

void sim_sched_release(struct sim_sched *s)
{
    free(s->prefix);
    s->prefix = NULL;
}

void sim_sched_add(struct sim_sched *s, struct sim_seq *q)
{
    q->state = SIM_SEQ_WAITING;
    list_push(&s->waiting, q, false);
}

static void free_blocks(struct sim_sched *s, struct sim_seq *q)
{
    s->blocks_used -= q->blocks;
    q->blocks = 0;
}

/* What must be in the cache before the next token can be sampled: prompt and, after a preemption, all that
 * was generated. */
static uint32_t need(const struct sim_seq *q)
{
    return q->prompt + q->generated;
}

static uint64_t blocks_for(uint64_t tokens)
{
    return (tokens + SIM_BLOCK - 1) / SIM_BLOCK;
}

static bool grow(struct sim_sched *s, struct sim_seq *q, uint64_t tokens)
{
    uint64_t want = blocks_for(tokens);
    if (want <= q->blocks)
        return true;
    if (s->blocks_used + (want - q->blocks) > s->blocks_total)
        return false;
    s->blocks_used += want - q->blocks;
    q->blocks = (uint32_t)want;
    return true;
}

/* True when q itself had to go. */
static bool preempt_last(struct sim_sched *s, struct sim_seq *q)
{
    struct sim_seq *v = s->running.tail; /* q or behind it, so without a part in the step being planned */
    if (!v)
        return true; /* cannot be: q is in the list */
    list_cut(&s->running, v);
    free_blocks(s, v);
    v->computed = 0;
    v->state = SIM_SEQ_WAITING;
    v->preempted++;
    s->preemptions++;
    list_push(&s->waiting, v, true);
    return v == q;
}

static void schedule(struct sim_sched *s, struct sim_seq *q, uint32_t n, uint32_t draft, uint32_t *budget)
{
    bool decode = q->generated > 0 && q->computed + 1 == need(q);
    if (decode) {
        q->now_decode = 1;
        q->now_draft = draft;
        s->load.decode_seqs++;
        s->load.decode_tokens += 1 + draft;
    } else {
        q->now_prefill = n;
        s->load.prefill_tokens += n;
    }
    s->load.context += q->computed;
    s->active++;
    *budget -= n + (decode ? draft : 0);
}

static uint32_t prefix_lookup(const struct sim_sched *s, const struct sim_seq *q)
{
    uint32_t hit = 0;
    while (hit < q->nprefix && s->prefix[q->prefix[hit] % SIM_PREFIX_SLOTS] == q->prefix[hit])
        hit++;
    uint32_t tokens = hit * SIM_BLOCK;
    /* At least one token must be computed, else nothing could be sampled; vLLM drops a whole block. */
    return tokens >= q->prompt ? tokens - SIM_BLOCK : tokens;
}

static bool admit(struct sim_sched *s, struct sim_seq *q, uint32_t *budget)
{
    uint32_t hit = s->prefix && q->prefix && q->nprefix ? prefix_lookup(s, q) : 0;
    uint32_t n = need(q) - hit;
    if (n > *budget)
        n = *budget;
    if (!grow(s, q, (uint64_t)hit + n))
        return false;
    if (!q->admitted) {
        q->cached = hit;
        s->prefix_queries += s->prefix ? q->prompt : 0;
        s->prefix_hits += hit;
    }
    q->admitted = true;
    q->computed = hit;
    list_cut(&s->waiting, q);
    list_push(&s->running, q, false);
    q->state = SIM_SEQ_RUNNING;
    schedule(s, q, n, 0, budget);
    return true;
}

bool sim_sched_plan(struct sim_sched *s, const struct sim_limits *lim)
{
    memset(&s->load, 0, sizeof s->load);
    s->active = 0;
    uint32_t budget = s->opt.max_batched_tokens;
    uint64_t preemptions = s->preemptions;
    struct sim_seq *next;
    for (struct sim_seq *q = s->running.head; q; q = next) {
        next = q->next;
        q->now_prefill = q->now_decode = q->now_draft = 0;
        if (budget == 0)
            continue;
        uint32_t n = need(q) - q->computed, draft = 0;
        if (q->generated > 0 && n == 1) {
            uint32_t left = q->target - q->generated - 1;
            draft = s->opt.draft < left ? s->opt.draft : left;
            if (draft > budget - 1)
                draft = budget - 1;
        } else if (n > budget)
            n = budget;
        bool gone = false;
        while (!gone && !grow(s, q, (uint64_t)q->computed + n + draft))
            gone = preempt_last(s, q);
        if (gone)
            break;      /* it was the last one */
        next = q->next; /* those behind may have been preempted */
        schedule(s, q, n, draft, &budget);
    }
    if (preemptions == s->preemptions)
        while (budget > 0 && s->waiting.head && s->running.n < s->opt.max_seqs &&
               admit(s, s->waiting.head, &budget))
            ;
    s->in_step = s->load.prefill_tokens > 0 || s->load.decode_seqs > 0;
    if (s->in_step)
        sim_model_cost(s->model, &s->load, lim, &s->cost);
    return s->in_step;
}

/* Tokens that a step with a draft yields: one, and each proposed token while all before it were accepted. */
static uint32_t accepted(const struct sim_sched *s, const struct sim_seq *q)
{
    uint32_t n = 1;
    while (n <= q->now_draft) {
        uint64_t r = sim_mix(sim_mix(s->opt.seed, q->key), (uint64_t)q->generated << 8 | n);
        if ((double)(r >> 11) * 0x1p-53 >= s->opt.accept)
            break;
        n++;
    }
    return n;
}

static void charge(const struct sim_sched *s, struct sim_seq *q)
{
    const struct sim_cost *c = &s->cost;
    q->joule_shared += (c->joule.idle + c->joule.fixed) / s->active;
    double *phase = q->now_decode ? &q->joule_decode : &q->joule_prefill;
    if (s->load.context)
        *phase += c->joule.context * (double)q->computed / (double)s->load.context;
    if (q->now_prefill)
        *phase += c->joule.prefill * q->now_prefill / s->load.prefill_tokens;
    else
        *phase += c->joule.decode * (1 + q->now_draft) / s->load.decode_tokens;
}

void sim_sched_remove(struct sim_sched *s, struct sim_seq *q)
{
    if (q->state == SIM_SEQ_WAITING)
        list_cut(&s->waiting, q);
    else if (q->state == SIM_SEQ_RUNNING) {
        if (s->in_step && (q->now_prefill || q->now_decode))
            charge(s, q);
        list_cut(&s->running, q);
    } else
        return;
    free_blocks(s, q);
    q->state = SIM_SEQ_DONE;
}

void sim_sched_finish(struct sim_sched *s, void (*got)(void *self, struct sim_seq *q, uint32_t tokens),
                      void *self)
{
    s->in_step = false;
    s->steps++;
    s->prefill_tokens += s->load.prefill_tokens;

    for (struct sim_seq *q = s->running.head; q; q = q->next) {
        if (!q->now_prefill && !q->now_decode)
            continue;
        charge(s, q);
        if (q->now_prefill) {
            s->recomputed_tokens += q->preempted && q->generated ? q->now_prefill : 0;
            q->computed += q->now_prefill;
            q->now_decode = q->computed == need(q); /* from here on: tokens got */
            q->now_prefill = 0;
            if (q->now_decode && s->prefix && q->prefix)
                for (uint32_t i = 0; i < q->nprefix; i++)
                    s->prefix[q->prefix[i] % SIM_PREFIX_SLOTS] = q->prefix[i];
        } else {
            uint32_t n = accepted(s, q);
            s->draft_tokens += q->now_draft;
            s->draft_accepted += n - 1;
            q->computed += n;
            q->now_decode = n;
            s->decode_tokens += n;
        }
        q->now_draft = 0;
    }
    struct sim_seq *next;
    for (struct sim_seq *q = s->running.head; q; q = next) {
        next = q->next;
        uint32_t n = q->now_decode;
        if (!n)
            continue;
        q->now_decode = 0;
        q->generated += n;
        if (q->generated >= q->target) {
            list_cut(&s->running, q);
            free_blocks(s, q);
            q->state = SIM_SEQ_DONE;
        }
        got(self, q, n);
    }
}
