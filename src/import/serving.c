/* SPDX-License-Identifier: Apache-2.0 */
/* The arrays over requests that vLLM's and SGLang's serving benchmarks share: input_lens, output_lens, ttfts
 * and itls in seconds, errors, and in newer files start_times, latencies, cached_tokens. */
#include "import/serving.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

enum { INPUT, OUTPUT, TTFT, ITL, START, ERROR, LATENCY, CACHED, N_COLS };

static void request(struct jm_build *b, const struct jm_jcol *c, int64_t shift, int64_t asked)
{
    struct jm_request q;
    int64_t ttft = -1, start = -1, e2e = -1;
    char error[sizeof q.error] = "";
    jm_request_init(&q);
    if (c[ERROR].row)
        jm_jtext(&c[ERROR].v, error, sizeof error);
    if (c[INPUT].row)
        jm_jint(&c[INPUT].v, &q.prompt_tokens);
    if (c[OUTPUT].row)
        jm_jint(&c[OUTPUT].v, &q.output_tokens);
    if (c[TTFT].row)
        jm_jtime(&c[TTFT].v, 0, &ttft);
    if (c[START].row && jm_jtime(&c[START].v, 0, &start))
        start += shift;
    if (c[LATENCY].row)
        jm_jtime(&c[LATENCY].v, 0, &e2e);
    if (c[CACHED].row)
        jm_jint(&c[CACHED].v, &q.cached_tokens);
    q.asked_osl = asked;
    bool failed = error[0] || (q.output_tokens == 0 && ttft <= 0);
    q.end = !failed ? JM_END_OK : error[0] ? jm_build_end_of(error) : JM_END_EMPTY;
    snprintf(q.error, sizeof q.error, "%s", error);
    if (failed)
        q.output_tokens = ttft = e2e = -1;
    jm_build_timed(b, &q, start, ttft, e2e, c[ITL].row ? &c[ITL].v : NULL, 0);
    jm_build_request(b, &q);
}

static int64_t earliest(const struct jm_ifile *f, const struct jm_jcol *c)
{
    struct jm_jiter it;
    struct jm_jtoken v;
    int64_t t, first = INT64_MAX;
    jm_jiter_init(&it, f, &c->array);
    while (c->have && jm_jiter_next(&it, NULL, &v, NULL) > 0)
        if (jm_jtime(&v, 0, &t) && t < first)
            first = t;
    return first;
}

/* The mean of a list of lengths, which stands beside the totals of the file. */
static void lengths(struct jm_build *b, const struct jm_jcol *c, const char *metric)
{
    char key[48];
    double sum = 0;
    int64_t n = 0;
    int rc = c->have ? jm_jsum(b->f, &c->array, &sum, &n, b->err) : 0;
    if (rc < 0)
        b->rc = rc;
    if (rc < 0 || n < 1)
        return;
    snprintf(key, sizeof key, "%s, mean", c->name);
    jm_build_claim(b, key, metric, "mean", sum / (double)n, "tokens", "the mean of the list of the file");
}

void jm_serving_requests(struct jm_build *b, const struct jm_jtoken *doc, int64_t asked_osl)
{
    struct jm_jcol c[N_COLS] = {
        [INPUT] = {.name = "input_lens"},  [OUTPUT] = {.name = "output_lens"},  [TTFT] = {.name = "ttfts"},
        [ITL] = {.name = "itls"},          [START] = {.name = "start_times"},   [ERROR] = {.name = "errors"},
        [LATENCY] = {.name = "latencies"}, [CACHED] = {.name = "cached_tokens"}};
    int rc = jm_jcols_open(b->f, doc, c, N_COLS, b->err);
    if (rc) {
        b->rc = rc;
        return;
    }
    if (!c[OUTPUT].have) {
        jm_build_missing(b, "requests",
                         "the file has means and percentiles only (an option of the tool keeps the requests: "
                         "--save-detailed, --output-details), so nothing "
                         "can be computed again");
        return;
    }
    if (!c[TTFT].have && !c[ITL].have && !c[LATENCY].have) {
        lengths(b, &c[INPUT], "isl");
        lengths(b, &c[OUTPUT], "osl");
        jm_build_missing(b, "requests",
                         "the file has the lengths of its requests and none of their times, so that none can "
                         "be placed; means and percentiles cannot be computed again");
        return;
    }
    if (c[LATENCY].have) { /* newer files keep it beside the others, and then of successful requests only */
        struct jm_jtoken first;
        struct jm_jiter a, o;
        jm_jiter_init(&a, b->f, &c[LATENCY].array);
        jm_jiter_init(&o, b->f, &c[OUTPUT].array);
        int x, y;
        do {
            x = jm_jiter_next(&a, NULL, &first, NULL);
            y = jm_jiter_next(&o, NULL, &first, NULL);
        } while (x > 0 && y > 0);
        c[LATENCY].have = x == y;
    }
    int64_t first = earliest(b->f, &c[START]), shift = first == INT64_MAX ? 0 : b->t0 - first;
    jm_build_times(b, first == INT64_MAX
                          ? "durations only: every request is placed at the start of its window"
                          : "relative to the first request; that one is placed at the start of the window");
    if (first == INT64_MAX)
        jm_build_env(b, "import.placed", "window start");
    if (!c[ITL].have)
        jm_build_missing(b, "token_times", "the file has no itls");
    while (!b->rc && (rc = jm_jcols_row(c, N_COLS, b->err)) > 0)
        request(b, c, shift, asked_osl);
    if (rc < 0)
        b->rc = rc;
}
