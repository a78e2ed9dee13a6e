/* SPDX-License-Identifier: Apache-2.0 */
/* POST /api/generate and /api/chat of Ollama: NDJSON. The last line has done: true and the counts, each of
 * which is left out where it is 0 or not known (ollama #2068, #3427): missing is unknown. load_duration tells
 * that the model was loaded for this request, which is inside its TTFT. */
#include <string.h>

#include "load/body.h"
#include "model/request.h"

#include "base/banned.h"

#define COMMON "error", "done", "done_reason", "prompt_eval_count", "eval_count", "load_duration"
static const char *const generate[] = {COMMON, "response", "thinking", "tool_calls", NULL};
static const char *const chat[] = {COMMON, "message.content", "message.thinking", "message.tool_calls", NULL};
enum { ERROR, DONE, FINISH, PROMPT, OUTPUT, LOAD, TEXT, THINKING, TOOLS, PATHS };

static void read_doc(const struct jm_jsonscan *scan, struct jm_span doc, struct jm_said *out)
{
    struct jm_jsonfound f[PATHS];
    if (!jm_said_answer(scan, doc, ERROR, f, out))
        return;
    if (!f[DONE].hits && !f[TEXT].hits) {
        out->bad = true;
        return;
    }
    out->choices = true;
    jm_said_piece(out, &f[THINKING], JM_TE_REASONING);
    jm_said_piece(out, &f[TEXT], 0);
    jm_said_piece(out, &f[TOOLS], JM_TE_TOOL);
    if (!jm_found_true(&f[DONE]))
        return;
    out->done = true;
    jm_said_finish(out, &f[FINISH]);
    out->prompt = jm_found_count(&f[PROMPT]);
    out->output = jm_found_count(&f[OUTPUT]);
    out->usage = out->prompt >= 0 || out->output >= 0;
    out->load_ns = jm_found_count(&f[LOAD]);
}

static void ollama_event(const struct jm_reader *r, const struct jm_sse_event *ev, struct jm_said *out)
{
    read_doc(&r->event, ev->data, out);
}

static void ollama_whole(const struct jm_reader *r, struct jm_span body, struct jm_said *out)
{
    read_doc(&r->whole, body, out);
}

static int members(struct jm_body *b, struct jm_err *err)
{
    const struct jm_ask *a = b->ask;
    jm_body_str(b, "model", a->model);
    jm_body_bool(b, "stream", a->stream);
    jm_body_nest(b, "options");
    jm_body_count(b, "num_predict", a->max_tokens);
    jm_body_num(b, "temperature", a->temperature);
    jm_body_unnest(b);
    return jm_body_close(b, err);
}

static int no_ids(struct jm_err *err)
{
    return jm_err_set(err, JM_EUNSUPPORTED, "Ollama takes no prompts of token ids: give text");
}

static int generate_write(const struct jm_ask *a, struct jm_str *body, struct jm_err *err)
{
    struct jm_body b;
    if (a->ids.p)
        return no_ids(err);
    if (a->turns.p)
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "messages cannot be sent to Ollama's /api/generate: use --api ollama.chat");
    jm_body_open(&b, a, body);
    jm_body_span(&b, "prompt", a->text);
    return members(&b, err);
}

static int chat_write(const struct jm_ask *a, struct jm_str *body, struct jm_err *err)
{
    struct jm_body b;
    if (a->ids.p)
        return no_ids(err);
    jm_body_open(&b, a, body);
    jm_body_turns(&b, "messages");
    return members(&b, err);
}

const struct jm_dialect jm_dialect_ollama_generate = {
    .takes = JM_TAKES_TEXT,
    .framing = JM_FRAMES_LINES,
    .end_mark = "\"done\": true",
    .event = generate,
    .whole = generate,
    .write = generate_write,
    .read_event = ollama_event,
    .read_whole = ollama_whole,
};
const struct jm_dialect jm_dialect_ollama_chat = {
    .takes = JM_TAKES_TEXT | JM_TAKES_TURNS,
    .framing = JM_FRAMES_LINES,
    .end_mark = "\"done\": true",
    .event = chat,
    .whole = chat,
    .write = chat_write,
    .read_event = ollama_event,
    .read_whole = ollama_whole,
};
