/* SPDX-License-Identifier: Apache-2.0 */
/* A real engine that we did not write: llama.cpp's own server (tests/peer/llama_server.py). Our counts must
 * be those of its usage, and their sum that of its own counters. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/num.h"
#include "load/client.h"
#include "load/load.h"

extern char **environ;

static char url[100];
static pid_t pid;
static int leash; /* the server ends when this end of its standard input closes */

static int start(void)
{
    char script[1000], folder[1000], line[300] = "";
    const char *source = getenv("JM_SOURCE"), *build = getenv("JM_BUILD");
    int in[2], out[2];
    posix_spawn_file_actions_t fa;
    snprintf(script, sizeof script, "%s/tests/peer/llama_server.py", source ? source : ".");
    snprintf(folder, sizeof folder, "%s/peer", build ? build : "build");
    char *argv[] = {(char *)"python3", script, folder, NULL};
    if (pipe(in) != 0 || pipe(out) != 0)
        return 1;
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_adddup2(&fa, in[0], 0);
    posix_spawn_file_actions_adddup2(&fa, out[1], 1);
    posix_spawn_file_actions_addclose(&fa, in[1]);
    posix_spawn_file_actions_addclose(&fa, out[0]);
    posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", 1, 0);
    int e = posix_spawnp(&pid, argv[0], &fa, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&fa);
    close(in[0]);
    close(out[1]);
    leash = in[1];
    FILE *f = fdopen(out[0], "r");
    if (e != 0 || !f || !fgets(line, sizeof line, f))
        return 1;
    fclose(f);
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "http://", 7) != 0) {
        printf("# %s\n", line);
        return strncmp(line, "skipped", 7) == 0 ? 77 : 1;
    }
    snprintf(url, sizeof url, "%s", line);
    return 0;
}

struct sum {
    int n, bad;
    int64_t output, prompt;
    char why[300];
    const struct jm_load_cfg *cfg;
    const char *finish;
    int64_t told; /* tokens that events told */
    int silent;   /* answers without an event */
    char facts[8192];
};

static void add(void *self, const struct jm_request *r, const struct jm_token_event *ev, size_t n,
                struct jm_span p, struct jm_span o)
{
    struct sum *s = self;
    (void)p, (void)o;
    for (size_t i = 0; i < n; i++)
        s->told += ev[i].tokens;
    s->silent += r->events == 0; /* half a character can be held back to the end */
    s->n++;
    s->output += r->output_tokens;
    s->prompt += r->prompt_tokens;
    bool wrong = r->end != JM_END_OK || r->token_source != JM_TOK_USAGE || r->output_tokens != s->cfg->osl ||
                 r->prompt_tokens != s->cfg->isl || strcmp(r->finish, s->finish) != 0 ||
                 (int64_t)n != r->events || r->events > r->output_tokens ||
                 (r->events > 0 && r->t[JM_T_FIRST_TOKEN] < r->t[JM_T_SENT]) ||
                 r->t[JM_T_DONE] < r->t[JM_T_LAST_TOKEN];
    if (wrong && !s->bad++)
        snprintf(s->why, sizeof s->why,
                 "request %lld: %s %s: %lld of %d prompt tokens, %lld of %d, %lld events, finish %s",
                 (long long)r->id, jm_end_name((int)r->end), r->error, (long long)r->prompt_tokens,
                 s->cfg->isl, (long long)r->output_tokens, s->cfg->osl, (long long)r->events, r->finish);
}

static void put(void *self, const char *key, const char *value)
{
    struct sum *s = self;
    size_t n = strlen(s->facts);
    snprintf(s->facts + n, sizeof s->facts - n, "%s=%s\n", key, value);
}

static int64_t counter(const char *name)
{
    struct jm_load_cfg cfg = {.url = url};
    struct jm_client c;
    struct jm_reply r;
    struct jm_err err;
    int64_t v = -1;
    jm_reply_init(&r);
    assert_int_equal(jm_client_init(&c, &cfg, &err), 0);
    assert_int_equal(jm_client_fetch(&c, "GET", "/metrics", (struct jm_span){0}, 0, &r, &err), 0);
    struct jm_span rest = jm_str_span(&r.body), line;
    while (jm_span_line(&rest, &line)) {
        size_t n = strlen(name);
        if (line.n > n && memcmp(line.p, name, n) == 0 && line.p[n] == ' ')
            assert_int_equal(jm_num_i64(jm_span_trim(jm_span_sub(line, n, line.n)), &v), 0);
    }
    jm_reply_release(&r);
    jm_client_release(&c);
    return v;
}

static void run(const struct jm_load_cfg *cfg, struct sum *s)
{
    struct jm_load_sink sink = {s, add};
    struct jm_load *l = NULL;
    struct jm_load_live live;
    struct jm_err err;
    bool native = cfg->api && strcmp(cfg->api, "llamacpp.completion") == 0;
    *s = (struct sum){.cfg = cfg, .finish = native ? "limit" : "length"};
    if (jm_load_new(cfg, &sink, &l, &err) != 0)
        fail_msg("%s", err.text);
    int64_t before = counter("llamacpp:tokens_predicted_total");
    if (jm_load_start(l, &err) != 0)
        fail_msg("%s", err.text);
    for (int i = 0; i < 60000; i++) {
        jm_load_live(l, &live);
        if (live.finished >= cfg->max_requests)
            break;
        usleep(1000);
    }
    jm_load_drain(l, 5 * JM_NS_PER_S);
    jm_load_facts(l, put, s);
    jm_load_free(l);
    if (s->bad)
        fail_msg("%d of %d: %s", s->bad, s->n, s->why);
    assert_int_equal(s->n, cfg->max_requests);
    assert_int_equal(counter("llamacpp:tokens_predicted_total") - before, s->output);
}

