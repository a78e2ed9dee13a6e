/* SPDX-License-Identifier: Apache-2.0 */
#include "load/prompts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "load/feed.h"

#include "base/banned.h"

#define FILE_BYTES ((size_t)1 << 30)
#define TRIED_MOST 4096 /* tokens of the prompt that checks the lengths: a long one costs the server */

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
    static const char *const names[] = {"file", "tokenize", "probe", "words", "ids"};
    return (unsigned)m < sizeof names / sizeof *names ? names[m] : "?";
}

struct jm_plan *jm_plan_of_cfg(const struct jm_load_cfg *cfg)
{
    struct jm_plan *p = jm_plan_new();
    struct jm_slice *s = p ? jm_plan_add(p) : NULL;
    if (!s) {
        jm_plan_free(p);
        return NULL;
    }
    s->arrive = cfg->shape == JM_LOAD_POISSON ? JM_ARRIVE_POISSON : JM_ARRIVE_CLOSED;
    s->rate = cfg->rate;
    s->users = cfg->concurrency;
    if (cfg->prompts_path)
        s->prompts = jm_plan_keep(p, jm_span_of(cfg->prompts_path));
    else if (cfg->isl > 0)
        s->isl = (struct jm_length){.kind = JM_LEN_FIXED, .min = cfg->isl, .max = cfg->isl};
    if (cfg->osl > 0)
        s->osl = (struct jm_length){.kind = JM_LEN_FIXED, .min = cfg->osl, .max = cfg->osl};
    s->same_prompt = cfg->shared_prompt;
    if (cfg->prompts_path && !s->prompts) {
        jm_plan_free(p);
        return NULL;
    }
    return p;
}

/* What the prompts depend on, so that two runs can be seen to have sent the same. */
static void sum(struct jm_prompts *p)
{
    struct jm_str s;
    char words[64];
    jm_str_init(&s);
    jm_str_addf(&s, "prompts/3 seed %llu overhead %.17g per %.17g\n", (unsigned long long)p->cfg->seed,
                p->overhead, p->per_word);
    for (size_t i = 0; i < p->plan->slices; i++) {
        const struct jm_slice *l = &p->plan->slice[i];
        jm_length_words(&l->isl, words, sizeof words);
        jm_str_addf(&s, "slice %s isl %s same %d prefix %lldx%lld file %s trace %s\n", l->name, words,
                    l->same_prompt, (long long)l->prefix_groups, (long long)l->prefix_tokens,
                    p->set[i].sha256, l->trace ? l->trace : "");
    }
    for (size_t i = 0; i < p->words; i++)
        jm_str_addf(&s, "%s %d\n", p->word[i], p->cost[i]);
    for (size_t i = 0; i < p->ids; i++)
        jm_str_addf(&s, "%d\n", (int)p->id[i]);
    jm_sha256_hex(jm_str_span(&s), p->sha256);
    jm_str_release(&s);
}

static int prepare_slice(struct jm_prompts *p, size_t i, struct jm_err *err)
{
    const struct jm_slice *s = &p->plan->slice[i];
    struct jm_prompt_set *set = &p->set[i];
    int64_t isl = jm_length_most(&s->isl), osl = jm_length_most(&s->osl);
    if (s->prompts) {
        int rc = jm_file_read(s->prompts, FILE_BYTES, &set->file, err);
        if (rc == 0)
            rc = jm_prompt_file_read(set, p->reader, s->prompts, err);
        jm_sha256_hex(jm_str_span(&set->file), set->sha256);
        return rc;
    }
    if (!s->trace && isl < 1)
        return jm_err_set(err, JM_EINVAL,
                          "nothing to send: give a file of prompts, or the length of synthetic ones");
    if (p->max_model_len > 0 && isl + (osl > 0 ? osl : 1) > p->max_model_len)
        return jm_err_set(
            err, JM_ERANGE,
            "%s%s%lld prompt tokens and %lld answer tokens do not fit the model's length of %d: "
            "ask for less, or start the engine with a longer one",
            s->name, s->name[0] ? ": " : "", (long long)isl, (long long)(osl > 0 ? osl : 1),
            p->max_model_len);
    if (p->cfg->prompt_ids && !(p->reader->d->takes & JM_TAKES_IDS))
        return jm_err_set(err, JM_EINVAL,
                          "%s takes no prompts of token ids: use openai.completions, sglang.generate or "
                          "llamacpp.completion",
                          p->reader->row->name);
    if (p->cfg->prompt_ids && jm_slice_sessions(s))
        return jm_err_set(
            err, JM_EINVAL,
            "%s%sa conversation cannot be written in token ids, since nobody has those of the answers",
            s->name, s->name[0] ? ": " : "");
    p->synthetic = true;
    /* the longest one is tried: a server that cuts prompts cuts that one */
    if (isl > p->isl)
        p->isl = (int)isl;
    return 0;
}

