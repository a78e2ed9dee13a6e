/* SPDX-License-Identifier: Apache-2.0 */
#include "load/take.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define EVENTS_MOST ((size_t)4 << 20)

void jm_take_words(struct jm_call *c, const char *words)
{
    jm_copy_words(jm_span_of(words), c->r.error, sizeof c->r.error);
}

/* A first event with this many tokens, and this many times more than the others have, was kept back. */
#define BUNDLE_TOKENS 16
#define BUNDLE_TIMES  4

/* Reasoning that was counted but never sent, or a buffer on the way, makes the first event stand for tokens
 * that were generated long before it (genai-bench #81): its request's times per token mean little. */
bool jm_take_bundled(const struct jm_call *c)
{
    int64_t others = (int64_t)c->ev.n - 1, rest = c->known - c->first_tokens;
    if (!c->ev.n)
        return false;
    /* with fewer events than visible tokens the reasoning cannot have come as plain text */
    bool hidden = c->r.reasoning_tokens >= BUNDLE_TOKENS && !c->thought &&
                  c->r.events <= c->r.output_tokens - c->r.reasoning_tokens;
    return hidden || (c->counts_known && c->first_tokens >= BUNDLE_TOKENS && others > 0 &&
                      c->first_tokens * others > BUNDLE_TIMES * rest);
}

static void sum_text(struct jm_call *c, const struct jm_jtoken *v)
{
    char small[512];
    char *buf = small;
    struct jm_span s = v->raw;
    if (v->type == JM_J_STRING && v->escaped) {
        if (s.n > sizeof small && !(buf = malloc(s.n)))
            return;
        s = (struct jm_span){buf, jm_json_unescape(v->raw, buf, v->raw.n)};
    }
    c->r.output_bytes += (int64_t)s.n;
    jm_sha256_add(&c->sha, s.p, s.n);
    if (c->keep_text)
        jm_str_addspan(&c->text, s);
    if (buf != small)
        free(buf);
}

/* How much of two texts is the same, cut before an escape sequence or character that is not whole. */
static size_t common(struct jm_span a, struct jm_span b)
{
    size_t n = a.n < b.n ? a.n : b.n, i = 0, good = 0;
    while (i < n && a.p[i] == b.p[i]) {
        size_t step = 1;
        if (a.p[i] == '\\')
            step = i + 1 < n && a.p[i + 1] == 'u' ? 6 : 2;
        while (step && i < n && a.p[i] == b.p[i])
            i++, step--;
        if (!step && (i == n || ((unsigned char)a.p[i] & 0xc0) != 0x80))
            good = i;
    }
    return good;
}

/* A dialect that sends all text each time (SGLang), or with another setting of the server only what is new:
 * leaves in said what is new. A text that goes on from the one before is all of it; one that does not is new.
 */
static void only_new(struct jm_call *c, struct jm_said *said)
{
    struct jm_jtoken *v = &said->piece[0].text;
    if (!said->so_far || !said->pieces || v->type != JM_J_STRING || c->text_mode == JM_TEXT_NEW)
        return;
    struct jm_span before = jm_str_span(&c->so_far), now = v->raw;
    size_t same = common(before, now);
    if (c->text_mode == JM_TEXT_UNKNOWN && before.n) {
        if (same < before.n && same < now.n) {
            c->text_mode = JM_TEXT_NEW;
            jm_str_reset(&c->so_far);
            return;
        }
        if (now.n > before.n)
            c->text_mode = JM_TEXT_SO_FAR;
    }
    if (c->text_mode == JM_TEXT_SO_FAR && same < before.n / 2 && same < now.n) { /* it only looked like it */
        c->text_mode = JM_TEXT_NEW;
        jm_str_reset(&c->so_far);
        return;
    }
    if (now.n > before.n || same < now.n) {
        jm_str_reset(&c->so_far);
        jm_str_addspan(&c->so_far, now);
        if (c->so_far.failed)
            snprintf(c->fault, sizeof c->fault, "out of memory for the text of an answer");
    }
    v->raw = jm_span_sub(now, same, now.n);
    if (!v->raw.n)
        said->pieces = 0;
}

static void take_pieces(struct jm_call *c, const struct jm_said *said)
{
    for (size_t i = 0; i < said->pieces; i++)
        sum_text(c, &said->piece[i].text);
}

/* Usage, wherever it stands. A count of 0 beside tokens that were seen is no count (Ollama's completions put
 * zeros into every event). */
static void take_usage(struct jm_call *c, const struct jm_said *said, int64_t t)
{
    struct jm_request *r = &c->r;
    if (!said->usage)
        return;
    r->t[JM_T_USAGE] = t;
    bool zeros = said->prompt <= 0 && said->output <= 0;
    if (said->prompt > 0 || (said->prompt == 0 && c->prompt_empty))
        r->prompt_tokens = said->prompt;
    if (said->output > 0 || (said->output == 0 && !zeros && r->events == 0)) {
        r->output_tokens = said->output;
        r->token_source = JM_TOK_USAGE;
    }
    if (said->cached >= 0 && !zeros)
        r->cached_tokens = said->cached;
    if (said->reasoning >= 0 && !zeros)
        r->reasoning_tokens = said->reasoning;
}

