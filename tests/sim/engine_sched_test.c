/* SPDX-License-Identifier: Apache-2.0 */
/* Continuous batching, step by step, against what is written down by hand. */
#include "sim/engine/sched.h"
#include "sim/engine/text.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct sim_model model;

static int setup(void **state)
{
    (void)state;
    char why[256];
    return sim_model_parse((const char *)sim_models_tsv, sim_models_tsv_len, "8b-h100", &model, why,
                           sizeof why);
}

struct seen {
    uint32_t tokens, calls, done;
};

static void got(void *self, struct sim_seq *q, uint32_t n)
{
    struct seen *s = self;
    s->tokens += n;
    s->calls++;
    s->done += q->state == SIM_SEQ_DONE;
}

static bool step(struct sim_sched *s, struct seen *seen)
{
    if (!sim_sched_plan(s, NULL))
        return false;
    sim_sched_finish(s, got, seen);
    return true;
}

static void chunks_and_batch(void **state)
{
    (void)state;
    struct sim_sched s;
    struct sim_sched_options o = {.max_seqs = 2, .max_batched_tokens = 100, .kv_tokens = 16000};
    assert_int_equal(sim_sched_init(&s, &model, &o), 0);
    struct sim_seq a = {.prompt = 150, .target = 3}, b = {.prompt = 30, .target = 2},
                   c = {.prompt = 10, .target = 1};
    struct seen seen = {0};
    sim_sched_add(&s, &a);
    sim_sched_add(&s, &b);
    sim_sched_add(&s, &c);
    /* 1: 100 of a's 150; no budget for others */
    assert_true(sim_sched_plan(&s, NULL));
    assert_int_equal(s.load.prefill_tokens, 100);
    assert_int_equal(s.load.decode_seqs, 0);
    assert_int_equal(s.running.n, 1);
    sim_sched_finish(&s, got, &seen);
    assert_int_equal(seen.tokens, 0);
    /* 2: the other 50 of a (which read the 100 before), 30 of b; c has no place */
    assert_true(sim_sched_plan(&s, NULL));
    assert_int_equal(s.load.prefill_tokens, 80);
    assert_int_equal(s.load.context, 100);
    assert_int_equal(s.running.n, 2);
    assert_int_equal(s.waiting.n, 1);
    assert_int_equal(s.blocks_used, 10 + 2); /* ceil(150/16), ceil(30/16) */
    sim_sched_finish(&s, got, &seen);
    assert_int_equal(seen.tokens, 2);
    /* 3: one token each, contexts 150 and 30; b ends */
    assert_true(sim_sched_plan(&s, NULL));
    assert_int_equal(s.load.prefill_tokens, 0);
    assert_int_equal(s.load.decode_seqs, 2);
    assert_int_equal(s.load.context, 180);
    sim_sched_finish(&s, got, &seen);
    assert_int_equal(seen.tokens, 4);
    assert_int_equal(b.state, SIM_SEQ_DONE);
    /* 4: a's last token and the prompt of c in one step; both end */
    assert_true(sim_sched_plan(&s, NULL));
    assert_int_equal(s.load.prefill_tokens, 10);
    assert_int_equal(s.load.decode_seqs, 1);
    assert_int_equal(s.load.context, 151);
    sim_sched_finish(&s, got, &seen);
    assert_int_equal(seen.tokens, 6);
    assert_int_equal(seen.done, 3);
    assert_int_equal(s.blocks_used, 0);
    assert_false(step(&s, &seen));
    sim_sched_release(&s);
}

static void preemption_recomputes(void **state)
{
    (void)state;
    struct sim_sched s;
    /* 4 blocks of 16 tokens */
    struct sim_sched_options o = {.max_seqs = 8, .max_batched_tokens = 1000, .kv_tokens = 64};
    assert_int_equal(sim_sched_init(&s, &model, &o), 0);
    struct sim_seq a = {.prompt = 30, .target = 20}, b = {.prompt = 30, .target = 20};
    struct seen seen = {0};
    sim_sched_add(&s, &a);
    sim_sched_add(&s, &b);
    int steps = 0;
    while (step(&s, &seen)) {
        steps++;
        assert_true(s.blocks_used <= s.blocks_total);
        assert_true(steps < 1000);
    }
    /* Both prompts take 2 blocks each; the 33rd token of the first to need one has no block: b goes, and
     * comes back when a has ended (a needs 30 + 19 = 49 tokens in the cache: 4 blocks). */
    assert_int_equal(a.preempted, 0);
    assert_int_equal(b.preempted, 1);
    assert_int_equal(s.preemptions, 1);
    assert_int_equal(seen.tokens, 40);
    assert_int_equal(seen.done, 2);
    /* the first token comes with the prompt, the second and third make the cache 31 and 32 long; b had 3
     * tokens by then */
    assert_int_equal(s.recomputed_tokens, 33);
    assert_int_equal(s.prefill_tokens, 30 + 30 + 33);
    assert_int_equal(s.blocks_used, 0);
    sim_sched_release(&s);
}