int jm_prompts_init(struct jm_prompts *p, const struct jm_load_cfg *cfg, const struct jm_reader *reader,
                    struct jm_client *client, const char *model, int max_model_len, struct jm_err *err)
{
    *p = (struct jm_prompts){.cfg = cfg,
                             .plan = cfg->plan,
                             .reader = reader,
                             .client = client,
                             .model = model,
                             .max_model_len = max_model_len};
    int rc = 0;
    if (!p->plan)
        p->plan = p->own = jm_plan_of_cfg(cfg);
    p->set = p->plan ? calloc(p->plan->slices, sizeof *p->set) : NULL;
    if (!p->set)
        rc = jm_err_set(err, JM_ENOMEM, "out of memory for the prompts");
    for (size_t i = 0; p->set && i < p->plan->slices; i++)
        jm_str_init(&p->set[i].file);
    for (size_t i = 0; rc == 0 && i < p->plan->slices; i++)
        rc = prepare_slice(p, i, err);
    if (rc == 0 && p->synthetic) {
        int most = p->isl;
        if (p->isl > TRIED_MOST && p->plan->slices > 1)
            p->isl = TRIED_MOST;
        if (!p->isl) /* only traces */
            p->isl = p->max_model_len > 0 && p->max_model_len < 1024 ? p->max_model_len / 2 : 512;
        rc = jm_synth_calibrate(p, err);
        p->isl = most;
    }
    if (rc == 0) {
        if (p->plan->slices == 1 && p->set[0].lines)
            memcpy(p->sha256, p->set[0].sha256, sizeof p->sha256);
        else
            sum(p);
    } else {
        jm_prompts_release(p);
    }
    return rc;
}

void jm_prompts_release(struct jm_prompts *p)
{
    for (size_t i = 0; p->set && i < p->plan->slices; i++)
        jm_prompt_set_release(&p->set[i]);
    free(p->set);
    p->set = NULL;
    jm_plan_free(p->own);
    p->own = NULL;
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

/* --- one request
 * -------------------------------------------------------------------------------------------------- */
static bool speaks_turns(const struct jm_prompts *p)
{
    return (p->reader->d->takes & JM_TAKES_TURNS) != 0;
}

static void say(const struct jm_prompts *p, struct jm_talk *t, const char *role, struct jm_span text)
{
    struct jm_str *h = &t->history;
    struct jm_jsonw w;
    if (!speaks_turns(p)) {
        if (h->len)
            jm_str_addc(h, '\n');
        jm_str_addspan(h, text);
        return;
    }
    if (h->len)
        jm_str_addc(h, ',');
    jm_jsonw_init(&w, h, 0);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "role", role);
    jm_jsonw_kspan(&w, "content", text);
    jm_jsonw_end(&w);
}

void jm_talk_answer(const struct jm_prompts *p, struct jm_talk *t, struct jm_span answer)
{
    say(p, t, "assistant", answer);
}

void jm_talk_free(struct jm_talk *t)
{
    if (!t)
        return;
    for (int i = 0; t->text && i < t->turns; i++)
        free(t->text[i]);
    free(t->text);
    free(t->osl);
    jm_str_release(&t->history);
    free(t);
}

/* An index for text that is shared, out of the way of those of single requests. */
static int64_t shared_index(uint64_t what)
{
    return (int64_t)((what * 0x9e3779b97f4a7c15u ^ (what >> 29)) >> 2 | (uint64_t)1 << 61);
}

/* Equal ids are equal text, at the same place of a prompt; a block of b tokens each. */
static void blocks(const struct jm_prompts *p, const struct jm_recipe *r, int64_t index, struct jm_str *out)
{
    int64_t left = r->draw.isl - llround(p->overhead), b = r->row->block_tokens;
    /* loads of one run (trials after a pause) have texts of their own for the same ids */
    uint64_t load = p->cfg->first_id > 1 ? (uint64_t)p->cfg->first_id * 0x9fb21c651e98df25u : 0;
    for (size_t i = 0; i < r->row->blocks && left > 0; i++) {
        int64_t n = left < b ? left : b;
        jm_synth_piece(p, shared_index((uint64_t)r->row->block[i] * 2654435761u + (uint64_t)r->slice + load),
                       n, out);
        left -= n;
    }
    if (left > 0)
        jm_synth_piece(p, index, left, out);
}

static void make_text(const struct jm_prompts *p, const struct jm_recipe *r, int64_t index,
                      struct jm_str *out)
{
    const struct jm_slice *s = &p->plan->slice[r->slice];
    int64_t isl = r->draw.isl;
    if (r->row && r->row->turns) {
        jm_str_addspan(out, r->row->turn[0].text);
    } else if (r->row && r->row->blocks) {
        blocks(p, r, index, out);
    } else if (s->prefix_groups > 0 && isl > 0) {
        int64_t left = isl - llround(p->overhead), n = s->prefix_tokens < left ? s->prefix_tokens : left;
        jm_synth_piece(p, shared_index(jm_plan_stream(r->slice, r->draw.prefix_group, 99)), n > 0 ? n : 1,
                       out);
        if (left > n)
            jm_synth_piece(p, index, left - n, out);
    } else {
        jm_synth_text(p, s->same_prompt ? 0 : index, isl > 0 && isl < INT32_MAX ? (int)isl : 1, out);
    }
}

