/* SPDX-License-Identifier: Apache-2.0 */
/* Prompts: files read strictly, and synthetic ones of an exact length on servers with four kinds of
 * tokenizer. */
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
#include "load/mock.h"
#include "load/prompts.h"

/* --- a server that counts
 * ------------------------------------------------------------------------------------------ */
struct counter {
    bool tokenize, llama, usage; /* llama: answers {"tokens":[...]} without a count */
    int template, context;
    int (*tokens)(const char *text);
};

static int one_a_word(const char *t)
{
    int n = 0;
    for (; *t; t++)
        n += *t != ' ' && (t[1] == ' ' || !t[1]);
    return n;
}

static int long_words_cost_two(const char *t)
{
    int n = 0, len = 0;
    for (; *t; t++) {
        len = *t == ' ' ? 0 : len + 1;
        if (*t != ' ' && (t[1] == ' ' || !t[1]))
            n += len > 4 ? 2 : 1;
    }
    return n;
}

static int a_byte_each(const char *t) /* a random-weight model's vocabulary: blank and letter are tokens */
{
    return (int)strlen(t);
}

static bool serve(struct mock_conn *c, const struct mock_request *r, void *arg)
{
    const struct counter *k = arg;
    struct jm_json *doc = NULL;
    struct jm_span text = {0};
    char copy[65536], out[400000];
    assert_int_equal(jm_json_parse((struct jm_span){r->body, r->body_n}, &doc, NULL), 0);
    if (!jm_json_str(jm_json_get(doc, "prompt"), &text))
        jm_json_str(jm_json_get(jm_json_at(jm_json_get(doc, "messages"), 0), "content"), &text);
    snprintf(copy, sizeof copy, "%.*s", (int)text.n, text.p);
    int n = k->tokens(copy);
    if (strcmp(r->path, "/tokenize") == 0 && !k->tokenize) {
        mock_json(c, 404, "", "{}");
    } else if (strcmp(r->path, "/tokenize") == 0 && k->llama) {
        size_t at = (size_t)snprintf(out, sizeof out, "{\"tokens\":[");
        for (int i = 0; i < n; i++)
            at += (size_t)snprintf(out + at, sizeof out - at, "%s%d", i ? "," : "", i);
        snprintf(out + at, sizeof out - at, "]}");
        mock_json(c, 200, "", out);
    } else if (strcmp(r->path, "/tokenize") == 0) {
        snprintf(out, sizeof out, "{\"count\":%d,\"max_model_len\":4096,\"tokens\":[]}", n);
        mock_json(c, 200, "", out);
    } else {
        n += k->template;
        if (k->context && n > k->context)
            n = k->context; /* cut in silence, under HTTP 200 (llama-server) */
        snprintf(out, sizeof out,
                 "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"x\"},\"text\":\"x\",\"finish_"
                 "reason\":\"length\"}]%s%d%s}",
                 k->usage ? ",\"usage\":{\"prompt_tokens\":" : ",\"x\":[{\"y\":", n,
                 k->usage ? ",\"completion_tokens\":1}" : "}]");
        mock_json(c, 200, "", out);
    }
    jm_json_free(doc);
    return true;
}

struct rig {
    struct mock *m;
    struct jm_load_cfg cfg;
    struct jm_reader reader;
    struct jm_client client;
    struct jm_prompts p;
};

static void rig_up(struct rig *g, struct counter *k, int isl)
{
    g->m = mock_start(serve, k);
    g->cfg = (struct jm_load_cfg){.url = mock_url(g->m), .isl = isl, .osl = 8, .temperature = NAN, .seed = 3};
    assert_int_equal(jm_reader_init(&g->reader, jm_dialect_find("openai.chat"), NULL), 0);
    assert_int_equal(jm_client_init(&g->client, &g->cfg, NULL), 0);
}

static void rig_down(struct rig *g)
{
    jm_client_release(&g->client);
    mock_stop(g->m);
}

