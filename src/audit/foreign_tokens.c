/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens and what is counted per token, in other tools' files. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit/foreign.h"
#include "audit/threshold.h"

#include "base/banned.h"

static double share(int64_t part, int64_t all)
{
    return all > 0 ? (double)part / (double)all : 0;
}

int jm_foreign_chunks(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    struct jm_foreign_sum s;
    char evidence[160];
    jm_foreign_sum(run, r, -1, &s);
    snprintf(evidence, sizeof evidence,
             "%lld tokens in %lld chunks; %lld of %lld requests have fewer chunks than tokens",
             (long long)s.chunk_tokens, (long long)s.chunks, (long long)s.fewer, (long long)s.chunked);
    if (share(s.fewer, s.chunked) > JM_TH_FOREIGN_FEW && s.chunk_tokens > s.chunks) {
        double k = (double)s.chunk_tokens / (double)s.chunks;
        return jm_foreign_say(r, err, "tokens.chunks", JM_SEV_WARNING, -1, evidence,
                              "%.0f %% of the answers came in fewer chunks than they have tokens (%.3g "
                              "tokens a chunk), so an ITL over "
                              "chunks is %.3g times the time per token; compare by tpot.excl_first, or ask "
                              "for one token a chunk",
                              100 * share(s.fewer, s.chunked), k, k);
    }
    snprintf(evidence, sizeof evidence, "%lld chunks for %lld tokens", (long long)s.chunks,
             (long long)s.chunk_tokens);
    if (share(s.more, s.chunked) > JM_TH_FOREIGN_FEW && s.chunks > s.chunk_tokens)
        return jm_foreign_say(
            r, err, "tokens.no_token", JM_SEV_WARNING, -1, evidence,
            "%.0f %% of the answers came in more chunks than they have tokens: chunks with a role, a finish "
            "reason or no "
            "text are in the gaps between \"tokens\", and perhaps at the beginning of the TTFT",
            100 * share(s.more, s.chunked));
    return 0;
}

/* bench_serving of SGLang and what was made after it: the length is the one asked for until usage comes,
 * which is not asked for. Signs: another count of the same text, fewer chunks, or just the wish for every
 * request. */
int jm_foreign_requested(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    struct jm_foreign_sum s;
    char evidence[200];
    bool sglang = jm_foreign_is(run, "sglang");
    int rc = 0;
    for (int w = 0; !rc && w < jm_foreign_windows(r); w++) {
        double out = jm_foreign_claim(r, w, "tokens.output", NULL),
               again = jm_foreign_claim(r, w, "tokens.retokenized", NULL);
        jm_foreign_sum(run, r, w, &s);
        if (out > 0 && again > 0 && fabs(again / out - 1) > JM_TH_FOREIGN_RETOKENIZED) {
            snprintf(evidence, sizeof evidence,
                     "%.0f tokens stated, %.0f in the text when it is tokenised again", out, again);
            rc = jm_foreign_say(
                r, err, "tokens.requested", JM_SEV_ERROR, w, evidence,
                "the text that came has %.1f %% %s tokens than the file counts: the lengths are those "
                "asked for, not those produced; run again with usage in the stream "
                "(stream_options.include_usage)",
                100 * fabs(again / out - 1), again < out ? "fewer" : "more");
        } else if (sglang && s.counted >= 2 && s.same_length > 0 && !(again > 0) && !s.cached_known) {
            snprintf(evidence, sizeof evidence, "%lld requests, each of %lld output tokens",
                     (long long)s.counted, (long long)s.same_length);
            rc = jm_foreign_say(
                r, err, "tokens.requested", JM_SEV_WARNING, w, evidence,
                "every answer has just the same length, and nothing in the file shows that the server "
                "counted: it may be the length asked for; run again with usage in the stream");
        } else if (sglang && s.asked >= 2 && s.exact == s.asked && s.chunked > 0 && s.fewer == s.chunked) {
            snprintf(evidence, sizeof evidence, "%lld tokens stated, %lld chunks came",
                     (long long)s.chunk_tokens, (long long)s.chunks);
            rc = jm_foreign_say(
                r, err, "tokens.requested", JM_SEV_WARNING, w, evidence,
                "every answer has just the length asked for, and came in fewer chunks: the lengths may "
                "be those asked for");
        }
    }
    return rc;
}

int jm_foreign_counted(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const char *chunks = jm_run_env(run, "import.tokens.from_chunks");
    double server = jm_run_number(run, "import.tokens.server_total"),
           client = jm_run_number(run, "import.tokens.client_total");
    char evidence[160];
    if (chunks)
        return jm_foreign_say(
            r, err, "tokens.from_chunks", JM_SEV_ERROR, -1, chunks,
            "the server sent no usage for some answers, and the tool counted chunks as tokens; ask for "
            "usage in the stream");
    if (!(server > 0) || !(client > 0) || fabs(server / client - 1) <= JM_TH_FOREIGN_RETOKENIZED)
        return 0;
    snprintf(evidence, sizeof evidence, "server %.0f, client %.0f", server, client);
    return jm_foreign_say(
        r, err, "tokens.client", JM_SEV_WARNING, -1, evidence,
        "the server counted %.3g times the output tokens that the client's tokenizer finds in the text: "
        "per-token numbers of the file are off by that; use the server's counts",
        server / client);
}

