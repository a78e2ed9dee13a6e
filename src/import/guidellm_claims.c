/* SPDX-License-Identifier: Apache-2.0 */
/* guidellm's statistics of a benchmark as claims. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "import/peer.h"

#include "base/banned.h"

static const struct {
    const char *name, *metric, *unit, *source;
} rows[] = {
    {"time_to_first_token_ms", "ttft.from_sent", "ms",
     "first token - request start (not the scheduled time), wall clock"},
    {"time_to_first_output_token_ms", "ttfo", "ms",
     "first token that is not reasoning - request start, wall clock"},
    {"time_per_output_token_ms", "tpot.incl_prefill", "ms",
     "(last token - request start) / output tokens: prefill and the first token are in it; each request "
     "weighs with "
     "its tokens"},
    {"time_per_output_token_ms", "", "ms",
     "up to version 0.3: (last token - first token) / output tokens, neither with the prefill nor over the "
     "intervals; each request weighs with its tokens"},
    {"inter_token_latency_ms", "itl.token_mean", "ms",
     "(last token - first token) / (output tokens - 1), a mean of each request, which weighs with its tokens "
     "- 1"},
    {"request_latency", "e2e.closed", "s", "request end - request start, wall clock"},
    {"request_scheduled_latency", "", "s", "request end - targeted start"},
    {"request_dispatch_delay", "queue", "s", "request start - targeted start"},
    {"output_tokens_per_second", "tokens_per_s", "tokens/s",
     "rate over time of tokens spread evenly over each answer"},
    {"requests_per_second", "requests_per_s", "requests/s", "rate over time of request ends"},
    {"request_concurrency", "concurrency", "requests", ""},
    {"prompt_token_count", "isl", "tokens", "server usage, else guidellm's tokenizer"},
    {"output_token_count", "osl", "tokens", "server usage, else the number of chunks"},
};

/* p001 is the 0.1th percentile, p999 the 99.9th. */
static bool percentile(const struct jm_jtoken *key, char stat[16])
{
    if (jm_jtoken_is(key, "p001"))
        snprintf(stat, 16, "p0.1");
    else if (jm_jtoken_is(key, "p999"))
        snprintf(stat, 16, "p99.9");
    else
        return jm_build_stat(key->raw, stat);
    return true;
}

static void distribution(struct jm_build *b, const struct jm_ifile *f, const char *name,
                         const struct jm_jtoken *o, int row)
{
    struct jm_jiter it, pt;
    struct jm_jtoken k, v, pk, pv;
    char key[128], word[24], stat[16];
    double d;
    /* of a rate over time only the mean is what the others call throughput */
    bool rate = row >= 0 && strstr(rows[row].metric, "_per_s");
    const char *metric = row < 0 || rate ? "" : rows[row].metric, *unit = row < 0 ? "" : rows[row].unit,
               *source = row < 0 ? "" : rows[row].source;
    jm_jiter_init(&it, f, o);
    while (jm_jiter_next(&it, &k, &v, NULL) > 0) {
        if (jm_jtoken_is(&k, "percentiles") && v.type == JM_J_OBJECT) {
            jm_jiter_init(&pt, f, &v);
            while (jm_jiter_next(&pt, &pk, &pv, NULL) > 0)
                if (jm_jtext(&pk, word, sizeof word) && percentile(&pk, stat)) {
                    snprintf(key, sizeof key, "%s.successful.percentiles.%s", name, word);
                    jm_build_claim(b, key, metric, stat, jm_jnum(&pv, &d) ? d : NAN, unit, source);
                }
        } else if (v.type == JM_J_NUMBER && jm_jtext(&k, word, sizeof word) && jm_build_stat(k.raw, stat)) {
            bool counts = strcmp(stat, "count") == 0;
            snprintf(key, sizeof key, "%s.successful.%s", name, word);
            jm_build_claim(b, key,
                           counts                              ? ""
                           : rate && strcmp(stat, "mean") == 0 ? rows[row].metric
                                                               : metric,
                           rate && strcmp(stat, "mean") == 0 ? "" : stat, jm_jnum(&v, &d) ? d : NAN,
                           counts ? "" : unit, source);
        }
    }
}

/* A distribution without a value is all zeros in the file ("count": 0): it claims nothing. */
static bool empty(const struct jm_ifile *f, const struct jm_jtoken *o)
{
    struct jm_jtoken v;
    int64_t n;
    return jm_jmember(f, o, "count", &v) && jm_jint(&v, &n) && n == 0;
}

void jm_guidellm_claims(struct jm_build *b, const struct jm_ifile *f, const struct jm_jtoken *metrics,
                        bool old)
{
    struct jm_jiter it;
    struct jm_jtoken k, v, ok;
    char name[64];
    jm_jiter_init(&it, f, metrics);
    while (!b->rc && jm_jiter_next(&it, &k, &v, NULL) > 0) {
        int row = -1;
        if (!jm_jtext(&k, name, sizeof name) || !jm_jmember(f, &v, "successful", &ok) ||
            ok.type != JM_J_OBJECT || empty(f, &ok))
            continue;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
            if (jm_jtoken_is(&k, rows[i].name) && (row < 0 || old)) /* the second one is the older meaning */
                row = (int)i;
        distribution(b, f, name, &ok, row);
    }
}
