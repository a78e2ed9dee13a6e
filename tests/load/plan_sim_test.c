/* SPDX-License-Identifier: Apache-2.0 */
/* Plans against the simulated engine, which counts tokens, caches prefixes and sees who leaves on its own. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "load/plan.h"
#include "simkit.h"

static struct jm_slice *one(struct jm_plan *p, const char *name, enum jm_arrive a, double rate, int users)
{
    struct jm_slice *s = jm_plan_add(p);
    snprintf(s->name, sizeof s->name, "%s", name);
    s->arrive = a;
    s->rate = rate;
    s->users = users;
    s->isl = (struct jm_length){.kind = JM_LEN_FIXED, .min = 200, .max = 200};
    s->osl = (struct jm_length){.kind = JM_LEN_FIXED, .min = 40, .max = 40};
    return s;
}

static int64_t truth(const struct simkit *e, const char *room, const char *key)
{
    struct jm_str text;
    struct jm_json *doc = NULL;
    int64_t v = -1;
    jm_str_init(&text);
    assert_int_equal(jm_file_read(e->truth, 64 << 20, &text, NULL), 0);
    assert_int_equal(jm_json_parse(jm_str_span(&text), &doc, NULL), 0);
    assert_true(jm_json_i64(jm_json_get(jm_json_get(doc, room), key), &v));
    jm_json_free(doc);
    jm_str_release(&text);
    return v;
}

static int by_turn(const void *a, const void *b)
{
    const struct jm_request *x = a, *y = b;
    return x->session != y->session ? (x->session < y->session ? -1 : 1) : x->turn - y->turn;
}

/* Each turn sends all that was said before, word by word, with the new words of 200 tokens and what the
 * template adds for two messages more (4 each, docs/sim-engine.md); so the engine finds what it computed for
 * the turn before in its cache, whole blocks of 16. */
static void conversations_carry_their_history(void **state)
{
    static struct simkit_book b;
    struct simkit e;
    (void)state;
    for (int open = 0; open < 2; open++) {
        simkit_start(&e, "--prompt-tokens-details", NULL);
        struct jm_plan *p = jm_plan_new();
        struct jm_slice *s = one(p, "talk", open ? JM_ARRIVE_POISSON : JM_ARRIVE_CLOSED, 40, open ? 0 : 3);
        s->turns = (struct jm_length){.kind = JM_LEN_FIXED, .min = 4, .max = 4};
        s->think_ns = 5 * MS;
        struct jm_load_cfg cfg = simkit_cfg(&e);
        cfg.plan = p;
        cfg.concurrency = 0;
        cfg.threads = 2;
        cfg.max_requests = open ? 6 : 24; /* arrivals are beginnings of conversations */
        s->count = open ? 6 : 0;
        int want = 24;
        cfg.max_requests = want;
        simkit_run(&cfg, &b);
        assert_int_equal(b.n, want);
        qsort(b.r, (size_t)b.n, sizeof *b.r, by_turn);
        int hits = 0;
        for (int i = 0; i < b.n; i++) {
            const struct jm_request *r = &b.r[i];
            assert_int_equal(r->end, JM_END_OK);
            assert_string_equal(r->slice, "talk");
            assert_true(r->session > 0 && r->turn >= 0 && r->turn < 4);
            if (r->turn == 0) {
                assert_int_equal(r->prompt_tokens, 200);
                continue;
            }
            const struct jm_request *before = r - 1;
            assert_true(before->session == r->session && before->turn == r->turn - 1);
            assert_int_equal(r->prompt_tokens, before->prompt_tokens + before->output_tokens + 200 + 8);
            hits += r->cached_tokens >= before->prompt_tokens - 16;
            assert_true(r->t[JM_T_SCHEDULED] >= before->t[JM_T_DONE] + 5 * MS);
        }
        /* Of 18. The simulated cache has one place a block in 2^20, and some 400 blocks: two of them meet in
         * one of 13 runs, and whose turns then find their history depends on who comes when. Without history
         * none would. */
        assert_true(hits >= 9);
        simkit_stop(&e);
        jm_plan_free(p);
    }
}

