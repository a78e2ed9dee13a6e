/* SPDX-License-Identifier: Apache-2.0 */
/* The load generator against the simulated engine, which knows what really happened and shares no line with
 * it. */
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

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "load/load.h"
#include "simkit.h"

static int64_t number(const struct jm_json *o, const char *key)
{
    int64_t v = -1;
    assert_true(jm_json_i64(jm_json_get(o, key), &v));
    return v;
}

static int by_closed(const void *a, const void *b)
{
    const struct jm_request *x = a, *y = b;
    return x->t[JM_T_SENT] < y->t[JM_T_SENT] ? -1 : x->t[JM_T_SENT] > y->t[JM_T_SENT];
}

/* Every count is the engine's own; no stamp lies before its cause. */
static void counts_and_order_agree_with_the_truth(void **state)
{
    static struct simkit_book b;
    struct simkit e;
    struct jm_str text;
    struct jm_json *truth = NULL;
    struct jm_err err;
    (void)state;
    simkit_start(&e, "--prompt-tokens-details", NULL);
    struct jm_load_cfg cfg = simkit_cfg(&e);
    cfg.concurrency = 1; /* then the engine's order is ours */
    simkit_run(&cfg, &b);
    simkit_stop(&e);
    assert_int_equal(b.n, 60);
    jm_str_init(&text);
    assert_int_equal(jm_file_read(e.truth, 1 << 24, &text, &err), 0);
    assert_int_equal(jm_json_parse(jm_str_span(&text), &truth, &err), 0);
    const struct jm_json *list = jm_json_get(truth, "request");
    size_t probes = jm_json_len(list) - 60;
    assert_in_range(probes, 1, 5);
    qsort(b.r, 60, sizeof *b.r, by_closed);
    for (int i = 0; i < 60; i++) {
        const struct jm_request *r = &b.r[i];
        const struct jm_json *t = jm_json_at(list, probes + (size_t)i);
        if (r->end != JM_END_OK)
            fail_msg("%s: %s", jm_end_name((int)r->end), r->error);
        assert_int_equal(r->prompt_tokens, number(t, "prompt_tokens"));
        assert_int_equal(r->output_tokens, number(t, "completion_tokens"));
        assert_int_equal(r->prompt_tokens, 100);
        assert_int_equal(r->output_tokens, 24);
        assert_int_equal(r->events, 24);
        assert_int_equal(r->token_source, JM_TOK_USAGE);
        assert_string_equal(r->finish, "length");
        assert_true(number(t, "cached_tokens") < 16); /* no prompt is like another */
        assert_true(r->t[JM_T_SENT] <= number(t, "arrival_ns"));
        assert_true(r->t[JM_T_FIRST_TOKEN] >= number(t, "arrival_ns"));
        assert_true(r->t[JM_T_LAST_TOKEN] >= r->t[JM_T_FIRST_TOKEN]);
    }
    assert_non_null(strstr(b.facts, "load.isl.mode=tokenize\n"));
    assert_non_null(strstr(b.facts, "load.isl.checked=yes\n"));
    assert_non_null(strstr(b.facts, "load.isl.kept=60 of 60\n"));
    assert_non_null(strstr(b.facts, "load.osl.kept=60 of 60\n"));
    jm_json_free(truth);
    jm_str_release(&text);
    unlink(e.truth);
}

static void the_endpoint_is_known(void **state)
{
    struct simkit e;
    struct jm_endpoint p;
    struct jm_err err;
    (void)state;
    simkit_start(&e, NULL);
    struct jm_load_cfg cfg = simkit_cfg(&e);
    assert_int_equal(jm_load_probe(&cfg, NULL, &p, &err), 0);
    assert_true(p.simulated && p.local && !p.tls);
    assert_string_equal(p.model, "8b-h100");
    assert_string_equal(p.engine, "joulemark-sim");
    assert_string_equal(p.kind, "vllm");
    assert_string_equal(p.dialect, "openai.chat");
    assert_true(p.counts);
    assert_int_equal(p.max_model_len, 32768);
    assert_int_equal(p.pid, e.pid);
    simkit_stop(&e);
    assert_int_equal(jm_load_probe(&cfg, NULL, &p, &err), JM_ENET);
    simkit_start(&e, "--api-key=secret", NULL);
    cfg.url = e.url;
    assert_int_equal(jm_load_probe(&cfg, NULL, &p, &err), JM_EDENIED);
    assert_non_null(strstr(err.text, "API key"));
    cfg.api_key = "secret";
    assert_int_equal(jm_load_probe(&cfg, NULL, &p, &err), 0);
    simkit_stop(&e);
    unlink(e.truth);
}

