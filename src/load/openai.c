/* SPDX-License-Identifier: Apache-2.0 */
#include "load/openai.h"

#include <string.h>

#include "model/request.h"

#include "base/banned.h"

static uint64_t bit(const struct jm_jsonfound *index)
{
    int64_t i = jm_found_count(index);
    return UINT64_C(1) << (i > 0 && i < 64 ? i : 0);
}

static void usage(const struct jm_jsonfound *f, struct jm_said *out)
{
    out->usage = true;
    out->prompt = jm_found_count(&f[JM_OA_PROMPT]);
    out->output = jm_found_count(&f[JM_OA_OUTPUT]);
    out->cached = jm_found_count(&f[JM_OA_CACHED]);
    if (out->cached < 0)
        out->cached = jm_found_count(&f[JM_OA_CACHED_DEEPSEEK]);
    if (out->cached < 0)
        out->cached = jm_found_count(&f[JM_OA_CACHE_LLAMA]);
    int64_t computed = jm_found_count(&f[JM_OA_PROMPT_LLAMA]);
    if (out->cached < 0 && computed > 0 && out->prompt >= computed)
        out->cached = out->prompt - computed;
    out->reasoning = jm_found_count(&f[JM_OA_REASONING]);
    if (out->reasoning < 0)
        out->reasoning = jm_found_count(&f[JM_OA_REASONING_SGLANG]);
}

static void choice(const struct jm_jsonfound *f, jm_openai_pieces *pieces, struct jm_said *out)
{
    uint64_t me = bit(&f[JM_OA_INDEX]);
    int64_t ids = jm_found_items(&f[JM_OA_IDS]);
    out->said_by |= me;
    jm_said_finish(out, &f[JM_OA_FINISH]);
    if (jm_found(&f[JM_OA_FINISH]))
        out->ended |= me;
    if (ids >= 0)
        out->ids = (out->ids > 0 ? out->ids : 0) + ids;
    pieces(f, out);
}

/* Several choices in one event (n > 1): the scan kept the last of each member, so each is read by itself. */
static void choices(const struct jm_jsonscan *scan, struct jm_span list, jm_openai_pieces *pieces,
                    struct jm_said *out)
{
    struct jm_jsonfound f[JM_JSONSCAN_PATHS];
    struct jm_jsontok t;
    struct jm_jtoken v;
    struct jm_str one;
    jm_str_init(&one);
    jm_jsontok_init(&t, list, JM_JSONTOK_DEPTH);
    if (jm_jsontok_next(&t, &v, NULL) == 0)
        while (jm_jsontok_next(&t, &v, NULL) == 0 && v.type == JM_J_OBJECT &&
               jm_jsontok_skip(&t, &v, NULL) == 0) {
            size_t before = out->pieces;
            jm_str_reset(&one);
            jm_str_adds(&one, "{\"choices\":[");
            jm_str_addspan(&one, v.raw);
            jm_str_adds(&one, "]}");
            if (one.failed || jm_jsonscan_run(scan, jm_str_span(&one), f, NULL) != 0)
                break;
            choice(f, pieces, out);
            for (size_t i = before; i < out->pieces; i++) { /* into the caller's bytes again */
                struct jm_span *raw = &out->piece[i].text.raw;
                raw->p = v.raw.p + (raw->p - one.buf - (ptrdiff_t)strlen("{\"choices\":["));
            }
        }
    jm_str_release(&one);
}

void jm_openai_read(const struct jm_jsonscan *scan, struct jm_span doc, jm_openai_pieces *pieces,
                    struct jm_said *out)
{
    struct jm_jsonfound f[JM_JSONSCAN_PATHS];
    if (!jm_said_scan(scan, doc, f, out))
        return;
    if (jm_found(&f[JM_OA_ERROR]) || jm_found_is(&f[JM_OA_OBJECT], "error")) {
        jm_said_failed(out, doc);
        return;
    }
    if (f[JM_OA_USAGE].hits && f[JM_OA_USAGE].v.type == JM_J_OBJECT)
        usage(f, out);
    else if (jm_found_count(&f[JM_OA_OUTPUT_LLAMA]) >= 0) {
        out->usage = true;
        out->output = jm_found_count(&f[JM_OA_OUTPUT_LLAMA]);
    }
    out->choices = f[JM_OA_CHOICE].hits > 0;
    if (f[JM_OA_CHOICE].hits == 1)
        choice(f, pieces, out);
    else if (f[JM_OA_CHOICE].hits > 1)
        choices(scan, f[JM_OA_CHOICES].v.raw, pieces, out);
}

void jm_openai_event(const struct jm_reader *r, const struct jm_sse_event *ev, jm_openai_pieces *pieces,
                     struct jm_said *out)
{
    struct jm_span data;
    if (jm_said_event(ev, &data, out))
        jm_openai_read(&r->event, data, pieces, out);
}

void jm_openai_whole(const struct jm_reader *r, struct jm_span body, jm_openai_pieces *pieces,
                     struct jm_said *out)
{
    jm_openai_read(&r->whole, body, pieces, out);
    if (!out->failed && !out->choices)
        out->bad = true;
}

void jm_openai_members(struct jm_body *b)
{
    const struct jm_ask *a = b->ask;
    jm_body_str(b, "model", a->model);
    jm_body_bool(b, "stream", a->stream);
    if (a->stream && a->counts == JM_COUNTS_TIMINGS)
        jm_body_bool(b, "timings_per_token", true);
    if (a->stream) /* without it most servers send no token counts */
        jm_body_raw(b, "stream_options",
                    a->counts == JM_COUNTS_CONTINUOUS
                        ? JM_SPAN("{\"include_usage\":true,\"continuous_usage_stats\":true}")
                        : JM_SPAN("{\"include_usage\":true}"));
    if (a->stream && a->counts == JM_COUNTS_IDS)
        jm_body_bool(b, "return_token_ids", true);
    if (!jm_body_theirs(b, "max_completion_tokens"))
        jm_body_count(b, "max_tokens", a->max_tokens);
    if (a->ignore_eos) {
        jm_body_bool(b, "ignore_eos", true);
        jm_body_count(b, "min_tokens", a->max_tokens);
    }
    jm_body_num(b, "temperature", a->temperature);
}