static void what_the_plan_gives_up_the_server_sees_leave(void **state)
{
    static struct simkit_book b;
    struct simkit e;
    int cancelled = 0;
    (void)state;
    simkit_start(&e, "--speed", "8", NULL); /* half a second an answer: a client is rarely that late */
    struct jm_plan *p = jm_plan_new();
    struct jm_slice *s = one(p, "", JM_ARRIVE_CLOSED, 0, 4);
    s->osl = (struct jm_length){.kind = JM_LEN_FIXED, .min = 400, .max = 400};
    s->cancel_share = 0.5;
    s->cancel_tokens = 3;
    struct jm_load_cfg cfg = simkit_cfg(&e);
    cfg.plan = p;
    cfg.concurrency = 0;
    cfg.max_requests = 24;
    simkit_run(&cfg, &b);
    assert_int_equal(b.n, 24);
    for (int i = 0; i < b.n; i++) {
        const struct jm_request *r = &b.r[i];
        if (r->planned_abort) {
            cancelled++;
            assert_int_equal(r->end, JM_END_ABORTED);
            assert_non_null(strstr(r->error, "cancelled by the plan after 3 tokens"));
            assert_true(r->events >= 3 && r->t[JM_T_CLOSED] >= r->t[JM_T_LAST_TOKEN]);
        } else {
            assert_int_equal(r->end, JM_END_OK);
            assert_int_equal(r->output_tokens, 400);
        }
    }
    assert_in_range(cancelled, 2, 22);
    snprintf(b.facts + strlen(b.facts), 64, "want=load.cancelled=%d by the plan", cancelled);
    assert_non_null(strstr(b.facts, strstr(b.facts, "want=") + 5));
    simkit_stop(&e);
    /* an answer that was whole in the sockets before a busy client let go is none the server saw leave */
    assert_in_range(truth(&e, "requests", "abort"), 1, cancelled);
    /* and after a time */
    simkit_start(&e, "--speed", "1", NULL);
    s->cancel_share = 1;
    s->cancel_tokens = -1;
    s->cancel_ns = 100 * MS;
    cfg.url = e.url;
    cfg.max_requests = 8;
    simkit_run(&cfg, &b);
    for (int i = 0; i < b.n; i++) {
        assert_int_equal(b.r[i].end, JM_END_ABORTED);
        assert_true(b.r[i].t[JM_T_CLOSED] - b.r[i].t[JM_T_SENT] >= 100 * MS);
    }
    simkit_stop(&e);
    jm_plan_free(p);
}

/* Mooncake: equal leading ids are equal leading text. The template comes before the first block, so shared
 * text is shared from the first token of the prompt on, whole blocks of 16. */
static void shared_blocks_of_a_trace_are_shared_prefixes(void **state)
{
    static struct simkit_book b;
    struct simkit e;
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "/tmp/jm-blocks-%d", (int)getpid());
    FILE *f = fopen(path, "wb");
    fputs("{\"timestamp\":0,\"input_length\":1500,\"output_length\":4,\"hash_ids\":[7,8,9]}\n"
          "{\"timestamp\":250,\"input_length\":1400,\"output_length\":4,\"hash_ids\":[7,8,10]}\n"
          "{\"timestamp\":500,\"input_length\":1400,\"output_length\":4,\"hash_ids\":[11,8,10]}\n"
          "{\"timestamp\":750,\"input_length\":1500,\"output_length\":4,\"hash_ids\":[7,8,9]}\n",
          f);
    fclose(f);
    simkit_start(&e, "--prompt-tokens-details", NULL);
    struct jm_plan *p = jm_plan_new();
    struct jm_slice *s = one(p, "", JM_ARRIVE_TRACE, 0, 0);
    s->isl = s->osl = (struct jm_length){0};
    s->trace = path;
    struct jm_load_cfg cfg = simkit_cfg(&e);
    cfg.plan = p;
    cfg.concurrency = 0;
    cfg.max_requests = 4;
    cfg.seed = 1; /* the simulated cache is a table where two blocks can meet: not with this one */
    /* what a request left in the cache is there when the next one comes, a quarter of a second later, unless
     * this machine was busy: then with a new engine */
    for (int tries = 0; tries < 4; tries++) {
        bool in_turn = true;
        simkit_run(&cfg, &b);
        assert_int_equal(b.n, 4);
        for (int i = 0; i < 3; i++)
            in_turn = in_turn && b.r[i].id == i + 1 && b.r[i].t[JM_T_CLOSED] <= b.r[i + 1].t[JM_T_SENT];
        if (in_turn || tries == 3)
            break;
        simkit_stop(&e);
        simkit_start(&e, "--prompt-tokens-details", NULL);
        cfg.url = e.url;
    }
    static const int64_t isl[] = {1500, 1400, 1400, 1500}, gap[] = {0, 250, 500, 750};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(b.r[i].id, i + 1);
        assert_int_equal(b.r[i].prompt_tokens, isl[i]);
        assert_int_equal(b.r[i].output_tokens, 4);
        assert_true(llabs(b.r[i].t[JM_T_SCHEDULED] - b.r[0].t[JM_T_SCHEDULED] - gap[i] * MS) <= 2);
    }
    assert_true(b.r[1].cached_tokens >= 1024 - 16 && b.r[1].cached_tokens < 1024 + 64);
    assert_true(b.r[2].cached_tokens <=
                16); /* the same later blocks behind another first one are no prefix */
    assert_true(b.r[3].cached_tokens >= 1500 - 32);
    assert_string_equal(b.r[0].prompt_sha256, b.r[3].prompt_sha256);
    assert_non_null(strstr(b.facts, "load.trace.format=mooncake"));
    simkit_stop(&e);
    jm_plan_free(p);
    unlink(path);
}

