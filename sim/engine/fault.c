/* SPDX-License-Identifier: Apache-2.0 */
#include "fault.h"

#include <stdlib.h>
#include <string.h>

#define TOKENS "tokens before"
#define MAXTOK 1000000000

/* clang-format off */
const struct sim_fault_row sim_fault_table[SIM_F_COUNT] = {
    {SIM_F_STATUS, "status", "code", 500, 400, 599, "answer with this status and an OpenAI error body; 429 and 503 with Retry-After; a number alone means the same"},
    {SIM_F_REFUSE, "refuse", NULL, 0, 0, 0, "close the connection without a byte"},
    {SIM_F_RESET, "reset", NULL, 0, 0, 0, "reset the connection (RST) without a byte"},
    {SIM_F_SLOW_HEADERS, "slow-headers", "ms", 1000, 1, 600000, "let the status line and the headers trickle over this time"},
    {SIM_F_DELAY, "delay", "ms", 1000, 1, 600000, "let the request wait this long before it is queued"},
    {SIM_F_CUT, "cut", TOKENS, 5, 0, MAXTOK, "close the connection in the middle of the stream, gracefully (FIN)"},
    {SIM_F_RST, "rst", TOKENS, 5, 0, MAXTOK, "reset the connection in the middle of the stream (SO_LINGER 0)"},
    {SIM_F_STALL, "stall", TOKENS, 5, 0, MAXTOK, "say nothing more and keep the connection open"},
    {SIM_F_ERROR_EVENT, "error-event", TOKENS, 5, 0, MAXTOK, "an error object as an event inside the 200 stream, then [DONE] (vLLM, SGLang)"},
    {SIM_F_ERROR_FIELD, "error-field", TOKENS, 5, 0, MAXTOK, "an SSE field named error inside the 200 stream, then the end (llama.cpp, early 2025)"},
    {SIM_F_ABORT, "abort", TOKENS, 5, 0, MAXTOK, "finish_reason abort, usage and [DONE] (SGLang's graceful abort)"},
    {SIM_F_NO_DONE, "no-done", NULL, 0, 0, 0, "no [DONE]"},
    {SIM_F_NO_FINISH, "no-finish", NULL, 0, 0, 0, "no finish_reason"},
    {SIM_F_FAKE_STOP, "fake-stop", TOKENS, 5, 0, MAXTOK, "finish_reason stop and [DONE] far too early, as a proxy makes of a reset upstream"},
    {SIM_F_NO_USAGE, "no-usage", NULL, 0, 0, 0, "no usage, even where asked"},
    {SIM_F_USAGE_FINISH, "usage-in-finish", NULL, 0, 0, 0, "usage unasked and in the chunk with finish_reason (llama.cpp)"},
    {SIM_F_USAGE_OFF, "usage-off", "tokens more", 7, -MAXTOK, MAXTOK, "usage tells this many completion tokens more than were sent"},
    {SIM_F_ZERO_USAGE, "zero-usage", NULL, 0, 0, 0, "a usage object of zeros in every chunk, the true one last (Ollama)"},
    {SIM_F_TRUNCATE, "truncate", "tokens", 1024, 1, MAXTOK, "cut longer prompts silently to this length, under status 200"},
    {SIM_F_EARLY_EOS, "early-eos", NULL, 0, 0, 0, "ignore ignore_eos and min_tokens"},
    {SIM_F_NULL_ROLE, "null-role", NULL, 0, 0, 0, "content null in the role chunk"},
    {SIM_F_NO_ROLE, "no-role", NULL, 0, 0, 0, "no role chunk"},
    {SIM_F_EMPTY, "empty", "every", 3, 1, MAXTOK, "every n-th event carries its tokens without text (TensorRT-LLM, held-back UTF-8)"},
    {SIM_F_BUNDLE, "bundle", "tokens", 100, 1, MAXTOK, "the first event carries this many tokens (hidden reasoning, buffering proxies)"},
    {SIM_F_TOOL_CALL, "tool-call", NULL, 0, 0, 0, "a chat answer is the arguments of a tool call, and ends, when by itself, with tool_calls"},
    {SIM_F_CRLF, "crlf", NULL, 0, 0, 0, "lines end with CR LF"},
    {SIM_F_CR, "cr", NULL, 0, 0, 0, "lines end with CR"},
    {SIM_F_NO_SPACE, "no-space", NULL, 0, 0, 0, "no blank after data: (TGI)"},
    {SIM_F_TRAILING_SPACE, "trailing-space", NULL, 0, 0, 0, "a blank before the line end (trtllm-serve)"},
    {SIM_F_BOM, "bom", NULL, 0, 0, 0, "the stream begins with a byte order mark"},
    {SIM_F_COMMENTS, "comments", "every", 3, 1, MAXTOK, "a comment line before every n-th event, the first included"},
    {SIM_F_NAMED, "named", NULL, 0, 0, 0, "event:, id: and retry: lines beside data:"},
    {SIM_F_TWO_DATA, "two-data", NULL, 0, 0, 0, "each JSON text over two data: lines"},
    {SIM_F_HUGE, "huge", "bytes", 1048576, 1, 4194304, "one early event is padded to about this size, in one line"},
    {SIM_F_BAD_JSON, "bad-json", TOKENS, 5, 0, MAXTOK, "one event is cut in the middle of its JSON, then the stream goes on"},
    {SIM_F_BAD_UTF8, "bad-utf8", TOKENS, 5, 0, MAXTOK, "one event has a lone UTF-8 continuation byte"},
    {SIM_F_SPLIT, "split", NULL, 0, 0, 0, "every byte in a segment of its own"},
    {SIM_F_SPLIT_CHUNKS, "split-chunks", NULL, 0, 0, 0, "every byte of the body in an HTTP chunk of its own"},
    {SIM_F_MERGE, "merge", "events", 4, 2, 10000, "this many events held back and sent at once"},
    {SIM_F_LONG_LENGTH, "long-length", "bytes", 100, 1, 1000000, "Content-Length tells this many bytes too many (streamed: 1000000000), then the end"},
    {SIM_F_SHORT_LENGTH, "short-length", "bytes", 100, 1, 1000000, "Content-Length tells this many bytes too few (streamed: exactly this many)"},
    {SIM_F_HTTP10, "http10", NULL, 0, 0, 0, "HTTP/1.0: no chunks, the end of the body is the end of the connection"},
    {SIM_F_BAD_CHUNK, "bad-chunk", TOKENS, 5, 0, MAXTOK, "one chunk size that is no number"},
    {SIM_F_EVERY, "every", "requests", 10, 1, MAXTOK, "only every n-th request has the other faults"},
};
/* clang-format on */

