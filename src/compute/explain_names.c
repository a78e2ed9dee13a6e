/* SPDX-License-Identifier: Apache-2.0 */
/* Which numbers can be explained, and the words for what tools do. */
#include <string.h>

#include "base/near.h"
#include "compute/explain.h"

#include "base/banned.h"

const char *jm_peer_set_text(enum jm_peer_set s)
{
    static const char *const text[] = {"successful ones", "one chunk under HTTP 200 is success",
                                       "HTTP 200 is success", "all, failed ones too"};
    return text[s];
}

const char *jm_peer_tokens_text(enum jm_peer_tokens t)
{
    static const char *const text[] = {NULL, "server's count",
                                       "client's tokenizer (same text, unknown tokenizer)",
                                       "length asked for", "one a chunk"};
    return text[t];
}

const char *jm_peer_quantile_text(enum jm_quantile_kind q)
{
    static const char *const text[] = {"interpolated between order statistics",
                                       "first value at which the share reaches q",
                                       "value at index floor(q n)"};
    return text[q];
}

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

const struct jm_family *jm_family_of(const char *what)
{
    static const struct {
        const char *begin, *family;
    } of[] = {{"ttft", "ttft"},
              {"ttfo", "ttft"},
              {"ttst", "ttft"},
              {"prefill_tokens_per_s", "ttft"},
              {"tpot", "tpot"},
              {"tokens_per_s.per_", "tpot"},
              {"itl", "itl"},
              {"tokens_per_chunk", "itl"},
              {"e2e", "e2e"},
              {"queue", "queue"},
              {"tokens_per_s", "throughput"},
              {"throughput", "throughput"},
              {"requests_per_s", "requests"},
              {"requests", "requests"},
              {"goodput.tokens_per_j", "energy"},
              {"goodput", "goodput"},
              {"attainment", "goodput"},
              {"tokens_per_j", "energy"},
              {"tokens", "tokens"},
              {"energy", "energy"},
              {"j_per", "energy"},
              {"kwh_per_mtok", "energy"},
              {"requests_per_kwh", "energy"},
              {"power", "energy"},
              {"net.", "energy"},
              {"wall_to_gpu", "energy"}};
    const struct jm_family *f = jm_families;
    size_t best = 0, k = sizeof of / sizeof of[0];
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++)
        if (begins(what, of[i].begin) && strlen(of[i].begin) > best) {
            best = strlen(of[i].begin);
            k = i;
        }
    if (k == sizeof of / sizeof of[0])
        return NULL;
    /* "tpotx" is no id */
    bool known = jm_metric_find(what) != NULL || strcmp(what, of[k].family) == 0 ||
                 strcmp(what, "j_per") == 0 || strcmp(what, "throughput") == 0 ||
                 strcmp(what, "tokens.output") == 0;
    while (f->name && strcmp(f->name, of[k].family) != 0)
        f++;
    return known && f->name ? f : NULL;
}

int jm_explain_unknown(const char *what, struct jm_err *err)
{
    struct jm_span w = jm_span_of(what);
    const char *best = NULL;
    unsigned least = 99;
    for (const struct jm_family *f = jm_families; f->name; f++) {
        unsigned d = jm_near_distance(w, jm_span_of(f->name));
        if (d < least && jm_near_plausible(d, w.n)) {
            least = d;
            best = f->name;
        }
    }
    for (const struct jm_metric *m = jm_metric_table; m->id; m++) {
        unsigned d = jm_near_distance(w, jm_span_of(m->id));
        if (d < least && jm_near_plausible(d, w.n) && jm_family_of(m->id)) {
            least = d;
            best = m->id;
        }
    }
    if (jm_metric_find(what))
        return jm_err_set(
            err, JM_EUSAGE,
            "--explain: no other tool prints anything like %s; try ttft, tpot, itl, e2e, queue, "
            "throughput, requests, goodput, tokens or j_per.output_token",
            what);
    if (best)
        return jm_err_set(err, JM_EUSAGE, "--explain: there is no metric \"%.60s\"; did you mean %s?", what,
                          best);
    return jm_err_set(err, JM_EUSAGE,
                      "--explain: there is no metric \"%.60s\"; try ttft, tpot, itl, e2e, queue, throughput, "
                      "requests, goodput, tokens or j_per.output_token",
                      what);
}
