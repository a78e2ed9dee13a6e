/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the whole load generator share: a sink that keeps everything, a run, and a server with
 * one behaviour. Included by test programs alone. */
#ifndef TESTS_LOAD_BOOK_H
#define TESTS_LOAD_BOOK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "load/load.h"
#include "load/mock.h"

#define MS JM_NS_PER_MS
#ifndef TRANSPORT /* load_curl_test.c runs all of it by libcurl */
#define TRANSPORT "plain"
#define WARMING   0 /* requests that open a connection before the start */
#endif

/* --- a sink that keeps everything
 * --------------------------------------------------------------------------------- */
struct kept {
    struct jm_request r;
    struct jm_token_event *ev;
    size_t n;
    char *output;
};
struct book {
    struct kept k[4096];
    int n;
};

static void keep(void *self, const struct jm_request *r, const struct jm_token_event *ev, size_t n,
                 struct jm_span prompt, struct jm_span output)
{
    struct book *b = self;
    (void)prompt;
    if (b->n == (int)(sizeof b->k / sizeof *b->k))
        abort();
    struct kept *k = &b->k[b->n++];
    k->r = *r;
    k->n = n;
    k->ev = malloc((n + 1) * sizeof *ev);
    if (n)
        memcpy(k->ev, ev, n * sizeof *ev);
    k->output = strndup(output.p ? output.p : "", output.n);
}

static struct book *new_book(void)
{
    return calloc(1, sizeof(struct book));
}

static void free_book(struct book *b)
{
    for (int i = 0; i < b->n; i++) {
        free(b->k[i].ev);
        free(b->k[i].output);
    }
    free(b);
}

struct facts {
    char text[16384];
};

static void put_fact(void *self, const char *key, const char *value)
{
    struct facts *f = self;
    size_t n = strlen(f->text);
    snprintf(f->text + n, sizeof f->text - n, "%s=%s\n", key, value);
}

static struct jm_load_cfg base_cfg(struct mock *m)
{
    return (struct jm_load_cfg){.url = mock_url(m),
                                .model = "m",
                                .transport = TRANSPORT,
                                .concurrency = 1,
                                .isl = 20,
                                .osl = 4,
                                .temperature = NAN,
                                .max_requests = 1,
                                .keep_text = true,
                                .connect_ns = 60000 * MS, /* no machine is that slow */
                                .header_ns = 60000 * MS,
                                .stall_ns = 60000 * MS,
                                .total_ns = 120000 * MS};
}

/* Runs until max_requests are done, which a busy machine may need much longer for, or for run_ms. start_rc
 * NULL: the start must succeed. */
static struct book *run(const struct jm_load_cfg *cfg, int run_ms, int *start_rc, struct jm_err *err,
                        struct facts *facts)
{
    struct book *b = new_book();
    struct jm_load_sink sink = {b, keep};
    struct jm_load *l = NULL;
    struct jm_clock clock = jm_clock_system();
    struct jm_load_live live;
    struct jm_err mine = {0};
    if (!err)
        err = &mine;
    if (jm_load_new(cfg, &sink, &l, err) != 0)
        fail_msg("jm_load_new: %s", err->text);
    int rc = jm_load_start(l, err);
    if (start_rc)
        *start_rc = rc;
    else if (rc)
        fail_msg("jm_load_start: %s", err->text);
    int64_t until = jm_clock_mono(&clock) + run_ms * (cfg->max_requests > 0 ? 10 : 1) * MS;
    do {
        jm_load_live(l, &live);
        mock_sleep(2);
    } while (rc == 0 && jm_clock_mono(&clock) < until &&
             (cfg->max_requests <= 0 || live.finished < cfg->max_requests));
    jm_load_stop(l);
    jm_load_drain(l, 30000 * MS);
    if (facts) {
        facts->text[0] = '\0';
        jm_load_facts(l, put_fact, facts);
    }
    jm_load_free(l);
    return b;
}

/* --- one request, one behaviour
 * ------------------------------------------------------------------------------------ */
struct script {
    bool (*answer)(struct mock_conn *c, const struct mock_request *r);
};

static bool scripted(struct mock_conn *c, const struct mock_request *r, void *arg)
{
    const struct script *s = arg;
    bool go_on;
    if (mock_usual(c, r, &go_on))
        return go_on;
    if (strstr(r->body, "\"stream\":false")) { /* the probe of prompt lengths: nobody counts */
        mock_json(
            c, 200, "",
            "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"x\"},\"finish_reason\":\"length\"}]}");
        return true;
    }
    return s->answer(c, r);
}

static struct jm_request one(bool (*answer)(struct mock_conn *, const struct mock_request *),
                             void (*change)(struct jm_load_cfg *))
{
    struct script s = {answer};
    struct mock *m = mock_start(scripted, &s);
    struct jm_load_cfg cfg = base_cfg(m);
    int rc;
    if (change)
        change(&cfg);
    struct book *b = run(&cfg, 8000, &rc, NULL, NULL);
    assert_true(b->n >= 1);
    struct jm_request r = b->k[0].r;
    free_book(b);
    mock_stop(m);
    return r;
}

#endif
