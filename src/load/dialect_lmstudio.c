/* SPDX-License-Identifier: Apache-2.0 */
/* POST /api/v1/chat of LM Studio: named events, of which message.delta, reasoning.delta and
 * tool_call.arguments carry tokens; chat.end has the counts. Loading the model has events of its own. */
#include <string.h>

#include "load/body.h"
#include "model/request.h"

#include "base/banned.h"

#define STATS(at)                                                                                            \
    at "stats", at "stats.input_tokens", at "stats.total_output_tokens", at "stats.reasoning_output_tokens", \
        at "stats.model_load_time_seconds", at "stats.stop_reason"
static const char *const event[] = {"error",     STATS("result."),    "type", "content",
                                    "arguments", "load_time_seconds", NULL};
static const char *const whole[] = {"error", STATS(""), "type", "output", "output[].content", "model", NULL};
enum { ERROR, STATS, INPUT, OUTPUT, REASONING, LOADED, STOP, TYPE, CONTENT, ARGUMENTS, LOAD, PATHS };

static int64_t seconds(const struct jm_jsonfound *f)
{
    double s;
    return f->hits && jm_jtoken_double(&f->v, &s) == 0 && s >= 0 && s < 1e9 ? (int64_t)(s * 1e9) : -1;
}

static void stats(const struct jm_jsonfound *f, struct jm_said *out)
{
    out->done = true;
    jm_said_finish(out, &f[STOP]);
    if (!jm_found(&f[STATS]))
        return;
    out->usage = true;
    out->prompt = jm_found_count(&f[INPUT]);
    out->output = jm_found_count(&f[OUTPUT]);
    out->reasoning = jm_found_count(&f[REASONING]);
    out->load_ns = seconds(&f[LOADED]);
}

static void lmstudio_event(const struct jm_reader *r, const struct jm_sse_event *ev, struct jm_said *out)
{
    struct jm_jsonfound f[PATHS];
    struct jm_span data;
    if (!jm_said_event(ev, &data, out) || !jm_said_scan(&r->event, data, f, out))
        return;
    struct jm_span type = f[TYPE].hits && f[TYPE].v.type == JM_J_STRING ? f[TYPE].v.raw : ev->name;
    if (jm_span_is(type, "error") || jm_found(&f[ERROR])) {
        jm_said_failed(out, data);
        return;
    }
    if (jm_span_is(type, "message.delta") || jm_span_is(type, "reasoning.delta")) {
        out->choices = true;
        jm_said_piece(out, &f[CONTENT], jm_span_is(type, "message.delta") ? 0 : JM_TE_REASONING);
    } else if (jm_span_is(type, "tool_call.arguments")) {
        out->choices = true;
        jm_said_piece(out, &f[ARGUMENTS], JM_TE_TOOL);
    } else if (jm_span_is(type, "model_load.end")) {
        out->load_ns = seconds(&f[LOAD]);
    } else if (jm_span_is(type, "chat.end")) {
        stats(f, out);
    }
}

static void lmstudio_whole(const struct jm_reader *r, struct jm_span body, struct jm_said *out)
{
    struct jm_jsonfound f[PATHS];
    if (!jm_said_answer(&r->whole, body, ERROR, f, out))
        return;
    out->bad = !f[CONTENT].hits || f[CONTENT].v.type != JM_J_ARRAY;
    out->choices = true;
    jm_said_piece(out, &f[ARGUMENTS], 0);
    stats(f, out);
}

static int lmstudio_write(const struct jm_ask *a, struct jm_str *body, struct jm_err *err)
{
    struct jm_body b;
    if (!a->text.p)
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "only text can be sent to LM Studio's /api/v1/chat: use --api openai.chat");
    jm_body_open(&b, a, body);
    jm_body_span(&b, "input", a->text);
    jm_body_str(&b, "model", a->model);
    jm_body_bool(&b, "stream", a->stream);
    jm_body_bool(&b, "store", false);
    jm_body_count(&b, "max_output_tokens", a->max_tokens);
    jm_body_num(&b, "temperature", a->temperature);
    return jm_body_close(&b, err);
}

const struct jm_dialect jm_dialect_lmstudio = {
    .takes = JM_TAKES_TEXT,
    .end_mark = "chat.end",
    .event = event,
    .whole = whole,
    .write = lmstudio_write,
    .read_event = lmstudio_event,
    .read_whole = lmstudio_whole,
};
