/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/completions: text or token ids in, text out. */
#include "load/openai.h"
#include "model/request.h"

#include "base/banned.h"

static const char *const paths[] = {JM_OPENAI_PATHS, "choices[].text", "choices[].reasoning_content", NULL};
enum { TEXT = JM_OA_COMMON, REASONING };

static void pieces(const struct jm_jsonfound *f, struct jm_said *out)
{
    jm_said_piece(out, &f[REASONING], JM_TE_REASONING);
    jm_said_piece(out, &f[TEXT], 0);
}

static int completions_write(const struct jm_ask *a, struct jm_str *body, struct jm_err *err)
{
    struct jm_body b;
    if (a->turns.p)
        return jm_err_set(err, JM_EUNSUPPORTED, "messages cannot be sent as a completion: use the chat API");
    jm_body_open(&b, a, body);
    if (a->ids.p)
        jm_body_raw(&b, "prompt", a->ids);
    else
        jm_body_span(&b, "prompt", a->text);
    jm_openai_members(&b);
    return jm_body_close(&b, err);
}

static void completions_event(const struct jm_reader *r, const struct jm_sse_event *ev, struct jm_said *out)
{
    jm_openai_event(r, ev, pieces, out);
}

static void completions_whole(const struct jm_reader *r, struct jm_span body, struct jm_said *out)
{
    jm_openai_whole(r, body, pieces, out);
}

const struct jm_dialect jm_dialect_completions = {
    .takes = JM_TAKES_TEXT | JM_TAKES_IDS,
    .exact = "ignore_eos and min_tokens",
    .event = paths,
    .whole = paths,
    .write = completions_write,
    .read_event = completions_event,
    .read_whole = completions_whole,
};
