/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v2/models/MODEL/generate_stream of Triton: the TensorRT-LLM ensemble and the vLLM backend. An event
 * has what is new in text_output; nothing marks the end. How many tokens that were is told only by models
 * with the inputs return_num_input_tokens and return_num_output_tokens, for each event by itself. */
#include <string.h>

#include "load/body.h"

#include "base/banned.h"

static const char *const paths[] = {"error",
                                    "text_output",
                                    "num_input_tokens",
                                    "num_input_tokens[]",
                                    "num_output_tokens",
                                    "num_output_tokens[]",
                                    "finish_reason",
                                    "model_name",
                                    NULL};
enum { ERROR, TEXT, INPUT, INPUT_ITEM, OUTPUT, OUTPUT_ITEM, FINISH, MODEL, PATHS };

static void read_doc(const struct jm_jsonscan *scan, struct jm_span doc, struct jm_said *out)
{
    struct jm_jsonfound f[PATHS];
    if (!jm_said_answer(scan, doc, ERROR, f, out))
        return;
    out->bad = !f[TEXT].hits && !f[MODEL].hits;
    out->choices = !out->bad;
    jm_said_piece(out, &f[TEXT], 0);
    out->ids = jm_found_count(&f[OUTPUT]);
    if (out->ids < 0)
        out->ids = jm_found_count(&f[OUTPUT_ITEM]);
    out->prompt = jm_found_count(&f[INPUT]);
    if (out->prompt < 0)
        out->prompt = jm_found_count(&f[INPUT_ITEM]);
    out->usage = out->prompt >= 0;
    jm_said_finish(out, &f[FINISH]);
}

static void triton_event(const struct jm_reader *r, const struct jm_sse_event *ev, struct jm_said *out)
{
    struct jm_span data;
    if (jm_said_event(ev, &data, out))
        read_doc(&r->event, data, out);
}

static void triton_whole(const struct jm_reader *r, struct jm_span body, struct jm_said *out)
{
    read_doc(&r->whole, body, out);
    if (out->ids >= 0) { /* of one document this is the whole count */
        out->usage = true;
        out->output = out->ids;
    }
}

static int triton_write(const struct jm_ask *a, struct jm_str *body, struct jm_err *err)
{
    struct jm_body b;
    if (!a->text.p)
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "only text can be sent to Triton's generate: use --api openai.chat for messages");
    jm_body_open(&b, a, body);
    jm_body_span(&b, "text_input", a->text);
    jm_body_bool(&b, "stream", a->stream);
    jm_body_count(&b, "max_tokens", a->max_tokens);
    if (a->ignore_eos) {
        jm_body_bool(&b, "ignore_eos", true);
        jm_body_count(&b, "min_tokens", a->max_tokens);
    }
    jm_body_num(&b, "temperature", a->temperature);
    if (a->counts == JM_COUNTS_CONTINUOUS || a->counts == JM_COUNTS_IDS) {
        jm_body_bool(&b, "return_num_input_tokens", true);
        jm_body_bool(&b, "return_num_output_tokens", true);
    }
    return jm_body_close(&b, err);
}

const struct jm_dialect jm_dialect_triton = {
    .takes = JM_TAKES_TEXT,
    .silent_end = true,
    .exact = "min_tokens (TensorRT-LLM) and ignore_eos (vLLM backend)",
    .event = paths,
    .whole = paths,
    .write = triton_write,
    .read_event = triton_event,
    .read_whole = triton_whole,
};
