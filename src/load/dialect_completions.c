/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/completions: text in, text out. */
#include "load/openai.h"
#include "model/request.h"

#include "base/banned.h"

static const char *const paths[] = {JM_OPENAI_PATHS, "choices[].text", "choices[].reasoning_content", NULL};
enum { TEXT = JM_OA_COMMON, REASONING, PATHS };

static void pieces(const struct jm_jsonfound *f, struct jm_said *out)
{
    jm_openai_piece(out, &f[REASONING], JM_TE_REASONING);
    jm_openai_piece(out, &f[TEXT], 0);
}

static int completions_write(const struct jm_ask *a, struct jm_str *body, struct jm_err *err)
{
    struct jm_jsonw w;
    if (a->turns.p)
        return jm_err_set(err, JM_EUNSUPPORTED, "messages cannot be sent as a completion: use the chat API");
    jm_jsonw_init(&w, body, 0);
    jm_jsonw_object(&w);
    jm_jsonw_key(&w, "prompt");
    if (a->ids.p)
        jm_jsonw_raw(&w, a->ids);
    else
        jm_jsonw_span(&w, a->text);
    return jm_openai_write(a, &w, body, err);
}

static void completions_event(const struct jm_reader *r, const struct jm_sse_event *ev, struct jm_said *out)
{
    struct jm_jsonfound f[PATHS];
    if (jm_openai_event(r, ev, f, out))
        pieces(f, out);
}

static void completions_whole(const struct jm_reader *r, struct jm_span body, struct jm_said *out)
{
    struct jm_jsonfound f[PATHS];
    if (jm_openai_common(&r->whole, body, f, out)) {
        out->bad = !f[JM_OA_CHOICE].hits;
        pieces(f, out);
    }
}

const struct jm_dialect jm_dialect_completions = {
    .takes = JM_TAKES_TEXT | JM_TAKES_IDS,
    .event = paths,
    .whole = paths,
    .write = completions_write,
    .read_event = completions_event,
    .read_whole = completions_whole,
};