static void prefixes_are_kept(void **state)
{
    (void)state;
    struct sim_sched s;
    struct sim_sched_options o = {
        .max_seqs = 8, .max_batched_tokens = 1000, .kv_tokens = 1600, .prefix_cache = true};
    assert_int_equal(sim_sched_init(&s, &model, &o), 0);
    uint64_t h[4] = {sim_mix(1, 2), sim_mix(3, 4), sim_mix(5, 6), sim_mix(7, 8)};
    struct sim_seq a = {.prompt = 70, .target = 1, .prefix = h, .nprefix = 4};
    struct sim_seq b = a, c = {.prompt = 64, .target = 1, .prefix = h, .nprefix = 4};
    struct sim_seq d = {.prompt = 40, .target = 1, .prefix = h + 1, .nprefix = 2};
    struct seen seen = {0};
    sim_sched_add(&s, &a);
    assert_true(step(&s, &seen));
    assert_int_equal(a.cached, 0);
    sim_sched_add(&s, &b);
    assert_true(step(&s, &seen));
    assert_int_equal(b.cached, 64);
    assert_int_equal(s.prefill_tokens, 70 + 6);
    sim_sched_add(&s, &c); /* all of it is cached: the last block is computed all the same */
    assert_true(step(&s, &seen));
    assert_int_equal(c.cached, 48);
    sim_sched_add(&s, &d); /* blocks are chained by the caller's hashes: found by value */
    assert_true(step(&s, &seen));
    assert_int_equal(d.cached, 32);
    assert_int_equal(s.prefix_hits, 64 + 48 + 32);
    assert_int_equal(s.prefix_queries, 70 + 70 + 64 + 40);
    sim_sched_release(&s);
}

static void drafts(void **state)
{
    (void)state;
    struct sim_sched_options o = {
        .max_seqs = 4, .max_batched_tokens = 1000, .kv_tokens = 160000, .draft = 3, .accept = 0.7, .seed = 5};
    struct sim_sched s;
    assert_int_equal(sim_sched_init(&s, &model, &o), 0);
    struct sim_seq a = {.prompt = 10, .target = 10000};
    struct seen seen = {0};
    sim_sched_add(&s, &a);
    while (step(&s, &seen))
        ;
    assert_int_equal(seen.tokens, 10000);
    assert_int_equal(a.generated, 10000);
    /* a step yields 1 + .7 + .49 + .343 = 2.533 tokens in the mean (standard error over 3,948 steps: 0.02) */
    double per_step = 9999.0 / (double)(seen.calls - 1);
    assert_true(fabs(per_step - 2.533) < 0.08);
    sim_sched_release(&s);
}

/* Over a random load with aborts: what sequences are charged, finished or not, is what the steps cost. */
static void charges_close(void **state)
{
    (void)state;
    struct sim_sched s;
    struct sim_sched_options o = {
        .max_seqs = 16, .max_batched_tokens = 256, .kv_tokens = 4096, .draft = 2, .accept = 0.5};
    assert_int_equal(sim_sched_init(&s, &model, &o), 0);
    static struct sim_seq q[200];
    memset(q, 0, sizeof q);
    struct seen seen = {0};
    double steps = 0;
    uint32_t added = 0;
    for (int i = 0; i < 5000 && (added < 200 || sim_sched_busy(&s)); i++) {
        if (added < 200 && sim_mix(1, (uint64_t)i) % 3 == 0) {
            q[added].prompt = 1 + (uint32_t)(sim_mix(2, added) % 600);
            q[added].target = 1 + (uint32_t)(sim_mix(3, added) % 60);
            q[added].key = added;
            sim_sched_add(&s, &q[added++]);
        }
        if (!sim_sched_plan(&s, NULL))
            continue;
        steps += sim_energy_sum(&s.cost.joule);
        if (added && i % 7 == 0)
            sim_sched_remove(&s, &q[sim_mix(4, (uint64_t)i) % added]); /* in the middle of a step */
        if (s.running.n == 0) {
            /* nobody is left in it */
            sim_sched_finish(&s, got, &seen);
            continue;
        }
        sim_sched_finish(&s, got, &seen);
    }
    assert_int_equal(added, 200);
    assert_false(sim_sched_busy(&s));
    assert_int_equal(s.blocks_used, 0);
    double charged = 0;
    for (int i = 0; i < 200; i++) {
        assert_int_equal(q[i].state, SIM_SEQ_DONE);
        charged += q[i].joule_prefill + q[i].joule_decode + q[i].joule_shared;
    }
    if (fabs(charged / steps - 1) > 1e-9)
        fail_msg("charged %.9g J of %.9g J", charged, steps);
}

static void words_are_tokens(void **state)
{
    (void)state;
    char text[SIM_WORD_MAX * 2000];
    for (int utf8 = 0; utf8 < 2; utf8++) {
        size_t n = 0;
        for (uint32_t i = 0; i < 2000; i++)
            n += sim_text_word(77, i, utf8, text + n);
        assert_int_equal(sim_text_count(text, n), 2000);
    }
    static const struct {
        const char *text;
        uint64_t tokens;
    } rows[] = {
        {"", 0},
        {"a", 1},
        {" a", 1},
        {"  a", 2},
        {"hello there", 2},
        {"12345", 2},
        {"a, b", 3},
        {"\n\n", 1},
        {"\n\n x", 2},
        {" ", 1},
        {"abcdefghijklmnopqrstuvwxyz", 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (sim_text_count(rows[i].text, strlen(rows[i].text)) != rows[i].tokens)
            fail_msg("\"%s\" has %d tokens", rows[i].text,
                     (int)sim_text_count(rows[i].text, strlen(rows[i].text)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_and_batch),  cmocka_unit_test(preemption_recomputes),
        cmocka_unit_test(prefixes_are_kept), cmocka_unit_test(drafts),
        cmocka_unit_test(charges_close),     cmocka_unit_test(words_are_tokens),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
