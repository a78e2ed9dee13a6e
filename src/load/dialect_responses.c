/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/responses. Named events; only *.delta carries tokens (sub2api #5526), the others tell of
 * structure. Usage comes with response.completed or response.incomplete, which is the end: there is no
 * [DONE]. */
#include <string.h>

#include "load/body.h"
#include "model/request.h"

#include "base/banned.h"

static const char *const event[] = {"type",
                                    "delta",
                                    "error",
                                    "response.usage",
                                    "response.usage.input_tokens",
                                    "response.usage.output_tokens",
                                    "response.usage.input_tokens_details.cached_tokens",
                                    "response.usage.output_tokens_details.reasoning_tokens",
                                    "response.incomplete_details.reason",
                                    "response.error",
                                    "response.status",
                                    NULL};
enum { TYPE, DELTA, ERROR, USAGE, INPUT, OUTPUT, CACHED, REASONING, WHY, FAILURE, STATUS, PATHS };
/* the document of a whole answer is what an event has under "response" */
static const char *const whole[] = {"object",
                                    "output",
                                    "error",
                                    "usage",
                                    "usage.input_tokens",
                                    "usage.output_tokens",
                                    "usage.input_tokens_details.cached_tokens",
                                    "usage.output_tokens_details.reasoning_tokens",
                                    "incomplete_details.reason",
                                    "message",
                                    "status",
                                    NULL};

static const struct {
    const char *type;
    int flags; /* -1: no tokens */
} deltas[] = {
    {"response.output_text.delta", 0},
    {"response.refusal.delta", 0},
    {"response.reasoning_summary_text.delta", JM_TE_REASONING},
    {"response.reasoning_text.delta", JM_TE_REASONING},
    {"response.reasoning.delta", JM_TE_REASONING},
    {"response.reasoning_summary.delta", JM_TE_REASONING},
    {"response.audio.delta", -1}, /* bytes in base64 */
    {"response.audio.transcript.delta", 0},
};

static bool ends(struct jm_span s, const char *tail)
{
    return jm_span_ends(s, jm_span_of(tail));
}

/* Flags of the tokens that an event of this type carries, -1: none. What is not listed is the argument of
 * some tool (function_call_arguments, mcp_call_arguments, custom_tool_call_input, ...). */
static int carries(struct jm_span type)
{
    for (size_t i = 0; i < sizeof deltas / sizeof *deltas; i++)
        if (jm_span_is(type, deltas[i].type))
            return deltas[i].flags;
    return ends(type, ".delta") ? JM_TE_TOOL : -1;
}

static void counts(const struct jm_jsonfound *f, struct jm_said *out)
{
    if (!jm_found(&f[USAGE]))
        return;
    out->usage = true;
    out->prompt = jm_found_count(&f[INPUT]);
    out->output = jm_found_count(&f[OUTPUT]);
    out->cached = jm_found_count(&f[CACHED]);
    out->reasoning = jm_found_count(&f[REASONING]);
}

/* "completed", or why it is not: "max_output_tokens", "content_filter". */
static void finish(const struct jm_jsonfound *f, struct jm_said *out)
{
    jm_said_finish(out, jm_found(&f[WHY]) ? &f[WHY] : &f[STATUS]);
    if (strcmp(out->finish, "cancelled") == 0)
        memcpy(out->finish, "abort", sizeof "abort");
}

static void responses_event(const struct jm_reader *r, const struct jm_sse_event *ev, struct jm_said *out)
{
    struct jm_jsonfound f[PATHS];
    struct jm_span data;
    if (!jm_said_event(ev, &data, out) || !jm_said_scan(&r->event, data, f, out))
        return;
    struct jm_span type = f[TYPE].hits && f[TYPE].v.type == JM_J_STRING ? f[TYPE].v.raw : ev->name;
    if (jm_span_is(type, "error") || ends(type, ".failed") || jm_found(&f[ERROR])) {
        bool own = jm_found(&f[FAILURE]);
        /* of tools that failed the model hears itself: the answer goes on */
        if (ends(type, ".failed") && !jm_span_is(type, "response.failed") && !own)
            return;
        jm_said_failed(out, own ? f[FAILURE].v.raw : data);
        return;
    }
    int flags = carries(type);
    if (flags >= 0) {
        out->choices = true;
        jm_said_piece(out, &f[DELTA], (unsigned)flags);
    }
    if (jm_span_is(type, "response.completed") || jm_span_is(type, "response.incomplete") ||
        jm_span_is(type, "response.cancelled") || jm_span_is(type, "response.done")) {
        counts(f, out);
        finish(f, out);
        out->done = true;
    }
}

/* Every text of the items of "output". */
static void texts(struct jm_span output, struct jm_said *out)
{
    struct jm_jsontok t;
    struct jm_jtoken v, key = {0};
    bool reasoning = false;
    jm_jsontok_init(&t, output, JM_JSONTOK_DEPTH);
    while (jm_jsontok_next(&t, &v, NULL) == 0 && v.type != JM_J_END) {
        if (v.type == JM_J_KEY) {
            key = v;
        } else if (v.type == JM_J_STRING && key.raw.p) {
            struct jm_jsonfound f = {v, 1};
            if (jm_jtoken_is(&key, "type"))
                reasoning = jm_jtoken_is(&v, "summary_text") || jm_jtoken_is(&v, "reasoning_text");
            if (jm_jtoken_is(&key, "text") || jm_jtoken_is(&key, "refusal"))
                jm_said_piece(out, &f, reasoning ? JM_TE_REASONING : 0);
            else if (jm_jtoken_is(&key, "arguments") || jm_jtoken_is(&key, "input"))
                jm_said_piece(out, &f, JM_TE_TOOL);
            key.raw.p = NULL;
        }
    }
}

static void responses_whole(const struct jm_reader *r, struct jm_span body, struct jm_said *out)
{
    struct jm_jsonfound f[PATHS];
    if (!jm_said_answer(&r->whole, body, ERROR, f, out))
        return;
    if (!f[DELTA].hits || f[DELTA].v.type != JM_J_ARRAY) {
        out->bad = true;
        return;
    }
    out->choices = out->done = true;
    counts(f, out);
    finish(f, out);
    texts(f[DELTA].v.raw, out);
}

static int responses_write(const struct jm_ask *a, struct jm_str *body, struct jm_err *err)
{
    struct jm_body b;
    if (a->ids.p)
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "a prompt of token ids cannot be sent as a response: use the completions API");
    jm_body_open(&b, a, body);
    if (a->turns.p)
        jm_body_raw(&b, "input", a->turns);
    else
        jm_body_span(&b, "input", a->text);
    jm_body_str(&b, "model", a->model);
    jm_body_bool(&b, "stream", a->stream);
    jm_body_count(&b, "max_output_tokens", a->max_tokens);
    jm_body_num(&b, "temperature", a->temperature);
    return jm_body_close(&b, err);
}

const struct jm_dialect jm_dialect_responses = {
    .takes = JM_TAKES_TEXT | JM_TAKES_TURNS,
    .end_mark = "response.completed",
    .event = event,
    .whole = whole,
    .write = responses_write,
    .read_event = responses_event,
    .read_whole = responses_whole,
};