static void synthetic_prompts_have_their_length(void **state)
{
    static struct {
        const char *name;
        struct counter k;
        int isl, mode, off; /* off: how far a prompt may be from isl */
    } rows[] = {
        {"vLLM", {true, false, true, 11, 0, one_a_word}, 100, JM_ISL_TOKENIZE, 0},
        {"llama.cpp", {true, true, true, 1, 0, long_words_cost_two}, 257, JM_ISL_TOKENIZE, 0},
        {"bytes", {true, true, true, 62, 0, a_byte_each}, 1024, JM_ISL_TOKENIZE, 0},
        {"bytes, short", {true, true, true, 2, 0, a_byte_each}, 30, JM_ISL_TOKENIZE, 0},
        {"no /tokenize, one a word", {false, false, true, 7, 0, one_a_word}, 500, JM_ISL_PROBE, 0},
        {"no /tokenize, others", {false, false, true, 7, 0, long_words_cost_two}, 500, JM_ISL_PROBE, 40},
        {"nobody counts", {false, false, false, 0, 0, one_a_word}, 50, JM_ISL_WORDS, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rig g;
        struct jm_err err = {0};
        rig_up(&g, &rows[i].k, rows[i].isl);
        if (jm_prompts_init(&g.p, &g.cfg, &g.reader, &g.client, "m", -1, &err) != 0)
            fail_msg("%s: %s", rows[i].name, err.text);
        assert_int_equal(g.p.mode, rows[i].mode);
        if (rows[i].off == 0 && rows[i].mode != JM_ISL_WORDS)
            assert_true(g.p.checked);
        for (int64_t n = 0; n < 300; n++) {
            struct jm_str s;
            jm_str_init(&s);
            jm_synth_text(&g.p, n, rows[i].isl, &s);
            int got = rows[i].k.tokens(s.buf) + rows[i].k.template;
            if (abs(got - rows[i].isl) > rows[i].off)
                fail_msg("%s: prompt %lld has %d tokens, not %d: %s", rows[i].name, (long long)n, got,
                         rows[i].isl, s.buf);
            jm_str_release(&s);
        }
        jm_prompts_release(&g.p);
        rig_down(&g);
    }
}

/* No two prompts share more than their first few words, so a block of 16 tokens is never cached; the same
 * seed gives the same prompts. */
static void prompts_are_unlike_and_repeatable(void **state)
{
    struct counter k = {true, false, true, 11, 0, one_a_word};
    struct rig g;
    struct jm_str all[200];
    (void)state;
    rig_up(&g, &k, 64);
    g.cfg.shared_prompt = true; /* of requests; the texts below are asked for one by one */
    assert_int_equal(jm_prompts_init(&g.p, &g.cfg, &g.reader, &g.client, "m", -1, NULL), 0);
    for (int i = 0; i < 200; i++) {
        jm_str_init(&all[i]);
        jm_synth_text(&g.p, i, 64, &all[i]);
        for (int j = 0; j < i; j++) {
            size_t same = 0;
            while (all[i].buf[same] == all[j].buf[same])
                same++;
            char head[600];
            snprintf(head, sizeof head, "%.*s", (int)same, all[i].buf);
            assert_true(one_a_word(head) < 16);
        }
    }
    for (int i = 0; i < 200; i++) {
        struct jm_str again;
        jm_str_init(&again);
        jm_synth_text(&g.p, i, 64, &again);
        assert_string_equal(again.buf, all[i].buf);
        jm_str_release(&again);
        jm_str_release(&all[i]);
    }
    struct jm_prompt a, b;
    jm_prompt_init(&a);
    jm_prompt_init(&b);
    assert_int_equal(jm_prompts_make(&g.p, 1, &a, NULL), 0);
    assert_int_equal(jm_prompts_make(&g.p, 7, &b, NULL), 0);
    assert_string_equal(a.sha256, b.sha256);
    assert_int_equal(a.asked_isl, 64);
    assert_int_equal(a.asked_osl, 8);
    jm_prompts_release(&g.p);
    /* the next load of a run sends none of the texts of the one before: a level of a ladder, what follows
     * bursts */
    g.cfg.shared_prompt = false;
    assert_int_equal(jm_prompts_init(&g.p, &g.cfg, &g.reader, &g.client, "m", -1, NULL), 0);
    assert_int_equal(jm_prompts_make(&g.p, 101, &a, NULL), 0);
    g.cfg.first_id = 101;
    assert_int_equal(jm_prompts_make(&g.p, 1, &b, NULL), 0);
    assert_string_equal(a.sha256, b.sha256); /* number 1 of it is number 101 of the run */
    assert_int_equal(jm_prompts_make(&g.p, 101, &b, NULL), 0);
    assert_string_not_equal(a.sha256, b.sha256);
    jm_prompts_release(&g.p);
    /* nor does a run with another seed: not even their first words, which are the number of the prompt */
    g.cfg.first_id = 0;
    assert_int_equal(jm_prompts_init(&g.p, &g.cfg, &g.reader, &g.client, "m", -1, NULL), 0);
    for (int64_t i = 0; i < 50; i++) {
        g.cfg.seed = 3;
        assert_int_equal(jm_prompts_make(&g.p, i, &a, NULL), 0);
        g.cfg.seed = 987654321;
        assert_int_equal(jm_prompts_make(&g.p, i, &b, NULL), 0);
        size_t same = 0;
        while (a.text.buf[same] && a.text.buf[same] == b.text.buf[same])
            same++;
        char head[600];
        snprintf(head, sizeof head, "%.*s", (int)same, a.text.buf);
        assert_true(one_a_word(head) < 3);
    }
    jm_prompt_release(&a);
    jm_prompt_release(&b);
    jm_prompts_release(&g.p);
    rig_down(&g);
}

static void lengths_that_cannot_be(void **state)
{
    struct counter cut = {true, false, true, 11, 400, one_a_word},
                   fine = {true, false, true, 62, 0, one_a_word};
    struct rig g;
    struct jm_err err = {0};
    (void)state;
    rig_up(&g, &cut, 1000); /* (measured) llama-server cuts 6,000 bytes to 1,956 tokens under HTTP 200 */
    assert_int_equal(jm_prompts_init(&g.p, &g.cfg, &g.reader, &g.client, "m", -1, &err), JM_ERANGE);
    assert_non_null(strstr(err.text, "400 tokens of a prompt of 1000"));
    rig_down(&g);
    rig_up(&g, &fine, 40);
    assert_int_equal(jm_prompts_init(&g.p, &g.cfg, &g.reader, &g.client, "m", -1, &err), JM_ERANGE);
    assert_non_null(strstr(err.text, "template alone takes 62"));
    g.cfg.isl = 4090;
    assert_int_equal(jm_prompts_init(&g.p, &g.cfg, &g.reader, &g.client, "m", 4096, &err), JM_ERANGE);
    assert_non_null(strstr(err.text, "do not fit the model's length of 4096"));
    rig_down(&g);
}

/* --- files
 * ---------------------------------------------------------------------------------------------------------
 */
static int read_text(const char *text, const char *api, struct jm_prompt_set *p, struct jm_err *err)
{
    static struct jm_reader reader;
    assert_int_equal(jm_reader_init(&reader, jm_dialect_find(api), NULL), 0);
    *p = (struct jm_prompt_set){0};
    jm_str_init(&p->file);
    jm_str_adds(&p->file, text);
    return jm_prompt_file_read(p, &reader, "p.jsonl", err);
}

static void files_are_read_strictly(void **state)
{
    static const struct {
        const char *text, *words;
        const char *api;
    } bad[] = {
        {"", "holds no prompt", "openai.chat"},
        {"\n\n", "holds no prompt", "openai.chat"},
        {"{\"prompt\":\"a\"}\n{\"prompt\":\n", "p.jsonl:2: ", "openai.chat"},
        {"[1]\n", "p.jsonl:1: a line must be an object", "openai.chat"},
        {"{\"prompt\":\"a\",\"max_token\":3}\n", "unknown key \"max_token\"", "openai.chat"},
        {"{\"max_tokens\":3}\n", "either \"prompt\" or \"messages\"", "openai.chat"},
        {"{\"prompt\":\"a\",\"messages\":[]}\n", "either", "openai.chat"},
        {"{\"prompt\":5}\n", "must be a text or an array", "openai.chat"},
        {"{\"messages\":[]}\n", "at least one message", "openai.chat"},
        {"{\"messages\":[{\"content\":\"x\"}]}\n", "\"role\"", "openai.chat"},
        {"{\"messages\":[{\"role\":\"user\"}]}\n", "\"content\"", "openai.chat"},
        {"{\"prompt\":\"a\",\"max_tokens\":0}\n", "at least 1", "openai.chat"},
        {"{\"prompt\":\"a\",\"max_tokens\":1.5}\n", "at least 1", "openai.chat"},
        {"{\"prompt\":\"a\",\"slice\":\"0123456789012345678901234567890123\"}\n", "31 bytes", "openai.chat"},
        {"{\"prompt\":[1,\"x\"]}\n", "token ids", "openai.completions"},
        {"{\"prompt\":[]}\n", "empty array", "openai.completions"},
        {"{\"prompt\":[1,2]}\n", "cannot be sent to openai.chat", "openai.chat"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}\n", "cannot be sent to openai.completions",
         "openai.completions"},
        {"{\"prompt\":\"\xff\"}\n", "p.jsonl:1: ", "openai.chat"},
    };
    struct jm_prompt_set p;
    struct jm_err err;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int rc = read_text(bad[i].text, bad[i].api, &p, &err);
        if (rc == 0 || !strstr(err.text, bad[i].words))
            fail_msg("%s: %d %s", bad[i].text, rc, err.text);
        jm_prompt_set_release(&p);
    }
    assert_int_equal(
        read_text(
            "\xef\xbb\xbf{\"id\":7,\"prompt\":\"a\\n\\u00e9\",\"max_tokens\":5,\"slice\":\"long\"}\r\n\n"
            "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}",
            "openai.chat", &p, &err),
        0);
    assert_int_equal(p.lines, 2);
    assert_int_equal(p.line[0].max_tokens, 5);
    assert_string_equal(p.line[0].slice, "long");
    assert_true(jm_jtoken_is(&p.line[0].text, "a\n\xc3\xa9"));
    assert_true(jm_span_is(p.line[1].turns, "[{\"role\":\"user\",\"content\":\"x\"}]"));
    assert_int_equal(p.line[1].max_tokens, -1);
    jm_prompt_set_release(&p);
    assert_int_equal(read_text("{\"prompt\":[1,22,333]}", "openai.completions", &p, &err), 0);
    assert_true(jm_span_is(p.line[0].ids, "[1,22,333]"));
    jm_prompt_set_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(synthetic_prompts_have_their_length),
        cmocka_unit_test(prompts_are_unlike_and_repeatable),
        cmocka_unit_test(lengths_that_cannot_be),
        cmocka_unit_test(files_are_read_strictly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