/* How many tokens an event brought, -1 unknown. Ids say it at once; running usage by its difference, which
 * holds only while every event before it was counted too (else the first usage would book all of them on one
 * event). */
static int64_t tokens_of(struct jm_call *c, const struct jm_said *said)
{
    int64_t n = -1;
    if (said->ids >= 0) {
        n = said->ids;
    } else if (said->usage && said->output >= 0 && c->counts_known) {
        int64_t before = c->usage_output > c->ids ? c->usage_output : c->ids;
        if (said->output > before)
            n = said->output - before;
        else if (said->output == before && before > 0)
            n = 0; /* text that was held back; from the first event on it would mean that nobody counts */
    }
    if (said->usage && said->output >= 0)
        c->usage_output = said->output;
    return n;
}

static void add_event(struct jm_call *c, int64_t tokens, unsigned flags, int64_t t)
{
    struct jm_token_event ev = {.t = t, .behind_us = c->behind_us};
    if (c->ev.n && c->stamp == t) {
        flags |= JM_TE_SHARED;
        c->r.shared_stamp++;
    }
    if (tokens > UINT16_MAX)
        tokens = -1;
    if (tokens >= 0)
        flags |= JM_TE_COUNT_KNOWN;
    ev.tokens = (uint16_t)(tokens > 0 ? tokens : 0);
    ev.flags = (uint16_t)flags;
    if (c->ev.n >= EVENTS_MOST || !jm_evlog_add(&c->ev, &ev)) {
        snprintf(c->fault, sizeof c->fault, "out of memory for token events after %zu of them", c->ev.n);
        return;
    }
    c->stamp = t;
    c->thought |= (flags & JM_TE_REASONING) != 0;
    if (!c->r.events)
        c->first_tokens = tokens > 0 ? tokens : 0;
    c->r.events++;
    c->counted += tokens > 0 ? tokens : 1;
    c->known += tokens > 0 ? tokens : 0;
}

static void take_tokens(struct jm_call *c, const struct jm_said *said, int64_t t)
{
    struct jm_request *r = &c->r;
    if (!said->choices)
        return;
    r->t[JM_T_LAST_CHUNK] = t;
    if (r->t[JM_T_FIRST_CHUNK] < 0)
        r->t[JM_T_FIRST_CHUNK] = t;
    r->chunks++;
    int64_t n = tokens_of(c, said);
    unsigned flags = 0, both = JM_TE_REASONING | JM_TE_TOOL;
    bool visible = false;
    for (size_t i = 0; i < said->pieces; i++) {
        flags |= said->piece[i].flags;
        visible |= (said->piece[i].flags & both) == 0;
    }
    /* an event without text is a token when the server counts one (TensorRT-LLM sends those), but a total
     * that arrives with the finish is none */
    bool counted = n > 0 && (!said->finish[0] || said->ids >= 0 || r->events > 0);
    if (!said->pieces && !counted)
        return;
    if (!said->pieces)
        flags |= JM_TE_NO_TEXT;
    if (visible)
        flags &= ~both; /* mixed: the visible part decides */
    if (n < 0)
        c->counts_known = false;
    else
        c->ids += n;
    add_event(c, n, flags, t);
    if (r->t[JM_T_FIRST_TOKEN] < 0)
        r->t[JM_T_FIRST_TOKEN] = t;
    if (visible && r->t[JM_T_FIRST_VISIBLE] < 0)
        r->t[JM_T_FIRST_VISIBLE] = t;
    r->t[JM_T_LAST_TOKEN] = t;
}

void jm_take(struct jm_call *c, struct jm_said *said, int64_t t)
{
    if (said->bad) {
        if (!c->bad[0])
            snprintf(c->bad, sizeof c->bad, "a stream event is not valid JSON");
        return;
    }
    if (said->failed) {
        if (!c->fault[0]) {
            snprintf(c->fault, sizeof c->fault, "%s", said->text);
            if (!c->fault[0])
                snprintf(c->fault, sizeof c->fault, "the server sent an error without words");
        }
        return;
    }
    if (!said->done || said->choices || said->usage)
        c->r.messages++;
    only_new(c, said);
    take_tokens(c, said, t);
    take_pieces(c, said);
    take_usage(c, said, t);
    if (said->load_ns >= 0)
        c->load_ns = said->load_ns;
    c->answers |= said->said_by;
    c->ended |= said->ended;
    if (said->finish[0]) {
        memcpy(c->r.finish, said->finish, sizeof c->r.finish);
        if (said->text[0] && strncmp(said->finish, "abort", 5) == 0)
            jm_take_words(c, said->text);
        c->finished = !(c->answers & ~c->ended); /* of several answers all must have ended */
    }
    if (said->done && (!said->said_by || !(c->answers & ~c->ended))) {
        c->done = true;
        c->r.t[JM_T_DONE] = t;
    }
}

void jm_take_whole(struct jm_call *c, const struct jm_said *said, int64_t t)
{
    take_pieces(c, said);
    take_usage(c, said, t);
    c->load_ns = said->load_ns;
    memcpy(c->r.finish, said->finish, sizeof c->r.finish);
    if (said->text[0] && strncmp(said->finish, "abort", 5) == 0)
        jm_take_words(c, said->text);
    c->finished = true;
}
