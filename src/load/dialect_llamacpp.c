/* SPDX-License-Identifier: Apache-2.0 */
/* POST /completion of llama.cpp's server. Each event counts the tokens up to here (tokens_predicted), which
 * holds where its own list of ids does not: text is held back until its characters are whole, and then comes
 * with the last id alone. The last event has stop: true; no [DONE]. */
#include <string.h>

#include "load/body.h"

#include "base/banned.h"

static const char *const paths[] = {"error",
                                    "content",
                                    "tokens",
                                    "stop",
                                    "tokens_predicted",
                                    "tokens_evaluated",
                                    "timings.cache_n",
                                    "timings.prompt_n",
                                    "stop_type",
                                    "stopped_eos",
                                    "stopped_limit",
                                    "stopped_word",
                                    "index",
                                    NULL};
enum {
    ERROR,
    CONTENT,
    TOKENS,
    STOP,
    OUTPUT,
    PROMPT,
    CACHE_N,
    PROMPT_N,
    STOP_TYPE,
    STOP_EOS,
    STOP_LIMIT,
    STOP_WORD,
    INDEX,
    PATHS
};

static void finish(const struct jm_jsonfound *f, struct jm_said *out)
{
    const char *old = jm_found_true(&f[STOP_LIMIT])  ? "limit"
                      : jm_found_true(&f[STOP_EOS])  ? "eos"
                      : jm_found_true(&f[STOP_WORD]) ? "word"
                                                     : "";
    jm_said_finish(out, &f[STOP_TYPE]);
    if (!out->finish[0])
        jm_copy_words(jm_span_of(old), out->finish, sizeof out->finish);
}

static void read_doc(const struct jm_jsonscan *scan, struct jm_span doc, struct jm_said *out)
{
    struct jm_jsonfound f[PATHS];
    if (!jm_said_answer(scan, doc, ERROR, f, out))
        return;
    if (!f[CONTENT].hits && !f[STOP].hits) {
        out->bad = true;
        return;
    }
    int64_t index = jm_found_count(&f[INDEX]);
    out->said_by = UINT64_C(1) << (index > 0 && index < 64 ? index : 0);
    out->choices = true;
    jm_said_piece(out, &f[CONTENT], 0);
    out->prompt = jm_found_count(&f[PROMPT]);
    out->output = jm_found_count(&f[OUTPUT]);
    out->usage = out->prompt >= 0 || out->output >= 0;
    out->cached = jm_found_count(&f[CACHE_N]);
    int64_t computed = jm_found_count(&f[PROMPT_N]);
    if (out->cached < 0 && computed > 0 && out->prompt >= computed)
        out->cached = out->prompt - computed;
    if (out->output < 0)
        out->ids = jm_found_items(&f[TOKENS]);
    if (jm_found_true(&f[STOP])) {
        out->done = true;
        out->ended = out->said_by;
        finish(f, out);
    }
}

static void llamacpp_event(const struct jm_reader *r, const struct jm_sse_event *ev, struct jm_said *out)
{
    struct jm_span data;
    if (jm_said_event(ev, &data, out))
        read_doc(&r->event, data, out);
}

static void llamacpp_whole(const struct jm_reader *r, struct jm_span body, struct jm_said *out)
{
    read_doc(&r->whole, body, out);
}

static int llamacpp_write(const struct jm_ask *a, struct jm_str *body, struct jm_err *err)
{
    struct jm_body b;
    if (a->turns.p)
        return jm_err_set(err, JM_EUNSUPPORTED,
                          "messages cannot be sent to llama.cpp's /completion: use --api openai.chat");
    jm_body_open(&b, a, body);
    if (a->ids.p)
        jm_body_raw(&b, "prompt", a->ids);
    else
        jm_body_span(&b, "prompt", a->text);
    jm_body_bool(&b, "stream", a->stream);
    jm_body_count(&b, "n_predict", a->max_tokens);
    if (a->ignore_eos)
        jm_body_bool(&b, "ignore_eos", true);
    jm_body_num(&b, "temperature", a->temperature);
    return jm_body_close(&b, err);
}

const struct jm_dialect jm_dialect_llamacpp = {
    .takes = JM_TAKES_TEXT | JM_TAKES_IDS,
    .exact = "ignore_eos with n_predict",
    .end_mark = "\"stop\": true",
    .event = paths,
    .whole = paths,
    .write = llamacpp_write,
    .read_event = llamacpp_event,
    .read_whole = llamacpp_whole,
};
