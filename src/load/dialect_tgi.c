/* SPDX-License-Identifier: Apache-2.0 */
/* POST /generate_stream of Text Generation Inference. An event is one token; the last one has generated_text
 * and, asked for, details with the counts. No [DONE]. There is no way to make it go on past the end token. */
#include <math.h>
#include <string.h>

#include "load/body.h"

#include "base/banned.h"

static const char *const paths[] = {"error",
                                    "token",
                                    "token.text",
                                    "token.special",
                                    "generated_text",
                                    "details",
                                    "details.finish_reason",
                                    "details.generated_tokens",
                                    "details.input_length",
                                    "details.prefill",
                                    NULL};
enum { ERROR, TOKEN, TEXT, SPECIAL, ALL, DETAILS, FINISH, OUTPUT, INPUT, PREFILL, PATHS };

static bool read_doc(const struct jm_jsonscan *scan, struct jm_span doc, struct jm_jsonfound *f,
                     struct jm_said *out)
{
    if (!jm_said_answer(scan, doc, ERROR, f, out))
        return false;
    out->done = jm_found(&f[ALL]);
    out->bad = !out->done && !jm_found(&f[TOKEN]);
    if (jm_found(&f[DETAILS])) {
        out->usage = true;
        out->output = jm_found_count(&f[OUTPUT]);
        out->prompt = jm_found_count(&f[INPUT]);
        if (out->prompt < 0 && jm_found_items(&f[PREFILL]) > 0)
            out->prompt = jm_found_items(&f[PREFILL]);
    }
    jm_said_finish(out, &f[FINISH]);
    return !out->bad;
}

static void tgi_event(const struct jm_reader *r, const struct jm_sse_event *ev, struct jm_said *out)
{
    struct jm_jsonfound f[PATHS];
    struct jm_span data;
    if (!jm_said_event(ev, &data, out) || !read_doc(&r->event, data, f, out) || !jm_found(&f[TOKEN]))
        return;
    out->choices = true;
    out->ids = 1;
    if (!jm_found_true(&f[SPECIAL])) /* "</s>" was generated, but is no text of the answer */
        jm_said_piece(out, &f[TEXT], 0);
}

static void tgi_whole(const struct jm_reader *r, struct jm_span body, struct jm_said *out)
{
    struct jm_jsonfound f[PATHS];
    if (read_doc(&r->whole, body, f, out))
        jm_said_piece(out, &f[ALL], 0);
}

static int tgi_write(const struct jm_ask *a, struct jm_str *body, struct jm_err *err)
{
    struct jm_body b;
    if (!a->text.p)
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "only text can be sent to TGI's /generate: use --api openai.chat for messages");
    jm_body_open(&b, a, body);
    jm_body_span(&b, "inputs", a->text);
    jm_body_nest(&b, "parameters");
    jm_body_count(&b, "max_new_tokens", a->max_tokens);
    jm_body_bool(&b, "details", true);
    if (!a->stream) /* lists the prompt's tokens; refused in a stream */
        jm_body_bool(&b, "decoder_input_details", true);
    if (!isnan(a->temperature)) {
        jm_body_bool(&b, "do_sample", a->temperature > 0);
        if (a->temperature > 0) /* 0 is refused */
            jm_body_num(&b, "temperature", a->temperature);
    }
    jm_body_unnest(&b);
    return jm_body_close(&b, err);
}

const struct jm_dialect jm_dialect_tgi = {
    .takes = JM_TAKES_TEXT,
    .end_mark = "generated_text",
    .event = paths,
    .whole = paths,
    .write = tgi_write,
    .read_event = tgi_event,
    .read_whole = tgi_whole,
};