static int set(struct sim_faults *f, const char *name, size_t n, const char *value, char *why, size_t whylen)
{
    for (int i = 0; i < SIM_F_COUNT; i++) {
        const struct sim_fault_row *r = &sim_fault_table[i];
        if (strlen(r->name) != n || memcmp(r->name, name, n) != 0)
            continue;
        long long v = r->fallback;
        if (value) {
            char *end;
            v = strtoll(value, &end, 10);
            if (!r->value || end == value || *end || v < r->min || v > r->max) {
                snprintf(why, whylen, "The fault %s takes %s%s, so \"%s\" does not fit.", r->name,
                         r->value ? "a number: " : "no value", r->value ? r->value : "", value);
                return -1;
            }
        }
        f->on |= UINT64_C(1) << r->id;
        f->value[r->id] = (int32_t)v;
        return 0;
    }
    snprintf(why, whylen, "There is no fault \"%.*s\"; --list-faults names all.", (int)n, name);
    return -1;
}

int sim_fault_parse(struct sim_faults *f, const char *spec, size_t n, char *why, size_t whylen)
{
    char item[64];
    while (n > 0) {
        const char *comma = memchr(spec, ',', n);
        size_t k = comma ? (size_t)(comma - spec) : n;
        if (k >= sizeof item) {
            snprintf(why, whylen, "A fault of %zu bytes is too long.", k);
            return -1;
        }
        memcpy(item, spec, k);
        item[k] = 0;
        spec += k + (comma ? 1 : 0);
        n -= k + (comma ? 1 : 0);
        if (k == 0)
            continue;
        char *eq = strchr(item, '=');
        int rc;
        if (item[0] >= '0' && item[0] <= '9')
            rc = set(f, "status", 6, item, why, whylen);
        else
            rc = set(f, item, eq ? (size_t)(eq - item) : k, eq ? eq + 1 : NULL, why, whylen);
        if (rc < 0)
            return -1;
    }
    return 0;
}

void sim_fault_help(FILE *out)
{
    for (int i = 0; i < SIM_F_COUNT; i++) {
        const struct sim_fault_row *r = &sim_fault_table[i];
        char left[64];
        if (r->value)
            snprintf(left, sizeof left, "%s=%lld", r->name, (long long)r->fallback);
        else
            snprintf(left, sizeof left, "%s", r->name);
        fprintf(out, "  %-20s %s%s%s%s\n", left, r->help, r->value ? " (value: " : "",
                r->value ? r->value : "", r->value ? ")" : "");
    }
}