static void prompts_of_a_group_begin_alike(void **state)
{
    static struct simkit_book b;
    struct simkit e;
    int cold = 0;
    (void)state;
    simkit_start(&e, "--prompt-tokens-details", NULL);
    struct jm_plan *p = jm_plan_new();
    struct jm_slice *s = one(p, "", JM_ARRIVE_CLOSED, 0, 1);
    s->prefix_groups = 3;
    s->prefix_tokens = 128;
    struct jm_load_cfg cfg = simkit_cfg(&e);
    cfg.plan = p;
    cfg.concurrency = 0;
    cfg.max_requests = 40;
    simkit_run(&cfg, &b);
    for (int i = 0; i < b.n; i++) {
        assert_int_equal(b.r[i].prompt_tokens, 200);
        if (b.r[i].cached_tokens < 112)
            cold++;
        else /* the prefix, and never more than the template before it and a few words behind it */
            assert_in_range(b.r[i].cached_tokens, 112, 144);
    }
    assert_int_equal(cold, 3); /* the first of each group */
    simkit_stop(&e);
    jm_plan_free(p);
}

static int by_slice_and_time(const void *a, const void *b)
{
    const struct jm_request *x = a, *y = b;
    int d = strcmp(x->slice, y->slice);
    return d ? d : x->t[0] < y->t[0] ? -1 : x->t[0] > y->t[0];
}

/* Slices at the same time: each request says its slice, ids are all different, and the schedule of each open
 * slice is the same whatever the threads. */
static void slices_keep_apart_and_keep_their_schedule(void **state)
{
    static struct simkit_book b[2];
    struct simkit e;
    (void)state;
    simkit_start(&e, NULL);
    struct jm_plan *p = jm_plan_new();
    one(p, "users", JM_ARRIVE_CLOSED, 0, 3)->count = 20;
    one(p, "steady", JM_ARRIVE_CONSTANT, 50, 0)->count = 20;
    struct jm_slice *s = one(p, "bursty", JM_ARRIVE_GAMMA, 50, 0);
    s->burstiness = 0.25;
    s->count = 20;
    s->start_ns = 100 * MS;
    s = one(p, "flood", JM_ARRIVE_BURST, 0, 0);
    s->count = 40;
    s->start_ns = 50 * MS;
    for (int threads = 1; threads <= 2; threads++) {
        struct jm_load_cfg cfg = simkit_cfg(&e);
        cfg.plan = p;
        cfg.concurrency = 0;
        cfg.threads = threads;
        cfg.max_requests = 100;
        struct simkit_book *k = &b[threads - 1];
        simkit_run(&cfg, k);
        assert_int_equal(k->n, 100);
        qsort(k->r, 100, sizeof *k->r, by_slice_and_time);
        for (int i = 0; i < 100; i++) {
            assert_int_equal(k->r[i].end, JM_END_OK);
            for (int j = 0; j < i; j++)
                assert_true(k->r[i].id != k->r[j].id);
        }
    }
    /* bursty, flood, steady, users; time 0 of the schedule is 50 ms before the flood */
    for (int i = 0; i < 80; i++) {
        int64_t x = b[0].r[i].t[0] - b[0].r[20].t[0], y = b[1].r[i].t[0] - b[1].r[20].t[0];
        assert_string_equal(b[0].r[i].slice, b[1].r[i].slice);
        assert_true(llabs(x - y) <= 2);
        if (i >= 60)
            assert_true(llabs(x + 50 * MS - (i - 60) * 20 * MS) <= 2);
    }
    assert_non_null(strstr(b[1].facts, "load.slice.flood.begun=40"));
    simkit_stop(&e);
    jm_plan_free(p);
}

