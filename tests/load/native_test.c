/* SPDX-License-Identifier: Apache-2.0 */
/* The engines' own APIs end to end against the simulated engine: it is recognised, the right dialect is
 * chosen, and what the load counted is what the engine knows, whole and streamed, also where something goes
 * wrong. */
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
#include "simkit.h"

/* What each API tells. counts: of each event; tokens: of the answer; prompt: how long it was. */
static const struct row {
    const char *sim, *api, *chosen, *metrics;
    bool counts, tokens, prompt, ids, exact;
    const char *length; /* what the end is called */
} rows[] = {
    {"vllm", "openai.responses", "openai.chat", "/metrics", false, true, true, false, false,
     "max_output_tokens"},
    {"sglang", "sglang.generate", "openai.chat", "/metrics", true, true, true, true, true, "length"},
    {"tgi", "tgi.generate_stream", "tgi.generate_stream", "/metrics", true, true, true, false, false,
     "length"},
    {"triton", "triton.generate_stream", "triton.generate_stream", ":8002/metrics", true, true, true, false,
     true, ""},
    {"llamacpp", "llamacpp.completion", "openai.chat", "/metrics", true, true, true, true, true, "limit"},
    {"ollama", "ollama.generate", "ollama.chat", "", false, true, true, false, false, "length"},
    {"ollama", "ollama.chat", "ollama.chat", "", false, true, true, false, false, "length"},
    {"lmstudio", "lmstudio.chat", "openai.chat", "", false, true, true, false, false,
     "maxPredictedTokensReached"},
};
enum { ROWS = sizeof rows / sizeof *rows };

static void set_up(struct simkit *e, struct jm_load_cfg *cfg, const struct row *row)
{
    /* answers that end by themselves would be longer than what is asked: all end by length */
    simkit_start(e, "--api", row->sim, "--eos-median", "1000000", NULL);
    *cfg = simkit_cfg(e);
    cfg->api = row->api;
    cfg->max_requests = 6;
    cfg->ignore_eos = row->exact;
}

static int64_t member(const struct jm_json *o, const char *key)
{
    int64_t v = -1;
    assert_true(jm_json_i64(jm_json_path(o, key), &v));
    return v;
}

static void each_api_counts_as_the_engine_does(void **state)
{
    static struct simkit_book b;
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        struct jm_load_cfg cfg;
        struct jm_endpoint p;
        struct jm_err err;
        struct simkit e;
        set_up(&e, &cfg, row);
        assert_int_equal(jm_load_probe(&cfg, NULL, &p, &err), 0);
        assert_string_equal(p.kind, row->sim);
        assert_string_equal(p.dialect, row->chosen);
        assert_string_equal(p.metrics_path, row->metrics);
        assert_string_equal(p.model, "8b-h100");
        for (int whole = 0; whole < 2; whole++) {
            char want[80];
            cfg.whole = whole;
            simkit_run(&cfg, &b);
            snprintf(want, sizeof want, "load.api=%s\n", row->api);
            assert_non_null(strstr(b.facts, want));
            assert_int_equal(b.n, 6);
            for (int k = 0; k < b.n; k++) {
                const struct jm_request *r = &b.r[k];
                if (r->end != JM_END_OK || r->output_tokens != 24 || r->prompt_tokens != 100 ||
                    strncmp(r->finish, row->length, sizeof r->finish - 1) != 0 || r->stream != !whole ||
                    r->events != (whole ? 0 : 24) || (r->t[JM_T_FIRST_TOKEN] >= 0) == whole)
                    fail_msg("%s, whole %d: %s (%s) %lld in %lld out %lld events, finish %s", row->api, whole,
                             jm_end_name((int)r->end), r->error, (long long)r->prompt_tokens,
                             (long long)r->output_tokens, (long long)r->events, r->finish);
            }
            if (b.known != (whole || !row->counts ? 0 : 6 * 24))
                fail_msg("%s: events told %lld tokens", row->api, (long long)b.known);
            assert_non_null(strstr(b.facts, "load.isl.kept=6 of 6\n"));
            if (row->exact)
                assert_non_null(strstr(b.facts, "load.osl.kept=6 of 6\n"));
        }
        simkit_stop(&e);
        struct jm_str text;
        struct jm_json *truth = NULL;
        jm_str_init(&text);
        assert_int_equal(jm_file_read(e.truth, 1 << 24, &text, &err), 0);
        assert_int_equal(jm_json_parse(jm_str_span(&text), &truth, &err), 0);
        /* the probes that found out the lengths asked for one token each */
        int64_t probes = (int64_t)jm_json_len(jm_json_get(truth, "request")) - 12;
        assert_in_range(probes, 2, 12);
        assert_int_equal(member(truth, "tokens.told"), 12 * 24 + probes);
        jm_json_free(truth);
        jm_str_release(&text);
        unlink(e.truth);
    }
}