/* The user's next words, and with them the whole conversation so far. */
static void next_turn(const struct jm_prompts *p, const struct jm_recipe *r, int64_t index,
                      struct jm_ask *ask, struct jm_prompt *out)
{
    struct jm_talk *t = r->talk;
    struct jm_str words;
    jm_str_init(&words);
    if (t->text && t->text[t->turn])
        jm_str_adds(&words, t->text[t->turn]);
    else if (t->turn == 0)
        make_text(p, r, index, &words);
    else
        jm_synth_piece(p, shared_index(jm_plan_stream(r->slice, r->k, 100 + t->turn)), r->draw.isl, &words);
    say(p, t, "user", jm_str_span(&words));
    jm_str_release(&words);
    if (speaks_turns(p)) {
        jm_str_addc(&out->text, '[');
        jm_str_addspan(&out->text, jm_str_span(&t->history));
        jm_str_addc(&out->text, ']');
        ask->turns = jm_str_span(&out->text);
    } else {
        jm_str_addspan(&out->text, jm_str_span(&t->history));
    }
    /* of a later turn nobody knows beforehand how many tokens the history has */
    out->asked_isl = t->turn == 0 && !t->text ? r->draw.isl : -1;
}

static int from_line(const struct jm_prompt_line *l, struct jm_ask *ask, struct jm_prompt *out,
                     struct jm_err *err)
{
    if (!out->slice[0])
        memcpy(out->slice, l->slice, sizeof out->slice);
    if (l->max_tokens >= 0)
        ask->max_tokens = l->max_tokens;
    ask->turns = l->turns;
    ask->ids = l->ids;
    if (l->text.type == JM_J_STRING) {
        char *buf = malloc(l->text.raw.n + 1);
        if (!buf)
            return jm_err_set(err, JM_ENOMEM, "out of memory while making a prompt");
        jm_str_add(&out->text, buf, jm_json_unescape(l->text.raw, buf, l->text.raw.n));
        free(buf);
    } else {
        jm_str_addspan(&out->text, l->turns.p ? l->turns : l->ids);
    }
    return 0;
}

int jm_prompts_recipe(const struct jm_prompts *p, const struct jm_recipe *r, struct jm_prompt *out,
                      struct jm_err *err)
{
    const struct jm_slice *s = &p->plan->slice[r->slice];
    const struct jm_prompt_set *set = &p->set[r->slice];
    int64_t before = p->cfg->first_id > 1 ? p->cfg->first_id - 1 : 0; /* of other loads of the run */
    int64_t index = (before + r->k) * (int64_t)p->plan->slices + r->slice;
    struct jm_ask ask = {.model = p->model,
                         .max_tokens = r->draw.osl > 0 ? r->draw.osl : -1,
                         .ignore_eos = p->cfg->ignore_eos,
                         .counts = p->cfg->counts,
                         .stream = !p->cfg->whole,
                         .temperature = p->cfg->temperature,
                         .extra = jm_span_of(p->cfg->extra_json)};
    jm_str_reset(&out->wire);
    jm_str_reset(&out->text);
    memcpy(out->slice, s->name, sizeof out->slice);
    out->asked_isl = -1;
    if (set->lines) {
        int rc = from_line(&set->line[(uint64_t)r->k % set->lines], &ask, out, err);
        if (rc)
            return rc;
    } else if (r->talk) {
        next_turn(p, r, index, &ask, out);
    } else {
        bool ids = p->mode == JM_ISL_IDS && !(r->row && r->row->turns);
        if (ids)
            jm_str_addc(&out->text, '[');
        make_text(p, r, index, &out->text);
        if (ids) {
            jm_str_addc(&out->text, ']');
            ask.ids = jm_str_span(&out->text);
        }
        out->asked_isl = r->row && r->row->turns ? -1 : r->draw.isl;
    }
    if (!ask.turns.p && !ask.ids.p)
        ask.text = jm_str_span(&out->text);
    out->asked_osl = ask.max_tokens;
    jm_sha256_hex(jm_str_span(&out->text), out->sha256);
    int rc = jm_str_ok(&out->text, "a prompt", err);
    return rc ? rc : jm_prompts_write(p, &ask, &out->wire, err);
}

int jm_prompts_make(const struct jm_prompts *p, int64_t index, struct jm_prompt *out, struct jm_err *err)
{
    struct jm_recipe r = {.k = index};
    jm_slice_draw(&p->plan->slice[0], p->cfg->seed, 0, index, &r.draw);
    return jm_prompts_recipe(p, &r, out, err);
}