struct counts {
    int64_t rows, unsent;
};

static void only_count(void *self, const struct jm_request *r, const struct jm_token_event *ev, size_t n,
                       struct jm_span p, struct jm_span o)
{
    struct counts *c = self;
    (void)ev, (void)n, (void)p, (void)o;
    c->rows++;
    c->unsent += r->end == JM_END_UNFINISHED && r->t[JM_T_SENT] < 0;
}

static void put(void *self, const char *key, const char *value)
{
    if (strcmp(key, "load.unsent") == 0 || strcmp(key, "load.unsent.bare") == 0)
        ((long long *)self)[key[11] == '.'] = strtoll(value, NULL, 10);
}

/* A rate that nothing can serve: what was due is counted, not stored, and the end of the load is near. */
static void a_flood_is_counted_not_stored(void **state)
{
    struct simkit e;
    struct counts c = {0};
    struct jm_load_sink sink = {&c, only_count};
    struct jm_load *l = NULL;
    struct jm_err err;
    long long facts[2] = {0};
    (void)state;
    simkit_start(&e, NULL);
    struct jm_plan *p = jm_plan_new();
    one(p, "", JM_ARRIVE_CONSTANT, 1e6, 0);
    struct jm_load_cfg cfg = simkit_cfg(&e);
    cfg.plan = p;
    cfg.concurrency = 4;
    cfg.max_requests = 0;
    assert_int_equal(jm_load_new(&cfg, &sink, &l, &err), 0);
    assert_int_equal(jm_load_start(l, &err), 0);
    usleep(300000);
    jm_load_drain(l, 1000 * MS);
    jm_load_facts(l, put, facts);
    jm_load_free(l);
    assert_true(facts[0] > 200000);
    assert_int_equal(c.unsent, 10000); /* as many as are kept one by one */
    assert_int_equal(facts[0] - facts[1], c.unsent);
    simkit_stop(&e);
    jm_plan_free(p);
}

/* Users come with the ramp: never more are under way than it wants. */
static void users_ramp_up(void **state)
{
    static struct simkit_book b;
    struct simkit e;
    int most = 0;
    (void)state;
    simkit_start(&e, "--speed", "2", NULL);
    struct jm_plan *p = jm_plan_new();
    struct jm_slice *s = one(p, "", JM_ARRIVE_CLOSED, 0, 0);
    s->stage = calloc(1, sizeof *s->stage);
    *s->stage = (struct jm_stage){1, 6, 1000 * MS, JM_RAMP_LINEAR};
    s->stages = 1;
    struct jm_load_cfg cfg = simkit_cfg(&e);
    cfg.plan = p;
    cfg.concurrency = 0;
    cfg.max_requests = 0;
    struct jm_load_sink sink = {&b, NULL};
    struct jm_load *l = NULL;
    struct jm_load_live live;
    struct jm_clock clock = jm_clock_system();
    struct jm_err err;
    assert_int_equal(jm_load_new(&cfg, &sink, &l, &err), 0);
    int64_t before = jm_clock_mono(&clock);
    assert_int_equal(jm_load_start(l, &err), 0);
    do {
        jm_load_live(l, &live);
        int64_t gone = jm_clock_mono(&clock) - before; /* at least so long */
        int wanted = gone < 1000 * MS ? jm_slice_users_at(s, gone) + 1 : 6;
        assert_true(live.in_flight <= wanted);
        most = live.in_flight > most ? (int)live.in_flight : most;
        usleep(2000);
    } while (!live.over);
    assert_in_range(most, 3, 6);
    assert_int_equal(live.in_flight, 0);
    jm_load_drain(l, 1000 * MS);
    jm_load_free(l);
    simkit_stop(&e);
    jm_plan_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conversations_carry_their_history),
        cmocka_unit_test(what_the_plan_gives_up_the_server_sees_leave),
        cmocka_unit_test(shared_blocks_of_a_trace_are_shared_prefixes),
        cmocka_unit_test(prompts_of_a_group_begin_alike),
        cmocka_unit_test(slices_keep_apart_and_keep_their_schedule),
        cmocka_unit_test(a_flood_is_counted_not_stored),
        cmocka_unit_test(users_ramp_up),
    };
    return simkit_main(tests, sizeof tests / sizeof *tests);
}