static void every_fault_is_told(void **state)
{
    static const struct {
        const char *fault;
        int end;
        int64_t output; /* -1 unknown, -2 not looked at */
        unsigned flags;
    } rows[] = {
        {"status=500", JM_END_HTTP_SERVER, -1, 0},
        {"status=429", JM_END_RATE_LIMIT, -1, 0},
        {"refuse", JM_END_CUT, -1, 0},
        {"reset", JM_END_CUT, -1, 0},
        {"slow-headers=200", JM_END_OK, 24, 0},
        {"delay=200", JM_END_OK, 24, 0},
        {"cut=5", JM_END_CUT, -1, 0},
        {"rst=5", JM_END_CUT, -1, 0},
        {"stall=5", JM_END_STALLED, -1, 0},
        {"error-event=5", JM_END_ERROR_EVENT, -1, 0},
        {"error-field=5", JM_END_ERROR_EVENT, -1, 0},
        {"abort=5", JM_END_ABORTED, -2, 0},
        {"no-done", JM_END_OK, 24, 0},
        {"no-finish", JM_END_OK, 24, 0},
        {"no-done,no-finish", JM_END_CUT, -2, 0},
        {"fake-stop=5", JM_END_OK, -2, 0}, /* only the asked length can tell: load.osl.kept */
        {"no-usage", JM_END_OK, -1, 0},
        {"usage-in-finish", JM_END_OK, 24, 0},
        {"zero-usage", JM_END_OK, 24, 0},
        {"early-eos", JM_END_OK, -2, 0},
        {"null-role", JM_END_OK, 24, 0},
        {"no-role", JM_END_OK, 24, 0},
        {"empty=3", JM_END_OK, 24, 0},
        {"bundle=10", JM_END_OK, 24, 0},
        {"tool-call", JM_END_OK, 24, JM_TE_TOOL},
        {"crlf", JM_END_OK, 24, 0},
        {"cr", JM_END_OK, 24, 0},
        {"no-space", JM_END_OK, 24, 0},
        {"trailing-space", JM_END_OK, 24, 0},
        {"bom", JM_END_OK, 24, 0},
        {"comments=3", JM_END_OK, 24, 0},
        {"named", JM_END_OK, 24, 0},
        {"two-data", JM_END_OK, 24, 0},
        {"huge=1048576", JM_END_OK, 24, 0},
        {"bad-json=5", JM_END_PROTOCOL, -2, 0},
        {"bad-utf8=5", JM_END_OK, 24, 0},
        {"split", JM_END_OK, 24, 0},
        {"split-chunks", JM_END_OK, 24, 0},
        {"merge=4", JM_END_OK, 24, 0},
        {"long-length=100", JM_END_OK, 24, 0}, /* [DONE] came: only the framing lied */
        {"short-length=100", JM_END_CUT, -1, 0},
        {"http10", JM_END_OK, 24, 0},
        {"bad-chunk=5", JM_END_PROTOCOL, -1, 0},
    };
    static struct simkit_book b;
    struct simkit e;
    char path[] = "/tmp/jm-prompts-XXXXXX";
    int fd = mkstemp(path);
    (void)state;
    assert_int_equal(write(fd, "{\"prompt\":\"the energy of one token\"}\n", 37), 37);
    close(fd);
    simkit_start(&e, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jm_load_cfg cfg = simkit_cfg(&e);
        char model[100];
        cfg.counts = JM_COUNTS_USAGE;
        snprintf(model, sizeof model, "8b-h100+%s", rows[i].fault);
        cfg.model = model;
        cfg.prompts_path = path;
        cfg.max_requests = cfg.concurrency = 1;
        if (rows[i].end == JM_END_STALLED)
            cfg.stall_ns = 200 * MS;
        simkit_run(&cfg, &b);
        const struct jm_request *r = &b.r[0];
        if (b.n != 1 || (int)r->end != rows[i].end ||
            (rows[i].output != -2 && r->output_tokens != rows[i].output) ||
            (b.flags & rows[i].flags) != rows[i].flags || (r->end != JM_END_OK && !r->error[0]))
            fail_msg("%s: %s (%s), %lld tokens in %lld events", rows[i].fault, jm_end_name((int)r->end),
                     r->error, (long long)r->output_tokens, (long long)r->events);
        if (strcmp(rows[i].fault, "fake-stop=5") == 0)
            assert_non_null(strstr(b.facts, "load.osl.kept=0 of 1\n"));
    }
    simkit_stop(&e);
    unlink(e.truth);
    unlink(path);
}

/* Speculative decoding and stream intervals: several tokens an event; running usage and token ids tell how
 * many. */
static void tokens_an_event_are_told(void **state)
{
    static struct simkit_book b;
    static const char *const extra[] = {
        "{\"stream_options\":{\"include_usage\":true,\"continuous_usage_stats\":true}}",
        "{\"return_token_ids\":true}"};
    struct simkit e;
    (void)state;
    simkit_start(&e, "--stream-interval=5", NULL);
    for (int k = 0; k < 2; k++) {
        struct jm_load_cfg cfg = simkit_cfg(&e);
        cfg.extra_json = extra[k];
        cfg.max_requests = 8;
        simkit_run(&cfg, &b);
        assert_int_equal(b.n, 8);
        for (int i = 0; i < 8; i++) {
            assert_int_equal(b.r[i].end, JM_END_OK);
            assert_true(b.r[i].events < 24);
        }
        if (b.known != 8 * 24)
            fail_msg("%s: events told %lld of %d tokens", extra[k], (long long)b.known, 8 * 24);
    }
    simkit_stop(&e);
    unlink(e.truth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_order_agree_with_the_truth),
        cmocka_unit_test(the_endpoint_is_known),
        cmocka_unit_test(every_fault_is_told),
        cmocka_unit_test(tokens_an_event_are_told),
    };
    return simkit_main(tests, sizeof tests / sizeof *tests);
}
