/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/chat/completions. Content, reasoning (vLLM, SGLang, DeepSeek: reasoning_content; newer vLLM:
 * reasoning), refusals and tool calls are tokens; a role, an empty string and null are not. */
#include "load/openai.h"
#include "model/request.h"

#include "base/banned.h"

static const char *const event[] = {JM_OPENAI_PATHS,
                                    "choices[].delta.content",
                                    "choices[].delta.reasoning_content",
                                    "choices[].delta.reasoning",
                                    "choices[].delta.refusal",
                                    "choices[].delta.tool_calls",
                                    "choices[].delta.tool_calls[].function.arguments",
                                    "choices[].delta.function_call.arguments",
                                    NULL};
static const char *const whole[] = {JM_OPENAI_PATHS,
                                    "choices[].message.content",
                                    "choices[].message.reasoning_content",
                                    "choices[].message.reasoning",
                                    "choices[].message.refusal",
                                    "choices[].message.tool_calls",
                                    "choices[].message.tool_calls[].function.arguments",
                                    "choices[].message.function_call.arguments",
                                    NULL};
enum { CONTENT = JM_OA_COMMON, REASONING_CONTENT, REASONING, REFUSAL, TOOLS, ARGUMENTS, FUNCTION };

static void pieces(const struct jm_jsonfound *f, struct jm_said *out)
{
    const struct jm_jsonfound *why = &f[REASONING_CONTENT];
    if (!(why->hits && why->v.type == JM_J_STRING && why->v.raw.n))
        why = &f[REASONING]; /* never both: some servers send the text under each name */
    jm_said_piece(out, why, JM_TE_REASONING);
    jm_said_piece(out, &f[CONTENT], 0);
    jm_said_piece(out, &f[REFUSAL], 0);
    size_t before = out->pieces;
    if (f[ARGUMENTS].hits < 2) /* of several calls in one delta only the list has all */
        jm_said_piece(out, &f[ARGUMENTS], JM_TE_TOOL);
    jm_said_piece(out, &f[FUNCTION], JM_TE_TOOL);
    if (out->pieces == before) /* the first delta of a call: id and name, generated too */
        jm_said_piece(out, &f[TOOLS], JM_TE_TOOL);
}

static int chat_write(const struct jm_ask *a, struct jm_str *body, struct jm_err *err)
{
    struct jm_body b;
    if (a->ids.p)
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "a prompt of token ids cannot be sent as chat: use the completions API");
    jm_body_open(&b, a, body);
    jm_body_turns(&b, "messages");
    jm_openai_members(&b);
    return jm_body_close(&b, err);
}

static void chat_event(const struct jm_reader *r, const struct jm_sse_event *ev, struct jm_said *out)
{
    jm_openai_event(r, ev, pieces, out);
}

static void chat_whole(const struct jm_reader *r, struct jm_span body, struct jm_said *out)
{
    jm_openai_whole(r, body, pieces, out);
}

const struct jm_dialect jm_dialect_chat = {
    .takes = JM_TAKES_TEXT | JM_TAKES_TURNS,
    .exact = "ignore_eos and min_tokens",
    .event = event,
    .whole = whole,
    .write = chat_write,
    .read_event = chat_event,
    .read_whole = chat_whole,
};
