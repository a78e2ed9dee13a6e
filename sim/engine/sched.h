/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Continuous batching with chunked prefill, in the manner of vLLM V1, in virtual time: it knows no clock and
 * no socket.
 *
 * A step gives every running sequence its next token, or as much of its remaining prompt as the token budget
 * allows, first come first served; then waiting sequences are admitted while there is budget, a place and KV
 * cache. When a running sequence needs a block and none is free, the sequence that was admitted last is
 * preempted: its blocks are freed and it computes its prompt and what it had generated anew. Shared prompt
 * prefixes can be kept (cached blocks are not recomputed).
 */
#ifndef SIM_ENGINE_SCHED_H
#define SIM_ENGINE_SCHED_H

#include "model.h"

#define SIM_BLOCK 16u /* tokens in a KV block, vLLM's default */

enum sim_seq_state { SIM_SEQ_NEW, SIM_SEQ_WAITING, SIM_SEQ_RUNNING, SIM_SEQ_DONE };

struct sim_seq {
    /* set by the caller before sim_sched_add */
    void *owner;
    uint64_t key;    /* decides, with the seed, which draft tokens are accepted */
    uint32_t prompt; /* tokens */
    uint32_t target; /* tokens to generate, >= 1 */
    const uint64_t
        *prefix; /* chained hashes of the full prompt blocks, borrowed until done; NULL: no cache */
    uint32_t nprefix;

    /* read by the caller */
    enum sim_seq_state state;
    uint32_t cached; /* prompt tokens found in the prefix cache at first admission */
    uint32_t generated;
    uint32_t preempted;                               /* times */
    bool admitted;                                    /* at least once */
    double joule_prefill, joule_decode, joule_shared; /* its part, see sim_sched_finish */

    /* the scheduler's */
    struct sim_seq *prev, *next;
    uint32_t computed; /* tokens in the cache */
    uint32_t blocks;
    uint32_t now_prefill, now_decode, now_draft; /* in the step under way */
    bool first_chunk;
};

struct sim_seq_list {
    struct sim_seq *head, *tail;
    uint32_t n;
};

struct sim_sched_options {
    uint32_t max_seqs, max_batched_tokens;
    uint64_t kv_tokens;
    uint32_t draft; /* speculative tokens proposed per step, 0: none */
    double accept;  /* chance that a proposed token is accepted, given the one before was */
    bool prefix_cache;
    uint64_t seed;
};

/* Recently seen prompt blocks, a direct-mapped set: a full cache forgets, it never grows. */
#define SIM_PREFIX_SLOTS                                                                                     \
    (1u << 20) /* few blocks meet: a conversation that loses one, loses what follows it */

struct sim_sched {
    const struct sim_model *model;
    struct sim_sched_options opt;
    struct sim_seq_list waiting, running;
    uint64_t blocks_total, blocks_used;
    bool in_step;
    struct sim_load load; /* of the step under way */
    struct sim_cost cost;
    uint32_t active; /* sequences in it */
    uint64_t *prefix;

    /* totals */
    uint64_t steps, preemptions, prefill_tokens, recomputed_tokens, decode_tokens, draft_tokens,
        draft_accepted;
    uint64_t prefix_queries, prefix_hits; /* tokens */
};

int sim_sched_init(struct sim_sched *s, const struct sim_model *m, const struct sim_sched_options *opt);
void sim_sched_release(struct sim_sched *s);
void sim_sched_add(struct sim_sched *s, struct sim_seq *q);
/* Takes a sequence out, between or during steps; a step under way keeps its cost. */
void sim_sched_remove(struct sim_sched *s, struct sim_seq *q);
/* Plans a step under these limits: false when there is nothing to do. The cost is in s->cost. */
bool sim_sched_plan(struct sim_sched *s, const struct sim_limits *lim);
/* Ends the step under way. got() hears of each sequence that got tokens, in order of admission; it may remove
 * that sequence, no other, and add none. A sequence that reached its target is DONE and out of the lists by
 * then. Each sequence is charged what its own tokens and context cost; fixed and idle energy are shared
 * equally by the sequences of the step. */
void sim_sched_finish(struct sim_sched *s, void (*got)(void *self, struct sim_seq *q, uint32_t tokens),
                      void *self);
static inline bool sim_sched_busy(const struct sim_sched *s)
{
    return s->running.n > 0 || s->waiting.n > 0;
}

uint64_t sim_mix(uint64_t a, uint64_t b); /* a good 64-bit hash of two words */

#endif