/* More tokens an event, an event without text, several reads: the sum stays. */
static void tokens_of_larger_events(void **state)
{
    static struct simkit_book b;
    static const char *const more[][3] = {{"--stream-interval=5", "--utf8", NULL},
                                          {"--fault=empty=3", "--spec-tokens=3", "--incremental"}};
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t k = 0; rows[i].counts && k < sizeof more / sizeof *more; k++) {
            struct simkit e;
            simkit_start(&e, "--api", rows[i].sim, "--eos-median", "1000000", more[k][0], more[k][1],
                         more[k][2], NULL);
            struct jm_load_cfg cfg = simkit_cfg(&e);
            cfg.api = rows[i].api;
            cfg.max_requests = 4;
            simkit_run(&cfg, &b);
            for (int q = 0; q < b.n; q++)
                if (b.r[q].end != JM_END_OK || b.r[q].output_tokens != 24)
                    fail_msg("%s %s: %s (%s), %lld tokens", rows[i].api, more[k][0],
                             jm_end_name((int)b.r[q].end), b.r[q].error, (long long)b.r[q].output_tokens);
            if (b.known != 4 * 24)
                fail_msg("%s %s: events told %lld of %d tokens", rows[i].api, more[k][0], (long long)b.known,
                         4 * 24);
            simkit_stop(&e);
            unlink(e.truth);
        }
    }
}

static void every_fault_is_told(void **state)
{
    static const struct {
        const char *fault;
        enum jm_end end;
    } faults[] = {
        {"status=429", JM_END_RATE_LIMIT}, {"rst=5", JM_END_CUT},   {"error-event=5", JM_END_ERROR_EVENT},
        {"bad-json=5", JM_END_PROTOCOL},   {"no-usage", JM_END_OK}, {"no-done", JM_END_CUT},
    };
    static struct simkit_book b;
    char path[] = "/tmp/jm-prompts-XXXXXX";
    int fd = mkstemp(path);
    (void)state;
    assert_int_equal(write(fd, "{\"prompt\":\"the energy of one token\"}\n", 37), 37);
    close(fd);
    for (size_t i = 0; i < ROWS; i++) {
        struct simkit e;
        simkit_start(&e, "--api", rows[i].sim, "--eos-median", "1000000", NULL);
        for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
            struct jm_load_cfg cfg = simkit_cfg(&e);
            char model[100], extra[120];
            bool silent = strcmp(rows[i].sim, "triton") == 0, done = strcmp(rows[i].sim, "sglang") == 0;
            snprintf(model, sizeof model, "8b-h100+%s", faults[k].fault);
            /* in the path, or in the body also where this API has no model in it */
            snprintf(extra, sizeof extra, "{\"model\":\"%s\"}", model);
            cfg.api = rows[i].api;
            cfg.model = model;
            cfg.extra_json = extra;
            cfg.prompts_path = path;
            cfg.max_requests = cfg.concurrency = 1;
            simkit_run(&cfg, &b);
            const struct jm_request *r = &b.r[0];
            enum jm_end end = faults[k].end;
            /* Triton marks no end; SGLang's [DONE] comes behind a finish reason, which is enough */
            if (strcmp(faults[k].fault, "no-done") == 0 && (silent || done))
                end = JM_END_OK;
            int64_t want = strcmp(faults[k].fault, "no-usage") == 0 && strcmp(rows[i].sim, "tgi") != 0 &&
                                   strcmp(rows[i].sim, "llamacpp") != 0
                               ? -1
                               : 24;
            if (b.n != 1 || r->end != end ||
                (end == JM_END_OK && strcmp(faults[k].fault, "no-done") != 0 && r->output_tokens != want) ||
                (end != JM_END_OK && !r->error[0]))
                fail_msg("%s, %s: %s (%s), %lld tokens in %lld events", rows[i].api, faults[k].fault,
                         jm_end_name((int)r->end), r->error, (long long)r->output_tokens,
                         (long long)r->events);
        }
        simkit_stop(&e);
        unlink(e.truth);
    }
    unlink(path);
}