int jm_foreign_lengths(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    struct jm_foreign_sum s;
    char evidence[96];
    jm_foreign_sum(run, r, -1, &s);
    if (!s.over)
        return 0;
    snprintf(evidence, sizeof evidence, "%lld of %lld", (long long)s.over, (long long)s.asked);
    return jm_foreign_say(
        r, err, "tokens.over", JM_SEV_WARNING, -1, evidence,
        "%lld answers have more tokens than were asked for, so the count is not the server's (text "
        "tokenised again, or several choices)",
        (long long)s.over);
}

int jm_foreign_cache(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    struct jm_foreign_sum s;
    char evidence[96];
    jm_foreign_sum(run, r, -1, &s);
    double cached = s.cached_known ? (double)s.cached : jm_foreign_claim(r, -2, "tokens.cached", NULL),
           prompt = s.prompt ? (double)s.prompt : jm_foreign_claim(r, -2, "tokens.input", NULL);
    if (!(cached > 0) || !(prompt > 0))
        return 0;
    double part = cached / prompt;
    snprintf(evidence, sizeof evidence, "%.0f of %.0f prompt tokens", cached, prompt);
    return jm_foreign_say(
        r, err, "cache.hits", part > JM_TH_FOREIGN_CACHED ? JM_SEV_WARNING : JM_SEV_INFO, -1, evidence,
        "%.1f %% of the prompt tokens came from the server's cache: TTFT, input tokens/s and energy "
        "per input token are those of the rest; divide by the tokens that were computed",
        100 * part);
}

int jm_foreign_first(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    const char *type = jm_run_env(run, "import.endpoint_type");
    struct jm_foreign_sum s;
    char evidence[96];
    bool chat = type && (strstr(type, "chat") || strstr(type, "Chat"));
    bool counts = (jm_foreign_is(run, "vllm") && chat) || jm_foreign_is(run, "evalscope") ||
                  jm_foreign_is(run, "llmperf");
    if (!counts || !jm_foreign_find(r, -2, "ttft", NULL))
        return 0;
    jm_foreign_sum(run, r, -1, &s);
    bool seen = share(s.more, s.chunked) > JM_TH_FOREIGN_FEW;
    snprintf(evidence, sizeof evidence, "%lld of %lld answers have more chunks than tokens",
             (long long)s.more, (long long)s.chunked);
    return jm_foreign_say(
        r, err, "ttft.role", seen ? JM_SEV_WARNING : JM_SEV_INFO, -1, seen ? evidence : NULL,
        seen ? "TTFT ends with the first chunk of any kind, and there are chunks without a token: it is "
               "the time to a role, not to a token"
             : "this tool ends TTFT with the first chunk that has a choice; where the server sends a "
               "role first, that is no token");
}

int jm_foreign_tpot(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    (void)run;
    char evidence[120];
    int rc = 0;
    for (size_t i = 0; !rc && i < r->n_claims; i++) {
        const struct jm_claim *k = &r->claims[i];
        if (strcmp(k->metric, "tpot.incl_prefill") != 0 || !isfinite(k->claimed) ||
            strcmp(k->stat, "mean") != 0)
            continue;
        double decode = NAN;
        for (size_t j = 0; j < r->n_results; j++)
            if (r->results[j].q.have && r->results[j].window == k->window &&
                strcmp(r->results[j].metric, "tpot.excl_first") == 0 && isnan(r->results[j].quantile))
                decode = r->results[j].q.value;
        if (isnan(decode))
            decode = jm_foreign_claim(r, k->window, "itl.token_mean", "mean");
        if (decode > 0 && fabs(k->claimed / decode - 1) <= JM_TH_FOREIGN_TPOT)
            continue;
        snprintf(evidence, sizeof evidence, "%s: %.4g ms; without the prefill %.4g ms", k->key,
                 1e3 * k->claimed, 1e3 * decode);
        rc = jm_foreign_say(
            r, err, "tpot.prefill", JM_SEV_WARNING, k->window, decode > 0 ? evidence : k->key,
            "the time per output token holds the prefill and the first token; other tools leave them out, "
            "so compare by tpot.excl_first");
    }
    return rc;
}

int jm_foreign_zeros(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    struct jm_foreign_sum s;
    char evidence[96];
    bool tool = jm_foreign_is(run, "inference-perf") || jm_foreign_is(run, "fmperf");
    if (!tool)
        return 0;
    jm_foreign_sum(run, r, -1, &s);
    double least = jm_foreign_claim(r, -2, "itl.chunk", "min");
    if (isnan(least))
        least = jm_foreign_claim(r, -2, "itl.token", "min");
    if (share(s.shared, s.chunks) <= JM_TH_FOREIGN_FEW && least != 0)
        return 0;
    snprintf(evidence, sizeof evidence, "%lld of %lld gaps are 0", (long long)s.shared,
             (long long)(s.chunks - s.chunked));
    return jm_foreign_say(
        r, err, "itl.zeros", JM_SEV_WARNING, -1, s.shared ? evidence : "the shortest gap is 0",
        "all tokens of a chunk have one time, so gaps inside are 0 and the quantiles of ITL are those of "
        "the chunks' sizes; compare by tpot.excl_first");
}
