/* SPDX-License-Identifier: Apache-2.0 */
/* POST /generate of SGLang. Each event has all text up to here (or, with incremental streaming, what is new)
 * and the counts up to here in meta_info; the end is [DONE]. A finish reason is an object with a type. */
#include <string.h>

#include "load/body.h"

#include "base/banned.h"

static const char *const paths[] = {"error",
                                    "text",
                                    "meta_info",
                                    "meta_info.prompt_tokens",
                                    "meta_info.completion_tokens",
                                    "meta_info.cached_tokens",
                                    "meta_info.reasoning_tokens",
                                    "meta_info.finish_reason.type",
                                    "meta_info.finish_reason.message",
                                    "meta_info.finish_reason",
                                    "output_ids",
                                    NULL};
enum { ERROR, TEXT, META, PROMPT, OUTPUT, CACHED, REASONING, FINISH, MESSAGE, FINISH_TEXT, IDS, PATHS };

static void read_doc(const struct jm_jsonscan *scan, struct jm_span doc, struct jm_said *out)
{
    struct jm_jsonfound f[PATHS];
    if (!jm_said_answer(scan, doc, ERROR, f, out))
        return;
    if (!f[TEXT].hits && !f[META].hits && !f[IDS].hits) {
        out->bad = true;
        return;
    }
    out->choices = out->so_far = true;
    jm_said_piece(out, &f[TEXT], 0);
    if (jm_found(&f[META])) {
        out->usage = true;
        out->prompt = jm_found_count(&f[PROMPT]);
        out->output = jm_found_count(&f[OUTPUT]);
        out->cached = jm_found_count(&f[CACHED]);
        out->reasoning = jm_found_count(&f[REASONING]);
    }
    jm_said_finish(out, f[FINISH].hits ? &f[FINISH] : &f[FINISH_TEXT]);
    if (jm_found(&f[MESSAGE]) && f[MESSAGE].v.type == JM_J_STRING)
        jm_copy_words(f[MESSAGE].v.raw, out->text, sizeof out->text);
}

static void sglang_event(const struct jm_reader *r, const struct jm_sse_event *ev, struct jm_said *out)
{
    struct jm_span data;
    if (jm_said_event(ev, &data, out))
        read_doc(&r->event, data, out);
}

static void sglang_whole(const struct jm_reader *r, struct jm_span body, struct jm_said *out)
{
    read_doc(&r->whole, body, out);
    out->so_far = false;
}

static int sglang_write(const struct jm_ask *a, struct jm_str *body, struct jm_err *err)
{
    struct jm_body b;
    if (a->turns.p)
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "messages cannot be sent to SGLang's /generate: use --api openai.chat");
    jm_body_open(&b, a, body);
    if (a->ids.p)
        jm_body_raw(&b, "input_ids", a->ids);
    else
        jm_body_span(&b, "text", a->text);
    jm_body_bool(&b, "stream", a->stream);
    jm_body_nest(&b, "sampling_params");
    jm_body_count(&b, "max_new_tokens", a->max_tokens);
    if (a->ignore_eos) {
        jm_body_bool(&b, "ignore_eos", true);
        jm_body_count(&b, "min_new_tokens", a->max_tokens);
    }
    jm_body_num(&b, "temperature", a->temperature);
    jm_body_unnest(&b);
    return jm_body_close(&b, err);
}

const struct jm_dialect jm_dialect_sglang = {
    .takes = JM_TAKES_TEXT | JM_TAKES_IDS,
    .exact = "ignore_eos and min_new_tokens",
    .event = paths,
    .whole = paths,
    .write = sglang_write,
    .read_event = sglang_event,
    .read_whole = sglang_whole,
};