/* Loading the model is inside the TTFT of an Ollama request: the run says so. */
static void a_model_that_was_loaded_is_a_fact(void **state)
{
    static struct simkit_book b;
    struct simkit e;
    (void)state;
    simkit_start(&e, "--api=ollama", NULL);
    struct jm_load_cfg cfg = simkit_cfg(&e);
    cfg.max_requests = 3;
    cfg.isl = 50;
    simkit_run(&cfg, &b);
    assert_non_null(strstr(b.facts, "load.api=ollama.chat\n"));
    assert_non_null(strstr(b.facts, "load.api.chosen=by what is there\n"));
    assert_non_null(strstr(b.facts, "load.osl.by=nothing: this API cannot\n"));
    assert_null(strstr(b.facts, "load.model_loads="));
    cfg.model = "8b-h100+delay=700";
    cfg.max_requests = 1;
    simkit_run(&cfg, &b);
    assert_non_null(strstr(b.facts, "load.model_loads=1\n"));
    assert_non_null(strstr(b.facts, "load.model_loads.max_ms=700\n"));
    simkit_stop(&e);
    unlink(e.truth);
}

/* A model of Triton without the inputs that ask for counts is not asked, and its tokens are unknown. */
static void triton_without_counts(void **state)
{
    static struct simkit_book b;
    struct simkit e;
    (void)state;
    simkit_start(&e, "--api=triton", "--no-counts", NULL);
    struct jm_load_cfg cfg = simkit_cfg(&e);
    cfg.max_requests = 3;
    simkit_run(&cfg, &b);
    assert_int_equal(b.n, 3);
    for (int i = 0; i < b.n; i++) {
        assert_int_equal(b.r[i].end, JM_END_OK);
        assert_int_equal(b.r[i].output_tokens, -1);
        assert_int_equal(b.r[i].token_source, JM_TOK_UNKNOWN);
        assert_int_equal(b.r[i].events, 24);
    }
    assert_non_null(strstr(b.facts, "load.token_counts=usage\n"));
    assert_non_null(strstr(b.facts, "load.isl.mode=words\n"));
    simkit_stop(&e);
    unlink(e.truth);
}

/* Just so many ids, in the API of the engine that takes them; where none does, it says so. */
static void prompts_of_token_ids(void **state)
{
    static const struct {
        const char *sim, *api;
    } takes[] = {
        {"vllm", "openai.completions"}, {"sglang", "sglang.generate"}, {"llamacpp", "llamacpp.completion"}};
    static struct simkit_book b;
    struct simkit e;
    (void)state;
    for (size_t i = 0; i < sizeof takes / sizeof *takes; i++) {
        char want[60];
        simkit_start(&e, "--api", takes[i].sim, NULL);
        struct jm_load_cfg cfg = simkit_cfg(&e);
        cfg.prompt_ids = true;
        cfg.max_requests = 4;
        simkit_run(&cfg, &b);
        snprintf(want, sizeof want, "load.api=%s\n", takes[i].api);
        assert_non_null(strstr(b.facts, want));
        assert_non_null(strstr(b.facts, "load.isl.mode=ids\n"));
        assert_non_null(strstr(b.facts, "load.isl.ids=of words, by the server's tokenizer\n"));
        assert_non_null(strstr(b.facts, "load.isl.overhead=0\n"));
        assert_non_null(strstr(b.facts, "load.isl.kept=4 of 4\n"));
        assert_non_null(strstr(b.facts, "load.osl.kept=4 of 4\n"));
        for (int k = 0; k < b.n; k++)
            assert_true(b.r[k].cached_tokens <= 0); /* no prompt begins like another */
        struct jm_load *l;
        struct jm_err err = {0};
        cfg.api = "openai.chat";
        assert_int_equal(jm_load_new(&cfg, NULL, &l, &err), JM_EINVAL);
        assert_non_null(strstr(err.text, "takes no prompts of token ids"));
        simkit_stop(&e);
        unlink(e.truth);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_api_counts_as_the_engine_does),
        cmocka_unit_test(tokens_of_larger_events),
        cmocka_unit_test(every_fault_is_told),
        cmocka_unit_test(a_model_that_was_loaded_is_a_fact),
        cmocka_unit_test(triton_without_counts),
        cmocka_unit_test(prompts_of_token_ids),
    };
    return simkit_main(tests, sizeof tests / sizeof *tests);
}