static void the_engine_is_known(void **state)
{
    struct jm_load_cfg cfg = {.url = url};
    struct jm_endpoint e;
    struct jm_err err;
    (void)state;
    assert_int_equal(jm_load_probe(&cfg, NULL, &e, &err), 0);
    assert_true(e.local && !e.simulated);
    assert_int_equal(e.pid, pid);
    assert_string_equal(e.server, "llama.cpp");
    assert_int_equal(strncmp(e.engine, "llama.cpp", 9), 0);
    assert_int_equal(e.max_model_len, 4096);
    assert_string_equal(e.kind, "llamacpp");
    assert_string_equal(e.dialect, "openai.chat");
    assert_string_equal(e.metrics_path, "/metrics");
}

static void counts_agree(void **state)
{
    (void)state;
    static const char *const apis[] = {"chat", "completions"};
    for (size_t k = 0; k < sizeof apis / sizeof *apis; k++) {
        struct sum s;
        struct jm_load_cfg cfg = {.url = url,
                                  .api = apis[k],
                                  .concurrency = 3,
                                  .isl = 150,
                                  .osl = 40,
                                  .ignore_eos = true,
                                  .temperature = 1,
                                  .max_requests = 30,
                                  .seed = 11};
        run(&cfg, &s);
        assert_non_null(strstr(s.facts, "load.isl.mode=tokenize\n"));
        /* timings_per_token: each event tells the tokens so far here too */
        assert_non_null(strstr(s.facts, "load.token_counts=continuous"));
        assert_in_range(s.silent, 0, 5);
        /* what was held back to the end comes in no event: up to three bytes of a character, mostly */
        assert_in_range(s.told, (30 - s.silent) * 40 - 60, (30 - s.silent) * 40);
        assert_non_null(strstr(s.facts, "load.isl.kept=30 of 30\n"));
        assert_non_null(strstr(s.facts, "load.osl.kept=30 of 30\n"));
    }
}

/* Its own API tells in each event how many tokens there are so far: the sum is the usage, also where text is
 * held back until its characters are whole. Prompts of ids have just their length. */
static void its_own_api_counts_each_event(void **state)
{
    (void)state;
    for (int ids = 0; ids < 2; ids++) {
        struct sum s;
        struct jm_load_cfg cfg = {.url = url,
                                  .api = "llamacpp.completion",
                                  .concurrency = 3,
                                  .isl = 150,
                                  .osl = 40,
                                  .ignore_eos = true,
                                  .prompt_ids = ids,
                                  .temperature = 1,
                                  .max_requests = 30,
                                  .seed = 12};
        run(&cfg, &s);
        assert_in_range(s.silent, 0, 5);
        assert_int_equal(s.told, (30 - s.silent) * 40);
        assert_non_null(strstr(s.facts, ids ? "load.isl.mode=ids\n" : "load.isl.mode=tokenize\n"));
        assert_non_null(strstr(s.facts, "load.isl.kept=30 of 30\n"));
        assert_non_null(strstr(s.facts, "load.osl.kept=30 of 30\n"));
    }
}

/* Keep-Alive: timeout=5, max=100: the 101st request needs a new connection, which is no failure. */
static void more_requests_than_a_connection_takes(void **state)
{
    struct sum s;
    struct jm_load_cfg cfg = {.url = url,
                              .concurrency = 1,
                              .isl = 40,
                              .osl = 1,
                              .ignore_eos = true,
                              .temperature = NAN,
                              .max_requests = 250};
    (void)state;
    run(&cfg, &s);
}

/* The other transport: the same counts, and connections that the server closes after 100 requests. */
static void by_libcurl_too(void **state)
{
    const struct jm_curl_ops *ops;
    struct sum s;
    struct jm_load_cfg cfg = {.url = url,
                              .transport = "curl",
                              .concurrency = 2,
                              .isl = 40,
                              .osl = 3,
                              .ignore_eos = true,
                              .temperature = 1,
                              .max_requests = 230,
                              .seed = 13};
    (void)state;
    if (jm_curl_load(&ops, NULL) != 0)
        skip();
    run(&cfg, &s);
    assert_non_null(strstr(s.facts, "load.transport=curl\n"));
    assert_non_null(strstr(s.facts, "load.isl.kept=230 of 230\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_engine_is_known),
        cmocka_unit_test(counts_agree),
        cmocka_unit_test(its_own_api_counts_each_event),
        cmocka_unit_test(more_requests_than_a_connection_takes),
        cmocka_unit_test(by_libcurl_too),
    };
    int rc = start(), status;
    if (rc == 0)
        rc = cmocka_run_group_tests(tests, NULL, NULL);
    close(leash);
    if (pid > 0)
        waitpid(pid, &status, 0);
    return rc;
}
