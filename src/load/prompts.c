/* SPDX-License-Identifier: Apache-2.0 */
#include "load/prompts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/banned.h"

#define FILE_BYTES ((size_t)1 << 30)

void jm_prompt_init(struct jm_prompt *p)
{
    *p = (struct jm_prompt){.asked_isl = -1, .asked_osl = -1};
    jm_str_init(&p->wire);
    jm_str_init(&p->text);
}

void jm_prompt_release(struct jm_prompt *p)
{
    jm_str_release(&p->wire);
    jm_str_release(&p->text);
}

const char *jm_isl_mode_name(enum jm_isl_mode m)
{
    static const char *const names[] = {"file", "tokenize", "probe", "words"};
    return (unsigned)m < sizeof names / sizeof *names ? names[m] : "?";
}

/* What the synthetic prompts depend on, so that two runs can be seen to have sent the same. */
static void sum_synthetic(struct jm_prompts *p)
{
    struct jm_str s;
    jm_str_init(&s);
    jm_str_addf(&s, "synthetic/1 seed %llu isl %d shared %d overhead %.17g per %.17g\n",
                (unsigned long long)p->cfg->seed, p->cfg->isl, p->cfg->shared_prompt, p->overhead,
                p->per_word);
    for (size_t i = 0; i < p->words; i++)
        jm_str_addf(&s, "%s %d\n", p->word[i], p->cost[i]);
    jm_sha256_hex(jm_str_span(&s), p->sha256);
    jm_str_release(&s);
}

int jm_prompts_init(struct jm_prompts *p, const struct jm_load_cfg *cfg, const struct jm_reader *reader,
                    struct jm_client *client, const char *model, int max_model_len, struct jm_err *err)
{
    *p = (struct jm_prompts){.cfg = cfg, .reader = reader, .client = client, .model = model};
    jm_str_init(&p->file);
    int rc;
    if (cfg->prompts_path) {
        rc = jm_file_read(cfg->prompts_path, FILE_BYTES, &p->file, err);
        if (rc == 0)
            rc = jm_prompt_file_read(p, cfg->prompts_path, err);
        jm_sha256_hex(jm_str_span(&p->file), p->sha256);
    } else if (cfg->isl < 1) {
        rc = jm_err_set(err, JM_EINVAL,
                        "nothing to send: give a file of prompts, or the length of synthetic ones");
    } else if (max_model_len > 0 && (int64_t)cfg->isl + (cfg->osl > 0 ? cfg->osl : 1) > max_model_len) {
        rc = jm_err_set(err, JM_ERANGE,
                        "%d prompt tokens and %d answer tokens do not fit the model's length of %d: ask for "
                        "less, or start the engine with a longer one",
                        cfg->isl, cfg->osl > 0 ? cfg->osl : 1, max_model_len);
    } else {
        rc = jm_synth_calibrate(p, err);
        if (rc == 0)
            sum_synthetic(p);
    }
    if (rc)
        jm_prompts_release(p);
    return rc;
}

void jm_prompts_release(struct jm_prompts *p)
{
    jm_str_release(&p->file);
    free(p->line);
    p->line = NULL;
    p->lines = 0;
}

int jm_prompts_write(const struct jm_prompts *p, const struct jm_ask *ask, struct jm_str *wire,
                     struct jm_err *err)
{
    struct jm_str body, path;
    const struct jm_dialect_row *row = p->reader->row;
    jm_str_init(&body);
    jm_str_init(&path);
    int rc = p->reader->d->write(ask, &body, err);
    if (rc == 0)
        rc = jm_dialect_path(ask->stream ? row->path : row->path_whole, ask->model, &path, err);
    if (rc == 0)
        rc = jm_client_request(p->client, "POST", path.buf, true, jm_str_span(&body), wire, err);
    jm_str_release(&path);
    jm_str_release(&body);
    return rc;
}

int jm_prompts_make(const struct jm_prompts *p, int64_t index, struct jm_prompt *out, struct jm_err *err)
{
    struct jm_ask ask = {.model = p->model,
                         .max_tokens = p->cfg->osl > 0 ? p->cfg->osl : -1,
                         .ignore_eos = p->cfg->ignore_eos,
                         .stream = true,
                         .temperature = p->cfg->temperature,
                         .extra = jm_span_of(p->cfg->extra_json)};
    jm_str_reset(&out->wire);
    jm_str_reset(&out->text);
    out->slice[0] = '\0';
    out->asked_isl = -1;
    if (p->lines) {
        const struct jm_prompt_line *l = &p->line[(uint64_t)index % p->lines];
        memcpy(out->slice, l->slice, sizeof out->slice);
        if (l->max_tokens >= 0)
            ask.max_tokens = l->max_tokens;
        ask.turns = l->turns;
        ask.ids = l->ids;
        if (l->text.type == JM_J_STRING) {
            char *buf = malloc(l->text.raw.n + 1);
            if (!buf)
                return jm_err_set(err, JM_ENOMEM, "out of memory while making a prompt");
            jm_str_add(&out->text, buf, jm_json_unescape(l->text.raw, buf, l->text.raw.n));
            free(buf);
        } else {
            jm_str_addspan(&out->text, l->turns.p ? l->turns : l->ids);
        }
    } else {
        jm_synth_text(p, p->cfg->shared_prompt ? 0 : index, p->cfg->isl, &out->text);
        out->asked_isl = p->cfg->isl;
    }
    if (!ask.turns.p && !ask.ids.p)
        ask.text = jm_str_span(&out->text);
    out->asked_osl = ask.max_tokens;
    jm_sha256_hex(jm_str_span(&out->text), out->sha256);
    return jm_prompts_write(p, &ask, &out->wire, err);
}
